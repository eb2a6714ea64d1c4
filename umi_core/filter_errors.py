"""Errors of filters: what is wrong with a condition. The caller's fault, and nothing changed."""

from umi_core.errors import BadOption


class UnknownField(BadOption):
    """A filter asks for a field that no row of the archive has."""

    tag = 595


class UnknownOperator(BadOption):
    """A filter compares by an operator that there is not."""

    tag = 596


class BadFilterValue(BadOption):
    """A filter compares with what its operator cannot compare with."""

    tag = 597

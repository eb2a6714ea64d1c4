"""Planted bugs: what the simulator must find. Each is one patch over one function, active in one process at a time.

`planted(name)` puts the bug in place for the length of a `with`; None plants nothing. A patch whose place has gone is
an error, not a pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["planted"]


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """The code with this bug in it."""
    if name is None:
        yield
        return
    from umi_sim.mutants.registry import MUTANTS

    with MUTANTS[name].plant():
        yield

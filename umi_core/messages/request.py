"""Requests: the base classes of all of them."""

from typing import ClassVar

from umi_core.data import Data
from umi_core.domains import OpLabel
from umi_core.errors import Error


class Request(Data):
    """`stores`: it may leave something that later requests find; `shows`: it tells what there is.

    `is_common`: users ask it without being told to. `key_space`: requests of one space share request keys.
    `served_by`: the machine that knows what to do.
    """

    tag: ClassVar[int]
    stores: ClassVar[bool] = False
    shows: ClassVar[bool] = False
    is_common: ClassVar[bool] = True
    key_space: ClassVar[str] = "key"
    served_by: ClassVar[str] = "memory"
    # The caller's own name for it: compared with nothing, so two requests in flight may have one label.
    op_id: OpLabel

    def contradiction(self) -> Error | None:
        """Return the error of fields that contradict each other; None if there is none."""
        return None


class CoreRead(Request):
    """Answered at once when recovery is done."""


class WorkflowRequest(Request):
    """An operation: served by the workflow that it names."""

    workflow: ClassVar[str]

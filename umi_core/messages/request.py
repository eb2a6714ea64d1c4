"""The base classes of all requests."""

from typing import ClassVar

from umi_core.data import Data
from umi_core.domains import OpLabel
from umi_core.errors import Error


class Request(Data):
    """A request to a memory. `stores`: it may store something that later requests find.

    `shows`: it returns stored content. `is_common`: a simulated workload uses it even if it does not name it.
    `key_space`: requests of one space share request keys. `served_by`: the machine that serves it.
    """

    tag: ClassVar[int]
    stores: ClassVar[bool] = False
    shows: ClassVar[bool] = False
    is_common: ClassVar[bool] = True
    key_space: ClassVar[str] = "key"
    served_by: ClassVar[str] = "memory"
    # A label of the caller. It is never compared, so two requests in flight may have the same label.
    op_id: OpLabel

    def contradiction(self) -> Error | None:
        """Return the error of fields that contradict each other; None if there is none."""
        return None


class CoreRead(Request):
    """A read of core, answered immediately once recovery is done."""


class WorkflowRequest(Request):
    """A request that is an operation, served by the workflow that it names."""

    workflow: ClassVar[str]

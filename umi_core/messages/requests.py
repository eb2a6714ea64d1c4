"""All a memory can be told: requests of users, answers of the world, and that time has passed.

Every request carries `op_id`, the caller's label; it comes back with the reply and is never compared. Fields
of a request hold what the caller gave, right or wrong: the memory checks them and refuses with a typed error.
"""

import re
from typing import Final, TypeGuard, get_args

import attrs

from umi_core.data import Data
from umi_core.messages.effects import OpId
from umi_core.values import Pairs, Turn

# What requests of one shape share. A class without fields of its own is frozen as its base is.


@attrs.frozen
class Bare(Data):
    op_id: OpId


@attrs.frozen
class OfKey(Data):
    op_id: OpId
    key: str


@attrs.frozen
class OfBlock(Data):
    op_id: OpId
    kind: str
    label: str = ""


# Working tier: answered in the step that brings them.


@attrs.frozen
class Set(Data):
    op_id: OpId
    key: str
    value: bytes
    ttl_ms: int | None = None


class Get(OfKey): ...


class Exists(OfKey): ...


class Delete(OfKey): ...


@attrs.frozen
class Incr(Data):
    op_id: OpId
    key: str
    delta: int = 1


@attrs.frozen
class Append(Data):
    op_id: OpId
    key: str
    value: bytes


class Touch(OfKey): ...


class Sweep(Bare): ...


class Clear(Bare): ...


class Len(Bare): ...


class Bytes(Bare): ...


# Reads of the core tier: answered at once when recovery is done.


class GetBlock(OfBlock): ...


class Blocks(Bare): ...


class CoreBytes(Bare): ...


@attrs.frozen
class InCore(Data):
    op_id: OpId
    entity_id: str


@attrs.frozen
class Render(Data):
    op_id: OpId
    form: str = "xml"


class LastRoutingDecisions(Bare): ...


# Workflows.


@attrs.frozen
class SetBlock(Data):
    op_id: OpId
    kind: str
    text: str
    label: str = ""
    importance_ppm: int | None = None


@attrs.frozen
class SetImportance(Data):
    op_id: OpId
    kind: str
    importance_ppm: int
    label: str = ""


class RemoveBlock(OfBlock): ...


@attrs.frozen
class CreateSession(Data):
    op_id: OpId
    members: tuple[str, ...] = ()


@attrs.frozen
class SaveSession(Data):
    op_id: OpId
    hand_to: tuple[str, ...] = ()


@attrs.frozen
class LoadSession(Data):
    op_id: OpId
    session_id: str


@attrs.frozen
class Remember(Data):
    op_id: OpId
    text: str
    extract: bool = True
    evolve: bool = True
    embed: bool = True
    importance_ppm: int | None = None
    event_time_ms: int | None = None
    metadata: Pairs = ()
    source: str | None = None
    request_key: str | None = None


@attrs.frozen
class Recall(Data):
    op_id: OpId
    query: str
    limit: int | None = None
    deep: bool | None = None
    time_range: tuple[int | None, int | None] | None = None
    types: tuple[str, ...] | None = None
    turns: tuple[Turn, ...] = ()
    resolve: bool = True
    min_score_ppm: int | None = None


@attrs.frozen
class Forget(Data):
    op_id: OpId
    entity_id: str
    request_key: str | None = None


@attrs.frozen
class GetEntity(Data):
    op_id: OpId
    entity_id: str
    version: int | None = None


@attrs.frozen
class Count(Data):
    op_id: OpId
    types: tuple[str, ...] | None = None


class Rebalance(Bare): ...


WorkingRequest = Set | Get | Exists | Delete | Incr | Append | Touch | Sweep | Clear | Len | Bytes
CoreRead = GetBlock | Blocks | CoreBytes | InCore | Render | LastRoutingDecisions
WorkflowRequest = (
    SetBlock | SetImportance | RemoveBlock | CreateSession | SaveSession | LoadSession
    | Remember | Recall | Forget | GetEntity | Count | Rebalance
)  # fmt: skip
Request = WorkingRequest | CoreRead | WorkflowRequest

WORKING: Final = frozenset(get_args(WorkingRequest))


def is_working(value: object) -> TypeGuard[WorkingRequest]:
    """A look-up, for those who ask at every step: a union of classes is slow to go through."""
    return value.__class__ in WORKING


def request_name(request_type: type) -> str:
    """`SetBlock` is `set_block`: the name in scenarios, seed files and reports."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", request_type.__name__).lower()


REQUESTS: Final[dict[str, type[Request]]] = {
    request_name(kind): kind
    for kind in (*get_args(WorkingRequest), *get_args(CoreRead), *get_args(WorkflowRequest))
}

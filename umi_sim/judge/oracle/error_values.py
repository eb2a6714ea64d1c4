"""The values of the error in a refusal: what it names was asked for, and what is too much is too much.

Law 1. An id, a key, a label or a name in it is the one of the request, in any spelling of a label.
Law 2. What exceeds a limit does so by the numbers that it tells, and the limit is the one that there is.

What is wrong with a request alone is told whole (umi_sim/judge/plain/requests.py). Of what the working tier
has no room for a twin knows all numbers.
"""

from collections.abc import Mapping
from typing import Any, Final

from umi_core import errors
from umi_core.config import Config
from umi_core.errors import Error
from umi_core.invariants import limits
from umi_core.invariants.broken import demand
from umi_core.kelpie import errors as api_errors
from umi_core.messages.effects import Refused
from umi_sim.judge.plain.text import folded, tidy
from umi_sim.record import rules

BY_ID: Final = "blk_"
NAMED: Final[Mapping[type[Error], Mapping[str, tuple[str, ...]]]] = {
    errors.SessionNotFound: {"session_id": ("session_id",)},
    errors.KeyReused: {"request_key": ("request_key",)},
    errors.KeyNotFound: {"key": ("key",)},
    api_errors.ReadOnly: {"author": ("author",), "label": ("block",)},
    api_errors.VersionConflict: {"expected": ("expected_version",)},
    api_errors.TextNotFound: {"label": ("block",)},
    api_errors.TextAmbiguous: {"label": ("block",)},
    api_errors.LabelTaken: {"label": ("label",)},
}
"""By field of an error, the fields of requests of which it repeats the one that there is."""
NOT_FOUND: Final[Mapping[str, tuple[str, ...]]] = {
    "block": ("block", "block_id"), "entity": ("entity_id",), "archival": ("record_id",), "agent": (),
}  # fmt: skip
"""The same of the id of what is not found, by its kind; who asks does not say which agent it is."""
EXCEEDED: Final[Mapping[type[Error], tuple[str, str, int]]] = {
    errors.BlockTooLarge: ("size_bytes", "limit_bytes", 1),
    errors.SnapshotTooBig: ("size_bytes", "limit_bytes", 1),
    api_errors.AboveLimit: ("size_bytes", "limit_bytes", 1),
    errors.TooManyMembers: ("member_count", "member_count_max", 1),
    errors.TooManyBlocks: ("block_count", "block_count_max", 0),
    errors.TooBusy: ("op_count", "op_count_max", 0),
}
"""By error, the number that is above a limit by so much at least; 0: one more would be above it."""


def limits_in(config: Config) -> Mapping[type[Error], tuple[int, ...]]:
    """The limit that an error tells; of core, the one of a block or the one of all blocks."""
    return {
        errors.BlockTooLarge: (limits.BLOCK_BYTES_MAX,),
        errors.CoreFull: (limits.BLOCK_BYTES_MAX, config.core_bytes_max),
        errors.TooManyMembers: (limits.SESSION_MEMBER_COUNT_MAX,),
        errors.TooManyBlocks: (limits.BLOCK_COUNT_MAX,),
        errors.TooBusy: (limits.OP_COUNT_MAX,),
    }


def check_error(op_id: str, request: object, outcome: Refused, config: Config) -> None:
    """Raises Broken if it is about something else than the request, or tells numbers that do not hold."""
    error: Any = outcome.error
    if isinstance(error, api_errors.NotFound):
        fields = NOT_FOUND.get(error.kind)
        holds = fields == () or (fields is not None and any(hasattr(request, field) for field in fields))
        demand(holds, rules.ERROR_SAYS_IT, f"{op_id}: nobody asked for what '{error}' says", request, error)
    for name, of in named(error).items():
        asked = next((getattr(request, field) for field in of if hasattr(request, field)), None)
        got = getattr(error, name)
        told = f"{op_id}: the {name} in '{error}' is not the one that was asked for"
        demand(is_named(asked, got, name), rules.ERROR_SAYS_IT, told, asked, got)
    number, most, over = EXCEEDED.get(type(error), ("", "", 0))
    if number:
        limit, got = getattr(error, most), getattr(error, number)
        told = f"{op_id}: '{error}', and that is not too much"
        demand(got >= limit + over, rules.ERROR_SAYS_IT, told, limit, got)
    known = limits_in(config).get(type(error))
    if known:
        got = getattr(error, most or "limit_bytes")
        demand(got in known, rules.ERROR_SAYS_IT, f"{op_id}: the limit in '{error}' is another", known, got)


def named(error: Any) -> Mapping[str, tuple[str, ...]]:
    if isinstance(error, api_errors.NotFound):
        return {"id": NOT_FOUND.get(error.kind, ())}
    return NAMED.get(type(error), {})


def is_named(asked: object, got: object, name: str) -> bool:
    """Of a block that was asked for by its id the label may be any, and so may what nobody asked for."""
    if asked is None:
        return True
    if name != "label" or not isinstance(asked, str) or not isinstance(got, str):
        return asked == got
    return asked.startswith(BY_ID) or folded(tidy(asked)) == folded(got)

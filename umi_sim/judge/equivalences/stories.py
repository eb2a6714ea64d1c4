"""Chosen requests of a life, to be repeated in another world.

Law 1. They are the first few well-formed requests of each kind.
Law 2. If a request names a row that the other world does not have, it is changed to name another row of the
same kind. The other world has no other agents, so no archive is shared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, Final

from msgspec import structs

from umi_core.kelpie.requests import AgentRequest
from umi_core.messages.requests import (
    OF_MEMORY,
    Descent,
    Recall,
    RemoveBlock,
    Retrieve,
    Search,
    WorkingRequest,
    bad_request,
)
from umi_core.tiers.rendering import find_authored, list_authored
from umi_core.values import LEVELS
from umi_sim.judge.equivalences.lives import RecordedLife
from umi_sim.judge.small_world import SmallWorld
from umi_sim.kernel.prng import Stream

STORY_COUNT_MAX: Final = 24
OF_ONE_KIND: Final = 4
OF_REQUESTS: Final = tuple(cls for cls in OF_MEMORY.values() if not issubclass(cls, WorkingRequest))
ALL_OF_ALL_LEVELS: Final = {
    "enough": "model", "rank": "model", "levels": tuple(LEVELS), "levels_max": len(LEVELS),
    "min_score_ppm": 0, "where": (),
}  # fmt: skip
WIDE: Final[Mapping[type, Mapping[str, Any]]] = {
    Recall: {"deep": True}, Retrieve: ALL_OF_ALL_LEVELS, Search: ALL_OF_ALL_LEVELS,
}  # fmt: skip
NAMED: Final = {
    "entity_id": ("entity", "id"), "record_id": ("archival", "id"), "resource_id": ("resource", "id"),
    "block_id": ("change", "block_id"),
}  # fmt: skip
"""For each field of requests that names a row: the kind of these rows, and their field with that name."""


def choose_requests(life: RecordedLife, sessions: Sequence[str]) -> list[Any]:
    """List requests of a life, with `sessions` in turn instead of its own.

    Half of the searches ask for as much as possible, so that most steps take place. In half of the lives
    requests that store something come first, and those that end an agent last.
    """
    counts, found = Counter[type](), dict[Any, None]()
    for value in (it.value for it in life.steps if isinstance(it.value, OF_REQUESTS)):
        # A malformed request is refused before any step.
        if counts[type(value)] < OF_ONE_KIND and bad_request(value) is None:
            counts[type(value)] += 1
            found[structs.replace(value, op_id="")] = None
    few = [*found][:STORY_COUNT_MAX]
    if Stream(life.seed, "order of a story").chance(1, 2):
        few.sort(key=order_of)
    wide = [widen_request(it, Stream(life.seed, "wide", type(it).__name__)) for it in few]
    requests = [structs.replace(it, op_id=f"told:{at}") for at, it in enumerate(wide)]
    own = dict.fromkeys(it.session_id for it in requests if hasattr(it, "session_id"))
    # If a life has three sessions and two are given, its first and third become the same one.
    others = dict(zip(own, cycle(sessions), strict=False))
    return [
        structs.replace(it, session_id=others[it.session_id]) if hasattr(it, "session_id") else it
        for it in requests
    ]


def order_of(request: Any) -> int:
    """Return the sort key of a request: 0 if it stores, 1 if it reads, 2 if it deletes, 3 for an agent."""
    return 3 if isinstance(request, AgentRequest) else 0 if request.stores else 1 if request.shows else 2


def widen_request(request: Any, draw: Stream) -> Any:
    options = next((most for cls, most in WIDE.items() if isinstance(request, cls)), {})
    own = structs.replace(request, shared=()) if isinstance(request, Recall) else request
    if not options or draw.chance(1, 2):
        return own
    # With one hit per level most levels have more hits to give.
    fewer = {"limit_per_level": 1} if isinstance(request, Descent) and draw.chance(1, 2) else {}
    return structs.replace(own, **options, **fewer)


def name_existing(world: SmallWorld, request: Any) -> Any:
    """Return the request; where it names a row or block that this world lacks, it names the last one."""
    named = {}
    for name, (kind, of) in NAMED.items():
        if hasattr(request, name):
            ids = [getattr(body, of) for where, body in world.rows() if where.kind == kind]
            if ids and getattr(request, name) not in ids:
                named[name] = ids[-1]
    return name_block(world, structs.replace(request, **named))


def name_block(world: SmallWorld, request: Any) -> Any:
    core = world.memory.state.tiers.core
    label, block = next(reversed(list_authored(core).items()), ("", None))
    if block is None:
        return request
    if isinstance(request, RemoveBlock) and core.find(request.kind, request.label) is None:
        return structs.replace(request, kind=block.kind, label=block.label)
    if hasattr(request, "block") and find_authored(core, request.block, world.scope) is None:
        return structs.replace(request, block=label)
    return request

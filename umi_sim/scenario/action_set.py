"""The [explore] table of a scenario as a set of actions: requests, moves of time, and faults.

Each request lists the possible values of every argument; each combination of values is one action. Values
that only a run knows have placeholders: the n-th session or fact, or all other agents.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data
from umi_core.messages.requests import REQUESTS
from umi_sim.faults.clock import jump_signs
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.schema import (
    ANY,
    FLAG,
    Json,
    Schema,
    at,
    fail,
    list_of,
    mapping,
    one_of,
    table,
    then,
    whole,
    wrong,
)
from umi_sim.formats.values import op_args
from umi_sim.record.items import Args
from umi_sim.record.run_config import RunConfig

REQUEST_COUNT_MAX: Final = 64
WAIT_MS_MAX: Final = 86_400_000
START_MS: Final = 1_700_000_000_000
RUN_RATE: Final = (1, 4)  # rate of each kind of fault in a drawn run; exploring tries each kind everywhere
# "@session:2", "@entity:1", "@others": a file cannot know ids, so it gives their numbers.
KNOWN: Final = re.compile(r"@(session|entity):([1-9])|@(others)")


class ValueOfRun(Data):
    """A placeholder for a value of the run: the n-th session or fact of the oracle, or all other agents."""

    what: str
    number: int


class ActionSet(Data):
    """The actions from which lists are made.

    `interleave`: each delivery of a message is an action; else all effects of an action end before the next
    action. `land`: time also moves to just before, at and just after each known deadline. `finish`: every new
    state is also taken to the end of a run: heal, audit and restarts.
    """

    requests: tuple[tuple[str, Args], ...]
    advance_ms: tuple[int, ...] = ()
    faults: tuple[str, ...] = ()
    land: bool = True
    interleave: bool = True
    finish: bool = False

    @property
    def may_jump_back(self) -> bool:
        return -1 in jump_signs(self.faults)


def actions(rows: Sequence[Sequence[tuple[str, Args]]]) -> tuple[tuple[str, Args], ...]:
    found = tuple(action for row in rows for action in row)
    if not 0 < len(found) <= REQUEST_COUNT_MAX:
        fail(f"1 to {REQUEST_COUNT_MAX} combinations of arguments in all", len(found))
    return found


def combinations(row: Mapping[str, Json]) -> list[tuple[str, Args]]:
    """List every combination of the arguments of one row."""
    name, choices = row["name"], row.get("args", {})
    # Counted first: ten arguments with ten values each would make 10**10 combinations.
    count = 1
    for each in choices.values():
        count *= len(each)
    if count > REQUEST_COUNT_MAX:
        at("args", wrong, f"{count} combinations of arguments, at most {REQUEST_COUNT_MAX}: name fewer")
    args = (dict(zip(choices, each, strict=True)) for each in product(*choices.values()))
    return [(name, at("args", partial(type_arguments, name), each)) for each in args]


def type_arguments(name: str, args: Mapping[str, object]) -> Args:
    """Return arguments as the memory gets them; those in `args` are written as in a seed file."""
    known = {key: known_of(value) for key, value in args.items()}
    plain = {key: value for key, value in args.items() if known[key] is None}
    # A placeholder has no value yet; an empty value of its type allows the check of all others.
    missing = {key: EMPTY.get(str(each.what), "") for key, each in known.items() if each is not None}
    given = op_args(name, {**plain, **missing})
    return {key: known[key] or given[key] for key in args}


EMPTY: Final[dict[str, Any]] = {"others": []}


def known_of(value: object) -> ValueOfRun | None:
    found = KNOWN.fullmatch(value) if isinstance(value, str) else None
    return ValueOfRun(found[1] or found[3], int(found[2] or 0)) if found else None


def check_explorable(name: str) -> str:
    """Return the name of a kind that may be explored; fail for any other."""
    what = "a fault of a service, a crash, or a jump of a clock"
    return name if KINDS[name].is_explored else fail(what, name)


ROW: Final = table(
    {"name": one_of(REQUESTS, "request"), "args": mapping(list_of(ANY, REQUEST_COUNT_MAX + 1, 1))}, "name"
)
ROWS: Final[dict[str, Schema]] = {
    "requests": then(list_of(then(ROW, combinations)), actions),
    "advance_ms": list_of(whole(1, WAIT_MS_MAX), count_min=1, unique="times"),
    "faults": list_of(then(one_of(KINDS, "fault"), check_explorable), count_min=1, unique="faults"),
    "land": FLAG, "interleave": FLAG, "finish": FLAG,
}  # fmt: skip
ACTION_SET: Final = then(table(ROWS, "requests"), lambda given: ActionSet(**given))


def without_draws(config: RunConfig, action_set: ActionSet | None) -> RunConfig:
    """Return the configuration for exploring: lists of actions decide what a run would draw."""
    if action_set is None:
        return config
    rates = {kind: RUN_RATE for kind in KINDS if kind in action_set.faults}
    return structs.replace(
        # Lists contain every order of deliveries, so messages need no latency.
        config, mode="swarm" if rates else "plain", faults=rates, latency="instant", policy="random",
        start_ms=max(config.start_ms, START_MS),
    )  # fmt: skip

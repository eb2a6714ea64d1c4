"""What is stated twice: settings, defaults, ids, requests as a whole, and what a filter leaves of rows.

Law 1. Every run compares some of these; here it is more of them, and with values that nobody gives.
Law 2. What a row is found by it says itself, to any store.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, Final

import attrs

from umi_core import conditions, filters, ids
from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.messages.arguments import arguments_of
from umi_core.messages.effects import AskModel, Embed
from umi_core.messages.requests import OF_MEMORY, bad_request
from umi_core.rows import Body
from umi_core.values import BLOCK_KINDS, ENTITY_TYPES, LINK_KINDS, MEMORY_TYPES, Scope
from umi_core.workflows import WORKFLOWS
from umi_sim.judge.invariants import defaults, settings
from umi_sim.judge.plain import filters as plain_filters
from umi_sim.judge.plain import ids as plain_ids
from umi_sim.judge.plain.requests import is_same, wrong
from umi_sim.judge.trials.stored import sound
from umi_sim.judge.trials.values import long_values, sound_values, values
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

REQUESTS: Final = 40  # of each trial
FILTERS: Final = 20
COMPARED: Final = 120
HELD: Final = (
    None, True, False, 0, 1, 4, 5, 6, "", "1", "x", "X", (), ("x",), ("y", "x"), (("x", "y"),), (("y", "x"),),
)  # fmt: skip
LISTED: Final = ((True,), (1,), (0, "x"), (False, None), ("y", 5))
SHOWN: Final = 300
WHO: Final = (Scope("u", "a"), Scope("u", "b"), Scope("ua", ""), Scope("日本", "%"))
KINDS: Final = ("category", "entity", "resource", "membership", "subcategory", "reflection")
TEXTS: Final = (
    "", "Ann", " ANN\t", "ann", "Ａｎｎ", "Ǆ", "ß", "SS", "e\u0301", "é", "日本", "a\x07b", "x" * 300, "İ",
    "\u0378Ann\u0378", "e\u0301\U0003134fE\u0301", "\u0378 \u0378",
)  # fmt: skip
IDS: Final = ("ent_1", "cat_1", "", "x y", "日本")
NUMBERS: Final = (0, 1, 5, 2**40)


def scoped(draw: Stream) -> Scope:
    return draw.pick(WHO)


Made = tuple[Callable[..., str], Callable[..., str], Callable[[Stream], tuple[Any, ...]]]
MADE: Final[dict[str, Made]] = {
    "entity": (
        ids.entity_id, plain_ids.entity_id,
        lambda draw: (scoped(draw), draw.pick(ENTITY_TYPES), draw.pick(TEXTS)),
    ),
    "note": (
        ids.note_id, plain_ids.note_id,
        lambda draw: (scoped(draw), draw.pick(TEXTS), draw.pick(MEMORY_TYPES)),
    ),
    "plain note": (ids.note_id, plain_ids.note_id, lambda draw: (scoped(draw), draw.pick(TEXTS))),
    "resource": (
        ids.resource_id, plain_ids.resource_id,
        lambda draw: (scoped(draw), draw.pick((None, *IDS)), draw.pick(TEXTS)),
    ),
    "segment": (
        ids.segment_id, plain_ids.segment_id,
        lambda draw: (scoped(draw), draw.pick(IDS), draw.pick(TEXTS), draw.below(3)),
    ),
    "category": (ids.category_id, plain_ids.category_id, lambda draw: (scoped(draw), draw.pick(TEXTS))),
    "membership": (
        ids.membership_id, plain_ids.membership_id,
        lambda draw: (scoped(draw), draw.pick(IDS), draw.pick(IDS)),
    ),
    "subcategory": (
        ids.subcategory_id, plain_ids.subcategory_id,
        lambda draw: (scoped(draw), draw.pick(IDS), draw.pick(IDS)),
    ),
    "reflection": (
        ids.reflection_id, plain_ids.reflection_id, lambda draw: (scoped(draw), draw.pick(IDS)),
    ),
    "given": (
        ids.given_id, plain_ids.given_id, lambda draw: (scoped(draw), draw.pick(IDS), draw.pick(IDS)),
    ),
    "relation": (
        ids.relation_id, plain_ids.relation_id,
        lambda draw: (
            scoped(draw), (draw.pick(IDS), draw.below(3)), (draw.pick(IDS), draw.below(3)),
            draw.pick(LINK_KINDS),
        ),
    ),
    "session": (
        ids.session_id, plain_ids.session_id,
        lambda draw: (scoped(draw), draw.pick(NUMBERS), draw.below(3)),
    ),
    "block": (
        ids.block_id, plain_ids.block_id,
        lambda draw: (scoped(draw), draw.pick(BLOCK_KINDS), draw.pick(TEXTS)),
    ),
}  # fmt: skip
"""By what they are of: how the memory makes an id, how the judge does, and what of."""


def try_stated(draw: Stream, config: Config) -> None:
    settings.check_settings(draw.below(settings.TURNS))
    defaults.check_defaults(draw.below(defaults.TURNS))
    for what in MADE:
        check_id(draw, what)
    for _ in range(REQUESTS):
        check_whole(draw)
    for _ in range(COMPARED):
        check_compared(draw)
    for _ in range(FILTERS):
        check_filtered(draw)
    for kind, told in FOUND_BY.items():
        check_found_by(draw, kind, told)
    check_profiles()


FOUND_BY: Final[dict[str, Callable[[Any], tuple[str, ...]]]] = {
    "entity": lambda it: (it.name, it.content),
    "category": lambda it: (it.name, it.description, it.summary),
    "resource": lambda it: ("", it.caption, it.description or it.text),
    "reflection": lambda it: ("", it.text),
    "membership": lambda it: ("", ""),
}
"""What a search by words goes by: a name, and what else a row says."""


def check_found_by(draw: Stream, kind: str, told: Callable[[Any], tuple[str, ...]]) -> None:
    body = sound(draw, kind)
    name, *rest = told(body)
    wanted, got = (name, "\n".join(rest)), body.told()
    demand(wanted == got, rules.REFERENCE_AGREES, f"what {kind} is found by", wanted, got)


def check_profiles() -> None:
    """Whoever wants another model for a step says so by its option."""
    asking = [
        (flow.name, step) for flow in WORKFLOWS for step in flow.steps if step.effect in (AskModel, Embed)
    ]
    for name, step in asking:
        got = dict(step.config).get("profile")
        demand(got == "default", rules.WORKFLOW_CONTRACT, f"profile of {name}.{step.id}", "default", got)


def check_id(draw: Stream, what: str) -> None:
    make, make_plainly, parts_of = MADE[what]
    parts = parts_of(draw)
    wanted, got = make_plainly(*parts), make(*parts)
    demand(wanted == got, rules.REFERENCE_AGREES, f"the id of {what} {parts}", wanted, got)


def check_whole(draw: Stream) -> None:
    """A request with mostly sound fields: what is wrong with it first."""
    cls = draw.pick(tuple(OF_MEMORY.values()))
    given: dict[str, Any] = {}
    for argument in arguments_of(cls):
        if argument.is_required or draw.chance(1, 2):
            is_sound = draw.chance(15, 16)
            given[argument.name] = draw.pick(sound_values(argument.domain) if is_sound else values())
    request = cls(7 if draw.chance(15, 16) else draw.pick(labels()), **given)
    wanted, got = wrong(request), bad_request(request)
    demand(is_same(wanted, got), rules.REFERENCE_AGREES, f"{request}"[:SHOWN], str(wanted), str(got))


@cache
def labels() -> Sequence[Any]:
    return (*values(), *long_values())


@cache
def compared() -> Sequence[tuple[str, object, Any]]:
    """What a row may hold, and what a filter may compare it with."""
    pairs = product(plain_filters.HOLDS, HELD, (*HELD, *LISTED))
    return [it for it in pairs if plain_filters.wrong_filter("filter", (("id", it[0], it[2]),)) is None]


def check_compared(draw: Stream) -> None:
    how, found, value = draw.pick(compared())
    wanted, got = plain_filters.HOLDS[how](found, value), conditions.OPERATORS[how](found, value)
    demand(wanted == got, rules.FILTER_NARROWS, f"{found!r} {how} {value!r}", wanted, got)


def check_filtered(draw: Stream) -> None:
    """Conditions about what a row holds, or nearly."""
    kind, scope = draw.pick(KINDS), draw.pick(WHO)
    body = sound(draw, kind)
    given = tuple(condition(draw, body) for _ in range(draw.below(4)))
    told = f"{given} of a {kind}"
    wanted, got = plain_filters.may_hold(given, kind, scope), filters.reaches(given, kind, scope)
    demand(wanted == got, rules.FILTER_NARROWS, f"{told} of {scope} may be meant", wanted, got)
    where = filters.conditions_of(given)
    holds = all(
        hasattr(body, name) and plain_filters.HOLDS[how](getattr(body, name), value)
        for name, how, value in given
        if name not in plain_filters.OF_SCOPE
    )
    admitted = conditions.admits(where, body)
    demand(holds == admitted, rules.FILTER_NARROWS, f"{told}, {body}"[:SHOWN], holds, admitted)


def condition(draw: Stream, body: Body) -> tuple[str, str, Any]:
    """Of a field that it has, mostly, and what stands there, or something else."""
    has = tuple(it for it in plain_filters.KINDS_OF if it in attrs.fields_dict(type(body)))
    names = (*has, *has, *plain_filters.KINDS_OF, *plain_filters.OF_SCOPE)
    name, how = draw.pick(names), draw.pick(tuple(plain_filters.HOLDS))
    value = getattr(body, name, None) if draw.chance(1, 2) else draw.pick((None, "u", "a", 5, True, 1, "x"))
    if how in ("in", "not_in"):
        return name, how, draw.pick(((value,), (), ("x", value, None), (True, 1)))
    while isinstance(value, tuple):
        value = value[0] if value else "x"
    return name, how, value

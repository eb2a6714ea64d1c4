"""Goal: ids, filters and what a search by words goes by are the same for the memory and for its readers."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

from tests.properties import ids_reference as plain_ids
from tests.properties.laws import Draw, agree, law
from tests.properties.requests_reference import wrong_filter
from tests.properties.values import sound
from umi_core import conditions, ids
from umi_core.rows import Body
from umi_core.values import BLOCK_KINDS, EVOLUTION_KINDS, Scope
from umi_sim.judge.plain import requests as plain_filters
from umi_sim.judge.plain.requests import HOLDS, KINDS_OF, OF_SCOPE

SCOPES: Final = (Scope("u", "a"), Scope("u", "b"), Scope("ua", ""), Scope("日本", "%"))
TEXTS: Final = (
    "", "Ann", " ANN\t", "ann", "Ａｎｎ", "Ǆ", "ß", "SS", "e\u0301", "é", "日本", "a\x07b", "x" * 300, "İ",
    "\u0378Ann\u0378", "e\u0301\U0003134fE\u0301", "\u0378 \u0378",
)  # fmt: skip
IDS: Final = ("ent_1", "cat_1", "", "x y", "日本")
ENDS: Final = tuple(product(IDS[:3], (0, 1, 2)))
PARTS: Final[dict[str, tuple[Sequence[Any], ...]]] = {
    "entity_id": (TEXTS,), "fact_id": (((), IDS[:1], IDS[:2], IDS[1::-1]), TEXTS), "category_id": (TEXTS,),
    "resource_id": ((None, *IDS), TEXTS), "segment_id": (IDS, TEXTS, range(3)),
    "membership_id": (IDS, IDS), "subcategory_id": (IDS, IDS), "reflection_id": (IDS,),
    "relation_id": (ENDS, ENDS, EVOLUTION_KINDS), "block_id": (BLOCK_KINDS, TEXTS),
    "session_id": ((0, 1, 5, 2**40), range(3)),
}  # fmt: skip
"""By kind of id, what each is made of besides a scope."""


def test_each_id_is_made_of_its_parts() -> None:
    for name, parts in PARTS.items():
        make, make_plainly = getattr(ids, name), getattr(plain_ids, name)
        for it in product(SCOPES, *parts):
            assert make_plainly(*it) == make(*it), (name, it)


# Filters.

HELD: Final = (
    None, True, False, 0, 1, 4, 5, 6, "", "1", "x", "X", (), ("x",), ("y", "x"), (("x", "y"),),
    (("y", "x"),),
)  # fmt: skip
LISTED: Final = ((True,), (1,), (0, "x"), (False, None), ("y", 5))


def test_a_row_is_compared_with_a_value_as_the_operator_says() -> None:
    for how, found, value in product(HOLDS, HELD, (*HELD, *LISTED)):
        if wrong_filter("filter", (("id", how, value),)) is None:
            assert HOLDS[how](found, value) == conditions.OPERATORS[how](found, value), (found, how, value)


def condition(draw: Draw, body: Body) -> tuple[str, str, Any]:
    """Draw a condition, mostly of a field that the body has and of what stands there."""
    has = tuple(it for it in KINDS_OF if it in body.__struct_fields__)
    name, how = draw.pick((*has, *has, *KINDS_OF, *OF_SCOPE)), draw.pick(tuple(HOLDS))
    value = getattr(body, name, None) if draw.chance(1, 2) else draw.pick((None, "u", "a", 5, True, 1, "x"))
    if how in ("in", "not_in"):
        return name, how, draw.pick(((value,), (), ("x", value, None), (True, 1)))
    while isinstance(value, tuple):
        value = value[0] if value else "x"
    return name, how, value


def filtered(draw: Draw) -> tuple[list[tuple[str, str, Any]], Body, Scope]:
    kinds = ("category", "entity", "resource", "membership", "subcategory", "reflection")
    body = sound(draw, draw.pick(kinds))
    return draw.many(lambda draw: condition(draw, body), 0, 3), body, draw.pick(SCOPES)


@law(filtered, examples=200)
def test_a_filter_leaves_the_rows_that_hold_all_its_conditions(
    given: list[tuple[str, str, Any]], body: Body, scope: Scope
) -> None:
    may_hold = plain_filters.may_hold(tuple(given), body.row_kind, scope)
    assert may_hold == conditions.reaches(tuple(given), body.row_kind, scope)
    holds = all(
        hasattr(body, name) and HOLDS[how](getattr(body, name), value)
        for name, how, value in given
        if name not in OF_SCOPE
    )
    assert holds == conditions.admits(conditions.conditions_of(tuple(given)), body)


SEARCHED: Final[dict[str, Callable[[Any], tuple[str, ...]]]] = {
    "entity": lambda it: (", ".join([it.name, *it.others]), it.content),
    "category": lambda it: (it.name, it.description, it.summary),
    "resource": lambda it: ("", it.caption, it.description or it.text),
    "reflection": lambda it: ("", it.text),
    "membership": lambda it: ("", ""),
}
"""By kind of row, what a search by words goes by: a name, and what else a row says."""


def searched_by(body: Any) -> tuple[str, str]:
    name, *texts = SEARCHED[body.row_kind](body)
    return name, "\n".join(texts)


test_a_row_is_found_by_its_name_and_its_texts = agree(
    lambda body: body.name_and_text(), searched_by, lambda draw: (sound(draw, draw.pick(tuple(SEARCHED))),)
)

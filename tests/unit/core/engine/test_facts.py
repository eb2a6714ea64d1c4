"""Goal: a fact is a key that knows its type: what it admits, who may read it under which other type."""

from typing import Any

import pytest
from msgspec import structs

from umi_core.engine.facts import Fact, Facts, is_within, unit_of
from umi_core.rows import Address, Entity, Head, Row
from umi_core.values import Scope

SCOPE = Scope("u", "a")


class Farther(Scope):
    """A class of a third party."""


ADMITS: dict[str, tuple[Any, tuple[object, ...], tuple[object, ...]]] = {
    "a class": (Scope, (SCOPE, Farther("u", "a")), (None, "u", Scope)),
    "a number": (int, (0, -5), (True, "0", None)),
    "a truth": (bool, (True, False), (0, None)),
    "a class or nothing": (str | None, ("", None), (0, b"")),
    "one of two classes": (Scope | Head, (SCOPE, Head("")), (None, "u")),
    "a tuple of any length": (tuple[str, ...], ((), ("a", "b")), (["a"], ("a", 1), "a", None)),
    "a tuple of this length": (tuple[str, int], (("a", 1),), (("a",), ("a", 1, 2), (1, "a"), ["a", 1])),
    "a tuple of a class or nothing": (
        tuple[Scope | None, ...], ((SCOPE, None), (Farther("u", "a"),)), (("u",),),
    ),
    "tuples in a tuple": (
        tuple[tuple[int, ...] | None, ...], ((), ((1, 2), None)), ((1,), ((True,),), ([1],)),
    ),
    "pairs in a tuple": (tuple[tuple[str, int], ...], ((("a", 1),),), ((("a",),), (("a", "b"),))),
    "anything": (object, (None, 1, (), SCOPE), ()),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "good", "bad"), ADMITS.values(), ids=ADMITS)
def test_a_fact_admits_values_of_its_type_and_no_others(
    kind: Any, good: tuple[object, ...], bad: tuple[object, ...]
) -> None:
    fact = Fact[Any]("x", kind)
    assert [value for value in good if not fact.holds(value)] == []
    assert [value for value in bad if fact.holds(value)] == []


def test_a_fact_of_rows_admits_sound_ones_of_its_kinds() -> None:
    head, access = (Row(Address(SCOPE, kind, ""), 1, Head("")) for kind in ("head", "access"))
    fact = Fact("x", tuple[tuple[Row, ...], ...], ("head", "core"))
    good, bad = ((), (head, head)), ((head, access), (structs.replace(head, body=None),))
    assert fact.holds(good)
    assert [unit for unit in good if not fact.holds_unit(unit)] == []
    assert [unit for unit in bad if fact.holds_unit(unit) or fact.holds((unit,))] == []


@pytest.mark.parametrize("kind", [list[int], "Scope", 5, dict[str, int]])
def test_what_is_no_type_of_a_fact_says_so_when_it_is_declared(kind: Any) -> None:
    with pytest.raises(TypeError, match="a fact is of a class, a tuple or a union of those"):
        Fact[Any]("x", kind)


def test_a_unit_is_one_of_a_tuple_of_any_length() -> None:
    assert unit_of(tuple[str | None, ...]) == str | None
    assert unit_of(object) is object
    assert unit_of(tuple[str, int]) is unit_of(str) is None
    lists, number = Fact("lists", tuple[tuple[int, ...], ...]), Fact[Any]("n", int)
    assert (lists.holds_unit((1, 2)), lists.holds_unit(1), number.holds_unit(1)) == (True, False, False)


def test_facts_are_learnt_by_name_and_read_by_key() -> None:
    names, count, other = Fact("names", tuple[str, ...]), Fact("count", int), Fact("other", int)
    learnt = names(("a", "b")) | count(2) | {"left": None}
    assert learnt == {"names": ("a", "b"), "count": 2, "left": None}
    assert names.unit("c") == {"names": "c"}
    facts = Facts(learnt, at=1)
    assert (facts[count], facts.unit(names), facts.get(count), facts.get(other)) == (2, "b", 2, None)
    with pytest.raises(KeyError):
        facts[other]


@pytest.mark.parametrize(
    ("kind", "wide"),
    [
        (int, int),
        (int, object),
        (int, int | None),
        (int | None, int | str | None),
        (Farther, Scope),
        (tuple[int, ...], tuple[int | None, ...]),
        (tuple[tuple[Row, Entity], ...], tuple[tuple[Row, object], ...]),
        (tuple[int, str], tuple[object, object]),
    ],
)
def test_a_narrower_type_may_be_read_as_a_wider_one_and_not_the_other_way(kind: Any, wide: Any) -> None:
    assert is_within(kind, wide)
    assert kind == wide or not is_within(wide, kind)


def test_types_that_have_nothing_to_do_with_each_other_are_not_within() -> None:
    assert not is_within(int, str)
    assert not is_within(tuple[int, ...], int)
    assert not is_within(tuple[int, ...], tuple[int, int])
    assert not is_within(tuple[int, int], tuple[int, int, int])

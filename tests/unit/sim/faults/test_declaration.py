"""Goal: a kind that lacks a part says so at import, in one sentence with the kind, the part and the file."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from umi_sim.faults.declaration import (
    CLASSES,
    PLACES,
    FaultClass,
    Incomplete,
    check_guards,
    family,
    fault,
    flag,
    one_of,
    whole,
)
from umi_sim.faults.edits import Put
from umi_sim.faults.embedder import OddComponent
from umi_sim.faults.kinds import KINDS

FILE = "umi_sim/faults/storage.py"
GUARDS = ("RET-1",)


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    known = dict(KINDS)
    yield
    KINDS.clear()
    KINDS.update(known)


class Nothing:
    def strike(self, here: object) -> None:
        """Nothing happens."""


def made(name: str = "LatePage", *bases: type, **parts: Any) -> type:
    """A class as it might stand in the file of storage, whole unless a part is given otherwise."""
    parts = {"__doc__": "A page that comes late.", "__module__": "umi_sim.faults.storage", **parts}
    return type(name, bases or (Nothing,), parts)


def told(
    cls: type,
    place: str = "storage.read",
    fault_class: FaultClass = "quirk",
    guards: tuple[str, ...] = GUARDS,
) -> str:
    """What is said when this class is declared."""
    with pytest.raises(Incomplete) as raised:
        fault(place, fault_class, guards=guards)(cls)
    assert str(raised.value).count("\n") == 0
    return str(raised.value)


def test_a_kind_is_all_that_its_class_says() -> None:
    @fault("storage.read", "quirk", guards=("RET-1", "RET-2"))
    class LatePage(Nothing):
        """A page that comes late."""

        wait_ms: int = whole(1, 9)
        is_known: bool = flag(default=False)
        told: str = one_of("nothing", "unknown", default="nothing")
        draw: ClassVar[Any] = None

    kind = KINDS["storage_late_page"]
    assert (kind.name, kind.group, kind.place) == ("storage_late_page", "storage", PLACES["storage.read"])
    assert (kind.fault_class, kind.guards) == ("quirk", ("RET-1", "RET-2"))
    assert kind.what == "A page that comes late."
    assert (list(kind.arguments), kind.needs) == (["wait_ms", "is_known", "told"], ("wait_ms",))
    assert vars(LatePage(wait_ms=3)) == {"wait_ms": 3, "is_known": False, "told": "nothing"}
    assert [kind.is_at(verb) for verb in ("storage.read", "storage.commit")] == [True, False]


def test_a_kind_without_a_docstring_is_told() -> None:
    expected = f"storage_late_page in {FILE} has no docstring: its first line says what happens"
    assert told(made(__doc__=None)) == expected


def test_a_kind_without_an_effect_is_told() -> None:
    expected = f"storage_late_page in {FILE} has no strike(self, here): it does what the fault does"
    assert told(made("LatePage", object)) == expected


def test_an_argument_without_a_range_is_told() -> None:
    expected = (
        f"storage_late_page in {FILE} has the argument count without a range: "
        "give it one, whole(low, high), flag(), string() or one_of()"
    )
    assert told(made(__annotations__={"count": int})) == expected
    assert told(made(__annotations__={"count": int}, count=3)) == expected


def test_arguments_that_nobody_draws_are_told() -> None:
    expected = f"storage_late_page in {FILE} has no draw(cls, here, luck): it draws count"
    assert told(made(__annotations__={"count": int}, count=whole())) == expected


def test_an_unknown_place_is_told() -> None:
    assert told(made(), "storage.raed") == (
        f"LatePage in {FILE} strikes at no known place: storage.raed is not in {', '.join(PLACES)}"
    )


def test_an_unknown_class_of_faults_is_told() -> None:
    wrong: Any = "Q"
    expected = f"storage_late_page in {FILE} is of no known class: Q is not in {', '.join(CLASSES)}"
    assert told(made(), fault_class=wrong) == expected


def test_a_kind_that_guards_nothing_is_told() -> None:
    assert told(made(), guards=()) == (
        f"storage_late_page in {FILE} guards nothing: name the ids of the rules that must hold all the same"
    )


def test_a_rule_that_there_is_not_is_told() -> None:
    fault("storage.read", "quirk", guards=("RET-1", "RET-99"))(made())
    rules = [rule for name, kind in KINDS.items() if name != "storage_late_page" for rule in kind.guards]
    with pytest.raises(Incomplete) as raised:
        check_guards(rules)
    expected = f"storage_late_page in {FILE} guards RET-99, and no rule has this id"
    assert str(raised.value) == expected


def test_a_second_kind_with_a_name_is_told() -> None:
    expected = f"storage_short_page in {FILE} has the name of a kind in {FILE}"
    assert told(made("ShortPage")) == expected


def test_a_name_of_another_group_is_told() -> None:
    assert told(made("LinkPage")) == (
        f"storage_link_page in {FILE} has a name of the group link: LinkPage strikes storage.read"
    )


def test_a_kind_in_the_file_of_another_place_is_told() -> None:
    other = "umi_sim/faults/network.py"
    expected = f"storage_late_page in {other} belongs into {FILE}, with all that strikes storage.read"
    assert told(made(__module__="umi_sim.faults.network")) == expected


@pytest.mark.parametrize(("base", "part"), [(Put, "options"), (OddComponent, "odd")])
def test_what_a_family_leaves_open_is_told(base: type, part: str) -> None:
    expected = f"storage_late_page in {FILE} has no {part}: the classes that it is made of leave that to it"
    assert told(made("LatePage", base)) == expected


def test_a_family_is_no_kind() -> None:
    assert family(made()).__name__ not in str(KINDS)


# What is derived.


@pytest.mark.parametrize(
    ("place", "fault_class", "explored", "is_explored"),
    [
        ("storage.read", "quirk", None, True),
        ("storage.read", "quirk", False, False),
        ("storage.read", "window", None, False),
        ("storage.read", "window", True, True),
        ("storage.read", "destroys", None, False),
    ],
)
def test_what_lasts_or_destroys_is_explored_only_if_it_says_so(
    place: str, fault_class: FaultClass, explored: bool | None, is_explored: bool
) -> None:
    fault(place, fault_class, guards=GUARDS, explored=explored)(made())
    assert KINDS["storage_late_page"].is_explored == is_explored


def test_nothing_on_links_is_explored() -> None:
    assert not any(kind.is_explored for kind in KINDS.values() if kind.group == "link")


@pytest.mark.parametrize("given", [{}, {"count": 1, "other": 2}, {"other": 2}])
def test_arguments_that_are_not_those_of_the_kind_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="storage_short_page has these arguments: count; given were:"):
        KINDS["storage_short_page"].strike(given, None)


def test_where_a_kind_cannot_strike_nothing_is_counted() -> None:
    without_effect = Counter[str]()
    fault("storage.read", "quirk", guards=GUARDS)(made(may_strike=lambda here: False))
    assert KINDS["storage_late_page"].draw(None, lambda label, n: 0, without_effect) is None
    assert without_effect == {}

"""Goal: a kind that lacks a part says so at import, in one sentence with the kind, the part and the file."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from umi_sim.faults.arguments import flag, one_of, span_ms, whole
from umi_sim.faults.declaration import CLASSES, PLACES, FaultKind, IncompleteFault, check_kinds
from umi_sim.faults.edits import Put
from umi_sim.faults.embedder import OddComponent
from umi_sim.faults.kinds import KINDS

FILE = "umi_sim/faults/storage.py"
RULES = [rule for kind in KINDS.values() for rule in kind.guards]
WHOLE = {"at": "storage.read", "is_a": "quirk", "guards": ("RET-1",)}


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    known = dict(KINDS)
    yield
    KINDS.clear()
    KINDS.update(known)


def made(
    name: str = "LatePage", base: type = FaultKind, attributes: dict[str, Any] = WHOLE, **parts: Any
) -> Any:
    """A class as it might stand in the file of storage, whole unless a part is given otherwise."""
    usual = {"__doc__": "A page that comes late.", "__module__": "umi_sim.faults.storage"}
    return type(name, (base,), {**usual, "apply": lambda self, here: None, **parts}, **attributes)


def describe_refusal(
    name: str = "LatePage", base: type = FaultKind, attributes: dict[str, Any] = WHOLE, **parts: Any
) -> str:
    """Return the error of making this class."""
    with pytest.raises(IncompleteFault) as raised:
        made(name, base, attributes, **parts)
    assert str(raised.value).count("\n") == 0
    return str(raised.value)


def test_a_kind_is_all_that_its_class_says() -> None:
    class LatePage(FaultKind, at="storage.read", is_a="quirk", guards=("RET-1", "RET-2")):
        """A page that comes late."""

        wait_ms: int = span_ms(1, 9)
        is_known: bool = flag(default=False)
        told: str = one_of("nothing", "unknown", default="nothing")

        def apply(self, here: object) -> int:
            return self.wait_ms

    assert KINDS["storage_late_page"] is LatePage
    assert (LatePage.group, LatePage.place) == ("storage", PLACES["storage.read"])
    assert (LatePage.fault_class, LatePage.guards) == ("quirk", ("RET-1", "RET-2"))
    assert LatePage.what == "A page that comes late."
    assert vars(LatePage(wait_ms=3)) == {"wait_ms": 3, "is_known": False, "told": "nothing"}
    assert LatePage(wait_ms=3).inject(None) == 3
    assert [LatePage.is_at(verb) for verb in ("storage.read", "storage.commit")] == [True, False]
    drawn = LatePage.args_for(None, lambda label, n: n - 1, Counter())
    assert drawn == {"wait_ms": 9, "is_known": True, "told": "unknown"}


def test_a_kind_without_a_docstring_is_reported() -> None:
    expected = f"storage_late_page in {FILE} has no docstring: its first line says what happens"
    assert describe_refusal(__doc__=None) == expected


def test_a_kind_without_an_effect_is_reported() -> None:
    parts = {"__doc__": "A page.", "__module__": "umi_sim.faults.storage"}
    with pytest.raises(IncompleteFault) as raised:
        type("LatePage", (FaultKind,), parts, **WHOLE)
    expected = f"storage_late_page in {FILE} has no apply(self, here): it does what the fault does"
    assert str(raised.value) == expected


@pytest.mark.parametrize("given", [{}, {"count": 3}])
def test_an_argument_without_a_range_is_reported(given: dict[str, Any]) -> None:
    assert describe_refusal(__annotations__={"count": int}, **given) == (
        f"storage_late_page in {FILE} has the argument count without a range: "
        "give it one of arguments.py, like whole(0, 9)"
    )


def test_arguments_that_are_not_drawn_are_reported() -> None:
    expected = f"storage_late_page in {FILE} has no draw(cls, here, draws): nothing draws count"
    assert describe_refusal(__annotations__={"count": int}, count=whole()) == expected


def test_a_window_without_a_duration_is_reported() -> None:
    expected = "is a window and does not say how long: give it for_ms = span_ms(1, WINDOW_MS_MAX)"
    assert (
        describe_refusal(attributes={**WHOLE, "is_a": "window"}) == f"storage_late_page in {FILE} {expected}"
    )


def test_an_unknown_site_is_reported() -> None:
    assert describe_refusal(attributes={**WHOLE, "at": "storage.raed"}) == (
        f"LatePage in {FILE} is applied nowhere: at=storage.raed is none of {', '.join(PLACES)}"
    )


def test_an_unknown_class_of_faults_is_reported() -> None:
    expected = f"storage_late_page in {FILE} is of no known class: is_a is one of {', '.join(CLASSES)}"
    assert describe_refusal(attributes={**WHOLE, "is_a": "Q"}) == expected


def test_a_kind_that_guards_nothing_is_reported() -> None:
    assert describe_refusal(attributes={**WHOLE, "guards": ()}) == (
        f"storage_late_page in {FILE} guards nothing: name the ids of the rules that must hold all the same"
    )


def test_a_second_kind_with_a_name_is_reported() -> None:
    assert describe_refusal("ShortPage") == f"storage_short_page in {FILE} has the name of a kind in {FILE}"


def test_a_name_of_another_group_is_reported() -> None:
    assert describe_refusal("LinkPage") == (
        f"storage_link_page in {FILE} has a name of the group link: LinkPage is applied at storage.read"
    )


def test_a_kind_in_the_file_of_another_site_is_reported() -> None:
    assert describe_refusal(__module__="umi_sim.faults.network") == (
        "storage_late_page in umi_sim/faults/network.py stands in the wrong file: "
        "what is applied at storage.read belongs into umi_sim.faults.storage"
    )


@pytest.mark.parametrize(("base", "part"), [(Put, "options"), (OddComponent, "invalid")])
def test_what_a_family_leaves_open_is_reported(base: type, part: str) -> None:
    expected = f"storage_late_page in {FILE} has no {part}: its base classes leave that to it"
    assert describe_refusal(base=base) == expected


# What no class can know of itself.


def test_an_unknown_rule_is_reported() -> None:
    made(attributes={**WHOLE, "guards": ("RET-1", "NONE-99")})
    with pytest.raises(IncompleteFault) as raised:
        check_kinds(RULES)
    assert str(raised.value) == f"storage_late_page in {FILE} guards NONE-99, and no rule has this id"


def test_a_class_that_is_neither_a_kind_nor_the_family_of_one_is_reported() -> None:
    forgotten = made(attributes={})
    with pytest.raises(IncompleteFault) as raised:
        check_kinds(RULES)
    assert forgotten.name == ""
    assert str(raised.value) == f"LatePage in {FILE} is applied nowhere: at= is none of {', '.join(PLACES)}"


# What is derived.


@pytest.mark.parametrize(
    ("is_a", "explored", "is_explored"),
    [
        ("quirk", None, True),
        ("quirk", False, False),
        ("window", None, False),
        ("window", True, True),
        ("destroys", None, False),
    ],
)
def test_what_lasts_or_destroys_is_explored_only_if_it_says_so(
    is_a: str, explored: bool | None, is_explored: bool
) -> None:
    late = made(attributes={**WHOLE, "is_a": is_a, "explored": explored}, for_ms=span_ms(1, 9))
    assert late.is_explored == is_explored


def test_nothing_on_links_is_explored() -> None:
    assert not any(kind.is_explored for kind in KINDS.values() if kind.group == "link")


@pytest.mark.parametrize("given", [{}, {"count": 1, "other": 2}, {"other": 2}])
def test_arguments_that_are_not_those_of_the_kind_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="storage_short_page has these arguments: count; given were:"):
        KINDS["storage_short_page"](**given)


def test_where_a_kind_cannot_strike_nothing_is_counted() -> None:
    without_effect = Counter[str]()
    late = made(can_apply=classmethod(lambda cls, here: False))
    assert late.args_for(None, lambda label, n: 0, without_effect) is None
    assert without_effect == {}

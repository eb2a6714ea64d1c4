"""Goal: SimLLM says of each pair what the new statement does to the old one, and no row is dropped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language.evolution import Evolution, parse_evolution
from umi_core.language.prompts import Statement, ask_evolve
from umi_sim.services.model import truth
from umi_sim.services.model.evolution import PREDICATES

TEXT = st.text() | st.lists(
    st.sampled_from(
        [
            *(" ".join(phrase) for phrase in PREDICATES),
            "Alice",
            "Acme",
            "not",
            "now",
            "and",
            ".",
            "\n",
            "王伟住在上海。",
        ]
    ),
    max_size=12,
).map(" ".join)


def evolved(new: str, old: str, new_name: str = "Alice", old_name: str = "Alice") -> dict[str, object]:
    asked = ask_evolve(
        (Statement("a@2", new_name, new, 2),), (Statement("b@1", old_name, old, 1),), (("a@2", "b@1"),)
    )
    (row,) = json.loads(truth("evolve", asked), parse_float=str)
    assert (row["new"], row["old"]) == ("a@2", "b@1")
    assert isinstance(row, dict)
    return row


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("Alice works at Acme.", "alice  works at ACME", "none"),
        ("Alice works at Initech.", "Alice works at Acme.", "contradict"),
        ("Alice now works at Initech.", "Alice works at Acme.", "update"),
        ("Alice does not work at Acme.", "Alice works at Acme.", "contradict"),
        ("Alice no longer works at Acme.", "Alice works at Acme.", "update"),
        ("Alice lives in Porto since May.", "Alice lives in Leeds.", "update"),
        ("Alice moved to Porto.", "Alice lives in Leeds.", "update"),
        ("Alice likes tea.", "Alice doesn't like tea.", "contradict"),
        ("Alice is tired.", "Alice is not tired.", "contradict"),
        ("Alice owns a car.", "Alice owns a boat.", "extend"),
        ("Alice now likes coffee.", "Alice likes tea.", "extend"),
        ("Alice also works at Beta.", "Alice works at Acme.", "extend"),
        ("Alice works at Acme.\nAlice lives in Leeds.", "Alice works at Acme.", "extend"),
        ("Alice works at Acme as a cook.", "Alice works at Acme", "extend"),
        ("Alice plays chess.", "Alice works at Acme.", "extend"),
        ("", "Alice works at Acme.", "none"),
        ("Alice wohnt jetzt in Köln.", "Alice wohnt in Berlin.", "update"),
        ("Alice arbeitet nicht bei Acme.", "Alice arbeitet bei Acme.", "contradict"),
        ("Ana ya no vive en Lima.", "Ana vive en Lima.", "update"),
        ("Ana vive en Madrid.", "Ana vive en Lima.", "contradict"),
        ("Alice left Acme, now at StartupX.", "Alice works at Acme.", "update"),
        ("Alice left Acme, now at StartupX.", "Alice works at Acme Corp as an engineer.", "update"),
        ("Alice no longer works at Acme.", "Alice works at Acme Corp as an engineer.", "update"),
        ("Alice used to work at Acme.", "Alice works at Acme.", "update"),
        ("Alice is now at StartupX.", "Alice works at Acme.", "update"),
        ("Alice works at StartupX instead of Acme.", "Alice works at Acme.", "update"),
        ("Alice switched jobs to StartupX.", "Alice works at Acme.", "update"),
        ("Alice switched from Acme to StartupX.", "Alice works at Acme.", "update"),
        ("Alice changed jobs to StartupX.", "Alice works at Acme.", "update"),
        ("Alice no longer likes tea.", "Alice likes tea.", "update"),
        ("Alice quit Acme last week.", "Alice works at Acme.", "update"),
        ("Alice resigned from Acme and joined StartupX.", "Alice works at Acme.", "update"),
        ("Alice was fired from Acme.", "Alice works at Acme.", "update"),
        ("Alice moved away from Leeds.", "Alice lives in Leeds.", "update"),
        ("Alice left Leeds, now in Porto.", "Alice lives in Leeds.", "update"),
        ("Alice sold the car.", "Alice owns a car.", "update"),
        ("Alice left the party early.", "Alice works at Acme.", "extend"),
        ("Alice quit smoking.", "Alice works at Acme.", "extend"),
        ("Alice kündigte bei Acme.", "Alice arbeitet bei Acme.", "update"),
        ("王伟离开了腾讯。", "王伟在职于腾讯。", "update"),
        ("王伟现在住在北京。", "王伟住在上海。", "update"),
        ("王伟不喜欢茶。", "王伟喜欢茶。", "contradict"),
    ],
)
def test_the_type_follows_from_predicates_and_words(new: str, old: str, expected: str) -> None:
    row = evolved(new, old)
    assert row["type"] == expected
    assert row["confidence"] == {"contradict": "0.90", "update": "0.90", "extend": "0.70"}.get(
        expected, "0.60"
    )


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("Bob met Alice at Acme.", "Alice works at Acme.", "derive"),
        ("Bob sleeps.", "Alice works at Acme.", "none"),
        ("Bob works at Acme.", "Alice works at Acme.", "none"),
    ],
)
def test_another_name_extends_nothing(new: str, old: str, expected: str) -> None:
    assert evolved(new, old, new_name="Bob")["type"] == expected


STATEMENTS = st.lists(st.builds(Statement, st.sampled_from(["a@1", "b@2", "c@3"]), TEXT, TEXT), max_size=4)
PAIRS = st.lists(
    st.tuples(st.sampled_from(["a@1", "b@2", "x@9"]), st.sampled_from(["c@3", "b@2"])), unique=True
)


@given(STATEMENTS, STATEMENTS, PAIRS)
def test_every_pair_asked_about_has_its_row_in_order(
    new: list[Statement], old: list[Statement], pairs: list[tuple[str, str]]
) -> None:
    reply = truth("evolve", ask_evolve(tuple(new), tuple(old), tuple(pairs)))
    found = parse_evolution(reply, pairs, 0)
    assert isinstance(found, Evolution)
    assert found.dropped == ()
    assert [(row["new"], row["old"]) for row in json.loads(reply)] == pairs


def test_a_pair_asked_about_twice_has_one_row() -> None:
    pair = {"new": "a@1", "old": "b@2"}
    assert (
        len(json.loads(truth("evolve", f"INPUT pairs = {json.dumps([pair, pair, {}, 7, {'new': 1}])}"))) == 1
    )

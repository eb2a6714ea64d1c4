"""Goal: members of a category are divided as H8.3 to H8.10 say, in any order, and as a plain reader does."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import hierarchy_reference as plain
from tests.spec_tables import read_cell, rows, words
from umi_core.language.keywords import (
    Unnamed,
    free_name,
    keywords,
    name_of,
    parse_name,
)
from umi_core.language.tables import NO_KEYWORDS, STOP_WORDS, TECHNICAL
from umi_core.policies.clustering import Bounds, Cluster, KnownGroup, clusters, nearest_known
from umi_core.policies.similarity import MemberVectors, vector_relevance_ppm

EXAMPLE = {
    "a1": (10, 0), "a2": (9, 1), "a3": (9, -1), "b1": (-10, 0), "b2": (-9, 1), "b3": (-9, -1),
    "c1": (0, 10), "c2": (7, 7),
}  # fmt: skip
BOUNDS = Bounds(700_000, 850_000, 3, 10)


def shown(found: list[Cluster]) -> list[tuple[str, tuple[str, ...]]]:
    return [(it.known.id if it.known else "", it.member_ids) for it in found]


def test_the_example_of_the_page() -> None:
    found = clusters(EXAMPLE, (), BOUNDS, afresh=False)
    for row, it in zip(rows("hierarchy", "clusters"), found, strict=True):
        near = [vector_relevance_ppm(EXAMPLE[key], it.centroid) for key in it.member_ids]
        assert [list(it.member_ids), list(it.centroid), near] == [
            read_cell(row["members"]), read_cell(row["centroid"]), read_cell(row["similarities"])
        ]  # fmt: skip


def test_members_near_a_known_group_go_there_and_the_others_form_new_ones() -> None:
    old = KnownGroup("sub_a", 5, (1, 0), ())
    assert shown(clusters(EXAMPLE, (old,), BOUNDS, afresh=False)) == [
        ("sub_a", ("a1", "a2", "a3", "c2")), ("", ("b1", "b2", "b3")),
    ]  # fmt: skip


def test_a_known_group_without_enough_members_is_no_more() -> None:
    lonely = KnownGroup("sub_x", 5, (0, 1), ("c1",))
    assert shown(clusters(EXAMPLE, (lonely,), BOUNDS, afresh=False))[0][0] == ""


def test_two_groups_that_are_near_each_other_become_the_known_one() -> None:
    """Of two known ones the larger, then the older."""
    old, older = KnownGroup("sub_o", 5, (10, 1), ()), KnownGroup("sub_p", 4, (10, -1), ())
    near = {f"m{n}": (10, n - 4) for n in range(8)}
    found = clusters(near, (old, older), BOUNDS, afresh=False)
    assert shown(found) == [("sub_p", tuple(sorted(near)))]


def test_afresh_a_known_group_goes_on_where_most_of_its_members_are() -> None:
    known = (
        KnownGroup("sub_b", 5, (0, 1), ("b1", "a1", "a2")),
        KnownGroup("sub_c", 6, (0, 1), ("a3", "b2", "b3")),
    )
    found = clusters(EXAMPLE, known, BOUNDS, afresh=True)
    assert shown(found) == [("sub_b", ("a1", "a2", "a3", "c2")), ("sub_c", ("b1", "b2", "b3"))]


def test_only_the_largest_are_kept() -> None:
    assert len(clusters(EXAMPLE, (), Bounds(700_000, 850_000, 3, 1), afresh=False)) == 1


def test_so_many_new_ones_are_formed_and_no_more() -> None:
    """A hundred, and those with the smaller ids."""
    apart = {f"m{at:03}": tuple(int(at == place) for place in range(120)) for at in range(120)}
    found = clusters(apart, (), Bounds(700_000, 850_000, 1, 200), afresh=False)
    assert [it.member_ids for it in found] == [(f"m{at:03}",) for at in range(100)]


def test_no_agent_is_partitioned() -> None:
    assert clusters({}, (), BOUNDS, afresh=False) == []


def test_a_centroid_is_a_vector() -> None:
    assert MemberVectors.of([(100, -100), (100, -1), (0, 0)]).centroid([0, 1, 2]).components == (127, -64)


def test_the_nearest_of_equals_has_the_smaller_id() -> None:
    assert nearest_known((1, 0), [("b", (2, 0)), ("a", (3, 0))], 700_000) == ("a", 1_000_000)
    assert nearest_known((1, 0), [("b", (0, 2))], 700_000) is None


VECTORS = st.dictionaries(
    st.sampled_from([f"m{n:02}" for n in range(24)]),
    st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 9)).filter(any),
    max_size=24,
)
ORDER, SIZES = st.randoms(), st.integers(1, 4)


@settings(max_examples=60)
@given(
    VECTORS, st.integers(1, 900_000), st.integers(0, 99_000), st.integers(1, 4), st.booleans(), st.randoms()
)
def test_any_members_in_any_order_are_divided_as_the_plain_reader_does(
    members: dict[str, tuple[int, ...]],
    near_ppm: int,
    more_ppm: int,
    size_min: int,
    afresh: bool,
    chance: Random,
) -> None:
    bounds = Bounds(near_ppm, near_ppm + more_ppm, size_min, 5)
    first = clusters(members, (), bounds, afresh=False)
    known = [KnownGroup(f"sub_{n}", n % 2, it.centroid, it.member_ids) for n, it in enumerate(first[::2])]
    ids = sorted(members)
    chance.shuffle(ids)
    found = clusters({key: members[key] for key in ids}, known[::-1], bounds, afresh=afresh)
    old = [plain.OldGroup(it.id, it.created_ms, it.centroid, it.member_ids) for it in known]
    rules = plain.Rules(near_ppm, near_ppm + more_ppm, size_min, 5)
    due = plain.groups_of(members, old, rules, afresh=afresh)
    assert shown(found) == [(it.old.id if it.old else "", it.members) for it in due]
    for it in found:
        assert len(it.member_ids) >= size_min
        assert all(vector_relevance_ppm(members[key], it.centroid) >= near_ppm for key in it.member_ids)


# Keywords and names.


def test_the_keywords_of_the_page() -> None:
    for row in rows("hierarchy", "keywords"):
        assert list(keywords(read_cell(row["texts"]))) == read_cell(row["keywords"]).split()


def test_the_words_of_the_page() -> None:
    assert frozenset(words("hierarchy", "keyword_stop_words")) | STOP_WORDS == NO_KEYWORDS
    assert frozenset(words("hierarchy", "technical_terms")) == TECHNICAL


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("a_b 3rd __ _x Go no", "go a_b"), ("Ünï ünï", "ünï"), ("हिन्दी", "हिन्दी"), ("東京 京", "東京"),
        ("R2D2 2fast", "r2d2"), ("", ""),
    ],
)  # fmt: skip
def test_a_word_that_tells_something(text: str, due: str) -> None:
    assert list(keywords([text])) == due.split()
    assert sorted(plain.keywords_of([text])) == sorted(due.split())


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("Green tea", "green_tea"), ('Name: "The tea of Ann"\nbecause', "tea_ann"), (" \n", None),
        ("3 of 4", None), ("x" * 50_001, None), ('{"name": "Green tea"}', "green_tea"),
        ("The best name is: Tea", "tea"), ("Unfortunately, I am unable to name them.", None),
        ("Lo siento, pero no puedo hacerlo.", None), ("抱歉，我无法回答。", None),
        ("long " * 9, "long_long_long_long_long_long_long_long_"),
    ],
)  # fmt: skip
def test_a_reply_names_a_group(reply: str, name: str | None) -> None:
    read = parse_name(reply)
    assert (None if isinstance(read, Unnamed) else read) == name == plain.read_name(reply)


def test_without_a_model_keywords_name_a_group_and_no_two_have_one_name() -> None:
    assert name_of(("tea", "cake", "milk", "jam"), "ent_1234567890") == "tea_cake_milk"
    assert name_of((), "ent_1234567890") == "group_34567890"
    assert free_name("tea", {"cake": None}) == "tea"
    assert free_name("Tea", {"tea": None, "tea-1": None}) == "Tea-2"

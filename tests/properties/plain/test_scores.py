"""Goal: scores are those of M6 and M12, and the memory's are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import scores_reference as plain_scores
from tests.properties.plain.drawn import ANY_TEXT, QUERIES, TEXTS
from tests.spec_tables import Row as Worked
from tests.spec_tables import read_cell, rows, whole
from umi_core.policies import ranking, similarity, term_scores
from umi_core.rows import AccessRecord
from umi_sim.judge.plain import scores

PERSON = AccessRecord("ent_a", "person", 500_000, 1, 0, 0)


@pytest.mark.parametrize("row", rows("memory", "scores"), ids=lambda row: row["age"])
def test_one_access_fades_as_the_table_says(row: Worked) -> None:
    age_ms = whole(row["age"])
    assert plain_scores.recency_ppm(age_ms) == whole(row["recency"])
    assert plain_scores.frequency_ppm(1, age_ms) == whole(row["frequency"])
    assert plain_scores.promotion_ppm(PERSON, age_ms) == whole(row["score"])


def test_a_clock_that_went_back_makes_nothing_older() -> None:
    assert plain_scores.promotion_ppm(PERSON, -1) == plain_scores.promotion_ppm(PERSON, 0)


def test_roots_and_parts_of_types_are_those_of_the_tables() -> None:
    for row in rows("memory", "roots"):
        assert plain_scores.ROOTS[whole(row["k"]) - 1] == whole(row["c"])
    parts = {row["type"]: whole(row["part of the score"]) for row in rows("memory", "types")}
    assert parts == plain_scores.TYPE_PPM


SEARCHED = [(read_cell(row["name"]), read_cell(row["text"])) for row in rows("memory", "searched")]


@pytest.mark.parametrize("row", rows("memory", "words_relevance"), ids=lambda row: row["query"])
def test_a_row_is_as_relevant_as_its_words_are_rare(row: Worked) -> None:
    wanted = [whole(row[name]) for name in ("first", "second", "third", "fourth", "fifth")]
    assert plain_scores.words_ppm(read_cell(row["query"]), SEARCHED) == wanted


@pytest.mark.parametrize("row", rows("memory", "united"), ids=str)
def test_two_scores_of_a_row_are_united_as_in_the_table(row: Worked) -> None:
    assert plain_scores.united_ppm(whole(row["by vector"]), whole(row["by words"])) == whole(row["relevance"])


def test_rows_share_terms_or_words_do_not_find_them() -> None:
    assert plain_scores.shares_terms("Cafés", "", "a cafe")
    assert not plain_scores.shares_terms("tea", "Ann", "a cafe")
    assert plain_scores.words_ppm("tea", [("", "..."), ("", "")]) == [0, 0]


@pytest.mark.parametrize("row", rows("memory", "vector_relevance"), ids=lambda row: row["row"])
def test_a_row_is_as_relevant_as_it_points_the_same_way(row: Worked) -> None:
    assert plain_scores.vector_ppm(read_cell(row["query"]), read_cell(row["row"])) == whole(row["relevance"])


def test_two_lists_are_fused_as_in_the_table() -> None:
    lists = [[("A", 900_000), ("B", 800_000)], [("B", 850_000), ("C", 700_000)]]
    fused = [(row["id"], whole(row["score"]), whole(row["relevance"])) for row in rows("memory", "fusion")]
    assert scores.fuse_lists(lists, 9) == fused
    assert scores.fuse_lists(lists[:1], 1) == [("A", 900_000, 900_000)]


def test_of_two_hits_of_one_id_the_better_one_counts() -> None:
    assert scores.rank_variant([("A", 2), ("B", 3), ("A", 4), ("C", 3)], 2) == [("A", 4), ("B", 3)]


@pytest.mark.parametrize("bad", [(0, 0), (1,), (128, 0), (True, 0), None, "ab"])
def test_an_unsound_vector_counts_as_missing_and_takes_no_other(bad: object) -> None:
    assert scores.sound_vectors(((1, -127), bad), 2, 2) == ((1, -127), None)
    assert scores.sound_vectors(((1, 2),), 2, 2) is None


# Against the memory.

SMALL = st.integers(-3, 3) | st.integers(-127, 127)


@given(QUERIES | ANY_TEXT, st.lists(st.tuples(TEXTS | ANY_TEXT, TEXTS | ANY_TEXT), min_size=1, max_size=4))
def test_the_memory_finds_words_as_relevant(query: str, lines: list[tuple[str, str]]) -> None:
    assert term_scores.score_rows(query, lines) == plain_scores.words_ppm(query, lines)
    assert term_scores.score_alone(query, *lines[0]) == plain_scores.alone_ppm(query, *lines[0])


@given(st.integers(0, 1_000_000), st.integers(0, 1_000_000))
def test_the_memory_unites_scores_alike(by_vector: int, by_words: int) -> None:
    assert ranking.united_ppm(by_vector, by_words) == plain_scores.united_ppm(by_vector, by_words)


@given(
    st.tuples(*[st.lists(SMALL | st.sampled_from([128, True, None, "1"]), max_size=3)] * 2), st.integers(1, 2)
)
def test_the_memory_finds_the_same_vectors_sound(vectors: tuple[list[object], ...], dims: int) -> None:
    for given_vectors in (vectors, [*vectors], tuple(tuple(it) for it in vectors), None, 7, vectors[:1]):
        wanted = scores.sound_vectors(given_vectors, 2, dims)
        assert similarity.sound_vectors(given_vectors, 2, dims) == wanted

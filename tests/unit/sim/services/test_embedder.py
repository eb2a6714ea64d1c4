"""Goal: a vector is whole numbers made from the multiset of words alone, and near where words are shared."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, read_cell, rows
from umi_sim.kernel.characters import tokens
from umi_sim.services.embedder import embed, scale_sums

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def plainly_embedded(text: str, dims: int) -> tuple[int, ...]:
    sums = [0] * dims
    for word in tokens(text) or [""]:
        digest = blake2b(word.encode(), digest_size=24, person=b"umi-embed-1").digest()
        for j in range(8):
            place = int.from_bytes(digest[2 * j : 2 * j + 2], "big") % dims
            sums[place] += 1 if digest[16 + j] % 2 == 0 else -1
    peak = max(abs(value) for value in sums)
    if peak == 0:
        return (127, *[0] * (dims - 1))
    return tuple((1 if value > 0 else -1) * (127 * abs(value) // peak) for value in sums)


def dot(a: str, b: str) -> int:
    return sum(x * y for x, y in zip(embed(a, 64), embed(b, 64), strict=True))


@pytest.mark.parametrize("row", rows("simulator", "embedding"), ids=lambda row: row["text"])
def test_a_vector_is_that_of_the_table(row: Row) -> None:
    assert embed(read_cell(row["text"]), 16) == tuple(read_cell(row["vector of 16 components"]))


@given(ANY_TEXT, st.integers(1, 96))
def test_the_fast_way_is_the_plain_way(text: str, dims: int) -> None:
    assert embed(text, dims) == plainly_embedded(text, dims)


@given(st.lists(st.sampled_from(["ada", "bob", "Cem", "東京"]), max_size=9))
def test_equal_multisets_of_words_give_equal_vectors(words: list[str]) -> None:
    assert embed(" ".join(words), 64) == embed(", ".join(sorted(words)).upper(), 64)


def test_a_text_without_words_is_one_empty_word() -> None:
    assert embed("", 64) == embed(" \ud800!", 64) != embed("a", 64)


def test_components_are_cut_towards_zero_and_never_all_zero() -> None:
    assert scale_sums([3, -2, 2, 0]) == (127, -84, 84, 0)
    assert scale_sums([1, -5]) == (25, -127)
    assert scale_sums([0, 0, 0]) == (127, 0, 0)


def test_shared_words_are_near() -> None:
    query = "where does Alice work"
    assert dot(query, "Alice does work at Acme") > dot(query, "Bob bought seven green apples")

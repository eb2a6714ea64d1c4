"""Goal: the walk of M8.2: who leaves, and that each is needed."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.spec_tables import Row, plain, read_cell, rows, whole
from umi_core.policies.eviction import EvictionCandidate, Shortage, victims

A = EvictionCandidate("a", 610_000, 300, "facts")
B = EvictionCandidate("b", 640_000, 1_200, "facts")
C = EvictionCandidate("c", 655_000, 200, "facts")
ABC = (A, B, C)


@pytest.mark.parametrize("row", rows("memory", "victims"), ids=lambda row: row["wanted"])
def test_the_victims_are_those_of_the_table(row: Row) -> None:
    blocks = ["persona" if entry.entity_id == plain(row["self"]) else "facts" for entry in ABC]
    scored = [
        structs.replace(entry, score_ppm=score_ppm, block=block)
        for entry, score_ppm, block in zip(ABC, read_cell(row["scores"]), blocks, strict=True)
    ]
    removed = victims(scored, Shortage(whole(row["lacking bytes"])))
    assert (None if removed is None else list(removed)) == read_cell(row["victims"])


def test_without_a_shortage_there_are_no_victims() -> None:
    assert victims(ABC, Shortage()) == ()


def test_a_self_entry_never_leaves() -> None:
    mine = EvictionCandidate("a", 0, 300, "persona")
    assert victims((mine,), Shortage(entry_count=1)) is None


def test_a_short_block_is_helped_by_its_own_entries_only() -> None:
    goal = EvictionCandidate("g", 0, 5_000, "goals")
    assert victims((goal, *ABC), Shortage(block_bytes=(("facts", 1), ("goals", -5)))) == ("a",)
    assert victims((goal,), Shortage(block_bytes=(("facts", 1),))) is None


def test_an_empty_entry_helps_the_count_but_no_bytes() -> None:
    empty = EvictionCandidate("e", 0, 0, "facts")
    assert victims((empty, A), Shortage(core_bytes=1)) == ("a",)
    assert victims((empty, A), Shortage(entry_count=1)) == ("e",)


def test_ties_go_to_the_smaller_id() -> None:
    twins = [EvictionCandidate(entity_id, 5, 10, "facts") for entity_id in ("z", "m", "b")]
    assert victims(twins, Shortage(core_bytes=20)) == ("b", "m")


BLOCKS = ("persona", "facts", "goals")
STANDINGS = st.lists(
    st.builds(
        EvictionCandidate,
        st.sampled_from("abcdefgh"),
        st.integers(0, 3),
        st.integers(0, 4),
        st.sampled_from(BLOCKS),
    ),
    unique_by=lambda entry: entry.entity_id,
    max_size=7,
)
LACKS = st.integers(-3, 8)
SHORTAGES = st.builds(
    Shortage, LACKS, st.integers(-2, 4), st.tuples(*(st.tuples(st.just(block), LACKS) for block in BLOCKS))
)


def is_enough(remaining: tuple[EvictionCandidate, ...], shortage: Shortage) -> bool:
    for entry in remaining:
        shortage = shortage.after(entry)
    return shortage.is_met


@pytest.mark.uncounted
@given(STANDINGS, SHORTAGES)
def test_victims_are_enough_and_each_is_needed(entries: list[EvictionCandidate], shortage: Shortage) -> None:
    removed = victims(entries, shortage)
    if removed is not None:
        chosen = tuple(entry for entry in entries if entry.entity_id in removed)
        assert is_enough(chosen, shortage)
        assert not any(is_enough(tuple(e for e in chosen if e is not other), shortage) for other in chosen)


@pytest.mark.uncounted
@given(STANDINGS, SHORTAGES)
def test_no_request_is_refused_for_which_some_set_of_victims_suffices(
    entries: list[EvictionCandidate], shortage: Shortage
) -> None:
    others = [entry for entry in entries if entry.block != "persona"]
    subsets = chain.from_iterable(combinations(others, n) for n in range(len(others) + 1))
    assert (victims(entries, shortage) is not None) == any(
        is_enough(remaining, shortage) for remaining in subsets
    )


@pytest.mark.uncounted
@given(STANDINGS.flatmap(lambda entries: st.tuples(st.just(entries), st.permutations(entries))), SHORTAGES)
def test_the_order_of_arrival_does_not_matter(
    orders: tuple[list[EvictionCandidate], list[EvictionCandidate]], shortage: Shortage
) -> None:
    assert victims(orders[0], shortage) == victims(orders[1], shortage)


@pytest.mark.uncounted
@given(STANDINGS, SHORTAGES)
def test_the_answer_is_that_of_the_spec_read_aloud(
    entries: list[EvictionCandidate], shortage: Shortage
) -> None:
    assert victims(entries, shortage) == walked(entries, shortage)


def walked(entries: list[EvictionCandidate], shortage: Shortage) -> tuple[str, ...] | None:
    """The dumb twin: recomputes what is short from scratch at each look."""

    def lacking(remaining: list[EvictionCandidate]) -> dict[str, int]:
        blocks = {
            block: lack - sum(e.size_bytes for e in remaining if e.block == block)
            for block, lack in shortage.block_bytes
        }
        core_bytes = shortage.core_bytes - sum(e.size_bytes for e in remaining)
        return {**blocks, "core": core_bytes, "count": shortage.entry_count - len(remaining)}

    def helps(entry: EvictionCandidate, short: dict[str, int]) -> bool:
        by_bytes = short["core"] > 0 or short.get(entry.block, 0) > 0
        return short["count"] > 0 or (by_bytes and entry.size_bytes > 0)

    marked: list[EvictionCandidate] = []
    for entry in sorted(entries, key=lambda e: (e.score_ppm, e.entity_id)):
        if entry.block != "persona" and helps(entry, lacking(marked)):
            marked.append(entry)
    if max(lacking(marked).values()) > 0:
        return None
    for entry in marked[::-1]:
        if max(lacking([e for e in marked if e is not entry]).values()) <= 0:
            marked.remove(entry)
    return tuple(entry.entity_id for entry in marked)

"""Goal: words are counted alike whatever form their lists have, and a cut by level and key loses nobody."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_sim.services.postings import (
    LATE_COUNT_MIN,
    MASK_COUNT_MAX,
    MASKED_SHARE,
    Counts,
    Order,
    Postings,
    grown,
    leading,
)


def test_grown_keeps_what_was_there_and_adds_zeros() -> None:
    assert grown(np.array([[1, 2]], np.int8), 3).tolist() == [[1, 2], [0, 0], [0, 0]]
    assert grown(np.zeros((0, 2), np.int8), 1).tolist() == [[0, 0]]


def test_a_list_of_one_of_few_and_of_many_slots_counts_the_same() -> None:
    postings, size = Postings(), 5 * MASKED_SHARE
    for slot in range(size):
        postings.add(["all"] + ["few"] * (slot in (3, 7)) + ["one"] * (slot == 7), slot)
    counts = postings.counted(("one", "few", "all", "none"), size).tolist()
    assert (counts[7], counts[3], counts[0]) == (3, 2, 1)
    assert sum(counts) == size + 3
    assert list(postings.marked) == ["all"]


def test_a_mask_follows_its_list() -> None:
    postings = Postings()
    for slot in range(200):
        postings.add(("word",), slot)
        assert postings.counted(("word",), slot + 1).tolist() == [1] * (slot + 1)
    postings.add(("other",), 200)
    assert postings.counted(("word",), 201).tolist() == [1] * 200 + [0]


def test_the_mask_that_was_unused_for_longest_goes() -> None:
    postings = Postings()
    words = [f"w{n}" for n in range(MASK_COUNT_MAX + 1)]
    for slot in range(2):
        postings.add(words, slot)
    for word in (*words[:-1], words[0], words[-1]):
        postings.counted((word,), 2)
    assert list(postings.marked) == [*words[2:-1], words[0], words[-1]]


def test_many_words_are_counted_in_wider_numbers() -> None:
    postings, words = Postings(), tuple(f"w{n}" for n in range(300))
    postings.add(words, 0)
    postings.add(words[:9], 1)
    counts = postings.counted(words, 2)
    counts += counts
    assert counts.tolist() == [600, 18]


def test_a_word_is_known_once_somebody_holds_it() -> None:
    postings = Postings()
    assert not postings.knows(("a", "b"))
    postings.add(("b",), 0)
    assert postings.knows(("a", "b"))


def check_leading(levels: Counts, keys: list[int], least: int, count: int, order: Order) -> None:
    found = leading(levels, least, np.array(keys, np.uint64), order, count).tolist()
    assert len(set(found)) == len(found)
    assert all(levels[slot] >= least for slot in found)
    ranked = sorted(
        (-int(level), key, slot) for slot, (level, key) in enumerate(zip(levels, keys, strict=True))
    )
    hits = [hit for hit in ranked if -hit[0] >= least]
    needed = [hit[2] for hit in hits if hit[:2] <= hits[:count][-1][:2]]
    assert sorted(set(needed) - set(found)) == []


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), min_size=1, max_size=60),
    st.sampled_from((1, 2, 40)),
    st.integers(1, 4),
    st.integers(1, 30),
    st.booleans(),
)
def test_the_leading_slots_hold_the_first_by_level_and_key(
    some: list[tuple[int, int]], times: int, least: int, count: int, is_sorted: bool
) -> None:
    pairs = some * times
    levels, keys = np.array([pair[0] for pair in pairs], np.uint8), [pair[1] * 7 % 31 for pair in pairs]
    order = Order()
    if is_sorted:
        order.slots = np.argsort(np.array(keys[: len(keys) * 3 // 4], np.uint64))
    check_leading(levels, keys, least, count, order)


@pytest.mark.parametrize("every", [1, 2, 7, 50, 400, 5_000])
def test_common_and_rare_levels_are_cut_alike(every: int) -> None:
    size = 6_000
    levels = np.array([2 if n % every == 0 else n % 7 == 0 for n in range(size)], np.uint8)
    keys = [n * 7_919 % 6_007 for n in range(size)]
    order = Order()
    order.update(np.array(keys, np.uint64))
    assert len(order.slots) == size
    check_leading(levels, keys, 1, 20, order)


def test_the_order_is_made_anew_when_many_came_late() -> None:
    order, keys = Order(), np.arange(9 * LATE_COUNT_MIN, dtype=np.uint64)[::-1].copy()
    order.update(keys[:LATE_COUNT_MIN])
    assert len(order.slots) == 0
    order.update(keys)
    assert order.slots.tolist() == list(range(len(keys)))[::-1]
    before = order.slots
    order.update(np.append(keys, np.uint64(3)))
    assert order.slots is before

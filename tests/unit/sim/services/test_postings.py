"""Goal: a posting list names each slot that holds a term, and how often it does."""

import numpy as np

from umi_sim.services.search_index import Postings, grow_array


def test_grown_keeps_what_was_there_and_adds_zeros() -> None:
    assert grow_array(np.array([[1, 2]], np.int8), 3).tolist() == [[1, 2], [0, 0], [0, 0]]
    assert grow_array(np.zeros((0, 2), np.int8), 1).tolist() == [[0, 0]]


def test_a_list_has_its_slots_in_order_with_their_counts() -> None:
    postings = Postings()
    postings.add({"tea": 2, "cake": 1}, 0)
    postings.add({"tea": 1_000}, 3)
    posting = postings.posting("tea", 7)
    assert posting is not None
    assert (posting.weight, posting.rows.tolist(), posting.counts.tolist()) == (7, [0, 3], [2, 255])
    assert postings.posting("milk", 7) is None


def test_what_was_read_is_dropped_before_more_is_added() -> None:
    postings = Postings()
    for slot in range(100):
        postings.add({"tea": 1}, slot)
        posting = postings.posting("tea", 1)
        assert posting is not None
        assert posting.rows.tolist() == [*range(slot + 1)]
        del posting

"""Goal: chance is `umi-prng-1` to the last bit, unbiased, and moves only when its owner draws."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, maybe, read_cell, rows, whole
from umi_sim.kernel.prng import (
    SEED_MAX,
    WORD_COUNT,
    Keyed,
    Stream,
    highest,
    parse_seed,
    stream_key,
)

FAULT_KEY = stream_key(42, ("fault", "storage_lost", "storage.commit.remember.commit"))


DRAWS: dict[str, Callable[[Stream], list[object]]] = {
    "below 10": lambda stream: [stream.below(10) for _ in range(12)],
    "shuffle of 0 to 7": lambda stream: [*stream.shuffle(range(8))],
}


@pytest.mark.parametrize("row", rows("simulator", "prng"), ids=lambda row: row["draw"])
def test_draws_are_those_of_the_table(row: Row) -> None:
    seed, path, result = whole(row["seed"]), tuple(read_cell(row["path"])), read_cell(row["result"])
    how, _, data = row["draw"].partition(" ")
    if how == "words":
        stream = Stream(seed, *path)
        assert [f"{stream.word():016x}" for _ in result] == result
    elif how == "keyed":
        assert [f"{Keyed(stream_key(seed, path)).draw(data):016x}"] == result
    else:
        assert DRAWS[row["draw"]](Stream(seed, *path)) == result


def test_a_prepared_key_draws_the_same_in_any_order() -> None:
    prepared = Keyed(FAULT_KEY)
    data = ["o7/commit#1", "", "é", "o7/commit#1"]
    assert [prepared.draw(one) for one in data] == [Keyed(FAULT_KEY).draw(one) for one in data]


def test_a_path_is_its_parts_not_their_joined_text() -> None:
    assert stream_key(1, ("ab", "c")) != stream_key(1, ("a", "bc"))
    assert stream_key(1, ("a",)) != stream_key(1, ("a", ""))
    assert stream_key(1, (7,)) == stream_key(1, ("7",))


def test_one_number_is_one_word_and_the_whole_range_is_the_word() -> None:
    ours, twin = Stream(1, "a"), Stream(1, "a")
    assert ours.below(1) == 0
    twin.word()
    assert [ours.below(WORD_COUNT) for _ in range(20)] == [twin.word() for _ in range(20)]


@given(st.integers(0, SEED_MAX), st.integers(1, WORD_COUNT))
def test_below_takes_the_first_word_that_keeps_it_unbiased(seed: int, n: int) -> None:
    ours, twin = Stream(seed), Stream(seed)
    products = [twin.word() * n for _ in range(64)]
    expected = [product >> 64 for product in products if product % WORD_COUNT >= WORD_COUNT % n][:8]
    assert [ours.below(n) for _ in expected] == expected


@given(st.integers(0, SEED_MAX), st.integers(-5, 5), st.integers(0, 3))
def test_between_reaches_both_ends_and_no_further(seed: int, low: int, width: int) -> None:
    stream = Stream(seed)
    assert {stream.between(low, low + width) for _ in range(200)} == set(range(low, low + width + 1))


def test_a_rate_of_zero_or_one_shifts_nothing() -> None:
    never, always, twin = Stream(1, "a"), Stream(1, "a"), Stream(1, "a")
    assert [never.chance(0, 1), always.chance(1, 1)] == [False, True]
    twin.word()
    assert never.word() == always.word() == twin.word()


def test_a_weight_counts_as_so_many_equal_items() -> None:
    ours, twin = Stream(1, "a"), Stream(1, "a")
    assert [ours.pick_weighted("axb", (1, 0, 3)) for _ in range(99)] == [twin.pick("abbb") for _ in range(99)]


def test_shuffle_leaves_its_items_alone() -> None:
    items = list(range(9))
    assert sorted(Stream(1).shuffle(items)) == items == list(range(9))


def test_subset_keeps_the_order_and_asks_once_for_each() -> None:
    ours, twin = Stream(1), Stream(1)
    assert ours.subset(range(50), 1, 3) == [item for item in range(50) if twin.chance(1, 3)]
    assert ours.word() == twin.word()


@given(st.integers(0, SEED_MAX), st.integers(0, 2**40), st.integers(0, 2**40))
def test_log_between_stays_in_its_range(seed: int, low: int, width: int) -> None:
    assert low <= Stream(seed).log_between(low, low + width) <= low + width


def test_log_between_takes_every_bit_length_alike() -> None:
    stream = Stream(1)
    drawn = [stream.log_between(0, 1000).bit_length() for _ in range(1100)]
    assert sorted(set(drawn)) == list(range(11))
    assert all(70 <= drawn.count(bits) <= 130 for bits in range(11))


SEEDS = {read_cell(row["text"]): maybe(row["seed"]) for row in rows("simulator", "seeds")}


@pytest.mark.parametrize("text", [text for text, seed in SEEDS.items() if seed is not None])
def test_a_seed_has_three_text_forms(text: str) -> None:
    assert parse_seed(text) == SEEDS[text]


@pytest.mark.parametrize("text", [9999 * "9", *(text for text, seed in SEEDS.items() if seed is None)])
def test_anything_else_is_refused_with_the_value_and_the_limit(text: str) -> None:
    with pytest.raises(ValueError, match=f"is not a seed: write 0 .. {SEED_MAX}") as refusal:
        parse_seed(text)
    assert ascii(text)[:40].rstrip("'") in str(refusal.value)


def test_a_name_that_is_added_wins_its_share_and_moves_no_other_choice() -> None:
    keys, names = [stream_key(seed, ("config", "faults")) for seed in range(400)], ["a", "b", "c"]
    before, after = [highest(key, names) for key in keys], [highest(key, ["z", *names]) for key in keys]
    assert {old for old, new in zip(before, after, strict=True) if new != old} == set(names)
    assert {new for old, new in zip(before, after, strict=True) if new != old} == {"z"}
    assert [70 < after.count(name) < 130 for name in ("z", *names)] == [True] * 4

"""Goal: a clock reads by one formula, lies only by its moves, and knows when a reading will come."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from umi_sim.kernel.clock import READING_MS_MAX, SimClock

START_MS = 1_700_000_000_000

MOVES: st.SearchStrategy[tuple[str, dict[str, int]]] = st.one_of(
    st.tuples(st.just("jump"), st.fixed_dictionaries({"by_ms": st.integers(-5_000, 5_000)})),
    st.tuples(
        st.just("drift"),
        st.sampled_from([(1, 2), (99, 100), (1, 1), (3, 2), (2, 1)]).map(
            lambda r: {"num": r[0], "den": r[1]}
        ),
    ),
    st.tuples(st.just("freeze"), st.just({})),
    st.tuples(st.just("thaw"), st.fixed_dictionaries({"catch_up": st.booleans()})),
)
SCRIPTS = st.lists(st.tuples(st.integers(0, 1_000), MOVES), max_size=5)
Script = list[tuple[int, tuple[str, dict[str, int]]]]


def played(script: Script) -> tuple[SimClock, int]:
    """A clock after its moves, and the world time of the last."""
    clock, world_ms = SimClock.start(2_000), 2_000
    for pause_ms, (move, args) in script:
        world_ms += pause_ms
        getattr(clock, move)(world_ms, **args)
    return clock, world_ms


def test_a_plain_clock_reads_world_time() -> None:
    clock = SimClock.start(START_MS)
    assert [clock.reading(START_MS + ms) for ms in (0, 1, 999)] == [START_MS, START_MS + 1, START_MS + 999]


def test_skew_is_kept() -> None:
    assert SimClock.start(1_000, skew_ms=-300).reading(1_500) == 1_200


def test_a_reading_stays_within_its_range() -> None:
    assert SimClock.start(0, skew_ms=-300).reading(100) == 100
    clock = SimClock.start(0, skew_ms=READING_MS_MAX - 1)
    assert [clock.reading(ms) for ms in (0, 1, 2)] == [READING_MS_MAX - 1, READING_MS_MAX, READING_MS_MAX]
    clock.jump(2, 10)
    assert clock.reading(2) == READING_MS_MAX
    assert clock.world_at(READING_MS_MAX + 1, 2) is None


def test_a_jump_changes_the_reading_by_that_much() -> None:
    clock = SimClock.start(1_000)
    clock.jump(1_100, -500)
    assert [clock.reading(1_100), clock.reading(1_101)] == [600, 601]


def test_drift_changes_the_rate_from_now_on() -> None:
    clock = SimClock.start(0)
    clock.drift(1_000, 3, 2)
    assert [clock.reading(ms) for ms in (1_000, 1_001, 1_002, 1_003)] == [1_000, 1_001, 1_003, 1_004]


@pytest.mark.parametrize(("catch_up", "reading_ms"), [(False, 150), (True, 550)])
def test_a_thawed_clock_runs_on_or_catches_up(catch_up: bool, reading_ms: int) -> None:
    clock = SimClock.start(0)
    clock.freeze(100)
    assert [clock.reading(ms) for ms in (100, 300, 500)] == [100, 100, 100]
    clock.thaw(500, catch_up)
    assert clock.reading(550) == reading_ms


def test_a_thaw_catches_up_with_the_last_freeze_only() -> None:
    clock = SimClock.start(0)
    clock.freeze(100)
    clock.thaw(500, catch_up=False)
    clock.freeze(500)
    clock.thaw(600, catch_up=True)
    assert clock.reading(600) == 200


@settings(max_examples=50)
@given(SCRIPTS, st.integers(0, 1_000))
def test_catching_up_undoes_a_freeze_whatever_moved_meanwhile(script: Script, pause_ms: int) -> None:
    awake = [(pause, (move, args)) for pause, (move, args) in script if move in {"jump", "drift"}]
    twin, world_ms = played([(0, ("jump", {"by_ms": 100_000})), *awake])  # so far up that no clip is met
    clock, _ = played([(0, ("jump", {"by_ms": 100_000})), (0, ("freeze", {})), *awake])
    clock.thaw(world_ms, catch_up=True)
    assert clock.reading(world_ms + pause_ms) == twin.reading(world_ms + pause_ms)


def test_a_landing_is_exact_and_only_forward_within_its_limit() -> None:
    clock = SimClock.start(1_000)
    assert [clock.land(1_000, to_ms, forward_ms_max=50) for to_ms in (999, 1_051)] == [False, False]
    assert not clock.land(1_000, READING_MS_MAX + 1, forward_ms_max=READING_MS_MAX + 1)
    assert clock == SimClock.start(1_000)
    assert clock.land(1_000, 1_050, forward_ms_max=50)
    assert clock.reading(1_000) == 1_050


def test_a_landing_sets_a_frozen_clock() -> None:
    clock = SimClock.start(1_000)
    clock.freeze(1_000)
    assert clock.land(1_200, 1_010, forward_ms_max=50)
    assert clock.reading(1_300) == 1_010


@settings(max_examples=50)
@given(SCRIPTS, st.integers(0, 5_000))
def test_reading_changes_nothing(script: Script, pause_ms: int) -> None:
    clock, world_ms = played(script)
    before = copy.copy(clock)
    clock.reading(world_ms + pause_ms)
    clock.world_at(clock.reading(world_ms) + pause_ms, world_ms)
    assert clock == before


@settings(max_examples=50)
@given(SCRIPTS, st.integers(0, 5_000))
def test_between_moves_a_reading_never_falls(script: Script, pause_ms: int) -> None:
    clock, world_ms = played(script)
    assert 0 <= clock.reading(world_ms + pause_ms) <= clock.reading(world_ms + pause_ms + 1)


@settings(max_examples=50)
@given(SCRIPTS, st.integers(0, 500), st.integers(-500, 5_000))
def test_world_at_is_the_first_time_with_that_reading(script: Script, pause_ms: int, ahead_ms: int) -> None:
    clock, world_ms = played(script)
    now_ms = world_ms + pause_ms
    wanted_ms = clock.reading(now_ms) + ahead_ms
    found_ms = clock.world_at(wanted_ms, now_ms)
    if found_ms is None:
        assert clock.is_frozen
        assert ahead_ms > 0
    else:
        assert clock.reading(found_ms) >= wanted_ms
        assert found_ms == now_ms or (found_ms > now_ms and clock.reading(found_ms - 1) < wanted_ms)

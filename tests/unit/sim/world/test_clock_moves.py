"""Goal: a clock move is seen at the exact time, one that lasts ends by itself, and a pause loses nothing."""

from collections.abc import Sequence
from typing import Final

import pytest
from msgspec import structs

from umi_sim.kernel.clock import SimClock
from umi_sim.record.items import Args, ClockMove, Fault, Item, Op
from umi_sim.record.trace import Tag, decode
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.seedfile.fields import PLAIN
from umi_sim.world.agent import Tally
from umi_sim.world.clock_moves import make

CONFIG: Final = structs.replace(PLAIN, scenario="smoke", mode="swarm", in_flight_max=4, start_ms=0)
TIMEOUT_MS: Final = 10_000
LOST: Final = Fault("f1", "link_loss", "o1/commit#1", {})

Records = list[list[object]]


def session(number: int, at_ms: int = 1_000) -> Op:
    return Op(f"o{number}", at_ms, "a", "create_session", {})


def ask(number: int, at_ms: int) -> Op:
    return Op(f"o{number}", at_ms, "a", "len", {})


def clock(number: int, at_ms: int, move: str, **args: object) -> ClockMove:
    return ClockMove(f"c{number}", at_ms, "a", move, args)


def pause(at: str, for_ms: int, runs: str) -> Fault:
    return Fault("f2", "agent_pause", at, {"for_ms": for_ms, "clock": runs})


def run_items(*items: Item) -> tuple[Verdict, Records]:
    verdict, trace = run_once(CONFIG, items, keep_trace=True)
    assert verdict.failure is None, verdict.failure
    return verdict, [[*decode(record)] for record in trace.kept]


def woken(records: Records) -> list[tuple[object, object]]:
    """World time and reading of the wake-ups before the world heals."""
    safety = records[: [each[2] for each in records].index(Tag.PHASE)]
    return [(each[1], each[4]) for each in safety if each[2] == Tag.STEP and "/wake#" in str(each[6])]


def asked(records: Records) -> dict[object, tuple[object, object]]:
    """World time and reading of each request of the record."""
    return {each[3]: (each[1], each[5]) for each in records if each[2] == Tag.OP and ":" not in str(each[3])}


@pytest.mark.parametrize(
    ("moves", "due_ms"),
    [
        ((), 11_000),
        ((clock(1, 1_000, "drift", num=1, den=2),), 21_000),
        ((clock(1, 1_000, "drift", num=3, den=2),), 7_667),  # no earlier whole millisecond is enough
        ((clock(1, 2_000, "drift", num=2, den=1), clock(2, 3_000, "drift", num=1, den=1)), 10_000),
        ((clock(1, 2_000, "freeze"), clock(2, 7_000, "thaw", catch_up=False)), 16_000),
        ((clock(1, 2_000, "freeze"), clock(2, 7_000, "thaw", catch_up=True)), 11_000),
        ((clock(1, 2_000, "freeze"), clock(2, 50_000, "thaw", catch_up=True)), 50_000),
        ((clock(1, 2_000, "jump", by_ms=4_000),), 7_000),
        ((clock(1, 2_000, "jump", by_ms=-500),), 11_500),
    ],
)
def test_a_time_out_comes_at_the_world_time_at_which_the_clock_shows_it(
    moves: Sequence[ClockMove], due_ms: int
) -> None:
    _, records = run_items(session(1), LOST, *moves)
    world_ms, reading_ms = woken(records)[0]
    assert world_ms == due_ms
    assert isinstance(reading_ms, int)
    assert reading_ms >= 1_000 + TIMEOUT_MS


def test_a_clock_that_never_thaws_is_no_failure_because_the_world_heals() -> None:
    verdict, records = run_items(session(1), LOST, clock(1, 1_000, "freeze"))
    assert woken(records) == []
    assert verdict.replies["done"] > 0


def test_a_move_waits_for_its_time_whatever_comes_before_it_in_the_record() -> None:
    moves = clock(1, 1_000, "freeze"), clock(2, 3_000, "thaw", catch_up=False)
    _, records = run_items(*moves, ask(1, 1_000), ask(2, 2_000), ask(3, 3_000), ask(4, 3_001))
    assert asked(records) == {
        "o1": (1_000, 1_000), "o2": (2_000, 1_000), "o3": (3_000, 1_000), "o4": (3_001, 1_001),
    }  # fmt: skip


def test_a_landing_shows_a_reading_that_a_fast_clock_leaves_out() -> None:
    fast = clock(1, 0, "drift", num=2, den=1)
    _, records = run_items(fast, clock(2, 500, "land", to_ms=1_001), ask(1, 500))
    assert asked(records) == {"o1": (500, 1_001)}


@pytest.mark.parametrize("to_ms", [499, 20_000])
def test_a_landing_back_or_over_another_event_is_skipped_and_counted(to_ms: int) -> None:
    verdict, records = run_items(session(1, 400), LOST, clock(1, 500, "land", to_ms=to_ms), ask(2, 500))
    assert asked(records)["o2"] == (500, 500)
    assert verdict.skipped == {"landing that is too late or too far": 1}


# Pauses.


def test_a_pause_delays_everything_and_loses_nothing() -> None:
    _, records = run_items(session(1), ask(2, 1_500), pause("o1/commit#1/answer", 5_000, "runs"))
    assert asked(records) == {"o1": (1_000, 1_000), "o2": (6_001, 6_001)}
    answers = [each[1] for each in records if each[2] == Tag.ANSWER and str(each[3]).startswith("o1")]
    assert answers == [6_001]


def test_a_pause_on_a_request_delivers_it_afterwards() -> None:
    verdict, records = run_items(ask(1, 1_000), pause("o1", 5_000, "runs"))
    assert asked(records) == {"o1": (6_000, 6_000)}
    assert (verdict.fired, verdict.skipped) == ({"agent_pause": 1}, {})


def test_a_clock_that_stood_in_a_pause_has_caught_up_when_it_ends() -> None:
    _, records = run_items(session(1), ask(2, 1_500), pause("o1/commit#1/answer", 5_000, "stands"))
    assert asked(records)["o2"] == (6_001, 6_001)


def test_time_outs_pass_unseen_in_a_pause() -> None:
    _, records = run_items(session(1), LOST, ask(2, 2_000), pause("o2", 60_000, "stands"))
    assert asked(records)["o2"] == (62_000, 62_000)
    assert min(int(str(at_ms)) for at_ms, _ in woken(records)) > 62_000


# What is counted.


def test_a_jump_that_changes_no_reading_is_without_effect() -> None:
    tally, still = Tally(), SimClock.start(0)
    assert make(still, clock(1, 0, "jump", by_ms=-5), 0, 0, tally)
    assert (tally.fired, tally.without_effect) == ({}, {"clock_jump_back": 1})


@pytest.mark.parametrize(
    ("move", "args", "kind"),
    [
        ("jump", {"by_ms": 5}, "clock_jump_forward"),
        ("freeze", {}, "clock_freeze"),
        ("drift", {"num": 3, "den": 2}, "clock_drift"),
        ("drift", {"num": 1, "den": 1}, None),
        ("thaw", {"catch_up": True}, None),
    ],
)
def test_the_beginning_of_a_move_counts_and_its_end_does_not(move: str, args: Args, kind: str | None) -> None:
    tally = Tally()
    assert make(SimClock.start(0), ClockMove("c1", 0, "a", move, args), 0, 0, tally)
    assert list(tally.fired) == ([kind] if kind else [])

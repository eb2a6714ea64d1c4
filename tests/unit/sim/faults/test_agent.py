"""Goal: an agent crashes where it can, comes back with less room, or nothing reaches it for a while."""

from collections import Counter
from typing import Final

from umi_sim.faults.agent import RECOVERY_CRASH_COUNT_MAX, AgentEvent
from umi_sim.faults.draws import Draws
from umi_sim.faults.kinds import KINDS
from umi_sim.faults.window import Window
from umi_sim.record.items import Args

LOWER: Final = "agent_lower_limit"


def life(
    entries: tuple[int, int] = (0, 0), *, is_recovering: bool = False, crash_count: int = 0, now_ms: int = 0
) -> AgentEvent:
    return AgentEvent(
        now_ms, Window(), is_recovering, crash_count, lambda: entries, nothing, nothing, nothing
    )


def nothing(for_ms: int, also: object) -> None:
    """The memory gets no notice."""


def lowest(label: str, n: int) -> int:
    return 0


def highest(label: str, n: int) -> int:
    return n - 1


def drawn(kind: str, here: AgentEvent, draws: Draws = lowest) -> tuple[Args | None, int]:
    """The arguments, and how often it was without effect."""
    without_effect = Counter[str]()
    return KINDS[kind].args_for(here, draws, without_effect), without_effect[kind]


def test_a_limit_is_drawn_below_what_core_holds_and_never_below_self() -> None:
    found = [drawn(LOWER, life((2, 5)), draws)[0] for draws in (lowest, highest)]
    assert [args and args["core_entry_count_max"] for args in found] == [2, 4]


def test_where_no_request_would_leave_the_limit_is_without_effect() -> None:
    assert [drawn(LOWER, life(entries)) for entries in ((0, 0), (2, 2))] == [(None, 1)] * 2


def test_a_second_crash_strikes_recovery_and_any_other_the_life_after_it() -> None:
    kinds = ("agent_crash", "agent_crash_again", LOWER)
    lives = [life((0, 1), is_recovering=is_recovering) for is_recovering in (False, True)]
    found = [[drawn(kind, each) != (None, 0) for kind in kinds] for each in lives]
    assert found == [[True, False, True], [False, True, False]]


def test_a_recovery_is_left_alone_after_as_many_crashes_in_a_row() -> None:
    last, more = RECOVERY_CRASH_COUNT_MAX - 1, RECOVERY_CRASH_COUNT_MAX
    counts = {n: drawn("agent_crash_again", life(is_recovering=True, crash_count=n)) for n in (last, more)}
    assert (counts[last] != (None, 0), counts[more]) == (True, (None, 0))


def test_a_crash_gives_the_usual_limit_back() -> None:
    calls: list[object] = []
    here = life()
    here.crash = lambda down_ms, limit: calls.append((down_ms, limit))
    KINDS[LOWER](down_ms=5, core_entry_count_max=2).inject(here)
    KINDS["agent_crash"](down_ms=6).inject(here)
    assert calls == [(5, 2), (6, None)]


def test_an_agent_rests_between_pauses() -> None:
    calls: list[object] = []
    here = life()
    here.pause = lambda for_ms, clock_stands: calls.append((for_ms, clock_stands))
    KINDS["agent_pause"](for_ms=9, clock="stands").inject(here)
    assert calls == [(9, True)]
    for now_ms in (17, 18):
        here.now_ms = now_ms
        assert (drawn("agent_pause", here)[0] is None) == (now_ms < 18)

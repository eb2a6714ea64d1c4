"""Goal: an agent crashes where it can, comes back with less room, or nothing reaches it for a while."""

from collections import Counter
from typing import Final

import attrs

from umi_sim.faults.kinds import KINDS
from umi_sim.faults.luck import Luck
from umi_sim.faults.window import Window
from umi_sim.record.items import Args

LOWER: Final = "agent_lower_limit"


@attrs.define
class Struck:
    """A life that remembers what befell it. `entries`: of core, those about itself and all."""

    entries: tuple[int, int] = (0, 0)
    is_recovering: bool = False
    now_ms: int = 0
    window: Window = attrs.field(factory=Window)
    told: list[object] = attrs.field(factory=list)

    def entry_counts(self) -> tuple[int, int]:
        return self.entries

    def crash(self, down_ms: int, entry_count_max: int | None = None) -> None:
        self.told.append((down_ms, entry_count_max))

    def pause(self, for_ms: int, *, clock_stands: bool) -> None:
        self.told.append((for_ms, clock_stands))


def lowest(label: str, n: int) -> int:
    return 0


def highest(label: str, n: int) -> int:
    return n - 1


def drawn(kind: str, life: Struck, luck: Luck = lowest) -> tuple[Args | None, int]:
    """The arguments, and how often it was without effect."""
    without_effect = Counter[str]()
    return KINDS[kind].draw(life, luck, without_effect), without_effect[kind]


def test_a_limit_is_drawn_below_what_core_holds_and_never_below_self() -> None:
    found = [drawn(LOWER, Struck((2, 5)), luck)[0] for luck in (lowest, highest)]
    assert [args and args["core_entry_count_max"] for args in found] == [2, 4]


def test_where_nobody_would_leave_the_limit_is_without_effect() -> None:
    assert [drawn(LOWER, Struck(entries)) for entries in ((0, 0), (2, 2))] == [(None, 1)] * 2


def test_a_second_crash_strikes_recovery_and_any_other_the_life_after_it() -> None:
    kinds = ("agent_crash", "agent_crash_again", LOWER)
    lives = [Struck((0, 1), is_recovering) for is_recovering in (False, True)]
    found = [[drawn(kind, life) != (None, 0) for kind in kinds] for life in lives]
    assert found == [[True, False, True], [False, True, False]]


def test_a_crash_gives_the_usual_limit_back() -> None:
    life = Struck()
    KINDS[LOWER].strike({"down_ms": 5, "core_entry_count_max": 2}, life)
    KINDS["agent_crash"].strike({"down_ms": 6}, life)
    assert life.told == [(5, 2), (6, None)]


def test_an_agent_rests_between_pauses() -> None:
    life = Struck()
    KINDS["agent_pause"].strike({"for_ms": 9, "clock": "stands"}, life)
    life.window.begin(0, 9)
    assert life.told == [(9, True)]
    assert [drawn("agent_pause", attrs.evolve(life, now_ms=ms))[0] is None for ms in (17, 18)] == [
        True,
        False,
    ]

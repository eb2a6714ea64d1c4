"""Equivalences: two ways that must meet, over the recorded lives of a run. No model of the memory is needed.

    lives.py     what a life was told, and what it asked and replied
    replays.py   the whole life again: afresh, and made anew after every step
    moments.py   one moment of a life, left in two ways: time, expiry, order
    questions.py one question, asked in two ways: of the cache or anew, filtered or whole

Law 1. Pure: a life in, what is broken out. Nothing of the world is asked, and nothing of the run is changed.
Law 2. A comparison that never happens proves nothing: each is counted, and the summary of a run tells it.
Law 3. Which are on is drawn with the configuration; a life is recorded only if one is.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from umi_sim.equivalences import moments, questions, replays
from umi_sim.equivalences.lives import Life, Recorder
from umi_sim.equivalences.questions import filtered
from umi_sim.invariants import rule_named
from umi_sim.prng import Stream
from umi_sim.verdict import Broken

__all__ = [
    "FILTER", "NAMES", "OF_LIVES", "RESTORE", "Life", "Recorder", "check", "chosen", "filtered", "rule_of",
]  # fmt: skip

RESTORE: Final = "E-RESTORE"
FILTER: Final = "E-FILTER"

OF_LIVES: Final[dict[str, Callable[[Life], int]]] = {
    RESTORE: replays.restored,
    "E-REPLAY": replays.replayed,
    "E-JUMP": moments.jumped,
    "E-EXPIRE": moments.expired,
    "E-COMMUTE": moments.exchanged,
    "E-CACHE": questions.from_cache,
}
"""Each raises Broken, or gives how often it compared."""

NAMES: Final = (*OF_LIVES, FILTER)
"""All that a scenario may turn on; E-FILTER is asked in the audit, where a healed storage answers."""


def rule_of(name: str) -> str:
    """The readable name of the rule that an equivalence judges."""
    return rule_named(name).name


def chosen(given: Sequence[str] | None, seed: int, mode: str) -> tuple[str, ...]:
    """As a scenario gives them; else one in a plain run, and each in an eighth of the swarm runs."""
    if given is not None:
        return tuple(given)
    if mode != "swarm":
        return (RESTORE,) if mode == "plain" else ()
    return tuple(name for name in NAMES if Stream(seed, "config", f"run.equivalences.{name}").chance(1, 8))


def check(life: Life, names: tuple[str, ...], compared: Counter[str]) -> None:
    """A life that is over, by each of these. Raises Broken by the first equivalence that does not hold."""
    for name in names:
        if name in OF_LIVES:
            try:
                compared[f"equal: {name}"] += OF_LIVES[name](life)
            except Broken as broken:
                told = f"{life.agent}, life {life.number}: {broken.message}"
                raise Broken(broken.rule, told, broken.expected, broken.got) from None

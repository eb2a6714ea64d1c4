"""Equivalences: two ways that must meet, over the recorded lives of a run. No model of the memory is needed.

    lives.py     what a life was told, and what it asked and replied
    replays.py   the whole life again: afresh, and made anew after every step
    moments.py   one moment of a life, left in two ways: time, expiry, order
    forged.py    a saved memory with changed bytes: refused, or as sound as any
    questions.py one question, asked in two ways: of the cache or anew, filtered or whole
    afresh.py    what it was told, told again: at once or one by one; cleared, or fresh
    failing.py   what it was asked, asked again where one step fails, and once more
    landing.py   and what is asked meanwhile, where a commit of unknown outcome lands late
    odd_replies.py what a model may say instead of the truth
    room.py      a life without room for what is stored, and one with it; at the end of every run
    table.py     which compares what; imported by runs in which one is on

Law 1. Pure: a life in, what is broken out. Nothing of the world is asked, and nothing of the run is changed.
Law 2. A comparison that never happens proves nothing: each is counted, and the summary of a run shows it.
Law 3. Which are on is drawn with the configuration; a life is recorded only if one is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from umi_sim.kernel.prng import Stream
from umi_sim.record.rules import rule_named

if TYPE_CHECKING:
    from umi_sim.judge.equivalences.lives import LifeRecorder

RESTORE: Final = "E-RESTORE"
FILTER: Final = "E-FILTER"
SECOND: Final = "E-SECOND"
TRIED: Final = "tried: "
"""Before the name of a mark that was met in no world, but in a small one beside it."""

OF_LIVES: Final = (
    "E-REPLAY", RESTORE, "E-JUMP", "E-EXPIRE", "E-COMMUTE", "E-CACHE", "E-FORGE",
    "E-BATCH", "E-CLEAR", "E-FAIL",
)  # fmt: skip
"""Over lives that have ended."""

NAMES: Final = (*OF_LIVES, FILTER)
"""All that a scenario may turn on; E-FILTER is asked in the audit, where a healed storage answers."""

OF_FILES: Final = (*NAMES, SECOND)
"""All that a run may have on: E-SECOND compares another implementation, which no file names."""


def create_recorder(names: Sequence[str], seed: int) -> "LifeRecorder | None":
    """Return a recorder of the lives of a run; None if none of these equivalences is about lives."""
    if not any(name in OF_LIVES for name in names):
        return None
    from umi_sim.judge.equivalences.lives import LifeRecorder

    return LifeRecorder(seed)


def rule_of(name: str) -> str:
    """Return the readable name of the rule that an equivalence judges."""
    return rule_named(name).name


def choose_equivalences(given: Sequence[str] | None, seed: int, mode: str) -> tuple[str, ...]:
    """Return the names a scenario gives, or draw them.

    Without names, a plain run has one equivalence, and each one is in an eighth of the swarm runs.
    """
    if given is not None:
        return tuple(given)
    if mode != "swarm":
        # E-RESTORE is the one that a reader of a plain run
        # can expect at all times: a restart changes nothing.
        return (RESTORE,) if mode == "plain" else ()
    return tuple(name for name in NAMES if Stream(seed, "config", f"run.equivalences.{name}").chance(1, 8))


def with_equivalences(judged: Mapping[str, int], marks: Mapping[str, int]) -> Counter[str]:
    """Count what was judged, together with what was compared (marks such as `equal: E-RESTORE`)."""
    equal = {mark: count for mark, count in marks.items() if mark.startswith("equal: ")}
    # "equal: E-RESTORE" -> the rule that equivalence stands for
    compared = {rule_named(mark.removeprefix("equal: ")).name: count for mark, count in equal.items()}
    return Counter(judged) + Counter(compared)

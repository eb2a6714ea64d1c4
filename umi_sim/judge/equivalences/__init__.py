"""Equivalences: two ways to the same result, over the recorded lives of a run, without a model of the memory.

    lives.py         the inputs of a life, and the effects that it gave
    replays.py       the whole life again: from the beginning, and restored from its bytes after steps
    moments.py       one moment of a life, continued in two ways: time, order
    forged.py        a saved memory with changed bytes: it is refused, or runs as a sound one does
    questions.py     one question, filtered or not; in the audit of each run
    afresh.py        the texts of a life again, at once or one by one
    failing.py       the requests of a life again, while one step fails, and once more
    landing.py       two requests, while the commit of the first lands late
    failing_world.py a world in which chosen steps fail
    stories.py       chosen requests of a life, to be repeated in another world
    odd_replies.py   invalid replies of a model
    room.py          a memory that starts without room for its core, then with room; at the end of each run
    table.py         the comparison of each equivalence; imported by runs in which one is on

A life is one incarnation of a memory, recorded from its start to a crash or to the end of the run.

Law 1. A comparison of lives is a pure function of them: it asks nothing of the world, and changes no run.
Law 2. A comparison that never takes place proves nothing, so all are counted, and the summary of a run shows
the counts.
Law 3. The equivalences of a run are drawn with its configuration; a life is recorded only if one is on.
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
"""Prefix of the name of a mark that was met in a comparison and not in the run."""

OF_LIVES: Final = (
    "E-REPLAY", RESTORE, "E-JUMP", "E-COMMUTE", "E-FORGE", "E-BATCH", "E-FAIL",
)  # fmt: skip
"""Equivalences over lives that have ended."""

NAMES: Final = (*OF_LIVES, FILTER)
"""All that a scenario may turn on; E-FILTER takes place in the audit, when storage is healed."""

ONE_IN: Final = {"E-FORGE": 32, "E-FAIL": 32}  # each costs as much as the run itself; the others a fifth
ONE_IN_OTHER: Final = 8

OF_FILES: Final = (*NAMES, SECOND)
"""All that a run may have: E-SECOND compares another implementation, which no scenario file names."""


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
    """Return the names that a scenario gives, or draw them.

    Without names a plain run has one, and a swarm run has each with a chance of one in `ONE_IN`, or in
    `ONE_IN_OTHER`. Runs of other modes have none.
    """
    if given is not None:
        return tuple(given)
    if mode != "swarm":
        # In a plain run E-RESTORE is always on: a restart changes nothing.
        return (RESTORE,) if mode == "plain" else ()
    streams = {name: Stream(seed, "config", f"run.equivalences.{name}") for name in NAMES}
    return tuple(name for name, stream in streams.items() if stream.chance(1, ONE_IN.get(name, ONE_IN_OTHER)))


def with_equivalences(judged: Mapping[str, int], marks: Mapping[str, int]) -> Counter[str]:
    """Count by rule how often it was judged, with the comparisons (marks such as `equal: E-RESTORE`)."""
    equal = {mark: count for mark, count in marks.items() if mark.startswith("equal: ")}
    # "equal: E-RESTORE" -> the rule that this equivalence judges
    compared = {rule_of(mark.removeprefix("equal: ")): count for mark, count in equal.items()}
    return Counter(judged) + Counter(compared)

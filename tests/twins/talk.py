"""How twins talk: a story says what it wants of the world, and a memory must want the same at every step.

A story is a generator that knows nothing of engine or rows, only what an operation is: which questions in
which order, what is asked again after which wait, what is gone on without, how it ends.
"""

from collections.abc import Generator
from typing import Final

from hypothesis import strategies as st

from tests.worlds import Pair
from umi_core.data import Data
from umi_core.errors import Conflict, StepFailed, StorageFailed, StorageFull, StorageRefused
from umi_core.messages.answers import EffectFailed, Embedded, ModelReplied
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    Degraded,
    Embed,
    Failed,
    Outcome,
    Read,
    Unknown,
)


class Met(Data):
    """What an attempt meets: `good`, `unusable`, `silence`, or a failure kind. A commit may land anyhow."""

    kind: str = "good"
    retry_after_ms: int = 0
    lands: bool = False


class Wants(Data):
    """The memory wants this of the world."""

    what: str


class Sleeps(Data):
    """The memory waits before it asks again."""

    wait_ms: int


Talk = Generator[Wants | Sleeps, Met, tuple[str, int]]
Story = Generator[Wants | Sleeps, Met, Outcome]

NEVER_AGAIN: Final = ("refused", "full", "too_long", "conflict")
ANY_LINE: Final = "model rewrite"  # is answered by any line
OFFERED: Final = {  # what each service may answer besides `good`
    "model": "unusable silence timeout unavailable rate_limited refused too_long",
    "embed": "unusable silence timeout unavailable rate_limited refused too_long",
    "read": "silence timeout unavailable rate_limited refused",
    "commit": "silence unavailable rate_limited refused full conflict unknown",
}


# What stories say.


def attempts(what: str, count: int, met_faults: list[Met] | None = None) -> Talk:
    """Ask up to `count` times, after growing waits: how it ended, and how often it was asked."""
    for attempt in range(1, count + 1):
        met = yield Wants(what)
        if met_faults is not None:
            met_faults.append(met)
        kind = {"silence": "unknown" if what == "commit" else "timeout"}.get(met.kind, met.kind)
        is_read = kind == "unusable" and (what == ANY_LINE or not what.startswith("model"))
        if kind in ("good", *NEVER_AGAIN) or is_read or met.retry_after_ms > 3_600_000 or attempt == count:
            return kind, attempt
        yield Sleeps(max(100 * 2 ** (attempt - 1), met.retry_after_ms))
    raise AssertionError(what)


def reason_of(kind: str, unusable: str = "no_json") -> str:
    return unusable if kind == "unusable" else kind


def settled(less: list[Degraded]) -> Generator[Wants | Sleeps, Met, None]:
    """The first batch counts, so core may be another one than planned, and is read."""
    kind, _ = yield from attempts("read core", 2)
    if kind != "good":
        less.append(Degraded("settle:core_unread", kind))


def not_committed(kind: str, count: int, met_faults: list[Met]) -> Outcome:
    errors = {"refused": StorageRefused, "full": StorageFull, "conflict": Conflict}
    return ended(errors.get(kind, StorageFailed)("commit", kind, count), met_faults)


def ended(error: StepFailed, met_faults: list[Met]) -> Outcome:
    """Only an answer settles a commit whose outcome was unknown once."""
    return Unknown() if any(met.kind in ("unknown", "silence") for met in met_faults) else Failed(error)


# Memories, described in the same words.


def words(effect: Asked) -> str:
    match effect:
        case AskModel(task=task):
            return f"model {task}"
        case Read(query=ByIds(addresses)):
            return " ".join(dict.fromkeys(["read", *(address.kind for address in addresses)]))
        case Read(query=ByVector()):
            return "read by vector"
        case Read(query=ByWords()):
            return "read by words"
    return type(effect).__name__.lower()


def meet(pair: Pair, met: Met) -> None:
    """Let the one pending effect meet this."""
    effect = pair.pending[0]
    if met.lands:
        assert isinstance(effect, Commit)
        pair.land(effect)
    if met.kind == "good":
        pair.answer()
    elif met.kind == "silence":
        pair.pending.clear()
        pair.wake(pair.now_ms + effect.timeout_ms)
    elif met.kind == "unusable":
        pair.pending.clear()
        is_embed = isinstance(effect, Embed)
        pair.step(Embedded(effect.request_id, ()) if is_embed else ModelReplied(effect.request_id, "well..."))
    else:
        pair.pending.clear()
        pair.step(EffectFailed(effect.request_id, met.kind, met.retry_after_ms))  # type: ignore[arg-type]  # of OFFERED


def restrict_outcome(what: str, met: Met) -> Met:
    """Return the outcome of an attempt, or a good one where this question cannot have it."""
    offered = OFFERED[what.split()[0]].split()
    kind = met.kind if met.kind in offered else "good"
    may_land = what == "commit" and kind in ("unknown", "silence")
    return Met(kind, met.retry_after_ms if kind == "rate_limited" else 0, met.lands and may_land)


def together(pair: Pair, op_id: int, story: Story, script: list[Met]) -> Outcome:
    """Both meet the same, from the first question on; how the story ends. `script`: one per question."""
    wanted = next(story)
    while True:
        match wanted:
            case Sleeps(wait_ms):
                assert (pair.pending, pair.memory.deadline_ms()) == ([], pair.now_ms + wait_ms), wanted
                pair.wake()
                met = Met()
            case Wants(what):
                assert [words(effect) for effect in pair.pending] == [what], wanted
                met = restrict_outcome(what, script.pop(0) if script else Met())
                meet(pair, met)
        try:
            wanted = story.send(met)
        except StopIteration as end:
            outcome: Outcome = end.value
            break
    assert pair.pending == []
    assert op_id in pair.replies
    return outcome


KINDS: Final = sorted({kind for offered in OFFERED.values() for kind in offered.split()})
METS: Final = st.builds(
    Met,
    st.sampled_from([*KINDS, *["good"] * 12]),
    st.sampled_from([0, 250, 3_600_000, 3_600_001]),
    st.booleans(),
)

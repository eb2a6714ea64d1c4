"""Goal: the table of remember is what we meant: a generator tells it as a story, and both ask the same.

The story knows nothing of engine or rows, only what a remember is: which questions in which order, what is
asked again after which wait, what is gone on without, how it ends. Both get the same answers and failures.
"""

import json
from collections.abc import Generator
from typing import Final

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.worlds import QUIET, Pair, input_of, sentences
from umi_core.effects import (
    Asked,
    AskModel,
    ByIds,
    Commit,
    Degraded,
    Done,
    Embed,
    Failed,
    Outcome,
    Read,
    Unknown,
)
from umi_core.errors import Conflict, StepFailed, StorageFailed, StorageFull, StorageRefused
from umi_core.inputs import EffectFailed, Embedded, ModelReplied, Remember


@attrs.frozen
class Met:
    """What an attempt meets: `good`, `unusable`, `silence`, or a failure kind. A commit may land anyhow."""

    kind: str = "good"
    retry_after_ms: int = 0
    lands: bool = False


@attrs.frozen
class Wants:
    """The memory wants this of the world."""

    what: str


@attrs.frozen
class Sleeps:
    """The memory waits before it asks again."""

    wait_ms: int


Talk = Generator[Wants | Sleeps, Met, tuple[str, int]]
Story = Generator[Wants | Sleeps, Met, Outcome]

NEVER_AGAIN: Final = ("refused", "full", "too_long", "unusable", "conflict")
OFFERED: Final = {  # what each service may answer besides `good`
    "model": "unusable silence timeout unavailable rate_limited refused too_long",
    "embed": "unusable silence timeout unavailable rate_limited refused too_long",
    "read": "silence timeout unavailable rate_limited refused",
    "commit": "silence unavailable rate_limited refused full conflict unknown",
}


# The story.


def attempts(what: str, count: int, heard: list[Met] | None = None) -> Talk:
    """Ask up to `count` times, after growing waits: how it ended, and how often it was asked."""
    for attempt in range(1, count + 1):
        met = yield Wants(what)
        if heard is not None:
            heard.append(met)
        kind = {"silence": "unknown" if what == "commit" else "timeout"}.get(met.kind, met.kind)
        if kind in ("good", *NEVER_AGAIN) or met.retry_after_ms > 3_600_000 or attempt == count:
            return kind, attempt
        yield Sleeps(max(100 * 2 ** (attempt - 1), met.retry_after_ms))
    raise AssertionError(what)


def remember(request: Remember, is_routed: bool) -> Story:
    """A text about one new person, who is not for core."""
    degraded: list[Degraded] = []
    heard: list[Met] = []  # by commits
    if request.request_key is not None:
        kind, count = yield from attempts("read receipt", 3)
        if kind != "good":
            return Failed(StorageFailed("seen", kind, count))
    if request.extract:
        kind, _ = yield from attempts("model extract", 2)
        if kind != "good":  # the text itself is the note
            degraded.append(Degraded("extract:one_note", "no_json" if kind == "unusable" else kind))
    for _ in range(3):  # plans
        is_there = any(met.lands for met in heard)  # an attempt nobody confirmed has told it already
        kind, count = yield from attempts("read entity tombstone core", 3)
        if kind != "good":
            return ended(StorageFailed("lookup", kind, count), heard)
        if request.embed and not is_there:
            kind, _ = yield from attempts("embed", 2)
            if kind != "good":
                reason = "wrong number of vectors" if kind == "unusable" else kind
                degraded.append(Degraded("embed:no_vectors", reason))
        if is_routed and not is_there:
            kind, _ = yield from attempts("model route", 2)
            if kind != "good":
                degraded.append(Degraded("route:table", "no_json" if kind == "unusable" else kind))
        kind, count = yield from attempts("commit", 3, heard)
        if kind == "good":
            if is_there:  # the first batch counts, so core may be another one than planned
                kind, _ = yield from attempts("read core", 2)
                if kind != "good":
                    degraded.append(Degraded("settle:core_unread", kind))
            return Done(None, summed(degraded))
        if kind != "conflict":
            break
    errors = {"refused": StorageRefused, "full": StorageFull, "conflict": Conflict}
    return ended(errors.get(kind, StorageFailed)("commit", kind, count), heard)


def ended(error: StepFailed, heard: list[Met]) -> Outcome:
    """Only an answer settles a commit whose outcome was unknown once."""
    return Unknown() if any(met.kind in ("unknown", "silence") for met in heard) else Failed(error)


def summed(items: list[Degraded]) -> tuple[Degraded, ...]:
    """Each name and reason where it came last, with its count."""
    last = [item for n, item in enumerate(items) if item not in items[n + 1 :]]
    return tuple(attrs.evolve(item, count=items.count(item)) for item in last)


# The table, told in the same words.


def words(effect: Asked) -> str:
    match effect:
        case AskModel(task=task):
            return f"model {task}"
        case Read(query=ByIds(addresses)):
            return " ".join(dict.fromkeys(["read", *(address.kind for address in addresses)]))
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


def heard_by(what: str, luck: Met) -> Met:
    """The luck of an attempt, as far as this service can have it."""
    offered = OFFERED[what.split()[0]].split()
    kind = luck.kind if luck.kind in offered else "good"
    may_land = what == "commit" and kind in ("unknown", "silence")
    return Met(kind, luck.retry_after_ms if kind == "rate_limited" else 0, luck.lands and may_land)


def check_twins(request: Remember, is_routed: bool, lucks: list[Met]) -> Outcome:
    pair = Pair(config=attrs.evolve(QUIET, semantic_routing=is_routed), model=answers).run()
    pair.step(request)
    story, told = remember(request, is_routed), list(lucks)
    wanted = next(story)
    while True:
        match wanted:
            case Sleeps(wait_ms):
                assert (pair.pending, pair.memory.deadline_ms()) == ([], pair.now_ms + wait_ms), wanted
                pair.wake()
                met = Met()
            case Wants(what):
                assert [words(effect) for effect in pair.pending] == [what], wanted
                met = heard_by(what, told.pop(0) if told else Met())
                meet(pair, met)
        try:
            wanted = story.send(met)
        except StopIteration as end:
            outcome: Outcome = end.value
            break
    assert pair.pending == []
    got = pair.replies[1].outcome
    assert attrs.evolve(got, value=None) == outcome if isinstance(got, Done) else got == outcome
    return outcome


def answers(task: str, prompt: str) -> str:
    if task == "extract":
        return sentences(task, prompt)
    (asked,) = input_of(prompt, "entities")
    return json.dumps([{"entity_id": asked["entity_id"], "block": "human", "confidence": 1}])


KINDS = sorted({kind for offered in OFFERED.values() for kind in offered.split()})
LUCK = st.builds(
    Met,
    st.sampled_from([*KINDS, *["good"] * 12]),
    st.sampled_from([0, 250, 3_600_000, 3_600_001]),
    st.booleans(),
)
REQUESTS = st.builds(
    Remember,
    st.just(1),
    st.just("Alice likes tea"),
    st.booleans(),
    st.booleans(),
    request_key=st.sampled_from([None, "k"]),
)
PLAIN = Remember(1, "Alice likes tea")
LOST = Met("silence", lands=True)


@pytest.mark.slow
@settings(max_examples=400)
@given(REQUESTS, st.booleans(), st.lists(LUCK, max_size=14))
@example(PLAIN, False, [])
@example(PLAIN, False, [Met(), Met(), Met(), LOST, Met("conflict"), Met(), Met(), Met("refused")])
@example(PLAIN, False, [Met(), Met(), Met(), LOST, Met("conflict"), Met(), Met("conflict"), Met("refused")])
@example(PLAIN, False, [Met(), Met(), Met(), *[Met("conflict"), Met(), Met()] * 3])
def test_the_table_of_remember_is_the_story_of_remember(
    request: Remember, is_routed: bool, lucks: list[Met]
) -> None:
    check_twins(request, is_routed, lucks)

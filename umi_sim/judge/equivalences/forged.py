"""Saved memories that somebody has changed: each is refused, or it goes on as a sound one does.

A checksum says nothing here: whoever changes the bytes makes it anew. What is changed, and how, follows from
the moment alone, so that a run that is lived again forges the same.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

import attrs
import msgpack

from umi_core.engine.interceptors import Interceptors, passes
from umi_core.engine.registry import Registry
from umi_core.errors import Rejected
from umi_core.ids import pack
from umi_core.invariants import check_cheap, check_working
from umi_core.invariants.broken import Broken, demand
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed, ReadDone, Value, Wake
from umi_core.messages.effects import Asked, Commit, Effect, Read, Reply
from umi_core.messages.requests import Len
from umi_sim.judge.equivalences.lives import Life, Step, told
from umi_sim.judge.equivalences.moments import at_moments
from umi_sim.kernel.frames import is_of_target
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

MOMENT_COUNT_MAX: Final = 5
EDIT_COUNT: Final = 5  # forgeries of each moment
STEP_COUNT_MAX: Final = 60  # of a life that goes on from one
ODD: Final = (
    0, 1, -1, 2, 9, 2**53, 2**63 - 1, -(2**63), 2**64 - 1, "", "a", "system", "\x00", "x" * 300, "ent_1",
    b"", b"x", None, True, False, [0], [0, [0]], [5],
)  # fmt: skip
Tree = Any  # whole numbers, texts, bytes and lists of them, as a saved memory is written
Place = tuple[int, ...]  # the way to a part of it


def forge(life: Life) -> int:
    """E-FORGE: how many saved memories were changed."""
    return at_moments(life, is_at_work, forge_moment, MOMENT_COUNT_MAX)


def is_at_work(number: int, step: Step, memory: Memory) -> bool:
    """There is much to forge."""
    return bool(memory.state.operations)


def with_silent_hooks(registry: Registry) -> Registry:
    """The same interceptors, by name and place, and none that would tell of a life that was never lived."""
    silent = (
        Interceptors(
            tuple(attrs.evolve(it, before=passes, after=passes, on_error=passes) for it in hooks.ordered)
        )
        for hooks in registry.generations
    )
    return attrs.evolve(registry, generations=tuple(silent))


def forge_moment(number: int, step: Step, memory: Memory) -> bool:
    name, version, long, body, digest = msgpack.unpackb(memory.snapshot(), strict_map_key=False)
    tree, stream = msgpack.unpackb(body), Stream(int.from_bytes(digest[:8], "big"), "forge")
    registry = with_silent_hooks(memory.registry)
    for _ in range(EDIT_COUNT):
        place = somewhere(stream, tree)
        changed = pack(replaced(tree, place, edited(stream, part_at(tree, place), tree)))
        checksum = blake2b(pack(long) + changed, digest_size=16).digest()
        data = pack([name, version, long, changed, checksum])
        restore(data, registry, memory.life, f"at step {number}, {place} changed")
    return True


def restore(data: bytes, registry: Registry, life: int, what: str) -> None:
    """Refused, or lived on. Raises Broken."""
    try:
        forged = Memory.restore(data, registry, life=life)
    except Rejected:
        return
    try:
        live(forged)
    except Broken as broken:
        raise Broken(
            rules.FORGED_STATE_REFUSED, f"{what}: {broken.message}", broken.expected, broken.got
        ) from None
    except Exception as error:
        if not is_of_target(error):
            raise
        raise Broken(
            rules.FORGED_STATE_REFUSED, f"{what}: it is believed, and raises", "", repr(error)
        ) from error


def live(memory: Memory) -> None:
    """Questions have answers that bring nothing, then none is open, or the memory knows when it goes on."""
    now_ms, pending = memory.state.seen_ms, list[Value]([*unanswered(memory), Wake(), Len("len")])
    for _ in range(STEP_COUNT_MAX):
        if not pending:
            deadline_ms = memory.deadline_ms()
            if deadline_ms is None:
                break
            now_ms, pending = max(now_ms, deadline_ms), [Wake()]
        pending += answers(memory.step(now_ms, pending.pop(0)))
        check_cheap(memory.state)
        check_working(memory.state.tiers.working, memory.state.seen_ms)
    in_flight, is_due = list(memory.in_flight), memory.deadline_ms() is not None
    demand(
        is_due or not memory.state.operations,
        rules.FORGED_STATE_REFUSED,
        "nothing wakes it",
        "",
        told(in_flight),
    )


def unanswered(memory: Memory) -> Iterator[Value]:
    for operation in memory.state.operations.values():
        if operation.sent is not None:
            yield answer(operation.sent)


def answers(effects: tuple[Effect, ...] | list[Effect]) -> Iterator[Value]:
    return (answer(effect) for effect in effects if not isinstance(effect, Reply))


def answer(asked: Asked) -> Value:
    """As an empty storage would that takes nothing, and a model that is away."""
    if isinstance(asked, Read):
        return ReadDone(asked.request_id, ())
    return EffectFailed(asked.request_id, "conflict" if isinstance(asked, Commit) else "unavailable")


# Forging.


def somewhere(stream: Stream, tree: Tree) -> Place:
    """A part of a tree: any of all; or, half of the time, as likely as it has few beside it."""
    if stream.chance(1, 2):
        return stream.pick(list(places(tree)))
    place = list[int]()
    while isinstance(tree, list) and tree and not (place and stream.chance(1, 8)):
        place.append(stream.below(len(tree)))
        tree = tree[place[-1]]
    return tuple(place)


def places(tree: Tree, path: Place = ()) -> Iterator[Place]:
    """Where each part of a tree stands."""
    yield path
    for at, part in enumerate(tree if isinstance(tree, list) else ()):
        yield from places(part, (*path, at))


def part_at(tree: Tree, place: Place) -> Tree:
    for at in place:
        tree = tree[at]
    return tree


def replaced(tree: Tree, place: Place, new: Tree) -> Tree:
    if not place:
        return new
    at, *rest = place
    return [*tree[:at], replaced(tree[at], tuple(rest), new), *tree[at + 1 :]]


def edited(stream: Stream, old: Tree, tree: Tree) -> Tree:
    """Something else: an odd value, another part of the same memory, or nearly what it was."""
    match stream.below(4):
        case 0:
            return stream.pick(ODD)
        case 1:
            return part_at(tree, somewhere(stream, tree))
        case _:
            return nearly(stream, old)


def nearly(stream: Stream, old: Tree) -> Tree:
    if isinstance(old, bool) or old is None:
        return not old
    if isinstance(old, int):
        return old + stream.pick((-1, 1, 10))
    if isinstance(old, str | bytes):
        return old[:-1]
    at = stream.below(len(old)) if old else 0
    return stream.pick(([*old[:at], *old[at + 1 :]], [*old[:at], *old[at : at + 1], *old[at:]], old[::-1]))

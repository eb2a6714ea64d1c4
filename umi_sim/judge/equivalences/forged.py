"""Saved memories that somebody has changed: each is refused, or it goes on as a sound one does.

A checksum says nothing here: whoever changes the bytes makes it anew. What is changed, and how, follows from
the moment alone, so that a run that is lived again forges the same.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

import attrs
import msgpack

from umi_core.data import Owner
from umi_core.engine.middleware import Interceptors, pass_on
from umi_core.engine.registry import Registry
from umi_core.errors import Rejected
from umi_core.ids import pack
from umi_core.invariants import check_cheap, check_working
from umi_core.invariants.broken import Broken, demand
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed, ReadDone, Value, Wake
from umi_core.messages.effects import Asked, Commit, Effect, Read, Reply
from umi_core.messages.requests import Len
from umi_core.state import State
from umi_sim.judge.equivalences.lives import RecordedLife, RecordedStep, told
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
STATE: Final = 2  # behind the tag of a tuple and the fingerprints of workflows
OPERATIONS: Final = (STATE, 1 + [field.name for field in attrs.fields(State)].index("operations"))


def forge(life: RecordedLife) -> int:
    """E-FORGE: how many saved memories were changed."""
    return at_moments(life, is_at_work, forge_moment, MOMENT_COUNT_MAX)


def is_at_work(number: int, step: RecordedStep, memory: Memory) -> bool:
    """There is much to forge."""
    return bool(memory.state.operations)


def with_silent_hooks(registry: Registry) -> Registry:
    """The same interceptors, by name and place, and none that would tell of a life that was never lived."""
    silent = (
        Interceptors(
            tuple(attrs.evolve(it, before=pass_on, after=pass_on, on_error=pass_on) for it in hooks.ordered)
        )
        for hooks in registry.generations
    )
    return attrs.evolve(registry, generations=tuple(silent))


def forge_moment(number: int, step: RecordedStep, memory: Memory) -> bool:
    name, version, long, body, digest = msgpack.unpackb(memory.snapshot(), strict_map_key=False)
    tree, stream = msgpack.unpackb(body), Stream(int.from_bytes(digest[:8], "big"), "forge")
    registry, forger = with_silent_hooks(memory.registry), Forger(tree, stream)
    for _ in range(EDIT_COUNT):
        place, part = forger.edit()
        changed = pack(replaced(tree, place, part))
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


@attrs.define
class Forger(Owner):
    """Where a saved memory can be changed, and into what. `at_work`: what its operations hold."""

    tree: Tree
    stream: Stream
    every: list[Place] = attrs.field(init=False)
    at_work: list[Place] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.every = list(places(self.tree))
        self.at_work = [place for place in self.every if place[: len(OPERATIONS)] == OPERATIONS]

    def edit(self) -> tuple[Place, Tree]:
        """A place, and what stands there now."""
        place = self.stream.pick(self.at_work) if self.stream.chance(1, 2) else self.somewhere()
        return place, self.edited(part_at(self.tree, place))

    def somewhere(self) -> Place:
        """A part of a tree: any of all; or, half of the time, as likely as it has few beside it."""
        if self.stream.chance(1, 2):
            return self.stream.pick(self.every)
        place, tree = list[int](), self.tree
        while isinstance(tree, list) and tree and not (place and self.stream.chance(1, 8)):
            place.append(self.stream.below(len(tree)))
            tree = tree[place[-1]]
        return tuple(place)

    def edited(self, old: Tree) -> Tree:
        """Something else: an odd value, another part of the same memory, or nearly what it was."""
        match self.stream.below(4):
            case 0:
                return self.stream.pick(ODD)
            case 1:
                return part_at(self.tree, self.somewhere())
            case 2:
                parts = (part_at(self.tree, place) for place in self.every)
                return self.stream.pick([part for part in parts if is_like(part, old)])
            case _:
                return nearly(self.stream, old)


def is_like(part: Tree, old: Tree) -> bool:
    """A list begins with what kind of thing it is: a row may stand for another, and a number for a number."""
    is_named = isinstance(part, list) and part != [] and isinstance(part[0], int)
    return type(part) is type(old) and (not isinstance(old, list) or is_named or not old)


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


def nearly(stream: Stream, old: Tree) -> Tree:
    if isinstance(old, bool) or old is None:
        return not old
    if isinstance(old, int):
        return old + stream.pick((-1, 1, 10))
    if isinstance(old, str | bytes):
        return old[:-1]
    at = stream.below(len(old)) if old else 0
    return stream.pick(([*old[:at], *old[at + 1 :]], [*old[:at], *old[at : at + 1], *old[at:]], old[::-1]))

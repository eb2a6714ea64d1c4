"""Saved memories with changed bytes: each is refused, or runs like a valid one.

The checksum is computed anew over the changed bytes, so it does not reveal them. The changes follow from the
bytes of the saved memory alone, so a replayed run makes the same.
"""

from collections.abc import Iterator
from functools import cached_property, reduce
from hashlib import blake2b
from operator import getitem
from typing import Any, Final

import msgpack
from msgspec import structs

from umi_core.data import Owner
from umi_core.engine.middleware import Interceptors, pass_on
from umi_core.engine.registry import Registry
from umi_core.errors import Rejected
from umi_core.ids import pack
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed, ReadDone, Value, Wake
from umi_core.messages.effects import Asked, Commit, Read, Reply
from umi_core.messages.requests import Len
from umi_core.state import State
from umi_sim.judge.equivalences.lives import LifeStep, RecordedLife, shorten_value
from umi_sim.judge.equivalences.moments import at_moments
from umi_sim.judge.state import check_cheap, check_working
from umi_sim.kernel.frames import is_of_target
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

MOMENT_COUNT_MAX: Final = 5
EDIT_COUNT: Final = 5  # changed copies at each moment
STEP_COUNT_MAX: Final = 60  # steps of a changed copy
INVALID: Final = (
    0, 1, -1, 2, 9, 2**53, 2**63 - 1, -(2**63), 2**64 - 1, "", "a", "system", "\x00", "x" * 300, "ent_1",
    b"", b"x", None, True, False, [0], [0, [0]], [5],
)  # fmt: skip
Tree = Any  # a decoded saved memory: integers, texts, bytes, and lists of these
TreePath = tuple[int, ...]  # indices that lead to a part of a tree
STATE: Final = 2  # the index of the state, after the tag of a tuple and the fingerprints of workflows
# (2, 1 + n): the state is part 2 of the tree, and its field n comes after its own tag.
OPERATIONS: Final = (STATE, 1 + list(State.__struct_fields__).index("operations"))


def forge(life: RecordedLife) -> int:
    """Run E-FORGE; return how many saved memories were changed."""
    return at_moments(life, has_operations, forge_moment, MOMENT_COUNT_MAX)


def has_operations(number: int, step: LifeStep, memory: Memory) -> bool:
    """Return True if operations are in flight: half of the changes are made in them."""
    return bool(memory.state.operations)


def with_silent_hooks(registry: Registry) -> Registry:
    """Return the registry with the same interceptors, whose functions change nothing."""
    silent = (
        Interceptors(
            tuple(
                structs.replace(it, before=pass_on, after=pass_on, on_error=pass_on) for it in hooks.ordered
            )
        )
        for hooks in registry.generations
    )
    return structs.replace(registry, generations=tuple(silent))


def forge_moment(number: int, step: LifeStep, memory: Memory) -> bool:
    name, version, long, body, digest = msgpack.unpackb(memory.snapshot(), strict_map_key=False)
    tree, stream = msgpack.unpackb(body), Stream(int.from_bytes(digest[:8], "big"), "forge")
    # The interceptors of a run count their calls and check
    # their order, which a changed memory must not disturb.
    registry, forger = with_silent_hooks(memory.registry), Forger(tree, stream)
    for _ in range(EDIT_COUNT):
        path, part = forger.draw_edit()
        changed = pack(replace_part(tree, path, part))
        # With a valid checksum only the checks of the contents can refuse it.
        checksum = blake2b(pack(long) + changed, digest_size=16).digest()
        data = pack([name, version, long, changed, checksum])
        check_restored(data, registry, memory.life, f"at step {number}, {path} changed")
    return True


def check_restored(data: bytes, registry: Registry, life: int, label: str) -> None:
    """Demand that the bytes are refused, or give a memory that runs. Raises Broken."""
    try:
        forged = Memory.restore(data, registry, life=life)
    except Rejected:
        return
    try:
        run_on(forged)
    except Broken as broken:
        message = f"{label}: {broken.message}"
        raise Broken(rules.FORGED_STATE_REFUSED, message, broken.expected, broken.got) from None
    except Exception as error:
        if not is_of_target(error):
            raise
        message = f"{label}: it is accepted, and raises"
        raise Broken(rules.FORGED_STATE_REFUSED, message, "", repr(error)) from error


def run_on(memory: Memory) -> None:
    """Continue a memory whose questions get answers without rows or replies.

    At the end no operation may be left without a deadline.
    """
    sent = [it.sent for it in memory.state.operations.values() if it.sent is not None]
    now_ms, pending = memory.state.seen_ms, list[Value]([*map(answer, sent), Wake(), Len("len")])
    for _ in range(STEP_COUNT_MAX):
        if not pending:
            deadline_ms = memory.deadline_ms()
            if deadline_ms is None:
                break
            now_ms, pending = max(now_ms, deadline_ms), [Wake()]
        effects = memory.step(now_ms, pending.pop(0))
        pending += [answer(effect) for effect in effects if not isinstance(effect, Reply)]
        check_cheap(memory.state)
        check_working(memory.state.tiers.working, memory.state.seen_ms)
    in_flight, has_deadline = list(memory.in_flight), memory.deadline_ms() is not None
    holds, message = has_deadline or not memory.state.operations, "questions of a memory without a deadline"
    demand(holds, rules.FORGED_STATE_REFUSED, message, [], shorten_value(in_flight))


def answer(asked: Asked) -> Value:
    """Answer like an empty storage in which every commit conflicts, and a model that is unavailable."""
    if isinstance(asked, Read):
        return ReadDone(asked.request_id, ())
    return EffectFailed(asked.request_id, "conflict" if isinstance(asked, Commit) else "unavailable")


# Forging.


class Forger(Owner, dict=True):
    """Draws edits of a saved memory: the path of a part, and its replacement."""

    tree: Tree
    stream: Stream

    @cached_property
    def paths(self) -> list[TreePath]:
        return list(list_paths(self.tree))

    @cached_property
    def operation_paths(self) -> list[TreePath]:
        return [path for path in self.paths if path[: len(OPERATIONS)] == OPERATIONS]

    def draw_edit(self) -> tuple[TreePath, Tree]:
        """Return the path of a part, and what replaces it."""
        # Operations are a small part of a state and the one
        # with most invariants, so half of all edits go there.
        path = self.stream.pick(self.operation_paths) if self.stream.chance(1, 2) else self.draw_path()
        return path, self.draw_part(part_at(self.tree, path))

    def draw_path(self) -> TreePath:
        """Return a path: half of the time any one, else one drawn level by level from the root."""
        if self.stream.chance(1, 2):
            return self.stream.pick(self.paths)
        # Level by level, a small part is as likely as a long list next to it.
        path, tree = list[int](), self.tree
        while isinstance(tree, list) and tree and not (path and self.stream.chance(1, 8)):
            path.append(self.stream.below(len(tree)))
            tree = tree[path[-1]]
        return tuple(path)

    def draw_part(self, old: Tree) -> Tree:
        """Return an invalid value, another part of the same memory, or the old part with a small change."""
        match self.stream.below(4):
            case 0:
                return self.stream.pick(INVALID)
            case 1:
                return part_at(self.tree, self.draw_path())
            case 2:
                parts = (part_at(self.tree, path) for path in self.paths)
                return self.stream.pick([part for part in parts if is_like(part, old)])
            case _:
                return change_slightly(self.stream, old)


def is_like(part: Tree, old: Tree) -> bool:
    """Return True if a part is of the same type as the old one; a list must begin with a tag."""
    # [3, ...] is a value of the class with tag 3; any other list with a tag may replace it.
    is_named = isinstance(part, list) and part != [] and isinstance(part[0], int)
    return type(part) is type(old) and (not isinstance(old, list) or is_named or not old)


def list_paths(tree: Tree, path: TreePath = ()) -> Iterator[TreePath]:
    """Yield the path of each part of a tree."""
    yield path
    for at, part in enumerate(tree if isinstance(tree, list) else ()):
        yield from list_paths(part, (*path, at))


def part_at(tree: Tree, path: TreePath) -> Tree:
    return reduce(getitem, path, tree)


def replace_part(tree: Tree, path: TreePath, new: Tree) -> Tree:
    if not path:
        return new
    at, *rest = path
    return [*tree[:at], replace_part(tree[at], tuple(rest), new), *tree[at + 1 :]]


def change_slightly(stream: Stream, old: Tree) -> Tree:
    if isinstance(old, bool) or old is None:
        return not old
    if isinstance(old, int):
        return old + stream.pick((-1, 1, 10))
    if isinstance(old, str | bytes):
        return old[:-1]
    at = stream.below(len(old)) if old else 0
    return stream.pick(([*old[:at], *old[at + 1 :]], [*old[:at], *old[at : at + 1], *old[at:]], old[::-1]))

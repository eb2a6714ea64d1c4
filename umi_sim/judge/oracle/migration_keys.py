"""Request keys of rows that move: under one key the truth changes once, and every reply is that of the first.

It knows no phases: a key that was used before a switch is used after it.
"""

from typing import Final

import attrs

from umi_core.data import Owner
from umi_core.invariants.broken import demand
from umi_core.migration.requests import AddRow, DropRow, PutRow
from umi_sim.record import rules

RowWrite = PutRow | DropRow | AddRow
WRITES: Final = (PutRow, DropRow, AddRow)


def same(request: RowWrite) -> RowWrite:
    """Whoever asks."""
    return attrs.evolve(request, op_id=0)


@attrs.define
class Use(Owner):
    """Of one key. `asked`: all requests; `doubted`: those that may have been done, and nobody was told.

    `done`: the request that somebody was told is done, with its reply.
    """

    asked: list[RowWrite] = attrs.field(factory=list)
    doubted: list[RowWrite] = attrs.field(factory=list)
    done: tuple[RowWrite, object] | None = None


@attrs.define
class MovedKeys(Owner):
    """Keys of one kind of rows are a space."""

    uses: dict[tuple[str, str], Use] = attrs.field(factory=dict)

    def use(self, request: RowWrite) -> Use:
        """A use of its own for what has no key."""
        if request.request_key is None:
            return Use()
        return self.uses.setdefault((request.kind, request.request_key), Use())

    def begin(self, request: RowWrite) -> None:
        self.use(request).asked.append(same(request))

    def is_used(self, request: RowWrite) -> bool:
        """Whether somebody was told that this key is used: then nothing changes under it any more."""
        return self.use(request).done is not None

    def is_doubted(self, request: RowWrite) -> bool:
        return same(request) in self.use(request).doubted

    def doubt(self, request: RowWrite) -> None:
        self.use(request).doubted.append(same(request))

    def judge_done(self, op_id: str, request: RowWrite, value: object) -> bool:
        """Whether this is the first that is told."""
        use, got = self.use(request), (same(request), value)
        if use.done is None:
            use.done = got
            return True
        message = f"{op_id} is told something else than the first request with its key"
        demand(got == use.done, rules.KEY_ONCE_ACROSS_PHASES, message, use.done, got)
        return False

    def judge_reused(self, op_id: str, request: RowWrite) -> None:
        use, own = self.use(request), same(request)
        has_reason = any(it != own for it in use.asked) and (use.done is None or use.done[0] != own)
        message = f"{op_id} is refused, and no other request had its key"
        demand(has_reason, rules.KEY_ONCE_ACROSS_PHASES, message, own, use.asked)

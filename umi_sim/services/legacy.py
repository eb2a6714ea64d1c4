"""The store of an old server beside main, under the assumption of K11.3: superseded writes never take effect.

Law 1. Once a call has arrived, all earlier batches of the same agent and workflow are dropped, those under
way and those that arrive later. So no write can change afterwards what a read has shown.
Law 2. Otherwise it fails like any other store.
"""

from typing import Any

from umi_core.messages.answers import Answer
from umi_core.messages.effects import MAIN, Commit
from umi_sim.services.calls import Call, Flush, Services

Order = tuple[int, int]  # the incarnation of the agent, and its request id
Line = tuple[str, str]  # the agent and the workflow of a call


class WithLegacy(Services):
    """Services in which every store other than main belongs to an old server."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.latest: dict[Line, Order] = {}
        self.in_transit: dict[Line, list[tuple[Call, Flush]]] = {}

    def answer(self, call: Call) -> Answer:
        if is_for_legacy(call):
            self.supersede_earlier(call)
        return super().answer(call)

    def begin_commit(self, call: Call, commit: Commit, reported: str | int) -> Flush:
        flush = super().begin_commit(call, commit, reported)
        if not is_for_legacy(call):
            return flush
        if self.supersede_earlier(call):
            self.in_transit.setdefault(line_of(call), []).append((call, flush))
        else:
            self.drop_batch(call, flush)
        return flush

    def supersede_earlier(self, call: Call) -> bool:
        """Return False if a later call of the same line has arrived; else drop all earlier batches of it."""
        #   incarnation 1: write x=1 ......(late)......> dropped, since x=1 would replace x=2
        #   incarnation 2:      write x=2 -> done
        line, order = line_of(call), (call.incarnation, call.effect.request_id)
        if order < self.latest.get(line, order):
            return False
        if order > self.latest.get(line, (0, 0)):
            for each in self.in_transit.pop(line, ()):
                self.drop_batch(*each)
        self.latest[line] = order
        return True


def is_for_legacy(call: Call) -> bool:
    return getattr(call.effect, "store", MAIN) != MAIN


def line_of(call: Call) -> Line:
    return call.agent, call.workflow

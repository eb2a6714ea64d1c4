"""Request keys of the API: under one key the world changes once, and every reply tells of that once."""

import attrs

from umi_core.data import Owner
from umi_core.errors import Error, TooBusy
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import RECEIPT_MS_MAX
from umi_core.messages.requests import Request
from umi_sim.record import rules


@attrs.define
class Asked(Owner):
    """A request with a key. `value`: what its first reply told; `done_ms`: when, in the world's time.

    `is_guess`: a later request has repeated it, so it is not sure which of them all it was that did it.
    """

    op_id: str
    request: Request
    value: object = None
    done_ms: int | None = None
    is_guess: bool = False


@attrs.define
class Keys(Owner):
    """All that was asked under each key, oldest first, but for what surely did not happen."""

    asked: dict[str, list[Asked]] = attrs.field(factory=dict)

    def begin(self, op_id: str, key: str | None, request: Request) -> None:
        if key is not None:
            self.asked.setdefault(key, []).append(Asked(op_id, attrs.evolve(request, op_id=0)))

    def drop(self, op_id: str, key: str | None) -> None:
        """It changed nothing."""
        if key is not None:
            self.asked[key] = [it for it in self.asked[key] if it.op_id != op_id]

    def judge_reused(self, op_id: str, key: str) -> None:
        mine = self.of(op_id, key)
        others = [it for it in self.asked[key] if it.request != mine.request]
        demand(others, rules.KEY_ONCE, f"{op_id}: nobody asked anything else under the key {key}")

    def judge_refused(self, op_id: str, key: str, error: Error, now_ms: int) -> None:
        """What was done under its key it is told, whatever it would find now."""
        mine = self.of(op_id, key)
        done = [it for it in self.asked[key] if it.value is not None and it.request == mine.request]
        young = [it.value for it in done if now_ms - (it.done_ms or 0) < RECEIPT_MS_MAX]
        is_so = not young or isinstance(error, TooBusy)
        demand(is_so, rules.KEY_ONCE, f"{op_id} is refused what its key {key} has done", young[:1], error)

    def of(self, op_id: str, key: str) -> Asked:
        return next(it for it in self.asked[key] if it.op_id == op_id)

    def judge_done(self, op_id: str, key: str, value: object, *, repeated: bool, now_ms: int) -> str | None:
        """The operation that did what this reply tells, if that was not judged yet; None: it was."""
        mine = self.of(op_id, key)
        first = next((it for it in self.asked[key] if it.value is not None), None)
        is_young = first is not None and now_ms - (first.done_ms or 0) < RECEIPT_MS_MAX
        if first is not None and (is_young or is_told(first, value, repeated)):
            is_same = first.request == mine.request and first.value == value and (repeated or first.is_guess)
            first.is_guess &= repeated
            demand(
                is_same, rules.KEY_ONCE, f"{op_id} did anew what its key {key} had done", first.value, value
            )
            return None
        same = [it for it in self.asked[key] if it.request == mine.request and (it is mine) != repeated]
        demand(same, rules.KEY_ONCE, f"{op_id} repeats what nobody asked under the key {key}", "", value)
        doer = same[0]
        if first is not None:  # its receipt is forgotten
            self.asked[key] = [it for it in self.asked[key] if it.value is None]
        doer.value, doer.done_ms, doer.is_guess = value, now_ms, repeated
        return doer.op_id


def is_told(first: Asked, value: object, repeated: bool) -> bool:
    """A storage may forget a receipt after a day, and may do so later."""
    return repeated and first.value == value

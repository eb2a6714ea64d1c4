"""One call of `Memory.step`: the state and tables it works on, the effects and marks that it gives."""

from collections.abc import Iterable

import attrs

from umi_core.data import Owner
from umi_core.engine.facts import Facts, View
from umi_core.engine.interceptors import Interceptors
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Step, Workflow
from umi_core.errors import Deposed
from umi_core.messages.effects import Degraded, Effect, HookNote, Outcome
from umi_core.state import Operation, State

Ending = Outcome | Deposed | None
"""How an operation ends; None: it goes on. Deposed ends the life of the memory, with all its operations."""


@attrs.define
class Engine(Owner):
    """The state and the tables; the effects and marks that the step gives."""

    state: State
    registry: Registry
    effects: list[Effect] = attrs.field(factory=list)
    marks: list[str] = attrs.field(factory=list)
    ended: Operation | None = None  # the last operation that nobody waited for
    is_switched: bool = False  # the agent may have been closed or opened

    # What rows, their functions and interceptors see.

    def table_of(self, operation: Operation) -> Workflow:
        """The revision that it began with, which the registry keeps."""
        return self.registry.revisions[operation.workflow][operation.revision - 1]

    def row_of(self, operation: Operation) -> Step:
        return self.table_of(operation).steps[operation.row]

    def hooks_of(self, operation: Operation) -> Interceptors:
        """The set that it began with."""
        return self.registry.generations[operation.hooks]

    def view(self, operation: Operation, row: Step) -> View:
        state = self.state
        return View(
            state.seen_ms, state.scope, state.config, state.epoch, operation.number,
            operation.op_id is None, operation.plan_number,
            operation.may_have_happened and operation.plan_number > 1,
            state.landed_count - operation.landed_before, row.options, state.tiers, [],
        )  # fmt: skip

    # What is told of an operation.

    def mark(self, operation: Operation, row: Step, *names: str, of: str = "") -> None:
        """What this row met, or the reply that it took, for whoever counts what is reached."""
        for name in names:
            self.marks.append(f"{operation.workflow}.{row.id}{of}: {name}")

    def degraded(self, operation: Operation, name: str, reason: str, count: int = 1) -> None:
        """Once more less than asked for: named in the reply, summed in the counters."""
        known = [item for item in operation.degraded if (item.name, item.reason) == (name, reason)]
        others = tuple(item for item in operation.degraded if item not in known)
        total = count + sum(item.count for item in known)
        operation.degraded = (*others, Degraded(name, reason, total))
        self.state.count(f"degraded {name}", count)

    def noted(self, operation: Operation, row: Step, notes: Iterable[HookNote], reason: str) -> int:
        """What interceptors did on the way back; how often one gave a fallback, less than was asked for."""
        self.state.noted(operation, tuple(notes))
        fallbacks = [note for note in notes if (note.hook, note.what) == ("on_error", "substituted")]
        for note in fallbacks:
            self.degraded(operation, f"{row.id}:hook:{note.name}", reason)
        return len(fallbacks)


def facts_of(operation: Operation) -> Facts:
    """What is known of it, as the functions of its rows read it."""
    return Facts(operation.facts, operation.unit)

"""One operation of a table of its own, stepped by hand."""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from tests.unit.core.engine.tables import learns, named, row
from tests.worlds import SCOPE
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.engine.engine import Engine, begin, handle_due, resume
from umi_core.engine.facts import Fact
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import (
    OUTCOME,
    Learned,
    Step,
    Workflow,
    retry,
)
from umi_core.messages.answers import Answer, EffectFailed
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    ByWords,
    Commit,
    Done,
    Embed,
    FailureKind,
    Outcome,
    Read,
    Reply,
)
from umi_core.rows import Address, Entity, Row
from umi_core.state import Operation, State

READ = Read(ByIds((Address(SCOPE, "entity", "e"),)))
SEARCH = Read(ByWords(SCOPE, "tea", (), 10, 1))
ALL = Read(ByFilter(SCOPE, ("entity",)))
COMMIT = Commit((), (), "key")
MODEL = AskModel("extract", "p")
EMBED = Embed(("x",))


def asking(row_id: str, asked: Asked, on_failure: Any, take: Any = None, **more: Any) -> Step:
    take = take or learns()
    return Step(row_id, take, effect=type(asked), ask=lambda *_: asked, on_failure=on_failure, **more)


END = row("end", outcome=Done("fine"))
N, PLAN, SEEN, UNITS = named("n plan seen units")
COUNT, COUNTS = Fact("n", int), Fact("n", tuple[int, ...])


class Trial(Owner):
    """One operation of a table of its own, stepped by hand."""

    state: State
    registry: Registry
    sent: list[Asked] = []
    replies: list[Reply] = []
    marks: list[str] = []

    def engine(self, call: Callable[[Engine], object]) -> list[Asked]:
        engine = Engine(self.state, self.registry)
        call(engine)
        asked = [effect for effect in engine.effects if not isinstance(effect, Reply)]
        self.replies += [effect for effect in engine.effects if isinstance(effect, Reply)]
        self.sent += asked
        self.marks += engine.marks
        return asked

    def begin(self, op_id: int | None, **given: object) -> list[Asked]:
        return self.engine(lambda engine: begin(engine, "w", op_id, given))

    def answer(self, answer: Answer) -> list[Asked]:
        """The answer to what was asked last."""
        answer = structs.replace(answer, request_id=self.sent[-1].request_id)
        return self.engine(lambda engine: resume(engine, answer))

    def fail(self, kind: FailureKind, retry_after_ms: int = 0, changed: Any = ()) -> list[Asked]:
        return self.answer(EffectFailed(0, kind, retry_after_ms, changed))

    def at(self, now_ms: int) -> list[Asked]:
        self.state.seen_ms = now_ms
        return self.engine(handle_due)

    @property
    def operation(self) -> Operation:
        (operation,) = self.state.operations.values()
        return operation

    @property
    def due_ms(self) -> int | None:
        return self.operation.due_ms

    @property
    def outcome(self) -> Outcome:
        assert not self.state.operations
        (reply,) = self.replies
        return reply.outcome


def trial(*steps: Step, op_id: int | None = 1, **given: object) -> Trial:
    return begun(Registry().register(Workflow("w", named(" ".join(given)), steps)), op_id, **given)


def begun(registry: Registry, op_id: int | None, **given: object) -> Trial:
    run = Trial(State(SCOPE, Config(), phase="ready", epoch=3), registry)
    run.begin(op_id, **given)
    return run


CHANGED = ((Address(SCOPE, "entity", "e"), 4),)


def planned(*, attempts: int = 3, conflict_error: Any = None) -> Trial:
    return trial(*planned_steps(attempts=attempts, conflict_error=conflict_error))


def planned_steps(*, attempts: int = 3, conflict_error: Any = None) -> tuple[Step, ...]:
    """look -> plan -> commit; the plan is how often it was made."""

    def plan(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned({"plan": (facts[SEEN], view.plan_count)})

    policy = retry(attempts, replan="look", conflict_error=conflict_error)
    look = asking(
        "look",
        READ,
        retry(1),
        take=lambda facts, answer, view: Learned({"seen": answer.cursor}),
        produces=(SEEN,),
    )
    end = Step("end", lambda facts, *_: Learned({"outcome": Done(facts[PLAN])}), (PLAN,), (OUTCOME,))
    return look, Step("plan", plan, (SEEN,), (PLAN,)), asking("commit", COMMIT, policy), end


def found(row_id: str, score_ppm: int | None = None, kind: str = "entity") -> Row:
    entity = Entity(row_id, "note", row_id, "x", 1, 0, 0, "scratch", 0, 0)
    return Row(Address(SCOPE, kind, row_id), 1, entity, score_ppm)

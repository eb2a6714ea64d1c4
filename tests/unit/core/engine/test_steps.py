"""Goal: steps run and learn as their table says, and go on with less if they say so (EN3)."""

from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.engine.tables import X, Y, learns, named, row
from tests.unit.core.engine.trial import (
    COUNT,
    COUNTS,
    EMBED,
    END,
    MODEL,
    READ,
    UNITS,
    N,
    Trial,
    asking,
    begun,
    found,
    trial,
)
from tests.worlds import SCOPE
from umi_core.engine.facts import Fact
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import (
    OUTCOME,
    Degrade,
    Learned,
    Rejection,
    Step,
    Unusable,
    Workflow,
    degrade,
    retry,
)
from umi_core.errors import (
    EmptyText,
    ModelFailed,
    WorkflowBroken,
)
from umi_core.ids import commit_key
from umi_core.messages.answers import Committed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import (
    AskModel,
    ByWords,
    Commit,
    Degraded,
    Done,
    Embed,
    Failed,
    Read,
    Refused,
)

# Rows.


def test_facts_of_a_row_are_seen_by_the_later_ones() -> None:
    def take(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned({"outcome": Done((facts[X], facts[Y], view.number, view.epoch))})

    steps = row("a", y=2), Step("b", take, (X, Y), (OUTCOME,))
    assert trial(*steps, x=1).outcome == Done((1, 2, 1, 3))


BROKEN: dict[str, tuple[tuple[Step, ...], str, str, tuple[str, ...]]] = {
    "requires": ((row("a", requires="x", outcome=Done()),), "a", "requires", ("x",)),
    "produces": ((Step("a", learns(outcome=Done()), (), (Y, OUTCOME)),), "a", "produces", ("y",)),
    "undeclared": ((Step("a", learns(outcome=Done(), z=1)), END), "a", "undeclared", ("outcome", "z")),
    "a given fact": ((row("a", take=learns(given=2)), END), "a", "undeclared", ("given",)),
    "skip": ((row("a", take=lambda *_: Learned({}, "end")), END), "a", "skip", ("end",)),
    "effect": ((structs.replace(asking("a", READ, retry(1)), effect=Embed), END), "a", "effect", ("Read",)),
    "type": ((Step("a", learns(n=True), (), (COUNT,)), END), "a", "type", ("n",)),
    "type of a unit": (
        (
            row("u", units=(1,)),
            asking("a", READ, retry(1), take=learns(n="x"), each=UNITS, produces=(COUNTS,)),
            END,
        ),
        "a", "type", ("n",),
    ),
    "of a unit": (
        (row("u", units=(1,)), asking("a", READ, retry(1), take=learns(z=1), each=UNITS), END),
        "a", "undeclared", ("z",),
    ),
}  # fmt: skip


def unchecked(*steps: Step, **given: object) -> Trial:
    """Begun without the validation that would refuse such a table."""
    return begun(Registry({"w": (Workflow("w", named(" ".join(given)), steps),)}), 1, **given)


@pytest.mark.parametrize(("steps", "step", "kind", "fact_names"), BROKEN.values(), ids=BROKEN)
def test_a_row_that_breaks_its_table_ends_the_operation(
    steps: tuple[Step, ...], step: str, kind: str, fact_names: tuple[str, ...]
) -> None:
    broken = unchecked(*steps, given=1)
    if broken.state.operations:
        broken.answer(ReadDone(0))
    assert broken.outcome == Failed(WorkflowBroken("w", 1, step, kind, fact_names))


def test_what_a_policy_gives_instead_is_checked_as_well() -> None:
    wrong = retry(1, then=degrade("none", {"n": None}))
    run = trial(asking("a", READ, wrong, produces=(COUNT,)), END)
    run.fail("refused")
    assert run.outcome == Failed(WorkflowBroken("w", 1, "a", "type", ("n",)))


def test_an_operation_begins_with_facts_of_their_types() -> None:
    registry = Registry().register(Workflow("w", (COUNT, Fact("name", str | None)), (END,)))
    assert begun(registry, 1, n=1, name=None).outcome == Done("fine")
    wrong = begun(registry, 1, n="1", name=5)
    assert wrong.outcome == Failed(WorkflowBroken("w", 1, "end", "type", ("n", "name")))


def test_a_fact_is_never_replaced_but_may_be_learnt_again() -> None:
    same = unchecked(Step("a", learns(x=1), (), (X,)), END, x=1)
    other = unchecked(Step("a", learns(x=2), (), (X,)), END, x=1)
    assert same.outcome == Done("fine")
    assert other.outcome == Failed(WorkflowBroken("w", 1, "a", "replaces", ("x",)))


def test_a_take_that_refuses_ends_the_operation() -> None:
    steps = row("a", take=lambda *_: Rejection(EmptyText())), END
    assert trial(*steps).outcome == Refused(EmptyText())


def test_nothing_learnt_is_visible_before_the_row_is_sound() -> None:
    def take(facts: Any, answer: Any, view: Any) -> Learned:
        view.tiers.decisions = ("learnt",)
        view.marks.append("learnt")
        return Learned({"z": 1})

    broken = unchecked(Step("a", take), END)
    assert isinstance(broken.outcome, Failed)
    assert (broken.state.tiers.decisions, broken.marks) == ((), ["w.a: no question"])


def test_a_row_whose_when_is_false_leaves_its_otherwise() -> None:
    def take(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned({"outcome": Done(facts[Y])})

    a = Step("a", learns(y=1), (X,), (Y,), when=lambda facts: bool(facts[X]), otherwise={"y": 0})
    steps = a, Step("b", take, (Y,), (OUTCOME,))
    assert (trial(*steps, x=True).outcome, trial(*steps, x=False).outcome) == (Done(1), Done(0))


def test_a_skip_runs_no_row_between_and_leaves_their_otherwise() -> None:
    jump = Step("jump", lambda *_: Learned(skip_to="end"), skips_to=("end",))
    between = asking("between", READ, retry(1), produces=(Y,))
    end = Step("end", lambda facts, *_: Learned({"outcome": Done(facts[Y])}), (Y,), (OUTCOME,))
    skipped = trial(jump, between, Step("more", learns()), end)
    assert (skipped.outcome, skipped.sent) == (Done(None), [])


def test_an_ask_that_gives_none_is_taken_without_an_answer() -> None:
    ask_nothing = structs.replace(asking("a", READ, retry(1)), ask=lambda *_: None)
    assert trial(ask_nothing, END).outcome == Done("fine")


def test_a_background_operation_sends_no_reply_and_is_counted() -> None:
    quiet = trial(END, op_id=None)
    assert (quiet.replies, quiet.state.counters) == ([], {"w done": 1})


# Units.


def test_units_are_asked_one_after_the_other_and_their_facts_are_tuples() -> None:
    def ask(facts: Any, view: Any) -> Read | None:
        return Read(ByWords(SCOPE, facts.unit(UNITS), (), 1, 1)) if facts.unit(UNITS) else None

    def take(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned({"n": 0 if answer is None else len(answer.rows)})

    each = Step("each", take, (), (N,), Read, ask, retry(2, then=degrade("none", {"n": -1})), each=UNITS)
    end = Step("end", lambda facts, *_: Learned({"outcome": Done(facts[N])}), (N,), (OUTCOME,))
    run = trial(each, end, units=("a", "", "b", "c"))
    assert [len(run.answer(ReadDone(0))) for _ in range(1)] == [1]
    run.fail("refused")
    run.answer(ReadDone(0, (found("e", 1),)))
    assert [read.query.text for read in run.sent if isinstance(read, Read)] == ["a", "b", "c"]  # type: ignore[union-attr]
    assert run.outcome == Done((0, 0, -1, 1), (Degraded("each:none", "refused"),))
    assert trial(each, end, units=()).outcome == Done(())


def test_a_commit_without_a_key_gets_one_for_all_its_attempts() -> None:
    run = trial(asking("a", Commit((), ()), retry(3)), END)
    run.fail("unknown")
    run.at(100)
    run.answer(Committed(0))
    keys = [commit.key for commit in run.sent if isinstance(commit, Commit)]
    assert keys == [commit_key(SCOPE, 3, 1, "a")] * 2
    assert run.outcome == Done("fine")


# Degrading.


def test_a_degradation_is_named_counted_and_tells_the_last_reason() -> None:
    policy = retry(2, then=Degrade("half", lambda facts, reason: {"y": facts[X]}))
    end = Step("end", lambda facts, *_: Learned({"outcome": Done(facts[Y])}), (Y,), (OUTCOME,))
    run = trial(asking("a", MODEL, policy, produces=(Y,)), end, x=7)
    run.fail("timeout")
    run.at(100)
    run.fail("unavailable")
    assert run.outcome == Done(7, (Degraded("a:half", "unavailable"),))
    assert run.state.counters == {"degraded a:half": 1, "w done": 1}
    met = ["timeout", "retried", "unavailable", "degraded"]
    assert run.marks == [*(f"w.a: {it}" for it in met), "w.end: no question"]


def test_after_an_unusable_reply_the_model_gets_the_reason_and_is_asked_again() -> None:
    """Each attempt states the last problem alone; a failure that is none of the reply states none."""
    reasons = iter(["no_json", "no_tag", "empty"])
    policy = retry(4, then=degrade("none"))
    run = trial(asking("a", MODEL, policy, take=lambda *_: Unusable(next(reasons))), END)
    prompts = []
    for at_ms in (100, 300, 700):
        prompts.append(last_prompt(run))
        run.answer(ModelReplied(0, "?"))
        assert run.due_ms == at_ms
        run.at(at_ms)
    run.fail("refused")
    first, *others = (*prompts, last_prompt(run))
    assert [it.removeprefix(f"{first}\nINPUT problem = ") for it in others] == [
        '"The last reply had no complete JSON of this form."',
        '"The last reply was not of this form."',
        '"The last reply was empty."',
    ]
    assert (len(run.sent), run.outcome) == (4, Done("fine", (Degraded("a:none", "refused"),)))


def last_prompt(run: Trial) -> str:
    asked = run.sent[-1]
    assert isinstance(asked, AskModel)
    return asked.prompt


def test_the_last_unusable_reply_is_the_end_of_the_policy_with_its_reason() -> None:
    for policy, outcome in (
        (retry(1, then=degrade("none")), Done("fine", (Degraded("a:none", "no_json"),))),
        (retry(1), Failed(ModelFailed("a", "unusable", 1))),
    ):
        run = trial(asking("a", MODEL, policy, take=lambda *_: Unusable("no_json")), END)
        run.answer(ModelReplied(0, "?"))
        assert (len(run.sent), run.outcome) == (1, outcome)


def test_an_unusable_answer_of_an_embedder_is_the_end_of_the_policy() -> None:
    policy = retry(3, then=degrade("none"))
    run = trial(asking("a", EMBED, policy, take=lambda *_: Unusable("wrong number")), END)
    run.answer(Embedded(0, ()))
    assert (len(run.sent), run.outcome) == (1, Done("fine", (Degraded("a:none", "wrong number"),)))


def test_what_a_take_leaves_out_is_summed_by_name_and_reason() -> None:
    def take(facts: Any, answer: Any, view: Any) -> Learned:
        return Learned(degraded=(("partial", "bad", 2), ("partial", "worse", 1)))

    run = trial(row("a", take=take), structs.replace(row("b", take=take), id="a2"), END)
    assert run.outcome == Done(
        "fine",
        (
            Degraded("a:partial", "bad", 2), Degraded("a:partial", "worse"),
            Degraded("a2:partial", "bad", 2), Degraded("a2:partial", "worse"),
        ),
    )  # fmt: skip
    assert run.state.counters["degraded a:partial"] == 3

"""Goal: a table is valid as a whole or refused with all findings, and revisions never change."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from tests.spec_tables import Row, plain, rows
from tests.unit.core.engine.tables import X, Y, Z, named
from umi_core.engine import middleware as hooks
from umi_core.engine.facts import Fact, Facts, is_within
from umi_core.engine.registry import Registry, findings
from umi_core.engine.workflow import Learned, Step, Workflow, degrade, forever, retry
from umi_core.errors import BadWorkflow, Rejected
from umi_core.limits import REVISION_COUNT_MAX
from umi_core.messages.effects import Commit, Embed, Read, Reply
from umi_core.messages.requests import ALL, WorkflowRequest
from umi_core.rows import Row as StoredRow
from umi_core.workflows import BUILT_IN, WORKFLOWS


def ask(facts: object, view: object) -> None:
    return None


def no_error(facts: object, failure: object, view: object) -> None:
    return None


def take(facts: object, answer: object, view: object) -> Learned:
    return Learned()


def other_take(facts: object, answer: object, view: object) -> Learned:
    return Learned()


def row(row_id: str, requires: str = "", produces: str = "", **more: Any) -> Step:
    """`requires` and `produces` as words."""
    return Step(row_id, take, named(requires), named(produces), **more)


def asking(row_id: str, effect: type = Read, produces: str = "", **more: Any) -> Step:
    more.setdefault("on_failure", retry(3))
    return row(row_id, produces=produces, effect=effect, ask=ask, **more)


END = row("end", produces="outcome")
(UNITS,) = named("units")
COUNT = Fact("n", int)


def found(*steps: Step, given: str = "") -> list[str]:
    return [str(error) for error in findings(Workflow("w", named(given), steps))]


def list_errors(call: Callable[[], object]) -> list[str]:
    """The errors of a registry call, as text."""
    with pytest.raises(Rejected) as caught:
        call()
    return [str(error) for error in caught.value.errors]


# Validation.


def test_every_built_in_workflow_is_valid() -> None:
    assert {workflow.name: findings(workflow) for workflow in WORKFLOWS} == {w.name: () for w in WORKFLOWS}


def test_every_workflow_knows_the_class_of_its_request() -> None:
    served = [request for request in ALL if issubclass(request, WorkflowRequest)]
    assert served
    for request in served:
        kind = BUILT_IN.at(request.workflow).knows["request"].kind
        assert is_within(request, kind), request
        assert kind is not object, request


def test_every_row_that_asks_says_what_failure_means() -> None:
    for workflow in WORKFLOWS:
        for step in workflow.steps:
            assert (step.ask is None) == (step.on_failure is None), (workflow.name, step.id)


def test_only_recovery_tries_without_end() -> None:
    endless = {
        w.name for w in WORKFLOWS for step in w.steps if step.on_failure and step.on_failure.attempts == 0
    }
    assert endless == {"recover"}


FINDINGS: dict[str, tuple[tuple[Step, ...], list[str]]] = {
    "sound": ((END,), []),
    "id with a capital": ((row("Bad"), END), ["BadStepId(Bad, ())"]),
    "id of 65 characters": ((row("a" * 65), END), [f"BadStepId({'a' * 65}, ())"]),
    "id of 64 characters": ((row("a" * 64), END), []),
    "id twice": ((row("a"), row("a"), END), ["DuplicateStep(a, ())"]),
    "effect without ask": ((row("a", effect=Read, on_failure=retry(1)), END), ["UnknownEffect(a, ())"]),
    "ask without policy": ((row("a", effect=Read, ask=ask), END), ["UnknownEffect(a, ())"]),
    "policy without effect": ((row("a", on_failure=retry(1)), END), ["UnknownEffect(a, ())"]),
    "a reply is no effect of a row": ((asking("a", Reply), END), ["UnknownEffect(a, ())"]),
    "each on a commit": (
        (row("u", produces="units"), asking("a", Commit, each=UNITS), END),
        ["UnknownEffect(a, ('each on a commit',))"],
    ),
    "fact from nowhere": ((row("a", "x z y"), END), ["MissingFact(a, ('x', 'y', 'z'))"]),
    "fact from later": ((row("a", "x"), row("b", produces="x"), END), ["MissingFact(a, ('x',))"]),
    "units from nowhere": ((asking("a", each=UNITS), END), ["MissingFact(a, ('units',))"]),
    "fact produced twice": ((row("a", produces="x"), row("b", produces="x"), END), ["FactTwice(b, ('x',))"]),
    "no outcome": ((row("a"),), ["MissingFact(w, ('outcome',))"]),
    "skip to an earlier row": ((row("a"), row("b", skips_to=("a",)), END), ["BadSkip(b, ('a',))"]),
    "skip to itself": ((row("a", skips_to=("a",)), END), ["BadSkip(a, ('a',))"]),
    "skip to nowhere": ((row("a", skips_to=("x",)), row("b", produces="y"), END), ["BadSkip(a, ('x',))"]),
    "skip over what leaves nothing": ((row("a", skips_to=("end",)), row("b", produces="y x"), END), []),
    "when without otherwise": ((row("a", produces="x", when=bool), END), []),
    "replan of a row that is not there": (
        (asking("a", Commit, on_failure=retry(3, replan="x")), END),
        ["BadSkip(a, ('x',))"],
    ),
    "replan of a later row": (
        (asking("a", Commit, on_failure=retry(3, replan="end")), END),
        ["BadSkip(a, ('end',))"],
    ),
    "replan across a commit": (
        (row("p"), asking("a", Commit), asking("b", Commit, on_failure=retry(3, replan="p")), END),
        ["BadSkip(b, ('p',))"],
    ),
    "a fact of another type": (
        (Step("a", take, (), (Fact("x", int),)), Step("b", take, (Fact("x", str),)), END),
        ["FactType(b, ('x',))"],
    ),
    "a fact under a wider type": (
        (Step("a", take, (), (Fact("x", int),)), Step("b", take, (Fact("x", int | None),)), END),
        [],
    ),
    "rows of other kinds": (
        (
            Step("a", take, (), (Fact("x", StoredRow),)),
            Step("b", take, (Fact("x", StoredRow, ("entity",)),)),
            END,
        ),
        ["FactType(b, ('x',))"],
    ),
    "rows of fewer kinds": (
        (
            Step("a", take, (), (Fact("x", StoredRow, ("entity",)),)),
            Step("b", take, (Fact("x", StoredRow, ("entity", "vector")),)),
            Step("c", take, (Fact("x", StoredRow),)),
            END,
        ),
        [],
    ),
    "units that are none": (
        (Step("a", take, (), (Fact("x", int),)), asking("b", each=Fact("x", int), produces="y"), END),
        ["FactType(b, ('x',))"],
    ),
    "a fact of units that is no tuple": (
        (row("u", produces="units"), Step("b", take, (), (Fact("x", int),), each=UNITS), END),
        ["FactType(b, ('x',))"],
    ),
    "an outcome that is none": (
        (Step("end", take, (), (Fact("outcome", object),)),),
        ["FactType(w, ('outcome',))"],
    ),
    "nothing left for who may come": (
        (Step("a", take, (), (COUNT,), when=bool), Step("b", take, (COUNT,)), END),
        ["BadOtherwise(a, ('n',))"],
    ),
    "something left for who may come": (
        (Step("a", take, (), (COUNT,), when=bool, otherwise=COUNT(0)), Step("b", take, (COUNT,)), END),
        [],
    ),
    "nothing left for who expects that": (
        (
            Step("a", take, (), (COUNT,), when=bool),
            Step("b", take, (Fact("n", int | None),)),
            END,
        ),
        [],
    ),
    "nothing left where nobody comes": (
        (
            row("a", skips_to=("end",)),
            Step("b", take, (), (COUNT,)),
            Step("c", take, (COUNT,)),
            END,
        ),
        [],
    ),
    "a fact of another row left": (
        (row("a", produces="x", when=bool, otherwise={"x": 1, "y": 2}), END),
        ["BadOtherwise(a, ('y',))"],
    ),
    "everything at once": (
        (row("Bad", "x"), row("b", produces="y", when=bool, skips_to=("Bad",))),
        [
            "BadStepId(Bad, ())", "MissingFact(Bad, ('x',))", "MissingFact(w, ('outcome',))",
            "BadSkip(b, ('Bad',))",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "expected"), FINDINGS.values(), ids=FINDINGS)
def test_validation_tells_every_finding(steps: tuple[Step, ...], expected: list[str]) -> None:
    assert found(*steps) == expected


def test_every_problem_of_the_table_is_found_in_some_case_and_no_other() -> None:
    problems = {error.partition("(")[0] for _, expected in FINDINGS.values() for error in expected}
    assert problems == {row["problem"] for row in rows("engine", "findings")}


# Mutations.

W = Workflow("w", (X,), (row("a", "x", "y"), row("b", "y", "outcome")))
FIRST = Registry().register(W)


CALLS: dict[str, Callable[[], Registry]] = {
    "remove a": lambda: FIRST.remove("w", "a"),
    "insert c: {y} -> {z} before a": lambda: FIRST.insert_before("w", "a", row("c", "y", "z")),
    "insert a2: {x} -> {y} after a": lambda: FIRST.insert_after("w", "a", row("a2", "x", "y")),
    "replace a by a3: {x} -> {y, w}": lambda: FIRST.replace("w", "a", row("a3", "x", "y w")),
}


def result_of(call: Callable[[], Registry]) -> str:
    """As the table writes it."""
    try:
        return f"revision {call().latest('w')}"
    except Rejected as rejected:
        found = [it for it in rejected.errors if isinstance(it, BadWorkflow)]
        return ", ".join(f"{it.problem}({it.step}, {', '.join(it.names)})" for it in found)


@pytest.mark.parametrize("change", rows("engine", "mutations"), ids=lambda change: change["call"])
def test_a_change_has_the_result_of_the_table(change: Row) -> None:
    assert result_of(CALLS[change["call"]]) == plain(change["result"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda: FIRST.replace("w", "b", row("b", "y", "z")), ["MissingFact(w, ('outcome',))"]),
        (lambda: FIRST.register(W), ["WorkflowExists(w, ())"]),
        (lambda: FIRST.remove("v", "a"), ["UnknownWorkflow(v, ())"]),
        (lambda: FIRST.remove("w", "c"), ["UnknownStep(c, ())"]),
        (lambda: FIRST.configure("w", "a", profile="fast"), ["UnknownConfigKey(a, ('profile',))"]),
        (lambda: FIRST.at("w", 2), ["unknown revision: w@2"]),
        (lambda: FIRST.at("w", 0), ["unknown revision: w@0"]),
        (lambda: FIRST.at("v"), ["unknown revision: v@0"]),
        (lambda: FIRST.interceptors(1), ["unknown revision: interceptors@1"]),
        (lambda: FIRST.interceptors(-1), ["unknown revision: interceptors@-1"]),
        (lambda: Registry().register(Workflow("e", (), ())), ["MissingFact(e, ('outcome',))"]),
    ],
)
def test_a_refused_change_leaves_the_registry_at_its_revision(
    change: Callable[[], object], expected: list[str]
) -> None:
    assert list_errors(change) == expected
    assert (FIRST.latest("w"), FIRST.at("w")) == (1, W)


def test_each_of_the_five_changes_makes_the_next_revision_and_keeps_the_old_ones() -> None:
    c, a3 = row("c", "x", "z"), row("a3", "x", "y w", config=(("size", 1), ("profile", "default")))
    registry = FIRST.replace("w", "a", a3)
    registry = registry.insert_before("w", "a3", c).insert_after("w", "b", row("d"))
    registry = registry.configure("w", "a3", size=2).remove("w", "c")
    ids = [[step.id for step in registry.at("w", n).steps] for n in range(1, 7)]
    assert ids == [
        ["a", "b"],
        ["a3", "b"],
        ["c", "a3", "b"],
        ["c", "a3", "b", "d"],
        ["c", "a3", "b", "d"],
        ["a3", "b", "d"],
    ]
    assert registry.at("w").steps[0].config == (("profile", "default"), ("size", 2))
    assert registry.at("w", 1) == W
    assert FIRST.latest("w") == 1


def test_an_option_keeps_its_type() -> None:
    registry = FIRST.replace("w", "a", row("a", "x", "y", config=(("size", 1),)))
    assert list_errors(lambda: registry.configure("w", "a", size=True)) == ["BadConfigValue(a, ('size',))"]
    assert list_errors(lambda: registry.configure("w", "a", size="2")) == ["BadConfigValue(a, ('size',))"]


def test_revisions_are_bounded() -> None:
    full = structs.replace(FIRST, revisions={"w": (W,) * REVISION_COUNT_MAX})
    assert list_errors(lambda: full.remove("w", "a")) == ["MissingFact(b, ('y',))"]
    assert list_errors(lambda: full.insert_after("w", "b", row("c"))) == ["RevisionsFull(w, ())"]


def test_a_table_is_written_with_few_words() -> None:
    assert degrade("none", {"rows": ()}).facts(Facts({"anything": 1}), "timeout") == {"rows": ()}
    assert (forever().attempts, forever("a").replan) == (0, "a")
    with pytest.raises(AssertionError):
        retry(0)


# Interceptors in the registry.


def test_a_set_of_interceptors_is_a_generation_that_stays_reachable() -> None:
    registry = FIRST.with_interceptor(hooks.Interceptor("h")).without_interceptor("h")
    names = [[known.name for known in registry.interceptors(n).ordered] for n in range(3)]
    assert names == [[], ["h"], []]


# Fingerprints.

CHANGES: dict[str, dict[str, Any]] = {
    "id": {"id": "a2"},
    "requires": {"requires": ()},
    "type of what it requires": {"requires": (Fact("x", int),)},
    "produces": {"produces": (Y, Z)},
    "type of what it produces": {"produces": (Fact("y", int),)},
    "take": {"take": other_take},
    "when": {"when": bool},
    "each": {"each": X},
    "otherwise": {"otherwise": {"y": 1}},
    "skips_to": {"skips_to": ("b",)},
    "config": {"config": (("size", 1),)},
    "effect": {"effect": Read, "ask": ask, "on_failure": retry(3)},
    "other effect": {"effect": Embed, "ask": ask, "on_failure": retry(3)},
    "other ask": {"effect": Read, "ask": other_take, "on_failure": retry(3)},
    "attempts": {"effect": Read, "ask": ask, "on_failure": retry(2)},
    "replan": {"effect": Read, "ask": ask, "on_failure": retry(3, replan="b")},
    "then": {"effect": Read, "ask": ask, "on_failure": retry(3, then=degrade("none"))},
    "conflict error": {"effect": Read, "ask": ask, "on_failure": retry(3, conflict_error=no_error)},
}
VARIANTS: dict[str, Workflow] = {
    "as it is": W,
    "name": structs.replace(W, name="v"),
    "given": structs.replace(W, given=(X, Z)),
    "order": structs.replace(W, steps=W.steps[::-1]),
    **{
        name: structs.replace(W, steps=(structs.replace(W.steps[0], **change), W.steps[1]))
        for name, change in CHANGES.items()
    },
}


def test_whatever_changes_what_a_table_does_changes_its_fingerprint() -> None:
    prints = {name: workflow.fingerprint for name, workflow in VARIANTS.items()}
    assert len(set(prints.values())) == len(prints)


def test_equal_tables_have_equal_fingerprints() -> None:
    same = Workflow("w", (X,), (row("a", "x", "y"), row("b", "y", "outcome")))
    assert same.fingerprint == W.fingerprint
    assert BUILT_IN.at("remember").fingerprint == BUILT_IN.at("remember", 1).fingerprint

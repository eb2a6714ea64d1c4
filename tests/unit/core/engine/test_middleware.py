"""Goal: the stack of interceptors, row by row, around effects and around steps (EN6)."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import pytest
from msgspec import structs

from tests.spec_tables import Row as TableRow
from tests.spec_tables import plain, rows
from tests.unit.core.engine.tables import X, learns
from umi_core.data import Owner
from umi_core.engine.facts import Fact, Facts
from umi_core.engine.middleware import (
    Attempt,
    HookContext,
    Interceptor,
    Interceptors,
    OnRaise,
    Pass,
    Refuse,
    Rewrite,
    StepRun,
    Substitute,
    run_after,
    run_before,
)
from umi_core.engine.workflow import Step, retry
from umi_core.errors import EmptyText, ModelFailed, StepFailed
from umi_core.messages.answers import EffectFailed, ModelReplied
from umi_core.messages.effects import AskModel, Commit

CONTEXT = HookContext("w", "s", 1, "extract", 5)
ASK = AskModel("extract", "p", request_id=7, timeout_ms=100)
TEXT = Fact("text", str)
ROW = Step("s", learns(), (), (TEXT,), AskModel, lambda *_: ASK, retry(2))

Site = Literal["effect", "step"]
WRAPPED: dict[Site, Any] = {
    "effect": Attempt(CONTEXT, ASK),
    "step": StepRun(CONTEXT, ROW, Facts({"known": 1}), never_ends=False, attempts=2),
}
FAILED: dict[Site, Any] = {
    "effect": EffectFailed(7, "unavailable"),
    "step": ModelFailed("s", "unavailable", 2),
}
REFUSED: dict[Site, Any] = {"effect": EffectFailed(7, "refused"), "step": ModelFailed("s", "refused", 2)}


def says(site: Site, text: str) -> Any:
    """An answer, or the facts of the step."""
    return ModelReplied(7, text) if site == "effect" else TEXT(text)


class Raised(Exception):
    pass


class Stack(Owner):
    """Two interceptors, a outside b, with a word per hook for what it does; every call and what it saw."""

    site: Site
    script: dict[str, str]
    on_raise: OnRaise = "ignore"
    calls: list[str] = []
    seen: dict[str, Any] = {}

    def hook(self, name: str) -> Callable[..., Any]:
        def run(context: HookContext, asked: object, *answer: object) -> Any:
            self.calls.append(name)
            self.seen[name] = answer[0] if answer else asked
            return self.verdict(name, asked)

        return run

    def verdict(self, name: str, asked: object) -> object:
        match self.script.get(name, "pass"):
            case "pass":
                return Pass()
            case "refuse":
                return Refuse("no")
            case "substitute":
                return Substitute(says(self.site, name[0]))
            case "rewrite":
                assert isinstance(asked, AskModel)
                return Rewrite(structs.replace(asked, prompt=name[0]))
            case "raise":
                raise Raised
            case "assert":
                raise AssertionError("ours")
        return "nonsense"

    def attempt(self, has_failed: bool) -> tuple[str, list[str]]:
        """One attempt, or run: who is to blame for what comes of it, and what is noted."""
        hooks = Interceptors()
        for name in "ab":
            before, after, on_error = (
                self.hook(f"{name}.{kind}") for kind in ("before", "after", "on_error")
            )
            hooks = hooks.add(Interceptor(name, self.site, before, after, on_error, on_raise=self.on_raise))
        wrapped: Any = WRAPPED[self.site]
        entered = run_before(hooks.ordered, wrapped)
        answer = entered.result
        if answer is None:
            self.calls.append("E")
            self.seen["E"] = entered.wrapped.seen
            answer = FAILED[self.site] if has_failed else says(self.site, "E")
        answer, notes = run_after(hooks, entered.names, entered.wrapped, answer)
        assert all(note.step == "s" for note in entered.notes + notes)
        lines = [f"{note.name}.{note.hook} {note.what}" for note in entered.notes + notes]
        return self.word_for(answer), lines

    def word_for(self, answer: object) -> str:
        known = {"failure": FAILED[self.site], "refused": REFUSED[self.site]}
        known |= {text: says(self.site, text) for text in ("a", "b", "E")}
        return next(word for word, value in known.items() if value == answer)


FELL = "a.before b.before E b.on_error a.on_error"
OUTCOMES = {
    "E's answer": "E", "E's failure": "failure", "refused": "refused", "a's answer": "a", "b's answer": "b",
}  # fmt: skip
OK, FAILS = False, True

# What hooks do; whether E fails; what is noted. Who is called, and what comes of it, says the table of EN6.
SCRIPTS: dict[str, tuple[dict[str, str], bool, list[str]]] = {
    "O1": ({}, OK, []),
    "O2": ({}, FAILS, []),
    "O3": ({"a.before": "refuse"}, OK, ["a.before refused"]),
    "O4": ({"b.before": "refuse"}, OK, ["b.before refused"]),
    "O5": ({"a.before": "substitute"}, OK, ["a.before substituted"]),
    "O6": ({"b.before": "substitute"}, OK, ["b.before substituted"]),
    "O7": ({"a.before": "rewrite", "b.before": "rewrite"}, OK, []),
    "O8": ({"b.on_error": "substitute"}, FAILS, ["b.on_error substituted"]),
    "O9": ({"a.on_error": "substitute"}, FAILS, ["a.on_error substituted"]),
    "O10": ({"b.after": "substitute"}, OK, ["b.after substituted"]),
    "O11": ({"b.after": "refuse"}, OK, ["b.after refused"]),
    "O12": ({"b.before": "raise"}, OK, ["b.before Raised"]),
    "O13": ({"b.before": "raise"}, OK, ["b.before Raised"]),
    "O14": ({"b.after": "raise"}, OK, ["b.after Raised"]),
    "O15": ({"b.after": "raise"}, OK, ["b.after Raised"]),
    "O16": ({"b.on_error": "raise"}, FAILS, ["b.on_error Raised"]),
    "O17": (
        {"a.on_error": "raise", "b.on_error": "raise"}, FAILS,
        ["b.on_error Raised", "a.on_error Raised"],
    ),
}  # fmt: skip
# Other cases, with who is called and what comes of it.
MORE: dict[str, tuple[dict[str, str], bool, OnRaise, str, str, list[str]]] = {
    "a bad result is as one that raises": (
        {"b.before": "nonsense", "a.after": "nonsense"}, OK, "ignore", "a.before b.before E a.after", "E",
        ["b.before bad_result", "a.after bad_result"],
    ),
    "E fails, b.on_error refuses": (
        {"b.on_error": "refuse"}, FAILS, "ignore", FELL, "failure", ["b.on_error bad_result"],
    ),
    "b.after refuses, a.on_error substitutes": (
        {"b.after": "refuse", "a.on_error": "substitute"}, OK, "ignore",
        "a.before b.before E b.after a.on_error", "a", ["b.after refused", "a.on_error substituted"],
    ),
    "a.before raises, fail": (
        {"a.before": "raise"}, OK, "fail", "a.before", "refused", ["a.before Raised"],
    ),
    "a bad result, fail": (
        {"b.after": "nonsense"}, OK, "fail", "a.before b.before E b.after a.on_error", "refused",
        ["b.after bad_result"],
    ),
}  # fmt: skip
SITES: tuple[Site, ...] = ("effect", "step")


def modes(row: TableRow) -> tuple[OnRaise, ...]:
    """How hooks that raise are taken where the table says so; either way where it does not."""
    modes = tuple(mode for mode in get_args(OnRaise) if f'on_raise="{mode}"' in row["what happens"])
    return modes or get_args(OnRaise)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("row", rows("engine", "middleware"), ids=lambda row: row["case"])
def test_the_middleware_runs_as_in_its_table(row: TableRow, site: Site) -> None:
    script, has_failed, notes = SCRIPTS[row["case"]]
    if site == "step" and "rewrite" in script.values():
        pytest.skip("a step has no request that could be another")
    for mode in modes(row):
        stack = Stack(site, script, mode)
        assert stack.attempt(has_failed) == (OUTCOMES[row["outcome"]], notes)
        assert " ".join(stack.calls) == plain(row["calls"])


def test_the_table_of_the_middleware_tells_of_every_script() -> None:
    assert [row["case"] for row in rows("engine", "middleware")] == list(SCRIPTS)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize(
    ("script", "has_failed", "on_raise", "calls", "blamed", "notes"), MORE.values(), ids=MORE
)
def test_the_middleware_beyond_its_table(
    site: Site,
    script: dict[str, str],
    has_failed: bool,
    on_raise: OnRaise,
    calls: str,
    blamed: str,
    notes: list[str],
) -> None:
    stack = Stack(site, script, on_raise)
    assert stack.attempt(has_failed) == (blamed, notes)
    assert " ".join(stack.calls) == calls


def test_each_hook_sees_what_those_outside_made_of_the_request() -> None:
    stack = Stack("effect", SCRIPTS["O7"][0])
    stack.attempt(has_failed=False)
    assert [stack.seen[name].prompt for name in ("a.before", "b.before", "E")] == ["p", "a", "b"]


@pytest.mark.parametrize("site", SITES)
def test_each_hook_sees_what_those_inside_made_of_it(site: Site) -> None:
    stack = Stack(site, {"b.after": "substitute"})
    stack.attempt(has_failed=False)
    seen = [stack.seen["b.after"], stack.seen["a.after"]]
    assert [answer[TEXT] if isinstance(answer, Facts) else answer.text for answer in seen] == ["E", "b"]


def test_around_a_step_hooks_see_facts_and_errors() -> None:
    stack = Stack("step", {})
    stack.attempt(has_failed=True)
    assert stack.seen["a.before"][Fact("known", int)] == 1
    assert stack.seen["a.on_error"] == ModelFailed("s", "unavailable", 2)


@pytest.mark.parametrize("site", SITES)
def test_an_assertion_is_never_caught(site: Site) -> None:
    with pytest.raises(AssertionError, match="ours"):
        Stack(site, {"a.before": "assert"}).attempt(has_failed=False)


def test_hooks_that_do_not_apply_are_no_part_of_the_middleware() -> None:
    other = Interceptor("h", effects=("embed",))
    assert run_before([other, Interceptor("g")], WRAPPED["effect"]).names == ("g",)
    plain = structs.replace(WRAPPED["step"], row=Step("s", learns()))
    assert run_before(
        [Interceptor("h", "step", effects=("model",)), Interceptor("g", "step")], plain
    ).names == ("g",)


# What hooks around a step may do.

PAIR = Step("s", learns(), (), (TEXT, Fact("numbers", tuple[int, ...])))
COMMIT = Step("s", learns(), (), (X,), Commit, lambda *_: None, retry(2))


def run_of(row: Step, **more: Any) -> StepRun:
    return StepRun(CONTEXT, row, Facts({}), **{"never_ends": False, **more})


GIVEN: dict[str, tuple[Any, bool]] = {
    "all that it produces": ({"text": "t", "numbers": (1, 2)}, True),
    "less": ({"text": "t"}, False),
    "more": ({"text": "t", "numbers": (), "z": 1}, False),
    "another type": ({"text": "t", "numbers": ("1",)}, False),
    "a bool for a number": ({"text": "t", "numbers": (True,)}, False),
    "a list for a tuple": ({"text": "t", "numbers": [1]}, False),
    "an answer": (ModelReplied(0, "t"), False),
    "nothing": (None, False),
}


@pytest.mark.parametrize(("given", "allowed"), GIVEN.values(), ids=GIVEN)
def test_a_substitute_is_exactly_what_the_step_produces(given: Any, allowed: bool) -> None:
    run = run_of(PAIR)
    assert run.allows_before(Substitute(given)) == allowed
    for answer in ({"text": "t", "numbers": ()}, StepFailed("s", "refused", 1)):
        assert run.allows_after(answer, Substitute(given)) == allowed


ANYTHING = Substitute({"x": 1})
PLAIN = Step("s", learns(), (), (X,))
# Row and what else; then whether Pass, Refuse and Substitute are allowed before, after, on error.
ALLOWED: dict[str, tuple[StepRun, str, str, str]] = {
    "a step": (run_of(PLAIN), "yes yes yes", "yes yes yes", "yes no yes"),
    "a commit": (run_of(COMMIT), "yes yes no", "yes no no", "yes no no"),
    "of recovery": (run_of(PLAIN, never_ends=True), "yes no no", "yes no no", "yes no no"),
    "at its end": (run_of(PLAIN, is_final=True), "yes yes yes", "yes yes no", "yes no no"),
}


@pytest.mark.parametrize(("run", "before", "after", "on_error"), ALLOWED.values(), ids=ALLOWED)
def test_what_hooks_around_a_step_may_say(run: StepRun, before: str, after: str, on_error: str) -> None:
    verdicts = (Pass(), Refuse("no"), ANYTHING)

    def words(allows: Callable[[object], bool]) -> str:
        return " ".join("yes" if allows(verdict) else "no" for verdict in verdicts)

    assert words(run.allows_before) == before
    assert words(lambda verdict: run.allows_after({"x": 0}, verdict)) == after
    assert words(lambda verdict: run.allows_after(EmptyText(), verdict)) == on_error
    for other in (Rewrite(ASK), "yes", None):
        assert not run.allows_before(other)
        assert not run.allows_after({"x": 0}, other)


def test_what_a_hook_must_not_refuse_it_does_not_refuse_by_failing_either() -> None:
    def fails(*_: object) -> Any:
        raise Raised

    def came_of(run: StepRun) -> Any:
        hooks = Interceptors((Interceptor("h", "step", after=fails, on_raise="fail"),))
        return run_after(hooks, ("h",), run, {"x": 0})[0]

    assert came_of(run_of(PLAIN)) == StepFailed("s", "refused", 0)
    assert came_of(run_of(COMMIT)) == came_of(run_of(PLAIN, never_ends=True)) == {"x": 0}
    endless = run_of(PLAIN, never_ends=True)
    assert run_before([Interceptor("h", "step", fails, on_raise="fail")], endless).result is None


def test_a_step_has_no_request_that_could_be_another() -> None:
    with pytest.raises(AssertionError):
        run_of(PLAIN).rewrite(ASK)

"""Export: a recorded failure as a plain test of umi_core, without simulator, scenario or seed.

Law 1. The test gives one memory the inputs that it had in the run, and imports umi_core alone. For a failure
       it compares each reply, and all effects of the last step; for a run that passes, all effects.
Law 2. The test fails with the planted bug of the record and passes without it. For a bug that was not planted
       the right effects are unknown, so the test only demands that the last step differs from the wrong one.
Law 3. A failure that shows in no effect, reply or rendering of one memory is not exported (CannotShow).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, Final, ParamSpec

from msgspec import structs

from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.memory import Memory
from umi_core.messages.answers import Value
from umi_core.messages.effects import Effect, Reply
from umi_core.messages.requests import (
    Blocks,
    Bytes,
    CoreBytes,
    Get,
    LastRoutingDecisions,
    Len,
    Render,
    Request,
    SaveSession,
    Set,
)
from umi_core.tiers.session import RESERVED
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.inspector import Inspector
from umi_sim.kernel.literals import INDENT, LiteralWriter, Parts, comment, number, statement
from umi_sim.machines.protocol import Machine
from umi_sim.machines.umi import memory_of
from umi_sim.mutants import plant_mutant
from umi_sim.record import fingerprint
from umi_sim.record.broken import Broken
from umi_sim.record.rules import rule_named
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import begin_run, finish_run
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.files import SeedFile
from umi_sim.services.storage import SimStorage

P = ParamSpec("P")
PROBES: Final[tuple[Request, ...]] = (
    Render("probe"), Render("probe", "markdown"), Blocks("probe"), CoreBytes("probe"), Len("probe"),
    Bytes("probe"), LastRoutingDecisions("probe"),
)  # fmt: skip


JUDGING: Final = (
    "observe_request",
    "woken",
    "observe_answer",
    "observe_reply",
    "observe_step",
    "observe_crash",
    "end_incarnation",
    "check",
)


class CannotShow(ValueError):
    """A failure that a plain test of one memory cannot show; the message is one line."""


class Input(Data):
    """An input of a memory; `place` is its number among the inputs of all memories of the run."""

    place: int
    now_ms: int
    value: Value


class ExportedMemory(Owner):
    """One incarnation of a memory, with all its inputs."""

    agent: str
    number: int
    scope: Scope
    config: Config
    inputs: list[Input] = []
    effects: list[tuple[Effect, ...]] = []  # of each input, except one that raised an exception

    def is_like(self, seen: Sequence["InputEffects"]) -> bool:
        """Return True if a repetition had the same effects: not if the run changed workflows midway."""
        # `self.effects` may be one shorter, because the input at which the run failed has no effects.
        return all(it.effects == effects for it, effects in zip(seen, self.effects, strict=False))


class InputEffects(Data):
    """The effects of one input and the deadline after it, or `raised`, the exception."""

    effects: tuple[Effect, ...] = ()
    deadline_ms: int | None = None
    raised: str = ""


class ExportedTest(Data):
    """One test function: the inputs in order, each with its expected effects.

    `unlike`: the effects of the last input are wrong ones, and the test demands others. `is_raised`: the last
    input raises. `deadline_ms`: the expected deadline after the last input, if `has_deadline`.
    """

    life: ExportedMemory
    steps: Sequence[tuple[int, Value, tuple[Effect, ...]]]
    unlike: bool = False
    is_raised: bool = False
    has_deadline: bool = False
    deadline_ms: int | None = None


class InputListener(Inspector):
    """An inspector that records the inputs of every memory, and whether a reply is being judged.

    A deaf listener ignores broken promises, so that the run continues until the bug shows in an effect.
    """

    def __init__(self, config: RunConfig, *, is_deaf: bool = False) -> None:
        super().__init__(config)
        self.lives: list[ExportedMemory] = []
        self.is_judging = False
        self._current: dict[str, ExportedMemory] = {}
        self._place = 0
        self._judging = partial(suppress, Broken) if is_deaf else nullcontext
        # Instance attributes shadow the methods, so that each call of a judge goes through `judge_quietly`.
        for name in JUDGING:
            setattr(self, name, self._wrap_judge(getattr(self, name)))

    def _wrap_judge(self, judge: Callable[P, object]) -> Callable[P, Any]:
        """Return the judge, wrapped so that a deaf listener drops its Broken exceptions."""

        def judge_quietly(*args: P.args, **named: P.kwargs) -> object:
            answer: object = None
            with self._judging():
                answer = judge(*args, **named)
            return answer  # noqa: RET504  # None if a deaf listener suppressed Broken

        return judge_quietly

    def stepping(self, agent: str, machine: Machine, value: Value, reading_ms: int) -> None:
        memory = memory_of(machine)
        assert memory is not None
        # Before its first step a memory is `new`: the agent's first incarnation, or one after a restart.
        if memory.state.phase == "new":
            life_count = sum(life.agent == agent for life in self.lives)
            life = ExportedMemory(agent, life_count + 1, memory.state.scope, memory.state.config)
            self._current[agent] = life
            self.lives.append(life)
        self._current[agent].inputs.append(Input(self._place, reading_ms, value))
        self._place += 1
        super().stepping(agent, machine, value, reading_ms)

    def observe_takeover(self, agent: str, old: str) -> None:
        # The old incarnation continues under another name ("a~1") and
        # keeps its list of inputs; the next step of "a" is a new memory.
        self._current[old] = self._current[agent]
        super().observe_takeover(agent, old)

    def observe_reply(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None:
        self.is_judging = True
        super().observe_reply(agent, op_id, reply, reading_ms)
        self.is_judging = False

    def observe_step(
        self, agent: str, machine: Machine, storage: SimStorage, value: Value, effects: Sequence[Effect]
    ) -> None:
        self._current[agent].effects.append(tuple(effects))
        super().observe_step(agent, machine, storage, value, effects)


# The inputs of the memories of a run, and the expected effects.


def tests_of(seed: SeedFile) -> tuple[list[ExportedTest], Failure | None]:
    """Return the tests that show a recorded failure, and the present failure. Raises CannotShow."""
    if seed.config.target != PLAIN.target:
        raise CannotShow(f"it is a run of {seed.config.target}, and a test is of one memory: replay it")
    listener, failure = listen_to_run(seed)
    bug = seed.config.planted
    if bug is not None:
        # The first broken promise ends a run, often before the bug shows
        # in an effect; with a deaf listener the run continues.
        lives = listen_to_run(seed, is_deaf=True)[0].lives
        test = by_the_bug(listener.lives, bug) or by_the_bug(lives, bug)
        if test is None:
            raise CannotShow(why_not(lives, bug, seed.failure or failure))
        return [test], failure
    if failure is None:
        return [export_life(life) for life in until(listener.lives, seed)], None
    if seed.failure and fingerprint.of(failure) != seed.fingerprint:
        raise CannotShow(f"fails by {failure.rule} now and not by {seed.failure.rule} as recorded: replay it")
    return [by_the_end(listener, failure)], failure


def why_not(lives: Iterable[ExportedMemory], bug: str, failure: Failure | None) -> str:
    """Return the reason why no test of one memory shows a planted bug, as a user reads it."""
    if not all(does_same(life, bug) for life in lives):
        return "workflows change in the middle of this run, which a test of one memory cannot tell"
    seen_by = rule_named(failure.rule).seen_by if failure and failure.kind != "crash" else ""
    hidden = "is seen inside a memory, and nothing that it said in this run shows it; another seed may"
    how = {
        "equivalence": "is seen by comparing two memories, and a plain test has one",
        "inside": hidden,
    }.get(seen_by, "shows in no effect, reply or rendering of one memory in this run; another seed may")
    rule = f"{failure.rule} ({failure.rule_id}), broken by {bug}," if failure else bug
    return f"{rule} {how}"


def does_same(life: ExportedMemory, bug: str) -> bool:
    """Return True if a memory with the bug and the same inputs has the same effects as in the run."""
    with plant_mutant(bug, BUILT_IN):
        return life.is_like(list(live_again(life, make_memory(life, bug))))


def listen_to_run(seed: SeedFile, *, is_deaf: bool = False) -> tuple[InputListener, Failure | None]:
    """Repeat the run with a listener; return the listener, and the failure of the run, if any."""
    listener = InputListener(seed.config, is_deaf=is_deaf)
    with begin_run(seed.config, seed.items, inspector=listener) as live:
        return listener, finish_run(live)


def until(lives: Iterable[ExportedMemory], seed: SeedFile) -> list[ExportedMemory]:
    """Return the incarnations with their inputs up to the recorded failure."""
    if seed.failure is None:
        return list(lives)
    end = seed.failure.step
    cut = [structs.replace(life, inputs=[it for it in life.inputs if it.place < end]) for life in lives]
    return [life for life in cut if life.inputs]


def export_life(life: ExportedMemory) -> ExportedTest:
    """Return a test with all inputs of an incarnation."""
    seen = list(live_again(life, make_memory(life, None)))
    if not life.is_like(seen):
        raise CannotShow("its workflows change in mid-run, which a memory alone does not")
    return ExportedTest(
        life, [(each.now_ms, each.value, it.effects) for each, it in zip(life.inputs, seen, strict=True)]
    )


def by_the_end(listener: InputListener, failure: Failure) -> ExportedTest:
    """Return a test of the last input of the run, which raised an exception or caused a wrong reply."""
    life = max(listener.lives, key=lambda each: each.inputs[-1].place)
    # If a rule over state or storage failed, no effect of this memory is known to be wrong.
    if failure.kind != "crash" and not listener.is_judging:
        raise CannotShow(f"{failure.rule} is not seen in a reply")
    test = (
        export_life(structs.replace(life, inputs=life.inputs[:-1]))
        if len(life.inputs) > 1
        else ExportedTest(life, [])
    )
    # These are the wrong effects of the code at hand. The test asserts `!=`: the right ones are unknown.
    seen = list(live_again(life, make_memory(life, None)))[-1]
    last = life.inputs[-1]
    steps = [*test.steps, (last.now_ms, last.value, seen.effects)]
    return ExportedTest(life, steps, unlike=not seen.raised, is_raised=bool(seen.raised))


def live_again(life: ExportedMemory, memory: Memory) -> Iterator[InputEffects]:
    """Yield the effects of the same inputs in a new memory; if one raises, it is the last element."""
    for each in life.inputs:
        try:
            yield InputEffects(memory.step(each.now_ms, each.value), memory.deadline_ms())
        except Exception as error:
            yield InputEffects(raised=repr(error))
            return


# A planted bug, and the first input at which it shows.


def by_the_bug(lives: Sequence[ExportedMemory], bug: str) -> ExportedTest | None:
    """Return a test of the incarnation that shows the bug first; it expects the effects without the bug."""
    found = [test for life in lives if (test := first_sign(life, bug))]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def first_sign(life: ExportedMemory, bug: str) -> tuple[int, ExportedTest] | None:
    """Return the place of the first input at which a memory without the bug differs, and a test of it."""
    right, wrong = make_memory(life, None), make_memory(life, bug)
    with plant_mutant(bug, BUILT_IN):
        theirs = list(live_again(life, wrong))
    if not life.is_like(theirs):
        return None  # the run changes workflows midway
    steps: list[tuple[int, Value, tuple[Effect, ...]]] = []
    # Both memories get the inputs of the run with the bug; up to
    # the first difference a run without the bug has the same inputs.
    for each, ours, other in zip(life.inputs, live_again(life, right), theirs, strict=False):
        if ours.raised:
            return None  # only the bug leads to this input, which the code without it never meets
        steps.append((each.now_ms, each.value, ours.effects))
        if ours.effects != other.effects or other.raised:
            return each.place, ExportedTest(life, steps)
        # The effects are equal, but the memory asks to be woken at another time, which a test can compare.
        if ours.deadline_ms != other.deadline_ms:
            return each.place, ExportedTest(life, steps, has_deadline=True, deadline_ms=ours.deadline_ms)
    probe = find_probe(life, right, wrong, bug)
    return (life.inputs[-1].place, ExportedTest(life, [*steps, probe])) if probe else None


def make_memory(life: ExportedMemory, bug: str | None) -> Memory:
    """Make the memory of an incarnation before its first input, with this planted bug or none."""
    with plant_mutant(bug, BUILT_IN) as registry:
        return Memory(life.scope, life.config, registry)


def find_probe(
    life: ExportedMemory, right: Memory, wrong: Memory, bug: str
) -> tuple[int, Value, tuple[Effect, ...]] | None:
    """Find a request that the two memories answer differently, and the right effects; None without any.

    Reads come first because they change neither memory; SaveSession, which does, is the last one tried.
    """
    # A value may be wrong in the working tier although no input has read it, so each key is read here.
    keys = dict.fromkeys((*(it.value.key for it in life.inputs if isinstance(it.value, Set)), *RESERVED))
    now_ms = life.inputs[-1].now_ms
    for probe in (*PROBES, *(Get("probe", key) for key in keys), SaveSession("probe")):
        ours = right.step(now_ms, probe)
        with plant_mutant(bug, BUILT_IN):
            theirs = wrong.step(now_ms, probe)
        if ours != theirs:
            return now_ms, probe, ours
    return None


# The source text of a test file.


class ExportedFile(Data):
    """A test file: its text, its number of inputs, and a sentence that says when it fails."""

    text: str
    input_count: int
    shows: str


def source_of(seed: SeedFile) -> ExportedFile:
    """Return the test file for a seed file. Raises CannotShow, or Unwritable for a value without literal."""
    tests, failure = tests_of(seed)
    failure = seed.failure or failure
    writer = LiteralWriter(scope=tests[0].life.scope)
    writer.needs(Memory)
    body = [line for test in tests for line in function(test, writer, failure)]
    calls = [f"{INDENT}{name_of(test, failure)}()" for test in tests]
    run_plainly = ("", "", 'if __name__ == "__main__":', *calls)
    text = "\n".join([*heading(failure), *writer.head(), *body, *run_plainly, ""])
    return ExportedFile(text, sum(len(test.steps) for test in tests), shown_by(tests[-1], seed))


def heading(failure: Failure | None) -> Iterator[str]:
    yield '"""A run of umi_core as a plain test: what a memory was told, and what it must do.'
    yield ""
    if failure is not None:
        yield f"{failure.rule} ({failure.rule_id}), fingerprint {fingerprint.of(failure)}."
    yield "Written by `umi-sim export`; whatever was said stands in literals."
    yield "Run it with pytest, or as it is: a failure ends it with exit code 1."
    yield '"""'
    yield ""


def name_of(test: ExportedTest, failure: Failure | None) -> str:
    rule = re.sub("[^a-z0-9]+", "_", failure.rule.lower()) if failure else "a_run"
    return f"test_{rule}_{test.life.agent}_{test.life.number}"


def function(test: ExportedTest, writer: LiteralWriter, failure: Failure | None) -> Iterator[str]:
    config = [("", writer.call(test.life.config))] if test.life.config != Config() else []
    yield from ("", "", f"def {name_of(test, failure)}() -> None:")
    yield from statement("memory = ", Parts("Memory(", [("", "SCOPE"), *config], ")"), "", INDENT)
    last = len(test.steps) - 1
    for index, (now_ms, value, effects) in enumerate(test.steps):
        call = Parts("memory.step(", [("", number(now_ms)), ("", writer.node(value))], ")")
        # A fix may change ids and prompts in effects of earlier steps, so only replies are compared (law 1).
        if failure is not None and index < last and not is_reply(effects):
            yield from statement("", call, "", INDENT)
            continue
        yield ""
        if index == last and failure is not None:
            yield from (f"{INDENT}# {comment(line)}" for line in describe_failure(failure))
        if index == last and test.is_raised:
            yield from statement("", call, "", INDENT)
            continue
        yield from statement("effects = ", call, "", INDENT)
        sign = "!=" if index == last and test.unlike else "=="
        yield from statement(f"assert effects {sign} ", writer.node(effects), "", INDENT)
    if test.has_deadline:
        assertion = "is None" if test.deadline_ms is None else f"== {number(test.deadline_ms)}"
        yield f"{INDENT}assert memory.deadline_ms() {assertion}"


def is_reply(effects: Sequence[Effect]) -> bool:
    return bool(effects) and all(isinstance(effect, Reply) for effect in effects)


def describe_failure(failure: Failure) -> Iterator[str]:
    yield f"{failure.rule}: {failure.message}"
    if failure.expected:
        yield f"expected  {failure.expected}"
    if failure.got:
        yield f"got       {failure.got}"


def shown_by(test: ExportedTest, seed: SeedFile) -> str:
    """Return a sentence that says when the test fails."""
    if seed.config.planted is not None:
        return f"fails while {seed.config.planted} is planted, passes without it"
    if test.is_raised:
        return "fails on the code at hand, where its last step raises"
    if test.unlike:
        return "fails on the code at hand; what is right at its last step is for you to write"
    return "passes on the code at hand, fails where an effect is another one"

"""Compares our judges with independent ones, on histories of stores with and without mistakes.

    git clone https://github.com/anishathalye/porcupine
    .venv/bin/python -m tools.outside_judges porcupine

Each number makes one run of one store: of tools/outside/stores.py, or of the working tier of a memory. Our
judge judges the run, and its history is exported (umi_sim/record/history.py). Porcupine checks each history.
Histories of at most SMALL operations, and those of the working tier, which has no concurrency, are also
checked by trying every order (tools/outside/models.py). If our judge refuses a run, the others must refuse
its history, and accept the history without its last answers.

A disagreement is explained if it disappears when the other judges also check the laws by which our contracts
promise more than linearizability (LAWS, and docs/targets.md). Status 1 if one is not explained. The argument
is a checkout of Porcupine, which is built with Go, or a program built from tools/outside/porcupine.go.
Without it, only small histories are checked.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import structs

from tools.outside.models import Law, Operation, is_linearizable, operations
from tools.outside.stores import BUGS, OneRow, OneRowKv, OneRowSessions, store_with
from umi_core.data import Data, Owner
from umi_core.messages.answers import Value
from umi_core.messages.effects import Done, Effect, Reply
from umi_core.messages.requests import WORKING as WORKING_REQUESTS
from umi_core.messages.requests import request_name
from umi_core.workflows import BUILT_IN
from umi_sim.kernel.prng import Stream
from umi_sim.machines.protocol import InitialStorage, Machine
from umi_sim.machines.table import target_of as chosen
from umi_sim.machines.umi import UmiMachine, UmiTarget
from umi_sim.record.history import HistoryEvent, write_history
from umi_sim.record.rules import ERROR_SAYS_IT, INSIDE, RULES, TTL_RANGE
from umi_sim.record.run_config import RunConfig
from umi_sim.record.saved_failures import write_whole
from umi_sim.runs.history import HistoryInspector
from umi_sim.runs.runner import TargetOf, run_once
from umi_sim.scenario.files import draw, find
from umi_sim.targets.drawing import Moments, draw_items
from umi_sim.targets.history import history_of
from umi_sim.targets.hunt import moments_of
from umi_sim.targets.items import Item
from umi_sim.targets.life import run
from umi_sim.targets.model import CROWD

GO: Final = Path(__file__).resolve().parent / "outside" / "porcupine.go"
HISTORIES: Final = 10_000
SMALL: Final = 9  # operations
TOGETHER_MAX: Final = 3
ITEM_COUNT_MAX: Final = 14
Json = Any
Events = Sequence[Mapping[str, Json]]  # the events of an exported history
Checker = Callable[[str, Sequence[Operation], Mapping[str, Json]], bool]

LAWS: Final[Mapping[str, Law]] = {  # the first is linearizability alone; what explains most comes last
    "": Law(),
    "prompt": Law(is_prompt=True),
    "refusals": Law(are_refusals_answers=True),
    "prompt, refusals": Law(is_prompt=True, are_refusals_answers=True),
}


class JudgedHistory(Data):
    """A history, and the verdict of our judge.

    `before`: the number of events before the answers that it refuses; `rule`: the rule that it names.
    """

    number: int
    model: str
    bug: str
    events: Events
    is_accepted: bool
    before: int = 0
    flags: Mapping[str, Json] = {}
    rule: str = ""

    def is_equal(self, checker: Checker, law: Law) -> bool:
        """Return True if a checker agrees with our judge about this history."""
        if checker(self.model, operations(self.events, law), self.flags) != self.is_accepted:
            return False
        known = operations(self.events[: self.before], law)
        return self.is_accepted or checker(self.model, known, self.flags)


# Runs of stores.

STORES: Final[Mapping[str, type[OneRow]]] = {"kv": OneRowKv, "sessions": OneRowSessions}
NOT_ANSWERS: Final = (
    "hang",
    "invariant",
    "process",
    ERROR_SAYS_IT.name,
)  # no history shows violations


@cache
def store_and_moments(model: str, bug: str) -> tuple[type[OneRow], Moments]:
    store = store_with(STORES[model], bug)
    return store, moments_of(store)


def run_store(
    model: str, bug: str, number: int, item_count_max: int = ITEM_COUNT_MAX
) -> JudgedHistory | None:
    """Judge one run of a store; return None if it ended for a reason that no history shows."""
    store, moments = store_and_moments(model, bug)
    items = [item for item in draw_items(store, number, moments) if not is_crowd(item)]
    items = put_together(items[:item_count_max], Stream(number, "outside", "together"))
    verdict = run(store, items, number)
    if verdict.broken is not None and verdict.broken.rule in NOT_ANSWERS:
        return None
    is_given_up = verdict.broken is None and len(verdict.steps) < len(items)
    if is_given_up:  # too many states were possible, so the last step was not judged
        verdict = structs.replace(verdict, steps=verdict.steps[:-1])
    before = len(history_of(structs.replace(verdict, steps=verdict.steps[: verdict.ended_at])))
    events, rule = exported(history_of(verdict)), verdict.broken.rule if verdict.broken else ""
    return JudgedHistory(number, model, bug, events, verdict.broken is None, before, rule=rule)


def is_crowd(item: Item) -> bool:
    """Return True if an item fills a place with more than a page, which each judge takes seconds to check."""
    return any(isinstance(it, list | dict) and len(it) >= CROWD for op in item.ops for it in op.args.values())


def put_together(items: Sequence[Item], chance: Stream) -> list[Item]:
    """Make two in three of consecutive operations concurrent."""
    found: list[Item] = []
    for item in items:
        last = found[-1] if found else item
        is_next = item.kind == "op" and last.kind in ("op", "at_once") and len(last.ops) < TOGETHER_MAX
        if found and is_next and chance.chance(2, 3):
            found[-1] = Item("at_once", (*last.ops, *item.ops), last.number or chance.word() >> 2)
        else:
            found.append(item)
    return found


def exported(events: Sequence[HistoryEvent]) -> Events:
    """Return the events as read from the exported lines."""
    return [json.loads(line) for line in write_history(events, ".jsonl").splitlines()]


# Runs of the working tier.

WORKING_BUGS: Final = (
    "", "", "", "lies", "lies", "ttl-zero-is-forever", "incr-shortens-life", "clock-back-revives",
    "lenient-counter-text", "expired-together-count-once", "space-in-characters", "leap-not-believed",
    "overslept-is-on-time", "get-alive-at-expiry",
)  # fmt: skip
WORKING: Final = {
    "workload.operations": "[4, 80]", "workload.adversarial": "1/8", "memory.auto_populate": "false",
    "run.equivalences": "[]",
}  # fmt: skip
STEPS_MAX: Final = 5_000  # some mistakes make a memory ask forever
LIMITS: Final = {
    "default_ttl_ms": "working_ttl_ms_default", "bytes_max": "working_bytes_max",
    "entry_count_max": "working_entry_count_max",
}  # fmt: skip
TIER: Final = (*map(request_name, WORKING_REQUESTS), "crash")
OFF: Final = tuple(
    rule.name for rule in RULES if rule.seen_by == INSIDE and rule.can_be_off and rule != TTL_RANGE
)


class LyingMachine(UmiMachine):
    """A memory that gives one wrong answer."""

    left: int
    stream: Stream

    def step(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        return tuple(map(self.reply, super().step(now_ms, value)))

    def reply(self, effect: Effect) -> Effect:
        if not isinstance(effect, Reply) or not isinstance(effect.outcome, Done):
            return effect
        self.left -= 1
        others = list_others(effect.outcome.value) if self.left == 0 else ()
        return structs.replace(effect, outcome=Done(self.stream.pick(others))) if others else effect

    def make_copy(self) -> None:
        """Return no copy, because it would give no wrong answer."""


def list_others(value: object) -> tuple[object, ...]:
    match value:
        case bool():
            return (not value,)
        case int():
            return value - 1, value + 1
        case bytes():
            return None, b"", value + b"1"
    return ()


class LyingTarget(UmiTarget):
    def __init__(self, config: RunConfig, stream: Stream) -> None:
        super().__init__(config, BUILT_IN)
        self.stream = stream

    def begin(self, agent: str, scope: Any, stored: InitialStorage) -> LyingMachine:
        machine = LyingMachine(scope, self.config_of(agent, ()), self.registry)
        machine.left, machine.stream = self.stream.between(1, 20), self.stream
        return machine


class ReplyInspector(HistoryInspector):
    """An inspector that records whether it has judged a reply to be wrong."""

    is_judging_reply = False

    def stepping(self, agent: str, machine: Machine, value: Value, reading_ms: int) -> None:
        self.is_judging_reply = False
        super().stepping(agent, machine, value, reading_ms)

    def observe_reply(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None:
        self.is_judging_reply = True
        super().observe_reply(agent, op_id, reply, reading_ms)
        self.is_judging_reply = False


def run_working(bug: str, number: int) -> JudgedHistory | None:
    """Judge one run of the working tier by its replies; return None if it ended for another reason."""
    config = structs.replace(draw(find("working"), number, WORKING), off=OFF)
    target_of: TargetOf = chosen
    if bug == "lies":
        stream = Stream(number, "outside", "lies")
        target_of = lambda *_: LyingTarget(config, stream)  # noqa: E731
    elif bug:
        config = structs.replace(config, planted=bug)
    inspector = ReplyInspector(config)
    verdict, _ = run_once(config, inspector=inspector, target_of=target_of, step_max=STEPS_MAX)
    failure = verdict.failure
    events = exported(inspector.log.events)
    of_tier = [event for event in events if event["f"] in TIER]
    is_answer = inspector.is_judging_reply and events[-1] in of_tier
    if failure and (failure.rule in NOT_ANSWERS or not is_answer):
        return None
    flags = {flag: config.memory[setting] for flag, setting in LIMITS.items()}
    rule = failure.rule if failure else ""
    return JudgedHistory(number, "working", bug, of_tier, not failure, len(of_tier) - 2, flags, rule)


def run_number(number: int) -> JudgedHistory | None:
    """Judge the run of this number."""
    chance = Stream(number, "outside")
    model = ("kv", "sessions", "working")[number % 3]
    if model == "working":
        return run_working(chance.pick(WORKING_BUGS), number)
    bugs = [name for name in BUGS if name and (model == "kv" or name != "lasting")]
    return run_store(model, chance.pick(bugs) if chance.chance(2, 3) else "", number)


# The other judges.


class NoVerdict(Exception):
    """A checker has not finished within its time."""


@contextmanager
def porcupine(place: Path) -> Iterator[Checker]:
    """Start Porcupine: a program, or a checkout of its source, which is built with Go."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(place, Path(folder)) if place.is_dir() else place
        with subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            given, output = child.stdin, child.stdout

            def check(model: str, ops: Sequence[Operation], flags: Mapping[str, Json]) -> bool:
                history = {"model": model, "flags": flags, "ops": [msgspec.to_builtins(op) for op in ops]}
                print(json.dumps(history), file=given)
                verdict = output.readline().strip()
                if verdict == "Unknown":
                    raise NoVerdict
                if verdict not in ("Ok", "Illegal"):
                    raise RuntimeError(f"Porcupine says {verdict or 'nothing'} of {history}")
                return verdict == "Ok"

            yield check
            given.close()


def build(checkout: Path, folder: Path) -> Path:
    """Build the program of porcupine.go against a checkout. Raises CalledProcessError."""
    shutil.copy(GO, folder / "main.go")
    needed = "github.com/anishathalye/porcupine"
    (folder / "go.mod").write_text(
        f"module judge\ngo 1.16\nrequire {needed} v0.0.0\nreplace {needed} => {checkout.resolve()}\n"
    )
    subprocess.run(["go", "build", "-o", "judge", "."], cwd=folder, check=True)
    return folder / "judge"


# The comparison.


class Comparison(Owner):
    """The results of all histories.

    `rows`: counts by store and mistake. `disagreements`: runs by law, store and mistake.
    """

    checker: Checker | None
    folder: Path | None
    rows: dict[tuple[str, str], Counter[str]] = msgspec.field(default_factory=lambda: defaultdict(Counter))
    disagreements: dict[tuple[str, str, str], list[str]] = msgspec.field(
        default_factory=lambda: defaultdict(list)
    )
    small_count: int = 0

    def take(self, history: JudgedHistory | None) -> None:
        """Check a history with all checkers, and count the result."""
        if history is None:
            self.rows["(left out: ended for a reason that is no answer)", ""]["histories"] += 1
            return
        count = sum(event["type"] == "invoke" for event in history.events)
        is_small = count <= SMALL or history.model == "working"  # that has only one order
        checkers = [*([self.checker] if self.checker else []), *([is_linearizable] if is_small else [])]
        try:
            law = find_law(history, checkers)
        except NoVerdict:
            self.rows["(left out: Porcupine takes more than a minute)", ""]["histories"] += 1
            return
        verdict = "accepted" if history.is_accepted else "refused"
        verdict = verdict if law == "" else "UNEXPLAINED" if law is None else "explained"
        self.rows[history.model, history.bug].update(["histories", verdict])
        self.small_count += is_small
        if law != "":
            key = law or verdict, history.model, history.bug
            self.disagreements[key].append(f"{history.number} {history.rule or 'accepted'}")
            self.write(history)

    def write(self, history: JudgedHistory) -> None:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            lines = "".join(f"{json.dumps(event)}\n" for event in history.events)
            write_whole(self.folder / f"{history.number}.jsonl", lines.encode())

    def lines(self) -> Iterator[str]:
        """Yield the table, and each disagreement: the number of the run, and the rule of our judge."""
        columns = ("histories", "accepted", "refused", "explained", "UNEXPLAINED")
        yield f"{'store':50}" + "".join(f"{name:>12}" for name in columns)
        total = sum(self.rows.values(), Counter[str]())
        for (model, bug), row in [*sorted(self.rows.items()), (("all", ""), total)]:
            yield f"{f'{model} {bug}':50}" + "".join(f"{row[name]:12,}" for name in columns)
        note = "were also checked in every order: those of the working tier, and small ones"
        yield f"{self.small_count:,} {note}"
        for (law, model, bug), numbers in sorted(self.disagreements.items()):
            yield f"\n{law}: {model} {bug}: {len(numbers)}"
            yield f"  {', '.join(numbers)}"


def find_law(history: JudgedHistory, checkers: Sequence[Checker]) -> str | None:
    """Return the first law under which all checkers agree with our judge; None if there is none."""
    for name, law in LAWS.items():
        if all(history.is_equal(checker, law) for checker in checkers):
            return name
    return None


def main() -> int:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("porcupine", nargs="?", type=Path, help="a checkout, or a program")
    parser.add_argument("--histories", type=int, default=HISTORIES, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write each disagreement there")
    options = parser.parse_args()
    if options.porcupine is not None and not options.porcupine.exists():
        parser.error(f"{options.porcupine}: there is no such checkout or program")
    with ExitStack() as stack:
        checker = stack.enter_context(porcupine(options.porcupine)) if options.porcupine else None
        comparison = Comparison(checker, options.write)
        pool = stack.enter_context(ProcessPoolExecutor(options.jobs))
        numbers = range(options.first, options.first + options.histories)
        for done, history in enumerate(pool.map(run_number, numbers, chunksize=20), 1):
            comparison.take(history)
            if done % 500 == 0:
                print(f"{done:,} of {len(numbers):,} histories", file=sys.stderr)
    print(*comparison.lines(), sep="\n")
    return int("UNEXPLAINED" in {law for law, _, _ in comparison.disagreements})


if __name__ == "__main__":
    sys.exit(main())

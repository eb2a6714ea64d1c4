"""Words: what anything on the screen means, be it a rule, a fault, a planted bug, a mark, or any other word.

Law 1. A page is composed from the glossary, the registries and the code, so it cannot become outdated.
Law 2. The command that shows a rule finding a bug was run before it is printed.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from shlex import join
from typing import Any, Final

from umi_core.codec import DECODERS
from umi_core.config import OPTIONS, Config
from umi_core.data import Data
from umi_core.engine.workflow import Degrade
from umi_core.messages.requests import REQUESTS
from umi_core.workflows import WORKFLOWS
from umi_sim.explain.calls import HANG
from umi_sim.explain.glossary import meanings
from umi_sim.faults.kinds import CLASSES, KINDS, FaultKind
from umi_sim.kernel import folders
from umi_sim.kernel.progress import at
from umi_sim.kernel.report import BLANK, Report, ReportRow, as_object, list_row, row, under, whole
from umi_sim.kernel.wording import plural
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS, OF_TESTS
from umi_sim.record.exit_codes import CODES
from umi_sim.record.rules import ALSO, HARNESS, RULES, Rule, rule_named
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import run_once
from umi_sim.scenario import files as scenario

NO_CHECKS: Final = re.compile(r"umi_sim/(mutants|record/rules|explain)")  # these only speak of rules
CONSTANT: Final = re.compile(r"\brules\.([A-Z_]+)")  # as a check names its rule
PROMISE: Final = re.compile(r'\bRequirement\([^"]*"([a-z-]+)"')  # as umi_core.state_checks names it
PLACE_COUNT_MAX: Final = 4
BUG_COUNT_MAX: Final = 12
SEEN_RATE: Final = "1/4"
BITE_SEED_COUNT: Final = 12
BITE_RUN_COUNT_MAX: Final = 24
BITE_STEP_COUNT_MAX: Final = 1_500

SEEN: Final = {
    "oracle": "from outside: by what was asked, answered and replied",
    "inside": "inside: in the plain data of the memory and of storage",
    "equivalence": "by two ways that must meet",
    "test": "by tests alone, never in a run",
    "harness": "by the simulator about itself",
}
WHEN: Final = {"cheap": "at each step or reply", "full": "now and then, at a restart and at the end"}


class UnknownName(KeyError):
    """No page has this name."""


class Bite(Data):
    """A run in which a rule finds a bug: its command, and the failure."""

    command: str
    failure: Failure


ExplainedPage = tuple[str, str, Sequence[ReportRow]]
"""The title of a page, the meaning, and its rows."""


def page(name: str) -> Report:
    """Return one screen about a word, a name, or the id of a rule. Raises UnknownName."""
    kind, known_as = look_up(name)
    title, means, rows = PAGES[kind][1](known_as)
    value = {"word": known_as, "kind": kind, "means": means, **as_object(rows)}
    return Report(f"{title}: {means}", rows, lambda: value)


def look_up(name: str) -> tuple[str, str]:
    """Return the kind of thing that has this name, and its spelling there. Raises UnknownName."""
    names_of = {kind: known() for kind, (known, _) in PAGES.items()}  # once: some are read from files
    # Spellings in the outer loop, kinds in the inner one: an exact
    # match of any kind takes precedence over an approximate match.
    for each in spellings(name):
        for kind, known_names in names_of.items():
            if each in known_names:
                return kind, each
    raise UnknownName(name)


def spellings(name: str) -> Iterator[str]:
    """Yield the spellings to try: the name, other letter case, singular or plural, and its general form."""
    before, _, after = re.sub(r"\([0-9]+\)$", "", name).rpartition(":")  # pct(5), route:partial
    first = re.sub("[0-9]+$", "1", name)  # o12 is explained like o1
    for each in (name, after.strip(), before.strip(), before.partition(".")[2], first):
        yield from (each, each.lower(), each.upper(), each.replace("_", " "))
        yield from (each.removesuffix("s"), f"{each}s")


def names() -> Iterator[str]:
    """Yield every name that has a page."""
    for known, _ in PAGES.values():
        yield from known()


def all_rules() -> Report:
    """List all rules, a line each, and the number of other names with a page."""
    value = [
        {"rule": it.name, "id": it.id, "promises": it.statement, "checked": it.is_checked} for it in RULES
    ]
    notes = ["" if it.is_checked or it.seen_by == HARNESS else " (by tests)" for it in RULES]
    rows = [
        row(it.name, f"{it.id:16} {it.statement}{note}", column=28)
        for it, note in zip(RULES, notes, strict=True)
    ]
    others = ", ".join(f"{len(known())} {kind}s" for kind, (known, _) in PAGES.items() if kind != "rule")
    rest = row("", f"and {others}: umi-sim explain WORD", column=0)
    return Report("", (*rows, rest), lambda: value)


# Rules.


def about_rule(name: str) -> ExplainedPage:
    rule = rule_named(name)
    bugs, bite = bugs_of(rule), bite_of(rule)
    rows = [
        row("seen", ", ".join(filter(None, (SEEN[rule.seen_by], WHEN.get(rule.cost, ""))))),
        list_row("checked", places(rule.name) or [nowhere(rule)]),
        whole("page", rule.page),
        list_row("faults", guarding(rule) or ["no kind of fault is meant for it"]),
        *under("bugs", bug_rows(bugs)),
    ]
    if bite is not None:
        rows += [BLANK, whole("bites", bite.command), row("", f"FAIL {bite.failure.kind} {rule}")]
    elif bugs:
        rows += [BLANK, whole("bites", f"umi-sim mutants {bugs[0].name}")]
    return str(rule), rule.statement, rows


def nowhere(rule: Rule) -> str:
    if rule.seen_by == HARNESS:
        return "by every sweep: docs/sweeps.md"
    return "in tests: no run can break it"


def bugs_of(rule: Rule) -> list[Mutant]:
    """Return the planted bugs that this rule may find, beginning with those that it should find first."""
    found = [bug for bug in MUTANTS.values() if rule.name in bug.rules]
    return sorted(found, key=lambda bug: bug.rules.index(rule.name))


def bug_rows(bugs: Sequence[Mutant]) -> Iterator[ReportRow]:
    if not bugs:
        yield row("", "no planted bug breaks it")
    for bug in bugs[:BUG_COUNT_MAX]:
        yield row("", f"{bug.name:34} {bug.behaviour}", hang=HANG)
    if len(bugs) > BUG_COUNT_MAX:
        yield row("", f"and {len(bugs) - BUG_COUNT_MAX} more: umi-sim mutants --list")


def guarding(rule: Rule) -> list[str]:
    """Return the kinds of faults that test this rule."""
    return [kind.name for kind in KINDS.values() if rule.id in kind.guards]


def places(name: str) -> list[str]:
    """Return the first few places in the code that check a rule, as file:line."""
    found = mentions().get(name, [])
    more = [f"{len(found) - PLACE_COUNT_MAX} more"] if len(found) > PLACE_COUNT_MAX else []
    return found[:PLACE_COUNT_MAX] + more


@cache
def mentions() -> Mapping[str, list[str]]:
    """Return every line that may check a rule, by the name of the rule."""
    named = {rule.name.upper().replace("-", "_"): rule.name for rule in RULES}
    found: dict[str, list[str]] = {}
    for path in sorted(
        path for package in ("umi_core", "umi_sim") for path in (folders.PROJECT / package).rglob("*.py")
    ):
        place = path.relative_to(folders.PROJECT).as_posix()
        lines = [] if NO_CHECKS.match(place) else path.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            constants = [named.get(name, "") for name in CONSTANT.findall(line)]
            for name in constants + PROMISE.findall(line):
                found.setdefault(name, []).append(f"{place}:{number}")
    return found


def bite_of(rule: Rule) -> Bite | None:
    """Find the first of a few runs in which the rule finds a planted bug; None if none of them does."""
    # Each bug with seed 0, then each with seed 1: a bug that this rule seldom finds does not use up all runs.
    tries = [(bug, seed) for seed in range(BITE_SEED_COUNT) for bug in bugs_of(rule)]
    at(f"looking for a run that breaks {rule.name}")
    found = (bite(bug, seed) for bug, seed in tries[:BITE_RUN_COUNT_MAX])
    return next((it for it in found if it is not None and it.failure.rule == rule.name), None)


def bite(bug: Mutant, seed: int) -> Bite | None:
    setting = {"scenario.mutant": bug.name, **bug.overrides}
    config = scenario.draw(scenario.find(bug.scenario), seed, setting)
    verdict, _ = run_once(config, step_max=BITE_STEP_COUNT_MAX)
    # A timeout only means that the run reached the limit of this search, BITE_STEP_COUNT_MAX.
    if verdict.failure is None or verdict.failure.kind == "timeout":
        return None
    given = [part for key, value in setting.items() for part in ("--set", f"{key}={value}")]
    return Bite(join(["umi-sim", "run", bug.scenario, "--seed", str(seed), *given]), verdict.failure)


# Everything else.


def about_word(name: str) -> ExplainedPage:
    means, _, more = meanings()[name].partition(". ")
    return name, means.removesuffix("."), [row("", more, column=0)] if more else []


def about_fault(name: str) -> ExplainedPage:
    kind = KINDS[name]
    rows = [
        row("class", f"{kind.fault_class}: {CLASSES[kind.fault_class]}"),
        row("place", place_of(kind)),
        list_row("guards", [str(rule_named(each)) for each in kind.guards]),
        list_row("shows", [bug.name for bug in MUTANTS.values() if bug.kind == name]),
        whole("page", "docs/faults.md"),
        BLANK,
        whole("see it", join(["umi-sim", "run", "all_faults", "--seed", "0", *seen_alone(kind.name)])),
    ]
    return name, kind.what, rows


def seen_alone(kind: str) -> list[str]:
    """Return the options of a run in which this fault, and no other, occurs often."""
    pinned = f"scenario.swarm.pin.kind={kind}"
    return ["--mode", "one_kind", "--set", pinned, "--set", f"faults.{kind}={SEEN_RATE}"]


def place_of(kind: type[FaultKind]) -> str:
    service, _, verb = kind.place.name.partition(".")
    return f"any call of {service}" if verb == "any" else kind.place.name


def about_bug(name: str) -> ExplainedPage:
    if name in OF_TESTS:
        return about_bug_of_tests(name)
    bug = MUTANTS[name]
    among = f", with {bug.kind} as the only fault" if bug.kind else ""
    rows = [
        row("area", bug.area),
        list_row("found by", [str(rule_named(each)) for each in bug.rules]),
        row("within", f"{plural(bug.seeds_max, 'seed')} of {bug.scenario}{among}"),
        BLANK,
        whole("see it", f"umi-sim mutants {name}"),
    ]
    return name, bug.behaviour, rows


def about_bug_of_tests(name: str) -> ExplainedPage:
    bug = OF_TESTS[name]
    test = f"tools/test tests/quality/test_mutants.py -k {name}"
    rows = [
        row("area", bug.area),
        whole("found by", bug.detected_by),
        whole("page", "docs/scenarios.md"),
        BLANK,
        whole("see it", test),
    ]
    return name, bug.behaviour, rows


def about_mark(name: str) -> ExplainedPage:
    shares = (row("", f"{share} of the runs of {it}") for it, share in floors()[name])
    rows = [*under("floor", shares), whole("page", "docs/commands.md")]
    return name, "a rare place that a sweep must reach", rows


@cache
def floors() -> Mapping[str, list[tuple[str, str]]]:
    """Return, for each mark, the scenarios that require it and the share of runs that must reach it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in scenario.list_shipped().values():
        each = scenario.load(path)
        for mark, (n, d) in each.marks.items():
            found.setdefault(mark, []).append((each.id, f"{n}/{d}"))
    return found


def about_scenario(name: str) -> ExplainedPage:
    return name, f"a scenario. {scenario.find(name).title}", [whole("see it", f"umi-sim run {name}")]


def about_request(name: str) -> ExplainedPage:
    text = " ".join((REQUESTS[name].__doc__ or "").split("\n\n")[0].split())
    return name, f"a request to a memory. {text}", [whole("page", "docs/memory.md")]


def about_option(name: str) -> ExplainedPage:
    bounds = OPTIONS[name]
    allowed = "true or false" if bounds is None else f"from {bounds[0]} to {bounds[1]}"
    default = str(getattr(Config(), name)).lower()
    means = f"an option of a memory, {allowed}; {default} if nothing is said"
    return name, means, [whole("page", "docs/settings.md")]


@cache
def values() -> Mapping[str, type]:
    """Return the value classes of a memory by name, except names that already are words or requests."""
    found = {cls.__name__: cls for cls in DECODERS.values() if issubclass(cls, Data)}
    # A name has one page: `Remember` is the request of that name, not the class.
    return {name: cls for name, cls in found.items() if name.lower() not in {*meanings(), *REQUESTS}}


def about_value(name: str) -> ExplainedPage:
    cls: Any = values()[name]
    text = cls.__doc__ or getattr(cls, "sentence", "") or "what a memory is told or tells"
    means = " ".join(text.split("\n\n")[0].split()).removesuffix(".")
    return name, means, [list_row("holds", list(cls.__struct_fields__) or ["nothing"])]


@cache
def steps() -> Mapping[str, str]:
    """Return the steps of workflows, the reports of their parsers, and substitutes of failed steps."""
    found: dict[str, str] = {}
    for flow in WORKFLOWS:
        for step in flow.steps:
            asks = f"asks {step.effect.__name__}" if step.effect else "asks nothing"
            found[f"{flow.name}.{step.id}"] = f"a step of the workflow {flow.name}, which {asks}"
            found[f"{flow.name}.{step.id} reply"] = (
                f"what the parser said of a reply to {flow.name}.{step.id}"
            )
            # "extract:partial": as it stands in `degraded` of a reply.
            if (policy := step.on_failure) and isinstance(policy.then, Degrade):
                message = f"what the step {flow.name}.{step.id} makes do with when it fails"
                found[f"{step.id}:{policy.then.name}"] = message
    return found


def about_step(name: str) -> ExplainedPage:
    return name, steps()[name], [whole("page", "docs/spec/README.md")]


@cache
def rule_names() -> Sequence[str]:
    return [*(rule.name for rule in RULES), *(rule.id for rule in RULES), *ALSO]


EXIT_CODES: Final = {str(code): means for code, means in CODES.items()}
PAGES: Final[Mapping[str, tuple[Callable[[], Collection[str]], Callable[[str], ExplainedPage]]]] = {
    "word": (meanings, about_word), "rule": (rule_names, about_rule), "fault": (lambda: KINDS, about_fault),
    "planted bug": (lambda: MUTANTS | OF_TESTS, about_bug), "mark": (floors, about_mark),
    "scenario": (scenario.list_shipped, about_scenario), "request": (lambda: REQUESTS, about_request),
    "option": (lambda: OPTIONS, about_option), "workflow step": (steps, about_step),
    "value": (values, about_value),
    "exit code": (lambda: EXIT_CODES, lambda code: (code, EXIT_CODES[code], [])),
}  # fmt: skip

"""Explain: what a name on the screen means, whether it is a rule, a fault, a planted bug or a mark.

Law 1. What a page says is looked up in the registries and in the code; it cannot fall behind them.
Law 2. The command that shows a rule bite was run before it is printed.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from shlex import join
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.faults.kinds import CLASSES, KINDS, FaultKind
from umi_sim.judge.invariants import ALIASES, RULES, Rule, rule_named
from umi_sim.judge.invariants.rules import HARNESS
from umi_sim.kernel import folders
from umi_sim.kernel.wording import escaped, plural, row, rows
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import ELSEWHERE, MUTANTS
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import run_once
from umi_sim.scenario import files as scenario

NO_CHECKS: Final = re.compile(r"umi_sim/(mutants|invariants/rules|explain)")  # these only speak of rules
QUOTED: Final = re.compile('"([a-z-]+)"')
PLACE_COUNT_MAX: Final = 4
BUG_COUNT_MAX: Final = 12
NEAR_COUNT_MAX: Final = 3
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
    """Nothing is called that; the message names what is like it."""


@attrs.frozen
class Bite(Data):
    """A run in which a rule catches a bug: its command, and the failure."""

    command: str
    failure: Failure


def page(name: str) -> list[str]:
    """One screen about a name, or the id of a rule. Raises UnknownName."""
    for told in (rule_page, fault_page, bug_page, mark_page):
        found = told(name)
        if found:
            return [escaped(line) for line in found]
    raise UnknownName(f"{name}: no rule, fault, bug or mark has this name{near(name)}")


def near(name: str) -> str:
    ids = [*(rule.id for rule in RULES), *ALIASES]
    known = {each.lower(): each for each in (*names(), *ids)}
    close = difflib.get_close_matches(name.lower(), known, NEAR_COUNT_MAX)
    return f"; did you mean {' or '.join(known[each] for each in close)}?" if close else ""


def names() -> Iterator[str]:
    """Every name that has a page."""
    yield from (rule.name for rule in RULES)
    yield from KINDS
    yield from MUTANTS
    yield from floors()


def listed() -> Iterator[str]:
    """All rules, a line each, and what else has a page."""
    for rule in RULES:
        checked = "" if rule.is_checked or rule.seen_by == HARNESS else "   (not checked yet)"
        yield f"{rule.name:28} {rule.id:16} {rule.statement}{checked}"
    others = f"{len(KINDS)} faults (umi-sim faults), {len(MUTANTS)} planted bugs (umi-sim mutants)"
    yield f"and {others}, {len(floors())} marks (umi-sim marks)"


# Rules.


def rule_page(name: str) -> list[str]:
    known = {rule.name for rule in RULES} | {rule.id for rule in RULES} | set(ALIASES)
    if name not in known:
        return []
    rule = rule_named(name)
    bugs = bugs_of(rule)
    found = [
        f"{rule}: {rule.statement}",
        row("seen", ", ".join(filter(None, (SEEN[rule.seen_by], WHEN.get(rule.cost, ""))))),
        row("checked", ", ".join(places(rule.name)) or nowhere(rule)),
        row("page", "docs/invariants.md"),
        *rows("faults", ", ".join(guarding(rule)) or "no kind of fault is meant for it"),
        *bug_rows(bugs),
    ]
    bite = bite_of(rule)
    if bite is not None:
        told = f"FAIL {bite.failure.kind} {rule}"
        return [*found, "", row("bites", bite.command), row("", told)]
    if bugs:
        return [*found, "", row("bites", f"umi-sim mutants --only {bugs[0].name}")]
    return found


def nowhere(rule: Rule) -> str:
    if rule.seen_by == HARNESS:
        return "by every sweep: docs/sweeps.md"
    return "nowhere yet: nothing can break it in a run"


def bugs_of(rule: Rule) -> list[Mutant]:
    """The planted bugs that this rule may find; first those that it is the first to find."""
    found = [bug for bug in MUTANTS.values() if rule.name in bug.rules]
    return sorted(found, key=lambda bug: bug.rules.index(rule.name))


def bug_rows(bugs: Sequence[Mutant]) -> Iterator[str]:
    if not bugs:
        yield row("bugs", f"no planted bug breaks it{ELSEWHERE}")
    for number, bug in enumerate(bugs[:BUG_COUNT_MAX]):
        yield row("" if number else "bugs", f"{bug.name:34} {bug.behaviour}")
    if len(bugs) > BUG_COUNT_MAX:
        yield row("", f"and {len(bugs) - BUG_COUNT_MAX} more: docs/scenarios.md")


def guarding(rule: Rule) -> list[str]:
    """The kinds of faults that are there to try this rule."""
    return [kind.name for kind in KINDS.values() if rule.id in kind.guards]


def places(name: str) -> list[str]:
    """Where in the code a rule is demanded, as file:line; the first few."""
    found = mentions().get(name, [])
    more = [f"{len(found) - PLACE_COUNT_MAX} more"] if len(found) > PLACE_COUNT_MAX else []
    return found[:PLACE_COUNT_MAX] + more


@cache
def mentions() -> Mapping[str, list[str]]:
    """Every line that may check a rule, by the name of the rule."""
    named = {rule.name for rule in RULES}
    found: dict[str, list[str]] = {}
    for path in sorted(
        path for package in ("umi_core", "umi_sim") for path in (folders.PROJECT / package).rglob("*.py")
    ):
        place = path.relative_to(folders.PROJECT).as_posix()
        lines = [] if NO_CHECKS.match(place) else path.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            for name in QUOTED.findall(line):
                if name in named:
                    found.setdefault(name, []).append(f"{place}:{number}")
    return found


def bite_of(rule: Rule) -> Bite | None:
    """The first of a few runs in which the rule catches a planted bug; None if none of them does."""
    tries = [(bug, seed) for seed in range(BITE_SEED_COUNT) for bug in bugs_of(rule)]
    found = (bite(bug, seed) for bug, seed in tries[:BITE_RUN_COUNT_MAX])
    return next((it for it in found if it is not None and it.failure.rule == rule.name), None)


def bite(bug: Mutant, seed: int) -> Bite | None:
    setting = {"scenario.mutant": bug.name, **bug.overrides}
    config = scenario.draw(scenario.find(bug.scenario), seed, setting)
    verdict, _ = run_once(config, step_max=BITE_STEP_COUNT_MAX)
    if verdict.failure is None or verdict.failure.kind == "timeout":
        return None
    given = [part for key, value in setting.items() for part in ("--set", f"{key}={value}")]
    return Bite(join(["umi-sim", "run", bug.scenario, "--seed", str(seed), *given]), verdict.failure)


# Faults, bugs and marks.


def fault_page(name: str) -> list[str]:
    kind = KINDS.get(name)
    if kind is None:
        return []
    guards = [str(rule_named(each)) for each in kind.guards]
    return [
        f"{kind.name}: {kind.what}",
        row("class", f"{kind.fault_class}: {CLASSES[kind.fault_class]}"),
        row("strikes", place_of(kind)),
        *rows("guards", ", ".join(guards)),
        row("shows", ", ".join(bug.name for bug in MUTANTS.values() if bug.kind == name)),
        row("page", "docs/faults.md"),
        "",
        row("see it", join(["umi-sim", "run", "all_faults", "--seed", "0", *seen_alone(kind.name)])),
    ]


def seen_alone(kind: str) -> list[str]:
    """Options for a run with this fault alone, often."""
    pinned = f"scenario.swarm.pin.kind={kind}"
    return ["--mode", "one_kind", "--set", pinned, "--set", f"faults.{kind}={SEEN_RATE}"]


def place_of(kind: type[FaultKind]) -> str:
    service, _, verb = kind.place.name.partition(".")
    return f"any call of {service}" if verb == "any" else kind.place.name


def among(bug: Mutant) -> str:
    return f", with {bug.kind} as the only fault" if bug.kind else ""


def bug_page(name: str) -> list[str]:
    bug = MUTANTS.get(name)
    if bug is None:
        return []
    return [
        f"{bug.name}: {bug.behaviour}",
        row("area", bug.area),
        *rows("found by", ", ".join(str(rule_named(each)) for each in bug.rules)),
        row("within", f"{plural(bug.seeds_max, 'seed')} of {bug.scenario}{among(bug)}"),
        row("page", "docs/scenarios.md"),
        "",
        row("see it", f"umi-sim mutants --only {bug.name}"),
    ]


def mark_page(name: str) -> list[str]:
    wanted = floors().get(name)
    if wanted is None:
        return []
    return [
        f"{name}: a rare place that a sweep must reach",
        *(row("" if at else "floor", f"{told} of the runs of {it}") for at, (it, told) in enumerate(wanted)),
        row("page", "docs/marks.md"),
    ]


@cache
def floors() -> Mapping[str, list[tuple[str, str]]]:
    """The marks of all scenarios: in which, and in what share of its runs."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in scenario.shipped().values():
        each = scenario.load(path)
        for mark, (n, d) in each.marks.items():
            found.setdefault(mark, []).append((each.id, f"{n}/{d}"))
    return found

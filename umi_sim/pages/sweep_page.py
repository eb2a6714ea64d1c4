"""The page of a sweep: its runs, its failures, the rules that judged under each fault, and events reached.

Law 1. The page is a pure function of the outcome, like the report. The longest runs have the most steps.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final

from umi_sim.kernel.wording import plural
from umi_sim.pages import seed_page
from umi_sim.pages.page_data import text
from umi_sim.record.items import Fault
from umi_sim.record.rules import id_of, rule_named
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import BadSeedFile
from umi_sim.sweep import reached
from umi_sim.sweep.report import kinds_of, missed_line, repeat_of, report, shares
from umi_sim.sweep.totals import FOUND_COUNT_MAX, FoundFailure, SweepOutcome

RESULTS: Final = {"pass": "PASS", "fail": "FAIL", "interrupted": "STOPPED"}


def sweep_data(outcome: SweepOutcome, command: str, pages: Mapping[str, str]) -> dict[str, object]:
    """Return all data of the page. `command` repeats the sweep; `pages`: paths by fingerprint of failures."""
    totals = outcome.totals
    head = report(outcome).head.partition(" ")[2]
    known = {each.seed.fingerprint for each in outcome.kept if each.seed}
    shown = totals.in_order()[:FOUND_COUNT_MAX]
    return {
        "title": text(head), "repeat": text(command), "result": RESULTS[outcome.result],
        "facts": [[label, text(value)] for label, value in facts(outcome)],
        "failures": [
            failure(found, totals.hits[found.fingerprint], known, pages.get(found.fingerprint, ""))
            for found in shown
        ],
        "scenarios": list(scenarios(outcome)),
        "map": fault_map(outcome, shown),
        "marks": [[each.name, list(each.counts.items())] for each in parts(outcome)],
        "longest": [[name, str(seed), steps] for (name, seed), steps in totals.longest.items()],
        "injected": {kind: [totals.fired[kind], totals.without_effect[kind]] for kind in kinds(outcome)},
    }  # fmt: skip


def facts(outcome: SweepOutcome) -> Iterator[tuple[str, str]]:
    totals = outcome.totals
    yield "reached", ", ".join(shares(totals))
    yield "again", f"{plural(totals.gated, 'run')} again in another process, {len(totals.apart)} differ"
    if outcome.swept.bases:
        yield "fresh", f"from --base {', '.join(outcome.swept.bases)}"
    for each in outcome.missed:
        yield "missed", missed_line(each)
    for doubt in totals.doubts():
        yield "doubt", doubt
    for kept in outcome.still_failing:
        yield "earlier", f"still fails: umi-sim replay {kept.path.as_posix()}"


def failure_pages(outcome: SweepOutcome, folder: str) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield fingerprint, path and data of the page of each failure with a complete run."""
    for found in outcome.totals.in_order()[:FOUND_COUNT_MAX]:
        if found.text and found.has_items:
            seed = seed_file.loads(found.text.encode(), found.path)
            path = f"{folder}/{PurePosixPath(found.path).stem}.html"
            yield found.fingerprint, path, seed_page.data_of(found.path, seed, runs=0)


def failure(found: FoundFailure, hits: int, known: Iterable[str], page: str) -> list[object]:
    """Return the cells of a failure: is it new, kind, rule, message, hits, smallest seed, commands, page."""
    where = f"{found.scenario} seed {found.seed}"
    look = f"umi-sim html {found.path} --open" if found.text and found.has_items else ""
    is_new = found.fingerprint not in known
    cells = [is_new, found.kind, text(found.rule), text(found.message), hits, where]
    return [*cells, repeat_of(found), "" if page else look, page]


def scenarios(outcome: SweepOutcome) -> Iterator[list[object]]:
    """Return name, runs, operations and different failures of each scenario."""
    totals = outcome.totals
    for name in sorted(totals.summaries):
        summary = totals.summaries[name]
        failed = sum(found.scenario == name for found in totals.found.values())
        yield [name, summary.runs, summary.operations, failed]


# The map of faults and rules.


def kinds(outcome: SweepOutcome) -> list[str]:
    """Return the kinds of faults that fired, then the other kinds that the scenarios allow."""
    known, fired = kinds_of(outcome.files.values()), outcome.totals.fired
    # Kinds that fired come in the order of the registry, then
    # fired kinds that no scenario names, then the others.
    return list(dict.fromkeys((*filter(fired.get, known), *sorted(+fired), *known)))


def fault_map(outcome: SweepOutcome, shown: Iterable[FoundFailure]) -> dict[str, object]:
    """Return a table of rules by faults: the number of runs with the fault in which the rule judged.

    Each row has the name of a rule, its promise, and a number for each fault, negative if the rule broke.
    """
    met, columns = outcome.totals.met, kinds(outcome)
    broken = {pair for found in shown for pair in broken_pairs(found)}
    judged = {id_of(name) for name, count in outcome.totals.rules.items() if count}

    def cell(kind: str, rule: str) -> int:
        count = met[kind][rule] if kind in met else 0
        # At least -1, because a rule that broke may not be counted as
        # judging, and -0 would look like a rule that never judged.
        return -max(1, count) if (kind, rule) in broken else count

    rules = [rule_named(each) for each in sorted(judged | {rule for _, rule in broken})]
    rows = [[rule.name, rule.statement, [cell(kind, rule.id) for kind in columns]] for rule in rules]
    return {"faults": columns, "rows": sorted(rows, key=lambda row: (holds(row), row[0]))}


def holds(row: Sequence[Any]) -> bool:
    """Return True if the rule of a row of the map held under each fault; the other rows come first."""
    return min(row[-1], default=0) >= 0


def broken_pairs(found: FoundFailure) -> Iterator[tuple[str, str]]:
    # If the file cannot be read (too large, too new), its faults are unknown.
    with suppress(BadSeedFile, json.JSONDecodeError):
        seed = seed_file.loads(found.text.encode(), found.path)
        if seed.failure:
            yield from ((it.fault, seed.failure.rule_id) for it in seed.items if isinstance(it, Fault))


def parts(outcome: SweepOutcome) -> Iterator[reached.ReachedRow]:
    marks = outcome.totals.marks
    yield from reached.steps(marks)
    yield from reached.replies(marks)
    yield reached.rules(outcome.totals.rules)

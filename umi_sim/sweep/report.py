"""The report of a sweep: the verdict, each problem with the command that repeats it, and counts of events.

Law 1. The report is a pure function of the outcome; times, process counts and the order of results are not
in it.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

import msgspec

from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.report import BLANK, Line, Report, ReportRow, list_row, row, whole
from umi_sim.kernel.wording import cut, plural, show_counts
from umi_sim.record.rules import id_of
from umi_sim.runs.corpus import CorpusFile
from umi_sim.scenario.files import Scenario
from umi_sim.scenario.floors import Missed
from umi_sim.sweep import reached
from umi_sim.sweep.totals import (
    COUNTS,
    FOUND_COUNT_MAX,
    DivergentSeed,
    FoundFailure,
    LostSeed,
    SweepOutcome,
    Swept,
    Totals,
)

LOST_SHOWN: Final = 5
NEVER_COUNT_MAX: Final = 12  # --reached lists all
MESSAGE_CHARS_MAX: Final = 240
WORDS: Final = {"pass": "PASS", "fail": "FAIL", "interrupted": "STOPPED"}


def report(outcome: SweepOutcome, *, with_reached: bool = False) -> Report:
    """Return the report; `with_reached`: list all events that happened, and those that never did."""
    totals = outcome.totals
    runs = f"{plural(totals.runs, 'run')}, {plural(totals.steps, 'step')}"
    head = f"{WORDS[outcome.result]} sweep of {outcome.swept.describe()}: {runs}, {failures(outcome)}"
    more = reached_lines(outcome) if with_reached else ()
    return Report(head, chain(lines(outcome), more), lambda: as_json(outcome), outcome.exit_code)


def lines(outcome: SweepOutcome) -> Iterator[Line]:
    if outcome.is_interrupted:
        yield row("stopped", "interrupted: this report is of the runs that had ended by then")
        if not outcome.totals.runs:
            return
    wrong = list(wrong_lines(outcome))
    yield from wrong
    if wrong:
        yield BLANK
    yield from met_lines(outcome)


def wrong_lines(outcome: SweepOutcome) -> Iterator[Line]:
    """Yield the problems: nondeterminism, failures, lost runs, missed demands."""
    totals = outcome.totals
    for key in sorted(totals.apart):
        yield BLANK
        yield from apart_lines(totals.apart[key])
    for found in totals.in_order()[:FOUND_COUNT_MAX]:
        yield BLANK
        yield from found_lines(found, totals.hits[found.fingerprint])
    yield from lost_rows(totals)
    if outcome.missed:
        yield row("missed", f"{len(outcome.missed)} that so many runs must reach")
        yield from (row("", missed_line(each)) for each in outcome.missed)


def met_lines(outcome: SweepOutcome) -> Iterator[Line]:
    """Yield the counts of events, and the kinds of faults that never fired."""
    totals = outcome.totals
    yield row("requests", f"{sum(totals.operations.values())} of {plural(len(totals.operations), 'kind')}")
    # The unary + drops counts of zero.
    counts_of = {"replies": totals.replies, "excused": +totals.excused, "injected": totals.fired}
    for label, counts in counts_of.items():
        if counts:
            yield list_row(label, show_counts(in_order(counts)))
    if never := [name for name in kinds_of(outcome.files.values()) if name not in totals.fired]:
        yield list_row("never", never, NEVER_COUNT_MAX)
    yield list_row("reached", list(shares(totals)))
    if outcome.swept.bases:
        yield row("fresh", f"from --base {', '.join(outcome.swept.bases)}")
    yield row("gate", describe_gate(totals))
    yield from kept_rows(outcome)


def failures(outcome: SweepOutcome) -> str:
    """Return a summary of the problems, the most important first."""
    totals = outcome.totals
    found = f"{totals.failed} failed, in {plural(len(totals.found), 'way')}" if totals.found else ""
    still = len(outcome.still_failing)
    old = f"{plural(still, 'earlier failure')} still there" if still else ""
    missed = f"{len(outcome.missed)} missed" if outcome.missed else ""
    unseen = f"planted bug {' and '.join(outcome.unseen)} not found" if outcome.unseen else ""
    nothing = "every promise kept" if totals.runs else "nothing was run"
    return ", ".join(filter(None, (*totals.doubts(), unseen, found, old, missed))) or nothing


def shares(totals: Totals) -> Iterator[str]:
    """Yield the share of the possible events that were reached, by group."""
    steps, replies = reached.steps(totals.marks), reached.replies(totals.marks)
    yield f"{sum(bool(each.met) for each in steps)} of {len(steps)} workflow steps"
    for name, parts in (
        ("answers and ends of workflow steps", steps), ("shapes of replies of the model", replies),
        ("rules", [reached.rules(totals.rules)]),
    ):  # fmt: skip
        met, possible = sum(len(each.met) for each in parts), sum(len(each.counts) for each in parts)
        yield f"{met} of {possible} {name}"


def describe_gate(totals: Totals) -> str:
    if not totals.gated:
        return "none of these runs was repeated: one seed in 20 is"
    again = f"{plural(totals.gated, 'run')} repeated in another process, from the record and with extra draws"
    return f"{again}: {len(totals.apart)} DIFFER" if totals.apart else f"{again}: the same traces"


def lost_rows(totals: Totals) -> Iterator[ReportRow]:
    given = [totals.lost[key] for key in sorted(totals.lost)]
    if given:
        yield row("lost", plural(len(given), "run"))
    yield from (row("", f"{each.scenario} seed {each.seed}: {each.why}") for each in given[:LOST_SHOWN])


CANNOT_RUN: Final = "cannot run"
PASS_NOW: Final = "pass now (umi-sim corpus prune removes them)"


def class_of(kept: CorpusFile) -> str:
    return kept.replayed.what if kept.replayed else "no end" if kept.is_endless else CANNOT_RUN


def kept_rows(outcome: SweepOutcome) -> Iterator[ReportRow]:
    """Yield the results of the files of earlier failures."""
    if not outcome.kept:
        return
    fixed = sum(class_of(each) == "passes" for each in outcome.kept)
    # Files that can be read but have no items, because their run was ended by force.
    bare = sum(class_of(each) == CANNOT_RUN and bool(each.seed) for each in outcome.kept)
    counts = {
        "still fail": len(outcome.still_failing), PASS_NOW: fixed,
        "without items to replay": bare, "cannot be read": len(outcome.unreadable),
    }  # fmt: skip
    counted = "".join(f", {count} {what}" for what, count in counts.items() if count)
    yield row("earlier", f"{plural(len(outcome.kept), 'file')} of earlier failures replayed first{counted}")
    for each in outcome.still_failing:
        yield from earlier_rows(each)
    yield from (row("", each.problem) for each in outcome.unreadable)


def earlier_rows(kept: CorpusFile) -> Iterator[ReportRow]:
    """Yield the replay command and the failure of a file that still fails, and its planted bug, if any."""
    yield whole("", f"umi-sim replay {kept.path.as_posix()}")
    if kept.replayed and (failure := kept.replayed.verdict.failure):
        yield row("", cut(f"  {failure.named}: {failure.message}", MESSAGE_CHARS_MAX))
    if kept.seed and (bug := kept.seed.config.planted):
        yield row("", f"  it plants {bug}: remove it when you are done")


def missed_line(missed: Missed) -> str:
    return f"{missed.scenario or 'all'}: {missed.what}"


def apart_lines(apart: DivergentSeed) -> Iterator[Line]:
    yield f"FAIL nondeterminism {apart.rule} ({id_of(apart.rule)}): {apart.scenario} seed {apart.seed}"
    yield whole("repeat", repeat_apart(apart))
    yield from (whole("", line) for line in apart.lines)


def repeat_apart(apart: DivergentSeed) -> str:
    return f"umi-sim sweep {apart.scenario} --seeds {apart.seed}"


def found_lines(found: FoundFailure, hits: int) -> Iterator[Line]:
    yield cut(f"FAIL {found.named}: {found.message}", MESSAGE_CHARS_MAX)
    yield whole("repeat", repeat_of(found))
    first = f"{found.scenario} seed {found.seed}"
    yield row("hits", f"{plural(hits, 'run')}; the one with the smallest seed is {first}")


def repeat_of(found: FoundFailure) -> str:
    if found.text and found.has_items:
        return f"umi-sim replay {found.path}"
    return f"umi-sim run {found.scenario} --seed {found.seed}"


def in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}


def kinds_of(files: Iterable[Scenario]) -> list[str]:
    """List the kinds of faults that these scenarios may have, in the order of the registry."""
    given = [file.faults for file in files]
    return [kind for kind in KINDS if any(may_be_enabled(kind, faults) for faults in given)]


def may_be_enabled(kind: str, faults: Mapping[str, object] | None) -> bool:
    """Return True if the table enables a kind, by its name or else its group; without a table all are on."""
    return faults is None or bool(faults.get(kind, faults.get(KINDS[kind].group)))


REACHED_COLUMN: Final = 26


def reached_lines(outcome: SweepOutcome) -> Iterator[Line]:
    """Yield all events that happened, with counts, then those that never happened."""
    marks, judged = outcome.totals.marks, outcome.totals.rules
    steps, replies, rules = reached.steps(marks), reached.replies(marks), reached.rules(judged)
    yield from put_title("STEPS of workflows, with their answers and ends", map(part_row, steps))
    yield from put_title(
        "REPLIES of the model: what parsers dropped, repaired or decided", map(part_row, replies)
    )
    counts = (row(name, str(rules.counts[name]), column=REACHED_COLUMN) for name in rules.met)
    yield from put_title("RULES, and how often each had something to judge", counts)
    known = {f"{each.name}: {what}": None for each in (*steps, *replies) for what in each.counts}
    others = (row("", f"{name}: {marks[name]}") for name in sorted(marks) if name not in known)
    yield from put_title("OTHER marks", others)
    never = list(reached.never(marks, judged))
    lacking = (list_row(name, what or ["never"], column=REACHED_COLUMN) for name, what in never)
    yield from put_title(
        "NEVER reached" + ("" if never else ": nothing, all that is possible was reached"), lacking
    )


def put_title(title: str, rows: Iterable[ReportRow]) -> Iterator[Line]:
    yield BLANK
    yield title
    yield from rows


def part_row(part: reached.ReachedRow) -> ReportRow:
    met = [f"{what} {part.counts[what]}" for what in part.met]
    return list_row(part.name, met or ["never"], column=REACHED_COLUMN)


# The report as JSON, for programs.


def as_json(outcome: SweepOutcome) -> dict[str, object]:
    totals = outcome.totals
    return {
        "result": outcome.result, "exit": outcome.exit_code,
        "swept": swept_as_json(outcome.swept),
        "runs": totals.runs, "steps": totals.steps, "failed": totals.failed,
        **{name: in_order(getattr(totals, name)) for name in COUNTS},
        "faults": [
            {"kind": kind, "drawn": totals.fired[kind] + totals.without_effect[kind],
             "fired": totals.fired[kind], "without_effect": totals.without_effect[kind]}
            for kind in kinds_of(outcome.files.values())
        ],
        "never_reached": dict(reached.never(totals.marks, totals.rules)),
        "missed": [msgspec.to_builtins(each) for each in outcome.missed],
        "canary": "seen",
        "earlier": [
            {"file": each.path.as_posix(), "class": class_of(each)} for each in outcome.kept
        ],
        "gate": {
            "checked": totals.gated,
            "apart": [
                {**with_seed(totals.apart[key]), "repeat": repeat_apart(totals.apart[key])}
                for key in sorted(totals.apart)
            ],
        },
        "lost": [with_seed(totals.lost[key]) for key in sorted(totals.lost)],
        "doubts": totals.doubts(),
        "sizes": {name: list(totals.sizes[name]) for name in sorted(totals.sizes)},
        "failures": [
            {
                "kind": each.kind, "rule": each.rule, "fingerprint": each.fingerprint,
                "message": each.message, "hits": totals.hits[each.fingerprint], "scenario": each.scenario,
                "seed": str(each.seed), "file": each.path if each.text else "", "repeat": repeat_of(each),
            }
            for each in totals.in_order()[:FOUND_COUNT_MAX]
        ],
        "different": len(totals.found),
    }  # fmt: skip


def with_seed(record: DivergentSeed | LostSeed) -> dict[str, object]:
    """Return the fields of a record; the seed as text, since readers of JSON may round large numbers."""
    return {**msgspec.to_builtins(record), "seed": str(record.seed)}


def swept_as_json(swept: Swept) -> dict[str, object]:
    return {
        "scenarios": list(swept.names), "given": len(swept.given), "fresh": len(swept.fresh),
        "bases": list(swept.bases),
    }  # fmt: skip

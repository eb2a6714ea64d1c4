"""What a sweep came to, told: the verdict first, then what happened, then a row for each failure.

Law 1. A pure function of the outcome: no time, no number of processes, nothing of the order of events.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from umi_sim.faults.kinds import KINDS
from umi_sim.judge.invariants import id_of
from umi_sim.kernel.wording import counted, cut, escaped, plural, row, rows
from umi_sim.runs.corpus import Kept
from umi_sim.scenario.files import Scenario
from umi_sim.scenario.floors import Missed
from umi_sim.sweep import reached
from umi_sim.sweep.totals import COUNTS, FOUND_COUNT_MAX, Apart, Found, Outcome, Swept, Totals

LOST_SHOWN: Final = 5
WORDS: Final = {"pass": "PASS", "fail": "FAIL", "interrupted": "STOPPED"}


def lines(outcome: Outcome) -> Iterator[str]:
    """The report."""
    totals = outcome.totals
    runs = f"{plural(totals.runs, 'run')}, {plural(totals.steps, 'step')}"
    yield f"{WORDS[outcome.result]} sweep of {outcome.swept.told()}: {runs}, {failures(outcome)}"
    if outcome.is_interrupted:
        yield row("stopped", "interrupted: this is what had been run by then")
    yield row("requests", f"{sum(totals.operations.values())} of {plural(len(totals.operations), 'kind')}")
    for label, counts in (
        ("replies", totals.replies),
        ("excused", +totals.excused),
        ("faults", totals.fired),
    ):
        if counts:
            yield from rows(label, counted(in_order(counts)))
    if never := [name for name in kinds_of(outcome.files.values()) if name not in totals.fired]:
        yield from rows("never", ", ".join(never))
    yield from rows("reached", ", ".join(shares(totals)))
    if outcome.swept.bases:
        yield row("fresh", f"from --base {', '.join(outcome.swept.bases)}")
    yield row("gate", gate_line(totals))
    if totals.undecided:
        yield row("open", f"{totals.undecided} of {totals.followed} ids left undecided by the oracle")
    yield from lost_lines(totals)
    yield from kept_lines(outcome)
    if outcome.missed:
        yield row("missed", f"{len(outcome.missed)} that so many runs must meet")
        yield from (f"  {missed_line(each)}" for each in outcome.missed)
    for key in sorted(totals.apart):
        yield ""
        yield from apart_lines(totals.apart[key])
    for found in totals.in_order()[:FOUND_COUNT_MAX]:
        yield ""
        yield from found_lines(found, totals.hits[found.fingerprint])


def failures(outcome: Outcome) -> str:
    """What is wrong, most important first."""
    totals = outcome.totals
    found = f"{totals.failed} failed, {len(totals.found)} different" if totals.found else ""
    old = (
        f"{plural(len(outcome.still_failing), 'earlier failure')} still there"
        if outcome.still_failing
        else ""
    )
    missed = f"{len(outcome.missed)} missed" if outcome.missed else ""
    unseen = f"planted bug {' and '.join(outcome.unseen)} not seen" if outcome.unseen else ""
    nothing = "every promise kept" if totals.runs else "nothing was run"
    return ", ".join(filter(None, (*totals.doubts(), unseen, found, old, missed))) or nothing


def shares(totals: Totals) -> Iterator[str]:
    """How much was reached of all that there is."""
    steps, replies = reached.steps(totals.marks), reached.replies(totals.marks)
    yield f"{sum(bool(each.met) for each in steps)} of {len(steps)} steps"
    for name, parts in (
        ("things that steps can meet", steps), ("shapes of replies", replies),
        ("rules", [reached.rules(totals.rules)]),
    ):  # fmt: skip
        met, possible = sum(len(each.met) for each in parts), sum(len(each.counts) for each in parts)
        yield f"{met} of {possible} {name}"


def gate_line(totals: Totals) -> str:
    again = f"{plural(totals.gated, 'run')} again in another process, from the record, with another draw"
    if totals.apart:
        return f"{again}: {len(totals.apart)} DIFFER"
    return f"{again}: same traces" if totals.gated else "no run: one seed in 20 is checked"


def lost_lines(totals: Totals) -> Iterator[str]:
    given = [totals.lost[key] for key in sorted(totals.lost)]
    if given:
        yield row("lost", plural(len(given), "run"))
    for each in given[:LOST_SHOWN]:
        yield escaped(cut(f"  {each.scenario} seed {each.seed}: {each.why}"))


CANNOT_RUN: Final = "cannot run"


def class_of(kept: Kept) -> str:
    return kept.replayed.what if kept.replayed else "no end" if kept.is_endless else CANNOT_RUN


def kept_lines(outcome: Outcome) -> Iterator[str]:
    """What became of the files of earlier failures."""
    if not outcome.kept:
        return
    gone = sum(each.is_removed for each in outcome.kept)
    counts = {
        "still fail": len(outcome.still_failing),
        "removed after three passes": gone,
        "without items to replay": sum(
            class_of(each) == CANNOT_RUN and bool(each.seed) for each in outcome.kept
        ),
        "cannot be read": len(outcome.unreadable),
    }
    said = "".join(f", {count} {what}" for what, count in counts.items() if count)
    yield row("earlier", f"{plural(len(outcome.kept), 'file')} of earlier failures replayed first{said}")
    for each in outcome.still_failing:
        yield from earlier_lines(each)
    yield from (escaped(cut(f"  {each.problem}")) for each in outcome.unreadable)


def earlier_lines(kept: Kept) -> Iterator[str]:
    """What fails still: a bug that the file itself plants does so until the file is removed."""
    bug = kept.seed.config.planted if kept.seed else None
    planted = f"   (plants {bug}: remove it when you are done)" if bug else ""
    yield escaped(f"  umi-sim replay {kept.path.as_posix()}{planted}")
    if kept.replayed and (failure := kept.replayed.verdict.failure):
        yield escaped(cut(f"    {failure.kind} {failure.rule_told}: {failure.message}"))


def missed_line(missed: Missed) -> str:
    return f"{missed.scenario or 'all'}: {missed.what}"


def apart_lines(apart: Apart) -> Iterator[str]:
    yield f"FAIL nondeterminism {apart.rule} ({id_of(apart.rule)}): {apart.scenario} seed {apart.seed}"
    yield row("repeat", repeat_apart(apart))
    yield from (f"  {line}" for line in apart.lines)


def repeat_apart(apart: Apart) -> str:
    return f"umi-sim sweep {apart.scenario} --seeds {apart.seed}"


def found_lines(found: Found, hits: int) -> Iterator[str]:
    yield escaped(cut(f"FAIL {found.kind} {found.rule}: {found.message}"))
    yield row("hits", f"{hits}, the smallest is {found.scenario} seed {found.seed}")
    yield row("repeat", repeat_of(found))


def repeat_of(found: Found) -> str:
    if found.text and found.is_whole:
        return f"umi-sim replay {found.path}"
    return f"umi-sim run {found.scenario} --seed {found.seed}"


def in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}


def kinds_of(files: Iterable[Scenario]) -> list[str]:
    """The kinds of faults that these scenarios may have, in the order of the registry."""
    given = [file.faults for file in files]
    return [kind for kind in KINDS if any(may_strike(kind, faults) for faults in given)]


def may_strike(kind: str, faults: Mapping[str, object] | None) -> bool:
    """A kind is named before its group; where nothing is said, everything is drawn."""
    return faults is None or bool(faults.get(kind, faults.get(KINDS[kind].group)))


REACHED_COLUMN: Final = 26


def reached_lines(outcome: Outcome) -> Iterator[str]:
    """What was reached, each thing with its count; last, by name, all that never was."""
    marks, judged = outcome.totals.marks, outcome.totals.rules
    steps, replies, rules = reached.steps(marks), reached.replies(marks), reached.rules(judged)
    yield from ("", "STEPS of workflows, and what they met")
    yield from (line for each in steps for line in part_lines(each))
    yield from ("", "REPLIES of the model: what parsers dropped, mended or decided")
    yield from (line for each in replies for line in part_lines(each))
    yield from ("", "RULES, and how often each had something to judge")
    yield from (f"  {name:{REACHED_COLUMN}}{rules.counts[name]}" for name in rules.met)
    known = {f"{each.name}: {what}": None for each in (*steps, *replies) for what in each.counts}
    yield from ("", "OTHER marks")
    yield from (f"  {name}: {marks[name]}" for name in sorted(marks) if name not in known)
    lacking = list(reached.never(marks, judged))
    yield from ("", "NEVER reached" if lacking else "NEVER reached: nothing, all that is possible was met")
    yield from (line for name, what in lacking for line in listed(name, what))


def part_lines(part: reached.Part) -> Iterator[str]:
    return listed(part.name, [f"{what} {part.counts[what]}" for what in part.met])


def listed(name: str, what: Sequence[str]) -> Iterator[str]:
    """One row; a long one goes on below itself."""
    return rows(name, ", ".join(what) or "never", REACHED_COLUMN)


# For programs.


def as_json(outcome: Outcome) -> dict[str, object]:
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
        "missed": [{"scenario": each.scenario, "what": each.what} for each in outcome.missed],
        "canary": "seen",
        "earlier": [
            {"file": each.path.as_posix(), "class": class_of(each)} for each in outcome.kept
        ],
        "gate": {
            "checked": totals.gated,
            "apart": [
                {"scenario": each.scenario, "seed": str(each.seed), "rule": each.rule,
                 "lines": list(each.lines), "repeat": repeat_apart(each)}
                for each in (totals.apart[key] for key in sorted(totals.apart))
            ],
        },
        "followed": totals.followed,
        "undecided": totals.undecided,
        "lost": [
            {"scenario": each.scenario, "seed": str(each.seed), "why": each.why}
            for each in (totals.lost[key] for key in sorted(totals.lost))
        ],
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


def swept_as_json(swept: Swept) -> dict[str, object]:
    return {
        "scenarios": list(swept.names), "given": len(swept.given), "fresh": len(swept.fresh),
        "bases": list(swept.bases),
    }  # fmt: skip

"""What a sweep came to, told: the verdict first, then what happened, then a row for each failure.

Law 1. A pure function of the outcome: no time, no number of processes, nothing of the order of events.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from umi_sim import reached
from umi_sim.faults import KINDS
from umi_sim.floors import Missed
from umi_sim.invariants import id_of
from umi_sim.scenario import Scenario
from umi_sim.sweep.totals import COUNTS, FOUND_COUNT_MAX, Apart, Found, Outcome, Swept, Totals
from umi_sim.wording import counted, cut, escaped, plural, row, rows

LOST_SHOWN: Final = 5


def lines(outcome: Outcome) -> Iterator[str]:
    """The report."""
    totals = outcome.totals
    word = "PASS" if outcome.is_good else "FAIL"
    runs = f"{plural(totals.runs, 'run')}, {plural(totals.steps, 'step')}"
    yield f"{word} sweep of {outcome.swept.told()}: {runs}, {failures(outcome)}"
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
    yield row("marks", f"{len(totals.marks)} reached")
    yield row("answers", answers_line(totals))
    if outcome.swept.bases:
        yield row("fresh", f"from --base {', '.join(outcome.swept.bases)}")
    yield row("gate", gate_line(totals))
    if totals.undecided:
        yield row("open", f"{totals.undecided} of {totals.judged} ids left undecided by the oracle")
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
    return ", ".join(filter(None, (*totals.doubts(), found, old, missed))) or "every promise kept"


def answers_line(totals: Totals) -> str:
    count = len(reached.possible())
    return f"{count - len(reached.unreached(totals.marks))} of {count} met by rows"


def gate_line(totals: Totals) -> str:
    again = f"{plural(totals.gated, 'run')} again in another process, from the record, with another draw"
    if not totals.gated:
        return "no run: one seed in 20 is checked"
    return f"{again}: {f'{len(totals.apart)} DIFFER' if totals.apart else 'same traces'}"


def lost_lines(totals: Totals) -> Iterator[str]:
    given = [totals.lost[key] for key in sorted(totals.lost)]
    if given:
        yield row("lost", plural(len(given), "run"))
    for each in given[:LOST_SHOWN]:
        yield escaped(cut(f"  {each.scenario} seed {each.seed}: {each.why}"))


def kept_lines(outcome: Outcome) -> Iterator[str]:
    """What became of the files of earlier failures."""
    if not outcome.kept:
        return
    gone = sum(each.is_removed for each in outcome.kept)
    counts = {"still fail": len(outcome.still_failing), "removed after three passes": gone}
    said = "".join(f", {count} {what}" for what, count in counts.items() if count)
    yield row("earlier", f"{plural(len(outcome.kept), 'file')} of earlier failures replayed first{said}")
    yield from (f"  umi-sim replay {each.path.as_posix()}" for each in outcome.still_failing)


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


def reached_lines(outcome: Outcome) -> Iterator[str]:
    """By row of each workflow the answers it met, those it never did, and what followed; then other marks."""
    marks = outcome.totals.marks
    yield ""
    for step, kinds in reached.by_row().items():
        met = [f"{kind} {marks[f'{step}: {kind}']}" for kind in kinds if marks[f"{step}: {kind}"]]
        never = [kind for kind in kinds if not marks[f"{step}: {kind}"]]
        lacking = f"; never {', '.join(never)}" if never else ""
        then = ", ".join(f"{name.partition(': ')[2]} {marks[name]}" for name in after(marks, step, kinds))
        yield f"  {step:28} {', '.join(met) or 'NEVER RAN'}{lacking if met else ''}{then and f'; {then}'}"
    others = [name for name in sorted(marks) if name.partition(":")[0] not in reached.by_row()]
    yield from (f"  {name:28} {marks[name]}" for name in others)


def after(marks: Mapping[str, int], step: str, kinds: Sequence[str]) -> list[str]:
    """What became of the answers of a row: retried, degraded, aborted."""
    return [
        name for name in sorted(marks) if name.startswith(f"{step}: ") and name[len(step) + 2 :] not in kinds
    ]


# For programs.


def as_json(outcome: Outcome) -> dict[str, object]:
    totals = outcome.totals
    return {
        "result": "pass" if outcome.is_good else "fail", "exit": outcome.exit_code,
        "swept": swept_as_json(outcome.swept),
        "runs": totals.runs, "steps": totals.steps, "failed": totals.failed,
        **{name: in_order(getattr(totals, name)) for name in COUNTS},
        "faults": [
            {"kind": kind, "drawn": totals.fired[kind] + totals.blunt[kind], "fired": totals.fired[kind],
             "blunt": totals.blunt[kind]}
            for kind in kinds_of(outcome.files.values())
        ],
        "answers_never_met": list(reached.unreached(totals.marks)),
        "missed": [{"scenario": each.scenario, "what": each.what} for each in outcome.missed],
        "canary": "seen",
        "earlier": [
            {"file": each.path.as_posix(), "class": each.replayed.what if each.replayed else "cannot run"}
            for each in outcome.kept
        ],
        "gate": {
            "checked": totals.gated,
            "apart": [
                {"scenario": each.scenario, "seed": str(each.seed), "rule": each.rule,
                 "lines": list(each.lines), "repeat": repeat_apart(each)}
                for each in (totals.apart[key] for key in sorted(totals.apart))
            ],
        },
        "judged": totals.judged,
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

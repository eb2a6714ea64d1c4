"""Reports about programs: the verdict first, then how to repeat it, then the cause."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, Final

import msgspec

from umi_sim.kernel.report import BLANK, Report, ReportRow, row, under, whole
from umi_sim.kernel.wording import cut, plural
from umi_sim.programs.events import ProgramEvent
from umi_sim.programs.module_state import same_for_each_run
from umi_sim.programs.perturbations import Perturbation
from umi_sim.programs.places import hide_addresses
from umi_sim.programs.program import Program
from umi_sim.programs.rules import BrokenRule, ends_when_cancelled, find_promise, judge
from umi_sim.programs.search import UNDISTURBED, Exploration, ProgramFinding, find_needed, fingerprint_of
from umi_sim.programs.services import BadProgram
from umi_sim.programs.simulation import ProgramOutcome, run_case
from umi_sim.record.saved_failures import name_subject

if TYPE_CHECKING:
    from umi_sim.programs.failure_files import SavedCase
    from umi_sim.shrink.search import Budget

MESSAGE_CHARS_MAX: Final = 400
NOWHERE: Final = re.compile(r" at ?(?=,|$)|: *$")
POINTS_SHOWN: Final = 12
EVENTS_SHOWN: Final = 30
EVENTS_BEFORE: Final = 3


def report_exploration(name: str, found: Exploration, files: Sequence[Path], repeat: str = "") -> Report:
    """Report a search: each finding with its file, or the phases that were tried if nothing was found.

    `repeat`: the command that runs a finding again; by default `umi-sim replay`.
    """
    tried = list(under("tried", (row("", show_phase(each)) for each in found.phases)))
    if not found.is_complete:
        tried.append(row("", "its time is over before all was tried: --seconds gives it more"))
    limit = show_limits(found)
    if not found.findings:
        if found.ignored_count and ends_when_cancelled not in found.program.rules:
            runs = plural(found.ignored_count, "run")
            note = (
                f"main returned in {runs} although it was cancelled; rules = [ends_when_cancelled] forbids it"
            )
            tried.append(row("noted", note))
        return Report(
            f"PASS {name}: no rule broken in {plural(found.run_count, 'run')}{limit and f'; {limit}'}", tried,
            lambda: {"result": "pass", **show_search(found)},
        )  # fmt: skip
    first, *others = zip(found.findings, files, strict=True)
    tried += [row("noted", limit)] if limit else []
    lines: list[ReportRow | str] = [*list_rows(name, found.program, *first, repeat), BLANK, *tried]
    for finding, file in others:
        lines += [
            BLANK,
            headline(name, finding.broken),
            *list_rows(name, found.program, finding, file, repeat),
        ]
    return Report(
        headline(name, found.findings[0].broken), lines,
        lambda: {
            "result": "fail", **show_search(found),
            "findings": [show_finding(*each) for each in zip(found.findings, files, strict=True)],
        },
        exit_code=1,
    )  # fmt: skip


def show_limits(found: Exploration) -> str:
    """Return what the runs of a search may have left to later ones, as a sentence; "" if nothing."""
    return f"not reset from run to run: {', '.join(found.not_reset)}" if found.not_reset else ""


def headline(name: str, broken: BrokenRule) -> str:
    return f"FAIL {name} {broken.rule}"


def list_rows(
    name: str, program: Program, finding: ProgramFinding, file: Path, repeat: str
) -> Iterator[ReportRow]:
    yield whole("repeat", repeat or show_replay(file.as_posix(), name))
    if repeat:
        yield whole("file", file.as_posix())
    yield whole(
        "script", show_script(name_given(program), finding.outcome.perturbations, finding.outcome.seed)
    )
    if not finding.recurs:
        yield row("", "it did not recur when it was run again: something in the program follows from no seed")
    if finding.phase != UNDISTURBED:
        yield row("shrunk", show_points(finding))
    yield BLANK
    yield from list_causes(finding.broken, finding.outcome)
    if not repeat:
        yield BLANK
        yield whole("next", f"umi-sim html {file.as_posix()} --open")
        yield whole("", f"umi-sim export {file.as_posix()} --of {name}")


def show_replay(file: str, name: str) -> str:
    return join(["umi-sim", "replay", file, "--of", name])


def list_causes(broken: BrokenRule, outcome: ProgramOutcome) -> Iterator[ReportRow]:
    yield from under(
        "cause", (row("", each) for each in outcome.effects or ["nothing: it fails undisturbed"])
    )
    yield row("promised", broken.promised)
    place = f"; at {broken.place}" if broken.place else ""
    yield from show_message(broken.message, place)


def show_message(message: str, place: str = "") -> Iterator[ReportRow]:
    """Yield the lines of a message, the first with the place of the error."""
    first, *others = cut(hide_addresses(message), MESSAGE_CHARS_MAX).splitlines() or [""]
    first = NOWHERE.sub("", first)  # cut what is left of an empty error text or an empty place
    yield from under("got", (row("", line.rstrip()) for line in (first + place, *others) if line.strip()))


def show_script(
    names: Mapping[str, str], perturbations: Sequence[Perturbation], seed: int, *, own_loop: bool = False
) -> str:
    """Return the line of Python that repeats a case. `names`: by field of Program, its value in Python."""
    given = [names["main"], *(each.show_script() for each in perturbations)]
    given += [f"seed={seed}"] if seed else []
    given += [f"{field}={name}" for field, name in names.items() if field != "main"]
    given += ["own_loop=True"] if own_loop else []
    return f"simulate({', '.join(given)}).check()"


def name_given(program: Program) -> dict[str, str]:
    """Return the fields of a program that are set, as Python source: function names and lists."""
    names = {
        field: name_function(it) for field in ("main", "resume", "verify") if (it := getattr(program, field))
    }
    rules = {"rules": f"[{', '.join(map(name_function, program.rules))}]"} if program.rules else {}
    return {**names, **rules, **({"without": repr([*program.without])} if program.without else {})}


def name_function(function: Any) -> str:
    return str(getattr(function, "__name__", repr(function)))


def show_points(finding: ProgramFinding) -> str:
    """Return the size of the shrunk case, and the points of its phase that fail in the same way."""
    steps = [each[0].step for each in finding.points if len(each) == 1 and hasattr(each[0], "step")]
    many = f"{plural(len(finding.outcome.perturbations), 'perturbation')}"
    if len(steps) > 1:
        return f"{many}; it fails alike at {len(steps)} steps: {', '.join(show_runs(steps))}"
    if len(finding.points) == 1:
        return f"{many}; no other case of {finding.phase!r} fails alike"
    return f"{many}; {len(finding.points)} cases of {finding.phase!r} fail alike"


def show_runs(steps: Sequence[int]) -> Iterator[str]:
    """Yield runs of consecutive steps as "first..last", and single steps as "step"."""
    shown = 0
    start = before = steps[0]
    for step in [*steps[1:], -1]:
        if step != before + 1:
            shown += 1
            yield f"{start}" if start == before else f"{start}..{before}"
            if shown >= POINTS_SHOWN and step != -1:
                yield "..."
                return
            start = step
        before = step


def show_phase(phase: Any) -> str:
    of = f" of {phase.planned}" if phase.planned > phase.run_count else ""
    failing = f", {phase.failing_count} failing" if phase.failing_count else ""
    return f"{phase.name}: {plural(phase.run_count, 'run')}{of}{failing}"


def show_search(found: Exploration) -> dict[str, object]:
    phases = [
        {"name": it.name, "planned": it.planned, "runs": it.run_count, "failing": it.failing_count}
        for it in found.phases
    ]
    return {"runs": found.run_count, "not_reset": list(found.not_reset), "phases": phases}


def show_finding(finding: ProgramFinding, file: Path) -> dict[str, object]:
    return {
        "rule": finding.broken.rule, "message": finding.broken.message, "file": file.as_posix(),
        "case": [each.to_json() for each in finding.outcome.perturbations],
        "effects": list(finding.outcome.effects),
        "points": len(finding.points), "phase": finding.phase, "recurs": finding.recurs,
    }  # fmt: skip


def report_saved(file: str, saved: "SavedCase", *, all_events: bool = False) -> Report:
    """Report a saved case from its file, without running it."""
    name = name_subject(saved.program)
    events = [*saved.events]
    applied = [each.text for each in events if each.kind == "injection"]  # the perturbation, and its place
    written = [str(each) for each in saved.perturbations]
    case = [next((it for it in applied if it.startswith(each)), each) for each in written]
    shown = events if all_events else choose_shown(events)
    lines = [
        f"{each.ms:>6} ms  step {each.step:<4} {'!' if each.kind == 'injection' else ' '} {each}"
        for each in shown
    ]
    if len(shown) < len(events):
        lines.append(f"and {plural(len(events) - len(shown), 'event')} more: --all shows them")
    rows = [
        whole("repeat", show_replay(file, name)),
        *([] if saved.trace else [row("edited", "the file was edited: what it tells proves nothing")]), BLANK,
        *under("cause", (row("", each) for each in case or ["nothing: it fails undisturbed"])),
        *([row("promised", promise)] if (promise := find_promise(saved.rule)) else []),
        *show_message(saved.message),
        *under("events", (row("", each, hang=23) for each in lines)),
    ]  # fmt: skip
    value = {
        "result": "fail", "file": file, "program": saved.program, "seed": str(saved.seed), "rule": saved.rule,
        "message": saved.message, "case": case, "events": list(map(msgspec.to_builtins, events)),
    }  # fmt: skip
    return Report(f"FAIL {name} {saved.rule}", rows, lambda: value)


def choose_shown(events: Sequence[ProgramEvent]) -> list[ProgramEvent]:
    """Return at most EVENTS_SHOWN events, from EVENTS_BEFORE before the first perturbation on."""
    first = next((at for at, each in enumerate(events) if each.kind == "injection"), 0)
    return [*events[max(0, first - EVENTS_BEFORE) :][:EVENTS_SHOWN]]


def report_needed(name: str, file: str, program: Program, saved: "SavedCase", budget: "Budget") -> Report:
    """Report for each perturbation how the run ends without it, while there is time. Raises BadProgram."""
    with same_for_each_run(program):
        outcome = run_case(program, saved.perturbations, saved.seed)
        broken = judge(program, outcome)
        if broken is None:
            raise BadProgram(f"{file}: passes now, and there is nothing to explain")
        others = find_needed(program, saved.perturbations, saved.seed)
        needed = [(str(each), end) for each, end in budget.limit(others)]
    rows = [whole("repeat", show_replay(file, name)), BLANK, *list_causes(broken, outcome)]
    rows += under("needed", (row("", f"{each}; without it: {end}") for each, end in needed))
    value = {"rule": broken.rule, "needed": [{"what": each, "without": end} for each, end in needed]}
    return Report(f"WHY {name} {broken.rule}", rows, lambda: value)


def report_replay(
    name: str, file: str, program: Program, saved: "SavedCase", outcome: ProgramOutcome, where: str = ""
) -> Report:
    """Report the replay of a saved case. Exit code 0: as recorded; 4: same rule, other trace; 1: otherwise.

    `where`: where it was run, if not in the simulation; only runs in the simulation have a trace to compare.
    """
    broken = judge(program, outcome)
    applied = outcome.effects or ["nothing"]
    if broken is None:
        head = f"PASS {name}: {file} passes{where}, where {saved.rule or 'nothing'} was broken"
        value: dict[str, object] = {"result": "pass", "file": file}
        rows = list(under("injected", (row("", each) for each in applied)))
        if saved.program != name:
            rows.append(row("recorded", f"with {name_subject(saved.program)}"))
        return Report(head, rows, lambda: value, 1)
    if where:
        is_same, is_alike = broken.rule == saved.rule, True
    else:
        is_alike = saved.trace in ("", outcome.trace)
        is_repeated = bool(saved.trace) and is_alike and broken.rule == saved.rule  # perhaps reworded
        is_same = is_repeated or fingerprint_of(broken) == saved.fingerprint
    code = (0 if is_alike else 4) if is_same else 1
    verdict = (
        ("as recorded" if is_alike else "the same rule, by another way") if is_same else "another failure"
    )
    value = {
        "result": "fail",
        "file": file,
        "replay": verdict,
        "rule": broken.rule,
        "message": broken.message,
    }
    lines = [row("replay", f"{file}{where}: {verdict}"), *list_causes(broken, outcome)]
    return Report(headline(name, broken), lines, lambda: value, code)

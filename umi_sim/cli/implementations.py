"""Options and output of `umi-sim target --contract umi`: another implementation of Umi, in a process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from umi_sim.cli.arguments import readable
from umi_sim.cli.console import refuse
from umi_sim.kernel.report import Report, ReportRow, list_row, row
from umi_sim.kernel.wording import plural, show_counts

if TYPE_CHECKING:
    from umi_sim.targets.whole_memory import WholeMemoryHunt

CONTRACT: Final = "umi"
AGAINST: Final = "umi_core"
INJECTED_COUNT_MAX: Final = 5


def check_implementation(
    command: str | None, against: str | None, names: Sequence[str], seeds: range, seconds: int | None,
    replay: str | None, others: Sequence[str],
) -> Report:  # fmt: skip
    """Test or replay another implementation. `others`: given options that are only for stores."""
    if not command:
        refuse('--contract umi: write --command "COMMAND", which starts the implementation')
    if others:
        refuse(f"{others[0]}: is for stores, and --contract umi tests a whole memory")
    if against not in (None, AGAINST):
        refuse(f"--against {against}: expected {AGAINST}, whose effects are compared step by step")
    called = ["--contract", CONTRACT, "--command", command, *(["--against", AGAINST] if against else [])]
    with usable():
        if replay is not None:
            return replay_run(command, called, replay)
        return hunt_in_store(command, called, names, seeds, seconds)


@contextmanager
def usable() -> Iterator[None]:
    """End the command in one line if the implementation cannot be run."""
    from umi_sim.machines.process import BadProcess
    from umi_sim.scenario.files import BadScenario
    from umi_sim.targets.adapter import BadAdapter

    try:
        yield
    except (BadAdapter, BadProcess, BadScenario) as error:
        refuse(error)


def hunt_in_store(
    command: str, called: list[str], names: Sequence[str], seeds: range, seconds: int | None
) -> Report:
    from umi_sim.explain import report
    from umi_sim.seedfile import files as seed_file
    from umi_sim.shrink import shrink_whole
    from umi_sim.targets import whole_memory
    from umi_sim.targets.adapter import FOLDER

    found = whole_memory.hunt(
        command, whole_memory.names_of(names), seeds, seconds, is_compared="--against" in called
    )
    verdict = found.failed
    if verdict is None or verdict.failure is None:
        return report_pass(command, found)
    done = shrink_whole(seed_file.of_verdict(verdict))
    # No file contains the command of the implementation: the user gives it with each replay.
    path = seed_file.save(structs.replace(done.seed, repro=""), Path(FOLDER)).as_posix()
    reported = report.of_shrunk(done, path, repeat(called, path), verdict.failure)
    # `file=""` removes commands that would replay the file with umi_core: the failure is of the other
    # implementation.
    reported = structs.replace(reported, repeat=repeat(called, path), file="")
    value = lambda: {**report.encode_reported(reported), "saved": path, **counts(found)}  # noqa: E731  # used once
    return structs.replace(report.of_failure(reported).also(row("found", describe_hunt(found))), value=value)


def repeat(called: Sequence[str], path: str) -> str:
    return join(["umi-sim", "target", *called, "--replay", path])


def describe_hunt(found: "WholeMemoryHunt") -> str:
    runs, operations = plural(found.run_count, "run"), plural(found.operations.total(), "operation")
    return f"{runs} of {plural(len(found.scenarios), 'scenario')}, {operations}"


def counts(found: "WholeMemoryHunt") -> dict[str, Any]:
    return {
        "runs": found.run_count, "scenarios": list(found.scenarios), "operations": dict(found.operations),
        "faults": dict(found.fired), "rules": dict(found.rules),
    }  # fmt: skip


def report_pass(command: str, found: "WholeMemoryHunt") -> Report:
    """Return the report of a pass; its counts of requests, faults and rules show how much was tested."""
    from umi_core.messages.requests import OF_MEMORY

    often = sorted(found.fired, key=lambda name: (-found.fired[name], name))
    injected = show_counts({name: found.fired[name] for name in often}) or ["no fault"]
    lacking = [name for name in OF_MEMORY if name not in found.operations]
    rows: list[ReportRow] = [
        list_row("asked", show_counts(dict(sorted(found.operations.items()))), len(found.operations)),
        *([list_row("", ["never asked: " + lacking[0], *lacking[1:]], len(lacking))] if lacking else []),
        list_row("injected", injected, INJECTED_COUNT_MAX),
        row("judged", f"by {plural(len(found.rules), 'rule')}"),
    ]
    value = lambda: {"result": "pass", "command": command, **counts(found)}  # noqa: E731  # used once
    return Report(f"PASS {command}: {describe_hunt(found)}, every promise kept", rows, value)


def replay_run(command: str, called: Sequence[str], file: str) -> Report:
    """Replay a run. Exit 0: as recorded; 1: no failure; else the code of the failure."""
    from umi_sim.explain import report
    from umi_sim.runs import replay

    seed = readable(file)
    done = replay.replay(structs.replace(seed, config=structs.replace(seed.config, command=command)))
    again = repeat(called, file)
    reported = report.of_run(done.verdict, again)
    why = "the failure is gone" if done.what == "passes" else done.why
    summary = {"file": file, "class": done.what, "why": why, "exit": done.exit_code}
    value = lambda: {**summary, "verdict": report.as_json(done.verdict)}  # noqa: E731  # used once
    return Report(
        reported.head, [row("replay", f"{done.what}: {why}"), *reported.lines], value, done.exit_code
    )

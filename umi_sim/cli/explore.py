"""Options and output of the command explore. The work is done in umi_sim.explore."""

from typing import TYPE_CHECKING, Final

import click

from umi_sim.cli.console import complain, refuse, shows
from umi_sim.kernel.report import Report
from umi_sim.record.exit_codes import EXIT_CODES, HARNESS

if TYPE_CHECKING:
    from umi_sim.explore.search import Explanation
    from umi_sim.record.verdict import Verdict

DEPTH_MAX: Final = 64
STATES_MAX: Final = 1_000_000
INCOMPLETE: Final = 5  # the exit code of any run that reached a limit


@click.command()
@click.argument("scenario")
@click.option("--depth", type=click.IntRange(1, DEPTH_MAX), required=True, help="The most actions in a list.")
@click.option(
    "--states-max", type=click.IntRange(1, STATES_MAX), default=STATES_MAX, show_default=True,
    help="Stop after this many different worlds, about 200 bytes each.",
)  # fmt: skip
@click.option("--dfs", is_flag=True, help="Depth first: keeps only the path, and tries every list.")
@shows()
def explore(scenario: str, depth: int, states_max: int, dfs: bool) -> Report:
    """Try every list of a few actions (requests, faults, moves of time) from a small set, shortest first.

    Exit 0: complete, no failure. 5: stopped at --states-max. Else the code of the failure, which leaves a
    seed file.

    \b
    umi-sim explore explore_working --depth 5
    """
    from umi_sim.explore import search
    from umi_sim.scenario import files as scenarios

    try:
        found = search.explore(scenarios.find(scenario), depth, states_max=states_max, depth_first=dfs)
    except scenarios.BadScenario as error:
        refuse(error)
    # A failure that does not repeat is a bug of the simulator, not a verdict about the memory.
    except search.Unrepeated as error:
        return Report("", exit_code=complain(str(error), HARNESS))
    if found.verdict is not None:
        return report_failure(found, found.verdict)
    code = 0 if found.result == "complete" else INCOMPLETE
    return Report(statement(found), value=lambda: counts(found), exit_code=code)


def report_failure(found: "Explanation", verdict: "Verdict") -> Report:
    """Save the failure as a seed file, and return its report."""
    from umi_sim.explain import report
    from umi_sim.runs import corpus

    assert verdict.failure is not None
    file = corpus.keep_run(verdict).as_posix()
    repeat = report.replay_of(file)
    reported = report.of_run(verdict, repeat, file=file)
    head = f"FAIL at depth {found.depth} (shortest): {reported.head.removeprefix('FAIL ')}"
    value = {**counts(found), "verdict": report.as_json(verdict), "repeat": repeat}
    return Report(head, reported.lines, lambda: value, EXIT_CODES[verdict.failure.kind])


def statement(found: "Explanation") -> str:
    """Return the headline of an exploration without a failure."""
    if found.result == "stopped":
        return f"stopped at {found.state_count} states: complete to depth {found.depth} only"
    message = f"{found.list_count} lists, {found.state_count} states, {found.step_count} steps"
    return f"complete to depth {found.depth}: {message}, no failure"


def counts(found: "Explanation") -> dict[str, object]:
    return {
        "result": found.result, "depth": found.depth, "lists": found.list_count,
        "states": found.state_count, "steps": found.step_count,
    }  # fmt: skip


COMMANDS: Final = (explore,)

"""Options and output of the commands sweep and merge. The work is done in umi_sim.sweep."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps
from os.path import isfile as is_file  # unlike a Path, it knows no name that is too long
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import structs

from umi_sim.cli import progress
from umi_sim.cli.arguments import must_be_writable, overrides_of
from umi_sim.cli.console import complain, refuse, seed_of, seeds_of, show
from umi_sim.kernel.progress import at
from umi_sim.record.exit_codes import HARNESS, USAGE

if TYPE_CHECKING:
    from umi_sim.runs.corpus import CorpusFile
    from umi_sim.sweep.failure_files import FailureFolder
    from umi_sim.sweep.journal import Chunk, Journal
    from umi_sim.sweep.plan import ScenarioSource, SweepPlan
    from umi_sim.sweep.progress import Progress
    from umi_sim.sweep.totals import SweepOutcome, Totals

PINNED: Final = range(5)  # with FRESH_COUNT, a sweep of all scenarios takes three minutes on two cores
FRESH_COUNT: Final = 6
COUNT_MAX: Final = 1_000_000
MINUTES_MAX: Final = 10_080
SHARD_MAX: Final = 10_000
STDOUT: Final = "-"
# Options that change the outputs, not the runs.
OUTPUTS: Final = ("json_file", "junit", "html", "reached", "quiet", "no_color", "resume", "out")


def shard_of(text: str) -> tuple[int, int]:
    """Parse part i of n, written i/n."""
    found = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
    part = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part[0] <= part[1] <= SHARD_MAX:
        raise click.BadParameter(f"{text}: write i/n with 1 <= i <= n <= {SHARD_MAX}, such as 1/4")
    return part


def base_of(text: str) -> str:
    """Check that a base is a seed, and return its text unchanged, since reports repeat it."""
    seed_of(text)
    return text


def json_to(text: str) -> str:
    """Check the name of a JSON file; the required ending detects a scenario that click took for it."""
    if text != STDOUT and not text.endswith(".json"):
        raise click.BadParameter(f"{text}: name a file that ends in .json, or give --json last to print")
    return text


def page_to(text: str) -> str:
    """Check the name of a page; the required ending detects a scenario that click took for it."""
    if not text.endswith(".html"):
        raise click.BadParameter(f"{text}: name a file that ends in .html")
    return text


def shows_outcome(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show and write the outcome that a command returns, by the options --json, --junit, --html ...

    The command gets the names of the files that will be written as `reports`.
    """

    @wraps(command)
    def run_and_show(
        json_file: str | None, junit: str | None, html: str | None, reached: bool, **given: Any
    ) -> int:
        from umi_sim.sweep import report

        quiet, no_color = given.pop("quiet"), given.pop("no_color")
        files = [name for name in (json_file, junit, html) if name and name != STDOUT]
        with progress.watch_progress("sweep", quiet=quiet):
            outcome = command(reports=files, **given)
            code = write_reports(outcome, None if json_file == STDOUT else json_file, junit, html)
            reported = report.report(outcome, with_reached=reached)
            # The exit code of the sweep has priority over that of a file that could not be written.
            return show([reported], as_json=json_file == STDOUT, quiet=quiet, no_color=no_color) or code

    for option in (
        click.option("--no-color", is_flag=True, help="Plain text on a terminal too."),
        click.option("--quiet", is_flag=True, help="Only the exit code, and errors."),
        click.option("--junit", metavar="FILE", help="Write JUnit XML for a CI server."),
        click.option("--html", type=page_to, metavar="OUT.html", help="Write a page for a browser."),
        click.option(
            "--json", "json_file", is_flag=False, flag_value=STDOUT, type=json_to, metavar="[FILE.json]",
            help="Also write JSON to the file; without a file, print it instead of text.",
        ),
        click.option("--reached", is_flag=True, help="List what was reached, and what never was."),
    ):  # fmt: skip
        run_and_show = option(run_and_show)
    return run_and_show


def write_reports(
    outcome: "SweepOutcome", json_file: str | None, junit: str | None, html: str | None = None
) -> int:
    """Write the outcome to files. If one fails, return the sweep's exit code, or USAGE if that is 0."""
    import json

    from umi_sim.sweep import junit as xml
    from umi_sim.sweep import report

    # A list and not `and`, so that all files are tried even if one cannot be written.
    are_written = [
        not junit or is_written(junit, xml.as_xml(outcome)),
        not json_file or is_written(json_file, f"{json.dumps(report.as_json(outcome), indent=1)}\n".encode()),
        not html or write_pages(outcome, Path(html)),
    ]
    return 0 if all(are_written) else outcome.exit_code or USAGE


def write_pages(outcome: "SweepOutcome", page: Path) -> bool:
    """Write the page of a sweep, and the pages of its failures into a folder beside it."""
    from umi_sim.pages import shell, sweep_page

    written = {}
    for mark, path, data in sweep_page.failure_pages(outcome, f"{page.stem}-failures"):
        (page.parent / path).parent.mkdir(exist_ok=True)
        if is_written(str(page.parent / path), shell.document("life.js", data).encode()):
            written[mark] = path
    command = command_of(click.get_current_context())
    data = sweep_page.sweep_data(outcome, command, written)
    return is_written(str(page), shell.document("sweep.js", data).encode())


def command_of(context: click.Context) -> str:
    """Return the command as the user gave it, without the options of OUTPUTS."""
    from shlex import join

    words = ["umi-sim", str(context.info_name)]
    for param in context.command.params:
        value = context.params.get(str(param.name))
        if isinstance(param, click.Argument):
            words += value or ()
        elif param.multiple:
            words += [word for each in value or () for word in (param.opts[0], each)]
        elif param.name not in OUTPUTS and value not in (None, False):
            option = show_option(value)
            # Options with default values are left out.
            words += [] if option == param.get_default(context) else [param.opts[0], *option.split()]
    return join(words)


def show_option(value: object) -> str:
    match value:
        case True:
            return ""
        case range():
            return f"{value[0]}..{value[-1]}"
        case (int(part), int(whole)):  # --shard
            return f"{part}/{whole}"
    return str(value)


def is_written(name: str, data: bytes) -> bool:
    """Write a file and return True; if that fails, print why and return False."""
    from umi_sim.record.saved_failures import write_whole

    try:
        write_whole(Path(name), data)
    except OSError as error:
        complain(f"{error.filename or name}: {error.strerror}")
        return False
    return True


@click.command()
@click.argument("scenario", nargs=-1)
@click.option("--seeds", type=seeds_of, metavar="A..B", help="These seeds, both ends included.")
@click.option("--count", type=click.IntRange(0, COUNT_MAX), metavar="N", help="Run N new seeds.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Set a key of each scenario. Repeatable.",
)
@click.option(
    "--base", type=base_of, metavar="X", help="What new seeds are made from. Default: the commit id."
)
@click.option(
    "--minutes", type=click.IntRange(1, MINUTES_MAX), metavar="M", help="Keep running for M minutes."
)
@click.option("--shard", type=shard_of, default="1/1", metavar="I/N", help="Run only part I of N.")
@click.option("--jobs", type=click.IntRange(1, 1_024), metavar="J", help="Processes. Default: one per core.")
@click.option(
    "--resume", metavar="FILE", help="Save finished chunks in this file, and skip those that it has."
)
@click.option(
    "--executor",
    default="local",
    metavar="NAME",
    help="What runs the chunks, such as other machines.",
)
@click.option("--stop-first", is_flag=True, help="End with the first failure.")
@click.option("--no-shrink", is_flag=True, help="Do not shrink failures.")
@shows_outcome
def sweep(
    scenario: Sequence[str],
    seeds: range | None,
    count: int | None,
    settings: Sequence[str],
    base: str | None,
    minutes: int | None,
    shard: tuple[int, int],
    jobs: int | None,
    resume: str | None,
    executor: str,
    stop_first: bool,
    no_shrink: bool,
    reports: Sequence[str],
) -> "SweepOutcome":
    """Run many seeds of many scenarios; one seed file for each different failure.

    Without --seeds, --count and --minutes: a look before a change lands, about three minutes on two cores. Of
    each scenario seeds 0 to 4, and 6 fresh ones for each commit. Ctrl-C ends it with what is known by then.

    \b
    umi-sim sweep
    umi-sim sweep crash_storm retries --seeds 0..999 --jobs 4
    umi-sim sweep storm --set agents.count=2 --minutes 30
    umi-sim sweep --count 4000 --resume night.jsonl
    """

    from umi_sim.sweep import conductor, executors, failure_files, journal, worker_process

    check_outputs(reports, resume)
    try:
        make = executors.executor_named(executor)
        book = journal.Journal.open(Path(resume)) if resume else None
        sources = sources_of(scenario, overrides_of(settings, None))
        plan = plan_of(sources, seeds, count, base or base_in(book), minutes, shard, stop_first)
        if book:
            journal.must_fit(book.done.values(), {each.name: each.digest for each in sources}, str(resume))
    except (executors.NoExecutor, journal.BadLedger) as error:
        refuse(error)
    job_count, files = jobs or default_jobs(), failure_files.FailureFolder()
    held = book.lock() if book else nullcontext()
    with refusing((journal.BadLedger, executors.NoExecutor)), worker_process.keep_children(), held:
        remove_outputs(reports)
        at("sweep: the canary")  # a sweep that cannot find a planted bug proves nothing
        if blind := conductor.blindness(make):
            refuse(blind, HARNESS)
        at("sweep: earlier failures")
        kept = earlier(sources, book) if shard == (1, 1) else ()  # shards do not replay them
        is_enough = stop_first and any(each.still_fails for each in kept)
        plan = structs.replace(plan, sources=()) if is_enough else plan
        so_far = progress_of(plan, minutes)

        def tell(chunk: "Chunk", is_old: bool) -> None:
            so_far.add(chunk, is_old)
            files.first(chunk.totals, is_old)

        conducted = conductor.Conductor(plan, make, job_count, tell, book, minutes)
        conducted.conduct()
        # The failures before shrinking: `verify` restores one whose shrunk file does not replay here.
        whole = dict(conducted.totals.found)
        if not no_shrink and not conducted.is_interrupted:
            with executors.hire_workers(make, job_count) as workers:
                if why := failure_files.shrink(conducted.totals, workers):
                    complain(f"failures stay as large as they were: {why}")
    failure_files.verify(conducted.totals, whole)
    write_last(files, conducted.totals, conducted.problem)
    return conductor.outcome_of(
        conducted.totals, conducted.swept, sources, kept, is_interrupted=conducted.is_interrupted
    )


def progress_of(plan: "SweepPlan", minutes: int | None) -> "Progress":
    """Return the progress of a new sweep; print its fresh seeds first, so that each can be run again."""
    from umi_sim.sweep.progress import Progress

    if fresh := plan.describe_fresh():
        progress.tell(fresh)
    so_far = Progress(plan.run_count, minutes)
    so_far.tell()
    return so_far


@contextmanager
def refusing(error: type[Exception] | tuple[type[Exception], ...]) -> Iterator[None]:
    """End the command with one line if the block raises this error."""
    try:
        yield
    except error as raised:
        refuse(raised)


def write_last(files: "FailureFolder", totals: "Totals", problem: str = "") -> None:
    """Write the final seed files. A problem is only printed. `problem`: why the journal was not written."""
    files.last(totals)
    if problem:
        complain(f"finished chunks are not kept any more: {problem}")
    if files.problem:
        complain(f"no seed file was written: {files.problem}")


def sources_of(
    names: Sequence[str], settings: "Mapping[str, str] | None" = None
) -> "tuple[ScenarioSource, ...]":
    """Return the scenarios of these names, with these settings; without names, all that are not manual."""
    from umi_sim.scenario import files as scenario
    from umi_sim.sweep.plan import source_of

    try:
        given = list(dict.fromkeys(names)) or list(scenario.list_shipped())
        found = tuple(source_of(name, settings or {}) for name in given)
    except scenario.BadScenario as error:
        refuse(error)
    # Manual scenarios take long, or are for a person to look at, so they run only if they are named.
    return found if names else tuple(each for each in found if not each.file.manual)


def plan_of(
    sources: "tuple[ScenarioSource, ...]",
    seeds: range | None,
    count: int | None,
    base: str,
    minutes: int | None,
    shard: tuple[int, int],
    stop_first: bool,
) -> "SweepPlan":
    """Return the plan for these options; with only seeds, or only a count, it has no other seeds."""
    from umi_sim.sweep.plan import SweepPlan

    is_default = seeds is None and count is None
    pinned = PINNED if is_default else seeds or range(0)
    fresh_count = FRESH_COUNT if is_default else count or 0
    # With --minutes alone only the time ends the sweep; with a count, time or count.
    endless = None if minutes and count is None else fresh_count
    if not pinned and endless == 0:
        refuse("--count 0: no seed to run, give --seeds A..B or --count N")
    return SweepPlan(sources, pinned, endless, base, shard, minutes is not None, stop_first)


def base_in(book: "Journal | None") -> str:
    """Return the base in the journal of a sweep that continues, else the base of a new sweep."""
    from umi_sim.sweep import outside

    begun = (chunk.base for chunk in book.done.values() if chunk.base) if book else iter(())
    return next(begun, "") or outside.base()


def earlier(sources: "tuple[ScenarioSource, ...]", book: "Journal | None") -> "tuple[CorpusFile, ...]":
    """Replay earlier failures of these scenarios, except those in the journal of this sweep."""
    from umi_sim.runs import corpus

    chunks = book.done.values() if book else ()
    known = [mark for chunk in chunks for mark in chunk.totals.found]
    return tuple(corpus.replay_kept(only=[source.file.id for source in sources], known=known))


def default_jobs() -> int:
    # In a container, the affinity may allow fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_outputs(reports: Sequence[str], *others: str | None, out: str | None = None) -> None:
    """Check that all outputs can be written, and that no two of them are the same file."""
    for name in (*reports, out):
        if name:
            must_be_writable(name)
    paths = [Path(name).resolve() for name in (*reports, out, *others) if name]
    for name in reports:
        if paths.count(Path(name).resolve()) > 1:
            refuse(f"{name}: is named for something else too, name another file")


def remove_outputs(reports: Sequence[str]) -> None:
    """Remove old reports, which could be mistaken for those of this sweep.

    Called after all checks, so that a refused command removes nothing.
    """
    for name in reports:
        if is_file(name):
            Path(name).unlink()


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--out", metavar="FILE", help="Write all chunks into one file.")
@shows_outcome
def merge(files: Sequence[str], out: str | None, reports: Sequence[str]) -> "SweepOutcome":
    """Add up what several sweeps wrote with --resume, and judge the whole as one sweep.

    The order of the files changes nothing, and what stands in two of them counts once.

    \b
    umi-sim sweep --shard 1/2 --resume 1.jsonl; umi-sim sweep --shard 2/2 --resume 2.jsonl
    umi-sim merge 1.jsonl 2.jsonl --junit sweep.xml
    """
    from umi_sim.sweep import conductor, failure_files, journal
    from umi_sim.sweep.totals import Swept

    check_outputs(reports, *files, out=out)
    try:
        if out and Path(out).exists():
            journal.must_be_one(Path(out))
        chunks = journal.join_chunks(chunk for file in files for chunk in journal.read(Path(file)).values())
        if not chunks:
            refuse(f"{', '.join(files)}: no finished chunk")
        swept = Swept()
        for chunk in chunks.values():
            swept.add(chunk.scenario, chunk.seeds, chunk.base)
        # Sorted, so that the order of the files does not matter.
        swept.names = dict.fromkeys(sorted(swept.names))
        sources = sources_of(list(swept.names))
        journal.must_fit(chunks.values(), {each.name: each.digest for each in sources}, ", ".join(files))
        journal.must_not_overlap(chunks)
    except journal.BadLedger as error:
        refuse(error)
    if out:
        journal.write(Path(out), chunks)
    totals = journal.add_up(chunks)
    write_last(failure_files.FailureFolder(), totals)
    return conductor.outcome_of(totals, swept, sources)


COMMANDS: Final = (sweep, merge)

"""Options and output of the commands about seed files. The work is done in umi_sim.runs."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from umi_sim.cli.arguments import must_take_trace, readable
from umi_sim.cli.console import CommandRefused, Commands, complain, refuse, shows
from umi_sim.cli.kinds import ProgramFile, find_other
from umi_sim.kernel.progress import at
from umi_sim.kernel.report import Report, ReportRow, row, under, whole
from umi_sim.kernel.wording import plural

if TYPE_CHECKING:
    from umi_sim.record.verdict import Verdict
    from umi_sim.runs.corpus import CorpusFile
    from umi_sim.runs.replay import Replayed
    from umi_sim.seedfile.files import SeedFile

DURABLE: Final = "scenarios/seeds"
EPHEMERAL: Final = ".umi-sim/ephemeral"


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--relaxed", is_flag=True, help="Compare the failure only, not the hashes.")
@click.option(
    "--regenerate", is_flag=True, help="Draw the run from its seed again instead of using the recorded items."
)
@click.option("--scenario", "own", default="", metavar="FILE", help="The file of a scenario of your own.")
@click.option(
    "--expect",
    type=click.Choice(["pass", "fail"]),
    help="Expect this instead of what the file expects; compare no hashes.",
)
@click.option("--trace", metavar="FILE", help="Write every record of the run, for `show`.")
@click.option("--details", is_flag=True, help="Print the full report of a run that passes.")
@click.option(
    "--of", default="", metavar="MODULE:NAME", help="Your store or program, which FILE was recorded with."
)
@click.option("--own-loop", is_flag=True, help="Run a program on asyncio's own event loop, in real time.")
@shows()
def replay(
    files: Sequence[str], trace: str | None, details: bool, expect: str | None, of: str, own_loop: bool,
    **how: Any,
) -> Iterator[Report]:  # fmt: skip
    """Run seed files, or recordings of umi_live, again and compare with what they recorded.

    For a file of a store or a program of yours --of names the code that is run; a file never does.

    Exit 0: as recorded. 1: no failure where one was recorded. 4: the hashes differ. 2: not readable.
    Else the code of the failure.

    \b
    umi-sim replay .umi-sim/ephemeral/*.json
    umi-sim replay --relaxed scenarios/seeds/*.json
    git bisect run umi-sim replay --expect pass FILE
    umi-sim replay .umi-sim/programs/FILE --of mine:main
    """
    if trace and (len(files) > 1 or how["regenerate"]):
        refuse("--trace: write the records of one recorded file: name one FILE, without --regenerate")
    if how["own"] and not how["regenerate"]:
        refuse(f"--scenario {how['own']}: is read with --regenerate only, the items of a file need none")
    if trace:
        must_take_trace(trace, *files)
    for number, file in enumerate(files):
        at("replay", number, len(files), unit="file")
        worlds = {"trace": trace, "details": details, "expect": expect, **how}
        try:
            other = find_other(file, of, [f"--{name}" for name, value in worlds.items() if value])
            if own_loop and not isinstance(other, ProgramFile):
                refuse(f"--own-loop: {file} is no case of a program of yours")
            if other:
                yield other.replay(**({"own_loop": True} if own_loop else {}))
            else:
                yield replay_file(file, trace, details, expect=expect or "", **how)
        except CommandRefused as error:  # an unreadable file must not prevent the others from running
            yield Report("", exit_code=complain(str(error), error.code))


def replay_file(
    file: str, trace: str | None, details: bool, *, relaxed: bool, regenerate: bool, own: str, expect: str
) -> Report:
    """Replay one seed file."""
    from umi_sim.runs import replay as replaying
    from umi_sim.seedfile import files as seed_file

    try:
        seed = seed_file.read(Path(file))
        for remark in remarks(file, seed):
            complain(remark)
        if seed.is_bare and not regenerate:
            why = f"its run was ended by force, so it holds no items: umi-sim replay --regenerate {file}"
            refuse(f"{file}: {why}")
        if regenerate:
            done = replaying.regenerate(seed, expect, own)
        else:
            done = replaying.replay(seed, relaxed=relaxed, expect=expect)
    except seed_file.BadSeedFile as error:
        refuse(error)
    except replaying.NotRegenerated as error:
        refuse(f"{file}: {error}")
    if trace:
        replaying.trace_of(seed, relaxed=relaxed).write(Path(trace), seed_file.config_to_json(seed.config))
    return report_replay(file, again(file, relaxed, regenerate, own, expect), done, details)


def report_replay(file: str, repeat: str, done: "Replayed", details: bool) -> Report:
    """Report the result of a replay."""
    from umi_sim.explain import report

    # Only a failure other than the recorded one needs a new file.
    path = kept_path(done.verdict) if done.what == "other failure" else None
    saved = again(path.as_posix()) if path else repeat if done.what == "other failure" else ""
    summary = {"file": file, "class": done.what, "why": done.why, "exit": done.exit_code, "saved": saved}
    reported = report.of_run(done.verdict, repeat, file=file, with_details=details)
    rows = chain(comparison(file, done, saved), reported.lines)
    value = lambda: {**summary, "verdict": report.as_json(done.verdict)}  # noqa: E731  # one line, used once
    head = f"{reported.head}, as recorded" if done.what == "same failure" else reported.head
    return Report(head, rows, value, done.exit_code)


def comparison(file: str, done: "Replayed", saved: str) -> Iterator[ReportRow]:
    from umi_sim.explain import records

    # The reason names the command with FILE as a placeholder, which is replaced by the name.
    why, bless, _ = done.why.partition("umi-sim bless FILE")
    yield row("replay", f"{done.what}: {why.rstrip()}", f"umi-sim bless {file}" if bless else "")
    if saved:
        yield whole("saved", saved)
    yield from under("there", records.in_lines(done.records))


def again(file: str, relaxed: bool = False, regenerate: bool = False, own: str = "", expect: str = "") -> str:
    """Return the command that replays a file with these options."""
    from umi_sim.explain.report import replay_of

    options = [*(["--relaxed"] if relaxed else []), *(["--regenerate"] if regenerate else [])]
    options += [*(["--scenario", own] if own else []), *(["--expect", expect] if expect else [])]
    return replay_of(file, *options)


def remarks(file: str, seed: "SeedFile") -> Iterator[str]:
    """Yield reasons why the hashes of a file may differ or must not be trusted."""
    from umi_sim.record.provenance import machine

    here = machine()
    made = {key: str(seed.made_by.get(key, "")) for key in here}
    # A different interpreter or numpy may explain a different hash.
    # A file without these fields gives no reason for a remark.
    if any(made.values()) and made != here:
        yield f"{file}: made by {' '.join(made.values())}, replayed by {' '.join(here.values())}"
    if seed.is_edited:
        yield f"{file}: edited by hand: hashes not trusted"


def kept_path(verdict: "Verdict") -> Path | None:
    """Write the seed file of a failure and return its path; None, with a message, if that fails."""
    from umi_sim.runs import corpus
    from umi_sim.seedfile import files as seed_file

    try:
        return corpus.keep_run(verdict)
    except OSError as error:
        complain(f"no seed file was written: {error.filename or EPHEMERAL}: {error.strerror}")
    except seed_file.BadSeedFile as error:
        complain(f"no seed file was written: {error}")
    return None


@click.command()
@click.argument("file")
@click.option("--ticket", default="", metavar="TEXT", help="Where an open bug is tracked.")
@click.option("--other", is_flag=True, help="Accept a failure other than the recorded one, too.")
@shows()
def bless(file: str, ticket: str, other: bool) -> Report:
    """Accept the present result of a seed file: print what changes, and rewrite the file.

    A failure that is gone: the file expects a pass from now on, and notes where the bug was fixed.

    \b
    umi-sim bless scenarios/seeds/relation-ends-receipt-forgotten.json
    """
    from umi_sim.runs import acceptance as blessing
    from umi_sim.seedfile import files as seed_file

    try:
        done = blessing.bless(readable(file), ticket, other=other)
    except blessing.NotBlessed as error:
        refuse(f"{file}: {error}")
    if done.is_new:
        seed_file.write(Path(file), done.seed)
    expect = done.seed.expect.result
    verb = "blessed" if done.is_new else "as recorded, nothing to bless"
    rows = (row("", change, column=0) for change in done.changes)
    value = {"file": file, "changes": list(done.changes), "expect": expect}
    return Report(f"OK {file}: {verb}, expected to {expect}", rows, lambda: value)


# The corpus.


@click.group(cls=Commands, headings={"Commands": ("list", "keep", "prune")}, invoke_without_command=True)
@click.pass_context
def corpus(context: click.Context) -> int:
    """List the kept seed files, keep one for good, or remove found ones that pass now.

    \b
    umi-sim corpus list
    umi-sim corpus keep .umi-sim/ephemeral/FILE --ticket 17
    umi-sim corpus prune
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0


@corpus.command("list")
@click.argument("folders", nargs=-1, metavar="[FOLDER...]")
@shows()
def list_files(folders: Sequence[str]) -> Report:
    """List seed files: what each expects, items, hits, ticket or fix. Nothing is run.

    \b
    umi-sim corpus list
    umi-sim corpus list scenarios/seeds --json
    """
    from umi_sim.runs import corpus as keeping

    for folder in folders:
        if not Path(folder).is_dir():
            refuse(f"{folder}: no such folder")
    files = [kept for folder in folders or (DURABLE, EPHEMERAL) for kept in keeping.list_files(Path(folder))]
    code = 2 if any(kept.seed is None for kept in files) else 0
    head = "" if files else "no seed files"
    return Report(head, map(file_row, files), lambda: list(map(file_as_json, files)), code)


def file_as_json(kept: "CorpusFile") -> dict[str, Any]:
    seed = kept.seed
    if seed is None:
        return {"file": kept.path.as_posix(), "problem": kept.problem}
    return {
        "file": kept.path.as_posix(), "expect": seed.expect.result, "items": len(seed.items),
        "hits": seed.history.hits, "passes": seed.history.passes, "ticket": seed.history.ticket,
        "fixed_in": seed.history.fixed_in, "notes": seed.history.notes,
    }  # fmt: skip


def file_row(kept: "CorpusFile") -> ReportRow:
    seed = kept.seed
    if seed is None:
        return row("unreadable", kept.problem)
    history = seed.history
    parts = [
        plural(len(seed.items), "item"), plural(history.hits, "hit"),
        *([f"passed {plural(history.passes, 'time')}"] if history.passes else []),
        *([f"ticket {history.ticket}"] if history.ticket else []),
        *([f"fixed in {history.fixed_in[:12]}"] if history.fixed_in else []),
        *([history.notes] if history.notes else []),
    ]  # fmt: skip
    return ReportRow(seed.expect.result, (kept.path.as_posix(), *", ".join(parts).split(" ")), hang=4)


@corpus.command("keep")
@click.argument("file")
@click.option("--ticket", default="", metavar="TEXT", help="Where the open bug is tracked.")
@click.option("--notes", default="", metavar="TEXT", help="The cause, in one line.")
@click.option("--folder", default=DURABLE, show_default=True, help="The folder of kept files.")
@shows()
def keep_file(file: str, ticket: str, notes: str, folder: str) -> Report:
    """Keep a seed file for good: a fixed bug that must stay fixed, or an open one with a ticket.

    \b
    umi-sim corpus keep .umi-sim/ephemeral/FILE --ticket 17
    """
    from umi_sim.runs import corpus as keeping

    readable(file)  # refuses a file that is no seed file
    try:
        path = keeping.keep_for_good(Path(file), Path(folder), ticket, notes)
    except keeping.NotKept as error:
        refuse(error)
    return Report(f"OK kept as {path.as_posix()}", value=lambda: {"file": path.as_posix()})


@corpus.command("prune")
@shows()
def prune() -> Report:
    """Run the seed files that were found here, and remove those that pass now.

    \b
    umi-sim corpus prune
    """
    from umi_sim.runs import corpus as keeping

    at("replay of earlier failures", unit="file")
    done = list(keeping.replay_kept(removes=True))
    rows = (
        ReportRow(word_of(kept), kept.problem.split(" ") if kept.problem else [kept.path.as_posix()])
        for kept in done
    )
    value = [
        {"file": kept.path.as_posix(), "class": word_of(kept), "removed": kept.is_removed} for kept in done
    ]
    code = 2 if any(kept.seed is None for kept in done) else 0
    return Report("" if done else f"no seed files in {EPHEMERAL}", rows, lambda: value, code)


def word_of(kept: "CorpusFile") -> str:
    if kept.replayed is None:
        return "no end" if kept.is_endless else "unreadable"
    return "removed" if kept.is_removed else kept.replayed.what


COMMANDS: Final = (replay, bless, corpus)

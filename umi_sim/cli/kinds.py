"""Kinds of files besides seed files of worlds: recordings, runs of stores and cases of programs.

Law 1. Each kind is one class. Commands call its methods, and do not look at formats themselves.
Law 2. A command that a kind does not support is refused in one line, which names the commands that work.
Law 3. A file never causes an import: the user names the code of a run, with --of.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from umi_sim.cli import recordings
from umi_sim.cli.arguments import must_take_script
from umi_sim.cli.console import refuse
from umi_sim.kernel.report import Report, ReportRow, row, whole
from umi_sim.kernel.wording import plural
from umi_sim.record.saved_failures import BadFile, format_of, name_subject, write_whole

if TYPE_CHECKING:
    from umi_sim.pages.lives import PageRun
    from umi_sim.programs.program import Program
    from umi_sim.shrink.search import Budget
    from umi_sim.targets.adapter import Adapter

PageParts = tuple[Callable[[], Mapping[str, object]], Callable[[], "PageRun"]]


class RunFile:
    """A file of this kind. `of`: the code of its run, as named by --of; `instead`: commands that read it."""

    what = ""
    instead = ""

    def __init__(self, file: str, of: str) -> None:
        self.file, self.of = file, of

    def refuse_command(self, *_: object, **__: object) -> NoReturn:
        command = click.get_current_context().info_name
        refuse(f"{self.file}: is {self.what}, which umi-sim {command} does not read: {self.instead}")

    replay: Callable[..., Report] = refuse_command
    show: Callable[..., Report] = refuse_command
    why: Callable[..., Report] = refuse_command
    export: Callable[..., Report] = refuse_command
    shrink: Callable[..., Report] = refuse_command
    find_page: Callable[..., PageParts]
    describe: Callable[[], str]
    lacks = ""  # what its page does not show


class RecordingFile(RunFile):
    """A recording of umi_live."""

    what = "a recording of umi_live"
    instead = "umi-sim html FILE shows it, umi-sim replay FILE runs it"

    def __init__(self, file: str, of: str) -> None:
        super().__init__(file, of)
        if of:
            refuse(f"--of {of}: {file} is of Umi's own memory, and needs no name")

    def replay(self) -> Report:
        return recordings.replay_recording(self.file)

    def shrink(self, budget: int) -> Report:
        return recordings.shrink_recording(self.file, budget)

    def find_page(self, runs: int) -> PageParts:
        from umi_sim.pages import recording_page

        head, steps = recordings.readable(self.file)
        page, life = recording_page.data_of, recording_page.play_recording
        return partial(page, self.file, head, steps), partial(life, head, steps, (), 1)

    def describe(self) -> str:
        return f"recording of umi_live, {plural(len(recordings.readable(self.file)[1]), 'step')}"


class NamedFile(RunFile):
    """A run of the user's code. `saved`: the content of the file; `subject`: the name of the code in it."""

    instead = "umi-sim show FILE and html FILE show it; replay, why and export FILE --of MODULE:NAME run it"
    unknown = "MODULE:NAME"
    saved: Any
    subject: str

    def __init__(self, file: str, of: str) -> None:
        super().__init__(file, of)
        try:
            self.load(Path(file))
        except BadFile as error:
            refuse(error)

    def load(self, path: Path) -> None:
        raise NotImplementedError

    def must_be_named(self) -> str:
        """Return the value of --of, or refuse the command without it (law 3)."""
        if not self.of:
            command = click.get_current_context().info_name
            message = f"umi-sim {command} {self.file} --of {name_subject(self.subject, self.unknown)}"
            refuse(f"{self.file}: is {self.what}, which is imported and run only if you name it: {message}")
        return self.of

    def script_path(self, out: str | None) -> str:
        path = out or f"show_{re.sub('[^a-z0-9]+', '_', Path(self.file).stem.lower())}.py"
        must_take_script("--out", path)
        return path


class StoreFile(NamedFile):
    """A run of a store, as saved by `umi-sim target`."""

    what = "a run of a store of yours"
    unknown = "MODULE:CLASS"
    lacks = "what the store holds, and what it needs to fail: it is not run"

    def load(self, path: Path) -> None:
        from umi_sim.targets import seed_files

        self.saved = seed_files.read(path)
        self.subject = self.saved.target

    def find_adapter(self) -> "type[Adapter]":
        from umi_sim.cli.target import by_name, check_fits

        if self.subject.startswith("--") or " " in self.subject:
            message = "umi-sim target with the options by which it was found, and --replay FILE, runs it"
            refuse(f"{self.file}: is a run of a process, or of two stores: {message}")
        adapter = by_name(self.must_be_named())
        check_fits(adapter, self.file, self.saved)
        return adapter

    def replay(self) -> Report:
        from umi_sim.cli.target import replay_saved

        return replay_saved(self.find_adapter(), self.of, self.file, self.saved)

    def show(self, all_items: bool) -> Report:
        from umi_sim.targets.reports import report_saved

        return report_saved(self.file, self.saved)

    def why(self, budget: "Budget") -> Report:
        from umi_sim.cli.target import live_saved
        from umi_sim.targets import reports, shrinking

        adapter = self.find_adapter()
        verdict = live_saved(adapter, self.saved)
        if verdict.broken is None:
            refuse(f"{self.file}: passes now, and there is nothing to explain")
        needed = list(budget.limit(shrinking.find_needed(adapter, verdict)))
        rows = [*reports.list_cause(adapter, verdict), *reports.report_needed(needed), *list_end(budget)]
        if not (needed or budget.is_spent):
            rows.append(row("needed", f"of more than {shrinking.NEEDED_COUNT_MAX} items none is left out"))
        head = f"WHY {self.of} {verdict.broken.rule}: {verdict.broken.op}"
        return Report(head, rows, lambda: {"needed": [f"{change}: {end}" for _, change, end in needed]})

    def export(self, out: str | None) -> Report:
        from umi_sim.cli.target import live_saved
        from umi_sim.targets.exporting import CannotExport, script_of

        adapter, path = self.find_adapter(), self.script_path(out)
        try:
            text = script_of(adapter, live_saved(adapter, self.saved))
        except CannotExport as error:
            refuse(f"{self.file}: {error}")
        write_whole(Path(path), text.encode(errors="backslashreplace"))
        return report_script(path, "what the adapter imports, and no umi_sim")

    def find_page(self, runs: int) -> PageParts:
        from umi_sim.targets import page

        return partial(page.data_of, self.file, self.saved), partial(page.play_saved, self.saved, (), 1)

    def describe(self) -> str:
        return f"run of a store, {plural(len(self.saved.steps), 'item')}"


class ProgramFile(NamedFile):
    """A case of a program, as saved by `umi-sim program`."""

    what = "a case of a program of yours"

    def load(self, path: Path) -> None:
        from umi_sim.programs.failure_files import read_case

        self.saved = read_case(path)
        self.subject = self.saved.program

    def find_program(self) -> "Program":
        from umi_sim.cli.program import load_program

        return load_program(self.must_be_named())

    def replay(self, own_loop: bool = False) -> Report:
        from umi_sim.cli.program import refuse_bad
        from umi_sim.programs.own_loop import run_on_asyncio
        from umi_sim.programs.reports import report_replay
        from umi_sim.programs.simulation import run_case

        program, saved = self.find_program(), self.saved
        with refuse_bad(), redirect_stdout(sys.stderr):
            if own_loop:
                outcome, where = run_on_asyncio(program, saved.perturbations), " on asyncio's own loop"
            else:
                outcome, where = run_case(program, saved.perturbations, saved.seed), ""
            return report_replay(self.of, self.file, program, saved, outcome, where)

    def show(self, all_items: bool) -> Report:
        from umi_sim.programs.reports import report_saved

        return report_saved(self.file, self.saved, all_events=all_items)

    def why(self, budget: "Budget") -> Report:
        from umi_sim.cli.program import refuse_bad
        from umi_sim.programs.reports import report_needed

        program = self.find_program()
        with refuse_bad(), redirect_stdout(sys.stderr):
            found = report_needed(self.of, self.file, program, self.saved, budget)
        return found.also(*list_end(budget))

    def export(self, out: str | None) -> Report:
        from umi_sim.cli.program import refuse_bad
        from umi_sim.programs.exporting import write_script

        program, path = self.find_program(), self.script_path(out)
        with refuse_bad(), redirect_stdout(sys.stderr):
            needs = write_script(self.of, program, self.saved, Path(path))
        return report_script(path, needs)

    def find_page(self, runs: int) -> PageParts:
        from umi_sim.programs import page

        return partial(page.data_of, self.file, self.saved), partial(page.play_saved, self.saved, (), 1)

    def describe(self) -> str:
        return f"case of a program, {plural(len(self.saved.perturbations), 'perturbation')}"


def report_script(out: str, needs: str) -> Report:
    rows = (row("needs", needs), whole("run", join(["python", out])))
    return Report(f"WROTE {out}", rows, lambda: {"file": out, "needs": needs})


KINDS: Final[Mapping[str, type[RunFile]]] = {"umi-target": StoreFile, "umi-program": ProgramFile}


def list_end(budget: "Budget") -> Iterator[ReportRow]:
    """Yield a row if an explanation was ended by its time limit."""
    if budget.is_spent:
        yield row("stopped", f"{budget.describe_end()}: this is what was found by then")


def find_other(file: str, of: str = "", others: Sequence[str] = ()) -> RunFile | None:
    """Return the file as its kind; None if it is a seed file of a world, or does not exist.

    `others`: given options that are only for worlds.
    """
    kind = RecordingFile if recordings.is_recording(file) else KINDS.get(format_of(Path(file)))
    if kind is None:
        if of:
            refuse(f"--of {of}: {file} is no run of a store or a program of yours")
        return None
    if others:
        refuse(f"{others[0]}: {file} is {kind.what}, and this option is for seed files of worlds")
    return kind(file, of)

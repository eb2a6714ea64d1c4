"""The console: commands return reports, and one place shows them; errors are one line.

Law 1. What a user can get wrong ends in one clear line on standard error and status 2.
Law 2. A command prints nothing by itself: what it returns is shown as text, as JSON or not at all.
Law 3. A bug of ours shows its traceback and ends with status 4: it says nothing about the memory.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from importlib import import_module
from typing import Any, Final, NoReturn

import click

from umi_sim.cli import progress
from umi_sim.cli.terminal import in_color, is_colored, width, write_line
from umi_sim.kernel.report import MARGIN, Report, fill_lines, laid_out
from umi_sim.kernel.wording import escape_text
from umi_sim.record.exit_codes import HARNESS, INTERRUPTED, USAGE, severest

SEED_COUNT_MAX: Final = 1_000_000
SUMMARY_CHARS_MAX: Final = 300
HELP_WIDTH_MAX: Final = 110
NOWHERE: Final[Mapping[str, Sequence[str]]] = {}


class Help(click.HelpFormatter):
    """Help with less room for the names of options where a line is short."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl(rows, min(col_max, self.width // 2), col_spacing)


class HelpContext(click.Context):
    formatter_class = Help


class Commands(click.Group):
    """A group whose commands return their exit code, and whose errors are one line.

    `places`: modules of umi_sim.cli with the names of their commands, imported when one is asked for.
    `headings`: under which of them the help lists which commands, the commonest first.
    """

    context_class = HelpContext

    def __init__(
        self, headings: Mapping[str, Sequence[str]], places: Mapping[str, Sequence[str]] = NOWHERE, **how: Any
    ) -> None:
        super().__init__(**how)
        self.places = {command: module for module, commands in places.items() for command in commands}
        self.headings = headings

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *self.places])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.places:
            # Only the module of the command that was asked for is
            # imported: that is most of the time a small command takes.
            commands: Sequence[click.Command] = import_module(f"umi_sim.cli.{self.places[cmd_name]}").COMMANDS
            command = next((command for command in commands if command.name == cmd_name), None)
        else:
            command = super().get_command(ctx, cmd_name)
        if command is not None:
            command.context_class = HelpContext
        return command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        extra.setdefault("terminal_width", min(width(), HELP_WIDTH_MAX) - len(MARGIN))
        return super().make_context(*args, **extra)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in self.headings.items():
            commands = {name: self.get_command(ctx, name) for name in names}
            with formatter.section(heading):
                rows = [
                    (name, it.get_short_help_str(SUMMARY_CHARS_MAX)) for name, it in commands.items() if it
                ]
                formatter.write_dl(rows)

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]  # both overloads
        is_alone = extra.pop("standalone_mode", True)
        # click would print errors in its own way and end with
        # its own codes; standalone_mode=False hands them to us.
        code = exit_code(lambda: super(Commands, self).main(args, standalone_mode=False, **extra))
        if is_alone:
            sys.exit(code)
        return code


def exit_code(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code; each error that a user can cause is one line."""
    try:
        return command() or 0
    except click.ClickException as error:
        return complain(describe_error(error), getattr(error, "code", error.exit_code))
    except (click.Abort, KeyboardInterrupt):
        complain(f"interrupted{progress.standing()}")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has gone, and the interpreter still flushes
        return 0
    except OSError as error:
        return complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except Exception:
        sys.excepthook(*sys.exc_info())  # a bug of ours is no verdict, so it must not end with 1
        return HARNESS


def describe_error(error: click.ClickException) -> str:
    """The error, and where to read on if it does not say itself what is allowed."""
    text = error.format_message()
    says_it = isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter)
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None or says_it:
        return text
    # click ends with "Did you mean x?" where it knows a near name.
    joint = "" if text.endswith("?") else ":"
    return f"{text.removesuffix('.')}{joint} {context.command_path} --help tells what there is"


def complain(message: str, code: int = USAGE) -> int:
    """Tell what is wrong, if it can be told; the code to end with."""
    progress.clear()
    with suppress(OSError):  # a full disk, say; a verdict is still to come
        for line in error_lines(message):
            click.echo(line.encode(errors="backslashreplace"), err=True)
    return code


def error_lines(message: str) -> Iterator[str]:
    """Yield lines as wide as a terminal; elsewhere each in one piece, for a search in a log."""
    is_shown = sys.stderr is not None and sys.stderr.isatty()
    for line in message.splitlines():
        if is_shown:
            yield from fill_lines(line.split(" "), "umi-sim: ", MARGIN, width(2))
        else:
            yield f"umi-sim: {escape_text(line)}"


def refuse(message: object, code: int = USAGE) -> NoReturn:
    """End the command with this line and this code."""
    raise CommandRefused(str(message), code)


class CommandRefused(click.ClickException):
    """The line, and the code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


# Reports.


def shows(*, one_list: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command that returns a report, or yields several, has the options that say how to show them.

    `one_list`: as JSON, what is yielded is one list, not a line for each.
    """

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run_and_show(*args: Any, as_json: bool, quiet: bool, no_color: bool, **given: Any) -> int:
            # A command that yields is a generator: it runs within
            # `show`, so the progress has to last until that is done.
            with progress.watch_progress(str(command.__name__), quiet=quiet):
                made = command(*args, **given)
                reports = [made] if isinstance(made, Report) else made
                return show(reports, as_json=as_json, quiet=quiet, no_color=no_color, one_list=one_list)

        for option in (
            click.option("--no-color", is_flag=True, help="Plain text on a terminal too."),
            click.option("--quiet", is_flag=True, help="Only the exit code, and errors."),
            click.option("--json", "as_json", is_flag=True, help="JSON instead of text."),
        ):
            run_and_show = option(run_and_show)
        return run_and_show

    return with_options


def show(
    reports: Iterable[Report], *, as_json: bool, quiet: bool, no_color: bool, one_list: bool = False
) -> int:
    """Show each report when it is there; the exit code of all."""
    values, codes = [], []
    is_read = not quiet
    for report in reports:
        codes.append(report.exit_code)
        # A closed pipe (`| head`) ends the printing, not the command: the exit code is of all reports.
        if not is_read or report.value is None:
            continue
        if as_json and one_list:
            values.append(report.value())
        else:
            is_read = show_json(report.value()) if as_json else show_text(report, no_color)
    if is_read and as_json and one_list:
        show_json(values)
    return severest(codes)


def show_text(report: Report, no_color: bool = False) -> bool:
    """Print a report. Return whether the output is still read."""
    has_color = is_colored(no_color)
    for number, line in enumerate(laid_out(report, width())):
        progress.clear()
        shown = in_color(line) if has_color and number == 0 else line
        if not write_line(shown.encode(errors="backslashreplace"), color=has_color):
            return False
    return True


def show_json(value: object) -> bool:
    progress.clear()
    return write_line(json.dumps(value).encode())


# Options that several commands have.


def seed_of(text: str) -> int:
    """A seed as an option gives it: decimal, 0x and hex digits, or a commit id."""
    from umi_sim.kernel.prng import parse_seed

    try:
        return parse_seed(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def seeds_of(text: str) -> range:
    """Seeds A..B, both included, or one seed."""
    # 0-9 is an easy slip, and "0-9 is no seed" would not help.
    if re.fullmatch(r"\d+-\d+", text):
        raise click.BadParameter(f"{text}: write {text.replace('-', '..')}")
    first, dots, last = text.partition("..")
    low, high = seed_of(first), seed_of(last if dots else first)
    if not low <= high < low + SEED_COUNT_MAX:
        raise click.BadParameter(f"{text}: write A..B with A <= B, at most {SEED_COUNT_MAX} seeds")
    return range(low, high + 1)

"""The console: commands return reports, which this module shows; it shows an error as one line.

Law 1. A mistake of the user ends the command with one clear line on standard error and status 2.
Law 2. A command prints nothing by itself: its report is shown as text, as JSON or not at all.
Law 3. A bug of the simulator shows its traceback and ends with status 4: it proves nothing about the memory.
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
    """A formatter of help with a narrower column for the names of options on a narrow terminal."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl(rows, min(col_max, self.width // 2), col_spacing)


class HelpContext(click.Context):
    formatter_class = Help


class Commands(click.Group):
    """A group of commands that return their exit code, and whose errors are one line.

    `places`: the names of the commands in each module of umi_sim.cli, which is imported when one is run.
    `headings`: the commands under each heading of the help, the commonest first.
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
            # Only the module of this command is imported, because imports
            # take most of the time of a small command.
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
        # With standalone_mode=False click raises its errors, instead
        # of printing them in its own form and exiting with its own codes.
        code = exit_code(lambda: super(Commands, self).main(args, standalone_mode=False, **extra))
        if is_alone:
            sys.exit(code)
        return code


def exit_code(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code; show each error that a user can cause as one line."""
    try:
        return command() or 0
    except click.ClickException as error:
        return complain(describe_error(error), getattr(error, "code", error.exit_code))
    except (click.Abort, KeyboardInterrupt):
        complain(f"interrupted{progress.standing()}")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader is gone; the interpreter still flushes
        return 0
    except OSError as error:
        return complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except Exception:
        sys.excepthook(*sys.exc_info())  # a bug of the simulator is no verdict, so the code is not 1
        return HARNESS


def describe_error(error: click.ClickException) -> str:
    """Return the text of an error, with a hint to --help if it does not say what is allowed."""
    text = error.format_message()
    says_it = isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter)
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None or says_it:
        return text
    # click ends the text with "Did you mean x?" if it knows a similar name.
    joint = "" if text.endswith("?") else ":"
    return f"{text.removesuffix('.')}{joint} {context.command_path} --help tells what there is"


def complain(message: str, code: int = USAGE) -> int:
    """Print a message on standard error, if that works, and return the exit code."""
    progress.clear()
    with suppress(OSError):  # for example a full disk; the command may still print a verdict
        for line in error_lines(message):
            click.echo(line.encode(errors="backslashreplace"), err=True)
    return code


def error_lines(message: str) -> Iterator[str]:
    """Yield the lines of a message; wrapped on a terminal only, so that logs can be searched."""
    is_shown = sys.stderr is not None and sys.stderr.isatty()
    for line in message.splitlines():
        if is_shown:
            yield from fill_lines(line.split(" "), "umi-sim: ", MARGIN, width(2))
        else:
            yield f"umi-sim: {escape_text(line)}"


def refuse(message: object, code: int = USAGE) -> NoReturn:
    """End the command with this message and this exit code."""
    raise CommandRefused(str(message), code)


class CommandRefused(click.ClickException):
    """A refused command: the message and the exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


# Reports.


def shows(*, one_list: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that shows the report of a command, or several, by the options --json, --quiet ...

    `one_list`: the JSON of several reports is one list instead of a line for each.
    """

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run_and_show(*args: Any, as_json: bool, quiet: bool, no_color: bool, **given: Any) -> int:
            # A command that yields reports is a generator, which runs
            # during `show`, so the progress display must include that.
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
    """Show each report as soon as it exists, and return the severest exit code."""
    values, codes = [], []
    is_read = not quiet
    for report in reports:
        codes.append(report.exit_code)
        # A closed pipe (`| head`) ends the output, not the command: the exit code covers all reports.
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
    """Print a report. Return False if the output is no longer read."""
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
    """Parse the seed of an option: decimal, 0x and hex digits, or a commit id."""
    from umi_sim.kernel.prng import parse_seed

    try:
        return parse_seed(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def seeds_of(text: str) -> range:
    """Parse seeds A..B, both included, or one seed."""
    # 0-9 is a likely mistake, for which the general message ("is no seed") would not help.
    if re.fullmatch(r"\d+-\d+", text):
        raise click.BadParameter(f"{text}: write {text.replace('-', '..')}")
    first, dots, last = text.partition("..")
    low, high = seed_of(first), seed_of(last if dots else first)
    if not low <= high < low + SEED_COUNT_MAX:
        raise click.BadParameter(f"{text}: write A..B with A <= B, at most {SEED_COUNT_MAX} seeds")
    return range(low, high + 1)

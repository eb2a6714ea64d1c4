"""The console: one-line errors, output in UTF-8, and the options that commands share.

Law 1. What a user can get wrong ends in one clear line on standard error and status 2.
Law 2. Standard output has the same bytes in every locale; color is for terminals.
Law 3. A bug of ours shows its traceback and ends with status 4: it says nothing about the memory.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

import click

from umi_sim.record.verdict import HARNESS, INTERRUPTED

USAGE: Final = 2
SEED_COUNT_MAX: Final = 1_000_000
COLORS: Final = {"PASS": "green", "SAME": "green", "OK": "green", "FAIL": "red"}


class Commands(click.Group):
    """A group whose commands return their exit code, and whose errors are one line.

    `places`: modules of umi_sim.cli with the names of their commands, imported when one is asked for.
    """

    def __init__(self, places: Mapping[str, Sequence[str]], **how: Any) -> None:
        super().__init__(**how)
        self.places = {command: module for module, commands in places.items() for command in commands}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *self.places])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.places:
            commands: Sequence[click.Command] = import_module(f"umi_sim.cli.{self.places[cmd_name]}").COMMANDS
            return next(command for command in commands if command.name == cmd_name)
        return super().get_command(ctx, cmd_name)

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]  # both overloads
        is_alone = extra.pop("standalone_mode", True)
        code = exit_code(lambda: super(Commands, self).main(args, standalone_mode=False, **extra))
        if is_alone:
            sys.exit(code)
        return code


def exit_code(command: Callable[[], Any]) -> int:
    """What a command comes to, with everything a user can cause told in one line."""
    try:
        return command() or 0
    except click.ClickException as error:
        return complain(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # who read has gone, and the interpreter still flushes
        return 0
    except OSError as error:
        return complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except Exception:
        sys.excepthook(*sys.exc_info())  # a bug of ours is no verdict, so it must not end with 1
        return HARNESS


def complain(message: str) -> int:
    for line in message.splitlines():
        click.echo(f"umi-sim: {line}".encode(errors="backslashreplace"), err=True)
    return USAGE


def refuse(message: object) -> NoReturn:
    raise click.ClickException(str(message))


def say(lines: Iterable[str], color: bool = False) -> None:
    """Lines on standard output; the first word in color on a terminal."""
    for number, line in enumerate(lines):
        word, blank, rest = line.partition(" ")
        if color and number == 0 and word in COLORS:
            line = click.style(word, fg=COLORS[word], bold=True) + blank + rest
        if not told(line.encode(errors="backslashreplace"), color):
            return


def say_json(value: object) -> None:
    told(json.dumps(value).encode())


def told(line: bytes, color: bool = False) -> bool:
    """Whether somebody reads what is written; that nobody does any more is no verdict."""
    if sys.stdout is None:  # closed before we began
        return False
    try:
        click.echo(line, color=color)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter still flushes
        return False
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None
    return True


# Options that several commands have.


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--no-color", is_flag=True, help="Plain text on a terminal too."),
        click.option("--quiet", is_flag=True, help="Only the exit code, and errors."),
        click.option("--json", "as_json", is_flag=True, help="JSON instead of text."),
    ):
        command = option(command)
    return command


def is_colored(no_color: bool) -> bool:
    is_plain = no_color or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return sys.stdout is not None and sys.stdout.isatty() and not is_plain


def seed_of(text: str) -> int:
    """A seed as an option gives it: decimal, 0x and hex digits, or a commit id."""
    from umi_sim.kernel.prng import parse_seed

    try:
        return parse_seed(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def seeds_of(text: str) -> range:
    """Seeds A..B, both included, or one seed."""
    first, dots, last = text.partition("..")
    low, high = seed_of(first), seed_of(last if dots else first)
    if not low <= high < low + SEED_COUNT_MAX:
        raise click.BadParameter(f"{text}: write A..B with A <= B, at most {SEED_COUNT_MAX} seeds")
    return range(low, high + 1)

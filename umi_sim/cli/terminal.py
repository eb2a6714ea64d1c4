"""The terminal: its width, its colors, and writing to it.

Law 1. Standard output has the same bytes in every locale; color is for terminals.
"""

import os
import sys
from typing import Final

import click

from umi_sim.kernel.report import WIDTH

WIDTH_MIN: Final = 20
COLORS: Final = {"PASS": "green", "SAME": "green", "OK": "green", "FAIL": "red"}


def width(descriptor: int = 1) -> int:
    """Return the value of COLUMNS, else the width of the terminal of this output, else WIDTH."""
    # COLUMNS comes first because the user has set it, and because it gives tests the same width everywhere.
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(int(columns), WIDTH_MIN)
    try:
        return max(os.get_terminal_size(descriptor).columns or WIDTH, WIDTH_MIN)
    except OSError:
        return WIDTH


def is_colored(no_color: bool) -> bool:
    is_plain = no_color or "NO_COLOR" in os.environ or is_dumb()
    return sys.stdout is not None and sys.stdout.isatty() and not is_plain


def is_dumb() -> bool:
    """Return True if the terminal would print an escape sequence instead of interpreting it."""
    return os.environ.get("TERM") == "dumb"


def in_color(line: str) -> str:
    """Return a line with its first word in color, if that is a verdict."""
    word, blank, rest = line.partition(" ")
    return click.style(word, fg=COLORS[word], bold=True) + blank + rest if word in COLORS else line


def write_line(line: bytes, *, color: bool = False) -> bool:
    """Write a line. Return False if the output is no longer read, for example after a closed pipe."""
    if sys.stdout is None:  # closed before the command started
        return False
    try:
        # Bytes instead of text, because the encoding of the locale would change the output (law 1).
        click.echo(line, color=color)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter still flushes at exit
        return False
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None
    return True

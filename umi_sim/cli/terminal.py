"""The terminal: how wide it is, whether it has colors, and what is written to it.

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
    """Return the width by COLUMNS, else that of the terminal of this output; WIDTH where there is none."""
    # First, as it is the user's word; it also gives tests one width everywhere.
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
    """Return whether the terminal would show an escape instead of obeying it."""
    return os.environ.get("TERM") == "dumb"


def in_color(line: str) -> str:
    """A verdict with its word in color."""
    word, blank, rest = line.partition(" ")
    return click.style(word, fg=COLORS[word], bold=True) + blank + rest if word in COLORS else line


def write_line(line: bytes, *, color: bool = False) -> bool:
    """Write a line. Return whether the output is still read; a closed pipe is no verdict."""
    if sys.stdout is None:  # closed before we began
        return False
    try:
        # Bytes, never text: the encoding of the locale would change what is printed (law 1).
        click.echo(line, color=color)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter still flushes
        return False
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None
    return True

"""Watching: whether a run executed one line of the source.

Law 1. A line belongs to the innermost function around it; a line outside of functions is executed at import,
so by every run.
Law 2. A line without code of its own, such as the second of a long text, counts as the last line before it
that has some.
Law 3. Watching does not change a run: its trace is the same.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from umi_core.data import Data, Owner


class WatchedLine(Data):
    """The line to watch: the end of the path of its file, first line and name of its function, the line."""

    file: str
    first: int
    function: str
    line: int


class LineWatch(Owner):
    """The observation of one line: `met` so far, or not."""

    met: bool = False


def place_of(text: str, file: str, line: int) -> WatchedLine | None:
    """Find the function of a line of this text; None if every run executes the line."""
    around = [code for code in codes(compile(text, file, "exec", dont_inherit=True)) if line in span(code)]
    # Of nested functions the one that begins last; of two that begin on one line (a lambda) the shorter.
    inner = max(around, key=lambda code: (code.co_firstlineno, -len(span(code))), default=None)
    # The code of a module or of a class body runs at import; only functions have CO_OPTIMIZED.
    if inner is None or not inner.co_flags & CO_OPTIMIZED:
        return None
    # Law 2: of a call over three lines only the first may have code of its own.
    own = max(it for it in lines(inner) if it <= line)
    return WatchedLine(file, inner.co_firstlineno, inner.co_name, own)


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def lines(code: CodeType) -> list[int]:
    return [line for _, _, line in code.co_lines() if line is not None]


def span(code: CodeType) -> range:
    own = lines(code)
    return range(min(own), max(own) + 1)


@contextmanager
def watching(place: WatchedLine) -> Iterator[LineWatch]:
    """Watch a line until the block ends; runs are slower until they have executed it."""
    watch = LineWatch()

    def enter(frame: FrameType, event: str, value: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        is_named = code.co_firstlineno == place.first and code.co_name == place.function
        # Lines are traced only in this function: calls cost far less.
        return within if is_named and code.co_filename.endswith(place.file) else None

    def within(frame: FrameType, event: str, value: Any) -> Callable[..., Any] | None:
        if event != "line" or frame.f_lineno != place.line:
            return within
        watch.met = True
        sys.settrace(before)
        return None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield watch
    finally:
        sys.settrace(before)

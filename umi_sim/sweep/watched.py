"""Watching: observes whether a run executes one line of the source.

Law 1. A line belongs to the innermost function around it. A line outside of functions is executed at import,
so every run executes it.
Law 2. A line without code, such as the second line of a long string, counts as the last line before it that
has code.
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
    """A line to watch: the end of the path of its file, its function by first line and name, its number."""

    file: str
    first: int
    function: str
    line: int


class LineWatch(Owner):
    """The observation of one line. `met`: it was executed."""

    met: bool = False


def place_of(text: str, file: str, line: int) -> WatchedLine | None:
    """Find the function of a line of this text; None if every run executes the line."""
    around = [code for code in codes(compile(text, file, "exec", dont_inherit=True)) if line in span(code)]
    # Of nested functions the one that begins last is innermost; if two begin on one line (a lambda), the
    # shorter one.
    inner = max(around, key=lambda code: (code.co_firstlineno, -len(span(code))), default=None)
    # The code of a module or of a class body runs at import; only functions have CO_OPTIMIZED.
    if inner is None or not inner.co_flags & CO_OPTIMIZED:
        return None
    # Law 2: in a call over three lines, only the first may have code.
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
    """Watch a line until the block ends; a run is slower until it has executed the line."""
    watch = LineWatch()

    def enter(frame: FrameType, event: str, value: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        is_named = code.co_firstlineno == place.first and code.co_name == place.function
        # Lines are traced only in this function, because tracing lines costs far more than tracing calls.
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

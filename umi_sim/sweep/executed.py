"""The lines of umi_core that a run executes, so that an edit of a line is looked for where the line is run.

Law 1. Of each module only the lines of functions count, since every run executes the others at import.
Law 2. A line without code, such as the second line of a long string, counts as the last line before it that
has code.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType
from typing import Final

from umi_sim.kernel import folders

CORE: Final = folders.PROJECT / "umi_core"

ExecutedLines = Mapping[str, list[int]]
"""From a file, such as "umi_core/text.py", to its lines."""


@contextmanager
def recording() -> Iterator[dict[str, list[int]]]:
    """Record the lines that the block executes; the dictionary is filled when it ends."""
    from coverage import Coverage

    counted = Coverage(data_file=None, config_file=False, include=[f"{CORE}/*"])
    found: dict[str, list[int]] = {}
    counted.start()
    try:
        yield found
    finally:
        counted.stop()
        data = counted.get_data()
        for path in data.measured_files():
            file = Path(path).relative_to(CORE.parent).as_posix()
            found[file] = sorted(data.lines(path) or ())


def code_line(text: str, file: str, line: int) -> int | None:
    """Return the line of the code that a line of this text belongs to; None if an import executes it."""
    around = [code for code in codes(compile(text, file, "exec", dont_inherit=True)) if line in span(code)]
    # Of nested functions the one that begins last is innermost; if two begin on one line (a lambda), the
    # shorter one.
    inner = max(around, key=lambda code: (code.co_firstlineno, -len(span(code))), default=None)
    # The code of a module or of a class body runs at import; only functions have CO_OPTIMIZED.
    if inner is None or not inner.co_flags & CO_OPTIMIZED:
        return None
    own = max(it for it in lines(inner) if it <= line)
    # A definition, with its defaults and decorators, is executed around the function, not in it.
    is_definition = own == inner.co_firstlineno and not inner.co_name.startswith("<")
    return None if is_definition else own


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

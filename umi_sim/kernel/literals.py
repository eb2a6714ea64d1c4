"""Values as Python source, for reports and for readable tests.

Law 1. The source consists of literals, and of calls of umi_core classes with literals. It evaluates to an
equal value.
Law 2. The source of a test is ASCII, and every text is escaped so that it cannot end its string literal.
Law 3. The layout is that of `ruff format`, in lines of WIDTH. In tests, long texts and vectors are constants.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data, Owner, is_struct, list_fields
from umi_core.values import Scope
from umi_sim.kernel.wording import UNSEEN, code_of, cut, split_runs

WIDTH: Final = 88
TEXT_CHARS_MAX: Final = 50  # longer texts become constants
PIECE_CHARS_MAX: Final = 70
TUPLE_MAX: Final = 12  # longer tuples of numbers become constants
POSITIONAL_MAX: Final = 3
GROUPED_MIN: Final = 10_000
QUOTES: Final = "'\""
INDENT: Final = "    "

VALUE_CHARS_MAX: Final = 60  # length of a text in a report

Shortener = Callable[[str], str]

NO_ASCII: Final = re.compile(r"[^\x20-\x7e]")
UNPLAIN: Final = re.compile(rf"{NO_ASCII.pattern}|\\")
UNREADABLE: Final = re.compile(rf"{UNSEEN.pattern}|\\")
SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


class Unwritable(ValueError):
    """A value that cannot be written as a literal."""


class Parts(Data):
    """A call or a sequence: its opening, its parts with their names, and its closing."""

    opening: str
    parts: Sequence[tuple[str, "Node"]]
    closing: str

    @property
    def is_lone_in_tuple(self) -> bool:
        return self.opening == "(" and len(self.parts) == 1


Node = str | Parts


def shorten_text(text: str) -> str:
    return cut(text, VALUE_CHARS_MAX)


def literal(value: object, short: Shortener = shorten_text) -> str:
    """Return a value in one line, equal in every version of Python; `short` shortens a long text."""
    return flat(LineWriter(short).node(value))


class LineWriter(Owner):
    """Writes any value for a report: in one line, with all fields, and with long texts cut by `short`."""

    short: Shortener = shorten_text

    def node(self, value: object) -> Node:
        match value:
            case None | bool():
                return str(value)
            case int():
                return self.number(value)
            case str() | bytes():
                return self.text(value)
            case tuple() | list():
                return self.sequence(value)
        return self.other(value)

    def number(self, value: int) -> str:
        return str(value)

    def text(self, value: str | bytes) -> Node:
        mark, letters = split_literal(value)
        if len(letters) <= VALUE_CHARS_MAX:
            return mark + quote_text(letters, UNPLAIN if mark else UNREADABLE)
        return " + ".join(self.pieces(letters, mark))

    def pieces(self, letters: str, mark: str) -> Iterator[str]:
        """Yield a long run of the same characters as a product."""
        for part in runs_in(letters):
            text, count = (part, 1) if isinstance(part, str) else part
            piece = mark + quote_text(self.short(text), UNPLAIN if mark else UNREADABLE)
            yield piece if count == 1 else f"{piece} * {count}"

    def sequence(self, value: Sequence[object]) -> Node:
        ends = "()" if isinstance(value, tuple) else "[]"
        return Parts(ends[0], [("", self.node(each)) for each in value], ends[1])

    def other(self, value: Any) -> Node:
        if isinstance(value, Mapping):
            return Parts("{", [(f"{quote_text(str(key))}: ", self.node(value[key])) for key in value], "}")
        if not is_struct(type(value)):
            return self.short(repr(value))
        parts = [("", self.node(each)) for each in structs.astuple(value)]
        return Parts(f"{type(value).__name__}(", parts, ")")


class LiteralWriter(LineWriter, kw_only=True):
    """Writes values of umi_core for a test, and collects the imports and constants that it needs."""

    scope: Scope  # is written as SCOPE
    names: dict[str, list[str]] = {}  # module -> classes
    constants: dict[str, list[str]] = {}  # name -> lines
    known: dict[tuple[type, object], str] = {}

    def number(self, value: int) -> str:
        return number(value)

    def sequence(self, value: Sequence[object]) -> Node:
        is_vector = isinstance(value, tuple) and all(type(each) is int for each in value)
        if is_vector and len(value) > TUPLE_MAX:
            return self.constant("VECTOR", value, numbers(value))
        return super().sequence(value)

    def other(self, value: object) -> Node:
        """Return a float, the scope, or a class of umi_core with its fields. Raises Unwritable."""
        if isinstance(value, float):
            # x - x is NaN for infinity and NaN, so only a finite number gives 0.
            return str(value) if value - value == 0 else f'float("{value}")'
        return "SCOPE" if value == self.scope else self.call(value)

    def call(self, value: object) -> Parts:
        """Return the call that makes an instance of umi_core, without default fields. Raises Unwritable."""
        cls = type(value)
        if not (is_struct(cls) and cls.__module__.startswith("umi_core.")):
            raise Unwritable(f"a {cls.__name__} cannot be written as a literal")
        self.needs(cls)
        fields = list_fields(cls)
        required = [field for field in fields if field.required]
        is_named = len(required) > POSITIONAL_MAX
        parts: list[tuple[str, Node]] = []
        for field in fields:
            given = getattr(value, field.name)
            if field in required or differs(given, field.default):
                name = f"{field.name}=" if is_named or field not in required else ""
                parts.append((name, self.node(given)))
        return Parts(f"{cls.__name__}(", parts, ")")

    def needs(self, cls: type) -> None:
        names = self.names.setdefault(cls.__module__, [])
        if cls.__name__ not in names:
            names.append(cls.__name__)

    def text(self, value: str | bytes) -> Node:
        mark, letters = split_literal(value)
        written = mark + quote_text(letters)
        if len(written) <= TEXT_CHARS_MAX:
            return written
        *lines, last = self.pieces(letters, mark)
        ends = "" if len(runs_in(letters)) == 1 else " +"
        return self.constant("BYTES" if mark else "TEXT", value, [*(line + ends for line in lines), last])

    def pieces(self, letters: str, mark: str) -> Iterator[str]:
        """Yield a long text in lines, after its own line ends; a run of the same characters as a product."""
        for part in runs_in(letters):
            if isinstance(part, str):
                yield from (mark + quote_text(piece) for piece in break_text(part))
            else:
                yield f"{mark}{quote_text(part[0])} * {number(part[1])}"

    def constant(self, word: str, value: object, lines: Sequence[str]) -> str:
        """Return the name of a constant that holds this value."""
        key = (type(value), value)
        if key not in self.known:
            self.known[key] = f"{word}_{sum(name.startswith(word) for name in self.constants) + 1}"
            self.constants[self.known[key]] = ["(", *(INDENT + line for line in lines), ")"]
        return self.known[key]

    def head(self) -> Iterator[str]:
        """Yield the imports, the scope and the constants."""
        self.needs(Scope)
        for module in sorted(self.names):
            yield from statement(f"from {module} import ", import_names(self.names[module]))
        yield ""
        yield from statement("SCOPE = ", self.call(self.scope))
        if self.constants:
            yield "# fmt: off"
            for name, lines in self.constants.items():
                yield f"{name} = {lines[0]}"
                yield from lines[1:]
            yield "# fmt: on"


def differs(given: object, default: object) -> bool:
    return type(given) is not type(default) or given != default


def import_names(names: Sequence[str]) -> Node:
    in_order = sorted(names, key=str.lower)
    in_line = ", ".join(in_order)
    return in_line if len(in_line) < WIDTH - 40 else Parts("(", [("", name) for name in in_order], ")")


# Atoms.


def number(value: int) -> str:
    return f"{value:_}" if abs(value) >= GROUPED_MIN else str(value)


def numbers(values: Sequence[object]) -> list[str]:
    return wrap(", ".join(map(str, values)) + ",", WIDTH - len(INDENT))


def split_literal(value: str | bytes) -> tuple[str, str]:
    """Return the prefix of the literal (`b` for bytes), and the characters between its quotes."""
    return ("b", value.decode("latin-1")) if isinstance(value, bytes) else ("", value)


def runs_in(letters: str) -> Sequence[str | tuple[str, int]]:
    """Return the text in pieces: plain ones, and runs as the repeated characters with their count."""
    written = split_runs(letters)
    return [written] if isinstance(written, str) else written["runs"]


def quote_text(text: str, unplain: re.Pattern[str] = UNPLAIN) -> str:
    """Return the text in the quotes that `ruff format` chooses; matches of `unplain` are escaped."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + unplain.sub(lambda found: escape(found[0]), text).replace(quote, f"\\{quote}") + quote


def escape(char: str) -> str:
    return SHORT.get(char) or code_of(char)


def break_text(text: str) -> Iterator[str]:
    """Yield pieces of the text whose literals are short, whichever quotes they get."""
    start, width = 0, 0
    for at, char in enumerate(text):
        wider = len(escape(char)) if UNPLAIN.match(char) else 1 + (char in QUOTES)
        # A quote counts as two characters, since only the end of
        # the piece decides whether this quote must be escaped.
        if at > start and (text[at - 1] == "\n" or width + wider > PIECE_CHARS_MAX):
            yield text[start:at]
            start, width = at, 0
        width += wider
    if text:
        yield text[start:]


# Layout.


def statement(before: str, node: Node, after: str = "", indent: str = "") -> Iterator[str]:
    """Yield one line, or if that is too long a line for each part, with a comma after the last."""
    whole = f"{indent}{before}{flat(node)}{after}"
    if len(whole) <= WIDTH or isinstance(node, str) or not node.parts:
        yield whole
        return
    yield f"{indent}{before}{node.opening}"
    for name, part in node.parts:
        yield from statement(name, part, ",", indent + INDENT)
    yield f"{indent}{node.closing}{after}"


def flat(node: Node) -> str:
    if isinstance(node, str):
        return node
    inner = ", ".join(name + flat(part) for name, part in node.parts)
    return f"{node.opening}{inner}{',' if node.is_lone_in_tuple else ''}{node.closing}"


def comment(text: str) -> str:
    """Return any text as one line of a comment."""
    return NO_ASCII.sub(lambda found: escape(found[0]), text)[: WIDTH - len(INDENT)]

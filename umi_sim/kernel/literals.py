"""Values as Python source: what a memory was told and asked, for a test that a person reads.

Law 1. A value is literals, and calls of classes of umi_core with literals; the source means an equal value.
Law 2. Source is ASCII, and no text, whatever it holds, ends the string that it stands in.
Law 3. What `ruff format` would write; long texts and vectors are constants, in lines of at most WIDTH.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final

import attrs

from umi_core.data import Data, Owner
from umi_core.values import Scope
from umi_sim.kernel.long_runs import runs
from umi_sim.kernel.wording import code_of, cut

WIDTH: Final = 88
TEXT_CHARS_MAX: Final = 50  # longer ones are constants
PIECE_CHARS_MAX: Final = 70
TUPLE_MAX: Final = 12  # longer ones, of numbers, are constants
POSITIONAL_MAX: Final = 3
GROUPED_MIN: Final = 10_000
QUOTES: Final = "'\""
INDENT: Final = "    "

VALUE_CHARS_MAX: Final = 60  # of a text in a report

Shortener = Callable[[str], str]

UNPLAIN: Final = re.compile(r"[^\x20-\x7e]|\\")
UNSEEN: Final = re.compile(r"[^\x20-\x7e]")
SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


class Unwritable(ValueError):
    """A value that no literal says."""


@attrs.frozen
class Parts(Data):
    """A call or a sequence: what opens it, its parts with their names, what closes it."""

    opening: str
    parts: Sequence[tuple[str, "Node"]]
    closing: str

    @property
    def is_lone_in_tuple(self) -> bool:
        return self.opening == "(" and len(self.parts) == 1


Node = str | Parts


@attrs.define
class Writer(Owner):
    """Writes values, and remembers what the source has to import and which constants it has to have.

    `scope` is called SCOPE.
    """

    scope: Scope
    names: dict[str, list[str]] = attrs.field(factory=dict)  # module -> classes
    constants: dict[str, list[str]] = attrs.field(factory=dict)  # name -> lines
    known: dict[tuple[type, object], str] = attrs.field(factory=dict)

    def node(self, value: object) -> Node:
        """A value as source. Raises Unwritable."""
        match value:
            case None | bool():
                return str(value)
            case int():
                return number(value)
            case float():
                return str(value) if value - value == 0 else f'float("{value}")'
            case str() | bytes():
                return self.text(value)
            case tuple() if len(value) > TUPLE_MAX and all(type(each) is int for each in value):
                return self.constant("VECTOR", value, numbers(value))
            case tuple() | list():
                ends = "()" if isinstance(value, tuple) else "[]"
                return Parts(ends[0], [("", self.node(each)) for each in value], ends[1])
            case Scope() if value == self.scope:
                return "SCOPE"
        return self.call(value)

    def call(self, value: object) -> Node:
        """A class of umi_core with its fields; those with their default are left out."""
        cls = type(value)
        if not (attrs.has(cls) and cls.__module__.startswith("umi_core.")):
            raise Unwritable(f"a {cls.__name__} cannot be written as a literal")
        self.needs(cls)
        fields = [field for field in attrs.fields(cls) if field.init]
        required = [field for field in fields if field.default is attrs.NOTHING]
        is_named = len(required) > POSITIONAL_MAX
        parts: list[tuple[str, Node]] = []
        for field in fields:
            given = getattr(value, field.name)
            if field in required or differs(given, field.default):
                name = f"{field.alias}=" if is_named or field not in required else ""
                parts.append((name, self.node(given)))
        return Parts(f"{cls.__name__}(", parts, ")")

    def needs(self, cls: type) -> None:
        names = self.names.setdefault(cls.__module__, [])
        if cls.__name__ not in names:
            names.append(cls.__name__)

    def text(self, value: str | bytes) -> Node:
        mark = "b" if isinstance(value, bytes) else ""
        letters = value.decode("latin-1") if isinstance(value, bytes) else value
        written = mark + quoted(letters)
        if len(written) <= TEXT_CHARS_MAX:
            return written
        return self.constant("BYTES" if mark else "TEXT", value, pieces(letters, mark))

    def constant(self, word: str, value: object, lines: Sequence[str]) -> str:
        """The name of a constant that holds this value."""
        key = (type(value), value)
        if key not in self.known:
            self.known[key] = f"{word}_{sum(name.startswith(word) for name in self.constants) + 1}"
            self.constants[self.known[key]] = ["(", *(INDENT + line for line in lines), ")"]
        return self.known[key]

    def head(self) -> Iterator[str]:
        """The imports, the scope and the constants."""
        self.needs(Scope)
        for module in sorted(self.names):
            yield from statement(f"from {module} import ", imported(self.names[module]))
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


def imported(names: Sequence[str]) -> Node:
    in_order = sorted(names, key=str.lower)
    in_line = ", ".join(in_order)
    return in_line if len(in_line) < WIDTH - 40 else Parts("(", [("", name) for name in in_order], ")")


# Atoms.


def number(value: int) -> str:
    return f"{value:_}" if abs(value) >= GROUPED_MIN else str(value)


def numbers(values: Sequence[object]) -> list[str]:
    return wrap(", ".join(map(str, values)) + ",", WIDTH - len(INDENT))


def quoted(text: str) -> str:
    """The text in quotes, as `ruff format` chooses them."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + UNPLAIN.sub(lambda found: escape(found[0]), text).replace(quote, f"\\{quote}") + quote


def escape(char: str) -> str:
    return SHORT.get(char) or code_of(char)


def pieces(text: str, mark: str) -> list[str]:
    """A long text in lines: at its own line ends first; a long run of the same characters as a product."""
    written = runs(text)
    if isinstance(written, str):
        return [mark + quoted(piece) for piece in broken(text)]
    lines = [line for part in written["runs"] for line in summands(part, mark)]
    return [*(f"{line} +" for line in lines[:-1]), lines[-1]]


def summands(part: str | Sequence[object], mark: str) -> list[str]:
    if isinstance(part, str):
        return [mark + quoted(piece) for piece in broken(part)]
    unit, count = part
    return [f"{mark}{quoted(str(unit))} * {number(int(str(count)))}"]


def broken(text: str) -> Iterator[str]:
    """Pieces that are short when they are written, whatever their quotes."""
    start, width = 0, 0
    for at, char in enumerate(text):
        wider = len(escape(char)) if UNPLAIN.match(char) else 1 + (char in QUOTES)
        if at > start and (text[at - 1] == "\n" or width + wider > PIECE_CHARS_MAX):
            yield text[start:at]
            start, width = at, 0
        width += wider
    if text:
        yield text[start:]


# In one line, for a report.


def shown(text: str) -> str:
    return cut(text, VALUE_CHARS_MAX)


def literal(value: object, short: Shortener = shown) -> str:
    """A value as Python writes it, the same in every version; `short` makes of a long text what is told."""
    match value:
        case Mapping():
            pairs = [f"{in_double_quotes(str(name))}: {literal(each, short)}" for name, each in value.items()]
            return f"{{{', '.join(pairs)}}}"
        case str():
            return in_pieces(value, in_double_quotes, short)
        case bytes():
            return in_pieces(value.decode("latin-1"), lambda text: repr(text.encode("latin-1")), short)
        case tuple() | list():
            inner = ", ".join(literal(each, short) for each in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
    if attrs.has(value.__class__):
        fields = [getattr(value, field.name) for field in attrs.fields(value.__class__)]
        return f"{type(value).__name__}({', '.join(literal(each, short) for each in fields)})"
    return str(value) if value is None or isinstance(value, int) else short(repr(value))


def in_pieces(text: str, write: Callable[[str], str], short: Shortener) -> str:
    """A long run of the same characters as a product."""
    written = runs(text) if len(text) > VALUE_CHARS_MAX else text
    pieces = [written] if isinstance(written, str) else written["runs"]
    return " + ".join(
        write(short(piece)) if isinstance(piece, str) else f"{write(piece[0])} * {piece[1]}"
        for piece in pieces
    )


def in_double_quotes(text: str) -> str:
    body = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{body}"'


# Layout.


def statement(before: str, node: Node, after: str = "", indent: str = "") -> Iterator[str]:
    """A line, or, if it would be too long, one for each part, with a comma after the last."""
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
    """A text from anywhere as one line of a comment."""
    return UNSEEN.sub(lambda found: escape(found[0]), text)[: WIDTH - len(INDENT)]

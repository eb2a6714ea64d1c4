"""JSON from strangers: bounded before it is parsed, and nothing in it is guessed.

Law 1. Size, encoding, nesting and the number of values are looked at before anything recurses.
Law 2. Whole numbers of at most 19 digits, no key twice, no NaN.
Law 3. A `BadValue` is one line that names the path and says what was expected and what was found.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from umi_sim.kernel.wording import near

Reader = Callable[[object, str], Any]  # a value and its path in, what it means out, or BadValue
Schema = dict[str, Any]  # the same as JSON Schema says it

FILE_BYTES_MAX: Final = 2 * 1024 * 1024
NESTING_MAX: Final = 16
DIGITS_MAX: Final = 19
VALUE_COUNT_MAX: Final = 500_000
TEXT_BYTES_MAX: Final = 256 * 1024
SHOWN_CHARS_MAX: Final = 40

BRACKET: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)  # or a whole string


class BadValue(ValueError):
    """What is wrong with a document; the message is one line in ASCII."""


def parsed(data: bytes, bytes_max: int = FILE_BYTES_MAX) -> object:
    """The value in these bytes."""
    if len(data) > bytes_max:
        raise BadValue(f"the file is larger than {bytes_max} bytes")
    if value_count(data) > VALUE_COUNT_MAX:
        raise BadValue(f"more than {VALUE_COUNT_MAX} values")
    text = decoded(data)
    if is_deeper(text, NESTING_MAX):
        raise BadValue(f"nested more than {NESTING_MAX} deep")
    try:
        return json.loads(
            text, parse_float=no_float, parse_int=whole_of, parse_constant=no_float, object_pairs_hook=unique
        )
    except json.JSONDecodeError as error:
        raise BadValue(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg.lower()}") from None


def value_count(data: bytes) -> int:
    """At least as many as there are values in a JSON text; each may become an object of Python."""
    return sum(map(data.count, (b",", b"[", b"{")))


def compact(value: object) -> str:
    """The one text of a value: sorted keys, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadValue(f"byte {error.start} is not UTF-8") from None


def is_deeper(text: str, limit: int) -> bool:
    """Whether brackets nest deeper than this."""
    depth = 0
    for found in BRACKET.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > limit:
            return True
    return False


def no_float(text: str) -> NoReturn:
    raise BadValue(f"{shown(text)} is no whole number, and others are not used")


def whole_of(digits: str) -> int:
    if len(digits.lstrip("-")) > DIGITS_MAX:
        raise BadValue(f"the number {shown(digits)} has more than {DIGITS_MAX} digits")
    return int(digits)


def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise BadValue(f"the key {shown(key)} stands twice in one object")
        found[key] = value
    return found


# Readers. Each takes the path that its messages name, and can say as a JSON Schema what it takes.


class Described:
    """A reader with its schema, so that the two are made of the same names and bounds."""

    __slots__ = ("read", "schema")

    def __init__(self, read: Reader, schema: Callable[[], Schema]) -> None:
        self.read, self.schema = read, schema

    def __call__(self, value: object, path: str) -> Any:
        return self.read(value, path)


def schema_of(reader: Reader) -> Schema:
    assert isinstance(reader, Described), f"{reader} says not what it takes"
    return reader.schema()


def fail(path: str, expected: str, value: object) -> NoReturn:
    raise BadValue(f"{path}: expected {expected}, got {kind_of(value)}")


def kind_of(value: object) -> str:
    """What a value is, as a message says it; short ones with themselves."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int():
            return f"the integer {value}"
        case str():
            return f"text {shown(value)}"
    return "a list" if isinstance(value, list) else "an object"


def shown(text: str) -> str:
    quoted = json.dumps(text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "...")
    return quoted.replace("\x7f", "\\u007f")


def whole(low: int, high: int) -> Reader:
    def read(value: object, path: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            fail(path, "an integer", value)
        return value if low <= value <= high else fail(path, f"an integer from {low} to {high}", value)

    return Described(read, lambda: {"type": "integer", "minimum": low, "maximum": high})


def text(pattern: str = "(?s).*", what: str = "text") -> Reader:
    compiled = re.compile(pattern)

    def read(value: object, path: str) -> str:
        if not isinstance(value, str):
            fail(path, "text", value)
        check_size(value, path)
        return value if compiled.fullmatch(value) else fail(path, what, value)

    return Described(read, lambda: text_schema(pattern))


def text_schema(pattern: str) -> Schema:
    """Of a text that may hold any characters only the length counts."""
    if pattern == "(?s).*":
        return {"type": "string"}
    length = re.fullmatch(r"\(\?s\)\.\{(\d+),(\d+)\}", pattern)
    if length is None:
        return {"type": "string", "pattern": f"^({pattern})$"}
    return {"type": "string", "minLength": int(length[1]), "maxLength": int(length[2])}


def check_size(value: str, path: str) -> None:
    if 3 * len(value) > TEXT_BYTES_MAX and len(value.encode(errors="surrogatepass")) > TEXT_BYTES_MAX:
        raise BadValue(f"{path}: expected text of at most {TEXT_BYTES_MAX} bytes, got more")


def read_flag(value: object, path: str) -> bool:
    return value if isinstance(value, bool) else fail(path, "true or false", value)


flag: Final = Described(read_flag, lambda: {"type": "boolean"})


def one_of(known: Sequence[str], what: str) -> Reader:
    """A name that is known; a list of few names is told."""

    def read(value: object, path: str) -> str:
        if not isinstance(value, str):
            fail(path, "text", value)
        return value if value in known else unknown(path, what, value, known)

    return Described(read, lambda: {"enum": list(known)})


def unknown(path: str, what: str, name: str, known: Sequence[str]) -> NoReturn:
    raise BadValue(f"{path}: unknown {what} {shown(name)}{near(name, known)}")


def listed(read_each: Reader, count_max: int) -> Reader:
    def read(value: object, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            fail(path, "a list", value)
        if len(value) > count_max:
            raise BadValue(f"{path}: expected at most {count_max} entries, got {len(value)}")
        return tuple(read_each(each, f"{path}[{index}]") for index, each in enumerate(value))

    return Described(read, lambda: {"type": "array", "items": schema_of(read_each), "maxItems": count_max})


def mapped(known: Sequence[str], what: str, read_each: Reader) -> Reader:
    """An object whose keys are known names, each with the same kind of value."""
    return keyed(what, dict.fromkeys(known, read_each))


def table(readers: Mapping[str, Reader], *needs: str) -> Reader:
    """An object with these fields; `needs` must be there, others may be left out."""
    return keyed("field", readers, *needs)


def keyed(what: str, readers: Mapping[str, Reader], *needs: str) -> Reader:
    def read(value: object, path: str) -> dict[str, Any]:
        given = as_object(value, path)
        for key in needs:
            if key not in given:
                raise BadValue(f"{path}: {key} is missing")
        for key in given:
            if key not in readers:
                unknown(path, what, key, tuple(readers))
        return {key: readers[key](each, f"{path}.{key}") for key, each in given.items()}

    return Described(read, lambda: table_schema(readers, needs))


def table_schema(readers: Mapping[str, Reader], needs: Sequence[str]) -> Schema:
    properties = {key: schema_of(reader) for key, reader in readers.items()}
    required = {"required": list(needs)} if needs else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def object_schema() -> Schema:
    return {"type": "object"}


def as_object(value: object, path: str) -> dict[str, Any]:
    return value if isinstance(value, dict) else fail(path, "an object", value)

"""Schemas: declare once what a file may contain; reader, writer and JSON Schema follow from the declaration.

    whole(1, 16)                        a number with its range
    table({"name": AGENT}, "name")      an object with these keys; `name` is required
    of(Expect)                          a class with fields: each field by its type

Law 1. A schema converts the result of a parser to a value, or raises `Wrong`, which gives for each finding
       its place, what was expected and what was found. It never guesses, and refuses unknown keys.
Law 2. A bool is never a number. No schema accepts a float or a date.
Law 3. A schema reads what it has written as an equal value.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import structs

from umi_core.data import Data, is_struct, list_fields
from umi_sim.kernel.prng import DENOMINATOR_MAX, SEED_MAX, Ratio, parse_seed
from umi_sim.kernel.wording import suggest_names

T = TypeVar("T")
Json = Any  # the result of a parser of JSON or TOML
Rule = dict[str, Any]  # a part of a JSON Schema
Finding = tuple[str, str]  # a place, such as `agents[0].scope`, and what is wrong there

FINDING_COUNT_MAX: Final = 50
SHOWN_CHARS_MAX: Final = 40
TEXT_BYTES_MAX: Final = 256 * 1024
LIST_COUNT_MAX: Final = 100_000
COUNT_MAX: Final = 2**63 - 1


class Wrong(ValueError):
    """A value does not fit its schema. The message is the first finding, in one line of ASCII."""

    def __init__(self, *findings: Finding) -> None:
        # A file with a hundred thousand wrong entries must not give as many lines of messages.
        self.findings = findings[:FINDING_COUNT_MAX]
        super().__init__(": ".join(filter(None, findings[0])))

    def below(self, place: str) -> "Wrong":
        """Return the same error with `place` in front of the places of its findings."""
        return Wrong(*((join_places(place, where), problem) for where, problem in self.findings))


class Schema(Data):
    """`read`: converts a JSON value, or raises Wrong. `write`: the reverse. `rule`: its JSON Schema."""

    read: Callable[[Json], Any]
    rule: Callable[[], Rule]
    write: Callable[[Any], Json] = lambda value: value


def join_places(place: str, below: str) -> str:
    # "agents" and "[0].scope" -> "agents[0].scope"; "run" and "off" -> "run.off"
    return f"{place}.{below}" if below and below[0] != "[" else f"{place}{below}"


def at(place: str, read: Callable[[Json], T], value: Json) -> T:
    """Read the part of a value at `place`; an error contains the place."""
    try:
        return read(value)
    except Wrong as wrong:
        raise wrong.below(place) from None


# Messages.


def wrong(sentence: str) -> NoReturn:
    raise Wrong(("", sentence))


def fail(expected: str, value: Json) -> NoReturn:
    wrong(f"expected {expected}, got {shown_value(value)}")


def shown_value(value: Json) -> str:
    """Write a value for a message: short, one line, in ASCII."""
    if value is not None and not isinstance(value, bool | int | str | list | dict):
        return f"{value} (floats and dates are not used)"
    return quote_text(value) if isinstance(value, str) else cut(json.dumps(value, default=str))


def quote_text(text: str) -> str:
    return json.dumps(cut(text)).replace("\x7f", "\\u007f")


def cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "..."


# Single values.


def whole(low: int = 0, high: int = COUNT_MAX) -> Schema:
    def read(value: Json) -> Any:
        is_good = type(value) is int and low <= value <= high  # not isinstance, because True is an int
        return value if is_good else fail(f"a whole number from {low} to {high}", value)

    return Schema(read, lambda: {"type": "integer", "minimum": low, "maximum": high})


def text(pattern: str = "(?s).*", what: str = "text", bytes_max: int = TEXT_BYTES_MAX) -> Schema:
    compiled = re.compile(pattern)

    def read(value: Json) -> Any:
        is_good = isinstance(value, str) and not is_large(value, bytes_max) and compiled.fullmatch(value)
        return value if is_good else fail(what, value)

    return Schema(read, lambda: text_rule(pattern))


def is_large(value: str, bytes_max: int = TEXT_BYTES_MAX) -> bool:
    # Characters below U+10000 have at most three bytes, so the length alone shows that most texts are small
    # enough. Texts of characters with four bytes (emoji) may exceed the limit by a third, which is harmless:
    # the limit only protects the memory of the reader.
    if 3 * len(value) > bytes_max and len(value.encode(errors="surrogatepass")) > bytes_max:
        wrong(f"expected text of at most {bytes_max} bytes, got more")
    return False


def text_rule(pattern: str) -> Rule:
    """Return the rule of a text; if any characters are allowed, it limits only the length."""
    if pattern == "(?s).*":
        return {"type": "string"}
    # "(?s).{1,40}" matches line breaks, but `.` in a JSON Schema does not; limits of the length do the same.
    length = re.fullmatch(r"\(\?s\)\.\{(\d+),(\d+)\}", pattern)
    if length is None:
        return {"type": "string", "pattern": f"^({pattern})$"}
    return {"type": "string", "minLength": int(length[1]), "maxLength": int(length[2])}


def one_of(known: Iterable[str], what: str) -> Schema:
    """Return the schema of a known name."""
    names = tuple(known)

    def read(value: Json) -> str:
        given: str = TEXT.read(value)
        return (
            given
            if given in names
            else wrong(f"unknown {what} {quote_text(given)}{suggest_names(given, names)}")
        )

    return Schema(read, lambda: {"enum": list(names)})


def read_flag(value: Json) -> bool:
    return value if isinstance(value, bool) else fail("true or false", value)


def read_nothing(value: Json) -> None:
    return None if value is None else fail("null", value)


def as_object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else fail("keys with values", value)


def as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else fail("a list", value)


def read_ratio(value: Json) -> Ratio:
    found = re.fullmatch("([0-9]{1,10})/([0-9]{1,10})", value) if isinstance(value, str) else None
    n, d = (int(found[1]), int(found[2])) if found else (1, 0)  # 1/0 is refused below
    is_good = n <= d and 1 <= d <= DENOMINATOR_MAX
    return (n, d) if is_good else fail('a ratio "n/d" with n <= d <= 10^9', value)


def read_seed(value: Json) -> int:
    digits: str = DIGITS.read(value)
    return parse_seed(digits) if int(digits) <= SEED_MAX else fail(f"a seed up to {SEED_MAX}", digits)


TEXT: Final = text()
FLAG: Final = Schema(read_flag, lambda: {"type": "boolean"})
NOTHING: Final = Schema(read_nothing, lambda: {"type": "null"})
OBJECT: Final = Schema(as_object, lambda: {"type": "object"}, dict)
ANY: Final = Schema(lambda value: value, dict)
DIGITS: Final = text("[0-9]{1,20}", "a seed in digits")
SEED: Final = Schema(read_seed, DIGITS.rule, str)  # as text, because readers with floats would lose bits
Seed = Annotated[int, SEED]
RATIO: Final = Schema(
    read_ratio, text("[0-9]{1,10}/[0-9]{1,10}").rule, lambda ratio: f"{ratio[0]}/{ratio[1]}"
)


# Composed values.


def then(schema: Schema, make: Callable[[Any], Any], **rule: Json) -> Schema:
    """Return a schema whose values `make` converts or refuses; `rule`: additions to the JSON Schema."""
    return Schema(lambda value: make(schema.read(value)), lambda: {**schema.rule(), **rule}, schema.write)


def list_of(each: Schema, count_max: int = LIST_COUNT_MAX, count_min: int = 0, *, unique: str = "") -> Schema:
    """Return the schema of a list; `unique`: the word in messages for members that must differ, if any."""

    def read(value: Json) -> tuple[Any, ...]:
        given = as_list(value)
        if not count_min <= len(given) <= count_max:
            bound = f"at most {count_max} entries" if given else "at least one entry"
            wrong(f"expected {bound}, got {len(given)}")
        found = read_all((f"[{place}]", each, inner) for place, inner in enumerate(given))
        # dict.fromkeys drops duplicates like a set, but without an order that depends on hashes.
        if unique and len(dict.fromkeys(found)) < len(found):
            fail(f"different {unique}", value)
        return tuple(found)

    least = {"minItems": count_min} if count_min else {}
    return Schema(
        read,
        lambda: {"type": "array", "items": each.rule(), "maxItems": count_max, **least},
        lambda values: [each.write(value) for value in values],
    )


def several(parts: Sequence[Schema], what: str = "") -> Schema:
    """Return the schema of a list with exactly one value for each of `parts`."""

    def read(value: Json) -> tuple[Any, ...]:
        given = as_list(value)
        if len(given) != len(parts):
            fail(what or f"a list of {len(parts)}", value)
        places = enumerate(zip(parts, given, strict=True))
        return tuple(read_all((f"[{place}]", part, inner) for place, (part, inner) in places))

    return Schema(
        read,
        lambda: {
            "type": "array", "prefixItems": [part.rule() for part in parts],
            "minItems": len(parts), "maxItems": len(parts),
        },
        lambda values: [part.write(value) for part, value in zip(parts, values, strict=True)],
    )  # fmt: skip


def read_all(parts: Iterable[tuple[str, Schema, Json]]) -> list[Any]:
    """Read every part. Raises Wrong with the findings of all parts."""
    found, findings = [], list[Finding]()
    for place, schema, value in parts:
        try:
            found.append(schema.read(value))
        except Wrong as bad:
            findings += bad.below(place).findings
            if len(findings) >= FINDING_COUNT_MAX:
                break
    if findings:
        raise Wrong(*findings)
    return found


def table(fields: Mapping[str, Schema], *needs: str, what: str = "key") -> Schema:
    """Return the schema of an object with these keys; those of `needs` are required."""

    def read(value: Json) -> dict[str, Any]:
        values, findings = read_fields(as_object(value), fields, needs, what)
        if findings:
            raise Wrong(*findings)
        return values

    return Schema(
        read,
        lambda: {
            "type": "object", "properties": {key: each.rule() for key, each in fields.items()},
            **({"required": list(needs)} if needs else {}), "additionalProperties": False,
        },
        lambda values: {key: fields[key].write(value) for key, value in values.items()},
    )  # fmt: skip


def read_fields(
    given: Mapping[str, Json], fields: Mapping[str, Schema], needs: Sequence[str] = (), what: str = "key"
) -> tuple[dict[str, Any], list[Finding]]:
    """Read fields. Return the readable ones, and findings for the others."""
    values: dict[str, Any] = {}
    findings = [(key, "missing") for key in needs if key not in given]
    for key, value in given.items():
        try:
            if key not in fields:
                wrong(f"unknown {what}{suggest_names(key, fields)}")
            values[key] = fields[key].read(value)
        except Wrong as bad:
            # Keys come from the file, so they are escaped: no line break or control character is printed.
            findings += bad.below(quote_text(key)[1:-1]).findings
            if len(findings) >= FINDING_COUNT_MAX:
                break
    return values, findings


def map_of(known: Iterable[str], what: str, each: Schema) -> Schema:
    """Return the schema of an object with known names as keys, and values that fit `each`."""
    return table(dict.fromkeys(known, each), what=what)


def mapping(each: Schema, count_max: int = LIST_COUNT_MAX, key: Schema = TEXT) -> Schema:
    """Return the schema of an object whose keys fit `key`, and whose values fit `each`."""

    def read(value: Json) -> dict[str, Any]:
        given = as_object(value)
        if len(given) > count_max:
            wrong(f"expected at most {count_max} entries, got {len(given)}")
        names = [key.read(name) for name in given]
        found = read_all((quote_text(name)[1:-1], each, inner) for name, inner in given.items())
        return dict(zip(names, found, strict=True))

    return Schema(
        read,
        lambda: {"type": "object", "additionalProperties": each.rule(), "maxProperties": count_max},
        lambda values: {name: each.write(value) for name, value in values.items()},
    )


def choice(schemas: Mapping[type, Schema], what: str) -> Schema:
    """Return the schema of a value of one of these types."""

    def read(value: Json) -> Any:
        # By exact type, because isinstance would accept True as a number.
        schema = schemas.get(type(value))
        return schema.read(value) if schema else fail(what, value)

    return Schema(read, lambda: {"anyOf": [each.rule() for each in schemas.values()]})


def maybe(schema: Schema) -> Schema:
    """Return a schema that accepts null as well."""
    return Schema(
        lambda value: None if value is None else schema.read(value),
        lambda: {"anyOf": [{"type": "null"}, schema.rule()]},
        lambda value: None if value is None else schema.write(value),
    )


# Schemas of types.

HEX: Final = text("([0-9a-f]{2}){0,64}", "hex digits")
PLAIN: Final[Mapping[Any, Schema]] = {
    int: whole(), bool: FLAG, str: TEXT, type(None): NOTHING,
    bytes: Schema(lambda value: bytes.fromhex(HEX.read(value)), HEX.rule, bytes.hex),
}  # fmt: skip


@cache
def of(declared: Any) -> Schema:
    """Return the schema of a type: that of `Annotated` if there is one; a plain int is a count from 0."""
    # Annotated[int, SEED]: the schema is in the metadata of the type.
    if found := [each for each in getattr(declared, "__metadata__", ()) if isinstance(each, Schema)]:
        return found[0]
    args = get_args(declared)
    match get_origin(declared):
        case None:
            return of_class(declared) if is_struct(declared) else PLAIN[declared]
        case origin if origin is Literal:
            return one_of(args, "kind")
        case origin if origin in (Union, UnionType):
            return choice({each: of(each) for each in args}, " or ".join(each.__name__ for each in args))
        case origin if origin is tuple:
            return list_of(of(args[0])) if args[-1] is Ellipsis else several([of(each) for each in args])
        case origin:
            # Counter[str] gives no type of values, which are counts: (str, int). dict[str, X] gives both.
            return of_mapping(Counter if origin is Counter else dict, *(*args, int)[:2])


def of_mapping(make: Callable[[Any], Any], key: Any, value: Any) -> Schema:
    """Return the schema of a mapping; if its keys are not texts, it is a list of pairs."""
    if key is str:
        return then(mapping(of(value)), make)
    pairs = list_of(several((of(key), of(value))))
    read = then(pairs, lambda found: make(dict(found))).read
    # Sorted, so that equal mappings are written as equal files.
    return Schema(read, pairs.rule, lambda given: pairs.write(sorted(given.items())))


def of_class(cls: type[msgspec.Struct], **names: str) -> Schema:
    """Return the schema of an object with the fields of a class; those without a default are required.

    `names`: by field, its name in the file if that is different.
    """
    own = {names.get(name, name): name for name in cls.__struct_fields__}
    parts = {name: fields_of(cls)[field] for name, field in own.items()}
    fields = table(parts, *(name for name in own if own[name] in needs_of(cls)))
    return structs.replace(
        then(fields, lambda given: cls(**{own[name]: each for name, each in given.items()})),
        write=lambda value: {name: part.write(getattr(value, own[name])) for name, part in parts.items()},
    )


def fields_of(cls: type[msgspec.Struct]) -> dict[str, Schema]:
    hints = get_type_hints(cls, include_extras=True)
    return {name: of(hints[name]) for name in cls.__struct_fields__}


def needs_of(cls: type[msgspec.Struct]) -> list[str]:
    return [field.name for field in list_fields(cls) if field.required]

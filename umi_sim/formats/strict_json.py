"""JSON from untrusted sources: bounded before it is parsed, and read strictly; and the layout of files.

Law 1. Size, encoding, nesting and the number of values are checked before anything recurses.
Law 2. Numbers are whole and have at most 19 digits; duplicate keys and NaN are refused.
"""

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from umi_sim.formats.schema import Json, quote_text, wrong

FILE_BYTES_MAX: Final = 2 * 1024 * 1024
NESTING_MAX: Final = 16
DIGITS_MAX: Final = 19
VALUE_COUNT_MAX: Final = 500_000
PERSON: Final = b"umi-seed-1"
CHECKSUM_BYTES: Final = 16

# Possessive `++` and `*+` never backtrack, so a text of a million quotes takes linear time. A whole string is
# one match, so brackets in it do not count.
BRACKET: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def parse_json(data: bytes, bytes_max: int = FILE_BYTES_MAX, value_count_max: int = VALUE_COUNT_MAX) -> Json:
    """Read the value in these bytes. Raises Wrong."""
    if len(data) > bytes_max:
        wrong(f"the file is larger than {bytes_max} bytes")
    # Before parsing: "[[[[..." of 2 MB would become millions of objects.
    if value_count(data) > value_count_max:
        wrong(f"more than {value_count_max} values")
    text = decode_text(data)
    if is_deeper(text, NESTING_MAX):
        wrong(f"nested more than {NESTING_MAX} deep")
    try:
        return json.loads(
            text, parse_float=no_float, parse_int=read_int, parse_constant=no_float, object_pairs_hook=unique
        )
    except json.JSONDecodeError as error:
        wrong(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg.lower()}")


def value_count(data: bytes) -> int:
    """Return an upper bound of the number of values in a JSON text, each of which may become an object."""
    return sum(map(data.count, (b",", b"[", b"{")))


def compact(value: Json) -> str:
    """Return the canonical text of a value: sorted keys, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        wrong(f"byte {error.start} is not UTF-8")


def is_deeper(text: str, limit: int) -> bool:
    """Return whether brackets nest deeper than `limit`."""
    depth = 0
    for found in BRACKET.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > limit:
            return True
    return False


def no_float(text: str) -> NoReturn:
    wrong(f"{quote_text(text)} is no whole number, and others are not used")


def read_int(digits: str) -> int:
    if len(digits.lstrip("-")) > DIGITS_MAX:
        wrong(f"the number {quote_text(digits)} has more than {DIGITS_MAX} digits")
    return int(digits)


def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            wrong(f"the key {quote_text(key)} stands twice in one object")
        found[key] = value
    return found


def bytes_of(path: Path, bytes_max: int = FILE_BYTES_MAX) -> bytes:
    """Read a file, at most one byte more than is allowed. Raises OSError with `strerror`."""
    with open_file(path) as file:
        # One byte more, to distinguish a file that is too large from one that just fits.
        return file.read(bytes_max + 1)


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading. Raises OSError with `strerror`."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe would block
            raise OSError(0, "not a file")
        return path.open("rb")
    except ValueError as error:  # the name is invalid for files
        raise OSError(0, str(error)) from None


# Writing.


def checksum(document: Mapping[str, Json]) -> str:
    # Over the compact form, so that another layout does not count as an edit.
    text = compact({key: value for key, value in document.items() if key != "checksum"})
    return blake2b(text.encode(), digest_size=CHECKSUM_BYTES, person=PERSON).hexdigest()


def layout(document: Mapping[str, Json]) -> str:
    """Return the document as text: a line for each top-level key and each entry of a list of objects."""
    return (
        "{\n" + ",\n".join(f"{json.dumps(key)}:{lines(value)}" for key, value in document.items()) + "\n}\n"
    )


def lines(value: Json) -> str:
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return "[\n" + ",\n".join(f"  {one_line(each)}" for each in value) + "\n]"
    return one_line(value)


def one_line(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))

"""Transcripts: conversations as JSON Lines, one turn per line, as worlds read them.

Law 1. A malformed line raises `BadTranscript` with file and line, what was found, and what was expected.
Law 2. All versions of Python classify the characters of a text alike: lone surrogates, and characters that
       Unicode 14 does not assign, become U+FFFD.
Law 3. No number becomes a float, and lines with too deep nesting are refused before they are decoded.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

from umi_core.characters import LATER
from umi_core.data import Data
from umi_core.json_text import JsonNumber
from umi_sim.formats.strict_json import bytes_of, is_deeper
from umi_sim.kernel.characters import char_class

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
LINE_BYTES_MAX: Final = 1024 * 1024
TURN_COUNT_MAX: Final = 100_000
AT_MS_MAX: Final = 2**53 - 1
JSON_DEPTH_MAX: Final = 32
SHOWN_CHARS_MAX: Final = 60
FORM: Final = '{"speaker": "...", "text": "..."}'


class TurnLine(Data):
    """One turn; `at_ms` and `session` are None where its line has none."""

    speaker: str
    text: str
    at_ms: int | None = None
    session: str | None = None


class BadTranscript(ValueError):
    """A file that is no transcript; the message is one line, `FILE:LINE: what is wrong`."""


def load(path: Path | str) -> tuple[TurnLine, ...]:
    """Read the turns of a file in order, and skip blank lines. Raises BadTranscript."""
    turns: list[TurnLine] = []
    # Split as bytes: str.splitlines would also split at U+2028 and others, which may occur in a text.
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        if line.strip():
            try:
                turns.append(read_turn(line, len(turns)))
            except ValueError as error:
                raise BadTranscript(f"{path}:{number}: {error}") from None
    if not turns:
        raise BadTranscript(f"{path}:1: no turn in the file, expected lines like {FORM}")
    return tuple(turns)


def read_bytes(path: Path | str) -> bytes:
    """Read a file without its byte order mark. Raises BadTranscript."""
    try:
        content = bytes_of(Path(path), FILE_BYTES_MAX)
    except OSError as error:
        raise BadTranscript(f"{path}:1: {error.strerror}, expected a file that can be read") from None
    if len(content) > FILE_BYTES_MAX:
        raise BadTranscript(f"{path}:1: the file is too large, expected at most {FILE_BYTES_MAX} bytes")
    return content.removeprefix(b"\xef\xbb\xbf")


# Reading one line; a ValueError says what is wrong with it.


def read_turn(line: bytes, turns_before: int) -> TurnLine:
    if turns_before == TURN_COUNT_MAX:
        raise ValueError(f"turn {turns_before + 1}, expected at most {TURN_COUNT_MAX}")
    if len(line) > LINE_BYTES_MAX:
        raise ValueError(f"the line has {len(line)} bytes, expected at most {LINE_BYTES_MAX}")
    turn = read_object(decode_line(line))
    # Both forms are common: {"speaker", "text"} in dialogues, {"role", "content"} in chats with models.
    speaker, text = required_text(turn, "speaker", "role"), required_text(turn, "text", "content")
    return TurnLine(speaker, text, time_of(turn), text_of(turn, "session"))


def decode_line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        byte = line[error.start]
        raise ValueError(f"byte {error.start + 1} of the line is 0x{byte:02x}, expected UTF-8") from None


def read_object(text: str) -> Mapping[str, object]:
    if is_deeper(text, JSON_DEPTH_MAX):
        raise ValueError(f"more than {JSON_DEPTH_MAX} brackets inside each other, expected at most so many")
    try:
        value = DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON from column {error.colno} on, expected one object like {FORM}") from None
    if not isinstance(value, dict):
        raise ValueError(f"the line is {show_value(value)}, expected an object like {FORM}")
    return value


def required_text(turn: Mapping[str, object], *keys: str) -> str:
    found = [text for key in keys if (text := text_of(turn, key)) is not None]
    if not found:
        raise ValueError(f"{' or '.join(keys)} is missing, expected a text as in {FORM}")
    return found[0]


def text_of(turn: Mapping[str, object], key: str) -> str | None:
    value = turn.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is {show_value(value)}, expected a text")
    return None if value is None else replace_unassigned(value)


def time_of(turn: Mapping[str, object]) -> int | None:
    value = turn.get("at_ms")
    if value is None:
        return None
    if not isinstance(value, JsonNumber) or not WHOLE.fullmatch(value.text) or int(value.text) > AT_MS_MAX:
        raise ValueError(f"at_ms is {show_value(value)}, expected a whole number from 0 to {AT_MS_MAX}")
    return int(value.text)


WHOLE: Final = re.compile("[0-9]{1,16}")


def refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python accepts although they are not JSON."""
    raise ValueError(f"{constant} is no JSON, expected a number")


# Numbers stay texts: int() is slow with very many digits, or refuses them, and 1e999 would be infinity.
DECODER: Final = json.JSONDecoder(parse_float=JsonNumber, parse_int=JsonNumber, parse_constant=refuse)


def show_value(value: object) -> str:
    """Write a value for a message: short, one line, in ASCII."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = value.text if isinstance(value, JsonNumber) else json.dumps(value)
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "..."


# Characters.

UNASSIGNED: Final = re.compile(char_class(LATER, ((0xD800, 0xDFFF),)))


def replace_unassigned(text: str) -> str:
    """Return the text with U+FFFD for lone surrogates and characters that Unicode 14 does not assign."""
    return text if text.isascii() else UNASSIGNED.sub("\ufffd", text)

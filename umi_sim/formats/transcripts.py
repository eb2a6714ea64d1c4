"""Transcripts: conversations as JSON Lines, one turn per line, as worlds read them.

Law 1. A bad line is a `BadTranscript` that names file and line, what was found, and what is expected.
Law 2. Every interpreter classes the texts alike: what Unicode 14 had not assigned becomes U+FFFD, and so does
       half of a surrogate pair.
Law 3. No number becomes a float, and nothing is decoded that nests too deep.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

import attrs

from umi_core.data import Data
from umi_core.language.replies import Number
from umi_sim.formats.strict_json import bytes_of, is_deeper
from umi_sim.kernel.characters import Ranges, char_class

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
LINE_BYTES_MAX: Final = 1024 * 1024
TURN_COUNT_MAX: Final = 100_000
AT_MS_MAX: Final = 2**53 - 1
JSON_DEPTH_MAX: Final = 32
SHOWN_CHARS_MAX: Final = 60
FORM: Final = '{"speaker": "...", "text": "..."}'


@attrs.frozen
class TurnLine(Data):
    """One turn; `at_ms` and `session` are None where its line has none."""

    speaker: str
    text: str
    at_ms: int | None = None
    session: str | None = None


class BadTranscript(ValueError):
    """A file that is no transcript; the message is one line, `FILE:LINE: what is wrong`."""


def load(path: Path | str) -> tuple[TurnLine, ...]:
    """The turns of a file in order; a blank line is no turn."""
    turns: list[TurnLine] = []
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
    """The file without a byte order mark."""
    try:
        content = bytes_of(Path(path), FILE_BYTES_MAX)
    except OSError as error:
        raise BadTranscript(f"{path}:1: {error.strerror}, expected a file that can be read") from None
    if len(content) > FILE_BYTES_MAX:
        raise BadTranscript(f"{path}:1: the file is too large, expected at most {FILE_BYTES_MAX} bytes")
    return content.removeprefix(b"\xef\xbb\xbf")


# One line. A ValueError says what is wrong with it.


def read_turn(line: bytes, turns_before: int) -> TurnLine:
    if turns_before == TURN_COUNT_MAX:
        raise ValueError(f"turn {turns_before + 1}, expected at most {TURN_COUNT_MAX}")
    if len(line) > LINE_BYTES_MAX:
        raise ValueError(f"the line has {len(line)} bytes, expected at most {LINE_BYTES_MAX}")
    turn = read_object(decoded(line))
    speaker, text = required_text(turn, "speaker", "role"), required_text(turn, "text", "content")
    return TurnLine(speaker, text, time_of(turn), text_of(turn, "session"))


def decoded(line: bytes) -> str:
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
        raise ValueError(f"the line is {shown(value)}, expected an object like {FORM}")
    return value


def required_text(turn: Mapping[str, object], *keys: str) -> str:
    found = [text for key in keys if (text := text_of(turn, key)) is not None]
    if not found:
        raise ValueError(f"{' or '.join(keys)} is missing, expected a text as in {FORM}")
    return found[0]


def text_of(turn: Mapping[str, object], key: str) -> str | None:
    value = turn.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is {shown(value)}, expected a text")
    return None if value is None else assigned(value)


def time_of(turn: Mapping[str, object]) -> int | None:
    value = turn.get("at_ms")
    if value is None:
        return None
    if not isinstance(value, Number) or not WHOLE.fullmatch(value.text) or int(value.text) > AT_MS_MAX:
        raise ValueError(f"at_ms is {shown(value)}, expected a whole number from 0 to {AT_MS_MAX}")
    return int(value.text)


WHOLE: Final = re.compile("[0-9]{1,16}")


def refuse(constant: str) -> NoReturn:
    """NaN and Infinity are Python's idea of JSON."""
    raise ValueError(f"{constant} is no JSON, expected a number")


DECODER: Final = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=refuse)


def shown(value: object) -> str:
    """A value as a message may show it: short, one line, in ASCII."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = value.text if isinstance(value, Number) else json.dumps(value)
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "..."


# Characters.

# The gaps of Unicode 14 that Unicode 15 to 17 began to fill, each of them whole. Of all other gaps every
# interpreter says that they are unassigned.
LATER: Final[Ranges] = (
    (0x88F, 0x88F), (0x892, 0x897), (0xC5B, 0xC5C), (0xCD7, 0xCDC), (0xCF3, 0xCFF), (0xECE, 0xECF),
    (0x1ACF, 0x1AFF), (0x1B4D, 0x1B4F), (0x1B7F, 0x1B7F), (0x1C89, 0x1C8F), (0x20C1, 0x20CF),
    (0x2427, 0x243F), (0x2B96, 0x2B96), (0x2FFC, 0x2FFF), (0x31E4, 0x31EF), (0xA7CB, 0xA7CF),
    (0xA7D2, 0xA7D2), (0xA7D4, 0xA7D4), (0xA7DA, 0xA7F1), (0xFBC3, 0xFBD2), (0xFD90, 0xFD91),
    (0xFDC8, 0xFDCE), (0x105BD, 0x105FF), (0x10940, 0x1097F), (0x10D3A, 0x10E5F), (0x10EB2, 0x10EFF),
    (0x1123F, 0x1127F), (0x11375, 0x113FF), (0x116CA, 0x116FF), (0x11AF9, 0x11BFF), (0x11DAA, 0x11EDF),
    (0x11EF9, 0x11FAF), (0x1342F, 0x1342F), (0x13439, 0x143FF), (0x14647, 0x167FF), (0x16B90, 0x16E3F),
    (0x16E9B, 0x16EFF), (0x16FF2, 0x16FFF), (0x187F8, 0x187FF), (0x18CD6, 0x18CFF), (0x18D09, 0x1AFEF),
    (0x1B123, 0x1B14F), (0x1B153, 0x1B163), (0x1BCA4, 0x1CEFF), (0x1D246, 0x1D2DF), (0x1DF1F, 0x1DFFF),
    (0x1E02B, 0x1E0FF), (0x1E300, 0x1E7DF), (0x1F6D8, 0x1F6DC), (0x1F774, 0x1F77F), (0x1F7D9, 0x1F7DF),
    (0x1F8B2, 0x1F8FF), (0x1FA54, 0x1FA5F), (0x1FA75, 0x1FA77), (0x1FA87, 0x1FA8F), (0x1FAAD, 0x1FAAF),
    (0x1FABB, 0x1FABF), (0x1FAC6, 0x1FACF), (0x1FADA, 0x1FADF), (0x1FAE8, 0x1FAEF), (0x1FAF7, 0x1FAFF),
    (0x1FBCB, 0x1FBEF), (0x1FBFA, 0x1FFFF), (0x2B739, 0x2B73F), (0x2CEA2, 0x2CEAF), (0x2EBE1, 0x2F7FF),
    (0x3134B, 0xE0000),
)  # fmt: skip
UNASSIGNED: Final = re.compile(char_class(LATER, ((0xD800, 0xDFFF),)))


def assigned(text: str) -> str:
    """The text with U+FFFD for each character that Unicode 14 does not know, and each lone surrogate."""
    return text if text.isascii() else UNASSIGNED.sub("\ufffd", text)

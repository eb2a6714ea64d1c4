"""Loose JSON: values as people and models write them.

    {name: 'Ann', // who            keys without quotes, other quotes, comments
     “content”： "says "ciao" twice"   full-width marks, quotes inside a text
     'tags': [True, .9 ...],}        words of Python, short numbers, dots for the rest, trailing commas

Law 1. Total; the time for each start is linear in the length of the text. Law 2. A word in capitals is not a
value, because prompts use such words as placeholders. Law 3. A value without its end is not read, because it
is not known how it goes on.
"""

import re
from typing import Final

from umi_core.json_text import DECODER, Json, JsonNumber
from umi_core.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX

BLANK: Final = re.compile(
    r"""(?: [\s\u00ad\u200b\u2060\ufeff] | //[^\n]* | /\*(?:(?!\*/).){0,300}\*/ | \#[^\n]*
        | (?<=\n)[>+|](?=\s) )*+""",
    re.DOTALL | re.VERBOSE,
)
BETWEEN: Final = re.compile(r"[,，;]|\.{3}|…")
COLON: Final = re.compile(r"[:：]|=>?|->")
WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*+")
NUMBER: Final = re.compile(r"([-+]?)([0-9]*+)(\.[0-9]*+)?([eE][-+]?[0-9]++)?(%?)(?![A-Za-z0-9_])")
WORDS: Final[dict[str, Json]] = {"true": True, "false": False} | dict.fromkeys(
    ("null", "none", "undefined", "nan", "infinity")
)
CLOSING: Final = {"{": "}｝", "｛": "}｝", "[": "]］", "［": "]］"}
QUOTES: Final = {  # closing quotes, by the opening one
    '"': '"”', "'": "'", "`": "`", "“": '”"', "”": '”"', "„": '“”"', "‘": "’", "«": "»", "＂": "＂",
}  # fmt: skip
OPEN: Final = r"""["'“”„‘`＂]"""
S: Final = r"(?:\n[>+|]\s|[\s\u200b\ufeff])*"
KEY: Final = rf"(?:{OPEN}\s*)?[A-Za-z_][A-Za-z0-9_ -]{{0,40}}(?:[\"'”“’`＂])?\s*(?:[:：]|=>?)"
REST: Final = r"//|/\*|\#|$"
END_OF_KEY: Final = re.compile(r"\s*(?:[:：]|=>?|->)")
END_OF_MEMBER: Final = re.compile(
    rf"{S}(?:[}}\]｝］]|[,，;]{S}(?:{KEY}|[}}｝]|\.{{3}}|{REST})|{REST})|[^\S\n]*\n{S}{KEY}"
)
END_OF_ELEMENT: Final = re.compile(
    rf"{S}(?:[\]］:：]|[,，;]{S}(?:{OPEN}|[-+{{｛\[［0-9.…\]］]|[A-Za-z]+\s*[,，\]］]|{REST})|{REST})|[^\S\n]*\n{S}{OPEN}"
)


class NoValue(Exception):
    """There is no value at this place, or its end is missing."""


def loose_at(text: str, start: int) -> tuple[Json, int] | None:
    """Return the value that begins at `start`, and where it ends; None if there is none."""
    reader = LooseReader(text, start)
    try:
        return reader.read_value(END_OF_ELEMENT, 0), reader.at
    except NoValue:
        return None


class LooseReader:
    """Reads one value; `at` is the current position."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def read_value(self, end: re.Pattern[str], depth: int) -> Json:
        """Return the value that begins here; `end`: the pattern that must follow a closing quote."""
        char = self.peek()
        if char in CLOSING:
            if depth == JSON_DEPTH_MAX:
                raise NoValue
            self.at += 1
            return self.read_members(char, depth) if char in "{｛" else self.read_elements(char, depth)
        if char in QUOTES:
            return self.read_quoted(end)
        return self.read_bare(end is END_OF_MEMBER)

    def peek(self) -> str:
        """Return the next character that is not blank. Raises NoValue at the end of the text."""
        self.skip(BLANK)
        if self.at >= len(self.text):
            raise NoValue
        return self.text[self.at]

    def skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found is not None

    def has_closed(self, opening: str) -> bool:
        """Skip separators; skip the bracket that closes `opening` and return True if it is next."""
        while self.peek() and self.skip(BETWEEN):
            pass
        closes = self.peek() in CLOSING[opening]
        self.at += closes
        return closes

    def read_members(self, opening: str, depth: int) -> Json:
        members: dict[str, Json] = {}
        while not self.has_closed(opening):
            if self.peek() in "]］":  # the closing bracket of this object is missing
                return members
            key = self.read_quoted(END_OF_KEY) if self.peek() in QUOTES else self.read_word()
            if self.peek() and not self.skip(COLON):
                raise NoValue
            value = self.read_value(END_OF_MEMBER, depth + 1)
            # If a key is repeated, an empty value does not replace a filled one.
            if value or not members.get(key.strip()):
                members[key.strip()] = value
        return members

    def read_elements(self, opening: str, depth: int) -> Json:
        elements: list[Json] = []
        while not self.has_closed(opening):
            # A bracket of an object, or a key, follows if the closing bracket of this list is missing.
            before = self.at
            value = None if self.peek() in "}｝" else self.read_value(END_OF_ELEMENT, depth + 1)
            if self.at == before or (isinstance(value, str) and self.peek() in ":："):
                self.at = before
                return elements
            elements.append(value)
        return elements

    def read_word(self) -> str:
        found = WORD.match(self.text, self.at)
        if found is None:
            raise NoValue
        self.at = found.end()
        return found[0]

    def read_bare(self, in_object: bool) -> Json:
        """Return a number, a constant or, only as a member of an object, a word: `[a, b]` may be prose."""
        number = NUMBER.match(self.text, self.at)
        if number is not None and (number[2] or (number[3] or ".") != "."):
            self.at = number.end()
            if len(number[0]) > JSON_NUMBER_CHARS_MAX:
                raise NoValue
            if number[5]:
                return number[0]
            sign, ones, fraction = number[1].strip("+"), number[2].lstrip("0") or "0", number[3] or ""
            return JsonNumber(f"{sign}{ones}{fraction if fraction != '.' else ''}{number[4] or ''}")
        self.at += self.text.startswith("-Infinity", self.at)
        word = self.read_word()
        if word.lower() in WORDS:
            return WORDS[word.lower()]
        if word.isupper() or not in_object:
            raise NoValue
        return word

    def read_quoted(self, end: re.Pattern[str]) -> str:
        """Return the text in the quotes that open here; the closing quote is the first followed by `end`."""
        text, opening = self.text, self.text[self.at]
        triple = text.startswith(opening * 3, self.at)
        quotes, width = (opening, 3) if triple else (QUOTES[opening], 1)
        first, place = self.at + width, self.at + width
        while place < len(text):
            char = text[place]
            is_quote = char in quotes and (not triple or text.startswith(opening * 3, place))
            if is_quote and end.match(text, place + width):
                self.at = place + width
                return unescape_text(text[first:place])
            place += 2 if char == "\\" else 1
        raise NoValue


ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})?|[\"\\/bfnrt])|\\")


def unescape_text(inside: str) -> str:
    """Return the text with its escapes decoded; a backslash that begins no escape is dropped."""
    return ESCAPE.sub(lambda it: DECODER.decode(f'"{it[0]}"') if it[1] else "", inside)

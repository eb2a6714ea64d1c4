"""Replies: the JSON that a model was asked for, found in whatever it said.

Law 1. Total: any string gives a payload or an `UnusableReply`, in time linear in its size per start.
Law 2. What is read, and how deep, json_text.py and loose_json.py say; here the number of starts is bounded.
"""

import re
from typing import ClassVar, Final, Literal, get_args, overload

from umi_core.data import Data
from umi_core.json_text import Json, JsonNumber, clean_value, decode_value, whole
from umi_core.limits import (
    JSON_NUMBER_CHARS_MAX,
    JSON_START_COUNT_MAX,
    LOOSE_START_COUNT_MAX,
    PPM,
    REPLY_BYTES_MAX,
)
from umi_core.loose_json import loose_at, unescape_text
from umi_core.text import cut, size

Unread = Literal["empty", "too_long", "no_json"]
UNREAD: Final[tuple[str, ...]] = get_args(Unread)


class UnusableReply(Data):
    """A reply without payload."""

    reason: Unread


FIELDS: Final = {  # how else models call the field of a row; in small letters, without marks and blanks
    "name": "entity entityname entitytext person title",
    "type": "entitytype label kind category relation relationtype relationship verdict",
    "content": "text fact statement description observation observations contents memory summary details",
    "confidence": "score certainty probability",
    "source": "from head subject sourceentity",
    "target": "to tail object targetentity",
    "new": "newref newid newstatement",
    "old": "oldref oldid oldstatement",
    "entity_id": "id entityid",
    "id": "ref alias candidate",
    "categories": "category",
    "start": "startline from first begin",
    "end": "endline to last",
    "means": "meaning refersto standsfor antecedent",
    "reference": "pronoun term",
    "query": "rewrittenquery rewrite rewritten",
}
NAMES_OF_FIELDS: Final = {name: (name.replace("_", ""), *its.split()) for name, its in FIELDS.items()}


def field(row: Json, name: str) -> Json:
    """Return the value of a field of a row, under its name or another one that models give it; else None."""
    if not isinstance(row, dict):
        return None
    if name in row:
        return row[name]
    keys = {KEY_MARKS.sub("", key.lower()): key for key in reversed(row)}
    return next((row[keys[it]] for it in NAMES_OF_FIELDS.get(name, (name,)) if it in keys), None)


def list_under(value: Json, key: str) -> list[Json] | None:
    """Return the list under a key of an object; an object of objects is a list of them, with their names."""
    listed = field(value, key)
    if isinstance(listed, dict) and listed and all(isinstance(it, dict) for it in listed.values()):
        return [{"name": name, **it} for name, it in listed.items() if isinstance(it, dict)]
    return listed if isinstance(listed, list) else None


KEY_MARKS: Final = re.compile(r"[\s_:.*-]+")


class ObjectWith(Data):
    """Wanted: an object that has a list under `key`."""

    opening: ClassVar[str] = "{"
    key: str

    def suits(self, value: Json) -> bool:
        return list_under(value, self.key) is not None

    def says_something(self, value: Json) -> bool:
        return bool(list_under(value, self.key))


class ArrayOf(Data):
    """Wanted: an array that is empty, or holds at least one element of the kind."""

    opening: ClassVar[str] = "["
    kind: type[dict[str, Json]] | type[str]

    def suits(self, value: Json) -> bool:
        return isinstance(value, list) and (not value or any(isinstance(part, self.kind) for part in value))

    def says_something(self, value: Json) -> bool:
        return bool(value)


class ArrayWith(Data):
    """Wanted: an array that holds an object with all these fields."""

    opening: ClassVar[str] = "["
    names: tuple[str, ...]

    def suits(self, value: Json) -> bool:
        return isinstance(value, list) and any(has_fields(part, self.names) for part in value)

    def says_something(self, value: Json) -> bool:
        return bool(value)


Wanted = ObjectWith | ArrayOf | ArrayWith


def has_fields(value: Json, names: tuple[str, ...]) -> bool:
    return all(field(value, name) is not None for name in names)


@overload
def find_json(reply: str, wanted: ObjectWith) -> dict[str, Json] | UnusableReply: ...
@overload
def find_json(reply: str, wanted: ArrayOf | ArrayWith) -> list[Json] | UnusableReply: ...
def find_json(reply: str, wanted: Wanted) -> Json | UnusableReply:
    """Return the last value of the wanted shape that says something; the text around it is ignored.

    If there is none, one inside a text of the JSON, the last text first, or inside a text of that.
    """
    text = whole(reply)
    if not text.strip():
        return UnusableReply("empty")
    if size(text) > REPLY_BYTES_MAX:
        return UnusableReply("too_long")
    texts = [text]
    for _ in range(TEXT_DEPTH_MAX):
        for each in texts:
            value = search_text(each, wanted)
            if value is not None:
                return clean_value(value)
        inside = [decode_text(match[0]) for each in texts for match in STRING.finditer(each)]
        texts = [it for it in reversed(inside) if OPENINGS[wanted.opening].search(it) or '"' in it]
    return UnusableReply("no_json")


STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # an open one runs to the end
TEXT_DEPTH_MAX: Final = 3
OPENINGS: Final = {"{": re.compile("[{｛]"), "[": re.compile(r"[\[［]")}
# Between two values of one answer: not more than blanks, commas and the marks of a list.
SEAM: Final = re.compile(r"(?:[\s,;*•>\]\[-]|[0-9]{1,2}[.)])*")


def decode_text(quoted: str) -> str:
    """Return the text of a JSON string; of an open one, too."""
    return unescape_text(quoted[1:].removesuffix('"'))


def search_text(text: str, wanted: Wanted) -> Json:
    """Return the last value of the wanted shape that says something, else the first of the shape, else None.

    Values that stand right behind one another are one answer. What stands before words is a draft.
    """
    answers: list[list[Json]] = []
    at, edge, loose_count = 0, 0, 0
    for _ in range(JSON_START_COUNT_MAX):
        start = OPENINGS[wanted.opening].search(text, at)
        if start is None:
            break
        at = start.end()
        found = decode_value(text, start.start())
        if found is None and loose_count < LOOSE_START_COUNT_MAX:
            found, loose_count = loose_at(text, start.start()), loose_count + 1
        if found is None or not wanted.suits(found[0]):
            continue
        if answers and SEAM.fullmatch(text, edge, start.start()):
            answers[-1].append(found[0])
        else:
            answers.append([found[0]])
        at = edge = found[1]
    told = [its for its in answers if any(map(wanted.says_something, its))] or answers[:1]
    return join_values(told[-1]) if told else None


def join_values(values: list[Json]) -> Json:
    """Return the lists as one, or the objects as one whose lists are joined."""
    joined = values[0]
    for it in values[1:]:
        if isinstance(joined, list) and isinstance(it, list):
            joined = joined + it
        elif isinstance(joined, dict) and isinstance(it, dict):
            joined = joined | {key: join_values([joined.get(key), value]) for key, value in it.items()}
        else:
            joined = it if joined is None else joined
    return joined


def find_rows(reply: str, wanted: ArrayOf | ArrayWith, names: tuple[str, ...]) -> list[Json] | UnusableReply:
    """Return the array that was wanted, else all objects that have these fields."""
    listed = find_json(reply, wanted)
    # If a bracket is open they are the beginning of a list without its end: the model is asked once more.
    is_whole = all(reply.count(left) == reply.count(right) for left, right in ("[]", "{}"))
    is_alone = isinstance(listed, UnusableReply) and listed.reason == "no_json" and is_whole
    return (find_objects(reply, names) if is_alone else []) or listed


def find_objects(reply: str, names: tuple[str, ...]) -> list[Json]:
    """Return all objects with these fields, each behind the one before; none of a reply that is too long."""
    text, at, found = whole(reply), 0, list[Json]()
    if size(text) > REPLY_BYTES_MAX:
        return found
    for _ in range(JSON_START_COUNT_MAX):
        start = text.find("{", at)
        if start < 0:
            break
        value = decode_value(text, start) or loose_at(text, start)
        is_row = value is not None and has_fields(value[0], names)
        at = value[1] if value and is_row else start + 1
        found += [clean_value(value[0])] if value and is_row else []
    return found


# Confidence.


DECIMAL: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?")


def confidence_ppm(value: Json) -> int | None:
    """Return a number in [0, 1] times 10^6, floored in exact decimal; None for anything else."""
    text = value.text if isinstance(value, JsonNumber) else value if isinstance(value, str) else ""
    parts = DECIMAL.fullmatch(text.strip().replace("%", "e-2").replace(",", ".")[: 2 * JSON_NUMBER_CHARS_MAX])
    if parts is None:
        return None
    sign, ones, fraction, exponent = (part or "" for part in parts.groups())
    digits = int(ones + fraction)
    if sign and digits:
        return None
    # The value is digits * 10**scale. The scale is cut to a range beyond which it is over 1, or under 1 ppm.
    scale = max(-2 * JSON_NUMBER_CHARS_MAX, min(1, int(exponent or 0) - len(fraction)))
    above, below = digits * 10 ** max(scale, 0), 10 ** max(-scale, 0)
    return above * PPM // below if above <= below else None


# Reasons.


def reason_of(row: dict[str, Json], bytes_max: int) -> str:
    """Return the reason that a row gives, cut to `bytes_max`; empty if it is no text."""
    reason = row.get("reason")
    return cut(reason, bytes_max) if isinstance(reason, str) else ""


def reason_mend(row: dict[str, Json], bytes_max: int) -> str:
    """Return the name of what became of the reason of a row; empty if it stands as it is."""
    reason = row.get("reason")
    if not isinstance(reason, str):
        return "reason missing"
    return "reason cut" if size(reason) > bytes_max else ""

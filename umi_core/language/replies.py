"""Replies: finding the requested JSON in any reply of a model.

Law 1. Total: any string gives a payload or an `UnusableReply`, in linear time per bracket that is tried.
Law 2. At most JSON_START_COUNT_MAX brackets are tried; json_text.py and loose_json.py say what is read there.
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
    """A reply without a usable payload."""

    reason: Unread


FIELDS: Final = {  # other names that models use for a field; in lower case, without marks and blanks
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
    """Return the value of a field of a row, under its name or a synonym of FIELDS; None if it is missing."""
    if not isinstance(row, dict):
        return None
    if name in row:
        return row[name]
    keys = {KEY_MARKS.sub("", key.lower()): key for key in reversed(row)}
    return next((row[keys[it]] for it in NAMES_OF_FIELDS.get(name, (name,)) if it in keys), None)


def list_under(value: Json, key: str) -> list[Json] | None:
    """Return the list under a key of an object, or None.

    An object of objects counts as a list: `{"Ann": {...}}` becomes `[{"name": "Ann", ...}]`.
    """
    listed = field(value, key)
    if isinstance(listed, dict) and listed and all(isinstance(it, dict) for it in listed.values()):
        return [{"name": name, **it} for name, it in listed.items() if isinstance(it, dict)]
    return listed if isinstance(listed, list) else None


KEY_MARKS: Final = re.compile(r"[\s_:.*-]+")


class ObjectWith(Data):
    """A wanted shape: an object that has a list under `key`."""

    opening: ClassVar[str] = "{"
    key: str

    def suits(self, value: Json) -> bool:
        return list_under(value, self.key) is not None

    def has_content(self, value: Json) -> bool:
        return bool(list_under(value, self.key))


class ArrayOf(Data):
    """A wanted shape: an array that is empty or has at least one element of type `kind`."""

    opening: ClassVar[str] = "["
    kind: type[dict[str, Json]] | type[str]

    def suits(self, value: Json) -> bool:
        return isinstance(value, list) and (not value or any(isinstance(part, self.kind) for part in value))

    def has_content(self, value: Json) -> bool:
        return bool(value)


class ArrayWith(Data):
    """A wanted shape: an array with at least one object that has all fields of `names`."""

    opening: ClassVar[str] = "["
    names: tuple[str, ...]

    def suits(self, value: Json) -> bool:
        return isinstance(value, list) and any(has_fields(part, self.names) for part in value)

    def has_content(self, value: Json) -> bool:
        return bool(value)


Wanted = ObjectWith | ArrayOf | ArrayWith


def has_fields(value: Json, names: tuple[str, ...]) -> bool:
    return all(field(value, name) is not None for name in names)


@overload
def find_json(reply: str, wanted: ObjectWith) -> dict[str, Json] | UnusableReply: ...
@overload
def find_json(reply: str, wanted: ArrayOf | ArrayWith) -> list[Json] | UnusableReply: ...
def find_json(reply: str, wanted: Wanted) -> Json | UnusableReply:
    """Return the last non-empty value of the wanted shape; the text around it is ignored.

    If there is none, search the string literals of the reply, the last one first, and literals inside them:
    a model may send its JSON quoted as a string.
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


STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # an unterminated one runs to the end
TEXT_DEPTH_MAX: Final = 3
OPENINGS: Final = {"{": re.compile("[{｛]"), "[": re.compile(r"[\[［]")}
# The text allowed between two values of one answer: blanks, commas and list markers.
SEAM: Final = re.compile(r"(?:[\s,;*•>\]\[-]|[0-9]{1,2}[.)])*")


def decode_text(quoted: str) -> str:
    """Return the text of a JSON string, even of an unterminated one."""
    return unescape_text(quoted[1:].removesuffix('"'))


def search_text(text: str, wanted: Wanted) -> Json:
    """Return the last non-empty answer of the wanted shape, else the first answer of that shape, else None.

    Adjacent values are parts of one answer. Values separated by words are different answers, and the earlier
    one is only a draft.
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
    filled = [its for its in answers if any(map(wanted.has_content, its))] or answers[:1]
    return join_values(filled[-1]) if filled else None


def join_values(values: list[Json]) -> Json:
    """Return the lists concatenated, or the objects merged key by key; else the first that is not null."""
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
    """Return the wanted array, or all objects of the reply that have these fields if it has no such array."""
    listed = find_json(reply, wanted)
    # An unclosed bracket means that the reply was cut off, so it is unusable and the model is asked again.
    is_complete = all(reply.count(left) == reply.count(right) for left, right in ("[]", "{}"))
    is_alone = isinstance(listed, UnusableReply) and listed.reason == "no_json" and is_complete
    return (find_objects(reply, names) if is_alone else []) or listed


def find_objects(reply: str, names: tuple[str, ...]) -> list[Json]:
    """Return all objects with these fields, in order, without overlap; none if the reply is too long."""
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
    """Return a number in [0, 1] in ppm, rounded down in exact decimal arithmetic; None for anything else."""
    text = value.text if isinstance(value, JsonNumber) else value if isinstance(value, str) else ""
    parts = DECIMAL.fullmatch(text.strip().replace("%", "e-2").replace(",", ".")[: 2 * JSON_NUMBER_CHARS_MAX])
    if parts is None:
        return None
    sign, ones, fraction, exponent = (part or "" for part in parts.groups())
    digits = int(ones + fraction)
    if sign and digits:
        return None
    # The value is digits * 10**scale. Scales beyond the clamped range give more than 1, or less than 1 ppm.
    scale = max(-2 * JSON_NUMBER_CHARS_MAX, min(1, int(exponent or 0) - len(fraction)))
    above, below = digits * 10 ** max(scale, 0), 10 ** max(-scale, 0)
    return above * PPM // below if above <= below else None


# Reasons.


def reason_of(row: dict[str, Json], bytes_max: int) -> str:
    """Return the reason that a row gives, cut to `bytes_max`; empty if it is not a string."""
    reason = row.get("reason")
    return cut(reason, bytes_max) if isinstance(reason, str) else ""


def reason_repair(row: dict[str, Json], bytes_max: int) -> str:
    """Return the name of the repair of a row's reason, or "" if the reason needed none."""
    reason = row.get("reason")
    if not isinstance(reason, str):
        return "reason missing"
    return "reason cut" if size(reason) > bytes_max else ""

"""Read what the hierarchy stores: parts of texts, descriptions of media, groups, descents."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from msgspec import structs

from tests.properties.queries_reference import clean_line
from tests.properties.replies_reference import (
    DECODER,
    WrittenNumber,
    objects_of,
    payload_of,
    tagged_text,
    value_at,
    why_unusable,
)
from tests.properties.scores_reference import united_ppm, vector_ppm
from tests.properties.text_reference import (
    byte_count,
    compose,
    cut,
    fold_name,
    format_minute,
    kind_of,
    replace_surrogates,
    sentences,
    without_later,
)
from umi_core.data import Data
from umi_core.language.replies import ArrayWith, ObjectWith
from umi_core.language.tables import NO_KEYWORDS, TECHNICAL
from umi_core.language.tagged import REFUSAL
from umi_core.limits import (
    REPLY_BYTES_MAX,
    SEGMENT_BYTES_MAX,
    SEGMENT_SENTENCE_COUNT_MAX,
)
from umi_core.rows import Row
from umi_sim.judge.plain.levels import LevelRow, seen_row

# The lines of a text that is memorized, and the parts that they are read in, as H3.19 to H3.24 say.


CAPTION_BYTES: Final = 200
LINE_ENDS: Final = "\r\n"
Piece = tuple[str, bool, str]  # a text, whether it can be read, and whose it is

# Lines.


def lines_of(text: str, modality: str) -> list[str]:
    """Return the lines in which a text is read."""
    if modality == "conversation":
        lines = read_conversation(text)
        return text.split("\n") if lines is None else lines or [""]
    if modality == "document":
        text = text.replace("\r\n", "\n")
        return re.split("[\r\n\f]", text)
    return text.split("\n")


def caption(text: str) -> str:
    """Return the first line that is not blank, up to a full stop: a text is found by it."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    end = line.find(".")
    return cut(line[:end] if end > 0 else line, CAPTION_BYTES)


def read_conversation(text: str) -> list[str] | None:
    """Return the messages of a conversation, each in one line; None if it is no JSON of that form."""
    if text.strip() == "":
        return []
    messages = messages_in(text, oldest_first)
    if messages is None:
        return None
    spoken = [(it, *said) for it in messages for said in list_said(it)]
    lines = (message_line(n, *said) for n, said in enumerate(spoken))
    return [" ".join(re.split(f"[{LINE_ENDS}]+", line)) for line in lines]


def messages_in(text: str, order: Callable[[list[Any]], list[Any]]) -> list[Any] | None:
    """Return the messages of a list, of one in an object, or of lines of JSON; None if there are none.

    `order`: of the messages of one conversation. A judge reads the forms that worlds write, and no other
    ones: the tests of the reader have those.
    """
    value = only_json(text)
    lines = [line for line in text.split("\n") if line.strip()]
    if isinstance(value, dict) and is_alone(value):
        return [value]
    if isinstance(value, dict):
        found, content = find_listed(value, order), value.get("content")
        return add_dates(order(content), value) if found is None and isinstance(content, list) else found
    if value is None and len(lines) > 1 and isinstance(only_json(lines[0]), dict):
        value = [only_json(line) for line in lines]
    if not isinstance(value, list):
        return None
    talks = [find_listed(it, order) for it in value]
    if any(it is not None for it in talks):
        return [part for it, own in zip(talks, value, strict=True) for part in ([own] if it is None else it)]
    return [part for own in value for part in order(own)] if all(map(is_talk, value)) else order(value)


def oldest_first(messages: list[Any]) -> list[Any]:
    """Return messages turned round if each has a time and they stand with the newest first."""
    times = [minute_of_message(it) for it in messages]
    known = [it for it in times if it]
    is_turned = known == times != sorted(times) and known == sorted(known, reverse=True)
    return messages[::-1] if is_turned else messages


def minute_of_message(message: Any) -> str:
    """Return the time of a message so that it can be compared; empty if it has none."""
    shown = moment_of(message.get("created_at")) if isinstance(message, dict) else ""
    try:
        date.fromisoformat(shown[:10])
    except ValueError:
        return ""
    return shown.ljust(17, "0")


def is_talk(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(it, dict) for it in value)


def find_listed(value: Any, order: Callable[[list[Any]], list[Any]]) -> list[Any] | None:
    """Return the messages of a conversation that is an object."""
    if not isinstance(value, dict) or is_alone(value):
        return None
    found = next((value[name] for name in ("messages", "turns") if isinstance(value.get(name), list)), None)
    return None if found is None else add_dates(order(found), value)


def add_dates(messages: list[Any], talk: dict[str, Any]) -> list[Any]:
    """Return the messages, those without a time with that of their conversation."""
    when = {"created_at": talk.get("created_at")}
    return [
        {**it, **when} if isinstance(it, dict) and not moment_of(it.get("created_at")) else it
        for it in messages
    ]


def is_alone(value: dict[str, Any]) -> bool:
    """Return True for an object that is a message itself."""
    has_role = "type" in value or isinstance(value.get("role"), str) or isinstance(value.get("speaker"), str)
    return has_role and any(name in value for name in ("content", "parts", "text", "data"))


def list_said(message: Any) -> list[tuple[str, str]]:
    """Return roles and texts of a message: a call in the message of a person is one of the assistant."""
    own = role_of(message) if isinstance(message, dict) else ""
    said = list[tuple[str, str]]()
    for text, _, by in read_pieces(message) or ():
        role = by or own if own != "assistant" else own
        before = said.pop()[1] + "\n" if said and said[-1][0] == role else ""
        said.append((role, before + text))
    return said


def read_pieces(message: Any) -> list[Piece] | None:
    """Return what a message says, which may be nothing; None if that cannot be read."""
    if not isinstance(message, dict):
        return None
    inner = message.get("data", message)
    bodies = [inner[name] for name in ("content", "parts", "text") if name in inner]
    pieces = [it for body in bodies for it in pieces_of(body) if it[0].strip()]
    is_unread = not bodies or (pieces and not any(is_known for _, is_known, _ in pieces))
    return None if is_unread else pieces


def pieces_of(content: Any) -> list[Piece]:
    """Return the texts of a content, each with True; of a part that cannot be read its type, with False."""
    if isinstance(content, list):
        return [piece for part in content for piece in pieces_of(part)]
    if not isinstance(content, dict):
        return [(text_of_value(content), True, "")]
    kind = content.get("type")
    if isinstance(kind, str) and kind.startswith("tool_"):
        inputs = ", ".join(
            f"{name}={json.dumps(it, ensure_ascii=False)}" for name, it in content.get("input", {}).items()
        )
        return [(f"calls {content.get('name', 'a tool')}({inputs})", True, "assistant")]
    if kind == "image":
        return [(f"[image: {content['url']}]" if content.get("url") else "[image]", True, "")]
    named = [content[name] for name in ("text", "parts", "content") if name in content]
    given = [it for it in named if it is not None]
    is_blank = len(named) + ("type" in content) == len(content) and (named or not content)
    nothing: list[Piece] = [] if is_blank else [(f"[{kind or 'part'}]", False, "")]
    return pieces_of(given[0]) if given else nothing


def mute_messages(text: str) -> tuple[list[int], int]:
    """Return the numbers of the messages that cannot be read, and the count of all messages."""
    messages = messages_in(text, list) or []
    return [n for n, it in enumerate(messages) if read_pieces(it) is None], len(messages)


def places(numbers: list[int]) -> str:
    """Return ten of the numbers at most, as an error names them."""
    return ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")


def only_json(text: str) -> Any:
    """Return the JSON that a text is as a whole; None if it is none."""
    bare = text.strip(" \t\r\n")
    # A text "null" gives None too, and is no conversation either way.
    value = value_at(bare, 0)
    try:
        _, end = DECODER.raw_decode(bare, 0)
    except (ValueError, RecursionError):
        return None
    return value if end == len(bare) else None


def role_of(message: dict[str, Any]) -> str:
    names = (message.get("role"), message.get("speaker"), message.get("type"))
    written = next((it.strip() for it in names if isinstance(it, str) and it.strip()), "user")
    return {"model": "assistant", "human": "user", "ai": "assistant"}.get(written, written)


def message_line(number: int, message: dict[str, Any], role: str, body: str) -> str:
    time = moment_of(message.get("created_at"))
    return " ".join([f"[{number}]", *([time] if time else []), f"[{role}]: "]) + body


def moment_of(created: Any) -> str:
    """Return a time as it is shown: of a number of seconds the minute, and of no other number any."""
    if isinstance(created, WrittenNumber):
        is_seconds = len(created.written) == 10 and created.written.isdigit()
        return format_minute(int(created.written) * 1_000) if is_seconds else ""
    return created if isinstance(created, str) else ""


def text_of_value(value: Any) -> str:
    if isinstance(value, WrittenNumber):
        return value.written
    # Numbers are WrittenNumber here (`DECODER`), so 1 and 0 are not taken for flags.
    return value if isinstance(value, str) else {None: "", True: "true", False: "false"}[value]


# Parts.


def parts_of(lines: list[str], starts: list[int]) -> list[str]:
    """Return the texts of the parts that begin at these lines, divided further where they are too long."""
    ends = [*starts[1:], len(lines)]
    return [text for start, end in zip(starts, ends, strict=True) for text in pack_lines(lines[start:end])]


def pack_lines(lines: list[str]) -> list[str]:
    """Pack as many lines together as fit."""
    found: list[list[str]] = []
    for line in lines:
        if not found or not is_short("\n".join([*found[-1], line])):
            found.append([])
        found[-1].append(line)
    return [
        piece for part in found for piece in (divide_line(part[0]) if len(part) == 1 else ["\n".join(part)])
    ]


def is_short(text: str) -> bool:
    return byte_count(text) <= SEGMENT_BYTES_MAX and len(sentences(text)) <= SEGMENT_SENTENCE_COUNT_MAX


def divide_line(line: str) -> list[str]:
    """Divide a line: as many sentences together as fit, with the blanks behind them."""
    starts = starts_of_sentences(line)
    found, at = list[str](), 0
    while not is_short(line[at:]):
        fitting = [end for end in starts if end > at and is_short(line[at:end])]
        head = line[at : max(fitting)] if fitting else cut(line[at:], SEGMENT_BYTES_MAX)
        found.append(head)
        at += len(head)
    return [*found, line[at:]]


def starts_of_sentences(line: str) -> list[int]:
    """Return where each sentence of a line begins, but for the first."""
    found, at = list[int](), 0
    for sentence in sentences(line):
        start = line.index(sentence, at)
        found.append(start)
        at = start + len(sentence)
    return found[1:]


def read_starts(reply: str, line_count: int) -> list[int] | None:
    """Return where parts begin; a line belongs to the first part that has it. None: no parts."""
    # Segments 0-4 and 3-9 of ten lines: the second begins at 5, behind what the first has. The first begins
    # at 0, whatever it says, so that no line is lost.
    ends = sorted(bounds for it in list_elements(reply) if (bounds := bounds_of(it, line_count)))
    starts, covered = list[int](), -1
    for start, end in ends:
        if end > covered:
            starts.append(max(start, covered + 1))
            covered = end
    return [0, *starts[1:]] if starts else None


def list_elements(reply: str) -> list[Any]:
    """List the segments of a reply, or all objects in it that have two ends."""
    payload = payload_of(reply, ObjectWith("segments"))
    if payload is not None:
        return list(payload["segments"])
    ends = ("start", "end")
    listed = payload_of(reply, ArrayWith(ends))
    return objects_of(reply, ends) if listed is None and why_unusable(reply) == "no_json" else listed or []


def bounds_of(element: Any, line_count: int) -> tuple[int, int] | None:
    """Return the first and the last line of an element; None if there is no line between them."""
    if isinstance(element, str):
        element = element.replace("–", "-").split("-")
    if isinstance(element, list) and len(element) == 2:
        element = {"start": element[0], "end": element[1]}
    if not isinstance(element, dict):
        return None
    start, end = (number_of(element.get(name)) for name in ("start", "end"))
    if start is None or end is None or start > end or end < 0 or start >= line_count:
        return None
    return max(start, 0), min(end, line_count - 1)


def number_of(value: Any) -> int | None:
    text = value.written if isinstance(value, WrittenNumber) else value if isinstance(value, str) else ""
    found = re.fullmatch(r"\[?(-?[0-9]{1,9})(\.0+)?\]?", text.strip())
    return int(found[1]) if found else None


# Descriptions of an image, an audio or a video, as H3.25 says.


class Described(NamedTuple):
    text: str
    caption: str


def read_description(reply: str) -> Described | None:
    """Return text and caption; None if the reply says nothing."""
    clean = replace_surrogates(reply)
    if byte_count(clean) > REPLY_BYTES_MAX:
        return None
    tags = ("content", "caption")
    tagged, titled = (tagged_text(it, clean, tags) for it in tags)
    text = (clean if tagged is None else tagged).strip()
    if text == "":
        return None
    lines = [line.strip() for line in (titled or "").split("\n") if line.strip()]
    return Described(text, cut(lines[0], CAPTION_BYTES) if lines else caption(text))


# Groups of the members of a category, their keywords and names, as section 8 of
# docs/spec/hierarchy.md says.
#
# Law 1. Written a second time and slowly: every pair is looked at again in every round.


LARGEST: Final = 127
KEYWORDS: Final = 10
NAME_BYTES: Final = 40
NEW: Final = 100
REPLY_BYTES: Final = 50_000

Vector = tuple[int, ...]


# Keywords and names.


def keyword_candidates(text: str) -> list[str]:
    """Return the words that may be keywords, as they come."""
    # Characters that Unicode 14 does not have divide words,
    # so that every version of Python finds the same ones.
    folded_text = compose(without_later(text)).casefold()
    return [word for word in "".join(map(in_word, folded_text)).split() if is_telling(word)]


def in_word(char: str) -> str:
    """Return a blank for a character that is in no word."""
    kind = kind_of(char)
    return char if char == "_" or kind == "Nd" or kind[0] in "LM" else " "


def is_telling(word: str) -> bool:
    if kind_of(word[0]) == "Nd" or word in NO_KEYWORDS:
        return False
    if re.fullmatch("_+", word):
        return False
    return word in TECHNICAL or len(word) > (2 if word.isascii() else 1)


def keywords_of(texts: Sequence[str]) -> tuple[str, ...]:
    found = [word for text in texts for word in keyword_candidates(text)]
    ranked = sorted(
        dict.fromkeys(found), key=lambda it: (-found.count(it) * (2 if it in TECHNICAL else 1), it)
    )
    return tuple(ranked[:KEYWORDS])


def read_name(reply: str) -> str | None:
    """Return the name of a group; None if the reply has none."""
    text = replace_surrogates(reply)
    if byte_count(text) > REPLY_BYTES:
        return None
    inside = tagged_text("name", text, ("name",))
    line = clean_line(text if inside is None else inside)
    before, colon, behind = line.partition(":")
    if REFUSAL.match(text):
        return None
    is_label = colon and re.search(r"\bname\b", before, re.IGNORECASE)
    return cut("_".join(keyword_candidates(behind if is_label else line)), NAME_BYTES) or None


def name_without_model(keywords: Sequence[str], founder_id: str) -> str:
    return cut("_".join(keywords[:3]), NAME_BYTES) or "group_" + founder_id[-8:]


def name_not_taken(wanted: str, others: Sequence[str]) -> str:
    """Append the first number that makes `wanted` different from the other names."""
    known, name, n = [fold_name(other) for other in others], wanted, 0
    while fold_name(name) in known:
        n += 1
        name = f"{wanted}-{n}"
    return name


# Groups.


class OldGroup(Data):
    """A group that was there: since when, its centroid, and its members."""

    id: str
    created_ms: int
    centroid: Vector
    members: tuple[str, ...]


class ExpectedGroup(Data):
    """A group as it must be; `old`: the one that it continues."""

    old: OldGroup | None
    members: tuple[str, ...]

    def order(self) -> tuple[int, int, int, str]:
        """Return the sort key: larger groups, then continued ones, then older ones, then by id."""
        old = self.old
        return (
            -len(self.members),
            old is None,
            old.created_ms if old else 0,
            old.id if old else self.members[0],
        )


class Rules(Data):
    near_ppm: int
    merge_ppm: int
    size_min: int
    count_max: int


def groups_of(
    vectors: Mapping[str, Vector], old: Sequence[OldGroup], rules: Rules, *, afresh: bool
) -> list[ExpectedGroup]:
    """Return the groups of these vectors, the largest first."""
    ids, homes = sorted(vectors), dict[str, list[str]]()
    for key in ids:
        near = [(vector_ppm(vectors[key], it.centroid), it.id) for it in (() if afresh else old)]
        near = [it for it in near if it[0] >= rules.near_ppm]
        if near:
            best = max(ppm for ppm, _ in near)
            homes.setdefault(min(own for ppm, own in near if ppm == best), []).append(key)
    found = [ExpectedGroup(it, tuple(homes[it.id])) for it in old if it.id in homes]
    housed = [key for members in homes.values() for key in members]
    found += new_groups({key: vectors[key] for key in ids if key not in housed}, rules)
    # Each round drops one stranger of a group, which moves its centre, which may make others strangers. It
    # ends, as every round with a change has fewer members or groups.
    while (after := regroup(found, vectors, rules)) != found:
        found = after
    found = sorted(found, key=ExpectedGroup.order)[: rules.count_max]
    return continue_groups(found, old) if afresh else found


def new_groups(vectors: Mapping[str, Vector], rules: Rules) -> list[ExpectedGroup]:
    remaining, found = dict(vectors), list[ExpectedGroup]()
    while remaining and len(found) < NEW:
        near = {
            key: tuple(it for it in remaining if vector_ppm(remaining[key], remaining[it]) >= rules.near_ppm)
            for key in remaining
        }
        # The vector with most others near it is the middle of
        # the next group; of equal ones that with the least id.
        most = max(map(len, near.values()))
        if most < rules.size_min:
            break
        middle = min(key for key, it in near.items() if len(it) == most)
        found.append(ExpectedGroup(None, near[middle]))
        remaining = {key: it for key, it in remaining.items() if key not in near[middle]}
    return found


def regroup(
    found: Sequence[ExpectedGroup], vectors: Mapping[str, Vector], rules: Rules
) -> list[ExpectedGroup]:
    """Merge near groups, drop one stranger from each, and remove groups that are too small."""
    groups = sorted(found, key=ExpectedGroup.order)
    while (pair := find_nearest_pair(groups, vectors, rules.merge_ppm)) is not None:
        first, second = pair
        groups = [it for it in groups if it not in pair]
        # `groups` is in order, so `first` is the larger one,
        # and of equal ones that which continues an old group.
        groups.append(ExpectedGroup(first.old or second.old, tuple(sorted(first.members + second.members))))
        groups.sort(key=ExpectedGroup.order)
    groups = [without_stranger(it, vectors, rules.near_ppm) for it in groups]
    return sorted((it for it in groups if len(it.members) >= rules.size_min), key=ExpectedGroup.order)


def find_nearest_pair(
    groups: Sequence[ExpectedGroup], vectors: Mapping[str, Vector], floor_ppm: int
) -> tuple[ExpectedGroup, ExpectedGroup] | None:
    """Return the two groups whose centres are nearest, if near enough; of equal pairs the first."""
    centres = [centre_of(it.members, vectors) for it in groups]
    best: tuple[int, tuple[ExpectedGroup, ExpectedGroup]] | None = None
    for at, one in enumerate(groups):
        for to in range(at + 1, len(groups)):
            ppm = vector_ppm(centres[at], centres[to])
            if ppm >= floor_ppm and (best is None or ppm > best[0]):
                best = ppm, (one, groups[to])
    return best[1] if best else None


def without_stranger(group: ExpectedGroup, vectors: Mapping[str, Vector], floor_ppm: int) -> ExpectedGroup:
    centre = centre_of(group.members, vectors)
    ppm = {key: vector_ppm(vectors[key], centre) for key in group.members}
    least = min(ppm.values())
    if least >= floor_ppm:
        return group
    stranger = min(key for key in ppm if ppm[key] == least)
    return ExpectedGroup(group.old, tuple(key for key in group.members if key != stranger))


def centre_of(members: Sequence[str], vectors: Mapping[str, Vector]) -> Vector:
    """Return the sum of the vectors, scaled towards zero if it is too long for a vector."""
    total = [0] * len(vectors[members[0]])
    for key in members:
        total = [a + b for a, b in zip(total, vectors[key], strict=True)]
    most = max(abs(it) for it in total)
    if most <= LARGEST:
        return tuple(total)
    # Towards zero: `//` alone rounds down, so a vector and its opposite would not stay opposites.
    return tuple(it * LARGEST // most if it >= 0 else -(-it * LARGEST // most) for it in total)


def continue_groups(found: Sequence[ExpectedGroup], old: Sequence[OldGroup]) -> list[ExpectedGroup]:
    """Let each old group continue as the one group with most of its members; the older goes first."""
    claims = [
        (-len([key for key in it.members if key in group.members]), group.created_ms, group.id, it.members)
        for it in found
        for group in old
    ]
    by_id, given = {it.id: it for it in old}, dict[tuple[str, ...], str]()
    for shared, _, own, members in sorted(claims):
        if shared and members not in given and own not in given.values():
            given[members] = own
    return [
        structs.replace(it, old=by_id[given[it.members]] if it.members in given else None) for it in found
    ]


# Hits of a level, as H6.18 says.


def rank_level(level: str, by_vector: Iterable[Row], by_words: Iterable[Row]) -> list[LevelRow]:
    """Return each row once, the best first; of a text and its parts either it or them."""
    lists = [*by_vector], [*by_words]
    by_vector, by_words = ([it for it in each if not is_outdated(it, lists)] for each in lists)
    rows = {row.address.id: row for row in (*by_words, *by_vector)}
    vectors, worded = dict[str, int](), dict[str, int]()
    for known, listed in ((vectors, by_vector), (worded, by_words)):
        for row in listed:
            known[row.address.id] = max(row.score_ppm or 0, known.get(row.address.id, 0))
    scores = {key: united_ppm(vectors.get(key, 0), worded.get(key, 0)) for key in rows}
    found = [seen_row(level, row, scores[key], vectors.get(key)) for key, row in rows.items()]
    # whole text 600,000, its parts 500,000 and 550,000: the whole is shown, both parts are not
    # whole text 500,000, its parts 500,000 and 300,000: the parts are shown, as the best is not worse
    best = {it.whole: 0 for it in found if it.whole is not None}
    for it in found:
        if it.whole is not None:
            best[it.whole] = max(best[it.whole], it.score_ppm)
    lost = [whole for whole, ppm in best.items() if ppm >= scores.get(str(whole), -1)]
    kept = [it for it in found if it.id not in lost and (it.whole is None or it.whole in lost)]
    return sorted(kept, key=lambda it: (-it.score_ppm, it.id))


def is_outdated(row: Row, lists: Iterable[Iterable[Row]]) -> bool:
    """Return True if one of these lists has a later version of the row."""
    return any(it.address == row.address and it.version > row.version for each in lists for it in each)

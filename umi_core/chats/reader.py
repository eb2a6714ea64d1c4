"""Reads conversations from a text: JSON in a known format, JSON Lines of messages, or lines `Name: text`.

Law 1. Reading is total: any text gives conversations or None. Law 2. Each message is read, or left out and
counted by reason, or reported as unreadable with its number and a reason.
"""

import csv
import re
from collections import Counter
from typing import Final

from umi_core.chats.contents import gather_names
from umi_core.chats.formats import RawChat, find_chats
from umi_core.chats.messages import CONTENT_KEYS, ROLE_KEYS, ROLES, is_role, read_message, standard_role
from umi_core.chats.moments import find_order, is_descending, order_day, read_moment
from umi_core.chats.placeholders import drop_placeholders
from umi_core.chats.values import (
    EMPTY,
    LEFT_OUT,
    NOTICE,
    OTHER_BRANCH,
    Chat,
    ChatFile,
    ChatMessage,
    UnreadMessage,
)
from umi_core.json_text import Json, decode_value, whole, whole_json, write_json
from umi_core.loose_json import loose_at

TIME: Final = r"\d{1,4}[-/.]\d\d?[-/.]\d{1,4},?[ T]\s*\d\d?:\d\d(?::\d\d)?(?:\s?[AaPp]\.?\s?[Mm]\.?)?"
TURN: Final = re.compile(
    rf"(?:\[?(?P<time>{TIME})\]?(?:\s[-–])?\s)?"
    r"(?P<name>[^\s:：\[\]{}\"][^:：\[\]{}\"\n]{0,39})(?::\s|:$|：)(?P<text>.*)"
)
DATED: Final = re.compile(rf"\[?{TIME}\]?(?:\s[-–])?\s")
HEADING: Final = re.compile(
    r"(?:#{1,6}\s+|\*\*|__)(?P<name>[A-Za-z]{2,20})(?:(?:\*\*|__)?$|:(?:\*\*|__)?|(?:\*\*|__):)\s*(?P<text>.*)"
)
PROGRAMS: Final = {"you": "user", **dict.fromkeys(("claude", "copilot", "gemini", "grok"), "assistant")}
WORD: Final = re.compile(r"[^\W\d_a-z][\w.'’-]*")  # does not begin with a lower-case letter of English
NAME_WORDS_MAX: Final = 3
HEADERS: Final = frozenset("subject date from to cc bcc re note title author".split())  # of letters and notes
MARKS: Final = str.maketrans("", "", "\u200e\u200f\u202a\u202c")  # direction marks, which WhatsApp writes


def read_chat_file(text: str) -> ChatFile | None:
    """Return the conversations of a text; None if its format is unknown."""
    bare = text.removeprefix("\ufeff").strip()
    value = whole_json(bare)
    value = read_json_lines(bare) if value is None else value
    if value is not None:
        return read_value(value)
    for read in (read_values, read_table):
        found = read_value(read(bare))
        if found is not None and any(chat.messages for chat in found.chats):
            return found
    turns, counts = read_turns(bare)
    is_talk = len(turns) + counts[EMPTY] > 1
    return ChatFile("text", (Chat("", "", tuple(turns), (), list_counts(counts)),)) if is_talk else None


def read_value(value: Json) -> ChatFile | None:
    found = find_chats(value)
    return None if found is None else ChatFile(found[0], tuple(map(read_chat, found[1])))


def read_json_lines(text: str) -> Json:
    """Return the values of lines if the first line is an object; a line that is no JSON stays a text."""
    lines = [line for it in text.split("\n") if (line := it.strip(RECORD)).strip()]
    first = whole_json(lines[0]) if lines else None
    if not isinstance(first, dict):
        return None
    return [first, *(it if (it := whole_json(line)) is not None else line for line in lines[1:])]


RECORD: Final = "\x1e"  # separator before each value of a JSON text sequence
HEADING_CHARS_MAX: Final = 1_000
LOOSE_CHARS_MAX: Final = 2**22  # reading loose JSON of this size takes seconds
START: Final = re.compile(r"(?:[\w.$ ]{0,80}=\s*)?(?=[\[{\x1e])")  # also after `window.YTD.messages = `
SEAM: Final = re.compile(r"[\s,;\x1e]*")


def read_values(text: str) -> Json:
    """Return the consecutive JSON values of a text, or a single value written as loose JSON."""
    start = START.match(text)
    if start is None:
        return None
    values, at = list[Json](), skip_seam(text, start.end())
    while at < len(text):
        found = decode_value(text, at) if text[at] in "[{" else None
        is_small = not values and len(text) <= LOOSE_CHARS_MAX
        found = loose_at(text, at) if found is None and is_small else found
        if found is None:
            return None
        values.append(found[0])
        at = skip_seam(text, found[1])
    return values[0] if len(values) == 1 else values


def skip_seam(text: str, at: int) -> int:
    found = SEAM.match(text, at)
    return at if found is None else found.end()


def read_table(text: str) -> Json:
    """Return the rows of a CSV table as messages, if it has a column of speakers and one of texts."""
    line = text[:HEADING_CHARS_MAX].partition("\n")[0]
    between = max(",;\t", key=line.count)
    names = [name.strip(' "\r').lower() for name in line.split(between)]
    if not {*names} & {*ROLE_KEYS} or not {*names} & {*CONTENT_KEYS} or len(names) < 2:
        return None
    rows = csv.reader(text.splitlines(keepends=True)[1:], delimiter=between)
    try:
        return [dict(zip(names, row, strict=False)) for row in rows if any(row)]
    except csv.Error:
        return None


def read_chat(raw: RawChat) -> Chat:
    """Return a conversation with each of its messages read, left out or unread."""
    names = {key: name for _, it in raw.items for key, name in gather_names(it)}
    results = [read_message(it, number, names, raw.date) for number, it in raw.items]
    counts = Counter(it for it in results if isinstance(it, str))
    counts[OTHER_BRANCH] += raw.other_count
    return Chat(
        whole(raw.key),
        whole(raw.title),
        tuple(message for it in results if isinstance(it, tuple) for message in it),
        tuple(sorted((it for it in results if isinstance(it, UnreadMessage)), key=lambda it: it.number)),
        list_counts(counts),
    )


def list_counts(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    """Return the numbers of messages left out, by the words of LEFT_OUT."""
    return tuple((word, counts[word]) for word in LEFT_OUT if counts[word])


# Lines `Name: text`.


def read_turns(text: str) -> tuple[list[ChatMessage], Counter[str]]:
    """Return the turns of a text that begins with a turn: `Ann: Hi`, `[1/2/24, 10:11] Ann: Hi`.

    A line of another form continues the turn before it. Among turns with dates, a line with a date but no
    name is a notice of the program. The second value counts what is left out. Turns with the newest first are
    reversed.
    """
    turns: list[tuple[re.Match[str], list[str]]] = []
    counts = Counter[str]()
    for line in text.translate(MARKS).split("\n"):
        found = TURN.match(line)
        heading = HEADING.fullmatch(line)
        if heading and standard_role(speaker_of(heading)) in ROLES:
            turns.append((heading, [heading["text"]]))
        elif found and is_speaker(found):
            turns.append((found, [found["text"]]))
        elif DATED.match(line) and (not turns or turns[-1][0].groupdict().get("time")):
            counts[NOTICE] += 1
        elif turns:
            turns[-1][1].append(line)
        elif line.strip() and not line.startswith("# "):  # a title
            return [], Counter()
    if {speaker_of(found).lower() for found, _ in turns} <= HEADERS:
        return [], Counter()
    order = find_order(found.groupdict().get("time") or "" for found, _ in turns)
    read = [read_turn(number, found, lines, order) for number, (found, lines) in enumerate(turns, 1)]
    messages = [it for it in read if it.text]
    counts[EMPTY] += len(read) - len(messages)
    return messages[::-1] if is_descending([it.at_ms for it in read]) else messages, counts


def read_turn(number: int, found: re.Match[str], lines: list[str], order: str) -> ChatMessage:
    """Return a turn as a message; `order`: whether numeric dates begin with `day` or `month`."""
    time = " ".join((found.groupdict().get("time") or "").split())
    at_ms = read_moment(order_day(time, order))[1]
    unread = write_json(time) if time and at_ms is None else ""
    text = drop_placeholders("\n".join(lines)).strip()
    return ChatMessage(number, standard_role(speaker_of(found)), text, time, at_ms, unread)


def speaker_of(found: re.Match[str]) -> str:
    """Return the name of the speaker; in a heading, the name of a program or `you` becomes a role."""
    return PROGRAMS.get(found["name"].lower(), found["name"]) if found.re is HEADING else found["name"]


def is_speaker(found: re.Match[str]) -> bool:
    """Check whether the text before a colon is a speaker: any text after a date, else a role or a name.

    A name has at most three words, each with a capital.
    """
    words = found["name"].split()
    is_name = len(words) <= NAME_WORDS_MAX and all(map(WORD.fullmatch, words))
    return bool(found["time"]) or is_role(found["name"]) or is_name

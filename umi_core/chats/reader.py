"""A text as conversations: JSON in a known format, JSON Lines of messages, or lines `Name: text`.

Law 1. Total: any text is a file of conversations or none. Law 2. Each message of it is read, left out for a
reason that is counted, or named with its place and what is wrong with it.
"""

import re
from collections import Counter
from typing import Final

from umi_core.chats.contents import gather_names
from umi_core.chats.formats import RawChat, find_chats
from umi_core.chats.messages import is_role, plain_role, read_message
from umi_core.chats.moments import find_order, order_day, read_moment
from umi_core.chats.values import LEFT_OUT, OTHER_BRANCH, Chat, ChatFile, ChatMessage, UnreadMessage
from umi_core.json_text import Json, whole, whole_json, write_json

TURN: Final = re.compile(
    r"\u200e?(?:\[?(?P<time>\d{1,4}[-/.]\d\d?[-/.]\d{1,4},?[ T]\s*\d\d?:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?)\]?"
    r"(?:\s[-–])?\s)?(?P<name>[^\s:：\[\]{}\"][^:：\[\]{}\"\n]{0,39})(?::\s|：)(?P<text>.*)"
)
WORD: Final = re.compile(r"[^\W\d_a-z][\w.'’-]*")  # begins with no small letter of English
NAME_WORDS_MAX: Final = 3


def read_chat_file(text: str) -> ChatFile | None:
    """Return the conversations of a text; None if it is of no known format."""
    bare = text.removeprefix("\ufeff").strip()
    value = whole_json(bare)
    found = find_chats(read_json_lines(bare) if value is None else value)
    if found is None:
        turns = tuple(read_turns(bare)) if value is None else ()
        return ChatFile("text", (Chat("", "", turns),)) if len(turns) > 1 else None
    return ChatFile(found[0], tuple(map(read_chat, found[1])))


def read_json_lines(text: str) -> Json:
    """Return the values of lines of which the first is an object; one that is no JSON stays as it is."""
    lines = [line for line in text.split("\n") if line.strip()]
    first = whole_json(lines[0]) if lines else None
    if not isinstance(first, dict):
        return None
    return [first, *(it if (it := whole_json(line)) is not None else line for line in lines[1:])]


def read_chat(raw: RawChat) -> Chat:
    """Return a conversation with each of its messages read, left out or unread."""
    names = {key: name for _, it in raw.items for key, name in gather_names(it)}
    results = [read_message(it, number, names, raw.date) for number, it in raw.items]
    counts = Counter(it for it in results if isinstance(it, str))
    counts[OTHER_BRANCH] += raw.other_count
    return Chat(
        whole(raw.key),
        whole(raw.title),
        tuple(it for it in results if isinstance(it, ChatMessage)),
        tuple(it for it in results if isinstance(it, UnreadMessage)),
        tuple((word, counts[word]) for word in LEFT_OUT if counts[word]),
    )


# Lines `Name: text`.


def read_turns(text: str) -> list[ChatMessage]:
    """Return the turns of a text that begins with one: `Ann: Hi`, `[1/2/24, 10:11] Ann: Hi`.

    A line of another form continues the turn before it.
    """
    turns: list[tuple[re.Match[str], list[str]]] = []
    for line in text.split("\n"):
        found = TURN.match(line)
        if found and is_speaker_name(found["name"]):
            turns.append((found, [found["text"]]))
        elif turns:
            turns[-1][1].append(line)
        else:
            return []
    order = find_order(found["time"] or "" for found, _ in turns)
    return [read_turn(number, found, lines, order) for number, (found, lines) in enumerate(turns, 1)]


def read_turn(number: int, found: re.Match[str], lines: list[str], order: str) -> ChatMessage:
    """Return a turn as a message; `order`: what a numeric date begins with."""
    time = " ".join((found["time"] or "").split())
    at_ms = read_moment(order_day(time, order))[1]
    unread = write_json(time) if time and at_ms is None else ""
    return ChatMessage(number, plain_role(found["name"]), "\n".join(lines).strip(), time, at_ms, unread)


def is_speaker_name(name: str) -> bool:
    """Check whether what stands before a colon is a role or a name: at most three words with a capital."""
    words = name.split()
    return is_role(name) or (len(words) <= NAME_WORDS_MAX and all(map(WORD.fullmatch, words)))

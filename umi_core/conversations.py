"""Conversations and documents as lines to be memorized.

Law 1. Total: any text has lines. Law 2. A message with a text is one line, or several lines if one would be
too long for a segment; each line has its role. A request with an unreadable message is refused. In a
conversation stored by an older release, an unreadable message has no line.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from umi_core.chats.messages import MACHINES
from umi_core.chats.reader import read_chat_file
from umi_core.chats.values import ChatMessage
from umi_core.language.sentences import divide_line, fits, sentences
from umi_core.limits import TEXT_BYTES_MAX, UNREADABLE_SHOWN_MAX
from umi_core.text import cut, size

LINE_NUMBER_MAX: Final = TEXT_BYTES_MAX  # every line has at least one byte
TEXT_COUNT_MAX: Final = 4  # texts in the cache: every step of a memorize needs the lines of its text
LINE_ENDS: Final = re.compile("[\r\n]+")
LINE_HEAD: Final = re.compile(r"\[[0-9]+\] .*?\[(?P<role>.*?)\]: ")  # as write_head makes it


@lru_cache(maxsize=TEXT_COUNT_MAX)
def conversation(text: str) -> str:
    """Return the lines of a conversation in a known format; any other text unchanged."""
    if not text.strip():
        return ""
    found = read_chat_file(text)
    if found is None:
        return text
    lines = list[str]()
    for message in (it for chat in found.chats for it in chat.messages):
        lines += write_lines(len(lines), message)
    return "\n".join(lines)


def write_lines(at: int, message: ChatMessage) -> Iterator[str]:
    """Yield a message as one line, or as several that each fit into a segment; `at`: number of the first.

    Every line begins with the role, so that a segment in the middle of the long output of a tool is not taken
    for a text of the user.
    """
    line_text = LINE_ENDS.sub(" ", message.text)
    line = f"{write_head(at, message)}{line_text}"
    if fits(size(line), len(sentences(line))):
        yield line
        return
    parts = divide_line(line_text, write_head(LINE_NUMBER_MAX, message))
    stripped = (it.strip() for it in parts)
    yield from (f"{write_head(at + n, message)}{it}" for n, it in enumerate(filter(None, stripped)))


def write_head(at: int, message: ChatMessage) -> str:
    when = f"{message.time} " if message.time else ""
    return LINE_ENDS.sub(" ", f"[{at}] {when}[{message.role}]: ")


def list_spoken(text: str) -> str:
    """Return the lines of people, not of assistants and tools, without numbers, times and roles."""
    lines = [(LINE_HEAD.match(line), line) for line in text.split("\n")]
    spoken = (line[head.end() :] if head else line for head, line in lines if not is_of_machine(head))
    return "\n".join(spoken)


def is_of_machine(head: re.Match[str] | None) -> bool:
    return head is not None and head["role"] in MACHINES


def find_unreadable(text: str) -> tuple[tuple[int, ...], int]:
    """Return the positions of unreadable messages, and the count of all messages.

    [{"role": "user", "content": "hi"}, {"role": "tool"}, null, {"role": "assistant", "content": ""}]

    gives (1, 2), 4: the last one is readable, but empty.
    """
    found = read_chat_file(text)
    chats = found.chats if found is not None else ()
    before, positions = 0, list[int]()
    for chat in chats:
        positions += (before + max(0, it.number - 1) for it in chat.unread)
        before += chat.message_count
    return tuple(positions), before


def list_positions(positions: tuple[int, ...]) -> str:
    """Return the first few positions as text: `1, 2, ...`."""
    shown = [str(at) for at in positions[:UNREADABLE_SHOWN_MAX]]
    return ", ".join(shown + ["..."] * (len(positions) > len(shown)))


def document(text: str) -> str:
    """Return the text with LF for CR, CR LF and FF."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")


NORMALISERS: Final[Mapping[str, Callable[[str], str]]] = {
    "text": str, "message": str, "document": document, "conversation": conversation,
}  # fmt: skip
"""The function that makes lines of a text, by modality."""


def first_sentence(text: str, bytes_max: int) -> str:
    """Return the first line that is not blank, up to its first full stop."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return cut(line.partition(".")[0] or line, bytes_max)

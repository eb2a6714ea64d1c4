"""Conversations and documents, as the lines that are memorized.

Law 1. Total: any text has lines. Law 2. A message is one line with a text in it. A conversation with
a message that cannot be read is refused when it arrives; one that an older release has stored has no line
for it.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from umi_core.chats.reader import read_chat_file
from umi_core.chats.values import ChatMessage
from umi_core.limits import UNREADABLE_SHOWN_MAX
from umi_core.text import cut

TEXT_COUNT_MAX: Final = 4  # memorize asks for the lines of its text in each of its steps
LINE_ENDS: Final = re.compile("[\r\n]+")


@lru_cache(maxsize=TEXT_COUNT_MAX)
def conversation(text: str) -> str:
    """Return a line for each message of a conversation in a known format; another text as it is."""
    if not text.strip():
        return ""
    found = read_chat_file(text)
    if found is None:
        return text
    messages = [message for chat in found.chats for message in chat.messages]
    return "\n".join(line_of(at, message) for at, message in enumerate(messages))


def line_of(at: int, message: ChatMessage) -> str:
    when = f"{message.time} " if message.time else ""
    return LINE_ENDS.sub(" ", f"[{at}] {when}[{message.role}]: {message.text}")


def find_unreadable(text: str) -> tuple[tuple[int, ...], int]:
    """Return the positions of the messages that cannot be read, and how many messages there are.

    [{"role": "user", "content": "hi"}, {"role": "tool"}, null, {"role": "assistant", "content": ""}]

    gives (1, 2), 4: the last one says nothing, and is no line.
    """
    found = read_chat_file(text)
    chats = found.chats if found is not None else ()
    before, positions = 0, list[int]()
    for chat in chats:
        positions += (before + max(0, it.number - 1) for it in chat.unread)
        before += chat.message_count
    return tuple(positions), before


def list_positions(positions: tuple[int, ...]) -> str:
    """Return the first few positions as a text for people: `1, 2, ...`."""
    shown = [str(at) for at in positions[:UNREADABLE_SHOWN_MAX]]
    return ", ".join(shown + ["..."] * (len(positions) > len(shown)))


def document(text: str) -> str:
    """Return the text with LF for every kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")


NORMALISERS: Final[Mapping[str, Callable[[str], str]]] = {
    "text": str, "message": str, "document": document, "conversation": conversation,
}  # fmt: skip
"""By modality."""


def first_sentence(text: str, bytes_max: int) -> str:
    """Return the first line that is not blank, up to its first full stop."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return cut(line.partition(".")[0] or line, bytes_max)

"""Conversations and documents, as the lines that are memorized.

Law 1. Total: any text has lines. Law 2. A message is one line with a text in it. A conversation with
a message without one is refused when it arrives; one that an older release has stored has no line for it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from umi_core.json_text import Json, clean_value, whole_json, write_json
from umi_core.limits import UNREADABLE_SHOWN_MAX
from umi_core.text import cut

LINE_ENDS: Final = re.compile("[\r\n]+")
USER: Final = "user"


def conversation(text: str) -> str:
    """Return a line for each message of a JSON list, or of the one under `content` or `messages`, or the
    text."""
    if not text.strip():
        return ""
    messages = messages_of(text)
    if messages is None:
        return text
    readable = [message for message in messages if isinstance(message, dict) and is_readable(message)]
    return "\n".join(line_of(at, message) for at, message in enumerate(readable))


def find_unreadable(text: str) -> tuple[tuple[int, ...], int]:
    """Return the positions of the messages without a text, and how many messages there are.

    [{"role": "user", "content": "hi"}, {"role": "tool", "content": null}, {"text": "ho"}]    (1, 2), 3
    """
    messages = messages_of(text) or []
    return tuple(at for at, message in enumerate(messages) if not is_readable(message)), len(messages)


def list_positions(positions: tuple[int, ...]) -> str:
    """Return the first few positions as a text for people: `1, 2, ...`."""
    shown = [str(at) for at in positions[:UNREADABLE_SHOWN_MAX]]
    return ", ".join(shown + ["..."] * (len(positions) > len(shown)))


def is_readable(message: Json) -> bool:
    """Check whether a message is an object that says something."""
    return isinstance(message, dict) and bool(text_of(message.get("content")).strip())


def messages_of(text: str) -> list[Json] | None:
    """Return the messages of a conversation; None if it is a text that is no list of them."""
    payload = whole_json(text)
    named = [payload.get(key) for key in ("content", "messages")] if isinstance(payload, dict) else []
    found = next((it for it in (payload, *named) if isinstance(it, list)), None)
    return None if found is None else [clean_value(it) for it in found]


def line_of(at: int, message: Mapping[str, Json]) -> str:
    created, role = message.get("created_at"), message.get("role")
    when = "" if created is None else f"{text_of(created)} "
    who = role.strip() if isinstance(role, str) and role.strip() else USER
    return LINE_ENDS.sub(" ", f"[{at}] {when}[{who}]: {text_of(message.get('content'))}")


def text_of(content: Json) -> str:
    """Return the text of a content: its own, that of its parts, or its JSON."""
    if content is None:
        return ""
    if isinstance(content, dict):
        text = content.get("text")
        return text if isinstance(text, str) else ""
    if isinstance(content, list):
        return " ".join(text for part in content if (text := text_of(part)))
    return content if isinstance(content, str) else write_json(content)


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

"""Conversations and documents, as the lines that are memorized.

Law 1. Total: any text has lines. Law 2. A message is one line, whatever it holds, and no line is lost.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from umi_core.language.replies import Json, cleaned, whole_json, written
from umi_core.text import cut

LINE_ENDS: Final = re.compile("[\r\n]+")
USER: Final = "user"


def conversation(text: str) -> str:
    """One line for each message of a JSON list, or of one under `content` or `messages`; else as it is."""
    if not text.strip():
        return ""
    messages = messages_of(whole_json(text))
    if messages is None:
        return text
    told = [message for message in messages if isinstance(message, dict)]
    return "\n".join(line_of(at, message) for at, message in enumerate(told))


def messages_of(payload: Json) -> list[Json] | None:
    named = [payload.get(key) for key in ("content", "messages")] if isinstance(payload, dict) else []
    found = next((it for it in (payload, *named) if isinstance(it, list)), None)
    return None if found is None else [cleaned(it) for it in found]


def line_of(at: int, message: Mapping[str, Json]) -> str:
    created, role = message.get("created_at"), message.get("role")
    when = "" if created is None else f"{text_of(created)} "
    who = role.strip() if isinstance(role, str) and role.strip() else USER
    return LINE_ENDS.sub(" ", f"[{at}] {when}[{who}]: {text_of(message.get('content'))}")


def text_of(content: Json) -> str:
    """What a content says: its own text, that of its parts, or its JSON."""
    if content is None:
        return ""
    if isinstance(content, dict):
        text = content.get("text")
        return text if isinstance(text, str) else ""
    if isinstance(content, list):
        return " ".join(text for part in content if (text := text_of(part)))
    return content if isinstance(content, str) else written(content)


def document(text: str) -> str:
    """Every kind of line end is LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")


NORMALISERS: Final[Mapping[str, Callable[[str], str]]] = {
    "text": str, "message": str, "document": document, "conversation": conversation,
}  # fmt: skip
"""By modality."""


def first_sentence(text: str, bytes_max: int) -> str:
    """The first line that is not blank, up to its first full stop."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return cut(line.partition(".")[0] or line, bytes_max)

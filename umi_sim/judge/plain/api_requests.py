"""What is wrong with the fields of a request of an agent server, whatever the memory holds."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from umi_core import errors
from umi_core.errors import Error
from umi_core.invariants import limits
from umi_core.kelpie.errors import BadCursor, BadLabel, BadMessages
from umi_core.values import BLOCK_KINDS
from umi_sim.judge.plain.parts import places
from umi_sim.judge.plain.text import CONTROLS, UNWRITABLE, byte_count, has_any, is_text, shown, tidy

Wrong = Callable[[str, Any], Error | None]
ROLES: Final = ("user", "assistant", "system", "tool")
PARTS: Final = ("role", "content", "tool_call_id", "tool_name", "arguments", "tool_return", "status")


def option(good: Callable[[Any], bool]) -> Wrong:
    return lambda name, value: None if good(value) else errors.BadOption(name, shown(value), "")


def of_bytes(limit_bytes: int) -> Wrong:
    def wrong(name: str, value: object) -> Error | None:
        good = is_text(value) and byte_count(str(value)) <= limit_bytes
        return None if good else errors.BadText(name, shown(value), "")

    return wrong


def word(*words: str) -> Wrong:
    return option(lambda value: isinstance(value, str) and value in words)


def label(name: str, value: object) -> Error | None:
    text = tidy(value) if isinstance(value, str) and is_text(value) else None
    if text is None or has_any(text, CONTROLS) or has_any(text, UNWRITABLE):
        return errors.BadText(name, shown(value), "")
    if byte_count(text) > limits.BLOCK_LABEL_BYTES_MAX:
        return errors.LabelTooLong(byte_count(text), limits.BLOCK_LABEL_BYTES_MAX)
    is_id = text.startswith("blk_") or "/" in text or text == ""
    return BadLabel(shown(value)) if is_id else None


def messages(name: str, value: object) -> Error | None:
    if isinstance(value, tuple) and len(value) <= 100:
        mute = [n for n, it in enumerate(value) if not is_said(it)]
        if mute:
            return errors.UnreadableMessages(len(mute), len(value), places(mute))
    good = isinstance(value, tuple) and 0 < len(value) <= 100 and all(is_message(it) for it in value)
    return None if good else BadMessages(name, shown(value), "")


def is_said(value: Any) -> bool:
    """Whether it has a role, a content, and in one of its parts a text that is not blank."""
    if not isinstance(value, tuple) or any(not isinstance(it, tuple) or len(it) != 2 for it in value):
        return False
    parts = [(name, text) for name, text in value if isinstance(name, str)]
    last = dict(parts)
    if not is_text(last.get("role")) or not is_text(last.get("content")):
        return False
    return any(is_text(text) and text.strip() != "" for name, text in last.items() if name != "role")


def is_message(value: Any) -> bool:
    if not isinstance(value, tuple) or not all(isinstance(it, tuple) and len(it) == 2 for it in value):
        return False
    if not all(is_text(text) and byte_count(text) <= 100_000 for part in value for text in part[1:]):
        return False
    names = [part[0] for part in value]
    places = [PARTS.index(it) for it in names if it in PARTS]
    return len(places) == len(names) and places == sorted(set(places)) and places[:2] == [0, 1] and (
        value[0][1] in ROLES
    )  # fmt: skip


def are_tags(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) > 100:
        return False
    are_texts = all(is_text(it) and 0 < byte_count(it) <= 256 for it in value)
    return are_texts and len(set(value)) == len(value)


def cursor(name: str, value: object) -> Error | None:
    digits = value[4:] if isinstance(value, str) and value[:4] == "arc_" else ""
    good = len(digits) == 12 and all(char in "0123456789" for char in digits)
    return None if good else BadCursor(shown(value))


def moved_id(name: str, value: object) -> Error | None:
    return NAME(name, value) or (errors.BadOption(name, shown(value), "") if value == "" else None)


NUMBER: Final = option(lambda value: type(value) is int and 1 <= value <= limits.I64_MAX)
NAME: Final = of_bytes(limits.SCOPE_PART_BYTES_MAX)

WRONG: Final[Mapping[str, Wrong]] = {
    "api_label": label,
    **dict.fromkeys(("block_name", "block_key", "record_id"), NAME),
    "author": word("user", "model"),
    "piece": of_bytes(limits.TEXT_BYTES_MAX),
    "description": of_bytes(4_096),
    **dict.fromkeys(("block_limit", "seq"), NUMBER),
    "skip": option(lambda value: type(value) is int and 0 <= value <= 1_000),
    "messages": messages,
    "tags": option(are_tags),
    "record_cursor": cursor,
    "system_text": of_bytes(100_000),
    "prompt_form": word("xml", "markdown", "tagged"),
    "switch": option(lambda value: type(value) is bool),
    "kind_of_block": word(*BLOCK_KINDS),
    "moved_kind": word("blocks", "messages", "archival"),
    "moved_table": word("blocks", "archival"),
    "moved_log": word("messages"),
    "moved_id": moved_id,
    "phase": word("legacy", "dual_write", "dual_read", "umi_primary", "cleanup", "done", "rolling_back"),
}  # fmt: skip
"""By domain."""

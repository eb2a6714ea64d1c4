"""Domains of the API of an agent server: labels, limits, messages, tags, and authors."""

from typing import Annotated, Final

from umi_core import errors, limits
from umi_core.conversations import list_positions
from umi_core.domains import Domain, bad_block_label, bad_flag, from_to, one_of, text_of, unless
from umi_core.errors import Error
from umi_core.kelpie.errors import BadCursor, BadLabel, BadMessages
from umi_core.text import is_text, show_value, size, tidy
from umi_core.values import AUTHORS, BLOCK_KINDS, Pairs

ID_PREFIX: Final = "blk_"
SEQ_DIGITS: Final = 12  # the number of digits that ids.py writes
PROMPT_FORMS: Final = ("xml", "markdown", "tagged")
CHANGES: Final = ("created", "set", "appended", "replaced", "described", "imported", "deleted", "unchanged")
LOGS: Final = ("message", "archival")
ROLES: Final = ("user", "assistant", "system", "tool")
DETAILS: Final = ("tool_call_id", "tool_name", "arguments", "tool_return", "status")
FIELDS: Final = ("role", "content", *DETAILS)  # of a message; role and content are required


def bad_api_label(name: str, value: object) -> Error | None:
    """Check a label: not empty, and not to be confused with an id or a path."""
    if (error := bad_block_label(name, value)) is not None:
        return error
    label = tidy(str(value))
    good = label and "/" not in label and not label.startswith(ID_PREFIX)
    return None if good else BadLabel(show_value(value))


def bad_record_cursor(name: str, value: object) -> Error | None:
    """Check a cursor in the list of records: a well-formed record id; the record may be deleted."""
    # `removeprefix` returns a text without the prefix unchanged, so the whole value is compared below.
    digits = value.removeprefix("arc_") if is_text(value) else ""
    good = value == f"arc_{digits}" and len(digits) == SEQ_DIGITS and digits.isascii() and digits.isdigit()
    return None if good else BadCursor(show_value(value))


bad_block_limit: Final = from_to(1, wanted="a whole number from 1")
bad_skip: Final = from_to(0, limits.SEARCH_DEPTH_MAX, f"0 to {limits.SEARCH_DEPTH_MAX}")


def bad_messages(name: str, value: object) -> Error | None:
    count_max, bytes_max = limits.MESSAGE_COUNT_MAX, limits.MESSAGE_BYTES_MAX
    if type(value) is tuple and len(value) <= count_max:
        # Messages without text are reported first, with positions, so that a client can repair them.
        mute = tuple(at for at, message in enumerate(value) if not has_text(message))
        if mute:
            return errors.UnreadableMessages(len(mute), len(value), list_positions(mute))
    if type(value) is tuple and 1 <= len(value) <= count_max and all(map(is_message, value)):
        return None
    wanted = f"1 to {count_max} messages with role and content, each text of at most {bytes_max} bytes"
    return BadMessages(name, show_value(value), wanted)


def has_text(value: object) -> bool:
    """Check for a role, a content, and a text that is not blank in the content or in the other fields."""
    if type(value) is not tuple or not all(type(part) is tuple and len(part) == 2 for part in value):
        return False
    parts = {name: text for name, text in value if type(name) is str}
    texts = [text for name, text in parts.items() if name != "role"]
    are_texts = all(map(is_text, (parts.get("role"), parts.get("content"))))
    return are_texts and any(is_text(text) and text.strip() for text in texts)


def is_message(value: object) -> bool:
    """Check a message: role and content, then details of a tool call, in the order of FIELDS, each once."""
    if type(value) is not tuple or not all(map(is_part, value)):
        return False
    names = [name for name, _ in value]
    # A fixed order gives equal messages equal digests, so that a repeated request is recognised.
    in_order = names == [name for name in FIELDS if name in names] and names[:2] == ["role", "content"]
    return in_order and value[0][1] in ROLES


def is_part(value: object) -> bool:
    is_pair = type(value) is tuple and len(value) == 2 and all(map(is_text, value))
    return is_pair and type(value) is tuple and size(value[1]) <= limits.MESSAGE_BYTES_MAX


# The details of a stored message are the fields that a message may have after role and content.
bad_details: Final = unless(
    lambda it: type(it) is tuple and is_message((("role", "user"), ("content", ""), *it)),
    "parts of a message",
    BadMessages,
)


def is_tag(value: object) -> bool:
    return is_text(value) and 1 <= size(value) <= limits.TAG_BYTES_MAX


bad_tags: Final = unless(
    lambda it: type(it) is tuple and all(map(is_tag, it)) and len({*it}) == len(it) <= limits.TAG_COUNT_MAX,
    f"at most {limits.TAG_COUNT_MAX} different texts of 1 to {limits.TAG_BYTES_MAX} bytes",
)

ApiLabel = Annotated[str, Domain("api_label", bad_api_label)]
BlockName = Annotated[str, Domain("block_name", text_of(limits.SCOPE_PART_BYTES_MAX))]
Switch = Annotated[bool, Domain("switch", bad_flag)]
Author = Annotated[str, Domain("author", one_of(*AUTHORS))]
Piece = Annotated[str, Domain("piece", text_of(limits.TEXT_BYTES_MAX))]
Description = Annotated[str, Domain("description", text_of(limits.DESCRIPTION_BYTES_MAX))]
BlockLimit = Annotated[int, Domain("block_limit", bad_block_limit)]
Messages = Annotated[tuple[Pairs, ...], Domain("messages", bad_messages)]
Tags = Annotated[tuple[str, ...], Domain("tags", bad_tags)]
BlockKey = Annotated[str, Domain("block_key", text_of(limits.SCOPE_PART_BYTES_MAX))]
RecordCursor = Annotated[str, Domain("record_cursor", bad_record_cursor)]
RecordId = Annotated[str, Domain("record_id", text_of(limits.SCOPE_PART_BYTES_MAX))]
Seq = Annotated[int, Domain("seq", bad_block_limit)]
Skip = Annotated[int, Domain("skip", bad_skip)]
SystemText = Annotated[str, Domain("system_text", text_of(limits.SYSTEM_BYTES_MAX))]
PromptForm = Annotated[str, Domain("prompt_form", one_of(*PROMPT_FORMS))]
ChangeKind = Annotated[str, Domain("change_kind", one_of(*CHANGES))]
LogName = Annotated[str, Domain("log_name", one_of(*LOGS))]
Role = Annotated[str, Domain("role", one_of(*ROLES))]
Details = Annotated[Pairs, Domain("details", bad_details)]
KindOfBlock = Annotated[str, Domain("kind_of_block", one_of(*BLOCK_KINDS))]

"""Errors of the API of an agent server, about blocks, messages and records."""

from typing import ClassVar

from umi_core.errors import BadOption, Error


class NotFound(Error):
    """The named thing does not exist, is deleted, or belongs to another agent; one error covers all three."""

    tag = 580
    sentence: ClassVar[str] = "{kind} not found: {id}"
    kind: str
    id: str


class LabelTaken(Error):
    """A block of this agent has this label already, whatever its kind."""

    tag = 581
    sentence: ClassVar[str] = "label taken: {label} is the block {id}"
    label: str
    id: str


class BadLabel(Error):
    """The label is invalid, or could be confused with an id or a path."""

    tag = 582
    sentence: ClassVar[str] = "not a label: {label}, expected 1 to 64 bytes without / that do not begin blk_"
    label: str


class VersionConflict(Error):
    """The block has changed since it was read; read it again."""

    tag = 583
    sentence: ClassVar[str] = "version conflict: {expected} was expected, the block has {actual}"
    expected: int
    actual: int


class ReadOnly(Error):
    """This author may not change the block."""

    tag = 584
    sentence: ClassVar[str] = (
        "block {label} may not be changed by the {author}: for system a request of the user says "
        'author="user", and one that is read_only is opened by the user first'
    )
    label: str
    author: str


class AboveLimit(Error):
    """The text is longer than the limit of its block allows."""

    tag = 585
    sentence: ClassVar[str] = "block too large: {size_bytes} bytes exceeds its limit of {limit_bytes}"
    size_bytes: int
    limit_bytes: int


class TextNotFound(Error):
    """The text to replace does not occur in the block."""

    tag = 586
    sentence: ClassVar[str] = "text not found in block {label}"
    label: str


class TextAmbiguous(Error):
    """The text to replace occurs more than once, but the request allows only one occurrence."""

    tag = 587
    sentence: ClassVar[str] = "text occurs {count} times in block {label}, expected once"
    label: str
    count: int


class BadCursor(Error):
    """The cursor is not a position in this list."""

    tag = 588
    sentence: ClassVar[str] = "not a place in this list: {cursor}"
    cursor: str


class BadMessages(BadOption):
    """The value is not a list of messages."""

    tag = 589

"""The result of reading a file of conversations: messages, and counts and reasons of those not read."""

from typing import Final

from umi_core.data import Data

EMPTY: Final = "empty"  # a message without text, or with only a placeholder
HIDDEN: Final = "hidden"  # instructions and thoughts that the program never showed
OTHER_BRANCH: Final = "in another branch"  # an answer that was regenerated, or a message that was edited
NOTICE: Final = "notice"  # "Bob left": a line with a date and without a name, among lines with both
LEFT_OUT: Final = (EMPTY, HIDDEN, OTHER_BRANCH, NOTICE)


class ChatMessage(Data):
    """A message, or the part of it with one role; all parts of a message have the same number.

    `time` is the time to show; `at_ms` is None if there is none or it cannot be read. `unread_time`: a time
    that cannot be read, as JSON. `unread_parts`: the types of parts with words in an unknown place.
    """

    number: int  # its place in its conversation, from 1
    role: str
    text: str
    time: str = ""
    at_ms: int | None = None
    unread_time: str = ""
    unread_parts: str = ""


class UnreadMessage(Data):
    """A message that cannot be read, with the reason."""

    number: int
    reason: str


class Chat(Data):
    """A conversation. `key`: its id in the program; empty if there is none."""

    key: str
    title: str
    messages: tuple[ChatMessage, ...]
    unread: tuple[UnreadMessage, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()  # how many messages, by the words of LEFT_OUT

    @property
    def read_count(self) -> int:
        return len({it.number for it in self.messages})

    @property
    def message_count(self) -> int:
        return self.read_count + len(self.unread) + sum(count for _, count in self.left_out)


class ChatFile(Data):
    """The conversations of a file, in order, and the name of its format, one of FORMATS."""

    format: str
    chats: tuple[Chat, ...]

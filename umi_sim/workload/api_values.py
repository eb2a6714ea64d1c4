"""Plain and hostile values of users of an agent server, by domain: names of blocks, messages, records."""

from collections.abc import Mapping
from typing import Any, Final

from umi_core import limits
from umi_core.ids import block_id, log_id
from umi_core.migration.rows import PHASES
from umi_core.values import BLOCK_KINDS
from umi_sim.kernel.prng import Stream
from umi_sim.workload import pools
from umi_sim.workload.pools import Pool, filled_in
from umi_sim.workload.users import User

LABELS: Final = ("notes", "todo", "plans", "human", "persona")  # of new blocks
NO_LABELS: Final = ("", " ", "a/b", "blk_0", "facts/notes")
SLOTS: Final = (("facts", "notes"), ("facts", "todo"), ("goals", "plans"), ("human", ""), ("persona", ""))
PIECES: Final = ("tea", "likes tea", "o", "no nuts", "ok\n")
PIECE_CHARS: Final = 8  # length of a piece from the beginning of a text
PIECE_COUNT: Final = 8  # first words of a text, of which one may be the piece
# In this file a value that is listed twice is drawn twice as often.
TAGS: Final = ((), (), ("work",), ("work", "home"), ("x",))
CALL: Final = (("tool_call_id", "c1"), ("tool_name", "search"), ("arguments", '{"q": "tea"}'))
MESSAGE_COUNTS: Final = (1, 1, 2, 2, 3, 5)
SEQS: Final = (1, 2, 3, 5, 8, 13, 21, 34)


def block_name(user: User, stream: Stream) -> object:
    """Draw an id, or a label in lower or upper case: mostly of an existing block."""
    key, label = block_of(user, stream)
    if stream.chance(1, 4):
        return key
    return label.upper() if stream.chance(1, 4) else label


def block_of(user: User, stream: Stream) -> tuple[str, str]:
    """Draw id and label of a block: in three of four cases of an existing one."""
    known = user.known.blocks(user.agent)
    if known and stream.chance(3, 4):
        return stream.pick(known)[:2]
    kind, label = stream.pick(SLOTS)
    return block_id(user.scope, kind, label), label or kind


def piece(user: User, stream: Stream) -> object:
    """Draw a piece of text, mostly a word or the beginning of an existing block."""
    texts = [text for _, _, text in user.known.blocks(user.agent) if text]
    if not texts or stream.chance(1, 3):
        return stream.pick(PIECES)
    text = stream.pick(texts)
    return stream.pick((text[:PIECE_CHARS], *text.split()[:PIECE_COUNT]))


def record_id(user: User, stream: Stream) -> object:
    """Draw an id from a reply to this agent, or one of the ids that the first few records get."""
    known = user.known.record_ids(user.agent)
    return stream.pick(known) if known and stream.chance(7, 8) else log_id("archival", stream.between(1, 9))


def messages(user: User, stream: Stream) -> object:
    """Draw messages of a conversation; one in six has the call of a tool."""

    def message() -> object:
        text = filled_in(stream, pools.TEMPLATES)
        details = CALL if stream.chance(1, 6) else ()
        return (("role", stream.pick(pools.ROLES)), ("content", text), *details)

    return tuple(message() for _ in range(stream.pick(MESSAGE_COUNTS)))


USER: Final = (("role", "user"), ("content", "x"))


HOSTILE_MESSAGES: Final[Pool] = {
    "many": tuple((USER,) * count for count in (99, 100, 101)),
    "size": tuple(((("role", "user"), ("content", text)),) for text in pools.sizes(limits.MESSAGE_BYTES_MAX)),
    "shape": ((), ((),), (USER[:1],), (USER[::-1],), ((*USER, *USER),), ((("role", "x"), USER[1]),)),
    "type": (None, "x", ("x",), 7, ((("role", 7), ("content", "x")),), (USER, None)),
    "surrogate": tuple(((("role", "user"), ("content", text)),) for text in pools.SURROGATES),
}
HOSTILE_TAGS: Final[Pool] = {
    "twice": (("x", "x"), ("a", "b", "a")),
    "size": tuple((text,) for text in ("", *pools.sizes(limits.TAG_BYTES_MAX))),
    "many": tuple(tuple(f"t{n}" for n in range(count)) for count in (100, 101)),
    "type": (None, "x", (7,), (None,)),
}
HOSTILE_NAMES: Final[Pool] = {
    "absent": ("blk_" + "0" * 24, "arc_000000000099", "nothing"), "strange": NO_LABELS,
    "type": pools.NO_TEXTS, "surrogate": pools.SURROGATES,
}  # fmt: skip
HOSTILE_CURSORS: Final[Pool] = {
    "strange": ("", "arc_1", "msg_000000000001", "arc_00000000000x", "arc_0000000000001", "archival/"),
    "type": (7, True, b"x"),
}
HOSTILE_WORDS: Final[Pool] = {"strange": ("User", "", "xml ", "nobody"), "type": pools.NO_TEXTS}
HOSTILE_LABELS: Final[Pool] = {"strange": NO_LABELS, **pools.HOSTILE_LABELS}

ALWAYS, OFTEN, SOMETIMES, SELDOM = (1, 1), (1, 2), (1, 4), (1, 8)

MOVED: Final = ("blocks", "blocks", "blocks", "blocks", "messages", "messages", "archival")

HABITS: Final[Mapping[str, tuple[Any, ...]]] = {
    "api_label": (LABELS, HOSTILE_LABELS, ALWAYS),
    "block_name": (block_name, HOSTILE_NAMES, ALWAYS),
    "block_key": (lambda user, stream: block_of(user, stream)[0], HOSTILE_NAMES, ALWAYS),
    "author": (("user", "user", "user", "model"), HOSTILE_WORDS, ALWAYS, True),
    "piece": (piece, {"size": pools.sizes(limits.TEXT_BYTES_MAX), "type": pools.NO_TEXTS}, ALWAYS),
    "description": (("", "to be done"), {"size": pools.sizes(limits.DESCRIPTION_BYTES_MAX)}, SOMETIMES),
    "block_limit": ((8, 20, 2_000, 20_000), pools.numbers(1, limits.I64_MAX), SELDOM),
    "messages": (messages, HOSTILE_MESSAGES, ALWAYS),
    "tags": (TAGS, HOSTILE_TAGS, SOMETIMES),
    "record_id": (record_id, HOSTILE_NAMES, ALWAYS),
    "record_cursor": (record_id, HOSTILE_CURSORS, OFTEN),
    "seq": (SEQS, pools.numbers(1, limits.I64_MAX), SOMETIMES),
    "skip": ((1, 1, 2, 10, 20), pools.numbers(0, limits.SEARCH_DEPTH_MAX), OFTEN, True),
    "system_text": (("", "You are Umi."), {"size": pools.sizes(limits.SYSTEM_BYTES_MAX)}, OFTEN),
    "prompt_form": (("xml", "markdown", "tagged"), HOSTILE_WORDS, OFTEN),
    "switch": ((True, True, False), pools.HOSTILE_FLAGS, SOMETIMES),
    "moved_kind": (MOVED, HOSTILE_WORDS, ALWAYS),
    "moved_table": (("blocks", "blocks", "blocks", "blocks", "archival"), HOSTILE_WORDS, ALWAYS),
    "moved_log": (("messages",), HOSTILE_WORDS, ALWAYS),
    "moved_id": (  # few ids, so that each is written, read and deleted several times
        lambda user, stream: stream.pick(user.keys),
        {"strange": ("",), "type": pools.NO_TEXTS, "surrogate": pools.SURROGATES}, ALWAYS,
    ),
    "content": (
        lambda user, stream: filled_in(stream, pools.TEMPLATES),
        {"type": pools.NO_TEXTS, "surrogate": pools.SURROGATES}, ALWAYS,
    ),
    "phase": (PHASES, HOSTILE_WORDS, SELDOM),
    "kind_of_block": (BLOCK_KINDS, pools.HOSTILE_KINDS, SOMETIMES),
}  # fmt: skip
"""By domain the arguments of `habit`: plain values, hostile values, the share, and `is_late`."""

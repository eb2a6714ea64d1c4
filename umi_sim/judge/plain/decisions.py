"""What a model decided, and in which order it put what it was shown: as H4.11 and H6.25 to H6.27 have it."""

from collections.abc import Sequence
from typing import Final

from umi_core.invariants.limits import REPLY_BYTES_MAX
from umi_sim.judge.plain.replies import array_of, has_list, payload_of
from umi_sim.judge.plain.text import byte_count, made_whole

BLANKS: Final = " \t\n\r\f\v"
PLAIN: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
NO_QUERY: Final = ("", "{query}")


def read_decision(reply: str) -> tuple[bool, str | None]:
    """Whether no more is needed, and other words for the query."""
    text = made_whole(reply)
    if byte_count(text) > REPLY_BYTES_MAX:
        return False, None
    insides, rewrites = enclosed(text, "decision"), enclosed(text, "rewritten_query")
    rewrite = rewrites[0].strip() if rewrites else ""
    said = [words_of(inside) for inside in insides]
    return said == [["no", "retrieve"]], rewrite if rewrite not in NO_QUERY else None


def words_of(text: str) -> list[str]:
    marked = "".join(char if char in PLAIN or ord(char) > 127 else " " for char in text.lower())
    return [word for word in marked.split(" ") if word]


def enclosed(text: str, name: str) -> list[str]:
    """What stands between an opening tag and the next closing one, of each pair."""
    found, begin, at = list[str](), -1, 0
    while (start := text.find("<", at)) >= 0:
        end, at = text.find(">", start), start + 1
        tag = text[start + 1 : end] if end >= 0 else "<"
        if "<" in tag or tag.endswith("/") or not is_named(tag.removeprefix("/"), name):
            continue
        if tag.startswith("/") and begin >= 0:
            found.append(text[begin:start])
            begin = -1
        elif not tag.startswith("/") and begin < 0:
            begin = end + 1
    return found


def is_named(tag: str, name: str) -> bool:
    head, rest = tag[: len(name)], tag[len(name) :]
    return head.isascii() and head.lower() == name and (rest == "" or rest[0] in BLANKS)


def read_ranks(reply: str, shown: Sequence[str], limit: int) -> list[str] | None:
    """The ids of what was shown, in the order of the reply, each once; None if there is no order."""
    whole = payload_of(reply, "{", has_list("ids"))
    ids = payload_of(reply, "[", array_of(str)) if whole is None else whole["ids"]
    if ids is None:
        return None
    aliases = [f"c{number}" for number in range(1, len(shown) + 1)]
    known = [it for it in ids if isinstance(it, str) and it in aliases]
    return [shown[aliases.index(alias)] for alias in dict.fromkeys(known)][:limit]

"""The text that a reply to `summarise_category` comes to, as H4.13 and H5.11 say."""

import re

from umi_core.invariants.limits import REPLY_BYTES_MAX, SUMMARY_BYTES_MAX
from umi_sim.judge.plain.text import byte_count, cut, made_whole


def read_summary(reply: str) -> str | None:
    """None if the reply has none."""
    text = made_whole(reply)
    if byte_count(text) > REPLY_BYTES_MAX:
        return None
    begin, end = re.search("<summary>", text, re.I), None
    if begin is not None:
        end = re.search("</summary>", text[begin.end() :], re.I)
    inside = text[begin.end() :][: end.start()] if begin and end else text
    bare = without_fence(inside.strip()).strip()
    return shortened(bare) if bare else None


def without_fence(text: str) -> str:
    """The inside of a fence that is around all of a text."""
    first, *rest = text.split("\n")
    is_open = first.startswith("```") and "`" not in first[3:] and bool(rest)
    inside = "\n".join(rest)
    if not is_open or not inside.endswith("```") or "```" in inside[:-3]:
        return text
    return inside[:-3].removesuffix("\n")


def shortened(text: str) -> str:
    if byte_count(text) <= SUMMARY_BYTES_MAX:
        return text
    head = cut(text, SUMMARY_BYTES_MAX)
    lines = head.split("\n")
    return "\n".join(lines[:-1]).rstrip() or head.rstrip()

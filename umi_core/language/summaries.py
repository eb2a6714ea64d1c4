"""Summaries: the reply to `summarise_category`, as the text that a category shows.

Law 1. Total: any string gives a text or an `Unwritten`. Law 2. Nothing is added, and a fence inside stays.
"""

import re
from typing import Final, Literal

from umi_core.data import Data
from umi_core.json_text import whole
from umi_core.language.tagged import read_tagged
from umi_core.limits import REPLY_BYTES_MAX, SUMMARY_BYTES_MAX
from umi_core.text import cut, size

FENCED: Final = re.compile(r"```[^\n`]*\n(.*?)\n?```", re.DOTALL)


class Unwritten(Data):
    """A reply without a summary."""

    reason: Literal["empty", "too_long"]


def parse_summary(reply: str) -> str | Unwritten:
    """Return the text that is tagged as the summary, else all of it; without the fence around it."""
    text = whole(reply)
    if size(text) > REPLY_BYTES_MAX:
        return Unwritten("too_long")
    bare = read_tagged(text, ("summary",)).get("summary", text).strip()
    fenced = FENCED.fullmatch(bare)
    # A summary that begins and ends with two different fences is no fenced text.
    bare = (fenced[1] if fenced and "```" not in fenced[1] else bare).strip()
    return shorten_summary(bare) if bare else Unwritten("empty")


def shorten_summary(text: str) -> str:
    """Return as many lines as fit; a first line that does not is cut."""
    if size(text) <= SUMMARY_BYTES_MAX:
        return text
    # The last line is dropped, as it may have been cut; a single line has no end to cut it at.
    head = cut(text, SUMMARY_BYTES_MAX)
    lines = head.rpartition("\n")[0].rstrip()
    return lines or head.rstrip()

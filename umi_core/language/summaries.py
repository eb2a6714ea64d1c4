"""Summaries: the reply to `summarise_category`, read as the summary of a category.

Law 1. Total: any string gives a text or an `Unwritten`. Law 2. Nothing is added, and inner fences are kept.
"""

import re
from typing import Final, Literal

from umi_core.data import Data
from umi_core.json_text import whole
from umi_core.language.tagged import REFUSAL, read_tagged
from umi_core.limits import REPLY_BYTES_MAX, SUMMARY_BYTES_MAX
from umi_core.text import cut, size

FENCED: Final = re.compile(r"```[^\n`]*\n(.*?)\n?```", re.DOTALL)


class Unwritten(Data):
    """A reply without a summary."""

    reason: Literal["empty", "too_long"]


def parse_summary(reply: str) -> str | Unwritten:
    """Return the text in summary tags, or else the whole reply, without a code fence around it."""
    text = whole(reply)
    if size(text) > REPLY_BYTES_MAX:
        return Unwritten("too_long")
    bare = read_tagged(text, ("summary",)).get("summary", text).strip()
    fenced = FENCED.fullmatch(bare)
    # A text that begins with one fenced block and ends with another one is not itself fenced.
    bare = (fenced[1] if fenced and "```" not in fenced[1] else bare).strip()
    return shorten_summary(bare) if bare and not REFUSAL.match(bare) else Unwritten("empty")


def shorten_summary(text: str) -> str:
    """Return as many whole lines as fit, or the first line cut if it does not fit."""
    if size(text) <= SUMMARY_BYTES_MAX:
        return text
    # The last line may be cut, so it is dropped unless it is the only one.
    head = cut(text, SUMMARY_BYTES_MAX)
    lines = head.rpartition("\n")[0].rstrip()
    return lines or head.rstrip()

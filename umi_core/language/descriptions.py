"""Descriptions: a model's text on an image, an audio or a video, with a caption.

    <content>what is to be seen or heard</content><caption>in one sentence</caption>

Law 1. Total: any string gives a text with a caption, or an `Undescribed`. Law 2. Nothing is added.
"""

from typing import Literal

from umi_core.conversations import first_sentence
from umi_core.data import Data
from umi_core.json_text import whole
from umi_core.language.tagged import REFUSAL, read_tagged
from umi_core.limits import CAPTION_BYTES_MAX, REPLY_BYTES_MAX
from umi_core.text import cut, size


class Description(Data):
    text: str
    caption: str


class Undescribed(Data):
    """A reply without a usable description."""

    reason: Literal["empty", "too_long"]


def parse_description(reply: str) -> Description | Undescribed:
    """Return the text in content tags, or else the whole reply; and the caption, or else a first sentence."""
    described = whole(reply)
    if size(described) > REPLY_BYTES_MAX:
        return Undescribed("too_long")
    found = read_tagged(described, ("content", "caption"))
    # A reply without tags is still a description.
    text = found.get("content", described).strip()
    if not text or ("content" not in found and REFUSAL.match(text)):
        return Undescribed("empty")
    line = first_line(found.get("caption", ""))
    return Description(text, line or first_sentence(text, CAPTION_BYTES_MAX))


def first_line(text: str) -> str:
    """Return the first line that is not blank, cut to the length of a caption."""
    return cut(next((line.strip() for line in text.split("\n") if line.strip()), ""), CAPTION_BYTES_MAX)

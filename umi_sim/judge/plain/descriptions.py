"""What a model says of an image, an audio or a video, as H3.25 says."""

import re
from typing import Final, NamedTuple

from umi_core.invariants.limits import REPLY_BYTES_MAX
from umi_sim.judge.plain.parts import CAPTION_BYTES, caption
from umi_sim.judge.plain.text import byte_count, cut, made_whole

MEDIA: Final = ("image", "audio", "video")
DESCRIBE: Final = "describe"  # what is pending while nobody has said what it holds
EMBED: Final = "embed"  # what is pending while there is no vector of it, or of a part of it
DESCRIBING: Final = ("describe_image", "transcribe_audio", "describe_video")


class Described(NamedTuple):
    text: str
    caption: str


def read_description(reply: str) -> Described | None:
    """None if the reply says nothing."""
    told = made_whole(reply)
    if byte_count(told) > REPLY_BYTES_MAX:
        return None
    tagged, titled = between("content", told), between("caption", told)
    text = (told if tagged is None else tagged).strip()
    if text == "":
        return None
    lines = [line.strip() for line in (titled or "").split("\n") if line.strip()]
    return Described(text, cut(lines[0], CAPTION_BYTES) if lines else caption(text))


def between(tag: str, text: str) -> str | None:
    """What the first pair of these tags encloses."""
    begin = re.search(f"<{tag}>", text, re.I)
    end = re.search(f"</{tag}>", text[begin.end() :], re.I) if begin else None
    return text[begin.end() :][: end.start()] if begin and end else None

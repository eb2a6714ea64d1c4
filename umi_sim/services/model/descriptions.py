"""Tasks describe_image, transcribe_audio, describe_video: what a payload holds, and its first sentence.

A stand-in for a payload says itself what is to be seen or heard: `data:image/x-said,Alice%20likes%20tea.`. Of
any other, a mark is told that it alone has.
"""

from hashlib import blake2b
from typing import Final
from urllib.parse import unquote

from umi_sim.kernel.characters import sentences
from umi_sim.services.model.prompts import Inputs, whole

STAND_IN: Final = "/x-said,"
CONTENT_CHARS_MAX: Final = 8_000
CAPTION_CHARS_MAX: Final = 200


def describe(given: Inputs) -> str:
    payload = given.get("payload")
    held = held_by(whole(payload) if isinstance(payload, str) else "")
    first = next(iter(sentences(held)), held)
    # models do not always keep to the case of a tag, so one answer in four does not
    content, caption = ("CONTENT", "Caption") if len(held) % 4 == 0 else ("content", "caption")
    return f"<{content}>{held}</{content}><{caption}>{first[:CAPTION_CHARS_MAX]}</{caption}>"


def held_by(payload: str) -> str:
    """Return what a payload holds, without brackets, which would be taken for tags."""
    kind, is_stand_in, content = payload.partition(STAND_IN)
    text = unquote(content).replace("<", "(").strip() if is_stand_in and kind.startswith("data:") else ""
    return (
        text[:CONTENT_CHARS_MAX] or f"It has the mark {blake2b(payload.encode(), digest_size=4).hexdigest()}."
    )

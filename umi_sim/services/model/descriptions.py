"""Tasks describe_image, transcribe_audio, describe_video: the content of a payload, and its first sentence.

A stand-in for a payload contains its own description: `data:image/x-said,Alice%20likes%20tea.`. Any other
payload is described by a digest.
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
    text = content_of(whole(payload) if isinstance(payload, str) else "")
    first = next(iter(sentences(text)), text)
    # Models sometimes change the case of a tag; here one answer in four does.
    content, caption = ("CONTENT", "Caption") if len(text) % 4 == 0 else ("content", "caption")
    return f"<{content}>{text}</{content}><{caption}>{first[:CAPTION_CHARS_MAX]}</{caption}>"


def content_of(payload: str) -> str:
    """Return the content of a payload, with `(` in place of `<`, which would begin a tag."""
    kind, is_stand_in, content = payload.partition(STAND_IN)
    text = unquote(content).replace("<", "(").strip() if is_stand_in and kind.startswith("data:") else ""
    return (
        text[:CONTENT_CHARS_MAX] or f"It has the mark {blake2b(payload.encode(), digest_size=4).hexdigest()}."
    )

"""Payloads: images, audio and video of a prompt, as parts of a chat message.

Law 1. The payload is sent as a part of its kind, and not also as text.
Law 2. A payload that fits no part raises ServiceFailed, and nothing is sent.
Law 3. This code reads no files and fetches no addresses; an endpoint may fetch an address.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from umi_core.values import DESCRIBED_BY
from umi_live.services import ServiceFailed

Part = dict[str, object]
LINE: Final = "INPUT payload = "
ADDRESS: Final = re.compile("https?://.+", re.IGNORECASE | re.DOTALL)
# For example data:image/png;base64,iVBOR...   Groups: image, png, parameters, data.
EMBEDDED: Final = re.compile("data:([a-z]+)/([a-z0-9.+-]+)(;[^,;]+)*;base64,(.+)", re.IGNORECASE | re.DOTALL)
SOUNDS: Final = {"wav": "wav", "x-wav": "wav", "wave": "wav", "mpeg": "mp3", "mp3": "mp3"}
UNSENDABLE: Final = "a payload that no part of a chat can carry"


def write_content(task: str, prompt: str) -> str | list[Part]:
    """Return the content of a message: the prompt, or its text and payload as parts. Raises ServiceFailed."""
    make_part = PARTS.get(task)
    if make_part is None:
        return prompt
    lines = prompt.split("\n")
    payload = json.loads(next(line for line in lines if line.startswith(LINE)).removeprefix(LINE))
    text = "\n".join(line for line in lines if not line.startswith(LINE)).strip()
    if (part := make_part(payload)) is None:
        raise ServiceFailed("refused", 0, UNSENDABLE)
    return [{"type": "text", "text": text}, part]


def image(payload: str) -> Part | None:
    return {"type": "image_url", "image_url": {"url": payload}} if is_of("image", payload) else None


def audio(payload: str) -> Part | None:
    """Return the part for embedded audio; None for an address, which endpoints do not accept."""
    found = EMBEDDED.fullmatch(payload)
    form = SOUNDS.get(found[2].lower()) if found and found[1].lower() == "audio" else None
    return (
        {"type": "input_audio", "input_audio": {"data": found[4], "format": form}} if found and form else None
    )


def video(payload: str) -> Part | None:
    """Return the part for a video, in the form of vLLM and others; OpenAI itself accepts no video."""
    return {"type": "video_url", "video_url": {"url": payload}} if is_of("video", payload) else None


def is_of(kind: str, payload: str) -> bool:
    """Check whether a payload is an address, or embedded data of this kind."""
    found = EMBEDDED.fullmatch(payload)
    return bool(ADDRESS.fullmatch(payload)) or bool(found and found[1].lower() == kind)


FORMS: Final[Mapping[str, Callable[[str], Part | None]]] = {"image": image, "audio": audio, "video": video}
PARTS: Final = {DESCRIBED_BY[modality]: form for modality, form in FORMS.items()}

"""Payloads: images, audios and videos of a prompt, as the parts that chats of endpoints have for them.

Law 1. The payload is in the part of its kind, and not repeated as text.
Law 2. A payload that no part can carry raises ServiceFailed, and nothing is sent.
Law 3. Nothing is read from files or fetched here; an endpoint may fetch an address.
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
# data:image/png;base64,iVBOR...   groups: image, png, parameters, the bytes
EMBEDDED: Final = re.compile("data:([a-z]+)/([a-z0-9.+-]+)(;[^,;]+)*;base64,(.+)", re.IGNORECASE | re.DOTALL)
SOUNDS: Final = {"wav": "wav", "x-wav": "wav", "wave": "wav", "mpeg": "mp3", "mp3": "mp3"}
UNSENDABLE: Final = "a payload that no part of a chat can carry"


def write_content(task: str, prompt: str) -> str | list[Part]:
    """Return the content of a message: the prompt, with its payload in parts. Raises ServiceFailed."""
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
    """Return the bytes of a sound; endpoints take no address of one."""
    found = EMBEDDED.fullmatch(payload)
    form = SOUNDS.get(found[2].lower()) if found and found[1].lower() == "audio" else None
    return (
        {"type": "input_audio", "input_audio": {"data": found[4], "format": form}} if found and form else None
    )


def video(payload: str) -> Part | None:
    """Return a video as vLLM and others take it; OpenAI itself takes none."""
    return {"type": "video_url", "video_url": {"url": payload}} if is_of("video", payload) else None


def is_of(kind: str, payload: str) -> bool:
    """Check whether a payload is an address, or has bytes of this kind."""
    found = EMBEDDED.fullmatch(payload)
    return bool(ADDRESS.fullmatch(payload)) or bool(found and found[1].lower() == kind)


FORMS: Final[Mapping[str, Callable[[str], Part | None]]] = {"image": image, "audio": audio, "video": video}
PARTS: Final = {DESCRIBED_BY[modality]: form for modality, form in FORMS.items()}

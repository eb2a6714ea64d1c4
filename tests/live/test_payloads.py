"""Goal: an endpoint is sent a payload in the part of its kind, and nothing that no part can carry."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from tests.live.endpoint import serving
from tests.live.test_memory import inside
from umi_core.language.prompts import FIXED, ask_description, ask_expand
from umi_core.messages.requests import List
from umi_core.messages.results import Listed
from umi_core.rows import Resource
from umi_live import open_memory
from umi_live.memory import LiveMemory
from umi_live.payloads import UNSENDABLE, write_content
from umi_live.services import ServiceFailed

PNG, WAV = "data:image/png;base64,iVBOR", "data:audio/x-wav;codecs=1;base64,UklGR"
CAT = "https://example.org/cat.png"


@pytest.mark.parametrize(
    ("task", "payload", "part"),
    [
        ("describe_image", PNG, {"type": "image_url", "image_url": {"url": PNG}}),
        ("describe_image", CAT, {"type": "image_url", "image_url": {"url": CAT}}),
        ("describe_video", CAT, {"type": "video_url", "video_url": {"url": CAT}}),
        ("transcribe_audio", WAV, {"type": "input_audio", "input_audio": {"data": "UklGR", "format": "wav"}}),
    ],
)
def test_a_payload_goes_in_the_part_of_its_kind_and_not_again_as_text(
    task: str, payload: str, part: object
) -> None:
    text = "\n\n".join(FIXED[task])
    assert write_content(task, ask_description(task, payload)) == [{"type": "text", "text": text}, part]


@pytest.mark.parametrize(
    ("task", "payload"),
    [
        ("describe_image", "cat.png"), ("describe_image", WAV), ("describe_image", "file:///tmp/cat.png"),
        ("describe_video", PNG), ("transcribe_audio", CAT), ("transcribe_audio", PNG),
        ("transcribe_audio", "data:audio/ogg;base64,T2dn"),
    ],
)  # fmt: skip
def test_what_no_part_carries_is_not_sent(task: str, payload: str) -> None:
    with pytest.raises(ServiceFailed, match=UNSENDABLE) as failed:
        write_content(task, ask_description(task, payload))
    assert failed.value.kind == "refused"


def test_any_other_question_is_its_prompt() -> None:
    assert write_content("expand", ask_expand(PNG)) == ask_expand(PNG)


def test_rules_describe_nothing_and_what_they_cannot_do_is_named(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        kept = await memory.memorize(CAT, modality="image", uri="cat")
        assert kept.value.pending == ("describe", "profile", "event")
        assert [(it.name, it.reason) for it in kept.degraded] == [("preprocess:none", "refused")]

    inside(tmp_path / "agent.db", use)


def test_a_model_at_an_endpoint_describes_an_image(tmp_path: Path) -> None:
    async def described() -> list[str]:
        async with (
            serving(lambda: "") as url,
            open_memory(tmp_path / "agent.db", user="ann", agent="helper", model=f"{url}#m") as memory,
        ):
            kept = await memory.memorize(PNG, modality="image", uri="cat")
            assert (kept.value.pending, kept.degraded) == ((), ())
            listed = await memory.ask(List(0, "resource"), Listed)
            return [it.description for it in listed.value.rows if isinstance(it, Resource)]

    assert asyncio.run(described()) == [
        '{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR"}}'
    ]

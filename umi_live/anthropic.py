"""A model at any HTTP endpoint with the protocol of Anthropic.

    model = AnthropicModel("https://api.anthropic.com/v1#some-model", key="...")

The laws and failures are those of umi_live/openai.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from umi_core.text import is_text
from umi_live.openai import NO_PARAMETERS, Endpoint, make_failure, read_parameters
from umi_live.payloads import EMBEDDED, UNSENDABLE, Part, write_content
from umi_live.services import ServiceFailed

PREFIX: Final = "anthropic+"  # an address: anthropic+https://HOST/v1#MODEL
VERSION: Final = "2023-06-01"
TOKENS_MAX: Final = 16_000  # of an answer: the API requires a limit; about as long as REPLY_BYTES_MAX
FAILED_STOPS: Final = {
    "max_tokens": "cut_off", "model_context_window_exceeded": "cut_off", "refusal": "declined",
}  # fmt: skip


class AnthropicModel(Endpoint):
    """Answers prompts by `messages`. `parameters` and `prices`: as for ChatModel."""

    def __init__(
        self, url: str, key: str | None = None, *,
        parameters: Mapping[str, object] = NO_PARAMETERS, prices: tuple[float, float] = (0, 0),
    ) -> None:  # fmt: skip
        headers = {"anthropic-version": VERSION, **({} if key is None else {"x-api-key": key})}
        super().__init__(url.removeprefix(PREFIX), key, headers=headers, prices=prices)
        self.parameters = read_parameters({"max_tokens": TOKENS_MAX, "temperature": 0, **parameters})

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        content = write_content(task, prompt)
        content = content if isinstance(content, str) else list(map(as_block, content))
        messages = [{"role": "user", "content": content}]
        body = {**self.parameters, "model": self.name, "messages": messages}
        answer = await self.post("messages", body, timeout_ms)
        return text_of_blocks(answer)


def as_block(part: Part) -> Part:
    """Return a part of a chat message as a content block. Raises ServiceFailed for audio or video."""
    match part:
        case {"type": "text"}:
            return part
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            found = EMBEDDED.fullmatch(url)
            if found is None:
                return {"type": "image", "source": {"type": "url", "url": url}}
            media = f"{found[1]}/{found[2]}".lower()
            return {"type": "image", "source": {"type": "base64", "media_type": media, "data": found[4]}}
    raise ServiceFailed("refused", 0, UNSENDABLE)


def text_of_blocks(answer: Any) -> str:
    """Return the texts of an answer, joined. Raises ServiceFailed."""
    blocks = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(blocks, Sequence) or not all(isinstance(it, dict) for it in blocks):
        raise make_failure("no_form")
    if (case := FAILED_STOPS.get(str(answer.get("stop_reason")))) is not None:
        raise make_failure(case)
    texts = [it.get("text") for it in blocks if it.get("type") == "text"]  # other blocks are reasoning
    if not all(is_text(it) for it in texts) or not (text := "".join(texts)).strip():
        raise make_failure("no_form")
    return text

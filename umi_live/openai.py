"""A model and an embedder at any HTTP endpoint with the protocol of OpenAI.

    model = ChatModel("https://api.example.com/v1#some-model", key="...")
    embedder = TextEmbedder("https://api.example.com/v1#some-embedding:256", key="...")

Law 1. Every response becomes a valid answer or one failure of TABLE.
Law 2. Nothing is retried here: the memory waits and retries within its own time limit.
Law 3. A vector is scaled so that its largest component is 127, then rounded. Cosines do not depend on the
scale; docs/hosting.md shows the effect of rounding on a ranking.
"""

import json
import math
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx

from umi_core.data import Data
from umi_core.limits import COMPONENT_MAX, EMBEDDING_DIMS_MAX, RETRY_AFTER_MS_MAX
from umi_core.messages.effects import FailureKind
from umi_core.text import is_text
from umi_live.errors import LiveError
from umi_live.payloads import write_content
from umi_live.services import ServiceFailed
from umi_live.storage import wall_ms
from umi_live.usage import report_usage

BODY_BYTES_MAX: Final = 32 * 2**20  # more than the vectors of one request need
INPUT_COUNT_MAX: Final = 100  # texts in one request; some endpoints accept hardly more

NO_PARAMETERS: Final[Mapping[str, object]] = {}
OWN_PARAMETERS: Final = frozenset(("model", "messages", "input", "stream", "n", "tools"))
TOKEN_COUNTS: Final = (  # fields of OpenAI and Anthropic for tokens read (cached ones too), then written
    ("prompt_tokens", "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    ("completion_tokens", "output_tokens"),
)


class EndpointFailure(Data):
    """A way in which an endpoint fails, and the kind of failure that the memory gets."""

    what: str
    kind: FailureKind


# The memory retries after `unavailable`, `timeout` and `rate_limited`. The other kinds would occur again for
# the same question, so the memory continues without an answer (docs/spec/engine.md, section 4).
TABLE: Final[Mapping[str, EndpointFailure]] = {
    "no_answer": EndpointFailure("nothing comes within the time that the memory gives", "timeout"),
    "no_connection": EndpointFailure("no connection, or one that breaks off", "unavailable"),
    "gateway": EndpointFailure("status 408 or 504", "timeout"),
    "busy": EndpointFailure("status 429, with or without Retry-After", "rate_limited"),
    "broken": EndpointFailure("any other status of 500 or more", "unavailable"),
    "too_long": EndpointFailure(
        "status 413, or 400 with a code that names the length of the context", "too_long"
    ),
    "refused": EndpointFailure("any other status that is not 200: a wrong key, address or model", "refused"),
    "no_json": EndpointFailure("a body that is empty, cut off, or no JSON", "unavailable"),
    "too_large": EndpointFailure(f"a body of more than {BODY_BYTES_MAX // 2**20} MiB", "unavailable"),
    "no_form": EndpointFailure("JSON of another form, or an empty text", "unavailable"),
    "cut_off": EndpointFailure(
        "a text that ends where the model had to stop (finish_reason `length`)", "too_long"
    ),
    "declined": EndpointFailure("a refusal instead of a text, or one that a filter took away", "refused"),
    "vectors": EndpointFailure(
        "too few vectors, another length, or components that are no numbers", "unavailable"
    ),
}
DIGITS_MAX: Final = len(str(EMBEDDING_DIMS_MAX))
STATUSES: Final[Mapping[int, str]] = {408: "gateway", 504: "gateway", 429: "busy", 413: "too_long"}


def make_failure(case: str, retry_after_ms: int = 0) -> ServiceFailed:
    return ServiceFailed(TABLE[case].kind, retry_after_ms, TABLE[case].what)


def read_parameters(given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of each request, without those that are None. Raises LiveError."""
    if own := OWN_PARAMETERS.intersection(given):
        raise LiveError(f"parameters: {min(own)} is the memory's own; leave it out")
    parameters = {name: value for name, value in given.items() if value is not None}
    try:
        json.dumps(parameters, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise LiveError(f"parameters: no JSON: {error}") from None
    return parameters


class Endpoint:
    """An endpoint at `url`, which ends with `#` and the name of a model.

    `headers`: replace the default header with the key. `prices`: USD for a million input tokens, and for a
    million output tokens. Raises LiveError for a malformed address or key.
    """

    def __init__(
        self, url: str, key: str | None = None, *,
        headers: Mapping[str, str] | None = None, prices: tuple[float, float] = (0, 0),
    ) -> None:  # fmt: skip
        self.url, _, self.name = url.partition("#")
        if not is_address(self.url) or not self.name:
            raise LiveError(f"{url}: is no address of a model; write https://HOST/v1#MODEL")
        if key is not None and not (key.isascii() and key.isprintable()):
            raise LiveError("the key has characters that no header of HTTP may have; look for a line break")
        self.headers = headers or ({} if key is None else {"Authorization": f"Bearer {key}"})
        self.prices = prices
        self.client: httpx.AsyncClient | None = None

    async def post(self, path: str, body: Mapping[str, object], timeout_ms: int) -> Any:
        """Send a request and return the JSON of its response. Raises ServiceFailed."""
        if self.client is None:
            self.client = httpx.AsyncClient(headers=self.headers)
        try:
            url = f"{self.url.rstrip('/')}/{path}"
            async with self.client.stream("POST", url, json=body, timeout=timeout_ms / 1_000) as response:
                content = await content_of(response)
        except httpx.TimeoutException:
            raise make_failure("no_answer") from None
        except httpx.HTTPError:
            raise make_failure("no_connection") from None
        if response.status_code != 200:
            case = case_of(response.status_code, content)
            raise make_failure(case, retry_after_ms(response.headers.get("Retry-After")))
        answer = json_of(content)
        self.count_tokens(answer)
        return answer

    def count_tokens(self, answer: Any) -> None:
        """Report the token counts of a response; a malformed count is taken as 0."""
        usage = answer.get("usage") if isinstance(answer, dict) else None
        used = usage if isinstance(usage, dict) else {}
        counts = {name: number for name, number in used.items() if type(number) is int and number > 0}
        read, written = (sum(counts.get(name, 0) for name in names) for names in TOKEN_COUNTS)
        cost_usd = (read * self.prices[0] + written * self.prices[1]) / 1_000_000
        report_usage(read, written, cost_usd)

    async def close(self) -> None:
        if self.client is not None:
            await self.client.aclose()
            self.client = None


def is_address(url: str) -> bool:
    """Check whether this is an HTTP or HTTPS address with a host."""
    try:
        address = httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        return False
    return address.scheme in ("http", "https") and bool(address.host) and (address.port or 1) < 2**16


async def content_of(response: httpx.Response) -> bytes:
    """Return the body of a response. Raises ServiceFailed if it has more than BODY_BYTES_MAX."""
    content = bytearray()
    async for part in response.aiter_bytes():
        # Counted here: the length in a header may be wrong, and a body may never end.
        content += part
        if len(content) > BODY_BYTES_MAX:
            raise make_failure("too_large")
    return bytes(content)


def json_of(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise make_failure("no_json") from None


def case_of(status: int, content: bytes) -> str:
    # Most endpoints reply to a prompt that is too long with 400 and the code `context_length_exceeded`.
    if status == 400 and (b"context_length" in content or b"prompt is too long" in content):
        return "too_long"
    return STATUSES.get(status, "broken" if status >= 500 else "refused")


def retry_after_ms(value: str | None) -> int:
    """Return the wait in milliseconds from a Retry-After header, in seconds or a date; 0 if malformed."""
    if value is None:
        return 0
    try:
        wait_ms = int(float(value) * 1_000)
    except (ValueError, OverflowError):
        try:
            wait_ms = int(parsedate_to_datetime(value).timestamp() * 1_000) - wall_ms()
        except (ValueError, TypeError):
            return 0
    return min(max(0, wait_ms), RETRY_AFTER_MS_MAX + 1)  # a wait over the limit makes the memory give up


class ChatModel(Endpoint):
    """Answers prompts by `chat/completions`.

    `parameters` are added to each request. The default is `temperature` 0; None leaves a parameter out.
    """

    def __init__(
        self, url: str, key: str | None = None, *,
        parameters: Mapping[str, object] = NO_PARAMETERS, prices: tuple[float, float] = (0, 0),
    ) -> None:  # fmt: skip
        super().__init__(url, key, prices=prices)
        self.parameters = read_parameters({"temperature": 0, **parameters})

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        question = {"role": "user", "content": write_content(task, prompt)}
        body = {**self.parameters, "model": self.name, "messages": [question]}
        return text_of(await self.post("chat/completions", body, timeout_ms))


def text_of(answer: Any) -> str:
    """Return the text of a completion. Raises ServiceFailed."""
    try:
        choice = answer["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise make_failure("no_form") from None
    if refusal or reason == "content_filter":
        raise make_failure("declined")
    if reason == "length":
        raise make_failure("cut_off")
    if not is_text(text) or not text.strip():
        raise make_failure("no_form")
    return text


class TextEmbedder(Endpoint):
    """Embeds texts by `embeddings`. `url` ends with `#MODEL:DIMENSIONS`."""

    def __init__(self, url: str, key: str | None = None, *, prices: tuple[float, float] = (0, 0)) -> None:
        address, _, dims = url.rpartition(":")
        if not dims.isascii() or not dims.isdigit() or len(dims) > DIGITS_MAX:
            raise LiveError(f"{url}: is no address of an embedder; write https://HOST/v1#MODEL:DIMENSIONS")
        super().__init__(address, key, prices=prices)
        self.dims = int(dims)

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        """Embed texts in consecutive requests of at most INPUT_COUNT_MAX texts each."""
        found = list[tuple[int, ...]]()
        options = {"model": self.name, "dimensions": self.dims, "encoding_format": "float"}
        for at in range(0, len(texts), INPUT_COUNT_MAX):
            part = texts[at : at + INPUT_COUNT_MAX]
            answer = await self.post("embeddings", {**options, "input": list(part)}, timeout_ms)
            found += vectors_of(answer, len(part), self.dims)
        return tuple(found)


def vectors_of(answer: Any, count: int, dims: int) -> tuple[tuple[int, ...], ...]:
    """Return one vector for each text, in the order of the texts. Raises ServiceFailed."""
    try:
        # Ordered by the field `index`: endpoints do not promise the order of the list.
        found = {int(it["index"]): round_components(it["embedding"]) for it in answer["data"]}
    except (KeyError, TypeError, ValueError, OverflowError):
        raise make_failure("vectors") from None
    if sorted(found) != list(range(count)) or any(len(vector) != dims for vector in found.values()):
        raise make_failure("vectors")
    return tuple(found[index] for index in range(count))


def round_components(components: Sequence[float]) -> tuple[int, ...]:
    """Return a vector in nearly the same direction, with whole numbers from -127 to 127 as components.

    Raises ValueError or TypeError for components without a direction, such as zeros only.
    """
    peak = max(abs(it) for it in components)
    if not math.isfinite(peak) or peak == 0:
        raise ValueError("no direction")
    return tuple(round(it * COMPONENT_MAX / peak) for it in components)

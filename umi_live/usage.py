"""Usage: the tokens that models and embedders read and wrote, and their cost.

Law 1. A failed call counts too, if its response has token counts.
Law 2. The result of a request has its usage; the usage of background work is only in the sum of the memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, Final

from umi_core.data import Data


class Usage(Data):
    """The number of calls of models and embedders, and their tokens. `cost_usd` is 0 without prices."""

    call_count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.call_count + other.call_count,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
        )

    def __str__(self) -> str:
        calls = "1 call" if self.call_count == 1 else f"{self.call_count:,} calls"
        cost = f", {self.cost_usd:.4f} USD" if self.cost_usd else ""
        return f"{calls}, {self.input_tokens:,} tokens in, {self.output_tokens:,} out{cost}"


NO_USAGE: Final = Usage()
REPORTED: Final = ContextVar[list[Usage] | None]("REPORTED", default=None)


def report_usage(input_tokens: int, output_tokens: int = 0, cost_usd: float = 0.0) -> None:
    """Report the tokens and the cost of a call. Call this in `ask` or `embed` of your own service."""
    if (reported := REPORTED.get()) is not None:
        reported.append(Usage(1, input_tokens, output_tokens, cost_usd))


@contextmanager
def collect_usage() -> Iterator[list[Usage]]:
    """Collect the usage that the code inside reports in this task."""
    reported: list[Usage] = []
    token = REPORTED.set(reported)
    try:
        yield reported
    finally:
        REPORTED.reset(token)


def start_span(operation: str, model: str) -> Any:
    """Return a context manager with an OpenTelemetry span, or with None if that package is not installed.

    `operation`: chat or embeddings, as in the semantic conventions for generative AI.
    """
    if find_spec("opentelemetry") is None:
        return nullcontext()
    from opentelemetry import trace

    named = {"gen_ai.operation.name": operation, "gen_ai.request.model": model}
    return trace.get_tracer("umi_live").start_as_current_span(f"{operation} {model}", attributes=named)


def end_span(span: Any, used: Usage, failure: str) -> None:
    """Write the usage, and the kind of `failure` unless it is "", into a span."""
    if span is None:
        return
    span.set_attribute("gen_ai.usage.input_tokens", used.input_tokens)
    span.set_attribute("gen_ai.usage.output_tokens", used.output_tokens)
    if failure:
        span.set_attribute("error.type", failure)

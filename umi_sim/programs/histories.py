"""Histories: which tool calls a list of messages holds, and which results, in the forms that agents keep.

Chat completions, the Responses API and Anthropic's messages as dicts; messages of pydantic-ai and LangChain.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

CALLS: Final = {"function_call": "call_id", "tool_use": "id", "tool-call": "tool_call_id"}
RESULTS: Final = {
    "function_call_output": "call_id", "tool_result": "tool_use_id", "tool-return": "tool_call_id",
    "retry-prompt": "tool_call_id",
}  # fmt: skip


def list_calls(history: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Yield ("call", id) and ("result", id) in the order of the messages."""
    for message in history:
        yield from calls_of(message)


def calls_of(message: Any) -> Iterator[tuple[str, str]]:
    match read(message, "type") or read(message, "part_kind") or read(message, "kind"):
        case str(kind) if kind in CALLS:
            yield "call", str(read(message, CALLS[kind]))
        case str(kind) if kind in RESULTS and (kind != "retry-prompt" or read(message, "tool_name")):
            yield "result", str(read(message, RESULTS[kind]))
    if read(message, "tool_call_id") and (read(message, "role") == "tool" or read(message, "type") == "tool"):
        yield "result", str(read(message, "tool_call_id"))
    ids = [str(read(each, "id")) for each in as_list(read(message, "tool_calls")) if read(each, "id")]
    yield from (("call", each) for each in ids)
    for name in ("parts", "content"):
        for part in as_list(read(message, name)):
            if read(part, "id") not in ids:  # LangChain keeps a call twice
                yield from calls_of(part)


def read(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()

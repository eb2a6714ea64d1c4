"""Readings: every reply of a model is read once more, by a plainer reader.

Law 1. Whatever the model said, the memory's parsers read it: no exception, and each element is kept, merged
or dropped with a reason. Law 2. A payload is found wherever it stands, in fences, prose or quotation.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from umi_core.config import Config
from umi_core.invariants.broken import Broken, demand
from umi_core.language.evolution import parse_evolution
from umi_core.language.extraction import Extraction, parse_extraction
from umi_core.language.replies import Unusable, whole
from umi_core.language.rewriting import judged, parse_variants
from umi_core.language.routing import parse_routes
from umi_core.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX, JSON_START_COUNT_MAX, REPLY_BYTES_MAX

READERS: Final[Mapping[str, Callable[[str, Config], object]]] = {
    "extract": lambda reply, config: parse_extraction(reply, "text", config),
    "route": lambda reply, config: parse_routes(reply, (), config),
    "evolve": lambda reply, config: parse_evolution(reply, Everything(), 0),
    "expand": lambda reply, config: parse_variants(reply, "query"),
    "rewrite": lambda reply, config: judged(reply, "What did he say?", (), 0),
}


class Everything:
    """Holds whatever is asked for: every pair counts as asked about."""

    def __contains__(self, value: object) -> bool:
        return True


def check_reading(task: str, reply: str, config: Config) -> None:
    """Raises Broken if a parser fails on this reply, or does not see what stands in it."""
    try:
        read = READERS[task](reply, config)
    except Exception as error:
        raise Broken("parser-total", f"the answer to {task} cannot be read: {error!r}", "", reply) from None
    if task == "rewrite":
        return
    payload = payload_of(reply, task)
    is_seen = (payload is None) == isinstance(read, Unusable)
    demand(is_seen, "parser-keeps-the-good", f"the payload of {task}", payload, read)
    if isinstance(read, Extraction) and isinstance(payload, dict):
        check_elements(read, payload["entities"])


def check_elements(read: Extraction, elements: list[Any]) -> None:
    """Each is kept, merged or dropped: of the kept ones none is lost without a name in the result."""
    dropped = dict(read.dropped)
    names = [it.get("name") for at, it in enumerate(elements) if at not in dropped and isinstance(it, dict)]
    is_note = len(read.entities) == 1 and not read.entities[0].named
    kept = 0 if is_note else len(read.entities)
    is_whole = bool(names) == bool(kept) and kept <= len(names)
    is_whole = is_whole and len(dropped) + len(names) == len(elements)
    demand(is_whole, "parser-total", "elements that are neither kept nor dropped", names, read)


# A plain finder of JSON.


def payload_of(reply: str, task: str) -> Any:
    """The first value of the form that this task asks for; None if there is none."""
    text = whole(reply)
    if len(text.encode()) > REPLY_BYTES_MAX:
        return None
    opening = "{" if task == "extract" else "["
    starts = [at for at, char in enumerate(text) if char == opening][:JSON_START_COUNT_MAX]
    values = (value_at(text, start) for start in starts)
    return next((value for value in values if suits(value, task)), None)


def suits(value: Any, task: str) -> bool:
    if task == "extract":
        return isinstance(value, dict) and isinstance(value.get("entities"), list)
    kind = str if task == "expand" else dict
    return isinstance(value, list) and (not value or any(isinstance(it, kind) for it in value))


def value_at(text: str, start: int) -> Any:
    try:
        value, _ = DECODER.raw_decode(text, start)
        return value if depth_of(value) <= JSON_DEPTH_MAX else None
    except (ValueError, RecursionError):
        return None


def depth_of(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max(map(depth_of, parts), default=0)


def number(text: str) -> int:
    """Any number will do."""
    if len(text) > JSON_NUMBER_CHARS_MAX:
        raise ValueError(text)
    return 0


def no_constant(text: str) -> NoReturn:
    raise ValueError(text)


DECODER: Final = json.JSONDecoder(parse_float=number, parse_int=number, parse_constant=no_constant)

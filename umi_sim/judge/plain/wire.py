"""The wire of an agent server, plainly: how its requests are said over HTTP, and what a response tells.

    UpdateBlock("human", value="likes tea")     PATCH /v1/agents/a1/blocks/human {"value": "likes tea"}

Law 1. Written down from docs/spec/kelpie.md, §4 and §9; nothing of the memory's own reader is used.
Law 2. What can be said in several ways is said in each of them, by `spelling`, which is any number.
"""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import attrs

from umi_core.data import Data
from umi_core.messages import api_requests as api
from umi_core.messages.api_results import Appended, BlocksShown
from umi_core.messages.effects import Done, Failed, Outcome, Refused
from umi_core.messages.request import Request
from umi_core.values import Pairs

PAGE_MAX: Final = 100
NUMBER_MAX: Final = 2**63 - 1
ODD: Final = ("colour", 1)  # a field that no body has
Json = Mapping[str, Any]


@attrs.frozen
class Said(Data):
    """A request in the words of HTTP. `meant`: what the memory is to be asked, if it can be meant at all."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str
    meant: Request | None
    ignored: tuple[str, ...] = ()


@attrs.frozen
class Line(Data):
    """`path`: what comes behind the agent. None in `body` or `query` is left out."""

    method: str
    path: tuple[str, ...]
    query: Json = attrs.field(factory=dict)
    body: Json = attrs.field(factory=dict)


def said(request: Request, agent: str, spelling: int) -> Said | None:
    """A sound request as a client sends it; None if no route says it, as a block that a model makes."""
    line = line_of(request, spelling)
    if line is None or not all(map(is_sayable, (*line.path, *line.query.values()))):
        return None
    query = {name: value for name, value in line.query.items() if value is not None}
    if query.get("limit") == PAGE_MAX:
        query["limit"] += spelling % 3  # a page above the most is cut
    body = {name: value for name, value in line.body.items() if value is not None}
    is_odd, is_cut = bool(body) and spelling % 5 == 0, bool(body) and spelling % 7 == 0
    text = json.dumps(body | dict([ODD]) if is_odd else body) if body else ""
    where = "/".join(quote(part, safe="") for part in ("v1", "agents", agent, *line.path))
    key = getattr(request, "request_key", None)
    return Said(
        line.method if spelling % 2 else line.method.lower(),
        f"/{where}?{urlencode(query)}" if query else f"/{where}",
        {} if key is None else {("Idempotency-Key", "x-idempotency-key")[spelling % 2]: key},
        text[: len(text) // 2] if is_cut else text,
        None if is_cut else request,
        (ODD[0],) if is_odd else (),
    )


def is_sayable(value: object) -> bool:
    """Whether a path or a query can hold it, and it is still what it was."""
    if isinstance(value, str):
        return value != "" and value.isprintable()
    is_number = type(value) is int and 0 <= value <= NUMBER_MAX
    return value is None or is_number


def line_of(request: Request, spelling: int) -> Line | None:
    match request:
        case api.ListBlocks():
            return Line("GET", blocks(spelling))
        case api.CreateBlock(author="user"):
            return Line(
                "POST", blocks(spelling), body=fields(request, "label value kind description read_only")
            )
        case api.FindBlock(block=name):
            return Line("GET", (*blocks(spelling), name))
        case api.UpdateBlock(block=name, author="user"):
            given = fields(request, "value description read_only expected_version")
            return Line("PATCH", (*blocks(spelling), name), body=given)
        case api.DeleteBlock(block=name, author="user", expected_version=None):
            return Line("DELETE", (*blocks(spelling), name))
        case api.BlockHistory(block_id=name):
            return Line("GET", ("history", name), fields(request, "after limit"))
        case api.AppendToBlock(block=name, text=text, author="model"):
            return Line("POST", ("tools", "core_memory_append"), body={"label": name, "content": text})
        case api.ReplaceInBlock(block=name, old=old, new=new, every=every, author="model"):
            given = {"label": name, "old_content": old, "new_content": new, "all": every}
            return Line("POST", ("tools", "core_memory_replace"), body=given)
        case api.AddMessages(messages=messages):
            told_messages = [message_of(parts, spelling) for parts in messages]
            return Line("POST", ("messages",), body={"messages": told_messages})
        case api.ListMessages():
            given = fields(request, "before after limit")
            return Line("GET", ("messages",), given if spelling % 2 else with_ids(given))
        case api.SearchMessages(query=query):
            return Line(
                "GET", ("messages",), {"q": query, **fields(request, "from_ms until_ms before limit")}
            )
        case api.AddArchival(content=content, tags=tags, metadata=metadata):
            name = ("content", "text")[spelling % 2]
            return Line("POST", ("archival",), body={name: content, "tags": tags, "metadata": dict(metadata)})
        case api.GetArchival(record_id=name):
            return Line("GET", ("archival", name))
        case api.ListArchival(limit=limit, cursor=cursor, tags=()):
            return Line("GET", ("archival",), {"limit": limit, ("cursor", "after")[spelling % 2]: cursor})
        case api.SearchArchival(query=query, limit=limit, tags=()):
            return Line("GET", ("archival",), {"q": query, "limit": limit})
        case api.DeleteArchival(record_id=name):
            return Line("DELETE", ("archival", name))
        case api.BuildSystemPrompt(system=system, form=form):
            return Line("GET", ("prompt",), {"system": system or None, "format": form})
    return None


def blocks(spelling: int) -> tuple[str, ...]:
    return ("blocks",) if spelling % 3 else ("core-memory", "blocks")


def fields(request: Request, names: str) -> dict[str, Any]:
    """The fields of this name, and the limit of a block, which the wire calls by another."""
    given = {name: getattr(request, name) for name in names.split()}
    limit_bytes = getattr(request, "limit_bytes", None)
    return given if limit_bytes is None else {**given, "limit": limit_bytes}


def with_ids(given: Json) -> Json:
    """Places in the log of messages as the ids of messages."""
    return {
        name: f"msg_{at:012}" if name in ("before", "after") and type(at) is int else at
        for name, at in given.items()
    }


def message_of(parts: Pairs, spelling: int) -> dict[str, str]:
    """In any order: the memory has one of its own."""
    return dict(reversed(parts) if spelling % 2 else parts)


# Replies.

STATUS: Final[Mapping[str, int]] = {
    "ReadOnly": 403, "NotFound": 404,
    **dict.fromkeys(("LabelTaken", "VersionConflict", "TooBusy"), 409),
    **dict.fromkeys(
        ("BadLabel", "BlockTooLarge", "CoreFull", "TooManyBlocks", "TextTooLong", "AboveLimit",
         "TextNotFound", "TextAmbiguous", "KeyReused"),
        422,
    ),
}  # fmt: skip
"""By name of the error; all else that was asked wrongly is 400."""


def status_of(outcome: Outcome) -> int:
    if isinstance(outcome, Done):
        return 200
    if isinstance(outcome, Refused):
        return STATUS.get(type(outcome.error).__name__, 400)
    return 503 if isinstance(outcome, Failed) else 504


def body_of(outcome: Outcome) -> object:
    """What the body of a response must hold."""
    if isinstance(outcome, Done):
        return json.loads(json.dumps(told(outcome.value)))
    if isinstance(outcome, Refused):
        return {"error": type(outcome.error).__name__, "detail": str(outcome.error)}
    if isinstance(outcome, Failed):
        return {"error": "Failed", "detail": str(outcome.error)}
    return {"error": "Unknown", "detail": "it may have happened: ask again with the same key"}


def told(value: Any) -> object:
    if isinstance(value, BlocksShown):
        return [limited(attrs.asdict(block)) for block in value.blocks]
    body = limited(attrs.asdict(value))
    for message in body.get("messages", ()):
        message |= dict(message.pop("details"))
    for record in body.get("records", ()):
        record["metadata"] = dict(record["metadata"])
    if isinstance(value, Appended):
        prefix = "msg" if value.log == "message" else "arc"
        body["ids"] = [f"{prefix}_{value.first_seq + at:012}" for at in range(value.count)]
    return body


def limited(block: dict[str, Any]) -> dict[str, Any]:
    """The wire calls the limit of a block so."""
    return {"limit" if name == "limit_bytes" else name: part for name, part in block.items()}

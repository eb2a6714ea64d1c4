"""The object of an agent server, plainly: which of its methods asks what, and what that returns.

    AppendToBlock("human", "tea")     agent.append_to_block("human", "tea")

Law 1. Nothing of the object itself is used. What it cannot say, as a label to page by, it is not asked to.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_core.kelpie import requests as api
from umi_core.kelpie.results import BlocksShown, Prompt, RecordsShown
from umi_core.messages.effects import Done, Failed, Outcome, Refused
from umi_core.messages.request import Request
from umi_core.messages.results import Listed


@attrs.frozen
class Method(Data):
    """A method, the fields that it takes by place, and those that it takes by name."""

    name: str
    places: str = ""
    names: str = ""


METHODS: Final[Mapping[type, Method]] = {
    api.ListBlocks: Method("list_blocks"),
    api.FindBlock: Method("get_block", "block"),
    api.CreateBlock: Method("create_block", "label value"),
    api.UpdateBlock: Method("update_block", "block value", "description limit_bytes expected_version"),
    api.AppendToBlock: Method("append_to_block", "block text"),
    api.ReplaceInBlock: Method("replace_in_block", "block old new"),
    api.DeleteBlock: Method("delete_block", "block"),
    api.AddMessages: Method("add_messages", "messages"),
    api.ListMessages: Method("list_messages", "limit", "before after"),
    api.SearchMessages: Method("search_messages", "query limit", "from_ms until_ms before skip"),
    api.AddArchival: Method("add_archival", "content", "tags metadata extract speaker"),
    api.ListArchival: Method("list_archival", "limit cursor"),
    api.SearchArchival: Method("search_archival", "query limit tags", "skip"),
    api.GetArchival: Method("get_archival", "record_id"),
    api.DeleteArchival: Method("delete_archival", "record_id"),
    api.DeleteAgent: Method("delete_agent"),
    api.OpenAgent: Method("open_agent"),
    api.RecentEntities: Method("recent_entities", "types limit", "skip"),
    api.BuildSystemPrompt: Method("build_system_prompt", "system form"),
}


OWN: Final[Mapping[type, Mapping[str, object]]] = {api.CreateBlock: {"value": ""}}
"""What a method leaves out though its request may not."""
PLAIN: Final = ("role", "content")  # of a message that is only said


@attrs.frozen
class Called(Data):
    method: str
    places: tuple[Any, ...]
    names: Mapping[str, Any]


def called(request: Request) -> Called | None:
    """How a sound request is asked for, without what it is by default; None if no method says all of it."""
    method = METHODS.get(type(request))
    if method is None:
        return None
    fields = {it.name: getattr(request, it.name) for it in attrs.fields(type(request)) if it.name != "op_id"}
    defaults = {it.name: it.default for it in attrs.fields(type(request))}
    defaults.update(OWN.get(type(request), {}))
    key = fields.pop("request_key", None)
    fields.pop("author", None)  # the object has one, for all that it asks
    if isinstance(request, api.AddMessages) and [tuple(dict(it)) for it in request.messages] == [PLAIN]:
        return Called("add_message", tuple(dict(request.messages[0]).values()), {"key": key})
    said = {name: spelled(name, fields.pop(name)) for name in f"{method.places} {method.names}".split()}
    if any(value != defaults[name] for name, value in fields.items()):
        return None
    places = [said[name] for name in method.places.split()]
    while places and places[-1] == defaults[method.places.split()[len(places) - 1]]:
        places.pop()
    names = {name: said[name] for name in method.names.split() if said[name] != defaults[name]}
    return Called(method.name, tuple(places), names if key is None else {**names, "key": key})


def spelled(name: str, value: Any) -> object:
    """Messages and metadata as dictionaries."""
    if name == "messages":
        return [dict(parts) for parts in value]
    return dict(value) if name == "metadata" and value else value


def returned(request: Request, outcome: Outcome) -> object:
    """What a method returns, or the outcome and the text of what it raises."""
    if not isinstance(outcome, Done):
        return outcome, str(outcome.error if isinstance(outcome, Refused | Failed) else outcome)
    value = outcome.value
    if isinstance(request, api.GetArchival) and isinstance(value, RecordsShown):
        return value.records[0]
    if isinstance(value, BlocksShown):
        return value.blocks
    if isinstance(value, Listed):
        return value.rows
    return value.text if isinstance(value, Prompt) else value

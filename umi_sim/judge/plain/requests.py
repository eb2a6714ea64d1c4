"""Filters of requests, and the types of values in replies."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from functools import cache
from typing import Any, Final

from umi_core import errors
from umi_core.answer_checks import is_valid_body
from umi_core.declared import Incomplete
from umi_core.errors import BadOption, Error
from umi_core.kelpie import requests as api
from umi_core.kelpie import results as kelpie
from umi_core.kelpie.errors import NotFound
from umi_core.messages import requests, results
from umi_core.messages.effects import Done, Outcome, Refused
from umi_core.messages.requests import CreateEntity, EvolveCategory, Request, Summarise, UpdateEntity
from umi_core.migration import requests as moves
from umi_core.rows import BODIES, Ended, Entity, Row
from umi_core.shapes import anything, shape_of
from umi_core.text import show_value
from umi_core.values import Block, RoutingDecision, Scope

# Filters: their errors, and the levels, kinds and rows that they include (H9).


Given = tuple[tuple[str, str, Any], ...]

KINDS_OF: Final[Mapping[str, str]] = {  # by field, the first letters of kinds; n: reflection, x: ended
    "id": "cermsnx", "about": "ex", "by": "x", "how": "x", "at_ms": "x",
    "created_ms": "cermsn", "updated_ms": "cersn", "name": "ces", "member_count": "c",
    "type": "e", "memory_type": "e", "event_time_ms": "e", "reinforced_count": "e", "sources": "e",
    "metadata": "e", "uri": "r", "modality": "r", "parent_id": "r", "happened_ms": "r",
    "entity_id": "m", "category_id": "ms", "subcategory_id": "m", "assigned_by": "m",
    "session_id": "rn", "started_ms": "n", "ended_ms": "n",
}  # fmt: skip
OF_SCOPE: Final = ("user", "agent")


def is_equal(found: Any, value: Any) -> bool:
    """Return True for equal values of one type: True is not 1, and None equals only itself."""
    return type(found) is type(value) and found == value


def both_numbers(found: Any, value: Any) -> bool:
    return type(found) is int and type(value) is int


HOLDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "eq": is_equal,
    "ne": lambda found, value: not is_equal(found, value),
    "in": lambda found, values: any(is_equal(found, value) for value in values),
    "not_in": lambda found, values: not any(is_equal(found, value) for value in values),
    "lt": lambda found, value: both_numbers(found, value) and found < value,
    "lte": lambda found, value: both_numbers(found, value) and found <= value,
    "gt": lambda found, value: both_numbers(found, value) and found > value,
    "gte": lambda found, value: both_numbers(found, value) and found >= value,
    "contains": lambda found, value: isinstance(found, tuple) and value in found,
    "has_key": lambda found, value: (
        isinstance(found, tuple) and value in [it[0] for it in found if type(it) is tuple]
    ),
}


def may_hold(given: Given, level: str, scope: Scope) -> bool:
    """Return True if rows of this level or kind have the fields of a filter, and the scope satisfies it."""
    own = {"user": scope.user, "agent": scope.agent}
    # The first letter of the kind, with other letters for reflections and ended facts.
    letter = "n" if level.startswith("reflection") else "x" if level == "ended" else level[0]
    has_fields = all(letter in KINDS_OF[name] for name, _, _ in given if name not in own)
    return has_fields and all(HOLDS[how](own[name], value) for name, how, value in given if name in own)


def meets(given: Given, known: Mapping[str, Any]) -> bool | None:
    """Return True if a row with these fields satisfies all conditions; None if unknown fields decide."""
    requests = [
        HOLDS[how](known[name], value) if name in known else None
        for name, how, value in given
        if name not in OF_SCOPE
    ]
    # A condition that certainly fails decides, whatever the unknown fields are.
    return False if False in requests else None if None in requests else True


def fields_of(row: Any, unsure: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a row that a filter may use, without `unsure` ones."""
    return {name: getattr(row, name) for name in names_of(row.__class__) if name not in unsure}


@cache
def names_of(cls: type) -> tuple[str, ...]:
    """Return the fields of this class of rows that a filter may use."""
    return tuple(name for name in KINDS_OF if hasattr(cls, name))


def refuse_unlisted(request: Request, listed: Container[str], known: Container[str]) -> Error | None:
    """Return the error for a category that is not in `known`, or, if a fact is stored in it, not `listed`."""
    if isinstance(request, CreateEntity | UpdateEntity) and request.categories:
        is_right = all(name in listed for name in request.categories)
        return None if is_right else errors.BadType("categories", show_value(request.categories), "")
    if isinstance(request, Summarise | EvolveCategory) and request.category not in known:
        return errors.BadOption("category", show_value(request.category), "")
    return None


def is_no_agent(outcome: Outcome) -> bool:
    """Return True if the outcome says that there is no such agent."""
    error = outcome.error if isinstance(outcome, Refused) else None
    return isinstance(error, NotFound) and error.kind == "agent"


def is_same(wanted: Error | None, got: Error | None) -> bool:
    """Return True if two errors are equal except for the text about allowed values."""
    if type(wanted) is type(got) and isinstance(wanted, BadOption) and isinstance(got, BadOption):
        return (wanted.option, wanted.value) == (got.option, got.value)
    return wanted == got


# The types of values in replies.
#
# Requests of the working tier are missing here, since twins derive their replies.


TYPES: Final[Mapping[type, Any]] = {
    requests.GetBlock: Block | None, requests.Blocks: tuple[Block, ...], requests.CoreBytes: int,
    requests.InCore: bool, requests.Render: str,
    requests.LastRoutingDecisions: tuple[RoutingDecision, ...], requests.SetBlock: results.BlockSet,
    requests.SetImportance: type(None), requests.RemoveBlock: results.BlockRemoved,
    requests.Rebalance: results.Rebalanced,
    requests.CreateSession: results.SessionCreated, requests.SaveSession: results.SessionSaved,
    requests.LoadSession: results.SessionLoaded, requests.EndSession: results.Reflected,
    requests.ShareArchive: results.ArchiveShared,
    requests.Remember: results.Remembered, requests.Recall: results.Recalled,
    requests.Forget: results.Forgotten, requests.GetEntity: Entity | Ended | None, requests.Count: int,
    requests.Memorize: results.Memorized, requests.List: results.Listed,
    requests.Summarise: results.Summarised, requests.EvolveCategory: results.Evolved,
    requests.Retrieve: results.Retrieved, requests.Search: results.Retrieved,
    requests.CreateEntity: results.Stored, requests.UpdateEntity: results.Stored,
    api.RecentEntities: results.Listed, requests.ForgetResource: results.ResourceForgotten,
    **dict.fromkeys(
        (api.CreateBlock, api.UpdateBlock, api.AppendToBlock, api.ReplaceInBlock, api.DeleteBlock),
        kelpie.BlockWritten,
    ),
    api.ListBlocks: kelpie.BlocksShown, api.FindBlock: kelpie.ApiBlock, api.BlockHistory: kelpie.ChangesShown,
    api.AddMessages: kelpie.Appended, api.ListMessages: kelpie.MessagesShown,
    api.SearchMessages: kelpie.MessagesFound, api.AddArchival: kelpie.Appended,
    **dict.fromkeys((api.GetArchival, api.ListArchival, api.SearchArchival), kelpie.RecordsShown),
    api.DeleteArchival: results.RecordForgotten, api.BuildSystemPrompt: kelpie.Prompt,
    **dict.fromkeys((api.DeleteAgent, api.OpenAgent), kelpie.AgentSwitched),
    **dict.fromkeys((moves.PutRow, moves.DropRow, moves.Reconcile, moves.Mirror, moves.Purge), type(None)),
    **dict.fromkeys((moves.AddRow, moves.AdvanceMigration, moves.RollBack), str),
    moves.ListRows: moves.RowsListed, moves.ReadRow: str | None, moves.CompareStores: moves.StoresCompared,
}  # fmt: skip


def check_requests(known: Iterable[type[requests.Request]]) -> None:
    """Raise Incomplete if the reply to one of these requests is not described."""
    for cls in known:
        if cls not in TYPES and not issubclass(cls, requests.WorkingRequest):
            message = f"what {cls.__name__} replies with is unknown to the judge"
            raise Incomplete(f"{message}: add it to TYPES in umi_sim/judge/plain/requests.py")


check_requests(requests.ALL)


def describe_misfit(request: Request, outcome: Outcome) -> str:
    """Return the first wrong type or range in this outcome; empty if there is none."""
    cls = type(request)
    if isinstance(outcome, Done) and cls in TYPES:
        return shape_of(TYPES[cls])(outcome.value)
    return anything(outcome)


def is_damaged(row: Row) -> bool:
    """Return True if the body of a row is missing, malformed, or belongs to another row."""
    body, address = row.body, row.address
    if body is None or body.row_kind != address.kind or body.own_id() not in (None, address.id):
        return True
    return address.kind in BODIES and not is_valid_body(body)

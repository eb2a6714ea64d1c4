"""What each operation that is done replies with, by its request, down to the last field (typed.py).

A request of the working tier has none here: what it replies with, its twin says to the byte.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from umi_core.declared import Incomplete
from umi_core.kelpie import requests as api
from umi_core.kelpie import results as told
from umi_core.messages import requests, results
from umi_core.migration import requests as moves
from umi_core.rows import Entity, Version
from umi_core.values import Block, RoutingDecision
from umi_sim.judge.plain.typed import holds

TYPES: Final[Mapping[type, Any]] = {
    requests.GetBlock: Block | None, requests.Blocks: tuple[Block, ...], requests.CoreBytes: int,
    requests.InCore: bool, requests.Render: str,
    requests.LastRoutingDecisions: tuple[RoutingDecision, ...], requests.SetBlock: results.BlockSet,
    requests.SetImportance: type(None), requests.RemoveBlock: results.BlockRemoved,
    requests.Rebalance: results.Rebalanced,
    requests.CreateSession: results.SessionCreated, requests.SaveSession: results.SessionSaved,
    requests.LoadSession: results.SessionLoaded, requests.EndSession: results.Reflected,
    requests.Remember: results.Remembered, requests.Recall: results.Recalled,
    requests.Forget: results.Forgotten, requests.GetEntity: Entity | Version | None, requests.Count: int,
    requests.Memorize: results.Memorized, requests.List: results.Listed,
    requests.Summarise: results.Summarised, requests.EvolveCategory: results.Evolved,
    requests.Retrieve: results.Retrieved, requests.Search: results.Retrieved,
    requests.CreateEntity: results.Stored, requests.UpdateEntity: results.Stored,
    api.RecentEntities: results.Listed, requests.ForgetResource: results.ResourceForgotten,
    **dict.fromkeys(
        (api.CreateBlock, api.UpdateBlock, api.AppendToBlock, api.ReplaceInBlock, api.DeleteBlock),
        told.BlockWritten,
    ),
    api.ListBlocks: told.BlocksShown, api.FindBlock: told.ApiBlock, api.BlockHistory: told.ChangesShown,
    api.AddMessages: told.Appended, api.ListMessages: told.MessagesShown,
    api.SearchMessages: told.MessagesFound, api.AddArchival: told.Appended,
    **dict.fromkeys((api.GetArchival, api.ListArchival, api.SearchArchival), told.RecordsShown),
    api.DeleteArchival: results.RecordForgotten, api.BuildSystemPrompt: told.Prompt,
    **dict.fromkeys((api.DeleteAgent, api.OpenAgent), told.AgentSwitched),
    **dict.fromkeys((moves.PutRow, moves.DropRow, moves.Reconcile, moves.Mirror, moves.Purge), type(None)),
    **dict.fromkeys((moves.AddRow, moves.AdvanceMigration, moves.RollBack), str),
    moves.ListRows: moves.RowsListed, moves.ReadRow: str | None, moves.CompareStores: moves.StoresCompared,
}  # fmt: skip


def check_requests(known: Iterable[type[requests.Request]]) -> None:
    """Raises Incomplete if what one of these replies with is said nowhere."""
    for cls in known:
        if cls not in TYPES and not issubclass(cls, requests.WorkingRequest):
            told = f"what {cls.__name__} replies with is unknown to the judge"
            raise Incomplete(f"{told}: add it to TYPES in umi_sim/judge/plain/reply_types.py")


check_requests(requests.ALL)


def is_reply(request: object, value: object) -> bool:
    """Whether this request may be done with this value."""
    return type(request) not in TYPES or holds(TYPES[type(request)])(value)

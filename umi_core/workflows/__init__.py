"""Operations, one table each, and the registry that a memory begins with."""

from collections.abc import Iterable
from typing import Final

from umi_core import codec
from umi_core.declared import Incomplete
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Workflow
from umi_core.kelpie.agents import DELETE_AGENT, OPEN_AGENT, PURGE
from umi_core.kelpie.blocks import BLOCK_HISTORY, EDIT_BLOCK, READ_BLOCKS
from umi_core.kelpie.logs import (
    ADD_ARCHIVAL,
    APPEND_ROWS,
    DELETE_ARCHIVAL,
    GET_ARCHIVAL,
    LIST_ARCHIVAL,
    LIST_MESSAGES,
    SEARCH_ARCHIVAL,
    SEARCH_MESSAGES,
)
from umi_core.language.evolution import StatementVerdict
from umi_core.language.extraction import Mention
from umi_core.language.memories import ExtractedFact
from umi_core.language.segments import Segment
from umi_core.messages.requests import ALL, Request, WorkflowRequest
from umi_core.workflows.blocks import WRITE_BLOCK
from umi_core.workflows.categories import EVOLVE_CATEGORY, SUMMARISE, Division, Newcomer, PlannedGroup
from umi_core.workflows.commits import Plan
from umi_core.workflows.drafting import Drafted
from umi_core.workflows.entities import CREATE_ENTITY, UPDATE_ENTITY, CategorisedFact
from umi_core.workflows.forget import FORGET, FORGET_RESOURCE
from umi_core.workflows.linking import GroupCentroid
from umi_core.workflows.listing import COUNT, GET_ENTITY, LIST, RECENT_ENTITIES
from umi_core.workflows.memorize import MEMORIZE, Unit, UnitReading
from umi_core.workflows.rebalance import REBALANCE
from umi_core.workflows.recall import RECALL
from umi_core.workflows.recover import RECOVER
from umi_core.workflows.reflect import REFLECT
from umi_core.workflows.remember import REMEMBER
from umi_core.workflows.retrieve import RETRIEVE
from umi_core.workflows.sessions import CREATE_SESSION, LOAD_SESSION, SAVE_SESSION
from umi_core.workflows.sharing import SHARE_ARCHIVE
from umi_core.workflows.upkeep import UPKEEP

__all__ = ["BUILT_IN", "WORKFLOWS"]

WORKFLOWS: Final[tuple[Workflow, ...]] = (
    REMEMBER, RECALL, FORGET, GET_ENTITY, COUNT, WRITE_BLOCK, CREATE_SESSION, SAVE_SESSION, LOAD_SESSION,
    SHARE_ARCHIVE,
    MEMORIZE, CREATE_ENTITY, UPDATE_ENTITY, SUMMARISE, EVOLVE_CATEGORY, REFLECT, LIST, RETRIEVE, REBALANCE,
    RECOVER, UPKEEP,
    EDIT_BLOCK, READ_BLOCKS, BLOCK_HISTORY,
    APPEND_ROWS, LIST_MESSAGES, ADD_ARCHIVAL, GET_ARCHIVAL, LIST_ARCHIVAL, SEARCH_ARCHIVAL, DELETE_ARCHIVAL,
    SEARCH_MESSAGES, RECENT_ENTITIES, FORGET_RESOURCE, DELETE_AGENT, OPEN_AGENT, PURGE,
)  # fmt: skip


def built_in() -> Registry:
    registry = Registry()
    for workflow in WORKFLOWS:
        registry = registry.register(workflow)
    return registry


BUILT_IN: Final = built_in()


def check_served(requests: Iterable[type[Request]], registry: Registry) -> None:
    """Raise Incomplete for a request whose workflow is not in the registry."""
    for request in requests:
        if issubclass(request, WorkflowRequest) and request.workflow not in registry.revisions:
            message = f"{request.__name__} has no workflow {request.workflow}: add it to WORKFLOWS"
            raise Incomplete(f"{message} in umi_core/workflows/__init__.py")


check_served(ALL, BUILT_IN)

# Classes of workflow facts, with their tags: above those of the codec's own table, and as unchangeable.
FACT_TAGS: Final = {
    1000: Plan, 1001: Drafted, 1002: Mention, 1004: StatementVerdict, 1005: Segment, 1006: ExtractedFact,
    1007: Unit, 1008: UnitReading, 1009: CategorisedFact, 1010: GroupCentroid, 1011: Newcomer,
    1012: PlannedGroup, 1013: Division,
}  # fmt: skip
for tag, cls in FACT_TAGS.items():
    codec.register(cls, tag)

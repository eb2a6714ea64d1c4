"""Requests about single facts, as their callers say them: no model is asked."""

import attrs

from umi_core.domains import EntityId, MemoryType
from umi_core.fact_domains import CategoryNames, FactText, NewCategories, NewFactText
from umi_core.messages.request import WorkflowRequest


@attrs.frozen
class CreateEntity(WorkflowRequest):
    """A fact without a name of its own, in categories; in that of its memory type if none is named."""

    tag = 200
    workflow = "create_entity"
    stores = True
    content: FactText
    memory_type: MemoryType
    categories: CategoryNames | None = None


@attrs.frozen
class UpdateEntity(WorkflowRequest):
    """What an entity says from now on, and the categories that it is in; what is None stays as it is."""

    tag = 631
    workflow = "update_entity"
    stores = True
    entity_id: EntityId
    content: NewFactText | None = None
    categories: NewCategories | None = None

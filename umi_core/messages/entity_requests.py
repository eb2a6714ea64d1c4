"""Requests about single facts, as their callers say them: no model is asked."""

import attrs

from umi_core.domains import CategoryNames, FactText, MemoryType
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

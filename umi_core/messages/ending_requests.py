"""What ends is asked for here: a session, which leaves its reflection, and a text, which leaves nothing."""

from typing import Annotated

import attrs

from umi_core.domains import Domain, EndedSession, bad_row_id
from umi_core.messages.request import WorkflowRequest

ResourceId = Annotated[str, Domain("resource_id", bad_row_id)]


@attrs.frozen
class EndSession(WorkflowRequest):
    """A session has ended: what was told in it becomes its reflection. It can be loaded, and ended, again."""

    tag = 183
    workflow = "reflect"
    stores = True
    session_id: EndedSession


@attrs.frozen
class ForgetResource(WorkflowRequest):
    """A text that was memorized leaves, with its segments and what only it told of entities."""

    tag = 612
    workflow = "forget_resource"
    is_common = False
    resource_id: ResourceId

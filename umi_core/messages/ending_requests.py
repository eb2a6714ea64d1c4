"""What ends is asked for here: a session, which leaves its reflection."""

import attrs

from umi_core.domains import EndedSession
from umi_core.messages.request import WorkflowRequest


@attrs.frozen
class EndSession(WorkflowRequest):
    """A session has ended: what was told in it becomes its reflection. It can be loaded, and ended, again."""

    tag = 183
    workflow = "reflect"
    stores = True
    session_id: EndedSession

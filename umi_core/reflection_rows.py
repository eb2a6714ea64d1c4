"""The row of a reflection: what a session that has ended was about."""

import attrs

from umi_core.body import Body
from umi_core.data import Data
from umi_core.domains import Content, Ends, EntityId, EventTime, Flag, SessionId


@attrs.frozen
class Reflection(Body, Data):
    """What a session that has ended was about.

    `sources`: the resources, with the versions of their rows, that it was made of; the first was told at
    `started_ms`. `degraded`: their beginning stands here, since no model said more. `pending`: what it said
    is gone with one of them, and ending the session again writes it anew.
    """

    tag = 181
    row_kind = "reflection"
    derived = ("touches",)
    id: EntityId
    session_id: SessionId
    text: Content
    sources: Ends
    started_ms: EventTime
    ended_ms: EventTime
    created_ms: EventTime
    updated_ms: EventTime
    degraded: Flag = False
    pending: Flag = False

    @property
    def touches(self) -> tuple[str, ...]:
        """The texts that it was made of."""
        return tuple(key for key, _ in self.sources)

    def own_id(self) -> str:
        return self.id

    def told(self) -> tuple[str, str]:
        return "", self.text

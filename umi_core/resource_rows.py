"""The row of a text that was memorized, or of a segment of one."""

import attrs

from umi_core.body import Body
from umi_core.data import Data
from umi_core.domains import Content, Count, EntityId, EventTime, Modality, SessionId, Texts, Uri, Word


@attrs.frozen
class Resource(Body, Data):
    """A text that was memorized, as it was given; or one segment of it, which names its parent.

    `first_line` and `last_line` count the lines that its modality makes of the text. `extracted_types`: the
    memory types for which all of it was read; `pending`: those that were asked for besides. Of an image, an
    audio or a video the text says where it is, and `description` what a model says that it holds, which is
    what is read and found; empty while none has said it, and of a text. `session_id`: the session that it
    was told in, if that was said.
    """

    tag = 97
    row_kind = "resource"
    derived = ("touches",)
    added = (1, 1)
    id: EntityId
    modality: Modality
    text: Content
    text_hash: Word
    caption: Word
    first_line: Count
    last_line: Count
    created_ms: EventTime
    updated_ms: EventTime
    uri: Uri | None = None
    parent_id: EntityId | None = None
    position: Count = 0
    extracted_types: Texts = ()
    pending: Texts = ()
    happened_ms: EventTime | None = None
    description: Content = ""
    session_id: SessionId | None = None

    def own_id(self) -> str:
        return self.id

    @property
    def touches(self) -> tuple[str, ...]:
        """The text that it is a segment of."""
        return () if self.parent_id is None else (self.parent_id,)

    @property
    def shown(self) -> str:
        """What it says to a reader."""
        return self.description or self.text

    def told(self) -> tuple[str, str]:
        return "", f"{self.caption}\n{self.shown}"

"""The values a memory speaks of: scope, blocks and their entries, routing decisions, turns of a conversation.

Law 1. A value never changes; a changed one is a new value. Law 2. Integers and text only.
"""

from typing import Final

from umi_core.data import Data
from umi_core.text import size

BLOCK_KINDS: Final = ("system", "persona", "human", "facts", "goals", "scratch")
USER, MODEL = AUTHORS = ("user", "model")  # the authority on which a request writes a block
ENTITY_TYPES: Final = (
    "self", "person", "organization", "project", "topic", "location", "event", "task", "preference", "note",
)  # fmt: skip
EVOLUTION_KINDS: Final = ("update", "extend", "derive", "contradict")
ENDING_KINDS: Final = ("update", "contradict")  # those of them that end the older statement
MEMORY_TYPES: Final = ("profile", "event", "knowledge", "behavior", "skill")
DESCRIBED_BY: Final = {  # of what is no text: the task of the model that says what it holds
    "image": "describe_image",
    "audio": "transcribe_audio",
    "video": "describe_video",
}
MODALITIES: Final = ("text", "message", "document", "conversation", *DESCRIBED_BY)
CATEGORIES: Final = {  # the topics of an archive that is given no others, and what belongs there
    "facts": "What is true of people, organizations, projects and places.",
    "preferences": "What somebody likes, dislikes or usually does.",
    "skills": "What somebody can do.",
    "rules": "What must or must not be done.",
    "context": "What happens or is to be done, and when.",
}
LEVELS: Final = {  # of the archive, from the summary to the source, and the kind of row that each shows
    "categories": "category",
    "entities": "entity",
    "reflections": "reflection",
    "resources": "resource",
}

Pairs = tuple[tuple[str, str], ...]


class Scope(Data):
    """Whose rows these are: user and agent, compared byte for byte."""

    tag = 2
    user: str
    agent: str


class Period(Data):
    """A time in which a fact was current, before it ended and was stated again.

    `by`: the fact that took its place; `how`: it updates this one, or contradicts it.
    """

    tag = 654
    since_ms: int
    until_ms: int
    by: str
    how: str


class Entry(Data):
    """A promoted entity as its block shows it. It is a self entry iff its block is persona."""

    tag = 10
    entity_id: str
    version: int
    name: str
    text: str
    promoted_ms: int

    @property
    def size_bytes(self) -> int:
        return size(self.name) + size(self.text)


class Block(Data):
    """A core block: authored text (or None) plus promoted entries in order (promoted_ms, entity_id)."""

    tag = 11
    kind: str
    label: str = ""
    text: str | None = None
    importance_ppm: int = 500_000
    entries: tuple[Entry, ...] = ()

    @property
    def size_bytes(self) -> int:
        return size(self.label) + size(self.text or "") + sum(entry.size_bytes for entry in self.entries)

    @property
    def order(self) -> tuple[int, bytes]:
        return BLOCK_KINDS.index(self.kind), self.label.encode()


class RoutingDecision(Data):
    """The block of one entity, with the source and reason of it. `outcome` is known after the plan."""

    tag = 18
    entity_id: str
    block: str
    promote: bool
    confidence_ppm: int | None
    reason: str
    routed_by: str
    cause: str | None
    outcome: str = "not_asked"

    def unsound(self) -> str:
        """Return the reason why a decision that was read from bytes is unsound; empty if it is sound."""
        return "" if self.block in BLOCK_KINDS[1:] else f"no block of entities is called {self.block!r}"


CARRIED: Final = ("keys", "messages", "facts")  # what a saved session may carry to the agent that loads it


class Turn(Data):
    tag = 19
    role: str
    text: str

"""Values of a memory: scope, blocks and their entries, routing decisions, turns of a conversation.

Law 1. A value never changes; an update makes a new value. Law 2. Fields are integers, bools and text only.
"""

from typing import Final

from umi_core.data import Data
from umi_core.text import size

BLOCK_KINDS: Final = ("system", "persona", "human", "facts", "goals", "scratch")
USER, MODEL = AUTHORS = ("user", "model")  # the author in whose name a request writes a block
ENTITY_TYPES: Final = (
    "self", "person", "organization", "project", "topic", "location", "event", "task", "preference", "note",
)  # fmt: skip
EVOLUTION_KINDS: Final = ("update", "extend", "derive", "contradict")
ENDING_KINDS: Final = ("update", "contradict")  # kinds that end the older statement
MEMORY_TYPES: Final = ("profile", "event", "knowledge", "behavior", "skill")
DESCRIBED_BY: Final = {  # modalities that are not text, each with the model's task that describes it
    "image": "describe_image",
    "audio": "transcribe_audio",
    "video": "describe_video",
}
MODALITIES: Final = ("text", "message", "document", "conversation", *DESCRIBED_BY)
CATEGORIES: Final = {  # the default topics of an archive, with their descriptions
    "facts": "What is true of people, organizations, projects and places.",
    "preferences": "What somebody likes, dislikes or usually does.",
    "skills": "What somebody can do.",
    "rules": "What must or must not be done.",
    "context": "What happens or is to be done, and when.",
}
LEVELS: Final = {  # levels of the archive, from summaries to sources, with the kind of row of each
    "categories": "category",
    "entities": "entity",
    "reflections": "reflection",
    "resources": "resource",
}

Pairs = tuple[tuple[str, str], ...]


class Scope(Data):
    """The owner of rows: a user and an agent, compared byte for byte."""

    tag = 2
    user: str
    agent: str


class Period(Data):
    """A period in which a fact was current, before it ended and was stated again.

    `by`: the id of its successor; `how`: the successor updated it or contradicted it.
    """

    tag = 654
    since_ms: int
    until_ms: int
    by: str
    how: str


class Entry(Data):
    """A promoted fact as its block shows it. An entry in the block persona is about the agent itself."""

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
    """The block chosen for one fact, by what and why. `outcome` is known after the plan."""

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
        """Return why a decision that was read from bytes is invalid; empty if it is valid."""
        return "" if self.block in BLOCK_KINDS[1:] else f"no block of entities is called {self.block!r}"


CARRIED: Final = ("keys", "messages", "facts")  # what a saved session may carry to the agent that loads it


class Turn(Data):
    tag = 19
    role: str
    text: str

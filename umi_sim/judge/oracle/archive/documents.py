"""Documents: what a memorize says that it did, and what reads show of resources.

Law 1. What was asked about is the text, all of it, in the parts that an answer gives; and nothing twice.
Law 2. A unit counts by the last answer to its question; if that is of no use it is missing, and said to be.
So does what an image, an audio or a video holds: what a model said of it is its text, and asked for once.
Law 3. A text that was read for all that is asked is not read again.
"""

from collections.abc import Sequence
from typing import Final

import attrs

from umi_core.data import Owner
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.effects import Asked, Degraded, Embed
from umi_core.messages.requests import ForgetResource, Memorize
from umi_core.messages.results import Memorized, ResourceForgotten
from umi_core.values import MEMORY_TYPES
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.evidence import Degradations
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import ArchiveOperation, Unit, units_of
from umi_sim.judge.oracle.archive.timelines import MemorizedText
from umi_sim.judge.oracle.archive.writes import Writes
from umi_sim.judge.plain.extraction import count_beyond, read_memories
from umi_sim.judge.plain.hierarchy import (
    DESCRIBE,
    EMBED,
    MEDIA,
    WINDOW_LINES,
    Described,
    caption,
    divide_line,
    is_divided,
    lines_of,
    parts_of,
    read_description,
    read_starts,
)
from umi_sim.judge.plain.rows import resource_id
from umi_sim.judge.plain.text import cut
from umi_sim.record import rules

MISSING: Final = "extract:unit_missing"
TOO_MANY: Final = "extract:partial"
SHELF_LOST: Final = "embed_shelf:no_vectors"
TYPES: Final = ("profile", "event")


@attrs.define
class EarlierReading(Owner):
    """What a text had been read for when a memorize began. `turn`: how many requests had named it."""

    types: tuple[str, ...]
    turn: int


@attrs.define
class Documents(ArchivePart):
    """Judges memorizes. `begun`: by operation; `turns`: by resource, how many requests have named it.

    `told`: every text that somebody has memorized. `read`: for what a resource was read, as the reply to the
    batch at this position told.
    """

    degradations: Degradations
    log: BatchLog
    writes: Writes
    begun: dict[ArchiveOperation, EarlierReading] = attrs.field(factory=dict)
    turns: dict[str, int] = attrs.field(factory=dict)
    told: dict[str, None] = attrs.field(factory=dict)
    read: dict[str, tuple[int, tuple[str, ...]]] = attrs.field(factory=dict)

    def key_of(self, request: Memorize) -> str:
        return resource_id(self.context.scope, request.uri, request.text)

    def known_ids(self) -> tuple[str, ...]:
        """Every text that was ever stored, or may have been."""
        return tuple(self.told)

    def since(self, key: str, op: ArchiveOperation) -> tuple[MemorizedText | None, ...]:
        """What this resource has been since a request was issued."""
        return self.log.resources.since(key, op.position)

    # Hearing.

    def begin(self, op: ArchiveOperation) -> None:
        request = op.request
        if op.error is not None or not isinstance(request, Memorize | ForgetResource):
            return
        key = self.key_of(request) if isinstance(request, Memorize) else request.resource_id
        self.turns[key] = self.turns.get(key, 0) + 1
        if isinstance(request, Memorize):
            self.told[key] = None
            self.begun[op] = EarlierReading(self.types_read(key, request), self.turns[key])

    def types_read(self, key: str, request: Memorize) -> tuple[str, ...]:
        """For what the text of this request has been read by now, as one of its session."""
        it, (position, types) = self.log.resources.now(key), self.read.get(key, (0, ()))
        if it is None or self.log.resources.changed_at(key) != position:
            return ()
        is_same = it.given == (request.modality, request.text)
        return types if is_same and request.session_id in (None, it.session) else ()

    def answered(self, op: ArchiveOperation, step: str, effect: Asked, answer: Answer) -> None:
        if step == "preprocess" and (found := described(answer)) is not None:
            self.said_now(op).setdefault(found)
        if step == "embed_shelf" and isinstance(effect, Embed):
            self.judge_embedded(op, effect)

    def said_now(self, op: ArchiveOperation) -> dict[Described, None]:
        """What models have said of its payload."""
        request = op.request
        assert isinstance(request, Memorize)
        return self.log.said.setdefault((self.key_of(request), (request.modality, request.text)), {})

    def parts_said(self, op: ArchiveOperation) -> list[str]:
        """What may be read of it."""
        return [part for it in self.said_now(op) for part in parts_of(it.text.split("\n"), [0])]

    def judge_embedded(self, op: ArchiveOperation, effect: Embed) -> None:
        """The levels of the archive are found by first sentences, and by what a category is about."""
        assert isinstance(op.request, Memorize)
        lines = lines_of(op.request.text, op.request.modality) if op.request.modality not in MEDIA else []
        parts = [piece for line in lines for piece in divide_line(line)]
        due = {caption(text): None for text in (*(text for _, text in units_of(op.plan)), *parts)}
        due |= {it.caption: None for it in self.said_now(op)}
        due |= {caption(part): None for part in self.parts_said(op)}
        due |= {f"{name}: {about}": None for name, about in op.listed.items()}
        others = [text for text in effect.texts if text not in due]
        self.demand(not others, rules.VECTORS_AS_ANSWERED, "a level is found by another text", "", others)

    # How it ended.

    def ended(self, op: ArchiveOperation, value: object) -> None:
        """`value`: what it says that it did; None if it did nothing, or nobody knows."""
        self.begun.pop(op, None)
        batch = self.log.batch_of(op)
        if isinstance(value, Memorized) and isinstance(op.request, Memorize) and batch is not None:
            wanted = (DESCRIBE, EMBED, *(op.request.memory_types or TYPES))
            types = tuple(kind for kind in wanted if kind not in value.pending)
            self.read[value.resource_id] = batch.position, types

    def judge_forgotten(
        self, op: ArchiveOperation, request: ForgetResource, value: ResourceForgotten
    ) -> None:
        """What it calls absent may be so, and what it says that it has forgotten was there."""
        batch = self.log.batch_of(op)
        is_done = batch is not None and request.resource_id in batch.resources
        is_fair = is_done if value.existed else not is_done and None in self.since(request.resource_id, op)
        rule = rules.REFERENCE_AGREES if value.existed else rules.ACKNOWLEDGED_IS_DURABLE
        told = "was there" if value.existed else "was not there"
        self.demand(is_fair, rule, f"{request.resource_id} {told}, says who forgot it", is_done, value)

    def judge_memorize(self, op: ArchiveOperation, value: Memorized, names: list[str]) -> None:
        request, units = op.request, units_of(op.plan)
        assert isinstance(request, Memorize)
        key = self.key_of(request)
        self.demand(value.resource_id == key, rules.REFERENCE_AGREES, "another resource", key, value)
        self.judge_repeat(op, request, value, list(units))
        lost = [kind for (kind, _), answers in units.items() if is_lost(answers[-1])]
        self.demand((MISSING in names) >= bool(lost), rules.DEGRADATION_NAMED, MISSING, lost, names)
        if request.modality in MEDIA:
            parts = self.parts_said(op)
            others = [text for _, text in units if text not in parts]
            self.demand(not others, rules.TEXT_COVERED, "read as what a payload holds", parts, others)
        if value.change == "created" and not op.is_turned_away:
            self.judge_created(op, request, value, names, lost)
        self.degradations.judge_causes(op, names, sum(it.change != "unchanged" for it in value.entities))
        batch = self.writes.batch_of(op)
        self.degradations.judge_verdicts(op, names)
        if batch is not None:
            self.writes.judge_stored(batch, value.entities)
            self.writes.judge_ended(batch, value)
            self.writes.judge_relations(batch, value)
        else:
            told = "memorized, and nothing is durable"
            is_idle = value.change == "unchanged" and not value.entities
            self.demand(is_idle, rules.ACKNOWLEDGED_IS_DURABLE, told, "unchanged", value)

    def judge_created(
        self, op: ArchiveOperation, request: Memorize, value: Memorized, names: list[str], lost: list[str]
    ) -> None:
        """A new text is read for all that is asked, and what is lacking is pending."""
        if request.modality not in MEDIA or op.answers_of("preprocess"):
            self.judge_units(op, request, list(units_of(op.plan)), value.segment_count)
        is_unsaid = request.modality in MEDIA and self.description(op) is None
        lacking = lost if not is_unsaid else request.memory_types or TYPES
        due = (DESCRIBE,) * is_unsaid + tuple(kind for kind in MEMORY_TYPES if kind in lacking)
        due += (EMBED,) * (EMBED in value.pending)  # whether there is a vector is seen in storage
        self.demand(value.pending == due, rules.REFERENCE_AGREES, "what is pending", due, value.pending)
        is_told = EMBED not in value.pending or SHELF_LOST in names
        told = "a vector is pending, and none is said to be lacking"
        self.demand(is_told, rules.DEGRADATION_NAMED, told, SHELF_LOST, names)

    def judge_limits(self, op: ArchiveOperation, lacks: Sequence[Degraded]) -> None:
        """Demand that a reply names how many facts are beyond the limit of an answer."""
        last = [answers[-1] for answers in units_of(op.plan).values()]
        beyond = [count_beyond(it.text) for it in last if isinstance(it, ModelReplied) and not is_lost(it)]
        due = [Degraded(TOO_MANY, "too_many", sum(beyond))] if any(beyond) else []
        got = [it for it in lacks if it.name == TOO_MANY]
        self.demand(got == due, rules.DEGRADATION_NAMED, "what has no room in a memorize", due, got)

    def judge_repeat(
        self, op: ArchiveOperation, request: Memorize, value: Memorized, units: list[Unit]
    ) -> None:
        """What was read is not read again, and what was never stored is not called unchanged."""
        key, before, given = self.key_of(request), self.begun[op], (request.modality, request.text)
        batch = self.log.batch_of(op)
        own = batch.position if batch is not None else None
        changes = [at for at, _ in self.log.resources.entries.get(key, ()) if op.position < at != own]
        is_alone = self.turns[key] == before.turn and not changes  # one asked for before may land after
        if is_alone and all(it in before.types for it in (EMBED, *(request.memory_types or TYPES))):
            is_idle = value.change == "unchanged" and not units
            told = "a text that had been read was read again"
            self.demand(is_idle, rules.REPEAT_SAME_ROWS, told, "unchanged", (value, units))
        if is_alone and DESCRIBE in before.types:
            asked, told = op.answers_of("preprocess"), "what a payload holds was asked for again"
            self.demand(not asked, rules.REPEAT_SAME_ROWS, told, (), asked)
        if value.change == "unchanged":
            there = [it for it in self.since(key, op) if it is not None and it.given == given]
            told = "called unchanged, and not stored"
            self.demand(there, rules.TEXT_NEVER_LOST, told, [cut(it.given[1], 80) for it in there])
            homes, told = [it.session for it in there], "called unchanged, and told in another session"
            is_at_home = request.session_id is None or request.session_id in homes
            self.demand(is_at_home, rules.DERIVED_FOLLOWS_SOURCE, told, request.session_id, homes)

    def judge_units(self, op: ArchiveOperation, request: Memorize, asked: list[Unit], count: int) -> None:
        """A new text is read in parts that are all of it, each part for each memory type."""
        lines = self.lines(op, request)
        wanted = [kind for kind in MEMORY_TYPES if kind in (request.memory_types or TYPES)]
        texts = parts_of(lines, self.starts(op, request, lines))
        due = [(kind, text) for text in dict.fromkeys(texts) if text.strip() for kind in wanted]
        self.demand(asked == due, rules.TEXT_COVERED, "other parts are read than the text has", due, asked)
        told = "another number of parts is told of than the text has"
        self.demand(count == len(texts), rules.TEXT_COVERED, told, len(texts), count)

    def description(self, op: ArchiveOperation) -> Described | None:
        """What the last answer says that its payload holds."""
        text = op.plan.text("preprocess")
        return read_description(text) if text is not None else None

    def lines(self, op: ArchiveOperation, request: Memorize) -> list[str]:
        if request.modality not in MEDIA:
            return lines_of(request.text, request.modality)
        said = self.description(op)
        return said.text.split("\n") if said else [""]

    def starts(self, op: ArchiveOperation, request: Memorize, lines: list[str]) -> list[int]:
        """Where parts begin: at the first line alone, unless a model was asked."""
        if not is_divided(lines, request.modality, self.context.config.segment_line_count_min):
            return [0]
        text = op.plan.text("segment")
        read = read_starts(text, len(lines)) if text is not None else None
        return list(range(0, len(lines), WINDOW_LINES)) if read is None else read


def described(answer: Answer | None) -> Described | None:
    return read_description(answer.text) if isinstance(answer, ModelReplied) else None


def is_lost(answer: Answer | None) -> bool:
    return not isinstance(answer, ModelReplied) or read_memories(answer.text) is None

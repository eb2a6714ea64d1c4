"""Writes: the reply to a request must report the effect of its batch at its position in the log.

Law 1. A request that is done is durable; one that was refused or failed is not.
Law 2. As long as storage keeps the receipt of a request key, only one batch under the key becomes durable; a
later request with the key reports that batch.
Law 3. The reply is compared with the batch field by field, except fields that the model cannot derive.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import structs

from umi_core.conversations import NORMALISERS, first_sentence
from umi_core.ids import reflection_id, resource_id
from umi_core.kelpie.requests import DeleteArchival
from umi_core.language.dates import name_day
from umi_core.language.descriptions import Description, parse_description
from umi_core.language.segments import Partition, Span, parse_segments, segments_of, windows
from umi_core.language.sentences import divide_line
from umi_core.language.summaries import parse_summary
from umi_core.limits import CAPTION_BYTES_MAX, SEGMENTED_BYTES_MAX, SUMMARY_MEMBER_COUNT_MAX
from umi_core.messages.effects import Commit
from umi_core.messages.requests import (
    CreateEntity,
    EndSession,
    Forget,
    ForgetResource,
    LoadSession,
    Memorize,
    Remember,
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import Memorized, RecordAdded, Remembered, Stored, Summarised
from umi_core.rows import Receipt
from umi_core.text import size
from umi_core.values import BLOCK_KINDS, MEMORY_TYPES
from umi_sim.judge.oracle.api_blocks import REASONED, drop_reasons
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.log import Batch, BatchLog, Claim, read_reflection
from umi_sim.judge.oracle.archive.operations import (
    ArchiveOperation,
    Exchange,
    count_uncovered,
    find_day,
    read_stated,
    read_units,
)
from umi_sim.judge.oracle.archive.states import DESCRIBE, EMBED, MEDIA, ReflectionState
from umi_sim.record import rules
from umi_sim.record.rules import Rule

CHANGES: Final = ("created", "forgot", "ended")
TYPES: Final = ("profile", "event")
FULL_COUNT: Final = 100
WINDOW_LINES: Final = 40  # lines per part if no model has divided the text
FULL_BYTES: Final = 100_000  # the most bytes of a session in a prompt


class Writes(ArchivePart):
    """Judges the replies of writes. `read`: for each text that a reply reports as read, the position of the
    batch, and what was done: memory types, DESCRIBE, EMBED."""

    log: BatchLog
    read: dict[str, tuple[int, tuple[str, ...]]] = {}

    def find_batch(self, op: ArchiveOperation, value: Any) -> Batch | None:
        """Return the batch that a reply reports: its own, or one of an earlier request with the same key."""
        own = self.log.find_own_batch(op)
        holder = self.log.find_key_holder(op, own)
        if getattr(value, "repeated", False):
            is_fair = own is None and holder is not None and holder.op.is_like(op)
            message = f"a reply is repeated, and no earlier request explains its key {op.key}"
            self.demand(is_fair, rules.ONCE_ONLY, message)
            return holder
        message = f"the key {op.key} was done twice; the other batch"
        self.demand(own is None or holder is None, rules.ONCE_ONLY, message, None, holder and holder.applied)
        # A memorize whose text is already stored and read writes nothing, so it has no batch.
        is_idle = getattr(value, "change", "") == "unchanged" and not getattr(value, "entities", ())
        is_needed = isinstance(op.request, Remember | CreateEntity | UpdateEntity | LoadSession)
        is_needed |= isinstance(op.request, Memorize) and not is_idle
        message = f"{type(op.request).__name__} is done, and no batch of it is durable"
        self.demand(own is not None or not is_needed, rules.ACKNOWLEDGED_IS_DURABLE, message)
        if own is not None:
            own.is_reported = True
        return own

    def judge(self, op: ArchiveOperation, value: Any, batch: Batch | None) -> None:
        """Demand that a reply agrees with its batch."""
        match op.request:
            case Remember(evolve=may_evolve) | LoadSession(evolve=may_evolve) if batch is not None:
                rule = rules.ONCE_ONLY if value.repeated else None
                self.judge_stored(batch, value.entities, rule)
                self.compare(value, *self.derive_remembered(batch, value), rule=rule)
                is_right = may_evolve or op.plan.last("evolve") is None
                message = "a model was asked to compare facts, though evolve is off"
                self.demand(is_right, rules.REFERENCE_AGREES, message)
            case CreateEntity() | UpdateEntity() if batch is not None:
                self.judge_stored(batch, (value,))
            case Memorize():
                self.judge_memorize(op, value, batch)
            case Forget() | ForgetResource() | DeleteArchival():
                self.judge_forgotten(op, value, batch)
            case Summarise(category=name):
                states = self.log.categories.since(name, op.position)
                states = states if batch is None else (batch.categories.get(name, states[-1]),)
                # After a useless reply of the model the old
                # summary is kept, and the category stays dirty.
                is_old = op.plan.last("ask") and not isinstance(parse_summary(op.plan.text("ask") or ""), str)
                expected = [Summarised(it.summary, it.sources, it.is_dirty or bool(is_old)) for it in states]
                self.compare(value, *expected)
            case EndSession():
                self.judge_reflected(op, value, batch)

    def judge_receipt(self, commit: Commit) -> None:
        """Demand that a receipt has no reasons by a model, since it may outlive the facts they are about."""
        values = [it.body.value for it in commit.writes if isinstance(it.body, Receipt)]
        facts = [value.facts if isinstance(value, RecordAdded) else value for value in values]
        reasons = [
            it.reason for one in facts for name in REASONED for it in getattr(one, name, ()) if it.reason
        ]
        self.demand(not reasons, rules.DELETE_REACHES_ALL, "reasons of a model in a receipt", (), reasons)

    # Facts.

    def judge_stored(self, batch: Batch, stored: Sequence[Stored], rule: Rule | None = None) -> None:
        """Demand the same ids in the same order, each with its change. `rule`: the one for any difference."""
        got, given, broken = [it.id for it in stored], [it.id for it in batch.stored], rules.REFERENCE_AGREES
        if not got or (isinstance(batch.op.request, Remember) and batch.extraction is None):
            broken = rules.TEXT_NEVER_LOST
        elif batch.extraction is not None and batch.extraction.uncovered_count and got == given[:-1]:
            broken = rules.SENTENCE_NEVER_LOST
        self.demand(given == got, rule or broken, "the ids of the stored facts in a reply", given, got)
        for it in stored if given == got else ():
            applied, claim = batch.applied[it.id], (it.version, it.change)
            broken = rule or self.choose_rule_of_claim(batch, it.id, claim)
            message = f"{it.id} was {it.change} with version {it.version}"
            self.demand(claim == applied, broken, message, applied, claim)

    def choose_rule_of_claim(self, batch: Batch, key: str, claim: Claim) -> Rule:
        """Return the rule that a wrong version or change in a reply breaks."""
        (version, change), applied = claim, batch.applied[key]
        if self.log.is_shared(key) and self.log.by_id[key] is not batch:
            return rules.ALL_OR_NOTHING
        if change in CHANGES and applied[1] == "unchanged":
            entries = self.log.facts.entries.get(key, [])
            is_rival = any(batch.op.position < at < batch.position for at, _ in entries)
            return rules.NO_LOST_UPDATE if is_rival else rules.ONCE_ONLY
        is_more = change == "unchanged" or version > applied[0]
        return rules.ONCE_ONLY if is_more else rules.ACKNOWLEDGED_IS_DURABLE

    def derive_remembered(self, batch: Batch, value: Remembered) -> list[Remembered]:
        """Return the possible replies of a remember; changes of core are taken from the actual reply."""
        for it in value.routing:
            kind = batch.entity(it.entity_id).type if it.entity_id in batch.routing else "self"
            # BLOCK_KINDS[0] is the system block, which only users
            # write. The persona block takes only facts of type self.
            is_open = it.block in BLOCK_KINDS[1:] and (it.block != "persona" or kind == "self")
            message = f"the block that {it.entity_id} of type {kind} is routed to"
            self.demand(is_open, rules.SYSTEM_IS_AUTHORED, message, "another block", it.block)
        # A fact that ends another may replace it in core; the invariants judge which one does.
        may_enter = [it for it in value.routing if it.promote or batch.ended]
        expected = structs.replace(
            value, entities=batch.stored, dropped=batch.extraction.dropped if batch.extraction else (),
            promoted=tuple(it.entity_id for it in may_enter if it.outcome == "promoted"),
            **tell_effects(batch),
        )  # fmt: skip
        outcomes = {it.entity_id: it.outcome for it in value.routing}
        # The outcome depends on core and is judged elsewhere
        # (umi_sim/judge/state/plans.py), so it is copied.
        routings = [[one.routing[key] for key in batch.current] for one in (batch, *batch.twins)]
        routed = [
            [structs.replace(it, outcome=outcomes.get(it.entity_id, "")) for it in one] for one in routings
        ]
        return add_repeated(batch, [structs.replace(expected, routing=tuple(one)) for one in routed], value)

    def judge_forgotten(self, op: ArchiveOperation, value: Any, batch: Batch | None) -> None:
        """Demand that a fact or a source is deleted with all that depends on it alone, and nothing else."""
        request, existed = op.request, getattr(value, "existed", True)
        applied = batch.applied if batch is not None else {}
        if isinstance(request, Forget):
            was_there = batch is not None and applied[request.entity_id][1] == "forgot"
            # Without a batch of its own, a forget may report that the fact did not
            # exist if the fact was missing at any time between request and reply.
            may_lack = any(it.fact is None for it in self.log.states_since(request.entity_id, op))
            rule = rules.DELETED_STAYS_DELETED
        else:
            key = getattr(request, "resource_id", None)
            was_there = key is None or (batch is not None and key in batch.resources)
            may_lack = key is None or None in self.log.resources.since(key, op.position)
            rule = rules.REFERENCE_AGREES
            ids, changes = [it.id for it in value.entities], {"forgot": "forgotten"}
            is_page = ids == sorted(set(ids)) and (existed or not ids)
            self.demand(is_page, rule, "the facts of a deleted source, by id", sorted(set(ids)), ids)
            expected = tuple(
                Stored(key, version, changes.get(how, how)) for key, (version, how) in applied.items()
            )
            message = "the facts of a deleted source"
            self.demand(
                value.entities == expected, rules.DELETE_ONLY_ITS_OWN, message, expected, value.entities
            )
        rule = rule if existed else rules.ACKNOWLEDGED_IS_DURABLE
        is_fair = existed == was_there and (batch is not None or existed or may_lack)
        self.demand(is_fair, rule, "whether the thing to be forgotten existed", was_there, value)

    # Texts.

    def judge_memorize(self, op: ArchiveOperation, value: Memorized, batch: Batch | None) -> None:
        request, units = op.request, read_units(op.plan)
        key = resource_id(self.context.scope, request.uri, request.text)
        wanted, is_media = request.memory_types or TYPES, request.modality in MEDIA
        self.judge_repeat(op, value, key, batch, is_idle=not units)
        if is_media:
            parts = [part for it in self.list_stated(op) for part in list_parts(it.text.split("\n"))]
            others = [text for _, text in units if text not in parts]
            self.demand(not others, rules.TEXT_COVERED, "texts read as parts of a description", parts, others)
        expected = structs.replace(
            value, resource_id=key, relations=(), ended=(), relation_dropped_count=0,
            uncovered_count=count_uncovered(op, self.context.config),
        )  # fmt: skip
        if batch is not None:
            self.judge_stored(batch, value.entities)
            expected = structs.replace(expected, **tell_effects(batch))
        # A text that was stored before is read only for what is still
        # pending, so its parts do not follow from this request.
        if value.change == "created" and not op.is_turned_away:
            described = parse_description(op.plan.text("preprocess") or "") if is_media else None
            is_unsaid = is_media and not isinstance(described, Description)
            text = described.text if isinstance(described, Description) else ""
            lines = (text if is_media else NORMALISERS[request.modality](request.text)).split("\n")
            texts = list_parts(lines, self.find_spans(op, lines))
            if not is_media or op.plan.answers("preprocess"):
                kinds, message = [it for it in MEMORY_TYPES if it in wanted], "parts that are read of a text"
                whole = [(kind, it) for it in dict.fromkeys(texts) if it.strip() for kind in kinds]
                self.demand([*units] == whole, rules.TEXT_COVERED, message, whole, [*units])
                expected = structs.replace(expected, segment_count=len(texts))
            lacking = wanted if is_unsaid else [kind for (kind, _), read in units.items() if read is None]
            pending = (DESCRIBE,) * is_unsaid + tuple(kind for kind in MEMORY_TYPES if kind in lacking)
            # The invariants (umi_sim/judge/invariants) see the batch
            # and judge whether EMBED is pending.
            expected = structs.replace(expected, pending=pending + (EMBED,) * (EMBED in value.pending))
        self.compare(value, *add_repeated(batch, [expected], value))
        if batch is not None:
            types = tuple(kind for kind in (DESCRIBE, EMBED, *wanted) if kind not in value.pending)
            self.read[key] = batch.position, types

    def judge_repeat(
        self, op: ArchiveOperation, value: Memorized, key: str, batch: Batch | None, *, is_idle: bool
    ) -> None:
        """Demand that no text is read twice, and that a text reported as unchanged is stored."""
        request, own = op.request, batch.position if batch is not None else None
        given, before = (request.modality, request.text), self.log.resources.at(key, op.position)
        ats = [at for at, _ in self.log.resources.entries.get(key, ()) if at != own]
        at, types = self.read.get(key, (0, ()))
        # Between request and reply another text may have been stored under this key and read.
        last = self.log.resources.at(key, at)
        is_same = before is not None and last is not None and before.given == last.given == given
        # `ats[-1:] == [at]`: no other batch has stored the text
        # since the reply that reported it as read.
        if is_same and request.session_id in (None, before and before.session) and ats[-1:] == [at]:
            if all(it in types for it in (EMBED, *(request.memory_types or TYPES))):
                is_same_again = is_idle and value.change == "unchanged"
                message = "the reply about a text that was read before"
                self.demand(is_same_again, rules.REPEAT_SAME_ROWS, message, "unchanged", value)
            asked, message = op.plan.answers("preprocess"), "answers about a payload that has a description"
            self.demand(DESCRIBE not in types or not asked, rules.REPEAT_SAME_ROWS, message, (), asked)
        if value.change == "unchanged":
            states = self.log.resources.since(key, op.position)
            homes = [it.session for it in states if it is not None and it.given == given]
            self.demand(homes, rules.TEXT_NEVER_LOST, "a text called unchanged is not stored", given, states)
            message = "the session of a text called unchanged"
            is_right = request.session_id in (None, *homes)
            self.demand(is_right, rules.DERIVED_FOLLOWS_SOURCE, message, request.session_id, homes)

    def list_stated(self, op: ArchiveOperation) -> Iterable[Any]:
        """Return the descriptions that models gave for the payload of a memorize."""
        key = resource_id(self.context.scope, op.request.uri, op.request.text)
        return self.log.said.get((key, (op.request.modality, op.request.text)), ())

    def find_spans(self, op: ArchiveOperation, lines: list[str]) -> tuple[Span, ...]:
        """Return the lines of each part; empty (all lines are one part) unless a model had to divide them."""
        line_count_min = self.context.config.segment_line_count_min
        is_long = op.request.modality == "conversation" and len(lines) >= line_count_min
        if not is_long or size("\n".join(lines)) > SEGMENTED_BYTES_MAX:
            return ()
        text = op.plan.text("segment")
        read = parse_segments(text, len(lines)) if text is not None else None
        return read.spans if isinstance(read, Partition) else windows(len(lines), WINDOW_LINES)

    # Questions.

    def judge_question(self, op: ArchiveOperation, asked: Exchange) -> None:
        """Demand that vectors are requested for texts of rows, and a reflection for texts of its session."""
        known = self.list_texts_due(op, asked.step)
        others = [text for text in asked.texts if known is not None and text not in known]
        self.demand(not others, rules.VECTORS_AS_ANSWERED, f"texts of {asked.step}", known, others)
        if isinstance(op.request, Remember) and asked.step == "extract" and asked.inputs:
            stated, day = read_stated(op, self.context.config), find_day(op, self.context.config)
            expected, got = (stated, name_day(day or 0)), (asked.inputs["text"], asked.inputs["told"])
            self.demand(
                got == expected, rules.PROMPT_INPUTS, "the text with its dates, and the day", expected, got
            )
        if isinstance(op.request, EndSession) and asked.step == "ask":
            every = [self.log.list_session_facts(op.request.session_id, at) for at in self.log.positions(op)]
            texts = [text for each in every for statement in each.values() for text in statement]
            others = [text for text in asked.inputs["texts"] if text not in texts]
            message = "texts for a reflection that are not of its session"
            self.demand(not others, rules.REFLECTION_OF_SESSION, message, texts, others)

    def list_texts_due(self, op: ArchiveOperation, step: str) -> list[str] | None:
        """Return the texts whose vectors a step may request; None if they are not known."""
        request, plan = op.request, op.plan
        if step == "embed_captions":
            expected = [f"{name}: {about}" for name, about in op.listed.items()]
            if isinstance(request, Memorize):
                is_text = request.modality not in MEDIA
                lines = NORMALISERS[request.modality](request.text).split("\n") if is_text else []
                parts = [piece for line in lines for piece in divide_line(line)]
                spoken = [*self.list_stated(op)]
                parts += [part for it in spoken for part in list_parts(it.text.split("\n"))]
                texts = (*(text for _, text in read_units(plan)), *parts)
                expected += [first_sentence(text, CAPTION_BYTES_MAX) for text in texts]
                expected += [it.caption for it in spoken]
            return expected
        if step == "embed_summary" and isinstance(request, Summarise):
            text = parse_summary(plan.text("ask") or "") if plan.last("ask") else None
            about = f"{request.category}: {self.context.abouts[request.category]}"
            return [text if isinstance(text, str) else about]
        if step == "embed_reflection":
            return [read_reflection(plan)[0]] if plan.last("ask") else []
        return None

    def judge_summary(self, op: ArchiveOperation, batch: Batch) -> None:
        """Demand that a new summary is made from all members of its category."""
        if not isinstance(op.request, Summarise) or self.context.surroundings.atlas.losses:
            return
        name, members = op.request.category, self.log.members(op.request.category)
        if name not in batch.categories:  # the batch has only a receipt: another operation made the summary
            return
        expected = tuple(sorted((key, self.log.state(key).version) for key in members))
        if len(expected) <= SUMMARY_MEMBER_COUNT_MAX:
            message, got = f"the sources of the summary of {name}", batch.categories[name].sources
            self.demand(got == expected, rules.DERIVED_FOLLOWS_SOURCE, message, expected, got)

    def judge_compared(self, op: ArchiveOperation, batch: Batch) -> None:
        """Demand that new facts were compared with facts stored earlier about the same entities.

        A batch that becomes durable after its reply is left out, since later operations may not know of it.

        o1  candidates ............. batch: Ann lives in Rome
        o2  candidates ............................ batch: Ann lives in Oslo    o2 has missed the fact of o1
        """
        # A load that was planned again may store facts that it has not claimed (EN4.14).
        is_load = isinstance(op.request, LoadSession) and not op.past
        if not (is_load or isinstance(op.request, Remember | Memorize)):
            return
        about = {key: it.name for it in map(batch.entity, batch.created) for key in it.about}
        searched = [it.position for it in batch.plan.tried("candidates") if it.answer is not None]
        for key, name in about.items() if searched else ():
            at, other = self.log.stored_at.get(key, (0, op))
            ids = op.asked.op_id, other.asked.op_id
            message = (
                f"the position at which {ids[0]} searched for facts about {name}, after {ids[1]} stored one"
            )
            is_right = other is op or at <= min(searched)
            self.demand(is_right, rules.COMPARED, message, f"{at} or later", min(searched))
        if op.ended is None:
            self.log.stored_at |= dict.fromkeys(about, (self.log.position, op))

    # Reflections.

    def judge_reflected(self, op: ArchiveOperation, value: Any, batch: Batch | None) -> None:
        session, named = op.request.session_id, [key for key, _ in value.sources]
        own, message = reflection_id(self.context.scope, session), f"the reflection of {session}"
        states = self.log.reflections.since(session, op.position)
        if batch is not None and session in batch.reflections:
            states = (batch.reflections[session],)
        # Without a reflection the id is empty; otherwise it is derived from the session.
        blank, known = ReflectionState("", ()), value.reflection_id and own
        shown = [
            structs.replace(value, reflection_id=known, text=it.text, is_degraded=it.is_degraded)
            for it in (it or blank for it in states)
        ]
        if not op.is_turned_away:
            self.compare(value, *shown)
        every = [self.log.list_session_facts(session, at) for at in self.log.positions(op)]
        may_be = {key: texts for each in every for key, texts in each.items()}
        others, rule = [key for key in named if key not in may_be], rules.REFLECTION_OF_SESSION
        self.demand(not others, rule, f"{message} has sources that are not of it", [*may_be], others)
        sizes = [max(map(size, texts), default=0) for texts in may_be.values()]
        # For a longer session the prompt has its last texts; which ones is not judged.
        is_full = sum(sizes) > FULL_BYTES or len(sizes) > FULL_COUNT
        sure = [key for key, texts in may_be.items() if texts and all(key in it for it in every)]
        left_out = [key for key in sure if key not in named and not self.log.is_payload(key)]
        self.demand(is_full or not left_out, rule, f"{message} leaves out texts of it", left_out, named)
        is_asked = op.plan.last("ask") is not None and not op.is_turned_away
        is_right = not is_asked or not self.is_made(op)
        self.demand(
            is_right, rules.REPEAT_SAME_ROWS, f"{message} was complete, and a model was asked", "", value
        )

    def is_made(self, op: ArchiveOperation) -> bool:
        """Return True if a reflection of all texts of the session was stored when this was requested."""
        session, entries = op.request.session_id, self.log.reflections.entries
        made = [it for it in entries.get(op.request.session_id, ()) if it[0] <= op.position]
        made_at, it = made[-1] if made else (0, None)
        if it is None or it.is_degraded or not it.sources:
            return False
        texts = [(at, key, text) for key, every in self.log.resources.entries.items() for at, text in every]
        # A text may be stored between the moment when a reflection reads its texts and the moment when it is
        # stored: "a" of position 4 is read, "b" is stored at 5, and at 6 the reflection of "a" alone.
        read_at = max((at for at, key, _ in texts if key in it.sources and at <= made_at), default=0)
        # A change of a source counts, also its deletion (then
        # `text` is None), and so does a new text of the session.
        later = [
            (key, text)
            for at, key, text in texts
            if at > made_at or (at > read_at and key not in it.sources and not self.log.is_payload(key))
        ]
        return not any(key in it.sources or (text and text.session == session) for key, text in later)


def list_parts(lines: list[str], spans: tuple[Span, ...] = ()) -> list[str]:
    """Return the texts of these parts, or of all lines as one part; too long ones are divided further."""
    return [it.text for it in segments_of(lines, spans or ((0, len(lines) - 1),))]


def tell_effects(batch: Batch) -> dict[str, Any]:
    """Return the fields of a reply that report the effects of a text on known facts."""
    return {
        "relations": tuple(batch.relations), "relation_dropped_count": batch.dropped_count,
        "ended": batch.ended,
    }  # fmt: skip


def add_repeated(batch: Batch | None, expected: list[Any], value: Any) -> list[Any]:
    """Return these replies, and the same without reasons if the reply may come from a receipt."""
    if batch is None or not (getattr(value, "repeated", False) or len(batch.op.plans) > 1):
        return expected
    return expected + [drop_reasons(it) for it in expected]

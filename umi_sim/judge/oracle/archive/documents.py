"""Documents: what a memorize says that it did, and what lists show of resources, categories and memberships.

Law 1. What was asked about is the text, all of it, in the parts that an answer gives; and nothing twice.
Law 2. A unit counts by the last answer to its question; if that is of no use it is missing, and said to be.
So does what an image, an audio or a video holds: what a model said of it is its text, and asked for once.
Law 3. A text that was read for all that is asked is not read again. Law 4. Of an operation that took so long
that an answer may have come too late, nobody knows which facts it stored: nothing is demanded of their ids.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from umi_core.data import Owner
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.effects import Asked, AskModel, Degraded, Embed
from umi_core.messages.requests import ForgetResource, Memorize
from umi_core.messages.results import Memorized, ResourceForgotten
from umi_core.values import CATEGORIES, MEMORY_TYPES
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.evidence import Degradations, Evidence
from umi_sim.judge.oracle.archive.possible import Claim, Operation, Track, id_of
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.oracle.archive.writes import Writes
from umi_sim.judge.oracle.core_model import Register
from umi_sim.judge.plain.extraction import (
    ENTITY_TYPE,
    HOME,
    UNSAID_PPM,
    Mention,
    Told,
    count_beyond,
    is_pronoun,
    merged,
    name_of_note,
    read_memories,
)
from umi_sim.judge.plain.hierarchy import (
    DESCRIBE,
    EMBED,
    MEDIA,
    WINDOW_LINES,
    Described,
    caption,
    is_divided,
    lines_of,
    parts_of,
    pieces,
    read_description,
    read_starts,
)
from umi_sim.judge.plain.rows import resource_id
from umi_sim.judge.plain.text import asked_about, folded
from umi_sim.record import rules

MISSING: Final = "extract:unit_missing"
TOO_MANY: Final = "extract:partial"
SHELF_LOST: Final = "embed_shelf:no_vectors"
LINKS_MAX: Final = 3
TYPES: Final = ("profile", "event")

Unit = tuple[str, str]  # a memory type, and the text that is read for it


@attrs.define
class Hearing(Owner):
    """What one memorize was answered. `is_vague`: too late to tell which answers it could use.

    `is_known`: its text had been read already when it began; `is_described`: a model had said already what it
    holds; `turn`: how many memorizes of this resource had
    begun by then.
    """

    units: dict[Unit, list[Answer]] = attrs.field(factory=dict)
    is_vague: bool = False
    is_known: bool = False
    is_described: bool = False
    turn: int = 0


@attrs.define
class Resource(Owner):
    """What a resource may hold: modality and text; and the session that it was told in. `types`: for which it
    surely was read, as it is now.

    `past`: what it may have held until then. `is_told`: somebody has memorized it.
    `said`: what models have said that each of them holds.
    """

    texts: Register = attrs.field(factory=lambda: Register([(None, 0)]))
    homes: Register = attrs.field(factory=lambda: Register([(None, 0)]))
    past: list[tuple[Register, object, int]] = attrs.field(factory=list)
    types: tuple[str, ...] = ()
    turn: int = 0
    is_told: bool = False
    said: dict[object, dict[Described, None]] = attrs.field(factory=dict)

    def since(self, began: int) -> list[object]:
        """What somebody may show who has looked at any time since then."""
        return self.shown(self.texts, began)

    def homes_since(self, began: int) -> list[object]:
        return self.shown(self.homes, began)

    def shown(self, register: Register, began: int) -> list[object]:
        past = (value for of, value, until in self.past if of is register and until > began)
        return [*register.values(), *past]

    def opened(self, label: str) -> list[Register]:
        return [it for it in (self.texts, self.homes) if label in it.open]

    def doubt(self, label: str, tick: int) -> None:
        """It may have been stored, and may be yet."""
        for register in self.opened(label):
            register.open[f"~{label}"] = (register.open.pop(label)[0], tick)
        self.types = ()

    def drop(self, label: str) -> None:
        for register in self.opened(label):
            del register.open[label]

    def store(self, label: str, tick: int, oldest: int) -> None:
        """It is stored; what was there before, somebody may have read who began at `oldest`."""
        for register in self.opened(label):
            before = [(register, known, tick) for known, _ in register.settled]
            self.past = [each for each in (*self.past, *before) if each[2] > oldest]
            register.acknowledge(label, tick)

    def said_of(self, value: object) -> list[str]:
        return [it.text for it in self.said.get(value, ())]


@attrs.define
class Documents(Part):
    """Judges memorizes. `heard`: by operation; `resources`: by id."""

    evidence: Evidence
    degradations: Degradations
    tracks: Tracks
    writes: Writes
    heard: dict[Operation, Hearing] = attrs.field(factory=dict)
    resources: dict[str, Resource] = attrs.field(factory=dict)

    def key_of(self, request: Memorize) -> str:
        return resource_id(self.context.scope, request.uri, request.text)

    def known_ids(self) -> tuple[str, ...]:
        """Every text that was ever stored, or may have been."""
        return tuple(key for key, it in self.resources.items() if it.is_told)

    # Hearing.

    def begin(self, op: Operation) -> None:
        """It may make its text what the resource holds."""
        request = op.request
        if op.error is None and isinstance(request, ForgetResource):
            self.begin_to_forget(op, request)
        if op.error is not None or not isinstance(request, Memorize):
            return
        it = self.resources.setdefault(self.key_of(request), Resource())
        value = (request.modality, request.text)
        is_sure = not it.texts.open and [known for known, _ in it.texts.settled] == [value]
        is_known = is_sure and all(kind in it.types for kind in (EMBED, *(request.memory_types or TYPES)))
        home = request.session_id
        is_known &= home is None or (not it.homes.open and [at for at, _ in it.homes.settled] == [home])
        it.turn += 1
        it.is_told = True
        is_described = is_sure and DESCRIBE in it.types
        self.heard[op] = Hearing(is_known=is_known, is_described=is_described, turn=it.turn)
        if not op.is_unasked:
            it.texts.open[str(op.began)] = (value, op.began)
        if home is not None:
            it.homes.open[str(op.began)] = (home, op.began)

    def begin_to_forget(self, op: Operation, request: ForgetResource) -> None:
        """It may make that there is nothing here; who reads the text again has not read it before."""
        it = self.resources.setdefault(request.resource_id, Resource())
        it.turn += 1
        for register in (it.texts, it.homes):
            register.open[str(op.began)] = (None, op.began)

    def answered(self, op: Operation, step: str, effect: Asked, answer: Answer) -> None:
        heard = self.heard[op]
        if step == "extract" and isinstance(effect, AskModel):
            asked = asked_about(effect.prompt)
            heard.units.setdefault((str(asked["memory_type"]), str(asked["text"])), []).append(answer)
        if step == "preprocess" and (found := described(answer)) is not None:
            self.said(op).setdefault(found)
        if step == "embed_shelf" and isinstance(effect, Embed):
            self.judge_embedded(op, heard, effect)
        heard.is_vague = heard.is_vague or self.evidence.is_late(op)
        if heard.is_vague:
            self.let_go(op)
        elif step == "lookup" and not op.mentions:
            self.tracks.offer(op, self.mentions(op))

    def said(self, op: Operation) -> dict[Described, None]:
        """What models have said of its payload."""
        request = op.request
        assert isinstance(request, Memorize)
        it = self.resources.setdefault(self.key_of(request), Resource())
        return it.said.setdefault((request.modality, request.text), {})

    def parts_said(self, op: Operation) -> list[str]:
        """What may be read of it."""
        return [part for it in self.said(op) for part in parts_of(it.text.split("\n"), [0])]

    def judge_parts(self, op: Operation, heard: Hearing) -> None:
        """Nothing else is read of a payload than what a model said that it holds."""
        parts = self.parts_said(op)
        others = [text for _, text in heard.units if text not in parts]
        self.demand(not others, rules.TEXT_COVERED, "read as what a payload holds", parts, others)

    def judge_embedded(self, op: Operation, heard: Hearing, effect: Embed) -> None:
        """The levels of the archive are found by first sentences, and by what a category is about."""
        assert isinstance(op.request, Memorize)
        lines = lines_of(op.request.text, op.request.modality) if op.request.modality not in MEDIA else []
        parts = [piece for line in lines for piece in pieces(line)]
        due = {caption(text): None for text in (*(text for _, text in heard.units), *parts)}
        due |= {it.caption: None for it in self.said(op)}
        due |= {caption(part): None for part in self.parts_said(op)}
        due |= {f"{name}: {about}": None for name, about in CATEGORIES.items()}
        others = [text for text in effect.texts if text not in due]
        self.demand(not others, rules.VECTORS_AS_ANSWERED, "a level is found by another text", "", others)

    def let_go(self, op: Operation) -> None:
        """Whatever any answer told may be stored, or not, in any combination."""
        told = [*self.told(op, is_last=False)]
        keys = {id_of(it, self.context.scope): it for it in (*told, *merged(told))}
        self.tracks.called |= {key: it for key, it in keys.items() if key not in self.tracks.called}
        self.tracks.release_ids((*keys, *op.mentions))
        self.tracks.known |= dict.fromkeys(keys)

    def told(self, op: Operation, is_last: bool) -> Iterator[Mention]:
        """What the answers tell, the last one to each question or all."""
        for (kind, _), answers in self.heard[op].units.items():
            for answer in answers[-1:] if is_last else answers:
                read = read_memories(answer.text) if isinstance(answer, ModelReplied) else None
                yield from (mention_of(it, kind) for it in read or ())

    def mentions(self, op: Operation) -> Mapping[str, Mention]:
        """What it will store, by id, in the order in which it was told."""
        told = merged([*self.told(op, is_last=True)])
        return {id_of(it, self.context.scope): it for it in told}

    # How it ended.

    def ended(self, op: Operation, value: object, is_unsure: bool) -> None:
        """`value`: what it says that it did; None if it did nothing, or nobody knows."""
        request = op.request
        if op.error is None and isinstance(request, ForgetResource):
            self.forgotten(op, request, value, is_unsure)
        if op not in self.heard or not isinstance(request, Memorize):
            return
        del self.heard[op]
        it, label = self.resources[self.key_of(request)], str(op.began)
        if is_unsure:
            it.doubt(label, self.context.tick)
        elif not isinstance(value, Memorized) or (value.change == "unchanged" and not op.is_replanned):
            it.drop(label)
        else:
            it.store(label, self.context.tick, self.oldest(op))
            wanted = (DESCRIBE, EMBED, *(request.memory_types or TYPES))
            it.types = tuple(kind for kind in wanted if kind not in value.pending)

    def oldest(self, op: Operation) -> int:
        """When the oldest request began that may still show what was there."""
        return min((each.began for each in self.tracks.flying.values()), default=op.began)

    def forgotten(self, op: Operation, request: ForgetResource, value: object, is_unsure: bool) -> None:
        """An earlier plan may have forgotten what a later one does not find, once its key is unknown."""
        it, label = self.resources[request.resource_id], str(op.began)
        if isinstance(value, ResourceForgotten) and value.existed and not is_unsure:
            it.store(label, self.context.tick, self.oldest(op))
            it.types = ()
        elif is_unsure or (value is not None and op.is_replanned):
            it.doubt(label, self.context.tick)
        else:
            it.drop(label)

    def judge_forgotten(self, op: Operation, request: ForgetResource, value: ResourceForgotten) -> None:
        """What it calls absent may be so, and what it says that it has forgotten may have been there."""
        label = str(op.began)
        there = self.resources[request.resource_id].texts.values("" if op.is_replanned else label)
        is_fair = any(there) if value.existed else None in there
        rule = rules.REFERENCE_AGREES if value.existed else rules.ACKNOWLEDGED_IS_DURABLE
        given = [str(each)[:80] for each in there]
        told = "was there" if value.existed else "was not there"
        self.demand(is_fair, rule, f"{request.resource_id} {told}, says who forgot it", given, value)

    def judge_memorize(self, op: Operation, value: Memorized, names: list[str]) -> None:
        request, heard = op.request, self.heard[op]
        assert isinstance(request, Memorize)
        key = self.key_of(request)
        self.demand(value.resource_id == key, rules.REFERENCE_AGREES, "another resource", key, value)
        self.judge_repeat(op, request, value, heard)
        if heard.is_vague:
            self.tracks.known |= {stored.id: None for stored in value.entities}
            for stored in value.entities:
                self.tracks.release(self.tracks.tracks.setdefault(stored.id, Track(stored.id)))
            return
        lost = [kind for (kind, _), answers in heard.units.items() if is_lost(answers[-1])]
        is_exact = self.evidence.is_exact(op)
        if is_exact:
            self.demand((MISSING in names) >= bool(lost), rules.DEGRADATION_NAMED, MISSING, lost, names)
        if request.modality in MEDIA:
            self.judge_parts(op, heard)
        if value.change == "created" and not op.is_turned_away:
            if request.modality not in MEDIA or op.answers_of("preprocess"):
                self.judge_units(op, request, list(heard.units), value.segment_count)
            is_unsaid = request.modality in MEDIA and self.description(op) is None
            lacking = lost if not is_unsaid else request.memory_types or TYPES
            due = (DESCRIBE,) * is_unsaid + tuple(kind for kind in MEMORY_TYPES if kind in lacking)
            due += (EMBED,) * (EMBED in value.pending)  # whether there is a vector is seen in storage
            self.demand(value.pending == due, rules.REFERENCE_AGREES, "what is pending", due, value.pending)
            is_told = EMBED not in value.pending or SHELF_LOST in names
            told = "a vector is pending, and none is said to be lacking"
            self.demand(is_told, rules.DEGRADATION_NAMED, told, SHELF_LOST, names)
        self.degradations.judge_causes(op, names, sum(it.change != "unchanged" for it in value.entities))
        claims: dict[str, Claim] = {it.id: (it.version, it.change) for it in value.entities}
        given, got = list(op.mentions), list(claims)
        self.demand(given == got, rules.REFERENCE_AGREES, "other ids than the answers give", given, got)
        self.tracks.hold(op, claims if given == got else {})
        changed = [it for it in value.entities if it.change != "unchanged"]
        self.writes.fill(op, changed, (), "embed:no_vectors" not in names)

    def judge_limits(self, op: Operation, lacks: Sequence[Degraded]) -> None:
        """Demand that a reply names how many facts are beyond the limit of an answer."""
        heard = self.heard[op]
        if heard.is_vague or not self.evidence.is_exact(op):
            return
        last = [answers[-1] for answers in heard.units.values()]
        beyond = [count_beyond(it.text) for it in last if isinstance(it, ModelReplied) and not is_lost(it)]
        due = [Degraded(TOO_MANY, "too_many", sum(beyond))] if any(beyond) else []
        got = [it for it in lacks if it.name == TOO_MANY]
        self.demand(got == due, rules.DEGRADATION_NAMED, "what has no room in a memorize", due, got)

    def judge_repeat(self, op: Operation, request: Memorize, value: Memorized, heard: Hearing) -> None:
        """What was read is not read again, and what was never stored is not called unchanged."""
        it = self.resources[self.key_of(request)]
        if heard.is_known and it.turn == heard.turn:
            is_idle = value.change == "unchanged" and not heard.units
            told = "a text that had been read was read again"
            self.demand(is_idle, rules.REPEAT_SAME_ROWS, told, "unchanged", (value, list(heard.units)))
        if heard.is_described and it.turn == heard.turn:
            asked, told = op.answers_of("preprocess"), "what a payload holds was asked for again"
            self.demand(not asked, rules.REPEAT_SAME_ROWS, told, (), asked)
        if value.change == "unchanged":
            there = it.texts.values(
                but="" if op.is_replanned else str(op.began)
            )  # an earlier plan of its own
            is_there, message = (request.modality, request.text) in there, "called unchanged, and not stored"
            self.demand(is_there, rules.TEXT_NEVER_LOST, message, [str(each)[:80] for each in there])
            homes = it.homes.values(but="" if op.is_replanned else str(op.began))
            told = "called unchanged, and told in another session"
            is_at_home = request.session_id is None or request.session_id in homes
            self.demand(is_at_home, rules.DERIVED_FOLLOWS_SOURCE, told, request.session_id, homes)

    def judge_units(self, op: Operation, request: Memorize, asked: list[Unit], count: int) -> None:
        """A new text is read in parts that are all of it, each part for each memory type."""
        lines = self.lines(op, request)
        wanted = [kind for kind in MEMORY_TYPES if kind in (request.memory_types or TYPES)]
        texts = parts_of(lines, self.starts(op, request, lines))
        due = [(kind, text) for text in dict.fromkeys(texts) if text.strip() for kind in wanted]
        self.demand(asked == due, rules.TEXT_COVERED, "other parts are read than the text has", due, asked)
        told = "another number of parts is told of than the text has"
        self.demand(count == len(texts), rules.TEXT_COVERED, told, len(texts), count)

    def description(self, op: Operation) -> Described | None:
        """What the last answer says that its payload holds."""
        answers = op.answers_of("preprocess")
        return described(answers[-1]) if answers else None

    def lines(self, op: Operation, request: Memorize) -> list[str]:
        if request.modality not in MEDIA:
            return lines_of(request.text, request.modality)
        said = self.description(op)
        return said.text.split("\n") if said else [""]

    def starts(self, op: Operation, request: Memorize, lines: list[str]) -> list[int]:
        """Where parts begin: at the first line alone, unless a model was asked."""
        if not is_divided(lines, request.modality, self.context.config.segment_line_count_min):
            return [0]
        answers = op.answers_of("segment")
        last = answers[-1] if answers else None
        read = read_starts(last.text, len(lines)) if isinstance(last, ModelReplied) else None
        return list(range(0, len(lines), WINDOW_LINES)) if read is None else read


def described(answer: Answer) -> Described | None:
    return read_description(answer.text) if isinstance(answer, ModelReplied) else None


def is_lost(answer: Answer) -> bool:
    return not isinstance(answer, ModelReplied) or read_memories(answer.text) is None


# What a memory comes to.


def mention_of(told: Told, kind: str) -> Mention:
    is_named = told.name != "" and not is_pronoun(told.name)
    name = told.name if is_named else name_of_note(told.content)
    known = {folded(name): name for name in CATEGORIES}
    listed = [known[key] for key in map(folded, told.categories) if key in known]
    categories = tuple(dict.fromkeys(listed))[:LINKS_MAX] or (HOME[kind],)
    return Mention(name, ENTITY_TYPE[kind], told.content, UNSAID_PPM, is_named, kind, categories)

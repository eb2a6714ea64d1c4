"""Relations: what a remember says that its statements do to others, and what a read shows of it.

Law 1. Every relation was stated as a verdict on a pair of statements; and what was stated is told, or counted
as dropped. Law 2. A fact ends by a verdict that names it, and only so.
Law 3. An acknowledged contradiction is shown at both ends.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from umi_core.invariants import limits
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.requests import Forget, Remember
from umi_core.messages.results import Remembered
from umi_core.rows import Relation
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.evidence import ANY, Evidence
from umi_sim.judge.oracle.archive.possible import Operation, PossibleEnding, PossibleEndings
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.plain.replies import NEEDS_RESOLUTION_MIN_PPM, Verdict, read_verdicts
from umi_sim.judge.plain.rows import End, relation_id
from umi_sim.record import rules

Stated = tuple[End, End, str, Verdict]  # source, target, kind, and what was said of it
ENDING_KINDS: Final = ("update", "contradict")


@attrs.define
class Relations(Part):
    """Judges relations.

    `forgotten`: ids that anybody ever wanted to forget. `denied`: by reference, what a model said that it
    contradicts; `acknowledged_denials`: what of it a reply told, and when. `stated_count`: how many relations
    there may be.
    """

    evidence: Evidence
    tracks: Tracks
    forgotten: dict[str, None] = attrs.field(factory=dict)
    denied: dict[str, dict[str, None]] = attrs.field(factory=dict)
    acknowledged_denials: dict[str, dict[str, int]] = attrs.field(factory=dict)
    stated_count: int = 0

    def wiped(self) -> None:
        self.acknowledged_denials.clear()

    # Hearing.

    def hear_forget(self, request: Forget) -> None:
        self.forgotten[request.entity_id] = None

    def hear_verdicts(self, answer: Answer) -> None:
        read = read_verdicts(answer.text, ANY, 0) if isinstance(answer, ModelReplied) else None
        if read is None:
            return
        self.stated_count += len(read.by_pair)
        for (new, old), verdict in read.by_pair:
            if verdict.kind == "contradict":
                self.denied.setdefault(new, {})[old] = None
                self.denied.setdefault(old, {})[new] = None

    def verdicts(self, op: Operation) -> list[Stated]:
        """What the model said about pairs of statements, all replies together, sure enough to count."""
        floor_ppm = self.context.config.evolve_confidence_min_ppm
        replies = [it.text for it in op.answers_of("evolve") if isinstance(it, ModelReplied)]
        read = [read_verdicts(text, ANY, floor_ppm) for text in replies]
        pairs = [pair for it in read if it is not None for pair in it.by_pair]
        return [(end_of(old), end_of(new), verdict.kind, verdict) for (new, old), verdict in pairs]

    def unsaid_count(self, op: Operation, relations: Iterable[Relation]) -> int:
        """Return how many of them, between statements, no model has told this operation."""
        stated = self.verdicts(op)
        return sum(stated_by(it) not in stated for it in relations)

    def endings(self, op: Operation) -> dict[str, PossibleEndings]:
        """Return by id the facts that a verdict may end; it is sure if one answer says so, in time."""
        answers, floor_ppm = op.answers_of("evolve"), self.context.config.evolve_confidence_min_ppm
        read = [read_verdicts(it.text, op.pairs, floor_ppm) for it in answers if isinstance(it, ModelReplied)]
        is_sure = len(answers) == len(read) == 1
        options: dict[str, dict[PossibleEnding, None]] = {}
        for one in (it for it in read if it is not None):
            first: dict[
                str, PossibleEnding
            ] = {}  # of several verdicts of one answer on a fact the first counts
            for (new, old), verdict in one.by_pair:
                if verdict.kind in ENDING_KINDS:
                    key, version = end_of(old)
                    first.setdefault(key, PossibleEnding(end_of(new)[0], verdict.kind, version))
            for key, ending in first.items():
                options.setdefault(key, {})[ending] = None
        return {key: PossibleEndings(tuple(each), is_sure) for key, each in options.items()}

    # What a remember tells.

    def judge_relations(self, op: Operation, value: Remembered, names: list[str], is_own: bool) -> None:
        """`is_own`: no other attempt may have done it unheard."""
        relations = value.relations
        for relation in relations:
            self.judge_row(relation)
        self.judge_ended(op, value)
        pool = self.tracks.alike(op)
        stated = [it for one in pool for it in self.verdicts(one)]
        unsaid = [it for it in relations if stated_by(it) not in stated]
        self.demand(not unsaid, rules.RELATION_ENDS, "a relation that nobody stated", stated, unsaid)
        self.judge_ends(value)
        is_sure = [
            it.kind == "contradict" and it.confidence_ppm >= NEEDS_RESOLUTION_MIN_PPM for it in relations
        ]
        needed, got = any(is_sure), value.needs_resolution
        self.demand(
            got == needed, rules.REFERENCE_AGREES, "whether a contradiction needs an answer", needed, got
        )
        count = value.relation_dropped_count
        has_room = self.stated_count < limits.RELATION_COUNT_MAX
        self.demand(count == 0 or not has_room, rules.RELATION_ENDS, "dropped, and there was room", 0, count)
        if is_own:
            self.judge_asked(op)
            self.judge_complete(op, value, names)
        for relation in relations if not value.repeated else ():
            self.acknowledge(relation)

    def judge_row(self, relation: Relation) -> None:
        """Its id is that of its ends and its kind."""
        wanted = relation_id(self.context.scope, relation.source, relation.target, relation.kind)
        self.demand(
            relation.id == wanted, rules.RELATION_ENDS, "a relation under another id", wanted, relation.id
        )

    def judge_ended(self, op: Operation, value: Remembered) -> None:
        """Demand that a verdict, to this request or to an equal one, named each fact that has ended."""
        named = {key: None for one in self.tracks.alike(op) for key in self.endings(one)}
        strange = [key for key in value.ended if key not in named]
        self.demand(not strange, rules.ENDED_AS_NAMED, "no verdict ends these facts", list(named), strange)

    def judge_asked(self, op: Operation) -> None:
        """No model is asked how facts stand to others if that is off."""
        assert isinstance(op.request, Remember)
        answers = op.answers_of("evolve")
        is_fair = op.request.evolve or not answers
        self.demand(is_fair, rules.REFERENCE_AGREES, "a model was asked to evolve", (), answers)

    def judge_ends(self, value: Remembered) -> None:
        """Demand that each relation leads from another fact to a new one."""
        told = {it.id: it for it in value.entities}
        for relation in value.relations:
            (source, _), (target, version) = relation.source, relation.target
            is_new = target in told and told[target].change != "unchanged"
            is_fair = is_new and told[target].version == version and source not in told
            self.demand(
                is_fair, rules.RELATION_ENDS, "of statements that nobody asked about", list(told), relation
            )

    def judge_complete(self, op: Operation, value: Remembered, names: list[str]) -> None:
        """Demand that verdicts are told or dropped, if no row of the reply was refused."""
        told, due = [stated_by(it) for it in value.relations], list[Stated]()
        if self.evidence.is_exact(op) and not any(name.startswith("evolve:") for name in names):
            due = [it for it in self.verdicts(op) if it[0][0] != it[1][0] and self.is_current(it[0])]
        lacking = [it for it in due if it not in told]
        count = value.relation_dropped_count
        self.demand(
            len(lacking) <= count, rules.RELATION_ENDS, f"not told, and {count} dropped", due, lacking
        )

    def is_current(self, end: End) -> bool:
        """Return whether an older statement must still be there in this version, current or ended."""
        states = self.tracks.states_of(self.tracks.track(end[0]))
        return bool(states) and all(state.fact and state.version == end[1] for state in states)

    def acknowledge(self, relation: Relation) -> None:
        source, target = (f"{key}@{version}" for key, version in (relation.source, relation.target))
        if relation.kind == "contradict":
            self.acknowledged_denials.setdefault(source, {}).setdefault(target, self.context.tick)
            self.acknowledged_denials.setdefault(target, {}).setdefault(source, self.context.tick)

    # What a read shows.

    def judge_contradicts(self, op: Operation, key: str, version: int, got: tuple[str, ...]) -> None:
        """Of a row that a read shows: what it contradicts was said, and what was acknowledged is there."""
        said = [other for n in range(version + 1) for other in self.denied.get(f"{key}@{n}", ())]
        unsaid = [other for other in got if other not in said]
        self.demand(not unsaid, rules.RELATION_ENDS, f"{key} contradicts what no model said", said, unsaid)
        self.demand(
            len(got) == len(dict.fromkeys(got)), rules.RELATION_ENDS, f"{key} contradicts twice", "", got
        )
        known = self.acknowledged_denials.get(f"{key}@{version}", {})
        due = [other for other, tick in known.items() if tick < op.began]
        due = [other for other in due if not {key, end_of(other)[0]} & self.forgotten.keys()]
        lacking = [other for other in due if other not in got]
        is_full = len(got) == limits.RELATION_COUNT_MAX
        rule = rules.ACKNOWLEDGED_IS_DURABLE
        self.demand(is_full or not lacking, rule, f"{key} does not show what it contradicts", due, got)


def stated_by(relation: Relation) -> Stated:
    return relation.source, relation.target, relation.kind, said(relation)


def said(relation: Relation) -> Verdict:
    return Verdict(relation.kind, relation.confidence_ppm, relation.reason, relation.by)


def end_of(ref: str) -> End:
    """`id@version`, or whatever a model said in its place."""
    key, _, number = ref.rpartition("@")
    return key, int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else -1

"""Tracks: the possible states of every id, widened by what nobody knows, narrowed by what replies show.

Law 1. A write without a certain answer may take effect at any later instant, until its life ends or a row
that it planned on has changed; on all of its ids or none: what one id shows of it holds for all.
Law 2. An id that has over STATE_COUNT_MAX possible states is given up: it is counted, and nothing is demanded
of it any more.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from umi_core.invariants.limits import EXTRACT_CONTENT_BYTES_MAX
from umi_core.kelpie.requests import DeleteArchival, RecentEntities, SearchArchival
from umi_core.messages.requests import (
    Count,
    Descent,
    ForgetResource,
    GetEntity,
    List,
    Recall,
    Remember,
    Summarise,
    UpdateEntity,
)
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.evidence import Evidence
from umi_sim.judge.oracle.archive.possible import (
    CHANGES,
    Claim,
    Intent,
    Operation,
    PossibleEndings,
    PossibleState,
    Track,
    after,
    after_ending,
    agrees,
    doers_of,
    may_follow,
    rule_of,
    with_deed,
    without,
)
from umi_sim.judge.oracle.archive.revisions import after_move, after_update, as_source
from umi_sim.judge.plain.extraction import Mention
from umi_sim.judge.plain.text import byte_count
from umi_sim.record import rules
from umi_sim.record.rules import Rule

STATE_COUNT_MAX: Final = 128
READS: Final = (
    Recall, GetEntity, Count, List, RecentEntities, SearchArchival, Summarise, Descent, UpdateEntity,
)  # fmt: skip


@attrs.define
class Tracks(Part):
    """Every id that was ever stored, or may have been, and the operations that are about them.

    `known`: ids that are stored, or may be. `flying`: operations in flight, by op_id. `by_key`: operations by
    request key, or by their number. `called`: what was first told of an id, by which it is known whether
    it has a name. `looked_at`: ids whose states are being found. `undecided` and `released` count ids of
    which nothing more is demanded.
    """

    evidence: Evidence
    tracks: dict[str, Track] = attrs.field(factory=dict)
    known: dict[str, None] = attrs.field(factory=dict)
    flying: dict[str, Operation] = attrs.field(factory=dict)
    by_key: dict[str | int, list[Operation]] = attrs.field(factory=dict)
    called: dict[str, Mention] = attrs.field(factory=dict)
    looked_at: dict[str, None] = attrs.field(factory=dict)
    undecided: int = 0
    released: int = 0

    # Looking.

    def track(self, key: str) -> Track:
        return self.tracks.get(key) or Track(key)

    def tracks_of(self, op: Operation) -> list[Track]:
        return [self.tracks[key] for key in op.mentions if key in self.tracks]

    def alike(self, op: Operation) -> list[Operation]:
        """Operations with the same request key and the same request: one may have been done for all."""
        return [it for it in self.by_key.get(op.key, [op]) if it.is_like(op)] or [op]

    def states_of(self, track: Track) -> tuple[PossibleState, ...]:
        """Every state that this id may be in right now; none if it was given up."""
        if not track.open or track.id in self.looked_at:
            return track.base
        self.looked_at[track.id] = None
        try:
            return self.found_states(track)
        finally:
            del self.looked_at[track.id]

    def found_states(self, track: Track) -> tuple[PossibleState, ...]:
        found = dict.fromkeys(track.base)
        todo = list(found)
        for state in todo:  # it grows
            doers = [op for op in track.open if may_follow(op, state)]
            later = [it for op in doers for it in self.states_after(op, state, track.id)]
            todo += [it for it in later if it not in found]
            found |= dict.fromkeys(later)
            if len(found) > STATE_COUNT_MAX:
                self.give_up(track)
                return ()
        return tuple(found)

    def states_after(self, op: Operation, state: PossibleState, key: str) -> list[PossibleState]:
        """The states in which this operation has taken effect last."""
        intent = op.mentions[key]
        if isinstance(intent, PossibleEndings):
            return self.states_ended(op, state, key, intent)
        if isinstance(op.request, UpdateEntity):
            return self.states_revised(op, state, key)
        is_routed = self.context.config.semantic_routing
        records = tuple(op.record_ids) if op.record else ("",)
        return list(dict.fromkeys(after(op, state, key, is_routed, it) for it in records))

    def states_ended(
        self, op: Operation, state: PossibleState, key: str, endings: PossibleEndings
    ) -> list[PossibleState]:
        """Return the states after a write that ends the fact if this version of it is current."""
        endings_now = [it for it in endings.options if state.entity and it.version in (0, state.version)]
        found = [after_ending(op, state, key, it) for it in endings_now]
        if state.entity is not None and byte_count(state.entity.content) > EXTRACT_CONTENT_BYTES_MAX:
            return [with_deed(state, state, op, "spared")] if isinstance(op.request, Remember) else found
        is_sure = endings.is_sure and self.evidence.is_exact(op)
        return found if is_sure else [with_deed(state, state, op, "spared"), *found]

    def states_revised(self, op: Operation, state: PossibleState, key: str) -> list[PossibleState]:
        """Of an update, which changes only what is there."""
        if op.moves and key == op.moves[1]:
            return list(dict.fromkeys(after_move(op, state, key, it) for it in self.sources_of(op)))
        return [] if state.entity is None else [after_update(op, state, key)]

    def sources_of(self, op: Operation) -> dict[PossibleState, None]:
        """As what a fact may be, or have been, that this update moves."""
        assert op.moves is not None
        states = self.states_of(self.track(op.moves[0]))
        there = [as_source(state) for state in states if state.entity and not state.claims(op)]
        op.sources |= dict.fromkeys(there)
        return op.sources

    def states_since(self, track: Track, op: Operation) -> tuple[PossibleState, ...]:
        """Every state that this id may have been in since a read was issued; none if it was given up."""
        states = self.states_of(track)
        if not states or track not in op.before:
            return states
        found = dict.fromkeys((*states, *op.before[track]))
        return tuple(state for state in found if not any(doer.is_refuted for doer, _ in state.deeds))

    def explains(self, op: Operation, claims: Mapping[str, Claim]) -> bool:
        """Whether the operation may have done just that."""
        is_about = list(op.mentions) == list(claims)
        return is_about and all(self.may_have(op, key, claim) for key, claim in claims.items())

    def may_have(self, op: Operation, key: str, claim: Claim) -> bool:
        """Whether the operation may have done that to this id."""
        track = self.track(key)
        did = op.did.get(key) or [it for state in self.states_of(track) for it in state.claims(op)]
        return not track.base or any(agrees(claim, it) for it in did)

    # Demanding.

    def must(self, track: Track, kept: object, rule: Rule, message: str, *values: object) -> None:
        """Some state is left; if not, and the rule is off, nothing more is demanded of this id."""
        if track.base:
            self.demand(kept, rule, f"{track.id} {message}", *values)
        if track.base and not kept:
            self.give_up(track)

    def give_up(self, track: Track) -> None:
        self.undecided += 1
        track.base = ()
        self.release_heirs(track)

    def release(self, track: Track) -> None:
        """Nothing more is demanded of this id: what was asked of it may have been done twice."""
        self.released += bool(track.base)
        track.base = ()
        self.release_heirs(track)

    def release_ids(self, keys: Iterable[str]) -> None:
        """The same of these ids, whether anything was asked of them or not."""
        for key in keys:
            self.release(self.tracks.setdefault(key, Track(key)))

    def release_heirs(self, track: Track) -> None:
        """What may move from here is as unknown where it goes."""
        for op in list(track.open):
            heir = self.track(op.moves[1]) if op.moves and op.moves[0] == track.id else track
            if heir.base:
                self.release(heir)

    # Widening.

    def offer(self, op: Operation, mentions: Mapping[str, Intent]) -> None:
        """From now on this operation may take effect like this; as it was offered before, it may not."""
        self.withdraw(op)
        op.mentions = mentions
        for key, mention in mentions.items():
            self.tracks.setdefault(key, Track(key)).open[op] = None
            if isinstance(mention, Mention):
                self.called.setdefault(key, mention)
        for track in [it for it in self.tracks_of(op) if op.moves and not it.base]:
            self.release_heirs(track)

    def widen(self, op: Operation, endings: Mapping[str, PossibleEndings]) -> None:
        """Let this operation end these facts as well, in a plan that is made from now on."""
        new = {key: it for key, it in endings.items() if not isinstance(op.mentions.get(key), Mention)}
        if not op.mentions or not new:
            return
        op.mentions = {**op.mentions, **new}
        for key in new:
            self.tracks.setdefault(key, Track(key)).open[op] = None

    def withdraw(self, op: Operation) -> None:
        """This operation has not taken effect as it was offered, and never will."""
        for track in self.tracks_of(op):
            track.open.pop(op, None)
            kept = tuple(state for state in track.base if not state.claims(op))
            self.must(track, kept, rules.REFERENCE_AGREES, "has shown a request that failed")
            if len(kept) < len(track.base):
                self.root(track, kept)
            if track.base == (PossibleState(),) and not track.open and track.id not in self.known:
                del self.tracks[track.id]

    # Narrowing.

    def root(self, track: Track, states: Iterable[PossibleState]) -> None:
        """This id is in one of these states, or in what open operations make of them."""
        for op in self.flying.values():
            if isinstance(op.request, READS):
                op.before.setdefault(track, {}).update(dict.fromkeys(self.states_of(track)))
        for op in [it for it in track.open if it.moves and it.moves[0] == track.id]:
            self.sources_of(op)
        track.base, track.is_bound = tuple(states), False

    def settle(self, track: Track, op: Operation, kept: tuple[PossibleState, ...]) -> None:
        """A read has shown one of these states; if the id was not settled meanwhile, the others are gone."""
        if track.base and track not in op.before and kept != track.base:
            doers = doers_of((*track.base, *kept))
            self.root(track, kept)
            self.agree(doers)

    def settle_all(self, op: Operation, shown: Iterable[tuple[Track, tuple[PossibleState, ...]]]) -> None:
        """The same of all hits of a search, which reads at several instants: a later one may have shown that
        an earlier one is out of date."""
        for track, kept in shown:
            now = self.states_of(track)
            self.settle(track, op, tuple(it for it in kept if it in now) or now)

    def agree(self, doers: Iterable[Operation]) -> None:
        """All or nothing: what one id shows of an operation holds for all its ids."""
        todo = list(doers)
        for op in todo:  # it grows
            tracks = [track for track in self.tracks_of(op) if track.base]
            shown = [[bool(state.claims(op)) for state in track.base] for track in tracks]
            happened = any(map(all, shown))
            if not happened and (not op.is_closed or all(map(any, shown))):
                continue
            for track, row in zip(tracks, shown, strict=True):
                if any(did != happened for did in row):
                    todo += doers_of(track.base)
                    self.bind(track, op, happened)
            if op.ended is not None:
                self.strip(op)

    def bind(self, track: Track, op: Operation, happened: bool) -> None:
        """Keep the states in which the operation has taken effect, or those in which it has not."""
        kept = tuple(state for state in self.states_of(track) if bool(state.claims(op)) == happened)
        self.must(
            track, kept, rules.ALL_OR_NOTHING, "and another id of one write disagree whether it happened"
        )
        self.root(track, kept)
        track.is_bound = True

    def end_change(self, track: Track, op: Operation) -> None:
        """From now on this operation can no longer change this id."""
        if op in track.open:
            del track.open[op]
            track.moved_ms = self.context.world_ms

    def close(self, op: Operation) -> None:
        """This operation has taken effect by now, or never will."""
        op.is_closed = True
        tracks = self.tracks_of(op)
        for track in tracks:
            self.root(track, self.states_of(track))
            self.end_change(track, op)
        changes = [claim[1] for track in tracks for state in track.base for claim in state.claims(op)]
        if op.key in self.by_key or (len(tracks) > 1 and any(change in CHANGES for change in changes)):
            self.agree((op,))
        else:
            self.strip(op)  # no other id could tell

    def strip(self, op: Operation) -> None:
        """Merge the states that differ only in whether this operation ran."""
        for track in self.tracks_of(op):
            self.end_change(track, op)
            claims = dict.fromkeys(claim for state in track.base for claim in state.claims(op))
            if claims:
                op.did[track.id] = tuple(claims)
                track.base = tuple(dict.fromkeys(without(state, op) for state in track.base))
        for other in self.by_key.get(op.key, ()) if op.has_key else ():
            if other is not op and other.shares_key(op):
                self.withdraw(other)

    def hold(self, op: Operation, claims: Mapping[str, Claim]) -> None:
        """The memory is held to what it said it did; who planned on rows that it changed comes too late."""
        doers: dict[Operation, None] = {}
        for key, claim in claims.items():
            track = self.track(key)
            if key in op.did:  # settled before, or just now by what another id showed
                message = f"{key} was {claim[1]} with version {claim[0]}"
                is_fair = self.may_have(op, key, claim)
                self.demand(is_fair, rules.ALL_OR_NOTHING, message, op.did[key], claim)
            else:
                doers |= self.narrow(track, op, claim)
            for rival in [it for it in track.open if claim[1] in CHANGES and it.is_over(op.began)]:
                self.close(rival)
        self.strip(op)
        self.agree(doers)

    def narrow(self, track: Track, op: Operation, claim: Claim) -> dict[Operation, None]:
        """Keep only states with this claim, and return the operations that led to any state before."""
        states = self.states_of(track)
        kept = tuple(state for state in states if any(agrees(claim, it) for it in state.claims(op)))
        did = list(dict.fromkeys(it for state in states for it in state.claims(op)))
        versions = [version for version, _ in did] or [state.version + 1 for state in states]
        rule = rule_of_claim(track, op, claim, versions) or rule_of(track, states, versions, claim[0])
        self.must(track, kept, rule, f"was {claim[1]} with version {claim[0]}", did, claim)
        self.root(track, kept)
        is_left = isinstance(op.request, ForgetResource | DeleteArchival)
        track.is_left = is_left if is_left or claim[1] in CHANGES else track.is_left
        if claim[1] in CHANGES and op.ended is not None:
            track.acknowledged_at[claim[0]] = op.ended
        return doers_of(states)


def rule_of_claim(track: Track, op: Operation, claim: Claim, versions: list[int]) -> Rule | None:
    """The rule that a claim of this kind breaks; None if only its version is wrong."""
    version, change = claim
    if isinstance(op.request, ForgetResource | DeleteArchival):
        return rules.DELETE_ONLY_ITS_OWN
    if isinstance(op.mentions.get(track.id), PossibleEndings):
        return rules.ENDED_AS_NAMED
    if change == "forgot":
        return rules.DELETED_STAYS_DELETED
    if change == "unchanged" and version in versions:
        return rules.ONCE_ONLY  # what it found is what it had made itself
    if change in CHANGES and track.acknowledged_at.get(version, -1) > op.began:
        return rules.NO_LOST_UPDATE  # another one, under way at the same time, was told the same version
    return None

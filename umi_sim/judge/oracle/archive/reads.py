"""Reads: a get_entity shows what some possible state holds, a count what they add up to."""

import attrs

from umi_core.messages.requests import Count, GetEntity
from umi_core.rows import Entity, Version
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.possible import Operation, rule_at_stake, rule_of
from umi_sim.judge.oracle.archive.relations import Relations
from umi_sim.judge.oracle.archive.showing import fits, shown
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.record import rules


@attrs.define
class Reads(Part):
    """Judges get_entity and count."""

    tracks: Tracks
    relations: Relations

    def judge_entity(self, op: Operation, value: Entity | Version | None) -> None:
        assert isinstance(op.request, GetEntity)
        number, track = op.request.version, self.tracks.track(op.request.entity_id)
        states = self.tracks.states_since(track, op)
        kept = tuple(state for state in states if fits(state, number, value, self.context.latest_ms))
        versions, got = [shown(state, number) for state in states], value.version if value else 0
        rule = rule_at_stake(track, states, versions) if kept else rule_of(track, states, versions, got)
        own_id = value.id if isinstance(value, Entity) else value.entity_id if value else ""
        told = f"shows version {got}" if got else "is not there"
        is_ours = own_id == track.id or not self.context.is_elsewhere(own_id)
        self.tracks.must(track, kept or is_ours, rules.SCOPE_APART, told, states[:3], value)
        self.tracks.must(track, kept, rule, told, states[:3], value)
        if number is None and isinstance(value, Entity):
            self.relations.judge_contradicts(op, value.id, value.version, value.contradicts)
            kept = tuple(dict.fromkeys(attrs.evolve(state, entity=value, unsure=()) for state in kept))
        self.tracks.settle(track, op, kept)

    def judge_count(self, op: Operation, value: int) -> None:
        assert isinstance(op.request, Count)
        types, low, high = op.request.types, 0, 0
        for track in list(self.tracks.tracks.values()):
            entities = [state.entity for state in self.tracks.states_since(track, op)]
            there = [entity is not None and (types is None or entity.type in types) for entity in entities]
            low += bool(there) and all(there)
            high += not there or any(there)
        span = f"{low} to {high}"
        self.demand(low <= value <= high, rules.ERROR_IS_NOT_EMPTY, "the count is wrong", span, value)

"""Archival records as the archive sees them: what they tell is remembered, and belongs to them.

Law 1. Pure. Law 2. What a record in flight will be called only storage tells: all that it told is possible.
"""

from typing import Final

from umi_core.invariants import limits
from umi_core.kelpie.requests import AddArchival, DeleteArchival, SearchArchival
from umi_core.kelpie.rows import Log
from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.requests import Remember
from umi_sim.judge.oracle.archive.possible import ArchiveRequest, Operation, PossibleState
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.plain.requests import wrong
from umi_sim.judge.plain.scores import shared_ppm

OF_RECORDS: Final = (AddArchival, DeleteArchival, SearchArchival)


def is_of_facts(asked: ArchiveRequest | AddArchival) -> bool:
    """What is wrong with itself changes nothing, and a record alone says nothing of anybody."""
    return wrong(asked) is None and (not isinstance(asked, AddArchival) or asked.extract)


def fit_of(state: PossibleState, query: str, record: str) -> int:
    lines = dict(state.told).get(record)
    return 0 if lines is None or state.entity is None else shared_ppm(query, state.entity.name, lines)


def as_remember(asked: AddArchival) -> Remember:
    """What it says of people and things is remembered as this would be."""
    return Remember(asked.op_id, asked.content, speaker=asked.speaker)


def next_records(answer: Answer) -> list[str]:
    """What the next record will be called, as this answer shows its log; a damaged one shows nothing."""
    if not isinstance(answer, ReadDone):
        return []
    logs = [row.body.next_seq for row in answer.rows if isinstance(row.body, Log)]
    return [f"arc_{seq:012}" for seq in logs or [1] if type(seq) is int]


def told_fit(tracks: Tracks, op: Operation | None, query: str, record: str) -> tuple[int, int]:
    """How well what a record told fits the query of this search, which has just ended: at least, at most."""
    low = high = 0
    if op is None:
        return 0, 0
    for track in [*tracks.tracks.values()]:
        fits = [fit_of(state, query, record) for state in tracks.states_since(track, op)]
        low, high = max(low, min(fits, default=0)), max(high, max(fits, default=limits.PPM))
    return 0 if tracks.context.surroundings.atlas.losses else low, high

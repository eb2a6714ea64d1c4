"""Levels of the archive: two lists as one, whether they are enough, and what a context shows of them.

Law 1. Texts and their own parts are drawn often, and with scores that are equal: which of them stays is what
most can go wrong with.
"""

from typing import Any, Final

import attrs

from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.messages.requests import Retrieve
from umi_core.policies import sufficiency
from umi_core.rows import Address, Row
from umi_core.values import Scope
from umi_core.workflows import descending, retrieve
from umi_sim.judge.plain import descents as plain
from umi_sim.judge.trials.stored import sound
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

SOME: Final = 4  # of each trial
WHO: Final = Scope("u", "a")
PPM: Final = 1_000_000
SCORES: Final = (0, 1, 400_000, 400_000, 400_001, 700_000, PPM)
IDS: Final = ("r1", "r2", "r3", "r4")
TEXTS: Final = ("", "x", "Alice likes tea.", '日本 <"&\n', "é" * 30, "x" * 60)
SHOWN: Final = 500
RANKS: Final = ("vector", "model")


def try_levels(draw: Stream, config: Config) -> None:
    for _ in range(SOME):
        level = draw.pick(plain.ALL)
        bodies = {row_id: body(draw, level) for row_id in IDS}
        lists = rows(draw, level, bodies), rows(draw, level, bodies)
        limit = draw.between(1, 5)
        got, wanted = sufficiency.union(level, *lists, limit), plain.found_in(level, *lists)[:limit]
        seen = [plain.seen_row(level, it.row, it.score_ppm, it.vector_ppm) for it in got]
        told = f"{[[(row.address.id, row.score_ppm) for row in each] for each in lists]} as {limit} {level}"
        demand(wanted == seen, rules.HITS_WITHIN_LIMITS, told, wanted, seen)
        check_enough(draw, got, wanted)
        check_context(draw, got, wanted)
        check_list_limit(draw)


def body(draw: Stream, level: str) -> Any:
    """What a row of this level holds; of texts often a part of another one."""
    it: Any = sound(draw, plain.KINDS[level])
    if level != "resources":
        return it
    return attrs.evolve(it, parent_id=draw.pick((None, "r1", "r1", "r2")), description=draw.pick(TEXTS))


def rows(draw: Stream, level: str, bodies: dict[str, Any]) -> tuple[Row, ...]:
    """A list as a storage gives it: each row once, the best first."""
    chosen = [row_id for row_id in IDS if draw.chance(1, 2)]
    found = sorted((-draw.pick(SCORES), row_id) for row_id in chosen)
    return tuple(
        Row(Address(WHO, plain.KINDS[level], row_id), draw.pick((3, 3, 4)), bodies[row_id], score_ppm=-ppm)
        for ppm, row_id in found
    )


def check_enough(draw: Stream, got: Any, wanted: list[plain.Seen]) -> None:
    count, average_ppm = draw.between(1, 3), draw.pick((0, 1, 400_000, 550_000, PPM))
    is_enough = plain.is_enough(wanted, count, average_ppm)
    told = f"{wanted} are enough, of which {count} must reach {average_ppm} ppm"
    demand(
        is_enough == sufficiency.is_enough(got, count, average_ppm), rules.ENOUGH_RULE, told[:SHOWN],
        is_enough, not is_enough,
    )  # fmt: skip


def check_list_limit(draw: Stream) -> None:
    """How long each of the two lists is that a level is read as (H6.11)."""
    request = Retrieve("", "x", limit_per_level=draw.pick((1, 24, 25, 26, 50)), rank=draw.pick(RANKS))
    due = max(2 * request.limit_per_level, 50 if request.rank == "model" else 0)
    got = descending.list_limit(request)
    demand(due == got, rules.HITS_WITHIN_LIMITS, f"the length of a list for {request}"[:SHOWN], due, got)


def check_context(draw: Stream, got: Any, wanted: list[plain.Seen]) -> None:
    bytes_max = draw.pick((1, 16, 60, 200, 4_000))
    hits = tuple(attrs.evolve(retrieve.hit_of(it), text=draw.pick(TEXTS)) for it in got)
    seen = [attrs.evolve(it, text=hit.text) for it, hit in zip(wanted, hits, strict=True)]
    text, left_out_count = retrieve.context_of(hits, bytes_max)
    due = plain.due_in_context(seen, bytes_max)
    try:
        shown: object = plain.read_context(text)
    except ValueError as error:
        shown = str(error)
    told = f"{seen} in {bytes_max} bytes"[:SHOWN]
    demand(due == shown, rules.REFERENCE_AGREES, told, due, shown)
    demand(
        len(hits) - len(due) == left_out_count,
        rules.REFERENCE_AGREES,
        f"{told}: left out",
        len(hits) - len(due),
        left_out_count,
    )

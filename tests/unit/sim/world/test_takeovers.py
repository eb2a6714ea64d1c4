"""Goal: an old life goes on beside the one that took its place, and not before that one has recovered."""

import attrs

from umi_sim.record.items import Fault, Item, Op
from umi_sim.record.trace import Tag, decode
from umi_sim.runs.runner import run, trace_of
from umi_sim.scenario.files import draw, find

DRAWN = draw(find("takeovers"), 0)
CONFIG = attrs.evolve(DRAWN, agents=DRAWN.agents[:1])
ONE = CONFIG.agents[0].name
LONG_MS = 50_000


def items(for_ms: int, ask_count: int) -> tuple[Item, ...]:
    """A remember, a takeover before the next request, and two more when the old life is awake again."""
    return (
        Op("o1", 0, ONE, "set", {"key": "k", "value": b"v"}),
        Op("o2", LONG_MS, ONE, "remember", {"text": "Alice likes tea"}),
        Fault("f1", "agent_taken_over", "o2", {"for_ms": for_ms, "ask_count": ask_count}),
        Op("o3", 3 * LONG_MS, ONE, "remember", {"text": "Alice likes coffee"}),
        Op("o4", 5 * LONG_MS, ONE, "get", {"key": "k"}),
    )


def test_the_old_life_gets_the_next_requests_and_is_deposed() -> None:
    for ask_count, failed_count in ((0, 0), (2, 1)):
        verdict = run(CONFIG, items(LONG_MS, ask_count))
        assert verdict.failure is None
        assert verdict.marks.get("deposed", 0) == verdict.marks.get("failed: Deposed", 0) == failed_count


def test_an_old_life_sleeps_until_the_new_one_has_recovered() -> None:
    told = [decode(record)[2:5] for record in trace_of(CONFIG, items(0, 0)).kept]
    changes = [" ".join(map(str, it[1:])) for it in told if it[0] == Tag.LIFE]
    assert changes[:4] == [f"start {ONE}", f"taken over {ONE}~1", f"start {ONE}", f"resume {ONE}~1"]
    claims = [at for at, it in enumerate(told) if it[0] == Tag.ANSWER and "recover:2/claim" in str(it[1])]
    assert claims[0] < told.index([Tag.LIFE, "resume", f"{ONE}~1"])

"""Goal: an old life goes on beside the one that took its place, and not before that one has recovered."""

import pytest
from msgspec import structs

from umi_core.limits import DAY_MS
from umi_sim.judge.inspector import Inspector
from umi_sim.machines.umi import UmiTarget
from umi_sim.record.items import Fault, Item, Op
from umi_sim.record.trace import Tag, decode
from umi_sim.runs.runner import run, trace_of
from umi_sim.scenario.files import draw, find
from umi_sim.world import takeovers
from umi_sim.world.source import Replay
from umi_sim.world.world import World

DRAWN = draw(find("takeovers"), 0)
CONFIG = structs.replace(DRAWN, agents=DRAWN.agents[:1])
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


def test_the_old_process_gets_the_next_requests_and_is_fenced() -> None:
    for ask_count, failed_count in ((0, 0), (2, 1)):
        verdict = run(CONFIG, items(LONG_MS, ask_count))
        assert verdict.failure is None
        assert verdict.marks.get("fenced", 0) == verdict.marks.get("failed: Fenced", 0) == failed_count


def test_an_old_life_sleeps_until_the_new_one_has_recovered() -> None:
    records = [decode(record)[2:5] for record in trace_of(CONFIG, items(0, 0)).kept]
    changes = [" ".join(map(str, it[1:])) for it in records if it[0] == Tag.LIFE]
    assert changes[:4] == [f"start {ONE}", f"taken over {ONE}~1", f"start {ONE}", f"resume {ONE}~1"]
    claims = [at for at, it in enumerate(records) if it[0] == Tag.ANSWER and "recover:2/claim" in str(it[1])]
    assert claims[0] < records.index([Tag.LIFE, "resume", f"{ONE}~1"])


def ends_of(monkeypatch: pytest.MonkeyPatch, given: tuple[Item, ...]) -> list[tuple[str, int]]:
    """Which old lives ended, and when."""
    ended, end = list[tuple[str, int]](), takeovers.end

    def note_end(world: takeovers.TakeoverContext, old: takeovers.ReplacedAgent) -> None:
        ended.append((old.name, world.now_ms))
        end(world, old)

    monkeypatch.setattr(takeovers, "end", note_end)
    assert run(CONFIG, given).failure is None
    return ended


def test_of_many_old_lives_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [Op(f"o{n}", n * LONG_MS, ONE, "set", {"key": "k", "value": b"v"}) for n in range(1, 7)]
    taken = [Fault(f"f{n}", "agent_taken_over", f"o{n}", {"for_ms": 1, "ask_count": 0}) for n in range(1, 7)]
    ended = ends_of(monkeypatch, (*sets, *taken))
    assert ended[:2] == [(f"{ONE}~1", 5 * LONG_MS), (f"{ONE}~2", 6 * LONG_MS)]
    assert len({name for name, _ in ended}) == 6


def test_an_old_process_that_wakes_up_a_day_later_has_ended() -> None:
    world = World(CONFIG, Replay(()), Inspector(CONFIG), UmiTarget(CONFIG))
    (successor,) = world.incarnations
    old = takeovers.ReplacedAgent(
        name=f"{ONE}~1", config=successor.config, clock=successor.clock, successor=successor,
        replaced_ms=0, sleep_ms=0, ask_count=0,
    )  # fmt: skip
    world.incarnations.append(old)
    for now_ms, is_gone in ((DAY_MS, False), (DAY_MS + 1, True)):
        world.set_time(now_ms)
        assert not takeovers.end_if_idle(world, successor)
        assert takeovers.end_if_idle(world, old) == is_gone
    assert world.incarnations == [successor]

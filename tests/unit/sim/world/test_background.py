"""Goal: background work alone does not keep a world under faults busy for ever."""

from typing import NoReturn

import pytest

from umi_sim.judge.inspector import Inspector
from umi_sim.machines.umi import UmiTarget
from umi_sim.scenario.files import draw, find
from umi_sim.world import world as worlds
from umi_sim.world.source import Replay
from umi_sim.world.world import BACKGROUND_STEPS_MAX, World

CONFIG = draw(find("all_faults"), 9965836305326782764)
"""Agent a waits 3.7 days after a jump of its clock. Before the limit, agent b met 42,000 faults meanwhile."""


def started_world() -> World:
    world = World(CONFIG, Replay(()), Inspector(CONFIG), UmiTarget(CONFIG))
    world.begin()
    world.run_until_quiet(1_000)
    return world


def test_only_requests_wake_an_agent_after_many_steps_without_one() -> None:
    world = started_world()
    waiting, idle = world.agents.values()
    waiting.in_flight["o1"] = "remember"
    waiting.wake_ms = idle.wake_ms = world.now_ms + 10
    woken = []
    for steps in (BACKGROUND_STEPS_MAX, BACKGROUND_STEPS_MAX + 1):
        world.step_count = world.request_step + steps
        woken.append([world.wake_at(agent, world.runs_background()) for agent in (waiting, idle)])
    assert woken == [[world.now_ms + 10] * 2, [world.now_ms + 10, None]]
    world.is_healed = True
    assert world.runs_background()


def test_a_request_wakes_all_agents_again_and_at_once() -> None:
    world = started_world()
    waiting, idle = world.agents.values()
    waiting.in_flight["o1"] = "remember"
    world.step_count, idle.wake_ms = world.request_step + BACKGROUND_STEPS_MAX + 1, world.now_ms + 10
    waiting.wake_ms = world.now_ms + 1_000
    world.set_time(world.now_ms + 20)
    assert world.next_due() == world.now_ms + 980
    world.issue(idle, "o2", "remember", {"text": "Alice likes tea"})
    assert world.runs_background()
    idle.wake_ms = world.now_ms - 10
    assert world.next_due() == world.now_ms


def test_a_reply_counts_like_a_request() -> None:
    world = started_world()
    agent = next(iter(world.agents.values()))
    world.issue(agent, "o1", "remember", {"text": "Alice likes tea"})
    asked_step = world.request_step
    world.run_until_quiet(1_000)
    assert not agent.in_flight
    assert world.request_step > asked_step


def test_a_world_of_background_work_alone_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(agents: object) -> NoReturn:
        raise AssertionError("work in the background still waits, which is no failure before the heal")

    world = started_world()
    world.step_count = world.request_step + BACKGROUND_STEPS_MAX + 1
    monkeypatch.setattr(worlds, "must_be_quiet", refuse)
    monkeypatch.setattr(World, "is_busy", lambda world: True)
    assert not world.deliver_next()

"""Goal: at the end of a run a restart with a visible effect is detected; each scope with rows is scanned."""

from collections.abc import Callable

import pytest
from msgspec import structs

from umi_core.rows import Address, Row
from umi_core.tiers.core import CoreTier
from umi_sim.machines.umi import memory_of
from umi_sim.runs import rest
from umi_sim.runs.runner import Run, begin_run, run_once
from umi_sim.scenario.files import draw, find

CONFIG = draw(find("core"), 1)


def forgets_core(run: Run) -> None:
    for agent in run.world.agents.values():
        memory = memory_of(agent.machine)
        assert memory is not None
        memory.state.tiers.core = CoreTier()


def stands_still(run: Run) -> None:
    for agent in run.world.agents.values():
        memory = memory_of(agent.machine)
        assert memory is not None
        memory.state.phase = "over_limit"


def loses_a_row(run: Run) -> None:
    rows = run.world.services.storage.rows
    del rows[next(where for where in rows if where.kind == "entity")]


@pytest.mark.parametrize("spoil", [forgets_core, stands_still, loses_a_row])
def test_a_restart_that_is_noticed_is_seen(
    spoil: Callable[[Run], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    restart = Run.restart_all

    def spoilt(run: Run) -> None:
        restart(run)
        spoil(run)

    monkeypatch.setattr(Run, "restart_all", spoilt)
    failure = run_once(CONFIG)[0].failure
    assert failure is not None
    assert failure.rule == "restart-invisible"


def test_an_entity_or_something_that_is_due_is_enough_to_be_scanned() -> None:
    with begin_run(draw(find("sessions"), 1)) as run:
        run.world.begin()
        run.run_phases()
        agents = [*run.world.agents.values()]
        assert rest.with_something_to_scan(run.world) == agents  # a life that has just begun looks once
        for agent in agents:
            memory = memory_of(agent.machine)
            assert memory is not None
            memory.state.tiers.access = structs.replace(memory.state.tiers.access, is_due=False)
        assert rest.with_something_to_scan(run.world) == []
        where = Address(agents[0].config.scope, "access", "ent_1")
        run.world.services.storage.rows[where] = Row(where, 1, None)
        sharing = [agent for agent in agents if agent.config.scope == agents[0].config.scope]
        assert rest.with_something_to_scan(run.world) == sharing


def test_a_run_that_reaches_its_last_step_is_a_timeout() -> None:
    failure = run_once(structs.replace(CONFIG, steps_max=9))[0].failure
    assert failure is not None
    assert (failure.kind, failure.message) == ("timeout", "not finished after 9 steps")

"""Goal: what is tested is what a file says, and nothing is asked of it that it does not serve."""

import pytest
from msgspec import structs

from umi_core.messages.requests import REQUESTS
from umi_core.workflows import BUILT_IN
from umi_sim.formats.schema import Wrong
from umi_sim.kernel import folders
from umi_sim.machines.migrating import MigrationTarget
from umi_sim.machines.protocol import Target
from umi_sim.machines.table import list_unserved, target_of
from umi_sim.machines.umi import UmiTarget
from umi_sim.record.items import Op
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import BadScenario, draw, find, overridden
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.files import check_agents

PUT = Op("o1", 0, "a", "put_row", {"kind": "blocks", "id": "r", "content": "x"})


@pytest.mark.parametrize(
    ("scenario", "key", "value", "message"),
    [
        ("smoke", "scenario.target", '"migrator"', "workload.weights: missing"),
        ("migration", "scenario.target", '"umi_core"', "put_row: the target umi_core does not serve it"),
        ("migration", "workload.weights", "{ set = 1 }", "set: the target migrator does not serve it"),
    ],
)  # fmt: skip
def test_a_scenario_asks_what_its_target_serves(scenario: str, key: str, value: str, message: str) -> None:
    with pytest.raises(BadScenario) as raised:
        overridden(find(scenario), {key: value})
    assert message in str(raised.value)


def test_a_record_of_one_target_is_none_of_another() -> None:
    with pytest.raises(Wrong, match="put_row is not served by umi_core"):
        check_agents(PLAIN, (PUT,))
    check_agents(structs.replace(PLAIN, target="migrator"), (PUT,))


def test_a_run_tests_what_its_configuration_says() -> None:
    for name, cls in (("umi_core", UmiTarget), ("migrator", MigrationTarget)):
        made: Target = target_of(structs.replace(PLAIN, target=name), BUILT_IN)
        assert isinstance(made, cls)
        assert [*list_unserved(name, REQUESTS)] == [it for it in REQUESTS if it not in made.requests]


def test_a_plain_migration_fails_nothing_and_degrades_nothing() -> None:
    config = draw(find("migration"), 0, {"scenario.swarm.mode": '"plain"', "workload.adversarial": '"0/1"'})
    verdict, _ = run_once(config)
    assert (verdict.failure, verdict.degraded, "failed" in verdict.replies) == (None, {}, False)
    assert verdict.marks["phase: done"] >= 1


def test_the_command_on_the_page_about_migrations_shows_the_lost_write() -> None:
    page = (folders.PROJECT / "docs" / "kelpie.md").read_text()
    command = " ".join(page.split()).partition("`umi-sim run rollback ")[2].partition("`")[0].split()
    assert command[::2] == ["--seed", "--set"]
    key, _, value = command[3].partition("=")
    verdict, _ = run_once(draw(find("rollback"), int(command[1]), {key: f'"{value}"'}))
    assert verdict.failure is not None
    assert verdict.failure.rule == "outbox-complete"

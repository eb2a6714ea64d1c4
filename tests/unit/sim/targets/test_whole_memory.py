"""Another implementation of Umi is judged by the whole oracle; what it breaks is found, shrunk and kept."""

from pathlib import Path
from shutil import which

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from tests.second_memory import COMMAND, Broken, counts_one_more, served_here
from umi_sim.cli.root import cli
from umi_sim.judge.equivalences import SECOND
from umi_sim.record.items import Op
from umi_sim.scenario import files
from umi_sim.scenario.files import BadScenario
from umi_sim.seedfile import files as seed_file
from umi_sim.targets import whole_memory
from umi_sim.targets.adapter import BadAdapter


def umi(*more: str) -> Result:
    return CliRunner().invoke(cli, ["target", "--contract", "umi", "--command", COMMAND, *more])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_memory_that_keeps_its_promises_passes(here: Path) -> None:
    with served_here():
        done = umi("--scenario", "working", "--seeds", "1..1")
    assert done.exit_code == 0, done.output
    assert "PASS second: 1 run of 1 scenario, " in done.output
    assert "every promise kept" in done.output
    assert "never asked: " in done.output
    assert "judged   by 21 rules" in done.output
    assert not (here / ".umi-sim").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("against", "rule"), [((), "reference-agrees"), (("--against", "umi_core"), "second-")]
)
def test_one_that_differs_is_found_and_shrunk_and_replays(
    here: Path, against: tuple[str, ...], rule: str
) -> None:
    called = ("--scenario", "working", *against)
    with served_here(counts_one_more):
        done = umi(*called, "--seeds", "0..3")
    assert done.exit_code == 1, done.output
    (path,) = (here / ".umi-sim" / "targets").iterdir()
    assert path.name.startswith(rule)
    kept = seed_file.read(path)
    assert sum(isinstance(item, Op) for item in kept.items) <= 3
    assert COMMAND not in path.read_text()
    again = ("--replay", path.relative_to(here).as_posix())
    assert f"umi-sim target --contract umi --command second {' '.join((*against, *again))}" in done.output
    with served_here(counts_one_more):
        assert umi(*against, *again).exit_code == 0
    with served_here():
        mended = umi(*against, *again)
    assert mended.exit_code == 1
    assert "passes: the failure is gone" in mended.output


def test_what_it_does_not_serve_is_not_asked_for() -> None:
    def serves_some(asked: dict[str, object], message: dict[str, object]) -> None:
        if asked["op"] == "hello":
            message["serves"] = ["set", "get", "touch"]

    with served_here(serves_some):
        found = whole_memory.hunt(COMMAND, ["working", "memorize"], [1], None, is_compared=False)
        assert {*found.operations} == {"set", "get", "touch"}
        assert list(found.scenarios) == ["working"]
        with pytest.raises(BadAdapter, match="serves nothing of what memorize would ask"):
            whole_memory.hunt(COMMAND, ["memorize"], [1], None, is_compared=False)


JAVASCRIPT = Path(__file__).resolve().parents[4] / "examples" / "targets" / "working.mjs"


@pytest.mark.slow
@pytest.mark.skipif(which("node") is None, reason="needs node")
@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("expiresMs <= this.seenMs", "expiresMs <= this.seenMs", ""),
        ("expiresMs <= this.seenMs", "expiresMs < this.seenMs", "ttl-boundary"),
        ("Math.max(own.seenMs, now_ms)", "now_ms", "reference-agrees"),
        ("expiresMs] of entries)", "expiresMs] of entries.slice(1))", "reference-agrees"),
    ],
    ids=["whole", "alive at its deadline", "a clock that moves back", "an entry that is not restored"],
)
def test_a_part_in_another_language_is_held_to_every_rule(
    tmp_path: Path, old: str, new: str, rule: str
) -> None:
    own = tmp_path / "working.mjs"
    source = JAVASCRIPT.read_text()
    assert old in source
    own.write_text(source.replace(old, new))
    found = whole_memory.hunt(f"node {own}", ["working"], range(5), None, is_compared=False)
    assert found.failed is None or found.failed.failure is not None
    assert rule == (found.failed.failure.rule if found.failed and found.failed.failure else "")
    assert rule or {*found.operations} >= {"set", "get", "append", "touch"}


def test_one_that_ends_at_once_is_a_failure(here: Path) -> None:
    with served_here(kind=Broken):
        done = umi("--scenario", "working", "--seeds", "1..1")
    assert done.exit_code == 1
    assert "BadStep: the process has ended with status 3" in done.output


def test_a_hunt_ends_with_its_time() -> None:
    with served_here():
        found = whole_memory.hunt(COMMAND, ["working"], range(1, 1_000), 0, is_compared=False)
    assert found.run_count == 1


def test_the_scenarios_are_those_of_a_sweep_without_a_planted_bug() -> None:
    names = whole_memory.names_of(())
    assert {"smoke", "storm", "working"} <= {*names}
    assert not {"canary", "migration"} & {*names}
    assert whole_memory.names_of(["calm"]) == ["calm"]
    for name in ("canary", "migration"):
        with pytest.raises(BadAdapter, match=f"--scenario {name}: tests the "):
            whole_memory.names_of([name])
    with pytest.raises(BadScenario):
        whole_memory.names_of(["nowhere"])


def test_what_is_done_to_our_memory_alone_is_not_done_to_another() -> None:
    config = structs.replace(
        files.draw(files.find("revisions"), 3), equivalences=("E-REPLAY", "E-FILTER"), revise_every=2
    )
    given = whole_memory.given_to("x", config, is_compared=True)
    assert (given.command, given.revise_every, given.equivalences) == ("x", 0, ("E-FILTER", SECOND))
    assert given.memory["group_decay_ms"] == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--jobs", "2"), "--jobs: is for stores"),
        (("mine:Mine",), "mine:Mine: is for stores"),
        (("--all",), "--all: is for stores"),
        (("--against", "mine:Other"), "--against mine:Other: expected umi_core"),
        (("--scenario", "nowhere"), "nowhere"),
        (("--replay", "nowhere.json"), "nowhere.json"),
    ],
)
def test_what_cannot_be_is_one_line(here: Path, args: tuple[str, ...], message: str) -> None:
    done = umi(*args)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_a_command_is_needed_and_scenarios_are_for_it_alone() -> None:
    bare = CliRunner().invoke(cli, ["target", "--contract", "umi"])
    stores = CliRunner().invoke(cli, ["target", "--contract", "kv", "--scenario", "smoke"])
    assert (bare.exit_code, stores.exit_code) == (2, 2)
    assert 'write --command "COMMAND"' in bare.output
    assert "--scenario smoke: is for --contract umi" in stores.output

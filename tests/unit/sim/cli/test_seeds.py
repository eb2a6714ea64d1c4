"""Goal: the commands about seed files lead from a failure to a kept file, and err in one line."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from tests.unit.sim.commands import refused, umi
from umi_sim.record import trace
from umi_sim.runs import runner
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import SeedFile


@pytest.fixture(scope="module")
def failing() -> SeedFile:
    config = structs.replace(scenario.draw(scenario.find("canary"), 0), planted="get-alive-at-expiry")
    verdict = runner.run(config)
    assert verdict.failure is not None
    return seed_file.of_verdict(verdict)


@pytest.fixture
def path(failing: SeedFile, own_folder: Path) -> str:
    """The failure in the ephemeral folder of a folder of its own."""
    assert failing.failure is not None
    where = seed_file.default_path(failing.failure)
    seed_file.write(where, failing)
    return where.as_posix()


def mend(path: str) -> None:
    seed = seed_file.read(Path(path))
    seed_file.write(Path(path), structs.replace(seed, config=structs.replace(seed.config, planted=None)))


def test_an_open_bug_is_kept_and_listed_with_its_ticket(path: str) -> None:
    assert umi("corpus", "list").stdout.startswith(f"  fail     {path} ")
    refused = umi("corpus", "keep", path)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == f"umi-sim: {path}: an open bug needs a ticket: --ticket TEXT\n"
    kept = f"scenarios/seeds/{Path(path).name}"
    assert umi("corpus", "keep", path, "--ticket", "17").stdout == f"OK kept as {kept}\n"
    (row,) = json.loads(umi("corpus", "list", "--json").stdout)
    assert (row["file"], row["expect"], row["ticket"]) == (kept, "fail", "17")
    assert umi("replay", "--quiet", kept).exit_code == 0


def test_a_mended_bug_is_blessed_and_stays_fixed(path: str) -> None:
    mend(path)
    result = umi("replay", path)
    assert result.exit_code == 1
    assert f"umi-sim bless {path}" in result.stdout
    lines = umi("bless", path).stdout.splitlines()
    assert lines[:2] == [f"OK {path}: blessed, expected to pass", "  result fail -> pass"]
    assert umi("replay", "--quiet", path).exit_code == 0
    assert "nothing to bless" in umi("bless", path).stdout


def test_what_passes_is_removed_by_a_prune_alone(path: str) -> None:
    assert umi("corpus", "prune").stdout == f"  same failure  {path}\n"
    mend(path)
    assert umi("corpus", "list").stdout.split()[0] == "fail"
    assert umi("corpus", "prune").stdout.split() == ["removed", path]
    assert umi("corpus", "prune").stdout == "no seed files in .umi-sim/ephemeral\n"


def test_a_file_that_cannot_be_read_is_listed_as_such(path: str) -> None:
    Path(path).write_text("{}")
    listed = umi("corpus", "list")
    assert (listed.exit_code, listed.stdout.split()[0]) == (2, "unreadable")
    assert umi("bless", path).exit_code == 2


def test_a_replay_from_the_seed_alone_and_its_records(path: str) -> None:
    assert "same failure: same items; as recorded" in umi("replay", "--regenerate", path).stdout
    assert umi("replay", "--quiet", "--expect", "pass", path).exit_code == 1
    assert umi("replay", "--quiet", "--trace", "x.trace", path).exit_code == 0
    assert trace.read(Path("x.trace")).hexdigest == seed_file.read(Path(path)).expect.trace


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--trace", "x", "{path}", "{path}"), "--trace: write the records of one recorded file"),
        (("--trace", "no/x", "{path}"), "no/x: cannot be written"),
        (("--expect", "maybe", "{path}"), "'maybe' is not one of 'pass', 'fail'"),
    ],
)
def test_what_makes_no_sense_is_refused(args: tuple[str, ...], message: str, path: str) -> None:
    result = umi("replay", *(arg.format(path=path) for arg in args))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_bug_that_was_never_mended_is_not_back(path: str) -> None:
    output = umi("replay", "--expect", "pass", path).stdout
    assert "  replay   same failure: expected to pass, and it fails as recorded\n" in output
    assert f"  repeat   umi-sim replay --expect pass {path}\n" in output


def test_what_is_expected_to_pass_is_shown_so(path: str) -> None:
    mend(path)
    assert umi("bless", path).exit_code == 0
    first, second, *_ = umi("show", path).stdout.splitlines()
    assert first == "PASS canary seed 0: expected to pass now; what it was before:"
    assert second.startswith("FAIL safety ttl-boundary ")


def test_what_is_kept_for_good_is_not_replaced(path: str) -> None:
    """A bug that was fixed and is back is the same failure; one with other items gets another file."""
    assert umi("corpus", "keep", path, "--ticket", "1").exit_code == 0
    (kept,) = Path("scenarios/seeds").glob("*.json")
    before = kept.read_bytes()
    again = Path("again.json")
    again.write_bytes(before)
    assert f"{kept} is there already, and expects to fail: remove one of the two" in refused(
        "corpus", "keep", "again.json", "--ticket", "2"
    )
    assert kept.read_bytes() == before
    assert umi("corpus", "keep", kept.as_posix(), "--notes", "new").exit_code == 0
    longer = seed_file.read(again)
    seed_file.write(kept, structs.replace(longer, items=longer.items[:1]))
    before = kept.read_bytes()
    assert umi("corpus", "keep", "again.json", "--ticket", "3").exit_code == 0
    assert kept.read_bytes() == before
    assert len([*Path("scenarios/seeds").glob("*.json")]) == 2


def test_a_trace_replaces_nothing_but_a_trace(path: str) -> None:
    Path("app.py").write_text("print()")
    assert "app.py: is no trace, and would be written over" in refused("replay", path, "--trace", "app.py")
    for _ in range(2):
        assert umi("replay", path, "--trace", "out.trace", "--quiet").exit_code == 0
    assert "out.trace: is a trace, and no seed file: umi-sim show out.trace" in refused("replay", "out.trace")


def test_only_folders_are_listed_and_a_bad_file_is_reported_with_its_reason(path: str) -> None:
    for name in ("nodir", path):
        listed = umi("corpus", "list", name)
        assert (listed.exit_code, listed.stderr) == (2, f"umi-sim: {name}: no such folder\n")
    Path(path).write_text("{}")
    result = umi("corpus", "prune")
    assert (result.exit_code, result.stdout) == (
        2,
        f'  unreadable  {path}: format: expected "umi-seed", so this is no seed file\n',
    )

"""Goal: files of ours are tests in every project, printed in our own layout; other files are left alone."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from msgspec import structs

from tests.unit.sim.commands import OWN
from umi_sim.explain import report
from umi_sim.runs import corpus, replay, runner
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file

pytest_plugins = ("pytester",)
pytestmark = pytest.mark.slow
LOADED: Final = (corpus, replay, report)  # before an inner run, which would forget what it has imported

PLAIN: Final = OWN.replace("operations = 20", "operations = 8")
SCRIPT: Final = """
kind = "script"
script = [
    { at_ms = 0, agent = "a", name = "set", args = { key = "k", value = "tea", ttl_ms = 1000 } },
    { at_ms = 1000, agent = "a", name = "get", args = { key = "k" } },
]
[faults]
"""
BROKEN: Final = (
    PLAIN.replace('"own"', '"broken"\nmutant = "get-alive-at-expiry"').split("operations")[0] + SCRIPT
)
Pytester = pytest.Pytester


@pytest.fixture(autouse=True)
def project(pytester: Pytester) -> Path:
    """A project with one test of its own and one scenario."""
    pytester.makepyfile(test_mine="def test_mine(): pass")
    pytester.makefile(".toml", **{"scenarios/own": PLAIN})
    return pytester.path


def run(pytester: Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(
        "-p", "umi_sim.testing.pytest_plugin", "-p", "no:cacheprovider", *args
    )


def ids(pytester: Pytester, *args: str) -> list[str]:
    """What would be run, in order."""
    lines = run(pytester, "--collect-only", "-q", *args).outlines
    return [line for line in lines if "::" in line]


def seed_file_of(text: str) -> seed_file.SeedFile:
    config = scenario.draw(scenario.parse(text, "a.toml", None), 1)
    return seed_file.of_verdict(runner.run_once(config)[0])


def failing(result: seed_file.ExpectedResult | None = None) -> seed_file.SeedFile:
    """The recorded failure of a memory with a bug."""
    seed = seed_file_of(BROKEN)
    assert seed.failure is not None
    return structs.replace(seed, expect=result or seed.expect)


def mended(seed: seed_file.SeedFile) -> seed_file.SeedFile:
    """The same record, as if the bug had been mended since."""
    return structs.replace(seed, config=structs.replace(seed.config, planted=None))


# What is collected.


def test_a_scenario_has_a_test_for_each_seed_and_a_seed_file_has_one(pytester: Pytester) -> None:
    seed_file.write(Path("scenarios/seeds/gone-41c07e5ab9d3.json"), seed_file_of(PLAIN))
    assert ids(pytester, "--umi-sim-seeds", "40..42") == [
        "scenarios/own.toml::own[40]", "scenarios/own.toml::own[41]", "scenarios/own.toml::own[42]",
        "scenarios/seeds/gone-41c07e5ab9d3.json::seeds/gone-41c07e5ab9d3",
        "test_mine.py::test_mine",
    ]  # fmt: skip


def test_a_base_adds_as_many_fresh_seeds_and_always_the_same(pytester: Pytester) -> None:
    base = ("--umi-sim-seeds", "0..1", "--umi-sim-base", "64aa92f6c0ffee0123456789abcdef0123456789")
    first, second, *fresh = ids(pytester, *base, "scenarios")
    assert [first, second] == ["scenarios/own.toml::own[0]", "scenarios/own.toml::own[1]"]
    assert len(set(fresh)) == 2
    assert ids(pytester, *base, "scenarios") == [first, second, *fresh]


def test_files_of_others_are_left_alone(pytester: Pytester) -> None:
    seed_file.write(Path("elsewhere/kept.json"), seed_file_of(PLAIN))
    pytester.makefile(".toml", **{"elsewhere/own": PLAIN, "scenarios/setup": "[tool]\nid = 'x'\n"})
    pytester.makefile(".toml", **{"scenarios/story": "[scenario]\nhero = 'x'\n"})
    pytester.makefile(".json", **{"scenarios/data": '{"format": "geo"}', "scenarios/list": "[]"})
    assert ids(pytester, "--umi-sim-seeds", "0") == ["scenarios/own.toml::own[0]", "test_mine.py::test_mine"]


def test_a_file_that_is_named_is_run_wherever_it_lies(pytester: Pytester) -> None:
    pytester.makefile(".toml", **{"elsewhere/byhand": PLAIN.replace('"own"', '"own"\nmanual = true')})
    assert ids(pytester, "--umi-sim-seeds", "3", "elsewhere/byhand.toml") == ["elsewhere/byhand.toml::own[3]"]


def test_a_scenario_for_running_by_hand_must_be_named(pytester: Pytester) -> None:
    pytester.makefile(".toml", **{"scenarios/byhand": PLAIN.replace('"own"', '"own"\nmanual = true')})
    assert ids(pytester, "--umi-sim-seeds", "0", "scenarios") == ["scenarios/own.toml::own[0]"]


def test_folders_of_the_configuration_are_run_whenever_no_path_is_given(pytester: Pytester) -> None:
    pytester.makefile(".toml", **{"worlds/other": PLAIN.replace('"own"', '"other"')})
    pytester.mkdir("tests").joinpath("test_more.py").write_text("def test_more(): pass")
    pytester.makeini("[pytest]\ntestpaths = tests\numi_sim_paths = worlds\n")
    assert ids(pytester, "--umi-sim-seeds", "0") == [
        "tests/test_more.py::test_more", "worlds/other.toml::other[0]",
    ]  # fmt: skip
    assert ids(pytester, "--umi-sim-seeds", "0", "tests") == ["tests/test_more.py::test_more"]


def test_the_marker_leaves_our_tests_out(pytester: Pytester) -> None:
    assert ids(pytester, "-m", "not umi_sim", "--strict-markers") == ["test_mine.py::test_mine"]


def test_a_project_without_such_files_pays_for_nothing() -> None:
    code = """if True:
        import sys, pytest
        before = set(sys.modules)
        pytest.main(["-p", "umi_sim.testing.pytest_plugin", "-p", "no:cacheprovider", "-q", "test_mine.py"])
        loaded = [name for name in set(sys.modules) - before if name[:4] in ("umi_", "nump", "attr", "clic")]
        print(sorted(loaded))
    """
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "['umi_sim', 'umi_sim.testing', 'umi_sim.testing.pytest_plugin']"


# What is printed.


def test_lives_that_keep_every_promise_pass(pytester: Pytester) -> None:
    run(pytester, "--umi-sim-seeds", "0..2").assert_outcomes(passed=4)
    assert not Path(".umi-sim").exists()


def test_a_failure_is_printed_in_our_layout_and_leaves_its_seed_file(pytester: Pytester) -> None:
    pytester.makefile(".toml", **{"scenarios/broken": BROKEN})
    result = run(pytester, "--umi-sim-seeds", "1", "scenarios")
    result.assert_outcomes(passed=1, failed=1)
    (path,) = Path(".umi-sim/ephemeral").iterdir()
    lines = result.outlines
    at = next(number for number, line in enumerate(lines) if line.startswith("FAIL safety "))
    assert " broken[1] " in lines[at - 1]
    repeated = lines.index(f"  repeat   umi-sim replay {path}")
    assert at < repeated < at + 5
    assert lines[repeated + 1].startswith("  seed     umi-sim run scenarios/broken.toml --seed 1")
    assert any(
        line.startswith("  shrunk   none of 2 operations can be left out, tried in ") for line in lines
    )
    assert not any("Traceback" in line or ".py:" in line for line in lines)
    assert seed_file.read(path).minimised is not None


def test_failures_of_earlier_runs_go_first_until_they_are_mended(pytester: Pytester) -> None:
    seed = failing()
    path = Path(".umi-sim/ephemeral/old-41c07e5ab9d3.json")
    seed_file.write(path, seed)
    result = run(pytester, "-v", "--umi-sim-seeds", "0")
    result.assert_outcomes(passed=2, failed=1)
    seen = [line.split(" ")[0] for line in result.outlines if "%]" in line]
    assert seen[0] == ".umi-sim/ephemeral/old-41c07e5ab9d3.json::ephemeral/old-41c07e5ab9d3"
    result.stdout.fnmatch_lines(["FAIL safety *", f"  replay   {path}: same failure: *"])
    seed_file.write(path, mended(seed))
    for _ in range(4):
        result = run(pytester, "--umi-sim-seeds", "0")
        result.assert_outcomes(passed=3)
        assert f"passes now, and is run each time: {path}" in result.outlines
    seed_file.write(path, seed)
    assert ids(pytester, "test_mine.py") == ["test_mine.py::test_mine"]
    assert ids(pytester, "--umi-sim-seeds", "0", "scenarios/own.toml") == ["scenarios/own.toml::own[0]"]


def test_workers_take_the_list_of_their_parent(pytester: Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    seed_file.write(Path(".umi-sim/ephemeral/late-41c07e5ab9d3.json"), failing())
    names = ["old-41c07e5ab9d3.json"]
    monkeypatch.setattr(pytest.Config, "workerinput", {"umi_sim_kept": names}, raising=False)
    first, *_ = ids(pytester, "--umi-sim-seeds", "0")
    assert first.endswith("::ephemeral/old-41c07e5ab9d3")
    run(pytester, "--umi-sim-seeds", "0").assert_outcomes(passed=2, skipped=1)  # it was removed meanwhile


def test_an_open_bug_is_expected_to_fail(pytester: Pytester) -> None:
    seed = failing()
    history = structs.replace(seed.history, ticket="BUG-7")
    seed_file.write(Path("scenarios/seeds/open.json"), structs.replace(seed, history=history))
    result = run(pytester, "-rx", "scenarios/seeds")
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["XFAIL * - open bug; BUG-7"])
    run(pytester, "--runxfail", "scenarios/seeds").assert_outcomes(failed=1)


def test_an_open_bug_that_has_gone_asks_to_be_blessed(pytester: Pytester) -> None:
    seed_file.write(Path("scenarios/seeds/open.json"), mended(failing()))
    result = run(pytester, "--umi-sim-relaxed", "scenarios/seeds")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["UNEXPECTED PASS scenarios/seeds/open.json: *", "  next * bless scenarios/*"]
    )


def test_a_fixed_bug_that_is_back_fails(pytester: Pytester) -> None:
    seed_file.write(Path("scenarios/seeds/fixed.json"), failing(seed_file.ExpectedResult("pass")))
    result = run(pytester, "scenarios/seeds")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL safety ttl-boundary *", "  replay * it was fixed once, and is back"])


def test_hashes_count_unless_relaxed(pytester: Pytester) -> None:
    seed = seed_file_of(PLAIN)
    other = structs.replace(seed.expect, trace="00" * 16)
    seed_file.write(Path("scenarios/seeds/golden.json"), structs.replace(seed, expect=other))
    result = run(pytester, "scenarios/seeds")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["DIVERGED scenarios/seeds/golden.json: *"])
    run(pytester, "--umi-sim-relaxed", "scenarios/seeds").assert_outcomes(passed=1)


def test_one_seed_file_alone_must_not_fail_whatever_it_recorded(pytester: Pytester) -> None:
    path = Path("elsewhere/open.json")
    seed_file.write(path, failing())
    result = run(pytester, "--umi-sim-replay", str(path))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL safety ttl-boundary *"])
    seed_file.write(path, mended(failing()))
    run(pytester, "--umi-sim-replay", str(path)).assert_outcomes(passed=1)


# Mistakes.


def test_a_bad_scenario_is_one_line(pytester: Pytester) -> None:
    pytester.makefile(".toml", **{"scenarios/bad": PLAIN.replace("operations", "operation")})
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR collecting scenarios/bad.toml*", "scenarios/bad.toml: workload.operation: *"]
    )
    assert not any("Traceback" in line or ".py:" in line for line in result.outlines)


def test_a_bad_seed_file_is_one_line(pytester: Pytester) -> None:
    pytester.makefile(".json", **{"scenarios/bad": '{"format": "umi-seed", "version": 1'})
    result = run(pytester, "--umi-sim-seeds", "0", "scenarios")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["scenarios/bad.json: *"])


@pytest.mark.parametrize(
    ("args", "pattern"),
    [
        (("--umi-sim-seeds", "5..1"), "*--umi-sim-seeds: 5..1: *"),
        (("--umi-sim-base", "x y"), "*--umi-sim-base: *x y*"),
        (("-o", "umi_sim_paths=wolrds"), "*umi_sim_paths: no folder 'wolrds'*"),
        (("--umi-sim-replay", "none.json"), "*--umi-sim-replay: none.json: no such file*"),
        (("--umi-sim-replay", "scenarios/own.toml"), "*--umi-sim-replay: scenarios/own.toml: not a seed *"),
    ],
)
def test_a_bad_option_is_one_line(pytester: Pytester, args: tuple[str, ...], pattern: str) -> None:
    result = run(pytester, *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([pattern])

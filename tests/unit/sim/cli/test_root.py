"""Goal: every command does what its help says, ends with the code of its table, and errs in one line."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result
from msgspec import structs

from tests.spec_tables import rows, whole
from tests.unit.sim.commands import OWN, refused, umi
from umi_core.data import is_struct
from umi_sim.cli import sweep as cli_sweep
from umi_sim.cli.root import HEADINGS, PLACES, cli
from umi_sim.cli.source import hunt_report, summary
from umi_sim.kernel.report import laid_out
from umi_sim.mutants import CannotPlant, Mutant, source_edits
from umi_sim.mutants.registry import MUTANTS
from umi_sim.mutants.source_edits import draw_edits
from umi_sim.record import trace
from umi_sim.record.exit_codes import CODES, EXIT_CODES, HARNESS, INTERRUPTED, SEVEREST_FIRST, USAGE, severest
from umi_sim.runs import mutation_run as hunt
from umi_sim.runs import replay, runner
from umi_sim.runs.mutation_run import MutantHunt
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.sweep import source_hunt, verify
from umi_sim.sweep.plan import SweepPlan, source_of
from umi_sim.sweep.source_hunt import NO_START, SourceHunt

pytestmark = pytest.mark.usefixtures("small_worlds")
ROOT = Path(__file__).resolve().parents[4]


def test_exit_codes_are_those_of_the_table() -> None:
    means = {whole(row["code"]): row["means"] for row in rows("simulator", "exit_codes")}
    assert {kind for kind, code in EXIT_CODES.items() if kind not in means[code]} == set()
    assert set(means) == {0, USAGE, HARNESS, INTERRUPTED, *EXIT_CODES.values()}


def test_the_help_lists_every_command_once() -> None:
    listed = [name for names in HEADINGS.values() for name in names]
    assert sorted(listed) == cli.list_commands(click.Context(cli))


def broken_run() -> tuple[Result, Path]:
    """A run that fails, and its seed file."""
    result = umi("run", "bad.toml", "--seed", "1")
    assert result.exit_code == 1
    (path,) = Path(".umi-sim/ephemeral").iterdir()
    return result, path


# run


def test_a_run_prints_its_verdict_and_the_command_that_repeats_it() -> None:
    result = umi("run", "own.toml", "--seed", "0x2a", "--set", "workload.operations=10")
    assert result.exit_code == 0
    first, second, *_ = result.stdout.splitlines()
    assert first.startswith("PASS own seed 42: 10 operations, 0 faults, ")
    assert second == "  repeat   umi-sim run own.toml --seed 42 --set workload.operations=10"
    assert umi(*second.split()[2:]).stdout == result.stdout


def test_a_fresh_seed_is_printed_and_repeats() -> None:
    first = umi("run", "own.toml").stdout
    assert umi(*first.splitlines()[1].split()[2:]).stdout == first


def test_a_run_that_fails_leaves_a_seed_file_and_says_how_to_replay_it() -> None:
    result, path = broken_run()
    assert result.stdout.splitlines()[0].startswith("FAIL safety ")
    assert f"  repeat   umi-sim replay {path}" in result.stdout.splitlines()[:5]
    assert umi("run", "bad.toml", "--seed", "1").stdout == result.stdout  # a pure function of the run
    assert seed_file.read(path).history.hits == 2


def test_a_failure_is_reported_as_its_own_where_the_file_holds_a_smaller_run_that_fails_alike() -> None:
    assert umi("run", "own.toml", "--seed", "2", "--set", "run.steps_max=9").exit_code == 5
    output = umi("run", "own.toml", "--seed", "3", "--set", "run.steps_max=12").stdout
    assert output.startswith("FAIL timeout progress (LIVE-2) at step 12\n")
    assert "  repeat   umi-sim run own.toml --seed 3 --set run.steps_max=12\n" in output
    (path,) = Path(".umi-sim/ephemeral").iterdir()
    assert f"  known    an earlier, smaller run fails in the same way: umi-sim replay {path}\n" in output


def test_a_timeout_without_items_shares_no_file_with_a_run_of_another_seed() -> None:
    """Its file can hold a run that was ended by force, which nothing but its seed identifies."""
    runs = (("1", "1"), ("2", "9"), ("3", "1"), ("1", "1"))
    for seed, steps_max in runs:
        output = umi("run", "own.toml", "--seed", seed, "--set", f"run.steps_max={steps_max}").stdout
        assert "known" not in output
    assert len([*Path(".umi-sim/ephemeral").iterdir()]) == 3


def test_a_run_as_json() -> None:
    report = json.loads(umi("run", "own.toml", "--seed", "1", "--json").stdout)
    assert (report["result"], report["seed"], report["failure"]) == ("pass", "1", None)
    broken = json.loads(umi("run", "bad.toml", "--seed", "1", "--json").stdout)
    assert broken["failure"]["kind"] == "safety"
    assert broken["repeat"].startswith("umi-sim replay .umi-sim/ephemeral/")


def test_a_quiet_run_has_only_its_exit_code() -> None:
    result = umi("run", "bad.toml", "--seed", "1", "--quiet")
    assert (result.exit_code, result.output) == (1, "")


def test_a_conversation_is_simulated() -> None:
    lines = [{"speaker": "ann", "text": f"I like tea number {n}."} for n in range(4)]
    Path("talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = umi("run", "own.toml", "--seed", "3", "--transcript", "talk.jsonl")
    assert result.exit_code == 0
    assert "--transcript talk.jsonl" in result.stdout


@pytest.mark.slow
def test_a_conversation_is_remembered_completely_or_its_part_is_reported() -> None:
    lines = [{"speaker": "ann", "text": f"I like tea number {n}."} for n in range(30)]
    Path("talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    spoken = ("run", "own.toml", "--seed", "3", "--transcript", "talk.jsonl")
    whole = umi(*spoken, "--trace", "whole.trace").stdout
    assert "  told " not in whole
    assert "I like tea number 29." in umi("show", "whole.trace").stdout
    part = umi(*spoken, "--set", "workload.operations=20").stdout
    assert "  told     8 of 30 turns, in 20 operations: leave --set workload.operations out" in part
    report = json.loads(umi(*spoken, "--set", "workload.operations=20", "--json").stdout)
    assert report["told"].startswith("8 of 30 turns")


def test_a_mode_is_a_setting_of_the_scenario() -> None:
    report = json.loads(umi("run", "own.toml", "--seed", "1", "--mode", "swarm", "--json").stdout)
    assert report["mode"] == "swarm"
    assert report["repeat"] == "umi-sim run own.toml --seed 1 --set scenario.swarm.mode=swarm"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "nowhere: no such scenario; "),
        (["nowhere.toml"], "nowhere.toml: cannot be read: No such file"),
        (["--seed", "-1"], "'-1' is not a seed"),
        (["--seed", str(2**64)], "is not a seed"),
        (["--set", "agents.count"], "write TABLE.KEY=VALUE"),
        (["--set", "agents.cuont=1"], "--set: agents.cuont: unknown key"),
        (["--mode", "wild"], "'wild' is not one of"),
        (["--trace", "no/where.trace"], "no/where.trace: cannot be written"),
        (["--trace", "own.toml/x.trace"], "own.toml/x.trace: cannot be written"),
        (["--trace", "pipe"], "pipe: cannot be written: there is something that is no file"),
        (["--transcript", "no.jsonl"], "no.jsonl:1: No such file"),
        (["--transcript", "pipe"], "pipe:1: not a file, expected a file that can be read"),
        (["--transcript", "own.toml"], "own.toml:2: no JSON"),
        (["own.toml", "more"], "unexpected extra argument (more)"),
        (["--odd"], "No such option"),
    ],
)
def test_a_run_that_cannot_begin_is_one_line(args: list[str], message: str) -> None:
    os.mkfifo("pipe")
    assert message in refused("run", *args)


# replay, show, check


def test_a_replay_of_the_same_failure_is_good() -> None:
    _, path = broken_run()
    result = umi("replay", str(path))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1] == "  replay   same failure: as recorded"
    report = json.loads(umi("replay", "--json", str(path)).stdout)
    assert (report["class"], report["exit"]) == ("same failure", 0)


def edited(path: Path, **changes: object) -> str:
    """The seed file with other top-level keys, its checksum put right."""
    document: dict[str, Any] = {**json.loads(path.read_text()), **changes}
    document["checksum"] = seed_file.checksum(document)
    Path("edited.json").write_text(json.dumps(document))
    return "edited.json"


def test_a_failure_that_is_gone_has_code_1() -> None:
    _, path = broken_run()
    document = json.loads(path.read_text())
    file = edited(path, config={**document["config"], "planted": None})
    result = umi("replay", file)
    assert result.exit_code == 1
    assert result.stdout.startswith("PASS bad seed 1: ")
    assert "  replay   passes: the failure is gone" in result.stdout


def test_another_failure_is_saved_and_has_its_own_code() -> None:
    _, path = broken_run()
    failure = {**json.loads(path.read_text())["failure"], "fingerprint": "0" * 12}
    file = edited(path, failure=failure)
    path.unlink()
    result = umi("replay", file)
    assert result.exit_code == 1
    assert "  replay   other failure: " in result.stdout
    assert f"  saved    umi-sim replay {path}" in result.stdout
    assert path.exists()


def test_another_trace_is_diverged_in_strict_and_good_in_relaxed() -> None:
    _, path = broken_run()
    expect = {**json.loads(path.read_text())["expect"], "trace": "00" * 16}
    file = edited(path, expect=expect)
    result = umi("replay", file)
    assert result.exit_code == 4
    assert "  replay   diverged: the first difference is after step " in result.stdout
    assert umi("replay", "--relaxed", file).exit_code == 0


def test_blocks_are_compared_where_both_runs_have_one() -> None:
    verdict = runner.run(scenario.draw(scenario.find("own.toml"), 1))
    theirs = structs.replace(verdict, prefix=(b"a", b"b", b"c", b"d"), prefix_every=16)
    for prefix, place in (((b"b", b"d"), ""), ((b"b", b"x"), "33 to 64"), ((b"x", b"d"), "1 to 32")):
        expect = structs.replace(seed_file.of_verdict(verdict).expect, prefix=prefix, every=32)
        seed = structs.replace(seed_file.of_verdict(verdict), expect=expect)
        difference = replay.difference(seed, theirs, "passes")
        assert difference == (f"the first difference is in steps {place}" if place else "")


def test_a_file_edited_by_hand_is_relaxed_and_says_so() -> None:
    _, path = broken_run()
    text = path.read_text()
    Path("edited.json").write_text(text.replace(json.loads(text)["expect"]["trace"], "00" * 16))
    result = umi("replay", "edited.json")
    assert result.exit_code == 0
    assert result.stderr == "umi-sim: edited.json: edited by hand: hashes not trusted\n"


def test_a_file_made_elsewhere_says_so_in_one_line() -> None:
    _, path = broken_run()
    file = edited(path, made_by={"umi_sim": "0.0.9", "python": "cpython 9\x1b", "platform": "amiga"})
    result = umi("replay", file)
    assert result.exit_code == 0
    assert result.stderr.startswith("umi-sim: edited.json: made by 0.0.9 cpython 9\\x1b amiga, replayed by ")
    assert result.stderr.count("\n") == 1


def test_one_file_that_cannot_be_read_does_not_keep_the_others_from_running() -> None:
    _, path = broken_run()
    result = umi("replay", "absent.json", str(path))
    assert result.exit_code == 2
    assert "same failure: as recorded" in result.stdout
    assert result.stderr == "umi-sim: absent.json: cannot be read: No such file or directory\n"


def test_a_file_that_is_read_is_not_written_over() -> None:
    _, path = broken_run()
    assert "is read, and would be written over" in refused("replay", str(path), "--trace", f"./{path}")
    assert "own.toml: is read" in refused("run", "own.toml", "--trace", "own.toml")


def test_a_golden_run_that_passes_is_good() -> None:
    verdict = runner.run(scenario.draw(scenario.find("own.toml"), 1))
    seed_file.write(Path("golden.json"), verdict)
    assert umi("replay", "golden.json").exit_code == 0


def test_show_tells_a_seed_file_without_running_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ran, path = broken_run()
    monkeypatch.setattr(runner, "run_once", None)
    result = umi("show", str(path))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == ran.stdout.splitlines()[:2]
    items = seed_file.read(path).items
    assert umi("show", "--all", str(path)).stdout.count("  script.") == len(items) + 1


def test_show_tells_a_trace_line_by_line() -> None:
    assert umi("run", "own.toml", "--seed", "1", "--trace", "run.trace").exit_code == 0
    lines = umi("show", "run.trace").stdout.splitlines()
    assert len(lines) == len(trace.read(Path("run.trace")).kept)
    assert '"own"' in lines[0]


@pytest.mark.parametrize("name", ["absent", "own.toml", "folder", "pipe"])
def test_show_of_anything_else_is_one_line(name: str) -> None:
    Path("folder").mkdir()
    os.mkfifo("pipe")
    assert name in refused("show", name)


def test_check_says_ok_in_one_line() -> None:
    _, path = broken_run()
    Path("talk.jsonl").write_text('{"speaker": "ann", "text": "hello"}\n')
    outputs = [umi("check", name).stdout for name in ("own.toml", str(path), "talk.jsonl")]
    assert outputs[0] == "OK own.toml: scenario own, version 1\n"
    assert outputs[1].startswith(f"OK {path}: seed file of bad seed 1, ")
    assert outputs[2] == "OK talk.jsonl: transcript of 1 turn\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.toml", OWN.replace("count = 1", "cuont = 1"), "agents.cuont: unknown key; did you mean count?"),
        ("x.json", '{"format":"umi-seed"}', "version: missing"),
        ("x.jsonl", "{}", "x.jsonl:1: speaker or role is missing"),
        ("x.txt", "", "expected a scenario (.toml), a seed file (.json) or a transcript (.jsonl)"),
    ],
)
def test_check_names_what_is_wrong(name: str, text: str, message: str) -> None:
    Path(name).write_text(text)
    assert message in refused("check", name)


# Lists.


def test_scenarios_lists_what_ships_and_resolves_one() -> None:
    listed = umi("scenarios").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(scenario.list_shipped())
    resolved = json.loads(umi("scenarios", "own.toml", "--seed", "7", "--json").stdout)
    assert (resolved["scenario"], resolved["seed"], resolved["operations_max"]) == ("own", "7", 20)


def test_faults_lists_every_kind() -> None:
    rows = json.loads(umi("faults", "--json").stdout)
    assert len(umi("faults").stdout.splitlines()) == len(rows)
    assert rows[0]["name"] == "model_timeout"


def commands() -> dict[str, click.Command]:
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def test_help_has_an_example_that_runs_for_every_command() -> None:
    for name, command in commands().items():
        if not command.hidden:
            assert f"umi-sim {name}" in umi(name, "--help").stdout


def test_help_names_the_file_that_the_canary_leaves() -> None:
    umi("run", "canary", "--seed", "0", "--no-shrink")
    (path,) = Path(".umi-sim/ephemeral").iterdir()
    for name in ("show", "shrink", "why", "verify", "step", "export"):
        assert path.as_posix() in umi(name, "--help").stdout


def test_without_a_command_the_help_is_printed() -> None:
    assert umi().stdout == umi("--help").stdout


@pytest.mark.parametrize("args", [["bogus"], ["replay"], ["mutants", "--only", "x"], ["scenarios", "x"]])
def test_usage_errors_are_one_line(args: list[str]) -> None:
    refused(*args)


def test_exit_codes_by_severity() -> None:
    assert severest([]) == 0
    assert severest([5, 0, 3]) == 3
    assert severest([5, 1, 3]) == 1
    assert severest([1, 4]) == 4
    assert severest([4, 2, 1]) == 2
    assert severest([4, 2, INTERRUPTED]) == INTERRUPTED
    assert set(SEVEREST_FIRST) | {0} == CODES.keys()


# verify


@pytest.mark.slow
def test_two_different_processes_live_the_same_life() -> None:
    result = umi("verify", "own.toml", "--seed", "5")
    assert result.exit_code == 0
    trace = runner.run(scenario.draw(scenario.find("own.toml"), 5)).trace_hash
    assert result.stdout == f"SAME own.toml seed 5: trace {trace} in both processes\n"
    assert (
        umi("verify", "own.toml", "--seeds", "0..2").stdout
        == "SAME own.toml: 3 traces, each the same in both processes\n"
    )


def test_a_difference_is_code_4(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = iter(("aa", "ac"))
    monkeypatch.setattr(verify, "ask_worker", lambda *asked: {"trace": next(traces)})
    monkeypatch.setattr(verify, "apart", lambda *asked: None)
    result = umi("verify", "own.toml", "--seed", "5")
    assert result.exit_code == 4
    assert result.stdout == (
        f"FAIL nondeterminism same-seed-same-trace (DET-1): own.toml seed 5\n           {verify.NO_MORE}\n"
    )


@pytest.mark.slow
def test_a_seed_file_is_verified_too() -> None:
    _, path = broken_run()
    assert f"trace {seed_file.read(path).expect.trace} in both" in umi("verify", str(path)).stdout
    assert "a seed file has its seed" in refused("verify", str(path), "--seed", "1")
    assert "absent.json: cannot be read" in refused("verify", "absent.json")


def test_verify_wants_one_of_its_options() -> None:
    assert "either --seed S or --seeds A..B" in refused("verify", "own.toml")
    assert "no such scenario" in refused("verify", "nowhere", "--seed", "1")


# mutants


def test_a_mutant_is_hunted_until_it_is_seen() -> None:
    result = umi("mutants", "--only", "get-alive-at-expiry", "--json")
    (row,) = json.loads(result.stdout)
    assert row["rule"]
    assert row["seeds"] >= 1


def test_planted_bugs_are_listed_without_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(hunt, "hunt")
    listed = json.loads(umi("mutants", "--list", "--json").stdout)
    assert [it["name"] for it in listed] == list(MUTANTS)
    assert [it["rules"] for it in listed if it["name"] == "ttl-zero-is-forever"] == [["ttl-range"]]
    lines = umi("mutants", "--list", "--area", "working").stdout.splitlines()
    named = {line.split()[0] for line in lines if not line.startswith(" ")}
    assert named == {bug.name for bug in MUTANTS.values() if bug.area == "working"}


def test_the_failing_run_of_one_mutant_is_printed() -> None:
    output = umi("mutants", "get-alive-at-expiry").stdout
    _, look = output.splitlines()
    command = look.removeprefix("  look     umi-sim ").split()
    assert command[:4] == ["run", "working", "--seed", "0"]
    assert umi(*command, "--no-shrink").exit_code == 1


def test_a_mutant_that_no_run_shows_names_its_test() -> None:
    result = umi("mutants", "jumps-anywhere")
    assert result.exit_code == 2
    assert result.stderr.startswith("umi-sim: jumps-anywhere: no run shows it, but tests/properties/")


def test_a_mutant_that_is_not_found_is_code_4(monkeypatch: pytest.MonkeyPatch) -> None:
    missed = MutantHunt("get-alive-at-expiry", "", ("ttl-boundary",), 200, 7)
    monkeypatch.setattr(hunt, "hunt", lambda mutant: missed)
    result = umi("mutants", "--only", "get-alive-at-expiry")
    assert result.exit_code == 4
    assert result.stdout == "NOT FOUND get-alive-at-expiry in 200 seeds and 7 ms: expected ttl-boundary\n"


def test_a_mutant_whose_source_text_has_gone_is_reported_with_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(mutant: Mutant) -> MutantHunt:
        raise CannotPlant(f"{mutant.name} cannot be planted: f.py: the old text is not there:\n    if x:")

    monkeypatch.setattr(hunt, "hunt", gone)
    result = umi("mutants", "get-alive-at-expiry")
    assert result.exit_code == 4
    first, second = result.stdout.splitlines()
    assert first == "NOT PLANTED: get-alive-at-expiry cannot be planted: f.py: the old text is not there:"
    assert second.strip() == "if x:"


@pytest.mark.slow
def test_edits_of_the_source_tell_what_saw_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_edits, "list_files", lambda: ["umi_core/text.py", "umi_core/ids.py"])
    monkeypatch.setattr(source_hunt, "fails_a_test", lambda folder: False)  # those take long
    monkeypatch.setattr(cli_sweep, "sources_of", lambda names: (source_of("working"),))  # as do all scenarios
    (edit,) = draw_edits(5, 1)
    drawn = umi("mutants", "--source", "--sample", "1", "--seed", "5", "--seconds", "1", "--json")
    found, report = json.loads(drawn.stdout)
    assert (found["name"], found["before"], found["after"]) == (edit.name, edit.before, edit.after)
    assert report["edits"] == 1
    hunted = SourceHunt(edit.name, edit.before, edit.after, NO_START, "calm", 0, 1, 1, 0)
    monkeypatch.setattr(source_hunt, "hunts", lambda edits, *rest: [hunted for one in edits if one == edit])
    (alone, _) = json.loads(umi("mutants", "--source", edit.name, "--seconds", "1", "--json").stdout)
    assert alone["name"] == edit.name


def test_edits_of_the_source_are_printed_as_lines() -> None:
    found = SourceHunt("text.py:8:0", "return a", "return b", NO_START, "calm", 3, 1, 1, 1_250)
    survived = structs.replace(found, how="", scenario="", runs=400, met=12, cpu_ms=60_500)
    reports = (hunt_report(found), hunt_report(survived), summary([found, survived]))
    assert [line.split() for report in reports for line in laid_out(report, 80)] == [
        ["text.py:8:0", "does", "not", "start", "1", "run", "1.2", "s"],
        ["-", "return", "a"],
        ["+", "return", "b"],
        ["text.py:8:0", "SURVIVED,", "in", "12", "scenarios", "400", "runs", "60.5", "s"],
        ["-", "return", "a"],
        ["+", "return", "b"],
        ["1", "of", "2", "edits", "seen"],
        ["seen", "by", "does", "not", "start", "1"],
        "cpu of 1 found by runs: 0 within 1 s, 1 within 10 s, 1 within 60 s; half".split(),
        ["within", "1.2", "s"],
        ["does", "not", "start", "importing", "it", "raises"],
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--sample", "3"], "say how --source goes on"),
        (["--source", "--matrix"], "none of --matrix, --area and --list"),
        (["--source", "--list"], "none of --matrix, --area and --list"),
        (["--list", "--matrix"], "--list runs nothing"),
        (["--source", "nothing.py:1:0"], "nothing.py:1:0: no such edit"),
    ],
)
def test_options_of_source_edits_are_checked(args: list[str], message: str) -> None:
    assert message in refused("mutants", *args)


# The process.


def test_a_bug_of_ours_is_code_4_and_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run", None)
    assert umi("run", "own.toml").exit_code == 4


def python(*args: str, **env: str) -> "subprocess.CompletedProcess[str]":
    around = {"PYTHONPATH": str(ROOT), **env}
    return subprocess.run([sys.executable, "-P", *args], env=around, capture_output=True, text=True)


def test_without_asserts_nothing_starts() -> None:
    result = python("-O", "-m", "umi_sim", "run")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("umi-sim: python -O takes away the asserts")
    assert result.stderr.count("\n") == 1
    assert "ImportError: umi_sim: python -O" in python("-O", "-c", "import umi_sim").stderr


def test_a_closed_or_full_standard_output_is_no_bug_of_ours() -> None:
    shell = f"exec {sys.executable} -P -m umi_sim run own.toml --seed 1"
    for to, code, message in ((">&-", 0, ""), (">/dev/full", 2, "standard output: No space left on device")):
        around = {**os.environ, "PYTHONPATH": str(ROOT)}
        result = subprocess.run(["sh", "-c", f"{shell} {to}"], env=around, capture_output=True, text=True)
        # A busy machine takes seconds and tells its progress: "umi-sim: own seed 1: 4 of 9 operations", or
        # "umi-sim: run: 1 s so far" while it still imports.
        lines = [it for it in result.stderr.splitlines() if not it.endswith((" operations", " so far"))]
        assert (result.returncode, lines) == (code, [f"umi-sim: {message}"] if message else [])


HEAVY = ("numpy", "hypothesis", "tomllib", "multiprocessing", "asyncio")
LOADED = f"""
import sys
from umi_sim.cli.root import cli
code = cli(sys.argv[1:], standalone_mode=False)
print(code, [name for name in {HEAVY} if name in sys.modules])
"""


@pytest.mark.slow
def test_a_replay_imports_nothing_heavy() -> None:
    _, path = broken_run()
    assert python("-c", LOADED, "replay", "--quiet", str(path)).stdout == "0 []\n"


def test_importing_umi_sim_is_cheap_and_its_names_are_there() -> None:
    assert python("-c", "import umi_sim, sys; print('umi_core' in sys.modules)").stdout == "False\n"
    import umi_sim

    assert umi_sim.run is runner.run
    with pytest.raises(AttributeError, match="umi_sim has no nothing"):
        _ = umi_sim.nothing


def test_the_version_is_that_of_the_project() -> None:
    assert f'version = "{umi("--version").stdout.split()[-1]}"' in (ROOT / "pyproject.toml").read_text()


def test_every_command_is_registered() -> None:
    modules = {
        path.stem: import_module(f"umi_sim.cli.{path.stem}") for path in (ROOT / "umi_sim/cli").glob("*.py")
    }
    by_module = {
        name: tuple(command.name for command in module.COMMANDS)
        for name, module in modules.items()
        if hasattr(module, "COMMANDS")
    }
    assert by_module == PLACES
    assert commands().keys() == {"run", "show", *(name for names in PLACES.values() for name in names)}
    assert is_struct(MutantHunt)


def test_a_failure_is_written_and_then_made_small() -> None:
    whole = umi("run", "bad.toml", "--seed", "1", "--no-shrink")
    path = next(Path(".umi-sim/ephemeral").glob("*.json"))
    long = seed_file.read(path)
    assert long.minimised is None
    assert "shrunk" not in whole.stdout
    result = umi("run", "bad.toml", "--seed", "1")
    assert result.exit_code == whole.exit_code == 1
    small = seed_file.read(path)
    assert small.minimised is not None
    assert (small.fingerprint, len(small.items)) == (long.fingerprint, 2)
    rows = {line[2:9].strip(): line for line in result.stdout.splitlines()}
    assert f"fails at step {long.failure.step if long.failure else 0} before shrinking" in rows[
        "seed"
    ].replace(",", "")
    shrunk = f"to 2 operations in {small.minimised.runs} runs; none of them can be left out"
    assert rows["shrunk"].endswith(shrunk)
    assert rows["needed"].endswith("without it: passes")
    again = umi("shrink", "--again", "--json", path.as_posix())
    assert json.loads(again.stdout)["minimised"]["to"] == {"op": 2, "fault": 0, "schedule": 0, "clock": 0}
    kept = path.read_bytes()
    message = refused("shrink", "--again", "--budget", "1", path.as_posix())
    assert "not replaced: --budget 1 and --seconds 60 led to no smaller run" in message
    for option in ("--budget", "--seconds"):
        assert "0 is not in the range 1<=x<=" in refused("shrink", option, "0", path.as_posix())
    assert path.read_bytes() == kept


def test_a_failure_without_a_file_offers_nothing_that_needs_one() -> None:
    Path(".umi-sim").write_text("")
    result = umi("run", "bad.toml", "--seed", "1")
    assert result.stderr == "umi-sim: no seed file was written: .umi-sim/ephemeral: Not a directory\n"
    assert "\n  next     umi-sim explain ttl-boundary\n  file " in result.stdout


def test_the_file_of_the_short_run_is_named_for_a_run_that_stays_long() -> None:
    umi("run", "bad.toml", "--seed", "1")
    output = umi("run", "bad.toml", "--seed", "1", "--no-shrink").stdout
    assert "  repeat   umi-sim run bad.toml --seed 1\n" in output
    assert "  known    an earlier, smaller run fails in the same way: umi-sim replay " in output


def test_a_scenario_of_ones_own_is_named_to_draw_from_it_again() -> None:
    umi("run", "bad.toml", "--seed", "1")
    (path,) = [each.as_posix() for each in Path(".umi-sim/ephemeral").glob("*.json")]
    own = "the scenario bad is your own: name its file, --scenario FILE"
    assert f"{path}: {own}" in refused("replay", "--regenerate", path)
    again = umi("replay", "--regenerate", "--scenario", "bad.toml", path).stdout
    assert "  replay   same failure: same items; as recorded\n" in again
    assert f"  repeat   umi-sim replay --regenerate --scenario bad.toml {path}\n" in again
    assert "is read with --regenerate only" in refused("replay", "--scenario", "bad.toml", path)
    assert f"\n  share    not known: {own}\n" in umi("why", "--runs", "3", path).stdout
    output = umi("why", "--runs", "3", "--scenario", "bad.toml", path).stdout
    assert "and all that follows is drawn afresh, as in bad\n" in output
    other = refused("why", "--scenario", "own.toml", path)
    assert "--scenario own.toml: is the scenario own, the run is one of bad" in other


def test_why_takes_a_seed_and_shrinks_its_failure_first() -> None:
    output = umi("why", "--runs", "0", "canary:0").stdout
    (path,) = Path(".umi-sim/ephemeral").glob("ttl-boundary-*.json")
    assert f"  repeat   umi-sim replay {path.as_posix()}\n" in output
    assert "o8 get key" in output
    assert "o7" not in output
    assert "smoke:1: passes, and there is nothing to explain" in refused("why", "smoke:1")


def test_what_cannot_be_shrunk_is_refused() -> None:
    umi("run", "bad.toml", "--seed", "1", "--no-shrink")
    path = next(Path(".umi-sim/ephemeral").glob("*.json"))
    assert "holds no items from before it was shrunk" in refused("shrink", "--again", path.as_posix())
    path.write_text(path.read_text().replace('"planted":"get-alive-at-expiry"', '"planted":null'))
    assert "the run does not fail as recorded" in refused("shrink", path.as_posix())
    assert "cannot be read" in refused("shrink", "nothing.json")
    assert "-1 is not in the range" in refused("shrink", path.as_posix(), "--budget", "-1")


def test_a_shell_that_asks_gets_commands(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("_UMI_SIM_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", "umi-sim sw")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        cli.main([], prog_name="umi-sim")
    assert "sweep" in capsys.readouterr().out


def test_a_sweep_says_which_seeds_are_fresh(small_worlds: None) -> None:
    done = umi("sweep", "own.toml", "--count", "2", "--base", "7", "--jobs", "1")
    assert done.stderr.startswith("umi-sim: fresh seeds from --base 7: ")
    assert SweepPlan((), range(3)).describe_fresh() == ""

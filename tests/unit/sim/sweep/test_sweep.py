"""Goal: a sweep says what its runs came to, whatever breaks on the way, and ends with the right code."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from click.testing import Result
from msgspec import structs

from tests.unit.sim.commands import BAD, OWN, refused, umi
from umi_sim.scenario import floors
from umi_sim.seedfile import files as seed_file
from umi_sim.sweep import conductor, failure_files, journal
from umi_sim.sweep.conductor import Conductor
from umi_sim.sweep.outside import Stopwatch
from umi_sim.sweep.plan import SweepPlan, source_of
from umi_sim.sweep.totals import TOTALS, FoundFailure, Swept, Totals

pytestmark = pytest.mark.usefixtures("small_worlds", "shared_children")
ROOT: Final = Path(__file__).resolve().parents[4]
BLINDNESS: Final = conductor.blindness
TWO: Final = ("own.toml", "bad.toml")


@pytest.fixture(autouse=True)
def _the_canary_is_seen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than the rest; those that are about it have it."""
    if "canary" not in request.node.name:
        monkeypatch.setattr(conductor, "blindness", lambda make: "")


def sweep(*args: str) -> Result:
    return umi("sweep", "--jobs", "1", "--no-shrink", *args)


# What a user sees.


def test_a_sweep_that_sees_the_canary_and_passes() -> None:
    result = sweep("own.toml", "--seeds", "0..11")
    assert result.exit_code == 0
    first, *rest = result.stdout.splitlines()
    assert first.startswith("PASS sweep of 1 scenario, seeds 0..11: 12 runs, ")
    assert first.endswith(", every promise kept")
    assert rest[0].startswith("  requests ")


def test_a_sweep_keeps_one_small_file_for_each_failure() -> None:
    result = umi("sweep", "bad.toml", "own.toml", "--seeds", "0..4", "--jobs", "1", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["runs"] == 10
    assert sum(each["hits"] for each in report["failures"]) == report["failed"]
    for each in report["failures"]:
        assert each["scenario"] == "bad.toml"
        kept = seed_file.read(Path(each["file"]))
        assert kept.history.first_seed == each["seed"]
        assert kept.history.hits == each["hits"]
        assert kept.minimised is not None
        assert len(kept.items) <= 4
        assert umi(*each["repeat"].split()[1:]).exit_code == 0


def test_a_sweep_with_settings_repeats_them_wherever_it_names_the_scenario() -> None:
    settings = ("--set", "workload.operations=7", "--set", "agents.count=2")
    args = ("bad.toml", *settings, "--seeds", "0..4", "--resume", "book.jsonl", "--html", "page.html")
    report = json.loads(sweep(*args, "--json").stdout)
    assert {each["scenario"] for each in report["failures"]} == {" ".join(("bad.toml", *settings))}
    for each in report["failures"]:
        config = seed_file.read(Path(each["file"])).config
        assert config.settings == {"workload.operations": "7", "agents.count": "2"}
        assert len(config.agents) == 2
    assert " ".join(("umi-sim sweep bad.toml --seeds 0..4", *settings)) in Path("page.html").read_text()
    assert json.loads(umi("merge", "book.jsonl", "--json").stdout)["failures"] == report["failures"]
    # Other settings are other runs: nothing of the file is taken for one of them.
    others = json.loads(sweep("own.toml", "--seeds", "0..4", "--resume", "book.jsonl", "--json").stdout)
    assert others["failed"] == 0


def test_a_sweep_may_end_with_the_first_failure() -> None:
    report = json.loads(sweep("bad.toml", "--seeds", "0..49", "--stop-first", "--json").stdout)
    assert report["runs"] < 50
    assert report["failed"] == 1


def test_fresh_seeds_come_from_the_base_and_the_report_says_which() -> None:
    result = sweep("own.toml", "--count", "3", "--base", "0x2a")
    first, *rest = result.stdout.splitlines()
    assert first.startswith("PASS sweep of 1 scenario, 3 fresh: 3 runs, ")
    assert "  fresh    from --base 0x2a" in rest


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "nowhere: no such scenario"),
        (["--seeds", "5..4"], "write A..B with A <= B"),
        (["--seeds", "5.."], "'' is not a seed"),
        (["--seeds", "0..1000000"], "at most 1000000 seeds"),
        (["--jobs", "0"], "--jobs"),
        (["--count", "-1"], "--count"),
        (["own.toml", "--set", "agents.count"], "--set agents.count: write TABLE.KEY=VALUE"),
        (
            ["own.toml", "--set", "agents.count=9"],
            "--set: agents.count: expected a whole number",
        ),
        (["own.toml", "--count", "0"], "no seed to run"),
        (["--base", "HEAD"], "'HEAD' is not a seed"),
        (["--minutes", "0"], "--minutes"),
        (["--shard", "3/2"], "write i/n with 1 <= i <= n"),
        (["--shard", "1"], "write i/n"),
        (["--executor", "cloud"], "cloud: no such executor; known: local"),
        (["--json", "own.toml"], "own.toml: name a file that ends in .json"),
        (["--json", "nowhere/x.json"], "cannot be written"),
        (["--junit", "."], "cannot be written"),
        (["--junit", "own.toml/x.xml"], "own.toml/x.xml: cannot be written"),
        (["--junit", "pipe"], "pipe: cannot be written: there is something that is no file"),
        (["--resume", "own.toml/x.jsonl"], "own.toml/x.jsonl: cannot be written"),
        (["--resume", "."], ".: cannot be read: not a file"),
        (["--resume", "own.toml"], "own.toml: line 1: not a line of a sweep"),
    ],
)
def test_a_sweep_that_cannot_begin_is_one_line(args: list[str], message: str) -> None:
    os.mkfifo("pipe")
    assert message in refused("sweep", *args)


def test_a_child_of_a_killed_parent_ends_without_output() -> None:
    """It ends by the first answer that is not taken."""
    serve = "from umi_sim.sweep.child import serve; serve()"
    read, write = os.pipe()
    os.close(read)
    child = subprocess.run(
        [sys.executable, "-c", serve], stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (child.returncode, child.stderr) == (0, b"")


def test_a_report_for_a_ci_server_is_xml_with_a_test_for_each_thing() -> None:
    result = sweep(*TWO, "--seeds", "0..4", "--junit", "out.xml", "--json", "out.json")
    suite = ElementTree.parse("out.xml").getroot()[0]
    report = json.loads(Path("out.json").read_text())
    assert result.stdout.startswith("FAIL sweep of 2 scenarios")
    names = [case.get("name") for case in suite]
    marks = [f"{each['rule'].split()[0]}-{each['fingerprint']}" for each in report["failures"]]
    assert names == [*TWO, *marks, "harness"]
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["bad.toml", *marks]
    counts = [suite.get(name) for name in ("tests", "failures", "errors")]
    assert counts == [str(len(names)), str(len(failed)), "0"]


# Going on, and adding up.


def test_what_is_in_the_file_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep(*TWO, "--seeds", "0..14", "--resume", "done.jsonl")
    lines = Path("done.jsonl").read_text().splitlines()
    assert len(lines) == 4
    Path("done.jsonl").write_text("\n".join(lines[:2]) + "\n" + lines[2][:100])  # torn
    shutil.rmtree(".umi-sim")
    second = sweep(*TWO, "--seeds", "0..14", "--resume", "done.jsonl")
    assert second.stdout == first.stdout
    assert sorted(Path("done.jsonl").read_text().splitlines()) == sorted(lines)
    monkeypatch.setattr(Conductor, "begin", lambda self, flight: pytest.fail("all of it is done"))
    assert sweep(*TWO, "--seeds", "0..14", "--resume", "done.jsonl").stdout == first.stdout


KILLED: Final = """
import os, signal, sys
from umi_sim.sweep import conductor, journal
from umi_sim.cli.root import cli
conductor.blindness = lambda make: ""
whole = journal.Journal.append
def append(self, chunk):
    if self.path.stat().st_size:
        with self.path.open("ab") as file:
            file.write(journal.line_of(chunk)[:500].encode())
        os.kill(os.getpid(), signal.SIGKILL)
    whole(self, chunk)
journal.Journal.append = append
cli(sys.argv[1:])
"""


def test_a_sweep_that_was_killed_goes_on_where_it_was() -> None:
    args = ("sweep", "--jobs", "1", "--no-shrink", *TWO, "--seeds", "0..9")
    whole = umi(*args)
    shutil.rmtree(".umi-sim")
    command = [sys.executable, "-P", "-c", KILLED, *args, "--resume", "done.jsonl"]
    around = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(command, env=around, check=False).returncode == -signal.SIGKILL
    assert Path("done.jsonl").read_bytes().count(b"\n") == 1
    again = umi(*args, "--resume", "done.jsonl")
    assert again.stdout == whole.stdout, again.stderr


def test_a_sweep_that_goes_on_looks_at_earlier_failures_again() -> None:
    sweep("bad.toml", "--seeds", "7")
    Path("bad.toml").write_text(BAD.replace('\nmutant = "get-alive-at-expiry"', ""))
    first, again = (sweep("bad.toml", "--seeds", "0..2", "--resume", "done.jsonl") for _ in range(2))
    assert "1 earlier failure still there" in first.stdout
    assert (first.exit_code, first.stdout) == (again.exit_code, again.stdout)


def test_two_shards_add_up_to_the_whole() -> None:
    seeds = ("--seeds", "0..5", "--count", "4", "--base", "7")
    whole = sweep(*TWO, *seeds, "--resume", "whole.jsonl", "--json")
    for shard in ("1/2", "2/2"):
        sweep(*TWO, *seeds, "--shard", shard, "--resume", f"{shard[0]}.jsonl")
    forward = umi("merge", "1.jsonl", "2.jsonl", "--out", "12.jsonl", "--json")
    backward = umi("merge", "2.jsonl", "12.jsonl", "1.jsonl", "--out", "21.jsonl", "--json")
    assert (forward.exit_code, forward.stdout) == (backward.exit_code, backward.stdout)
    assert Path("12.jsonl").read_bytes() == Path("21.jsonl").read_bytes()
    report, wanted = json.loads(forward.stdout), json.loads(whole.stdout)
    assert sorted(report["swept"].pop("scenarios")) == sorted(wanted["swept"].pop("scenarios"))
    assert report == wanted
    assert "is in two different chunks" in refused("merge", "whole.jsonl", "1.jsonl")


def test_a_file_of_other_code_or_of_another_scenario_is_refused() -> None:
    sweep("own.toml", "--seeds", "0..1", "--resume", "done.jsonl")
    Path("own.toml").write_text(OWN.replace("20", "21"))
    message = "done.jsonl: made with another text of own.toml: use that one, or a new file"
    assert message in refused("sweep", "own.toml", "--resume", "done.jsonl")
    assert message in refused("merge", "done.jsonl")
    line = json.loads(Path("done.jsonl").read_text())
    Path("done.jsonl").write_text(json.dumps({**line, "target": "umi_core 0"}) + "\n")
    assert "line 1: made by umi_core 0, this is umi_core" in refused("merge", "done.jsonl")
    Path("done.jsonl").write_text(json.dumps({**line, "target": "umi_core 0", "totals": {}}) + "\n")
    assert "line 1: made by umi_core 0" in refused("sweep", "own.toml", "--resume", "done.jsonl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no finished chunk"),
        ("{}\n", "line 1: not a line of a sweep"),
        ("[" * 100_000 + "\n", "nested more than 16 deep"),
        ('{"format": "umi-sweep", "version": 1}\n', "line 1: made by None, this is umi_core"),
    ],
)
def test_a_file_that_is_none_is_one_line(text: str, message: str) -> None:
    Path("x.jsonl").write_text(text)
    assert message in refused("merge", "x.jsonl")
    assert "cannot be read" in refused("merge", "nowhere.jsonl")


# Exit codes.


def found(kind: Any) -> FoundFailure:
    return FoundFailure("own.toml", 1, kind, "r", "f", "m", "f.json", "")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"found": {"f": found("safety")}}, 1),
        ({"found": {"f": found("crash")}}, 1),
        ({"found": {"f": found("liveness")}}, 3),
        ({"found": {"f": found("timeout")}}, 5),
        ({"found": {"f": found("safety"), "g": found("timeout")}}, 1),
        ({"lost": {("x", seed): None for seed in range(11)}}, 4),
        ({"lost": {("x", seed): None for seed in range(10)}}, 0),
        ({"apart": {("x", 1, "r"): None}, "found": {"f": found("safety")}}, 4),
    ],
)
def test_the_code_is_that_of_the_severest(changes: dict[str, Any], code: int) -> None:
    outcome = conductor.outcome_of(Totals(runs=1000, **changes), Swept(), ())
    assert outcome.exit_code == code


def test_a_sweep_that_missed_something_ends_with_the_status_of_the_harness(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(floors, "RUN_COUNT_MIN", 2)
    Path("own.toml").write_text(OWN + '[run]\nmarks = { "a rare thing" = "1/100" }\n')
    result = sweep("own.toml", "--seeds", "0..1")
    assert result.exit_code == 4
    assert result.stdout.startswith("FAIL sweep of 1 scenario")
    assert "  own.toml: mark a rare thing: 0 of 2 runs, floor 1/100" in result.stdout


@pytest.mark.parametrize("canary", ["calm", "canary"])
def test_a_canary_that_is_not_seen_as_what_it_is(canary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes, or it is seen by a rule that was not to see it."""
    from umi_sim.mutants import Mutant
    from umi_sim.mutants.registry import MUTANTS

    Path("canary.toml").write_text(BAD if canary == "canary" else OWN)
    monkeypatch.setattr(conductor, "CANARY", "canary.toml")
    blind = Mutant("get-alive-at-expiry", "a", "b", (), ("another-rule",), "s")
    monkeypatch.setitem(MUTANTS, "get-alive-at-expiry", blind)
    monkeypatch.setitem(MUTANTS, "None", blind)
    result = sweep("own.toml")
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith("umi-sim: the canary is not found")


def test_earlier_failures_come_first_and_stay_when_they_pass() -> None:
    first = sweep("bad.toml", "--seeds", "0..2", "--stop-first")
    (file,) = Path(".umi-sim/ephemeral").iterdir()
    again = sweep("bad.toml", "--seeds", "0..2", "--stop-first", "--junit", "out.xml")
    (case, _) = ElementTree.parse("out.xml").getroot()[0]
    assert (case.get("name"), case.find("failure") is not None) == (file.stem, True)
    assert (first.exit_code, again.exit_code) == (1, 1)
    assert again.stdout.startswith(
        "FAIL sweep of 0 scenarios, no seed: 0 runs, 0 steps, 1 earlier failure still"
    )
    assert f"  umi-sim replay {file}" in again.stdout
    Path("bad.toml").write_text(Path("bad.toml").read_text().replace('mutant = "get-alive-at-expiry"', ""))
    text = json.loads(file.read_text())
    text["config"]["planted"] = None
    file.write_text(json.dumps(text))
    for _ in range(4):
        last = sweep("bad.toml", "--count", "0", "--seeds", "7")
        line = "1 file of earlier failures replayed first, 1 pass now (umi-sim corpus prune removes them)\n"
        assert line in last.stdout
    assert file.exists()


@pytest.mark.slow
def test_an_interrupted_sweep_tells_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(1))

    def wait(*args: Any, **how: Any) -> Any:
        if next(looks, None) is None:
            raise KeyboardInterrupt
        return futures.wait(*args, **how)

    monkeypatch.setattr(conductor, "wait", wait)
    result = sweep("own.toml", "--seeds", "0..49")
    assert result.exit_code == 130
    first, second, *_ = result.stdout.splitlines()
    found = re.match(r"STOPPED sweep of 1 scenario, seeds 0\.\.(\d+): (\d+) runs, ", first)
    assert found
    assert int(found[1]) + 1 == int(found[2]) >= 10
    assert second == "  stopped  interrupted: this report is of the runs that had ended by then"
    looks = iter(range(1))
    report = json.loads(sweep("bad.toml", "--seeds", "0..49", "--json").stdout)
    assert (report["result"], report["exit"]) == ("fail", 130)
    looks = iter(range(0))
    monkeypatch.setattr(conductor, "blindness", BLINDNESS)
    early = sweep("own.toml")
    assert (early.exit_code, early.stderr.strip()) == (130, "umi-sim: interrupted: sweep: the canary")


def test_where_no_file_can_be_written_failures_are_reported_by_their_seeds() -> None:
    Path(".umi-sim").write_text("")
    result = sweep("bad.toml", "--seeds", "1..2")
    assert result.exit_code == 1
    assert result.stderr == "umi-sim: no seed file was written: .umi-sim/ephemeral: Not a directory\n"
    assert "  repeat   umi-sim run bad.toml --seed 1" in result.stdout


def test_an_earlier_file_that_cannot_be_read_is_reported() -> None:
    folder = Path(".umi-sim/ephemeral")
    folder.mkdir(parents=True)
    (folder / "x.json").write_text("{}")
    lines = sweep("own.toml", "--seeds", "0").stdout.splitlines()
    assert "  earlier  1 file of earlier failures replayed first, 1 cannot be read" in lines
    assert any(line.startswith("           .umi-sim/ephemeral/x.json: format: ") for line in lines)


def test_what_was_reached_is_listed_by_row_and_last_what_never_was() -> None:
    output = sweep("own.toml", "--seeds", "0", "--reached").stdout
    met, _, never = output.partition("\nNEVER reached\n")
    assert re.search(r"^  reached  \d+ of \d+ workflow steps, \d+ of \d+ ", met, re.MULTILINE)
    assert re.search(r"^  recover\.head +ok \d+$", met, re.MULTILINE)
    assert re.search(r"^  recover\.head +timeout, unavailable, retried$", never, re.MULTILINE)
    assert re.search(r"^  forget\.plan +never$", never, re.MULTILINE)
    assert re.search(r"^  reference-agrees +\d+$", met, re.MULTILINE)


# Executors.


class Faulty(Executor):
    """Works at once, in this thread; some submissions break it."""

    def __init__(self, breaks_at: Callable[[int], bool]) -> None:
        self.breaks_at, self.count = breaks_at, 0

    def submit(self, work: Any, /, *args: Any, **more: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self.count += 1
        if self.breaks_at(self.count):
            future.set_exception(BrokenExecutor("somebody pulled the plug"))
        else:
            (task,) = args
            totals = Totals(runs=len(task["seeds"]))
            future.set_result({"totals": TOTALS.write(totals), "count": len(task["seeds"])})
        return future


def conducted(breaks_at: Callable[[int], bool], seed_count: int = 25) -> Totals:
    faulty = Faulty(breaks_at)
    plan = SweepPlan((source_of("own.toml"),), range(seed_count))
    look = Conductor(plan, lambda jobs: faulty, 1, lambda chunk, is_old: None)
    look.conduct()
    return look.totals


def test_a_chunk_that_an_executor_loses_has_one_more_chance() -> None:
    totals = conducted(lambda count: count == 2)
    assert (totals.runs, totals.lost) == (25, {})


def test_a_chunk_that_is_lost_twice_is_counted_seed_by_seed() -> None:
    totals = conducted(lambda count: count >= 3)
    assert (totals.runs, [seed for _, seed in totals.lost]) == (20, list(range(20, 25)))
    assert next(iter(totals.lost.values())).why == "BrokenExecutor: somebody pulled the plug"
    assert totals.doubts() == [f"{len(totals.lost)} of 25 runs lost, at most 1/100 may be"]


def test_a_chunk_that_an_executor_cancels_is_lost_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelled(future: "Future[Any]", error: BaseException) -> None:
        future.cancel()
        future.set_running_or_notify_cancel()

    monkeypatch.setattr(Future, "set_exception", cancelled)
    assert conducted(lambda count: count == 2).runs == 25
    totals = conducted(lambda count: count >= 3)
    assert [lost.why for lost in totals.lost.values()] == ["CancelledError"] * 5


class Hurried(Stopwatch):
    """A third of a minute passes at each look."""

    def elapsed_ms(self) -> int:
        self.started_ns += 20_000
        return self.started_ns


def test_given_and_fresh_seeds_take_turns_until_the_time_is_over() -> None:
    plan = SweepPlan((source_of("own.toml"),), range(200), None, base="7", is_timed=True)
    faulty = Faulty(lambda count: False)
    look = Conductor(plan, lambda jobs: faulty, 1, lambda chunk, is_old: None, minutes=2, watch=Hurried(0))
    look.conduct()
    assert plan.run_count is None
    assert look.swept.describe() == "1 scenario, seeds 0..29 and 20 fresh"


# The failure_files.


def test_a_file_that_is_another_run_here_is_nondeterminism() -> None:
    sweep("bad.toml", "--seeds", "0..2", "--resume", "done.jsonl")
    totals = journal.add_up(journal.read(Path("done.jsonl")))
    failure_files.verify(totals, {})
    assert not totals.apart
    one = totals.in_order()[0]
    text = one.text.replace(failure_files.of(one).expect.trace, "0" * 32)
    seed = structs.replace(seed_file.loads(text.encode(), "x"), is_edited=False)
    totals.found[one.fingerprint] = structs.replace(one, text=seed_file.text_of(seed))
    failure_files.verify(totals, {one.fingerprint: one})
    assert list(totals.apart) == [("bad.toml", one.seed, "record-replays")]
    assert totals.found[one.fingerprint] == one  # as it was before it was made small

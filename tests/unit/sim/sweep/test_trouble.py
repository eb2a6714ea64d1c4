"""Goal: what goes wrong around a sweep costs no verdict, no file of another program, and no exit code."""

import concurrent.futures
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from time import process_time
from typing import Any, Final

import pytest
from msgspec import structs

from tests.unit.sim.commands import refused, umi
from umi_sim.record import saved_failures
from umi_sim.runs import corpus, time_limit
from umi_sim.runs.time_limit import OutOfTime, computing_at_most, ticking
from umi_sim.seedfile import files as seed_file
from umi_sim.sweep import conductor, failure_files, gate, journal, work
from umi_sim.sweep.plan import SweepPlan, source_of
from umi_sim.sweep.totals import TOTALS, FoundFailure, LostSeed, Totals, of_limit
from umi_sim.sweep.worker_process import CREW, Died, OutOfLimit, environment

pytestmark = pytest.mark.usefixtures("small_worlds", "shared_children")
ROOT: Final = Path(__file__).resolve().parents[4]


@pytest.fixture(autouse=True)
def _the_canary_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "blindness", lambda make: "")


def sweep(*args: str) -> Any:
    return umi("sweep", "--jobs", "1", "--no-shrink", *args)


def found_in(name: str, *seeds: str) -> Totals:
    sweep(name, "--seeds", *seeds, "--resume", "found.jsonl")
    return journal.add_up(journal.read(Path("found.jsonl")))


# The file of chunks.


@pytest.mark.parametrize("content", ["my only copy", "one\ntwo", '{"format":"umi-seed"'])
def test_a_file_of_something_else_is_left_alone(content: str) -> None:
    Path("notes.txt").write_text(content)
    refused("sweep", "own.toml", "--resume", "notes.txt")
    assert Path("notes.txt").read_text() == content


def test_a_chunk_that_was_cut_otherwise_is_not_run_again() -> None:
    assert sweep("own.toml", "--seeds", "0..4", "--resume", "done.jsonl").exit_code == 0
    message = refused("sweep", "--jobs", "1", "own.toml", "--seeds", "0..6", "--resume", "done.jsonl")
    assert "done.jsonl: the chunk of own.toml seed 0 has other seeds: go on with the same seeds" in message
    assert umi("merge", "done.jsonl").exit_code == 0


def test_a_failure_outlives_the_file_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: journal.Journal, chunk: journal.Chunk) -> None:
        raise OSError(28, "No space left on device", "done.jsonl")

    monkeypatch.setattr(journal.Journal, "append", full)
    result = sweep("bad.toml", "--seeds", "1", "--resume", "done.jsonl")
    assert result.exit_code == 1
    assert "finished chunks are not kept any more: done.jsonl: No space left on device" in result.stderr
    assert len(list(seed_file.EPHEMERAL.glob("*.json"))) == 1


@pytest.mark.parametrize("text", ["{}", "\ud800"])
def test_a_line_with_a_seed_file_that_is_none_is_refused(text: str) -> None:
    found_in("bad.toml", "1")
    line = json.loads(Path("found.jsonl").read_text())
    next(iter(line["totals"]["found"].values()))["text"] = text
    Path("found.jsonl").write_text(f"{json.dumps(line)}\n")
    assert "found.jsonl: line 1: not a line of a sweep: totals.found: text: " in refused(
        "merge", "found.jsonl"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": 0}, "its runs, and those that were lost, are not all of its seeds"),
        ({"found": {}}, "totals.found has wrong keys"),
        ({"steps": "1"}, "totals.steps: expected a whole number"),
        ({"step": 1}, "totals.step: unknown key; did you mean steps?"),
    ],
)
def test_a_line_that_contradicts_itself_is_refused(change: dict[str, Any], message: str) -> None:
    found_in("bad.toml", "1")
    line = json.loads(Path("found.jsonl").read_text())
    if "found" in change:
        change = {"found": {"f": next(iter(line["totals"]["found"].values()))}}
    line["totals"] |= change
    Path("found.jsonl").write_text(f"{json.dumps(line)}\n")
    assert f"line 1: not a line of a sweep: {message}" in refused("merge", "found.jsonl")


def test_what_a_line_says_drives_no_terminal() -> None:
    found_in("bad.toml", "1")
    line = json.loads(Path("found.jsonl").read_text())
    next(iter(line["totals"]["found"].values()))["path"] = line["totals"]["replies"]["\x1b[2J"] = "\x1b[2J"
    line["totals"]["replies"]["\x1b[2J"] = 1
    Path("found.jsonl").write_text(f"{json.dumps(line)}\n")
    assert "\x1b" not in umi("merge", "found.jsonl").stdout


# Executors and children.


class Losing(Executor):
    """Loses the first task; the second one fails; later ones are open until `end`."""

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.open: list[Future[Any]] = []

    def submit(self, work: Any, /, *args: Any, **more: Any) -> "Future[Any]":
        (task,) = args
        future: Future[Any] = Future()
        self.seeds.append(task["seeds"][0])
        if len(self.seeds) == 1:
            future.set_exception(BrokenExecutor("gone"))
        elif task["seeds"][0] > 10:
            self.open.append(future)
        else:
            future.set_result(answer({"f": FOUND} if task["seeds"][0] == 10 else {}))
        return future

    def end(self) -> None:
        while self.open:
            self.open.pop().set_result(answer({}))


def answer(found: dict[str, FoundFailure]) -> dict[str, Any]:
    return {"totals": TOTALS.write(Totals(1, failed=len(found), found=found)), "count": 1}


FOUND: Final = FoundFailure("own.toml", 10, "safety", "one-reply (ENG-1)", "f", "x", "p", "")


def test_the_first_failure_waits_for_a_chunk_before_it_that_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while nothing is under way but what lies behind that failure."""
    losing = Losing()

    def wait(futures: Any, **how: Any) -> Any:
        if not any(future.done() for future in futures):
            losing.end()
        return concurrent.futures.wait(futures, **how)

    monkeypatch.setattr(conductor, "wait", wait)
    plan = SweepPlan((source_of("own.toml"),), range(40), stop_first=True)
    conductor.Conductor(plan, lambda jobs: losing, 2, lambda chunk, is_old: None).conduct()
    assert losing.seeds.count(0) == 2


def test_a_chunk_that_ended_early_tells_the_seeds_that_were_run() -> None:
    output = sweep("bad.toml", "--seeds", "1..9", "--stop-first").stdout
    assert output.startswith("FAIL sweep of 1 scenario, seeds 1: 1 run, ")


def task() -> dict[str, Any]:
    plan = SweepPlan((source_of("bad.toml"),), range(1, 2))
    return structs.asdict(next(plan.tasks()))


@pytest.mark.parametrize("trouble", [Died(-9), OutOfLimit("time", "no answer after 60 s")])
def test_trouble_in_the_gate_leaves_the_verdict(trouble: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(kind: str, question: Mapping[str, Any]) -> Any:
        if kind == "gate":
            raise trouble
        return whole(kind, question)  # type: ignore[arg-type]

    whole = work.ask_worker
    monkeypatch.setattr(work, "ask_worker", asked)
    monkeypatch.setattr(gate, "is_gated", lambda seed: True)
    totals = work.run_seed(task(), 1)
    assert [found.has_items for found in totals.found.values()] == [True]
    assert [apart.lines for apart in totals.apart.values()] == [(f"it could not be run again: {trouble}",)]
    assert totals.doubts() == ["1 run differed when run again"]


def refuses(error: Exception) -> Callable[..., "Future[str]"]:
    def submit(*args: Any) -> "Future[str]":
        raise error

    return submit


def loses(error: Exception) -> Callable[..., "Future[str]"]:
    def submit(*args: Any) -> "Future[str]":
        future: Future[str] = Future()
        future.set_exception(error)
        return future

    return submit


@pytest.mark.parametrize(
    "submit", [refuses(BrokenExecutor("gone")), loses(RuntimeError("node gone")), loses(BrokenExecutor(""))]
)
def test_what_an_executor_loses_stays_as_large_as_it_was(
    submit: Callable[..., "Future[str]"], monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = found_in("bad.toml", "1..2")
    before = dict(totals.found)
    executor = Executor()
    monkeypatch.setattr(executor, "submit", submit)
    assert failure_files.shrink(totals, executor).startswith(("BrokenExecutor: ", "RuntimeError: node gone"))
    assert totals.found == before


# Time.


def test_a_run_without_an_end_is_run_again_before_it_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(kind: str, question: Mapping[str, Any]) -> Any:
        looks.append(kind)
        if len(looks) <= slow_count:
            raise OutOfLimit(limit, "no end after 60 s of computing")
        return whole(kind, question)  # type: ignore[arg-type]

    whole = work.ask_worker
    monkeypatch.setattr(work, "ask_worker", asked)
    reports = list[tuple[list[str], int]]()
    for limit, slow_count in (("time", 1), ("time", 2), ("memory", 1)):  # noqa: B007  # `asked` reads them
        looks = list[str]()
        totals = work.run_seed({**task(), "gate": False}, 1)
        reports.append(([found.kind for found in totals.found.values()], len(looks)))
    assert reports == [(["safety"], 2), (["timeout"], 2), (["timeout"], 1)]


def test_a_computation_that_takes_too_long_is_stopped_whatever_it_catches() -> None:
    def catches_all() -> None:
        while True:
            try:
                sum(range(1_000_000))
            except Exception:
                continue

    with pytest.raises(OutOfTime), computing_at_most(0.2):
        catches_all()


def compute_for(seconds: float) -> None:
    until_s = process_time() + seconds
    while process_time() < until_s:
        pass


def test_a_limit_within_a_limit_ends_with_its_block_and_the_outer_one_still_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compute_in_parts() -> None:
        with computing_at_most(0.1):
            compute_for(0.04)
        compute_for(0.1)
        passed.append("the inner limit is over")
        with computing_at_most(10):
            compute_for(2)

    passed: list[str] = []
    monkeypatch.setattr(time_limit, "PATIENCE_TICKS", 3)
    with ticking():
        with pytest.raises(OutOfTime), computing_at_most(0.2):
            compute_in_parts()
        compute_for(0.2)  # no limit any more
    assert passed


def test_a_computation_that_catches_its_interruption_is_interrupted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_limit, "PATIENCE_TICKS", 10)
    times = [process_time()]

    def catch_all() -> None:
        try:
            compute_for(5)
        except BaseException:
            times.append(process_time())
            compute_for(5)

    with pytest.raises(OutOfTime), computing_at_most(0.1):
        catch_all()
    assert times[1] - times[0] < 1
    assert process_time() - times[1] < 2


def test_an_earlier_failure_that_has_no_end_any_more_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: Any, **__: Any) -> Any:
        raise OutOfTime

    sweep("bad.toml", "--seeds", "1..2")
    (path,) = seed_file.EPHEMERAL.glob("*.json")
    monkeypatch.setattr(corpus, "replay", endless)
    result = sweep("bad.toml", "--seeds", "7", "--stop-first", "--json", "out.json")
    assert result.exit_code == 5
    assert "  earlier  1 file of earlier failures replayed first, 1 still fail" in result.stdout
    assert f"  umi-sim replay {path}" in result.stdout
    assert json.loads(Path("out.json").read_text())["earlier"] == [{"file": str(path), "class": "no end"}]
    assert umi("corpus", "prune").stdout == f"  no end   {path}\n"


class Partly(Executor):
    """Has run two seeds of three when the sweep is interrupted."""

    def submit(self, call: Any, task: Mapping[str, Any]) -> Any:  # type: ignore[override]
        first, second, *_ = task["seeds"]
        totals = work.run_seed(task, first)
        totals.lost[task["scenario"], second] = LostSeed(task["scenario"], second, "ended by signal 15")
        future: Future[Any] = Future()
        future.set_result({"totals": TOTALS.write(totals), "count": 2})
        return future


def test_what_a_chunk_had_found_when_the_sweep_was_interrupted_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wait(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(conductor, "wait", wait)
    plan = SweepPlan((source_of("bad.toml"),), range(1, 4))
    half = conductor.Conductor(plan, lambda jobs: Partly(), 1, lambda chunk, is_old: None)
    half.conduct()
    assert half.is_interrupted
    assert [found.seed for found in half.totals.found.values()] == [1]
    assert (half.totals.runs, half.totals.lost) == (1, {})
    assert half.swept.describe() == "1 scenario, seeds 1"


def test_a_gate_that_ends_with_the_sweep_says_nothing_about_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(kind: str, question: Mapping[str, Any]) -> Any:
        if kind == "gate":
            CREW.is_open = False
        return whole(kind, question)  # type: ignore[arg-type]

    whole = work.ask_worker
    monkeypatch.setattr(work, "ask_worker", asked)
    monkeypatch.setattr(gate, "is_gated", lambda seed: True)
    try:
        totals = work.run_seed(task(), 1)
    finally:
        CREW.is_open = True
    assert (totals.apart, len(totals.lost)) == ({}, 1)


# Files, reports and pipes.


@pytest.mark.parametrize(
    "args",
    [
        ("sweep", "own.toml", "--resume", "a.json", "--json", "a.json"),
        ("sweep", "own.toml", "--junit", "./a.json", "--json", "a.json"),
        ("merge", "a.json", "--json", "a.json"),
        ("merge", "b.jsonl", "--out", "a.json", "--json", "a.json"),
    ],
)
def test_no_report_is_written_in_the_place_of_another_file(args: tuple[str, ...]) -> None:
    assert "is named for something else too, name another file" in refused(*args)
    assert not Path("a.json").exists()


def test_of_two_that_keep_files_in_one_folder_one_waits() -> None:
    sweep("bad.toml", "--seeds", "1..2")
    (path,) = seed_file.EPHEMERAL.glob("*.json")
    order = list[str]()
    keeping = threading.Thread(target=lambda: order.append(corpus.keep(seed_file.read(path)).name))
    with saved_failures.lock_folder(seed_file.EPHEMERAL):
        keeping.start()
        keeping.join(0.2)
        order.append("held")
    keeping.join()
    assert order == ["held", path.name]


def ended_by_force() -> Path:
    totals = of_limit("own.toml", source_of("own.toml").file, 3, "time", "no end after 60 s")
    (one,) = totals.found.values()
    return corpus.keep(failure_files.of(one))


def test_a_run_that_was_ended_by_force_is_never_taken_for_one_that_passes() -> None:
    path = ended_by_force()
    message = f"{path}: its run was ended by force, so it holds no items: umi-sim replay --regenerate {path}"
    assert message in refused("replay", path.as_posix())
    for _ in range(4):
        assert [kept.is_removed for kept in corpus.replay_kept()] == [False]
    assert path.exists()


def test_hits_of_an_earlier_sweep_are_not_counted_again() -> None:
    for _ in range(3):
        sweep("bad.toml", "--seeds", "1..3", "--resume", "done.jsonl")
    (path,) = seed_file.EPHEMERAL.glob("*.json")
    assert seed_file.read(path).history.hits == 3


def hits() -> list[int]:
    return [kept.seed.history.hits for kept in corpus.list_files(seed_file.EPHEMERAL) if kept.seed]


def test_hits_that_could_not_be_written_are_counted_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a sweep that was killed before its end, or on another machine."""
    with monkeypatch.context() as killed:
        killed.setattr(failure_files.FailureFolder, "last", lambda self, totals: None)
        sweep("bad.toml", "--seeds", "1..3", "--resume", "done.jsonl")
    assert hits() == [0]
    sweep("bad.toml", "--seeds", "1..3", "--resume", "done.jsonl")
    assert hits() == [3]
    next(seed_file.EPHEMERAL.glob("*.json")).unlink()
    for _ in range(2):
        umi("merge", "done.jsonl")
        assert hits() == [3]


def test_the_chunk_of_the_first_failure_is_kept_whole() -> None:
    args = ("bad.toml", "--seeds", "0..29", "--stop-first", "--resume", "done.jsonl")
    (first, again, merged) = (sweep(*args), sweep(*args), umi("merge", "done.jsonl"))
    assert first.stdout.startswith("FAIL sweep of 1 scenario, seeds 0..9: 10 runs, ")
    assert again.stdout == first.stdout
    assert merged.exit_code == 1
    assert sweep("bad.toml", "--seeds", "0..29", "--resume", "done.jsonl").exit_code == 1


def test_a_planted_bug_that_nothing_sees_is_no_pass() -> None:
    text = Path("bad.toml").read_text().replace("set = 2, get = 4, len = 1", "set = 1")
    Path("blind.toml").write_text(text)
    result = sweep("blind.toml", "--seeds", "0..3")
    assert result.exit_code == 4
    assert ", planted bug get-alive-at-expiry not found\n" in result.stdout
    alone = umi("run", "blind.toml", "--seed", "0")
    assert alone.exit_code == 0
    assert "  planted  get-alive-at-expiry, which this run does not show\n" in alone.stdout


def test_an_earlier_failure_is_reported_with_its_cause() -> None:
    sweep("bad.toml", "--seeds", "1..2")
    (path,) = seed_file.EPHEMERAL.glob("*.json")
    output = sweep("bad.toml", "--seeds", "3").stdout
    lines = output.splitlines()
    at = lines.index(f"           umi-sim replay {path.as_posix()}")
    assert lines[at + 1].startswith("             safety ttl-boundary (TTL-1): get 'a'")
    assert lines[at + 2] == "             it plants get-alive-at-expiry: remove it when you are done"


def test_merged_chunks_replace_nothing_but_chunks() -> None:
    sweep("own.toml", "--seeds", "0..3", "--resume", "1.jsonl")
    text = Path("own.toml").read_text()
    assert "own.toml: no file of a sweep: name another one" in refused(
        "merge", "1.jsonl", "--out", "own.toml"
    )
    assert Path("own.toml").read_text() == text
    for _ in range(2):
        assert umi("merge", "1.jsonl", "--out", "all.jsonl").exit_code == 0
    assert umi("merge", "all.jsonl", "--out", "all.jsonl").exit_code == 0


def test_where_the_canary_is_not_seen_no_report_of_another_day_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("out.xml").write_text("green")
    monkeypatch.setattr(conductor, "blindness", lambda make: "the canary is not seen")
    assert sweep("own.toml", "--junit", "out.xml").exit_code == 4
    assert not Path("out.xml").exists()


def test_a_report_that_cannot_be_written_takes_no_verdict_along() -> None:
    name = "x" * 250 + ".xml"
    failing, passing = (sweep(file, "--seeds", "1", "--junit", name) for file in ("bad.toml", "own.toml"))
    assert failing.exit_code == 1
    assert failing.stdout.startswith("FAIL sweep")
    assert passing.exit_code == 2
    assert "File name too long" in passing.stderr


def test_nothing_that_was_run_keeps_no_promise() -> None:
    assert "0 runs, 0 steps, nothing was run" in sweep("own.toml", "--seeds", "0..1", "--shard", "5/5").stdout


@pytest.mark.parametrize(("args", "status"), [(("run", "bad.toml", "--seed", "1"), 1), (("scenarios",), 0)])
def test_a_reader_that_stops_changes_no_verdict(args: tuple[str, ...], status: int) -> None:
    command = [sys.executable, "-P", "-m", "umi_sim", *args]
    around = {"PYTHONPATH": str(ROOT), "PATH": ""}
    with subprocess.Popen(command, env=around, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaints = [
            line for line in process.stderr if b" so far" not in line
        ]  # of a slow machine only where it is
    assert (complaints, process.returncode) == ([], status)


def test_a_child_imports_what_this_process_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A umi_core that stands before the one beside umi_sim, as when trying an edit."""
    (tmp_path / "umi_core").mkdir()
    (tmp_path / "umi_core" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    command = [sys.executable, "-P", "-c", "import umi_core; print(umi_core.__file__)"]
    output = subprocess.check_output(command, env=environment("plain"), cwd="/", text=True)
    assert Path(output.strip()).parent == tmp_path / "umi_core"


def test_what_a_terminal_sends_reaches_no_child() -> None:
    with CREW.one("plain") as worker:
        worker.ask({**{key: task()[key] for key in work.ASKED}, "do": "run", "seed": "1"})
        assert worker.process is not None
        assert os.getpgid(worker.process.pid) == worker.process.pid

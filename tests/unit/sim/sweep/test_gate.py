"""Goal: a run that depends on anything but its seed is caught, and the first difference is shown."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import structs

from tests.unit.sim.commands import lines_of
from umi_sim.kernel import prng
from umi_sim.kernel.prng import Stream
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import run, run_once
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.sweep import child, gate, report, work, worker_process
from umi_sim.sweep.conductor import outcome_of
from umi_sim.sweep.plan import SweepPlan, source_of
from umi_sim.sweep.totals import TOTALS, Swept, Totals
from umi_sim.world import source

pytestmark = pytest.mark.usefixtures("small_worlds")
GATED: Final = next(seed for seed in range(1000) if gate.is_gated(seed))


def test_one_seed_in_twenty_is_gated() -> None:
    assert sum(map(gate.is_gated, range(10_000))) in range(400, 600)


def test_three_ways_have_one_trace() -> None:
    assert len(dict.fromkeys(gate.hashes(scenario.draw(scenario.find("smoke"), 3)).values())) == 1


@pytest.mark.parametrize(("planted", "beside"), [(None, ()), ("get-alive-at-expiry", None)])
def test_a_comparison_runs_once_beside_a_run(
    planted: str | None, beside: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = list[object]()

    def noting(config: RunConfig, *args: Any, **more: Any) -> Any:
        recorded.append(config.equivalences)
        return run_once(config, *args, **more)

    monkeypatch.setattr(gate, "run_once", noting)
    config = scenario.draw(scenario.find("working"), 0, {"run.equivalences": "['E-REPLAY']"})
    traces = gate.hashes(structs.replace(config, planted=planted))
    first = config.equivalences
    assert len(dict.fromkeys(traces.values())) == 1
    assert recorded == [first, *[first if beside is None else beside] * 2]


def test_a_stream_for_all_is_seen_by_one_more_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prng, "stream_key", lambda seed, path: bytes(32))
    shared = Stream(0)
    monkeypatch.setattr(Stream, "word", lambda self: (shared._words or shared._next_block()).pop())
    monkeypatch.setattr(Stream, "below", lambda self, n: self.word() * n >> 64)
    assert differs("extra_draw")


def test_a_replay_without_faults_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source.Replay, "fault", lambda self, *args: None)
    assert differs("record")


def differs(variant: gate.Variant) -> bool:
    """Check whether some seed of a stormy scenario has another trace in this variant than as drawn."""
    file = scenario.find("crash_storm")
    hashes = (gate.hashes(scenario.draw(file, seed)) for seed in range(1, 4))
    return any(each[variant] != each["fresh"] for each in hashes)


# With processes.


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Lets children begin with some lines of code of their own."""

    def patch(lines: str) -> None:
        script = f"{lines}\nfrom umi_sim.sweep.child import serve\nserve()"
        monkeypatch.setattr(worker_process, "COMMAND", ("-P", "-c", script))

    with worker_process.keep_children():  # what other tests have started, goes on without the patch
        yield patch


def test_a_choice_by_the_hash_of_a_string_is_seen_by_another_process(
    patched: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    patched(
        "from umi_sim.kernel.prng import Stream\n"
        "Stream.pick = lambda self, items: items[(self.below(len(items)) + hash('x')) % len(items)]"
    )
    totals = run_seed(GATED)
    (apart,) = totals.apart.values()
    assert (totals.gated, apart.rule, apart.seed) == (1, "same-seed-same-trace", GATED)
    assert apart.lines[0].startswith("first difference at record ")
    outcome = outcome_of(totals, Swept(), ())
    assert outcome.exit_code == 4
    lines = lines_of(report.report(outcome))
    assert f"FAIL nondeterminism same-seed-same-trace (DET-1): own.toml seed {GATED}" in lines
    assert f"  repeat   umi-sim sweep own.toml --seeds {GATED}" in lines


def test_a_process_that_is_killed_has_one_more_chance_then_its_seed_is_lost(
    patched: Callable[[str], None],
) -> None:
    patched(
        "import os, pathlib\n"
        "from umi_sim.sweep import child\n"
        "def do_run(question):\n"
        "    pathlib.Path('pid' + str(os.getpid())).touch()\n"
        "    os.kill(os.getpid(), 9)\n"
        "child.ANSWERS['run'] = do_run"
    )
    totals = run_seed(1)
    assert totals.lost["own.toml", 1].why == "its process was ended by signal 9"
    assert len(list(Path().glob("pid*"))) == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("    bytearray(2**31)", "memory: more than 1024 MiB were asked for"),
        ("    os.kill(os.getpid(), signal.SIGXCPU)", "time: no end after 60 s of computing"),
        ("    signal.pause()", "time: no answer after 0 s"),
    ],
)
def test_a_run_beyond_its_limits_ends_its_process_and_leaves_seed_and_configuration(
    lines: str, message: str, patched: Callable[[str], None]
) -> None:
    patched(
        "import os, signal\nfrom umi_sim.sweep import child\n"
        f"def do_run(question):\n{lines}\nchild.ANSWERS['run'] = do_run"
    )
    totals = run_seed(1, wall_ms_max=100 if "pause" in lines else 600_000, memory_bytes_max=2**30)
    (found,) = totals.found.values()
    assert (found.kind, found.rule, found.message) == ("timeout", "progress (LIVE-2)", message)
    kept = seed_file.loads(found.text.encode(), "x")
    assert (kept.config, kept.items) == (scenario.draw(scenario.find("own.toml"), 1), ())
    assert report.repeat_of(found) == "umi-sim run own.toml --seed 1"
    assert outcome_of(totals, Swept(), ()).exit_code == 5


def test_a_memory_error_in_a_run_is_a_limit_and_no_crash() -> None:
    verdict = run(scenario.draw(scenario.find("own.toml"), 1))
    failure = Failure("crash", "crash", "crash", 1, 0, "o1", "MemoryError: ")
    assert child.is_out_of_memory(structs.replace(verdict, failure=failure))
    assert not child.is_out_of_memory(
        structs.replace(verdict, failure=structs.replace(failure, message="KeyError: "))
    )
    assert not child.is_out_of_memory(verdict)


def run_seed(seed: int, **limits: int) -> Totals:
    """One seed of a small scenario, as a worker lives it."""
    plan = SweepPlan((source_of("own.toml"),), [seed])
    (task,) = plan.tasks()
    totals: Totals = TOTALS.read(work.work({**structs.asdict(task), **limits})["totals"])
    return totals

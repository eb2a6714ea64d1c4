"""The work of an executor: runs one chunk, in any thread or process, on any machine.

Law 1. A task and its result are plain data.
Law 2. A seed whose process dies is tried once more. If that process dies too, this seed alone is lost.
Law 3. A seed that does not end in time is tried once more, because the machine may have slept meanwhile.
"""

import signal
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from umi_sim.explain import difference
from umi_sim.kernel.report import laid_out
from umi_sim.record import trace
from umi_sim.record.trace_fields import NAMES
from umi_sim.sweep import gate
from umi_sim.sweep.gate import Variant
from umi_sim.sweep.plan import parse_scenario
from umi_sim.sweep.totals import TOTALS, DivergentSeed, LostSeed, Totals, of_limit
from umi_sim.sweep.worker_process import CREW, Died, Kind, OutOfLimit

Plain = dict[str, Any]
CHANCE_COUNT: Final = 2
LIMITS: Final = {"cpu_s_max": 300, "wall_ms_max": 1_200_000, "memory_bytes_max": 2 * 1024**3}
EQUAL_AGAIN: Final = "the traces were equal when run again: it comes and goes"
ASKED: Final = ("scenario", "text", "folder", "settings", "cpu_s_max", "wall_ms_max", "memory_bytes_max")
GATE_RUN_COUNT: Final = 3


def work(task: Mapping[str, Any]) -> Plain:
    """Run the seeds of a task, in order."""
    totals = Totals()
    done: list[int] = []
    for seed in task["seeds"]:
        totals.add(run_seed(task, seed))
        done.append(seed)
        if task["stop_first"] and totals.found:
            break
    return {"totals": TOTALS.write(totals), "count": len(done)}


def run_seed(task: Mapping[str, Any], seed: int) -> Totals:
    """Run one seed, at most twice (laws 2 and 3), and return its totals, also if it is lost."""
    name, why, broken = task["scenario"], "", None
    for _ in range(CHANCE_COUNT):
        try:
            return try_seed(task, seed)
        except Died as died:
            why, broken = str(died), None
        except OutOfLimit as limit:
            broken = limit.args
            # A run that exceeds its memory does so again; one that exceeds its time need not (law 3).
            if broken[0] != "time":
                break
    if broken:
        return of_limit(name, parse_scenario(task), seed, *broken)
    return Totals(lost={(name, seed): LostSeed(name, seed, why)})


def shrink_text(text: str) -> str:
    """Return the text of a shrunk seed file; empty if that fails."""
    try:
        smaller: str = ask_worker("plain", {"do": "shrink", "text": text, **LIMITS})["text"]
    except (Died, OutOfLimit):
        return ""
    return smaller


def try_seed(task: Mapping[str, Any], seed: int) -> Totals:
    question = {**{key: task[key] for key in ASKED}, "seed": str(seed)}
    answer = ask_worker("plain", {"do": "run", **question})
    totals: Totals = TOTALS.read(answer["totals"])
    if task["gate"] and gate.is_gated(seed):
        totals.gated = 1
        # The gate does three runs in one question.
        longer = {**question, **{key: GATE_RUN_COUNT * task[key] for key in ("cpu_s_max", "wall_ms_max")}}
        for rule, lines in found_apart(longer, answer["trace"]):
            totals.apart[task["scenario"], seed, rule] = DivergentSeed(task["scenario"], seed, rule, lines)
    return totals


def found_apart(question: Plain, expected: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the rules of the gate that this run breaks, each with lines about the first difference."""
    why = ""
    for _ in range(CHANCE_COUNT):
        try:
            differing = list_differing(question, expected)
            return [(gate.RULES[variant], tuple(where_apart(question, variant))) for variant in differing]
        except (Died, OutOfLimit) as error:
            if not CREW.is_open:
                raise Died(-signal.SIGTERM) from None  # the sweep ended, which proves nothing about the run
            why = str(error)
    return [(gate.RULES["fresh"], (f"it could not be run again: {why}",))]


def ask_worker(kind: Kind, question: Mapping[str, Any]) -> Plain:
    with CREW.one(kind) as worker:
        return worker.ask(question)


def list_differing(question: Plain, expected: str) -> Iterator[Variant]:
    """Yield the variants in which this run has another trace; only `fresh` if that differs."""
    traces = ask_worker("gate", {"do": "gate", **question})["traces"]
    # The other two variants would then differ for the same reason.
    if traces["fresh"] != expected:
        yield "fresh"
        return
    yield from (variant for variant in gate.VARIANTS if traces[variant] != expected)


def apart(
    first: tuple[Kind, Plain], second: tuple[Kind, Plain], names: tuple[str, str] = NAMES
) -> difference.FirstDifference | None:
    """Repeat two runs in workers, which write their traces to files; return the first difference, if any."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("first.trace", "second.trace")]
        for (kind, question), path in zip((first, second), paths, strict=True):
            ask_worker(kind, {**question, "out": str(path)})
        return difference.apart(trace.read(paths[0]), trace.read(paths[1]), names)


def where_apart(question: Plain, variant: Variant) -> Iterator[str]:
    """Run both variants again, and yield lines about the first difference."""
    kind: Kind = "plain" if variant == "fresh" else "gate"
    names = ("seed", variant) if variant != "fresh" else ("here", "elsewhere")
    fresh, other = ({"do": "trace", **question, "variant": each} for each in ("fresh", variant))
    found = apart((kind, fresh), ("gate", other), names)
    yield from laid_out(difference.report(found)) if found else (EQUAL_AGAIN,)

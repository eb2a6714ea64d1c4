"""A child process, which does runs. It reads questions from standard input and writes answers, as JSON.

Law 1. Only answers reach standard output: output of the code under test goes to standard error.
Law 2. A child that reaches its memory limit reports this and ends, since its state cannot be trusted any
       more. The system kills a child that computes for too long.
"""

import gc
import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from umi_sim.formats.strict_json import compact
from umi_sim.record.items import Item
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run, run_once
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile import item_json
from umi_sim.shrink import NothingToShrink, shrink
from umi_sim.sweep import executed, gate
from umi_sim.sweep.plan import parse_scenario
from umi_sim.sweep.totals import TOTALS, of_verdict
from umi_sim.sweep.verify import is_seed_file

Plain = dict[str, Any]
OVER: Final[Plain] = {"limit": "memory"}


def serve() -> None:
    """Answer questions until standard input ends."""
    # A child that the system kills would otherwise leave a core dump of gigabytes.
    limit(resource.RLIMIT_CORE, 0)
    gc.freeze()  # what was imported stays, so no collection needs to look at it
    with suppress(BrokenPipeError), os.fdopen(os.dup(1), "w") as answers:  # the parent may have ended
        # Descriptor 1 becomes standard error, so a `print` of the code under test cannot garble an answer
        # (law 1); `answers` has the old descriptor.
        os.dup2(2, 1)
        print(json.dumps({"ready": os.getpid()}), file=answers, flush=True)
        for line in sys.stdin.buffer:
            answer = answer_question(json.loads(line))
            print(json.dumps(answer), file=answers, flush=True)
            # A refused allocation may have left broken caches: the next question gets a new child.
            if answer == OVER:
                return


def answer_question(question: Plain) -> Plain:
    """Answer a question; OVER if there is not enough memory."""
    limit(resource.RLIMIT_AS, question["memory_bytes_max"])
    # The system kills the process at this limit. It counts from the start of the process, so the CPU seconds
    # spent so far are added.
    limit(resource.RLIMIT_CPU, used_cpu_ms() // 1000 + 1 + question["cpu_s_max"])
    try:
        return ANSWERS[question["do"]](question)
    except MemoryError:
        return OVER
    finally:
        # Without the limit there is enough memory to write the answer.
        limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)


def used_cpu_ms() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int(1000 * (usage.ru_utime + usage.ru_stime))


def limit(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    with suppress(ValueError, OSError):  # the system may lack this limit, or enforce a lower one
        resource.setrlimit(what, (most, hard))


def do_run(question: Plain) -> Plain:
    """Do one run and measure its CPU time."""
    file, before_ms = parse_scenario(question), used_cpu_ms()
    verdict = run(scenario.draw(file, int(question["seed"])))
    # The runner may report a MemoryError as a crash of the memory under test.
    if is_out_of_memory(verdict):
        return OVER
    return {
        "trace": verdict.trace_hash, "cpu_ms": used_cpu_ms() - before_ms,
        "totals": TOTALS.write(of_verdict(question["scenario"], file, verdict)),
    }  # fmt: skip


def do_record_lines(question: Plain) -> Plain:
    before_ms = used_cpu_ms()
    with executed.recording() as lines:
        run(config_of(question))
    return {"lines": lines, "cpu_ms": used_cpu_ms() - before_ms}


def is_out_of_memory(verdict: Verdict) -> bool:
    failure = verdict.failure
    return failure is not None and failure.kind == "crash" and failure.message.startswith("MemoryError")


def do_gate(question: Plain) -> Plain:
    return {"traces": gate.hashes(config_of(question))}


def do_trace(question: Plain) -> Plain:
    gate.write_trace(config_of(question), question["variant"], Path(question["out"]))
    return {}


def do_verify(question: Plain) -> Plain:
    """Run a seed of a scenario or a seed file; return digests, and with `out` write the records."""
    config, items = run_named(question["name"], int(question["seed"]))
    verdict, trace = run_once(config, items, keep_trace=bool(question["out"]))
    if question["out"]:
        trace.write(Path(question["out"]), seed_file.config_to_json(config))
    items_text = compact([item_json.to_json(item) for item in verdict.items])
    return {
        "trace": verdict.trace_hash, "items": blake2b(items_text.encode()).hexdigest(),
        "result": verdict.failure.rule if verdict.failure else "pass",
    }  # fmt: skip


def run_named(name: str, seed: int) -> tuple[RunConfig, Sequence[Item] | None]:
    if not is_seed_file(name):
        return scenario.draw(scenario.find(name), seed), None
    recorded = seed_file.read(Path(name))
    return recorded.config, recorded.items


def do_shrink(question: Plain) -> Plain:
    try:
        seed = shrink(seed_file.loads(question["text"].encode(), "a failure of the sweep"))
        return {"text": seed_file.text_of(seed)}
    except (NothingToShrink, seed_file.BadSeedFile):
        return {"text": ""}


def config_of(question: Plain) -> RunConfig:
    return scenario.draw(parse_scenario(question), int(question["seed"]))


ANSWERS: Final[dict[str, Callable[[Plain], Plain]]] = {
    "run": do_run, "lines": do_record_lines, "gate": do_gate, "trace": do_trace, "shrink": do_shrink,
    "verify": do_verify,
}  # fmt: skip

"""umi_sim: seeded, simulated worlds full of faults around umi_core, or around another memory.

    kernel/     chance, time, characters, wording: nothing here knows what a memory is
    formats/    JSON, TOML and transcripts from strangers, checked before they are believed
    record/     the results of a run: items, configuration, trace, verdict
    services/   storage, model and embedder, which agents share
    machines/   the system under test: Umi's memory, or another store
    faults/     kinds of faults, their places and their effects
    workload/   users: their requests, and the values in these
    world/      one run in progress: agents, network, clocks, one queue of events
    judge/      checks whether a run kept all promises: the oracle, invariants, equivalences
    mutants/    planted bugs that a run must find
    scenario/   worlds as TOML files, and one run drawn from each seed
    seedfile/   one run as a JSON file that replays anywhere
    runs/       a run from its start to its verdict, fresh or replayed
    explore/    every short list of actions, instead of drawn ones
    shrink/     makes a failing run as small as possible while it fails in the same way
    explain/    explains the result of a run, or a failure
    sweep/      many seeds in many processes
    pages/      a run or a sweep as one HTML file
    targets/    other stores, tested in runs of their own and judged by a contract
    programs/   any coroutine in a world where tasks are cancelled and processes die
    testing/    the simulator inside other people's tests
    disk/       the database code of umi_live on files that lose power
    cli/        the command `umi-sim`

Rooms import only rooms above. `run` executes a run, `Script` goes call by call, `machine` is for Hypothesis.
"""

import sys as _sys

__version__ = "0.1.0"
__all__ = ["Script", "machine", "run"]

_PLACES = {
    "Script": ("umi_sim.testing.script", "Script"),
    "machine": ("umi_sim.testing.hypothesis_machine", "machine"),
    "run": ("umi_sim.runs.runner", "run"),
}


def _refuse(reason: str) -> None:
    """End a command with status 2; raise ImportError in an import."""
    if _sys.argv[:1] == ["-m"] or _sys.argv[0].endswith("umi-sim"):
        _sys.stderr.write(f"umi-sim: {reason}\n")
        raise SystemExit(2)
    raise ImportError(f"umi_sim: {reason}")


if _sys.flags.optimize:
    _refuse("python -O takes away the asserts that judge a run; start without -O and without PYTHONOPTIMIZE")


def __getattr__(name: str) -> object:
    """Import a name of `__all__` at its first use, so that importing umi_sim is cheap."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"umi_sim has no {name}; it has {', '.join(__all__)} and its modules")
    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)

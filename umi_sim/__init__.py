"""umi_sim: seeded, simulated worlds full of faults around umi_core, or around another memory.

    kernel/     chance, time, characters, wording: nothing here knows what a memory is
    formats/    JSON, TOML and transcripts from strangers, checked before they are believed
    record/     what a run leaves behind: items, configuration, trace, verdict
    services/   storage, model and embedder, which agents share
    target/     what is tested: Umi's memory, or another store
    faults/     what can go wrong, where, and what it does
    workload/   users: what they ask, and the values they give
    world/      one run in progress: agents, network, clocks, one queue of events
    judge/      what decides whether a run kept its promises: the oracle, invariants, equivalences
    mutants/    planted bugs that a run must find
    scenario/   worlds as TOML files, and one run drawn from each seed
    seedfile/   one run as a JSON file that replays anywhere
    runs/       a run from its start to its verdict, fresh or replayed
    explore/    every short list of actions, instead of drawn ones
    shrink/     makes a failing run as small as it can be while it fails in the same way
    explain/    tells what a run or a failure came to
    sweep/      many seeds in many processes
    testing/    the simulator inside other people's tests
    targets/    somebody else's store, put under runs of its own and judged by a contract
    cli/        the command `umi-sim`

Each room imports only those above it. `run` lives one life, a `Script` tells one call by call, and `machine`
gives the same operations to Hypothesis.
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
    """A command ends with status 2, an import with an ImportError."""
    if _sys.argv[:1] == ["-m"] or _sys.argv[0].endswith("umi-sim"):
        _sys.stderr.write(f"umi-sim: {reason}\n")
        raise SystemExit(2)
    raise ImportError(f"umi_sim: {reason}")


if _sys.flags.optimize:
    _refuse("python -O takes away the asserts that judge a run; start without -O and without PYTHONOPTIMIZE")


def __getattr__(name: str) -> object:
    """Import what `__all__` names when it is first used, so that importing umi_sim is cheap."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"umi_sim has no {name}; it has {', '.join(__all__)} and its modules")
    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)

"""umi_sim: the world around umi_core, or around another memory: seeded, simulated, full of faults.

    prng clock text                   chance, time, frozen tables of characters
    model embedder storage services   what agents share, and what each fault does to it
    search_index postings             how storage searches many rows; loads numpy
    faults content_faults reply_edits kinds of faults, which event each strikes, what it does to a reply
    world source generator            one queue of events; items drawn from a seed, or replayed
    workloads pools conversation      users, and the values they use; a talk of one's own
    scenario toml_reader              worlds as TOML files, read with suspicion
    oracle inspector invariants       who judges
    runner verdict items run_config   one life, what it came to, and the record that repeats it
    trace seed_file fingerprint       what happened, what is kept, which failures are the same
    report cli sweep replay verify    eyes and hands; wording: how a line is worded
    time_limit                        what is run in this process and has no end
    pytest_plugin hypothesis_machine  the same worlds in other people's tests
    export literals                   a recorded failure as a plain test of umi_core
    mutants conformance               planted bugs; contracts of the simulated services

`run` lives one life, `World` is one told call by call, `machine` gives the same operations to Hypothesis.
"""

import sys as _sys

__version__ = "0.1.0"
__all__ = ["World", "machine", "run"]

_PLACES = {
    "World": ("umi_sim.script", "Script"),
    "machine": ("umi_sim.hypothesis_machine", "machine"),
    "run": ("umi_sim.runner", "run"),
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
    """What `__all__` names, imported when first used, so that importing umi_sim is cheap."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"umi_sim has no {name}; it has {', '.join(__all__)} and its modules")
    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)

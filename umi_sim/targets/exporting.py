"""Exporting: a run as a script that needs the store and Python, and nothing of ours.

The script has the source of the adapter's module in it. Calls, restarts and time that passes are plain
Python, if a trial shows that they give what was recorded. Any other run needs the world of the simulator,
made by copies of files of ours, which need the standard library alone.
"""

import inspect
import sys
from functools import partial
from pprint import pformat
from typing import Final

from msgspec import structs

from umi_sim.runs import time_limit
from umi_sim.targets import clocks, faults, files, loop, names, threads, world
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.life import TargetVerdict
from umi_sim.targets.plain_script import write_plainly
from umi_sim.targets.promises import RULES
from umi_sim.targets.telling import as_taken, text_of

MARK: Final = "Written by `umi-sim target --export`"
SCRIPT: Final = '''\
"""{title}

{mark}; it needs no umi_sim. Its last line is its verdict.
Exit 1: it happens still, as recorded. 0: it no longer does. A store that does not end is stopped.
"""

import sys
import types

STAND_IN = """
class Missing:
    def __repr__(self):
        return "nothing"


MISSING = Missing()


class Adapter:
    durable, folder, clock, line_by_line = False, None, None, False

    def make(self):
        pass

    close = killed = make

    def now(self):
        return self.clock.seconds()

    @classmethod
    def pytest(cls, **_):
        return None


def Known(*args, **kwargs):
    return None


Kv = Sessions = MemoryStore = Adapter
"""


def stand_in(name, text):
    """Install a module in place of one of umi_sim, whether that is installed or not."""
    module = sys.modules[name] = types.ModuleType(name)
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)
    exec(text, module.__dict__)
    return module


stand_in("umi_sim", "")
stand_in("umi_sim.runs", "")
stand_in("umi_sim.targets", STAND_IN)

# The adapter.

{adapter}

# What happened: (text, kind, number, site, part, operations). Then what was said.

CASE = \\
{case}
SAID = \\
{said}
EXPECTED = {expected!r}
SEED = {seed}  # of what Python draws by chance

# Time, failures and order.

PARTS = {{
{parts}
}}

if __name__ == "__main__":
    for name, text in PARTS.items():
        world = stand_in(name, text)
    said = world.replay({name}, CASE, SEED)
    print(*said, f"expected  {{EXPECTED}}", sep="\\n")
    print("it happens still" if said == SAID else "it no longer happens: something else was said")
    sys.exit(1 if said == SAID else 0)
'''


class CannotExport(ValueError):
    """Why there can be no script, in one line."""


def script_of(adapter: type[Adapter], verdict: TargetVerdict) -> str:
    broken = verdict.broken
    if broken is None:
        raise CannotExport("the run passes, so there is nothing to show")
    case = [(text_of(adapter, item), *item.call) for item in verdict.items]
    replayed = world.replay(adapter, case, verdict.seed)
    if broken.rule == "erased":
        raise CannotExport("a script shows answers, not what is in files: --replay shows it")
    if broken.rule == "hang" and not world.is_hang(replayed[-1]):
        raise CannotExport("it did not hang when it was run again: the judge of the run took the time")
    source, title = source_of(adapter), f"{broken.op} breaks: {RULES[broken.rule]}."
    taken = [
        structs.replace(item, ops=tuple(as_taken(adapter, op) for op in item.ops)) for item in verdict.items
    ]
    message = broken.allowed or "no error"
    if broken.rule != "hang":  # of which only the simulated world makes an end
        plain = write_plainly(
            (adapter.__name__, source), taken, replayed, title, MARK, f"expected  {message}"
        )
        if plain is not None:
            return plain
    lay_out = partial(pformat, width=WIDTH, sort_dicts=False)
    parts = {each.__name__: inspect.getsource(each) for each in PARTS}
    return SCRIPT.format(
        title=title, mark=MARK, adapter=source, name=adapter.__name__,
        case=lay_out(case), said=lay_out(replayed), expected=message, seed=verdict.seed,
        parts="\n".join(f"    {name!r}: {text!r}," for name, text in parts.items()),
    )  # fmt: skip


WIDTH: Final = 110
PARTS: Final = (time_limit, clocks, faults, files, threads, loop, names, world)


def source_of(adapter: type[Adapter]) -> str:
    """The module in which the adapter stands."""
    try:
        source = inspect.getsource(sys.modules[adapter.__module__])
    except (KeyError, OSError, TypeError):
        raise CannotExport(f"{adapter.__name__}: its source is not at hand") from None
    return "\n".join(line for line in source.splitlines() if not line.startswith("from __future__")).strip()

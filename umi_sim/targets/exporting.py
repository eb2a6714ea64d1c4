"""Exporting: a run as a script that needs the store and Python, and nothing of ours.

The script has the source of the adapter's module in it. Time, failures and the order of tasks are made by
copies of files of ours, which need the standard library alone; they come as text, so that no names meet.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from umi_sim.targets import clocks, faults, loop, plain_world
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.checker import RULES
from umi_sim.targets.items import Advance, AtOnce, Cancel, Crash, Fail, Item, Op, Reopen
from umi_sim.targets.life import Verdict

MARK: Final = "Written by `umi-sim target --export`"
BASES: Final = '''\
class Missing:
    def __repr__(self):
        return "nothing"


MISSING = Missing()


class Adapter:
    """In the place of the classes of umi_sim."""

    durable, folder, clock = False, None, None

    def make(self):
        pass

    def close(self):
        pass

    def now(self):
        return self.clock.seconds()

    @classmethod
    def pytest(cls, seconds=20):
        return None


def Known(*args, **kwargs):
    return None


Kv = Sessions = Memory = Adapter
'''


class CannotExport(ValueError):
    """Why there can be no script, in one line."""


def script_of(adapter: type[Adapter], verdict: Verdict) -> str:
    broken = verdict.broken
    if broken is None:
        raise CannotExport("the run passes, so there is nothing to show")
    parts = {
        each.__name__.rpartition(".")[2]: inspect.getsource(each)
        for each in (clocks, faults, loop, plain_world)
    }
    case = "\n".join(f"    {line}" for line in calls(verdict))
    lines = [
        f'"""{broken.op} breaks: {RULES[broken.rule]}.\n',
        f'{MARK}; it needs no umi_sim. Exit 1: it says what was recorded.\n"""\n',
        "import sys\nimport types\n",
        BASES,
        f"\n# The adapter.\n\n{source_of(adapter)}\n",
        "\n# What happened, and what was said.\n\n\ndef case(world):",
        case,
        f"\n\nEXPECTED = {broken.allowed or 'no error'!r}\nSAID = {said_in(adapter, case)!r}\n",
        "\n# Time, failures and order.\n\nPARTS = {",
        *(f"    {name!r}: {text!r}," for name, text in parts.items()),
        "}\n",
        MAIN.replace("ADAPTER", adapter.__name__),
    ]
    return "\n".join(lines)


MAIN: Final = """
if __name__ == "__main__":
    parts = types.SimpleNamespace()
    for name, text in PARTS.items():
        part = types.ModuleType(f"umi_sim_{name}")
        exec(text, part.__dict__)
        setattr(parts, name, part)
    world = parts.plain_world.World(ADAPTER, parts)
    said = world.run(case)
    print(*said, f"expected  {EXPECTED}", sep="\\n")
    sys.exit(1 if said == SAID else 0)
"""


def said_in(adapter: type[Adapter], case: str) -> list[str]:
    """What is said when the script is run; its steps are ours, the store is the user's."""
    space: dict[str, Any] = {}
    exec(f"def case(world):\n{case}", space)
    parts = SimpleNamespace(clocks=clocks, faults=faults, loop=loop)
    return plain_world.World(adapter, parts).run(space["case"])


def source_of(adapter: type[Adapter]) -> str:
    """The module in which the adapter stands, without what it imports from us."""
    module: ModuleType | None = sys.modules.get(adapter.__module__)
    try:
        source = inspect.getsource(module) if module else ""
    except OSError:
        source = ""
    if not source:
        raise CannotExport(f"{adapter.__name__}: its source is not at hand")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("umi_sim"):
            for at in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[at] = ""
    return "\n".join(line for line in lines if not line.startswith("from __future__")).strip()


def calls(verdict: Verdict) -> Iterator[str]:
    picks = iter(verdict.picks)
    for item in verdict.items:
        yield call(item, next(picks, ()) if isinstance(item, AtOnce) else ())


def call(item: Item, picks: Sequence[int]) -> str:
    match item:
        case Op():
            args = "".join(f", {name}={value!r}" for name, value in item.args.items())
            return f"world.op({item.name!r}{args})"
        case AtOnce():
            ops = "".join(f", ({op.name!r}, {dict(op.args)!r})" for op in item.ops)
            return f"world.at_once({list(picks)!r}{ops})"
        case Advance():
            return f"world.advance({item.ms})"
        case Reopen():
            return "world.reopen()"
        case Crash(of=Op() as op):
            return f"world.crash({item.site!r}, {item.n}, {op.name!r}, {dict(op.args)!r})"
        case Crash():
            return "world.crash()"
        case Fail():
            return f"world.fail({item.site!r}, {item.n}, {item.of.name!r}, {dict(item.of.args)!r})"
        case Cancel():
            return f"world.cancel({item.steps}, {item.of.name!r}, {dict(item.of.args)!r})"
    raise AssertionError(item)

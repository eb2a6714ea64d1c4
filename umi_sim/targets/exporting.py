"""Exporting: a run as a script that needs only the store and Python, and no umi_sim.

The script contains the source of the adapter's module. Calls, restarts and passing time become plain Python,
if trials show that they give the recorded answers each time. Any other run, such as one with executor jobs,
needs the simulated world: the script then contains copies of modules of umi_sim that need only the standard
library.
"""

import ast
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pprint import pformat
from typing import Final

from msgspec import structs

from umi_sim.kernel import dates
from umi_sim.runs import time_limit
from umi_sim.targets import clocks, faults, files, loop, names, threads, world
from umi_sim.targets.adapter import Adapter, ops_of
from umi_sim.targets.items import Item
from umi_sim.targets.life import TargetVerdict
from umi_sim.targets.promises import tell_promise
from umi_sim.targets.reports import as_taken, text_of

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
stand_in("umi_sim.kernel", "")
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
    """No script can be written; the message says why, in one line."""


def script_of(adapter: type[Adapter], verdict: TargetVerdict) -> str:
    broken = verdict.broken
    if broken is None:
        raise CannotExport("the run passes, so there is nothing to show")
    case = [(text_of(adapter, item), *item.call) for item in verdict.items]
    replayed = world.replay(adapter, case, verdict.seed)
    if broken.rule == "erased":
        raise CannotExport("a script shows answers, not what is in files: --replay shows it")
    if broken.rule == "hang" and not replayed[-1].strip().startswith((world.ENDLESS, "raises Stuck(")):
        raise CannotExport("it did not hang when it was run again: the judge of the run took the time")
    source, title = source_of(adapter), f"{broken.op} breaks: {tell_promise(broken.rule, broken.op)}."
    taken = [
        structs.replace(item, ops=tuple(as_taken(adapter, op) for op in item.ops)) for item in verdict.items
    ]
    message = broken.allowed or "no error"
    # Only the simulated world can end a store that hangs, and order jobs.
    if broken.rule != "hang" and not (verdict.jobs.count or verdict.threads):
        plain = write_plainly(adapter, source, taken, replayed, title, f"expected  {message}")
        if plain is not None:
            return plain
    lay_out = partial(pformat, width=WIDTH, sort_dicts=False)
    parts = {each.__name__: inspect.getsource(each) for each in PARTS}
    text = SCRIPT.format(
        title=title, mark=MARK, adapter=source, name=adapter.__name__,
        case=lay_out(case), said=lay_out(replayed), expected=message, seed=verdict.seed,
        parts="\n".join(f"    {name!r}: {text!r}," for name, text in parts.items()),
    )  # fmt: skip
    if reason := try_script(text):
        raise CannotExport(f"a script does not show it each time, as --replay does here: {reason}")
    return text


WIDTH: Final = 110
PARTS: Final = (time_limit, dates, clocks, faults, files, threads, loop, names, world)


def source_of(adapter: type[Adapter]) -> str:
    """Return the source of the adapter's module. Raises CannotExport."""
    try:
        source = inspect.getsource(sys.modules[adapter.__module__])
    except (KeyError, OSError, TypeError):
        raise CannotExport(f"{adapter.__name__}: its source is not at hand") from None
    return "\n".join(line for line in source.splitlines() if not line.startswith("from __future__")).strip()


# Plain calls. Most failures need only two or three, and such a script is easy to read. A script is accepted
# only after several trials, each in a new process.

OURS: Final = "umi_sim.targets"
BASES: Final = ("Kv", "Sessions", "MemoryStore")
STAND_INS: Final = ("MISSING", *BASES)
STILL: Final = b"it happens still\n"  # the last line of a script that shows what was recorded
TRIAL_COUNT: Final = 3
TRIAL_SECONDS: Final = 60
PLAIN_SCRIPT: Final = '''\
"""{title}

{mark}; it needs no umi_sim.
Exit 1: it happens still, as recorded. 0: it no longer does.
"""

import asyncio
import inspect
import sys
{preparation}
{adapter}


{named}async def outcome(call):
    try:
        value = call()
        value = await value if inspect.isawaitable(value) else value
        return repr(list(value) if isinstance(value, tuple) else value)
    except Exception as error:
        return f"raises {{error!r}}"


async def expect(recorded, *calls):
    """Make calls, several of them concurrently."""
    check(recorded, await asyncio.gather(*map(outcome, calls)))


def check(recorded, said):
    print(*said, sep="\\n")
    if said != recorded:
        print("it no longer happens: recorded was", *recorded)
        sys.exit(0)


{paging}async def main():
    store = {store}()
    await outcome(store.make)
{steps}
    print({expected!r})
    print("it happens still")
    sys.exit(1)


asyncio.run(main())
'''
NAMED: Final = '''\
class Named({name}):
    """The store, with the names of the run for the ids and versions that it makes."""

    names, versions = {{}}, {{}}  # names by id, versions by name

    def find(self, name):
        return next((id for id, own in self.names.items() if own == name), {unknown!r})

{methods}


def then(value, use):
    async def later():
        return use(await value)

    return later() if inspect.isawaitable(value) else use(value)


'''
IN_ADD: Final = """\
    def add(self, id, **args):
        return then(super().add(**args), lambda own: self.names.setdefault(own, id))
"""
BY_ID: Final = """\
    def {op}(self, id, **args):
        return super().{op}(self.find(id), **args)
"""
IN_ROWS: Final = """\
    def {op}(self, *args, **more):
        found = super().{op}(*args, **more)
        return then(found, lambda rows: [[self.names.get(id, id), text] for id, text in rows])
"""
VERSIONS: Final = """\
    def version(self, *args, version=None, **more):
        def keep(own):
            self.versions[version] = own
            return version

        found = super().version(*args, **more)
        return found if version is None else then(found, keep)

    def append(self, version, **args):
        return super().append(version=self.versions[version], **args)
"""
PAGES: Final = '''\
async def page_by_page(recorded, scan, *others):
    """Read all pages, with one of the other calls after each, and the rest after the last."""
    left, said = list(others), []

    async def read():
        found, cursor = [], None
        for _ in range({pages_max}):
            page = scan(cursor)
            keys, cursor = await page if inspect.isawaitable(page) else page
            found += keys
            if cursor is None:
                return found
            if left:
                said.append(await outcome(left.pop(0)))

    found = await outcome(read)
    check(recorded, [found, *said, *[await outcome(each) for each in left]])


'''
FOLDER: Final = """\
import tempfile
from pathlib import Path

FOLDER = Path(tempfile.mkdtemp())"""
NOW: Final = f"NOW = [{clocks.START_MS / 1000}]  # seconds"
MISSING: Final = 'MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()'


def name_results(adapter: type[Adapter]) -> str:
    """Return the source of a class that gives ids and versions names; "" if the store makes none."""
    ops, methods = ops_of(adapter), list[str]()
    if adapter.contract.name == "memory" and "id" not in ops.get("add", ("id",)):
        methods.append(IN_ADD)
        methods += [BY_ID.format(op=name) for name in ops if "id" in ops[name]]
        methods += [IN_ROWS.format(op=name) for name in ("search", "list") if name in ops]
    if {"version", "append"} <= ops.keys():
        methods.append(VERSIONS)
    whole = NAMED.format(name=adapter.__name__, unknown=names.UNKNOWN_ID, methods="\n".join(methods).rstrip())
    return whole if methods else ""


def write_plainly(
    adapter: type[Adapter],
    source: str,
    items: Sequence[Item],
    lines: Sequence[str],
    title: str,
    expected: str,
) -> str | None:
    """Return the script of a run; None if plain Python cannot show it.

    `lines`: those of a replay, in which outcomes are indented by six blanks.
    """
    stripped = without_ours(source)
    recorded = [line.strip() for line in lines if line.startswith(" " * 6)]
    left = iter(recorded)
    named = name_results(adapter)
    store = "Named" if named else adapter.__name__
    steps = [item.of.script(item, store, left) for item in items]
    call_count = sum(len(item.ops) for item in items)
    if stripped is None or len(recorded) != call_count or None in steps:
        return None
    has_time = any(item.kind == "advance" for item in items)
    has_pages = any(op.name == "scan" for item in items for op in item.ops)
    text = PLAIN_SCRIPT.format(
        title=title, mark=MARK, store=store, adapter=stripped, named=named, expected=expected,
        paging=PAGES.format(pages_max=world.PAGES_MAX) if has_pages else "",
        preparation="\n".join(prepare(source, has_time=has_time)),
        steps="\n".join(f"    {line}" for step in steps for line in step or ()),
    )  # fmt: skip
    return None if try_script(text) else text


def prepare(source: str, *, has_time: bool) -> Iterator[str]:
    """Yield the lines that replace the imports from umi_sim which the source of the adapter uses."""
    has_folder, has_now = ".folder" in source, ".now" in source or has_time
    yield from ("import time",) * has_time
    yield from (FOLDER,) * has_folder
    yield ""
    yield from (NOW,) * has_now
    yield from ("time.time = lambda: NOW[0]",) * has_time
    yield from (MISSING,) * ("MISSING" in source)
    yield "\n"
    base = next(name for name in BASES if re.search(rf"\b{name}\b", source))
    yield f"class {base}:"
    yield "    make = close = lambda self: None"
    yield from ("    folder = FOLDER",) * has_folder
    yield from ("    now = lambda self: NOW[0]",) * has_now
    yield "\n"


def without_ours(source: str) -> str | None:
    """Return the source without its imports from umi_sim; None if it needs more than the stand-ins."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        is_import = isinstance(node, ast.ImportFrom) and node.module == OURS
        is_test = isinstance(node, ast.Assign) and re.search(r"\.pytest\(", ast.unparse(node))
        names = node.names if isinstance(node, ast.ImportFrom) and is_import else []
        if any(each.name not in STAND_INS or each.asname for each in names):
            return None
        if is_import or is_test:
            last = node.end_lineno or node.lineno
            lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    text = re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip()
    return None if "umi_sim" in text or "outside" in text else text


def try_script(script: str) -> str:
    """Run a script several times. Return why it does not show the recorded failure; "" if it does."""
    return next(filter(None, (try_once(script) for _ in range(TRIAL_COUNT))), "")


def try_once(script: str) -> str:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(it for it in sys.path if it)}
    try:
        done = subprocess.run(
            [sys.executable, "-"], input=script.encode(errors="backslashreplace"),
            capture_output=True, env=env, timeout=TRIAL_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}"
    if done.returncode == 1 and done.stdout.endswith(STILL):
        return ""
    said = (done.stderr or done.stdout).decode(errors="replace").splitlines()
    return said[-1] if said else f"it ended with status {done.returncode}"

"""A run as plain Python: calls of the store, restarts and time that passes, with what each call gave.

Most failures need no more than two or three calls, and such a script can be read, sent to the authors of the
store, and run with the standard library alone. It is believed only after a trial in a process of its own.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from umi_sim.targets.clocks import START_MS
from umi_sim.targets.items import Item

OURS: Final = "umi_sim.targets"
BASES: Final = ("Kv", "Sessions", "MemoryStore")
STAND_INS: Final = ("MISSING", *BASES)
TRIAL_SECONDS: Final = 10
SCRIPT: Final = '''\
"""{title}

{mark}; it needs no umi_sim.
Exit 1: it happens still, as recorded. 0: it no longer does.
"""

import asyncio
import inspect
import sys
{preparation}
{adapter}


async def outcome(call):
    try:
        value = call()
        value = await value if inspect.isawaitable(value) else value
        return repr(list(value) if isinstance(value, tuple) else value)
    except Exception as error:
        return f"raises {{error!r}}"


async def expect(recorded, *calls):
    """Make calls, several of them concurrently."""
    said = await asyncio.gather(*map(outcome, calls))
    print(*said, sep="\\n")
    if said != recorded:
        print("it no longer happens: recorded was", *recorded)
        sys.exit(0)


async def main():
    store = {name}()
    await outcome(store.make)
{steps}
    print({expected!r})
    print("it happens still")
    sys.exit(1)


asyncio.run(main())
'''
FOLDER: Final = """\
import tempfile
from pathlib import Path

FOLDER = Path(tempfile.mkdtemp())"""
NOW: Final = f"NOW = [{START_MS / 1000}]  # seconds"
MISSING: Final = 'MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()'


def write_plainly(
    adapter: tuple[str, str],
    items: Sequence[Item],
    lines: Sequence[str],
    title: str,
    mark: str,
    expected: str,
) -> str | None:
    """Return the script of a run; None if plain Python cannot show it.

    `adapter`: name and source. `said`: the lines of a replay, in which six blanks come before an outcome.
    """
    name, source = adapter
    stripped = without_ours(source)
    recorded = [line.strip() for line in lines if line.startswith(" " * 6)]
    left = iter(recorded)
    steps = [item.of.script(item, name, left) for item in items]
    call_count = sum(len(item.ops) for item in items)
    if stripped is None or len(recorded) != call_count or None in steps:
        return None
    has_time = any(item.kind == "advance" for item in items)
    text = SCRIPT.format(
        title=title, mark=mark, name=name, adapter=stripped, expected=expected,
        preparation="\n".join(prepare(source, has_time=has_time)),
        steps="\n".join(f"    {line}" for step in steps for line in step or ()),
    )  # fmt: skip
    return text if shows(text) else None


def prepare(source: str, *, has_time: bool) -> Iterator[str]:
    """Yield the lines that stand for what the adapter takes from umi_sim: only what its source names."""
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
    """Return the module of an adapter without what it takes from umi_sim; None if it needs more of that."""
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


def shows(script: str) -> bool:
    """Return True if the script, run by itself, shows what was recorded."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(it for it in sys.path if it)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env=env, timeout=TRIAL_SECONDS, check=False
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 1 and done.stdout.endswith(b"it happens still\n")

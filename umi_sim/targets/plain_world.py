"""The world of an exported script: what happened to a store, again, with no judge and without umi_sim.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
"""

import inspect
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any


class World:
    """A store of this class; `parts`: the modules clocks, faults and loop."""

    def __init__(self, adapter: Any, parts: Any) -> None:
        self.adapter, self.parts = adapter, parts
        self.base = Path(tempfile.mkdtemp())
        self.folder = self.base / "0"
        self.folder.mkdir()
        self.clock = parts.clocks.Clock()
        self.sites = parts.faults.Sites(str(self.base))
        self.loop = parts.loop.Loop(self.clock)
        self.names: dict[Any, Any] = {}
        self.store: Any = None
        self.told: list[str] = []

    def run(self, case: Any) -> list[str]:
        """What happened, and what was said."""
        before = os.urandom, random.getstate()
        os.urandom = random.Random(0).randbytes
        random.seed(0)
        try:
            with (
                self.parts.clocks.told(self.clock),
                self.parts.faults.failing(self.sites, self.clock.seconds),
            ):
                put_back = self.parts.loop.inline(self.loop)
                self.begin()
                case(self)
                self.wait(self.store.close())
                self.loop.finish()
                put_back()
        finally:
            os.urandom = before[0]
            random.setstate(before[1])
            shutil.rmtree(self.base, ignore_errors=True)
        return self.told

    def begin(self) -> None:
        self.store = self.adapter()
        self.store.folder, self.store.clock = self.folder, self.clock
        self.wait(self.store.make())

    def wait(self, value: Any) -> Any:
        return self.loop.run_until_complete(value) if inspect.isawaitable(value) else value

    def tell(self, what: str, said: Any) -> None:
        self.told.append(f"  {what}\n      {repr(said).replace(str(self.base), 'FOLDER')}")

    # What happens.

    def op(self, name: str, **args: Any) -> None:
        self.tell(f"{name} {args}", self.called(name, args))

    def advance(self, ms: int) -> None:
        self.clock.now_ms += ms
        self.told.append(f"  {ms} ms pass")

    def reopen(self) -> None:
        self.wait(self.store.close())
        self.begin()
        self.told.append("  closed and opened again")

    def crash(self, site: str = "", n: int = 1, name: str = "", args: Any = None) -> None:
        left = []

        def kill(error: Exception) -> None:
            left.append(self.copied())
            raise self.parts.faults.Killed

        if name:
            self.sites.arm(site, n, kill)
            self.called(name, args)
            self.sites.disarm()
        self.folder = left[0] if left else self.copied()
        self.begin()
        self.told.append(f"  the process died{f' at {site} {n} of {name} {args}' if name else ''}")

    def fail(self, site: str, n: int, name: str, args: Any) -> None:
        self.sites.arm(site, n)
        said = self.called(name, args)
        self.sites.disarm()
        self.tell(f"{name} {args}, of which {site} {n} fails", said)

    def at_once(self, picks: Any, *ops: Any) -> None:
        left = list(picks)
        starts = [lambda op=op: self.begun(*op) for op in ops]
        said = self.loop.at_once(starts, lambda n: left.pop(0) if left else 0)
        self.tell(f"at once: {ops}", said)

    def cancel(self, steps: int, name: str, args: Any) -> None:
        task = self.loop.create_task(self.begun(name, args))
        if not self.loop.run([task], steps):
            task.cancel()
            self.loop.run([task])
        for _ in range(50):
            self.loop.run([self.loop.create_task(nothing())])
        self.told.append(f"  {name} {args}, cancelled after {steps} steps")

    # Calls.

    def copied(self) -> Path:
        new = self.base / str(len(list(self.base.iterdir())))
        shutil.copytree(self.folder, new, ignore=shutil.ignore_patterns("*-shm"))
        return new

    def called(self, name: str, args: Any) -> Any:
        try:
            return self.wait(self.pages(args) if name == "scan" else self.begun(name, args))
        except self.parts.faults.Killed:
            return "died"
        except Exception as error:
            return error

    async def begun(self, name: str, args: Any) -> Any:
        method = getattr(self.store, name)
        taken = inspect.signature(method).parameters
        own = {key: value for key, value in args.items() if key in taken}
        if "ttl" in args and "ttl_ms" in taken:
            own["ttl_ms"] = args["ttl"]
        elif "ttl" in args:
            own["ttl"] = args["ttl"] // 1000 if args["ttl"] % 1000 == 0 else args["ttl"] / 1000
        if "id" in own and name != "add":
            own["id"] = self.names.get(own["id"], "00000000-0000-4000-8000-000000000000")
        said = method(**own)
        said = await said if inspect.isawaitable(said) else said
        if name == "add" and "id" in args:
            self.names[args["id"]] = said[0] if isinstance(said, list) and len(said) == 1 else said
        return said

    async def pages(self, args: Any) -> Any:
        found: list[Any] = []
        cursor = None
        for _ in range(50):
            page = self.store.scan(**args, cursor=cursor)
            keys, cursor = await page if inspect.isawaitable(page) else page
            found += keys
            if cursor is None:
                break
        return found


async def nothing() -> None:
    pass

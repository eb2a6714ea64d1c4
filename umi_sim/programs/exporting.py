"""Exporting: a case as a script, which imports the program.

A case that only cancels main becomes a script without umi_sim, if a trial shows that it breaks the rule on a
real asyncio loop; a few lines replace what the program imports of umi_sim. Any other case becomes a call of
`simulate`.
"""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Final

from umi_sim.kernel.wording import cut, escape_text
from umi_sim.programs.failure_files import SavedCase
from umi_sim.programs.module_state import same_for_each_run
from umi_sim.programs.own_loop import run_on_asyncio
from umi_sim.programs.perturbations import CancelTask
from umi_sim.programs.program import Program, takes_run
from umi_sim.programs.reports import show_script
from umi_sim.programs.rules import BrokenRule, judge
from umi_sim.programs.services import BadProgram
from umi_sim.programs.simulation import ProgramOutcome, run_case
from umi_sim.record.saved_failures import write_whole

PLAIN: Final = "asyncio's own loop, and no umi_sim"
CALLED: Final = "umi_sim"
TRIAL_SECONDS: Final = 60
HUNG_SECONDS: Final = 10  # after which a script says that the program does not end
WIDTH: Final = 100
GIVEN: Final = ("main", "resume", "verify", "rules", "without")
HEAD: Final = '''\
"""{title}

Written by `umi-sim export`; it needs {needs}.
Run it in the folder from which {module} is imported. Exit 1: it happens still. 0: it no longer does.
"""

'''
SERVICE: Final = """

def service(function=None, *, latency_ms=20, **_):
    if function is None:
        return functools.partial(service, latency_ms=latency_ms)

    async def call(*args, **kwargs):
        await asyncio.sleep(latency_ms / 1000)
        reply = function(*args, **kwargs)
        reply = await reply if inspect.isawaitable(reply) else reply
        await asyncio.sleep(latency_ms / 1000)
        return reply

    return functools.wraps(function)(call)


sys.modules["umi_sim"] = sys.modules["umi_sim.programs"] = umi = ModuleType("umi_sim.programs")
umi.service, umi.ProgramRun, umi.ends_when_cancelled = service, object, None
umi.Program = lambda main, **others: SimpleNamespace(main=main, **others)
"""
RUN: Final = """
run = SimpleNamespace(state=SimpleNamespace(), history=[], acknowledged={})
"""
STORE: Final = """\
rows, soon = {}, service(latency_ms=1)
run.store = SimpleNamespace(
    get=soon(lambda key, default=None: copy.deepcopy(rows.get(key, default))),
    put=soon(lambda key, value: rows.update({key: copy.deepcopy(value)})),
    delete=soon(lambda key: rows.pop(key, None)),
    list_keys=soon(lambda: list(rows)),
)
"""
FOLDER: Final = "run.folder = Path(tempfile.mkdtemp())\n"
ACKNOWLEDGE: Final = "run.acknowledge = lambda key, value=True: run.acknowledged.update({key: value})\n"
LOOP: Final = '''

class Ready(collections.deque):
    """What the loop runs next. Main is cancelled before these of its steps."""

    count, cancels = 0, {cancels}

    def popleft(self):
        handle = super().popleft()
        self.count += not handle.cancelled()
        if self.count in self.cancels:
            self.cancels.remove(self.count)
            tasks[0].cancel()
        return handle


def begin(coroutine):
    """Run a coroutine until it ends, for {seconds} seconds at most; return how it ended."""
    task = loop.create_task(coroutine)
    tasks.append(task)
    task.add_done_callback(lambda _: loop.stop())
    timer = loop.call_later({seconds}, loop.stop)
    loop.run_forever()
    timer.cancel()
    if not task.done() or task.cancelled():
        return "is cancelled" if task.done() else "does not end"
    return f"raises {{task.exception()!r}}" if task.exception() else "returns"


tasks, loop = [], asyncio.SelectorEventLoop()
loop._ready = Ready()
loop.set_exception_handler(lambda *_: None)
told = {{"main": begin({main})}}
now = loop.time()
loop.time = lambda: now  # no timer goes off meanwhile
threading.Timer(0.1, loop.call_soon_threadsafe, [loop.stop]).start()
loop.run_forever()
del loop.time
left = [each.get_coro() for each in asyncio.all_tasks(loop)]
told["left"] = ", ".join(sorted(getattr(each, "__qualname__", type(each).__name__) for each in left))
{others}print(*(f"{{who}}: {{what}}" for who, what in told.items() if what), sep="\\n")
still = {still}
print("it happens still" if still else "it no longer happens")
sys.exit(still)
'''
CALL: Final = """\
import sys

sys.path.insert(0, "")
from {module} import {names}
from umi_sim.programs import {kinds}


def test_it_no_longer_happens():
    {script}


if __name__ == "__main__":
    test_it_no_longer_happens()
"""
STILL: Final = {
    "ends": 'told["{what}"] == "does not end"',
    "continues": 'told["{what}"].startswith("{how}")',
    "leaks_no_task": 'bool(told["left"])',
    "keeps_acknowledged": 'told["{what}"].startswith("{how}")',
    "ends_when_cancelled": 'told["main"] == "returns"',
}  # by broken rule: the expression that is true if the failure recurs


def write_script(name: str, program: Program, saved: SavedCase, out: Path) -> str:
    """Write a saved case as a script to `out`. Return what the script needs: PLAIN or CALLED.

    Raises BadProgram. `name`: MODULE:NAME of the program, which has been imported.
    """
    with same_for_each_run(program):
        outcome = run_case(program, saved.perturbations, saved.seed)
        broken = judge(program, outcome)
        if broken is None:
            raise BadProgram(f"{name}: passes now, so there is nothing to show")
        case = ScriptedCase(name, program, outcome, broken)
        if case.is_plain:
            write_whole(out, case.show_plain().encode())
            if succeeds(out):
                return PLAIN
        write_whole(out, case.show_call().encode())
        return CALLED


def succeeds(script: Path) -> bool:
    """Run a script in a new process. Return whether it says that the failure still happens."""
    command = [sys.executable, str(script)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TRIAL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 1 and done.stdout.rstrip().endswith(b"it happens still")


class ScriptedCase:
    """A case to write as a script. `names`: by field of Program, the name of its value in the script."""

    def __init__(self, name: str, program: Program, outcome: ProgramOutcome, broken: BrokenRule) -> None:
        self.program, self.outcome, self.broken = program, outcome, broken
        module, _, attribute = name.partition(":")
        self.module = module.removesuffix(".py").replace("/", ".")
        is_object = isinstance(getattr(sys.modules[self.module], attribute), Program)
        given = [field for field in GIVEN if getattr(program, field)]
        self.names = {field: f"{attribute}.{field}" if is_object else field for field in given}
        self.names["main"] = f"{attribute}.main" if is_object else attribute
        self.imported = [attribute] if is_object else [self.names[field] for field in given]

    @property
    def is_plain(self) -> bool:
        case = self.outcome.perturbations
        return self.broken.rule in STILL and all(
            isinstance(each, CancelTask) and not each.task for each in case
        )

    def show_head(self, needs: str) -> str:
        message = f"{'; '.join(self.outcome.effects) or 'Undisturbed'}: {self.broken.message}"
        message = escape_text(cut(message, 6 * WIDTH)).replace("\\", "/").replace('"', "'")
        return HEAD.format(title=fill(message, WIDTH), needs=needs, module=self.module)

    def show_plain(self) -> str:
        """Return the script without umi_sim."""
        try:
            source = inspect.getsource(sys.modules[self.module])
        except OSError:
            source = "umi_sim folder acknowledge store"
        failed = next((it for it in reversed(self.outcome.endings) if it.how != "returned"), None)
        how = f"raises {type(failed.error).__name__}(" if failed and failed.error else "is cancelled"
        body = LOOP.format(
            cancels=[each.step for each in self.outcome.perturbations if isinstance(each, CancelTask)],
            seconds=HUNG_SECONDS, main=self.show_begin("main"), others="".join(self.list_others()),
            still=STILL[self.broken.rule].format(what=failed.what if failed else "main", how=how),
        )  # fmt: skip
        parts = (RUN, "(run)", body), (FOLDER, "folder", source), (ACKNOWLEDGE, "acknowledge", source)
        body = "".join(part for part, sign, text in (*parts, (STORE, "store", source)) if sign in text) + body
        before = SERVICE if "umi_sim" in source or "store" in source else ""
        names = ", ".join(n for n in self.imported if n not in ("rules", "without"))
        text = f'{before}\nsys.path.insert(0, "")\nfrom {self.module} import {names}\n{body}'
        return self.show_head(PLAIN) + "".join(list_imports(text)) + text

    def show_begin(self, field: str) -> str:
        return f"{self.names[field]}({'run' if takes_run(getattr(self.program, field)) else ''})"

    def list_others(self) -> Iterator[str]:
        """Yield the lines that call resume and verify."""
        if "resume" in self.names:
            yield f'told["resume"] = begin({self.show_begin("resume")})\n'
        if "verify" in self.names:
            if "(run)" in self.show_begin("verify"):
                yield "run.state, run.history = SimpleNamespace(), []\n"
            yield f'told["verify"] = begin({self.show_begin("verify")})\n'

    def show_call(self) -> str:
        """Return the script that calls `simulate`, on a real asyncio loop if the rule breaks there too."""
        case = self.outcome.perturbations
        own_loop = all(isinstance(each, CancelTask) for each in case) and self.breaks_on_asyncio()
        kinds = sorted({type(each).__name__ for each in case})
        script = show_script(self.names, case, 0 if own_loop else self.outcome.seed, own_loop=own_loop)
        return self.show_head(CALLED) + CALL.format(
            module=self.module, names=", ".join(self.imported), kinds=", ".join([*kinds, "simulate"]),
            script=script,
        )  # fmt: skip

    def breaks_on_asyncio(self) -> bool:
        broken = judge(self.program, run_on_asyncio(self.program, self.outcome.perturbations))
        return broken is not None and broken.rule == self.broken.rule


MODULES: Final = ("asyncio", "collections", "copy", "functools", "inspect", "sys", "tempfile", "threading")


def list_imports(text: str) -> Iterator[str]:
    """Yield the imports that a script needs."""
    yield f"import {', '.join(name for name in MODULES if f'{name}.' in text)}\n"
    yield "from pathlib import Path\n" if "Path(" in text else ""
    if types := [name for name in TYPES if f"{name}(" in text]:
        yield f"from types import {', '.join(types)}\n"


TYPES: Final = ("ModuleType", "SimpleNamespace")

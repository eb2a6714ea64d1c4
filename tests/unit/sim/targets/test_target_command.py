"""The command target: a skeleton passes, a finding is written and replays, bad input is one line."""

import json
import os
import re
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from subprocess import run as run_process

import pytest
from click.testing import CliRunner, Result

from umi_sim.cli.root import cli
from umi_sim.shrink.search import Budget
from umi_sim.targets import Kv, MemoryStore, Sessions
from umi_sim.targets.adapter import CONTRACTS, Adapter, BadAdapter
from umi_sim.targets.declarations import check_judged
from umi_sim.targets.drawing import draw_items
from umi_sim.targets.hunt import hunt
from umi_sim.targets.skeletons import skeleton
from umi_sim.targets.world import fitting

ROOT = Path(__file__).parents[4]

POP = {"op": "pop", "session": "a"}
BROKEN = """
from umi_sim.targets import Kv


class Mine(Kv):
    def make(self):
        self.rows = {}

    def put(self, key, value):
        self.rows[key] = value

    def get(self, key):
        return self.rows.get(key)

    def delete(self, key):
        return key in self.rows
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("mine", "broken_store"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def umi(*args: str) -> Result:
    return invoke("target", *args)


def invoke(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


@pytest.mark.parametrize("kind", ["kv", "sessions", "memory"])
def test_a_skeleton_runs_and_passes(here: Path, kind: str) -> None:
    assert umi("--init", kind, "mine.py").exit_code == 0
    done = umi("mine:Mine", "--seeds", "0..9")
    assert done.exit_code == 0, done.output
    assert "PASS mine:Mine: 10 runs" in done.output  # after how far it is, on a slow machine


@pytest.mark.slow
def test_two_processes_tell_what_one_tells(here: Path) -> None:
    (here / "broken_store.py").write_text(BROKEN)
    found = ("broken_store:Mine", "--seeds", "0..50")
    assert umi(*found, "--jobs", "2").stdout == umi(*found).stdout


@pytest.mark.slow
def test_a_store_that_ends_its_process_is_reported_in_a_line(here: Path) -> None:
    there = BROKEN.replace("return self.rows.get(key)", "os.getpid() == ME or os._exit(3)")
    (here / "broken_store.py").write_text(f"import os\nME = {os.getpid()}\n{there}")
    done = umi("broken_store:Mine", "--seeds", "0..50", "--jobs", "2")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "umi-sim: a process died with the store that it ran" in done.stderr


def test_a_finding_is_printed_written_and_replayed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "broken_store.py").write_text(BROKEN)
    done = umi("broken_store:Mine", "--seeds", "0..50", "--json", "--export", "show.py")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["failure"]["rule"], len(report["items"])) == (1, "answer", 3)
    assert umi("broken_store:Mine", "--replay", report["saved"]).exit_code == 0
    named = report["saved"], "--of", "broken_store:Mine"
    assert invoke("replay", *named).exit_code == 0
    assert "without it: passes" in invoke("why", *named).output
    with monkeypatch.context() as over:
        over.setattr(Budget, "seconds_max", 0)
        stopped = invoke("why", *named).output
    assert ("without it" in stopped, "  stopped  after 0 seconds (--seconds)" in stopped) == (False, True)
    exported = invoke("export", *named, "--out", "shown.py")
    assert (exported.exit_code, "what the adapter imports, and no umi_sim" in exported.output) == (0, True)
    assert (here / "shown.py").read_text() == (here / "show.py").read_text()
    assert "lambda: store.delete(key=" in (here / "show.py").read_text()
    words = " ".join(
        umi("broken_store:Mine", "--replay", report["saved"], "--export", "show.py").output.split()
    )
    assert "script show.py was written; it needs what the adapter imports, and no umi_sim" in words
    assert words.endswith("run python show.py")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nothing",), "write MODULE:CLASS"),
        (("no_such_module:Mine",), "no module no_such_module"),
        (("json:JSONDecoder",), "is no class that inherits from Kv"),
        (("../mine:Mine",), "write the module as Python imports it from the current folder"),
        (("tests.sessions_store:Nope",), "has no Nope; its adapters: Store, PopReadsThenDeletes"),
        (("--init", "tree", "mine.py"), "expected one of kv, sessions, memory"),
        (("--init", "kv", "folder/mine.py"), "name a new .py file"),
        (("--init", "kv", "my-store.py"), "name a new .py file"),
        (("--init", "kv"), "name a new .py file"),
        (("--init",), "name one of kv, sessions, memory"),
        (("mine:Mine", "--seeds", "5-9"), "write 5..9"),
        (("tests.sessions_store:Store", "--replay", "none.json"), "none.json: cannot be read"),
        (("--contract", "kv", "--command", "no-such-program"), "cannot be started"),
    ],
)
def test_bad_input_is_one_line(here: Path, args: tuple[str, ...], message: str) -> None:
    done = umi(*args)
    assert done.exit_code == 2
    assert message in done.output
    assert done.output.count("\n") == 1


def test_a_first_adapter_replaces_nothing(here: Path) -> None:
    assert umi("--init", "kv", "mine.py").exit_code == 0
    before = (here / "mine.py").read_bytes()
    done = umi("--init", "sessions", "mine.py")
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "mine.py: is there already" in done.output
    assert (here / "mine.py").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module", "no module no_such_module"),
        ("\n1 / 0", "line 2: ZeroDivisionError: division by zero"),
        ("import json\n\njson.loads('{')", "line 3: JSONDecodeError: "),
        ("class Mine(", "'(' was never closed (mine.py, line 1)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(here: Path, text: str, message: str) -> None:
    (here / "mine.py").write_text(text)
    done = umi("mine:Mine")
    assert (done.exit_code, message in done.output, done.output.count("\n")) == (2, True, 1)


GLOBAL = """
from umi_sim.targets import Kv

ROWS = {}


class Mine(Kv):
    def make(self):
        pass

    def put(self, key, value):
        ROWS[key] = value

    def get(self, key):
        return ROWS.get(key)

    def delete(self, key):
        del ROWS[key]
"""


def test_what_an_earlier_run_left_in_a_global_is_no_finding(here: Path) -> None:
    """The failure would recur in this process, and not in the one in which the user repeats it."""
    (here / "mine.py").write_text(GLOBAL)
    done = umi("mine:Mine", "--seeds", "0..9")
    assert done.exit_code == 1
    assert "did not recur: depends on something outside the run (a global of a module" in " ".join(
        done.stdout.split()
    )
    assert not (here / ".umi-sim").exists()


NOISY = """
import logging
import threading

from umi_sim.targets import Kv


class Mine(Kv):
    durable = True

    def make(self):
        self.file = open(self.folder / "rows", "w+")

    def put(self, key, value):
        logging.getLogger("mine").warning("put")
        threading.Thread(target=lambda: 1 / 0).start()
        self.file.write(value)

    def get(self, key):
        pass

    def __del__(self):
        raise OSError("is gone")
"""


def test_what_a_dying_store_prints_does_not_hide_the_report(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(NOISY)
    command = [sys.executable, "-m", "umi_sim", "target", "mine:Mine", "--seeds", "0..3"]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_process(command, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:4]) == (1, "FAIL")
    assert [line for line in done.stderr.splitlines() if not line.startswith("umi-sim: ")] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "umi-seed"}, 'expected "umi-target"'),
        ({"contract": "kv"}, "expected sessions"),
        ({"items": [{"op": "drop"}]}, "items[0].op: unknown operation"),
        ({"items": [{"op": "get", "session": "a", "limit": "x"}]}, "limit: expected int"),
        ({"items": [{"op": "get"}]}, "missing session"),
        (
            {"items": [{"kind": "fail", "site": "net", "ops": [{"op": "pop", "session": "a"}]}]},
            "unknown site",
        ),
        ({"items": [{"op": "pop", "session": {"json": "nought"}}]}, "json: Expecting value"),
    ],
)
def test_a_bad_file_is_one_line(here: Path, change: dict[str, object], message: str) -> None:
    document = {
        "format": "umi-target",
        "contract": "sessions",
        "items": [],
        "failure": {},
        "trace": "",
        **change,
    }
    (here / "run.json").write_text(json.dumps(document))
    done = umi("tests.sessions_store:Store", "--replay", "run.json")
    assert (done.exit_code, message in done.output) == (2, True), done.output


@pytest.mark.parametrize(
    ("base", "body", "message"),
    [
        (Kv, {"put": lambda self, name, value: None}, "unknown argument 'name'"),
        (Kv, {}, "has no operation of kv"),
        (
            Kv,
            {"put": lambda self, key, value: None},
            "has put, and nothing is read back that could be judged",
        ),
        (
            Kv,
            {"put": lambda self, key, value: None, "gett": lambda self: None},
            "Mine.gett: is no operation of kv",
        ),
        (Kv, {"put": lambda self, key, value: None, "gett": "a text of its own"}, "add one of get"),
        (Kv, {"scan": lambda self, limit: ([], None)}, "scan: lacks an argument: it is 'cursor'"),
        (Kv, {"get": lambda self, key, cursor: None}, "unknown argument 'cursor'"),
        (Sessions, {"version": lambda self, session, version: None}, "unknown argument 'version'"),
        (Sessions, {"pop": lambda self, session: None, "limit_zero": "some"}, "limit_zero: is 'some'"),
    ],
)
def test_an_adapter_that_cannot_be_run_says_why(
    base: type[Adapter], body: dict[str, object], message: str
) -> None:
    with pytest.raises(BadAdapter) as refused:
        hunt(type("Mine", (base,), body), range(1))
    assert message in str(refused.value)


class Minute(Kv):
    """Every entry lives for a minute, up to its deadline and no longer."""

    default_ttl_ms = 60_000

    def make(self) -> None:
        self.rows: dict[str, tuple[object, float]] = {}

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value, self.now() + 60

    def get(self, key: str) -> object:
        value, until = self.rows.get(key, (None, 0))
        return value if self.now() < until else None


def test_entries_may_all_live_for_one_time() -> None:
    class Longer(Minute):
        default_ttl_ms = 61_000

    assert hunt(Minute, range(40)).first is None
    assert hunt(Longer, range(200)).first is not None


class Notes(MemoryStore):
    """It finds notes of other users, if a request names no user but a prefix."""

    def make(self) -> None:
        self.rows: dict[str, tuple[str, str]] = {}

    def add(self, text: str, user: str) -> str:
        name = f"id{len(self.rows)}"
        self.rows[name] = user, text
        return name

    def list(self, user: str) -> list[tuple[str, str]]:
        return [(name, text) for name, (owner, text) in self.rows.items() if owner.startswith(user)]


def test_scopes_that_are_mixed_up_are_reported_as_such() -> None:
    small = hunt(Notes, range(300)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule == "scope"
    assert len(small.items) == 2


SEVERAL = (
    BROKEN.replace("self.rows.get(key)", "self.rows.get(key.strip())")
    + """
    def count(self):
        return len(self.rows) + 1


class Other(Mine):
    def delete(self, key):
        return self.rows.pop(key, None) is not None

    def get(self, key):
        return self.rows.get(key)

    def count(self):
        return len(self.rows)


class Backwards(Other):
    def delete(self, key):
        super().delete(key)
"""
)


def test_every_kind_of_failure_is_reported_once_and_saved(here: Path) -> None:
    (here / "broken_store.py").write_text(SEVERAL)
    done = umi("broken_store:Mine", "--all", "--seeds", "0..20", "--json")
    report = json.loads(done.stdout)
    # a get that shows what was removed is another kind than one that misses a row
    kinds = [(it["failure"]["rule"], it["failure"]["op"], it["promise"]) for it in report["failures"]]
    assert (done.exit_code, report["runs"]) == (1, 21)
    assert len({*kinds}) == len(kinds) >= 3
    assert {("answer", "count", "answers"), ("answer", "get", "forgets")} <= {*kinds}
    assert [each["met"] for each in report["failures"]] == sorted(
        (e["met"] for e in report["failures"]), reverse=True
    )
    words = umi("broken_store:Mine", "--all", "--seeds", "0..20").stdout
    assert words.startswith(f"FAIL broken_store:Mine: {len(kinds)} kinds of failure in 21 runs, ")
    assert words.count("--replay") == len(kinds)
    assert umi("broken_store:Mine", "--all", "--seeds", "0..20", "--jobs", "2").stdout == words


def test_all_that_is_kept_in_a_folder_is_run_again(here: Path) -> None:
    (here / "broken_store.py").write_text(SEVERAL)
    umi("broken_store:Mine", "--all", "--seeds", "0..20")
    count = len([*(here / ".umi-sim/targets").iterdir()])
    again = umi("broken_store:Mine", "--replay", ".umi-sim/targets")
    assert again.exit_code == 1
    assert again.stdout.startswith(
        f"FAIL broken_store:Mine: {count} of {count} files of .umi-sim/targets fail\n"
    )
    report = json.loads(umi("broken_store:Mine", "--replay", ".umi-sim/targets", "--json").stdout)
    assert [*report["files"].values()] == ["fail"] * count
    others = umi("broken_store:Other", "--replay", ".umi-sim/targets")
    assert others.exit_code == 2
    assert others.stderr.splitlines()[-1] == "umi-sim: .umi-sim/targets: holds no run of Other"
    (here / "broken_store.py").write_text(SEVERAL.replace("Mine", "Base").replace("Other", "Mine"))
    sys.modules.pop("broken_store")
    mended = umi("broken_store:Mine", "--replay", ".umi-sim/targets")
    head, *_ = mended.stdout.splitlines()
    assert (mended.exit_code, head) == (
        0, f"PASS broken_store:Mine: {count} files of .umi-sim/targets, none fails",
    )  # fmt: skip
    assert mended.stdout.count("passes now, and is run each time:") == count


def test_two_implementations_are_compared(here: Path) -> None:
    (here / "broken_store.py").write_text(SEVERAL)
    both = ("broken_store:Other", "--against", "broken_store:Backwards")
    done = umi(*both, "--seeds", "0..60")
    assert done.exit_code == 1
    assert done.stdout.startswith("FAIL broken_store:Other --against broken_store:Backwards alike: delete\n")
    (file,) = (here / ".umi-sim/targets").iterdir()
    assert umi(*both, "--replay", str(file)).exit_code == 0
    assert umi("broken_store:Other", "--replay", str(file)).exit_code == 1
    assert umi("broken_store:Other", "--against", "broken_store:Other", "--seeds", "0..20").exit_code == 0
    refused = umi(*both, "--jobs", "2")
    assert (refused.exit_code, "without --jobs" in refused.output) == (2, True)
    none = umi("broken_store:Other", "--against", "tests.sessions_store:Store")
    assert (none.exit_code, "of two contracts, kv and sessions" in none.output) == (2, True)


@pytest.mark.parametrize("kind", ["kv", "sessions", "memory"])
def test_the_list_of_a_skeleton_names_what_is_asked(kind: str) -> None:
    """Methods with exactly these arguments can be called with whatever a run draws."""
    contract = CONTRACTS[kind].contract
    lines = re.findall(r"^    (\w+)\((.*)\)$", skeleton(kind, "mine").split('"""')[1], re.M)
    assert [name for name, _ in lines] == [*contract.ops]
    methods: dict[str, Callable[..., None]] = {}
    for name, args in lines:
        exec(f"def {name}({', '.join(['self', *filter(None, [args])])}): pass", {}, methods)
    adapter = type("Mine", (CONTRACTS[kind],), {**methods, "make": lambda self: None})
    check_judged(adapter)
    for seed in range(40):
        for item in draw_items(adapter, seed, {}):
            for op in item.ops:
                cursor = {"cursor": None} if op.name == "scan" else {}
                signature(methods[op.name]).bind(None, **fitting(methods[op.name], op.args), **cursor)


def test_a_file_that_asks_for_more_than_there_is_is_one_line(here: Path) -> None:
    (here / "broken_store.py").write_text(SEVERAL)
    saved = json.loads(umi("broken_store:Mine", "--seeds", "0..60", "--json").stdout)["saved"]
    (here / "run.json").write_text(Path(saved).read_text().replace('{"op":"count"', '{"op":"keys"', 1))
    done = umi("broken_store:Mine", "--replay", "run.json")
    message = "umi-sim: run.json: asks for keys, which Mine does not have\n"
    assert (done.exit_code, done.output) == (2, message)


def test_without_a_failure_there_is_no_script_and_that_is_reported(here: Path) -> None:
    umi("--init", "kv", "mine.py")
    done = umi("mine:Mine", "--seeds", "0..1", "--export", "show.py")
    assert "show.py was not written: no promise was broken" in done.stdout
    assert (done.exit_code, (here / "show.py").exists()) == (0, False)


def test_the_history_of_one_run_that_passes_is_written(here: Path) -> None:
    umi("--init", "kv", "mine.py")
    done = umi("mine:Mine", "--seed", "7", "--export", "run.jsonl")
    lines = (here / "run.jsonl").read_text().splitlines()
    assert done.exit_code == 0
    assert f"history run.jsonl was written: {len(lines)} events" in " ".join(done.stdout.split())
    done = umi("mine:Mine", "--seeds", "0..1", "--export", "two.edn")
    assert "two.edn was not written: no promise was broken; with --seed N" in " ".join(done.stdout.split())
    assert not (here / "two.edn").exists()


def test_a_failure_is_written_as_a_history(here: Path) -> None:
    (here / "broken_store.py").write_text(BROKEN)
    done = umi("broken_store:Mine", "--seeds", "0..50", "--export", "found.edn")
    events = (here / "found.edn").read_text().splitlines()
    assert (done.exit_code, len(events)) == (1, 6)
    assert ":process 0, :type :ok, :f :" in events[-1]


@pytest.mark.parametrize(
    ("name", "message"),
    [("x.txt", "name a file .py, .jsonl or .edn"), ("mine.edn", "is no history, and would be written over")],
)
def test_a_file_that_is_something_else_is_no_export(here: Path, name: str, message: str) -> None:
    umi("--init", "kv", "mine.py")
    (here / "mine.edn").write_text("{:a 1}")
    done = umi("mine:Mine", "--seeds", "0..1", "--export", name)
    assert (done.exit_code, done.stdout, message in done.stderr) == (2, "", True)
    assert (here / "mine.edn").read_text() == "{:a 1}"


def test_the_page_about_adapters_is_shown(here: Path) -> None:
    done = umi("--manual")
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "# Test a store of yours")


@pytest.mark.usefixtures("here")
def test_one_seed_is_one_run_and_needs_no_time() -> None:
    umi("--init", "kv", "mine.py")
    refused = umi("mine:Mine", "--seed", "7", "--seconds", "20")
    assert refused.exit_code == 2
    assert refused.output.splitlines() == [
        "umi-sim: --seed 7: is one run, however long it takes: leave out --seconds"
    ]
    assert umi("mine:Mine", "--seeds", "0..1", "--seconds", "20").exit_code == 0
    assert umi("mine:Mine", "--seed", "7").exit_code == 0

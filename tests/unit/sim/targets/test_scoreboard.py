"""Goal: the table says of each adapter what was held, what broke, and what it was not held to and why."""

import asyncio
import inspect
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from umi_sim.cli.root import cli
from umi_sim.kernel.wording import group_digits
from umi_sim.targets import MISSING, Known
from umi_sim.targets.adapter import Kv
from umi_sim.targets.hunt import HuntStrategy, explain_known, hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import KnownMet, run
from umi_sim.targets.promises import PROMISES, RULES, list_promises, promise_broken
from umi_sim.targets.scoreboard import AdapterRun, ScoredSubject, list_adapters, unite_classes, write_table
from umi_sim.targets.seed_files import write

STORES = """
'''A dict. Run with umi-forgets 1.0.'''

from umi_sim.targets import MISSING, Known, Kv


class Base(Kv):
    def put(self, key, value):
        self.kept[key] = value

    def get(self, key):
        return self.kept.get(key, MISSING)


class Keeps(Base):
    def make(self):
        self.kept = {}


class Forgets(Keeps):
    def put(self, key, value):
        self.kept = {key: value}


class Shows(Keeps):
    '''What it has removed it shows again.'''

    def delete(self, key):
        self.kept.setdefault(key)

    known = (Known("notes.md: removal", op="get"),)


class Other:
    def make(self):
        pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stores.py").write_text(STORES)
    return tmp_path


def scoreboard(*args: str) -> Result:
    return CliRunner().invoke(cli, ["scoreboard", *args])


@pytest.mark.slow
def test_each_adapter_has_a_row_and_each_failure_a_file_and_a_script(folder: Path) -> None:
    (folder / "lacks.py").write_text("import no_such_package\n" + STORES)
    done = scoreboard(".", "--seconds", "2", "--out", "table.md", "--json", "lacks:Keeps", "stores:Forgets")
    lacks, keeps = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (lacks["left_out"], lacks["packages"]) == ("no module no_such_package", "")
    assert keeps["packages"] == "umi-forgets not installed"
    assert keeps["runs"] > 0
    assert keeps["cells"]["crashes"] == "not promised: `durable = False`"
    assert keeps["cells"]["forgets"] == "not expressible: no operation removes"
    assert keeps["cells"]["answers"] == "broken"
    [failure] = keeps["failures"]
    assert failure["adapter"] == "stores:Forgets"  # of the same store as the class from which it inherits
    assert (failure["promise"], failure["what"], failure["script"]) == (
        "answers",
        "answer: get",
        "says the same",
    )
    kept = Path(".umi-sim/scoreboard", failure["file"])
    assert kept.exists()
    assert kept.with_suffix(".py").exists()
    table = Path("table.md").read_text()
    assert "--replay FILE` repeats one; the files are in `.umi-sim/scoreboard`." in table
    assert f"- `stores:Forgets`, answers: answer: get; its script says the same: `{kept.name}`" in table
    assert "- `lacks:Keeps` (): no module no_such_package" in table
    runs = group_digits(keeps["runs"])
    assert f"| `stores:Keeps` | umi-forgets not installed | {runs} | – | – | **broken** |" in table
    assert "- **forgets**: not expressible: no operation removes" in table


class Rarely(Kv):
    """Loses the other keys with a put of a key that no run draws."""

    def make(self) -> None:
        self.kept: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        self.kept = {**({} if key == "drawn by no run" else self.kept), key: value}

    def get(self, key: str) -> object:
        return self.kept.get(key, MISSING)


@pytest.mark.slow
def test_a_kept_failure_is_run_again_and_counts(folder: Path) -> None:
    head = "from umi_sim.targets import MISSING, Kv"
    (folder / "stores.py").write_text(f"{head}\n\n{inspect.getsource(Rarely)}")
    puts = [ContractOp("put", {"key": key, "value": 1}) for key in ("a", "drawn by no run")]
    items = [Item("op", (op,)) for op in (*puts, ContractOp("get", {"key": "a"}))]
    kept = write(Rarely, "stores:Rarely", run(Rarely, items), folder / "kept")
    [rarely] = json.loads(scoreboard(".", "--seconds", "1", "--files", "kept", "--json").stdout)
    [failure] = rarely["failures"]
    assert (failure["promise"], failure["file"], rarely["cells"]["answers"]) == (
        "answers", kept.name, "broken",
    )  # fmt: skip
    (folder / "kept" / "damaged.json").write_text("{")
    done = scoreboard(".", "--seconds", "1", "--files", "kept")
    assert (done.exit_code, "damaged.json" in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_known_divergence_is_a_broken_promise_as_well(folder: Path) -> None:
    done = scoreboard(".", "stores:Shows", "--seconds", "2", "--json")
    [shows] = json.loads(done.stdout)
    assert {(it["promise"], it["what"], it["file"]) for it in shows["failures"]} >= {
        ("forgets", "notes.md: removal", "")
    }
    assert (shows["name"], shows["cells"]["forgets"]) == ("stores:Keeps", "broken")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "nowhere"),
        ([".", "mine:Mine"], ".: no such adapter; it has stores:Keeps"),
        ([".", "--out", "table.txt"], "--out table.txt: name a file that ends in .md"),
        ([".", "--out", "nowhere/table.md"], "--out nowhere/table.md: name a file that ends in .md"),
        ([".", "--seconds", "0"], "--seconds"),
    ],
)
def test_what_cannot_be_run_is_one_line(folder: Path, args: list[str], message: str) -> None:
    done = scoreboard(*args)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_file_that_is_no_python_is_named_with_its_line(folder: Path) -> None:
    (folder / "odd.py").write_text("class Odd(Kv:\n")
    assert "odd.py, line 1" in scoreboard(".").stderr


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("print('it happens still')", "says the same"),
        ("import sys; print('it happens still'); sys.exit('Traceback, by a logger')", "says the same"),
        ("import sys; sys.exit(1)", "says something else (1)"),
        ("", "says something else (0)"),
        ("import no_such_package", "cannot be run: ModuleNotFoundError: No module named 'no_such_package'"),
    ],
)
def test_a_script_that_cannot_be_run_shows_nothing(
    folder: Path, script: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AdapterRun, "ask", lambda *given: ({}, ""))
    (folder / "show.py").write_text(script)
    assert AdapterRun("stores:Keeps", folder, folder).check_script("show.json") == expected


def test_every_rule_stands_for_one_promise_and_every_promise_has_rules() -> None:
    names = {promise_broken(rule, "", ()) for rule in RULES}
    assert names | {promise_broken("answer", "resurrection", ())} == {"", *(it.name for it in PROMISES)}
    assert promise_broken("alike", "", ()) == ""
    assert promise_broken("answer", "resurrection", ()) == "forgets"
    assert promise_broken("answer", "stale read", ()) == "answers"


@pytest.mark.parametrize(
    ("rule", "kinds", "promise"),
    [
        ("raises", ["op", "op"], "answers"),
        ("raises", ["op", "crash_in"], "crashes"),
        ("raises", ["op", "reopen"], "crashes"),
        ("answer", ["fail", "op"], "failures"),
        ("raises", ["cancel", "op"], "cancelled"),
        ("raises", ["at_once"], "concurrent"),
        ("answer", ["paged"], "pages"),
        ("reopen-lost", ["op", "crash"], "crashes"),
        ("reopen-lost", ["fail", "crash"], "failures"),
        ("error-applied", ["fail", "crash"], "failures"),
        ("scope", ["op", "crash"], "keeps apart"),
    ],
)
def test_a_failure_that_needs_a_fault_breaks_the_promise_about_it(
    rule: str, kinds: list[str], promise: str
) -> None:
    assert promise_broken(rule, "", [Item(kind) for kind in kinds]) == promise


class Overwritten(Kv):
    """A file that is emptied and written anew: a death in between leaves no JSON."""

    durable = True

    def make(self) -> None:
        self.path = self.folder / "rows.json"
        self.rows = json.loads(self.path.read_text()) if self.path.exists() else {}

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value
        self.path.write_text(json.dumps(self.rows))

    def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)

    async def has(self, key: str) -> bool:
        for _ in range(4):
            await asyncio.sleep(0)
        return key in self.rows


def test_a_known_divergence_breaks_the_promise_that_its_smallest_run_shows() -> None:
    class Declared(Overwritten):
        fails = ()
        known = (Known("notes.md: a death", rule="raises", op="make"),)

    found = hunt(Declared, range(60), way=HuntStrategy(to_end=True))
    assert {(it.address, it.rule, it.promise) for it in found.known} == {
        ("notes.md: a death", "raises", "crashes")
    }


def test_a_known_divergence_of_a_single_request_counts_for_its_own_promise() -> None:
    class Declared(Overwritten):
        """Declares each error of an unreadable file as known."""

        fails = ()
        known = (Known("notes.md: a death", says="Expecting"),)

        def make(self) -> None:
            self.path = self.folder / "rows.json"

        async def get(self, key: str) -> object:
            rows = json.loads(self.path.read_text()) if self.path.exists() else {}
            return rows.get(key, MISSING)

        def put(self, key: str, value: object) -> None:
            self.path.write_text(json.dumps({key: value}))

    put, get = ContractOp("put", {"key": "a", "value": 1}), ContractOp("get", {"key": "a"})
    items = (Item("crash_in", (put,), 1, "write"), Item("at_once", (get, get)))
    met = KnownMet("notes.md: a death", "at-once", items=items)
    assert explain_known(Declared, met, run).promise == "crashes"


def test_it_is_counted_in_how_many_runs_a_promise_could_be_broken() -> None:
    class Quiet(Overwritten):
        fails = ()
        known = (Known("notes.md: a death"),)

    tried = hunt(Quiet, range(60), way=HuntStrategy(to_end=True)).tried
    assert set(tried) == {"answers", "crashes", "concurrent", "cancelled"}
    assert 0 < tried["cancelled"] < tried["concurrent"] < tried["answers"] == 60
    put, has = ContractOp("put", {"key": "a", "value": 1}), ContractOp("has", {"key": "a"})
    early = [Item("fail", (put,), 1, "write"), Item("cancel", (has,), 1)]
    assert set(run(Overwritten, early).tried) == {"answers", "failures", "cancelled"}
    late = [Item("fail", (put,), 9, "write"), Item("cancel", (has,), 9)]
    assert set(run(Overwritten, late).tried) == {"answers"}


def test_what_few_runs_have_tried_is_not_called_held() -> None:
    cells = {"answers": "held", "crashes": "held", "failures": "held", "pages": "not expressible: no `scan`"}
    tried = {"answers": 15, "crashes": 9, "failures": 0, "pages": 0}
    reasons = {"stores:Keeps": ["no crash within an operation"]}
    one = ScoredSubject("stores:Keeps", "", 15, cells, tried, reasons)
    other = ScoredSubject("stores:Failing", "", 15, {**cells, "crashes": "broken"}, tried)
    both = unite_classes("stores:Keeps", [one, other])
    assert [both.cells[name] for name in ("answers", "crashes")] == ["held", "broken"]
    assert both.cells["failures"] == "not expressible: nothing in these runs could have broken it"
    assert unite_classes("stores:Keeps", [one]).cells["answers"] == "few"
    table = "\n".join(
        write_table([structs.replace(both, cells={it.name: "few" for it in PROMISES})], 1, "", "")
    )
    assert "| 30 | few |" in table
    assert "- no crash within an operation" not in table  # another class of the store had some
    alone = unite_classes("stores:Keeps", [one])
    alone = structs.replace(alone, cells={it.name: "few" for it in PROMISES})
    assert "- no crash within an operation: `stores:Keeps`" in "\n".join(write_table([alone], 1, "", ""))


def test_a_class_is_held_to_what_it_has_and_promises() -> None:
    class Whole(Kv):
        durable = erases = True

        async def put(self, ns: str, key: str, value: object, ttl: int | None = None) -> None: ...
        async def get(self, ns: str, key: str) -> None: ...
        async def delete(self, ns: str, key: str) -> None: ...
        async def scan(self, cursor: object = None) -> None: ...

    class Small(Kv):
        def put(self, key: str, value: object) -> None: ...
        def get(self, key: str) -> None: ...

    assert set(list_promises(Whole).values()) == {""}
    held = [name for name, lack in list_promises(Small).items() if not lack]
    assert held == ["answers", "failures"]  # `fails` names every site unless a class says otherwise


def test_only_classes_that_open_a_store_are_adapters() -> None:
    assert list_adapters(STORES, "stores.py") == dict.fromkeys(("Keeps", "Forgets", "Shows"), "Keeps")

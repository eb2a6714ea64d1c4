"""Made-up stores with planted bugs are detected, and one without is left alone."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import process_time

import pytest
from msgspec import structs

from tests.sessions_store import PLANTED, ClearSwallows, PopReadsThenDeletes, Store
from umi_sim.targets import MISSING, Known, Kv, exporting, life, seed_files, shrinking, world
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.checker import Checker
from umi_sim.targets.drawing import draw_items
from umi_sim.targets.exporting import CannotExport, script_of
from umi_sim.targets.hunt import Hunt, hunt, list_times, moments_of
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import TargetVerdict, run
from umi_sim.targets.shrinking import find_needed, shrink
from umi_sim.targets.values import key_of

RULES = {"PopReadsThenDeletes": "at-once", "AddsOneByOne": "batch-split", "ClearSwallows": "done-lost"}


HUNTS: dict[str, Hunt] = {}


def hunt_once(store: type[Adapter]) -> Hunt:
    """The hunt of a store, which several tests look at."""
    if store.__name__ not in HUNTS:
        HUNTS[store.__name__] = hunt(store, range(200))
    return HUNTS[store.__name__]


@pytest.mark.parametrize("store", PLANTED)
def test_a_planted_bug_is_found_and_reported_in_three_items(store: type[Store]) -> None:
    small = hunt_once(store).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule == RULES[store.__name__]
    assert len(small.items) <= 3


@pytest.mark.parametrize("store", PLANTED)
def test_what_a_failure_needs_is_listed_item_by_item(store: type[Store]) -> None:
    finding = hunt_once(store).findings[0]
    changes = {
        "op": "without it", "advance": "without it", "at_once": "one after the other",
        "fail": "without the failure", "crash_in": "without the crash",
    }  # fmt: skip
    items = [(item, changes[item.kind], "passes") for item in finding.small.items]
    # Alone in a run, an item cannot be left out: nothing would be asked.
    assert list(finding.needed) == [each for each in items if len(items) > 1 or each[1] != "without it"]


def test_what_is_not_needed_fails_without_it_as_well() -> None:
    small = hunt_once(PopReadsThenDeletes).small
    assert small is not None
    other = Item("op", (ContractOp("get", {"session": "z"}),))
    longer = run(PopReadsThenDeletes, (other, *small.items), small.seed)
    (first, change, end), *_ = find_needed(PopReadsThenDeletes, longer)
    assert (first, change, end) == (other, "without it", "breaks at-once")


def test_the_store_without_a_bug_is_left_alone() -> None:
    """All 400: umi-sim target tests.sessions_store:Store --seeds 0..399"""
    found = hunt(Store, range(20))
    assert found.first is None
    assert {site for each in found.moments.values() for site, _ in each} == {"commit", "statement", "step"}


def test_runs_replay_answer_by_answer() -> None:
    moments = moments_of(Store)
    for seed in range(6):
        items = draw_items(Store, seed, moments)
        assert run(Store, items).trace == run(Store, items).trace


def test_a_seed_file_holds_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = hunt_once(PopReadsThenDeletes)
    assert found.small is not None
    path = seed_files.write(PopReadsThenDeletes, "store:Mine", found.small)
    saved = seed_files.read(path)
    again = run(PopReadsThenDeletes, found.small.items)
    assert saved.steps == found.small.steps
    assert again.trace == saved.trace
    path.write_text(path.read_text().replace("store:Mine", "store:Other"))
    assert seed_files.read(path).trace == ""


def test_the_exported_script_shows_it_without_us(tmp_path: Path) -> None:
    small = hunt_once(ClearSwallows).small
    assert small is not None
    script = tmp_path / "show.py"
    script.write_text(script_of(ClearSwallows, small))
    done = subprocess.run(
        [sys.executable, "-I", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "1 fails" in done.stdout
    assert done.stdout.endswith("\nit happens still\n")
    mended = script.read_text().replace("with suppress(sqlite3.Error):", "if True:")
    script.write_text(mended)
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].startswith("it no longer happens")
    assert "import umi_sim" not in script.read_text()


ENDLESS = """
from umi_sim.targets import MISSING, Kv


class Endless(Kv):
    def make(self):
        self.keys = []

    def put(self, key, value):
        self.keys.append(key)

    def get(self, key):
        while self.keys.count(key) > 1:
            pass
        return MISSING
"""


def test_the_exported_script_of_a_hang_hangs_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And ends, after seconds: here after 0.2 s. A store that hangs no more says something else."""

    def shorten(script: str) -> str:
        assert "COMPUTING_SECONDS_MAX = 3" in script
        return script.replace("COMPUTING_SECONDS_MAX = 3", "COMPUTING_SECONDS_MAX = 0.2")

    try_once = exporting.try_once
    monkeypatch.setattr(exporting, "try_once", lambda script: try_once(shorten(script)))
    monkeypatch.setattr(world, "COMPUTING_SECONDS_MAX", 0.2)
    (tmp_path / "endless.py").write_text(ENDLESS)
    monkeypatch.syspath_prepend(tmp_path)
    store = import_module("endless").Endless
    put, get = ContractOp("put", {"key": "a", "value": 1}), ContractOp("get", {"key": "a"})
    verdict = run(store, [Item("op", (each,)) for each in (put, put, get)], seconds=0.2)
    assert verdict.broken is not None
    assert verdict.broken.rule == "hang"
    text = shorten(script_of(store, verdict))
    for count, code in ((1, 1), (2, 0)):
        script = tmp_path / f"show{count}.py"
        script.write_text(text.replace("count(key) > 1", f"count(key) > {count}"))
        done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert ("computes for seconds, and does not end" in done.stdout) == bool(code)
    quick = structs.replace(verdict, items=verdict.items[:1])
    with pytest.raises(CannotExport, match="did not hang"):
        script_of(store, quick)


def test_a_long_operation_may_fail_at_its_end_too() -> None:
    assert [list_times(count) for count in (0, 3, 6)] == [[], [1, 2, 3], [1, 2, 3, 4, 5, 6]]
    assert list_times(8) == [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6]
    long = list_times(1_000)
    assert (max(long), len(long)) == (991, 106)
    assert max(list_times(10**6)) == 991


class Forgetful(Kv):
    """Its count counts what has expired, and it takes keys without their blanks."""

    def make(self) -> None:
        self.rows: dict[str, tuple[object, float | None]] = {}

    def put(self, key: str, value: object, ttl: float | None = None) -> None:
        self.rows[key.strip()] = value, None if ttl is None else self.now() + ttl

    def get(self, key: str) -> object:
        value, until = self.rows.get(key.strip(), (MISSING, None))
        return value if until is None or self.now() < until else MISSING

    def count(self) -> int:
        return len(self.rows)


def test_a_known_divergence_hides_nothing_behind_it() -> None:
    class Declared(Forgetful):
        known = (Known("https://example.org/17", rule="ttl", op="count"),)

    first = hunt_once(Forgetful)
    behind = hunt(Declared, range(300))
    assert first.small is not None
    assert first.small.broken is not None
    assert first.small.broken.op == "count"
    assert [it.address for it in behind.known] == ["https://example.org/17"]
    assert behind.small is not None
    assert behind.small.broken is not None
    assert behind.small.broken.op == "get"


class MissesKeysAfterwards(Kv):
    """After a restart it lists no keys, which is known; it has all of them."""

    durable = True
    known = (Known("https://example.org/18", op="keys"),)

    def make(self) -> None:
        self.path = self.folder / "rows.json"
        self.is_new = not self.path.exists()
        self.rows = {} if self.is_new else json.loads(self.path.read_text())

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value
        self.path.write_text(json.dumps(self.rows))

    def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)

    def keys(self) -> list[str]:
        return [*self.rows] if self.is_new else []


def test_a_known_divergence_of_what_is_read_changes_nothing_of_what_is_kept() -> None:
    put, get = ContractOp("put", {"key": "a", "value": "v1"}), ContractOp("get", {"key": "a"})
    items = [Item("op", (put,)), Item("reopen"), Item("op", (ContractOp("keys"),)), Item("op", (get,))]
    verdict = run(MissesKeysAfterwards, items)
    assert [(it.address, it.rule) for it in verdict.known] == [("https://example.org/18", "answer")]
    assert (verdict.broken, verdict.steps[-1].replies) == (None, ("'v1'",))


def test_the_time_that_the_judge_takes_is_not_the_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A false alarm on the way: with many states that are possible the judge took longer than a store may."""
    running: list[bool] = []

    @contextmanager
    def computing(seconds: int) -> Iterator[None]:
        running.append(True)
        yield
        running.pop()

    def answered(self: Checker, *args: object) -> None:
        assert not running

    monkeypatch.setattr(life, "computing_at_most", computing)
    monkeypatch.setattr(Checker, "take_answer", answered)
    assert run(Forgetful, [Item("op", (ContractOp("count"),)), Item("reopen")]).broken is None
    assert not running


def test_equal_states_are_one_and_true_is_not_one() -> None:
    first, second = {"a": [1], "b": {"c": None}}, {"b": {"c": None}, "a": [1]}
    assert key_of(first) == key_of(second)
    assert key_of([1, True, 1.0]) != key_of([True, 1, 1.0])
    assert key_of(["1"]) != key_of([1])
    different: list[object] = [{}, [], (), "", None, 0]
    assert len({*map(key_of, different)}) == len(different)


def test_what_is_shrunk_fails_alike() -> None:
    found = hunt_once(Forgetful)
    assert found.first is not None
    small = shrink(Forgetful, found.first)
    assert len(small.items) == 3
    assert small.broken is not None


def test_arguments_are_shrunk_to_what_is_needed() -> None:
    messages = [{"role": "user", "content": f"v{number}"} for number in range(3)]
    add = Item("op", (ContractOp("add", {"session": "a", "items": messages}),))
    clear = Item("fail", (ContractOp("clear", {"session": "a"}),), 1, "commit")
    get = Item("op", (ContractOp("get", {"session": "a", "limit": 100}),))
    small = shrink(ClearSwallows, run(ClearSwallows, (add, get, clear, get)))
    given = [op.args for item in small.items for op in item.ops]
    assert given == [{"session": "a", "items": messages[:1]}, {"session": "a"}, {"session": "a"}]


class ComputesForEver(Kv):
    """One read never ends; `slow_s`: what opening the store computes."""

    slow_s = 0.0

    def make(self) -> None:
        self.rows: dict[str, object] = {}
        until = process_time() + self.slow_s
        while process_time() < until:
            sum(range(20_000))

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value

    def get(self, key: str) -> object:
        while key in self.rows:
            pass
        return MISSING


class OpensSlowly(ComputesForEver):
    slow_s = 0.08


# Of computing; shorter than in a hunt, since a run that never ends uses all of it.
BRIEF_S, LONG_S = 0.02, 0.15


@pytest.mark.slow
@pytest.mark.parametrize("store", [ComputesForEver, OpensSlowly])
def test_what_computes_for_ever_is_shrunk_with_less_patience_unless_all_is_slow(
    store: type[Adapter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shrinking, "BRIEF_SECONDS", BRIEF_S)
    items = [
        Item("op", (ContractOp(name, args),))
        for name, args in (("get", {"key": "b"}), ("put", {"key": "a", "value": 1}), ("get", {"key": "a"}))
    ]
    given: list[float] = []

    def live(
        adapter: type[Adapter], items: Sequence[Item], seed: int, seconds: float = LONG_S
    ) -> TargetVerdict:
        given.append(seconds)
        return run(adapter, items, seed, seconds)

    small = shrinking.shrink(store, live(store, items, 0), live)
    assert small.items == tuple(items[1:])
    is_brief = store is ComputesForEver
    assert {*given[2:]} == {BRIEF_S if is_brief else LONG_S}

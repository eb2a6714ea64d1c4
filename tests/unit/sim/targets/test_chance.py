"""Goal: what a store draws by chance follows from the seed of its run; what depends on more is not kept."""

import importlib
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import types
import uuid
from collections.abc import Callable, Iterator
from itertools import count
from os import urandom
from pathlib import Path

import pytest
from click.testing import CliRunner

from umi_sim.cli.root import cli
from umi_sim.kernel.report import laid_out
from umi_sim.record.saved_failures import BadFile
from umi_sim.targets import Kv, seed_files
from umi_sim.targets.as_test import failure_of
from umi_sim.targets.exporting import script_of
from umi_sim.targets.hunt import NOT_RECURRING_COUNT_MAX, hunt, recurs
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.reports import report_hunt

SOURCES: dict[str, Callable[[], object]] = {
    "random": random.random,
    "generator": lambda: random.Random().random(),
    "seeded anew": lambda: (random.seed(), random.random()),
    "system": lambda: random.SystemRandom().random(),
    "secrets": lambda: secrets.token_hex(8),
    "urandom": lambda: os.urandom(8),
    "urandom by name": lambda: urandom(8),
    "getrandom": lambda: os.getrandom(8),
    "uuid4": uuid.uuid4,
    "uuid1": uuid.uuid1,
    "file names": lambda: Path(tempfile.mktemp()).name,
}


def drawn(seed: int, source: Callable[[], object]) -> list[object]:
    """What a run of this seed draws; `now_ms` stands still."""
    found: list[object] = []

    class Draws(Kv):
        def make(self) -> None:
            found.extend(source() for _ in range(3))

        def put(self, key: str, value: object) -> None:
            """Nothing."""

    assert run(Draws, (), seed).broken is None
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_each_seed_draws_another_sequence_and_the_same_one_each_time(name: str) -> None:
    sequences = [drawn(seed, SOURCES[name]) for seed in (1, 2, 1, 3)]
    assert sequences[0] == sequences[2]
    assert len({str(each) for each in sequences}) == 3
    assert len({str(each) for each in sequences[0]}) == 3


@pytest.mark.parametrize("name", SOURCES)
def test_after_a_run_chance_goes_on_as_if_there_had_been_none(name: str) -> None:
    state, functions = random.getstate(), (os.urandom, random.seed, random.Random.seed, urandom)
    drawn(1, SOURCES[name])
    assert random.getstate() == state
    assert (os.urandom, random.seed, random.Random.seed, urandom) == functions
    assert SOURCES[name]() != SOURCES[name]()


def test_a_global_generator_of_numpy_is_seeded_where_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(9)
    parts = {"seed": generator.seed, "get_state": generator.getstate, "set_state": generator.setstate}
    fake = types.ModuleType("numpy.random")
    vars(fake).update(parts)
    monkeypatch.setitem(sys.modules, "numpy.random", fake)
    before = generator.getstate()
    sequences = [drawn(seed, generator.random) for seed in (1, 2, 1)]
    assert sequences[0] == sequences[2] != sequences[1]
    assert generator.getstate() == before


LOSES_BY_CHANCE = """
import random

from umi_sim.targets import Kv


class LosesByChance(Kv):
    def make(self):
        self.rows = {}

    def put(self, key, value):
        if random.random() < 3 / 4:
            self.rows[key] = value

    def get(self, key):
        return self.rows.get(key)
"""


def test_a_failure_by_chance_is_kept_with_its_seed_and_fails_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loses_by_chance.py").write_text(LOSES_BY_CHANCE)
    monkeypatch.syspath_prepend(tmp_path)
    store: type[Kv] = importlib.import_module("loses_by_chance").LosesByChance
    found = hunt(store, range(200, 300))
    assert found.small is not None
    path = seed_files.write(store, "mine:Mine", found.small)
    saved = seed_files.read(path)
    assert saved.seed == found.findings[0].small.seed >= 200
    again = run(store, [step.item for step in saved.steps], saved.seed)
    assert again.trace == saved.trace
    script = tmp_path / "show.py"
    script.write_text(script_of(store, found.small))
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, check=False)
    assert done.stdout.endswith("\nit happens still\n"), done.stderr
    path.write_text(path.read_text().replace(f'"seed":"{saved.seed}"', '"seed":"-1"'))
    with pytest.raises(BadFile, match=r'seed: .*"-1"'):
        seed_files.read(path)


class LosesNowAndThen(Kv):
    """It loses one write in 97: a global knows how many there were, and no run has so many."""

    numbers: Iterator[int]

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        if next(type(self).numbers) % 97 != 96:
            self.rows[key] = value

    def get(self, key: str) -> object:
        return self.rows.get(key)


LIMIT = "did not recur: depends on something outside the run (a global of a module,"


@pytest.fixture
def store() -> type[LosesNowAndThen]:
    return type("LosesNowAndThen", (LosesNowAndThen,), {"numbers": count(), "__module__": __name__})


def test_a_failure_that_does_not_recur_is_reported_and_not_saved(
    store: type[LosesNowAndThen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = hunt(store, range(90))
    assert (found.run_count, found.findings) == (90, [])
    assert found.not_recurring
    report = report_hunt("mine:Mine", found, "")
    assert report.head.startswith("FAIL mine:Mine ")
    assert LIMIT in report.head
    assert report.exit_code == 1
    assert "--replay" not in "\n".join(laid_out(report))
    assert report.value is not None
    report_json = json.loads(json.dumps(report.value()))
    assert (report_json["result"], report_json["saved"]) == ("fail", "")
    assert len(report_json["did_not_recur"]) == len(found.not_recurring)
    monkeypatch.setattr(store, "numbers", count())
    assert LIMIT in " ".join(failure_of(store, 2, tmp_path).split())
    assert [*tmp_path.iterdir()] == []


def test_the_command_tells_it_too(
    store: type[LosesNowAndThen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "LosesNowAndThen", store)
    asked = ["target", f"{__name__}:LosesNowAndThen", "--seeds", "0..89", "--all"]
    done = CliRunner().invoke(cli, asked)
    assert (done.exit_code, LIMIT in " ".join(done.stdout.split())) == (1, True)
    assert not (tmp_path / ".umi-sim").exists()


def test_a_hunt_of_what_never_recurs_ends(store: type[LosesNowAndThen]) -> None:
    found = hunt(store, range(10_000))
    assert (found.findings, len(found.not_recurring)) == ([], NOT_RECURRING_COUNT_MAX)


def test_only_the_same_failure_counts_as_one_that_recurs() -> None:
    """Run again, the items of the first failure raise, and then they raise each time."""

    class Raises(LosesNowAndThen):
        numbers = count(96)

        def put(self, key: str, value: object) -> None:
            super().put(key, value)
            if next(type(self).numbers) > 98:
                raise RuntimeError

    put, get = ContractOp("put", {"key": "a", "value": 1}), ContractOp("get", {"key": "a"})
    verdict = run(Raises, [Item("op", (each,)) for each in (put, get)])
    assert verdict.broken is not None
    assert verdict.broken.rule == "answer"
    assert not recurs(Raises, verdict, run)
    raised = run(Raises, verdict.items)
    assert raised.broken is not None
    assert raised.broken.rule == "raises"
    assert recurs(Raises, raised, run)

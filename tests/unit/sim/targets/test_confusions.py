"""Goal: a store that takes one name or value for another is found, and the report shows the difference."""

from fnmatch import fnmatchcase

import pytest

from umi_sim.kernel.report import Report, laid_out
from umi_sim.targets import MISSING, Kv, MemoryStore
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.reports import list_cause


class Folds(Kv):
    """Takes two names for one."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def _fold(self, key: str) -> str:
        return key.replace("/", "_")

    def put(self, key: str, value: object) -> None:
        self.rows[self._fold(key)] = value

    def get(self, key: str) -> object:
        return self.rows.get(self._fold(key), MISSING)


class Shortens(Folds):
    def _fold(self, key: str) -> str:
        return key[:255]


class DropsBackslashes(Folds):
    def _fold(self, key: str) -> str:
        return key.replace("\\", "/")


class SkipsEqualValues(Folds):
    """Writes only a value that differs: 1 is equal to True."""

    def _fold(self, key: str) -> str:
        return key

    def put(self, key: str, value: object) -> None:
        if self.get(key) != value:
            super().put(key, value)


class Plain(Folds):
    def _fold(self, key: str) -> str:
        return key


@pytest.mark.parametrize("store", [Folds, Shortens, DropsBackslashes, SkipsEqualValues])
def test_a_confusion_is_found(store: type[Adapter]) -> None:
    small = hunt(store, range(400)).small
    assert small is not None
    assert small.broken is not None
    assert (small.broken.rule, len(small.items)) == ("answer", 3 if store is SkipsEqualValues else 2)


def test_a_store_that_confuses_nothing_passes() -> None:
    assert hunt(Plain, range(80)).small is None


class ByTopic(MemoryStore):
    """Selects entries by the values of their metadata."""

    def make(self) -> None:
        self.rows: dict[str, tuple[str, str, dict[str, object]]] = {}

    def add(self, text: str, user: str, metadata: dict[str, object] | None = None) -> str:
        self.rows[f"{len(self.rows)}"] = text, user, metadata or {}
        return f"{len(self.rows) - 1}"

    def list(self, user: str, where: dict[str, object] | None = None) -> list[tuple[str, str]]:
        own = [(id, text, have) for id, (text, owner, have) in self.rows.items() if owner == user]
        return [(id, text) for id, text, have in own if self._fits(have, where or {})]

    def _fits(self, have: dict[str, object], where: dict[str, object]) -> bool:
        return all(name in have and self._is_same(have[name], where[name]) for name in where)

    def _is_same(self, have: object, wanted: object) -> bool:
        return have == wanted


class ByText(ByTopic):
    def _is_same(self, have: object, wanted: object) -> bool:
        return str(have) == str(wanted)


class ByPattern(ByTopic):
    """As LIKE of SQL does."""

    def _is_same(self, have: object, wanted: object) -> bool:
        return fnmatchcase(str(have), str(wanted).replace("%", "*").replace("_", "?"))


class WithoutCase(ByTopic):
    def _is_same(self, have: object, wanted: object) -> bool:
        return str(have).lower() == str(wanted).lower() and type(have) is type(wanted)


class OnlyTexts(ByTopic):
    def add(self, text: str, user: str, metadata: dict[str, object] | None = None) -> str:
        if not all(isinstance(each, str) for each in (metadata or {}).values()):
            raise TypeError("no text")
        return super().add(text, user, metadata)


@pytest.mark.parametrize("store", [ByText, ByPattern, WithoutCase])
def test_metadata_that_is_taken_for_other_metadata_is_found(store: type[Adapter]) -> None:
    small = hunt(store, range(600)).small
    assert small is not None
    assert small.broken is not None
    assert (small.broken.rule, small.broken.op) == ("answer", "list")


@pytest.mark.parametrize("store", [ByTopic, OnlyTexts])
def test_a_store_that_confuses_no_metadata_passes(store: type[Adapter]) -> None:
    assert hunt(store, range(300)).small is None


class Composes(Plain):
    """Returns an accent and its letter as one character."""

    def get(self, key: str) -> object:
        return str(super().get(key)).replace("e\u0301", "é")


def test_a_report_shows_accents_that_are_characters_of_their_own() -> None:
    ops = ContractOp("put", {"key": "a", "value": "e\u0301"}), ContractOp("get", {"key": "a"})
    verdict = run(Composes, [Item("op", (op,)) for op in ops])
    text = "\n".join(laid_out(Report("FAIL", [*list_cause(Composes, verdict)])))
    assert "got      get: 'é'" in text
    assert r"expected 'e\u0301'" in text

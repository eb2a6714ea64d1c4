"""Goal: the command for a night runs every adapter there is, and the script of a finding shows it again."""

from pathlib import Path

import pytest

from tools import ready_adapters

FORGETS = """
'''A dict that forgets. Run with umi-forgets 1.0.'''

from umi_sim.targets import MISSING, Kv


class Base(Kv):
    def put(self, key, value):
        self.kept = {key: value}

    def get(self, key):
        return self.kept.get(key, MISSING)


class Forgets(Base):
    def make(self):
        self.kept = {}


class Other:
    def make(self):
        pass
"""


@pytest.mark.slow
def test_what_is_found_has_its_row_and_so_has_what_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "forgets.py").write_text(FORGETS)
    (tmp_path / "lacks.py").write_text("import no_such_package\n" + FORGETS.replace("Forgets", "Lacks"))
    monkeypatch.setattr(ready_adapters, "ADAPTERS", tmp_path)
    assert ready_adapters.main(["--seconds", "20", "--out", str(tmp_path / "out")]) == 0
    forgets, lacks = (line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:])
    assert forgets[:2] == ["| `forgets:Forgets`", "umi-forgets not installed"]
    assert forgets[4:6] == ["answer: get", "says the same"]
    assert lacks[0] == "| `lacks:Lacks`"
    assert lacks[4] == "left out: no module no_such_package"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("import sys; sys.exit(1)", "says the same"),
        ("", "says something else (0)"),
        ("import no_such_package", "cannot be run: ModuleNotFoundError: No module named 'no_such_package'"),
    ],
)
def test_a_script_that_cannot_be_run_shows_nothing(tmp_path: Path, script: str, told: str) -> None:
    path = tmp_path / "show.py"
    path.write_text(script)
    assert ready_adapters.shown_again(path) == told


def test_each_adapter_of_the_examples_is_named_and_what_is_none_is_not() -> None:
    names = ready_adapters.adapters()
    assert {"cachetools_caches:Ttl", "key_value_stores:OnDisk", "umi_live_memory:Live"} <= set(names)
    assert not {"key_value_stores:Wrapped", "chromadb_collection:ByWords"} & set(names)

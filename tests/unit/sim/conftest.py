"""Where commands are tried: a folder of their own, with two small scenarios in it if they are asked for."""

from pathlib import Path

import pytest

from tests.unit.sim.commands import BAD, OWN


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_worlds(own_folder: Path) -> None:
    """own.toml passes, bad.toml does not."""
    (own_folder / "own.toml").write_text(OWN)
    (own_folder / "bad.toml").write_text(BAD)

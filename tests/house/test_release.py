"""Goal: tools/release.py uploads nothing that is not ready, and says what is missing."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools import release

CHANGELOG = f"# Changelog\n\n## {release.VERSION} (%s)\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    subprocess.run(("git", "init", "--quiet"), cwd=tmp_path, check=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("CHANGELOG.md\n")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG % "not released")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that were run: files are built, and each one works but for `umi-sim run` of the sdist."""
    names: list[str] = []

    def is_run(tools: Path, *module: str) -> bool:
        names.append(" ".join(module[:2]))
        if module[0] == "hatchling":
            Path(module[-1]).mkdir()
            for name in ("umi.whl", "umi.tar.gz"):
                Path(module[-1], name).touch()
        return True

    def try_file(folder: Path, python: str, file: str) -> Iterator[str]:
        if python == "broken" and file.endswith(".tar.gz"):
            yield "FAIL umi.tar.gz"

    monkeypatch.setattr(release, "is_made", lambda *_: True)
    monkeypatch.setattr(release, "is_run", is_run)
    monkeypatch.setattr(release, "try_file", try_file)
    return names


@pytest.mark.parametrize(
    ("changelog", "files", "message"),
    [
        (CHANGELOG % "2027-01-31", ["left.txt"], "git status: ?? left.txt: commit or remove it"),
        (CHANGELOG % "not released", [], "is (not released): write its date"),
        ("# Changelog\n", [], f"has no `## {release.VERSION} (DATE)`"),
    ],
)
def test_a_checkout_that_is_not_ready_is_refused_in_one_line(
    checkout: Path, ran: list[str], capsys: Any, changelog: str, files: list[str], message: str
) -> None:
    (checkout / "CHANGELOG.md").write_text(changelog)
    for name in files:
        (checkout / name).touch()
    assert (release.main(["--publish"]), ran) == (2, [])
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("args", "date", "status", "last"),
    [
        ([], "not released", 0, "twine check"),
        (["--publish"], "2027-01-31", 0, "twine upload"),
        (["--publish", "works", "broken"], "2027-01-31", 1, "twine check"),
    ],
)
def test_only_what_works_everywhere_is_uploaded_and_only_if_asked(
    checkout: Path, ran: list[str], args: list[str], date: str, status: int, last: str
) -> None:
    (checkout / "CHANGELOG.md").write_text(CHANGELOG % date)
    assert release.main(args) == status
    assert ran[-1] == last


def test_a_command_that_fails_or_prints_something_else_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: tuple[Path | str, ...], **_: Any) -> subprocess.CompletedProcess[str]:
        name = " ".join((Path(command[0]).name, *map(str, command[1:])))
        shown = next((begin for tried, begin in release.TRIED if " ".join(tried) == name), "")
        is_broken = name == "umi-sim run --seed 42"
        return subprocess.CompletedProcess(command, int(is_broken), "" if "--skill" in name else shown)

    monkeypatch.setattr(subprocess, "run", run)
    assert [*release.try_file(tmp_path, "python3.11", "dist/umi.whl")] == [
        "FAIL umi.whl on python3.11: umi-sim run --seed 42 ended with 1: 'PASS'",
        "FAIL umi.whl on python3.11: umi-sim target --skill ended with 0: ''",
    ]

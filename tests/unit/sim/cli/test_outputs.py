"""Goal: no output is wider than its terminal, and every word of it is plain or has a page."""

import re
import sys
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result

from tests.unit.sim.pages.made import canary
from tests.words_told import strange, unknown
from umi_sim.cli import progress
from umi_sim.cli.root import cli
from umi_sim.seedfile import files as seed_file

NARROW: Final = 60
WIDE: Final = 120
LONG: Final = (
    "explain",
    "why",
    "shrink",
    "mutants",
    "scenarios",
    "step",
)  # once is enough: they are the same reports
NEVER_MS: Final = 10**9
FILE: Final = "ttl.json"
HELP: Final = tuple((name, "--help") for name in sorted([*cli.commands, *cli.places]))
COMMANDS: Final = (
    ("run", "--seed", "42"), ("run", "--seed", "42", "--details"), ("run", "canary", "--seed", "1"),
    ("run", "nothing"), ("replay", FILE), ("replay", "missing.json"), ("show", FILE), ("show", "run.trace"),
    ("why", "--runs", "2", FILE), ("diff", "canary:1", "canary:2"), ("diff", FILE, FILE), ("check", FILE),
    ("check", "bad.toml"), ("scenarios",), ("scenarios", "smoke", "--seed", "3"), ("faults",),
    ("faults", "storage_slow"),
    ("marks",), ("explain",), ("explain", "ttl-boundary"), ("explain", "gate"), ("explain", "storage_slow"),
    ("explain", "nothing-such"), ("corpus", "list"), ("html", FILE, "--runs", "0"),
    ("export", FILE, "--pytest", "test_a.py"),
    ("step", FILE), ("shrink", FILE), ("mutants", "--only", "get-alive-at-expiry"), ("bless", FILE),
    ("--help",), *HELP,
)  # fmt: skip
RUNS: Final = (  # what a run with many faults has to say
    ("run", "crash_storm", "--seed", "3", "--details"), ("run", "all_faults", "--seed", "2", "--details"),
    ("explore", "explore_working", "--depth", "2"),
    ("sweep", "canary", "--seeds", "0..1", "--jobs", "1", "--no-shrink"),
    ("target", "--init", "kv", "mine.py"), ("target", "mine:Mine", "--seeds", "0..3"),
)  # fmt: skip
WRONG: Final = (  # refusals of what is impossible
    ("run", "--bogus"), ("bogus",), ("run", "--seed", "abc"), ("run", "--set", "foo"), ("run", "x.toml"),
    ("run", "--set", "agents.count=999"), ("run", "--set", "agents.cuont=2"), ("run", "--mode", "wild"),
    ("run", "--transcript", "no.jsonl"), ("replay", "bad.toml"), ("show", "no.trace"), ("check", "mine.py"),
    ("diff", "canary:x", "y"), ("html", FILE, "--out", "a.txt"), ("export", FILE), ("mutants", "nothing"),
    ("mutants", "--area", "x"), ("verify",), ("sweep", "--seeds", "5..1"), ("sweep", "--count", "0"),
    ("merge", "x"), ("target",), ("target", "nowhere:Mine"), ("target", "--init", "foo", "mine2.py"),
    ("corpus", "keep", "x.json"), ("bless", "x.json"),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outputs")


def invoked(width: int, *args: str) -> Result:
    commands = "h\ne o18\nd\nn\ns memory\nq\n" if args[0] == "step" else ""
    env = {"COLUMNS": str(width)}
    with patch.object(progress, "AFTER_MS", NEVER_MS):  # a slow machine tells no other lines
        return CliRunner(env=env).invoke(cli, args, commands, terminal_width=width, prog_name="umi-sim")


def list_output_lines(width: int, *args: str) -> list[str]:
    """What a command says in a terminal of this width; an error is one line, however long."""
    return invoked(width, *args).stdout.splitlines()


@pytest.mark.slow
def test_every_word_is_plain_or_has_a_page_and_no_line_is_wider_than_a_wide_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Say it in plain words, give it an entry in glossary.toml, or, if every reader knows it, add it to
    tests/plain_words.txt."""
    monkeypatch.chdir(folder)
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # a store of another test
    Path("bad.toml").write_text("[scenario]\nid = 3\n")
    list_output_lines(WIDE, "run", "canary", "--seed", "1", "--trace", "run.trace")
    odd: dict[str, str] = {}
    wide: dict[str, tuple[str, ...]] = {}
    for args in (*COMMANDS, *RUNS, *WRONG):
        seed_file.write(Path(FILE), canary())
        result = invoked(WIDE, *args)
        odd |= strange(result.output.splitlines())
        if args in COMMANDS:
            wide |= dict.fromkeys(find_wide(WIDE, result.stdout.splitlines()), args)
    assert (odd, wide) == ({}, {})


@pytest.mark.slow
@pytest.mark.parametrize("width", [30, NARROW])
def test_no_line_is_wider_than_its_terminal(
    width: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("bad.toml").write_text("[scenario]\nid = 3\n")
    list_output_lines(width, "run", "canary", "--seed", "1", "--trace", "run.trace")
    wide: dict[str, tuple[str, ...]] = {}
    for args in (each for each in COMMANDS if width == NARROW or each[0] not in LONG):
        seed_file.write(Path(FILE), canary())
        wide |= dict.fromkeys(find_wide(width, list_output_lines(width, *args)), args)
    assert wide == {}


def find_wide(width: int, lines: list[str]) -> list[str]:
    return [line for line in lines if len(line) > width and not is_copied(line)]


COPIED: Final = re.compile(r"\s*(\S+( \S+)?\s+)?((umi-sim|git|python|pytest|echo) .*|\S+)")


def is_copied(line: str) -> bool:
    """A command, a path or a hash stays in one piece, with its label or without, however long it is."""
    return COPIED.fullmatch(line) is not None


def test_what_an_output_begins_with_is_a_word_of_the_glossary(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    seed_file.write(Path(FILE), canary())
    quick = [args for args in COMMANDS if args[0] in ("show", "replay", "check", "html", "export", "corpus")]
    heads = [
        line.split()[0] for args in quick for line in list_output_lines(80, *args)[:1] if line[:2].isupper()
    ]
    assert len(heads) > 3
    assert unknown(heads) == []

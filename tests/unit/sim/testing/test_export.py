"""Goal: a recorded failure becomes a plain test: it fails with its bug, passes without, and reads well."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from tests.unit.sim.commands import umi
from umi_core.memory import Memory
from umi_core.workflows import BUILT_IN
from umi_sim.mutants import plant_mutant
from umi_sim.record.items import Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.runner import run_once
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.files import SeedFile
from umi_sim.testing.export import CannotShow, source_of

LINT = ("check", "--isolated", "--line-length=110", "--select=E,W,F,I,B,UP,SIM,RUF,C4,PT,PIE,RET,S102,S307")
HOSTILE = '"""\n\'\'\'); import os; os.system("echo \\x00") # -*- coding: utf-7 -*- \u202e \ud800 {x} %s \\'
LIVES = (
    Op("o1", 0, "a", "set", {"key": "k", "value": b"tea", "ttl_ms": 1_000}),
    Op("o2", 1_000, "a", "get", {"key": "k"}),
)


def recorded(*items: Item, bug: str | None = None, **changes: object) -> SeedFile:
    """The seed file of a run of these items."""
    given = {"scenario": "smoke", "planted": bug, **changes}
    config: RunConfig = structs.replace(PLAIN, **given)
    return seed_file.of_verdict(run_once(config, items)[0])


def run_source(text: str, bug: str | None = None) -> None:
    """Run the tests of a file, with a bug in the memory that they make: its tables come by default."""
    space: dict[str, object] = {}
    exec(compile(text, "<exported>", "exec"), space)
    with plant_mutant(bug, BUILT_IN) as registry, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory.__init__, "__defaults__", (None, registry))
        for name, test in space.items():
            if name.startswith("test_"):
                test()  # type: ignore[operator]


def imports_of(text: str) -> list[str]:
    nodes = list(ast.walk(ast.parse(text)))
    assert not [node for node in nodes if isinstance(node, ast.Import)]
    return [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]


def called_in(text: str) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)}


def classes_in(text: str) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in nodes for alias in node.names}


# With a planted bug.


def test_it_fails_with_the_bug_and_passes_without() -> None:
    seed = recorded(*LIVES, bug="get-alive-at-expiry")
    source = source_of(seed)
    assert source.shows == "fails while get-alive-at-expiry is planted, passes without it"
    run_source(source.text)
    with pytest.raises(AssertionError):
        run_source(source.text, "get-alive-at-expiry")


def test_a_failure_ends_it_when_it_is_run_as_it_is() -> None:
    """Exit code 1 of Python, by the exception."""
    text = source_of(recorded(*LIVES, bug="get-alive-at-expiry")).text
    exec(compile(text, "<exported>", "exec"), {"__name__": "__main__"})
    with plant_mutant("get-alive-at-expiry", BUILT_IN) as registry, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory.__init__, "__defaults__", (None, registry))
        with pytest.raises(AssertionError):
            exec(compile(text, "<exported>", "exec"), {"__name__": "__main__"})


def test_it_ends_where_the_bug_shows_with_expected_and_got() -> None:
    text = source_of(recorded(*LIVES, bug="get-alive-at-expiry")).text
    *_, comment, expected, got, call, claim = text.partition("\n\n\nif __name__")[0].splitlines()
    assert comment == "    # ttl-boundary: get 'k' answered b'tea'"
    assert expected == "    # expected  get 'k': None"
    assert got == "    # got       get 'k': b'tea'"
    assert call == '    effects = memory.step(1_700_000_001_000, Get("o2", "k"))'
    assert claim == '    assert effects == (Reply("o2", Done()),)'


def test_it_imports_umi_core_alone() -> None:
    modules = imports_of(source_of(recorded(*LIVES, bug="get-alive-at-expiry")).text)
    assert modules
    assert all(module.split(".")[0] == "umi_core" for module in modules)


def test_a_bug_inside_shows_by_a_read_that_was_not_requested() -> None:
    seed = recorded(
        Op("o1", 0, "a", "set", {"key": "k", "value": b"tea"}),
        Op("o2", 0, "a", "set", {"key": "k", "value": b"coffee"}),
        bug="overwrite-leaks-space",
    )
    text = source_of(seed).text
    assert "probe" in text
    run_source(text)
    with pytest.raises(AssertionError):
        run_source(text, "overwrite-leaks-space")


def test_a_bug_that_the_run_does_not_meet_is_refused() -> None:
    seed = recorded(LIVES[0], bug="get-alive-at-expiry")
    with pytest.raises(CannotShow, match="get-alive-at-expiry shows in no effect"):
        source_of(seed)


# Without one.


def test_a_run_that_passes_is_held_to_all_its_effects() -> None:
    source = source_of(recorded(*LIVES))
    assert source.shows.startswith("passes on the code at hand")
    run_source(source.text)
    with pytest.raises(AssertionError):
        run_source(source.text, "get-alive-at-expiry")


def test_an_open_bug_must_only_not_reply_what_was_judged_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = recorded(*LIVES, bug="get-alive-at-expiry")
    unknown = structs.replace(seed, config=structs.replace(seed.config, planted=None))
    with plant_mutant("get-alive-at-expiry", BUILT_IN):
        source = source_of(unknown)
    assert '    assert effects != (Reply("o2", Done(value=b"tea")),)\n\n\nif' in source.text
    assert source.shows == "fails on the code at hand; what is right at its last step is for you to write"
    run_source(source.text)
    with pytest.raises(AssertionError):
        run_source(source.text, "get-alive-at-expiry")


def test_an_open_bug_that_raises_must_only_not_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("umi_core.tiers.working.answer", broken)
        source = source_of(recorded(*LIVES))
        with pytest.raises(ZeroDivisionError):
            run_source(source.text)
    assert '    memory.step(1_700_000_000_000, Set("o1", "k", b"tea", ttl_ms=1000))\n\n\nif' in source.text
    run_source(source.text)


def test_an_open_bug_that_only_an_invariant_sees_is_refused() -> None:
    items = [Op(f"o{n}", 0, "a", "set", {"key": "k", "value": b"x" * n}) for n in (1, 2)]
    with (
        plant_mutant("overwrite-leaks-space", BUILT_IN),
        pytest.raises(CannotShow, match="not seen in a reply"),
    ):
        source_of(recorded(*items))


# Every text.


def hostile_run() -> SeedFile:
    """Every text of it wants to get out, and the last reply is wrong."""
    return recorded(
        Op("o1", 0, "a", "set_block", {"kind": "facts", "text": HOSTILE[:60], "label": "x"}),
        Op("o2", 5, "a", "remember", {"text": 'Alice """ likes\n# "tea"; import os'}),
        Op("o3", 9, "a", "set", {"key": HOSTILE, "value": HOSTILE.encode("utf-8", "surrogatepass")}),
        Op("o4", 9, "a", "set", {"key": 'k"""\n', "value": b"'''\n", "ttl_ms": 1}),
        Op("o5", 10, "a", "get", {"key": 'k"""\n'}),
        bug="get-alive-at-expiry",
    )


def test_every_text_is_only_a_literal() -> None:
    text = source_of(hostile_run()).text
    assert text.isascii()
    assert all(module.startswith("umi_core.") for module in imports_of(text))
    assert called_in(text) <= {"memory.step", "float", "test_ttl_boundary_a_1", *classes_in(text)}
    run_source(text)
    with pytest.raises(AssertionError):
        run_source(text, "get-alive-at-expiry")


def test_it_passes_ruff(tmp_path: Path) -> None:
    for name, seed in (("test_few.py", recorded(*LIVES)), ("test_hostile.py", hostile_run())):
        (tmp_path / name).write_text(source_of(seed).text)
    for options in (LINT, ("format", "--isolated", "--check")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *options, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


# The command.


@pytest.fixture
def seed_at(own_folder: Path) -> Path:
    seed_file.write(Path("bug.json"), recorded(*LIVES, bug="get-alive-at-expiry"))
    return Path("bug.json")


def test_the_command_writes_the_test_and_says_what_it_shows(seed_at: Path) -> None:
    result = umi("export", str(seed_at), "--pytest", "test_bug.py")
    assert result.stdout.splitlines() == [
        "WROTE test_bug.py: 7 steps",
        "  shows    fails while get-alive-at-expiry is planted, passes without it",
        "  run      python test_bug.py # or with pytest; where umi_core is installed",
    ]
    run_source(Path("test_bug.py").read_text())
    assert umi("export", str(seed_at), "--pytest", "test_bug.py", "--quiet").output == ""  # its own may go


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("mine.py", "was not written by this command"),
        ("no/x.py", "folder that is there"),
        ("x.txt", ".py file"),
    ],
)
def test_a_file_that_must_not_be_written_is_refused(seed_at: Path, out: str, message: str) -> None:
    Path("mine.py").write_text("mine = 1\n")
    result = umi("export", str(seed_at), "--pytest", out)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert Path("mine.py").read_text() == "mine = 1\n"


def test_a_failure_that_shows_nowhere_is_refused_in_one_line(seed_at: Path) -> None:
    seed_file.write(seed_at, recorded(LIVES[0], bug="get-alive-at-expiry"))
    result = umi("export", str(seed_at), "--pytest", "test_bug.py")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert not Path("test_bug.py").exists()

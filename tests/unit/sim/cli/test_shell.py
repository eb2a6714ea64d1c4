"""Goal: a commit that broke something is found without a trace in the user's tree, and shells complete."""

import subprocess
from pathlib import Path

import pytest

from tests.unit.sim.commands import refused, umi
from tests.unit.sim.pages.made import canary
from umi_sim.seedfile import files as seed_file
from umi_sim.sweep.plan import SweepPlan

REPLAY = """
import sys
if {code} < 0:
    sys.exit("a commit that does not even start")
print("{{}}")
sys.exit({code})
"""


def git(*args: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    return subprocess.run(["git", *names, *args], check=True, capture_output=True, text=True).stdout.strip()


def commit(code: int) -> str:
    """A release whose replays end with this code; below zero, it does not start."""
    Path("umi_sim/__main__.py").write_text(
        REPLAY.format(code=code) + f"# {git('rev-list', '--all', '--count')}"
    )
    git("add", ".")
    git("commit", "--quiet", "-m", f"ends with {code}")
    return git("rev-parse", "HEAD")


@pytest.fixture
def history(own_folder: Path) -> list[str]:
    """Nine commits in a repository of its own: good, but for one that cannot tell; then bad."""
    git("init", "--quiet")
    Path("umi_sim").mkdir()
    Path("umi_sim/__init__.py").write_text("")
    seed_file.write(Path("a.json"), canary())
    return [commit(code) for code in (0, 0, 0, 2, 0, 1, 1, 3, 1)]


def test_the_first_bad_commit_is_found_and_nothing_else_changes(history: list[str]) -> None:
    before = (git("status", "--porcelain"), git("rev-parse", "HEAD"), git("for-each-ref"))
    done = umi("bisect", "a.json", history[0], "HEAD")
    assert done.stdout.startswith(f"FOUND {history[5][:12]} ends with 1\n"), done.stderr
    assert (git("status", "--porcelain"), git("rev-parse", "HEAD"), git("for-each-ref")) == before


def test_where_only_commits_are_left_that_cannot_tell_nothing_is_claimed(history: list[str]) -> None:
    git("checkout", "--quiet", "-b", "mended", history[4])
    last_good, skipped, first_bad = commit(0), commit(-1), commit(1)
    done = umi("bisect", "a.json", last_good, first_bad)
    assert done.exit_code == 4
    assert done.stdout.startswith("UNKNOWN the first bad commit")
    assert f"{skipped[:12]} skip" in done.stdout


def test_ends_that_are_not_what_they_should_be_are_refused(history: list[str]) -> None:
    assert "nothing: no such commit in " in refused("bisect", "a.json", "nothing", "HEAD")
    assert "HEAD: expected a good commit, but there the file fails" in refused(
        "bisect", "a.json", "HEAD", "HEAD"
    )
    message = refused("bisect", "a.json", history[0], history[1])
    assert "expected a bad commit, but there the file passes" in message


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_docs_say_how_a_shell_completes(shell: str) -> None:
    assert "_UMI_SIM_COMPLETE" in umi("completion", shell).stdout


def test_a_shell_that_asks_gets_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_UMI_SIM_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", "umi-sim sw")
    monkeypatch.setenv("COMP_CWORD", "1")
    from umi_sim.cli.root import cli

    with pytest.raises(SystemExit):
        cli.main([], prog_name="umi-sim")


def test_a_sweep_says_which_seeds_are_fresh(small_worlds: None) -> None:
    done = umi("sweep", "own.toml", "--count", "2", "--base", "7", "--jobs", "1")
    assert done.stderr.startswith("umi-sim: fresh seeds from --base 7: ")
    assert SweepPlan((), range(3)).describe_fresh() == ""

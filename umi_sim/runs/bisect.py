"""Bisect: find the commit that introduced the failure of a seed file, in a clone of the repository.

Law 1. Files are written only below the given folder, and the user's tree does not change. The clone shares
       the objects of the repository.
Law 2. A commit is skipped if it cannot judge the file: it cannot read the file, or its simulator does not
       start, fails, is killed, or does not end.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from umi_core.data import Data
from umi_sim.kernel.progress import at

PASSES: Final = 0
SKIPPED: Final = (2, 4)  # exit codes of a replay that say nothing about the memory
ENDS: Final = ("first bad commit", "only 'skip'ped commits")  # in the output of git when it has finished
TRIED_COUNT_MAX: Final = 64  # git needs the logarithm of the number of commits
SECONDS_MAX: Final = 600  # for one replay: runs have a limit of steps, but one step may never end
WORDS: Final = {
    "good": "the file passes", "bad": "the file fails", "skip": "the file cannot be judged",
}  # fmt: skip


class CannotBisect(ValueError):
    """No first bad commit can be looked for; the message is one line."""


class Tried(Data):
    """A commit, and the result of replaying the file with its code: good, bad or skip."""

    commit: str
    word: str


class Bisected(Data):
    """The commits that were tried, in order, and the first bad commit; None if skipped ones hide it."""

    tried: tuple[Tried, ...]
    commit: str | None = None
    subject: str = ""


def bisect(file: Path, good: str, bad: str, folder: Path) -> Bisected:
    """Look for the first commit after `good` at which the file fails. Raises CannotBisect."""
    top = run_git(Path.cwd(), "rev-parse", "--show-toplevel")
    ends = [commit_of(Path(top), name) for name in (good, bad)]
    clone = folder / "clone"
    # `--shared` borrows the objects of the repository, so the clone costs no copy of its history;
    # `--no-checkout` since each replay checks out its own commit.
    run_git(folder, "clone", "--quiet", "--shared", "--no-checkout", "--", top, str(clone))
    # Both ends are checked first: if the file failed at `good` already, git's result would be wrong.
    tried = [replay_at(file, clone, commit) for commit in ends]
    for one, name, wanted in zip(tried, (good, bad), ("good", "bad"), strict=True):
        if one.word != wanted:
            raise CannotBisect(f"{name}: expected a {wanted} commit, but there {WORDS[one.word]}")
    # With --no-checkout git only moves BISECT_HEAD; `replay_at` does
    # the checkout, with --force, since a replay may leave files behind.
    run_git(clone, "bisect", "start", "--no-checkout", ends[1], ends[0])
    tried += search(file, clone)
    first = run_git(clone, "rev-parse", "refs/bisect/bad")
    # Each skipped commit between the last good and the first bad one may
    # be the culprit. Without skipped ones git has narrowed it down to one.
    if any(one.word == "skip" for one in tried) and is_open(clone):
        return Bisected(tuple(tried))
    return Bisected(tuple(tried), first, run_git(clone, "log", "-1", "--format=%s", first))


def search(file: Path, clone: Path) -> Iterator[Tried]:
    """Replay the commit that git proposes, and the next one, until git has found the first bad commit."""
    for number in range(TRIED_COUNT_MAX):
        at("bisect", number, unit="commit")
        head = run_git(clone, "rev-parse", "BISECT_HEAD")
        if head == run_git(clone, "rev-parse", "refs/bisect/bad"):
            return  # git proposes no commit but the known bad one, so the search is over
        one = replay_at(file, clone, head)
        yield one
        # git exits with 2 if only skipped commits are left; that ends the search as well.
        output = run_git(clone, "bisect", one.word, head, codes=(0, 2))
        if any(end in output for end in ENDS):
            return


def is_open(clone: Path) -> bool:
    """Check whether candidates are left between the good commits and the bad one."""
    goods = run_git(clone, "for-each-ref", "--format=%(objectname)", "refs/bisect/good-*").split()
    left = run_git(clone, "rev-list", "refs/bisect/bad", *(f"^{good}" for good in goods)).split()
    return len(left) > 1  # the bad commit itself is always left


def replay_at(file: Path, clone: Path, commit: str) -> Tried:
    """Replay the file with the code of a commit."""
    run_git(clone, "checkout", "--quiet", "--force", "--detach", commit)
    command = [sys.executable, "-m", "umi_sim", "replay", "--json", "--expect", "pass", str(file)]
    env = {**os.environ, "PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"}
    with suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            command, cwd=clone, env=env, capture_output=True, check=False, timeout=SECONDS_MAX
        )
        return Tried(commit, judge_exit(done.returncode, done.stdout))
    return Tried(commit, "skip")


def judge_exit(code: int, output: bytes) -> str:
    """Return `good`, `bad` or `skip` for a replay with this exit code and output.

    The output must be a report, since Python also exits with 1 if it finds no module to run.
    """
    try:
        has_judged = isinstance(json.loads(output), dict) and code not in SKIPPED
    except ValueError:
        has_judged = False
    return "skip" if not has_judged else "good" if code == PASSES else "bad"


def commit_of(top: Path, name: str) -> str:
    try:
        return run_git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except CannotBisect:
        raise CannotBisect(f"{name}: no such commit in {top}") from None


def run_git(folder: Path, *args: str, codes: Sequence[int] = (0,)) -> str:
    """Run git and return its output. Raises CannotBisect with the first line of its error."""
    try:
        # In English, since ENDS are compared with what git prints.
        env = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(
            ["git", *args], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise CannotBisect("git is not installed") from None
    if done.returncode not in codes:
        raise CannotBisect(f"git {args[0]}: {(done.stderr or done.stdout).strip().partition(chr(10))[0]}")
    return done.stdout.strip()

"""Goal: on a full disk every verdict is printed, and every missing file is named."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.sim.commands import umi
from umi_sim.kernel import folders
from umi_sim.record import saved_failures

pytestmark = pytest.mark.usefixtures("small_worlds")
SWEEP = ("sweep", "--seeds", "1..2", "--jobs", "1", "--no-shrink")


@pytest.mark.parametrize(("world", "head", "code"), [("own.toml", "PASS", 2), ("bad.toml", "FAIL", 1)])
def test_each_report_that_cannot_be_written_is_named_besides_the_verdict(
    world: str, head: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(saved_failures, "write_whole", full)
    result = umi(*SWEEP, world, "--junit", "out.xml", "--json", "out.json")
    assert result.stdout.startswith(f"{head} sweep of 1 scenario")
    assert result.exit_code == code
    errors = [
        line for line in result.stderr.splitlines() if " out." in line
    ]  # a seed file may be missing too
    assert errors == [f"umi-sim: out.{end}: No space left on device" for end in ("xml", "json")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("run", "bad.toml", "--seed", "1"), (*SWEEP, "bad.toml"), ("run", "no.toml")]
)
def test_what_cannot_be_complained_of_changes_no_verdict(command: tuple[str, ...]) -> None:
    """Neither a seed file nor a line on standard error can be written."""
    Path(".umi-sim").touch()
    fine, full = (ended(command, to) for to in (os.devnull, "/dev/full"))
    assert fine.returncode == (2 if "no.toml" in command else 1)
    assert fine.stdout.startswith(b"FAIL") is (fine.returncode == 1)
    assert (full.returncode, full.stdout) == (fine.returncode, fine.stdout)


def ended(command: tuple[str, ...], complaints: str) -> "subprocess.CompletedProcess[bytes]":
    around = {**os.environ, "PYTHONPATH": str(folders.PROJECT)}
    with Path(complaints).open("wb") as stderr:
        return subprocess.run(
            [sys.executable, "-P", "-m", "umi_sim", *command],
            env=around,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )

"""Commands as a user types them, and two small scenarios for them: one that is good, and one with a bug."""

from pathlib import Path
from typing import Final
from unittest.mock import patch

from click.testing import CliRunner, Result

from umi_sim.cli import progress
from umi_sim.cli.root import cli
from umi_sim.kernel.report import WIDTH, Report, laid_out

NEVER_MS: Final = 10**9
OWN: Final = """
[scenario]
id = "own"
title = "One agent, few requests"
swarm = { mode = "plain" }
[agents]
count = 1
[workload]
operations = 20
adversarial = "0/1"
weights = { set = 2, get = 4, len = 1 }
[faults]
"""
BAD: Final = (
    OWN.replace('"own"', '"bad"\nmutant = "get-alive-at-expiry"').replace("= 20", "= 300\nkeys = 1")
    + '[clock]\nland = "3/4"\n'
)


def umi(*args: str, stdin: str | bytes = "") -> Result:
    """A command in this process, in a terminal of any width; `stdin`: its standard input."""
    with patch.object(progress, "AFTER_MS", NEVER_MS):  # a slow machine tells no other lines
        result = CliRunner(env={"COLUMNS": "999"}).invoke(cli, args, input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def lines_of(report: Report, width: int = WIDTH) -> list[str]:
    """A report as people see it."""
    return list(laid_out(report, width))


def refused(*args: str) -> str:
    """The one line with which a command refuses; nothing is written."""
    assert not Path("umi_core").exists(), "other programs write here: ask for the fixture own_folder"
    before = sorted(Path().rglob("*"))
    result = umi(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("umi-sim: ")
    assert result.stderr.count("\n") == 1
    assert sorted(Path().rglob("*")) == before
    return result.stderr

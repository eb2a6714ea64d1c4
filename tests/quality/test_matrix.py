"""Goal: every kind of fault is worth its place. It fires, and there is a bug that is not seen without it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from umi_sim.cli.root import cli
from umi_sim.faults.kinds import KINDS
from umi_sim.mutants.registry import MUTANTS
from umi_sim.runs import matrix

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
NEEDS = json.loads((GOLDEN / "needs.json").read_text())
BUGS = {bug.kind: bug for bug in MUTANTS.values() if bug.kind}
SAMPLE = ("model_empty", "embed_permuted", "storage_lost", "link_duplicate", "clock_jump_forward")


def test_every_kind_has_one_bug_that_needs_it() -> None:
    assert sorted(bug.kind for bug in MUTANTS.values() if bug.kind) == sorted(KINDS)


def test_what_is_said_in_another_way_shows_its_bug_alone() -> None:
    for name, kind in KINDS.items():
        assert kind.fault_class not in ("shape", "meaning") or not BUGS[name].alike, name


def test_the_table_of_needs_was_measured_with_these_bugs_and_lacks_nothing() -> None:
    assert list(NEEDS) == list(KINDS)
    for name, row in NEEDS.items():
        measured = (row["bug"], tuple(row["alike"]), row["seen_by"])
        assert measured == (BUGS[name].name, BUGS[name].alike, ""), f"python tools/matrix.py {name}"
        assert row["rule"] in BUGS[name].rules, name


@pytest.mark.parametrize("kind", SAMPLE)
def test_without_its_kind_a_bug_is_not_seen(kind: str) -> None:
    assert matrix.seen_without(BUGS[kind], 2) == ""


def test_the_command_tells_of_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "WITHOUT_COUNT", 1)
    told = CliRunner().invoke(cli, ["mutants", "--matrix", "--only", "embed_zero"])
    assert told.exit_code == 0
    assert told.output.split()[:3] == ["embed_zero", "zero-vector-kept", "degradation-named"]
    monkeypatch.setattr(matrix, "seen_without", lambda bug, count: "late-is-inert")
    told = CliRunner().invoke(cli, ["mutants", "--matrix", "--only", "embed_zero"])
    assert told.exit_code == 4
    assert told.output.endswith("ALSO BY late-is-inert\n")


def test_a_name_that_is_no_row_is_refused() -> None:
    told = CliRunner().invoke(cli, ["mutants", "--matrix", "--only", "nonsense"])
    assert told.exit_code == 2
    assert "neither a kind of fault nor a rule" in told.output

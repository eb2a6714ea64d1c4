"""Goal: every kind of fault is worth its place. It fires, and there is a bug that is not seen without it."""

import json
from pathlib import Path

import pytest

from tests.unit.sim.commands import umi
from umi_sim.faults.kinds import KINDS
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.rules import RULES
from umi_sim.runs import matrix
from umi_sim.scenario.files import draw, find

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
NEEDS = json.loads((GOLDEN / "needs.json").read_text())
BUGS = {bug.kind: bug for bug in MUTANTS.values() if bug.kind}


def test_every_kind_has_one_bug_that_needs_it() -> None:
    assert sorted(bug.kind for bug in MUTANTS.values() if bug.kind) == sorted(KINDS)


def test_every_kind_is_on_in_all_faults() -> None:
    assert list(draw(find("all_faults"), 0).faults) == list(KINDS)


def test_kinds_of_shape_and_meaning_show_their_bug_alone() -> None:
    for name, kind in KINDS.items():
        assert kind.fault_class not in ("shape", "meaning") or not BUGS[name].alike, name


def test_the_table_of_needs_was_measured_with_these_bugs_and_lacks_nothing() -> None:
    assert list(NEEDS) == list(KINDS)
    for name, row in NEEDS.items():
        measured = (row["bug"], tuple(row["alike"]), row["seen_by"])
        assert measured == (BUGS[name].name, BUGS[name].alike, ""), f"python tools/matrix.py {name}"
        assert row["rule"] in BUGS[name].rules, name


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_without_its_kind_a_bug_is_not_seen(kind: str) -> None:
    """In the run that shows it with its kind; `tools/matrix.py` has tried eight seeds at least."""
    assert matrix.run_with_bug(BUGS[kind], NEEDS[kind]["seed"], BUGS[kind].overrides_without) is None


def test_every_rule_that_a_run_judges_is_named_by_a_planted_bug() -> None:
    named = {rule for bug in MUTANTS.values() for rule in bug.rules}
    assert [rule.name for rule in RULES if rule.is_checked and rule.name not in named] == []


def test_a_rule_is_tried_with_all_its_bugs_and_seeds_until_one_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first bug is always seen by another rule before; the last is seen by this one alone, and late."""
    masked, late = MUTANTS["overwrite-leaks-space"], MUTANTS["get-alive-at-expiry"]
    monkeypatch.setattr(matrix, "masks_of", lambda bug, rule, seed: ("x",) if bug is masked else None)
    assert matrix.rule_need("r", [masked, late]) == matrix.Need("r", masked.name, "r", 0, 8, seen_by="x")
    shows = lambda bug, rule, seed: () if (bug, seed) == (late, 150) else None  # noqa: E731  # used once
    monkeypatch.setattr(matrix, "masks_of", shows)
    monkeypatch.setattr(matrix, "rule_without_rule", lambda bug, rule, count: "")
    assert matrix.rule_need("r", [masked, late]) == matrix.Need("r", late.name, "r", 150, 151)
    monkeypatch.setattr(matrix, "masks_of", lambda bug, rule, seed: None)
    assert matrix.line(matrix.rule_need("r", [masked])).endswith("NOT FOUND")
    assert matrix.line(matrix.rule_need("r", [])).endswith("NO BUG")


def test_what_sees_a_bug_before_a_rule_does_is_a_mask() -> None:
    bug = MUTANTS["get-alive-at-expiry"]
    seed, first = matrix.find_failure(bug, ("reference-agrees", "no-spurious-refusal"), range(40)) or (0, "")
    masks = matrix.masks_of(bug, "ttl-boundary", seed)
    assert masks is None or masks[0] == first
    assert matrix.masks_of(bug, first, seed) == ()


def test_the_command_tells_of_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "WITHOUT_COUNT", 1)
    result = umi("mutants", "--matrix", "--only", "embed_zero")
    assert result.exit_code == 0
    assert result.output.split()[:3] == ["embed_zero", "zero-vector-kept", "vectors-as-answered"]
    monkeypatch.setattr(matrix, "rule_without_fault", lambda bug, count: "late-is-inert")
    result = umi("mutants", "--matrix", "--only", "embed_zero")
    assert result.exit_code == 4
    assert result.output.endswith("ALSO BY late-is-inert\n")


def test_a_name_that_is_no_row_is_refused() -> None:
    result = umi("mutants", "--matrix", "--only", "nonsense")
    assert result.exit_code == 2
    assert "neither a kind of fault nor a rule" in result.output


def test_a_judge_that_fails_for_want_of_a_rule_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*args: object) -> None:
        raise IndexError

    monkeypatch.setattr(matrix, "run_with_bug", raises)
    bug = MUTANTS["get-alive-at-expiry"]
    assert matrix.run_without(bug, 0, ("ttl-boundary",)) is None
    with pytest.raises(IndexError):
        matrix.run_without(bug, 0, ())

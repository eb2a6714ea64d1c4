"""Goal: a name on the screen leads to one page, and what the page says to type shows what it says."""

import json
import shlex

import click
import pytest

from tests.unit.sim.commands import lines_of, refused, umi
from umi_sim.cli.arguments import config_named
from umi_sim.cli.root import cli
from umi_sim.explain import words as explain
from umi_sim.explain.words import UnknownName, bugs_of, page, places
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.report import as_object
from umi_sim.record.rules import RULES, rule_named
from umi_sim.runs.runner import run_once


def labelled(lines: list[str], label: str) -> str:
    """What stands behind a label."""
    return next(line for line in lines if line.split()[:1] == [label]).split(maxsplit=1)[1]


def test_a_rule_is_explained_on_one_screen() -> None:
    lines = lines_of(page("CAP-1"))
    assert lines[0] == "space-accounting (CAP-1): totals are what a recount gives, within limits"
    labels = [line.split()[0] for line in lines[1:] if line[2:3].strip()]
    assert labels == ["seen", "checked", "page", "faults", "bugs", "bites"]
    assert "umi_core/state_checks.py:" in labelled(lines, "checked")
    assert "model_text_damage" in labelled(lines, "faults")
    assert labelled(lines, "bugs").startswith("space-in-characters ")
    assert lines_of(page("space-accounting")) == lines


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["CAP-1", "degradation-named"])
def test_the_command_of_a_page_shows_the_rule_bite(rule: str) -> None:
    lines = lines_of(page(rule))
    _, name, scenario_name, *options = shlex.split(labelled(lines, "bites"))
    assert name == "run"
    config = config_named(click.Context(cli), shlex.join([scenario_name, *options]))
    failure = run_once(config)[0].failure
    assert failure is not None
    assert lines[-1].strip() == f"FAIL {failure.kind} {rule_named(rule)}"
    assert failure.rule == rule_named(rule).name


def test_where_no_run_of_a_few_bites_the_hunt_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "BITE_RUN_COUNT_MAX", 0)
    assert labelled(lines_of(page("TTL-1")), "bites") == "umi-sim mutants get-alive-at-expiry"


def test_every_rule_that_is_checked_is_found_in_the_code() -> None:
    assert [str(rule) for rule in RULES if rule.is_checked and not places(rule.name)] == []


def test_bugs_that_a_rule_finds_first_come_first() -> None:
    rule = rule_named("space-accounting")
    firsts = [bug.rules.index(rule.name) for bug in bugs_of(rule)]
    assert firsts == sorted(firsts)
    assert firsts[0] == 0


def test_faults_bugs_and_marks_have_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "all-or-nothing (STO-2)" in labelled(lines_of(page("storage_torn")), "guards")
    assert "ttl-boundary (TTL-1)" in lines_of(page("get-alive-at-expiry"))[2]
    assert labelled(lines_of(page("recover.settle: ok")), "floor") == "1/25 of the runs of doubt"
    monkeypatch.setattr(explain, "bite_of", lambda rule: None)
    assert all(len(lines_of(page(name))) <= 40 for name in explain.names())


def test_a_bug_that_no_run_shows_has_the_test_that_finds_it_on_its_page() -> None:
    lines = lines_of(page("jumps-anywhere"))
    assert labelled(lines, "found").startswith("by tests/properties/test_plans.py::test_")
    assert labelled(lines, "see") == "it   tools/test tests/quality/test_mutants.py -k jumps-anywhere"


@pytest.mark.usefixtures("own_folder")
def test_for_an_unknown_name_the_nearest_are_listed() -> None:
    with pytest.raises(UnknownName):
        page("acknowleged-is-durable")
    assert "did you mean acknowledged-is-durable" in refused("explain", "acknowleged-is-durable")
    assert "TTL-2" in refused("explain", "ttl_2")
    result = umi("explain", "\x1b[31mnothing")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr


def test_a_seed_that_is_none_is_refused_by_what_was_typed() -> None:
    message = umi("step", "smoke:x").stderr
    assert message.startswith("umi-sim: smoke:x: 'x' is not a seed: ")
    assert "--seed" not in message


def test_without_a_name_all_rules_are_listed() -> None:
    lines = umi("explain").stdout.splitlines()
    *rows, last = lines
    assert [line.split()[:2] for line in rows] == [[rule.name, rule.id] for rule in RULES]
    assert f"{len(KINDS)} faults" in last


@pytest.mark.parametrize("kind", ["storage_torn", "model_timeout", "embed_zero", "agent_crash", "link_loss"])
def test_a_fault_strikes_in_the_run_that_its_page_names(kind: str) -> None:
    *_, see_it = page(kind).lines
    report = json.loads(umi(*shlex.split(str(as_object([see_it])["see it"]))[1:], "--json").stdout)
    assert list(report["fired"]) == [kind]

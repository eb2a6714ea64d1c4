"""Goal: what can be met follows from tables and types, and what never was met is named."""

from collections import Counter

from umi_core.language import evolution, extraction, replies, rewriting, routing
from umi_core.workflows import WORKFLOWS
from umi_sim.record.broken import COUNTS
from umi_sim.record.rules import RULES
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.sweep import reached
from umi_sim.sweep.reached import ReachedRow, never, rules, steps


def row(name: str) -> ReachedRow:
    return next(each for each in steps({}) if each.name == name)


def test_a_row_can_meet_every_answer_of_its_service_and_every_end_of_its_policy() -> None:
    assert list(row("recall.embed").counts) == [
        "ok", "unusable", "timeout", "unavailable", "no question", "retried", "degraded",
    ]  # fmt: skip


def test_a_row_that_asks_nothing_is_there_too_and_may_be_jumped_over() -> None:
    assert list(row("remember.plan").counts) == ["no question", "skipped"]
    assert list(row("recall.rank").counts) == ["no question"]
    assert list(row("remember.reply").counts) == ["no question"]


def test_recovery_tries_without_end_and_is_never_given_up() -> None:
    assert "retried" in row("recover.load").counts
    assert "aborted" not in row("recover.load").counts


def test_a_rewrite_always_has_a_verdict() -> None:
    assert "unusable" not in row("recall.resolve").counts


def test_what_was_met_once_is_not_lacking() -> None:
    marks = {f"recall.embed: {what}": 1 for what in row("recall.embed").counts if what != "timeout"}
    lacking = dict(never(marks, Counter()))
    assert lacking["recall.embed"] == ["timeout"]
    assert lacking["recall.rank"] == []  # never ran: nothing in particular
    assert lacking["rules"] == []


def test_every_rule_that_is_checked_can_be_judged() -> None:
    assert list(rules({}).counts) == [rule.name for rule in RULES if rule.is_checked]
    lacking = dict(never({}, {"ttl-boundary": 1}))["rules"]
    assert "ttl-boundary" not in lacking
    assert "ttl-contract" in lacking


def test_the_names_of_parsers_are_those_of_their_types() -> None:
    assert set(reached.PARSED["remember.extract reply"]) == {*replies.UNREAD, *extraction.SHAPES}
    assert routing.MALFORMED[0] in reached.PARSED["remember.route reply"]
    assert len(set(evolution.SHAPES)) == len(evolution.SHAPES)
    assert len(set(rewriting.SHAPES)) == len(rewriting.SHAPES)


def test_a_run_counts_what_it_judged_and_leaves_no_watcher() -> None:
    watching = len(COUNTS)
    verdict, _ = run_once(draw(find("working"), 0))
    assert verdict.rules["reference-agrees"] > 0
    assert set(verdict.rules) <= set(rules({}).counts)
    assert len(COUNTS) == watching
    assert run_once(draw(find("working"), 0))[0].rules == verdict.rules


def test_what_always_asks_is_a_row_that_could_be_left_out_by_its_type() -> None:
    rows = {f"{flow.name}.{step.id}": reached.kinds_of(step) for flow in WORKFLOWS for step in flow.steps}
    assert all("no question" in rows[name] for name in reached.ALWAYS_ASK)
    assert not any("no question" in it.counts for it in reached.steps({}) if it.name in reached.ALWAYS_ASK)

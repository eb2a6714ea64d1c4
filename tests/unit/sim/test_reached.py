"""Goal: what a row can meet follows from the tables, and what it never met is named."""

from umi_sim.reached import possible, unreached


def test_a_row_can_meet_every_answer_of_the_service_that_it_asks() -> None:
    marks = [mark.removeprefix("recall.embed: ") for mark in possible() if mark.startswith("recall.embed: ")]
    assert marks == ["ok", "unusable", "timeout", "unavailable"]


def test_a_rewrite_always_has_a_verdict() -> None:
    assert "recall.resolve: unusable" not in possible()


def test_what_was_met_once_is_not_lacking() -> None:
    first, *others = possible()
    assert unreached({first: 1, others[0]: 0, "something else": 3}) == tuple(others)

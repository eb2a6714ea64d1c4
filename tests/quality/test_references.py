"""Goal: a talk's references are resolved to the right names, and what nobody told is left alone."""

import pytest

from tools.references import DATA, LANGUAGES, Row, examples, measured

PER_LANGUAGE_MIN = 40
UNRESOLVABLE_MIN = 60


def test_the_labelled_talk_is_large_and_nothing_stands_twice() -> None:
    some = examples(DATA.read_text("utf-8"))
    for language in LANGUAGES:
        assert sum(one.language == language and bool(one.expected) for one in some) >= PER_LANGUAGE_MIN
    assert sum(not one.expected for one in some) >= UNRESOLVABLE_MIN
    assert len({(one.turns, one.query) for one in some}) == len(some)


@pytest.mark.slow
def test_references_are_resolved_rightly_or_left() -> None:
    rows = measured(examples(DATA.read_text("utf-8")))
    assert [row.language for row in rows if not row.passes] == []


def test_a_row_passes_above_both_thresholds_only() -> None:
    assert Row("x", 100, 81, 10, 9, 100, 96).passes
    assert not Row("x", 100, 80, 10, 10, 100, 96).passes
    assert not Row("x", 100, 81, 10, 9, 100, 95).passes

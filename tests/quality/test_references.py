"""Goal: references of a talk are resolved to the right names; one that no turn explains is left alone.

All questions were labelled before any rule had seen them, those of references.jsonl first: of 149 that refer
122 were resolved, and 164 of 196 rewrites with another entity refused; now it is 135 and
187. The first 107 of later_references.jsonl were written then: 58 of 70 and 66 of 100. Rules were made for
these too, and 60 more written: 36 of 40 and 54 of 63, with 19 of 20 others left alone. Now it is 108 of 110
and 139 of 163.
"""

import pytest

from tools.references import DATA, LANGUAGES, QUESTIONS, Row, examples, measured, questions, score

# Of the questions with rewrites (tools/references.py): found, rightly resolved, wrongly resolved, left alone.
FOUND_PERCENT_MIN = 98
RIGHT_PERCENT_MIN = 94
REFUSED_PERCENT_MIN = 90
LEFT_PERCENT_MIN = 97
ALL = [it for path in QUESTIONS for it in questions(path.read_text("utf-8"))]
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


def test_questions_are_many_in_five_languages_and_none_stands_twice() -> None:
    assert len({(it.turns, it.query) for it in ALL}) == len(ALL)
    for language in ("en", "de", "es", "fr", "zh"):
        assert sum(it.language == language for it in ALL) >= 45
    assert sum(not it.refers for it in ALL) >= 150


def test_what_refers_is_resolved_and_the_rest_is_left() -> None:
    got = score(ALL)
    assert got.found * 100 >= FOUND_PERCENT_MIN * got.referring
    assert got.resolved * 100 >= RIGHT_PERCENT_MIN * got.referring
    assert got.left * 100 >= LEFT_PERCENT_MIN * got.clear


def test_a_rewrite_with_another_entity_is_refused() -> None:
    got = score(ALL)
    assert got.refused * 100 >= REFUSED_PERCENT_MIN * got.wrong


def test_a_rewrite_that_names_another_turn_is_refused() -> None:
    taken = [
        it.takes_named(rewrite, later)
        for it in ALL
        for rewrite in it.right
        if it.means and it.takes_named(rewrite)
        for later in (1, -1)
    ]
    # The referent is in some of the other turns, too.
    assert len(taken) > 200
    assert taken.count(False) * 100 >= 98 * len(taken)

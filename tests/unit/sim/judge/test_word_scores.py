"""Goal: each hit has the score that its words give it among the facts of one position."""

from contextlib import nullcontext

import pytest

from tests.histories import ACME, ALICE, NAMES, History, broken, fact, found, hit
from tests.properties.scores_reference import alone_ppm, united_ppm, words_ppm
from umi_core.messages.results import Hit
from umi_sim.record.broken import Broken

SHORT, LONG = (ALICE, "likes tea"), (ACME, "sells tea, coffee and bread in Ghent and in Oslo")
BOTH = (SHORT, LONG)
TEXTS = [(NAMES[key], text) for key, text in BOTH]
AMONG = [united_ppm(0, ppm) for ppm in words_ppm("tea", TEXTS)]
ALONE = [united_ppm(0, alone_ppm("tea", *text)) for text in TEXTS]


def known() -> History:
    """Two facts without vectors."""
    history = History()
    history.store(*BOTH, embed=False)
    return history


def hits(scores: list[int]) -> list[Hit]:
    found = [hit(*mention, ppm) for mention, ppm in zip(BOTH, scores, strict=True)]
    return sorted(found, key=lambda it: (-it.score_ppm, it.id))


def test_a_short_fact_scores_more_than_a_long_one() -> None:
    assert AMONG[0] > ALONE[0] > AMONG[1]
    known().recall("tea", *hits(AMONG))


@pytest.mark.parametrize("scores", [ALONE, [AMONG[0], AMONG[1] - 1], [AMONG[0] + 1, AMONG[1]]])
def test_another_score_is_seen(scores: list[int]) -> None:
    with broken("filter-before-cut"):
        known().recall("tea", *hits(scores))


def test_a_fact_that_has_the_word_is_found() -> None:
    with broken("filter-before-cut"):
        known().recall("tea", hits(AMONG)[0])
    with broken("error-is-not-empty"):
        known().recall("tea")


def test_a_fact_without_the_word_is_not_found() -> None:
    history = known()
    history.recall("milk")
    with broken("filter-before-cut"):
        history.recall("milk", *hits(AMONG))


def test_while_a_fact_comes_the_scores_are_those_before_or_behind() -> None:
    more = (ALICE, "likes tea with milk")
    texts = [*TEXTS, (NAMES[ALICE], more[1])]
    behind = [united_ppm(0, ppm) for ppm in words_ppm("tea", texts)]
    three = [hit(*it, ppm) for it, ppm in zip((*BOTH, more), behind, strict=True)]
    three.sort(key=lambda it: (-it.score_ppm, it.id))
    for shown, is_right in ((hits(AMONG), True), (three, True), (hits(ALONE), False), (three[:2], False)):
        history = known()
        op_id = history.seek("tea")
        history.store(more, embed=False)
        with nullcontext() if is_right else broken("filter-before-cut"):
            history.end(op_id, found("tea", *shown))


def test_while_searches_lag_what_is_new_may_be_missing_and_nothing_else() -> None:
    alone, among = hit(*SHORT, ALONE[0]), hit(*SHORT, AMONG[0])
    for shown, is_right in ((hits(AMONG), True), ([alone], True), ([among], False), ([], False)):
        history = History()
        history.at(1_000)
        history.store(SHORT, embed=False)
        history.at(10_000)
        history.store(LONG, embed=False)
        history.surroundings.lag_since = lambda at_ms: 5_000
        with nullcontext() if is_right else pytest.raises(Broken):
            history.recall("tea", *shown)


def test_what_was_forgotten_counts_for_no_score() -> None:
    history = known()
    history.forget(fact(*LONG))
    history.recall("tea", hit(*SHORT, ALONE[0]))
    with broken("filter-before-cut"):
        history.recall("tea", hit(*SHORT, AMONG[0]))

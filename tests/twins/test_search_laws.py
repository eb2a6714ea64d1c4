"""Goal: what must hold between two runs, whatever is right: limits and the order of telling.

Batches and filters are compared in every run: E-BATCH and E-FILTER.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worlds import Pair
from umi_core.messages.effects import Done
from umi_core.messages.requests import Recall, Remember
from umi_core.messages.results import Hit, Recalled
from umi_sim.services.model import truth

PEOPLE = ("Alice", "Bob", "Carol", "Dave", "Eve", "Grace")
FACTS = (
    "works at Acme",
    "lives in Berlin",
    "likes tea",
    "met Heidi in Lisbon",
    "likes tea and works at Acme",
)
TOLD = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(FACTS)),
    min_size=1,
    max_size=6,
    unique_by=lambda it: it[0],
)
QUERIES = st.sampled_from(
    ("Alice", "tea at Acme", "Berlin", "likes", "Carol and Dave", "nothing of the kind")
)


def remember_all(sentences: list[str]) -> Pair:
    """Return a memory with these texts, remembered in this order without comparing them."""
    pair = Pair(model=truth)
    for number, sentence in enumerate(sentences):
        assert isinstance(pair.ask(Remember(number, sentence, evolve=False)), Done)
    return pair


def sentences(facts: list[tuple[str, str]]) -> list[str]:
    return [f"{name} {fact}." for name, fact in facts]


def found(pair: Pair, query: str, limit: int, types: tuple[str, ...] | None = None) -> tuple[Hit, ...]:
    outcome = pair.ask(Recall(f"recall {len(pair.replies)}", query, limit=limit, types=types, deep=False))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Recalled)
    return outcome.value.hits


def places(hits: tuple[Hit, ...]) -> list[tuple[str, int, list[str]]]:
    """Return the names found, with their facts in any order."""
    return [(hit.id, hit.score_ppm, sorted(hit.content.split("\n"))) for hit in hits]


@settings(max_examples=40, deadline=None)
@given(facts=TOLD, query=QUERIES, low=st.integers(1, 8), more=st.integers(0, 8))
def test_a_larger_limit_extends_the_smaller_result(
    facts: list[tuple[str, str]], query: str, low: int, more: int
) -> None:
    pair = remember_all(sentences(facts))
    assert found(pair, query, low) == found(pair, query, low + more)[:low]


@settings(max_examples=40, deadline=None)
@given(facts=TOLD, query=QUERIES, data=st.data())
def test_the_order_of_telling_does_not_matter(
    facts: list[tuple[str, str]], query: str, data: st.DataObject
) -> None:
    once, again = remember_all(sentences(facts)), remember_all(sentences(data.draw(st.permutations(facts))))
    assert places(found(once, query, 100)) == places(found(again, query, 100))

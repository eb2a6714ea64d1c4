"""The order of the facts of a text, and the pairs of facts that a model is asked about.

Law. A new fact is compared with the five most similar facts among the stored ones and the earlier ones of its
text.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from umi_core.language.wordings import words_before
from umi_core.limits import EMBED_TEXT_BYTES_MAX, EVOLVE_CANDIDATE_COUNT_MAX, EVOLVE_FACT_COUNT_MAX
from umi_core.policies.term_scores import TermStatistics, count_terms
from umi_core.rows import Entity
from umi_core.text import cut

LEAST_PPM: Final = 200_000
JUDGED_COUNT: Final = 40  # new facts of a text whose pairs are judged; thousands would take minutes


class TextFact(NamedTuple):
    """A fact of a text; `is_past`: it has ended, and the text does not make it current again."""

    fact: Entity
    is_new: bool
    is_past: bool = False


def order_by_text(contents: Mapping[str, str], text: str) -> list[str]:
    """Return the ids by the first place of their contents; one without a place follows the one before."""
    # Contents a "tea", b (reworded, so not in the text), c "milk"; text "milk and tea":
    # places are a 9, b none, c 0, so `known` is 9, 9, 0 and the order is c, a, b.
    places = {key: text.index(it) if it in text else None for key, it in contents.items()}
    known = list[int]()
    for place in places.values():
        known.append(place if place is not None else (known or [0])[-1])
    return [key for _, _, key in sorted(zip(known, range(len(known)), places, strict=True))]


def list_new(extracted: Iterable[TextFact], text: str) -> list[str]:
    """Return the ids of the new facts that are compared, in the order of the text."""
    facts = {it.fact.id: it for it in extracted}
    order = order_by_text({key: it.fact.content for key, it in facts.items()}, text)
    return [key for key in order if facts[key].is_new][:EVOLVE_FACT_COUNT_MAX]


def list_pairs(
    extracted: Iterable[TextFact], text: str, found: Sequence[Iterable[tuple[int, str]]]
) -> list[tuple[str, str]]:
    """Return the pairs of the first new facts by their ids, the later fact first.

    `found`: for each new fact, the known facts found by a search, with their scores.
    """
    facts = {it.fact.id: it for it in extracted}
    order = order_by_text({key: it.fact.content for key, it in facts.items()}, text)
    pairs, statistics = list[tuple[str, str]](), TermStatistics()
    counts = {key: count_terms(*it.fact.name_and_text()) for key, it in facts.items() if not it.is_past}
    for it in counts.values():
        statistics.add(it)
    for key, known in zip(list_new(facts.values(), text)[:JUDGED_COUNT], found, strict=False):
        fact, earlier = facts[key].fact, order[: order.index(key)]
        named = cut("\n".join(fact.name_and_text()), EMBED_TEXT_BYTES_MAX)
        lines = {other: it for other, it in counts.items() if other != key}
        statistics.remove(counts[key])
        weights = statistics.weigh_query("\n".join((named, *words_before(fact.content))))
        scores = {other: statistics.score_row(weights, it) for other, it in lines.items()}
        statistics.add(counts[key])
        # Two new facts are compared once, in the turn of the later one; known facts have no turn.
        others = [it for it in lines if it in earlier or not facts[it].is_new]
        best = sorted([(-ppm, it) for ppm, it in known] + [(-scores[it], it) for it in others])
        near = [it for ppm, it in best if ppm <= -LEAST_PPM or it not in facts][:EVOLVE_CANDIDATE_COUNT_MAX]
        pairs += [(it, key) if it in facts and it not in earlier else (key, it) for it in near]
    return pairs

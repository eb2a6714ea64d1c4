"""Goal: what workloads tell about is known to the model, each as what it is."""

from collections import Counter

import pytest

from umi_sim.services.model.cast import KNOWN, NAME_ROWS, NOUN_ROWS
from umi_sim.services.model.names import known_words
from umi_sim.workload.pools import CAST

TYPES = {
    "person": "person", "org": "organization", "city": "location", "project": "project", "self": "self",
    "day": "event", "zh": "location", "ja": "location", "ko": "location", "ar": "location", "hi": "location",
    "th": "location",
}  # fmt: skip
NO_NAMES = {"thing", "work", "term", "word"}


def test_every_kind_of_the_cast_has_a_type_or_is_no_name() -> None:
    assert TYPES.keys() | NO_NAMES == CAST.keys()


@pytest.mark.parametrize("slot", TYPES)
def test_the_model_knows_the_entities_of_workloads(slot: str) -> None:
    for name in CAST[slot]:
        assert TYPES[slot] in [KNOWN[word][0] for word in known_words(name)], name


def test_each_name_and_each_noun_of_a_language_stands_once() -> None:
    names = Counter(name for _, _, row in NAME_ROWS for name in row.split())
    nouns = Counter((language, noun) for language, _, _, row in NOUN_ROWS for noun in row.split())
    assert [it for it, count in (*names.items(), *nouns.items()) if count > 1] == []

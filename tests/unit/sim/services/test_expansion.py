"""Goal: SimLLM says a query in other words, never the query itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language.prompts import ask_expand
from umi_core.language.rewriting import Variants, parse_variants
from umi_core.text import norm
from umi_sim.services.model import truth
from umi_sim.services.model.expansion import PAIRS, SYNONYMS
from umi_sim.services.model.languages import STOP_WORDS


def variants(query: str) -> list[str]:
    found: list[str] = json.loads(truth("expand", ask_expand(query)))
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What does Alice buy for the car?", ["Alice buy car", "Alice purchase vehicle"]),
        ("Where does Alice live?", ["Alice live"]),
        ("¿Dónde está el coche de Ana?", ["coche Ana", "Ana carro"]),
        ("Wo steht das Auto von Jonas?", ["steht Auto Jonas", "Jonas wagen"]),
        ("王伟的项目怎么样", ["王伟 项目"]),
        ("alice", []),
        ("the", []),
        ("", []),
        ("?!", []),
    ],
)
def test_a_query_without_stop_words_then_its_names_with_synonyms(query: str, expected: list[str]) -> None:
    assert variants(query) == expected


def test_synonyms_go_both_ways() -> None:
    assert len(PAIRS) * 2 == len(SYNONYMS)
    assert all(SYNONYMS[SYNONYMS[word]] == word for word in SYNONYMS)
    assert not STOP_WORDS & SYNONYMS.keys()


WORDS = st.lists(st.sampled_from([*SYNONYMS, *STOP_WORDS, "Alice", "Straße", "\n"]), max_size=8).map(" ".join)


@given(st.text() | WORDS)
def test_every_variant_is_new_and_the_parser_keeps_all(query: str) -> None:
    found = variants(query)
    assert len(found) <= 2
    assert len({norm(query), *map(norm, found)}) == len(found) + 1
    assert "" not in map(norm, found)
    parsed = parse_variants(truth("expand", ask_expand(query)), query)
    assert parsed == Variants((query, *(" ".join(variant.split()) for variant in found)))

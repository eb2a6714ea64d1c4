"""Goal: the memory and the plain reading give the same sentences to a speaker (M10.20)."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.extraction_reference import read_extraction, with_speaker
from tests.properties.plain.drawn import TEXTS
from tests.properties.readings import as_plain
from umi_core.config import Config
from umi_core.language.extraction import Extraction, own_words, parse_extraction

LONG = "I " + "x" * 480 + ". "
SAID = st.sampled_from(["I nap.", "My cat sings!", "Wir essen. ", "Tea is hot.\n", "我喜欢茶。", LONG])
TOLD = st.lists(SAID | TEXTS, min_size=1, max_size=6).map("".join)
ROWS = st.fixed_dictionaries(
    {"name": st.sampled_from(["Ann", "ann ", "Bob", " "]), "type": st.sampled_from(["person", "note"])},
    optional={"content": SAID, "confidence": st.just(0.9)},
)


def test_a_speaker_without_a_statement_about_themselves_changes_nothing() -> None:
    found = read_extraction('{"entities": []}', "Tea is hot.", 0)
    assert with_speaker(found, "Tea is hot.", "Ann") is found
    assert with_speaker(found, "I nap.", None) is found
    assert with_speaker(None, "I nap.", "Ann") is None


@settings(max_examples=40)
@given(TOLD, st.lists(ROWS, max_size=3), st.sampled_from(["Ann", " ANN", "Zoe\u0308"]))
def test_the_memory_gives_a_speaker_the_same(text: str, rows: list[object], speaker: str) -> None:
    reply = json.dumps({"entities": rows})
    read = parse_extraction(reply, text, Config())
    assert isinstance(read, Extraction)
    wanted = with_speaker(read_extraction(reply, text, 300_000), text, speaker)
    assert as_plain(own_words(read, text, speaker)) == wanted

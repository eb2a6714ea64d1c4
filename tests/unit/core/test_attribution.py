"""Goal: what a speaker says as I and me is kept under their name, and nothing is lost by it (M10.20)."""

import json

import pytest

from umi_core.config import Config
from umi_core.language.extraction import Extraction, Mention, fallback_note, own_words, parse_extraction

ANN = {"name": "Ann", "type": "person", "content": "called", "confidence": 0.9}


def read(text: str, speaker: str, *elements: object) -> Extraction:
    found = parse_extraction(json.dumps({"entities": elements}), text, Config())
    assert isinstance(found, Extraction)
    return own_words(found, text, speaker)


def test_what_they_say_of_themselves_is_a_person_of_that_name() -> None:
    found = read("I am allergic to nuts. Ann called. Prague is nice.", " Bob\tB. ", ANN)
    bob = Mention("person", "Bob B.", "I am allergic to nuts.", 500_000)
    assert found.entities[1:] == (bob, fallback_note("Prague is nice."))
    assert found.uncovered_count == 2


def test_it_follows_the_facts_of_the_reply_under_the_name_that_the_reply_gives() -> None:
    found = read("Ann called. My cat naps.\nWe moved.", "ANN", ANN, {**ANN, "name": "Bob", "content": "-"})
    assert found.entities == (
        Mention("person", "Ann", "called", 900_000),
        Mention("person", "Bob", "-", 900_000),
        Mention("person", "Ann", "My cat naps.", 500_000),
        Mention("person", "Ann", "We moved.", 500_000),
    )


def test_a_reply_without_a_name_keeps_it_under_their_name_too() -> None:
    assert read("Ich mag Tee.", "Zoë").entities == (Mention("person", "Zoë", "Ich mag Tee.", 500_000),)
    assert read("Tea is hot.", "Zoë").entities == (fallback_note("Tea is hot."),)


def test_another_kind_of_thing_with_that_name_is_not_the_speaker() -> None:
    found = read("I nap.", "Ann", {**ANN, "type": "project"})
    assert [(it.type, it.content) for it in found.entities] == [("project", "called"), ("person", "I nap.")]


@pytest.mark.parametrize("text", ["Ann called.", "I called.", "It rains.", "I am. We are!"])
def test_an_extraction_without_such_sentences_stays_as_it_is(text: str) -> None:
    found = parse_extraction(json.dumps({"entities": [ANN]}), text, Config())
    assert isinstance(found, Extraction)
    assert own_words(found, text, "Ann") is found


@pytest.mark.parametrize(("count", "rest"), [(50, 0), (51, 1), (53, 3)])
def test_sentences_beyond_the_limit_are_notes(count: int, rest: int) -> None:
    sentences = [f"I know fact{n}." for n in range(count)]
    found = read("\n".join(sentences), "Zoë", ANN)
    persons = [it.content for it in found.entities if it.type == "person"]
    assert persons == ["called", *sentences[: count - rest]]
    assert found.entities[len(persons) :] == tuple(fallback_note(it) for it in sentences[count - rest :])
    assert found.uncovered_count == count

"""Goal: a reply to `extract` is read as M10.7 to M10.16 say, and the memory reads it so too."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.extraction_reference import (
    FAULTS,
    ExpectedMention,
    Extracted,
    name_of_note,
    read_extraction,
    whole_note,
)
from tests.properties.plain.drawn import (
    ANY_TEXT,
    HALF_TEXT,
    TEXTS,
    answers,
)
from tests.properties.readings import as_plain
from tests.properties.replies_reference import why_unusable
from tests.spec_tables import Row, read_cell
from tests.spec_tables import rows as table_rows
from tests.spec_tables import words as listed
from umi_core.config import Config
from umi_core.language.extraction import parse_extraction
from umi_core.language.prompts import ask_extract
from umi_core.language.tables import NAME_PRONOUNS
from umi_core.language.words import auto_name

FLOOR_PPM = 300_000
TEXT = "Alice works at Acme."


def read(*elements: object, relations: object = ()) -> Extracted:
    found = read_extraction(json.dumps({"entities": elements, "relations": relations}), TEXT, FLOOR_PPM)
    assert found is not None
    return found


def person(name: str, content: str = "naps", confidence: object = 0.9) -> dict[str, object]:
    return {"name": name, "type": "person", "content": content, "confidence": confidence}


# The tables, row by row.


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        (7, "not_object"),
        ({"type": "person"}, "no_name"),
        (person(" \n"), "no_name"),
        (person("He"), "pronoun"),
        (person("you and me"), None),  # `and` is no pronoun
        (person("you, me"), "pronoun"),
        (person("👍"), None),
        (person("Alice", confidence=0.2999999), "low_confidence"),
    ],
)
def test_an_element_is_kept_or_dropped_for_a_reason(element: object, reason: str | None) -> None:
    found = read(element)
    assert found.dropped == (((0, reason),) if reason else ())
    assert found.mentions[0].named == (reason is None)
    assert found.partial == (reason in ("not_object", "no_name"))


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("type", "ORG", "organization"),
        ("type", "place", "location"),
        ("type", "robot", "note"),
        ("type", "self", "note"),  # not sure enough
        ("content", " ", TEXT),
        ("content", "é" * 501, "é" * 500),
        ("name", "Bob\x07", "Bob\ufffd"),
        ("name", "日" * 86, "日" * 85),
    ],
)
def test_a_field_that_is_not_as_it_should_be_is_put_right(field: str, value: str, wanted: str) -> None:
    mention = read(person("Alice", confidence=0.79) | {field: value}).mentions[0]
    assert getattr(mention, field) == wanted


def test_equal_statements_about_one_name_are_one_mention() -> None:
    found = read(person("Alice", "naps", 0.4), person("ALICE ", "sings", 0.9), person("alice", "NAPS", 0.5))
    named = tuple(it for it in found.mentions if it.named)
    assert named == (
        ExpectedMention("Alice", "person", "naps", 500_000),
        ExpectedMention("ALICE", "person", "sings", 900_000),
    )


@pytest.mark.parametrize(("count", "mention_count"), [(2, 2), (16, 16), (17, 1)])
def test_each_sentence_of_a_content_is_a_mention_up_to_a_limit(count: int, mention_count: int) -> None:
    sentences = [f"She has {n} cats." for n in range(count)]
    found = [it.content for it in read(person("Alice", " ".join(sentences))).mentions if it.named]
    assert len(found) == mention_count
    assert found == (sentences if mention_count > 1 else [" ".join(sentences)])


def test_nothing_is_kept_beyond_fifty_elements() -> None:
    found = read(*(person(f"n{n}") for n in range(51)))
    named = [it for it in found.mentions if it.named]
    assert (len(named), found.dropped, found.partial) == (50, ((50, "too_many"),), True)
    assert found.mentions[50:] == (whole_note(TEXT),)


def test_links_are_statements_about_both_ends() -> None:
    ends = {"source": "ALICE", "target": "Bob", "confidence": 0.7}
    linked = [ends | {"type": "works_at"}, ends | {"type": 7}, ends | {"type": "works at"}, {}, 7]
    linked += [{"source": "Bob", "target": "bob", "type": "knows"}]
    found = read(person("Alice"), person("Bob"), relations=linked)
    assert [it for it in found.mentions if it.others] == [
        ExpectedMention("Alice", "person", f"Alice {verb} Bob", 700_000, others=("Bob",))
        for verb in ("works at", "relates to")
    ]
    assert not found.partial


def test_a_link_between_names_of_one_statement_adds_nothing() -> None:
    content = "Alice knows Bob"
    linked = [{"source": "Alice", "target": "Bob", "type": "likes"}]
    found = read(person("Bob", content), person("Alice", content), relations=linked)
    assert [it.content for it in found.mentions if it.named] == [content]


@pytest.mark.parametrize("row", table_rows("memory", "auto_names"), ids=lambda row: row["text"][:40])
def test_a_note_is_called_after_its_first_line(row: Row) -> None:
    assert name_of_note(read_cell(row["text"])) == read_cell(row["name"])


def test_pronouns_are_those_of_the_table() -> None:
    assert sorted(NAME_PRONOUNS) == sorted(listed("memory", "name_pronouns"))


def test_what_degrades_is_what_the_table_marks() -> None:
    table = table_rows("memory", "extraction_drops")
    assert sorted(FAULTS) == sorted(row["reason"] for row in table if row["degrades"] == "yes")


# Against the memory.

ASKED = TEXTS.flatmap(lambda text: st.tuples(st.just(text), answers("extract", ask_extract(text))))


@pytest.mark.slow
@settings(max_examples=60)
@given(ASKED | st.tuples(TEXTS, HALF_TEXT), st.sampled_from([0, FLOOR_PPM, 1_000_000]))
def test_the_memory_reads_spoiled_answers_alike(asked: tuple[str, str], floor_ppm: int) -> None:
    text, reply = asked
    wanted = read_extraction(reply, text, floor_ppm)
    got = as_plain(parse_extraction(reply, text, Config(extract_confidence_min_ppm=floor_ppm)))
    assert got == (why_unusable(reply) if wanted is None else wanted)


@given(TEXTS | ANY_TEXT)
def test_the_memory_calls_a_note_alike(text: str) -> None:
    assert name_of_note(text) == auto_name(text)

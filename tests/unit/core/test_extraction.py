"""Goal: every row of the extraction table holds; every element of a reply is accounted for (EXT-1, EXT-2)."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.spec_tables import rows, words
from umi_core.config import Config
from umi_core.ids import fact_id
from umi_core.language.extraction import (
    MALFORMED,
    SHAPES,
    Drop,
    Extraction,
    LinkDrop,
    Mention,
    fallback_note,
    own_words,
    parse_extraction,
)
from umi_core.language.replies import UnusableReply
from umi_core.language.tables import NAME_PRONOUNS
from umi_core.limits import EXTRACT_ENTITY_COUNT_MAX, EXTRACT_SENTENCE_COUNT_MAX
from umi_core.text import has_control, size
from umi_core.values import Scope

CONFIG = Config()
TEXT = "Alice works at Acme"
ANYTHING: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.floats(-1, 2) | st.text(max_size=8) | st.just([]) | st.just({})
)
NAMES = st.sampled_from(["Alice", " alice ", "Acme", "she", "", "x" * 300]) | ANYTHING
ELEMENTS = ANYTHING | st.fixed_dictionaries(
    {},
    optional={"name": NAMES, "type": ANYTHING | st.just("self"), "content": ANYTHING, "confidence": ANYTHING},
)
LINKS = ANYTHING | st.fixed_dictionaries(
    {},
    optional={"source": NAMES, "target": NAMES, "type": ANYTHING | st.just("knows"), "confidence": ANYTHING},
)


def parsed(entities: object, relations: object = (), text: str = TEXT, config: Config = CONFIG) -> Extraction:
    reply = json.dumps({"entities": entities, "relations": relations})
    result = parse_extraction(reply, text, config)
    assert isinstance(result, Extraction)
    return result


def entity(name: object = "Alice", **rest: object) -> dict[str, object]:
    return {"name": name, "type": "person", "content": "works at Acme", "confidence": 0.95} | rest


def only(**changes: object) -> Mention:
    (mention,) = parsed([entity(**changes)]).entities
    return mention


def test_a_well_formed_reply_is_kept_as_it_is() -> None:
    acme = entity("Acme", type="organization", content="sells cups", confidence=0.7)
    link = {"source": "Alice", "target": "Acme", "type": "works_at", "confidence": 0.8}
    assert parsed([entity(content="naps"), acme], [link]) == Extraction(
        entities=(
            Mention("person", "Alice", "naps", 950_000),
            Mention("organization", "Acme", "sells cups", 700_000),
            Mention("person", "Alice", "Alice works at Acme", 800_000, others=("Acme",)),
        ),
        dropped=(),
        partial=False,
    )


@pytest.mark.parametrize(("reply", "reason"), [("", "empty"), ("x" * 50_001, "too_long"), ("no", "no_json")])
def test_an_unusable_reply_says_why(reply: str, reason: str) -> None:
    assert parse_extraction(reply, TEXT, CONFIG) == UnusableReply(reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entities", "dropped", "partial"),
    [
        ([], (), False),
        ([entity("she")], ((0, "pronoun"),), False),
        ([entity(confidence=0.29)], ((0, "low_confidence"),), False),
        ([entity("he"), 7], ((0, "pronoun"), (1, "not_object")), True),
        ([{}], ((0, "no_name"),), True),
    ],
)
def test_a_reply_without_entity_keeps_the_text_as_a_note(
    entities: list[object], dropped: tuple[tuple[int, str], ...], partial: bool
) -> None:
    assert parsed(entities) == Extraction((fallback_note(TEXT),), dropped, partial)


def test_the_note_is_the_whole_text_under_an_automatic_name() -> None:
    text = "The quick brown fox jumps over the lazy dog and runs far away\n" * 100
    name = "The quick brown fox jumps over the lazy dog and..."
    assert fallback_note(text) == Mention("note", name, text, 500_000, named=False)
    assert fact_id(Scope("u1", "a1"), (), fallback_note(TEXT).content) == "fct_fbcfdd9e8a5a1f8853f939e8"


def test_a_text_of_which_nothing_is_named_is_a_note_for_each_of_a_few_sentences() -> None:
    text = "It rains. I rest!\nit  RAINS."
    assert parse_extraction('{"entities": []}', text, CONFIG) == Extraction(
        (fallback_note("It rains."), fallback_note("I rest!")), (), False
    )
    for count in (16, 17):
        many = "".join(f"I have {n} cups. " for n in range(count))
        found = parse_extraction('{"entities": []}', many, CONFIG)
        assert isinstance(found, Extraction)
        assert len(found.entities) == (count if count == 16 else 1)
        assert count == 16 or found.entities == (fallback_note(many),)


def test_the_note_is_not_filtered() -> None:
    strict = Config(extract_confidence_min_ppm=1_000_000)
    assert parsed([entity()], config=strict).entities == (fallback_note(TEXT),)


def test_each_sentence_that_the_entities_do_not_tell_is_a_note_behind_them() -> None:
    text = "I am allergic to nuts. Alice works at Acme. My bike is red! i am allergic  to NUTS."
    result = parsed([entity()], text=text)
    assert result.entities[1:] == (fallback_note("I am allergic to nuts."), fallback_note("My bike is red!"))
    assert (result.uncovered_count, result.partial, result.shapes) == (2, False, ())


@pytest.mark.parametrize(
    ("element", "count", "kept_count"),
    [
        (entity(content="hates NUTS"), 0, 1),
        (entity("Nuts", content="Alice"), 0, 1),
        (entity(content=None), 0, 2),  # so it is the beginning of the text, by sentences
        (entity(content="x" * 1_000 + " nuts"), 1, 1),  # which is cut off
        (entity(type="self", confidence=0.5), 1, 1),
    ],
)
def test_only_what_is_kept_covers(element: object, count: int, kept_count: int) -> None:
    dropped = (entity("me", content="eats no nuts"), entity("Bob", content="nuts", confidence=0.1))
    result = parsed([element, *dropped], text="I hate nuts. Alice!")
    assert (result.uncovered_count, len(result.entities)) == (count, kept_count + count)
    assert result.dropped == ((1, "pronoun"), (2, "low_confidence"))


def test_fifty_entities_leave_room_for_the_note() -> None:
    result = parsed([entity(f"Name{n}", content="-") for n in range(51)], text="I rest.")
    assert (len(result.entities), result.entities[-1]) == (51, fallback_note("I rest."))


@pytest.mark.parametrize(("count", "last"), [(49, 1), (50, 1), (51, 2), (60, 11)])
def test_beyond_fifty_notes_the_last_one_has_the_other_sentences(count: int, last: int) -> None:
    sentences = [f"Thing{n} rests." for n in range(count)]
    result = parsed([entity()], text=" ".join(sentences))
    notes = [it.content for it in result.entities[1:]]
    assert notes == [*sentences[: count - last], "\n".join(sentences[count - last :])]
    assert (len(notes), result.uncovered_count) == (min(count, EXTRACT_ENTITY_COUNT_MAX), count)


def test_notes_that_sentences_share_are_no_longer_than_one_content() -> None:
    sentences = [f"Thing{n} rests {'on and on ' * 30}today." for n in range(52)]  # of some 320 bytes
    long = f"Thing rests {'on and on ' * 200}today."
    result = parsed([entity()], text=" ".join([*sentences, long, "Thing99 rests."]))
    notes = [it.content for it in result.entities[1:]]
    assert notes == [*sentences[:49], "\n".join(sentences[49:52]), long, "Thing99 rests."]
    assert result.uncovered_count == 54


@pytest.mark.parametrize(("more", "count"), [(0, 50), (1, 51)])
def test_a_shared_note_has_up_to_a_thousand_bytes(more: int, count: int) -> None:
    sentences = [f"Thing{n} rests." for n in range(49)]
    filled = [f"Ann sings{' la' * 163}.", f"Eve runs{' on' * 160}{'!' * (11 + more)}."]
    assert len("\n".join(filled)) == 1_000 + more
    assert len(parsed([entity()], text=" ".join([*sentences, *filled])).entities) == count + 1


def test_the_reasons_to_drop_are_those_of_the_table() -> None:
    table = rows("memory", "extraction_drops")
    assert {row["reason"] for row in table if row["of"] == "entity"} == set(get_args(Drop))
    assert {row["reason"] for row in table if row["of"] == "link"} == set(get_args(LinkDrop))
    assert {row["reason"] for row in table if row["degrades"] == "yes"} == set(MALFORMED)


@pytest.mark.parametrize("element", [None, True, 1, "Alice", [], ["name"]])
def test_an_element_that_is_no_object_is_dropped_and_degrades(element: object) -> None:
    result = parsed([element, entity()])
    assert result.dropped == ((0, "not_object"),)
    assert result.partial
    assert len(result.entities) == 1


@pytest.mark.parametrize(
    "element",
    [
        {"type": "person"}, entity(None), entity(3), entity(""), entity(" \n\t"), entity("", type=["note"]),
        {"type": "note"}, entity("", type="note", content=" "), entity("", type="note", content=7),
    ],
)  # fmt: skip
def test_an_element_without_name_is_dropped_and_degrades(element: object) -> None:
    assert parsed([element]).dropped == ((0, "no_name"),)
    assert parsed([element]).partial


@pytest.mark.parametrize("name", [{}, {"name": ""}, {"name": None}, {"name": " \n"}])
def test_a_note_without_a_name_is_kept_sentence_by_sentence(name: dict[str, object]) -> None:
    note = {"type": " Note", "content": "It rains. Tea is hot.", "confidence": 0.1} | name
    result = parsed([note, entity()], text="Alice works at Acme. It rains. Tea is hot.")
    notes = [
        structs.replace(fallback_note(it), confidence_ppm=100_000) for it in ("It rains.", "Tea is hot.")
    ]
    assert result.entities[:2] == tuple(notes)
    assert (len(result.entities), result.dropped, result.shapes) == (3, (), ())


def test_what_becomes_of_a_note_without_a_name_is_named() -> None:
    long = {"type": "note", "content": "x" * 1_001}
    result = parsed([long])
    assert (result.shapes, result.partial) == (("content cut", "confidence missing"), False)
    assert result.entities[0] == fallback_note("x" * 1_000)


def test_a_name_is_found_by_whole_words_only() -> None:
    """Vowel signs and points belong to their letters: `दिल` stands in no word of the statement."""
    statements = [("दिल", "दिल्ली में"), ("דן", "דָּנָה בַּבַּיִת"), ("Ann", "Anna is here")]
    found = parsed([entity(name, content=content) for name, content in statements])
    assert [(it.name, it.content, it.others) for it in found.entities[:3]] == [(*it, ()) for it in statements]
    both = parsed([entity("दिल", content="दिल्ली में"), entity("राम", content="दिल्ली में")])
    assert [it.names for it in both.entities[:2]] == [("दिल",), ("राम",)]


def test_notes_that_a_reply_states_stay_beside_the_words_of_the_speaker() -> None:
    note = {"type": "note", "content": "Tea is hot.", "confidence": 0.5}
    text = "Tea is hot. I like hot cakes. I sing. Wind blows."
    found = own_words(parsed([entity(), note], text=text), text, "Bob")
    contents = [(it.name, it.content) if it.named else it.content for it in found.entities]
    own = [("Bob", "I like hot cakes."), ("Bob", "I sing.")]
    assert contents == [("Alice", "works at Acme"), "Tea is hot.", *own, "Wind blows."]
    assert (found.uncovered_count, found.told_count) == (3, 4)


@pytest.mark.parametrize("name", ["He", " SHE ", "they", "it's", "I", "you me", "ourselves"])
def test_a_name_of_pronouns_only_is_dropped(name: str) -> None:
    expected = () if name == "ourselves" else ((0, "pronoun"),)  # the list is closed
    assert parsed([entity(name)]).dropped == expected
    assert not parsed([entity(name)]).partial


def test_names_beside_pronouns_or_without_words_are_kept() -> None:
    assert only(name="She Ra").name == "She Ra"
    assert only(name="🙂").name == "🙂"
    assert sorted(words("memory", "name_pronouns")) == sorted(NAME_PRONOUNS)


def test_a_long_name_is_cut_between_characters() -> None:
    assert only(name="日" * 100).name == "日" * 85
    assert only(name="x" * 255 + " y").name == "x" * 255


def test_names_are_tidy_and_show_control_characters() -> None:
    assert only(name="  Zoe\u0308\n of\tOz ").name == "Zoë of Oz"
    assert only(name="a\x00b\x9fc").name == "a\ufffdb\ufffdc"
    assert only(name="\x00" * 200).name == "\ufffd" * 85


@pytest.mark.parametrize(
    ("given_type", "expected"),
    [
        ("person", "person"),
        ("Person", "person"),
        (" PREFERENCE ", "preference"),
        ("org", "organization"),
        ("Place", "location"),
        ("MEETING", "event"),
        ("animal", "note"),
        ("", "note"),
        (None, "note"),
        (1, "note"),
        (["person"], "note"),
        ("self", "self"),
    ],
)
def test_types_are_read_in_any_case_or_are_note(given_type: object, expected: str) -> None:
    assert only(type=given_type).type == expected


def test_a_missing_type_is_note() -> None:
    assert parsed([{"name": "Alice"}]).entities[0].type == "note"


@pytest.mark.parametrize(("confidence", "expected"), [(0.8, "self"), (0.799999, "note"), (None, "note")])
def test_self_needs_confidence(confidence: object, expected: str) -> None:
    assert only(type="Self", confidence=confidence).type == expected


@pytest.mark.parametrize("content", [None, "", " \n", 5, [5]])
def test_missing_content_is_the_beginning_of_the_text(content: object) -> None:
    (mention,) = parsed([entity(content=content)], text="日" * 100).entities
    assert mention.content == "日" * 66


def test_content_is_kept_up_to_its_limit_without_space_around_it() -> None:
    assert only(content=" likes\ttea ").content == "likes\ttea"
    assert only(content="日" * 400).content == "日" * 333


def test_a_content_of_several_sentences_is_a_statement_for_each() -> None:
    content = " Works at Acme.  Likes tea!\n\n knows Dr. Bob\nWorks  at ACME."
    result = parsed([entity(content=content, confidence=0.6)])
    assert [(it.name, it.content, it.confidence_ppm) for it in result.entities] == [
        ("Alice", "Works at Acme.", 600_000), ("Alice", "Likes tea!", 600_000),
        ("Alice", "knows Dr. Bob", 600_000),
    ]  # fmt: skip
    assert result.shapes == ("merged",)


@pytest.mark.parametrize("end", ["\n", ". "])
@pytest.mark.parametrize("more", [0, 1])
def test_a_content_of_more_than_sixteen_sentences_is_one_text(end: str, more: int) -> None:
    lines = [f"line {n}" for n in range(EXTRACT_SENTENCE_COUNT_MAX + more)]
    content = f" {end.join(lines)} \n"
    result = parsed([entity(content=content)])
    mark = end.strip()
    expected = [content] if more else [*(f"{it}{mark}" for it in lines[:-1]), lines[-1]]
    assert [it.content for it in result.entities] == expected


@pytest.mark.parametrize("confidence", [None, "sure", True, 1.01, -0.1, [1]])
def test_malformed_confidence_is_one_half(confidence: object) -> None:
    assert only(confidence=confidence).confidence_ppm == 500_000


def test_low_confidence_is_dropped_at_the_configured_floor() -> None:
    result = parsed([entity(confidence=0.3), entity("Bob", confidence=0.299999)])
    assert [mention.name for mention in result.entities] == ["Alice"]
    assert result.dropped == ((1, "low_confidence"),)
    assert not result.partial
    raised = Config(extract_confidence_min_ppm=500_001)
    assert parsed([{"name": "Alice"}], config=raised).dropped == ((0, "low_confidence"),)


def test_equal_statements_are_merged_and_others_about_one_name_stay() -> None:
    result = parsed(
        [
            entity(confidence=0.6),
            entity(" ALICE ", content="likes tea", confidence=0.9),
            entity("alice", content="works at Acme", confidence=0.5),
            entity("Alice", type="note"),
        ]
    )
    assert result.entities == (
        Mention("person", "Alice", "works at Acme", 950_000),
        Mention("person", "ALICE", "likes tea", 900_000),
    )
    assert (result.dropped, result.shapes) == ((), ("merged", "merged"))


def test_a_statement_is_about_all_names_that_it_says() -> None:
    acme = entity("ACME", type="organization", content="works at  acme", confidence=0.97)
    assert parsed([acme, entity()]).entities == (
        Mention("person", "Alice", "works at Acme", 970_000, others=("ACME",)),
    )
    both = "Alice works at Acme"
    assert parsed([entity("Acme", type="organization", content=both), entity(content=both)]).entities == (
        Mention("person", "Alice", both, 950_000, others=("Acme",)),
    )


def test_a_statement_that_leaves_two_names_out_is_one_of_each() -> None:
    tea = [entity(name, content="likes tea", confidence=sure) for name, sure in (("Bob", 0.5), ("Ann", 0.9))]
    cup = entity("Tea", type="topic", content="likes tea", confidence=0.6)
    assert parsed([*tea, cup]).entities[:-1] == (
        Mention("person", "Bob", "likes tea", 600_000, others=("Tea",)),
        Mention("person", "Ann", "likes tea", 900_000, others=("Tea",)),
    )
    assert parsed([entity("!", content="likes tea"), tea[0]]).entities[:-1] == (
        Mention("person", "!", "likes tea", 950_000), Mention("person", "Bob", "likes tea", 500_000),
    )  # fmt: skip


def test_of_equal_statements_the_first_spelling_and_the_highest_confidence_stay() -> None:
    (mention,) = parsed([entity(confidence=0.6), entity("alice", content="Works  at acme")]).entities
    assert mention == Mention("person", "Alice", "works at Acme", 950_000)


def test_element_51_and_later_are_dropped_and_degrade() -> None:
    result = parsed([entity(f"Name{n}") for n in range(52)])
    assert len(result.entities) == 50
    assert result.dropped == ((50, "too_many"), (51, "too_many"))
    assert result.partial


NAMED = [entity(content="naps"), entity("Acme", type="organization", content="sells cups")]


def links(
    *relations: object, named: list[dict[str, object]] = NAMED
) -> tuple[list[Mention], tuple[str, ...]]:
    """Return the statements that links add, and what became of the links."""
    found, without = parsed(named, relations), parsed(named)
    assert found.partial == without.partial
    return [it for it in found.entities if it not in without.entities], found.shapes


def link(source: object = "Alice", target: object = "Acme", **rest: object) -> dict[str, object]:
    return {"source": source, "target": target, "type": "works_at", "confidence": 0.8} | rest


def both(content: str, confidence_ppm: int = 800_000) -> Mention:
    return Mention("person", "Alice", content, confidence_ppm, others=("Acme",))


@pytest.mark.parametrize(
    "relation",
    [link("Bob"), link(target="Bob"), link(None), link(target=7), {}, None, "Alice", [], link("Bob", "Bob")],
)
def test_a_link_needs_two_kept_names(relation: object) -> None:
    assert links(relation) == ([], ("link unknown_endpoint",))


def test_a_link_is_a_statement_about_both_ends_as_they_are_spelled_first() -> None:
    assert links(link(" ALICE", "acme\n")) == ([both("Alice works at Acme")], ())
    long = [entity("x" * 300, content="naps"), entity("Acme", content="sells cups")]
    assert links(link("x" * 300), named=long)[1] == ("name cut",)
    assert parsed(long, [link("x" * 300)]).entities[2].content == f"{'x' * 256} works at Acme"
    twice = [*NAMED, entity("ALICE", content="rests")]
    assert links(link("ALICE"), named=twice) == ([both("Alice works at Acme")], ())


def test_a_link_to_a_dropped_entity_is_dropped() -> None:
    named = [entity(), entity("Acme", confidence=0.1)]
    assert links(link(), named=named) == ([], ("low_confidence", "link unknown_endpoint"))


def test_a_link_between_names_of_one_statement_is_extracted() -> None:
    named = [entity(), entity("Acme", type="organization")]
    assert links(link(), link("Acme", "Alice"), named=named) == ([], ("merged", "link told", "link told"))
    named = [entity(), entity("Acme", content="sells cups")]
    assert links(link(), named=named) == ([], ("link told",))


def test_a_link_to_itself_is_dropped() -> None:
    assert links(link("Alice", "ALICE")) == ([], ("link self_link",))


@pytest.mark.parametrize(
    ("kind", "kind_text"),
    [("likes", "likes"), ("Part_of", "Part of"), (" is\nin\0 ", "is in\ufffd"), ("x" * 70, "x" * 64)],
)
def test_a_link_says_what_the_reply_calls_it(kind: object, kind_text: str) -> None:
    assert links(link(type=kind)) == ([both(f"Alice {kind_text} Acme")], ())


@pytest.mark.parametrize("kind", [None, 3, "", "_ _"])
def test_a_link_without_a_type_relates(kind: object) -> None:
    assert links(link(type=kind)) == ([both("Alice relates to Acme")], ("link type missing",))


def test_a_repeated_link_is_kept_once_and_other_directions_and_types_stay() -> None:
    result = links(
        link(), link("alice", confidence=0.9), link("Acme", "Alice"), link(type="KNOWS", confidence="x")
    )
    expected = [
        both("Alice works at Acme", 900_000),
        both("Acme works at Alice"),
        both("Alice KNOWS Acme", 500_000),
    ]
    assert result == (expected, ("link confidence missing",))


def test_link_101_and_later_are_dropped() -> None:
    assert links(*[link()] * 102) == ([both("Alice works at Acme")], ("link too_many", "link too_many"))


@pytest.mark.parametrize("relations", [None, {}, "x", 1])
def test_relations_that_are_no_list_are_none(relations: object) -> None:
    assert parsed(NAMED, relations) == parsed(NAMED)


def test_a_wrapped_reply_parses_as_the_payload() -> None:
    alone = json.dumps({"entities": NAMED, "relations": [link()]})
    expected = parse_extraction(alone, TEXT, CONFIG)
    for reply in (
        f"Here you are: {alone}",
        f"```json\n{alone}\n```",
        f"```\n{alone}",
        f"{alone}\nDone {{}}!",
    ):
        assert parse_extraction(reply, TEXT, CONFIG) == expected


def test_lone_surrogates_never_reach_a_mention() -> None:
    reply = '{"entities": [{"name": "A\\ud800", "content": "b\udfff"}]}'
    assert parse_extraction(reply, "b", CONFIG) == Extraction(
        (Mention("note", "A\ufffd", "b\ufffd", 500_000),), (), False
    )


@given(
    st.text() | st.text(max_size=20).map(lambda text: '{"entities": [' + text), st.text(alphabet="ab \n日")
)
def test_no_reply_raises(reply: str, text: str) -> None:
    assert isinstance(parse_extraction(reply, text, CONFIG), Extraction | UnusableReply)


@pytest.mark.uncounted
@given(st.lists(ELEMENTS, max_size=6), st.lists(LINKS, max_size=6))
def test_every_element_is_kept_merged_or_dropped(entities: list[object], relations: list[object]) -> None:
    result = parsed(entities, relations)
    kept = [mention for mention in result.entities if mention.named]
    assert len(kept) + len(result.dropped) + result.repairs.count("merged") >= len(entities)
    assert len(kept) <= len(entities) + len(relations)
    assert bool(kept) == (len(result.dropped) < len(entities))
    assert kept or result.entities == (fallback_note(TEXT),)
    names = [name for mention in kept for name in mention.names]
    assert all(0 < size(name) <= 256 and not has_control(name) for name in names)
    assert all(size(mention.content) <= 1_000 for mention in kept)
    assert all(300_000 <= mention.confidence_ppm <= 1_000_000 for mention in kept)


LONG = "x" * 300
SHAPED: list[tuple[dict[str, object], tuple[str, ...]]] = [
    ({}, ()),
    ({"type": "org"}, ()),
    ({"type": " NOTE "}, ()),
    ({"name": "a\0b"}, ("name control",)),
    ({"name": LONG}, ("name cut",)),
    ({"type": "dragon"}, ("type unknown",)),
    ({"type": None}, ("type unknown",)),
    ({"type": "self", "confidence": 0.5}, ("type self unsure",)),
    ({"content": 7}, ("content missing",)),
    ({"content": " "}, ("content missing",)),
    ({"content": "x" * 1_001}, ("content cut",)),
    ({"confidence": "high"}, ("confidence missing",)),
    ({"name": 7}, ("no_name",)),
    ({"name": "she"}, ("pronoun",)),
    ({"confidence": 0.1}, ("low_confidence",)),
]


@pytest.mark.parametrize(("fields", "shapes"), SHAPED, ids=str)
def test_what_is_dropped_or_put_right_is_named(fields: dict[str, object], shapes: tuple[str, ...]) -> None:
    assert parsed([entity(**fields)]).shapes == shapes


def test_what_becomes_of_lists_and_links_is_named_too() -> None:
    many = [entity("Bob"), "no", *(entity(f"n{n}") for n in range(49))]
    assert parsed([entity(), entity(), *many]).shapes == ("not_object", *["too_many"] * 3, "merged")
    bad = [link(), link(type=None), link(confidence=None), link(target="Alice"), {}]
    assert parsed(NAMED, bad).shapes == (
        "link self_link", "link unknown_endpoint", "link type missing", "link confidence missing",
    )  # fmt: skip


@pytest.mark.uncounted
@given(st.lists(ELEMENTS, max_size=3), st.lists(LINKS, max_size=3))
def test_every_shape_is_one_that_is_listed(entities: list[object], links: list[object]) -> None:
    assert all(shape in SHAPES for shape in parsed(entities, links).shapes)

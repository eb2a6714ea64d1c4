"""Goal: a rewrite is adopted only if it says the same with fewer references, in words that somebody said."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language.replies import Unusable
from umi_core.language.rewriting import (
    Variants,
    clean_line,
    detected,
    is_deep,
    judged,
    parse_variants,
    shown_turns,
)
from umi_core.limits import PPM, QUERY_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX, VARIANT_COUNT_MAX
from umi_core.messages.results import Resolution
from umi_core.values import Turn

HALF_PPM = 500_000
QUERY = "What did he say about that?"
TURNS = (
    Turn("user", "John mentioned the DB migration is late"),
    Turn("user", "Ask John about the database migration"),
)


def verdict(reply: str, query: str = QUERY, turns: tuple[Turn, ...] = TURNS) -> Resolution:
    return judged(reply, query, turns, HALF_PPM)


def told(*texts: str) -> tuple[Turn, ...]:
    return tuple(Turn("user", text) for text in texts)


# Detection.


@pytest.mark.parametrize(
    ("query", "turns", "enabled", "expected"),
    [
        (QUERY, TURNS, False, Resolution("disabled", QUERY)),
        ("Where is John?", TURNS, True, Resolution("clear", "Where is John?")),
        (QUERY, (), True, Resolution("no_context", QUERY, ("he", "that"))),
        (QUERY, TURNS, True, None),
    ],
)
def test_a_model_is_asked_only_about_a_term_after_some_turn(
    query: str, turns: tuple[Turn, ...], enabled: bool, expected: Resolution | None
) -> None:
    assert detected(query, turns, enabled) == expected


def test_terms_stand_once_by_first_occurrence() -> None:
    found = detected("Is it she, or is that it?", (), True)
    assert found is not None
    assert found.terms == ("it", "she", "that")


def test_the_last_turns_that_say_something_are_shown_newest_first_and_cut() -> None:
    turns = told(*(f"turn {n}" for n in range(12)), " \n", "x" * (TURN_CHARS_MAX + 1))
    shown = shown_turns(turns)
    assert len(shown) == TURN_COUNT_MAX
    assert shown[0].text == "x" * TURN_CHARS_MAX
    assert [turn.text for turn in shown[1:]] == [f"turn {n}" for n in range(11, 2, -1)]
    assert shown_turns(told("👍" * 600))[0].text == "👍" * TURN_CHARS_MAX


# The gate: the table of section 13.


@pytest.mark.parametrize(
    ("reply", "query", "confidence_ppm"),
    [
        ("What did John say about the database migration?", None, PPM),
        (
            '"What did John say about the migration?"\nBecause he is John',
            "What did John say about the migration?",
            PPM,
        ),
        ("What did John say about that?", None, HALF_PPM),
        ("Rewritten query: What  did John say about that?", "What did John say about that?", HALF_PPM),
    ],
)
def test_a_rewrite_that_resolves_is_adopted(reply: str, query: str | None, confidence_ppm: int) -> None:
    expected = Resolution("resolved", query or reply, ("he", "that"), "", confidence_ppm)
    assert verdict(reply) == expected


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("garbage unrelated", "dropped_words"),
        ("What did Theo say about the migration?", "foreign_word"),
        ("What did John say about it?", "new_reference"),
        ("say", "nothing_added"),
        ("", "empty_reply"),
        ('""', "empty_reply"),
        ("say John " + "x" * QUERY_BYTES_MAX, "too_long"),
        ("John, about the migration", "dropped_words"),
    ],
)
def test_a_rewrite_is_rejected_for_the_first_reason_that_holds(reply: str, reason: str) -> None:
    assert verdict(reply) == Resolution("rejected", QUERY, ("he", "that"), reason)


@pytest.mark.parametrize("reply", [QUERY, f'"{QUERY}"', f"Query: {QUERY}\nYes.", QUERY.replace(" ", "  ")])
def test_the_query_itself_is_unchanged(reply: str) -> None:
    assert verdict(reply) == Resolution("unchanged", QUERY, ("he", "that"))


@pytest.mark.parametrize("query", ["Name:\nis it he?", '""\nshe?', "```\n```\nis it he?"])
def test_the_query_itself_is_unchanged_whatever_cleaning_leaves_of_it(query: str) -> None:
    assert verdict(query, query).outcome == "unchanged"


def test_less_than_asked_for_is_unresolved() -> None:
    query = "What did he say about that and this?"
    reply = "What did John say about that and this?"
    assert verdict(reply, query).reason == "unresolved"
    assert judged(reply, query, TURNS, 333_333).confidence_ppm == 333_333


def test_words_of_the_terms_may_be_said_outside_of_them() -> None:
    reply = verdict("Was the login error fixed?", "Was the error fixed?", told("The login is slow"))
    assert (reply.outcome, reply.confidence_ppm) == ("resolved", PPM)


@pytest.mark.parametrize(
    ("query", "turn", "reply"),
    [
        (
            "Was hat er dazu gesagt?",
            "Frag Jonas nach der Migration",
            "Was hat Jonas zu der Migration gesagt?",
        ),
        ("¿Cuál es su dirección?", "Conocí a Carmen", "¿Cuál es la dirección de Carmen?"),
        ("他说了什么？", "问问王伟", "王伟说了什么？"),
    ],
)
def test_light_words_of_the_querys_language_may_come_with_a_phrase(query: str, turn: str, reply: str) -> None:
    assert verdict(reply, query, told(turn)).outcome == "resolved"


def test_light_words_of_another_language_are_foreign() -> None:
    assert verdict("What did John say about der migration?").reason == "foreign_word"
    assert verdict("¿Qué dijo de la?", "¿Qué dijo él?", told("Hola")).reason == "nothing_added"


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_any_reply_has_a_verdict_and_what_is_not_adopted_changes_nothing(
    reply: str, query: str, texts: list[str]
) -> None:
    found = judged(reply, query, told(*texts), HALF_PPM)
    if found.outcome == "resolved":
        assert found.confidence_ppm is not None
        assert HALF_PPM <= found.confidence_ppm <= PPM
    else:
        assert (found.query, found.confidence_ppm) == (query, None)
    assert judged(query, query, told(*texts), HALF_PPM).outcome in ("unchanged", "rejected")


# Cleaning.


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("  two\nlines", "two"),
        ("```\nfenced\n```", "fenced"),
        ("```text\nQuery: fenced\n```", "fenced"),
        ("Expanded query: x", "x"),
        ("REWRITTEN QUERY : x", "x"),
        ("Resolved query: Query: x", "x"),
        ("Name: x", "x"),
        ('"x"', "x"),
        ("“x” ", "x"),
        ("「x」", "x"),
        ("'\"x\"'", "x"),
        ('"Query: x"', "x"),
        ('"a" or "b"', '"a" or "b"'),
        ("\n \n", ""),
        ("Renamed: x", "Renamed: x"),
    ],
)
def test_one_line_without_fence_label_and_quotes(text: str, line: str) -> None:
    assert clean_line(text) == line


@given(st.text())
def test_a_clean_line_stays_as_it_is(text: str) -> None:
    assert clean_line(clean_line(text)) == clean_line(text)
    assert "\n" not in clean_line(text)


# Variants.


@pytest.mark.parametrize(
    ("query", "deep"),
    [
        *((query, False) for query in ("show me", "whole foods", "weekend plans", "likely cause")),
        *((query, False) for query in ("blast radius", "lastly", "unconnected", "he said", "")),
        *((query, True) for query in ("Who is she", "what's new", "last week", "SIMILAR to it")),
    ],
)
def test_a_trigger_is_a_word(query: str, deep: bool) -> None:
    assert is_deep(query, None) is deep
    assert is_deep(query, True) is True
    assert is_deep(query, False) is False


@pytest.mark.parametrize(
    ("reply", "variants"),
    [
        ('["a", "b"]', ("q", "a", "b")),
        ('["a", "b", "c"]', ("q", "a", "b")),
        ('{"queries": ["a"]}', ("q", "a")),
        ('["Q", " a  b ", "A B", "", 7, null]', ("q", "a b")),
        ("[]", ("q",)),
        (f'["{"x" * (QUERY_BYTES_MAX + 1)}", "a"]', ("q", "a")),
    ],
)
def test_the_query_is_first_and_each_variant_once(reply: str, variants: tuple[str, ...]) -> None:
    assert parse_variants(reply, "q") == Variants(variants)


def test_what_becomes_no_variant_has_a_reason() -> None:
    reply = json.dumps(["Q", " ", 7, "x" * (QUERY_BYTES_MAX + 1), "a", "A", "b", "c"])
    found = parse_variants(reply, "q")
    assert isinstance(found, Variants)
    assert found.dropped == ("again", "blank", "not_text", "too_long", "again", "too_many")


@given(st.text(), st.text(min_size=1))
def test_any_reply_gives_variants_or_is_unusable(reply: str, query: str) -> None:
    found = parse_variants(reply, query)
    if not isinstance(found, Unusable):
        assert found.texts[0] == query
        assert len(found.texts) <= VARIANT_COUNT_MAX


def test_what_has_no_array_is_unusable() -> None:
    assert parse_variants("no", "q") == Unusable("no_json")

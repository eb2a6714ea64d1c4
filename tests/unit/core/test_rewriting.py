"""Goal: a rewrite is adopted only if it says the same with fewer references, in words of the turns."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, maybe, rows
from tests.spec_tables import read_cell as said_in
from tests.spec_tables import words as listed
from umi_core.language.pronouns import read
from umi_core.language.replies import UnusableReply
from umi_core.language.rewriting import (
    Refusal,
    Variants,
    clean_line,
    is_deep,
    judge_rewrite,
    parse_variants,
    read_reply,
    resolve_without_model,
    shown_turns,
)
from umi_core.language.tables import TRIGGERS
from umi_core.limits import PPM, QUERY_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX, VARIANT_COUNT_MAX
from umi_core.messages.results import Resolution, ResolutionOutcome
from umi_core.values import Turn

HALF_PPM = 500_000
QUERY = "What did he say about that?"
TURNS = (
    Turn("user", "John mentioned the DB migration is late"),
    Turn("user", "Ask John about the database migration"),
)


def verdict(reply: str, query: str = QUERY, turns: tuple[Turn, ...] = TURNS) -> Resolution:
    return judge_rewrite(reply, query, turns, HALF_PPM)


def make_turns(*texts: str) -> tuple[Turn, ...]:
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
    assert resolve_without_model(query, turns, enabled) == expected


def test_a_model_is_asked_without_a_term_where_the_asker_wants_it() -> None:
    assert resolve_without_model("Where is John?", TURNS, True, force=True) is None


def test_terms_stand_once_by_first_occurrence() -> None:
    found = resolve_without_model("Is it she, or is that it?", (), True)
    assert found is not None
    assert found.terms == ("it", "she", "that")


def test_the_last_turns_that_say_something_are_shown_newest_first_and_cut() -> None:
    turns = make_turns(*(f"turn {n}" for n in range(12)), " \n", "x" * (TURN_CHARS_MAX + 1))
    shown = shown_turns(turns)
    assert len(shown) == TURN_COUNT_MAX
    assert shown[0].text == "x" * TURN_CHARS_MAX
    assert [turn.text for turn in shown[1:]] == [f"turn {n}" for n in range(11, 2, -1)]
    assert shown_turns(make_turns("👍" * 600))[0].text == "👍" * TURN_CHARS_MAX


# The gate.


@pytest.mark.parametrize(
    ("role", "text", "rewrite", "is_taken"),
    [
        ("user", "I left my charger there", "Is my charger safe?", True),
        ("assistant", "I left my charger there", "Is my charger safe?", False),
        ("assistant", "I left my charger there", "Is your charger safe?", True),
        ("assistant", "You left your charger there", "Is my charger safe?", True),
        ("assistant", "We sold our charger", "Is your charger safe?", True),
        ("assistant", "We sold our charger", "Is our charger safe?", True),
        ("user", "I left my charger there", "Is my lost charger safe?", False),
        ("user", "Ich habe mein Ladegerät verloren", "Is mein Ladegerät safe?", True),
    ],
)
def test_a_person_is_added_only_as_in_a_turn(role: str, text: str, rewrite: str, is_taken: bool) -> None:
    found = judge_rewrite(rewrite, "Is it safe?", (Turn(role, f"{text}, lost"),), HALF_PPM)
    assert (found.outcome == "resolved") == is_taken
    assert is_taken or found.reason == "changed_person"


def test_what_another_person_has_is_not_made_ones_own() -> None:
    turns = (Turn("assistant", "I left my charger there, lost"),)
    assert judge_rewrite("Is my charger safe?", "Is it safe?", turns, HALF_PPM).reason == "changed_person"


@pytest.mark.parametrize(
    ("query", "rewrite", "reason"),
    [
        ("Who came up with this initiative?", "Who came up with the GPU plan?", ""),
        ("Who came up with this Ella?", "Who came up with the GPU plan?", "dropped_words"),
        ("This initiative, who likes?", "The GPU plan, who likes?", "dropped_words"),
        ("Was this initiative liked?", "Was the GPU plan liked?", "dropped_words"),
        ("Kennst du diesen Kurs?", "Kennst du den Plan?", ""),
        ("Kennst du diesen guten Kurs?", "Kennst du den guten Plan?", "dropped_words"),
        ("我们要这个方案吗", "我们要计划吗", ""),
        ("Does she raise it?", "Does Ann raised rents?", ""),
        ("Does she raise it?", "Does Anna raise rent?", "foreign_word"),
        ("Did Ann raise it?", "Did Anns raise rents?", "dropped_words"),
    ],
)
def test_nouns_go_with_their_demonstrative_and_endings_may_differ(
    query: str, rewrite: str, reason: str
) -> None:
    turns = (Turn("user", "Ann likes the GPU plan and the rent, 计划, der Plan"),)
    assert judge_rewrite(rewrite, query, turns, HALF_PPM).reason == reason


@pytest.mark.parametrize("row", rows("memory", "rewrites"), ids=lambda row: row["reply"])
def test_a_rewrite_has_the_verdict_of_the_table(row: Row) -> None:
    query, outcome = said_in(row["query"]), said_in(row["reason or rewrite"])
    found = verdict(said_in(row["reply"]), query)
    assert (found.outcome, found.confidence_ppm) == (row["outcome"], maybe(row["confidence"]))
    assert found.query == (outcome if found.outcome == "resolved" else query)
    assert found.reason == ("" if found.outcome == "resolved" else outcome)
    assert found.terms == tuple(dict.fromkeys(read(query).terms))


def reply_of(row: Row) -> str:
    """The reply of a row: a line, or an object if it names something."""
    line, named = said_in(row["rewrite"]), row["named"]
    if named == "–":
        return str(line)
    keys = ("reference", "means", "turn")
    return json.dumps(
        {"query": line, "references": [dict(zip(keys, it, strict=True)) for it in said_in(named)]}
    )


@pytest.mark.parametrize("row", rows("memory", "antecedents"), ids=lambda row: row["rewrite"])
def test_what_is_named_is_checked(row: Row) -> None:
    turns = shown_turns(make_turns(*said_in(row["turns"])))
    query = said_in(row["query"])
    assert resolve_without_model(query, turns, True) is None
    assert judge_rewrite(reply_of(row), query, turns, HALF_PPM).reason == (
        "" if row["reason"] == "–" else row["reason"]
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (7, "unnamed"),
        ({"reference": "he", "means": 7, "turn": 1}, "unnamed"),
        ({"reference": "he", "means": "John", "turn": 1}, ""),
        ({"reference": "he", "means": "John", "turn": "one"}, "wrong_turn"),
        ({"reference": "he", "means": "John", "turn": 1.5}, "wrong_turn"),
        ({"reference": "he", "means": "", "turn": 1}, "unnamed"),
    ],
)
def test_a_row_that_names_nothing_is_refused(row: object, reason: str) -> None:
    reply = json.dumps({"query": "Was John late?", "references": [row]})
    assert verdict(reply, "Was he late?").reason == reason
    assert verdict(json.dumps({"references": [row]}), "Was he late?").reason == "empty_reply"


def test_the_last_of_two_rewrites_counts() -> None:
    first, last = (json.dumps({"query": f"Was {name} late?", "references": []}) for name in ("Ann", "John"))
    assert read_reply(f"{first}\nNo, rather: {last}").text == "Was John late?"


def test_a_rewrite_is_no_longer_than_a_query_may_be() -> None:
    reply = "say John " + "x" * QUERY_BYTES_MAX
    assert verdict(reply) == Resolution("rejected", QUERY, ("he", "that"), "too_long", turn_count=2)


def test_outcomes_and_reasons_are_those_of_the_tables() -> None:
    assert [row["outcome"] for row in rows("memory", "resolution_outcomes")] == list(
        get_args(ResolutionOutcome)
    )
    assert {row["reason"] for row in rows("memory", "gate")} == set(get_args(Refusal))


@pytest.mark.parametrize("reply", [f"Query: {QUERY}\nYes.", QUERY.replace(" ", "  ")])
def test_the_query_itself_is_unchanged(reply: str) -> None:
    assert verdict(reply) == Resolution("unchanged", QUERY, ("he", "that"), turn_count=2)


@pytest.mark.parametrize("query", ["Name:\nis it he?", '""\nshe?', "```\n```\nis it he?"])
def test_the_query_itself_is_unchanged_whatever_cleaning_leaves_of_it(query: str) -> None:
    assert verdict(query, query).outcome == "unchanged"


def test_less_than_asked_for_is_unresolved() -> None:
    query = "What did he say about that and this?"
    reply = "What did John say about that and this?"
    assert verdict(reply, query).reason == "unresolved"
    assert judge_rewrite(reply, query, TURNS, 333_333).confidence_ppm == 333_333


def test_words_of_the_terms_may_stand_outside_of_them() -> None:
    reply = verdict("Was the login error fixed?", "Was the error fixed?", make_turns("The login is slow"))
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
    assert verdict(reply, query, make_turns(turn)).outcome == "resolved"


def test_light_words_of_another_language_are_foreign() -> None:
    assert verdict("What did John say about der migration?").reason == "foreign_word"
    assert verdict("¿Qué dijo de la?", "¿Qué dijo él?", make_turns("Hola")).reason == "nothing_added"


@pytest.mark.uncounted
@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_any_reply_has_a_verdict_and_what_is_not_adopted_changes_nothing(
    reply: str, query: str, texts: list[str]
) -> None:
    found = judge_rewrite(reply, query, make_turns(*texts), HALF_PPM)
    if found.outcome == "resolved":
        assert found.confidence_ppm is not None
        assert HALF_PPM <= found.confidence_ppm <= PPM
    else:
        assert (found.query, found.confidence_ppm) == (query, None)
    assert judge_rewrite(query, query, make_turns(*texts), HALF_PPM).outcome in ("unchanged", "rejected")


# Cleaning.


@pytest.mark.parametrize("row", rows("hierarchy", "clean_lines"), ids=lambda row: row["text"])
def test_one_line_without_fence_label_and_quotes(row: Row) -> None:
    assert clean_line(said_in(row["text"])) == said_in(row["line"])


@given(st.text())
def test_a_clean_line_stays_as_it_is(text: str) -> None:
    assert clean_line(clean_line(text)) == clean_line(text)
    assert "\n" not in clean_line(text)


# Variants.


@pytest.mark.parametrize("row", rows("memory", "deep"), ids=lambda row: row["query"])
def test_a_trigger_is_a_word(row: Row) -> None:
    query = said_in(row["query"])
    assert is_deep(query, None) is (row["deep"] == "yes")
    assert is_deep(query, True) is True
    assert is_deep(query, False) is False


def test_the_triggers_are_those_of_the_list() -> None:
    assert sorted(listed("memory", "triggers")) == sorted(TRIGGERS)


@pytest.mark.parametrize("row", rows("memory", "variants"), ids=lambda row: row["reply"])
def test_the_query_is_first_and_each_variant_once(row: Row) -> None:
    assert parse_variants(said_in(row["reply"]), "q") == Variants(tuple(said_in(row['variants of "q"'])))


def test_a_variant_is_no_longer_than_a_query_may_be() -> None:
    assert parse_variants(f'["{"x" * (QUERY_BYTES_MAX + 1)}", "a"]', "q") == Variants(("q", "a"))


def test_what_becomes_no_variant_has_a_reason() -> None:
    reply = json.dumps(["Q", " ", 7, "x" * (QUERY_BYTES_MAX + 1), "a", "A", "b", "c"])
    found = parse_variants(reply, "q")
    assert isinstance(found, Variants)
    assert found.dropped == ("again", "blank", "not_text", "too_long", "again", "too_many")


@given(st.text(), st.text(min_size=1))
def test_any_reply_gives_variants_or_is_unusable(reply: str, query: str) -> None:
    found = parse_variants(reply, query)
    if not isinstance(found, UnusableReply):
        assert found.texts[0] == query
        assert len(found.texts) <= VARIANT_COUNT_MAX


def test_what_has_no_array_is_unusable() -> None:
    assert parse_variants("no", "q") == UnusableReply("no_json")


def test_a_turn_that_does_not_say_so_is_refused() -> None:
    turns = (Turn("user", "John lives in Rome"), Turn("user", "I like tea"))
    named = {"reference": "he", "means": "John", "turn": 1}
    reply = json.dumps({"query": "Is John nice?", "references": [named]})
    assert judge_rewrite(reply, "Is he nice?", turns[::-1], HALF_PPM).reason == "wrong_turn"

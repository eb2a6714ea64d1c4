"""Goal: words, stop words and automatic names are those of the spec, for any text in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language.words import STOP_WORDS, auto_name, clean_name, content, words
from umi_core.text import has_control, size, tidy

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sheila's 東京 node_js", "sheila 東 京 node js"),
        ("", ""),
        ("?! ... 🙂", ""),
        ("rock'n'roll it's don’t", "rock it don"),
        ("'tis James' it''s", "tis james it s"),
        ("東's Tom's東京 a'東b", "東 tom 東 京 a 東 b"),
        ("カタ한글㐀x", "カ タ 한 글 㐀 x"),
        ("STRASSE Straße", "strasse strasse"),
        ("Zoe\u0308 Zo\u00eb", "zo\u00eb zo\u00eb"),
        ("x² ½ Ⅷ 42", "x² ½ ⅷ 42"),
        ("snake_case-and.dots", "snake case and dots"),
    ],
)
def test_words_are_runs_of_letters_and_digits(text: str, expected: str) -> None:
    assert words(text) == tuple(expected.split())


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_takes_no_other_way_than_the_rest(text: str) -> None:
    assert words(text) == words(text + "\ud800")


def test_content_words_keep_their_order_and_lose_the_stop_words() -> None:
    assert content(words("Where does Alice work, and who is Bob?")) == ("alice", "work", "bob")
    assert content(words("will you be there")) == ("there",)


def test_the_stop_words_are_frozen() -> None:
    assert len(STOP_WORDS) == 64
    assert "would" in STOP_WORDS
    assert "he" not in STOP_WORDS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The quick brown fox jumps over the lazy dog and runs far away",
            "The quick brown fox jumps over the lazy dog and...",
        ),
        ("x" * 60, "x" * 50 + "..."),
        ("x" * 50, "x" * 50),
        ("日" * 20, "日" * 16 + "..."),
        ("\n \t\n  Alice   works\tat Acme \r\nand more", "Alice works at Acme"),
        ("Zoe\u0308", "Zo\u00eb"),
        ("a\x00b", "a\ufffdb"),
        ("  \n ", ""),
    ],
)
def test_a_text_is_named_by_its_first_line(text: str, expected: str) -> None:
    assert auto_name(text) == expected


@given(TEXTS)
def test_words_of_words_are_the_words(text: str) -> None:
    once = words(text)
    assert all(once)
    assert words(" ".join(words(" ".join(once)))) == words(" ".join(once))


@given(TEXTS)
def test_an_automatic_name_is_a_name(text: str) -> None:
    name = auto_name(text)
    assert size(name) <= 53
    assert not has_control(name)
    assert bool(name) == bool(text.strip())


@given(TEXTS)
def test_a_clean_name_is_tidy_and_stays(text: str) -> None:
    name = clean_name(text)
    assert not has_control(name)
    assert tidy(name) == name == clean_name(name)

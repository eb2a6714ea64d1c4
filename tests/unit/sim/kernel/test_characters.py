"""Goal: words and sentences are the same on every interpreter, and no string is too strange for them."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_sim.kernel import characters as text
from umi_sim.kernel.characters import is_upper, lower, sentences, tokens

ANY_TEXT = st.text(st.characters(exclude_categories=()))
SETS = (text.SPACED, text.DENSE, text.MARKS, text.EMOJI)


def test_the_tables_are_frozen() -> None:
    tables = (
        *SETS,
        text.FLAG_LETTERS,
        text.SKIN_TONES,
        sorted(text.LOWER.items()),
        text.BLANKS,
        text.SENTENCE_ENDS,
    )
    assert blake2b(ascii(tables).encode(), digest_size=16).hexdigest() == "79cacd31fc335ba2d1e7b01d23a3faf1"


def test_a_character_is_in_one_table() -> None:
    codes = [code for table in SETS for first, last in table for code in range(first, last + 1)]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("Alice's e-mail, in_2024!", "alice s e mail in 2024"),
        ("Ünsal Šťastný ΟΔΟΣ Привет", "ünsal šťastný οδοσ привет"),
        ("Քոչարյան שָׁלוֹם السَّلام", "Քոչարյան שָׁלוֹם السَّلام"),
        ("नमस्ते।हिन्दी বাংলা தமிழ்", "नमस्ते हिन्दी বাংলা தமிழ்"),
        ("cafe\u0301 x\u0323\u0301y", "cafe\u0301 x\u0323\u0301y"),
        ("\u0301 \u200d ok", "ok"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("東京に住む。", "東京 京に に住 住む"),
        ("猫", "猫"),
        ("한국어 abc漢字", "한국 국어 abc 漢字"),
        ("か\u3099き", "か\u3099き"),
        ("กินข้าว", "กิ\u0e19 \u0e19\u0e02\u0e49 ข้า าว"),
        ("🎉🎉a", "🎉 🎉 a"),
        ("👩🏽\u200d🚀❤\ufe0f", "👩🏽\u200d🚀 ❤\ufe0f"),
        ("🇫🇷🇩🇪", "🇫🇷 🇩🇪"),
        ("a\ud800b\U00010400\x00", "a b"),
        ("", ""),
    ],
)
def test_words_of_many_scripts(given_text: str, expected: str) -> None:
    assert tokens(given_text) == expected.split()


@given(ANY_TEXT)
def test_any_text_has_words_and_they_are_words_again(any_text: str) -> None:
    for token in tokens(any_text):
        assert tokens(token) == [token]


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_takes_no_other_way_than_the_rest(ascii_text: str) -> None:
    assert tokens(ascii_text) == tokens(ascii_text + "\ud800")


@given(ANY_TEXT)
def test_what_separates_words_can_be_anywhere(any_text: str) -> None:
    assert tokens(any_text + " " + any_text) == 2 * tokens(any_text)


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("She left. Why?! No one knows", ["She left.", "Why?!", "No one knows"]),
        ("一つ。二つ！三つ？", ["一つ。", "二つ！", "三つ？"]),
        ("هل؟ نعم\nपहला। दूसरा", ["هل؟", "نعم", "पहला।", "दूसरा"]),
        ("a\r\n\r\n \tb\u3000\n", ["a", "b"]),
        (" \n\t", []),
        ("...", ["..."]),
    ],
)
def test_a_sentence_ends_at_its_mark_or_the_line(given_text: str, expected: list[str]) -> None:
    assert sentences(given_text) == expected


@given(ANY_TEXT)
def test_sentences_lose_nothing_but_blanks(any_text: str) -> None:
    blanks = str.maketrans("", "", text.BLANKS + "\n")
    assert "".join(sentences(any_text)).translate(blanks) == any_text.translate(blanks)


def test_case_exists_below_u0530_only() -> None:
    assert [is_upper(char) for char in "AÉΩЖԮ"] == 5 * [True]
    assert [is_upper(char) for char in "aéωжß1ԱႠ𐐀\ud800"] == 10 * [False]
    assert lower("ΑΣ ÉԱႠ") == "ας éԱႠ".replace("ς", "σ")


def test_a_small_letter_is_as_much_of_a_word_as_its_capital() -> None:
    for code, small in text.LOWER.items():
        assert tokens(chr(code)) == [small]

"""Goal: ids and texts are the same on every interpreter, whichever Unicode it knows."""

import unicodedata
from hashlib import blake2b
from typing import Final

import pytest

from tests.properties import text_reference as plain_text
from umi_core import text as core_text
from umi_core.characters import LATER, UNICODE_VERSION
from umi_core.ids import entity_id, fact_id
from umi_core.language.pronouns import read
from umi_core.language.words import words
from umi_core.text import norm, show_value, tidy
from umi_core.values import Scope

UNICODE: Final = unicodedata.unidata_version
SCOPE: Final = Scope("u1", "a1")

# The rows of this table are for ever: written with an interpreter of Unicode 14, and read with any.
#   text, its key as a name, its words, how a message shows it
AWKWARD: Final = (
    ("a\U00010efd\u0327", "a\U00010efd\u0327", "a", r"a\U00010efd\u0327"),  # a mark of Unicode 15 between
    ("kind \U0001fa77", "kind \U0001fa77", "kind", r"kind \U0001fa77"),  # a heart of Unicode 15
    ("\u1c89b", "\u1c89b", "b", r"\u1c89b"),  # a capital of Unicode 16
    ("\ua7dcx \U00010d50y", "\ua7dcx \U00010d50y", "x y", r"\ua7dcx \U00010d50y"),  # more of them
    ("a\u0897\u0323\u0302", "a\u0897\u0323\u0302", "a", r"a\u0897\u0323\u0302"),
    ("\U000323b0\u6771", "\U000323b0\u6771", "\u6771", r"\U000323b0\u6771"),  # an ideograph of Unicode 17
    ("e\u0308 \U0001fae8 A", "\u00eb \U0001fae8 a", "\u00eb a", r"e\u0308 \U0001fae8 A"),
    ("Stra\u00dfe \U0001f600", "strasse \U0001f600", "strasse", "Stra\u00dfe \U0001f600"),  # all of it known
    ("\u0130I\u0307", "i\u0307i\u0307", "i\u0307i\u0307", "\u0130I\u0307"),
    ("\u212b\u03a3\u03c2", "\u00e5\u03c3\u03c3", "\u00e5\u03c3\u03c3", "\u212b\u03a3\u03c2"),
)  # fmt: skip


@pytest.fixture(params=[False, True], ids=["as it is", "as a newer interpreter"])
def _newer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(core_text, "KNOWS_LATER", True)


@pytest.mark.usefixtures("_newer")
@pytest.mark.parametrize(
    ("text", "key", "its_words", "message"), AWKWARD, ids=[ascii(it[0]) for it in AWKWARD]
)
def test_awkward_texts_have_one_key_one_list_of_words_and_one_form(
    text: str, key: str, its_words: str, message: str
) -> None:
    assert (norm(text), plain_text.fold_name(text)) == (key, key)
    assert (" ".join(words(text)), " ".join(plain_text.words(text))) == (its_words, its_words)
    assert (show_value(text), plain_text.show_value(text)) == (message, message)
    assert tidy(text) == plain_text.tidy(text)
    assert show_value((text, 1)) == plain_text.show_value((text, 1))


@pytest.mark.usefixtures("_newer")
def test_their_ids_are_those_of_all_times() -> None:
    assert entity_id(SCOPE, "a\U00010efd\u0327") == "ent_7a00c6eb2649ad5372c5edf1"
    assert fact_id(SCOPE, (), "kind \U0001fa77") == "fct_41e8cfe8bfd2711fb9b4b617"
    assert fact_id(SCOPE, ("ent_1",), "kind \U0001fa77") == "fct_e2a584222397aefcc4dd834f"


def test_what_a_message_shows_of_an_object_is_what_unicode_14_knows() -> None:
    assert show_value(("\U0001fa77\n", "\u00e9")) == r"('\U0001fa77\n', '\u00e9')".replace(
        r"\u00e9", "\u00e9"
    )


@pytest.mark.uncounted
def test_every_interpreter_sees_what_unicode_14_knows_alike() -> None:
    """A digest over every character of the planes that have any: keys, words, messages."""
    hashed = blake2b(digest_size=8)
    for code in (*range(0xD800), *range(0xE000, 0x20000), *range(0x2A6D0, 0x32400), *range(0xE0000, 0xE0200)):
        char = chr(code)
        hashed.update(f"{norm(char)} {words(char)} {tidy(char)} {show_value(char)}\n".encode())
    assert hashed.hexdigest() == "7802c30903c2febb"


# The table.


def test_the_ranges_rise() -> None:
    edges = [edge for ends in LATER for edge in ends]
    assert edges == sorted(edges)


@pytest.mark.skipif(UNICODE != UNICODE_VERSION, reason="this interpreter cannot tell what Unicode 14 had")
def test_nothing_that_unicode_14_assigned_is_in_it() -> None:
    assert all(
        unicodedata.category(chr(code)) == "Cn" for first, last in LATER for code in range(first, last + 1)
    )


@pytest.mark.skipif(UNICODE == UNICODE_VERSION, reason="this interpreter has no newer characters")
def test_each_newer_character_of_this_interpreter_is_in_the_table() -> None:
    added = {"15.0.0": 4_489, "15.1.0": 5_116, "16.0.0": 10_301, "17.0.0": 15_104}
    found = sum(
        unicodedata.category(chr(code)) != "Cn" for first, last in LATER for code in range(first, last + 1)
    )
    assert found == added[UNICODE]


def test_a_later_letter_is_no_small_letter_and_part_of_no_word() -> None:
    """U+1DF25 is a small letter since Unicode 15: an interpreter that knows it must read as the others do."""
    assert not read("WHO \U0001df25 IT").names


def test_a_letter_of_no_case_stays_one() -> None:
    """`islower` is true of U+10FC and U+A7F2 since Unicode 15, though their categories are as before."""
    assert not read("WHO \u10fc IT").names
    assert not read("WHO \ua7f2 IT").names
    assert read("WHO A\u10fc is IT, or It").names

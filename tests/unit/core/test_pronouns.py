"""Goal: a query's references are found by words, in order, in four languages, and nothing else is."""

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language.pronouns import IDIOMS, LANGUAGES, phrase, read
from umi_core.language.words import words

ENGLISH = (
    "he him his himself she her hers herself it its itself they them their theirs themselves",
    "this that these those here there",
    "earlier, before, previously, yesterday, recently, again, last time, just now",
    "the same, similar, like before, as usual, the other, another one, the issue, the problem, the error, "
    "the bug, the feature, the method, the function, the file, the code",
)


def terms(text: str) -> str:
    return ", ".join(read(text).terms)


def test_the_terms_of_english_are_those_of_the_specification() -> None:
    pronouns, demonstratives, temporal, implicit = ENGLISH
    expected = [*pronouns.split(), *demonstratives.split(), *temporal.split(", "), *implicit.split(", ")]
    assert [term for term, language in LANGUAGES.items() if language == "en"] == expected


def test_the_tables_are_frozen() -> None:
    tables = (list(LANGUAGES.items()), [list(phrase(idiom)) for idiom in IDIOMS])
    assert blake2b(ascii(tables).encode(), digest_size=16).hexdigest() == "f51e2ba5f9690730a63c17d11ffbd932"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did he say about that?", "he, that"),
        ("fix it like before, before noon", "it, like before, before"),
        ("What's she up to?", "she"),
        ("Where is the schema?", ""),
        ("Show me the IT budget", ""),
        ("Is there a cache?", ""),
        ("there's a bug", ""),
        ("there’s a bug", ""),
        ("There were two. Were there more?", ""),
        ("beforehand planning", ""),
        ("Sheila's shelter", ""),
        ("WHAT DID HE SAY ABOUT IT", "HE, IT".lower()),
        ("Is it fixed? Fix it!", "it, it"),
        ("the same error as last time", "the same, last time"),
        ("the other one, another one", "the other, another one"),
        ("Who was over there?", "there"),
        ("her or hers", "her, hers"),
        ("", ""),
        ("?!", ""),
    ],
)
def test_terms_are_read_from_left_to_right_the_longest_first(text: str, expected: str) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Was hat er dazu gesagt?", "er, dazu"),
        ("Wann bringt sie ihr Auto zurück?", "sie, ihr"),
        ("Ist es dort kalt?", "dort"),
        ("Warum ist er dorthin gezogen?", "er, dorthin"),
        ("Wie immer: das gleiche wie letztes Mal", "das gleiche, letztes mal"),
        ("Wo steht das Auto?", ""),
        ("¿Qué dijo él de eso?", "él, eso"),
        ("¿Dónde está el coche?", ""),
        ("¿Está allí su hermana?", "allí, su"),
        ("Él lo sabe, otra vez", "él, otra vez"),
        ("E\u0301l vive ahi\u0301", "él, ahí"),
        ("他怎么说那件事？", "他, 那件事"),
        ("他们在那里吗？", "他们, 那里"),
        ("其他人弹吉他吗？", ""),
        ("这个问题和上次一样的吗", "这个问题, 上次, 一样的"),
    ],
)
def test_german_spanish_and_chinese_have_terms_of_their_own(text: str, expected: str) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize("term", LANGUAGES)
def test_every_term_is_found_alone_and_leaves_no_other_word(term: str) -> None:
    reading = read(term)
    assert (reading.terms, reading.others) == ((term,), ())
    assert read(f"xyz {term} xyz").others == ("xyz", "xyz")


@given(st.lists(st.sampled_from([*LANGUAGES, *IDIOMS, "Bob", "IT", "x"])).map(" ".join))
def test_a_text_in_ascii_is_read_as_with_all_the_terms(text: str) -> None:
    plain = "".join(char for char in text if char.isascii())
    reading = read(f"{plain} \u3002")  # a mark that is no word, and not ASCII
    assert read(plain) == reading


@given(st.text())
def test_any_text_is_read_and_no_word_is_lost(text: str) -> None:
    reading = read(text)
    found = [word for term in reading.terms for word in phrase(term)]
    assert sorted([*found, *reading.others]) == sorted(words(text))

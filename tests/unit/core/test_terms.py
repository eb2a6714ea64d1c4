"""Goal: a search finds a text however it is written, by terms (M0.18 to M0.21) and spellings (M12.17)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, read_cell, rows
from tests.spec_tables import words as listed
from umi_core.characters import LATER
from umi_core.language.tables import DENSE_SCRIPTS, FLAG_HALVES, FOLDED_CHARACTERS, SELECTORS
from umi_core.language.terms import classify, list_spellings, split_query, split_terms, stem_term
from umi_core.policies.term_scores import score_rows

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
CODE_POINTS = tuple(map(chr, range(0x20000)))


@pytest.mark.parametrize("row", rows("memory", "search_terms"), ids=lambda row: row["text"])
def test_terms_are_those_of_the_table(row: Row) -> None:
    assert split_terms(read_cell(row["text"])) == tuple(read_cell(row["terms"]).split())
    assert split_query(read_cell(row["text"])) == tuple(read_cell(row["of a query"]).split())


@pytest.mark.parametrize("row", rows("memory", "stems"), ids=lambda row: row["word"])
def test_the_library_stems_as_it_did_when_runs_were_recorded(row: Row) -> None:
    assert stem_term(read_cell(row["word"])) == read_cell(row["stem"])


def test_words_that_differ_in_a_vowel_sign_are_two_terms() -> None:
    assert split_terms("दिल") != split_terms("दल")


def test_only_words_in_plain_letters_are_stemmed() -> None:
    assert [stem_term(it) for it in ("abc123s", "łodzies", "running")] == ["abc123s", "łodzies", "run"]


def test_the_tables_are_those_of_the_specification() -> None:
    assert listed("memory", "folded_characters") == [f"{key}={it}" for key, it in FOLDED_CHARACTERS.items()]
    for name, ranges in (
        ("dense_scripts", DENSE_SCRIPTS), ("flag_halves", FLAG_HALVES), ("selectors", SELECTORS),
    ):  # fmt: skip
        assert listed("memory", name) == [f"{first:04X}-{last:04X}" for first, last in ranges]


FOUND = [  # texts, a query, and the text that it finds
    (("कमल को चाय पसंद है", "वह दिल्ली में रहती है"), "दिल्ली", 1),
    (("தமிழ் பேசுகிறார்", "சென்னையில் வாழ்கிறார்"), "தமிழ்", 0),
    (("ຂ້ອຍມັກຊາຂຽວ", "ລາວຢູ່ວຽງຈັນ"), "ວຽງຈັນ", 1),
    (("ខ្ញុំចូលចិត្តតែ", "គាត់រស់នៅភ្នំពេញ"), "ភ្នំពេញ", 1),
    (("შოთა სვამს ჩაის", "ნინო ცხოვრობს თბილისში"), "თბილისში", 1),
    (("Ο Γιάννης πίνει τσάι", "Η Άννα ζει στην Αθήνα"), "ΑΘΗΝΑ", 1),
    (("Ёлка стоит в углу", "Чай стоит на столе"), "елка", 0),
    (("Thị trấn Đà Lạt", "Hà Nội"), "Da Lat", 0),
    (("Die Maße sind groß", "Tee"), "MASSE", 0),
    (("ﾃﾚﾋﾞを見る", "本を読む"), "テレビ", 0),
    (("می‌خواهم چای", "قهوه"), "میخواهم", 0),
    (("كتــاب جديد", "قلم"), "كتاب", 0),
    (("soft\u00adware is hard", "tea"), "software", 0),
    (("Dad 👨‍👩‍👧 waves", "Mum 👍🏽 nods"), "👍", 1),
    (("from 🇫🇷🇯🇵 home", "from 🇯🇵🇫🇷 out"), "🇫🇷🇯🇵", None),
    (("❤️ tea", "❤ and cake"), "❤", None),
    (("she adopted two cats", "a dog"), "adopting cats", 0),
    (("𝐛𝐨𝐥𝐝 move", "tea"), "bold", 0),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "query", "best"), FOUND, ids=[it[1] for it in FOUND])
def test_a_query_finds_the_text_in_any_script_and_form(
    texts: tuple[str, ...], query: str, best: int | None
) -> None:
    scores = score_rows(query, [("", text) for text in texts])
    if best is None:
        assert all(scores)
    else:
        assert scores[best] > 0
        assert not any(score for at, score in enumerate(scores) if at != best)


@given(TEXTS)
def test_a_text_has_each_term_that_it_would_ask_for(text: str) -> None:
    assert {*split_query(text)} <= {*split_terms(text)}
    assert all(split_terms(text))
    assert len({*split_query(text)}) == len(split_query(text))


@pytest.mark.uncounted
@given(st.text(st.characters(max_codepoint=127)))
def test_plain_letters_take_no_other_way_than_the_rest(text: str) -> None:
    assert split_terms(text) == split_terms(text + "\ud800")


@given(TEXTS, TEXTS)
def test_a_line_adds_its_own_terms_and_changes_no_others(one: str, other: str) -> None:
    assert split_terms(f"{one}\n{other}") == split_terms(one) + split_terms(other)


def test_what_unicode_14_does_not_know_is_a_term_on_every_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unicodedata, "category", lambda char: "Lo")
    classify.cache_clear()
    later = [chr(edge) for pair in LATER for edge in pair]
    assert {classify(char) for char in later} == {"s"}
    classify.cache_clear()


@pytest.mark.uncounted
def test_each_code_point_is_of_one_class() -> None:
    assert {classify(char) for char in CODE_POINTS} == {*"wdmfs' "}


@pytest.mark.parametrize("row", rows("memory", "spellings"), ids=lambda row: row["query"])
def test_the_other_spellings_of_a_query_stand_behind_it(row: Row) -> None:
    query, others = read_cell(row["query"]), read_cell(row["other spellings"])
    assert list_spellings(query, 100) == ((f"{query} {others}",) if others else ())


def test_a_query_that_other_spellings_make_too_long_has_none() -> None:
    assert list_spellings("co-op", 10) == ("co-op coop",)
    assert list_spellings("co-op", 9) == ()

"""Goal: what an answer passes over is found out, in any language, and courtesies are not (M10.17, M10.18)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, read_cell, rows, words
from umi_core.config import Config
from umi_core.language.extraction import Extraction, find_uncovered, parse_extraction, telling
from umi_core.language.sentences import sentences
from umi_core.language.tables import FULL_STOPS, IDLE

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(". \n?!。I"), max_size=60)


@pytest.mark.parametrize("row", rows("memory", "told_sentences"), ids=lambda row: row["text"])
def test_sentences_are_those_of_the_table(row: Row) -> None:
    assert list(sentences(read_cell(row["text"]))) == read_cell(row["sentences"])


@pytest.mark.parametrize("row", rows("memory", "passed_over"), ids=lambda row: row["text"])
def test_what_is_passed_over_is_as_the_table_says(row: Row) -> None:
    assert list(find_uncovered(read_cell(row["text"]), read_cell(row["told"]))) == read_cell(
        row["passed over"]
    )


def test_full_stops_are_those_of_the_list() -> None:
    assert words("memory", "full_stops") == list(FULL_STOPS)


PAIRS = {  # two sentences, and what a model states for each of them
    "en": ("I like tea.", "I am allergic to nuts.", "Ann likes tea", "Ann has a nut allergy"),
    "de": (
        "Ich mag Tee.",
        "Ich bin allergisch gegen Nüsse.",
        "Anna mag Tee",
        "Anna ist gegen Nüsse allergisch",
    ),
    "nl": ("Ik hou van thee.", "Ik ben allergisch voor noten.", "Anna houdt van thee", "Anna: notenallergie"),
    "sv": (
        "Jag gillar te.",
        "Jag är allergisk mot nötter.",
        "Anna gillar te",
        "Anna är allergisk mot nötter",
    ),
    "fr": (
        "J'aime le thé.",
        "Je suis allergique aux noix.",
        "Anne aime le thé",
        "Anne est allergique aux noix",
    ),
    "es": ("Me gusta el té.", "Soy alérgico al maní.", "A Ana le gusta el té", "Ana es alérgica al maní"),
    "it": ("Amo il tè.", "Sono allergica alle noci.", "Anna ama il tè", "Anna è allergica alle noci"),
    "pl": ("Lubię herbatę.", "Mam alergię na orzechy.", "Anna lubi herbatę", "Anna ma alergię na orzechy"),
    "ru": ("Я люблю чай.", "У меня аллергия на орехи.", "Анна любит чай", "У Анны аллергия на орехи"),
    "el": (
        "Μου αρέσει το τσάι.",
        "Έχω αλλεργία στα φιστίκια.",
        "Της αρέσει το τσάι",
        "Έχει αλλεργία στα φιστίκια",
    ),
    "tr": ("Çayı severim.", "Fıstığa alerjim var.", "Ali çay sever", "Ali'nin fıstığa alerjisi var"),
    "fi": (
        "Pidän teestä.",
        "Olen allerginen pähkinöille.",
        "Anna pitää teestä",
        "Anna on allerginen pähkinöille",
    ),
    "vi": ("Tôi thích trà.", "Tôi bị dị ứng với đậu phộng.", "An thích trà", "An bị dị ứng với đậu phộng"),
    "sw": ("Ninapenda chai.", "Nina mzio wa karanga.", "Anna anapenda chai", "Anna ana mzio wa karanga"),
    "ar": ("أنا أحب الشاي.", "لدي حساسية من الفول السوداني.", "سارة تحب الشاي", "سارة لديها حساسية من الفول"),
    "fa": (
        "من چای دوست دارم.",
        "من به بادام زمینی حساسیت دارم.",
        "سارا چای دوست دارد",
        "سارا به بادام حساسیت دارد",
    ),
    "ur": ("مجھے چائے پسند ہے۔", "مجھے مونگ پھلی سے الرجی ہے۔", "احمد کو چائے پسند ہے", "مونگ پھلی سے الرجی"),
    "he": ("אני אוהב תה.", "אני אלרגי לבוטנים.", "דנה אוהבת תה", "דנה אלרגית לבוטנים"),
    "hi": ("मुझे चाय पसंद है।", "मुझे मूंगफली से एलर्जी है।", "राम को चाय पसंद है", "राम को मूंगफली से एलर्जी है"),
    "bn": ("আমি চা ভালোবাসি।", "আমার চিনাবাদামে অ্যালার্জি আছে।", "রহিম চা ভালোবাসে", "রহিমের চিনাবাদামে অ্যালার্জি"),
    "ta": ("எனக்கு தேநீர் பிடிக்கும்.", "எனக்கு வேர்க்கடலை ஒவ்வாமை உள்ளது.", "ராமுக்கு தேநீர் பிடிக்கும்", "வேர்க்கடலை ஒவ்வாமை"),
    "am": ("ቡና እወዳለሁ።", "ለኦቾሎኒ አለርጂ አለብኝ።", "አና ቡና እወዳለሁ አለች", "አና ለኦቾሎኒ አለርጂ አለባት"),
    "hy": (
        "Ես սիրում եմ թեյ։",
        "Ես ալերգիա ունեմ ընկույզից։",
        "Աննան սիրում է թեյ",
        "Աննան ալերգիա ունի ընկույզից",
    ),
    "ka": ("მე მიყვარს ჩაი.", "მე მაქვს ალერგია თხილზე.", "ანას უყვარს ჩაი", "ანას აქვს ალერგია თხილზე"),
    "zh": ("我喜欢绿茶。", "我对花生过敏。", "小明喜欢绿茶", "小明对花生过敏"),
    "ja": (
        "私は緑茶が好きです。",
        "私はピーナッツアレルギーです。",
        "田中さんは緑茶が好き",
        "ピーナッツアレルギーがある",
    ),
    "ko": (
        "나는 녹차를 좋아한다.",
        "나는 땅콩 알레르기가 있다.",
        "민수는 녹차를 좋아한다",
        "민수는 땅콩 알레르기가 있음",
    ),
    "km": ("ខ្ញុំចូលចិត្តតែ។", "ខ្ញុំមានអាឡែហ្ស៊ីនឹងសណ្តែកដី។", "សុខចូលចិត្តតែ", "សុខមានអាឡែហ្ស៊ីនឹងសណ្តែកដី"),
    "my": ("ကျွန်တော် လက်ဖက်ရည် ကြိုက်တယ်။", "ကျွန်တော် မြေပဲ နဲ့ မတည့်ဘူး။", "အောင် လက်ဖက်ရည် ကြိုက်တယ်", "မြေပဲ နဲ့ မတည့်ဘူး"),
    "emoji": ("I love 🍕.", "I love 🍄.", "Ann loves 🍕", "Ann loves 🍄"),
}


@pytest.mark.uncounted
@pytest.mark.parametrize("language", PAIRS)
@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_sentence_that_the_model_skips_is_kept_in_any_language(language: str, blank: str) -> None:
    first, second, *stated = PAIRS[language]
    text = first + (blank if first[-1] in FULL_STOPS else blank or " ") + second
    for both in ((first, second), stated):
        assert find_uncovered(text, [both[0]]) == (second,)
        assert find_uncovered(text, [both[1]]) == (first,)
        assert find_uncovered(text, both) == ()
    for listed in (first, stated[0]):
        entities = [{"name": "Zed", "type": "person", "content": listed, "confidence": 0.9}]
        found = parse_extraction(json.dumps({"entities": entities}), text, Config())
        assert isinstance(found, Extraction)
        assert [it.content for it in found.entities] == [listed, second]
        assert found.uncovered_count == 1


@pytest.mark.parametrize(("first", "second"), [("ฉันชอบชาเขียว", "ฉันแพ้ถั่วลิสง"), ("ຂ້ອຍມັກຊາ", "ຂ້ອຍແພ້ຖົ່ວດິນ")])
def test_a_clause_behind_a_blank_is_kept_where_no_stop_is_written(first: str, second: str) -> None:
    text = f"{first} {second}"
    assert find_uncovered(text, [first]) == find_uncovered(text, [second]) == (text,)
    assert find_uncovered(text, [first, second]) == ()


WORDS = st.sampled_from("i me tea like nuts 茶 我 喜欢 मुझे चाय ฉัน ชา أنا чай я mag ich 🍕 7".split())
SENTENCE = st.lists(WORDS, min_size=1, max_size=4).map(lambda some: f"{' '.join(some)}.")


@pytest.mark.uncounted
@given(st.lists(SENTENCE, min_size=1, max_size=5, unique_by=telling), st.data())
def test_words_of_other_sentences_cover_none(some: list[str], data: st.DataObject) -> None:
    listed = data.draw(st.lists(st.sampled_from(some), max_size=4))
    lost = find_uncovered("\n".join(some), listed)  # behind a blank "tea i. i." is one sentence
    for it in some:
        is_covered = any(is_part(telling(it), telling(other)) for other in listed)
        assert is_covered or not telling(it) or it in lost


def is_part(terms: tuple[str, ...], others: tuple[str, ...]) -> bool:
    rest = iter(others)
    return all(term in rest for term in terms)


def test_idle_words_are_those_of_the_lists() -> None:
    assert {*words("memory", "idle_words"), *words("memory", "name_pronouns")} == IDLE


@given(TEXTS)
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_each_sentence_states_nothing_or_is_covered_or_is_passed_over(text: str, kept: list[str]) -> None:
    all_texts = (*kept, *find_uncovered(text, kept))
    assert find_uncovered(text, all_texts) == ()
    assert find_uncovered(text, (text,)) == ()
    assert all(telling(sentence) for sentence in find_uncovered(text, kept))

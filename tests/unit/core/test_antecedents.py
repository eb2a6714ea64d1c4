"""Goal: a rewrite puts in place of a reference only what it may stand for, as words and turns show it."""

import json

import pytest

from umi_core.language.rewriting import judge_rewrite, shown_turns
from umi_core.values import Turn

TALK = (
    "My sister Helen met Deepak and a woman from Osaka called Zyxo at Nordwind.",
    "Her boss, a Mr Dunne, lives in Leith. The server is down since Friday, Zofka says.",
)
GERMAN = (
    "Der Lehrer hat in der Stadt einen Hund gesehen, Tom und Nicole auch.",
    "Die Lehrerin wohnt bei Krüger.",
)
FRENCH = ("Mon oncle Bernard a une ferme et un camion.", "Il va souvent à Lyon, au Mercure.")
SPANISH = ("Vimos un coche y una casa el martes.",)
CHINESE = ("张伟和小雨在公司养了一只小狗",)


def reason(talk: tuple[str, ...], query: str, rewrite: str) -> str:
    turns = shown_turns(tuple(Turn("user", text) for text in talk))
    return judge_rewrite(rewrite, query, turns, 500_000).reason


@pytest.mark.parametrize(
    ("talk", "query", "rewrite", "is_taken"),
    [
        (TALK, "Is he nice?", "Is Mr Dunne nice?", True),
        (TALK, "Is he nice?", "Is Deepak nice?", True),  # a name of the list
        (TALK, "Is he nice?", "Is Helen nice?", False),  # behind `sister`
        (TALK, "Is he nice?", "Is the server nice?", False),
        (TALK, "Is he nice?", "Is Friday nice?", False),
        (TALK, "Is he nice?", "Is Leith nice?", False),  # behind `in`
        (TALK, "Is he nice?", "Is Nordwind nice?", False),  # behind `at`
        (TALK, "Is she nice?", "Is Zyxo nice?", True),  # `a woman called Zyxo`
        (TALK, "Is he nice?", "Is Zyxo nice?", False),
        (TALK, "Is it nice?", "Is the server nice?", True),
        (TALK, "Is it nice?", "Is Nordwind nice?", True),
        (TALK, "Is it nice?", "Is Deepak nice?", False),
        (TALK, "Is it nice there?", "Is it nice in Leith?", True),
        (TALK, "Is it nice there?", "Is it nice in Helen?", False),
        (TALK, "Are they nice?", "Are Helen and Deepak nice?", True),  # several, as there are two
        (TALK, "Are they nice?", "Are the server nice?", False),
        (TALK, "Is the boss nice?", "Is Mr Dunne nice?", True),
        (TALK, "Is the boss nice?", "Is Deepak nice?", False),  # too far from `boss`
        (TALK, "Is the server nice?", "Is Helen nice?", False),
        (TALK, "Why?", "Is Helen nice?", False),
        (GERMAN, "Was macht er?", "Was macht der Lehrer?", True),
        (GERMAN, "Was macht er?", "Was macht der Hund?", True),
        (GERMAN, "Was macht er?", "Was macht die Stadt?", False),
        (GERMAN, "Was sagt sie?", "Was sagt die Lehrerin?", True),
        (GERMAN, "Was sagt sie?", "Was sagt die Stadt?", False),  # things say nothing
        (GERMAN, "Was machen sie?", "Was machen Tom und Nicole?", True),
        (GERMAN, "Wie ist es dort?", "Wie ist es in der Stadt?", True),
        (GERMAN, "Wie ist es dort?", "Wie ist es in Nicole?", False),
        (FRENCH, "Comment est-il ?", "Comment est Bernard ?", True),
        (FRENCH, "Comment est-il ?", "Comment est le Mercure ?", True),
        (FRENCH, "Comment est-elle ?", "Comment est la ferme ?", True),
        (FRENCH, "Comment est-elle ?", "Comment est le camion ?", False),
        (FRENCH, "Pourquoi y va Ann ?", "Pourquoi va Ann à Lyon ?", True),
        (FRENCH, "Combien en a Ann ?", "Combien a Ann de fermes ?", False),
        (FRENCH, "Combien j'en ai ?", "Combien j'ai de fermes ?", True),
        (FRENCH, "Il la vend ?", "Bernard vend la ferme ?", True),
        (SPANISH, "¿Tienes otro para Ann?", "¿Tienes otro coche para Ann?", True),
        (SPANISH, "¿Tienes otro?", "¿Tienes otro martes?", False),
        (SPANISH, "¿Cuándo la compró Ann?", "¿Cuándo compró Ann la casa?", True),
        (SPANISH, "¿Cuándo la compró Ann?", "¿Cuándo compró Ann el coche?", False),
        (CHINESE, "她好吗？", "小雨好吗？", True),
        (CHINESE, "他好吗？", "小雨好吗？", False),
        (CHINESE, "他们好吗？", "张伟和小雨好吗？", True),
        (CHINESE, "它好吗？", "小狗好吗？", True),
        (CHINESE, "它好吗？", "张伟好吗？", False),
        (CHINESE, "它好吗？", "公司好吗？", True),
        (CHINESE, "他好吗？", "公司好吗？", False),
    ],
)
def test_a_rewrite_is_taken_if_its_words_fit(
    talk: tuple[str, ...], query: str, rewrite: str, is_taken: bool
) -> None:
    assert (reason(talk, query, rewrite) == "") == is_taken


RIVALS = (
    "Tom is strict, and we bought a lamp from the shop. Her brother sold two flats.",
    "The agent was late. The choir sings the Requiem.",
)
GERMAN_RIVALS = ("Der Hund schläft. Jonas hat den Laptop.", "Miriam kennt Funke, sie kam mit Nowak.")
SPANISH_RIVALS = ("El perro ladra. Lola tiene el coche.", "Ramón duerme en la finca.")
FRENCH_RIVALS = ("Mon oncle Bernard a une Clio et un vélo.", "L'Ibis ou le Mercure ? Demande à Nadia.")


@pytest.mark.parametrize(
    ("talk", "query", "rewrite", "is_taken"),
    [
        (RIVALS, "Is he strict?", "Is Tom strict?", True),
        (RIVALS, "Is he strict?", "Is the brother strict?", False),  # Tom is said to be
        (RIVALS, "Is he strict too?", "Is the brother strict too?", True),
        (RIVALS, "How old is it?", "How old is the lamp?", True),
        (RIVALS, "How old is it?", "How old is the shop?", False),  # behind `from`
        (RIVALS, "Which one is cheaper?", "Which flat is cheaper?", True),
        (RIVALS, "Which one is cheaper?", "Which agent is cheaper?", False),
        (RIVALS, "When do they sing it?", "When does the choir sing the Requiem?", True),
        (RIVALS, "When do they sing it?", "When does the Requiem sing the choir?", False),
        (GERMAN_RIVALS, "Wo ist er?", "Wo ist der Hund?", True),
        (GERMAN_RIVALS, "Wo ist sie?", "Wo ist der Hund?", False),
        (GERMAN_RIVALS, "Wer ist ihr Bruder?", "Wer ist Miriams Bruder?", True),
        (GERMAN_RIVALS, "Wer ist ihr Bruder?", "Wer ist der Bruder vom Laptop?", False),
        (GERMAN_RIVALS, "Wann hat Ute ihn gekauft?", "Wann hat Ute den Laptop gekauft?", True),
        (GERMAN_RIVALS, "Wann hat Ute ihn gekauft?", "Wann hat Ute Jonas gekauft?", False),
        (SPANISH_RIVALS, "¿Por qué ladra?", "¿Por qué ladra el perro?", True),
        (SPANISH_RIVALS, "¿Por qué ladra?", "¿Por qué ladra Ramón?", False),
        (SPANISH_RIVALS, "¿Cuánto va a costar?", "¿Cuánto va a costar el coche?", True),
        (SPANISH_RIVALS, "¿Cuánto va a costar?", "¿Cuánto va a costar Lola?", False),
        (FRENCH_RIVALS, "Quand l'ai-je achetée ?", "Quand ai-je acheté la Clio ?", True),
        (FRENCH_RIVALS, "Quand l'ai-je achetée ?", "Quand ai-je acheté le vélo ?", False),
        (FRENCH_RIVALS, "L'autre a un parking ?", "Le Mercure a un parking ?", True),
        (FRENCH_RIVALS, "L'autre a un parking ?", "Nadia a un parking ?", False),
        (("刘医生来了，我妈也来了。",), "医生怎么说？", "刘医生怎么说？", True),
        (("刘医生来了，我妈也来了。",), "医生怎么说？", "我妈怎么说？", False),
        (("司机把手机给了李娜。",), "她在哪里？", "李娜在哪里？", True),
        (("司机把手机给了李娜。",), "她在哪里？", "司机在哪里？", False),  # a woman is known
        (("他们订了民宿，张伟和丽丽去。",), "他们坐什么去？", "民宿坐什么去？", False),
    ],
)
def test_what_the_turns_rather_mean_is_preferred(
    talk: tuple[str, ...], query: str, rewrite: str, is_taken: bool
) -> None:
    assert (reason(talk, query, rewrite) == "") == is_taken


def test_a_thing_behind_a_preposition_gives_way() -> None:
    assert reason(RIVALS, "How old is it?", "How old is the shop?") == "misfit"


def test_the_person_in_a_turn_is_preferred() -> None:
    assert reason(RIVALS, "Is he strict?", "Is the brother strict?") == "misfit"


def test_a_woman_is_not_what_he_stands_for() -> None:
    assert reason(TALK, "Is he nice?", "Is Helen nice?") == "misfit"


def test_a_name_of_which_nothing_is_known_gives_way_to_one_that_fits() -> None:
    unknown = ("Krzyk met Vlk.",)
    assert reason(unknown, "Is he nice?", "Is Vlk nice?") == ""
    assert reason((*unknown, "Tom was there."), "Is he nice?", "Is Vlk nice?") == "misfit"
    assert reason((*unknown, "Anna was there."), "Is he nice?", "Is Vlk nice?") == ""
    # A thing, as its article shows.
    assert reason(("A Vlk is here.",), "Is he nice?", "Is the Vlk nice?") == "misfit"


def test_a_choice_is_no_person_and_a_name_behind_its_noun_is_of_its_kind() -> None:
    assert reason(("We tried the pizza of Sergio.",), "Is the same open?", "Is Sergio open?") == "misfit"
    husband = ("我丈夫汪涵在北京。",)
    assert reason(husband, "他在哪儿？", "汪涵在哪儿？") == ""
    assert reason(husband, "她在哪儿？", "汪涵在哪儿？") == "misfit"


def test_what_a_model_names_must_fit_though_the_rewrite_does() -> None:
    talk = ("We looked at two flats, one in Leith.", "The Leith one has no parking.")
    reply = {
        "query": "Is the Leith flat far away?",
        "references": [{"reference": "it", "means": "Leith", "turn": 1}],
    }
    assert reason(talk, "Is it far away?", json.dumps(reply)) == "misfit"

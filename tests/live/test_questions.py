"""Goal: without a model a question finds its answer also where it says the same in other words."""

import asyncio

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_live import open_memory
from umi_live.questions import drop_small_words, list_wordings


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("I work as a baker.", "What is my job?"),
        ("I have a cat.", "Do I have a pet?"),
        ("I am allergic to nuts.", "my allergies"),
        ("I am vegetarian.", "Do I eat meat?"),
        ("My brother Tom sails.", "Do I have siblings?"),
        ("I moved to Porto.", "What is my address?"),
        ("My mail is ann@example.org.", "What is my email?"),
        ("We meet at Gate 77.", "When is Gate77 open?"),
        ("Ich wohne in Köln.", "Wo lebe ich?"),
        ("Ich bin gegen Fisch allergisch.", "Meine Allergien?"),
        ("Ich habe einen Hund.", "Habe ich ein Haustier?"),
        ("J'habite à Lyon.", "Où est-ce que j'habite ?"),
        ("Tengo una gata.", "¿Tengo mascota?"),
        ("Mi chiamo Ugo.", "Qual è il mio nome?"),
    ],
)
def test_the_answer_is_found_and_first(statement: str, question: str) -> None:
    others = (
        "Bob has a red car.",
        "Der Zug kam am 9. Juni.",
        "Le train est en retard.",
        "El tren llega tarde.",
    )

    async def use() -> str:
        async with open_memory(":memory:", user="ann", agent="a") as memory:
            for text in (*others, statement):
                await memory.remember(text)
            hits = await memory.recall(question)
            return hits[0].content if hits else ""

    assert asyncio.run(use()) == statement


@pytest.mark.parametrize(
    ("statement", "other", "question"),
    [
        (
            "My wife is called Laura and she is a nurse.",
            "We have a dog named Biscuit.",
            "What is my wife's name?",
        ),
        ("My sister lives in Oslo.", "I lived in Porto before moving.", "Where does my sister live?"),
    ],
)
def test_another_fact_with_words_of_the_question_comes_behind(
    statement: str, other: str, question: str
) -> None:
    async def use() -> list[str]:
        async with open_memory(":memory:", user="ann", agent="a") as memory:
            for text in (other, statement):
                await memory.remember(text)
            return [hit.content for hit in await memory.recall(question)]

    assert asyncio.run(use()) == [statement, other]


@pytest.mark.parametrize(
    ("question", "remaining"),
    [
        ("Où est-ce que j'habite ?", "habite"),
        ("Wo wohne ich?", "wohne"),
        ("¿Dónde vivo?", "vivo"),
        ("Where do I live?", ""),  # the memory leaves English ones out itself
        ("Tulpen Rosen", ""),
        ("Was ist das?", ""),
    ],
)
def test_a_question_without_its_small_words(question: str, remaining: str) -> None:
    assert drop_small_words(question) == remaining


def test_a_question_for_one_thing_is_not_asked_for_another() -> None:
    assert [*list_wordings("Do I have a dog?")] == []
    assert [*list_wordings("Where do I live?")] == ["moved relocated"]

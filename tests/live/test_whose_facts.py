"""Goal: the first answer to a question is about the person whom it asks about, the user or another."""

import asyncio

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from tests.live.peoples_statements import TALKS, PeoplesTalk
from umi_live import open_memory


@pytest.mark.parametrize("user", ["ann", "me", "Max Frei"])  # the length of a name changes scores
@pytest.mark.parametrize("talk", TALKS, ids=lambda it: f"{it.language}: {it.statements[0]}")
def test_the_first_hit_is_about_the_person_in_the_question(talk: PeoplesTalk, user: str) -> None:
    async def use() -> dict[str, str]:
        async with open_memory(":memory:", user=user, agent="a") as memory:
            for statement in talk.statements:
                await memory.remember(statement)
            found = {question: await memory.recall(question) for question in talk.answers}
            return {question: hits[0].content if hits else "" for question, hits in found.items()}

    first = asyncio.run(use())
    assert {question: it for question, it in first.items() if talk.answers[question] not in it} == {}


def test_the_questions_are_many_and_half_of_them_are_about_others() -> None:
    questions = [question for talk in TALKS for question in talk.answers]
    assert len(questions) == 80


def test_a_question_of_another_speaker_is_about_that_one() -> None:
    async def use() -> list[str]:
        async with open_memory(":memory:", user="ann", agent="a") as memory:
            await memory.remember("I live in Rome.")
            await memory.remember("I live in Oslo.", speaker="Bob")
            asked = [await memory.recall("Where do I live?", speaker=it) for it in (None, "Bob", "bob")]
            return [hits[0].content for hits in asked]

    assert asyncio.run(use()) == ["I live in Rome.", "I live in Oslo.", "I live in Oslo."]

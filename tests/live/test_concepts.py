"""Goal: without a model, a question finds a statement that answers it without one of its words."""

import time

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_live import open_blocking
from umi_live.concepts import concepts_of

OTHERS = ("I like tea.", "I have a cat.", "I'm tired.", "My sister Kim is a dentist.", "We spoke of rain.")


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("I'm Priya.", "What's my name?"),
        ("hi im priya", "whats my name"),
        ("You can call me Liz.", "Do you know my name?"),
        ("I started as a nurse at Mercy General.", "Where do I work?"),
        ("I started as a nurse at Mercy General.", "What do I do?"),
        ("im a plumber lol", "What do I do for a living?"),
        ("i was promoted to team lead", "What is my job?"),
        ("im a vet tech at banfield", "Where do I work?"),
        ("im a vet tech at banfield", "What do I do for a living?"),
        ("I got a job at Netflix.", "Who do I work for?"),
        ("I'm 29.", "How old am I?"),
        ("I moved to Porto.", "Which city do I live in?"),
        ("I grew up in Cork.", "Where did I grow up?"),
        ("I have a nut allergy.", "Am I allergic to anything?"),
        ("cant eat shellfish btw", "What am I allergic to?"),
    ],
)
def test_the_answer_is_found_and_first(statement: str, question: str) -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        for text in (*OTHERS, statement):
            memory.remember(text)
        assert memory.recall(question)[0].content == statement


@pytest.mark.parametrize(
    ("text", "concepts"),
    [
        ("What's my dog's name?", ""),
        ("Where does my sister live?", ""),
        ("What do I do on Mondays?", ""),
        ("Kim\nMy sister Kim is a dentist at Acme.", ""),
        ("Ann\nI'm French.", ""),
        ("Ann\nI live in hope.", ""),
        ("Ann\nI'm 29 minutes late.", ""),
        ("Ann\nI'm a regular at Joe's.", ""),
        ("Bob, Acme\nBob works as a baker at Acme.", "job employer"),
        ("What does Bob do?", "job employer"),
    ],
)
def test_only_what_is_told_or_asked_is_a_concept(text: str, concepts: str) -> None:
    assert " ".join(concepts_of(text)) == concepts


@pytest.mark.parametrize("part", ["what do ", "where do a ", "works a ", "moved a ", "am a ", "my a ", "1"])
def test_no_text_takes_long(part: str) -> None:
    started = time.process_time()
    for begin in ("", "ann\n", "ann\nI am "):
        concepts_of(begin + part * (10_000 // len(part)))
    assert time.process_time() - started < 5

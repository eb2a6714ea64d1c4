"""Goal: what users say of themselves is about them, through every door, and words of others are not."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from tests.live.own_statements import OTHERS, ROWS, OwnStatements
from umi_core.kelpie.requests import AddArchival
from umi_core.language.prompts import ask_extract, ask_memories
from umi_core.messages.requests import Recall, Remember
from umi_core.rows import fact_of
from umi_core.values import CATEGORIES
from umi_live import LiveMemory, first_person, open_memory
from umi_live.first_person import name_speaker, name_user, tell_user
from umi_live.local import RuleModel, inputs_of

# What the rules get wrong, with the reason; all others they must get right.
WRONG = {
    "I work for a bank called Santander.": "a name that stands behind its noun is no workplace",
}


def chat(*texts: str) -> str:
    exchanges = [
        ({"role": "user", "content": text}, {"role": "assistant", "content": "I see."}) for text in texts
    ]
    return json.dumps([message for pair in exchanges for message in pair])


async def tell(memory: LiveMemory, texts: Sequence[str]) -> tuple[str, ...]:
    """Remember each text; return the ids of what the last one has ended."""
    ended: tuple[str, ...] = ()
    for text in texts:
        ended = (await memory.remember(text)).value.ended
    return ended


async def import_texts(memory: LiveMemory, texts: Sequence[str]) -> tuple[str, ...]:
    """Tell the same rows in two conversations, the last text of each in the second one."""
    await memory.memorize(chat(*texts[:-1]), modality="conversation", uri="1")
    return (await memory.memorize(chat(texts[-1]), modality="conversation", uri="2")).value.ended


# Each row as texts of its own, and some of every language as two conversations: what reads them is the same.
TOLD = (*((tell, row) for row in ROWS), *((import_texts, row) for row in ROWS[::4]))


@pytest.mark.parametrize(("tell_all", "row"), TOLD, ids=lambda it: getattr(it, "earlier", ""))
def test_a_later_statement_takes_the_place_of_an_earlier_one_and_is_found(
    tell_all: Callable[..., Any], row: OwnStatements
) -> None:
    async def use() -> tuple[list[str], str]:
        async with open_memory(":memory:", user="me", agent="a") as memory:
            gone = await tell_all(memory, [*OTHERS[row.language], row.earlier, row.later])
            facts = [fact_of(await memory.entity(key)) for key in gone]
            hits = await memory.recall(row.question)
            return [it.content for it in facts if it], hits[0].content if hits else ""

    ended, best = asyncio.run(use())
    is_right = len(ended) == row.is_ended and row.answer in best
    assert is_right is (row.earlier not in WRONG), (ended, best)
    assert all(it in row.earlier for it in ended)  # a claim of it, if it has two


def test_the_labels_are_of_five_languages_and_no_mistake_is_named_twice() -> None:
    assert len({row.language for row in ROWS}) == len({row.language for row in ROWS[::4]}) == 5
    assert set(WRONG) <= {row.earlier for row in ROWS}
    assert len(ROWS) == 100


# Names.


@pytest.mark.parametrize(
    ("user", "name"),
    [("ann", "ann"), (" Ann  B ", "Ann B"), ("u-17", "u-17"), ("me", "user"), ("I", "user"), ("a\0b", "user"),
     ("x" * 300, "user")],
)  # fmt: skip
def test_a_user_is_called_by_the_id_if_that_can_be_a_name(user: str, name: str) -> None:
    assert name_user(user) == name


@pytest.mark.parametrize(
    ("text", "speaker"),
    [
        ("I live in Porto.", "ann"),
        ("Note: I live in Porto.", "ann"),
        ("Update: I moved.\nI like it.", "ann"),
        ("Bob: I live in Porto.", None),
        ("user: I live in Porto.\nassistant: I see.", None),
        ("assistant: I live in the cloud.", None),
        ("Sue: Hi!\nBob: I live in Porto.", None),
    ],
)
def test_a_text_is_by_the_user_unless_its_lines_have_speakers(text: str, speaker: str | None) -> None:
    assert name_speaker(Remember(1, text), "ann") == Remember(1, text, speaker=speaker)
    request = AddArchival(1, text, extract=True)
    assert name_speaker(request, "ann") == AddArchival(1, text, extract=True, speaker=speaker)


def test_a_speaker_who_is_named_stays_and_questions_are_of_the_user() -> None:
    for request in (Remember(1, "I nap.", speaker="Bob"), Recall(1, "Do I nap?", speaker="Bob")):
        assert name_speaker(request, "ann") == request
    assert name_speaker(Recall(1, "Do I nap?"), "me") == Recall(1, "Do I nap?", speaker="user")
    no_text: Any = 7  # which the memory refuses
    assert name_speaker(Remember(1, no_text), "ann") == Remember(1, no_text, speaker="ann")


# Doors.


def names_of(texts: Sequence[str], user: str = "ann") -> dict[str, list[str]]:
    async def use() -> dict[str, list[str]]:
        async with open_memory(":memory:", user=user, agent="a") as memory:
            await tell(memory, texts)
            return {it.content: it.names.split(", ") if it.about else [] async for it in memory.entities()}

    return asyncio.run(use())


def test_a_user_who_gives_a_name_stays_the_user() -> None:
    found = names_of(["My name is Ben. I live in Porto.", "What should I cook?", "Ben: I fish."], "u1")
    assert found == {
        "My name is Ben.": ["u1", "Ben"],
        "I live in Porto.": ["u1", "Porto"],
        "What should I cook?": [],  # states nothing
        "Ben: I fish.": [],
    }


def test_an_assistant_that_gives_its_name_is_not_the_user() -> None:
    found = names_of(["My name is Umi and I help with memory management."])
    assert found == {"My name is Umi and I help with memory management.": ["Umi"]}


def test_only_messages_of_the_user_are_about_the_user() -> None:
    messages = [
        {"role": "user", "content": "I live in Porto."},
        {"role": "assistant", "content": "I work at Globex."},
        {"role": "user", "name": "Bob", "content": "I live in Oslo."},
        {"role": "tool", "content": "I moved to Rome."},
    ]

    async def use() -> tuple[list[str], list[str], int]:
        async with open_memory(":memory:", user="ann", agent="a") as memory:
            await memory.memorize(json.dumps(messages), modality="conversation")
            await memory.memorize("I moved to Lisbon. My dog is called Rex.")  # a document has its own author
            own, bobs = [[it.content for it in await memory.facts(name)] for name in ("me", "Bob")]
            return own, bobs, await memory.count()

    assert asyncio.run(use()) == (["I live in Porto."], ["I live in Oslo."], 4)


@pytest.mark.parametrize(
    "greeting",
    ["Danke und tschüss!", "Buongiorno, come stai?", "Merci beaucoup !", "¡Buenas tardes!", "Great."],
)
def test_a_greeting_in_a_conversation_is_no_fact(greeting: str) -> None:
    async def use() -> list[str]:
        async with open_memory(":memory:", user="ann", agent="a") as memory:
            await memory.memorize(chat(greeting, "I like tea."), modality="conversation")
            return [it.content async for it in memory.entities()]

    assert asyncio.run(use()) == ["I like tea."]


@pytest.mark.parametrize(
    "text",
    ["Soy milk is healthy.", "Como is a lovely lake.", "Nous Research is a lab.", "Ma wants a dog.",
     "Studio apartments are small.", "Uma lives in Rome.", "The Mon river is long."],
)  # fmt: skip
def test_english_words_are_no_words_of_other_languages(text: str) -> None:
    assert "ann" not in names_of([text])[text]


def test_italian_names_are_no_italian_words() -> None:
    assert names_of(["Soy alérgica al marisco."]) == {"Soy alérgica al marisco.": ["ann"]}
    assert names_of(["Mia moved to Porto."]) == {"Mia moved to Porto.": ["Mia", "Porto"]}
    assert names_of(["Mia sorella vive a Roma."]) == {"Mia sorella vive a Roma.": ["ann"]}


def test_what_an_older_release_kept_without_a_name_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(text: str) -> list[tuple[str, str]]:
        async with open_memory(tmp_path / "a.db", user="me", agent="a") as memory:
            await memory.remember(text)
            return [(it.name, it.content) for it in await memory.recall("What are my dogs called?")]

    with monkeypatch.context() as older:
        older.setattr("umi_live.memory.name_speaker", lambda request, user: request)
        assert asyncio.run(use("My dogs are called Rex and Bo.")) == [("My dogs are called Rex and Bo.",) * 2]
    found = asyncio.run(use("My dogs are called Rex, Bo and Kim."))
    assert sorted(found) == [
        ("My dogs are called Rex and Bo.",) * 2,
        ("user", "My dogs are called Rex, Bo and Kim."),
    ]


# A model.


def test_a_prompt_names_the_user_of_a_conversation() -> None:
    text = "[0] 2024-03-09T16:00Z [user]: I nap.\n[1] [assistant]: I do not."
    asked = ask_memories("profile", text, tuple(CATEGORIES.items()))
    prompt = tell_user("memories", asked, "ann")
    assert inputs_of(prompt) == {**inputs_of(asked), "user": "ann"}
    assert (
        prompt.replace(f"\n\n{first_person.USER_RULES['memories']}", "").removesuffix('\nINPUT user = "ann"')
        == asked
    )


@pytest.mark.parametrize(
    "text", ["I nap.", "[0] [assistant]: I nap.", "[0] [Ann]: the [user]: says", "[user] nap"]
)
def test_no_other_question_names_the_user(text: str) -> None:
    asked = ask_memories("profile", text, tuple(CATEGORIES.items()))
    assert tell_user("memories", asked, "ann") == asked
    for quoted in ("[0] [user]: I nap.", "Many users nap.", "The user. Naps."):
        assert tell_user("extract", ask_extract(quoted), "ann") == ask_extract(quoted)


def test_what_an_agent_writes_of_the_user_is_about_the_user() -> None:
    found = names_of(
        ["The user lives in Porto.", "User's dog is called Rex.", "The user interface of Umi is nice."]
    )
    assert found == {
        "The user lives in Porto.": ["ann", "Porto"],
        "User's dog is called Rex.": ["ann"],
        "The user interface of Umi is nice.": [],
    }
    assert list(names_of(["I live in Porto.", "The user moved to Lisbon."])) == ["The user moved to Lisbon."]
    assert list(names_of(["The user is single.", "I got married."])) == ["I got married."]


def test_a_prompt_names_the_person_that_a_text_calls_the_user() -> None:
    asked = ask_extract("The user naps.", "ann")
    assert inputs_of(tell_user("extract", asked, "ann")) == {**inputs_of(asked), "user": "ann"}
    assert first_person.USER_RULES["extract"] in tell_user("extract", asked, "ann")


class ListeningModel(RuleModel):
    """Keeps what it is asked, and waits before it answers."""

    ask_at_once = None  # type: ignore[assignment]  # so that the memory awaits `ask`

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        self.asked.append((task, inputs_of(prompt)))
        return RuleModel.ask_at_once(RuleModel(), task, prompt)


def test_a_prompt_of_a_custom_model_names_the_user() -> None:
    async def use() -> ListeningModel:
        model = ListeningModel()
        async with open_memory(":memory:", user="ann", agent="a", model=model) as memory:
            await memory.remember("I live in Porto.")
            await memory.memorize(chat("I nap."), modality="conversation")
        return model

    asked = asyncio.run(use()).asked
    assert [it.get("speaker") for task, it in asked if task == "extract"] == ["ann"]
    assert {it.get("user") for task, it in asked if task == "memories"} == {"ann"}

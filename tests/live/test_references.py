"""Goal: without a model a reference is resolved if one name of the turns fits, and else left alone."""

import asyncio
import json
from pathlib import Path

import pytest

from umi_core.language.rewriting import judge_rewrite
from umi_core.values import Turn
from umi_live import Closed, ServiceFailed, find_references, open_blocking, open_memory
from umi_live.references import resolve_plainly


def resolved(query: str, *texts: str) -> str:
    turns = tuple(Turn("user", text) for text in reversed(texts))
    reply = resolve_plainly(query, turns)
    if reply == query:
        return query
    assert judge_rewrite(reply, query, turns, 0).outcome == "resolved"
    return str(json.loads(reply)["query"])


@pytest.mark.parametrize(
    ("texts", "query", "expected"),
    [
        (["My sister Helen works at Acme.", "Bob too."], "Where does she work?", "Where does Helen work?"),
        (["Her boss, a Mr Dunne, lives in Leith."], "Is he strict?", "Is Mr Dunne strict?"),
        (["Helen lives in Oslo."], "Is it cold there?", "Is it cold in Oslo?"),
        (["Helen called."], "Is her car new?", "Is Helen's car new?"),
        (["Tom met Anna."], "Did he call her?", "Did Tom call Anna?"),
        (["Helen called.", "Nice!", "Really?"], "What does she want?", "What does Helen want?"),
        (["Holger ist da."], "Wo wohnt er?", "Wo wohnt Holger?"),
        (["Mi prima Lucía salió."], "¿Dónde vive ella?", "¿Dónde vive Lucía?"),
        (["Claire est là."], "Elle habite où ?", "Claire habite où ?"),
    ],
)
def test_one_name_that_fits_is_meant(texts: list[str], query: str, expected: str) -> None:
    assert resolved(query, *texts) == expected


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["Helen met Anna."], "Where does she work?"),
        (["Vlk met Anna."], "Where does she work?"),  # perhaps a woman
        (["Vlk was here."], "Where does he work?"),
        (["Tom was here."], "Where does she work?"),
        (["The report is late."], "Is it long?"),
        (["Helen lives in Oslo and works in Rome."], "Is there a park?"),
        (["Helen lives in Oslo and works in Rome."], "Does Ann live there?"),
        (["他来了。"], "他在哪里？"),
    ],
)
def test_what_is_less_plain_stays(texts: list[str], query: str) -> None:
    assert resolved(query, *texts) == query


TURNS = [("user", "My sister Helen works at Acme."), ("assistant", "Who is her boss?")]


async def ask_alone(path: Path) -> None:
    async with open_memory(path, user="ann", agent="helper") as memory:
        found = await memory.resolve("Where does she work?", TURNS)
        assert (found.outcome, found.query) == ("resolved", "Where does Helen work?")
        assert (await memory.resolve("Where is Acme?", TURNS)).outcome == "clear"
        assert (await memory.resolve("Where does she work?")).outcome == "no_context"
        assert (await memory.resolve("Where does he work?", TURNS)).outcome == "unchanged"
        assert await memory.count() == 0
    with pytest.raises(Closed):
        await memory.resolve("Where does she work?", TURNS)


def test_a_question_is_resolved_on_its_own(tmp_path: Path) -> None:
    asyncio.run(ask_alone(tmp_path / "agent.db"))


class Silent:
    name = "silent"

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        raise ServiceFailed("refused", 0, "no")

    async def close(self) -> None:
        """There is nothing to close."""


def test_a_model_that_fails_resolves_nothing(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper", model=Silent()) as memory:
        found = memory.resolve("Where does she work?", TURNS)
        assert (found.outcome, found.query, found.terms) == ("failed", "Where does she work?", ("she",))


def test_references_are_found_without_a_memory() -> None:
    assert find_references("What did he say about the boss?") == ("he",)
    assert find_references("What did he say about the boss?", TURNS) == ("he", "the boss")
    assert find_references("Where is Acme?", TURNS) == ()

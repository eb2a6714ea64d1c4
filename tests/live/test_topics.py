"""Goal: a memory on disk has the categories that it is opened with, and shows each group by its path."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_core.config import Config
from umi_core.limits import CATEGORY_COUNT_MAX
from umi_live import Closed, LiveError, LiveMemory, RequestRefused, Topic, open_blocking, open_memory
from umi_live.local import RuleModel, memories

FOOD = {"Food and drink": "What people eat and drink.", "people": "Who they are."}
GROUPS = Config(cluster_ppm=300_000, assign_ppm=300_000, cluster_size_min=2)


def opened(path: Path, categories: dict[str, str] | None = None, **given: Any) -> LiveMemory:
    return open_memory(path / "agent.db", user="ann", agent="a", categories=categories, **given)


class Namer(RuleModel):
    """Names every group the same."""

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        return "hot/cold tea" if task == "name_subcategory" else await super().ask(task, prompt, timeout_ms)


def test_facts_are_found_by_the_path_of_their_group(tmp_path: Path) -> None:
    async def live() -> None:
        async with opened(tmp_path, FOOD, config=GROUPS, model=Namer()) as memory:
            contents = ("likes green tea", "drinks green tea", "buys green tea", "hums")
            ids = [
                (await memory.create_entity(it, "profile", categories=["Food and drink"])).value.id
                for it in contents
            ]
            await memory.evolve_category("Food and drink")
            path = "Food and drink/hot_cold_tea"
            assert await memory.topics() == (
                Topic("Food and drink", 4, "What people eat and drink."),
                Topic(path, 3, "green tea buys drinks likes"),
                Topic("people", 0, "Who they are."),
            )
            found = [it.content for it in await memory.facts_in(path)]
            assert sorted(found) == sorted(contents[:3])
            assert [it.content for it in await memory.facts_in("food and  DRINK")] == list(contents)
            assert await memory.facts_in("people") == ()
            paths = await memory.paths_of([ids[0], ids[3], "fct_none"])
            assert paths == {ids[0]: (path,), ids[3]: ("Food and drink",), "fct_none": ()}
            summary = (await memory.summarise("Food and drink")).value.summary
            assert "hums" in summary
            assert (await memory.topics())[0].text == summary
            for wrong in ("drinks", "people/hot", "Food and drink/none", ""):
                with pytest.raises(LiveError, match="there are: Food and drink, "):
                    await memory.facts_in(wrong)

    asyncio.run(live())


def test_with_another_list_what_was_there_stays(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="a", categories=FOOD) as memory:
        tea = memory.create_entity("likes tea", "profile").value.id
        assert memory.paths_of([tea]) == {tea: ("Food and drink",)}
    with open_blocking(tmp_path / "agent.db", user="ann", agent="a") as memory:
        with pytest.raises(RequestRefused, match="categories"):
            memory.create_entity("likes cake", "profile", categories=["people"])
        with pytest.raises(
            RequestRefused, match="category: people is not allowed, expected facts, preferences"
        ):
            memory.summarise("people")
        assert memory.topics()[-1] == Topic("Food and drink", 1, "What people eat and drink.", False)
        assert [it.id for it in memory.facts_in("Food and drink")] == [tea]
        memory.clear()
        assert memory.topics()[-1] == Topic("Food and drink", 0, "What people eat and drink.", False)
    other = open_blocking(tmp_path / "agent.db", user="ann", agent="b", categories={"one": ""})
    with other as memory:
        assert memory.topics() == (Topic("one", 0, ""),)


def test_a_list_that_cannot_be_is_refused(tmp_path: Path) -> None:
    many = {str(n): "" for n in range(CATEGORY_COUNT_MAX + 1)}
    none, wrong = dict[str, str](), {"a/b": ""}
    for categories, message in (
        (none, "0 is not allowed, expected 1 to 32"),
        (many, "33 is"),
        (wrong, "a/b is"),
    ):
        with pytest.raises(LiveError, match=message):
            opened(tmp_path, categories)


def test_topics_are_of_a_memory_that_is_open(tmp_path: Path) -> None:
    with pytest.raises(Closed):
        asyncio.run(opened(tmp_path).topics())


@pytest.mark.parametrize(
    ("listed", "category"),
    [
        (["preferences"], "preferences"), (["tea", "coffee"], "tea"), (["Tea shops", "tea"], "Tea shops"),
        (["cars"], None), ([], None),
    ],
)  # fmt: skip
def test_rules_choose_the_category_that_has_words_of_the_sentence(
    listed: list[str], category: str | None
) -> None:
    given = {
        "text": "Ann likes green tea.", "memory_type": "profile",
        "categories": [{"name": name, "about": "of and the"} for name in listed],
    }  # fmt: skip
    categories = re.findall("<category>(.*?)</category>", memories(given))
    assert categories == ([] if category is None else [category])
    assert json.dumps(given)

"""Goal: a few lines are a memory on disk: what was acknowledged is there for the next process."""

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import structs

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import umi_live
from tools import kill_live
from umi_core.conditions import filter_of
from umi_core.config import Config
from umi_core.errors import EmptyText
from umi_core.kelpie.requests import AddArchival
from umi_core.kelpie.results import Appended
from umi_core.messages.requests import CreateSession, List, Recall
from umi_core.messages.results import Listed, Recalled, SessionCreated
from umi_core.rows import Ended, Entity, Membership, Resource, fact_of
from umi_live import (
    Closed,
    LiveError,
    LiveMemory,
    RequestRefused,
    ScopeTaken,
    StoreError,
    delete_user,
    open_blocking,
    open_memory,
    store,
)
from umi_live.fact_order import list_end_times, order_by_time
from umi_live.local import RuleModel, inputs_of
from umi_live.readable import list_facts, list_markdown
from umi_live.sqlite import SqliteStorage


def inside(path: Path | str, use: Callable[[LiveMemory], Awaitable[Any]]) -> Any:
    async def used() -> Any:
        async with open_memory(path, user="ann", agent="helper") as memory:
            return await use(memory)

    return asyncio.run(used())


def entity_of(key: str) -> Entity:
    return Entity(key, "note", "", key, 1, 0, 0, "scratch", 0, 0)


def test_every_exported_name_can_be_imported() -> None:
    assert [name for name in umi_live.__all__ if not hasattr(umi_live, name)] == []


def test_a_fact_is_found_after_the_memory_was_closed(tmp_path: Path) -> None:
    result = inside(tmp_path / "agent.db", lambda memory: memory.remember("Ann likes green tea."))
    assert [stored.change for stored in result.value.entities] == ["created"]
    assert result.degraded == ()
    hits = inside(tmp_path / "agent.db", lambda memory: memory.recall("What does Ann like?"))
    assert [(hit.name, hit.content) for hit in hits] == [("Ann", "Ann likes green tea.")]
    assert hits.degraded == ()


def test_conditions_narrow_what_is_found_and_listed(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        await memory.remember("Ann likes green tea. Bob likes coffee.")
        where = filter_of({"name__ne": "Ann"})
        assert [hit.name for hit in await memory.recall("Who likes tea?", where=where, min_score_ppm=1)] == [
            "Bob"
        ]
        nuts = (await memory.create_entity("is allergic to nuts", "profile", categories=["rules"])).value
        only = (await memory.list("membership", where=filter_of({"entity_id": nuts.id}))).value
        assert [row.assigned_by for row in only.rows if isinstance(row, Membership)] == ["user"]
        moved = (await memory.update_entity(nuts.id, "is allergic to eggs", categories=[])).value
        old = await memory.entity(nuts.id)
        assert isinstance(old, Ended)
        assert (old.by, old.how, old.fact.content) == (moved.id, "update", "is allergic to nuts")
        assert (await memory.list("membership", where=filter_of({"entity_id": moved.id}))).value.rows == ()
        assert (await memory.forget(moved.id)).value.existed
        page = (await memory.list("entity", where=where)).value
        assert [row.name for row in page.rows if isinstance(row, Entity)] == ["Bob"]

    inside(tmp_path / "agent.db", use)


def test_an_archive_that_is_cleared_begins_anew_and_nothing_else_does(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        text = "Ann works at Acme. Bob works at Beta."
        first = (await memory.memorize(text, uri="a")).value
        await memory.set_block("human", "calls herself Ann")
        await memory.remember("Carol likes jazz.")
        await memory.clear()
        kinds = ("entity", "ended", "relation", "membership", "resource", "subcategory")
        assert [row.address async for row in memory.rows(kinds)] == []
        assert [block.text for block in await memory.blocks()] == ["calls herself Ann"]
        assert list(await memory.recall("Where does Bob work?", min_score_ppm=1)) == []
        again = (await memory.memorize(text, uri="a")).value
        assert [it.id for it in again.entities] == [it.id for it in first.entities]
        assert {it.change for it in again.entities} == {"created"}
        await memory.clear()
        await memory.clear()
        assert await memory.count() == 0

    inside(tmp_path / "agent.db", use)


def test_a_text_that_is_forgotten_leaves_facts_of_another_one(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        both, one = "Ann works at Acme. Bob works at Beta.", "Bob works at Beta."
        resource = (await memory.memorize(both, uri="a")).value.resource_id
        assert (await memory.memorize(one, uri="b")).value.entities
        gone = (await memory.forget_resource(resource)).value
        assert sorted(it.change for it in gone.entities) == ["forgotten", "unchanged"]
        assert [it.content async for it in memory.entities()] == ["Bob works at Beta."]
        assert not (await memory.forget_resource(resource)).value.existed

    inside(tmp_path / "agent.db", use)


def test_an_agent_that_is_deleted_is_gone_until_it_is_opened_again(tmp_path: Path) -> None:
    async def delete(memory: LiveMemory) -> None:
        await memory.remember("Ann likes tea.")
        assert (await memory.delete_agent(request_key="d")).value.change == "closed"
        assert (await memory.delete_agent(request_key="d")).value.repeated
        with pytest.raises(RequestRefused, match="agent"):
            await memory.recall("Ann")

    async def open_again(memory: LiveMemory) -> None:
        with pytest.raises(RequestRefused, match="agent"):
            await memory.count()
        assert (await memory.open_agent()).value.change == "opened"
        assert (await memory.open_agent()).value.change == "unchanged"
        assert await memory.count() == 0
        kinds = ("entity", "ended", "vector", "access", "core")
        assert [row.address async for row in memory.rows(kinds)] == []
        await memory.remember("Ann likes rum.")
        assert [it.content for it in await memory.recall("Ann")] == ["Ann likes rum."]

    inside(tmp_path / "agent.db", delete)
    inside(tmp_path / "agent.db", open_again)


def test_what_changed_last_is_listed_first(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        await memory.remember("Ann likes green tea.")
        await asyncio.sleep(0.002)
        await memory.remember("Bob likes coffee.")
        page = (await memory.recent(types=("person",), limit=2)).value
        assert [row.name for row in page.rows if isinstance(row, Entity)] == ["Bob", "Ann"]

    inside(tmp_path / "agent.db", use)


def test_a_new_employer_takes_the_place_of_the_old_one_and_history_keeps_both(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        before = (await memory.remember("Ann works at Acme.")).value.entities[0].id
        result = (await memory.remember("Ann works at Globex.")).value
        now = result.entities[0].id
        ann = memory.entity_id_of("Ann")
        assert before in result.ended
        assert [it.content for it in await memory.facts(ann)] == ["Ann works at Globex."]
        assert await memory.facts("ANN") == await memory.facts(ann)
        past, current = await memory.history(ann)
        assert isinstance(past, Ended)
        assert (past.id, past.fact.content) == (before, "Ann works at Acme.")
        assert (past.by, past.how) == (now, "update")
        assert (current.id, await memory.entity(now)) == (now, current)
        assert await memory.entity(before) == past
        assert await memory.count(["person"]) == 1
        assert (await memory.forget(now)).value.existed
        assert await memory.entity(now) is None
        assert [it.id for it in await memory.history(ann)] == [before]

    inside(tmp_path / "agent.db", use)


def test_facts_come_in_the_order_in_which_they_happened(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        await memory.remember("Ann likes tea.")
        for text, year in (("Ann owns a boat.", 2019), ("Ann owns a car.", 2017)):
            happened_ms = int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1_000)
            await memory.memorize(text, happened_ms=happened_ms)
        contents = [it.content for it in await memory.facts("Ann")]
        assert contents == ["Ann owns a car.", "Ann owns a boat.", "Ann likes tea."]
        assert [fact_of(it) for it in await memory.history("Ann")] == list(await memory.facts("Ann"))
        await memory.memorize("Ann lives in Rome.", happened_ms=1_000)
        await memory.memorize("Ann lives in Oslo.", happened_ms=9_000)
        rows = await memory.history("Ann")
        (ended,) = [it for it in rows if isinstance(it, Ended)]
        assert list_end_times(rows) == {(ended.id, 1): 9_000}
        assert list_end_times([ended]) == {(ended.id, 1): ended.at_ms}

    inside(tmp_path / "agent.db", use)


def test_a_fact_that_is_true_again_has_a_line_of_history_for_each_period(tmp_path: Path) -> None:
    """Twice in Rome: what ended the first stay is still known, and forgetting Ann forgets the fact once."""

    async def use(memory: LiveMemory) -> None:
        for at_ms, city in ((1_000, "Rome"), (4_000, "Oslo"), (9_000, "Rome")):
            await memory.memorize(f"Ann lives in {city}.", uri=f"letter-{at_ms}", happened_ms=at_ms)
        rows = await memory.history("Ann")
        facts, ends_ms = [fact_of(it) for it in rows], list_end_times(rows)
        stays = [(it.content, it.time_ms, ends_ms.get((it.id, it.version))) for it in facts]
        rome, oslo = "Ann lives in Rome.", "Ann lives in Oslo."
        assert stays == [(rome, 1_000, 4_000), (oslo, 4_000, 9_000), (rome, 9_000, None)]
        assert [(it.id, it.by) for it in rows if isinstance(it, Ended)] == [
            (facts[0].id, facts[1].id), (facts[1].id, facts[0].id)
        ]  # fmt: skip
        assert [it.content for it in await memory.facts("Ann")] == [rome]
        lines = [json.loads(line) async for line in list_facts(memory)]
        starts = sorted(line["happened_at"] for line in lines)
        assert starts == [f"1970-01-01T00:00:0{second}.000Z" for second in (1, 4, 9)]
        ends = sorted(line.get("ended_at", "") for line in lines)
        assert ends == ["", "1970-01-01T00:00:04.000Z", "1970-01-01T00:00:09.000Z"]
        assert await memory.forget_all_about("Ann") == (facts[0].id, facts[1].id)

    inside(tmp_path / "agent.db", use)


def test_what_is_said_again_today_is_true_today(tmp_path: Path) -> None:
    """A chat of years ago says when Ann lived in Rome; without a date, the same words are about today."""

    async def use(memory: LiveMemory) -> None:
        await memory.memorize("Ann lives in Rome.", happened_ms=1_000)
        await memory.memorize("Ann lives in Oslo.", happened_ms=9_000)
        await memory.remember("Ann lives in Rome.")
        (fact,) = await memory.facts("Ann")
        assert (fact.content, fact.event_time_ms, fact.version) == ("Ann lives in Rome.", None, 2)

    inside(tmp_path / "agent.db", use)


def test_facts_of_one_text_come_in_its_order(tmp_path: Path) -> None:
    """Between two facts about Ann there are others; those of a later time stay behind."""
    text = "Ann likes tea. Bob has a cat. Ann lives in Rome. Bob has a dog. Bob has a bird. Ann owns a boat."

    async def use(memory: LiveMemory) -> None:
        await memory.memorize(text, happened_ms=5_000)
        await memory.memorize("Ann has a horse. Ann plays chess.", happened_ms=6_000)
        facts = await memory.facts("Ann")
        contents = ["Ann likes tea.", "Ann lives in Rome.", "Ann owns a boat.", "Ann has a horse."]
        assert [it.content for it in facts] == [*contents, "Ann plays chess."]
        pages = [line async for line in list_markdown(memory)]
        assert [line.split(" (")[0] for line in pages if line.startswith("- Bob")] == [
            "- Bob has a cat.", "- Bob has a dog.", "- Bob has a bird.",
        ]  # fmt: skip

    inside(tmp_path / "agent.db", use)


def test_a_circle_of_facts_that_follow_each_other_has_an_order() -> None:
    one, two = (structs.replace(entity_of(name), follows=other) for name, other in (("a", "b"), ("b", "a")))
    assert {it.id for it in order_by_time([one, two])} == {"a", "b"}


def test_all_about_a_name_is_forgotten_and_nothing_else(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        for text in ("Ann likes tea. Bob likes tea.", "Ann lives in Paris.", "Ann lives in Berlin."):
            await memory.remember(text)
        ann, bob = [memory.entity_id_of(name) for name in ("Ann", "Bob")]
        assert ann == memory.entity_id_of(" ANN ")
        ids = [it.id for it in await memory.history(ann)]
        assert len(ids) == 3
        assert await memory.forget_all_about(ann) == tuple(ids)
        assert (await memory.history(ann), await memory.forget_all_about(ann)) == ((), ())
        assert [it.content for it in await memory.facts(bob)] == ["Bob likes tea."]
        assert [hit for hit in await memory.recall("Where does Ann live?") if hit.name == "Ann"] == []

    inside(tmp_path / "agent.db", use)


@pytest.mark.parametrize("count", [150, pytest.param(400, marks=pytest.mark.slow)])
def test_a_fact_is_found_however_much_was_remembered_since(tmp_path: Path, count: int) -> None:
    """Many at a time, as quick as that is; each of them is about Ann."""

    async def use(memory: LiveMemory) -> None:
        await memory.remember("I am allergic to peanuts.", speaker="Ann")
        texts = [f"I bought lamp number {n} at the old market." for n in range(count)]
        for at in range(0, count, 50):
            requests = [memory.remember(text, speaker="Ann") for text in texts[at : at + 50]]
            assert not any(it.degraded for it in await asyncio.gather(*requests))
        hits = await memory.recall("peanuts")
        assert [(hit.name, hit.content) for hit in hits][:1] == [("Ann", "I am allergic to peanuts.")]
        facts = await memory.facts(memory.entity_id_of("Ann"))
        assert (len(facts), facts[0].content) == (count + 1, "I am allergic to peanuts.")

    inside(tmp_path / "agent.db", use)


class Updating(RuleModel):
    """Says of every pair about Berlin and Paris that the new one updates the old one, and of no other."""

    def ask_at_once(self, task: str, prompt: str) -> str:
        if task != "evolve":
            return super().ask_at_once(task, prompt)
        given = inputs_of(prompt)
        contents = {it["ref"]: it["content"] for it in (*given["new"], *given["old"])}
        pairs = [
            it
            for it in given["pairs"]
            if ("Berlin" in contents[it["new"]], "Paris" in contents[it["old"]]) == (1, 1)
        ]
        return json.dumps([{**it, "type": "update", "confidence": 1, "reason": ""} for it in pairs])


def test_an_update_ends_one_fact_and_no_other(tmp_path: Path) -> None:
    known = ("Alice is allergic to nuts.", "Alice has a daughter called Mia.", "Alice lives in Paris.")

    async def live() -> None:
        path = tmp_path / "agent.db"
        async with open_memory(path, user="ann", agent="helper", model=Updating()) as memory:
            for text in known:
                await memory.remember(text)
            await memory.remember("Alice lives in Berlin.")
            alice = memory.entity_id_of("Alice")
            for question, answer in (
                ("nuts", known[0]),
                ("Mia", known[1]),
                ("Berlin", "Alice lives in Berlin."),
            ):
                assert answer in [hit.content for hit in await memory.recall(question)]
            assert [hit.content for hit in await memory.recall("Paris")] == []
            history = await memory.history(alice)
            assert [it.fact.content for it in history if isinstance(it, Ended)] == [known[2]]
            assert [it.content for it in history if isinstance(it, Entity)] == [
                *known[:2], "Alice lives in Berlin.",
            ]  # fmt: skip

    asyncio.run(live())


def test_a_document_becomes_facts_by_category_and_a_summary(tmp_path: Path) -> None:
    text = "Ann likes tea. Ann works at Acme. Ann can sail. It rains & pours."

    async def use(memory: LiveMemory) -> None:
        types = ("profile", "behavior", "skill")
        result = await memory.memorize(text, uri="notes/1", memory_types=types)
        assert [stored.change for stored in result.value.entities] == ["created"] * 3
        assert (result.value.pending, result.degraded) == ((), ())
        for category, fact in (
            ("preferences", "Ann likes tea."), ("facts", "Ann works at Acme."), ("skills", "Ann can sail."),
        ):  # fmt: skip
            assert fact in (await memory.summarise(category)).value.summary
        assert (await memory.memorize(text, uri="notes/1", memory_types=types)).value.change == "unchanged"
        talk = await memory.memorize("[user]: I like tea.\n[assistant]: Good.", modality="conversation")
        assert (talk.value.pending, talk.degraded) == ((), ())
        resources = await memory.ask(List(0, "resource"), Listed)
        assert {it.text for it in resources.value.rows if isinstance(it, Resource)} > {text}

    inside(tmp_path / "agent.db", use)


def test_the_end_of_a_session_leaves_a_reflection_for_the_next_process(tmp_path: Path) -> None:
    async def talk(memory: LiveMemory) -> None:
        session = (await memory.ask(CreateSession(0), SessionCreated)).value.session_id
        result = await memory.memorize("Ann likes tea. It rains.", session_id=session)
        ended = await memory.end_session(session)
        assert (ended.value.change, ended.value.text, ended.degraded) == ("created", "Ann likes tea.", ())
        assert [key for key, _ in ended.value.sources] == [result.value.resource_id]
        assert (await memory.end_session(session)).value.change == "unchanged"

    async def find(memory: LiveMemory) -> None:
        found = (await memory.search("likes tea", levels=("reflections",), min_score_ppm=1)).value
        assert [hit.text for hit in found.hits] == ["Ann likes tea."]
        assert found.hits[0].vector_ppm is not None

    inside(tmp_path / "agent.db", talk)
    inside(tmp_path / "agent.db", find)


def test_blocks_of_core_are_there_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    inside(path, lambda memory: memory.set_block("human", "Name: Ann"))
    assert [block.text for block in inside(path, lambda memory: memory.blocks())] == ["Name: Ann"]
    assert "Name: Ann" in inside(path, lambda memory: memory.render())
    inside(path, lambda memory: memory.remove_block("human"))
    assert inside(path, lambda memory: memory.blocks()) == ()


def test_the_rendering_says_how_many_facts_it_leaves_out(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        assert "known" not in await memory.render()
        await memory.remember("Ann likes tea.")
        assert (await memory.render()).endswith(
            "<not_shown>1 more fact is known: recall finds it.</not_shown>"
        )
        await memory.remember("My name is Umi and I help with memory management.")  # about the agent: in core
        await memory.remember("Bob plays chess.")
        assert (await memory.render("markdown")).endswith("\n2 more facts are known: recall finds them.\n")

    inside(tmp_path / "agent.db", use)


def test_the_rendering_needs_no_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(memory: LiveMemory) -> int:
        raise StoreError("the disk is gone")

    async def use(memory: LiveMemory) -> str:
        await memory.set_block("human", "Name: Ann")
        monkeypatch.setattr(LiveMemory, "count", fail)
        return await memory.render("markdown")

    text = inside(tmp_path / "agent.db", use)
    assert "Name: Ann" in text
    assert text.endswith("\nThere may be more facts: recall finds them.\n")


def test_a_request_key_makes_a_request_happen_once(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        first, again = [await memory.remember("Ann likes tea.", request_key="k") for _ in range(2)]
        assert (first.value.repeated, again.value.repeated) == (False, True)

    inside(tmp_path / "agent.db", use)


def test_a_wrong_request_raises_the_error_of_the_memory(tmp_path: Path) -> None:
    with pytest.raises(RequestRefused, match="text is empty") as refused:
        inside(tmp_path / "agent.db", lambda memory: memory.remember(" "))
    assert isinstance(refused.value.error, EmptyText)
    nobody = open_memory(tmp_path / "agent.db", user="", agent="helper")
    with pytest.raises(RequestRefused, match="user"):
        asyncio.run(nobody.__aenter__())


LISTED: Final[Any] = [("type", "eq", "person")]
LIFE: Final[Any] = "life"
WRONG: Final[tuple[tuple[Callable[[Any], object], str], ...]] = (
    (lambda it: it.remember(5), "text: 5 is not allowed, expected a text, got int"),
    (lambda it: it.remember(None), "text: None is not allowed, expected a text, got NoneType"),
    (lambda it: it.remember(b"tea"), "text: b'tea' is not allowed, expected a text, got bytes"),
    (lambda it: it.remember("x", metadata=[("a", "b")]),
     "metadata: [('a', 'b')] is not allowed, expected a mapping from a text to a text or none, got list"),
    (lambda it: it.remember("x", metadata="abc"), "a mapping from a text to a text or none, got str"),
    (lambda it: it.remember("x", metadata={"a": 1}), "metadata: {'a': 1} is not allowed"),
    (lambda it: it.remember("x", event_time_ms=1_700_000_000_000_000), "expected milliseconds since 1970, "),
    (lambda it: it.memorize("x", happened_ms=1_700_000_000_000_000), "expected milliseconds since 1970, "),
    (lambda it: it.remember("x", event_time_ms=True), "event_time_ms: True is not allowed, expected a whole"),
    (lambda it: it.remember("x", speaker="Bob\nAnn"), "a name of at most 256 bytes, without control char"),
    (lambda it: it.recall("x", turns=[("user",)]),
     "turns[0]: ('user',) is not allowed, expected (a text, a text), got tuple"),
    (lambda it: it.recall("x", turns="abc"), "expected a list, each of it (a text, a text) or none, got str"),
    (lambda it: it.recall("x", types="person"), "types: person is not allowed, expected a list, each of it"),
    (lambda it: it.recall("x", types=["person", 5]), "types[1]: 5 is not allowed, expected a text, got int"),
    (lambda it: it.recall("x", limit="3"), "limit: 3 is not allowed, expected a whole number or none, got"),
    (lambda it: it.recall("x", where={"type": "person"}), "as `umi_core.conditions.filter_of` makes it"),
    (lambda it: it.recall("x", where=["type"]), "where[0]: type is not allowed, expected (field, operator"),
    (lambda it: it.recall("x", where=[("metadata.a", "eq", "b")]), " about metadata by how at_ms uri "),
    (lambda it: it.search("x", where={"type": "person"}), "as `umi_core.conditions.filter_of` makes it"),
    (lambda it: it.ask(Recall(0, "x", where=LISTED), Recalled), "expected a tuple, each of it (field, op"),
    (lambda it: it.recall("x", time_range=5), "time_range: 5 is not allowed, expected a list"),
    (lambda it: it.recall("x", time_range=[1]), "(1,) is not allowed, expected (a whole number or"),
    (lambda it: it.resolve(None), "query: None is not allowed, expected a text, got NoneType"),
    (lambda it: it.resolve("her?", [("nonsense", "Bob")]), "expected turns with role user, assistant"),
    (lambda it: it.facts(None), "entity: None is not allowed, expected a text, got NoneType"),
    (lambda it: it.facts_in(5), "path: 5 is not allowed, expected a text, got int"),
    (lambda it: it.create_session("other"), "members: other is not allowed, expected a list, each of it a"),
    (lambda it: it.ask(AddArchival(0, "x", tags=LIFE), Appended), "tags: life is not allowed"),
    (lambda it: it.ask(5, object), "request: 5 is not allowed, expected Request, got int"),
    (lambda it: it.entity_id_of(5), "name: 5 is not allowed, expected a text, got int"),
)  # fmt: skip


def test_a_value_of_a_wrong_type_is_refused_by_its_name(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        for call, message in WRONG:
            with pytest.raises(RequestRefused) as refused:
                call(memory)
            assert message in str(refused.value)
        assert sum(memory.stats().values()) == memory.stats()["categories"]
        memory.remember("Ann likes gin.", event_time_ms=5)
        for given in ([0, 9], (0, 9), [None, 9]):
            assert len(memory.recall("gin", time_range=given)) == 1
        assert memory.recall("gin", time_range=[6, None]).hits == ()
        for where in ([("type", "in", ["topic"])], [["type", "eq", "topic"]], filter_of({"type": "topic"})):
            assert memory.recall("gin", where=where).hits == ()  # type: ignore[arg-type]
            assert memory.search("gin", where=where).value.context == ""


def test_a_session_that_was_not_created_is_a_label_alone(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        assert memory.memorize("Ann likes gin.", session_id="nope").value.change == "created"
        with pytest.raises(RequestRefused, match="session not found: nope"):
            memory.end_session("nope")


def test_what_no_memory_can_be_opened_with_is_refused_and_makes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (None, b"x.db", 5):
        with pytest.raises(RequestRefused, match=r"^path: .* expected a text or PathLike, got "):
            open_memory(path, user="ann", agent="helper")  # type: ignore[arg-type]
        with pytest.raises(RequestRefused, match=r"^path: "):
            asyncio.run(delete_user(path, "ann"))  # type: ignore[arg-type]
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"categories": ["a"]}, "categories: ['a'] is not allowed, expected a mapping from a text to a text"),
        ({"categories": {"a": 1}}, "categories: {'a': 1} is not allowed"),
        ({"seal": "x" * 40}, "expected bytes or none, got str"),
        ({"user": 5}, "user: 5 is not allowed, expected a text, got int"),
        ({"config": {}}, "config: {} is not allowed, expected Config or none, got dict"),
    )
    for options, message in wrong:
        with pytest.raises(RequestRefused) as refused:
            open_blocking("x.db", **{"user": "ann", "agent": "helper", **options})
        assert message in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_one_scope_has_one_live_memory_and_two_scopes_are_apart(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"

    async def use(memory: LiveMemory) -> None:
        await memory.remember("Ann likes tea.")
        with pytest.raises(ScopeTaken, match="user 'ann' and agent 'helper' is open in this process"):
            await open_memory(path, user="ann", agent="helper").__aenter__()
        async with open_memory(path, user="bob", agent="helper") as other:
            assert list(await other.recall("tea")) == []
        assert len(await memory.recall("tea")) == 1

    inside(path, use)
    inside(path, use)  # a closed memory holds nothing any more


def test_a_memory_that_is_not_open_says_so(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "agent.db", user="ann", agent="helper")
    with pytest.raises(Closed, match="async with"):
        asyncio.run(memory.ask(Recall(0, "tea"), object))
    waiting = open_blocking(tmp_path / "agent.db", user="ann", agent="helper")
    for _ in range(2):  # before it was opened, and after it was closed
        with pytest.raises(Closed, match="with"):
            waiting.recall("tea")
        with waiting:
            assert list(waiting.recall("tea")) == []


def test_a_service_without_one_of_its_methods_is_refused_before_it_is_asked() -> None:
    class Half:
        async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
            return "[]"

    message = r"model: [\w.<>]+Half has no name, close; it needs name, ask, close$"
    with pytest.raises(LiveError, match=message):
        open_memory(":memory:", user="ann", agent="helper", model=Half())  # type: ignore[arg-type]
    with pytest.raises(LiveError, match="Half has no name, dims, embed, close"):
        open_memory(":memory:", user="ann", agent="helper", embedder=Half())  # type: ignore[arg-type]


def test_claims_that_cannot_be_held_are_reported(tmp_path: Path) -> None:
    (tmp_path / "agent.db-live").mkdir()
    with pytest.raises(StoreError, match=r"agent\.db-live: cannot be opened for claims: Is a directory"):
        inside(tmp_path / "agent.db", lambda memory: memory.count())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no database, but a text that is longer than a hundred bytes " * 9, "is no database"),
        (b"SQLi", "is no"),
    ],
)
def test_a_file_of_another_program_is_refused_and_not_touched(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "agent.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=sentence):
        inside(path, lambda memory: memory.count())
    assert path.read_bytes() == content
    assert sorted(it.name for it in tmp_path.iterdir()) == ["agent.db"]


def test_a_loop_goes_on_while_a_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def live() -> None:
        memory = open_memory(tmp_path / "agent.db", user="ann", agent="helper")
        opening = asyncio.create_task(memory.__aenter__())
        await asyncio.to_thread(begun.wait)
        with pytest.raises(Closed):  # and a close that waits no longer leaves nothing open
            await memory.count()
        opening.cancel()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await opening
        async with memory:
            assert await memory.count() == 0

    def slowly(path: str, *rest: Any) -> SqliteStorage:
        begun.set()
        assert goes_on.wait(9)
        return SqliteStorage(path, *rest)

    begun, goes_on = threading.Event(), threading.Event()
    monkeypatch.setattr(store, "SqliteStorage", slowly)
    before = {*store.Store.known}  # of stores that another test has killed
    asyncio.run(live())
    assert {*store.Store.known} <= before


def test_thirty_requests_at_once_are_all_answered_and_more_than_fit_wait(tmp_path: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        requests = [memory.remember(f"Fact {n} is told.", extract=False) for n in range(100)]
        assert [result.degraded for result in await asyncio.gather(*requests)] == [()] * 100
        assert await memory.count() == 100

    inside(tmp_path / "agent.db", use)


def test_a_cancelled_request_takes_effect_completely_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"

    async def use(memory: LiveMemory) -> None:
        tasks = [asyncio.create_task(memory.remember(f"Fact {n}.", extract=False)) for n in range(100)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        assert await asyncio.gather(*tasks, return_exceptions=True)

    inside(path, use)
    facts = inside(path, lambda memory: memory.count())
    assert facts == 0  # no commit was sent yet


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing_and_does_nothing_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert kill_live.main(3) == 0
    assert "3 kills" in capsys.readouterr().out


def test_keys_are_there_for_the_agent_that_a_session_is_handed_to(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with open_blocking(path, user="ann", agent="planner") as memory:
        session = memory.create_session()
        memory.set("step", b"3")
        memory.set("brief", b"soon gone", ttl_ms=1)
        time.sleep(0.005)  # the entry expires
        assert (memory.incr("step"), memory.get("step"), memory.get("nothing")) == (4, b"4", None)
        memory.touch("step")
        with pytest.raises(RequestRefused, match="nothing"):
            memory.touch("nothing")
        assert (memory.delete("nothing"), memory.get("brief")) == (False, None)
        assert memory.save_session(["writer"]).session_id == session
    with open_blocking(path, user="ann", agent="writer") as memory:
        assert memory.get("step") is None
        memory.load_session(session)
        assert (memory.get("step"), memory.delete("step"), memory.get("step")) == (b"4", True, None)
    with open_blocking(path, user="ann", agent="reader") as memory, pytest.raises(RequestRefused):
        memory.load_session(session)


def test_a_session_carries_what_it_declares_to_the_agent_that_loads_it(tmp_path: Path) -> None:
    path, chat = tmp_path / "agent.db", '[{"role": "user", "content": "Eve called."}]'
    with open_blocking(path, user="ann", agent="planner") as memory:
        session = memory.create_session()
        memory.remember("Eve likes tea.")
        memory.memorize(chat, modality="conversation", session_id=session)
        memory.save_session(["writer", "reader"], carries=["messages", "facts"])
    with open_blocking(path, user="ann", agent="writer") as memory:
        loaded = memory.load_session(session)
        assert [turn.text for turn in loaded.turns] == ["Eve called."]
        hits = memory.recall("What does she like?")
        assert (hits.resolution.query, hits[0].content) == ("What does Eve like?", "Eve likes tea.")
        assert memory.recall("What does she like?", turns=()).resolution.outcome == "no_context"
        assert memory.resolve("What does she like?").query == "What does Eve like?"
        memory.create_session()
        assert memory.resolve("What does she like?").outcome == "no_context"
    with open_blocking(path, user="ann", agent="planner") as memory:
        assert memory.forget_all_about("Eve")
    with open_blocking(path, user="ann", agent="reader") as memory:
        assert (memory.load_session(session).left_out_count, memory.count()) == (1, 0)


def test_words_that_count_from_a_day_have_its_date(tmp_path: Path) -> None:
    at_ms = int(datetime(2024, 2, 29, 12, tzinfo=UTC).timestamp() * 1_000)
    # By UTC, whatever the time zone of this machine is.
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper", config=Config()) as memory:
        memory.remember("I live in Porto.")
        memory.remember("I moved to Lisbon yesterday.", event_time_ms=4_000_000_000_000)
        memory.remember("Bob left Acme a year ago.", event_time_ms=at_ms)
        assert [it.content for it in memory.facts("me")] == ["I moved to Lisbon yesterday (2096-10-01)."]
        assert [it.content for it in memory.facts("Bob")] == ["Bob left Acme a year ago (2023)."]
        memory.memorize("Eve came last Friday.", happened_ms=at_ms)
        memory.memorize("Kim came last Friday.")
        contents = [it.content for it in memory.entities() if "Friday" in it.content]
        assert sorted(contents) == ["Eve came last Friday (2024-02-23).", "Kim came last Friday."]

"""Goal: facts come, end and leave as the worked tables of the specification say (M2.23 to M2.28)."""

import json

import pytest

from tests.spec_tables import Row, read_cell, rows, whole
from tests.worlds import Pair, input_of, saying
from umi_core.messages.effects import Done
from umi_core.messages.request import Request
from umi_core.messages.requests import ForgetResource, List, Memorize, Remember
from umi_core.messages.results import Listed, Memorized, Remembered, ResourceForgotten
from umi_core.rows import Ended, Entity


class OfAlice:
    """A model that extracts one statement about Alice, and has one verdict on one known fact."""

    statement = ""
    verdict = "none"
    on: str | None = None

    def extract(self, prompt: str) -> str:
        alice = {"name": "Alice", "type": "person", "content": self.statement, "confidence": 0.9}
        return json.dumps({"entities": [alice]})

    def evolve(self, prompt: str) -> str:
        known = {it["ref"]: it["content"] for it in input_of(prompt, "old")}
        return json.dumps(
            [
                {**pair, "type": self.verdict if known[pair["old"]] == self.on else "none", "confidence": 0.9}
                for pair in input_of(prompt, "pairs")
            ]
        )


def value_of(pair: Pair, request: Request) -> object:
    outcome = pair.ask(request)
    assert isinstance(outcome, Done)
    return outcome.value


def contents(pair: Pair, op_id: str, kind: str) -> list[str]:
    """Return what the facts in rows of this kind say, sorted."""
    listed = value_of(pair, List(op_id, kind))
    assert isinstance(listed, Listed)
    facts = [it.fact if isinstance(it, Ended) else it for it in listed.rows]
    return sorted(it.content for it in facts if isinstance(it, Entity))


def test_facts_are_stated_and_end_as_in_the_table() -> None:
    model = OfAlice()
    pair = Pair(model=saying(extract=model.extract, evolve=model.evolve)).run()
    for at, row in enumerate(rows("memory", "facts")):
        model.statement, model.verdict, model.on = (
            read_cell(row["told"]),
            row["verdict"],
            read_cell(row["on"]),
        )
        value = value_of(pair, Remember(f"r{at}", model.statement))
        assert isinstance(value, Remembered)
        (stored,) = value.entities
        assert (stored.change, stored.version) == (row["change"], whole(row["version"]))
        assert contents(pair, f"c{at}", "entity") == sorted(read_cell(row["current afterwards"]))
        assert contents(pair, f"e{at}", "ended") == sorted(read_cell(row["ended afterwards"]))


@pytest.mark.parametrize("row", rows("memory", "without_source"), ids=lambda row: row["told by, in order"])
def test_a_fact_stays_or_leaves_without_a_source_as_in_the_table(row: Row) -> None:
    pair = Pair(model=saying(memories="<memory><content>likes tea</content></memory>")).run()
    ids: dict[str, str] = {}
    for at, source in enumerate(read_cell(row["told by, in order"])):
        if source == "remember":
            pair.ask(Remember(f"r{at}", "likes tea", extract=False))
            continue
        value = value_of(pair, Memorize(f"m{at}", f"text {source}", uri=source, memory_types=("profile",)))
        assert isinstance(value, Memorized)
        ids[source] = value.resource_id
    listed = value_of(pair, List("before", "entity"))
    assert isinstance(listed, Listed)
    (fact,) = listed.rows
    assert isinstance(fact, Entity)
    assert fact.sources == tuple(sorted(ids[it] for it in read_cell(row["sources"])))
    assert fact.is_direct == (row["direct"] == "yes")
    forgotten = value_of(pair, ForgetResource("f", ids["a"]))
    assert isinstance(forgotten, ResourceForgotten)
    assert [it.change for it in forgotten.entities] == [row["without a"]]
    assert contents(pair, "after", "entity") == (["likes tea"] if row["without a"] == "unchanged" else [])


def test_ended_facts_are_filtered_by_their_id_alone() -> None:
    model = OfAlice()
    pair = Pair(model=saying(extract=model.extract, evolve=model.evolve)).run()
    model.statement = "works at Acme"
    pair.ask(Remember("r1", model.statement))
    model.statement, model.verdict, model.on = "left Acme", "update", "works at Acme"
    value = value_of(pair, Remember("r2", model.statement))
    assert isinstance(value, Remembered)
    (key,) = value.ended
    for at, (condition, count) in enumerate(((("id", "eq", key), 1), (("name", "eq", "Alice"), 0))):
        listed = value_of(pair, List(f"l{at}", "ended", where=(condition,)))
        assert isinstance(listed, Listed)
        assert len(listed.rows) == count

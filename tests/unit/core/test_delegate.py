"""Goal: the object with the servers' old names asks one request a call, and keeps nothing (K1.4)."""

import itertools

import pytest
from msgspec import structs

from tests.worlds import Pair
from umi_core.kelpie.delegate import Delegate, DelegateError
from umi_core.kelpie.errors import NotFound
from umi_core.messages.effects import Outcome, Refused
from umi_core.messages.requests import Remember, Request


def delegate() -> Delegate:
    pair, numbers = Pair().run(), itertools.count()

    def drive(request: Request) -> Outcome:
        return pair.ask(structs.replace(request, op_id=next(numbers)))

    return Delegate(drive)


def test_blocks_messages_and_records_by_their_old_names() -> None:
    agent = delegate()
    agent.create_block("notes", "tea")
    agent.append_to_block("notes", "milk")
    agent.replace_in_block("notes", "tea", "rum")
    agent.update_block("notes", description="drinks")
    assert [(it.label, it.value, it.description) for it in agent.list_blocks()] == [
        ("notes", "rum\nmilk", "drinks")
    ]
    assert agent.get_block("notes").version == 4
    agent.add_message("user", "hello")
    agent.add_messages([{"role": "assistant", "content": "hi"}], key="k")
    assert [it.content for it in agent.list_messages().messages] == ["hello", "hi"]
    assert [it.seq for it in agent.search_messages("hello").messages] == [1]
    added = agent.add_archival("likes tea", tags=["x"], metadata={"from": "chat"})
    assert agent.search_archival("tea", tags=["x"]).records == agent.list_archival().records
    assert agent.build_system_prompt("You are Umi.", "tagged").startswith("You are Umi.\n\n<memory>")
    agent.delete_archival(added.ids[0])
    agent.delete_block("notes")
    assert (agent.list_blocks(), agent.list_archival().records) == ((), ())


def test_a_record_by_its_id_and_the_person_mentioned_last() -> None:
    agent = delegate()
    added = agent.add_archival("likes tea")
    assert agent.get_archival(added.ids[0]).content == "likes tea"
    agent.drive(Remember(0, "Alice likes tea."))
    assert [getattr(row, "name", "") for row in agent.recent_entities(("person",))] == ["Alice"]
    assert agent.recent_entities(skip=1_000) == ()


def test_an_agent_is_deleted_and_opened() -> None:
    agent = delegate()
    assert agent.open_agent().change == "unchanged"
    assert agent.delete_agent(key="k").change == "closed"
    with pytest.raises(DelegateError, match="agent not found: a1"):
        agent.list_blocks()
    assert agent.delete_agent(key="k").repeated


def test_what_is_not_done_is_raised_with_its_outcome() -> None:
    with pytest.raises(DelegateError, match="block not found: notes") as raised:
        delegate().get_block("notes")
    assert raised.value.outcome == Refused(NotFound("block", "notes"))

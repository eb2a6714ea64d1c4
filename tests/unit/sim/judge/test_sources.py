"""Goal: a fact leaves with its last source text, if it has no other source, and no other fact does."""

from contextlib import nullcontext

import pytest
from msgspec import structs

from tests.histories import ACME, ALICE, DIMS, SCOPE, History, broken, entity, fact
from umi_core.ids import fact_id
from umi_core.kelpie.requests import DeleteArchival
from umi_core.messages.answers import ReadDone
from umi_core.messages.requests import CreateEntity, ForgetResource
from umi_core.messages.results import RecordForgotten, ResourceForgotten, Stored

TEA, SALES = fact(ALICE, "likes tea"), fact(ACME, "sells tea")
TEXT, OTHER = "arc_000000000001", "arc_000000000002"


def state_fact(*sources: str, is_direct: bool = False) -> History:
    """Two facts, of which the first has these sources."""
    history = History()
    history.store((ALICE, "likes tea"), (ACME, "sells tea"), embed=False)
    state = history.log.state(TEA)
    assert state.entity is not None
    known = structs.replace(state.entity, sources=sources, is_direct=is_direct, reinforced_count=len(sources))
    history.log.facts.put(TEA, history.log.position, state.with_fact(known))
    return history


def forgotten(history: History, *stored: Stored) -> None:
    op_id = history.ask(DeleteArchival("", TEXT))
    history.answer(op_id, "told", ReadDone(0, ()))
    history.reply(op_id, RecordForgotten(TEXT, entities=stored))


GONE, STAYS = Stored(TEA, 1, "forgotten"), Stored(TEA, 1, "unchanged")


def test_a_fact_leaves_with_its_last_text() -> None:
    history = state_fact(TEXT)
    forgotten(history, GONE)
    history.get(TEA, None)
    with broken("delete-only-its-own"):
        forgotten(state_fact(TEXT), STAYS)


@pytest.mark.parametrize(("sources", "is_direct"), [((TEXT, OTHER), False), ((TEXT,), True)])
def test_a_fact_with_another_source_stays(sources: tuple[str, ...], is_direct: bool) -> None:
    history = state_fact(*sources, is_direct=is_direct)
    forgotten(history, STAYS)
    row = entity(ALICE, "likes tea", sources=sources[1:], is_direct=is_direct)
    history.get(TEA, row)
    with broken("delete-only-its-own"):
        history.get(TEA, structs.replace(row, sources=sources))
    with broken("delete-only-its-own"):
        forgotten(state_fact(*sources, is_direct=is_direct), GONE)


def test_a_fact_from_the_text_is_named_and_no_other() -> None:
    with broken("delete-only-its-own"):
        forgotten(state_fact(TEXT))
    with broken("delete-only-its-own"):
        forgotten(state_fact(OTHER), GONE)
    with broken("delete-only-its-own"):
        forgotten(state_fact(TEXT), *sorted((GONE, Stored(SALES, 1, "unchanged")), key=lambda it: it.id))


def test_facts_are_named_once() -> None:
    with broken("reference-agrees"):
        forgotten(state_fact(TEXT), GONE, GONE)


def test_a_text_that_was_not_there_has_no_facts() -> None:
    history = History()
    with broken("reference-agrees"):
        history.reply(history.ask(ForgetResource("", "res_1")), ResourceForgotten(False, (GONE,)))


@pytest.mark.parametrize("content", ["likes tea", "likes milk"])
def test_a_fact_that_is_created_has_the_id_of_what_it_says(content: str) -> None:
    history = History()
    op_id = history.ask(CreateEntity("", "likes tea", "knowledge", ("facts",)))
    history.hear(op_id, "embed", ((1,) * DIMS,))
    is_right = content == "likes tea"
    with nullcontext() if is_right else broken("reference-agrees"):
        history.reply(op_id, Stored(fact_id(SCOPE, (), content), 1, "created"))

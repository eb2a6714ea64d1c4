"""Goal: each statement is a fact of its own; one that is known changes what is given explicitly, no more."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import ALICE, QUIET, Pair, id_of_fact, id_of_note, saying
from umi_core.config import Config
from umi_core.limits import EMBED_TEXT_BYTES_MAX
from umi_core.messages.effects import Done, Embed
from umi_core.messages.requests import Forget, Remember
from umi_core.messages.results import Remembered, Stored
from umi_core.rows import Entity, Vector
from umi_core.workflows.drafting import DRAFTS, bad_draft, embedded_text, statement_of
from umi_sim.services.embedder import embed

TEA = id_of_fact("Alice", "likes tea")


def remember_about_alice(*contents: str, config: Config = QUIET) -> Pair:
    """Alice, by statements, each in a request of its own."""
    pair = Pair(config=config).run()
    for n, content in enumerate(contents):
        pair.ask(Remember(n, f"Alice {content}"))
    return pair


def stored(pair: Pair, request: Remember) -> tuple[Stored, ...]:
    outcome = pair.ask(request)
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Remembered)
    return outcome.value.entities


def fact(pair: Pair, key: str = TEA) -> Entity:
    row = pair.row("entity", key)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def test_each_statement_about_a_name_is_a_row_of_its_own() -> None:
    pair = remember_about_alice("works at Acme", "likes tea")
    contents = ("works at Acme", "likes tea")
    assert {row.address.id for row in pair.rows("entity")} == {id_of_fact("Alice", it) for it in contents}
    facts = [fact(pair, id_of_fact("Alice", it)) for it in contents]
    assert [(it.name, it.content, it.version, it.about) for it in facts] == [
        ("Alice", content, 1, (ALICE,)) for content in contents
    ]


def test_a_new_statement_leaves_the_rows_of_the_others_as_they_were() -> None:
    pair = remember_about_alice("works at Acme")
    before = pair.rows("entity") + pair.rows("vector")
    pair.ask(Remember(9, "Alice likes tea"))
    assert all(row in pair.rows("entity") + pair.rows("vector") for row in before)


@pytest.mark.uncounted
def test_of_a_hundred_and_fifty_statements_about_one_name_none_is_lost() -> None:
    contents = [f"likes number {n} of all the things that there are in the world" for n in range(150)]
    pair = remember_about_alice(*contents)
    bodies = [row.body for row in pair.rows("entity")]
    assert sorted(it.content for it in bodies if isinstance(it, Entity)) == sorted(contents)


def test_a_note_is_about_no_entity() -> None:
    pair = Pair(model=saying(extract='{"entities": []}')).run()
    (note,) = stored(pair, Remember(1, "It rains."))
    assert note == Stored(id_of_note("It rains."), 1, "created")
    assert fact(pair, note.id).about == ()


@pytest.mark.parametrize("again", ["CAFE\u0301 AU LAIT", " caf\u00e9  au\tlait"])
def test_a_statement_repeated_in_another_case_spacing_or_form_is_known(again: str) -> None:
    pair = remember_about_alice("Caf\u00e9 au lait")
    (row,) = pair.rows("entity")
    assert stored(pair, Remember(9, f"Alice {again}")) == (Stored(row.address.id, 1, "unchanged"),)
    assert pair.rows("entity") == [row]


def test_a_known_statement_is_neither_embedded_nor_given_another_confidence() -> None:
    pair = remember_about_alice("likes tea")
    pair.model = saying(
        extract='{"entities": [{"name": "ALICE", "type": "person", "content": "likes tea", "confidence": 1}]}'
    )
    (row,) = pair.rows("entity")
    pair.step(Remember(9, "Alice likes tea"))
    while 9 not in pair.replies:
        assert not isinstance(pair.pending[0], Embed)
        pair.answer()
    assert pair.rows("entity") == [row]


GIVEN: dict[str, Any] = {
    "importance_ppm": 900_000, "event_time_ms": 7, "metadata": (("b", "2"), ("a", "1")), "source": "chat",
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_explicitly_changes_a_known_fact_and_all_else_stays(name: str) -> None:
    pair = remember_about_alice("likes tea")
    before = fact(pair)
    assert stored(pair, Remember(9, "Alice likes tea", **{name: GIVEN[name]})) == (
        Stored(TEA, 1, "unchanged"),
    )
    after = fact(pair)
    names = list(Entity.__struct_fields__)
    assert [it for it in names if getattr(after, it) != getattr(before, it)] == [name]
    assert getattr(after, name) == (tuple(sorted(GIVEN[name])) if name == "metadata" else GIVEN[name])
    stored(pair, Remember(10, "Alice likes tea"))
    assert fact(pair) == after


def test_a_fact_of_a_request_is_direct() -> None:
    assert fact(remember_about_alice("likes tea")).is_direct


def test_a_forgotten_fact_begins_anew() -> None:
    pair = remember_about_alice("likes tea")
    pair.ask(Remember(8, "Alice likes tea", importance_ppm=900_000))
    pair.ask(Forget(9, TEA))
    assert stored(pair, Remember(10, "Alice likes tea")) == (Stored(TEA, 1, "created"),)
    assert (fact(pair).version, fact(pair).importance_ppm) == (1, 500_000)


def test_the_vector_is_of_name_and_statement() -> None:
    pair = remember_about_alice("works at Acme", "left Acme")
    row = pair.row("vector", id_of_fact("Alice", "left Acme"))
    assert row is not None
    assert isinstance(row.body, Vector)
    assert row.body.components == embed("Alice\nleft Acme", 64)


def test_a_statement_is_named_by_fact_and_version() -> None:
    shown = statement_of(fact(remember_about_alice("likes tea")))
    assert (shown.ref, shown.name, shown.content) == (f"{TEA}@1", "Alice", "likes tea")


def test_what_is_embedded_is_name_and_content_cut_at_a_character() -> None:
    naps = structs.replace(fact(remember_about_alice("likes tea")), name="Zoë", content="naps")
    assert embedded_text(naps) == "Zoë\nnaps"
    assert embedded_text(structs.replace(naps, others=("Ann", "Acme"))) == "Zoë, Ann, Acme\nnaps"
    text = embedded_text(structs.replace(naps, name="日", content="日" * 3_000))
    assert (len(text.encode()), text[-1]) == (EMBED_TEXT_BYTES_MAX - 1, "日")


def test_a_draft_may_have_no_block_yet_and_is_sound_otherwise() -> None:
    known = fact(remember_about_alice("likes tea"))
    assert bad_draft("draft", known) is None
    assert bad_draft("draft", structs.replace(known, block="")) is None
    for wrong in (None, "x", structs.replace(known, version=0), structs.replace(known, block="attic")):
        assert "draft" in str(bad_draft("draft", wrong))


def test_a_draft_of_a_forgotten_fact_replaces_nothing() -> None:
    pair = remember_about_alice("likes tea")
    pair.ask(Forget(8, TEA))
    pair.step(Remember(9, "Alice likes tea"))
    pair.until(Embed)
    (operation,) = pair.memory.state.operations.values()
    drafts: Any = operation.facts[DRAFTS.name]
    (draft,) = drafts
    assert (draft.has_ended, draft.change, draft.is_changed) == (False, "created", True)

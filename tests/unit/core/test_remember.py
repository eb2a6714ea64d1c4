"""Goal: a text becomes facts and vectors in one commit, or nothing is (M11, M14)."""

import json
from typing import Any

import pytest
from msgspec import structs

from tests.worlds import ALICE, QUIET, SCOPE, Model, Pair, id_of_fact, id_of_note, input_of, saying, verdict
from umi_core.config import Config
from umi_core.errors import Conflict, KeyReused, StorageFailed, StorageFull
from umi_core.messages.answers import Embedded, ModelReplied
from umi_core.messages.effects import (
    Asked,
    AskModel,
    Commit,
    Done,
    Embed,
    Expect,
    Failed,
    Outcome,
    Read,
    Refused,
    Unknown,
)
from umi_core.messages.requests import (
    Forget,
    Get,
    GetEntity,
    InCore,
    LastRoutingDecisions,
    Rebalance,
    Recall,
    Remember,
)
from umi_core.messages.results import Recalled, Remembered, Stored
from umi_core.rows import AccessRecord, Address, Core, Entity, Receipt, Vector
from umi_core.workflows.commits import put
from umi_sim.services.model import truth

TEA, COFFEE = (id_of_fact("Alice", f"likes {it}") for it in ("tea", "coffee"))
SNORES = id_of_fact("Bob", "snores")


def remembered(outcome: Outcome) -> Remembered:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Remembered)
    return outcome.value


def entity(pair: Pair, key: str = TEA) -> Entity:
    row = pair.row("entity", key)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def degraded(outcome: Outcome) -> list[tuple[str, str, int]]:
    assert isinstance(outcome, Done), outcome
    return [structs.astuple(item) for item in outcome.degraded]


def kinds(pair: Pair) -> dict[str, int]:
    found = [row.address.kind for row in pair.storage.live_rows(SCOPE)]
    return {kind: found.count(kind) for kind in sorted(set(found))}


# The happy path.


def test_a_new_name_is_one_row_of_each_kind_in_one_commit() -> None:
    pair = Pair(now_ms=5).run()
    outcome = pair.ask(Remember(1, "Alice likes tea"))
    assert remembered(outcome).entities == (Stored(TEA, 1, "created"),)
    assert degraded(outcome) == []
    assert kinds(pair) == {"access": 1, "entity": 1, "epoch": 1, "receipt": 1, "vector": 1}
    assert entity(pair) == Entity(
        TEA, "person", "Alice", "likes tea", 1, 500_000, 900_000, "human", 5, 5, about=(ALICE,),
        is_direct=True,
    )  # fmt: skip


def test_a_second_statement_about_a_name_is_a_row_of_its_own() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    before = pair.row("entity", TEA)
    pair.now_ms = 7
    value = remembered(pair.ask(Remember(2, "Alice works at Acme")))
    works = id_of_fact("Alice", "works at Acme")
    assert (value.entities, value.relations, value.ended) == ((Stored(works, 1, "created"),), (), ())
    assert (entity(pair, works).content, entity(pair, works).created_ms) == ("works at Acme", 7)
    assert pair.row("entity", TEA) == before
    vector = pair.row("vector", works)
    assert vector is not None
    assert isinstance(vector.body, Vector)
    assert vector.body.version == 1


def test_a_known_fact_is_unchanged_and_still_counts_as_access() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    before = pair.row("entity", TEA)
    assert remembered(pair.ask(Remember(2, "ALICE likes tea"))).entities == (Stored(TEA, 1, "unchanged"),)
    assert pair.row("entity", TEA) == before
    assert (len(pair.rows("entity")), pair.memory.state.tiers.access.records[TEA].count) == (1, 2)


def test_a_forgotten_fact_that_is_remembered_again_is_new() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Forget(2, TEA))
    assert remembered(pair.ask(Remember(3, "Alice likes tea"))).entities == (Stored(TEA, 1, "created"),)


def test_a_note_is_stored_once_in_whatever_case_it_is_stated() -> None:
    pair = Pair().run()
    first = remembered(pair.ask(Remember(1, "Buy MILK", extract=False))).entities
    again = remembered(pair.ask(Remember(2, "buy  milk", extract=False))).entities
    assert again == (structs.replace(first[0], change="unchanged"),)
    assert [row.body.content for row in pair.rows("entity") if isinstance(row.body, Entity)] == ["Buy MILK"]


def test_a_known_fact_may_change_its_options() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea", metadata=(("b", "1"), ("a", "2")), source="res_1"))
    pair.ask(Remember(2, "Alice likes tea", importance_ppm=900_000, event_time_ms=3))
    found = entity(pair)
    assert (found.version, found.importance_ppm, found.event_time_ms) == (1, 900_000, 3)
    assert (found.metadata, found.source) == ((("a", "2"), ("b", "1")), "res_1")
    assert pair.memory.state.tiers.access.records[TEA].importance_ppm == 900_000


def test_no_statement_leaves_for_later_ones_about_the_name() -> None:
    pair = Pair().run()
    for n in range(9):
        pair.ask(Remember(n, f"Alice {n}{'x' * 998}"))
    bodies = [row.body for row in pair.rows("entity")]
    assert sorted(it.content[0] for it in bodies if isinstance(it, Entity)) == list("012345678")


def test_two_names_of_one_text_are_stored_together() -> None:
    pair = Pair().run()
    stored = remembered(pair.ask(Remember(1, "Alice likes tea. Bob snores"))).entities
    assert [one.id for one in stored] == [TEA, SNORES]
    assert kinds(pair)["receipt"] == 1


def test_everything_read_is_expected_and_everything_written_carries_the_scope() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    commit = pair.until(Commit)
    here = {
        kind: Address(SCOPE, kind, key)
        for kind, key in (
            ("epoch", "epoch"),
            ("entity", TEA),
            ("ended", TEA),
            ("core", "core"),
        )
    }
    versions = {"epoch": 1}
    assert commit.expects == tuple(Expect(here[kind], versions.get(kind, 0)) for kind in here)
    assert {write.address.scope for write in commit.writes} == {SCOPE}
    assert commit.key == "idm_" + commit.key[4:]


# Without services.


@pytest.mark.parametrize("reply", ["", "no JSON here", '{"entities": NaN}', "x" * 50_001])
def test_an_unusable_reply_keeps_the_text_as_notes(reply: str) -> None:
    pair = Pair(model=saying(extract=reply)).run()
    outcome = pair.ask(Remember(1, "Alice likes tea"))
    reason = {"": "empty", "x" * 50_001: "too_long"}.get(reply, "no_json")
    assert degraded(outcome) == [("extract:notes", reason, 1)]
    note = entity(pair, id_of_note("Alice likes tea"))
    assert (note.type, note.name, note.content, note.block) == (
        "note",
        "Alice likes tea",
        "Alice likes tea",
        "scratch",
    )


CUT_OFF = """{"entities": [{"name": "Ann", "type": "person", "content": "Ann lives in Rome and hates olives.",
"confidence": 0.9}, {"name": "Rome", "type": "locati"""


@pytest.mark.parametrize("reply", [CUT_OFF, "", "I would rather not."])
def test_a_model_that_sees_the_error_of_its_reply_answers_well(reply: str) -> None:
    prompts = list[str]()

    def extract(prompt: str) -> str:
        prompts.append(prompt)
        return truth("extract", prompt) if "INPUT problem" in prompt else reply

    text = "Alice lives in Rome and hates olives."
    pair = Pair(model=saying(extract=extract)).run()
    outcome = pair.ask(Remember(1, text))
    assert degraded(outcome) == []
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Remembered)
    assert [entity(pair, it.id).content for it in outcome.value.entities] == [text]
    first, second = prompts
    assert second.startswith(first + "\nINPUT problem = ")


@pytest.mark.parametrize(("speaker", "kept_as"), [(None, "note"), ("Zoë", "person")])
def test_what_speakers_say_of_themselves_is_found_again(speaker: str | None, kept_as: str) -> None:
    pair = Pair(model=truth).run()
    outcome = pair.ask(Remember(1, "I am allergic to nuts. Ann called.", speaker=speaker))
    assert degraded(outcome) == [("extract:uncovered", "passed_over", 1)]
    found = pair.ask(Recall(2, "nuts"))
    assert isinstance(found, Done)
    assert isinstance(found.value, Recalled)
    assert [(hit.type, hit.content) for hit in found.value.hits] == [(kept_as, "I am allergic to nuts.")]
    assert [hit.name for hit in found.value.hits] == [speaker or "I am allergic to nuts."]


def test_an_absent_model_never_loses_the_text() -> None:
    pair = Pair().run()
    assert degraded(pair.ask(Remember(1, "Alice likes tea"), AskModel)) == [
        ("extract:notes", "unavailable", 1)
    ]
    assert kinds(pair)["entity"] == 1


def test_without_extraction_the_text_is_notes_and_nothing_is_degraded() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea", extract=False))
    assert isinstance(pair.pending[0], Read)
    assert degraded(pair.run().replies[1].outcome) == []


def test_a_wrong_part_of_a_reply_of_the_model_is_dropped_and_reported() -> None:
    reply = json.dumps(
        {"entities": [7, {"name": "Alice", "content": "likes tea", "confidence": 0.1}, {"name": "he"}]}
    )
    outcome = Pair(model=saying(extract=reply)).run().ask(Remember(1, "Alice likes tea"))
    assert remembered(outcome).dropped == ((0, "not_object"), (1, "low_confidence"), (2, "pronoun"))
    assert degraded(outcome) == [("extract:partial", "malformed", 1)]
    assert [one.id for one in remembered(outcome).entities] == [id_of_note("Alice likes tea")]


def test_without_vectors_the_row_is_marked() -> None:
    pair = Pair().run()
    outcome = pair.ask(Remember(1, "Alice likes tea"), Embed)
    assert degraded(outcome) == [("embed:no_vectors", "unavailable", 1)]
    assert (entity(pair).vector_missing, pair.rows("vector")) == (True, [])


def test_with_embedding_switched_off_there_is_no_vector_and_no_mark() -> None:
    pair = Pair().run()
    assert degraded(pair.ask(Remember(1, "Alice likes tea", embed=False))) == []
    assert (entity(pair).vector_missing, pair.rows("vector")) == (False, [])


@pytest.mark.parametrize(
    ("vectors", "named"),
    [
        (((1,) * 64,), [("embed:no_vectors", "wrong number of vectors", 1)]),
        (((1,) * 64, (0,) * 64), [("embed:no_vectors", "zero", 1)]),
        (((1,) * 63, (1.5,) * 64), [("embed:no_vectors", "wrong_length", 2)]),
    ],
)
def test_an_unsound_vector_counts_as_missing(vectors: Any, named: list[tuple[str, str, int]]) -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea. Bob snores"))
    embed = pair.until(Embed)
    pair.pending.clear()
    pair.step(Embedded(embed.request_id, vectors))
    assert degraded(pair.run().replies[1].outcome) == named
    sound = [len(vector) == 64 and any(vector) and isinstance(vector[0], int) for vector in vectors]
    assert [not entity(pair, key).vector_missing for key in (TEA, SNORES)] == (
        sound if len(sound) == 2 else [False] * 2
    )


def test_a_required_read_that_fails_is_an_error_and_nothing_changes() -> None:
    pair = Pair().run()
    before = pair.storage.digest()
    assert pair.ask(Remember(1, "Alice likes tea"), Read) == Failed(StorageFailed("lookup", "unavailable", 3))
    assert pair.ask(Remember(2, "Alice likes tea"), Commit) == Failed(
        StorageFailed("commit", "unavailable", 3)
    )
    assert pair.storage.digest() == before
    assert pair.memory.state.tiers.session.interaction_count == 0


def test_a_full_storage_is_reported_without_a_retry() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    pair.until(Commit)
    pair.fail("full")
    assert pair.replies[1].outcome == Failed(StorageFull("commit", "full", 1))


# Commits that are not answered, or come second.


def test_an_unknown_commit_is_sent_again_under_the_same_key_and_counts_once() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    first = pair.until(Commit)
    pair.land(first)
    pair.fail("unknown")
    (again,) = pair.wake()
    assert isinstance(again, Commit)
    assert (again.key, again.writes) == (first.key, first.writes)
    assert remembered(pair.run().replies[1].outcome).entities == (Stored(TEA, 1, "created"),)
    assert pair.memory.state.tiers.access.records[TEA].count == 1
    assert pair.memory.state.tiers.session.interaction_count == 1


def test_a_commit_never_answered_is_unknown_and_the_memory_has_learnt_nothing() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    commit = pair.until(Commit)
    pair.land(commit)
    for _ in range(3):
        pair.pending.clear()
        pair.wake()
        _ = pair.memory.state.operations and pair.wake()
    assert pair.replies[1].outcome == Unknown()
    assert pair.memory.state.tiers.access.records == {}
    assert remembered(pair.ask(Remember(2, "Alice likes tea"))).entities == (Stored(TEA, 1, "unchanged"),)


def test_a_conflict_is_planned_again_on_what_is_there_now() -> None:
    pair, other = Pair().run(), Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    pair.hold(Commit)
    other.ask(Remember(2, "Alice likes tea", importance_ppm=9))
    writes = tuple(put(SCOPE, it.address.kind, it.address.id, it.body) for it in other.rows("entity"))
    pair.land(Commit(writes, ()))
    pair.release()
    assert remembered(pair.replies[1].outcome).entities == (Stored(TEA, 1, "unchanged"),)
    assert entity(pair).importance_ppm == 9


def test_three_conflicts_are_the_end_and_nothing_changed() -> None:
    pair = Pair().run()
    pair.step(Remember(1, "Alice likes tea"))
    for _ in range(3):
        pair.until(Commit)
        pair.fail("conflict")
    assert pair.replies[1].outcome == Failed(Conflict("commit", "conflict", 1))
    assert pair.rows("entity") == []


# Request keys.


def test_a_known_request_key_is_answered_from_its_receipt_for_every_request() -> None:
    pair = Pair().run()
    first = remembered(pair.ask(Remember(1, "Alice likes tea", request_key="k")))
    before = pair.storage.digest()
    pair.step(Remember(2, "Alice likes tea", request_key="k"))
    pair.answer()
    assert remembered(pair.replies[2].outcome) == structs.replace(first, repeated=True)
    later = Pair(storage=pair.storage).run()
    assert remembered(later.ask(Remember(3, "Alice likes tea", request_key="k"))).repeated
    assert pair.storage.digest() != before  # the epoch of the later life, and nothing else
    assert kinds(pair)["receipt"] == 1
    assert pair.memory.state.tiers.session.interaction_count == 1


def test_another_request_under_a_known_key_is_refused() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea", request_key="k"))
    assert pair.ask(Remember(2, "Alice likes coffee", request_key="k")) == Refused(KeyReused("k"))
    assert pair.ask(Forget(3, TEA, "k")) == Refused(KeyReused("k"))
    assert [row.address.id for row in pair.rows("entity")] == [TEA]


def two_in_flight(first: Remember, second: Remember | Forget) -> Pair:
    """Both have seen that the key is new; the first one commits before the second."""
    pair = Pair().run()
    pair.ask(Remember(0, "Bob snores"))
    pair.step(first)
    pair.hold(Commit)
    pair.step(second)
    while pair.pending and not isinstance(pair.pending[0], Commit):
        pair.answer()
    return pair.release()


def test_the_same_request_twice_in_flight_happens_once() -> None:
    pair = two_in_flight(
        Remember(1, "Alice likes tea", request_key="k"), Remember(2, "Alice likes tea", request_key="k")
    )
    one, other = (remembered(pair.replies[n].outcome) for n in (1, 2))
    assert (one.repeated, other) == (False, structs.replace(one, repeated=True))
    assert (entity(pair).version, pair.memory.state.tiers.access.records[TEA].count) == (1, 1)
    assert pair.memory.state.tiers.session.interaction_count == 2


@pytest.mark.parametrize(
    "second", [Remember(2, "Alice likes coffee", request_key="k"), Forget(2, SNORES, "k")]
)
def test_another_request_that_loses_its_key_in_flight_is_refused(
    second: Remember | Forget,
) -> None:
    pair = two_in_flight(Remember(1, "Alice likes tea", request_key="k"), second)
    assert pair.replies[2].outcome == Refused(KeyReused("k"))
    assert {row.address.id for row in pair.rows("entity")} == {TEA, SNORES}


# Routing and core.


def routing(**rows: tuple[str, bool, float]) -> Model:
    """A model that routes by name: block, promote, confidence."""

    def choose(prompt: str) -> str:
        fields = ("entity_id", "block", "promote", "confidence")
        asked = [one for one in input_of(prompt, "entities") if one["name"] in rows]
        routes = [dict(zip(fields, (one["entity_id"], *rows[one["name"]]), strict=True)) for one in asked]
        return json.dumps(routes)

    return saying(route=choose)


ROUTED = structs.replace(QUIET, semantic_routing=True)


def test_the_model_may_choose_a_block_and_a_place_in_core() -> None:
    pair = Pair(config=ROUTED, model=routing(Alice=("goals", True, 0.9), Bob=("facts", True, 0.7))).run()
    value = remembered(pair.ask(Remember(1, "Alice likes tea. Bob snores")))
    decisions = [(one.block, one.routed_by, one.cause, one.outcome) for one in value.routing]
    assert decisions == [("goals", "model", None, "promoted"), ("facts", "model", "promote_low", "not_asked")]
    assert (value.promoted, entity(pair, SNORES).block) == ((TEA,), "facts")
    assert pair.ask(InCore(2, TEA)) == Done(True)
    assert pair.ask(LastRoutingDecisions(3)) == Done(value.routing)


def test_a_bad_row_costs_its_own_fact_only() -> None:
    pair = Pair(config=ROUTED, model=routing(Alice=("system", True, 0.9), Bob=("facts", False, 0.9))).run()
    outcome = pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    assert degraded(outcome) == [("route:partial", "system_block", 1)]
    assert [one.block for one in remembered(outcome).routing] == ["human", "facts"]


@pytest.mark.parametrize("absent", [True, False])
def test_without_a_usable_routing_the_table_decides(absent: bool) -> None:
    pair = Pair(config=ROUTED, model=saying(route="?")).run()
    pair.step(Remember(1, "Alice likes tea"))
    pair.answer()
    outcome = pair.run(*([AskModel] if absent else [])).replies[1].outcome
    assert degraded(outcome) == [("route:table", "unavailable" if absent else "no_json", 1)]
    assert remembered(outcome).routing[0].routed_by == "table"


def test_a_known_fact_keeps_its_block_without_a_question() -> None:
    pair = Pair(config=ROUTED, model=routing(Alice=("goals", False, 0.9))).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Remember(2, "Alice likes tea"))
    asked: list[Asked] = []
    while pair.pending:
        asked += pair.answer()
    assert [type(effect) for effect in asked] == [Read, Commit]
    (decision,) = remembered(pair.replies[2].outcome).routing
    assert (decision.block, decision.routed_by, decision.outcome) == ("goals", "kept", "not_asked")


def test_what_the_agent_is_enters_core_at_once_each_fact_with_an_entry() -> None:
    pair = Pair().run()
    helps, laughs = (id_of_fact("Umi", it) for it in ("helps", "laughs"))
    assert remembered(pair.ask(Remember(1, "Umi helps"))).promoted == (helps,)
    assert remembered(pair.ask(Remember(2, "Umi laughs"))).promoted == (laughs,)
    (block,) = pair.memory.state.tiers.core.blocks
    assert (block.kind, [it.text for it in block.entries]) == ("persona", ["helps", "laughs"])
    row = pair.row("core", "core")
    assert row is not None
    assert row.body == Core(pair.memory.state.tiers.core.blocks)
    assert row.version == pair.memory.state.tiers.core.guard_version == 2


def lose(pair: Pair, key: str = TEA) -> None:
    """Storage loses the row of a fact that core shows."""
    pair.land(Commit((put(SCOPE, "entity", key, None),), ()))


def test_a_fact_in_core_whose_row_was_lost_stays_in_its_block_when_it_is_remembered_again() -> None:
    choice = {"Alice": ("goals", True, 0.9)}
    pair = Pair(config=ROUTED, model=lambda task, prompt: routing(**choice)(task, prompt)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    choice["Alice"] = ("facts", True, 0.9)
    lose(pair)
    value = remembered(pair.ask(Remember(2, "Alice likes tea")))
    assert (value.routing[0].outcome, value.promoted) == ("not_asked", ())
    assert [block.kind for block in pair.memory.state.tiers.core.blocks] == ["goals"]


def test_a_fact_that_is_evicted_for_a_stronger_one_is_reported() -> None:
    config = structs.replace(ROUTED, core_entry_count_max=1)
    both = routing(Alice=("human", True, 0.9), Bob=("human", True, 0.9))
    pair = Pair(config=config, model=both).run()
    pair.ask(Remember(1, "Alice likes tea", importance_ppm=0))
    value = remembered(pair.ask(Remember(2, "Bob snores", importance_ppm=1_000_000)))
    assert (value.promoted, value.evicted) == ((SNORES,), (TEA,))
    value = remembered(pair.ask(Remember(3, "Alice naps", importance_ppm=0)))
    assert (value.routing[0].outcome, value.promoted) == ("refused_full", ())


def test_what_was_promoted_meanwhile_stays_in_core() -> None:
    config = structs.replace(QUIET, promote_score_min_ppm=0)
    pair = Pair(config=config).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Remember(2, "Alice likes coffee"))
    pair.hold(Commit)
    pair.ask(Rebalance(3))
    assert pair.ask(InCore(4, TEA)) == Done(True)
    pair.release()
    assert [it.id for it in remembered(pair.replies[2].outcome).entities] == [COFFEE]
    assert [it.entity_id for _, it in pair.memory.state.tiers.core.entries()] == [TEA]


def test_a_name_is_shown_in_core_without_what_xml_cannot_write() -> None:
    reply = json.dumps({"entities": [{"name": "U\uffffmi", "type": "self", "content": "x", "confidence": 1}]})
    pair = Pair(model=saying(extract=reply)).run()
    pair.ask(Remember(1, "x"))
    (block,) = pair.memory.state.tiers.core.blocks
    assert block.entries[0].name == "U\ufffdmi"


# What the reserved keys show.


def test_reserved_keys_tell_what_was_committed() -> None:
    pair = Pair().run()
    assert pair.ask(Get(1, "__interaction_count")) == Done(b"0")
    pair.ask(Remember(2, "Alice likes tea. Bob snores"))
    pair.ask(Remember(3, "Alice naps"), Commit)
    shown = [
        pair.ask(Get(n, f"__{key}"))
        for n, key in enumerate(("interaction_count", "last_input", "last_entities"), 4)
    ]
    assert shown == [Done(b"1"), Done(b"Alice likes tea. Bob snores"), Done(b'["Alice","Bob"]')]


def test_a_remember_is_an_access_of_all_it_names() -> None:
    pair = Pair(now_ms=9).run()
    pair.ask(Remember(1, "Alice likes tea. Bob snores"))
    records = pair.memory.state.tiers.access.records
    assert [(records[key].count, records[key].last_ms) for key in (TEA, SNORES)] == [(1, 9), (1, 9)]
    assert pair.memory.state.tiers.access.unsaved == {}
    assert [row.body for row in pair.rows("access")] == [records[key] for key in sorted((TEA, SNORES))]


def test_a_late_answer_of_the_model_is_not_taken() -> None:
    pair = Pair().run()
    (asked,) = pair.step(Remember(1, "Alice likes tea"))
    pair.pending.clear()
    pair.wake()
    assert pair.step(ModelReplied(asked.request_id, '{"entities": []}')) == []
    assert isinstance(pair.ask(GetEntity(2, TEA)), Done)
    assert remembered(pair.replies[1].outcome).entities == (Stored(TEA, 1, "created"),)


def test_a_receipt_has_what_the_reply_had() -> None:
    pair = Pair().run()
    value = remembered(pair.ask(Remember(1, "Alice likes tea")))
    (row,) = pair.rows("receipt")
    assert isinstance(row.body, Receipt)
    assert (row.body.value, row.body.key) == (value, row.address.id)


def test_a_receipt_has_no_reasons_and_a_repeated_reply_none() -> None:
    pair = Pair(model=saying(evolve=verdict("update"))).run()
    pair.ask(Remember(1, "Alice likes tea"))
    value = remembered(pair.ask(Remember(2, "Alice likes no tea", request_key="k")))
    assert [it.reason for it in value.relations] == ["so"]
    relations = tuple(structs.replace(it, reason="") for it in value.relations)
    kept = [row.body.value for row in pair.rows("receipt") if isinstance(row.body, Receipt)]
    assert relations in [getattr(it, "relations", ()) for it in kept]
    again = remembered(pair.ask(Remember(3, "Alice likes no tea", request_key="k")))
    assert again == structs.replace(value, relations=relations, repeated=True)


def test_a_recall_that_comes_before_a_restatement_keeps_the_later_access() -> None:
    pair = Pair(config=Config(auto_rebalance=False)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.step(Remember(2, "Alice likes tea"))
    pair.hold(Commit)
    pair.now_ms = 50
    pair.ask(Recall(3, "Alice"))
    pair.release()
    record = pair.memory.state.tiers.access.records[TEA]
    assert (record.count, record.first_ms, record.last_ms) == (3, 0, 50)
    assert list(pair.memory.state.tiers.access.unsaved) == [TEA]


def test_a_plan_that_won_late_may_have_put_an_older_count_in_place() -> None:
    """Bob's first plan carries a count of the tea and lands when a newer one is stored; his next is lost."""
    pair = Pair(config=Config(auto_rebalance=False)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Recall(2, "Alice"))
    pair.step(Remember(3, "Bob naps"))
    first = pair.until(Commit)
    pair.fail("unknown")
    for request in (Recall(4, "Alice"), Remember(5, "Carol naps")):
        pair.step(request)
        while pair.pending:
            pair.answer()
    pair.wake()
    pair.fail("conflict")
    pair.until(Commit)
    assert pair.memory.state.tiers.access.unsaved == {}
    pair.land(first)
    pair.run()
    row = pair.row("access", TEA)
    assert row is not None
    assert isinstance(row.body, AccessRecord)
    assert (row.body.count, pair.memory.state.tiers.access.records[TEA].count) == (2, 3)
    assert TEA in pair.memory.state.tiers.access.unsaved

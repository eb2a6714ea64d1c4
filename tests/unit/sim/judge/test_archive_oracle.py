"""Goal: the archive oracle accepts what the log of batches explains, and names the rule a lie breaks."""

import json
from typing import Any

import pytest
from msgspec import structs

from tests.histories import (
    ACME,
    ALICE,
    NOW_MS,
    SCOPE,
    History,
    as_stored,
    broken,
    entity,
    extraction,
    fact,
    hit,
    note,
    remembered,
    two_known,
)
from umi_core import errors
from umi_core.language.words import auto_name
from umi_core.limits import RECEIPT_MS_MAX
from umi_core.messages.effects import Degraded, Done, Failed, Refused, Unknown
from umi_core.messages.requests import Count, Forget, GetEntity, Remember, Search
from umi_core.messages.results import Forgotten, Hit, LevelHit, Remembered, Retrieved
from umi_core.rows import Address, Entity
from umi_core.values import RoutingDecision
from umi_sim.judge.oracle.archive import model

ONE_NOTE = Degraded("extract:notes", "timeout")
TEA, SALES, LEFT = fact(ALICE, "likes tea"), fact(ACME, "sells tea"), fact(ALICE, "left Acme")
LIKES_TEA, LEFT_ACME = (ALICE, "likes tea"), (ALICE, "left Acme")


# What was acknowledged.


def test_what_was_acknowledged_is_read_back() -> None:
    history = two_known()
    history.get(TEA, entity(ALICE, "likes tea"))
    history.get(SALES, entity(ACME, "sells tea", follows=TEA))
    history.count_of(2)


def test_an_acknowledged_entity_is_there() -> None:
    history = two_known()
    with broken("acknowledged-is-durable"):
        history.get(TEA, None)


def test_an_acknowledged_entity_survives_a_crash() -> None:
    history = two_known()
    history.oracle.observe_crash()
    history.get(TEA, entity(ALICE, "likes tea"))
    with broken("acknowledged-is-durable"):
        history.get(SALES, None)


@pytest.mark.parametrize(
    "lie",
    [
        {"content": "likes coffee"},
        {"name": "ALICE"},
        {"type": "note"},
        {"importance_ppm": 500_001},
        {"event_time_ms": 5},
        {"metadata": (("k", "v"),)},
        {"source": "elsewhere"},
        {"block": "scratch"},
        {"created_ms": NOW_MS - 1},
        {"updated_ms": NOW_MS + 1},
    ],
)
def test_a_row_is_what_was_stated(lie: dict[str, Any]) -> None:
    history = two_known()
    with broken("reference-agrees"):
        history.get(TEA, structs.replace(entity(ALICE, "likes tea"), **lie))


def test_explicit_options_are_kept_and_nothing_else_is() -> None:
    history = History()
    history.store(
        (ALICE, "likes tea"), importance_ppm=7, event_time_ms=5, metadata=(("b", ""), ("a", "")), source="s"
    )
    row = entity(
        ALICE, "likes tea", importance_ppm=7, event_time_ms=5, metadata=(("a", ""), ("b", "")), source="s"
    )
    history.get(TEA, row)
    history.store((ALICE, "likes tea"), change="unchanged", importance_ppm=8)
    history.get(TEA, structs.replace(row, importance_ppm=8))
    with broken("reference-agrees"):
        history.get(TEA, row)


def test_a_statement_that_is_repeated_stays_as_it_was_first() -> None:
    history = two_known()
    op_id = history.ask(Remember("", "tea", embed=False), NOW_MS + 9)
    history.hear(op_id, "extract", extraction((ALICE, "LIKES tea")).replace("Alice", "ALICE"))
    history.reply(op_id, as_stored(LIKES_TEA, change="unchanged"), now_ms=NOW_MS + 9)
    history.get(TEA, entity(*LIKES_TEA))
    for lie in ({"name": "ALICE"}, {"content": "LIKES tea"}, {"updated_ms": NOW_MS + 9}):
        with broken("reference-agrees"):
            history.get(TEA, structs.replace(entity(*LIKES_TEA), **lie))


def test_a_bad_request_is_refused_and_a_good_one_is_not() -> None:
    history = two_known()
    history.reply(history.ask(Remember("", " ")), Refused(errors.EmptyText()))
    history.reply(history.ask(Count("")), Refused(errors.TooBusy(64, 64)))
    with broken("reference-agrees"):
        history.reply(history.ask(Remember("", " ")), remembered())
    with broken("reference-agrees"):
        history.reply(history.ask(Count("")), Refused(errors.EmptyText()))


# A claim.


def test_another_statement_about_one_entity_is_another_fact() -> None:
    history = two_known()
    history.store(LEFT_ACME)
    history.get(LEFT, entity(*LEFT_ACME))
    history.get(TEA, entity(*LIKES_TEA))
    history.count_of(3)


def test_a_new_statement_is_version_one_of_its_fact() -> None:
    history = two_known()
    with broken("once-only"):
        history.store(LEFT_ACME, version=2)


def test_a_new_statement_is_no_known_one() -> None:
    history = two_known()
    with broken("reference-agrees"):
        history.reply(history.tell(LEFT_ACME, embed=False), as_stored(LIKES_TEA, change="unchanged"))


def test_two_remembers_in_flight_do_not_take_one_version() -> None:
    history = two_known()
    first, second = history.tell(LEFT_ACME, embed=False), history.tell(LEFT_ACME, embed=False)
    history.reply(first, as_stored(LEFT_ACME))
    with broken("no-lost-update"):
        history.reply(second, as_stored(LEFT_ACME))


def test_what_belongs_to_another_scope_is_not_shown() -> None:
    history = two_known()
    history.context.is_elsewhere = lambda key: key == "fct_theirs"
    with broken("scope-apart"):
        history.get(TEA, structs.replace(entity(*LIKES_TEA), id="fct_theirs"))
    with broken("scope-apart"):
        history.recall("tea", structs.replace(hit(*LIKES_TEA, 600_000), id="fct_theirs"))
    with broken("acknowledged-is-durable"):
        history.get(TEA, None)


@pytest.mark.parametrize("first", [0, 1])
def test_two_remembers_in_flight_take_effect_in_either_order(first: int) -> None:
    history = two_known()
    ids = [history.tell(LEFT_ACME, embed=False) for _ in range(2)]
    history.land(ids[first])
    for n, op_id in enumerate(ids):
        history.reply(op_id, as_stored(LEFT_ACME, change="created" if n == first else "unchanged"))
    history.get(LEFT, entity(*LEFT_ACME))


def test_an_other_answer_of_the_model_gives_other_ids() -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"))
    with broken("reference-agrees"):
        history.reply(op_id, as_stored((ACME, "likes tea")))


def test_what_was_dropped_is_reported() -> None:
    history = History()
    op_id = history.ask(Remember("", "so", embed=False))
    history.hear(
        op_id,
        "extract",
        '{"entities": [{"name": "he"}, {"name": "Alice", "type": "person", "content": "c"}]}',
    )
    with broken("reference-agrees"):
        history.reply(op_id, as_stored(LIKES_TEA))


LOST = Degraded("extract:uncovered", "passed_over")
NAPS, REST = as_stored((ALICE, "naps")), note("I rest.")[1]
BOTH = structs.replace(NAPS, entities=NAPS.entities + REST.entities, routing=NAPS.routing + REST.routing)


@pytest.mark.parametrize(
    ("text", "stored", "lacks"),
    [("I rest.", NAPS, [LOST]), ("I rest.", BOTH, []), ("Thanks.", NAPS, [LOST])],
    ids=["not kept", "not named", "named for nothing"],
)
def test_what_an_answer_passes_over_is_kept_and_named(
    text: str, stored: Remembered, lacks: list[Degraded]
) -> None:
    history = History()
    op_id = history.ask(Remember("", f"{text} Alice naps.", embed=False))
    history.hear(op_id, "extract", extraction((ALICE, "naps")))
    with broken("sentence-never-lost"):
        history.reply(op_id, stored, *lacks)


# All or nothing.


@pytest.mark.parametrize("ending", ["crash", "unknown"])
@pytest.mark.parametrize("is_durable", [True, False])
def test_a_remember_without_an_answer_happened_or_did_not(ending: str, is_durable: bool) -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"), (ACME, "sells tea"), embed=False)
    batch = history.send(op_id)
    if ending == "unknown":
        history.reply(op_id, Unknown())
    else:
        history.oracle.observe_crash()
    history.get(TEA, None)
    if is_durable:
        history.oracle.observe_commit(batch)
    rows = [entity(*LIKES_TEA), entity(ACME, "sells tea", follows=TEA)] if is_durable else [None, None]
    history.get(TEA, rows[0])
    history.get(SALES, rows[1])
    with broken("all-or-nothing" if is_durable else "reference-agrees"):
        history.get(SALES, None if is_durable else entity(ACME, "sells tea"))


def test_a_claim_shows_whether_an_earlier_remember_happened() -> None:
    history = History()
    history.land(history.tell((ALICE, "likes tea"), (ACME, "sells tea"), embed=False))
    history.oracle.observe_crash()
    history.store(LIKES_TEA, change="unchanged")
    history.get(TEA, entity(*LIKES_TEA))
    with broken("all-or-nothing"):
        history.get(SALES, None)


def test_an_unknown_remember_may_land_after_it_was_not_seen() -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"), embed=False)
    history.reply(op_id, Unknown())
    history.get(TEA, None)
    history.land(op_id)
    history.get(TEA, entity(ALICE, "likes tea"))
    with broken("acknowledged-is-durable"):
        history.get(TEA, None)


def test_an_unknown_remember_cannot_land_once_a_later_life_has_written() -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"))
    batch = history.send(op_id)
    history.reply(op_id, Unknown())
    history.crash()
    history.store((ACME, "sells tea"))
    with broken("old-life-fenced"):
        history.oracle.observe_commit(batch)


def test_a_failed_remember_changed_nothing() -> None:
    history = History()
    history.reply(history.tell((ALICE, "likes tea")), Failed(errors.StorageFull("commit", "full", 1)))
    history.get(TEA, None)
    with broken("reference-agrees"):
        history.get(TEA, entity(ALICE, "likes tea"))


def test_a_remember_that_is_durable_cannot_fail() -> None:
    failed = Failed(errors.StorageFailed("commit", "unavailable", 3))
    history = History()
    op_id = history.tell((ALICE, "likes tea"))
    history.land(op_id)
    with broken("reference-agrees"):
        history.reply(op_id, failed)
    history = History()
    op_id = history.tell((ALICE, "likes tea"))
    history.reply(op_id, failed)
    with broken("reference-agrees"):
        history.land(op_id)


def test_a_remember_that_is_done_is_durable() -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"), embed=False)
    with broken("acknowledged-is-durable"):
        history.close(op_id, Done(as_stored(LIKES_TEA)))


def test_a_read_sees_a_write_in_flight_before_or_after() -> None:
    history = two_known()
    read, write = history.ask(GetEntity("", LEFT)), history.tell(LEFT_ACME, embed=False)
    history.reply(write, as_stored(LEFT_ACME))
    history.reply(read, None)
    history.get(LEFT, entity(*LEFT_ACME))


def test_a_read_does_not_see_what_was_over_before_it_began() -> None:
    history = two_known()
    history.forget(TEA)
    read = history.ask(GetEntity("", TEA))
    history.reply(history.tell(LIKES_TEA), Unknown())
    with broken("deleted-stays-deleted"):
        history.reply(read, entity(*LIKES_TEA))


# Forgetting.


def test_a_forgotten_fact_is_gone_and_remembered_again_it_is_new() -> None:
    history = two_known()
    history.forget(TEA)
    history.get(TEA, None)
    history.forget(TEA, existed=False)
    history.store(LIKES_TEA)
    history.get(TEA, entity(*LIKES_TEA))
    with broken("once-only"):
        history.get(TEA, entity(*LIKES_TEA, 2))


def test_a_forgotten_entity_is_not_shown() -> None:
    history = two_known()
    history.forget(TEA)
    with broken("deleted-stays-deleted"):
        history.get(TEA, entity(*LIKES_TEA))
    with broken("deleted-stays-deleted"):
        history.recall("tea", hit(*LIKES_TEA, 1_000_000))


BEST, SECOND = hit(*LIKES_TEA, 900_000), hit(ACME, "sells tea", 800_000)


@pytest.mark.parametrize(
    ("rule", "hits"),
    [
        ("hits-ordered", (SECOND, BEST)),
        ("hits-ordered", (BEST, BEST)),
        ("hits-ordered", (BEST, SECOND, hit(ACME, "sells tea", 700_000))),
        ("filter-before-cut", (structs.replace(BEST, score_ppm=299_999, relevance_ppm=299_999),)),
        ("filter-before-cut", (structs.replace(BEST, score_ppm=1_000_001, relevance_ppm=1_000_001),)),
        ("fusion-rule", (structs.replace(BEST, score_ppm=899_999),)),
    ],
)
def test_hits_are_those_of_a_search_where_storage_has_lost_rows(rule: str, hits: tuple[Hit, ...]) -> None:
    history = two_known()
    history.surroundings.atlas.lose("storage_rot", "o1", NOW_MS, Address(SCOPE, "entity", "fct_lost"))
    history.recall("tea", BEST, SECOND, limit=2)
    with broken(rule):
        history.recall("tea", *hits, limit=2)


def level_hit(found: Hit, **more: Any) -> LevelHit:
    it = LevelHit("entities", found.id, 1, found.score_ppm, None, found.name, found.content)
    return structs.replace(it, **more)


ONE, TWO = level_hit(BEST), level_hit(SECOND)
NO_HITS = Retrieved("tea", None, (), (), (), "exhausted", "vector", "")


@pytest.mark.parametrize(
    ("rule", "hits"),
    [
        ("hits-within-limits", (TWO, ONE)),
        ("hits-within-limits", (ONE, ONE)),
        ("hits-within-limits", (level_hit(BEST, level="resources", id="x"), ONE, TWO)),
        ("hits-within-limits", (level_hit(BEST, score_ppm=99_999),)),
        ("reference-agrees", (level_hit(BEST, text="likes coffee"),)),
        ("read-scope", (level_hit(BEST, id="fct_theirs"),)),
    ],
)
def test_hits_of_a_retrieve_are_facts_in_order_whatever_storage_gave(
    rule: str, hits: tuple[LevelHit, ...]
) -> None:
    history = two_known()
    history.context.is_elsewhere = lambda key: key == "fct_theirs"
    request = Search("", "tea", limit_per_level=2, total_limit=2, min_score_ppm=100_000)
    damaged = Degraded("read:damaged_rows", "damaged", 1)
    right, wrong = (history.ask(request) for _ in range(2))
    history.reply(right, structs.replace(NO_HITS, hits=(ONE, TWO)), damaged)
    with broken(rule):
        history.reply(wrong, structs.replace(NO_HITS, hits=hits), damaged)


def test_forget_says_whether_there_was_something() -> None:
    history = two_known()
    with broken("acknowledged-is-durable"):
        history.forget(TEA, existed=False)
    history = two_known()
    history.forget(TEA)
    with broken("deleted-stays-deleted"):
        history.forget(TEA, existed=True)


def test_a_forget_without_an_answer_happened_or_did_not() -> None:
    for row in (entity(ALICE, "likes tea"), None):
        history = two_known()
        op_id = history.ask(Forget("", TEA))
        if row is None:
            history.land(op_id)
        history.oracle.observe_crash()
        history.get(TEA, row)
        history.get(SALES, entity(ACME, "sells tea", follows=TEA))


# Once.


def test_the_same_text_again_changes_nothing() -> None:
    history = two_known()
    history.store((ALICE, "likes tea"), change="unchanged")
    with broken("once-only"):
        history.store((ALICE, "likes tea"), version=2)


def test_a_commit_that_took_effect_twice_is_seen() -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"))
    history.land(op_id)
    history.reply(op_id, Unknown())
    with broken("once-only"):
        history.get(TEA, entity(ALICE, "likes tea", 2))


def test_a_remember_does_not_find_what_it_made_itself() -> None:
    history = History()
    with broken("once-only"):
        history.store((ALICE, "likes tea"), change="unchanged")


def test_a_known_key_gives_the_same_value_and_says_so() -> None:
    for value in (
        as_stored(LIKES_TEA, repeated=False),
        as_stored(LIKES_TEA, version=2, repeated=True),
        as_stored(LIKES_TEA, change="unchanged", repeated=True),
        as_stored(LIKES_TEA, ended=(SALES,), repeated=True),
    ):
        history = History()
        history.store((ALICE, "likes tea"), request_key="k")
        op_id = history.ask(Remember("", "likes tea", request_key="k"))
        history.reply(op_id, as_stored(LIKES_TEA, repeated=True))
        with broken("once-only"):
            history.reply(history.ask(Remember("", "likes tea", request_key="k")), value)


def test_nothing_is_repeated_that_was_not_asked_before() -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"), request_key="k")
    with broken("once-only"):
        history.reply(op_id, as_stored(LIKES_TEA, repeated=True))


@pytest.mark.parametrize("has_happened", [True, False])
def test_a_key_without_an_answer_may_be_asked_again(has_happened: bool) -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"), embed=False, request_key="k")
    if has_happened:
        history.land(op_id)
    history.reply(op_id, Unknown())
    history.oracle.observe_crash()
    op_id = history.tell((ALICE, "likes tea"), embed=False, request_key="k")
    history.reply(op_id, as_stored(LIKES_TEA, repeated=has_happened))
    history.get(TEA, entity(ALICE, "likes tea"))


def test_a_key_is_reused_only_by_another_request() -> None:
    history = History()
    history.store((ALICE, "likes tea"), request_key="k")
    refused = Refused(errors.KeyReused("k"))
    history.reply(history.ask(Remember("", "other", request_key="k")), refused)
    with broken("once-only"):
        history.reply(history.ask(Remember("", "likes tea", request_key="k")), refused)


def test_a_forget_that_found_nothing_keeps_its_key() -> None:
    history = two_known()
    history.forget(TEA)
    history.reply(history.ask(Forget("", TEA, "k")), Forgotten(False))
    history.store(LIKES_TEA)
    history.reply(history.ask(Forget("", TEA, "k")), Forgotten(False, repeated=True))
    with broken("once-only"):
        history.reply(history.ask(Forget("", TEA, "k")), Forgotten(True))


def test_a_key_is_known_for_a_day() -> None:
    history = History()
    history.store((ALICE, "likes tea"), request_key="k")
    history.at(NOW_MS + RECEIPT_MS_MAX)
    op_id = history.tell((ALICE, "likes tea"), request_key="k")
    history.reply(op_id, as_stored(LIKES_TEA, change="unchanged"))
    history.at(NOW_MS + 2 * RECEIPT_MS_MAX)
    op_id = history.tell((ALICE, "likes tea"), request_key="k")
    with broken("once-only"):
        history.reply(op_id, as_stored(LIKES_TEA, change="unchanged", repeated=True))


# No text is lost.


def test_a_failed_extraction_keeps_the_whole_text() -> None:
    history = History()
    text = "x" * 300
    key, value = note(text)
    op_id = history.ask(Remember("", text, embed=False))
    history.hear(op_id, "extract", None)
    history.reply(op_id, value, structs.replace(ONE_NOTE, reason="refused"))
    row = Entity(key, "note", auto_name(text), text, 1, 500_000, 500_000, "scratch", NOW_MS, NOW_MS)
    row = structs.replace(row, is_direct=True)
    history.get(key, row)
    with broken("reference-agrees"):
        history.get(key, structs.replace(row, content=text[:200]))


def test_a_failed_extraction_stores_no_other_note() -> None:
    history = History()
    op_id = history.ask(Remember("", "x" * 300))
    history.hear(op_id, "extract", None)
    with broken("text-never-lost"):
        history.reply(op_id, note("x" * 200)[1], ONE_NOTE)


def test_a_remember_stores_something() -> None:
    history = History()
    with broken("text-never-lost"):
        history.reply(history.tell((ALICE, "likes tea")), remembered())


@pytest.mark.parametrize("error", [errors.ModelFailed, errors.EmbedFailed])
def test_no_model_or_embedder_makes_a_remember_fail(error: Any) -> None:
    history = History()
    with broken("text-never-lost"):
        history.reply(history.tell((ALICE, "likes tea")), Failed(error("extract", "timeout", 2)))


# Routing.


def routed(history: History, **lie: Any) -> None:
    op_id = history.tell((ALICE, "likes tea"), embed=False)
    value = as_stored(LIKES_TEA)
    history.reply(op_id, structs.replace(value, routing=(structs.replace(value.routing[0], **lie),)))


@pytest.mark.parametrize(
    ("lie", "rule"),
    [
        ({"block": "facts"}, "route-per-entity"),
        ({"promote": True}, "route-per-entity"),
        ({"routed_by": "kept"}, "route-per-entity"),
        ({"entity_id": SALES}, "route-per-entity"),
        ({"block": "system"}, "system-is-authored"),
        ({"block": "persona"}, "system-is-authored"),
    ],
)
def test_the_table_routes(lie: dict[str, Any], rule: str) -> None:
    routed(History())
    with broken(rule):
        routed(History(), **lie)


def test_each_entity_has_one_decision_in_order() -> None:
    for change in (lambda it: it[:1], lambda it: it[::-1], lambda it: (*it, it[0])):
        history = History()
        op_id = history.tell((ALICE, "likes tea"), (ACME, "sells tea"), embed=False)
        value = as_stored(LIKES_TEA, (ACME, "sells tea"))
        with broken("route-per-entity"):
            history.reply(op_id, structs.replace(value, routing=change(value.routing)))


def test_what_did_not_change_keeps_its_block() -> None:
    history = two_known()
    value = as_stored(LIKES_TEA, change="unchanged")
    history.reply(history.tell((ALICE, "likes tea")), value)
    moved = structs.replace(value.routing[0], block="facts")
    with broken("route-per-entity"):
        history.reply(history.tell((ALICE, "likes tea")), structs.replace(value, routing=(moved,)))


def test_only_what_wants_to_is_promoted() -> None:
    for promoted in ((TEA,), (SALES,)):
        history = History()
        op_id = history.tell((ALICE, "likes tea"), embed=False)
        with broken("route-known-only"):
            history.reply(op_id, as_stored(LIKES_TEA, promoted=promoted))


def by_model(block: str, **more: Any) -> tuple[str, RoutingDecision]:
    reply = json.dumps([{"entity_id": TEA, "block": block, "promote": True, "confidence": 0.9}])
    made = RoutingDecision(TEA, block, True, 900_000, "", "model", None, "promoted")
    return reply, structs.replace(made, **more)


@pytest.mark.parametrize(
    ("answer", "block_named", "rule"),
    [
        ("facts", "facts", None),
        ("facts", "goals", "route-per-entity"),
        ("system", "system", "system-is-authored"),
    ],
)
def test_a_sound_row_of_the_model_routes(answer: str, block_named: str, rule: str | None) -> None:
    history = History(semantic_routing=True)
    op_id = history.tell((ALICE, "likes tea"), embed=False)
    history.hear(op_id, "route", by_model(answer)[0])
    value = structs.replace(as_stored(LIKES_TEA, promoted=(TEA,)), routing=(by_model(block_named)[1],))
    if rule is None:
        history.reply(op_id, value)
        history.get(TEA, entity(ALICE, "likes tea", block=block_named))
        return
    with broken(rule):
        history.reply(op_id, value)


# Counting.


def test_the_count_is_right() -> None:
    history = two_known()
    history.count_of(2)
    for count in (0, 1, 3):
        with broken("error-is-not-empty"):
            history.count_of(count)
    history.reply(history.ask(Count("")), Failed(errors.StorageFailed("read", "unavailable", 3)))


def test_a_count_may_or_may_not_hold_what_is_in_flight() -> None:
    for count in (0, 2):
        history = History()
        read = history.ask(Count(""))
        history.land(history.tell((ALICE, "likes tea"), (ACME, "sells tea")))
        history.reply(read, count)
    for lie in (0, 1, 3):
        with broken("error-is-not-empty"):
            history.count_of(lie)


def test_a_read_is_never_unknown() -> None:
    history = two_known()
    with broken("error-is-not-empty"):
        history.reply(history.ask(Count("")), Unknown())


# Degradation.


def test_a_degradation_has_a_cause() -> None:
    history = History()
    op_id = history.tell((ALICE, "likes tea"), embed=False)
    with broken("degradation-named"):
        history.reply(op_id, note("likes tea")[1], ONE_NOTE)


def test_a_question_without_an_answer_has_timed_out() -> None:
    history = History()
    key, value = note("likes tea")
    op_id = history.ask(Remember("", "likes tea", embed=False))
    history.wait(op_id, "extract")
    history.reply(op_id, value, ONE_NOTE)
    history.get(TEA, None)
    assert history.oracle.known_ids() == (key,)


def test_a_write_in_flight_may_be_visible_to_later_requests() -> None:
    history = History()
    history.tell((ALICE, "likes tea"))
    history.oracle.observe_crash()
    assert history.oracle.known_ids() == (TEA,)


def test_a_failure_is_named() -> None:
    history = History()
    op_id = history.ask(Remember("", "likes tea", embed=False))
    history.hear(op_id, "extract", "no idea")
    with broken("degradation-named"):
        history.reply(op_id, note("likes tea")[1])
    history = History()
    op_id = history.tell((ALICE, "likes tea"))
    with broken("degradation-named"):
        history.reply(op_id, as_stored(LIKES_TEA))


# The oracle itself.


def test_a_rule_that_is_off_says_nothing() -> None:
    history = History(off=("acknowledged-is-durable",))
    history.store((ALICE, "likes tea"))
    history.get(TEA, None)
    history.get(TEA, entity(ALICE, "likes tea"))


def test_the_audit_reads_all_that_may_be_there() -> None:
    history = two_known()
    history.store(LEFT_ACME)
    assert history.oracle.known_ids() == (TEA, SALES, LEFT)
    assert history.oracle.audit() == (
        ("count", {}),
        ("get_entity", {"entity_id": TEA}),
        ("get_entity", {"entity_id": SALES}),
        ("get_entity", {"entity_id": LEFT}),
        ("recall", {"query": "Alice", "limit": 100}),
        ("recall", {"query": "Acme", "limit": 100}),
    )


def test_of_as_many_entities_as_an_audit_may_read_every_second_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model, "AUDIT_ENTITY_COUNT_MAX", 2)
    history = two_known()
    read = [args["entity_id"] for name, args in history.oracle.audit() if name == "get_entity"]
    assert [*dict.fromkeys(read)] == [TEA]
    assert len(history.oracle.known_ids()) == 2


def test_what_failed_is_audited_too() -> None:
    history = History()
    history.reply(history.tell((ALICE, "likes tea")), Failed(errors.StorageFull("commit", "full", 1)))
    assert history.oracle.known_ids() == (TEA,)


# Requests that share a key, and their replies.


def attempt(history: History, *mentions: tuple[str, str]) -> str:
    """The same request under one key; each time its model finds something else in it."""
    op_id = history.ask(Remember("", "so", embed=False, request_key="k"))
    history.hear(op_id, "extract", extraction(*mentions))
    return op_id


def test_a_repeated_reply_is_that_of_the_attempt_that_it_tells_of() -> None:
    history = History()
    history.reply(attempt(history, (ALICE, "naps")), Unknown())
    second = attempt(history, (ACME, "sells tea"))
    history.land(second)
    history.reply(second, Unknown())
    history.reply(attempt(history), as_stored((ACME, "sells tea"), repeated=True))
    history.get(SALES, entity(ACME, "sells tea"))
    history.get(TEA, None)


def test_a_note_in_place_of_what_a_model_found_has_a_cause_for_every_request() -> None:
    history = History()
    history.reply(attempt(history, (ALICE, "naps")), Unknown())
    with broken("degradation-named"):
        history.reply(attempt(history, (ALICE, "naps")), note("so")[1], ONE_NOTE)


@pytest.mark.parametrize("changes", [("created", "unchanged"), ("unchanged", "created")])
def test_one_reply_does_not_tell_that_a_write_has_happened_and_that_it_has_not(
    changes: tuple[str, str],
) -> None:
    history, both = History(), (LIKES_TEA, (ACME, "sells tea"))
    op_id = history.tell(*both, embed=False)
    history.land(op_id)
    history.reply(op_id, Unknown())
    one, other = (as_stored(it, change=change) for it, change in zip(both, changes, strict=True))
    value = structs.replace(one, entities=one.entities + other.entities, routing=one.routing + other.routing)
    with broken("all-or-nothing"):
        history.reply(history.tell(*both, embed=False), value)

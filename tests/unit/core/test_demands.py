"""Goal: vectors, homes in core, settled commits and records of calls are judged by the plain data alone.

A memory lives one step, or a plan is made by hand; then it is changed into what a mistake would have made.
"""

from functools import partial

import pytest
from msgspec import structs

from tests.unit.core.test_accesses import Watched, caught, watched
from tests.unit.core.test_invariants import entity, seated
from tests.worlds import ALICE, Kind, put_question
from umi_core.config import Config
from umi_core.limits import ACCESS_PRUNE_MS, BLOCK_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX
from umi_core.messages.answers import Committed, Embedded, ReadDone
from umi_core.messages.effects import AskModel, ByIds, ByWords, Commit, Embed, Read, Write
from umi_core.messages.requests import Recall, Remember, SetBlock
from umi_core.rows import AccessRecord, Address, Category, Core, Entity, Receipt, Row, Vector
from umi_core.state import Operation
from umi_core.tiers.archive import AccessRecords, AccessTable, as_versions
from umi_core.tiers.core import CoreTier, admit, entry_of, without
from umi_core.values import RoutingDecision, Scope, Turn
from umi_sim.judge.plain.scores import fault_of, find_missing, sound_vectors
from umi_sim.judge.state.accesses import check_deleted, check_removed, prune_fault
from umi_sim.judge.state.plans import check_blocks
from umi_sim.judge.state.prompts import check_opened, check_reported_calls, check_turns
from umi_sim.judge.state.settling import check_believed, check_won
from umi_sim.judge.state.snapshots import snapshot_operation
from umi_sim.judge.state.steps import core_row
from umi_sim.judge.state.vectors import check_counted, check_learnt, check_texts, check_written
from umi_sim.record.broken import Broken

SCOPE = Scope("u1", "a1")
ANNA, BERT = entity("Anna"), entity("Bert")
LONG = "x" * BLOCK_BYTES_MAX


def only(pair: Watched) -> Operation:
    (operation,) = pair.memory.state.operations.values()
    return operation


def asking(kind: type[Kind]) -> Watched:
    """A remember that waits for an answer to this."""
    pair = watched()
    pair.step(Remember(1, "Alice likes tea. Bob snores"))
    pair.until(kind)
    return pair


# Vectors.


def test_an_embedder_is_asked_about_the_rows_that_get_the_vectors() -> None:
    operation = only(asking(Embed))
    asked = operation.asked
    assert isinstance(asked, Embed)
    for texts in (asked.texts[::-1], asked.texts[:1], ("Alice", "Bob")):
        put_question(operation, structs.replace(asked, texts=texts))
        with pytest.raises(Broken, match="vectors-as-answered"):
            check_texts(operation)
    put_question(operation, asked)
    check_texts(operation)


def test_a_recall_embeds_its_variants() -> None:
    pair = watched()
    pair.step(Recall(1, "tea"))
    operation = only(pair)
    put_question(operation, Embed(("coffee",)))
    assert caught(partial(check_texts, operation)) == "vectors-as-answered"


DIMS = 2
FAULTS: list[tuple[object, str]] = [
    ((3, -127), ""), ([0, 1], ""), ((1,), "wrong_length"), (None, "wrong_length"), ((1, True), "not_whole"),
    ((1, 1.0), "not_whole"), ((128, 0), "out_of_range"), ((0, -128), "out_of_range"), ((0, 0), "zero"),
]  # fmt: skip


@pytest.mark.parametrize(("vector", "fault"), FAULTS)
def test_what_is_wrong_with_a_vector(vector: object, fault: str) -> None:
    assert fault_of(vector, DIMS) == fault


def test_what_is_missing_and_why() -> None:
    vectors = ((1, 2), (0, 0), (1,))
    assert sound_vectors(vectors, 3, DIMS) == ((1, 2), None, None)
    assert find_missing(vectors, 3, DIMS) == ("zero", 2)
    assert find_missing(vectors[:1], 1, DIMS) == ("", 0)
    assert sound_vectors(vectors, 2, DIMS) is None
    assert find_missing(vectors, 2, DIMS) == find_missing(7, 2, DIMS) == ("wrong number of vectors", 1)


def test_the_vectors_that_were_answered_are_learnt() -> None:
    pair = asking(Embed)
    pair.answer()
    operation = only(pair)
    vectors = operation.facts["vectors"]
    assert isinstance(vectors, tuple)
    for wrong in (vectors[::-1], (None, vectors[1]), (*vectors, vectors[0])):
        operation.facts["vectors"] = wrong
        assert caught(pair.judge) == "vectors-as-answered"


def test_what_is_missing_is_counted() -> None:
    pair = asking(Embed)
    question = pair.pending.pop(0)
    pair.step(Embedded(question.request_id, ((0,) * 64, (1,) * 64)))
    operation = only(pair)
    operation.degraded = ()
    assert caught(pair.judge) == "degradation-named"


def test_more_may_be_missing_if_another_operation_says_so() -> None:
    answer = Embedded(1, ((0, 0), (1, 1)))
    for counted, is_alone, is_fair in (
        (1, True, True),
        (2, True, False),
        (2, False, True),
        (0, False, False),
    ):
        if is_fair:
            check_counted(2, answer, counted, is_alone, DIMS)
        else:
            with pytest.raises(Broken, match="degradation-named"):
                check_counted(2, answer, counted, is_alone, DIMS)


def written(*vectors: Vector) -> list[Write]:
    return [Write(Address(SCOPE, "vector", it.entity_id), it) for it in vectors]


def test_each_row_gets_its_own_vector() -> None:
    rows = tuple(Row(Address(SCOPE, "entity", it.id), 1, it) for it in (ANNA, BERT))
    facts: dict[str, object] = {"lacking": rows, "vectors": ((1, 2), None)}
    good = Vector(ANNA.id, 1, (1, 2))
    check_written(facts, written(good))
    for wrong in ((), (Vector(BERT.id, 1, (1, 2)),), (Vector(ANNA.id, 2, (1, 2)),), (good, good)):
        with pytest.raises(Broken, match="vectors-as-answered"):
            check_written(facts, written(*wrong))
    with pytest.raises(Broken, match="vectors-as-answered"):
        check_written(facts | {"vectors": ((1, 2),)}, written(good))


def test_vectors_may_be_written_in_any_order() -> None:
    """`umi-sim run reflections --seed 49`: a category lost a member and got one, and was written first."""
    facts: dict[str, object] = {"lacking": (), "vectors": ()}
    facts |= {"to_embed": (("res_1", "tea"), ("cat_1", "facts")), "caption_vectors": ((1, 2), (2, 1))}
    text, category = Vector("res_1", 1, (1, 2)), Vector("cat_1", 1, (2, 1))
    row = Write(Address(SCOPE, "category", "cat_1"), Category("cat_1", "facts", "", 1, 0, 0))
    check_written(facts, [row, *written(text, category)])
    check_written(facts, [row, *written(category, text)])
    check_written(facts, written(text))  # no fact of the category is current: it gets no row
    for vectors in ((category, structs.replace(text, components=(2, 1))), (text,)):
        with pytest.raises(Broken, match="vectors-as-answered"):
            check_written(facts, [row, *written(*vectors)])
    with pytest.raises(Broken, match="vectors-as-answered"):
        check_written(facts, written(text, category))


# Homes.


def routed(kind: str, outcome: str = "promoted") -> RoutingDecision:
    return RoutingDecision(BERT.id, kind, False, 900_000, "", "model", None, outcome)


ALONE, BOTH = seated(ANNA), seated(ANNA, BERT)


def elsewhere(core: CoreTier, entity: Entity, kind: str) -> CoreTier:
    """Return core with the entry of this entity in another block."""
    return admit(without(core, (entity.id,)), entry_of(entity, 0), kind, 0, {}, Config()).core


def test_what_enters_core_enters_its_own_block_and_is_reported() -> None:
    check_blocks(ALONE, BOTH, (routed("human"),), (BERT,), None)
    check_blocks(ALONE, ALONE, (routed("human", "refused_full"),), (BERT,), None)
    wrong: list[tuple[CoreTier, RoutingDecision]] = [
        (BOTH, routed("human", "not_asked")),
        (ALONE, routed("human")),
        (elsewhere(BOTH, BERT, "facts"), routed("human")),
        (elsewhere(BOTH, ANNA, "facts"), routed("human")),
    ]
    for core, decision in wrong:
        assert caught(partial(check_blocks, ALONE, core, (decision,), (BERT,), None)) == "entry-at-home"


def test_what_a_scan_promotes_enters_the_block_that_is_stored() -> None:
    rows = (Row(Address(SCOPE, "entity", BERT.id), 1, BERT),)
    check_blocks(ALONE, BOTH, None, (), rows)
    astray = elsewhere(BOTH, BERT, "facts")
    assert caught(partial(check_blocks, ALONE, astray, None, (), rows)) == "entry-at-home"
    moved = elsewhere(ALONE, ANNA, "facts")
    assert caught(partial(check_blocks, ALONE, moved, None, (), rows)) == "entry-at-home"


# Settling.


def test_a_commit_is_sent_again_while_its_outcome_is_unknown() -> None:
    pair = asking(Commit)
    pair.fail("unknown")
    operation = only(pair)
    sent = operation.asked
    assert isinstance(sent, Commit)
    put_question(operation, structs.replace(sent, key="idm_other"))
    assert caught(pair.judge) == "backoff"
    put_question(operation, sent)
    pair.judge()


def lost() -> tuple[Watched, Committed]:
    """A remember whose commit is answered by the receipt of an earlier plan."""
    pair = asking(Commit)
    commit = pair.pending.pop(0)
    assert isinstance(commit, Commit)
    answer = pair.land(commit)
    assert isinstance(answer, Committed)
    assert isinstance(answer.receipt, Receipt)
    won = structs.replace(answer.receipt, plan_digest=b"0" * 16)
    pair.step(structs.replace(answer, receipt=won))
    return pair, structs.replace(answer, receipt=won)


def test_after_another_plan_has_won_core_is_read() -> None:
    pair, _ = lost()
    operation = only(pair)
    assert isinstance(operation.asked, Read)
    put_question(operation, Read(ByIds(())))
    assert caught(pair.judge) == "core-current"


def test_a_plan_that_did_not_win_has_saved_and_decided_nothing() -> None:
    pair, answer = lost()
    snapshot, operation = next(iter(pair.before.snapshots.values())), only(pair)
    was = pair.memory.state.tiers
    assert was.access.unsaved
    saved = was.copy()
    saved.access = structs.replace(was.access, unsaved={})
    others = was.copy()
    others.decisions = ()
    check_won(snapshot, answer, operation, was, was)
    for now, rule in ((saved, "access-truth"), (others, "once-only")):
        assert caught(partial(check_won, snapshot, answer, operation, was, now)) == rule


def test_a_newer_core_that_was_reported_is_believed() -> None:
    check_believed(None, CoreTier())
    check_believed(CoreTier((), 3), CoreTier((), 3))
    with pytest.raises(Broken, match="core-current"):
        check_believed(CoreTier((), 3), CoreTier((), 2))


def test_core_that_a_lookup_has_read_is_believed() -> None:
    pair = watched()
    pair.ask(SetBlock(1, "human", "x"))
    pair.memory.state.tiers.core = CoreTier()  # as if it had never read it
    pair.step(Remember(2, "Alice likes tea"))
    while pair.memory.state.tiers.core == CoreTier():
        pair.answer()
    pair.memory.state.tiers.core = pair.before.tiers.core
    assert caught(pair.judge) == "core-current"


def test_core_of_another_agent_in_a_search_is_not_relied_on() -> None:
    """neighbours, seed 12291413624106461747: storage gave another scope's core row to a search by words."""
    row = Row(Address(Scope("u2", "a1"), "core", "core"), 1, Core(()))
    search = ByWords(SCOPE, "Alice likes tea", (), 5, 0)
    assert core_row(ReadDone(7, (row,)), Read(search, request_id=7)) is None
    asked = Read(ByIds((row.address,)), request_id=7)
    assert core_row(ReadDone(7, (row,)), asked) == CoreTier((), 1)
    damaged = structs.replace(
        row, address=Address(SCOPE, "entity", ALICE)
    )  # neighbours, seed 5465806848515092865
    assert core_row(ReadDone(7, (damaged,)), asked) is None


def test_of_an_operation_that_ended_with_the_answer_nothing_more_is_asked() -> None:
    unsound = Embedded(7, ((1,),))
    check_learnt(1, unsound, None, 16)
    check_learnt(1, unsound, only(asking(Embed)), 16)  # it has learnt nothing yet


# Scans.


def test_what_a_rebalance_prunes_is_stale_or_gone_and_all_of_it() -> None:
    old = AccessRecord("ent_old", "person", 500_000, 1, 0, 0)
    young = structs.replace(old, entity_id="ent_young", last_ms=ACCESS_PRUNE_MS + 1)
    table, at_ms = AccessTable(AccessRecords({it.entity_id: it for it in (old, young)})), ACCESS_PRUNE_MS + 1
    assert prune_fault((old,), (), (), table, at_ms) is None
    assert prune_fault((), (), ("ent_old",), table, at_ms) is None
    assert prune_fault((old, young), ("ent_young",), (), table, at_ms) is None
    for pruned in ((), (young,), (old, young)):
        fault = prune_fault(pruned, (), (), table, at_ms)
        assert fault is not None
        assert fault.rule == "access-truth"


def test_nothing_is_counted_of_what_a_commit_has_deleted() -> None:
    table = AccessTable(AccessRecords({ALICE: AccessRecord(ALICE, "person", 0, 1, 0, 0)}))
    kept, gone = (Commit((Write(Address(SCOPE, kind, ALICE), None),), ()) for kind in ("vector", "entity"))
    check_deleted(kept, None, table, table)
    check_deleted(gone, None, table, AccessTable())
    assert caught(partial(check_deleted, gone, None, table, table)) == "access-truth"


def test_a_record_that_a_later_commit_wrote_again_stays() -> None:
    where = Address(SCOPE, "access", ALICE)
    table = AccessTable(
        AccessRecords({ALICE: AccessRecord(ALICE, "person", 0, 1, 0, 0)}), versions=as_versions(((ALICE, 3),))
    )
    gone = Commit((Write(Address(SCOPE, "entity", ALICE), None), Write(where, None)), ())
    older, same = (Committed(1, ((where, version),)) for version in (2, 3))
    check_deleted(gone, older, table, table)
    assert caught(partial(check_deleted, gone, same, table, table)) == "access-truth"


def test_what_was_shown_is_not_gone() -> None:
    rows = [Row(Address(SCOPE, "entity", ALICE), 1, None)]
    check_removed(rows, ("ent_other",))
    assert caught(partial(check_removed, rows, (ALICE,))) == "access-truth"


# Questions to models, and reports about them.


def test_the_record_of_a_call_tells_what_was_sent() -> None:
    for operation in (only(asking(AskModel)), only(asking(Embed))):
        now_ms, call = operation.calls[-1].asked_ms, operation.calls[-1]
        check_opened(operation, now_ms)
        changes: tuple[dict[str, object], ...] = (
            {"prompt_hash": "0" * 16}, {"prompt_bytes": 1}, {"texts_count": 9}, {"attempt": 2},
            {"operation": "route"}, {"request_id": 0}, {"asked_ms": 7}, {"outcome": "ok"},
        )  # fmt: skip
        for change in changes:
            operation.calls = (structs.replace(call, **change),)
            assert caught(partial(check_opened, operation, now_ms)) == "workflow-contract"
        operation.calls = ()
        assert caught(partial(check_opened, operation, now_ms)) == "workflow-contract"


def test_no_call_is_left_out() -> None:
    calls = snapshot_operation(only(asking(Commit))).calls
    assert len(calls) > 1
    check_reported_calls(calls[:1], calls)
    for reported in ((), calls[1:], calls[::-1]):
        assert caught(partial(check_reported_calls, calls, reported)) == "workflow-contract"


def test_the_last_turns_that_say_something_are_kept() -> None:
    turns = [Turn("user", f"{n} " + "x" * TURN_CHARS_MAX) for n in range(TURN_COUNT_MAX + 2)]
    given = Recall(1, "she", turns=(*turns, Turn("tool", " ")))
    last = [structs.replace(turn, text=turn.text[:TURN_CHARS_MAX]) for turn in turns[2:]]
    check_turns(given, structs.replace(given, turns=tuple(last)))
    check_turns(given, structs.replace(given, op_id=2))
    for wrong in (turns[:TURN_COUNT_MAX], turns[2:], last[1:], last[::-1]):
        kept = structs.replace(given, turns=tuple(wrong))
        assert caught(partial(check_turns, given, kept)) == "prompt-inputs"

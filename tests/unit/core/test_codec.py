"""Goal: equal values give equal bytes, damage is refused, and a restored memory has the same future."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair, saying
from umi_core import codec, errors
from umi_core.config import Config
from umi_core.data import list_compared
from umi_core.declared import Incomplete
from umi_core.engine.middleware import Interceptor
from umi_core.errors import Rejected, SnapshotVersion, StateDamaged, UnknownRevision
from umi_core.ids import pack
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, Value, Wake
from umi_core.messages.effects import Commit, Done
from umi_core.messages.requests import REQUESTS, Count, Get, Recall, Remember, Set
from umi_core.rows import Head
from umi_core.tiers.archive import AccessTable
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN, FACT_TAGS

# The table of tags, for ever: a new name goes to the end of its part, and no name ever moves.
TAGS = {
    0: """
        tuple dict Scope Address Row Entity Version Relation Vector AccessRecord Entry Block Core
        Epoch Head Tombstone Receipt SessionRow RoutingDecision Turn ByIds Condition ByFilter CountRows
        ByVector ByWords Write Expect AskModel Embed Read Commit Degraded Done Refused Failed
        Unknown ModelCall HookNote Reply Set Get Exists Delete Incr Append Touch Sweep Clear Len
        Bytes GetBlock Blocks CoreBytes InCore Render LastRoutingDecisions SetBlock SetImportance
        RemoveBlock CreateSession SaveSession LoadSession Remember Recall Forget GetEntity Count
        Rebalance ModelReplied Embedded ReadDone Committed EffectFailed Wake Stored Remembered Hit
        Forgotten BlockSet BlockRemoved SessionCreated SessionSaved SessionLoaded Rebalanced Config
        CoreTier WorkingTier SessionInfo AccessTable Tiers Operation State Recalled Resolution
        CachedRewrite RewriteCache Resource Category Membership Memorize List Memorized Listed
        Summarise Summarised Retrieve Search Retrieved LevelHit LevelTried
    """,
    120: "Sheet BlockChange Message Archival Log Moved Outbox MigrationPhase MovedKey MovedBegun",
    130: """
        CreateBlock UpdateBlock AppendToBlock ReplaceInBlock DeleteBlock ListBlocks FindBlock BlockHistory
        AddMessages ListMessages AddArchival GetArchival ListArchival SearchArchival DeleteArchival
        BuildSystemPrompt SearchMessages MessagesFound RowsListed
    """,
    150: """
        BlockWritten ApiBlock BlocksShown ChangesShown Appended MessagesShown RecordsShown RecordDeleted
        Prompt StoresCompared
    """,
    160: "Subcategory EvolveCategory Group Evolved",
    181: "Reflection Reflected EndSession",
    170: """
        PutRow DropRow ReadRow AdvanceMigration RollBack Reconcile Mirror Purge CompareStores AddRow ListRows
    """,
    200: "CreateEntity",
    621: "DeleteAgent OpenAgent AgentSwitched",
    631: "UpdateEntity Running Queued Sleeping Waiting RowRead PlanInDoubt",
    210: "RecentEntities",
    611: "Given ForgetResource ResourceForgotten",
    614: "RecordAdded RecordForgotten Ended",
    500: """
        BadOption BadText BadScope BadConfig BadTime BadMetadata BadKey BadId BadVersion BadType
        BadTurn BadScore BadDelta BadLimit BadTimeRange BadImportance EmptyText EmptyQuery TooLong
        TextTooLong QueryTooLong KeyReused KeyTooLong EntryTooLarge WorkingFull TooManyEntries
        KeyNotFound ReservedKey TypeMismatch Overflow BadTtl BadKind LabelTooLong BlockTooLarge
        TooManyBlocks CoreFull BlockNotFound SnapshotTooBig SnapshotDamaged SnapshotVersion
        SnapshotDoesNotFit NoSession SessionNotFound SessionConflict TooManyMembers TooBusy
        StepFailed ModelFailed EmbedFailed StorageFailed StorageRefused StorageFull Conflict Fenced
        WorkflowBroken BadWorkflow UnknownRevision StateDamaged Full Damaged UnsupportedModality
    """,
    563: "UnreadableMessages",
    580: """
        NotFound LabelTaken BadLabel VersionConflict ReadOnly AboveLimit TextNotFound TextAmbiguous BadCursor
        BadMessages NotReady
    """,
    650: "Grant NotShared ShareArchive ArchiveShared Period",
    595: "UnknownField UnknownOperator BadFilterValue",
    1000: "Plan Drafted Mention",
    1004: "StatementVerdict Segment ExtractedFact Unit UnitReading CategorisedFact GroupCentroid Newcomer"
    " PlannedGroup Division",
}
RETIRED = ("Version", "Given", "Tombstone")  # classes that are gone; no other class takes their tags


def test_the_tags_are_those_of_all_times() -> None:
    frozen = {start + n: name for start, names in TAGS.items() for n, name in enumerate(names.split())}
    current = {tag: name for tag, name in frozen.items() if name not in RETIRED}
    assert {tag: cls.__name__ for tag, cls in codec.DECODERS.items()} == current


def test_every_request_error_and_fact_class_has_a_tag() -> None:
    tagged = set(codec.DECODERS.values())
    assert tagged >= {*REQUESTS.values(), *FACT_TAGS.values()}
    assert tagged >= {cls for cls in vars(errors).values() if is_error(cls)}


def is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, errors.Error) and value is not errors.Error


def test_a_tag_is_given_away_once() -> None:
    with pytest.raises(Incomplete, match="Head has the tag 3 of Address"):
        codec.register(Head, 3)
    with pytest.raises(Incomplete, match="Head has the tag None: give it a whole number"):
        codec.register(Head, None)  # type: ignore[arg-type]  # that is the mistake


CLASSES = [cls for cls in codec.DECODERS.values() if cls not in (tuple, dict, Config)]


@pytest.mark.uncounted
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_value_of_every_class_comes_back(cls: type) -> None:
    parts = {name: (n, f"{n}", b"\x00", None, True) for n, name in enumerate(list_compared(cls))}
    value = cls(**parts | ({"records": {}, "versions": ()} if cls is AccessTable else {}))
    back = codec.decode(codec.encode(value))
    assert (type(back), back) == (cls, value)


PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.binary()
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner) | st.builds(Done, inner),
    max_leaves=12,
)


@pytest.mark.uncounted
@settings(max_examples=40)
@given(VALUES)
def test_any_value_comes_back(value: object) -> None:
    assert repr(codec.decode(codec.encode(value))) == repr(sorted_dicts(value))


def sorted_dicts(value: Any) -> Any:
    match value:
        case dict():
            return {key: sorted_dicts(value[key]) for key in sorted(value)}
        case tuple():
            return tuple(map(sorted_dicts, value))
        case Done(inner):
            return Done(sorted_dicts(inner))
    return value


def test_the_order_of_insertion_is_not_seen() -> None:
    assert codec.encode({"b": 1, "a": (2,)}) == codec.encode({"a": (2,), "b": 1})


class Kind(StrEnum):
    A = "a"


@pytest.mark.parametrize(
    "value", [1.0, {1}, [1], Kind.A, object(), (1, 2.0)], ids=lambda value: type(value).__name__
)
def test_what_has_no_bytes_is_a_bug_and_not_guessed(value: object) -> None:
    with pytest.raises(KeyError):
        codec.encode(value)


BAD_BYTES = {
    "nothing": b"",
    "two values": codec.encode(1) + codec.encode(2),
    "a list without a tag": pack([]),
    "an unknown tag": pack([499, 1]),
    "a flag as tag": pack([True]),
    "a missing field": pack([15]),
    "a field too many": pack([15, 1, 2]),
    "a longer form than needed": b"\xcd\x00\x01",
    "keys out of order": pack([1, "b", 1, "a", 2]),
    "a key twice": pack([1, "a", 1, "a", 2]),
    "a key that is a dict": pack([1, [1], 1]),
    "a key without a value": pack([1, "a", 1, "b"]),
    "a float": msgpack.packb(1.5),
    "a map": msgpack.packb({}),
    "an extension": msgpack.packb(msgpack.ExtType(1, b"")),
    "half a character": b"\xa1\xff",
    "1,000 levels": b"\x92\x00" * 1_000 + b"\x01",
    "100,000 levels": b"\x92\x00" * 100_000 + b"\x01",
}


@pytest.mark.parametrize("data", BAD_BYTES.values(), ids=BAD_BYTES)
def test_other_bytes_are_a_typed_error(data: bytes) -> None:
    with pytest.raises(Rejected) as caught:
        codec.decode(data)
    assert isinstance(caught.value.errors[0], StateDamaged)


def test_a_setting_out_of_range_is_refused_by_its_name() -> None:
    data = codec.encode(structs.replace(Config(), core_bytes_max=5_000)).replace(pack(5_000), pack(5), 1)
    with pytest.raises(Rejected, match="core_bytes_max"):
        codec.decode(data)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_in_its_only_form_or_an_error(data: bytes) -> None:
    try:
        value = codec.decode(data)
    except Rejected:
        return
    assert codec.encode(value) == data


# Whole memories.


def busy() -> Pair:
    """A memory with an operation at its commit, and something in every tier."""
    pair = Pair().run()
    pair.ask(Remember(1, "Umi helps. Alice likes tea"))
    pair.ask(Set(2, "k", b"v"))
    pair.step(Remember(3, "Alice likes coffee", request_key="again"))
    pair.until(Commit)
    return pair


def test_a_saved_memory_with_one_flipped_bit_is_refused() -> None:
    data = busy().memory.snapshot()
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
        with pytest.raises(Rejected):
            Memory.restore(damaged, life=0)


def test_a_restored_memory_continues_as_the_saved_one_at_every_step() -> None:
    pair = Pair()
    values: list[Value] = [Remember(1, "Umi helps. Alice likes tea", request_key="k"), Get(2, "k"), Count(3)]
    while values or pair.pending:
        data = pair.memory.snapshot()
        copy = Memory.restore(data, life=0)
        assert (copy.snapshot(), copy.digest(), copy.deadline_ms()) == (
            data, pair.memory.digest(), pair.memory.deadline_ms(),
        )  # fmt: skip
        value: Value = values.pop(0) if values else pair.world(pair.pending.pop(0))
        before = len(pair.replies)
        asked = pair.step(value)
        effects = copy.step(pair.now_ms, value)
        assert [effect for effect in effects if effect in asked] == asked
        assert len(effects) - len(asked) == len(pair.replies) - before
        assert (copy.digest(), copy.marks) == (pair.memory.digest(), pair.memory.marks)
    assert isinstance(pair.replies[1].outcome, Done)


def test_equal_memories_have_equal_bytes() -> None:
    assert busy().memory.snapshot() == busy().memory.snapshot()
    other = busy()
    other.step(Wake())
    assert other.memory.digest() == busy().memory.digest()
    other.step(Set(9, "k", b"w"))
    assert other.memory.digest() != busy().memory.digest()


def refused(data: bytes, **more: Any) -> errors.Error:
    with pytest.raises(Rejected) as caught:
        Memory.restore(data, **{"life": 0, **more})
    return caught.value.errors[0]


def resealed(change: Callable[[list[Any]], list[Any]]) -> bytes:
    """A saved memory whose frame was changed with knowledge of the format."""
    return pack(change(msgpack.unpackb(busy().memory.snapshot())))


def with_unused_text(frame: list[Any]) -> list[Any]:
    long, body = ["x" * 64], frame[3]
    return [*frame[:2], long, body, codec.checksum(long, body)]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", StateDamaged("not a saved memory")),
        (None, StateDamaged("not a saved memory")),
        (resealed(lambda frame: [*frame[:2], ["x" * 64], *frame[3:]]), StateDamaged("checksum differs")),
        (resealed(with_unused_text), StateDamaged("not in canonical form")),
        (pack(5), StateDamaged("not a saved memory")),
        (resealed(lambda frame: ["umi.session", *frame[1:]]), StateDamaged("not a saved memory")),
        (resealed(lambda frame: [*frame, 1]), StateDamaged("not a saved memory")),
        (resealed(lambda frame: [*frame[:3], "body", frame[4]]), StateDamaged("not a saved memory")),
        (resealed(lambda frame: [frame[0], 1, *frame[2:]]), SnapshotVersion(1)),
        (resealed(lambda frame: [*frame[:4], b"digest"]), StateDamaged("checksum differs")),
        (codec.save_state(5, ()), StateDamaged("holds something else than a memory")),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_is_no_saved_memory_is_refused(data: bytes, error: errors.Error) -> None:
    assert refused(data) == error


def test_a_registry_with_another_table_does_not_load_operations_of_this_one() -> None:
    data = busy().memory.snapshot()
    later = BUILT_IN.configure("remember", "extract", profile="fast")
    assert Memory.restore(data, later, life=0).state.operations[3].revision == 1
    first = structs.replace(later, revisions={**later.revisions, "remember": later.revisions["remember"][1:]})
    assert refused(data, registry=first) == StateDamaged(
        "its workflows are others than those of the registry"
    )
    none = structs.replace(later, revisions={**later.revisions, "remember": ()})
    assert refused(data, registry=none) == UnknownRevision("remember", 1)


def test_a_registry_without_the_interceptors_of_an_operation_does_not_load_it() -> None:
    pair = Pair().run()
    pair.memory.intercept(Interceptor("h"))
    pair.step(Count(1))
    data = pair.memory.snapshot()
    assert refused(data) == UnknownRevision("interceptors", 1)
    other = BUILT_IN.with_interceptor(Interceptor("other"))
    assert refused(data, registry=other) == StateDamaged(
        "its workflows are others than those of the registry"
    )
    same = BUILT_IN.with_interceptor(Interceptor("h"))
    assert Memory.restore(data, same, life=0).in_flight.keys() == pair.memory.in_flight.keys()


def test_a_memory_is_restored_with_its_own_scope_and_settings() -> None:
    memory = Memory.restore(Memory(Scope("u2", "a2"), QUIET).snapshot(), life=0)
    assert (memory.state.scope, memory.state.config) == (Scope("u2", "a2"), QUIET)
    assert memory.state.scope != SCOPE


def test_an_answer_on_its_way_during_the_copy_is_taken_by_both() -> None:
    pair = busy()
    copy = Memory.restore(pair.memory.snapshot(), life=0)
    answer: Answer = pair.world(pair.pending.pop(0))
    assert copy.step(0, answer) == pair.memory.step(0, answer)


def notes_and_two_recalls() -> Pair:
    """Six long notes, and two deep searches that hold all of them in every list."""
    model = saying(expand='["tea or milk", "what is liked"]')
    pair = Pair(config=Config(embedding_dims=16), model=model)
    for n in range(6):
        pair.ask(Remember(n, f"P{n} likes tea. " + f"{n} and tea, milk " * 600 + f"end {n}", extract=False))
    pair.run()
    for n in (10, 11):
        pair.step(Recall(n, "Who likes tea or milk, and what is liked?", deep=True, min_score_ppm=0))
    while any(len(operation.facts) < 6 for operation in pair.memory.state.operations.values()):
        pair.answer()
    return pair


def test_a_long_text_is_saved_once_however_many_lists_hold_it() -> None:
    pair = notes_and_two_recalls()
    for _ in range(8):
        pair.answer()
    data = pair.memory.snapshot()
    assert [data.count(f"end {n}".encode()) for n in range(6)] == [1] * 6
    assert len(data) < 100_000 < len(codec.encode(pair.memory.state)) // 4
    copy = Memory.restore(data, life=0)
    assert (copy.snapshot(), copy.digest()) == (data, pair.memory.digest())
    answer: Answer = pair.world(pair.pending.pop(0))
    assert copy.step(0, answer) == pair.memory.step(0, answer)


@pytest.mark.uncounted
@pytest.mark.parametrize("number", [-1, 6, 2**40, "x", None])
def test_a_number_of_no_long_text_is_refused(number: Any) -> None:
    frame = msgpack.unpackb(notes_and_two_recalls().run().memory.snapshot())
    body = pack([codec.LONG, number])
    damaged = pack([*frame[:2], ["x" * 64], body, codec.checksum(["x" * 64], body)])
    assert isinstance(refused(damaged), StateDamaged)

"""Goal: rows outlive the classes that wrote them, and are never half understood."""

import random
from typing import Any, Final

import msgpack
import pytest

from tests.unit.core.test_rows import ROWS
from tests.worlds import Pair
from umi_core import codec, rows
from umi_core.body import CHECKS
from umi_core.declared import Incomplete
from umi_core.domains import Count, Texts, checks_of
from umi_core.errors import BadVersion, Rejected, StateDamaged
from umi_core.ids import pack
from umi_core.kelpie import results as api_results
from umi_core.memory import Memory
from umi_core.messages import results
from umi_core.messages.effects import Commit, Done, Write
from umi_core.messages.requests import GetEntity, Rebalance, Remember
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import BODIES, Address, Body, Entity, Head, Row
from umi_core.shapes import fields_of, shape_of
from umi_core.values import Block, Entry, Period, RoutingDecision

# The fields of each kind, for ever: a field that comes is added at the end, with a default, its class says
# `added`, and a line is added here. No line ever changes, since rows of that version are stored somewhere;
# those of an entity before version 4 held many statements, and umi_live divides them.
FIELDS: Final = {
    ("entity", 4): """id type name content version importance_ppm confidence_ppm block created_ms updated_ms
                      event_time_ms metadata source vector_missing relation_count contradicts
                      memory_type sources reinforced_count last_reinforced_ms about is_direct others
                      follows""",
    ("entity", 5): """id type name content version importance_ppm confidence_ppm block created_ms updated_ms
                      event_time_ms metadata source vector_missing relation_count contradicts
                      memory_type sources reinforced_count last_reinforced_ms about is_direct others
                      follows periods""",
    ("ended", 1): "id fact by how at_ms",
    ("ended", 2): "id fact by how at_ms",
    ("resource", 1): """id modality text text_hash caption first_line last_line created_ms updated_ms uri
                        parent_id position extracted_types pending happened_ms""",
    ("resource", 2): """id modality text text_hash caption first_line last_line created_ms updated_ms uri
                        parent_id position extracted_types pending happened_ms description""",
    ("resource", 3): """id modality text text_hash caption first_line last_line created_ms updated_ms uri
                        parent_id position extracted_types pending happened_ms description session_id""",
    (
        "reflection",
        1,
    ): "id session_id text sources started_ms ended_ms created_ms updated_ms degraded pending",
    ("category", 1): "id name description member_count created_ms updated_ms",
    ("category", 2): """id name description member_count created_ms updated_ms summary summary_sources
                        summary_dirty""",
    ("category", 3): """id name description member_count created_ms updated_ms summary summary_sources
                        summary_dirty subcategory_ids evolved_digest evolved_ms""",
    ("membership", 1): "id entity_id entity_version category_id assigned_by created_ms",
    ("membership", 2): """id entity_id entity_version category_id assigned_by created_ms
                          subcategory_id confidence_ppm keywords_matched""",
    ("subcategory", 1): "id category_id founder_id name named_by keywords created_ms updated_ms",
    ("relation", 1): "id kind source target confidence_ppm reason by at_ms",
    ("vector", 1): "entity_id version components",
    ("access", 1): "entity_id type importance_ppm count first_ms last_ms",
    ("epoch", 1): "claimed_ms",
    ("epoch", 2): "claimed_ms is_closed held_by",
    ("head", 1): "cursor",
    ("core", 1): "blocks",
    ("receipt", 1): "key request_digest plan_digest value at_ms by",
    ("receipt", 2): "key request_digest plan_digest value at_ms by",
    ("receipt", 3): "key request_digest plan_digest value at_ms by",
    ("session", 1): "id user creator members saved_ms saved_by snapshot",
    ("session", 2): "id user creator members saved_ms saved_by snapshot carries fact_ids left_out_count",
    ("grant", 1): "readers",
    ("sheet", 1): """id kind label version text_hash description limit_bytes read_only created_ms
                     updated_ms""",
    ("change", 1): "block_id version change author at_ms size_bytes text is_erased",
    ("message", 1): "id seq role content details at_ms",
    ("archival", 1): "id seq content tags metadata at_ms",
    ("log", 1): "name next_seq",
    ("log", 2): "name next_seq first_seq",
    ("moved", 1): "id kind content",
    ("moved_key", 1): "id kind row_id content",
    ("moved_begun", 1): "id kind row_id before content",
    ("outbox", 1): "id kind",
    ("phase", 1): "kind phase",
}


# What rows hold besides: a field more in one of these is a version more of each kind that holds it, with 0 in
# `added`, since it has no more fields itself.
HELD: Final = {
    Entity: FIELDS["entity", 5],  # an ended row holds one
    Block: "kind label text importance_ppm entries",
    Entry: "entity_id version name text promoted_ms",
    Period: "since_ms until_ms by how",
    RoutingDecision: "entity_id block promote confidence_ppm reason routed_by cause outcome",
    results.Stored: "id version change",
    api_results.BlockWritten: "id label version change at_ms count evicted repeated",
    api_results.Appended: "log first_seq count at_ms repeated",
    api_results.RecordDeleted: "id repeated",
    results.RecordAdded: "log first_seq count at_ms repeated facts",
    results.RecordForgotten: "id repeated entities",
    results.Remembered: """entities relations routing promoted evicted dropped
                           relation_dropped_count repeated ended""",
    results.Forgotten: "existed repeated",
    results.Summarised: "summary sources is_dirty",
    results.Group: "id name keywords member_count",
    results.Evolved: "change groups unassigned_count",
    results.Memorized: """resource_id change segment_count entities pending relations
                          relation_dropped_count ended uncovered_count""",
    results.BlockSet: "evicted",
    results.BlockRemoved: "text evicted",
    results.SessionCreated: "session_id started_ms dropped_count",
    results.SessionSaved: "session_id version saved_ms left_out_count",
    results.ArchiveShared: "agents",
    results.Rebalanced: "promoted evicted repaired pruned cursor scanned_count",
}


@pytest.mark.parametrize("cls", HELD, ids=lambda cls: cls.__name__)
def test_what_rows_hold_has_the_fields_of_all_times(cls: Any) -> None:
    assert list(cls.__struct_fields__) == HELD[cls].split()


def test_the_fields_of_each_version_are_those_of_all_times() -> None:
    found = {}
    for kind, cls in BODIES.items():
        names = list(cls.__struct_fields__)
        for version in range(cls.oldest, rows.row_version(cls) + 1):
            found[kind, version] = names[: rows.field_count(cls, version)]
    assert found == {key: names.split() for key, names in FIELDS.items()}


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_every_row_that_a_memory_writes_comes_back(kind: str) -> None:
    assert codec.encode(decode_row(encode_row(ROWS[kind]))) == codec.encode(ROWS[kind])


# A release in which the head of the scan has two fields more.


class NewerHead(Head):
    tag = 14
    added = (1, 1)
    scanned_count: Count = 0
    seen: Texts = ()


@pytest.fixture
def _newer(monkeypatch: pytest.MonkeyPatch) -> None:
    release(monkeypatch, NewerHead)


def release(monkeypatch: pytest.MonkeyPatch, cls: type[Body]) -> None:
    """From now on this class is what its kind is."""
    names = list(cls.__struct_fields__)
    monkeypatch.setitem(BODIES, cls.row_kind, cls)
    monkeypatch.setitem(CHECKS, cls, checks_of(cls))
    monkeypatch.setitem(codec.DECODERS, cls.tag, cls)
    monkeypatch.setitem(codec.ENCODERS, cls, codec.fields_encoder(names, cls.tag))
    for cached in (shape_of, fields_of):
        cached.cache_clear()


def test_a_row_of_an_older_version_has_the_defaults_of_later_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    old = encode_row(Head("e7"))
    release(monkeypatch, NewerHead)
    assert decode_row(old) == NewerHead("e7", 0, ())
    second = pack(["head", 2, pack([14, "e7", 5])])
    assert decode_row(second) == NewerHead("e7", 5, ())
    assert decode_row(encode_row(NewerHead("e7", 5, ("a",)))) == NewerHead("e7", 5, ("a",))


@pytest.mark.usefixtures("_newer")
def test_only_the_fields_that_came_later_may_be_lacking() -> None:
    for version, fields in ((1, []), (1, ["e7", 5]), (2, ["e7"]), (3, ["e7", 5])):
        with pytest.raises(Rejected, match=f"head has {version} fields in version {version}"):
            decode_row(pack(["head", version, pack([14, *fields])]))


def test_a_row_of_a_newer_version_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        release(later, NewerHead)
        data = encode_row(NewerHead("e7", 5))
    with pytest.raises(Rejected) as caught:
        decode_row(data)
    wanted = "at most 1: a newer release wrote this row, and can read it"
    assert caught.value.errors == (BadVersion("head", "3", wanted),)


def test_a_row_that_is_older_than_the_oldest_version_is_refused() -> None:
    kind, _, tree = msgpack.unpackb(encode_row(ROWS["entity"]))
    with pytest.raises(Rejected, match="no kind of row is entity, version 3"):
        decode_row(pack([kind, Entity.oldest - 1, tree]))


def test_a_later_field_without_a_default_does_not_import() -> None:
    class Broken(Body):
        row_kind = "broken"
        added = (1,)
        id: Texts
        late: Count

    with pytest.raises(Incomplete, match=r"Broken\.late has no default for older rows"):
        rows.with_defaults(Broken)
    assert rows.with_defaults(NewerHead) is NewerHead


def test_a_newer_memory_goes_on_with_what_an_older_one_has_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair().run()
    for request in (Remember(1, "Alice likes tea. Umi helps", request_key="k"), Rebalance(2)):
        pair.ask(request)
    pair.land(Commit((Write(Address(pair.scope, "head", "head"), Head("")),), ()))
    kept = {address: encode_row(row.body) for address, row in pair.storage.rows.items() if row.body}
    assert {address.kind for address in kept} >= {"head", "core", "entity", "receipt", "access"}
    release(monkeypatch, NewerHead)
    for address, data in kept.items():
        version = pair.storage.rows[address].version
        pair.storage.rows[address] = Row(address, version, decode_row(data))
    pair.memory = Memory(pair.scope, pair.config)
    pair.run()
    assert pair.memory.state.tiers.access.head_version == 1
    (alice,) = (row.body for row in pair.storage.rows.values() if getattr(row.body, "name", "") == "Alice")
    assert isinstance(alice, Entity)
    assert pair.ask(GetEntity(3, alice.id)) == Done(alice)
    assert isinstance(pair.ask(Remember(4, "Alice likes tea. Umi helps", request_key="k")), Done)


# Bytes from strangers.


@pytest.mark.parametrize(
    "data",
    [b"", None, pack(5), pack(["head", 1]), pack(["head", True, b""]), pack(["head", 0, b""]),
     pack([[], 1, b""]), pack(["picture", 1, pack([14, "e7"])]), pack(["head", 1, "x"]),
     pack(["head", 1, pack([13, 5])]),
     pack(["head", 1, pack([14, 5])]), pack(["head", 1, b"\x92\x0e\xd9\x01a"])],
)  # fmt: skip
def test_what_is_no_row_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(Rejected) as caught:
        decode_row(data)
    assert isinstance(caught.value.errors[0], StateDamaged)


def test_a_row_with_any_byte_changed_is_a_sound_row_or_a_typed_error() -> None:
    chance, refused = random.Random(7), 0
    stored = [encode_row(body) for body in ROWS.values()]
    for _ in range(3_000):
        data = bytearray(chance.choice(stored))
        data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            body = decode_row(bytes(data))
            assert (body.is_sound, encode_row(body)) == (True, bytes(data))
        except Rejected:
            refused += 1
    assert 300 < refused < 2_900
    assert msgpack.unpackb(stored[0])[1] == rows.row_version(type(next(iter(ROWS.values()))))

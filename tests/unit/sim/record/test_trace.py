"""Goal: the hash stands for every record, what is kept can be read again, two traces part at one place."""

from hashlib import blake2b
from pathlib import Path

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spec_tables import rows, whole
from umi_core.codec import encode
from umi_core.messages.effects import Commit, Done
from umi_sim.record.trace import KEPT_COUNT_MAX, Difference, Field, Tag, Trace, decode, first_difference, read
from umi_sim.record.trace_fields import FIELDS, short

PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.binary(), st.text()),
    st.lists,
    max_leaves=4,
)


def traced(*events: str, keep_all: bool = False) -> Trace:
    trace = Trace(keep_all=keep_all)
    for event in events:
        trace.world_ms += 5
        trace.add(Tag.STEP, "a", trace.world_ms, event)
    return trace


def field_of(record: bytes) -> list[object]:
    """The last one, which is a list."""
    field = decode(record)[-1]
    assert isinstance(field, list)
    return list(field)


def hash_of(records: list[bytes]) -> blake2b:
    return blake2b(b"".join(records), digest_size=16, person=b"umi-trace-v1")


def test_tags_are_frozen() -> None:
    table = rows("simulator", "trace_tags")
    expected = [(whole(row["tag"]), row["name"], row["fields"].split(", ")) for row in table]
    assert [(int(tag), tag.name.lower(), FIELDS[tag].split()) for tag in Tag] == expected


def test_golden_hash() -> None:
    trace = Trace()
    trace.add(Tag.RUN, b"\x01\x02", "smoke", "umi")
    trace.world_ms = 1_700_000_000_000
    trace.add(Tag.EFFECT, "o7/commit#1", [1, ["é", None, True], b"\xff"])
    assert trace.hexdigest() == "37d5caee03228fc3980fec88530ff416"


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(Tag), st.lists(PLAIN, max_size=2)), max_size=3))
def test_a_record_is_its_number_its_time_its_tag_and_its_fields(
    records: list[tuple[Tag, list[Field]]],
) -> None:
    trace = Trace()
    for tag, fields in records:
        trace.world_ms += 7
        trace.add(tag, *fields)
    expected = [[seq, 7 * (seq + 1), int(tag), *fields] for seq, (tag, fields) in enumerate(records)]
    assert [decode(record) for record in trace.kept] == expected
    assert trace.hexdigest() == hash_of([msgpack.packb(record) for record in expected]).hexdigest()


def test_asking_for_the_hash_changes_nothing() -> None:
    asked, left_alone = Trace(), Trace()
    for number in range(600):
        asked.add(Tag.MARK, number)
        left_alone.add(Tag.MARK, number)
        asked.hexdigest()
    assert asked.hexdigest() == left_alone.hexdigest()


def test_the_hash_covers_what_is_no_longer_kept() -> None:
    events = [str(n) for n in range(KEPT_COUNT_MAX + 1)]
    short, whole = traced(*events), traced(*events, keep_all=True)
    assert list(short.kept) == list(whole.kept)[1:]
    assert short.hexdigest() == whole.hexdigest() == hash_of(list(whole.kept)).hexdigest()


def test_a_text_with_lone_surrogates_travels_as_bytes() -> None:
    trace = Trace()
    trace.add(Tag.OP, "\ud800a", ["é", ["\udfff"]])
    assert decode(trace.kept[0])[3:] == [b"\xed\xa0\x80a", ["é", [b"\xed\xbf\xbf"]]]


def test_a_number_of_more_than_64_bits_travels_as_its_digits() -> None:
    trace = Trace()
    trace.add(Tag.OP, [-(10**40), [2**64]])
    assert decode(trace.kept[0])[3:] == [[str(-(10**40)), [str(2**64)]]]


def test_a_value_of_the_core_is_written_as_the_codec_writes_it() -> None:
    trace = Trace()
    trace.add(Tag.REPLY, "o1", Done((1, "a")))
    trace.add(Tag.REPLY, "o1", Done((1, "\ud800")))  # a text that msgpack has no form for
    plain, with_bytes = (field_of(record) for record in trace.kept)
    assert plain == msgpack.unpackb(encode(Done((1, "a"))))
    assert with_bytes == [it if it != [0, 1, "a"] else [0, 1, b"\xed\xa0\x80"] for it in plain]


@pytest.mark.parametrize("field", [{1}, Tag.OP, object()])
def test_nothing_else_is_recorded(field: object) -> None:
    trace = Trace()
    with pytest.raises(KeyError):
        trace.add(Tag.OP, field)
    assert trace.record_count == 0
    assert trace.hexdigest() == Trace().hexdigest()


@pytest.mark.parametrize(
    ("steps", "every", "count"),
    [(0, 1, 0), (1, 1, 1), (255, 1, 255), (256, 2, 128), (512, 4, 128)],
)
def test_prefixes_are_hashes_after_every_so_many_steps(steps: int, every: int, count: int) -> None:
    trace = Trace(keep_all=True)
    for number in range(steps):
        trace.add(Tag.STEP, number)
        trace.add(Tag.MARK, "between")
    kept = list(trace.kept)
    ends = [
        2 * every * (k + 1) - 1 for k in range(count)
    ]  # two records a step, the mark of the last not included
    assert trace.every == every
    assert trace.prefixes == [hash_of(kept[:end]).digest()[:6] for end in ends]


def test_equal_traces_do_not_differ() -> None:
    assert first_difference(traced("x", "y"), traced("x", "y")) is None
    assert first_difference(Trace(), Trace()) is None


def test_the_first_difference_is_one_record_on_both_sides() -> None:
    difference = first_difference(traced("x", "y", "z"), traced("x", "Y", "Z"))
    assert difference == Difference(1, [1, 10, 3, "a", 10, "y"], [1, 10, 3, "a", 10, "Y"])


def test_where_one_trace_has_ended_there_is_nothing() -> None:
    assert first_difference(traced("x"), traced("x", "y")) == Difference(1, None, [1, 10, 3, "a", 10, "y"])


def test_traces_are_compared_where_both_still_keep_records() -> None:
    events = [str(n) for n in range(KEPT_COUNT_MAX + 9)]
    short, whole = traced(*events, "x"), traced(*events, "y", keep_all=True)
    difference = first_difference(short, whole)
    assert difference is not None
    assert difference.index == len(events)


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    trace, path = traced("x", "y"), tmp_path / "one.trace"
    trace.write(path, {"scenario": "smoke", "agents": [1, 2]})
    saved = read(path)
    assert (saved.hexdigest, saved.config) == (trace.hexdigest(), {"scenario": "smoke", "agents": [1, 2]})
    assert saved.kept == tuple(trace.kept)
    assert first_difference(trace, saved) is None


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "one.trace"
    traced("x").write(path, {})
    before = path.read_bytes()
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        traced("y").write(tmp_path / "folder", {})
    with pytest.raises(KeyError):
        traced("y").write(path, {"a": {1}})
    assert path.read_bytes() == before
    traced("y").write(path, {})
    assert path.read_bytes() != before
    assert sorted(tmp_path.iterdir()) == [tmp_path / "folder", path]


@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "one.trace"
    traced("x", "y").write(path, {})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"one\.trace is .*write"):
        read(path)


@settings(max_examples=50)
@given(st.binary(max_size=40))
def test_what_is_no_trace_is_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.trace"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="is not a trace of format umi-trace-1"):
        read(path)


@pytest.mark.parametrize(("one", "other"), [("x" * 60 + "c", "x" * 60 + "c.2"), ("x" * 60, "y" + "x" * 59)])
def test_commits_that_differ_at_either_end_of_their_keys_look_different(one: str, other: str) -> None:
    names = [short(Commit((), (), key)) for key in (one, other, "short.2")]
    assert names[0] != names[1]
    assert names[2] == "Commit 0 writes, key short.2"

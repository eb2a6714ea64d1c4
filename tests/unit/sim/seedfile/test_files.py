"""Goal: a run survives its file, the one valid example stays valid, and no file of strangers does harm."""

import contextlib
import json
import zlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.spec_tables import text as exact
from umi_core.data import list_fields
from umi_core.messages.requests import REQUESTS
from umi_core.values import Scope, Turn
from umi_sim.faults.arguments import FaultArgument
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.schema import Wrong
from umi_sim.formats.strict_json import FILE_BYTES_MAX
from umi_sim.kernel.prng import Stream
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import AgentConfig
from umi_sim.record.verdict import Failure
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile import item_json
from umi_sim.seedfile import text as seed_text
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.files import BadSeedFile, ExpectedResult, Minimised, SeedFile, loads, text_of

EXAMPLE = exact("simulator", "seed_file") + "\n"

# Items of every shape. Each argument is good for its field, or something else altogether.

TEXTS = st.text(st.characters(), max_size=6) | st.just("\ud800a") | st.just("x" * 40 + "👍" * 50)
ODD = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.binary(max_size=4) | TEXTS
    | st.builds(Turn, TEXTS, TEXTS) | st.just(Turn("user", None))  # type: ignore[arg-type]
)  # fmt: skip
ANY = ODD | st.lists(ODD, max_size=3).map(tuple) | st.lists(st.tuples(ODD, ODD), max_size=2).map(tuple)
EVENTS = st.sampled_from(["o3/commit#1", "a/wake#2", "a:recover:1/head#1/answer", "o1"])
TIMES = st.integers(0, 2**52)


@st.composite
def ops(draw: st.DrawFn) -> Op:
    name = draw(st.sampled_from(sorted(REQUESTS)))
    fields = list_fields(REQUESTS[name])[1:]
    given_ = [field for field in fields if field.required or draw(st.booleans())]
    return Op("o1", draw(TIMES), "a", name, {field.name: draw(value_of(field.type)) for field in given_})


def value_of(due: Any) -> st.SearchStrategy[object]:
    return ANY | (st.binary(max_size=3) if due is bytes else st.from_type(due))


def args_of(fault: str) -> dict[str, object]:
    return {name: example_of(argument) for name, argument in KINDS[fault].arguments.items()}


def example_of(argument: FaultArgument) -> object:
    """Something that this argument may be: one of its words, a flag, a number or a text."""
    for value in (*argument.words[-1:], True, 7, "\udfff"):
        with contextlib.suppress(Wrong):
            return argument.schema.read(value)
    raise AssertionError(argument)


FAULTS = st.builds(
    lambda kind, event: Fault("f1", kind, event, args_of(kind)), st.sampled_from(sorted(KINDS)), EVENTS
)
DEVIATIONS = st.builds(Deviation, st.just("s1"), EVENTS, EVENTS)
MOVE_ARGS: tuple[tuple[str, dict[str, object]], ...] = (
    ("jump", {"by_ms": -9}), ("drift", {"num": 1, "den": 2}), ("freeze", {}), ("thaw", {"catch_up": True}),
    ("land", {"to_ms": 9}),
)  # fmt: skip
MOVES = st.builds(lambda at, of: ClockMove("c1", at, "a", *of), TIMES, st.sampled_from(MOVE_ARGS))


def there_and_back(item: Item) -> Item:
    return item_json.from_json(json.loads(json.dumps(item_json.to_json(item))))


@settings(max_examples=300)
@given(ops() | FAULTS | DEVIATIONS | MOVES)
def test_every_item_survives_its_file(item: Item) -> None:
    assert repr(there_and_back(item)) == repr(item)  # repr tells True from 1


def example() -> SeedFile:
    return loads(EXAMPLE.encode(), "example.json")


def test_the_example_of_the_specification_is_read() -> None:
    seed = example()
    assert not seed.is_edited
    assert [item.id for item in seed.items] == ["o3", "f1"]
    assert seed.failure is not None
    assert (seed.failure.rule, seed.failure.rule_id) == ("acknowledged-is-durable", "STO-1")
    assert seed.config.seed == 45
    assert seed.extra == {}
    assert [(reply.at, reply.task, reply.prompt) for reply in seed.model] == [
        ("o3/extract#1", "extract", "2f1b60c9d4e8a735")
    ]
    counts = {"op": 1, "fault": 1, "schedule": 0, "clock": 0}
    assert seed.minimised == Minimised(
        57, {"op": 50, "fault": 6, "schedule": 3, "clock": 2}, counts, True, ("f1",)
    )


def test_a_rewritten_file_is_the_same_run_and_keeps_what_the_reader_does_not_know() -> None:
    seed = example()
    again = loads(text_of(seed).encode(), "again.json")
    assert again == seed
    assert text_of(again) == text_of(seed)


def test_the_layout_is_one_line_for_each_key_and_item_in_ascii() -> None:
    items = (Op("o1", 0, "a", "remember", {"text": "日 \ud800"}), Op("o2", 0, "a", "len", {}))
    text = text_of(SeedFile(structs.replace(PLAIN, scenario="smoke"), items, ExpectedResult("pass")))
    assert text.isascii()
    assert text.endswith("\n}\n")
    assert '\n  {"id":"o1","kind":"op",' in text
    assert len(text.splitlines()) == 2 + len(json.loads(text)) + len(items) + 1


def with_original(items: tuple[Item, ...]) -> SeedFile:
    return structs.replace(example(), original=items)


def test_the_items_before_shrinking_survive_their_file() -> None:
    items = tuple(Op(f"o{n}", n, "a", "remember", {"text": f"日 \ud800 {n}"}) for n in range(200))
    text = text_of(with_original(items))
    assert len(text) < len(EXAMPLE) + 4_000  # of 20 000 as they are
    again = loads(text.encode(), "x")
    assert again.original == items
    assert not again.is_edited


@pytest.mark.parametrize(
    ("bytes_max", "original_bytes_max", "has_model", "has_original"),
    [(4_000, 20_000, True, True), (1_800, 20_000, False, True), (4_000, 4_000, True, False)],
)
def test_of_a_shrunk_file_too_large_the_answers_go_then_the_original(
    bytes_max: int, original_bytes_max: int, has_model: bool, has_original: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(seed_text, "MINIMISED_BYTES_MAX", bytes_max)
    monkeypatch.setattr(seed_text, "WITH_ORIGINAL_BYTES_MAX", original_bytes_max)
    stream = Stream(1, "noise")
    noise = "".join(chr(stream.between(32, 1_000)) for _ in range(4_000))
    text = text_of(with_original((Op("o1", 0, "a", "remember", {"text": noise}),)))
    again = loads(text.encode(), "x")
    assert (bool(again.model), bool(again.original)) == (has_model, has_original)
    assert again.items == example().items


def test_a_resolved_configuration_survives_its_file() -> None:
    config = structs.replace(
        PLAIN, scenario="smoke", seed=2**64 - 1, mode="swarm", memory={"semantic_routing": True},
        agents=(AgentConfig("a", Scope("u", "日"), -5), AgentConfig("b", Scope("u", "b"))),
        weights={"set": 3}, faults={"storage_lost": (3, 1024)}, planted="get-alive-at-expiry",
        off=("ttl-boundary",), policy="pct(4)", revise_every=9, steps_max=77,
    )  # fmt: skip
    seed = SeedFile(config, (), ExpectedResult("pass", prefix=(b"\x01\x02",)))
    assert loads(text_of(seed).encode(), "x").config == config


@pytest.mark.parametrize("trials", ["8", "null"])
def test_settings_that_a_release_has_dropped_are_read_and_change_nothing(trials: str) -> None:
    older = EXAMPLE.replace('"loss":false', f'"loss":false,"trials":{trials}')
    assert older != EXAMPLE
    assert loads(older.encode(), "x").config == loads(EXAMPLE.encode(), "x").config


def test_an_edited_file_is_read_and_says_so() -> None:
    edited = EXAMPLE.replace("Alice works", "Alicia works")
    assert loads(edited.encode(), "x").is_edited


def test_a_scenario_of_ones_own_is_marked() -> None:
    seed = SeedFile(structs.replace(PLAIN, scenario="mine"), (), ExpectedResult("pass"))
    assert '"own":true' in text_of(seed)
    assert loads(text_of(seed).encode(), "x").config.scenario == "mine"


def test_limits_are_capped_by_the_reader() -> None:
    text = EXAMPLE.replace("34560000000", "99999999999999999").replace("21000", "999999999999")
    assert loads(text.encode(), "x").config.steps_max == 10_000_000


def test_a_run_too_large_goes_without_its_schedule_and_says_so() -> None:
    config = structs.replace(PLAIN, scenario="smoke")
    many = tuple(Deviation(f"s{n}", "o1", "x" * 250) for n in range(8_000))
    seed = loads(
        text_of(SeedFile(config, (Op("o1", 0, "a", "len", {}), *many), ExpectedResult("pass"))).encode(), "x"
    )
    assert [item.id for item in seed.items] == ["o1"]
    assert "too large" in seed.history.notes


@pytest.mark.slow
def test_a_run_far_too_large_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    counting = " ".join(map(str, range(5_000)))
    items = tuple(Op(f"o{n}", 0, "a", "remember", {"text": counting}) for n in range(100))
    path = tmp_path / "x.json"
    with pytest.raises(BadSeedFile, match="too large for a seed file"):
        seed_file.write(
            path, SeedFile(structs.replace(PLAIN, scenario="smoke"), items, ExpectedResult("pass"))
        )
    assert list(tmp_path.iterdir()) == []


def test_a_long_run_of_characters_is_short_in_the_file() -> None:
    item = Op("o1", 0, "a", "remember", {"text": "x" + "👍" * 100_000})
    assert len(json.dumps(item_json.to_json(item))) < 200
    assert there_and_back(item) == item


# Hostile input: each is one clear line.


def changed(old: str, new: str) -> bytes:
    assert old in EXAMPLE
    return EXAMPLE.replace(old, new).encode()


OP = '{"id":"o3","kind":"op","at_ms":0,"agent":"a","name":"remember","args":{"text":"Alice works at Acme."}}'


def op(**fields: object) -> bytes:
    return changed(OP, json.dumps({**json.loads(OP), **fields}))


def set_args(**args: object) -> bytes:
    return op(name="set", args={"key": "k", "value": "v", **args})


def move(name: str, **args: object) -> bytes:
    made = {"id": "c1", "kind": "clock", "at_ms": 0, "agent": "a", "move": name, "args": args}
    return changed(OP, json.dumps(made))


def faulty(fault: str, **args: object) -> bytes:
    return changed(
        '"fault":"storage_lost","at":"o3/commit#1","args":{}',
        f'"fault":"{fault}","at":"o3/commit#1","args":{json.dumps(args)}',
    )


def original(text: str) -> bytes:
    return changed('"minimised":', f'"original":{json.dumps(text)},"minimised":')


def squeezed(text: str) -> str:
    return b64encode(zlib.compress(text.encode())).decode()


HOSTILE: list[tuple[bytes, str]] = [
    (b"", "line 1, column 1: not JSON"),
    (b"[]", "the file: expected keys with values, got []"),
    (b"{}", 'format: expected "umi-seed"'),
    (b"\xff{}", "byte 0 is not UTF-8"),
    (EXAMPLE.encode()[:-40], "not JSON"),
    (b" " * (FILE_BYTES_MAX + 1), "larger than 2097152 bytes"),
    (b"[" * 100_000, "nested more than 16 deep"),
    (changed('"version":1,\n', '"version":1.0,\n'), '"1.0" is no whole number'),
    (changed('"version":1,\n', '"version":NaN,\n'), '"NaN" is no whole number'),
    (changed('"version":1,\n', '"version":1e5,\n'), '"1e5" is no whole number'),
    (changed('"at_ms":0', '"at_ms":' + "9" * 20), "more than 19 digits"),
    (changed('"at_ms":0', '"at_ms":0,"at_ms":0'), 'the key "at_ms" stands twice'),
    (changed('"min_reader":1', '"min_reader":2'), "this one reads version 1, the file needs 2"),
    (changed('"umi-prng-1"', '"umi-prng-2"'), 'prng.id: unknown generator "umi-prng-2"'),
    (changed('"seed":"45"', '"seed":45'), "prng.seed: expected a seed in digits, got 45"),
    (changed('"seed":"45"', '"seed":"18446744073709551616"'), "prng.seed: expected a seed up to"),
    (changed('"id":"storage_storm"', '"id":"nowhere"'), 'scenario.id: unknown scenario "nowhere"'),
    (changed('"target":"umi_core"', '"target":"os"'), 'target: unknown target "os"; known: umi_core, '),
    (changed('"loss":false', '"lost":false'), 'config.lost: unknown key; did you mean loss?'),
    (changed('"latency":"instant"', '"latency":"far"'), 'config.latency: unknown latency "far"'),
    (changed('"memory":{}', '"memory":{"core_bytes_max":1}'), "memory.core_bytes_max: expected a whole"),
    (changed('"memory":{}', '"memory":{"auto_rebalance":1}'), "auto_rebalance: expected true or false, got"),
    (changed('"memory":{}', '"planted":"sleep"'), 'config.planted: unknown mutant "sleep"'),
    (changed('"scope":["u1","a1"]', '"scope":["u1"]'), "config.agents[0].scope: expected [user, agent]"),
    (changed('"scope":["u1","a1"]', '"scope":["u1",""]'), "config.agents[0].scope: agent: "),
    (changed('"scope":["u1","a1"]', '"scope":["","a1"]'), "config.agents[0].scope: user: "),
    (changed('"items":[', '"items":["o1",'), 'items[0]: expected keys with values, got "o1"'),
    (op(kind="call"), 'items[0].kind: unknown kind "call"; known: op, fault, schedule, clock'),
    (op(id="O1"), 'items[0].id: expected a letter and at most 6 digits, got "O1"'),
    (op(id="f1"), "items[1].id: f1 is the id of entry 0 too"),
    (op(when=1), 'items[0].when: unknown key'),
    (op(agent="b"), 'items[0].agent: unknown agent "b"; known: a'),
    (op(at_ms=-1), "items[0].at_ms: expected a whole number from 0"),
    (op(name="remembr"), 'items[0].name: unknown request "remembr"; did you mean remember?'),
    (op(args={}), "items[0].args.text: missing"),
    (op(args={"text": "x", "txt": "y"}), 'items[0].args.txt: unknown key; did you mean text?'),
    (set_args(ttl_ms="soon"), 'items[0].args.ttl_ms: expected a whole number, got "soon"'),
    (set_args(value=7), "items[0].args.value: expected text or hex, got 7"),
    (set_args(value="\ud800"), "items[0].args.value: expected text without lone surrogates, or hex"),
    (set_args(value={"hex": "f"}), "items[0].args.value.hex: expected pairs of hex digits"),
    (set_args(value={"os": "rm"}), 'items[0].args.value: unknown tag "os"; known: hex, text'),
    (set_args(value={}), "items[0].args.value: expected one of hex, text, turn, int, odd"),
    (set_args(value={"runs": [["ab", 2**40]]}), "items: more than 16777216 characters"),
    (set_args(value={"runs": [["ab", 200_000]]}), "items[0].args.value.runs: more than 262144"),
    (set_args(key="x" * 262_145), "items[0].args.key: expected text of at most 262144 bytes"),
    (op(name="recall", args={"query": "q", "turns": [["user"]]}), "args.turns[0]: expected [role, text]"),
    (changed('"storage_lost"', '"storage_los"'), 'unknown fault "storage_los"; did you mean storage_lost?'),
    (changed('#1","args":{}', '#1","args":{"told":"all"}'), 'items[1].args.told: unknown value "all"'),
    (move("leap"), 'items[0].move: unknown move "leap"; known: jump, drift, freeze, thaw, land'),
    (move("jump"), "items[0].args.by_ms: missing"),
    (move("drift", num=1, den=0), "items[0].args.den: expected a whole number from 1 to 1000000000, got"),
    (move("drift", num=5, den=2), 'items[0].args: expected a rate between 1/2 and 2/1, got "5/2"'),
    (move("drift", num=2, den=5), 'items[0].args: expected a rate between 1/2 and 2/1, got "2/5"'),
    (move("freeze", for_ms=1), 'items[0].args.for_ms: unknown key'),
    (move("thaw", catch_up=1), "items[0].args.catch_up: expected true or false, got 1"),
    (move("land", to_ms=-1), "items[0].args.to_ms: expected a whole number from 0"),
    (faulty("link_delay"), "items[1].args.delay_ms: missing"),
    (faulty("link_clog", for_ms="long"), 'args.for_ms: expected a whole number from 0 to 86400000, got'),
    (faulty("link_clog", for_ms=2**53 - 1), "for_ms: expected a whole number from 0 to 86400000"),
    (faulty("link_loss", for_ms=1), 'items[1].args.for_ms: unknown key'),
    (faulty("link_duplicate", after_ms=-1), "items[1].args.after_ms: expected a whole number from 0"),
    (faulty("agent_pause", for_ms=1, clock="melts"), 'items[1].args.clock: unknown value "melts"'),
    (changed('"kind":"safety"', '"kind":"odd"'), 'failure.kind: unknown kind "odd"'),
    (changed('"prefix":[]', '"prefix":["zz"]'), "expect.prefix[0]: expected hex digits"),
    (changed('"runs":57', '"runs":"57"'), "minimised.runs: expected a whole number from 0"),
    (changed('"schedule":3', '"plan":3'), 'minimised.from.plan: unknown kind of item; known: op, fault'),
    (changed('"needed":["f1"]', '"needed":["../f1"]'), "minimised.needed[0]: expected a letter and at most"),
    (original("?"), "original: expected items packed with zlib, then base64"),
    (original("AAAA"), "original: expected items packed with zlib, then base64"),
    (original(squeezed(" " * 2**25)), "original: more than 16777216 bytes when unpacked"),
    (original(squeezed("[" + "[]," * 2**18 + "[]]")), "original: unpacked: more than 500000 values"),
    (original(squeezed("[]")[:8]), "original: the packed items are cut off"),
    (original(squeezed("[" * 99)), "original: unpacked: nested more than 16 deep"),
    (original(squeezed('[{"kind":"call"}]')), 'original[0].kind: unknown kind "call"'),
    (changed('"hits":17', '"hits":true'), "history.hits: expected a whole number from 0"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), HOSTILE, ids=[message[:60] for _, message in HOSTILE])
def test_hostile_input_is_one_clear_line(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(BadSeedFile) as caught:
        seed_file.read(path)
    error_text = str(caught.value)
    assert error_text.startswith(f"{path}: ")
    assert message in error_text
    assert error_text.isascii()
    assert error_text.isprintable()
    assert len(error_text) < 400 + len(str(path))


def test_too_many_items_are_refused() -> None:
    data = changed('"items":[', '"items":[' + "0," * 100_000)
    with pytest.raises(BadSeedFile, match="items: expected at most 100000 entries, got 100002"):
        loads(data, "x")


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: None], ids=["folder", "absent"])
def test_what_cannot_be_read_is_one_clear_line(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "x.json")
    with pytest.raises(BadSeedFile, match=r"x\.json: cannot be read: (not a file|No such file)"):
        seed_file.read(tmp_path / "x.json")


@pytest.mark.slow
def test_two_thousand_damaged_files_are_read_or_refused() -> None:
    stream = Stream(42, "damage")
    whole = EXAMPLE.encode()
    for _ in range(2_000):
        damaged = bytearray(whole)
        for _ in range(stream.between(1, 4)):
            damage(damaged, stream)
        with contextlib.suppress(BadSeedFile):
            loads(bytes(damaged), "x")


def damage(data: bytearray, stream: Stream) -> None:
    """One byte changed, taken out or put in; half of the new ones have a meaning in JSON."""
    at = stream.below(len(data))
    new = stream.pick(b'{}[]",:0-\\et') if stream.chance(1, 2) else stream.below(256)
    kind = stream.below(3)
    data[at : at + (kind != 2)] = [] if kind == 1 else [new]


# Files.


def failed(message: str = "o1 is lost") -> SeedFile:
    failure = Failure("safety", "acknowledged-is-durable", "STO-1", 3, 0, "o1", message)
    return SeedFile(structs.replace(PLAIN, scenario="smoke"), (), ExpectedResult("fail"), failure, "0" * 12)


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.json"
    seed_file.write(path, failed())
    assert [each.name for each in path.parent.iterdir()] == ["x.json"]
    assert seed_file.read(path) == failed()


def test_the_name_of_a_file_is_the_rule_and_the_fingerprint() -> None:
    failure = failed('acknowledged by o3, absent in the audit: person "Alice"').failure
    assert failure is not None
    path = seed_file.default_path(failure)
    assert path.as_posix() == ".umi-sim/ephemeral/acknowledged-is-durable-8ad16dbbe2cc.json"

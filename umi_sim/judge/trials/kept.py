"""What is kept of a memory: saved states in which one field is odd, and recordings, whole and spoiled.

Law 1. A saved state is refused exactly if the plain table of its fields does not allow the odd one; else it
comes back as it was. Bytes of which a part is another are refused. Law 2. A recording is read as it was
written, or refused with the kind of what is wrong.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final

import attrs
import msgpack

from umi_core.codec import encode
from umi_core.config import Config
from umi_core.errors import BadVersion, Error, Rejected, SnapshotVersion, StateDamaged
from umi_core.invariants.broken import Broken, demand
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed, ReadDone, Value, Wake
from umi_core.messages.effects import Reply, Unknown
from umi_core.messages.requests import Get, Len
from umi_core.recordings import Head, Taken, digest_of, read_recording
from umi_core.state import State
from umi_core.values import RoutingDecision, Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.plain.saved import FIELDS
from umi_sim.judge.trials.stored import OF_CORE, OF_ROWS, odd
from umi_sim.judge.trials.values import values
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

TURNS: Final = 160
WHO: Final = Scope("u", "a")
FEW: Final[tuple[object, ...]] = (None, True, 7, "x", b"", (), ("x",), {})
LIFE: Final = 2**20 - 1
SHOWN: Final = 200
ROUTED: Final = RoutingDecision("e1", "facts", True, 900_000, "so it is", "model", None)
OF_STATES: Final[tuple[object, ...]] = (
    {}, {"x": 1}, {"x": -1}, {"x": None}, {"x": True}, {"x": 2**53 - 1}, {"x": 2**53}, {"x": "y"},
    2**52 - 1, 2**52, 2**53 - 1, 2**53, 2**54,
    "ready", "unfit", "closed", "deposed", "new", "recovering", "READY",
    "x" * 200, "x" * 201, "é" * 100, "é" * 101, (ROUTED,), (odd(ROUTED, block="system"),),
    (odd(ROUTED, block=None),),
    (odd(ROUTED, confidence_ppm=None),), (odd(ROUTED, confidence_ppm="x"),), (odd(ROUTED, promote=1),),
    (odd(ROUTED, cause="unsure"),), (odd(ROUTED, cause=1),), (odd(ROUTED, entity_id=None),),
    (odd(ROUTED, outcome=None),), ("x" * 4_092,), ("x" * 4_093,), ('"' * 2_046,), ("x" * 2_045, "x" * 2_044),
    ("x" * 2_045, "x" * 2_045),
)  # fmt: skip


@cache
def places() -> Sequence[tuple[str, object]]:
    """In each field each value of its type that bytes can hold, and a few others."""
    tried = [it for it in (*values(), *OF_ROWS, *OF_STATES, *OF_CORE) if can_be_saved(it)]
    usual = {way: attrgetter(way)(whole()) for way in FIELDS}
    return [(way, it) for way in FIELDS for it in tried if may_stand(it, usual[way]) or it in FEW]


def may_stand(value: object, usual: object) -> bool:
    return type(value) is type(usual) or (usual is None and isinstance(value, int | str))


def can_be_saved(value: object) -> bool:
    try:
        encode(value)
    except (KeyError, TypeError, ValueError, OverflowError):
        return False
    return True


def whole() -> State:
    """Of a memory that has nothing in flight."""
    return State(WHO, Config(), seen_ms=5, phase="ready", epoch=3)


def with_odd(it: Any, way: Sequence[str], value: object) -> Any:
    name, *rest = way
    changed: Any = {name: with_odd(getattr(it, name), rest, value) if rest else value}
    return attrs.evolve(it, **changed)


def try_kept(draw: Stream, config: Config) -> None:
    for way, value in places()[draw.below(TURNS) :: TURNS]:
        check_saved(way, value)
    check_bytes(draw)
    check_recording(draw, config)


# Saved states.


def check_saved(way: str, value: object) -> None:
    state = with_odd(whole(), way.split("."), value)
    told = f"a saved memory with {repr(value)[:SHOWN]} as {way}"
    try:
        got = Memory.restore(Memory.standing_at(state, BUILT_IN).snapshot(), life=LIFE)
    except Rejected:
        demand(not FIELDS[way](value), rules.FORGED_STATE_REFUSED, told, "restored", "refused")
        return
    except Exception as error:
        raise Broken(rules.FORGED_STATE_REFUSED, told, "refused", repr(error)) from None
    demand(FIELDS[way](value), rules.FORGED_STATE_REFUSED, told, "refused", "restored")
    state.begin_life(LIFE)
    demand(got.state == state, rules.FORGED_STATE_REFUSED, told, state, got.state)


def check_bytes(draw: Stream) -> None:
    """Of what is saved one part is another, or a byte is."""
    data = Memory.standing_at(whole(), BUILT_IN).snapshot()
    parts, at = msgpack.unpackb(data), draw.below(len(data))
    version = parts[1]
    for spoiled, error in (
        (msgpack.packb([parts[0], version + 1, *parts[2:]]), SnapshotVersion),
        (msgpack.packb([parts[0], version - 1, *parts[2:]]), SnapshotVersion),
        (msgpack.packb([f"{parts[0]}s", *parts[1:]]), StateDamaged),
        (msgpack.packb(parts[:-1]), StateDamaged), (msgpack.packb([*parts, None]), StateDamaged),
        (msgpack.packb([*parts[:-1], None]), StateDamaged),
        (msgpack.packb([*parts[:-2], parts[3] + b"x", parts[4]]), StateDamaged), (data[:-1], StateDamaged),
        (data + b"x", StateDamaged), (b"", StateDamaged), (msgpack.packb(7), StateDamaged),
        (data[:-1] + bytes((data[-1] ^ 1,)), StateDamaged), (data[:at], StateDamaged),
        (msgpack.packb([parts[0], str(version), *parts[2:]]), StateDamaged),
    ):  # fmt: skip
        try:
            got: object = Memory.restore(spoiled, life=LIFE)
        except Rejected as refused:
            got = type(refused.errors[0])
        except Exception as raised:
            got = repr(raised)
        told = f"a saved memory of the bytes {spoiled!r}"[:SHOWN]
        demand(got is error, rules.FORGED_STATE_REFUSED, told, error, got)


# Recordings.

VALUES: Final[tuple[Value, ...]] = (
    Wake(), Len(1), Get("o1", "tea"), Get("o2", "日本\n"), ReadDone(7, ()), EffectFailed(8, "conflict", 5),
)  # fmt: skip
SPOILED: Final = (
    "[", "[1]", '[1, "x"]', '[true, "x"]', "[1, 2]", "{}", "7", "null", '[1, "x", 2]', '[1, "!kUo="]',
)  # fmt: skip
HEADS: Final = ("", "7", "[]", "{}", '{"umi": "recording"}', '{"umi": "seed", "version": 1}')


def line_of(step: Taken) -> str:
    return json.dumps([step.now_ms, b64encode(encode(step.value)).decode()])


def drawn_steps(draw: Stream) -> Iterator[Taken]:
    for _ in range(draw.below(5)):
        digest = draw.pick(("", "9a3f", "0" * 16))
        yield Taken(draw.pick((0, 1, 2**53, 1_700_000_000_000)), draw.pick(VALUES), digest)


def lines_of(draw: Stream, steps: Sequence[Taken]) -> Iterator[str]:
    for step in steps:
        yield line_of(step)
        yield from ("",) * draw.below(2)
        yield from (json.dumps(step.digest),) if step.digest else ()


def check_recording(draw: Stream, config: Config) -> None:
    head, steps = Head(WHO, config), tuple(drawn_steps(draw))
    given = {"umi": "recording", "version": 1, "scope": ["u", "a"]}
    first = json.dumps({**given, "config": b64encode(encode(config)).decode()}, sort_keys=True)
    demand(head.line() == first, rules.REPLAY_INPUTS, "the head of a recording", first, head.line())
    for step in steps:
        wanted = line_of(step)
        demand(step.line() == wanted, rules.REPLAY_INPUTS, f"{step} in a line", wanted, step.line())
    lines = list(lines_of(draw, steps))
    check_read([first, *lines], (head, steps))
    check_read([first, *lines, draw.pick(SPOILED)], (head, steps))
    check_read([first, *lines, draw.pick(SPOILED), ""], StateDamaged)
    check_read([draw.pick(HEADS), *lines], StateDamaged)
    for name, value, error in (
        ("version", 2, BadVersion), ("scope", ["", "a"], StateDamaged), ("scope", ["u"], StateDamaged),
        ("config", "x", StateDamaged), ("config", b64encode(encode(7)).decode(), StateDamaged),
    ):  # fmt: skip
        check_read([json.dumps({**json.loads(first), name: value}), *lines], error)
    effects = (Reply(1, Unknown()),) * draw.below(3)
    digest, told = blake2b(encode(effects), digest_size=8).hexdigest(), digest_of(effects)
    demand(digest == told, rules.REPLAY_INPUTS, f"the digest of {effects}", digest, told)


def check_read(lines: Sequence[str], wanted: tuple[Head, tuple[Taken, ...]] | type[Error]) -> None:
    text = "\n".join(lines)
    try:
        got: object = read_recording(text)
    except Rejected as refused:
        got = type(refused.errors[0])
    except Exception as error:
        raise Broken(rules.REPLAY_INPUTS, f"{text!r} is read", str(wanted), repr(error)) from None
    demand(got == wanted, rules.REPLAY_INPUTS, f"{text!r} is read", wanted, got)

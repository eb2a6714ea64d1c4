"""Goal: each value in the place of each field is allowed or refused as a reference says, all of them once.

Fields of requests, of stored rows, of saved states, and settings. Where only one field is odd, no other
hides what is decided about it.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from operator import attrgetter
from typing import Any, Final

import msgpack
import pytest

from tests.properties.laws import Draw, law
from tests.properties.requests_reference import FIELDS as OF_REQUESTS
from tests.properties.requests_reference import WRONG, wrong
from tests.properties.rows_reference import FIELDS, is_fit
from tests.properties.rows_reference import STATE_FIELDS as OF_STATES
from tests.properties.values import (
    CORES,
    FILTERS,
    LONG,
    OF_FIELDS,
    SHORT,
    allowed,
    first_sound,
    odd,
    sound,
    tried,
)
from umi_core.answer_checks import is_valid_body
from umi_core.codec import encode
from umi_core.config import OPTIONS, Config
from umi_core.data import list_fields
from umi_core.domains import domain_of
from umi_core.errors import BadConfig, BadVersion, Error, Rejected, StateDamaged
from umi_core.memory import Memory
from umi_core.messages.requests import ALL, OF_MEMORY, arguments_of, bad_request
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import Body
from umi_core.state import State
from umi_core.values import RoutingDecision, Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.plain.requests import is_same

DOMAINS: Final[dict[str, Callable[[str, Any], Error | None]]] = {
    domain.name: domain.wrong
    for domain in (domain_of(field.type) for cls in ALL for field in list_fields(cls)[1:])
}


def check_values(pairs: Iterator[tuple[str, object]]) -> None:
    for domain, value in pairs:
        wanted, got = WRONG[domain]("it", value), DOMAINS[domain]("it", value)
        assert is_same(wanted, got), (domain, repr(value)[:200])


def test_each_value_is_allowed_in_each_domain_or_refused_with_its_error() -> None:
    assert len(DOMAINS) > 60
    check_values(product(DOMAINS, SHORT))


def test_each_filter_is_allowed_or_refused_with_its_error() -> None:
    check_values(product(("filter", "row_filter"), FILTERS))


@pytest.mark.slow
def test_each_long_value_is_allowed_in_each_domain_or_refused_with_its_error() -> None:
    check_values(product(DOMAINS, LONG))


def requests(draw: Draw) -> tuple[Any]:
    """Draw a request whose fields are mostly allowed: the first that is not decides."""
    cls = draw.pick(tuple(OF_MEMORY.values()))
    given = {
        it.name: draw.pick(allowed(it.domain) if draw.chance(15, 16) else SHORT)
        for it in arguments_of(cls)
        if it.is_required or draw.chance(1, 2)
    }
    op_id: Any = 7 if draw.chance(15, 16) else draw.pick((*SHORT, *LONG))
    return (cls(op_id, **given),)


@pytest.mark.slow
@law(requests, examples=300)
def test_a_request_is_refused_for_its_first_wrong_field(request: Any) -> None:
    assert is_same(wrong(request), bad_request(request))


def test_what_a_request_says_by_default_is_allowed() -> None:
    for cls in ALL:
        defaults = {field.name: field for field in list_fields(cls)}
        for name, may_be_none, wrong_with in OF_REQUESTS[cls]:
            value = defaults[name].default
            is_given = defaults[name].required or (value is None and may_be_none)
            assert is_given or wrong_with(name, value) is None, (cls, name)


# Rows.


@pytest.mark.slow
def test_each_value_is_believed_in_each_field_of_a_row_or_not() -> None:
    for kind, fields in FIELDS.items():
        body = first_sound(kind)
        for name in fields:
            for value in tried(name):
                it = odd(body, **{name: value})
                assert is_fit(it) == is_valid_body(it), (kind, name, repr(value)[:200])


@law(lambda draw: (sound(draw, draw.pick(tuple(FIELDS))),), examples=200)
def test_rows_are_read_from_their_bytes(body: Any) -> None:
    """Bytes of an older version give later fields their defaults; newer and invalid bytes are refused."""
    data = encode_row(body)
    assert read_row(data) == body
    kind, version, tree = msgpack.unpackb(data)
    assert kind == body.row_kind
    assert type(read_row(msgpack.packb([kind, version + 1, tree]))) is BadVersion
    # Version 0, a version that is a text, no kind, and a body without its last byte.
    unread = ([kind, 0, tree], [kind, str(version), tree], ["", version, tree], [kind, version, tree[:-1]])
    for spoiled in (*map(msgpack.packb, unread), data[:-1], data + b"\0", b""):
        assert type(read_row(spoiled)) is StateDamaged, spoiled
    # Only if the last version added fields; otherwise its bytes equal those of the version before.
    if version > body.oldest and (count := body.added[-1]):
        fields = [getattr(body, name) for name in body.__struct_fields__[:-count]]
        older = msgpack.packb(msgpack.unpackb(tree)[:-count])
        assert read_row(msgpack.packb([kind, version - 1, older])) == type(body)(*fields)
        assert type(read_row(msgpack.packb([kind, version - 1, tree]))) is StateDamaged


def read_row(data: bytes) -> Body | Error:
    try:
        return decode_row(data)
    except Rejected as refused:
        return refused.errors[0]


# Saved states.

SCOPE: Final = Scope("u", "a")
LIFE: Final = 2**20 - 1
ROUTED: Final = RoutingDecision("e1", "facts", True, 900_000, "so it is", "model", None)
IN_STATES: Final[tuple[object, ...]] = (
    {}, {"x": 1}, {"x": -1}, {"x": None}, {"x": True}, {"x": 2**53 - 1}, {"x": 2**53}, {"x": "y"},
    2**52 - 1, 2**52, 2**53 - 1, 2**53, 2**54,
    "ready", "over_limit", "closed", "fenced", "new", "recovering", "READY",
    "x" * 200, "x" * 201, "é" * 100, "é" * 101, (ROUTED,), (odd(ROUTED, block="system"),),
    *((odd(ROUTED, **{name: value}),) for name, value in (
        ("block", None), ("confidence_ppm", None), ("confidence_ppm", "x"), ("promote", 1),
        ("cause", "unsure"), ("cause", 1), ("entity_id", None), ("outcome", None),
    )),
    ("x" * 4_092,), ("x" * 4_093,), ('"' * 2_046,), ("x" * 2_045, "x" * 2_044),
    ("x" * 2_045, "x" * 2_045),
)  # fmt: skip
FEW: Final[tuple[object, ...]] = (None, True, 7, "x", b"", (), ("x",), {})


def saved_state() -> State:
    """Return a state with nothing in flight."""
    return State(SCOPE, Config(), seen_ms=5, phase="ready", epoch=3)


def can_be_saved(value: object) -> bool:
    try:
        encode(value)
    except (KeyError, TypeError, ValueError, OverflowError):
        return False
    return True


@cache
def odd_states() -> list[tuple[str, object]]:
    """Return in each field each value of its type that bytes can hold, and a few others."""
    values = [it for it in (*OF_FIELDS, *IN_STATES, *CORES) if can_be_saved(it)]

    def may_stand(value: object, usual: object) -> bool:
        return type(value) is type(usual) or (usual is None and isinstance(value, int | str))

    usual = {path: attrgetter(path)(saved_state()) for path in OF_STATES}
    return [(path, it) for path in usual for it in values if it in FEW or may_stand(it, usual[path])]


def with_field(it: Any, path: list[str], value: object) -> Any:
    name, *rest = path
    return odd(it, **{name: with_field(getattr(it, name), rest, value) if rest else value})


@pytest.mark.slow
def test_a_saved_state_is_restored_as_it_was_or_refused() -> None:
    for path, value in odd_states():
        state = with_field(saved_state(), path.split("."), value)
        value = attrgetter(path)(state)
        try:
            restored = Memory.restore(Memory.standing_at(state, BUILT_IN).snapshot(), life=LIFE)
        except Rejected:
            assert not OF_STATES[path](value), (path, repr(value)[:200])
            continue
        assert OF_STATES[path](value), (path, repr(value)[:200])
        state.begin_life(LIFE)
        assert restored.state == state


# Settings.

NOT_ABOVE: Final = (  # a second setting that must not be below the first
    ("route_confidence_min_ppm", "promote_confidence_min_ppm"), ("cluster_ppm", "merge_ppm"),
)  # fmt: skip


def refused_by(name: str, value: object) -> list[str]:
    try:
        Config(**{name: value})  # type: ignore[arg-type]
    except Rejected as rejected:
        return [error.option for error in rejected.errors if isinstance(error, BadConfig)]
    return []


def test_settings_are_taken_to_the_ends_of_their_ranges_and_no_further() -> None:
    for name, ends in OPTIONS.items():
        if ends is None:
            assert [refused_by(name, it) for it in (True, False, 1, None)] == [[], [], [name], [name]]
            continue
        low, high = ends
        assert all(refused_by(name, it) == [name] for it in (low - 1, high + 1, True, str(low)))
        for value in (low, high):
            now = {**{it: getattr(Config(), it) for pair in NOT_ABOVE for it in pair}, name: value}
            assert refused_by(name, value) == [high for low, high in NOT_ABOVE if now[high] < now[low]]

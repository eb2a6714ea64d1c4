"""Goal: a value comes back from its source as it was, and no text gets out of its quotes."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core import values
from umi_core.config import Config
from umi_core.messages import effects
from umi_core.messages import requests as inputs
from umi_core.messages.answers import Committed, EffectFailed, Embedded, ReadDone, Wake
from umi_core.messages.requests import Recall, Remember, Set
from umi_core.rows import Address, Entity, Row, SessionRow
from umi_core.values import Scope, Turn
from umi_sim.kernel.literals import WIDTH, LiteralWriter, Unwritable, comment, flat, quote_text, statement
from umi_sim.workload import pools

SCOPE = Scope("u1", "a1")
ADDRESS = Address(SCOPE, "entity", "ent_1")
ENTITY = Entity("ent_1", "person", "Zoë", "Zoë likes tea.", 1, 500_000, 700_000, "human", 12_345, 7)
HOSTILE: list[object] = [
    value
    for pool in (
        pools.HOSTILE_KEYS,
        pools.HOSTILE_VALUES,
        pools.NASTY,
        pools.HOSTILE_METADATA,
        pools.HOSTILE_TTLS,
    )
    for group in pool.values()
    for value in group
]
VALUES: list[object] = [
    Set("o1", "k", b"\x00\xff'\"\\", ttl_ms=10), Set("o1", "k", "text where bytes belong", True),  # type: ignore[arg-type]
    Wake(), Remember("o", "x" * 5_000, metadata=(("k", "v"),)), Recall("o", "q", turns=(Turn("u", "t"),)),
    ReadDone(3, (Row(ADDRESS, 1, ENTITY), Row(ADDRESS, 2, None, 7)), cursor="c"),
    Row(ADDRESS, 1, SessionRow("s", "u", "a", ("a",), 1, "a", bytes(range(256)))),
    Embedded(1, (tuple(range(-64, 64)), (0.5, True), ())), Embedded(1, (tuple([True] * 64),)),
    Committed(1, ((ADDRESS, 1),), ("a", 1)), EffectFailed(1, "conflict"), Config(embedding_dims=2),
    (), (1,), ((1,), ()), [1, "a"], -12_345_678, 2**63, None, False, "\ud800", Scope("u2", "a1"),
]  # fmt: skip
NAMES: dict[str, Any] = {**vars(effects), **vars(inputs), **vars(values), "Config": Config}


def source(value: object) -> str:
    """A module that binds `value`."""
    writer = LiteralWriter(scope=SCOPE)
    body = list(statement("value = ", writer.node(value)))
    return "\n".join([*writer.head(), *body, ""])


def revived(value: object) -> object:
    space = dict(NAMES)
    exec(compile(source(value), "<source>", "exec"), space)
    return space["value"]


@pytest.mark.parametrize("value", [*VALUES, *HOSTILE], ids=lambda value: ascii(value)[:30])
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert revived(value) == value
    assert repr(revived(value)) == repr(value)  # True is not 1


@given(st.text() | st.binary() | st.text("\"'\\\n{}#x"))
def test_a_text_is_one_ascii_literal(text: str | bytes) -> None:
    mark, letters = ("", text) if isinstance(text, str) else ("b", text.decode("latin-1"))
    written = mark + quote_text(letters)
    assert written.isascii()
    assert written.isprintable()
    (statement_,) = ast.parse(written).body
    assert isinstance(statement_, ast.Expr)
    assert isinstance(statement_.value, ast.Constant)
    assert statement_.value.value == text


@given(st.text(min_size=51, max_size=400) | st.text("ab\n'\"", min_size=51), st.integers(1, 3_000))
def test_a_long_text_is_a_constant_in_short_lines(text: str, count: int) -> None:
    value = text + "x" * count + text
    assert revived(value) == value
    assert max(map(len, source(value).splitlines())) <= WIDTH
    assert source(value).isascii()


def test_equal_constants_stand_once() -> None:
    vector = tuple(range(64))
    assert source((vector, vector)).count("VECTOR_1 = (") == 1
    assert "value = (VECTOR_1, VECTOR_1)" in source((vector, vector))


def test_what_is_default_is_left_out_and_few_fields_need_no_names() -> None:
    writer = LiteralWriter(scope=SCOPE)
    assert flat(writer.node(Set("o1", "k", b"tea"))) == 'Set("o1", "k", b"tea")'
    assert flat(writer.node(Set("o1", "k", b"tea", ttl_ms=5))) == 'Set("o1", "k", b"tea", ttl_ms=5)'
    assert flat(writer.node(ADDRESS)) == 'Address(SCOPE, "entity", "ent_1")'
    assert flat(writer.node(ENTITY)).startswith('Entity(id="ent_1", type="person", name="Zo\\xeb", ')


def test_numbers_that_are_none_are_written_too() -> None:
    nan, infinite = float("nan"), float("-inf")
    assert repr(revived(Embedded(1, ((nan, infinite),)))) == repr(Embedded(1, ((nan, infinite),)))


def test_what_is_not_of_umi_core_is_refused() -> None:
    class Wake2(Wake): ...

    for value in (object(), {"a": 1}, {1}, Wake2()):
        with pytest.raises(Unwritable):
            LiteralWriter(scope=SCOPE).node(value)


@given(st.text())
def test_a_comment_stays_one_line(text: str) -> None:
    assert comment(text).isascii()
    assert comment(text + "\nimport os\r\x0cx\u2028").isprintable()

"""Random rows: bodies of each kind with any values that their fields may hold, for conformance tests.

Law 1. The strategy of a kind is derived from its declaration in umi_core/rows.py.
Law 2. Each field takes several values, so that a storage which loses or resets a field is detected.
"""

from collections.abc import Iterable
from typing import Any, Final, get_args

import hypothesis.strategies as st

from umi_core.data import list_fields
from umi_core.declared import Incomplete
from umi_core.domains import domain_of
from umi_core.kelpie.domains import CHANGES, LOGS, ROLES
from umi_core.limits import COMPONENT_MAX, I64_MAX, PPM
from umi_core.messages.effects import Write
from umi_core.migration.rows import MOVED_KINDS, STORED_PHASES
from umi_core.rows import BODIES, Address, Body, Entity
from umi_core.values import (
    AUTHORS,
    BLOCK_KINDS,
    ENDING_KINDS,
    ENTITY_TYPES,
    EVOLUTION_KINDS,
    MEMORY_TYPES,
    MODALITIES,
    Block,
    Entry,
    Period,
    Scope,
)

Values = st.SearchStrategy[Any]
IDS: Final = ("e1", "e10", "e2")  # "e1" is a prefix of "e10"
# 2**53 + 1 is the first whole number that a float cannot hold
WHOLE: Final = st.sampled_from((0, 1, 2, 2**31, 2**53 + 1, I64_MAX))
# Composed and decomposed Zoë must stay different; NUL, quotes and % are often mishandled in SQL.
WORDS: Final = st.sampled_from(
    ("", "tea", "Zoë", "Zoe\u0308", "日本", "👍", "a\u0000b", 'o\'r "q" %_\\', " x\n")
)
TEXTS: Final = st.lists(WORDS, max_size=2).map(tuple)
PARTS: Final = st.integers(0, PPM)
ENTRIES: Final = st.builds(Entry, st.sampled_from(IDS), st.integers(1, 3), WORDS, WORDS, WHOLE)
PERIODS: Final = st.builds(Period, WHOLE, WHOLE, st.sampled_from(IDS), st.sampled_from(ENDING_KINDS))
BLOCKS: Final = st.builds(
    Block, st.sampled_from(BLOCK_KINDS), st.sampled_from(("", "work")), WORDS, PARTS
) | st.builds(Block, st.sampled_from(BLOCK_KINDS[1:]), entries=ENTRIES.map(lambda entry: (entry,)))
PAIRS: Final = st.dictionaries(WORDS, WORDS, max_size=2).map(lambda pairs: tuple(pairs.items()))


def fact_of_id(key: str) -> Entity:
    """Return a fact with this id; Hypothesis prints the call, which is shorter than the value."""
    return Entity(key, "person", "tea", "日本", 1, 0, PPM, "human", 0, 1, about=("e1",), is_direct=True)


VALUES: Final[dict[str, Values]] = {  # by domain
    **dict.fromkeys(("entity_id", "session_id"), st.sampled_from(IDS)),
    "source": st.sampled_from(("told", "日本", "x y")),
    "members": st.sampled_from(((), ("a",), ("b", "a"))),
    "carries": st.sampled_from((("keys",), ("facts",), ("keys", "messages", "facts"))),
    "time": WHOLE, "count": WHOLE, "version": st.sampled_from((1, 2, 2**53 + 1)), "importance": PARTS,
    "flag": st.booleans(), "metadata": PAIRS, "texts": TEXTS, "word": WORDS,
    "entity_type": st.sampled_from(ENTITY_TYPES), "entity_block": st.sampled_from(BLOCK_KINDS[1:]),
    "change": st.sampled_from(EVOLUTION_KINDS), "ending_kind": st.sampled_from(ENDING_KINDS),
    "relation_kind": st.sampled_from(EVOLUTION_KINDS),
    **dict.fromkeys(("entity_name", "content", "reason"), WORDS),
    "end": st.tuples(st.sampled_from(IDS), st.integers(0, 3)), "maker": st.tuples(WHOLE, WHOLE),
    "ends": st.lists(st.tuples(st.sampled_from(IDS), st.integers(0, 3)), max_size=2).map(tuple),
    "uri": st.sampled_from(("chat/1", "日本", "x y")), "modality": st.sampled_from(MODALITIES),
    "memory_type": st.sampled_from(MEMORY_TYPES), "link_maker": st.sampled_from(("model", "default")),
    "name_maker": st.sampled_from(("model", "keywords")),
    "components": st.lists(st.integers(-COMPONENT_MAX, COMPONENT_MAX), max_size=4).map(tuple),
    "digest": st.sampled_from((b"", b"x", b"\x00\xff")),
    "blocks": st.lists(BLOCKS, max_size=2).map(lambda blocks: tuple(sorted(blocks, key=lambda it: it.order))),
    **dict.fromkeys(("block_kind", "kind_of_block"), st.sampled_from(BLOCK_KINDS)),
    "block_label": st.sampled_from(("", "work")), "description": WORDS,
    "change_kind": st.sampled_from(CHANGES), "author": st.sampled_from(AUTHORS),
    "log_name": st.sampled_from(LOGS), "role": st.sampled_from(ROLES),
    "details": st.sampled_from(((), (("tool_call_id", "c1"), ("arguments", "{}")))),
    "tags": st.sampled_from(((), ("work",), ("日本", "x y"))),
    "moved_kind": st.sampled_from(MOVED_KINDS), "stored_phase": st.sampled_from(STORED_PHASES),
    "anything": st.sampled_from((None, True, 7, "tea", b"x", ())),
    "fact": st.sampled_from(IDS).map(fact_of_id),
    "periods": st.lists(PERIODS, max_size=2).map(tuple),
}  # fmt: skip


def values_of(field: Any) -> Values:
    """Return the strategy of a field, by its domain. Raises Incomplete."""
    domain = domain_of(field.type).name
    if domain not in VALUES:
        message = f"the domain {domain} of {field.name} has no values"
        raise Incomplete(f"{message}: add some to VALUES in umi_sim/testing/random_rows.py")
    return st.none() | VALUES[domain] if type(None) in get_args(field.type) else VALUES[domain]


def must_cover(kinds: Iterable[type[Body]]) -> None:
    """Check that every field of every kind has a strategy. Raises Incomplete."""
    for cls in kinds:
        for field in list_fields(cls):
            values_of(field)


# Checked at import, so that a new field without a strategy is an error and not a field that is never tested.
must_cover(BODIES.values())


def bodies_of(kind: str) -> st.SearchStrategy[Body]:
    cls = BODIES[kind]
    fields = {field.name: values_of(field) for field in list_fields(cls)}
    # Two blocks of a core are drawn independently and may hold the same entry, so unsound bodies are dropped.
    return st.fixed_dictionaries(fields).map(lambda values: cls(**values)).filter(lambda body: body.is_sound)


def writes_of(scopes: tuple[Scope, ...], kind: str) -> st.SearchStrategy[Write]:
    """Return a strategy of writes of this kind, under the id in the body, or any id if it has none."""

    def write(drawn: tuple[Scope, Body, str]) -> Write:
        scope, body, row_id = drawn
        return Write(Address(scope, kind, body.own_id() or row_id), body)

    return st.tuples(st.sampled_from(scopes), bodies_of(kind), st.sampled_from(IDS)).map(write)

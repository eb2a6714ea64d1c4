"""Goal: the vector of a summary or a reflection is stored with each new text of it, and with no other."""

from typing import Final

import pytest
from msgspec import structs

from umi_core.messages.answers import Committed, ReadDone
from umi_core.messages.effects import ByIds, Commit, Read, Write
from umi_core.rows import Address, Category, Row, Vector
from umi_core.values import Scope
from umi_sim.judge.invariants.written import StatedTexts
from umi_sim.record.broken import Broken
from umi_sim.services.calls import Call

SCOPE: Final = Scope("u", "a")
WHERE: Final = Address(SCOPE, "category", "cat_1")
BEFORE: Final = Category("cat_1", "facts", "what is so", 1, 1, 1, summary="old")
VECTOR: Final = Write(Address(SCOPE, "vector", "cat_1"), Vector("cat_1", 1, (1,)))


def stores(summary: str, *others: Write) -> None:
    """A summarise that has read the category stores it with this summary."""
    texts, after = StatedTexts(is_hooked=False), structs.replace(BEFORE, summary=summary)
    read, commit = Read(ByIds((WHERE,))), Commit((Write(WHERE, after), *others), ())
    rows = ReadDone(1, (Row(WHERE, 1, BEFORE),))
    texts.observe_answer(Call("e", "a", 1, "o1", "summarise", "category", read, 0), rows, SCOPE)
    texts.observe_answer(Call("e", "a", 1, "o1", "summarise", "commit", commit, 0), Committed(2, ()), SCOPE)


def test_a_new_text_brings_its_vector_or_takes_the_old_one_away() -> None:
    stores("new", VECTOR)
    stores("new", structs.replace(VECTOR, body=None))
    with pytest.raises(Broken, match="the vector of cat_1"):
        stores("new")


def test_the_same_text_leaves_its_vector_alone() -> None:
    stores("old")
    with pytest.raises(Broken, match="the vector of cat_1"):
        stores("old", VECTOR)

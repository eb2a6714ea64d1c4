"""Goal: each answer that is none is one, to a memory and to its judge alike, and is reported in one line."""

import pytest

from umi_core.answer_checks import check_answer
from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, AskModel, ByIds, Commit, Embed, Read, Write
from umi_core.messages.results import Forgotten
from umi_core.rows import Address, Epoch, Receipt, Row
from umi_core.values import Scope
from umi_sim.record.answer_shapes import is_answer_to
from umi_sim.record.trace import Tag, Trace
from umi_sim.record.trace_fields import answer_fields, short
from umi_sim.services.nonsense import WRONG, nonsense

AT = Address(Scope("u1", "a1"), "epoch", "epoch")
COMMIT = Commit((Write(AT, Epoch(0)),), (), "k", request_id=7)
TRUE: dict[type[Answer], tuple[Asked, Answer]] = {
    ModelReplied: (AskModel("extract", "hear", request_id=7), ModelReplied(7, "{}")),
    Embedded: (Embed(("tea",), request_id=7), Embedded(7, ((1, 2),))),
    ReadDone: (Read(ByIds((AT,)), request_id=7), ReadDone(7, (Row(AT, 1, Epoch(0)),))),
    Committed: (COMMIT, Committed(7, ((AT, 1),))),
}
EACH = [(cls, choice) for cls in WRONG for choice in range(len(WRONG[cls]))]


@pytest.mark.parametrize(("cls", "choice"), EACH)
def test_nonsense_is_no_answer_and_is_recorded(cls: type[Answer], choice: int) -> None:
    asked, answer = TRUE[cls]
    other = nonsense(answer, choice)
    assert is_answer_to(asked, answer)
    assert check_answer(asked, answer) == answer
    assert not is_answer_to(asked, other)
    assert check_answer(asked, other) == EffectFailed(7, "unknown" if asked is COMMIT else "unavailable")
    Trace().add(Tag.ANSWER, "o1/step#1", *answer_fields(other))
    assert short(other)


@pytest.mark.parametrize("choice", range(len(WRONG[Committed])))
def test_a_receipt_of_another_key_or_with_another_kind_of_value_is_nonsense(choice: int) -> None:
    receipt = Receipt("k", b"r", b"p", Forgotten(True), 0, (1, 2))
    asked = Commit((Write(Address(AT.scope, "receipt", "k"), receipt),), (), "k", request_id=7)
    answer = Committed(7, ((Address(AT.scope, "receipt", "k"), 1),), receipt)
    assert is_answer_to(asked, answer)
    assert check_answer(asked, answer) == answer
    other = nonsense(answer, choice)
    assert not is_answer_to(asked, other)
    assert check_answer(asked, other) == EffectFailed(7, "unknown")


def test_a_page_without_rows_is_nonsense_too_and_a_failure_stays_as_it_is() -> None:
    asked, _ = TRUE[ReadDone]
    assert not any(
        is_answer_to(asked, nonsense(ReadDone(7), choice)) for choice in range(len(WRONG[ReadDone]))
    )
    full = EffectFailed(7, "full")
    assert nonsense(full, 3) == full
    assert is_answer_to(COMMIT, full)


def test_nonsense_has_the_same_words_in_every_process() -> None:
    texts = {
        str(answer_fields(nonsense(answer, choice))) for cls, choice in EACH for _, answer in [TRUE[cls]]
    }
    assert not any(" at 0x" in it for it in texts)

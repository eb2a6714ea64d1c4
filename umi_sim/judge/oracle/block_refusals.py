"""Refusals of writes to blocks: no such block, and too many blocks, by what users have written.

Law 1. A block whose text is there all the while is found; one that was never there is not. Entries make a
       block too, so of an unlabelled block without a text nothing is demanded.
Law 2. A new block is refused if as many others are there all the while as there may be, and only if as many
       may have been.
"""

from collections.abc import Mapping

import attrs

from umi_core.data import Data
from umi_core.errors import BlockNotFound, CoreFull, Error, TooManyBlocks
from umi_core.invariants.broken import demand
from umi_core.invariants.limits import BLOCK_COUNT_MAX
from umi_core.kelpie.errors import ReadOnly
from umi_core.messages.effects import Done, Outcome
from umi_core.messages.requests import RemoveBlock, SetBlock, SetImportance
from umi_sim.judge.oracle.api.edits import is_of_user
from umi_sim.record import rules

Slot = tuple[str, str]  # kind and label
BlockWrite = SetBlock | SetImportance | RemoveBlock


@attrs.frozen
class Meanwhile(Data):
    """What may have been while a write was in flight: with its block, and with how many others.

    `least`, `most`: of other blocks with a text.
    """

    may_be_there: bool
    may_be_gone: bool
    least: int
    most: int

    def or_else(self, now: "Meanwhile") -> "Meanwhile":
        return Meanwhile(
            self.may_be_there or now.may_be_there,
            self.may_be_gone or now.may_be_gone,
            min(self.least, now.least),
            max(self.most, now.most),
        )


def standing(texts: Mapping[Slot, list[object]], slot: Slot) -> Meanwhile:
    """By the texts that each block may have now; None: it has none."""
    own = texts.get(slot, [None])
    others = [values for other, values in texts.items() if other != slot]
    least = sum(None not in values for values in others)
    most = sum(any(value is not None for value in values) for values in others)
    return Meanwhile(any(value is not None for value in own), None in own, least, most)


def is_barred(request: BlockWrite) -> bool:
    """Whether it is a model's, and of a block that is the user's alone."""
    return request.author != "user" and is_of_user((request.kind, request.label))


def must_be_barred(request: BlockWrite, outcome: Outcome) -> None:
    """Raises Broken if a model wrote a block of the user, or another write was refused as if it were one."""
    error, wanted = getattr(outcome, "error", None), is_barred(request)
    told = f"a model writes {request.kind}/{request.label}"
    demand(
        not (wanted and isinstance(outcome, Done)), rules.SYSTEM_IS_AUTHORED, told, ReadOnly.__name__, outcome
    )
    told = f"{request.kind}/{request.label} is refused to a {request.author}"
    demand(wanted or not isinstance(error, ReadOnly), rules.NO_SPURIOUS_REFUSAL, told, "", error)


def must_be_right(request: BlockWrite, outcome: Outcome, slot: Slot, while_asked: Meanwhile) -> None:
    """Raises Broken if the block was found, or not, or refused for their number, and cannot have been."""
    error = getattr(outcome, "error", None)
    if isinstance(request, SetBlock):
        must_be_counted(outcome, error, while_asked)
    else:
        must_be_found(request, outcome, slot, while_asked)


def must_be_found(
    request: SetImportance | RemoveBlock, outcome: Outcome, slot: Slot, while_asked: Meanwhile
) -> None:
    kind, label = slot
    name = f"{kind}/{request.label}" if request.label else kind  # the caller's own words
    error = getattr(outcome, "error", None)
    if isinstance(error, BlockNotFound):
        told = f"block {name} is not found, and its text is there"
        demand(while_asked.may_be_gone, rules.REFERENCE_AGREES, told)
        told = f"it was not block {name} that is not found"
        demand(error.block == name, rules.REFERENCE_AGREES, told, name, error.block)
    elif isinstance(outcome, Done) and (label or kind == "system"):
        told = f"block {name} is found, and there is none"
        demand(while_asked.may_be_there, rules.REFERENCE_AGREES, told, BlockNotFound(name), outcome)


def must_be_counted(outcome: Outcome, error: Error | None, while_asked: Meanwhile) -> None:
    least, most = while_asked.least, while_asked.most
    if isinstance(error, TooManyBlocks):
        is_full = while_asked.may_be_gone and most >= BLOCK_COUNT_MAX
        told = "a block is refused for the number of others"
        demand(is_full, rules.NO_SPURIOUS_REFUSAL, told, f"{least} to {most} others", error)
        told, is_true = "too many blocks of another number", least <= error.block_count <= most
        demand(is_true, rules.REFERENCE_AGREES, told, f"{least} to {most}", error.block_count)
        demand(error.block_count_max == BLOCK_COUNT_MAX, rules.REFERENCE_AGREES, "another limit", "", error)
    elif isinstance(outcome, Done) or isinstance(error, CoreFull):
        is_new = not while_asked.may_be_there
        told = f"a new block beside {least} others is not refused"
        demand(
            not is_new or least < BLOCK_COUNT_MAX, rules.CORE_LIMITS, told, TooManyBlocks.__name__, outcome
        )

"""Judge authored blocks: each is a register, and writes are refused with a reason."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.errors import BlockNotFound, CoreFull, Error, TooManyBlocks
from umi_core.kelpie.errors import ReadOnly
from umi_core.kelpie.requests import BuildSystemPrompt
from umi_core.kelpie.results import Prompt
from umi_core.limits import BLOCK_BYTES_MAX, BLOCK_COUNT_MAX
from umi_core.messages.effects import Done, Outcome, Refused, Unknown
from umi_core.messages.requests import (
    Blocks,
    CoreBytes,
    GetBlock,
    InCore,
    LastRoutingDecisions,
    Rebalance,
    RemoveBlock,
    Render,
    SetBlock,
    SetImportance,
)
from umi_core.text import line_ends, norm, tidy
from umi_core.values import BLOCK_KINDS, Block
from umi_sim.judge.oracle.api_blocks import Chain, is_of_user
from umi_sim.judge.oracle.model import Ending, OracleModel
from umi_sim.judge.plain.blocks import READERS, ShownBlock, byte_count
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

# Refusals of writes to blocks: no such block, and too many blocks, by what users have written.
#
# Law 1. A block whose text is there all the while is found; one that was never there is not. Entries make a
#        block too, so an unlabelled block without a text is not judged.
# Law 2. A new block is refused if as many others are there all the while as there may be, and only if as
#        many may have been.


Slot = tuple[str, str]  # kind and label
BlockWrite = SetBlock | SetImportance | RemoveBlock


class Meanwhile(Data):
    """The states a block may have had while a write was in flight, and the number of others.

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


def sum_up_blocks(texts: Mapping[Slot, list[object]], slot: Slot) -> Meanwhile:
    """Return what may be now, by the texts that each block may have; None: it has no text."""
    own = texts.get(slot, [None])
    others = [values for other, values in texts.items() if other != slot]
    least = sum(None not in values for values in others)
    most = sum(any(value is not None for value in values) for values in others)
    return Meanwhile(any(value is not None for value in own), None in own, least, most)


def is_barred(request: BlockWrite) -> bool:
    """Return True if a model writes a block that is the user's alone."""
    return request.author != "user" and is_of_user((request.kind, request.label))


def must_be_barred(request: BlockWrite, outcome: Outcome) -> None:
    """Raise Broken if a model wrote a block of the user, or a user's write was refused like one."""
    error, wanted = getattr(outcome, "error", None), is_barred(request)
    message = f"a model writes {request.kind}/{request.label}"
    demand(
        not (wanted and isinstance(outcome, Done)),
        rules.SYSTEM_IS_AUTHORED,
        message,
        ReadOnly.__name__,
        outcome,
    )
    message = f"{request.kind}/{request.label} is refused to a {request.author}"
    demand(wanted or not isinstance(error, ReadOnly), rules.NO_SPURIOUS_REFUSAL, message, "", error)


def must_be_right(request: BlockWrite, outcome: Outcome, slot: Slot, while_asked: Meanwhile) -> None:
    """Raise Broken if the block was found, missing, or one too many, and cannot have been."""
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
        message = f"block {name} is not found, and its text is there"
        demand(while_asked.may_be_gone, rules.REFERENCE_AGREES, message)
        message = f"it was not block {name} that is not found"
        demand(error.block == name, rules.REFERENCE_AGREES, message, name, error.block)
    # Found without a text is right for an unlabelled block: entries alone make one. They have no label, and
    # never stand in the system block.
    elif isinstance(outcome, Done) and (label or kind == "system"):
        message = f"block {name} is found, and there is none"
        demand(while_asked.may_be_there, rules.REFERENCE_AGREES, message, BlockNotFound(name), outcome)


def must_be_counted(outcome: Outcome, error: Error | None, while_asked: Meanwhile) -> None:
    least, most = while_asked.least, while_asked.most
    if isinstance(error, TooManyBlocks):
        # A block that surely is there is replaced and adds to no number.
        is_full = while_asked.may_be_gone and most >= BLOCK_COUNT_MAX
        message = "a block is refused for the number of others"
        demand(is_full, rules.NO_SPURIOUS_REFUSAL, message, f"{least} to {most} others", error)
        message, is_true = "too many blocks of another number", least <= error.block_count <= most
        demand(is_true, rules.REFERENCE_AGREES, message, f"{least} to {most}", error.block_count)
        demand(error.block_count_max == BLOCK_COUNT_MAX, rules.REFERENCE_AGREES, "another limit", "", error)
    elif isinstance(outcome, Done) or isinstance(error, CoreFull):
        is_new = not while_asked.may_be_there
        message = f"a new block beside {least} others is not refused"
        demand(
            not is_new or least < BLOCK_COUNT_MAX, rules.CORE_LIMITS, message, TooManyBlocks.__name__, outcome
        )


# Authored blocks as registers: what was acknowledged, what may have been written, and nothing else.
#
# Law 1. An acknowledged write is seen until a later one; a refused or failed write never is.
# Law 2. A write without an answer may be seen until a write that began after it was given up is
#        acknowledged: until then it may have been planned again, over what was acknowledged meanwhile.
# Law 3. Importance is a register of its own.


SELF_SLOT = ("persona", "")
DEFAULT_PPM = 500_000
KEEP = object()


class Register(Owner):
    """Values that a slot may show: each with when it was acknowledged, and those of writes still open."""

    settled: list[tuple[object, int]]
    open: dict[str, tuple[object, int]] = {}

    def allows(self, value: object) -> bool:
        return any(value == known for known, _ in (*self.settled, *self.open.values()))

    def acknowledge(self, op_id: str, now: int) -> None:
        value, begun = self.open.pop(op_id)
        # b begins at 2, a is acknowledged at 3, b at 4: b may have landed before a, so either may be shown
        self.settled = [(known, at) for known, at in self.settled if at > begun] + [(value, now)]
        # "~o7" is the write o7 after it was given up, with the time of that; law 2 ends it here
        self.open = {
            key: (known, at)
            for key, (known, at) in self.open.items()
            if at > begun or not key.startswith("~")
        }

    def __str__(self) -> str:
        return " or ".join(repr(value)[:80] for value in self.values())

    def values(self, but: str = "") -> list[object]:
        """List all values it may show, without those of the write `but`."""
        opened = (value for op_id, (value, _) in self.open.items() if op_id != but)
        return [*(value for value, _ in self.settled), *opened]


class CoreModel(OracleModel):
    """Judges the authored part of core memory of one memory.

    `texts` and `importance` are registers by block. `beside`: of each write of a text in flight, the most
    bytes that other texts may have had meanwhile. `asked`: of each write in flight, what may have been
    meanwhile. `clock` counts events.
    """

    judges = (
        SetBlock, SetImportance, RemoveBlock, GetBlock, Blocks, CoreBytes, Render, BuildSystemPrompt,
        InCore, LastRoutingDecisions, Rebalance,  # these must only not be refused without a reason
    )  # fmt: skip

    def __init__(self, config: Config) -> None:
        self.config = config
        self.beside: dict[str, tuple[Slot, int]] = {}
        self.asked: dict[str, tuple[Slot, Meanwhile]] = {}
        self.texts: dict[Slot, Register] = {}
        self.importance: dict[Slot, Register] = {}
        self.clock = 0
        self.api: Callable[[], Mapping[Slot, Chain]] = dict

    def observe_request(self, op_id: str, request: object, now_ms: int) -> None:
        if not isinstance(request, BlockWrite):
            return
        self.clock += 1
        slot = slot_of(request)
        if slot is None or is_barred(request):
            return
        texts, ranks = self.registers(slot)
        if isinstance(request, SetBlock):
            self.beside[op_id] = (slot, 0)
            texts.open[op_id] = (normalise_text(request.text), self.clock)
            if texts.allows(None):
                ranks.settled.append((DEFAULT_PPM, self.clock))  # it may have ceased to exist, and forgot
            if request.importance_ppm is not None:
                ranks.open[op_id] = (request.importance_ppm, self.clock)
        elif isinstance(request, RemoveBlock):
            texts.open[op_id] = (None, self.clock)
            ranks.open[op_id] = (DEFAULT_PPM, self.clock)
        else:
            ranks.open[op_id] = (request.importance_ppm, self.clock)
        # Every write in flight, this one too, takes the most that others may ever have while it lasts.
        self.beside = {
            key: (own, max(most, self.bytes_beside(own))) for key, (own, most) in self.beside.items()
        }
        self.asked[op_id] = (slot, self.sum_up(op_id, slot))
        self.asked = {
            key: (own, known.or_else(self.sum_up(key, own))) for key, (own, known) in self.asked.items()
        }

    def sum_up(self, op_id: str, slot: Slot) -> Meanwhile:
        """Return what may be now, without the effect of this write."""
        return sum_up_blocks({it: register.values(op_id) for it, register in self.texts.items()}, slot)

    def bytes_beside(self, slot: Slot) -> int:
        others = [(other, register) for other, register in self.texts.items() if other != slot]
        return sum(max(byte_size(it, value) for value in register.values()) for it, register in others)

    def registers(self, slot: Slot) -> tuple[Register, Register]:
        text = self.texts.setdefault(slot, Register([(None, 0)]))
        return text, self.importance.setdefault(slot, Register([(DEFAULT_PPM, 0)]))

    def observe_reply(self, ending: Ending) -> None:
        if isinstance(ending.request, BlockWrite):
            self.judge_write(ending.op_id, ending.request, ending.outcome)
        elif isinstance(ending.outcome, Done):
            self.judge_read(ending.request, ending.outcome.value)

    def judge_write(self, op_id: str, request: BlockWrite, outcome: Outcome) -> None:
        self.clock += 1
        slot = slot_of(request)
        if slot is None:
            return
        must_be_barred(request, outcome)
        if is_barred(request):
            return
        _, most = self.beside.pop(op_id, (slot, 0))
        _, while_asked = self.asked.pop(op_id)
        # with an agent server in use, its requests write texts too, and this model counts none of them
        if isinstance(outcome, Refused | Done) and not self.api():
            self.must_be_fair(request, outcome, slot, most)
            must_be_right(request, outcome, slot, while_asked)
        for register in self.registers(slot):
            if op_id not in register.open:
                continue
            if isinstance(outcome, Done):
                register.acknowledge(op_id, self.clock)
            elif isinstance(outcome, Unknown):
                register.open[f"~{op_id}"] = (register.open.pop(op_id)[0], self.clock)
            else:
                del register.open[op_id]

    def observe_crash(self) -> None:
        """Keep open writes as values that may be shown: their outcome stays unknown."""
        self.beside.clear()
        self.asked.clear()
        for register in (*self.texts.values(), *self.importance.values()):
            register.open = {f"~{key.removeprefix('~')}": value for key, value in register.open.items()}

    def observe_wipe(self) -> None:
        for table in (self.beside, self.asked, self.texts, self.importance):
            table.clear()

    def observe_closing(self) -> None:
        self.observe_wipe()

    def must_be_fair(self, request: BlockWrite, outcome: Refused | Done, slot: Slot, most: int) -> None:
        """Demand that a text is accepted that fits beside all authored text and the share of self."""
        is_full = isinstance(outcome, Refused) and isinstance(outcome.error, CoreFull)
        if not isinstance(request, SetBlock) or not (is_full or isinstance(outcome, Done)):
            return
        # Entries of the self block never leave for a text, and may take a quarter of core (SELF_SHARE_PPM
        # is 250,000). A text of that block itself must fit beside them in one block, too.
        need, share = byte_size(slot, request.text), self.config.core_bytes_max // 4
        has_room = need + (share if slot == SELF_SLOT else 0) <= BLOCK_BYTES_MAX
        if has_room and most + need + share <= self.config.core_bytes_max:
            message = f"{slot_name(slot)} of {need} bytes refused beside {most} bytes of text"
            demand(not is_full, rules.NO_SPURIOUS_REFUSAL, message)

    # Reads.

    def judge_read(self, request: object, value: Any) -> None:
        if isinstance(request, GetBlock):
            self.judge_block((request.kind, tidy(request.label)), value, exact=True)
        elif isinstance(request, Blocks):
            self.judge_blocks(value, exact=True)
        elif isinstance(request, CoreBytes):
            message = f"{value} bytes in core, at most {self.config.core_bytes_max}"
            demand(0 <= value <= self.config.core_bytes_max, rules.CORE_LIMITS, message)
        elif isinstance(request, Render):
            self.judge_blocks(read_rendering(request.form, value), exact=False)
        elif isinstance(request, BuildSystemPrompt):
            self.judge_prompt(request, value)

    def judge_blocks(self, blocks: Sequence[Block | ShownBlock], exact: bool) -> None:
        shown = {(block.kind, block.label): block for block in blocks}
        order = [(BLOCK_KINDS.index(block.kind), block.label.encode()) for block in blocks]
        demand(order == sorted(order), rules.RENDER_ORDER, "blocks are not in the order of kind and label")
        for slot in sorted({**self.texts, **self.api(), **dict.fromkeys(shown)}):
            self.judge_block(slot, shown.get(slot), exact)

    def judge_prompt(self, request: BuildSystemPrompt, value: Prompt) -> None:
        """Demand the text of the system, a blank line, and the rendering of core in this form."""
        head = f"{request.system}\n\n" if request.system else ""
        message = "a prompt does not begin with the text of the system"
        demand(value.text.startswith(head), rules.RENDER_PARSE, message, request.system, value.text)
        size_bytes = byte_count(value.text)
        demand(value.size_bytes == size_bytes, rules.RENDER_PARSE, "the size of a prompt", size_bytes, value)
        shown = read_rendering(request.form, value.text.removeprefix(head))
        if request.form == "tagged":
            self.judge_tagged(shown)
        else:
            self.judge_blocks(shown, exact=False)

    def judge_tagged(self, blocks: Sequence[ShownBlock]) -> None:
        """Demand each block under its label, or under kind and label if two have the same."""
        labels = [block.label for block in blocks]
        demand(len(set(labels)) == len(labels), rules.RENDER_PARSE, "two blocks under one label", "", labels)
        # "facts/travel" and "human/travel" are both `travel` here: a text need only fit one of the two.
        named = {norm(block.label.rpartition("/")[2]): block.text for block in blocks}
        chains: dict[str, list[Chain]] = {}
        for slot, chain in self.api().items():
            chains.setdefault(norm(slot[1] or slot[0]), []).append(chain)
        for name, same in chains.items():
            text, message = named.get(name), f"block {name} in a prompt"
            holds = (all if text is None else any)(chain.shows(text) for chain in same)
            demand(holds, rules.RENDER_PARSE, message, [chain.states for chain in same], text)

    def judge_block(self, slot: Slot, block: Block | ShownBlock | None, exact: bool) -> None:
        texts, ranks = self.registers(slot)
        text = block.text if block else None
        rule = rules.AUTHORED_TEXT_KEPT if exact else rules.RENDER_PARSE
        message = f"block {slot_name(slot)} shows another text than was written"
        chain = self.api().get(slot)
        holds = texts.allows(text) if chain is None else chain.shows(text)
        demand(holds, rule, message, texts if chain is None else chain.states, repr(text)[:80])
        if slot[0] == "system" and block:
            demand(not block.entries, rules.SYSTEM_IS_AUTHORED, "the system block shows promoted entries")
        if isinstance(block, Block) and block.text is not None:
            message, got = f"block {slot_name(slot)} has another importance", block.importance_ppm
            is_new = got == DEFAULT_PPM and chain is not None and chain.may_be_new
            demand(is_new or ranks.allows(got), rules.AUTHORED_TEXT_KEPT, message, ranks, got)


def slot_of(request: BlockWrite) -> Slot | None:
    """Return kind and label; None if the caller gave anything but texts."""
    kind: object = request.kind
    label: object = request.label
    return (kind, tidy(label)) if isinstance(kind, str) and isinstance(label, str) else None


def slot_name(slot: Slot) -> str:
    return f"{slot[0]}/{slot[1]}" if slot[1] else slot[0]


def normalise_text(text: object) -> object:
    """Return a text as a block stores it."""
    return line_ends(text) if isinstance(text, str) else text


def byte_size(slot: Slot, text: object) -> int:
    return byte_count(slot[1]) + byte_count(text) if isinstance(text, str) else 0


def read_rendering(form: str, rendering: str) -> tuple[ShownBlock, ...]:
    """Return the blocks of a rendering. Raises Broken if it cannot be read."""
    try:
        return READERS[form](rendering)
    except ValueError as error:
        raise Broken(
            rules.RENDER_PARSE, f"a rendering of core cannot be read: {error}", "", rendering
        ) from None

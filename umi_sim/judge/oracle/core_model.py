"""Judge authored blocks: each is a register, and refusals of writes have a reason."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.errors import BlockNotFound, CoreFull, TooManyBlocks
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

# Refusals of writes to blocks: BlockNotFound and TooManyBlocks, as they follow from the users' writes.
#
# Law 1. A block that had a text during the whole request is found; a block that never existed is not found.
# Entries make a block as well, so an unlabelled block without a text is not judged.
# Law 2. A new block must be refused if the maximum number of others existed during the whole request, and may
# be refused only if so many may have existed.


Slot = tuple[str, str]  # kind and label
BlockWrite = SetBlock | SetImportance | RemoveBlock


class Meanwhile(Data):
    """The possible states of a block while a write was in flight.

    `least`, `most`: bounds of the number of other blocks with a text.
    """

    may_be_there: bool
    may_be_deleted: bool
    least: int
    most: int

    def or_else(self, now: "Meanwhile") -> "Meanwhile":
        return Meanwhile(
            self.may_be_there or now.may_be_there,
            self.may_be_deleted or now.may_be_deleted,
            min(self.least, now.least),
            max(self.most, now.most),
        )


def sum_up_blocks(texts: Mapping[Slot, list[object]], slot: Slot) -> Meanwhile:
    """Return the present possibilities from the possible texts of each block; the text None: no block."""
    own = texts.get(slot, [None])
    others = [values for other, values in texts.items() if other != slot]
    least = sum(None not in values for values in others)
    most = sum(any(value is not None for value in values) for values in others)
    return Meanwhile(any(value is not None for value in own), None in own, least, most)


def is_forbidden(request: BlockWrite) -> bool:
    """Return True if a model writes a block that only users may write."""
    return request.author != "user" and is_of_user((request.kind, request.label))


def check_forbidden(request: BlockWrite, outcome: Outcome) -> None:
    """Raise Broken if a model wrote a block of the user, or an allowed write was refused as read-only."""
    error, wanted = getattr(outcome, "error", None), is_forbidden(request)
    is_refused = not isinstance(outcome, Done)
    message = f"a write of a model to {request.kind}/{request.label}"
    demand(is_refused or not wanted, rules.SYSTEM_IS_AUTHORED, message, ReadOnly.__name__, outcome)
    message = f"{request.kind}/{request.label} is refused to a {request.author}"
    demand(wanted or not isinstance(error, ReadOnly), rules.NO_SPURIOUS_REFUSAL, message, "", error)


def must_be_found(
    request: SetImportance | RemoveBlock, outcome: Outcome, slot: Slot, while_asked: Meanwhile
) -> None:
    """Demand law 1."""
    kind, label = slot
    name = f"{kind}/{request.label}" if request.label else kind  # as the request spells it
    error = getattr(outcome, "error", None)
    if isinstance(error, BlockNotFound):
        message = f"block {name} is not found, though it has a text"
        demand(while_asked.may_be_deleted, rules.REFERENCE_AGREES, message)
        message = "the block that the error names"
        demand(error.block == name, rules.REFERENCE_AGREES, message, name, error.block)
    # An unlabelled block may be found without a text, since entries make one. Entries have no label and are
    # never in the system block.
    elif isinstance(outcome, Done) and (label or kind == "system"):
        message = f"the reply to a write of block {name}, which does not exist"
        demand(while_asked.may_be_there, rules.REFERENCE_AGREES, message, BlockNotFound(name), outcome)


def must_be_counted(outcome: Outcome, while_asked: Meanwhile) -> None:
    """Demand law 2."""
    least, most, error = while_asked.least, while_asked.most, getattr(outcome, "error", None)
    if isinstance(error, TooManyBlocks):
        # A block that certainly exists is replaced, which does not change the number of blocks.
        is_full = while_asked.may_be_deleted and most >= BLOCK_COUNT_MAX
        message = f"a block is refused beside {least} to {most} others"
        demand(is_full, rules.NO_SPURIOUS_REFUSAL, message, BLOCK_COUNT_MAX, error)
        message, is_true = "the number of blocks in the error", least <= error.block_count <= most
        demand(is_true, rules.REFERENCE_AGREES, message, f"{least} to {most}", error.block_count)
        limit, message = error.block_count_max, "the limit in the error"
        demand(limit == BLOCK_COUNT_MAX, rules.REFERENCE_AGREES, message, BLOCK_COUNT_MAX, limit)
    elif isinstance(outcome, Done) or isinstance(error, CoreFull):
        has_room = while_asked.may_be_there or least < BLOCK_COUNT_MAX
        message = f"the reply to a write of a new block beside {least} others"
        demand(has_room, rules.CORE_LIMITS, message, TooManyBlocks.__name__, outcome)


# Authored blocks as registers: a read shows an acknowledged value or one that may have been written.
#
# Law 1. An acknowledged write is shown until a later one; a refused or failed write is never shown.
# Law 2. A write without a reply may be shown until the memory acknowledges a write that began after the first
# one was given up. Until then it may have been planned again, after other acknowledged writes.
# Law 3. Importance is a register of its own.


SELF_SLOT = ("persona", "")
DEFAULT_PPM = 500_000
KEEP = object()


class Register(Owner):
    """The values that a slot may show, each with the time of its reply. `open`: values of open writes."""

    settled: list[tuple[object, int]]
    open: dict[str, tuple[object, int]] = {}

    def allows(self, value: object) -> bool:
        return any(value == known for known, _ in (*self.settled, *self.open.values()))

    def acknowledge(self, op_id: str, now: int) -> None:
        value, begun = self.open.pop(op_id)
        # If b begins at 2, a is acknowledged at 3 and b at 4, b may be durable before a: either may be shown.
        self.settled = [(known, at) for known, at in self.settled if at > begun] + [(value, now)]
        # "~o7" is the write o7 with the time when it was given up. By law 2 it ends here.
        kept = [key for key, (_, at) in self.open.items() if at > begun or not key.startswith("~")]
        self.open = {key: self.open[key] for key in kept}

    def __str__(self) -> str:
        return " or ".join(repr(value)[:80] for value in self.values())

    def values(self, but: str = "") -> list[object]:
        """List all values that may be shown, without that of the write `but`."""
        opened = (value for op_id, (value, _) in self.open.items() if op_id != but)
        return [*(value for value, _ in self.settled), *opened]


class CoreModel(OracleModel):
    """Judges the authored blocks of one memory.

    `texts`, `importance`: registers by block. `most_bytes`: for each write of a text in flight, the most
    bytes that other texts may have had since. `asked`: for each write in flight, the possible states of its
    block since. `clock`: the number of events. `api`: the blocks in the model of an agent server.
    """

    judges = (
        SetBlock, SetImportance, RemoveBlock, GetBlock, Blocks, CoreBytes, Render, BuildSystemPrompt,
        InCore, LastRoutingDecisions, Rebalance,  # only their refusals are judged (promises.py)
    )  # fmt: skip

    def __init__(self, config: Config) -> None:
        self.config = config
        self.most_bytes: dict[str, tuple[Slot, int]] = {}
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
        if slot is None or is_forbidden(request):
            return
        texts, ranks = self.registers(slot)
        if isinstance(request, SetBlock):
            self.most_bytes[op_id] = (slot, 0)
            text: object = request.text
            texts.open[op_id] = (line_ends(text) if isinstance(text, str) else text, self.clock)
            if texts.allows(None):
                ranks.settled.append((DEFAULT_PPM, self.clock))  # the block may have been removed
            if request.importance_ppm is not None:
                ranks.open[op_id] = (request.importance_ppm, self.clock)
        elif isinstance(request, RemoveBlock):
            texts.open[op_id] = (None, self.clock)
            ranks.open[op_id] = (DEFAULT_PPM, self.clock)
        else:
            ranks.open[op_id] = (request.importance_ppm, self.clock)
        # Update the maxima of every write in flight, this one included.
        for key, (own, most) in self.most_bytes.items():
            self.most_bytes[key] = own, max(most, self.other_bytes(own))
        self.asked[op_id] = (slot, self.sum_up(op_id, slot))
        for key, (own, known) in self.asked.items():
            self.asked[key] = own, known.or_else(self.sum_up(key, own))

    def sum_up(self, op_id: str, slot: Slot) -> Meanwhile:
        """Return the possible states of a block now, without the effect of the write `op_id`."""
        return sum_up_blocks({it: register.values(op_id) for it, register in self.texts.items()}, slot)

    def other_bytes(self, slot: Slot) -> int:
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
        check_forbidden(request, outcome)
        if is_forbidden(request):
            return
        _, most = self.most_bytes.pop(op_id, (slot, 0))
        _, while_asked = self.asked.pop(op_id)
        # Requests of an agent server also write texts, which this model does not count.
        if isinstance(outcome, Refused | Done) and not self.api():
            self.must_be_fair(request, outcome, slot, most)
            if isinstance(request, SetBlock):
                must_be_counted(outcome, while_asked)
            else:
                must_be_found(request, outcome, slot, while_asked)
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
        """Mark open writes as given up: their outcome stays unknown."""
        self.most_bytes.clear()
        self.asked.clear()
        for register in (*self.texts.values(), *self.importance.values()):
            register.open = {f"~{key.removeprefix('~')}": value for key, value in register.open.items()}

    def observe_wipe(self) -> None:
        for table in (self.most_bytes, self.asked, self.texts, self.importance):
            table.clear()

    def observe_closing(self) -> None:
        self.observe_wipe()

    def must_be_fair(self, request: BlockWrite, outcome: Refused | Done, slot: Slot, most: int) -> None:
        """Demand that a text is accepted if it fits with all other authored texts and the share of self."""
        is_full = isinstance(outcome, Refused) and isinstance(outcome.error, CoreFull)
        if not isinstance(request, SetBlock) or not (is_full or isinstance(outcome, Done)):
            return
        # Entries of the self block are never evicted for a text, and may take a quarter of core
        # (SELF_SHARE_PPM is 250,000). A text of that block must fit into one block together with them.
        need, share = byte_size(slot, request.text), self.config.core_bytes_max // 4
        has_room = need + (share if slot == SELF_SLOT else 0) <= BLOCK_BYTES_MAX
        if has_room and most + need + share <= self.config.core_bytes_max:
            message = f"{slot_name(slot)} of {need} bytes is refused beside {most} bytes of text"
            demand(not is_full, rules.NO_SPURIOUS_REFUSAL, message)

    # Reads.

    def judge_read(self, request: object, value: Any) -> None:
        if isinstance(request, GetBlock):
            self.judge_block((request.kind, tidy(request.label)), value, exact=True)
        elif isinstance(request, Blocks):
            self.judge_blocks(value, exact=True)
        elif isinstance(request, CoreBytes):
            most = self.config.core_bytes_max
            demand(0 <= value <= most, rules.CORE_LIMITS, "the bytes of core", f"{most} at most", value)
        elif isinstance(request, Render):
            self.judge_blocks(read_rendering(request.form, value), exact=False)
        elif isinstance(request, BuildSystemPrompt):
            self.judge_prompt(request, value)

    def judge_blocks(self, blocks: Sequence[Block | ShownBlock], exact: bool) -> None:
        shown = {(block.kind, block.label): block for block in blocks}
        order = [(BLOCK_KINDS.index(block.kind), block.label.encode()) for block in blocks]
        message = "the order of blocks, by kind and label"
        demand(order == sorted(order), rules.RENDER_ORDER, message, sorted(order), order)
        for slot in sorted({**self.texts, **self.api(), **dict.fromkeys(shown)}):
            self.judge_block(slot, shown.get(slot), exact)

    def judge_prompt(self, request: BuildSystemPrompt, value: Prompt) -> None:
        """Demand the system text, a blank line, and the rendering of core in the requested form."""
        head = f"{request.system}\n\n" if request.system else ""
        message = "the beginning of a prompt"
        demand(value.text.startswith(head), rules.RENDER_PARSE, message, request.system, value.text)
        size_bytes = byte_count(value.text)
        demand(value.size_bytes == size_bytes, rules.RENDER_PARSE, "the size of a prompt", size_bytes, value)
        shown = read_rendering(request.form, value.text.removeprefix(head))
        if request.form == "tagged":
            self.judge_tagged(shown)
        else:
            self.judge_blocks(shown, exact=False)

    def judge_tagged(self, blocks: Sequence[ShownBlock]) -> None:
        """Demand each block under its label, or under kind and label if two labels are equal."""
        labels = [block.label for block in blocks]
        is_once = len(set(labels)) == len(labels)
        demand(is_once, rules.RENDER_PARSE, "labels of blocks in a prompt", "each once", labels)
        # "facts/travel" and "human/travel" both count as `travel`: the text must be that of one of the two.
        named = {norm(block.label.rpartition("/")[2]): block.text for block in blocks}
        chains: dict[str, list[Chain]] = {}
        for slot, chain in self.api().items():
            chains.setdefault(norm(slot[1] or slot[0]), []).append(chain)
        for name, same in chains.items():
            text, message = named.get(name), f"the text of block {name} in a prompt"
            holds = (all if text is None else any)(chain.shows(text) for chain in same)
            demand(holds, rules.RENDER_PARSE, message, [chain.states for chain in same], text)

    def judge_block(self, slot: Slot, block: Block | ShownBlock | None, exact: bool) -> None:
        texts, ranks = self.registers(slot)
        text = block.text if block else None
        rule = rules.AUTHORED_TEXT_KEPT if exact else rules.RENDER_PARSE
        message = f"the text of block {slot_name(slot)}"
        chain = self.api().get(slot)
        holds = texts.allows(text) if chain is None else chain.shows(text)
        demand(holds, rule, message, texts if chain is None else chain.states, repr(text)[:80])
        if slot[0] == "system" and block:
            message = "entries in the system block"
            demand(not block.entries, rules.SYSTEM_IS_AUTHORED, message, (), block.entries)
        if isinstance(block, Block) and block.text is not None:
            message, got = f"the importance of block {slot_name(slot)}", block.importance_ppm
            is_new = got == DEFAULT_PPM and chain is not None and chain.may_be_new
            demand(is_new or ranks.allows(got), rules.AUTHORED_TEXT_KEPT, message, ranks, got)


def slot_of(request: BlockWrite) -> Slot | None:
    """Return kind and label of a write; None if one of them is no text."""
    kind: object = request.kind
    label: object = request.label
    return (kind, tidy(label)) if isinstance(kind, str) and isinstance(label, str) else None


def slot_name(slot: Slot) -> str:
    return f"{slot[0]}/{slot[1]}" if slot[1] else slot[0]


def byte_size(slot: Slot, text: object) -> int:
    return byte_count(slot[1]) + byte_count(text) if isinstance(text, str) else 0


def read_rendering(form: str, rendering: str) -> tuple[ShownBlock, ...]:
    """Return the blocks of a rendering. Raises Broken if it cannot be read."""
    try:
        return READERS[form](rendering)
    except ValueError as error:
        message = f"a rendering of core cannot be read: {error}"
        raise Broken(rules.RENDER_PARSE, message, "", rendering) from None

"""Judge blocks of an agent server by their versions, and request keys."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import structs

from umi_core.data import Data, Owner, is_struct
from umi_core.errors import Error, TooBusy
from umi_core.ids import block_id
from umi_core.kelpie.requests import (
    AppendToBlock,
    BlockHistory,
    CreateBlock,
    DeleteBlock,
    ReplaceInBlock,
    UpdateBlock,
)
from umi_core.kelpie.results import ApiBlock, BlockWritten, ChangesShown
from umi_core.limits import RECEIPT_MS_MAX
from umi_core.messages.requests import Request
from umi_core.messages.results import RecordAdded
from umi_core.text import line_ends, norm, skeleton, tidy
from umi_core.values import BLOCK_KINDS, Scope
from umi_sim.judge.plain.blocks import byte_count
from umi_sim.record import rules
from umi_sim.record.broken import demand

# Request keys of the API: under one key stored rows change once, and every reply reports that change.


class KeyedRequest(Owner):
    """A request with a key. `value`: that of its first reply; `done_ms`: the world time of that reply.

    `is_guess`: a reply with `repeated` to another request was assigned to this one, perhaps wrongly.
    """

    op_id: str
    request: Request
    value: object = None
    done_ms: int | None = None
    is_guess: bool = False


class Keys(Owner):
    """The requests under each key, oldest first, without those that certainly changed nothing."""

    asked: dict[str, list[KeyedRequest]] = {}

    def begin(self, op_id: str, key: str | None, request: Request) -> None:
        if key is not None:
            self.asked.setdefault(key, []).append(KeyedRequest(op_id, structs.replace(request, op_id=0)))

    def drop(self, op_id: str, key: str | None) -> None:
        """Forget a request that changed nothing."""
        if key is not None:
            self.asked[key] = [it for it in self.asked[key] if it.op_id != op_id]

    def judge_reused(self, op_id: str, key: str) -> None:
        mine = self.of(op_id, key)
        others = [it for it in self.asked[key] if it.request != mine.request]
        message = f"{op_id} is refused, and all requests under the key {key} are the same"
        demand(others, rules.KEY_ONCE, message)

    def judge_refused(self, op_id: str, key: str, error: Error, now_ms: int) -> None:
        """Demand that a request is not refused if its key has been acknowledged, whatever is stored now."""
        mine = self.of(op_id, key)
        done = [it for it in self.asked[key] if it.value is not None and it.request == mine.request]
        # A receipt is kept for a day. After that storage may have
        # forgotten the key, and the request is carried out again.
        young = [it.value for it in done if now_ms - (it.done_ms or 0) < RECEIPT_MS_MAX]
        is_right = not young or isinstance(error, TooBusy)
        message = f"the reply to {op_id}, whose key {key} is done"
        demand(is_right, rules.KEY_ONCE, message, young[:1], error)

    def of(self, op_id: str, key: str) -> KeyedRequest:
        return next(it for it in self.asked[key] if it.op_id == op_id)

    def judge_done(self, op_id: str, key: str, value: object, *, repeated: bool, now_ms: int) -> str | None:
        """Return the operation that made the change in this reply; None if the change was judged before."""
        mine = self.of(op_id, key)
        first = next((it for it in self.asked[key] if it.value is not None), None)
        is_equal = first is not None and drop_reasons(first.value) == drop_reasons(value)
        is_young = first is not None and now_ms - (first.done_ms or 0) < RECEIPT_MS_MAX
        # If the receipt is kept for longer than a day, the reply repeats the first one.
        if first is not None and (is_young or (repeated and is_equal)):
            # A second reply without `repeated` is right only if the
            # change was assigned to another request by a guess.
            is_same = first.request == mine.request and is_equal and (repeated or first.is_guess)
            first.is_guess &= repeated
            message = f"the reply to {op_id}, whose key {key} is done"
            demand(is_same, rules.KEY_ONCE, message, first.value, value)
            return None
        # o1 and o2 are equal requests under one key, and o1 has no reply:
        #   the reply to o2 has repeated=False   o2 made the change itself
        #   the reply to o2 has repeated=True    o1 made it, or perhaps an o3: then o1 is a guess
        same = [it for it in self.asked[key] if it.request == mine.request and (it is mine) != repeated]
        message = f"{op_id} has repeated={repeated}, and no request under the key {key} explains it"
        demand(same, rules.KEY_ONCE, message, "", value)
        if first is not None:  # storage has forgotten its receipt
            self.asked[key] = [it for it in self.asked[key] if it.value is None]
        same[0].value, same[0].done_ms, same[0].is_guess = value, now_ms, repeated
        return same[0].op_id


def drop_reasons(value: Any) -> Any:
    """Return a reply without reasons by a model, as it is in a receipt.

    The first reply under a key may have reasons; the next one comes from the receipt.
    """
    if isinstance(value, RecordAdded):
        return structs.replace(value, facts=drop_reasons(value.facts))
    if not is_struct(type(value)):
        return value
    fields = {name: getattr(value, name, None) for name in REASONED}
    return structs.replace(value, **{
        name: tuple(structs.replace(one, reason="") for one in found)
        for name, found in fields.items() if found is not None
    })  # fmt: skip


# Edits of a block, as docs/spec/kelpie.md defines them: pure functions from block to block.


REASONED: Final = ("relations", "routing")  # fields of a reply with reasons by a model
Edit = CreateBlock | UpdateBlock | AppendToBlock | ReplaceInBlock | DeleteBlock
EDITS: Final = (CreateBlock, UpdateBlock, AppendToBlock, ReplaceInBlock, DeleteBlock)
Slot = tuple[str, str]  # kind and label

LIMIT_BYTES: Final = 20_000


class VisibleBlock(Data):
    """A block as readers see it; without a text there is no block."""

    text: str | None = None
    description: str = ""
    limit_bytes: int = LIMIT_BYTES
    read_only: bool = False


NONE: Final = VisibleBlock()


class EditOutcome(Data):
    """The block after an accepted edit, and the name of the change in the reply."""

    after: VisibleBlock
    change: str
    count: int = 0


def is_of_user(slot: Slot) -> bool:
    """Return True for the system block, and for labels that look like `system`."""
    return slot[0] == "system" or skeleton(slot[1]) == "system"


def new_slot(label: str, kind: str | None) -> Slot:
    name = norm(tidy(label))
    # "Persona" -> ("persona", ""), the unlabelled block of that kind; "Travel" -> ("facts", "Travel").
    return (name, "") if name in BLOCK_KINDS else (kind or "facts", label)


def apply_edit(edit: Edit, slot: Slot, before: VisibleBlock, version: int) -> EditOutcome | None:
    """Return the outcome of an edit; None if it must be refused."""
    # A create needs a missing block, and any other edit an existing
    # one, except that an append creates a missing block.
    if (before.text is None) != isinstance(edit, CreateBlock) and not isinstance(edit, AppendToBlock):
        return None
    expected = getattr(edit, "expected_version", None)
    if (expected is not None and expected != version) or is_forbidden(edit, slot, before):
        return None
    found = find_outcome(edit, before)
    return found if found is not None and fits(before, found.after) else None


def is_forbidden(edit: Edit, slot: Slot, before: VisibleBlock) -> bool:
    """Return True if the author may not make this edit.

    A model may not edit the system block or a read-only block, and no author may edit the text of a read-only
    block.
    """
    if edit.author == "model":
        return is_of_user(slot) or before.read_only
    is_of_text = isinstance(edit, AppendToBlock | ReplaceInBlock)
    is_of_text |= isinstance(edit, UpdateBlock) and edit.value is not None
    return before.read_only and is_of_text


def fits(before: VisibleBlock, after: VisibleBlock) -> bool:
    if after.text is None or after.text == before.text:
        return True
    size_bytes = byte_count(after.text)
    # A limit may be lowered below the size of the present text, which
    # may still shrink: 1,000 -> 900 bytes with a limit of 500.
    return size_bytes <= after.limit_bytes or (
        before.text is not None and size_bytes < byte_count(before.text)
    )


def find_outcome(edit: Edit, before: VisibleBlock) -> EditOutcome | None:
    match edit:
        case CreateBlock():
            limit_bytes = edit.limit_bytes or LIMIT_BYTES
            new = VisibleBlock(line_ends(edit.value), edit.description, limit_bytes, edit.read_only)
            return EditOutcome(new, "created")
        case UpdateBlock():
            return update_block(edit, before)
        case AppendToBlock():
            return append_text(line_ends(edit.text), before)
        case ReplaceInBlock():
            return replace_text(edit, before)
        case DeleteBlock():
            return EditOutcome(NONE, "deleted")


def update_block(edit: UpdateBlock, before: VisibleBlock) -> EditOutcome:
    text = before.text if edit.value is None else line_ends(edit.value)
    description = before.description if edit.description is None else edit.description
    limit_bytes = before.limit_bytes if edit.limit_bytes is None else edit.limit_bytes
    read_only = before.read_only if edit.read_only is None else edit.read_only
    after = VisibleBlock(text, description, limit_bytes, read_only)
    change = "unchanged" if after == before else "set" if text != before.text else "described"
    return EditOutcome(after, change)


def append_text(text: str, before: VisibleBlock) -> EditOutcome:
    if before.text is None:
        return EditOutcome(VisibleBlock(text), "created")
    after = before.text + "\n" + text if before.text and text else before.text + text
    return EditOutcome(
        structs.replace(before, text=after), "appended" if after != before.text else "unchanged"
    )


def replace_text(edit: ReplaceInBlock, before: VisibleBlock) -> EditOutcome | None:
    old = line_ends(edit.old)
    parts = (before.text or "").split(old) if old else [""]
    count = len(parts) - 1
    # TextNotFound, or TextAmbiguous: the memory does not choose between two places.
    if count == 0 or (count > 1 and not edit.every):
        return None
    after = line_ends(edit.new).join(parts)
    change = "replaced" if after != before.text else "unchanged"
    return EditOutcome(structs.replace(before, text=after), change, count)


# Blocks as chains of versions: one write makes each version from the version before.
#
# Law 1. A reply reports its version. No two writes have the same version, and a write has a later version
# than any that was acknowledged before its request.
# Law 2. A write without a reply may be any unknown version; a read that shows the version settles that.
# Law 3. A read shows no version older than the last one that was acknowledged before its request.


STATES_MAX: Final = 256  # with more possible states than this, every state counts as possible


def name_of(slot: Slot) -> str:
    return slot[1] or slot[0]


def slot_shown(block: ApiBlock) -> Slot:
    """Return kind and label of a block.

    If another block had the label before, it is shown as kind/label (K2.12).
    """
    label = block.label.removeprefix(f"{block.kind}/")
    return block.kind, "" if label == block.kind else label


def place(slot: Slot) -> tuple[int, bytes]:
    return BLOCK_KINDS.index(slot[0]), slot[1].encode()


class Chain(Owner):
    """One block. `states`: by known version, its possible states; `floor`: the newest acknowledged version.

    `open`: writes in flight or without a reply. `writers`: by version, the operation whose reply has it.
    `is_foreign`: requests of the memory also write its text, so its versions are not known. `erased_version`:
    changes up to it have lost their text. `may_be_new`: it may have been deleted and created again, which
    resets its importance to the default (M3.3).
    """

    slot: Slot
    states: dict[int, list[VisibleBlock]] = msgspec.field(default_factory=lambda: {0: [NONE]})
    floor: int = 0
    open: dict[str, Edit] = {}
    writers: dict[int, str] = {}
    is_foreign: bool = False
    erased_version: int = 0
    may_be_new: bool = False

    def list_possible(self, version: int) -> list[VisibleBlock] | None:
        """List the possible states of this version; None: any state. Empty: the version is impossible."""
        if version in self.states:
            return self.states[version]
        known = max((it for it in self.states if it < version), default=0)
        # Each open write makes at most one version: after
        # version 3 with two open writes 6 is impossible.
        if version < 0 or version - known > len(self.open):
            return []
        now: list[VisibleBlock] = self.states[known]
        # An open write may be applied twice here. The impossible states only make the judge less strict.
        for number in range(known, version):
            now = [*dict.fromkeys(self.apply_open(now, number))]
            if len(now) > STATES_MAX:
                return None
        return now

    def apply_open(self, states: list[VisibleBlock], version: int) -> Iterator[VisibleBlock]:
        """Yield the possible states after one more open write on these states of a version."""
        for edit in self.open.values():
            for before in states:
                edited = apply_edit(edit, self.slot, before, version)
                if edited is not None and edited.change != "unchanged":
                    yield edited.after

    def later(self, floor: int) -> Iterator[tuple[int, list[VisibleBlock] | None]]:
        """Yield all versions from `floor` on that may be the newest one, with their possible states."""
        # If version 3 is acknowledged and two writes are open, 3, 4 or 5 may be the newest.
        last = max(self.floor, max(self.states)) + len(self.open)
        for version in range(floor, last + 1):
            found = self.list_possible(version)
            if found is None or found:
                yield version, found

    def may_be(self, floor: int, *, there: bool) -> bool:
        """Return True if the block may exist (`there`), or be deleted, at some version from `floor` on."""
        later = [found for _, found in self.later(floor)]
        return self.is_foreign or any(
            it is None or any((one.text is not None) == there for one in it) for it in later
        )

    def text(self) -> str | None:
        """Return the text of the newest acknowledged version, if it is known."""
        states = self.list_possible(self.floor)
        return states[0].text if states else None

    def shows(self, text: str | None) -> bool:
        """Return True if the block may have this text now."""
        later = [found for _, found in self.later(self.floor)]
        return self.is_foreign or any(it is None or any(one.text == text for one in it) for it in later)


def is_closed(edit: Edit, slot: Slot, before: VisibleBlock) -> bool:
    """Return True if the author may not make this edit, or the text is too large for the block's limit."""
    found = find_outcome(edit, before)
    return is_forbidden(edit, slot, before) or (found is not None and not fits(before, found.after))


class CertainBlocks(Data):
    """By block, the newest acknowledged and the newest erased version when a request was issued."""

    floors: dict[Slot, int]
    erased: dict[Slot, int]


class BlocksModel(Owner):
    """All blocks of an agent. `foreign`: blocks whose texts requests of the memory write as well.

    `edits`: edits whose outcome is not known.
    """

    scope: Scope
    chains: dict[Slot, Chain] = {}
    begun: dict[str, CertainBlocks] = {}
    foreign: dict[Slot, None] = {}
    edits: dict[str, Edit] = {}

    def chain(self, slot: Slot) -> Chain:
        return self.chains.setdefault(slot, Chain(slot, is_foreign=slot in self.foreign))

    def mark_foreign(self, slot: Slot) -> None:
        self.foreign[slot] = None
        if slot in self.chains:
            self.chains[slot].is_foreign = True

    def of_id(self, key: str) -> Chain | None:
        """Return the block with an id, which may be a foreign one; None if it is unknown."""
        slot = next((slot for slot in self.slots() if block_id(self.scope, *slot) == key), None)
        return None if slot is None else self.chain(slot)

    def slots(self) -> list[Slot]:
        return [*{**self.chains, **self.foreign}]

    def find_named(self, name: str) -> list[Chain]:
        """List the blocks that this id or label may refer to."""
        known = self.of_id(name)
        wanted = norm(tidy(name))
        same = [self.chain(slot) for slot in self.slots() if norm(tidy(name_of(slot))) == wanted]
        return [known] if known else same

    def begin(self, op_id: str) -> None:
        floors = {slot: it.floor for slot, it in self.chains.items()}
        self.begun[op_id] = CertainBlocks(
            floors, {slot: it.erased_version for slot, it in self.chains.items()}
        )

    def begin_edit(self, op_id: str, edit: Edit) -> None:
        self.begin(op_id)
        if isinstance(edit, CreateBlock):
            self.chain(new_slot(tidy(edit.label), edit.kind))
        elif isinstance(edit, AppendToBlock) and not self.find_named(edit.block):
            self.chain(new_slot(tidy(edit.block), None))
        self.edits[op_id] = edit
        # An edit by label that was issued before this create may run after it, on the new block.
        for other_id, other in self.edits.items():
            for chain in self.targets(other):
                chain.open[other_id] = other
                chain.may_be_new |= isinstance(other, DeleteBlock)

    def targets(self, edit: Edit) -> list[Chain]:
        if isinstance(edit, CreateBlock):
            return [self.chain(new_slot(tidy(edit.label), edit.kind))]
        found = self.find_named(edit.block)
        if isinstance(edit, AppendToBlock):  # it creates the block if that is deleted before
            found = [*found, self.chain(new_slot(tidy(edit.block), None))]
        return [*{it.slot: it for it in found}.values()]

    def floor(self, op_id: str, chain: Chain) -> int:
        return self.begun[op_id].floors.get(chain.slot, 0)

    # Writes.

    def drop(self, op_id: str) -> None:
        """Forget an edit that was not carried out."""
        self.edits.pop(op_id, None)
        for chain in self.chains.values():
            chain.open.pop(op_id, None)

    def judge_edit(self, op_id: str, edit: Edit, value: BlockWritten) -> None:
        """Judge the first reply to an edit."""
        self.edits.pop(op_id, None)
        chain, message = self.of_id(value.id), f"the id of the block that {op_id} wrote"
        demand(chain is not None, rules.ID_NAMES_ONE_ROW, message, "the id of its label", value)
        assert chain is not None
        for other in self.chains.values():
            if other is not chain:
                other.open.pop(op_id, None)
        if chain.is_foreign:
            chain.open.pop(op_id, None)
            return
        name, message = name_of(chain.slot), f"the label of the block that {op_id} wrote"
        is_named = value.label in (name, f"{chain.slot[0]}/{name}")
        demand(is_named, rules.REFERENCE_AGREES, message, name, value.label)
        if value.change == "unchanged":
            self.judge_unchanged(op_id, edit, value, chain)
        else:
            self.judge_change(op_id, edit, value, chain)

    def judge_change(self, op_id: str, edit: Edit, value: BlockWritten, chain: Chain) -> None:
        version, floor = value.version, self.floor(op_id, chain)
        writer, name = chain.writers.setdefault(version, op_id), name_of(chain.slot)
        message = f"the operation whose write made version {version} of {name}"
        demand(writer == op_id, rules.APPENDS_SURVIVE, message, writer, op_id)
        message = f"the version of {name} in the reply to {op_id}"
        demand(version > floor, rules.APPENDS_SURVIVE, message, f"above {floor}", version)
        before = chain.list_possible(version - 1)
        chain.open.pop(op_id, None)
        after = self.list_results(edit, value, chain, before)
        # If a read has shown this version before the reply, only the states that it showed are possible.
        known = chain.states.get(version)
        # If no state explains the reply because the author must not write there, a more specific rule breaks.
        if after == [] and before and all(is_closed(edit, chain.slot, it) for it in before):
            message = f"{op_id} wrote block {name}, which its author may not write so"
            demand(False, rules.WRITE_GUARDS, message, "a refusal", (edit, before))
        if after is not None:
            kept = after if known is None else [it for it in after if it in known]
            message = f"version {version} of block {name}, as {op_id} can have made it"
            demand(kept, rules.APPENDS_SURVIVE, message, known or before, (edit, value))
            chain.states[version] = kept
        chain.floor = max(chain.floor, version)
        if value.change == "deleted":
            chain.erased_version = max(chain.erased_version, version)

    def list_results(
        self, edit: Edit, value: BlockWritten, chain: Chain, before: list[VisibleBlock] | None
    ) -> list[VisibleBlock] | None:
        """List the possible states after the write on the version before it; None: any state."""
        if before is None:
            return None
        found = (apply_edit(edit, chain.slot, it, value.version - 1) for it in before)
        result = (value.change, value.count)
        return [it.after for it in found if it is not None and (it.change, it.count) == result]

    def judge_unchanged(self, op_id: str, edit: Edit, value: BlockWritten, chain: Chain) -> None:
        floor, states = self.floor(op_id, chain), chain.list_possible(value.version)
        name = name_of(chain.slot)
        chain.open.pop(op_id, None)
        message = f"the version of {name} in the reply to {op_id}"
        demand(value.version >= floor, rules.APPENDS_SURVIVE, message, f"{floor} or later", value.version)
        if states is not None:
            edited = [(it, apply_edit(edit, chain.slot, it, value.version)) for it in states]
            kept = [it for it, made in edited if made is not None and made.change == "unchanged"]
            message = f"states of {name} in which {op_id} changes nothing, as it replied"
            demand(kept, rules.APPENDS_SURVIVE, message, edit, states)
            # Only states in which this edit changes nothing are possible.
            chain.states[value.version] = kept

    def is_fair(self, op_id: str, edit: Edit) -> bool:
        """Return True if the edit is impossible in some version between request and reply."""
        for chain in self.targets(edit):
            for version, states in chain.later(self.floor(op_id, chain)):
                if chain.is_foreign or states is None:
                    return True
                if any(apply_edit(edit, chain.slot, it, version) is None for it in states):
                    return True
        if not self.targets(edit):  # there is no block of this name, so NotFound is right
            return True
        # Another block may have the label of a new one, so LabelTaken is right.
        label = getattr(edit, "label", edit.block if isinstance(edit, AppendToBlock) else "")
        is_new = isinstance(edit, CreateBlock | AppendToBlock)
        return is_new and any(it.may_be(0, there=True) for it in self.find_named(label))

    # Reads.

    def judge_block(self, op_id: str, block: ApiBlock) -> None:
        chain, slot = self.of_id(block.id), slot_shown(block)
        is_right = chain is not None and (chain.is_foreign or chain.slot == slot)
        message = f"the block of {block.id}"
        demand(is_right, rules.ID_NAMES_ONE_ROW, message, slot, chain and chain.slot)
        assert chain is not None
        if chain.is_foreign:
            return
        floor, states = self.floor(op_id, chain), chain.list_possible(block.version)
        message = f"the version of block {block.label} that {op_id} shows"
        demand(block.version >= floor, rules.GET_WHAT_WAS_PUT, message, f"{floor} or later", block)
        got = VisibleBlock(block.value, block.description, block.limit_bytes, block.read_only)
        if states is not None:
            message = f"version {block.version} of block {block.label}"
            demand(got in states, rules.GET_WHAT_WAS_PUT, message, states, got)
        # This read decides which of the possible states the version has; later reads must agree with it.
        chain.states[block.version] = [got]

    def judge_list(self, op_id: str, blocks: tuple[ApiBlock, ...]) -> None:
        for block in blocks:
            self.judge_block(op_id, block)
        labels = [norm(tidy(block.label)) for block in blocks]
        is_once = len(set(labels)) == len(labels)
        demand(is_once, rules.LABELS_UNIQUE, "labels of blocks", "each once", labels)
        places = [place(slot_shown(block)) for block in blocks]
        expected = sorted(places)
        demand(places == expected, rules.GET_WHAT_WAS_PUT, "the order of blocks", expected, places)
        shown = [block.id for block in blocks]
        for slot, chain in self.chains.items():
            # A block may be missing if it may have been deleted at any moment since the request.
            is_right = block_id(self.scope, *slot) in shown
            is_right = is_right or chain.may_be(self.floor(op_id, chain), there=False)
            message = f"block {name_of(slot)} is not listed"
            demand(is_right, rules.GET_WHAT_WAS_PUT, message, "", shown)

    def judge_missing(self, op_id: str, name: str) -> None:
        """Demand that a block that is not found may have been deleted, or was never created."""
        for chain in self.find_named(name):
            may_be_deleted = chain.may_be(self.floor(op_id, chain), there=False)
            demand(may_be_deleted, rules.GET_WHAT_WAS_PUT, f"block {name} is not found, though it is there")

    def judge_history(self, op_id: str, request: BlockHistory, value: ChangesShown) -> None:
        """Demand a history of consecutive versions with their texts, which are erased by a delete."""
        versions, first = [it.version for it in value.changes], (request.after or 0) + 1
        dense = list(range(first, first + len(versions)))
        message = f"the versions in the history of {request.block_id}"
        demand(versions == dense, rules.HISTORY_REPLAYS, message, dense, versions)
        chain = self.of_id(request.block_id)
        if chain is None or chain.is_foreign:
            return
        end, floor = first + len(versions), self.floor(op_id, chain)
        # A page with a next one may end early; the last page
        # must reach the acknowledged version.
        is_cut = value.next is not None and versions[-1:] == [value.next]
        demand(is_cut or end > floor, rules.HISTORY_REPLAYS, message, f"up to {floor}", versions)
        # As of the request: the read may not show a delete that
        # was acknowledged while the read was under way.
        erased = self.begun[op_id].erased.get(chain.slot, 0)
        for it in value.changes:
            message = f"the text of version {it.version} of a deleted block"
            demand(it.is_erased or it.version > erased, rules.DELETE_REACHES_ALL, message, "erased", it)
            self.judge_change_row(it.version, None if it.is_erased else it.text, chain)

    def judge_change_row(self, version: int, text: str | None, chain: Chain) -> None:
        states = chain.list_possible(version)
        if states is None:
            return
        if text is None:
            is_deleted = any(isinstance(it, DeleteBlock) for it in chain.open.values())
            is_deleted |= any(NONE in states for at, states in chain.states.items() if at >= version)
            demand(is_deleted, rules.HISTORY_REPLAYS, f"version {version} is erased without a delete")
        else:
            texts = [it.text for it in states]
            demand(text in texts, rules.HISTORY_REPLAYS, f"the text of version {version}", texts, text)

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

# Request keys of the API: under one key the world changes once, and every reply reports that change.


class KeyedRequest(Owner):
    """A request with a key. `value`: in its first reply; `done_ms`: when that came, in the world's time.

    `is_guess`: a later request has repeated it, so it is not sure which of them did it.
    """

    op_id: str
    request: Request
    value: object = None
    done_ms: int | None = None
    is_guess: bool = False


class Keys(Owner):
    """The requests under each key, oldest first, but for those that surely did not happen."""

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
        demand(others, rules.KEY_ONCE, f"{op_id}: all requests under the key {key} are the same")

    def judge_refused(self, op_id: str, key: str, error: Error, now_ms: int) -> None:
        """Demand that a request is not refused if its key has a reply already, whatever is there now."""
        mine = self.of(op_id, key)
        done = [it for it in self.asked[key] if it.value is not None and it.request == mine.request]
        # A receipt is kept for a day. After that storage may
        # have forgotten the key, and the request counts anew.
        young = [it.value for it in done if now_ms - (it.done_ms or 0) < RECEIPT_MS_MAX]
        is_so = not young or isinstance(error, TooBusy)
        demand(is_so, rules.KEY_ONCE, f"{op_id} is refused what its key {key} has done", young[:1], error)

    def of(self, op_id: str, key: str) -> KeyedRequest:
        return next(it for it in self.asked[key] if it.op_id == op_id)

    def judge_done(self, op_id: str, key: str, value: object, *, repeated: bool, now_ms: int) -> str | None:
        """Return the operation that did what this reply reports, or None if that was judged already."""
        mine = self.of(op_id, key)
        first = next((it for it in self.asked[key] if it.value is not None), None)
        is_young = first is not None and now_ms - (first.done_ms or 0) < RECEIPT_MS_MAX
        if first is not None and (is_young or is_result(first, value, repeated)):
            # A second reply that is not `repeated` is right only
            # if the first doer was guessed: it was this one.
            is_equal = drop_reasons(first.value) == drop_reasons(value)
            is_same = first.request == mine.request and is_equal and (repeated or first.is_guess)
            first.is_guess &= repeated
            demand(
                is_same, rules.KEY_ONCE, f"{op_id} did anew what its key {key} had done", first.value, value
            )
            return None
        # o1 and o2 ask the same under one key, o1 has no reply:
        #   o2 is told repeated=False  o2 did it itself
        #   o2 is told repeated=True   another one did it: o1; with an o3 it is a guess
        same = [it for it in self.asked[key] if it.request == mine.request and (it is mine) != repeated]
        demand(
            same,
            rules.KEY_ONCE,
            f"{op_id} repeats what no other request asked under the key {key}",
            "",
            value,
        )
        doer = same[0]
        if first is not None:  # its receipt is forgotten
            self.asked[key] = [it for it in self.asked[key] if it.value is None]
        doer.value, doer.done_ms, doer.is_guess = value, now_ms, repeated
        return doer.op_id


def is_result(first: KeyedRequest, value: object, repeated: bool) -> bool:
    """Return True if a reply repeats the first one: receipts may be kept for longer than a day."""
    return repeated and drop_reasons(first.value) == drop_reasons(value)


def drop_reasons(value: Any) -> Any:
    """Return a reply as a receipt tells it: without the reasons that a model gave.

    The first reply under a key may have them, and the next one comes from the receipt.
    """
    if isinstance(value, RecordAdded):
        return structs.replace(value, facts=drop_reasons(value.facts))
    fields = {name: getattr(value, name, None) for name in REASONED}
    return structs.replace(value, **{
        name: tuple(structs.replace(one, reason="") for one in found)
        for name, found in fields.items() if found is not None
    }) if is_struct(type(value)) else value  # fmt: skip


# Edits of a block, read from docs/spec/kelpie.md alone: block in, block out.


REASONED: Final = ("relations", "routing")  # fields of a reply that hold what a model said
Edit = CreateBlock | UpdateBlock | AppendToBlock | ReplaceInBlock | DeleteBlock
EDITS: Final = (CreateBlock, UpdateBlock, AppendToBlock, ReplaceInBlock, DeleteBlock)
Slot = tuple[str, str]  # kind and label

LIMIT_BYTES: Final = 20_000


class VisibleBlock(Data):
    """A block as readers see it; without a text there is none."""

    text: str | None = None
    description: str = ""
    limit_bytes: int = LIMIT_BYTES
    read_only: bool = False


NONE: Final = VisibleBlock()


class EditOutcome(Data):
    """The block after an edit that was accepted, and the name of the change in the reply."""

    after: VisibleBlock
    change: str
    count: int = 0


def is_of_user(slot: Slot) -> bool:
    """Return True for the system block, and for labels that spell `system` in any way."""
    return slot[0] == "system" or skeleton(slot[1]) == "system"


def new_slot(label: str, kind: str | None) -> Slot:
    name = norm(tidy(label))
    # "Persona" -> ("persona", ""), the unlabelled block of that kind; "Travel" -> ("facts", "Travel").
    return (name, "") if name in BLOCK_KINDS else (kind or "facts", label)


def apply_edit(edit: Edit, slot: Slot, before: VisibleBlock, version: int) -> EditOutcome | None:
    """Return the outcome of an edit; None if it must be refused."""
    # A create needs that there is none, any other edit
    # needs one; an append makes the block that is missing.
    if (before.text is None) != isinstance(edit, CreateBlock) and not isinstance(edit, AppendToBlock):
        return None
    expected = getattr(edit, "expected_version", None)
    if (expected is not None and expected != version) or is_barred(edit, slot, before):
        return None
    found = outcome(edit, before)
    is_kept = found is not None and fits(before, found.after)
    return found if is_kept else None


def is_barred(edit: Edit, slot: Slot, before: VisibleBlock) -> bool:
    """Return True if the author may not make this edit.

    A model never touches system or a closed block, and no author changes the text of a closed one.
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
    # A limit may be lowered below the text that is there;
    # such a text may still shrink (1,000 -> 900 of 500).
    return size_bytes <= after.limit_bytes or (
        before.text is not None and size_bytes < byte_count(before.text)
    )


def outcome(edit: Edit, before: VisibleBlock) -> EditOutcome | None:
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
    # TextNotFound and TextAmbiguous: which of two places was meant is not for the memory to guess.
    if count == 0 or (count > 1 and not edit.every):
        return None
    after = line_ends(edit.new).join(parts)
    change = "replaced" if after != before.text else "unchanged"
    return EditOutcome(structs.replace(before, text=after), change, count)


# Blocks as chains of versions: each is what one write made of the version before.
#
# Law 1. A reply reports its version: no two writes have one, and none is older than one reported before.
# Law 2. A write without an answer may be any version that is not known yet; what a read shows settles it.
# Law 3. A read shows no version older than the last one that was acknowledged when it was asked for.


STATES_MAX: Final = 256  # more than so many possibilities are taken for all of them


def name_of(slot: Slot) -> str:
    return slot[1] or slot[0]


def slot_shown(block: ApiBlock) -> Slot:
    """Return kind and label of a block.

    A label that another block had before is shown behind the kind (K2.12).
    """
    label = block.label.removeprefix(f"{block.kind}/")
    return block.kind, "" if label == block.kind else label


def place(slot: Slot) -> tuple[int, bytes]:
    return BLOCK_KINDS.index(slot[0]), slot[1].encode()


class Chain(Owner):
    """One block. `states`: by known version, what it may be; `floor`: the newest acknowledged version.

    `open`: writes that may still happen, or have happened unheard. `told`: by version, the operation that was
    told it. `is_foreign`: other requests write its text too, so nothing is known of its versions.
    """

    slot: Slot
    states: dict[int, list[VisibleBlock]] = msgspec.field(default_factory=lambda: {0: [NONE]})
    floor: int = 0
    open: dict[str, Edit] = {}
    writers: dict[int, str] = {}
    is_foreign: bool = False
    erased_version: int = 0  # changes up to here have no text any more
    may_be_new: bool = False  # deleted and made again: its importance went with it (M3.3)

    def list_possible(self, version: int) -> list[VisibleBlock] | None:
        """List what this version may be; None: anything. Empty: there cannot be such a version."""
        if version in self.states:
            return self.states[version]
        known = max((it for it in self.states if it < version), default=0)
        # Each open write makes one version at most: from
        # version 3 with two open writes there is no version 6.
        if version < 0 or version - known > len(self.open):
            return []
        now: list[VisibleBlock] = self.states[known]
        # one open write may be taken twice: possibilities that cannot be only make the judge milder
        for number in range(known, version):
            now = [*dict.fromkeys(self.next(now, number))]
            if len(now) > STATES_MAX:
                return None
        return now

    def next(self, states: list[VisibleBlock], version: int) -> Iterator[VisibleBlock]:
        for edit in self.open.values():
            for before in states:
                edited = apply_edit(edit, self.slot, before, version)
                if edited is not None and edited.change != "unchanged":
                    yield edited.after

    def later(self, floor: int) -> Iterator[tuple[int, list[VisibleBlock] | None]]:
        """Yield all versions from `floor` on that may be the newest one, with what each may be."""
        # version 3 is acknowledged, two writes are open: 3, 4 or 5 may be the newest
        last = max(self.floor, max(self.states)) + len(self.open)
        for version in range(floor, last + 1):
            found = self.list_possible(version)
            if found is None or found:
                yield version, found

    def may_be(self, floor: int, *, there: bool) -> bool:
        """Return True if the block may be there, or gone, from version `floor` on."""
        return self.is_foreign or any(
            found is None or any((it.text is not None) == there for it in found)
            for _, found in self.later(floor)
        )

    def text(self) -> str | None:
        """Return the text of its newest acknowledged version, as far as known."""
        states = self.list_possible(self.floor)
        return states[0].text if states else None

    def shows(self, text: str | None) -> bool:
        """Return True if its text may be this one now."""
        return self.is_foreign or any(
            found is None or any(it.text == text for it in found) for _, found in self.later(self.floor)
        )


def is_closed(edit: Edit, slot: Slot, before: VisibleBlock) -> bool:
    """Return True if the author may not make this edit, or the text is too large for the block's limit."""
    found = outcome(edit, before)
    return is_barred(edit, slot, before) or (found is not None and not fits(before, found.after))


class CertainBlocks(Data):
    """The newest version of each block, and of erased texts, when something was asked for."""

    floors: dict[Slot, int]
    erased: dict[Slot, int]


class BlocksModel(Owner):
    scope: Scope
    chains: dict[Slot, Chain] = {}
    begun: dict[str, CertainBlocks] = {}
    foreign: dict[Slot, None] = {}  # whose texts are written otherwise too
    edits: dict[str, Edit] = {}  # of which it is not known how they ended

    def chain(self, slot: Slot) -> Chain:
        return self.chains.setdefault(slot, Chain(slot, is_foreign=slot in self.foreign))

    def mark_foreign(self, slot: Slot) -> None:
        self.foreign[slot] = None
        if slot in self.chains:
            self.chains[slot].is_foreign = True

    def of_id(self, key: str) -> Chain | None:
        """Find the block of an id, also one that only other requests have written; None if there is none."""
        slot = next((slot for slot in self.slots() if block_id(self.scope, *slot) == key), None)
        return None if slot is None else self.chain(slot)

    def slots(self) -> list[Slot]:
        return [*{**self.chains, **self.foreign}]

    def find_named(self, name: str) -> list[Chain]:
        """List the blocks that this id or label may mean."""
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
        # An edit by label that was asked before this create may be carried out after it, on the new block.
        for other_id, other in self.edits.items():  # a block that is made now may be the one that they name
            for chain in self.targets(other):
                chain.open[other_id] = other
                chain.may_be_new |= isinstance(other, DeleteBlock)

    def targets(self, edit: Edit) -> list[Chain]:
        if isinstance(edit, CreateBlock):
            return [self.chain(new_slot(tidy(edit.label), edit.kind))]
        found = self.find_named(edit.block)
        if isinstance(edit, AppendToBlock):  # made anew under this label, if the one that is meant goes
            found = [*found, self.chain(new_slot(tidy(edit.block), None))]
        return [*{it.slot: it for it in found}.values()]

    def floor(self, op_id: str, chain: Chain) -> int:
        return self.begun[op_id].floors.get(chain.slot, 0)

    # Writes.

    def drop(self, op_id: str) -> None:
        """Forget an edit that did not happen."""
        self.edits.pop(op_id, None)
        for chain in self.chains.values():
            chain.open.pop(op_id, None)

    def judge_edit(self, op_id: str, edit: Edit, value: BlockWritten, *, is_new: bool) -> None:
        """Judge the reply to an edit. `is_new`: the first one; a repeated reply was judged before."""
        self.edits.pop(op_id, None)
        chain = self.of_id(value.id)
        demand(
            chain is not None,
            rules.ID_NAMES_ONE_ROW,
            f"{op_id} wrote a block under another id than its own",
            "",
            value,
        )
        assert chain is not None
        for other in self.chains.values():
            if other is not chain:
                other.open.pop(op_id, None)
        if chain.is_foreign or not is_new:
            chain.open.pop(op_id, None)
            return
        name, message = name_of(chain.slot), f"{op_id} wrote a block of another label"
        is_named = value.label in (name, f"{chain.slot[0]}/{name}")
        demand(is_named, rules.REFERENCE_AGREES, message, name, value.label)
        if value.change == "unchanged":
            self.judge_unchanged(op_id, edit, value, chain)
        else:
            self.judge_change(op_id, edit, value, chain)

    def judge_change(self, op_id: str, edit: Edit, value: BlockWritten, chain: Chain) -> None:
        version, floor = value.version, self.floor(op_id, chain)
        writer, name = chain.writers.setdefault(version, op_id), name_of(chain.slot)
        demand(
            writer == op_id,
            rules.APPENDS_SURVIVE,
            f"two writes of {name} were told version {version}",
            writer,
            op_id,
        )
        message = f"{op_id} was told a version of {name} that is not newer than what was told before"
        demand(version > floor, rules.APPENDS_SURVIVE, message, f"above {floor}", version)
        before = chain.list_possible(version - 1)
        chain.open.pop(op_id, None)
        after = self.list_results(edit, value, chain, before)
        # A read may have shown this version before its write was answered; then only those states are left.
        known = chain.states.get(version)
        # No state explains the reply. If that is so because the author must not write there, the rule that
        # is broken is a narrower one, and its name tells more.
        if after == [] and before and all(is_closed(edit, chain.slot, it) for it in before):
            message = f"{op_id} wrote what it may not write in block {name}"
            demand(False, rules.WRITE_GUARDS, message, before, edit)
        if after is not None:
            kept = after if known is None else [it for it in after if it in known]
            message = f"{op_id} cannot have made version {version} of block {name}"
            demand(kept, rules.APPENDS_SURVIVE, message, known or before, (edit, value))
            chain.states[version] = kept
        chain.floor = max(chain.floor, version)
        if value.change == "deleted":
            chain.erased_version = max(chain.erased_version, version)

    def list_results(
        self, edit: Edit, value: BlockWritten, chain: Chain, before: list[VisibleBlock] | None
    ) -> list[VisibleBlock] | None:
        """List what the write may have made of the version before it; None: anything."""
        if before is None:
            return None
        found = (apply_edit(edit, chain.slot, it, value.version - 1) for it in before)
        result = (value.change, value.count)
        return [it.after for it in found if it is not None and (it.change, it.count) == result]

    def judge_unchanged(self, op_id: str, edit: Edit, value: BlockWritten, chain: Chain) -> None:
        floor, states = self.floor(op_id, chain), chain.list_possible(value.version)
        name = name_of(chain.slot)
        chain.open.pop(op_id, None)
        message = f"{op_id} was told an old version of {name}"
        demand(value.version >= floor, rules.APPENDS_SURVIVE, message, floor, value.version)
        if states is not None:
            edited = [(it, apply_edit(edit, chain.slot, it, value.version)) for it in states]
            kept = [it for it, made in edited if made is not None and made.change == "unchanged"]
            demand(
                kept,
                rules.APPENDS_SURVIVE,
                f"{op_id} changed nothing of {name}, and should have",
                edit,
                states,
            )
            # the version is one of those of which this edit changes nothing
            chain.states[value.version] = kept

    def is_fair(self, op_id: str, edit: Edit) -> bool:
        """Return True if some version that there was meanwhile makes this edit impossible."""
        for chain in self.targets(edit):
            for version, states in chain.later(self.floor(op_id, chain)):
                if chain.is_foreign or states is None:
                    return True
                if any(apply_edit(edit, chain.slot, it, version) is None for it in states):
                    return True
        # There is no block of this name at all, so NotFound
        # is right; or one has the label, so LabelTaken is.
        return not self.targets(edit) or self.is_taken(edit)

    def is_taken(self, edit: Edit) -> bool:
        """Return True if another block may have the label of a new one."""
        if not isinstance(edit, CreateBlock | AppendToBlock):
            return False
        label = edit.label if isinstance(edit, CreateBlock) else edit.block
        return any(it.may_be(0, there=True) for it in self.find_named(label))

    # Reads.

    def judge_block(self, op_id: str, block: ApiBlock) -> None:
        chain, slot = self.of_id(block.id), slot_shown(block)
        demand(
            chain is not None and (chain.is_foreign or chain.slot == slot),
            rules.ID_NAMES_ONE_ROW, f"{block.id} is the id of another block", slot, chain and chain.slot,
        )  # fmt: skip
        assert chain is not None
        if chain.is_foreign:
            return
        floor, states = self.floor(op_id, chain), chain.list_possible(block.version)
        message = f"block {block.label} is shown as it was before an acknowledged write"
        demand(block.version >= floor, rules.GET_WHAT_WAS_PUT, message, f"version {floor}", block)
        got = VisibleBlock(block.value, block.description, block.limit_bytes, block.read_only)
        if states is not None:
            message = f"version {block.version} of block {block.label} shows what no request wrote"
            demand(got in states, rules.GET_WHAT_WAS_PUT, message, states, got)
        # This read decides which of the possible writes made the version; later ones are held to it.
        chain.states[block.version] = [got]

    def judge_list(self, op_id: str, blocks: tuple[ApiBlock, ...]) -> None:
        for block in blocks:
            self.judge_block(op_id, block)
        labels = [norm(tidy(block.label)) for block in blocks]
        demand(len(set(labels)) == len(labels), rules.LABELS_UNIQUE, "two blocks have one label", "", labels)
        places = [place(slot_shown(block)) for block in blocks]
        demand(
            places == sorted(places),
            rules.GET_WHAT_WAS_PUT,
            "blocks are not in order",
            sorted(places),
            places,
        )
        shown = [block.id for block in blocks]
        for slot, chain in self.chains.items():
            is_shown = block_id(self.scope, *slot) in shown
            # Missing is right if the block may have been gone at any moment since the list was asked for.
            is_due = not chain.may_be(self.floor(op_id, chain), there=False)
            demand(
                is_shown or not is_due,
                rules.GET_WHAT_WAS_PUT,
                f"block {name_of(slot)} is not listed",
                "",
                shown,
            )

    def judge_missing(self, op_id: str, name: str) -> None:
        """Demand that a block that is not found may be gone, or never was."""
        for chain in self.find_named(name):
            may_be_gone = chain.may_be(self.floor(op_id, chain), there=False)
            demand(may_be_gone, rules.GET_WHAT_WAS_PUT, f"block {name} is not found, and it is there")

    def judge_history(self, op_id: str, request: BlockHistory, value: ChangesShown) -> None:
        """Demand a history dense in version, each with its text; no text of a deleted block."""
        versions, first = [it.version for it in value.changes], (request.after or 0) + 1
        dense = list(range(first, first + len(versions)))
        demand(versions == dense, rules.HISTORY_REPLAYS, f"changes of {request.block_id}", dense, versions)
        chain = self.of_id(request.block_id)
        if chain is None or chain.is_foreign:
            return
        end, floor = first + len(versions), self.floor(op_id, chain)
        # A page that names a next one may end early; the last
        # page must reach the version that was acknowledged.
        is_cut = value.next is not None and versions[-1:] == [value.next]
        text = f"the history of {request.block_id} lacks versions"
        demand(is_cut or end > floor, rules.HISTORY_REPLAYS, text, f"to {floor}", versions)
        # As of the request: a delete that was acknowledged
        # while this read was under way may be missing from it.
        erased = self.begun[op_id].erased.get(chain.slot, 0)
        for it in value.changes:
            message = f"version {it.version} of a deleted block still has its text"
            demand(it.is_erased or it.version > erased, rules.DELETE_REACHES_ALL, message, "", it)
            self.judge_change_row(it.version, None if it.is_erased else it.text, chain)

    def judge_change_row(self, version: int, text: str | None, chain: Chain) -> None:
        states = chain.list_possible(version)
        if states is None:
            return
        if text is None:
            may_go = any(isinstance(it, DeleteBlock) for it in chain.open.values())
            is_gone = may_go or any(NONE in states for at, states in chain.states.items() if at >= version)
            demand(is_gone, rules.HISTORY_REPLAYS, f"version {version} is erased, and no request deleted it")
        else:
            texts = [it.text for it in states]
            demand(text in texts, rules.HISTORY_REPLAYS, f"the text of version {version}", texts, text)

"""Blocks of an agent server: the text is in core, all other data in a sheet, and each change in a row.

Law 1. A write is one commit: core if the text changes, the sheet, and a change row with the next version.
Law 2. A text that another request wrote to core is a version too; the next write records it as imported.
Law 3. A deleted block leaves its sheet, without text or description; if the block is created again, its
versions continue from there.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Learned,
    Rejection,
    Step,
    TakeResult,
    Unusable,
    Workflow,
    asks,
    learn_rows,
    one_read,
    retry,
)
from umi_core.errors import BlockTooLarge, Error
from umi_core.ids import block_id, text_hash
from umi_core.kelpie import errors as api_errors
from umi_core.kelpie import requests as api
from umi_core.kelpie.domains import ID_PREFIX, bad_api_label
from umi_core.kelpie.results import ApiBlock, BlocksShown, BlockWritten, ChangesShown
from umi_core.kelpie.rows import BlockChange, Sheet
from umi_core.limits import API_BLOCK_BYTES_DEFAULT, BLOCK_BYTES_MAX, PAGE_ROWS_DEFAULT
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Done, Read, Write
from umi_core.rows import Receipt, Row, bodies_of, body_as
from umi_core.text import line_ends, size, tidy
from umi_core.tiers.core import CoreTier, check_author, remove_block, set_block
from umi_core.tiers.rendering import find_authored, list_authored, slot_of
from umi_core.values import BLOCK_KINDS, USER, Block, Scope
from umi_core.workflows.blocks import ask_load, claim_core, take_load
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REQUEST_KEY,
    SETTLE,
    Plan,
    address,
    ask_if_any,
    commit_row,
    key_of,
    put,
    read_core,
    scores_of,
)
from umi_core.workflows.remember import KNOWN_ANSWER, REPLY, SEEN

BlockEdit = api.CreateBlock | api.UpdateBlock | api.AppendToBlock | api.ReplaceInBlock | api.DeleteBlock
EDIT: Final = Fact("request", BlockEdit)
SHEETS: Final = Fact("sheets", tuple[Row, ...])
PAST: Final = Fact("past", tuple[Row, ...])  # the changes of a block that is to be deleted
MEANT: Final = Fact("meant", tuple[str, ...])  # ids of all blocks that the request may name at the next read
EARLIER: Final = Fact("earlier", Receipt | None)  # of an earlier plan, or of an equal request with its key


# The current state of a block.


class BlockState(Data):
    """A block that exists or may be created: its text in core, and its sheet."""

    id: str
    label: str  # the label that the API shows
    kind: str
    own_label: str  # the label in core; empty for a block named by its kind
    text: str | None
    sheet: Sheet | None

    @property
    def is_foreign(self) -> bool:
        """Return True if its text in core was set or removed by a request outside this API."""
        return hash_of(self.text) != (self.sheet.text_hash if self.sheet else "")

    @property
    def version(self) -> int:
        # All foreign texts since the last write of this API are one version: only the current one is known.
        return (self.sheet.version if self.sheet else 0) + self.is_foreign

    @property
    def kept(self) -> Sheet | None:
        """Return its sheet, unless that is only the tombstone of a deleted block."""
        return self.sheet if self.text is not None else None

    @property
    def description(self) -> str:
        return self.kept.description if self.kept else ""

    @property
    def limit_bytes(self) -> int:
        return self.kept.limit_bytes if self.kept else API_BLOCK_BYTES_DEFAULT

    @property
    def read_only(self) -> bool:
        return self.kept.read_only if self.kept else False


def hash_of(text: str | None) -> str:
    return "" if text is None else text_hash(text)


def state_of_block(label: str, block: Block, sheets: Mapping[str, Row], scope: Scope) -> BlockState:
    key = block_id(scope, block.kind, block.label)
    sheet = body_as(sheets.get(key), Sheet)
    return BlockState(key, label, block.kind, block.label, block.text, sheet)


def by_id(rows: tuple[Row, ...]) -> dict[str, Row]:
    return {row.address.id: row for row in rows}


# Edits.


class EditedBlock(Data):
    """A block after an edit; a block without text is deleted."""

    change: str
    text: str | None
    description: str
    limit_bytes: int
    read_only: bool
    count: int = 0


def find_meant(request: BlockEdit, facts: Facts, view: View) -> BlockState | Error:
    """Return the block that the request names, or the state of the one to create."""
    core, sheets = facts[CORE], by_id(facts[SHEETS])
    wanted = request.label if isinstance(request, api.CreateBlock) else request.block
    there = find_authored(core, wanted, view.scope)
    if there is not None:
        it = state_of_block(*there, sheets, view.scope)
        return api_errors.LabelTaken(it.label, it.id) if isinstance(request, api.CreateBlock) else it
    # Appending to an absent block creates it, if the name is a valid label and not an id.
    if not isinstance(request, api.CreateBlock | api.AppendToBlock) or bad_api_label("block", wanted):
        return api_errors.NotFound("block", wanted)
    kind, label = slot_of(tidy(wanted), request.kind if isinstance(request, api.CreateBlock) else None)
    return state_of_block(label or kind, Block(kind, label), sheets, view.scope)


def edit_block(request: BlockEdit, now: BlockState) -> EditedBlock | Error:
    """Return the block after the request, or the error that forbids it."""
    same = EditedBlock("unchanged", now.text, now.description, now.limit_bytes, now.read_only)
    # The version and the permission come first: without them the edit itself is not judged.
    if (error := check_access(request, now)) is not None:
        return error
    match request:
        case api.CreateBlock(
            value=value, description=description, limit_bytes=limit_bytes, read_only=read_only
        ):
            limit_bytes = API_BLOCK_BYTES_DEFAULT if limit_bytes is None else limit_bytes
            return EditedBlock("created", line_ends(value), description, limit_bytes, read_only)
        case api.UpdateBlock():
            return update_block(request, same)
        case api.AppendToBlock(text=text):
            return append_text(same, line_ends(text))
        case api.ReplaceInBlock():
            return replace_text(request, same, now.label)
        case _:
            return EditedBlock("deleted", None, "", same.limit_bytes, read_only=False)


def check_access(request: BlockEdit, now: BlockState) -> Error | None:
    """Return an error if the author may not do this, or if the request expects another version; else None."""
    expected = getattr(request, "expected_version", None)
    if expected is not None and expected != now.version:
        return api_errors.VersionConflict(expected, now.version)
    if error := check_author(now.kind, now.own_label, request.author):
        return structs.replace(error, label=now.label)
    # The user may change everything of a read-only block except its text, and may delete it.
    writes_text = isinstance(request, api.AppendToBlock | api.ReplaceInBlock) or (
        isinstance(request, api.UpdateBlock) and request.value is not None
    )
    is_closed = now.read_only and (request.author != USER or writes_text)
    return api_errors.ReadOnly(now.label, request.author) if is_closed else None


def update_block(request: api.UpdateBlock, same: EditedBlock) -> EditedBlock:
    """Return the block with the given fields replaced; None leaves a field unchanged."""
    new = structs.replace(
        same,
        text=same.text if request.value is None else line_ends(request.value),
        description=same.description if request.description is None else request.description,
        limit_bytes=same.limit_bytes if request.limit_bytes is None else request.limit_bytes,
        read_only=same.read_only if request.read_only is None else request.read_only,
    )
    if new == same:
        return same
    return structs.replace(new, change="described" if new.text == same.text else "set")


def append_text(same: EditedBlock, text: str) -> EditedBlock:
    """Append the text after a newline; without a newline if one of the two texts is empty."""
    if same.text is None:
        return structs.replace(same, change="created", text=text)
    joined = "\n".join(part for part in (same.text, text) if part)
    return structs.replace(same, change="appended", text=joined) if joined != same.text else same


def replace_text(request: api.ReplaceInBlock, same: EditedBlock, label: str) -> EditedBlock | Error:
    assert same.text is not None
    old, new = line_ends(request.old), line_ends(request.new)
    # An empty text occurs between any two characters, so it counts as not found.
    count = same.text.count(old) if old else 0
    if count == 0:
        return api_errors.TextNotFound(label)
    if count > 1 and not request.every:
        return api_errors.TextAmbiguous(label, count)
    text = same.text.replace(old, new)
    change = "replaced" if text != same.text else "unchanged"
    return structs.replace(same, change=change, text=text, count=count)


def too_large(edit: EditedBlock, now: BlockState) -> Error | None:
    """Return an error for a text above BLOCK_BYTES_MAX, or above its limit and not shorter than before."""
    if edit.text is None or edit.text == now.text:
        return None
    size_bytes, block_bytes = size(edit.text), size(now.own_label) + size(edit.text)
    # A block that `set_block` made larger than its limit can be shortened in several edits.
    if size_bytes > edit.limit_bytes and (now.text is None or size_bytes >= size(now.text)):
        return api_errors.AboveLimit(size_bytes, edit.limit_bytes)
    return BlockTooLarge(block_bytes, BLOCK_BYTES_MAX) if block_bytes > BLOCK_BYTES_MAX else None


# edit_block: find the ids that the request may name; then read core, their sheets and a receipt in one read,
# so that all are of one instant; read the changes of a block to delete; plan and commit.


def key_of_block(request: BlockEdit | api.FindBlock, core: CoreTier, scope: Scope) -> str:
    """Return the id of the block that the request names, or of the one to create."""
    wanted = request.label if isinstance(request, api.CreateBlock) else request.block
    there = find_authored(core, wanted, scope)
    if there is None and wanted.startswith(ID_PREFIX):
        return wanted
    kind = request.kind if isinstance(request, api.CreateBlock) else None
    slot = (there[1].kind, there[1].label) if there else slot_of(tidy(wanted), kind)
    return block_id(scope, *slot)


def take_meant(facts: Facts, answer: ReadDone, view: View) -> Learned:
    core = read_core(answer, view)
    return Learned(MEANT(tuple(dict.fromkeys(ids_of(facts[EDIT], core, view.scope)))))


def ids_of(request: BlockEdit, core: CoreTier, scope: Scope) -> Iterator[str]:
    """Yield the id of the block that the request names now, and of all blocks that may get this label."""
    yield key_of_block(request, core, scope)
    label = tidy(request.label if isinstance(request, api.CreateBlock) else request.block)
    # Between the two reads, a block with this label may be created under any kind; its sheet is needed then.
    yield from (block_id(scope, *slot_of(label, kind)) for kind in BLOCK_KINDS)


def ask_block(facts: Facts, view: View) -> Read:
    sheets = (address(view.scope, "sheet", key) for key in facts[MEANT])
    receipt = address(view.scope, "receipt", key_of(facts, view))
    return Read(ByIds((address(view.scope, "core"), *sheets, receipt)))


def take_block(facts: Facts, answer: ReadDone, view: View) -> Learned:
    sheets = tuple(row for row in answer.rows if isinstance(row.body, Sheet))
    receipt = next(iter(bodies_of(answer.rows, Receipt)), None)
    return Learned(CORE(read_core(answer, view)) | SHEETS(sheets) | EARLIER(receipt))


def ask_past(facts: Facts, view: View) -> Read | None:
    if not isinstance(facts[EDIT], api.DeleteBlock):
        return None
    key = key_of_block(facts[EDIT], facts[CORE], view.scope)
    return Read(ByFilter(view.scope, ("change",), (Condition("block_id", "eq", key),)))


def take_plan(facts: Facts, answer: None, view: View) -> TakeResult:
    request, receipt = facts[EDIT], facts[EARLIER]
    # The commit has the same key, so storage answers it with this receipt instead of writing again.
    if receipt is not None:
        return Learned(PLAN(Plan(view.now_ms, value=receipt.value)))
    now = find_meant(request, facts, view)
    if isinstance(now, Error):
        return Rejection(now)
    edit = edit_block(request, now)
    error = edit if isinstance(edit, Error) else too_large(edit, now)
    if isinstance(error, Error):
        return Rejection(error)
    assert isinstance(edit, EditedBlock)
    if edit.change == "unchanged":
        done = BlockWritten(now.id, now.label, now.version, edit.change, view.now_ms, edit.count)
        return Learned(PLAN(Plan(view.now_ms, value=done)))
    return build_plan(edit, now, facts, view)


def build_plan(edit: EditedBlock, now: BlockState, facts: Facts, view: View) -> TakeResult:
    after = core_after(edit, now, facts[CORE], facts[EDIT].author, view)
    if isinstance(after, Error):
        return Rejection(after)
    core, left_ids = after
    # Change rows stay, without texts, so the history of a deleted block shows times and authors of changes.
    erased = (structs.replace(it, text="", is_erased=True) for it in bodies_of(facts[PAST], BlockChange))
    changes = (*erased, *changes_of(edit, now, facts[EDIT].author, view))
    sheet = address(view.scope, "sheet", now.id)
    plan = Plan(
        view.now_ms,
        writes=(
            *(put(view.scope, "change", it.own_id(), it) for it in changes),
            Write(sheet, sheet_of(edit, now, view)),
        ),
        core=core,
        value=BlockWritten(
            now.id, now.label, now.version + 1, edit.change, view.now_ms, edit.count, left_ids
        ),
    )  # fmt: skip
    return Learned(PLAN(plan))


def core_after(
    edit: EditedBlock, now: BlockState, core: CoreTier, author: str, view: View
) -> tuple[CoreTier | None, tuple[str, ...]] | Error:
    """Return core after the edit (None if the text stays) and the ids that left; or an error."""
    # Core is not written if the text stays, so that its version, which a prompt shows, stays too.
    if edit.text == now.text:
        return None, ()
    scores = scores_of(core, view.tiers.access, view.now_ms)
    if edit.text is None:
        done = remove_block(core, now.kind, now.own_label, author)
    else:
        done = set_block(core, now.kind, edit.text, now.own_label, None, scores, view.config, author)
    return done if isinstance(done, Error) else (done.core, done.left_ids)


def changes_of(edit: EditedBlock, now: BlockState, author: str, view: View) -> list[BlockChange]:
    """Return the change row of this edit, and before it one that imports a foreign text."""
    rows = [change_of(now.version + 1, edit.change, author, edit.text, now, view)]
    # The history lacks a text that `set_block` wrote, so it is imported before this edit:
    #
    #     version 3   append_to_block      in the history
    #     version 4   set_block            imported now
    #     version 5   append_to_block      this edit
    if now.is_foreign:
        rows = [change_of(now.version, "imported", "user", now.text if edit.text else None, now, view), *rows]
    return rows


def change_of(
    version: int, change: str, author: str, text: str | None, now: BlockState, view: View
) -> BlockChange:
    written = text or ""
    return BlockChange(
        now.id, version, change, author, view.now_ms, size(written), written, is_erased=text is None
    )


def sheet_of(edit: EditedBlock, now: BlockState, view: View) -> Sheet:
    # A block created again under an old id has a new creation time, though its versions continue.
    created_ms = now.kept.created_ms if now.kept else view.now_ms
    return Sheet(
        now.id, now.kind, now.own_label, now.version + 1, hash_of(edit.text), edit.description,
        edit.limit_bytes, edit.read_only, created_ms, view.now_ms,
    )  # fmt: skip


EDIT_BLOCK: Final = Workflow(
    "edit_block",
    given=(EDIT, REQUEST_KEY),
    steps=(
        SEEN,
        Step("load", requires=(EDIT,), produces=(MEANT,), claims=claim_core,
             **asks(Read, ask_load, take_meant, retry(3))),
        # Sheets of several blocks are read, but the commit expects only the one that it writes.
        Step("sheet", requires=(EDIT, REQUEST_KEY, MEANT), produces=(CORE, SHEETS, EARLIER), loose=("sheet",),
             **asks(Read, ask_block, take_block, retry(3))),
        Step("past", requires=(EDIT, CORE), produces=(PAST,),
             **asks(Read, ask_past, learn_rows(PAST), retry(3))),
        Step("plan", requires=(EDIT, CORE, SHEETS, EARLIER, PAST), produces=(PLAN,), take=take_plan),
        commit_row(replan="load", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
    laws=(KNOWN_ANSWER,),
)  # fmt: skip


# Reads: one block or all blocks, and the history of one.
#
# The step `load` finds which blocks there are. Then core is read again in one read with their sheets, so that
# both are of one instant. A block created between the two reads is left out, and a deleted one is absent.


SHOW: Final = Fact("request", api.ListBlocks | api.FindBlock)
HISTORY: Final = Fact("request", api.BlockHistory)


def show_block(it: BlockState) -> ApiBlock:
    assert it.text is not None
    created_ms, updated_ms = (it.kept.created_ms, it.kept.updated_ms) if it.kept else (0, 0)
    return ApiBlock(
        it.id, it.label, it.kind, it.text, it.description, it.limit_bytes, it.read_only, it.version,
        created_ms, updated_ms,
    )  # fmt: skip


def ask_shown(facts: Facts, view: View) -> Read:
    request, core, scope = facts[SHOW], facts[CORE], view.scope
    if isinstance(request, api.FindBlock):
        keys = [key_of_block(request, core, scope)]
    else:
        keys = [block_id(scope, block.kind, block.label) for block in list_authored(core).values()]
    return Read(ByIds((address(scope, "core"), *(address(scope, "sheet", key) for key in keys))))


def take_shown(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    request, core, scope = facts[SHOW], read_core(answer, view), view.scope
    sheets = by_id(answer.rows)
    blocks = [state_of_block(label, block, sheets, scope) for label, block in list_authored(core).items()]
    if isinstance(request, api.FindBlock):
        key = key_of_block(request, facts[CORE], scope)
        there = next((it for it in blocks if it.id == key), None)
        if there is None:
            return Rejection(api_errors.NotFound("block", request.block))
        return Learned(OUTCOME(Done(show_block(there))))
    known = [
        block_id(scope, block.kind, block.label) for block in facts[CORE].blocks if block.text is not None
    ]
    return Learned(OUTCOME(Done(BlocksShown(tuple(show_block(it) for it in blocks if it.id in known)))))


def ask_history(facts: Facts, view: View) -> Read:
    request = facts[HISTORY]
    # A cursor of storage is kind/id; ids of changes end in twelve digits, so they sort by version.
    cursor = None if request.after is None else f"change/{request.block_id}@{request.after:012}"
    where = (Condition("block_id", "eq", request.block_id),)
    return Read(ByFilter(view.scope, ("change",), where, request.limit or PAGE_ROWS_DEFAULT, cursor))


def take_history(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    request = facts[HISTORY]
    changes = tuple(bodies_of(answer.rows, BlockChange))
    # Without any change, this API never wrote this block. A page after the last change is just empty.
    if not changes and request.after is None and answer.cursor is None:
        return Rejection(api_errors.NotFound("block", request.block_id))
    # With an empty page and a cursor, a caller could ask for the next page for ever.
    if answer.cursor is not None and not changes:
        return Unusable("an empty page that goes on")
    after = changes[-1].version if answer.cursor is not None else None
    return Learned(OUTCOME(Done(ChangesShown(changes, after))))


READ_BLOCKS: Final = Workflow(
    "read_blocks",
    given=(SHOW,),
    steps=(
        Step("load", produces=(CORE,), **asks(Read, ask_load, take_load, retry(3))),
        Step("read", requires=(SHOW, CORE), produces=(OUTCOME,),
             **asks(Read, ask_shown, take_shown, retry(3))),
    ),
)  # fmt: skip

BLOCK_HISTORY: Final = one_read("block_history", HISTORY, ask_history, take_history)

"""What an edit makes of a block, read from docs/spec/kelpie.md alone: block in, block out."""

from typing import Final

import attrs

from umi_core.data import Data
from umi_core.kelpie.requests import (
    AppendToBlock,
    CreateBlock,
    DeleteBlock,
    ReplaceInBlock,
    UpdateBlock,
)
from umi_core.values import BLOCK_KINDS
from umi_sim.judge.plain.text import byte_count, folded, letters_of, line_ends, tidy

Edit = CreateBlock | UpdateBlock | AppendToBlock | ReplaceInBlock | DeleteBlock
EDITS: Final = (CreateBlock, UpdateBlock, AppendToBlock, ReplaceInBlock, DeleteBlock)
Slot = tuple[str, str]  # kind and label

LIMIT_BYTES: Final = 20_000


@attrs.frozen
class Shown(Data):
    """A block as readers see it; without a text there is none."""

    text: str | None = None
    description: str = ""
    limit_bytes: int = LIMIT_BYTES
    read_only: bool = False


NONE: Final = Shown()


@attrs.frozen
class Outcome(Data):
    """The block after an edit that was accepted, and what the reply calls it."""

    after: Shown
    change: str
    count: int = 0


def is_of_user(slot: Slot) -> bool:
    """System, and what is labelled like it, in any spelling."""
    return slot[0] == "system" or letters_of(slot[1]) == "system"


def new_slot(label: str, kind: str | None) -> Slot:
    name = folded(tidy(label))
    return (name, "") if name in BLOCK_KINDS else (kind or "facts", label)


def done(edit: Edit, slot: Slot, before: Shown, version: int) -> Outcome | None:
    """None if it must be refused."""
    if (before.text is None) != isinstance(edit, CreateBlock) and not isinstance(edit, AppendToBlock):
        return None
    expected = getattr(edit, "expected_version", None)
    if (expected is not None and expected != version) or is_barred(edit, slot, before):
        return None
    found = outcome(edit, before)
    is_kept = found is not None and fits(before, found.after)
    return found if is_kept else None


def is_barred(edit: Edit, slot: Slot, before: Shown) -> bool:
    """A model never touches system or a closed block; of a closed block nobody changes the text."""
    if edit.author == "model":
        return is_of_user(slot) or before.read_only
    is_of_text = isinstance(edit, AppendToBlock | ReplaceInBlock)
    is_of_text |= isinstance(edit, UpdateBlock) and edit.value is not None
    return before.read_only and is_of_text


def fits(before: Shown, after: Shown) -> bool:
    if after.text is None or after.text == before.text:
        return True
    size = byte_count(after.text)
    return size <= after.limit_bytes or (before.text is not None and size < byte_count(before.text))


def outcome(edit: Edit, before: Shown) -> Outcome | None:
    match edit:
        case CreateBlock():
            limit_bytes = edit.limit_bytes or LIMIT_BYTES
            new = Shown(line_ends(edit.value), edit.description, limit_bytes, edit.read_only)
            return Outcome(new, "created")
        case UpdateBlock():
            return updated(edit, before)
        case AppendToBlock():
            return appended(line_ends(edit.text), before)
        case ReplaceInBlock():
            return replaced(edit, before)
        case DeleteBlock():
            return Outcome(NONE, "deleted")


def updated(edit: UpdateBlock, before: Shown) -> Outcome:
    text = before.text if edit.value is None else line_ends(edit.value)
    description = before.description if edit.description is None else edit.description
    limit_bytes = before.limit_bytes if edit.limit_bytes is None else edit.limit_bytes
    read_only = before.read_only if edit.read_only is None else edit.read_only
    after = Shown(text, description, limit_bytes, read_only)
    change = "unchanged" if after == before else "set" if text != before.text else "described"
    return Outcome(after, change)


def appended(text: str, before: Shown) -> Outcome:
    if before.text is None:
        return Outcome(Shown(text), "created")
    after = before.text + "\n" + text if before.text and text else before.text + text
    return Outcome(attrs.evolve(before, text=after), "appended" if after != before.text else "unchanged")


def replaced(edit: ReplaceInBlock, before: Shown) -> Outcome | None:
    old = line_ends(edit.old)
    parts = (before.text or "").split(old) if old else [""]
    count = len(parts) - 1
    if count == 0 or (count > 1 and not edit.every):
        return None
    after = line_ends(edit.new).join(parts)
    change = "replaced" if after != before.text else "unchanged"
    return Outcome(attrs.evolve(before, text=after), change, count)

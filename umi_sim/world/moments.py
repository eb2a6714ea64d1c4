"""Marks of rare events that the world observes, such as an answer in the millisecond of a deadline."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from umi_core.limits import I64_MAX, I64_MIN
from umi_core.messages.effects import HookNote
from umi_core.messages.requests import CoreRead, Request
from umi_core.messages.results import BlockSet, Rebalanced, Remembered
from umi_sim.machines.protocol import Machine
from umi_sim.record.run_config import LATE_REFUSING_HOOK, REFUSING_HOOK, SUBSTITUTING_HOOK

ENDS: Final = (I64_MIN, I64_MAX)


def of_request(machine: Machine | None, request: Request) -> Sequence[str]:
    """Return a mark if core is read while the machine waits for a commit."""
    is_during = machine is not None and isinstance(request, CoreRead) and machine.is_committing
    # Such a read must show the core from before the commit, since the batch may still fail.
    return ("core is read: a commit is on its way",) if is_during else ()


def of_late_answer(machine: Machine | None, reading_ms: int) -> Iterator[str]:
    """Yield a mark if a late answer arrives in the millisecond of a deadline."""
    # This is the edge between in time and late, where `<` and `<=` differ.
    if machine is not None and machine.deadline_ms() == reading_ms:
        yield "an answer comes in the millisecond of a deadline"


def of_hooks(notes: Iterable[HookNote]) -> Sequence[str]:
    """Return marks of interceptors that have refused or answered a question, from their notes."""
    prefixes = {REFUSING_HOOK: "turned away", LATE_REFUSING_HOOK: "turned away behind a commit"}
    refused = (f"{prefixes[note.name]}: {note.what}" for note in notes if note.name in prefixes)
    return (*refused, *("turned away: made do" for note in notes if note.name == SUBSTITUTING_HOOK))


def of_value(value: object) -> Sequence[str]:
    """Return marks of the rare events that a reply shows."""
    # Only `incr` replies with a bare number that can reach either end of 64 bits; bools have another class.
    if value.__class__ is int:
        return ("incr: the last number that there is",) if value in ENDS else ()
    if isinstance(value, BlockSet) and value.evicted:
        return ("core: an entry left for a text",)
    if isinstance(value, Rebalanced) and value.evicted:
        return ("core: an entry left for a better one",)
    is_ended = isinstance(value, Remembered) and value.ended
    return ("remember: a fact ended",) if is_ended else ()

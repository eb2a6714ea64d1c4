"""Givers: which resource told which line of an entity, and what an entity is without one of them.

A line is a resource's own while only resources told it. `told` of a state holds what each of them told so.

Law 1. Pure. Law 2. What is left is what the kept versions come to without the lines that nobody else told.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from umi_core.invariants import limits
from umi_core.rows import Entity, Version
from umi_sim.judge.plain.text import byte_count, folded, said_once

APPENDING: Final = ("extend", "derive")
Told = tuple[tuple[str, str], ...]  # by resource, the lines that it told


def is_among(line: str, lines: Iterable[str]) -> bool:
    return not said_once([line], [*lines])


def kept_lines(lines: Iterable[str], content: str, mention: str) -> tuple[str, ...]:
    """What resources alone told of this content, once somebody else has told this mention."""
    there, plain = content.split("\n"), mention.split("\n")
    return tuple(line for line in lines if is_among(line, there) and not is_among(line, plain))


def given_lines(before: Entity | None, content: str, mention: str) -> tuple[str, ...]:
    """What resources alone told of this content, once another resource has told this mention."""
    old = before.content.split("\n") if before else []
    own = [*(before.given if before else ()), *said_once(mention.split("\n"), old)]
    return tuple(said_once([line for line in content.split("\n") if is_among(line, own)]))


def told_more(told: Told, source: str, given: Sequence[str], mention: str) -> Told:
    """With the lines that this resource has told, as far as they belong to resources."""
    by_source = dict(told)
    lines = by_source[source].split("\n") if source in by_source else []
    new = [line for line in said_once(mention.split("\n")) if is_among(line, given)]
    if not new:
        return told
    by_source[source] = within_limit([*lines, *said_once(new, lines)], new)
    return tuple(sorted(by_source.items()))


def within_limit(lines: list[str], new: Sequence[str]) -> str:
    """While it is too long, the oldest goes that was not just told."""
    while byte_count("\n".join(lines)) > limits.ENTITY_FACTS_BYTES_MAX:
        old = next((n for n, line in enumerate(lines) if not is_among(line, new)), None)
        if old is None:
            break
        del lines[old]
    return "\n".join(lines)


def own_lines(entity: Entity, told: Told, source: str) -> list[str]:
    """The lines that only this resource told."""
    lines = [(key, line) for key, content in told for line in content.split("\n")]
    others = [line for key, line in lines if key != source]
    plain = [line for line in entity.content.split("\n") if not is_among(line, entity.given)]
    return [line for key, line in lines if key == source and not is_among(line, (*others, *plain))]


def rows_without(rows: Sequence[Version], gone: Sequence[str]) -> tuple[Version, ...]:
    """The versions without these lines, each made of the one before it."""
    lost, made = [folded(line) for line in gone], list[Version]()
    for row in rows:
        mention = cleared(row.mention, lost) if row.is_given else row.mention
        before = made[-1].content if made else ""
        if not made and row.kind is not None:
            content = cleared(row.content, lost)  # older ones are not kept
        elif not mention:
            content = before
        elif row.kind in APPENDING and before:
            lines = before.split("\n")
            new = mention.split("\n")
            content = within_limit([*lines, *said_once(new, lines)], new)
        else:
            content = mention
        made.append(attrs.evolve(row, mention=mention, content=content))
    return tuple(made)


def cleared(text: str, lost: Sequence[str]) -> str:
    kept = [line for line in text.split("\n") if folded(line) not in lost]
    return "\n".join(kept) if any(line.strip() for line in kept) else ""

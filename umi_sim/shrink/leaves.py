"""Leaves: the single values in the arguments of an item, each with its path, and items with other leaves.

A path is a tuple of names and indexes: ("turns", 0, "text"); `LeafPath` is its type.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.data import list_fields
from umi_core.messages.requests import REQUESTS
from umi_core.values import Turn
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.schema import Wrong
from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.seedfile import item_json
from umi_sim.shrink.candidate import Candidate
from umi_sim.shrink.reduction import fewer, lower, shorter

LeafPath = tuple[str | int, ...]
WithArgs = Op | Fault | ClockMove
Place = tuple[str, LeafPath]  # id of the item, path to the value

# The id of a row, which is derived from its content.
DERIVED: Final = re.compile(r"(?<![a-z])[a-z]+_[0-9a-f]{12,}")


def leaves(value: object, path: LeafPath = ()) -> Iterator[tuple[LeafPath, object]]:
    """Yield all single values within this one; a list comes before its members."""
    match value:
        case Turn():
            yield (*path, "role"), value.role
            yield (*path, "text"), value.text
        case tuple() | list():
            # The list comes first, since removed members need not be simplified.
            yield path, tuple(value)
            for at, each in enumerate(value):
                yield from leaves(each, (*path, at))
        case Mapping():
            for name, each in value.items():
                yield from leaves(each, (*path, name))
        case _:
            yield path, value


def put(value: object, path: LeafPath, leaf: object) -> object:
    """Return the value with another leaf at this path."""
    if not path:
        return leaf
    step, *rest = path
    if isinstance(value, Turn):
        return Turn(**{"role": value.role, "text": value.text, str(step): leaf})  # type: ignore[arg-type]  # any type
    if isinstance(value, Mapping):
        return {**value, step: put(value[step], tuple(rest), leaf)}
    assert isinstance(value, tuple | list)
    assert isinstance(step, int)
    return (*value[:step], put(value[step], tuple(rest), leaf), *value[step + 1 :])


def places(
    candidate: Candidate, *kinds: type[Op] | type[Fault] | type[ClockMove]
) -> list[tuple[Place, object]]:
    """List every single value in the arguments of items of these kinds."""
    return [
        ((item.id, path), leaf)
        for item in candidate.items
        if isinstance(item, WithArgs) and isinstance(item, kinds)
        for path, leaf in leaves(item.args)
    ]


def with_leaves(candidate: Candidate, changes: Mapping[Place, object]) -> Candidate | None:
    """Return the candidate with these leaves; None if a seed file could not contain such an item."""
    items: dict[str, Item] = {item.id: item for item in candidate.items}
    for (item_id, path), leaf in changes.items():
        item = items[item_id]
        assert isinstance(item, WithArgs)
        args = put(item.args, path, leaf)
        assert isinstance(args, Mapping)
        items[item_id] = structs.replace(item, args=args)
    changed = {item_id: items[item_id] for item_id, _ in changes}
    return candidate.replace_items(changed) if all(map(is_writable, changed.values())) else None


def is_writable(item: Item) -> bool:
    """Return whether writing the item to a seed file and reading it back gives an equal item."""
    try:
        # `from_json` checks the range of each value, as for a file.
        return item_json.from_json(item_json.to_json(item)) == item
    except Wrong:
        return False


def simplify(leaf: object, works: Callable[[object], bool]) -> object:
    """Return a simpler value of the same type for which `works` is true."""
    match leaf:
        case bool():
            return False if leaf and works(False) else leaf
        case int():
            return lower(leaf, works)
        # A part of an id refers to nothing, so an id is only replaced as a whole.
        case str() if DERIVED.fullmatch(leaf):
            return next((least for least in ("", "a") if works(least)), leaf)
        case str():
            return shorter(leaf, "a", works)
        case bytes():
            return shorter(leaf, b"a", works)
        case tuple():
            return fewer(leaf, lambda kept: works(tuple(kept)))
    return leaf


def plainest_word(kind: str, path: LeafPath) -> str | None:
    """Return the first possible word of a fault's argument; None if the argument is not a word."""
    argument = KINDS[kind].arguments.get(str(path[-1])) if path else None
    return argument.words[0] if argument is not None and argument.words else None


def optional(op: Op) -> list[str]:
    """List the optional arguments that a request has."""
    # Without the first field, which is the op_id.
    fields = list_fields(REQUESTS[op.name])[1:]
    return [field.name for field in fields if not field.required and field.name in op.args]

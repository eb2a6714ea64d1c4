"""Edits of a model's reply: families of changes, each told by its arguments.

Law 1. An edit is pure and total: any reply and any arguments give a text.
Law 2. What an edit cannot change it returns as it was.
Law 3. No edit makes a value grow by more than GROWN_BYTES_MAX.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from umi_core.language.replies import Number, decoded
from umi_sim.faults.words import OLD
from umi_sim.services.model.prompts import ENCODER, quoted

Args = Mapping[str, object]

GROWN_BYTES_MAX: Final = 200_000


# Families of edits. A path is a JSON pointer; the whole reply is "".


def replace(reply: str, args: Args) -> str:
    """`text` in place of everything."""
    return text_in(args, "text", reply)


def wrap(reply: str, args: Args) -> str:
    """The first `keep` characters between `before` and `after`."""
    return text_in(args, "before") + reply[: count_in(args, "keep", len(reply))] + text_in(args, "after")


def cut(reply: str, args: Args) -> str:
    """The first `at` characters."""
    return reply[: count_in(args, "at", len(reply))]


def put(reply: str, args: Args) -> str:
    """`json`, well-formed or not, in place of the value at `path`."""
    new = text_in(args, "json")
    return changed(reply, args, lambda old: Number(new.replace(OLD, write_json(old))) if new else None)


def rekey(reply: str, args: Args) -> str:
    """`members` in place of the member `key` of the object at `path`."""
    key, members = text_in(args, "key"), text_in(args, "members")

    def rekeyed(old: object) -> Number | None:
        if not isinstance(old, dict) or key not in old:
            return None
        texts = {name: f"{quoted(name)}:{write_json(member)}" for name, member in old.items()}
        texts[key] = members.replace(OLD, write_json(old[key]))
        return Number("{" + ",".join(filter(None, texts.values())) + "}")

    return changed(reply, args, rekeyed)


def stretch(reply: str, args: Args) -> str:
    """The value at `path` grown at `at`: a string by `times` times `text`, a list by one of its elements."""
    at, times, text = count_in(args, "at"), count_in(args, "times"), text_in(args, "text")

    def stretched(old: object) -> object:
        if isinstance(old, list) and old:
            place, piece = at % len(old), write_json(old[at % len(old)])
            return old[:place] + [Number(piece)] * bounded(times, piece) + old[place:]
        if isinstance(old, str):
            place = at % (len(old) + 1)
            return old[:place] + text * bounded(times, quoted(text)) + old[place:]
        return None

    return changed(reply, args, stretched)


def bounded(times: int, piece: str) -> int:
    return min(times, GROWN_BYTES_MAX // (len(piece.encode("utf-8", "surrogatepass")) + 1))


def swap(reply: str, args: Args) -> str:
    """The values at `path` and `other` exchanged, if neither holds the other."""
    path, other = text_in(args, "path"), text_in(args, "other")
    held = dict(values(reply))
    if path not in held or other not in held or is_inside(path, other) or is_inside(other, path):
        return reply
    first, second = Number(write_json(held[path])), Number(write_json(held[other]))
    once = changed(reply, {"path": path}, lambda _: second)
    return changed(once, {"path": other}, lambda _: first)


def is_inside(path: str, other: str) -> bool:
    return (path + "/").startswith(other + "/")


def text_in(args: Args, key: str, default: str = "") -> str:
    value = args.get(key)
    return value if isinstance(value, str) else default


def count_in(args: Args, key: str, default: int = 0) -> int:
    value = args.get(key)
    return value if isinstance(value, int) and value >= 0 else default


# The values of a reply. A `Number` is JSON text that is written as it stands, whatever an edit put there.


def changed(reply: str, args: Args, change: Callable[[object], object]) -> str:
    """The reply with the value at `path` changed; as it was without such a value, or if `change` has None."""
    path, whole = args.get("path"), decoded(reply, 0)
    if not isinstance(path, str) or path[:1] not in ("", "/"):
        return reply
    new = rewritten(reply if whole is None else whole, path.split("/")[1:], change)
    if new is None:
        return reply
    return write_json(new) if whole is not None else plain(new)


def plain(new: object) -> str:
    """A reply that is no JSON stays a text, unless it becomes some other value."""
    text = new if isinstance(new, str) else decoded(write_json(new), 0)
    return text if isinstance(text, str) else write_json(new)


def rewritten(value: object, steps: Sequence[str], change: Callable[[object], object]) -> object:
    if not steps:
        return change(value)
    step = steps[0].replace("~1", "/").replace("~0", "~")
    if isinstance(value, dict) and step in value:
        new = rewritten(value[step], steps[1:], change)
        return None if new is None else value | {step: new}
    if isinstance(value, list) and INDEX.fullmatch(step) and int(step) < len(value):
        new = rewritten(value[int(step)], steps[1:], change)
        return None if new is None else [*value[: int(step)], new, *value[int(step) + 1 :]]
    return None


INDEX: Final = re.compile("0|[1-9][0-9]{0,5}")


def values(reply: str) -> list[tuple[str, object]]:
    """Every value of a reply with its path, outer ones first; a reply that is no JSON is one text."""
    whole = decoded(reply, 0)
    return list(walk("", reply if whole is None else whole))


def walk(path: str, value: object) -> Iterator[tuple[str, object]]:
    yield path, value
    if isinstance(value, dict):
        for key, member in value.items():
            yield from walk(f"{path}/{key.replace('~', '~0').replace('/', '~1')}", member)
    if isinstance(value, list):
        for at, element in enumerate(value):
            yield from walk(f"{path}/{at}", element)


def write_json(value: object) -> str:
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(key)}:{write_json(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write_json, value)) + "]"
    return ENCODER.encode(value)

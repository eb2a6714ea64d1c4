"""Edits of a model's reply: families of changes, each described by its arguments, and how places are drawn.

Law 1. An edit is pure and total: any reply and any arguments of its fields give a text.
Law 2. The arguments hold all that was drawn (places, counts, words), so a seed file replays from them alone.
Law 3. An edit that cannot change a reply returns it as it was, and then there is no fault.
Law 4. No edit makes a value grow by more than GROWN_BYTES_MAX.

A kind lists its options, each as a set of arguments: `options(reply)` for a whole reply; or, where a family
has a `path`, `options(key, old)` for one value of it, whose path ends in `key`.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, TypeVar, cast

from msgspec import structs

from umi_core.json_text import JsonNumber, decode_at
from umi_core.messages.answers import ModelReplied
from umi_core.messages.effects import AskModel
from umi_sim.faults.arguments import string, whole
from umi_sim.faults.declaration import FaultKind
from umi_sim.faults.draws import Draws
from umi_sim.faults.service import Arrival
from umi_sim.faults.words import OLD
from umi_sim.services.calls import Handled, Later
from umi_sim.services.model import truth
from umi_sim.services.model.prompts import ENCODER, quote_json

T = TypeVar("T")
Drawn = Mapping[str, object]
Options = Sequence[Drawn]

GROWN_BYTES_MAX: Final = 200_000


def true_text(call: Arrival[AskModel]) -> str:
    return truth(call.effect.task, call.effect.prompt)


def one_of_all(draws: Draws, label: str, options: Sequence[T]) -> T:
    """Draw an option from all 2^64 words, so that its draw is one number however many options there are."""
    return options[draws(label, 2**64) % len(options)]


class ReplyEdit(FaultKind):
    """A true reply, changed on its way."""

    @classmethod
    def draw(cls, call: Arrival[AskModel], draws: Draws) -> Self | None:
        reply = true_text(call)
        made, args = cast(Any, cls), cls.draw_edit(reply, draws, call)
        edit: Self | None = made(**args) if args else None
        # Tried on the true reply: an edit that leaves it as it was is no fault (law 3).
        return edit if edit is not None and edit.edit_reply(reply) != reply else None

    @classmethod
    @abstractmethod
    def draw_edit(cls, reply: str, draws: Draws, call: Arrival[AskModel]) -> Drawn:
        """Draw the arguments of an edit of this reply; none if it has no place for one."""

    def apply(self, call: Arrival[AskModel]) -> Handled:
        answer = call.answer()
        assert isinstance(answer, ModelReplied)
        return Later(structs.replace(answer, text=self.edit_reply(answer.text)), self.at_ms(call))

    def at_ms(self, call: Arrival[AskModel]) -> int:
        """Return when the reply leaves the model."""
        return call.now_ms

    @abstractmethod
    def edit_reply(self, reply: str) -> str: ...


# Of a whole reply.


class WholeEdit(ReplyEdit):
    """An edit with options for a whole reply."""

    @classmethod
    def draw_edit(cls, reply: str, draws: Draws, call: Arrival[AskModel]) -> Drawn:
        options = cls.options(reply)
        return one_of_all(draws, "option", options) if options else {}

    @classmethod
    @abstractmethod
    def options(cls, reply: str) -> Options: ...


class Replace(WholeEdit):
    """`text` in place of everything."""

    text: str = string()

    def edit_reply(self, reply: str) -> str:
        return self.text


class ReplaceBy(Replace):
    """One of `news` in place of everything."""

    news: ClassVar[Sequence[str]]

    @classmethod
    def options(cls, reply: str) -> Options:
        return texts(cls.news)


def texts(options: Sequence[str]) -> Options:
    return [{"text": text} for text in options]


class CutShort(ReplyEdit):
    """The first `at` characters."""

    at: int = whole()

    @classmethod
    def draw_edit(cls, reply: str, draws: Draws, call: Arrival[AskModel]) -> Drawn:
        """Draw a place; half of the cuts are beside a bracket, a quote, a comma or a colon."""
        # A reply of prose has no such place, so all places are equally likely.
        after_brackets = [at + side for at, char in enumerate(reply) if char in '[]{}",:' for side in (0, 1)]
        places = after_brackets if after_brackets and draws("beside", 2**64) % 2 else range(len(reply) + 1)
        return {"at": one_of_all(draws, "at", places)}

    def edit_reply(self, reply: str) -> str:
        return reply[: self.at]


class Splice(WholeEdit):
    """`text` in place of `length` characters from `at` on."""

    at: int = whole()
    length: int = whole()
    text: str = string(default="")

    def edit_reply(self, reply: str) -> str:
        return reply[: self.at] + self.text + reply[self.at + self.length :]


def splices(reply: str, mark: str, news: Sequence[str], is_kept: bool) -> Options:
    """List splices of each of these texts at each mark: behind it if it is kept, or in its place."""
    places = [match.span() for match in re.finditer(re.escape(mark), reply)]
    spans = [(end, 0) if is_kept else (start, end - start) for start, end in places]
    return [{"at": at, "length": length, "text": new} for at, length in spans for new in news]


# Of one value. A path is a JSON pointer; the whole reply is "".


class ValueEdit(ReplyEdit):
    """An edit with options for one value of a reply."""

    path: str = string()

    @classmethod
    def draw_edit(cls, reply: str, draws: Draws, call: Arrival[AskModel]) -> Drawn:
        return at_a_place(reply, draws, cls.options)

    @classmethod
    @abstractmethod
    def options(cls, key: str, old: object) -> Options: ...


def at_a_place(reply: str, draws: Draws, options: Callable[[str, object], Options]) -> Drawn:
    """Draw one of the values that have options, then one of its options."""
    found = [(path, here) for path, old in values(reply) if (here := options(path.rpartition("/")[2], old))]
    if not found:
        return {}
    path, here = one_of_all(draws, "place", found)
    option = one_of_all(draws, "option", here)
    # Options of a value name places below it; in the item
    # paths count from the whole reply: "/2" -> "/entities/2".
    below = {key: path + str(option[key]) for key in ("path", "other") if key in option}
    return {"path": path, **option, **below}


class Json(ReplyEdit):
    """`json`, well-formed or not, in place of the value."""

    path: str = string()
    json: str = string()

    def edit_reply(self, reply: str) -> str:
        new = self.json
        return change_at(
            reply, self.path, lambda old: JsonNumber(new.replace(OLD, write_json(old))) if new else None
        )


class Put(Json, ValueEdit):
    """JSON that depends on the value alone."""


def jsons(options: Sequence[str]) -> Options:
    return [{"json": json} for json in options]


def quoted_each(options: Sequence[str]) -> list[str]:
    return [quote_json(new) for new in options]


class PutAt(Put):
    """One of `news` in place of the value of one of these keys."""

    keys: ClassVar[Sequence[str]]
    news: ClassVar[Sequence[str]]

    @classmethod
    def options(cls, key: str, old: object) -> Options:
        return jsons(cls.news) if key in cls.keys else ()


class OtherWord(Put):
    """In a text, a word of a table becomes another one of it."""

    tables: ClassVar[Sequence[Sequence[str]]]

    @classmethod
    def options(cls, key: str, old: object) -> Options:
        text = old if isinstance(old, str) else ""
        pairs = [(word, new) for table in cls.tables for word in table if word in text for new in table]
        return jsons(quoted_each([text.replace(word, new) for word, new in pairs if new != word]))


class Rekey(ValueEdit):
    """`members` in place of the member `key` of an object."""

    key: str = string()
    members: str = string()

    @classmethod
    def options(cls, key: str, old: object) -> Options:
        found = old.items() if isinstance(old, dict) else ()
        return [{"key": key, "members": new} for key, member in found for new in cls.instead(key, member)]

    @classmethod
    @abstractmethod
    def instead(cls, key: str, old: object) -> Sequence[str]:
        """Return what may stand in place of a member of an object."""

    def edit_reply(self, reply: str) -> str:
        return change_at(reply, self.path, self.rekey_object)

    def rekey_object(self, old: object) -> JsonNumber | None:
        if not isinstance(old, dict) or self.key not in old:
            return None
        texts = {name: f"{quote_json(name)}:{write_json(member)}" for name, member in old.items()}
        # Members as text, not as values: the same key twice, or none at all, is no Python dict.
        texts[self.key] = self.members.replace(OLD, write_json(old[self.key]))
        return JsonNumber("{" + ",".join(filter(None, texts.values())) + "}")


class Stretch(ValueEdit):
    """The value grown at `at`: a string by `times` times `text`, a list by one of its elements."""

    at: int = whole()
    text: str = string(default="")
    times: int = whole()

    def edit_reply(self, reply: str) -> str:
        return change_at(reply, self.path, self.stretch_value)

    def stretch_value(self, old: object) -> object:
        if isinstance(old, list) and old:
            # Modulo, since a replay may bring a shorter list than the one it was drawn for (law 1).
            at = self.at % len(old)
            # The element as finished text, written `times` times:
            # ten thousand equal values cost no more than one.
            piece = write_json(old[at])
            return old[:at] + [JsonNumber(piece)] * limit_times(self.times, piece) + old[at:]
        if isinstance(old, str):
            at = self.at % (len(old) + 1)
            return old[:at] + self.text * limit_times(self.times, quote_json(self.text)) + old[at:]
        return None


def limit_times(times: int, piece: str) -> int:
    return min(times, GROWN_BYTES_MAX // (len(piece.encode("utf-8", "surrogatepass")) + 1))


class Swap(ValueEdit):
    """The values at `path` and `other` exchanged, if neither holds the other."""

    other: str = string()

    def edit_reply(self, reply: str) -> str:
        path, other, held = self.path, self.other, dict(values(reply))
        # A value cannot change places with a part of itself.
        if path not in held or other not in held or is_inside(path, other) or is_inside(other, path):
            return reply
        return write_json(held[""], {path: write_json(held[other]), other: write_json(held[path])})


def is_inside(path: str, other: str) -> bool:
    # "/a1" is not inside "/a".
    return (path + "/").startswith(other + "/")


# The values of a reply. A `JsonNumber` is JSON text that is written as it stands, whatever an edit put there.


def change_at(reply: str, path: str, change: Callable[[object], object]) -> str:
    """Change the value at `path`; return the reply as it was if there is none, or `change` gives None."""
    held = dict(values(reply))
    new = change(held[path]) if path in held else None
    if new is None:
        return reply
    whole = decode_at(reply, 0)
    return plain(new) if whole is None else write_json(whole, {path: write_json(new)})


def plain(new: object) -> str:
    """Return a changed reply that was no JSON: as text, or as JSON if it is no text any more."""
    text = new if isinstance(new, str) else decode_at(write_json(new), 0)
    return text if isinstance(text, str) else write_json(new)


def values(reply: str) -> list[tuple[str, object]]:
    """List every value of a reply with its path, outer ones first; a reply that is no JSON is one text."""
    whole = decode_at(reply, 0)
    return list(walk("", reply if whole is None else whole))


def walk(path: str, value: object) -> Iterator[tuple[str, object]]:
    yield path, value
    for step, member in members_of(value):
        yield from walk(f"{path}/{step}", member)


def members_of(value: object) -> Iterable[tuple[str, object]]:
    """Yield the members of a list or an object, each with its step of a path."""
    if isinstance(value, dict):
        # As in a JSON pointer (RFC 6901): first the tilde, or the tilde of "~1" would be written again.
        return [(key.replace("~", "~0").replace("/", "~1"), member) for key, member in value.items()]
    return [(str(at), member) for at, member in enumerate(value)] if isinstance(value, list) else []


def write_json(value: object, news: Mapping[str, str] = MappingProxyType({}), path: str = "") -> str:
    """Write a value as JSON, with the texts of `news` in place of the values at their paths."""
    if path in news:
        return news[path]
    if isinstance(value, JsonNumber):
        return value.text
    texts = [write_json(member, news, f"{path}/{step}") for step, member in members_of(value)]
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{quote_json(key)}:{text}" for key, text in zip(value, texts, strict=True)) + "}"
        )
    return "[" + ",".join(texts) + "]" if isinstance(value, list) else ENCODER.encode(value)

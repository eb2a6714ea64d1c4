"""Edits of a model's reply: families of changes, and how their arguments are drawn.

Law 1. An edit is pure and total: it returns a text for any reply and any arguments.
Law 2. The arguments contain all that was drawn (places, counts, words), so a replay needs nothing else.
Law 3. An edit that cannot change a reply returns it unchanged, and then there is no fault.
Law 4. No edit makes a value grow by more than GROWN_BYTES_MAX.

A kind lists its options, each as a set of arguments. `options(reply)` lists those for a whole reply. A family
with a `path` edits one value of the reply: `options(key, old)` lists those for the value `old`, whose path
ends in `key`.
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
    """Draw an option. The draw is from all 2^64 words, so it is the same for any number of options."""
    return options[draws(label, 2**64) % len(options)]


class ReplyEdit(FaultKind):
    """Family of faults that change the true reply of a model."""

    @classmethod
    def draw(cls, call: Arrival[AskModel], draws: Draws) -> Self | None:
        reply = true_text(call)
        made, args = cast(Any, cls), cls.draw_edit(reply, draws, call)
        edit: Self | None = made(**args) if args else None
        # An edit that does not change the true reply is no fault (law 3).
        return edit if edit is not None and edit.edit_reply(reply) != reply else None

    @classmethod
    @abstractmethod
    def draw_edit(cls, reply: str, draws: Draws, call: Arrival[AskModel]) -> Drawn:
        """Draw the arguments of an edit of this reply; return an empty mapping if it has no place for one."""

    def apply(self, call: Arrival[AskModel]) -> Handled:
        answer = call.answer()
        assert isinstance(answer, ModelReplied)
        return Later(structs.replace(answer, text=self.edit_reply(answer.text)), self.at_ms(call))

    def at_ms(self, call: Arrival[AskModel]) -> int:
        """Return when the reply leaves the model."""
        return call.now_ms

    @abstractmethod
    def edit_reply(self, reply: str) -> str: ...


# Edits of a whole reply.


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
    """Replace the reply by `text`."""

    text: str = string()

    def edit_reply(self, reply: str) -> str:
        return self.text


class ReplaceBy(Replace):
    """Replace the reply by one of `news`."""

    news: ClassVar[Sequence[str]]

    @classmethod
    def options(cls, reply: str) -> Options:
        return texts(cls.news)


def texts(options: Sequence[str]) -> Options:
    return [{"text": text} for text in options]


class CutShort(ReplyEdit):
    """Keep only the first `at` characters."""

    at: int = whole()

    @classmethod
    def draw_edit(cls, reply: str, draws: Draws, call: Arrival[AskModel]) -> Drawn:
        """Draw a place; half of the cuts are next to a bracket, a quote, a comma or a colon."""
        # In a reply without such characters all places are equally likely.
        after_brackets = [at + side for at, char in enumerate(reply) if char in '[]{}",:' for side in (0, 1)]
        places = after_brackets if after_brackets and draws("beside", 2**64) % 2 else range(len(reply) + 1)
        return {"at": one_of_all(draws, "at", places)}

    def edit_reply(self, reply: str) -> str:
        return reply[: self.at]


class Splice(WholeEdit):
    """Replace `length` characters from `at` on by `text`."""

    at: int = whole()
    length: int = whole()
    text: str = string(default="")

    def edit_reply(self, reply: str) -> str:
        return reply[: self.at] + self.text + reply[self.at + self.length :]


def splices(reply: str, mark: str, news: Sequence[str], is_kept: bool) -> Options:
    """List splices of each text in `news` at each `mark` in the reply: after the mark, or in its place."""
    places = [match.span() for match in re.finditer(re.escape(mark), reply)]
    spans = [(end, 0) if is_kept else (start, end - start) for start, end in places]
    return [{"at": at, "length": length, "text": new} for at, length in spans for new in news]


# Edits of one value. A path is a JSON pointer; the path of the whole reply is "".


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
    # Paths in options are relative to the value, those of an item to
    # the whole reply: below "/entities" the path "/2" becomes "/entities/2".
    below = {key: path + str(option[key]) for key in ("path", "other") if key in option}
    return {"path": path, **option, **below}


class Json(ReplyEdit):
    """Replace the value by `json`, which may be malformed."""

    path: str = string()
    json: str = string()

    def edit_reply(self, reply: str) -> str:
        new = self.json
        return change_at(
            reply, self.path, lambda old: JsonNumber(new.replace(OLD, write_json(old))) if new else None
        )


class Put(Json, ValueEdit):
    """Replace the value by JSON that depends on the value alone."""


def jsons(options: Sequence[str]) -> Options:
    return [{"json": json} for json in options]


def quoted_each(options: Sequence[str]) -> list[str]:
    return [quote_json(new) for new in options]


class PutAt(Put):
    """Replace the value of one of `keys` by one of `news`."""

    keys: ClassVar[Sequence[str]]
    news: ClassVar[Sequence[str]]

    @classmethod
    def options(cls, key: str, old: object) -> Options:
        return jsons(cls.news) if key in cls.keys else ()


class OtherWord(Put):
    """Replace a word of a text by another word of the same table."""

    tables: ClassVar[Sequence[Sequence[str]]]

    @classmethod
    def options(cls, key: str, old: object) -> Options:
        text = old if isinstance(old, str) else ""
        pairs = [(word, new) for table in cls.tables for word in table if word in text for new in table]
        return jsons(quoted_each([text.replace(word, new) for word, new in pairs if new != word]))


class Rekey(ValueEdit):
    """Replace the member `key` of an object by `members`, the text of any number of members."""

    key: str = string()
    members: str = string()

    @classmethod
    def options(cls, key: str, old: object) -> Options:
        found = old.items() if isinstance(old, dict) else ()
        return [{"key": key, "members": new} for key, member in found for new in cls.instead(key, member)]

    @classmethod
    @abstractmethod
    def instead(cls, key: str, old: object) -> Sequence[str]:
        """Return texts that may replace a member of an object."""

    def edit_reply(self, reply: str) -> str:
        return change_at(reply, self.path, self.rekey_object)

    def rekey_object(self, old: object) -> JsonNumber | None:
        if not isinstance(old, dict) or self.key not in old:
            return None
        texts = {name: f"{quote_json(name)}:{write_json(member)}" for name, member in old.items()}
        # Members are texts rather than values, since a dict cannot have the same key twice.
        texts[self.key] = self.members.replace(OLD, write_json(old[self.key]))
        return JsonNumber("{" + ",".join(filter(None, texts.values())) + "}")


class Stretch(ValueEdit):
    """Insert `text` into a string at `at`, or repeat the element at `at` of a list; `times` times."""

    at: int = whole()
    text: str = string(default="")
    times: int = whole()

    def edit_reply(self, reply: str) -> str:
        return change_at(reply, self.path, self.stretch_value)

    def stretch_value(self, old: object) -> object:
        if isinstance(old, list) and old:
            # Modulo, since the list may be shorter in a replay than when `at` was drawn (law 1).
            at = self.at % len(old)
            # The element is written as text once, so that ten
            # thousand copies cost little more than one.
            piece = write_json(old[at])
            return old[:at] + [JsonNumber(piece)] * limit_times(self.times, piece) + old[at:]
        if isinstance(old, str):
            at = self.at % (len(old) + 1)
            return old[:at] + self.text * limit_times(self.times, quote_json(self.text)) + old[at:]
        return None


def limit_times(times: int, piece: str) -> int:
    return min(times, GROWN_BYTES_MAX // (len(piece.encode("utf-8", "surrogatepass")) + 1))


class Swap(ValueEdit):
    """Exchange the values at `path` and `other`, if neither contains the other."""

    other: str = string()

    def edit_reply(self, reply: str) -> str:
        path, other, held = self.path, self.other, dict(values(reply))
        # A value cannot be exchanged with a part of itself.
        if path not in held or other not in held or is_inside(path, other) or is_inside(other, path):
            return reply
        return write_json(held[""], {path: write_json(held[other]), other: write_json(held[path])})


def is_inside(path: str, other: str) -> bool:
    # "/a1" is not inside "/a".
    return (path + "/").startswith(other + "/")


# The values of a reply. A `JsonNumber` is written as its text, which an edit may have made any text at all.


def change_at(reply: str, path: str, change: Callable[[object], object]) -> str:
    """Change the value at `path`; return the reply unchanged if there is none or `change` returns None."""
    held = dict(values(reply))
    new = change(held[path]) if path in held else None
    if new is None:
        return reply
    whole = decode_at(reply, 0)
    return plain(new) if whole is None else write_json(whole, {path: write_json(new)})


def plain(new: object) -> str:
    """Return the new value of a reply that was no JSON: a text as it is, any other value as JSON."""
    text = new if isinstance(new, str) else decode_at(write_json(new), 0)
    return text if isinstance(text, str) else write_json(new)


def values(reply: str) -> list[tuple[str, object]]:
    """List every value of a reply with its path, outer ones first; a reply that is no JSON is one value."""
    whole = decode_at(reply, 0)
    return list(walk("", reply if whole is None else whole))


def walk(path: str, value: object) -> Iterator[tuple[str, object]]:
    yield path, value
    for step, member in members_of(value):
        yield from walk(f"{path}/{step}", member)


def members_of(value: object) -> Iterable[tuple[str, object]]:
    """Yield the members of a list or an object, each with the last step of its path."""
    if isinstance(value, dict):
        # Escaped as in a JSON pointer (RFC 6901): the tilde first, or the one in "~1" would be escaped again.
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

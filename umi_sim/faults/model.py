"""Faults of the model: no answer, a late or cut one, one that is malformed, wrong, or of another question."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Self

from umi_core import limits
from umi_core.json_text import JsonNumber, decode_at
from umi_core.messages.answers import ModelReplied
from umi_core.messages.effects import AskModel
from umi_sim.faults import edits, words
from umi_sim.faults.arguments import string, whole
from umi_sim.faults.declaration import FaultKind
from umi_sim.faults.draws import Draws
from umi_sim.faults.service import (
    AroundTimeout,
    Arrival,
    Fails,
    GoesAway,
    NoAnswer,
    RefusesForNow,
    Silent,
    TimesOut,
)
from umi_sim.services.calls import Handled, Later
from umi_sim.services.model.prompts import quote_json

VALUE_BYTES_MAX: Final = {
    "name": (limits.ENTITY_NAME_BYTES_MAX,), "reason": (limits.RELATION_REASON_BYTES_MAX,),
    "content": (limits.EXTRACT_CONTENT_BYTES_MAX, limits.REPLY_BYTES_MAX),
}  # fmt: skip
LETTERS: Final = ("x", 1), ("é", 2)  # with their sizes: a limit in bytes may fall inside a letter
ELEMENT_COUNT: Final = 10_000
REPEATS: Final = (1, 2, 9, 49)

# No answer, or not in time.


class ModelTimeout(TimesOut, at="model.ask", is_a="before", guards=("EXT-3", "STO-7")):
    """No answer is made; the failure comes before the memory's own time-out."""


class ModelReplyLost(Silent, at="model.ask", is_a="after", guards=("IDEM-1", "STO-7")):
    """The model answers, the answer is lost."""


class ModelRateLimited(RefusesForNow, at="model.ask", is_a="before", guards=("BND-1", "STO-7")):
    """Refused for now, with a time to wait."""


class ModelUnavailable(GoesAway, at="model.ask", is_a="window", guards=("EXT-3", "WF-1"), explored=True):
    """Every question fails for a while."""


class ModelOverflow(Fails, at="model.ask", is_a="before", guards=("WF-1", "EXT-3")):
    """A prompt that fits is called too long."""

    failure = "too_long"


class ModelSlow(AroundTimeout, at="model.ask", is_a="quirk", guards=("DET-4",)):
    """The true answer just before, at, just after or long after the time-out."""


# A malformed answer.


class ModelNonsense(NoAnswer, at="model.ask", is_a="shape", guards=("EXT-1", "WF-1"), explored=False):
    """The answer is no reply: no text, or an answer to another question."""


class Cut(edits.CutShort, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """A slow stream: the first part of the answer at the last moment."""

    def at_ms(self, call: Arrival[AskModel]) -> int:
        # One millisecond before the time-out of the memory.
        return max(call.now_ms, call.call.sent_ms + call.effect.timeout_ms - 1)


class Empty(edits.ReplaceBy, at="model.ask", is_a="shape", guards=("EXT-1", "WF-1")):
    """Nothing, blanks, null, {} or []."""

    news = words.EMPTY


class ModelRefusal(edits.Replace, at="model.ask", is_a="shape", guards=("EXT-1", "WF-1")):
    """A polite refusal."""

    @classmethod
    def options(cls, reply: str) -> edits.Options:
        """Return refusals, as plain text or inside the expected format."""
        form = "[{}]" if reply[:1] == "[" else '{{"entities":[{{"name":{}}}]}}'
        return edits.texts([*words.REFUSALS, *map(form.format, edits.quoted_each(words.REFUSALS))])


class Truncated(edits.CutShort, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """The answer stops in the middle."""


class WrongType(edits.Put, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """One value has another type."""

    @classmethod
    def options(cls, key: str, old: object) -> edits.Options:
        # A number as text: 7 becomes "7".
        as_text = [quote_json(old.text)] if isinstance(old, JsonNumber) else []
        return edits.jsons([new for new in (*as_text, *words.EXCHANGES) if new != edits.write_json(old)])


class MissingField(edits.Rekey, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """One key is gone, null or renamed."""

    @classmethod
    def instead(cls, key: str, old: object) -> Sequence[str]:
        name = quote_json(key)
        return (
            "",
            f"{name}:null",
            f"{quote_json(key.swapcase())}:{words.OLD}",
            f'{name}:{words.OLD},"extra":{words.OLD}',
        )


class DuplicateKey(edits.Rekey, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """One key twice, with different values."""

    @classmethod
    def instead(cls, key: str, old: object) -> Sequence[str]:
        other = '"Zed"' if isinstance(old, str) else "0.10" if isinstance(old, JsonNumber) else "null"
        first, second = f"{quote_json(key)}:{words.OLD}", f"{quote_json(key)}:{other}"
        return f"{first},{second}", f"{second},{first}"


class Prose(edits.WholeEdit, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """Prose or code fences around the answer."""

    before: str = string()
    after: str = string()

    @classmethod
    def options(cls, reply: str) -> edits.Options:
        """Return frames, and blanks that make the reply as long as its limit of bytes, or one byte longer."""
        left = max(0, limits.REPLY_BYTES_MAX - len(reply.encode("utf-8", "surrogatepass")))
        # Eight options with blanks, so that about a quarter of the draws test the limit.
        blanks = [("", " " * count) for count in (left, left + 1)] * 4
        return [{"before": before, "after": after} for before, after in (*words.FRAMES, *blanks)]

    def edit_reply(self, reply: str) -> str:
        return self.before + reply + self.after


class Reasoning(edits.WholeEdit, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """Reasoning with a draft in it stands before, between or behind the answer, or there is nothing else."""

    before: str = string()
    after: str = string()
    keep: int = whole()

    @classmethod
    def options(cls, reply: str) -> edits.Options:
        """Return drafts in the tags of several model families, together with the reply or alone."""
        draft = words.DRAFTS.get(reply[:1], words.DRAFTS[""])
        frames = [(before.format(draft), after.format(draft)) for before, after in words.REASONING]
        return [
            *({"before": before, "after": after, "keep": len(reply)} for before, after in frames),
            *({"before": before.format(draft), "after": "", "keep": 0} for before in words.ONLY_REASONING),
        ]

    def edit_reply(self, reply: str) -> str:
        return self.before + reply[: self.keep] + self.after


class Loose(edits.Replace, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """JSON as people write it: other quotes, last commas, raw line ends, an answer in a member or a text."""

    @classmethod
    def options(cls, reply: str) -> edits.Options:
        value = decode_at(reply, 0)
        if not isinstance(value, dict | list):
            return ()
        # The bare list of entities is a valid answer as well; a list of another answer is not.
        alone = (
            [edits.write_json(value["entities"])] if isinstance(value, dict) and "entities" in value else []
        )
        wrapped = [f'{{"result":{reply}}}', f'{{"result":{quote_json(reply)}}}']
        rewritten = [
            LOOSE_PART.sub(form, reply) for form in (in_other_quotes, add_comma, break_line, in_python)
        ]
        return edits.texts([*alone, *wrapped, *rewritten])


LOOSE_PART: Final = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"|true|false|null|(?<=[^\[{,])(?P<end>[\]}])')


def in_other_quotes(part: re.Match[str]) -> str:
    if part["text"] is None:
        return part[0]
    return "'" + part["text"].replace("'", "\\'") + "'"


def add_comma(part: re.Match[str]) -> str:
    return f",{part[0]}" if part["end"] else part[0]


def break_line(part: re.Match[str]) -> str:
    return part[0].replace(" ", "\n", 1) if part["text"] else part[0]


def in_python(part: re.Match[str]) -> str:
    return {"true": "True", "false": "False", "null": "None"}.get(part[0], part[0])


class TextDamage(edits.Stretch, at="model.ask", is_a="shape", guards=("EXT-1", "REN-1", "CAP-1")):
    """Broken characters in one value."""

    @classmethod
    def options(cls, key: str, old: object) -> edits.Options:
        # Beginning, middle and end. In an empty text all three are 0, hence the dict.
        spots = dict.fromkeys((0, len(old) // 2, len(old))) if isinstance(old, str) else {}
        return [{"at": at, "text": text, "times": times} for at in spots for text, times in words.DAMAGES]


class StrayBracket(edits.Splice, at="model.ask", is_a="shape", guards=("I-TOTAL-PARSER",)):
    """Markup in a content of XML that is not escaped, or an element that does not belong there."""

    @classmethod
    def options(cls, reply: str) -> edits.Options:
        inside = edits.splices(reply, "<content>", words.STRAYS, is_kept=True)
        return [*inside, *edits.splices(reply, "</memory>", words.ODD_PARTS, is_kept=False)]


class UnclosedTag(edits.Splice, at="model.ask", is_a="shape", guards=("I-TOTAL-PARSER",)):
    """An element of XML is not closed, and the next one begins."""

    @classmethod
    def options(cls, reply: str) -> edits.Options:
        ends = ("</content>", "</category>", "</name>", "</memory>")
        return [it for end in ends for it in edits.splices(reply, end, ("",), is_kept=False)]


class WrongLanguage(edits.Rekey, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """A value in another language."""

    @classmethod
    def instead(cls, key: str, old: object) -> Sequence[str]:
        """Return members with a value in another language; half of them also have a translated key."""
        if not isinstance(old, str):
            return [f"{quote_json(words.TRANSLATED[key])}:{words.OLD}"] if key in words.TRANSLATED else ()
        keys = (key, words.TRANSLATED.get(key, f"{key} (?)"))
        return [f"{quote_json(name)}:{quote_json(sentence)}" for name in keys for sentence in words.SENTENCES]


class Oversize(edits.Stretch, at="model.ask", is_a="shape", guards=("CAP-4", "EXT-1")):
    """Far too many elements, or one far too long."""

    @classmethod
    def options(cls, key: str, old: object) -> edits.Options:
        """Return options that make a text just longer than its limit, or a list far too long."""
        if not isinstance(old, str):
            return [{"at": 0, "times": ELEMENT_COUNT}] if isinstance(old, list) and old else ()
        size_bytes, limits_bytes = len(old.encode("utf-8", "surrogatepass")), VALUE_BYTES_MAX.get(key, ())
        rooms = [limit + 1 - size_bytes for limit in limits_bytes]
        return [
            # Rounded up: a room of one byte needs one letter of two bytes.
            {"at": 0, "text": it, "times": max(1, -(-room // size))}
            for room in rooms
            for it, size in LETTERS
        ]


class PartialCall(edits.WholeEdit, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """An unfinished tool call."""

    before: str = string()
    keep: int = whole()

    @classmethod
    def options(cls, reply: str) -> edits.Options:
        return [
            {"before": call, "keep": keep} for call in words.CALLS for keep in (len(reply), len(reply) // 2)
        ]

    def edit_reply(self, reply: str) -> str:
        return self.before + reply[: self.keep]


class TemplateEcho(edits.Replace, at="model.ask", is_a="shape", guards=("EXT-1", "EXT-2")):
    """The prompt's own template comes back."""

    @classmethod
    def options(cls, reply: str) -> edits.Options:
        is_decision = reply.startswith("<decision>")
        return edits.texts(words.OF_DECISIONS if is_decision else words.ECHOES[reply[:1] == "["])


# A well-formed answer that is wrong.


class UnknownId(edits.PutAt, at="model.ask", is_a="meaning", guards=("ROU-2", "EVO-1")):
    """A reference to something that never was."""

    keys, news = words.REFERENCES, edits.quoted_each(words.UNKNOWN_IDS)


class StaleId(edits.Json, at="model.ask", is_a="meaning", guards=("ROU-2", "STO-3")):
    """A reference to something that was forgotten."""

    @classmethod
    def draw_edit(cls, reply: str, draws: Draws, call: Arrival[AskModel]) -> edits.Drawn:
        graves = call.services.storage.graves
        ids = sorted({address.id: None for address in graves if address.kind == "entity"})
        return edits.at_a_place(reply, draws, partial(stale, ids))


def stale(ids: Sequence[str], key: str, old: object) -> edits.Options:
    """Return a reference to each of these ids in the form of the old reference."""
    # If the old one has a version, so has the new one: "ent_a@3" becomes "ent_b@1".
    news = edits.quoted_each([new + "@1" * ("@" in str(old)) for new in ids])
    return edits.jsons(news) if key in words.REFERENCES else ()


class Contradiction(edits.OtherWord, at="model.ask", is_a="meaning", guards=("EVO-2", "CORE-3")):
    """One fact negated, or with another value."""

    tables = words.VALUES


class Paraphrase(edits.Put, at="model.ask", is_a="meaning", guards=("EVO-2", "CORE-1")):
    """One fact again, in other words and spelling."""

    @classmethod
    def options(cls, key: str, old: object) -> edits.Options:
        """Return the row of a list twice, the second time in other words but with the same references."""
        # A decimal key means that `old` is an element of a list; only those can be repeated.
        if not isinstance(old, dict) or not key.isdecimal():
            return ()
        agains = ({key: in_other_words(key, each, form) for key, each in old.items()} for form in words.FORMS)
        return edits.jsons([f"{words.OLD},{edits.write_json(again)}" for again in agains])


def in_other_words(key: str, old: object, form: Mapping[int, str]) -> object:
    # References do not change, or the second row would be about another fact.
    if not isinstance(old, str) or key in ("entity_id", "new", "old"):
        return old
    if key not in ("content", "reason"):
        return old.translate(form)
    new = old
    for word, other in words.SYNONYMS:
        new = new.replace(word, other)
    return new


class Swapped(edits.Swap, at="model.ask", is_a="meaning", guards=("EVO-1",)):
    """Source and target exchanged."""

    @classmethod
    def options(cls, key: str, old: object) -> edits.Options:
        """Return edits of a list: exchange both ends of a row, or a field in which two rows differ."""
        rows = old if isinstance(old, list) else []
        ends = [
            (f"/{at}/{one}", f"/{at}/{two}")
            for at, row in enumerate(rows)
            for one, two in words.ENDS
            if isinstance(row, dict) and one in row and two in row
        ]
        half = (len(rows) + 1) // 2  # rows far apart, since neighbours are often about the same thing
        for at, (one, two) in enumerate(zip(rows, rows[half:], strict=False)):
            if isinstance(one, dict) and isinstance(two, dict):
                keys = [key for key in one if key in words.TRANSLATED and key in two and one[key] != two[key]]
                named = [key for key in keys if key in words.REFERENCES] or keys
                ends += [(f"/{at}/{key}", f"/{at + half}/{key}") for key in named]
        return [{"path": first, "other": second} for first, second in ends]


class WrongDate(edits.OtherWord, at="model.ask", is_a="meaning", guards=("EXT-1", "SCO-1")):
    """A day, a month or a year is another one."""

    tables = words.DATES


class NumberDrift(edits.Put, at="model.ask", is_a="meaning", guards=("EXT-1", "SCO-1")):
    """A number that is a little wrong."""

    @classmethod
    def options(cls, key: str, old: object) -> edits.Options:
        """Return the value with another first number: +1, -1, times ten, negated, or two digits swapped."""
        text = old.text if isinstance(old, JsonNumber) else old if isinstance(old, str) else ""
        match = NUMBER.search(text)
        drifts = drifts_of(match[0], len(match[2] or "")) if match else []
        news = [NUMBER.sub(new, text, count=1) for new in drifts]
        return edits.jsons(news if isinstance(old, JsonNumber) else edits.quoted_each(news))


NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})(?:\.([0-9]{1,18}))?(?![0-9])")


def drifts_of(number: str, places: int) -> list[str]:
    # For "0.90" n is 90 and one is 100, so plus one gives 1.90 and times ten 9.00.
    n, one = int(number.replace(".", "")), 10**places
    swapped = [number[:at] + number[at + 1] + number[at] + number[at + 2 :] for at in range(len(number) - 1)]
    news = [decimal(new, places) for new in (n + one, n - one, n * 10, -n)] + swapped
    return [new for new in news if new != number and NUMBER.fullmatch(new)]


def decimal(n: int, places: int) -> str:
    whole, part = divmod(abs(n), 10**places)
    return "-" * (n < 0) + str(whole) + (f".{part:0{places}}" if places else "")


class Injection(edits.Put, at="model.ask", is_a="meaning", guards=("REN-1", "EXT-4", "CORE-5")):
    """A value that tries to be markup, an order or a template."""

    @classmethod
    def options(cls, key: str, old: object) -> edits.Options:
        return edits.jsons(edits.quoted_each(words.INJECTIONS)) if isinstance(old, str) else ()


class Repeats(edits.Stretch, at="model.ask", is_a="meaning", guards=("ROU-1", "RET-1")):
    """Elements again and again."""

    @classmethod
    def options(cls, key: str, old: object) -> edits.Options:
        count = len(old) if isinstance(old, list) else 0
        return [{"at": at, "times": times} for at in range(count) for times in REPEATS]


class BadBlock(edits.PutAt, at="model.ask", is_a="meaning", guards=("CORE-5", "ROU-1")):
    """A route to system, to persona, or to a block that is none."""

    keys, news = ("block",), edits.quoted_each(words.BLOCKS)


class Overconfident(edits.PutAt, at="model.ask", is_a="meaning", guards=("SCO-1", "ROU-1")):
    """Confidence outside all bounds."""

    keys, news = ("confidence",), words.OVERCONFIDENT


class Varies(edits.Json, at="model.ask", is_a="meaning", guards=("IDEM-1", "STO-2")):
    """Asked again, it answers in another order or with less."""

    @classmethod
    def draw(cls, call: Arrival[AskModel], draws: Draws) -> Self | None:
        """Draw an edit only for a question that was asked before."""
        return super().draw(call, draws) if call.services.attempt(call.call) > 1 else None

    @classmethod
    def draw_edit(cls, reply: str, draws: Draws, call: Arrival[AskModel]) -> edits.Drawn:
        """Draw a list of the reply in reverse order, or without its first or last element."""
        lists = [(path, old) for path, old in edits.values(reply) if isinstance(old, list) and len(old) > 1]
        if not lists:
            return {}
        path, old = edits.one_of_all(draws, "place", lists)
        news = [new for new in (old[::-1], old[:-1], old[1:]) if new != old]
        return {"path": path, "json": edits.write_json(edits.one_of_all(draws, "option", news))}


class ModelMisdirected(FaultKind, at="model.ask", is_a="meaning", guards=("ISO-1", "ROU-2", "RES-2")):
    """The answer to an earlier question, perhaps of another agent."""

    text: str = string()

    @classmethod
    def draw(cls, call: Arrival[AskModel], draws: Draws) -> Self | None:
        text = call.services.last_text
        return cls(text=text) if text and text != edits.true_text(call) else None

    def apply(self, call: Arrival[AskModel]) -> Handled:
        return Later(ModelReplied(call.effect.request_id, self.text), call.now_ms)

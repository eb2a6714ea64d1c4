"""Content faults: how a model's reply goes wrong, as edits of a truthful one.

Law 1. `edit` is pure and total: any kind of the table, any reply, any arguments give a text.
Law 2. The arguments hold all that was drawn (places, counts, words), so a seed file replays from them alone.
Law 3. What an edit cannot change it returns as it was; the caller counts that as blunt.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from umi_core import limits
from umi_core.language.replies import Number
from umi_sim.faults.reply_edits import (
    INDEX,
    Args,
    cut,
    put,
    rekey,
    replace,
    stretch,
    swap,
    values,
    wrap,
    write_json,
)
from umi_sim.faults.words import (
    BLOCKS,
    CALLS,
    DAMAGES,
    DATES,
    ECHOES,
    EMPTY,
    ENDS,
    EXCHANGES,
    FORMS,
    FRAMES,
    INJECTIONS,
    OLD,
    OVERCONFIDENT,
    REFERENCES,
    REFUSALS,
    SENTENCES,
    SYNONYMS,
    TRANSLATED,
    UNKNOWN_IDS,
    VALUES,
)
from umi_sim.services.model.prompts import quoted

Drawn = dict[str, object]
Options = Sequence[Drawn]
Draw = Callable[[str], int]  # a whole number of 64 bits that belongs to the label
T = TypeVar("T")

VALUE_BYTES_MAX: Final = {
    "name": (limits.ENTITY_NAME_BYTES_MAX,), "reason": (limits.RELATION_REASON_BYTES_MAX,),
    "content": (limits.EXTRACT_CONTENT_BYTES_MAX, limits.REPLY_BYTES_MAX),
}  # fmt: skip
LETTERS: Final = ("x", 1), ("é", 2)
ELEMENT_COUNT: Final = 10_000
REPEATS: Final = (1, 2, 9, 49)


def edit(kind: str, reply: str, args: Args) -> str:
    """The reply as this kind of fault leaves it."""
    return KINDS[kind](reply, args)


def draw_args(kind: str, reply: str, draw: Draw) -> Drawn:
    """Where, how much and with which words this kind strikes the reply; empty if it cannot."""
    return DRAWERS[kind](reply, draw)


def pick(draw: Draw, label: str, options: Sequence[T]) -> T:
    return options[draw(label) % len(options)]


# Drawn for a whole reply: one of some arguments.


def whole(options: Callable[[str], Options]) -> Callable[[str, Draw], Drawn]:
    return lambda reply, draw: pick(draw, "option", options(reply))


def texts(options: Sequence[str]) -> list[Drawn]:
    return [{"text": text} for text in options]


def refusals(reply: str) -> list[Drawn]:
    """Bare, or inside the format."""
    form = "[{}]" if reply[:1] == "[" else '{{"entities":[{{"name":{}}}]}}'
    return texts([*REFUSALS, *(form.format(quoted(refusal)) for refusal in REFUSALS)])


def calls(reply: str) -> list[Drawn]:
    return [{"before": call, "keep": keep} for call in CALLS for keep in (len(reply), len(reply) // 2)]


def draw_truncated(reply: str, draw: Draw) -> Drawn:
    """Half of the cuts stand beside a bracket, a quote, a comma or a colon."""
    beside = [at + side for at, char in enumerate(reply) if char in '[]{}",:' for side in (0, 1)]
    anywhere = range(len(reply) + 1)
    return {"at": pick(draw, "at", beside if beside and draw("beside") % 2 else anywhere)}


# Drawn for a place: one of the values that has options, then one of them.


def places(options: Callable[[str, object], Options]) -> Callable[[str, Draw], Drawn]:
    """A drawer of arguments; `options` gets the last step of a path and the value there."""

    def drawer(reply: str, draw: Draw) -> Drawn:
        found = [
            (path, here) for path, old in values(reply) if (here := options(path.rpartition("/")[2], old))
        ]
        if not found:
            return {}
        path, here = pick(draw, "place", found)
        option = pick(draw, "option", here)
        below = {key: path + str(option[key]) for key in ("path", "other") if key in option}
        return {"path": path} | option | below

    return drawer


def exchanged(_: str, old: object) -> Options:
    as_text = [quoted(old.text)] if isinstance(old, Number) else []
    return [{"json": new} for new in (*as_text, *EXCHANGES) if new != write_json(old)]


def unknown_ids(key: str, _: object) -> Options:
    return [{"json": quoted(new)} for new in UNKNOWN_IDS] if key in REFERENCES else ()


def stale(ids: Sequence[str]) -> Callable[[str, object], Options]:
    """A reference becomes one of these ids, in the form that stood there."""
    return lambda key, old: [
        {"json": quoted(new + "@1" * ("@" in str(old)))} for new in ids if key in REFERENCES
    ]


def draw_varied(reply: str, draw: Draw) -> Drawn:
    """The same answer in another order, or without its last element."""
    lists = [(path, old) for path, old in values(reply) if isinstance(old, list) and len(old) > 1]
    if not lists:
        return {}
    path, old = pick(draw, "place", lists)
    news = [new for new in (old[::-1], old[:-1], old[1:]) if new != old]
    return {"path": path, "json": write_json(pick(draw, "option", news))}


def among(tables: Sequence[Sequence[str]]) -> Callable[[str, object], Options]:
    """In a text, a word of a table becomes another one of it."""

    def options(_: str, old: object) -> Options:
        text = old if isinstance(old, str) else ""
        pairs = [(word, new) for table in tables for word in table if word in text for new in table]
        return [{"json": quoted(text.replace(word, new))} for word, new in pairs if new != word]

    return options


def injections(_: str, old: object) -> Options:
    return [{"json": quoted(new)} for new in INJECTIONS] if isinstance(old, str) else ()


def misrouted(key: str, _: object) -> Options:
    return [{"json": quoted(new)} for new in BLOCKS] if key == "block" else ()


def overconfident(key: str, _: object) -> Options:
    return [{"json": new} for new in OVERCONFIDENT] if key == "confidence" else ()


def drifted(_: str, old: object) -> Options:
    """The first number plus one, less one, times ten, negated, or with two digits exchanged."""
    text = old.text if isinstance(old, Number) else old if isinstance(old, str) else ""
    match = NUMBER.search(text)
    drifts = drifts_of(match[0], len(match[2] or "")) if match else []
    news = [NUMBER.sub(new, text, count=1) for new in drifts]
    return [{"json": new if isinstance(old, Number) else quoted(new)} for new in news]


NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})(?:\.([0-9]{1,18}))?(?![0-9])")


def drifts_of(number: str, places: int) -> list[str]:
    n, one = int(number.replace(".", "")), 10**places
    swapped = [number[:at] + number[at + 1] + number[at] + number[at + 2 :] for at in range(len(number) - 1)]
    news = [decimal(new, places) for new in (n + one, n - one, n * 10, -n)] + swapped
    return [new for new in news if new != number and NUMBER.fullmatch(new)]


def decimal(n: int, places: int) -> str:
    digits = str(abs(n)).rjust(places + 1, "0")
    return (
        ("-" if n < 0 else "") + digits[: len(digits) - places] + ("." + digits[-places:] if places else "")
    )


def paraphrased(step: str, row: object) -> Options:
    """A row of a list and the same once more, in other words; its references stay."""
    if not isinstance(row, dict) or not INDEX.fullmatch(step):
        return ()
    agains = ({key: in_other_words(key, old, form) for key, old in row.items()} for form in FORMS)
    return [{"json": f"{OLD},{write_json(again)}"} for again in agains]


def in_other_words(key: str, old: object, form: Mapping[int, str]) -> object:
    if not isinstance(old, str) or key in ("entity_id", "new", "old"):
        return old
    if key not in ("content", "reason"):
        return old.translate(form)
    for words, others in SYNONYMS:
        old = old.replace(words, others)
    return old


def members(options: Callable[[str, object], Sequence[str]]) -> Callable[[str, object], Options]:
    """Options for an object: what may stand in place of each of its members."""

    def in_object(_: str, old: object) -> Options:
        found = old.items() if isinstance(old, dict) else ()
        return [{"key": key, "members": new} for key, member in found for new in options(key, member)]

    return in_object


def missing(key: str, _: object) -> Sequence[str]:
    name = quoted(key)
    return "", f"{name}:null", f"{quoted(key.swapcase())}:{OLD}", f'{name}:{OLD},"extra":{OLD}'


def doubled(key: str, old: object) -> Sequence[str]:
    other = '"Zed"' if isinstance(old, str) else "0.10" if isinstance(old, Number) else "null"
    first, second = f"{quoted(key)}:{OLD}", f"{quoted(key)}:{other}"
    return f"{first},{second}", f"{second},{first}"


def translated(key: str, old: object) -> Sequence[str]:
    """Half of them with a key in another language too."""
    if not isinstance(old, str):
        return [f"{quoted(TRANSLATED[key])}:{OLD}"] if key in TRANSLATED else ()
    keys = (key, TRANSLATED.get(key, f"{key} (?)"))
    return [f"{quoted(name)}:{quoted(sentence)}" for name in keys for sentence in SENTENCES]


def damaged(_: str, old: object) -> Options:
    spots = dict.fromkeys((0, len(old) // 2, len(old))) if isinstance(old, str) else {}
    return [{"at": at, "text": text, "times": times} for at in spots for text, times in DAMAGES]


def oversized(key: str, old: object) -> Options:
    """A text over its limit by as little as its letters allow, or very many elements."""
    if not isinstance(old, str):
        return [{"at": 0, "times": ELEMENT_COUNT}] if isinstance(old, list) and old else ()
    rooms = [limit + 1 - len(old.encode("utf-8", "surrogatepass")) for limit in VALUE_BYTES_MAX.get(key, ())]
    return [
        {"at": 0, "text": it, "times": max(1, -(-room // size))} for room in rooms for it, size in LETTERS
    ]


def repeated(_: str, old: object) -> Options:
    count = len(old) if isinstance(old, list) else 0
    return [{"at": at, "times": times} for at in range(count) for times in REPEATS]


def exchangeable(_: str, old: object) -> Options:
    """Of a list: both ends of a row, and the fields in which two rows differ."""
    rows = old if isinstance(old, list) else []
    ends = [
        (f"/{at}/{one}", f"/{at}/{two}")
        for at, row in enumerate(rows)
        for one, two in ENDS
        if isinstance(row, dict) and one in row and two in row
    ]
    half = (len(rows) + 1) // 2  # far apart: what stands side by side is often about the same
    for at, (one, two) in enumerate(zip(rows, rows[half:], strict=False)):
        if isinstance(one, dict) and isinstance(two, dict):
            keys = [key for key in one if key in TRANSLATED and key in two and one[key] != two[key]]
            named = [key for key in keys if key in REFERENCES] or keys
            ends += [(f"/{at}/{key}", f"/{at + half}/{key}") for key in named]
    return [{"path": first, "other": second} for first, second in ends]


# The registry, in its order: the family of each kind, and what draws its arguments.

ROWS: Final = (
    ("model_cut", cut, draw_truncated),
    ("model_empty", replace, whole(lambda _: texts(EMPTY))),
    ("model_refusal", replace, whole(refusals)),
    ("model_truncated", cut, draw_truncated),
    ("model_wrong_type", put, places(exchanged)),
    ("model_missing_field", rekey, places(members(missing))),
    ("model_duplicate_key", rekey, places(members(doubled))),
    ("model_prose", wrap, whole(lambda _: [{"before": before, "after": after} for before, after in FRAMES])),
    ("model_text_damage", stretch, places(damaged)),
    ("model_wrong_language", rekey, places(members(translated))),
    ("model_oversize", stretch, places(oversized)),
    ("model_partial_call", wrap, whole(calls)),
    ("model_template_echo", replace, whole(lambda reply: texts(ECHOES[reply[:1] == "["]))),
    ("model_unknown_id", put, places(unknown_ids)),
    ("model_stale_id", put, places(stale(()))),
    ("model_contradiction", put, places(among(VALUES))),
    ("model_paraphrase", put, places(paraphrased)),
    ("model_swapped", swap, places(exchangeable)),
    ("model_wrong_date", put, places(among(DATES))),
    ("model_number_drift", put, places(drifted)),
    ("model_injection", put, places(injections)),
    ("model_varies", put, draw_varied),
    ("model_repeats", stretch, places(repeated)),
    ("model_bad_block", put, places(misrouted)),
    ("model_overconfident", put, places(overconfident)),
)
KINDS: Final[dict[str, Callable[[str, Args], str]]] = {kind: family for kind, family, _ in ROWS}
DRAWERS: Final[dict[str, Callable[[str, Draw], Drawn]]] = {kind: drawer for kind, _, drawer in ROWS}

"""Texts that are memorized: lines, parts and captions, what speakers say of themselves, names of groups.

Law 1. Conversations are built from their form, as replies are, and spoilt as often. Law 2. A text is long or
has odd line ends far more often than one that somebody writes.
"""

from collections.abc import Sequence
from typing import Any, Final

from umi_core import conversations
from umi_core.config import Config
from umi_core.invariants import limits
from umi_core.invariants.broken import demand
from umi_core.language import keywords, segments
from umi_core.language.attribution import own_words
from umi_core.language.extraction import Extraction, parse_extraction
from umi_core.text import norm
from umi_sim.judge.invariants.readings import as_plain
from umi_sim.judge.plain import groups, parts
from umi_sim.judge.plain.attribution import with_speaker
from umi_sim.judge.plain.extraction import read_extraction
from umi_sim.judge.trials.replies import ENTITY, ODD, Written, rows, spoilt, written
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

TEXTS: Final = 4  # of each trial
MODALITIES: Final = ("conversation", "conversation", "conversation", "document", "text", "message")
ROLES: Final = ("user", "assistant", " user ", "", " ", "narrator", None, 7)
SAYINGS: Final = (
    "Alice likes tea.", "tea", "", " ", "one\ntwo", "one\r\n\r\ntwo\rthree", "日本。", "I like tea.",
    "x" * 300, "\ud800",
)  # fmt: skip
MOMENTS: Final = (None, 0, 1_700_000_000, "2026-11-23", True, {"text": "noon"}, ["a", 1], Written("1.50"))
LINES: Final = (
    "Alice likes tea.", "", " ", ".", "..", " . a", "No stop", "x" * 199 + "é", "é" * 101, "日本。茶.",
    "a.b.c", "\t tab", "# Head",
)  # fmt: skip
ENDS: Final = ("\n", "\n", "\r\n", "\r", "\f", "\n\n", "\r\r\n", "\x0b", "\u2028")
LONG: Final = ("x" * 7_999, "x" * limits.SEGMENT_BYTES_MAX, "é" * 4_001, "x" * 16_001)
OWN: Final = (
    "I like tea.", "My flat is in Lisbon.", "Alice likes tea.", "We moved.", "He said so.",
    "It is OUR house!",
    "Mine is red.", "Tell me.", "i agree", "Ich mag Tee.", "x" * limits.EXTRACT_CONTENT_BYTES_MAX + ".",
    "My " + "x" * (limits.EXTRACT_CONTENT_BYTES_MAX - 3),
    "I " + "y" * (limits.EXTRACT_CONTENT_BYTES_MAX - 19),
)  # fmt: skip
SPEAKERS: Final = ("Alice", " ALICE ", "Bob Stone", "Acme", "日本")
WORDS: Final = (
    "tea", "TEA", "Python", "python", "docker", "the", "and", "4711", "ab", "abc", "日", "日本",
    "rock-n-roll", "_", "snake_case", "Ǆ", "e\u0301t", "api",
)  # fmt: skip
FOUNDER: Final = "ent_0123456789"
TAKEN: Final = ("tea", "Tea-1", "tea_python", "python", "group_1")


def try_texts(draw: Stream, config: Config) -> None:
    for _ in range(TEXTS):
        check_lines(draw)
        check_parts(draw)
        check_speaker(draw, config)
        check_names(draw)


# Lines.


def message(draw: Stream) -> object:
    if draw.chance(1, 8):
        return draw.pick(ODD)
    told = {"role": draw.pick(ROLES), "content": content(draw), "created_at": draw.pick(MOMENTS)}
    return {name: value for name, value in told.items() if draw.chance(7, 8)}


def content(draw: Stream, depth: int = 0) -> object:
    luck = draw.below(8)
    if luck < 4 or depth == 2:
        return draw.pick(SAYINGS)
    if luck == 4:
        return {draw.pick(("text", "text", "said")): draw.pick((*SAYINGS, 7, None))}
    return [content(draw, depth + 1) for _ in range(draw.below(4))] if luck < 7 else draw.pick(ODD)


def conversation(draw: Stream) -> str:
    said: Any = [message(draw) for _ in range(draw.below(4))]
    name = draw.pick(("content", "messages", "turns"))
    told = written(draw.pick((said, said, {name: said}, {"messages": 7, "content": said})), draw)
    return draw.pick((told, told, told, f" \n{told}\t", spoilt(told, draw)))


def prose(draw: Stream) -> str:
    return "".join(draw.pick(LINES) + draw.pick(ENDS) for _ in range(draw.below(6))) + draw.pick(LINES)


def check_lines(draw: Stream) -> None:
    modality = draw.pick(MODALITIES)
    text = conversation(draw) if modality == "conversation" and draw.chance(7, 8) else prose(draw)
    text = text.encode(errors="replace").decode()  # nobody else is heard
    wanted, got = parts.lines_of(text, modality), conversations.NORMALISERS[modality](text).split("\n")
    demand(wanted == got, rules.TEXT_COVERED, f"the lines of {modality} {text!r}", wanted, got)
    bytes_max = parts.CAPTION_BYTES
    called, named = parts.caption(text), conversations.first_sentence(text, bytes_max)
    demand(called == named, rules.TEXT_COVERED, f"what {text!r} is found by", called, named)


def check_parts(draw: Stream) -> None:
    """Spans over all lines, which may be too long one by one or together."""
    lines = [
        draw.pick((*LINES, *LONG)) if draw.chance(1, 2) else draw.pick(LINES)
        for _ in range(draw.between(1, 7))
    ]
    starts = [0, *(at for at in range(1, len(lines)) if draw.chance(1, 2))]
    spans = tuple(zip(starts, [at - 1 for at in [*starts[1:], len(lines)]], strict=True))
    wanted = parts.parts_of(lines, starts)
    got = [it.text for it in segments.segments_of(lines, spans)]
    sizes = [len(it) for it in lines]
    demand(wanted == got, rules.TEXT_COVERED, f"the parts at {starts} of lines of {sizes}", wanted, got)
    count, window = draw.below(130), draw.pick((1, 2, 40))
    divided = tuple((at, min(count, at + window) - 1) for at in range(0, count, window))
    windows = segments.windows(count, window)
    demand(divided == windows, rules.TEXT_COVERED, f"{count} lines, {window} each", divided, windows)


# What somebody says of themselves.


def check_speaker(draw: Stream, config: Config) -> None:
    text = draw.pick((" ", "\n")).join(draw.pick(OWN) for _ in range(draw.between(1, 4)))
    reply = written({"entities": rows(draw, ENTITY), "relations": []}, draw)
    read = parse_extraction(reply, text, config)
    plainly = read_extraction(reply, text, config.extract_confidence_min_ppm)
    if not isinstance(read, Extraction) or plainly is None or isinstance(plainly, str):
        return
    speaker = draw.pick(SPEAKERS)
    wanted, got = with_speaker(plainly, text, speaker), as_plain(own_words(read, text, speaker))
    demand(wanted == got, rules.PARSER_TOTAL, f"what {speaker} says of themselves in {text!r}", wanted, got)


# Names of groups.


def check_names(draw: Stream) -> None:
    texts = [" ".join(draw.pick(WORDS) for _ in range(draw.below(7))) for _ in range(draw.between(1, 4))]
    wanted, got = groups.keywords_of(texts), keywords.keywords(texts)
    demand(wanted == got, rules.CLUSTER_MEMBERS, f"keywords of {texts}", wanted, got)
    long: Sequence[str] = (*draw.shuffle(wanted), *draw.pick(((), ("x" * 39,), ("é" * 21,))))
    called, named = (
        groups.name_without_model(long, FOUNDER),
        keywords.name_of(long, FOUNDER),
    )
    demand(called == named, rules.CLUSTER_MEMBERS, f"a name of {long}", called, named)
    taken, name = draw.subset(TAKEN, 1, 2), draw.pick((*TAKEN, "TEA", "docker"))
    free, found = groups.name_not_taken(name, taken), keywords.free_name(name, {norm(it) for it in taken})
    demand(free == found, rules.CLUSTER_MEMBERS, f"{name} beside {taken}", free, found)

"""Goal: texts that are memorized become lines, parts, captions, statements of a speaker and names of groups.

Conversations are built from their form and spoiled; lines are longer and end more oddly than people write.
"""

from typing import Any, Final

from tests.properties import hierarchy_reference as hierarchy
from tests.properties.extraction_reference import read_extraction, with_speaker
from tests.properties.laws import Draw, agree, law
from tests.properties.readings import as_plain
from tests.properties.replies import ENTITY, ODD, Written, rows, spoiled, written
from umi_core import conversations, limits
from umi_core.config import Config
from umi_core.language import keywords, segments
from umi_core.language.extraction import Extraction, own_words, parse_extraction
from umi_core.text import norm

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
LONG: Final = (
    "Tea. " * 41,
    "日本。 " * 39,
    "y" * 7_990 + "! a. b.",
    "Mr. x" * 60,
    "x" * 7_999,
    "x" * limits.SEGMENT_BYTES_MAX,
    "é" * 4_001,
    "x" * 16_001,
)


def content(draw: Draw, depth: int = 0) -> object:
    kind = draw.pick(("text", "text", "parts", "said", "odd")) if depth < 2 else "text"
    match kind:
        case "text":
            return draw.pick(SAYINGS)
        case "said":
            return {draw.pick(("text", "text", "said")): draw.pick((*SAYINGS, 7, None))}
        case "parts":
            return draw.many(lambda draw: content(draw, depth + 1), 0, 3)
    return draw.pick(ODD)


def message(draw: Draw) -> object:
    if draw.chance(1, 8):
        return draw.pick(ODD)
    if draw.chance(1, 8):
        return other_form(draw)
    given = {"role": draw.pick(ROLES), "content": content(draw), "created_at": draw.pick(MOMENTS)}
    return {name: value for name, value in given.items() if not draw.chance(1, 8)}


def other_form(draw: Draw) -> object:
    """Draw a message as another program writes it."""
    text = draw.pick(SAYINGS)
    return draw.pick((
        {"role": "model", "parts": [{"text": text}]}, {"speaker": "Ann", "text": text},
        {"type": "human", "data": {"content": text}, "created_at": draw.pick(MOMENTS)},
        {"role": "user", "content": [text, {"type": "image", "url": "x"}, {"type": "odd"}]},
        {"role": "user", "content": [{"type": "tool_use", "name": "note", "input": {"text": "tea"}}]},
    ))  # fmt: skip


def conversation(draw: Draw) -> str:
    messages: Any = draw.many(message, 0, 3)
    if draw.chance(1, 8):
        return "\n".join(written(it, draw).replace("\n", " ") for it in messages)
    name = draw.pick(("content", "messages", "turns"))
    form = draw.pick((messages, messages, {name: messages}, {"messages": 7, "content": messages}))
    text = written(form, draw)
    return draw.pick((text, text, text, f" \n{text}\t", spoiled(text, draw)))


def prose(draw: Draw) -> str:
    ended = draw.many(lambda draw: draw.pick(LINES) + draw.pick(ENDS), 0, 5)
    return "".join(ended) + draw.pick(LINES)


def texts(draw: Draw) -> tuple[str, str]:
    modality = draw.pick(("conversation", "conversation", "document", "text", "message"))
    text = (conversation if modality == "conversation" and draw.chance(7, 8) else prose)(draw)
    return text.encode(errors="replace").decode(), modality


@law(texts, examples=300)
def test_a_text_has_the_lines_and_the_caption_of_its_modality(text: str, modality: str) -> None:
    # What is no strict JSON is none to a judge; test_chats.py has what is read of it all the same.
    if modality != "conversation" or not text.strip() or hierarchy.read_conversation(text) is not None:
        assert hierarchy.lines_of(text, modality) == conversations.NORMALISERS[modality](text).split("\n")
    assert hierarchy.caption(text) == conversations.first_sentence(text, hierarchy.CAPTION_BYTES)


def divided(draw: Draw) -> tuple[list[str], list[int]]:
    """Draw lines, too long one by one or together, and where parts begin."""
    lines = draw.many(lambda draw: draw.pick(draw.pick((LINES, (*LINES, *LONG)))), 1, 7)
    return lines, [0, *draw.subset(range(1, len(lines)))]


@law(divided)
def test_parts_cover_all_lines(lines: list[str], starts: list[int]) -> None:
    spans = tuple(zip(starts, [at - 1 for at in [*starts[1:], len(lines)]], strict=True))
    assert hierarchy.parts_of(lines, starts) == [it.text for it in segments.segments_of(lines, spans)]


def test_windows_cover_all_lines() -> None:
    for count in range(130):
        for window in (1, 2, 40):
            spans = tuple((at, min(count, at + window) - 1) for at in range(0, count, window))
            assert segments.windows(count, window) == spans


# Statements of a speaker about themselves.

OWN: Final = (
    "I like tea.", "My flat is in Lisbon.", "Alice likes tea.", "We moved.", "He said so.",
    "It is OUR house!", "Mine is red.", "Tell me.", "i agree", "Ich mag Tee.",
    "x" * limits.EXTRACT_CONTENT_BYTES_MAX + ".", "My " + "x" * (limits.EXTRACT_CONTENT_BYTES_MAX - 3),
    "I " + "y" * (limits.EXTRACT_CONTENT_BYTES_MAX - 19),
)  # fmt: skip
SPEAKERS: Final = ("Alice", " ALICE ", "Bob Stone", "Acme", "日本")


def spoken(draw: Draw) -> tuple[str, str, str]:
    text = draw.pick((" ", "\n")).join(draw.many(lambda draw: draw.pick(OWN), 1, 4))
    return written({"entities": rows(draw, ENTITY), "relations": []}, draw), text, draw.pick(SPEAKERS)


@law(spoken)
def test_what_speakers_say_of_themselves_is_theirs(reply: str, text: str, speaker: str) -> None:
    config = Config()
    read = parse_extraction(reply, text, config)
    plainly = read_extraction(reply, text, config.extract_confidence_min_ppm)
    if isinstance(read, Extraction):
        assert plainly is not None
        assert not isinstance(plainly, str)
        assert with_speaker(plainly, text, speaker) == as_plain(own_words(read, text, speaker))


# Names of groups.

WORDS: Final = (
    "tea", "TEA", "Python", "python", "docker", "the", "and", "4711", "ab", "abc", "日", "日本",
    "rock-n-roll", "_", "snake_case", "Ǆ", "e\u0301t", "api",
)  # fmt: skip
TAKEN: Final = ("tea", "Tea-1", "tea_python", "python", "group_1")


def contents(draw: Draw) -> tuple[list[str]]:
    return (draw.many(lambda draw: " ".join(draw.many(lambda draw: draw.pick(WORDS), 0, 6)), 1, 4),)


def named(draw: Draw) -> tuple[list[str], str]:
    long = draw.pick(((), ("x" * 39,), ("é" * 21,)))
    return [*draw.subset(WORDS, 1, 4), *long], "ent_0123456789"


test_keywords_of_texts = agree(keywords.keywords, hierarchy.keywords_of, contents)
test_a_group_is_named_by_its_keywords = agree(keywords.name_of, hierarchy.name_without_model, named)


@law(lambda draw: (draw.pick((*TAKEN, "TEA", "docker")), draw.subset(TAKEN)))
def test_a_name_that_is_taken_gets_a_number(name: str, taken: list[str]) -> None:
    assert hierarchy.name_not_taken(name, taken) == keywords.free_name(name, {norm(it) for it in taken})

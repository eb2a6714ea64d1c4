"""Replies that no fault makes: of each task some that are nearly right, with one thing or another spoilt.

Law 1. A reply is built from its form: lists of rows whose fields mostly hold what fits, and else anything;
then it is wrapped, cut, or spoilt somewhere. Law 2. Who reads it is as in a run: both readers, all of it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from umi_core.config import Config
from umi_core.invariants import limits
from umi_core.values import BLOCK_KINDS, ENTITY_TYPES, EVOLUTION_KINDS, LINK_KINDS
from umi_sim.judge.invariants.readings import Question, check_read
from umi_sim.kernel.prng import Stream


class Written(str):
    """JSON that is put as it is."""


REPLIES: Final = 40  # of each run
LONG: Final = "1" * limits.JSON_NUMBER_CHARS_MAX
NAMES: Final = (
    "Alice", "ALICE", " alice\t", "Bob Stone", "Acme", "she", "You and me", "", " ", "日本", "e\u0301",
    "a\x07b", "x" * limits.ENTITY_NAME_BYTES_MAX, "é" * limits.ENTITY_NAME_BYTES_MAX, "\ud800", "tea",
)  # fmt: skip
CONTENTS: Final = (
    "Alice likes tea.", "Alice likes tea. ", "Bob Stone works at Acme.", "", " \n", "日本", "\ud800",
    "x" * limits.EXTRACT_CONTENT_BYTES_MAX, "é" * limits.EXTRACT_CONTENT_BYTES_MAX, "ONE FACT, AS A SENTENCE",
)  # fmt: skip
LINED: Final = "\n".join(f"line {n}" for n in range(12))
TEXTS: Final = (
    "Alice likes tea. Bob Stone works at Acme.", "He said so.", "日本。Bob?",
    "No name here! None at all.", "x",
    "Alice likes tea.\n\n- rope\n- salt\nDr. Stone met Bob.",
)  # fmt: skip
NUMBERS: Final = (
    "0", "1", "1.0", "0.5", "0.8", "0.79999999", "0.6", "0.9", "0.95", "5e-1", "9E-1", "-0", "-0.0", "-0.1",
    "1.0000001", "100e-2", "10e-1", "1e-400", "1e999", "0e999", f"0.{LONG[2:]}", "1e-7",
)  # fmt: skip
NO_JSON: Final = ("NaN", f"0.{LONG[1:]}", "01", "1.")
ODD: Final[tuple[object, ...]] = (
    None, True, False, "", "0.9", 7, [], {}, ["x"], {"name": "Alice"}, "no", Written("NaN"),
    Written("-Infinity"),
)  # fmt: skip
TYPES: Final = (*ENTITY_TYPES, "Person", " TASK ", "org", "place", "meeting", "thing", "")
KINDS: Final = (*LINK_KINDS, "Works_At", "likes", "")
CHANGES: Final = (*EVOLUTION_KINDS, "none", "UPDATE", " none ", "replace")
REASONS: Final = ("so it is", "", "é" * limits.RELATION_REASON_BYTES_MAX, "x" * 201, "é" * 100)
ASKED: Final = (("ent_1", "person"), ("ent_2", "self"), ("ent_3", "note"), ("ent_4", "task"))
IDS: Final = (*(key for key, _ in ASKED), "ent_1", "ent_9", "")
NEW: Final = ("n1@1", "n2@1")
OLD: Final = ("o1@1", "o2@3")
PAIRS: Final = tuple((new, old) for new in NEW for old in OLD)
BLOCKS: Final = (*BLOCK_KINDS, "Human", " goals ", "attic")
ALIASES: Final = ("c1", "c2", "c3", "c4", "c5", "c6", "c0", "c1 ", "C1")
QUERIES: Final = ("What does Alice like?", "tea", "Who is it?")
VARIANTS: Final = (
    *QUERIES,
    "what  does alice LIKE?",
    "TEA",
    "",
    " ",
    "x" * limits.QUERY_BYTES_MAX,
    "é" * 5_001,
)
LINES: Final = (
    "0", "0", "1", "1", "2", "3", "4", "5", "5", "7", "8", "9", "10", "11", "12", "40", "-1",
    "-3", "2.0", "2.5",
    "1e1", '"4"', '" 7.00 "', '"x"', "1234567890",
)  # fmt: skip
ODDLY: Final = 16  # one field in so many holds anything at all


def written(value: Any, draw: Stream) -> str:
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, list):
        return "[" + draw.pick((",", ", ", "\n,")).join(written(it, draw) for it in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(it, draw)}" for key, it in value.items()) + "}"
    return json.dumps(value, ensure_ascii=draw.chance(1, 2))


def row(draw: Stream, fields: Mapping[str, Sequence[object]]) -> object:
    """An object with these fields, each mostly with one of its values."""
    if draw.chance(1, ODDLY):
        return draw.pick(ODD)
    told: dict[str, object] = {}
    for name, values in fields.items():
        if not draw.chance(1, ODDLY):
            told[name] = draw.pick(ODD) if draw.chance(1, ODDLY) else draw.pick(values)
    return told


def rows(draw: Stream, fields: Mapping[str, Sequence[object]]) -> list[object]:
    count = draw.pick((0, 1, 2, 3, 5)) if draw.chance(15, 16) else draw.pick((49, 50, 51, 101))
    return [row(draw, fields) for _ in range(count)]


SURE: Final = tuple(map(Written, NUMBERS * 6 + NO_JSON))
ENTITY: Final = {"name": NAMES, "type": TYPES, "content": CONTENTS, "confidence": SURE}
LINK: Final = {"source": NAMES, "target": NAMES, "type": KINDS, "confidence": SURE}
ROUTE: Final = {
    "entity_id": IDS, "block": BLOCKS, "promote": (True, False), "confidence": SURE, "reason": REASONS,
}  # fmt: skip
VERDICT: Final = {"new": NEW, "old": OLD, "type": CHANGES, "confidence": SURE, "reason": REASONS}
SPAN: Final = {"start": tuple(map(Written, LINES)), "end": tuple(map(Written, LINES))}


def extracted(draw: Stream) -> object:
    named = rows(draw, ENTITY)
    known = [it["name"] for it in named if isinstance(it, dict) and "name" in it] or NAMES
    ends = (*NAMES, *known * 9)
    told: dict[str, object] = {
        "entities": named,
        "relations": rows(draw, {**LINK, "source": ends, "target": ends}),
    }
    if draw.chance(1, ODDLY):
        told[draw.pick(tuple(told))] = draw.pick(ODD)
    return told


def segmented(draw: Stream) -> object:
    spans = rows(draw, SPAN)
    return {"segments": spans} if draw.chance(3, 4) else spans


def ranked(draw: Stream) -> object:
    ids = [draw.pick(ODD if draw.chance(1, ODDLY) else ALIASES) for _ in range(draw.below(6))]
    return {"ids": ids} if draw.chance(3, 4) else ids


def asked_again(draw: Stream) -> object:
    return [draw.pick(ODD if draw.chance(1, ODDLY) else VARIANTS) for _ in range(draw.below(6))]


AS_JSON: Final[Mapping[str, Callable[[Stream], object]]] = {
    "extract": extracted,
    "route": lambda draw: rows(draw, ROUTE),
    "evolve": lambda draw: rows(draw, VERDICT),
    "expand": asked_again,
    "segment": segmented,
    "rank": ranked,
}
TAGS: Final[Mapping[str, Sequence[str]]] = {
    "memories": ("item", "memory", "content", "name", "categories", "category", "b"),
    "decide_need": ("decision", "rewritten_query", "DECISION"),
    "decide_enough": ("decision", "rewritten_query", "b"),
    "summarise_category": ("summary", "Summary", "b"),
    "reflect": ("summary", "b"),
    "describe_image": ("content", "caption", "CAPTION", "b"),
    "transcribe_audio": ("content", "caption"),
    "describe_video": ("content", "caption"),
    "name_subcategory": ("b",),
}
INSIDE: Final = (
    *CONTENTS, "Bob", *("RETRIEVE", "no_retrieve", " NO RETRIEVE.", "retrieve", "No-Retrieve!") * 3,
    "facts", "skills, facts;Rules\n", "{query}",
    "&amp;", "&#65;", "&#x41;", "&#0;", "&#xd800;", "&#1114112;", "&lt", "&nbsp;", "<", ">",
    "<!-- x -->", "<!--",
    "<![CDATA[<b>]]>", "<![CDATA[", "<!DOCTYPE x>", "<!DOCTYPE x [y]>", "\x07", "\r\n", "\n",
    "```\nx\n```", "```",
    "Name: tea_and_rope", '"tea"', "the_tea 2 rope", "Python docker", "x" * limits.SUMMARY_BYTES_MAX,
    "é" * limits.SUMMARY_BYTES_MAX, "One. Two!", "日本。x",
    "x " * limits.SUMMARY_BYTES_MAX,
)  # fmt: skip


def tagged(draw: Stream, names: Sequence[str], depth: int = 0) -> str:
    """Texts and tags, mostly closed in their order."""
    told = ""
    for _ in range(draw.below(5)):
        if depth == 3 or draw.chance(2, 5):
            told += draw.pick(INSIDE)
            continue
        name = draw.pick(names)
        begin = draw.pick((f"<{name}>",) * 6 + (f"<{name.upper()} a='1'>", f"<{name}/>", ""))
        end = draw.pick((f"</{name}>",) * 8 + (f"</{name} >", ""))
        told += begin + tagged(draw, names, depth + 1) + end
    return told


# What an answer to `memories` is made of: a drawn nest of tags is seldom one.
PARTS: Final = (
    "<name>{}</name>", "<content>{}</content>", "<content>{}</content>", "<content>{}", "<content/>",
    "<categories>{}</categories>", "<categories><category>{}</category></categories>",
    "<category>{}</category>",
    "<category>{}", "<categories>{}", "<name>{}",
)  # fmt: skip


def memories(draw: Stream) -> str:
    told = ""
    for _ in range(draw.pick((1, 1, 2, 3)) if draw.chance(31, 32) else 51):
        parts = [draw.pick(PARTS).replace("{}", inside(draw)) for _ in range(draw.between(1, 4))]
        stray = draw.pick(PARTS).replace("{}", inside(draw)) if draw.chance(1, 4) else ""
        told += "<item><memory>" + "".join(parts) + draw.pick(("</memory>",) * 7 + ("",)) + stray + "</item>"
    return told


def inside(draw: Stream) -> str:
    return "".join(draw.pick(INSIDE) for _ in range(draw.pick((1, 1, 2, 3))))


AROUND: Final = ("", "", "", "Sure! {} [1] [] ", "```json\n", '{"result": ', "[", "{", '"', "[{}, ")
BEHIND: Final = ("", "", "", "\n```", "}", "]", ' [2] {"x": 1}', "\ud800")
PUT: Final = (
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "<",
    ">",
    "/",
    "\n",
    "0",
    "-",
    "\ud800",
    "\\ud800",
    "`",
)


def spoilt(reply: str, draw: Stream) -> str:
    """Something before and behind it, a piece less, or a character more."""
    reply = draw.pick(AROUND) + reply + draw.pick(BEHIND)
    at = draw.below(len(reply) + 1)
    return draw.pick(
        (reply, reply[:at], reply[:at] + reply[at + 1 :], reply[:at] + draw.pick(PUT) + reply[at:])
    )


def well_formed(draw: Stream, names: Sequence[str]) -> str:
    """Each tag at most once or twice, in any order, with one thing in it: what a model mostly writes."""
    told = ""
    for name in draw.shuffle(draw.pick((names[:1], names[:2], names[:2], (*names[:2], names[0])))):
        spelling = draw.pick((name,) * 6 + (name.upper(), name.capitalize()))
        told += f"<{spelling}>{draw.pick(INSIDE)}</{spelling}>" + draw.pick(("", "", "\n", "so "))
    return told


def reply_to(task: str, draw: Stream) -> str:
    if task in AS_JSON:
        reply = written(AS_JSON[task](draw), draw)
    elif task == "memories" and draw.chance(3, 4):
        reply = memories(draw)
    else:
        reply = (well_formed if draw.chance(1, 2) else tagged)(draw, TAGS[task])
    return spoilt(reply, draw) if draw.chance(1, 3) else reply


def try_replies(draw: Stream, config: Config) -> None:
    for _ in range(REPLIES):
        task = draw.pick((*AS_JSON, *TAGS, *("memories",) * 5))  # of which most can go wrong
        asked = Question(
            text=LINED if task == "segment" else draw.pick(TEXTS), query=draw.pick(QUERIES),
            entities=ASKED, pairs=PAIRS,
            candidates=ALIASES[: draw.below(6)], count=draw.between(1, 4),
        )  # fmt: skip
        check_read(task, reply_to(task, draw), asked, config)

"""Replies of models: of each task some that are nearly right, spoiled in one place or another."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tests.properties.laws import Draw
from tests.properties.readings import PromptSubject
from umi_core import limits
from umi_core.values import BLOCK_KINDS, ENTITY_TYPES, EVOLUTION_KINDS


class Written(str):
    """A piece of JSON that stands in a reply as it is."""


def written_all(*pieces: str) -> tuple[Written, ...]:
    return tuple(map(Written, pieces))


NINES: Final = "1" * limits.JSON_NUMBER_CHARS_MAX
NAMES: Final = (
    "Alice", "ALICE", " alice\t", "Bob Stone", "Acme", "she", "You and me", "", " ", "日本", "e\u0301",
    "a\x07b", "x" * limits.ENTITY_NAME_BYTES_MAX, "é" * limits.ENTITY_NAME_BYTES_MAX, "\ud800", "tea",
)  # fmt: skip
CONTENTS: Final = (
    "Alice likes tea.", "Alice likes tea. ", "Bob Stone works at Acme.", "", " \n", "日本", "\ud800",
    "x" * limits.EXTRACT_CONTENT_BYTES_MAX, "é" * limits.EXTRACT_CONTENT_BYTES_MAX,
    "ONE FACT, AS A SENTENCE",
)  # fmt: skip
TEXTS: Final = (
    "Alice likes tea. Bob Stone works at Acme.", "He said so.", "日本。Bob?",
    "No name here! None at all.", "x", "Alice likes tea.\n\n- rope\n- salt\nDr. Stone met Bob.",
)  # fmt: skip
LINED: Final = "\n".join(f"line {n}" for n in range(12))
NUMBERS: Final = (
    "0", "1", "1.0", "0.5", "0.8", "0.79999999", "0.6", "0.9", "0.95", "5e-1", "9E-1", "-0", "-0.0",
    "-0.1", "1.0000001", "100e-2", "10e-1", "1e-400", "1e999", "0e999", f"0.{NINES[2:]}", "1e-7",
)  # fmt: skip
SURE: Final = written_all(*NUMBERS * 6, "NaN", f"0.{NINES[1:]}", "01", "1.")
ODD: Final[tuple[object, ...]] = (
    None, True, False, "", "0.9", 7, [], {}, ["x"], {"name": "Alice"}, "no",
    *written_all("NaN", "-Infinity"),
)  # fmt: skip
REASONS: Final = ("so it is", "", "é" * limits.RELATION_REASON_BYTES_MAX, "x" * 201, "é" * 100)
ASKED: Final = (("ent_1", "person"), ("ent_2", "self"), ("ent_3", "note"), ("ent_4", "task"))
PAIRS: Final = tuple((new, old) for new in ("n1@1", "n2@1") for old in ("o1@1", "o2@3"))
ALIASES: Final = ("c1", "c2", "c3", "c4", "c5", "c6", "c0", "c1 ", "C1")
QUERIES: Final = ("What does Alice like?", "tea", "Who is it?")
LINES: Final = written_all(
    "0", "0", "1", "1", "2", "3", "4", "5", "5", "7", "8", "9", "10", "11", "12", "40", "-1", "-3",
    "2.0", "2.5", "1e1", '"4"', '" 7.00 "', '"x"', "1234567890",
)  # fmt: skip
VARIANTS: Final = (
    *QUERIES, "what  does alice LIKE?", "TEA", "", " ", "x" * limits.QUERY_BYTES_MAX, "é" * 5_001,
)  # fmt: skip
Fields = Mapping[str, Sequence[object]]
ENTITY: Final[Fields] = {
    "name": NAMES, "type": (*ENTITY_TYPES, "Person", " TASK ", "org", "place", "meeting", "thing", ""),
    "content": CONTENTS, "confidence": SURE,
}  # fmt: skip
LINK: Final[Fields] = {
    "source": NAMES, "target": NAMES, "confidence": SURE,
    "type": ("works_at", "part of", "Works_At", "_", 7, ""),
}  # fmt: skip
ROUTE: Final[Fields] = {
    "entity_id": (*(key for key, _ in ASKED), "ent_1", "ent_9", ""),
    "block": (*BLOCK_KINDS, "Human", " goals ", "attic"), "promote": (True, False), "confidence": SURE,
    "reason": REASONS,
}  # fmt: skip
VERDICT: Final[Fields] = {
    "new": ("n1@1", "n2@1"), "old": ("o1@1", "o2@3"),
    "type": (*EVOLUTION_KINDS, "none", "UPDATE", " none ", "replace"), "confidence": SURE,
    "reason": REASONS,
}  # fmt: skip
ODDLY: Final = 16  # one field in so many holds a value of ODD


def mostly(draw: Draw, values: Sequence[object]) -> object:
    return draw.pick(ODD if draw.chance(1, ODDLY) else values)


def row(draw: Draw, fields: Fields) -> object:
    """Draw an object with these fields, each mostly with one of its values."""
    if draw.chance(1, ODDLY):
        return draw.pick(ODD)
    return {name: mostly(draw, it) for name, it in fields.items() if not draw.chance(1, ODDLY)}


def rows(draw: Draw, fields: Fields) -> list[object]:
    if draw.chance(1, 2 * ODDLY):  # as many as a reply may have, by repeating one
        return [row(draw, fields)] * draw.pick((49, 50, 51, 101))
    return draw.many(lambda draw: row(draw, fields), 0, 4)


def extracted(draw: Draw) -> object:
    entities = rows(draw, ENTITY)
    known = [it["name"] for it in entities if isinstance(it, dict) and "name" in it] or NAMES
    ends = (*NAMES, *known * 9)
    links = rows(draw, {**LINK, "source": ends, "target": ends})
    return {"entities": mostly(draw, [entities]), "relations": mostly(draw, [links])}


def wrapped_or_not(draw: Draw, name: str, items: list[object]) -> object:
    return {name: items} if draw.chance(3, 4) else items


AS_JSON: Final[Mapping[str, Callable[[Draw], object]]] = {
    "extract": extracted,
    "route": lambda draw: rows(draw, ROUTE),
    "evolve": lambda draw: rows(draw, VERDICT),
    "expand": lambda draw: draw.many(lambda draw: mostly(draw, VARIANTS), 0, 5),
    "segment": lambda draw: wrapped_or_not(draw, "segments", rows(draw, {"start": LINES, "end": LINES})),
    "rank": lambda draw: wrapped_or_not(draw, "ids", draw.many(lambda draw: mostly(draw, ALIASES), 0, 5)),
}


def written(value: Any, draw: Draw) -> str:
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, list):
        return "[" + draw.pick((", ", ",", "\n,")).join(written(it, draw) for it in value) + "]"
    if isinstance(value, dict):
        members = (f"{json.dumps(key)}: {written(it, draw)}" for key, it in value.items())
        return "{" + ", ".join(members) + "}"
    return json.dumps(value, ensure_ascii=draw.chance(1, 2))


# Replies in tags.

TAGS: Final[Mapping[str, Sequence[str]]] = {
    "memories": ("item", "memory", "content", "name", "categories", "category", "b"),
    "decide_need": ("decision", "rewritten_query", "DECISION"),
    "decide_enough": ("decision", "rewritten_query", "b"),
    "summarise_category": ("summary", "Summary", "b"), "reflect": ("summary", "b"),
    "describe_image": ("content", "caption", "CAPTION", "b"),
    "transcribe_audio": ("content", "caption"), "describe_video": ("content", "caption"),
    "name_subcategory": ("b",),
}  # fmt: skip
INSIDE: Final = (
    *CONTENTS, "Bob",
    *("RETRIEVE", "no_retrieve", " NO RETRIEVE.", "retrieve", "No-Retrieve!") * 3,
    "facts", "skills, facts;Rules\n", "{query}", "&amp;", "&#65;", "&#x41;", "&#0;", "&#xd800;",
    "&#1114112;", "&lt", "&nbsp;", "<", ">", "<!-- x -->", "<!--", "<![CDATA[<b>]]>", "<![CDATA[",
    "<!DOCTYPE x>", "<!DOCTYPE x [y]>", "\x07", "\r\n", "\n", "```\nx\n```", "```",
    "Name: tea_and_rope", '"tea"', "the_tea 2 rope", "Python docker", "x" * limits.SUMMARY_BYTES_MAX,
    "é" * limits.SUMMARY_BYTES_MAX, "One. Two!", "日本。x", "x " * limits.SUMMARY_BYTES_MAX,
)  # fmt: skip
PARTS: Final = (  # of an answer to `memories`, which a drawn nest of tags seldom is
    "<name>{}</name>", "<content>{}</content>", "<content>{}</content>", "<content>{}", "<content/>",
    "<categories>{}</categories>", "<categories><category>{}</category></categories>",
    "<category>{}</category>", "<category>{}", "<categories>{}", "<name>{}",
)  # fmt: skip


def nested(draw: Draw, names: Sequence[str], depth: int = 0) -> str:
    """Draw texts and tags, mostly closed in their order."""
    found = ""
    for _ in range(draw.below(5)):
        if depth == 3 or draw.chance(2, 5):
            found += draw.pick(INSIDE)
            continue
        name = draw.pick(names)
        begin = draw.pick((f"<{name}>",) * 6 + (f"<{name.upper()} a='1'>", f"<{name}/>", ""))
        end = draw.pick((f"</{name}>",) * 8 + (f"</{name} >", ""))
        found += begin + nested(draw, names, depth + 1) + end
    return found


def well_formed(draw: Draw, names: Sequence[str]) -> str:
    """Draw each tag at most once or twice, in any order, with one text in it."""
    found = ""
    for name in draw.shuffle(draw.pick((names[:1], names[:2], names[:2], (*names[:2], names[0])))):
        spelled = draw.pick((name,) * 6 + (name.upper(), name.capitalize()))
        found += f"<{spelled}>{draw.pick(INSIDE)}</{spelled}>" + draw.pick(("", "", "\n", "so "))
    return found


def part(draw: Draw) -> str:
    return draw.pick(PARTS).replace("{}", "".join(draw.many(lambda draw: draw.pick(INSIDE), 1, 3)))


def memories(draw: Draw) -> str:
    found = ""
    for _ in range(draw.between(1, 3)):
        stray = part(draw) if draw.chance(1, 4) else ""
        end = draw.pick(("</memory>",) * 7 + ("",))
        found += "<item><memory>" + "".join(draw.many(part, 1, 4)) + end + stray + "</item>"
    return found * (17 if draw.chance(1, 32) else 1)


# All of them.

BEFORE: Final = ("", "", "", "Sure! {} [1] [] ", "```json\n", '{"result": ', "[", "{", '"', "[{}, ")
BEHIND: Final = ("", "", "", "\n```", "}", "]", ' [2] {"x": 1}', "\ud800")
PUT: Final[tuple[str, ...]] = (*'"{}[],:\\<>/\n0-\ud800`', "\\ud800")


def spoiled(reply: str, draw: Draw) -> str:
    """Add something before and behind, and cut the reply, leave a character out or put one in."""
    reply = draw.pick(BEFORE) + reply + draw.pick(BEHIND)
    at = draw.below(len(reply) + 1)
    put = reply[:at] + draw.pick(PUT) + reply[at:]
    return draw.pick((reply, reply[:at], reply[:at] + reply[at + 1 :], put))


def loosened(reply: str, draw: Draw) -> str:
    """Write JSON as people do, or as the text of another value."""
    forms = (
        reply.replace('"', "'"), reply.replace("]", ",]").replace("}", ",}"), reply.replace(" ", "\n"),
        reply.replace("true", "True").replace("null", "None"), reply.replace("a", "\\a"), json.dumps(reply),
        json.dumps({"result": reply}), reply.replace('"', "'", draw.below(6)),
    )  # fmt: skip
    return draw.pick(forms)


def reply_to(task: str, draw: Draw) -> str:
    if task in AS_JSON:
        reply = written(AS_JSON[task](draw), draw)
        reply = loosened(reply, draw) if draw.chance(1, 4) else reply
    elif task == "memories" and draw.chance(3, 4):
        reply = memories(draw)
    else:
        reply = (well_formed if draw.chance(1, 2) else nested)(draw, TAGS[task])
    return spoiled(reply, draw) if draw.chance(1, 3) else reply


def asked_and_answered(draw: Draw, tasks: Sequence[str]) -> tuple[str, str, PromptSubject]:
    task = draw.pick(tasks)
    asked = PromptSubject(
        text=LINED if task == "segment" else draw.pick(TEXTS), query=draw.pick(QUERIES),
        entities=ASKED, pairs=PAIRS, candidates=ALIASES[: draw.below(6)], count=draw.between(1, 4),
    )  # fmt: skip
    return task, reply_to(task, draw), asked

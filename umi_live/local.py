"""What answers when no model is named: rules for simple English sentences, and a hash of words as embedding.

Neither understands anything. They are here so that a memory works at once, without a network and a key.

Law 1. Pure: the same question has the same answer, on every machine.
Law 2. Of a sentence of another form than the rules know, nothing is made up: it is kept as a note.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final
from xml.sax.saxutils import escape

import attrs

from umi_core.language.extraction import sentences
from umi_core.language.words import content, words
from umi_core.limits import COMPONENT_MAX
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.values import DESCRIBED_BY
from umi_live.services import ServiceFailed

DIMS: Final = 256
PARTS_COUNT_MAX: Final = 16_384  # parts of words of which the component is kept
NOTE_NAME_CHARS: Final = 60
NAME: Final = r"[^\W\d_a-z]\w*(?: [^\W\d_a-z]\w*)*"  # words that begin with no small letter
TURN: Final = re.compile(r"\[\d+\] (?:\S+ )?\[(?P<role>[^\]]*)\]: (?P<text>.*)")  # a line of a conversation
ONE_AT_A_TIME: Final = ("works_at", "located_in")  # a new one takes the place of the old one
SUMMARY_BYTES: Final = 1_900  # what a summary may have, and some room for its tags
Json = dict[str, Any]


@attrs.frozen
class Cue:
    """What may stand behind the name that a sentence begins with, and what the sentence is then about."""

    words: str
    memory_type: str = "profile"
    link: str = ""  # to the name behind the words
    kind: str = ""  # the type of that name
    category: str = "facts"

    def match(self, sentence: str) -> re.Match[str] | None:
        return re.match(rf"({NAME}) (?:now )?(?:{self.words})\b(?: ({NAME}))?", sentence)


CUES: Final = (
    Cue("works at|works for|work at|work for|joined", link="works_at", kind="organization"),
    Cue("lives in|live in|moved to|is from|am from", link="located_in", kind="location"),
    Cue("knows|know|met|is married to", link="knows", kind="person"),
    Cue(
        "likes|like|loves|love|prefers|prefer|hates|hate|is allergic to|am allergic to",
        category="preferences",
    ),
    Cue("can", "skill", category="skills"),
    Cue("is|am|has|have"),
)


@attrs.frozen
class Told:
    """What a rule reads in a sentence: about whom it is, by which cue, and the name that it links to."""

    name: str
    cue: Cue
    other: str


class RuleModel:
    """Answers every task in the form that it asks for, but for those about what is no text."""

    name = "rules"

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        return self.ask_at_once(task, prompt)

    def ask_at_once(self, task: str, prompt: str) -> str:
        if task in DESCRIBED_BY.values():
            raise ServiceFailed("refused", 0, "rules read texts, and no image, audio or video")
        answer = ANSWERS.get(task)
        return "[]" if answer is None else answer(inputs_of(prompt))

    async def close(self) -> None:
        """There is nothing to close."""


class HashEmbedder:
    """Texts that share words, or parts of words, have vectors that are close."""

    name, dims = f"hash-{DIMS}", DIMS

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        return self.embed_at_once(texts)

    def embed_at_once(self, texts: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(hashed(text) for text in texts)

    async def close(self) -> None:
        """There is nothing to close."""


def hashed(text: str) -> tuple[int, ...]:
    sums = dict[int, int]()
    for part in parts(text):
        place, sign = placed(part)
        sums[place] = sums.get(place, 0) + sign
    peak = max(map(abs, sums.values()), default=0) or 1
    components = [0] * DIMS
    for place, it in (sums if any(sums.values()) else {0: 1}).items():
        components[place] = int(COMPONENT_MAX * it / peak)
    return tuple(components)


@lru_cache(maxsize=PARTS_COUNT_MAX)
def placed(part: str) -> tuple[int, int]:
    """Which component a part of a word adds to, and whether 1 or -1."""
    number = int.from_bytes(blake2b(part.encode(), digest_size=4).digest())
    return number // 2 % DIMS, 1 if number % 2 else -1


def parts(text: str) -> Iterator[str]:
    """The words that say something, twice, and all runs of three letters in them."""
    told = words(text)
    for word in content(told) or told:
        yield from (word, f"{word} again")
        edged = f"<{word}>"
        yield from (edged[at : at + 3] for at in range(len(edged) - 2))


def inputs_of(prompt: str) -> Json:
    lines = [line.removeprefix("INPUT ").split(" = ", 1) for line in prompt.split("\n") if "INPUT " in line]
    return {name: json.loads(value) for name, value in (line for line in lines if len(line) == 2)}


# Tasks.


def extract(given: Json) -> str:
    """Names that a sentence begins with, and what the sentence says of them."""
    entities, relations = list[Json](), list[Json]()
    rest = list[str]()
    for sentence in sentences(given["text"]):
        found = told(sentence)
        name = found and (given.get("speaker") if found.name == "I" else found.name)
        if not found or not name:
            rest.append(sentence)
            continue
        entities.append(entity(name, "person", sentence))
        if found.other:
            entities.append(entity(found.other, found.cue.kind, sentence))
            relations.append({"source": name, "target": found.other, "type": found.cue.link, "confidence": 1})
    if entities:
        entities += [entity(sentence[:NOTE_NAME_CHARS], "note", sentence) for sentence in rest]
    return json.dumps({"entities": entities, "relations": relations})


def told(sentence: str) -> Told | None:
    """None if no rule fits."""
    for cue in CUES:
        found = cue.match(sentence)
        if found:
            return Told(found[1], cue, found[2] if cue.link and found[2] else "")
    return None


def entity(name: str, kind: str, sentence: str) -> Json:
    return {"name": name, "type": kind, "content": sentence, "confidence": 1}


def evolve(given: Json) -> str:
    """A new employer or place takes the place of the old one; of all else both hold."""
    stated = {it["ref"]: it for it in (*given["new"], *given["old"])}
    return json.dumps([verdict(pair, stated[pair["new"]], stated[pair["old"]]) for pair in given["pairs"]])


def verdict(pair: Json, new: Json, old: Json) -> Json:
    link, before = [link_of(it) for it in (new, old)]
    kind = "update" if link is not None and link == before else "none"
    return {**pair, "type": kind, "confidence": 1, "reason": "a rule"}


def link_of(statement: Json) -> tuple[str, str] | None:
    """Return whose link a statement states, and which, if there is one at a time."""
    found = told(statement["content"])
    if not found or not found.other or found.cue.link not in ONE_AT_A_TIME:
        return None
    return (statement["name"] if found.name == "I" else found.name), found.cue.link


def route(given: Json) -> str:
    return json.dumps([
        {"entity_id": it["entity_id"], "block": BLOCK_OF_TYPE[it["type"]], "promote": it["type"] == "self",
         "confidence": 1, "reason": "a rule"}
        for it in given["entities"]
    ])  # fmt: skip


def rewrite(given: Json) -> str:
    return str(given["query"])


def memories(given: Json) -> str:
    """The sentences of one memory type, each about the name that it begins with."""
    found = [(sentence, told(sentence)) for sentence in said(given["text"])]
    of_type = [(text, it) for text, it in found if it and it.cue.memory_type == given["memory_type"]]
    return f"<item>{''.join(memory(text, it) for text, it in of_type)}</item>"


def said(text: str) -> Iterator[str]:
    """Its sentences; of a conversation those of its users, without the numbers and roles of its lines."""
    turns = [TURN.match(line) for line in text.split("\n")]
    if not all(turns):
        yield from sentences(text)
    for turn in turns:
        if turn and turn["role"] == "user":
            yield from sentences(turn["text"])


def memory(sentence: str, found: Told) -> str:
    name = "" if found.name == "I" else f"<name>{escape(found.name)}</name>"
    category = f"<categories><category>{found.cue.category}</category></categories>"
    return f"<memory>{name}<content>{escape(sentence)}</content>{category}</memory>"


def segment(given: Json) -> str:
    """One part: who has no model cannot tell where another thing begins."""
    return json.dumps({"segments": [{"start": 0, "end": given["text"].count("\n")}]})


def summarise_category(given: Json) -> str:
    """The facts as they are, each once, as many as there is room for."""
    facts = [it["content"].replace("\n", " ") for it in given["facts"]]
    return summary([*given.get("summary", "").split("\n"), *facts])


def reflect(given: Json) -> str:
    """The first sentence of each text."""
    return summary([it for text in given["texts"] for it in list(sentences(text))[:1]])


def summary(lines: list[str]) -> str:
    room, kept = SUMMARY_BYTES, list[str]()
    for line in dict.fromkeys(line for line in lines if line):
        room -= len(line.encode()) + 1
        if room >= 0:
            kept.append(line)
    return "<summary>" + "\n".join(kept) + "</summary>"


def name_subcategory(given: Json) -> str:
    """The words that the facts have most in common."""
    return " ".join(given["keywords"][:2])


def rank(given: Json) -> str:
    """An empty list would say that nothing is of use; without an answer scores put it in order."""
    return ""


TASKS: Final = (
    extract, evolve, route, rewrite, memories, segment, summarise_category, reflect, name_subcategory, rank,
)  # fmt: skip
ANSWERS: Final = {task.__name__: task for task in TASKS}

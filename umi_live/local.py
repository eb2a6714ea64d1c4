"""What answers when no model is named: rules for simple English sentences, and a hash of words as embedding.

Neither understands anything. They are here so that a memory works at once, without a network and a key.

Law 1. Pure: the same question has the same answer, on every machine.
Law 2. Of a sentence of another form than the rules know, nothing is made up: it is kept as a note.
"""

import json
import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

from umi_core.language.coverage import sentences
from umi_core.language.words import content, words
from umi_core.limits import COMPONENT_MAX
from umi_core.policies.routing import BLOCK_OF_TYPE

DIMS: Final = 256
NOTE_NAME_CHARS: Final = 60
NAME: Final = r"[^\W\d_a-z]\w*(?: [^\W\d_a-z]\w*)*"  # words that begin with no small letter
CUES: Final = (  # kind of link, type of the name behind it, what stands between the names
    ("works_at", "organization", "works at|works for|work at|work for|joined"),
    ("located_in", "location", "lives in|live in|moved to|is from|am from"),
    ("knows", "person", "knows|know|met|is married to"),
    ("", "", "likes|like|loves|love|prefers|prefer|hates|hate|is allergic to|am allergic to|is|am|has|have"),
)
ONE_AT_A_TIME: Final = ("works_at", "located_in")  # a new one takes the place of the old one
SENTENCE: Final = tuple(
    (link, kind, re.compile(rf"({NAME}) (?:now )?(?:{cue})\b(?: ({NAME}))?")) for link, kind, cue in CUES
)
Json = dict[str, Any]


class RuleModel:
    """Answers every task in the form that it asks for."""

    name = "rules"

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        answer = ANSWERS.get(task)
        return "[]" if answer is None else answer(inputs_of(prompt))

    async def close(self) -> None:
        """There is nothing to close."""


class HashEmbedder:
    """Texts that share words, or parts of words, have vectors that are close."""

    name, dims = f"hash-{DIMS}", DIMS

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        return tuple(hashed(text) for text in texts)

    async def close(self) -> None:
        """There is nothing to close."""


def hashed(text: str) -> tuple[int, ...]:
    sums = [0] * DIMS
    for part in parts(text):
        number = int.from_bytes(blake2b(part.encode(), digest_size=4).digest())
        sums[number // 2 % DIMS] += 1 if number % 2 else -1
    peak = max(map(abs, sums))
    return tuple(int(COMPONENT_MAX * it / peak) for it in sums) if peak else (COMPONENT_MAX, *sums[1:])


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
        speaker = given.get("speaker")
        name = speaker if found and found[0] == "I" else found and found[0]
        if not found or not name or name == "I":
            rest.append(sentence)
            continue
        entities.append(entity(name, "person", sentence))
        if found[2] and found[1]:
            entities.append(entity(found[3], found[2], sentence))
            relations.append({"source": name, "target": found[3], "type": found[1], "confidence": 1})
    if entities:
        entities += [entity(sentence[:NOTE_NAME_CHARS], "note", sentence) for sentence in rest]
    return json.dumps({"entities": entities, "relations": relations})


def told(sentence: str) -> tuple[str, str, str, str] | None:
    """The name, the kind of link, the type of the other name, the other name; None if no rule fits."""
    for link, kind, form in SENTENCE:
        found = form.match(sentence)
        if found:
            other = found[2] if link else None
            return (found[1], link if other else "", kind if other else "", other or "")
    return None


def entity(name: str, kind: str, sentence: str) -> Json:
    return {"name": name, "type": kind, "content": sentence, "confidence": 1}


def evolve(given: Json) -> str:
    """Of one name, a new employer or place replaces an old one that stands alone; all else adds."""
    stated = {it["ref"]: it for it in (*given["new"], *given["old"])}
    return json.dumps([verdict(pair, stated[pair["new"]], stated[pair["old"]]) for pair in given["pairs"]])


def verdict(pair: Json, new: Json, old: Json) -> Json:
    kind = "none"
    if new["ref"].split("@")[0] == old["ref"].split("@")[0]:
        cue, before = [found[1] if (found := told(it["content"])) else "" for it in (new, old)]
        is_alone = "\n" not in old["content"]
        kind = "update" if is_alone and cue == before and cue in ONE_AT_A_TIME else "extend"
    return {**pair, "type": kind, "confidence": 1, "reason": "a rule"}


def route(given: Json) -> str:
    return json.dumps([
        {"entity_id": it["entity_id"], "block": BLOCK_OF_TYPE[it["type"]], "promote": it["type"] == "self",
         "confidence": 1, "reason": "a rule"}
        for it in given["entities"]
    ])  # fmt: skip


def rewrite(given: Json) -> str:
    return str(given["query"])


ANSWERS: Final = {"extract": extract, "evolve": evolve, "route": route, "rewrite": rewrite}

"""The default model and embedder: rules for simple English sentences, and hashes of words as vectors.

Neither understands language. They let a memory work immediately, without a network and an API key.

Law 1. Pure: the same question has the same answer on every machine.
Law 2. A sentence whose form the rules do not know is stored as a note; nothing is invented.
"""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final
from xml.sax.saxutils import escape

from umi_core.language.dates import drop_dates
from umi_core.language.extraction import telling
from umi_core.language.sentences import sentences
from umi_core.language.words import content, words
from umi_core.limits import (
    COMPONENT_MAX,
    EXTRACT_CONTENT_BYTES_MAX,
    EXTRACT_ENTITY_COUNT_MAX,
    EXTRACT_SENTENCE_COUNT_MAX,
    REPLY_BYTES_MAX,
)
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.text import cut, size
from umi_core.values import DESCRIBED_BY, Turn
from umi_live.changes import AttributeClaims, claims_of, ends, find_shared_names
from umi_live.concepts import concepts_of
from umi_live.english import UNHEARD_ROLES
from umi_live.phrases import GREETINGS
from umi_live.questions import list_wordings
from umi_live.references import resolve_plainly
from umi_live.rules import RuleStatement, SpeakerTurn, read
from umi_live.services import ServiceFailed

DIMS: Final = 256
CONCEPT_WEIGHT: Final = 5  # a part of a word has weight 1
PARTS_COUNT_MAX: Final = 16_384  # parts of words whose components are cached
TURN: Final = re.compile(r"(?P<at>\[\d+\] )?(?:[^\[\]]+ )?\[(?P<role>[^\]]*)\]: (?P<text>.*)")
FILE_MARK: Final = re.compile(
    # "[image]", "[file: my letter.pdf]", "[image: https://e.org/a.png]"; no caption: "[image: a red boat]"
    r"\[(?:image|audio|video|file|attachment)(?:: (?:[^\[\]]*\.\w{1,5}|[^\s\[\]]+))?\]\s*"
)
OTHER_TYPES: Final = ("event", "knowledge")  # memory types of sentences that the rules cannot read
NOTHING: Final = '{"entities": [], "relations": []}'
JSON_WORDS: Final = ("null", "true", "false")  # a text with only such a word states nothing
SUMMARY_BYTES: Final = 1_900  # the limit of a summary, minus some room for its tags
Json = dict[str, Any]


class RuleModel:
    """Answers every task in the required form. Raises ServiceFailed for images, audio and video."""

    name = "rules"

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        return self.ask_at_once(task, prompt)

    def ask_at_once(self, task: str, prompt: str) -> str:
        if task in DESCRIBED_BY.values():
            raise ServiceFailed("refused", 0, "rules read texts, and no image, audio or video")
        answer, given = ANSWERS.get(task), inputs_of(prompt)
        return "[]" if answer is None else answer(given if task == "rewrite" else drop_input_dates(given))

    async def close(self) -> None:
        """There is nothing to close."""


class HashEmbedder:
    """Embeds texts so that those with common words, parts of words or concepts have similar vectors."""

    name, dims = f"hash-{DIMS}", DIMS

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        return self.embed_at_once(texts)

    def embed_at_once(self, texts: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(hash_text(text) for text in texts)

    async def close(self) -> None:
        """There is nothing to close."""


def hash_text(text: str) -> tuple[int, ...]:
    sums = dict[int, int]()
    for part in list_parts(text):
        index, sign = hash_part(part)
        sums[index] = sums.get(index, 0) + sign
    for concept in concepts_of(text):
        for index, sign in map(hash_part, (f"{concept} \n", f"{concept} \n again")):  # equals no word
            sums[index] = sums.get(index, 0) + CONCEPT_WEIGHT * sign
    peak = max(map(abs, sums.values()), default=0) or 1
    components = [0] * DIMS
    # A text without words, or whose parts cancel out, still needs a vector other than zero.
    for index, it in (sums if any(sums.values()) else {0: 1}).items():
        components[index] = int(COMPONENT_MAX * it / peak)
    return tuple(components)


@lru_cache(maxsize=PARTS_COUNT_MAX)
def hash_part(part: str) -> tuple[int, int]:
    """Return the index of the component to which a part of a word adds, and 1 or -1 as its sign."""
    number = int.from_bytes(blake2b(part.encode(), digest_size=4).digest())
    return number // 2 % DIMS, 1 if number % 2 else -1


def list_parts(text: str) -> Iterator[str]:
    """Yield each content word of a text in two forms, and all runs of three letters in it."""
    spoken = words(text)
    for word in content(spoken) or spoken:
        # Two hashes for a whole word: it weighs more than a run of
        # letters, and a collision of one hash does less harm.
        yield from (word, f"{word} again")
        # cat -> <ca, cat, at>: < and > mark the beginning and the end of a word.
        edged = f"<{word}>"
        yield from (edged[at : at + 3] for at in range(len(edged) - 2))


def inputs_of(prompt: str) -> Json:
    lines = [line.removeprefix("INPUT ").split(" = ", 1) for line in prompt.split("\n") if "INPUT " in line]
    return {name: json.loads(value) for name, value in (line for line in lines if len(line) == 2)}


def drop_input_dates(value: Any) -> Any:  # any JSON
    """Return the inputs without dates in their texts, since the memory itself adds them to the answer.

    Also removes a byte order mark, which would become part of a name.
    """
    match value:
        case str():
            return drop_dates(value.removeprefix("\ufeff"))
        case list():
            return [drop_input_dates(it) for it in value]
        case dict():
            return {name: drop_input_dates(it) for name, it in value.items()}
    return value


# Tasks.


def extract(given: Json) -> str:
    """Return names with the sentences about each, and all other sentences as notes without a name.

    If the answer is too long, the names with the fewest sentences are left out, except that of the speaker;
    then the shortest elements, whose sentences the memory itself stores as notes and counts.
    """
    turn, speaker = SpeakerTurn("", sentences(given["text"])), given.get("speaker")
    statements = [it for it in read([turn], speaker, given.get("user")) if is_statement(it)]
    # With a speaker, notes are listed too, or the memory would take "What do I like?" for a statement.
    if not statements or not (speaker or any(it.names for it in statements)):
        return NOTHING
    counts = Counter(name for it in statements for name, _ in it.names)
    names = sorted(counts, key=lambda name: (name != speaker, -counts[name]))

    def list_few(count: int) -> list[Json]:
        return list_entities(statements, {*names[:count]})

    # Leave out as few names as possible; the sentences about the others become notes.
    left_out = bisect_left(range(len(names) + 1), True, key=lambda it: is_room(list_few(len(names) - it)))
    if left_out <= len(names):
        return write_entities(list_few(len(names) - left_out))
    entities = sorted(list_few(len(names)), key=lambda it: -len(it["content"]))[:EXTRACT_ENTITY_COUNT_MAX]
    while not is_room(entities):
        entities.pop()
    return write_entities(entities)


def is_statement(it: RuleStatement) -> bool:
    """Return whether a sentence states something: "I am 30" does, even without a content word; `null` not."""
    if it.sentence in JSON_WORDS:
        return False
    return bool(telling(it.sentence)) or (it.cue is not None and any(map(str.isdecimal, it.sentence)))


def is_room(entities: list[Json]) -> bool:
    return len(entities) <= EXTRACT_ENTITY_COUNT_MAX and size(write_entities(entities)) <= REPLY_BYTES_MAX


def write_entities(entities: list[Json]) -> str:
    return json.dumps({"entities": entities, "relations": []}, ensure_ascii=False)


def list_entities(statements: Iterable[RuleStatement], listed: set[str]) -> list[Json]:
    """Return the names in `listed`, and the notes, as elements of an answer."""
    types, stated = dict[str, str](), dict[str, list[str]]()
    for statement in statements:
        for name, kind in [it for it in statement.names if it[0] in listed] or [("", "note")]:
            # `topic` means that the type is unknown, so a later
            # sentence may replace it; else the first one decides.
            types[name] = kind if types.get(name, "topic") == "topic" else types[name]
            stated.setdefault(name, []).extend(cut_sentence(statement.sentence))
    return [
        {"name": name, "type": types[name], "content": content, "confidence": 1}
        for name, contents in stated.items()
        for content in pack_contents(contents)
    ]


def pack_contents(contents: Iterable[str]) -> Iterator[str]:
    """Yield the sentences joined to contents, each as long as the limits of a content allow."""
    some = list[str]()
    for sentence in contents:
        is_long = size("\n".join((*some, sentence))) > EXTRACT_CONTENT_BYTES_MAX
        if is_long or len(some) == EXTRACT_SENTENCE_COUNT_MAX:
            yield "\n".join(some)
            some = []
        some.append(sentence)
    yield "\n".join(some)


def cut_sentence(sentence: str) -> Iterator[str]:
    """Yield a sentence, cut into parts if it is too long for a content: between words if possible."""
    while size(sentence) > EXTRACT_CONTENT_BYTES_MAX:
        head = cut(sentence, EXTRACT_CONTENT_BYTES_MAX)
        head = head.rpartition(" ")[0].rstrip() or head
        yield head
        sentence = sentence[len(head) :].lstrip()
    yield sentence


def evolve(given: Json) -> str:
    """Return a verdict for each pair: `update` if the new statement leaves nothing of the old one true."""
    claims = {
        it["ref"]: claims_of(it["name"], it["content"], it.get("happened", it["told"])[:4])
        for it in (*given["new"], *given["old"])
    }
    shared = find_shared_names(claims.values())
    return json.dumps([
        verdict(pair, claims[pair["new"]], claims[pair["old"]], shared) for pair in given["pairs"]
    ])  # fmt: skip


def verdict(pair: Json, new: AttributeClaims, old: AttributeClaims, shared: set[str]) -> Json:
    # "Ann moved to Rome" may be about my sister Ann or my boss Ann.
    is_clear = new.subject not in shared or new.relation == old.relation
    is_over = is_clear and ends(new, old)
    return {**pair, "type": "update" if is_over else "none", "confidence": 1, "reason": "a rule"}


def route(given: Json) -> str:
    return json.dumps([
        {"entity_id": it["entity_id"], "block": BLOCK_OF_TYPE[it["type"]], "promote": it["type"] == "self",
         "confidence": 1, "reason": "a rule"}
        for it in given["entities"]
    ])  # fmt: skip


def rewrite(given: Json) -> str:
    turns = tuple(Turn(turn["role"], turn["text"]) for turn in given["turns"])
    return resolve_plainly(given["query"], turns)


def expand(given: Json) -> str:
    """Return further words for finding the answer to a question."""
    return json.dumps([*list_wordings(given["query"])], ensure_ascii=False)


def memories(given: Json) -> str:
    """Return the sentences of one memory type, each under its names; a sentence that the rules cannot read is
    an event or knowledge, without a name."""
    wanted = given["memory_type"]
    statements = read(turns_of(given["text"]), given.get("user"))
    found = [it for it in statements if is_statement(it) and not is_greeting(it.sentence)]
    of_type = [it for it in found if wanted in (it.cue.memory_types if it.cue else OTHER_TYPES)]
    # Each sentence gets at least one memory; further names of a sentence get the room that is left.
    room, blocks = EXTRACT_ENTITY_COUNT_MAX - len(of_type), list[str]()
    for statement in of_type:
        names = [name for name, _ in statement.names] or [""]
        names = names[: 1 + max(0, room)]
        room -= len(names) - 1
        category = category_of(statement, given["categories"])
        blocks += (memory(name, it, category) for name in names for it in cut_sentence(statement.sentence))
    return f"<item>{''.join(blocks)}</item>"


def is_greeting(sentence: str) -> bool:
    """Return whether a sentence only greets or thanks."""
    return GREETINGS.issuperset(words(sentence))


def category_of(it: RuleStatement, listed: list[Json]) -> str:
    """Return the category of the cue or, if it is not listed, the listed one that shares most words with the
    sentence. Empty if none shares a word, or without a cue: the memory then takes its default."""
    if it.cue is None or any(one["name"] == it.cue.category for one in listed):
        return it.cue.category if it.cue else ""
    spoken = {*content(words(it.sentence))}
    counts = [
        (len(spoken.intersection(words(f"{one['name']} {one['about']}"))), one["name"]) for one in listed
    ]
    count, name = max(counts, key=lambda one: one[0], default=(0, ""))
    return name if count else ""


def memory(name: str, content: str, category: str) -> str:
    name_line = f"<name>{escape(name)}</name>" if name else ""
    listed = f"<categories><category>{escape(category)}</category></categories>" if category else ""
    return f"<memory>{name_line}<content>{escape(content)}</content>{listed}</memory>"


def turns_of(text: str) -> Iterator[SpeakerTurn]:
    """Yield the turns of a conversation, without numbers and without turns of assistants and other programs.

    Marks of files such as `[image: a.png]` are removed. A text that is no conversation is one turn.
    """
    lines, role = text.split("\n"), ""
    turns = [TURN.match(line) for line in lines]
    if turns[0] is None and not any(turn and turn["at"] for turn in turns):
        yield SpeakerTurn("", sentences(text))
        return
    for line, turn in zip(lines, turns, strict=True):
        # A line without a role continues the turn before it, and is skipped together with it.
        role = turn["role"] if turn else role
        if role.lower() not in UNHEARD_ROLES:
            yield SpeakerTurn(role, sentences(FILE_MARK.sub("", turn["text"] if turn else line)))


def segment(given: Json) -> str:
    """Return a single segment, since rules cannot tell where another subject begins."""
    return json.dumps({"segments": [{"start": 0, "end": given["text"].count("\n")}]})


def summarise_category(given: Json) -> str:
    """Return the facts unchanged, each once, as many as the limit of a summary allows."""
    facts = [it["content"].replace("\n", " ") for it in given["facts"]]
    return summary([*given.get("summary", "").split("\n"), *facts])


def reflect(given: Json) -> str:
    """Return the first sentence of each text."""
    return summary([it for text in given["texts"] for it in list(sentences(text))[:1]])


def summary(lines: list[str]) -> str:
    room, kept = SUMMARY_BYTES, list[str]()
    for line in dict.fromkeys(line for line in lines if line):
        room -= len(line.encode()) + 1
        if room >= 0:
            kept.append(line)
    return "<summary>" + "\n".join(kept) + "</summary>"


def name_subcategory(given: Json) -> str:
    """Return the first two keywords, which most facts share."""
    return " ".join(given["keywords"][:2])


def rank(given: Json) -> str:
    """Return an empty text, so that scores decide the order; an empty list would mean that nothing fits."""
    return ""


TASKS: Final = (
    extract, evolve, route, rewrite, expand, memories, segment, summarise_category, reflect, name_subcategory,
    rank,
)  # fmt: skip
ANSWERS: Final = {task.__name__: task for task in TASKS}

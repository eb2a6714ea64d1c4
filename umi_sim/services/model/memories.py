"""Task memories: the sentences of a text that have the wanted memory type, with their categories."""

from typing import Final
from xml.sax.saxutils import escape

from umi_sim.kernel.characters import sentences
from umi_sim.services.model.extraction import Sentence, join_titles, read_sentence
from umi_sim.services.model.prompts import Inputs, fitting, whole

MEMORY_COUNT_MAX: Final = 60  # more than the memory accepts in one answer, as with real models
CONTENT_CHARS_MAX: Final = 250
LITERAL_EVERY: Final = 4
# Chosen by the length of the text, so that a prompt has the same answer in every run (law 1 of the package).
UNLISTED_EVERY: Final = 8
MEMORIES_BYTES_MAX: Final = 32_000
TYPE_OF_CUE: Final = {  # by the types of the names before and after the cue
    "preference": "behavior", "task": "event", "event": "event", "organization": "knowledge",
    "project": "knowledge", "topic": "knowledge",
}  # fmt: skip
CATEGORY_OF: Final = {
    "behavior": ("preferences",), "event": ("context",), "knowledge": ("facts",), "profile": ("facts",),
}  # fmt: skip
BOTH: Final = ("facts", "context")  # the categories of a fact with several names


def memories(given: Inputs) -> str:
    """Answer with one memory for each sentence with a cue that is of the wanted memory type."""
    text, wanted = given.get("text"), given.get("memory_type")
    parts = join_titles(sentences(whole(text if isinstance(text, str) else "")))
    found = {part: read_sentence(part) for part in parts if len(part) <= CONTENT_CHARS_MAX}
    rows = [memory(it, listed_in(given)) for it in found.values() if it.cues and type_of(it) == wanted]
    return f"<item>{''.join(fitting(rows[:MEMORY_COUNT_MAX], MEMORIES_BYTES_MAX))}</item>"


def type_of(sentence: Sentence) -> str:
    if any(cue.before == "person" and cue.after != "preference" for cue in sentence.cues):
        return "profile"
    first = sentence.cues[0]
    return TYPE_OF_CUE.get(first.after, TYPE_OF_CUE.get(first.before, "profile"))


def categories(sentence: Sentence) -> tuple[str, ...]:
    """Return the categories of a sentence; none if it has no name."""
    if len(sentence.names) == 1:
        return CATEGORY_OF[type_of(sentence)]
    return BOTH if sentence.names else ()


def listed_in(given: Inputs) -> tuple[str, ...]:
    """Return the names of the categories that the prompt lists."""
    listed = given.get("categories")
    rows = [it for it in listed if isinstance(it, dict)] if isinstance(listed, list | tuple) else []
    return tuple(str(it.get("name", "")) for it in rows)


def fit_names(names: tuple[str, ...], listed: tuple[str, ...], sentence: Sentence) -> tuple[str, ...]:
    """Return those of `names` that are listed; else one from the list, or seldom `names` unchanged."""
    known = tuple(name for name in names if name in listed)
    if known or not names or not listed or len(sentence.text) % UNLISTED_EVERY == 0:
        return known or names
    return (listed[len(sentence.text) % len(listed)],)


def memory(sentence: Sentence, categories_listed: tuple[str, ...]) -> str:
    """Write one element of the answer, about the name at the beginning of the sentence, if there is one."""
    first = sentence.names[0] if sentence.names else ""
    name = f"<name>{escape(first)}</name>" if first and sentence.text.startswith(first) else ""
    listed = "".join(
        f"<category>{it}</category>" for it in fit_names(categories(sentence), categories_listed, sentence)
    )
    content = f"<content>{write_text(sentence.text)}</content>"
    return f"<memory>{name}{content}<categories>{listed}</categories></memory>"


def write_text(text: str) -> str:
    """Write a text for XML, as CDATA or escaped; models use both."""
    is_literal = len(text) % LITERAL_EVERY == 0 and "]]>" not in text
    return f"<![CDATA[{text}]]>" if is_literal else escape(text)

"""Attribution: what a speaker says as I and me belongs to their name, if the reply has passed over it.

Law 1. Without such a sentence an extraction stays as it is. Law 2. No sentence is lost: what does not fit
behind what is said of the speaker is in the note.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from umi_core.language.extraction import CONFIDENCE_PPM, Extraction, Mention, fallback_note, passed_over
from umi_core.language.persons import PERSONS
from umi_core.language.words import words
from umi_core.limits import EXTRACT_CONTENT_BYTES_MAX
from umi_core.text import norm, size, tidy

FIRST_PERSONS: Final = ("i", "my", "we", "our")


def own_words(extraction: Extraction, text: str, speaker: str) -> Extraction:
    """The extraction with the sentences of the first person that it passes over under the speaker's name."""
    named = tuple(mention for mention in extraction.entities if mention.named)
    lost, old = passed_over(text, named), mention_of(speaker, named)
    own = fitting(old.content, (sentence for sentence in lost if is_in_first_person(sentence)))
    if not own:
        return extraction
    new = attrs.evolve(old, content="\n".join((*filter(None, [old.content]), *own)))
    told = tuple(new if it is old else it for it in named) if old in named else (*named, new)
    rest = "\n".join(sentence for sentence in lost if sentence not in own)
    entities = (*told, fallback_note(rest)) if rest else told
    return attrs.evolve(extraction, entities=entities, uncovered_count=len(lost))


def mention_of(speaker: str, mentions: tuple[Mention, ...]) -> Mention:
    """What was found of the speaker, or nothing yet."""
    nothing = Mention("person", tidy(speaker), "", CONFIDENCE_PPM)
    return next((it for it in mentions if it.type == "person" and norm(it.name) == norm(speaker)), nothing)


def is_in_first_person(sentence: str) -> bool:
    return any(PERSONS.get(word) in FIRST_PERSONS for word in words(sentence))


def fitting(said: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """The sentences from the first on that fit behind what is said, each in a line."""
    room, kept = EXTRACT_CONTENT_BYTES_MAX - size(said) + (not said), list[str]()
    for sentence in sentences:
        room -= size(sentence) + 1
        if room < 0:
            break
        kept.append(sentence)
    return tuple(kept)

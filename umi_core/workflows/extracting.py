"""Extracting: the names in a text, and what is said about each, before anything is looked up.

If the model fails the text is kept as one note; so are the sentences that it passes over.
"""

from collections.abc import Mapping
from typing import Final

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Learned, Step, Taken, Unusable, asks, nothing, retry
from umi_core.language import replies
from umi_core.language.attribution import own_words
from umi_core.language.extraction import Extraction, Link, Mention, fallback_note, parse_extraction
from umi_core.language.prompts import ask_extract
from umi_core.messages.answers import ModelReplied
from umi_core.messages.api_requests import AddArchival
from umi_core.messages.effects import AskModel
from umi_core.messages.requests import Remember

Telling = Remember | AddArchival
REQUEST: Final = Fact("request", Telling)
MENTIONS: Final = Fact("mentions", tuple[Mention, ...])
LINKS: Final = Fact("links", tuple[Link, ...])
DROPPED: Final = Fact("dropped", tuple[tuple[int, str], ...])


def ask_extraction(facts: Facts, view: View) -> AskModel | None:
    request = facts[REQUEST]
    return AskModel("extract", ask_extract(request.text, request.speaker)) if request.extract else None


def take_extraction(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
    if answer is None:
        return Learned(one_note(facts))
    extraction = parse_extraction(answer.text, facts[REQUEST].text, view.config)
    if isinstance(extraction, replies.Unusable):
        return Unusable(extraction.reason)
    extraction = attributed(extraction, facts[REQUEST])
    count = extraction.uncovered_count
    partial = (("partial", "malformed", 1),) if extraction.partial else ()
    uncovered = (("uncovered", "passed_over", count),) if count else ()
    learned = MENTIONS(extraction.entities) | LINKS(extraction.links) | DROPPED(extraction.dropped)
    return Learned(learned, degraded=(*partial, *uncovered), shapes=extraction.shapes)


def attributed(extraction: Extraction, request: Telling) -> Extraction:
    return own_words(extraction, request.text, request.speaker) if request.speaker else extraction


def one_note(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return MENTIONS((fallback_note(facts[REQUEST].text),)) | LINKS(()) | DROPPED(())


EXTRACT = Step(
    "extract", requires=(REQUEST,), produces=(MENTIONS, LINKS, DROPPED),
    otherwise=nothing(MENTIONS, LINKS, DROPPED), config=(("profile", "default"),),
    **asks(AskModel, ask_extraction, take_extraction, retry(2, then=Degrade("one_note", one_note))),
)  # fmt: skip

"""Coverage: which sentences of a text are told by nothing that was read in a reply.

Law 1. A sentence is covered if one of its telling words stands in any text that is kept; a paraphrase covers.
Law 2. A sentence without a telling word says nothing that is worth keeping. Law 3. Pure: texts in, texts out.
"""

import re
from collections.abc import Iterable
from typing import Final

from umi_core.language.words import NAME_PRONOUNS, content, words
from umi_core.text import unique

TITLES: Final = ("Mr", "Mrs", "Ms", "Dr", "Prof")
NOT_BEHIND: Final = "".join(rf"(?<!(?a:\b{title}\.))" for title in TITLES)  # `a`: alike on every interpreter
SENTENCE_END: Final = rf"\n|(?<=[.!?…؟।]){NOT_BEHIND}\s+|(?<=[。！？])"
IDLE: Final = NAME_PRONOUNS | frozenset(
    """also bye evening good goodbye hello here hey hi morning night now oh ok okay please really right sorry
    sure thank thanks that there these this those too very welcome well yeah yes""".split()
)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text in order, with their end marks."""
    return tuple(part for piece in re.split(SENTENCE_END, text) if (part := piece.strip()))


def telling(sentence: str) -> frozenset[str]:
    """The content words that are neither idle nor a mere number."""
    return frozenset(word for word in content(words(sentence)) if word not in IDLE and not word.isdecimal())


def uncovered(text: str, told: Iterable[str]) -> tuple[str, ...]:
    """The sentences of a text of which no telling word stands in what is told, each once."""
    said = {word for each in told for word in words(each)}
    found = ((sentence, telling(sentence)) for sentence in sentences(text))
    return tuple(unique(sentence for sentence, tells in found if tells and said.isdisjoint(tells)).values())

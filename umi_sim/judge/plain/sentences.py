"""The sentences of a text, and those that are told nowhere, as M10.17 to M10.19 say."""

import re
from collections.abc import Sequence
from typing import Final

from umi_sim.judge.plain.text import PRONOUNS, content_words, said_once, words

ENDS: Final = ".!?…؟।"  # end a sentence if white space follows
FULL_ENDS: Final = "。！？"  # end it wherever they stand
TITLES: Final = ("Mr.", "Mrs.", "Ms.", "Dr.", "Prof.")  # the name is still to come
IDLE: Final = tuple(
    "also bye evening good goodbye hello here hey hi morning night now oh ok okay please really right sorry "
    "sure thank thanks that there these this those too very welcome well yeah yes".split()
)


def passed_over(text: str, told: Sequence[str]) -> list[str]:
    """The sentences that say something, and nothing of it stands in what is told."""
    known = {word for each in told for word in words(each)}
    lost = [
        it
        for it in sentences(text)
        if (said := telling_words(it)) and not any(word in known for word in said)
    ]
    return said_once(lost)


def telling_words(sentence: str) -> list[str]:
    """What says something by itself: no idle word, no pronoun, and not a bare number."""
    return [it for it in content_words(sentence) if it not in (*IDLE, *PRONOUNS) and not it.isdecimal()]


def sentences(text: str) -> list[str]:
    """From one end to the next; a line ends one too."""
    found = [""]
    for char in text:
        is_over = char.isspace() and found[-1].endswith(tuple(ENDS)) and not ends_with_title(found[-1])
        if char == "\n" or is_over:
            found.append("")
        else:
            found[-1] += char
        if char in FULL_ENDS:
            found.append("")
    return [it.strip() for it in found if it.strip()]


def ends_with_title(text: str) -> bool:
    """Whether a title is its last word, as a word of its own."""
    last = next((it for it in TITLES if text.endswith(it)), "")
    return last != "" and re.search(r"[A-Za-z0-9_]$", text.removesuffix(last)) is None

"""Tasks summarise_category and reflect: the old summary and the first sentence of each text, without repeats.

Task name_subcategory: the first two keywords.
"""

from typing import Final

from umi_sim.kernel.characters import sentences
from umi_sim.services.model.prompts import Inputs, fitting, whole

SUMMARY_BYTES_MAX: Final = 1_900


def summarise_category(given: Inputs) -> str:
    old, facts = given.get("summary"), given.get("facts")
    rows = [it.get("content") for it in (facts if isinstance(facts, list) else ()) if isinstance(it, dict)]
    sentences_of = [sentences(whole(row))[:1] for row in rows if isinstance(row, str)]
    lines = [
        *(whole(old).split("\n") if isinstance(old, str) else ()),
        *(line for it in sentences_of for line in it),
    ]
    return summary(lines)


def reflect(given: Inputs) -> str:
    texts = given.get("texts")
    rows = [row for row in (texts if isinstance(texts, list) else ()) if isinstance(row, str)]
    return summary([line for row in rows for line in sentences(whole(row))[:1]])


def name_subcategory(given: Inputs) -> str:
    words = given.get("keywords")
    texts = [whole(word) for word in (words if isinstance(words, list) else ()) if isinstance(word, str)]
    return " ".join(texts[:2]) or "Others"


def summary(lines: list[str]) -> str:
    retained = fitting(dict.fromkeys(line for line in lines if line), SUMMARY_BYTES_MAX)
    return "<summary>" + ("\n".join(retained) or "Nothing is known.") + "</summary>"

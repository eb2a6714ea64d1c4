"""The glossary: the meaning of each word that a command shows.

glossary.toml has groups of words, each word with a sentence or two. A test fails if a command shows a word
without an entry, and this module raises TwoMeanings if a word has two.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

PATH: Final = Path(__file__).with_name("glossary.toml")


class TwoMeanings(ValueError):
    """A word is in two groups; the message names the word and the groups."""


@cache
def groups() -> Mapping[str, Mapping[str, str]]:
    """Return the words with their meanings, by group."""
    return tomllib.loads(PATH.read_text("utf-8"))


@cache
def meanings() -> Mapping[str, str]:
    """Return all words with their meanings. Raises TwoMeanings."""
    found: dict[str, str] = {}
    for group, words in groups().items():
        for word, meaning in words.items():
            if word in found:
                raise TwoMeanings(
                    f"{PATH.name}: {word} stands in {group} and in another group: one meaning, one entry"
                )
            found[word] = meaning
    return found


def meaning(word: str) -> str:
    """Return the first sentence about a word, without its full stop. Raises KeyError."""
    # "first. second." -> "first"
    return meanings()[word].split(". ")[0].removesuffix(".")

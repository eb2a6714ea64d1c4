"""References: the words of a query that mean something said earlier, as M13.2 to M13.4 find them.

What did he say about that?        he, that
fix it like before, before noon    it, like before, before
Is there a cache?                  none: it exists, nothing is pointed at
Show me the IT budget              none: a name
"""

import re
from functools import cache
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.judge.plain.text import has_small, is_capital, words, written_words

# By language. Left out is what mostly refers to nothing, or is a common word of another language: German
# `es`, Spanish `lo` and `el`.
TERMS: Final = {
    "en": "he, him, his, himself, she, her, hers, herself, it, its, itself, they, them, their, theirs, "
    "themselves, this, that, these, those, here, there, earlier, before, previously, yesterday, recently, "
    "again, last time, just now, the same, similar, like before, as usual, the other, another one, "
    "the issue, the problem, the error, the bug, the feature, the method, the function, the file, the code",
    "de": "er, ihn, ihm, sie, ihr, ihre, ihren, ihrem, ihrer, ihres, ihnen, sein, seine, seinen, seinem, "
    "seiner, seines, dies, diese, dieser, dieses, diesen, diesem, dort, dorthin, dahin, darüber, davon, "
    "dazu, daran, dafür, damit, darauf, dabei, danach, darin, daraus, dagegen, vorher, gestern, neulich, "
    "letztes mal, dasselbe, das gleiche, wie üblich, das problem, der fehler",
    "es": "él, ella, ellos, ellas, su, sus, esto, eso, aquello, este, esta, estos, estas, ese, esa, esos, "
    "esas, aquel, aquella, ahí, allí, allá, ayer, anteriormente, otra vez, la última vez, lo mismo, "
    "como siempre, el problema, el error",
    "zh": "他, 她, 它, 他们, 她们, 它们, 这个, 那个, 这些, 那些, 这件事, 那件事, 这里, 那里, 这儿, 那儿, "
    "昨天, 之前, 上次, 一样的, 那个问题, 这个问题",
}
NOTHING: Final = (  # phrases that hold a term and refer to nothing
    "there is, there are, there was, there were, is there, are there, was there, were there, 其他, 其它, 吉他"
)


@attrs.frozen
class Term(Data):
    text: str
    language: str


@attrs.frozen
class References(Data):
    """The terms of a text in order, repeated ones too; the words outside of them; the terms' languages."""

    terms: tuple[str, ...]
    others: tuple[str, ...]
    languages: tuple[str, ...]


def references(text: str) -> References:
    written, line = written_words(text), spaced(text)
    found: list[Term] = []
    outside = list(range(len(written)))
    for match in re.finditer(pattern(), line):
        term, count = phrases()[match[0]], len(match[0].split())
        first = line[: match.start()].count(" ")
        if term is not None and not (count == 1 and is_name(written[first], has_small(text))):
            found.append(term)
            outside = [at for at in outside if not first <= at < first + count]
    others = tuple(line.split()[at] for at in outside)
    languages = dict.fromkeys(term.language for term in found)
    return References(tuple(term.text for term in found), others, tuple(languages))


def spaced(text: str) -> str:
    """A text as its words, one space between two of them."""
    return " ".join(words(text))


@cache
def phrases() -> dict[str, Term | None]:
    """The terms by their words; None for a phrase that refers to nothing."""
    found = {spaced(text): Term(text, name) for name, row in TERMS.items() for text in row.split(", ")}
    return found | {spaced(text): None for text in NOTHING.split(", ")}


@cache
def pattern() -> str:
    """Any of the phrases, whole words only; of those that begin at one word the longest."""
    longest_first = sorted(phrases(), key=lambda phrase: -len(phrase.split()))
    return rf"(?<!\S)(?:{'|'.join(longest_first)})(?!\S)"


def is_name(written: str, is_among_small: bool) -> bool:
    """`IT` among small letters is one; `there's` refers to nothing either."""
    head = re.split("['’]", written)[0]
    is_acronym = is_among_small and len(head) > 1 and is_capital(written)
    return is_acronym or written.casefold().replace("’", "'") == "there's"

"""Forms: whether a word stands in a text, perhaps with another ending: `raise` in `She raised the rent`.

Law 1. A name has one form: a word with a capital is itself alone. Law 2. Three letters always stay.
Law 3. The table is frozen: a changed ending changes recorded runs.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from umi_core.data import Data

STEM_CHARS_MIN: Final = 3
ENDINGS: Final = {
    "en": "ies ing ed es s e y".split(),
    "de": "en em er es e n s".split(),
    "es": "os as es o a s e".split(),
}


def stem(word: str, language: str) -> str:
    """A word without its endings. Equal stems are taken for forms of one word."""
    endings = ENDINGS.get(language, ())
    while found := next((it for it in endings if word.endswith(it)), ""):
        if len(word) - len(found) < STEM_CHARS_MIN:
            break
        word = word.removesuffix(found)
    return word


@attrs.frozen
class Forms(Data):
    """The words of a text, and the stems of those without a capital."""

    words: frozenset[str]
    stems: frozenset[str]
    language: str

    def has(self, word: str, capitals: frozenset[str]) -> bool:
        """Whether a word stands there; in another form too, unless it is among those with a capital."""
        return word in self.words or (word not in capitals and stem(word, self.language) in self.stems)


def forms_of(some: Iterable[str], capitals: frozenset[str], language: str) -> Forms:
    every = frozenset(some)
    return Forms(every, frozenset(stem(word, language) for word in every - capitals), language)

"""Languages: which one a query is in, by its small words, and how its words are written.

Law 1. Total: a text in no language that is known here has none. Law 2. What may be a name is no mark of a
language: a word with a capital counts for nothing, but for the first of a sentence, if that is no term.
Law 3. The tables are frozen: a changed word changes recorded runs.
"""

import re
from collections.abc import Iterator
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.language.words import STOP_WORDS, word_matches
from umi_core.text import is_capital

# Words that may come and go with a phrase of that language. Those of English are stop words already.
LIGHT_WORDS: Final = {
    "en": frozenset[str](),
    "de": frozenset(
        """der die das den dem des ein eine einen einem einer eines im am zum zur vom beim ins ans an auf
        aus bei für gegen in mit nach über um von zu und""".split()
    ),
    "es": frozenset("el la los las un una unos unas a al de del e en con por para que sobre y".split()),
    "zh": frozenset("的在和了是"),
}

# Words by which a language is known, beside its light words and its pronouns.
MARKS: Final = {
    "en": STOP_WORDS
    | frozenset(
        """he him his she her it its they them their this that these those there here
        again before earlier don doesn didn isn wasn aren""".split()
    ),
    "de": LIGHT_WORDS["de"]
    | frozenset(
        """er ihn ihm sie ihr ihre ihren ihrem ihrer ihnen sein seine diese dieser dieses diesen diesem dort
        darüber davon dazu daran dafür damit gestern es ich du wir mir mich dir dich mein meine dein deine
        ist sind war hat habe hast haben wird kann kannst was wer wie wo wann warum nicht noch schon auch
        so""".split()
    ),
    "es": LIGHT_WORDS["es"]
    | frozenset(
        """él ella ellos ellas su sus esto eso este esta estos estas ese esa ahí allí ayer yo tú me te se lo
        le nos mi tu es está son ha han hay qué quién cómo cuándo dónde cuánto no ya muy otra""".split()
    ),
}


@attrs.frozen
class Word(Data):
    """A word as it is compared, and as it was written with what follows its apostrophe.

    `opens`: it is the first of a sentence. `is_joined`: nothing but blanks or a hyphen part it from the
    word before.
    """

    text: str
    written: str
    opens: bool
    is_joined: bool

    @property
    def is_capital(self) -> bool:
        return is_capital(self.written[0])


OPENING: Final = re.compile('[.!?…:;¿¡"“”„«»()—–\n]')  # a sentence begins behind one of these
JOINT: Final = re.compile(r"\s*|-")


def written_words(text: str) -> tuple[Word, ...]:
    return tuple(each_word(text))


def each_word(text: str) -> Iterator[Word]:
    end = 0
    for match in word_matches(text):
        gap = match.string[end : match.start()]
        is_first = end == 0
        opens, joint = is_first or bool(OPENING.search(gap)), bool(JOINT.fullmatch(gap))
        yield Word(match[1].casefold(), match[0], opens, joint and not is_first)
        end = match.end()


def language_of(text: str, written: tuple[Word, ...]) -> str:
    """The language of most marks, English first; empty without any."""
    if "¿" in text or "¡" in text:
        return "es"
    told = [word.text for word in written if not word.is_capital or (word.opens and is_sure(word.text))]
    counts = {language: sum(word in marks for word in told) for language, marks in MARKS.items()}
    most = max(counts.values())
    return next(language for language, count in counts.items() if count == most) if most else ""


def is_sure(word: str) -> bool:
    """Whether a word with a capital is a mark all the same: `Wann`, but not `Ella`, `Su` or `Er`."""
    return word not in MAYBE_NAMES


MAYBE_NAMES: Final = frozenset("er sie ella su sus este esta ese esa dies".split())

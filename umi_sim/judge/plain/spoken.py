"""Sentences as they are written: words with what parts them, and the language that they are in (M13.3).

Where does Ella live?      English: where, does; a word with a capital may be a name
Wo wohnt sie?              German
¿Está allí?                Spanish, by its first mark
"""

from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.judge.plain.text import (
    STOP_WORDS,
    composed,
    has_small,
    is_capital,
    is_letter,
    without_later,
    written_words,
)

SENTENCE_STARTS: Final = '.!?…:;¿¡"“”„«»()—–\n'  # behind one of these a sentence begins

LIGHT_WORDS: Final = {  # articles and prepositions, which come and go with a name; in English stop words
    "en": "",
    "de": "der die das den dem des ein eine einen einem einer eines im am zum zur vom beim ins an ans auf "
    "aus bei für gegen in mit nach über um von zu und",
    "es": "el la los las un una unos unas a al de del e en con por para que sobre y",
    "zh": "的 在 和 了 是",
}
MARKS: Final = {  # of the languages in this order, beside light words
    "en": " ".join(STOP_WORDS) + " he him his she her it its they them their this that these those there "
    "here again before earlier don doesn didn isn wasn aren",
    "de": "er ihn ihm sie ihr ihre ihren ihrem ihrer ihnen sein seine diese dieser dieses diesen diesem dort "
    "darüber davon dazu daran dafür damit gestern es ich du wir mir mich dir dich mein meine dein deine ist "
    "sind war hat habe hast haben wird kann kannst was wer wie wo wann warum nicht noch schon auch so",
    "es": "él ella ellos ellas su sus esto eso este esta estos estas ese esa ahí allí ayer yo tú me te se lo "
    "le nos mi tu es está son ha han hay qué quién cómo cuándo dónde cuánto no ya muy otra",
}
MAYBE_NAMES: Final = "er sie ella su sus este esta ese esa dies".split()  # where a sentence begins


@attrs.frozen
class Spoken(Data):
    """A word: as it is compared and as it was written, whether it begins a sentence, and whether it belongs
    to the word before it, as nothing but blanks or a hyphen stand between."""

    text: str
    written: str
    begins: bool
    belongs: bool

    @property
    def is_big(self) -> bool:
        return is_capital(self.written[0])


def spoken_words(text: str) -> list[Spoken]:
    found: list[Spoken] = []
    rest = composed(without_later(text))
    for written in written_words(text):
        gap, _, rest = rest.partition(written)
        begins = not found or any(char in SENTENCE_STARTS for char in gap)
        belongs = bool(found) and gap.strip() in ("", "-") and (gap == "-" or "-" not in gap)
        bare = written.replace("’", "'").partition("'")[0]
        found.append(Spoken(bare.casefold(), written, begins, belongs))
    return found


def language_of(text: str, spoken: list[Spoken]) -> str:
    """The one of which most words are; empty if none is."""
    if set("¿¡") & set(text):
        return "es"
    heard = [it.text for it in spoken if not it.is_big or (it.begins and it.text not in MAYBE_NAMES)]
    best, best_count = "", 0
    for language, marks in MARKS.items():
        known = f"{marks} {LIGHT_WORDS[language]}".split()
        count = len([word for word in heard if word in known])
        if count > best_count:
            best, best_count = language, count
    return best


def name_places(text: str, spoken: list[Spoken], language: str) -> list[int]:
    """Where a word has a capital that its place does not explain."""
    if not has_small(text):
        return []
    inner = [it for it in spoken if not it.begins]
    is_title = not any(is_letter(it.written[0]) and not it.is_big for it in inner)
    found = []
    for place, it in enumerate(spoken):
        after = spoken[place + 1] if place + 1 < len(spoken) else None
        is_acronym = len(it.text) > 1 and is_capital(it.written)
        if it.begins:
            is_full = language == "es" and after is not None and after.is_big and after.belongs
            is_odd = language == "" or is_full
        else:
            is_odd = not is_title
        if it.text != "i" and (is_acronym or (it.is_big and is_odd)):
            found.append(place)
    return found

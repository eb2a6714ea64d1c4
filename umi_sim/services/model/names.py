"""Names: the parts of a text that are names, in any script, by the cast and by their form.

Law 1. Quoted texts, `@handle`, `#tag` and runs of capitalised words are names. A single capitalised word at
the beginning of a sentence is no name (`Keep it up`), unless the cast contains it or a cue follows it (`Zork
works at`).
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from umi_sim.kernel.characters import ASCII, DENSE, LOWER, MARKS, SPACED, char_class, lower, tokens
from umi_sim.services.model.cast import KNOWN, known_nouns
from umi_sim.services.model.cues import DENSE_CUES, DENSE_START, placed_cues, words_of
from umi_sim.services.model.languages import NO_NAMES

NAME_CHARS_MAX: Final = 60
QUOTED_CHARS_MAX: Final = 40
CASELESS_CHARS_MAX: Final = 8
CUE_CHARS_MAX: Final = 30

Span = tuple[int, int, str]  # start and end of a name, and the name

CONTROLS: Final = r"\x00-\x1f\x7f-\x9f"
QUOTES: Final = ('""', "“”", "„“", "«»", "[]", "「」", "『』", "【】", "《》")
TITLES: Final = ("Mr.", "Mrs.", "Ms.", "Dr.", "Prof.", "Sr.", "Sra.")
GERMAN_ARTICLES: Final = frozenset(
    "der die das dem des ein eine einen einem einer eines zum zur vom beim ins mein meine meinen meinem "
    "meiner unser unsere unseren dieser diese dieses diesen diesem keine keinen sein seine ihr ihre".split()
)
OPENERS: Final = ".!?…:;\n¿¡—–*•>"  # a sentence begins after one of these


def quote_pattern(left: str, right: str) -> str:
    """Return the pattern of a short text between two quotation marks."""
    inside = rf"[^{re.escape(left + right)}{CONTROLS}]{{1,{QUOTED_CHARS_MAX}}}"
    return f"{re.escape(left)}({inside}){re.escape(right)}"


def name_pattern(below: int) -> str:
    """Return a pattern for parts that look like names, in a text of characters below a code point."""
    letters = char_class(SPACED, DENSE, MARKS, below=below)
    tail = f"{char_class(SPACED, MARKS, below=below)}+"
    capital = f"[{''.join(chr(code) for code in LOWER if code < below)}]"
    word = rf"(?<!{letters}){capital}(?:{tail}|(?=['’]{capital}))(?:[-'’]{capital}{tail})*"
    quotes = "|".join(quote_pattern(*pair) for pair in QUOTES if ord(max(pair)) < below)
    return rf"{quotes}|([@#](?:{letters}|_)+)|(?P<run>{word}(?: {word}){{0,3}})"


# Strings: `re` compiles and caches them at their first use. The pattern for ASCII is small.
NAME: Final = name_pattern(0x110000)
ASCII_NAME: Final = name_pattern(ASCII)

# One script per run: a run of kanji ends where kana begin. Any run ends where a cue begins.
CASELESS_SCRIPTS: Final = (
    "\u05d0-\u05ea", "\u0620-\u0652\u066e-\u06d3", "\u0900-\u0963\u0971-\u097f", "\u0e01-\u0e3a\u0e40-\u0e4e",
    "\u30a1-\u30fa\u30fc-\u30fe", "\u1100-\u11ff\uac00-\ud7a3", "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff",
    "\u3041-\u3096",
)  # fmt: skip
ANY_CUE: Final = "|".join(DENSE_CUES)
ANY_RUN: Final = "|".join(f"(?:(?!{ANY_CUE})[{script}])+" for script in CASELESS_SCRIPTS)
CASELESS: Final = f"(?=[\u0590-\uffff])(?:{ANY_CUE}|(?P<run>{ANY_RUN}))"
LETTER_WORD: Final = f"{char_class(SPACED, DENSE)}{char_class(SPACED, DENSE, MARKS)}*"
MARK: Final = char_class(MARKS)
APOSTROPHE_TAIL: Final = re.compile(r"['’][^\s]*")
DENSE_KNOWN: Final = tuple(word for word in KNOWN if word >= DENSE_START)


def name_spans(text: str) -> list[Span]:
    """Return the names with their places; without capitals, quotes or signs the first caseless run."""
    pattern = ASCII_NAME if text.isascii() else NAME
    return [span for match in re.finditer(pattern, text) if (span := find_span(match))] or first_run(text)


def first_run(text: str) -> list[Span]:
    """Return the first run that contains a word of the cast or is next to a cue; others may be no names."""
    matches = [] if text.isascii() else list(re.finditer(CASELESS, text))
    ends = {at for match in matches if not match["run"] for at in match.span()}
    ends |= {at for start, end, _ in placed_cues(text) for at in (start, end)} if matches else set()
    runs = (
        match for match in matches
        if match["run"] and (touches(match, ends) or next(known_words(match["run"]), None) is not None)
    )  # fmt: skip
    spans = (make_span(match, match["run"][:CASELESS_CHARS_MAX]) for match in runs)
    return list(islice(filter(None, spans), 1))


def touches(run: re.Match[str], places: set[int]) -> bool:
    """Check whether one of these places is next to a run, or one blank away."""
    return not places.isdisjoint((run.start(), run.start() - 1, run.end(), run.end() + 1))


def find_span(match: re.Match[str]) -> Span | None:
    """Return the name in a match with its place; None if the match only looks like a name."""
    if not match["run"]:
        return make_span(match, next(part for part in match.groups() if part))
    words = match["run"].split(" ")
    first = next((at for at, word in enumerate(words) if lower(word) not in NO_NAMES), len(words))
    if is_german_noun(match, words[first:]):
        return None
    # A capital at the start of a sentence means nothing by itself: `Keep it up`.
    if first == 0 and begins_sentence(match) and not is_known(words[0]):
        if len(words) == 1 and not is_linked(match):
            return None
        first = len(words) > 1 and is_known(words[1], "person")  # `Tell Arthur`
    return make_span(match, " ".join(words[first:]))


def is_german_noun(match: re.Match[str], words: list[str]) -> bool:
    """Check whether `words` is one German noun: one of the cast, or a word after an article (`Der Kurs`)."""
    if len(words) != 1 or is_known(words[0]):
        return False
    if words[0] in known_nouns("de"):
        return True
    in_run = match["run"].split(" ")[: -len(words)]
    before = in_run or match.string[: match.start()].split()
    return bool(before) and lower(before[-1]) in GERMAN_ARTICLES


def is_known(word: str, *types: str) -> bool:
    return any(not types or KNOWN[known][0] in types for known in known_words(word))


def begins_sentence(match: re.Match[str]) -> bool:
    before = match.string[: match.start()].rstrip(" \t\"'“(")
    return not before or (before[-1] in OPENERS and not before.endswith(TITLES))


def is_linked(match: re.Match[str]) -> bool:
    """Check whether the words after a match are a cue for a relation."""
    behind = placed_cues(match.string[match.end() : match.end() + CUE_CHARS_MAX])
    return any(start == 1 and cue.relation for start, _, cue in behind)


def known_words(name: str) -> Iterator[str]:
    """Yield the words of a name that are in the cast; in a script without spaces also parts of words."""
    for word in words_of(name):
        if word >= DENSE_START:
            yield from (known for known in DENSE_KNOWN if known in word)
        elif word in KNOWN:
            yield word


def make_span(match: re.Match[str], found: str) -> Span | None:
    """Return a name with the place of its match; None if no word of it can be a name."""
    name = " ".join(found[:NAME_CHARS_MAX].split())
    return (match.start(), match.end(), name) if is_name(name) else None


def is_name(name: str) -> bool:
    """Check whether a name contains a word that is no function word, with and without its marks."""
    stem = lower(APOSTROPHE_TAIL.sub("", name))
    words = tokens(stem) if stem.isascii() else re.findall(LETTER_WORD, stem)
    return any(word not in NO_NAMES and bare(word) not in NO_NAMES for word in words)


def bare(word: str) -> str:
    return word if word.isascii() else re.sub(MARK, "", word).replace("ſ", "s")

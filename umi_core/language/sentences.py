"""Sentences: finding their ends in texts that people write (M10.17).

    I met Dr. Novak at 9 a.m. on Aug. 3. She is J. K. Patel's boss.
                                        ^ the only end

Law 1. Every character except white space is in one sentence. Law 2. Pure, in time linear in the text.
"""

import re
from collections.abc import Iterator
from typing import Final

from umi_core.language.tables import (
    ABBREVIATIONS,
    FULL_STOPS,
    GERMAN_MONTHS,
    ORDINAL_WORDS,
    SHORT_FORMS,
    STATE_WORDS,
)
from umi_core.limits import SEGMENT_BYTES_MAX, SEGMENT_SENTENCE_COUNT_MAX
from umi_core.text import cut, size

CANDIDATE: Final = re.compile(rf"\n|(?<=[.!?…])[^\S\n]+|(?<=[{FULL_STOPS}])[^\S\n]*")
OPENING: Final = "([{<\"'“”‘’„«»¿¡*_-"
DOTTED: Final = re.compile("[A-Za-z]{1,2}(?:[.][A-Za-z]{1,2})+[.]")  # `a.m.`, `Ph.D.`
STATE: Final = re.compile("(?:[A-Z][.])+")  # `U.S.`
OF_STATE: Final = re.compile(rf"(?:{'|'.join(STATE_WORDS)})(?a:\b)")
INITIAL: Final = re.compile("[A-HJ-Za-z][.]")  # `I.` ends a sentence
CAPITAL: Final = re.compile("[A-Z]")
LETTER_OR_DIGIT: Final = re.compile("[A-Za-z0-9]")
SMALL_OR_DIGIT: Final = re.compile("[a-z0-9]")
ORDINAL: Final = re.compile("[0-9]{1,2}[.]")
MONTH: Final = re.compile(rf"(?:{'|'.join(GERMAN_MONTHS)})(?a:\b)")


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text in order, with their end marks."""
    found, begin = list[str](), 0
    for end, next_begin in (*find_ends(text), (len(text), len(text))):
        if sentence := text[begin:end].strip():
            found.append(sentence)
        begin = next_begin
    return tuple(found)


def find_ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield the end of each sentence but the last, and the begin of the next one after the white space."""
    # The last two words before a candidate. Each candidate splits only the text since the one before.
    words, at = tuple[str, ...](), 0
    for match in CANDIDATE.finditer(text):
        words = (*words, *text[at : match.start()].split())[-2:]
        at = match.end()
        if match[0] == "\n" or not goes_on(words, text, at):
            yield match.span()
            words = ()


def goes_on(words: tuple[str, ...], text: str, at: int) -> bool:
    """Check whether a sentence goes on at `at`, after its last two `words` and white space."""
    if not words[-1].endswith("."):  # `words` is not empty: a candidate always follows a mark
        return False
    word, before = words[-1].lstrip(OPENING), words[-2].lstrip(OPENING) if len(words) > 1 else ""
    if word[:-1] in ABBREVIATIONS:
        return True
    if word[:-1] in SHORT_FORMS or DOTTED.fullmatch(word):
        # the U.S. Army; but: We moved to the U.S. Bob stayed.
        is_of_state = STATE.fullmatch(word) is not None and OF_STATE.match(text, at) is not None
        return is_of_state or SMALL_OR_DIGIT.match(text, at) is not None
    if INITIAL.fullmatch(word):  # George W. Bush; J. K. Patel; z. B. Tee; but: Take vitamin C. Then rest.
        if INITIAL.fullmatch(before) or INITIAL.match(text, at):
            return LETTER_OR_DIGIT.match(text, at) is not None
        is_in_name = word[0].isupper() and (not before or CAPITAL.match(before) is not None)
        return is_in_name and CAPITAL.match(text, at) is not None
    if ORDINAL.fullmatch(word):  # am 9. Juni; im 3. Stock
        is_counting = before.lower() in ORDINAL_WORDS and CAPITAL.match(text, at) is not None
        return is_counting or MONTH.match(text, at) is not None
    return False


# Parts of a text of limited bytes and sentences.


def fits(size_bytes: int, sentence_count: int) -> bool:
    return size_bytes <= SEGMENT_BYTES_MAX and sentence_count <= SEGMENT_SENTENCE_COUNT_MAX


def divide_line(line: str, head: str = "") -> Iterator[str]:
    """Yield parts of as many sentences as fit; a sentence that is too long for one part is cut.

    `head`: a text that will be put before each part, so its size counts, too.
    """
    bytes_max, head_count = SEGMENT_BYTES_MAX - size(head), len(sentences(head))
    run, used_bytes, used_count, at = "", 0, 0, 0
    for end in (*(end for _, end in find_ends(line)), len(line)):
        sentence, at = line[at:end], end
        size_bytes, count = size(sentence), int(bool(sentence))
        if run and not fits(size(head) + used_bytes + size_bytes, head_count + used_count + count):
            yield run
            run, used_bytes, used_count = "", 0, 0
        run, used_bytes, used_count = run + sentence, used_bytes + size_bytes, used_count + count
        while used_bytes > bytes_max:
            part = cut(run, bytes_max)
            yield part
            run, used_bytes = run[len(part) :], used_bytes - size(part)
            used_count = len(sentences(run))
    yield run

"""Mentions: nouns of the cast and names in a text, to which a later word may refer.

Law 1. Mentions are ordered by how likely a later word refers to them: first those of the last sentence. In a
sentence the first thing comes first (`The hotel has a pool. How far is it?`), and the last person.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final

from msgspec import structs

from umi_sim.kernel.characters import is_upper
from umi_sim.services.model.cast import KNOWN, known_nouns
from umi_sim.services.model.cues import placed_cues, words_of
from umi_sim.services.model.languages import language_of
from umi_sim.services.model.names import name_spans
from umi_sim.services.model.nouns import Antecedent, noun_of, noun_phrases

ANDS: Final = {"en": " and ", "de": " und ", "es": " y ", "zh": "和"}
KINDS: Final = {"person": "person", "location": "city", "event": "time", "place": "place", "group": "group"}
CUE_KINDS: Final = {**KINDS, "project": "thing", "organization": "unknown"}  # by the type from a cue
SENTENCE_END: Final = re.compile(r"[.!?…;\n](?= |\n|$)|[。！？]")
NOT_PERSONS: Final = ("at", "bei", "aus", "über")  # words before a name that is no person
TITLE_GAP_MAX: Final = 2  # `cousin Ben`, `Mr. Novak`


def mentions(text: str) -> list[Antecedent]:
    """List the mentions in a text, the most likely antecedent of a later word first."""
    language = language_of(text)
    found = sorted(
        in_chinese(text) if language == "zh" else in_words(text, language), key=lambda it: it.start
    )
    ends = [match.start() for match in SENTENCE_END.finditer(text)]

    def weight(mention: Antecedent) -> tuple[int, int]:
        at = mention.start
        return -sum(end < at for end in ends), -at if mention.kind in ("person", "group", "city") else at

    return sorted([*couples(found, text, ANDS[language]), *found], key=weight)


def couples(found: list[Antecedent], text: str, word: str) -> Iterator[Antecedent]:
    """Yield each two persons with `and` between them as a group."""
    for left, right in pairwise([mention for mention in found if mention.kind == "person"]):
        between = text[left.end : right.start]
        if between.startswith(word) and len(between.split()) <= 3:
            yield structs.replace(left, text=left.text + word + right.text, start=right.start, kind="group")


def in_words(text: str, language: str) -> Iterator[Antecedent]:
    names = list(names_in(text, language))
    yield from names
    for noun in noun_phrases(text, language):
        if not any(name.start - TITLE_GAP_MAX <= noun.end <= name.end for name in names):
            yield noun


def names_in(text: str, language: str) -> Iterator[Antecedent]:
    """Yield the names, without the nouns before them: `Ben` of `my cousin Ben`, `Weber` of `Frau Weber`."""
    for _, end, name in name_spans(text):
        words = name.split(" ")
        while len(words) > 1 and noun_of(words[0], language):
            words.pop(0)
        if noun_of(words[0], language) is None:
            name = " ".join(words)
            start = max(0, text.find(name, end - len(name) - 1))
            yield Antecedent(name, start, start + len(name), *kind_of(text, start, name, language))


def kind_of(text: str, start: int, name: str, language: str) -> tuple[str, str]:
    """Return kind and gender of a name: from the cast, its last word, the word before it, or a cue at it."""
    words, end = words_of(name), start + len(name)
    known = next((KNOWN[word] for word in words if word in KNOWN), None)
    if known is not None:
        return KINDS.get(known[0], "thing"), known[1]
    if words and noun_of(words[-1], language):
        return "city", ""  # `Elm Street`
    before = text[:start].split()[-1:] or [""]
    title = noun_of(before[0].strip(".,"), language)
    if title is not None:
        return title
    for cue_start, cue_end, cue in placed_cues(text):
        if end + 1 == cue_start or cue_end + 1 == start:
            return CUE_KINDS.get(cue.before if end < cue_start else cue.after, "other"), ""
    is_quoted = text[start - 1 : start] in ('"', "“", "„", "«")
    is_no_person = before[0] in NOT_PERSONS or all(map(is_upper, name))  # `at Luigi's`, `DB`
    kind = "city" if before[0] in ("in", "en", "nach") else "unknown" if is_no_person else "other"
    return "thing" if is_quoted else kind, ""


# Chinese.

SURNAMES: Final = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾田董潘袁蔡蒋秦雷"
TITLES: Final = "老师|医生|经理|先生|女士|小姐|总|教授|主任|律师|阿姨|叔叔|师傅|工|姐|哥"


@cache
def chinese() -> re.Pattern[str]:
    """Return a pattern of quoted texts, persons by cast or title, adjacent nouns, words in Latin letters."""

    def one_of(*kinds: str) -> str:
        known = {**KNOWN, **known_nouns("zh")}
        found = [word for word, (kind, _) in known.items() if kind in kinds and word > "\u3400"]
        return "|".join(sorted(found, key=lambda word: (-len(word), word)))

    things = one_of("thing", "place", "location", "project")
    return re.compile(
        rf"[《「“\"](?P<title>[^》」”\"\n]{{1,30}})[》」”\"]|(?P<group>{one_of('group')})"
        rf"|(?P<person>[我你]?(?:{one_of('person')})|[{SURNAMES}](?:{TITLES})|[小老阿][{SURNAMES}])"
        rf"|(?P<thing>(?:{things})+)|(?P<latin>[A-Za-z][A-Za-z0-9.+#-]*)"
    )


def in_chinese(text: str) -> Iterator[Antecedent]:
    known = {**KNOWN, **known_nouns("zh")}
    for match in chinese().finditer(text):
        group = match.lastgroup or ""
        found = match[group]
        kind, gender = next((known[found[at:]] for at in range(len(found)) if found[at:] in known), ("", ""))
        kind = group if group in ("person", "group") else KINDS.get(kind, "thing")
        yield Antecedent(
            found, match.start(group), match.end(group), kind, gender if kind == "person" else ""
        )

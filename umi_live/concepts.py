"""Concepts: they connect a question to statements that answer it without sharing a word with it.

    What's my name?             name            I'm Priya.
    What do I do?               job, employer   I started as a nurse at Mercy General.
    How old am I?               age             I'm 29.

Law 1. Pure: a text in, names of concepts out. Law 2. A question has a concept only if it asks for nothing
else: "What's my dog's name?" does not have the concept `name`. Law 3. Each pattern spans only a few words.
"""

import re
from typing import Final

from umi_live.english import BEINGS, OCCUPATION
from umi_live.rules import introduce, simplify_sentence

WHOM: Final = r"[\w' ]{1,30}?"
QUESTIONS: Final = tuple((name, re.compile(pattern)) for name, pattern in (
    ("name", r"\bmy (?:(?:full|first|last|real) )?name\b|\bwho am i\b|\bam i called\b"),
    ("job", r"\b(?:job|profession|occupation|career)\b|"
            rf"\bwhat (?:do|does) {WHOM} do(?: now| for (?:a living|work))?\W*$"),
    ("employer", rf"\bwhere (?:do|does) {WHOM} work\b|\bwork for\W*$|\b(?:employer|workplace)\b|"
                 rf"\bwhat (?:do|does) {WHOM} do\W*$"),
    ("age", r"\bhow old\b|\bmy age\b"),
    ("home", rf"\b(?:where|city|country|town) (?:do|does) {WHOM} live\b|\bmy address\b"),
    ("origin", rf"\bwhere (?:am|is|are) {WHOM} from\b|\bwhere (?:do|does) {WHOM} come from\b|"
               rf"\bwhere (?:did|was|were) {WHOM} (?:grow up|born|raised)\b"),
    ("allergy", r"\ballerg|\bcant (?:i|\w+) (?:eat|have)\b"),
))  # fmt: skip
NAME: Final = "(?:the )?[A-Z]"
# Questions and statements about relatives have no concepts: "Where does my sister live?" must not find homes
# of others.
OF_KIN: Final = rf"\b(?:my|our) (?:[a-z-]+ ){{0,2}}?(?:{'|'.join(sorted(BEINGS))})s?\b"
POST: Final = rf"\b(?:am|is) an? (?:[a-z-]+ ){{0,3}}?{OCCUPATION} (?:at|for|with) {NAME}"
STATEMENTS: Final = tuple((name, re.compile(pattern)) for name, pattern in (
    ("job", rf"\b(?:am|is) (?:an? |the )?(?:[a-z-]+ ){{0,3}}{OCCUPATION}\b|\bjob is\b|"
            r"\b(?:works?|working|employed|started|hired) as\b|\bpromoted to\b"),
    ("employer", r"\b(?:works?|working|employed|started|hired|job|position|role) "
                 rf"(?:[\w-]+ ){{0,5}}?(?:at|for|with|by) {NAME}|{POST}|\bjoined {NAME}"),
    ("age", r"\b(?:am|is) (?:now )?\d{1,3}(?: years old)?(?: now)?\W*$|\bturned \d"),
    ("home", rf"\b(?:lives?|living|based|settled) in {NAME}|"
             rf"\b(?:moved|relocated)(?: [\w-]+){{0,4}}? to {NAME}"),
    ("origin", r"\b(?:am|is|comes?)(?: originally)? from\b|\bgrew up in\b|\b(?:born|raised) in\b"),
    ("allergy", r"\ballerg(?:ic|y|ies)\b|\b(?:[Cc]an'?t|cannot) eat\b"),
))  # fmt: skip


def concepts_of(text: str) -> tuple[str, ...]:
    """Return the concepts of a question (one line), or of a statement (after a first line with its names)."""
    _, line, content = text.partition("\n")
    if not line:
        asked = re.sub("['\u2019]", "", text.lower())
        is_of_kin = re.search(OF_KIN, asked) is not None
        return () if is_of_kin else tuple(name for name, pattern in QUESTIONS if pattern.search(asked))
    stated = simplify_sentence(content)
    if re.match(OF_KIN, stated, re.IGNORECASE):
        return ()
    found = tuple(name for name, pattern in STATEMENTS if pattern.search(stated))
    return ("name", *found) if introduce(stated) else found

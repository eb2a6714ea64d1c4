"""Write out casually spelled sentences of people about themselves, so that the rules can read them.

    i moved to denver lol               I moved to Denver
    im a nurse at mercy general         I'm a nurse at Mercy General
    I WORK AT GOOGLE NOW                I work at Google now
    i moved to the second floor         I moved to the second floor

Law 1. Pure, and used only for comparison: the memory stores and shows the original words. Law 2. Words in
small letters are a name only where a name can be, if a known ending follows and none of them is an ordinary
word; after "moved to" only if they are a known place, since a wrong one would end the fact where a person
lives. Law 3. A carefully written sentence stays unchanged.
"""

import re
from functools import lru_cache
from itertools import dropwhile
from typing import Final

from umi_core.language.languages import language_of, written_words
from umi_core.language.tables import STOP_WORDS
from umi_live.english import (
    BEINGS,
    CALENDAR,
    CORRECTIONS,
    DOUBTFUL_NAMES,
    FILLERS,
    GIVEN_NAMES,
    LOCATIONS,
    NO_NAMES,
    OCCUPATION,
    OF_PERSONS,
    ORDINARY_NAMES,
    ORDINARY_WORDS,
    ORGANIZATIONS,
    PARTS_OF_EMPLOYERS,
    PROJECTS,
    WORD_ENDINGS,
)
from umi_live.places import PARENTS, PARTS_OF_PLACES, is_place

SENTENCE_COUNT_MAX: Final = 4_096  # cached sentences
NAME_WORD_COUNT_MAX: Final = 4

PICTURES: Final = re.compile("[\u200d\u2190-\u2bff\ufe0e\ufe0f\U0001f000-\U0001faff\U000e0020-\U000e007f]+")
ALONE: Final = r"(?<![\w'\u2019.@-])(?:{})(?![\w@-]|[.]\w)"  # a separate word, not the `i` of `i.e.`
CARELESS: Final = re.compile(rf"[^\w'\"(]*[a-z]|.*{ALONE.format('i|im|ive')}|Im ", re.DOTALL)
WITH_END: Final = re.compile(r"[.!?\u2026][\"')]*\Z")
MARKS: Final = " ,.!:;-\u2026"
EMOTICONS: Final = frozenset(
    ":) :-) :D :-D ;) ;-) :( :-( :P :p xD XD <3 :/ ^^ :') :'( =) :] (: -_- :3 :o".split()
)
OPENING_WORDS: Final = (
    "so|and|but|also|anyway|actually|now|today|yesterday|recently|then|honestly|"
    "(?:last|this) (?:week|month|year)"
)
SUBJECT: Final = re.compile(
    rf"(?:(?:{OPENING_WORDS}|{CORRECTIONS})[,:;!\u2026]* |no[,:;!\u2026]+ )*"
    r"(?:(?:i|im|ive|we|weve|my|our)(?![\w-])|(?:you can )?call me |"
    r"(?P<bare>(?:(?:just|finally|recently|officially) )+(?:moved|relocated|started|got|quit|turned|left)\b|"
    r"(?:moved|relocated) to\b))",
    re.IGNORECASE,
)
SPELLINGS: Final = {
    "im": "I'm", "ive": "I've", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "isnt": "isn't",
    "arent": "aren't", "wasnt": "wasn't", "werent": "weren't", "cant": "can't", "couldnt": "couldn't",
    "wont": "won't", "wouldnt": "wouldn't", "havent": "haven't", "hasnt": "hasn't", "fav": "favorite",
    "fave": "favorite", "hav": "have", "luv": "love", "i": "I", "weve": "we've",
}  # fmt: skip
SPELLING: Final = re.compile(ALONE.format("|".join(SPELLINGS)), re.IGNORECASE)
NAMES: Final = re.compile(r"\b([Mm]y name)s (?!are\b|were\b|and\b)")  # "my names ann"
DATE_WORD: Final = re.compile(  # "may" and "march" are months only after `in`, `since`, `last` or `next`
    r"\b(?:january|february|april|june|july|august|september|october|november|december|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|"
    r"(?:(?<=in )|(?<=since )|(?<=last )|(?<=next ))(?:may|march))\b"
)

# Phrases before a name; after GIVEN, only a given name.
MOVED: Final = r"(?:moved?|moving|relocated?|relocating)(?: back| away| out)?(?: to| from| of)"
PLACE: Final = (
    r"(?:lives?|living|lived|based|located|settled|born|raised) in|grew up in|"
    r"(?:I'm|am|are|come)(?: originally)? from"
)
EMPLOYER: Final = (
    r"(?:works?|working|worked|employed|interned|interning) (?:at|for|by)|"
    r"started (?:(?:working )?at|working for)|(?:job|position|role|internship) (?:at|with)|"
    r"left|quit|(?:resigned|retired) from|(?:fired|laid off) (?:by|from)|"
    rf"[Mm]y (?:new )?employer is|now at|{OCCUPATION} (?:at|for|with)"
)
PERSON: Final = r"[Mm]y name(?: is|'s)|(?:named|called)"
GIVEN: Final = (
    r"I'm|I am|[Cc]all me|(?:married|engaged) to|met|know|dating|"
    rf"[Mm]y (?:{'|'.join(sorted(BEINGS))})(?: is| was)?"
)
LEAD: Final = re.compile(
    rf"\b(?:(?P<moved>{MOVED})|(?P<place>{PLACE})|(?P<employer>{EMPLOYER})|(?P<person>{PERSON})|"
    rf"(?:{GIVEN})) (?=[a-z])"
)
WORD: Final = re.compile(r"(?:the )?([a-z][\w'\u2019&-]*) ?")
UNIT: Final = r"(?:hour|day|week|month|year)s?"
END: Final = re.compile(  # what may follow a name
    r"\Z|[.,;:!?()]|(?:now|and|but|because|so|with|for|since|as|in|on|at|last|next|this|yesterday|today|"
    r"recently|again|any ?more|any longer|when|where|before|after|near|from|to|by|instead|until|till|while|"
    r"though|which|who|is|or|too|also|right|these|currently|ago|nice|bc|cuz|cos)\b|"
    rf"(?:an?|one|two|three|four|five|six|some|a few|a couple of|\d+) (?:\w+ )?{UNIT}\b"
)
ONWARD: Final = re.compile("(?:,| to| from) (?=[a-z])")  # Rome, Italy; from Rome to Oslo
ENDINGS: Final = (*WORD_ENDINGS, *"ed ly ous ive able ible less ology ize ise ical".split())
ORDINARY: Final = NO_NAMES.union(
    ORDINARY_WORDS, CALENDAR, BEINGS, OF_PERSONS, ORGANIZATIONS, LOCATIONS, PROJECTS, STOP_WORDS
)


@lru_cache(maxsize=SENTENCE_COUNT_MAX)
def write_out(sentence: str) -> str:
    """Return a casual sentence about its speaker in careful spelling, and any other sentence unchanged."""
    if CARELESS.match(sentence) is None and WITH_END.search(sentence) and not sentence.isupper():
        return sentence
    text = drop_fillers(sentence)
    if text.isupper() and " " in text:
        text = text.lower()
    subject = SUBJECT.match(text)
    if subject is None or is_german(text):
        return sentence
    text = NAMES.sub(r"\1 is ", SPELLING.sub(lambda match: SPELLINGS[match[0].lower()], text))
    text = f"I {text[:1].lower()}{text[1:]}" if subject["bare"] else text[:1].upper() + text[1:]
    return mark_names(DATE_WORD.sub(lambda match: match[0].capitalize(), text))


def drop_fillers(sentence: str) -> str:
    """Return a sentence without emoji, and without meaningless words at its ends, such as `lol`."""
    parts = PICTURES.sub(" ", sentence).split()
    while parts and is_filler(parts[-1]):
        parts.pop()
    text = re.sub(" (?=[,.!?;])", "", " ".join(dropwhile(is_filler, parts))).strip(" ,")
    is_asked = sentence.rstrip().endswith("?") and not text.endswith("?")
    return f"{text}?" if is_asked else text


def is_filler(part: str) -> bool:
    return part in EMOTICONS or part.strip(MARKS).lower() in FILLERS


def is_german(text: str) -> bool:
    """Return whether `im` is the German word: `im Sommer`, `im letzten Sommer war es`."""
    rest = text[3:]
    is_other = rest[:1].isupper() or language_of(rest, written_words(rest)) not in ("", "en")
    return text[:3].lower() == "im " and is_other


# Names.


def mark_names(text: str) -> str:
    """Return a text with capital letters for names after the phrases of LEAD."""
    parts, at = list[str](), 0
    for lead in LEAD.finditer(text):
        end = lead.end()
        while end >= at and (found := find_name(text, end, lead)) is not None:
            parts += (text[at:end], capitalize_words(text[end:found]))
            at = found
            onward = (lead["place"] or lead["moved"]) and ONWARD.match(text, at)
            end = onward.end() if onward else -1
    return "".join((*parts, text[at:]))


def find_name(text: str, at: int, lead: re.Match[str]) -> int | None:
    """Return the end of the name that begins at `at`; None if the words there may be no name."""
    found, end = list[str](), at
    while not END.match(text, at) and len(found) <= NAME_WORD_COUNT_MAX:
        if (match := WORD.match(text, at)) is None:
            return None
        found.append(match[0].rstrip())
        end, at = match.end(0) - match[0].endswith(" "), match.end()
    is_name = 0 < len(found) <= NAME_WORD_COUNT_MAX and is_written_small(found, lead)
    return end if is_name else None


def is_written_small(found: list[str], lead: re.Match[str]) -> bool:
    """Return whether these words in small letters are a name."""
    own = [it for it in found if it not in PARTS_OF_PLACES]
    if lead["place"] or lead["moved"]:
        name = " ".join(found)
        if is_place(name) and name not in ORDINARY:
            return True
        return lead["moved"] is None and bool(own) and not any(map(is_ordinary, own))
    if not (lead["employer"] or lead["person"]):
        return found[0] in GIVEN_NAMES - DOUBTFUL_NAMES and not any(map(is_ordinary, found[1:]))
    own = [it for it in own if it not in ORGANIZATIONS and it not in PARTS_OF_EMPLOYERS]
    return bool(own) and not any(map(is_ordinary, own))


def is_ordinary(word: str) -> bool:
    if word in GIVEN_NAMES or word in ORDINARY_NAMES or (word in PARENTS and word not in ORDINARY):
        return False
    return " " in word or word in ORDINARY or (len(word) > 4 and word.endswith(ENDINGS)) or len(word) == 1


def capitalize_words(text: str) -> str:
    return " ".join(it if it == "the" else it[:1].upper() + it[1:] for it in text.split(" "))

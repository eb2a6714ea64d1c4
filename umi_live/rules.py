"""Read simple sentences: which names each one is about, and what kind of fact it states.

    Alice and Bob live in Paris.    two names, each with a type
    She works at Acme.              the only person of the sentence before, and Acme
    My name is Ann. I like tea.     from here on, I is Ann
    Sounds like fun!                no name: a note

The sentences are English, or a phrase in another language that phrases.py knows.

Law 1. Pure, and invents nothing: a sentence whose form the rules do not know is about no name.
Law 2. A missing name is better than a wrong one: a capitalised word is a name only if there is evidence.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.language.persons import SPEAKER_WORDS
from umi_core.language.tables import TITLES
from umi_core.language.words import words
from umi_core.text import norm
from umi_live.casual import SENTENCE_COUNT_MAX, write_out
from umi_live.english import (
    ASSISTANT,
    BEINGS,
    CALENDAR,
    DOUBTFUL_NAMES,
    GIVEN_NAMES,
    LOCATIONS,
    NO_NAMES,
    OF_ASSISTANT,
    OF_PERSONS,
    OPENERS,
    ORGANIZATIONS,
    PROJECTS,
    ROLES,
    WORD_ENDINGS,
)
from umi_live.phrases import KIN, OTHER_VERBS, divide_phrases, is_own, translate, translate_other

CAPITAL: Final = r"[^\W\d_a-z][\w-]*"  # a word that does not begin with a small letter
TITLE: Final = rf"(?:{'|'.join(TITLES)})\. "
NAME: Final = rf"(?:{TITLE})?(?:[A-Z]\. )*{CAPITAL}(?: (?:[A-Z]\. )*{CAPITAL})*"
OFTEN: Final = "(?:(?:now|currently|also|still|really|just|always|often|usually|recently|absolutely) )*"
THIRD_PERSONS: Final = frozenset(("he", "she", "his", "her", "him", "they", "them"))
OWN_ROLES: Final = ("", "user")  # roles of turns that are spoken by the speaker whom a caller names
PROFILE: Final = ("profile",)

PREPOSITIONS: Final = "to|in|at|from|of|with|for|on|about|by|and|or|like|as|than|after|before|through"
RELATIVE: Final = rf"(?:My|Our|His|Her|Their) ((?:(?!(?:{PREPOSITIONS}) )[a-z-]+ ){{1,3}})({NAME}),? "
FORMER: Final = frozenset("former old other previous".split())  # `my old boss` is not `my boss`
# CLAIM matches the beginning of a clause with a subject of its own, at any place in a sentence.
VERBS: Final = "is|are|has|have|was|lives?|works?|likes?|loves?|hates?|plays?|moved|got"
CLAIM: Final = (
    rf"(?:(?:[Ii]|[Ww]e)(?:['\u2019]?(?:m|ve)|['\u2019](?:re|ll))? [a-z]|[Mm]y [a-z ]+(?:{VERBS})\b|"
    rf"{CAPITAL} (?:{VERBS})\b)"
)
NEXT_CLAIM: Final = re.compile(rf",? (?:and|but) (?={CLAIM})|; (?={CLAIM})")
HEDGE: Final = re.compile(
    r"\b(?:if|that|whether|when|unless|either|hope|hoped|think|thought|doubt|wish|said|says?|told|tell|believe|"
    r"guess|sure|imagine|suppose|dream|dreamed|pretend|would|could|should|might|maybe|perhaps|want|wanted)\b|"
    r"['\u2019]d\b",
    re.IGNORECASE,
)
# Words that take back the clause before: "I moved, but I am back."
UNDONE: Final = re.compile(r"\b(?:still|back|again|return(?:s|ed)?)\b")
FIRST_CLAIM: Final = re.compile(CLAIM)
KINDS: Final = (
    ("person", BEINGS), ("organization", ORGANIZATIONS), ("location", LOCATIONS), ("project", PROJECTS),
)  # fmt: skip

Named = tuple[str, str]  # a name and its type


class SentenceCue(Data):
    """Words that may follow a subject, and the kind of fact that the sentence then states.

    `third`: the form after one name; `base`: the form after I or two names. A name of type `kind` may follow.
    `is_sure`: only persons and the like have this predicate, so the word before it is a name. `is_alone`: the
    predicate mentions no other being that a later `he` or `she` could mean.
    """

    third: str
    base: str
    kind: str = ""
    category: str = "facts"
    memory_types: tuple[str, ...] = PROFILE
    is_sure: bool = False
    is_alone: bool = True


LIKING: Final = ("profile", "behavior")
SKILL: Final = ("profile", "skill")
CUES: Final = (
    SentenceCue("works (?:at|for)|is (?:working|employed) (?:at|by|for)",
        "work (?:at|for)|am (?:working|employed) (?:at|by|for)",
        "organization", is_sure=True),
    SentenceCue("joined", "joined", "organization", is_sure=True),
    SentenceCue("(?:found|got|took|started) (?:an?|the|his|her|their|my) (?:new )?job (?:at|with)",
        "(?:found|got|took|started) (?:an?|the|my|our) (?:new )?job (?:at|with)", "organization",
        is_sure=True),
    SentenceCue("lives in|moved (?:house )?to|relocated to|is living in",
        "live in|moved (?:house )?to|relocated to|(?:am|are) living in", "location", is_sure=True),
    SentenceCue("is (?:based|located) in|is (?:originally )?from",
        "(?:am|are) (?:based in|(?:originally )?from)", "location"),
    SentenceCue("speaks(?! to)|knows how to", "speak|know how to", category="skills", memory_types=SKILL,
        is_sure=True),
    SentenceCue("knows|met|is (?:married|engaged) to|got (?:married|engaged) to",
        "know|met|(?:am|are) (?:married|engaged) to|got (?:married|engaged) to", "person", is_sure=True,
        is_alone=False),
    SentenceCue("likes|loves|prefers|hates|enjoys|dislikes|adores|is allergic to|is afraid of|is fond of",
        "like|love|prefer|hate|enjoy|dislike|adore|am allergic to|am afraid of|am fond of|am into|don't like|"
        "do not like", category="preferences", memory_types=LIKING, is_sure=True),
    SentenceCue("can|is good at", "can(?! you)|am good at|are good at", category="skills",
        memory_types=SKILL),
    SentenceCue(r"works as|studies|is (?:married|single|divorced|engaged|widowed|retired|\d+ years old)|"
        r"turned \d+|"
        "got (?:married|divorced|engaged)|no longer|drinks|eats|wants|adopted|quit",
        r"work as|study|am (?:married|single|divorced|engaged|widowed|retired|\d+ years old)|turned \d+|"
        "got (?:married|divorced|engaged)|no longer|drink|eat|want|adopted|quit", is_sure=True),
    SentenceCue("has|owns|needs|left|plays|uses", "have|own|need|left|play|use", is_alone=False),
    SentenceCue("is|was|became|will|works|got|moved|lost|gave up|resigned|retired|used to|"
        "doesn't|does not|isn't|stopped|switched|changed",
        "am|are|work|got|moved|lost|gave up|resigned|retired|used to|"
        "became|will|don't|do not|stopped|switched|changed"),
)  # fmt: skip
SAID: Final = SentenceCue("", "")  # stands for any other predicate


class RuleStatement(Data):
    """A sentence, and the names that it is about, each with its type; the first is its subject."""

    sentence: str
    names: tuple[Named, ...] = ()
    cue: SentenceCue | None = None
    is_alone: bool = False  # whether the subject is one person, and no other being is mentioned


class SpeakerTurn(Data):
    """Sentences of one speaker; `role` is empty if the speaker is unknown."""

    role: str
    sentences: tuple[str, ...]


class SentenceContext(Data):
    """The context of a sentence: the names so far, and the persons that I, he or she and `the user` are."""

    names: set[str]
    speaker: Named | None = None
    alone: Named | None = None
    user: str | None = None


def read(
    turns: Iterable[SpeakerTurn], speaker: str | None = None, user: str | None = None
) -> Iterator[RuleStatement]:
    """Yield a statement for each sentence, in order.

    `speaker`: the name for I in turns without a role, or of role user. `user`: the name for `the user`.
    """
    listed = tuple(turns)
    names = set(find_names(listed))
    speakers = {turn.role: (turn.role, "person") for turn in listed if is_speaker(turn.role)}
    speakers |= dict.fromkeys(OWN_ROLES, (speaker, "person")) if speaker else {}
    assistants = {
        turn.role
        for turn in listed
        for it in turn.sentences
        if re.search(OF_ASSISTANT, simplify_sentence(it))
    }
    # Names are collected from all turns first: "Zork is late." may be confirmed by a later "with Zork".
    for turn in listed:
        alone: Named | None = None
        others = set[str]()  # beings that the turn has mentioned so far
        for sentence in divide_sentences(turn.sentences):
            introduced = introduce(text := simplify_sentence(sentence))
            known = speakers.get(turn.role, (introduced,))[0]
            # "My name is Umi and I help with ..." is said by an assistant, even in a turn without a role.
            is_assistant = turn.role == "" and re.search(OF_ASSISTANT, text) is not None
            if introduced and (norm(known) == norm(introduced) or is_assistant):
                speakers[turn.role] = introduced, "self" if turn.role in assistants else "person"
            it = read_sentence(sentence, SentenceContext(names, speakers.get(turn.role), alone, user))
            if introduced and norm(introduced) not in {norm(name) for name, _ in it.names}:
                it = structs.replace(it, names=(*it.names, (introduced, "person")))
            # A later `she` is resolved only while the turn has mentioned a single person.
            others |= set(find_beings(it))
            alone = it.names[0] if it.is_alone and others <= {it.names[0][0]} else None
            names |= {name for name, _ in it.names}
            yield it


# Names.


def find_names(turns: Iterable[SpeakerTurn]) -> Iterator[str]:
    """Yield names that are capitalised in mid-sentence, where ordinary words are not."""
    for turn in turns:
        for sentence in turn.sentences:
            found = (match[1] for match in re.finditer(rf"(?<=[a-z,] )({NAME})", sentence))
            yield from (name for name in found if is_possible(name, is_inside=True))


def find_beings(statement: RuleStatement) -> Iterator[str]:
    """Yield all beings that a sentence mentions, its own persons included, but no pronouns."""
    yield from (name for name, kind in statement.names if kind == "person")
    parts = re.findall(r"[\w-]+", own_part(statement.sentence))
    yield from (it for it in parts if it[0].isupper() and it.lower() in GIVEN_NAMES)
    yield from (it for it in parts if it.lower() in BEINGS - THIRD_PERSONS)


def own_part(text: str) -> str:
    """Return a sentence without phrases such as "is a teacher", which describe its subject."""
    return re.sub(r"\b(?:is|as) (?:an?|the) (?:[\w-]+ )*?[\w-]+", "", text)


def is_speaker(role: str) -> bool:
    return role.lower() not in ROLES and re.fullmatch(NAME, role) is not None and is_possible(role)


def is_possible(name: str, is_inside: bool = False) -> bool:
    """Return whether this can be a name: it has no ordinary word, and none of the calendar.

    `is_inside`: it does not begin a sentence. There several ordinary words can be a name: New York.
    """
    # "I" alone is no name; "May", "Friday" and "OK" would be names too often.
    parts = words(name)
    if not parts or "i" in parts or not CALENDAR.isdisjoint(parts) or (name.isupper() and len(name) < 3):
        return False
    if is_inside and len(parts) > 1:
        return True
    if parts[0] not in GIVEN_NAMES and not GIVEN_NAMES.isdisjoint(parts[1:]) and not re.match(TITLE, name):
        return False  # "Bet Max loves it": the name begins after the first word
    endings = () if is_inside else WORD_ENDINGS  # "Gaming likes", but "in Beijing"
    ordinary = [it for it in (parts[0], parts[-1]) if it in NO_NAMES or it.endswith(endings)]
    return all(it in GIVEN_NAMES for it in ordinary)


def is_given(name: str) -> bool:
    """Return whether this begins with a common given name, or with a title such as `Dr.`"""
    return words(name)[0] in GIVEN_NAMES or re.match(TITLE, name) is not None


def is_name(name: str, cue: SentenceCue, object_name: str, names: set[str]) -> bool:
    """Return whether there is evidence that the beginning of a sentence is a name."""
    if not is_possible(name, is_inside=name in names):
        return False
    is_plural = name.endswith("s")  # "Kids joined"
    # "Zork works at Globex" shows that Zork is a name, "Spam works at times" does not: a cue with a `kind`
    # is evidence only if a name follows it.
    has_evidence = cue.is_sure and not is_plural and bool(object_name or not cue.kind)
    return has_evidence or name in names or is_given(name) or " " in name


def type_of(name: str, cue: SentenceCue, text: str) -> str:
    """Return the type of a subject, by its own words and by the words after it."""
    behind = words(text)[len(words(name)) :][:6]
    for kind, nouns in KINDS[1:]:
        if words(name)[-1] in nouns:
            return kind
        if behind[:1] == ("is",) and not is_given(name) and not cue.is_sure and not nouns.isdisjoint(behind):
            return kind
    return "person" if cue.is_sure or is_given(name) or not OF_PERSONS.isdisjoint(behind) else "topic"


# Sentences.


def introduce(text: str) -> str:
    """Return the name by which a speaker introduces themselves in a sentence; empty if there is none."""
    found = re.match(
        rf"(?:My name is|(?:You can )?[Cc]all me|I am called) ({NAME})|I am ({NAME}), (?:your|an?) ", text
    )
    if name := found and (found[1] or found[2]):
        return name if is_possible(name) else ""
    # "I'm Priya." and "Hi, I'm Priya, nice to meet you!", but not "I'm French."
    found = re.match(rf"I am ({NAME})(?=[.,!]|$| (?:and|from|by)\b)", text)
    is_own = found is not None and words(found[1])[0] not in DOUBTFUL_NAMES and is_given(found[1])
    return found[1] if found and is_own and is_possible(found[1]) else ""


def name_assistant(text: str) -> str:
    """Return the name that a sentence gives to the assistant it addresses; empty if there is none."""
    found = re.match(
        rf"Your name is ({NAME})|You are (?:called )?({NAME}), (?:an?|the|my|our) {ASSISTANT}", text
    )
    name = found and (found[1] or found[2])
    return name if name and is_possible(name) else ""


def divide_sentences(whole: Iterable[str]) -> Iterator[str]:
    """Yield sentences; one with two claims is divided, so that a later statement can end either alone.

    I'm Ben and I live in Dublin.       I'm Ben / I live in Dublin.
    Tom and I live in Dublin.           not divided: one claim
    I hope I win and I get rich.        not divided: a hope is no claim
    I moved, but I am back.             not divided: the second part takes back the first
    """
    for sentence in whole:
        parts = NEXT_CLAIM.split(sentence)
        # Only the whole sentence shows that an assistant speaks: "My name is Umi and I help you."
        is_one = sentence.endswith("?") or re.search(OF_ASSISTANT, sentence) or HEDGE.search(sentence)
        is_undone = any(map(UNDONE.search, parts[1:]))
        if len(parts) > 1 and not is_one and not is_undone and FIRST_CLAIM.match(simplify_sentence(parts[0])):
            yield from parts if sentence[:1].islower() else (it[:1].upper() + it[1:] for it in parts)
        else:
            yield from divide_phrases(sentence)


@lru_cache(maxsize=SENTENCE_COUNT_MAX)
def simplify_sentence(sentence: str) -> str:
    """Return a sentence without openers such as "Well, ", capitalised, and with I'm written as I am.

    A known phrase in another language is translated to English.
    """
    if simplified := translate(sentence) or translate_other(sentence):
        return simplified
    sentence = write_out(sentence)
    text = re.sub(f"^{OPENERS}", "", sentence, flags=re.IGNORECASE)
    text = text if text == sentence else text[:1].upper() + text[1:]
    text = re.sub(r"\b(I|[Yy]ou|[Ww]e|[Tt]hey)['\u2019](m|re|ve)\b", expand_match, text)
    return re.sub(r"\b([Hh]e|[Ss]he|name)['\u2019]s\b", r"\1 is", text)


def expand_match(match: re.Match[str]) -> str:
    return f"{match[1]} {({'m': 'am', 're': 'are', 've': 'have'})[match[2]]}"


def read_sentence(sentence: str, context: SentenceContext) -> RuleStatement:
    """Return the statement of a sentence: its names, and the cue that was found."""
    text = simplify_sentence(sentence)
    if name := name_assistant(text):
        return RuleStatement(sentence, ((name, "self"),), SAID)
    # Questions state nothing: "Ann works at Acme?"
    if text.endswith("?"):
        return RuleStatement(sentence)
    found = read_subject(text, context)
    found = structs.replace(found, sentence=sentence) if found else RuleStatement(sentence)
    is_first = not SPEAKER_WORDS.isdisjoint((*words(sentence), *words(text))) or is_own(sentence)
    found = first_person(found, text, context.speaker) if is_first else found
    return structs.replace(found, names=tuple((spell(name, sentence), kind) for name, kind in found.names))


def spell(name: str, sentence: str) -> str:
    """Return a name in the spelling of the sentence, which may have small letters."""
    at = -1 if name in sentence else sentence.lower().find(name.lower())
    return name if at < 0 else sentence[at : at + len(name)]


def read_subject(text: str, context: SentenceContext) -> RuleStatement | None:
    """Return the statement about the name, names or pronoun at the beginning; None if no form fits."""
    for pattern, read_names in SUBJECTS:
        if match := re.match(pattern, text):
            return read_names(match, text, context)
    return None


def read_pair(match: re.Match[str], text: str, context: SentenceContext) -> RuleStatement | None:
    """Read a sentence such as "Ann and Bob live in Paris"."""
    found = cue_of(text[match.end() :], "base")
    if found is None or not all(is_name(it, *found, context.names) for it in match.groups()):
        return None
    return about(text, tuple((it, type_of(it, found[0], text)) for it in match.groups()), *found)


def name_relative(text: str) -> tuple[str, str, str] | None:
    """Return relation, name and predicate of a sentence that begins with a relative; else None.

    "My big sister Ann lives in Paris": "my sister", "Ann", "lives in Paris".
    """
    match = re.match(RELATIVE, text)
    if match is None or match[1].split()[-1] not in BEINGS or not is_possible(match[2], is_inside=True):
        return None
    owner, *others, noun = text[: match.start(2)].lower().split()
    own = [it for it in others if it in FORMER]
    relation = " ".join(("my" if owner == "our" else owner, *own, KIN.get(noun, noun)))
    return relation, match[2], text[match.end() :]


def read_relative(match: re.Match[str], text: str, context: SentenceContext) -> RuleStatement | None:
    """Read a sentence such as "My sister Ann lives in Paris"."""
    found = cue_of(text[match.end() :], "third")
    if found is None or not is_possible(match[2], is_inside=True):
        return None
    kinds = [kind for kind, nouns in KINDS if not nouns.isdisjoint(words(match[1]))]
    return about(text, ((match[2], [*kinds, "topic"][0]),), *found, is_alone=False)


def read_user(match: re.Match[str], text: str, context: SentenceContext) -> RuleStatement | None:
    """Read sentences such as "The user lives in Paris" and "The user's dog is old"."""
    found = (SAID, "") if match[1] else cue_of(text[match.end() :], "third")
    if context.user is None or found is None:
        return None
    return about(text, ((context.user, "person"),), *found, is_alone=not match[1])


def read_owner(match: re.Match[str], text: str, context: SentenceContext) -> RuleStatement | None:
    """Read sentences such as "Ann's birthday is in spring" and "Ann's allergic to nuts"."""
    is_known = is_possible(match[1]) and (match[1] in context.names or is_given(match[1]))
    subject = match[1], type_of(match[1], SAID, text)
    return about(text, (subject,), SAID, "", is_alone=False) if is_known else None


def read_name(match: re.Match[str], text: str, context: SentenceContext) -> RuleStatement | None:
    """Read a sentence such as "Ann lives in Paris"."""
    found = cue_of(text[match.end() :], "third")
    if found is None or not is_name(match[1], *found, context.names):
        return None
    return about(text, ((match[1], type_of(match[1], found[0], text)),), *found)


def read_given(match: re.Match[str], text: str, context: SentenceContext) -> RuleStatement | None:
    """Read a sentence such as "Anna ist gegen Nüsse allergisch"."""
    if not is_given(match[1]) or not is_possible(match[1]):
        return None
    return about(text, ((match[1], "person"),), SAID, "", is_alone=False)


def read_pronoun(match: re.Match[str], text: str, context: SentenceContext) -> RuleStatement | None:
    """Read a sentence such as "She lives in Paris" after one that mentions a single person."""
    if context.alone is None:
        return None
    found = cue_of(text[match.end() :], "third") or (SAID, "")
    return about(text, (context.alone,), *found, is_alone=match[1] in ("He", "She"))


# The first matching form is used, so two names come before one, and an owner ("Ann's") before a plain name.
SUBJECTS: Final = (
    (rf"({NAME}),? (?:and|&) ({NAME}) ", read_pair),
    (RELATIVE, read_relative),
    ("(He|She|His|Her) ", read_pronoun),
    (r"(?:The user|User)(['\u2019]s)? ", read_user),
    (rf"({NAME})['\u2019]s? ", read_owner),
    (rf"({NAME}) (?:{OTHER_VERBS}) ", read_given),
    (rf"({NAME}) ", read_name),
)  # fmt: skip


def cue_of(rest: str, form: str) -> tuple[SentenceCue, str] | None:
    """Return the first cue with which these words begin, and the name after it, or "" for none."""
    for cue in CUES:
        if match := re.match(rf"{OFTEN}(?:{getattr(cue, form)})(?![\w'])(?: (?:the )?({NAME}))?", rest):
            name = match[1] or ""
            return cue, name if cue.kind and name and is_possible(name, is_inside=True) else ""
    return None


def about(
    text: str, subjects: tuple[Named, ...], cue: SentenceCue, other: str, is_alone: bool = True
) -> RuleStatement:
    """Return a statement about these subjects and the name `other` after the cue, if there is one."""
    kind = "person" if other and cue.kind == "organization" and is_given(other) else cue.kind
    others = [it[1] for it in re.finditer(rf"(?<= )({NAME})", text[len(subjects[0][0]) :])]
    others = [it for it in others if is_possible(it, is_inside=True)]
    # "Ann met Bob. She is tired." mentions two persons, so `she` is not resolved; in "Ann works at Acme.
    # She is tired." it is Ann.
    is_single = set(others) <= {other} and BEINGS.isdisjoint(words(own_part(text))[1:]) and kind != "person"
    is_alone = is_alone and cue.is_alone and is_single and [it[1] for it in subjects] == ["person"]
    return RuleStatement(text, (*subjects, *([(other, kind)] if other else [])), cue, is_alone)


def first_person(found: RuleStatement, text: str, speaker: Named | None) -> RuleStatement:
    """Return a statement in the first person, with the speaker, if known, as one more name."""
    if found.cue is not None:
        return structs.replace(found, names=(*found.names, *([speaker] if speaker else [])), is_alone=False)
    match = re.match("(I|We) ", text)
    cue = cue_of(text[match.end() :], "base") if match is not None else None
    if cue is None and re.match(r"(?:My|Our) .*\b(?:is|are|was)\b", text):
        cue = SAID, ""
    if cue is None or speaker is None:
        return structs.replace(found, names=(speaker,) if speaker else (), cue=cue[0] if cue else None)
    it = structs.replace(about(text, (speaker,), *cue, is_alone=False), sentence=found.sentence)
    own = name_own_person(text)
    return structs.replace(it, names=(*it.names, (own, "person"))) if own else it


def name_own_person(text: str) -> str:
    """Return the name of a person that a sentence relates to its speaker: "My boss is Eva"; else ""."""
    match = re.fullmatch(rf"(?:My|Our) (?:[\w-]+ )*?([\w-]+) (?:is|was)(?: called)? ({NAME})[.!]*", text)
    if match is None or match[1] == "name" or not is_possible(match[2], is_inside=True):
        return ""
    return match[2] if match[1].lower() in BEINGS or is_given(match[2]) else ""

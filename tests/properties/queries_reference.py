"""Read queries: references, persons, rewrites and variants."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Final

from tests.properties.replies_reference import objects_of, payload_of
from tests.properties.text_reference import (
    Spoken,
    apart_in_spanish,
    bare,
    byte_count,
    fold_name,
    language_of,
    name_places,
    one_line,
    replace_surrogates,
    spoken_words,
    words,
)
from umi_core import limits
from umi_core.data import Data
from umi_core.language.replies import ArrayOf
from umi_core.language.tables import (
    ADJECTIVE_ENDINGS,
    ARTICLES,
    ASKED,
    ASKING,
    BEFORE_CLITIC,
    BEFORE_NOUN,
    BEHIND_CLITIC,
    CHINESE_PERSON_ROWS,
    CLAUSE_OPENING,
    DETERMINERS,
    ELLIPSIS_ROWS,
    GENERAL,
    HELPING,
    IDIOM_ROWS,
    INDEFINITE,
    INVERTED,
    JOINING,
    LIGHT_WORDS,
    MARKS,
    MEASURES,
    MENTIONING,
    NARROWING,
    NO_NOUN_CHARACTERS,
    NO_POINTERS,
    NO_THIRD,
    NOUNLESS,
    NOUNLESS_ARTICLES,
    NUMERALS,
    ONES,
    OTHERS,
    PERSON_ROWS,
    POINTERS,
    POINTING,
    POINTING_CHARACTERS,
    RANKED,
    REFLEXIVE,
    SAID_BY_OTHERS,
    SAME,
    STOP_WORDS,
    TERM_ROWS,
    THIRD_PERSON,
    TIME_NOUNS,
    TRIGGERS,
    UNIQUE,
)
from umi_core.messages.results import Resolution
from umi_core.values import Turn

# References: the words of a query that refer to an earlier turn, as M13.2 to M13.4 find them.
#
# What did he say about that?        he, that
# fix it like before, before noon    it, like before, before
# Is there a cache?                  none: it exists, nothing is pointed at
# Show me the IT budget              none: a name
# Where does Ella live?              none: a name, and no word of this language
# Is it true that cats sleep?        none: it is what follows that is true


PHRASE_WORDS: Final = 7  # that a term or a phrase has at most


class Term(Data):
    text: str
    language: str


class References(Data):
    """The terms of a text in order, repeated ones too; the words outside of them; the terms' languages.

    `spoken` is the language of the text. Of the other words `names` and `big` have a capital, and `nouns` may
    go with a demonstrative.
    """

    terms: tuple[str, ...]
    others: tuple[str, ...]
    languages: tuple[str, ...]
    spoken: str = ""
    names: tuple[str, ...] = ()
    big: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    definite: tuple[str, ...] = ()
    order: tuple[str, ...] = ()  # the words outside; in place of each term, `#` and its number


def references(text: str, language: str | None = None, known: Collection[str] = ()) -> References:
    """Find the references of a text. `language`: that of the query, if this is a rewrite of it.

    `known`: nouns that may stand behind an article and refer to something.
    """
    spoken = spoken_words(text)
    own = language_of(text, spoken) if language is None else language
    spoken = apart_in_spanish(spoken) if own == "es" else spoken
    names = name_places(text, spoken, own)
    found: list[Term] = []
    outside: list[int] = []
    nouns: list[str] = []
    definite: list[str] = []
    order: list[str] = []
    place = 0
    while place < len(spoken):
        term, count = longest_at(spoken, place, own, names)
        if term is None and count == 1 and words_of_nothing(spoken, place) == 0:
            term, count = open_term_at(spoken, place, own, known)
            if term is not None and count == 2 and term.text in known:
                definite.append(term.text)
            if spoken[place].text in ARTICLES.get(own, ()):
                definite += [it.text for it in spoken[place + 1 : place + count] if it.text in known]
        if term is None:
            outside += range(place, place + count)
            order += [it.text for it in spoken[place : place + count]]
        else:
            order.append(f"#{len(found)}")
            found.append(term)
            nouns += nouns_behind(spoken, place, place + count, term)
        place += count
    return References(
        tuple(term.text for term in found),
        tuple(spoken[at].text for at in outside),
        tuple(dict.fromkeys(term.language for term in found)),
        own,
        tuple(spoken[at].text for at in outside if at in names),
        tuple(spoken[at].text for at in outside if spoken[at].is_big),
        tuple(nouns),
        tuple(definite),
        tuple(order),
    )


# Words that refer to something in some places only.
#
# Which one has a garden?            one
# Darf er das?  Il la vend ?         das, la
# Did the boss call?                 the boss, if the turns have a boss
# And Berlin?                        and …


def open_term_at(
    spoken: list[Spoken], place: int, language: str, known: Collection[str]
) -> tuple[Term | None, int]:
    here, line = spoken[place].text, [it.text for it in spoken]
    own = language or "zh"
    if count := without_noun(spoken, place, language) or measured(line, spoken, place):
        return Term(("" if is_chinese(here) else " ").join(line[place : place + count]), own), count
    if place == 0:
        for name, most, row in ELLIPSIS_ROWS:
            for opening in sorted(row.split(", "), key=len, reverse=True):
                start = [it.text for it in spoken_words(opening)]
                rest = line[len(start) :]
                if (
                    name == own
                    and line[: len(start)] == start
                    and len(rest) <= most
                    and not HELPING & {*rest}
                ):
                    return Term(" ".join(start) + " …", own), len(start)
    if here == "呢" and place == len(line) - 1 and len(line) <= 4:
        return Term("呢 …", own), 1
    if is_without_noun(spoken, place, language):
        return Term(here, own), 1
    if language == "es" and is_verb_alone(line, spoken, place):
        return Term(f"… {here}", own), 1
    title = "".join(line[place : place + 2])
    is_other = "".join(line[place + 2 : place + 3]) in [*"费证所室院们"]
    if title in known and is_chinese(here) and not spoken[place].belongs and not is_other:
        return Term(title, own), 2
    after = spoken[place + 1] if place + 1 < len(spoken) else None
    if (
        here not in ARTICLES.get(language, ())
        or after is None
        or not after.belongs
        or after.text not in known
    ):
        return None, 1
    third = spoken[place + 2] if place + 2 < len(spoken) else None
    is_narrowed = third is not None and third.belongs and third.text in NARROWING | ONES
    is_noun = after.is_big if language == "de" else not after.is_big
    return (Term(f"{here} {after.text}", own), 2) if is_noun and not is_narrowed else (None, 1)


def without_noun(spoken: list[Spoken], place: int, language: str) -> int:
    """Return the length of `the latter` or `dem späteren`; 0 if a noun follows."""
    if spoken[place].text not in NOUNLESS_ARTICLES.get(language, ()):
        return 0
    behind = spoken[place + 1 : place + 2]
    if not behind or behind[0].is_big or not behind[0].belongs:
        return 0
    word = behind[0].text
    stands = word in NOUNLESS
    if language == "de" and word not in MARKS["de"]:
        stands = stands or any(word.endswith(it) for it in ADJECTIVE_ENDINGS["de"])
    after = spoken[place + 2] if place + 2 < len(spoken) else None
    ends = after is None or not after.belongs or after.text in MARKS[language] or after.text in HELPING
    return 2 if stands and ends else 0


def measured(line: list[str], spoken: list[Spoken], place: int) -> int:
    """Return the length of `那两本` or `第二个`; 0 if no such thing stands here."""
    if line[place] not in POINTING_CHARACTERS:
        return 0
    end = place + 1
    while end < len(line) and line[end] in NUMERALS:
        end += 1
    if end == len(line) or line[end] not in MEASURES:
        return 0
    if line[place] in ("那", "这"):
        return end + 1 - place
    # `两个人` counts persons.
    counts = end + 1 < len(line) and spoken[end + 1].belongs and line[end + 1] not in NO_NOUN_CHARACTERS
    return end + 1 - place if not counts and line[end] not in RANKED else 0


def is_chinese(word: str) -> bool:
    return 0x3400 <= ord(word[0]) <= 0x9FFF


def is_verb_alone(line: list[str], spoken: list[Spoken], place: int) -> bool:
    """Return True for a Spanish verb of the third person that is asked about without a subject."""
    verb, before = line[place], line[:place]
    if place == 0 or before[0] not in ASKING or any(word not in ASKED for word in before):
        return False
    if verb in NO_THIRD or spoken[place].is_big or not verb.endswith(tuple(THIRD_PERSON)):
        return False
    if "se" in before and verb not in REFLEXIVE:
        return False
    for it in spoken[place + 1 :]:
        if not it.belongs:
            break
        if it.is_big or it.text in MENTIONING:
            return False
    return True


def is_without_noun(spoken: list[Spoken], place: int, language: str) -> bool:
    here = spoken[place]
    before = spoken[place - 1].text if place and here.belongs else ""
    ahead: list[Spoken] = []
    for it in spoken[place + 1 : place + 4]:
        if not it.belongs:
            break
        ahead.append(it)
    after = ahead[0].text if ahead else ""
    if language == "en" and here.text in ONES:
        is_end = after == "" or after in MARKS["en"] or after in HELPING
        chosen = {it.text for it in spoken[max(0, place - 2) : place]} & POINTERS
        tells = after in ("of", "i", "you", "we", "they", "he", "she", "that", "who", "which")
        return (is_end or chosen != set()) and not tells and before != "" and before not in NO_POINTERS
    if language == "de" and here.text in ARTICLES["de"] and (place == 0 or here.belongs):
        big = [n for n, it in enumerate(ahead) if it.is_big and it.text not in MARKS["de"]]
        small = [n for n, it in enumerate(ahead) if it.text in MARKS["de"]]
        return big == [] or (small != [] and small[0] < big[0])
    if language == "es" and here.text in OTHERS:
        return after == "" or after in BEHIND_CLITIC["es"]
    if language == "es" and here.text in ARTICLES["es"]:
        is_pronoun = before in BEFORE_CLITIC["es"] or after in BEHIND_CLITIC["es"] or here.hyphen
        return is_pronoun or after == "de"
    if language != "fr":
        return False
    if here.text == "ce":
        plain = ("sera", "serait", "fut", "dont", "week")
        return not here.hyphen and after not in (*MARKS["fr"], *TIME_NOUNS, *plain)
    is_object = before in BEFORE_CLITIC["fr"] and not spoken[place - 1].hyphen
    is_object = is_object or (here.text == "l" and after in BEHIND_CLITIC["fr"])
    return here.text in ARTICLES["fr"] and is_object


def known_nouns(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the words that may be taken up with an article after these turns."""
    if not turns:
        return frozenset()
    seen = {*GENERAL}
    for turn in turns:
        line = spoken_words(turn.text)
        for place, it in enumerate(line):
            before = line[place - 1].text if place > 0 and it.belongs else ""
            # `the dog` alone tells no more than the question does, `the dog, Rex` does.
            is_bare = any(before in row for row in ARTICLES.values()) and before not in OTHERS
            if not is_bare or (place + 1 < len(line) and line[place + 1].is_big):
                seen.add(it.text)
        seen |= titled_in(turn.text)
    small = {word for marks in MARKS.values() for word in marks}
    return frozenset(word for word in seen if word not in STOP_WORDS | UNIQUE | small | NOUNLESS)


def titled_in(text: str) -> set[str]:
    """Return Chinese nouns of persons with more words: `刘医生`."""
    nouns = [noun for _, row in CHINESE_PERSON_ROWS for noun in row.split() if len(noun) == 2]
    found, at = set[str](), 1
    while at < len(text):
        noun = text[at : at + 2]
        before = text[at - 1]
        if noun in nouns and is_chinese(before) and before not in "跟和给对让叫被把向是":
            found.add(noun)
            at += 2  # the character before a noun is of no other one
        at += 1
    return found


def longest_at(spoken: list[Spoken], place: int, language: str, names: list[int]) -> tuple[Term | None, int]:
    """Return the term that begins here or None, and how many words it has, or an idiom in its place."""
    ahead = [it.text for it in spoken[place : place + PHRASE_WORDS]]
    nothing = words_of_nothing(spoken, place)
    for phrase, term in terms_by_first_word().get(ahead[0], ()):
        # Terms come longest first: once an idiom is as long, no shorter term can win against it.
        if len(phrase) <= nothing:
            break
        if ahead[: len(phrase)] == phrase and is_meant(term, len(phrase), spoken, place, language, names):
            return term, len(phrase)
    return None, max(nothing, 1)


@cache
def terms_by_first_word() -> dict[str, list[tuple[list[str], Term]]]:
    """Return the words of each term by the first of them, terms of most words first."""
    every = [
        ([it.text for it in spoken_words(text)], Term(text, name))
        for name, row in TERM_ROWS
        for text in row.split(", ")
    ]
    found: dict[str, list[tuple[list[str], Term]]] = {}
    for phrase, term in sorted(every, key=lambda each: -len(each[0])):
        found.setdefault(phrase[0], []).append((phrase, term))
    return found


def words_of_nothing(spoken: list[Spoken], place: int) -> int:
    """Return the length of the longest idiom from here on that refers to nothing."""
    ahead = spoken[place : place + PHRASE_WORDS + 1]
    # `Well, is it raining?` at `is`:  "| is it raining |", so that `^` and `$` of an idiom can ask for the
    # bars
    before = "" if place == 0 or spoken[place].belongs else "| "
    line = (
        before + ahead[0].text + "".join(f" {it.text}" if it.belongs else f" | {it.text}" for it in ahead[1:])
    )
    matches = (
        each.match(f"{line} |", len(before))
        for first, each in nothing_patterns()
        if spoken[place].begins or not first
    )
    return max((len(match[0].split()) for match in matches if match), default=0)


@cache
def nothing_patterns() -> list[tuple[bool, re.Pattern[str]]]:
    """Return idioms as patterns over a line of words in which a bar is a mark (M13.3), and which ones begin
    a sentence."""
    every = [idiom for row in IDIOM_ROWS for idiom in row.split(", ")]
    return [(it.startswith("< "), re.compile(pattern_of(it.removeprefix("< ")))) for it in every]


def pattern_of(idiom: str) -> str:
    r"""Return an idiom as a pattern.

    `is/was it [*] who` becomes `(?:is|was) (?:it) (?:[^ |]+ )?(?:who) `: a blank ends each word.
    """
    found = ""
    for part in idiom.split():
        bare = part.strip("[]")
        spelled = " ".join(words(bare)) if not bare.isascii() and "/" not in bare else bare.replace("/", "|")
        each = "[^ |]+" if bare == "*" else f"(?:{spelled})"
        if part in "^$":
            found += r"(?<=\| )" if part == "^" else r"(?=\|)"
        else:
            found += f"(?:{each} )?" if part != bare else f"{each} "
    return found


def is_meant(
    term: Term, count: int, spoken: list[Spoken], place: int, language: str, names: list[int]
) -> bool:
    """Return True if a term is of this language and points at something."""
    if term.language != "zh" and language != "" and term.language != language:
        return False
    if count > 1:
        return True
    here = spoken[place]
    if here.hyphen:
        # `Quand le train part-il ?`
        start = place
        while start > 0 and spoken[start].belongs:
            start -= 1
        verb = place - 2 if spoken[place - 1].text == "t" else place - 1
        if any(it.text in ("le", "la", "les") for it in spoken[start : max(start, verb - 1)]):
            return False
    is_last = place + 1 == len(spoken) or not spoken[place + 1].belongs
    if term.text == "sein" and place and is_last:
        return False
    exists = spoken[place].written.replace("’", "'").casefold() == "there's"
    return place not in names and not exists and not (term.text == "that" and joins(spoken, place, names))


def joins(spoken: list[Spoken], place: int, names: list[int]) -> bool:
    """Return True if a `that` joins a clause to what stands before it: `the place that serves ramen`."""
    if place == 0 or place + 1 == len(spoken):
        return False
    before, here, after = spoken[place - 1 : place + 2]
    if not here.belongs or not after.belongs or before.text in POINTING:
        return False
    is_noun = place >= 2 and spoken[place - 2].text in DETERMINERS
    opens = after.text in CLAUSE_OPENING or place + 1 in names
    return is_noun or before.text in INDEFINITE or opens


def nouns_behind(spoken: list[Spoken], place: int, end: int, term: Term) -> list[str]:
    if term.text in ONES:
        # `The cheaper one`
        return [spoken[place - 1].text] if place > 1 and spoken[place].belongs else []
    if not goes_with_noun(term.text):
        return []
    if is_chinese(term.text):
        both = spoken[end : end + 2]
        is_noun = all(it.belongs and it.text not in NO_NOUN_CHARACTERS for it in both)
        return [it.text for it in both] if is_noun else []
    if end == len(spoken) or not spoken[end].belongs:
        return []
    # Of English, which has no word that stands before a noun alone.
    if term.text in ("this", "that", "these", "those") and (
        place == 0 or not spoken[place].belongs or spoken[place - 1].text in HELPING
    ):
        return []
    is_german = term.text.startswith("dies")
    return [spoken[end].text] if spoken[end].is_big == is_german else []


def goes_with_noun(term: str) -> bool:
    return term in BEFORE_NOUN or (term[0] in "那这" and term[-1] in MEASURES)


# Persons in a rewrite, as in its query (M13.8).
#
# After `I left my charger` the speaker of that may ask `Is my charger there?`; every other speaker asks for
# `your charger`.


Said = tuple[str, str]  # the words for a person, and the word that follows


def is_another_person(rewrite: str, query: str, turns: Sequence[Turn], language: str = "") -> bool:
    asked, named = list(list_persons(query, language)), list(list_persons(rewrite, language))
    # The persons of the query must come again, in their order; others may stand between them.
    waiting = [person for person, _ in asked]
    for person, _ in named:
        if waiting and waiting[0] == person:
            waiting.pop(0)
    if waiting:
        return True
    known = asked + [term for turn in turns for term in seen_by_asker(turn, language)]
    return any(
        count(named, person) > count(asked, person) and (person, follower) not in known
        for person, follower in named
    )


def person_of(word: str) -> str:
    """Return the person that a word stands for; empty if for none."""
    return next((person for person, row in PERSON_ROWS if word in row.split()), "")


def list_persons(text: str, language: str) -> Iterator[Said]:
    line = words(re.sub(r"n['’]t\b", " not", text.replace("M. ", "")))
    for place, word in enumerate(line):
        if (person := person_of(word)) and word not in LIGHT_WORDS.get(language, ()):
            yield person, line[place + 1] if place + 1 < len(line) else ""


def seen_by_asker(turn: Turn, language: str) -> Iterator[Said]:
    spoken = re.sub('"[^"]*"|“[^”]*”|„[^“]*“|«[^»]*»|「[^」]*」', " ", turn.text)
    for person, follower in list_persons(spoken, language):
        if turn.role == "user":
            yield person, follower
        else:
            yield from ((mine, follower) for mine in SAID_BY_OTHERS[person])


def count(some: list[Said], person: str) -> int:
    return len([term for term in some if term[0] == person])


# Replies about a query: the gate of rewrites, other ways to ask, and when either is asked for.
#
# As M12.9 and M13.5 to M13.9 have it, and H4.12 for cleaning.


TURNS_SHOWN: Final = 10
TURN_CHARS: Final = 500
VARIANTS: Final = 3
ONE: Final = 1_000_000

# When a model is asked.


def shown_turns(turns: Sequence[Turn], count: int = TURNS_SHOWN) -> tuple[Turn, ...]:
    """Return the last turns that are not blank, newest first, each as far as it is shown."""
    shown = [Turn(turn.role, turn.text[:TURN_CHARS]) for turn in turns]
    return tuple([turn for turn in shown if turn.text.strip() != ""][: -count - 1 : -1])


def resolve_without_model(
    query: str, turns: Sequence[Turn], wanted: bool, forced: bool = False
) -> Resolution | None:
    """Return the resolution of a query about which no model is asked; None if one is."""
    terms = terms_of(references(query, None, known_nouns(turns)))
    if not wanted:
        return Resolution("disabled", query)
    if not terms and not (forced and shown_turns(turns)):
        return Resolution("clear", query)
    return None if shown_turns(turns) else Resolution("no_context", query, terms)


def terms_of(found: References) -> tuple[str, ...]:
    """Return each term once, by its first occurrence."""
    return tuple(dict.fromkeys(found.terms))


# The gate.


def read_rewrite(reply: str, query: str, turns: Sequence[Turn], floor_ppm: int) -> Resolution:
    """Return the resolution that a reply leads to, after these turns as they were shown."""
    asked = references(query, None, known_nouns(turns))
    line, named = read_named(reply)
    rewrite, terms = one_line(clean_line(line)), terms_of(asked)
    is_same = rewrite != "" and rewrite == one_line(clean_line(query))
    if is_same or one_line(replace_surrogates(reply)) == one_line(query):
        return Resolution("unchanged", query, terms, turn_count=len(turns))
    given = references(rewrite, asked.spoken, asked.definite)
    reason = why_refused(rewrite, query, asked, given, turns, named or [])
    if reason is None and named is not None:
        reason = why_misnamed(asked, named, turns)
    if reason is not None:
        return Resolution("rejected", query, terms, reason, turn_count=len(turns))
    # `What did he say about that?` has two; a rewrite that still has `that` has resolved 500,000 ppm.
    gone, left = len(asked.terms), left_open(asked, given)
    for term in dict.fromkeys(asked.terms):
        gone -= min(left.count(term), asked.terms.count(term))
    gone_ppm = ONE * gone // len(asked.terms) if asked.terms else ONE  # nothing is left to refer
    if gone_ppm < floor_ppm:
        return Resolution("rejected", query, terms, "unresolved", turn_count=len(turns))
    return Resolution("resolved", rewrite, terms, "", gone_ppm, len(turns))


WEIGHED: Final = ("misfit", "unnamed")
"""Reasons that only the labelled questions of tests/quality judge: what a reference may stand for."""


def is_alike(got: Resolution, wanted: Resolution) -> bool:
    """Return True if the memory and this account resolve alike, as far as words and turns decide."""
    is_weighed = got.reason in WEIGHED and wanted.reason in ("", "wrong_turn", "unresolved")
    return got == wanted or is_weighed


Named = list[tuple[str, str, int]]  # reference, means, turn


def read_named(reply: str) -> tuple[str, Named | None]:
    """Return the rewrite of a reply, and what it names; None if it is a line and no object."""
    found = objects_of(reply, ("query",)) or objects_of(reply, ("references",))
    if not found:
        return replace_surrogates(reply), None
    value, named = found[-1], list[tuple[str, str, int]]()
    rows = value.get("references")
    for row in rows if isinstance(rows, list) else [rows]:
        if not isinstance(row, dict):
            continue
        reference, means = row.get("reference"), row.get("means")
        number = getattr(row.get("turn"), "written", row.get("turn"))
        number = number.removeprefix("turn ").removeprefix("Turn ") if isinstance(number, str) else ""
        if isinstance(reference, str) and isinstance(means, str):
            named.append((reference, means, int(number) if re.fullmatch("[0-9]{1,3}", number) else 0))
    query = value.get("query")
    return query if isinstance(query, str) else "", named


def why_refused(
    rewrite: str, query: str, asked: References, given: References, turns: Sequence[Turn], named: Named
) -> str | None:
    """Return the first reason against a rewrite; None if there is none."""
    # The order of the reasons below is that of M13.8: the first one is reported.
    light = light_words(asked)
    added = [word for word in given.others if word not in light]
    asked_words = [it.text for it in spoken_words(query)]
    small_in_query = [word for word in asked_words if word not in asked.big or asked.spoken == "de"]
    if rewrite == "":
        return "empty_reply"
    if byte_count(rewrite) > limits.QUERY_BYTES_MAX:
        return "too_long"
    if lacks_words(rewrite, asked, given, named):
        return "dropped_words"
    open_terms = [it for it in left_open(asked, given) if it.split(" ")[-1] not in asked.definite]
    if any(term.endswith(" …") for term in resolved_terms(asked, given)):
        told = {it.text for turn in turns for it in spoken_words(turn.text)}
        open_terms = [it for it in open_terms if it not in told]
    if any(open_terms.count(term) > asked.terms.count(term) for term in open_terms):
        return "new_reference"
    in_turns = [it for turn in turns for it in spoken_words(turn.text)]
    big_in_turns = [it.text for it in in_turns if it.is_big]
    is_open = asked.spoken == "de"
    small = small_in_query + [it.text for it in in_turns if is_open or it.text not in big_in_turns]
    exact = [*asked_words, *(it.text for it in in_turns)]
    free = [word for word in added if word not in JOINING and not person_of(word)]
    if not all(stands(word, exact, small, given.big, asked.spoken) for word in free):
        return "foreign_word"
    query_terms = [word for word in asked_words if word not in STOP_WORDS]
    small_terms = [word for word in small_in_query if word not in STOP_WORDS]
    required = [word for word in asked.others if word not in light]
    again = resolved_terms(asked, given) and any(added.count(it) > required.count(it) for it in added)
    if not again and all(stands(word, query_terms, small_terms, given.big, asked.spoken) for word in added):
        return "nothing_added"
    if is_another_person(rewrite, query, turns, asked.spoken):
        return "changed_person"
    return None


# What stands in place of a reference.


def is_new(word: str, asked: References, given: References) -> bool:
    """Return True if a word of a rewrite is none of the query, and no small word."""
    of_terms = [it.text for term in asked.terms for it in spoken_words(term)]
    line = [*asked.others, *of_terms]
    small = [it for it in line if it not in asked.big or asked.spoken == "de"]
    is_light = word in STOP_WORDS | JOINING or word in LIGHT_WORDS.get(asked.spoken, ())
    return not is_light and not stands(word, line, small, given.big, asked.spoken)


def left_open(asked: References, given: References) -> list[str]:
    """Return the terms of a rewrite that still refer to what is outside of it."""
    found = list[str]()
    for at, part in enumerate(given.order):
        if not part.startswith("#"):
            continue
        term = given.terms[int(part[1:])]
        news = [it for it in given.order[:at] if not it.startswith("#") and is_new(it, asked, given)]
        after = given.order[at + 1] if at + 1 < len(given.order) else "#"
        binds = asked.spoken == "fr" and term in INVERTED
        opens = (goes_with_noun(term) and asked.nouns != ()) or any(word in SAME for word in term.split())
        is_before_new = not after.startswith("#") and is_new(after, asked, given)
        if opens and is_before_new:
            continue
        # `小米那款`
        near = [it for it in given.order[:at] if it not in LIGHT_WORDS["zh"]]
        is_beside = near != [] and not near[-1].startswith("#") and is_new(near[-1], asked, given)
        if term[0] in POINTING_CHARACTERS and is_beside:
            continue
        every = [it for it in given.order if not it.startswith("#") and is_new(it, asked, given)]
        if not (binds and news) and not (term.endswith(" …") and every):
            found.append(term)
    return found


def resolved_terms(asked: References, given: References) -> list[str]:
    open_terms, gone = left_open(asked, given), list[str]()
    for term in asked.terms:
        if term in open_terms:
            open_terms.remove(term)
        else:
            gone.append(term)
    return gone


def why_misnamed(asked: References, named: Named, turns: Sequence[Turn]) -> str | None:
    """Return what is wrong with the turns in which a model says that the references are told."""

    def heavy(text: str) -> tuple[str, ...]:
        line, light = [it.text for it in spoken_words(text)], light_words(asked)
        return tuple(word for word in line if word not in light and not person_of(word))

    def is_in(word: str, text: str) -> bool:
        line = [it.text for it in spoken_words(text)]
        return stands(word, line, line, (), asked.spoken)

    for _, text, number in named:
        turn_text = turns[number - 1].text if 1 <= number <= len(turns) else ""
        if heavy(text) == () or not all(is_in(word, turn_text) for word in heavy(text)):
            return "wrong_turn"
    return None


def lacks_words(rewrite: str, asked: References, given: References, named: Named) -> bool:
    """Return True if names and content words of the query are not in the rewrite in their order."""
    gone, light = resolved_terms(asked, given), light_words(asked)
    loose = [*asked.nouns] if any(goes_with_noun(it) or it in ONES for it in gone) else []
    line = [it.text for it in in_language(rewrite, asked.spoken)]
    spread = [
        (it.text, asked.terms[int(part[1:])] if part.startswith("#") else "")
        for part in asked.order
        for it in spoken_words(asked.terms[int(part[1:])] if part.startswith("#") else part)
    ]
    went = [term in gone or word in loose for word, term in spread]
    demands: list[list[str]] = [[] for _ in spread]

    def is_one_of(word: str, some: list[str]) -> bool:
        small = [it for it in some if it not in asked.big or asked.spoken == "de"]
        return stands(word, some, small, given.big, asked.spoken)

    for reference, means, _ in named:
        span = [it.text for it in in_language(reference, asked.spoken)]
        meant = [it.text for it in spoken_words(means) if it.text not in light and not person_of(it.text)]
        is_placed = asked.spoken in ("en", "") and any(is_one_of(word, meant) for word in line)
        for start in range(len(spread) - len(span) + 1):
            here = spread[start : start + len(span)]
            if [word for word, _ in here] == span and any(went[start : start + len(span)]):
                for at in range(start, start + len(span)):
                    went[at] = went[at] or spread[at][0] not in asked.names
                if is_placed and not any(term.endswith(" …") for _, term in here):
                    demands[start] = meant
    for at, (word, _) in enumerate(spread):
        if not went[at] and (word in asked.names or (word not in light and not person_of(word))):
            demands[at] = [word]
    for some in demands:
        while some and line and not is_one_of(line[0], some):
            line.pop(0)
        if some and not line:
            return True
        line = line[1:] if some else line
    return False


def in_language(text: str, language: str) -> list[Spoken]:
    found = spoken_words(text)
    return apart_in_spanish(found) if language == "es" else found


def stands(word: str, exact: Sequence[str], small: Sequence[str], big: Sequence[str], language: str) -> bool:
    """Return True if a word is among the exact ones, or a form of a small one.

    A word with a capital has no other form.
    """
    if word in exact:
        return True
    return (language == "de" or word not in big) and bare(word, language) in [
        bare(it, language) for it in small
    ]


def light_words(asked: References) -> list[str]:
    """Return words without content, in English and in the languages of the references."""
    return [*STOP_WORDS, *(word for language in asked.languages for word in LIGHT_WORDS[language])]


# Cleaning.

FENCE: Final = "```"
LABEL: Final = r"(?i)(?:(?:(?:expanded|rewritten|resolved)\s+)?query|name)\s*:"
QUOTES: Final = ('""', "''", "“”", "„“", "«»", "「」", "``")


def clean_line(text: str) -> str:
    """Return the line that was asked for, without fence, label and quotes, in any order."""
    before = None
    # A label may stand inside of quotes and quotes behind a
    # label, so it goes on until nothing is left to strip.
    while text != before:
        before = text
        text = without_quotes(without_label(first_line(without_fence(text.strip()))))
    return text


def without_fence(text: str) -> str:
    head, line_end, rest = text.partition("\n")
    is_fenced = head.startswith(FENCE) and line_end and rest.endswith(FENCE) and "`" not in head[len(FENCE) :]
    return rest.removesuffix(FENCE) if is_fenced else text


def first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def without_label(text: str) -> str:
    found = re.match(LABEL, text)
    return text[found.end() :].strip() if found else text


def without_quotes(text: str) -> str:
    inside = text[1:-1]
    is_quoted = len(text) > 1 and text[0] + text[-1] in QUOTES
    return text if not is_quoted or text[0] in inside or text[-1] in inside else inside


# Other ways to ask.


def is_deep(query: str, deep: bool | None) -> bool:
    """Return True if other ways to ask are wanted: by the caller, else by the words of the query."""
    return any(word in TRIGGERS for word in words(query)) if deep is None else deep


def read_variants(reply: str, query: str) -> tuple[str, ...] | None:
    """Return the query, and what else a model would ask; None if there is no payload."""
    elements = payload_of(reply, ArrayOf(str))
    if elements is None:
        return None
    texts = [query]
    for element in elements:
        text = one_line(element) if isinstance(element, str) else ""
        is_new = fold_name(text) not in [fold_name(it) for it in texts]
        if text != "" and byte_count(text) <= limits.QUERY_BYTES_MAX and is_new:
            texts.append(text)
    return tuple(texts[:VARIANTS])

"""Decide by rules whether a new statement ends an old one about the same subject.

    Alice works at Acme Corp as an engineer.    ended by    Alice left Acme, now at StartupX.
    Ann is single.                              ended by    Ann got married to Bob.
    Ann likes tea.                              ended by    Ann no longer likes tea.
    Ann likes tea.                              stays with  Ann now likes coffee.
    Ann works at Acme.                          stays with  Ann also works at Beta.
    I live in Rome.                             stays with  I moved to Gmail.
    My sister Ann lives in Lund.                stays with  My boss Ann lives in Bergen.

Law 1. Two values exclude each other only if they are of one subject and of one *attribute* that has a single
value at a time. Law 2. A statement ends only if nothing that it claims is still true. Law 3. Keeping two
facts is better than losing one: a clause counts only if it is about the present and if SURE matches all text
after its value.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from umi_core.data import Data
from umi_core.language.terms import split_terms
from umi_core.text import norm
from umi_live.casual import write_out
from umi_live.english import ACTIVITIES, KINDS_OF_ACTIVITY, NOUNS_LIKE_STATES, OCCUPATION
from umi_live.places import is_place, regions_of
from umi_live.rules import CAPITAL, NAME, is_given, name_relative, simplify_sentence

AttributeValue = tuple[str, tuple[str, ...]]


class AttributeClaims(Data):
    """The claims of a statement: the values of attributes, and the values and predicates that have ended.

    `relation`: what the subject is to the speaker, such as `my sister`, or `I`; empty for a name only.
    `values`: attributes with their values. `ended`: attributes with values that no longer hold; values of one
    negation are grouped, since "no longer a nurse at Acme" may mean a cook at Acme. `denied`: predicates that
    no longer hold. `predicate`: that of a statement with one clause. `regions`: regions that contain its
    places. All but `relation` are terms.
    `is_added`: earlier claims stay true. `is_change`: the statement says that something was different before.
    `is_lasting`: no part is taken back or temporary. `is_complete`: the fields above cover all of it.
    """

    subject: str
    relation: str = ""
    values: tuple[AttributeValue, ...] = ()
    denied: tuple[tuple[str, ...], ...] = ()
    ended: tuple[tuple[AttributeValue, ...], ...] = ()
    predicate: tuple[str, ...] = ()
    regions: frozenset[tuple[str, ...]] = frozenset()
    is_added: bool = False
    is_change: bool = False
    is_lasting: bool = True
    is_complete: bool = False


PLACE: Final = rf"(?:the )?({NAME}(?: (?:of|and|&) {NAME})*)"  # Johnson and Johnson
ADVERBS: Final = (
    r"(?:(?:now|currently|just|recently|finally|officially|already|really|happily|still|has|have|been|"
    r"(?:is|am) (?:now|currently|still)) )*"
)
MARRIAGE: Final = (
    r"married|single(?![- ](?!now\b|again\b)\w)|divorced|engaged(?! in| with)|widowed|separated(?! by)"
)
WORKS: Final = "(?:works?|working|(?:is|am) (?:working|employed))"
MOVE: Final = "(?:moved|relocated)"
SEASON: Final = (
    "night|day|morning|afternoon|evening|week|weekend|month|year|spring|summer|autumn|fall|winter|term|semester|"
    "season"
)
JOB: Final = "(?:a |the |her |his |my |their )?(?:new )?(?:job|position|role|career)"
# Predicates about attributes with one value at a time; the last group is the value. A clause may match
# several patterns, each for an attribute.
VALUES: Final = tuple((name, re.compile(pattern)) for name, pattern in (
    ("work", rf"(?:{WORKS}|started(?: working)?|"
             rf"(?:started|got|has|found|took) {JOB}) (?:at|for|by) {PLACE}"),
    ("work", rf"(?:started|got|has|found|took) {JOB} with {PLACE}"),
    ("work", rf"joined {PLACE}"),
    ("work", rf"(?:switched|changed|moved) (?:jobs|companies|employers) (?:from {NAME} )?to {PLACE}"),
    ("work", rf"(?:left|quit) {NAME} to join {PLACE}"),
    ("site", rf"(?:works?|working|(?:is|am) working) in {PLACE}"),  # a city, or in Spanish an employer
    ("home", rf"(?:lives?|living|(?:is|am) (?:living|based)|settled) in {PLACE}"),
    ("home", rf"{MOVE}(?: back)?(?: from (?P<origin>{NAME}))?(?: house)? to {PLACE}"),
    ("move", rf"(?:is|am|are) moving(?: from {NAME})? to {PLACE}"),
    ("marriage", f"(?:is|am|are|got) (?:newly )?((?:{MARRIAGE}).*)"),
    ("age", r"(?:(?:is|am) (?=(?:now )?\d+(?: years old)?(?: now)?\W*$)|turned (?=\d+\b))(?:now )?(\d+)"),
    # Not "on weekends as a nurse".
    ("title", rf"{WORKS}(?: (?:at|for|by|in|with) (?:(?! as |\b(?:{SEASON})s?\b).)+)? as (?:an? |the )?(.+)"),
    ("title", "(?:was |got )?promoted to (?:an? |the )?(.+)"),
    ("project", "(?:is |am )?(?:works?|working) on (.+)"),
))  # fmt: skip
LINK: Final = "at|by|for|in|with"
# Both forms, "works as a nurse at Acme" and "is a nurse at Acme", are read as "works at Acme as a nurse".
WORKS_AS: Final = re.compile(
    rf"\b(works?|working|employed) (as(?: (?!(?:{LINK})\b)[\w/&'-]+){{1,6}}) ({LINK}) {PLACE}"
)
IS_AT: Final = re.compile(
    rf"^{ADVERBS}(?:is|am|now) {ADVERBS}(?=an? (?:[a-z-]+ ){{0,3}}{OCCUPATION} (?:at|for|with) {CAPITAL})"
)
OWN_STATEMENT: Final = re.compile("(?:I|We|My|Our|The user|User)\\b")
PLACED: Final = re.compile(rf"\b(?:in|to) (?:the )?({NAME})")
COMPANY_FORMS: Final = frozenset("ag co compani corp corpor gmbh group inc llc ltd plc".split())  # as terms
OFTEN_SEVERAL: Final = ("project", "title", "site")  # may have two values, unless a statement tells a change
NOUNS: Final = {  # things of which a person has one at a time, each with the name of its attribute
    "phone number": "phone", "mobile number": "phone", "number": "phone", "phone": "phone",
    "email address": "mail", "email": "mail", "e-mail": "mail", "mail": "mail",
    "home address": "address", "address": "address", "employer": "work",
    "job title": "title", "title": "title", "job": "title", "role": "title", "position": "title",
    "current project": "project", "project": "project",
    "nickname": "nickname", "username": "username", "password": "password", r"favou?rite \w+": "",
}  # fmt: skip
NOUN: Final = f"((?:new |current )?(?:{'|'.join(sorted(NOUNS, key=len, reverse=True))}))"
OWNED: Final = re.compile(rf"{NOUN} (?:is|was changed to|has changed to|changed to) (?:now )?(.+)")
CHANGED: Final = re.compile(rf"(?:changed|updated) (?:my|his|her|their|the) {NOUN} to (.+)")
# A favourite cannot be a negation, a state or a place: "not red", "still blue", "sold out", "losing", "on
# Netflix". Known nouns that end like a state are values: herring, fried rice, rowing (a sport).
FAVOURITE: Final = (
    r"(?!.* than )(?!(?:my|your|his|her|our|their|"
    r"not|never|no|none|still|always|also|too|very|so|quite|hard|out|on|in|at|by|from|about|like|being|"
    r"gone|broken|lost|sold|boring|nicht|kein\w*|noch|immer|pas|plus|toujours|encore|todavía|aún|siempre|"
    r"non|ancora|sempre|(?!(?:{})\b)[a-z]+(?:ed|ing))\b).+"
)
# The form of a value: "My email is broken" and "My job is boring" have no value.
SHAPES: Final = {
    "phone": re.compile(r"\+?[\d(][\d\s()./-]+"),
    "mail": re.compile(r"\S+@\S+"),
    "address": re.compile(r"(?:\d|[A-Z]).*"),
    "favorite": re.compile(FAVOURITE.format(NOUNS_LIKE_STATES)),
    **dict.fromkeys(
        (f"favorite {it}" for it in KINDS_OF_ACTIVITY),
        re.compile(FAVOURITE.format(f"{NOUNS_LIKE_STATES}|{ACTIVITIES}")),
    ),
    "work": re.compile(NAME),
    "project": re.compile(NAME),
    "title": re.compile(rf"(?:an? |the )?(?:[a-z-]+ ){{0,3}}{OCCUPATION}"),
}
SECRET: Final = re.compile(r"\S*[^\Wa-z]\S*")  # a nickname, username or password: not only small letters
MONTH: Final = (  # seasons are left out: "I live in Oslo in summer" may mean each summer
    "(?:early |late |mid-)?(?:January|February|March|April|May|June|July|August|September|October|November|"
    "December)"
)
COUNT: Final = r"(?:an?|one|two|three|four|five|six|some|a few|\d+)"
WHEN: Final = (  # a time that is recent when it is told
    r"(?:now|again|any ?more|any longer|these days|nowadays|at the moment|instead|soon|today|yesterday|"
    r"recently|"
    r"(?:last|next) [A-Za-z]+|(?:in|since) (?:(?:last )?[A-Z][a-z]+day|" + MONTH + r")(?: \d{4})?|"
    r"(?:in|since) \d{4}|on [A-Z][a-z]+day|on (?:\d+(?:st|nd|rd|th)? )?" + MONTH + r"(?: \d+)?|"
    rf"{COUNT} (?:hours?|days?|weeks?|months?) ago)"
)
REGION: Final = re.compile(rf"\b(in|to) ({NAME}), ({NAME})(?![\w-]| (?!{WHEN}\b)[a-z])")  # Rome, Italy
# Text that may follow a value: when it began, why, or with whom; but not its end, nor how often.
WORDS: Final = r"(?: (?!(?:as|at|every|for|in|on|when|with)\b)[\w'\u2019-]+)+"
SURE: Final = re.compile(
    rf",? (?:years old|{WHEN}|for (?:good|work|love|family reasons|a (?:new )?job)|with{WORDS}|"
    rf"as(?! (?:an? )?(?:young )?(?:child|kid|baby|boy|girl|toddler|teen\w*|student)\b){WORDS})(?![\w-])|"
    r"[.!]+$"
)
TO_OTHER: Final = re.compile(rf" (?:for|(?:house )?to|to join|and joined) {PLACE}")
NOT_LASTING: Final = re.compile(  # taken back, or temporary
    r"\b(?:(?:and|came|come|coming|went|going|go|is|am|are|be) back|for more|return(?:s|ed|ing)?|still|until|"
    rf"during|for (?:now|the moment|the time being)|"
    rf"(?<!\d )today|tonight|temporarily|briefly|nearly|almost|this (?:{SEASON})|"
    rf"(?:lives?|living|works?|working|based) .*in {MONTH}|"
    rf"for (?:the|an?|{COUNT}|several|my|this) (?:\w+ )?(?:{SEASON}|while|bit)s?)\b"
)
LEFT: Final = re.compile(
    rf"(?:(?:left|quit|lost) {JOB} at|left|quit|resigned from|retired from|"
    rf"(?:was|got) (?:laid off|fired) (?:by|from)) {PLACE}"
)
SOLD: Final = re.compile("(?:sold|gave away) (?:my|our|his|her|their|the) (.+)")
MOVED: Final = re.compile(rf"moved (?:away from|out of|from) {PLACE}")
OVER: Final = re.compile("(?:(?:is |am )?no longer|used to|stopped|gave up|quit(?= [a-z]+ing)) (.+)")
NOT: Final = re.compile("(?:(?:is |am |are )?not|doesn't|does not|don't|do not|isn't|aren't) (.+)")
END_TIME: Final = re.compile(rf"(?:,? {WHEN})*[.!]*$")
ANY_MORE: Final = re.compile(r",? (?:any ?more|any longer|these days|nowadays|now)[.!]*$")
INSTEAD: Final = re.compile(r"([a-z]+) .*\binstead of (.+)")
SWITCHED: Final = re.compile("(?:switched|changed) from (.+?) to (.+)")
HABITS: Final = frozenset(
    "use own drink eat drive play take work studi wear smoke ride read practis practic run learn".split()
)
STATEMENT_COUNT_MAX: Final = 512  # statements whose claims are cached
ADDED: Final = re.compile(r"\b(?:also|too|as well|second|another|part[- ]time|additionally|both)\b")
NOW: Final = re.compile(
    r"\b(?:now|currently|current|instead|no longer|promoted|jetzt|nun|inzwischen|mittlerweile|maintenant|"
    r"désormais|ahora|ora|adesso)\b",
    re.IGNORECASE,
)
YEAR: Final = re.compile(r"\b(?:1[89]|20)\d\d\b")
CLAUSE: Final = re.compile(
    r"[,;] | (?:and|but) (?![A-Z][a-z])| (?:and|but) (?=[A-Z][\w-]* [a-z]+s )"
    r"| (?:because|which|who|while|although)"
)
WITH_MORE: Final = re.compile(r" with (?![A-Z])")  # "lives in Rome with my cat"
VALUE_END: Final = re.compile(  # ends the value in "nurse on weekends", but not in "Man on Fire"
    r"[,;]|[.!](?!\S)|\bon (?=[A-Z][a-z]+days?\b|(?:(?:an?|the) )?[a-z])|"
    r"\b(?:since|because|with|as|in|for|instead|now|at|last|this|these|so|again|yesterday|during|after|before|"
    r"until|when|while|every)\b"
)


def ends(now: AttributeClaims, before: AttributeClaims) -> bool:
    """Return whether the claims of a new statement (`now`) leave nothing of an old one (`before`) true."""
    if now.subject != before.subject or not now.subject or not now.is_lasting:
        return False
    # Different persons with the same name: my sister Ann, and my boss Ann.
    if now.relation and before.relation and now.relation != before.relation:
        return False
    if any(is_denied_predicate(before.predicate, predicate) for predicate in now.denied):
        return True
    if any(
        is_ended_habit(before.predicate, value)
        for (attribute, value), *_ in now.ended
        if attribute == "habit"
    ):
        return True
    if not before.is_complete:
        return False
    # A single clause is false if a part of it is: "left Acme" ends "works as a nurse at Acme".
    if before.predicate and any(have_ended(values, now, before) for values in now.ended):
        return True
    # A title ends with its employer: "joined Beta" ends "works at Acme as an engineer" (law 2).
    is_employed = "work" in dict(before.values)
    values = [it for it in before.values if it[0] != "title" or not is_employed]
    return bool(values) and all(is_replaced(it, now, before) for it in values)


def find_shared_names(claims: Iterable[AttributeClaims]) -> set[str]:
    """Return the names that several persons share, such as Ann for `my sister Ann` and `my boss Ann`."""
    known = dict[str, str]()
    named = [it for it in claims if it.relation not in ("", "I")]
    return {it.subject for it in named if known.setdefault(it.subject, it.relation) != it.relation}


def is_denied_predicate(spoken: tuple[str, ...], predicate: tuple[str, ...]) -> bool:
    """Return whether a denied predicate is the spoken one, or the beginning of it.

    "no longer likes tea" ends "likes tea with milk". A verb alone ends only the same verb alone: "doesn't
    drink" does not end "drinks coffee".
    """
    is_beginning = (
        len(predicate) > 1 and starts_with(spoken, predicate) and "and" not in spoken[len(predicate) :]
    )
    return bool(spoken) and (spoken == predicate or is_beginning)


def have_ended(values: Iterable[AttributeValue], now: AttributeClaims, before: AttributeClaims) -> bool:
    """Return whether an old statement claims all these values, which no longer hold together."""
    return all(any(is_ended_value(it, other, now) for other in before.values) for it in values)


def is_ended_value(ended: AttributeValue, claim: AttributeValue, now: AttributeClaims) -> bool:
    """Return whether a value that has ended equals that of a claim, or is more general.

    "no longer a nurse" ends "a head nurse", but "no longer a head nurse" does not end "a nurse". Both "left
    Acme" and "left Acme Corp" end "Acme" and "Acme Corp", but "left Acme Cloud" does not end "Acme".
    """
    (attribute, value), (name, claimed) = ended, claim
    if attribute != name:
        return False
    if attribute == "title":
        return claimed[-len(value) :] == value
    more = value[len(claimed) :]
    return agree(value, claimed) and (COMPANY_FORMS.issuperset(more) or more in now.regions)


def is_replaced(claim: AttributeValue, now: AttributeClaims, before: AttributeClaims) -> bool:
    """Return whether a value no longer holds: it has ended, or the attribute has another value."""
    attribute, value = claim
    # "lives in York" ends "are moving to York".
    if attribute == "move" and any(name == "home" and agree(it, value) for name, it in now.values):
        return True
    if any(have_ended(values, now, before) and attribute in dict(values) for values in now.ended):
        return True
    others = [it for name, it in now.values if name == attribute]
    if now.is_added or (attribute in OFTEN_SEVERAL and not now.is_change):
        return False
    # "moved to Italy" does not end "lives in Rome, Italy" or "lives in Rome", which may be more precise.
    return bool(others) and not any(
        is_part(it, value) or it in before.regions or value in now.regions for it in others
    )


def agree(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether one value is, or begins with, the other: Acme, Acme Corp; not Acme, "Acme and Beta"."""
    shorter, longer = sorted((one, other), key=len)
    return starts_with(longer, shorter) and "and" not in longer[len(shorter) :]


def is_part(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return set(one) <= set(other) or set(other) <= set(one)


def starts_with(terms: tuple[str, ...], beginning: tuple[str, ...]) -> bool:
    return bool(beginning) and terms[: len(beginning)] == beginning


def is_ended_habit(spoken: tuple[str, ...], value: tuple[str, ...]) -> bool:
    return bool(spoken) and spoken[0] in HABITS and starts_with(spoken[1:], value)


# What a statement claims.


@lru_cache(maxsize=STATEMENT_COUNT_MAX)  # a fact is compared with each later one that is similar
def claims_of(name: str, content: str, year: str = "") -> AttributeClaims:
    """Return what a statement claims about this name; no claims if it is about another subject.

    `year`: the year of the statement. A clause that mentions another year claims nothing about the present.
    """
    written = write_out(content.strip())
    text = REGION.sub(join_region, simplify_sentence(content.strip()))
    first, *others = CLAUSE.split(text)
    # "My sister Mia lives in Lisbon" is about Mia, even if `name` is another one.
    relative = name_relative(first)
    own = "I" if OWN_STATEMENT.match(first) else ""
    relation, name, predicate = relative or (own, name, predicate_of(first, name, is_speaker=True))
    if not predicate:
        return AttributeClaims("")
    clauses = [predicate, *(predicate_of(it, name, relative is None) or it for it in others)]
    is_added, is_change, is_limited = [bool(it.search(written)) for it in (ADDED, NOW, NOT_LASTING)]
    found = [claims_of_clause(it, year) for it in clauses]
    return AttributeClaims(
        norm(name),
        relation=relation,
        values=sum((it.values for it in found), ()),
        denied=sum((it.denied for it in found), ()),
        ended=sum((it.ended for it in found), ()),
        predicate=() if others else terms_of(predicate),
        regions=frozenset(
            split_terms(it.removeprefix("the ")) for place in PLACED.findall(text) for it in regions_of(place)
        ),
        is_added=is_added,
        is_change=is_change,
        is_lasting=not is_limited,
        # A clause without a known attribute may claim anything, so a statement
        # with such a clause can never end as a whole.
        is_complete=all(it.values or it.ended for it in found) and not WITH_MORE.search(text),
    )


def join_region(match: re.Match[str]) -> str:
    """Return a town and its region without the comma, at which the statement would be divided.

    After a move, a known region shows that the home changes: "moved to Lund, Sweden".
    """
    link, town, region = match.groups()
    is_move = link == "to" and is_place(region) and re.search(MOVE, match.string[: match.start()])
    return f"{'house ' if is_move else ''}{link} {town} {region}"


def claims_of_clause(clause: str, year: str) -> AttributeClaims:
    owned = tuple(find_owned(bare(clause)))
    if not owned and any(it != year for it in YEAR.findall(clause)):
        return AttributeClaims("")
    denied = (terms_of(it) for it in find_denied_predicates(clause))
    values, ended = (*find_values(clause), *owned), tuple(find_ended_values(clause))
    return AttributeClaims("", values=values, denied=tuple(filter(None, denied)), ended=ended)


def predicate_of(clause: str, name: str, is_speaker: bool) -> str:
    """Return the predicate of a clause about this name or a pronoun; empty if the subject is another one.

    `is_speaker`: whether `I` may stand for the name.
    """
    pronouns = "[Hh]e|[Ss]he|[Tt]hey" + ("|I|[Ww]e|The user|User" if is_speaker else "")
    owners = "[Hh]is|[Hh]er|[Tt]heir" + ("|[Mm]y|[Oo]ur|(?:The user|User)['\\u2019]s" if is_speaker else "")
    subject = rf"{re.escape(name)}|{pronouns}|{re.escape(name)}['\u2019]s?|{owners}"
    match = re.match(rf"(?:{subject})(?: |['\u2019]s )(.+)", clause)
    return match[1] if match else ""


def bare(predicate: str) -> str:
    """Return a predicate without the adverbs before its verb."""
    return re.sub(f"^{ADVERBS}", "", predicate)


def terms_of(predicate: str) -> tuple[str, ...]:
    # Skipped, so that "is working at Acme" and "working for the Acme" have the same terms.
    skipped = ("a", "an", "the", "is", "am", "be", "are", "to", "at", "in", "for")
    return tuple(it for it in split_terms(bare(predicate)) if it not in skipped)


def find_values(clause: str) -> Iterator[AttributeValue]:
    """Yield the attributes that a clause gives a value, with that value."""
    spoken = WORKS_AS.sub(put_workplace_first, bare(IS_AT.sub("working as ", clause)))
    # Checked on the whole clause: `bare` removes "is now", which would leave "at Beta" of "is now at Beta".
    if re.match(r"(?:is |am )?now at ", clause):
        spoken = "joined " + clause.partition("now at ")[2]
    for attribute, pattern in VALUES:
        if (match := pattern.match(spoken)) and (value := sure_value(spoken, match)):
            # "I work for Bob" does not name an employer.
            whom = match[match.lastindex or 0]
            is_person = match[0].endswith(f" for {whom}") and is_given(whom)
            is_other_move = attribute == "home" and not is_about_home(match)
            yield from () if is_person or is_other_move else ((attribute, value),)


def put_workplace_first(match: re.Match[str]) -> str:
    """Return "works at Acme as a nurse" for "works as a nurse with Acme"."""
    link = "at" if match[3] == "with" else match[3]
    return f"{match[1]} {link} {match[4]} {match[2]}"


def is_about_home(match: re.Match[str]) -> bool:
    """Return whether a match is about a home: "moved to Oslo", "from Oslo to Xanten", but not "to Gmail"."""
    origin = match.groupdict().get("origin")
    is_move = re.match(MOVE, match[0]) is not None
    known = (value_text(match), f"the {value_text(match)}", origin or "")
    return not is_move or " house to " in match[0] or any(map(is_place, known))


def find_owned(spoken: str) -> Iterator[AttributeValue]:
    for pattern in (OWNED, CHANGED):
        if match := pattern.match(spoken):
            noun = re.sub("^(?:new|current) ", "", match[1])
            # British spelling becomes American: `favourite colour` is the attribute `favorite color`.
            attribute = NOUNS.get(noun) or noun.replace("our", "or")
            shape = SHAPES.get(attribute) or (SHAPES["favorite"] if " " in attribute else SECRET)
            if shape.fullmatch(value_text(match)) and (value := sure_value(spoken, match)):
                yield attribute, value


def find_ended_values(clause: str) -> Iterator[tuple[AttributeValue, ...]]:
    """Yield the values that a clause says no longer hold, grouped by negation."""
    spoken = bare(clause)
    if (match := LEFT.match(spoken)) and (value := sure_value(spoken, match)):
        yield (("work", value),)
        # "left Rome yesterday" may be about a journey.
        if not is_place(value_text(match)):
            yield (("site", value),)
        if spoken[match.end() :].startswith(" for good"):
            yield (("home", value),)
    if (match := MOVED.match(spoken)) and (value := sure_value(spoken, match)):
        yield (("home", value),)
    if (match := SWITCHED.match(spoken)) and sure_value(spoken, match):
        value = split_terms(match[1])  # "coffee in the morning" is not all coffee
        yield from (((name, value),) for name in ("work", "home", "title", "project", "habit"))
    if match := SOLD.match(spoken):
        yield (("habit", value_of(match[1])),)
    if match := OVER.match(spoken) or NOT.match(spoken):
        # "is no longer married", "used to be married"
        is_state = re.match("(?:is|am|are) |.* be ", match[0])
        values = tuple(find_values(f"is {match[1].removeprefix('be ')}" if is_state else match[1]))
        yield from (values,) if values else ()


def find_denied_predicates(clause: str) -> Iterator[str]:
    """Yield the predicates that a clause says no longer hold."""
    spoken = bare(clause)
    if match := OVER.match(spoken):
        yield END_TIME.sub("", match[1])
    # "I don't work this week" keeps "this week" in the predicate, so it does not end "I work".
    if match := NOT.match(spoken):
        yield ANY_MORE.sub("", match[1])
    if match := INSTEAD.match(spoken):
        yield f"{match[1]} {match[2]}"


def sure_value(spoken: str, match: re.Match[str]) -> tuple[str, ...]:
    """Return the terms of the value in the last group of a match; none if text after it may limit it."""
    value = value_text(match)
    rest = TO_OTHER.sub("", spoken[match.start(match.lastindex or 0) + len(value) :])
    # Part by part: one pattern for all parts could backtrack for ever if the last one does not fit.
    while part := SURE.match(rest):
        rest = rest[part.end() :]
    return () if rest else tuple(split_terms(value))


def value_text(match: re.Match[str]) -> str:
    return VALUE_END.split(match[match.lastindex or 0])[0].rstrip(" .!")


def value_of(text: str) -> tuple[str, ...]:
    return tuple(split_terms(VALUE_END.split(text)[0]))

"""References: the words of a query that stand for something said before, and what each may mean.

Law 1. By tables and the words beside; what only looks like a reference (`that` before a sentence, `it` of the
weather, `there is`) is none. Law 2. A language reads its own words only: Spanish `he` is no pronoun.
"""

from collections.abc import Callable
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.services.model import grammar
from umi_sim.services.model.phrases import Token, read_tokens


@attrs.frozen
class Reference(Data):
    """A place of the query to fill: who or what fits, and the form that the phrase takes there.

    `role` is person, group, thing, things or place. `form` is subject, object, possessive, place, or the
    preposition of a German word such as `davon`. `noun` is the word behind a demonstrative, if it has one.
    """

    start: int
    end: int
    role: str
    gender: str = ""
    form: str = "object"
    noun: str = ""


Reader = Callable[[list[Token], int], Reference | None]


def references(query: str, language: str) -> list[Reference]:
    """The references of a query by place."""
    tokens = read_tokens(query)
    found = (READERS[language](tokens, at) for at in range(len(tokens)))
    return [reference for reference in found if reference is not None]


def key_at(tokens: list[Token], at: int) -> str:
    return tokens[at].key if 0 <= at < len(tokens) else ""


def is_content(tokens: list[Token], at: int, language: str) -> bool:
    """Whether a word of a noun phrase stands here: directly behind, in no table of other words."""
    if at >= len(tokens) or tokens[at].gap not in (" ", "-"):
        return False
    key = tokens[at].key
    return (
        key not in grammar.FUNCTION_WORDS[language]
        and key not in grammar.DETERMINERS[language]
        and (key not in grammar.VERBS[language] or tokens[at].is_capital)
    )


# English.

ENGLISH: Final = {
    "he": ("person", "m", "subject"), "him": ("person", "m", "object"), "his": ("person", "m", "possessive"),
    "himself": ("person", "m", "object"), "she": ("person", "f", "subject"), "her": ("person", "f", "object"),
    "hers": ("person", "f", "possessive"), "herself": ("person", "f", "object"),
    "it": ("thing", "", "object"),
    "its": ("thing", "", "possessive"), "itself": ("thing", "", "object"), "they": ("they", "", "subject"),
    "them": ("they", "", "object"), "their": ("group", "", "possessive"),
    "theirs": ("group", "", "possessive"), "themselves": ("group", "", "object"),
    "this": ("thing", "", "object"), "that": ("thing", "", "object"), "these": ("things", "", "object"),
    "those": ("things", "", "object"), "here": ("place", "", "place"), "there": ("place", "", "place"),
}  # fmt: skip
BE: Final = frozenset("is are was were be been s re".split())
ENJOYING: Final = frozenset("like likes liked love loves loved hate hates hated enjoy enjoys enjoyed".split())
WEATHER: Final = frozenset("rain rains raining rained snow snows snowing snowed sunny windy cloudy".split())
DUMMY: Final = frozenset(
    "possible okay ok worth time late early true important better necessary safe weird normal".split()
)
BEFORE_CLAUSE: Final = frozenset(
    "say says said tell told think thinks thought know knows knew mention mentioned sure sorry glad hear "
    "heard believe mean means meant confirm confirmed promise promised agree agreed notice noticed hope "
    "happy afraid him her them me us you it so now".split()
)
OPENS_CLAUSE: Final = frozenset("i you he she it we they there my your our his her their the a an".split())
TIMES: Final = frozenset(
    "week weeks month year day days morning afternoon evening night weekend time way much many far long "
    "summer winter spring autumn fall minute moment".split()
)


def read_english(tokens: list[Token], at: int) -> Reference | None:
    token, before, after = tokens[at], key_at(tokens, at - 1), key_at(tokens, at + 1)
    if token.key not in ENGLISH or (
        token.text == "IT" and any(other.text != other.text.upper() for other in tokens)
    ):
        return None
    role, gender, form = ENGLISH[token.key]
    if token.key in ("here", "there") and (before in BE or after in BE or before == "over"):
        return None
    if token.key == "it" and is_dummy(tokens, at):
        return None
    noun = ""
    if token.key in ("this", "that", "these", "those"):
        if after in TIMES or (token.key == "that" and is_conjunction(tokens, at)):
            return None
        noun = after if before not in grammar.FINITE["en"] and is_content(tokens, at + 1, "en") else ""
        if before == "is" and key_at(tokens, at - 2) == "who":
            role = "person"
    if token.key == "her" and is_content(tokens, at + 1, "en"):
        form = "possessive"
    if (
        token.key == "his"
        and before not in BE
        and not is_content(tokens, at + 1, "en")
        and after not in grammar.COUNTING
    ):
        form = "possessive"
    return Reference(token.start, token.end, role, gender, form, noun)


def is_dummy(tokens: list[Token], at: int) -> bool:
    """`it` of the weather, of the time, of `is it possible to`, of `is it cold there`."""
    near = [token.key for token in tokens[max(0, at - 3) : at + 5]]
    before, after = key_at(tokens, at - 1), key_at(tokens, at + 1)
    if any(word in WEATHER for word in near) or "time" in near[:2]:
        return True
    if (after in ("here", "there") and before in ENJOYING) or (before in BE and is_cold_there(tokens, at)):
        return True
    if before in BE:
        is_state = any(word in DUMMY for word in near) and any(
            word in ("to", "that", "if") for word in near[3:]
        )
        return is_state or after == "going"
    return after in BE and key_at(tokens, at + 2) in DUMMY


def is_cold_there(tokens: list[Token], at: int) -> bool:
    """Whether a word of content stands between `it` and a `there`."""
    near = [token.key for token in tokens[at + 1 : at + 5]]
    place = next((n for n, word in enumerate(near) if word in ("here", "there")), 0)
    return any(word not in grammar.FUNCTION_WORDS["en"] for word in near[:place])


def is_conjunction(tokens: list[Token], at: int) -> bool:
    """`that` between a verb of saying and a sentence, or between a noun and what is said of it."""
    before, after = key_at(tokens, at - 1), key_at(tokens, at + 1)
    if not after:
        return False
    opens = after in OPENS_CLAUSE or tokens[at + 1].is_capital
    is_noun = (
        at > 1 and is_content(tokens, at - 1, "en") and key_at(tokens, at - 2) in grammar.DETERMINERS["en"]
    )
    return (before in BEFORE_CLAUSE and opens) or (is_noun and tokens[at].gap == " ")


# German.

GERMAN: Final = {
    "er": ("person", "m", "subject"), "ihn": ("person", "m", "object"), "ihm": ("person", "m", "dative"),
    "sie": ("person", "f", "subject"), "ihr": ("person", "f", "dative"), "ihnen": ("group", "", "dative"),
    "dort": ("place", "", "place"), "dorthin": ("place", "", "zu"), "dies": ("thing", "", "object"),
    **dict.fromkeys(("ihre", "ihren", "ihrem", "ihrer", "ihres"), ("person", "f", "possessive")),
    **dict.fromkeys(("sein", "seine", "seinen", "seinem", "seiner", "seines"), ("person", "m", "possessive")),
    **dict.fromkeys(("diese", "dieser", "dieses", "diesen", "diesem"), ("thing", "", "object")),
    "darüber": ("thing", "", "über"), "davon": ("thing", "", "von"), "dazu": ("thing", "", "zu"),
    "daran": ("thing", "", "an"), "dafür": ("thing", "", "für"), "damit": ("thing", "", "mit"),
    "darauf": ("thing", "", "auf"), "dabei": ("thing", "", "bei"), "danach": ("thing", "", "nach"),
    "darin": ("thing", "", "in"), "daraus": ("thing", "", "aus"), "dagegen": ("thing", "", "gegen"),
}  # fmt: skip


def read_german(tokens: list[Token], at: int) -> Reference | None:
    token, after = tokens[at], at + 1
    if token.key not in GERMAN:
        return None
    role, gender, form = GERMAN[token.key]
    if token.is_capital and not token.is_first and token.key in ("sie", "ihnen", "ihr", *IHRE):
        return None  # the polite form
    if form == "possessive" and not has_noun(tokens, after):
        return None
    if token.key == "ihr" and has_noun(tokens, after):
        form = "possessive"
    if token.key in ("sie", "ihr", *IHRE):
        role = "either"
        if token.key == "sie" and (is_plural_verb(tokens, at) or has_singular_verb(tokens, at)):
            role = "person" if has_singular_verb(tokens, at) else "group"
    noun = ""
    if token.key.startswith("dies"):
        noun = next((other.key for other in tokens[after : after + 3] if other.is_capital), "")
        if noun in TIMES_GERMAN:
            return None
    return Reference(token.start, token.end, role, gender, form, noun)


TIMES_GERMAN: Final = frozenset(
    "woche wochen monat jahr tag tage abend morgen nacht zeit mal wochenende sommer winter art weise "
    "fall".split()
)
IHRE: Final = ("ihre", "ihren", "ihrem", "ihrer", "ihres")


def has_noun(tokens: list[Token], at: int) -> bool:
    """Whether a noun stands here, small words that are inflected like one before it."""
    while at < len(tokens) and not tokens[at].is_capital and tokens[at].key.endswith(grammar.INFLECTED):
        at += 1
    return at < len(tokens) and tokens[at].is_capital and tokens[at].gap == " "


def is_plural_verb(tokens: list[Token], at: int) -> bool:
    beside = (key_at(tokens, at - 1), key_at(tokens, at + 1))
    return any(
        word in grammar.PLURAL_VERBS
        or (word in grammar.VERBS["de"] and word.endswith("en") and "ge" not in word[:5])  # no participle
        for word in beside
    )


def has_singular_verb(tokens: list[Token], at: int) -> bool:
    beside = (key_at(tokens, at - 1), key_at(tokens, at + 1))
    return any(
        (word in grammar.FINITE["de"] and word not in grammar.PLURAL_VERBS)
        or (word in grammar.VERBS["de"] and not word.endswith(("en", "st")))
        or (word.endswith("t") and not word.startswith("ge") and word not in grammar.FUNCTION_WORDS["de"])
        for word in beside
    )


# Spanish.

SPANISH: Final = {
    "él": ("person", "m", "subject"), "ella": ("person", "f", "subject"), "ellos": ("group", "", "subject"),
    "ellas": ("group", "", "subject"), "su": ("either", "", "possessive"),
    "sus": ("either", "", "possessive"),
    **dict.fromkeys(("esto", "eso", "aquello"), ("thing", "", "object")),
    **dict.fromkeys(("este", "esta", "ese", "esa", "aquel", "aquella"), ("thing", "", "object")),
    **dict.fromkeys(("estos", "estas", "esos", "esas"), ("things", "", "object")),
    **dict.fromkeys(("ahí", "allí", "allá"), ("place", "", "place")),
}  # fmt: skip
TIMES_SPANISH: Final = frozenset(
    "semana mes año día noche tarde mañana vez fin momento verano manera".split()
)


def read_spanish(tokens: list[Token], at: int) -> Reference | None:
    token = tokens[at]
    if token.key not in SPANISH:
        return None
    role, gender, form = SPANISH[token.key]
    has_noun = is_content(tokens, at + 1, "es")
    if form == "possessive" and not has_noun and key_at(tokens, at + 1) not in grammar.COUNTING:
        return None
    if role.startswith("thing") and key_at(tokens, at + 1) in TIMES_SPANISH:
        return None
    noun = key_at(tokens, at + 1) if has_noun and role.startswith("thing") else ""
    return Reference(token.start, token.end, role, gender, form, noun)


READERS: Final[dict[str, Reader]] = {"en": read_english, "de": read_german, "es": read_spanish}

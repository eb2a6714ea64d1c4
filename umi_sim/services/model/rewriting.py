"""Task rewrite: a query whose references are filled with the last fitting names of the turns.

Law 1. What the gate of the memory would refuse is not said: then the query stays as it is, byte for byte.
"""

from typing import Final

import attrs

from umi_core.language.rewriting import judged
from umi_core.values import Turn
from umi_sim.kernel.characters import lower, word_matches
from umi_sim.services.model import chinese, chinese_words, grammar
from umi_sim.services.model.mentions import Mention, mentions
from umi_sim.services.model.prompts import Inputs, whole
from umi_sim.services.model.references import Reference, references

CONFIDENCE_MIN_PPM: Final = 500_000
Placed = tuple[int, int, str]


def rewrite(given: Inputs) -> str:
    """The query, each reference that something fits filled in; as it is if the gate would refuse."""
    asked = given.get("query", given.get("text"))
    query = whole(asked if isinstance(asked, str) else "")
    turns = turns_in(given.get("turns"))
    language = language_of(query)
    for with_articles in (True, False):  # `the error` is itself a reference
        found = filled(query, language, turns, with_articles)
        if not found:
            break
        reply = query
        for start, end, text in reversed(found):
            reply = reply[:start] + text + reply[end:]
        reply = " ".join(contracted(reply, language).split())
        if judged(reply, query, turns, CONFIDENCE_MIN_PPM).outcome == "resolved":
            return reply
    return query


def turns_in(value: object) -> tuple[Turn, ...]:
    """The turns, newest first."""
    return tuple(
        Turn(role if isinstance(role := turn.get("role"), str) else "", whole(text))
        for turn in (value if isinstance(value, list) else ())
        if isinstance(turn, dict) and isinstance(text := turn.get("text"), str)
    )


def language_of(text: str) -> str:
    """zh if it has a Chinese character; else the language with most function words, English first."""
    if chinese.HAN.search(text):
        return "zh"
    words = [lower(match[0]) for match in word_matches(text)]
    counts = {
        language: sum(word in table or word in grammar.DETERMINERS[language] for word in words)
        for language, table in grammar.FUNCTION_WORDS.items()
    }
    if "¿" in text or "¡" in text:
        return "es"
    return max(counts, key=lambda language: counts[language])


# Filling.


def filled(query: str, language: str, turns: tuple[Turn, ...], with_articles: bool) -> list[Placed]:
    """What takes the place of which part of the query, by place."""
    asked = chinese.references(query) if language == "zh" else references(query, language)
    if not asked:
        return []
    said = [mention for turn in by_weight(turns) for mention in reversed(mentions_in(turn.text))]
    own = mentions_in(query)
    choice = Choice(said, own)
    found: list[Placed] = []
    for reference in asked:
        mention = choice.of(reference)
        if mention is not None:
            shown = mention if with_articles else attrs.evolve(mention, article=False)
            found.append(placed(query, language, reference, shown))
    return found


def by_weight(turns: tuple[Turn, ...]) -> list[Turn]:
    """The turns, newest first; what the assistant only asks comes last."""
    return sorted(
        turns, key=lambda turn: turn.role == "assistant" and turn.text.rstrip().endswith(("?", "？"))
    )


def mentions_in(text: str) -> list[Mention]:
    language = language_of(text)
    return chinese.mentions(text) if language == "zh" else mentions(text, language)


class Choice:
    """What each reference of a query means, and one and the same for equal ones."""

    def __init__(self, said: list[Mention], own: list[Mention]) -> None:
        self.said, self.own = said, own
        self.named = frozenset(lower(mention.text) for mention in own)
        self.chosen: dict[tuple[str, str, bool], Mention | None] = {}

    def of(self, reference: Reference) -> Mention | None:
        if reference.noun:
            found = next((mention for mention in self.said if has_head(mention, reference.noun)), None)
            is_bare = found is not None and found.wider and lower(found.text) == reference.noun
            return attrs.evolve(found, text=found.wider) if found is not None and is_bare else found
        group = (reference.role, reference.gender, reference.form in OBJECTS)
        if group not in self.chosen:
            other = self.chosen.get((reference.role, reference.gender, reference.form not in OBJECTS))
            is_other = other is not None and reference.role == "person" and reference.form in OBJECTS
            free = [mention for mention in self.said if not (is_other and mention == other)]
            self.chosen[group] = None if self.is_inside(reference) else self.last(reference, free)
        return self.chosen[group]

    def is_inside(self, reference: Reference) -> bool:
        """Whether the query names, before a reference that is no object, whom it means."""
        if reference.form == "object" or reference.role not in ("person", "group", "either"):
            return False
        return any(fits(reference, mention, 0) for mention in self.own if mention.end <= reference.start)

    def last(self, reference: Reference, said: list[Mention]) -> Mention | None:
        """The last mention that fits best; none that the query names."""
        free = [mention for mention in said if lower(mention.text) not in self.named]
        found = (mention for slack in SLACKS for mention in free if fits(reference, mention, slack))
        return next(found, None)


OBJECTS: Final = ("object", "dative")
SLACKS: Final = (0, 1, 2)  # how far a mention may be from what a reference asks for


def has_head(mention: Mention, noun: str) -> bool:
    """Whether a phrase is about this noun."""
    text = lower(mention.text)
    return text.endswith(noun) or text.startswith(noun + " ")


WHERE: Final = grammar.WHERE | chinese_words.WHERE


def fits(reference: Reference, mention: Mention, slack: int) -> bool:
    role, kind, thing = reference.role, mention.kind, mention.kind in ("thing", "place")
    if role in ("person", "either"):
        if kind == "person":
            return not reference.gender or mention.gender in (reference.gender, "")
        if kind == "group":
            return role == "either"
        is_agreed = mention.gender == reference.gender if reference.gender else role == "either"
        return thing and slack > 1 and not mention.aside and is_agreed
    if role in ("group", "they"):
        if kind == "group":
            return True
        return (mention.is_plural and thing and slack > (role == "group") - 1) or (
            kind == "person" and slack > 1
        )
    if role == "place":
        return kind == "place" or (slack > 0 and kind == "thing" and mention.aside in WHERE)
    is_many = mention.is_plural == (role == "things")
    is_city = kind == "place" and not mention.article and not mention.text.startswith(("my ", "our "))
    return thing and (slack > 1 or (is_many and (slack > 0 or not is_city)))


# Forms.


def placed(query: str, language: str, reference: Reference, mention: Mention) -> Placed:
    """The phrase in the form that its place asks for."""
    end = reference.end
    if reference.noun and has_head(mention, reference.noun):
        end = lower(query).find(reference.noun, end) + len(reference.noun)
    match language:
        case "en":
            return (
                reference.start,
                end,
                english(reference, mention, lower(query[: reference.start]).split()[-1:]),
            )
        case "de":
            return reference.start, end, german(reference, mention)
        case "es" if reference.form == "possessive":
            return spanish_possessive(query, reference, mention)
        case "es":
            article = f"{article_of(mention.text)} " if mention.article else ""
            before = lower(query[: reference.start]).split()[-1:]
            preposition = "en " if reference.form == "place" and before not in (["de"], ["en"], ["a"]) else ""
            return reference.start, end, preposition + article + mention.text
    return reference.start, end, mention.text


PREPOSITIONS: Final = frozenset("from in at to near around over into inside of about".split())


def english(reference: Reference, mention: Mention, before: list[str]) -> str:
    text = f"the {mention.text}" if mention.article else mention.text
    if reference.form == "possessive":
        return text + ("'" if text.endswith("s") else "'s")
    if reference.form == "place" and not (before and before[0] in PREPOSITIONS):
        return f"at {text}" if mention.article else f"in {text}"
    return text


CASES: Final = {"von": 2, "zu": 2, "mit": 2, "bei": 2, "nach": 2, "aus": 2}  # the others take the accusative
ARTICLES: Final = {"m": ("der", "den", "dem"), "f": ("die", "die", "der"), "n": ("das", "das", "dem")}


def german(reference: Reference, mention: Mention) -> str:
    form, text = reference.form, mention.text
    if form == "possessive":
        if mention.article or " " in text:
            return f"von {text}"
        return text + ("'" if text.endswith(("s", "x", "z", "ß")) else "'s")
    case = {"subject": 0, "object": 1, "dative": 2, "place": 2}.get(form, CASES.get(form, 1))
    article = f"{ARTICLES[mention.gender][case]} " if mention.article and mention.gender in ARTICLES else ""
    if form == "place":
        return f"in {article}{text}"
    return (article if form in ("subject", "object", "dative") else f"{form} {article}") + text


FEMININE: Final = ("a", "ión", "dad", "tad", "tud", "umbre", "as", "iones", "dades")
MASCULINE: Final = frozenset("día días problema problemas sistema programa tema temas mapa idioma".split())


def article_of(noun: str) -> str:
    head = lower(noun).split(" ")[0]
    is_feminine = (head.endswith(FEMININE) and head not in MASCULINE) or head in (
        "mano",
        "foto",
        "moto",
        "clase",
    )
    if head.endswith("s"):
        return "las" if is_feminine else "los"
    return "la" if is_feminine else "el"


def spanish_possessive(query: str, reference: Reference, mention: Mention) -> Placed:
    """`su coche nuevo` becomes `el coche nuevo de Ana`."""
    own = mentions("el" + " " + query[reference.end :].lstrip(), "es")
    noun = own[0].text if own and own[0].start <= 3 else query[reference.end :].split()[0]
    end = query.find(noun, reference.end) + len(noun)
    whose = f"{article_of(mention.text)} {mention.text}" if mention.article else mention.text
    return reference.start, end, f"{article_of(noun)} {noun} de {whose}"


def contracted(text: str, language: str) -> str:
    if language == "es":
        return text.replace(" de el ", " del ").replace(" a el ", " al ")
    return text

"""Task rewrite: a query whose references are filled with the last fitting names of the turns.

Law 1. What the gate of the memory would refuse is not said: then the query stays as it is, byte for byte.
"""

from typing import Final

from umi_core.language.rewriting import judged
from umi_core.values import Turn
from umi_sim.model import chinese, grammar
from umi_sim.model.mentions import Mention, mentions
from umi_sim.model.prompts import Inputs, whole
from umi_sim.model.references import Reference, references
from umi_sim.text import WORD, lower

CONFIDENCE_MIN_PPM: Final = 500_000
Placed = tuple[int, int, str]


def rewrite(given: Inputs) -> str:
    """The query, each reference that something fits filled in; as it is if the gate would refuse."""
    asked = given.get("query", given.get("text"))
    query = whole(asked if isinstance(asked, str) else "")
    turns = turns_in(given.get("turns"))
    language = language_of(query)
    found = filled(query, language, turns)
    if not found:
        return query
    reply = query
    for start, end, text in reversed(found):
        reply = reply[:start] + text + reply[end:]
    reply = " ".join(contracted(reply, language).split())
    return reply if judged(reply, query, turns, CONFIDENCE_MIN_PPM).outcome == "resolved" else query


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
    words = [lower(match[0]) for match in WORD.finditer(text)]
    counts = {
        language: sum(word in table or word in grammar.DETERMINERS[language] for word in words)
        for language, table in grammar.FUNCTION_WORDS.items()
    }
    if "¿" in text or "¡" in text:
        return "es"
    return max(counts, key=lambda language: counts[language])


# Filling.


def filled(query: str, language: str, turns: tuple[Turn, ...]) -> list[Placed]:
    """What takes the place of which part of the query, by place."""
    asked = chinese.references(query) if language == "zh" else references(query, language)
    if not asked:
        return []
    said = [mention for turn in turns for mention in reversed(mentions_in(turn.text))]
    own = mentions_in(query)
    choice = Choice(said, own, frozenset(lower(mention.text) for mention in own))
    found: list[Placed] = []
    for reference in asked:
        mention = choice.of(reference)
        if mention is not None:
            found.append(placed(query, language, reference, mention))
    return found


def mentions_in(text: str) -> list[Mention]:
    language = language_of(text)
    return chinese.mentions(text) if language == "zh" else mentions(text, language)


class Choice:
    """What each reference of a query means: one and the same for equal ones, different for others."""

    def __init__(self, said: list[Mention], own: list[Mention], named: frozenset[str]) -> None:
        self.said, self.own, self.named = said, own, named
        self.chosen: dict[tuple[str, str], Mention | None] = {}

    def of(self, reference: Reference) -> Mention | None:
        if reference.noun:
            return next((mention for mention in self.said if has_head(mention, reference.noun)), None) or (
                self.last(reference)
            )
        group = (reference.role, reference.gender)
        if group not in self.chosen:
            self.chosen[group] = None if self.is_inside(reference) else self.last(reference)
        return self.chosen[group]

    def is_inside(self, reference: Reference) -> bool:
        """Whether the query names, before a reference that is no object, whom it means."""
        before = [mention for mention in self.own if mention.end <= reference.start]
        return reference.form != "object" and any(fits(reference, mention, False) for mention in before)

    def last(self, reference: Reference) -> Mention | None:
        """The last mention that fits well, else the last that fits at all; none that the query names."""
        taken = [lower(mention.text) for mention in self.chosen.values() if mention is not None]
        free = [
            mention
            for mention in self.said
            if lower(mention.text) not in self.named and lower(mention.text) not in taken
        ]
        well = (mention for mention in free if fits(reference, mention, False))
        loosely = (mention for mention in free if fits(reference, mention, True))
        return next(well, None) or next(loosely, None)


def has_head(mention: Mention, noun: str) -> bool:
    """Whether a phrase is about this noun and says more than it."""
    text = lower(mention.text)
    return (len(text) > len(noun) and text.endswith(noun)) or text.startswith(noun + " ")


def fits(reference: Reference, mention: Mention, loosely: bool) -> bool:
    role, kind = reference.role, mention.kind
    if role in ("person", "either") and kind == "person":
        return not reference.gender or mention.gender in (reference.gender, "")
    if role == "either" and kind == "group":
        return True
    if role == "group":
        return kind == "group" or mention.is_plural or (loosely and kind == "person")
    if role == "thing":
        return kind in ("thing", "place") and (loosely or not mention.is_plural)
    if role == "things":
        return kind in ("thing", "place") and (loosely or mention.is_plural)
    if role == "place":
        return kind == "place"
    return False


# Forms.


def placed(query: str, language: str, reference: Reference, mention: Mention) -> Placed:
    """The phrase in the form that its place asks for."""
    end = reference.end
    if reference.noun and has_head(mention, reference.noun):
        end = query.lower().find(reference.noun, end) + len(reference.noun)
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

"""Task rewrite: a query whose references become the last fitting names of the turns.

Law 1. What the gate of the memory would refuse is not said: then the query stays as it is, byte for byte.
"""

from collections.abc import Iterator
from typing import Final

from umi_core.language.rewriting import judged
from umi_core.values import Turn
from umi_sim.kernel.characters import lower
from umi_sim.services.model.languages import language_of
from umi_sim.services.model.mentions import mentions
from umi_sim.services.model.nouns import Mention
from umi_sim.services.model.prompts import Inputs, whole
from umi_sim.services.model.references import Reference, references

CONFIDENCE_MIN_PPM: Final = 500_000
RECENT_COUNT: Final = 3  # turns in which a name is looked for
Placed = tuple[int, int, str]


def rewrite(given: Inputs) -> str:
    """The query, each reference that something fits filled in; as it is if the gate would refuse."""
    asked = given.get("query", given.get("text"))
    query = whole(asked if isinstance(asked, str) else "")
    turns = turns_in(given.get("turns"))
    reply = query
    for start, end, text in reversed(list(filled(query, turns))):
        reply = reply[:start] + text + reply[end:]
    reply = " ".join(reply.split())
    return reply if judged(reply, query, turns, CONFIDENCE_MIN_PPM).outcome == "resolved" else query


def turns_in(value: object) -> tuple[Turn, ...]:
    """The turns, newest first."""
    return tuple(
        Turn(role if isinstance(role := turn.get("role"), str) else "", whole(text))
        for turn in (value if isinstance(value, list) else ())
        if isinstance(turn, dict) and isinstance(text := turn.get("text"), str)
    )


def filled(query: str, turns: tuple[Turn, ...]) -> Iterator[Placed]:
    """What takes the place of which part of the query, by place."""
    language = language_of(query)
    asked = list(references(query, language))
    if not asked:
        return
    own = mentions(query)
    named = [lower(mention.text) for mention in own]
    said = [
        [mention for mention in mentions(turn.text) if lower(mention.text) not in named]
        for turn in by_weight(turns)[:RECENT_COUNT]
    ]
    is_first = True
    for reference in asked:
        if any(is_inside(reference, mention) for mention in own):
            continue
        is_second = language == "de" and not is_first  # `Kann er ihn erneuern?`: the second may be a thing
        wants = reference.wants[::-1] if is_second else reference.wants
        mention = meant(wants, reference.noun, said)
        if mention is not None:
            is_first = False
            yield placed(query, language, reference, mention)


def is_inside(reference: Reference, mention: Mention) -> bool:
    """Whether the query itself names before it whom a reference means."""
    is_person = mention.kind in ("person", "group") and mention.end <= reference.start
    return is_person and any(fits(want, mention) for want in reference.wants)


def by_weight(turns: tuple[Turn, ...]) -> list[Turn]:
    """The turns, newest first; what the assistant only asks comes last."""
    return sorted(
        turns, key=lambda turn: turn.role == "assistant" and turn.text.rstrip().endswith(("?", "？"))
    )


def meant(wants: tuple[str, ...], noun: str, said: list[list[Mention]]) -> Mention | None:
    """Of the newest turn with anything that fits, what fits best; what ends in the noun if there is one."""
    if noun:
        return next((one for turn in said for one in turn if lower(one.text).endswith(noun)), None)
    return next((one for turn in said for want in wants for one in turn if fits(want, one)), None)


def fits(want: str, mention: Mention) -> bool:
    kind, _, gender = want.partition(" ")
    is_open = kind == "person" and not mention.gender
    return mention.kind == kind and (not gender or is_open or mention.gender == gender)


# Forms.

ARTICLES: Final = {  # by language, in German by case; by gender
    "en": {"": "the", "m": "the", "f": "the"},
    "nom": {"m": "der", "f": "die", "n": "das"},
    "acc": {"m": "den", "f": "die", "n": "das"},
    "dat": {"m": "dem", "f": "der", "n": "dem"},
    "es": {"m": "el", "f": "la"},
}
CASES: Final = {"that": "acc", "place": "dat"}
IN: Final = {"en": "in", "de": "in", "es": "en"}
BEFORE_PLACE: Final = frozenset("from in at to near around over into inside of about de en a".split())
FEMININE: Final = ("a", "ión", "dad", "as", "iones", "dades")


def placed(query: str, language: str, reference: Reference, mention: Mention) -> Placed:
    """The phrase in the form that its place asks for."""
    before = lower(query[: reference.start]).split()[-1:]
    preposition, _, form = reference.form.rpartition(" ")
    if form == "place" and BEFORE_PLACE.isdisjoint(before):
        preposition = IN.get(language, "")
    articles = ARTICLES.get(CASES.get(form, form) if language == "de" else language, {})
    article = articles.get(mention.gender, "") if mention.has_article else ""
    text = " ".join(part for part in (preposition, article, mention.text) if part)
    if form == "'s":
        text += "'" if text.endswith("s") else "'s"
    if form == "de":
        text = owned(query[reference.start : reference.end].split()[-1], text)
    return reference.start, reference.end, text


def owned(noun: str, owner: str) -> str:
    """`su coche` of Ana becomes `el coche de Ana`."""
    is_feminine = lower(noun).endswith(FEMININE)
    article = ("las" if is_feminine else "los") if noun.endswith("s") else ("la" if is_feminine else "el")
    return f"{article} {noun} de {owner}".replace(" de el ", " del ")

"""Task rewrite: replaces the references of a query by the last fitting names of the turns.

Law 1. If the gate of the memory would reject the rewrite, the query is returned unchanged.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from umi_core.language.rewriting import judge_rewrite
from umi_core.values import Turn
from umi_sim.kernel.characters import lower
from umi_sim.services.model.languages import language_of
from umi_sim.services.model.mentions import mentions
from umi_sim.services.model.nouns import Antecedent
from umi_sim.services.model.prompts import Inputs, whole
from umi_sim.services.model.references import Reference, references

CONFIDENCE_MIN_PPM: Final = 500_000
APPOSITION: Final = re.compile(  # between two names of the same person: `my dentist is Dr. Wong`
    r",?(?: (?:is|was|called|named|is called|ist|war|heißt|namens|es|se llama|el|la))?"
    r" ?(?:(?:Dr|Mrs?|Ms|Prof|Sra?|Frau|Herrn?|señora?)\.? )?"
)
RECENT_COUNT: Final = 3  # the number of turns in which a name is looked for
Placed = tuple[int, int, str, Antecedent, int]  # start, end, new text, antecedent, number of its turn
SpokenTurn = tuple[str, list[Antecedent]]  # a turn and its mentions
Json = dict[str, str | int]


def rewrite(given: Inputs) -> str:
    """Return the rewrite and the meaning of each reference; the query alone if the gate would reject it."""
    query, turns, filled = fill_query(given)
    line = put_into(query, filled)
    rows: list[Json] = [
        {"reference": query[start:end], "means": mention.text, "turn": number}
        for start, end, _, mention, number in filled
    ]
    reply = json.dumps({"query": line, "references": rows}, ensure_ascii=False)
    return reply if is_taken(reply, query, turns) else query


def rewrite_line(given: Inputs) -> str:
    """Return the rewrite alone; the query unchanged if the gate would reject it."""
    query, turns, filled = fill_query(given)
    line = put_into(query, filled)
    return line if is_taken(line, query, turns) else query


def is_taken(reply: str, query: str, turns: tuple[Turn, ...]) -> bool:
    return judge_rewrite(reply, query, turns, CONFIDENCE_MIN_PPM).outcome == "resolved"


def fill_query(given: Inputs) -> tuple[str, tuple[Turn, ...], list[Placed]]:
    asked = given.get("query", given.get("text"))
    query = whole(asked if isinstance(asked, str) else "")
    turns = turns_in(given.get("turns"))
    return query, turns, list(fill_references(query, turns))


def put_into(query: str, filled: list[Placed]) -> str:
    """Return the query with each reference filled in."""
    line = query
    for start, end, text, _, _ in reversed(filled):  # from the back, so that earlier places stay valid
        line = line[:start] + text + line[end:]
    return " ".join(line.split())


def turns_in(value: object) -> tuple[Turn, ...]:
    """Return the turns, newest first."""
    return tuple(
        Turn(role if isinstance(role := turn.get("role"), str) else "", whole(text))
        for turn in (value if isinstance(value, list) else ())
        if isinstance(turn, dict) and isinstance(text := turn.get("text"), str)
    )


def fill_references(query: str, turns: tuple[Turn, ...]) -> Iterator[Placed]:
    """Yield the parts of the query that are replaced, in order of their place."""
    language = language_of(query)
    asked = list(references(query, language))
    if not asked:
        return
    own = mentions(query)
    named = [lower(mention.text) for mention in own]
    spoken = [
        (turn.text, [mention for mention in mentions(turn.text) if lower(mention.text) not in named])
        for turn in by_weight(turns)[:RECENT_COUNT]
    ]
    taken: list[Antecedent] = []
    for reference in asked:
        if any(is_named_before(reference, mention) for mention in own):
            continue
        is_second = language == "de" and bool(taken)  # `Kann er ihn erneuern?`: `ihn` may be a thing
        wants = reference.wants[::-1] if is_second else reference.wants
        mention = find_antecedent(wants, reference.noun, spoken, language)
        if mention is not None and mention not in taken:
            taken.append(mention)
            number = next(n for n, turn in enumerate(turns, start=1) if mention in mentions(turn.text))
            yield (*make_phrase(query, language, reference, mention), mention, number)


def is_named_before(reference: Reference, mention: Antecedent) -> bool:
    """Check whether this mention in the query itself, before the reference, is its person or group."""
    is_person = mention.kind in ("person", "group") and mention.end <= reference.start
    return is_person and any(fits(want, mention) for want in reference.wants)


def by_weight(turns: tuple[Turn, ...]) -> list[Turn]:
    """Return the turns in their order, but with questions of the assistant last."""
    return sorted(
        turns, key=lambda turn: turn.role == "assistant" and turn.text.rstrip().endswith(("?", "？"))
    )


def find_antecedent(
    wants: tuple[str, ...], noun: str, spoken: list[SpokenTurn], language: str
) -> Antecedent | None:
    """Find the mention that ends in the noun; without a noun, the best one of the newest turn that has any.

    Return None if the reference is ambiguous: there is a second person, or a mention of unknown kind.
    """
    if noun:
        return next((one for _, found in spoken for one in found if lower(one.text).endswith(noun)), None)
    for text, found in spoken:
        fitting = [one for want in wants for one in found if fits(want, one)]
        persons = [one for one in fitting if one.kind == "person"]
        rivals = [*persons, *(one for one in found if may_fit(wants, one, language))]
        if fitting:
            is_sure = not any(is_apart(fitting[0], one, text) for one in rivals)
            return fitting[0] if is_sure and not is_one_of_many(fitting[0], text, spoken) else None
        if rivals:
            return None
    return None


def is_one_of_many(mention: Antecedent, text: str, spoken: list[SpokenTurn]) -> bool:
    """Check whether this is a thing, and other turns have mentions of unknown kind."""
    others = [one for turn, found in spoken for one in found if turn != text and one.text != mention.text]
    return mention.kind == "thing" and any(one.kind == "unknown" for one in others)


def is_apart(mention: Antecedent, rival: Antecedent, text: str) -> bool:
    """Check whether these are two things, unlike `my dentist` and `Wong` in `my dentist, Dr. Wong`."""
    first, second = sorted((mention, rival), key=lambda it: (it.start, -it.end))
    return mention.text != rival.text and not APPOSITION.fullmatch(text[first.end : second.start])


def may_fit(wants: tuple[str, ...], mention: Antecedent, language: str) -> bool:
    """Check whether a word may refer to a mention of unknown kind. In German a capital shows no name."""
    is_person = wants[0].startswith("person")
    is_rival = mention.kind == "other" and not (is_person and language == "de")
    return is_rival or (mention.kind == "unknown" and not is_person)


def fits(want: str, mention: Antecedent) -> bool:
    kind, _, gender = want.partition(" ")
    is_open = kind == "person" and not mention.gender
    return mention.kind == kind and (not gender or is_open or mention.gender == gender)


# Forms.

ARTICLES: Final = {  # by language, or for German by case; then by gender
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


def make_phrase(query: str, language: str, reference: Reference, mention: Antecedent) -> tuple[int, int, str]:
    """Return the span of a reference and the phrase that replaces it, with article and preposition."""
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
        text = rephrase_owner(query[reference.start : reference.end].split()[-1], text)
    return reference.start, reference.end, text


def rephrase_owner(noun: str, owner: str) -> str:
    """Turn `su coche` of Ana into `el coche de Ana`."""
    is_feminine = lower(noun).endswith(FEMININE)
    article = ("las" if is_feminine else "los") if noun.endswith("s") else ("la" if is_feminine else "el")
    return f"{article} {noun} de {owner}".replace(" de el ", " del ")

"""Resolve references without a model: `she` becomes the only woman of the turns; unclear ones stay.

Law 1. A reference is resolved only if exactly one name of the turns can fit: no name is better than a wrong
one. Law 2. A reply that `judge_rewrite` would reject is not given; the query then stays unchanged.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from umi_core.data import Data
from umi_core.language.antecedents import PERSONS, kinds_of
from umi_core.language.languages import written_words
from umi_core.language.rewriting import SMALL_WORDS, judge_rewrite, read_query
from umi_core.values import Turn
from umi_live.rules import is_possible

# By language: the words that a name can replace, with the kind of name: m and f persons, l a location.
PLAIN: Final = {
    "en": {"he": "m", "him": "m", "she": "f", "her": "f", "there": "l", "his": "m"},
    "de": {"er": "m", "ihm": "m", "dort": "l"},
    "es": {"él": "m", "ella": "f", "allí": "l"},
    "fr": {"il": "m", "elle": "f", "là-bas": "l"},
}
PREPOSITION: Final = {"en": "in ", "de": "in ", "es": "en ", "fr": "à "}
OWNERS: Final = frozenset(["his"])


class NamedInTurn(Data):
    """A name, the number of the newest turn with it (1: the newest turn), and the kinds that it may be of."""

    text: str
    turn: int
    kinds: frozenset[str]


def resolve_plainly(query: str, turns: Sequence[Turn]) -> str:
    """Return a reply to the task `rewrite`: the query itself, unless some of its references are clear.

    `turns`: the newest first.
    """
    given = tuple(turns)
    asked = read_query(query, given)
    plain = PLAIN.get(asked.language, {})
    named = list(find_names(given, asked.language))
    rows: list[dict[str, str | int]] = []
    line = query
    for term in asked.terms:
        name = pick(plain.get(term, ""), named)
        if name is None:
            continue
        text = f"{name.text}'s" if is_owner(term, line) else name.text
        text = f"{PREPOSITION[asked.language]}{text}" if plain[term] == "l" else text
        line = re.sub(rf"(?<!\w){re.escape(term)}(?!\w)", text, line, count=1, flags=re.IGNORECASE)
        rows.append({"reference": term, "means": name.text, "turn": name.turn})
    reply = json.dumps({"query": line, "references": rows})
    taken = judge_rewrite(reply, query, given, 0).outcome == "resolved"
    return reply if taken else query


def is_owner(term: str, line: str) -> bool:
    """Check whether a term is a possessive: `his`, or `her` before another word."""
    return term in OWNERS or (term == "her" and re.search(r"\bher \w", line, re.IGNORECASE) is not None)


def pick(kind: str, named: Sequence[NamedInTurn]) -> NamedInTurn | None:
    """Return the only name that may be of a kind, if it is of no other kind; else None."""
    fitting = [it for it in named if kind and kind in it.kinds]
    is_known = len(fitting) == 1 and fitting[0].kinds <= {kind}
    return fitting[0] if is_known else None


def find_names(turns: Sequence[Turn], language: str) -> Iterator[NamedInTurn]:
    """Yield each possible name of the turns once: consecutive capitalised words."""
    texts, seen = (*(turn.text for turn in turns), ""), set[str]()
    for number, turn in enumerate(turns, start=1):
        for words in runs_of_capitals(turn.text):
            # `Nice!` and `Her boss` begin with a capital letter but are no names.
            if not is_possible(" ".join(words)):
                continue
            keys = [word.casefold() for word in words]
            kinds = [kinds_of(key, texts, language) for key in keys]
            # `Mr Dunne` is a man by its first word, although `Dunne` alone could be of any kind.
            sure = [it for it in kinds if it <= PERSONS or it == {"l"}]
            if seen.isdisjoint(keys):
                yield NamedInTurn(" ".join(words), number, frozenset[str]().union(*(sure or kinds)))
            seen.update(keys)


def runs_of_capitals(text: str) -> Iterator[tuple[str, ...]]:
    run: list[str] = []
    for word in written_words(text):
        if run and not (word.is_capital and word.is_joined):
            yield tuple(run)
            run = []
        if word.is_capital and word.text not in SMALL_WORDS:
            run.append(word.written)
    if run:
        yield tuple(run)

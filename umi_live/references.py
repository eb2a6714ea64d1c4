"""References without a model: `she` is the one woman of the turns, and what is less plain stays as it is.

Law 1. A reference is resolved only if one name of the turns fits and no other may: no name beats a wrong one.
Law 2. What the gate of the memory would refuse is not said.
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

# By language: words that one name can replace, and those that say whose something is.
PLAIN: Final = {
    "en": {"he": "m", "him": "m", "she": "f", "her": "f", "there": "l", "his": "m"},
    "de": {"er": "m", "ihm": "m", "dort": "l"},
    "es": {"él": "m", "ella": "f", "allí": "l"},
    "fr": {"il": "m", "elle": "f", "là-bas": "l"},
}
PREPOSITION: Final = {"en": "in ", "de": "in ", "es": "en ", "fr": "à "}
OWNERS: Final = frozenset(["his"])


class NamedInTurn(Data):
    """A name, and the number of the newest turn that has it."""

    text: str
    turn: int
    kinds: frozenset[str]


def resolve_plainly(query: str, turns: Sequence[Turn]) -> str:
    """Return a reply to the task rewrite: the query itself unless some of its references are plain.

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
    """Check whether a term says whose something is: `his`, and `her` before another word."""
    return term in OWNERS or (term == "her" and re.search(r"\bher \w", line, re.IGNORECASE) is not None)


def pick(kind: str, named: Sequence[NamedInTurn]) -> NamedInTurn | None:
    """Return the only name of a kind; None if another name may be of that kind, too."""
    fitting = [it for it in named if kind and kind in it.kinds]
    is_known = len(fitting) == 1 and fitting[0].kinds <= {kind}
    return fitting[0] if is_known else None


def find_names(turns: Sequence[Turn], language: str) -> Iterator[NamedInTurn]:
    """Yield what may be a name in the turns, each once: words with a capital that stand together."""
    texts, seen = (*(turn.text for turn in turns), ""), set[str]()
    for number, turn in enumerate(turns, start=1):
        for words in runs_of_capitals(turn.text):
            # `Nice!` and `Her boss` begin with a capital, and are no names that may be meant.
            if not is_possible(" ".join(words)):
                continue
            keys = [word.casefold() for word in words]
            kinds = [kinds_of(key, texts, language) for key in keys]
            # `Mr Dunne` is a man, though of `Dunne` alone less may be known.
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

"""Measures how well references are resolved, on the labelled talk of scenarios/data with rewrites by SimLLM.

A second table has the questions of tests/quality, with right and wrong rewrites from their labels.
`python tools/references.py` prints both by language, `-v` also the errors; status 1 below a threshold.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from umi_core.data import Data
from umi_core.language.prompts import ask_rewrite
from umi_core.language.pronouns import read
from umi_core.language.rewriting import judge_rewrite, resolve_without_model, shown_turns
from umi_core.language.words import words
from umi_core.messages.results import Resolution
from umi_core.values import Turn
from umi_sim.services.model import truth

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / "scenarios" / "data" / "references.jsonl"
QUESTIONS: Final = tuple(
    ROOT / "tests" / "quality" / name
    for name in ("dialogue.jsonl", "references.jsonl", "later_references.jsonl", "named_references.jsonl")
)
CONFIDENCE_MIN_PPM: Final = 500_000  # the default of resolve_confidence_min_ppm
RESOLVED_PERCENT_MIN: Final = 80
UNCHANGED_PERCENT_MIN: Final = 95
LANGUAGES: Final = {"en": "English", "de": "German", "es": "Spanish", "zh": "Chinese"}


class Example(Data):
    """A query after some turns, oldest first, and what it means.

    `expected`: the phrases of a right resolution in their order, `a|b` for alternatives; empty if the turns
    do not determine the meaning. `gone`: terms that a right resolution must not contain.
    """

    language: str
    turns: tuple[Turn, ...]
    query: str
    expected: tuple[str, ...]
    gone: tuple[str, ...]


class Row(Data):
    """The counts of one language."""

    language: str
    resolvable: int
    right: int
    wrong: int
    unchanged: int
    unresolvable: int
    left: int

    @property
    def passes(self) -> bool:
        """Return True if over 80 % of resolvable queries are right, and over 95 % of others are unchanged."""
        return (
            self.right * 100 > RESOLVED_PERCENT_MIN * self.resolvable
            and self.left * 100 > UNCHANGED_PERCENT_MIN * self.unresolvable
        )


def examples(text: str) -> list[Example]:
    """Return the examples of a file, one JSON object per line."""
    return [example(json.loads(line)) for line in text.splitlines()]


def example(fields: dict[str, object]) -> Example:
    turns = fields["turns"]
    assert isinstance(turns, list)
    return Example(
        str(fields["language"]),
        tuple(Turn(turn["role"], turn["text"]) for turn in turns),
        str(fields["query"]),
        texts(fields["expected"]),
        texts(fields["gone"]),
    )


def texts(value: object) -> tuple[str, ...]:
    assert isinstance(value, list)
    return tuple(map(str, value))


def resolved(one: Example) -> Resolution:
    """Return the resolution of a query by detection, the question to the model, SimLLM and the gate."""
    turns = shown_turns(one.turns)
    known = resolve_without_model(one.query, turns, True)
    if known is not None:
        return known
    return judge_rewrite(
        truth("rewrite", ask_rewrite(one.query, turns)), one.query, turns, CONFIDENCE_MIN_PPM
    )


def is_right(one: Example, resolution: Resolution) -> bool:
    """Return True if the expected phrases occur in order, and none of the terms in `gone`."""
    own_words = words(resolution.query)
    at = 0
    for phrase in one.expected:
        at = min(
            (end for option in phrase.split("|") if (end := end_of(words(option), own_words, at))), default=0
        )
        if not at:
            return False
    terms = read(resolution.query).terms
    return resolution.outcome == "resolved" and not any(term in terms for term in one.gone)


def end_of(phrase: tuple[str, ...], own_words: tuple[str, ...], start: int) -> int:
    """Return the end of the first occurrence of a phrase from `start` on; 0 if there is none."""
    places = range(start, len(own_words) - len(phrase) + 1)
    return next((at + len(phrase) for at in places if own_words[at : at + len(phrase)] == phrase), 0)


def measured(some: Iterable[Example]) -> list[Row]:
    """Return the rows of the languages, and a last one for all."""
    verdicts: dict[str, list[str]] = {language: [] for language in LANGUAGES}
    for one in some:
        verdicts[one.language].append(verdict(one))
    every = [word for found in verdicts.values() for word in found]
    return [*(row(LANGUAGES[key], found) for key, found in verdicts.items()), row("all", every)]


def verdict(one: Example) -> str:
    resolution = resolved(one)
    if not one.expected:
        return "left" if resolution.query == one.query else "changed"
    if resolution.query == one.query:
        return "unchanged"
    return "right" if is_right(one, resolution) else "wrong"


def row(name: str, found: list[str]) -> Row:
    right, wrong, unchanged = (found.count(word) for word in ("right", "wrong", "unchanged"))
    left_count, changed = found.count("left"), found.count("changed")
    return Row(name, right + wrong + unchanged, right, wrong, unchanged, left_count + changed, left_count)


# Questions with right and wrong rewrites.


Means = tuple[tuple[str, str, int], ...]  # reference, what it means, number of the turn


class Question(Data):
    """A query after some turns, and rewrites of it, the wrong ones with what they name."""

    language: str
    turns: tuple[Turn, ...]  # the newest first
    query: str
    refers: bool
    means: Means
    right: tuple[str, ...]
    wrong: tuple[tuple[str, Means], ...]  # rewrites that name another entity

    @property
    def is_asked(self) -> bool:
        return resolve_without_model(self.query, self.turns, True) is None

    def takes(self, rewrite: str) -> bool:
        """Return True if the memory accepts a rewrite that names no reference."""
        found = judge_rewrite(rewrite, self.query, self.turns, CONFIDENCE_MIN_PPM)
        return self.is_asked and found.outcome == "resolved"

    def takes_named(self, rewrite: str, later: int = 0, means: Means = ()) -> bool:
        """Return True if the memory accepts a rewrite that names a reference; `later`: error of its turn."""
        rows = [
            {"reference": reference, "means": text, "turn": number - later}
            for reference, text, number in means or self.means
        ]
        return self.takes(json.dumps({"query": rewrite, "references": rows}))

    def takes_wrong(self, rewrite: str, means: Means) -> bool:
        """Check whether a wrong rewrite is taken, as it is labelled: as a line, or with what it names."""
        return self.takes_named(rewrite, means=means) if means else self.takes(rewrite)

    @property
    def is_right(self) -> bool:
        """Return True if the memory accepts a right rewrite, with or without a named reference."""
        take = self.takes_named if self.means else self.takes
        return any(take(rewrite) for rewrite in self.right)


def questions(text: str) -> list[Question]:
    """Return the questions of a file, one JSON object per line."""
    return [question(json.loads(line)) for line in text.splitlines()]


def question(fields: dict[str, Any]) -> Question:
    turns = tuple(Turn(turn["role"], turn["text"]) for turn in fields["turns"])

    def count_back(rows: list[tuple[str, str, int]]) -> Means:
        return tuple((term, words, len(turns) - at) for term, words, at in rows)

    means = count_back(fields.get("means", []))
    # The older files have lines, of which those with another entity count.
    wrong = tuple(
        (rewrite, count_back(named[0]) if named else ())
        for kind, rewrite, *named in fields["wrong"]
        if fields["refers"] and (named or kind == "entity")
    )
    right = tuple(fields["right"])
    return Question(
        fields["language"], shown_turns(turns), fields["query"], fields["refers"], means, right, wrong
    )


class Score(Data):
    """Counts of questions, and of wrong rewrites: found and resolved, refused, left alone."""

    referring: int
    found: int
    resolved: int
    wrong: int
    refused: int
    clear: int
    left: int


def score(some: Iterable[Question]) -> Score:
    """Count questions with references, and those resolved by a right rewrite, if they have one."""
    every = list(some)
    referring = [it for it in every if it.refers and it.right]
    wrong = [it.takes_wrong(*each) for it in referring for each in it.wrong]
    clear = [it for it in every if not it.refers]
    return Score(
        len(referring),
        sum(it.is_asked for it in referring),
        sum(it.is_right for it in referring),
        len(wrong),
        wrong.count(False),
        len(clear),
        sum(not it.is_asked for it in clear),
    )


def print_scores(verbose: bool) -> None:
    for path in QUESTIONS:
        every = questions(path.read_text("utf-8"))
        print(
            f"\n{path.name:22}{'refer':>6}{'found':>6}{'right':>6}{'wrong':>8}{'refused':>8}{'clear':>8}",
            end="",
        )
        print(f"{'left':>6}")
        for language in sorted({it.language for it in every}):
            print_score(language, score(it for it in every if it.language == language))
        print_score("all", score(every))
        for it in every if verbose else ():
            print_failures(it)


def print_score(name: str, it: Score) -> None:
    print(f"{name:22}{it.referring:>6}{it.found:>6}{it.resolved:>6}{it.wrong:>8}{it.refused:>8}", end="")
    print(f"{it.clear:>8}{it.left:>6}")


def print_failures(it: Question) -> None:
    if it.is_asked != it.refers:
        print(f"{'asked' if it.is_asked else 'not found'}: {it.query}")
    elif it.right and not it.is_right:
        print(f"refused: {it.query} | {it.right[0]}")
    for rewrite, means in it.wrong:
        if it.takes_wrong(rewrite, means):
            print(f"taken: {it.query} | {rewrite}")


def percent(part: int, whole: int) -> str:
    return f"{part * 1000 // max(1, whole) / 10} %"


def main(verbose: bool) -> int:
    some = examples(DATA.read_text("utf-8"))
    print(f"{'':9}{'resolvable':>11}{'right':>7}{'share':>9}{'wrong':>7}{'unchanged':>11}", end="")
    print(f"{'unresolvable':>14}{'left':>6}{'share':>9}")
    rows = measured(some)
    for it in rows:
        share, left_share = percent(it.right, it.resolvable), percent(it.left, it.unresolvable)
        print(
            f"{it.language:9}{it.resolvable:>11}{it.right:>7}{share:>9}{it.wrong:>7}{it.unchanged:>11}",
            end="",
        )
        print(f"{it.unresolvable:>14}{it.left:>6}{left_share:>9}")
    for one in some if verbose else ():
        if (word := verdict(one)) not in ("right", "left"):
            resolution = resolved(one)
            talk = " / ".join(turn.text for turn in one.turns)
            print(
                f"\n{word} {resolution.outcome} {one.expected}\n  {talk}\n  {one.query}\n  {resolution.query}"
            )
    print_scores(verbose)
    return 0 if all(it.passes for it in rows) else 1


if __name__ == "__main__":
    sys.exit(main("-v" in sys.argv[1:]))

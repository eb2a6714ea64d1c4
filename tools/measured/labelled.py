"""The labelled corpus: talk.txt and topics.txt of tests/quality, whose heads tell their form."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.values import Turn

DATA: Final = Path(__file__).resolve().parents[2] / "tests" / "quality"
SAYS: Final = ("user", "assistant")


class Query(Data):
    """A query after some turns, oldest first. `meant`: for each thing it means the words for it, one of which
    a right rewrite has; none if the query refers to nothing. `wrong` are pairs of a kind and a rewrite."""

    language: str
    form: str
    turns: tuple[Turn, ...]
    text: str
    meant: tuple[tuple[str, ...], ...] = ()
    right: tuple[str, ...] = ()
    wrong: tuple[tuple[str, str], ...] = ()

    @property
    def refers(self) -> bool:
        return bool(self.meant)

    def is_meant(self, rewrite: str) -> bool:
        """Whether a rewrite says each thing that is meant."""
        text = rewrite.casefold()
        return all(any(option.casefold() in text for option in options) for options in self.meant)


class Fact(Data):
    """`text` is about a topic; `is_detail`: only the text says it, and nothing was extracted of it."""

    category: str
    topic: str
    text: str
    is_detail: bool = False

    @property
    def is_noise(self) -> bool:
        return self.topic == "-"


class Question(Data):
    """A query of a topic, and the level of the archive that answers it."""

    category: str
    topic: str
    level: str
    text: str


def lines(name: str) -> Iterator[tuple[str, str]]:
    """The mark that each line of a file begins with, and what follows it."""
    for line in (DATA / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            mark, _, rest = line.partition(" ")
            yield mark, rest.strip()


def queries() -> list[Query]:
    found: list[Query] = []
    head, turns = ("", ""), tuple[Turn, ...]()
    for mark, rest in lines("talk.txt"):
        if mark == "==":
            language, form = rest.split()
            head, turns = (language, form), ()
        elif mark.removesuffix(":") in SAYS:
            turns = (*turns, Turn(mark.removesuffix(":"), rest))
        elif mark == "?":
            found.append(Query(*head, turns, rest))
        else:
            found[-1] = with_label(found[-1], mark, rest)
    return found


def with_label(query: Query, mark: str, rest: str) -> Query:
    if mark == "=":
        return structs.replace(query, meant=tuple(tuple(it.split("|")) for it in rest.split(", ")))
    if mark == "+":
        return structs.replace(query, right=(*query.right, rest))
    assert mark == "-", mark
    kind, _, rewrite = rest.partition(": ")
    return structs.replace(query, wrong=(*query.wrong, (kind, rewrite)))


def archive() -> tuple[list[Fact], list[Question]]:
    facts: list[Fact] = []
    questions: list[Question] = []
    category = topic = ""
    for mark, rest in lines("topics.txt"):
        if mark == "==":
            category, topic = rest.split(" / ")
        elif mark == "?":
            level, _, text = rest.partition(": ")
            questions.append(Question(category, topic, level, text))
        else:
            assert mark in "-~", mark
            facts.append(Fact(category, topic, rest, mark == "~"))
    return facts, questions

"""What a report says, and which of its words neither every reader nor `umi-sim explain` knows."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from umi_sim.explain import words
from umi_sim.explain.words import UnknownName, look_up


def unknown(names: Iterable[str]) -> list[str]:
    """Those that have no page."""
    return [name for name in dict.fromkeys(names) if is_unknown(name)]


@cache
def is_unknown(name: str) -> bool:
    try:
        look_up(name)
    except UnknownName:
        return True
    return False


def of_a_run(record: dict[str, Any]) -> list[str]:
    """What a run counts, by name, and the keys under which it does."""
    return sorted({*counted_names(record)} - set(sentences(record)))


def counted_names(record: dict[str, Any]) -> Iterator[str]:
    for key, value in record.items():
        yield key
        if isinstance(value, dict) and key not in ("failure", "operations"):
            yield from value


def sentences(record: dict[str, Any]) -> Iterator[str]:
    """What says itself what it is: why something was skipped, and marks that are no word."""
    yield from record["skipped"]
    yield from (mark for mark in record["marks"] if " " in mark.partition(":")[0])


# Every word of an output.

PLAIN: Final = Path(__file__).with_name("plain_words.txt")
QUOTED: Final = re.compile(  # a quote that was cut ends with its line
    r"""b?"([^"\\]|\\.)*("|$)|(?<![a-z])b?'([^'\\]|\\.)*('(?!\w)|$)|`[^`]*(`|$)"""
)
COMMAND: Final = re.compile(r"(^|(?<=\s))(\$ )?(umi-sim|git|python|pytest|pip|echo) .*?(?=   |;|$)")
CODE: Final = re.compile(r"[/=#\\@0-9.($:]|^-")  # ids, paths, places in a state, options, values
ENDS: Final = (
    ("'s", ""), ("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""),
    ("ing", "e"), ("er", ""), ("er", "e"), ("est", ""), ("est", "e"), ("ly", ""),
)  # fmt: skip


def strange(lines: Iterable[str]) -> dict[str, str]:
    """Words without an explanation, each with a line that has it."""
    found = {word: line for line in lines for word in words_in(line)}
    return {word: line.strip() for word, line in found.items() if is_strange(word)}


def words_in(line: str) -> Iterator[str]:
    """The words of a line that are meant to be read: no code, no command, nothing quoted."""
    if "script." in line or "Script(" in line:
        return
    for name in words.floors():
        line = line.replace(name, " ")
    line = COMMAND.sub(" ", QUOTED.sub(" ", line))
    for token in line.replace("|", " ").split():
        word = token.strip(".,;:()[]{}<>!?*+~%&")
        if len(word) > 1 and not CODE.search(word):
            yield word.strip("-_")


def is_strange(word: str) -> bool:
    return not is_known(word) and not all(is_known(part) for part in word.split("-") if len(part) > 1)


@cache
def is_known(word: str) -> bool:
    """Whether it is a form of a word that every reader knows, or that has a page."""
    return not is_unknown(word) or any(
        form in plain_words() or not is_unknown(form) for form in forms(word.lower())
    )


def forms(word: str) -> Iterator[str]:
    """The word, and what it may be a form of: stopped, stopp, stop."""
    yield word
    for end, other in ENDS:
        if word.endswith(end):
            stem = word.removesuffix(end) + other
            yield stem
            if not other and stem[-1:] == stem[-2:-1]:
                yield stem[:-1]


@cache
def plain_words() -> frozenset[str]:
    lines = PLAIN.read_text().splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())

"""What a report says, and which of its words `umi-sim explain` does not know."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

from umi_sim.explain import words
from umi_sim.explain.words import UnknownName, page


def unknown(names: Iterable[str]) -> list[str]:
    """Those that have no page."""
    return [name for name in dict.fromkeys(names) if is_unknown(name)]


@cache
def is_unknown(name: str) -> bool:
    with patch.object(words, "bite_of", lambda rule: None):  # these run worlds, and only to show one
        try:
            page(name)
        except UnknownName:
            return True
    return False


def of_a_run(said: dict[str, Any]) -> list[str]:
    """What a run counts, by name, and the keys under which it does."""
    return sorted({*counted_names(said)} - set(sentences(said)))


def counted_names(said: dict[str, Any]) -> Iterator[str]:
    for key, value in said.items():
        yield key
        if isinstance(value, dict) and key not in ("failure", "operations"):
            yield from value


def sentences(said: dict[str, Any]) -> Iterator[str]:
    """What says itself what it is: why something was skipped, and marks that are no word."""
    yield from said["skipped"]
    yield from (mark for mark in said["marks"] if " " in mark.partition(":")[0])

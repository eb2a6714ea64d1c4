"""Goal: tools/interpreters.py says so when another interpreter lives another life."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pytest

from tools import interpreters


def test_the_ids_and_texts_of_the_first_characters_are_these_for_ever() -> None:
    assert next(interpreters.characters()) == "characters from 000000 e7eef87a33aee1a6"


def test_each_run_is_a_line_with_its_trace() -> None:
    (line,) = islice(interpreters.lives(["tiny"], 1), 1)
    name, seed, trace = line.split()
    assert (name, seed, len(trace)) == ("tiny", "0", 32)


@pytest.mark.parametrize(
    ("theirs", "status"), [(["a 1", "b 2"], 0), (["a 1", "b 3"], 1), (["a 1"], 1), (["a 1", "b 2", "c 3"], 1)]
)
def test_another_line_a_line_less_and_a_line_more_are_reported(
    theirs: list[str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    printed = iter([["a 1", "b 2"], theirs, ["a 1", "b 2"]])

    def lines_of(python: str, tell: Sequence[str]) -> Iterator[str]:
        return iter(next(printed))

    monkeypatch.setattr(interpreters, "lines_of", lines_of)
    monkeypatch.setattr(interpreters, "is_made", lambda *_: True)
    assert interpreters.compare(["python3.12"], 1) == status
    assert capsys.readouterr().out.startswith("DIFFERS" if status else "same")


def test_an_interpreter_that_is_not_there_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "lines_of", lambda *_: iter(()))
    assert interpreters.main(["no-such-python", "--seeds", "0"]) == 2

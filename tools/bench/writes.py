"""How many times a second a memory remembers, and recalls, with services that answer at once.

    .venv/bin/python tools/bench/writes.py [--entities N] [--rounds N] [--turns N]

A remember takes a text with two facts about a person, asks the simulated model what it says, makes vectors,
reads what is known, and commits; every text is about a new person. `memory alone` is the time in Memory.step
and nothing else. `bare loop` puts what the text says into a dict, and its vector into a matrix, from the same
embedder: what a store would do that judges nothing, keeps no versions and cannot be crashed. CPU time, the
least of some turns. No other tool is beside it: they have no memory.
"""

import argparse
import os
import sys
from itertools import count
from typing import Final

import numpy as np

from tools.bench.measure import Table, least, short
from tools.bench.recall import FIRST_NAMES, ONE_CORE, Bench, bare_top, queries_of, stored, word
from umi_core.config import Config
from umi_core.messages.requests import Remember
from umi_sim.services.embedder import embed

ENTITIES: Final = 1_000
ROUNDS: Final = 200
DIMS: Final = 64


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--entities", type=int, default=ENTITIES, help="that are known before")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    if ONE_CORE not in os.environ:  # numpy reads it when it is imported
        os.execve(sys.executable, sys.orig_argv, {**os.environ, ONE_CORE: "1"})
    config = Config(embedding_dims=DIMS, auto_rebalance=False)
    bench = Bench(stored(options.entities, config), config)
    bench.recall("anything")
    numbers = count()
    rows = [
        remembers(bench, numbers, options.rounds, options.turns),
        recalls(bench, options.entities, options.rounds, options.turns),
    ]
    head = ["", "a second", "memory alone, a second", "bare loop, a second", "bare / whole"]
    Table(f"Remember and recall, {options.entities:,} entities known", head, rows).show()


def remembers(bench: Bench, numbers: "count[int]", rounds: int, turns: int) -> list[str]:
    bench.parts.clear()
    store: dict[str, str] = {}
    matrix = np.zeros((rounds, DIMS))

    def whole() -> None:
        for _ in range(rounds):
            bench.ask(Remember(bench.op_count + 1, text_of(next(numbers))))

    def bare() -> None:
        for row in range(rounds):
            text = text_of(next(numbers))
            store[text] = text
            matrix[row] = embed(text, DIMS)

    return make_row("remember", bench, rounds, *least(turns, whole, bare))


def text_of(number: int) -> str:
    """A new person each time."""
    name = f"{FIRST_NAMES[number % len(FIRST_NAMES)]} {word(number + 5_000).title()}"
    return f"{name} likes {word(number % 97)}. {name} lives in {word(number % 89).title()}"


def recalls(bench: Bench, entities: int, rounds: int, turns: int) -> list[str]:
    bench.parts.clear()
    queries = queries_of(entities)
    matrix = bench.matrix
    bench.recall("anything")

    def whole() -> None:
        for number in range(rounds):
            bench.recall(queries[number % len(queries)])

    def bare() -> None:
        for number in range(rounds):
            vector = np.array(embed(queries[number % len(queries)], DIMS), matrix.dtype)
            bare_top(matrix, vector, 2 * bench.config.recall_limit_default)

    return make_row("recall", bench, rounds, *least(turns, whole, bare))


def make_row(name: str, bench: Bench, rounds: int, whole_s: float, bare_s: float) -> list[str]:
    alone_s = float(np.median(bench.parts["memory"]))
    return [name, *map(short, (rounds / whole_s, 1 / alone_s, rounds / bare_s, whole_s / bare_s))]


if __name__ == "__main__":
    main()

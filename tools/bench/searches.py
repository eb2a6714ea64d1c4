"""Searches of umi_live beside what the parts can do: FTS5's own query, and a bare top-k of numpy.

    .venv/bin/python tools/bench/searches.py                     100,000 rows
    .venv/bin/python tools/bench/searches.py --rows 10000 --dims 64

A search by words is `SqliteStorage.read` of the best 20, rows included; beside it the same words are asked of
a table of FTS5 (porter stems, order by bm25, best 20), in the same SQLite. A search by vector is beside
`matrix @ query` and argpartition. They take turns in one process; times are those of the processor.
`first` is the first search of a word, which has to be read from the file; `again` is any later one.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import process_time
from typing import Any, Final

import apsw
import numpy as np

from tools.bench.measure import Table
from umi_core.messages.effects import ByVector, ByWords, Commit, Write
from umi_core.rows import Address, Entity, Vector
from umi_core.values import Scope
from umi_live.sqlite import SqliteStorage

ONE_CORE: Final = "OPENBLAS_NUM_THREADS"
SCOPE: Final = Scope("ann", "helper")
WORD_COUNT: Final = 20_000  # different words; the n-th is about n times as rare as the first
LINE_WORDS: Final = 12
LIMIT: Final = 20
BATCH: Final = 1_000
ROUNDS: Final = 15
HEAD: Final = ("search", "umi_live, ms", "beside it, ms", "ratio", "at most")
WORDS_RATIO_MAX, VECTORS_RATIO_MAX = 3.0, 1.3


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=384)
    options = parser.parse_args()
    if ONE_CORE not in os.environ:  # numpy reads it when it is imported
        os.execve(sys.executable, sys.orig_argv, {**os.environ, ONE_CORE: "1"})
    bench = SearchBench(options.rows, options.dims)
    rows = [*bench.measure_words(), bench.measure_vectors()]
    Table(f"Searches of {options.rows:,} rows, {options.dims} dimensions", HEAD, rows).show()


class SearchBench:
    """The same rows in a storage of umi_live, in a table of FTS5 and in a matrix."""

    def __init__(self, row_count: int, dims: int) -> None:
        self.chance = np.random.default_rng(7)
        self.storage, self.fts5 = SqliteStorage(":memory:"), apsw.Connection(":memory:")
        self.fts5.execute("create virtual table line using fts5 (text, tokenize = 'porter ascii')")
        self.matrix = self.chance.integers(-127, 128, (row_count, dims)).astype(np.float32)
        for first in range(0, row_count, BATCH):
            self.put(range(first, min(first + BATCH, row_count)))
        self.scales = 1 / np.linalg.norm(self.matrix, axis=1)

    def put(self, numbers: range) -> None:
        writes, lines = list[Write](), list[tuple[int, str]]()
        for number in numbers:
            row_id, text = f"ent_{number:08}", self.draw_line(LINE_WORDS)
            body = Entity(row_id, "note", text[:20], text, 1, 500_000, 500_000, "facts", 1, 1)
            components = tuple(map(int, self.matrix[number]))
            writes.append(Write(Address(SCOPE, "entity", row_id), body))
            writes.append(Write(Address(SCOPE, "vector", row_id), Vector(row_id, 1, components)))
            lines.append((number, text))
        self.storage.commit(Commit(tuple(writes), ()), 1)
        with self.fts5:
            self.fts5.executemany("insert into line (rowid, text) values (?, ?)", lines)

    def draw_line(self, count: int) -> str:
        ranks = np.minimum(self.chance.zipf(1.3, count), WORD_COUNT)
        return " ".join(f"word{rank:x}ing" for rank in ranks)

    def measure_words(self) -> Iterator[tuple[str, ...]]:
        questions = [self.draw_line(6) for _ in range(12)]
        self.storage.read(0, ByWords(SCOPE, "nothing", (), LIMIT, 1))  # reads what every search needs
        for name, rounds in (("words, first", 1), ("words, again", ROUNDS)):
            pairs = [
                timed(partial(self.ask_words, text), partial(self.ask_fts5, text))
                for _ in range(rounds)
                for text in questions
            ]
            yield make_row(name, pairs, WORDS_RATIO_MAX)

    def measure_vectors(self) -> tuple[str, ...]:
        queries = self.chance.integers(-127, 128, (8, self.matrix.shape[1]))
        pairs = [
            timed(partial(self.ask_vector, query), partial(self.ask_numpy, query))
            for _ in range(ROUNDS)
            for query in queries
        ]
        return make_row("vectors", pairs, VECTORS_RATIO_MAX)

    def ask_words(self, text: str) -> object:
        return self.storage.read(0, ByWords(SCOPE, text, (), LIMIT, 1))

    def ask_fts5(self, text: str) -> object:
        asked = " OR ".join(dict.fromkeys(text.split()))
        sql = "select rowid, text from line where line match ? order by rank limit ?"
        return self.fts5.execute(sql, (asked, LIMIT)).fetchall()

    def ask_vector(self, query: Any) -> object:
        return self.storage.read(0, ByVector(SCOPE, tuple(map(int, query)), (), LIMIT, 1))

    def ask_numpy(self, query: Any) -> object:
        closeness = (self.matrix @ query.astype(np.float32)) * self.scales
        best = np.argpartition(closeness, -LIMIT)[-LIMIT:]
        return best[np.argsort(-closeness[best])]


def timed(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that each takes."""
    start = process_time()
    one()
    between = process_time()
    other()
    return between - start, process_time() - between


def make_row(name: str, pairs: list[tuple[float, float]], ratio_max: float) -> tuple[str, ...]:
    ours, others = (median(pair[side] for pair in pairs) for side in (0, 1))
    ratio = median(one / other for one, other in pairs)
    return name, f"{ours * 1e3:.2f}", f"{others * 1e3:.2f}", f"{ratio:.2f}", f"{ratio_max}"


if __name__ == "__main__":
    main()

"""A whole recall over many entities, beside a bare numpy top-k over the same matrix.

    .venv/bin/python tools/bench/recall.py              1,000 to 100,000 entities
    .venv/bin/python tools/bench/recall.py --full       and 1,000,000: some minutes and 3 GB
    .venv/bin/python tools/bench/recall.py --dims 64    vectors as short as those of the simulated embedder

Vectors have 384 components unless you say otherwise, as those of small real embedders (all-MiniLM-L6-v2, by
its model card).

A recall is everything from the request to the reply: Memory.step, the vector of the query from SimEmbedder,
both searches by SimStorage. The bare top-k is `matrix @ query`, argpartition, sort. They are timed turn by
turn in one process, on the same queries with rare and common words. `ratio` is the median of the ratios of
neighbours, so a noisy machine disturbs it little. `memory` to `words` is where the time of a recall goes.

A deep recall asks each question up to three times, in other words, so here it is a plain one. Times are those
of the processor, and of one core (OPENBLAS_NUM_THREADS, unless you set it), so that others on the machine
matter little.

No other tool is beside it: they look for bugs, and have no search.
"""

import argparse
import gc
import os
import sys
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tools.bench.measure import Table
from umi_core.config import Config
from umi_core.data import SET_LATER, Owner
from umi_core.ids import entity_id
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, Embedded, ModelReplied
from umi_core.messages.effects import Asked, AskModel, ByVector, Commit, Done, Embed, Read, Reply
from umi_core.messages.requests import Recall, Request
from umi_core.rows import Address, Entity, Row, Vector
from umi_core.values import Scope
from umi_core.workflows.drafting import embedded_text
from umi_sim.kernel.prng import Stream
from umi_sim.services.embedder import embed
from umi_sim.services.model import truth
from umi_sim.services.storage import SimStorage

ONE_CORE: Final = "OPENBLAS_NUM_THREADS"
SIZES: Final = (1_000, 10_000, 100_000)
SIZE_FULL: Final = 1_000_000
ROUNDS: Final = 25
DIMS: Final = 384
SCOPE: Final = Scope("ann", "a1")
SYLLABLES: Final = tuple(
    "ba be bo da de do fa fi ga go ka ki la li lo ma mi mo na ni no pa po ra ri ro sa si ta to va zu".split()
)
FIRST_NAMES: Final = tuple(
    "Ann Bob Cid Dora Emil Fay Gus Hedy Ines Jan Kim Lou Max Nora Otto Pia Ray Sue Tom Una".split()
)
TYPES: Final = ("person", "person", "project", "topic", "event", "task", "preference", "location")
PARTS: Final = ("memory", "embed", "vector", "words")
HEAD: Final = (
    "entities", "recall, µs", "bare, µs", "ratio", "memory, µs", "embed, µs", "vector, µs", "words, µs",
    "first index, s", "index, bytes each", "rows, bytes each", "all, MB",
)  # fmt: skip


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--full", action="store_true", help="up to 1,000,000 entities")
    parser.add_argument("--dims", type=int, default=DIMS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    if ONE_CORE not in os.environ:  # numpy reads it when it is imported
        os.execve(sys.executable, sys.orig_argv, {**os.environ, ONE_CORE: "1"})
    config = Config(embedding_dims=options.dims, auto_rebalance=False)  # its reads are not part of a recall
    rows = []
    for size in (*SIZES, SIZE_FULL) if options.full else SIZES:
        rows.append(report(size, config, options.rounds))
        gc.collect()
    Table(f"A recall beside a bare top-k, {options.dims} dimensions", HEAD, rows).show()


Times = tuple[float, float]  # seconds of the recall and of the bare top-k


def report(size: int, config: Config, rounds: int) -> list[str]:
    """Return one row of the table."""
    at_first = resident_bytes()
    bench = Bench(stored(size, config), config)
    with_rows = resident_bytes()
    start = process_time()
    bench.recall("anything")
    built_s = process_time() - start
    at_last = resident_bytes()
    bench.parts.clear()
    turns = [bench.turn(queries_of(size), turn) for turn in range(rounds)]
    pairs = [pair for turn in turns for pair in turn]
    ratio = median(recall_s / bare_s for recall_s, bare_s in pairs)
    recall_s, bare_s = (median(pair[side] for pair in pairs) for side in (0, 1))
    parts = (f"{median(bench.parts[name]) * 1e6:.0f}" for name in PARTS)
    return [
        f"{size:,}", f"{recall_s * 1e6:.0f}", f"{bare_s * 1e6:.0f}", f"{ratio:.2f}", *parts, f"{built_s:.2f}",
        *(f"{it // size:,}" for it in (at_last - with_rows, with_rows - at_first)),
        f"{(at_last - at_first) // 10**6:,}",
    ]  # fmt: skip


# Entities: many names, and few words that most of them use.


def word(number: int) -> str:
    """Word `number` of an endless vocabulary; small numbers are drawn most often."""
    text = SYLLABLES[number % len(SYLLABLES)]
    while number >= len(SYLLABLES):
        number //= len(SYLLABLES)
        text += SYLLABLES[number % len(SYLLABLES)]
    return text + "n"


def entity(number: int, stream: Stream) -> Entity:
    name = f"{FIRST_NAMES[number % len(FIRST_NAMES)]} {word(number // len(FIRST_NAMES) + 40).title()}"
    content = " ".join(word(stream.log_between(1, 20_000)) for _ in range(stream.between(4, 12)))
    kind = TYPES[number % len(TYPES)]
    own_id = entity_id(SCOPE, name)
    return Entity(own_id, kind, name, f"{content}.", 1, 500_000, 800_000, "facts", number, number)


def stored(size: int, config: Config) -> SimStorage:
    """Rows put straight into their places, and then left out of every garbage collection."""
    gc.disable()
    storage, stream = SimStorage(), Stream(1, "bench", "recall")
    for number in range(size):
        body = entity(number, stream)
        vector = Vector(body.id, 1, embed(embedded_text(body), config.embedding_dims))
        for kind, held in (("entity", body), ("vector", vector)):
            address = Address(SCOPE, kind, body.id)
            storage.rows[address] = Row(address, 1, held)
    ids = sorted(address.id for address in storage.rows if address.kind == "entity")
    storage.row_ids[SCOPE] = {"entity": ids, "vector": list(ids)}
    assert len(ids) == size
    gc.enable()
    gc.freeze()
    return storage


def queries_of(size: int) -> list[str]:
    middle = entity(size // 2, Stream(2, "bench", "recall"))
    return [
        f"What do you know about {middle.name}?",
        f"{word(1)} {word(2)} {word(3)}",  # each in every second or third entity
        f"Who {word(1)} {word(15_000)} and {word(9_999)}?",
        word(12_345),
        f"When did {middle.name} {word(5)} the {word(77)} {word(640)} with {word(2)} {word(4_321)}?",
    ]


# One memory, and the world that answers it.


class Bench(Owner):
    storage: SimStorage
    config: Config
    memory: Memory = SET_LATER
    op_count: int = 0
    parts: dict[str, list[float]] = {}  # seconds of each recall, by who

    def __post_init__(self) -> None:
        self.memory = Memory(SCOPE, self.config)

    @property
    def matrix(self) -> NDArray[np.floating[Any]]:
        """The one that storage searches."""
        assert self.storage.index is not None
        table = self.storage.index.by_scope[SCOPE].tables[self.config.embedding_dims]
        return table.matrix[: len(table.ids)]

    def turn(self, queries: list[str], number: int) -> list[Times]:
        """Each query once, both ways; who begins alternates."""
        matrix, count = self.matrix, 2 * self.config.recall_limit_default  # as many as the memory asks for
        found = []
        for query in queries:
            vector = np.array(embed(query, self.config.embedding_dims), matrix.dtype)
            early_s = bare_top(matrix, vector, count) if number % 2 else None
            recall_s = self.recall(query)
            found.append((recall_s, early_s or bare_top(matrix, vector, count)))
        return found

    def recall(self, query: str) -> float:
        return self.ask(Recall(self.op_count + 1, query, deep=False))

    def ask(self, request: Request) -> float:
        """Seconds from the request to the reply."""
        seconds = dict.fromkeys(PARTS, 0.0)
        self.op_count += 1
        start = last = process_time()
        pending = list(self.memory.step(self.op_count, request))
        while not isinstance(effect := pending.pop(0), Reply):
            asked = process_time()
            answer = self.answer(effect)
            seconds["memory"] += asked - last
            last = process_time()
            seconds[part_of(effect)] += last - asked
            pending += self.memory.step(self.op_count, answer)
        end = process_time()
        seconds["memory"] += end - last
        assert isinstance(effect.outcome, Done), effect
        for name in PARTS:
            self.parts.setdefault(name, []).append(seconds[name])
        return end - start

    def answer(self, effect: Asked) -> Answer:
        match effect:
            case AskModel():
                return ModelReplied(effect.request_id, truth(effect.task, effect.prompt))
            case Embed():
                vectors = tuple(embed(text, self.config.embedding_dims) for text in effect.texts)
                return Embedded(effect.request_id, vectors)
            case Read():
                return self.storage.read(effect.request_id, effect.query)
            case Commit():
                answer = self.storage.flush(self.storage.arrive(effect, SCOPE.agent), 0)
                assert answer is not None
                return answer


def part_of(effect: Asked) -> str:
    if isinstance(effect, Read):
        return "vector" if isinstance(effect.query, ByVector) else "words"
    return "embed" if isinstance(effect, Embed) else "memory"


def bare_top(matrix: NDArray[Any], vector: NDArray[Any], count: int) -> float:
    """Seconds of the least that finds the `count` largest products in order."""
    start = process_time()
    scores = matrix @ vector
    best = np.argpartition(scores, -count)[-count:]
    best = best[np.argsort(-scores[best])]
    return process_time() - start


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not say it in this way."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * 4_096 if path.exists() else 0


if __name__ == "__main__":
    main()

"""A whole recall over many entities, beside a bare numpy top-k over the same matrix.

    .venv/bin/python tools/bench/recall.py            1,000 to 100,000 entities
    .venv/bin/python tools/bench/recall.py --full     and 1,000,000: some minutes and 4 GB

A recall is everything from the request to the reply: Memory.step, the vector of the query from SimEmbedder,
both searches by SimStorage. The bare top-k is `matrix @ query`, argpartition, sort. Both are timed turn by
turn in one process, on the same queries, and medians are compared, so that a noisy machine disturbs the ratio
little.
"""

import argparse
import gc
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from umi_core.config import Config
from umi_core.effects import Asked, AskModel, Commit, Done, Embed, Read, Reply
from umi_core.inputs import Answer, Embedded, ModelReplied, Recall
from umi_core.memory import Memory
from umi_core.values import Address, Entity, Row, Scope, Vector, entity_id
from umi_core.workflows.remember import embedded_text
from umi_sim.embedder import embed
from umi_sim.model import truth
from umi_sim.prng import Stream
from umi_sim.storage import SimStorage

SIZES: Final = (1_000, 10_000, 100_000)
SIZE_FULL: Final = 1_000_000
ROUNDS: Final = 15
SCOPE: Final = Scope("ann", "a1")
CONFIG: Final = Config(auto_rebalance=False)  # its reads and commits are not part of a recall
SYLLABLES: Final = (
    "ba be bo da de do fa fi ga go ka ki la li lo ma mi mo na ni no pa po ra ri ro sa si ta to va zu"
)
FIRST_NAMES: Final = (
    "Ann Bob Cid Dora Emil Fay Gus Hedy Ines Jan Kim Lou Max Nora Otto Pia Ray Sue Tom Una".split()
)
TYPES: Final = ("person", "person", "project", "topic", "event", "task", "preference", "location")


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--full", action="store_true", help="up to 1,000,000 entities")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print(
        f"{'entities':>10}{'recall us':>11}{'bare us':>10}{'ratio':>7}{'worst':>7}{'growth':>8}{'of bare':>9}"
        f"{'index s':>9}{'bytes per entity: matrix':>26}{'index':>7}{'all':>7}{'all MB':>8}"
    )
    before = None
    for size in (*SIZES, SIZE_FULL) if options.full else SIZES:
        before = report(size, options.rounds, before)
        gc.collect()
    print("worst: the highest ratio of one query; growth: against the row before, ten times the entities")


Times = tuple[float, float]


def report(size: int, rounds: int, before: Times | None) -> Times:
    empty_bytes = resident_bytes()
    storage = stored(size)
    rows_bytes = resident_bytes()
    bench = Bench(storage)
    start = perf_counter()
    bench.recall("anything")
    built_s = perf_counter() - start
    all_bytes = resident_bytes()
    queries = tuple(queries_of(size))
    pairs = [bench.timed(queries, turn) for turn in range(rounds + 1)][1:]  # the first turn warms up
    each = [tuple(median(pair[n][side] for pair in pairs) for side in (0, 1)) for n in range(len(queries))]
    recall_s, bare_s = (median(one[side] for one in each) for side in (0, 1))
    worst = max(whole / bare for whole, bare in each)
    grown = (
        [f"{now / then:.1f}" for now, then in zip((recall_s, bare_s), before, strict=True)]
        if before
        else ["", ""]
    )
    index, whole = (all_bytes - rows_bytes) // size, (all_bytes - empty_bytes) // size
    print(
        f"{size:>10,}{recall_s * 1e6:>11.0f}{bare_s * 1e6:>10.0f}{recall_s / bare_s:>7.2f}{worst:>7.2f}"
        f"{grown[0]:>8}{grown[1]:>9}{built_s:>9.2f}{bench.matrix.nbytes // size:>26}{index:>7}{whole:>7}"
        f"{(all_bytes - empty_bytes) // 10**6:>8}",
        flush=True,
    )
    return recall_s, bare_s


# Entities, with names of many and words of few; the first words of the list are the common ones.


def word(number: int) -> str:
    """Word `number` of an endless vocabulary."""
    syllables = SYLLABLES.split()
    text = syllables[number % len(syllables)]
    while number >= len(syllables):
        number //= len(syllables)
        text += syllables[number % len(syllables)]
    return text + "n"


def entity(number: int, stream: Stream) -> Entity:
    name = f"{FIRST_NAMES[number % len(FIRST_NAMES)]} {word(number // len(FIRST_NAMES) + 40).title()}"
    said = " ".join(word(stream.log_between(1, 20_000)) for _ in range(stream.between(4, 12)))
    kind = TYPES[number % len(TYPES)]
    own_id = entity_id(SCOPE, kind, name)
    return Entity(own_id, kind, name, f"{said}.", 1, 500_000, 800_000, "facts", number, number)


def stored(size: int) -> SimStorage:
    """Rows put straight into their places, and then left out of every garbage collection."""
    gc.disable()
    storage, stream = SimStorage(), Stream(1, "bench", "recall")
    for number in range(size):
        body = entity(number, stream)
        vector = Vector(body.id, 1, embed(embedded_text(body), CONFIG.embedding_dims))
        for kind, held in (("entity", body), ("vector", vector)):
            address = Address(SCOPE, kind, body.id)
            storage.rows[address] = Row(address, 1, held)
    ids = sorted(address.id for address in storage.rows if address.kind == "entity")
    storage.shelves[SCOPE] = {"entity": ids, "vector": list(ids)}
    assert len(ids) == size
    gc.enable()
    gc.freeze()
    return storage


def queries_of(size: int) -> list[str]:
    middle = entity(size // 2, Stream(2, "bench", "recall"))
    return [
        f"What do you know about {middle.name}?",
        f"{word(1)} {word(2)} {word(3)}",  # words that every second or third entity has
        f"Who {word(1)} {word(15_000)} and {word(9_999)}?",
        f"{word(12_345)}",
        f"When did {middle.name} {word(5)} the {word(77)} {word(640)} with {word(2)} {word(4_321)}?",
    ]


# One memory, and the world that answers it.


@attrs.define
class Bench:
    storage: SimStorage
    memory: Memory = attrs.field(init=False, factory=lambda: Memory(SCOPE, CONFIG))
    op_count: int = attrs.field(init=False, default=0)

    @property
    def matrix(self) -> NDArray[np.floating[Any]]:
        """The one that storage searches."""
        assert self.storage.index is not None
        table = self.storage.index.shelves[SCOPE].tables[CONFIG.embedding_dims]
        return table.matrix[: len(table.ids)]

    def recall(self, query: str) -> Reply:
        self.op_count += 1
        pending = list(self.memory.step(self.op_count, Recall(self.op_count, query)))
        while True:
            effect = pending.pop(0)
            if isinstance(effect, Reply):
                assert isinstance(effect.outcome, Done), effect
                return effect
            pending += self.memory.step(self.op_count, self.answer(effect))

    def answer(self, effect: Asked) -> Answer:
        match effect:
            case AskModel():
                return ModelReplied(effect.request_id, truth(effect.task, effect.prompt))
            case Embed():
                vectors = tuple(embed(text, CONFIG.embedding_dims) for text in effect.texts)
                return Embedded(effect.request_id, vectors)
            case Read():
                return self.storage.read(effect.request_id, effect.query)
            case Commit():
                answer = self.storage.flush(self.storage.arrive(effect, "a1"), 0)
                assert answer is not None
                return answer

    def timed(self, queries: tuple[str, ...], turn: int) -> list[Times]:
        """Seconds of the recall and of the bare top-k, for each query; who begins alternates."""
        matrix, count = self.matrix, 2 * CONFIG.recall_limit_default  # as many as the memory asks for
        found = []
        for query in queries:
            vector = np.array(embed(query, CONFIG.embedding_dims), matrix.dtype)
            bare_s = 0.0 if turn % 2 else seconds_of_bare(matrix, vector, count)
            start = perf_counter()
            self.recall(query)
            recall_s = perf_counter() - start
            found.append((recall_s, bare_s or seconds_of_bare(matrix, vector, count)))
        return found


def seconds_of_bare(matrix: NDArray[Any], vector: NDArray[Any], count: int) -> float:
    start = perf_counter()
    scores = matrix @ vector
    best = np.argpartition(scores, -count)[-count:]
    best = best[np.argsort(-scores[best])]
    return perf_counter() - start


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not say it in this way."""
    path = Path("/proc/self/statm")
    return int(path.read_text().split()[1]) * 4_096 if path.exists() else 0


if __name__ == "__main__":
    main()

"""The plan of a sweep: which seeds of which scenarios, cut into chunks that every machine cuts alike.

Law 1. Fresh seed i is the first word of stream `fresh`, i of the base; a shard takes every n-th seed.
Law 2. A chunk is named by what it depends on: code, scenario and seeds. Equal names, equal results.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import chain, count, islice, zip_longest
from pathlib import Path
from typing import Any, Final

from umi_core.data import Data
from umi_sim.kernel import folders
from umi_sim.kernel.prng import Stream, parse_seed
from umi_sim.record.provenance import code_digest
from umi_sim.scenario import files as scenario
from umi_sim.scenario.files import Scenario

CHUNK_COUNT: Final = 10
FRESH_COUNT_MAX: Final = 1_000_000
FRESH_SHOWN: Final = 3
DIGEST_BYTES: Final = 8
PERSON: Final = b"umi-sweep-1"
OPTION: Final = " --set "


class ScenarioSource(Data):
    """A scenario by the words that the user gave, its settings among them, with its text.

    `folder`: where its data lies; empty if it ships with umi_sim, which may lie elsewhere on each machine.
    """

    name: str
    text: str
    folder: str
    digest: str
    file: Scenario


class Task(Data):
    """Some seeds of one scenario, as plain data: all that a worker on another machine needs.

    `base`: what the seeds were drawn from; empty if they were given.
    """

    chunk: str
    scenario: str
    text: str
    folder: str
    digest: str
    settings: Mapping[str, str]
    seeds: tuple[int, ...]
    base: str = ""
    stop_first: bool = False
    gate: bool = True
    cpu_s_max: int = 60
    wall_ms_max: int = 600_000
    memory_bytes_max: int = 2 * 1024**3


class SweepPlan(Data):
    """The runs of a sweep. `fresh_count`: None is without end; `shard` (i, n) with 1 <= i <= n.

    `is_timed`: given and fresh seeds take turns, since it may end anywhere.
    """

    sources: tuple[ScenarioSource, ...]
    pinned: Sequence[int] = ()
    fresh_count: int | None = 0
    base: str = "0"
    shard: tuple[int, int] = (1, 1)
    is_timed: bool = False
    stop_first: bool = False

    @property
    def run_count(self) -> int | None:
        """Return how many runs there are; None if time decides."""
        if self.is_timed or self.fresh_count is None:
            return None
        parts = (self.pinned, range(self.fresh_count))
        return len(self.sources) * sum(len(self.mine(part)) for part in parts)

    def describe_fresh(self) -> str:
        """The first of the fresh seeds, and what they come from; nothing if there are none."""
        if self.fresh_count == 0 or not self.sources:
            return ""
        few = self.mine(range(FRESH_SHOWN if self.fresh_count is None else self.fresh_count))[:FRESH_SHOWN]
        seeds = ", ".join(str(fresh_seed(self.base, at)) for at in few)
        return f"fresh seeds from --base {self.base}: {seeds}, ..."

    def mine(self, part: Sequence[int]) -> Sequence[int]:
        number, of = self.shard
        # Shard 2 of 3 of the seeds 0..9: 1, 4, 7. Interleaved, since long runs may lie side by side.
        return part[number - 1 :: of]

    def tasks(self) -> Iterator[Task]:
        """The chunks in order: by scenario, or in turns if the time may end anywhere."""
        parts = [part(source) for source in self.sources for part in (self.pinned_tasks, self.fresh)]
        if not self.is_timed:
            return chain.from_iterable(parts)
        # Scenario a pinned, a fresh, b pinned, b fresh, and
        # again: time may end anywhere and each has had its share.
        return (task for turn in zip_longest(*parts) for task in turn if task)

    def pinned_tasks(self, source: ScenarioSource) -> Iterator[Task]:
        return (self.task(source, seeds) for seeds in chunks(iter(self.mine(self.pinned))))

    def fresh(self, source: ScenarioSource) -> Iterator[Task]:
        fresh_count = FRESH_COUNT_MAX if self.fresh_count is None else self.fresh_count
        words = (fresh_seed(self.base, index) for index in self.mine(range(fresh_count)))
        return (self.task(source, seeds, self.base) for seeds in chunks(words))

    def task(self, source: ScenarioSource, seeds: tuple[int, ...], base: str = "") -> Task:
        name = chunk_name(source.name, source.digest, seeds)
        return Task(
            name, source.name, source.text, source.folder, source.digest, {**source.file.settings},
            seeds, base, self.stop_first,
        )  # fmt: skip


def fresh_seed(base: str, index: int) -> int:
    return Stream(parse_seed(base), "fresh", index).word()


def chunks(seeds: Iterator[int]) -> Iterator[tuple[int, ...]]:
    parts = (tuple(islice(seeds, CHUNK_COUNT)) for _ in count())
    # Ends at the first empty tuple, which islice gives when the seeds are used up.
    return iter(lambda: next(parts), ())


def chunk_name(name: str, digest: str, seeds: Sequence[int]) -> str:
    return digest_of(target(), name, digest, *map(str, seeds))


def target() -> str:
    """Name the version of the tested and the testing code: no result outlives a change of either."""
    return f"umi_core {code_digest()}"


def source_of(words: str, settings: Mapping[str, str] = scenario.NO_OVERRIDES) -> ScenarioSource:
    """A shipped scenario, or a file of the user, with these settings, or as a source of them is called.

    Raises BadScenario.
    """
    name, *own = words.split(OPTION)
    settings = settings or dict(shlex.split(setting)[0].split("=", 1) for setting in own)
    file = scenario.overridden(scenario.find(name), settings) if settings else scenario.find(name)
    shipped = scenario.list_shipped().get(name)
    path = shipped or Path(name)
    text = path.read_bytes().decode(errors="surrogateescape")
    # The transcript is part of the text: with another conversation the same seeds are other runs.
    spoken = Path(file.transcript).read_bytes() if file.transcript else b""
    folder = "" if shipped else str(path.parent.resolve())
    # With its settings in its name, reports repeat them, and chunks of other settings are not mixed.
    called = OPTION.join((name, *(shlex.quote(f"{key}={value}") for key, value in settings.items())))
    return ScenarioSource(called, text, folder, digest_of(text, spoken.hex()), file)


def parse_scenario(question: Mapping[str, Any]) -> Scenario:
    """The scenario of a task; what ships with umi_sim finds its data here, wherever the task was made."""
    name, text, folder = (question[key] for key in ("scenario", "text", "folder"))
    return parse_once(name, text, folder, tuple(question["settings"].items()))


@cache
def parse_once(name: str, text: str, folder: str, settings: tuple[tuple[str, str], ...]) -> Scenario:
    file = scenario.parse(text, name, Path(folder) if folder else folders.SCENARIOS)
    return scenario.overridden(file, dict(settings)) if settings else file


def digest_of(*parts: str) -> str:
    return blake2b(json.dumps(parts).encode(), digest_size=DIGEST_BYTES, person=PERSON).hexdigest()

"""The plan of a sweep: the seeds of each scenario, in chunks that are the same on every machine.

Law 1. Fresh seed i is the first word of the stream (`fresh`, i) of the base; a shard takes every n-th seed.
Law 2. The name of a chunk is a digest of code, scenario and seeds: equal names mean equal results.
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
    """A scenario as the user named it, with its settings and its text.

    `folder`: the folder of its data; empty for a scenario of umi_sim, whose folder differs between machines.
    """

    name: str
    text: str
    folder: str
    digest: str
    file: Scenario


class Task(Data):
    """Some seeds of one scenario, as plain data, complete enough for a worker on another machine.

    `base`: the base of fresh seeds; empty if the seeds were given.
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
    """The runs of a sweep. `fresh_count`: None is unlimited; `shard`: (i, n) with 1 <= i <= n.

    `is_timed`: scenarios, and given and fresh seeds, take turns, since the sweep may end at any time.
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
        """Return the number of runs; None if the time limit determines it."""
        if self.is_timed or self.fresh_count is None:
            return None
        parts = (self.pinned, range(self.fresh_count))
        return len(self.sources) * sum(len(self.mine(part)) for part in parts)

    def describe_fresh(self) -> str:
        """Return a line with the base and the first fresh seeds; empty if there are none."""
        if self.fresh_count == 0 or not self.sources:
            return ""
        few = self.mine(range(FRESH_SHOWN if self.fresh_count is None else self.fresh_count))[:FRESH_SHOWN]
        seeds = ", ".join(str(fresh_seed(self.base, at)) for at in few)
        return f"fresh seeds from --base {self.base}: {seeds}, ..."

    def mine(self, part: Sequence[int]) -> Sequence[int]:
        number, of = self.shard
        # Shard 2 of 3 of the seeds 0..9 has 1, 4, 7. Shards interleave because runs of neighbouring seeds
        # may all be long.
        return part[number - 1 :: of]

    def tasks(self) -> Iterator[Task]:
        """Return the chunks in order: by scenario, or in turns if the sweep is timed."""
        parts = [part(source) for source in self.sources for part in (self.pinned_tasks, self.fresh)]
        if not self.is_timed:
            return chain.from_iterable(parts)
        # One chunk of each in turn (a pinned, a fresh, b pinned, b fresh), so that each gets its share.
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
    # `iter` stops at the first empty tuple.
    return iter(lambda: next(parts), ())


def chunk_name(name: str, digest: str, seeds: Sequence[int]) -> str:
    return digest_of(target(), name, digest, *map(str, seeds))


def target() -> str:
    """Return a name of this version of the code; results of another version are not used."""
    return f"umi_core {code_digest()}"


def source_of(words: str, settings: Mapping[str, str] = scenario.NO_OVERRIDES) -> ScenarioSource:
    """Return a shipped scenario, or a file of the user, as a source. Raises BadScenario.

    `words`: its name or path, or the name of a source with settings. `settings`: its settings, if any.
    """
    name, *own = words.split(OPTION)
    given = settings or dict(shlex.split(setting)[0].split("=", 1) for setting in own)
    file = scenario.overridden(scenario.find(name), given) if given else scenario.find(name)
    shipped = scenario.list_shipped().get(name)
    path = shipped or Path(name)
    text = path.read_bytes().decode(errors="surrogateescape")
    # The digest includes the transcript, because the same seeds with another conversation are other runs.
    spoken = Path(file.transcript).read_bytes() if file.transcript else b""
    folder = "" if shipped else str(path.parent.resolve())
    # The name includes the settings, so that reports show them and chunks of other settings are not mixed.
    called = OPTION.join((name, *(shlex.quote(f"{key}={value}") for key, value in given.items())))
    return ScenarioSource(called, text, folder, digest_of(text, spoken.hex()), file)


def parse_scenario(question: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a task; a shipped scenario reads its data from this installation."""
    name, text, folder = (question[key] for key in ("scenario", "text", "folder"))
    return parse_once(name, text, folder, tuple(question["settings"].items()))


@cache
def parse_once(name: str, text: str, folder: str, settings: tuple[tuple[str, str], ...]) -> Scenario:
    file = scenario.parse(text, name, Path(folder) if folder else folders.SCENARIOS)
    return scenario.overridden(file, dict(settings)) if settings else file


def digest_of(*parts: str) -> str:
    return blake2b(json.dumps(parts).encode(), digest_size=DIGEST_BYTES, person=PERSON).hexdigest()

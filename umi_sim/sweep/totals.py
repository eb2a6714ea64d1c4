"""Totals: the results of runs as counts, minima, maxima and unions.

Law 1. Addition is commutative and associative, so the order in which runs end does not matter.
Law 2. For each fingerprint the failure with the smallest seed is kept.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

import msgspec

from umi_core.data import Data, Mutable, Owner
from umi_sim.formats.schema import Seed, of, text
from umi_sim.formats.strict_json import FILE_BYTES_MAX
from umi_sim.kernel.wording import plural
from umi_sim.record import fingerprint
from umi_sim.record.exit_codes import EXIT_CODES, HARNESS, INTERRUPTED, FailureKind, severest
from umi_sim.record.items import Op
from umi_sim.record.rules import id_of
from umi_sim.record.verdict import Failure, Verdict, name_failure
from umi_sim.runs.corpus import CorpusFile
from umi_sim.scenario import files as scenario
from umi_sim.scenario import floors
from umi_sim.scenario.files import Scenario
from umi_sim.scenario.floors import Missed, Summary
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.text import NO_SCHEDULE

LOST_MAX: Final = (1, 100)
FOUND_COUNT_MAX: Final = 50
LONGEST_COUNT: Final = 10
COUNTS: Final = ("operations", "replies", "fired", "without_effect", "excused", "marks", "rules")
SUMS: Final = ("runs", "steps", "failed", "gated")

Limit = Literal["time", "memory"]
Span = tuple[int, int]


class FoundFailure(Data):
    """One failure, at its smallest seed. `text`: its seed file; empty if that would be too large.

    `has_items`: whether the file has the items of the run; not if the run was ended by force.
    """

    scenario: str
    seed: Seed
    kind: FailureKind
    rule: str
    fingerprint: str
    message: str
    path: str
    text: Annotated[str, text(bytes_max=FILE_BYTES_MAX)]
    has_items: bool = True

    @property
    def named(self) -> str:
        return name_failure(self.kind, self.rule)


class DivergentSeed(Data):
    """One seed with two different traces. `rule`: the broken rule; `lines`: the first difference."""

    scenario: str
    seed: Seed
    rule: str
    lines: tuple[str, ...] = ()


class LostSeed(Data):
    """One seed without a verdict, because the process that ran it died twice."""

    scenario: str
    seed: Seed
    why: str


class Totals(Mutable):
    """The results of many runs. `found` and `hits` by fingerprint, `summaries` by scenario.

    `gated`: the number of runs repeated by the gate; `apart`: those with another trace. `sizes`: minimum and
    maximum over the runs. `met`: for each injected fault, the number of its runs that each rule judged, by
    the id of the rule. `longest`: the steps of the longest runs.
    """

    runs: int = 0
    steps: int = 0
    failed: int = 0
    gated: int = 0
    operations: Counter[str] = msgspec.field(default_factory=Counter)
    replies: Counter[str] = msgspec.field(default_factory=Counter)
    fired: Counter[str] = msgspec.field(default_factory=Counter)
    without_effect: Counter[str] = msgspec.field(default_factory=Counter)
    excused: Counter[str] = msgspec.field(default_factory=Counter)
    marks: Counter[str] = msgspec.field(default_factory=Counter)
    rules: Counter[str] = msgspec.field(default_factory=Counter)
    hits: Counter[str] = msgspec.field(default_factory=Counter)
    found: dict[str, FoundFailure] = {}
    apart: dict[tuple[str, Seed, str], DivergentSeed] = {}
    lost: dict[tuple[str, Seed], LostSeed] = {}
    sizes: dict[str, Span] = {}
    summaries: dict[str, Summary] = {}
    met: dict[str, Counter[str]] = {}
    longest: dict[tuple[str, Seed], int] = {}

    def add(self, other: "Totals") -> None:
        """Add the results of other runs."""
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in (*COUNTS, "hits"):
            getattr(self, name).update(getattr(other, name))
        for found in other.found.values():
            self.keep(found)
        self.apart.update(other.apart)
        self.lost.update(other.lost)
        for name, ends in other.sizes.items():
            self.widen(name, ends)
        for name, summary in other.summaries.items():
            self.summaries.setdefault(name, Summary()).add(summary)
        for name, rules in other.met.items():
            self.met.setdefault(name, Counter()).update(rules)
        # The ten longest runs of the sum are among the ten longest of each part, so keeping ten is enough.
        steps = {**self.longest, **other.longest}
        kept = sorted(steps, key=lambda run: (-steps[run], run))[:LONGEST_COUNT]
        self.longest = {run: steps[run] for run in kept}

    def keep(self, found: FoundFailure) -> None:
        best = self.found.get(found.fingerprint, found)
        # The scenario breaks ties of seeds, so the order of addition does not change the minimum (law 1).
        self.found[found.fingerprint] = min(best, found, key=lambda each: (each.seed, each.scenario))

    def widen(self, name: str, ends: Span) -> None:
        low, high = self.sizes.get(name, ends)
        self.sizes[name] = (min(low, ends[0]), max(high, ends[1]))

    def in_order(self) -> list[FoundFailure]:
        """List the failures, the most frequent first."""
        return sorted(self.found.values(), key=lambda each: (-self.hits[each.fingerprint], each.fingerprint))

    def doubts(self) -> list[str]:
        """List the reasons why these runs prove nothing."""
        doubts = []
        if self.apart:
            doubts.append(f"{plural(len(self.apart), 'run')} differed when run again")
        count, (n, d) = self.runs + len(self.lost), LOST_MAX
        if len(self.lost) * d > count * n:
            doubts.append(f"{len(self.lost)} of {count} runs lost, at most {n}/{d} may be")
        return doubts


TOTALS: Final = of(Totals)  # the codec for other processes and for files


class Swept(Owner):
    """The scenarios and seeds that were run: given seeds, and fresh ones with their bases."""

    names: dict[str, None] = {}
    given: dict[int, None] = {}
    fresh: dict[int, None] = {}
    bases: dict[str, None] = {}

    def add(self, name: str, seeds: Sequence[int], base: str) -> None:
        self.names[name] = None
        if base:
            self.bases[base] = None
        (self.fresh if base else self.given).update(dict.fromkeys(seeds))

    def describe(self) -> str:
        """Return a line such as `2 scenarios, seeds 0..199 and 200 fresh`."""
        parts = [f"seeds {span_of(sorted(self.given))}"] if self.given else []
        parts += [f"{len(self.fresh)} fresh"] if self.fresh else []
        return f"{plural(len(self.names), 'scenario')}, {' and '.join(parts) or 'no seed'}"


def span_of(seeds: Sequence[int]) -> str:
    """Return a short form of sorted seeds, such as `0..9`, or `5 of 0..9` if some are missing."""
    first, last = seeds[0], seeds[-1]
    if len(seeds) == 1:
        return str(first)
    return f"{first}..{last}" if last - first == len(seeds) - 1 else f"{len(seeds)} of {first}..{last}"


class SweepOutcome(Data):
    """The result of a sweep. `missed`: demands of its scenarios that were not met.

    `kept`: files of earlier failures that were replayed first. `is_interrupted`: the user ended it (Ctrl-C).
    """

    totals: Totals
    swept: Swept
    files: Mapping[str, Scenario]
    missed: tuple[Missed, ...] = ()
    kept: tuple[CorpusFile, ...] = ()
    is_interrupted: bool = False

    @property
    def still_failing(self) -> list[CorpusFile]:
        return [each for each in self.kept if each.still_fails]

    @property
    def unreadable(self) -> list[CorpusFile]:
        return [each for each in self.kept if each.seed is None]

    @property
    def unseen(self) -> list[str]:
        """Return the planted bugs of these scenarios if no run failed."""
        if self.is_interrupted or self.totals.found or not self.totals.runs:
            return []
        return [str(file.mutant) for file in self.files.values() if file.mutant]

    @property
    def result(self) -> Literal["pass", "fail", "interrupted"]:
        if self.severest_code:
            return "fail"
        return "interrupted" if self.is_interrupted else "pass"

    @property
    def exit_code(self) -> int:
        return INTERRUPTED if self.is_interrupted else self.severest_code

    @property
    def severest_code(self) -> int:
        """Return the exit code of the severest kind of failure."""
        codes = [EXIT_CODES[found.kind] for found in self.totals.found.values()]
        codes += [EXIT_CODES[each.still_fails] for each in self.kept if each.still_fails]
        return severest([*codes, HARNESS] if self.missed or self.unseen or self.totals.doubts() else codes)


# The totals of one run.


def of_verdict(name: str, file: Scenario, verdict: Verdict) -> Totals:
    """Return the result of one run as totals."""
    operations = sum(isinstance(item, Op) for item in verdict.items)
    sizes = {
        "steps": verdict.steps, "items": len(verdict.items), "operations": operations,
        "virtual_ms": verdict.virtual_ms,
    }  # fmt: skip
    totals = Totals(
        1, verdict.steps,
        sizes={which: (size, size) for which, size in sizes.items()},
        summaries={name: floors.summary_of(file, verdict)},
        # A rule counts once, however often it judged in this run, because `met` counts runs.
        met={kind: Counter(set(map(id_of, verdict.rules))) for kind in verdict.fired},
        longest={(name, verdict.config.seed): verdict.steps},
    )  # fmt: skip
    for counter in COUNTS:
        getattr(totals, counter).update(getattr(verdict, counter))
    if verdict.failure is not None:
        fail(totals, found_in(name, verdict))
    return totals


def of_limit(name: str, file: Scenario, seed: int, limit: Limit, message: str) -> Totals:
    """Return the totals of a run that was ended by force; its file has only configuration and seed."""
    failure = Failure("timeout", "progress", id_of("progress"), 0, 0, "", f"{limit}: {message}")
    kept = seed_file.SeedFile(
        scenario.draw(file, seed), (), seed_file.ExpectedResult("fail"), failure, fingerprint.of(failure),
        repro=f"umi-sim run {name} --seed {seed}",
        history=seed_file.History(first_seed=str(seed), notes="ended by force: only configuration and seed"),
    )  # fmt: skip
    totals = Totals(1, sizes={}, summaries={name: Summary(1)})
    fail(totals, found_of(name, seed, failure, seed_file.text_of(kept), has_items=False))
    return totals


def fail(totals: Totals, found: FoundFailure) -> None:
    totals.failed += 1
    totals.hits[found.fingerprint] += 1
    totals.keep(found)


def found_in(name: str, verdict: Verdict) -> FoundFailure:
    assert verdict.failure is not None
    try:
        text = seed_file.dumps(verdict)
    except seed_file.BadSeedFile:
        text = ""
    # This note means that the file has no schedule, so that the run can be repeated only from its seed.
    has_items = NO_SCHEDULE not in text
    return found_of(name, verdict.config.seed, verdict.failure, text, has_items=has_items)


def found_of(name: str, seed: int, failure: Failure, text: str, *, has_items: bool = True) -> FoundFailure:
    path = seed_file.default_path(failure).as_posix()
    mark = fingerprint.of(failure)
    return FoundFailure(
        name, seed, failure.kind, failure.rule_and_id, mark, failure.message, path, text, has_items
    )

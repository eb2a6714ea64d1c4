"""Output of `mutants --source`: edits of the memory's source, and the runs that detected them."""

from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import msgspec

from umi_sim.cli.console import refuse
from umi_sim.kernel.progress import at
from umi_sim.kernel.report import Report, list_row, row
from umi_sim.kernel.wording import cut, plural

if TYPE_CHECKING:
    from umi_sim.mutants.source_edits import SourceEdit
    from umi_sim.sweep.source_hunt import SourceHunt

SHOWN_MAX: Final = 200


def source_hunts(
    name: str | None, sample: int, seed: int, cpu_s_max: int, jobs: int | None
) -> Iterator[Report]:
    """Yield a report of the hunt of each edit, then a summary by the rules that detected edits."""
    from umi_sim.cli.sweep import default_jobs, sources_of
    from umi_sim.sweep.source_hunt import hunts

    edits, done = edits_wanted(name, sample, seed), []
    for number, found in enumerate(
        hunts(edits, sources_of(()), str(seed), 1000 * cpu_s_max, jobs or default_jobs())
    ):
        at("source edits", number + 1, len(edits), unit="edit")
        done.append(found)
        yield hunt_report(found)
    yield summary(done)


def edits_wanted(name: str | None, sample: int, seed: int) -> "Sequence[SourceEdit]":
    if find_spec("mutmut") is None:
        refuse("--source needs the package mutmut: pip install 'umi-sim[mutation]'")
    from umi_sim.mutants import source_edits

    if name is None:
        return list(source_edits.draw_edits(seed, sample))
    try:
        return [source_edits.find_edit(name)]
    except KeyError:
        refuse(f"{cut(name)}: no such edit; give FILE:LINE:NUMBER as a sample names it, like text.py:10:0")


def hunt_report(found: "SourceHunt") -> Report:
    how = found.how or f"SURVIVED, in {plural(found.met, 'scenario')}"
    head = f"{found.name:34} {how:26} {plural(found.runs, 'run'):>8} {found.cpu_ms / 1000:7.1f} s"
    lines = (
        row("", f"- {cut(found.before, SHOWN_MAX)}", hang=2),
        row("", f"+ {cut(found.after, SHOWN_MAX)}", hang=2),
    )
    return Report(head, lines, partial(msgspec.to_builtins, found))


def summary(done: "Sequence[SourceHunt]") -> Report:
    from umi_sim.sweep.source_hunt import HOW

    counts_by_how = Counter(found.how for found in done if found.how)
    seen = counts_by_how.total()
    counts = [f"{how} {count}" for how, count in counts_by_how.most_common()]
    times_ms = sorted(found.cpu_ms for found in done if found.how and found.scenario)
    rows = (
        *([list_row("seen by", counts)] if counts else []),
        *([row("cpu", describe_times(times_ms))] if times_ms else []),
        *(row(how, HOW[how]) for how in HOW if how in counts_by_how),
    )
    value = {"edits": len(done), "seen": seen, "by": dict(counts_by_how), "cpu_ms": times_ms}
    return Report(f"{seen} of {plural(len(done), 'edit')} seen", rows, lambda: value)


def describe_times(times_ms: Sequence[int]) -> str:
    """Say how many edits were found by runs within 1, 10 and 60 CPU seconds; `times_ms` is sorted."""
    counts = ", ".join(f"{bisect(times_ms, 1000 * limit_s)} within {limit_s} s" for limit_s in (1, 10, 60))
    half_s = times_ms[len(times_ms) // 2] / 1000
    return f"of {len(times_ms)} found by runs: {counts}; half within {half_s:.1f} s"

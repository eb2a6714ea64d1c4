"""Options and output of the command disk. The work is done in umi_sim.disk."""

from typing import TYPE_CHECKING, Final

import click
import msgspec

from umi_sim.cli.console import refuse, seeds_of, shows
from umi_sim.kernel.report import Report, row, whole
from umi_sim.kernel.wording import plural

if TYPE_CHECKING:
    from umi_sim.disk.case import Case
    from umi_sim.disk.hunt import DiskHunt


@click.command()
@click.option(
    "--seeds", type=seeds_of, metavar="A..B", default="0..199", show_default=True, help="These cases."
)
@click.option(
    "--journal", type=click.Choice(["wal", "delete"]), default="wal", show_default=True,
    help="Journal of SQLite. `delete` is a planted bug.",
)  # fmt: skip
@shows()
def disk(seeds: range, journal: str) -> Report:
    """Run the storage of umi_live on a disk that loses power, tears writes, fills up and fails.

    Each case cuts the power five times, and looks then whether all that was acknowledged is there, and
    nothing half. Exit 1: a promise is broken; the case is made as small as it can be. Needs the extra `live`.

    \b
    umi-sim disk --seeds 0..2499
    umi-sim disk --journal delete
    """
    try:
        from umi_sim.disk.hunt import hunt
    except ModuleNotFoundError as error:
        refuse(f"{error.name} is not installed: pip install 'umi-sim[live]'")
    return report_hunt(hunt(seeds, journal), journal)


def report_hunt(found: "DiskHunt", journal: str) -> Report:
    counted = f"{plural(found.case_count, 'case')}, {plural(found.cut_count, 'power cut')}"
    value = lambda: msgspec.to_builtins(found)  # noqa: E731  # one line, used once
    if found.first is None or found.small is None:
        return Report(f"PASS disk {journal}: {counted}, every promise kept", (), value, 0)
    what, *shown = found.broken.splitlines()
    small = found.small
    rows = [
        row("promised", what),
        *(row("", line.strip()[:400]) for line in shown),
        whole("repeat", f"umi-sim disk --journal {journal} --seeds {small.seed}..{small.seed}"),
        row("shrunk", f"to {batches(len(small.batches))}, and {describe_case(small)}"),
    ]
    return Report(f"FAIL disk {journal}: {counted}", rows, value, 1)


def batches(count: int) -> str:
    return "1 batch" if count == 1 else f"{count} batches"


def describe_case(case: "Case") -> str:
    """Describe the power cuts and failures of a case."""
    parts = []
    for life, (cut, fail) in enumerate(zip(case.cuts, case.fails, strict=True), start=1):
        parts += [f"a failure at event {fail} of life {life}"] if fail else []
        parts.append(f"a power cut at event {cut} of life {life}")
    parts += ["a seal"] if case.is_sealed else []
    return ", ".join(parts) or "no power cut"


COMMANDS: Final = (disk,)

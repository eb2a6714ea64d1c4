"""A hunt as a test: `TestMine = Mine.pytest(seconds=20)`, for pytest and unittest."""

import sys
import unittest
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from umi_sim.targets.adapter import Adapter


class RacesNotExplored(UserWarning):
    """A test passed, but races within some executor jobs were not explored."""


def class_of_test(adapter: "type[Adapter]", seconds: int, folder: str | None) -> type:
    place = place_of(adapter, folder)

    def test_keeps_its_contract(self: unittest.TestCase) -> None:
        if reason := failure_of(adapter, seconds, place):
            self.fail(reason)

    body = {"test_keeps_its_contract": test_keeps_its_contract, "__module__": adapter.__module__}
    return type(f"Test{adapter.__name__}", (unittest.TestCase,), body)


def place_of(adapter: "type[Adapter]", folder: str | None) -> Path:
    """Return the folder of findings: beside the file of the class, or FOLDER in the current directory."""
    from umi_sim.targets.adapter import FOLDER

    if folder is None:
        return Path(FOLDER)
    file = getattr(sys.modules.get(adapter.__module__), "__file__", None)
    return Path(file or "").parent / folder


def failure_of(adapter: "type[Adapter]", seconds: int, folder: Path) -> str:
    """Return the report of a failure: of a saved run, an unreadable file, or the hunt; "" if none.

    Saved runs are replayed before the hunt. Their files are never removed.
    """
    from umi_sim.kernel.report import laid_out
    from umi_sim.kernel.wording import plural
    from umi_sim.targets import reports, seed_files
    from umi_sim.targets.declarations import check_judged
    from umi_sim.targets.hunt import hunt

    check_judged(adapter)
    name = f"{adapter.__module__}:{adapter.__name__}"
    earlier = seed_files.run_again(adapter, name, folder)
    if earlier.other_count:
        print(f"{folder}: {plural(earlier.other_count, 'file')} of other adapters not run")
    for file in earlier.fixed:
        print(f"{reports.PASSES_NOW} {file}")  # the plugin of pytest shows it after a pass, too
    for file, saved, verdict in earlier.failing[:1]:
        report = reports.report_replay(name, file, adapter, saved, verdict)
        return "\n".join(["", *laid_out(report.also(*reports.list_earlier(earlier, name, [file])))])
    if earlier.unreadable:
        return "\n".join(["", *earlier.unreadable])
    found = hunt(adapter, seconds=seconds)
    if found.small is None and found.not_recurring:
        return "\n".join(["", *laid_out(reports.report_hunt(name, found, ""))])
    if found.small is None:
        if limit := reports.warn_unexplored(found.jobs):
            warnings.warn(f"{name}: {limit}", RacesNotExplored, stacklevel=2)
        return ""
    path = seed_files.write(adapter, name, found.small, folder)
    return "\n".join(["", *laid_out(reports.report_hunt(name, found, path.as_posix()))])

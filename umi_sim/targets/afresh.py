"""Failures in a new process, where nothing is left of other runs, such as a global of a module."""

import sys
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from typing import Final

from msgspec import structs

from umi_sim.targets.hunt import Hunt, Make, recurs
from umi_sim.targets.life import TargetVerdict, run

ITEM_COUNT_MAX: Final = 1  # what an earlier run has left needs no item to be there


def check_afresh(make: Make, found: Hunt) -> None:
    """Take from the findings each that has so few items and does not recur in a new process."""
    for each in [it for it in found.findings if len(it.small.items) <= ITEM_COUNT_MAX]:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool, suppress(BrokenExecutor):
            # without answers, which may be anything: a lock cannot be sent to another process
            small = structs.replace(each.small, gots=())
            if not pool.submit(recurs_here, make, small).result():
                found.findings.remove(each)
                found.not_recurring.append(each.small)


def recurs_here(make: Make, verdict: TargetVerdict) -> bool:
    sys.unraisablehook = lambda _: None  # as in the process of the command
    return recurs(make(), verdict, run)

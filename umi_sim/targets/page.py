"""The page of a run of a store: what it was asked, what it said, what happened around it, and what broke.

Law 1. It is made of the file alone: the store is not run, and no command is made of what the file says
       but the name of a class.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from shlex import join
from typing import Final

from umi_sim.pages.lanes import Arrow, line
from umi_sim.pages.lives import Life, Step
from umi_sim.pages.page_data import About, page_data
from umi_sim.targets import life
from umi_sim.targets.checker import RULES
from umi_sim.targets.items import KINDS
from umi_sim.targets.seed_files import Saved

LANES: Final = ("clients", "store", "files", "clock")
CLIENTS, STORE = range(2)
LOOKS: Final = {"clients": "fault", "store": "life", "files": "fault", "clock": "clock"}
NAME: Final = re.compile(r"[\w.]+:\w+", re.ASCII)
UNSEEN: Final = "What a store keeps is its own: known is what it was asked, and what it said."


def data_of(file: str, saved: Saved) -> dict[str, object]:
    """All that the page shows."""
    name = saved.target if NAME.fullmatch(saved.target) else "MODULE:CLASS"
    facts = (("promised", RULES[saved.rule]), ("instead", saved.message)) if saved.rule else ()
    about = About(
        f"{saved.rule}: {name}" if saved.rule else name, join(["umi-sim", "target", name, "--replay", file]),
        "FAIL" if saved.rule else "PASS", facts, rule=saved.rule, unseen=UNSEEN,
    )  # fmt: skip
    return page_data(about, partial(lived, saved), len(saved.steps))


def lived(saved: Saved, roots: Sequence[str], first: int) -> Life:
    """The run from its step `first` on; what the store holds is not known, whatever the roots."""
    now_ms, steps = 0, list[Step]()
    for number, step in enumerate(saved.steps, 1):
        now_ms += step.item.number if step.item.kind == "advance" else 0
        steps.append(Step(number, now_ms, "", 0, line(step.item), tuple(arrows(step))))
    return Life(LANES, tuple(steps[first - 1 :]), len(steps))


def arrows(step: life.Step) -> Iterator[Arrow]:
    """What was asked, what happened meanwhile, and what came of it."""
    item = step.item
    yield from (Arrow(CLIENTS, STORE, "request", line(op)) for op in item.ops)
    if place := KINDS[item.kind].place:
        lane = LANES.index(place)
        yield Arrow(lane, lane, LOOKS[place], line(item.event))
    yield from (Arrow(STORE, CLIENTS, "reply", line(told)) for told in step.said)

"""Lists of categories that memories of a run are set up with, by the name that a scenario gives."""

from collections.abc import Mapping
from typing import Final

from umi_core.config import Config
from umi_core.values import CATEGORIES, Pairs
from umi_sim.record.run_config import RunConfig

LISTS: Final[Mapping[str, Pairs]] = {
    "usual": tuple(CATEGORIES.items()),
    "home": (
        ("family", "Who belongs to the household, and how they are."),
        ("preferences", CATEGORIES["preferences"]),
        ("Health and care", "Illnesses, medicine, sleep."),
    ),
    "work": (
        ("Projekte", "Woran gearbeitet wird, und mit wem."),
        ("facts", CATEGORIES["facts"]),
        ("\u4f1a\u8bae", "\u4f55\u65f6\u5f00\u4f1a"),
        ("family", "Who belongs to the household, and how they are."),
    ),
    "one": (("notes", ""),),
}
"""A name that is in several lists means the same in each: a row keeps what it was made with."""


def config_of_life(run: RunConfig, life: int, **changed: int) -> Config:
    """Return the settings of a memory in its life of this number, from 0; lives take turns with lists."""
    lists = [LISTS[name] for name in run.categories]
    own = {"categories": lists[life % len(lists)]} if lists else {}
    return Config.of({**run.memory, **own, **changed})


def all_categories(run: RunConfig) -> dict[str, str]:
    """Return what belongs into each category that some life of the run lists, by its name."""
    return {name: about for key in run.categories or ("usual",) for name, about in LISTS[key]}

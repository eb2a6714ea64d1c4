"""Lists of categories for the memories of a run, by the names that scenarios use."""

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
"""A category has the same description in each list, because a stored row keeps its first description."""


def config_of_incarnation(run: RunConfig, life: int, **changed: int) -> Config:
    """Return the settings of incarnation number `life`, from 0, of a memory; the lists take turns.

    `changed`: settings to replace.
    """
    lists = [LISTS[name] for name in run.categories]
    own = {"categories": lists[life % len(lists)]} if lists else {}
    return Config.of({**run.memory, **own, **changed})


def all_categories(run: RunConfig) -> dict[str, str]:
    """Return the description of each category that some incarnation of the run lists, by its name."""
    return {name: about for key in run.categories or ("usual",) for name, about in LISTS[key]}

"""Observers of each target, which see its lives from inside; the inspector hands all of them each event."""

from collections.abc import Callable, Mapping
from typing import Final

from umi_core.config import Config
from umi_sim.judge.invariants.asked import ServiceQuestions
from umi_sim.judge.invariants.core_shown import CoreShown
from umi_sim.judge.invariants.divisions import Divisions
from umi_sim.judge.invariants.lacks import Lacks
from umi_sim.judge.invariants.row_bytes import RowBytes
from umi_sim.judge.invariants.stated_texts import StatedTexts
from umi_sim.judge.invariants.two_stores import TwoStores
from umi_sim.judge.invariants.upkeep import Tended
from umi_sim.judge.invariants.whole import WrittenRows
from umi_sim.judge.observer import Observer
from umi_sim.record.run_config import RunConfig


def is_forged(config: RunConfig) -> bool:
    """Return True if rows or answers may be others than were committed."""
    return config.revise_every > 0 or config.tamper_every > 0


OBSERVERS: Final[Mapping[str, tuple[Callable[[RunConfig], Observer], ...]]] = {
    "umi_core": (
        lambda config: Divisions(Config.of(config.memory)),
        lambda config: Tended(Config.of(config.memory), is_forged=is_forged(config)),
        lambda config: StatedTexts(config.revise_every > 0),
        lambda config: RowBytes(),
        lambda config: WrittenRows(),
        lambda config: ServiceQuestions(),
        # With revisions, interceptors answer some questions, and the world does not know what they said.
        lambda config: Lacks(Config.of(config.memory), is_sole=not config.revise_every),
        lambda config: CoreShown(),
    ),
    "migrator": (lambda config: TwoStores(), lambda config: WrittenRows()),
}
"""By name of the target (umi_sim/machines/table.py)."""

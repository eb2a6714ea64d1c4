"""What holds for a tier, whatever was asked of it: the rules of runs, and the limits of its settings."""

from umi_core.config import Config
from umi_core.tiers.core import CoreTier
from umi_core.tiers.working import WorkingTier
from umi_sim.judge import state
from umi_sim.judge.state import tiers


def check_core(core: CoreTier, config: Config) -> None:
    state.check_core(core)
    tiers.check_core_limits(core, config)


def check_working(tier: WorkingTier, now_ms: int, config: Config) -> None:
    state.check_working(tier, now_ms)
    assert tier.used_bytes <= config.working_bytes_max
    assert len(tier.entries) <= config.working_entry_count_max

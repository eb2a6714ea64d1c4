"""What of umi_core can be tested, by name: its memory, or its migrator."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from umi_core.engine.registry import Registry
from umi_core.workflows import BUILT_IN
from umi_sim.record.run_config import RunConfig
from umi_sim.target.machine import Target
from umi_sim.target.migrating import MigrationTarget
from umi_sim.target.umi import UmiTarget

TARGETS: Final[Mapping[str, type[UmiTarget] | type[MigrationTarget]]] = {
    "umi_core": UmiTarget,
    "migrator": MigrationTarget,
}


def unserved(target: str, names: Iterable[str]) -> Iterator[str]:
    """The requests, by name, that a target does not serve."""
    return (name for name in names if name not in TARGETS[target].requests)


def target_of(config: RunConfig, registry: Registry = BUILT_IN) -> Target:
    """What a run of this configuration tests."""
    if config.command:
        from umi_sim.target.process import ProcessTarget  # hardly a run needs it

        return ProcessTarget(config)
    return TARGETS[config.target](config, registry)

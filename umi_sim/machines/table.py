"""The targets in umi_core, by name: its memory, and its migrator.

A target is imported when a run begins, so that seed files and scenarios can be read without it.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from umi_core.messages.requests import REQUESTS
from umi_sim.record.run_config import RunConfig

if TYPE_CHECKING:
    from umi_core.engine.registry import Registry
    from umi_sim.machines.protocol import Target

TARGETS: Final = {"umi_core": "memory", "migrator": "migrator"}
"""For each target, the value of `served_by` of its requests."""


def list_unserved(target: str, names: Iterable[str]) -> Iterator[str]:
    """Yield those of these names of requests that a target does not serve."""
    return (name for name in names if REQUESTS[name].served_by != TARGETS[target])


def target_of(config: RunConfig, registry: "Registry") -> "Target":
    """Return the target of a run with this configuration."""
    if config.command:
        from umi_sim.machines.process import ProcessTarget

        return ProcessTarget(config)
    if config.target == "migrator":
        from umi_sim.machines.migrating import MigrationTarget

        return MigrationTarget(config, registry)
    from umi_sim.machines.umi import UmiTarget

    return UmiTarget(config, registry)

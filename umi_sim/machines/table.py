"""What of umi_core can be tested, by name: its memory, or its migrator.

Each is imported when a run begins: seed files and scenarios are read without a memory.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from umi_core.messages.requests import REQUESTS
from umi_sim.record.run_config import RunConfig

if TYPE_CHECKING:
    from umi_core.engine.registry import Registry
    from umi_sim.machines.protocol import Target

TARGETS: Final = {"umi_core": "memory", "migrator": "migrator"}
"""Each target with the machine that its requests name in `served_by`."""


def list_unserved(target: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the requests, by name, that a target does not serve."""
    return (name for name in names if REQUESTS[name].served_by != TARGETS[target])


def target_of(config: RunConfig, registry: "Registry") -> "Target":
    """Return what a run of this configuration tests."""
    if config.command:
        from umi_sim.machines.process import ProcessTarget

        return ProcessTarget(config)
    if config.target == "migrator":
        from umi_sim.machines.migrating import MigrationTarget

        return MigrationTarget(config, registry)
    from umi_sim.machines.umi import UmiTarget

    return UmiTarget(config, registry)

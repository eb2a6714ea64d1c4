"""A hunt as a test: `TestMine = Mine.pytest(seconds=20)`, for pytest and unittest."""

import unittest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from umi_sim.targets.adapter import Adapter


def class_of_test(adapter: "type[Adapter]", seconds: int) -> type:
    def test_keeps_its_contract(self: unittest.TestCase) -> None:
        told = failure_of(adapter, seconds)
        if told:
            self.fail(told)

    body = {"test_keeps_its_contract": test_keeps_its_contract, "__module__": adapter.__module__}
    return type(f"Test{adapter.__name__}", (unittest.TestCase,), body)


def failure_of(adapter: "type[Adapter]", seconds: int) -> str:
    """What there is to tell of a broken promise; empty if there is none."""
    from umi_sim.kernel.report import laid_out
    from umi_sim.targets import seed_files, telling
    from umi_sim.targets.hunt import hunt

    found = hunt(adapter, seconds=seconds)
    if found.small is None:
        return ""
    name = f"{adapter.__module__}:{adapter.__name__}"
    path = seed_files.write(adapter, name, found.seed, found.small)
    return "\n".join(["", *laid_out(telling.of_hunt(name, found, path.as_posix()))])

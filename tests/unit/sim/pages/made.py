"""Pages for tests: one of the canary, made once."""

from functools import cache
from typing import Any

from msgspec import structs

from umi_sim.pages import seed_page
from umi_sim.runs import runner
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import SeedFile
from umi_sim.shrink import shrink


@cache
def canary() -> SeedFile:
    config = structs.replace(scenario.draw(scenario.find("canary"), 1), planted="get-alive-at-expiry")
    return shrink(seed_file.of_verdict(runner.run(config)))


@cache
def canary_data() -> dict[str, Any]:
    return seed_page.data_of("canary.json", canary(), 10)

"""A run with a conversation that the user gives as a file; the report says how much of it the run covers.

Law 1. Unless the number of operations is given, a run has as many as the conversation needs.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from umi_sim.kernel.wording import plural
from umi_sim.record.items import Item, Op
from umi_sim.record.run_config import RunConfig, steps_max
from umi_sim.workload.workloads import GENERATED, transcript_lines

OPERATION_COUNT_MAX: Final = 100_000  # as in a scenario file
SPARE_COUNT: Final = 64


def with_conversation(config: RunConfig, path: str) -> RunConfig:
    """Return the configuration with the conversation in the file at `path`."""
    return structs.replace(config, workload="transcript", transcript=path)


def whole(config: RunConfig) -> RunConfig:
    """Return the configuration with enough operations and steps for all turns."""
    line_count = max(len(list(transcript_lines(config, agent.name))) for agent in config.agents)
    (n, d), (made, all_made) = config.repeat, GENERATED
    # One in four requests is drawn instead (GENERATED), and n of d repeat the one before: 90 lines without
    # repeats need 120 operations on average. Half as many again make it likely that all lines fit.
    usual = line_count * all_made * d // ((all_made - made) * max(1, d - n))
    count = min(usual * 3 // 2 + SPARE_COUNT, OPERATION_COUNT_MAX)
    agent_count = len(config.agents)
    is_usual = config.steps_max == steps_max(config.operations_max, agent_count)
    limit = steps_max(count, agent_count) if is_usual else config.steps_max
    return structs.replace(config, operations_max=count, steps_max=limit)


def remark(config: RunConfig, items: Sequence[Item]) -> str:
    """Return a line for the report if an agent did not get all turns; else an empty text."""
    given, turns = min(count_turns(config, items, agent.name) for agent in config.agents)
    if given == turns:
        return ""
    what = f"{given} of {plural(turns, 'turn')}, in {plural(config.operations_max, 'operation')}"
    if config.operations_max == OPERATION_COUNT_MAX:
        return f"{what}, the most that a run may have: give a part of the conversation"
    return f"{what}: leave --set workload.operations out, or set it to more"


def count_turns(config: RunConfig, items: Sequence[Item], agent: str) -> tuple[int, int]:
    """Count the turns that an agent got, and all turns of the conversation."""
    asked = [(item.name, item.args) for item in items if isinstance(item, Op) and item.agent == agent]
    given = turns = 0
    rest = iter(asked)
    for _, line in transcript_lines(config, agent):
        is_given = line in rest  # `in` reads the iterator up to the line: the next is sought after it
        if line[0] == "set":
            given, turns = given + is_given, turns + 1
    return given, turns

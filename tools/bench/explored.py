"""Every short list of actions: how many a second.

    .venv/bin/python tools/bench/explored.py [--depth N] [--turns N]

`umi-sim explore` tries the actions of `explore_working`, and leaves a list out if it leads to a world that
was seen before; `--dfs` leaves none out. Both judge by the oracle and by invariants. The bare loop and
detangle (its DFS, with every value a detangle.choice) make all lists of as many actions of their own,
requests of plain.py held to a dict, and know no worlds: each list is run from its begin. Hypothesis and
hegeltest draw, they cannot try everything. CPU seconds, the least of some turns.
"""

import argparse
from itertools import product
from typing import Any, Final

from tools.bench.measure import LACKS, Table, least, short
from tools.bench.others import tools
from tools.bench.plain import born
from umi_core.workflows import BUILT_IN
from umi_sim.explore.search import explore
from umi_sim.scenario.files import find

SCENARIO: Final = "explore_working"
DEPTH: Final = 4
DELAYS_MAX: Final = 1_000  # more than any list has, so that every list is tried
ACTIONS: Final[tuple[tuple[str, int, dict[str, object]], ...]] = (
    ("set", 0, {"key": "a", "value": b"1", "ttl_ms": 5}),
    ("set", 0, {"key": "b", "value": b"1", "ttl_ms": None}),
    ("get", 0, {"key": "a"}),
    ("get", 5, {"key": "a"}),
    ("get", 10, {"key": "b"}),
    ("incr", 0, {"key": "a", "delta": 1}),
    ("touch", 5, {"key": "a"}),
    ("delete", 0, {"key": "a"}),
    ("sweep", 5, {}),
    ("bytes", 0, {}),
)


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--depth", type=int, default=DEPTH)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    rows = [
        *(ours(options.depth, options.turns, is_dfs) for is_dfs in (False, True)),
        by_loop(options.depth, options.turns),
    ]
    if "detangle" in tools():
        rows.append(by_detangle(options.depth, options.turns))
    head = ["", "lists", "worlds", "lists a second", "worlds a second", "steps a second"]
    Table(f"Every list of up to {options.depth} actions", head, rows).show()


def ours(depth: int, turns: int, is_dfs: bool) -> list[str]:
    found: list[Any] = []
    (spent,) = least(turns, lambda: found.append(explore(find(SCENARIO), depth, depth_first=is_dfs)))
    last = found[-1]
    assert last.verdict is None, last.verdict
    worlds = (LACKS, LACKS) if is_dfs else (f"{last.state_count:,}", short(last.state_count / spent))
    rates = short(last.list_count / spent), short(last.step_count / spent)
    name = "`umi-sim explore --dfs`" if is_dfs else "`umi-sim explore`"
    return [name, f"{last.list_count:,}", worlds[0], rates[0], worlds[1], rates[1]]


def by_loop(depth: int, turns: int) -> list[str]:
    lists = [it for length in range(1, depth + 1) for it in product(ACTIONS, repeat=length)]

    def act() -> None:
        for actions in lists:
            life = born(BUILT_IN)
            for name, wait_ms, args in actions:
                life.do(name, wait_ms, args)

    (spent,) = least(turns, act)
    steps = sum(map(len, lists)) / spent
    return ["bare loop", f"{len(lists):,}", LACKS, short(len(lists) / spent), LACKS, short(steps)]


def by_detangle(depth: int, turns: int) -> list[str]:
    import detangle

    async def test() -> None:
        life = born(BUILT_IN)
        for _ in range(depth):
            name, wait_ms, args = detangle.choice(ACTIONS)
            life.do(name, wait_ms, args)

    found: list[Any] = []

    def act() -> None:
        every = detangle.DFS(max_delays=DELAYS_MAX)
        found.append(detangle.explore(test, runs=10**9, strategy=every, database=False))

    (spent,) = least(turns, act)
    assert found[-1].exhausted
    runs = found[-1].runs
    return ["detangle, DFS", f"{runs:,}", LACKS, short(runs / spent), LACKS, short(runs * depth / spent)]


if __name__ == "__main__":
    main()

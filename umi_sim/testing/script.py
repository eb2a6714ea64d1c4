"""A run that is written as calls. The lines under `script` in a report can be pasted and run unchanged.

from umi_sim import Script

script = Script("working", seed=45)
script.op("o1", "a", "set", key="k", value=b"v", ttl_ms=10)
script.op("o2", "a", "get", at_ms=10, key="k")
verdict = script.finish()
"""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from umi_core.values import Scope
from umi_sim.explain import report
from umi_sim.explain.calls import usual_agent
from umi_sim.kernel.report import laid_out
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import AgentConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile.fields import PLAIN


class Script:
    """Collects items for a configuration; `finish` runs them and prints the verdict.

    The configuration is drawn from the scenario and the seed, or has default values if `plain`. `agents`: of
    a drawn configuration, the names of the agents to keep; of a plain one, its agents, each a name or
    (name, user, agent, skew_ms). `latency` and `options` override fields. Raises BadScenario.
    """

    def __init__(
        self,
        scenario: str = "smoke",
        *,
        seed: int = 0,
        agents: Sequence[str | tuple[str, str, str, int]] = (),
        latency: str = "",
        plain: bool = False,
        **options: Any,
    ) -> None:
        config = structs.replace(PLAIN, scenario=scenario, seed=seed) if plain else draw(find(scenario), seed)
        if plain and agents:
            config = structs.replace(config, agents=tuple(map(agent_of, agents)))
        kept = tuple(agent for agent in config.agents if plain or not agents or agent.name in agents)
        self.config = structs.replace(config, agents=kept, latency=latency or config.latency, **options)
        self.items: list[Item] = []

    def op(self, op_id: str, agent: str, name: str, *, at_ms: int = 0, **args: object) -> None:
        """Add a request, `at_ms` after the start of the world."""
        self.items.append(Op(op_id, at_ms, agent, name, args))

    def fault(self, fault_id: str, kind: str, *, at: str, args: dict[str, object] | None = None) -> None:
        """Add a fault at a named event, such as "o1/commit#1"."""
        self.items.append(Fault(fault_id, kind, at, args or {}))

    def schedule(self, item_id: str, *, take: str, over: str) -> None:
        """Deliver the event `take` before the event `over`, at the moment when both are ready."""
        self.items.append(Deviation(item_id, take, over))

    def clock(self, item_id: str, agent: str, move: str, *, at_ms: int = 0, **args: object) -> None:
        """Add a move of an agent's clock (see ClockMove), `at_ms` after the start of the world."""
        self.items.append(ClockMove(item_id, at_ms, agent, move, args))

    def finish(self) -> Verdict:
        """Run the items, print the report, and return the verdict."""
        verdict = run(self.config, self.items)
        print("\n".join(laid_out(report.of_run(verdict, "the script above"))))
        return verdict


def agent_of(given: str | tuple[str, str, str, int]) -> AgentConfig:
    """Return the configuration of an agent that is given by name, or as (name, user, agent, skew_ms)."""
    if isinstance(given, str):
        return usual_agent(given)
    name, user, agent, skew_ms = given
    return AgentConfig(name, Scope(user, agent), skew_ms)

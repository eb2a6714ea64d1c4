"""Goal: would we notice? Every planted bug is found within its budget, by a rule named for it.

Those that a whole scenario shows only after seconds are looked for in a smaller world: the same seeds, with
fewer requests, one agent, or only the kinds of fault that it takes. `umi-sim mutants` lives the whole ones.
What was found in a world of its own is lived there without the bug; the worlds that ship are lived without
bugs in tests/simulation and by sweeps.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Final

import attrs
import pytest

from tests.known_seeds import seeds_of
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.rules import rule_named
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find


def only_requests(**weights: int) -> dict[str, str]:
    rows = ", ".join(f"{name} = {weight}" for name, weight in weights.items())
    return {"agents.count": "1", "workload.operations": "40", "workload.weights": f"{{ {rows} }}"}


def only_faults(**rates: str) -> dict[str, str]:
    rows = ", ".join(f'{name} = "{rate}"' for name, rate in rates.items())
    return {"faults": f"{{ {rows} }}", "scenario.swarm": '{ mode = "swarm", sites = "all" }'}


NO_FAULTS: Final = {"scenario.swarm": '{ mode = "plain" }'}
HOSTILE: Final = {"workload.adversarial": '"7/8"', "workload.keys": "2", "workload.operations": "60"}
FLIPPED: Final = only_faults(storage_bit_flip="1/2")
SAVES: Final = only_requests(create_session=2, set=4, save_session=4, load_session=4)
RESTARTS: Final = only_requests(set_block=2, remember=1, blocks=1)
UNREAD: Final = only_faults(agent_crash="1/8", storage_read_failed="1/2")
SMALLER: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "checksum-unread": ("sessions", SAVES | FLIPPED),
    "failed-recovery-starts-empty": ("crash_storm", RESTARTS | UNREAD),
    "last-text-splits-character": ("languages", only_requests(recall=1, get=1) | NO_FAULTS),
    "lenient-counter-text": ("working", only_requests(set=1, append=1, incr=2) | HOSTILE),
    "load-clears-first": ("sessions", SAVES | FLIPPED),
    "meaningless-rewrite-adopted": (
        "conversation", only_requests(recall=1) | only_faults(model_refusal="1/2"),
    ),
    "new-key-on-retry": ("retries", only_requests(remember=1) | only_faults(storage_reply_lost="1/2")),
    "unasked-pair-related": ("model_storm", only_requests(remember=1) | only_faults(model_swapped="1/2")),
    "trigger-inside-word": ("calm", only_requests(remember=2, recall=12)),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def everything_is_as_it_was() -> Iterator[None]:
    """After all bugs that this process has planted."""
    at_rest = bodies()
    yield
    assert bodies().items() >= at_rest.items()  # more: a module that a run imports


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_the_bug_is_found_by_its_rule_and_in_a_smaller_world_only_with_the_bug(name: str) -> None:
    mutant = MUTANTS[name]
    where, smaller = SMALLER.get(name, (mutant.scenario, mutant.hunted))
    scenario = find(where)
    for seed in range(mutant.seeds_max) if name in SMALLER else seeds_of(mutant):
        config = attrs.evolve(draw(scenario, seed, smaller), planted=name)
        verdict, _ = run_once(config)
        if verdict.failure is not None and verdict.failure.rule in mutant.rules:
            if name in SMALLER or mutant.overrides:
                clean, _ = run_once(attrs.evolve(config, planted=None, equivalences=()), verdict.items)
                assert clean.failure is None
            return
    pytest.fail(f"{name} was not found by {mutant.rules} in {mutant.seeds_max} seeds of {where}")


def test_a_smaller_world_is_of_a_bug_that_there_is() -> None:
    assert set(SMALLER) <= set(MUTANTS)


def bodies() -> dict[str, object]:
    """What every name of umi_core stands for, down to the bodies of functions and methods."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("umi_core")]
    values = {f"{module.__name__}.{name}": it for module in modules for name, it in vars(module).items()}
    owners = [it for it in values.values() if isinstance(it, type) and it.__module__.startswith("umi_core")]
    methods = {f"{it.__qualname__}.{name}": own for it in owners for name, own in vars(it).items()}
    codes = {
        name: getattr(getattr(it, "__func__", it), "__code__", None)
        for name, it in (values | methods).items()
    }
    return {
        **{name: id(it) for name, it in values.items()},
        **{f"{name}()": it for name, it in codes.items()},
    }


def test_every_mutant_names_rules_that_somebody_checks() -> None:
    for mutant in MUTANTS.values():
        checked = {rule: rule_named(rule).is_checked for rule in mutant.rules}  # KeyError: no such rule
        assert any(checked.values()), mutant.name

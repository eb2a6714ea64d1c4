"""Goal: a third party's store that is called is tested like Umi's memory: drawn, judged, replayed."""

from collections.abc import Callable
from typing import Final

import pytest
from msgspec import structs

from umi_core.data import Owner
from umi_core.engine.registry import Registry
from umi_core.errors import EntryTooLarge
from umi_core.limits import DAY_MS, WORKING_VALUE_BYTES_MAX
from umi_core.messages.effects import Done, Outcome, Refused
from umi_core.messages.requests import Delete, Get, Request, Set, bad_request
from umi_sim.machines.subject import Subject, SubjectTarget
from umi_sim.record.items import Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import run
from umi_sim.scenario.files import draw, parse
from umi_sim.world.agent import Agent

CACHE_RUNS: Final = parse(
    """
[scenario]
id = "cache"
title = "A cache whose entries expire"
[workload]
operations = [20, 60]
keys = [1, 3]
[workload.weights]
set = 2
get = 4
delete = 1
[clock]
land = "1/2"
[memory]
working_ttl_ms_default = 86_400_000
working_entry_count_max = 1024
working_bytes_max = 1_048_576
""",
    "cache.toml",
    None,
)


class Cache(Owner):
    """A cache with a time to live, as users may write it. An entry lives while now < expires_ms."""

    grace_ms: int = 0
    entries: dict[str, tuple[bytes, int]] = {}

    def call(self, now_ms: int, request: Request) -> Outcome:
        if error := bad_request(request):
            return Refused(error)
        alive = {key: at for key, at in self.entries.items() if now_ms < at[1] + self.grace_ms}
        self.entries = alive
        match request:
            case Set(value=value) if len(value) > WORKING_VALUE_BYTES_MAX:
                return Refused(EntryTooLarge(len(value), WORKING_VALUE_BYTES_MAX))
            case Set(key=key, value=value, ttl_ms=ttl_ms):
                alive[key] = value, now_ms + (DAY_MS if ttl_ms is None else ttl_ms)
                return Done()
            case Get(key=key):
                return Done(alive[key][0] if key in alive else None)
            case Delete(key=key):
                return Done(alive.pop(key, None) is not None)
        raise NotImplementedError(type(request).__name__)


def failures(make: Callable[[], Subject], seed_count: int = 12) -> list[Failure | None]:
    def target_of(config: RunConfig, registry: Registry) -> SubjectTarget:
        return SubjectTarget(make, ("set", "get", "delete"))

    def run_seed(seed: int) -> Failure | None:
        verdict = run(draw(CACHE_RUNS, seed), target_of=target_of)
        again = run(verdict.config, verdict.items, target_of=target_of)
        assert again.trace_hash == verdict.trace_hash
        return verdict.failure

    return [run_seed(seed) for seed in range(seed_count)]


def test_a_right_cache_passes() -> None:
    assert failures(Cache) == [None] * 12


def test_an_entry_that_lives_a_millisecond_too_long_is_found() -> None:
    found = [failure.rule for failure in failures(lambda: Cache(grace_ms=1)) if failure]
    assert "ttl-boundary" in found
    assert set(found) <= {"ttl-boundary", "reference-agrees"}  # the second: delete says that it was there


class Broken(Cache):
    def call(self, now_ms: int, request: Request) -> Outcome:
        return Done(self.entries["nothing"])


def test_what_a_subject_raises_is_its_own_failure() -> None:
    assert {failure and failure.kind for failure in failures(Broken, 1)} == {"crash"}


def test_what_the_simulator_raises_is_no_failure_of_a_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_item(agent: Agent, items: object) -> None:
        raise KeyError("o1")

    monkeypatch.setattr(Agent, "take_items", lose_item)
    with pytest.raises(KeyError, match="o1"):
        failures(Cache)


def test_what_a_target_does_not_serve_is_not_asked_for() -> None:
    config = draw(CACHE_RUNS, 1)
    verdict = run(config, target_of=lambda config, registry: SubjectTarget(Cache, ("set", "get")))
    assert verdict.failure is None
    assert {item.name for item in verdict.items if isinstance(item, Op)} == {"set", "get"}


def test_a_target_that_serves_nothing_of_what_is_asked_is_refused() -> None:
    config = structs.replace(draw(CACHE_RUNS, 1), weights={"get": 1, "delete": 1})
    with pytest.raises(ValueError, match="ask for get, delete alone, and the target serves set"):
        run(config, target_of=lambda config, registry: SubjectTarget(Cache, ("set",)))

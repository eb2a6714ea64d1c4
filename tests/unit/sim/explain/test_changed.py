"""Goal: a failure says what its step changed in the memory, and never makes something up."""

from msgspec import structs

from tests.unit.sim.commands import lines_of
from umi_core.values import Scope
from umi_sim.explain import report
from umi_sim.record.items import Item, Op
from umi_sim.record.run_config import AgentConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs import runner
from umi_sim.seedfile.fields import PLAIN

CONFIG = structs.replace(PLAIN, scenario="working")


def failed(items: tuple[Item, ...], planted: str, **fields: object) -> Verdict:
    verdict = runner.run(structs.replace(CONFIG, planted=planted, **fields), items)
    assert verdict.failure is not None
    return verdict


SET = Op("o1", 5_000, "a", "set", {"key": "k", "value": b"1", "ttl_ms": 1_000})
PADDED = structs.replace(SET, args={**SET.args, "value": b" 5"})


def test_the_step_that_failed_is_printed_with_what_it_changed() -> None:
    verdict = failed((PADDED, Op("o2", 5_010, "a", "incr", {"key": "k", "delta": 1})), "lenient-counter-text")
    assert verdict.failure is not None
    head, place, *_ = verdict.changed
    assert head == f"at step {verdict.failure.step}:"
    assert place == 'tiers.working.entries.k (b" 5", 1700000006000) -> (b"6", 1700003605010)'
    change = '(b" 5", 1700000006000 (6 000 ms)) -> (b"6", 1700003605010 (3 605 010 ms))'
    lines = lines_of(report.of_run(verdict, "umi-sim replay FILE"), 200)
    assert f"  changed  {head} tiers.working.entries.k {change}" in lines


def test_a_step_that_changed_nothing_is_passed_over() -> None:
    verdict = failed((SET, Op("o2", 6_000, "a", "get", {"key": "k"})), "get-alive-at-expiry")
    assert verdict.failure is not None
    assert verdict.changed[0] == f"at step {verdict.failure.step - 1}:"
    assert 'tiers.working.entries.k absent -> (b"1", 1700000006000)' in verdict.changed


def test_of_several_agents_the_one_is_named() -> None:
    agents = (AgentConfig("a", Scope("u1", "a1")), AgentConfig("b", Scope("u2", "a2")))
    items = (structs.replace(SET, agent="b"), Op("o2", 6_000, "b", "get", {"key": "k"}))
    assert failed(items, "get-alive-at-expiry", agents=agents).changed[0].endswith(" in b:")


def test_a_run_that_passes_has_nothing_to_tell() -> None:
    assert runner.run(structs.replace(CONFIG, planted=None), (SET,)).changed == ()

"""Goal: what fails is tried as its policy says, and a deviation is reported with step and kind."""

import pytest
from msgspec import structs

from tests.unit.sim.judge.test_afresh import TOLD, life
from umi_core.config import Config
from umi_core.engine import engine, workflow
from umi_core.engine.workflow import Step
from umi_core.kelpie.requests import AddMessages, DeleteAgent, OpenAgent
from umi_core.limits import CORE_BYTES_MIN
from umi_core.messages.effects import Done
from umi_core.messages.requests import Forget, Get, Recall, Remember, Retrieve, SetBlock
from umi_core.messages.results import BlockSet
from umi_core.values import Scope
from umi_core.workflows import WORKFLOWS, forget
from umi_sim.judge.equivalences import TRIED, failing, landing, stories
from umi_sim.judge.equivalences.failing_world import DURABLE, INVALID, KINDS, FailingWorld, name_failure
from umi_sim.judge.plain import scores
from umi_sim.kernel.fork import fork_graph
from umi_sim.record.broken import Broken
from umi_sim.sweep import reached

ASKING = [(flow.name, step) for flow in WORKFLOWS for step in flow.steps if step.on_failure is not None]
LIFE = life(*TOLD, Recall(8, "tea", deep=True), Retrieve(9, "Where does Bob live?"))


@pytest.mark.parametrize(("workflow", "step"), ASKING, ids=lambda it: it if isinstance(it, str) else it.id)
def test_the_plain_table_says_of_each_step_what_its_policy_says(workflow: str, step: Step) -> None:
    policy = step.on_failure
    assert policy is not None
    assert scores.substitute(workflow, step.id) == (policy.then.name if policy.then else None)
    assert policy.attempts == (
        0 if workflow == scores.WITHOUT_END else scores.count_attempts(workflow, step.id)
    )
    assert policy.plans_max == scores.PLAN_COUNT


@pytest.mark.parametrize("count", range(1, 9))
def test_a_step_waits_twice_as_long_each_time_up_to_a_limit(count: int) -> None:
    assert scores.wait_ms(count, 0) == workflow.backoff_ms(count)


def test_each_request_of_a_life_is_asked_again_where_its_steps_fail() -> None:
    met = failing.compare_failing(LIFE)
    kinds = {type(request) for request in stories.choose_requests(LIFE, "s")}
    assert met["equal: E-FAIL"] >= failing.TRIED_COUNT * len(kinds)
    steps = {part.name: part.met for part in reached.steps(met)}
    assert {"retried"} <= {what for each in steps.values() for what in each}
    assert all(name.startswith((TRIED, "equal: ")) for name in met)


def test_what_follows_is_the_same_each_time_and_the_life_is_as_before() -> None:
    digest = LIFE.digest
    assert failing.compare_failing(LIFE) == failing.compare_failing(LIFE)
    assert LIFE.digest == digest


def test_a_life_that_asked_nothing_of_storage_has_its_recovery_tried_alone() -> None:
    met = failing.compare_failing(life(Get(1, "k")))
    assert "equal: E-FAIL" not in met
    assert any(name.startswith(f"{TRIED}recover.") for name in met)


def test_a_memory_that_waits_too_long_is_reported_with_the_step_and_its_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workflow, "BACKOFF_MS_MIN", 99)
    with pytest.raises(Broken, match=r"\w+, \w+ (once|always|\d times) at \w+: how long it waits"):
        failing.compare_failing(LIFE)


def test_an_agent_begins_again_while_its_rows_go() -> None:
    """Rows that are on their way out were taken for what a failed request had changed."""
    turns = tuple((("role", "user"), ("content", f"Turn {n}.")) for n in range(3))
    ended = life(AddMessages(1, turns), DeleteAgent(2), OpenAgent(3), AddMessages(4, turns))
    for seed in range(8):
        failing.compare_failing(structs.replace(ended, seed=seed))


def test_every_kind_has_a_name_that_the_memory_knows() -> None:
    for effect, groups in KINDS.items():
        known = (*effect.failures, INVALID)
        assert [kind for kinds in groups for kind in kinds if name_failure(kind) not in known] == []


def test_an_entry_evicted_for_a_block_is_reported_although_its_plan_was_made_twice() -> None:
    """The second plan writes the same row, and finds no entry that would have to leave."""
    config = Config(core_bytes_max=CORE_BYTES_MIN, semantic_routing=True, promote_score_min_ppm=0)
    world = FailingWorld(Scope("u", "a"), config, 1_700_000_000_000)
    for name in ("Alice", "Bob Stone"):
        world.begin(Remember(name, f"{name} works at Acme."), {})
    request = SetBlock("block", "scratch", "x" * (CORE_BYTES_MIN - 8))
    other = fork_graph(world)
    due = world.begin(request, {})
    assert isinstance(due, Done)
    assert isinstance(due.value, BlockSet)
    assert due.value.evicted
    assert other.begin(request, {"commit": [DURABLE, "conflict"]}) == due


def test_a_late_commit_without_a_match_is_reported_with_both_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(landing, "ONE_IN", 1)
    run = structs.replace(life(*TOLD, Forget(8, landing.ABSENT)), seed=9)  # some make it no new member
    assert failing.compare_failing(run)
    monkeypatch.setattr(engine, "UNGUARDED", (*engine.UNGUARDED, "membership", "category"))
    monkeypatch.setattr(forget, "expect_memberships", lambda *_: ())
    with pytest.raises(Broken, match="UpdateEntity lands while Forget is under way") as broken:
        failing.compare_failing(run)
    assert broken.value.expected != broken.value.got

"""Goal: of a failing run the items that are to blame are named, and the page is reproducible."""

from functools import partial
from itertools import count
from pathlib import Path

import pytest
from msgspec import structs

from tests.unit.sim.commands import lines_of, refused, umi
from umi_core.data import SET_LATER
from umi_core.ids import entity_id, fact_id
from umi_core.values import Scope
from umi_sim.cli.progress import StageView
from umi_sim.explain import why, why_page
from umi_sim.explain.why import Analysis, Share
from umi_sim.kernel.progress import Stage
from umi_sim.record import trace
from umi_sim.record.exit_codes import INTERRUPTED
from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import Tag
from umi_sim.runs import runner
from umi_sim.runs.continued import Continued
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.fields import PLAIN
from umi_sim.shrink.candidate import Candidate
from umi_sim.shrink.search import Budget

RETRIES = structs.replace(PLAIN, scenario="retries", seed=10, mode="swarm", faults={"storage_slow": (1, 256)})
SLOW: tuple[Item, ...] = (
    Op("o19", 0, "a", "remember", {"text": "a"}),
    Fault("f1", "storage_slow", "o19/commit#1", {"after_ms": 10_000}),
    Fault("f4", "storage_slow", "o19/commit#3", {"after_ms": 10_000}),
)
HOME = Scope("u1", "a1")
ALICE = fact_id(HOME, (entity_id(HOME, "Alice"),), "Alice")
DAMAGED = structs.replace(RETRIES, faults={"storage_damaged": (1, 8)})
EARLY: tuple[Item, ...] = (  # what was acknowledged is read as damaged, and taken for absent
    Op("o1", 1, "a", "remember", {"text": "Alice"}),
    Op("o2", 1, "a", "len", {}),
    Fault("f3", "storage_damaged", "o4/read#1", {"index": 0, "latent": False}),
    Op("o4", 2_000, "a", "get_entity", {"entity_id": ALICE}),
)
DAMAGE: tuple[Item, ...] = (
    Op("o1", 1, "a", "remember", {"text": "Alice"}),
    Op("o2", 2_000, "a", "get_entity", {"entity_id": ALICE}),
    Fault("f3", "storage_damaged", "o2/read#1", {"index": 0, "latent": False}),
)


def failing(planted: str, items: tuple[Item, ...], config: RunConfig = RETRIES) -> seed_file.SeedFile:
    """The seed file of a run that must fail."""
    verdict = runner.run(structs.replace(config, planted=planted), items)
    assert verdict.failure is not None
    return seed_file.of_verdict(verdict)


def asked(seed: seed_file.SeedFile, runs: int = 0) -> Analysis:
    return why.why(seed, runs)


def needed(found: Analysis) -> dict[str, str]:
    """What is needed, and what happens without it."""
    return {part.name: part.instead for part in (*found.parts, *found.options) if part.is_needed}


# What is needed.


def test_of_what_was_asked_only_what_the_failure_needs_is_needed() -> None:
    found = asked(failing("damage-is-absence", EARLY, DAMAGED))
    assert needed(found) == {"o1": "passes", "f3": "passes", "o4": "passes"}
    (other,) = [part for part in found.parts if not part.is_needed]
    assert (other.name, other.instead) == ("o2", "fails all the same, 1 step earlier")


@pytest.mark.slow
def test_the_fault_that_makes_an_outcome_unknown_is_to_blame_for_a_second_key() -> None:
    found = asked(failing("new-key-on-retry", SLOW), 5)
    assert needed(found) == {"o19": "passes", "f1": "passes", "f4": "passes"}
    assert found.find_decisions() == [3]
    assert found.nearest is not None
    assert found.nearest.name == "f4"
    assert "so       f4 storage_slow at o19/commit#3: needed" in "\n".join(lines_of(why_page.page(found)))


def test_the_fault_that_damages_a_row_is_to_blame_for_its_absence() -> None:
    found = asked(failing("damage-is-absence", DAMAGE, DAMAGED), 3)
    assert set(needed(found)) == {"o1", "o2", "f3"}
    assert [share.failed for share in found.shares][-1] == 3
    assert found.find_decisions() == [3]


def test_an_option_is_needed_if_the_run_passes_with_it_plain() -> None:
    tight = structs.replace(
        PLAIN, scenario="working", memory={"working_entry_count_max": 1, "core_bytes_max": 4_096}
    )
    items = (
        Op("o1", 5_000, "a", "set", {"key": "a", "value": b"1", "ttl_ms": 10}),
        Op("o2", 6_000, "a", "set", {"key": "b", "value": b"1", "ttl_ms": 10}),
    )
    found = asked(failing("dead-entries-hold-space", items, tight))
    assert needed(found) == {"o1": "passes", "o2": "passes", "working_entry_count_max": "passes"}
    assert [part.name for part in found.options if not part.is_needed] == ["core_bytes_max"]


def test_an_option_that_another_one_needs_is_not_put_to_plain() -> None:
    """`why` stopped with an error of its own: groups merge at what they form at, or above."""
    near = structs.replace(PLAIN, memory={"cluster_ppm": 1, "merge_ppm": 2, "recall_limit_default": 3})
    found = {name for name, _, _ in why.plainer(Candidate(near, SLOW))}
    assert {"cluster_ppm", "merge_ppm", "recall_limit_default"} - found == {"cluster_ppm"}


def test_another_failure_that_takes_its_place_is_named() -> None:
    verdict = runner.run(structs.replace(DAMAGED, planted="damage-is-absence"), EARLY)
    failure = verdict.failure
    assert failure is not None
    other = structs.replace(failure, rule="ttl-boundary", rule_id="TTL-1")
    assert why.instead(verdict, other) == f"acknowledged-is-durable (STO-1) at step {failure.step}"
    assert why.instead(verdict, failure) == f"the same rule, otherwise at step {failure.step}"


def test_items_are_listed_in_the_order_in_which_they_took_effect() -> None:
    config = structs.replace(RETRIES, planted="new-key-on-retry")
    o1, f1, f4 = SLOW
    jump = ClockMove("c2", 5, "a", "jump", {"by_ms": 3})
    never = Fault("f9", "storage_lost", "o77/commit#1", {})
    verdict, records = runner.run_once(config, (never, jump, f4, f1, o1), keep_trace=True)
    assert [item.id for item in why.as_happened(verdict.items, records)] == ["o19", "f1", "c2", "f4", "f9"]


# Where it was decided.


def test_a_share_that_rises_by_a_fifth_is_where_it_was_decided() -> None:
    counts = [0, 1, 39, 40, 79, 119, 200]
    found = Analysis((), SET_LATER, SET_LATER)  # only its shares are looked at
    found.shares = [Share(kept, failed, 200) for kept, failed in enumerate(counts)]
    assert found.find_decisions() == [5, 6]


def test_a_page_is_reproducible() -> None:
    seed = failing("damage-is-absence", EARLY, DAMAGED)
    pages = [lines_of(why_page.page(asked(seed, 2))) for _ in range(2)]
    assert pages[0] == pages[1]


def test_of_many_items_some_prefixes_are_kept_the_first_and_the_last_among_them() -> None:
    assert why.prefixes(3) == [0, 1, 2, 3]
    many = why.prefixes(1_000)
    assert (len(many), many[0], many[-1]) == (why.PREFIX_COUNT_MAX, 0, 1_000)
    assert many == sorted(many)


def test_the_budget_of_steps_ends_it_with_even_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why, "STEP_COUNT_MAX", 1_000)
    found = asked(failing("damage-is-absence", EARLY, DAMAGED), 50)
    assert found.stopped == "after 1000 steps"
    assert len({share.runs for share in found.shares}) == 1
    assert found.shares[0].runs < 50


def test_no_run_begins_after_its_seconds() -> None:
    """One second passes at each look at the clock, so at each run."""
    for seconds, so in (
        (0, "nothing is known yet"), (3, "only 2 of 4 items left out yet; needed of these: o1"),
        (5, "o1, o4, f3: needed together"),
    ):  # fmt: skip
        ticks = count()
        budget = Budget(None, seconds, clock=lambda ticks=ticks: next(ticks))  # type: ignore[misc] # bound now
        found = why.why(failing("damage-is-absence", EARLY, DAMAGED), 50, budget=budget)
        assert found.stopped == f"after {seconds} second{'s' * (seconds != 1)} (--seconds)"
        assert (len(found.parts), found.shares) == (max(0, seconds - 1), [])
        assert f"  so       {so}" in lines_of(why_page.page(found))


def test_what_a_seed_needs_is_not_shrunk_after_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "seconds_left", lambda _: 0)
    result = umi("why", "--runs", "0", "canary:0")
    assert "out of seconds before it was seen to fail; nothing was changed" in result.stderr
    assert result.stdout.startswith("WHY ")


def test_without_a_limit_of_time_no_time_is_estimated_from_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page and a stepper ask without a limit; its stand-in was shown as 106751991167300 days."""
    stages: list[Stage] = []
    monkeypatch.setattr(why, "at", lambda *args, **given: stages.append(Stage(*args, **given)))
    asked(failing("damage-is-absence", EARLY, DAMAGED), 2)
    lines = [StageView().line(stage, 2_000) for stage in stages]
    assert any(line.startswith("why: the rest drawn afresh") for line in lines)
    assert [line for line in lines if " left" in line] == []


def test_the_command_ends_after_its_seconds() -> None:
    seed_file.write(Path("two.json"), failing("damage-is-absence", EARLY, DAMAGED))
    lines = umi("why", "--runs", "10000", "--seconds", "1", "two.json").stdout.splitlines()
    assert "  stopped  after 1 second (--seconds): this is what was found by then" in lines


# A record that is followed, and then drawn.


@pytest.mark.parametrize(("name", "seed"), [("storm", 3), ("crowd", 2)])
def test_what_is_kept_happens_as_recorded_and_then_something_else_does(name: str, seed: int) -> None:
    config = scenario.draw(scenario.find(name), seed, {"workload.operations": "5"})
    recorded, whole = runner.run_once(config, keep_trace=True)
    fresh = structs.replace(config, seed=seed + 1_000)
    items = why.as_happened(recorded.items, whole)
    for kept in (len(items) // 3, 2 * len(items) // 3):
        source = partial(Continued, items[:kept], fresh)
        continued, other = runner.run_once(config, source, keep_trace=True)
        found = trace.first_difference(whole, other)
        assert found is not None
        both = list(map(trace.decode, list(whole.kept)[: found.index]))
        happened = {record[3] for record in both if record[2] in (Tag.OP, Tag.FAULT, Tag.SKIPPED)}
        assert [it.id for it in items[:kept] if isinstance(it, Op | Fault) and it.id not in happened] == []
        ids = [item.id for item in continued.items]
        assert len(ids) == len(set(ids))
        assert continued.items[:kept] == items[:kept]


# The command.


@pytest.fixture(autouse=True)
def _small(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why, "TAIL_OPERATION_COUNT_MAX", 2)


def test_the_page_says_first_what_follows() -> None:
    seed_file.write(Path("two.json"), failing("damage-is-absence", EARLY, DAMAGED))
    result = umi("why", "--runs", "0", "two.json")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("WHY safety acknowledged-is-durable (STO-1) at step ")
    assert "  so       o1, o4, f3: needed together" in lines
    assert [line.split()[0] for line in lines if line[2:3].strip() and line[:3] == "  " + line[2]][:5] == [
        "repeat", "promised", "instead", "so", "needed",
    ]  # fmt: skip
    assert any(line.startswith("           first difference at record ") for line in lines)
    assert all(line.isprintable() for line in lines)
    assert '"needed": true' in umi("why", "--runs", "0", "--json", "two.json").stdout


def test_an_interruption_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(why.Inquiry, "find_shares", interrupted)
    seed_file.write(Path("two.json"), failing("damage-is-absence", EARLY, DAMAGED))
    result = umi("why", "two.json")
    assert result.exit_code == INTERRUPTED
    assert "  stopped  interrupted: this is what was found by then" in result.stdout.splitlines()
    assert "o4 get_entity" in result.stdout


def test_what_does_not_fail_as_it_says_has_no_why() -> None:
    seed = failing("damage-is-absence", EARLY, DAMAGED)
    passing = structs.replace(seed, config=structs.replace(seed.config, planted=None))
    seed_file.write(Path("fixed.json"), passing)
    seed_file.write(Path("other.json"), structs.replace(seed, fingerprint="0" * 12))
    seed_file.write(Path("golden.json"), runner.run(passing.config, EARLY))
    assert "fixed.json: it passes now" in refused("why", "fixed.json")
    assert "other.json: it fails in another way" in refused("why", "other.json")
    assert "golden.json: the file expects to pass" in refused("why", "golden.json")
    assert "absent.json: cannot be read" in refused("why", "absent.json")
    assert "--runs" in refused("why", "--runs", "-1", "fixed.json")

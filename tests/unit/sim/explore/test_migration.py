"""Goal: every short life of a migration keeps its rules, and each planted mistake breaks its own (MIG)."""

import pytest

from umi_core.migration.rows import PHASES
from umi_core.workflows import BUILT_IN
from umi_sim.explore.migration import MigrationFindings, explore
from umi_sim.explore.one_row import EventBudget
from umi_sim.mutants import plant_mutant

SHORT = EventBudget(writes=1, reads=1, works=1, crashes=1, failures=1)
TWICE = EventBudget(writes=2, reads=0, works=2, crashes=0, failures=1)
KEYED = EventBudget(writes=1, reads=0, works=0, crashes=0, failures=1, keyed=2)
HANDED_OVER = EventBudget(writes=1, reads=0, works=3, crashes=1, failures=1, keyed=1)
SWITCHED = EventBudget(writes=1, reads=0, works=1, crashes=1, failures=0, keyed=2)

BUGS = {  # of mutants/migration.toml: the rule, the phase that it shows in, how long a life it takes
    "old-store-resurrects": ("no-resurrection", "dual_read", SHORT),
    "missed-mirror-not-noted": ("switch-when-equal", "dual_write", SHORT),
    "outbox-in-second-commit": ("outbox-complete", "dual_read", SHORT),
    "outbox-lacks-a-phase": ("outbox-complete", "umi_primary", SHORT),
    "outbox-row-taken-unseen": ("outbox-complete", "dual_read", TWICE),
    "outbox-never-empties": ("migration-complete", "rolling_back", SHORT),
    "fallback-forgets-the-outbox": ("reads-never-go-back", "dual_read", SHORT),
    "rollback-leaves-the-outbox": ("switch-when-equal", "rolling_back", SHORT),
    "no-fence": ("switch-when-equal", "rolling_back", SHORT),
    "unknown-taken-as-failed": ("reads-never-go-back", "dual_write", SHORT),
    "naive-migration": ("outbox-complete", "dual_read", SHORT),
    "key-ends-with-the-phase": ("key-once-across-phases", "dual_read", KEYED),
    "no-begun": ("key-once-across-phases", "dual_write", KEYED),
    "begun-taken-as-done": ("reads-never-go-back", "legacy", KEYED),
    "mirror-never": ("mirror-told", "dual_write", SHORT),
    "moved-rows-stay-moved": ("migration-arrives", "cleanup", SHORT),
    "done-after-the-first-batch": ("migration-arrives", "cleanup", HANDED_OVER),
    "handed-over-twice": ("migration-arrives", "cleanup", HANDED_OVER),
}


def with_bug(name: str, phase: str, budget: EventBudget, *, stores_too: bool = True) -> MigrationFindings:
    with plant_mutant(name, BUILT_IN):
        return explore(budget, phase, stores_too=stores_too)


@pytest.mark.parametrize("phase", PHASES)
def test_every_short_life_keeps_all_rules(phase: str) -> None:
    result = explore(SHORT, phase)
    assert (result.broken, result.steps) == ("", ())
    assert result.state_count > 100 or phase == "done"  # in which the memory has the rows


def test_a_hand_over_that_is_cut_off_goes_on() -> None:
    result = explore(HANDED_OVER, "cleanup")
    assert (result.broken, result.steps) == ("", ())
    assert result.state_count > 1_000


@pytest.mark.parametrize("budget", [KEYED, SWITCHED])
@pytest.mark.parametrize("phase", PHASES)
def test_in_every_short_life_a_key_is_used_once(phase: str, budget: EventBudget) -> None:
    assert explore(budget, phase).broken == ""


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_mistake_is_found(name: str) -> None:
    rule, phase, budget = BUGS[name]
    result = with_bug(name, phase, budget)
    assert result.broken.startswith(rule), result


def test_the_naive_migration_loses_a_write_that_was_seen() -> None:
    """As docs/kelpie.md tells it."""
    result = with_bug("naive-migration", "dual_read", EventBudget(1, 1, 0, 1, 0), stores_too=False)
    assert result.steps[:4] == ("client writes v1", "main reads", "crash, main has written", "client reads")
    assert result.broken.startswith("reads-never-go-back")

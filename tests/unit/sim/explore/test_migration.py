"""Goal: every short life of a migration keeps its rules, and each planted mistake breaks its own (MIG)."""

import pytest

from umi_core.migration import PHASES
from umi_core.workflows import BUILT_IN
from umi_sim.explore.migration import Budget, Found, explore
from umi_sim.mutants.edits import Edit, changes
from umi_sim.mutants.planting import in_place

FILE = "umi_core/migration.py"
SHORT = Budget(writes=1, reads=1, works=1, crashes=1, failures=1)
TWICE = Budget(writes=2, reads=0, works=2, crashes=0, failures=1)

NAIVE = (  # write new, then old; no outbox, and nobody looks again
    ("if it.phase in WITH_OUTBOX else ()", "if False else ()"),
    (
        '        return end(attrs.evolve(told, doubt=it.doubt - own), "done")',
        '        write = (("row", written(job).id), written(job).value)\n'
        '        return ask(told, Ask("legacy", (write,)), "put_copied")',
    ),
)
PUT_COPIED = (
    '"done") if answer.kind == "ok" else end(soiled(it), "done", degraded="mirror:later")\n\n\n# Put, when'
)
PUT_LEGACY = '    if answer.kind == "failed":\n        return end(it, "failed")\n    return mirrored(it)'
PUT_LEGACY_ONCE = PUT_LEGACY.replace('== "failed"', '!= "ok"')
LEFT_OVER = 'if to == "legacy" and it.phase == "rolling_back" and waiting(answer.rows):'
TAKEN = "expects = fenced(it, (key, row(job.main, key).version))"

BUGS = {  # by name: the rule, the phase that it shows in, what is replaced by what, how long a life it takes
    "old-store-resurrects": (
        "no-resurrection", "dual_read", "found.version == 0 and", "found.value is None and", SHORT,
    ),
    "missed-mirror-not-noted": (
        "switch-when-equal", "dual_write", PUT_COPIED, '"done")\n\n\n# Put, when', TWICE,
    ),
    "outbox-lacks-a-phase": (
        "outbox-complete", "umi_primary", "it.phase in WITH_OUTBOX else", "False else", SHORT,
    ),
    "outbox-row-taken-unseen": ("outbox-complete", "dual_read", TAKEN, "expects = fenced(it)", TWICE),
    "fallback-forgets-the-outbox": (
        "reads-never-go-back", "dual_read", "and not it.pending and not it.doubt", "", SHORT,
    ),
    "rollback-leaves-the-outbox": ("switch-when-equal", "rolling_back", LEFT_OVER, "if False:", SHORT),
    "no-fence": (
        "migration-complete", "dual_read", "return ((PHASE, it.fence), *expects)", "return expects", SHORT,
    ),
    "unknown-taken-as-failed": (
        "reads-never-go-back", "dual_write", PUT_LEGACY, PUT_LEGACY_ONCE, SHORT,
    ),
    "clean-after-a-start": (
        "switch-when-equal", "dual_write", "(it.is_dirty or not it.is_clean)", "it.job is None", SHORT,
    ),
}  # fmt: skip


def planted(
    edits: tuple[tuple[str, str], ...], phase: str, budget: Budget, *, stores_too: bool = True
) -> Found:
    with in_place(changes(tuple(Edit(FILE, old, new) for old, new in edits)), BUILT_IN):
        return explore(budget, phase, stores_too=stores_too)


@pytest.mark.parametrize("phase", PHASES[:-1])
def test_every_short_life_keeps_all_rules(phase: str) -> None:
    came = explore(SHORT, phase)
    assert (came.broken, came.steps) == ("", ())
    assert came.state_count > 1_000


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_mistake_is_found(name: str) -> None:
    rule, phase, old, new, budget = BUGS[name]
    came = planted(((old, new),), phase, budget)
    assert came.broken.startswith(rule), came


def test_the_naive_migration_loses_a_write_that_was_seen() -> None:
    """As docs/kelpie.md tells it."""
    came = planted(NAIVE, "dual_read", Budget(1, 1, 0, 1, 0), stores_too=False)
    assert came.steps[:4] == ("client writes v1", "main reads", "crash, main has written", "client reads")
    assert came.broken.startswith("reads-never-go-back")

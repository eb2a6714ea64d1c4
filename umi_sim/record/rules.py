"""All rules: those of a memory, and what the simulator promises about runs, its judges and itself."""

from typing import Final

from umi_core.invariants.rules import *  # noqa: F403  # so that `rules.NAME` is a rule of either package
from umi_core.invariants.rules import ALIASES as MEMORY_ALIASES
from umi_core.invariants.rules import (
    CHEAP,
    EQUIVALENCE,
    FULL,
    HARNESS,
    INSIDE,
    MEMORY_RULES,
    NONE,
    ORACLE,
    Rule,
    declared_rules,
)

# Life.

ONE_REPLY: Final = Rule("one-reply", "LIVE-1", "one reply to each operation", ORACLE, CHEAP, stops=True)
SECOND_DRAIN_EMPTY: Final = Rule("second-drain-empty", "LIVE-3", "a second drain does nothing", ORACLE, FULL)
RESTART_INVISIBLE: Final = Rule("restart-invisible", "LIVE-4", "restarts are not noticed", EQUIVALENCE, NONE)
PENDING_UNTIL_DONE: Final = Rule(
    "pending-until-done", "I-CURSOR", "what was left to do is done by itself", ORACLE, FULL
)
ROOM_COMES_BACK: Final = Rule(
    "room-comes-back", "LIVE-5", "without room a life says so, and loses nothing", EQUIVALENCE, NONE
)

# Determinism.

SAME_SEED_SAME_TRACE: Final = Rule(
    "same-seed-same-trace", "DET-1", "one seed, one trace, in any process", HARNESS, NONE
)
STEP_STAYS_INSIDE: Final = Rule(
    "step-stays-inside", "DET-5", "a step calls no clock, chance, file or thread", INSIDE, CHEAP
)
STREAM_INDEPENDENCE: Final = Rule("stream-independence", "DET-2", "a new draw moves no other", HARNESS, NONE)

# The simulator itself.

FAULT_COVERAGE: Final = Rule("fault-coverage", "ORA-1", "every fault kind has its effect", HARNESS, NONE)
RECORD_REPLAYS: Final = Rule("record-replays", "ORA-2", "a record replays its run", HARNESS, NONE)
SHRUNK_SAME_FAILURE: Final = Rule(
    "shrunk-same-failure", "ORA-3", "shrinking keeps the failure", HARNESS, NONE
)
ORACLE_SELF_TEST: Final = Rule("oracle-self-test", "ORA-4", "the oracle finds what is planted", HARNESS, NONE)
MARKS_REACHED: Final = Rule("marks-reached", "ORA-5", "a sweep reaches every mark", HARNESS, NONE)

# Migrations, of which `umi_sim/explore/migration.py` tries every short life.

READS_NEVER_GO_BACK: Final = Rule(
    "reads-never-go-back", "MIG-1", "reads never show an older value", ORACLE, CHEAP
)
ONE_TRUTH: Final = Rule("one-truth", "MIG-2", "one store decides in each phase", INSIDE, CHEAP)
NO_RESURRECTION: Final = Rule("no-resurrection", "MIG-3", "deleted rows do not come back", ORACLE, CHEAP)
OUTBOX_COMPLETE: Final = Rule("outbox-complete", "MIG-4", "the outbox holds every difference", INSIDE, CHEAP)
SWITCH_WHEN_EQUAL: Final = Rule("switch-when-equal", "MIG-5", "stores are equal at a switch", INSIDE, CHEAP)
FALLBACK_SEES_SETTLED: Final = Rule(
    "fallback-sees-settled", "MIG-6", "fallback shows settled rows only", INSIDE, CHEAP
)
STORE_FAILURE_CONTAINED: Final = Rule(
    "store-failure-contained", "MIG-7", "one store's failure is its own", INSIDE, CHEAP
)
KEY_ONCE_ACROSS_PHASES: Final = Rule(
    "key-once-across-phases", "MIG-8", "a key works once in all phases", ORACLE, CHEAP
)
NO_GAPS: Final = Rule("no-gaps", "MIG-9", "no store has a gap", INSIDE, CHEAP)
REPORT_HONEST: Final = Rule("report-honest", "MIG-10", "reports tell every difference", INSIDE, CHEAP)
MIGRATION_COMPLETE: Final = Rule("migration-complete", "MIG-11", "healed, a migration can end", ORACLE, FULL)
PHASES_APART: Final = Rule("phases-apart", "MIG-12", "phases do not touch each other", INSIDE, CHEAP)
MIRROR_TOLD: Final = Rule("mirror-told", "MIG-13", "main has a write, or its reply says later", INSIDE, CHEAP)

# Two ways that must agree.

REPLAY_INPUTS: Final = Rule("replay-inputs", "E-REPLAY", "recorded inputs, a fresh memory", EQUIVALENCE, NONE)
SWEEP_OR_READ: Final = Rule("sweep-or-read", "E-EXPIRE", "expired by sweep, or by reading", EQUIVALENCE, NONE)
JUMP_OR_STEPS: Final = Rule("jump-or-steps", "E-JUMP", "one jump, or many steps", EQUIVALENCE, NONE)
FORGED_STATE_REFUSED: Final = Rule(
    "forged-state-refused", "E-FORGE", "a changed saved memory is refused, or sound", EQUIVALENCE, NONE
)
BATCH_OR_SINGLE: Final = Rule("batch-or-single", "E-BATCH", "many at once, one by one", EQUIVALENCE, NONE)
CLEARED_OR_FRESH: Final = Rule("cleared-or-fresh", "E-CLEAR", "cleared, or never told", EQUIVALENCE, NONE)
FAILED_THEN_AGAIN: Final = Rule(
    "failed-then-again", "E-FAIL", "what fails ends as its policy says", EQUIVALENCE, NONE
)
EITHER_ORDER: Final = Rule("either-order", "E-COMMUTE", "independent requests exchanged", EQUIVALENCE, NONE)
SECOND_IMPLEMENTATION: Final = Rule(
    "second-implementation", "E-SECOND", "another memory, the same effects", HARNESS, NONE
)

ALSO: Final = {
    **MEMORY_ALIASES, "I-HASHSEED": "DET-1", "E-RESTORE": "DET-3", "E-CACHE": "RES-3", "E-FILTER": "I-FILTER",
    "E-RENDER": "REN-1",
}  # fmt: skip
"""Other ids under which some pages speak of a rule."""

RULES: Final = (*MEMORY_RULES, *(it for it in declared_rules(globals()) if it not in MEMORY_RULES))
NAMED: Final = {rule.name: rule for rule in RULES} | {rule.id: rule for rule in RULES}
NAMED.update({also: NAMED[rule_id] for also, rule_id in ALSO.items()})


def rule_named(text: str) -> Rule:
    """The rule with this name or id. Raises KeyError."""
    return NAMED[text]


def id_of(name: str) -> str:
    """The id of a rule by its readable name. Raises KeyError."""
    return NAMED[name].id

"""Rules: promises of the memory, of runs and of judges. Each has a name, an id and a kind of judge.

A check gives its rule to `demand`, which raises `Broken` if the rule does not hold. Names and ids are
permanent: those of a removed rule are not used again. docs/spec/invariants.md names the page of each rule.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from umi_core.data import Data

SeenBy = Literal["oracle", "inside", "equivalence", "test", "harness"]
Cost = Literal["cheap", "full", "none"]
ORACLE: Final = "oracle"
INSIDE: Final = "inside"
EQUIVALENCE: Final = "equivalence"
TEST: Final = "test"
HARNESS: Final = "harness"
CHEAP: Final = "cheap"
FULL: Final = "full"
NONE: Final = "none"
PAGES: Final = {  # page of docs/spec by the first letters of an id; all other rules are on `memory`
    "I": "hierarchy", "KEL": "kelpie", "MIG": "kelpie",
    "LIVE": "simulator", "BND": "simulator", "ORA": "simulator", "E": "simulator",
}  # fmt: skip


class Rule(Data):
    """One promise; `statement` is its short form.

    `seen_by`: what checks it: the oracle from outside, an invariant inside the memory or storage, an
    equivalence of two runs, tests alone, or the simulator about itself (harness). `cost`: cheap rules are
    judged at each step or reply, full ones now and then. `stops`: a run that breaks the rule cannot continue,
    so the rule cannot be switched off.
    """

    name: str
    id: str
    statement: str
    seen_by: SeenBy
    cost: Cost
    stops: bool = False

    @property
    def is_checked(self) -> bool:
        """Return True if a run judges this rule."""
        return self.seen_by not in (TEST, HARNESS)

    @property
    def can_be_off(self) -> bool:
        return self.is_checked and not self.stops

    @property
    def page(self) -> str:
        """Return the page of docs/spec that states the rule."""
        return f"docs/spec/{PAGES.get(self.id.partition('-')[0], 'memory')}.md"

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


def declared_rules(namespace: Mapping[str, Any]) -> tuple[Rule, ...]:
    """List every rule of a module, in the order of the file.

    Raises ValueError if two share a name or an id.
    """
    found = tuple(it for it in namespace.values() if isinstance(it, Rule))
    for word in ("name", "id"):
        words = [getattr(it, word) for it in found]
        # Old files and pages still name their rules, so a name with two meanings must fail at import.
        twice = [each for each in words if words.count(each) > 1]
        if twice:
            raise ValueError(f"{twice[0]} is the {word} of two rules in {namespace['__name__']}")
    return found


# Time to live.

TTL_BOUNDARY: Final = Rule("ttl-boundary", "TTL-1", "alive exactly until its deadline", ORACLE, CHEAP)
TTL_CONTRACT: Final = Rule(
    "ttl-contract", "TTL-2", "every operation sets the deadline it promises", ORACLE, CHEAP
)
TIME_NEVER_REVIVES: Final = Rule(
    "time-never-revives", "TTL-3", "what has expired stays expired", ORACLE, CHEAP
)
TTL_RANGE: Final = Rule("ttl-range", "TTL-4", "1 ms to 7 days left to live", INSIDE, CHEAP)

# Capacity.

SPACE_ACCOUNTING: Final = Rule(
    "space-accounting", "CAP-1", "totals are what a recount gives, within limits", INSIDE, CHEAP
)
NO_SPURIOUS_REFUSAL: Final = Rule(
    "no-spurious-refusal", "CAP-2", "what fits beside the living is taken", ORACLE, CHEAP
)
REFUSED_MEANS_UNCHANGED: Final = Rule(
    "refused-means-unchanged", "CAP-3", "what is refused or failed leaves no trace", INSIDE, FULL
)
TABLES_BOUNDED: Final = Rule(
    "tables-bounded", "CAP-4", "no table of the memory outgrows its limit", INSIDE, CHEAP
)

# Replies.

REFERENCE_AGREES: Final = Rule(
    "reference-agrees", "REF-1", "replies are those of a plain model", ORACLE, CHEAP
)

# Snapshots.

SNAPSHOT_ROUNDTRIP: Final = Rule(
    "snapshot-roundtrip", "SER-1", "loading what was saved gives it back", EQUIVALENCE, NONE
)
LOAD_OR_NOTHING: Final = Rule("load-or-nothing", "SER-2", "a load that fails changes nothing", INSIDE, CHEAP)
SNAPSHOT_CANONICAL: Final = Rule(
    "snapshot-canonical", "SER-3", "equal states are saved as equal bytes", EQUIVALENCE, NONE
)
SNAPSHOT_GUARDED: Final = Rule(
    "snapshot-guarded", "SER-4", "any bytes load soundly or are refused", INSIDE, CHEAP
)
REST_TIME: Final = Rule("rest-time", "SER-5", "lives run on while a session rests", ORACLE, CHEAP)

# Sessions.

SESSION_VERSIONS: Final = Rule(
    "session-versions", "SES-1", "one of two saves from one version wins", ORACLE, CHEAP
)
SESSION_OR_ERROR: Final = Rule(
    "session-or-error", "SES-2", "no session, no change, and an error", ORACLE, CHEAP
)
SESSION_KEYS_TRUE: Final = Rule(
    "session-keys-true", "SES-3", "reserved keys tell what happened", ORACLE, CHEAP
)

# Core.

CORE_BIJECTION: Final = Rule(
    "core-bijection", "CORE-1", "in core is what is rendered, once each", INSIDE, CHEAP
)
CORE_LIMITS: Final = Rule("core-limits", "CORE-2", "core, blocks and entries within limits", INSIDE, CHEAP)
CORE_CURRENT: Final = Rule("core-current", "CORE-3", "entries show current facts, whole", INSIDE, FULL)
AUTHORED_TEXT_KEPT: Final = Rule(
    "authored-text-kept", "CORE-4", "authored text changes only when asked", ORACLE, CHEAP
)
SYSTEM_IS_AUTHORED: Final = Rule("system-is-authored", "CORE-5", "no answer reaches system", ORACLE, CHEAP)
ENTRY_AT_HOME: Final = Rule(
    "entry-at-home", "CORE-6", "entries stand in the blocks of their facts", INSIDE, CHEAP
)

# Renderings.

RENDER_PARSE: Final = Rule(
    "render-parse", "REN-1", "renderings are read back as the blocks", EQUIVALENCE, NONE
)
RENDER_ORDER: Final = Rule("render-order", "REN-2", "one order of blocks everywhere", EQUIVALENCE, NONE)
RENDER_STANDARD_XML: Final = Rule(
    "render-standard-xml", "REN-3", "a standard parser reads the XML", TEST, NONE
)

# Accesses, scores, promotion.

ACCESS_TRUTH: Final = Rule("access-truth", "ACC-1", "records count the accesses, all and only", ORACLE, CHEAP)
SCORE_RANGE: Final = Rule("score-range", "SCO-1", "scores and their parts from 0 to a million", TEST, NONE)
SCORE_SHAPE: Final = Rule("score-shape", "SCO-2", "scores are monotone and start without a jump", TEST, NONE)
SCORE_GOLDENS: Final = Rule("score-goldens", "SCO-3", "the written scores hold everywhere", TEST, NONE)
PROMOTION_PURE: Final = Rule("promotion-pure", "PRO-1", "promotion depends on nothing hidden", INSIDE, CHEAP)
PROMOTION_FAIR: Final = Rule("promotion-fair", "PRO-2", "every record has its turn", ORACLE, CHEAP)
DISPLACEMENT: Final = Rule("displacement", "PRO-3", "the stronger by the margin drives out", INSIDE, CHEAP)

# Eviction.

SELF_STAYS: Final = Rule("self-stays", "EVI-1", "self leaves only when named", INSIDE, CHEAP)
FEWEST_VICTIMS: Final = Rule("fewest-victims", "EVI-2", "what leaves is needed and weakest", INSIDE, CHEAP)
ARCHIVE_UNTOUCHED: Final = Rule(
    "archive-untouched", "EVI-3", "leaving core is not being forgotten", INSIDE, CHEAP
)

# Routing.

ROUTE_PER_ENTITY: Final = Rule("route-per-entity", "ROU-1", "one decision for each entity", ORACLE, CHEAP)
ROUTE_KNOWN_ONLY: Final = Rule(
    "route-known-only", "ROU-2", "only what was asked about is promoted, as told", INSIDE, CHEAP
)

# Extraction.

PARSER_TOTAL: Final = Rule(
    "parser-total", "EXT-1", "any string is read, all elements accounted for", TEST, NONE
)
PARSER_KEEPS_THE_GOOD: Final = Rule(
    "parser-keeps-the-good", "EXT-2", "wrapping changes no payload", TEST, NONE
)
TEXT_NEVER_LOST: Final = Rule("text-never-lost", "EXT-3", "no failing model loses a text", ORACLE, CHEAP)
SENTENCE_NEVER_LOST: Final = Rule(
    "sentence-never-lost", "EXT-5", "what an answer passes over is kept, and named", ORACLE, CHEAP
)
PROMPT_INPUTS: Final = Rule("prompt-inputs", "EXT-4", "every input once, whole, in its line", INSIDE, CHEAP)

# Rewriting.

REWRITE_ONLY_IF_NEEDED: Final = Rule(
    "rewrite-only-if-needed", "RES-1", "a clear query is not rewritten", ORACLE, CHEAP
)
REWRITE_GATE: Final = Rule("rewrite-gate", "RES-2", "a rewrite keeps the query's words", ORACLE, CHEAP)
CACHE_INVISIBLE: Final = Rule("cache-invisible", "RES-3", "the cache changes no reply", ORACLE, CHEAP)

# Vectors.

VECTORS_AS_ANSWERED: Final = Rule(
    "vectors-as-answered", "VEC-1", "a vector is the answer for its own text", INSIDE, CHEAP
)

# Relations, and how facts end.

RELATION_ENDS: Final = Rule(
    "relation-ends", "EVO-1", "both ends of a relation exist and differ", INSIDE, CHEAP
)
COMPARED: Final = Rule("compared", "EVO-3", "new facts are compared with known ones", INSIDE, CHEAP)
TIMES_TOLD: Final = Rule("times-told", "EVO-4", "a model is told when each fact was told", ORACLE, CHEAP)
ENDED_AS_NAMED: Final = Rule("ended-as-named", "EVO-2", "a fact ends only by what named it", ORACLE, CHEAP)

# Search.

HITS_ORDERED: Final = Rule(
    "hits-ordered", "RET-1", "hits exist, once, in order, within the limit", ORACLE, CHEAP
)
FILTER_BEFORE_CUT: Final = Rule("filter-before-cut", "RET-2", "filters before limits", ORACLE, CHEAP)
FUSION_RULE: Final = Rule("fusion-rule", "RET-3", "fusion is fair, and needs two lists", ORACLE, CHEAP)
ERROR_IS_NOT_EMPTY: Final = Rule("error-is-not-empty", "RET-4", "a failed read is an error", ORACLE, CHEAP)
DEEP_BY_TRIGGER: Final = Rule("deep-by-trigger", "RET-5", "deep search as told or triggered", ORACLE, CHEAP)

# Storage.

ACKNOWLEDGED_IS_DURABLE: Final = Rule(
    "acknowledged-is-durable", "STO-1", "what was acknowledged survives", ORACLE, CHEAP
)
ALL_OR_NOTHING: Final = Rule("all-or-nothing", "STO-2", "a remember is whole or absent", ORACLE, CHEAP)
DELETED_STAYS_DELETED: Final = Rule(
    "deleted-stays-deleted", "STO-3", "forgotten is forgotten everywhere", ORACLE, CHEAP
)
INDEX_FOLLOWS_ROW: Final = Rule(
    "index-follows-row", "STO-4", "a vector belongs to the current version", INSIDE, FULL
)
NO_LOST_UPDATE: Final = Rule("no-lost-update", "STO-5", "concurrent updates all count", ORACLE, FULL)
NO_DEFAULTS_OVER_DATA: Final = Rule(
    "no-defaults-over-data", "STO-6", "recovery never starts from nothing", ORACLE, CHEAP
)
REPAIRED_AFTER_HEAL: Final = Rule(
    "repaired-after-heal", "STO-7", "what was degraded is repaired", ORACLE, FULL
)
ROWS_AS_BYTES: Final = Rule("rows-as-bytes", "STO-9", "a row outlives its bytes", TEST, NONE)
OLD_LIFE_FENCED: Final = Rule(
    "old-life-fenced", "STO-8", "a life that was replaced writes nothing, and learns it", ORACLE, CHEAP
)
WHOLE_VALUES: Final = Rule(
    "whole-values", "STO-10", "rows, replies and questions hold what they may", INSIDE, CHEAP, stops=True
)

# Keys.

ONCE_ONLY: Final = Rule("once-only", "IDEM-1", "asked twice, done once", ORACLE, CHEAP)
KEYS_DIFFER: Final = Rule("keys-differ", "IDEM-2", "no two operations share a commit key", ORACLE, CHEAP)

# Determinism.

LATE_IS_INERT: Final = Rule("late-is-inert", "DET-4", "a late answer changes nothing", INSIDE, CHEAP)

# Scopes.

SCOPE_APART: Final = Rule("scope-apart", "ISO-1", "scopes neither see nor change each other", ORACLE, CHEAP)
EQUAL_NAMES_APART: Final = Rule("equal-names-apart", "ISO-3", "ids carry the scope", INSIDE, FULL)
SESSION_MEMBERS_ONLY: Final = Rule(
    "session-members-only", "ISO-4", "sessions are for their members", ORACLE, CHEAP
)
HANDOFF_AS_DECLARED: Final = Rule(
    "handoff-as-declared", "ISO-5", "a load brings what its save declared, and nothing else", ORACLE, CHEAP
)
SHARED_AS_GRANTED: Final = Rule(
    "shared-as-granted", "ISO-6", "an archive is read as its owner allows", ORACLE, CHEAP
)

# Workflows.

DEGRADATION_NAMED: Final = Rule(
    "degradation-named", "WF-1", "less than asked is named and counted", ORACLE, CHEAP
)
WORKFLOW_CONTRACT: Final = Rule(
    "workflow-contract", "WF-2", "facts as declared, one effect in flight", INSIDE, CHEAP
)
FAILURE_HAS_A_CAUSE: Final = Rule(
    "failure-has-a-cause", "WF-4", "what fails names what the world did to it", ORACLE, CHEAP
)
ERROR_SAYS_IT: Final = Rule(
    "error-says-it", "ERR-1", "an error is one sentence with its values", ORACLE, CHEAP
)
REVISION_PINNED: Final = Rule("revision-pinned", "WF-3", "an operation ends as it began", INSIDE, CHEAP)

# Determinism.

COPIED_STATE_CONTINUES: Final = Rule(
    "copied-state-continues", "DET-3", "a copy has the same future", EQUIVALENCE, NONE
)

# Rows and references between them.

WRITE_SCOPE: Final = Rule("write-scope", "I-WRITE-SCOPE", "rows written are of the scope", INSIDE, FULL)
VECTORS_WHOLE: Final = Rule("vectors-whole", "I-FINITE", "vectors are whole, right, not zero", INSIDE, CHEAP)
UNIQUE_ROWS: Final = Rule("unique-rows", "I-UNIQUE", "one row for each natural key", INSIDE, FULL)
EVERY_SETTING_COUNTS: Final = Rule(
    "every-setting-counts", "I-CONFIG-LIVE", "every setting changes some trace", TEST, NONE
)
EDGE_SCOPE: Final = Rule(
    "edge-scope", "I-EDGE-SCOPE", "both ends of an edge are there, in its scope", INSIDE, FULL
)
REPEAT_SAME_ROWS: Final = Rule(
    "repeat-same-rows", "I-IDEMPOTENT", "the same input again asks and writes nothing", ORACLE, CHEAP
)
ARCHIVE_PARSER_TOTAL: Final = Rule(
    "archive-parser-total", "I-TOTAL-PARSER", "archive replies are always read", TEST, NONE
)
DERIVED_FOLLOWS_SOURCE: Final = Rule(
    "derived-follows-source", "I-DERIVED", "derived fields follow their source", INSIDE, FULL
)
REFLECTION_OF_SESSION: Final = Rule(
    "reflection-of-session", "I-REFLECT", "what a session leaves is of it, and of all of it", ORACLE, CHEAP
)
TEXT_COVERED: Final = Rule(
    "text-covered", "I-TEXT-COVERAGE", "segments are the text, and all of it is read", ORACLE, CHEAP
)
GET_WHAT_WAS_PUT: Final = Rule("get-what-was-put", "KEL-1", "what was created is read", ORACLE, CHEAP)
ID_NAMES_ONE_ROW: Final = Rule("id-names-one-row", "KEL-2", "an id is never given twice", ORACLE, CHEAP)
LABELS_UNIQUE: Final = Rule("labels-unique", "KEL-3", "one block for a label", ORACLE, CHEAP)
APPENDS_SURVIVE: Final = Rule("appends-survive", "KEL-4", "every append once, in order", ORACLE, CHEAP)
HISTORY_REPLAYS: Final = Rule("history-replays", "KEL-5", "the change log gives the block", ORACLE, FULL)
MESSAGE_LOG_COMPLETE: Final = Rule("message-log-complete", "KEL-7", "the log is what was added", ORACLE, FULL)
PAGER_COMPLETE: Final = Rule("pager-complete", "KEL-8", "pages add up to the whole", ORACLE, FULL)
FACTS_NAME_RECORDS: Final = Rule("facts-name-records", "KEL-9", "facts name living records", INSIDE, FULL)
DELETE_REACHES_ALL: Final = Rule("delete-reaches-all", "KEL-10", "deleted text is nowhere", ORACLE, FULL)
DELETE_ONLY_ITS_OWN: Final = Rule(
    "delete-only-its-own", "KEL-11", "deleting takes only its own", ORACLE, FULL
)
AGENTS_APART: Final = Rule("agents-apart", "KEL-12", "agents do not touch each other", ORACLE, CHEAP)
KEY_ONCE: Final = Rule("key-once", "KEL-13", "a key works once", ORACLE, CHEAP)
WRITE_GUARDS: Final = Rule("write-guards", "KEL-14", "read-only and limits on every path", ORACLE, CHEAP)
CLOSED_IS_CLOSED: Final = Rule("closed-is-closed", "KEL-16", "a closed agent is gone", ORACLE, CHEAP)
WIRE_SAYS_THE_SAME: Final = Rule(
    "wire-says-the-same", "KEL-17", "HTTP changes no request and no reply", TEST, NONE
)
RESTART_KEEPS_DUES: Final = Rule(
    "restart-keeps-dues", "I-RESTART", "a restart keeps replies and the schedule", INSIDE, CHEAP
)
CLUSTER_MEMBERS: Final = Rule("cluster-members", "I-CLUSTER", "clusters hold their members", INSIDE, FULL)
READ_SCOPE: Final = Rule("read-scope", "I-READ-SCOPE", "rows shown are of the scope", ORACLE, CHEAP)
STOP_MEANS_STOP: Final = Rule("stop-means-stop", "I-STOP", "enough is the end of the search", ORACLE, CHEAP)
HITS_WITHIN_LIMITS: Final = Rule(
    "hits-within-limits", "I-TOPK", "hits of a level are unique and limited", ORACLE, CHEAP
)
FILTER_NARROWS: Final = Rule(
    "filter-narrows", "ISO-2", "a filter narrows, None is no wildcard", ORACLE, CHEAP
)
ENOUGH_RULE: Final = Rule("enough-rule", "I-MONO", "more never turns enough into too little", ORACLE, CHEAP)
HOOK_ORDER: Final = Rule(
    "hook-order",
    "I-HOOK-ORDER",
    "interceptors are nested by priority",
    INSIDE,
    CHEAP,
    stops=True,
)
FILTER_EQUALS_WHOLE: Final = Rule(
    "filter-equals-whole", "I-FILTER", "filtered is the whole, filtered", EQUIVALENCE, NONE
)

# Attempts.

BACKOFF: Final = Rule("backoff", "BND-1", "attempts wait, and are counted", INSIDE, CHEAP)

# Progress.

PROGRESS: Final = Rule("progress", "LIVE-2", "healed, everything ends in time", ORACLE, FULL, stops=True)

# End of a run.

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

# Migrations; `umi_sim/explore/migration.py` tries every short run of one.

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
MIGRATION_ARRIVES: Final = Rule(
    "migration-arrives", "MIG-14", "in the end the memory itself has the rows", ORACLE, FULL
)

# Equivalences: two ways to one result.

REPLAY_INPUTS: Final = Rule("replay-inputs", "E-REPLAY", "recorded inputs, a fresh memory", EQUIVALENCE, NONE)
JUMP_OR_STEPS: Final = Rule("jump-or-steps", "E-JUMP", "one jump, or many steps", EQUIVALENCE, NONE)
FORGED_STATE_REFUSED: Final = Rule(
    "forged-state-refused", "E-FORGE", "a changed saved memory is refused, or sound", EQUIVALENCE, NONE
)
BATCH_OR_SINGLE: Final = Rule("batch-or-single", "E-BATCH", "many at once, one by one", EQUIVALENCE, NONE)
FAILED_THEN_AGAIN: Final = Rule(
    "failed-then-again", "E-FAIL", "what fails ends as its policy says", EQUIVALENCE, NONE
)
EITHER_ORDER: Final = Rule("either-order", "E-COMMUTE", "independent requests exchanged", EQUIVALENCE, NONE)
SECOND_IMPLEMENTATION: Final = Rule(
    "second-implementation", "E-SECOND", "another memory, the same effects", HARNESS, NONE
)

ALSO: Final = {
    "I-CACHE-DIFF": "RES-3", "I-PROMPT": "EXT-4", "I-NO-SILENT-FALLBACK": "WF-1", "I-WORKFLOW": "WF-2",
    "KEL-6": "CAP-3", "KEL-15": "REN-1",
    "I-HASHSEED": "DET-1", "E-RESTORE": "DET-3", "E-FILTER": "I-FILTER",
    "E-RENDER": "REN-1",
}  # fmt: skip
"""Other ids that some pages use for a rule."""

RULES: Final = declared_rules(globals())
NAMED: Final = {rule.name: rule for rule in RULES} | {rule.id: rule for rule in RULES}
NAMED.update({also: NAMED[rule_id] for also, rule_id in ALSO.items()})


def rule_named(text: str) -> Rule:
    """Return the rule with this name or id. Raises KeyError."""
    return NAMED[text]


def id_of(name: str) -> str:
    """Return the id of a rule by its readable name. Raises KeyError."""
    return NAMED[name].id

"""Every rule by its readable name and its id, who sees it, what it costs, and the module that checks it.

Names and ids are permanent: a rule that goes leaves both unused. Screens show both, files and fingerprints
carry the id. In order: if one defect breaks several rules at one step, the first of them is reported.
"""

from typing import Final, Literal

import attrs

from umi_core.data import Data

SeenBy = Literal["oracle", "inside", "equivalence", "test", "harness"]
Cost = Literal["cheap", "full", "none"]


@attrs.frozen
class Rule(Data):
    """`owner` is the module that checks it; empty if nothing does yet."""

    name: str
    id: str
    statement: str
    seen_by: SeenBy
    cost: Cost
    owner: str = ""

    @property
    def is_checked(self) -> bool:
        return self.owner != ""

    @property
    def can_be_off(self) -> bool:
        """Whether a run can go on after it is broken."""
        return self.is_checked and self.name not in ("one-reply", "progress", "hook-order")

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


ORACLE: Final = "oracle"
INSIDE: Final = "inside"
EQUIVALENCE: Final = "equivalence"
TEST: Final = "test"
HARNESS: Final = "harness"
CHEAP: Final = "cheap"
FULL: Final = "full"
NONE: Final = "none"

CORE: Final = "umi_core.invariants"
STORE: Final = "umi_sim.judge.invariants"
JUDGE: Final = "umi_sim.judge.oracle"
RUNNER: Final = "umi_sim.runs.runner"
WORLD: Final = "umi_sim.world.world"
REVISIONS: Final = "umi_sim.target.revisions"
TWICE: Final = "umi_sim.judge.equivalences"
NOBODY: Final = ""

RULES: Final[tuple[Rule, ...]] = (
    # memory.md
    Rule("ttl-boundary", "TTL-1", "alive exactly until its deadline", ORACLE, CHEAP, JUDGE),
    Rule("ttl-contract", "TTL-2", "every operation sets the deadline it promises", ORACLE, CHEAP, JUDGE),
    Rule("time-never-revives", "TTL-3", "what has expired stays expired", ORACLE, CHEAP, JUDGE),
    Rule("ttl-range", "TTL-4", "1 ms to 7 days left to live", INSIDE, CHEAP, CORE),
    Rule("space-accounting", "CAP-1", "totals are what a recount gives, within limits", INSIDE, CHEAP, CORE),
    Rule("no-spurious-refusal", "CAP-2", "what fits beside the living is taken", ORACLE, CHEAP, JUDGE),
    Rule("refused-means-unchanged", "CAP-3", "what is refused or failed leaves no trace", INSIDE, FULL, CORE),
    Rule("tables-bounded", "CAP-4", "no table of the memory outgrows its limit", INSIDE, CHEAP, CORE),
    Rule("reference-agrees", "REF-1", "replies are those of a plain model", ORACLE, CHEAP, JUDGE),
    Rule("snapshot-roundtrip", "SER-1", "loading what was saved gives it back", EQUIVALENCE, NONE, CORE),
    Rule("load-or-nothing", "SER-2", "a load that fails changes nothing", INSIDE, CHEAP, CORE),
    Rule("snapshot-canonical", "SER-3", "equal states are saved as equal bytes", EQUIVALENCE, NONE, CORE),
    Rule("snapshot-guarded", "SER-4", "any bytes load soundly or are refused", INSIDE, CHEAP, CORE),
    Rule("rest-time", "SER-5", "lives run on while a session rests", ORACLE, CHEAP, JUDGE),
    Rule("session-versions", "SES-1", "one of two saves from one version wins", ORACLE, CHEAP, JUDGE),
    Rule("session-or-error", "SES-2", "no session, no change, and an error", ORACLE, CHEAP, JUDGE),
    Rule("session-keys-true", "SES-3", "reserved keys tell what happened", ORACLE, CHEAP, JUDGE),
    Rule("core-bijection", "CORE-1", "in core is what is rendered, once each", INSIDE, CHEAP, CORE),
    Rule("core-limits", "CORE-2", "core, blocks and entries within limits", INSIDE, CHEAP, CORE),
    Rule("core-current", "CORE-3", "entries show the committed version", INSIDE, FULL, STORE),
    Rule("authored-text-kept", "CORE-4", "authored text changes only when asked", ORACLE, CHEAP, JUDGE),
    Rule("system-is-authored", "CORE-5", "no answer reaches system", ORACLE, CHEAP, JUDGE),
    Rule("render-parse", "REN-1", "renderings are read back as the blocks", EQUIVALENCE, NONE, CORE),
    Rule("render-order", "REN-2", "one order of blocks everywhere", EQUIVALENCE, NONE, CORE),
    Rule("render-standard-xml", "REN-3", "a standard parser reads the XML", EQUIVALENCE, NONE, STORE),
    Rule("access-truth", "ACC-1", "records count the accesses, all and only", ORACLE, CHEAP, CORE),
    Rule("score-range", "SCO-1", "scores and their parts from 0 to a million", INSIDE, CHEAP, CORE),
    Rule("score-shape", "SCO-2", "scores are monotone and start without a jump", INSIDE, CHEAP, CORE),
    Rule("score-goldens", "SCO-3", "the written scores hold everywhere", TEST, NONE, NOBODY),
    Rule("promotion-pure", "PRO-1", "promotion depends on nothing hidden", INSIDE, CHEAP, CORE),
    Rule("promotion-fair", "PRO-2", "every record has its turn", ORACLE, CHEAP, CORE),
    Rule("displacement", "PRO-3", "the stronger by the margin drives out", INSIDE, CHEAP, CORE),
    Rule("self-stays", "EVI-1", "self leaves only when named", INSIDE, CHEAP, CORE),
    Rule("fewest-victims", "EVI-2", "who leaves is needed and weakest", INSIDE, CHEAP, CORE),
    Rule("archive-untouched", "EVI-3", "leaving core is not being forgotten", INSIDE, CHEAP, STORE),
    Rule("route-per-entity", "ROU-1", "one decision for each entity", ORACLE, CHEAP, CORE),
    Rule("route-known-only", "ROU-2", "promoted is who was asked about, as told", INSIDE, CHEAP, CORE),
    Rule("parser-total", "EXT-1", "any string is read, all elements accounted for", INSIDE, CHEAP, JUDGE),
    Rule("parser-keeps-the-good", "EXT-2", "wrapping changes no payload", INSIDE, CHEAP, JUDGE),
    Rule("text-never-lost", "EXT-3", "no failing model loses a text", ORACLE, CHEAP, JUDGE),
    Rule("prompt-inputs", "EXT-4", "every input once, whole, in its line", INSIDE, CHEAP, CORE),
    Rule("rewrite-only-if-needed", "RES-1", "a clear query is not rewritten", ORACLE, CHEAP, JUDGE),
    Rule("rewrite-gate", "RES-2", "a rewrite keeps the query's words", ORACLE, CHEAP, JUDGE),
    Rule("cache-invisible", "RES-3", "the cache changes no reply", EQUIVALENCE, NONE, JUDGE),
    Rule("relation-ends", "EVO-1", "both ends of a relation exist and differ", INSIDE, CHEAP, STORE),
    Rule("version-chain", "EVO-2", "versions without gaps, one relation each", INSIDE, FULL, STORE),
    Rule("hits-ordered", "RET-1", "hits exist, once, in order, within the limit", ORACLE, CHEAP, JUDGE),
    Rule("filter-before-cut", "RET-2", "filters before limits", ORACLE, CHEAP, JUDGE),
    Rule("fusion-rule", "RET-3", "fusion is fair, and needs two lists", ORACLE, CHEAP, JUDGE),
    Rule("error-is-not-empty", "RET-4", "a failed read is an error", ORACLE, CHEAP, JUDGE),
    Rule("deep-by-trigger", "RET-5", "deep search as told or triggered", ORACLE, CHEAP, JUDGE),
    Rule("acknowledged-is-durable", "STO-1", "what was acknowledged survives", ORACLE, CHEAP, JUDGE),
    Rule("all-or-nothing", "STO-2", "a remember is whole or absent", ORACLE, CHEAP, JUDGE),
    Rule("deleted-stays-deleted", "STO-3", "forgotten is forgotten everywhere", ORACLE, CHEAP, JUDGE),
    Rule("index-follows-row", "STO-4", "a vector belongs to the current version", INSIDE, FULL, STORE),
    Rule("no-lost-update", "STO-5", "concurrent updates all count", ORACLE, FULL, JUDGE),
    Rule("no-defaults-over-data", "STO-6", "recovery never starts from nothing", ORACLE, CHEAP, STORE),
    Rule("repaired-after-heal", "STO-7", "what was degraded is repaired", ORACLE, FULL, RUNNER),
    Rule("once-only", "IDEM-1", "asked twice, done once", ORACLE, CHEAP, JUDGE),
    Rule("keys-differ", "IDEM-2", "no two operations share a commit key", ORACLE, CHEAP, JUDGE),
    Rule("late-is-inert", "DET-4", "a late answer changes nothing", INSIDE, CHEAP, CORE),
    Rule("scope-apart", "ISO-1", "scopes neither see nor change each other", ORACLE, CHEAP, JUDGE),
    Rule("filter-narrows", "ISO-2", "a filter narrows, None is no wildcard", ORACLE, CHEAP, NOBODY),
    Rule("equal-names-apart", "ISO-3", "ids carry the scope", INSIDE, FULL, STORE),
    Rule("session-members-only", "ISO-4", "sessions are for their members", ORACLE, CHEAP, JUDGE),
    Rule("degradation-named", "WF-1", "less than asked is named and counted", ORACLE, CHEAP, JUDGE),
    Rule("workflow-contract", "WF-2", "facts as declared, one effect in flight", INSIDE, CHEAP, CORE),
    Rule("revision-pinned", "WF-3", "an operation ends as it began", INSIDE, CHEAP, CORE),
    Rule("same-seed-same-trace", "DET-1", "one seed, one trace, in any process", HARNESS, NONE, NOBODY),
    Rule("stream-independence", "DET-2", "a new draw moves no other", HARNESS, NONE, NOBODY),
    Rule("copied-state-continues", "DET-3", "a copy has the same future", EQUIVALENCE, NONE, WORLD),
    # hierarchy.md
    Rule("read-scope", "I-READ-SCOPE", "rows shown are of the scope", ORACLE, CHEAP, NOBODY),
    Rule("write-scope", "I-WRITE-SCOPE", "rows written are of the scope", INSIDE, FULL, CORE),
    Rule("edge-scope", "I-EDGE-SCOPE", "both ends of an edge share the scope", INSIDE, FULL, NOBODY),
    Rule("restart-keeps-dues", "I-RESTART", "a restart keeps replies and dues", EQUIVALENCE, NONE, NOBODY),
    Rule("repeat-same-rows", "I-IDEMPOTENT", "the same input gives the same rows", EQUIVALENCE, NONE, NOBODY),
    Rule("archive-old-or-new", "I-ATOMIC", "stopped anywhere: before or after", ORACLE, CHEAP, NOBODY),
    Rule("pending-until-done", "I-CURSOR", "pending work leaves when it is done", INSIDE, FULL, NOBODY),
    Rule("archive-parser-total", "I-TOTAL-PARSER", "archive replies are always read", INSIDE, CHEAP, NOBODY),
    Rule("stop-means-stop", "I-STOP", "enough is the end of the search", ORACLE, CHEAP, NOBODY),
    Rule("hits-within-limits", "I-TOPK", "hits of a level are unique and limited", ORACLE, CHEAP, NOBODY),
    Rule("enough-rule", "I-MONO", "more never turns enough into too little", ORACLE, CHEAP, NOBODY),
    Rule("vectors-whole", "I-FINITE", "vectors are whole, right, not zero", INSIDE, CHEAP, STORE),
    Rule("derived-follows-source", "I-DERIVED", "derived fields follow their source", INSIDE, FULL, NOBODY),
    Rule("unique-rows", "I-UNIQUE", "one row for each natural key", INSIDE, FULL, STORE),
    Rule("values-not-shared", "I-NO-ALIAS", "values handed over are not shared", TEST, NONE, NOBODY),
    Rule("text-covered", "I-TEXT-COVERAGE", "segments cover the text", INSIDE, CHEAP, NOBODY),
    Rule("every-setting-counts", "I-CONFIG-LIVE", "every setting changes some trace", TEST, NONE, NOBODY),
    Rule("hook-order", "I-HOOK-ORDER", "interceptors run in onion order", INSIDE, CHEAP, REVISIONS),
    Rule("cluster-members", "I-CLUSTER", "clusters hold their members", INSIDE, FULL, NOBODY),
    Rule("filter-equals-whole", "I-FILTER", "filtered is the whole, filtered", EQUIVALENCE, NONE, TWICE),
    # kelpie.md
    Rule("get-what-was-put", "KEL-1", "what was created is read", ORACLE, CHEAP, NOBODY),
    Rule("id-names-one-row", "KEL-2", "an id is never given twice", ORACLE, CHEAP, NOBODY),
    Rule("labels-unique", "KEL-3", "one block for a label", ORACLE, CHEAP, NOBODY),
    Rule("appends-survive", "KEL-4", "every append once, in order", ORACLE, CHEAP, NOBODY),
    Rule("history-replays", "KEL-5", "the change log gives the block", ORACLE, FULL, NOBODY),
    Rule("message-log-complete", "KEL-7", "the log is what was added", ORACLE, FULL, NOBODY),
    Rule("pager-complete", "KEL-8", "pages add up to the whole", ORACLE, FULL, NOBODY),
    Rule("facts-name-records", "KEL-9", "facts name living records", INSIDE, FULL, NOBODY),
    Rule("delete-reaches-all", "KEL-10", "deleted text is nowhere", ORACLE, FULL, NOBODY),
    Rule("delete-only-its-own", "KEL-11", "deleting takes only its own", ORACLE, FULL, NOBODY),
    Rule("agents-apart", "KEL-12", "agents do not touch each other", ORACLE, CHEAP, NOBODY),
    Rule("key-once", "KEL-13", "a key works once", ORACLE, CHEAP, NOBODY),
    Rule("write-guards", "KEL-14", "read-only and limits on every path", ORACLE, CHEAP, NOBODY),
    Rule("closed-is-closed", "KEL-16", "a closed agent is gone", ORACLE, CHEAP, NOBODY),
    Rule("reads-never-go-back", "MIG-1", "reads never show an older value", ORACLE, CHEAP, NOBODY),
    Rule("one-truth", "MIG-2", "one store decides in each phase", ORACLE, CHEAP, NOBODY),
    Rule("no-resurrection", "MIG-3", "deleted rows do not come back", ORACLE, CHEAP, NOBODY),
    Rule("outbox-complete", "MIG-4", "the outbox holds every difference", INSIDE, FULL, NOBODY),
    Rule("switch-when-equal", "MIG-5", "stores are equal at a switch", INSIDE, FULL, NOBODY),
    Rule("fallback-sees-settled", "MIG-6", "fallback shows settled rows only", ORACLE, CHEAP, NOBODY),
    Rule("store-failure-contained", "MIG-7", "one store's failure is its own", ORACLE, CHEAP, NOBODY),
    Rule("key-once-across-phases", "MIG-8", "a key works once in all phases", ORACLE, CHEAP, NOBODY),
    Rule("no-gaps", "MIG-9", "no store has a gap", INSIDE, FULL, NOBODY),
    Rule("report-honest", "MIG-10", "reports tell every difference", ORACLE, FULL, NOBODY),
    Rule("migration-complete", "MIG-11", "healed, a migration can end", ORACLE, FULL, NOBODY),
    Rule("phases-apart", "MIG-12", "phases do not touch each other", INSIDE, FULL, NOBODY),
    # simulator.md
    Rule("one-reply", "LIVE-1", "one reply to each operation", ORACLE, CHEAP, WORLD),
    Rule("progress", "LIVE-2", "healed, everything ends in time", ORACLE, FULL, WORLD),
    Rule("second-drain-empty", "LIVE-3", "a second drain does nothing", ORACLE, FULL, RUNNER),
    Rule("restart-invisible", "LIVE-4", "restarts are not noticed", EQUIVALENCE, NONE, RUNNER),
    Rule("backoff", "BND-1", "attempts wait, and are counted", INSIDE, CHEAP, CORE),
    Rule("fault-coverage", "ORA-1", "every fault kind has its effect", HARNESS, NONE, NOBODY),
    Rule("record-replays", "ORA-2", "a record replays its run", HARNESS, NONE, NOBODY),
    Rule("shrunk-same-failure", "ORA-3", "shrinking keeps the failure", HARNESS, NONE, NOBODY),
    Rule("oracle-self-test", "ORA-4", "the oracle finds what is planted", HARNESS, NONE, NOBODY),
    Rule("marks-reached", "ORA-5", "a sweep reaches every mark", HARNESS, NONE, NOBODY),
    Rule("replay-inputs", "E-REPLAY", "recorded inputs, a fresh memory", EQUIVALENCE, NONE, TWICE),
    Rule("batch-or-single", "E-BATCH", "many at once, one by one", EQUIVALENCE, NONE, NOBODY),
    Rule("promote-or-write", "E-PROMOTE", "promoted, or written directly", EQUIVALENCE, NONE, NOBODY),
    Rule("sweep-or-read", "E-EXPIRE", "expired by sweep, or by reading", EQUIVALENCE, NONE, TWICE),
    Rule("jump-or-steps", "E-JUMP", "one jump, or many steps", EQUIVALENCE, NONE, TWICE),
    Rule("either-order", "E-COMMUTE", "independent requests exchanged", EQUIVALENCE, NONE, TWICE),
    Rule("second-implementation", "E-SECOND", "another memory, the same replies", EQUIVALENCE, NONE, NOBODY),
)

ALIASES: Final = {
    "I-CACHE-DIFF": "RES-3", "I-PROMPT": "EXT-4", "I-HASHSEED": "DET-1", "I-NO-SILENT-FALLBACK": "WF-1",
    "I-WORKFLOW": "WF-2", "E-RESTORE": "DET-3", "E-CACHE": "RES-3", "E-FILTER": "I-FILTER",
    "E-RENDER": "REN-1", "KEL-6": "CAP-3", "KEL-15": "REN-1",
}  # fmt: skip
"""Other ids under which some pages speak of a rule."""

NAMED: Final = {rule.name: rule for rule in RULES} | {rule.id: rule for rule in RULES}
NAMED.update({also: NAMED[rule_id] for also, rule_id in ALIASES.items()})


def rule_named(text: str) -> Rule:
    """The rule with this name or id. Raises KeyError."""
    return NAMED[text]


def id_of(name: str) -> str:
    """The id of a rule by its readable name. Raises KeyError."""
    return NAMED[name].id

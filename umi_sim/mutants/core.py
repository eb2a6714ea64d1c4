"""Mutants of the core tier: blocks, renderings, accesses, promotion, eviction."""

from collections.abc import Iterable
from typing import Any, Final

import attrs

from umi_core import core_reads
from umi_core.engine.facts import Facts, View
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Taken
from umi_core.limits import DAY_MS, PPM, SCAN_COUNT_MAX
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Commit, Expect, Write
from umi_core.policies import promotion
from umi_core.policies.eviction import Shortage, Standing
from umi_core.rows import AccessRecord, Address, Row
from umi_core.tiers import archive, core, rendering
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import Admission, CoreTier
from umi_core.values import Entry
from umi_core.workflows import blocks, commits, forget, placing, rebalance, recover
from umi_core.workflows.commits import PLAN, Plan, put
from umi_sim.mutants import Mutant, Original, Patch, row_of

WRITERS: Final = ("remember", "forget", "write_block", "rebalance")  # who may change core

# Core.


def neighbour_replaced(original: Original) -> Original:
    def put_entry(tier: CoreTier, kind: str, entry: Entry) -> object:
        block = tier.find(kind)
        others = tuple(it.entity_id for it in block.entries) if block else ()
        return original(core.without(tier, others) if others else tier, kind, entry)

    return put_entry


def importance_reset(original: Original) -> Original:
    def set_block(tier: Any, kind: Any, text: Any, label: Any, importance_ppm: Any, *rest: Any) -> object:
        return original(tier, kind, text, label, 500_000 if importance_ppm is None else importance_ppm, *rest)

    return set_block


def core_unchanged(original: Original) -> Original:
    return lambda tier, *rest: tier


def moved_early(registry: Registry) -> Registry:
    for workflow in WRITERS:
        registry = registry.replace(workflow, "commit", moving_core(registry, workflow))
    return registry


def moving_core(registry: Registry, workflow: str) -> Any:
    row = row_of(registry, workflow, "commit")

    def ask(facts: Facts, view: View) -> Commit | None:
        assert row.ask is not None
        commit, plan = row.ask(facts, view), facts[PLAN]
        assert isinstance(commit, Commit | None)
        if plan.core is not None:
            view.tiers.core = plan.core
        return commit

    return attrs.evolve(row, ask=ask)


def entries_not_loaded(original: Original) -> Original:
    def core_of(*args: Any) -> CoreTier:
        tier: CoreTier = original(*args)
        return core.without(tier, commits.entity_ids(tier))

    return core_of


def nothing_leaves(original: Original) -> Original:
    return lambda tier, scores, config: (tier, ())


CORE: Final = (
    Mutant("update-resets-importance", "core", "a new text sets the importance of its block back",
           ("authored-text-kept",), "rendering", (Patch(blocks, "set_block", importance_reset),)),
    Mutant("promotion-replaces-neighbour", "core", "a promoted entity takes the place of the one before it",
           ("core-bijection", "fewest-victims", "route-known-only", "self-stays"), "core",
           (Patch(core, "put_entry", neighbour_replaced),)),
    Mutant("core-shows-old-version", "core", "an entity in core keeps showing its old text",
           ("core-current",), "core", (Patch(placing, "refresh", core_unchanged),)),
    Mutant("core-shows-forgotten", "core", "a forgotten entity stays in its block",
           ("deleted-stays-deleted",), "core", (Patch(forget, "forget", core_unchanged),)),
    Mutant("core-moves-before-commit", "core", "core changes when a commit is asked for",
           ("refused-means-unchanged", "core-current"), "core", tables=moved_early),
    Mutant("restart-forgets-core", "core", "after a restart the promoted entries are gone",
           ("acknowledged-is-durable", "core-current", "restart-invisible"), "core",
           (Patch(recover, "core_of", entries_not_loaded),)),
    Mutant("lowered-limit-ignored", "core", "after a restart core keeps what its new limit has no room for",
           ("core-limits",), "all_faults", (Patch(recover, "fit", nothing_leaves),),
           kind="agent_lower_limit"),
)  # fmt: skip


# Renderings.


def nothing_escaped(original: Original) -> Original:
    return lambda text, *rest: text


def by_importance(original: Original) -> Original:
    def render_markdown(tier: CoreTier) -> object:
        ranked = sorted(tier.blocks, key=lambda block: -block.importance_ppm)
        return original(attrs.evolve(tier, blocks=tuple(ranked)))

    return render_markdown


RENDER: Final = (
    Mutant("xml-unescaped", "render", "a content can close its own block and open another",
           ("render-parse", "render-standard-xml"), "rendering",
           (Patch(rendering, "escape_text", nothing_escaped),)),
    Mutant("markdown-heading-forged", "render", "a line like a heading is read back as another block",
           ("render-parse",), "rendering", (Patch(rendering, "escape_line", nothing_escaped),)),
    Mutant("markdown-in-other-order", "render", "Markdown lists the blocks by importance, XML by kind",
           ("render-order",), "core", (Patch(core_reads, "render_markdown", by_importance),)),
)  # fmt: skip


# Access and scores.


def without_ceiling(original: Original) -> Original:
    return lambda count, first_ms, now_ms: count * 100_000 * DAY_MS // max(now_ms - first_ms, DAY_MS)


def best_at_once(original: Original) -> Original:
    return lambda count, first_ms, now_ms: PPM if now_ms <= first_ms else original(count, first_ms, now_ms)


def traceless(original: Original) -> Original:
    return lambda self, *rest: self


def scan_touches(registry: Registry) -> Registry:
    row = row_of(registry, "rebalance", "scan")

    def take(facts: Facts, answer: Answer | None, view: View) -> Taken:
        page, _ = view.tiers.access.after(view.tiers.access.cursor, SCAN_COUNT_MAX)
        taken = row.take(facts, answer, view)
        looked = {it.entity_id: attrs.evolve(it, count=it.count + 1, last_ms=view.now_ms) for it in page}
        access = view.tiers.access
        view.tiers.access = attrs.evolve(access, records={**access.records, **looked})
        return taken

    return registry.replace("rebalance", "scan", attrs.evolve(row, take=take))


ACCESS: Final = (
    Mutant("frequency-unbounded", "access", "heavy use gives a part of the score above one million",
           ("score-range",), "core", (Patch(promotion, "frequency_ppm", without_ceiling),)),
    Mutant("score-drops-after-a-millisecond", "access",
           "a score falls one millisecond after the first access",
           ("score-shape",), "core", (Patch(promotion, "frequency_ppm", best_at_once),)),
    Mutant("recall-leaves-no-trace", "access", "a recall records no access for its hits",
           ("access-truth",), "calm", (Patch(AccessTable, "recalled", traceless),)),
    Mutant("scan-counts-as-access", "access", "to be looked at as a candidate counts as an access",
           ("access-truth", "promotion-pure"), "core", tables=scan_touches),
)  # fmt: skip


# Promotion and eviction.


def first_page(original: Original) -> Original:
    return lambda self, cursor, count: (original(self, "", count)[0], "")


def uncounted(original: Original) -> Original:
    return lambda *args: attrs.evolve(original(*args), entry_count=0)


def of_middling_importance(original: Original) -> Original:
    def accessed(*args: Any) -> AccessRecord:
        record: AccessRecord = original(*args)
        return attrs.evolve(record, importance_ppm=500_000)

    return accessed


def first_come(original: Original) -> Original:
    def admit(tier: CoreTier, *args: Any, **options: Any) -> Admission:
        admission: Admission = original(tier, *args, **options)
        return Admission(tier, "refused_full") if admission.evicted_ids else admission

    return admit


def read_once_for_all(original: Original) -> Original:
    """A candidate that is refused at first is promoted later, as the first scan has read it."""
    kept: dict[Address, Row] = {}

    def promotions(rows: tuple[Row, ...], *rest: Any) -> object:
        return original(tuple(kept.setdefault(row.address, row) for row in rows), *rest)

    return promotions


def self_is_a_victim(original: Original) -> Original:
    def victims(entries: Iterable[Standing], shortage: Shortage) -> object:
        moved = (attrs.evolve(it, block="human") if it.block == "persona" else it for it in entries)
        return original(tuple(moved), shortage)

    return victims


def ten_at_once(original: Original) -> Original:
    def victims(entries: Iterable[Standing], shortage: Shortage) -> object:
        there = tuple(entries)
        needed = original(there, shortage)
        if not needed:
            return needed
        weakest = sorted((it for it in there if it.block != "persona"), key=lambda it: it.score_ppm)
        return tuple(it.entity_id for it in weakest[:10])

    return victims


def deleted_too(original: Original) -> Original:
    def batch(plan: Plan, scope: Any) -> tuple[tuple[Write, ...], tuple[Expect, ...]]:
        writes, expects = original(plan, scope)
        evicted = getattr(plan.value, "evicted", ())
        return (*writes, *(put(scope, "entity", key, None) for key in evicted)), expects

    return batch


def only_newer(original: Original) -> Original:
    def saved(self: AccessTable, writes: Iterable[Write], versions: Iterable[tuple[Address, int]]) -> object:
        known = dict(self.versions)
        newer = [(where, it) for where, it in versions if it > known.get(where.id, 0)]
        return original(self, writes, newer)

    return saved


PROMOTION: Final = (
    Mutant("absent-record-deleted-for-ever", "promotion", "a scan is due again for a record that is gone",
           ("repaired-after-heal",), "smoke", (Patch(AccessTable, "saved", only_newer),)),
    Mutant("scan-first-page-only", "promotion", "entities beyond the first page never reach core",
           ("promotion-fair",), "guests", (Patch(AccessTable, "after", first_page),)),
    Mutant("core-count-limit-ignored", "promotion", "more entries enter core than its limit allows",
           ("core-limits",), "core", (Patch(core, "shortage", uncounted),)),
    Mutant("importance-dropped", "promotion", "the importance given with a remember never reaches the score",
           ("promotion-fair",), "core", (Patch(archive, "accessed", of_middling_importance),)),
    Mutant("full-tier-first-come", "promotion", "when core is full, a stronger candidate is turned away",
           ("fewest-victims",), "core",
           (Patch(placing, "admit", first_come), Patch(rebalance, "admit", first_come))),
    Mutant("promotes-the-old-read", "promotion", "a version stored since the scan is not shown in core",
           ("core-current",), "core", (Patch(rebalance, "promotions", read_once_for_all),)),
    Mutant("evicts-self", "eviction", "when room is needed, an entry of type self leaves core",
           ("self-stays", "fewest-victims"), "core", (Patch(core, "victims", self_is_a_victim),)),
    Mutant("evicts-a-whole-batch", "eviction", "ten entries leave core, however little room is asked for",
           ("fewest-victims", "core-bijection"), "core", (Patch(core, "victims", ten_at_once),)),
    Mutant("evicts-from-archive", "eviction", "what leaves core is deleted from the archive too",
           ("archive-untouched",), "core", (Patch(commits, "batch", deleted_too),)),
)  # fmt: skip

ROWS: Final = (*CORE, *RENDER, *ACCESS, *PROMOTION)

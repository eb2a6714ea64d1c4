"""Placing: what a batch of facts changes in core.

Law 1. A fact that ends another takes its place, in its own block, if there is room without evicting an entry.
For example "Ann lives in Berlin" is shown where "Ann lives in Paris" was, so no prompt lacks where she lives.
Law 2. Then facts that a decision promotes ask for a place, those about the agent itself first, then the
higher score. Law 3. A reply says what is true at the end: a fact that came in and was displaced by another of
the same request was refused.
"""

from collections.abc import Mapping

from msgspec import structs

from umi_core.data import Data
from umi_core.engine.facts import View
from umi_core.policies.promotion import score_ppm
from umi_core.rows import Entity
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier, admit, entry_of, without
from umi_core.values import RoutingDecision
from umi_core.workflows.commits import entity_ids, scores_of


class Placement(Data):
    """Core afterwards, the decisions with their outcomes, and the ids of entries that came in and left."""

    core: CoreTier
    decisions: tuple[RoutingDecision, ...]
    promoted: tuple[str, ...]
    evicted: tuple[str, ...]


def place(
    entities: tuple[Entity, ...],
    decisions: tuple[RoutingDecision, ...],
    before: CoreTier,
    succeeded: CoreTier,
    access: AccessTable,
    view: View,
) -> Placement:
    """Return core after these entities, with one decision for each, in their order.

    `before` is core as it was read, `succeeded` the same with successors in their places; `access` counts
    the entities already.
    """
    core, outcomes = succeeded, dict[str, str]()
    wanting = [
        (it, entity)
        for it, entity in zip(decisions, entities, strict=True)
        if it.promote and core.home_of(entity.id) is None
    ]
    scores = {entity.id: score_ppm(access.records[entity.id], view.now_ms) for _, entity in wanting}
    wanting.sort(key=lambda pair: (pair[1].type != "self", -scores[pair[1].id], pair[1].id))
    evicted: dict[str, None] = {}
    for decision, entity in wanting:
        standing = scores_of(core, access, view.now_ms)
        entry = entry_of(entity, view.now_ms)
        admission = admit(core, entry, decision.block, scores[entity.id], standing, view.config)
        core, outcomes[entity.id] = admission.core, admission.outcome
        evicted |= dict.fromkeys(admission.evicted_ids)
    # Promoted at first, and displaced by a later one of this very request: core at the end decides.
    outcomes = {key: "refused_full" if it == "promoted" else it for key, it in outcomes.items()}
    entered = (key for key in entity_ids(core) if before.home_of(key) is None)
    outcomes |= dict.fromkeys(entered, "promoted")
    decided = tuple(structs.replace(it, outcome=outcomes.get(it.entity_id, "not_asked")) for it in decisions)
    promoted = tuple(it.entity_id for it in decided if it.outcome == "promoted")
    left_core = tuple(key for key in evicted if before.home_of(key) and not core.home_of(key))
    return Placement(core, decided, promoted, left_core)


def show_successors(
    core: CoreTier, successors: Mapping[str, Entity | None], access: AccessTable, view: View
) -> CoreTier:
    """Return core without the facts that end; `successors`: by their ids the current facts that end them."""
    shown = [(core.home_of(key), entity) for key, entity in successors.items()]
    core = without(core, tuple(successors))
    for home, entity in shown:
        if home is not None and entity is not None and core.home_of(entity.id) is None:
            entry = entry_of(entity, home[1].promoted_ms)
            scores = scores_of(core, access, view.now_ms)
            admission = admit(core, entry, entity.block, 0, scores, view.config)
            # For a fact about the agent itself any entry would leave, and no reply would name it.
            core = core if admission.evicted_ids else admission.core
    return core

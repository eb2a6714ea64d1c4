"""Placing: what a remember changes in core.

Law 1. Refreshes come first, in entity order: an entry shows the version that is current after the commit, and
no entry leaves for that. Law 2. Then admissions, those about the agent itself first, then the higher score.
Law 3. The reply tells what is true at the end: an entity that was promoted and then displaced in the same
remember counts as refused.
"""

from collections.abc import Iterable

import attrs

from umi_core.config import Config
from umi_core.data import Data
from umi_core.engine.facts import View
from umi_core.policies.promotion import score_ppm
from umi_core.rows import Entity
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier, admit, entry_of, forget, move, refresh
from umi_core.values import RoutingDecision
from umi_core.workflows.commits import scores_of


@attrs.frozen
class Placement(Data):
    """Core afterwards, the decisions with their outcomes, who came in, and who had to leave."""

    core: CoreTier
    decisions: tuple[RoutingDecision, ...]
    promoted: tuple[str, ...]
    evicted: tuple[str, ...]


def place(
    entities: tuple[Entity, ...],
    decisions: tuple[RoutingDecision, ...],
    before: CoreTier,
    access: AccessTable,
    view: View,
) -> Placement:
    """Core after these entities, with one decision for each, in their order; `access` counts them already."""
    core, outcomes = settled_in(entities, decisions, before, view)
    wanting = [(it, entity) for it, entity in zip(decisions, entities, strict=True) if it.promote]
    wanting = [(it, entity) for it, entity in wanting if it.entity_id not in outcomes]
    scores = {entity.id: score_ppm(access.records[entity.id], view.now_ms) for _, entity in wanting}
    wanting.sort(key=lambda pair: (pair[1].type != "self", -scores[pair[1].id], pair[1].id))
    evicted: dict[str, None] = {}
    for decision, entity in wanting:
        standing = scores_of(core, access, view.now_ms)
        entry = entry_of(entity, view.now_ms)
        admission = admit(core, entry, decision.block, scores[entity.id], standing, view.config)
        core, outcomes[entity.id] = admission.core, admission.outcome
        evicted |= dict.fromkeys(admission.evicted_ids)
    told = tuple(attrs.evolve(it, outcome=true_outcome(it.entity_id, outcomes, core)) for it in decisions)
    promoted = tuple(it.entity_id for it in told if it.outcome == "promoted")
    gone = tuple(key for key in evicted if before.home_of(key) and not core.home_of(key))
    return Placement(core, told, promoted, gone)


def shown_again(entities: Iterable[Entity], core: CoreTier, config: Config) -> CoreTier:
    """Core with these entities as they are now, where they are in it: nobody enters, moves or leaves."""
    for entity in entities:
        core = refresh(core, entity, config)
    return core


def shown_instead(core: CoreTier, entity: Entity, old_id: str, access: AccessTable, view: View) -> CoreTier:
    """Return core with this fact in the place of an old one, if there is room without evicting any entry."""
    home, after = core.home_of(old_id), forget(core, old_id)
    if home is None or after.home_of(entity.id) is not None:
        return after
    block, entry = home
    scores = scores_of(after, access, view.now_ms)
    return admit(after, entry_of(entity, entry.promoted_ms), block.kind, 0, scores, view.config).core


def settled_in(
    entities: tuple[Entity, ...], decisions: tuple[RoutingDecision, ...], core: CoreTier, view: View
) -> tuple[CoreTier, dict[str, str]]:
    """Entries of these entities as they are now, in the blocks they belong to if there is room."""
    outcomes: dict[str, str] = {}
    for entity, decision in zip(entities, decisions, strict=True):
        core = refresh(core, entity, view.config)
        home = core.home_of(entity.id)
        if home is not None and home[0].kind != decision.block:
            moved = move(core, entity.id, decision.block)
            core, outcomes[entity.id] = moved.core, moved.outcome
    return core, outcomes


def true_outcome(entity_id: str, outcomes: dict[str, str], core: CoreTier) -> str:
    outcome = outcomes.get(entity_id, "not_asked")
    is_displaced = outcome in ("promoted", "moved", "already_in_core") and core.home_of(entity_id) is None
    return "refused_full" if is_displaced else outcome

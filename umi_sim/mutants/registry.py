"""The registry of mutants. A row says what goes wrong, as a user would see it, and which rules may see it."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

from umi_core import engine
from umi_core.effects import Asked, Commit
from umi_core.inputs import Answer
from umi_core.language import routing as route_replies
from umi_core.policies.eviction import Shortage, Standing
from umi_core.state import Facts, Operation, View
from umi_core.tiers import core, rendering, session, working
from umi_core.tiers.working import WorkingTier
from umi_core.values import Entry
from umi_core.workflow import Learned, Registry, Step, retry
from umi_core.workflows import commits, recover
from umi_core.workflows.commits import Plan
from umi_sim.mutants import Mutant, language

Original = Callable[..., Any]


# Working tier and snapshots.


def expires_one_later(original: Original) -> Original:
    return lambda tier, now_ms: original(tier, now_ms - 1) if tier.due_ms != now_ms else None


def overwrite_charges_again(original: Original) -> Original:
    def put(tier: WorkingTier, key: str, value: bytes, *rest: Any) -> object:
        old = tier.entries.get(key)
        done = original(tier, key, value, *rest)
        if old is not None and tier.entries[key][0] != old[0]:
            tier.used_bytes += len(old[0])
        return done

    return put


def last_entry_dropped(original: Original) -> Original:
    def encode(tier: WorkingTier, info: Any, now_ms: int) -> object:
        kept = dict(sorted(tier.entries.items())[:-1]) if len(tier.entries) > 1 else tier.entries
        used_bytes = sum(len(key.encode()) + len(value) for key, (value, _) in kept.items())
        return original(WorkingTier(dict(kept), used_bytes), info, now_ms)

    return encode


def never_rests(original: Original) -> Original:
    return lambda rows, info, rest_ms, now_ms, config: original(rows, info, 0, now_ms, config)


# Core.


def neighbour_replaced(original: Original) -> Original:
    def put_entry(tier: core.CoreTier, kind: str, entry: Entry) -> object:
        block = tier.find(kind)
        others = tuple(it.entity_id for it in block.entries) if block else ()
        return original(core.without(tier, others) if others else tier, kind, entry)

    return put_entry


def nothing_leaves(original: Original) -> Original:
    return lambda core, scores, config: (core, ())


def self_is_a_victim(original: Original) -> Original:
    def victims(entries: Iterable[Standing], shortage: Shortage) -> object:
        moved = (attrs.evolve(it, block="human") if it.block == "persona" else it for it in entries)
        return original(tuple(moved), shortage)

    return victims


def nothing_escaped(original: Original) -> Original:
    return lambda text, *rest: text


def system_obeyed(original: Original) -> Original:
    def refusal(entity: Any, row: Any, config: Any) -> object:
        return None if read_any_block(row) == "system" else original(entity, row, config)

    return refusal


def read_any_block(row: Any) -> str:
    block = row.get("block")
    return block.strip().casefold() if isinstance(block, str) else ""


# Commits.


def key_of_attempt(original: Original) -> Original:
    def filled_in(self: engine.Engine, operation: Operation, row: Step, asked: Asked) -> object:
        request = original(self, operation, row, asked)
        if isinstance(request, Commit) and request.key and operation.attempt > 1:
            return attrs.evolve(request, key=f"{request.key}.{operation.attempt}")
        return request

    return filled_in


def first_half(facts: Facts, view: View) -> Commit | None:
    """The rows of the first entity alone."""
    plan = facts["plan"]
    assert isinstance(plan, Plan)
    writes = tuple(write for write in plan.writes if write.address.id.startswith(first_id(plan)))
    return Commit(writes, (), commits.key_of(facts, view) + ".1") if writes else None


def first_id(plan: Plan) -> str:
    return plan.accessed[0].id if plan.accessed else " "


def second_half(facts: Facts, view: View) -> Commit | None:
    plan = facts["plan"]
    assert isinstance(plan, Plan)
    whole = commits.ask_commit(facts, view)
    if whole is None:
        return None
    mine = first_id(plan)
    return attrs.evolve(
        whole,
        writes=tuple(write for write in whole.writes if not write.address.id.startswith(mine)),
        expects=tuple(expect for expect in whole.expects if not expect.address.id.startswith(mine)),
    )


def go_on(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned()


def split_commit(registry: Registry) -> Registry:
    commit = Step(
        "commit", requires=("plan",), produces=("stored", "lost"), effect=Commit, ask=second_half,
        take=commits.take_commit, on_failure=retry(3), otherwise={"stored": None, "lost": None},
    )  # fmt: skip
    first = Step(
        "commit_first", requires=("plan",), effect=Commit, ask=first_half,
        take=go_on, on_failure=retry(3), otherwise={},
    )  # fmt: skip
    return registry.replace("remember", "commit", commit).insert_before("remember", "commit", first)


ROWS: Final = (
    Mutant("get-alive-at-expiry", "working",
           "in the millisecond now == expires_ms a get still returns the entry",
           ("ttl-boundary", "reference-agrees", "no-spurious-refusal"), "working", owner=working,
           attribute="drop_expired", wrong=expires_one_later),
    Mutant("overwrite-leaks-space", "working", "an overwritten value keeps taking its room",
           ("space-accounting", "reference-agrees", "no-spurious-refusal"), "working", owner=working,
           attribute="put", wrong=overwrite_charges_again),
    Mutant("snapshot-drops-an-entry", "snapshot", "a saved session lacks the last of its entries",
           ("snapshot-roundtrip", "ttl-contract", "reference-agrees"), "sessions", owner=session,
           attribute="encode", wrong=last_entry_dropped),
    Mutant("rest-costs-nothing", "snapshot", "time at rest is not deducted from what is left to live",
           ("rest-time", "ttl-contract", "reference-agrees"), "sessions", owner=session, attribute="fitted",
           wrong=never_rests),
    Mutant("promotion-replaces-neighbour", "core", "a promoted entity takes the place of the one before it",
           ("core-bijection", "fewest-victims", "route-known-only", "self-stays"), "core", owner=core,
           attribute="put_entry", wrong=neighbour_replaced),
    Mutant("evicts-self", "eviction", "when room is needed, an entry of type self leaves core",
           ("self-stays", "fewest-victims"), "core", owner=core, attribute="victims", wrong=self_is_a_victim),
    Mutant("lowered-limit-ignored", "core", "after a restart core keeps what its new limit has no room for",
           ("core-limits",), "doubt", owner=recover, attribute="fit", wrong=nothing_leaves),
    Mutant("route-to-system-obeyed", "routing", "a route that names the system block is followed",
           ("system-is-authored", "route-per-entity"), "answers", owner=route_replies,
           attribute="refusal", wrong=system_obeyed),
    Mutant("xml-unescaped", "render", "a content can close its own block and open another",
           ("render-parse", "render-standard-xml"), "rendering", owner=rendering, attribute="escape_text",
           wrong=nothing_escaped),
    Mutant("one-commit-per-entity", "storage", "a remember of several entities commits them one by one",
           ("all-or-nothing", "acknowledged-is-durable", "reference-agrees", "once-only"), "crash_storm",
           tables=split_commit),
    Mutant("new-key-on-retry", "storage", "a commit whose outcome is unknown is tried again under a new key",
           ("once-only", "session-versions", "reference-agrees", "keys-differ"), "retries",
           owner=engine.Engine, attribute="filled_in", wrong=key_of_attempt),
)  # fmt: skip

MUTANTS: Final = {mutant.name: mutant for mutant in (*ROWS, *language.ROWS)}

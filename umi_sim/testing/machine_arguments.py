"""Strategies for the rules of the Hypothesis machine: the time of a request, and its arguments.

Law 1. Arguments come from the same classes as in generated runs, with few values each, so that requests often
use the same key, id or text. Law 2. The scenario says what share of them is hostile (`adversarial`), and what
share of the requests is sent at or next to a deadline (`land`).
"""

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import Bundle

from umi_core.data import Data
from umi_core.declared import Incomplete
from umi_core.domains import JUDGES, LISTED, RANKERS
from umi_core.messages.requests import OF_MEMORY, arguments_of
from umi_sim.record.run_config import RunConfig
from umi_sim.workload import filter_values, pools

# 9, 10 and 11 are around a TTL of 10 ms (pools.TTLS_MS).
ADVANCE_MS: Final = (0, 1, 9, 10, 11, 1_000, 60_000, 3_600_000)
LANDING_MS: Final = (0, -1, 1)
LANDINGS: Final = st.tuples(st.integers(0, 7), st.sampled_from(LANDING_MS))
LEFT_OUT: Final = object()
KEYS, ENTITIES, SESSIONS = Bundle("keys"), Bundle("entities"), Bundle("sessions")

When = int | tuple[int, int]  # ms from now; or (index of a coming deadline, ms after it; negative: before)


def in_part(share: tuple[int, int], rare: Any, usual: Any) -> Any:
    """Draw from `rare` in this share of the draws, else from `usual`; `share`: (part, whole)."""
    part, whole = share
    # Draws a number, because repeating a member of a strategy does not make it more likely. Rare values are
    # at the upper end: Hypothesis shrinks numbers downwards, so it shrinks to the usual value.
    places = st.integers(1, whole)
    return places.flatmap(lambda place: rare if place > whole - part else usual) if part else usual


def moments_of(config: RunConfig) -> Any:
    """Return the strategy for the time of a request in this scenario."""
    return in_part(config.land, LANDINGS, st.sampled_from(ADVANCE_MS))


class Mostly(Data):
    """A strategy of ordinary values, and a pool of hostile ones that replace them in some draws."""

    plain: Any
    hostile: pools.Pool

    def draw_from(self, config: RunConfig) -> Any:
        # Draws a group first, then a value of it, so that a large group does not crowd out the small ones.
        bad = st.one_of([st.sampled_from(list(group)) for group in self.hostile.values()])
        return in_part(config.adversarial, bad, self.plain)


def maybe(given: Any) -> Any:
    return st.one_of(st.just(LEFT_OUT), given)


FACTS: Final = (
    "Alice works at Acme.", "Alice likes tea.", "Alice now works at Northwind Trading.", "I am Umi.",
    "Bob met Alice in Paris.", "東京は大きい。", "no names here",
)  # fmt: skip
TALK: Final = '[{"role":"user","content":"Alice works at Acme."},{"content":"Bob likes tea."}]'
QUERIES: Final = ("Where does Alice work?", "tea", "東京", "anything similar to tea")
SMALL_KEYS: Final[pools.Pool] = {name: group for name, group in pools.HOSTILE_KEYS.items() if name != "size"}
PPM: Final = Mostly(st.sampled_from((0, 500_000, 950_000)), pools.HOSTILE_PPM)

STRATEGIES: Final[dict[str, Any]] = {  # by domain; None: left at its default
    **dict.fromkeys(("key", "stored_key"), Mostly(KEYS, SMALL_KEYS)),
    "value": Mostly(st.sampled_from(pools.VALUES), {"number": pools.HOSTILE_VALUES["number"]}),
    "ttl": Mostly(st.sampled_from(pools.TTLS_MS), pools.HOSTILE_TTLS),
    "delta": Mostly(st.sampled_from(pools.DELTAS), pools.HOSTILE_DELTAS),
    "block_kind": Mostly(st.sampled_from(("system", "persona", "human", "facts")), pools.HOSTILE_KINDS),
    "block_label": Mostly(st.sampled_from(("", "work")), {"markup": pools.HOSTILE_LABELS["markup"]}),
    "block_text": Mostly(st.sampled_from(("", "short", "x" * 1_500)), pools.NASTY),
    "importance": PPM,
    "form": Mostly(st.sampled_from(("xml", "markdown")), pools.HOSTILE_FORMS),
    "entity_id": Mostly(ENTITIES, pools.HOSTILE_IDS),
    **dict.fromkeys(("session_id", "ended_session"), Mostly(SESSIONS, pools.HOSTILE_IDS)),
    "told_in": SESSIONS,
    "resource_id": Mostly(ENTITIES, pools.HOSTILE_IDS),
    "members": Mostly(st.just(()), {"look-alike": pools.HOSTILE_MEMBERS["look-alike"]}),
    "readers": Mostly(st.just(()), {"look-alike": pools.HOSTILE_MEMBERS["look-alike"]}),
    "shared_by": Mostly(st.just(()), {"look-alike": pools.HOSTILE_MEMBERS["look-alike"]}),
    "carries": Mostly(st.sampled_from(pools.CARRIES), {"none": pools.HOSTILE_CARRIES["none"]}),
    "text": Mostly(st.sampled_from(FACTS), pools.NASTY),
    "document": Mostly(st.sampled_from((*FACTS, " ".join(FACTS), TALK)), pools.NASTY),
    "fact": Mostly(st.sampled_from(FACTS), pools.NASTY),
    "memory_type": st.sampled_from(("profile", "behavior")),
    "new_fact": Mostly(st.sampled_from(FACTS), pools.NASTY),
    "new_categories": st.sampled_from(((), ("facts",), ("preferences", "facts"))),
    "category_names": st.sampled_from((("facts",), ("preferences", "facts"))),
    "modality": st.sampled_from(("text", "conversation")),
    "uri": st.sampled_from(("chat/1", "chat/2")),
    "memory_types": st.sampled_from((("profile",), ("behavior", "profile"))),
    "category_name": st.sampled_from(("facts", "preferences")),
    "sufficiency": st.sampled_from(JUDGES),
    "ranker": st.sampled_from(RANKERS),
    "levels": st.sampled_from(pools.LEVELS),
    "filter": st.lists(st.sampled_from(filter_values.FILTERS), max_size=2).map(tuple),
    "row_filter": st.lists(st.sampled_from(filter_values.ROW_FILTERS), max_size=2).map(tuple),
    "listed_kind": st.sampled_from(LISTED),
    "request_key": st.sampled_from(("r1", "r2")),
    **dict.fromkeys(("speaker", "asker"), st.sampled_from(("Alice", "Ann"))),
    "query": Mostly(st.sampled_from(QUERIES), pools.NASTY),
    "limit": st.sampled_from((1, 3)),
    "skip": st.sampled_from((0, 1)),
    "version": st.sampled_from((1, 2)),
    **dict.fromkeys(("api_label", "block_name"), st.sampled_from(("notes", "human"))),
    "block_key": st.just("blk_0"),
    "piece": st.sampled_from(("x", "short")),
    "tags": st.just(("work",)),
    "messages": st.just(((("role", "user"), ("content", "Alice likes tea.")),)),
    "record_id": st.sampled_from(("arc_000000000001", "arc_000000000002")),
    "seq": st.sampled_from((1, 2)),
    "switch": st.booleans(),
    "prompt_form": st.sampled_from(("xml", "tagged")),
    "author": st.sampled_from(("user", "user", "model")),
    **dict.fromkeys(
        (
            "flag",
            "time",
            "metadata",
            "source",
            "deep",
            "wish",
            "time_range",
            "types",
            "turns",
            "score",
            "cursor",
            "description",
            "block_limit",
            "record_cursor",
            "system_text",
            "kind_of_block",
            "level_count",
            "hit_count",
            "level_score",
            "least",
        ),
        None,
    ),
}


def strategies_of(name: str) -> dict[str, tuple[Any, bool]]:
    """Return (strategy, is_required) of each argument that the rule of a request draws. Raises Incomplete."""
    found: dict[str, tuple[Any, bool]] = {}
    for argument in arguments_of(OF_MEMORY[name]):
        if argument.domain not in STRATEGIES:
            message = f"the domain {argument.domain} of {name}.{argument.name} has no strategy"
            raise Incomplete(f"{message}: add one to STRATEGIES in umi_sim/testing/machine_arguments.py")
        if (strategy := STRATEGIES[argument.domain]) is not None:
            found[argument.name] = strategy, argument.is_required
    return found


def draw_arguments(name: str, config: RunConfig) -> dict[str, Any]:
    """Return the strategies of a request's arguments in this scenario; optional ones may be left out."""
    plain = {
        arg: (each.draw_from(config) if isinstance(each, Mostly) else each, is_required)
        for arg, (each, is_required) in ARGS[name].items()
    }
    return {arg: each if is_required else maybe(each) for arg, (each, is_required) in plain.items()}


ARGS: Final = {name: strategies_of(name) for name in OF_MEMORY}

"""Goal: every setting counts: changed alone, it changes what a memory asks or replies (M15)."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.test_memorize import xml
from tests.worlds import Pair, id_of_fact, input_of, saying, verdict
from umi_core.config import Config
from umi_core.data import list_fields
from umi_core.errors import BadConfig, Rejected
from umi_core.messages.answers import Answer, Embedded, Value
from umi_core.messages.effects import Asked, Embed
from umi_core.messages.requests import (
    EvolveCategory,
    Get,
    GetEntity,
    InCore,
    Memorize,
    Rebalance,
    Recall,
    Remember,
    Request,
    Search,
    Set,
    SetBlock,
)
from umi_core.values import Turn
from umi_sim.services.embedder import embed

# Where each setting is about to matter: core has room for one entry, and models are neither sure nor unsure.
BASE = Config(
    semantic_routing=True, core_entry_count_max=1, promote_score_min_ppm=0, cluster_ppm=400_000,
    assign_ppm=400_000, merge_ppm=900_000, cluster_size_min=2, evolution_interval_ms=1_000_000,
)  # fmt: skip
BOB = id_of_fact("Bob", "likes tea")
TURNS = (Turn("user", "Ask John about the database migration"),)
STORY: tuple[Request, ...] = (
    Set(1, "a", b"x" * 200),
    Set(2, "b", b"x"),
    SetBlock(3, "facts", "x" * 5_000),
    Remember(4, "Alice likes tea", importance_ppm=0),
    Rebalance(5),
    Remember(6, "Bob likes tea", importance_ppm=1_000_000),
    Rebalance(7),
    InCore(8, BOB),
    GetEntity(9, BOB),
    Recall(10, "Who likes tea?", deep=False),
    Recall(11, "What did he say about that?", turns=TURNS, deep=False),
    Recall(12, "What did he say about that?", turns=TURNS, deep=False),
    Get(13, "__interaction_count"),
    Recall(17, "Who likes it?", turns=(*TURNS, Turn("user", "Bob likes cake")), deep=False),
    Memorize(18, "Ann likes tea. " * 20, uri="long"),
    Search(19, "Ann likes tea", min_score_ppm=1),
    Memorize(16, '[{"content": "Ann likes tea."}, {"content": "Bob likes tea."}]', "conversation"),
    Memorize(27, "green tea. black tea. red car. blue car. fast red car. old song", memory_types=("skill",)),
    EvolveCategory(28, "skills"),
    Memorize(29, "white tea. old red car", memory_types=("skill",)),
)
CHANGED: Mapping[str, Any] = {
    "core_bytes_max": 4_096, "core_entry_count_max": 0, "working_bytes_max": 100,
    "working_entry_count_max": 1, "working_ttl_ms_default": 1, "embedding_dims": 8,
    "recall_limit_default": 1, "recall_min_score_ppm": 1_000_000, "promote_score_min_ppm": 1_000_000,
    "displace_margin_ppm": 1_000_000, "model_timeout_ms": 1, "semantic_routing": False,
    "auto_populate": False, "auto_rebalance": False, "rebalance_interval_ms": 1_000, "resolve_cache": False,
    "extract_confidence_min_ppm": 1_000_000, "route_confidence_min_ppm": 800_000,
    "promote_confidence_min_ppm": 700_000, "resolve_confidence_min_ppm": 500_001,
    "evolve_confidence_min_ppm": 1_000_000, "store_timeout_ms": 1, "segment_line_count_min": 2,
    "resolve_queries": False, "resolve_turn_count_max": 1, "resolve_cache_ms": 1, "context_bytes_max": 100,
    "cluster_ppm": 800_000, "assign_ppm": 900_000, "merge_ppm": 400_000, "cluster_size_min": 3,
    "subcategory_count_max": 1, "evolution_interval_ms": 1_000, "auto_evolution": False,
    "name_by_model": False, "upkeep_interval_ms": 1_000, "group_decay_ms": 1_000,
    "utc_offset_minutes": -1, "categories": (("skills", "What somebody can do."),),
}  # fmt: skip


def routed(prompt: str) -> str:
    verdict = {"block": "goals", "promote": True, "confidence": 0.7, "reason": "so"}
    return json.dumps([{"entity_id": it["entity_id"], **verdict} for it in input_of(prompt, "entities")])


def remembered(prompt: str) -> str:
    sentences = (
        str(input_of(prompt, "text")).split(". ") if input_of(prompt, "memory_type") == "skill" else []
    )
    return f"<item>{''.join(map(xml, sentences))}</item>"


MODEL = saying(
    route=routed, evolve=verdict("derive"), rewrite="What did John say about that?", memories=remembered,
    name_subcategory="some",
)  # fmt: skip


class RecordingPair(Pair):
    """Everything that the memory asked, in order. The embedder is the same with every setting."""

    asked: list[Asked] = []

    def step(self, value: Value) -> list[Asked]:
        effects = super().step(value)
        self.asked.extend(effects)
        return effects

    def world(self, effect: Asked) -> Answer:
        if not isinstance(effect, Embed):
            return super().world(effect)
        return Embedded(effect.request_id, tuple(embed(text, BASE.embedding_dims) for text in effect.texts))


@cache
def life(config: Config) -> tuple[object, ...]:
    """All that is seen of a memory with these settings: questions, replies, and when it wants to be woken."""
    pair = RecordingPair(config=config, model=MODEL)
    pair.run()
    for request in STORY:
        pair.ask(request)
    pair.now_ms = 1_000
    pair.ask(Recall(20, "What did he say about that?", turns=TURNS, deep=False))
    wake_ms = pair.memory.deadline_ms()
    pair.now_ms = config.working_ttl_ms_default // 2
    pair.ask(Get(14, "a"))
    pair.now_ms = 1_800_000
    pair.ask(Get(15, "b"))
    return tuple(pair.asked), tuple(pair.replies.items()), wake_ms


def test_every_setting_has_a_change() -> None:
    assert sorted(CHANGED) == sorted(field.name for field in list_fields(Config))


@pytest.mark.uncounted
@pytest.mark.parametrize("name", CHANGED)
def test_a_setting_that_is_changed_alone_is_noticed(name: str) -> None:
    assert getattr(BASE, name) != CHANGED[name]
    assert life(structs.replace(BASE, **{name: CHANGED[name]})) != life(BASE)


def test_what_is_sure_enough_for_core_is_sure_enough_for_a_route() -> None:
    with pytest.raises(Rejected) as caught:
        Config(promote_confidence_min_ppm=599_999)
    assert caught.value.errors == (
        BadConfig("promote_confidence_min_ppm", "599999", "at least route_confidence_min_ppm"),
    )
    Config(promote_confidence_min_ppm=600_000)


def test_every_setting_out_of_its_range_is_named() -> None:
    with pytest.raises(Rejected) as caught:
        Config.of({"core_entry_count_max": -1, "semantic_routing": 1, "embedding_dims": True})
    assert [error.option for error in caught.value.errors if isinstance(error, BadConfig)] == [
        "core_entry_count_max", "embedding_dims", "semantic_routing",
    ]  # fmt: skip

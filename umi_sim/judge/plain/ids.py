"""Ids as M2.2 to M2.4 derive them: a digest of what a row is, so that the same is always one row."""

from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Any, Final

import msgpack

from umi_core.values import Scope
from umi_sim.judge.plain.text import folded

PREFIXES: Final = {
    "entity": "ent_", "relation": "rel_", "session": "ses_", "resource": "res_", "category": "cat_",
    "membership": "mem_", "given": "giv_", "reflection": "rfl_", "subcategory": "sub_", "block": "blk_",
}  # fmt: skip
KEPT: Final = 4_096  # whoever judges rows asks about the same ones again and again
End = tuple[str, int]  # of a relation: an id and a version


def packed(parts: list[Any]) -> bytes:
    """The shortest msgpack of a list of texts and whole numbers."""
    data: bytes = msgpack.Packer(strict_types=True, use_bin_type=True).pack(parts)
    return data


def derived(scope: Scope, kind: str, *parts: str | int) -> str:
    digest = blake2b(packed([kind, scope.user, scope.agent, *parts]), digest_size=12)
    return PREFIXES[kind] + digest.hexdigest()


@lru_cache(maxsize=KEPT)
def entity_id(scope: Scope, entity_type: str, name: str) -> str:
    return derived(scope, "entity", entity_type, "name", folded(name))


@lru_cache(maxsize=KEPT)
def note_id(scope: Scope, content: str, memory_type: str = "knowledge") -> str:
    """Of what has no name: it is what it says, and as what it was memorized."""
    return derived(scope, "entity", "content", memory_type, content_hash(content, memory_type))


def content_hash(content: str, memory_type: str = "knowledge") -> str:
    return sha256(f"{memory_type}:{folded(content)}".encode()).hexdigest()[:16]


def text_hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def resource_id(scope: Scope, uri: str | None, text: str) -> str:
    named = ("text", text_hash(text)) if uri is None else ("uri", uri)
    return derived(scope, "resource", *named)


def segment_id(scope: Scope, parent_id: str, text: str, n: int) -> str:
    """`n` counts the parts before it that say the same."""
    return derived(scope, "resource", "segment", parent_id, text_hash(text), n)


def category_id(scope: Scope, name: str) -> str:
    return derived(scope, "category", folded(name))


@lru_cache(maxsize=KEPT)
def membership_id(scope: Scope, entity_id: str, category_id: str) -> str:
    return derived(scope, "membership", entity_id, category_id)


def subcategory_id(scope: Scope, category_id: str, founder_id: str) -> str:
    return derived(scope, "subcategory", category_id, founder_id)


def reflection_id(scope: Scope, session_id: str) -> str:
    return derived(scope, "reflection", session_id)


@lru_cache(maxsize=KEPT)
def given_id(scope: Scope, source: str, entity_id: str) -> str:
    return derived(scope, "given", source, entity_id)


def relation_id(scope: Scope, source: End, target: End, kind: str) -> str:
    return derived(scope, "relation", *source, *target, kind)


def session_id(scope: Scope, created_ms: int, n: int) -> str:
    """`n` counts the sessions that were made in this millisecond before."""
    return derived(scope, "session", created_ms, n)


def block_id(scope: Scope, kind: str, label: str) -> str:
    return derived(scope, "block", kind, label)

"""Ids as M2.2 to M2.4 derive them: a digest of what a row is, so that the same is always one row."""

from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Any, Final

import msgpack

from umi_core.values import Scope
from umi_sim.judge.plain.text import folded

PREFIXES: Final = {"entity": "ent_", "relation": "rel_", "session": "ses_"}
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
def note_id(scope: Scope, content: str) -> str:
    """Of a note that has no name: it is what it says."""
    return derived(scope, "entity", "content", "knowledge", content_hash(content))


def content_hash(content: str) -> str:
    return sha256(f"knowledge:{folded(content)}".encode()).hexdigest()[:16]


@lru_cache(maxsize=KEPT)
def relation_id(scope: Scope, source: End, target: End, kind: str) -> str:
    return derived(scope, "relation", *source, *target, kind)


def session_id(scope: Scope, created_ms: int, n: int) -> str:
    """`n` counts the sessions that were made in this millisecond before."""
    return derived(scope, "session", created_ms, n)

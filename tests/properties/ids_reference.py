"""Check rows and saved states field by field, and derive ids of rows."""

from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Any, Final

import msgpack

from tests.properties.text_reference import fold_name
from umi_core.values import (
    Scope,
)

# Ids as M2.2 and M2.3 derive them: a digest of what a row is, so that the same is always one row.


PREFIXES: Final = {
    "entity": "ent_", "relation": "rel_", "session": "ses_", "resource": "res_", "category": "cat_",
    "membership": "mem_", "fact": "fct_", "reflection": "rfl_", "subcategory": "sub_", "block": "blk_",
}  # fmt: skip
KEPT: Final = 4_096  # judges ask about the same rows again and again
End = tuple[str, int]  # of a relation: an id and a version


def pack_shortest(parts: list[Any]) -> bytes:
    """Return the shortest msgpack of a list of texts and whole numbers."""
    data: bytes = msgpack.Packer(strict_types=True, use_bin_type=True).pack(parts)
    return data


def derive_id(scope: Scope, kind: str, *parts: str | int) -> str:
    digest = blake2b(pack_shortest([kind, scope.user, scope.agent, *parts]), digest_size=12)
    return PREFIXES[kind] + digest.hexdigest()


@lru_cache(maxsize=KEPT)
def entity_id(scope: Scope, name: str) -> str:
    return derive_id(scope, "entity", fold_name(name))


@lru_cache(maxsize=KEPT)
def fact_id(scope: Scope, about: tuple[str, ...], content: str) -> str:
    """Derive the id of a statement from what it is about and what it says."""
    return derive_id(scope, "fact", *sorted(about), fold_name(content))


def text_hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def resource_id(scope: Scope, uri: str | None, text: str) -> str:
    named = ("text", text_hash(text)) if uri is None else ("uri", uri)
    return derive_id(scope, "resource", *named)


def segment_id(scope: Scope, parent_id: str, text: str, n: int) -> str:
    """Derive the id of a segment. `n` counts the earlier segments with the same text."""
    return derive_id(scope, "resource", "segment", parent_id, text_hash(text), n)


def category_id(scope: Scope, name: str) -> str:
    return derive_id(scope, "category", fold_name(name))


@lru_cache(maxsize=KEPT)
def membership_id(scope: Scope, entity_id: str, category_id: str) -> str:
    return derive_id(scope, "membership", entity_id, category_id)


def subcategory_id(scope: Scope, category_id: str, founder_id: str) -> str:
    return derive_id(scope, "subcategory", category_id, founder_id)


def reflection_id(scope: Scope, session_id: str) -> str:
    return derive_id(scope, "reflection", session_id)


def relation_id(scope: Scope, source: End, target: End, kind: str) -> str:
    return derive_id(scope, "relation", *source, *target, kind)


def session_id(scope: Scope, created_ms: int, n: int) -> str:
    """Derive the id of a session. `n` counts the sessions that began in this millisecond before."""
    return derive_id(scope, "session", created_ms, n)


def block_id(scope: Scope, kind: str, label: str) -> str:
    return derive_id(scope, "block", kind, label)

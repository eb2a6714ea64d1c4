"""Ids: hashes of scope, kind and normalised name or content, so that the same input finds the same row.

Law 1. Ids depend on no randomness; only the id of a session depends on the time. Law 2. Every hash includes
the whole scope, so equal names in two scopes have different ids.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b, sha256
from typing import Final

import msgpack

from umi_core.text import norm
from umi_core.values import Scope

pack: Final[Callable[[object], bytes]] = msgpack.Packer().pack
"""Canonical msgpack: shortest forms, strict types, lists for tuples, no maps. One shared packer, because
creating one takes twice as long as packing a short value."""


def derived_id(prefix: str, kind: str, scope: Scope, *parts: str | int) -> str:
    # Packed and not joined, so that the scopes ("ab", "c") and ("a", "bc") differ. With 96 bits, a collision
    # among 10**9 ids has a probability below 10**-10.
    digest = blake2b(pack([kind, scope.user, scope.agent, *parts]), digest_size=12)
    return f"{prefix}_{digest.hexdigest()}"


def entity_id(scope: Scope, name: str) -> str:
    """Return the id of the entity with this name, for `about` of facts; it does not depend on the type."""
    return derived_id("ent", "entity", scope, norm(name))


def fact_id(scope: Scope, about: Iterable[str], content: str) -> str:
    """Return the id of a statement about these entities; the same statement always has the same id."""
    # Sorted, so that "Ann and Bob are married" has the same id if a model names Bob first.
    return derived_id("fct", "fact", scope, *sorted(about), norm(content))


def text_hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def resource_id(scope: Scope, uri: str | None, text: str) -> str:
    """Return the id of a resource: from its uri, or from a hash of its text if it has none."""
    parts = ("text", text_hash(text)) if uri is None else ("uri", uri)
    return derived_id("res", "resource", scope, *parts)


def segment_id(scope: Scope, parent_id: str, text: str, n: int) -> str:
    """Return the id of a segment; `n`: the number of earlier segments with the same text."""
    return derived_id("res", "resource", scope, "segment", parent_id, text_hash(text), n)


def category_id(scope: Scope, name: str) -> str:
    return derived_id("cat", "category", scope, norm(name))


def membership_id(scope: Scope, entity_id: str, category_id: str) -> str:
    return derived_id("mem", "membership", scope, entity_id, category_id)


def subcategory_id(scope: Scope, category_id: str, founder_id: str) -> str:
    """Return the id of a group: from its founder, which never changes, unlike its name."""
    return derived_id("sub", "subcategory", scope, category_id, founder_id)


def reflection_id(scope: Scope, session_id: str) -> str:
    return derived_id("rfl", "reflection", scope, session_id)


def relation_id(scope: Scope, source: tuple[str, int], target: tuple[str, int], kind: str) -> str:
    return derived_id("rel", "relation", scope, *source, *target, kind)


def block_id(scope: Scope, kind: str, label: str) -> str:
    return derived_id("blk", "block", scope, kind, label)


def log_id(log: str, seq: int) -> str:
    """Return the id of a message or record with this number; numbers are never reused."""
    # Padded, so that ids sort by number: msg_000000000009 before msg_000000000010.
    return f"{LOG_PREFIXES[log]}_{seq:012}"


def session_id(scope: Scope, created_ms: int, n: int) -> str:
    return derived_id("ses", "session", scope, created_ms, n)


def commit_key(scope: Scope, *parts: str | int) -> str:
    """Return an idempotency key; `parts`: `"key", request_key`, or epoch, operation number and step."""
    return derived_id("idm", "commit", scope, *parts)


LOG_PREFIXES: Final = {"message": "msg", "archival": "arc"}

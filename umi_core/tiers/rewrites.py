"""Rewrites: a cache of resolved references in recent queries, so that a repeated query needs no model.

Law 1. The key of a rewrite covers its query, its turns and its scope. Law 2. A rewrite is valid if and only
if `now < stored + keep_ms`. Law 3. The least recently used rewrite is evicted first. Law 4. A crash loses the
whole cache.
"""

from hashlib import blake2b
from typing import Final

from umi_core.data import Data
from umi_core.ids import pack
from umi_core.language.prompts import FIXED
from umi_core.limits import RESOLVE_CACHE_COUNT_MAX, RESOLVE_CACHE_MS
from umi_core.messages.results import Resolution
from umi_core.values import Scope, Turn

# Part of each key, so that a release with another prompt does not use old rewrites.
FIXED_DIGEST: Final = blake2b(pack(list(FIXED["rewrite"])), digest_size=16).digest()
KEPT: Final = ("resolved", "unchanged")


def rewrite_key(scope: Scope, query: str, turns: tuple[Turn, ...]) -> bytes:
    """Return the cache key; `turns` are those shown to the model."""
    spoken = [[turn.role, turn.text] for turn in turns]
    data = pack([FIXED_DIGEST, scope.user, scope.agent, query, spoken])
    return blake2b(data, digest_size=16).digest()


class CachedRewrite(Data):
    tag = 95
    key: bytes
    stored_ms: int
    resolution: Resolution


class RewriteCache(Data):
    """Cached rewrites, the least recently used first."""

    tag = 96
    rewrites: tuple[CachedRewrite, ...] = ()

    def find(self, key: bytes, now_ms: int, keep_ms: int = RESOLVE_CACHE_MS) -> Resolution | None:
        return next((it.resolution for it in self.alive(now_ms, keep_ms) if it.key == key), None)

    def alive(self, now_ms: int, keep_ms: int) -> tuple[CachedRewrite, ...]:
        return tuple(it for it in self.rewrites if now_ms < it.stored_ms + keep_ms)

    def mark_used(self, key: bytes, now_ms: int, keep_ms: int = RESOLVE_CACHE_MS) -> "RewriteCache":
        """Return the cache with this rewrite as the most recently used one, without expired ones."""
        alive = self.alive(now_ms, keep_ms)
        return RewriteCache((*(it for it in alive if it.key != key), *(it for it in alive if it.key == key)))

    def put(
        self, key: bytes, now_ms: int, resolution: Resolution, keep_ms: int = RESOLVE_CACHE_MS
    ) -> "RewriteCache":
        """Return the cache with this resolution, if its outcome is one of KEPT."""
        if resolution.outcome not in KEPT:
            return self
        # The newest is last, so the cut from the left drops the least recently used.
        others = tuple(it for it in self.alive(now_ms, keep_ms) if it.key != key)
        return RewriteCache((*others, CachedRewrite(key, now_ms, resolution))[-RESOLVE_CACHE_COUNT_MAX:])

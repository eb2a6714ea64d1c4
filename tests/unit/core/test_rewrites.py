"""Goal: a question asked again needs no model, for so long and for its own words (M13)."""

import pytest

from umi_core.limits import RESOLVE_CACHE_COUNT_MAX, RESOLVE_CACHE_MS
from umi_core.messages.results import Resolution
from umi_core.tiers.rewrites import RewriteCache, rewrite_key
from umi_core.values import Scope, Turn

SCOPE = Scope("u1", "a1")
QUERY, TURNS = "What did he say?", (Turn("user", "Ask John"), Turn("assistant", "I did"))
KEY = rewrite_key(SCOPE, QUERY, TURNS)
RESOLVED = Resolution("resolved", "What did John say?", ("he",), "", 1_000_000)


def keys(cache: RewriteCache) -> list[bytes]:
    return [it.key for it in cache.rewrites]


def filled(count: int, now_ms: int = 0) -> RewriteCache:
    """Keys 0, 1, ... in the order in which they came."""
    cache = RewriteCache()
    for n in range(count):
        cache = cache.put(b"%d" % n, now_ms, RESOLVED)
    return cache


@pytest.mark.uncounted
@pytest.mark.parametrize(
    "other",
    [
        rewrite_key(Scope("u2", "a1"), QUERY, TURNS),
        rewrite_key(Scope("u1", "a2"), QUERY, TURNS),
        rewrite_key(SCOPE, QUERY + "?", TURNS),
        rewrite_key(SCOPE, QUERY.lower(), TURNS),
        rewrite_key(SCOPE, QUERY, TURNS[:1]),
        rewrite_key(SCOPE, QUERY, TURNS[::-1]),
        rewrite_key(SCOPE, QUERY, (Turn("system", "Ask John"), TURNS[1])),
        rewrite_key(SCOPE, QUERY, (Turn("user", "Ask John!"), TURNS[1])),
        rewrite_key(SCOPE, QUERY, ()),
    ],
)
def test_a_rewrite_belongs_to_its_scope_query_and_turns(other: bytes) -> None:
    assert other != KEY
    assert RewriteCache().put(KEY, 0, RESOLVED).find(other, 0) is None


def test_texts_that_move_between_the_parts_of_a_key_make_another_one() -> None:
    assert rewrite_key(SCOPE, "a", (Turn("user", "b"),)) != rewrite_key(SCOPE, "ab", (Turn("user", ""),))
    assert rewrite_key(Scope("u", "a"), "q", ()) != rewrite_key(Scope("ua", ""), "q", ())


def test_the_key_is_the_same_in_every_process() -> None:
    assert KEY.hex() == "9e5133b99b49089b99d9db4f0027312c"


@pytest.mark.parametrize(
    ("now_ms", "alive"),
    [(1_000, True), (1_000 + RESOLVE_CACHE_MS - 1, True), (1_000 + RESOLVE_CACHE_MS, False)],
)
def test_alive_iff_now_is_before_stored_plus_five_minutes(now_ms: int, alive: bool) -> None:
    cache = RewriteCache().put(KEY, 1_000, RESOLVED)
    assert cache.find(KEY, now_ms) == (RESOLVED if alive else None)
    assert RESOLVE_CACHE_MS == 300_000


def test_use_does_not_prolong_a_life() -> None:
    cache = RewriteCache().put(KEY, 0, RESOLVED).mark_used(KEY, 299_999)
    assert cache.find(KEY, 299_999) == RESOLVED
    assert cache.find(KEY, 300_000) is None


def test_the_dead_are_dropped_when_the_cache_is_next_touched() -> None:
    cache = filled(2, now_ms=0).put(KEY, 300_000, RESOLVED)
    assert keys(cache) == [KEY]
    assert keys(filled(2).mark_used(b"x", 300_000)) == []


def test_the_least_recently_used_goes_first() -> None:
    full = filled(RESOLVE_CACHE_COUNT_MAX)
    assert (len(full.rewrites), RESOLVE_CACHE_COUNT_MAX) == (256, 256)
    more = full.mark_used(b"0", 0).put(KEY, 0, RESOLVED)
    assert len(more.rewrites) == 256
    assert more.find(b"0", 0) == RESOLVED
    assert more.find(b"1", 0) is None
    assert keys(more)[-2:] == [b"0", KEY]


def test_a_question_resolved_anew_takes_the_place_of_its_old_rewrite() -> None:
    again = Resolution("unchanged", QUERY, ("he",))
    cache = filled(2).put(b"0", 5, again)
    assert keys(cache) == [b"1", b"0"]
    assert cache.find(b"0", 300_004) == again


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        ("resolved", True),
        ("unchanged", True),
        ("rejected", False),
        ("failed", False),
        ("clear", False),
        ("no_context", False),
        ("disabled", False),
    ],
)
def test_only_what_a_model_settled_is_kept(outcome: str, kept: bool) -> None:
    resolution = Resolution(outcome, QUERY)  # type: ignore[arg-type]  # of the table
    assert RewriteCache().put(KEY, 0, resolution).find(KEY, 0) == (resolution if kept else None)


def test_to_use_what_is_not_there_changes_nothing() -> None:
    assert filled(3).mark_used(b"x", 0) == filled(3)

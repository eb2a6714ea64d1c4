"""Goal: agents read the archive of another one of their user as its owner allows, nothing else (ISO-6)."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.core.test_sessions import two
from tests.worlds import Pair, saying, verdict
from umi_core.errors import NotShared, TooManyMembers
from umi_core.kelpie.requests import DeleteAgent
from umi_core.limits import SESSION_MEMBER_COUNT_MAX
from umi_core.messages.effects import ByFilter, ByIds, ByVector, ByWords, Commit, Done, Read, Refused
from umi_core.messages.requests import Forget, Recall, Remember, ShareArchive
from umi_core.messages.results import ArchiveShared, Hit, Recalled
from umi_core.rows import Grant
from umi_core.values import Scope
from umi_core.workflows.recall import RECALL

MANY = tuple(f"a{n}" for n in range(10, 11 + SESSION_MEMBER_COUNT_MAX))


def share(pair: Pair, *agents: str) -> tuple[str, ...]:
    """Share an archive with these agents, and return with which it is shared now."""
    outcome = pair.ask(ShareArchive("share", agents))
    del pair.replies["share"]
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, ArchiveShared)
    return outcome.value.agents


def remember_text(pair: Pair, text: str) -> None:
    assert isinstance(pair.ask(Remember(text, text)), Done)


def hits(pair: Pair, op: str, query: str, *shared: str, **options: Any) -> tuple[Hit, ...]:
    outcome = pair.ask(Recall(op, query, shared=shared, **options))
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Recalled)
    return outcome.value.hits


def contents(found: Sequence[Hit]) -> list[tuple[str, str]]:
    return sorted((it.agent, it.content) for it in found)


def test_the_archive_of_another_agent_is_read_as_long_as_its_owner_allows() -> None:
    a, b = two()
    remember_text(a, "Alice likes tea")
    remember_text(b, "Alice snores")
    assert share(a, "a2", "a1", "a3", "a2") == ("a2", "a3")
    found = hits(b, "1", "Alice", "a1")
    assert contents(found) == [("", "snores"), ("a1", "likes tea")]
    assert contents(hits(b, "2", "Alice")) == [("", "snores")]
    assert [row.body for row in a.rows("grant")] == [Grant(("a2", "a3"))]
    assert share(a) == ()
    assert a.rows("grant") == []
    assert b.ask(Recall("3", "Alice", shared=("a1",))) == Refused(NotShared("a1"))


def test_an_unknown_agent_is_refused_in_the_same_words_as_one_that_does_not_share() -> None:
    a, b = two()
    remember_text(a, "Alice likes tea")
    share(a, "a3")
    for op, shared in (("1", ("a1",)), ("2", ("nobody",)), ("3", ("nobody", "a1"))):
        assert b.ask(Recall(op, "Alice", shared=shared)) == Refused(NotShared(shared[0]))
    assert str(NotShared("a1")) == "no archive of agent a1 is shared with this one"


def test_a_grant_is_for_agents_of_the_same_user() -> None:
    a, _ = two()
    share(a, "a2")
    stranger = Pair(storage=a.storage, scope=Scope("u2", "a2")).run()
    assert stranger.ask(Recall("1", "Alice", shared=("a1",))) == Refused(NotShared("a1"))


def test_the_same_agents_again_change_no_row_and_none_given_tells_them() -> None:
    a, _ = two()
    share(a, "a2")
    [before] = a.rows("grant")
    assert share(a, "a2") == ("a2",)
    assert a.ask(ShareArchive("read")) == Done(ArchiveShared(("a2",)))
    assert a.rows("grant") == [before]


def test_too_many_agents_are_refused() -> None:
    a, _ = two()
    error = Refused(TooManyMembers(len(MANY), SESSION_MEMBER_COUNT_MAX))
    assert a.ask(ShareArchive("1", MANY)) == error
    assert a.ask(Recall("2", "Alice", shared=MANY)) == error
    assert share(a, *MANY[1:], *MANY[1:]) == MANY[1:]


def test_its_own_name_is_no_other_archive() -> None:
    a, _ = two()
    remember_text(a, "Alice likes tea")
    assert contents(hits(a, "1", "Alice", "a1", "a1")) == [("", "likes tea")]


def test_hits_of_all_archives_are_ordered_and_cut_together() -> None:
    a, b = two()
    share(a, "a2")
    remember_text(a, "Alice likes tea")
    remember_text(b, "Alice likes green tea with milk and sugar in the morning")
    found = hits(b, "1", "likes tea", "a1")
    assert [it.agent for it in found] == ["a1", ""]
    assert found[0].score_ppm > found[1].score_ppm
    assert hits(b, "2", "likes tea", "a1", limit=1) == found[:1]
    # Several variants, each in both archives.
    variants = Pair(storage=a.storage, scope=b.scope, model=saying(expand='["green tea"]')).run()
    deep = hits(variants, "3", "likes tea", "a1", deep=True)
    assert contents(deep) == contents(found)


def test_a_hit_of_another_archive_shows_what_is_beside_it_there() -> None:
    a, b = two()
    a.model = saying(evolve=verdict("update"))
    share(a, "a2")
    remember_text(a, "Alice likes milk")
    remember_text(a, "Alice likes tea. Bob snores")  # facts about two persons are not compared
    [tea] = hits(b, "1", "likes tea", "a1", limit=1)
    assert (tea.next_content, [text for _, text in tea.replaced]) == ("snores", ["likes milk"])
    remember_text(b, "Alice naps")
    assert [it.agent for it in hits(b, "2", "naps", "a1", limit=1)] == [""]


def test_what_is_read_elsewhere_counts_as_no_access_and_writes_nothing() -> None:
    a, b = two()
    share(a, "a2")
    remember_text(a, "Alice likes tea")
    remember_text(b, "Alice snores")
    before = [row for where, row in a.storage.rows.items() if where.scope == a.scope]
    b.memory.state.tiers.access = b.memory.state.tiers.access.without(
        tuple(b.memory.state.tiers.access.records)
    )
    found = hits(b, "1", "Alice", "a1")
    [own] = [it.id for it in found if not it.agent]
    assert list(b.memory.state.tiers.access.records) == [own]
    assert [row for where, row in a.storage.rows.items() if where.scope == a.scope] == before


def test_a_condition_on_the_agent_leaves_archives_out() -> None:
    a, b = two()
    share(a, "a2")
    remember_text(a, "Alice likes tea")
    remember_text(b, "Alice snores")
    assert contents(hits(b, "1", "Alice", "a1", where=(("agent", "eq", "a1"),))) == [("a1", "likes tea")]
    assert contents(hits(b, "2", "Alice", "a1", where=(("agent", "eq", "a2"),))) == [("", "snores")]
    assert hits(b, "3", "Alice", "a1", where=(("agent", "eq", "a3"),)) == ()
    share(a)
    refused = b.ask(Recall("4", "Alice", shared=("a1",), where=(("agent", "eq", "a2"),)))
    assert refused == Refused(NotShared("a1"))


def held_at(pair: Pair, op: str, count: int, kind: type) -> Read:
    """Let a recall with the archive of a1 go on until its question number `count` of this kind."""
    pair.step(Recall(op, "Alice", shared=("a1",)))
    while True:
        read = pair.until(Read)
        count -= isinstance(read.query, kind)
        if not count:
            return read
        pair.answer()


def test_a_secret_that_is_remembered_after_the_grant_was_revoked_is_shown_to_no_search_under_way() -> None:
    a, b = two()
    remember_text(a, "Alice likes tea")
    share(a, "a2")
    held_at(b, "1", 1, ByVector)
    share(a)
    remember_text(a, "Alice has a secret")
    assert b.run().replies["1"].outcome == Refused(NotShared("a1"))


def test_a_fact_that_was_forgotten_before_the_grant_is_shown_to_no_search_under_way() -> None:
    a, b = two()
    remember_text(a, "Alice likes tea")
    held_at(b, "1", 1, ByIds)
    for fact in a.rows("entity"):
        a.ask(Forget("forget", fact.address.id))
    share(a, "a2")
    assert b.run().replies["1"].outcome.value.hits == ()  # type: ignore[union-attr]  # it is done


@pytest.mark.parametrize(("count", "kind"), [(1, ByIds), (2, ByIds)])
def test_a_recall_that_cannot_read_a_grant_fails(count: int, kind: type) -> None:
    a, b = two()
    share(a, "a2")
    held_at(b, "1", count, kind)
    for _ in range(3):
        b.pending[:] = [it for it in b.pending if isinstance(it, Read)]
        b.fail("unavailable")
        b.wake()
    assert type(b.run().replies["1"].outcome).__name__ == "Failed"


def test_one_archive_without_context_leaves_the_other_with_its_own() -> None:
    a, b = two()
    share(a, "a2")
    remember_text(a, "Alice likes tea. Alice snores")
    held_at(b, "1", 1, ByFilter)
    b.fail("refused")
    outcome = b.run().replies["1"].outcome
    assert isinstance(outcome, Done)
    assert [it.name for it in outcome.degraded] == ["context:none"]


def test_a_share_in_flight_is_planned_again_when_another_one_was_first() -> None:
    a, _ = two()
    a.step(ShareArchive("1", ("a2",)))
    a.hold(Commit)
    share(a, "a3")
    a.release()
    assert a.run().replies["1"].outcome == Done(ArchiveShared(("a2",)))
    assert [row.body for row in a.rows("grant")] == [Grant(("a2",))]


def test_a_deleted_agent_shares_nothing_while_its_rows_are_removed() -> None:
    a, b = two()
    remember_text(a, "Alice likes tea")
    share(a, "a2")
    a.step(DeleteAgent("delete"))
    a.until(Commit)
    a.answer()
    assert a.rows("entity") != []
    assert a.rows("grant") == []
    assert b.ask(Recall("1", "Alice", shared=("a1",))) == Refused(NotShared("a1"))


def test_a_saved_recall_searches_no_archive_that_it_does_not_name() -> None:
    a, b = two()
    remember_text(a, "Alice likes tea")
    share(a, "a2")
    held_at(b, "1", 1, ByWords)
    operation = next(iter(b.memory.state.operations.values()))
    law = next(law for law in RECALL.laws if law.description.startswith("each archive"))
    assert law.holds_of(operation.facts, b.scope)
    forged = {**operation.facts, "archives": (b.scope, Scope("u2", "a1"))}
    assert not law.holds_of(forged, b.scope)

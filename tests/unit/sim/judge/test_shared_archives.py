"""Goal: what a recall shows of another archive is judged by what its owner has allowed, and when (ISO-6)."""

from typing import Any

import pytest

from tests.histories import ALICE, DIMS, SCOPE, History, broken, found, hit
from umi_core.config import Config
from umi_core.errors import NotShared
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, ByWords, Query, Read, Refused, Unknown
from umi_core.messages.requests import Recall, ShareArchive
from umi_core.messages.results import ArchiveShared
from umi_core.rows import Address
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.model import ArchiveModel
from umi_sim.services.calls import Call
from umi_sim.services.embedder import embed

READER = Scope("u1", "a2")
GRANT = ByIds((Address(SCOPE, "grant", "grant"),))
TEA = ALICE, "likes tea"
OTHERS: dict[str, Any] = {"shared": ("a1",), "deep": False, "limit": 1}


def both() -> tuple[History, History]:
    """Return an owner that knows of tea, and an agent of its user that knows nothing."""
    owner, reader = History(), History()
    reader.oracle = ArchiveModel(READER, Config(embedding_dims=DIMS), reader.surroundings)
    reader.context, reader.log = reader.oracle.context, reader.oracle.log
    reader.oracle.sharing.logs = owner.oracle.sharing.logs = lambda: {"a1": owner.log, "a2": reader.log}
    owner.store(TEA)
    return owner, reader


def share(owner: History, *agents: str) -> None:
    op_id = owner.ask(ShareArchive("", agents))
    owner.land(op_id)
    owner.reply(op_id, ArchiveShared(agents))


def read(reader: History, op_id: str, query: Query) -> None:
    step = "grants" if isinstance(query, ByIds) else "by_words"
    call = Call(f"{op_id}/{step}", "a", 1, op_id, "", step, Read(query), 0)
    reader.oracle.observe_call(call, reader.context.seen_ms)
    reader.oracle.observe_answer(call, reader.log.flying[op_id].request, ReadDone(0, ()), 0)


def begin(reader: History, *queries: Query) -> str:
    """Begin a recall of what the owner shares, up to these reads."""
    op_id = reader.ask(Recall("", "tea", **OTHERS))
    reader.hear(op_id, "embed", (embed("tea", DIMS),))
    for query in queries:
        read(reader, op_id, query)
    return op_id


def words(scope: Scope) -> ByWords:
    return ByWords(scope, "tea", (), 2, 1)


ALL = GRANT, words(READER), words(SCOPE), GRANT


def end(reader: History, op_id: str, *names: str) -> None:
    """End a recall that shows what the owner knows, of these agents; what it scores is not judged here."""
    reader.surroundings.lag_since = lambda since_ms: 1
    shown = [hit(*TEA, 700_000, agent=agent) for agent in names]
    reader.reply(op_id, found("tea", *shown))


def test_a_hit_of_an_archive_that_is_shared_is_fair_and_one_that_is_not_is_none() -> None:
    owner, reader = both()
    op_id = begin(reader, *ALL)
    with broken("shared-as-granted"):
        end(reader, op_id, "a1")
    share(owner, "a2")
    owner.log.facts.entries.clear()  # so that only what a hit claims is judged, and not what is due
    with broken("hits-ordered"):
        end(reader, begin(reader, *ALL), "a1")
    with broken("shared-as-granted"):
        end(reader, begin(reader, *ALL), "a3")


@pytest.mark.parametrize(
    "queries",
    [(), (GRANT,), (words(READER), words(SCOPE), GRANT), (GRANT, words(READER), words(SCOPE)), ALL[:2]],
)
def test_archives_of_others_are_read_between_two_looks_at_their_grants(queries: tuple[Query, ...]) -> None:
    owner, reader = both()
    share(owner, "a2")
    op_id = begin(reader, *queries)
    with broken("shared-as-granted"):
        end(reader, op_id)


def test_every_archive_that_is_named_is_searched() -> None:
    owner, reader = both()
    share(owner, "a2")
    op_id = begin(reader, GRANT, words(READER), GRANT)
    with broken("shared-as-granted"):
        end(reader, op_id)


def test_a_fact_remembered_after_the_grant_was_revoked_is_no_hit() -> None:
    owner, reader = both()
    share(owner, "a2")
    op_id = begin(reader, *ALL)
    share(owner)
    owner.store((ALICE, "has tea"))
    shown = hit(ALICE, "has tea", 700_000, agent="a1")
    with broken("shared-as-granted"):
        reader.reply(op_id, found("tea", shown))


def test_a_recall_reads_nothing_that_it_does_not_name() -> None:
    _, reader = both()
    op_id = begin(reader)
    for scope in (Scope("u1", "a3"), Scope("u2", "a1")):
        with broken("scope-apart"):
            read(reader, op_id, words(scope))


def test_a_refusal_is_fair_while_some_owner_does_not_let_it_read() -> None:
    owner, reader = both()
    reader.reply(begin(reader), Refused(NotShared("a1")))
    share(owner, "a2")
    with broken("shared-as-granted"):
        reader.reply(begin(reader), Refused(NotShared("a1")))
    with broken("shared-as-granted"):
        reader.reply(begin(reader), Refused(NotShared("a3")))
    op_id = begin(reader)
    share(owner)
    reader.reply(op_id, Refused(NotShared("a1")))
    unknown = reader.ask(Recall("", "tea", shared=("a9",)))
    reader.reply(unknown, Refused(NotShared("a9")))


def test_a_closed_agent_lets_no_other_read() -> None:
    owner, reader = both()
    share(owner, "a2")
    owner.log.empty()
    reader.reply(begin(reader), Refused(NotShared("a1")))


def test_a_reply_names_those_that_may_read_from_now_on() -> None:
    owner, _ = both()
    with broken("shared-as-granted"):
        owner.reply(owner.ask(ShareArchive("", ("a2",))), ArchiveShared(("a2",)))
    share(owner, "a2", "a3")
    owner.reply(owner.ask(ShareArchive("")), ArchiveShared(("a2", "a3")))
    owner.reply(owner.ask(ShareArchive("", ("a3", "a2", "a1", "a2"))), ArchiveShared(("a2", "a3")))
    for agents, shared in (((), ("a2", "a3")), (None, ("a2",)), (("a2", "a3"), ("a3", "a2"))):
        with broken("shared-as-granted"):
            owner.reply(owner.ask(ShareArchive("", agents)), ArchiveShared(shared))
    late = owner.ask(ShareArchive("", ("a2",)))
    owner.reply(late, Unknown())
    owner.land(late)
    owner.reply(owner.ask(ShareArchive("")), ArchiveShared(("a2",)))


def test_what_is_asked_in_the_end_is_all_that_is_shared_and_something_that_is_not() -> None:
    owner, reader = both()
    assert [args["shared"] for args in reader.oracle.sharing.audit()] == [("a1",)]
    share(owner, "a2")
    shared = {"query": "Alice", "limit": 100, "shared": ("a1",)}
    assert [*reader.oracle.sharing.audit()] == [shared]
    assert [args["shared"] for args in owner.oracle.sharing.audit()] == [("a2",)]

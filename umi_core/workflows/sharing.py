"""share_archive: lets other agents of the user read this agent's archive; and the checks of a reader.

    owner   share: b    remember x                share: none    remember y
    b                                recall: x                                recall: refused

Law 1. Only the owner writes its grant row; a reader writes nothing in the owner's archive. Law 2. The error
for an unknown agent is the same as for an agent that does not share.
"""

from collections.abc import Iterable
from typing import Final

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned, Step, Workflow, asks, retry
from umi_core.errors import Error, NotShared
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Read
from umi_core.messages.requests import Recall, ShareArchive
from umi_core.messages.results import ArchiveShared
from umi_core.rows import Grant, Row
from umi_core.values import Scope
from umi_core.workflows.commits import PLAN, REPLY, Plan, address, ask_if_any, commit_row, put

SHARE: Final = Fact("request", ShareArchive)
READERS: Final = Fact("readers", tuple[str, ...])  # those in the stored grant row


def ask_readers(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "grant"),)))


def take_readers(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(READERS(next(map(readers_of, answer.rows), ())))


def readers_of(row: Row) -> tuple[str, ...]:
    return row.body.readers if isinstance(row.body, Grant) else ()


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    agents, known = facts[SHARE].agents, facts[READERS]
    wanted = known if agents is None else tuple(sorted({*agents} - {view.scope.agent}, key=str.encode))
    row = put(view.scope, "grant", "grant", Grant(wanted) if wanted else None)
    writes = () if wanted == known else (row,)
    return Learned(PLAN(Plan(view.now_ms, writes, value=ArchiveShared(wanted))))


SHARE_ARCHIVE: Final = Workflow(
    "share_archive",
    given=(SHARE,),
    steps=(
        Step("load", requires=(SHARE,), produces=(READERS,),
             **asks(Read, ask_readers, take_readers, retry(3))),
        Step("plan", requires=(SHARE, READERS), produces=(PLAN,), take=take_plan),
        commit_row(replan="load", ask=ask_if_any),
        REPLY,
    ),
)  # fmt: skip


# The reader's side.


def list_owners(request: Recall, scope: Scope) -> tuple[Scope, ...]:
    """Return the archives of other agents that a recall names, in the order of the request."""
    agents = dict.fromkeys(request.shared)
    return tuple(Scope(scope.user, agent) for agent in agents if agent != scope.agent)


def ask_grants(owners: tuple[Scope, ...]) -> Read | None:
    return Read(ByIds(tuple(address(owner, "grant") for owner in owners))) if owners else None


def find_unshared(owners: tuple[Scope, ...], rows: Iterable[Row], reader: str) -> Error | None:
    """Return the error for the first owner that does not let the reader read; None if all do."""
    granted = [row.address.scope for row in rows if reader in readers_of(row)]
    return next((NotShared(owner.agent) for owner in owners if owner not in granted), None)

"""Shared archives: which of them a recall may search, and which positions of them it may show.

Law 1. The readers of an archive are part of its log, so they have one value at each position.
Law 2. A recall shows states of another archive between the first and the last position, since its request, at
which this agent was a reader. Without such a position the recall is refused as for an unknown agent.

    owner      1 share: b    2 remember x    3 share: none    4 remember y    5 share: b
    request of b between 2 and 4: only position 2, so x may be a hit; refused if it read the grant at 3 or 4
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from umi_core import limits
from umi_core.data import Owner
from umi_core.errors import Error, NotShared
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Read
from umi_core.messages.requests import Recall
from umi_core.messages.results import ArchiveShared
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.log import Batch, BatchLog, list_readers
from umi_sim.judge.oracle.archive.operations import ArchiveOperation
from umi_sim.judge.oracle.archive.states import FactState
from umi_sim.judge.plain.requests import may_hold
from umi_sim.record import rules

AUDIT_COUNT_MAX: Final = 2
GRANT: Final = "grant"  # the kind of the row with the readers of an archive


class Archive(Owner):
    """An archive that a recall may have searched, and the first and last position that it may have read.

    `agent`: its owner as named in hits; empty for the own archive.
    """

    agent: str
    scope: Scope
    log: BatchLog
    first: int
    last: int

    def states(self, key: str) -> tuple[FactState, ...]:
        """Return the states of a fact that a hit may show."""
        return self.log.facts.since(key, self.first, self.last)

    def positions(self, asked_ms: int = 0, lag_ms: int = 0) -> range:
        """Return the positions that may be shown; for a lagging search also those shortly before."""
        return self.log.positions_from(self.first, self.last, asked_ms, lag_ms)


class Sharing(ArchivePart):
    """Judges requests that share an archive, and recalls that search shared archives."""

    log: BatchLog
    logs: Callable[[], Mapping[str, BatchLog]] = dict  # returns the archives of the user, by agent

    def begin(self, op: ArchiveOperation) -> None:
        """Record the present position of each archive that a recall names."""
        named = self.list_named(op.request) if isinstance(op.request, Recall) and op.error is None else ()
        logs = self.logs() if named else {}
        op.elsewhere = {agent: logs[agent].position for agent in named if agent in logs}

    def list_named(self, request: Recall) -> tuple[str, ...]:
        return tuple(dict.fromkeys(it for it in request.shared if it != self.context.scope.agent))

    def find_granted(self, op: ArchiveOperation, agent: str) -> list[int]:
        """Return the positions since the request at which `agent` grants this agent access to its archive."""
        if agent not in op.elsewhere:
            return []
        log, reader = self.logs()[agent], self.context.scope.agent
        positions = range(op.elsewhere[agent], log.position + 1)
        return [at for at in positions if reader in log.readers.at(GRANT, at)]

    def list_archives(self, op: ArchiveOperation) -> list[Archive]:
        """Return the archives that contain facts which the filter may match, the own archive first."""
        own, request, logs = self.context.scope, op.request, self.logs
        found = [Archive("", own, self.log, op.position, self.log.position)]
        for agent in self.list_named(request):
            granted = self.find_granted(op, agent)
            # After a loss of storage, the grant or the batch that changed it may have been destroyed.
            if not granted and agent in op.elsewhere and self.context.surroundings.atlas.losses:
                granted = [op.elsewhere[agent], logs()[agent].position]
            if granted:
                found.append(Archive(agent, Scope(own.user, agent), logs()[agent], granted[0], granted[-1]))
        return [it for it in found if may_hold(request.where, "entities", it.scope)]

    def list_granting(self) -> tuple[str, ...]:
        """Return the agents that grant this agent access to their archive."""
        own, logs = self.context.scope.agent, self.logs()
        return tuple(it for it, log in logs.items() if own in log.readers.now(GRANT))

    def audit(self) -> Iterator[Mapping[str, object]]:
        """Yield the arguments of recalls that search all shared archives, and one that is not shared."""
        logs, granting, most = self.logs(), self.list_granting(), limits.RECALL_LIMIT_MAX
        facts = [(log, key) for agent in granting for log in [logs[agent]] for key in log.facts.entries]
        names = dict.fromkeys(it.name for log, key in facts if (it := log.state(key).entity) is not None)
        for name in [*names][:AUDIT_COUNT_MAX]:
            yield {"query": name, "limit": most, "shared": granting}
        for agent in [it for it in logs if it not in (*granting, self.context.scope.agent)][:1]:
            yield {"query": agent, "shared": (*granting, agent)}

    # Questions.

    def judge_question(self, op: ArchiveOperation, effect: object) -> None:
        """Demand that a recall reads only its own archive and those that it names."""
        if not isinstance(op.request, Recall) or not isinstance(effect, Read):
            return
        own, query = self.context.scope, effect.query
        scopes = [it.scope for it in query.addresses] if isinstance(query, ByIds) else [query.scope]
        named = [own, *(Scope(own.user, agent) for agent in self.list_named(op.request))]
        others = [it for it in scopes if it not in named]
        message = "a recall reads an archive that it does not name"
        self.demand(not others, rules.SCOPE_APART, message, named, others)

    def judge_recall(self, op: ArchiveOperation) -> None:
        """Demand that every archive was granted, and that the recall read the grants before and after it."""
        named = self.list_named(op.request)
        if not named:
            return
        if not self.context.surroundings.atlas.losses:
            denied = [agent for agent in named if not self.find_granted(op, agent)]
            self.demand(not denied, rules.SHARED_AS_GRANTED, "archives that are not shared", [], denied)
        done = [it.effect for it in op.attempts if isinstance(it.answer, ReadDone)]
        asked = [it.query for it in done if isinstance(it, Read)]
        order = [is_of_grants(query) for query in asked if is_of_grants(query) or self.is_of_others(query)]
        message = "the reads of grants among those of archives of others"
        is_between = op.is_turned_away or (len(order) > 1 and order[0] and order[-1])
        self.demand(is_between, rules.SHARED_AS_GRANTED, message, "grants first and last", order)

    def is_of_others(self, query: Any) -> bool:
        return not isinstance(query, ByIds) and query.scope != self.context.scope

    # Replies.

    def judge_shared(self, op: ArchiveOperation, value: ArchiveShared, batch: Batch | None) -> None:
        """Demand that a reply names the agents that may read the archive from now on."""
        known = self.log.readers.since(GRANT, op.position)
        expected = known if batch is None else (self.log.readers.at(GRANT, batch.position),)
        wanted = list_readers(op.request, self.context.scope)
        expected = expected if wanted is None else tuple(it for it in expected if it == wanted)
        if self.context.surroundings.atlas.losses and wanted is not None:
            expected = (wanted,)
        message = "the readers of an archive in a reply"
        self.demand(
            value.agents in expected, rules.SHARED_AS_GRANTED, message, expected or known, value.agents
        )

    def find_refusal(self, op: ArchiveOperation, error: Error | None) -> Error | None:
        """Return the error with which a recall may be refused, if an archive was not shared at some time."""
        if not isinstance(error, NotShared) or error.agent not in self.list_named(op.request):
            return None
        log = self.logs().get(error.agent)
        if log is None or self.context.surroundings.atlas.losses:
            return error
        reader = self.context.scope.agent
        states = log.readers.since(GRANT, op.elsewhere[error.agent])
        return error if any(reader not in it for it in states) else None


def is_of_grants(query: Any) -> bool:
    return isinstance(query, ByIds) and all(it.kind == GRANT for it in query.addresses)

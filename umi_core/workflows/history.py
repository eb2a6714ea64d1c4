"""History: which versions a next one leaves, and what an entity loses to a limit, so that the reply names it.

    dropped_lines      lines for which the new content has no room: no search finds them any more
    dropped_history    lines that only the version had that leaves: no row holds them any more

Law 1. What writes a next version takes its rows from `written_drafts`, which returns the losses with them.
Law 2. A loss is counted only where the text was read: a version that cannot be read counts none.
"""

from collections.abc import Callable, Iterable
from typing import Final

import attrs

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned, Step, asks, degrade, nothing, retry
from umi_core.ids import relation_id
from umi_core.limits import ENTITY_VERSION_COUNT_MAX
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Read, Write
from umi_core.rows import Entity, Row, Version
from umi_core.values import EVOLUTION_KINDS, Loss, Scope
from umi_core.workflows.commits import address, put
from umi_core.workflows.drafting import EVOLVED, Drafted, lost_lines

HISTORY: Final = Fact("history", tuple[Row, ...])  # the versions of each entity of which one leaves

DROPPED_LINES: Final = "dropped_lines"
DROPPED_HISTORY: Final = "dropped_history"


@attrs.frozen
class Written:
    """The rows that a batch writes of some drafts, and what the entities lose by it."""

    writes: tuple[Write, ...]
    losses: tuple[Loss, ...]


def written_drafts(
    drafts: Iterable[Drafted],
    versions: Iterable[Version],
    rows_of: Callable[[Drafted], Iterable[Write]],
    scope: Scope,
) -> Written:
    """Return the rows of these drafts: those that `rows_of` makes of one, and the version that it leaves.

    `versions`: those that are stored of each entity of which one leaves.
    """
    by_entity: dict[str, list[Version]] = {}
    for version in versions:
        by_entity.setdefault(version.entity_id, []).append(version)
    writes, losses = list[Write](), list[Loss]()
    for draft in drafts:
        writes += rows_of(draft)
        if draft.is_changed:
            writes += outdated(draft.entity, scope)
            losses += losses_of(draft, by_entity.get(draft.entity.id, ()))
    return Written(tuple(writes), tuple(losses))


def losses_of(draft: Drafted, versions: Iterable[Version]) -> list[Loss]:
    entity, last = draft.entity, last_version(draft.entity)
    leaving = [it.content for it in versions if it.version == last]
    others = [it.content for it in versions if it.version > last]
    counts = {
        DROPPED_LINES: draft.dropped_count,
        DROPPED_HISTORY: sum(len(lost_lines(it, entity.content, *others)) for it in leaving),
    }
    return [(name, entity.id, count) for name, count in counts.items() if count]


def last_version(entity: Entity) -> int:
    """The version that leaves with this one; below 1 none does."""
    return entity.version - ENTITY_VERSION_COUNT_MAX


def outdated(entity: Entity, scope: Scope) -> Iterable[Write]:
    """Version n takes version n-100 with it, and the relation from there, whatever its kind."""
    last = last_version(entity)
    if last < 1:
        return
    yield put(scope, "version", f"{entity.id}@{last}", None)
    for kind in EVOLUTION_KINDS:
        yield put(scope, "relation", relation_id(scope, (entity.id, last), (entity.id, last + 1), kind), None)


def versions_in(rows: tuple[Row, ...]) -> tuple[Version, ...]:
    return tuple(row.body for row in rows if isinstance(row.body, Version))


# The step that reads them.


def ask_history(facts: Facts, view: View) -> Read | None:
    """Nothing, unless some entity has as many versions as are kept."""
    drafts = [draft for draft in facts[EVOLVED] if draft.is_next and last_version(draft.entity) >= 1]
    wanted = [
        address(view.scope, "version", f"{draft.entity.id}@{number}")
        for draft in drafts
        for number in range(last_version(draft.entity), draft.entity.version)
    ]
    return Read(ByIds(tuple(wanted))) if wanted else None


def take_history(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(HISTORY(answer.rows if answer is not None else ()))


READ_HISTORY: Final = Step(
    "history", requires=(EVOLVED,), produces=(HISTORY,), otherwise=nothing(HISTORY), spares=("version",),
    loose=("version",),
    **asks(Read, ask_history, take_history, retry(2, then=degrade("unread", HISTORY(())))),
)  # fmt: skip

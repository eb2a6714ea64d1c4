"""A memory asks its services only for rows of its own scope, and only for rows that can exist.

A read with a kind, a field or an id that no row can have finds nothing, and the memory would continue as if
nothing were stored. The same holds for a read of another scope without rows, and for the rows that a commit
expects. The name of a model's task must only be a word, since added workflows have tasks of their own.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from umi_core.limits import PPM
from umi_core.messages.effects import AskModel, ByIds, ByVector, ByWords, Commit, Effect, Expect, Query, Read
from umi_core.rows import BODIES, Address
from umi_core.shapes import anything
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.plain.requests import HOLDS
from umi_sim.judge.state.plans import is_of_scope
from umi_sim.machines.protocol import Machine
from umi_sim.record import rules
from umi_sim.record.broken import demand

NAMED_BY_USERS: Final = ("archival",)  # a user may give any text as the id of a record
Kinds = tuple[str, ...]
OF_OTHERS: Final[Mapping[str, tuple[Kinds, Kinds]]] = {
    "load_session": (("entity",), ("resource",)), "recall": (("grant",), ("entity", "ended")),
}  # fmt: skip
"""By workflow, the kinds of rows of the user's other agents that it may read by id, and by a search. The
oracle judges which rows (umi_sim/judge/oracle/handoffs.py and archive/sharing.py there)."""
NONE: Final[tuple[Kinds, Kinds]] = ((), ())
FIELDS_OF: Final = {kind: {*cls.derived, *cls.__struct_fields__} for kind, cls in BODIES.items()}


class ServiceQuestions(Observer):
    """Checks every question of a memory to its services."""

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        for effect in effects:
            workflow = machine.origin_of(effect).workflow if isinstance(effect, Read | Commit) else ""
            of_others = OF_OTHERS.get(workflow, NONE)
            match effect:
                case Read():
                    check_query(effect.query, scope, of_others)
                case Commit():
                    check_expects(effect.expects, scope, of_others)
                case AskModel():
                    is_word = effect.task != "" and not is_broken(effect.task)
                    demand(is_word, rules.WHOLE_VALUES, "the task of a question", "a word", effect.task)


def check_query(query: Query, scope: Scope, of_others: tuple[Kinds, Kinds] = NONE) -> None:
    check_types(query)
    if isinstance(query, ByIds):
        check_addresses(query.addresses, scope, of_others)
        return
    kinds = (query.kind,) if isinstance(query, ByVector | ByWords) else query.kinds
    is_allowed = query.scope.user == scope.user and all(kind in of_others[1] for kind in kinds)
    message = "the scope of the rows that a read asks for"
    demand(is_allowed or query.scope == scope, rules.SCOPE_APART, message, scope, query.scope)
    check_kinds(kinds)
    for it in query.where:
        # It is enough if one kind has the field: type = "person" for the kinds entity and vector.
        is_known = it.operator in HOLDS and any(it.field in FIELDS_OF[kind] for kind in kinds)
        demand(is_known, rules.WHOLE_VALUES, f"a condition that no row of {kinds} can fulfil", "", it)
    limit, least_ppm = getattr(query, "limit", None), getattr(query, "min_score_ppm", 0)
    message = "the limit of a read"
    demand(limit is None or limit > 0, rules.WHOLE_VALUES, message, "1 or more", limit)
    message = "the least score of a read"
    demand(0 <= least_ppm <= PPM, rules.WHOLE_VALUES, message, f"0 to {PPM}", least_ppm)


def check_types(asked: object) -> None:
    wrong = anything(asked)
    demand(not wrong, rules.WHOLE_VALUES, "a field of a read or an expect has a wrong value", "", wrong)


def check_expects(expects: tuple[Expect, ...], scope: Scope, of_others: tuple[Kinds, Kinds] = NONE) -> None:
    check_types(expects)
    if expects:
        check_addresses(tuple(it.address for it in expects), scope, of_others)
    below = [it for it in expects if it.version < 0]
    demand(not below, rules.WHOLE_VALUES, "a commit expects versions below 0", [], below)


def check_addresses(
    addresses: tuple[Address, ...], scope: Scope, of_others: tuple[Kinds, Kinds] = NONE
) -> None:
    if addresses and all(is_fit(it, scope) for it in addresses):
        return
    check_kinds([it.kind for it in addresses])
    nameless = [it for it in addresses if not is_named(it)]
    demand(not nameless, rules.WHOLE_VALUES, "rows are asked for without an id", [], nameless)
    strange = [it for it in addresses if not is_of_scope(it, scope)]
    others = [it for it in strange if it.scope.user != scope.user or it.kind not in of_others[0]]
    demand(not others, rules.SCOPE_APART, f"a memory of {scope} asks for rows of others", [], others)


def is_fit(address: Address, scope: Scope) -> bool:
    return address.kind in BODIES and is_named(address) and is_of_scope(address, scope)


def is_named(address: Address) -> bool:
    return bool(address.id or address.kind in NAMED_BY_USERS) and not is_broken(address.id)


def is_broken(text: str) -> bool:
    """Return True if `text` contains a lone surrogate."""
    return not text.isascii() and any("\ud800" <= it <= "\udfff" for it in text)


def check_kinds(kinds: Sequence[str]) -> None:
    demand(len(kinds) > 0, rules.WHOLE_VALUES, "the kinds of rows that a read asks for", "one or more", kinds)
    unknown = [kind for kind in kinds if kind not in BODIES]
    demand(not unknown, rules.WHOLE_VALUES, "a read asks for kinds of rows that do not exist", [], unknown)

"""Tampering: an intruder with write access to storage changes rows while memories run.

Law 1. A changed row is valid and keeps its address and scope: it is an earlier version of the row, or forged.
Nothing in the rows shows the change.
Law 2. A change follows from the seed and the number of its op, so removing other ops does not change it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import structs

from umi_core.data import Owner
from umi_core.limits import I64_MAX
from umi_core.rows import Address, Body, Row
from umi_sim.kernel.prng import Keyed
from umi_sim.services.storage import SimStorage
from umi_sim.services.stored_rows import address_order

T = TypeVar("T")
EARLIER_COUNT_MAX: Final = 16
LIE: Final = "was never told"
Rows = Mapping[Address, Row]
Change = Mapping[Address, Row | None]


def turned_text(body: Any) -> Body:
    blocks = tuple(
        structs.replace(block, text=None if block.text is None else LIE[: len(block.text)])
        for block in body.blocks
    )
    forged: Body = structs.replace(body, blocks=blocks)
    return forged


# Each function makes a false but valid body: all fields are in their ranges.
FORGED: Final[Mapping[str, Callable[[Any], Body]]] = {
    "entity": lambda body: structs.replace(body, content=LIE, importance_ppm=0, version=body.version + 3),
    "ended": lambda body: structs.replace(body, by=body.id, how="contradict"),
    "relation": lambda body: structs.replace(body, source=body.target, target=body.source),
    "vector": lambda body: structs.replace(body, components=body.components[::-1]),
    "access": lambda body: structs.replace(body, count=body.count + 1_000, first_ms=0),
    "head": lambda body: structs.replace(body, cursor="access/zzz"),
    "core": turned_text,
    "receipt": lambda body: structs.replace(body, plan_digest=body.plan_digest[::-1]),
    "session": lambda body: structs.replace(body, members=(), saved_ms=0),
    "grant": lambda body: structs.replace(body, readers=body.readers[1:]),
    "resource": lambda body: structs.replace(body, text=LIE, extracted_types=(), first_line=7),
    "reflection": lambda body: structs.replace(body, text=LIE, sources=(), session_id=body.id),
    "category": lambda body: structs.replace(body, member_count=I64_MAX, summary=LIE),
    "membership": lambda body: structs.replace(body, entity_version=body.entity_version + 3),
    "subcategory": lambda body: structs.replace(body, name=LIE, founder_id=body.category_id, keywords=()),
}


class Tampering(Owner):
    """Changes rows of one store, once per `every` operations (0: never). `earlier_rows`: past snapshots."""

    every: int
    draws: Keyed
    uncompared = ("draws",)
    earlier_rows: list[Rows] = []
    done_count: int = 0

    def tamper_before(self, op_id: str, storage: SimStorage, now_ms: int) -> str:
        """Change rows if a change is due before this operation; return its name, or "" if none is due."""
        # By "o17" three changes are due if `every` is 5. They depend on the number in the id, so leaving out
        # ops does not move them.
        change_count = int(op_id[1:]) // self.every if self.every else 0
        if self.done_count >= change_count:
            return ""
        self.done_count = change_count
        before = dict(storage.rows)
        ways = [(name, changes) for name, changes in self.list_changes(before) if changes]
        name, changes = self.pick("way", ways) if ways else ("", ({},))
        storage.put_back(self.pick("what", changes), now_ms)
        self.earlier_rows = [*self.earlier_rows, before][-EARLIER_COUNT_MAX:]
        return name

    def pick(self, label: str, options: Sequence[T]) -> T:
        return options[self.draws.draw(f"{self.done_count}/{label}") % len(options)]

    def list_changes(self, rows: Rows) -> Iterator[tuple[str, tuple[Change, ...]]]:
        """Yield each kind of change with all possible changes of that kind."""
        there = sorted(rows, key=address_order)
        yield (
            "a row is rolled back",
            tuple(
                {address: old[address]}
                for address in there
                for old in self.earlier_rows
                if address in old and old[address].version != rows[address].version
            ),
        )
        yield (
            "a row is forged",
            tuple(
                {address: structs.replace(row, body=FORGED[address.kind](row.body))}
                for address, row in ((address, rows[address]) for address in there)
                if address.kind in FORGED
            ),
        )
        scopes = dict.fromkeys(address.scope for address in there)
        yield (
            "a scope is rolled back",
            tuple(
                change
                for old in self.earlier_rows
                for scope in scopes
                if (change := roll_back_scope(rows, old, scope))
            ),
        )


def roll_back_scope(rows: Rows, old: Rows, scope: object) -> Change:
    """Return the changes that restore a scope to a snapshot; rows that were absent then are removed."""
    both = sorted({**rows, **old}, key=address_order)
    return {it: old.get(it) for it in both if it.scope == scope and old.get(it) != rows.get(it)}

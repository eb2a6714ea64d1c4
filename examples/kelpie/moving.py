"""Blocks that a server keeps in a store of its own move to a file of the memory; the old store is emptied.

Then the memory is opened, and answers for itself.

python moving.py
"""

import sys
import time

from umi_core.kelpie.delegate import Delegate
from umi_core.messages.answers import Answer, Committed, ReadDone
from umi_core.messages.effects import Commit, Outcome, Read, Reply
from umi_core.migration.migrator import LEGACY, Migrator
from umi_core.migration.requests import (
    AdvanceMigration,
    CompareStores,
    MigrationRequest,
    Purge,
    PutRow,
    Reconcile,
)
from umi_core.migration.rows import Moved
from umi_core.rows import Address, Row
from umi_core.values import Scope
from umi_live import open_blocking
from umi_live.sqlite import SqliteStorage

FILE = sys.argv[1] if len(sys.argv) > 1 else "moving.db"
SCOPE = Scope("ann", "helper")
BLOCKS = (1, "blocks")


class Server:
    """Two stores, and the migrator between them. `old` is what the server has had: here a table of texts."""

    def __init__(self, old: dict[str, str]) -> None:
        self.old, self.main = old, SqliteStorage(FILE)
        self.migrator = Migrator(SCOPE, life=time.time_ns())  # another number each time

    def ask(self, request: MigrationRequest) -> Outcome:
        (effect,) = self.migrator.step(now_ms(), request)
        while not isinstance(effect, Reply):
            assert isinstance(effect, Read | Commit)
            answer = self.of_old(effect) if effect.store == LEGACY else self.of_main(effect)
            (effect,) = self.migrator.step(now_ms(), answer)
        return effect.outcome

    def of_main(self, effect: Read | Commit) -> Answer:
        if isinstance(effect, Read):
            return self.main.read(effect.request_id, effect.query)
        return self.main.commit(effect, now_ms())

    def of_old(self, effect: Read | Commit) -> Answer:
        """All rows, or one write."""
        if isinstance(effect, Read):
            return ReadDone(effect.request_id, tuple(row(label, text) for label, text in self.old.items()))
        (write,) = effect.writes
        label = write.address.id.removeprefix("blocks/")
        if isinstance(write.body, Moved) and write.body.content is not None:
            self.old[label] = write.body.content
        else:
            self.old.pop(label, None)
        return Committed(effect.request_id, ((write.address, 1),))


def row(label: str, text: str) -> Row:
    address = Address(SCOPE, "moved", f"blocks/{label}")
    return Row(address, 1, Moved(address.id, "blocks", text))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    server = Server({"human": "Ann likes tea.", "persona": "I am patient."})
    for request in (
        AdvanceMigration(*BLOCKS),
        Reconcile(*BLOCKS),
        CompareStores(*BLOCKS),
        AdvanceMigration(*BLOCKS),
        PutRow(*BLOCKS, "human", "Ann likes coffee."),
        AdvanceMigration(*BLOCKS),
        AdvanceMigration(*BLOCKS),
        AdvanceMigration(*BLOCKS),
        Purge(*BLOCKS),
        Purge(*BLOCKS),
        AdvanceMigration(*BLOCKS),  # to done: the rows become the memory's own
    ):
        print(type(request).__name__, server.ask(request))
    print("left in the old store:", server.old)
    server.main.close()
    with open_blocking(FILE, user=SCOPE.user, agent=SCOPE.agent) as memory:
        print(Delegate(memory.drive).build_system_prompt("You are a helper.", "tagged"))

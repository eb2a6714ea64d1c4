"""agno: umi-sim target agno_memories:Sqlite   (and :Searching, :Failing)

Run with agno 3.1.10, SQLAlchemy 2.1.9.
"""

import logging

from agno.db.schemas.memory import UserMemory
from agno.db.sqlite import SqliteDb

from umi_sim.targets import MISSING, Known, MemoryStore

logging.getLogger("agno").setLevel(logging.CRITICAL)


class Sqlite(MemoryStore):
    durable = True
    values = "text"
    fails = ()  # see docs/findings.md
    known = (Known("docs/findings.md: a search for other than ASCII", op="search"),)

    def make(self):
        self.db = SqliteDb(db_file=str(self.folder / "agno.db"))

    def close(self):
        self.db.close()

    def add(self, id, text, user):
        self.db.upsert_user_memory(UserMemory(memory=text, memory_id=id, user_id=user))
        return id

    def get(self, id):
        found = self.db.get_user_memory(id)
        return MISSING if found is None else found.memory

    def update(self, id, text):
        old = self.db.get_user_memory(id)
        if old is not None:
            self.db.upsert_user_memory(UserMemory(memory=text, memory_id=id, user_id=old.user_id))

    def delete(self, id):
        self.db.delete_user_memory(id)

    def list(self, user):
        return [(each.memory_id, each.memory) for each in self.db.get_user_memories(user_id=user)]

    def search(self, query, user, limit=10):
        found = self.db.get_user_memories(user_id=user, search_content=query, limit=limit)
        return [(each.memory_id, each.memory) for each in found]


class Searching(Sqlite):
    """Shows a failure that docs/findings.md describes, as does the next class."""

    known = ()


class Failing(Sqlite):
    fails = ("statement",)

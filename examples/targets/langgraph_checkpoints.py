"""langgraph checkpoint savers: umi-sim target langgraph_checkpoints:InMemory   (and :Sqlite and others)

Run with langgraph-checkpoint 4.3.2, langgraph-checkpoint-sqlite 3.1.2. A session is a thread, and each
message a checkpoint after the one before it.
"""

import sqlite3

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from umi_sim.targets import Sessions


class InMemory(Sessions):
    batch_atomic = False  # checkpoints are put one by one

    def make(self):
        self.saver = InMemorySaver()

    def _where(self, session):
        return {"configurable": {"thread_id": session, "checkpoint_ns": ""}}

    def add(self, session, items):
        latest = self.saver.get_tuple(self._where(session))
        number = int(latest.checkpoint["id"]) if latest else 0
        for step, item in enumerate(items, number + 1):
            versions = {"message": step}
            own = {"id": f"{step:08d}", "channel_values": {"message": item}, "channel_versions": versions}
            metadata = {"source": "loop", "step": step, "parents": {}}
            self.saver.put(self._where(session), {**empty_checkpoint(), **own}, metadata, versions)

    def get(self, session, limit=None):
        newest_first = self.saver.list(self._where(session), limit=limit)
        return [each.checkpoint["channel_values"]["message"] for each in newest_first][::-1]

    def delete(self, session):
        self.saver.delete_thread(session)


class Sqlite(InMemory):
    durable = True
    fails = ()  # failures: see the classes below

    def make(self):
        self.db = sqlite3.connect(self.folder / "checkpoints.db", check_same_thread=False)
        self.saver = SqliteSaver(self.db)

    def close(self):
        self.db.close()


class FailingStatement(Sqlite):
    """Shows a failure that docs/findings.md describes, as does the next class."""

    fails = ("statement",)


class FailingCommit(Sqlite):
    fails = ("commit",)

"""mem0: umi-sim target mem0_memory:Local

Run with mem0ai 2.2.1 and qdrant-client 1.20.0. Texts are stored unchanged (`infer=False`), so no model
is needed; the vector of a text is a hash of its words.
"""

import logging
import os
import zlib

os.environ["MEM0_TELEMETRY"] = "False"  # mem0 reads it when it is imported

import mem0

from umi_sim.targets import Known, MemoryStore

logging.getLogger("mem0").setLevel(logging.CRITICAL)
DIMENSIONS = 16


class ByWords:
    """Replaces an embedder that needs a network."""

    def embed(self, text, memory_action=None):
        found = [0.0] * (DIMENSIONS - 1)
        for word in text.split():
            found[zlib.crc32(word.encode()) % len(found)] += 1.0
        return [*found, 1.0]

    def embed_batch(self, texts, memory_action=None):
        return [self.embed(text) for text in texts]


class Local(MemoryStore):
    """A collection of qdrant in this process, and a history in SQLite."""

    durable = True
    values = "text"
    scope_ids = "stripped"  # documented; names with blanks inside are refused
    delete_reports = "existed"
    finds_own = False  # even the text itself may be below the threshold
    fails = ()  # see docs/findings.md for a statement of SQLite that fails
    known = (Known("docs/findings.md: two stores without a common transaction", rule="crash-split"),)
    wildcard = "*"  # refused as a user; see docs/findings.md
    kind = mem0.Memory

    def make(self):
        folder = str(self.folder)
        none = {"provider": "openai", "config": {"api_key": "none"}}  # never called
        rows = {"path": f"{folder}/qdrant", "on_disk": True, "embedding_model_dims": DIMENSIONS}
        self.memory = self.kind.from_config({
            "vector_store": {"provider": "qdrant", "config": rows},
            "history_db_path": f"{folder}/history.db", "llm": none, "embedder": none,
        })  # fmt: skip
        self.memory.embedding_model = ByWords()

    def close(self):
        self.memory.close()
        self.memory.vector_store.client.close()

    def _named(self, user, agent, run):
        if self.wildcard in (user, agent, run):
            raise ValueError(self.wildcard)
        named = {"user_id": user, "agent_id": agent, "run_id": run}
        return {name: value for name, value in named.items() if value is not None}

    def add(self, text, user, agent=None, run=None):
        done = self.memory.add(text, **self._named(user, agent, run), infer=False)
        return done["results"][0]["id"]

    def get(self, id):
        found = self.memory.get(id)
        return None if found is None else found["memory"]

    def update(self, id, text):
        self.memory.update(id, text)

    def delete(self, id):
        try:
            self.memory.delete(id)
        except ValueError as error:  # the entry does not exist
            raise KeyError from error
        return True

    def list(self, user, agent=None, run=None):
        found = self.memory.get_all(filters=self._named(user, agent, run), top_k=1_000)
        return [(each["id"], each["memory"]) for each in found["results"]]

    def search(self, query, user, agent=None, run=None, limit=10):
        found = self.memory.search(query, filters=self._named(user, agent, run), top_k=limit)
        return [(each["id"], each["memory"]) for each in found["results"]]

    def delete_all(self, user, agent=None, run=None):
        self.memory.delete_all(**self._named(user, agent, run))

    def history(self, id):
        return [each["new_memory"] for each in self.memory.history(id)]


class FailingStatement(Local):
    """Shows a failure that docs/findings.md describes, as does the next class."""

    fails = ("statement",)
    known = ()


class Wildcard(Local):
    wildcard = ""

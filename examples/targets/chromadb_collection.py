"""chromadb: umi-sim target chromadb_collection:Collection

Run with chromadb 1.5.9. The vector of a text is its hash, so no model is needed and all vectors
differ. Users are metadata.
"""

import hashlib

import chromadb

from umi_sim.targets import MemoryStore


class ByText(chromadb.EmbeddingFunction):
    def __init__(self):
        pass

    def __call__(self, input):
        return [self.vector(text) for text in input]

    def vector(self, text):
        return [*map(float, hashlib.blake2b(text.encode(), digest_size=16).digest())]


class Collection(MemoryStore):
    durable = True
    fails = ()

    def make(self):
        self.client = chromadb.PersistentClient(str(self.folder))
        self.rows = self.client.get_or_create_collection("notes", embedding_function=ByText())

    def close(self):
        self.client.close()

    def add(self, id, text, user):
        self.rows.add(ids=[id], documents=[text], metadatas=[{"user": user}])
        return id

    def get(self, id):
        found = self.rows.get(ids=[id])["documents"]
        return found[0] if found else None

    def update(self, id, text):
        self.rows.update(ids=[id], documents=[text])

    def delete(self, id):
        self.rows.delete(ids=[id])

    def list(self, user):
        found = self.rows.get(where={"user": user})
        return list(zip(found["ids"], found["documents"], strict=True))

    def count(self, user):
        return len(self.rows.get(where={"user": user})["ids"])

    def search(self, query, user, limit=10):
        found = self.rows.query(query_texts=[query], where={"user": user}, n_results=limit)
        return list(zip(found["ids"][0], found["documents"][0], strict=True))

    def delete_all(self, user):
        self.rows.delete(where={"user": user})

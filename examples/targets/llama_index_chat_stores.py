"""llama-index: umi-sim target llama_index_chat_stores:Simple   (and :Sql, :SqlReady)

Run with llama-index-core 0.14.25 and SQLAlchemy 2.1.9.
"""

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from umi_sim.targets import Known, Sessions


def told(message):
    return None if message is None else {"role": message.role.value, "content": message.content}


class Simple(Sessions):
    values = "text"

    def make(self):
        self.store = SimpleChatStore()

    def add(self, session, items):
        for item in items:
            self.store.add_message(session, ChatMessage(**item))

    def get(self, session):
        return [told(each) for each in self.store.get_messages(session)]

    def pop(self, session):
        return told(self.store.delete_last_message(session))

    def delete(self, session):
        self.store.delete_messages(session)

    def sessions(self):
        return self.store.get_keys()


class Sql(Sessions):
    known = (
        Known("docs/findings.md: an empty batch", rule="raises", op="add", says="IntegrityError"),
        Known("docs/findings.md: a cancelled request", rule="raises", says="database is locked"),
        Known("docs/findings.md: two first requests", rule="raises", says="no such table"),
    )
    fails = ("statement",)  # docs/findings.md: a failing COMMIT, below SQLAlchemy
    order = "time"  # and for two batches of one time
    values = "text"
    durable = True
    limit_takes = "first"

    async def make(self):
        url = f"sqlite+aiosqlite:///{self.folder}/s.db"
        self.store = SQLAlchemyChatStore(table_name="chat", async_database_uri=url)

    async def close(self):
        if self.store._async_engine is not None:
            await self.store._async_engine.dispose()

    async def add(self, session, items):
        await self.store.add_messages(session, [ChatMessage(**item) for item in items])

    async def get(self, session, limit=None):
        return [told(each) for each in await self.store.get_messages(session, limit=limit)]

    async def delete(self, session):
        await self.store.delete_messages(session)

    async def sessions(self):
        return await self.store.get_keys()


class SqlReady(Sql):
    """With its tables made before the first request."""

    async def make(self):
        await super().make()
        await self.store.get_messages("")


class SqlFirst(Sql):
    """Shows a failure that docs/findings.md describes, as do the classes below."""

    known = Sql.known[:2]


class SqlInOrder(SqlReady):
    order = "insertion"


class SqlFailingCommit(SqlReady):
    fails = ("commit",)

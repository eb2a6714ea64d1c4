"""LangChain: umi-sim target langchain_histories:InMemory   (and :File, :Sql, :AsyncSql and others)

Run with langchain-core 1.8.3, langchain-community 0.4.2, SQLAlchemy 2.1.9, aiosqlite 0.22.1.
"""

from langchain_community.chat_message_histories import FileChatMessageHistory, SQLChatMessageHistory
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import convert_to_messages, convert_to_openai_messages
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from umi_sim.targets import Known, Sessions


class InMemory(Sessions):
    values = "text"

    def make(self):
        self.opened = {}

    def _of(self, session):
        return self.opened.setdefault(session, InMemoryChatMessageHistory())

    async def add(self, session, items):
        await self._of(session).aadd_messages(convert_to_messages(items))

    async def get(self, session):
        return convert_to_openai_messages(await self._of(session).aget_messages())

    async def clear(self, session):
        await self._of(session).aclear()


class File(InMemory):
    durable = True
    refuses = (ValueError, TypeError, OSError)  # a name may be too long for a file name
    batch_atomic = False  # messages are added one by one
    fails = ()  # see docs/findings.md
    known = (
        Known("docs/findings.md: concurrent requests", rule="at-once"),
        Known("docs/findings.md: a death while it adds", rule="raises", says="JSONDecodeError"),
    )

    def _of(self, session):
        return FileChatMessageHistory(str(self.folder / f"{session.encode().hex()}.json"))


class Sql(InMemory):
    durable = True
    fails = ("statement",)  # docs/findings.md: a failing COMMIT, below in SQLAlchemy

    def make(self):
        self.engine = create_engine(f"sqlite:///{self.folder}/chat.db")

    def close(self):
        self.engine.dispose()

    def _of(self, session):
        return SQLChatMessageHistory(session, connection=self.engine)

    def add(self, session, items):
        self._of(session).add_messages(convert_to_messages(items))

    def get(self, session):
        return convert_to_openai_messages(self._of(session).messages)

    def clear(self, session):
        self._of(session).clear()


class AsyncSql(InMemory):
    durable = True
    fails = ("statement",)
    known = (
        Known("docs/findings.md: two first requests", says="already exists"),
        Known("docs/findings.md: a cancelled read, below in SQLAlchemy", rule="raises", says="is locked"),
    )

    def make(self):
        self.engine = create_async_engine(f"sqlite+aiosqlite:///{self.folder}/chat.db")

    async def close(self):
        await self.engine.dispose()

    def _of(self, session):
        return SQLChatMessageHistory(session, connection=self.engine)


class FileShared(File):
    """Shows a failure that docs/findings.md describes, as do the next two classes."""

    known = ()


class FileFailing(File):
    fails = ("write",)
    known = File.known[:1]


class AsyncSqlFirst(AsyncSql):
    known = AsyncSql.known[1:]

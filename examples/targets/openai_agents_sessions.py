"""openai-agents: umi-sim target openai_agents_sessions:InFile   (and :Async, :Alchemy)

Run with openai-agents 0.24.0, aiosqlite 0.22.1, SQLAlchemy 2.1.9.
"""

from agents.extensions.memory import AsyncSQLiteSession, SQLAlchemySession
from agents.memory import SQLiteSession

from umi_sim.targets import Sessions


class InFile(Sessions):
    durable = True

    def _of(self, session):
        if session not in self.sessions_open:
            self.sessions_open[session] = SQLiteSession(session, self.folder / "s.db")
        return self.sessions_open[session]

    def make(self):
        self.sessions_open = {}

    def close(self):
        for session in self.sessions_open.values():
            session.close()

    async def add(self, session, items):
        await self._of(session).add_items(items)

    async def get(self, session, limit=None):
        return await self._of(session).get_items(limit)

    async def pop(self, session):
        return await self._of(session).pop_item()

    async def clear(self, session):
        await self._of(session).clear_session()


class Async(InFile):
    def _of(self, session):
        if session not in self.sessions_open:
            self.sessions_open[session] = AsyncSQLiteSession(session, self.folder / "s.db")
        return self.sessions_open[session]

    async def close(self):
        for session in self.sessions_open.values():
            await session.close()


class Alchemy(InFile):
    def _of(self, session):
        if session not in self.sessions_open:
            url = f"sqlite+aiosqlite:///{self.folder}/s.db"
            self.sessions_open[session] = SQLAlchemySession.from_url(session, url=url, create_tables=True)
        return self.sessions_open[session]

    async def close(self):
        for session in self.sessions_open.values():
            await session.engine.dispose()

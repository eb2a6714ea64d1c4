"""google-adk: umi-sim target google_adk_sessions:InMemory   (and :Sqlite, :Database)

Run with google-adk 2.13.0, aiosqlite 0.22.1, SQLAlchemy 2.1.9. A message is an event with one part of text.
"""

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService, InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai.types import Content, Part
from sqlalchemy.orm.exc import StaleDataError

from umi_sim.targets import Known, Sessions


class InMemory(Sessions):
    values = "text"
    odd = False  # ids are stripped, and replaced if nothing is left: see create_session
    batch_atomic = False  # `add` appends events one by one
    limit_zero = "nothing"
    busy = (StaleSessionError, SessionNotFoundError)  # `add` below reads, and then appends

    async def make(self):
        self.service = InMemorySessionService()

    async def _opened(self, user, session):
        where = dict(app_name="app", user_id=user, session_id=session)
        try:
            return await self.service.get_session(**where) or await self.service.create_session(**where)
        except AlreadyExistsError:  # a concurrent request was faster
            return await self.service.get_session(**where)

    async def add(self, user, session, items):
        found = await self._opened(user, session)
        for item in items:
            content = Content(role=item["role"], parts=[Part(text=item["content"])])
            await self.service.append_event(
                found, Event(author=item["role"], content=content, timestamp=self.now())
            )

    async def get(self, user, session, limit=None):
        config = None if limit is None else GetSessionConfig(num_recent_events=limit)
        where = dict(app_name="app", user_id=user, session_id=session)
        found = await self.service.get_session(**where, config=config)
        said = [each for each in found.events if each.content] if found else []
        return [{"role": each.author, "content": each.content.parts[0].text} for each in said]

    async def delete(self, user, session):
        await self.service.delete_session(app_name="app", user_id=user, session_id=session)

    async def sessions(self, user):
        found = await self.service.list_sessions(app_name="app", user_id=user)
        return [each.id for each in found.sessions]


class Sqlite(InMemory):
    durable = True
    fails = ("statement", "commit")

    async def make(self):
        self.service = SqliteSessionService(str(self.folder / "s.db"))

    async def close(self):
        await self.service.close()


class Database(InMemory):
    durable = True
    order = "time"  # see docs/findings.md
    busy = (*InMemory.busy, StaleDataError)  # raised if the session is deleted meanwhile
    fails = ("statement", "commit")
    known = (
        Known("docs/findings.md: a cancelled request", rule="raises", says="database is locked"),
        Known("docs/findings.md: a first request", says="Schema version not found"),
    )

    async def make(self):
        self.service = DatabaseSessionService(f"sqlite+aiosqlite:///{self.folder}/s.db")

    async def close(self):
        await self.service.close()


class DatabaseCancelled(Database):
    """Shows a failure that docs/findings.md describes, as do the next two classes."""

    known = Database.known[1:]


class DatabaseKilled(Database):
    known = Database.known[:1]


class DatabaseInOrder(Database):
    order = "insertion"

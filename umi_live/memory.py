"""LiveMemory: the memory of one agent about one user, stored in a file or database.

    async with open_memory("agent.db", user="ann", agent="helper") as memory:
        await memory.remember("Ann likes tea.")
        hits = await memory.recall("What does Ann like?")

Without a model and an embedder the memory works by simple rules (umi_live/local.py) and needs no network.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from msgspec import structs

from umi_core.conditions import Condition, Given, Where
from umi_core.config import Config
from umi_core.engine.registry import Registry
from umi_core.errors import StorageFailed, StorageFull, StorageRefused
from umi_core.ids import entity_id as id_of_entity
from umi_core.kelpie.requests import DeleteAgent, OpenAgent, RecentEntities
from umi_core.kelpie.results import AgentSwitched
from umi_core.language.prompts import ask_rewrite
from umi_core.language.rewriting import judge_rewrite, resolve_without_model, shown_turns
from umi_core.memory import Memory
from umi_core.messages import effects, requests
from umi_core.messages.answers import EffectFailed, ModelReplied, ReadDone
from umi_core.messages.effects import CountRows, Query
from umi_core.messages.requests import Request, request_name
from umi_core.messages.results import (
    ArchiveShared,
    BlockRemoved,
    BlockSet,
    Evolved,
    Forgotten,
    Listed,
    Memorized,
    Rebalanced,
    Recalled,
    Reflected,
    Remembered,
    Resolution,
    ResourceForgotten,
    Retrieved,
    SessionCreated,
    SessionLoaded,
    SessionSaved,
    Stored,
    Summarised,
)
from umi_core.rows import Body, Category, Ended, Entity, Row, fact_of
from umi_core.text import show_value
from umi_core.values import MODEL, Block, Scope, Turn
from umi_core.workflows import BUILT_IN
from umi_live import arguments
from umi_live.anchor import SealOptions, seal_options
from umi_live.batches import BatchResult, BatchStatement, remember_batch
from umi_live.deadlines import Seconds, check_seconds, choose_seconds, limit_time
from umi_live.errors import (
    Closed,
    InDoubt,
    LiveError,
    NotDone,
    RequestFailed,
    RequestRefused,
    StoreError,
    refusing,
)
from umi_live.fact_order import add_periods, order_by_time
from umi_live.files import show_path
from umi_live.first_person import name_speaker, resolve_name
from umi_live.host import Host, is_reading
from umi_live.local import HashEmbedder, RuleModel
from umi_live.reads import FACTS, read_bodies, read_followed, read_rows
from umi_live.recorder import Recorder
from umi_live.results import Hits, Result, find_references
from umi_live.services import AbsentEmbedder, Embedder, Model, check_service
from umi_live.store import Path, Store
from umi_live.topics import Topic, TopicReader
from umi_live.usage import NO_USAGE, Usage

P = ParamSpec("P")
T = TypeVar("T")
B = TypeVar("B", bound=Body)
ENTITY_PREFIX: Final = "ent_"  # ids of entities begin with it; ids of facts do not
COUNTED: Final = {  # kinds of rows, by the names that users see
    "facts": "entity", "ended facts": "ended", "texts": "resource", "categories": "category",
    "groups": "subcategory", "reflections": "reflection", "messages": "message", "records": "archival",
}  # fmt: skip
OPEN_ALREADY: Final = "the memory is open already; open another one, or close this one first"
EMBED_AGAIN_MS_MIN: Final = 20  # the wait between two searches for facts without a vector
EMBED_AGAIN_MS_MAX: Final = 60_000


def with_timeout(
    method: Callable[Concatenate["LiveMemory", P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["LiveMemory", P], Coroutine[Any, Any, T]]:
    """Return the method with a time limit, after which it raises TimedOut.

    The limit is the argument `timeout` of the method, or else the default of the memory.
    """

    @wraps(method)
    async def call_in_time(self: "LiveMemory", /, *args: P.args, **kwargs: P.kwargs) -> T:
        arguments.check_arguments(method, (self, *args), kwargs)
        given: Any = kwargs.get("timeout")
        check_seconds(given)
        seconds = choose_seconds(self, given, self.timeout)
        if seconds is None:
            return await method(self, *args, **kwargs)
        async with limit_time(method.__name__, seconds, self):
            return await method(self, *args, **kwargs)

    return call_in_time


class LiveMemory:
    """The memory of an agent about a user. Open it with `async with`; closing waits for running requests.

    A method with a `timeout`, in seconds, raises TimedOut if it takes longer. None means the default of the
    memory, `math.inf` means no limit.
    """

    def __init__(
        self,
        path: Path,
        scope: Scope,
        config: Config,
        model: Model,
        embedder: Embedder,
        record: Path | None = None,
        registry: Registry = BUILT_IN,
        read_only: bool = False,
        seal: SealOptions | None = None,
        timeout: Seconds = None,
    ) -> None:
        self.read_only, self.seal, self.timeout = read_only, seal, timeout
        self.path, self.scope, self.config, self.registry = path, scope, config, registry
        self.model, self.embedder, self.record = model, embedder, record
        self.store: Store | None = None
        self.host: Host | None = None
        self.used = NO_USAGE  # the usage of all earlier openings of this object
        self.turns: Sequence[tuple[str, str]] = ()  # the turns of the loaded session
        self.ending = AsyncExitStack()  # callbacks that close the store and the recorder
        self.repairing: asyncio.Task[None] | None = None  # runs `_embed_again`; None if read-only

    async def __aenter__(self) -> Self:
        """Open the memory. Raises StoreError, ScopeTaken, RequestRefused, LiveError."""
        if self.host is not None and not self.host.loop.is_closed():
            raise LiveError(OPEN_ALREADY)
        with refusing():
            memory = Memory(self.scope, self.config, self.registry)
        config, embedder, recorder = self.config, self.embedder, None
        async with AsyncExitStack() as ending:  # if a later step raises, closes everything opened so far
            if self.record is not None:  # first, since a path that is refused must create no database
                recorder = Recorder(self.record)
                ending.callback(recorder.close)
            store = await Store.open(self.path, read_only=self.read_only, seal=self.seal)
            ending.push_async_callback(store.leave)
            if self.read_only:
                embedder = await self._choose_embedder(store)
                config = structs.replace(
                    config, embedding_dims=embedder.dims, auto_rebalance=False, upkeep_interval_ms=0
                )
                memory = Memory(self.scope, config, self.registry)
            else:
                await store.claim(self.scope)
                ending.push_async_callback(store.give_up, self.scope)
            if recorder is not None:  # before the first change of the file
                recorder.write_head(self.scope, config)
            if not self.read_only:
                # After the claim: `adopt` may delete vectors that another memory of this scope still uses.
                await store.call(store.storage.adopt, self.scope, name_embedder(embedder))
            host = Host(memory, store, self.model, embedder, recorder)
            host.begin()
            self.ending = ending.pop_all()
        self.store, self.host = store, host
        self.repairing = None if self.read_only else asyncio.create_task(self._embed_again())
        return self

    async def _choose_embedder(self, store: Store) -> Embedder:
        """Return the embedder for a read-only memory: an absent one if another made the stored vectors.

        Vectors of two embedders cannot be compared, so searches then use words only. The absent embedder has
        the dimensions of the stored vectors, since a vector with other dimensions counts as damaged.
        """
        stored = await store.call(store.storage.embedder_of, self.scope)
        return self.embedder if stored in (None, name_embedder(self.embedder)) else AbsentEmbedder(stored)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.host is None:
            return
        host, _ = self._find_opened()
        async with self.ending as ending:  # runs every callback, even if an earlier one raises
            ending.push_async_callback(self.embedder.close)
            ending.push_async_callback(self.model.close)
            if self.repairing is not None:
                self.repairing.cancel()
                ending.push_async_callback(asyncio.wait, [self.repairing])
            # Cleared before the wait below, so that calls during it raise Closed.
            self.host = self.store = None
            await host.close()
            self.used += host.usage

    async def _embed_again(self) -> None:
        """Embed, in the background, facts whose embedding failed or whose vectors `adopt` deleted."""
        where = (Condition("vector_missing", "eq", True),)
        missing, wait_ms = CountRows(self.scope, ("entity",), where), EMBED_AGAIN_MS_MIN
        while True:
            repaired: tuple[str, ...] = ()
            try:
                if not (await self._read(missing)).count:
                    return
                repaired = (
                    await self.ask(requests.Rebalance(0), Rebalanced, timeout=math.inf)
                ).value.repaired
            except Closed:
                return
            except (NotDone, StoreError):
                pass  # retried after the wait
            # A rebalance repairs one page of facts. After a success the next one follows soon; while the
            # embedder fails, the wait doubles.
            wait_ms = EMBED_AGAIN_MS_MIN if repaired else min(2 * wait_ms, EMBED_AGAIN_MS_MAX)
            await asyncio.sleep(wait_ms / 1_000)

    # The archive.

    @with_timeout
    async def remember(
        self,
        text: str,
        *,
        speaker: str | None = None,
        importance_ppm: int | None = None,
        event_time_ms: int | None = None,
        metadata: Mapping[str, str] | None = None,
        source: str | None = None,
        request_key: str | None = None,
        extract: bool = True,
        evolve: bool = True,
        embed: bool = True,
        timeout: Seconds = None,
    ) -> Result[Remembered]:
        """Store each statement of a text as a fact.

        The facts are on disk when this returns. A call with the `request_key` of an earlier one, within 24
        hours, changes nothing. `value.ended` lists the ids of older facts that a new fact updates or
        contradicts: `history` still returns them, searches do not. `speaker`: the person who says "I", if
        not the user of the memory. `event_time_ms`: when it happened, in milliseconds since 1970.
        """
        request = requests.Remember(
            0, text, extract, evolve, embed, importance_ppm, event_time_ms, tuple((metadata or {}).items()),
            source, request_key, speaker,
        )  # fmt: skip
        return await self.ask(request, Remembered)

    async def remember_many(
        self,
        statements: Iterable[str | BatchStatement],
        *,
        report: Callable[[int], None] = lambda _: None,
        timeout: Seconds = None,
    ) -> BatchResult:
        """Remember many statements: those of one conversation in order, 64 conversations at a time.

        A repeated statement changes nothing, so an interrupted batch can be sent again. If a statement
        fails, the result names its position, and the others continue. `report` is called with the number of
        statements processed so far. `timeout`: the limit for each statement, in seconds. Raises StoreError,
        Closed.
        """
        result = BatchResult()

        async def remember(it: BatchStatement, key: str) -> None:
            remembered = await self.remember(
                it.text, speaker=it.speaker, event_time_ms=it.event_time_ms, metadata=it.metadata,
                source=it.source, request_key=key, timeout=timeout,
            )  # fmt: skip
            result.add(remembered.value, remembered.degraded, remembered.usage)

        result.failed = await remember_batch(remember, statements, report)
        return result

    @with_timeout
    async def recall(
        self,
        query: str,
        *,
        turns: Sequence[tuple[str, str]] | None = None,
        limit: int | None = None,
        types: Sequence[str] | None = None,
        time_range: Sequence[int | None] | None = None,
        deep: bool | None = None,
        resolve: bool = True,
        min_score_ppm: int | None = None,
        where: Sequence[Given] = (),
        shared: Sequence[str] = (),
        speaker: str | None = None,
        timeout: Seconds = None,
    ) -> Hits:
        """Return the facts that match a question, the best first.

        `turns`: the conversation so far, as (role, text), oldest first, by which a pronoun such as "he" is
        resolved; None: the turns of the loaded session. `limit`, `min_score_ppm`: None means the setting.
        `deep`: also search paraphrases of the question; None: if the question needs it. `time_range`: (start,
        end) in milliseconds since 1970. `where`: conditions as for `umi_core.conditions.filter_of`. `shared`:
        agents of this user whose archives are searched as well; each must share its archive with this one.
        `speaker`: the person who says "I" in the question, if not the user of the memory.
        """
        # The rules of RuleModel cost nothing, so paraphrases of every question are searched.
        deep = True if deep is None and isinstance(self.model, RuleModel) else deep
        request = requests.Recall(
            0, query, limit, deep, arguments.as_tuples(time_range), as_tuple(types), self._list_turns(turns),
            resolve, min_score_ppm, where=arguments.as_tuples(where), shared=tuple(shared), speaker=speaker,
        )  # fmt: skip
        result = await self.ask(request, Recalled)
        found = result.value
        return Hits(found.hits, found.resolution, found.variants, result.degraded, result.usage)

    @with_timeout
    async def resolve(
        self, query: str, turns: Sequence[tuple[str, str]] | None = None, *, timeout: Seconds = None
    ) -> Resolution:
        """Return what a question means after these turns, (role, text), oldest first. Searches nothing."""
        spoken = shown_turns(self._list_turns(turns), self.config.resolve_turn_count_max)
        known = resolve_without_model(query, spoken, True)
        if known is not None:
            return known
        host, _ = self._find_opened()
        prompt = ask_rewrite(query, spoken)
        question = effects.AskModel("rewrite", prompt, timeout_ms=self.config.model_timeout_ms)
        answer = await host.ask_model(question)
        if isinstance(answer, ModelReplied):
            return judge_rewrite(answer.text, query, spoken, self.config.resolve_confidence_min_ppm)
        reason = answer.kind if isinstance(answer, EffectFailed) else ""
        references = find_references(query, self.turns if turns is None else turns)
        return Resolution("failed", query, references, reason, turn_count=len(spoken))

    def _list_turns(self, turns: Sequence[tuple[str, str]] | None) -> tuple[Turn, ...]:
        """Return these turns, or, if None, those of the loaded session."""
        return arguments.read_turns(self.turns if turns is None else turns)

    @with_timeout
    async def memorize(
        self,
        text: str,
        *,
        modality: str = "text",
        uri: str | None = None,
        memory_types: Sequence[str] | None = None,
        happened_ms: int | None = None,
        session_id: str | None = None,
        timeout: Seconds = None,
    ) -> Result[Memorized]:
        """Store a document or conversation, and the facts in it by category. A repeated call changes nothing.

        `value.ended` lists the ids of older facts that the text ends. `uri` names the text; a later text with
        the same `uri` replaces it. With the `modality` image, audio or video, `text` is an address or a
        `data:` URI, and the model describes its content. `session_id` labels the text for `end_session`; no
        session of this id has to exist.
        """
        request = requests.Memorize(0, text, modality, uri, as_tuple(memory_types), happened_ms, session_id)
        return await self.ask(request, Memorized)

    @with_timeout
    async def create_entity(
        self,
        content: str,
        memory_type: str,
        *,
        categories: Sequence[str] | None = None,
        timeout: Seconds = None,
    ) -> Result[Stored]:
        """Store a fact as given, in these categories or, if None, that of its type. Asks no model."""
        return await self.ask(requests.CreateEntity(0, content, memory_type, as_tuple(categories)), Stored)

    @with_timeout
    async def update_entity(
        self,
        entity_id: str,
        content: str | None = None,
        *,
        categories: Sequence[str] | None = None,
        timeout: Seconds = None,
    ) -> Result[Stored]:
        """Change the content or the categories of a fact; None leaves either unchanged. Asks no model.

        New content is stored as a new fact with an id of its own, which ends the old fact.
        """
        return await self.ask(requests.UpdateEntity(0, entity_id, content, as_tuple(categories)), Stored)

    @with_timeout
    async def retrieve(
        self,
        /,
        query: str,
        *,
        turns: Sequence[tuple[str, str]] | None = None,
        timeout: Seconds = None,
        **options: Any,
    ) -> Result[Retrieved]:
        """Search categories, facts and texts until a model has enough results. `options`: of `Retrieve`."""
        request = requests.Retrieve(0, query, self._list_turns(turns), **arguments.as_tuples(options))
        return await self.ask(request, Retrieved)

    @with_timeout
    async def search(
        self,
        /,
        query: str,
        *,
        turns: Sequence[tuple[str, str]] | None = None,
        timeout: Seconds = None,
        **options: Any,
    ) -> Result[Retrieved]:
        """Search categories, facts and texts until scores are high enough. `options`: fields of `Search`."""
        request = requests.Search(0, query, self._list_turns(turns), **arguments.as_tuples(options))
        return await self.ask(request, Retrieved)

    @with_timeout
    async def summarise(self, category: str, *, timeout: Seconds = None) -> Result[Summarised]:
        """Return the summary of a category. It is rewritten first if facts were added or removed."""
        return await self.ask(requests.Summarise(0, category), Summarised)

    @with_timeout
    async def end_session(self, session_id: str, *, timeout: Seconds = None) -> Result[Reflected]:
        """Return the reflection of a session, a text about it. It is rewritten if more was memorized."""
        return await self.ask(requests.EndSession(0, session_id), Reflected)

    # Working keys: they exist in this process only, until `save_session` stores them.

    @with_timeout
    async def set(
        self, key: str, value: bytes, *, ttl_ms: int | None = None, timeout: Seconds = None
    ) -> None:
        """Store a value under a key for `ttl_ms` milliseconds, or for the time in the settings."""
        await self.ask(requests.Set(0, key, value, ttl_ms), object)

    @with_timeout
    async def get(self, key: str, *, timeout: Seconds = None) -> bytes | None:
        """Return the value of a key; None if the key is absent or has expired."""
        value = (await self.ask(requests.Get(0, key), object)).value
        assert value is None or isinstance(value, bytes)
        return value

    @with_timeout
    async def incr(self, key: str, delta: int = 1, *, timeout: Seconds = None) -> int:
        """Add `delta` to the number stored under a key, 0 if the key is absent, and return the sum."""
        return (await self.ask(requests.Incr(0, key, delta), int)).value

    @with_timeout
    async def touch(self, key: str, *, timeout: Seconds = None) -> None:
        """Restart the lifetime of a key. Raises RequestRefused if there is no such key."""
        await self.ask(requests.Touch(0, key), object)

    @with_timeout
    async def delete(self, key: str, *, timeout: Seconds = None) -> bool:
        """Delete a key, and return whether it existed."""
        return (await self.ask(requests.Delete(0, key), bool)).value

    @with_timeout
    async def create_session(self, members: Sequence[str] = (), *, timeout: Seconds = None) -> str:
        """Begin a session without keys and return its id; `members`: agents of the user that may load it."""
        created = (await self.ask(requests.CreateSession(0, tuple(members)), SessionCreated)).value
        self.turns = ()
        return created.session_id

    @with_timeout
    async def save_session(
        self, hand_to: Sequence[str] = (), *, carries: Sequence[str] = ("keys",), timeout: Seconds = None
    ) -> SessionSaved:
        """Save the session. `hand_to`: further agents of the user that may load it; `carries`: what they get:
        `keys`, `messages` (of conversations memorized in it), `facts` (stated in it)."""
        return (await self.ask(requests.SaveSession(0, tuple(hand_to), tuple(carries)), SessionSaved)).value

    @with_timeout
    async def load_session(self, session_id: str, *, timeout: Seconds = None) -> SessionLoaded:
        """Replace the current session by a saved one, and store the facts that it carries. Later questions
        without `turns` use the turns of this session."""
        loaded = (await self.ask(requests.LoadSession(0, session_id), SessionLoaded)).value
        self.turns = tuple((turn.role, turn.text) for turn in loaded.turns)
        return loaded

    @with_timeout
    async def share(self, agents: Sequence[str] | None = None, *, timeout: Seconds = None) -> tuple[str, ...]:
        """Let these agents of the user, and no others, `recall` from this archive; None changes nothing.
        Returns the agents that may do so now."""
        return (await self.ask(requests.ShareArchive(0, as_tuple(agents)), ArchiveShared)).value.agents

    @with_timeout
    async def evolve_category(
        self, category: str, *, force: bool = False, timeout: Seconds = None
    ) -> Result[Evolved]:
        """Divide the facts of a category into groups by subject if they changed; `force`: in any case."""
        return await self.ask(requests.EvolveCategory(0, category, force), Evolved)

    @with_timeout
    async def forget(
        self, entity_id: str, *, request_key: str | None = None, timeout: Seconds = None
    ) -> Result[Forgotten]:
        """Remove a fact, current or ended, with its relations.

        `entity_id`: the id of the fact, as `recall` and `history` return it.
        """
        return await self.ask(requests.Forget(0, entity_id, request_key), Forgotten)

    @with_timeout
    async def forget_all_about(self, entity: str, *, timeout: Seconds = None) -> tuple[str, ...]:
        """Forget every current and ended fact about an entity, each in a separate commit.

        `entity`: the name or the id of an entity. Returns the ids of the removed facts. If it is interrupted,
        call it again to remove the rest.
        """
        ids = dict.fromkeys(it.id for it in await self._list_about(FACTS, entity))
        return tuple([it for it in ids if (await self.forget(it)).value.existed])

    @with_timeout
    async def forget_resource(
        self, resource_id: str, *, timeout: Seconds = None
    ) -> Result[ResourceForgotten]:
        """Remove a memorized text, and the facts that nothing else states."""
        return await self.ask(requests.ForgetResource(0, resource_id), ResourceForgotten)

    @with_timeout
    async def clear(self, *, timeout: Seconds = None) -> None:
        """Forget every text and every fact, each in a separate commit, and divide the emptied categories.
        Blocks, sessions and messages stay. If it is interrupted, call it again to remove the rest."""
        async for row in self.rows(("resource",), (Condition("parent_id", "eq", None),)):
            await self.forget_resource(row.address.id)
        async for row in self.rows(("entity", "ended")):
            await self.forget(row.address.id)
        async for it in self.bodies(Category):
            await self.evolve_category(it.name)

    @with_timeout
    async def delete_agent(
        self, *, request_key: str | None = None, timeout: Seconds = None
    ) -> Result[AgentSwitched]:
        """Delete all data of this agent, for all processes; its rows are removed in the background.

        From now on every request to it is refused as not found. Sessions belong to the user, and stay.
        """
        return await self.ask(DeleteAgent(0, request_key), AgentSwitched)

    @with_timeout
    async def open_agent(
        self, *, request_key: str | None = None, timeout: Seconds = None
    ) -> Result[AgentSwitched]:
        """Reopen a deleted agent with an empty memory, after all of its rows are removed."""
        return await self.ask(OpenAgent(0, request_key), AgentSwitched)

    @with_timeout
    async def entity(self, entity_id: str, *, timeout: Seconds = None) -> Entity | Ended | None:
        """Return the current or ended fact with this id; None if there is none."""
        found = (await self.ask(requests.GetEntity(0, entity_id), object)).value
        return found if isinstance(found, Entity | Ended) else None

    @arguments.checking
    def entity_id_of(self, name: str) -> str:
        """Return the id of the entity with this name; `me` is the user."""
        return id_of_entity(self.scope, resolve_name(name, self.scope.user))

    @with_timeout
    async def count(self, types: Sequence[str] | None = None, *, timeout: Seconds = None) -> int:
        """Return the number of current facts, of these memory types or, if None, of all."""
        return (await self.ask(requests.Count(0, as_tuple(types)), int)).value

    @with_timeout
    async def stats(self, *, timeout: Seconds = None) -> Mapping[str, int]:
        """Return the number of facts, ended facts, texts, categories and other items in the memory."""
        counts = {
            name: (await self._read(CountRows(self.scope, (kind,)))).count or 0
            for name, kind in COUNTED.items()
        }
        return {**counts, "blocks": len(await self.blocks())}

    def entities(self) -> AsyncIterator[Entity]:
        """Yield all current facts, by id."""
        return self.bodies(Entity)

    @with_timeout
    async def facts(self, entity: str, *, timeout: Seconds = None) -> tuple[Entity, ...]:
        """Return the current facts about an entity, given by name or id, the earliest first."""
        return tuple([it for it in await self._list_about((Entity,), entity) if isinstance(it, Entity)])

    @with_timeout
    async def history(self, entity: str, *, timeout: Seconds = None) -> tuple[Entity | Ended, ...]:
        """Return the current and the ended facts about an entity, given by name or id, the earliest first.

        A fact that ended and was stated again is listed once for each period in which it was current.
        """
        return await self._list_about(FACTS, entity)

    async def _list_about(
        self, classes: tuple[type[Entity | Ended], ...], entity: str
    ) -> tuple[Entity | Ended, ...]:
        """Return the facts of these classes about an entity, in the order in which they happened."""
        key = entity if entity.startswith(ENTITY_PREFIX) else self.entity_id_of(entity)
        where = (Condition("about", "contains", key),)
        rows = add_periods([it async for it in self.bodies(*classes, where=where)])
        return tuple(order_by_time(rows, await read_followed(self._read, self.scope, rows)))

    @with_timeout
    async def topics(self, *, timeout: Seconds = None) -> tuple[Topic, ...]:
        """Return the categories and their groups, each with its full path and its number of facts."""
        return await self._make_topic_reader().topics()

    @with_timeout
    async def facts_in(self, path: str, *, timeout: Seconds = None) -> tuple[Entity, ...]:
        """Return the current facts of a category, or of a group as `category/group`, the oldest first.

        Raises LiveError if there is no such category or group.
        """
        found = await self._make_topic_reader().facts_in(path)
        if found is None:
            known = ", ".join(it.path for it in await self.topics())
            raise LiveError(f"{show_value(path)}: no such category or group; there are: {known}")
        return found

    @with_timeout
    async def paths_of(
        self, fact_ids: Sequence[str], *, timeout: Seconds = None
    ) -> Mapping[str, tuple[str, ...]]:
        """Return the paths of the categories and groups that contain each fact, by the id of the fact."""
        return await self._make_topic_reader().paths_of(fact_ids)

    def _make_topic_reader(self) -> TopicReader:
        return TopicReader(self.scope, self.config.categories, self._read)

    def rows(self, kinds: tuple[str, ...], where: Where = ()) -> AsyncIterator[Row]:
        """Yield the stored rows of these kinds, ordered by kind and id, read a page at a time."""
        return read_rows(self._read, self.scope, kinds, where)

    def bodies(self, *classes: type[B], where: Where = ()) -> AsyncIterator[B]:
        """Yield the bodies of the rows of these classes, ordered by kind and id, read a page at a time."""
        return read_bodies(self._read, self.scope, classes, where)

    async def _read(self, query: Query) -> ReadDone:
        """Read rows. Raises Closed, StoreError."""
        return await self._find_opened()[1].read(query)

    @with_timeout
    async def list(
        self,
        kind: str,
        *,
        where: Sequence[Given] = (),
        limit: int | None = None,
        cursor: str | None = None,
        timeout: Seconds = None,
    ) -> Result[Listed]:
        """Return a page of the rows of one kind, by id: entities, ended facts, resources, categories etc."""
        return await self.ask(requests.List(0, kind, limit, cursor, arguments.as_tuples(where)), Listed)

    @with_timeout
    async def recent(self, /, *, timeout: Seconds = None, **options: Any) -> Result[Listed]:
        """Return the facts that changed last, newest first. `options`: fields of `RecentEntities`."""
        return await self.ask(RecentEntities(0, **options), Listed)

    # The core tier: the blocks that a model always sees.

    @with_timeout
    async def blocks(self, *, timeout: Seconds = None) -> tuple[Block, ...]:
        """Return the blocks of the core tier, in the order of a prompt."""
        found: Any = (await self.ask(requests.Blocks(0), object)).value
        return tuple(found)

    @with_timeout
    async def render(self, form: str = "xml", *, timeout: Seconds = None) -> str:
        """Return the core tier as text for a prompt, in `xml` or `markdown`.

        A last sentence states how many facts the text leaves out. That number is read from the database; if
        the read fails, the sentence only says that there may be more facts.
        """
        text = (await self.ask(requests.Render(0, form), str)).value
        shown = sum(len(block.entries) for block in await self.blocks())
        try:
            more = await self.count() - shown
        except (RequestFailed, StoreError):
            return text + format_omission(form, "There may be more facts: recall finds them.")
        known = "1 more fact is known: recall finds it."
        known = known if more == 1 else f"{more} more facts are known: recall finds them."
        return text + format_omission(form, known) if more > 0 else text

    @with_timeout
    async def set_block(
        self, kind: str, text: str, *, label: str = "", author: str = MODEL, timeout: Seconds = None
    ) -> Result[BlockSet]:
        """Write a block. The system block needs `author="user"`: never pass that for a text of a model."""
        return await self.ask(requests.SetBlock(0, kind, text, label, author=author), BlockSet)

    @with_timeout
    async def remove_block(
        self, kind: str, *, label: str = "", author: str = MODEL, timeout: Seconds = None
    ) -> Result[BlockRemoved]:
        """Remove a block. The system block needs `author="user"`."""
        return await self.ask(requests.RemoveBlock(0, kind, label, author), BlockRemoved)

    # Everything else.

    @property
    def usage(self) -> Usage:
        """Return the usage of models and embedders so far, including that of background work."""
        return self.used if self.host is None else self.used + self.host.usage

    async def drive(self, request: Request, *, timeout: Seconds = None) -> effects.Outcome:
        """Run a request and return its outcome: Done, Refused, Failed or Unknown. Raises Closed, TimedOut."""
        return (await self._drive_counted(request, timeout))[0]

    @arguments.checking
    async def _drive_counted(self, request: Request, timeout: Seconds) -> tuple[effects.Outcome, Usage]:
        """Run a request; return its outcome and its usage of models. Raises Closed, TimedOut, StoreError."""
        check_seconds(timeout)
        host, _ = self._find_opened()
        if self.read_only and not is_reading(request):
            raise StoreError(
                f"{show_path(self.path)}: is open for reading only, and {request_name(type(request))} writes"
            )
        if (error := arguments.find_refusal(request)) is not None:
            return effects.Refused(error), NO_USAGE
        seconds = choose_seconds(self, timeout, self.timeout)
        async with limit_time(request_name(type(request)), seconds, self):
            reply, used = await host.ask(name_speaker(request, self.scope.user))
        return reply.outcome, used

    def _find_opened(self) -> tuple[Host, Store]:
        """Return the host and the store. Raises Closed, and LiveError in another event loop."""
        if self.host is None or self.store is None:
            raise Closed("the memory is not open; use it inside `async with`")
        if asyncio.get_running_loop() is not self.host.loop:
            raise LiveError(
                "the memory was opened in another event loop; use it there, or open it anew in this loop "
                "once it is closed there, or use open_blocking, which works from every loop and thread"
            )
        return self.host, self.store

    async def ask(self, request: Request, kind: type[T], *, timeout: Seconds = None) -> Result[T]:
        """Run any request of umi_core.messages.requests; `kind`: the class of the value of its result.

        Raises RequestRefused, RequestFailed, InDoubt, TimedOut, StoreError, Closed.
        """
        outcome, used = await self._drive_counted(request, timeout)
        match outcome:
            case effects.Done(value=value, degraded=degraded):
                assert isinstance(value, kind), value
                return Result(value, degraded, used)
            case effects.Refused(error=error):
                raise RequestRefused(error, str(error))
            case effects.Failed(error=error):
                if isinstance(error, StorageFailed | StorageRefused | StorageFull) and self.store is not None:
                    raise self.store.failure() from RequestFailed(error, str(error))
                raise RequestFailed(error, str(error))
        raise InDoubt(None, "it may have been done or not; ask again with the same request_key")


@arguments.checking
def open_memory(
    path: Path,
    *,
    user: str,
    agent: str,
    model: Model | str | None = None,
    embedder: Embedder | str | None = None,
    key: str | None = None,
    parameters: Mapping[str, object] | None = None,
    config: Config | None = None,
    categories: Mapping[str, str] | None = None,
    record: Path | None = None,
    registry: Registry = BUILT_IN,
    read_only: bool = False,
    seal: bytes | None = None,
    seal_anchor: Path | None = None,
    timeout: Seconds = None,
) -> LiveMemory:
    """Return the memory of an agent about a user. `async with` opens it.

    - `path`: a file, or `postgresql://USER@HOST/DATABASE`, or `:memory:` for a database that is lost with
      the process.
    - `model`: an object with the methods of `Model`, or the address of an endpoint: `https://HOST/v1#MODEL`
      for the protocol of OpenAI, `anthropic+https://HOST/v1#MODEL` for that of Anthropic; None: simple rules.
    - `embedder`: an object with the methods of `Embedder`, or the address of an endpoint,
      `https://HOST/v1#MODEL:DIMENSIONS`. None: vectors from hashes of words.
    - `key`: the API key of both endpoints. `parameters`: added to each request to the model.
    - `config`: the settings. `categories`: name and description of each category of the archive.
    - `record`: a new file that receives every input of the memory, texts included, for `umi-sim replay`.
    - `registry`: the workflows and interceptors, if you have added or changed some (docs/customising.md).
    - `read_only`: a request that writes raises StoreError; other processes may have the same memory open.
    - `seal`: the key of a sealed file, at least 32 bytes. A new file is sealed with it; a change by another
      program raises FileTampered. `seal_anchor`: a small file in another place that stores the newest commit,
      by which an older copy of the whole database file is detected as well.
    - `timeout`: the time limit, in seconds, for calls without a `timeout`; None: no limit.

    Raises LiveError for an invalid address, number of dimensions or category, and for a model or an embedder
    that lacks a method.
    """
    if isinstance(model, str) or isinstance(embedder, str):
        from umi_live import anthropic, openai  # late, as they import an HTTP client

        if isinstance(model, str):
            kind = anthropic.AnthropicModel if model.startswith(anthropic.PREFIX) else openai.ChatModel
            model = kind(model, key, parameters=parameters or {})
        embedder = openai.TextEmbedder(embedder, key) if isinstance(embedder, str) else embedder
    chosen_model, chosen_embedder = model or RuleModel(), embedder or HashEmbedder()
    check_service("model", chosen_model, ("name", "ask", "close"))
    check_service("embedder", chosen_embedder, ("name", "dims", "embed", "close"))
    check_seconds(timeout)
    with refusing():
        here = Config(utc_offset_minutes=(time.localtime().tm_gmtoff or 0) // 60)
        settings = structs.replace(config or here, embedding_dims=chosen_embedder.dims)
        if categories is not None:
            settings = structs.replace(settings, categories=tuple(categories.items()))
    return LiveMemory(
        path, Scope(user, agent), settings, chosen_model, chosen_embedder, record, registry, read_only,
        seal_options(seal, seal_anchor), timeout,
    )  # fmt: skip


async def read_changes(memory: LiveMemory, value: Remembered) -> list[tuple[str, str, Entity | None]]:
    """Return the changes made by a `remember`: id, change (created, unchanged, ended) and fact for each.

    The fact is None if it was forgotten in the meantime.
    """
    changes = [(it.id, it.change) for it in value.entities] + [(key, "ended") for key in value.ended]
    return [(key, change, fact_of(await memory.entity(key))) for key, change in changes]


def as_tuple(values: Iterable[T] | None) -> tuple[T, ...] | None:
    return None if values is None else tuple(values)


def name_embedder(embedder: Embedder) -> str:
    """Return the name by which a database identifies the embedder of its vectors."""
    return f"{embedder.name}:{embedder.dims}"


def format_omission(form: str, sentence: str) -> str:
    """Return a sentence about omitted facts, formatted for a prompt in this form."""
    return f"\n<not_shown>{sentence}</not_shown>" if form == "xml" else f"{sentence}\n"

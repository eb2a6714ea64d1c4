"""The contract of a storage as a Hypothesis state machine: random scripts, judged by the twin.

Law 1. After each step the storage and its twin hold the same rows, every field of every kind.
Law 2. The only freedom of a storage is one that the simulator uses under a fault: a short page with a cursor.
Law 3. Scores may differ by `tolerance_ppm`; hits are then ordered and cut by the scores in the answer.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, Protocol

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec import structs

from umi_core.conditions import Condition, Where
from umi_core.limits import RECEIPT_MS_MAX
from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import (
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Expect,
    Query,
    Write,
)
from umi_core.rows import BODIES, Address, Body, Category, Entity, Reflection, Resource, Row, Vector
from umi_core.rows import SEARCHED as SEARCHED_KINDS
from umi_core.values import Scope
from umi_sim.testing.random_rows import IDS, writes_of
from umi_sim.testing.storage_twin import StorageTwin, agree, rank_of


class Storage(Protocol):
    """The calls to a storage. `arrive` accepts a commit and returns a ticket; `flush` makes it durable."""

    def arrive(self, commit: Commit, sender: str) -> int: ...
    def flush(self, ticket: int, now_ms: int) -> Committed | EffectFailed | None: ...
    def crash(self) -> None: ...
    def read(self, request_id: int, query: Query) -> ReadDone: ...


# The rows, writes and queries to try.

# A storage that makes keys of user + agent confuses ("a", "bc") and ("ab", "c");
# one that scans by prefix finds "e10" with "e1".
SCOPES: Final = (Scope("a", "bc"), Scope("ab", "c"))
KINDS: Final = tuple(BODIES)
Fact = tuple[str, str, str, int, int | None, bool]
FACTS: Final[tuple[Fact, ...]] = (  # type, name, content, updated_ms, event_time_ms, vector_missing
    ("person", "Ann", "likes green tea", 1, None, False),
    ("person", "Anna", "likes tea", 5, 2, True),
    ("topic", "tea", "green or black tea", 2, None, False),
    ("note", "note", "nothing of that", 3, 4, False),
)
# Relative to the first: the same, similar, opposite, and of another length, which must match nothing.
DIRECTIONS: Final = ((1, 0), (3, 4), (-1, 0), (1, 0, 0))


def entity_of(row_id: str, fact: Fact) -> Entity:
    kind, name, content, updated_ms, event_time_ms, missing = fact
    entity = Entity(row_id, kind, name, content, 1, 500_000, 500_000, "facts", 1, updated_ms)
    return structs.replace(entity, event_time_ms=event_time_ms, vector_missing=missing)


def bodies(kind: str, row_id: str) -> tuple[Body, ...]:
    """Return the bodies that WRITE gives a row; there are few, so that searches find rows, and scores tie."""
    match kind:
        case "entity":
            return tuple(entity_of(row_id, fact) for fact in FACTS)
        case "vector":
            return tuple(Vector(row_id, 1, components) for components in DIRECTIONS)
        case "category":
            return (
                Category(row_id, "tea", "what is drunk", 0, 1, 1),
                Category(row_id, "Anna", "", 1, 1, 2, "Anna likes green tea"),
            )
        case "reflection":
            return tuple(
                Reflection(row_id, "ses_1", text, (("res_1", 1),), 1, 2, 2, 2)
                for text in ("Anna likes green tea", "black tea")
            )
        case "resource":
            return tuple(
                Resource(row_id, "text", text, "0", caption, 0, 0, 1, 1)
                for caption, text in (("Anna", "Anna likes green tea"), ("tea", "black"))
            )
    return ()


ADDRESSES: Final = tuple(Address(scope, kind, row_id) for scope in SCOPES for kind in KINDS for row_id in IDS)
RANDOM: Final = [writes_of(SCOPES, kind) for kind in KINDS]
PLACE: Final = {f"{a.scope.user}.{a.scope.agent} {a.kind} {a.id}": a for a in ADDRESSES}
# Short names make a script readable. The number at the end is 0 for a delete, else that of the body, from 1.
WRITE: Final = {
    f"{name} {n}": Write(a, body)
    for name, a in PLACE.items()
    for n, body in enumerate((None, *bodies(a.kind, a.id)))
}
SEARCHED: Final = [name for name, write in WRITE.items() if write.address.kind in (*SEARCHED_KINDS, "vector")]
PHRASES: Final = ("green tea", "Anna", "who?")
PAGES_MAX: Final = 4 * len(ADDRESSES)
Writes = list[str | Write]  # each a name in WRITE, or a write
Guards = list[tuple[str, int]]  # the expects of a commit: name of the row, error of the expected version


def make_conditions(*parts: tuple[str, str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Where]:
    """Return a strategy of conditions (field, operator, value); those with the value None are left out."""
    made = [st.tuples(st.just(field), st.just(operator), values) for field, operator, values in parts]
    return st.tuples(*made).map(lambda given: tuple(Condition(*it) for it in given if it[2] is not None))


PLACES: Final = st.sampled_from(list(PLACE))
NAMED: Final = st.sampled_from(SEARCHED) | st.sampled_from(list(WRITE))
WRITES: Final = st.lists(NAMED | st.one_of(RANDOM), min_size=1, max_size=6)
EACH: Final[st.SearchStrategy[Writes]] = st.just([]) | st.tuples(*RANDOM).map(list)
FOUND_AT: Final = [Address(SCOPES[0], kind, row_id) for kind in ("entity", "vector") for row_id in IDS]
FOUND: Final[st.SearchStrategy[Writes]] = st.tuples(
    *(
        st.sampled_from([name for name, it in WRITE.items() if it.address == at and it.body])
        for at in FOUND_AT
    )
).map(list)  # entities and vectors in one scope, so that each search finds some
# Three of four expects hold, because a script of conflicts would store nothing.
GUARDS: Final = st.lists(st.tuples(PLACES, st.sampled_from((0, 0, 0, 1))), max_size=3)
TIMES: Final = st.none() | st.integers(1, 5)
TYPES: Final = st.sampled_from((("person",), ("topic", "note")))
ANY: Final = st.just(())
OF_TYPE: Final = make_conditions(("type", "in", TYPES), ("vector_missing", "eq", st.none() | st.booleans()))
IN_TIME: Final = make_conditions(("time_ms", "gte", TIMES), ("time_ms", "lte", TIMES))
WITHOUT: Final = make_conditions(("id", "not_in", st.lists(st.sampled_from(IDS), max_size=2).map(tuple)))
TOUCHING: Final = make_conditions(("touches", "contains", st.sampled_from(IDS)))
LIMITS: Final = st.integers(1, 3)
LEASTS: Final = st.sampled_from((0, 500_000, 500_001))
IN_SCOPE: Final = st.sampled_from(SCOPES)
OTHER_KINDS: Final = st.sampled_from(SEARCHED_KINDS[1:])
SOME_KINDS: Final = st.just(KINDS) | st.lists(st.sampled_from(KINDS), min_size=1, unique=True).map(tuple)
ALL_ROWS: Final = st.builds(CountRows, IN_SCOPE, st.just(KINDS))
COUNTS: Final = ALL_ROWS | st.builds(CountRows, IN_SCOPE, SOME_KINDS, ANY | OF_TYPE | IN_TIME | TOUCHING)


class StorageContract(RuleBasedStateMachine):
    """Scripts of commits, crashes and reads; after each step the storage and its twin hold the same rows."""

    make: ClassVar[Callable[[], Storage]]
    tolerance_ppm: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.storage, self.twin = type(self).make(), StorageTwin()
        self.addresses = dict.fromkeys(ADDRESSES)  # every address that the twin may hold
        self.receipts = dict[Address, int]()  # the time at which each receipt was written
        self.now_ms, self.request_id = 0, 0
        self.in_transit: list[tuple[int, Commit]] = []
        self.first: list[tuple[int, str, Committed]] = []  # commits that were stored: time, key, answer

    # Commits.

    @initialize(each=EACH, found=FOUND, batches=st.lists(WRITES, min_size=2, max_size=8))
    def fill(self, each: Writes, found: Writes, batches: list[Writes]) -> None:
        """Write rows of each kind, and check two searches that are often wrong: ties, and filters."""
        for writes in (each, found, *batches):
            self.flush(*self.send_commit(writes, []))
        self.search((), limit=3, least_ppm=0)  # ties
        self.search_last_type()

    @rule(writes=WRITES, guards=GUARDS)
    def commit(self, writes: Writes, guards: Guards) -> None:
        self.flush(*self.send_commit(writes, guards))

    @rule(writes=WRITES, guards=GUARDS)
    def leave_pending(self, writes: Writes, guards: Guards) -> None:
        self.in_transit.append(self.send_commit(writes, guards))

    @precondition(lambda self: self.in_transit)
    @rule(which=st.integers(0, 9))
    def land(self, which: int) -> None:
        self.flush(*self.in_transit.pop(which % len(self.in_transit)))

    @precondition(lambda self: self.in_transit)
    @rule()
    def crash(self) -> None:
        self.storage.crash()
        # `flush` of a ticket from before the crash must return
        # None and store nothing.
        for ticket, _ in self.in_transit:
            agree("a crash takes the pending batches", self.storage.flush(ticket, self.now_ms), None)
        self.in_transit = []
        self.check_rows("a crash takes nothing that is durable")

    @precondition(lambda self: self.first)
    @rule(which=st.integers(0, 9), writes=WRITES, guards=GUARDS)
    def repeat(self, which: int, writes: Writes, guards: Guards) -> None:
        """Send a key of the last 24 hours again, with other writes, and perhaps with stale expects."""
        at_ms, key, first = self.first[which % len(self.first)]
        # After that time the storage may have deleted the receipt, so it may answer either way.
        if self.now_ms < at_ms + RECEIPT_MS_MAX:
            ticket, commit = self.send_commit(writes, guards, key)
            answer = self.storage.flush(ticket, self.now_ms)
            expected = structs.replace(first, request_id=commit.request_id)
            agree("a known key is answered as the first time, before any expect", answer, expected)
            self.check_rows("a known key changes nothing")

    @rule(ms=st.sampled_from((1, RECEIPT_MS_MAX // 2, RECEIPT_MS_MAX - 1)))
    def wait(self, ms: int) -> None:
        """Let time pass, and delete the receipts that are too old by then, as a memory does."""
        soon_ms = self.now_ms + ms - RECEIPT_MS_MAX
        old = [address for address, written_ms in self.receipts.items() if written_ms <= soon_ms]
        if old:
            self.flush(*self.send_commit([Write(address, None) for address in old], []))
        self.now_ms += ms

    # Reads.

    @rule(places=st.lists(PLACES, unique=True), query=COUNTS)
    def look(self, places: list[str], query: CountRows) -> None:
        addresses = tuple(PLACE[place] for place in places)
        rows, count = self.ask(ByIds(addresses)).rows, self.ask(query).count
        agree("rows come in the order asked for, absent ones are missing", rows, self.twin.rows_at(addresses))
        agree("a count is of the matching rows of one scope", count, len(self.twin.matching(query)))

    @rule(where=OF_TYPE | IN_TIME | WITHOUT, limit=LIMITS, least_ppm=LEASTS)
    def search(self, where: Where, limit: int, least_ppm: int, kind: str = "entity") -> None:
        for query in searches(where, limit, least_ppm, kind):
            self.check_hits(query)

    def search_last_type(self) -> None:
        """Search by the type of the last hit: a storage that cuts before it filters misses it."""
        for query in searches((), len(self.addresses), 0, "entity"):
            hits = self.twin.hits(query)
            if hits and isinstance(hits[-1].body, Entity):
                of_its_type = Condition("type", "in", (hits[-1].body.type,))
                self.check_hits(structs.replace(query, where=(of_its_type,), limit=1))

    @rule(kind=OTHER_KINDS, limit=LIMITS, least_ppm=LEASTS)
    def search_others(self, kind: str, limit: int, least_ppm: int) -> None:
        self.search((), limit, least_ppm, kind)

    @rule(query=COUNTS, limit=LIMITS, meanwhile=st.lists(WRITES, min_size=1, max_size=4))
    def walk(self, query: CountRows, limit: int, meanwhile: list[Writes]) -> None:
        """Read page after page, with a commit after each of the first few."""
        stayed, seen, cursor = self.keys(query), list[tuple[str, str]](), None
        # The writes must end before the pages do: while rows
        # are added, a walk need not reach its end.
        for writes in (*meanwhile, *[list[str | Write]()] * PAGES_MAX):
            page = self.ask(ByFilter(query.scope, query.kinds, query.where, limit, cursor))
            self.check_page(page, query, limit)
            seen += [(row.address.kind, row.address.id) for row in page.rows]
            cursor = page.cursor
            if cursor is None:
                break
            if writes:
                self.flush(*self.send_commit(writes, []))
                left = set(self.keys(query))
                # The walk must return every row that existed all the time;
                # it may miss one that was written or deleted meanwhile.
                stayed = [key for key in stayed if key in left]
        agree("a walk comes to its end", cursor, None)
        agree("a walk is in order, each row once", seen, sorted(set(seen)))
        agree("a walk misses no row that stays", [key for key in stayed if key not in seen], [])

    # Checks and their helpers.

    def check_page(self, page: ReadDone, query: CountRows, limit: int) -> None:
        expected = [row for row in self.twin.matching(query) if row in page.rows]
        agree("a page holds matching rows of one scope, in order", list(page.rows), expected)
        agree("a page is within its limit", page.rows[limit:], ())

    def send_commit(self, writes: Writes, guards: Guards, key: str = "") -> tuple[int, Commit]:
        self.request_id += 1
        expects = tuple(Expect(PLACE[name], self.twin.version(PLACE[name]) + off) for name, off in guards)
        batch = tuple(WRITE[each] if isinstance(each, str) else each for each in writes)
        commit = Commit(batch, expects, key or f"key {self.request_id}", request_id=self.request_id)
        self.addresses |= dict.fromkeys(write.address for write in batch)
        ticket = self.storage.arrive(commit, "agent")
        self.check_rows("a pending batch is in no read")
        return ticket, commit

    def flush(self, ticket: int, commit: Commit) -> None:
        expected = self.twin.commit(commit)
        answer = self.storage.flush(ticket, self.now_ms)
        if isinstance(expected, Committed):
            agree("versions grow by one per write and are never reused", answer, expected)
            self.first.append((self.now_ms, commit.key, expected))
            self.note_receipts(commit)
            self.check_rows("a durable batch is visible as a whole")
        else:
            unnamed = structs.replace(expected, changed=())  # a storage need not name the rows that differ
            agree("expects that differ are a conflict", answer, unnamed if answer == unnamed else expected)
            self.check_rows("a batch with a conflict changes nothing")

    def note_receipts(self, commit: Commit) -> None:
        for write in commit.writes:
            if write.address.kind == "receipt":
                self.receipts.pop(write.address, None)
                if write.body is not None:
                    self.receipts[write.address] = self.now_ms

    def check_rows(self, law: str) -> None:
        addresses = tuple(self.addresses)
        agree(law, self.ask(ByIds(addresses)).rows, self.twin.rows_at(addresses))

    def check_hits(self, query: ByVector | ByWords) -> None:
        law = "hits are of one scope, filtered, then ordered by (score descending, id), then cut"
        rows = self.ask(query).rows
        if not self.tolerance_ppm:
            agree(law, rows, self.twin.hits(query))
            return
        true = {row.address: row for row in self.twin.score_rows(query)}
        scores = {row.address: row.score_ppm or 0 for row in rows}
        agree(law, [drop_score(row) for row in rows], [drop_score(true[at]) for at in scores if at in true])
        agree(law, list(rows), sorted(rows, key=rank_of)[: query.limit])
        far = [at for at, ppm in scores.items() if abs(ppm - score_of(true[at])) > self.tolerance_ppm]
        agree("a score is off by no more than the tolerance", far, [])
        least_ppm = max(1, query.min_score_ppm)
        agree("a hit has the least score", [at for at, ppm in scores.items() if ppm < least_ppm], [])
        # With fewer hits than the limit nothing was cut, so every row with the least score must be a hit.
        last_ppm = min(scores.values()) if len(rows) == query.limit else least_ppm - 1
        # A row that beats the last hit even with the largest error was lost by the index.
        left = [score_of(row) - self.tolerance_ppm for at, row in true.items() if at not in scores]
        agree("no hit is left out that is better than the last", [ppm for ppm in left if ppm > last_ppm], [])

    def keys(self, query: CountRows) -> list[tuple[str, str]]:
        return [(row.address.kind, row.address.id) for row in self.twin.matching(query)]

    def ask(self, query: Query) -> ReadDone:
        self.request_id += 1
        answer = self.storage.read(self.request_id, query)
        agree("an answer carries the id of its request", answer.request_id, self.request_id)
        return answer


def searches(where: Where, limit: int, least_ppm: int, kind: str) -> Iterator[ByVector | ByWords]:
    """Yield a search for every phrase and direction, in both scopes."""
    for scope in SCOPES:
        for phrase in PHRASES:
            yield ByWords(scope, phrase, where, limit, least_ppm, kind)
        for vector in DIRECTIONS:
            yield ByVector(scope, vector, where, limit, least_ppm, kind)


def drop_score(row: Row) -> Row:
    return structs.replace(row, score_ppm=None)


def score_of(row: Row) -> int:
    return row.score_ppm or 0

"""The contract `sessions`: conversations, each a list of messages.

    add(session, items)        get(session, limit)   pop(session)      count(session)
    clear(session)             delete(session)       sessions()
    put_state(session, key, value)                   state(session)
    version(session)           append(session, items, version)
    replace(session, items)

A message is {"role": "user", "content": "..."}. `get` returns the latest `limit` messages, the oldest first;
`pop` removes the last message and returns it, or None. All operations may take `user`.
`version` returns any value that identifies the current state of the session. `append` gets it back, and adds
the items, or raises an error of `stale` if the session has changed. `replace` replaces all messages.
With `default_ttl_ms` a session, its messages and its state expire that long after a write.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.wording import show_value
from umi_sim.targets.items import ContractOp
from umi_sim.targets.model import (
    CROWD_LIMITS,
    FORMS,
    NOTHING,
    REFUSED,
    SINGLY,
    WHATEVER,
    Contract,
    Exactly,
    Expectation,
    Flags,
    NamesInAnyOrder,
    Outcomes,
    Pool,
    StoredEntry,
    StoreState,
    any_of,
    fill,
    take,
)
from umi_sim.targets.values import MISSING

Key = tuple[str, str]
Message = tuple[int, object]  # the time of its write in ms, and the message
ROLES: Final = ("user", "assistant")


class SessionVersion(Data):
    """A version of a session: its messages, and the number of its changes until then."""

    of: Key
    messages: tuple[Message, ...]
    count: int


class StoredSession(StoredEntry):
    messages: tuple[Message, ...] = ()
    state: Mapping[str, object] = {}


NO_SESSION: Final = StoredSession()


class SessionsState(StoreState):
    """A state of sessions. `counts`: the number of changes per session. `seen`: versions by their name."""

    counts: Mapping[Key, int] = {}
    seen: Mapping[str, SessionVersion] = {}

    def of(self, key: Key) -> tuple[Message, ...]:
        """Return the messages that a read returns."""
        return self.cut(self.entries.get(key, NO_SESSION).messages)

    def cut(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        most: Any = self.flags.get("keeps_last")
        return messages if most is None else messages[-most:]

    def set(self, key: Key, **fields: object) -> "SessionsState":
        """Return the state after a change to a session, which is created if it is absent."""
        session = structs.replace(self.entries.get(key, NO_SESSION), **fields)
        return structs.replace(self.count_change(key), entries={**self.entries, key: session})

    def plus(self, key: Key, values: Sequence[object], now_ms: int) -> "SessionsState":
        before = self.entries.get(key, NO_SESSION).messages
        messages = (*before, *((now_ms, each) for each in values))
        if self.flags["trims_on"] == "write":
            messages = self.cut(messages)
        return self.write(key, now_ms, messages=messages)

    def write(self, key: Key, now_ms: int, **fields: object) -> "SessionsState":
        """Return the state after a write to a session, which may renew its time to live."""
        ttl: Any = self.flags.get("default_ttl_ms")
        end_ms = self.entries.get(key, NO_SESSION).end_ms
        if ttl is not None and (end_ms is None or self.flags["writes_renew"]):
            end_ms = now_ms + ttl
        return self.set(key, end_ms=end_ms, **fields)

    def without(self, *keys: Key) -> "SessionsState":
        state = self.keep({of: each for of, each in self.entries.items() if of not in keys})
        for key in keys:
            state = state.count_change(key)
        return state

    def count_change(self, key: Key) -> "SessionsState":
        """Count a change, if a version of this session was read; else counts only split equal states."""
        if not any(each.of == key for each in self.seen.values()):
            return self
        return structs.replace(self, counts={**self.counts, key: self.counts.get(key, 0) + 1})

    def version(self, key: Key) -> SessionVersion:
        return SessionVersion(key, self.of(key), self.counts.get(key, 0))


class SessionsContract(Contract):
    name = "sessions"
    ops: ClassVar = {
        "add": ("user", "session", "items"),
        "get": ("user", "session", "limit"), "pop": ("user", "session"), "count": ("user", "session"),
        "clear": ("user", "session"), "delete": ("user", "session"), "sessions": ("user",),
        "put_state": ("user", "session", "key", "value"), "state": ("user", "session"),
        "version": ("user", "session", "version"), "append": ("user", "session", "items", "version"),
        "replace": ("user", "session", "items"),
    }  # fmt: skip
    flags: ClassVar = {
        "boundary": (None, "alive", "expired"),
        "writes_renew": (None, True, False),
        "limit_zero": (None, "nothing", "all"),
        "limit_negative": (None, "nothing", "all"),
        "limit_takes": ("latest", "first"),
        "order": ("insertion", "time"),
        "batch_atomic": (True, False),
        "clear_ends_state": (None, True, False),
        "session_ids": tuple(FORMS),
        "trims_on": (None, "write", "read"),
    }
    concerns: ClassVar = {
        "limit_zero": "limit", "limit_negative": "limit", "clear_ends_state": "state",
        "boundary": "default_ttl_ms", "writes_renew": "default_ttl_ms", "trims_on": "keeps_last",
    }  # fmt: skip
    settings: ClassVar = ("default_ttl_ms", "keeps_last")
    bound = "keeps_last"
    made: ClassVar = {"version": "version"}  # the run draws the name of the version
    names: ClassVar = ("user", "session", "key")
    reads: ClassVar = ("get", "count", "sessions", "state", "version")
    fills: ClassVar = ("add", "append", "put_state", "replace")
    removes: ClassVar = ("pop", "clear", "delete", "replace")

    def initial(self, flags: Flags) -> SessionsState:
        return SessionsState({}, flags)

    def bind(self, op: ContractOp, flags: Flags) -> dict[str, Any]:
        args: dict[str, Any] = dict(op.args)
        user = args.pop("user", "")
        if op.name == "sessions":
            return {"user": user}
        form = FORMS[str(flags["session_ids"])]
        return {"of": (user, form(args.pop("session"))), **args}

    def outcomes(self, state: SessionsState, op: ContractOp, now_ms: int) -> Outcomes:
        return super().outcomes(state.at(now_ms), op, now_ms)

    # Drawing.

    def crowd(
        self, pool: Pool, ops: Mapping[str, Sequence[str]], chance: Stream, count: int, is_bounded: bool
    ) -> Sequence[Sequence[ContractOp]]:
        """Return adds of many messages: all or one by one to one session, or one to each of many sessions."""
        if "add" not in ops:
            return ()
        items = [{"role": ROLES[n % 2], "content": f"crowd {n}"} for n in range(count)]
        places = [(pool.names[0], items)]
        if is_bounded and chance.chance(1, 2):
            places = [(pool.names[0], [item]) for item in items]
        elif "sessions" in ops and chance.chance(1, SINGLY):
            places = [(f"c{n}", [item]) for n, item in enumerate(items)]
        given = [{"user": pool.scopes[0], "session": name, "items": each} for name, each in places]
        reads = [name for name in ("get", "count") if name in ops and is_bounded]
        where = {"user": pool.scopes[0], "session": pool.names[0]}
        return [
            fill("add", ops["add"], given),
            [op for name in reads for op in fill(name, ops[name], [where])],
        ]

    def drawers(self, chance: Stream, pool: Pool, name: str, at: str) -> Mapping[str, Callable[[], object]]:
        return {
            "user": lambda: chance.pick(pool.scopes),
            "session": lambda: chance.pick(pool.names),
            "items": lambda: [
                {"role": chance.pick(ROLES), "content": pool.draw_value(chance, f"v{at}.{n}", (3, 4))}
                for n in range(chance.pick((0, 1, 1, 1, 2, 3)))
            ],
            "limit": lambda: chance.pick((None, None, -1 if pool.is_odd else 0, 0, 1, 2, 3, CROWD_LIMITS[0])),
            "key": lambda: chance.pick(("k1", "k2")),
            "value": lambda: pool.draw_value(chance, f"v{at}", (1, 2)),
            "version": lambda: f"r{at}" if name == "version" else chance.pick(pool.made or ["r0"]),
        }

    def draw(self, chance: Stream, pool: Pool, name: str, args: Sequence[str], at: str) -> dict[str, object]:
        """Draw arguments. Versions get names of the run, and `append` names the session of its version."""
        args = tuple(dict.fromkeys((*args, *(["version"] if name in ("version", "append") else []))))
        drawn = super().draw(chance, pool, name, args, at)
        if name == "version":
            pool.made.append(f"r{at}")
            pool.places[f"r{at}"] = {each: drawn[each] for each in ("user", "session") if each in drawn}
        if name == "append":
            drawn |= pool.places.get(str(drawn["version"]), {})
        place = drawn.get("user"), drawn.get("session"), drawn.get("key")
        for each in ("items", "value"):
            if drawn.get(each):
                drawn[each] = pool.repeat(chance, (*place, each), drawn[each])
        return drawn

    def is_usual(self, name: str, value: object) -> bool:
        if name == "limit":
            return isinstance(value, int) and value > 0
        return super().is_usual(name, value)

    def is_batch(self, op: ContractOp) -> bool:
        items = op.args.get("items")
        # `replace` may be cut off between removing the old messages and writing the new ones.
        return op.name == "replace" or (isinstance(items, list) and len(items) > 1)

    def halves(self, state: SessionsState, op: ContractOp, now_ms: int) -> Iterator[SessionsState]:
        args = self.bind(op, state.flags)
        if op.name in ("add", "append"):
            for count in range(len(args["items"])):
                yield state.plus(args["of"], args["items"][:count], now_ms)
        if op.name == "replace":
            for count in range(len(args["items"]) or 1):
                yield state.set(args["of"], messages=()).plus(args["of"], args["items"][:count], now_ms)

    def absence(self, state: SessionsState, op: ContractOp, now_ms: int) -> str:
        is_empty = op.name in ("get", "pop") and not state.of(self.bind(op, state.flags)["of"])
        return "the session has no message" if is_empty else ""

    # Operations.

    def on_add(self, state: SessionsState, now_ms: int, of: Key, items: Sequence[object]) -> Outcomes:
        yield WHATEVER, state.plus(of, items, now_ms)

    def on_replace(self, state: SessionsState, now_ms: int, of: Key, items: Sequence[object]) -> Outcomes:
        yield WHATEVER, state.set(of, messages=()).plus(of, items, now_ms)

    def on_get(self, state: SessionsState, now_ms: int, of: Key, limit: int | None = None) -> Outcomes:
        yield self.window(state, state.of(of), limit), state

    def window(self, state: SessionsState, messages: tuple[Message, ...], limit: int | None) -> Expectation:
        if limit is not None and limit <= 0:
            flag = state.flags["limit_negative" if limit else "limit_zero"]
            messages, limit = () if flag == "nothing" else messages, None
        is_latest = state.flags["limit_takes"] == "latest"
        if state.flags["order"] == "time":
            return ByTime(messages, limit, is_latest)
        values = [each for _, each in messages]
        if limit is not None:
            values = values[-limit:] if is_latest else values[:limit]
        return exactly(values)

    def on_pop(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        messages = state.entries.get(of, NO_SESSION).messages
        if not messages:
            yield NOTHING, state.count_change(of)  # versions may count requests
        is_by_time = state.flags["order"] == "time"
        for place in range(len(messages) - 1, -1, -1):
            at_ms, value = messages[place]
            if place == len(messages) - 1 or (is_by_time and at_ms == messages[-1][0]):
                yield Exactly(value), state.set(of, messages=messages[:place] + messages[place + 1 :])

    def on_count(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        yield Exactly(len(state.of(of))), state

    def on_clear(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        session = state.entries.get(of, NO_SESSION)
        kept = {} if state.flags["clear_ends_state"] else session.state
        is_absent = session is NO_SESSION
        yield WHATEVER, state.count_change(of) if is_absent else state.set(of, messages=(), state=kept)

    def on_delete(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        yield WHATEVER, state.without(of)

    def on_sessions(self, state: SessionsState, now_ms: int, user: str) -> Outcomes:
        known = [session for of, session in state.entries if of == user]
        must = [session for session in known if state.of((user, session))]
        may = [session for session in known if session not in must]
        yield NamesInAnyOrder(must, may, form=str(state.flags["session_ids"])), state

    def on_put_state(self, state: SessionsState, now_ms: int, of: Key, key: str, value: object) -> Outcomes:
        own = {**state.entries.get(of, NO_SESSION).state, key: value}
        yield WHATEVER, state.write(of, now_ms, state=own)

    def on_state(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        yield exactly(dict(state.entries.get(of, NO_SESSION).state)), state

    def on_version(self, state: SessionsState, now_ms: int, of: Key, version: str) -> Outcomes:
        yield WHATEVER, structs.replace(state, seen={**state.seen, version: state.version(of)})

    def on_append(
        self, state: SessionsState, now_ms: int, of: Key, items: Sequence[object], version: str
    ) -> Outcomes:
        """Yield the outcomes of an append. A session with the same messages again may count as unchanged."""
        then, now = state.seen.get(version), state.version(of)
        is_comparable = then is not None and then.of == of
        if then is None or not is_comparable or then.messages == now.messages:
            yield WHATEVER, state.plus(of, items, now_ms)
        if then != now:
            yield STALE, state


class StaleRefusal(Exactly):
    """The refusal of an append whose session has changed since its version."""

    def __str__(self) -> str:
        return "an error of `stale`, since the session has changed since that version"


STALE: Final = StaleRefusal(REFUSED)


def exactly(value: object) -> Expectation:
    """Return the expectation of exactly this value; None and MISSING may replace an empty value."""
    return Exactly(value) if value else any_of(value, None, MISSING)


class ByTime(Expectation):
    """Messages in the order of their times; messages of the same millisecond in any order."""

    messages: Sequence[Message]
    limit: int | None
    is_latest: bool = True

    def takes(self, got: object) -> bool:
        if not isinstance(got, list):
            return not self.messages and (got is None or got is MISSING)
        groups = [[value for _, value in each] for _, each in groupby(self.messages, lambda it: it[0])]
        left = list(got)
        for group in reversed(groups) if self.is_latest else groups:
            count = min(len(group), len(left))
            place = slice(len(left) - count, None) if self.is_latest else slice(count)
            if take(left[place], group) != count:
                return False
            del left[place]
        wanted = len(self.messages) if self.limit is None else min(self.limit, len(self.messages))
        return not left and len(got) == wanted

    def __str__(self) -> str:
        return f"{show_value([each for _, each in self.messages])} by time"

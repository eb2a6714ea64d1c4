"""The contract `sessions`: conversations, each a list of messages.

    add(session, items)        get(session, limit)   pop(session)      count(session)
    clear(session)             delete(session)       sessions()
    put_state(session, key, value)                   state(session)

A message is {"role": "user", "content": "..."}. `get` gives the latest `limit` of them, the oldest first;
`pop` takes the last one away and gives it, or None. Every operation may have `user`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Final

import attrs

from umi_core.data import Data
from umi_sim.kernel.prng import Stream
from umi_sim.targets.items import Op
from umi_sim.targets.model import (
    NOTHING,
    WHATEVER,
    Answer,
    Contract,
    Either,
    Exactly,
    Flags,
    Members,
    Outcome,
    Pool,
    taken,
)
from umi_sim.targets.values import is_plain, shown

Key = tuple[str, str]
Message = tuple[int, object]  # when it came, and itself
ROLES: Final = ("user", "assistant")


@attrs.frozen
class SessionsState(Data):
    messages: Mapping[Key, tuple[Message, ...]]
    states: Mapping[Key, Mapping[str, object]]
    flags: Flags

    def of(self, key: Key) -> tuple[Message, ...]:
        return self.messages.get(key, ())

    def set(self, key: Key, messages: tuple[Message, ...]) -> "SessionsState":
        return attrs.evolve(self, messages={**self.messages, key: messages})

    def without(self, key: Key) -> "SessionsState":
        messages = {of: each for of, each in self.messages.items() if of != key}
        states = {of: each for of, each in self.states.items() if of != key}
        return SessionsState(messages, states, self.flags)


class SessionsContract(Contract):
    name = "sessions"
    ops: ClassVar = {
        "add": ("user", "session", "items"), "get": ("user", "session", "limit"), "pop": ("user", "session"),
        "count": ("user", "session"), "clear": ("user", "session"), "delete": ("user", "session"),
        "sessions": ("user",), "put_state": ("user", "session", "key", "value"), "state": ("user", "session"),
    }  # fmt: skip
    flags: ClassVar = {
        "limit_zero": (None, "nothing", "all"),
        "limit_negative": ("undefined", "nothing", "all"),
        "limit_takes": ("latest", "first"),
        "order": ("insertion", "time"),
        "batch_atomic": (True, False),
        "clear_ends_state": (None, True, False),
    }
    concerns: ClassVar = {"limit_zero": "limit", "clear_ends_state": "state"}
    names: ClassVar = ("user", "session", "key")
    batches = ("add",)

    def is_batch(self, op: Op) -> bool:
        items = op.args.get("items")
        return isinstance(items, list) and len(items) > 1

    def initial(self, flags: Flags) -> SessionsState:
        return SessionsState({}, {}, flags)

    # Drawing.

    def draw(self, chance: Stream, pool: Pool, name: str, args: Sequence[str], at: int) -> dict[str, object]:
        drawers: dict[str, Any] = {
            "user": lambda: chance.pick(pool.scopes),
            "session": lambda: chance.pick(pool.names),
            "items": lambda: [
                message(chance, pool, f"v{at}.{n}") for n in range(chance.pick((0, 1, 1, 1, 2, 3)))
            ],
            "limit": lambda: chance.pick((None, None, 0, 1, 2, 3, 100, -1)),
            "key": lambda: chance.pick(("k1", "k2")),
            "value": lambda: f"v{at}" if chance.chance(1, 2) else chance.pick(pool.values),
        }
        drawn = {each: drawers[each]() for each in args}
        return {each: value for each, value in drawn.items() if value is not None}

    def may_be_drawn(self, op: Op, flags: Flags) -> bool:
        limit = op.args.get("limit", 1)
        return not (
            isinstance(limit, int) and limit < 0 and flags.get("limit_negative", "undefined") == "undefined"
        )

    def is_usual(self, name: str, value: object) -> bool:
        if name == "limit":
            return isinstance(value, int) and value > 0
        return is_plain(value)

    def partly(self, state: SessionsState, op: Op, now_ms: int) -> Iterator[SessionsState]:
        if not state.flags["batch_atomic"]:
            yield from self.halves(state, op, now_ms)

    def halves(self, state: SessionsState, op: Op, now_ms: int) -> Iterator[SessionsState]:
        if op.name == "add":
            items = list(op.args["items"])  # type: ignore[call-overload]  # as drawn
            for count in range(len(items)):
                half = Op(op.name, {**op.args, "items": items[:count]})
                yield from (after for _, after in self.outcomes(state, half, now_ms))

    def foreign(self, state: SessionsState, op: Op) -> Iterator[object]:
        own = op.args.get("user", ""), op.args.get("session")
        told = [(key == own, each) for key, messages in state.messages.items() for _, each in messages]
        mine = [each for is_own, each in told if is_own]
        yield from (each for is_own, each in told if not is_own and each not in mine)

    # Operations.

    def on_add(
        self, state: SessionsState, now_ms: int, session: str, items: Sequence[object], user: str = ""
    ) -> Iterator[Outcome]:
        key = user, session
        yield WHATEVER, state.set(key, (*state.of(key), *((now_ms, each) for each in items)))

    def on_get(
        self, state: SessionsState, now_ms: int, session: str, user: str = "", limit: int | None = None
    ) -> Iterator[Outcome]:
        yield self.window(state, state.of((user, session)), limit), state

    def window(self, state: SessionsState, messages: tuple[Message, ...], limit: int | None) -> Answer:
        if limit is not None and limit <= 0:
            reading = state.flags["limit_zero" if limit == 0 else "limit_negative"]
            messages, limit = ((), None) if reading == "nothing" else (messages, None)
        if state.flags["order"] == "time":
            return ByTime(messages, limit)
        values = [each for _, each in messages]
        if limit is not None:
            values = values[-limit:] if state.flags["limit_takes"] == "latest" else values[:limit]
        return Either((Exactly(values), Exactly(None))) if not values else Exactly(values)

    def on_pop(self, state: SessionsState, now_ms: int, session: str, user: str = "") -> Iterator[Outcome]:
        key = user, session
        messages = state.of(key)
        if not messages:
            yield NOTHING, state
            return
        is_by_time = state.flags["order"] == "time"
        last_ms = messages[-1][0]
        for place in range(len(messages) - 1, -1, -1):
            if place == len(messages) - 1 or (is_by_time and messages[place][0] == last_ms):
                yield Exactly(messages[place][1]), state.set(key, messages[:place] + messages[place + 1 :])

    def on_count(self, state: SessionsState, now_ms: int, session: str, user: str = "") -> Iterator[Outcome]:
        yield Exactly(len(state.of((user, session)))), state

    def on_clear(self, state: SessionsState, now_ms: int, session: str, user: str = "") -> Iterator[Outcome]:
        key = user, session
        emptied = state.set(key, ()) if key in state.messages else state
        states = {k: v for k, v in state.states.items() if k != key}
        yield WHATEVER, attrs.evolve(emptied, states=states) if state.flags["clear_ends_state"] else emptied

    def on_delete(self, state: SessionsState, now_ms: int, session: str, user: str = "") -> Iterator[Outcome]:
        yield WHATEVER, state.without((user, session))

    def on_sessions(self, state: SessionsState, now_ms: int, user: str = "") -> Iterator[Outcome]:
        own = {session: messages for (of, session), messages in state.messages.items() if of == user}
        must = [session for session, messages in own.items() if messages]
        others = [session for (of, session) in state.states if of == user and session not in must]
        yield Members(must, [*dict.fromkeys([*(it for it in own if it not in must), *others])]), state

    def on_put_state(
        self, state: SessionsState, now_ms: int, session: str, key: str, value: object, user: str = ""
    ) -> Iterator[Outcome]:
        own = {**state.states.get((user, session), {}), key: value}
        yield WHATEVER, attrs.evolve(state, states={**state.states, (user, session): own})

    def on_state(self, state: SessionsState, now_ms: int, session: str, user: str = "") -> Iterator[Outcome]:
        found = state.states.get((user, session), {})
        yield Either((Exactly(dict(found)), Exactly(None))) if not found else Exactly(dict(found)), state


def message(chance: Stream, pool: Pool, own: str) -> dict[str, object]:
    content = own if chance.chance(3, 4) else chance.pick(pool.values)
    return {"role": chance.pick(ROLES), "content": content}


@attrs.frozen
class ByTime(Answer):
    """Messages by the time at which they came; those of one millisecond in any order."""

    messages: Sequence[Message]
    limit: int | None

    def takes(self, got: object) -> bool:
        if not isinstance(got, list):
            return not self.messages and got is None
        left = list(got)
        for _, group in reversed([(at, list(each)) for at, each in groupby(self.messages, lambda it: it[0])]):
            count = min(len(group), len(left))
            chunk = left[len(left) - count :]
            if taken(list(chunk), [each for _, each in group]) != count:
                return False
            del left[len(left) - count :]
        wanted = len(self.messages) if self.limit is None else min(self.limit, len(self.messages))
        return not left and len(got) == wanted

    def __str__(self) -> str:
        return f"{shown([each for _, each in self.messages])} by time"

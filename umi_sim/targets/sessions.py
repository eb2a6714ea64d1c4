"""The contract `sessions`: conversations, each a list of messages.

    add(session, items)        get(session, limit)   pop(session)      count(session)
    clear(session)             delete(session)       sessions()
    put_state(session, key, value)                   state(session)

A message is {"role": "user", "content": "..."}. `get` gives the latest `limit` of them, the oldest first;
`pop` takes the last one away and gives it, or None. Every operation may have `user`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    Exactly,
    Flags,
    Members,
    Outcomes,
    Pool,
    any_of,
    take,
)
from umi_sim.targets.values import shown

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

    def plus(self, key: Key, values: Sequence[object], now_ms: int) -> "SessionsState":
        return self.set(key, (*self.of(key), *((now_ms, each) for each in values)))

    def without(self, key: Key) -> "SessionsState":
        messages = {of: each for of, each in self.messages.items() if of != key}
        states = {of: each for of, each in self.states.items() if of != key}
        return SessionsState(messages, states, self.flags)


class SessionsContract(Contract):
    name = "sessions"
    ops: ClassVar = {
        "add": ("user", "session", "items"),
        "get": ("user", "session", "limit"), "pop": ("user", "session"), "count": ("user", "session"),
        "clear": ("user", "session"), "delete": ("user", "session"), "sessions": ("user",),
        "put_state": ("user", "session", "key", "value"), "state": ("user", "session"),
    }  # fmt: skip
    flags: ClassVar = {
        "limit_zero": (None, "nothing", "all"),
        "limit_takes": ("latest", "first"),
        "order": ("insertion", "time"),
        "batch_atomic": (True, False),
        "clear_ends_state": (None, True, False),
    }
    concerns: ClassVar = {"limit_zero": "limit", "clear_ends_state": "state"}
    names: ClassVar = ("user", "session", "key")
    reads: ClassVar = ("get", "count", "sessions", "state")

    def initial(self, flags: Flags) -> SessionsState:
        return SessionsState({}, {}, flags)

    def bind(self, op: Op) -> dict[str, Any]:
        args: dict[str, Any] = dict(op.args)
        user = args.pop("user", "")
        if op.name == "sessions":
            return {"user": user}
        return {"of": (user, args.pop("session")), **args}

    # Drawing.

    def drawers(self, chance: Stream, pool: Pool, name: str, at: str) -> Mapping[str, Callable[[], object]]:
        return {
            "user": lambda: chance.pick(pool.scopes),
            "session": lambda: chance.pick(pool.names),
            "items": lambda: [
                message(chance, pool, f"v{at}.{n}") for n in range(chance.pick((0, 1, 1, 1, 2, 3)))
            ],
            "limit": lambda: chance.pick((None, None, 0, 1, 2, 3, 100)),
            "key": lambda: chance.pick(("k1", "k2")),
            "value": lambda: f"v{at}" if chance.chance(1, 2) else chance.pick(pool.values),
        }

    def is_usual(self, name: str, value: object) -> bool:
        if name == "limit":
            return isinstance(value, int) and value > 0
        return super().is_usual(name, value)

    def is_batch(self, op: Op) -> bool:
        items = op.args.get("items")
        return isinstance(items, list) and len(items) > 1

    def halves(self, state: SessionsState, op: Op, now_ms: int) -> Iterator[SessionsState]:
        args = self.bind(op)
        if op.name == "add":
            for count in range(len(args["items"])):
                yield state.plus(args["of"], args["items"][:count], now_ms)

    def foreign(self, state: SessionsState, op: Op) -> Iterator[object]:
        own = op.args.get("user", ""), op.args.get("session")
        told = [(key == own, each) for key, messages in state.messages.items() for _, each in messages]
        mine = [each for is_own, each in told if is_own]
        yield from (each for is_own, each in told if not is_own and each not in mine)

    # Operations.

    def on_add(self, state: SessionsState, now_ms: int, of: Key, items: Sequence[object]) -> Outcomes:
        yield WHATEVER, state.plus(of, items, now_ms)

    def on_get(self, state: SessionsState, now_ms: int, of: Key, limit: int | None = None) -> Outcomes:
        yield self.window(state, state.of(of), limit), state

    def window(self, state: SessionsState, messages: tuple[Message, ...], limit: int | None) -> Answer:
        if limit == 0:
            messages, limit = () if state.flags["limit_zero"] == "nothing" else messages, None
        if state.flags["order"] == "time":
            return ByTime(messages, limit)
        values = [each for _, each in messages]
        if limit is not None:
            values = values[-limit:] if state.flags["limit_takes"] == "latest" else values[:limit]
        return exactly(values)

    def on_pop(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        messages = state.of(of)
        if not messages:
            yield NOTHING, state
        is_by_time = state.flags["order"] == "time"
        for place in range(len(messages) - 1, -1, -1):
            at_ms, value = messages[place]
            if place == len(messages) - 1 or (is_by_time and at_ms == messages[-1][0]):
                yield Exactly(value), state.set(of, messages[:place] + messages[place + 1 :])

    def on_count(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        yield Exactly(len(state.of(of))), state

    def on_clear(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        emptied = state.set(of, ()) if of in state.messages else state
        states = {key: each for key, each in state.states.items() if key != of}
        yield WHATEVER, attrs.evolve(emptied, states=states) if state.flags["clear_ends_state"] else emptied

    def on_delete(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        yield WHATEVER, state.without(of)

    def on_sessions(self, state: SessionsState, now_ms: int, user: str) -> Outcomes:
        known = [session for of, session in (*state.messages, *state.states) if of == user]
        must = [session for session in dict.fromkeys(known) if state.of((user, session))]
        yield Members(must, [session for session in dict.fromkeys(known) if session not in must]), state

    def on_put_state(self, state: SessionsState, now_ms: int, of: Key, key: str, value: object) -> Outcomes:
        own = {**state.states.get(of, {}), key: value}
        yield WHATEVER, attrs.evolve(state, states={**state.states, of: own})

    def on_state(self, state: SessionsState, now_ms: int, of: Key) -> Outcomes:
        yield exactly(dict(state.states.get(of, {}))), state


def exactly(value: object) -> Answer:
    """What is empty may be told as None."""
    return Exactly(value) if value else any_of(value, None)


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
            if take(list(chunk), [each for _, each in group]) != count:
                return False
            del left[len(left) - count :]
        wanted = len(self.messages) if self.limit is None else min(self.limit, len(self.messages))
        return not left and len(got) == wanted

    def __str__(self) -> str:
        return f"{shown([each for _, each in self.messages])} by time"

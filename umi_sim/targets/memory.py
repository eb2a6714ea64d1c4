"""The contract `memory`: texts that are remembered for somebody, and searched.

    add(text, user)            get(id)               update(id, text)  delete(id)
    search(query, user, limit) list(user)            count(user)       delete_all(user)      history(id)

`add` gives the id, or has `id` as an argument if the user makes ids. `search` and `list` give pairs
[id, text].
Operations with `user` may have `agent` and `run` too; one that is None in a search stands for all.
A store that needs time to find what it was told has `drain()`, which is called before each reading.
"""

from collections.abc import Iterator, Mapping, Sequence
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
    Raises,
    Truth,
)
from umi_sim.targets.values import is_plain, shown

Scope = tuple[str | None, str | None, str | None]
ALL: Final = ("user", "agent", "run")


@attrs.frozen
class Remembered(Data):
    scope: Scope
    texts: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.texts[-1]


@attrs.frozen
class MemoryState(Data):
    entries: Mapping[str, Remembered]
    flags: Flags

    def set(self, name: str, entry: Remembered) -> "MemoryState":
        return MemoryState({**self.entries, name: entry}, self.flags)

    def without(self, *names: str) -> "MemoryState":
        return MemoryState({k: v for k, v in self.entries.items() if k not in names}, self.flags)

    def of(self, scope: Scope) -> dict[str, Remembered]:
        return {name: each for name, each in self.entries.items() if is_within(each.scope, scope)}


def is_within(scope: Scope, asked: Scope) -> bool:
    return all(want is None or have == want for have, want in zip(scope, asked, strict=True))


class MemoryContract(Contract):
    name = "memory"
    ops: ClassVar = {
        "add": ("id", "text", *ALL), "get": ("id",), "update": ("id", "text"), "delete": ("id",),
        "search": ("query", *ALL, "limit"), "list": ALL, "count": ALL, "delete_all": ALL, "history": ("id",),
    }  # fmt: skip
    flags: ClassVar = {
        "delete_reports": (None, "existed", "nothing"),
        "finds_own": (True, False),
        "dedupes": (False, True),
    }
    concerns: ClassVar = {"delete_reports": "delete"}
    names: ClassVar = ALL

    def initial(self, flags: Flags) -> MemoryState:
        return MemoryState({}, flags)

    # Drawing.

    def draw(self, chance: Stream, pool: Pool, name: str, args: Sequence[str], at: int) -> dict[str, object]:
        words = [value for value in pool.values if isinstance(value, str)] or ["likes green tea"]
        drawers: dict[str, Any] = {
            "id": lambda: f"m{at}" if name == "add" else chance.pick(pool.made or ["m0"]),
            "text": lambda: f"note {at}" if chance.chance(1, 2) else chance.pick(words),
            "query": lambda: (
                chance.pick(words) if chance.chance(1, 2) or not pool.made else f"note {pool.made[-1][1:]}"
            ),
            "limit": lambda: chance.pick((1, 2, 10, 100)),
            "user": lambda: chance.pick(pool.scopes),
            "agent": lambda: chance.pick((None, "bot", "Bot")),
            "run": lambda: chance.pick((None, "r1", "r2")),
        }
        drawn = {each: drawers[each]() for each in (("id", *args) if name == "add" else args)}
        if name == "add":
            pool.made.append(f"m{at}")
        return {each: value for each, value in drawn.items() if value is not None}

    def is_usual(self, name: str, value: object) -> bool:
        return is_plain(value)

    def foreign(self, state: MemoryState, op: Op) -> Iterator[object]:
        scope = scope_of(**{name: op.args[name] for name in ALL if name in op.args})  # type: ignore[arg-type]
        for name, each in state.entries.items():
            if not is_within(each.scope, scope):
                yield [name, each.text]

    # Operations.

    def on_add(
        self, state: MemoryState, now_ms: int, id: str, text: str,
        user: str | None = None, agent: str | None = None, run: str | None = None,
    ) -> Iterator[Outcome]:  # fmt: skip
        scope = user, agent, run
        twins = [name for name, each in state.entries.items() if each.scope == scope and each.text == text]
        if state.flags["dedupes"] and twins:
            yield Either((*(Exactly(name) for name in twins), NOTHING)), state
        else:
            yield Exactly(id), state.set(id, Remembered(scope, (text,)))

    def on_get(self, state: MemoryState, now_ms: int, id: str) -> Iterator[Outcome]:
        entry = state.entries.get(id)
        yield NOTHING if entry is None else Exactly(entry.text), state

    def on_update(self, state: MemoryState, now_ms: int, id: str, text: str) -> Iterator[Outcome]:
        entry = state.entries.get(id)
        if entry is None:
            yield Either((Truth(False), NOTHING, Raises())), state
        else:
            yield WHATEVER, state.set(id, Remembered(entry.scope, (*entry.texts, text)))

    def on_delete(self, state: MemoryState, now_ms: int, id: str) -> Iterator[Outcome]:
        told = Truth(id in state.entries, is_told=True)
        yield told if state.flags["delete_reports"] == "existed" else Exactly(None), state.without(id)

    def on_history(self, state: MemoryState, now_ms: int, id: str) -> Iterator[Outcome]:
        entry = state.entries.get(id)
        yield WHATEVER if entry is None else Exactly(list(entry.texts)), state

    def on_list(
        self,
        state: MemoryState,
        now_ms: int,
        user: str | None = None,
        agent: str | None = None,
        run: str | None = None,
    ) -> Iterator[Outcome]:
        yield Members([[name, each.text] for name, each in state.of((user, agent, run)).items()]), state

    def on_count(
        self,
        state: MemoryState,
        now_ms: int,
        user: str | None = None,
        agent: str | None = None,
        run: str | None = None,
    ) -> Iterator[Outcome]:
        yield Exactly(len(state.of((user, agent, run)))), state

    def on_delete_all(
        self,
        state: MemoryState,
        now_ms: int,
        user: str | None = None,
        agent: str | None = None,
        run: str | None = None,
    ) -> Iterator[Outcome]:
        yield WHATEVER, state.without(*state.of((user, agent, run)))

    def on_search(
        self, state: MemoryState, now_ms: int, query: str, limit: int = 10,
        user: str | None = None, agent: str | None = None, run: str | None = None,
    ) -> Iterator[Outcome]:  # fmt: skip
        own = {name: each.text for name, each in state.of((user, agent, run)).items()}
        yield Found(own, query if state.flags["finds_own"] else None, limit), state


def scope_of(user: str | None = None, agent: str | None = None, run: str | None = None) -> Scope:
    return user, agent, run


@attrs.frozen
class Found(Answer):
    """Some of what there is, each once, with its text; what says exactly what was asked is among it."""

    own: Mapping[str, str]
    query: str | None
    limit: int

    def takes(self, got: object) -> bool:
        if not isinstance(got, list) or len(got) > self.limit:
            return False
        pairs = [tuple(each) for each in got if isinstance(each, list) and len(each) == 2]
        names = [name for name, _ in pairs]
        is_sound = len(pairs) == len(got) and all(self.own.get(name) == text for name, text in pairs)
        asked = [name for name, text in self.own.items() if text == self.query]
        has_own = len(asked) > self.limit or set(asked) <= set(names)
        return is_sound and len(set(names)) == len(names) and has_own

    def __str__(self) -> str:
        own = shown([list(pair) for pair in self.own.items()])
        return f"at most {self.limit} of {own}, with all that say {shown(self.query)}"

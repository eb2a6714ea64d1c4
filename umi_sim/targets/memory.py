"""The contract `memory`: texts that are remembered for somebody, and searched.

    add(text, user)            get(id)               update(id, text)  delete(id)
    search(query, user, limit) list(user)            count(user)       delete_all(user)      history(id)

`add` gives the id, or has `id` as an argument if the user makes ids. `search` and `list` give pairs
[id, text].
Operations with `user` may have `agent` and `run` too; one that is None in a search stands for all.
A store that needs time to find what it was told waits for that in its own `search` and `list`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import attrs

from umi_core.data import Data
from umi_sim.kernel.prng import Stream
from umi_sim.targets.items import Op
from umi_sim.targets.model import (
    NOTHING,
    REFUSAL,
    WHATEVER,
    Answer,
    Contract,
    Either,
    Exactly,
    Flags,
    Members,
    Outcomes,
    Pool,
    Truth,
    any_of,
)
from umi_sim.targets.values import MISSING, shown

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
    """`gone`: what was deleted, if a store that dedupes may give it its id again."""

    entries: Mapping[str, Remembered]
    flags: Flags
    gone: Mapping[str, Remembered] = {}

    def set(self, name: str, entry: Remembered) -> "MemoryState":
        gone = {other: each for other, each in self.gone.items() if other != name}
        return MemoryState({**self.entries, name: entry}, self.flags, gone)

    def without(self, *names: str) -> "MemoryState":
        left = {name: each for name, each in self.entries.items() if name not in names}
        gone = {name: each for name, each in self.entries.items() if name in names}
        return MemoryState(left, self.flags, {**self.gone, **gone} if self.flags["dedupes"] else {})

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
    reads: ClassVar = ("get", "list", "search", "count", "history")

    def initial(self, flags: Flags) -> MemoryState:
        return MemoryState({}, flags)

    def bind(self, op: Op, flags: Flags) -> dict[str, Any]:
        args: dict[str, Any] = dict(op.args)
        if "user" in self.ops[op.name]:
            args["scope"] = tuple(args.pop(name, None) for name in ALL)
        return args

    # Drawing.

    def drawers(self, chance: Stream, pool: Pool, name: str, at: str) -> Mapping[str, Callable[[], object]]:
        words = [value for value in pool.values if isinstance(value, str)] or ["likes green tea"]
        return {
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

    def draw(self, chance: Stream, pool: Pool, name: str, args: Sequence[str], at: str) -> dict[str, object]:
        """What is remembered has a name of ours, also where the store makes ids."""
        if name == "add":
            args = "id", *args
            pool.made.append(f"m{at}")
        return super().draw(chance, pool, name, args, at)

    def foreign(self, state: MemoryState, op: Op) -> Iterator[object]:
        scope = self.bind(op, state.flags).get("scope", (None, None, None))
        yield from ([name, it.text] for name, it in state.entries.items() if not is_within(it.scope, scope))

    # Operations.

    def on_add(self, state: MemoryState, now_ms: int, id: str, text: str, scope: Scope) -> Outcomes:
        twins = same(state.entries, scope, text) if state.flags["dedupes"] else []
        if twins:
            yield any_of(*twins, MISSING, None), state
        else:
            for name in (id, *same(state.gone, scope, text)):
                yield Exactly(name), state.set(name, Remembered(scope, (text,)))

    def on_get(self, state: MemoryState, now_ms: int, id: str) -> Outcomes:
        entry = state.entries.get(id)
        yield NOTHING if entry is None else Exactly(entry.text), state

    def on_update(self, state: MemoryState, now_ms: int, id: str, text: str) -> Outcomes:
        entry = state.entries.get(id)
        if entry is None:
            yield Either((Truth(False), NOTHING, REFUSAL)), state
        else:
            yield WHATEVER, state.set(id, Remembered(entry.scope, (*entry.texts, text)))

    def on_delete(self, state: MemoryState, now_ms: int, id: str) -> Outcomes:
        told = Truth(id in state.entries, is_told=True)
        yield told if state.flags["delete_reports"] == "existed" else Exactly(None), state.without(id)

    def on_history(self, state: MemoryState, now_ms: int, id: str) -> Outcomes:
        entry = state.entries.get(id)
        yield WHATEVER if entry is None else Exactly(list(entry.texts)), state

    def on_list(self, state: MemoryState, now_ms: int, scope: Scope) -> Outcomes:
        yield Members([[name, each.text] for name, each in state.of(scope).items()]), state

    def on_count(self, state: MemoryState, now_ms: int, scope: Scope) -> Outcomes:
        yield Exactly(len(state.of(scope))), state

    def on_delete_all(self, state: MemoryState, now_ms: int, scope: Scope) -> Outcomes:
        yield WHATEVER, state.without(*state.of(scope))

    def on_search(
        self, state: MemoryState, now_ms: int, query: str, scope: Scope, limit: int = 10
    ) -> Outcomes:
        own = {name: each.text for name, each in state.of(scope).items()}
        yield Found(own, query if state.flags["finds_own"] else None, limit), state


def same(entries: Mapping[str, Remembered], scope: Scope, text: str) -> list[str]:
    return [name for name, each in entries.items() if (each.scope, each.text) == (scope, text)]


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
        own = f"at most {self.limit} of {shown([list(pair) for pair in self.own.items()])}"
        return own if self.query is None else f"{own}, with all that say {shown(self.query)}"

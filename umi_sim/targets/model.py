"""What a contract is made of: states, what an operation may answer in one, and the state after it.

Law 1. A state never changes; an operation gives others. What is left open (a flag that is not set, an
       order among requests at once) is several states, and each answer leaves fewer of them.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, product
from typing import Any, ClassVar, Final, Self

from msgspec import structs

from umi_core.data import Data
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.wording import show_value
from umi_sim.targets.items import ContractOp
from umi_sim.targets.values import MISSING, is_plain, is_plain_name, key_of, same


class Expectation(Data):
    """An answer that is allowed."""

    def takes(self, got: object) -> bool:
        """Return whether the answer `got` is allowed."""
        raise NotImplementedError

    def allows_each(self, got: object) -> bool:
        """Return whether a list is wrong for what it lacks alone: each part of it is allowed."""
        return False

    def __str__(self) -> str:
        raise NotImplementedError


class Whatever(Expectation):
    def takes(self, got: object) -> bool:
        return got is not REFUSED

    def __str__(self) -> str:
        return "anything"


class Exactly(Expectation):
    value: object

    def takes(self, got: object) -> bool:
        return same(self.value, got)

    def __str__(self) -> str:
        return "MISSING" if self.value is MISSING else show_value(self.value)


class Truth(Expectation):
    """Yes or no, or how many; None where a store does not tell."""

    value: bool
    is_told: bool = False

    def takes(self, got: object) -> bool:
        if got is None or got is MISSING:
            return not self.is_told or not self.value
        return isinstance(got, int) and bool(got) == self.value

    def __str__(self) -> str:
        return str(self.value)


class AnyOrder(Expectation):
    """These in any order, and none twice; `may`: these too, or not; `least`: how many in all.

    `limit`: no more than so many of them are there, and so many if there are more.
    """

    must: Sequence[Any]
    may: Sequence[Any] = ()
    least: int = 0
    limit: int | None = None

    def takes(self, got: object) -> bool:
        if not isinstance(got, list) or (self.limit is not None and len(got) > self.limit):
            return False
        left = list(got)
        is_full = take(left, self.must) == len(self.must) and len(got) >= self.least
        take(left, self.may)
        return not left and (is_full or len(got) == self.limit)

    @property
    def count(self) -> Expectation:
        """Return what counts these."""
        return any_of(*range(self.least, len(self.must) + len(self.may) + 1))

    def __str__(self) -> str:
        more = f", and perhaps {show_value(list(self.may))}" if self.may else ""
        more += f", at least {self.least} in all" if self.least > len(self.must) else ""
        few = "" if self.limit is None else f"{min(self.limit, len(self.must))} of "
        return f"{few}{show_value(list(self.must))} in any order{more}"


class Without(Expectation):
    """Any text that shows none of these, nor their marks: a summary may use words of its own."""

    texts: Sequence[str]

    def takes(self, got: object) -> bool:
        return isinstance(got, str) and not any(MARKED.findall(text)[-1] in got for text in self.texts)

    def __str__(self) -> str:
        return f"a text with nothing of {', '.join(map(show_value, self.texts))}" if self.texts else "a text"


def members_during(answers: Sequence[Any]) -> AnyOrder:
    """Return what a slow reader must meet: what all of these have; what only some have is allowed."""
    must = [value for value in answers[0].must if all(holds(each.must, value) for each in answers)]
    may: list[object] = []
    for each in answers:
        may += [value for value in (*each.must, *each.may) if not holds((*must, *may), value)]
    return AnyOrder(must, may)


def holds(values: Iterable[object], value: object) -> bool:
    return any(same(each, value) for each in values)


def take(left: list[object], wanted: Sequence[object]) -> int:
    """Take what is wanted out of the list; how many were there."""
    lacking, rest = Counter(map(key_of, wanted)), list[object]()
    for value in left:
        key = key_of(value)
        if lacking[key]:
            lacking[key] -= 1
        else:
            rest.append(value)
    count = len(left) - len(rest)
    left[:] = rest
    return count


class Either(Expectation):
    answers: Sequence[Expectation]

    def takes(self, got: object) -> bool:
        return any(each.takes(got) for each in self.answers)

    def __str__(self) -> str:
        return " or ".join(dict.fromkeys(map(str, self.answers)))


def any_of(*values: object) -> Expectation:
    return Either([Exactly(value) for value in values])


class RefusalMarker:
    def __repr__(self) -> str:
        return "an error of `refuses`"


REFUSED: Final = RefusalMarker()
REFUSAL: Final = Exactly(REFUSED)  # an error of the kind that `refuses` names
WHATEVER: Final = Whatever()
NOTHING: Final = any_of(MISSING, None)

MARKED: Final = re.compile("~[0-9a-f]{10}$")
NUMBER_FIRST: Final = 100
CROWD: Final = 130  # entries: more than the hundred of a usual page
CROWD_LIMITS: Final = (CROWD - 10, CROWD)
SINGLY: Final = 4  # one crowd in so many that would be put one by one: such a run takes long
REPEATED: Final = 16  # one write in so many repeats the value that its place had

State = Any  # of one contract, which alone looks into it
Outcome = tuple[Expectation, State]
Outcomes = Iterator[Outcome]
Flags = Mapping[str, object]


class StoredEntry(Data, kw_only=True):
    """What a store has under one key. `end_ms`: when it ends by itself; `is_unsure`: it may be evicted."""

    end_ms: int | None = None
    is_unsure: bool = False


class StoreState(Data):
    """A state of entries by key, of which some may be gone if they were more than `maxsize`.

    Of a store with maxsize 3 that got a, b, c and d, one of a, b and c is gone: all four are in `entries`,
    these three are unsure, and `lost_max` is 1. Whatever rule the store evicts by, it has lost no more.
    """

    entries: Mapping[Any, Any]
    flags: Flags
    lost_max: int = 0

    def has_ended(self, entry: StoredEntry, now_ms: int) -> bool:
        return entry.end_ms is not None and entry.end_ms <= now_ms - (self.flags["boundary"] == "alive")

    def at(self, now_ms: int) -> Self:
        """Return the state without the entries that have ended by now."""
        ended = [key for key, each in self.entries.items() if self.has_ended(each, now_ms)]
        return self.without(*ended) if ended else self

    def without(self, *keys: Any) -> Self:
        return self.keep({key: each for key, each in self.entries.items() if key not in keys})

    def change(self, key: object, **fields: object) -> Self:
        """Return the state in which an entry has other fields."""
        return structs.replace(
            self, entries={**self.entries, key: structs.replace(self.entries[key], **fields)}
        )

    def list_rows(self, rows: Mapping[Any, object], others: Sequence[object] = ()) -> AnyOrder:
        """Return the listing of entries, each as its row; those that may be lost, and `others`, may lack."""
        unsure = [key for key in rows if self.lost_max and self.entries[key].is_unsure]
        must = [row for key, row in rows.items() if key not in unsure]
        least = len(must) + max(0, len(unsure) - self.lost_max)
        return AnyOrder(must, [*(rows[key] for key in unsure), *others], least)

    def keep(self, entries: Mapping[Any, Any], lost_max: int | None = None) -> Self:
        """Return the state with these entries; no more of them are lost than are unsure."""
        lost = self.lost_max if lost_max is None else lost_max
        lost = min(lost, sum(each.is_unsure for each in entries.values())) if lost else 0
        return structs.replace(self, entries=entries, lost_max=lost)

    def store(self, key: object, entry: Any) -> Self:
        """Return the state after a write; where `key` was not surely there, others had to make room."""
        old = self.entries.get(key)
        stored = self.keep({**self.entries, key: entry})
        return stored.make_room(key) if old is None or (old.is_unsure and self.lost_max) else stored

    def make_room(self, *kept: object, coming: int = 0) -> Self:
        """Return the state in which any but those `kept` may be gone, if they are too many."""
        most: Any = self.flags.get("maxsize")
        count = len(self.entries) + coming
        if most is None or count <= most:
            return self
        lost_max = count if self.flags["evicts"] == "many" else max(self.lost_max, count - most)
        entries = {
            key: structs.replace(each, is_unsure=key not in kept) for key, each in self.entries.items()
        }
        return self.keep(entries, lost_max)

    def split_unsure(self, keys: Iterable[object]) -> Iterator[Self]:
        """Yield the states in which each of these keys is there, or is gone."""
        unsure = (key for key in keys if key in self.entries and self.entries[key].is_unsure)
        key = next(unsure, None) if self.lost_max else None
        if key is None:
            yield self
            return
        present, absent = self.change(key, is_unsure=False), self.without(key)
        yield from present.keep(present.entries).split_unsure(keys)
        yield from absent.keep(absent.entries, self.lost_max - 1).split_unsure(keys)


TTLS_MS: Final = (1_000, 2_000, 5_000, 60_000)
TTLS_BELOW_MS: Final = (1, 500, 1_500)  # where times are told in milliseconds


class Pool(Data):
    """Names and values that one run draws from; names are few, so that they meet; values are unique."""

    names: Sequence[str]
    scopes: Sequence[str]
    values: Sequence[object]
    is_odd: bool = False  # whether odd ones are among them
    is_marked: bool = False  # whether texts of a write are such that their bytes are found nowhere else
    made: list[str] = []  # what was drawn to be remembered, or to be given back
    used: list[object] = []  # values that one write has and no other
    latest: dict[object, object] = {}  # the value that was last drawn for a place
    places: dict[str, Mapping[str, object]] = {}  # whose each of these is
    added: list[Mapping[str, object]] = []  # the arguments by which entries were added
    ttls_ms: Sequence[int] = TTLS_MS

    def draw_value(
        self, chance: Stream, own: str, own_share: tuple[int, int] = (2, 3), kind: type = object
    ) -> object:
        """Return a value that no other write of the run has: the text `own`, or a `kind` of the pool.

        Then an answer shows which write it comes from.
        """
        own = mark(own) if self.is_marked else own
        left = [each for each in self.values if isinstance(each, kind) and not holds(self.used, each)]
        value = own if chance.chance(*own_share) or not left else chance.pick(left)
        self.used.append(value)
        return value

    def draw_number(self) -> int:
        """Return a number that no other write of the run has."""
        self.used.append(NUMBER_FIRST + len(self.used))
        return NUMBER_FIRST + len(self.used) - 1

    def repeat(self, chance: Stream, place: object, value: object) -> object:
        """Return the value for this place: one in REPEATED is what the place had before."""
        if place in self.latest and chance.chance(1, REPEATED):
            return self.latest[place]
        self.latest[place] = value
        return value


def mark(text: str) -> str:
    """Return a text whose bytes are in no other: "v7~1c0e3b88aa", where "v7" is in "v71"."""
    return f"{text}~{blake2b(text.encode(), digest_size=5).hexdigest()}"


def marks_in(value: object) -> Iterator[str]:
    """Yield the marked texts in a value."""
    match value:
        case str():
            yield from [value] if MARKED.search(value) else []
        case list() | tuple():
            for each in value:
                yield from marks_in(each)
        case Mapping():
            yield from marks_in(list(value.values()))


TTL_ZERO: Final = ("unasked", "expired", "forever", "default")  # an entry with a time to live of zero


def live_for(flags: Flags, ttl_ms: int | None) -> int | None:
    """Return for how long an entry lives that got this time to live; -1: it has expired already."""
    default: Any = flags.get("default_ttl_ms")
    if ttl_ms != 0:
        return default if ttl_ms is None else ttl_ms
    return {"expired": -1, "forever": None, "default": default}.get(str(flags["ttl_zero"]))


FORMS: Final[Mapping[str, Callable[[str], str]]] = {  # in which names are the same
    "exact": lambda name: name, "stripped": str.strip, "caseless": str.lower,
}  # fmt: skip


def fill(name: str, args: Sequence[str], rows: Iterable[Mapping[str, object]]) -> list[ContractOp]:
    """Return an operation for each row, with what that gives of its arguments, in their order."""
    return [ContractOp(name, {each: row[each] for each in args if each in row}) for row in rows]


class Contract(ABC):
    """One of the contracts. `ops`: their arguments; `flags`: what each may be, the first is the default.

    A flag whose choices begin with None is found out from the answers, and must then stay the same.
    """

    name: ClassVar[str]
    ops: ClassVar[Mapping[str, Sequence[str]]]
    flags: ClassVar[Mapping[str, Sequence[object]]]
    settings: ClassVar[Sequence[str]] = ()  # flags that are numbers
    bound: ClassVar[str] = "maxsize"  # the one of them that says how much is kept
    concerns: ClassVar[Mapping[str, str]] = {}  # the operation, argument or setting, without which it is idle
    made: ClassVar[
        Mapping[str, str]
    ] = {}  # by operation, an argument that is of the run alone, not of the store
    names: ClassVar[Sequence[str]]  # arguments that are names, which may be odd
    reads: ClassVar[Sequence[str]]  # operations that change nothing
    fills: ClassVar[Sequence[str]]  # operations by which something gets into an empty store
    removes: ClassVar[Sequence[str]] = ()  # operations after which something is gone
    counts: ClassVar[Sequence[str]] = ()  # operations that change a value by what it was, and return it

    @abstractmethod
    def initial(self, flags: Flags) -> State:
        """Return the state of a new store."""

    def outcomes(self, state: State, op: ContractOp, now_ms: int) -> Outcomes:
        """Yield the allowed answers, each with the state after it."""
        found: Outcomes = getattr(self, f"on_{op.name}")(state, now_ms, **self.bind(op, state.flags))
        return found

    def crowd(
        self, pool: Pool, ops: Mapping[str, Sequence[str]], chance: Stream, count: int, is_bounded: bool
    ) -> Sequence[Sequence[ContractOp]]:
        """Return operations that put so many entries into one place, and then those that read them.

        `is_bounded`: what may be there is bounded; else there are none if nothing would list them.
        """
        return ()

    @abstractmethod
    def bind(self, op: ContractOp, flags: Flags) -> dict[str, Any]:
        """The arguments as the models take them: names that belong together are one."""

    def is_batch(self, op: ContractOp) -> bool:
        """Return whether it may be applied in part where batches are not atomic."""
        return False

    def halves(self, state: State, op: ContractOp, now_ms: int) -> Iterator[State]:
        """The states that a batch leaves of which a part was applied."""
        return iter(())

    def not_applied(self, state: State, op: ContractOp) -> Iterator[State]:
        """Yield the states after a write that was not applied; a bounded store may have made room for it."""
        yield state
        if "maxsize" in state.flags and op.name in self.fills:
            pairs: Any = op.args.get("pairs", (op,))
            yield state.make_room(coming=len(pairs))

    def losses(self, state: State, op: ContractOp) -> Iterator[State]:
        """Yield the states that a write leaves which removed what it was to replace, and wrote nothing."""
        return iter(())

    def untold(self, state: State, op: ContractOp) -> State:
        """The state after an operation that was done, and cut off before it could tell what it made."""
        return state

    def follow_name(self, state: State, name: str, others: Sequence[str]) -> Iterator[State]:
        """Yield the states in which an id of this name, which was seen, is of its own add or of another."""
        yield state

    def follow_reuse(self, state: State, op: ContractOp, got: object, now_ms: int) -> Iterator[State]:
        """Yield the states after an operation that gave what it made the name of something deleted."""
        return iter(())

    def marked_values(self, states: Iterable[State]) -> set[str]:
        """Return the marked texts that a store in one of these states has."""
        entries = (each for state in states for each in state.entries.values())
        return {text for each in entries for text in marks_in(structs.astuple(each))}

    def absence(self, state: State, op: ContractOp, now_ms: int) -> str:
        """Return why there is nothing for this operation to read; nothing if there is something."""
        return ""

    def deadlines(self, state: State) -> Iterator[int]:
        """Yield the times at which something ends by itself."""
        yield from (it.end_ms for it in state.entries.values() if it.end_ms is not None)

    def with_deadline(self, state: State, end_ms: int) -> Iterator[State]:
        """Yield states in which one entry ends at this time."""
        yield from (state.change(key, end_ms=end_ms) for key in state.entries)

    def report_removal(self, state: State, existed: bool) -> Expectation:
        """Return what a removal says where `delete_reports` has this value."""
        is_told = state.flags["delete_reports"] == "existed"
        return Truth(existed, is_told=True) if is_told else Exactly(None)

    # Drawing.

    @abstractmethod
    def drawers(self, chance: Stream, pool: Pool, name: str, at: str) -> Mapping[str, Callable[[], object]]:
        """Return how the arguments of this operation are drawn; `at`: a word that is drawn nowhere else."""

    def draw(self, chance: Stream, pool: Pool, name: str, args: Sequence[str], at: str) -> dict[str, object]:
        drawers = self.drawers(chance, pool, name, at)
        drawn = {each: drawers[each]() for each in args}
        return {each: value for each, value in drawn.items() if value is not None or each == "value"}

    def is_odd(self, op: ContractOp) -> bool:
        """Return whether a store may refuse it."""
        return not all(self.is_usual(name, value) for name, value in op.args.items())

    def is_usual(self, name: str, value: object) -> bool:
        if name in self.names:
            values = value if isinstance(value, list) else [value]
            return bool(values) and all(map(is_plain_name, values))
        if name in ("metadata", "where") and isinstance(value, Mapping) and len(value) > 1:
            return False
        return value is None or (is_plain(value) and (name, value) != ("ttl", 0))


def resolve_flags(
    contract: Contract, given: Flags, ops: Mapping[str, Sequence[str]]
) -> list[dict[str, object]]:
    """Every reading of the flags that are given; of one that concerns no operation, the first."""
    choices = []
    met = {"", *given, *ops, *chain.from_iterable(ops.values())}
    for name, values in contract.flags.items():
        value = given.get(name, values[0])
        is_met = contract.concerns.get(name, "") in met
        known = (values[1:] if is_met else values[1:2]) if value is None else [value]
        choices.append([(name, each) for each in known])
    numbers = {name: given[name] for name in contract.settings if name in given}
    return [{**dict(each), **numbers} for each in product(*choices)]

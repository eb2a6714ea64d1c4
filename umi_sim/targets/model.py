"""The parts of a contract: states, the answers that an operation may give in a state, and the next states.

Law 1. States are immutable; an operation returns new ones. Anything undetermined (a flag that is not set, the
       order of concurrent requests) is represented by several possible states. Answers rule states out.
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
from umi_sim.targets.values import MISSING, is_plain, is_plain_name, key_of, number_like, same


class Expectation(Data):
    """A description of the answers that are allowed."""

    def takes(self, got: object) -> bool:
        """Return whether the answer `got` is allowed."""
        raise NotImplementedError

    def allows_each(self, got: object) -> bool:
        """Return whether each row of a list is allowed, so that the list can only lack rows."""
        return False

    def __str__(self) -> str:
        raise NotImplementedError


class Whatever(Expectation):
    def takes(self, got: object) -> bool:
        return got is not REFUSED

    def __str__(self) -> str:
        return "no error"


class Exactly(Expectation):
    value: object

    def takes(self, got: object) -> bool:
        return same(self.value, got)

    def __str__(self) -> str:
        return "MISSING" if self.value is MISSING else show_value(self.value)


class Truth(Expectation):
    """A boolean or a count. `is_told`: None counts as false; else None is always allowed."""

    value: bool
    is_told: bool = False

    def takes(self, got: object) -> bool:
        if got is None or got is MISSING:
            return not self.is_told or not self.value
        return isinstance(got, int) and bool(got) == self.value

    def __str__(self) -> str:
        return str(self.value)


class AnyOrder(Expectation):
    """A list of all of `must` and some of `may`, in any order, none twice, and at least `least` in all.

    `limit`: the list has at most so many rows; if it has so many, it may lack rows of `must`.
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
        """Return the expectation of the number of rows."""
        return any_of(*range(self.least, len(self.must) + len(self.may) + 1))

    def __str__(self) -> str:
        more = f", and perhaps {show_value(list(self.may))}" if self.may else ""
        more += f", at least {self.least} in all" if self.least > len(self.must) else ""
        few = "" if self.limit is None else f"{min(self.limit, len(self.must))} of "
        return f"{few}{show_value(list(self.must))} in any order{more}"


class NamesInAnyOrder(AnyOrder):
    """A list of names, each in any spelling that `form` takes for the same: a store may show the first."""

    form: str = "exact"

    def takes(self, got: object) -> bool:
        if isinstance(got, list) and all(isinstance(each, str) for each in got):
            got = [FORMS[self.form](each) for each in got]
        return super().takes(got)


class Without(Expectation):
    """A text that contains the mark of none of `texts`; the words of a summary may differ from theirs."""

    texts: Sequence[str]

    def takes(self, got: object) -> bool:
        return isinstance(got, str) and not any(MARKED.findall(text)[-1] in got for text in self.texts)

    def __str__(self) -> str:
        return f"a text with nothing of {', '.join(map(show_value, self.texts))}" if self.texts else "a text"


def members_during(answers: Sequence[Any]) -> AnyOrder:
    """Return what a slow reader must see: the rows that all `answers` have; rows of some are optional."""
    must = [value for value in answers[0].must if all(holds(each.must, value) for each in answers)]
    may: list[object] = []
    for each in answers:
        may += [value for value in (*each.must, *each.may) if not holds((*must, *may), value)]
    return AnyOrder(must, may)


def holds(values: Iterable[object], value: object) -> bool:
    return any(same(each, value) for each in values)


def take(left: list[object], wanted: Sequence[object]) -> int:
    """Remove the wanted values from the list in place. Return how many it had."""
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
REFUSAL: Final = Exactly(REFUSED)  # an error of a class in `refuses`
WHATEVER: Final = Whatever()
NOTHING: Final = any_of(MISSING, None)

MARKED: Final = re.compile("~[0-9a-f]{10}$")
NUMBER_FIRST: Final = 100
CROWD: Final = 130  # entries: more than a usual page of a hundred
CROWD_LIMITS: Final = (CROWD - 10, CROWD)
SINGLY: Final = 4  # one in 4 crowds that need single writes is made, since such runs are slow
RETYPED: Final = 4  # one in 4 writes to a number, in such runs
REPEATED: Final = 16  # one in 16 writes repeats the last value of its place

State = Any  # opaque outside of its contract
Outcome = tuple[Expectation, State]
Outcomes = Iterator[Outcome]
Flags = Mapping[str, object]


class StoredEntry(Data, kw_only=True):
    """An entry. `end_ms`: when it expires. `is_unsure`: it may have been evicted."""

    end_ms: int | None = None
    is_unsure: bool = False


class StoreState(Data):
    """The entries of a store by key. At most `lost_max` of the unsure ones have been evicted.

    Example: a store with maxsize 3 got a, b, c and d, so one of a, b and c is gone. All four are in
    `entries`, a, b and c are unsure, and `lost_max` is 1. This holds for every eviction policy.
    """

    entries: Mapping[Any, Any]
    flags: Flags
    lost_max: int = 0

    def has_ended(self, entry: StoredEntry, now_ms: int) -> bool:
        return entry.end_ms is not None and entry.end_ms <= now_ms - (self.flags["boundary"] == "alive")

    def at(self, now_ms: int) -> Self:
        """Return the state without the entries that have expired at this time."""
        ended = [key for key, each in self.entries.items() if self.has_ended(each, now_ms)]
        return self.without(*ended) if ended else self

    def without(self, *keys: Any) -> Self:
        return self.keep({key: each for key, each in self.entries.items() if key not in keys})

    def change(self, key: object, **fields: object) -> Self:
        """Return the state with changed fields of one entry."""
        return structs.replace(
            self, entries={**self.entries, key: structs.replace(self.entries[key], **fields)}
        )

    def list_rows(self, rows: Mapping[Any, object], others: Sequence[object] = ()) -> AnyOrder:
        """Return the listing of these rows by key. Rows of unsure entries, and `others`, are optional."""
        unsure = [key for key in rows if self.lost_max and self.entries[key].is_unsure]
        must = [row for key, row in rows.items() if key not in unsure]
        least = len(must) + max(0, len(unsure) - self.lost_max)
        return AnyOrder(must, [*(rows[key] for key in unsure), *others], least)

    def keep(self, entries: Mapping[Any, Any], lost_max: int | None = None) -> Self:
        """Return the state with these entries. `lost_max` is reduced to the number of unsure ones."""
        lost = self.lost_max if lost_max is None else lost_max
        lost = min(lost, sum(each.is_unsure for each in entries.values())) if lost else 0
        return structs.replace(self, entries=entries, lost_max=lost)

    def store(self, key: object, entry: Any) -> Self:
        """Return the state after a write. If `key` may be new, other entries may have been evicted."""
        old = self.entries.get(key)
        stored = self.keep({**self.entries, key: entry})
        return stored.make_room(key) if old is None or (old.is_unsure and self.lost_max) else stored

    def make_room(self, *kept: object, coming: int = 0) -> Self:
        """Return the state after an eviction, if there are too many entries. Those in `kept` stay."""
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
        """Yield the states with and without each unsure one of these keys, so that none of them is unsure."""
        unsure = (key for key in keys if key in self.entries and self.entries[key].is_unsure)
        key = next(unsure, None) if self.lost_max else None
        if key is None:
            yield self
            return
        present, absent = self.change(key, is_unsure=False), self.without(key)
        yield from present.keep(present.entries).split_unsure(keys)
        yield from absent.keep(absent.entries, self.lost_max - 1).split_unsure(keys)


TTLS_MS: Final = (1_000, 2_000, 5_000, 60_000)
TTLS_BELOW_MS: Final = (1, 500, 1_500)  # for stores with a resolution below a second


class Pool(Data):
    """The names and values that one run draws from: few names, so that operations collide; unique values."""

    names: Sequence[str]
    scopes: Sequence[str]
    values: Sequence[object]
    is_odd: bool = False  # whether odd names and values are among them
    is_marked: bool = False  # whether written texts get a mark, so that their bytes are unique
    made: list[str] = []  # names of added entries, or of versions
    used: list[object] = []  # values of writes so far
    latest: dict[object, object] = {}  # by place, the value last drawn for it
    places: dict[str, Mapping[str, object]] = {}  # by version, the arguments that name its session
    added: list[Mapping[str, object]] = []  # the arguments of all adds
    ttls_ms: Sequence[int] = TTLS_MS

    def draw_value(
        self, chance: Stream, own: str, own_share: tuple[int, int] = (2, 3), kind: type = object
    ) -> object:
        """Return a value of no other write: the text `own`, or an unused value of the pool of this `kind`.

        Since values are unique, an answer shows which write it comes from.
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
        """Return the value for this place: once in REPEATED times the last value of the place instead.

        In a run with odd values, a number is often followed by the equal number of another type.
        """
        if place in self.latest:
            last = self.latest[place]
            other = number_like(last) if self.is_odd else MISSING
            if other is not MISSING and not holds(self.used, other) and chance.chance(1, RETYPED):
                self.used.append(other)
                value = other
            elif chance.chance(1, REPEATED):
                return last
        self.latest[place] = value
        return value


def mark(text: str) -> str:
    """Return the text with a digest, which no other text contains: "v7~1c0e3b88aa" ("v7" is in "v71")."""
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


TTL_ZERO: Final = ("unasked", "expired", "forever", "default")  # meanings of a time to live of zero


def live_for(flags: Flags, ttl_ms: int | None) -> int | None:
    """Return the effective time to live in ms: None is for ever, -1 has expired already."""
    default: Any = flags.get("default_ttl_ms")
    if ttl_ms != 0:
        return default if ttl_ms is None else ttl_ms
    return {"expired": -1, "forever": None, "default": default}.get(str(flags["ttl_zero"]))


FORMS: Final[Mapping[str, Callable[[str], str]]] = {  # names of one normal form are the same
    "exact": lambda name: name, "stripped": str.strip, "caseless": str.lower,
}  # fmt: skip


def fill(name: str, args: Sequence[str], rows: Iterable[Mapping[str, object]]) -> list[ContractOp]:
    """Return an operation for each row, with those of the arguments `args` that the row has."""
    return [ContractOp(name, {each: row[each] for each in args if each in row}) for row in rows]


class Contract(ABC):
    """Base of the contracts. `ops`: the arguments of each operation. `flags`: the choices of each flag.

    The first choice is the default. If it is None, the flag is inferred from answers, and must not vary.
    """

    name: ClassVar[str]
    ops: ClassVar[Mapping[str, Sequence[str]]]
    flags: ClassVar[Mapping[str, Sequence[object]]]
    settings: ClassVar[Sequence[str]] = ()  # flags that are numbers
    bound: ClassVar[str] = "maxsize"  # the setting that limits how much is kept
    concerns: ClassVar[Mapping[str, str]] = {}  # flag to the operation, argument or setting that it is about
    made: ClassVar[
        Mapping[str, str]
    ] = {}  # by operation, an argument of the run that the method does not get
    names: ClassVar[Sequence[str]]  # arguments that are names, which may be odd
    reads: ClassVar[Sequence[str]]  # operations that change nothing
    fills: ClassVar[Sequence[str]]  # operations that can add to an empty store
    removes: ClassVar[Sequence[str]] = ()  # operations that remove or replace something
    counts: ClassVar[Sequence[str]] = ()  # operations that return the changed old value

    @abstractmethod
    def initial(self, flags: Flags) -> State:
        """Return the state of an empty store."""

    def outcomes(self, state: State, op: ContractOp, now_ms: int) -> Outcomes:
        """Yield the allowed answers, each with the state after it."""
        found: Outcomes = getattr(self, f"on_{op.name}")(state, now_ms, **self.bind(op, state.flags))
        return found

    def crowd(
        self, pool: Pool, ops: Mapping[str, Sequence[str]], chance: Stream, count: int, is_bounded: bool
    ) -> Sequence[Sequence[ContractOp]]:
        """Return operations that write `count` entries to one place, and then operations that read them.

        `is_bounded`: the store has a bound. If not, and no operation lists entries, there are no writes.
        """
        return ()

    @abstractmethod
    def bind(self, op: ContractOp, flags: Flags) -> dict[str, Any]:
        """Return the arguments of an `on_...` method: a name and its scope are combined into one."""

    def is_batch(self, op: ContractOp) -> bool:
        """Return whether the operation may be applied in part if batches are not atomic."""
        return False

    def halves(self, state: State, op: ContractOp, now_ms: int) -> Iterator[State]:
        """Yield the states after a part of a batch was applied."""
        return iter(())

    def not_applied(self, state: State, op: ContractOp) -> Iterator[State]:
        """Yield the states after a write was not applied. A bounded store may have evicted entries for it."""
        yield state
        if "maxsize" in state.flags and op.name in self.fills:
            pairs: Any = op.args.get("pairs", (op,))
            yield state.make_room(coming=len(pairs))

    def losses(self, state: State, op: ContractOp) -> Iterator[State]:
        """Yield the states after a write that removed the old value and then failed to write the new one."""
        return iter(())

    def untold(self, state: State, op: ContractOp) -> State:
        """Return the state after an applied operation that was cut off before it returned its result."""
        return state

    def follow_name(self, state: State, name: str, others: Sequence[str]) -> Iterator[State]:
        """Yield the states after an answer showed an id of this name: made by its own add, or by another."""
        yield state

    def follow_reuse(self, state: State, op: ContractOp, got: object, now_ms: int) -> Iterator[State]:
        """Yield the states after an operation that reused a name, such as the id of a deleted entry."""
        return iter(())

    def marked_values(self, states: Iterable[State]) -> set[str]:
        """Return the marked texts that entries of these states contain."""
        entries = (each for state in states for each in state.entries.values())
        return {text for each in entries for text in marks_in(structs.astuple(each))}

    def absence(self, state: State, op: ContractOp, now_ms: int) -> str:
        """Return why this operation finds nothing to read; "" if it finds something."""
        return ""

    def deadlines(self, state: State) -> Iterator[int]:
        """Yield the times at which entries expire."""
        yield from (it.end_ms for it in state.entries.values() if it.end_ms is not None)

    def with_deadline(self, state: State, end_ms: int) -> Iterator[State]:
        """Yield for each entry the state in which it expires at this time."""
        yield from (state.change(key, end_ms=end_ms) for key in state.entries)

    def report_removal(self, state: State, existed: bool) -> Expectation:
        """Return the allowed answers of a removal, according to the flag `delete_reports`."""
        is_told = state.flags["delete_reports"] == "existed"
        return Truth(existed, is_told=True) if is_told else Exactly(None)

    # Drawing.

    @abstractmethod
    def drawers(self, chance: Stream, pool: Pool, name: str, at: str) -> Mapping[str, Callable[[], object]]:
        """Return a function that draws each argument of this operation. `at`: a text unique to it."""

    def draw(self, chance: Stream, pool: Pool, name: str, args: Sequence[str], at: str) -> dict[str, object]:
        drawers = self.drawers(chance, pool, name, at)
        drawn = {each: drawers[each]() for each in args}
        return {each: value for each, value in drawn.items() if value is not None or each == "value"}

    def is_odd(self, op: ContractOp) -> bool:
        """Return whether the operation has odd arguments, so that a store may refuse it."""
        return not all(self.is_usual(name, value) for name, value in op.args.items())

    def is_usual(self, name: str, value: object) -> bool:
        if name in self.names:
            values = value if isinstance(value, list) else [value]
            return bool(values) and all(map(is_plain_name, values))
        if name in ("metadata", "where") and isinstance(value, Mapping):
            return len(value) <= 1 and all(isinstance(it, str) and is_plain(it) for it in value.values())
        return value is None or (is_plain(value) and (name, value) != ("ttl", 0))


def resolve_flags(
    contract: Contract, given: Flags, ops: Mapping[str, Sequence[str]]
) -> list[dict[str, object]]:
    """Return all combinations of flag values that the given flags allow. A flag of no effect has one."""
    choices = []
    met = {"", *given, *ops, *chain.from_iterable(ops.values())}
    for name, values in contract.flags.items():
        value = given.get(name, values[0])
        is_met = contract.concerns.get(name, "") in met
        known = (values[1:] if is_met else values[1:2]) if value is None else [value]
        choices.append([(name, each) for each in known])
    numbers = {name: given[name] for name in contract.settings if name in given}
    return [{**dict(each), **numbers} for each in product(*choices)]

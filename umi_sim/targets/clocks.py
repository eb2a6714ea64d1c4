"""Time and random numbers of a run: a simulated clock, and generators that follow from the seed.

Law 1. This file needs only the standard library: an exported script contains a copy of it.
Law 2. A sleep moves the clock and returns at once.
"""

import datetime
import os
import random
import sys
import tempfile
import time
import uuid
from _thread import get_ident
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache
from itertools import chain, takewhile
from typing import Any

from umi_sim.kernel.dates import class_of_date

START_MS = 1_767_225_600_000  # 2026-01-01, UTC
POLLS = 2_000  # turns without a sleep after which time passes
POLLED_SECONDS_MAX = 60


class Clock:
    """The clock of a run, in milliseconds since 1970."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms
        self.more_ns = 0  # the sum of sleeps below a millisecond
        self.threads = {get_ident()}  # threads of the run; all others see the real time
        self.sleeping: Callable[[float], None] = self.sleep  # called by `time.sleep`
        self.poll_count = 0  # turns since the last operation began

    def seconds(self) -> float:
        return self.now_ms / 1000

    def sleep(self, seconds: float) -> None:
        self.more_ns += max(0, round(seconds * 1_000_000_000))
        self.now_ms += self.more_ns // 1_000_000
        self.more_ns %= 1_000_000

    def poll(self) -> None:
        """Count a turn of code that does not sleep, and let time pass now and then: it may poll the clock.

        1 ms passes after 2,000 turns, 2 ms more after 4,000, and so on, doubled each time.
        """
        self.poll_count += 1
        if not self.poll_count % POLLS:
            self.sleep(min(2 ** (self.poll_count // POLLS - 1) / 1000, POLLED_SECONDS_MAX))


def functions(clock: Clock) -> dict[Any, Any]:
    """Return the replacements of functions of `time`, by the real function."""

    def since_ms() -> int:
        return clock.now_ms - START_MS + 1_000_000

    def since_1970(real: Any) -> Any:
        return lambda seconds=None: real(clock.seconds() if seconds is None else seconds)

    ours: dict[str, Any] = {
        "time": clock.seconds,
        "time_ns": lambda: clock.now_ms * 1_000_000,
        "monotonic": lambda: since_ms() / 1000,
        "monotonic_ns": lambda: since_ms() * 1_000_000,
        "perf_counter": lambda: since_ms() / 1000,
        "perf_counter_ns": lambda: since_ms() * 1_000_000,
        "sleep": lambda seconds: clock.sleeping(seconds),
        **{name: since_1970(getattr(time, name)) for name in ("gmtime", "localtime", "ctime")},
    }
    return {getattr(time, name): in_run(clock, each, getattr(time, name)) for name, each in ours.items()}


def in_run(clock: Clock, ours: Any, real: Any) -> Any:
    """Return a function that calls `ours` in threads of the run, and `real` in all others."""
    threads = clock.threads

    def tell(*args: Any) -> Any:
        return ours(*args) if get_ident() in threads else real(*args)

    return tell


def dates(clock: Clock) -> dict[Any, Any]:
    """Return the replacements of `datetime` and `date` that read this clock, by the real class."""
    real, day = datetime.datetime, datetime.date
    utc = datetime.UTC
    now = in_run(clock, lambda: real.fromtimestamp(clock.seconds(), utc), lambda: real.now(utc))

    def local() -> Any:
        return now().astimezone().replace(tzinfo=None)

    moments: dict[str, Any] = {
        "now": lambda cls, tz=None: local() if tz is None else now().astimezone(tz),
        "utcnow": lambda cls: now().replace(tzinfo=None),
        "today": lambda cls: local(),
    }
    return {
        real: class_of_date(real, moments),
        day: class_of_date(day, {"today": lambda cls: local().date()}),
    }


def install(clock: Clock) -> AbstractContextManager[None]:
    """Let modules outside the standard library and umi_sim read this clock until the block ends."""
    return patch_names(find_uses(functions(clock) | dates(clock)))


@contextmanager
def patch_names(changes: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Set attributes until the block ends. `changes`: triples of owner, name and value."""
    last, reals = next(reversed(sys.modules)), list[tuple[Any, Any]]()
    with ExitStack() as stack:
        stack.callback(restore_names, last, reals)
        for owner, name, value in changes:
            before = vars(owner).get(name) or getattr(owner, name)  # `vars`, to keep a classmethod as it is
            reals.append((value, before))
            stack.callback(setattr, owner, name, before)
            setattr(owner, name, value)
        yield


def restore_names(last: str, reals: Iterable[tuple[Any, Any]]) -> None:
    """Rebind names in the modules loaded after `last`, which keep a replacement: `from time import time`."""
    for name in list(takewhile(lambda each: each != last, reversed(sys.modules))):
        if name.partition(".")[0] in NOT_THEIRS:
            continue  # the modules that define the replacements
        module = sys.modules[name]
        for key, value in tuple(getattr(module, "__dict__", {}).items()):
            before = next((real for ours, real in reals if ours is value), None)
            if before is not None and callable(value):
                setattr(module, key, before)


def find_uses(ours: Mapping[Any, Any]) -> list[tuple[Any, str, Any]]:
    """Return the changes that replace all uses of these functions. `ours`: replacements by function."""
    return [(owner, name, ours[real]) for owner, name, real in find_places(tuple(ours), len(sys.modules))]


@lru_cache(maxsize=4)  # time, random numbers, files, locks
def find_places(reals: tuple[Any, ...], loaded_count: int) -> list[tuple[Any, str, Any]]:
    """Return all names bound to these functions in loaded modules, as (module, name, function)."""
    kinds = type, type(len)  # classes, and functions written in C
    return [
        (module, key, value)
        for name, module in tuple(sys.modules.items())
        if module in (time, datetime) or name.partition(".")[0] not in NOT_THEIRS
        for key, value in tuple(getattr(module, "__dict__", {}).items())
        if issubclass(type(value), kinds) and value in reals  # `type`: a lazy proxy would load its target
    ]


NOT_THEIRS = {*sys.stdlib_module_names, "umi_sim", "umi_core", "pytest", "_pytest", "pluggy"}


# Random numbers: during a run they follow from its seed; afterwards the generators continue as before.

WORD_BITS = 32
NODE_BITS = 48
NODE_MARK = 1 << 40  # the bit of a random node address, in place of a network card


@contextmanager
def install_chance(seed: int) -> Iterator[None]:
    """Seed `random`, `secrets`, `uuid`, `os.urandom` and numpy until the block ends."""
    entropy = random.Random(f"umi-target entropy {seed}")
    global_state = random.getstate()
    with (
        patch_names(chain(replacements(entropy), fresh_starts(entropy))),
        ExitStack() as stack,
    ):
        stack.callback(random.setstate, global_state)
        random.seed(f"umi-target random {seed}")
        if numpy_random := sys.modules.get("numpy.random"):
            stack.callback(numpy_random.set_state, numpy_random.get_state())
            numpy_random.seed(entropy.getrandbits(WORD_BITS))
        yield


def replacements(entropy: random.Random) -> Iterator[tuple[Any, str, Any]]:
    """Yield the replacements of functions that get random bytes from the operating system."""
    ours: dict[Any, Callable[..., bytes]] = {os.urandom: entropy.randbytes}
    yield os, "urandom", entropy.randbytes
    yield random, "_urandom", entropy.randbytes  # used by `secrets` and SystemRandom
    if hasattr(os, "getrandom"):
        ours[os.getrandom] = lambda size, flags=0: entropy.randbytes(size)
        yield os, "getrandom", ours[os.getrandom]
    yield from find_uses(ours)

    real_seed = random.Random.seed

    def seed_of(generator: Any, a: Any = None, version: int = 2) -> None:
        """Seed a generator from `entropy` if it is given no seed; the real one asks the system."""
        real_seed(generator, entropy.getrandbits(WORD_BITS) if a is None else a, version)

    yield random.Random, "seed", seed_of
    shared = random.seed.__self__  # type: ignore[attr-defined] # the generator behind `random.random`
    yield random, "seed", lambda a=None, version=2: seed_of(shared, a, version)


def fresh_starts(entropy: random.Random) -> Iterator[tuple[Any, str, Any]]:
    """Yield the caches of modules, with the values that a new process begins with."""
    yield tempfile, "_name_sequence", None
    yield uuid, "_node", entropy.getrandbits(NODE_BITS) | NODE_MARK
    yield uuid, "_generate_time_safe", None  # the C function reads the real clock
    for name in [each for each in vars(uuid) if each.startswith("_last_")]:
        yield uuid, name, None

"""Time and chance of a run: a clock that stands still for all code that asks Python, and draws from a seed.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. Code that sleeps moves the clock instead, and does not wait.
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
from itertools import chain
from typing import Any

from umi_sim.kernel.dates import class_of_date

START_MS = 1_767_225_600_000  # 2026-01-01, UTC
POLLS = 2_000  # turns without any sleep, after which some time has passed
POLLED_SECONDS_MAX = 60


class Clock:
    """Milliseconds since 1970, as the store reads them."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms
        self.more_ns = 0  # what sleeping added that is less than a millisecond
        self.threads = {get_ident()}  # those of the run; all others have the real time
        self.sleeping: Callable[[float], None] = self.sleep  # what `time.sleep` does
        self.poll_count = 0  # since the last operation began

    def seconds(self) -> float:
        return self.now_ms / 1000

    def sleep(self, seconds: float) -> None:
        self.more_ns += max(0, round(seconds * 1_000_000_000))
        self.now_ms += self.more_ns // 1_000_000
        self.more_ns %= 1_000_000

    def poll(self) -> None:
        """Count a turn of code that goes on without sleeping; it may ask again and again what time it is.

        1 ms has passed after 2,000 turns, 2 ms more after 4,000, and twice as much each time.
        """
        self.poll_count += 1
        if not self.poll_count % POLLS:
            self.sleep(min(2 ** (self.poll_count // POLLS - 1) / 1000, POLLED_SECONDS_MAX))


def functions(clock: Clock) -> dict[Any, Any]:
    """Return the substitutes of the functions of `time`."""

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
    """Return what calls ours in the threads of the run, and the real one in all others."""
    threads = clock.threads

    def tell(*args: Any) -> Any:
        return ours(*args) if get_ident() in threads else real(*args)

    return tell


def dates(clock: Clock) -> dict[Any, Any]:
    """Classes of dates that know this now."""
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
    """Until the block ends, this clock is what modules outside the standard library and umi_sim read."""
    return patch_names(find_uses(functions(clock) | dates(clock)))


@contextmanager
def patch_names(changes: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Until the block ends, attributes have other values: of each the owner, its name and the value."""
    with ExitStack() as stack:
        for owner, name, value in changes:
            before = vars(owner).get(name) or getattr(owner, name)  # a classmethod as it is in its class
            stack.callback(setattr, owner, name, before)
            setattr(owner, name, value)
        yield


def find_uses(ours: Mapping[Any, Any]) -> list[tuple[Any, str, Any]]:
    """Return the changes by which all names of these functions stand for ours."""
    return [(owner, name, ours[real]) for owner, name, real in find_places(tuple(ours), len(sys.modules))]


@lru_cache(maxsize=4)  # for time, chance, files and locks
def find_places(reals: tuple[Any, ...], loaded_count: int) -> list[tuple[Any, str, Any]]:
    """Find all names of these functions, also those imported one by one. The same until more is loaded."""
    kinds = type, type(len)  # classes, and functions written in C
    return [
        (module, key, value)
        for name, module in tuple(sys.modules.items())
        if module in (time, datetime) or name.partition(".")[0] not in NOT_THEIRS
        for key, value in tuple(getattr(module, "__dict__", {}).items())
        if issubclass(type(value), kinds) and value in reals  # a proxy would load what it stands for
    ]


NOT_THEIRS = {*sys.stdlib_module_names, "umi_sim", "umi_core", "pytest", "_pytest", "pluggy"}


# Chance: all that Python draws by itself follows from the seed, and goes on as before afterwards.

WORD_BITS = 32
NODE_BITS = 48
NODE_MARK = 1 << 40  # of an address that belongs to no network card


@contextmanager
def install_chance(seed: int) -> Iterator[None]:
    """Until the block ends, `random`, `secrets`, `uuid`, `os` and numpy draw what follows from `seed`."""
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
    """Yield each function that asks the system for chance, with where it is found and what stands for it."""
    ours: dict[Any, Callable[..., bytes]] = {os.urandom: entropy.randbytes}
    yield os, "urandom", entropy.randbytes
    yield random, "_urandom", entropy.randbytes  # that of `secrets` and SystemRandom
    if hasattr(os, "getrandom"):
        ours[os.getrandom] = lambda size, flags=0: entropy.randbytes(size)
        yield os, "getrandom", ours[os.getrandom]
    yield from find_uses(ours)

    real_seed = random.Random.seed

    def seed_of(generator: Any, a: Any = None, version: int = 2) -> None:
        """A generator without a seed takes one from the system, below Python."""
        real_seed(generator, entropy.getrandbits(WORD_BITS) if a is None else a, version)

    yield random.Random, "seed", seed_of
    shared = random.seed.__self__  # type: ignore[attr-defined] # the generator behind `random.random`
    yield random, "seed", lambda a=None, version=2: seed_of(shared, a, version)


def fresh_starts(entropy: random.Random) -> Iterator[tuple[Any, str, Any]]:
    """Yield what modules remember from one use to the next, with what a new process would begin with."""
    yield tempfile, "_name_sequence", None
    yield uuid, "_node", entropy.getrandbits(NODE_BITS) | NODE_MARK
    yield uuid, "_generate_time_safe", None  # written in C, it reads the real clock
    for name in [each for each in vars(uuid) if each.startswith("_last_")]:
        yield uuid, name, None

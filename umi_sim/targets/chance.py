"""Chance of a run: all that Python draws by itself follows from the seed, and goes on as before afterwards.

Law. This file needs the standard library alone: a script that is exported carries a copy of it.
"""

import os
import random
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any

from umi_sim.targets import clocks

WORD_BITS = 32
NODE_BITS = 48
NODE_MARK = 1 << 40  # of an address that belongs to no network card


@contextmanager
def install(seed: int) -> Iterator[None]:
    """Until the block ends, `random`, `secrets`, `uuid`, `os` and numpy draw what follows from `seed`."""
    entropy = random.Random(f"umi-target entropy {seed}")
    global_state = random.getstate()
    with (
        clocks.replaced(chain(replacements(entropy), fresh_starts(entropy))),
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
    yield from clocks.find_uses(ours)

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

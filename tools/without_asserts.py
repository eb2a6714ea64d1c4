"""Repeats recorded incarnations under `python -O`, without assertions: the results must be the same.

`python -O tools/without_asserts.py < LIVES`: pickled lives of tools/hostile_answers.py, which starts this.
umi_sim judges by assertions and does not start without them; umi_core must work without any.
"""

import pickle
import sys
from typing import Any

from umi_core.memory import Memory


def relive(scope: Any, config: Any, steps: list[tuple[int, Any]], digest: bytes) -> bool:
    memory = Memory(scope, config)
    for now_ms, value in steps:
        memory.step(now_ms, value)
    return memory.digest() == digest


if __name__ == "__main__":
    lives = pickle.load(sys.stdin.buffer)  # only ever written by hostile_answers.py
    others = [number for number, life in enumerate(lives) if not relive(*life)]
    print(f"{len(lives)} lives again" + (f", others: {others[:5]}" if others else ""))
    sys.exit(1 if others or __debug__ else 0)

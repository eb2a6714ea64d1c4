"""Facts and rows of tables that only tests know."""

from collections.abc import Callable
from typing import Any

from umi_core.engine.facts import Fact
from umi_core.engine.workflow import OUTCOME, Learned, Step

X, Y, Z = (Fact[Any](name, object) for name in "xyz")


def named(names: str) -> tuple[Fact[Any], ...]:
    """Facts of any type, named by words."""
    return tuple(OUTCOME if name == OUTCOME.name else Fact(name, object) for name in names.split())


def learns(**facts: object) -> Callable[..., Learned]:
    return lambda *_: Learned(facts)


def row(row_id: str, *, requires: str = "", take: Any = None, **facts: Any) -> Step:
    """A row that asks nothing and learns these facts."""
    return Step(row_id, take or learns(**facts), named(requires), named(" ".join(facts)))

"""umi_core: the memory of an AI agent as a pure, synchronous state machine.

    memory.py         Memory: step(), deadline_ms(), snapshot(), restore()
    messages/         inputs and outputs: requests, answers, effects, and the values of replies
    engine/           operations as tables of steps: how they run, their revisions, interceptors
    workflows/        one table for each operation
    tiers/            core, working, session, archive: their values, and how they change
    policies/         pure choices: routing, promotion, eviction, ranking, similarity
    language/         prompts for a model, and parsers for its replies
    kelpie/           the API of an agent server: its requests, rows, workflows and wire format
    migration/        the move of rows from an old server's store
    state_checks.py   requirements on every state, after a step or saved
    saved_state.py    checks of a saved state before a memory goes on with it
    answer_checks.py  checks of the world's answers
    core_reads.py     reads of the core tier that are answered at once
    state.py          the whole state of a memory, as plain data
    codec.py          state and values as canonical bytes
    recordings.py     all inputs of a memory, as lines of text
    rows.py           the rows in storage
    conditions.py     conditions on rows: a field, an operator and a value
    domains.py        the values that a field of a request or a row may have
    declared.py       tables that must have an entry for each class of a kind
    values.py ids.py text.py data.py    scopes and blocks, ids, texts, base classes of values
    errors.py         error values, by cause
    limits.py         every bound
    config.py         every setting, with its range

Imports go one way, and none leads to a clock, randomness or I/O. The four names of the package are imported
when they are first used, so that a command that only shows its help does not load the whole memory.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from umi_core.config import Config
    from umi_core.errors import Rejected
    from umi_core.memory import Memory
    from umi_core.values import Scope

__all__ = ["Config", "Memory", "Rejected", "Scope"]


def __getattr__(name: str) -> Any:
    """Return a name of the package. Raises AttributeError for any other."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from umi_core.config import Config
    from umi_core.errors import Rejected
    from umi_core.memory import Memory
    from umi_core.values import Scope

    names = {"Config": Config, "Memory": Memory, "Rejected": Rejected, "Scope": Scope}
    globals().update(names)
    return names[name]

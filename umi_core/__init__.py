"""umi_core: the memory of an AI agent as a pure, synchronous state machine.

    memory.py       Memory: step(), deadline_ms(), snapshot(), restore()
    inputs.py       all it can be told: requests, answers, Wake
    effects.py      all it can ask: AskModel, Embed, Read, Commit; and Reply
    answers.py      what may be an answer to what was asked
    values.py       scope, ids, entities, blocks, rows
    results.py      what replies carry
    errors.py       error values, by blame
    data.py         how values are compared and shown
    limits.py       every bound
    config.py       every setting, with its range
    engine/         operations as tables, their revisions, interceptors, and what runs them
    workflows/      one file per operation
    requests.py     what is wrong with a request
    tiers/          core, working, session, archive
    policies/       routing, promotion, eviction, similarity
    language/       prompts and total parsers
    state.py        everything that a memory is
    codec.py        state and values as canonical bytes
    invariants/     what holds after every step

Imports go one way, and none leads to a clock, chance or I/O.
"""

from umi_core.config import Config
from umi_core.errors import Rejected
from umi_core.memory import Memory
from umi_core.values import Scope

__all__ = ["Config", "Memory", "Rejected", "Scope"]

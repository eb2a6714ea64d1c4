"""Trials: what parts of a memory make of inputs that runs seldom bring, at the end of each run.

    values.py    each value in the place of each argument: who is refused, and with which error
    replies.py   replies of models that no fault makes
    queries.py   small words in any order, and rewrites that are nearly allowed
    answers.py   rows that a storage gives, and nobody asked for
    choices.py   the best of many: vectors, groups, lists, who leaves a core
    levels.py    what a level of the archive gives, and whether that is enough
    moves.py     one row between two stores, whatever fails
    stated.py    what is stated twice: settings, defaults, ids, whole requests, filters
    kept.py      saved states in which one field is odd, and recordings
    hooks.py     what interceptors give in the place of questions and answers
    texts.py     lines and parts of texts, what a speaker says of themselves, names of groups
    prompts.py   what a model is asked, word by word
    plans.py     who becomes a member where, what a page lists, what is due when
    wire.py      requests of an agent server over HTTP and by its object, and the responses
    snapshots.py saved sessions that a stranger wrote
    repairs.py   vectors that are missing, some of which no embedder can make
    versions.py  a fact that changes more often than versions are kept
    tables.py    tables of users that break their word
    stored.py    rows that a storage gives back: each value in the place of each field, and rows as bytes

Law 1. What is tried follows from the seed and the name of the scenario alone: a run whose trial fails, fails
again when it is replayed. Nothing of the world is touched, and no draw of the run is another.
Law 2. A run makes one. One that asks for nothing but the working tier and its sessions makes none: it would
double its time. A scenario may want any number of rounds of all of them, or none (`run.trials`).
Law 3. What must come of it is worked out by umi_sim/judge/plain, as in a run.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Final

from umi_core.config import Config
from umi_core.messages.requests import REQUESTS, CreateSession, LoadSession, SaveSession, WorkingRequest
from umi_sim.judge.trials.answers import try_answers
from umi_sim.judge.trials.choices import try_choices
from umi_sim.judge.trials.hooks import try_hooks
from umi_sim.judge.trials.kept import try_kept
from umi_sim.judge.trials.levels import try_levels
from umi_sim.judge.trials.moves import try_moves
from umi_sim.judge.trials.plans import try_plans
from umi_sim.judge.trials.prompts import try_prompts
from umi_sim.judge.trials.queries import try_queries
from umi_sim.judge.trials.repairs import try_repairs
from umi_sim.judge.trials.replies import try_replies
from umi_sim.judge.trials.snapshots import try_snapshots
from umi_sim.judge.trials.stated import try_stated
from umi_sim.judge.trials.stored import try_stored
from umi_sim.judge.trials.tables import try_tables
from umi_sim.judge.trials.texts import try_texts
from umi_sim.judge.trials.values import try_values
from umi_sim.judge.trials.versions import try_versions
from umi_sim.judge.trials.wire import try_wire
from umi_sim.kernel.prng import Stream, highest, stream_key
from umi_sim.record.run_config import RunConfig

__all__ = ["TRIALS", "check_trials"]

TRIALS: Final[Mapping[str, Callable[[Stream, Config], None]]] = {
    "values": try_values, "replies": try_replies, "queries": try_queries, "choices": try_choices,
    "answers": try_answers, "moves": try_moves, "stored": try_stored, "wire": try_wire, "stated": try_stated,
    "kept": try_kept, "hooks": try_hooks, "texts": try_texts, "plans": try_plans,
    "prompts": try_prompts, "levels": try_levels, "snapshots": try_snapshots,
    "repairs": try_repairs, "versions": try_versions, "tables": try_tables,
}  # fmt: skip
OF_NO_TRIAL: Final = (WorkingRequest, CreateSession, SaveSession, LoadSession)


def check_trials(config: RunConfig) -> None:
    """As many rounds of all as the scenario says; else one of them, or none.

    Raises Broken if a part does something else.
    """
    memory = Config.of(config.memory)
    if config.trials is not None:
        for number, name in product(range(config.trials), TRIALS):
            TRIALS[name](Stream(config.seed, "trials", config.scenario, name, number), memory)
    elif not all(issubclass(REQUESTS[name], OF_NO_TRIAL) for name in config.weights):
        name = highest(stream_key(config.seed, ("trials", config.scenario)), TRIALS)
        TRIALS[name](Stream(config.seed, "trials", config.scenario, name), memory)

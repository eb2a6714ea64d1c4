"""The resolved configuration of one run: drawn first, printed, stored; the run never looks anywhere else."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from umi_core.data import Data
from umi_core.domains import bad_scope
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.values import Scope
from umi_sim.formats.schema import Schema, several, text, then, whole, wrong
from umi_sim.kernel.prng import Ratio
from umi_sim.record.items import AgentName

PAUSE_MS_MAX = 2_000
REFUSING_HOOK: Final = "doorkeeper"
"""The interceptor of a run that turns questions away, as replies name it."""
LATE_REFUSING_HOOK: Final = "doorkeeper behind a commit"
"""The interceptor that refuses a last step: what was done stands, and the memory cannot say so."""
SUBSTITUTING_HOOK: Final = "usher"
"""The interceptor outside of it that gives a reply of no use in place of a question that failed."""
SCOPE_PARTS: Final = several([text("(?s).{0,256}", "at most 256 characters")] * 2, "[user, agent]")


def scope_of(parts: tuple[str, str]) -> Scope:
    error = bad_scope(scope := Scope(*parts))
    return scope if error is None else wrong(str(error))


SCOPE: Final = Schema(
    then(SCOPE_PARTS, scope_of).read, SCOPE_PARTS.rule, lambda scope: [scope.user, scope.agent]
)


class AgentConfig(Data):
    """One memory with its clock; `skew_ms` is how far its clock is ahead of world time at the start."""

    name: AgentName
    scope: Annotated[Scope, SCOPE]
    skew_ms: Annotated[int, whole(-(2**52), 2**52)] = 0


class RunConfig(Data):
    """Everything that the seed decided before the first step.

    `memory`: options of umi_core.config.Config that are not default. `weights`: request name -> weight, only
    what the workload may use. `faults`: kind -> rate, only kinds that are on. `transcript`: turns to use as
    input, or none. `off`: names of rules that are not checked. `everywhere`: a kind of fault is
    active at all of its sites, not at a drawn share of them. `alike`: all agents draw the same
    requests. `edges`: the share of hostile values that are just on a limit, or one beyond. `short_blocks`:
    the share of texts of blocks that are a word or two. `media`: the share of documents that are an image, an
    audio or a video. `retold`: the share of sentences that were said before, in whatever text.
    `retry`: the share of requests that were asked with a
    key before, at any time. `revise_every`: after so many ops all workflows have a new revision; 0: never.
    `tamper_every`: after so many ops stored rows are changed; 0: never.
    `nearly`: the share of requests that are earlier ones with one small change of text, question or turns.
    `capacity_bytes`: what storage holds until it is healed. `page_rows`: how many rows a page of it has at
    most. `limits`: those of umi_sim/machines/limits.py that are lower in this run. `loss_max`: how many keys
    may be lost for good; 0 is none, and no wipe. `equivalences`: ids of those that are compared, of
    umi_sim.judge.equivalences.
    `categories`: lists of categories that lives of an agent take turns with, of
    umi_sim/record/category_lists.py; none: the usual one.
    `target`: what is tested, one of umi_sim.machines.table.
    `command`: what runs another implementation of the target, for this run alone: it is in no file.
    `settings`: keys of the scenario that were replaced (--set), with their values, for drawing it again.
    Ratios are (n, d).
    """

    scenario: str
    version: int
    seed: int
    mode: str
    agents: tuple[AgentConfig, ...]
    start_ms: int
    memory: Mapping[str, int | bool]
    weights: Mapping[str, int]
    faults: Mapping[str, Ratio]
    operations_max: int
    in_flight_max: int
    key_count: int
    adversarial: Ratio
    land: Ratio
    repeat: Ratio
    latency: str
    policy: str
    flush_ms: int = 1
    capacity_bytes: int | None = None
    page_rows: int = PAGE_ROW_COUNT_MAX
    limits: Mapping[str, int] = {}
    loss_max: int = 0
    revise_every: int = 0
    tamper_every: int = 0
    pause_ms_max: int = PAUSE_MS_MAX
    alike: bool = False
    edges: Ratio = (0, 1)
    short_blocks: Ratio = (0, 1)
    media: Ratio = (0, 1)
    retold: Ratio = (0, 1)
    nearly: Ratio = (0, 1)
    retry: Ratio = (0, 1)
    workload: str = "generated"
    script: tuple[Mapping[str, Any], ...] = ()
    transcript: str | None = None
    planted: str | None = None
    target: str = "umi_core"
    steps_max: int = 100_000
    virtual_ms_max: int = 400 * 86_400_000
    off: tuple[str, ...] = ()
    everywhere: bool = False
    equivalences: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    command: str = ""  # decides what is tested, not what happens
    settings: Mapping[str, str] = {}  # where it is from, not what it is
    uncompared = ("command", "settings")


DRAWN: Final = (  # what only a generator reads: a replay has the items
    "weights", "operations_max", "in_flight_max", "key_count", "adversarial", "land", "repeat", "policy",
    "workload", "edges", "short_blocks", "media", "retold", "nearly", "retry",
)  # fmt: skip


def steps_max(operations: int, agent_count: int) -> int:
    """More than a run can need: the limit of a file that says none."""
    return 20_000 + 1_000 * operations * agent_count

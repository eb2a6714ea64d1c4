"""The complete configuration of one run, drawn before it starts; the run reads no other settings."""

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
"""The interceptor that refuses effects and their answers; replies contain this name."""
LATE_REFUSING_HOOK: Final = "doorkeeper behind a commit"
"""The interceptor that refuses a last step: its operation has committed, but its reply is Unknown."""
SUBSTITUTING_HOOK: Final = "usher"
"""The interceptor around these that answers a failed question to the model with a useless reply."""
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
    """Everything that the seed decided before the first step. Ratios are (n, d).

    `memory`: options of umi_core.config.Config that are not default. `weights`: request name -> weight, only
    requests that the workload may use. `faults`: kind -> rate, only kinds that are on. `transcript`: the path
    of a conversation to use as input, or None. `off`: names of rules that are not checked. `everywhere`: a
    kind of fault is active at all of its sites, not at a drawn share of them. `alike`: all agents draw the
    same requests. `revise_every`: the number of ops after which all workflows get a new revision; 0: never.
    `tamper_every`: the number of ops after which stored rows are changed; 0: never.
    `capacity_bytes`: the capacity of storage until it is healed. `page_rows`: the most rows in a page of
    storage. `limits`: limits of umi_sim/machines/limits.py that are lower in this run. `loss_max`: how many
    keys may be lost for good; with 0 there is no wipe, either. `equivalences`: ids of
    umi_sim.judge.equivalences to compare. `categories`: names of lists in umi_sim/record/category_lists.py,
    which the incarnations of an agent use in turn; none: the usual list. `target`: the system under test, a
    name of umi_sim.machines.table. `command`: the command that runs another implementation of it; no file
    contains it. `settings`: keys of the scenario that --set replaced, with their values, to draw it again.

    Shares of the workload. `edges`: hostile values that are on a limit or one beyond it. `short_blocks`:
    texts of blocks that are a word or two. `media`: documents that are an image, an audio or a video.
    `retold`: sentences that repeat a recent one, in any text. `retry`: requests that repeat an earlier one
    with a request key. `nearly`: requests that repeat a recent one with a small change of a text or turns.
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
    off: tuple[str, ...] = ()
    everywhere: bool = False
    equivalences: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    command: str = ""  # decides what is tested, not what happens in the run
    settings: Mapping[str, str] = {}  # how the configuration came about; all values are in other fields
    uncompared = ("command", "settings")


DRAWN: Final = (  # fields that only the generator reads: a replay has the items
    "weights", "operations_max", "in_flight_max", "key_count", "adversarial", "land", "repeat", "policy",
    "workload", "edges", "short_blocks", "media", "retold", "nearly", "retry",
)  # fmt: skip


def steps_max(operations: int, agent_count: int) -> int:
    """Return a limit that no run needs to reach, for a file that gives none."""
    return 20_000 + 1_000 * operations * agent_count

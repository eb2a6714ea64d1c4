"""Lines: what happened to a store, for people: what its methods got, and what came of them.

Law. The trace of a run and its seed file speak as the contract does; this is for the author of the store.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import structs

from umi_sim.kernel.wording import plural
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.items import ContractOp, Item, join_shown
from umi_sim.targets.life import JobCounts, TargetVerdict
from umi_sim.targets.world import fitting


def lines_of(adapter: type[Adapter], verdict: TargetVerdict) -> Iterator[str]:
    """One for each item."""
    for at, step in enumerate(verdict.steps):
        gots = verdict.gots[at] if at < len(verdict.gots) else ()
        is_said = bool(gots) and step.said == tuple(map(str, gots))  # else it ended within the item
        shown = join_shown([got.told for got in gots]) if is_said else step.told
        places = verdict.paused_at[at] if at < len(verdict.paused_at) else ()
        paused = f" (paused at {', '.join(places)})" if places else ""
        yield f"{text_of(adapter, step.item)}  ->  {shown}{paused}"


def warn_unexplored(jobs: JobCounts) -> str:
    """Return what runs with these jobs of executors say nothing about; empty if there is nothing."""
    message = "ran whole while others waited, and races within them were not explored"
    return f"{plural(jobs.whole_count, 'job')} {message}" if jobs.whole_count else ""


def not_recurring(verdict: TargetVerdict) -> str:
    """Return why a broken promise was not kept as a file: run again, the same items break none."""
    threads = " and ".join(f"`{name}`" for name in verdict.threads)
    reason = f"{threads} began threads" if threads else REASONS
    return f"did not recur: depends on something outside the run ({reason})"


REASONS: Final = "a global of a module, another process, a file elsewhere, or the real time"


def text_of(adapter: type[Adapter], item: Item) -> str:
    return str(structs.replace(item, ops=tuple(as_taken(adapter, op) for op in item.ops)))


def as_taken(adapter: type[Adapter], op: ContractOp) -> ContractOp:
    """A time as the method gets it: in seconds, or as `ttl_ms`."""
    method = getattr(adapter, op.name, None)
    if method is None or "ttl" not in op.args:
        return op
    args = {name: value for name, value in op.args.items() if name != "ttl"}
    return ContractOp(op.name, {**args, **fitting(method, {"ttl": op.args["ttl"]})})

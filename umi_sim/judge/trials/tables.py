"""Tables of users that break their word: a row that produces another thing than it says, and the like.

Law 1. Its operation ends with `WorkflowBroken`, which names row, kind and facts (EN3.4); the memory goes on.
Law 2. Interceptors around that row are told once, as of any failure, and cannot give anything in its place.
"""

from collections.abc import Mapping
from typing import Any, Final

from umi_core.config import Config
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.middleware import Interceptor, Pass, Substitute
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Learned, Step, asks, retry
from umi_core.errors import WorkflowBroken
from umi_core.invariants.broken import demand
from umi_core.messages.effects import Done, Embed, Failed, Outcome, Read
from umi_core.messages.requests import GetEntity
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.small_world import SmallWorld
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

WHO: Final = Scope("u", "a")
QUIET: Final = Config(auto_rebalance=False, auto_evolution=False)
NOW_MS: Final = 1_000
CHANGED: Final = "get_entity"
OWN: Final = Fact("own", int)
OWNS: Final = Fact("own", tuple[int, ...])
EACH: Final = Fact("each", tuple[int, ...])
SOUND: Final = ""


def learns(**known: object) -> Any:
    """A `take` that says so, of whatever it is asked."""
    return lambda facts, answer, view: Learned(known)


def jumps(facts: Facts, answer: object, view: View) -> Learned:
    return Learned(skip_to="read")


def another(facts: Facts, view: View) -> Any:
    return Embed(("tea",))


def unit(facts: Facts, answer: object, view: View) -> Learned:
    number = facts.unit(EACH)
    return Learned({"own": "two" if number == 2 else number})


BREAKING: Final[Mapping[str, tuple[Step, tuple[str, ...]]]] = {
    SOUND: (Step("row", learns(own=3), produces=(OWN,)), ()),
    "undeclared": (Step("row", learns(own=3, more=4, other=5), produces=(OWN,)), ("more", "other")),
    "produces": (Step("row", learns(), produces=(OWN,)), ("own",)),
    "type": (Step("row", learns(own="three"), produces=(OWN,)), ("own",)),
    "type of a unit": (Step("row", unit, each=EACH, produces=(OWNS,)), ("own",)),
    "skip": (Step("row", jumps), ("read",)),
    "effect": (Step("row", **asks(Read, another, learns(), retry(2))), ("Embed",)),
}


def try_tables(draw: Stream, config: Config) -> None:
    for kind in BREAKING:
        check_broken(kind, BREAKING[kind][1], tables_with(BREAKING[kind][0], is_first=draw.chance(1, 2)))


def tables_with(row: Step, *, is_first: bool) -> Registry:
    """Before all others, or behind one that somebody put there, and which keeps its word."""
    if is_first and row.each is None:
        return BUILT_IN.insert_before(CHANGED, "read", row)
    before = Step("before", learns(each=(1, 2, 3)), produces=(EACH,))
    return BUILT_IN.insert_before(CHANGED, "read", before).insert_after(CHANGED, "before", row)


def check_broken(kind: str, names: tuple[str, ...], registry: Registry) -> None:
    heard = list[object]()

    def hears(place: object, facts: object, came: object) -> Pass | Substitute:
        heard.append(came)
        return Substitute({"own": 3})

    hook = Interceptor("watch", "step", steps=("row",), on_error=hears)
    world = SmallWorld(WHO, QUIET, NOW_MS, registry.with_interceptor(hook))
    revision = len(registry.revisions[CHANGED])
    broken = WorkflowBroken(CHANGED, revision, "row", kind.partition(" ")[0], names)
    due: Outcome = Done(None) if kind == SOUND else Failed(broken)
    told = f"a row that is wrong in this: {kind or 'nothing'}"
    for name in ("once", "again"):
        got = world.ask(GetEntity(name, "ent_1"))
        demand(due == got, rules.WORKFLOW_CONTRACT, told, due, got)
    wanted = [] if kind == SOUND else [broken] * 2
    demand(wanted == heard, rules.HOOK_ORDER, f"what interceptors hear of {told}", wanted, heard)

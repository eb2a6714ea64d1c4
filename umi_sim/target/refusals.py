"""What a registry must refuse: wrong calls of every kind, each with the problem that it is refused with.

Law 1. What is wrong is refused by the name of its problem in EN2 (docs/spec/engine.md). Law 2. What is just
right is taken.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import structs

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.middleware import Interceptor
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import OUTCOME, Degrade, Learned, OnFailure, Step, Workflow
from umi_core.errors import BadWorkflow, Rejected, UnknownRevision
from umi_core.messages.answers import Answer
from umi_core.messages.effects import AskModel, Commit, Done
from umi_sim.record import rules
from umi_sim.record.broken import demand

INTERCEPTOR_COUNT_MAX: Final = 32
Call = Callable[[Registry], object]


def all_done(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned(OUTCOME(Done()))


def asks_nothing(facts: Facts, view: View) -> None:
    return None


def nothing(facts: Facts, reason: str) -> dict[str, object]:
    return {}


def always(facts: Facts) -> bool:
    return True


NUMBER, TEXT, MANY = Fact("thing", int), Fact("thing", str), Fact("many", tuple[int, ...])
END: Final = Step("end", take=all_done, produces=(OUTCOME,))
MAKES: Final = Step("makes", take=all_done, produces=(NUMBER,), otherwise={"thing": 1})
NEEDS: Final = Step("needs", take=all_done, requires=(NUMBER,))
WITH_OPTION: Final = structs.replace(END, config=(("every", 1),))
POLICY: Final = OnFailure(1, Degrade("less", nothing))
ASKS: Final = Step("asks", take=all_done, effect=AskModel, ask=asks_nothing, on_failure=POLICY)
COMMITS: Final = structs.replace(ASKS, id="commits", effect=Commit)

# Each table has one mistake. Where two problems fit, the
# engine may report both: the named one must be among them.
WRONG_TABLES: Final[tuple[tuple[str, tuple[Step, ...]], ...]] = (
    ("BadStepId", (structs.replace(MAKES, id="Makes"), END)),
    ("BadStepId", (structs.replace(MAKES, id="m" * 65), END)),
    ("DuplicateStep", (MAKES, structs.replace(END, id="makes"))),
    ("UnknownEffect", (structs.replace(ASKS, ask=None), END)),
    ("UnknownEffect", (structs.replace(ASKS, effect=None), END)),
    ("UnknownEffect", (structs.replace(COMMITS, each=MANY), END)),
    ("MissingFact", (NEEDS, MAKES, END)),
    ("MissingFact", (MAKES,)),
    ("FactTwice", (MAKES, structs.replace(MAKES, id="again"), END)),
    ("FactType", (MAKES, structs.replace(NEEDS, requires=(TEXT,)), END)),
    ("FactType", (structs.replace(END, produces=(Fact("outcome", int),)),)),
    ("FactType", (MAKES, structs.replace(ASKS, each=NUMBER), END)),
    ("BadSkip", (structs.replace(MAKES, skips_to=("nowhere",)), END)),
    ("BadSkip", (MAKES, structs.replace(NEEDS, skips_to=("makes",)), END)),
    ("BadSkip", (structs.replace(ASKS, on_failure=OnFailure(1, replan="end")), END)),
    # back over a commit: it would write twice
    ("BadSkip", (MAKES, COMMITS, structs.replace(ASKS, on_failure=OnFailure(1, replan="makes")), END)),
    ("BadOtherwise", (structs.replace(MAKES, when=always, otherwise=None), NEEDS, END)),
    ("BadOtherwise", (
        structs.replace(ASKS, skips_to=("needs",)), structs.replace(MAKES, otherwise={}), NEEDS, END,
    )),
    ("BadOtherwise", (structs.replace(MAKES, when=always, otherwise={"thing": "one"}), NEEDS, END)),
    ("BadOtherwise", (structs.replace(MAKES, when=always, otherwise={"thing": 1, "other": 1}), END)),
)  # fmt: skip
RIGHT_TABLES: Final = (
    (MAKES, NEEDS, END),
    (structs.replace(MAKES, when=always), NEEDS, END),
    (structs.replace(ASKS, skips_to=("end",)), MAKES, END),
    (MAKES, structs.replace(ASKS, on_failure=OnFailure(1, replan="makes")), COMMITS, END),
    (WITH_OPTION,),
)
WRONG_CALLS: Final[tuple[tuple[str, Call], ...]] = (
    ("WorkflowExists", lambda it: it.register(it.at("recall"))),
    ("UnknownWorkflow", lambda it: it.remove("unknown", "end")),
    ("UnknownStep", lambda it: it.insert_after("recall", "nowhere", MAKES)),
    ("DuplicateStep", lambda it: it.insert_before("recall", "rank", it.at("recall").steps[0])),
    ("MissingFact", lambda it: it.remove("recall", "rank")),
    ("UnknownConfigKey", lambda it: of(it, WITH_OPTION).configure("tried", "end", other=1)),
    ("BadConfigValue", lambda it: of(it, WITH_OPTION).configure("tried", "end", every="two")),
    ("BadConfigValue", lambda it: of(it, WITH_OPTION).configure("tried", "end", every=True)),
    ("UnknownRevision", lambda it: it.at("recall", 0)),
    ("UnknownRevision", lambda it: it.at("recall", it.latest("recall") + 1)),
    ("UnknownRevision", lambda it: it.interceptors(len(it.generations))),
    ("UnknownRevision", lambda it: it.interceptors(-1)),
    ("InterceptorExists", lambda it: add_hook(add_hook(it, 0), 0)),
    ("TooManyInterceptors", lambda it: add_hook(full(it), INTERCEPTOR_COUNT_MAX)),
    ("BadFilter", lambda it: Interceptor("tried", "nowhere")),  # type: ignore[arg-type]  # it must be refused
    ("BadFilter", lambda it: Interceptor("tried", on_raise="never")),  # type: ignore[arg-type]  # as above
    ("BadFilter", lambda it: Interceptor("tried", effects=("model", "telepathy"))),
    ("BadFilter", lambda it: Interceptor("tried", tasks=("extract", "guess"))),
    ("BadFilter", lambda it: Interceptor("tried", "step", tasks=("extract",))),
)  # fmt: skip


def of(registry: Registry, *steps: Step) -> Registry:
    return registry.register(Workflow("tried", (), steps))


def add_hook(registry: Registry, number: int) -> Registry:
    return registry.with_interceptor(Interceptor(f"tried {number}"))


def full(registry: Registry) -> Registry:
    """Return a registry with as many interceptors as there may be."""
    for number in range(INTERCEPTOR_COUNT_MAX - len(registry.generations[-1].ordered)):
        registry = add_hook(registry, number)
    return registry


def calls() -> Iterator[tuple[str, Call]]:
    """Each with its problem; what is right has none."""
    yield from WRONG_CALLS
    yield from ((problem, lambda it, steps=steps: of(it, *steps)) for problem, steps in WRONG_TABLES)
    yield from (("", lambda it, steps=steps: of(it, *steps)) for steps in RIGHT_TABLES)
    yield "", full


def check_refusals(registry: Registry) -> None:
    """Raises Broken at the first call that ends otherwise than it should."""
    for number, (wanted, call) in enumerate(calls()):
        got = problems(registry, call)
        holds = wanted in got if wanted else not got
        demand(holds, rules.WORKFLOW_CONTRACT, f"call {number} of a registry, that is refused", wanted, got)


def problems(registry: Registry, call: Call) -> list[Any]:
    try:
        call(registry)
    except Rejected as rejected:
        return [problem_of(error) for error in rejected.errors]
    return []


def problem_of(error: object) -> str:
    if isinstance(error, BadWorkflow):
        is_told = type(error.step) is str and type(error.names) is tuple
        return error.problem if is_told else f"{error.problem} of nothing that has a name"
    return "UnknownRevision" if isinstance(error, UnknownRevision) else "nothing that is known"

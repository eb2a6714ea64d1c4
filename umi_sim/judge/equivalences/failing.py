"""The requests of a life are repeated in a small world where one step of each meets failures.

    E-FAIL   a step asks as often, waits as long and ends as its policy says; a request that succeeds after a
             failure, or when it is sent again, has the same reply and leaves the same rows as without

Law 1. The policies are those of umi_sim/judge/plain/scores.py.
Law 2. A failed request has changed no row. A commit of unknown outcome has stored all of its rows, or none.
Law 3. No reply of a model and no answer of an embedder makes an operation fail.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data, Owner
from umi_core.engine.middleware import Interceptors
from umi_core.engine.registry import Registry
from umi_core.errors import StepFailed
from umi_core.kelpie.requests import DeleteAgent
from umi_core.messages.answers import Wake
from umi_core.messages.effects import Asked, AskModel, Commit, Done, Embed, Failed, Outcome, Read, Unknown
from umi_core.messages.requests import Memorize
from umi_core.messages.results import Memorized, RecordAdded, Remembered, SessionCreated, without_text
from umi_sim.judge.equivalences import TRIED
from umi_sim.judge.equivalences.afresh import begin_session, demand_equal, describe_archive
from umi_sim.judge.equivalences.failing_world import (
    ALWAYS,
    DURABLE,
    INVALID,
    KINDS,
    LATER_MS,
    PAGE_ROWS,
    SILENCE,
    FailingWorld,
    Script,
    StepAttempt,
    hide_times,
    name_failure,
    split_differences,
)
from umi_sim.judge.equivalences.landing import compare_landings, draw_update
from umi_sim.judge.equivalences.lives import RecordedLife
from umi_sim.judge.equivalences.stories import choose_requests, name_existing
from umi_sim.judge.plain import scores
from umi_sim.judge.state import check_memory
from umi_sim.kernel.fork import fork_graph
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand
from umi_sim.services.storage import SimStorage

TRIED_COUNT: Final = 2  # failures tried for each request, besides a quarter of all that are possible
SESSION_COUNT: Final = 2
SETTLE: Final = "settle"  # the step that reads core again when an earlier plan has won
NOTHING_FAILS: Final[Script] = {"page": []}
PURGED_COUNT: Final = 2
PURGE_COUNT_MAX: Final = 999  # steps: one for each page of rows and each attempt
OF_NO_AGENT: Final = ("log", "session")  # these stay when an agent is deleted
FAILED_COUNT: Final = 2  # failures of a step of background work, which is tried without end
NO_BACKGROUND: Final[Any] = {"auto_rebalance": False, "auto_evolution": False, "upkeep_interval_ms": 0}
DOUBTS: Final = ("unknown", "timeout", SILENCE, DURABLE)  # after these the outcome of a commit is unknown


def compare_failing(life: RecordedLife) -> Counter[str]:
    """Run E-FAIL: count the failures, and the marks that operations met. Raises Broken."""
    marks = Counter[str]()
    config = structs.replace(life.config, **NO_BACKGROUND)
    storage, given = SimStorage(page_rows=PAGE_ROWS), life.steps[0].registry
    # The first revision of each table, which no user has changed, without interceptors.
    tables = {name: revisions[:1] for name, revisions in given.revisions.items()}
    registry = structs.replace(given, revisions=tables, generations=(Interceptors(),))
    world = FailingWorld(life.scope, config, life.steps[-1].now_ms, registry, storage)
    # The world has just recovered, so `world.asked` has the questions of recovery.
    recoveries = FailureScripts(draws_of(life, "recovery"), world.registry)
    recoveries.learn(world.asked, {})
    asked = choose_requests(life, [begin_session(world) for _ in range(SESSION_COUNT)])
    faultless = run_faultless(world, asked)
    for reference in pick_requests(faultless):
        scripts = FailureScripts(draws_of(life, type(reference.request).__name__), world.registry)
        scripts.learn(reference.world.asked, {})
        for script in scripts:
            other = fork_graph(reference.before)
            other.marks, other.reply_seed = [], scripts.draw.word()
            check(other, reference, script)
            scripts.learn(other.asked, script)
            marks.update(met_in(other))
            marks["equal: E-FAIL"] += 1
    linked = run_faultless(fork_graph(world), [draw_update(draws_of(life, "linking"))])
    for other in compare_landings([*faultless, *linked], asked, life.seed):
        marks.update(met_in(other))
        marks["equal: E-FAIL"] += 1
    for script in recoveries:
        marks.update(met_in(compare_recovery(world, script)))
    purges = FailureScripts(draws_of(life, "purge"), world.registry)
    purges.learn(compare_purge(world, NOTHING_FAILS).asked, {})
    for script in islice(purges, PURGED_COUNT):
        marks.update(met_in(compare_purge(world, script)))
    return marks


def draws_of(life: RecordedLife, name: str) -> Stream:
    """Return the stream of a kind of request. Each has its own, so shrinking keeps a failure."""
    return Stream(life.seed, "E-FAIL", name)


def met_in(world: FailingWorld) -> Iterator[str]:
    return (f"{TRIED}{mark}" for mark in world.marks)


def run_faultless(world: FailingWorld, asked: list[Any]) -> list["FaultFreeRun"]:
    """Run one request after the other, and keep the world before and after each."""
    found = list[FaultFreeRun]()
    for request in asked:
        world.now_ms += 1  # no more than three sessions can begin in one millisecond
        before, at_start = fork_graph(world), name_existing(world, request)
        found.append(FaultFreeRun(at_start, world.begin(at_start, {}), before, fork_graph(world)))
    return found


def pick_requests(faultless: list["FaultFreeRun"]) -> list["FaultFreeRun"]:
    """Pick one request of each kind: the last that was done, as more is stored then, else the first."""
    found = dict[type, FaultFreeRun]()
    for it in faultless:
        if isinstance(it.outcome, Done) or type(it.request) not in found:
            found[type(it.request)] = it
    return [*found.values()]


class FailureScripts(Owner):
    """Scripts of failures for one request, drawn from all that its steps may meet.

    `known`: each step that the request takes, with the failures that lead to it. `untried`: failures by step.
    """

    draw: Stream
    registry: Registry
    known: dict[str, Script] = {}
    untried: list[tuple[str, tuple[str, ...]]] = []
    learned_count: int = 0

    def learn(self, asked: list[StepAttempt], script: Script) -> None:
        for it in asked:
            if it.step not in self.known:
                self.add(it.step, it.of, {step: kinds for step, kinds in script.items() if step != it.step})
                if it.step == "commit" and self.registry.at(it.workflow).index(SETTLE) is not None:
                    # Only this leads to `settle`: the first plan is durable without an answer, and the second
                    # conflicts with the first, so an earlier plan has won.
                    self.add(SETTLE, Read, {"commit": [DURABLE, "conflict"]})

    def add(self, step: str, of: type[Asked], before: Script) -> None:
        self.known[step] = before
        self.untried += ((step, group) for group in KINDS[of])
        self.learned_count += len(KINDS[of])

    def __iter__(self) -> Iterator[Script]:
        tried = 0
        # Of 40 known failures 2 + 40 // 4 = 12 are tried.
        while self.untried and tried < TRIED_COUNT + self.learned_count // 4:
            tried += 1
            step, group = self.untried.pop(self.draw.below(len(self.untried)))
            # known["settle"] = {"commit": [durable, conflict]}
            #   ->  {"commit": [durable, conflict], "settle": ["unavailable"]}
            # The failure under test is the last entry.
            yield {**self.known[step], step: [self.draw.pick(group)] * self.draw.pick((1, ALWAYS))}


# Outcomes.


class FaultFreeRun(Data):
    """A request, its outcome without failures, and the world before and after it."""

    request: Any
    outcome: Outcome
    before: FailingWorld
    world: FailingWorld

    def rerun_at(self, now_ms: int) -> FailingWorld:
        """Return the world after the same request at `now_ms`."""
        other = fork_graph(self.before)
        other.now_ms = now_ms
        other.begin(self.request, {})
        return other


class Failing(Data):
    """The failure of the last step of a script: one kind, once or always.

    `in_doubt`: a commit before it has an unknown outcome.
    """

    step: str
    kind: str
    is_lasting: bool
    label: str
    in_doubt: bool = False

    @property
    def ends_at_once(self) -> bool:
        """Return True if the step is not tried again, or only after more than an hour."""
        return self.kind in (*scores.FINAL, "conflict", "even_later")

    @property
    def is_conflict(self) -> bool:
        return self.kind == "conflict"

    def count(self, it: StepAttempt) -> int:
        """Return how often a step asks in all, if it always fails."""
        return 1 if self.ends_at_once else scores.count_attempts(it.workflow, it.row)

    def wait_ms(self, world: FailingWorld, it: StepAttempt, number: int) -> int:
        """Return how long after attempt `number` the next one comes."""
        config, is_of_model = world.config, it.of in (AskModel, Embed)
        timeout_ms = config.model_timeout_ms if is_of_model else config.store_timeout_ms
        late_ms = timeout_ms if self.kind == SILENCE else 0
        return late_ms + scores.wait_ms(number, LATER_MS.get(self.kind, 0))

    def demand(self, holds: bool, what: str, wanted: object, got: object) -> None:
        demand(holds, rules.FAILED_THEN_AGAIN, f"{self.label}: {what}", wanted, got)


def check(world: FailingWorld, reference: FaultFreeRun, script: Script) -> None:
    """Run one request with failures in this world, and then again. Raises Broken."""
    request, before = reference.request, world.list_rows()
    step, kinds = [*script.items()][-1]
    message = f"{type(request).__name__}, {kinds[0]} {'always' if len(kinds) == ALWAYS else 'once'} at {step}"
    # The commit that leads here may be durable, so the operation may only end as Unknown.
    in_doubt = step != "commit" and not frozenset(DOUBTS).isdisjoint(script.get("commit", ()))
    failing = Failing(step, kinds[0], len(kinds) == ALWAYS, message, in_doubt)
    outcome = world.begin(request, script)
    check_memory(world.memory.state)
    met = [it for it in world.asked if it.step == step]
    if met:
        check_waits(world, met, failing)
        check_end(outcome, reference.outcome, met, failing)
    elif step == SETTLE:  # the durable batch may be its own
        is_right = isinstance(outcome, Unknown | type(reference.outcome))
        failing.demand(is_right, "the outcome in doubt", reference.outcome, outcome)
    if isinstance(outcome, Failed):
        check_again(world, reference, before, failing)
    # An invalid reply, or a substitute for it, may store something else than a true reply does.
    has_invalid_reply = any(INVALID in kinds for kinds in script.values())
    if (
        has_invalid_reply
        or not isinstance(reference.outcome, Done)
        or (isinstance(outcome, Done) and outcome.degraded)
    ):
        return
    has_committed = is_open(reference.before) and world.list_rows() != before
    if isinstance(outcome, Done | Failed) or has_committed:
        check_result(world, reference, failing)
    if isinstance(outcome, Done) and (isinstance(request, Memorize) or getattr(request, "request_key", None)):
        check_again(world, reference, None, failing)


def check_result(world: FailingWorld, reference: FaultFreeRun, failing: Failing) -> None:
    """Demand the rows and the reply of a faultless run, at the same time or at the time when this one ended.

    A request that waited may decide by the age of rows at its end.
    """
    # Done at 5,000 ms without a failure, here at 5,300 ms: times of these 300 ms count as one.
    since = range(reference.world.now_ms, world.now_ms + 1)
    try:
        check_same(world, reference.world, since, failing)
    except Broken:
        if len(since) == 1:
            raise
        check_same(world, reference.rerun_at(world.now_ms), since, failing)


def drop_reasons(outcome: Done) -> Done:
    """Return a reply without the reasons of a model, which it lacks if an earlier plan has won."""
    is_reasoned = isinstance(outcome.value, Remembered | Memorized | RecordAdded)
    return structs.replace(outcome, value=without_text(outcome.value)) if is_reasoned else outcome


def check_same(world: FailingWorld, true: FailingWorld, since: range, failing: Failing) -> None:
    """Compare all rows and the reply, except times and the id of a new session, which contains its time."""
    there, here = split_differences(true.by_id(), world.by_id(), since)
    demand_equal(there, here, rules.FAILED_THEN_AGAIN, f"{failing.label}: rows, against no failure")
    expected, got = (it.outcomes[it.subject] for it in (true, world))
    if (
        isinstance(expected, Done)
        and isinstance(got, Done)
        and not isinstance(expected.value, SessionCreated)
    ):
        is_same = hide_times(drop_reasons(expected), since) == hide_times(drop_reasons(got), since)
        failing.demand(is_same, "the reply", expected, got)


def check_again(world: FailingWorld, reference: FaultFreeRun, before: Any, failing: Failing) -> None:
    """Demand that a failed request changed nothing, and that asking again does it once.

    `before`: the rows before a failed request; None if it was done.
    """
    now = world.list_rows()
    if before is not None:
        # The rows of a deleted agent are deleted in the background; those that remain must not change.
        stays = before if is_open(reference.before) else {where: before.get(where) for where in now}
        failing.demand(stays == now, "rows after a failure", before, now)
    again = world.begin(structs.replace(reference.request, op_id="again"), {})
    failing.demand(type(again) is type(reference.outcome), "the second outcome", reference.outcome, again)
    if before is None and is_open(world):
        failing.demand(now == world.list_rows(), "rows after a repetition", now, world.list_rows())


def is_open(world: FailingWorld) -> bool:
    """Return False if the agent was deleted: then its rows are deleted page by page."""
    return world.memory.state.phase != "closed"


def check_waits(world: FailingWorld, met: list[StepAttempt], failing: Failing) -> None:
    """Check how often each page of each unit in each plan is asked for, and when."""
    # A step that is always unavailable asks at 0, 100 and 300 ms, and then no more.
    groups = dict[tuple[int, int, int], list[StepAttempt]]()
    for it in met:
        groups.setdefault((it.unit, it.page, it.plan), []).append(it)
    if failing.kind == INVALID:
        # An invalid reply is a failure if it cannot be read; then the model is asked once more.
        again = [group for group in groups.values() if len(group) > 1]
        unread_count = world.marks.count(f"{met[0].workflow}.{met[0].row}: unusable")
        holds = met[0].of is not AskModel or len(again) <= unread_count <= 2 * len(again)
        failing.demand(holds, "how often it asks again", unread_count, len(again))
        for one, other in again:
            check_wait(world, one, other, 1, failing)
        return
    for number, group in enumerate(groups.values()):
        count = failing.count(group[0])
        if failing.is_lasting:
            failing.demand(len(group) == count, "how often it asks", count, len(group))
        elif number == 0 and count > 1:
            failing.demand(len(group) > 1, "whether it asks again", "yes", "no")
        failed = group[: count + 1] if failing.is_lasting else group[: 2 if number == 0 else 0]
        for at, (one, other) in enumerate(pairwise(failed), 1):
            check_wait(world, one, other, at, failing)


def check_wait(
    world: FailingWorld, one: StepAttempt, other: StepAttempt, number: int, failing: Failing
) -> None:
    wait_ms, waited_ms = failing.wait_ms(world, one, number), other.at_ms - one.at_ms
    failing.demand(wait_ms == waited_ms, "how long it waits", wait_ms, waited_ms)


def check_end(outcome: Outcome, true: Outcome, met: list[StepAttempt], failing: Failing) -> None:
    it, name = met[0], name_failure(failing.kind)
    substitute = scores.substitute(it.workflow, it.row)
    # After one `unavailable` or conflict the next attempt succeeds; after `refused` none follows.
    passes = not failing.is_lasting and (failing.is_conflict or not failing.ends_at_once)
    if failing.kind == INVALID:
        failing.demand(not isinstance(outcome, Failed), "how it ends", "no failure", outcome)
    elif passes:
        failing.demand(type(outcome) is type(true), "how it ends", true, outcome)
    elif substitute is not None:
        degradation = (f"{it.row}:{substitute}", name)
        names = {(each.name, each.reason) for each in outcome.degraded} if isinstance(outcome, Done) else ()
        failing.demand(degradation in names, "how it ends", degradation, outcome)
    elif failing.in_doubt or (it.of is Commit and failing.kind in DOUBTS):
        failing.demand(isinstance(outcome, Unknown), "how it ends", "unknown", outcome)
    else:
        error: Any = outcome.error if isinstance(outcome, Failed) else None
        expected = (it.row, name, failing.count(it))
        named = (error.step, error.kind, error.attempts) if isinstance(error, StepFailed) else None
        failing.demand(named == expected, "how it ends", expected, outcome)
        plans, plan_count = {each.plan for each in met}, scores.PLAN_COUNT if failing.is_conflict else 1
        failing.demand(len(plans) == plan_count, "how often it is planned", plan_count, len(plans))


def compare_recovery(world: FailingWorld, script: Script) -> FailingWorld:
    """Start a memory whose steps of recovery fail, on a copy of the storage; demand the same archive."""
    # Recovery is tried without end, so only some failures are scripted.
    few = {name: kinds[:FAILED_COUNT] for name, kinds in script.items()}
    failing = describe_background("recovery", few)
    storage, coming = fork_graph(world.storage), {name: [*it] for name, it in few.items()}
    new = FailingWorld(world.scope, world.config, world.now_ms, world.registry, storage, script=coming)
    count = len(few[failing.step])
    met = [it for it in new.asked if it.step == failing.step]
    failing.demand(not met or len(met) > count, "how often it asks", "without end", len(met))
    check_first_waits(new, failing, count)
    demand_equal(describe_archive(world), describe_archive(new), rules.FAILED_THEN_AGAIN, failing.label)
    return new


def compare_purge(world: FailingWorld, script: Script) -> FailingWorld:
    """Delete the agent while steps that delete its rows fail; demand that no row is left in the end."""
    other, few = fork_graph(world), {name: [*kinds[:FAILED_COUNT]] for name, kinds in script.items()}
    failing, count = describe_background("purge", few), len([*few.values()][-1])
    other.begin(DeleteAgent("deleted"), {})
    other.subject, other.asked, other.marks, other.script = None, [], [], few
    for _ in range(PURGE_COUNT_MAX):
        due_ms = other.memory.deadline_ms()
        if due_ms is None:
            break
        other.now_ms = max(other.now_ms, due_ms)
        other.step(Wake())
        other.settle()
    if not failing.ends_at_once:
        check_first_waits(other, failing, count)
    left = [where for where in other.list_rows() if where.kind not in OF_NO_AGENT]
    demand(not left, rules.CLOSED_IS_CLOSED, f"{failing.label}: rows are left", [], left[:3])
    return other


def describe_background(name: str, few: Script) -> Failing:
    """Return the failure of a step of background work."""
    step, kinds = [*few.items()][-1]
    kind = kinds[0] if kinds else "nothing"
    return Failing(step, kind, False, f"{name}, {kind} {len(kinds)} times at {step}")


def check_first_waits(world: FailingWorld, failing: Failing, count: int) -> None:
    met = [it for it in world.asked if it.step == failing.step]
    for at, (one, other) in enumerate(pairwise(met[: count + 1]), 1):
        check_wait(world, one, other, at, failing)

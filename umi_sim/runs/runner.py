"""The runner: a run under faults, then healing, then checks that every promise was kept.

Phases. Safety: all operations run under faults; answers may be slow but never wrong. Heal: faults stop.
Liveness: drain (until nothing is in flight and every scan is complete), audit (read everything back), a
second drain that must change nothing (preceded by another drain if the audit has caused work), and a restart
that must not be noticed.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from typing import Final

from msgspec import structs

from umi_core.data import Owner
from umi_core.engine.registry import Registry
from umi_core.limits import RECALL_LIMIT_MAX
from umi_core.messages.effects import Outcome, Reply
from umi_core.rows import Address, Row
from umi_core.tiers.session import RESERVED
from umi_core.workflows import BUILT_IN
from umi_sim.judge import equivalences
from umi_sim.judge.equivalences import with_equivalences
from umi_sim.judge.inspector import Inspector
from umi_sim.kernel.progress import NOW
from umi_sim.machines.fence import arm_fence
from umi_sim.machines.limits import lower_limits
from umi_sim.machines.protocol import Target, served_part
from umi_sim.machines.table import target_of as chosen
from umi_sim.record import rules
from umi_sim.record.broken import Broken, count_rules, demand
from umi_sim.record.items import Args, Item, RecordedReply
from umi_sim.record.rules import Rule
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import Tag, Trace
from umi_sim.record.verdict import Event, Failure, Verdict
from umi_sim.runs import rest
from umi_sim.runs.blame import crash_of, failure_of
from umi_sim.runs.known import RunKnowledge
from umi_sim.services.recorded_replies import Sayings
from umi_sim.world.agent import Agent
from umi_sim.world.source import Replay, Source
from umi_sim.world.world import OutOfSteps, World

# Far more pages than any scenario needs. A scan that never settles ends here and is reported as a failure.
SCAN_PAGE_COUNT_MAX: Final = 200
STORY_SHOWN: Final = 24
LOOKS: Final = ("count", *dict(rest.LASTING))  # reads that cause no work, such as recording an access


class Run(Owner):
    """One run: its world, its judge and its progress."""

    config: RunConfig
    world: World
    source: Source
    inspector: Inspector
    phase: str = "safety"
    request_count: int = 0
    healed_at_step: int = 0
    healed_step_max: int = sys.maxsize
    audit_rows: int = 0
    scanned: dict[str, tuple[int, int]] = {}  # by agent: `scans_of` at the end of its last complete scan
    has_searched: bool = False
    drained: dict[Address, Row] = {}  # `lasting_rows`, at the end of a drain

    def progress(self) -> tuple[int, int]:
        """Return how many operations have begun, and how many will begin under faults (0: unknown)."""
        is_drawn = self.phase == "safety" and not isinstance(self.source, Replay)
        of = self.config.operations_max * len(self.config.agents) if is_drawn else 0
        return self.world.tally.operations.total(), of

    def run_phases(self) -> None:
        """Run all phases. Raises Broken, OutOfSteps, or any exception of the memory."""
        self.world.run_until_quiet(self.config.steps_max)
        self.check_all()  # before healing, which may repair what was broken
        self.enter("heal")
        self.healed_at_step = self.world.step_count
        self.world.step_max = min(self.world.step_max, self.healed_at_step + self.healed_step_max)
        self.world.heal()
        self.enter("liveness")
        if self.config.memory.get("upkeep_interval_ms"):
            self.world.run_until_quiet(self.step_max)
            self.restart_all()  # at its start a memory finds the upkeep that commits in doubt have caused
        # The order matters. The audit reads the results of the drain. Its searches record accesses, which the
        # next drain settles. Only a world at rest can be compared before and after a restart.
        self.drain()
        self.audit()
        self.must_change_nothing()
        self.must_not_be_noticed(self.restart_all)
        rest.check_upkeep(self.world, self.step_max, self.demand)
        self.inspector.compared[rest.WITHOUT_ROOM] += rest.count_without_room(self.world)
        rest.must_have_arrived(self.world, self.inspector.oracle)
        self.compare_answers()
        self.enter("end")

    def compare_answers(self) -> None:
        """Compare filtered and unfiltered recalls of each agent; then end its last incarnation."""
        is_filtering = equivalences.rule_of(equivalences.FILTER) not in self.config.off
        for agent in self.world.agents.values():
            if is_filtering and equivalences.FILTER in self.config.equivalences:
                from umi_sim.judge.equivalences.questions import compare_filtered

                reads = self.select_served(self.inspector.oracle.audit(agent.name))
                queries = [str(args["query"]) for name, args in reads if name == "recall"]
                count = compare_filtered(partial(self.recall, agent), queries, RECALL_LIMIT_MAX)
                self.inspector.compared[f"equal: {equivalences.FILTER}"] += count
            self.inspector.end_incarnation(agent.name)

    def recall(self, agent: Agent, args: Args) -> Outcome:
        return self.ask(agent, "audit", "recall", args).outcome

    def enter(self, phase: str) -> None:
        self.phase = phase
        self.world.trace.add(Tag.PHASE, phase)

    @property
    def step_max(self) -> int:
        # A limit for the steps from here on: some twenty for each message in flight, and plenty for a scan.
        return self.world.step_count + 20 * len(self.world.network.queue) + 10_000

    def ask(self, agent: Agent, kind: str, name: str, args: Args) -> Reply:
        """Make a request of a phase and return its reply."""
        self.request_count += 1
        op_id = f"{kind}:{self.request_count}"
        # No item of the record has an id such as "audit:12", so the two cannot be confused.
        self.world.ask(agent, op_id, name, args, self.step_max)
        demand(op_id in self.inspector.phase_replies, rules.ONE_REPLY, f"{op_id} {name} was never answered")
        return self.inspector.phase_replies[op_id]

    def drain(self) -> None:
        """Run until nothing is in flight and a complete scan of every agent changes only its cursor."""
        self.world.run_until_quiet(self.step_max)
        rest.keep_up(self.world, self.step_max, self.demand)
        for agent in rest.with_something_to_scan(self.world):
            before = rest.access_rows(self.world, agent)
            self.scan(agent)
            if rest.wants_scan(agent) and rest.access_rows(self.world, agent) != before:
                self.scan(agent)  # another agent may have changed access records during the first scan
            for _ in range(rest.DIVIDED_COUNT_MAX):
                is_due = rest.has_more_to_divide(self.world, agent)
                for name, args in self.select_served(rest.due_later(self.world) if is_due else ()):
                    self.ask(agent, "drain", name, args)
        self.check_all()
        self.must_rest()
        self.drained = rest.lasting_rows(self.world.services.storage)

    def scan(self, agent: Agent) -> None:
        """Scan page after page, until a complete scan finds nothing to do."""
        pages = (self.ask(agent, "drain", "rebalance", {}) for _ in range(SCAN_PAGE_COUNT_MAX))
        message = f"{agent.name} still has something to repair after {SCAN_PAGE_COUNT_MAX} pages of scans"
        # If no background page ran since the last complete scan, the
        # cursor is at the start, so this first page begins a new scan.
        is_next = self.scanned.get(agent.name) == self.scans_of(agent)
        self.demand(rest.is_settled(pages, begins_anew=is_next), rules.REPAIRED_AFTER_HEAL, message)
        self.scanned[agent.name] = self.scans_of(agent)

    def scans_of(self, agent: Agent) -> tuple[int, int]:
        """Return the agent's incarnation and its count of background pages; both stay equal if none ran."""
        return agent.incarnation, self.world.network.names[f"{agent.name}:rebalance"]

    def must_rest(self) -> None:
        """Check that no memory has set a deadline; after a loss of storage a memory may repair for ever."""
        for agent in self.world.agents.values():
            due_ms = agent.machine.deadline_ms() if agent.machine else None
            is_at_rest = due_ms is None or self.world.services.atlas.losses
            message = f"{agent.name} has nothing to repair and wants to be stepped all the same"
            self.demand(is_at_rest, rules.REPAIRED_AFTER_HEAL, message, "never", f"at {due_ms}")

    def check_all(self) -> None:
        for agent in self.world.agents.values():
            if agent.machine is not None:
                self.inspector.check(agent.machine, self.world.services.storage)

    def audit(self) -> None:
        """Read everything back; the oracle judges each reply."""
        for agent in self.world.agents.values():
            for name, args in self.select_served(rest.LASTING + self.inspector.oracle.audit(agent.name)):
                self.ask(agent, "audit", name, args)
                self.audit_rows += 1
                self.has_searched |= name not in LOOKS
            for key in RESERVED if "load_session" in self.world.target.requests else ():
                self.ask(agent, "audit", "get", {"key": key})
        for agent in self.world.agents.values():
            self.audit_sessions(agent)

    def select_served(self, reads: Iterable[tuple[str, Args]]) -> Iterator[tuple[str, Args]]:
        """Return the reads that the target serves."""
        return ((name, args) for name, args in reads if name in self.world.target.requests)

    def read_lasting(self) -> dict[str, object]:
        """Return the core of every agent: from the state of a memory of ours, otherwise by requests."""
        found: dict[str, object] = {}
        for agent in self.world.agents.values():
            if core := rest.core_of(agent):
                found |= {f"{agent.name} {what}": lasting for what, lasting in core}
                continue
            for name, args in self.select_served(rest.LASTING):
                key = f"{agent.name} {name} {dict(args)}"
                found[key] = self.ask(agent, "audit", name, args).outcome
        return found

    def audit_sessions(self, agent: Agent) -> None:
        """Load each session and read its content; the working tier of this incarnation ends here."""
        for session_id in self.inspector.oracle.session_ids(agent.name):
            self.ask(agent, "audit", "load_session", {"session_id": session_id})
            for key in self.inspector.oracle.keys(agent.name):
                self.ask(agent, "audit", "get", {"key": key})
            for name in ("len", "bytes"):
                self.ask(agent, "audit", name, {})
            self.audit_rows += 1

    def must_change_nothing(self) -> None:
        """Check that a second drain changes no row."""
        storage = self.world.services.storage
        # The audit may have left something to do: a search counts as an access of its hits.
        if self.has_searched or rest.lasting_rows(storage) != self.drained:
            self.drain()
        before, may_change = rest.lasting_rows(storage), rest.may_be_left(self.world)
        if any(where.kind == "entity" for where in before):  # a scan reads nothing else
            self.drain()
        is_same = rest.lasting_rows(storage) == before or may_change
        self.demand(is_same, rules.SECOND_DRAIN_EMPTY, "a second drain changed stored rows")

    def restart_all(self) -> None:
        """Restart one agent after the other."""
        for agent in self.world.agents.values():
            # One at a time, each until it has recovered, so that an agent restarts while all others run.
            self.world.crash(agent, 0)
            self.world.start(agent)
            self.world.run_until_quiet(self.step_max)

    def must_not_be_noticed(self, restart: Callable[[], None]) -> None:
        """Check that `restart` changes neither a row nor the core of an agent."""
        rows, before = rest.lasting_rows(self.world.services.storage), self.read_lasting()
        restart()
        for key, after in self.read_lasting().items():
            message = f"{key} reads otherwise after a restart"
            self.demand(before[key] == after, rules.RESTART_INVISIBLE, message, before[key], after)
        is_same = rest.lasting_rows(self.world.services.storage) == rows
        self.demand(is_same, rules.RESTART_INVISIBLE, "a restart changed stored rows")

    def demand(
        self, holds: object, rule: Rule, message: str, expected: object = "", got: object = ""
    ) -> None:
        """Raise Broken if `holds` is false and the rule is not switched off."""
        if rule.name not in self.config.off:
            demand(holds, rule, message, expected, got)


# One run, from outside.


TargetOf = Callable[[RunConfig, Registry], Target]


def run(
    config: RunConfig,
    items: Sequence[Item] | None = None,
    *,
    replies: Sequence[RecordedReply] = (),
    target_of: TargetOf = chosen,
) -> Verdict:
    """Run once, drawn from the seed or replayed from `items`; repeat a failing run to collect its details.

    `replies`: recorded answers of the model, given again wherever event and task agree. `target_of` makes a
    new target for each run. Raises an exception of the simulator itself, since it is no failure of the
    target.
    """
    verdict, _ = run_once(config, items, replies=replies, target_of=target_of)
    # Nearly all runs pass, so the first run collects neither story nor states. A second run of a failure is
    # identical, since a run is a function of its configuration and items.
    return verdict if verdict.failure is None else add_details(verdict, replies=replies, target_of=target_of)


def add_details(
    verdict: Verdict, *, replies: Sequence[RecordedReply] = (), target_of: TargetOf = chosen
) -> Verdict:
    """Repeat a failing run; add its last events, the changes of its failing step, and digests around it."""
    from umi_sim.runs.changed import Changed  # importing it takes 5 ms, and passing runs do not need it

    assert verdict.failure is not None
    seen = Changed(verdict.config, verdict.failure.step)
    again, _ = run_once(
        verdict.config, verdict.items, keep_story=True, inspector=seen, replies=replies, target_of=target_of
    )
    before, after = seen.digests_around()
    return structs.replace(verdict, tail=again.tail, changed=seen.list_changes(), before=before, after=after)


def trace_of(config: RunConfig, items: Sequence[Item] | None = None) -> Trace:
    """Run once and return the trace with all records."""
    return run_once(config, items, keep_trace=True)[1]


def run_once(
    config: RunConfig,
    items: "Sequence[Item] | SourceOf | None" = None,
    *,
    keep_story: bool = False,
    keep_trace: bool = False,
    step_max: int = sys.maxsize,
    healed_step_max: int = sys.maxsize,
    inspector: Inspector | None = None,
    replies: Sequence[RecordedReply] = (),
    target_of: TargetOf = chosen,
) -> tuple[Verdict, Trace]:
    """Run once; the other arguments are those of `begin_run`.

    The run ends as a timeout after `step_max` steps, or `healed_step_max` steps after healing.
    """
    with begin_run(
        config, items, inspector=inspector, keep_story=keep_story, keep_trace=keep_trace, replies=replies,
        target_of=target_of,
    ) as begun:  # fmt: skip
        begun.world.step_max, begun.healed_step_max = step_max, healed_step_max
        failure = finish_run(begun)
    return verdict_of(begun, failure), begun.world.trace


@contextmanager
def begin_run(
    config: RunConfig,
    items: "Sequence[Item] | SourceOf | None" = None,
    *,
    keep_story: bool = False,
    keep_trace: bool = False,
    inspector: Inspector | None = None,
    replies: Sequence[RecordedReply] = (),
    target_of: TargetOf = chosen,
) -> Iterator[Run]:
    """Set up a run, ready for its first step.

    `items`: items to replay, or a function that makes a source; None draws from the seed. `inspector`: the
    judge, by default a plain `Inspector`. `replies`: recorded answers of the model to give again. A planted
    bug stays in the memory until the block ends.
    """
    inspector = inspector or Inspector(config)
    # Limits and the planted bug come first: both change modules of umi_core, which a memory reads when it is
    # made. The fence comes last, since making a target may read files and a step may not.
    with lower_limits(config.limits), tables(config.planted) as registry, count_rules(inspector.coverage):
        target = target_of(config, registry)
        with closing(target), arm_fence(target.fence, config.off):
            begun = run_of(config, items, inspector, target=target, keep_story=keep_story)
            begun.world.trace = Trace(keep_all=keep_trace)
            begun.world.services.sayings = Sayings(replies)
            yield begun


def tables(bug: str | None) -> AbstractContextManager[Registry]:
    """Return the workflow tables of a memory, with this bug planted until the block ends."""
    if bug is None:
        return nullcontext(BUILT_IN)
    from umi_sim.mutants import plant_mutant  # a replay without a planted bug does not need it

    return plant_mutant(bug, BUILT_IN)


SourceOf = Callable[[RunKnowledge], Source]


def run_of(
    config: RunConfig,
    items: Sequence[Item] | SourceOf | None,
    inspector: Inspector,
    *,
    target: Target | None = None,
    keep_story: bool = False,
) -> Run:
    """Make a run that has not begun. `items`: as for `begin_run`.

    `target`: what is tested, by default the target of the configuration. Requests that the target does not
    serve are left out. Raises ValueError if no request is left.
    """
    known, target = RunKnowledge(inspector), target or chosen(config, BUILT_IN)
    config = served_part(config, target)
    if items is None:
        from umi_sim.world.generator import Generator  # a replay needs none of its tables

        source: Source = Generator(config, known)
    else:
        source = items(known) if callable(items) else Replay(items)
    world = known.world = World(config, source, inspector, target, keep_story)
    inspector.meet(lambda: world.now_ms, world.services)
    return Run(config, world, source, inspector)


def finish_run(run: Run) -> Failure | None:
    """Run to the end; return the failure, if any. Raises exceptions of the simulator."""
    NOW.within = run.progress  # a sweep shows this as the progress of the run
    try:
        run.world.begin()
        run.run_phases()
    except (Broken, OutOfSteps) as broken:
        return failure_of(run.world, broken)
    except Exception as raised:
        return crash_of(run.world, raised)
    return None


def verdict_of(run: Run, failure: Failure | None) -> Verdict:
    world, source = run.world, run.source
    world.trace.add(Tag.END, failure.rule if failure else "pass", world.step_count)
    skipped = dict(world.tally.skipped)
    if isinstance(source, Replay):
        skipped |= source.count_unused()
    if changed := len(world.services.sayings.changed):
        skipped["prompt changed"] = changed
    story = tuple(world.story)[-STORY_SHOWN:]
    if failure is not None:
        story = (*story, Event(failure.step, failure.world_ms, failure.item, failure.message))
    tally = world.tally
    marks = tally.marks + run.inspector.compared
    return Verdict(
        run.config, tuple(source.record), failure, world.trace.hexdigest(), tuple(world.trace.prefixes),
        world.trace.every, world.step_count, sort_counts(tally.operations), sort_counts(tally.replies),
        sort_counts(tally.degraded), sort_counts(tally.fired), sort_counts(tally.without_effect),
        sort_counts(skipped), sort_counts(tally.excused), sort_counts(marks), world.crash_count, world.now_ms,
        run.healed_at_step, run.audit_rows, world.services.digest().hex()[:16], story,
        tuple(loss.line for loss in world.services.atlas.losses), model=world.services.sayings.list_replies(),
        rules=sort_counts(with_equivalences(run.inspector.coverage, marks)),
    )  # fmt: skip


def sort_counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}

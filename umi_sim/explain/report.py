"""What a run came to, for people and for programs: the verdict first, then what to type, then the story.

Law 1. A pure function of the verdict: no time elapsed, no absolute path, nothing that a Python decides.
Law 2. Whatever a memory or a model said is shown with control and bidi characters escaped, one line each.
Law 3. Less than LINE_COUNT_MAX lines, unless all was asked for.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from umi_core.data import Data
from umi_sim.explain.calls import call, world_call
from umi_sim.kernel.literals import literal
from umi_sim.kernel.prng import Ratio
from umi_sim.kernel.wording import LINE_CHARS_MAX, counted, cut, duration, escaped, plural, row, rows, spaced
from umi_sim.record import fingerprint
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import Tag
from umi_sim.record.trace_fields import COLUMNS, REST
from umi_sim.record.verdict import Event, Failure, Verdict
from umi_sim.runs import runner
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.parts import Minimised

if TYPE_CHECKING:
    from umi_sim.shrink import Shrunk


LINE_COUNT_MAX: Final = 40
SCRIPT_COUNT_MAX: Final = 12
EVENT_COUNT_MAX: Final = 15
SILENT_COUNT_MAX: Final = 8
CHANGE_COUNT_MAX: Final = 4
FRAME_COUNT_MAX: Final = 4
EVENT_COLUMN: Final = 18


@attrs.frozen
class Told(Data):
    """A failure as a report shows it: from a verdict, or from a seed file without running it."""

    config: RunConfig
    items: Sequence[Item]
    failure: Failure
    fingerprint: str
    repeat: str
    seed: str = ""  # the command that makes it from its seed, if there is one
    tail: Sequence[Event] = ()
    changed: Sequence[str] = ()
    minimised: Minimised | None = None
    without: Mapping[str, str] = attrs.field(factory=dict)  # what happens without an item, if it was tried
    step_before: int = 0  # where it failed before it was shrunk, if that is known


def of_shrunk(done: "Shrunk", repeat: str, command: str, before: Failure) -> Told:
    """A failure that was shrunk, with its last events. `before`: what it was in the longer run."""
    seed = done.seed
    assert seed.failure is not None
    lived = runner.run(seed.config, seed.items)
    return Told(
        seed.config, seed.items, seed.failure, seed.fingerprint, repeat, command, lived.tail,
        lived.changed, minimised=seed.minimised, without=done.without, step_before=before.step,
    )  # fmt: skip


def lines(verdict: Verdict, repeat: str, seed: str = "") -> list[str]:
    """The report of a run; `repeat` is the command that repeats it, `seed` the one that generates it."""
    failure = verdict.failure
    if failure is None:
        return [escaped(line) for line in passed(verdict, repeat)]
    mark = fingerprint.of(failure)
    return failed(
        Told(verdict.config, verdict.items, failure, mark, repeat, seed, verdict.tail, verdict.changed)
    )


# A run that passed.


def passed(verdict: Verdict, repeat: str) -> Iterator[str]:
    yield headline(verdict)
    yield row("repeat", repeat)
    if verdict.config.planted:
        yield row("planted", f"{verdict.config.planted}, which this run does not show")
    yield row("trace", verdict.trace_hash)
    yield row("config", config_line(verdict.config))
    if not_plain := unusual(verdict.config):
        yield from rows("", f"not plain: {', '.join(not_plain)}")
    if verdict.config.equivalences:
        yield row("equal", ", ".join(f"{it} {met(verdict, it)}" for it in verdict.config.equivalences))
    yield from faults_rows(verdict)
    yield from rows("replies", replies_line(verdict))
    for loss in verdict.losses:
        yield from rows("lost", loss)
    yield row("phases", phases_line(verdict))
    yield row("marks", f"{len(verdict.marks)} reached")
    if verdict.skipped:
        yield row("skipped", counted(verdict.skipped))


def headline(verdict: Verdict) -> str:
    config = verdict.config
    operation_count = sum(isinstance(item, Op) for item in verdict.items)
    counts = ", ".join(
        plural(count, noun)
        for count, noun in (
            (operation_count, "operation"), (sum(verdict.fired.values()), "fault"), (verdict.steps, "step")
        )
    )  # fmt: skip
    return f"PASS {config.scenario} seed {config.seed}: {counts}, every promise kept"


def config_line(config: RunConfig) -> str:
    users = dict.fromkeys(agent.scope.user for agent in config.agents)
    counts = (
        plural(len(config.agents), "agent"), plural(len(users), "user"), plural(config.key_count, "key"),
    )  # fmt: skip
    mode = " ".join(("one_kind", *config.faults)) if config.mode == "one_kind" else config.mode
    return f"{mode}; {', '.join(counts)}, latency {config.latency}, schedule {config.policy}"


def unusual(config: RunConfig) -> list[str]:
    """What the seed decided otherwise than a plain run has it."""
    shares = [(name, getattr(config, name)) for name in ("adversarial", "land", "repeat")]
    return [
        *(f"{name} {word(value)}" for name, value in config.memory.items()),
        *((f"in_flight {config.in_flight_max}",) if config.in_flight_max != PLAIN.in_flight_max else ()),
        *((f"start {config.start_ms} ms",) if config.start_ms != PLAIN.start_ms else ()),
        *(f"{name} {n}/{d}" for name, (n, d) in shares if differ((n, d), getattr(PLAIN, name))),
        *(f"clock {agent.name} {duration(agent.skew_ms)}" for agent in config.agents if agent.skew_ms),
        *((f"may lose {config.loss_max}",) if config.loss_max else ()),
        *((f"capacity {config.capacity_bytes} bytes",) if config.capacity_bytes else ()),
        *((f"revisions every {config.revise_every}",) if config.revise_every else ()),
        *(f"without {name}" for name in config.off),
        *((f"bug {config.planted}",) if config.planted else ()),
    ]


def differ(one: Ratio, other: Ratio) -> bool:
    return one[0] * other[1] != other[0] * one[1]


def met(verdict: Verdict, name: str) -> int:
    """How often the two ways of an equivalence were compared."""
    return verdict.marks.get(f"equal: {name}", 0)


def faults_rows(verdict: Verdict) -> Iterator[str]:
    rates, fired, vain = verdict.config.faults, verdict.fired, verdict.without_effect
    silent = [name for name in rates if name not in fired and name not in vain]
    yield from rows("faults", f"fired {counted(fired)}" if fired else "none fired")
    quiet = ", ".join(silent) if len(silent) <= SILENT_COUNT_MAX else f"{len(silent)} kinds"
    parts = (f"silent {quiet}" if silent else "", f"without effect {counted(vain)}" if vain else "")
    if any(parts):
        yield from rows("", "; ".join(filter(None, parts)))


def replies_line(verdict: Verdict) -> str:
    outcomes = [f"{count} {name}" for name, count in verdict.replies.items()]
    if verdict.degraded:
        outcomes.append(f"{sum(verdict.degraded.values())} degradations ({counted(verdict.degraded)})")
    excused = [f"{count} excused ({why})" for why, count in verdict.excused.items() if count]
    return ", ".join((*outcomes, *excused)) or "none"


def phases_line(verdict: Verdict) -> str:
    return (
        f"{duration(verdict.virtual_ms)} of virtual time, healed at step {verdict.healed_at_step}, "
        f"audit {plural(verdict.audit_rows, 'row')}, second drain empty, restart equal"
    )


# A run that failed.


def failed(told: Told, *, all_items: bool = False) -> list[str]:
    """The layout of a failure; from a seed file there are no events."""
    failure = told.failure
    of_file = () if told.repeat.startswith("umi-sim run ") else ("umi-sim why FILE", "umi-sim step FILE")
    found = [
        cut(
            f"FAIL {failure.kind} {failure.rule_told} at step {failure.step}: {failure.message}",
            LINE_CHARS_MAX * 2,
        ),
        row("repeat", told.repeat),
        *((row("seed", seed_line(told)),) if told.seed else ()),
        row("file", f"fingerprint {told.fingerprint}"),
        *((row("shrunk", shrunk_line(told.minimised)),) if told.minimised else ()),
        *frames(failure),
        "",
        *script(told, all_items),
        *(("", *needed(told)) if told.minimised else ()),
        *(("", *changed(told.changed)) if told.changed else ()),
        *(("", *story(told)) if told.tail else ()),
        row("more", " | ".join((*of_file, f"umi-sim explain {failure.rule}"))),
    ]
    return [escaped(line) for line in found]


def changed(told: Sequence[str]) -> Iterator[str]:
    """What the failing step changed, a line for each place."""
    head, *places = told
    shown = places if len(places) <= CHANGE_COUNT_MAX else places[: CHANGE_COUNT_MAX - 1]
    yield row("changed", cut(f"{head} {shown[0]}"))
    yield from (row("", cut(place)) for place in shown[1:])
    if len(shown) < len(places):
        yield row("", f"and {len(places) - len(shown)} more places: umi-sim step FILE")


def seed_line(told: Told) -> str:
    is_known = told.minimised is not None and told.step_before
    return f"{told.seed:44}  fails at step {told.step_before} before shrinking" if is_known else told.seed


def shrunk_line(minimised: Minimised) -> str:
    """50 operations, 6 faults -> 1, 1 in 57 runs, 1-minimal: kinds that never were there are left out."""
    had = [name for name, count in minimised.before.items() if count]
    before = ", ".join(plural(minimised.before[name], NOUNS[name]) for name in had)
    after = ", ".join(str(minimised.after.get(name, 0)) for name in had)
    if not had:
        before = after = "nothing"
    proof = "1-minimal" if minimised.one_minimal else f"not proved 1-minimal ({minimised.stopped})"
    return f"{before} -> {after} in {plural(minimised.runs, 'run')}, {proof}"


NOUNS: Final = {"op": "operation", "fault": "fault", "schedule": "schedule move", "clock": "clock move"}


def needed(told: Told) -> Iterator[str]:
    """Each item that a failure needs, with what happens without it; then what it does not need."""
    assert told.minimised is not None
    items = {item.id: item for item in told.items}
    for at, item_id in enumerate(told.minimised.needed):
        what = told.without.get(item_id)
        line = f"{brief(items[item_id]):48}  without it: {what}" if what else brief(items[item_id])
        yield row("" if at else "needed", cut(line))
    names = [name for name, is_plain in PLAIN_PARTS.items() if is_plain(told)]
    if names:
        yield row("plain", f"{', '.join(names)}: not needed")


PLAIN_PARTS: Final[Mapping[str, Callable[[Told], bool]]] = {
    "memory": lambda told: not told.config.memory,
    "faults": lambda told: not any(isinstance(item, Fault) for item in told.items),
    "clock": lambda told: not any(isinstance(item, ClockMove) for item in told.items)
    and not any(agent.skew_ms for agent in told.config.agents),
    "schedule": lambda told: not any(isinstance(item, Deviation) for item in told.items),
    "latency": lambda told: told.config.latency == PLAIN.latency,
    "other agents": lambda told: len(told.config.agents) == 1,
}  # fmt: skip


def brief(item: Item) -> str:
    """An item in a few words: f1 storage_lost at o3/commit#1."""
    match item:
        case Op():
            return f"{item.id} {item.name} by {item.agent}"
        case Fault():
            return f"{item.id} {item.fault} at {item.at}"
        case Deviation():
            return f"{item.id} {item.take} before {item.over}"
    return f"{item.id} {item.move} of {item.agent}"


def frames(failure: Failure) -> Iterator[str]:
    """Where a crash came from: the innermost functions of ours, without the folders of this machine."""
    if failure.frame:
        yield row("frame", failure.frame)
    found = [f"{place}:{line} {name}" for place, line, name in re.findall(FRAME, failure.traceback)]
    yield from (row("", place) for place in found[: -FRAME_COUNT_MAX - 1 : -1])


FRAME: Final = r'File "[^"]*?((?:umi_core|umi_sim)/[^"]*)", line (\d+), in (\S+)'


def script(told: Told, all_items: bool) -> Iterator[str]:
    """The items up to the one that failed, as calls, and what was expected there."""
    items = until(told.items, told.failure.item)
    shown = items if all_items else items[-SCRIPT_COUNT_MAX:]
    lines = [world_call(told.config, is_limited=told.failure.kind == "timeout")]
    if len(shown) < len(items):
        lines.append(f"# ... {plural(len(items) - len(shown), 'item')} before: umi-sim show --all FILE")
    lines += [call(item) for item in shown]
    lines.append("world.finish()")
    lines += [cut(f"# {label:10} {said}") for label, said in expectation(told.failure)]
    yield from (row("script" if at == 0 else "", line) for at, line in enumerate(lines))


def until(items: Sequence[Item], item_id: str) -> Sequence[Item]:
    """The record up to this item, and what struck or came since; all of it if the item is of a phase."""
    ids = [item.id for item in items]
    if item_id not in ids:
        return items
    end = ids.index(item_id)
    last = items[end]
    end_ms = last.at_ms if isinstance(last, Op | ClockMove) else 0
    rest = [it for it in items[end:] if not isinstance(it, Op | ClockMove) or it.at_ms <= end_ms]
    return [*items[:end], *rest]


def expectation(failure: Failure) -> Iterator[tuple[str, str]]:
    if failure.expected:
        yield "expected", failure.expected
    if failure.got:
        yield "got", failure.got


def story(told: Told) -> Iterator[str]:
    """The last events, the failing one marked."""
    room = EVENT_COUNT_MAX - min(CHANGE_COUNT_MAX, len(told.changed)) - bool(told.changed)
    events = told.tail[-room:]
    width = max(len(spaced(event.world_ms)) for event in events)
    step = -1
    for number, event in enumerate(events):
        label = "" if event.step == step else f"step {event.step:>4}"
        time = f"{spaced(event.world_ms):>{width}} ms"
        mark = f"   <- {told.failure.rule}" if number == len(events) - 1 else ""
        line = f"{label:9}  {time}  {event.event:{EVENT_COLUMN}} {event.what}"
        yield row("events" if number == 0 else "", cut(line, LINE_CHARS_MAX - len(mark)) + mark)
        step = event.step


def word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# Traces.


def from_trace(records: Iterable[Sequence[Any]]) -> Iterator[str]:
    """One line per record: its number, step, world time, agent with its reading, event, what."""
    step = 0
    for seq, world_ms, tag, *fields in records:
        step += tag in (Tag.OP, Tag.STEP)  # both are steps of the memory, as a failure counts them
        yield record_line(f"{seq:>6} {step:>5} {spaced(world_ms):>17} ms", tag, fields)


def record_line(head: str, tag: int, fields: Sequence[Any]) -> str:
    name = Tag(tag).name.lower() if tag in list(Tag) else f"tag {tag}"
    places = COLUMNS.get(tag, REST)
    agent, reading, event, *what = (fields[place] if place < len(fields) else "" for place in places)
    clock = f"{agent} {spaced(reading)}" if isinstance(reading, int) else str(agent)
    said = " ".join(cut(literal(each), LINE_CHARS_MAX) for each in what if each != "")
    return escaped(cut(f"{head}  {clock:19}  {event!s:{EVENT_COLUMN}} {name} {said}", 2 * LINE_CHARS_MAX))


# For programs.


def as_json(verdict: Verdict) -> dict[str, object]:
    """The verdict as plain data: texts, integers, flags, lists and objects of these."""
    config, failure = verdict.config, verdict.failure
    counts = ("operations", "replies", "degraded", "fired", "without_effect", "skipped", "excused", "marks")
    return {
        "result": "fail" if failure else "pass",
        "scenario": config.scenario,
        "seed": str(config.seed),
        "mode": config.mode,
        "trace": verdict.trace_hash,
        "steps": verdict.steps,
        "items": len(verdict.items),
        **{name: dict(getattr(verdict, name)) for name in counts},
        "losses": list(verdict.losses),
        "changed": list(verdict.changed),
        "crashes": verdict.crashes,
        "virtual_ms": verdict.virtual_ms,
        "healed_at_step": verdict.healed_at_step,
        "audit_rows": verdict.audit_rows,
        "state": verdict.state_digest,
        "failure": failure_as_json(failure) if failure else None,
    }


def failure_as_json(failure: Failure) -> dict[str, object]:
    fields = attrs.asdict(failure, filter=lambda field, _: field.name not in ("rule", "rule_id", "traceback"))
    return {"rule": failure.rule, "id": failure.rule_id, "fingerprint": fingerprint.of(failure), **fields}

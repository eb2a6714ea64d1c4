"""The report of a run: the verdict, the command that repeats it, the cause, and the story.

Law 1. A pure function of the verdict: no elapsed time, no absolute path, nothing that depends on the Python.
Law 2. What most readers want to know has a line of its own; the rest is shown on request.
Law 3. About LINE_COUNT_MAX lines at most, unless everything was requested.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import join
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from umi_core.data import Data
from umi_sim.explain import happened
from umi_sim.explain.calls import HANG, ITEM_CHARS, call, in_words, item_call, world_call
from umi_sim.kernel.prng import Ratio
from umi_sim.kernel.report import BLANK, Line, Report, ReportRow, list_row, row, under, whole
from umi_sim.kernel.wording import cut, duration, plural, show_counts
from umi_sim.record import fingerprint
from umi_sim.record.exit_codes import EXIT_CODES
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.rules import rule_named
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Event, Failure, Verdict
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.item_json import to_json
from umi_sim.seedfile.parts import Minimised
from umi_sim.seedfile.text import minimised_to_json

if TYPE_CHECKING:
    from umi_sim.shrink import Shrunk

LINE_COUNT_MAX: Final = 40
INJECTED_COUNT_MAX: Final = 5
NEVER_COUNT_MAX: Final = 8
SCRIPT_COUNT_MAX: Final = 10
FRAME_COUNT_MAX: Final = 4
ALIKE_CHARS_MAX: Final = 60
CRASH: Final = "no request and no answer makes the memory raise an exception"


class ReportedFailure(Data):
    """A failure as a report shows it: from a verdict, or from a seed file without running it."""

    config: RunConfig
    items: Sequence[Item]
    failure: Failure
    fingerprint: str
    repeat: str
    seed: str = ""  # the command that draws the run from its seed, if there is one
    file: str = ""  # the seed file of the run, if it has one
    smaller: str = ""  # the seed file of an earlier, smaller run that failed in the same way
    tail: Sequence[Event] = ()
    changed: Sequence[str] = ()
    minimised: Minimised | None = None
    without: Mapping[str, str] = {}  # what happens without an item, if it was tried
    step_before: int = 0  # the step at which it failed before it was shrunk, if known


def of_shrunk(done: "Shrunk", file: str, command: str, before: Failure) -> ReportedFailure:
    """Describe a failure that was shrunk, with its last events. `before`: the longer run."""
    seed = done.seed
    assert seed.failure is not None
    from umi_sim.runs import runner  # it loads the judge, which `show` does not need

    result = runner.run(seed.config, seed.items)
    return ReportedFailure(
        seed.config, seed.items, seed.failure, seed.fingerprint, replay_of(file), command, file, "",
        result.tail, result.changed, minimised=seed.minimised, without=done.without, step_before=before.step,
    )  # fmt: skip


def replay_of(file: str, *options: str) -> str:
    """Return the command that replays a file with these options."""
    return join(["umi-sim", "replay", *options, file])


def of_run(
    verdict: Verdict,
    repeat: str,
    seed: str = "",
    *,
    file: str = "",
    smaller: str = "",
    with_details: bool = False,
) -> Report:
    """Describe a run. `repeat`: the command that repeats it; `seed`: the one that draws it from its seed.

    `file`: the run's seed file, if any. `smaller`: the seed file of an earlier run with the same failure.
    """
    failure = verdict.failure
    value = lambda: {**as_json(verdict), "repeat": repeat}  # noqa: E731  # shorter than a function of its own
    if failure is None:
        return Report(headline(verdict), passed_rows(verdict, repeat, with_details=with_details), value)
    mark = fingerprint.of(failure)
    reported = ReportedFailure(
        verdict.config, verdict.items, failure, mark, repeat, seed, file, smaller, verdict.tail,
        verdict.changed,
    )  # fmt: skip
    return structs.replace(of_failure(reported), value=value)


# A run that passed.


def headline(verdict: Verdict) -> str:
    operation_count = sum(isinstance(item, Op) for item in verdict.items)
    counts = {"operation": operation_count, "fault": sum(verdict.fired.values()), "step": verdict.steps}
    message = ", ".join(plural(count, noun) for noun, count in counts.items())
    return f"PASS {verdict.config.scenario} seed {verdict.config.seed}: {message}, every promise kept"


def passed_rows(verdict: Verdict, repeat: str, *, with_details: bool) -> Iterator[ReportRow]:
    yield whole("repeat", repeat)
    if verdict.config.planted:
        yield row("planted", f"{verdict.config.planted}, which this run does not show")
    yield whole("trace", verdict.trace_hash)
    # Most frequent first, ties by name: a report must not depend on the order of a dict (law 1).
    often = sorted(verdict.fired, key=lambda name: (-verdict.fired[name], name))
    injected = show_counts({name: verdict.fired[name] for name in often}) or ["no fault"]
    yield list_row("injected", injected, len(injected) if with_details else INJECTED_COUNT_MAX)
    if with_details:
        yield from details(verdict)
    else:
        yield row("more", "--details tells everything;", "umi-sim explain WORD")


def details(verdict: Verdict) -> Iterator[ReportRow]:
    """Yield everything else that is known, in words."""
    from umi_sim.explain.glossary import meaning  # a short report needs no glossary

    config, without_effect = verdict.config, verdict.without_effect
    if without_effect:
        yield list_row("", label_first("without effect", show_counts(without_effect)))
    if never := [name for name in config.faults if name not in {**verdict.fired, **without_effect}]:
        yield list_row("", label_first("switched on, and never injected", never), NEVER_COUNT_MAX)
    yield row("mode", f"{' '.join((config.mode, *one_kind(config)))}: {meaning(config.mode)}")
    users = dict.fromkeys(agent.scope.user for agent in config.agents)
    counts = {"agent": len(config.agents), "user": len(users), "key": config.key_count}
    yield row("world", ", ".join(plural(count, noun) for noun, count in counts.items()))
    yield row("", f"latency {config.latency}: {meaning(config.latency)}")
    yield row("", f"schedule {config.policy}: {meaning(config.policy.partition('(')[0])}")
    if options := unusual(config):
        yield row("unusual", ", ".join(options))
    if config.equivalences:
        yield row("compared", ", ".join(compare_equivalence(verdict, name) for name in config.equivalences))
    yield list_row("replies", [f"{count} {name}" for name, count in verdict.replies.items()] or ["none"])
    if verdict.degraded:
        yield list_row("degraded", show_counts(verdict.degraded))
    if excused := show_counts({why: count for why, count in verdict.excused.items() if count}):
        yield list_row("excused", excused)
    for loss in verdict.losses:
        yield row("lost", loss)
    yield row("phases", phases(verdict))
    yield row("marks", f"{plural(len(verdict.marks), 'rare place')} reached: --json lists them")
    if verdict.skipped:
        yield list_row("skipped", show_counts(verdict.skipped))


def label_first(what: str, parts: Sequence[str]) -> list[str]:
    return [f"{what}: {parts[0]}", *parts[1:]]


def one_kind(config: RunConfig) -> Sequence[str]:
    return list(config.faults) if config.mode == "one_kind" else ()


SHARES: Final = {
    "adversarial": "of the requests have a value that is wrong or on a limit",
    "land": "of the pauses end on a deadline", "repeat": "of the requests are asked again with their key",
}  # fmt: skip


def unusual(config: RunConfig) -> list[str]:
    """List the options of the seed that differ from those of a plain run."""
    shares = [(name, getattr(config, name)) for name in SHARES]
    skewed = [agent for agent in config.agents if agent.skew_ms]
    options_of = {
        f"{config.in_flight_max} requests in flight": config.in_flight_max != PLAIN.in_flight_max,
        f"start at {config.start_ms} ms": config.start_ms != PLAIN.start_ms,
        **{f"{n}/{d} {SHARES[name]}": differ((n, d), getattr(PLAIN, name)) for name, (n, d) in shares},
        **{f"clock of {agent.name} off by {duration(agent.skew_ms)}": True for agent in skewed},
        f"storage may lose {plural(config.loss_max, 'key')} for good": config.loss_max,
        f"storage holds {config.capacity_bytes} bytes": config.capacity_bytes,
        f"storage gives {config.page_rows} rows at once": config.page_rows != PLAIN.page_rows,
        **{f"{name} {value}": True for name, value in config.limits.items()},
        f"new workflow revisions every {config.revise_every} requests": config.revise_every,
        f"another process changes stored rows every {config.tamper_every} requests": config.tamper_every,
        **{f"not judged: {name}": True for name in config.off},
        f"planted bug {config.planted}": config.planted,
    }
    options = [f"{name} {str(value).lower()}" for name, value in config.memory.items()]
    return options + [text for text, is_odd in options_of.items() if is_odd]


def differ(one: Ratio, other: Ratio) -> bool:
    # 1/2 equals 2/4: multiply crosswise to compare without a division.
    return one[0] * other[1] != other[0] * one[1]


def compare_equivalence(verdict: Verdict, name: str) -> str:
    """Describe how often the two ways of an equivalence were equal."""
    rule = rule_named(name)
    return f"{rule.statement} ({name}): equal {plural(verdict.marks.get(f'equal: {name}', 0), 'time')}"


def phases(verdict: Verdict) -> str:
    return (
        f"{duration(verdict.virtual_ms)} of virtual time; faults until step {verdict.healed_at_step}, "
        f"then all was healed and {plural(verdict.audit_rows, 'row')} read back; "
        "a second drain and a restart changed nothing"
    )


# A run that failed.


def of_failure(reported: ReportedFailure, *, all_items: bool = False) -> Report:
    """Return the layout of a failure; from a seed file there are no events."""
    failure = reported.failure
    head = f"FAIL {failure.named} at step {failure.step}"
    return Report(
        head, failed_rows(reported, all_items), lambda: encode_reported(reported), EXIT_CODES[failure.kind]
    )


def failed_rows(reported: ReportedFailure, all_items: bool) -> Iterator[Line]:
    minimised = reported.minimised
    yield whole("repeat", reported.repeat)
    if reported.seed not in ("", reported.repeat):
        yield ReportRow("seed", (reported.seed, *seed_remark(reported)))
    if reported.smaller:
        yield row("known", "an earlier, smaller run fails in the same way:", replay_of(reported.smaller))
    yield from (BLANK, *cause(reported))
    yield from (BLANK, *under("script", script(reported, all_items)))
    if reported.changed:
        yield from (
            BLANK,
            *happened.list_changes(reported.changed, reported.config, reported.items, reported.file),
        )
    if reported.tail:
        room = happened.room_for_changes(reported.changed)
        yield from (BLANK, *happened.story(reported.tail, reported.items, reported.failure.rule, room))
    yield BLANK
    yield from under("next", (whole("", command) for command in what_next(reported)))
    if minimised:
        yield row("shrunk", describe_shrinking(minimised))
    yield row("file", f"fingerprint {reported.fingerprint}")


def cause(reported: ReportedFailure) -> Iterator[ReportRow]:
    """Yield the promise, what happened instead, and the needed items."""
    yield row("promised", promise(reported.failure))
    yield from instead(reported.failure)
    yield from frames(reported.failure)
    if reported.minimised:
        yield from needed_rows(reported, reported.minimised)


def what_next(reported: ReportedFailure) -> Iterator[str]:
    """Yield commands that a user may want to type now."""
    if file := reported.smaller or reported.file:
        yield join(["umi-sim", "why", file])
        yield join(["umi-sim", "html", file, "--open"])
    yield f"umi-sim explain {reported.failure.rule}"


def promise(failure: Failure) -> str:
    """Return the statement of the broken rule."""
    return CRASH if failure.kind == "crash" else rule_named(failure.rule_id).statement


def instead(failure: Failure) -> Iterator[ReportRow]:
    """Yield the answer and the expected one; in one line if short: get 'k' answered b'', not nothing."""
    # Both often begin with the same request, "get 'k': b'v'"; the message shows it only once.
    expected, got = failure.expected, failure.got
    subject = expected.partition(": ")[0] + ": "
    if expected.startswith(subject) and got.startswith(subject):
        expected, got = expected.removeprefix(subject), got.removeprefix(subject)
    alike = max(0, count_shared(expected, got) - ALIKE_CHARS_MAX)  # what they share is not what differs
    texts = (f"...{text[alike:]}" if alike else text for text in (expected, got))
    expected, got = ("nothing" if text == "None" else cut(text, happened.TEXT_CHARS_MAX) for text in texts)
    message = cut(failure.message, happened.TEXT_CHARS_MAX)
    # If the message already contains what was received, a line of its own would only repeat it.
    if expected and (not failure.got or got in message or got == "nothing"):
        yield row("instead", f"{message}, where {expected} was expected")
        return
    yield row("instead", message)
    yield from (row(label, text) for label, text in (("expected", expected), ("got", got)) if text)


def count_shared(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def seed_remark(reported: ReportedFailure) -> Sequence[str]:
    is_known = reported.minimised is not None and reported.step_before
    return (f"  (fails at step {reported.step_before}, before shrinking)",) if is_known else ()


NOUNS: Final = {"op": "operation", "fault": "fault", "schedule": "schedule move", "clock": "clock move"}


def describe_shrinking(minimised: Minimised) -> str:
    """Describe what shrinking did: `from 50 operations and 6 faults to 1 operation`, without empty kinds."""
    before, after = map(describe_counts, (minimised.before, minimised.after))
    tried = plural(minimised.runs, "run")
    if before == after and minimised.one_minimal:
        return f"none of {before} can be left out, tried in {tried}"
    left = sum(minimised.after.values())
    proof = (
        f"the rest may hold what is not needed ({minimised.stopped})" if not minimised.one_minimal
        else "none of them can be left out" if left > 1 else ""
    )  # fmt: skip
    return f"from {before} to {after} in {tried}{'; ' if proof else ''}{proof}"


def describe_counts(counts: Mapping[str, int]) -> str:
    return in_a_row([plural(count, NOUNS[name]) for name, count in counts.items() if count]) or "nothing"


def in_a_row(names: Sequence[str]) -> str:
    """Join words: one, two and three."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def needed_rows(reported: ReportedFailure, minimised: Minimised) -> Iterator[ReportRow]:
    """Yield each item that a failure needs, with what happens without it; then what it does not need."""
    items = {item.id: item for item in reported.items}
    yield from under("needed", (without(items[it], reported.without.get(it, "")) for it in minimised.needed))
    if names := [name for name, is_plain in PLAIN_PARTS.items() if is_plain(reported)]:
        yield list_row("no part", names)


def without(item: Item, what: str) -> ReportRow:
    if not what:
        return row("", in_words(item), hang=HANG)
    return row("", f"{in_words(item):{ITEM_CHARS}} ", f"without it: {what}", hang=HANG)


PLAIN_PARTS: Final[Mapping[str, Callable[[ReportedFailure], bool]]] = {
    "memory options": lambda told: not told.config.memory,
    "faults": lambda told: not any(isinstance(item, Fault) for item in told.items),
    "clock moves": lambda told: not happened.are_clocks_moved(told.config, told.items),
    "schedule moves": lambda told: not any(isinstance(item, Deviation) for item in told.items),
    "latency": lambda told: told.config.latency == PLAIN.latency,
    "other agents": lambda told: len(told.config.agents) == 1,
}  # fmt: skip


def frames(failure: Failure) -> Iterator[ReportRow]:
    """Yield where a crash happened: the innermost functions of our packages, without local folders."""
    found = [f"{place}:{line} {name}" for place, line, name in re.findall(FRAME, failure.traceback)]
    # First the frame that is blamed, then the others from the innermost outwards.
    known = [failure.frame] if failure.frame else []
    yield from under("frame", (whole("", place) for place in (*known, *found[: -FRAME_COUNT_MAX - 1 : -1])))


# A path is shown from umi_core or umi_sim on: a report
# must not contain the folders of one machine (law 1).
FRAME: Final = r'File "[^"]*?((?:umi_core|umi_sim)/[^"]*)", line (\d+), in (\S+)'


def script(reported: ReportedFailure, all_items: bool) -> Iterator[ReportRow]:
    """Yield the items up to the one that failed, as calls."""
    items = until(reported.items, reported.failure.item)
    shown = items if all_items else items[-SCRIPT_COUNT_MAX:]
    yield world_call(reported.config, is_limited=reported.failure.kind == "timeout")
    if len(shown) < len(items):
        yield whole("", f"# ... {plural(len(items) - len(shown), 'item')} before: {show_all(reported.file)}")
    yield from map(item_call, shown)
    yield call("script.finish")


def show_all(file: str) -> str:
    return join(["umi-sim", "show", "--all", file or "FILE"])


def until(items: Sequence[Item], item_id: str) -> Sequence[Item]:
    """Return the record up to this item, and later faults and deviations; all if the item is of a phase."""
    ids = [item.id for item in items]
    if item_id not in ids:
        return items
    end = ids.index(item_id)
    last = items[end]
    end_ms = last.at_ms if isinstance(last, Op | ClockMove) else 0
    # Faults and deviations have no time, so all of them are
    # kept: any of them may have been injected before the end.
    rest = [it for it in items[end:] if not isinstance(it, Op | ClockMove) or it.at_ms <= end_ms]
    return [*items[:end], *rest]


# For programs.


COUNTS: Final = (
    "operations", "replies", "degraded", "fired", "without_effect", "skipped", "excused", "marks",
)  # fmt: skip


def as_json(verdict: Verdict) -> dict[str, object]:
    """Return the verdict as plain data: texts, integers, flags, lists and objects of these."""
    config, failure = verdict.config, verdict.failure
    return {
        "result": "fail" if failure else "pass", "scenario": config.scenario, "seed": str(config.seed),
        "mode": config.mode, "trace": verdict.trace_hash, "steps": verdict.steps, "items": len(verdict.items),
        **{name: dict(getattr(verdict, name)) for name in COUNTS},
        "losses": list(verdict.losses), "changed": list(verdict.changed), "crashes": verdict.crashes,
        "virtual_ms": verdict.virtual_ms, "healed_at_step": verdict.healed_at_step,
        "audit_rows": verdict.audit_rows, "state": verdict.state_digest,
        "failure": failure_as_json(failure) if failure else None,
    }  # fmt: skip


def failure_as_json(failure: Failure) -> dict[str, object]:
    fields = msgspec.to_builtins(failure)
    for name in ("rule", "rule_id", "traceback"):
        del fields[name]
    known = {"rule": failure.rule, "id": failure.rule_id, "fingerprint": fingerprint.of(failure)}
    return {**known, "promised": promise(failure), **fields}


def encode_reported(reported: ReportedFailure) -> dict[str, object]:
    """Return a failure in the format of a seed file."""
    config = reported.config
    minimised = minimised_to_json(reported.minimised) if reported.minimised else None
    return {
        "scenario": config.scenario, "seed": str(config.seed), "failure": failure_as_json(reported.failure),
        "minimised": minimised, "without": dict(reported.without), "repeat": reported.repeat,
        "items": [to_json(item) for item in reported.items],
    }  # fmt: skip

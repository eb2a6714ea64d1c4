"""Reports about targets: the verdict first, then how to repeat it, then the cause."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from umi_sim.kernel.report import BLANK, Line, Report, ReportRow, row, under, whole
from umi_sim.kernel.wording import plural
from umi_sim.record.saved_failures import name_subject
from umi_sim.targets.adapter import Adapter, is_async, ops_of
from umi_sim.targets.drawing import Moments, moments_at
from umi_sim.targets.hunt import Hunt
from umi_sim.targets.items import CALLS, ContractOp, Item, join_shown
from umi_sim.targets.life import NO_JOBS, JobCounts, TargetStep, TargetVerdict
from umi_sim.targets.promises import list_promises, meaning_of, promise_broken, tell_promise
from umi_sim.targets.seed_files import Earlier, SavedRun, document_of
from umi_sim.targets.shrinking import fingerprint_of
from umi_sim.targets.world import fitting


def report_hunt(name: str, found: Hunt, saved: str) -> Report:
    counted = f"{plural(found.run_count, 'run')}, {plural(found.op_count, 'operation')}"
    value = partial(as_json, found, name, saved)
    if found.small is None and found.not_recurring:
        return report_not_recurring(name, found, value)
    if found.small is None or found.first is None:
        threads = "races with its own threads were not explored" if found.threads else ""
        limits = "; ".join(filter(None, (warn_unexplored(found.jobs), threads)))
        kept = limits or "every promise kept"
        rows = [*report_reached(found), *report_inferred(found), *report_known(found)]
        return Report(f"PASS {name}: {counted}, {kept}", rows, value)
    before, after = len(found.first.items), len(found.small.items)
    rows = [
        whole("repeat", repeat_command(name, saved)),
        row("shrunk", f"{plural(before, 'item')} to {after}; found after {counted}"),
    ]
    rows += [row("", each) for each in tell_other_rule(found.first, found.small)]
    again = repeat_command(name, saved)
    rows += [
        BLANK,
        *list_cause(found.adapter, found.small),
        *report_needed(found.findings[0].needed),
        *list_jobs(found.jobs),
        *list_not_kept(found),
        *list_threads(found),
        *report_inferred(found),
        *report_known(found),
        BLANK,
        whole("next", f"umi-sim html {saved} --open"),
        ReportRow("", (f"{again} --export show.py", "# as a script")),
        ReportRow("", (again, "# exit 0: it fails still, as recorded; 1: no longer")),
    ]
    return Report(headline(name, found.small), rows, value, 1)


CONDITIONS: Final = {
    "at_once": "concurrent requests", "cancel": "cancellations", "fail": "failures", "reopen": "restarts",
    "crash": "crashes", "crash_in": "crashes",
}  # fmt: skip


def tell_other_rule(first: TargetVerdict, small: TargetVerdict) -> Iterator[str]:
    """Yield the rule of the first run if the small one breaks another, and the conditions that it lacks."""
    if first.broken is None or small.broken is None or first.broken.rule == small.broken.rule:
        return
    kinds, left = (
        [CONDITIONS.get(it.kind) for it in run.items[: run.ended_at + 1]] for run in (first, small)
    )
    gone = [kind for kind in dict.fromkeys(kinds) if kind and kind not in left]
    change = f"without {' and '.join(gone)}" if gone else "with fewer or plainer items"
    yield f"found as {first.broken.rule}; {change} it is {small.broken.rule}"


def report_not_recurring(name: str, found: Hunt, value: Callable[[], Any]) -> Report:
    """Report a failure that did not recur when its items were run again, so that no file was written."""
    verdict = found.not_recurring[0]
    rows = [
        row("saved", "nothing, since a replay would pass"),
        row("met", f"{count_failures(found)} in {plural(found.run_count, 'run')}"),
        BLANK, *list_cause(found.adapter, verdict),
        *list_jobs(found.jobs), *list_threads(found), *report_known(found),
    ]  # fmt: skip
    return Report(f"{headline(name, verdict)} {not_recurring(verdict)}", rows, value, 1)


def list_not_kept(found: Hunt) -> Iterator[ReportRow]:
    """Yield the failures that did not recur."""
    if found.not_recurring:
        yield row("besides", f"{count_failures(found)} {not_recurring(found.not_recurring[0])}")


def count_failures(found: Hunt) -> str:
    return plural(len(found.not_recurring), "failure")


def repeat_command(name: str, file: str) -> str:
    return f"umi-sim target {name} --replay {file}"


def headline(name: str, verdict: TargetVerdict) -> str:
    assert verdict.broken is not None
    return f"FAIL {name} {verdict.broken.rule}: {verdict.broken.op}"


def list_cause(adapter: type[Adapter], verdict: TargetVerdict) -> Iterator[ReportRow]:
    """Yield the broken promise, the answer, the expected answers, and the items of the run."""
    found = verdict.broken
    assert found is not None
    yield row("promised", tell_promise(found.rule, found.op))
    if found.anomaly:
        yield row("anomaly", f"{found.anomaly}: {meaning_of(found.anomaly)}")
    yield row("got", f"{found.op}: {found.got}")
    if found.allowed:
        yield row("expected", found.allowed)
    if found.hint:
        yield row("perhaps", found.hint)
    if found.frame:
        yield row("raised in", found.frame)
    yield from under("items", (row("", each, hang=2) for each in list_calls(adapter, verdict)))


def report_needed(needed: Sequence[tuple[Item, str, str]]) -> Iterator[ReportRow]:
    """Yield for each item how the run ends if only this item is changed."""
    texts = [item.describe(join_shown([op.name for op in item.ops])) for item, _, _ in needed]
    width = max(map(len, texts), default=0)
    pairs = zip(texts, needed, strict=True)
    yield from under("needed", (row("", f"{text:{width}}  {it[1]}: {it[2]}", hang=2) for text, it in pairs))


def report_reached(found: Hunt) -> Iterator[ReportRow]:
    """Yield the operations and the faults of the runs, and those that they did not have."""
    adapter, asked = found.adapter, ops_of(found.adapter)
    yield row("asked", ", ".join(f"`{name}`" for name in asked))
    if lacking := [f"`{name}`" for name in adapter.contract.ops if name not in asked]:
        yield row("", f"not asked, since {adapter.__name__} has none of them: {', '.join(lacking)}")
    kinds = ["restarts and crashes"] if adapter.durable else []
    if found.died_at:
        kinds.append(f"crashes within operations (at {', '.join(sorted(found.died_at))})")
    kinds += ["requests at once", "cancellations"] if is_async(adapter) else []
    kinds += [f"failures of {site}" for site in list_sites(moments_at(adapter.fails, found.moments))]
    yield row("met", ", ".join(kinds) or "operations and time alone")
    if not is_async(adapter):
        yield row("", "no two requests at once: an operation that begins with `async def` can be asked so")
    if found.jobs.count:
        paused = f"paused {plural(found.jobs.pause_count, 'time')} while others went on"
        yield row("", f"{plural(found.jobs.count, 'job')} of executors, which {paused}")
    if found.jobs.whole_count and not found.adapter.line_by_line:
        yield row("", f"no pause within plain Python: {LINES}")
    if not adapter.copies and adapter.values == "json":
        yield row("", "no caller that changes its lists and objects later: copies = True asks for one")
    yield from list_threads(found)
    if not adapter.fails:
        yield row("", "no failures: fails = () asks for none")
    yield from (row("", each) for each in list_unmet_deaths(found))
    if not adapter.durable:
        yield row("", "no restart, no crash: durable = True asks for them, if all of it is in self.folder")


def list_sites(moments: Moments) -> list[str]:
    return sorted({site for each in moments.values() for site, _ in each})


def list_unmet_deaths(found: Hunt) -> list[str]:
    """Return the limits of a hunt of a durable store: deaths within operations that it could not inject."""
    if not found.adapter.durable:
        return []
    if not moments_at(CALLS, found.moments):
        return [f"{NO_DEATH}: none reached SQLite, a file or a client that runs see"]
    if found.threads:
        return ["no crash within what its own threads do"]
    return [f"{NO_DEATH}: no run had one"] * (not found.died_at)


NO_DEATH: Final = "no crash within an operation"
KNOWN_FIELDS: Final = ("address", "rule", "anomaly", "promise")
LINES: Final = "line_by_line = True lets jobs pause at each line of your code"


def list_jobs(counts: JobCounts) -> Iterator[ReportRow]:
    if warning := warn_unexplored(counts):
        yield row("jobs", warning)


def list_threads(found: Hunt) -> Iterator[ReportRow]:
    if found.threads:
        message = " and ".join(f"`{name}`" for name in found.threads)
        yield row(
            "threads", f"{message} began threads: what those do follows from no seed, and may not come again"
        )


def report_inferred(found: Hunt) -> Iterator[ReportRow]:
    """Yield the flags that the class does not set, with the values inferred from answers."""
    values: dict[str, list[object]] = {}
    for name, value in sorted(found.inferred, key=repr):
        values.setdefault(name, []).append(value)
    if values:
        values_of = [f"`{name} = {' or '.join(map(repr, each))}`" for name, each in values.items()]
        yield row("inferred", f"{', '.join(values_of)}: set what you promise, and it is checked")
    for name, each in values.items():
        if len(each) > 1:
            yield row("", f"`{name}` is not the same in every run")


def report_known(found: Hunt) -> Iterator[ReportRow]:
    yield from under("known", [whole("", it) for it in dict.fromkeys(it.address for it in found.known)])


def as_json(found: Hunt, name: str, saved: str) -> dict[str, Any]:
    if found.small is None and found.not_recurring:
        document = verdict_as_json(found.adapter, name, found.not_recurring[0])
        return {"result": "fail", "saved": "", **document, **counts_of(found)}
    if found.small is None:
        return {"result": "pass", "target": name, **counts_of(found)}
    needed = [f"{change}: {end}" for _, change, end in found.findings[0].needed]
    document = verdict_as_json(found.adapter, name, found.small)
    return {"result": "fail", "saved": saved, **document, **counts_of(found), "needed": needed}


def verdict_as_json(adapter: type[Adapter], name: str, verdict: TargetVerdict) -> dict[str, Any]:
    broken = verdict.broken
    names = {"anomaly": "", "hint": "", "promise": ""}
    if broken:
        promise = promise_broken(broken.rule, broken.anomaly, verdict.items)
        names = {"anomaly": broken.anomaly, "hint": broken.hint, "promise": promise}
    return {**document_of(adapter, name, verdict), **names}


def counts_of(found: Hunt) -> dict[str, Any]:
    inferred: dict[str, list[object]] = {}
    for name, value in found.inferred:
        inferred.setdefault(name, []).append(value)
    return {
        "runs": found.run_count, "operations": found.op_count, "inferred": inferred,
        "known": [{name: getattr(it, name) for name in KNOWN_FIELDS} for it in found.known],
        "promised": list_promises(found.adapter), "tried": found.tried,
        "did_not_recur": [str(each.broken and each.broken.message) for each in found.not_recurring],
        **jobs_as_json(found.jobs, list_unmet_deaths(found)),
    }  # fmt: skip


def jobs_as_json(counts: JobCounts, unmet: Sequence[str] = ()) -> dict[str, Any]:
    """Return the counts of jobs. `unmet`: other limits of the hunt."""
    not_explored = [*filter(None, [warn_unexplored(counts)]), *unmet]
    return {"jobs": counts.count, "pauses": counts.pause_count, "not_explored": not_explored}


def report_all(name: str, found: Hunt, files: Sequence[str]) -> Report:
    """Report all kinds of failures with their files, the most frequent first."""
    counted = f"{plural(found.run_count, 'run')}, {plural(found.op_count, 'operation')}"
    pairs = sorted(zip(found.findings, files, strict=True), key=lambda pair: -pair[0].count)

    def lines() -> Iterator[Line]:
        for each, file in pairs:
            broken, length = each.small.broken, plural(len(each.small.items), "item")
            assert broken is not None
            yield f"{broken.rule}: {broken.op}, met in {plural(each.count, 'run')}, shrunk to {length}"
            yield row("", broken.message)
            yield whole("", repeat_command(name, file))
        yield from list_not_kept(found)
        yield from report_known(found)

    def value() -> dict[str, Any]:
        documents = [
            {"saved": file, "met": each.count, **verdict_as_json(found.adapter, name, each.small)}
            for each, file in pairs
        ]
        return {"result": "fail", "target": name, **counts_of(found), "failures": documents}

    kinds = plural(len(pairs), "kind")
    message = "; ".join(filter(None, (f"{kinds} of failure in {counted}", warn_unexplored(found.jobs))))
    return Report(f"FAIL {name}: {message}", [*lines()], value, 1)


def report_earlier(name: str, folder: str, earlier: Earlier) -> Report:
    """Report replayed files. Exit code 1: a run fails; 2: none fails, but a file is unreadable; else 0."""
    failing, count = earlier.failing, plural(len(earlier.runs), "file")
    counts = sum((now.jobs for _, _, now in earlier.runs), NO_JOBS)
    rows: list[Line] = [*list_earlier(earlier, name)]
    if earlier.other_count:
        rows.append(f"{plural(earlier.other_count, 'file')} of other adapters not run")

    def value() -> dict[str, Any]:
        summary = {file: "fail" if now.broken else "pass" for file, _, now in earlier.runs}
        result = "fail" if failing else "unreadable" if earlier.unreadable else "pass"
        return {
            "result": result, "target": name, "files": summary, "unreadable": [*earlier.unreadable],
            **jobs_as_json(counts),
        }  # fmt: skip

    word = "FAIL" if failing else "UNREADABLE" if earlier.unreadable else "PASS"
    summary = f"{len(failing)} of {count} of {folder} fail" if failing else f"{count} of {folder}, none fails"
    summary = "; ".join(filter(None, (summary, warn_unexplored(counts))))
    return Report(f"{word} {name}: {summary}", rows, value, 1 if failing else 2 if earlier.unreadable else 0)


PASSES_NOW: Final = "passes now, and is run each time:"


def list_earlier(earlier: Earlier, name: str, known: Sequence[str] = ()) -> Iterator[ReportRow]:
    """Yield the saved files that fail, that pass now, and that cannot be read.

    `known`: files of failures that are already reported.
    """
    for file, _, now in earlier.failing:
        if file in known or now.broken is None:
            continue
        yield row("kept", f"{now.broken.rule}: {now.broken.message}")
        yield whole("", repeat_command(name, file))
    yield from (row("kept", PASSES_NOW, file) for file in earlier.fixed)
    yield from (whole("unreadable", each) for each in earlier.unreadable)


def report_saved(file: str, saved: SavedRun) -> Report:
    """Report a saved run from its file, without running the store."""
    name = name_subject(saved.target, "MODULE:CLASS")
    texts = [step.item.describe(join_shown([str(op) for op in step.item.ops])) for step in saved.steps]
    lines = [f"{text}  ->  {step.told}" for text, step in zip(texts, saved.steps, strict=True)]
    facts = {"promised": tell_promise(saved.rule, saved.op), "got": saved.message} if saved.rule else {}

    def value() -> dict[str, Any]:
        result = "fail" if saved.rule else "pass"
        return {
            "result": result, "file": file, "target": saved.target, "contract": saved.contract,
            "seed": str(saved.seed), "rule": saved.rule, "message": saved.message, "items": lines,
            **jobs_as_json(saved.jobs),
        }  # fmt: skip

    edited = [] if saved.trace else [row("edited", "the file was edited: its answers prove nothing")]
    rows = [
        whole("repeat", repeat_command(name, file)), *edited, BLANK,
        *(row(label, content) for label, content in facts.items()),
        *under("items", (row("", each, hang=2) for each in lines)), *list_jobs(saved.jobs),
    ]  # fmt: skip
    if not saved.rule:
        return Report(f"PASS {name}: expected to pass, {plural(len(lines), 'item')}", rows, value)
    return Report(f"FAIL {name} {saved.rule}: {saved.op}", rows, value)


def report_replay(
    name: str, file: str, adapter: type[Adapter], saved: SavedRun, verdict: TargetVerdict
) -> Report:
    """Report a replay. Exit code 0: as recorded; 1: no failure or another one; 4: the same, other answers."""

    def value() -> dict[str, Any]:
        result = "fail" if verdict.broken else "pass"
        document = verdict_as_json(adapter, name, verdict)
        return {"result": result, "saved": file, **document, **jobs_as_json(verdict.jobs)}

    if verdict.broken is None:
        is_new = bool(saved.fingerprint)
        what = "passes, where a failure was recorded" if is_new else "passes, as recorded"
        what = "; ".join(filter(None, (what, warn_unexplored(verdict.jobs))))
        return Report(f"PASS {name}: {file} {what}", (), value, int(is_new))
    same, code = "as recorded, answer by answer", 0
    if not saved.trace:
        same = "the same failure; the file was edited, so the answers in it prove nothing"
    if fingerprint_of(verdict.broken) != saved.fingerprint:
        same, code = "another failure than the one that was recorded", 1
    elif saved.trace and saved.trace != verdict.trace:
        same, code = "the same failure by other answers: the store draws chance of its own", 4
    changed = [pair for pair in zip(saved.steps, verdict.steps, strict=False) if code and pair[0] != pair[1]]
    rows = [
        row("differs", f"{text_of(adapter, new.item)}  ->  {new.told}, recorded: {old.told}")
        for old, new in changed[:1]
    ]
    rows = [
        whole("repeat", repeat_command(name, file)),
        row("replay", same),
        *rows,
        BLANK,
        *list_cause(adapter, verdict),
    ]
    return Report(headline(name, verdict), rows, value, code)


# Calls of a run for people: with arguments as the methods of the adapter got them. The trace of a run and its
# seed file have those of the contract.


def list_calls(adapter: type[Adapter], verdict: TargetVerdict) -> Iterator[str]:
    """Yield a line for each item, with its calls and results."""
    for step in verdict.steps:
        is_finished = bool(step.gots) and step.replies == tuple(map(str, step.gots))  # not cut off
        shown = join_shown([got.told for got in step.gots]) if is_finished else step.told
        paused = f" (paused at {', '.join(step.paused_at)})" if step.paused_at else ""
        emptied = "; then its caller empties what it gave and got" * is_emptied(adapter, step)
        yield f"{text_of(adapter, step.item)}  ->  {shown}{paused}{emptied}"


def is_emptied(adapter: type[Adapter], step: TargetStep) -> bool:
    """Return whether the calls had a list or dict that the simulated caller emptied afterwards."""
    values = [got.value for got in step.gots]
    values += [value for op in step.item.ops for value in op.args.values()]
    return adapter.copies and any(isinstance(value, list | dict) and value for value in values)


def warn_unexplored(jobs: JobCounts) -> str:
    """Return a warning about jobs whose races were not explored; "" if there is none."""
    message = "ran whole while others waited, and races within them were not explored"
    return f"{plural(jobs.whole_count, 'job')} {message}" if jobs.whole_count else ""


def not_recurring(verdict: TargetVerdict) -> str:
    """Return the note that a failure did not recur, with possible reasons."""
    threads = " and ".join(f"`{name}`" for name in verdict.threads)
    reason = f"{threads} began threads" if threads else REASONS
    return f"did not recur: depends on something outside the run ({reason})"


REASONS: Final = "a global of a module, another process, a file elsewhere, or the real time"


def text_of(adapter: type[Adapter], item: Item) -> str:
    return item.describe(join_shown([str(as_taken(adapter, op)) for op in item.ops]))


def as_taken(adapter: type[Adapter], op: ContractOp) -> ContractOp:
    """Return an operation with its arguments as its method gets them: `ttl` in seconds, or as `ttl_ms`."""
    method = getattr(adapter, op.name, None)
    if method is None:
        return op
    args = {name: value for name, value in op.args.items() if name != "ttl"}
    return ContractOp(op.name, {**args, **fitting(method, op.args)})

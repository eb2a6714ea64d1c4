"""What a hunt or a replay came to, as a report."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from umi_sim.kernel.report import Report, Row, row, under, whole
from umi_sim.kernel.wording import plural
from umi_sim.targets.adapter import Adapter, is_async
from umi_sim.targets.checker import RULES
from umi_sim.targets.hunt import Hunt
from umi_sim.targets.life import Verdict
from umi_sim.targets.seed_files import Saved, document_of
from umi_sim.targets.shrinking import fingerprint_of


def of_hunt(name: str, found: Hunt, saved: str) -> Report:
    counted = f"{plural(found.run_count, 'run')}, {plural(found.op_count, 'operation')}"
    value = partial(as_json, found, name, saved)
    if found.small is None or found.first is None:
        return Report(f"PASS {name}: {counted}, every promise kept", [*reached(found), *known(found)], value)
    head, rows = rows_of(name, found.small)
    before, after = len(found.first.items), len(found.small.items)
    rows += [whole("repeat", f"umi-sim target {name} --replay {saved}"), *known(found)]
    rows.append(row("shrunk", f"{plural(before, 'item')} to {after}; found after {counted}"))
    return Report(head, rows, value, 1)


def rows_of(name: str, verdict: Verdict) -> tuple[str, list[Row]]:
    """The head and the rows that tell a broken promise, in the order in which it came about."""
    found = verdict.broken
    assert found is not None
    rows = [row("promised", RULES[found.rule]), row("got", f"{found.op}: {found.got}")]
    if found.allowed:
        rows.append(row("expected", found.allowed))
    if found.frame:
        rows.append(row("raised in", found.frame))
    steps = [row("", f"{step.item}  ->  {step.told}", hang=2) for step in verdict.steps]
    rows += under("items", steps)
    return f"FAIL {name} {found.rule}: {found.op}", rows


def reached(found: Hunt) -> Iterator[Row]:
    """What could happen in the runs, and what could not."""
    adapter = found.adapter
    kinds = ["restarts and crashes"] if adapter.durable else []
    kinds += ["requests at once", "cancellations"] if is_async(adapter) else []
    sites = {site for moments in found.moments.values() for site, _ in moments}
    kinds += [f"failures of {site}" for site in sorted(sites)]
    yield row("met", ", ".join(kinds) or "operations and time alone")
    if not is_async(adapter):
        yield row("", "it is not asynchronous: requests at once are out of reach, as are threads of its own")


def known(found: Hunt) -> Iterator[Row]:
    yield from under("known", [whole("", address) for address in found.known])


def as_json(found: Hunt, name: str, saved: str) -> dict[str, Any]:
    counts = {"runs": found.run_count, "operations": found.op_count, "known": list(found.known)}
    if found.small is None:
        return {"result": "pass", "target": name, **counts}
    return {
        "result": "fail",
        "saved": saved,
        **counts,
        **document_of(found.adapter, name, found.seed, found.small),
    }


def of_replay(name: str, file: str, adapter: type[Adapter], saved: Saved, verdict: Verdict) -> Report:
    """Exit 0: as recorded. 1: no failure, or another one. 4: the same failure by another way."""

    def value() -> dict[str, Any]:
        result = "fail" if verdict.broken else "pass"
        return {"result": result, "saved": file, **document_of(adapter, name, 0, verdict)}

    if verdict.broken is None:
        is_new = bool(saved.fingerprint)
        what = "passes, where a failure was recorded" if is_new else "passes, as recorded"
        return Report(f"PASS {name}: {file} {what}", (), value, int(is_new))
    head, rows = rows_of(name, verdict)
    told, code = "as recorded, answer by answer", 0
    if fingerprint_of(verdict.broken) != saved.fingerprint:
        told, code = "another failure than the one that was recorded", 1
    elif saved.trace not in ("", verdict.trace):
        told, code = "the same failure by other answers: the store draws chance of its own", 4
    return Report(head, [row("replay", told), *rows], value, code)

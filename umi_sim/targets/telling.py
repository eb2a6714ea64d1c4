"""What a hunt or a replay came to, as a report."""

from collections.abc import Iterator
from typing import Any

from umi_sim.kernel.report import Report, Row, row, under, whole
from umi_sim.kernel.wording import plural
from umi_sim.targets.adapter import Adapter, is_async
from umi_sim.targets.checker import RULES
from umi_sim.targets.hunt import Hunt
from umi_sim.targets.items import item_to_json
from umi_sim.targets.life import Verdict
from umi_sim.targets.shrinking import fingerprint_of


def of_hunt(name: str, found: Hunt, saved: str, repeat: str) -> Report:
    counted = f"{plural(found.run_count, 'run')}, {plural(found.op_count, 'operation')}"
    if found.small is None:
        return Report(
            f"PASS {name}: {counted}, every promise kept", list(reached(found)), lambda: passed(found), 0
        )
    head, rows = broken(name, found.small)
    rows += [whole("repeat", repeat), *([whole("saved", saved)] if saved else []), *known(found)]
    before = len(found.first.items) if found.first else 0
    rows.append(row("shrunk", f"{plural(before, 'item')} to {len(found.small.items)}; found after {counted}"))
    return Report(head, rows, lambda: as_json(name, found.small, found.seed, saved), 1)


def broken(name: str, verdict: Verdict) -> tuple[str, list[Row]]:
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
    kinds += [f"failures of {site}" for site in found.sites]
    yield row("met", ", ".join(kinds) or "operations and time alone")
    if not is_async(adapter):
        yield row("", "it is not asynchronous: requests at once are out of reach, as are threads of its own")
    yield from known(found)


def known(found: Hunt) -> Iterator[Row]:
    yield from under("known", [whole("", address) for address in found.known])


def passed(found: Hunt) -> dict[str, Any]:
    return {
        "result": "pass",
        "runs": found.run_count,
        "operations": found.op_count,
        "known": list(found.known),
    }


def as_json(name: str, verdict: Verdict | None, seed: int, saved: str) -> dict[str, Any]:
    if verdict is None or verdict.broken is None:
        return {"result": "pass", "target": name}
    return {
        "result": "fail", "target": name, "seed": str(seed), "saved": saved, "rule": verdict.broken.rule,
        "op": verdict.broken.op, "got": verdict.broken.got, "expected": verdict.broken.allowed,
        "fingerprint": fingerprint_of(verdict.broken), "trace": verdict.trace,
        "items": [item_to_json(item) for item in verdict.items],
    }  # fmt: skip


def of_replay(name: str, file: str, verdict: Verdict, trace: str, fingerprint: str) -> Report:
    """Exit 0: as recorded. 1: no failure, or another one. 4: the same failure by another way."""
    now = fingerprint_of(verdict.broken) if verdict.broken else ""
    value = lambda: as_json(name, verdict, 0, file)  # noqa: E731  # one line, used once
    if verdict.broken is None:
        what = "passes, as recorded" if not fingerprint else "passes, where a failure was recorded"
        return Report(f"PASS {name}: {file} {what}", (), value, 1 if fingerprint else 0)
    head, rows = broken(name, verdict)
    if now != fingerprint:
        rows.insert(0, row("replay", "another failure than the one that was recorded"))
    elif trace and trace != verdict.trace:
        rows.insert(
            0,
            row("replay", "the same failure by other answers: the store draws chance of its own"),
        )
    else:
        rows.insert(0, row("replay", "as recorded, answer by answer"))
    code = 1 if now != fingerprint else 4 if trace and trace != verdict.trace else 0
    return Report(head, rows, value, code)


def name_of(adapter: type[Adapter]) -> str:
    return adapter.__name__

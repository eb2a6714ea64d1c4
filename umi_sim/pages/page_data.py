"""The data of a page: a run, its verdict and why it failed, as plain lists and texts for the script.

Law 1. All texts have passed `escape_text`, and the script treats them as text only.
Law 2. The data has at most BYTES_MAX bytes: states are left out first, then early steps.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from umi_core.data import Data
from umi_sim.explain import difference
from umi_sim.explain.calls import in_words
from umi_sim.explain.report import instead, promise
from umi_sim.explain.why import Analysis, RunPart
from umi_sim.explain.why_page import conclude, describe_kept, describe_outcome
from umi_sim.kernel.report import ReportRow
from umi_sim.kernel.wording import cut, escape_text
from umi_sim.pages.lanes import Arrow
from umi_sim.pages.lives import STEP_COUNT_MAX, PageRun, PageStep
from umi_sim.pages.states import ROOTS
from umi_sim.record.verdict import Failure

BYTES_MAX: Final = 1_000_000
NEAREST_BEFORE_COUNT: Final = 2
NEAREST_COUNT: Final = 24
TEXT_CHARS_MAX: Final = 400

RunPage = Callable[[Sequence[str], int], PageRun]
"""Returns a run from a step on, with the states below these roots."""


class About(Data):
    """Everything on a page besides the run. `repeat`: the command that repeats it; `facts`: labels and texts.

    `unseen`: the reason why no states are shown, if they are left out.
    """

    title: str
    repeat: str
    result: str = "PASS"
    facts: tuple[tuple[str, str], ...] = ()
    needed: tuple[str, ...] = ()
    rule: str = ""
    why: Mapping[str, object] = {}
    unseen: str = "States would make this page too large: umi-sim step FILE shows them."


def page_data(about: About, run_page: RunPage, step_count: int) -> dict[str, object]:
    """Return as much as fits: the run with its states, without them, or only its last steps."""
    first = max(1, step_count - STEP_COUNT_MAX + 1)
    # The second run has no states, and thus no tables of paths
    # and texts, which are most of the data.
    for roots in (ROOTS, ()):
        data = as_data(about, run_page(roots, first))
        if size_of(data) <= BYTES_MAX:
            return data
    steps = data["steps"]
    assert isinstance(steps, list)
    # The first half of the steps is removed, because a failure is at the end.
    while len(steps) > 1 and size_of(data) > BYTES_MAX:
        del steps[: (len(steps) + 1) // 2]
    return data


def size_of(data: Mapping[str, object]) -> int:
    return len(json.dumps(data, separators=(",", ":")))


def as_data(about: About, life: PageRun) -> dict[str, object]:
    states = life.states
    return {
        "title": text(about.title), "repeat": text(about.repeat), "result": about.result,
        "facts": [[label, text(value)] for label, value in about.facts],
        "rule": about.rule, "needed": list(about.needed), "why": dict(about.why),
        "lanes": list(map(text, life.lanes)), "count": life.step_count,
        "steps": list(map(step_data, life.steps)), "base": list(map(list, life.base.changes)),
        "paths": [list(path) for path in states.paths] if states else [],
        "texts": list(states.texts) if states else [],
        "unseen": "" if states else about.unseen,
    }  # fmt: skip


def step_data(step: PageStep) -> list[object]:
    """Return number, world time, agent, reading, event, arrows, number of main changes, changes."""
    return [
        step.number, step.ms, step.agent, step.reading_ms, step.event,
        list(map(arrow_data, step.arrows)), step.delta.telling_count, list(map(list, step.delta.changes)),
    ]  # fmt: skip


def arrow_data(arrow: Arrow) -> list[object]:
    return [arrow.source, arrow.target, arrow.kind, arrow.text, arrow.event, arrow.item]


def text(value: str) -> str:
    return escape_text(cut(value, TEXT_CHARS_MAX))


# Data of a failure.


def failure_facts(failure: Failure) -> tuple[tuple[str, str], ...]:
    """Return the broken promise, and what happened instead, as labels and texts."""
    return (("promised", promise(failure)), *list_row_texts(instead(failure)))


def list_row_texts(rows: Iterable[ReportRow]) -> Iterator[tuple[str, str]]:
    yield from ((row.label, row.joint.join(row.parts)) for row in rows)


def why_data(found: Analysis, passing: PageRun | None) -> dict[str, object]:
    """Return the results of `umi-sim why`: conclusion, needed parts, shares, the nearest run that passes."""
    texts = {item.id: in_words(item) for item in found.items}
    texts |= {part.name: f"{part.name} {part.what}".strip() for part in found.options}
    parts = (*found.parts, *found.options)
    return {
        "so": text(conclude(found)), "stopped": found.stopped, "no_shares": text(found.no_shares),
        "needed": [part_data(texts, part) for part in parts if part.is_needed],
        "idle": [part_data(texts, part) for part in parts if not part.is_needed],
        "shares": shares_data(found), "from": text(found.tail_from),
        "nearest": nearest_data(found, passing),
    }  # fmt: skip


def part_data(texts: Mapping[str, str], part: RunPart) -> list[str]:
    return [text(texts[part.name]), text(describe_outcome(part))]


def shares_data(found: Analysis) -> list[list[object]]:
    """Return for each cut: kept items, failed runs, all runs, and whether the failure was decided there."""
    decided, before, rows = found.find_decisions(), 0, list[list[object]]()
    for share in found.shares:
        kept = text(describe_kept(found.items, before, share.kept))
        rows.append([kept, share.failed, share.runs, share.kept in decided])
        before = share.kept
    return rows


def nearest_data(found: Analysis, passing: PageRun | None) -> dict[str, Any] | None:
    """Return the steps of the passing run around the first difference from the failing run."""
    if found.nearest is None or found.nearest_trace is None or passing is None:
        return None
    apart = difference.apart(found.trace, found.nearest_trace, ("this run", f"without {found.nearest.name}"))
    assert apart is not None, "a run that passes is another one"
    first = max(1, apart.step - NEAREST_BEFORE_COUNT)
    steps = [step for step in passing.steps if first <= step.number < first + NEAREST_COUNT]
    return {
        "without": found.nearest.name, "step": apart.step,
        "count": passing.step_count, "steps": list(map(step_data, steps)),
    }  # fmt: skip

"""Draws the pictures of docs/ from real runs and from the code: `python tools/pictures.py`; a test compares.

They are SVG with real text, which can be searched, copied and read aloud. Dark mode shows them dark.
"""

from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Final
from unittest.mock import patch

from msgspec import structs

from umi_core.data import Data
from umi_core.messages.effects import EFFECT_NAMES
from umi_sim.explain.playback import Playback
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel.wording import cut, plural
from umi_sim.pages.lanes import Arrow
from umi_sim.pages.lives import PageRun, PageStep, play_steps
from umi_sim.record import fingerprint
from umi_sim.record.rules import RULES
from umi_sim.record.verdict import Verdict
from umi_sim.runs import runner
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import SeedFile
from umi_sim.shrink import shrink
from umi_sim.shrink.candidate import Candidate
from umi_sim.shrink.search import Reach, ShrinkSearch

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "pictures"
BUG: Final = ("retries", 25, "new-key-on-retry")  # the example of docs/understanding-a-failure.md
STYLE: Final = """
svg { font: 12px system-ui, sans-serif; background: #fff; }
text { fill: #1b1f24; } .soft { fill: #57606a; } .head { font-weight: 700; font-size: 13px; }
line, path, rect, polyline { stroke: #8b949e; fill: none; } .lane { stroke: #d0d7de; }
.ask { stroke: #0b57d0; } .answer { stroke: #5b4bb7; stroke-dasharray: 5 3; }
.fault, .fails { fill: #b3261e; }
.box { fill: #f6f8fa; } .core { fill: #ddeafc; } .judge { fill: #e3f3e6; }
.best { stroke: #b3261e; stroke-width: 2; }
.passes { fill: #8b949e; } .needed { font-weight: 700; }
@media (prefers-color-scheme: dark) {
  svg { background: #0f1318; } text { fill: #e6edf3; } .soft { fill: #9ba6b2; } .lane { stroke: #343b45; }
  .ask { stroke: #82b1ff; } .answer { stroke: #b9acff; }
  .fault, .fails { fill: #ff8f86; } .best { stroke: #ff8f86; }
  .box { fill: #171d25; } .core { fill: #14304f; } .judge { fill: #17351f; }
}
"""


def svg(width: int, height: int, title: str, parts: Iterator[str]) -> str:
    arrow = '<path d="M0 0 8 4 0 8z" style="fill:context-stroke;stroke:none"/>'
    size = 'viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"'
    marker = f'<marker id="a" {size} orient="auto">{arrow}'
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", f"<defs>{marker}</marker></defs>",
        *parts, "</svg>", "",
    ))  # fmt: skip


def text(x: int, y: int, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def line(x: int, y: int, to_x: int, to_y: int, kind: str, *, is_arrow: bool = False) -> str:
    end = ' marker-end="url(#a)"' if is_arrow else ""
    return f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" class="{kind}"{end}/>'


def box(x: int, y: int, width: int, height: int, kind: str = "box") -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{kind}"/>'


# The architecture, with counts from the code.


def architecture() -> str:
    return svg(760, 400, "How umi_core, umi_sim and the judges stand together", parts_of_all())


def parts_of_all() -> Iterator[str]:
    yield box(10, 10, 740, 300)
    yield text(24, 32, "umi_sim: a world with virtual time, one queue of events, and a seed", "head")
    yield box(30, 90, 120, 120, "box")
    yield text(90, 140, "clients", "head", "middle")
    yield text(90, 160, "what users ask", "soft", "middle")
    yield box(250, 60, 190, 190, "core")
    yield text(345, 85, "umi_core", "head", "middle")
    yield text(345, 105, "Memory.step(now_ms, value)", "", "middle")
    yield text(345, 125, "no I/O, no clock, no chance", "soft", "middle")
    yield text(345, 165, "asks by effects:", "soft", "middle")
    for number, name in enumerate(EFFECT_NAMES.values()):
        yield text(345, 185 + 17 * number, name, "", "middle")
    yield from messages()
    yield text(480, 272, "links lose, delay, repeat:", "soft")
    yield text(
        480,
        288,
        plural(fault_count("link"), "kind of fault").replace("kind of faults", "kinds of faults"),
        "fault",
    )
    yield text(250, 272, "agents crash, pause, jump in time:", "soft")
    yield text(250, 288, list_kinds("agent", "clock"), "fault")
    yield box(10, 330, 740, 60, "judge")
    yield text(24, 354, "judges", "head")
    count = sum(rule.is_checked for rule in RULES)
    yield text(
        24,
        374,
        f"the oracle from outside, invariants from inside: {count} rules over all that was said",
    )
    yield line(345, 310, 345, 330, "ask", is_arrow=True)


def messages() -> Iterator[str]:
    yield line(150, 130, 250, 130, "ask", is_arrow=True)
    yield text(200, 124, "request", "soft", "middle")
    yield line(250, 170, 150, 170, "answer", is_arrow=True)
    yield text(200, 164, "reply", "soft", "middle")
    for number, (name, group) in enumerate(
        (("model", "model"), ("embedder", "embed"), ("storage", "storage"))
    ):
        top = 60 + number * 66
        yield box(590, top, 150, 56)
        yield text(665, top + 22, name, "head", "middle")
        yield text(665, top + 42, list_kinds(group), "fault", "middle")
        yield line(440, top + 20, 590, top + 20, "ask", is_arrow=True)
        yield line(590, top + 38, 440, top + 38, "answer", is_arrow=True)
    yield text(515, 74, "question", "soft", "middle")
    yield text(515, 112, "answer", "soft", "middle")


def list_kinds(*groups: str) -> str:
    return f"{sum(map(fault_count, groups))} kinds of faults"


def fault_count(group: str) -> int:
    return sum(kind.partition("_")[0] == group for kind in KINDS)


# One run.

LANE: Final = 150
GUTTER: Final = 90
ROW: Final = 26
TOP: Final = 40


def life() -> str:
    """Draw the shrunk run of the example."""
    seed = shrunk_example()[0]
    found = play_steps(Playback(seed.config, seed.items), ())
    height = TOP + ROW * (sum(len(step.arrows) for step in found.steps) + 1) + 10
    width = GUTTER + LANE * len(found.lanes)
    title = "One life as lanes: two lost answers of storage, and a retry under a new key"
    return svg(width, height, title, rows_of(found, height, {item.id for item in seed.items}))


def rows_of(found: PageRun, height: int, needed: set[str]) -> Iterator[str]:
    for number, name in enumerate(found.lanes):
        yield text(lane(number), 22, name, "head", "middle")
        yield line(lane(number), 30, lane(number), height - 30, "lane")
    y = TOP
    for step in found.steps:
        yield from step_rows(step, y, needed)
        y += ROW * len(step.arrows)
    assert found.failure is not None
    yield text(
        GUTTER, y + 20, f"\u2716 {found.failure.rule} broke here: {found.failure.message}", "fault needed"
    )


def step_rows(step: PageStep, top: int, needed: set[str]) -> Iterator[str]:
    yield text(26, top + 18, str(step.number), "", "end")
    yield text(36, top + 18, f"{step.ms} ms", "soft")
    for number, arrow in enumerate(step.arrows):
        yield from arrow_row(arrow, top + ROW * number + 18, arrow.item in needed)


def arrow_row(arrow: Arrow, y: int, is_needed: bool) -> Iterator[str]:
    kind = "answer" if arrow.kind in ("answer", "reply") else "ask"
    look = " ".join(["fault"] * (arrow.kind == "fault") + ["needed"] * is_needed)
    if arrow.source == arrow.target:
        sign = "\u26a1 " if arrow.kind == "fault" else ""
        yield text(lane(arrow.source) - 8, y, f"{sign}{arrow.text}", look, "end")
        yield f'<circle cx="{lane(arrow.source)}" cy="{y - 4}" r="4" class="{look or "passes"}"/>'
        return
    left = min(arrow.source, arrow.target)
    yield line(lane(arrow.source), y, lane(arrow.target), y, kind, is_arrow=True)
    yield text(lane(left) + 10, y - 4, cut(arrow.text, 62), look)


def lane(number: int) -> int:
    return GUTTER + LANE * number + LANE // 2


# The progress of shrinking.

WIDTH: Final = 760
HEIGHT: Final = 320


class Tried(Data):
    """One run of shrinking: its number of items, and whether it failed in the same way."""

    size: int
    fails: bool


def shrinking() -> str:
    seed, tried = shrunk_example()
    assert seed.minimised is not None
    title = (
        f"Shrinking: {plural(seed.minimised.runs, 'run')}, from {tried[0].size} items to {len(seed.items)}"
    )
    return svg(WIDTH, HEIGHT, title, points(tried, title))


def points(tried: list[Tried], title: str) -> Iterator[str]:
    left, top, right, bottom = 60, 40, WIDTH - 20, HEIGHT - 50
    most = max(each.size for each in tried)
    across = [left + (right - left) * number // (len(tried) - 1) for number in range(len(tried))]
    down = [bottom - (bottom - top) * each.size // most for each in tried]
    yield text(left, 24, title, "head")
    yield line(left, top, left, bottom, "lane")
    yield line(left, bottom, right, bottom, "lane")
    for size in (0, most // 2, most):
        yield text(left - 8, bottom - (bottom - top) * size // most + 4, str(size), "soft", "end")
    yield text(left, bottom + 20, "run 1", "soft")
    yield text(right, bottom + 20, f"run {len(tried)}", "soft", "end")
    yield text(left, bottom + 40, "\u25cf fails in the same way: the smallest so far", "fails")
    yield text(left + 290, bottom + 40, "\u25cf passes, or fails otherwise: not followed", "soft")
    best = [f"{x},{y}" for x, y, each in zip(across, down, tried, strict=True) if each.fails]
    yield f'<polyline points="{" ".join(best)}" class="best"/>'
    for x, y, each in zip(across, down, tried, strict=True):
        yield f'<circle cx="{x}" cy="{y}" r="4" class="{"fails" if each.fails else "passes"}"/>'


@cache
def shrunk_example() -> tuple[SeedFile, list[Tried]]:
    """Return the shrunk example, and every run that shrinking took."""
    name, number, bug = BUG
    config = structs.replace(scenario.draw(scenario.find(name), number), planted=bug)
    verdict = runner.run(config)
    assert verdict.failure is not None
    mark, tried = fingerprint.of(verdict.failure), [Tried(len(verdict.items), True)]
    run = ShrinkSearch.run

    def noted(
        search: ShrinkSearch, candidate: Candidate, reach: Reach, replies: dict[str, object]
    ) -> Verdict | None:
        done = run(search, candidate, reach, replies)  # type: ignore[arg-type]  # replies, as it is typed there
        fails = done is not None and done.failure is not None and fingerprint.of(done.failure) == mark
        tried.append(Tried(len(candidate.items), fails))
        return done

    with patch.object(ShrinkSearch, "run", noted):
        return shrink(seed_file.of_verdict(verdict)), tried


PICTURES: Final[dict[str, Callable[[], str]]] = {
    "architecture.svg": architecture, "life.svg": life, "shrinking.svg": shrinking,
}  # fmt: skip


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw())


if __name__ == "__main__":
    write()

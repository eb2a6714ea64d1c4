"""The page of `why`: the conclusion, the needed items, where it was decided, the nearest run that passes."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from umi_sim.explain import difference
from umi_sim.explain.calls import HANG, ITEM_CHARS, in_words
from umi_sim.explain.report import instead, promise
from umi_sim.explain.why import Analysis, RunPart, Share
from umi_sim.kernel.report import BLANK, Line, Report, ReportRow, row, under, whole
from umi_sim.kernel.wording import cut, plural
from umi_sim.record.items import Item

BAR_CHARS: Final = 20


def page(found: Analysis, repeat: str = "") -> Report:
    """Return the whole page; `repeat` is the command that shows the failure again."""
    failure = found.failure
    head = f"WHY {failure.named} at step {failure.step}"
    return Report(
        head, chain([whole("repeat", repeat)] if repeat else [], list_lines(found)), lambda: as_json(found)
    )


def list_lines(found: Analysis) -> Iterator[Line]:
    yield row("promised", promise(found.failure))
    yield from instead(found.failure)
    yield row("so", conclude(found))
    if found.stopped:
        yield row("stopped", f"{found.stopped}: this is what was found by then")
    yield BLANK
    texts = {item.id: in_words(item) for item in found.items}
    texts |= {part.name: cut(f"{part.name} {part.what}".strip(), ITEM_CHARS) for part in found.options}
    for is_needed, label in ((True, "needed"), (False, "no part")):
        parts = [part for part in (*found.parts, *found.options) if part.is_needed is is_needed]
        yield from under(label, (table_row(texts[part.name], describe_outcome(part)) for part in parts))
    yield from list_shares(found)
    yield from describe_nearest(found)


def table_row(first: str, second: str, mark: str = "") -> ReportRow:
    # One part for each word and each blank of the padding, so that a narrow screen breaks between words and a
    # wide one shows a table.
    parts = f"{first:{ITEM_CHARS}}  ".split(" ")[:-1]
    return ReportRow("", [*parts, second, *([mark] if mark else [])], hang=HANG)


# What follows from all of it.


def conclude(found: Analysis) -> str:
    """Return one line: which item decides, or which are needed together."""
    texts = {item.id: in_words(item) for item in found.items}
    required = [part.name for part in found.parts if part.is_needed]
    # A row that keeps k items decided by the k-th; "nothing kept" (0) is no item.
    deciding = [found.items[kept - 1].id for kept in found.find_decisions() if kept]
    if decisive := [texts[name] for name in deciding if name in required]:
        is_sure = found.shares[-1].failed == found.shares[-1].runs
        then = "each run has failed" if is_sure else "the failure is likely"
        return f"{' and '.join(decisive)}: needed, and after it {then}"
    if not found.parts:
        return "nothing is known yet"
    if len(found.parts) < len(found.items):
        tried = f"{len(found.parts)} of {plural(len(found.items), 'item')}"
        return f"only {tried} left out yet; needed of these: {', '.join(required) or 'none'}"
    if not required:
        return "no item alone is needed: it has several causes, or none; umi-sim shrink FILE tells"
    if len(required) == 1:
        return f"{texts[required[0]]}: the one item that is needed"
    more = "; none of them makes the failure likely by itself" if found.shares else ""
    return f"{', '.join(required)}: needed together{more}"


def describe_outcome(part: RunPart) -> str:
    return f"without it: {part.instead}" if part.is_needed else part.instead


# Where it was decided.


def list_shares(found: Analysis) -> Iterator[ReportRow]:
    if found.no_shares:
        yield from (BLANK, row("share", f"not known: {found.no_shares}"))
    if not found.shares:
        return
    message = f"of {found.shares[0].runs} runs each that fail in the same way, if the items so far are kept"
    yield from (
        BLANK,
        row("share", f"{message} and all that follows is drawn afresh, as in {found.tail_from}"),
    )
    decided, before = found.find_decisions(), 0
    for share in found.shares:
        mark = "<- decided here" if share.kept in decided else ""
        yield table_row(describe_kept(found.items, before, share.kept), draw_bar(share), mark)
        before = share.kept


def describe_kept(items: Sequence[Item], before: int, kept: int) -> str:
    """Return which items a row of the table keeps in addition to those of the row above it."""
    if kept == 0:
        return "nothing kept"
    more = kept - before - 1
    last = in_words(items[kept - 1])
    return last if more <= 0 else cut(f"{more} more, {last}", ITEM_CHARS)


def draw_bar(share: Share) -> str:
    # Rounded to the nearest: 3 of 8 is 7.5 of 20 characters, so (20 * 3 * 2 + 8) // 16 = 8.
    length = (BAR_CHARS * share.failed * 2 + share.runs) // (2 * share.runs)
    return f"{share.failed:>4}/{share.runs} |{'#' * length:.<{BAR_CHARS}}|"


# The nearest pass.


def describe_nearest(found: Analysis) -> Iterator[Line]:
    part, other = found.nearest, found.nearest_trace
    if part is None or other is None:
        if found.parts and not found.stopped:
            yield from (BLANK, row("nearest", "no run without a single item passes"))
        return
    apart = difference.apart(found.trace, other, ("as recorded", f"without {part.name}"))
    assert apart is not None, "a run that passes is another one"
    yield from (
        BLANK,
        row("nearest", f"the run without {part.name} passes, and is like the failing one for longest"),
    )
    yield from difference.rows(apart)


# For programs.


def as_json(found: Analysis) -> dict[str, object]:
    """Return the page as plain data."""
    return {
        "rule": found.failure.rule, "id": found.failure.rule_id, "step": found.failure.step,
        "promised": promise(found.failure), "so": conclude(found),
        "parts": [part_as_json(part) for part in found.parts],
        "options": [part_as_json(part) for part in found.options],
        "shares": [{"kept": it.kept, "failed": it.failed, "runs": it.runs} for it in found.shares],
        "order": [item.id for item in found.items], "decided": found.find_decisions(),
        "nearest": found.nearest.name if found.nearest else None, "stopped": found.stopped,
    }  # fmt: skip


def part_as_json(part: RunPart) -> dict[str, object]:
    return {"name": part.name, "needed": part.is_needed, "instead": part.instead}

"""The page of `why`: what follows, what is needed, where it was decided, and the nearest run that passes."""

from collections.abc import Iterator, Sequence
from typing import Final

from umi_sim.explain import difference
from umi_sim.explain.calls import named
from umi_sim.explain.why import Found, Part, Share
from umi_sim.kernel.wording import cut, escaped, row
from umi_sim.record import trace
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op

NAME_CHARS: Final = 58
BAR_CHARS: Final = 20
LINE_CHARS_MAX: Final = 200


def page(found: Found) -> list[str]:
    """The whole page, a line each."""
    failure = found.failure
    head = cut(
        f"WHY {failure.kind} {failure.rule_told} at step {failure.step}: {failure.message}", LINE_CHARS_MAX
    )
    parts = (head, *conclusion(found), *needed(found), *shares(found), *nearest(found))
    return [escaped(line) for line in parts]


# What follows from all of it.


def conclusion(found: Found) -> Iterator[str]:
    yield row("so", verdict(found))
    if found.stopped:
        yield row("stopped", f"{found.stopped}: this is what was found by then")


def verdict(found: Found) -> str:
    """One line: which item decides, or which are needed together."""
    names = {item.id: item_told(item) for item in found.items}
    required = [names[part.name] for part in found.parts if part.is_needed]
    deciding = [found.items[kept - 1].id for kept in found.decided() if kept]
    both = [names[name] for name in deciding if names[name] in required]
    if both:
        return f"{' and '.join(both)}: needed, and after it the failure is likely"
    if not found.parts:
        return "nothing is known yet"
    if not required:
        return "no item alone is needed: it has several causes, or none; umi-sim shrink FILE tells"
    if len(required) == 1:
        return f"{required[0]}: the one item that is needed"
    ids = ", ".join(part.name for part in found.parts if part.is_needed)
    more = "; none of them makes the failure likely by itself" if found.shares else ""
    return f"{ids}: needed together{more}"


# What is needed.


def needed(found: Found) -> Iterator[str]:
    yield ""
    names = {item.id: item_told(item) for item in found.items}
    told = [(part, names[part.name]) for part in found.parts]
    told += [(part, cut(f"{part.name} {part.what}".strip(), NAME_CHARS)) for part in found.options]
    for is_needed, label in ((True, "needed"), (False, "not")):
        rows = [(name, part) for part, name in told if part.is_needed is is_needed]
        for number, (name, part) in enumerate(rows):
            yield row("" if number else label, f"{name:{NAME_CHARS}}  {instead(part)}")


def instead(part: Part) -> str:
    return f"without it: {part.instead}" if part.is_needed else part.instead


def item_told(item: Item) -> str:
    """An item in a few words."""
    match item:
        case Op():
            told = f"{item.id} {item.name} {', '.join(named(item.args))}"
        case Fault():
            told = f"{item.id} {item.fault} at {item.at}"
        case Deviation():
            told = f"{item.id} {item.take} before {item.over}"
        case ClockMove():
            told = f"{item.id} clock of {item.agent}: {item.move} {', '.join(named(item.args))}"
    return escaped(cut(told.rstrip(), NAME_CHARS))


# Where it was decided.


def shares(found: Found) -> Iterator[str]:
    if found.no_shares:
        yield from ("", row("share", f"not known: {escaped(found.no_shares)}"))
    if not found.shares:
        return
    runs = found.shares[0].runs
    yield ""
    yield row("share", f"of {runs} runs each that fail in the same way, if the items so far are kept")
    yield row("", f"and all that follows is drawn afresh, as in {found.tail_from}")
    decided = found.decided()
    before = 0
    for share in found.shares:
        mark = "   <- decided here" if share.kept in decided else ""
        yield row("", f"{kept_told(found.items, before, share.kept):{NAME_CHARS}}  {bar(share)}{mark}")
        before = share.kept


def kept_told(items: Sequence[Item], before: int, kept: int) -> str:
    """What a row keeps besides what the one above it keeps."""
    if kept == 0:
        return "nothing kept"
    more = kept - before - 1
    return (
        item_told(items[kept - 1])
        if more <= 0
        else cut(f"{more} more, {item_told(items[kept - 1])}", NAME_CHARS)
    )


def bar(share: Share) -> str:
    length = (BAR_CHARS * share.failed * 2 + share.runs) // (2 * share.runs)
    return f"{share.failed:>4}/{share.runs} |{'#' * length:{BAR_CHARS}}|"


# The nearest pass.


def nearest(found: Found) -> Iterator[str]:
    part, other = found.nearest, found.nearest_trace
    if part is None or other is None:
        if found.parts and not found.stopped:
            yield from ("", row("nearest", "no run without a single item passes"))
        return
    apart = trace.first_difference(found.trace, other)
    assert apart is not None, "a run that passes is another one"
    yield from ("", row("nearest", f"the run without {part.name} passes, and is the failing one for longest"))
    for line in difference.layout(apart, found.trace, other, ("as recorded", f"without {part.name}")):
        yield f"  {line}"


# For programs.


def as_json(found: Found) -> dict[str, object]:
    """The page as plain data."""
    return {
        "rule": found.failure.rule, "id": found.failure.rule_id, "step": found.failure.step,
        "parts": [part_as_json(part) for part in found.parts],
        "options": [part_as_json(part) for part in found.options],
        "shares": [{"kept": it.kept, "failed": it.failed, "runs": it.runs} for it in found.shares],
        "order": [item.id for item in found.items], "decided": found.decided(),
        "nearest": found.nearest.name if found.nearest else None, "stopped": found.stopped,
    }  # fmt: skip


def part_as_json(part: Part) -> dict[str, object]:
    return {"name": part.name, "needed": part.is_needed, "instead": part.instead}

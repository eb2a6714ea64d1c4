"""Totals as plain data, for other processes and for files, and back again.

Law 1. What is read back is equal to what was written. Seeds are text, so that no reader loses bits of them.
Law 2. What comes from a file is not trusted: a wrong shape is a ValueError that names the place.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

import attrs

from umi_sim.record.verdict import EXIT_CODES
from umi_sim.scenario.floors import Summary
from umi_sim.sweep.totals import COUNTS, SUMS, Apart, Found, Lost, Totals

T = TypeVar("T")
Plain = dict[str, Any]
COUNT_MAX: Final = 2**63


def to_plain(totals: Totals) -> Plain:
    """Everything as JSON can hold it, in one order."""
    return {
        **{name: getattr(totals, name) for name in SUMS},
        **{name: ordered(getattr(totals, name)) for name in (*COUNTS, "hits")},
        "sizes": {name: list(totals.sizes[name]) for name in sorted(totals.sizes)},
        "found": [as_plain(totals.found[key]) for key in sorted(totals.found)],
        "apart": [as_plain(totals.apart[key]) for key in sorted(totals.apart)],
        "lost": [as_plain(totals.lost[key]) for key in sorted(totals.lost)],
        "summaries": {name: summary_to_plain(totals.summaries[name]) for name in sorted(totals.summaries)},
    }


def as_plain(each: Found | Apart | Lost) -> Plain:
    fields = attrs.asdict(each)
    lines = {"lines": list(each.lines)} if isinstance(each, Apart) else {}
    return {**fields, **lines, "seed": str(each.seed)}


def summary_to_plain(summary: Summary) -> Plain:
    pairs = {" ".join(pair): count for pair, count in summary.pairs.items()}
    return {
        "runs": summary.runs, "operations": summary.operations, "excused": summary.excused,
        "reached": ordered(summary.reached), "fired": ordered(summary.fired), "pairs": ordered(pairs),
        "ends": {name: list(summary.ends[name]) for name in sorted(summary.ends)},
    }  # fmt: skip


def ordered(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}


# Reading.


def from_plain(given: object) -> Totals:
    """The totals in a value that came from JSON."""
    fields = table(given, "totals")
    found = [found_of(each) for each in rows(fields, "found")]
    apart = [apart_of(each) for each in rows(fields, "apart")]
    lost = [lost_of(each) for each in rows(fields, "lost")]
    sizes, summaries = table(fields.get("sizes"), "sizes"), table(fields.get("summaries"), "summaries")
    totals = Totals(
        found={each.fingerprint: each for each in found},
        apart={(each.scenario, each.seed, each.rule): each for each in apart},
        lost={(each.scenario, each.seed): each for each in lost},
        sizes={name: both(ends, whole, f"sizes.{name}") for name, ends in sizes.items()},
        summaries={name: summary_of(each, name) for name, each in summaries.items()},
    )
    for name in SUMS:
        setattr(totals, name, whole(fields.get(name), name))
    for name in (*COUNTS, "hits"):
        setattr(totals, name, counts(fields, name))
    return totals


def found_of(each: Plain) -> Found:
    scenario, kind, rule, mark, message, path, text = strings(
        each, "scenario", "kind", "rule", "fingerprint", "message", "path", "text"
    )
    known = next((name for name in EXIT_CODES if name == kind), None)
    if known is None:
        wrong("found.kind", kind)
    is_whole = each.get("is_whole") is True
    return Found(scenario, seed_in(each), known, rule, mark, message, path, text, is_whole)


def apart_of(each: Plain) -> Apart:
    scenario, rule = strings(each, "scenario", "rule")
    lines = tuple(string(line, "apart.lines") for line in listed(each.get("lines"), "apart.lines"))
    return Apart(scenario, seed_in(each), rule, lines)


def lost_of(each: Plain) -> Lost:
    scenario, why = strings(each, "scenario", "why")
    return Lost(scenario, seed_in(each), why)


def summary_of(given: object, name: str) -> Summary:
    fields = table(given, f"summaries.{name}")
    ends = table(fields.get("ends"), "ends")
    return Summary(
        **{key: whole(fields.get(key), key) for key in ("runs", "operations", "excused")},
        reached=counts(fields, "reached"),
        fired=counts(fields, "fired"),
        ends={key: both(pair, value, f"ends.{key}") for key, pair in ends.items()},
        pairs=Counter({pair_of(key): count for key, count in counts(fields, "pairs").items()}),
    )


def pair_of(key: str) -> tuple[str, str]:
    first, blank, second = key.partition(" ")
    return (first, second) if blank else wrong("pairs", key)


# Shapes.


def wrong(place: str, given: object) -> NoReturn:
    raise ValueError(f"{place}: {str(given)[:40]!r} does not belong here")


def table(given: object, place: str) -> Plain:
    return given if isinstance(given, dict) else wrong(place, given)


def listed(given: object, place: str) -> Sequence[object]:
    return given if isinstance(given, list) else wrong(place, given)


def rows(fields: Plain, name: str) -> list[Plain]:
    return [table(row, name) for row in listed(fields.get(name), name)]


def whole(given: object, place: str) -> int:
    return given if type(given) is int and 0 <= given < COUNT_MAX else wrong(place, given)


def string(given: object, place: str) -> str:
    return given if isinstance(given, str) else wrong(place, given)


def value(given: object, place: str) -> int | str:
    return given if isinstance(given, int | str) else wrong(place, given)


def strings(each: Plain, *names: str) -> list[str]:
    return [string(each.get(name), name) for name in names]


def seed_in(each: Plain) -> int:
    return seed_of(each.get("seed"))


def seed_of(given: object) -> int:
    text = string(given, "seed")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else wrong("seed", text)


def counts(fields: Plain, name: str) -> Counter[str]:
    given = table(fields.get(name), name)
    return Counter({key: whole(count, f"{name}.{key}") for key, count in given.items()})


def both(given: object, read: Callable[[object, str], T], place: str) -> tuple[T, T]:
    ends = listed(given, place)
    return (read(ends[0], place), read(ends[1], place)) if len(ends) == 2 else wrong(place, given)

"""Task segment: a conversation in parts; a line with a new name or a question begins a new part."""

from collections.abc import Iterator
from typing import Final

from umi_sim.services.model.names import name_spans
from umi_sim.services.model.prompts import Inputs, whole

PART_LINES_MIN: Final = 2
PART_LINES_MAX: Final = 30


def segment(given: Inputs) -> str:
    """Return the parts of a text, without gaps; a text of one line is one part."""
    text = given.get("text")
    lines = whole(text if isinstance(text, str) else "").split("\n")
    starts, known = [0], frozenset(names_in(lines[0]))
    for at in range(1, len(lines)):
        names, length = frozenset(names_in(lines[at])), at - starts[-1]
        is_new = length >= PART_LINES_MIN and ("?" in lines[at] or not names <= known)
        if is_new or length >= PART_LINES_MAX:
            starts.append(at)
        # Only names of the present part are known, so a name of an earlier part is new again.
        known = names if is_new else known | names
    ends = [*(start - 1 for start in starts[1:]), len(lines) - 1]
    parts = ",".join(f'{{"start":{start},"end":{end}}}' for start, end in zip(starts, ends, strict=True))
    return f'{{"segments":[{parts}]}}'


def names_in(line: str) -> Iterator[str]:
    """Return the names in a line, without that of its speaker."""
    text = line.partition("]: ")[2]
    return (name.casefold() for _, _, name in name_spans(text))

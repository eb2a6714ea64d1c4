"""Task segment: a conversation in parts, each begun by a line that asks or that names somebody new."""

from typing import Final

from umi_sim.services.model.names import name_spans
from umi_sim.services.model.prompts import Inputs, whole

PART_LINES_MAX: Final = 30


def segment(given: Inputs) -> str:
    """Parts without gaps; a text of one line is one part."""
    text = given.get("text")
    lines = whole(text if isinstance(text, str) else "").split("\n")
    starts = [0]
    for at in range(1, len(lines)):
        is_new = "?" in lines[at] and bool(name_spans(lines[at].partition("]: ")[2]))
        if is_new or at - starts[-1] >= PART_LINES_MAX:
            starts.append(at)
    ends = [*(start - 1 for start in starts[1:]), len(lines) - 1]
    parts = ",".join(f'{{"start":{start},"end":{end}}}' for start, end in zip(starts, ends, strict=True))
    return f'{{"segments":[{parts}]}}'

"""Long runs of the same few characters, written once with a count: "abcxxx..." is ["abc", ["x", 5000]]."""

import re
from typing import Any, Final

RUN_MIN: Final = 32  # shorter runs are written as they are
# One to four characters as few as possible, 32 times or more: "ababab..." is ["ab", n], "xxx..." ["x", n].
RUN: Final = re.compile(rf"(.{{1,4}}?)\1{{{RUN_MIN - 1},}}", re.DOTALL)


def runs(value: str) -> Any:
    """Return the text, or its pieces and runs if there is a long one."""
    pieces: list[Any] = []
    at = 0
    for found in RUN.finditer(value) if len(value) >= RUN_MIN else ():
        pieces += [value[at : found.start()], [found[1], len(found[0]) // len(found[1])]]
        at = found.end()
    return {"runs": [piece for piece in (*pieces, value[at:]) if piece]} if pieces else value

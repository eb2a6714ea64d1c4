"""What a limit has dropped, as a sentence for a person: of which entity, and how many lines."""

from collections.abc import Mapping
from typing import Final

from umi_core.messages.effects import Degraded

SENTENCES: Final[Mapping[str, str]] = {
    "dropped_lines": "no room for {lines} known about {name}: recall no longer finds that; older versions "
    "have it until a hundred newer ones have come",
    "dropped_history": "{lines} known about {name} left the history: no row has that any more",
    "gather:dropped_lines": "no room for {lines} about {name} from one text: not stored as facts",
    "extract:partial": "{facts} of the text not stored: of one part at most 50 are",
}
TOO_MANY: Final = "too_many"  # the reason of `extract:partial` if facts were left out, and not malformed


def sentence_of(it: Degraded, name: str = "") -> str | None:
    """Return what a limit has dropped, None if this is no such loss.

    `name`: that of the entity, if the caller knows it; else its id stands there.
    """
    step, _, what = it.name.partition(":")
    if it.name == "extract:partial" and it.reason != TOO_MANY:
        return None
    said = SENTENCES.get(it.name) or (SENTENCES.get(what) if step in ("commit", "seen") else None)
    if said is None:
        return None
    return said.format(
        lines=counted(it.count, "line"), facts=counted(it.count, "fact"), name=name or it.reason
    )


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

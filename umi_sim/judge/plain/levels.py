"""The hits of a level of a search, whether they are enough, and those that a context shows."""

import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data
from umi_core.language.times import minute_of
from umi_core.policies.ranking import union
from umi_core.rows import Category, Entity, Reflection, Resource, Row
from umi_core.text import cut, size
from umi_sim.judge.plain.blocks import every, unescape
from umi_sim.judge.plain.scores import join_scores

# These functions follow H6.18, H6.29 and H7.


KINDS: Final = {
    "categories": "category", "entities": "entity", "reflections": "reflection", "resources": "resource",
}  # fmt: skip
ALL: Final = tuple(KINDS)
SECTION: Final = r"<(\w+)>\n((?:<hit [^<>]*>[^<>]*</hit>\n)+)</\1>\n"
SHOWN: Final = r'<hit id="([^"<>]*)" score="(\d+)"(?: name="([^"<>]+)")?>([^<>]*)</hit>\n'
Shown = tuple[str, str, int, str, str]  # level, id, score, name and text of a hit in a context


class LevelRow(Data):
    """A hit of a level."""

    level: str
    id: str
    version: int
    score_ppm: int
    vector_ppm: int | None
    name: str
    text: str
    told_ms: int = 0  # when its fact became current, its text was stored, or its summary was written
    happened_ms: int | None = None
    whole: str | None = None  # the text of which this one is a part

    @property
    def shown(self) -> str:
        return f"{self.name}: {self.text}" if self.name else self.text

    @property
    def times(self) -> dict[str, str]:
        """Return when it was stored and, if known, when it happened, as in a prompt."""
        happened = {} if self.happened_ms is None else {"happened": minute_of(self.happened_ms)}
        return {"told": minute_of(self.told_ms), **happened}


def rank_level(
    level: str, by_vector: Sequence[Row], by_words: Sequence[Sequence[Row] | None], least_ppm: int
) -> list[LevelRow]:
    """Return each row once, the best first, and never both a text and its parts.

    `by_words`: a list for the query itself, and one for each of its dates; None for a failed read.
    """
    worded = join_rows([rows for rows in by_words if rows is not None], least_ppm)
    found = union(level, by_vector, worded, len(by_vector) + len(worded))
    return [seen_row(level, it.row, it.score_ppm, it.vector_ppm) for it in found]


def join_rows(lists: Sequence[Sequence[Row]], least_ppm: int) -> list[Row]:
    """Merge lists of hits by words; all lists but the first are for the query with a date."""
    rows = {(row.address.id, row.version): row for each in lists for row in each}
    newest = dict(sorted(rows))  # keeps the last version of each id
    scores = [
        {row.address.id: row.score_ppm or 0 for row in each if row.version == newest[row.address.id]}
        for each in lists
    ]
    joined = join_scores(scores, least_ppm) if scores else {}
    return [structs.replace(rows[key, newest[key]], score_ppm=ppm) for key, ppm in joined.items()]


def seen_row(level: str, row: Row, score_ppm: int, vector_ppm: int | None) -> LevelRow:
    body: Any = row.body
    fields: dict[str, Any] = {"name": "", "text": "", "version": row.version}
    fields |= {"told_ms": body.created_ms if isinstance(body, Resource) else body.updated_ms}
    if isinstance(body, Entity):
        fields |= {"name": body.name, "text": body.content, "version": body.version}
        fields |= {"happened_ms": body.event_time_ms}
    elif isinstance(body, Category):
        fields |= {"name": body.name, "text": body.summary if body.summary != "" else body.description}
    elif isinstance(body, Reflection):
        fields |= {"name": body.session_id, "text": body.text}
    elif isinstance(body, Resource):
        fields |= {"name": body.uri or "", "text": body.description or body.text, "whole": body.parent_id}
        fields |= {"happened_ms": body.happened_ms}
    return LevelRow(level, row.address.id, score_ppm=score_ppm, vector_ppm=vector_ppm, **fields)


def is_enough(found: Sequence[LevelRow], wanted: int, average_ppm: int) -> bool:
    """Return True if enough hits by vector are good enough on average."""
    best = sorted(it.vector_ppm for it in found if it.vector_ppm is not None)[-wanted:]
    # Sums are compared rather than averages, so that nothing is rounded.
    return len(best) == wanted and sum(best) >= average_ppm * wanted


def fitting_count(texts: Sequence[str], bytes_max: int) -> int:
    """Return how many of the texts, from the first on, fit; the first one is cut if necessary."""
    used, count = 0, 0
    for text in texts:
        # The first hit is always shown, if necessary cut; later ones are shown completely or not at all.
        used += size(cut(text, bytes_max) if count == 0 else text)
        if used > bytes_max:
            break
        count += 1
    return count


def expect_context(found: Sequence[LevelRow], bytes_max: int) -> list[Shown]:
    """Return the first hits whose texts fit, level by level."""
    fitting = found[: fitting_count([it.text for it in found], bytes_max)]
    first = [cut(it.text, bytes_max) for it in fitting[:1]]
    texts = [*first, *(it.text for it in fitting[1:])]
    hits = [(it.level, it.id, it.score_ppm, it.name, text) for it, text in zip(fitting, texts, strict=True)]
    return sorted(hits, key=lambda hit: ALL.index(hit[0]))


def read_context(text: str) -> list[Shown]:
    """Return the hits of a context text. Raises ValueError if it is malformed."""
    return [
        shown_hit(section[1], hit) for section in every(SECTION, text) for hit in every(SHOWN, section[2])
    ]


def shown_hit(level: str, hit: re.Match[str]) -> Shown:
    row_id, score, name, text = map(unescape, hit.groups(default=""))
    return level, row_id, int(score), name, text

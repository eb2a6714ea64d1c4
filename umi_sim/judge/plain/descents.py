"""What a level gives for a query, whether it is enough, what a context shows: as H6.18, H6.29, H7 say."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_core.rows import Category, Entity, Reflection, Resource, Row
from umi_sim.judge.plain.blocks import every, unmarked
from umi_sim.judge.plain.text import byte_count, cut

KINDS: Final = {
    "categories": "category", "entities": "entity", "reflections": "reflection", "resources": "resource",
}  # fmt: skip
ALL: Final = tuple(KINDS)
SECTION: Final = r"<(\w+)>\n((?:<hit [^<>]*>[^<>]*</hit>\n)+)</\1>\n"
SHOWN: Final = r'<hit id="([^"<>]*)" score="(\d+)"(?: name="([^"<>]+)")?>([^<>]*)</hit>\n'
Shown = tuple[str, str, int, str, str]  # level, id, score, name and text of a hit in a context


@attrs.frozen
class Seen(Data):
    """A row that a level gives."""

    level: str
    id: str
    version: int
    score_ppm: int
    vector_ppm: int | None
    name: str
    text: str
    whole: str | None = None  # the text that this one is a part of

    @property
    def shown(self) -> str:
        return f"{self.name}: {self.text}" if self.name else self.text


def found_in(level: str, by_vector: Iterable[Row], by_words: Iterable[Row]) -> list[Seen]:
    """Each row once, the best first; of a text and its parts either it or them."""
    vectors, scores, rows = dict[str, int](), dict[str, int](), dict[str, Row]()
    lists = [*by_vector], [*by_words]
    by_vector, by_words = ([it for it in each if not is_outdated(it, lists)] for each in lists)
    for row in by_vector:
        vectors[row.address.id] = max(row.score_ppm or 0, vectors.get(row.address.id, 0))
    for row in (*by_vector, *by_words):
        key, ppm = row.address.id, row.score_ppm or 0
        if key not in rows or ppm > scores[key]:
            rows[key], scores[key] = row, ppm
    found = [seen_row(level, row, scores[key], vectors.get(key)) for key, row in rows.items()]
    best = {it.whole: 0 for it in found if it.whole is not None}
    for it in found:
        if it.whole is not None:
            best[it.whole] = max(best[it.whole], it.score_ppm)
    lost = [whole for whole, ppm in best.items() if ppm >= scores.get(str(whole), -1)]
    kept = [it for it in found if it.id not in lost and (it.whole is None or it.whole in lost)]
    return sorted(kept, key=lambda it: (-it.score_ppm, it.id))


def is_outdated(row: Row, lists: Iterable[Iterable[Row]]) -> bool:
    """Whether one of these lists has it as it was later."""
    return any(it.address == row.address and it.version > row.version for each in lists for it in each)


def seen_row(level: str, row: Row, score_ppm: int, vector_ppm: int | None) -> Seen:
    body: Any = row.body
    fields: dict[str, Any] = {"name": "", "text": "", "version": row.version}
    if isinstance(body, Entity):
        fields = {"name": body.name, "text": body.content, "version": body.version}
    elif isinstance(body, Category):
        fields |= {"name": body.name, "text": body.summary if body.summary != "" else body.description}
    elif isinstance(body, Reflection):
        fields |= {"name": body.session_id, "text": body.text}
    elif isinstance(body, Resource):
        fields |= {"name": body.uri or "", "text": body.description or body.text, "whole": body.parent_id}
    return Seen(level, row.address.id, score_ppm=score_ppm, vector_ppm=vector_ppm, **fields)


def is_enough(found: Sequence[Seen], wanted: int, average_ppm: int) -> bool:
    """Enough good ones by vector, and good enough on average."""
    best = sorted(it.vector_ppm for it in found if it.vector_ppm is not None)[-wanted:]
    return len(best) == wanted and sum(best) >= average_ppm * wanted


def fitting_count(texts: Sequence[str], bytes_max: int) -> int:
    """How many of the texts, from the first on, a context has room for: the first is cut if it must be."""
    used, count = 0, 0
    for text in texts:
        used += byte_count(cut(text, bytes_max) if count == 0 else text)
        if used > bytes_max:
            break
        count += 1
    return count


def due_in_context(found: Sequence[Seen], bytes_max: int) -> list[Shown]:
    """The first hits whose texts fit, level by level."""
    fitting = found[: fitting_count([it.text for it in found], bytes_max)]
    first = [cut(it.text, bytes_max) for it in fitting[:1]]
    texts = [*first, *(it.text for it in fitting[1:])]
    hits = [(it.level, it.id, it.score_ppm, it.name, text) for it, text in zip(fitting, texts, strict=True)]
    return sorted(hits, key=lambda hit: ALL.index(hit[0]))


def read_context(text: str) -> list[Shown]:
    """The hits of a context text. Raises ValueError for what is none."""
    return [
        shown_hit(section[1], hit) for section in every(SECTION, text) for hit in every(SHOWN, section[2])
    ]


def shown_hit(level: str, hit: re.Match[str]) -> Shown:
    row_id, score, name, text = map(unmarked, hit.groups(default=""))
    return level, row_id, int(score), name, text

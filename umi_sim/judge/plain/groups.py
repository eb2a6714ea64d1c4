"""Groups of the members of a category, their keywords and names, as section 8 of docs/spec/hierarchy.md says.

Law 1. Written a second time and slowly: every pair is looked at again in every round.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.judge.plain.rewrites import clean_line
from umi_sim.judge.plain.scores import vector_ppm
from umi_sim.judge.plain.text import (
    STOP_WORDS,
    byte_count,
    composed,
    cut,
    folded,
    kind_of,
    made_whole,
    without_later,
)

LARGEST: Final = 127
KEYWORDS: Final = 10
NAME_BYTES: Final = 40
NEW: Final = 100
REPLY_BYTES: Final = 50_000
COMMON: Final = (
    "the a an is are was were be been being have has had do does did will would could should may might "
    "must shall can need dare ought used to of in for on with at by from as into through during before after "
    "above below between under again further then once here there when where why how all each few more most "
    "other some such no nor not only own same so than too very just also now i you he she it we they what "
    "which this that these those am and but if or because until while although though"
).split()
TECHNICAL: Final = (
    "python javascript typescript rust go java api database sql nosql redis postgres docker kubernetes aws "
    "gcp azure terraform git github gitlab ci cd pipeline test testing pytest unittest mock async await "
    "concurrent parallel thread cache memory performance optimization security authentication authorization "
    "oauth frontend backend fullstack microservice react vue angular fastapi django flask"
).split()

Vector = tuple[int, ...]


# Who takes part.


def still_used(members: Mapping[str, tuple[int, str | None]], unused_ms: int) -> list[str]:
    """`members`: when each was used last, and its group; one that is used speaks for all of its group."""
    alive = [group for last_ms, group in members.values() if group and last_ms > unused_ms]
    return [key for key, (last_ms, group) in members.items() if last_ms > unused_ms or group in alive]


# Keywords and names.


def telling_words(text: str) -> list[str]:
    """The words that may be keywords, as they come."""
    folded_text = composed(without_later(text)).casefold()
    return [word for word in "".join(map(in_word, folded_text)).split() if is_telling(word)]


def in_word(char: str) -> str:
    """A blank for what stands in no word."""
    kind = kind_of(char)
    return char if char == "_" or kind == "Nd" or kind[0] in "LM" else " "


def is_telling(word: str) -> bool:
    if kind_of(word[0]) == "Nd" or word in COMMON or word in STOP_WORDS:
        return False
    if re.fullmatch("_+", word):
        return False
    return word in TECHNICAL or len(word) > (2 if word.isascii() else 1)


def keywords_of(texts: Sequence[str]) -> tuple[str, ...]:
    found = [word for text in texts for word in telling_words(text)]
    ranked = sorted(
        dict.fromkeys(found), key=lambda it: (-found.count(it) * (2 if it in TECHNICAL else 1), it)
    )
    return tuple(ranked[:KEYWORDS])


def read_name(reply: str) -> str | None:
    """None if the reply has none."""
    text = made_whole(reply)
    if byte_count(text) > REPLY_BYTES:
        return None
    return cut("_".join(telling_words(clean_line(text))), NAME_BYTES) or None


def name_without_model(keywords: Sequence[str], founder_id: str) -> str:
    return cut("_".join(keywords[:3]), NAME_BYTES) or "group_" + founder_id[-8:]


def name_not_taken(wanted: str, others: Sequence[str]) -> str:
    """With the first number that makes it another name than these."""
    known, name, n = [folded(other) for other in others], wanted, 0
    while folded(name) in known:
        n += 1
        name = f"{wanted}-{n}"
    return name


# Groups.


@attrs.frozen
class Old(Data):
    """A group that was there: since when, its centroid, and who was in it."""

    id: str
    created_ms: int
    centroid: Vector
    members: tuple[str, ...]


@attrs.frozen
class Found(Data):
    """A group as it must be; `old`: the one that it goes on."""

    old: Old | None
    members: tuple[str, ...]

    def order(self) -> tuple[int, int, int, str]:
        """Larger ones first, then those that were there, then older ones, then by id."""
        old = self.old
        return (
            -len(self.members),
            old is None,
            old.created_ms if old else 0,
            old.id if old else self.members[0],
        )


@attrs.frozen
class Rules(Data):
    near_ppm: int
    merge_ppm: int
    size_min: int
    count_max: int


def groups_of(
    vectors: Mapping[str, Vector], old: Sequence[Old], rules: Rules, *, afresh: bool
) -> list[Found]:
    """The largest first."""
    ids, homes = sorted(vectors), dict[str, list[str]]()
    for key in ids:
        near = [(vector_ppm(vectors[key], it.centroid), it.id) for it in (() if afresh else old)]
        near = [it for it in near if it[0] >= rules.near_ppm]
        if near:
            best = max(ppm for ppm, _ in near)
            homes.setdefault(min(own for ppm, own in near if ppm == best), []).append(key)
    found = [Found(it, tuple(homes[it.id])) for it in old if it.id in homes]
    housed = [key for members in homes.values() for key in members]
    found += new_groups({key: vectors[key] for key in ids if key not in housed}, rules)
    while (after := one_round(found, vectors, rules)) != found:
        found = after
    found = sorted(found, key=Found.order)[: rules.count_max]
    return heirs(found, old) if afresh else found


def new_groups(vectors: Mapping[str, Vector], rules: Rules) -> list[Found]:
    left, found = dict(vectors), list[Found]()
    while left and len(found) < NEW:
        near = {
            key: tuple(it for it in left if vector_ppm(left[key], left[it]) >= rules.near_ppm) for key in left
        }
        most = max(map(len, near.values()))
        if most < rules.size_min:
            break
        middle = min(key for key, it in near.items() if len(it) == most)
        found.append(Found(None, near[middle]))
        left = {key: it for key, it in left.items() if key not in near[middle]}
    return found


def one_round(found: Sequence[Found], vectors: Mapping[str, Vector], rules: Rules) -> list[Found]:
    """Merge, settle, dissolve, once; in an order that says nothing."""
    groups = sorted(found, key=Found.order)
    while (pair := nearest_pair(groups, vectors, rules.merge_ppm)) is not None:
        first, second = pair
        groups = [it for it in groups if it not in pair]
        groups.append(Found(first.old or second.old, tuple(sorted(first.members + second.members))))
        groups.sort(key=Found.order)
    groups = [without_stranger(it, vectors, rules.near_ppm) for it in groups]
    return sorted((it for it in groups if len(it.members) >= rules.size_min), key=Found.order)


def nearest_pair(
    groups: Sequence[Found], vectors: Mapping[str, Vector], floor_ppm: int
) -> tuple[Found, Found] | None:
    """Of groups in their order."""
    centres = [centre_of(it.members, vectors) for it in groups]
    best: tuple[int, tuple[Found, Found]] | None = None
    for at, one in enumerate(groups):
        for to in range(at + 1, len(groups)):
            ppm = vector_ppm(centres[at], centres[to])
            if ppm >= floor_ppm and (best is None or ppm > best[0]):
                best = ppm, (one, groups[to])
    return best[1] if best else None


def without_stranger(group: Found, vectors: Mapping[str, Vector], floor_ppm: int) -> Found:
    centre = centre_of(group.members, vectors)
    ppm = {key: vector_ppm(vectors[key], centre) for key in group.members}
    least = min(ppm.values())
    if least >= floor_ppm:
        return group
    stranger = min(key for key in ppm if ppm[key] == least)
    return Found(group.old, tuple(key for key in group.members if key != stranger))


def centre_of(members: Sequence[str], vectors: Mapping[str, Vector]) -> Vector:
    """The sum; if it is too long for a vector, as much smaller as it must be, towards zero."""
    total = [0] * len(vectors[members[0]])
    for key in members:
        total = [a + b for a, b in zip(total, vectors[key], strict=True)]
    most = max(abs(it) for it in total)
    if most <= LARGEST:
        return tuple(total)
    return tuple(it * LARGEST // most if it >= 0 else -(-it * LARGEST // most) for it in total)


def heirs(found: Sequence[Found], old: Sequence[Old]) -> list[Found]:
    """Each old group goes on in the one group that has most of its members; of equal claims the older's."""
    claims = [
        (-len([key for key in it.members if key in group.members]), group.created_ms, group.id, it.members)
        for it in found
        for group in old
    ]
    by_id, given = {it.id: it for it in old}, dict[tuple[str, ...], str]()
    for shared, _, own, members in sorted(claims):
        if shared and members not in given and own not in given.values():
            given[members] = own
    return [attrs.evolve(it, old=by_id[given[it.members]] if it.members in given else None) for it in found]

"""Who leaves a core that lacks room, as M8 has it, and how much room there is with some of them gone."""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from umi_core.data import Data

STAYS: Final = "persona"  # the block of self


@attrs.frozen
class Seat(Data):
    """An entry of core: who, in which block, worth how much, of how many bytes."""

    key: str
    block: str
    score_ppm: int
    size_bytes: int


@attrs.frozen
class Lack(Data):
    """How much of each limit is lacking; less than nothing is room to spare."""

    size_bytes: int
    count: int
    by_block: Mapping[str, int]

    def is_gone(self, gone: Sequence[Seat]) -> bool:
        """Whether nothing is lacking once these have left."""
        freed = sum(it.size_bytes for it in gone)
        in_block = {block: sum(it.size_bytes for it in gone if it.block == block) for block in self.by_block}
        fits = all(lack <= in_block[block] for block, lack in self.by_block.items())
        return fits and self.size_bytes <= freed and self.count <= len(gone)


def leaving(seats: Sequence[Seat], lack: Lack) -> list[str] | None:
    """The weakest as far as they are enough, without each better one that is not needed; None if all are too
    few."""
    weakest = sorted((it for it in seats if it.block != STAYS), key=lambda it: (it.score_ppm, it.key))
    enough = (weakest[:count] for count in range(len(weakest) + 1) if lack.is_gone(weakest[:count]))
    gone = next(enough, None)
    if gone is None:
        return None
    for seat in gone[::-1]:
        others = [it for it in gone if it is not seat]
        gone = others if lack.is_gone(others) else gone
    return [it.key for it in gone]

"""Dice: which kinds of faults strike which events. The same event has the same luck whatever else happens.

A kind is active at a site or not, once per run; at an active site each event decides by its own name. A world
with faults everywhere has them at every site: only there do several meet in one operation often.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from umi_sim.faults.kinds import KINDS, Kind
from umi_sim.faults.luck import Luck
from umi_sim.kernel.prng import Keyed, Ratio, stream_key

ACTIVE_SITES: Final = 4  # a kind is active at one site in so many

Active = tuple[str, Keyed, int, int]  # a kind, its luck at a site, its rate


class Dice:
    def __init__(self, seed: int, rates: Mapping[str, Ratio], *, is_everywhere: bool = False) -> None:
        self._seed = seed
        self._is_everywhere = is_everywhere
        self._rates = {name: rates[name] for name in KINDS if name in rates}
        self._at_site: dict[tuple[str, str], tuple[Active, ...]] = {}

    def struck(self, verb: str, site: str, data: str) -> str | None:
        """The first kind of the registry that strikes the event `data` at this site, or None."""
        kinds_here = self._at_site.get((verb, site))
        if kinds_here is None:
            kinds_here = self._at_site[(verb, site)] = tuple(self._active(verb, site))
        for name, keyed, n, d in kinds_here:
            if keyed.draw(data) * d < n << 64:
                return name
        return None

    def _active(self, verb: str, site: str) -> Iterator[Active]:
        for name, (n, d) in self._rates.items():
            kind = KINDS[name]
            if kind.is_at(verb) and self._is_active(kind, site):
                yield name, Keyed(stream_key(self._seed, ("fault", name, site))), n, d

    def _is_active(self, kind: Kind, site: str) -> bool:
        if self._is_everywhere or kind.place.has_one_site:
            return True
        return Keyed(stream_key(self._seed, ("site", kind.name))).draw(site) % ACTIVE_SITES == 0

    def luck(self, name: str, site: str, data: str) -> Luck:
        """What is drawn for a kind that strikes this event."""
        keyed = Keyed(stream_key(self._seed, ("fault", name, site)))
        return lambda label, n: keyed.draw(f"{data}/{label}") * n >> 64

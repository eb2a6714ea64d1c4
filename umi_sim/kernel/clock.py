"""The virtual clock of one agent: its reading at a world time, and the moves that make it wrong.

Law 1. reading = base + (world - base_world) * num // den, at most READING_MS_MAX. Reading has no side effect.
Law 2. Every move first sets the base to the present reading, so the clock changes by the move alone.
Law 3. Between moves readings never decrease.
Law 4. `missed_ms` is the time that a frozen clock did not show; a thaw that catches up adds it.
"""

from typing import Final

from umi_core.data import Mutable

READING_MS_MAX: Final = 2**53 - 1
RATE_FACTOR_MAX: Final = 2


class SimClock(Mutable):
    """One agent's clock as a function of world time. Plain data; callers never pass an earlier world time."""

    base_ms: int
    base_world_ms: int
    num: int = 1
    den: int = 1
    is_frozen: bool = False
    missed_ms: int = 0

    @classmethod
    def start(cls, world_ms: int, skew_ms: int = 0) -> "SimClock":
        """Return a clock at rate 1/1 that is ahead of world time by `skew_ms`."""
        return cls(clip_reading(world_ms + skew_ms), world_ms)

    def reading(self, world_ms: int) -> int:
        """Return what the agent's clock shows at this world time."""
        assert world_ms >= self.base_world_ms
        if self.is_frozen:
            return self.base_ms
        reading_ms = self.base_ms + (world_ms - self.base_world_ms) * self.num // self.den
        return reading_ms if reading_ms <= READING_MS_MAX else READING_MS_MAX

    def world_at(self, reading_ms: int, world_ms: int) -> int | None:
        """Return the first world time from `world_ms` on with this reading or more; None if never."""
        if self.reading(world_ms) >= reading_ms:
            return world_ms
        if self.is_frozen or reading_ms > READING_MS_MAX:
            return None
        # At rate 2/1 with 5 ms missing, 2 ms of world time give 4 and 3 ms give 6, so 3 are needed.
        missing_ms = reading_ms - self.base_ms
        return self.base_world_ms - (-missing_ms * self.den // self.num)  # -(-a // b) rounds up

    def jump(self, world_ms: int, by_ms: int) -> None:
        """Change the reading by this much."""
        self._rebase(world_ms)
        self.base_ms = clip_reading(self.base_ms + by_ms)

    def drift(self, world_ms: int, num: int, den: int) -> None:
        """Let the clock run at num/den from now on, between half and double speed."""
        assert 1 <= num <= RATE_FACTOR_MAX * den
        assert 1 <= den <= RATE_FACTOR_MAX * num
        self._rebase(world_ms)
        self.num, self.den = num, den

    def freeze(self, world_ms: int) -> None:
        """Stop the clock until a thaw; freezing a frozen clock changes nothing."""
        self._rebase(world_ms)
        self.is_frozen = True

    def thaw(self, world_ms: int, catch_up: bool) -> None:
        """Let the clock run on from its reading, or let it catch up on the time that it missed."""
        self._rebase(world_ms)
        if catch_up:
            self.base_ms = clip_reading(self.base_ms + self.missed_ms)
        self.is_frozen, self.missed_ms = False, 0

    def land(self, world_ms: int, to_ms: int, forward_ms_max: int) -> bool:
        """Set the reading to `to_ms`; return False, without a change, if that is back or too far ahead."""
        forward_ms = to_ms - self.reading(world_ms)
        if not 0 <= forward_ms <= forward_ms_max or to_ms > READING_MS_MAX:
            return False
        self.jump(world_ms, forward_ms)
        return True

    def heal(self, world_ms: int) -> None:
        """Let the clock run at rate 1/1 from its present reading."""
        self.thaw(world_ms, catch_up=False)
        self.drift(world_ms, 1, 1)

    def _rebase(self, world_ms: int) -> None:
        reading_ms = self.reading(world_ms)
        # Missed at the present rate; a drift during the freeze changes only what is missed after it.
        if self.is_frozen:
            self.missed_ms += (world_ms - self.base_world_ms) * self.num // self.den
        self.base_ms, self.base_world_ms = reading_ms, world_ms


def clip_reading(reading_ms: int) -> int:
    """Return the nearest reading a clock can show."""
    return min(max(reading_ms, 0), READING_MS_MAX)

"""A migrator as a target: an agent whose rows move from an old server's store to main, kind by kind."""

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from umi_core.engine.registry import Registry
from umi_core.messages.answers import Value
from umi_core.messages.effects import MAIN, Asked, Done, Effect, Reply
from umi_core.messages.requests import REQUESTS
from umi_core.migration.migrator import LEGACY, Migrator
from umi_core.migration.rows import PHASES
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.machines.fence import EVERYTHING, Fence
from umi_sim.machines.protocol import InitialStorage, Origin, Target
from umi_sim.record.run_config import RunConfig
from umi_sim.services.calls import Services
from umi_sim.services.legacy import WithLegacy

STARTS: Final = ("find", "raise", "read_outbox")
"""The steps in which a migrator reads the phase."""


class MigratingMachine(Migrator):
    """A migrator with the interface of a machine."""

    marks: tuple[str, ...] = ()

    def step(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        effects = super().step(now_ms, value)
        outcomes = [it.outcome for it in effects if isinstance(it, Reply)]
        phases = [it.value for it in outcomes if isinstance(it, Done) and it.value in PHASES]
        self.marks = tuple(f"phase: {phase}" for phase in phases)
        return effects

    @property
    def is_recovering(self) -> bool:
        return any(it.sent is not None and it.sent.step in STARTS for it in self.tracks.values())

    @property
    def is_committing(self) -> bool:
        return any(it.sent is not None and bool(it.sent.ask.writes) for it in self.tracks.values())

    @property
    def is_working(self) -> bool:
        return self.busy_count() > 0

    def running(self) -> Iterator[str]:
        return (it.kind for it in self.tracks.values() if it.request is not None)

    def awaits(self, request_id: int, reading_ms: int) -> bool:
        # Its time never goes back: after a jump back of the clock, the latest reading still counts.
        now_ms = max(reading_ms, self.seen_ms)
        all_sent = (it.sent for it in self.tracks.values() if it.sent is not None)
        return any(it.effect.request_id == request_id and it.due_ms > now_ms for it in all_sent)

    def origin_of(self, effect: Asked) -> Origin:
        # By identity, because two tracks may send equal effects.
        track = next(it for it in self.tracks.values() if it.sent is not None and it.sent.effect is effect)
        assert track.request is not None
        assert track.sent is not None
        return Origin(str(track.request.op_id), track.kind, effect.request_id, track.sent.step)

    def digest(self) -> bytes:
        """Return a digest of its knowledge of phases; the rest follows from inputs, which the trace has."""
        known = [
            f"{it.kind} {it.machine.phase} {it.machine.fence} {sorted(it.machine.pending)}"
            f" {sorted(it.machine.doubt)} {it.machine.job}"
            for it in self.tracks.values()
        ]
        return blake2b("\n".join(known).encode(errors="surrogatepass"), digest_size=8).digest()

    def make_copy(self) -> None:
        """Return None: a migrator is never saved; a new one starts from storage."""
        return


class MigrationTarget(Target):
    """Migrators between a main store and an old one."""

    requests = tuple(name for name, cls in REQUESTS.items() if cls.served_by == "migrator")
    fence = Fence(EVERYTHING, blames=("umi_core",), renames=("umi_core",))

    def __init__(self, config: RunConfig, registry: Registry = BUILT_IN) -> None:
        self.config = config
        self.lives: Counter[str] = Counter()

    def services(self) -> Services:
        config = self.config
        return WithLegacy({}, config.capacity_bytes, config.loss_max, (MAIN, LEGACY), config.page_rows)

    def begin(self, agent: str, scope: Scope, stored: InitialStorage) -> MigratingMachine:
        self.lives[agent] += 1
        # The keys of its batches contain this number, so that it can tell them from older ones.
        return MigratingMachine(scope, self.lives[agent])

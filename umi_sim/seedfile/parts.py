"""The parts of a seed file, as values."""

from collections.abc import Mapping
from typing import Annotated, Any

from umi_core.data import Data
from umi_sim.formats.schema import HEX, list_of, map_of, of, one_of, whole
from umi_sim.record.items import ITEM_KINDS, Item, ItemId, RecordedReply
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Failure

Json = Any
Digest = Annotated[str, HEX]
Counts = Annotated[Mapping[str, int], map_of(ITEM_KINDS, "kind of item", whole())]


class BadSeedFile(ValueError):
    """The file is no seed file, or the run is too large for one; the message is one line."""


class ExpectedResult(Data):
    """The expected result of a replay: `result` is fail or pass; the hashes are right for unchanged items."""

    result: Annotated[str, one_of(("fail", "pass"), "result")]
    trace: Digest = ""
    every: Annotated[int, whole(1)] = 16  # steps from one hash of `prefix` to the next
    prefix: Annotated[tuple[bytes, ...], list_of(of(bytes), 1_000)] = ()
    steps: int = 0
    state: Digest = ""
    marks: tuple[str, ...] = ()


class History(Data):
    """The history of a failure since it was first seen, written by hand or by commands.

    `passes`: successive replays that found no failure, for a file that is not kept permanently.
    """

    hits: int = 1
    first_seed: str = ""
    fixed_in: str = ""
    ticket: str = ""
    notes: str = ""
    passes: int = 0


class Minimised(Data):
    """The result of shrinking: runs used, items of each kind before and after, ids of needed items.

    `stopped`: why shrinking ended: at a fixpoint, or because this budget was used up.
    """

    runs: int
    before: Counts
    after: Counts
    one_minimal: bool
    needed: tuple[ItemId, ...] = ()
    stopped: str = "fixpoint"


class SeedFile(Data):
    """One run to replay. `extra`: the top-level keys that this reader does not know.

    `minimised`: present if the run was shrunk. Then `original` has its items before shrinking, and
    `original_config` its configuration.
    """

    config: RunConfig
    items: tuple[Item, ...]
    expect: ExpectedResult
    failure: Failure | None = None
    fingerprint: str = ""
    before: str = ""
    after: str = ""
    made_by: Mapping[str, object] = {}
    repro: str = ""
    minimised: Minimised | None = None
    original: tuple[Item, ...] = ()
    original_config: RunConfig | None = None
    history: History = History()
    model: tuple[RecordedReply, ...] = ()
    extra: Mapping[str, Json] = {}
    is_edited: bool = False

    @property
    def is_bare(self) -> bool:
        """Return True if its run was ended by force: then it has configuration and seed, but no items."""
        return self.failure is not None and self.failure.kind == "timeout" and not self.items

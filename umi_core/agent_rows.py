"""The row of an agent: its last life, and whether it is open."""

import attrs

from umi_core.body import Body
from umi_core.data import Data
from umi_core.domains import Count, EventTime, Flag


@attrs.frozen
class Epoch(Body, Data):
    """One life of a memory; the version of its row is the epoch.

    `is_closed`: the agent was deleted, and not opened since. `held_by`: the epoch that the life which wrote
    this had before, and may still have if nobody told it; 0: a life that begins.
    """

    tag = 13
    row_kind = "epoch"
    added = (2,)
    claimed_ms: EventTime
    is_closed: Flag = False
    held_by: Count = 0

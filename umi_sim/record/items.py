"""Items: the record of a run, and all that a replay needs. Their ids never change, through shrinking too."""

from collections.abc import Mapping

import attrs

from umi_core.data import Data

Args = Mapping[str, object]


@attrs.frozen
class Op(Data):
    """A request as it was made: `name` is one of REQUESTS, `args` its fields but op_id."""

    id: str
    at_ms: int
    agent: str
    name: str
    args: Args


@attrs.frozen
class Fault(Data):
    """A fault bound to a named event, with everything that was drawn for it."""

    id: str
    fault: str
    at: str
    args: Args


@attrs.frozen
class Deviation(Data):
    """When fifo would deliver `over` and `take` is ready too, deliver `take`."""

    id: str
    take: str
    over: str


@attrs.frozen
class ClockMove(Data):
    """A move of an agent's clock: jump (by_ms), drift (num, den), freeze, thaw (catch_up), land (to_ms)."""

    id: str
    at_ms: int
    agent: str
    move: str
    args: Args


Item = Op | Fault | Deviation | ClockMove
ITEM_KINDS = {"op": Op, "fault": Fault, "schedule": Deviation, "clock": ClockMove}

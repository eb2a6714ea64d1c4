"""Items: the record from which a run is replayed. An item keeps its id, even when the run is shrunk.

Answers of the model are recorded too, so that a seed file stays valid when prompts or SimLLM change.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from umi_core.data import Data
from umi_core.messages.requests import REQUESTS
from umi_sim.formats.schema import OBJECT, one_of, text, whole

TIME_MS_MAX: Final = 2**53 - 1
EVENT_CHARS_MAX: Final = 256

Args = Annotated[Mapping[str, object], OBJECT]
ItemId = Annotated[str, text("[a-z][0-9]{1,6}", "a letter and at most 6 digits")]
TimeMs = Annotated[int, whole(0, TIME_MS_MAX)]
AgentName = Annotated[str, text("[a-z][a-z0-9_]{0,15}", "the name of an agent")]
EventName = Annotated[str, text(rf"(?s).{{1,{EVENT_CHARS_MAX}}}", f"1 to {EVENT_CHARS_MAX} characters")]
ASK_COUNT_MAX: Final = 64  # a run that asks the model more often records no answers
MOVES: Final = ("jump", "drift", "freeze", "thaw", "land")


class Op(Data):
    """A request: `name` is a key of REQUESTS, `args` has all fields but `op_id`."""

    id: ItemId
    at_ms: TimeMs
    agent: AgentName
    name: Annotated[str, one_of(REQUESTS, "request")]
    args: Args


class Fault(Data):
    """A fault bound to a named event, with all arguments that were drawn for it."""

    id: ItemId
    fault: str
    at: EventName
    args: Args


class Deviation(Data):
    """A change of order: fifo would deliver `over`; `take`, which is ready too, is delivered instead."""

    id: ItemId
    take: EventName
    over: EventName


class ClockMove(Data):
    """A move of an agent's clock: jump (by_ms), drift (num, den), freeze, thaw (catch_up), land (to_ms)."""

    id: ItemId
    at_ms: TimeMs
    agent: AgentName
    move: Annotated[str, one_of(MOVES, "move")]
    args: Args


Item = Op | Fault | Deviation | ClockMove
ITEM_KINDS: dict[str, type[Item]] = {"op": Op, "fault": Fault, "schedule": Deviation, "clock": ClockMove}


class RecordedReply(Data):
    """One answer of the model: the event that it answers, its task, the digest of the prompt, the text."""

    at: EventName
    task: Annotated[str, text("[a-z_]{1,60}", "the name of a task")]
    prompt: Annotated[str, text("[0-9a-f]{16}", "16 hex digits")]
    text: str

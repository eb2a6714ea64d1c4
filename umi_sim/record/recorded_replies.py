"""What the model said in a run, kept so that a seed file outlives changes of prompts and of SimLLM."""

from typing import Annotated, Final

from umi_core.data import Data
from umi_sim.formats.schema import text
from umi_sim.record.items import EventName

ASK_COUNT_MAX: Final = 64  # of a run that asks more often none are kept


class RecordedReply(Data):
    """One answer of the model: to which event, for which task, the digest of the prompt in hex, the text."""

    at: EventName
    task: Annotated[str, text("[a-z_]{1,60}", "the name of a task")]
    prompt: Annotated[str, text("[0-9a-f]{16}", "16 hex digits")]
    text: str

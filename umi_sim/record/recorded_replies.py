"""What the model said in a run, kept so that a seed file outlives changes of prompts and of SimLLM."""

from typing import Final

import attrs

from umi_core.data import Data

ASK_COUNT_MAX: Final = 64  # of a run that asks more often none are kept


@attrs.frozen
class Said(Data):
    """One answer of the model: to which event, for which task, the digest of the prompt in hex, the text."""

    at: str
    task: str
    prompt: str
    text: str

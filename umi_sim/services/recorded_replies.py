"""What the model said in a run, kept so that a seed file outlives changes of prompts and of SimLLM.

Law 1. Kept is the truthful text, before any fault edits it: the faults of a record edit it again.
Law 2. One entry for each event; a question that arrives twice is answered alike.
Law 3. Where a record is given, its text is used if event and task agree. Otherwise the truth is told.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.messages.effects import AskModel
from umi_sim.services.model import truth

ASK_COUNT_MAX: Final = 64
PROMPT_DIGEST_BYTES: Final = 8


@attrs.frozen
class Said(Data):
    """One answer of the model: to which event, for which task, the digest of the prompt in hex, the text."""

    at: str
    task: str
    prompt: str
    text: str


class Sayings:
    """The answers of one run; `recorded` are those it should give again."""

    def __init__(self, recorded: Iterable[Said] = ()) -> None:
        self.changed: dict[str, None] = {}  # events whose prompt is not the one that was recorded
        self._recorded = {(said.at, said.task): said for said in recorded}
        self._kept: dict[str, Said] = {}

    def answer(self, event: str, effect: AskModel) -> str:
        """The text that answers this effect."""
        recorded = self._recorded.get((event, effect.task))
        text = recorded.text if recorded else truth(effect.task, effect.prompt)
        if recorded and recorded.prompt != prompt_digest(effect.prompt):
            self.changed[event] = None
        if event not in self._kept and len(self._kept) <= ASK_COUNT_MAX:
            self._kept[event] = Said(event, effect.task, prompt_digest(effect.prompt), text)
        return text

    def kept(self) -> tuple[Said, ...]:
        """All answers, in order; none of a run that asked too often to keep them."""
        return tuple(self._kept.values()) if len(self._kept) <= ASK_COUNT_MAX else ()


def prompt_digest(prompt: str) -> str:
    digest = blake2b(prompt.encode(errors="surrogatepass"), digest_size=PROMPT_DIGEST_BYTES)
    return digest.hexdigest()

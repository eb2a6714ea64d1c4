"""The model's answers in a run: from a record if it has one for the event, otherwise from SimLLM.

Law 1. Answers are recorded as they were before a fault edited them; in a replay the faults edit them again.
Law 2. There is one entry for each event; a question that arrives twice gets the same answer.
Law 3. A recorded text is used if event and task agree. Otherwise SimLLM answers.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from umi_core.messages.effects import AskModel
from umi_sim.record.items import ASK_COUNT_MAX, RecordedReply
from umi_sim.services.model import truth

PROMPT_DIGEST_BYTES: Final = 8


class Sayings:
    """The answers of one run. `recorded`: answers to give again."""

    def __init__(self, recorded: Iterable[RecordedReply] = ()) -> None:
        self.changed: dict[str, None] = {}  # events whose prompt differs from the recorded one
        self._recorded = {(reply.at, reply.task): reply for reply in recorded}
        self._replies: dict[str, RecordedReply] = {}

    def answer(self, event: str, effect: AskModel) -> str:
        """Return the text that answers this effect."""
        recorded = self._recorded.get((event, effect.task))
        text = recorded.text if recorded else truth(effect.task, effect.prompt)
        if recorded and recorded.prompt != prompt_digest(effect.prompt):
            self.changed[event] = None
        if event not in self._replies and len(self._replies) <= ASK_COUNT_MAX:
            self._replies[event] = RecordedReply(event, effect.task, prompt_digest(effect.prompt), text)
        return text

    def list_replies(self) -> tuple[RecordedReply, ...]:
        """Return all answers, in order; empty if the run had more than ASK_COUNT_MAX of them."""
        return tuple(self._replies.values()) if len(self._replies) <= ASK_COUNT_MAX else ()


def prompt_digest(prompt: str) -> str:
    digest = blake2b(prompt.encode(errors="surrogatepass"), digest_size=PROMPT_DIGEST_BYTES)
    return digest.hexdigest()

"""Degradation reasons: reason and count of a degradation follow from the answers to its operation.

Callers use the reason. For example, it is worth sending a text again if the model was unavailable, but not if
the model's reply was useless.

Law 1. The reason is that of an answer to the step; `timeout` may also mean that no answer came.
Law 2. The count is that of the answer. If there are several answers, some may belong to a plan that was
dropped; then the count is at most their sum.
"""

from collections.abc import Iterator
from typing import Final

from umi_core.config import Config
from umi_core.language.evolution import Evolution
from umi_core.language.extraction import Extraction, own_words
from umi_core.language.memories import Memories
from umi_core.language.routing import Routes
from umi_core.limits import SUMMARY_MEMBER_COUNT_MAX
from umi_core.messages.answers import Answer, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, Degraded, Done, Embed, Outcome, Read
from umi_core.messages.requests import Request
from umi_core.messages.results import Resolution
from umi_core.values import Scope
from umi_sim.judge.invariants.readings import PARSERS, subject_of
from umi_sim.judge.observer import Observer
from umi_sim.judge.oracle.archive.degradations import NAMES, USELESS
from umi_sim.judge.oracle.promises import causes, is_foreign, is_left_out
from umi_sim.judge.plain.requests import is_damaged
from umi_sim.judge.state.vectors import find_missing
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.calls import Call
from umi_sim.services.model.prompts import inputs

ROWS: Final = "read"  # stands for the reads of any step
LATE: Final = "timeout"
OF_NO_ANSWER: Final = "compare"  # the oracle judges the number of facts that are not compared
DIVIDED: Final = "evolve_category"  # invariants/divisions.py judges missing members

Reason = tuple[str, int]


class DegradationReasons(Observer):
    """Compares degradations with the answers to their operation.

    `is_sole`: only services answer, and no interceptor does. `answers`, `speakers`: by operation.
    """

    config: Config
    is_sole: bool
    answers: dict[str, list[tuple[Call, Answer]]] = {}
    speakers: dict[str, str] = {}

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        if speaker := getattr(request, "speaker", None):
            self.speakers[op_id] = speaker

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        if self.is_sole:
            self.answers.setdefault(call.op_id, []).append((call, answer))

    def observe_reply(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        answers = self.answers.pop(op_id, [])
        # A repeated reply is that of an earlier request, whose answers are not kept.
        if self.is_sole and isinstance(outcome, Done) and not getattr(outcome.value, "repeated", False):
            for degradation in outcome.degraded:
                if degradation.name in NAMES:  # without those of interceptors and added workflows
                    self.check(op_id, degradation, answers)

    def check(self, op_id: str, degradation: Degraded, answers: list[tuple[Call, Answer]]) -> None:
        step = degradation.name.partition(":")[0]
        # `read:...` may belong to any step; all other names begin with their step.
        own = [it for it in answers if step in (ROWS, it[0].step)]
        is_divided = step == "contents" and any(call.workflow == DIVIDED for call, _ in answers)
        is_elsewhere = is_divided or step == OF_NO_ANSWER
        # After a time-out there is no answer, and the tasks of added steps are unknown here.
        models = [call.effect for call, _ in own if isinstance(call.effect, AskModel)]
        if degradation.reason == LATE or is_elsewhere or any(it.task not in PARSERS for it in models):
            return
        found = [it for call, answer in own for it in self.list_reasons(step, call, answer) if it[1] > 0]
        counts = [count for reason, count in found if reason == degradation.reason]
        rule, message = rules.DEGRADATION_NAMED, f"the reason for {degradation.name} in the reply to {op_id}"
        demand(counts, rule, message, list(dict(found)), degradation.reason)
        # With two answers of counts 2 and 1 the count is 1 to 3, since the plan of one may have been dropped.
        is_true = (
            degradation.count == counts[0] if len(counts) == 1 else 1 <= degradation.count <= sum(counts)
        )
        message = f"the count of {degradation.name} ({degradation.reason}) in the reply to {op_id}"
        demand(is_true, rule, message, counts, degradation.count)

    def list_reasons(self, step: str, call: Call, answer: Answer) -> Iterator[Reason]:
        """Yield the reasons in this answer, each with its count."""
        match call.effect, answer:
            case Read() as read, ReadDone() as done if step == ROWS:
                strange = [
                    it for it in done.rows if is_foreign(read.query, it) or is_left_out(read.query, it)
                ]
                yield "foreign", len(strange)
                yield "damaged", sum(is_damaged(row) for row in done.rows if row not in strange)
            case _ if step == ROWS:
                pass
            case Read() as read, ReadDone() as done:
                yield from reasons_of_surplus(call.workflow, done)
                yield from ((kind, 1) for kind in causes(read, done))
            case Embed(texts=texts), Embedded(vectors=vectors):
                yield find_missing(vectors, len(texts), self.config.embedding_dims)
            case AskModel() as asked, ModelReplied(text=text):
                yield from reasons_of_text(asked, text, self.config, self.speakers.get(call.op_id))
            case effect, _:
                yield from ((kind, 1) for kind in causes(effect, answer))


def reasons_of_text(asked: AskModel, text: str, config: Config, speaker: str | None) -> Iterator[Reason]:
    """Yield why a reply is useless, or why parts of it were dropped, each with their number."""
    about = subject_of(inputs(asked.prompt))
    read = PARSERS[asked.task](text, about, config)
    if isinstance(read, USELESS):
        yield read.reason, 1
    match read:
        case Extraction(partial=is_partial):
            found = read if speaker is None else own_words(read, about.text, speaker)
            yield "malformed", int(is_partial)
            yield "passed_over", found.uncovered_count
        case Routes(degraded=dropped) | Evolution(dropped=dropped):
            yield from ((reason, dropped.count(reason)) for reason in dict.fromkeys(dropped))
        case Resolution(reason=reason):
            yield reason, 1
        case Memories(diagnostics=diagnostics):
            yield "too_many", diagnostics.count("too_many")


def reasons_of_surplus(workflow: str, done: ReadDone) -> Iterator[Reason]:
    """Yield how many rows do not fit into a prompt; for a session any number, since its bytes decide."""
    sound = [row for row in done.rows if not is_damaged(row)]
    if workflow == "summarise":
        yield "too_many", len(sound) - SUMMARY_MEMBER_COUNT_MAX
    if workflow == "reflect":
        yield from (("too_many", 1) for _ in sound)

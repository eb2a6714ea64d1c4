"""The working tier's model: the twins that may be true, and what a reply tells about which of them is.

Law 1. Where a session that was loaded may be one of several, there is a twin for each; a reply must agree
with at least one of them, and the others are dropped.
Law 2. The reserved keys (`__last_input` and so on) follow what remember and recall did, in the order in which
their batches became durable.
"""

from typing import Final

import attrs

from umi_core.config import Config
from umi_core.errors import Error
from umi_core.invariants.broken import demand
from umi_core.messages import requests
from umi_core.messages.answers import Answer, Committed
from umi_core.messages.effects import Commit, Done, Outcome, Refused
from umi_core.messages.results import Remembered
from umi_core.rows import Receipt
from umi_core.values import Scope
from umi_sim.judge.oracle.model import Ending, Model
from umi_sim.judge.oracle.sessions import Saved, Sessions
from umi_sim.judge.oracle.twin import ANY_TEXT, DONE, Answered, Twin
from umi_sim.judge.plain.filters import may_hold
from umi_sim.judge.plain.requests import is_same, wrong
from umi_sim.judge.plain.text import cut
from umi_sim.record import rules
from umi_sim.record.rules import Rule
from umi_sim.services.calls import Call

SHOWN_BYTES_MAX: Final = 200  # of a text that a reserved key shows
OF_THE_TIER: Final = ("EntryTooLarge", "WorkingFull", "TooManyEntries", "Overflow")
"""Errors of which a twin knows the values: what there is no room for."""


class WorkingModel(Model):
    """What the working tier of one memory must answer.

    `twins`: the tiers that are possible. `counted`: remembers in flight whose text the reserved keys show by
    now.
    """

    judges = tuple(sorted(requests.WORKING, key=lambda cls: cls.tag))
    watches = (requests.Remember, requests.Recall, requests.Retrieve, requests.Search)

    def __init__(self, scope: Scope, config: Config, sessions: Sessions) -> None:
        self.scope, self.config, self.sessions = scope, config, sessions
        self.twins = [Twin(config)]
        self.counted: dict[str, None] = {}

    def crashed(self) -> None:
        self.twins = [Twin(self.config)]
        self.counted.clear()

    def answered(self, call: Call, request: object, answer: Answer, now_ms: int) -> None:
        if isinstance(request, requests.Remember) and is_own_batch(call, answer):
            self.count_remember(call.op_id, request)

    def replied(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        if isinstance(request, requests.WorkingRequest):
            self.judge(request, outcome, ending.now_ms, ending.reading_ms)
            return
        value = outcome.value if isinstance(outcome, Done) else None
        if isinstance(request, requests.Remember) and isinstance(value, Remembered) and not value.repeated:
            self.count_remember(ending.op_id, request)  # it may have had nothing to commit
        elif isinstance(request, requests.Recall | requests.Descent) and self.is_question(request, value):
            for twin in self.twins:
                twin.last_query = cut(request.query, SHOWN_BYTES_MAX)
        self.counted.pop(ending.op_id, None)

    def is_question(self, request: requests.Recall | requests.Descent, value: object) -> bool:
        """Whether something was looked for: what is of no levels, of no hits, or of nobody's asks nothing."""
        if value is None:
            return False
        if isinstance(request, requests.Recall):
            return may_hold(request.where, "entities", self.scope)
        return getattr(value, "stop_reason", "") != "nothing_asked"

    def count_remember(self, op_id: str, request: requests.Remember) -> None:
        """Once for each: the reserved keys follow the order of commits, which is not the one of replies."""
        if op_id in self.counted:
            return
        self.counted[op_id] = None
        for twin in self.twins:
            twin.interactions += 1
            twin.last_input = cut(request.text, SHOWN_BYTES_MAX)

    def judge(self, request: requests.WorkingRequest, outcome: Outcome, now_ms: int, reading_ms: int) -> None:
        """Keep the twins that explain the reply; so others who loaded the same session learn it, too."""
        if isinstance(outcome, Refused):
            check_refusal(request, outcome.error)
        if len(self.twins) == 1:
            self.twins = explaining(self.twins, request, outcome, now_ms, reading_ms)
            return
        possible = [twin for twin in self.twins if not is_refuted(twin)]
        self.twins = explaining(possible or self.twins, request, outcome, now_ms, reading_ms)
        if len(self.twins) < len(possible):
            session_id = self.twins[0].session_id
            assert session_id is not None, "only a load makes several of one"
            self.sessions.settle(session_id, self.twins)

    def open_session(self, twins: list[Twin]) -> None:
        """A session is put in place of what there was: it is one of these."""
        self.twins = merge([twin.put_in_place_of(old) for twin in twins for old in self.twins])

    def expire(self, now_ms: int) -> None:
        for twin in self.twins:
            twin.expire(now_ms)


def is_own_batch(call: Call, answer: Answer) -> bool:
    """Whether a batch is durable, and not the one of an earlier request with the same request key."""
    if not isinstance(call.effect, Commit) or not isinstance(answer, Committed):
        return False
    own = [write.body.by for write in call.effect.writes if isinstance(write.body, Receipt)]
    return not isinstance(answer.receipt, Receipt) or answer.receipt.by in own


def is_refuted(twin: Twin) -> bool:
    """None of the saves that it may come from was the one that was saved."""
    found = [saved for saved in twin.origins if isinstance(saved, Saved)]
    return bool(found) and all(saved.is_refuted for saved in found)


def merge(twins: list[Twin]) -> list[Twin]:
    """Equal possibilities count once."""
    kept: list[Twin] = []
    for twin in twins:
        if twin in kept:
            kept[kept.index(twin)].origins += twin.origins
        else:
            kept.append(twin)
    return kept


# One reply.


def explaining(
    twins: list[Twin], request: requests.WorkingRequest, outcome: Outcome, now_ms: int, reading_ms: int
) -> list[Twin]:
    """The twins that explain the reply. Raises Broken, naming the rule that the reply most likely breaks."""
    got = (DONE, outcome.value) if outcome.__class__ is Done else answer_of(outcome)
    expected = [twin.answer(request, now_ms) for twin in twins]
    if expected == [got]:
        kept = twins
    else:
        kept = [twin for twin, answer in zip(twins, expected, strict=True) if agrees(answer, got)]
    if kept:
        demand(True, rule_at_stake(kept[0], request, got, now_ms, reading_ms), "")
        return kept
    rule = broken_rule(twins[0], request, expected[0], got, now_ms, reading_ms)
    key = getattr(request, "key", None)
    what = type(request).__name__.lower() + ("" if key is None else f" {key!r}")
    wanted, given = f"{what}: {describe(expected[0])}", f"{what}: {describe(got)}"
    demand(False, rule, f"{what} answered {describe(got)}", wanted, given)
    return []


def check_refusal(request: requests.WorkingRequest, error: Error) -> None:
    """What is wrong with the request alone is told whole; twins know what the tier has no room for."""
    wanted = wrong(request)
    is_fair = wanted is None or is_same(wanted, error)
    demand(is_fair, rules.REFERENCE_AGREES, f"{type(request).__name__} is refused otherwise", wanted, error)


def answer_of(outcome: Outcome) -> Answered:
    if not isinstance(outcome, Refused):
        return type(outcome).__name__, None
    name = type(outcome.error).__name__
    return name, attrs.astuple(outcome.error) if name in OF_THE_TIER else None


def agrees(expected: Answered, got: Answered) -> bool:
    return expected == got or (
        (expected[1] is ANY_TEXT and isinstance(got[1], bytes)) and expected[0] == got[0]
    )


def describe(answer: Answered) -> str:
    name, value = answer
    return repr(value) if name == DONE else name if value is None else f"{name} {value}"


LOOKS: Final = (requests.Get, requests.Exists, requests.Delete)
PUTS: Final = (requests.Set, requests.Incr, requests.Append)


def rule_of_death(died_ms: int, now_ms: int, reading_ms: int) -> Rule:
    """The rule that is broken by whoever shows what died then."""
    if died_ms == now_ms:
        return rules.TTL_BOUNDARY
    return rules.TIME_NEVER_REVIVES if reading_ms < now_ms else rules.TTL_CONTRACT


def rule_at_stake(
    twin: Twin, request: requests.WorkingRequest, got: Answered, now_ms: int, reading_ms: int
) -> Rule:
    """What another reply than this right one would have broken."""
    key = getattr(request, "key", "")
    if not isinstance(key, str):
        return rules.REFERENCE_AGREES
    if key.startswith("__"):
        return rules.SESSION_KEYS_TRUE
    if got[0] == "BadTtl":
        return rules.TTL_RANGE
    if request.__class__ in PUTS and got[0] == DONE:
        return rules.NO_SPURIOUS_REFUSAL
    if request.__class__ in LOOKS and key in twin.dead and key not in twin.entries:
        return rule_of_death(twin.dead[key], now_ms, reading_ms)
    return (
        rules.TTL_CONTRACT if request.__class__ in LOOKS and key in twin.entries else rules.REFERENCE_AGREES
    )


def broken_rule(
    twin: Twin,
    request: requests.WorkingRequest,
    expected: Answered,
    got: Answered,
    now_ms: int,
    reading_ms: int,
) -> Rule:
    key = getattr(request, "key", "")
    if isinstance(key, str) and key.startswith("__"):
        return rules.SESSION_KEYS_TRUE
    if "BadTtl" in (expected[0], got[0]):
        return rules.TTL_RANGE
    if got[0] == expected[0] != DONE:
        return rules.ERROR_SAYS_IT
    if got[0] in ("WorkingFull", "TooManyEntries"):
        return rules.NO_SPURIOUS_REFUSAL
    is_shown = got[0] == DONE and got[1] not in (None, False)
    if key in twin.dead and is_shown and request.__class__ in LOOKS:
        return rule_of_death(twin.dead[key], now_ms, reading_ms)
    if (
        expected[0] == DONE
        and isinstance(request, requests.Get | requests.Exists)
        and got[1] in (None, False)
    ):
        return rules.TTL_CONTRACT
    return rules.REFERENCE_AGREES

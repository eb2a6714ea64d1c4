"""Goal: our judges accept exactly the histories that some order of their operations explains.

`python -m tools.outside_judges` asks Porcupine the same, about thousands of histories (docs/targets.md).
"""

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tools.outside.models import Law, is_linearizable, operations
from tools.outside_judges import (
    WORKING_BUGS,
    JudgedHistory,
    find_law,
    porcupine,
    run_number,
    run_store,
    run_working,
)
from umi_sim.record.history import EventType, HistoryLog

PORCUPINE: Final = os.environ.get("UMI_PORCUPINE", "")  # a checkout of it, or a program built of porcupine.go
ENDS: Final[dict[str, EventType]] = {")": "ok", "!": "fail", "?": "info"}
ARGS: Final[dict[str, dict[str, Any]]] = {
    "put": {"key": "k", "value": "x"}, "brief": {"key": "k", "value": "x", "ttl": 10},
    "add": {"session": "s", "items": ["x"]},
}  # fmt: skip
Answers = Mapping[str, object]  # by operation
PLAIN: Final = Law()
SMALL_ITEMS: Final = 6
LOUD: Final = ("", "lies", "forgets", "stale", "races")  # mistakes that show within a few operations


def is_explained(model: str, text: str, answers: Answers, law: Law = PLAIN) -> bool:
    """Return whether some order explains a history, by trying them all.

    `text`: "put1( put1)" begins an operation and ends it; ! ends one that failed, ? one that may have
    happened, and a number is the time from there on.
    """
    log, time_ms = HistoryLog(), 0
    for word in text.split():
        if word.isdigit():
            time_ms = int(word)
        elif word.endswith("("):
            name = re.sub("[0-9(]", "", word)
            args = ARGS.get(name, {"key": "k"} if model == "kv" else {"session": "s"})
            log.begin(word[:-1], {"brief": "put"}.get(name, name), args, time_ms)
        else:
            error = "ValueError: no number" if word.endswith("!") else ""
            log.end(word[:-1], ENDS[word[-1]], answers.get(word[:-1]), time_ms, error)
    return is_linearizable(model, operations([event.fields for event in log.events], law), {})


READ_DURING_PUT: Final = "put1( get1( get1) get2( get2) put1)"
READ_AFTER_UNKNOWN: Final = "put1( put1? get1( get1) get2( get2)"


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("put1( put1) get1( get1)", {"get1": "x"}),
        ("put1( get1( get1) put1)", {"get1": None}),
        (READ_DURING_PUT, {"get1": None, "get2": "x"}),
        (READ_AFTER_UNKNOWN, {"get1": None, "get2": "x"}),
        (READ_AFTER_UNKNOWN, {"get1": None, "get2": None}),
        ("put1( get1( get1) get2( get2)", {"get1": None, "get2": "x"}),
        ("put1( put1! get1( get1)", {"get1": None}),
        ("incr1( incr2( incr1) incr2)", {"incr1": 2, "incr2": 1}),
        ("incr1( incr1!", {}),
        ("brief1( brief1) 9 get1( get1) 10 get2( get2)", {"get1": "x", "get2": None}),
        ("brief1( 5 brief1) 12 get1( get1) 15 get2( get2)", {"get1": "x", "get2": None}),
    ],
)
def test_some_order_explains_a_history(text: str, answers: Answers) -> None:
    assert is_explained("kv", text, answers)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("put1( put1) get1( get1)", {"get1": None}),
        (READ_DURING_PUT, {"get1": "x", "get2": None}),
        (READ_AFTER_UNKNOWN, {"get1": "x", "get2": None}),
        ("get1( get1) put1( put1)", {"get1": "x"}),
        ("put1( put1! get1( get1)", {"get1": "x"}),
        ("incr1( incr2( incr1) incr2)", {"incr1": 1, "incr2": 1}),
        ("brief1( brief1) 10 get1( get1)", {"get1": "x"}),
        ("put1( put1) has1( has1)", {"has1": 1}),
    ],
)
def test_no_order_explains_a_history(text: str, answers: Answers) -> None:
    assert not is_explained("kv", text, answers)


def test_laws_forbid_what_happens_late_and_refusals_without_reason() -> None:
    prompt, refusals = Law(is_prompt=True), Law(are_refusals_answers=True)
    assert not is_explained("kv", READ_AFTER_UNKNOWN, {"get1": None, "get2": "x"}, prompt)
    assert is_explained("kv", READ_AFTER_UNKNOWN, {"get1": "x", "get2": "x"}, prompt)
    assert not is_explained("kv", "incr1( incr1!", {}, refusals)
    assert is_explained("kv", "put1( put1) incr1( incr1!", {}, refusals)


def test_a_message_is_popped_once() -> None:
    both = "add1( add1) pop1( pop2( pop1) pop2) count1( count1)"
    assert is_explained("sessions", both, {"pop1": "x", "pop2": None, "count1": 0})
    assert not is_explained("sessions", both, {"pop1": "x", "pop2": "x", "count1": 0})


def tally_verdicts(histories: list[JudgedHistory | None]) -> Counter[str]:
    """Count the verdicts of our judge, after a search over all orders has agreed with each."""
    found: Counter[str] = Counter()
    for history in histories:
        if history is not None:
            law = find_law(history, [is_linearizable])
            assert law is not None, f"{history.model} {history.bug}, run {history.number}: {history.rule}"
            found[law or ("accepted" if history.is_accepted else "refused")] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("model", ["kv", "sessions"])
def test_the_judge_of_stores_says_what_all_orders_say(model: str) -> None:
    found = tally_verdicts([run_store(model, LOUD[n % len(LOUD)], n, SMALL_ITEMS) for n in range(80)])
    assert found["accepted"] > 40
    assert found["refused"] > 4


@pytest.mark.slow
def test_the_oracle_of_the_working_tier_says_what_its_order_says() -> None:
    found = tally_verdicts([run_working(WORKING_BUGS[n % len(WORKING_BUGS)], n) for n in range(50)])
    assert found["accepted"] > 25
    assert found["refused"] > 2
    assert set(found) <= {"accepted", "refused", "refusals"}


@pytest.mark.slow
@pytest.mark.skipif(not PORCUPINE, reason="no Porcupine: UMI_PORCUPINE names a checkout or a program")
def test_porcupine_says_what_our_judges_say() -> None:
    with porcupine(Path(PORCUPINE)) as checker:
        histories = [history for n in range(60) if (history := run_number(n))]
        assert [history.number for history in histories if find_law(history, [checker]) is None] == []

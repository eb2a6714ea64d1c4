"""Goal: a link loses, doubles, delays, holds and reorders messages, and nothing that was promised suffers."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec import structs

from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import Read
from umi_sim.faults.kinds import KINDS
from umi_sim.judge.inspector import Inspector
from umi_sim.machines.umi import UmiTarget
from umi_sim.record.items import Args, Fault, Item, Op
from umi_sim.record.trace import Tag, decode
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.seedfile.fields import PLAIN
from umi_sim.services.calls import Call
from umi_sim.world.agent import NetworkMessage
from umi_sim.world.network import Links, lane_of
from umi_sim.world.source import At, Replay
from umi_sim.world.world import World

CONFIG: Final = structs.replace(PLAIN, scenario="smoke", mode="swarm", in_flight_max=4)
TIMEOUT_MS: Final = 10_000
FIRST: Final = "o1/commit#1"


def session(number: int, at_ms: int = 1_000) -> Op:
    """A request with a single question: one commit."""
    return Op(f"o{number}", at_ms, "a", "create_session", {})


def fault(kind: str, at: str = FIRST, **args: object) -> Fault:
    return Fault(f"f{sum((kind + at).encode())}", kind, at, args)


def run_items(*items: Item) -> tuple[Verdict, list[tuple[int, str]]]:
    """The run, and the answers that came in it: when, and which."""
    verdict, trace = run_once(CONFIG, items, keep_trace=True)
    assert verdict.failure is None, verdict.failure
    records = [decode(record) for record in trace.kept]
    answers = [(int(str(each[1])), str(each[3])) for each in records if each[2] == Tag.ANSWER]
    return verdict, [(at_ms, event) for at_ms, event in answers if event.startswith("o")]


@pytest.mark.parametrize("lost", [FIRST, f"{FIRST}/answer"])
def test_a_lost_message_is_missed_at_the_time_out_and_asked_for_again(lost: str) -> None:
    verdict, answers = run_items(session(1), fault("link_loss", lost))
    assert [event for _, event in answers] == ["o1/commit#2/answer"]
    assert answers[0][0] >= 1_000 + TIMEOUT_MS
    assert verdict.fired == {"link_loss": 1}
    assert verdict.replies["done"] > 0


def test_a_request_that_comes_twice_is_done_once_and_answered_twice() -> None:
    _, answers = run_items(session(1), fault("link_duplicate", after_ms=500))
    assert answers == [(1_001, f"{FIRST}/answer"), (1_501, f"{FIRST}/answer.2")]


def test_the_copy_serves_where_the_first_answer_is_lost() -> None:
    both = fault("link_duplicate", after_ms=500), fault("link_loss", f"{FIRST}/answer")
    _, answers = run_items(session(1), *both)
    assert answers == [(1_501, f"{FIRST}/answer.2")]


def test_an_answer_that_comes_twice_is_late() -> None:
    _, answers = run_items(session(1), fault("link_duplicate", f"{FIRST}/answer", after_ms=7))
    assert answers == [(1_001, f"{FIRST}/answer"), (1_008, f"{FIRST}/answer.2")]


@pytest.mark.parametrize("kind", ["storage_refused", "storage_full", "storage_conflict"])
def test_a_definite_failure_holds_for_the_copy_too(kind: str) -> None:
    windowed = fault(kind, for_ms=100, spare_bytes=0) if kind == "storage_full" else fault(kind)
    _, answers = run_items(session(1), fault("link_duplicate", after_ms=500), windowed)
    assert f"{FIRST}/answer.2" not in [event for _, event in answers]


def test_a_copy_says_nothing_while_its_service_is_away() -> None:
    away = fault("storage_unavailable", "o2/commit#1", for_ms=1_000)
    _, answers = run_items(session(1), session(2, 1_200), fault("link_duplicate", after_ms=500), away)
    assert f"{FIRST}/answer.2" not in [event for _, event in answers]


def test_a_delayed_message_takes_as_long_as_the_fault_says() -> None:
    _, answers = run_items(session(1), fault("link_delay", delay_ms=400))
    assert answers == [(1_401, f"{FIRST}/answer")]


def test_a_reordered_message_comes_right_behind_the_next_one_of_its_link() -> None:
    _, answers = run_items(session(1), session(2, 1_100), fault("link_reorder", wait_ms=2_000))
    assert answers == [(1_101, "o2/commit#1/answer"), (1_101, f"{FIRST}/answer")]


def test_a_reordered_message_that_nothing_follows_comes_late() -> None:
    _, answers = run_items(session(1), fault("link_reorder", wait_ms=2_000))
    assert answers == [(3_001, f"{FIRST}/answer")]


def test_a_clog_holds_one_direction_and_lets_all_out_together() -> None:
    sessions = [session(number, 1_000 + number) for number in range(1, 5)]
    verdict, answers = run_items(*sessions, session(5, 3_000), fault("link_clog", for_ms=600))
    assert [at_ms for at_ms, _ in answers] == [1_602] * 4 + [3_001]
    assert [event for _, event in answers] != sorted(event for _, event in answers)  # an order of its own
    assert verdict.fired == {"link_clog": 1}


def test_a_partition_loses_all_of_one_direction() -> None:
    cut = fault("link_partition", f"{FIRST}/answer", for_ms=600)
    verdict, answers = run_items(session(1), session(2, 1_500), session(3, 1_700), cut)
    assert [event for _, event in answers] == [
        "o3/commit#1/answer",
        "o1/commit#2/answer",
        "o2/commit#2/answer",
    ]
    assert verdict.fired == {"link_partition": 1}


def test_a_fault_whose_message_never_sets_out_is_skipped_and_counted() -> None:
    verdict, _ = run_items(session(1), fault("link_loss", "o9/commit#1"))
    assert verdict.skipped == {"fault": 1}
    assert verdict.fired == {}


def test_link_and_service_faults_of_one_event_both_strike_in_any_order_of_the_record() -> None:
    pair = fault("storage_reply_lost", told="unknown"), fault("link_delay", delay_ms=50)
    for faults in (pair, pair[::-1]):
        verdict, _ = run_items(session(1), *faults)
        assert verdict.fired == {"link_delay": 1, "storage_reply_lost": 1}


def test_what_a_clog_holds_is_due_when_the_world_heals() -> None:
    items = session(1), session(2, 1_100), fault("link_clog", f"{FIRST}/answer", for_ms=60_000)
    world = World(CONFIG, Replay(items), Inspector(CONFIG), UmiTarget(CONFIG))
    world.begin()
    while world.now_ms < 1_101:
        world.refill()
        assert world.deliver_next()
    assert [due_ms for due_ms, _, _ in world.network.queue] == [61_001] * 2
    world.heal()
    assert [due_ms for due_ms, _, _ in world.network.queue] == [1_101] * 2


# What is drawn.


class Always:
    """Injects one kind at every message, unless that would change nothing."""

    def __init__(self, kind: str) -> None:
        self.kind = KINDS[kind]
        self.drawn: list[Args | None] = []
        self.without_effect = Counter[str]()

    def inject(self, at: At, here: Callable[[], object]) -> tuple[Any] | None:
        args = self.kind.args_for(here(), low, self.without_effect)
        self.drawn.append(args)
        return None if args is None else (self.kind(**args).inject(here()),)


def links_with(kind: str, latency: str = "instant") -> tuple[Links, Always]:
    always = Always(kind)
    return Links(structs.replace(CONFIG, latency=latency), always.inject, has_faults=True), always


def low(label: str, n: int) -> int:
    return n - 1


def message(number: int, leg: str = "request") -> NetworkMessage:
    read = Read(number, "archive", None, 1_000)  # type: ignore[arg-type]  # not read
    call = Call(f"o{number}/lookup#1", "a", 1, f"o{number}", "recall", "lookup", read, 0)
    up = NetworkMessage(call.event, call, "request")
    return up if leg == "request" else up.next("answer", answer=ReadDone(number))


def test_ten_times_nothing_is_without_effect() -> None:
    links, always = links_with("link_delay")
    assert [trip.delay_ms for trip in links.trips(message(1), 0, 0)] == [0]
    assert (always.drawn, always.without_effect) == ([None], {"link_delay": 1})


def test_a_delay_is_ten_times_that_of_the_profile() -> None:
    links, _ = links_with("link_delay", "spread")
    usual_ms = links.delay_ms(message(1).event)
    assert [trip.delay_ms for trip in links.trips(message(1), 3, 0)] == [3 + 10 * usual_ms]


def test_a_window_strikes_one_direction_of_one_link() -> None:
    links, always = links_with("link_partition")
    assert links.trips(message(1), 0, 0) == ()
    assert links.trips(message(2), 0, 1) == ()
    assert len(always.drawn) == 1  # nothing else fires inside
    assert lane_of(message(1)) != lane_of(message(1, "answer"))
    assert links.trips(message(1, "answer"), 0, 1) == ()
    assert len(always.drawn) == 2


@pytest.mark.parametrize("leg", ["request", "answer"])
def test_a_copy_is_never_copied_again(leg: str) -> None:
    links, always = links_with("link_duplicate")
    copy = message(1, leg).copy()
    assert copy.event == f"o1/lookup#1/{leg}.2"
    assert [trip.is_copy for trip in links.trips(copy, 0, 0)] == [False]
    assert always.drawn == []


def test_a_healed_link_does_nothing_to_anybody() -> None:
    links, always = links_with("link_loss", "spread")
    links.heal()
    assert [trip.delay_ms for trip in links.trips(message(1), 0, 0)] == [0]
    assert always.drawn == []

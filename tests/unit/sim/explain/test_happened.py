"""Goal: the shown events of a failure are those that tell what was asked and what came of it."""

from umi_sim.explain.happened import LAST_COUNT, shown_of
from umi_sim.record.verdict import Event

ASKED = ("o1", "o2", "f1")  # ids of items: requests and faults


def story_of(*names: str) -> list[Event]:
    return [Event(number, number, name, "") for number, name in enumerate(names)]


def shown(tail: list[Event], room: int) -> str:
    return " ".join(event.event for event in shown_of(tail, ASKED, room))


LONG = story_of("o1", "answer", "commit", "f1", "answer", "o2", "answer", "reply", "broken")


def test_a_request_is_listed_before_its_result() -> None:
    assert shown(LONG, 6) == "o1 f1 o2 answer reply broken"


def test_the_last_events_are_shown_in_any_case() -> None:
    assert shown(LONG, LAST_COUNT) == "answer reply broken"


def test_of_what_was_asked_the_latest_is_shown_first() -> None:
    assert shown(LONG, LAST_COUNT + 1) == "o2 answer reply broken"


def test_where_there_is_room_everything_is_shown_as_it_happened() -> None:
    assert shown_of(LONG, ASKED, len(LONG)) == LONG
    assert shown_of(LONG, ASKED, 100) == LONG

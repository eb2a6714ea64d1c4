"""Goal: the history of a run says when each operation began and ended, and whether it can have happened."""

from collections.abc import Sequence

from tests.kv_store import LocksUpdates
from umi_sim.record.history import HistoryEvent
from umi_sim.targets import Kv
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.history import history_of
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run

PUT = ContractOp("put", {"ns": "u", "key": "a", "value": "v1"})
GET = ContractOp("get", {"ns": "u", "key": "a"})


class Pages(Kv):
    """A dict that is read two keys at a time."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value

    def get(self, key: str) -> object:
        return {1, 2} if key == "odd" else self.rows.get(key)

    def scan(self, limit: int, cursor: int | None = None) -> tuple[list[str], int | None]:
        first = cursor or 0
        end = first + limit
        return sorted(self.rows)[first:end], end if end < len(self.rows) else None


def answer_of(event: HistoryEvent) -> object:
    return "..." if event.type == "invoke" else event.error or event.value


def list_history(adapter: type[Adapter], *items: Item) -> Sequence[str]:
    """Return the history of these items, an event a line: process, type, name, and an answer or an error."""
    return [
        f"{event.process} {event.type} {event.f} {answer_of(event)}"
        for event in history_of(run(adapter, items))
    ]


def test_requests_at_once_overlap_and_others_follow_one_another() -> None:
    at_once = Item("at_once", (PUT, GET), 1)
    assert list_history(LocksUpdates, at_once, Item("op", (GET,))) == [
        "0 invoke put ...", "1 invoke get ...", "0 ok put None", "1 ok get None",
        "0 invoke get ...", "0 ok get v1",
    ]  # fmt: skip


def test_what_was_cut_off_may_have_happened_and_what_failed_has_not() -> None:
    fail = Item("fail", (PUT,), 1, "commit")
    cancel, crash = Item("cancel", (PUT,), 1), Item("crash_in", (PUT,), 1, "commit")
    assert list_history(LocksUpdates, cancel, fail, crash) == [
        "0 invoke put ...", "0 info put CancelledError: ''",
        "1 invoke put ...", "1 fail put OperationalError: 'database is locked'",
        "1 invoke put ...", "1 info put Killed: ''", "nemesis info crash None",
    ]  # fmt: skip


def test_a_scan_lasts_from_its_first_page_to_its_last() -> None:
    puts = [Item("op", (ContractOp("put", {"key": key, "value": 1}),)) for key in "abc"]
    scan = ContractOp("scan", {"limit": 2})
    paged = Item("paged", (scan, ContractOp("get", {"key": "a"}), ContractOp("get", {"key": "b"})))
    assert list_history(Pages, *puts, paged)[6:] == [
        "0 invoke scan ...", "1 invoke get ...", "1 ok get 1", "1 invoke get ...", "1 ok get 1",
        "0 ok scan ['a', 'b', 'c']",
    ]  # fmt: skip


def test_time_is_that_of_the_run_and_what_is_no_json_is_its_text() -> None:
    items = (
        Item("op", (GET,)),
        Item("advance", number=1_000),
        Item("op", (ContractOp("get", {"key": "odd"}),)),
    )
    events = history_of(run(Pages, items))
    assert [event.time_ms - events[0].time_ms for event in events] == [0, 0, 1_000, 1_000, 1_000]
    assert (events[2].f, events[2].value, events[-1].value) == ("advance", 1_000, "{1, 2}")

"""Goal: the history of a memory's run has each request with its reply, and a crash ends what has none."""

import json
from itertools import takewhile
from pathlib import Path

from msgspec import structs

from tests.unit.sim.commands import refused, umi
from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.history import replay_history
from umi_sim.runs.runner import run_once
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.files import SeedFile

BUG = "get-alive-at-expiry"
SET = Op("o1", 0, "a", "set", {"key": "k", "value": b"tea", "ttl_ms": 10})


def recorded(*items: Item, bug: str | None = None) -> SeedFile:
    config: RunConfig = structs.replace(PLAIN, scenario="smoke", planted=bug)
    return seed_file.of_verdict(run_once(config, items)[0])


def list_history(*items: Item, bug: str | None = None, start_ms: int = PLAIN.start_ms) -> list[str]:
    """Return the history of what the items ask, an event a line, without what the end of a run asks."""
    events = replay_history(recorded(*items, bug=bug))[1]
    names = {"crash", *(item.name for item in items if isinstance(item, Op))}
    return [
        f"{event.time_ms - start_ms} {event.process} {event.type} {event.f} "
        f"{event.error.partition(':')[0] or event.value}"
        for event in takewhile(lambda event: event.f in names, events)
    ]


def test_each_request_is_followed_by_its_reply() -> None:
    bad = Op("o2", 0, "a", "incr", {"key": "k", "delta": 1})
    get, exists = Op("o3", 9, "a", "get", {"key": "k"}), Op("o4", 10, "a", "exists", {"key": "k"})
    assert list_history(SET, bad, get, exists) == [
        "0 0 invoke set {'key': 'k', 'value': {'bytes': 'dGVh'}, 'ttl_ms': 10}", "0 0 ok set None",
        "0 0 invoke incr {'key': 'k', 'delta': 1}", "0 0 fail incr TypeMismatch",
        "9 0 invoke get {'key': 'k'}", "9 0 ok get {'bytes': 'dGVh'}",
        "10 0 invoke exists {'key': 'k'}", "10 0 ok exists False",
    ]  # fmt: skip


def test_time_is_the_latest_that_the_clock_has_shown() -> None:
    back = ClockMove("c1", 50, "a", "jump", {"by_ms": -40})
    get = Op("o2", 60, "a", "get", {"key": "k"})
    later = Op("o3", 200, "a", "get", {"key": "k"})
    found = [line.split()[0] for line in list_history(SET, Op("o4", 45, "a", "len", {}), back, get, later)]
    assert found == ["0", "0", "45", "45", "45", "45", "160", "160"]


def test_a_crash_ends_what_has_no_reply() -> None:
    remember = Op("o2", 5, "a", "remember", {"text": "Ann likes tea."})
    crash = Fault("f1", "agent_crash", "o2/extract#1/answer", {"down_ms": 20})
    found = list_history(SET, remember, crash, Op("o3", 5_000, "a", "get", {"key": "k"}))
    assert [line.split(" ", 3)[1:] for line in found[3:]] == [
        ["0", "info", "remember crashed"], ["nemesis", "info", "crash None"],
        ["1", "invoke", "get {'key': 'k'}"], ["1", "ok", "get None"],
    ]  # fmt: skip


def test_the_reply_that_breaks_a_promise_is_the_last_event() -> None:
    seed = recorded(SET, Op("o2", 10, "a", "get", {"key": "k"}), bug=BUG)
    verdict, events = replay_history(seed)
    assert verdict.failure is not None
    assert (events[-1].type, events[-1].f, events[-1].value) == ("ok", "get", {"bytes": "dGVh"})


# The command.


def test_a_seed_file_is_written_as_a_history(own_folder: Path) -> None:
    seed = recorded(SET, Op("o2", 10, "a", "get", {"key": "k"}), bug=BUG)
    seed_file.write(own_folder / "a.json", seed)
    done = umi("export", "a.json", "--history", "out.jsonl")
    events = [json.loads(line) for line in (own_folder / "out.jsonl").read_text().splitlines()]
    assert (done.exit_code, [event["f"] for event in events]) == (0, ["set", "set", "get", "get"])
    assert "WROTE out.jsonl: 4 events" in done.stdout
    assert "fails: ttl-boundary (TTL-1)" in done.stdout
    umi("export", "a.json", "--history", "out.edn")
    assert (own_folder / "out.edn").read_text().startswith("{:index 0, :time_ms ")
    assert "one file at a time" in refused("export", "a.json", "--history", "b.edn", "--pytest", "test_b.py")
    (own_folder / "other.jsonl").write_text("x")
    assert "is no history" in refused("export", "a.json", "--history", "other.jsonl")
    assert "a history is a file of .jsonl or .edn" in refused("export", "a.json", "--history", "b.txt")

"""Goal: the verdict first, what to type second, under 40 lines, and nothing a terminal would obey."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec import structs

from tests.unit.sim.commands import lines_of
from umi_core.values import Scope, Turn
from umi_sim.explain import report
from umi_sim.explain.calls import world_call
from umi_sim.explain.records import in_lines
from umi_sim.faults.kinds import KINDS
from umi_sim.kernel import wording
from umi_sim.kernel.report import Report
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import AgentConfig
from umi_sim.record.trace import Record, Tag
from umi_sim.record.verdict import Event, Failure, Verdict
from umi_sim.runs import runner
from umi_sim.scenario import files as scenario
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.parts import Minimised
from umi_sim.testing.script import Script

SCOPE = Scope("u1", "a1")
CONFIG = structs.replace(PLAIN, scenario="storage_storm", seed=45, mode="swarm")
ITEMS: tuple[Item, ...] = (
    Op("o1", 0, "a", "set", {"key": "k", "value": b"\xff", "ttl_ms": None}),
    Op("o3", 250, "a", "remember", {"text": "Alice works at Acme."}),
    Fault("f1", "storage_lost", "o3/commit#1", {"told": "nothing"}),
    Deviation("s1", "o3", "o1"),
    ClockMove("c1", 2_000, "a", "jump", {"by_ms": -5}),
    Op("o4", 2_000, "a", "len", {}),
)
FAILURE = Failure(
    "safety", "acknowledged-is-durable", "STO-1", 14, 10_000, "o3",
    'acknowledged by o3, absent in the audit: person "Alice"', "version 1", "None",
)  # fmt: skip
TAIL = (
    Event(6, 0, "o3", "remember text='...'"),
    Event(7, 0, "o3/extract#1", "AskModel extract"),
    Event(7, 0, "o3/extract#1", "FAULT f1 model_slow"),
    Event(14, 10_000, "audit:1/get#1", "Reply Done None"),
)


def verdict(failure: Failure | None = None, items: tuple[Item, ...] = ITEMS, **fields: object) -> Verdict:
    blank = Verdict(
        CONFIG, items, failure, "5f0c1d9be27a43f18c3ab29d6e0f7a51", (), 16, 412, {"set": 1, "remember": 1},
        {"done": 52, "refused": 2}, {"extract:notes": 4}, {"storage_lost": 3}, {"model_truncated": 1}, {},
        {"crashed": 1}, {"commit: outcome unknown": 1}, 1, 33 * 60_000, 371, 19, "e22f7d10c3b8964a",
        TAIL if failure else (),
    )  # fmt: skip
    return structs.replace(blank, **fields)


def test_a_run_that_passed() -> None:
    config = structs.replace(
        CONFIG, agents=(AgentConfig("a", SCOPE), AgentConfig("b", SCOPE, -86_400_000)),
        memory={"working_entry_count_max": 4, "semantic_routing": True}, land=(3, 8), latency="spread",
        policy="random", faults={"storage_lost": (1, 4), "storage_full": (1, 4), "model_truncated": (1, 4)},
    )  # fmt: skip
    shown = report.of_run(verdict(config=config), "umi-sim run storage_storm --seed 45", with_details=True)
    assert lines_of(shown) == [
        "PASS storage_storm seed 45: 3 operations, 3 faults, 412 steps, every promise kept",
        "  repeat   umi-sim run storage_storm --seed 45",
        "  trace    5f0c1d9be27a43f18c3ab29d6e0f7a51",
        "  injected storage_lost 3",
        "           without effect: model_truncated 1",
        "           switched on, and never injected: storage_full",
        "  mode     swarm: each kind of fault is on or off by chance, with a rate of its own",
        "  world    2 agents, 1 user, 4 keys",
        "           latency spread: messages take up to two seconds, most of them far less, "
        "and overtake each other",
        "           schedule random: any event may go first, each as likely as the next",
        "  unusual  working_entry_count_max 4, semantic_routing true, 3/8 of the pauses end on a deadline, "
        "clock of b off by -1 d",
        "  replies  52 done, 2 refused",
        "  degraded extract:notes 4",
        "  excused  crashed 1",
        "  phases   33 min of virtual time; faults until step 371, then all was healed "
        "and 19 rows read back; a second drain and",
        "           a restart changed nothing",
        "  marks    1 rare place reached: --json lists them",
    ]


def test_what_most_people_want_to_know_of_a_run_that_passed_is_five_lines() -> None:
    assert lines_of(report.of_run(verdict(), "umi-sim run storage_storm --seed 45"), 81) == [
        "PASS storage_storm seed 45: 3 operations, 3 faults, 412 steps, every promise kept",
        "  repeat   umi-sim run storage_storm --seed 45",
        "  trace    5f0c1d9be27a43f18c3ab29d6e0f7a51",
        "  injected storage_lost 3",
        "  more     --details tells everything; umi-sim explain WORD",
    ]


def test_of_many_kinds_that_did_not_strike_the_first_are_named_and_the_rest_counted() -> None:
    rates = dict.fromkeys(list(KINDS)[: report.NEVER_COUNT_MAX + 1], (1, 4))
    config = structs.replace(CONFIG, faults=rates)
    shown = report.of_run(verdict(config=config, fired={}, without_effect={}), "x", with_details=True)
    lines = lines_of(shown, 999)
    assert "  injected no fault" in lines
    assert any(line.endswith(", and 1 more") for line in lines)


def test_what_was_lost_is_listed() -> None:
    lost = "everything by storage_wiped at o3/read#1, 12 ms"
    assert f"  lost     {lost}" in lines_of(report.of_run(verdict(losses=(lost,)), "x", with_details=True))


def test_a_run_of_one_kind_names_it_and_what_else_the_seed_decided() -> None:
    config = structs.replace(
        CONFIG, mode="one_kind", faults={"storage_torn": (1, 4)}, in_flight_max=3, start_ms=0, repeat=(0, 16),
        revise_every=5,
    )  # fmt: skip
    lines = lines_of(report.of_run(verdict(config=config), "umi-sim run", with_details=True))
    assert "  mode     one_kind storage_torn: a single kind of fault is on, and happens often" in lines
    line = "  unusual  3 requests in flight, start at 0 ms, new workflow revisions every 5 requests"
    assert line in lines


def test_a_run_that_failed() -> None:
    repeat = "umi-sim replay .umi-sim/ephemeral/acknowledged-is-durable-8ad16dbbe2cc.json"
    file = repeat.rpartition(" ")[2]
    shown = report.of_run(verdict(FAILURE), repeat, "umi-sim run storage_storm --seed 45", file=file)
    assert lines_of(shown) == [
        "FAIL safety acknowledged-is-durable (STO-1) at step 14",
        f"  repeat   {repeat}",
        "  seed     umi-sim run storage_storm --seed 45",
        "",
        "  promised what was acknowledged survives",
        '  instead  acknowledged by o3, absent in the audit: person "Alice", where version 1 was expected',
        "",
        '  script   script = Script("storage_storm", seed=45, plain=True, agents=["a"], mode="swarm")',
        '           script.op("o1", "a", "set", key="k", value=b"\\xff", ttl_ms=None)',
        '           script.op("o3", "a", "remember", text="Alice works at Acme.", at_ms=250)',
        '           script.fault("f1", "storage_lost", at="o3/commit#1", args={"told": "nothing"})',
        '           script.schedule("s1", take="o3", over="o1")',
        "           script.finish()",
        "",
        "  events   step    6       0 ms  o3                 remember text='...'",
        "           step    7       0 ms  o3/extract#1       AskModel extract",
        "                           0 ms  o3/extract#1       FAULT f1 model_slow",
        "           step   14  10 000 ms  audit:1/get#1      Reply Done None <- acknowledged-is-durable",
        "",
        f"  next     umi-sim why {file}",
        f"           umi-sim html {file} --open",
        "           umi-sim explain acknowledged-is-durable",
        "  file     fingerprint 8ad16dbbe2cc",
    ]


def test_of_two_long_values_the_place_where_they_differ_is_shown() -> None:
    failure = structs.replace(FAILURE, expected="x" * 500 + "A", got="x" * 500 + "B")
    lines = lines_of(report.of_run(verdict(failure), "x"))
    assert f"  expected ...{'x' * report.ALIKE_CHARS_MAX}A" in lines
    assert f"  got      ...{'x' * report.ALIKE_CHARS_MAX}B" in lines


def test_of_two_long_values_of_which_one_continues_the_other_the_ends_are_shown() -> None:
    failure = structs.replace(FAILURE, expected="x" * 500, got="x" * 500 + "B")
    lines = lines_of(report.of_run(verdict(failure), "x"))
    assert f"  expected ...{'x' * report.ALIKE_CHARS_MAX}" in lines
    assert f"  got      ...{'x' * report.ALIKE_CHARS_MAX}B" in lines


def long_lines(all_items: bool) -> list[str]:
    items = tuple(Op(f"o{n}", 1_000, "a", "remember", {"text": "x" * 500}) for n in range(100))
    tail = tuple(Event(n, n, "event" * 9, "y" * 500) for n in range(60))
    failure = structs.replace(FAILURE, item="o99", message="m" * 5_000, expected="e" * 500, got="g" * 500)
    reported = report.ReportedFailure(
        CONFIG, items, failure, "0" * 12, "umi-sim replay x.json", "umi-sim run", "x.json", tail=tail
    )
    return lines_of(report.of_failure(reported, all_items=all_items))


def test_a_failure_has_less_than_40_lines_none_of_them_long() -> None:
    lines = long_lines(all_items=False)
    assert len(lines) < report.LINE_COUNT_MAX
    assert max(map(len, lines)) <= 2 * wording.LINE_CHARS_MAX
    assert any(line.endswith("# ... 90 items before: umi-sim show --all x.json") for line in lines)


def test_all_items_are_shown_when_asked_for() -> None:
    assert sum("script.op(" in line for line in long_lines(all_items=True)) == 100


def as_printed(shown: Report) -> Verdict:
    """The verdict of what stands under `script`, run as it is."""
    lines = lines_of(shown)
    begin = next(at for at, line in enumerate(lines) if line.startswith("  script"))
    end = next(at for at, line in enumerate(lines) if "script.finish()" in line)
    code = [line[11:] for line in lines[begin : end + 1]]
    names: dict[str, Any] = {"Script": Script, "Turn": Turn}
    exec("\n".join(code).replace("script.finish()", "verdict = script.finish()"), names)
    verdict: Verdict = names["verdict"]
    return verdict


@pytest.mark.parametrize(
    ("world", "settings", "seeds"),
    [
        ("canary", {}, range(100)),
        ("retries", {"scenario.mutant": "new-key-on-retry"}, range(15, 100)),
        ("smoke", {"run.steps_max": "5"}, range(100)),
    ],
)
def test_a_script_fails_as_it_is_printed(world: str, settings: dict[str, str], seeds: Iterable[int]) -> None:
    lives = (runner.run(scenario.draw(scenario.find(world), seed, settings)) for seed in seeds)
    verdict = next(each for each in lives if each.failure is not None)
    assert verdict.failure is not None
    reported = report.ReportedFailure(verdict.config, verdict.items, verdict.failure, "", "umi-sim run")
    again = as_printed(report.of_failure(reported, all_items=True))
    assert again.failure is not None
    assert (again.failure.rule, again.failure.step) == (verdict.failure.rule, verdict.failure.step)


def test_of_a_run_without_items_nothing_is_left() -> None:
    none = {"op": 0, "fault": 0, "schedule": 0, "clock": 0}
    text = report.describe_shrinking(Minimised(4, {**none, "fault": 2}, none, one_minimal=True))
    assert text == "from 2 faults to nothing in 4 runs"


def test_a_world_as_its_seed_draws_it_is_named_by_its_seed() -> None:
    config = scenario.draw(scenario.find("canary"), 0)
    (line,) = lines_of(Report("", [world_call(config)]))
    assert line.strip() == 'script = Script("canary", seed=0, agents=["a"], latency="instant")'
    other = structs.replace(config, off=("progress",))
    assert "plain=True" in world_call(other).parts


def test_a_long_argument_is_not_cut() -> None:
    text = " ".join(map(str, range(999)))
    items = (
        Op("o3", 0, "a", "recall", {"query": text, "turns": (Turn("user", text), Turn("user", "x" * 500))}),
    )
    lines = report.of_failure(
        report.ReportedFailure(CONFIG, items, FAILURE, "0" * 12, "umi-sim replay x.json")
    )
    assert as_printed(lines).items == items


def test_what_comes_after_the_item_that_failed_is_left_out() -> None:
    assert [item.id for item in report.until(ITEMS, "o3")] == ["o1", "o3", "f1", "s1"]
    assert report.until(ITEMS, "audit:1") == ITEMS


def test_hostile_texts_stay_on_their_line() -> None:
    items = (
        Op("o3", 1_000, "a", "remember", {"text": "\u202e\n\x1b[2J\ud800", "source": Turn("user", "\n")}),
    )
    failure = structs.replace(FAILURE, message="\x1b]0;owned\x07", expected="a\nb", got="\u2028")
    text = "\n".join(lines_of(report.of_run(verdict(failure, items), "x")))
    assert text.encode()
    assert not wording.UNSEEN.search(text.replace("\n", ""))
    assert "  instead  \\x1b]0;owned\\x07\n" in text


def test_a_crash_names_its_frames_without_folders() -> None:
    traceback = (
        'File "/home/me/umi_core/tiers/core.py", line 7, in put\n  x\nFile "/x/json/a.py", line 3, in y\n'
    )
    crash = structs.replace(
        FAILURE, kind="crash", rule="crash", rule_id="crash", frame="umi_core.x", traceback=traceback
    )
    lines = lines_of(report.of_run(verdict(crash), "x"))
    assert lines[0] == "FAIL crash at step 14"
    assert f"  promised {report.CRASH}" in lines
    frames = ["  frame    umi_core.x", "           umi_core/tiers/core.py:7 put"]
    assert lines[lines.index(frames[0]) :][:2] == frames
    assert "/home" not in "\n".join(lines)


def test_a_trace_is_one_line_for_each_record() -> None:
    records: list[Record] = [
        [0, 0, Tag.OP, "o1", "a", 5_000, "set", ["k\n"]],
        [1, 1_500, Tag.STEP, "a", 5_000, "Wake", "a/wake#1"],
        [2, 1_500, Tag.MARK, "late answer"],
        [3, 1_500, 99, "from the future"],
    ]
    lines = lines_of(Report("", in_lines(records)))
    assert [line.split() for line in lines] == [
        ["0", "1", "0", "ms", "a", "5", "000", "o1", "op", '"set"', '["k\\n"]'],
        ["1", "2", "1", "500", "ms", "a", "5", "000", "a/wake#1", "step", '"Wake"'],
        ["2", "2", "1", "500", "ms", "mark", '"late', 'answer"'],
        ["3", "2", "1", "500", "ms", "tag", "99", '"from', "the", 'future"'],
    ]


def test_the_json_holds_the_verdict() -> None:
    as_json = json.loads(json.dumps(report.as_json(verdict(FAILURE))))
    assert (as_json["result"], as_json["scenario"], as_json["seed"]) == ("fail", "storage_storm", "45")
    assert as_json["failure"]["rule"] == "acknowledged-is-durable"
    assert as_json["failure"]["id"] == "STO-1"
    assert as_json["failure"]["fingerprint"] == "8ad16dbbe2cc"
    assert report.as_json(verdict())["failure"] is None

"""Goal: people read what their methods got, what those raised, and what a run cannot see."""

import asyncio
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec import structs

from umi_sim.formats.strict_json import layout
from umi_sim.kernel.report import laid_out
from umi_sim.targets import MISSING, Kv, Sessions, exporting, page, seed_files
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.alike import run_both
from umi_sim.targets.as_test import RacesNotExplored, failure_of
from umi_sim.targets.checker import BrokenContract, tell_difference
from umi_sim.targets.drawing import Moments, draw_items
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import JobCounts, TargetVerdict, run
from umi_sim.targets.memory import ExpectedHits
from umi_sim.targets.model import Exactly
from umi_sim.targets.promises import tell_promise
from umi_sim.targets.reports import (
    list_calls,
    report_all,
    report_earlier,
    report_hunt,
    report_replay,
    tell_other_rule,
)
from umi_sim.targets.seed_files import Earlier, document_of
from umi_sim.targets.shrinking import shrink


class Seconds(Kv):
    """Nothing is there as soon as a time was given."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object, ttl: float | None = None) -> None:
        if ttl is None:
            self.rows[key] = value

    def get(self, key: str) -> object:
        return self.rows[key]


class Milliseconds(Seconds):
    def put(self, key: str, value: object, ttl_ms: int | None = None) -> None:  # type: ignore[override] # its unit
        super().put(key, value, ttl_ms)


def op(name: str, **args: object) -> Item:
    return Item("op", (ContractOp(name, args),))


PUT, GET = op("put", key="a", value=1, ttl=1_500), op("get", key="a")


def list_lines(store: type[Adapter], items: Sequence[Item]) -> list[str]:
    return [*list_calls(store, run(store, items))]


def test_a_time_is_printed_as_the_method_got_it_and_an_error_that_means_missing_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    got = "raised KeyError('a'), taken for: not there"
    assert list_lines(Seconds, (PUT, GET)) == [
        "put(key='a', value=1, ttl=1.5)  ->  None", f"get(key='a')  ->  {got}",
    ]  # fmt: skip
    assert list_lines(Milliseconds, (PUT,)) == ["put(key='a', value=1, ttl_ms=1500)  ->  None"]
    verdict = run(Seconds, (PUT, GET))
    assert verdict.broken is not None
    assert (verdict.broken.got, verdict.broken.allowed) == (got, "1")
    monkeypatch.setattr(exporting, "try_script", lambda _: "")  # this module needs all of umi_sim
    assert "put(key='a', value=1, ttl=1.5)" in exporting.script_of(Seconds, verdict)
    assert "ttl=1500" in str(verdict.steps[0].item)  # the trace is as it has always been


class Deletes(Kv):
    """It says that nothing is there, and nothing at all of what it does."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value

    def get(self, key: str) -> object:
        return MISSING

    def has(self, key: str) -> bool:
        return False


def test_the_expected_value_is_printed_as_python() -> None:
    found = [run(Deletes, (op("put", key="a", value=1), op(name, key="a"))).broken for name in ("has", "get")]
    assert [(each.got, each.allowed) for each in found if each] == [("False", "True"), ("MISSING", "1")]
    undone = run(Deletes, (op("has", key="a"), op("get", key="b")))
    assert undone.broken is None


class Jobs(Seconds):
    async def get(self, key: str) -> object:
        return await asyncio.to_thread(self.rows.get, key)


class Threads(Seconds):
    def get(self, key: str) -> object:
        found: list[object] = []
        thread = threading.Thread(target=lambda: found.append(self.rows.get(key)))
        thread.start()
        thread.join()
        return found[0]


class InMake(Seconds):
    def make(self) -> None:
        super().make()
        thread = threading.Thread(target=list)
        thread.start()
        thread.join()


def report(store: type[Adapter]) -> str:
    store = type("Mine", (store,), {"put": Deletes.put})
    found = hunt(store, range(3))
    assert found.first is None
    return " ".join(" ".join(laid_out(report_hunt("mine:Mine", found, ""))).split())


def test_what_a_run_cannot_see_is_reported() -> None:
    start = threading.Thread.start
    assert re.search(r"\d+ jobs of executors, which paused 0 times while others went on", report(Jobs))
    assert "`get` began threads" in report(Threads)
    first = report(Threads).partition(" asked ")[0]
    assert first.endswith("operations, races with its own threads were not explored")
    for store in (Seconds, InMake):
        assert "began threads" not in report(store)
        assert "jobs of executors" not in report(store)
    assert threading.Thread.start is start


class LosesInJobs(Kv):
    """Read, changed and written in one job, in plain Python: two of them lose what one wrote."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}

    async def put(self, key: str, value: object) -> None:
        def work() -> None:
            rows = dict(self.rows)
            self.rows = {**rows, key: value}

        await asyncio.to_thread(work)

    async def get(self, key: str) -> object:
        return self.rows[key]


class InExecutor(LosesInJobs):
    async def put(self, key: str, value: object) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.rows.__setitem__, key, value)


LIMIT = re.compile(r"(\d+) jobs ran whole while others waited, and races within them were not explored")


@pytest.mark.parametrize("store", [LosesInJobs, InExecutor])
def test_the_first_line_says_that_races_within_jobs_were_not_explored(
    store: type[Adapter], tmp_path: Path
) -> None:
    """1,064 runs passed of a store that loses a third of its messages: "every promise kept"."""
    found = hunt(store, range(20))
    job_count = sum(op.name == "put" for seed in range(20) for op in asked_by(store, seed, found.moments))
    shown = report_hunt("mine:Mine", found, ""), report_all("mine:Mine", found, [])
    for report in shown:
        limit = LIMIT.search(report.head)
        assert limit is not None
        assert int(limit[1]) == found.jobs.whole_count > 0
        assert "every promise kept" not in "\n".join(laid_out(report))
        assert report.value is not None
        fields = report.value()
        assert fields["jobs"] == job_count
        assert LIMIT.search(fields["not_explored"][0])
    assert "line_by_line = True" in "\n".join(laid_out(shown[0]))
    plain = hunt(type("Plain", (Seconds,), {"put": Deletes.put}), range(3))
    assert "every promise kept" in report_hunt("mine:Mine", plain, "").head
    assert plain.jobs == JobCounts()


def asked_by(store: type[Adapter], seed: int, moments: Moments) -> Iterator[ContractOp]:
    for item in draw_items(store, seed, moments):
        yield from item.ops


def test_a_replay_a_page_and_a_test_say_it_too(tmp_path: Path) -> None:
    puts = tuple(ContractOp("put", {"key": key, "value": 1}) for key in "ab")
    verdict = run(LosesInJobs, (Item("at_once", puts), op("get", key="a")))
    file = tmp_path / "run.json"
    file.write_text(layout(document_of(LosesInJobs, "mine:Mine", verdict)))
    saved = seed_files.read(file)
    assert saved.jobs == JobCounts(count=2, whole_count=1)
    limit = "1 job ran whole while others waited, and races within them were not explored"
    facts = page.data_of(file.name, saved)["facts"]
    assert facts == [["jobs", limit]]
    assert limit in report_replay("mine:Mine", file.name, LosesInJobs, saved, verdict).head
    assert limit in report_earlier("mine:Mine", "found", Earlier(((file.name, saved, verdict),))).head
    with pytest.warns(RacesNotExplored, match=r"test_lines:LosesInJobs: \d+ jobs ran whole"):
        assert failure_of(LosesInJobs, 1, tmp_path) == ""
    plain = type("Plain", (Seconds,), {"put": Deletes.put})
    for one, other in ((LosesInJobs, plain), (plain, LosesInJobs)):
        assert run_both(one, other, verdict.items).jobs.whole_count == 1


def test_a_pass_is_reported_where_a_failure_was_asked_for() -> None:
    assert "fails = () asks for none" in report(type("Quiet", (Seconds,), {"fails": ()}))
    assert "asks for none" not in report(Seconds)


class Loses(Deletes):
    """What has blanks in it is not kept, restart or none."""

    durable = True

    def put(self, key: str, value: object) -> None:
        (self.folder / "rows").write_text("")

    def count(self) -> int:
        return 0


def test_a_failure_without_a_restart_is_reported_as_the_plainer_promise() -> None:
    put = op("put", key="a", value=1)
    lost = run(Loses, (put, Item("reopen"), op("count")))
    assert lost.broken is not None
    assert lost.broken.rule == "reopen-lost"
    small = shrink(Loses, lost)
    assert small.broken is not None
    assert small.broken.rule == "answer"
    assert [item.kind for item in small.items] == ["op", "op"]
    kept = run(Keeps, (put, Item("reopen"), op("count")))
    assert rule_of(shrink(Keeps, kept)) == "reopen-lost"


class Keeps(Deletes):
    """Only a restart loses something."""

    durable = True

    def count(self) -> int:
        return len(self.rows)


def rule_of(verdict: TargetVerdict) -> str:
    assert verdict.broken is not None
    return verdict.broken.rule


def broken_by(rule: str, *kinds: str) -> TargetVerdict:
    items = tuple(Item(kind) for kind in kinds)
    return TargetVerdict(items, (), "", BrokenContract(rule, "get", "1"), len(kinds) - 1)


@pytest.mark.parametrize(
    ("first", "small", "change"),
    [
        (("op", "crash_in", "op"), ("op", "op"), "without crashes"),
        (("op", "crash_in", "op"), ("op", "crash", "op"), "with fewer or plainer items"),
        (("fail", "crash", "op"), ("fail", "crash", "op"), "with fewer or plainer items"),
        (("fail", "crash", "op"), ("crash", "op"), "without failures"),
        (("at_once", "reopen", "op"), ("op", "op"), "without concurrent requests and restarts"),
        (("at_once", "cancel", "fail"), ("fail",), "without concurrent requests and cancellations"),
        (("op", "advance", "op"), ("op",), "with fewer or plainer items"),
    ],
)
def test_what_a_smaller_run_has_not_is_said_where_its_rule_is_another(
    first: Sequence[str], small: Sequence[str], change: str
) -> None:
    found, less = broken_by("at-once", *first), broken_by("answer", *small)
    assert [*tell_other_rule(found, less)] == [f"found as at-once; {change} it is answer"]
    assert [*tell_other_rule(found, broken_by("at-once", *small))] == []


def test_what_came_after_the_failure_was_no_condition_of_it() -> None:
    found = structs.replace(broken_by("at-once", "op", "crash"), ended_at=0)
    message = "found as at-once; with fewer or plainer items it is answer"
    assert [*tell_other_rule(found, broken_by("answer", "op"))] == [message]


def message(number: int) -> dict[str, object]:
    return {"role": "user", "content": f"message number {number}"}


FIVE = [message(number) for number in range(5)]
OTHERS = f"lacks {message(4)}, has {message(0)}, which is too much"
LONG = "x" * 300


@pytest.mark.parametrize(
    ("wanted", "got", "difference"),
    [
        (FIVE, FIVE[:4], f"the answer has 4 of 5, lacks {message(4)}"),
        (
            FIVE[1:],
            FIVE[:4],
            f"the answer has 3 of 4, lacks {message(4)}, has {message(0)}, which is too much",
        ),
        (FIVE, [*FIVE, message(0)], f"the answer has 5 of 5, has {message(0)}, which is too much"),
        (FIVE, FIVE[::-1], f"the answer has another order: at 0 {message(4)}, expected {message(0)}"),
        (FIVE, [*FIVE[:4], message(7)], f"the answer[4] is {message(7)}, expected {message(4)}"),
        (FIVE, MISSING, ""),
        (FIVE[:1], FIVE[1:2], ""),
        ("a", "b", ""),
        (1, 2, ""),
        (f"{LONG}ab", f"{LONG}b", "the answer from character 300 on is 'b', expected 'ab'"),
        ({"a": LONG, "b": 1}, {"a": LONG, "b": 2}, "the answer['b'] is 2, expected 1"),
        ({"a": LONG, "b": 1}, {"a": LONG}, "the answer['b'] is nothing, expected 1"),
        ([{"a": [LONG, 1]}], [{"a": [LONG, 2]}], "the answer[0]['a'][1] is 2, expected 1"),
    ],
)
def test_a_long_answer_is_reported_with_what_differs(wanted: object, got: object, difference: str) -> None:
    assert tell_difference([Exactly(wanted)], got) == (f"; {difference}" if difference else "")


class Window(Sessions):
    """Keeps the first four messages in place of the last four."""

    keeps_last: int | None = 4

    def make(self) -> None:
        self.rows: dict[str, list[object]] = {}

    def add(self, session: str, items: list[object]) -> None:
        self.rows[session] = [*self.rows.get(session, []), *items][:4]

    def get(self, session: str) -> list[object]:
        return self.rows.get(session, [])


def test_a_report_and_its_json_have_the_difference() -> None:
    broken = run(Window, (op("add", session="a", items=FIVE), op("get", session="a"))).broken
    assert broken is not None
    assert OTHERS in broken.message
    assert OTHERS in broken.allowed


class Live(Window):
    """Its callers get the list that it keeps."""

    copies = True
    keeps_last = None

    def get(self, session: str) -> list[object]:
        return self.rows.setdefault(session, [])


def test_an_item_says_that_its_caller_changed_what_it_got() -> None:
    items = (op("get", session="a"), op("add", session="a", items=FIVE[:1]), op("get", session="a"))
    emptied = "; then its caller empties what it gave and got"
    assert [line.endswith(emptied) for line in list_lines(Live, items)] == [False, True, True]
    items = (op("add", session="a", items=FIVE[:1]), op("get", session="a"), op("get", session="a"))
    for store, is_told in ((Live, True), (type("Own", (Live,), {"copies": False}), False)):
        assert (emptied in list_lines(store, items)[0]) == is_told


class Counted(Window):
    """The number of messages stands for the version."""

    stale = (KeyError,)

    def version(self, session: str) -> int:
        return len(self.rows.get(session, []))

    def append(self, session: str, items: list[object], version: int) -> None:
        self.add(session, items)


def test_a_version_is_shown_with_what_the_store_gave_for_it() -> None:
    items = (op("add", session="a", items=FIVE[:1]), op("version", session="a", version="r1"))
    assert list_lines(Counted, items)[1].endswith("  ->  'r1', which is 1")
    assert run(Counted, items).steps[1].told == "'r1'"  # the trace is as it has always been


def test_a_write_that_is_cut_short_is_no_failed_one_for_people_alone() -> None:
    """`os.write` tells how few bytes it wrote, and raises nothing."""
    short = Item("fail", PUT.ops, 1, "write", 7)
    assert list_lines(Seconds, (short,))[0].startswith(
        "put(key='a', value=1, ttl=1.5), of which write 1 writes only 7 % of its bytes  ->  "
    )
    assert str(short).endswith("of which write 1 (7 % done) fails")  # the trace is as it has always been
    assert short.event == "write 1 writes only 7 % of its bytes"
    assert structs.replace(short, part=0).event == "write 1 fails"
    assert Item("crash_in", PUT.ops, 1, "write", 7).event == "the process dies at write 1 (7 % done)"


@pytest.mark.parametrize(
    ("rule", "op", "words"),
    [
        ("raises", "make", "a store opens, also after a restart or a crash, and nothing is raised"),
        ("raises", "get", "requests with plain names and values raise nothing"),
        ("answer", "append", "an append with an old version is refused, and any other is done"),
        ("answer", "get", "what is read is what was written"),
        ("at-once", "append", "requests at once equal some order of them"),
    ],
)
def test_a_promise_is_told_for_its_operation(rule: str, op: str, words: str) -> None:
    assert tell_promise(rule, op) == words


@pytest.mark.parametrize(
    ("hits", "words"),
    [
        (ExpectedHits([], "tea", 1), "no hits, since nothing is there"),
        (
            ExpectedHits([["m1", "tea"]], "tea", 1),
            "at most 1 of [['m1', 'tea']], each that says 'tea' among them",
        ),
        (ExpectedHits([["m1", "tea"]], "milk", 1), "at most 1 of [['m1', 'tea']]"),
        (ExpectedHits([["m1", "tea"]], None, 2), "at most 2 of [['m1', 'tea']]"),
        (
            ExpectedHits([["m1", "tea"], ["m2", "tea"]], "tea", 1),
            "at most 1 of [['m1', 'tea'], ['m2', 'tea']]",
        ),
        (ExpectedHits([["m1", "tea"]], "milk", 2, fills=True), "1 of [['m1', 'tea']]"),
    ],
)
def test_hits_are_told_with_what_must_be_among_them(hits: ExpectedHits, words: str) -> None:
    assert str(hits) == words


def test_an_append_that_was_to_be_refused_is_told_so() -> None:
    items = (
        op("version", session="a", version="r1"), op("add", session="a", items=FIVE[:1]),
        op("append", session="a", items=FIVE[1:2], version="r1"),
    )  # fmt: skip
    broken = run(Counted, items).broken
    assert broken is not None
    assert broken.message == (
        "append: None; expected an error of `stale`, since the session has changed since that version"
    )

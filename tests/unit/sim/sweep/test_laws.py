"""Goal: what runs came to adds up in any order and any grouping, once for each chunk, and survives a file."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from umi_sim.kernel.progress import NOW
from umi_sim.runs.runner import run
from umi_sim.scenario import files as scenario
from umi_sim.scenario.floors import Summary
from umi_sim.sweep import journal, outside
from umi_sim.sweep.journal import Chunk, join_chunks
from umi_sim.sweep.plan import CHUNK_COUNT, FRESH_COUNT_MAX, SweepPlan, fresh_seed, source_of, target
from umi_sim.sweep.progress import Progress
from umi_sim.sweep.totals import (
    COUNTS,
    TOTALS,
    DivergentSeed,
    FoundFailure,
    LostSeed,
    Swept,
    Totals,
    of_verdict,
)

NAMES: Final = st.sampled_from(["smoke", "storm"])
SEEDS: Final = st.sampled_from([0, 7, 2**64 - 1])
COUNTERS: Final = st.dictionaries(st.sampled_from("abc"), st.integers(1, 9)).map(Counter)
SPANS: Final = st.tuples(st.integers(0, 99), st.integers(0, 99)).map(lambda ends: (min(ends), max(ends)))
FOUND: Final = st.builds(
    lambda name, seed, mark: FoundFailure(
        name, seed, "safety", f"r-{mark}", mark, "m\ud800", f"{mark}.json", "{}"
    ),
    NAMES, SEEDS, st.sampled_from("fg"),
)  # fmt: skip
SUMMARIES: Final = st.builds(
    Summary, st.integers(0, 9), reached=COUNTERS, fired=COUNTERS, pairs=COUNTERS.map(
        lambda counter: Counter({(key, "x"): count for key, count in counter.items()})
    ), ends=st.dictionaries(st.sampled_from(["n"]), SPANS),
)  # fmt: skip


@st.composite
def totals(draw: st.DrawFn) -> Totals:
    found = draw(st.lists(FOUND, max_size=2, unique_by=lambda each: each.fingerprint))
    apart = draw(
        st.lists(st.builds(DivergentSeed, NAMES, SEEDS, st.just("r"), st.just(("a", "b"))), max_size=1)
    )
    lost = draw(st.lists(st.builds(LostSeed, NAMES, SEEDS, st.just("why")), max_size=1))
    made = Totals(
        draw(st.integers(0, 9)), gated=draw(st.integers(0, 1)),
        hits=Counter({each.fingerprint: draw(st.integers(1, 3)) for each in found}),
        found={each.fingerprint: each for each in found},
        apart={(each.scenario, each.seed, each.rule): each for each in apart},
        lost={(each.scenario, each.seed): each for each in lost},
        sizes=draw(st.dictionaries(st.sampled_from(["steps", "items"]), SPANS)),
        summaries=draw(st.dictionaries(NAMES, SUMMARIES)),
    )  # fmt: skip
    for name in COUNTS:
        setattr(made, name, draw(COUNTERS))
    return made


def chunk_named(name: str, given: Totals) -> Chunk:
    return Chunk(name, "t", "smoke", "d", "", (), given)


CHUNKS: Final = st.lists(st.builds(chunk_named, st.sampled_from("12"), totals()), max_size=2)
FEW: Final = settings(max_examples=20)


def added(*parts: Totals) -> Totals:
    whole = Totals()
    for part in parts:
        whole.add(part)
    return whole


@FEW
@given(totals(), totals(), totals())
def test_totals_add_up_in_any_order_and_grouping(a: Totals, b: Totals, c: Totals) -> None:
    assert added(a, b) == added(b, a)
    assert added(added(a, b), c) == added(a, added(b, c))
    assert added(a) == a


def test_the_smallest_seed_of_a_failure_is_kept_and_all_hits_count() -> None:
    parts = [Totals(hits=Counter("f"), found={"f": FoundFailure("x", seed, "safety", "r", "f", "m", "p", "")})
             for seed in (3, 1, 2)]  # fmt: skip
    whole = added(*parts)
    assert (whole.found["f"].seed, whole.hits["f"]) == (1, 3)


@FEW
@given(CHUNKS, CHUNKS, CHUNKS)
def test_merging_is_commutative_associative_and_idempotent(a: Any, b: Any, c: Any) -> None:
    def merged(*parts: Any) -> list[Chunk]:
        return list(join_chunks(chunk for part in parts for chunk in part).values())

    assert merged(a, b) == merged(b, a)
    assert merged(merged(a, b), c) == merged(a, merged(b, c))
    assert merged(a, a) == merged(a)
    assert journal.add_up(join_chunks([*a, *b])) == journal.add_up(join_chunks([*b, *a]))


@FEW
@given(totals())
def test_totals_survive_as_plain_data(whole: Totals) -> None:
    assert TOTALS.read(json.loads(json.dumps(TOTALS.write(whole)))) == whole
    assert TOTALS.read(TOTALS.write(whole)) == whole


def test_the_result_of_a_run_survives_as_plain_data() -> None:
    file = scenario.find("smoke")
    whole = of_verdict("smoke", file, run(scenario.draw(file, 1)))
    assert TOTALS.read(TOTALS.write(whole)) == whole
    assert whole.sizes["steps"] == (whole.steps, whole.steps)


@pytest.mark.parametrize(
    "change", [{"runs": -1}, {"runs": True}, {"hits": {"a": "1"}}, {"sizes": {"a": [1]}}, {"found": [{}]},
               {"lost": [{"scenario": "x", "seed": 1, "why": ""}]}, {"summaries": {"x": None}}, {"marks": []}]
)  # fmt: skip
def test_plain_data_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected (a whole|keys|a list)"):
        TOTALS.read({**TOTALS.write(Totals()), **change})


# Plans.

OWN: Final = "smoke"


def seeds(plan: SweepPlan) -> list[int]:
    return [seed for task in plan.tasks() for seed in task.seeds]


def test_a_plan_has_given_seeds_then_fresh_ones_in_chunks() -> None:
    plan = SweepPlan((source_of(OWN),), range(25), 12, "0x2a")
    tasks = list(plan.tasks())
    assert [len(task.seeds) for task in tasks] == [10, 10, 5, 10, 2]
    assert CHUNK_COUNT == 10
    assert [bool(task.base) for task in tasks] == [False, False, False, True, True]
    assert seeds(plan) == [*range(25), *(fresh_seed("0x2a", index) for index in range(12))]
    assert plan.run_count == 37


def test_fresh_seeds_are_the_first_words_of_their_streams() -> None:
    assert [fresh_seed("42", index) for index in range(2)] == [1137791596771893224, 9693823728461311601]


def test_shards_share_out_all_seeds_and_none_twice() -> None:
    whole = SweepPlan((source_of(OWN),), range(25), 12, "7")
    parts = [structs.replace(whole, shard=(number, 3)) for number in (1, 2, 3)]
    assert sorted(seed for part in parts for seed in seeds(part)) == sorted(seeds(whole))
    assert sum(part.run_count or 0 for part in parts) == whole.run_count
    assert seeds(parts[1])[:3] == [1, 4, 7]


def test_chunks_are_named_by_code_scenario_and_seeds() -> None:
    plan = SweepPlan((source_of(OWN), source_of("storm")), range(20), 10, "7")
    names = [task.chunk for task in plan.tasks()]
    assert len(names) == len(dict.fromkeys(names)) == 6
    assert names == [task.chunk for task in plan.tasks()]
    assert target().startswith("umi_core ")


def test_fresh_seeds_of_two_bases_differ_and_without_git_one_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fresh_seed("1", 0) != fresh_seed("2", 0) != fresh_seed("2", 1)
    assert FRESH_COUNT_MAX == 1_000_000
    commit = "64aa92f6c0ffee0123456789abcdef0123456789"
    monkeypatch.setattr(outside, "describe_commit", lambda: f"{commit}-dirty")
    assert outside.base() == commit
    monkeypatch.setattr(outside, "describe_commit", lambda: "")
    assert outside.base() != outside.base()
    assert fresh_seed(outside.base(), 0) >= 0


@pytest.mark.parametrize(
    ("swept", "text"),
    [
        ([("a", [3], "")], "1 scenario, seeds 3"),
        ([("a", [1, 2, 3], ""), ("b", [2, 3, 4], "")], "2 scenarios, seeds 1..4"),
        ([("a", [0, 2, 4], ""), ("a", [99], "7")], "1 scenario, seeds 3 of 0..4 and 1 fresh"),
        ([], "0 scenarios, no seed"),
    ],
)
def test_a_summary_of_the_sweep_is_one_line(swept: Any, text: str) -> None:
    all_of = Swept()
    for each in swept:
        all_of.add(*each)
    assert all_of.describe() == text


# Journals and progress.


def chunk(count: int = 10, **changes: Any) -> Chunk:
    plan = SweepPlan((source_of(OWN),), range(count))
    (task,) = plan.tasks()
    return journal.chunk_of(task, Totals(runs=count, **changes))


@pytest.mark.parametrize("torn", [b"", b"{", b'{"format":"umi-sweep"', journal.HEAD + b"x" * 200_000])
def test_a_torn_last_line_was_never_written(torn: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    book = journal.Journal.open(path)
    book.append(chunk())
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert list(journal.read(path)) == [chunk().name]
    with book.lock():
        book.append(chunk(9))
    assert path.read_bytes() == whole + f"{journal.line_of(chunk(9))}\n".encode()


def test_two_sweeps_do_not_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    first, second = journal.Journal.open(path), journal.Journal.open(path)
    refused = pytest.raises(journal.BadLedger, match=r"x\.jsonl: another sweep is writing to it: wait")
    with first.lock(), refused, second.lock():
        pytest.fail("both write")
    with second.lock():
        second.append(chunk())
    assert list(journal.read(path)) == [chunk().name]


def test_a_chunk_that_lost_something_is_tried_again_and_the_better_one_counts(tmp_path: Path) -> None:
    lost = structs.replace(chunk(), totals=Totals(9, lost={(OWN, 3): LostSeed(OWN, 3, "why")}))
    book = journal.Journal.open(tmp_path / "x.jsonl")
    book.append(lost)
    assert not journal.read(book.path)[lost.name].is_done
    book.append(chunk())
    assert journal.read(book.path)[lost.name].is_done


def test_progress_tells_what_came_back_and_what_was_known_before() -> None:
    so_far = Progress(100)
    so_far.add(chunk(), True)
    so_far.add(chunk(), False)
    assert (NOW.done, NOW.of, NOW.unit) == (10, 90, "run")
    assert NOW.note == "0 failures, 0 marks, 10 runs known before"
    Progress(None, minutes=2).tell()
    assert (NOW.of, NOW.seconds) == (0, 120)

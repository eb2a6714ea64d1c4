"""Goal: two ways meet in a sound life, and are seen to part where a bug is planted in one of them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import msgspec
import pytest
from msgspec import structs

from tests.unit.sim.commands import lines_of
from tests.worlds import QUIET, SCOPE, Pair, saying
from umi_core.conditions import OPERATORS
from umi_core.config import Config
from umi_core.memory import Memory
from umi_core.messages.answers import Value, Wake
from umi_core.messages.effects import Done, Effect, Reply
from umi_core.messages.requests import CreateEntity, Get, Incr, Recall, Remember, Set
from umi_core.messages.results import Hit, Recalled, Resolution
from umi_core.recordings import RecordingHead
from umi_core.values import Turn
from umi_core.workflows import BUILT_IN
from umi_sim.explain import report
from umi_sim.judge import equivalences
from umi_sim.judge.equivalences import NAMES, OF_LIVES, choose_equivalences, forged, moments, replays
from umi_sim.judge.equivalences.lives import LifeRecorder, LifeStep, RecordedLife, copy_saved
from umi_sim.judge.equivalences.questions import compare_filtered
from umi_sim.judge.equivalences.table import COMPARISONS, check
from umi_sim.kernel.prng import Stream
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.broken import Broken
from umi_sim.runs.runner import run
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile import files as seed_file

HE = Recall("r", "Where does he live?", turns=(Turn("user", "Bob moved."),))


class Nobody(RecordingHead):
    """Whose recording begins with no scope."""

    def line(self) -> str:
        return "{}"


class RecordedPair(Pair):
    """A pair whose memory is recorded."""

    recorder: LifeRecorder = msgspec.field(default_factory=LifeRecorder)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.recorder.begin("a")
        step = self.memory.step

        def recorded(now_ms: int, value: Value) -> Any:
            effects = step(now_ms, value)
            self.recorder.record_step("a", self.memory, now_ms, value, effects)
            return effects

        self.memory.step = recorded  # type: ignore[method-assign]  # what an inspector does from outside

    def life(self) -> RecordedLife:
        life = self.recorder.end("a")
        assert life is not None
        return life


def a_life() -> RecordedLife:
    """Entries that expire, a question whose answer never comes, a failure, a query that is resolved."""
    pair = RecordedPair(model=saying(rewrite='"Where does Bob live?"'), now_ms=1_000)
    pair.run()
    for number, key in enumerate(("k1", "k2", "k3")):
        pair.step(Set(number, key, b"v", 10))
        pair.step(Incr(number + 10, f"n{key}"))
    pair.step(Remember("one", "Alice likes tea"))
    pair.now_ms += 50
    pair.step(Remember("two", "Bob snores"))
    pair.fail("unavailable")
    pair.run()
    pair.step(Recall("late", "tea"))
    pair.pending.clear()
    pair.step(HE)
    pair.run()
    for number, fact in enumerate(("is allergic to nuts", "plays chess")):
        pair.step(CreateEntity(f"fact {number}", fact, "profile"))
        pair.run()
    pair.step(Get("end", "k1"))
    return pair.life()


def test_every_pair_of_ways_meets_in_a_sound_life_and_was_compared() -> None:
    compared: Counter[str] = Counter()
    check(a_life(), NAMES, compared)
    assert [name for name in OF_LIVES if not compared[f"equal: {name}"]] == []


@contextmanager
def broken(rule: str) -> Iterator[None]:
    with pytest.raises(Broken) as raised:
        yield
    assert raised.value.rule == rule, raised.value


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("E-RESTORE", "waiting-kept-outside-state"),
        ("E-JUMP", "jump-wakes-one-only"),
        ("E-COMMUTE", "bytes-in-order-of-arrival"),
    ],
)
def test_a_bug_in_one_of_two_ways_is_seen(name: str, mutant: str) -> None:
    rule = equivalences.rule_of(name)
    with MUTANTS[mutant].plant(BUILT_IN):
        life = a_life()
        with broken(rule):
            check(life, (name,), Counter())


def test_a_run_with_other_inputs_is_no_replay() -> None:
    life = a_life()
    steps = list(life.steps)
    steps[-1] = steps[-1]._replace(effects=(Reply("end", Done(b"else")),))
    with broken("replay-inputs"):
        check(structs.replace(life, steps=tuple(steps)), ("E-REPLAY",), Counter())
    with broken("replay-inputs"):
        check(structs.replace(life, digest=b"another"), ("E-REPLAY",), Counter())


def stepped(memory: Memory, now_ms: int, value: Value) -> LifeStep:
    return LifeStep(now_ms, value, memory.registry, memory.step(now_ms, value), memory.deadline_ms())


def test_a_recording_that_loses_something_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "digest_line", lambda effects: '""')
    with pytest.raises(Broken, match="the recording of a life, read back"):
        replays.compare_replay(a_life())
    monkeypatch.setattr(replays, "RecordingHead", Nobody)
    with pytest.raises(Broken, match="the recording of a life cannot be read"):
        replays.compare_replay(a_life())


def test_an_input_without_bytes_is_run_all_the_same() -> None:
    pair = RecordedPair()
    pair.ask(Set("s", "k", b"1"))
    pair.ask(Get("g", "\udc80"))
    assert replays.compare_replay(pair.life()) >= 2


def counts_of_copies(monkeypatch: pytest.MonkeyPatch, value: bytes) -> tuple[int, int, int]:
    """Of a memory with entries of this value: its steps, how often it is copied, and bytes of all copies."""
    pair, sizes = RecordedPair(now_ms=1_000), list[int]()
    pair.run()
    for number in range(30):
        pair.step(Set(number, f"k{number}", value, 10_000))
    life = pair.life()

    def counted(memory: Memory) -> tuple[Memory, int]:
        found = copy_saved(memory)
        sizes.append(found[1])
        return found

    monkeypatch.setattr(replays, "copy_saved", counted)
    assert replays.compare_restored(life) == len(life.steps)
    monkeypatch.setattr(replays, "copy_saved", copy_saved)
    return len(life.steps), len(sizes), sum(sizes)


def test_a_small_memory_is_copied_every_few_steps_and_a_large_one_as_often_as_its_steps_can_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step_count, copy_count, _ = counts_of_copies(monkeypatch, b"v")
    every = replays.COPY_STEPS + 1
    assert step_count / (every + 3) <= copy_count <= step_count / every + 1
    step_count, copy_count, size_bytes = counts_of_copies(monkeypatch, b"v" * 2_000)
    assert 2 < copy_count < step_count / every
    assert size_bytes <= replays.STEP_BYTES * (step_count + copy_count) + 80_000  # the last is not paid yet


def test_requests_that_compete_for_room_are_not_exchanged() -> None:
    memory = Memory(SCOPE, structs.replace(QUIET, working_entry_count_max=1))
    values: list[Value] = [Wake(), Set(1, "a", b"1"), Set(2, "b", b"2")]
    steps = tuple(stepped(memory, 0, value) for value in values)
    life = RecordedLife("a", 1, SCOPE, memory.state.config, steps, memory.digest())
    assert COMPARISONS["E-COMMUTE"](life) == 0


def test_what_a_moment_costs_does_not_grow_with_the_life() -> None:
    assert 8 < moments.compare_jumps(life_of_sets(400)) < 20


@pytest.mark.parametrize(
    ("first", "numbers"),
    [
        (0, [0, 100, 200, 300]),
        (50, [50, 100, 200, 300]),
        (250, [250, 251, 252, 300]),
        (350, [350, 351, 352, 353]),
    ],
)
def test_moments_are_no_sooner_left_than_is_their_share_of_a_life(first: int, numbers: list[int]) -> None:
    passed = list[int]()

    def leave(number: int, step: LifeStep, memory: Memory) -> bool:
        passed.append(number)
        return number != numbers[0]

    count = moments.at_moments(life_of_sets(399), lambda number, step, memory: number >= first, leave, 4)
    assert (passed, count) == (numbers, len(numbers) - 1)


def life_of_sets(count: int) -> RecordedLife:
    memory = Memory(SCOPE, QUIET)
    values: list[Value] = [Wake(), *(Set(n, f"k{n % 7}", b"v", 10) for n in range(count))]
    steps = tuple(stepped(memory, n, value) for n, value in enumerate(values))
    return RecordedLife("a", 1, SCOPE, memory.state.config, steps, memory.digest())


def test_a_jump_goes_no_further_than_the_question_that_comes_next_may_wait() -> None:
    """Tiny 8: once the embedder is given up, storage is asked, and is given up before any backoff is over."""
    pair = RecordedPair(config=structs.replace(QUIET, model_timeout_ms=20, store_timeout_ms=30), now_ms=1_000)
    pair.run()
    pair.step(Recall("late", "tea"))
    for _ in range(2):  # the embedder does not answer, and is asked again
        due_ms = pair.memory.deadline_ms()
        assert due_ms is not None
        pair.now_ms = due_ms
        pair.step(Wake())
    pair.step(Set("set", "k", b"v", 20 + 30))
    pair.step(Wake())
    COMPARISONS["E-JUMP"](pair.life())


def life_of(*values: Value) -> RecordedLife:
    memory = Memory(SCOPE, QUIET)
    steps = tuple(stepped(memory, 0, value) for value in values)
    return RecordedLife("a", 1, SCOPE, memory.state.config, steps, memory.digest())


class Silent(Memory):
    """It lives on, and says nothing."""

    def step(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        super().step(now_ms, value)
        return ()


class Sleepy(Memory):
    def deadline_ms(self) -> int | None:
        return 7


class Secret(Memory):
    """It says what it should, and is another memory."""

    def step(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        self.state.count("secret")
        return super().step(now_ms, value)


@pytest.mark.parametrize("made_anew", [Silent, Sleepy, Secret])
def test_a_memory_made_anew_is_the_same_in_all(
    monkeypatch: pytest.MonkeyPatch, made_anew: type[Memory]
) -> None:
    life = life_of(Wake(), Set(1, "a", b"1"))
    monkeypatch.setattr(Memory, "restore", made_anew.restore)
    with broken("copied-state-continues"):
        check(life, ("E-RESTORE",), Counter())


def test_a_reply_that_knows_what_came_before_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    life, step = life_of(Wake(), Set(1, "a", b"1"), Set(2, "b", b"2")), Memory.step

    def counting(memory: Memory, now_ms: int, value: Value) -> Any:
        effects, entries = step(memory, now_ms, value), memory.state.tiers.working.entries
        return (Reply(value.op_id, Done(len(entries))),) if isinstance(value, Set) else effects

    monkeypatch.setattr(Memory, "step", counting)
    with broken("either-order"):
        check(life, ("E-COMMUTE",), Counter())


# A filter.


def a_hit(name: str, kind: str, time_ms: int) -> Hit:
    return Hit(name, 1, kind, name, "fact", 500_000, 500_000, time_ms)


def answering(whole: tuple[Hit, ...], forgets: str = "") -> Any:
    """A search over these hits that, given one of the filters, finds nothing."""

    def ask(args: Any) -> Done:
        start_ms, end_ms = args.get("time_range") or (None, None)
        hits = [
            hit for hit in whole
            if hit.type in args.get("types", (hit.type,))
            and (start_ms is None or start_ms <= hit.time_ms) and (end_ms is None or hit.time_ms <= end_ms)
            and all(OPERATORS[how](getattr(hit, field), value) for field, how, value in args.get("where", ()))
        ]  # fmt: skip
        found = () if forgets in args else tuple(hits)
        return Done(Recalled(found, Resolution("clear", args["query"]), (args["query"],)))

    return ask


def test_a_filtered_result_is_the_whole_one_filtered() -> None:
    whole = (a_hit("Alice", "person", 5), a_hit("Acme", "organization", 7))
    assert compare_filtered(answering(whole), ("tea",), 100) == 9
    for forgotten in ("types", "time_range", "where"):
        with broken("filter-equals-whole"):
            compare_filtered(answering(whole, forgotten), ("tea",), 100)
    assert compare_filtered(answering(whole), ("tea",), 2) == 0  # it may have been cut


# In a run.


def test_plain_runs_restore_and_swarm_runs_draw_each_by_its_cost() -> None:
    assert choose_equivalences(None, 7, "plain") == ("E-RESTORE",)
    assert choose_equivalences(["E-JUMP"], 7, "plain") == ("E-JUMP",)
    drawn = Counter(name for seed in range(800) for name in choose_equivalences(None, seed, "swarm"))
    dear = {name: 10 < drawn.pop(name) < 45 for name in ("E-FORGE", "E-FAIL")}
    assert all(dear.values()), dear
    assert {name: 60 < drawn[name] < 140 for name in drawn} == dict.fromkeys(drawn, True)
    assert {*NAMES} == {*drawn, *dear}


def test_a_run_tells_how_often_two_ways_met_and_a_seed_file_keeps_which() -> None:
    config = structs.replace(draw(find("working"), 3), equivalences=("E-REPLAY", "E-JUMP"))
    verdict = run(config)
    text = " ".join(" ".join(lines_of(report.of_run(verdict, "", with_details=True))).split())
    assert text.count(f"(E-REPLAY): equal {verdict.steps} times") == 1
    assert text.count("(E-JUMP): equal ") == 1
    again = seed_file.config_to_json(config)["equivalences"]
    assert list(again) == ["E-REPLAY", "E-JUMP"]


def test_a_memory_restarted_begins_another_life() -> None:
    recorder = LifeRecorder()
    assert recorder.end("a") is None
    for count in (1, 2):
        memory = Memory(SCOPE, Config())
        recorder.begin("a")
        recorder.record_step("a", memory, 0, Wake(), memory.step(0, Wake()))
        life = recorder.end("a")
        assert life is not None
        assert (life.number, len(life.steps)) == (count, 1)


def test_a_mistake_of_the_simulator_is_no_finding_about_a_memory_that_was_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mistaken(memory: Memory) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(forged, "run_on", mistaken)
    with pytest.raises(KeyError, match="ours"):
        forged.check_restored(Memory(SCOPE, registry=BUILT_IN).snapshot(), BUILT_IN, 0, "nothing changed")


def test_half_of_what_is_forged_is_what_operations_hold() -> None:
    pair = RecordedPair()
    pair.run()
    pair.step(HE)
    *_, body, _ = msgpack.unpackb(pair.memory.snapshot(), strict_map_key=False)
    tree = msgpack.unpackb(body)
    forger = forged.Forger(tree, Stream(1, "forge"))
    assert forged.part_at(tree, (*forged.OPERATIONS, 0)) == len(pair.memory.state.operations) == 1
    edits = [forger.draw_edit() for _ in range(400)]
    at_work = [place for place, _ in edits if place[: len(forged.OPERATIONS)] == forged.OPERATIONS]
    others = [forger.draw_path() for _ in range(400)]
    by_chance = [place for place in others if place[: len(forged.OPERATIONS)] == forged.OPERATIONS]
    assert len(at_work) > 200 + len(by_chance) // 2 - 30
    rows = [(forged.part_at(tree, place), part) for place, part in edits]
    assert sum(old != new for old, new in rows) > 300
    assert any(named(old) and named(new) and old[0] != new[0] for old, new in rows)


def named(part: Any) -> bool:
    """Whether it begins with what kind of thing it is."""
    return isinstance(part, list) and part != [] and isinstance(part[0], int)


@pytest.mark.parametrize(
    ("part", "old", "is_like"),
    [
        (7, 3, True),
        ("a", 3, False),
        ([4, "b"], [5], True),
        (["b"], [5], False),
        (["b"], [], True),
        ([], [5], False),
    ],
)
def test_a_row_may_stand_for_another_and_a_number_for_a_number(part: Any, old: Any, is_like: bool) -> None:
    assert forged.is_like(part, old) is is_like

"""Goal: shrinking finds the little of a run that still fails in the same way, and says so truly.

The lives here are of a store of keys: a hundred random requests of one agent, none of them chosen for a bug.
"""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from msgspec import structs

from tests.known_seeds import seeds_of
from umi_core.ids import session_id
from umi_core.memory import Memory
from umi_core.values import Scope
from umi_sim.kernel.prng import Stream
from umi_sim.mutants import Mutant, TextEdit
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record import fingerprint
from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.runs import runner
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.files import SeedFile, loads, of_verdict, text_of
from umi_sim.shrink import NothingToShrink, search, shrink, shrink_whole

SESSION = session_id(Scope("u1", "a1"), PLAIN.start_ms + 1, 0)
KEYED = ("set", "set", "get", "delete")
SESSIONS = (*KEYED, "save_session", "load_session")


def life(names: tuple[str, ...], ttl_ms_max: int) -> Iterator[Op]:
    stream, at_ms = Stream(2, "life"), 1
    yield Op("o1", at_ms, "a", "create_session", {})
    for number in range(2, 100):
        at_ms += stream.below(4)
        key, value = stream.pick("abcd"), b"x" * stream.below(5)
        args: dict[str, dict[str, object]] = {
            "set": {"key": key, "value": value, "ttl_ms": stream.between(1, ttl_ms_max)},
            "get": {"key": key}, "delete": {"key": key}, "load_session": {"session_id": SESSION},
        }  # fmt: skip
        name = stream.pick(names)
        yield Op(f"o{number}", at_ms, "a", name, args.get(name, {}))


RESTARTING = Mutant(
    "versions-restart-at-load", "session", "a loaded session begins at version 1 again",
    (TextEdit(
        "umi_core/workflows/sessions.py", "loaded.info, version=row.version", "loaded.info, version=1"
    ),),
    (), "sessions",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _one_more_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MUTANTS, RESTARTING.name, RESTARTING)


def failing(mutant: str, *items: Item, **options: Any) -> SeedFile:
    config: RunConfig = structs.replace(PLAIN, scenario="working", planted=mutant, **options)
    verdict, _ = run_once(config, items)
    assert verdict.failure is not None
    return of_verdict(verdict)


def names(seed: SeedFile) -> list[str]:
    return [item.name if isinstance(item, Op) else type(item).__name__ for item in seed.items]


# Known sizes. A request of ours carries its time, so that waiting is no request, as it is for a plain store;
# sessions are written by their creation, which is a save and makes version 1. A get of this life misses what
# a session lost before an invariant looks at what a save would write: so it is saved and loaded, and the
# audit gets it.
EXPIRY = ("get-alive-at-expiry", KEYED, 20, ["set", "delete"])
LEAK = ("overwrite-leaks-space", KEYED, 20, ["set", "set"])
LOST = ["create_session", "set", "set", "save_session", "load_session"]
ENTRY = ("snapshot-drops-an-entry", SESSIONS, 2_000, LOST)
VERSION = (RESTARTING.name, SESSIONS, 20, ["create_session", "save_session", "load_session", "save_session"])
BUGS = [EXPIRY, LEAK, ENTRY, VERSION]


@pytest.fixture(scope="module")
def shrunk() -> dict[str, tuple[SeedFile, SeedFile]]:
    with patch.dict(MUTANTS, {RESTARTING.name: RESTARTING}):
        whole = {mutant: failing(mutant, *life(kinds, ttl_ms)) for mutant, kinds, ttl_ms, _ in BUGS}
        return {mutant: (seed, shrink(seed)) for mutant, seed in whole.items()}


Shrunk = dict[str, tuple[SeedFile, SeedFile]]


@pytest.mark.parametrize(("mutant", "expected"), [(bug[0], bug[3]) for bug in BUGS])
def test_a_bug_of_a_store_shrinks_to_the_requests_that_it_needs(
    shrunk: Shrunk, mutant: str, expected: list[str]
) -> None:
    whole, small = shrunk[mutant]
    assert names(small) == expected
    assert small.fingerprint == whole.fingerprint
    assert (small.original, small.original_config) == (whole.items, whole.config)
    assert small.minimised is not None
    assert small.minimised.before == {"op": len(whole.items), "fault": 0, "schedule": 0, "clock": 0}
    assert small.minimised.after == {"op": len(expected), "fault": 0, "schedule": 0, "clock": 0}
    assert (small.minimised.one_minimal, small.minimised.stopped) == (True, "fixpoint")


@pytest.mark.parametrize("mutant", [bug[0] for bug in BUGS])
def test_what_is_left_fails_as_recorded_and_without_any_item_it_does_not(shrunk: Shrunk, mutant: str) -> None:
    _, small = shrunk[mutant]
    verdict, _ = run_once(small.config, small.items)
    assert verdict.failure is not None
    assert fingerprint.of(verdict.failure) == small.fingerprint
    assert verdict.trace_hash == small.expect.trace
    assert small.minimised is not None
    assert small.minimised.needed == tuple(item.id for item in small.items)
    for gone in small.items:
        other, _ = run_once(small.config, [item for item in small.items if item is not gone])
        assert other.failure is None or fingerprint.of(other.failure) != small.fingerprint


@pytest.mark.parametrize("mutant", [EXPIRY[0], LEAK[0]])
def test_shrinking_what_was_shrunk_gives_the_same_file(shrunk: Shrunk, mutant: str) -> None:
    again = loads(text_of(shrunk[mutant][1]).encode(), "small")
    assert shrink(again) is again
    bare = structs.replace(again, minimised=None)
    assert structs.replace(shrink(bare), minimised=None).items == again.items


@pytest.mark.slow
@pytest.mark.parametrize("name", ["after-hooks-in-order", "cut-list-closed"])
def test_rounds_go_on_until_one_changes_nothing(name: str) -> None:
    """These get simpler in the second round."""
    small = shrink(found(MUTANTS[name]))
    assert shrink(structs.replace(small, minimised=None)).items == small.items


def found(bug: Mutant) -> SeedFile:
    configs = (draw(find(bug.scenario), seed, bug.overrides) for seed in seeds_of(bug))
    verdicts = (run_once(structs.replace(config, planted=bug.name))[0] for config in configs)
    return of_verdict(next(verdict for verdict in verdicts if verdict.failure))


def test_ids_times_and_arguments_are_plain(shrunk: Shrunk) -> None:
    whole, small = shrunk[EXPIRY[0]]
    assert all(item.id in [each.id for each in whole.items] for item in small.items)
    first, second = small.items
    assert isinstance(first, Op)
    assert isinstance(second, Op)
    assert (first.at_ms, first.args) == (0, {"key": "", "value": b"", "ttl_ms": 1})
    assert (second.at_ms, second.args) == (1, {"key": ""})


# Faults, clocks, agents and options.


def test_what_has_nothing_to_do_with_the_failure_goes() -> None:
    noise = (
        Op("o1", 0, "b", "remember", {"text": "Alice works at Acme."}),
        Fault("f1", "storage_lost", "o1/commit#1", {"told": "unknown"}),
        ClockMove("c1", 5, "a", "jump", {"by_ms": 1_000}),
        Op("o2", 5, "a", "set", {"key": "ключ", "value": b"1", "ttl_ms": 900}),
        Op("o3", 6, "a", "set", {"key": "ключ", "value": b"", "ttl_ms": 900}),
        Op("o4", 7, "b", "len", {}),
    )
    two = (PLAIN.agents[0], structs.replace(PLAIN.agents[0], name="b", scope=Scope("u2", "a2"), skew_ms=-77))
    whole = failing(
        LEAK[0], *noise, agents=two, latency="spread", mode="swarm", faults={"storage_lost": (1, 4)},
        memory={"working_bytes_max": 500}, policy="random",
    )  # fmt: skip
    small = shrink(whole)
    assert names(small) == ["set", "set"]
    assert small.config == structs.replace(
        PLAIN, scenario="working", planted=LEAK[0], agents=PLAIN.agents, steps_max=22_000
    )


def test_a_fault_that_the_failure_needs_stays_with_its_request() -> None:
    items = (
        Op("o6", 0, "a", "len", {}),
        Op("o7", 40, "a", "remember", {"text": "Alice works at Acme."}),
        Fault("f2", "storage_slow", "o7/extract#1", {"after_ms": 5}),
        Fault("f3", "storage_refused", "o7/commit#1", {}),
        Op("o8", 90_000, "a", "bytes", {}),
    )
    rates = {"storage_refused": (1, 4), "storage_slow": (1, 4)}
    done = shrink_whole(failing("refused-is-done", *items, mode="swarm", faults=rates))
    assert [item.id for item in done.seed.items] == ["o7", "f3"]
    assert done.without == {"f3": "passes"}  # without o7 nothing is asked
    assert done.seed.config.faults == {"storage_refused": (1, 4)}


def test_a_jump_of_the_clock_becomes_time_that_passes() -> None:
    items = (
        Op("o1", 0, "a", "set", {"key": "k", "value": b"", "ttl_ms": 50}),
        ClockMove("c1", 10, "a", "jump", {"by_ms": 40}),
        Op("o2", 10, "a", "get", {"key": "k"}),
    )
    assert names(shrink(failing(EXPIRY[0], *items))) == ["set", "get"]


def test_a_request_keeps_the_id_of_another_reply_when_that_id_changes() -> None:
    """Session ids are made of scope and time: o3 names the session of o1 by whichever op, and whenever."""
    items = (
        Op("o1", 1_234, "b", "create_session", {"members": ("a1",)}),
        Op("o2", 1_240, "a", "set", {"key": "k", "value": b"1"}),
        Op("o3", 1_300, "a", "load_session", {"session_id": session_of("a2", 1_234 + 150)}),
        Fault("f1", "storage_bit_flip", "o3/read#1", {"byte": 0, "bit": 0, "latent": False}),
    )
    two = (PLAIN.agents[0], structs.replace(PLAIN.agents[0], name="b", scope=Scope("u1", "a2"), skew_ms=150))
    rates = {"storage_bit_flip": (1, 3)}
    small = shrink(failing("load-clears-first", *items, agents=two, mode="swarm", faults=rates))
    created, _, loaded, _ = small.items
    assert isinstance(created, Op)
    assert isinstance(loaded, Op)
    assert (created.at_ms, created.agent, created.args) == (1, "a", {})
    assert loaded.args == {"session_id": session_of("a1", created.at_ms)}


def session_of(agent: str, at_ms: int) -> str:
    return session_id(Scope("u1", agent), PLAIN.start_ms + at_ms, 0)


def test_what_the_audit_shows_as_well_needs_no_request_that_shows_it() -> None:
    created = session_of("a1", 1)
    items = (
        Op("o1", 1, "a", "create_session", {}),
        Op("o2", 2, "a", "set", {"key": "k", "value": b""}),
        Op("o3", 3, "a", "load_session", {"session_id": created}),
    )
    whole = failing("load-merges", *items)
    assert whole.failure is not None
    assert whole.failure.item == "o3"
    small = shrink(whole)
    assert names(small) == ["create_session", "set"]
    assert small.minimised is not None
    assert small.minimised.runs < 30  # 40 if only the last round meets it


# How far a run goes.


def test_everything_is_looked_at_before_healing_may_mend_it() -> None:
    sets = [Op(f"o{number}", number, "a", "set", {"key": str(number), "value": b""}) for number in (1, 2)]
    verdict, _ = run_once(structs.replace(PLAIN, planted=ENTRY[0]), sets)
    assert verdict.failure is not None
    assert (verdict.failure.rule, verdict.healed_at_step) == ("snapshot-roundtrip", 0)


def test_a_run_may_end_where_healing_begins_or_a_little_later() -> None:
    whole, _ = run_once(PLAIN, ())
    for more in (0, 3):
        verdict, _ = run_once(PLAIN, (), healed_step_max=more)
        assert verdict.failure is not None
        assert (verdict.failure.kind, verdict.steps) == ("timeout", whole.healed_at_step + more)


# Liveness, budgets, keys pressed, other failures.


def test_a_failure_of_liveness_shrinks_with_the_liveness_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Memory.deadline_ms

    def never_rests(self: Memory) -> int | None:
        is_full = len(self.state.tiers.working.entries) > 1
        return self.state.seen_ms if is_full else original(self)

    monkeypatch.setattr(Memory, "deadline_ms", never_rests)
    whole = failing("ttl-zero-is-forever", *list(life(KEYED, 2_000))[:40])
    assert whole.failure is not None
    assert (whole.failure.kind, whole.failure.rule) == ("liveness", "progress")
    assert names(shrink(whole))[-2:] == ["set", "set"]


@pytest.mark.parametrize(("budget", "lack"), [({"runs_max": 0}, "runs"), ({"seconds_max": 0}, "seconds")])
def test_without_a_budget_nothing_is_run_and_nothing_is_claimed(budget: dict[str, int], lack: str) -> None:
    whole = failing(LEAK[0], *life(KEYED, 20))
    refused = pytest.raises(NothingToShrink, match=f"out of {lack} before it was seen to fail")
    with patch.object(search, "run_once", side_effect=AssertionError), refused:
        shrink(whole, **budget)


def test_a_small_budget_leaves_something_smaller_that_shrinks_on() -> None:
    whole = failing(LEAK[0], *life(KEYED, 20))
    some = shrink(whole, runs_max=6)
    assert some.minimised is not None
    assert some.minimised.runs == 6
    assert not some.minimised.one_minimal
    assert len(some.items) < len(whole.items)
    rest = shrink(some)
    assert names(rest) == ["set", "set"]
    assert rest.original == whole.items


def test_a_key_pressed_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = failing(LEAK[0], *life(KEYED, 20))
    count = 0

    def interrupted(*args: Any, **how: Any) -> Any:
        nonlocal count
        count += 1
        if count == 8:
            raise KeyboardInterrupt
        return runner.run_once(*args, **how)

    monkeypatch.setattr(search, "run_once", interrupted)
    some = shrink(whole)
    assert some.minimised is not None
    assert (some.minimised.stopped, some.minimised.one_minimal) == ("interrupted", False)
    assert len(some.items) < len(whole.items)
    assert some.fingerprint == whole.fingerprint


def test_an_error_of_ours_ends_a_candidate_and_not_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = failing(LEAK[0], *life(KEYED, 20))

    def shaky(config: RunConfig, items: Any, **how: Any) -> Any:
        if len(items) % 2:
            raise ValueError("no such world")
        return runner.run_once(config, items, **how)

    monkeypatch.setattr(search, "run_once", shaky)
    done = shrink_whole(whole)
    assert names(done.seed) == ["set", "set"]
    assert done.without == {item.id: "cannot run" for item in done.seed.items}


def test_another_failure_is_kept_and_not_followed() -> None:
    items = (
        Op("o1", 0, "a", "set", {"key": "k", "value": b"x" * 40}),
        Op("o2", 1, "a", "set", {"key": "k", "value": b""}),
        Op("o3", 2, "a", "set", {"key": "l", "value": b"x" * 62}),
    )
    whole = failing(LEAK[0], *items, memory={"working_bytes_max": 64})
    done = shrink_whole(whole)
    assert whole.failure is not None
    assert whole.failure.rule == "no-spurious-refusal"
    assert done.seed.fingerprint == whole.fingerprint
    others = [verdict.failure.rule for verdict in done.others if verdict.failure]
    assert "space-accounting" in others
    off = ("space-accounting",)
    done = shrink_whole(structs.replace(whole, config=structs.replace(whole.config, off=off)))
    assert done.seed.config.off == off
    assert "space-accounting" not in [it.failure.rule for it in done.others if it.failure]


def test_a_run_that_does_not_fail_so_is_refused() -> None:
    whole = failing(LEAK[0], *life(KEYED, 20))
    with pytest.raises(NothingToShrink, match="does not fail as recorded"):
        shrink(structs.replace(whole, config=structs.replace(whole.config, planted=None)))
    with pytest.raises(NothingToShrink, match="expects to pass"):
        shrink(structs.replace(whole, failure=None))

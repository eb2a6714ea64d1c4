"""Goal: a deleted agent is gone for good, whatever was on its way, and is opened with nothing (K8.5)."""

import pytest
from msgspec import structs

from tests.worlds import ALICE, Pair, check_step
from umi_core.errors import Fenced, KeyReused, Rejected, StorageFull
from umi_core.kelpie import requests as api
from umi_core.kelpie.agents import PURGED
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.results import AgentSwitched, Appended, MessagesShown
from umi_core.limits import LIFE_MAX, PURGE_AGAIN_MS, PURGE_ROW_COUNT_MAX
from umi_core.memory import Memory
from umi_core.messages.answers import Value
from umi_core.messages.effects import Asked, Commit, Done, Failed, Outcome, Read, Refused, Unknown
from umi_core.messages.requests import (
    Blocks,
    CreateSession,
    Get,
    GetEntity,
    LoadSession,
    Remember,
    Render,
    SaveSession,
    Set,
    SetBlock,
)
from umi_core.messages.results import as_repeated
from umi_core.state import Tiers
from umi_sim.judge.state import before_step
from umi_sim.judge.state.steps import check_emptied
from umi_sim.record.broken import Broken

GONE = Refused(NotFound("agent", "a1"))
SAID = ((("role", "user"), ("content", "hello")),)


def purged(pair: Pair) -> Pair:
    """All that is due of a closed agent is done."""
    while pair.memory.state.tiers.upkeep or pair.pending:
        _ = pair.answer() if pair.pending else pair.wake()
    return pair


def full(made: type[Pair] = Pair) -> Pair:
    """An agent that has something of everything that is asked for here."""
    pair = made().run()
    for op_id, request in enumerate((
        Remember("", "Alice likes tea"), api.CreateBlock("", "notes", "tea"), api.AddMessages("", SAID),
        api.AddArchival("", "likes tea"),
    )):  # fmt: skip
        assert isinstance(pair.ask(structs.replace(request, op_id=f"before {op_id}")), Done)
    return pair


class Watched(Pair):
    """Every step is held to what may come of it."""

    def step(self, value: Value) -> list[Asked]:
        before = before_step(self.memory.state)
        asked = super().step(value)
        check_step(before, value, self.memory.state)
        return asked


def list_kinds(pair: Pair) -> list[str]:
    return sorted({row.address.kind for row in pair.storage.live_rows(pair.scope)})


def switched(outcome: Outcome) -> str:
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, AgentSwitched)
    return outcome.value.change


def deleted() -> Pair:
    pair = full()
    assert switched(pair.ask(api.DeleteAgent("d"))) == "closed"
    return purged(pair)


@pytest.mark.uncounted
@pytest.mark.parametrize(
    "request_",
    [
        Remember(1, "Bob snores"), GetEntity(1, ALICE), Blocks(1), Render(1), SetBlock(1, "human", "x"),
        CreateSession(1), SaveSession(1), LoadSession(1, "s"), api.ListBlocks(1),
        api.AddMessages(1, SAID, "k"), api.BuildSystemPrompt(1),
        api.GetArchival(1, "arc_000000000001"), api.DeleteAgent(1), api.DeleteAgent(1, "k"),
    ],
    ids=lambda request: type(request).__name__,
)  # fmt: skip
def test_of_a_closed_agent_nothing_is_found(request_: api.ApiRequest) -> None:
    assert deleted().ask(request_) == GONE


def test_a_host_learns_whether_rows_of_a_closed_agent_are_being_removed() -> None:
    pair = full()
    assert not pair.memory.is_purging()
    assert switched(pair.ask(api.DeleteAgent("d"))) == "closed"
    assert pair.memory.is_purging()
    assert not purged(pair).memory.is_purging()
    begun = Pair()
    begun.wake()
    assert begun.memory.state.phase == "recovering"
    assert begun.memory.is_purging()


def test_no_tier_outlives_an_agent() -> None:
    pair = full(Watched)
    assert switched(pair.ask(api.DeleteAgent("d"))) == "closed"
    assert switched(purged(pair).ask(api.OpenAgent("o"))) == "opened"
    with pytest.raises(Broken, match="tiers of a closed agent"):
        check_emptied(Tiers(), Tiers(divisions={"facts": 1}))


def test_rows_left_by_a_purge_have_no_text_of_a_turn() -> None:
    assert list_kinds(deleted()) == ["epoch", "log", "receipt"]


def test_an_agent_that_is_opened_again_has_nothing_and_goes_on_with_its_numbers() -> None:
    pair = deleted()
    assert switched(pair.ask(api.OpenAgent("o"))) == "opened"
    assert pair.ask(Blocks("b")) == Done(())
    assert pair.ask(GetEntity("e", ALICE)) == Done(None)
    assert pair.ask(api.ListMessages("l")) == Done(MessagesShown((), 0))
    added = [pair.ask(api.AddMessages("m", SAID)), pair.ask(api.AddArchival("a", "x"))]
    assert added == [
        Done(Appended("message", 2, 1, pair.now_ms)),
        Done(Appended("archival", 2, 1, pair.now_ms)),
    ]


@pytest.mark.parametrize(
    ("request_", "seqs", "beside"),
    [
        (api.ListMessages("l"), [4, 5, 6], (False, False)),
        (api.ListMessages("l", limit=2), [5, 6], (True, False)),
        (api.ListMessages("l", before=5), [4], (False, True)),
        (api.ListMessages("l", before=3), [], (False, True)),
        (api.ListMessages("l", after=1, limit=2), [4, 5], (False, True)),
        (api.ListMessages("l", after=5), [6], (True, False)),
    ],
)
def test_a_page_begins_behind_what_went_with_the_agent(
    request_: api.ListMessages, seqs: list[int], beside: tuple[bool, bool]
) -> None:
    pair = Pair().run()
    pair.ask(api.AddMessages(1, SAID * 3))
    pair.ask(api.DeleteAgent(2))
    purged(pair).ask(api.OpenAgent(3))
    pair.ask(api.AddMessages(4, SAID * 3))
    outcome = pair.ask(request_)
    assert isinstance(outcome, Done)
    page = outcome.value
    assert isinstance(page, MessagesShown)
    assert ([it.seq for it in page.messages], page.total) == (seqs, 3)
    assert (page.has_older, page.has_newer) == beside


def test_opening_an_open_agent_changes_nothing_but_uses_its_key() -> None:
    pair = full()
    before = list_kinds(pair)
    assert switched(pair.ask(api.OpenAgent(1))) == "unchanged"
    assert switched(pair.ask(api.OpenAgent(2, "k"))) == "unchanged"
    assert list_kinds(pair) == before
    assert pair.ask(api.DeleteAgent(3, "k")) == Refused(KeyReused("k"))
    outcome = pair.ask(Blocks("b"))
    assert isinstance(outcome, Done)
    assert outcome.value


def test_a_key_that_closed_an_agent_does_not_close_it_again() -> None:
    pair = full()
    first = pair.ask(api.DeleteAgent(1, "k"))
    purged(pair)
    again = pair.ask(api.DeleteAgent(2, "k"))
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert again.value == as_repeated(first.value)
    pair.ask(api.OpenAgent(3))
    pair.ask(api.DeleteAgent(4, "k"))
    assert pair.ask(Blocks(5)) == Done(())


def test_the_working_tier_and_sessions_are_not_the_agents() -> None:
    pair = full()
    created = pair.ask(CreateSession(1))
    pair.ask(Set(2, "k", b"v"))
    pair.ask(SaveSession(3))
    pair.ask(api.DeleteAgent(4))
    assert pair.ask(Get(5, "k")) == Done(b"v")
    purged(pair).ask(api.OpenAgent(6))
    assert isinstance(created, Done)
    assert isinstance(pair.ask(LoadSession(7, created.value.session_id)), Done)  # type: ignore[attr-defined]  # one


# What runs alone.


def test_a_delete_waits_for_what_was_asked_before_and_everything_later_for_it() -> None:
    pair = full()
    pair.step(Remember(1, "Bob snores"))
    held = pair.hold(Commit)
    pair.step(api.DeleteAgent(2))
    pair.step(Blocks(3))
    pair.step(api.ListMessages(4))
    assert (pair.pending, pair.replies.keys() & {1, 2, 3, 4}) == ([], set())
    assert held.writes
    pair.release()
    assert isinstance(pair.replies[1].outcome, Done)
    assert switched(pair.replies[2].outcome) == "closed"
    assert (pair.replies[3].outcome, pair.replies[4].outcome) == (GONE, GONE)


def test_opening_an_agent_waits_for_the_purge_page_by_page() -> None:
    pair = full()
    for op_id in range(PURGE_ROW_COUNT_MAX // 50 + 1):
        pair.ask(api.AddMessages(op_id, SAID * 50))
    pair.ask(api.DeleteAgent("d"))
    pair.step(api.OpenAgent("o"))
    pair.step(api.ListMessages("l"))
    sizes = []
    while "o" not in pair.replies:
        sizes += [len(it.writes) - 1 for it in pair.pending if isinstance(it, Commit)]
        _ = pair.answer() if pair.pending else pair.wake()
    assert sizes[0] == PURGE_ROW_COUNT_MAX
    assert len(sizes) > 2
    assert pair.run().replies["l"].outcome == Done(MessagesShown((), 0))


def test_without_failures_a_purge_takes_no_time() -> None:
    pair = deleted()
    assert (pair.now_ms, pair.memory.state.counters["purge done"]) == (0, 2)


def test_a_page_that_fails_is_tried_again_later() -> None:
    pair = full()
    pair.ask(api.DeleteAgent(1))
    pair.wake()
    while isinstance(pair.pending[0] if pair.pending else None, Read):
        pair.fail("refused")
    assert pair.memory.deadline_ms() == pair.now_ms + PURGE_AGAIN_MS
    assert list_kinds(purged(pair)) == ["epoch", "log", "receipt"]


def test_a_life_that_begins_goes_on_with_the_purge() -> None:
    pair = full()
    pair.ask(api.DeleteAgent(1))
    later = Pair(pair.storage).run()
    assert later.ask(Blocks(2)) == GONE
    assert list_kinds(purged(later)) == ["epoch", "log", "receipt"]
    assert later.ask(api.DeleteAgent(3)) == GONE
    assert switched(later.ask(api.OpenAgent(4))) == "opened"


def test_a_page_of_nothing_may_be_one_that_was_cut_short() -> None:
    pair = full()
    pair.ask(api.DeleteAgent(1))
    pair.wake()
    read = pair.pending.pop(0)
    answer = pair.world(read)
    pair.step(structs.replace(answer, rows=(), cursor="message/msg_0"))
    assert pair.memory.state.tiers.upkeep
    assert list_kinds(purged(pair)) == ["epoch", "log", "receipt"]


def test_every_kind_of_row_of_a_memory_is_purged() -> None:
    assert {"core", "entity", "ended", "vector", "sheet", "change", "message", "archival"} <= set(PURGED)


# Unknown outcomes.


def unknown(pair: Pair, request: api.AgentRequest, lands: int) -> Outcome:
    """The commit has no answer; the attempt of this number reaches storage all the same."""
    pair.step(request)
    for attempt in range(3):
        commit = pair.until(Commit) if pair.pending else None
        while commit is None:
            pair.wake()
            commit = pair.until(Commit) if pair.pending else None
        pair.pending.pop(0)
        if attempt == lands:
            pair.land(commit)
        pair.wake()
    pair.run()
    return pair.replies[request.op_id].outcome


@pytest.mark.parametrize(("lands", "is_there"), [(0, False), (2, False), (9, True)])
def test_after_an_unknown_delete_the_agent_is_looked_up(lands: int, is_there: bool) -> None:
    pair = full()
    assert unknown(pair, api.DeleteAgent("d"), lands) == Unknown()
    assert isinstance(pair.ask(GetEntity("e", ALICE)), Done) == is_there


@pytest.mark.parametrize(("lands", "is_there"), [(0, True), (9, False)])
def test_after_an_unknown_open_the_agent_is_looked_up(lands: int, is_there: bool) -> None:
    pair = deleted()
    assert unknown(pair, api.OpenAgent("o"), lands) == Unknown()
    assert (pair.ask(Blocks("b")) == Done(())) == is_there


def test_an_agent_that_is_as_it_was_keeps_what_has_not_been_saved_yet() -> None:
    pair = full()
    counted = pair.memory.state.tiers.access
    unknown(pair, api.DeleteAgent("d"), 9)
    assert pair.memory.state.tiers.access is counted


def test_a_late_batch_that_closes_an_agent_is_fenced_by_the_look_up() -> None:
    pair = full()
    pair.step(api.DeleteAgent(1))
    late = pair.until(Commit)
    for _ in range(3):
        pair.until(Commit)
        pair.pending.clear()
        pair.wake()
        if not pair.pending:
            pair.wake()
    assert pair.run().replies[1].outcome == Unknown()
    pair.land(late)
    assert isinstance(pair.ask(Blocks(2)), Done)


def test_a_claim_without_an_answer_is_known_again() -> None:
    pair = full()
    pair.step(api.DeleteAgent(1))
    pair.until(Commit)
    pair.answer()
    claim = pair.until(Commit)
    pair.land(claim)
    pair.pending.pop(0)
    pair.wake()
    pair.run()
    assert pair.ask(Blocks(2)) == GONE


def test_an_epoch_that_another_process_has_claimed_fences_its_reader() -> None:
    pair = full()
    pair.step(api.DeleteAgent(1))
    pair.until(Commit)
    pair.answer()
    epoch = pair.memory.state.epoch
    Pair(pair.storage).run()
    pair.run()
    failed = pair.ask(Blocks(2))
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, Fenced)
    assert pair.memory.state.phase == "fenced"
    assert epoch == 0


def test_a_receipt_that_storage_has_forgotten_leaves_it_unknown() -> None:
    pair = full()
    pair.step(api.DeleteAgent(1))
    commit = pair.until(Commit)
    pair.land(commit)
    pair.storage.receipts.clear()
    pair.fail("unknown")
    pair.run()
    assert (pair.replies[1].outcome, pair.ask(Blocks(2))) == (Unknown(), GONE)


def test_a_delete_that_fails_changes_nothing() -> None:
    pair = full()
    before = list_kinds(pair)
    pair.step(api.DeleteAgent(1))
    pair.until(Commit)
    pair.fail("full")
    assert pair.replies[1].outcome == Failed(StorageFull("commit", "full", 1))
    assert (list_kinds(pair), isinstance(pair.ask(Blocks(2)), Done)) == (before, True)


def test_an_agent_whose_core_does_not_fit_can_be_deleted() -> None:
    pair = Pair().run()
    for op_id, kind in enumerate(("human", "facts")):
        pair.ask(SetBlock(op_id, kind, "x" * 3_000))
    small = Pair(pair.storage, structs.replace(pair.config, core_bytes_max=4_096)).run()
    assert small.memory.state.phase == "over_limit"
    assert switched(small.ask(api.DeleteAgent("d"))) == "closed"
    purged(small).ask(api.OpenAgent("o"))
    assert small.ask(Blocks("b")) == Done(())


# Saved memories.


def saved(pair: Pair) -> Memory:
    return Memory.restore(pair.memory.snapshot(), life=LIFE_MAX)


def test_a_memory_is_saved_while_others_wait_for_a_delete() -> None:
    pair = full()
    pair.step(Remember(1, "Bob snores"))
    pair.hold(Commit)
    pair.step(api.DeleteAgent(2))
    pair.step(Blocks(3))
    assert len(saved(pair).state.queue) == 2


def test_a_memory_is_saved_while_its_agent_is_purged_and_opened() -> None:
    pair = full()
    pair.ask(api.DeleteAgent(1))
    pair.wake()
    pair.step(api.OpenAgent(2))
    assert saved(pair).state.phase == "closed"


def test_a_memory_is_saved_while_it_is_closed() -> None:
    pair = full()
    pair.step(api.DeleteAgent(1))
    pair.until(Commit)
    pair.step(Blocks(2))
    assert [it.workflow for it in saved(pair).state.operations.values()] == ["delete_agent"]
    pair.memory.state.operations[9] = structs.replace(
        next(iter(pair.memory.state.operations.values())), number=9
    )
    with pytest.raises(Rejected):
        saved(pair)


def test_a_queue_that_waits_for_nothing_is_no_saved_memory() -> None:
    pair = full()
    pair.memory.state.queue = (Blocks(1),)
    with pytest.raises(Rejected, match="waits for that"):
        saved(pair)


def test_what_a_closed_agent_cannot_be_doing_is_no_saved_memory() -> None:
    pair = full()
    pair.step(Remember(1, "Bob snores"))
    pair.memory.state.phase = "closed"
    with pytest.raises(Rejected, match="operations are in flight"):
        saved(pair)

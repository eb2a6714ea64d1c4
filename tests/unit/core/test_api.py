"""Goal: blocks, messages and records of an agent server are what was written, under ids that stay (KEL)."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair
from umi_core.errors import (
    BadOption,
    BlockTooLarge,
    CoreFull,
    Error,
    KeyReused,
    LabelTooLong,
    UnreadableMessages,
)
from umi_core.ids import block_id
from umi_core.kelpie import requests as api
from umi_core.kelpie import results
from umi_core.kelpie.errors import (
    AboveLimit,
    BadCursor,
    BadLabel,
    BadMessages,
    LabelTaken,
    NotFound,
    ReadOnly,
    TextAmbiguous,
    TextNotFound,
    VersionConflict,
)
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import Done, Failed, Outcome, Refused
from umi_core.messages.requests import Rebalance, Remember, RemoveBlock, Request, SetBlock
from umi_core.messages.results import RecordForgotten

NOTES = block_id(SCOPE, "facts", "notes")
HELLO = (("role", "user"), ("content", "hello"))
FROM_ONE = "a whole number from 1"
CALL = (("role", "assistant"), ("content", ""), ("tool_call_id", "c1"), ("arguments", "{}"))


def ask_for_value(pair: Pair, request: Request) -> object:
    """The value of a request that is done; its label may be used again."""
    pair.replies.pop(request.op_id, None)
    outcome = pair.ask(request)
    assert isinstance(outcome, Done), outcome
    return outcome.value


def block(pair: Pair, name: str = "notes") -> results.ApiBlock:
    shown = ask_for_value(pair, api.FindBlock("find", name))
    assert isinstance(shown, results.ApiBlock)
    return shown


def refusal(pair: Pair, request: Request) -> Error:
    outcome = pair.ask(request)
    assert isinstance(outcome, Refused), outcome
    return outcome.error


def with_notes(**options: object) -> Pair:
    pair = Pair().run()
    pair.ask(api.CreateBlock("made", "notes", "tea", **options))  # type: ignore[arg-type]  # options of the class
    return pair


def test_a_block_is_read_as_it_was_created() -> None:
    pair = with_notes(description="what to know", limit_bytes=9, kind="goals")
    shown = block(pair, "NOTES ")
    assert (shown.kind, shown.label, shown.value, shown.version) == ("goals", "notes", "tea", 1)
    assert (shown.description, shown.limit_bytes, shown.read_only) == ("what to know", 9, False)
    assert block(pair, shown.id) == shown
    assert ask_for_value(pair, api.ListBlocks(2)) == results.BlocksShown((shown,))


def test_each_edit_is_the_next_version_and_a_row_of_the_history() -> None:
    pair = with_notes()
    assert ask_for_value(pair, api.AppendToBlock(1, "notes", "milk")) == results.BlockWritten(
        NOTES, "notes", 2, "appended", 0
    )
    assert ask_for_value(pair, api.ReplaceInBlock(2, "notes", "tea", "rum")) == results.BlockWritten(
        NOTES, "notes", 3, "replaced", 0, 1
    )
    assert ask_for_value(pair, api.UpdateBlock(3, "notes", description="x")) == results.BlockWritten(
        NOTES, "notes", 4, "described", 0
    )
    assert ask_for_value(pair, api.UpdateBlock(4, "notes", "new", read_only=False)) == results.BlockWritten(
        NOTES, "notes", 5, "set", 0
    )
    changes = ask_for_value(pair, api.BlockHistory(5, NOTES, limit=4))
    assert isinstance(changes, results.ChangesShown)
    assert [(it.version, it.text) for it in changes.changes] == [
        (1, "tea"), (2, "tea\nmilk"), (3, "rum\nmilk"), (4, "rum\nmilk"),
    ]  # fmt: skip
    assert changes.next == 4
    rest = ask_for_value(pair, api.BlockHistory(6, NOTES, after=4))
    assert isinstance(rest, results.ChangesShown)
    assert [(it.version, it.change) for it in rest.changes] == [(5, "set")]
    assert rest.next is None


@pytest.mark.parametrize(
    "edit",
    [
        api.UpdateBlock(1, "notes", "tea"), api.AppendToBlock(1, "notes", ""),
        api.ReplaceInBlock(1, "notes", "tea", "tea"),
    ],
)  # fmt: skip
def test_what_changes_nothing_is_no_version(edit: Request) -> None:
    pair = with_notes()
    written = ask_for_value(pair, edit)
    assert isinstance(written, results.BlockWritten)
    assert (written.version, written.change) == (1, "unchanged")
    assert block(pair).version == 1


def test_append_makes_a_block_and_puts_a_newline_between_texts() -> None:
    pair = Pair().run()
    assert ask_for_value(pair, api.AppendToBlock(1, "human", "")) == results.BlockWritten(
        block_id(SCOPE, "human", ""), "human", 1, "created", 0
    )
    pair.ask(api.AppendToBlock(2, "human", "a"))
    pair.ask(api.AppendToBlock(3, "human", "b"))
    assert block(pair, "human").value == "a\nb"


def test_every_occurrence_is_replaced_from_left_to_right() -> None:
    pair = with_notes()
    pair.ask(api.UpdateBlock(1, "notes", "aaa b aa"))
    assert refusal(pair, api.ReplaceInBlock(2, "notes", "aa", "c")) == TextAmbiguous("notes", 2)
    written = ask_for_value(pair, api.ReplaceInBlock(3, "notes", "aa", "c", every=True))
    assert isinstance(written, results.BlockWritten)
    assert (written.count, block(pair).value) == (2, "ca b c")


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (api.CreateBlock(1, "Notes", "x"), LabelTaken("notes", NOTES)),
        (api.CreateBlock(1, "a/b", "x"), BadLabel("a/b")),
        (api.CreateBlock(1, "", "x"), BadLabel("")),
        (api.CreateBlock(1, "x" * 65, "x"), LabelTooLong(65, 64)),
        (api.UpdateBlock(1, "other", "x"), NotFound("block", "other")),
        (api.AppendToBlock(1, "blk_0", "x"), NotFound("block", "blk_0")),
        (api.FindBlock(1, "other"), NotFound("block", "other")),
        (api.BlockHistory(1, "blk_0"), NotFound("block", "blk_0")),
        (api.UpdateBlock(1, "notes", "x", expected_version=7), VersionConflict(7, 1)),
        (api.ReplaceInBlock(1, "notes", "milk", "x"), TextNotFound("notes")),
        (api.ReplaceInBlock(1, "notes", "", "x"), TextNotFound("notes")),
        (api.UpdateBlock(1, "notes", "x" * 16_384), BlockTooLarge(16_389, 16_384)),
        (api.CreateBlock(1, "plans", "x" * 9, limit_bytes=8), AboveLimit(9, 8)),
        (api.CreateBlock(1, "system", "x", author="model"), ReadOnly("system", "model")),
        (api.CreateBlock(1, "plans", "x", limit_bytes=0), BadOption("limit_bytes", "0", FROM_ONE)),
        (api.GetArchival(1, "arc_000000000001"), NotFound("archival", "arc_000000000001")),
        (api.DeleteArchival(1, "arc_000000000001"), NotFound("archival", "arc_000000000001")),
        (api.ListArchival(1, cursor="arc_1"), BadCursor("arc_1")),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(request_: Request, error: Error) -> None:
    assert refusal(with_notes(), request_) == error


def test_a_closed_block_keeps_its_text_for_every_author() -> None:
    pair = with_notes(read_only=True)
    assert refusal(pair, api.UpdateBlock(1, "notes", "x", author="user")) == ReadOnly("notes", "user")
    assert refusal(pair, api.AppendToBlock(2, "notes", "x", author="user")) == ReadOnly("notes", "user")
    assert refusal(pair, api.UpdateBlock(3, "notes", read_only=False, author="model")) == ReadOnly(
        "notes", "model"
    )
    ask_for_value(pair, api.UpdateBlock(4, "notes", read_only=False, author="user"))
    ask_for_value(pair, api.AppendToBlock(5, "notes", "x", author="model"))
    assert block(pair).value == "tea\nx"


def test_a_text_above_its_limit_may_be_made_smaller() -> None:
    pair = with_notes()
    ask_for_value(pair, api.UpdateBlock(1, "notes", limit_bytes=1))
    assert refusal(pair, api.UpdateBlock(2, "notes", "xyz")) == AboveLimit(3, 1)
    ask_for_value(pair, api.UpdateBlock(3, "notes", "xy"))
    assert block(pair).value == "xy"


def test_a_full_core_refuses_a_block() -> None:
    pair = Pair(config=structs.replace(QUIET, core_bytes_max=4_096)).run()
    assert refusal(pair, api.CreateBlock(1, "notes", "x" * 5_000)) == CoreFull(0, 4_096, 5_005)


def test_a_deleted_block_is_gone_with_its_texts_and_its_versions_go_on() -> None:
    pair = with_notes()
    assert ask_for_value(pair, api.DeleteBlock(1, "notes", expected_version=1)) == results.BlockWritten(
        NOTES, "notes", 2, "deleted", 0
    )
    assert refusal(pair, api.FindBlock(2, "notes")) == NotFound("block", "notes")
    changes = ask_for_value(pair, api.BlockHistory(3, NOTES))
    assert isinstance(changes, results.ChangesShown)
    assert [(it.change, it.text, it.is_erased) for it in changes.changes] == [
        ("created", "", True), ("deleted", "", True),
    ]  # fmt: skip
    ask_for_value(pair, api.CreateBlock(4, "notes", "again"))
    assert (block(pair).version, block(pair).description) == (3, "")


def test_a_text_that_came_into_core_otherwise_is_a_version() -> None:
    pair = with_notes()
    pair.ask(SetBlock(1, "facts", "from elsewhere", "notes"))
    assert (block(pair).version, block(pair).value) == (2, "from elsewhere")
    ask_for_value(pair, api.AppendToBlock(2, "notes", "x"))
    changes = ask_for_value(pair, api.BlockHistory(3, NOTES))
    assert isinstance(changes, results.ChangesShown)
    assert [(it.version, it.change) for it in changes.changes] == [
        (1, "created"), (2, "imported"), (3, "appended"),
    ]  # fmt: skip
    pair.ask(RemoveBlock(4, "facts", "notes"))
    assert ask_for_value(pair, api.CreateBlock(5, "notes", "back")) == results.BlockWritten(
        NOTES, "notes", 5, "created", 0
    )


def test_two_blocks_of_one_label_have_two_names() -> None:
    pair = with_notes()
    pair.ask(SetBlock(1, "goals", "other", "Notes"))
    shown = ask_for_value(pair, api.ListBlocks(2))
    assert isinstance(shown, results.BlocksShown)
    assert [it.label for it in shown.blocks] == ["notes", "goals/Notes"]
    assert block(pair, "goals/Notes").created_ms == 0
    prompt = ask_for_value(pair, api.BuildSystemPrompt(3, form="tagged"))
    assert isinstance(prompt, results.Prompt)
    assert '<block label="goals/Notes">\nother\n</block>' in prompt.text


@pytest.mark.parametrize("label", ["human", "HUMAN", " Human "])
def test_the_name_of_a_kind_in_any_spelling_is_its_block(label: str) -> None:
    pair = Pair(config=structs.replace(QUIET, promote_score_min_ppm=0)).run()
    pair.ask(Remember(1, "Alice likes tea"))
    pair.ask(Rebalance(2))  # now that block has an entry
    made = ask_for_value(pair, api.AppendToBlock(3, label, "kind"))
    assert isinstance(made, results.BlockWritten)
    assert (made.label, made.change) == ("human", "created")
    assert block(pair, label).value == "kind"


def test_a_prompt_is_the_system_text_and_core() -> None:
    pair = with_notes()
    pair.ask(api.CreateBlock(1, "human", "a < b"))
    prompt = ask_for_value(pair, api.BuildSystemPrompt(2, "You are Umi.", "tagged"))
    text = "You are Umi.\n\n<memory>\n<human>\na &lt; b\n</human>\n<notes>\ntea\n</notes>\n</memory>"
    assert prompt == results.Prompt(text, len(text), 2)
    bare = ask_for_value(pair, api.BuildSystemPrompt(3))
    assert isinstance(bare, results.Prompt)
    assert bare.text.startswith("<core_memory>")


def test_a_key_does_once_what_it_names() -> None:
    pair = with_notes()
    first = ask_for_value(pair, api.AppendToBlock(1, "notes", "x", request_key="k"))
    again = ask_for_value(pair, api.AppendToBlock(2, "notes", "x", request_key="k"))
    assert isinstance(first, results.BlockWritten)
    assert again == structs.replace(first, repeated=True)
    assert block(pair).value == "tea\nx"
    assert refusal(pair, api.AddMessages(3, (HELLO,), "k")) == KeyReused("k")


@pytest.mark.parametrize(
    "request_",
    [
        api.CreateBlock(1, "human", "Ann.", request_key="k"),
        api.UpdateBlock(1, "notes", value="other", expected_version=1, request_key="k"),
        api.ReplaceInBlock(1, "notes", "tea", "ale", request_key="k"),
        api.DeleteBlock(1, "notes", request_key="k"),
        api.DeleteArchival(1, "arc_000000000001", request_key="k"),
    ],
    ids=lambda it: type(it).__name__,
)  # fmt: skip
def test_the_second_of_two_concurrent_equal_requests_gets_the_result_of_the_first(request_: Request) -> None:
    """It was refused, since it met what the first one had done."""
    pair = with_notes()
    ask_for_value(pair, api.AddArchival("record", "plain"))
    pair.step(request_)
    pair.step(structs.replace(request_, op_id=2))
    pair.run()
    first, second = (pair.replies[op_id].outcome for op_id in (1, 2))
    assert isinstance(first, Done)
    value: Any = first.value
    assert second == Done(structs.replace(value, repeated=True))


def lands_late(pair: Pair, late: Request, request_: Request, *, before: str) -> Outcome:
    """How this one ends if the other, whose answer is lost, lands before it reads this kind of row."""
    commit = pair.leave_unanswered(late)
    pair.step(request_)
    while f"kind='{before}'" not in str(pair.pending[0]):
        pair.answer()
    pair.land(commit)
    return pair.run().replies["again"].outcome


@pytest.mark.parametrize(
    "request_",
    [
        api.CreateBlock("again", "plans", "write", request_key="k"),
        api.DeleteBlock("again", "notes", request_key="k"),
    ],
)
def test_what_has_landed_while_it_was_asked_for_again_is_repeated(request_: api.CreateBlock) -> None:
    outcome = lands_late(with_notes(), structs.replace(request_, op_id="first"), request_, before="core")
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, results.BlockWritten)
    assert outcome.value.repeated


def test_core_is_believed_as_it_is_read_though_it_is_read_again() -> None:
    pair = with_notes()
    pair.land(pair.leave_unanswered(api.AppendToBlock("late", "notes", "mug")))
    pair.step(api.DeleteBlock("again", "notes"))
    pair.answer()
    assert [it.text for it in pair.memory.state.tiers.core.blocks] == ["tea\nmug"]


def test_a_refusal_names_a_version_that_there_has_been() -> None:
    late = api.AppendToBlock("late", "notes", "mug")
    edit = api.UpdateBlock("again", "notes", "oat", expected_version=7)
    assert lands_late(with_notes(), late, edit, before="sheet") == Refused(VersionConflict(7, 2))


@pytest.mark.parametrize("name", [block_id(SCOPE, "human", "Notes"), "Notes"])
def test_a_block_that_comes_while_it_is_looked_for_is_found_with_its_sheet_and_its_past(name: str) -> None:
    late = api.CreateBlock("late", "Notes", "tea", kind="human", limit_bytes=3)
    edit = api.AppendToBlock("again", name, "o" * 20_000)
    assert lands_late(Pair().run(), late, edit, before="sheet") == Refused(AboveLimit(20_004, 3))
    pair = Pair().run()
    lands_late(pair, late, api.DeleteBlock("again", name), before="sheet")
    assert "tea" not in str(pair.rows("change"))


def test_messages_are_numbered_in_the_order_of_their_commits() -> None:
    pair = Pair().run()
    assert ask_for_value(pair, api.AddMessages(1, (HELLO, CALL))) == results.Appended("message", 1, 2, 0)
    added = ask_for_value(pair, api.AddMessages(2, (HELLO,)))
    assert isinstance(added, results.Appended)
    assert added.ids == ("msg_000000000003",)
    page = ask_for_value(pair, api.ListMessages(3, limit=2))
    assert isinstance(page, results.MessagesShown)
    assert [(it.seq, it.role, it.content, it.details) for it in page.messages] == [
        (2, "assistant", "", CALL[2:]), (3, "user", "hello", ()),
    ]  # fmt: skip
    assert (page.total, page.has_older, page.has_newer) == (3, True, False)


@pytest.mark.parametrize(
    ("request_", "seqs", "beside"),
    [
        (api.ListMessages(1), [1, 2, 3, 4, 5], (False, False)),
        (api.ListMessages(1, before=4, limit=2), [2, 3], (True, True)),
        (api.ListMessages(1, after=1, limit=2), [2, 3], (True, True)),
        (api.ListMessages(1, after=1, before=3), [2], (True, True)),
        (api.ListMessages(1, after=5), [], (True, False)),
        (api.ListMessages(1, before=1), [], (False, True)),
        (api.ListMessages(1, after=3, before=2), [], (True, True)),
    ],
)
def test_a_page_is_what_lies_between_its_ends(
    request_: Request, seqs: list[int], beside: tuple[bool, bool]
) -> None:
    pair = Pair().run()
    pair.ask(api.AddMessages("m", (HELLO,) * 5))
    page = ask_for_value(pair, request_)
    assert isinstance(page, results.MessagesShown)
    assert [it.seq for it in page.messages] == seqs
    assert (page.has_older, page.has_newer) == beside


def test_messages_that_storage_has_lost_are_no_empty_page() -> None:
    pair = Pair().run()
    pair.ask(api.AddMessages(1, (HELLO,)))
    gone = next(it for it in pair.storage.rows if it.kind == "message")
    pair.storage._delete(gone)
    assert isinstance(pair.ask(api.ListMessages(2)), Failed)


@pytest.mark.parametrize(
    "messages",
    [
        (), "x", (HELLO[::-1],), ((("role", "nobody"), HELLO[1]),), ((*HELLO, ("colour", "red")),),
        ((HELLO[0], ("content", "x" * 100_001)),),
    ],
)  # fmt: skip
def test_what_is_no_list_of_messages_is_refused(messages: object) -> None:
    outcome = Pair().run().ask(api.AddMessages(1, messages))  # type: ignore[arg-type]  # what a caller gave
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, BadMessages)


MUTE = (None, (), "x", (HELLO[0], HELLO[0]), (HELLO[0], ("content", 7)), (HELLO[0], ("content", " ")))


@pytest.mark.parametrize("message", MUTE)
def test_a_request_with_a_message_that_says_nothing_is_refused_with_its_place(message: object) -> None:
    pair = Pair().run()
    messages = (HELLO, message, HELLO, message)
    outcome = pair.ask(api.AddMessages(1, messages))  # type: ignore[arg-type]  # what a caller gave
    assert outcome == Refused(UnreadableMessages(2, 4, "1, 3"))
    assert not any(it.kind == "message" for it in pair.storage.rows)


def test_the_call_of_a_tool_needs_no_other_text() -> None:
    called = (HELLO[0], ("content", ""), ("tool_call_id", "c1"))
    assert isinstance(Pair().run().ask(api.AddMessages(1, (called,))), Done)


@pytest.mark.parametrize("tags", [("",), ("x", "x"), ("x" * 257,), "x", tuple(f"t{n}" for n in range(101))])
def test_what_are_no_tags_is_refused(tags: object) -> None:
    outcome = Pair().run().ask(api.AddArchival(1, "tea", tags))  # type: ignore[arg-type]  # what a caller gave
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, BadOption)


def ids(value: object) -> list[str]:
    assert isinstance(value, results.RecordsShown)
    return [it.id for it in value.records]


def test_records_are_found_by_words_and_tags_and_gone_when_deleted() -> None:
    pair = Pair().run()
    for at, (text, tags) in enumerate((("likes tea", ("x",)), ("likes rum", ()), ("tea, tea", ("x", "y")))):
        ask_for_value(pair, api.AddArchival(at, text, tags, (("from", "chat"),)))
    first, second, third = (f"arc_{seq:012}" for seq in (1, 2, 3))
    shown = ask_for_value(pair, api.GetArchival("get", first))
    assert isinstance(shown, results.RecordsShown)
    assert (shown.records[0].content, shown.records[0].metadata) == ("likes tea", (("from", "chat"),))
    assert ids(ask_for_value(pair, api.SearchArchival("s", "likes tea"))) == [first, third, second]
    assert ids(ask_for_value(pair, api.SearchArchival("s2", "tea", 1))) == [third]
    assert ids(ask_for_value(pair, api.SearchArchival("s3", "likes tea", 1, skip=1))) == [third]
    assert ids(ask_for_value(pair, api.SearchArchival("s4", "likes tea", skip=3))) == []
    assert ids(ask_for_value(pair, api.ListArchival("l", tags=("x",)))) == [first, third]
    page = ask_for_value(pair, api.ListArchival("l2", 2))
    assert isinstance(page, results.RecordsShown)
    assert page.next == second
    assert ids(ask_for_value(pair, api.ListArchival("l3", 2, page.next))) == [third]
    assert ask_for_value(pair, api.DeleteArchival("d", first)) == RecordForgotten(first)
    assert ids(ask_for_value(pair, api.ListArchival("l4"))) == [second, third]
    assert refusal(pair, api.GetArchival("g2", first)) == NotFound("archival", first)
    added = ask_for_value(pair, api.AddArchival("more", "milk"))
    assert isinstance(added, results.Appended)
    assert added.first_seq == 4


def test_a_record_is_found_by_the_day_of_its_facts() -> None:
    pair = Pair().run()
    pair.now_ms = 20_785 * 86_400_000  # 2026-11-28
    ask_for_value(pair, api.AddArchival(1, "Alice naps today", extract=True))
    ask_for_value(pair, api.AddArchival(2, "yes, Alice naps", extract=True))
    first, second = (f"arc_{seq:012}" for seq in (1, 2))
    pair.now_ms += 86_400_000
    assert ids(ask_for_value(pair, api.SearchArchival("s", "what happened yesterday?"))) == [first]
    assert ids(ask_for_value(pair, api.SearchArchival("s2", "what happened last week?"))) == [first]
    assert ids(ask_for_value(pair, api.SearchArchival("s3", "what happened last year?"))) == []
    assert sorted(ids(ask_for_value(pair, api.SearchArchival("s4", "Alice yesterday")))) == [first, second]


@pytest.mark.parametrize("request_", [api.ListArchival("l", 1), api.BlockHistory("h", NOTES, limit=1)])
def test_an_empty_page_that_goes_on_is_no_answer(request_: Request) -> None:
    pair = with_notes()
    pair.ask(api.AddArchival("a", "tea"))
    pair.step(request_)
    (asked,) = pair.pending
    pair.pending.clear()
    answer = pair.world(asked)
    assert isinstance(answer, ReadDone)
    pair.step(structs.replace(answer, rows=(), cursor="x/y"))
    assert isinstance(pair.replies[request_.op_id].outcome, Failed)


def test_messages_are_found_by_all_words_and_by_time_newest_first() -> None:
    pair = Pair().run()
    for now_ms, text in enumerate(("likes green tea", "tea", "green Tea!", "rum")):
        pair.now_ms = now_ms
        pair.ask(api.AddMessages(f"add{now_ms}", ((("role", "user"), ("content", text)),)))
    assert found(pair, api.SearchMessages(1, "green tea")) == ([3, 1], None)
    assert found(pair, api.SearchMessages(2, "tea", limit=2)) == ([3, 2], 2)
    assert found(pair, api.SearchMessages(3, "tea", before=2)) == ([1], None)
    assert found(pair, api.SearchMessages(4, from_ms=1, until_ms=3)) == ([3, 2], None)
    assert found(pair, api.SearchMessages(6, "tea", limit=1, skip=1)) == ([2], 2)
    assert found(pair, api.SearchMessages(7, "tea", limit=1, skip=2)) == ([1], None)
    assert found(pair, api.SearchMessages(8, "tea", skip=1_000)) == ([], None)
    for skip in (-1, 1_001, True):
        error = refusal(pair, api.SearchMessages(9, "tea", skip=skip))
        assert error == BadOption("skip", str(skip), "0 to 1000")
        del pair.replies[9]
    assert refusal(pair, api.SearchMessages(5)) == BadOption("query", "None", "a query, from_ms or until_ms")


def found(pair: Pair, request: api.SearchMessages) -> tuple[list[int], int | None]:
    page = ask_for_value(pair, request)
    assert isinstance(page, results.MessagesFound)
    return [it.seq for it in page.messages], page.next

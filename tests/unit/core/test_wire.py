"""Goal: requests over HTTP are judged by a table of their own, in every spelling."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.properties.text_reference import DAY_MS, LAST_MS, format_time
from tests.properties.wire_reference import (
    Called,
    body_of,
    check_delegate,
    check_request,
    check_response,
    status_of,
    write_call,
    write_request,
)
from umi_core.errors import StorageFailed, TooBusy
from umi_core.kelpie import requests as api
from umi_core.kelpie import wire
from umi_core.kelpie.delegate import Delegate
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.results import Appended, BlocksShown, BlockWritten, Prompt
from umi_core.messages.effects import Done, Failed, Refused, Unknown
from umi_core.messages.request import Request
from umi_core.messages.requests import ALL, Get
from umi_core.messages.results import RecordAdded, RecordForgotten, Remembered, Stored
from umi_sim.kernel.prng import Stream


def ways() -> Iterator[Stream]:
    """Of saying a request."""
    return (Stream(number, "wire") for number in range(600))


TOM: Final = Stored("e1", 1, "created")


@pytest.mark.uncounted
@pytest.mark.parametrize(
    ("request_", "line", "body"),
    [
        (api.ListBlocks(1), "GET blocks", None),
        (api.FindBlock(1, "a/b ?"), "GET blocks/a%2Fb%20%3F", None),
        (api.UpdateBlock(1, "x", description="", limit_bytes=9), "PATCH blocks/x",
         {"limit": 9, "description": ""}),
        (api.AppendToBlock(1, "x", "tea", "model"), "POST tools/core_memory_append",
         {"label": "x", "content": "tea"}),
        (api.ListMessages(1, 7, None, 3), "GET messages?before=7&limit=3", None),
        (api.SearchArchival(1, "green tea", 2), "GET archival?q=green+tea&limit=2", None),
        (api.SearchMessages(1, "x", 0, DAY_MS, skip=3),
         "GET messages?q=x&skip=3&from=1970-01-01&until=1970-01-01", None),
        (api.SearchMessages(1, None, DAY_MS, 2 * DAY_MS, limit=10), "POST tools/conversation_search_date",
         {"start_date": "1970-01-02", "end_date": "1970-01-02", "page": 0}),
        (api.SearchMessages(1, "x", limit=10, skip=20), "POST tools/conversation_search",
         {"query": "x", "page": 2}),
        (api.SearchArchival(1, "x", 10), "POST tools/archival_memory_search", {"query": "x", "page": 0}),
        (api.AddMessages(1, ((("role", "user"), ("content", "x")),)), "POST messages",
         {"messages": [{"content": "x", "role": "user"}]}),
    ],
)  # fmt: skip
def test_a_request_is_written_as_on_the_page(request_: Request, line: str, body: object) -> None:
    lines = [found for draw in ways() if (found := write_request(request_, "a1", draw))]
    requests = {(f"{it.method} {it.path}", it.body) for it in lines if it.meant == request_}
    assert (line.replace(" ", " /v1/agents/a1/"), json.dumps(body) if body else "") in requests


def test_each_way_of_being_wrong_is_drawn() -> None:
    page = api.ListMessages(1, None, 7, 5)
    lines = [found for draw in ways() if (found := write_request(page, "a1", draw))]
    assert {it.meant for it in lines} == {page, 400, 404, 405}
    paths = {it.path.partition("?")[2] for it in lines if it.meant == 400}
    assert {"after=7&limit=x5", "after=msg_-000000000007&limit=5"} <= paths


def test_each_way_of_being_wrong_is_refused() -> None:
    for draw in ways():
        check_request(api.ListMessages(1, None, 7, 5), draw)


@pytest.mark.parametrize(
    "request_",
    [
        api.AppendToBlock(1, "x", "tea", author="user"),
        api.SearchMessages(1, "x", until_ms=LAST_MS + DAY_MS),
        api.SearchMessages(1, None, 1, LAST_MS + DAY_MS, limit=10),
        api.ListArchival(1, tags=("t",)), api.FindBlock(1, ""), api.FindBlock(1, "\n"), Get(1, "k"),
    ],
)  # fmt: skip
def test_a_request_without_a_route_is_not_written(request_: Request) -> None:
    assert not any(write_request(request_, "a1", draw) for draw in ways())


SAYABLE: Final = (
    api.ListBlocks(1), api.CreateBlock(1, "x", "tea", limit_bytes=9, request_key="k"),
    api.CreateBlock(1, "x", "", "goals", "to do", None, True), api.FindBlock(1, "a/b"),
    api.UpdateBlock(1, "x", "tea", read_only=True), api.DeleteBlock(1, "x", request_key="k"),
    api.UpdateBlock(1, "a/b/", None, "", 9, False, 3, request_key="k"),
    api.BlockHistory(1, "blk_1", 3, 100), api.AppendToBlock(1, "x", "tea", "model", "k"),
    api.ReplaceInBlock(1, "x", "a", "b", True, "model"), api.ListMessages(1, 2**63 - 1, 1, 100),
    api.AddMessages(1, ((("role", "user"), ("content", "x"), ("tool_name", "t")),), "k"),
    api.SearchMessages(1, "tea", 1, 2, 3, 4),
    api.SearchMessages(1, None, 1), api.SearchMessages(1, None, None, 2), api.SearchArchival(1, "tea", 100),
    api.SearchMessages(1, "x", 951_782_400_000, limit=10, skip=20),
    api.SearchMessages(1, None, 951_782_400_001, 7_777_777_777_777, limit=10), api.SearchArchival(1, "x", 10),
    api.SearchArchival(1, "x", 10, skip=30), api.SearchArchival(1, "x", skip=3), api.AddArchival(1, "x"),
    api.AddArchival(1, "x", ("t",), (("a", "b"),), "k"),
    api.GetArchival(1, "arc_1"), api.ListArchival(1, 5, "arc_000000000001"),
    api.SearchArchival(1, "tea"), api.DeleteArchival(1, "arc_1", "k"),
    api.BuildSystemPrompt(1, "Hi", "tagged"), api.DeleteAgent(1, "k"), api.OpenAgent(1),
)  # fmt: skip


def test_every_request_of_the_api_can_be_written() -> None:
    known = {cls for cls in ALL if issubclass(cls, api.ApiRequest | api.BuildSystemPrompt)}
    assert {type(it) for it in SAYABLE} == known


@pytest.mark.uncounted
@pytest.mark.parametrize("request_", SAYABLE)
def test_in_every_spelling_it_is_the_request_that_was_meant(request_: Request) -> None:
    for draw in ways():
        check_request(request_, draw)


def test_a_reader_that_loses_a_field_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "number", lambda asked, name: None)
    with pytest.raises(AssertionError, match="over HTTP"):
        test_in_every_spelling_it_is_the_request_that_was_meant(api.BlockHistory(1, "blk_1", 3))


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Done(Appended("message", 1, 2, 0)), 200), (Refused(NotFound("block", "x")), 404),
        (Refused(TooBusy(64, 64)), 409), (Failed(StorageFailed("commit", "timeout", 3)), 503),
        (Unknown(), 504), (Done(BlockWritten("blk_1", "x", 1, "set", 0, repeated=True)), 200),
        (Done(RecordAdded("archival", 7, 1, 0, facts=Remembered((TOM,), promoted=("e1",)))), 200),
        (Done(RecordForgotten("arc_000000000007", entities=(TOM,))), 200),
    ],
)  # fmt: skip
def test_a_response_tells_the_reply(outcome: Done | Refused | Failed | Unknown, status: int) -> None:
    assert status_of(outcome) == status
    check_response(outcome)


def test_a_response_names_the_subjects_of_a_record() -> None:
    body = body_of(Done(RecordAdded("archival", 7, 1, 0, facts=Remembered((TOM,), promoted=("e1",)))))
    assert isinstance(body, dict)
    assert body["entities"] == [{"id": "e1", "version": 1, "change": "created"}]
    assert "facts" not in body


def test_ids_of_rows_stand_beside_their_numbers() -> None:
    body = body_of(Done(Appended("archival", 7, 2, 0)))
    assert isinstance(body, dict)
    assert body["ids"] == ["arc_000000000007", "arc_000000000008"]


CALLABLE: Final = (
    api.CreateBlock(1, "x", "tea", request_key="k"), api.UpdateBlock(1, "x", "tea", "d", 9, None, 3),
    api.UpdateBlock(1, "x", request_key="k"), api.AppendToBlock(1, "x", "tea", request_key="k"),
    api.ReplaceInBlock(1, "x", "a", "b", request_key="k"), api.SearchArchival(1, "tea", 2, ("t",), 3),
    api.AddMessages(1, ((("role", "user"), ("content", "x")),), "k"),
)  # fmt: skip


@pytest.mark.parametrize("request_", SAYABLE + CALLABLE)
def test_the_object_asks_the_same_and_raises_what_is_not_done(request_: Request) -> None:
    check_delegate(request_, Refused(NotFound("block", "x")))
    check_delegate(request_, Unknown())


def test_all_that_a_method_says_is_asked_of_it() -> None:
    assert all(write_call(it) for it in CALLABLE)


def test_the_object_returns_what_the_reply_holds() -> None:
    check_delegate(api.ListBlocks(1), Done(BlocksShown(())))
    check_delegate(api.BuildSystemPrompt(1), Done(Prompt("Hi", 1, 0)))


def test_what_no_method_says_is_not_asked_of_it() -> None:
    unsaid = (api.CreateBlock(1, "x", "tea", "facts"), api.BlockHistory(1, "blk_1"), Get(1, "k"))
    assert [write_call(it) for it in unsaid] == [None, None, None]
    assert write_call(api.ListMessages(1, None, 7, 5)) == Called("list_messages", (5,), {"after": 7})
    assert write_call(api.CreateBlock(1, "x", "", request_key="k")) == Called(
        "create_block", ("x",), {"key": "k"}
    )


def test_an_object_that_loses_a_field_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Delegate, "list_blocks", lambda self: ())
    with pytest.raises(AssertionError, match="list_blocks"):
        check_delegate(api.ListBlocks(1), Refused(NotFound("block", "x")))


def test_times_are_printed_with_their_milliseconds() -> None:
    assert format_time(951_782_400_007) == "2000-02-29T00:00:00.007Z"
    assert (format_time(0), format_time(LAST_MS + 1)) == (None, "9999-12-31T23:59:59.999Z")

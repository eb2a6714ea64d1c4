"""Goal: every request over HTTP is a request to the memory or a sentence about what is wrong with it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worlds import Pair
from umi_core.errors import BadOption, Error, StorageFailed
from umi_core.kelpie import requests as api
from umi_core.kelpie.errors import LabelTaken, NotFound, ReadOnly
from umi_core.kelpie.wire import AgentCall, Malformed, as_json, malformed, parse, respond
from umi_core.limits import DAY_MS
from umi_core.messages.effects import Failed, Refused, Unknown
from umi_core.messages.request import Request
from umi_core.messages.requests import SetBlock

KEY = {"Idempotency-Key": "k"}


@pytest.mark.parametrize(
    ("line", "body", "request_"),
    [
        ("GET blocks", "", api.ListBlocks(1)),
        ("GET core-memory/blocks/human", "", api.FindBlock(1, "human")),
        ("POST core-memory/blocks", {"label": "a", "value": "x", "limit": 9, "kind": "goals"},
         api.CreateBlock(1, "a", "x", "goals", limit_bytes=9, request_key="k")),
        ("PATCH blocks/a", {"description": None}, api.UpdateBlock(1, "a", description="", request_key="k")),
        ("PATCH blocks/a%20b", {"value": "x"}, api.UpdateBlock(1, "a b", "x", request_key="k")),
        ("DELETE blocks/a", "", api.DeleteBlock(1, "a", request_key="k")),
        ("GET history/blk_1?after=3&limit=999", "", api.BlockHistory(1, "blk_1", 3, 100)),
        ("GET messages?before=msg_000000000007&limit=2", "", api.ListMessages(1, 7, None, 2)),
        ("GET messages?q=tea&from=1970-01-01T00:00:00.005Z&limit=2", "",
         api.SearchMessages(1, "tea", 5, limit=2)),
        ("GET messages?until=1970-01-01&before=7&skip=3", "",
         api.SearchMessages(1, None, None, DAY_MS, 7, None, 3)),
        ("POST messages", {"messages": [{"content": "x", "role": "user"}]},
         api.AddMessages(1, ((("role", "user"), ("content", "x")),), "k")),
        ("POST archival", {"text": "x", "tags": ["t"], "metadata": {"a": "b"}},
         api.AddArchival(1, "x", ("t",), (("a", "b"),), "k")),
        ("POST archival", {"content": "x"}, api.AddArchival(1, "x", request_key="k")),
        ("POST archival", {"content": "x", "extract": True, "speaker": "Ann"},
         api.AddArchival(1, "x", request_key="k", extract=True, speaker="Ann")),
        ("GET archival?q=tea&limit=3&skip=2", "", api.SearchArchival(1, "tea", 3, skip=2)),
        ("GET archival?after=arc_1", "", api.ListArchival(1, None, "arc_1")),
        ("GET archival/arc_1", "", api.GetArchival(1, "arc_1")),
        ("DELETE archival/arc_1", "", api.DeleteArchival(1, "arc_1", "k")),
        ("GET prompt?system=Hi&format=tagged", "", api.BuildSystemPrompt(1, "Hi", "tagged")),
        ("POST tools/core_memory_append", {"label": "a", "content": "x"},
         api.AppendToBlock(1, "a", "x", "model", "k")),
        ("POST tools/core_memory_replace",
         {"label": "a", "old_content": "x", "new_content": "y", "all": True},
         api.ReplaceInBlock(1, "a", "x", "y", True, "model", "k")),  # as the wire says it
        ("POST tools/archival_memory_insert", {"content": "x"}, api.AddArchival(1, "x", request_key="k")),
        ("POST tools/archival_memory_search", {"query": "x", "page": 2},
         api.SearchArchival(1, "x", 10, skip=20)),
        ("POST tools/conversation_search", {"query": "x"}, api.SearchMessages(1, "x", limit=10)),
        ("POST tools/conversation_search_date",
         {"start_date": "1970-01-02", "end_date": "1970-01-02T12:00:00Z", "page": 1},
         api.SearchMessages(1, None, DAY_MS, DAY_MS * 3 // 2, limit=10, skip=10)),
    ],
)  # fmt: skip
def test_a_route_is_a_request(line: str, body: object, request_: Request) -> None:
    method, _, path = line.partition(" ")
    text = json.dumps(body) if body else ""
    assert parse(1, method, f"/v1/agents/a1/{path}", KEY, text) == AgentCall("a1", request_)


@pytest.mark.parametrize(("method", "request_"), [("DELETE", api.DeleteAgent), ("POST", api.OpenAgent)])
def test_the_agent_itself_is_a_path(method: str, request_: type[api.AgentRequest]) -> None:
    assert parse(1, method, "/v1/agents/a1/", KEY, "") == AgentCall("a1", request_(1, "k"))
    response = respond(Pair().run().ask(request_(1, "k")))
    assert (response.status, json.loads(response.body)["repeated"]) == (200, False)


@pytest.mark.parametrize(
    ("line", "body", "status"),
    [
        ("GET /v1/agents/a1", "", 405), ("GET /v2/agents/a1/blocks", "", 404),
        ("PUT /v1/agents/a1/blocks", "", 405), ("GET /v1/agents/a1/nothing", "", 404),
        ("PUT /v1/agents/a1/tools/core_memory_append", "", 405),
        ("POST /v1/agents/a1/tools/nothing", "", 404),
        ("POST /v1/agents/a1/blocks", '{"label": NaN}', 400),
        ("POST /v1/agents/a1/blocks", '{"label": "x", "label": "y"}', 400),
        ("POST /v1/agents/a1/archival", '{"content": "x", "metadata": {"a": "b", "a": "c"}}', 400),
        ("POST /v1/agents/a1/blocks", "{}", 400), ("POST /v1/agents/a1/blocks", "[1]", 400),
        ("POST /v1/agents/a1/blocks", "{", 400), ("GET /v1/agents/a1/messages?limit=x", "", 400),
        ("GET /v1/agents/a1/messages?from=yesterday", "", 400),
        ("POST /v1/agents/a1/tools/conversation_search", '{"query": "x", "page": "1"}', 400),
        ("POST /v1/agents/a1/tools/conversation_search_date", '{"start_date": 7, "end_date": ""}', 400),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_says_so(line: str, body: str, status: int) -> None:
    method, _, path = line.partition(" ")
    found = parse(1, method, path, {}, body)
    assert isinstance(found, Malformed)
    assert (found.status, malformed(found).status) == (status, status)


def test_a_path_says_which_methods_it_has() -> None:
    for path, allowed in (("blocks", "GET, POST"), ("blocks/x", "DELETE, GET, PATCH"), ("history", None)):
        found = parse(1, "PUT", f"/v1/agents/a1/{path}", {}, "")
        assert isinstance(found, Malformed)
        assert dict(malformed(found).headers).get("allow") == allowed


def test_a_former_name_of_a_field_counts_if_the_new_one_is_absent() -> None:
    for body, content in (('{"text": "x"}', "x"), ('{"text": "x", "content": "y"}', "y")):
        found = parse(1, "POST", "/v1/agents/a1/archival", {}, body)
        assert isinstance(found, AgentCall)
        assert found.request == api.AddArchival(1, content)
        assert found.ignored == ()


def test_a_page_before_the_first_one_the_memory_refuses() -> None:
    body = '{"query": "x", "page": -1}'
    found = parse(1, "POST", "/v1/agents/a1/tools/archival_memory_search", {}, body)
    assert isinstance(found, AgentCall)
    assert respond(Pair().run().ask(found.request)).status == 400


@pytest.mark.parametrize(
    "body", ['{"messages": ["x"]}', '{"messages": "x"}', '{"messages": {"role": "user"}}']
)
def test_what_is_no_message_the_memory_refuses(body: str) -> None:
    found = parse(1, "POST", "/v1/agents/a1/messages", {}, body)
    assert isinstance(found, AgentCall)
    assert respond(Pair().run().ask(found.request)).status == 400


@pytest.mark.parametrize("deep", ['{"a": ' * 400 + "1" + "}" * 400, "[" * 900 + "]" * 900, "[" * 10**5])
def test_a_body_is_not_followed_into_the_depth(deep: str) -> None:
    found = parse(1, "POST", "/v1/agents/a1/archival", {}, f'{{"text": "x", "metadata": {deep}}}')
    assert found == Malformed("the body is no JSON object, has a name twice, or is nested too deeply")


def test_a_place_that_is_no_number_is_not_taken_for_none() -> None:
    for place in ("msg_", "", "msg_x"):
        found = parse(1, "GET", f"/v1/agents/a1/messages?before={place}", {}, "")
        assert found == Malformed("missing, or not of its form: before")


def test_fields_that_mean_nothing_are_listed() -> None:
    found = parse(1, "POST", "/v1/agents/a/blocks", {}, '{"label": "x", "color": "red"}')
    assert isinstance(found, AgentCall)
    assert found.ignored == ("color",)


def test_what_a_body_cannot_say_is_listed_though_a_request_has_such_a_field() -> None:
    found = parse(1, "PATCH", "/v1/agents/a/blocks/x", {}, '{"value": "y", "author": "user", "op_id": 7}')
    assert isinstance(found, AgentCall)
    assert found.ignored == ("author", "op_id")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(("label", "messages", "text")), inner),
    max_leaves=6,
)
TOOLS = ("tools/conversation_search_date", "tools/archival_memory_search")
PATHS = st.sampled_from(
    (*TOOLS, "blocks", "blocks/x", "messages", "archival", "tools/core_memory_append", "?")
)


@pytest.mark.uncounted
@given(st.sampled_from(("GET", "POST", "PATCH")), PATHS, JSON.map(json.dumps) | st.text(max_size=9))
def test_whatever_is_sent_the_memory_gets_a_request_it_can_judge(method: str, path: str, body: str) -> None:
    found = parse(1, method, f"/v1/agents/a1/{path}", {}, body)
    if isinstance(found, AgentCall):
        assert isinstance(found.request, api.ApiRequest | api.BuildSystemPrompt)
        respond(Pair().run().ask(found.request))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("block", "x"), 404), (LabelTaken("x", "blk_1"), 409), (ReadOnly("x", "model"), 403),
        (BadOption("limit", "0", "1"), 400),
    ],
)  # fmt: skip
def test_a_refusal_has_the_status_of_its_reason(error: Error, status: int) -> None:
    response = respond(Refused(error))
    assert (response.status, json.loads(response.body)["detail"]) == (status, str(error))


def test_the_worlds_failures_may_be_asked_again() -> None:
    assert respond(Failed(StorageFailed("commit", "timeout", 3))).status == 503
    assert respond(Unknown()).status == 504


def test_the_reply_names_the_subjects_of_a_record_that_is_read_for_facts() -> None:
    pair = Pair().run()
    added = json.loads(respond(pair.ask(api.AddArchival(1, "Alice likes tea", extract=True))).body)
    assert (added["ids"], [it["change"] for it in added["entities"]]) == (["arc_000000000001"], ["created"])
    assert "facts" not in added
    gone = json.loads(respond(pair.ask(api.DeleteArchival(2, "arc_000000000001"))).body)
    assert (gone["id"], [it["change"] for it in gone["entities"]]) == ("arc_000000000001", ["forgotten"])


def test_replies_come_as_json_with_their_pairs_as_objects() -> None:
    pair = Pair().run()
    call = (("role", "assistant"), ("content", "x"), ("tool_call_id", "c1"))
    pair.ask(api.CreateBlock(1, "notes", "tea", limit_bytes=9))
    pair.ask(api.AddArchival(2, "tea", (), (("from", "chat"),)))
    added = respond(pair.ask(api.AddMessages(3, (call,), "k")))
    assert json.loads(added.body)["ids"] == ["msg_000000000001"]
    again = respond(pair.ask(api.AddMessages(4, (call,), "k")))
    assert ("x-idempotency-replayed", "true") in again.headers
    assert json.loads(respond(pair.ask(api.ListBlocks(5))).body)[0]["limit"] == 9
    assert json.loads(respond(pair.ask(api.ListMessages(6))).body)["messages"][0]["tool_call_id"] == "c1"
    assert json.loads(respond(pair.ask(api.ListArchival(7))).body)["records"][0]["metadata"] == {
        "from": "chat"
    }
    found = json.loads(respond(pair.ask(api.SearchMessages(11, "x"))).body)
    assert (found["messages"][0]["tool_call_id"], found["next"]) == ("c1", None)
    block = json.loads(respond(pair.ask(api.FindBlock(8, "notes"))).body)
    changes = json.loads(respond(pair.ask(api.BlockHistory(9, block["id"]))).body)["changes"]
    assert [it["text"] for it in changes] == ["tea"]
    assert json.loads(respond(pair.ask(api.BuildSystemPrompt(10))).body)["version"] == 1


def test_times_are_printed_as_dates_and_an_undated_block_has_none() -> None:
    pair = Pair(now_ms=1_500).run()
    pair.ask(api.CreateBlock(1, "notes", "tea"))
    pair.ask(SetBlock(2, "persona", "Umi"))
    added = json.loads(respond(pair.ask(api.AddArchival(3, "tea"))).body)
    assert added["at"] == "1970-01-01T00:00:01.500Z"
    persona, notes = json.loads(respond(pair.ask(api.ListBlocks(4))).body)
    assert (notes["created_at"], notes["updated_at"]) == (added["at"], added["at"])
    assert (persona["created_at"], persona["updated_at"]) == (None, None)
    change = json.loads(respond(pair.ask(api.BlockHistory(5, notes["id"]))).body)["changes"][0]
    assert change["at"] == added["at"]


def test_a_reply_of_another_kind_is_a_mistake_of_the_host() -> None:
    with pytest.raises(TypeError, match="no reply of the API: int"):
        as_json(7)

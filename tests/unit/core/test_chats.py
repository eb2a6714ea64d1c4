"""Goal: conversations that other programs wrote become messages, and nothing of them is lost unsaid."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.chats.formats import FORMATS
from umi_core.chats.messages import read_message
from umi_core.chats.moments import read_moment
from umi_core.chats.reader import read_chat_file
from umi_core.chats.values import LEFT_OUT, Chat, ChatFile, ChatMessage, UnreadMessage
from umi_core.json_text import JsonNumber, whole_json

Said = list[tuple[str, str]]  # role and text
NOON_MS = 1_710_072_000_000  # 2024-03-10T12:00Z


def read(value: object) -> ChatFile:
    found = read_chat_file(value if isinstance(value, str) else json.dumps(value))
    assert found is not None
    assert found.format in FORMATS
    return found


def read_texts(value: object) -> Said:
    """Return roles and texts of the only conversation, of which everything can be read."""
    [chat] = read(value).chats
    assert chat.unread == ()
    return [(it.role, it.text) for it in chat.messages]


def say(*contents: Any, role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": it} for it in contents]


# Whole files.


def node(key: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a node of ChatGPT's export."""
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    message = {"id": key, "author": author, "content": content, "recipient": "all", "metadata": {}, **more}
    return {"id": key, "parent": parent, "children": [], "message": message}


def text(*parts: Any) -> dict[str, Any]:
    return {"content_type": "multimodal_text", "parts": list(parts)}


PICTURE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-7", "width": 3}
FILES = {"attachments": [{"id": "file-7", "name": "cat.png", "mime_type": "image/png"}]}
HIDDEN = {"is_visually_hidden_from_conversation": True}
NODES = [
    {"id": "root", "parent": None, "message": None},
    node("sys", "root", "system", text(""), metadata=HIDDEN),
    node("ask", "sys", "user", text(PICTURE, "What is this?"), create_time=1_710_072_000.5, metadata=FILES),
    node("hm", "ask", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
    node("run", "hm", "assistant", {"content_type": "code", "text": "look()"}, recipient="python"),
    node("out", "run", "tool", {"content_type": "execution_output", "text": "cat"}, name="python"),
    node("bad", "out", "assistant", text("A dog.")),
    node("good", "out", "assistant", text("A cat.")),
    node("odd", "good", "assistant", {"content_type": "brand_new", "thing": 1}),
]
EXPORT = {
    "conversation_id": "c1", "title": "Cats", "create_time": 1_710_000_000, "current_node": "odd",
    "mapping": {it["id"]: it for it in NODES},
}  # fmt: skip


def test_chatgpt_is_read_along_the_branch_that_it_shows() -> None:
    found = read([EXPORT, {"title": "Nothing", "mapping": {}}])
    chat, empty = found.chats
    assert (found.format, chat.key, chat.title, empty.message_count) == ("chatgpt", "c1", "Cats", 0)
    assert [(it.number, it.role, it.text) for it in chat.messages] == [
        (2, "user", "[image: cat.png]\nWhat is this?"),
        (4, "assistant", "calls python(look())"),
        (5, "tool", "python: cat"),
        (6, "assistant", "A cat."),
    ]
    assert chat.messages[0].at_ms == NOON_MS + 500
    assert chat.messages[1].at_ms == 1_710_000_000_000  # that of the conversation
    assert chat.unread == (UnreadMessage(7, "no text, but [brand_new]"),)
    assert chat.left_out == (("hidden", 2), ("in another branch", 1))
    assert chat.message_count == 8


@pytest.mark.parametrize("leaf", [None, "absent"])
def test_without_its_last_node_a_tree_ends_with_the_last_leaf(leaf: str | None) -> None:
    [chat] = read({**EXPORT, "current_node": leaf}).chats
    assert chat.messages[-1].text == "A cat."


def test_a_tree_in_a_circle_ends() -> None:
    nodes = {"a": node("a", "b", "user", text("x")), "b": node("b", "a", "user", text("y")), "c": 7}
    [chat] = read({"mapping": nodes, "current_node": "a"}).chats
    assert [it.text for it in chat.messages] == ["y", "x"]
    assert chat.left_out == (("in another branch", 1),)
    assert read_texts({"mapping": {"a": {"message": say("x")[0]}, "b": {"message": say("y")[0]}}}) == [
        ("user", "x"),
        ("user", "y"),
    ]


def test_claude_is_read_with_attachments_and_tools() -> None:
    messages = [
        {
            "uuid": "m1", "sender": "human", "text": "Hi", "created_at": "2024-03-10T12:00:00.123Z",
            "content": [{"type": "text", "text": "Hi", "citations": []}],
            "attachments": [{"file_name": "notes.txt", "file_type": "txt", "extracted_content": "A nap"}, 7],
            "files": [{"file_name": "a.png"}, {}],
        },
        {"uuid": "m2", "sender": "assistant", "text": "", "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "tool_use", "id": "t", "name": "search", "input": {"query": "tea"}},
            {"type": "tool_result", "tool_use_id": "t", "content": [{"title": "Tea", "url": "https://x"}]},
            {"type": "text", "text": "Done"}]},
        {"uuid": "m3", "sender": "human", "text": "older exports", "content": []},
        {"uuid": "m4", "sender": "human", "text": "", "content": []},
    ]  # fmt: skip
    found = read([{"uuid": "u", "name": "Tea", "chat_messages": messages}])
    [chat] = found.chats
    assert (found.format, chat.key, chat.title) == ("claude", "u", "Tea")
    assert [(it.role, it.text) for it in chat.messages] == [
        ("user", "Hi\n[attachment: notes.txt]\n[attachment: a.png]\n[attachment]"),
        ("tool", "notes.txt: A nap"),
        ("assistant", 'calls search(query="tea")\nsearch: Tea (https://x)\nDone'),
        ("user", "older exports"),
    ]
    assert chat.messages[0].at_ms == NOON_MS
    assert chat.left_out == (("empty", 1),)


def test_a_list_of_messages_with_two_answers_is_read_along_one_branch() -> None:
    messages = [
        {"messageId": "1", "parentMessageId": "0", "sender": "User", "text": "Hi", "isCreatedByUser": True},
        {"messageId": "2", "parentMessageId": "1", "sender": "GPT", "text": "no", "isCreatedByUser": False},
        {"messageId": "3", "parentMessageId": "1", "sender": "GPT", "text": "yes", "isCreatedByUser": False},
    ]
    [chat] = read({"conversationId": "l", "messages": messages}).chats
    assert [(it.role, it.text) for it in chat.messages] == [("user", "Hi"), ("assistant", "yes")]
    assert chat.left_out == (("in another branch", 1),)


def test_open_webui_is_read_from_its_tree_or_its_list() -> None:
    tree = {
        "a": {"id": "a", "parentId": None, "role": "user", "content": "Hi", "files": [{"type": "image"}]},
        "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "no"},
        "c": {"id": "c", "parentId": "a", "role": "assistant", "content": "yes", "timestamp": 1_710_072_000},
    }
    chats = [
        {"id": "o1", "chat": {"title": "T", "history": {"messages": tree, "currentId": "c"}, "messages": []}},
        {"id": "o2", "title": "U", "chat": {"messages": say("ho")}},
        {"id": "o3", "history": {"messages": tree, "currentId": "b"}},
        {"id": "o4", "chat": {"history": {}}},
    ]
    found = read(chats)
    assert found.format == "openwebui"
    assert [(it.key, it.title) for it in found.chats[:3]] == [("o1", "T"), ("o2", "U"), ("o3", "")]
    assert [[it.text for it in chat.messages] for chat in found.chats] == [
        ["Hi\n[image]", "yes"], ["ho"], ["Hi\n[image]", "no"], [],
    ]  # fmt: skip
    assert found.chats[3].unread == (UnreadMessage(1, "neither text nor parts"),)


SESSIONS = {
    "speaker_a": "Ann",
    "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "Ho"}],
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi", "img_url": ["u"], "blip_caption": "a cup"},
        {"speaker": "Ann", "dia_id": "D1:2", "text": "", "img_url": ["u"]},
    ],
    "session_1_date_time": "12:00 pm on 10 March, 2024",
    "session_3": 7,
}


@pytest.mark.parametrize("value", [[{"sample_id": "s", "conversation": SESSIONS}], SESSIONS])
def test_locomo_is_a_conversation_for_each_session_with_its_date(value: object) -> None:
    found = read(value)
    assert found.format == "locomo"
    assert [[(it.role, it.text) for it in chat.messages] for chat in found.chats] == [
        [("Ann", "Hi\n[image: a cup]"), ("Ann", "[image]")], [("Bob", "Ho")], [],
    ]  # fmt: skip
    assert {it.at_ms for it in found.chats[0].messages} == {NOON_MS}
    assert found.chats[0].key == ("s-1" if isinstance(value, list) else "")


def test_longmemeval_is_a_conversation_for_each_session_with_its_id_and_date() -> None:
    sample = {
        "question_id": "q", "haystack_session_ids": ["a"], "haystack_dates": ["2024/03/10 (Sun) 12:00"],
        "haystack_sessions": [say("Hi"), say("Ho"), 7],
    }  # fmt: skip
    found = read([sample, {**sample, "haystack_session_ids": None}])
    assert found.format == "longmemeval"
    assert [(it.key, len(it.messages), len(it.unread)) for it in found.chats] == [
        ("a", 1, 0), ("", 1, 0), ("", 0, 1), ("", 1, 0), ("", 1, 0), ("", 0, 1),
    ]  # fmt: skip
    assert [chat.messages[0].at_ms for chat in found.chats[:2]] == [NOON_MS, None]


PARTS = [
    {"text": "hm", "thought": True},
    {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}},
    {"executableCode": {"language": "PYTHON", "code": "1+1"}},
    {"codeExecutionResult": {"output": "2"}},
    {"codeExecutionResult": {}},
]
REPLY = {"functionResponse": {"name": "weather", "response": {"result": "18 degrees"}}}


def test_gemini_is_read_with_functions_and_code() -> None:
    shown = (
        {"inlineData": {"mimeType": "image/png", "data": "A" * 600}},
        {"fileData": {"mimeType": "text/csv"}},
    )
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}, *shown]},
        {"role": "model", "parts": PARTS},
        {"role": "user", "parts": [REPLY]},
    ]
    assert read_texts({"contents": contents, "systemInstruction": {"parts": [{"text": "Be kind"}]}}) == [
        ("system", "Be kind"),
        ("user", "Hi\n[image]\n[file]"),
        ("assistant", 'calls weather(city="Oslo")\nruns python: 1+1\nresult: 2\nresult: (no output)'),
        ("tool", "weather: 18 degrees"),
    ]
    assert read({"contents": contents}).format == read(contents).format == "gemini"
    assert read_texts({"candidates": [{"content": contents[0], "index": 0}]})[0][0] == "user"
    chunks = [{"role": "user", "text": "Hi"}, {"role": "model", "text": "hm", "isThought": True}]
    assert read_texts({"chunkedPrompt": {"chunks": chunks}}) == [("user", "Hi")]


CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
CALLED = 'calls weather(city="Oslo")'


def test_openai_is_read_with_tools_names_and_images() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}
    hidden = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [
        {"role": "developer", "content": "Be kind"},
        {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "Hi"}, picture, hidden]},
        {"role": "assistant", "content": None, "tool_calls": [CALL, 7]},
        {"role": "tool", "tool_call_id": "c1", "content": "18 degrees"},
        {"role": "assistant", "content": None, "function_call": {"name": "book", "arguments": "12A"}},
        {"role": "function", "name": "book", "content": "done"},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Ho"}},
        {"role": "assistant", "content": None, "audio": {"id": "a"}},
    ]
    assert read_texts({"model": "m", "messages": messages}) == [
        ("system", "Be kind"),
        ("Ann", "Hi\n[image: https://e.org/a.png]\n[image]"),
        ("assistant", CALLED),
        ("tool", "weather: 18 degrees"),
        ("assistant", "calls book(12A)"),
        ("tool", "book: done"),
        ("assistant", "No."),
        ("assistant", "Ho"),
        ("assistant", "[audio]"),
    ]
    assert read(messages).format == "openai"


def test_responses_are_read_item_by_item() -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "web_search_call", "action": {"query": "tea"}},
        {"type": "function_call", "call_id": "c", "name": "book", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "booked"},
        {"type": "image_generation_call", "result": "A" * 600},
        {"type": "code_interpreter_call", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "computer_call_output", "output": {"type": "shot", "image_url": "data:image/png;base64,A"}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]},
    ]
    spoken = [
        ("assistant", 'calls web_search(query="tea")'),
        ("assistant", "calls book()"),
        ("tool", "book: booked"),
        ("assistant", "calls image_generation()\nimage_generation: [data]"),
        ("assistant", "calls code_interpreter(1+1)\ncode_interpreter: 2"),
        ("tool", 'result: {"type":"shot","image_url":"data:image/png;base64,A"}'),
        ("assistant", "Done"),
    ]
    assert read_texts(output) == spoken
    value = {"object": "response", "instructions": "Be kind", "input": "Hi", "output": output}
    assert read_texts(value) == [("system", "Be kind"), ("user", "Hi"), *spoken]
    assert read_texts({"input": say("Hi")}) == [("user", "Hi")]
    parts = [{"type": "input_text", "text": "booked"}]
    assert read_texts([{"type": "function_call_output", "output": parts}]) == [("tool", "result: booked")]
    assert read_texts({"choices": [{"index": 0, "message": say("Ho", role="assistant")[0]}]}) == [
        ("assistant", "Ho")
    ]


def test_a_page_of_threads_is_turned_round() -> None:
    data = [
        {"object": "thread.message", "role": "assistant", "created_at": 1_710_072_001,
         "content": [{"type": "text", "text": {"value": "Ho", "annotations": []}}]},
        {"object": "thread.message", "role": "user", "created_at": 1_710_072_000,
         "content": [{"type": "image_file", "image_file": {"file_id": "f7"}}]},
    ]  # fmt: skip
    expected = [("user", "[image: f7]"), ("assistant", "Ho")]
    assert read_texts({"object": "list", "data": data}) == read_texts({"data": data[::-1]}) == expected


def test_anthropic_is_read_block_by_block() -> None:
    messages = say(
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A"}}, "Hi"],
        [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "boom"}],
        [{"type": "document", "title": "Doc", "source": {"type": "text", "data": "Ann naps"}}],
        [{"type": "tool_result", "tool_use_id": "t", "content": []}],
    )
    call = say([{"type": "tool_use", "id": "t", "name": "book", "input": {}}], role="assistant")
    found = read({"system": "Be kind", "messages": [*call, *messages]})
    assert found.format == "anthropic"
    assert [(it.number, it.role, it.text) for it in found.chats[0].messages] == [
        (0, "system", "Be kind"),
        (1, "assistant", "calls book()"),
        (2, "user", "[image]\nHi"),
        (3, "tool", "book failed: boom"),
        (4, "user", "[file: Doc]"),
        (4, "tool", "Doc: Ann naps"),
        (5, "tool", "book: (no output)"),
    ]


def dump(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "messages", name], "kwargs": kwargs}


def test_langchain_is_read_in_each_of_its_dumps() -> None:
    call = {"name": "book", "args": {"seat": 12}, "id": "t"}
    booked = [("user", "Hi"), ("assistant", "calls book(seat=12)"), ("tool", "book: done")]
    dumped = [
        dump("HumanMessage", content="Hi"),
        dump("AIMessageChunk", content="", tool_calls=[call]),
        dump("ToolMessage", content="done", tool_call_id="t"),
    ]
    plain = [
        {"type": "human", "content": "Hi"},
        {
            "type": "ai",
            "content": [{**call, "type": "tool_use", "input": {"seat": 12}}],
            "tool_calls": [call],
        },
        {"type": "tool", "content": "done", "name": "book"},
    ]
    older = [
        {"type": "human", "data": {"content": "Hi"}, "timestamp": "2024-03-10"},
        {"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": [call]}}},
        {"type": "tool", "data": {"content": "done", "name": "book"}},
    ]
    for messages in (dumped, plain, older):
        assert read_texts(messages) == booked
        assert read(messages).format == "langchain"
    assert read_texts({"values": {"messages": plain}, "next": []}) == booked
    assert read_texts([["human", "Hi"], ["ai", "Ho"]]) == [("user", "Hi"), ("assistant", "Ho")]
    single = {"type": "ai", "content": "", "additional_kwargs": {"function_call": {"name": "f"}}}
    assert read_texts(single) == [("assistant", "calls f()")]


def test_sharegpt_is_read_by_from_and_value() -> None:
    turns = [
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Ho"},
        {"from": "observation", "value": "x"},
    ]
    found = read([{"id": "s1", "conversations": turns}, {"id": "s2", "conversations": turns}])
    assert (found.format, [it.key for it in found.chats]) == ("sharegpt", ["s1", "s2"])
    assert [it.role for it in found.chats[0].messages] == ["user", "assistant", "tool"]
    assert read({"conversations": [EXPORT]}).format == "chatgpt"


def test_the_parts_of_user_interfaces_are_read() -> None:
    invoked = {"toolName": "f", "args": {"a": [1]}, "result": "ok"}
    parts = [
        {"type": "step-start"},
        {"type": "tool-weather", "input": {"city": "Oslo"}, "output": {"temp": 18}},
        {"type": "dynamic-tool", "toolName": "z", "input": [1]},
        {"type": "tool-invocation", "toolInvocation": invoked},
        {"type": "tool-result", "toolName": "w", "result": True},
        {"type": "text", "text": "18"},
    ]
    assert read_texts([{"role": "assistant", "parts": parts}]) == [
        ("assistant", 'calls weather(city="Oslo")\nweather: {"temp":18}\ncalls z([1])\n'
                      "calls f(a=[1])\nf: ok\nw: true\n18"),
    ]  # fmt: skip


def test_json_lines_are_messages_or_conversations() -> None:
    lines = [json.dumps(it) for it in say("Hi\u2028Ho", "Ho")]
    assert read_texts("\ufeff" + "\n\n".join(lines) + "\n") == [("user", "Hi\u2028Ho"), ("user", "Ho")]
    tuned = [json.dumps({"messages": say(it)}) for it in ("Hi", "Ho")]
    found = read("\r\n".join([*tuned, '{"messages": [']))
    assert [len(it.messages) for it in found.chats] == [1, 1, 0]
    assert found.chats[2].unread == (UnreadMessage(1, "no JSON object"),)
    batch = {"custom_id": "r1", "body": {"model": "m", "messages": say("Hi")}}
    assert read(json.dumps(batch)).chats[0].key == "r1"


def test_a_list_of_lists_is_a_list_of_conversations() -> None:
    assert [len(it.messages) for it in read([say("Hi"), say("Hi", "Ho")]).chats] == [1, 2]
    assert [it.messages[0].text for it in read([{"messages": say("Hi")}, say("Ho")[0]]).chats] == ["Hi", "Ho"]


def test_lines_with_names_are_turns() -> None:
    found = read("Ann Lee: I like tea.\n\nReally: yes\nHuman: hi\nBob：茶\n[10/03/2024, 12:00:01] Ann: x")
    assert found.format == "text"
    assert [(it.role, it.text) for it in found.chats[0].messages] == [
        ("Ann Lee", "I like tea."), ("Really", "yes"), ("user", "hi"), ("Bob", "茶"), ("Ann", "x"),
    ]  # fmt: skip
    assert found.chats[0].messages[4].time == "10/03/2024, 12:00:01"
    dated = read("2024-03-10 12:00 - Ann: Hi\nand more\n2024-03-10 12:00 - Bob: Ho").chats[0]
    assert [(it.text, it.at_ms) for it in dated.messages] == [("Hi\nand more", NOON_MS), ("Ho", NOON_MS)]


@pytest.mark.parametrize(
    "value",
    ["", "Ann: Hi", "Dear Ann\nBob: Hi\nAnn: Ho", "a note: x\nanother note: y", "7", "{}", '{"a": 1}',
     '{"messages": {}}', '{"mapping": []}', "[1, 2", "[" * 40 + "]" * 40, '{"input": 7}',
     '{"body": {"a": 1}}', '{"a": [1]}', '{"haystack_sessions": 1}'],
)  # fmt: skip
def test_what_has_no_known_form_is_no_conversation(value: str) -> None:
    assert read_chat_file(value) is None


# Messages.


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "no JSON object"),
        ("Hi", "no JSON object"),
        (["narrator", "Hi"], "no JSON object"),
        ({}, "neither text nor parts"),
        ({"role": "user"}, "neither text nor parts"),
        ({"role": "user", "words": "Hi"}, "neither text nor parts"),
        ({"role": "user", "content": {"at": 7}}, "no text, but [part]"),
        ({"role": "user", "content": [{"type": "odd"}, {"type": "odder"}]}, "no text, but [odd], [odder]"),
        ({"type": "ai", "data": {"says": "Hi"}}, "neither text nor parts"),
    ],
)
def test_a_message_that_cannot_be_read_says_why(message: Any, reason: str) -> None:
    assert read_message(message, 3, {}) == UnreadMessage(3, reason)


@pytest.mark.parametrize(
    "content", ["", " \n", [], None, [""], [{"type": "text", "text": " "}], [{"text": []}]]
)
def test_a_message_that_says_nothing_is_left_out(content: Any) -> None:
    [chat] = read(say(content, "Hi")).chats
    assert (chat.left_out, chat.message_count, chat.messages[0].number) == ((("empty", 1),), 2, 2)


def test_a_thought_is_left_out_and_a_part_of_an_unknown_form_is_named() -> None:
    [chat] = read(say([{"type": "thinking", "thinking": "hm"}], [{"type": "odd"}, "Hi"])).chats
    assert chat.left_out == (("hidden", 1),)
    assert chat.messages == (ChatMessage(2, "user", "[odd]\nHi"),)
    [chat] = read(say([{"type": "odd", "words": "Ann naps"}, "Hi"])).chats
    assert chat.messages == (ChatMessage(1, "user", "[odd]\nHi", unread_parts="[odd]"),)


def test_the_newest_message_may_stand_beside_the_earlier_ones() -> None:
    earlier = [{"role": "USER", "message": "Hi"}, {"role": "CHATBOT", "message": "Hello"}]
    [chat] = read({"chat_history": earlier, "message": "I nap."}).chats
    assert [it.text for it in chat.messages] == ["Hi", "Hello", "I nap."]


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": " Ann [x]:\n y ", "content": "Hi"}, "Ann (x): y"),
        ({"author": {"name": "Ann"}, "content": "Hi"}, "Ann"),
        ({"user": {"username": "ann"}, "text": "Hi"}, "ann"),
        ({"role": "a" * 300, "content": "Hi"}, "a" * 100),
        ({"role": "assistant", "name": "helper", "content": "Hi"}, "assistant"),
        ({"content": "Hi"}, "user"),
    ],
)
def test_a_role_is_one_of_four_or_a_name(message: Any, role: str) -> None:
    found = read_message(message, 1, {})
    assert isinstance(found, tuple)
    assert [it.role for it in found] == [role]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "audio_transcription", "text": "Hi"}, "Hi"),
        ({"type": "input_audio", "input_audio": {"data": "A"}}, "[audio]"),
        ({"type": "video_url", "video_url": {"url": "https://e.org/v"}}, "[video: https://e.org/v]"),
        ({"type": "input_image", "image_url": "https://e.org/a"}, "[image: https://e.org/a]"),
        ({"type": "file", "file": {"filename": "a.pdf"}}, "[file: a.pdf]"),
        ({"type": "refusal", "refusal": "No."}, "No."),
        ({"type": "tool_result", "content": [{"type": "odd", "n": 1}]}, 'result: {"type":"odd","n":1}'),
        ({"type": "tool_result", "content": [None, 7, "x"]}, "result: 7\nx"),
        ({"type": "tool_call"}, "calls a tool()"),
        ({"type": "mcp_call", "name": "f", "arguments": "1", "output": "x"}, "calls f(1)\nf: x"),
    ],
)
def test_each_part_is_a_line(part: Any, shown: str) -> None:
    assert read_texts(say([part], role="assistant")) == [("assistant", shown)]


# Dates.


@pytest.mark.parametrize(
    ("value", "shown", "at_ms"),
    [
        (JsonNumber("1710072000.25"), "2024-03-10T12:00Z", NOON_MS + 250),
        ("1710072000000", "2024-03-10T12:00Z", NOON_MS),
        (JsonNumber("1710072000000000"), "2024-03-10T12:00Z", NOON_MS),
        (JsonNumber("1710072000000000000"), "2024-03-10T12:00Z", NOON_MS),
        (JsonNumber("1700"), "", None),
        (JsonNumber("99999999999999"), "5138-11-16T09:46Z", 99_999_999_999_999),
        (JsonNumber("1e9"), "2001-09-09T01:46Z", 1_000_000_000_000),
        (JsonNumber("1.7100720005e+9"), "2024-03-10T12:00Z", NOON_MS + 500),
        (JsonNumber("1e3"), "", None),
        (JsonNumber("1e30"), "", None),
        (JsonNumber("-1710072000"), "", None),
        (JsonNumber("99999999999999999999"), "", None),
        ("/Date(1710072000000+0100)/", "2024-03-10T12:00Z", NOON_MS),
        ({"$date": {"$numberLong": "1710072000000"}}, "2024-03-10T12:00Z", NOON_MS),
        (
            {"_seconds": JsonNumber("1710072000"), "_nanoseconds": JsonNumber("0")},
            "2024-03-10T12:00Z",
            NOON_MS,
        ),
        ({"at": "noon"}, "", None),
        ("2024-03-10t12:00:00z", None, NOON_MS),
        ("2024-03-10T14:00+02", None, NOON_MS),
        ("2024-03-10T13:00:00+01:00[Europe/Rome]", None, NOON_MS),
        ("2024-03-10 12:00:00.000 +0000 UTC", None, NOON_MS),
        ("20240310T120000Z", None, NOON_MS),
        ("Sun, 10 Mar 2024 12:00:00 GMT", None, NOON_MS),
        ("Sun, 10 Mar 2024 13:00:00 +0100", None, NOON_MS),
        ("Sun Mar 10 2024 13:00:00 GMT+0100 (Central European Time)", None, NOON_MS),
        ("Sun Mar 10 12:00:00 2024", None, NOON_MS),
        ("March 10th, 2024 at 12:00 p.m.", None, NOON_MS),
        ("Sept 10, 2024", None, NOON_MS + 183 * 86_400_000 + 43_200_000),
        ("Sunday, 10 March 2024, 12:00", None, NOON_MS),
        ("10.03.2024 12:00", None, NOON_MS),
        ("31/03/2024 12:00", None, NOON_MS + 21 * 86_400_000),
        ("03/31/2024, 12:00 PM", None, NOON_MS + 21 * 86_400_000),
        ("10/03/2024", None, None),  # in March, or in October
        ("10 March 2024 13:00 pm", None, None),
        ("30 February 2024", None, None),
        ("2024-03-10T13:00:00.5+01:00", None, NOON_MS),
        ("2024-03-10 13:00 +0100", None, NOON_MS),
        ("2024/03/10 (Sun) 12:00", None, NOON_MS),
        ("2024-03-10", None, NOON_MS - 12 * 3_600_000),
        ("12:00 pm on 10 March, 2024", None, NOON_MS),
        ("12:00 am on 11 Mar 2024", None, NOON_MS + 12 * 3_600_000),
        ("10 March 2024", None, NOON_MS - 12 * 3_600_000),
        ("10 Brumaire 2024", None, None),
        ("1960-01-01", None, None),
        ("2024-13-41", None, None),
        ("last spring", None, None),
        ([1], "", None),
        (None, "", None),
    ],
)
def test_a_date_is_read_in_many_forms(value: Any, shown: str | None, at_ms: int | None) -> None:
    assert read_moment(value) == (value if shown is None else shown, at_ms)


@pytest.mark.parametrize(
    ("dates", "day"),
    [
        (("3/10/24, 12:00", "31/10/24, 12:00"), "3 October"),
        (("3/10/24, 12:00", "10/31/24, 12:00"), "10 March"),
        (("3.10.24, 12:00", "4.10.24, 12:00"), "3 October"),
        (("3/10/2024, 12:00 PM", "3/31/2024, 1:00 PM"), "10 March"),
    ],
)
def test_other_dates_of_a_file_tell_what_its_dates_begin_with(dates: tuple[str, str], day: str) -> None:
    [chat] = read("".join(f"[{date}] Ann: Hi\n" for date in dates)).chats
    assert chat.messages[0].at_ms == read_moment(f"{day} 2024 12:00")[1]
    assert [it.time for it in chat.messages] == list(dates)
    assert not any(it.unread_time for it in chat.messages)


def test_dates_that_nothing_tells_are_named() -> None:
    [chat] = read("[3/10/24, 12:00] Ann: Hi\n[4/10/24, 12:00] Ann: Ho").chats
    assert [(it.at_ms, it.unread_time) for it in chat.messages] == [
        (None, '"3/10/24, 12:00"'), (None, '"4/10/24, 12:00"'),
    ]  # fmt: skip


# How programs call the time of a message, and where they put it.
TIMES_OF = (
    "created_at", "createdAt", "create_time", "createTime", "timestamp", "Timestamp", "timestamp_ms", "date",
    "datetime", "date_time", "dateTime", "created", "date_created", "sent_at", "sentAt", "time", "ts",
)  # fmt: skip


@pytest.mark.uncounted
@pytest.mark.parametrize("key", TIMES_OF)
@pytest.mark.parametrize(
    "shape",
    [
        lambda when: {"role": "user", "content": "Hi", **when},
        lambda when: {"role": "user", "content": [{"type": "text", "text": "Hi"}], **when},
        lambda when: {"role": "user", "parts": [{"text": "Hi"}], **when},
        lambda when: {"type": "human", "data": {"content": "Hi", "additional_kwargs": when}},
        lambda when: {"type": "human", "content": "Hi", "response_metadata": when},
        lambda when: {"type": "human", "data": {"content": "Hi"}, **when},
        lambda when: {"from": "human", "value": "Hi", **when},
        lambda when: {"role": "user", "content": "Hi", "metadata": when},
    ],
)
@pytest.mark.parametrize("value", [1_710_072_000, "1710072000000", "2024-03-10T12:00:00Z"])
def test_the_time_of_a_message_is_kept_whatever_it_is_called(key: str, shape: Any, value: Any) -> None:
    [message] = read(json.dumps([shape({key: value})])).chats[0].messages
    assert (message.at_ms, message.unread_time) == (NOON_MS, "")


@pytest.mark.parametrize(
    ("when", "unread"),
    [
        ("last spring", '"last spring"'),
        (5, "5"),
        ({"at": "noon"}, '{"at":"noon"}'),
        (True, "true"),
        ("x" * 99, '"' + "x" * 59),
        ("", ""),
        (" ", ""),
        (None, ""),
        (0, ""),
        (0.0, ""),
        (False, ""),
    ],
)
def test_a_time_that_cannot_be_read_is_named(when: Any, unread: str) -> None:
    [message] = read(json.dumps([{"role": "user", "content": "Hi", "timestamp": when}])).chats[0].messages
    assert (message.at_ms, message.unread_time) == (None, unread)
    dated = {"created_at": "2024-03-10T12:00Z", "messages": [{"role": "user", "content": "Hi", "ts": when}]}
    [message] = read(json.dumps(dated)).chats[0].messages
    assert message.unread_time == unread


def test_no_number_is_a_date_behind_the_last_year() -> None:
    assert read_moment(JsonNumber("9" * 14)) != ("", None)
    assert read_moment(JsonNumber("9" * 17)) == ("5138-11-16T09:46Z", 99_999_999_999_999)


# Whatever a file holds.

WORDS = (
    "role content parts text type data kwargs id messages mapping message parent current_node chat history "
    "chat_messages conversation session_1 haystack_sessions contents choices input output name tool_calls "
    "function tool_result tool_use image human value from speaker author created_at candidates thought"
).split()
TEXTS = st.sampled_from(["", " ", "Hi", "user", *WORDS])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2 * 10**9) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)


@pytest.mark.uncounted
@given(VALUES)
def test_any_value_is_read_or_is_of_no_known_form(value: object) -> None:
    found = read_chat_file(json.dumps(value))
    for chat in found.chats if found else ():
        check_chat(chat)


def check_chat(chat: Chat) -> None:
    for message in chat.messages:
        assert message.text.strip()
        assert message.role
        assert not {"[", "]", "\n"}.intersection(message.role + message.time)
    assert all(it.reason for it in chat.unread)
    assert all(word in LEFT_OUT and count > 0 for word, count in chat.left_out)


@pytest.mark.uncounted
@given(st.lists(VALUES.filter(lambda it: not isinstance(it, list)), max_size=6))
def test_no_message_of_a_list_is_lost(values: list[object]) -> None:
    found = read_chat_file(json.dumps({"role": "", "messages": [*values, {"role": "user", "content": "Hi"}]}))
    assert found is not None
    if len(found.chats) == 1:
        assert found.chats[0].message_count >= 1
        assert found.chats[0].message_count == len(values) + 1 or has_conversation(values)


def has_conversation(values: list[object]) -> bool:
    return any(read_chat_file(json.dumps(it)) is not None for it in values)


@pytest.mark.uncounted
@given(st.text(max_size=80))
def test_any_text_is_read_or_is_of_no_known_form(value: str) -> None:
    read_chat_file(value)


def test_a_deep_value_is_of_no_known_form() -> None:
    assert whole_json("[" * 100_000) is None
    assert read_chat_file('[{"content":' * 20_000) is None


# Forms that people bring.

ASKED, ANSWERED = "I eat no nuts.", "Noted."
BOTH = [("user", ASKED), ("assistant", ANSWERED)]
PAIR = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": ANSWERED}]


@pytest.mark.parametrize(
    "value",
    [
        {"prompt": ASKED, "completion": ANSWERED},
        {"instruction": ASKED, "input": "", "output": ANSWERED},
        {"conversations": [{"user": ASKED, "assistant": ANSWERED}]},
        {"input": {"messages": PAIR[:1]}, "preferred_output": PAIR[1:], "non_preferred_output": [PAIR[0]]},
        {"store": {"a": PAIR}, "class_name": "ChatStore"},
        {"agents": [{"name": "x", "messages": PAIR}], "blocks": []},
        {"messages": [{**PAIR[0], "children": [PAIR[0], PAIR[1]]}]},
        {"prompt": {"role": "prompter", "text": ASKED, "replies": [{"role": "assistant", "text": ANSWERED}]}},
        {"messages": [{"versions": [{"role": "user", "content": "x"}, PAIR[0]], "currentlySelected": 1},
                      {"versions": [{"role": "assistant", "steps": [{"content": ANSWERED}]}]}]},
        {"conversations": [{"conversation": {"id": "x"}, "responses": [
            {"response": {"sender": "human", "message": ASKED}},
            {"response": {"sender": "ASSISTANT", "message": ANSWERED}}]}]},
        [{"mapping": {"a": {"message": {"fragments": [{"type": "REQUEST", "content": ASKED}]}},
                      "b": {"message": {"fragments": [{"type": "THINK", "content": "So."},
                                                      {"type": "RESPONSE", "content": ANSWERED}]}}}}],
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ASKED}]},
         {"kind": "response", "parts": [{"part_kind": "thinking", "content": "So."},
                                        {"part_kind": "text", "content": ANSWERED}]}],
        [{"source": "user", "content": ASKED}, {"source": "assistant", "content": ANSWERED}],
        [{"role": "user", "blocks": [{"block_type": "text", "text": ASKED}]}, PAIR[1]],
        [{"header": "Gemini Apps", "products": ["Gemini"], "title": f"Prompted {ASKED}",
          "safeHtmlItem": [{"html": f"<p>{ANSWERED}</p>"}]}],
        [PAIR[0], {"role": "assistant", "content": f"<think>So.</think>\n{ANSWERED}"}],
        [PAIR[0], {"role": "assistant", "content": f"{ANSWERED}\ue200cite\ue202turn0\ue201"}],
        [PAIR[0], {"role": "assistant", "content":
                   f'<details type="reasoning"><summary>Thought</summary>So.</details>{ANSWERED}'}],
        [PAIR[0], {"role": "assistant", "content": "<think>So.</think>"}, PAIR[1]],
        f"role,content\nuser,{ASKED}\nassistant,{ANSWERED}",
        f"content\trole\n{ASKED}\tuser\n{ANSWERED}\tassistant\n",
        f"{json.dumps(PAIR[0], indent=1)}\n{json.dumps(PAIR[1], indent=1)}",
        f"{json.dumps(PAIR[0])},\n{json.dumps(PAIR[1])}",
        f"\x1e{json.dumps(PAIR[0])}\n\x1e{json.dumps(PAIR[1])}",
        f"window.YTD.messages.part0 = {json.dumps(PAIR)}",
        f"{json.dumps(PAIR)[:-1]},]",
        f"# Nuts\n\n**You:**\n\n{ASKED}\n\n**ChatGPT:**\n\n{ANSWERED}",
        f"**You:** {ASKED}\n\n**ChatGPT**: {ANSWERED}",
        f"## User\n{ASKED}\n## Assistant\n{ANSWERED}",
    ],
)  # fmt: skip
def test_a_question_and_its_answer_are_read_in_any_form(value: object) -> None:
    assert read_texts(value) == BOTH


def test_calls_in_a_text_are_lines() -> None:
    call = '<details type="tool_calls" name="save" arguments="{&quot;a&quot;:1}" result="&quot;ok&quot;">x'
    assert read_texts([PAIR[0], {"role": "assistant", "content": f"{call}</details>\nNoted."}]) == [
        ("user", ASKED), ("assistant", "calls save(a=1)\nsave: ok\n\nNoted."),
    ]  # fmt: skip


def test_whatsapp_is_read_with_its_notices_and_numbers() -> None:
    first = "9/3/24, 17:20 - Messages are encrypted.\n\u200e[13/03/2024, 17:20:01] ann: Hi\n"
    [chat] = read(first + "13/03/2024, 5:21 p.m. - +49 170 123: \u200eHo\n13/03/2024, 17:30 - Bob left").chats
    assert [(it.role, it.text) for it in chat.messages] == [("ann", "Hi"), ("+49 170 123", "Ho")]
    assert chat.left_out == (("notice", 2),)


def test_a_line_that_begins_with_a_date_continues_a_turn_without_one() -> None:
    assert read_texts("Ann: This week:\n2024-03-10 10:00 dentist\nBob: Ok") == [
        ("Ann", "This week:\n2024-03-10 10:00 dentist"), ("Bob", "Ok"),
    ]  # fmt: skip


def test_facebook_is_read_backwards_and_its_bytes_are_mended() -> None:
    times = (1_710_000_002_000, 1_710_000_001_000)
    texts = ("Sch\u00c3\u00b6n.", "N\u00c3\u00bcsse?")
    messages = [
        {"sender_name": "Ann", "timestamp_ms": at, "content": it} for at, it in zip(times, texts, strict=True)
    ]
    assert read_texts({"messages": messages}) == [("Ann", "Nüsse?"), ("Ann", "Schön.")]


def test_a_text_with_bold_words_is_one_text() -> None:
    parts = ["I eat ", {"type": "bold", "text": "no"}, " nuts."]
    assert read_texts([{"from": "Ann", "text": parts}, {"from": "Bob", "text": "Ho"}])[0] == ("Ann", ASKED)


@pytest.mark.parametrize(
    "date",
    ["10. März 2024 12:00", "10 mars 2024 à 12:00", "10 de marzo de 2024, 12:00", "2024年3月10日 12:00",
     "10 marzo 2024 alle 12:00", "10 maart 2024 12:00"],
)  # fmt: skip
def test_dates_of_other_languages_are_read(date: str) -> None:
    assert read_moment(date)[1] == NOON_MS


def test_what_is_cut_off_or_no_table_is_no_conversation() -> None:
    for text in (
        json.dumps(PAIR)[:-9],
        "role,content",
        "a,b\n1,2",
        "Subject: Hi\nDate: Monday\nText",
        "role,x\na,b",
    ):
        found = read_chat_file(text)
        assert found is None or not any(it.messages for it in found.chats)


def test_the_history_of_a_pair_comes_before_it() -> None:
    pair = {"instruction": "And fish?", "output": "None.", "history": [[ASKED, ANSWERED], "?"]}
    assert read_texts(pair) == [*BOTH, ("user", "And fish?"), ("assistant", "None.")]


def test_a_text_that_is_no_bytes_of_facebook_stays() -> None:
    messages = [
        {"sender_name": "Ann", "timestamp_ms": NOON_MS, "content": it} for it in ("Nüsse €", "NÃ¼sse")
    ]
    chats = read({"participants": [{"name": "Ann"}], "messages": messages}).chats
    assert [it.text for it in chats[0].messages] == ["Nüsse €", "Nüsse"]


def test_a_message_of_langchain_inside_another_object_is_found() -> None:
    inner = {"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {"content": ASKED}}
    assert read_texts([{"message": inner}]) == BOTH[:1]


def test_a_table_with_a_cell_beyond_the_limit_of_its_reader_is_no_table() -> None:
    assert read_chat_file(f"role,content\nuser,{'x' * 140_000}\n") is None

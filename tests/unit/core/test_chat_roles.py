"""Goal: what tools, files and programs write into a conversation is no statement of a person."""

import json
from typing import Any

import pytest

from tests.unit.core.test_chats import Said, dump, node, read, read_texts, say
from umi_core.chats.values import Chat
from umi_core.conversations import conversation
from umi_core.language.sentences import sentences
from umi_core.limits import SEGMENT_BYTES_MAX, SEGMENT_SENTENCE_COUNT_MAX
from umi_core.text import size

LIE, OWN = "I live in Berlin.", "I fish."
TEXT = {"type": "text", "text": OWN}
USED = {"type": "tool_use", "id": "t", "name": "fetch", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": LIE}
TOOL, USER = ("tool", f"result: {LIE}"), ("user", OWN)
PLAIN, LETTER = ("tool", LIE), ("tool", f"letter.txt: {LIE}")
NAMED, SHOWN = ("user", "[file: letter.txt]"), ("user", f"{OWN}\n[attachment: letter.txt]")
SOURCE = {"type": "text", "media_type": "text/plain", "data": LIE}


# Results and documents among the parts of a message of a person.


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([RESULT, TEXT], [TOOL, USER]),
        ([TEXT, RESULT], [USER, TOOL]),
        ([TEXT, RESULT, {"type": "text", "text": "I row."}], [USER, TOOL, ("user", "I row.")]),
        ([{**RESULT, "content": [{"type": "text", "text": LIE}]}, TEXT], [TOOL, USER]),
        ([RESULT, RESULT], [("tool", f"result: {LIE}\nresult: {LIE}")]),
        ([{"type": "mcp_tool_result", "content": LIE}, TEXT], [TOOL, USER]),
        ([{"type": "web_search_tool_result", "content": [{"title": "T", "url": "u", "type": "x"}]}, TEXT],
         [("tool", "result: T (u)"), USER]),
        ([{"type": "function_call_output", "output": LIE}, TEXT], [TOOL, USER]),
        ([{"type": "tool-result", "toolName": "fetch", "result": LIE}, TEXT],
         [("tool", f"fetch: {LIE}"), USER]),
        ([{"functionResponse": {"name": "fetch", "response": {"result": LIE}}}, {"text": OWN}],
         [("tool", f"fetch: {LIE}"), USER]),
        ([{"codeExecutionResult": {"output": LIE}}, {"text": OWN}], [TOOL, USER]),
        ([{"toolResult": {"toolUseId": "t", "content": [{"text": LIE}]}}, {"text": OWN}], [TOOL, USER]),
        ([{"tool_call_result": {"result": LIE}}, {"text": OWN}], [TOOL, USER]),
        ([{"type": "tool-fetch", "input": {}, "output": LIE}, TEXT],
         [("assistant", "calls fetch()"), ("tool", f"fetch: {LIE}"), USER]),
        ([{"type": "search_result", "title": "T", "source": "u", "content": [{"type": "text", "text": LIE}]},
          TEXT], [("tool", f"T: {LIE}"), USER]),
        ([{"type": "document", "title": "letter.txt", "source": SOURCE}, TEXT],
         [NAMED, LETTER, USER]),
        ([{"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": LIE}]}},
          TEXT], [("user", "[file]"), ("tool", f"file: {LIE}"), USER]),
        ([{"document": {"name": "letter.txt", "source": {"text": LIE}}}, {"text": OWN}],
         [NAMED, LETTER, USER]),
        ([{"type": "file", "name": "letter.txt", "text": LIE}, TEXT], [NAMED, LETTER, USER]),
        ([{"type": "text-plain", "title": "letter.txt", "text": LIE}, TEXT], [LETTER, USER]),
        ([{"page_content": LIE, "metadata": {"source": "u"}}, TEXT], [("tool", f"document: {LIE}"), USER]),
        ([{"type": "citation", "text": LIE}, TEXT], [("tool", f"citation: {LIE}"), USER]),
        ([OWN, {"type": "blockquote", "text": LIE}], [USER, ("tool", f"blockquote: {LIE}")]),
        ([{"content_type": "tether_quote", "title": "T", "text": LIE}, OWN], [("tool", f"T: {LIE}"), USER]),
        # These are of the person.
        ([{**TEXT, "citations": [{"cited_text": LIE}]}], [USER]),
        ([{"type": "input_audio", "transcript": OWN}], [("user", f"[audio]\n{OWN}")]),
        ([{"type": "audio_transcription", "text": OWN}], [USER]),
        ([{"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}}, TEXT],
         [("user", f"[image: https://e.org/a.png]\n{OWN}")]),
        ([{"type": "paragraph", "text": OWN}], [USER]),
    ],
)  # fmt: skip
def test_a_result_or_a_document_is_not_what_the_person_beside_it_states(
    parts: list[Any], expected: Said
) -> None:
    for message in ({"role": "user", "content": parts}, {"role": "user", "parts": parts}):
        [chat] = read([message]).chats
        assert [(it.role, it.text) for it in chat.messages] == expected
        assert {it.number for it in chat.messages} == {1}
        assert (chat.message_count, chat.unread, chat.left_out) == (1, (), ())


@pytest.mark.parametrize(
    "message",
    [
        dump("HumanMessage", content=[RESULT, TEXT]),
        {"type": "human", "data": {"content": [RESULT, TEXT]}},
        {"from": "human", "value": [RESULT, TEXT]},
        {"sender": "human", "uuid": "u", "text": "", "content": [RESULT, TEXT]},
        {"author": {"role": "user"}, "content": {"content_type": "multimodal_text", "parts": [RESULT, TEXT]}},
    ],
)
def test_the_parts_of_each_program_are_told_apart(message: Any) -> None:
    assert read_texts([message]) == [TOOL, USER]


def test_a_result_among_the_parts_of_a_person_with_a_name_is_of_the_tool() -> None:
    called = say([USED], role="assistant")
    messages = [*called, {"role": "user", "name": "Ann", "content": [RESULT, TEXT]}]
    assert read_texts(messages)[1:] == [("tool", f"fetch: {LIE}"), ("Ann", OWN)]


def test_an_answer_with_results_and_files_stays_one_message() -> None:
    parts = [USED, RESULT, {"type": "document", "source": SOURCE}, {"type": "text", "text": "Done."}]
    assert read_texts(say(parts, role="assistant")) == [
        ("assistant", f"calls fetch()\nfetch: {LIE}\n[file]\nfile: {LIE}\nDone."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        {"type": "tool_result", "role": "user", "content": LIE},
        {"type": "function_call_output", "role": "user", "output": LIE},
    ],
)
def test_a_message_that_is_a_result_is_of_the_tool(message: Any) -> None:
    assert read_texts([message]) == [TOOL]


@pytest.mark.parametrize("role", ["ipython", "tool_response", "document", "Documents", "context"])
def test_roles_of_what_a_program_found_are_tools(role: str) -> None:
    assert read_texts([{"role": role, "content": LIE}, *say(OWN)]) == [PLAIN, USER]
    assert read_texts([{"from": role, "value": LIE}, {"from": "human", "value": OWN}]) == [PLAIN, USER]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "file_search_call", "queries": ["x"], "results": [{"text": LIE, "filename": "a.txt"}]},
         [("assistant", f'calls file_search(["x"])\nfile_search: {LIE}')]),
        ({"type": "document", "content": LIE}, [("tool", LIE)]),
        ({"type": "custom_tool_call_output", "call_id": "c", "output": LIE}, [TOOL]),
    ],
)  # fmt: skip
def test_an_item_of_a_program_in_a_list_is_not_by_the_user(item: Any, expected: Said) -> None:
    assert read_texts([*say(OWN), item]) == [USER, *expected]


def test_a_message_of_a_tool_is_no_conversation() -> None:
    [chat] = read([*say(OWN), {"role": "tool", "results": [{"text": LIE}]}]).chats
    assert [(it.role, it.text) for it in chat.messages] == [USER]
    assert [it.reason for it in chat.unread] == ["neither text nor parts"]


def test_parts_of_a_request_have_roles_of_their_own() -> None:
    parts = [
        {"part_kind": "system-prompt", "content": "Be kind."},
        {"part_kind": "tool-return", "tool_name": "fetch", "content": LIE},
        {"part_kind": "user-prompt", "content": OWN},
        {"part_kind": "retry-prompt", "content": "Try again."},
    ]
    assert read_texts([{"kind": "request", "parts": parts}]) == [
        ("system", "Be kind."), ("tool", f"fetch: {LIE}"), USER, ("tool", "Try again."),
    ]  # fmt: skip


def test_the_input_of_an_instruction_is_a_document() -> None:
    assert read_texts({"instruction": "Shorten this.", "input": LIE, "output": "Berlin."}) == [
        ("user", "Shorten this."), PLAIN, ("assistant", "Berlin."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<tool_response>\n{LIE}\n</tool_response>", [PLAIN]),
        (f'<document index="1">{LIE}</document>\n{OWN}', [PLAIN, USER]),
        (f"{OWN}\n<context>{LIE}</context>\nI row.", [USER, PLAIN, ("user", "I row.")]),
        (f"<documents><document>{LIE}</document></documents>{OWN}", [PLAIN, USER]),
        (f"<system-reminder>{LIE}</system-reminder>", [PLAIN]),
        (f"<context></context>{OWN}", [USER]),
        (f"<context>{OWN}<document>{LIE}</document>", [("user", f"<context>{OWN}"), PLAIN]),
        # These are of the person.
        (f"{OWN} <context>{LIE}", [("user", f"{OWN} <context>{LIE}")]),
        ("Write a <document> tag.", [("user", "Write a <document> tag.")]),
        (f"<b>{OWN}</b>", [("user", f"<b>{OWN}</b>")]),
        (f"</context>{OWN}<context>", [("user", f"</context>{OWN}<context>")]),
    ],
)
def test_a_document_between_tags_is_not_what_the_person_around_it_states(text: str, expected: Said) -> None:
    for content in (text, [{"type": "text", "text": text}]):
        assert read_texts(say(content)) == expected
    assert read_texts(say(text, role="assistant")) == [("assistant", text)]


# Attached files.


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"attachments": [{"file_name": "letter.txt", "file_type": "txt", "extracted_content": LIE}]},
         [SHOWN, LETTER]),
        ({"files": [{"type": "file", "name": "letter.txt", "file": {"data": {"content": LIE}}}]},
         [SHOWN, LETTER]),
        ({"files": [{"filename": "letter.txt", "text": LIE}]}, [SHOWN, LETTER]),
        ({"metadata": {"attachments": [{"name": "letter.txt", "content": LIE}]}}, [SHOWN, LETTER]),
        ({"attachments": [{"extracted_content": LIE}]}, [("user", f"{OWN}\n[attachment]"),
                                                        ("tool", f"attachment: {LIE}")]),
        ({"attachments": [{"file_name": "letter.txt", "extracted_content": LIE}, {"file_name": "b.md"}]},
         [("user", f"{OWN}\n[attachment: letter.txt]\n[attachment: b.md]"), LETTER]),
        ({"experimental_attachments": [{"name": "letter.txt", "contentType": "text/plain",
                                        "url": "data:text/plain;base64,SSBsaXZl"}]}, [SHOWN]),
        ({"documents": [{"title": "letter.txt", "snippet": LIE}]}, [SHOWN, LETTER]),
    ],
)  # fmt: skip
def test_the_text_of_an_attached_file_is_a_line_of_its_own(more: Any, expected: Said) -> None:
    assert read_texts([{"role": "user", "content": OWN, **more}]) == expected


def test_a_message_that_is_only_a_file_is_its_name_and_its_text() -> None:
    file = {"file_name": "letter.txt", "extracted_content": LIE}
    found = {"uuid": "u", "chat_messages": [{"sender": "human", "text": "", "attachments": [file]}]}
    assert read_texts([found]) == [("user", "[attachment: letter.txt]"), LETTER]


@pytest.mark.parametrize(
    "page", ["This page tells of ships and of the sea. " * 300, "x" * 30_000 + " ", "é " * 9_000]
)
def test_each_line_of_a_long_message_has_its_role(page: str) -> None:
    lines = conversation(json.dumps([*say(f"{page}{LIE}", role="tool"), *say(OWN)])).split("\n")
    assert len(lines) > 3
    assert lines[-1] == f"[{len(lines) - 1}] [user]: {OWN}"
    for at, line in enumerate(lines[:-1]):
        assert line.startswith(f"[{at}] [tool]: ")
        assert size(line) <= SEGMENT_BYTES_MAX
        assert len(sentences(line)) <= SEGMENT_SENTENCE_COUNT_MAX
    texts = "".join(line.partition("]: ")[2] for line in lines[:-1])
    assert texts.replace(" ", "") == f"{page}{LIE}".replace(" ", "")


# The newest first.


def dated(*days: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"day {day}", "created_at": f"2024-05-{day:02}", **more}
            if day else {"role": "user", "content": "no day", **more} for day in days]  # fmt: skip


@pytest.mark.parametrize(
    ("days", "order"),
    [
        ((2, 1), (1, 2)),
        ((4, 3, 3, 1), (1, 3, 3, 4)),
        ((1, 2), (1, 2)),
        ((1, 1), (1, 1)),
        ((3, 1, 2), (3, 1, 2)),
        ((3, 2, 0), (3, 2, 0)),  # one has no time
        ((3,), (3,)),
    ],
)
def test_a_list_with_the_newest_message_first_is_turned_round(
    days: tuple[int, ...], order: tuple[int, ...]
) -> None:
    messages = dated(*days)
    wrapped = [{"index": n, "message": it} for n, it in enumerate(messages)]
    for value in (
        messages,
        {"messages": messages},
        {"title": "T", "created_at": "2024-05-02", "items": messages},
        [messages, messages],
        {"deep": {"er": {"talk": messages}}},
        {"choices": wrapped},
    ):
        for chat in read(value).chats:
            assert [it.text for it in chat.messages] == [it["content"] for it in dated(*order)]
    lines = "\n".join(json.dumps(it) for it in messages)
    if len(days) > 1:
        assert [it.text for it in read(lines).chats[0].messages] == [it["content"] for it in dated(*order)]


def test_the_places_of_messages_stay_those_of_the_file() -> None:
    odd = {"role": "user", "content": {"at": 7}, "created_at": "2024-05-02"}
    [chat] = read([dated(3)[0], odd, dated(1)[0]]).chats
    assert [(it.number, it.text) for it in chat.messages] == [(3, "day 1"), (1, "day 3")]
    assert [it.number for it in chat.unread] == [2]


def test_lines_and_rows_with_the_newest_first_are_turned_round() -> None:
    lines = "[2024-05-02 10:00] Ann: I moved to Hanoi.\n[2024-05-01 10:00] Ann: I live in Hue."
    rows = "role,content,date\nuser,I moved to Hanoi.,2024-05-02\nuser,I live in Hue.,2024-05-01"
    for value in (lines, rows):
        assert [it.text for it in read(value).chats[0].messages] == ["I live in Hue.", "I moved to Hanoi."]


def test_the_branch_of_a_tree_keeps_its_order() -> None:
    nodes = [
        {"id": "r", "parent": None, "message": None},
        node("a", "r", "user", {"parts": ["one"]}, create_time=1_710_000_002),
        node("b", "a", "user", {"parts": ["two"]}, create_time=1_710_000_001),
    ]
    assert [text for _, text in read_texts({"mapping": {it["id"]: it for it in nodes}})] == ["one", "two"]


# What says nothing.


@pytest.mark.parametrize(
    "message",
    [
        node("a", None, "assistant", {"content_type": "text", "parts": [""]})["message"],
        node("a", None, "user", {"content_type": "multimodal_text", "parts": ["", " "]})["message"],
        node("a", None, "user", {"content_type": "text", "parts": []})["message"],
        node("a", None, "user", {"content_type": "text", "parts": None})["message"],
        node("a", None, "assistant", {"content_type": "code", "text": ""})["message"],
        node("a", None, "tool", {"content_type": "tether_browsing_display", "result": "", "summary": None})[
            "message"
        ],
        {"role": "user", "content": [{"type": "text", "text": None}]},
        {"role": "user", "content": [{"type": "text", "text": {"value": "", "annotations": []}}]},
        {"role": "user", "content": {}},
        {"role": "user", "content": [[""], []]},
        {"role": "model", "parts": [{}]},
        {"role": "model", "parts": [{"text": ""}]},
        {"from": "human", "value": " \n"},
        {"type": "ai", "data": {"content": [{"type": "text", "text": ""}]}},
        {"sender": "human", "uuid": "u", "text": "", "content": [{"type": "text", "text": "\t"}]},
    ],
)
def test_a_message_of_blank_texts_is_empty(message: Any) -> None:
    [chat] = read([message, *say(OWN)]).chats
    assert (chat.left_out, chat.unread, chat.message_count) == ((("empty", 1),), (), 2)


@pytest.mark.parametrize(
    "message",
    [{"role": "user"}, {"role": "user", "content": [{"type": "odd", "thing": ""}]},
     {"role": "user", "content": [{"type": "text", "words": "Hi"}]}],
)  # fmt: skip
def test_a_message_whose_text_may_stand_elsewhere_is_not_empty(message: Any) -> None:
    [chat] = read([message, *say(OWN)]).chats
    assert (chat.left_out, len(chat.unread)) == ((), 1)


# What a program writes in place of a message.


def read_line(text: str) -> Chat:
    [chat] = read(f"01.02.2024, 10:00 - Ann: Hi\n01.02.2024, 10:01 - Ann: {text}").chats
    return chat


MISSING = (
    "<Media omitted>", "image omitted", "GIF omitted", "Contact card omitted", "This message was deleted",
    "This message was deleted.", "You deleted this message",
    "Waiting for this message. This may take a while.",
    "<Medien ausgeschlossen>", "Bild weggelassen", "Diese Nachricht wurde gelöscht.",
    "Du hast diese Nachricht gelöscht.", "<Médias omis>", "image absente", "Ce message a été supprimé",
    "Vous avez supprimé ce message", "<Multimedia omitido>", "imagen omitida", "Se eliminó este mensaje.",
    "Eliminaste este mensaje.", "<Media omessi>", "immagine omessa", "Questo messaggio è stato eliminato",
    "Hai eliminato questo messaggio", "<Mídia oculta>", "imagem ocultada", "Mensagem apagada",
    "Você apagou esta mensagem", "<Media weggelaten>", "afbeelding weggelaten", "Dit bericht is verwijderd",
    "Je hebt dit bericht verwijderd", "<media omitted>", "", "You unsent a message",
    "You sent an attachment.",
)  # fmt: skip
NOTICES = (
    "Messages and calls are end-to-end encrypted. No one outside of this chat can read them.",
    "Missed voice call", "Missed video call", "Missed group voice call",
    "Messages to this chat and calls are now secured with end-to-end encryption. Tap for more info.",
    "Your security code with Bob changed.", "Your security code with Bob changed. Tap to learn more.",
    "Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.", "Verpasster Sprachanruf",
    "Les messages et les appels sont chiffrés de bout en bout.", "Appel vocal manqué",
    "Los mensajes y las llamadas están cifrados de extremo a extremo.", "Llamada perdida",
    "I messaggi e le chiamate sono crittografati end-to-end.", "Chiamata persa",
    "As mensagens e as chamadas são protegidas com a criptografia de ponta a ponta.",
    "Chamada de voz perdida",
    "Berichten en oproepen worden end-to-end versleuteld.", "Gemiste spraakoproep",
)  # fmt: skip


@pytest.mark.parametrize("text", MISSING)
def test_what_says_that_something_is_not_there_is_empty(text: str) -> None:
    for shown in (text, f"\u200e{text}"):
        chat = read_line(shown)
        assert [it.text for it in chat.messages] == ["Hi"]
        assert (chat.left_out, chat.message_count) == ((("empty", 1),), 2)
    [chat] = read([*say("Hi"), *say(text)]).chats
    assert chat.left_out == (("empty", 1),)


@pytest.mark.parametrize("text", NOTICES)
def test_what_a_program_reports_under_a_name_is_empty(text: str) -> None:
    chat = read_line(text)
    assert [it.text for it in chat.messages] == ["Hi"]
    assert (chat.left_out, chat.message_count) == ((("empty", 1),), 2)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<Media omitted>\nThis is my cat.", "This is my cat."),
        ("I live in Hue. <This message was edited>", "I live in Hue."),
        ("Ich bin in Hue. <Diese Nachricht wurde bearbeitet.>", "Ich bin in Hue."),
        ("<attached: 0001-PHOTO.jpg>", "[attachment: 0001-PHOTO.jpg]"),
        ("Look <attached: 0001-PHOTO.jpg>", "Look [attachment: 0001-PHOTO.jpg]"),
        ("IMG-1-WA0001.jpg (file attached)\nMy cat.", "[attachment: IMG-1-WA0001.jpg]\nMy cat."),
        ("IMG-1.jpg (Datei angehängt)", "[attachment: IMG-1.jpg]"),
        # These are said by a person.
        ("My image omitted the sky.", None),
        ("I deleted this message board.", None),
        ("This message was deleted by my boss, so I quit.", None),
        ("Messages and calls are end-to-end encrypted in Signal, which is why I use it.", None),
        (f"Messages and calls are end-to-end encrypted. In this chat I say {'so ' * 90}much.", None),
        ("Messages and calls are end-to-end encrypted. I love that.", None),
        ("Your security code with the bank changed yesterday.", None),
        ("I missed voice call training.", None),
        ("Missed voice calls make me sad.", None),
        ("Use <b>this</b> (file attached to the mail)", None),
        ("I said: media omitted", None),
    ],
)
def test_what_a_person_says_beside_it_stays(text: str, shown: str | None) -> None:
    chat = read_line(text)
    assert [it.text for it in chat.messages] == ["Hi", text if shown is None else shown]
    assert chat.left_out == ()

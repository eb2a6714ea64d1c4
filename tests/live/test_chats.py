"""Goal: conversations of other programs are imported once, whole or with what is missing named."""

import contextlib
import gzip
import io
import json
import os
import pty
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import apsw

from tests.live.test_batches import WaitingModel
from tests.live.test_command import Shell, folder, shell, surroundings
from umi_core.limits import TEXT_BYTES_MAX
from umi_core.rows import Resource
from umi_live import BlockingMemory, LiveError, chats, open_blocking
from umi_live.chats import ChatDocument, import_chats, make_documents, read_conversations
from umi_live.local import ANSWERS
from umi_live.memory import LiveMemory

__all__ = ["folder", "shell"]  # fixtures
NOON_MS = 1_710_072_000_000  # 2024-03-10T12:00Z
NUTS = {"role": "user", "content": "I am allergic to nuts."}
NOTED = {"role": "assistant", "content": "Noted."}
CLAUDE: list[dict[str, Any]] = [
    {"uuid": f"u{number}", "name": "Food", "created_at": "2024-03-10T12:00:00Z", "chat_messages": [
        {"uuid": f"m{number}", "sender": "human", "text": f"I like {food}.", "attachments": []}]}
    for number, food in enumerate(("tea", "milk", "figs"))
]  # fmt: skip


def write(name: str, value: object) -> str:
    Path(name).write_text(value if isinstance(value, str) else json.dumps(value))
    return name


def documents(value: object) -> list[ChatDocument]:
    text = value if isinstance(value, str) else json.dumps(value)
    found, _ = read_conversations("chat.json", {"chat.json": text}, None)
    return list(make_documents(found, "chat.json"))


def resources(memory: BlockingMemory) -> dict[str | None, Resource]:
    rows = memory.list("resource").value.rows
    return {it.uri: it for it in rows if isinstance(it, Resource)}


def pack(files: Mapping[str, str | bytes]) -> bytes:
    """Return an archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def test_a_conversation_is_imported_and_found(shell: Shell) -> None:
    file = write("chat.json", [NUTS, NOTED, {"role": "user", "content": ""}])
    summary = (
        "openai: 2 messages in 1 conversation, 1 new fact\ncreated    1 text\nleft out   1 message: empty\n"
    )
    assert shell("import", "--db", "a.db", file) == (0, summary, "")
    assert "I am allergic to nuts." in shell("recall", "--db", "a.db", "nuts")[1]
    again = summary.replace("1 new fact", "0 new facts").replace("created  ", "unchanged")
    assert shell("import", "--db", "a.db", "--from", "anthropic", file) == (0, again, "")
    with open_blocking("a.db", user="me", agent="agent") as memory:
        [uri] = resources(memory)
        assert uri is not None
        assert uri.startswith("openai:chat.json#1-")
    write("chat.json", [NUTS, NOTED, {"role": "user", "content": "I like tea."}])
    assert "updated    1 text" in shell("import", "--db", "a.db", file)[1]


def test_each_conversation_is_a_text_with_its_date(shell: Shell) -> None:
    status, out, err = shell("import", "--db", "a.db", "--user", "ann", write("claude.json", CLAUDE))
    assert (status, out.splitlines()[0], err) == (0, "claude: 3 messages in 3 conversations, 3 new facts", "")
    with open_blocking("a.db", user="ann", agent="agent") as memory:
        found = resources(memory)
        assert sorted(map(str, found)) == ["claude:u0", "claude:u1", "claude:u2"]
        assert {it.happened_ms for it in found.values()} == {NOON_MS}
        assert [it.event_time_ms for it in memory.entities()] == [NOON_MS] * 3


def test_what_cannot_be_read_is_named_and_the_status_is_1(shell: Shell) -> None:
    file = write("claude.json", [CLAUDE[0], {"uuid": "u9", "chat_messages": [{"sender": "human"}, 7]}])
    status, out, err = shell("import", "--db", "a.db", file)
    assert (status, out.splitlines()[0]) == (1, "claude: 1 message in 2 conversations, 1 new fact")
    assert err.splitlines() == [
        "umi-live: 2 of 3 messages could not be read:",
        "  conversation 2, message 1: neither text nor parts",
        "  conversation 2, message 2: no JSON object",
    ]
    many = shell("import", "--db", "b.db", write("many.json", [NUTS, *[7] * 12]))[2].splitlines()
    assert (len(many), many[1], many[-1]) == (12, "  message 2: no JSON object", "  and 2 more")


def test_a_time_that_cannot_be_read_is_named_and_the_message_kept(shell: Shell) -> None:
    spoken = [{**NUTS, "timestamp": "last spring"}, {"role": "user", "content": "I like tea.", "date": 7}]
    status, out, err = shell("import", "--db", "a.db", write("chat.json", spoken))
    assert (status, out.splitlines()[0]) == (1, "openai: 2 messages in 1 conversation, 2 new facts")
    assert err.splitlines() == [
        "umi-live: the times of 2 of 2 messages could not be read:",
        '  message 1: "last spring"',
        "  message 2: 7",
    ]


@pytest.mark.parametrize("key", ["timestamp", "created_at", "create_time", "date"])
@pytest.mark.parametrize(
    "value", [1_710_072_000, 1_710_072_000.5, "1710072000000", "2024-03-10T13:00:00+01:00"]
)
def test_facts_keep_the_time_of_their_messages(shell: Shell, key: str, value: object) -> None:
    assert shell("import", "--db", "a.db", write("chat.json", [{**NUTS, key: value}]))[0] == 0
    with open_blocking("a.db", user="me", agent="agent") as memory:
        [fact] = memory.entities()
        assert fact.event_time_ms is not None
        assert fact.event_time_ms // 1_000 == NOON_MS // 1_000


def test_a_file_of_no_known_form_changes_nothing(shell: Shell) -> None:
    shell("remember", "--db", "a.db", "Ann likes tea.")
    for value, message in (
        ({"a": 1}, "of no known format"),
        ("Dear Ann", "of no known format"),
        ("", "of no known format"),
        ([1, 2], "nothing in it can be read: message 1: no JSON object"),
        ([], "nothing in it can be read: there are no messages in it"),
    ):
        assert message in shell.refused("import", "--db", "a.db", write("odd", value))
        assert message in shell.refused("import", "--db", "new.db", "odd")
    write("claude.json", CLAUDE)
    message = shell.refused("import", "--db", "a.db", "--from", "chatgpt", "claude.json")
    assert "is no file of chatgpt; it looks like one of claude" in message
    assert "Invalid value for '--from'" in shell.refused(
        "import", "--db", "a.db", "--from", "x", "claude.json"
    )


def test_a_file_may_not_be_too_large(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chats, "FILE_BYTES_MAX", 9)
    assert "is larger than 0 MiB" in shell.refused("import", "--db", "a.db", write("chat.json", [NUTS]))
    with pytest.raises(LiveError, match="larger"), Path("chat.json").open("rb") as file:
        chats.read_texts("<stdin>", file)


def test_an_interrupted_import_goes_on(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    memorize, asked = LiveMemory.memorize, list[str | None]()

    async def interrupted(self: LiveMemory, text: str, **options: Any) -> Any:
        asked.append(options["uri"])
        if len(asked) == 2:
            raise LiveError("the power failed")
        return await memorize(self, text, **options)

    file = write("claude.json", CLAUDE)
    monkeypatch.setattr(LiveMemory, "memorize", interrupted)
    monkeypatch.setattr(chats, "AT_ONCE_COUNT", 1)  # so that the first text is done
    assert shell("import", "--db", "a.db", file) == (2, "", "umi-live: the power failed\n")
    assert shell("import", "--db", "a.db", file)[1].splitlines()[1:] == [
        "unchanged  1 text",
        "created    2 texts",
    ]


def test_a_text_that_cannot_be_kept_is_named_and_the_others_are(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    memorize = LiveMemory.memorize

    async def refuse_one(self: LiveMemory, text: str, **options: Any) -> Any:
        return await memorize(self, text if "milk" not in text else " ", **options)

    monkeypatch.setattr(LiveMemory, "memorize", refuse_one)
    status, out, err = shell("import", "--db", "a.db", "--json", write("claude.json", CLAUDE))
    report = json.loads(out)
    assert (status, report["texts"], report["new_fact_count"], report["unread"]) == (1, {"created": 2}, 2, [])
    assert (list(report["failed"]), report["conversation_count"]) == (["claude:u1"], 3)
    assert err.startswith("umi-live: 1 of 3 texts could not be kept:\n  claude:u1: ")
    monkeypatch.undo()


def test_sentences_that_a_model_makes_no_fact_of_are_counted(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ANSWERS, "memories", lambda given: "<item></item>")
    file = write("claude.json", CLAUDE)
    assert shell("import", "--db", "a.db", file)[1].splitlines() == [
        "claude: 3 messages in 3 conversations, 0 new facts",
        "created    3 texts",
        "no fact    3 sentences, only in the texts",
    ]
    assert json.loads(shell("import", "--db", "b.db", "--json", file)[1])["uncovered_count"] == 3
    Path("notes.txt").write_text("Ann likes tea. Bob naps.")
    line = shell("memorize", "--db", "a.db", "--uri", "notes", "notes.txt")[1]
    assert line.endswith(", 0 facts; 2 sentences only in the text\n")


@pytest.mark.parametrize(("options", "is_terminal"), [((), True), (("--quiet",), True), ((), False)])
def test_progress_is_a_line_of_a_terminal(
    options: tuple[str, ...], is_terminal: bool, folder: Path, tmp_path: Path
) -> None:
    terminal, end = pty.openpty()
    words = [sys.executable, "-P", "-m", "umi_live", "import", "--db", "a.db", *options]
    words.append(write("claude.json", CLAUDE))
    errors = end if is_terminal else subprocess.PIPE
    done = subprocess.run(words, env=surroundings(), stdout=subprocess.PIPE, stderr=errors, check=True)
    os.close(end)
    with contextlib.suppress(OSError):  # a terminal that was closed ends so
        shown = b""
        while part := os.read(terminal, 1_000):
            shown += part
    os.close(terminal)
    assert done.stdout.startswith(b"claude: 3 messages in 3 conversations, 3 new facts")
    assert (b"umi-live: 1 of 3 texts, 1 new fact\x1b[K" in shown) == (is_terminal and not options)
    assert (shown + (done.stderr or b"")).endswith(b"\r\x1b[K" if is_terminal and not options else b"")
    assert done.stderr in (None, b"")


@pytest.mark.parametrize("has_times", [True, False])
def test_texts_with_times_are_read_side_by_side_and_the_newest_fact_holds(has_times: bool) -> None:
    model = WaitingModel()
    texts = [f'{{"messages": [{{"role": "user", "content": "I live in Town{n}."}}]}}' for n in range(20)]
    talks = [ChatDocument(f"t:{n}", it, NOON_MS + n if has_times else None) for n, it in enumerate(texts)]
    with open_blocking(":memory:", user="ann", agent="helper", model=model) as memory:
        counts = list[int]()
        done = memory.run(import_chats(memory.memory, talks, lambda at, it: counts.append(at)))
        assert (done.documents, done.failed, counts) == ({"created": 20}, {}, [*range(1, 21)])
        assert [it.content for it in memory.facts("ann")] == ["I live in Town19."]
    assert (model.most > 1) == has_times


def test_an_import_that_is_killed_goes_on_without_duplicates(shell: Shell) -> None:
    talks = [
        {**CLAUDE[0], "uuid": f"u{n}", "chat_messages": [{"sender": "human", "text": f"I like food {n}."}]}
        for n in range(120)
    ]
    file = write("claude.json", talks)
    words = [sys.executable, "-P", "-m", "umi_live", "import", "--db", "a.db", file]
    with subprocess.Popen(words, env=surroundings()) as process:
        while count_texts() < 5:
            time.sleep(0.01)
        process.kill()
    kept = count_texts()
    assert 5 <= kept < 120
    status, out, _ = shell("import", "--db", "a.db", file)
    assert (status, out.splitlines()[1:]) == (
        0,
        [f"unchanged  {kept} texts", f"created    {120 - kept} texts"],
    )
    with open_blocking("a.db", user="me", agent="agent") as memory:
        assert sorted(it.content for it in memory.entities()) == sorted(
            f"I like food {n}." for n in range(120)
        )


def count_texts() -> int:
    try:
        connection = apsw.Connection("a.db", flags=apsw.SQLITE_OPEN_READONLY)
        [(count,)] = connection.execute("select count(*) from row where kind = 'resource'")
    except apsw.Error:  # there is no file yet, or no table
        return 0
    return int(str(count))


def test_without_an_embedder_the_command_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from umi_live.local import HashEmbedder

    monkeypatch.setattr(HashEmbedder, "embed_at_once", None)
    status, _, err = shell("import", "--db", "a.db", write("claude.json", CLAUDE))
    assert status == 0
    assert "umi-live: with less than asked for: embed:no_vectors (unavailable)\n" in err


def test_a_long_pause_and_a_full_text_begin_another_one() -> None:
    later = {"role": "user", "content": "Later.", "timestamp": NOON_MS + chats.PAUSE_MS}
    messages = [
        {**NUTS, "timestamp": NOON_MS},
        NOTED,
        later,
        {**later, "timestamp": NOON_MS + chats.PAUSE_MS + 1},
    ]
    found = documents({"id": "c1", "messages": messages})
    assert [(it.uri, it.happened_ms) for it in found] == [
        ("openai:c1", NOON_MS), ("openai:c1/2", NOON_MS + chats.PAUSE_MS),
    ]  # fmt: skip
    long = "\x01" * 40_000 + "日 " * 60_000
    parts = documents({"id": "c1", "messages": [{"role": "user", "content": long}, NUTS]})
    assert all(len(it.text.encode()) <= TEXT_BYTES_MAX for it in parts)
    content = "".join(it["content"] for part in parts for it in json.loads(part.text)["messages"])
    assert content == long + NUTS["content"]


def test_conversations_have_names_of_their_own() -> None:
    same = {"id": "c1", "messages": [NUTS]}
    other = {"id": "c1", "title": "Other", "messages": [NOTED]}
    uris = [it.uri for it in documents([same, same, other, {"messages": [NUTS]}, {**same, "id": "x" * 300}])]
    assert (len(uris), uris[0], uris[1].split("~")[0]) == (4, "openai:c1", "openai:c1")
    assert len(dict.fromkeys(uris)) == 4
    assert uris[2].startswith("openai:chat.json#4-")
    assert len(uris[3]) < 30


def test_messages_are_exported_and_read_back(shell: Shell) -> None:
    shell("import", "--db", "a.db", write("claude.json", CLAUDE))
    Path("notes.txt").write_text("Bob is tall.")
    shell("memorize", "--db", "a.db", "notes.txt")
    with open_blocking("a.db", user="me", agent="agent") as memory:
        memory.memorize("Carol naps.", modality="conversation", uri="odd")
    lines = shell("export", "--db", "a.db", "--as", "messages", "--out", "messages.jsonl")
    assert lines == (0, "", "")
    conversations = [json.loads(line) for line in Path("messages.jsonl").read_text().splitlines()]
    assert {it["id"]: it["messages"] for it in conversations} == {
        "odd": [{"role": "user", "content": "Carol naps."}],
        **{f"claude:u{n}": [{"role": "user", "content": f"I like {food}.", "created_at": "2024-03-10T12:00Z"}]
           for n, food in enumerate(("tea", "milk", "figs"))},
    }  # fmt: skip
    status, out, err = shell("import", "--db", "b.db", "messages.jsonl")
    assert (status, out.splitlines()[0]) == (0, "openai: 4 messages in 4 conversations, 4 new facts")
    assert err == ""


def test_facts_are_exported_for_programs_and_for_people(shell: Shell) -> None:
    for text in ("Ann lives in Paris.", "Ann lives in Berlin.", "What a day!"):
        shell("remember", "--db", "a.db", text)
    Path("notes.txt").write_text("Bob is tall.")
    shell("memorize", "--db", "a.db", "--uri", "notes", "notes.txt")
    exported = [json.loads(line) for line in shell("export", "--db", "a.db", "--as", "facts")[1].splitlines()]
    facts = {it["text"]: it for it in exported}
    assert sorted(facts) == ["Ann lives in Berlin.", "Ann lives in Paris.", "Bob is tall.", "What a day!"]
    assert facts["Bob is tall."]["sources"] == ["notes"]
    assert facts["Ann lives in Paris."]["ended_by"] == facts["Ann lives in Berlin."]["id"]
    assert "ended_by" not in facts["Bob is tall."]
    page = shell("export", "--db", "a.db", "--as", "markdown")[1]
    names = [line for line in page.splitlines() if line.startswith("#")]
    assert names == ["# Notes", "# Ann", "# Bob"]
    assert "\n- Ann lives in Berlin. (" in page
    assert "Paris" not in page


def test_archives_and_other_encodings_are_read(shell: Shell) -> None:
    text = json.dumps([{"role": "user", "content": "I eat no Nüsse."}], ensure_ascii=False)
    for number, raw in enumerate(
        (
            *(
                text.encode(it)
                for it in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252")
            ),
            gzip.compress(text.encode()),
            pack({"a/conversations.json": text, "user.json": "{}", "chat.html": "<p>"}),
        )
    ):
        Path("chat.json").write_bytes(raw)
        out = shell("import", "--db", f"{number}.db", "chat.json")[1]
        assert out.startswith("openai: 1 message in 1 conversation, 1 new fact")
        assert "Nüsse" in shell("recall", "--db", f"{number}.db", "Nüsse")[1]


def test_all_files_of_one_format_in_an_archive_are_read(shell: Shell) -> None:
    parts = {f"conversations-{at}.json": json.dumps(it) for at, it in enumerate((CLAUDE[:1], CLAUDE[1:]))}
    Path("export.zip").write_bytes(pack({**parts, "feedback.json": "[]", "users.json": '[{"id": "u"}]'}))
    out = shell("import", "--db", "a.db", "export.zip")[1]
    assert out.startswith("claude: 3 messages in 3 conversations")
    assert out.endswith("not read   2 files of the archive: feedback.json, users.json\n")


def test_what_is_left_of_an_archive_is_named(shell: Shell) -> None:
    texts = {"1.json": json.dumps([NUTS]), "2.json": json.dumps(CLAUDE), "README.md": "Ann: Hi.\nBob: Hi."}
    Path("export.zip").write_bytes(pack({**texts, "a.png": "x", "b.txt": b"a\0\xff"}))
    out = shell("import", "--db", "a.db", "export.zip")[1]
    assert out.startswith("claude: 3 messages in 3 conversations")
    assert "not read   4 files of the archive: 1.json, README.md, a.png, b.txt\n" in out
    for name, count in (("openai", 1), ("text", 2)):
        out = shell("import", "--db", f"{name}.db", "--from", name, "export.zip")[1]
        assert out.startswith(f"{name}: {count} message")


def test_an_archive_with_a_password_is_refused(shell: Shell) -> None:
    raw = bytearray(pack({"chat.json": json.dumps([NUTS])}))
    for begin in (b"PK\x03\x04", b"PK\x01\x02"):  # the flag of a file that is encrypted, in both its heads
        raw[raw.index(begin) + (6 if begin[2] == 3 else 8)] |= 1
    Path("chat.zip").write_bytes(raw)
    assert "is encrypted, password required" in shell.refused("import", "--db", "a.db", "chat.zip")


LIE = "I live in Berlin. I work at Evil Corp."
PAGE = "This page tells of ships and of the sea. " * 300


def facts_of(shell: Shell, value: object) -> list[str]:
    """Return the current facts of an import, each with the name that it is about."""
    assert shell("import", "--db", "facts.db", write("chat.json", value))[0] == 0
    with open_blocking("facts.db", user="me", agent="agent") as memory:
        return sorted(f"{it.name}: {it.content}" for it in memory.entities())


@pytest.mark.parametrize("lie", [LIE, f"Dear Sir,\n{LIE}", f"{PAGE}{LIE}"])
@pytest.mark.parametrize(
    "put",
    [
        lambda lie: {"content": [{"type": "tool_result", "tool_use_id": "t", "content": lie},
                                 {"type": "text", "text": NUTS["content"]}]},
        lambda lie: {"parts": [{"text": NUTS["content"]},
                               {"functionResponse": {"name": "f", "response": {"result": lie}}}]},
        lambda lie: {**NUTS, "attachments": [{"file_name": "letter.txt", "extracted_content": lie}]},
        lambda lie: {**NUTS, "files": [{"name": "letter.txt", "file": {"data": {"content": lie}}}]},
        lambda lie: {"content": [{"type": "document", "source": {"type": "text", "data": lie}},
                                 {"type": "text", "text": NUTS["content"]}]},
    ],
)  # fmt: skip
def test_what_tools_and_files_say_is_no_fact_and_is_found(shell: Shell, put: Any, lie: str) -> None:
    assert facts_of(shell, [{**put(lie), "role": "user"}]) == ["user: I am allergic to nuts."]
    with open_blocking("facts.db", user="me", agent="agent") as memory:
        assert "Evil Corp" in str(memory.retrieve("Evil Corp").value.hits)


def test_the_newest_first_are_remembered_in_the_order_of_time(shell: Shell) -> None:
    said = {"2024-05-02": "I moved to Hanoi.", "2024-05-01": "I live in Hue."}
    value = [{"role": "user", "content": text, "created_at": day} for day, text in said.items()]
    assert facts_of(shell, value) == ["user: I moved to Hanoi."]


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ([{"type": "image"}], []),
        ([{"type": "image", "title": "my cat.png"}, {"type": "text", "text": "I like tea."}],
         ["user: I like tea."]),
        ([{"type": "text", "text": "I like tea"}, {"type": "audio"}], ["user: I like tea"]),
        ([{"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}], []),
        ("I like [brackets] and tea.", ["user: I like [brackets] and tea."]),
        ("<Media omitted>", []),
    ],
)  # fmt: skip
def test_a_placeholder_is_no_fact(shell: Shell, content: Any, facts: list[str]) -> None:
    assert facts_of(shell, [NUTS, {"role": "user", "content": content}]) == sorted(
        ["user: I am allergic to nuts.", *facts]
    )


def test_the_caption_of_an_image_stays_a_fact(shell: Shell) -> None:
    turn = {"speaker": "Ann", "dia_id": "D1:1", "text": "Look.", "blip_caption": "a photo of a red boat"}
    assert any("a photo of a red boat" in it for it in facts_of(shell, {"session_1": [turn, turn]}))


def test_placeholders_of_whatsapp_are_counted_and_no_facts(shell: Shell) -> None:
    texts = ("Messages and calls are end-to-end encrypted.", "I live in Hue.", "<Media omitted>",
             "This message was deleted", "Missed voice call", "<attached: 0001-PHOTO.jpg>")  # fmt: skip
    lines = "\n".join(f"[31/12/2023, 23:59:{at:02}] Linh: {text}" for at, text in enumerate(texts))
    assert facts_of(shell, lines) == ["Linh: I live in Hue."]
    again = shell("import", "--db", "facts.db", "chat.json")[1]
    assert again.startswith("text: 2 messages in 1 conversation")
    assert "left out   4 messages: empty\n" in again


def test_a_message_in_two_roles_is_counted_once(shell: Shell) -> None:
    parts = [{"type": "tool_result", "content": LIE}, {"type": "text", "text": NUTS["content"]}]
    spoken = {"role": "user", "content": parts, "date": "last spring"}
    file = write("chat.json", [spoken, {"role": "user"}])
    status, out, err = shell("import", "--db", "a.db", file)
    assert (status, out.splitlines()[0]) == (1, "anthropic: 1 message in 1 conversation, 1 new fact")
    assert err.startswith("umi-live: 1 of 2 messages could not be read:\n  message 2: ")
    assert err.endswith(
        'umi-live: the times of 1 of 2 messages could not be read:\n  message 1: "last spring"\n'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps(CLAUDE)[:-9], "is JSON that ends in the middle, at line 1, column "),
        (json.dumps(CLAUDE, indent=1)[:200], "is JSON that ends in the middle, at line 12, column 5;"),
        ('{"mapping": {"a": {"message": {"author": ', "is JSON that ends in the middle, at line 1, column "),
        (
            '{"messages": [\n{"role" "user"}]}',
            "is broken JSON at line 2, column 9 (Expecting ':'",
        ),
        ('\ufeff\n[["user", "Hi"', "is JSON that ends in the middle, at line "),
        ("[10/03/2024, 12:00] Ann: Hi", "is of no known format"),
        ("{curly} braces", "is of no known format"),
        ("[1, 2", "is of no known format"),
        ('[{"content":' * 20_000, "is of no known format"),
    ],
)
def test_broken_json_is_named_by_its_place(shell: Shell, text: str, message: str) -> None:
    shown = shell.refused("import", "--db", "a.db", write("chat.json", text))
    assert f"chat.json: {message}" in shown
    assert "again" in shown or "known" in shown


def test_broken_json_in_an_archive_is_named(shell: Shell) -> None:
    Path("export.zip").write_bytes(pack({"c.json": json.dumps(CLAUDE)[:-9], "user.json": "{}"}))
    message = "export.zip: 'c.json' in it is JSON that ends in the middle, at line 1, column "
    assert message in shell.refused("import", "--db", "a.db", "export.zip")


@pytest.mark.parametrize(
    "raw",
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x9f", b"SQLite format 3\0\x10\0\1\1", b"a\0\xff",
     b"\0\x9f\x81abc", b"\x7fELF\2\1\1\0", gzip.compress(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\x9f", mtime=0)],
)  # fmt: skip
def test_a_file_that_is_no_text_is_named_so(shell: Shell, raw: bytes) -> None:
    Path("chat.json").write_bytes(raw)
    shown = shell.refused("import", "--db", "a.db", "chat.json")
    assert "chat.json: is no text" in shown
    assert "JSON" in shown
    assert "codec" not in shown


@pytest.mark.parametrize("raw", [b"PK\x03\x04broken", b"\x1f\x8bbroken", b"a\0\xff", pack({"a.png": "x"})])
def test_what_is_neither_text_nor_archive_is_refused(shell: Shell, raw: bytes) -> None:
    Path("chat.json").write_bytes(raw)
    assert "chat.json: " in shell.refused("import", "--db", "a.db", "chat.json")

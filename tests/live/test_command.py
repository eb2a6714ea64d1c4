"""Goal: a memory from a shell; whatever goes wrong is one clear line and status 2, and nothing changed."""

import asyncio
import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import apsw
from msgspec import structs

from umi_core.ids import resource_id
from umi_core.kelpie.requests import AddArchival
from umi_core.kelpie.results import Appended
from umi_core.row_bytes import decode_row, encode_row
from umi_core.values import Scope
from umi_live import StoreError, delete_user, errors, open_blocking, schema
from umi_live.command import KEY, main
from umi_live.local import HashEmbedder, RuleModel
from umi_sim import __version__
from umi_sim.cli.recordings import replay_recording

MEMORY = b"CREATE TABLE row"
NOTES = resource_id(Scope("me", "agent"), "notes", "")
Said = tuple[int, str, str]  # status, output, errors


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KEY, raising=False)
    return tmp_path


def surroundings() -> dict[str, str]:
    """Of a child that is not measured: it may be unable to write what was."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return {**kept, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}


class Shell:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> Said:
        self.monkeypatch.setattr(sys, "argv", ["umi-live", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        output = self.capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err

    def refused(self, *words: str) -> str:
        """The one line of a command that changed nothing."""
        before = contents(Path.cwd())
        status, out, err = self(*words)
        assert (status, out, err.count("\n")) == (2, "", 1), err
        assert contents(Path.cwd()) == before
        return err


def contents(folder: Path) -> dict[str, object]:
    """Files by name; without what SQLite keeps beside them, and claims, which hold no data."""
    return {it.name: held(it) for it in folder.iterdir() if not it.name.endswith(("-live", "-shm", "-wal"))}


def held(path: Path) -> object:
    """Of a memory its rows, without that of its lives: to open it may begin another one."""
    data = path.read_bytes()
    if MEMORY not in data:
        return data
    connection = apsw.Connection(str(path))
    rows = list(connection.execute("select * from row where kind <> 'epoch' order by number"))
    connection.close()
    return rows


@pytest.fixture
def shell(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


def test_what_was_remembered_is_recalled(shell: Shell) -> None:
    assert shell("remember", "--db", "agent.db", "Ann likes tea.") == (
        0,
        "created    Ann: Ann likes tea.\n",
        "",
    )
    status, out, err = shell("recall", "--db", "agent.db", "what does Ann like?")
    assert (status, out.split("  ")[-1], err) == (0, "Ann: Ann likes tea.\n", "")
    nothing = "umi-live: agent.db: has nothing of user 'bob' and agent 'agent'\n"
    assert shell("recall", "--db", "agent.db", "--user", "bob", "what does Ann like?") == (0, "", nothing)
    shell("remember", "--db", "agent.db", "Did you get a dog? Yes, a beagle called Rex.")
    shown = shell("recall", "--db", "agent.db", "dog")[1]
    assert shown.split("\n")[1:] == ["       then: Yes, a beagle called Rex.", ""]
    more = "3 more facts are known: recall finds them.\n"
    assert shell("blocks", "--db", "agent.db") == (0, f"# Core Memory\n\n{more}", "")


def test_what_is_shown_is_json_as_well(shell: Shell) -> None:
    def rows(*command: str) -> list[dict[str, Any]]:
        status, out, err = shell(command[0], "--db", "a.db", "--json", *command[1:])
        assert (status, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    (row,) = rows("remember", "Ann lives in Paris.")
    assert (row["change"], row["content"]) == ("created", "Ann lives in Paris.")
    assert [it["change"] for it in rows("remember", "Ann moved to Berlin.")] == ["created", "ended"]
    (hit,) = rows("recall", "Where does Ann live?")
    assert (hit["content"], hit["replaced"]) == (
        "Ann moved to Berlin.",
        [[row["id"], "Ann lives in Paris."]],
    )
    (fact,) = rows("facts", "Ann")
    before, after = rows("history", "Ann")
    assert (before["id"], before["by"], after) == (row["id"], fact["id"], fact)
    assert {"path", "fact_count"} < rows("topics")[0].keys()
    assert rows("forget", fact["id"]) == [{"forgotten": [fact["id"]]}]


def test_stats_count_what_there_is(shell: Shell) -> None:
    for text in ("Ann lives in Paris.", "Ann moved to Berlin.", "Ben likes tea."):
        shell("remember", "--db", "a.db", text)
    with open_blocking("a.db", user="me", agent="agent") as memory:
        memory.set_block("scratch", "x")
        memory.ask(AddArchival(0, "a record"), Appended)
        memory.memorize("Cy plays chess.", uri="talk")

    def counts_of(user: str) -> dict[str, int]:
        lines = shell("stats", "--db", "a.db", "--user", user)[1].splitlines()
        return {name: int(count) for count, name in (line.split(maxsplit=1) for line in lines)}

    counts = counts_of("me")
    assert {name: count for name, count in counts.items() if count} == {
        "facts": 3, "ended facts": 1, "texts": 1, "categories": counts["categories"], "records": 1,
        "blocks": 1,
    }  # fmt: skip
    assert counts_of("bob") == dict.fromkeys(counts, 0)


def test_parameters_of_a_model_are_an_object(shell: Shell) -> None:
    for given in ("{", "[1]", "7"):
        status, _, err = shell("facts", "--db", "a.db", "--parameters", given, "Ann")
        assert (status, "is no object of JSON" in err) == (2, True)
    status, _, err = shell("remember", "--db", "a.db", "--model", "http://127.0.0.1:9/v1#m",
                           "--parameters", '{"stream": true}', "Ann")  # fmt: skip
    assert (status, "stream is the memory's own" in err) == (2, True)


def test_a_user_is_asked_for_as_me(shell: Shell) -> None:
    assert shell("remember", "--db", "a.db", "I live in Porto.")[1] == "created    user: I live in Porto.\n"
    moved = shell("remember", "--db", "a.db", "I moved to Lisbon.")[1]
    assert moved == "created    user: I moved to Lisbon.\nended      user: I live in Porto.\n"
    assert "Lisbon" in shell("recall", "--db", "a.db", "where do I live")[1].splitlines()[0]
    assert shell("facts", "--db", "a.db", "me")[1].endswith("user: I moved to Lisbon.\n")
    assert len(shell("history", "--db", "a.db", "I")[1].splitlines()) == 2
    output = shell("remember", "--db", "a.db", "--speaker", "Bob", "I live in Oslo.")[1]
    assert output == "created    Bob: I live in Oslo.\n"


def test_what_ended_is_shown_and_in_the_history(shell: Shell) -> None:
    shell("remember", "--db", "agent.db", "Ann likes tea.")
    shell("remember", "--db", "agent.db", "Ann lives in Paris.")
    status, out, err = shell("remember", "--db", "agent.db", "Ann lives in Berlin.")
    assert (status, err) == (0, "")
    assert out.startswith("created    Ann: Ann lives in Berlin.\n")
    assert "\nended      Ann: Ann lives in Paris.\n" in out
    status, out, err = shell("facts", "--db", "agent.db", "ann")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert [line.split("  ", 2)[2] for line in lines] == ["Ann: Ann likes tea.", "Ann: Ann lives in Berlin."]
    assert shell("facts", "--db", "agent.db", "Ann") == (0, out, "")
    past = shell("history", "--db", "agent.db", "Ann")[1].splitlines()
    assert [past[0], past[2]] == lines
    key, day, event = past[1].split("  ", 2)
    assert event == f"Ann: Ann lives in Paris.  (ended {day}, update by {lines[1].split()[0]})"
    assert shell("forget", "--db", "agent.db", key) == (0, "forgotten  1\n", "")
    assert f"{key}: there is no fact of this id" in shell.refused("forget", "--db", "agent.db", key)
    with open_blocking("agent.db", user="me", agent="agent") as memory:
        ann = memory.entity_id_of("Ann")
    assert shell("history", "--db", "agent.db", ann)[1].splitlines() == lines
    assert shell("forget", "--db", "agent.db", ann) == (0, "forgotten  2\n", "")
    assert shell("history", "--db", "agent.db", "Ann") == (0, "", "umi-live: no fact is about 'Ann'\n")
    assert "no fact about this entity" in shell.refused("forget", "--db", "agent.db", ann)


def test_without_an_embedder_a_line_says_what_it_was_done_without(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HashEmbedder, "embed_at_once", None)
    status, out, err = shell("remember", "--db", "agent.db", "Ann likes tea.")
    assert (status, out) == (0, "created    Ann: Ann likes tea.\n")
    assert err == "umi-live: with less than asked for: embed:no_vectors (unavailable)\n"


def test_a_command_is_recorded(shell: Shell) -> None:
    assert shell("remember", "--db", "agent.db", "--record", "life.jsonl", "Ann likes tea.")[0] == 0
    assert replay_recording("life.jsonl").head.startswith("PASS recording life.jsonl: 2 requests")
    assert "File exists" in shell.refused("recall", "--db", "agent.db", "--record", "life.jsonl", "tea")


def test_an_export_is_imported_and_a_user_deleted(shell: Shell) -> None:
    shell("remember", "--db", "a.db", "--user", "ann", "Ann likes tea.")
    status, out, _ = shell("export", "--db", "a.db", "--user", "ann")
    assert status == 0
    Path("ann.jsonl").write_text(out)
    result = shell("import", "--db", "b.db", "ann.jsonl")
    assert result == (0, f"{len(out.splitlines()) - 2} rows of user 'ann' and agent 'agent'\n", "")
    assert shell("export", "--db", "b.db", "--user", "ann")[1] == out
    assert "already" in shell.refused("import", "--db", "b.db", "ann.jsonl")
    for name, value in (("user", "bob"), ("agent", "other")):
        message = shell.refused("import", "--db", "c.db", f"--{name}", value, "ann.jsonl")
        assert f"--{name}: the export is that of {name} " in message
    assert shell("import", "--db", "c.db", "--user", "ann", "ann.jsonl")[0] == 0
    assert shell("delete-user", "--db", "b.db", "ann")[1].endswith("rows of user 'ann' are gone\n")
    status, out, err = shell("recall", "--db", "b.db", "--user", "ann", "tea")
    assert (status, out, err) == (0, "", "umi-live: b.db: has nothing of user 'ann' and agent 'agent'\n")
    assert "b.db: has nothing of user 'ann'" in shell.refused("delete-user", "--db", "b.db", "ann")
    assert "has nothing of user 'an' and" in shell.refused("export", "--db", "a.db", "--user", "an")
    copied = ("export", "--db", "a.db", "--user", "an", "--out", "x.jsonl")
    assert "has nothing of user 'an' and" in shell.refused(*copied)


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_an_export_is_read_back_whatever_ends_a_line_elsewhere(shell: Shell, mark: str) -> None:
    shell("remember", "--db", "a.db", f"Ann likes tea{mark}and milk.")
    shell("export", "--db", "a.db", "--out", "all.jsonl")
    assert shell("import", "--db", "b.db", "all.jsonl")[0] == 0
    assert shell("facts", "--db", "b.db", "--json", "Ann") == shell("facts", "--db", "a.db", "--json", "Ann")
    for form in ("messages", "facts"):
        lines = shell("export", "--db", "a.db", "--as", form)[1].strip("\n").split("\n")
        assert all(json.loads(line) for line in lines if line)


def test_a_list_of_facts_is_no_export_to_import(shell: Shell) -> None:
    shell("remember", "--db", "a.db", "Ann likes tea.")
    shell("export", "--db", "a.db", "--as", "facts", "--out", "facts.jsonl")
    for more in ((), ("--from", "openai")):
        message = shell.refused("import", "--db", "b.db", *more, "facts.jsonl")
        assert "holds facts of `export --as facts`, which cannot be imported; one without --as can" in message


def test_a_time_behind_the_last_year_is_shown(shell: Shell) -> None:
    shell("remember", "--db", "a.db", "Ann likes tea.")
    connection = apsw.Connection("a.db")
    body: Any = connection.execute("select body from row where kind = 'entity'").get
    row = decode_row(body)
    late = encode_row(structs.replace(row, event_time_ms=1_700_000_000_000_000))
    connection.execute("update row set body = ? where kind = 'entity'", (late,))
    connection.close()
    for command in ("facts", "history"):
        status, out, err = shell(command, "--db", "a.db", "Ann")
        assert (status, "  9999-12-31  Ann: Ann likes tea." in out, err) == (0, True, "")
        assert shell(command, "--db", "a.db", "--json", "Ann")[0] == 0


def test_a_name_without_facts_is_named(shell: Shell) -> None:
    shell("remember", "--db", "a.db", "Ann likes tea.")
    assert shell("facts", "--db", "a.db", "Zed") == (0, "", "umi-live: no current fact is about 'Zed'\n")
    assert shell("history", "--db", "a.db", "Zed") == (0, "", "umi-live: no fact is about 'Zed'\n")


def test_what_would_be_stored_nowhere_is_refused(shell: Shell, folder: Path) -> None:
    (folder / "note.txt").write_text("Ann likes tea.")
    for words in (("remember", "Ann likes tea."), ("memorize", "note.txt")):
        assert "name a file with --db" in shell.refused(words[0], "--db", ":memory:", words[1])


def test_a_command_that_changes_a_memory_makes_none(shell: Shell) -> None:
    for key in ("ent_1", "fct_1"):
        assert "is not there, or empty" in shell.refused("forget", "--db", "typo.db", key)


def test_what_is_refused_leaves_no_file_behind(shell: Shell, folder: Path) -> None:
    (folder / "blank").write_text(" ")
    (folder / "key").write_bytes(bytes(range(32)))
    before = sorted(it.name for it in folder.iterdir())
    tea, sealed = ("remember", "Ann likes tea."), ("--seal-key-file", "key", "--seal-anchor")
    for words, message in (
        (("remember", ""), "text is empty"), (("memorize", "blank"), "text is empty"),
        (("memorize", "--uri", "", "key"), "uri"), (("import", "blank"), "no known format"),
        (("import", "--from", "umi", "blank"), "no export"), (("share", ""), "member"),
        (("share",), "is not there"), ((*tea, "--speaker", "a\nb"), "speaker"),
        ((*tea, "--record", "key"), "File exists"), (("serve-mcp", "--record", "no/x"), "No such file"),
        ((*tea, *sealed, "blank"), "is no anchor"), ((*tea, *sealed, "no/anchor"), "No such file"),
        (("serve", "--host", "0.0.0.0"), "not this machine"), (("serve", "--model", "gpt"), "no address"),
    ):  # fmt: skip
        assert message in shell.refused(words[0], "--db", "new.db", *words[1:])
        assert sorted(it.name for it in folder.iterdir()) == before, words


def test_to_share_with_no_agent_and_with_one_is_refused(shell: Shell) -> None:
    shell("remember", "--db", "a.db", "Ann likes tea.")
    message = shell.refused("share", "--db", "a.db", "--none", "writer")
    assert "--none shares with no agent, and 'writer' is named" in message


def test_a_user_of_no_file_is_not_deleted_from_it(folder: Path) -> None:
    with pytest.raises(StoreError, match=r"nofile\.db: is not there, or empty"):
        asyncio.run(delete_user("nofile.db", "nobody"))
    assert list(folder.iterdir()) == []


def test_a_text_is_memorized_into_categories_of_ones_own(shell: Shell) -> None:
    Path("notes.txt").write_text("Ann likes green tea. Ann lives in Berlin. Bob is tall.")
    own = ("--db", "a.db", "--category", "food = tea, cake", "--category", "people=")
    status, out, err = shell("memorize", *own, "--uri", "notes", "notes.txt")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "created    Ann: Ann likes green tea.  [food]", "created    Ann: Ann lives in Berlin.  [food]",
        "created    Bob: Bob is tall.  [food]", f"created    {NOTES}, 3 facts",
    ]  # fmt: skip
    assert shell("memorize", *own, "--uri", "notes", "notes.txt")[1] == f"unchanged  {NOTES}, 0 facts\n"
    assert shell("topics", *own) == (0, "    3  food  tea, cake\n    0  people\n", "")
    assert len(shell("topics", *own, "FOOD")[1].splitlines()) == 3
    assert shell("topics", "--db", "a.db")[1].endswith("    3  food (not listed)  tea, cake\n")
    assert "Ann likes green tea.  [food]" in shell("recall", "--db", "a.db", "tea")[1]
    assert "drinks: no such category or group; there are: food, people" in shell.refused(
        "topics", *own, "drinks"
    )
    assert "categories: a/b is not allowed" in shell.refused("topics", "--db", "a.db", "--category", "a/b=c")
    bare = shell.refused("topics", "--db", "a.db", "--category", "food")
    assert "'food' is no NAME=ABOUT" in bare
    twice = ("--category", "a=1", "--category", "a =2")
    assert "the same category is given twice" in shell.refused("topics", "--db", "a.db", *twice)
    Path("bytes").write_bytes(b"a\0\xff\xfe\x81")
    assert "bytes: is no text" in shell.refused("memorize", "--db", "a.db", "bytes")


def test_doctor_says_what_there_is_and_what_is_damaged(shell: Shell) -> None:
    shell("remember", "--db", "agent.db", "Ann likes tea.")
    status, out, _ = shell("doctor", "--db", "agent.db")
    assert status == 0
    assert "scope    user 'me', agent 'agent': 1 entity, 1 vector, 1 access, 1 epoch, 1 receipt" in out
    assert out.endswith("damaged  nothing\n")
    connection = apsw.Connection("agent.db")
    connection.execute("update row set body = x'00' where kind = 'entity'")
    connection.close()
    status, out, _ = shell("doctor", "--db", "agent.db")
    assert status == 1
    assert "damaged  entity fct_" in out


def test_a_file_that_cannot_be_used_is_one_line(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("remember", "--db", "agent.db", "Ann likes tea.")
    Path("text.db").write_text("a text that is no database " * 99)
    apsw.Connection("other.db").execute("create table customer (name text)")
    for command in ("remember", "recall"):
        assert "is no database" in shell.refused(command, "--db", "text.db", "tea")
        assert "not a memory of Umi" in shell.refused(command, "--db", "other.db", "tea")
        assert "does the folder exist" in shell.refused("remember", "--db", "no/agent.db", "tea")
    assert "is not there" in shell.refused("recall", "--db", "nothing.db", "tea")
    assert "is not there" in shell.refused("doctor", "--db", "nothing.db")
    Path("empty.db").touch()
    assert "or empty" in shell.refused("doctor", "--db", "empty.db")
    connection = apsw.Connection("agent.db")
    monkeypatch.setattr(schema, "BUSY_MS", 1)
    connection.execute("begin immediate")
    assert "another program holds it locked" in shell.refused("remember", "--db", "agent.db", "tea")
    connection.execute("rollback")
    connection.execute(f"pragma user_version = {schema.VERSION + 1}")
    connection.close()
    assert "a newer release" in shell.refused("recall", "--db", "agent.db", "tea")


def test_a_disk_that_is_full_is_one_line(shell: Shell) -> None:
    """As large as the file may be: the system stops a process that writes more."""
    shell("remember", "--db", "agent.db", "Ann likes tea.")
    size_bytes = Path("agent.db").stat().st_size
    limit = f"trap '' XFSZ; ulimit -f {size_bytes // 1_024 // 8}"
    program = f"{sys.executable} -m umi_live"
    done = subprocess.run(
        ["sh", "-c", f"{limit}; exec {program} remember --db agent.db 'Bob likes coffee.'"],
        capture_output=True,
        text=True,
        env=surroundings(),
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert shell("recall", "--db", "agent.db", "coffee") == (0, "", "")


def test_a_memory_that_is_open_elsewhere_is_one_line(shell: Shell) -> None:
    with open_blocking("agent.db", user="me", agent="agent") as memory:
        memory.remember("Ann likes tea.")
        done = subprocess.run(
            [sys.executable, "-m", "umi_live", "remember", "--db", "agent.db", "tea"],
            capture_output=True,
            text=True,
            env=surroundings(),
        )
        assert "Ann likes tea" in shell("recall", "--db", "agent.db", "tea")[1]  # which needs no claim
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("agent 'agent' is open in another process; close it there first\n")


def test_a_wrong_request_or_address_is_one_line(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("remember", "--db", "agent.db", "Ann likes tea.")
    assert "text is empty" in shell.refused("remember", "--db", "agent.db", " ")
    assert "is no address of a model" in shell.refused(
        "remember", "--db", "agent.db", "--model", "gpt", "tea"
    )
    wrong = "http://127.0.0.1:9/v1#m"
    assert f"{wrong}: no connection" in shell.refused("remember", "--db", "agent.db", "--model", wrong, "tea")
    for dims, message in (
        ("1", "expected a whole number from 2 to 4096"),
        ("x", "is no address of an embedder"),
    ):
        embedder = f"{wrong}:{dims}"
        assert message in shell.refused("recall", "--db", "agent.db", "--embedder", embedder, "tea")
    assert "of no known format" in shell.refused("import", "--db", "agent.db", __file__)
    assert "no export of Umi" in shell.refused("import", "--db", "agent.db", "--from", "umi", __file__)
    Path("bytes").write_bytes(b"a\0\xff\xfe\x81")
    assert "bytes: is no text" in shell.refused("import", "--db", "new.db", "bytes")
    monkeypatch.setenv(KEY, "ключ")
    assert "the key has characters" in shell.refused("remember", "--db", "agent.db", "--model", wrong, "tea")


def test_a_command_that_is_none_is_one_line(shell: Shell) -> None:
    assert "Missing command; see `umi-live --help`" in shell.refused()
    assert "Missing option '--db'; see `umi-live recall --help`" in shell.refused("recall", "tea")
    assert "No such file" in shell.refused("import", "--db", "new.db", "nothing")
    assert "No such command" in shell.refused("remind\x1b[2J\n")
    status, out, err = shell("--help")
    assert (status, "remember" in out, err) == (0, True, "")


def test_what_is_shown_moves_no_cursor(shell: Shell) -> None:
    shell("remember", "--db", "agent.db", "Ann likes \x1b[2J tea.")
    out = shell("recall", "--db", "agent.db", "tea")[1]
    assert ("\x1b" in out, "tea" in out) == (False, True)


def test_the_version_is_that_of_the_distribution(monkeypatch: pytest.MonkeyPatch, shell: Shell) -> None:
    assert shell("--version") == (0, f"umi-live, version {__version__}\n", "")

    def find(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(errors, "version", find)
    assert errors.own_version() == "0"


def test_a_file_is_sealed_and_what_another_program_changes_is_reported(
    shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "key").write_bytes(b"k" * 32)
    (folder / "short").write_bytes(b"k" * 31)
    db, key = ("--db", "agent.db"), ("--seal-key-file", "key", "--seal-anchor", "anchor")
    shell("remember", *db, "Ann likes tea.")
    assert "is not sealed; `umi-live seal` seals it" in shell.refused("recall", *db, *key, "tea")
    assert "name its file with --seal-key-file" in shell.refused("seal", *db)
    assert "needs a key of at least 32 bytes" in shell.refused("seal", *db, "--seal-key-file", "short")
    assert "umi-live: none: No such file" in shell.refused("seal", *db, "--seal-key-file", "none")
    assert "anchor needs the key" in shell.refused("doctor", *db, "--seal-anchor", "anchor")
    status, out, err = shell("seal", *db, *key)
    assert (status, out.startswith("sealed   commit 1, "), err) == (0, True, "")
    assert shell("seal", *db, *key) == (status, out, err)
    for words in (("recall", "tea"), ("doctor",), ("rewrite",), ("delete-user", "me"), ("facts", "Ann")):
        message = shell.refused(words[0], *db, *words[1:])
        assert message.endswith("agent.db: is sealed; open it with its key\n")
    monkeypatch.setenv("UMI_LIVE_SEAL_KEY_FILE", "key")
    monkeypatch.setenv("UMI_LIVE_SEAL_ANCHOR", "anchor")
    assert shell("recall", *db, "tea")[1].endswith("Ann: Ann likes tea.\n")
    shell("remember", *db, "Ann likes jam.")
    shell("rewrite", *db)
    status, out, err = shell("doctor", *db)
    assert (status, "damaged  nothing\nsealed   commit " in out, err) == (0, True, "")
    connection = apsw.Connection("agent.db")
    connection.execute("update row set time_ms = 1 where kind = 'entity'")
    connection.close()
    message = shell.refused("recall", *db, "tea")
    assert "of user 'me', agent 'agent' was changed by another program; restore the file from" in message
    status, out, err = shell("doctor", *db)
    assert (status, out.count("\nchanged  entity fct_"), err) == (1, 2, "")
    assert shell("unseal", *db) == (0, "", "")
    assert "is not sealed" in shell.refused("unseal", *db)
    monkeypatch.delenv("UMI_LIVE_SEAL_KEY_FILE")
    monkeypatch.delenv("UMI_LIVE_SEAL_ANCHOR")
    assert shell("recall", *db, "jam")[0] == 0
    status, out, _ = shell("remember", "--db", "new.db", "--seal-key-file", "key", "Ann likes tea.")
    assert (status, out) == (0, "created    Ann: Ann likes tea.\n")
    assert "is sealed" in shell.refused("recall", "--db", "new.db", "tea")


def test_a_request_that_is_out_of_time_is_one_line(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(RuleModel):
        async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
            await asyncio.sleep(60)
            return ""

    db = ("--db", "agent.db")
    shell("remember", *db, "I like jam.")
    monkeypatch.setattr("umi_live.memory.RuleModel", Slow)
    message = shell.refused("remember", *db, "--timeout", "0.05", "I like tea.")
    assert message == "umi-live: remember: not done within 0.05 seconds; nothing was changed\n"
    assert "0.0 is not in the range x>0" in shell.refused("recall", *db, "--timeout", "0", "tea")


def test_a_question_may_be_of_another_speaker(shell: Shell) -> None:
    db = ("--db", "agent.db")
    shell("remember", *db, "I live in Rome.")
    shell("remember", *db, "--speaker", "Bob", "I live in Oslo.")
    found = [
        shell("recall", *db, "--limit", "1", *of, "where do I live?")[1] for of in ((), ("--speaker", "Bob"))
    ]
    assert [it.split("  ")[-1] for it in found] == ["user: I live in Rome.\n", "Bob: I live in Oslo.\n"]

"""Goal: files are private, one that cannot be written can be read, and errors are one clear line."""

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_live import LiveError, StoreError, open_blocking, open_memory
from umi_live.command import main

ROOT: Final = Path(__file__).resolve().parents[2]
OTHER_USER: Final = 65_534  # whom no permission but that of others is for


def surroundings() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return {**kept, "PYTHONPATH": str(ROOT)}


AS_OTHER: Final = """
import os, sys
from umi_live.command import main
import umi_live.search, encodings.idna, urllib.parse
if not os.geteuid():
    os.setgroups([]); os.setgid({user}); os.setuid({user})
sys.argv[0] = "umi-live"
main()
"""


def shell(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The command, by a user who is not root, so that permissions count."""
    program = [sys.executable, "-c", AS_OTHER.format(user=OTHER_USER), *words]
    return subprocess.run(program, cwd=folder, env=surroundings(), capture_output=True, text=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that any user may reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {it.name: (it.read_bytes(), it.stat().st_mtime_ns) for it in folder.iterdir()}


@pytest.mark.parametrize("umask", [0, 0o022, 0o077, 0o777])
def test_every_file_is_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        with open_blocking(
            tmp_path / "agent.db", user="ann", agent="helper", record=tmp_path / "life.jsonl"
        ) as memory:
            memory.remember("Ann likes tea.")
            modes = {it.name: stat.S_IMODE(it.stat().st_mode) for it in tmp_path.iterdir()}
    finally:
        os.umask(before)
    names = ("agent.db", "agent.db-wal", "agent.db-shm", "agent.db-live", "life.jsonl")
    assert modes == dict.fromkeys(names, 0o600)


def test_no_file_is_ever_made_with_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no window: whatever is created is created private."""
    made: list[tuple[str, int]] = []
    system = os.open

    def watched(path: Any, flags: int, mode: int = 0o777, **rest: Any) -> int:
        if flags & os.O_CREAT:
            made.append((str(path), mode))
        return system(path, flags, mode, **rest)

    monkeypatch.setattr(os, "open", watched)
    with open_blocking(tmp_path / "a.db", user="a", agent="b", record=tmp_path / "life.jsonl"):
        pass
    own = [mode for path, mode in made if path.startswith(str(tmp_path))]
    assert own == [0o600] * 3


def test_an_export_to_a_file_is_private_and_none_is_written_over(folder: Path) -> None:
    with open_blocking(folder / "agent.db", user="me", agent="agent") as memory:
        memory.remember("Ann likes tea.")
    words = ("-m", "umi_live", "export", "--db", "agent.db", "--out", "all.jsonl")
    runs = [
        subprocess.run([sys.executable, *words], cwd=folder, env=surroundings(), capture_output=True)
        for _ in range(2)
    ]
    assert [it.returncode for it in runs] == [0, 2]
    assert stat.S_IMODE((folder / "all.jsonl").stat().st_mode) == 0o600
    assert runs[1].stderr == b"umi-live: all.jsonl: File exists\n"


def test_a_recall_writes_nothing_for_an_unknown_user_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_blocking(tmp_path / "agent.db", user="me", agent="agent") as memory:
        memory.remember("Ann likes tea.")
    before = state(tmp_path)
    for user, found in (("me", True), ("nobody", False)):
        for command in (("recall", "tea"), ("blocks",), ("export",)):
            words = ["umi-live", command[0], "--db", "agent.db", "--user", user, *command[1:]]
            monkeypatch.setattr(sys, "argv", words)
            with pytest.raises(SystemExit) as ended:
                main()
            output = capsys.readouterr()
            says_nothing = "umi-live: agent.db: has nothing of user 'nobody' and agent 'agent'\n"
            assert output.err == ("" if found else says_nothing)
            assert (ended.value.code or 0) == (0 if found or command != ("export",) else 2)
            assert found is ("likes" in output.out) or command == ("blocks",)
        assert state(tmp_path) == before


def test_a_file_that_cannot_be_written_is_recalled_from_exported_and_checked(folder: Path) -> None:
    with open_blocking(folder / "agent.db", user="me", agent="agent") as memory:
        memory.remember("Ann likes tea.")
    (folder / "agent.db").chmod(0o444)
    folder.chmod(0o555)
    before = state(folder)
    try:
        for command, expected in ((("recall", "tea"), "likes tea"), (("blocks",), ""), (("export",), "")):
            done = shell(folder, command[0], "--db", "agent.db", *command[1:])
            assert (done.returncode, done.stderr, expected in done.stdout) == (0, "", True), done.stderr
        assert "damaged  nothing" in shell(folder, "doctor", "--db", "agent.db").stdout
        done = shell(folder, "remember", "--db", "agent.db", "Bob likes tea.")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert state(folder) == before
    finally:
        folder.chmod(0o755)


def test_a_memory_that_only_reads_refuses_to_write_and_needs_no_claim(tmp_path: Path) -> None:
    async def live() -> None:
        path = tmp_path / "agent.db"
        async with (
            open_memory(path, user="ann", agent="helper") as memory,
            open_memory(path, user="ann", agent="helper", read_only=True) as reader,
        ):
            await memory.remember("Ann likes tea.")
            assert [hit.content for hit in await reader.recall("tea")] == ["Ann likes tea."]
            for write in (reader.remember("x"), reader.forget("ent_1"), reader.set_block("human", "x")):
                with pytest.raises(StoreError, match="open for reading only"):
                    await write
            await memory.remember("Ann likes cake.")  # it was not fenced
            assert await memory.count() == 2

    asyncio.run(live())


def test_vectors_of_another_embedder_are_left_alone_and_words_find(tmp_path: Path) -> None:
    class Other:
        name, dims = "other", 4

        async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
            return tuple((127, 0, 0, 1) for _ in texts)

        async def close(self) -> None: ...

    path = tmp_path / "agent.db"
    with open_blocking(path, user="ann", agent="helper", embedder=Other()) as memory:
        memory.remember("Ann likes tea.")
    with open_blocking(path, user="ann", agent="helper", read_only=True) as memory:
        hits = memory.recall("tea")
        assert ([hit.content for hit in hits], bool(hits.degraded)) == (["Ann likes tea."], True)


USES: Final[tuple[Callable[[Any], Any], ...]] = (
    lambda memory: memory.remember("x"),
    lambda memory: memory.recall("x"),
    lambda memory: memory.history("ent_1"),
    lambda memory: memory.__aexit__(None, None, None),
)


@pytest.mark.parametrize("use", USES)
def test_a_second_event_loop_is_one_clear_error(use: Callable[[Any], Any], tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "agent.db", user="ann", agent="helper")
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    first.run_until_complete(memory.__aenter__())

    async def used() -> None:
        await use(memory)

    with pytest.raises(LiveError, match="another event loop; use it there"):
        second.run_until_complete(used())
    first.run_until_complete(memory.remember("Ann likes tea."))
    first.run_until_complete(memory.__aexit__(None, None, None))
    first.close()
    second.close()


WITHOUT: Final = "import sys; sys.modules['apsw'] = None; "


def test_without_its_extra_the_command_is_one_line() -> None:
    code = WITHOUT + "from umi_live.__main__ import main; main()"
    done = run_here(code)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "umi-live: apsw is not installed: pip install 'umi-sim[live]'\n"


def test_without_its_extra_a_name_says_what_to_install() -> None:
    done = run_here(WITHOUT + "from umi_live import open_memory")
    assert "ModuleNotFoundError: apsw is not installed: pip install 'umi-sim[live]'" in done.stderr


def run_here(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, "recall"], env=surroundings(), capture_output=True, text=True
    )

"""Goal: an agent reads what another one of its user shares, in every way that recalls are asked for."""

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from tests.live.served import asking
from tests.live.test_command import Shell
from umi_core.rows import Grant
from umi_live import RequestRefused, open_blocking, open_memory
from umi_live.blocking import BlockingMemory
from umi_live.local import HashEmbedder
from umi_live.results import Hits


class OtherEmbedder(HashEmbedder):
    name = "another"


def planner(path: Path) -> BlockingMemory:
    return open_blocking(path, user="ann", agent="planner")


def contents(hits: Hits) -> list[tuple[str, str]]:
    return sorted((hit.agent, hit.content) for hit in hits)


def test_an_archive_is_read_by_another_agent_until_its_owner_takes_it_back(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with planner(path) as owner, open_blocking(path, user="ann", agent="writer") as reader:
        owner.remember("Eve likes tea.")
        reader.remember("Eve snores.")
        with pytest.raises(RequestRefused, match="no archive of agent planner is shared with this one"):
            reader.recall("Eve", shared=["planner"])
        assert (owner.share(["writer"]), owner.share()) == (("writer",), ("writer",))
        found = reader.recall("Eve", shared=["planner"])
        assert contents(found) == [("", "Eve snores."), ("planner", "Eve likes tea.")]
        assert (found.degraded, reader.count(), owner.count()) == ((), 1, 1)
        assert contents(reader.recall("Eve")) == [("", "Eve snores.")]
        owner.share([])
        for agent in ("planner", "nobody"):
            with pytest.raises(RequestRefused, match=f"no archive of agent {agent} is shared"):
                reader.recall("Eve", shared=[agent])
    with open_blocking(path, user="bob", agent="writer") as stranger, pytest.raises(RequestRefused):
        stranger.recall("Eve", shared=["planner"])


def test_a_file_that_is_only_read_shows_what_is_shared_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with planner(path) as owner:
        owner.remember("Eve likes tea.")
        owner.share(["writer"])
        with open_blocking(path, user="ann", agent="writer", read_only=True) as reader:
            assert contents(reader.recall("Eve", shared=["planner"])) == [("planner", "Eve likes tea.")]


def test_vectors_of_another_embedder_are_not_compared_and_the_hits_say_so(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with planner(path) as owner:
        owner.remember("Eve likes tea.")
        owner.share(["writer"])
    with open_blocking(path, user="ann", agent="writer", embedder=OtherEmbedder()) as reader:
        reader.remember("Eve snores.")
        found = reader.recall("Eve", shared=["planner"], deep=False)
        assert contents(found) == [("", "Eve snores."), ("planner", "Eve likes tea.")]
        assert [(it.name, it.reason, it.count) for it in found.degraded] == [
            ("by_vector:words_only", "refused", 1)
        ]


def test_a_deleted_agent_and_its_user_share_nothing(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with planner(path) as owner:
        owner.remember("Eve likes tea.")
        owner.share(["writer"])
        owner.delete_agent()
        owner.open_agent()
        assert owner.share() == ()


def test_a_grant_goes_along_with_an_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(monkeypatch, capsys)
    own = ("--user", "ann", "--agent", "planner")
    assert shell("share", "--db", "a.db", *own, "writer", "reader") == (0, "reader\nwriter\n", "")
    (tmp_path / "out.jsonl").write_text(shell("export", "--db", "a.db", *own)[1])
    assert shell("import", "--db", "b.db", "out.jsonl")[0] == 0
    assert shell("share", "--db", "b.db", *own)[1] == "reader\nwriter\n"
    assert "grant" in shell("doctor", "--db", "b.db")[1]
    assert shell("share", "--db", "b.db", *own, "--none") == (0, "", "")


def test_a_shell_recalls_what_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shell = Shell(monkeypatch, capsys)
    shell("remember", "--db", "a.db", "--agent", "planner", "Eve likes tea.")
    shell("share", "--db", "a.db", "--agent", "planner", "writer")
    recall = ("recall", "--db", "a.db", "--agent", "writer", "--shared", "planner", "tea")
    assert "Eve likes tea.  (planner)" in shell(*recall)[1]
    assert json.loads(shell(*recall, "--json")[1].splitlines()[0])["agent"] == "planner"
    shell("share", "--db", "a.db", "--agent", "planner", "--none")
    assert "no archive of agent planner is shared" in shell(*recall)[2]


def test_a_server_and_its_tools_recall_what_is_shared(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    from umi_live.mcp import Tools

    async def live() -> None:
        path = tmp_path / "a.db"
        async with open_memory(path, user="ann", agent="planner") as owner:
            await owner.remember("Eve likes tea.")
            async with asking(path) as ask:
                body = {"query": "tea", "shared": ["planner"]}
                assert (await ask("POST", "/recall", body)).status_code == 403
                await owner.share(["helper"])
                [hit] = (await ask("POST", "/recall", body)).json()["hits"]
                assert (hit["agent"], hit["content"]) == ("planner", "Eve likes tea.")
                response = await ask("POST", "/share", {"agents": ["planner", "x"]})
                assert response.json() == {"agents": ["planner", "x"]}
                assert (await ask("POST", "/share", {})).json() == {"agents": ["planner", "x"]}
                assert (await ask("POST", "/share", {"agents": "x"})).status_code == 400
            async with open_memory(path, user="ann", agent="helper") as memory:
                [line] = await Tools(lambda: memory).recall("tea", shared=["planner"])
                assert (line["agent"], line["content"]) == ("planner", "Eve likes tea.")
            assert [row.body async for row in owner.rows(("grant",))] == [Grant(("helper",))]

    asyncio.run(live())

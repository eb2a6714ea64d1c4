"""Goal: the programs to copy show what they say: five to begin with, three for an agent server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

ROOT = Path(__file__).resolve().parents[2]


def run(script: str, folder: Path, *args: str, words: str = "", **more: str) -> list[str]:
    """Return the lines that a program of `examples` prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / script), *args],
        input=words,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **more},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_chat_still_knows_in_the_next_process(tmp_path: Path) -> None:
    assert run("first/chat.py", tmp_path, words="I like green tea.\n\n") == ["I know nothing of that yet."]
    assert run("first/chat.py", tmp_path, words="What do I like?\n\n") == ["- I like green tea."]


def test_a_missing_model_is_reported_and_nothing_is_lost(tmp_path: Path) -> None:
    absent_model = "http://127.0.0.1:9/v1#m"
    lines = run("first/chat.py", tmp_path, words="I like green tea.\n\n", CHAT_MODEL=absent_model)
    assert lines == ["(The model did not answer: no connection, or one that breaks off.)"]
    assert run("first/chat.py", tmp_path, words="What do I like?\n\n") == ["- I like green tea."]


def test_documents_are_searched_down_to_their_texts_and_kept_once(tmp_path: Path) -> None:
    (tmp_path / "lisbon.txt").write_text("Ann lives in Lisbon. The trams are yellow.")
    first = run("first/documents.py", tmp_path, "lisbon.txt", "--", "Where does Ann live?")
    assert first[0] == "lisbon.txt: created, 2 facts"
    assert first[1:] == [
        "entities: Ann lives in Lisbon.",
        "resources: Ann lives in Lisbon. The trams are yellow.",
    ]
    assert run("first/documents.py", tmp_path, "lisbon.txt")[0].startswith("lisbon.txt: unchanged")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "handoff",
            [
                "the draft: Lisbon has seven hills.",
                "the last message: Eve.",
                "told besides: ['Eve likes short texts.']",
                "What does she like? -> Eve likes short texts.",
            ],
        ),
        (
            "tenants",
            [
                "('ann', ['I live in Porto.'])",
                "('bob', ['I live in Bern.'])",
                "('cem', ['I live in Izmir.'])",
                "of bob there are 0",
            ],
        ),
        ("custom_step", ["Ann likes tea.", "Ann pays with [number]."]),
    ],
)
def test_the_other_first_programs_show_what_they_say(name: str, lines: list[str], tmp_path: Path) -> None:
    assert sorted(run(f"first/{name}.py", tmp_path)) == sorted(lines)


def test_the_first_programs_are_short() -> None:
    scripts = sorted((ROOT / "examples" / "first").glob("*.py"))
    assert [it.name for it in scripts if len(it.read_text().splitlines()) > 30] == []
    assert len(scripts) == 5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hybrid", "Known:\n- Ann: I like green tea.\n1 message"),
        ("records", "what it told: ['forgotten', 'unchanged']\nleft: Tom: Tom likes chess."),
        (
            "talk",
            "again: unchanged, 0 told of\n['Tom likes tea.', 'Tom lives in Lisbon.']",
        ),
        (
            "moving",
            "left in the old store: {}\nYou are a helper.\n\n<memory>\n<persona>\nI am patient.\n"
            "...<human>\nAnn likes coffee.\n</human>\n</memory>",
        ),
        ("delegation", "I am patient.\nI am brief.\nNone\n<core_memory>"),
    ],
)
def test_an_agent_server_uses_it_in_three_ways_and_moves_over(
    name: str, expected: str, tmp_path: Path
) -> None:
    shown = "\n".join(run(f"kelpie/{name}.py", tmp_path, str(tmp_path / "agent.db")))
    assert [part for part in expected.split("...") if part not in shown] == []

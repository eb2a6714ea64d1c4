"""Goal: the chat agent to copy remembers from one process to the next; an agent server has three to copy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

ROOT = Path(__file__).resolve().parents[2]


def chat(file: Path, *said: str, **more: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "chat" / "chat.py")],
        input="\n".join((*said, "", "")),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CHAT_FILE": str(file), **more},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1:]


def test_it_still_knows_in_the_next_process(tmp_path: Path) -> None:
    assert chat(tmp_path / "chat.db", "I like green tea.") == ["I know nothing of that yet."]
    assert chat(tmp_path / "chat.db", "What do I like?") == ["I remember:", "- Ann: I like green tea."]


def test_a_model_that_is_not_there_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9/v1#m"
    said = chat(tmp_path / "chat.db", "I like green tea.", CHAT_MODEL=nobody)
    assert said == ["(The model did not answer: no connection, or one that breaks off.)"]
    assert chat(tmp_path / "chat.db", "What do I like?")[1:] == ["- I like green tea.: I like green tea."]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("replacement", "Ann likes coffee."),
        ("hybrid", "Known:\n- Ann: I like green tea.\n1 message"),
        ("records", "what it told: ['forgotten', 'unchanged']\nleft: Tom: Tom likes chess."),
        (
            "talk",
            "again: unchanged, 0 told of\n['Tom likes tea.', 'Tom lives in Lisbon.']",
        ),
        ("moving", "ReadRow Done(value='Ann likes coffee.', degraded=())\nleft in the old store: {}"),
        ("delegation", "I am patient.\nI am brief.\nNone\n<core_memory>"),
    ],
)
def test_an_agent_server_uses_it_in_three_ways_and_moves_over(name: str, said: str, tmp_path: Path) -> None:
    script = ROOT / "examples" / "kelpie" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "agent.db")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout

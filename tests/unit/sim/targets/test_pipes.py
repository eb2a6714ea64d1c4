"""A store in a process of its own: whatever it does is a finding, and no crash of ours."""

import sys
from pathlib import Path
from shutil import which

import pytest

from umi_sim.kernel import child_process
from umi_sim.targets import Kv, Sessions, seed_files
from umi_sim.targets.adapter import Adapter, BadAdapter, ops_of
from umi_sim.targets.drawing import draw_items
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.pipes import adapter_of

STORE = """
import json, os, sys
path = sys.argv[-1] + "/rows.json"
rows = json.load(open(path)) if os.path.exists(path) else {}
for line in sys.stdin:
    asked = json.loads(line)
    reply = {"id": asked["id"], "answer": None}
    if asked["op"] == "hello":
        reply["answer"] = {"ops": {"put": ["key", "value"], "get": ["key"]}, "flags": {"durable": True}}
    elif asked["op"] == "put":
        rows[asked["key"]] = asked["value"]
        json.dump(rows, open(path, "w"))
    elif asked.get("key") in rows:
        reply["answer"] = rows[asked["key"]]
    else:
        reply = {"id": asked["id"], "missing": True}
    TWIST
    print(json.dumps(reply), flush=True)
"""
EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "targets"
PUT = Item("op", (ContractOp("put", {"key": "a", "value": "v"}),))
GET = Item("op", (ContractOp("get", {"key": "a"}),))


def piped(folder: Path, twist: str = "pass") -> type[Adapter]:
    path = folder / "store.py"
    path.write_text(STORE.replace("TWIST", twist))
    return adapter_of(f"{sys.executable} -S {path}", Kv)


def test_a_process_is_judged_and_replays(tmp_path: Path) -> None:
    adapter = piped(tmp_path)
    items = (GET, PUT, Item("reopen"), GET, Item("crash"), GET)
    verdict = run(adapter, items)
    assert ops_of(adapter) == {"put": ("key", "value"), "get": ("key",)}
    assert verdict.broken is None
    assert [step.told for step in verdict.steps] == ["nothing", "None", "done", "'v'", "done", "'v'"]
    assert run(adapter, items).trace == verdict.trace


PAGES = """
    if asked["op"] == "hello":
        reply["answer"]["ops"]["scan"] = ["limit"]
    elif asked["op"] == "scan":
        keys, at = sorted(rows), asked["cursor"] or 0
        end = at + asked["limit"]
        reply = {"id": asked["id"], "answer": [keys[at:end], end if end < len(keys) else None]}
"""


def test_pages_are_requested_by_the_cursor_of_the_page_before(tmp_path: Path) -> None:
    adapter = piped(tmp_path, PAGES.strip())
    puts = [Item("op", (ContractOp("put", {"key": key, "value": "v"}),)) for key in "abc"]
    verdict = run(adapter, (*puts, Item("op", (ContractOp("scan", {"limit": 2}),))))
    assert verdict.broken is None
    assert verdict.steps[-1].told == "['a', 'b', 'c']"


@pytest.mark.parametrize(
    ("twist", "rule", "got"),
    [
        ("asked['op'] == 'get' and sys.exit(3)", "process", "has ended with status 3"),
        ("asked['op'] == 'get' and sys.stdin.read()", "process", "says nothing for 0.5 s"),
        (
            "asked['op'] == 'get' and (os.close(1), sys.stdin.read())",
            "process",
            "has closed its input or output",
        ),
        ("asked['op'] == 'get' and print('x' * 2**21)", "process", "says more than 1048576 bytes at once"),
        ("asked['op'] == 'get' and print('what?', flush=True)", "process", "says what is no JSON: b'what?'"),
        ("reply['id'] += asked['op'] == 'get'", "process", "answers something else than request 3"),
        ("reply = {'id': asked['id'], 'error': 'full'} if asked['op'] == 'get' else reply", "raises", "full"),
        ("reply['answer'] = 7 if asked['op'] == 'get' else reply['answer']", "answer", "7"),
    ],
)
def test_what_a_process_does_wrong_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twist: str, rule: str, got: str
) -> None:
    monkeypatch.setattr(child_process, "ANSWER_SECONDS_MAX", 0.5)
    monkeypatch.setattr(child_process, "ENDING_SECONDS", 0.2)
    broken = run(piped(tmp_path, twist), (PUT, GET)).broken
    assert broken is not None
    assert broken.rule == rule
    assert got in broken.got


def test_a_process_that_does_not_read_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = piped(
        tmp_path, "asked['op'] == 'get' and (print(json.dumps(reply), flush=True), os.read(os.pipe()[0], 1))"
    )
    monkeypatch.setattr(child_process, "ANSWER_SECONDS_MAX", 0.2)
    monkeypatch.setattr(child_process, "ENDING_SECONDS", 0.1)
    large = Item("op", (ContractOp("put", {"key": "a", "value": "v" * 200_000}),))
    broken = run(adapter, (PUT, GET, large)).broken
    assert broken is not None
    assert (broken.rule, broken.op, broken.got) == ("process", "put", "'reads nothing for 0.2 s'")


def test_a_process_that_says_no_hello_is_no_adapter(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadAdapter, match="has ended with status 1"):
        adapter_of(f"{sys.executable} -S -c 'import no_such_module'", Kv)
    assert "No module named 'no_such_module'" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(which("node") is None, reason="needs node")
def test_a_store_in_another_language_replays_from_its_file(tmp_path: Path) -> None:
    """Answer by answer, restarts and crashes included."""
    own = tmp_path / "store.mjs"
    own.write_text(
        (EXAMPLES / "store.mjs").read_text().replace("    save();\n    return existed", "    return existed")
    )
    adapter = adapter_of(f"node {own}", Kv)
    delete = Item("op", (ContractOp("delete", {"key": "a"}),))
    verdict = run(adapter, (GET, PUT, Item("crash"), GET, delete, Item("reopen"), GET))
    saved = seed_files.read(seed_files.write(adapter, "node store.mjs", verdict, tmp_path))
    again = run(adapter, [step.item for step in saved.steps])
    assert (saved.rule, saved.message) == (
        "reopen-lost",
        "get: 'v'; expected MISSING or None: it was not written, or was removed",
    )
    assert again.trace == saved.trace == verdict.trace


@pytest.mark.skipif(which("perl") is None, reason="needs perl")
def test_a_store_in_a_third_language_says_the_same_twice() -> None:
    adapter = adapter_of(f"perl {EXAMPLES / 'store.pl'}", Sessions)
    first, again = (run(adapter, draw_items(adapter, 3, {})) for _ in range(2))
    assert first.broken is None
    assert first.trace == again.trace

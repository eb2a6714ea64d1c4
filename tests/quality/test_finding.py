"""Goal: finding reads both formats, and tells how often evidence is found, and by which memory."""

import json
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from tools.measured.finding import Dialogue, Tally, has_evidence, list_evidence_lines, main, read_dialogues

LOCOMO = [
    {
        "conversation": {
            "speaker_a": "Ann",
            "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "My sister paints red boats."}],
            "session_2_date_time": "9 May",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi! The garden shed needs a new roof."},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "Good luck with that."},
                {"speaker": "Bob", "dia_id": "D1:3", "text": " "},
            ],
        },
        "qa": [
            {"question": "Who paints boats?", "evidence": ["D2:1"], "category": 1},
            {"question": "What needs a roof?", "evidence": ["D1:1; D9:9"], "category": 2},
            {"question": "Is this asked?", "category": 5},
        ],
    }
]
SESSIONS = [
    [
        {"role": "user", "content": "I adopted two cats last week."},
        {"role": "assistant", "content": "Lovely!"},
    ],
    [{"role": "user", "content": "The train was late again."}],
]
STACK = {"question": "Which cats were adopted?", "haystack_sessions": SESSIONS, "answer_session_ids": ["s1"]}


def dialogue_of(tmp_path: Path, samples: object) -> Dialogue:
    path = tmp_path / "samples.json"
    path.write_text(json.dumps(samples))
    [dialogue] = read_dialogues(path)
    return dialogue


def test_a_conversation_is_read_in_the_order_of_its_sessions(tmp_path: Path) -> None:
    dialogue = dialogue_of(tmp_path, LOCOMO)
    assert [turn.speaker for turn in dialogue.turns] == ["Ann", "Bob", "Bob"]
    assert [sorted(it.evidence) for it in dialogue.questions] == [[2], [0], []]
    assert list_evidence_lines(dialogue.turns, frozenset({0})) == ["The garden shed needs a new roof."]
    assert list_evidence_lines(dialogue.turns, frozenset()) == []


def test_evidence_is_marked_at_turns_or_at_sessions(tmp_path: Path) -> None:
    of_session = dialogue_of(tmp_path, [{**STACK, "haystack_session_ids": ["s1", "s2"]}])
    assert [sorted(it.evidence) for it in of_session.questions] == [[0, 1]]
    marked = [[SESSIONS[0][0], {**SESSIONS[0][1], "has_answer": True}], SESSIONS[1]]
    of_turn = dialogue_of(tmp_path, [{**STACK, "haystack_sessions": marked}])
    assert [sorted(it.evidence) for it in of_turn.questions] == [[1]]
    assert [turn.speaker for turn in of_turn.turns] == ["user", "assistant", "user"]


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither LoCoMo nor LongMemEval: a sample has"):
        dialogue_of(tmp_path, [{"text": "x"}])


def test_hits_count_by_their_place_and_by_what_a_prompt_shows() -> None:
    tally = Tally()
    tally.add(["no"] * 5 + ["a line of it", "x"], ["line"])
    tally.add(["y" * 3_000, "line"], ["line"])
    assert tally.row("it") == ("it", "2", "50.0 %", "100.0 %", "50.0 %", "1507")
    assert Tally().row("none") == ("none", "0", "0.0 %", "0.0 %", "0.0 %", "0")


def test_a_divided_line_and_a_dated_one_are_evidence() -> None:
    lines = ["Yesterday I ate ramen, but I hate coriander!"]
    assert has_evidence("Yesterday (2026-11-30) I ate ramen, but I hate coriander!\nNext.", lines)
    assert has_evidence("I hate coriander.\nNext.", lines)
    assert not has_evidence("I hate.\nNext.", lines)
    assert not has_evidence("I ate ramen, but I hate", ["I ate ramen and my sister hates it."])


def test_all_three_find_the_planted_bug(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, samples in (("talk", LOCOMO), ("stack", [STACK | {"haystack_session_ids": ["s1", "s2"]}])):
        (tmp_path / f"{name}.json").write_text(json.dumps(samples))
    assert main([str(tmp_path / "talk.json"), str(tmp_path / "stack.json"), "--samples", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "talk.json", "by", "remember", "create_entity", "FTS5",
        "stack.json", "by", "remember", "create_entity", "FTS5",
    ]  # fmt: skip
    assert [line.split()[1:4] for line in lines[3:5]] == [["2", "100.0", "%"]] * 2
    assert main([str(tmp_path / "talk.json"), "--samples", "0"]) == 0

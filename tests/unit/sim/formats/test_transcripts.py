"""Goal: a transcript is read whole or refused in one clear line, and reads the same on every interpreter."""

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.language import pronouns
from umi_sim.formats import transcripts as transcript
from umi_sim.formats.transcripts import (
    AT_MS_MAX,
    BadTranscript,
    TurnLine,
    load,
    read_turn,
    replace_unassigned,
)

DATA = Path(__file__).parents[4] / "scenarios/data"
SMALL = DATA / "small.jsonl"
SHIPPED = {"small": 200, "conversation": 160, "changes": 100, "languages": 120}  # and their turns at least
FORM = '{"speaker": "...", "text": "..."}'
TIME = f"expected a whole number from 0 to {AT_MS_MAX}"
GOOD = b'{"speaker": "a", "text": "b"}'
UNICODE = unicodedata.unidata_version


def refusal(folder: Path, content: bytes) -> str:
    """What the message says behind the name of the file."""
    path = folder / "t.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadTranscript) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:")
    assert message.isprintable()
    return message.removeprefix(f"{path}:")


def test_turns_come_in_order_in_either_form(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"speaker": "Ann", "text": "hi", "at_ms": 5, "session": "s"}\r\n'
        b"\n"
        b'{"role": "user", "content": "", "at_ms": null, "more": [{}, 1.5e9, -0]}\n'
        b'{"speaker": "x", "role": "y", "text": "first", "content": "second", "at_ms": 0}'
    )
    assert load(str(path)) == (TurnLine("Ann", "hi", 5, "s"), TurnLine("user", ""), TurnLine("x", "first", 0))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"speaker": "a\xff"}', "byte 15 of the line is 0xff, expected UTF-8"),
        (b'{"speaker": "a", "text": }', f"no JSON from column 26 on, expected one object like {FORM}"),
        (GOOD + b" x", f"no JSON from column 31 on, expected one object like {FORM}"),
        (b'["a", "b"]', f"the line is a list, expected an object like {FORM}"),
        (b'"\xc3\xa9\xe2\x80\xae"', f'the line is "\\u00e9\\u202e", expected an object like {FORM}'),
        (b"null", f"the line is null, expected an object like {FORM}"),
        (b"12", f"the line is 12, expected an object like {FORM}"),
        (b'{"text": "b"}', f"speaker or role is missing, expected a text as in {FORM}"),
        (b'{"speaker": "a", "text": null}', f"text or content is missing, expected a text as in {FORM}"),
        (b'{"speaker": 7, "text": "b"}', "speaker is 7, expected a text"),
        (b'{"speaker": "a", "content": {}}', "content is an object, expected a text"),
        (b'{"speaker": "a", "text": "b", "session": true}', "session is true, expected a text"),
        (b'{"speaker": "a", "text": "b", "at_ms": 1.0}', f"at_ms is 1.0, {TIME}"),
        (b'{"speaker": "a", "text": "b", "at_ms": -1}', f"at_ms is -1, {TIME}"),
        (b'{"speaker": "a", "text": "b", "at_ms": "5"}', f'at_ms is "5", {TIME}'),
        (b'{"speaker": "a", "text": "b", "at_ms": NaN}', "NaN is no JSON, expected a number"),
        (b'{"x": ' + b"[" * 5_000, "more than 32 brackets inside each other, expected at most so many"),
    ],
)  # fmt: skip
def test_a_bad_line_says_what_and_where_and_what_is_expected(
    tmp_path: Path, line: bytes, message: str
) -> None:
    assert refusal(tmp_path, GOOD + b"\n\n" + line + b"\n" + GOOD) == f"3: {message}"


def test_a_large_number_is_shown_short(tmp_path: Path) -> None:
    line = b'{"speaker": "a", "text": "b", "at_ms": ' + b"9" * 9_000 + b"}"
    assert refusal(tmp_path, line) == f"1: at_ms is {'9' * 60}..., {TIME}"


def test_what_is_no_file_with_turns_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, b"") == f"1: no turn in the file, expected lines like {FORM}"
    assert refusal(tmp_path, b"\n \n") == f"1: no turn in the file, expected lines like {FORM}"
    with pytest.raises(BadTranscript, match=r"nothing:1: No such file.*, expected a file that can be read"):
        load(tmp_path / "nothing")
    with pytest.raises(BadTranscript, match=r":1: not a file, expected a file that can be read"):
        load(tmp_path)


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "LINE_BYTES_MAX", len(GOOD))
    monkeypatch.setattr(transcript, "TURN_COUNT_MAX", 2)
    monkeypatch.setattr(transcript, "FILE_BYTES_MAX", 100)
    assert (
        refusal(tmp_path, GOOD + b" ")
        == f"1: the line has {len(GOOD) + 1} bytes, expected at most {len(GOOD)}"
    )
    assert refusal(tmp_path, b"\n".join([GOOD] * 3)) == "3: turn 3, expected at most 2"
    assert refusal(tmp_path, b"\n" * 101) == "1: the file is too large, expected at most 100 bytes"
    (tmp_path / "t.jsonl").write_bytes(GOOD + b"\n" + GOOD + b"\n" * (99 - 2 * len(GOOD)))
    assert len(load(tmp_path / "t.jsonl")) == 2


@given(st.binary(max_size=60) | st.text().map(str.encode))
def test_any_line_is_a_turn_or_a_value_error(line: bytes) -> None:
    try:
        what = type(read_turn(line, 0)).__name__
    except ValueError as error:
        what = "TurnLine" if "expected" in str(error) else str(error)
    assert what == "TurnLine"


@given(
    st.text(),
    st.text(),
    st.none() | st.integers(0, AT_MS_MAX),
    st.none() | st.text(st.characters(codec="ascii")),
)
def test_what_is_written_is_read_again(
    speaker: str, text: str, at_ms: int | None, session: str | None
) -> None:
    line = json.dumps({"speaker": speaker, "text": text, "at_ms": at_ms, "session": session}).encode()
    assert read_turn(line, 0) == TurnLine(
        replace_unassigned(speaker), replace_unassigned(text), at_ms, session
    )


# Characters.


def test_half_a_pair_and_what_is_newer_than_unicode_14_become_a_replacement() -> None:
    turn = read_turn(
        rb'{"speaker": "\ud800a\udfff", "text": "\ud83d\ude00 \ud83e\udee8 \u0cf3", "session": "\udc00"}', 0
    )
    assert turn == TurnLine("\ufffda\ufffd", "😀 \ufffd \ufffd", None, "\ufffd")  # 🫨 came with Unicode 15


# The shipped transcript.

SCRIPTS = {
    "Latin": "[a-z]", "Cyrillic": "[а-я]", "Greek": "[α-ω]", "Han": "[\u4e00-\u9fff]",
    "kana": "[\u3041-\u30ff]", "Hangul": "[\uac00-\ud7a3]", "Arabic": "[\u0621-\u064a]",
    "Hebrew": "[\u05d0-\u05ea]", "Devanagari": "[\u0905-\u0939]", "Thai": "[\u0e01-\u0e2e]",
}  # fmt: skip
LANGUAGES = {
    "English": r"\bthe\b", "German": r"\bund\b", "Spanish": r"\bel\b", "French": r"\bje\b",
    "Italian": r"\bvive a\b", "Russian": r"\bв\b", "Greek": r"\bστα\b", "Japanese": "です", "Chinese": "大家",
    "Korean": "합니다", "Arabic": r"\bفي\b", "Hebrew": "אני", "Hindi": "में", "Thai": "ครับ",
}  # fmt: skip
ODDITIES = {
    "joined emoji": "\u200d", "skin tone": "[\U0001f3fb-\U0001f3ff]", "flag": "[\U0001f1e6-\U0001f1ff]{2}",
    "combining": "e\u0301", "composed": "Zo\u00eb", "decomposed": "Zoe\u0308", "conjoining": "\u1100\u1161",
    "bidi": "[\u202e\u2067]", "markup": "</block>", "heading": "^## System", "fence": "```python",
    "open fence": "```\nan", "template": r"\{text\} \{\{", "input line": "^INPUT text = ", "NUL": "\x00",
    "JSON": r'\{"entities"', "CRLF": "\r\n", "wide": "[０-９]", "control": "\x07", "separator": "\u2028",
    "pronoun": r"\bshe\b",
}  # fmt: skip


def test_the_shipped_transcript_loads_in_order() -> None:
    turns = load(SMALL)
    times = [turn.at_ms for turn in turns if turn.at_ms is not None]
    assert len(turns) >= 200
    assert len(times) >= 20
    assert times == sorted(set(times))
    assert len({turn.session for turn in turns}) >= 10
    assert len({turn.speaker for turn in turns}) >= 20


@pytest.mark.parametrize("pattern", [*SCRIPTS.values(), *LANGUAGES.values(), *ODDITIES.values()])
def test_the_shipped_transcript_has_many_languages_and_oddities(pattern: str) -> None:
    assert any(re.search(pattern, turn.text, re.MULTILINE) for turn in load(SMALL))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_transcript_needs_no_replacement(name: str) -> None:
    assert not any("\ufffd" in turn.text + turn.speaker for turn in load(DATA / f"{name}.jsonl"))


def test_all_that_is_shipped_is_known() -> None:
    labelled = "references.jsonl"  # no transcript: examples for tools/references.py
    assert sorted(path.name for path in DATA.iterdir()) == sorted(
        [labelled, *(f"{name}.jsonl" for name in SHIPPED)]
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_transcript_has_sessions_and_times_that_only_grow(name: str) -> None:
    turns = load(DATA / f"{name}.jsonl")
    times = [turn.at_ms for turn in turns if turn.at_ms is not None]
    assert len(turns) >= SHIPPED[name]
    assert len({turn.session for turn in turns}) >= 10
    assert len(times) >= 10
    assert times == sorted(set(times))


def test_the_conversation_asks_and_refers_in_four_languages() -> None:
    turns = load(DATA / "conversation.jsonl")
    terms = [term for turn in turns for term in pronouns.read(turn.text).terms]
    counts = Counter(pronouns.LANGUAGES[term] for term in terms if term in pronouns.LANGUAGES)
    assert min(counts[language] for language in ("en", "de", "es", "zh")) >= 20
    assert sum(turn.text.endswith(("?", "？")) for turn in turns) >= 50


def test_the_languages_show_every_script_early() -> None:
    turns = load(DATA / "languages.jsonl")
    early, late = (scripts("".join(turn.text for turn in part)) for part in (turns[:40], turns))
    assert early == late
    assert len(early) >= 24


def scripts(text: str) -> set[str]:
    """The first words of the names of its letters, as far as they name a script."""
    names = {unicodedata.name(char).split()[0] for char in text if char.isalpha()}
    return names - {"MATHEMATICAL"}  # letters of Latin in another dress

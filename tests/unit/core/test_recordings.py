"""Goal: what went into a memory is lines of text that say exactly that, or a typed error."""

import json

import pytest

from umi_core.config import Config
from umi_core.errors import BadVersion, Rejected, StateDamaged
from umi_core.messages.answers import Committed, Wake
from umi_core.messages.effects import Done, Reply
from umi_core.messages.requests import Remember
from umi_core.recordings import (
    RecordedStep,
    RecordingHead,
    digest_line,
    digest_of,
    pack_value,
    read_recording,
)
from umi_core.rows import Address
from umi_core.values import Scope

HEAD = RecordingHead(Scope("ann", "Zoë"), Config(embedding_dims=8))
STEPS = (
    RecordedStep(5, Remember("o1", "Ann likes\ntea.", metadata=(("a", "b"),)), digest_of(())),
    RecordedStep(6, Committed(1, ((Address(HEAD.scope, "epoch", "epoch"), 1),))),
    RecordedStep(7, Wake(), digest_of((Reply(1, Done(7)),))),
)


def lines() -> list[str]:
    lines = [HEAD.line(), STEPS[0].line(), digest_line(()), STEPS[1].line(), STEPS[2].line()]
    return [*lines, digest_line((Reply(1, Done(7)),)), ""]


def test_what_was_written_is_read() -> None:
    assert read_recording("\n".join(lines())) == (HEAD, STEPS)
    assert all("\n" not in line for line in lines())


@pytest.mark.parametrize("cut", range(1, len(STEPS[2].line()), 3))
def test_a_last_line_that_is_cut_off_is_left_out(cut: int) -> None:
    """Its process was killed while it wrote."""
    whole = "\n".join(lines()[:5])
    head, steps = read_recording(whole[:-cut])
    assert (head, steps[:2]) == (HEAD, STEPS[:2])
    assert len(steps) == 2


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", "not a recording"), ("[]", "not a recording"), ("7", "not a rec"), ("{}", "not a recording"),
        ('{"umi": "export"}', "not a recording"), ("[" * 100_000, "not a recording"),
        (HEAD.line().replace('"version": 1', '"version": 2'), "recording: 2 is not allowed"),
        (HEAD.line().replace('["ann", ', '["", '), "no scope"),
        (json.dumps({**json.loads(HEAD.line()), "config": pack_value(7)}), "no settings"),
        (json.dumps({"umi": "recording", "version": 1, "scope": "a", "config": ""}), "not a recording"),
    ],
)  # fmt: skip
def test_a_malformed_head_is_reported(line: str, sentence: str) -> None:
    with pytest.raises(Rejected, match=sentence) as rejected:
        read_recording("\n".join([line, *lines()[1:]]))
    assert isinstance(rejected.value.errors[0], StateDamaged | BadVersion)


@pytest.mark.parametrize(
    "line",
    ["7", "[]", "[1]", "nothing", "[" * 100_000, '[1, ""]', '[1, "%"]', f'[true, "{pack_value(Wake())}"]',
     f'[1, "{pack_value(HEAD.scope)}"]'],
)  # fmt: skip
def test_a_line_that_is_no_step_is_reported_with_its_number(line: str) -> None:
    with pytest.raises(Rejected, match="line 3 is no step of a recording"):
        read_recording("\n".join([HEAD.line(), STEPS[0].line(), line, STEPS[1].line(), ""]))


def test_a_digest_before_any_step_is_none() -> None:
    with pytest.raises(Rejected, match="line 2 is no step"):
        read_recording("\n".join([HEAD.line(), digest_line(()), STEPS[1].line(), ""]))

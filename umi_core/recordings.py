"""Recordings: all inputs of a memory, and digests of its effects, as lines of text.

    {"config": "...", "scope": ["ann", "helper"], "umi": "recording", "version": 1}
    [1795456401736, "p5wW..."]       a step: the time, and the value
    "9a3f..."                        the digest of its effects, unless the process ended in this step

A host of a memory may write a recording, and `umi-sim replay` runs it again.

Law 1. A memory is a function of its recording: the same lines give the same effects.
Law 2. Any text gives a recording, or a typed error.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, get_args

from msgspec import structs

from umi_core.codec import decode, encode
from umi_core.config import Config
from umi_core.data import Data
from umi_core.domains import bad_scope, is_int
from umi_core.errors import BadVersion, Rejected, StateDamaged
from umi_core.messages.answers import Answer, Value, Wake
from umi_core.messages.effects import Effect
from umi_core.messages.requests import REQUESTS
from umi_core.values import Scope

FORM: Final = "recording"
VERSION: Final = 1
VALUES: Final = {*REQUESTS.values(), *get_args(Answer), Wake}


class RecordingHead(Data):
    """The scope and the settings of the recorded memory."""

    scope: Scope
    config: Config

    def line(self) -> str:
        head = {"umi": FORM, "version": VERSION, "scope": [self.scope.user, self.scope.agent]}
        return json.dumps({**head, "config": pack_value(self.config)}, ensure_ascii=False, sort_keys=True)


class RecordedStep(Data):
    """One step: its time and value; `digest`: of its effects, empty if the recording ends before them."""

    now_ms: int
    value: Value
    digest: str = ""

    def line(self) -> str:
        return json.dumps([self.now_ms, pack_value(self.value)])


def digest_of(effects: Sequence[Effect]) -> str:
    return blake2b(encode(tuple(effects)), digest_size=8).hexdigest()


def digest_line(effects: Sequence[Effect]) -> str:
    return json.dumps(digest_of(effects))


def read_recording(text: str) -> tuple[RecordingHead, tuple[RecordedStep, ...]]:
    """Return head and steps, ignoring a cut off last line. Raises Rejected(BadVersion, StateDamaged)."""
    first, *rest = text.split("\n")
    head, steps = read_head(first), list[RecordedStep]()
    for number, line in enumerate(rest, 2):
        if not line:
            continue
        try:
            found = json.loads(line)
            # A line with a text is the digest of the previous step; a step is a list.
            if isinstance(found, str) and steps:
                steps[-1] = structs.replace(steps[-1], digest=found)
            else:
                steps.append(read_step(found))
        except (ValueError, TypeError, RecursionError, Rejected) as error:
            # The writer may have died while writing the last line; a damaged line before it is an error.
            if number == len(rest) + 1:
                break
            raise Rejected(StateDamaged(f"line {number} is no step of a recording: {error}")) from None
    return head, tuple(steps)


def read_head(line: str) -> RecordingHead:
    try:
        head = json.loads(line)
        if head["umi"] != FORM:
            raise ValueError("not a recording")
        if head["version"] != VERSION:
            raise Rejected(BadVersion(FORM, str(head["version"]), str(VERSION)))
        user, agent = head["scope"]
        scope, config = Scope(user, agent), unpack_value(head["config"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Rejected(StateDamaged(f"not a recording: {error}")) from None
    if bad_scope(scope) or not isinstance(config, Config):
        raise Rejected(StateDamaged("not a recording: no scope, or no settings"))
    return RecordingHead(scope, config)


def read_step(found: Any) -> RecordedStep:
    now_ms, data = found
    value = unpack_value(data)
    if not is_int(now_ms) or value.__class__ not in VALUES:
        raise ValueError("no time, or nothing that a memory can be told")
    return RecordedStep(now_ms, value)  # type: ignore[arg-type]  # its class is one of VALUES


def pack_value(value: object) -> str:
    return b64encode(encode(value)).decode()


def unpack_value(text: str) -> object:
    return decode(b64decode(text, validate=True))

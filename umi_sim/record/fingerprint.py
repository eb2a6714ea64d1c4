"""Fingerprints: failures with the same one are taken for the same bug.

Law 1. It is six bytes of BLAKE2b over kind, id of the rule, normal form of the message, and frame; no more.
Law 2. The normal form keeps the words of a message and drops what differs between runs: ids, texts, numbers.
Law 3. Only crashes have a frame in it; that of other kinds is empty.
"""

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from umi_sim.record.verdict import Failure

PERSON: Final = b"umi-fail-1"
DIGEST_BYTES: Final = 6
NORMAL_CHARS_MAX: Final = 200
MESSAGE_CHARS_MAX: Final = 1_000

# Texts, not compiled patterns: `re` compiles them only when something fails.
TOKENS: Final = (
    r"""(?s)(?P<text>b?"(?:[^"\\]|\\.)*"|(?<!\w)b?'(?:[^'\\]|\\.)*'(?!\w)"""
    r"""|(?<!\w)b?["'].*$)"""  # a text whose end was cut off
    r"|(?P<x>\b[\w.:]+/[\w.]+\#\d+(?:/[\w.]+)?"  # o7/commit#1/answer
    r"|\b0x[0-9a-f]+\b|\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{8,}\b)"
    r"|(?P<id>\b[a-z]+_[0-9a-f]{4,}\b(?:\.\.\.)?|\b[a-z]\d{1,6}\b|\b[a-z_]+(?::[a-z_]+)?:\d+\b"
    r"|(?<![\w'])[a-d](?![\w']))"  # fct_d771, o7, audit:1, an agent
    r"|(?P<n>(?<!\w)[-+]?\d+(?:[._]\d+)*)"
)
LISTS: Final = r"\[[^\[\]]*(?:\]|$)|\{[^{}]*(?:\}|$)|(?<![\w>])\((?:[^()]*,[^()]*)?\)"


def of(failure: "Failure") -> str:
    """Return the fingerprint of a failure, 12 hex digits."""
    return digest(failure.kind, failure.rule_id, normal(failure.message), frame_of(failure))


def digest(kind: str, rule_id: str, normal_message: str, frame: str) -> str:
    parts = json.dumps([kind, rule_id, normal_message, frame], separators=(",", ":"))
    return blake2b(parts.encode(), digest_size=DIGEST_BYTES, person=PERSON).hexdigest()


def frame_of(failure: "Failure") -> str:
    return failure.frame if failure.kind == "crash" else ""


def normal(message: str) -> str:
    """Return the message in its normal form, at most 200 characters."""
    # o7 was told version 3 of "notes", at least 5   ->   <id> was told version <n> of <text>, at least <n>
    tokens = re.sub(TOKENS, lambda found: f"<{found.lastgroup}>", message[:MESSAGE_CHARS_MAX])
    return " ".join(without_lists(tokens).split())[:NORMAL_CHARS_MAX]


def without_lists(message: str) -> str:
    """Return the message with each list, innermost first, replaced by one word."""
    count = 1
    while count:
        message, count = re.subn(LISTS, "<list>", message)
    return message

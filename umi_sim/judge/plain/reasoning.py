"""The answer in a reply of a model that thinks aloud, as M10.23 to M10.25 say.

Paris? No. </think>{"x": 1}       {"x": 1}
{"x": "a <think> b"}              as it is
"""

import re
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.invariants.limits import JSON_START_COUNT_MAX
from umi_sim.judge.plain.replies import DECODER, value_at

TAG: Final = re.compile(r"<[^<>]+>|\[/?THINK\]|◁/?think▷", re.IGNORECASE)
THOUGHT: Final = frozenset(
    """think thinking thought thoughts thought_process reasoning reflection analysis scratchpad
    inner_monologue internal_monologue antthinking
    seed:think seed:thinking ant:think ant:thinking mm:think mm:thinking""".split()
)
BARS: Final = {
    "<|begin_of_thought|>": "open", "<|start_thinking|>": "open", "<|end_of_thought|>": "close",
    "<|end_thinking|>": "close", "<|end|>": "end", "<|return|>": "blank", "<|begin_of_solution|>": "blank",
    "<|end_of_solution|>": "blank", "<|start_response|>": "blank", "<|end_response|>": "blank",
    "[think]": "open", "[/think]": "close", "◁think▷": "open", "◁/think▷": "close",
}  # fmt: skip
HEADER: Final = re.compile(
    r"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*(analysis|commentary|final)\b[^<>]*<\|message\|>", re.I
)
PARTS: Final = frozenset("memory content summary caption decision rewritten_query".split())
WRAPPERS: Final = ("answer", "response", "output")
IN_QUOTES: Final = "\"'`“”„«»‘’「」"
MARKS: Final = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~…。！？、，：；"
LINE_CHARS: Final = 200


@attrs.frozen
class Mark(Data):
    """A tag that is not part of a value."""

    kind: str
    start: int
    end: int


def answer_in(reply: str) -> str:
    """The reply without what stands before, between and behind its answer as reasoning."""
    marks, gone = marks_of(reply), list[tuple[int, int]]()
    while marks:
        first, rest = marks[0], marks[1:]
        partner = partner_of(rest) if first.kind == "open" else None
        end = first.end if partner is None else rest[partner].end
        marks = rest if partner is None else rest[partner + 1 :]
        if is_mentioned(reply, first, end):
            continue
        if first.kind == "open" and partner is None:
            gone.append((first.start, len(reply)))
            break
        gone.append((0 if first.kind == "close" else first.start, end))
    if not gone:
        return reply
    kept, at = "", max((end for start, end in gone if start == 0), default=0)
    for start, end in gone:
        if end > at:
            kept, at = kept + reply[at:start], end
    return unwrapped(kept + reply[at:])


def unwrapped(answer: str) -> str:
    """The inside of one element that is around the whole of an answer."""
    bare = answer.strip()
    for name in WRAPPERS:
        begin, end = f"<{name}>", f"</{name}>"
        is_around = bare[: len(begin)].lower() == begin and bare[-len(end) :].lower() == end
        if is_around and len(bare) >= len(begin) + len(end):
            return bare[len(begin) : -len(end)]
    return answer


def marks_of(reply: str) -> list[Mark]:
    """Every tag of a reasoning in order, those inside complete values left out."""
    found, at, failures = list[Mark](), 0, 0
    last = last_tag(reply)
    while at <= last:
        char = reply[at]
        mark = mark_at(reply, at)
        if mark is not None:
            found.append(mark)
            at = mark.end
        elif failures < JSON_START_COUNT_MAX and (char in "[{" or name_at(reply, at, False)):
            end = end_of_json(reply, at) if char in "[{" else end_of_part(reply, at)
            failures += end is None
            at = at + 1 if end is None else end
        else:
            at = next_start(reply, at + 1)
    return found


NEXT: Final = re.compile(r"[\[{<◁]")


def next_start(reply: str, at: int) -> int:
    match = NEXT.search(reply, at)
    return match.start() if match else len(reply)


def last_tag(reply: str) -> int:
    """Where the last of them may begin; -1 if there is none, and nothing is to be looked at."""
    return max((it.start() for it in re.finditer(r"[\[<◁]", reply) if mark_at(reply, it.start())), default=-1)


def mark_at(reply: str, at: int) -> Mark | None:
    """The tag of a reasoning that begins here."""
    header = HEADER.match(reply, at)
    if header:
        return Mark("close" if header[1].lower() == "final" else "open", at, header.end())
    match = TAG.match(reply, at)
    if match is None:
        return None
    tag = match[0].lower()
    if tag in BARS:
        return Mark(BARS[tag], at, match.end())
    inside = tag[1:-1]
    is_end = inside.startswith("/")
    name, _, attributes = re.sub(r"\s", " ", inside.removeprefix("/")).partition(" ")
    if is_end:
        return Mark("close", at, match.end()) if name in THOUGHT and not attributes.strip() else None
    if inside.endswith("/") and name.removesuffix("/") in THOUGHT:
        return Mark("blank", at, match.end())
    return Mark("open", at, match.end()) if name in THOUGHT else None


def end_of_json(reply: str, at: int) -> int | None:
    return None if value_at(reply, at) is None else DECODER.raw_decode(reply, at)[1]


def name_at(reply: str, at: int, is_end: bool) -> str:
    """The name of the tag of an answer that begins here, or ends one; empty if none does."""
    match = TAG.match(reply, at)
    if match is None or reply[at] != "<" or (match[0][1] == "/") != is_end:
        return ""
    name = re.split(r"\s", match[0][1:-1].removeprefix("/").lower())[0]
    return name if name in PARTS else ""


def end_of_part(reply: str, at: int) -> int | None:
    """Where this element ends; one of the same name inside has an end of its own."""
    name, depth = name_at(reply, at, False), 0
    for match in TAG.finditer(reply, at):
        depth += name_at(reply, match.start(), False) == name
        depth -= name_at(reply, match.start(), True) == name
        if depth == 0:
            return match.end()
    return None


def partner_of(rest: list[Mark]) -> int | None:
    """Which of these closes a reasoning that is open; if one too few do, the last that does."""
    depth, last = 1, None
    for at, mark in enumerate(rest):
        if mark.kind == "open":
            depth += 1
        elif mark.kind in ("close", "end"):
            depth, last = depth - 1, at
        if depth == 0:
            return at
    return last


def is_mentioned(reply: str, mark: Mark, end: int) -> bool:
    """Whether it is quoted, or an opening one stands between the words of a sentence."""
    if mark.kind not in ("open", "close"):
        return False
    before = reply[: mark.start][-LINE_CHARS:].split("\n")[-1]
    behind = reply[end : end + LINE_CHARS].split("\n")[0]
    if before and behind and before[-1] in IN_QUOTES and behind[0] in IN_QUOTES:
        return before[:-1].strip() != ""
    if mark.kind == "close" or not before[-1:].isspace() or not before.strip() or not behind.strip():
        return False
    return before.strip()[-1] not in MARKS and behind.strip()[0] not in "{[<"

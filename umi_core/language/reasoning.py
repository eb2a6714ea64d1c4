"""Reasoning: removing a model's reasoning from a reply, before, between or after parts of its answer.

    <think>Paris? No, she moved.</think>{"entities": [...]}     the JSON
    Paris? No, she moved.</think>{"entities": [...]}            the JSON: the template had opened the tag
    {"content": "Ann typed <think> into a form"}                unchanged: a tag inside a value is text

Law 1. Total: any string gives a text, in linear time per start of a value.
Law 2. A tag inside a complete JSON value, or inside a complete element that a prompt asks for, is text. So is
a tag in quotes, or in the middle of a sentence. Law 3. A text without tags is returned unchanged.
"""

import re
from collections.abc import Iterator
from typing import Final

from umi_core.data import Data
from umi_core.json_text import value_end
from umi_core.limits import JSON_START_COUNT_MAX
from umi_core.text import resolve_references

NAMES: Final = (
    r"(?:think|thinking|thoughts?|thought_process|reasoning|reflection|analysis|scratchpad"
    r"|inner_monologue|internal_monologue|antthinking|(?:seed|ant|mm):(?:think|thinking))"
)
CHANNEL: Final = r"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*"
TAG: Final = re.compile(
    rf"""
      (?P<close></\s*{NAMES}\s*> | \[/THINK\] | ◁/think▷ | <\|end_of_thought\|> | <\|END_THINKING\|>
        | <\|inner_suffix\|> | <unused95> | <channel\|> | <｜end▁of▁thinking｜>
        | {CHANNEL}final\b[^<>]*<\|message\|>)
    | (?P<open><{NAMES}(?:\s[^<>]*)?(?<!/)> | \[THINK\] | ◁think▷ | <\|begin_of_thought\|>
        | <\|START_THINKING\|> | <\|inner_prefix\|> | <unused94> | <\|channel>thought\b
        | <｜begin▁of▁thinking｜>
        | <details\s[^<>]*type="reasoning"[^<>]*>
        | <details>\s*<summary>[^<>]{{0,20}}\b(?:reasoning|thinking|thought|analysis)\b[^<>]*</summary>
        | {CHANNEL}(?:analysis|commentary)\b[^<>]*<\|message\|>)
    | (?P<end><\|end\|> | </details>)
    | (?P<blank><{NAMES}(?:\s[^<>]*)?/> | <\|[a-z_]{{3,30}}\|> | <｜[^<>｜]{{1,40}}｜>
        | </s>(?=\s*\Z) | <end_of_turn>)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The tags of model families. `blank`: a tag without a partner. `end`: closes an open tag, else like `blank`.

Chat templates have other tokens like <|im_end|>, which are never part of an answer.
"""

BRACKETS: Final = re.compile(r"\[/?THINK\]", re.IGNORECASE)
ANSWER: Final = re.compile(r"\s*<(answer|response|output)>(.*)</\1>\s*", re.IGNORECASE | re.DOTALL)
ELEMENT: Final = re.compile(
    r"<(?P<slash>/?)(?P<name>memory|content|summary|caption|decision|rewritten_query)(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
START: Final = re.compile(rf"[\[{{]|{ELEMENT.pattern}", re.IGNORECASE)
QUOTES: Final = frozenset("\"'`“”„«»‘’「」")
MARKS: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~…。！？、，：；")


class ReasoningTag(Data):
    """One tag outside all values: `kind` is a group of TAG."""

    kind: str
    start: int
    end: int


LINE_CHARS: Final = 200  # characters read on each side of a tag, to see whether it is inside a sentence


def strip_reasoning(text: str) -> str:
    """Return a reply without the reasoning in it."""
    # A reply may be escaped as a whole for HTML: then it has `&lt;` and no `<`.
    if "&" in text and "<" not in text:
        text = text.replace("&lt;", "<").replace("&gt;", ">")
    if "&quot;" in text and '"' not in text:
        text = resolve_references(text)
    # A quick test, because most replies have no tag at all and TAG is slow.
    if "<" not in text and "◁" not in text and BRACKETS.search(text) is None:
        return text
    if TAG.search(text) is None:
        return text
    tags = list(find_tags(text))
    closes = match_tags(tags)
    parts, at, number = list[str](), 0, 0
    while number < len(tags):
        tag, last = tags[number], closes.get(number)
        is_unclosed = tag.kind == "open" and last is None
        stop = tag.end if last is None else tags[last].end
        number = 1 + (number if last is None else last)
        if is_quoted(text, tag, stop):
            continue
        # A closing tag without an opening one: the template opened it, so all text before it is reasoning.
        if tag.kind == "close":
            parts.clear()
        else:
            parts.append(text[at : tag.start])
        at = len(text) if is_unclosed else stop
        number = len(tags) if is_unclosed else number
    answer = "".join((*parts, text[at:]))
    inside = ANSWER.fullmatch(answer) if len(answer) < len(text) else None
    return inside[2] if inside else answer


def find_tags(text: str) -> Iterator[ReasoningTag]:
    """Yield the tags outside of complete values and elements, in order."""
    ends, at, tries = find_element_ends(text), 0, 0
    tag = TAG.search(text)
    while tag is not None:
        start = START.search(text, at, tag.start()) if tries < JSON_START_COUNT_MAX else None
        if start is None:
            yield ReasoningTag(str(tag.lastgroup), *tag.span())
            at = tag.end()
            tag = TAG.search(text, at)
            continue
        end = ends.get(start.start()) if start["name"] else value_end(text, start.start())
        tries += end is None
        at = start.end() if end is None else end
        tag = tag if at <= tag.start() else TAG.search(text, at)


def find_element_ends(text: str) -> dict[int, int]:
    """Return the end of each complete element, by its start."""
    opened: dict[str, list[int]] = {}
    ends: dict[int, int] = {}
    for match in ELEMENT.finditer(text):
        starts = opened.setdefault(match["name"].lower(), [])
        if not match["slash"]:
            starts.append(match.start())
        elif starts:
            ends[starts.pop()] = match.end()
    return ends


def match_tags(tags: list[ReasoningTag]) -> dict[int, int]:
    """Return the index of the closing tag of each opening one, by the index of the opening one.

    Reasoning may mention an opening tag: `<think>no <think> tag</think>` ends at the last closing tag.
    """
    opened: list[int] = []
    closes: dict[int, int] = {}
    for number, tag in enumerate(tags):
        if tag.kind == "open":
            opened.append(number)
        elif tag.kind in ("close", "end") and opened:
            closes[opened.pop()] = number
    last = max(closes.values(), default=-1)
    return closes | {number: last for number in opened if number < last}


def is_quoted(text: str, tag: ReasoningTag, stop: int) -> bool:
    """Check whether a tag, or the pair of tags that ends at `stop`, is mentioned in a sentence."""
    before = text[max(0, tag.start - LINE_CHARS) : tag.start].rpartition("\n")[2]
    behind = text[stop : stop + LINE_CHARS].partition("\n")[0]
    if tag.kind in ("blank", "end"):
        return False
    if before[-1:] in QUOTES and behind[:1] in QUOTES:
        return bool(before[:-1].strip())
    left, right = before.rstrip(), behind.lstrip()
    is_behind_word = left != before and bool(left) and left[-1] not in MARKS
    return tag.kind == "open" and is_behind_word and bool(right) and right[0] not in "{[<"

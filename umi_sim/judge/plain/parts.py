"""The lines of a text that is memorized, and the parts that they are read in, as H3.19 to H3.24 say."""

import re
from typing import Any, Final

from umi_core.invariants.limits import SEGMENT_BYTES_MAX, SEGMENTED_BYTES_MAX
from umi_sim.judge.plain.replies import DECODER, Number, has_list, payload_of, value_at
from umi_sim.judge.plain.text import byte_count, cut, made_whole

WINDOW_LINES: Final = 40
CAPTION_BYTES: Final = 200
LINE_ENDS: Final = "\r\n"

# Lines.


def lines_of(text: str, modality: str) -> list[str]:
    """What is read of a text, line by line."""
    if modality == "conversation":
        told = spoken(text)
        return text.split("\n") if told is None else told or [""]
    if modality == "document":
        text = text.replace("\r\n", "\n")
        return re.split("[\r\n\f]", text)
    return text.split("\n")


def caption(text: str) -> str:
    """What a text is found by: its first line that says something, up to a full stop."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    end = line.find(".")
    return cut(line[:end] if end > 0 else line, CAPTION_BYTES)


def spoken(text: str) -> list[str] | None:
    """The messages of a conversation, each in one line; None if it is no JSON of that form."""
    if text.strip() == "":
        return []
    value = only_json(text)
    named = [value.get(name) for name in ("content", "messages")] if isinstance(value, dict) else []
    messages = next((it for it in (value, *named) if isinstance(it, list)), None)
    if messages is None:
        return None
    kept = [it for it in messages if says_something(it)]
    return [" ".join(re.split(f"[{LINE_ENDS}]+", message_line(n, it))) for n, it in enumerate(kept)]


def says_something(message: Any) -> bool:
    return isinstance(message, dict) and said(message.get("content")).strip() != ""


def mute_messages(text: str) -> tuple[list[int], int]:
    """Which messages of a conversation say nothing, and of how many."""
    value = only_json(text)
    lists = [value] if isinstance(value, list) else []
    if isinstance(value, dict):
        lists = [value[name] for name in ("content", "messages") if isinstance(value.get(name), list)]
    messages = lists[0] if lists else []
    return [n for n, it in enumerate(messages) if not says_something(it)], len(messages)


def places(numbers: list[int]) -> str:
    """Ten of them at most, as an error names them."""
    return ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")


def only_json(text: str) -> Any:
    """The JSON that a text is as a whole."""
    bare = text.strip(" \t\r\n")
    value = value_at(bare, 0)
    try:
        _, end = DECODER.raw_decode(bare, 0)
    except (ValueError, RecursionError):
        return None
    return value if end == len(bare) else None


def message_line(number: int, message: dict[str, Any]) -> str:
    role = message.get("role")
    role = role.strip() if isinstance(role, str) and role.strip() else "user"
    created = message.get("created_at")
    time = [] if created is None else [said(created)]
    return " ".join([f"[{number}]", *time, f"[{role}]: "]) + said(message.get("content"))


def said(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return content["text"] if isinstance(content.get("text"), str) else ""
    if isinstance(content, list):
        return " ".join(filter(None, map(said, content)))
    if isinstance(content, Number):
        return content.written
    return {None: "", True: "true", False: "false"}[content]


# Parts.


def is_divided(lines: list[str], modality: str, line_count_min: int) -> bool:
    """Whether a model is asked what belongs together."""
    is_short = byte_count("\n".join(lines)) <= SEGMENTED_BYTES_MAX
    return modality == "conversation" and len(lines) >= line_count_min and is_short


def parts_of(lines: list[str], starts: list[int]) -> list[str]:
    """The texts of the parts that begin at these lines, divided further where they are too long."""
    ends = [*starts[1:], len(lines)]
    return [text for start, end in zip(starts, ends, strict=True) for text in short(lines[start:end])]


def short(lines: list[str]) -> list[str]:
    """As many lines together as fit."""
    found: list[list[str]] = []
    room = 0
    for line in lines:
        room -= byte_count(line) + 1
        if not found or room < 0:
            found.append([])
            room = SEGMENT_BYTES_MAX - byte_count(line)
        found[-1].append(line)
    return [piece for part in found for piece in pieces("\n".join(part))]


def pieces(text: str) -> list[str]:
    """Of a line that is too long."""
    if byte_count(text) <= SEGMENT_BYTES_MAX:
        return [text]
    head = cut(text, SEGMENT_BYTES_MAX)
    return [head, *pieces(text[len(head) :])]


def read_starts(reply: str, line_count: int) -> list[int] | None:
    """Where parts begin, as a reply says: a line belongs to the first that has it. None: no parts."""
    ends = sorted(bounds for it in elements(reply) if (bounds := bounds_of(it, line_count)))
    starts, covered = list[int](), -1
    for start, end in ends:
        if end > covered:
            starts.append(max(start, covered + 1))
            covered = end
    return [0, *starts[1:]] if starts else None


def elements(reply: str) -> list[Any]:
    """What the reply lists, or whatever in it has two ends."""
    payload = payload_of(reply, "{", has_list("segments"))
    if payload is not None:
        return list(payload["segments"])
    listed = payload_of(reply, "[", has_ends_inside)
    return list(listed) if listed is not None else loose(reply)


def has_ends(value: Any) -> bool:
    return isinstance(value, dict) and "start" in value and "end" in value


def has_ends_inside(value: Any) -> bool:
    return isinstance(value, list) and any(map(has_ends, value))


def loose(reply: str) -> list[Any]:
    """Objects with two ends, none of them inside another."""
    text, at, found, tries = made_whole(reply), 0, list[Any](), 0
    while tries < 64 and (at := text.find("{", at)) >= 0 and byte_count(text) <= 50_000:
        tries += 1
        value = value_at(text, at)
        is_one = has_ends(value)
        found += [value] if is_one else []
        at = DECODER.raw_decode(text, at)[1] if is_one else at + 1
    return found


def bounds_of(element: Any, line_count: int) -> tuple[int, int] | None:
    """The first and the last line, if there is something between them."""
    if not isinstance(element, dict):
        return None
    start, end = (number_of(element.get(name)) for name in ("start", "end"))
    if start is None or end is None or start > end or end < 0 or start >= line_count:
        return None
    return max(start, 0), min(end, line_count - 1)


def number_of(value: Any) -> int | None:
    text = value.written if isinstance(value, Number) else value if isinstance(value, str) else ""
    found = re.fullmatch(r"(-?[0-9]{1,9})(\.0+)?", text.strip())
    return int(found[1]) if found else None

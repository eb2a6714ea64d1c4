"""Read replies of models: JSON, reasoning, decisions, ranks, summaries, verdicts and routes."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NoReturn

from tests.properties.text_reference import byte_count, cut, fold_name, replace_surrogates
from umi_core.config import Config
from umi_core.data import Data
from umi_core.json_text import Json, JsonNumber
from umi_core.language import replies
from umi_core.language.tagged import REFUSAL
from umi_core.limits import (
    JSON_DEPTH_MAX,
    JSON_NUMBER_CHARS_MAX,
    JSON_START_COUNT_MAX,
    PPM,
    RELATION_REASON_BYTES_MAX,
    REPLY_BYTES_MAX,
    SUMMARY_BYTES_MAX,
)
from umi_core.text import resolve_references
from umi_core.values import EVOLUTION_KINDS, RoutingDecision

# Numbers in the JSON of a reply, and confidences.


NUMBER_OR_SHARE: Final = r"-?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+|%)?"
FAR: Final = (
    10 * JSON_NUMBER_CHARS_MAX
)  # an exponent of this size decides alone: 1e-400 is 0, whatever its digits


class WrittenNumber(Data):
    """A number as it was written, because rounding it would decide something."""

    written: str


def payload_of(reply: str, wanted: replies.ObjectWith | replies.ArrayOf | replies.ArrayWith) -> Any:
    """Return the value of the wanted form; None if there is none.

    There is one reader of JSON: test_loose_json.py writes values in many ways, and demands what it wrote.
    """
    found = replies.find_json(reply, wanted)
    return None if isinstance(found, replies.UnusableReply) else as_plain(found)


def rows_of(reply: str, wanted: replies.ArrayOf | replies.ArrayWith, names: tuple[str, ...]) -> Any:
    """Return the array of the wanted form, else the objects with these fields; None if there is none."""
    rows = payload_of(reply, wanted)
    is_whole = reply.count("[") == reply.count("]") and reply.count("{") == reply.count("}")
    if rows is None and is_whole and why_unusable(reply) == "no_json":
        return objects_of(reply, names) or None
    return rows


def objects_of(reply: str, names: tuple[str, ...]) -> list[Any]:
    return [as_plain(it) for it in replies.find_objects(reply, names)]


def as_plain(value: Json) -> Any:
    match value:
        case JsonNumber(text):
            return WrittenNumber(text)
        case list():
            return [as_plain(it) for it in value]
        case dict():
            return {key: as_plain(it) for key, it in value.items()}
    return value


def why_unusable(reply: str) -> str:
    """Return what is wrong with a reply that has no payload."""
    if replace_surrogates(reply).strip() == "":
        return "empty"
    return "too_long" if byte_count(reply) > REPLY_BYTES_MAX else "no_json"


def value_at(text: str, start: int) -> Any:
    """Return the JSON value that begins here; None if none does, or if it is nested too deep."""
    try:
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return whole(value) if depth_of(text[start:end]) <= JSON_DEPTH_MAX else None


def depth_of(json_text: str) -> int:
    """Return how many brackets are open together, those in texts left out."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", json_text)
    steps = (1 if char in "[{" else -1 for char in bare if char in "[]{}")
    return max(accumulate(steps), default=0)


def whole(value: Any) -> Any:
    """Return the value without half surrogate pairs, which `\\ud800` can still write."""
    if isinstance(value, dict):
        return {replace_surrogates(key): whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [whole(each) for each in value]
    return replace_surrogates(value) if isinstance(value, str) else value


def number(written: str) -> WrittenNumber:
    if len(written) > JSON_NUMBER_CHARS_MAX:
        raise ValueError(written)
    return WrittenNumber(written)


def no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are no JSON


DECODER: Final = json.JSONDecoder(parse_float=number, parse_int=number, parse_constant=no_constant)


# Confidences.


def confidence_ppm(value: object) -> int | None:
    """Return a number from 0 to 1 in parts per million, rounded down; None for anything else."""
    written = value.written if isinstance(value, WrittenNumber) else value
    if not isinstance(written, str) or not re.fullmatch(NUMBER_OR_SHARE, written.strip()):
        return None
    is_share = written.strip().endswith("%")
    digits, _, exponent = written.strip().strip("%").replace(",", ".").lower().partition("e")
    exponent = str(int(exponent or "0") - 2 * is_share) if len(exponent) < JSON_NUMBER_CHARS_MAX else exponent
    before, _, after = digits.partition(".")
    zeros = min(max(int(exponent or 0), -FAR), FAR) - len(after)  # 25e-3 and 0.025 are 25 by 10**3
    above, below = int(before + after) * 10 ** max(zeros, 0), 10 ** max(-zeros, 0)
    return above * PPM // below if 0 <= above <= below else None


# The answer in a reply of a model that thinks aloud, as M10.23 to M10.25 say.
#
# Paris? No. </think>{"x": 1}       {"x": 1}
# {"x": "a <think> b"}              as it is


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
    "<|inner_prefix|>": "open", "<|inner_suffix|>": "close", "<unused94>": "open", "<unused95>": "close",
    "<｜begin▁of▁thinking｜>": "open", "<｜end▁of▁thinking｜>": "close", "<channel|>": "close",
    "</details>": "end", "<end_of_turn>": "blank",
}  # fmt: skip
HEADER: Final = re.compile(
    r"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*(analysis|commentary|final)\b[^<>]*<\|message\|>", re.I
)
TOKEN: Final = re.compile(r"<\|[a-z_]{3,30}\|>|<｜[^<>｜]{1,40}｜>")
PARTS: Final = frozenset("memory content summary caption decision rewritten_query".split())
WRAPPERS: Final = ("answer", "response", "output")
IN_QUOTES: Final = "\"'`“”„«»‘’「」"
MARKS: Final = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~…。！？、，：；"
LINE_CHARS: Final = 200


class ReplyTag(Data):
    """A tag that is not part of a value."""

    kind: str
    start: int
    end: int


def answer_in(reply: str) -> str:
    """Return the reply without reasoning before, between and behind its answer."""
    # a <think>b</think> c   gone: the tag with what is in it      kept: "a  c"
    # a </think> c           gone: all up to the closing tag       kept: " c"
    # a <think> b            gone: all from the opening tag on     kept: "a "
    if "<" not in reply:
        reply = reply.replace("&lt;", "<").replace("&gt;", ">")
    if '"' not in reply and "&quot;" in reply:
        reply = resolve_references(reply)
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
    return unwrap_answer(kept + reply[at:])


def unwrap_answer(answer: str) -> str:
    """Return the inside of one element that is around the whole of an answer."""
    bare = answer.strip()
    for name in WRAPPERS:
        begin, end = f"<{name}>", f"</{name}>"
        is_around = bare[: len(begin)].lower() == begin and bare[-len(end) :].lower() == end
        if is_around and len(bare) >= len(begin) + len(end):
            return bare[len(begin) : -len(end)]
    return answer


def marks_of(reply: str) -> list[ReplyTag]:
    """Return every tag of a reasoning in order, those inside complete values left out."""
    found, at, failures = list[ReplyTag](), 0, 0
    last = last_tag(reply)
    while at <= last:
        char = reply[at]
        mark = mark_at(reply, at)
        if mark is not None:
            found.append(mark)
            at = mark.end
        # A value or an element that is complete is passed over whole: a tag inside is text. Each failure
        # looks at the rest of the reply, so there are only so many.
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
    """Return where the last of them may begin; -1 if there is none, and nothing is to be looked at."""
    return max((it.start() for it in re.finditer(r"[\[<◁]", reply) if mark_at(reply, it.start())), default=-1)


def mark_at(reply: str, at: int) -> ReplyTag | None:
    """Return the tag of a reasoning that begins here; None if none does."""
    header = HEADER.match(reply, at)
    if header:
        return ReplyTag("close" if header[1].lower() == "final" else "open", at, header.end())
    if gemma := re.match(r"<\|channel>thought\b", reply[at : at + 18], re.I):
        return ReplyTag("open", at, at + gemma.end())
    match = TAG.match(reply, at)
    if match is None:
        return None
    tag = match[0].lower()
    if re.match(r"<details\s.*type=\"reasoning\"", tag, re.S):
        return ReplyTag("open", at, match.end())
    if tag not in BARS and (TOKEN.fullmatch(tag) or (tag == "</s>" and not reply[match.end() :].strip())):
        return ReplyTag("blank", at, match.end())
    if tag in BARS:
        return ReplyTag(BARS[tag], at, match.end())
    inside = tag[1:-1]
    is_end = inside.startswith("/")
    name, _, attributes = re.sub(
        r"\s", " ", inside.removeprefix("/").lstrip() if inside[:1] == "/" else inside
    ).partition(" ")
    if is_end:
        return ReplyTag("close", at, match.end()) if name in THOUGHT and not attributes.strip() else None
    if inside.endswith("/") and name.removesuffix("/") in THOUGHT:
        return ReplyTag("blank", at, match.end())
    return ReplyTag("open", at, match.end()) if name in THOUGHT else None


def end_of_json(reply: str, at: int) -> int | None:
    return None if value_at(reply, at) is None else DECODER.raw_decode(reply, at)[1]


def name_at(reply: str, at: int, is_end: bool) -> str:
    """Return the name of the tag of an answer that begins here, or ends one; empty if none does."""
    match = TAG.match(reply, at)
    if match is None or reply[at] != "<" or (match[0][1] == "/") != is_end:
        return ""
    name = re.split(r"\s", match[0][1:-1].removeprefix("/").lower())[0]
    return name if name in PARTS else ""


def end_of_part(reply: str, at: int) -> int | None:
    """Return where this element ends; an element of the same name inside has an end of its own."""
    name, depth = name_at(reply, at, False), 0
    for match in TAG.finditer(reply, at):
        depth += name_at(reply, match.start(), False) == name
        depth -= name_at(reply, match.start(), True) == name
        if depth == 0:
            return match.end()
    return None


def partner_of(rest: list[ReplyTag]) -> int | None:
    """Return the index of the tag that closes an open reasoning; the last one if too few do."""
    depth, last = 1, None
    for at, mark in enumerate(rest):
        if mark.kind == "open":
            depth += 1
        elif mark.kind in ("close", "end"):
            depth, last = depth - 1, at
        if depth == 0:
            return at
    return last


def is_mentioned(reply: str, mark: ReplyTag, end: int) -> bool:
    """Return True if a tag is quoted, or an opening one stands between the words of a sentence."""
    if mark.kind not in ("open", "close"):
        return False
    before = reply[: mark.start][-LINE_CHARS:].split("\n")[-1]
    behind = reply[end : end + LINE_CHARS].split("\n")[0]
    if before and behind and before[-1] in IN_QUOTES and behind[0] in IN_QUOTES:
        return before[:-1].strip() != ""
    # "The tag <think> starts it" mentions the tag, with words of the line on both sides. A closing tag is
    # never mentioned that way: models do end their thoughts within a line.
    if mark.kind == "close" or not before[-1:].isspace() or not before.strip() or not behind.strip():
        return False
    return before.strip()[-1] not in MARKS and behind.strip()[0] not in "{[<"


# Decisions and orders of a model: as H4.11 and H6.25 to H6.27 have it.


BLANKS: Final = " \t\n\r\f\v"
PLAIN: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
NO_QUERY: Final = ("", "{query}")


def read_decision(reply: str) -> tuple[bool, str | None]:
    """Return whether no more is needed, and other words for the query or None."""
    text = replace_surrogates(reply)
    if byte_count(text) > REPLY_BYTES_MAX:
        return False, None
    insides = list_enclosed(text, "decision")
    rewrite = (tagged_text("rewritten_query", text, ("rewritten_query", "decision")) or "").strip()
    answers = [words_of(inside) for inside in insides]
    return answers == [["no", "retrieve"]], rewrite if rewrite not in NO_QUERY else None


def words_of(text: str) -> list[str]:
    marked = "".join(char if char in PLAIN or ord(char) > 127 else " " for char in text.lower())
    return [word for word in marked.split(" ") if word]


def list_enclosed(text: str, name: str) -> list[str]:
    """List the texts between an opening tag and the next closing one, of each pair."""
    found, begin, at = list[str](), -1, 0
    while (start := text.find("<", at)) >= 0:
        end, at = text.find(">", start), start + 1
        tag = text[start + 1 : end] if end >= 0 else "<"
        # `2 < 3 <decision>`: the first `<` opens no tag, as there is another before the next `>`.
        if "<" in tag or tag.endswith("/") or not is_named(tag.removeprefix("/"), name):
            continue
        if tag.startswith("/") and begin >= 0:
            found.append(text[begin:start])
            begin = -1
        elif not tag.startswith("/") and begin < 0:
            begin = end + 1
    return found


def is_named(tag: str, name: str) -> bool:
    head, rest = tag[: len(name)], tag[len(name) :]
    return head.isascii() and head.lower() == name and (rest == "" or rest[0] in BLANKS)


def read_ranks(reply: str, shown: Sequence[str], limit: int) -> list[str] | None:
    """Return the shown ids in the order of the reply, each once; None if there is no order."""
    whole = payload_of(reply, replies.ObjectWith("ids"))
    ids = payload_of(reply, replies.ArrayOf(str)) if whole is None else whole["ids"]
    ids = rows_of(reply, replies.ArrayWith(("id",)), ("id",)) if ids is None else ids
    if ids is None:
        return None
    ids = [it["id"] if isinstance(it, dict) and "id" in it else it for it in ids]
    ids = [it.strip("[]()<>` ").lower() if isinstance(it, str) else it for it in ids]
    aliases = [f"c{number}" for number in range(1, len(shown) + 1)]
    known = [it for it in ids if isinstance(it, str) and it in aliases]
    return [shown[aliases.index(alias)] for alias in dict.fromkeys(known)][:limit]


# Replies to `summarise_category`, as H4.13 and H5.11 say.


def between_tags(tag: str, text: str) -> str | None:
    """Return the text in the first pair of these tags; None if there is none."""
    begin = re.search(f"<{tag}>", text, re.I)
    end = re.search(f"</{tag}>", text[begin.end() :], re.I) if begin else None
    return text[begin.end() :][: end.start()] if begin and end else None


def tagged_text(tag: str, text: str, tags: tuple[str, ...]) -> str | None:
    """Return what a reply has under one of some tags, however much of them is there; None if nothing."""
    spots = [it for it in re.finditer(r"<(/?)([a-z_]+)(\s[^<>]*)?>", text, re.I) if it[2].lower() in tags]
    spots = [it for it in spots if not it[0].endswith("/>")]
    insides = list_enclosed(text, tag)
    if insides:
        return resolve_references(next((it for it in insides[::-1] if it.strip()), ""))
    own = [it for it in spots if it[2].lower() == tag]
    begin = next((it for it in own if not it[1]), None)
    behind = text[begin.end() :] if begin else text
    first = begin.end() if begin else 0
    end = next((it for it in own if it[1] and it.start() >= first), None)
    if begin and not end:
        end = next((it for it in spots if it.start() >= first and it[2].lower() != tag), None)
        return resolve_references(behind[: end.start() - first] if end else behind)
    if end:
        before = [it.end() for it in spots if it.end() <= end.start()]
        return resolve_references(text[max(before, default=0) : end.start()])
    member = None if spots else [it.get(tag) for it in objects_of(text, tags[:1])][-1:]
    if member and isinstance(member[0], str):
        return member[0]
    return None if spots else labelled_text(tag, text, tags)


def labelled_text(tag: str, text: str, tags: tuple[str, ...]) -> str | None:
    """Return the lines behind the label of a tag, if the first line of a reply has a label."""
    found, current = dict[str, list[str]](), ""
    for line in text.strip().split("\n"):
        head = line.lstrip("#*_> \t")
        name = next((it for it in tags if head.lower().startswith(it)), "")
        rest = head[len(name) :].lstrip("*_")
        if name and rest[:1] in (":", "："):
            current = name
            found[current] = [rest[1:].lstrip("*_")]
        elif not current:
            return None
        else:
            found[current].append(line)
    return "\n".join(found[tag]).strip() if tag in found else None


def read_summary(reply: str) -> str | None:
    """Return the summary of a reply; None if it has none."""
    text = replace_surrogates(reply)
    if byte_count(text) > REPLY_BYTES_MAX:
        return None
    inside = tagged_text("summary", text, ("summary",))
    bare = without_fence((text if inside is None else inside).strip()).strip()
    return shorten_summary(bare) if bare and not REFUSAL.match(bare) else None


def without_fence(text: str) -> str:
    """Return the inside of a fence that is around all of a text."""
    first, *rest = text.split("\n")
    is_open = first.startswith("```") and "`" not in first[3:] and bool(rest)
    inside = "\n".join(rest)
    if not is_open or not inside.endswith("```") or "```" in inside[:-3]:
        return text
    return inside[:-3].removesuffix("\n")


def shorten_summary(text: str) -> str:
    if byte_count(text) <= SUMMARY_BYTES_MAX:
        return text
    head = cut(text, SUMMARY_BYTES_MAX)
    lines = head.split("\n")
    return "\n".join(lines[:-1]).rstrip() or head.rstrip()


# Replies to `evolve`: relations of new statements to old ones, as M14.2 and M14.3 have it.


Pair = tuple[str, str]  # refs (`id@version`) of the new statement and of the old one


class ExpectedVerdict(Data):
    """A verdict about a pair of statements. `by` is model or table."""

    kind: str
    confidence_ppm: int
    reason: str
    by: str


class Verdicts(Data):
    """The verdicts of rows by pair, in their order; the reasons why others were dropped."""

    by_pair: tuple[tuple[Pair, ExpectedVerdict], ...]
    dropped: tuple[str, ...]


def read_verdicts(reply: str, pairs: Container[Pair], floor_ppm: int) -> Verdicts | None:
    """Return the verdicts of a reply; None if there is no payload.

    A pair without a verdict here is unrelated, as far as the model says.
    """
    rows = rows_of(reply, replies.ArrayOf(dict), ("new", "old"))
    if rows is None:
        return None
    row_pairs = [pair_of(row) for row in rows]
    read = [(pair, verdict_of(row, row_pairs, pairs)) for pair, row in zip(row_pairs, rows, strict=True)]
    found = [(pair, it) for pair, it in read if pair is not None and isinstance(it, ExpectedVerdict)]
    related = [(pair, it) for pair, it in found if it.kind != "none" and it.confidence_ppm >= floor_ppm]
    return Verdicts(tuple(related), tuple(it for _, it in read if isinstance(it, str)))


def pair_of(row: Any) -> Pair | None:
    new, old = (row.get("new"), row.get("old")) if isinstance(row, dict) else (None, None)
    if not isinstance(new, str) or not isinstance(old, str):
        return None
    pair = new.strip('[]()<>`" '), old.strip('[]()<>`" ')
    return pair if all(pair) else None


OTHER_KINDS: Final = {
    "updat": "update", "supersed": "update", "replac": "update", "contradict": "contradict",
    "conflict": "contradict", "exten": "extend", "deriv": "derive",
}  # fmt: skip


def verdict_of(row: Any, all_pairs: list[Pair | None], pairs: Container[Pair]) -> ExpectedVerdict | str:
    """Return the verdict of a row, or why it is dropped."""
    if not isinstance(row, dict):
        return "not_object"
    pair = pair_of(row)
    if pair is None or pair not in pairs:
        return "unknown_pair"
    if all_pairs.count(pair) > 1:
        return "duplicate_pair"
    kind_given = row.get("type")
    kind_given = kind_given[0] if isinstance(kind_given, list) and len(kind_given) == 1 else kind_given
    kind = fold_name(kind_given) if isinstance(kind_given, str) else ""
    for begin, meant in OTHER_KINDS.items():
        kind = meant if kind.startswith(begin) and " " not in kind else kind
    if kind not in ("none", *EVOLUTION_KINDS):
        return "bad_type"
    sure_ppm = confidence_ppm(row.get("confidence"))
    if sure_ppm is None:
        return "bad_confidence"
    given = row.get("reason")
    reason = cut(given, RELATION_REASON_BYTES_MAX) if isinstance(given, str) else ""
    return ExpectedVerdict(kind, sure_ppm, reason, "model")


# Blocks of core that entities belong to: by the table, or as a reply to `route` says within its bounds.
#
# As M9 has it: a row that cannot be followed leaves its entity, and no other, to the table.


BLOCK_OF: Final[Mapping[str, str]] = {
    "self": "persona",
    "person": "human",
    "preference": "human",
    "organization": "facts",
    "project": "facts",
    "topic": "facts",
    "location": "facts",
    "event": "goals",
    "task": "goals",
    "note": "scratch",
}
OFFERED: Final = ("persona", "human", "facts", "goals", "scratch")
REASON_BYTES: Final = 200
CHOICES: Final = ("low_confidence", "persona_not_self", "self_is_fixed")  # well-formed, and not followed

Asked = tuple[str, str]  # an entity that a model was asked about: its id and its type


class ExpectedRoutes(Data):
    """One decision for each entity, in their order; and the faults of the model, stray rows first."""

    decisions: tuple[RoutingDecision, ...]
    faults: tuple[str, ...]


def by_table(entity_id: str, entity_type: str, cause: str | None = None) -> RoutingDecision:
    """Return the decision of the table: only self goes into core at once."""
    return RoutingDecision(entity_id, BLOCK_OF[entity_type], entity_type == "self", None, "", "table", cause)


def read_routes(reply: str, asked: Sequence[Asked], config: Config) -> ExpectedRoutes | None:
    """Return the decisions of a reply; None if there is no payload: then the table decides for all."""
    rows = rows_of(reply, replies.ArrayOf(dict), ("entity_id",))
    if rows is None:
        return None
    ids = [entity_id for entity_id, _ in asked]
    strays = [stray for row in rows if (stray := why_about_none(row, ids))]
    decisions = [decision_of(entity, rows, config) for entity in asked]
    causes = [it.cause for it in decisions if it.routed_by == "table" and it.cause not in CHOICES]
    return ExpectedRoutes(tuple(decisions), (*strays, *filter(None, causes)))


def why_about_none(row: Any, ids: Sequence[str]) -> str | None:
    """Return why a row is about none of these entities; None if it is about one."""
    if not isinstance(row, dict):
        return "not_object"
    entity_id = row.get("entity_id")
    if not isinstance(entity_id, str):
        return "bad_id"
    return None if entity_id in ids else "unknown_id"


def decision_of(entity: Asked, rows: Sequence[Any], config: Config) -> RoutingDecision:
    own = [row for row in rows if isinstance(row, dict) and row.get("entity_id") == entity[0]]
    if len(own) != 1:
        return by_table(*entity, "duplicate_id" if own else "missing")
    decision = decide(own[0], *entity, config)
    return by_table(*entity, decision) if isinstance(decision, str) else decision


def decide(row: dict[str, Any], entity_id: str, entity_type: str, config: Config) -> RoutingDecision | str:
    """Return the decision of a row about its entity, or why the table decides."""
    # The order is that of M9.5: whatever is malformed comes before what is well-formed and not followed
    # (CHOICES).
    block_given = row.get("block")
    block = fold_name(block_given) if isinstance(block_given, str) else None
    if block == "system":
        return "system_block"
    if block not in OFFERED:
        return "bad_block"
    promote = row.get("promote", False)
    if not isinstance(promote, bool):
        return "bad_promote"
    sure_ppm = confidence_ppm(row.get("confidence"))
    if sure_ppm is None:
        return "bad_confidence"
    if sure_ppm < config.route_confidence_min_ppm:
        return "low_confidence"
    if block == "persona" and entity_type != "self":
        return "persona_not_self"
    if entity_type == "self":
        return "self_is_fixed"
    given = row.get("reason")
    reason = cut(given, REASON_BYTES) if isinstance(given, str) else ""
    cause = why_not_at_once(block, sure_ppm, config) if promote else None
    return RoutingDecision(entity_id, block, promote and cause is None, sure_ppm, reason, "model", cause)


def why_not_at_once(block: str, sure_ppm: int, config: Config) -> str | None:
    """Return why an entity that the model wants in core stays out of it for now; None if it does not."""
    if sure_ppm < config.promote_confidence_min_ppm:
        return "promote_low"
    return "promote_scratch" if block == "scratch" else None

"""Memories: the XML reply to `memories`, read as facts with the categories that they belong to.

    <item><memory><name/>?<content/><categories><category/></categories></memory></item>

Law 1. Total: any string gives memories and diagnostics, or an `Unread`.
Law 2. A complete block is kept, whatever surrounds it. A malformed block never costs another one.
Law 3. Only paired tags inside a text are markup; a stray `<` is text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, get_args

from msgspec import structs

from umi_core.data import Data, Owner
from umi_core.domains import Content, EntityName, Texts
from umi_core.language.replies import ArrayOf, ArrayWith, UnusableReply, field, find_json, find_rows
from umi_core.language.tables import FACT_TAGS
from umi_core.language.words import clean_name
from umi_core.limits import (
    ENTITY_NAME_BYTES_MAX,
    EXTRACT_CONTENT_BYTES_MAX,
    EXTRACT_ENTITY_COUNT_MAX,
    REPLY_BYTES_MAX,
)
from umi_core.text import SURROGATE, UNSEEN, cut, norm, resolve_references, size

Diagnostic = Literal[
    "control", "declaration", "no_content", "truncated", "restarted", "unclosed_content", "second_content",
    "unclosed_memory", "truncated_category", "blank_category", "empty_content", "template_echo", "duplicate",
    "cut", "too_many", "content_outside_memory",
]  # fmt: skip
DIAGNOSTICS: Final[tuple[str, ...]] = get_args(Diagnostic)
EXAMPLE: Final = "ONE FACT, AS A SENTENCE"  # the placeholder for a content in the prompt


class ExtractedFact(Data):
    """One fact as a model gave it; `name` is "" if it has none. Categories are spelt as in the reply."""

    name: EntityName
    content: Content
    categories: Texts


class Memories(Data):
    memories: tuple[ExtractedFact, ...]
    diagnostics: tuple[Diagnostic, ...]


class Unread(Data):
    """A reply without usable content."""

    reason: Literal["empty", "too_long", "no_tag"]


def parse_memories(reply: str) -> Memories | Unread:
    """Return the facts of a reply without duplicates, or why the reply cannot be read."""
    text, diagnostics = clean_reply(reply)
    if not text.strip():
        return Unread("empty")
    if size(text) > REPLY_BYTES_MAX:
        return Unread("too_long")
    text = last_answer(text)
    reading = MarkedText(text, list(scan_markup(text, diagnostics)), diagnostics)
    is_tagged = any(mark.name in FACT_TAGS for mark in reading.marks)
    memories = merge_equal([*reading.blocks()] or read_rows(text), diagnostics)
    if not is_tagged and not memories:
        return Unread("no_tag")
    return Memories(memories, tuple(diagnostics))


CORRECTED: Final = re.compile(r"</(items?|memories)>[^<>]*[^\W\d_]{3}[^<>]*(?=<\1>)", re.IGNORECASE)


def last_answer(text: str) -> str:
    """Return the last answer with a content, as behind words between two roots a model may correct itself."""
    starts = [0, *(it.end() for it in CORRECTED.finditer(text))]
    return next((text[at:] for at in reversed(starts) if "<content" in text[at:].lower()), text)


def read_rows(text: str) -> Iterator[ExtractedFact]:
    """Yield the facts of a reply in JSON instead of XML: objects, or strings of several words."""
    rows = find_rows(text, ArrayWith(("content",)), ("content",))
    if isinstance(rows, UnusableReply):
        rows = find_json(text, ArrayOf(str))
    for row in () if isinstance(rows, UnusableReply) else rows:
        content, name = field(row, "content") if isinstance(row, dict) else row, field(row, "name")
        if isinstance(content, str) and " " in content.strip():
            listed = field(row, "categories")
            listed = field(listed, "category") if isinstance(listed, dict) else listed
            each = listed if isinstance(listed, list) else [listed]
            kept_name = cut(clean_name(name), ENTITY_NAME_BYTES_MAX).rstrip() if isinstance(name, str) else ""
            yield ExtractedFact(kept_name, content.strip(), tuple(it for it in each if isinstance(it, str)))


# Characters and marks.

MARKUP: Final = re.compile(
    r"<!--|<!\[CDATA\["
    r"|(?P<declaration><![A-Za-z][^<>\[]*(?:\[[^\]]{0,1000}\])?[^<>\[]*>)"
    r"|<(?P<slash>/?)(?P<name>[A-Za-z][A-Za-z0-9_-]*)(?:\s[^<>]*?)?(?P<alone>/?)>"
)
LITERAL: Final = "<![CDATA["
ENDS: Final = {"<!--": "-->", LITERAL: "]]>"}


class MarkupTag(Data):
    """A tag with its place in the text. If `name` is "", a comment or CDATA, replaced by `literal`."""

    start: int
    end: int
    name: str = ""
    is_end: bool = False
    is_alone: bool = False
    literal: str = ""

    def opens(self, *names: str) -> bool:
        return self.name in names and not self.is_end and not self.is_alone

    def is_part(self, *names: str) -> bool:
        """Check whether the tag opens or closes one of these elements; `<content/>` does neither."""
        return self.name in names and not self.is_alone

    def closes(self, name: str) -> bool:
        return self.name == name and self.is_end


def clean_reply(reply: str) -> tuple[str, list[Diagnostic]]:
    """Return the reply without invalid characters, and the diagnostic `control` if it had any."""
    # CR LF is valid and becomes LF.
    text = reply.replace("\r\n", "\n")
    whole = UNSEEN.sub("", SURROGATE.sub("\ufffd", text))
    return whole, ["control"] if whole != text else []


def scan_markup(text: str, diagnostics: list[Diagnostic]) -> Iterator[MarkupTag]:
    """Yield all markup in order. An unclosed comment or CDATA section and any other `<` are text."""
    # The last place of each end mark is found only once. Otherwise each of thousands of unclosed "<!--" would
    # search the rest of the reply.
    at, last = 0, {begin: text.rfind(end) for begin, end in ENDS.items()}
    while match := MARKUP.search(text, at):
        begin, at = match[0], match.end()
        if begin not in ENDS:
            diagnostics += ["declaration"] if match["declaration"] else []
            yield tag_of(match)
        elif last[begin] >= at:
            inside, at = at, text.index(ENDS[begin], at) + len(ENDS[begin])
            literal = text[inside : at - len(ENDS[begin])] if begin == LITERAL else ""
            yield MarkupTag(match.start(), at, literal=literal)


def tag_of(match: re.Match[str]) -> MarkupTag:
    name, is_end = (match["name"] or "").lower(), bool(match["slash"])
    return MarkupTag(match.start(), match.end(), name, is_end, bool(match["alone"]) and not is_end)


# Blocks.

STRUCTURE: Final = ("memory", "content", "categories", "category")


class MarkedText(Owner):
    """A text with its marks. Positions are indexes of `marks`; methods add diagnostics to `noted`."""

    text: str
    marks: list[MarkupTag]
    noted: list[Diagnostic]

    def blocks(self) -> Iterator[ExtractedFact]:
        """Yield each memory with a content, in order."""
        at = 0
        while at < len(self.marks):
            mark = self.marks[at]
            at += 1
            if mark.opens("content"):
                self.noted.append("content_outside_memory")
            if mark.opens("memory"):
                memory, at = self.block(at)
                if memory is not None:
                    yield memory

    def block(self, at: int) -> tuple[ExtractedFact | None, int]:
        """Return the fact of the block that begins at a mark, or None, and the index of the next mark."""
        name, content, categories, first = "", None, Categories(), at
        while at < len(self.marks) and not self.marks[at].opens("memory"):
            mark = self.marks[at]
            at += 1
            if mark.closes("memory"):
                if content is None and not name and not categories.is_tagged:
                    content = self.plain(first, at - 1)  # <memory>Ann naps.</memory>
                return self.build_fact(name, content, categories), at
            if mark.opens("content"):
                text, at = self.content(at)
                if text is None:
                    return None, at
                if content is not None:
                    self.noted.append("second_content")
                content = text if content is None else content
            elif mark.opens("name") and not name:
                name, at = self.read_element("name", at) or ("", at)
            elif mark.opens("categories"):
                categories.listed = (self.inside("categories", at) or "").strip()
            elif mark.opens("category"):
                at = self.category(at, categories)
        if content is not None:
            self.noted.append("unclosed_memory")
        return self.build_fact(name, content, categories), at

    def build_fact(self, name: str, content: str | None, categories: "Categories") -> ExtractedFact | None:
        if not content:
            self.noted.append("no_content" if content is None else "empty_content")
            return None
        kept_name = cut(clean_name(name), ENTITY_NAME_BYTES_MAX).rstrip()
        return ExtractedFact(kept_name, content, categories.list_names(self.noted))

    def content(self, at: int) -> tuple[str | None, int]:
        """Return the content that begins at a mark, None if it has no end, and the index of the next mark."""
        # In "<content>a <content>b</content>" the first content has no known end, so its block is dropped.
        again = self.next_of(at, lambda mark: mark.opens("content"))
        end = self.next_of(at, lambda mark: mark.closes("content"), again)
        if end < again:
            return self.plain(at, end), end + 1
        edge = self.next_of(
            at, lambda mark: mark.closes("memory") or mark.opens("categories", "category"), again
        )
        if edge < again:
            self.noted.append("unclosed_content")
            return self.plain(at, edge), edge
        self.noted.append("truncated" if again == len(self.marks) else "restarted")
        return None, at

    def category(self, at: int, categories: "Categories") -> int:
        categories.is_tagged = True
        found = self.read_element("category", at)
        if found is None:
            self.noted.append("truncated_category")
            return at
        categories.texts.append(found[0])
        return found[1]

    def read_element(self, name: str, at: int) -> tuple[str, int] | None:
        """Return the text up to the end of this element, and the index of the next mark.

        Return None if a tag of another part comes first.
        """
        end = self.next_of(at, lambda mark: mark.is_part(name, *STRUCTURE))
        if end == len(self.marks) or not self.marks[end].closes(name):
            return None
        return self.plain(at, end), end + 1

    def inside(self, name: str, at: int) -> str | None:
        """Return the text up to the end of this element, if the block has one."""
        end = self.next_of(at, lambda mark: mark.is_part(name, "memory", "content"))
        is_there = end < len(self.marks) and self.marks[end].closes(name)
        return self.plain(at, end) if is_there else None

    def next_of(self, at: int, wanted: Callable[[MarkupTag], bool], before: int | None = None) -> int:
        """Return the index of the next mark that is wanted; `before`, or the number of marks, if none is."""
        end = len(self.marks) if before is None else before
        return next((n for n in range(at, end) if wanted(self.marks[n])), end)

    def plain(self, first: int, end: int) -> str:
        """Return the text between two marks: paired tags vanish, `<br/>` becomes a blank, others are text."""
        nested = match_tags(self.marks[first:end])
        parts, start = list[str](), self.marks[first - 1].end
        for at, mark in enumerate(self.marks[first:end]):
            parts.append(resolve_references(self.text[start : mark.start]))
            start = mark.end
            if not mark.name:
                parts.append(mark.literal)
            elif mark.is_alone:
                parts.append(" ")
            elif at not in nested:
                parts.append(self.text[mark.start : mark.end])
        last = self.marks[end].start if end < len(self.marks) else len(self.text)
        return "".join((*parts, resolve_references(self.text[start:last]))).strip()


def match_tags(marks: Sequence[MarkupTag]) -> frozenset[int]:
    """Return the indexes of the tags that are opened and closed within these marks."""
    opened: dict[str, list[int]] = {}
    found: list[int] = []
    for at, mark in enumerate(marks):
        if mark.is_end and opened.get(mark.name):
            # An end tag closes the innermost open one: "<b>x <b>y</b>" leaves the first <b> as text.
            found += (opened[mark.name].pop(), at)
        elif mark.name and not mark.is_end and not mark.is_alone:
            opened.setdefault(mark.name, []).append(at)
    return frozenset(found)


class Categories(Owner):
    """The categories of one block: those in `category` tags, or else a list separated by commas."""

    texts: list[str] = []
    listed: str = ""
    is_tagged: bool = False

    def list_names(self, noted: list[Diagnostic]) -> tuple[str, ...]:
        # If there are tags, even blank ones, words outside of them are no categories.
        texts = self.texts if self.is_tagged else re.split("[,;\n]", self.listed) if self.listed else []
        noted += ["blank_category"] * sum(not text.strip() for text in texts)
        return each_once(text.strip() for text in texts if text.strip())


def each_once(texts: Iterable[str]) -> tuple[str, ...]:
    once: dict[str, str] = {}
    for text in texts:
        once.setdefault(norm(text), text)
    return tuple(once.values())


# Duplicates and limits.


def merge_equal(memories: Iterable[ExtractedFact], noted: list[Diagnostic]) -> tuple[ExtractedFact, ...]:
    """Return the facts without duplicates, whose categories are united, and without the prompt's example."""
    once: dict[tuple[str, str], ExtractedFact] = {}
    for memory in memories:
        # A copy of the example in the prompt is no fact.
        if norm(memory.content) == norm(EXAMPLE):
            noted.append("template_echo")
            continue
        if size(memory.content) > EXTRACT_CONTENT_BYTES_MAX:
            noted.append("cut")
            memory = structs.replace(memory, content=cut(memory.content, EXTRACT_CONTENT_BYTES_MAX))
        # Equal contents with different names are different facts: "likes tea", of Ann and of Bob.
        key = norm(memory.name), norm(memory.content)
        if key in once:
            noted.append("duplicate")
            united = each_once((*once[key].categories, *memory.categories))
            once[key] = structs.replace(once[key], categories=united)
        elif len(once) == EXTRACT_ENTITY_COUNT_MAX:
            noted.append("too_many")
        else:
            once[key] = memory
    return tuple(once.values())

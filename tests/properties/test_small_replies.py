"""Goal: all small replies are read as a plain reader reads them: whole products of few values.

What Hypothesis draws (test_replies.py) is longer, and of most rules it seldom meets both sides.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product
from typing import Final

from tests.properties.readings import PromptSubject, check_read
from tests.properties.replies import ASKED, PAIRS
from tests.properties.text_reference import list_uncovered, sentences
from umi_core import limits
from umi_core.config import Config
from umi_core.language import extraction
from umi_core.language.sentences import sentences as find_sentences

CONFIG: Final = Config()
TEXT: Final = "Ann works at Acme. Bob naps."


def read(task: str, value: object, asked: PromptSubject) -> None:
    check_read(task, json.dumps(value), asked, CONFIG)


def subsets(items: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """Return no item, each one, and each two."""
    return ((), *((it,) for it in items), *combinations(items, 2))


# Entities.

CONTENTS: Final = ("Ann works at Acme", "ann works at  acme", "works at Acme", "naps. Ann sings.")
NAMED: Final = [
    {"name": name, "type": kind, "content": content, "confidence": 0.9}
    for name, kind in (("Ann", "person"), ("Acme", "organization"), ("ANN", "self"), ("she", "person"))
    for content in CONTENTS
]
SELF: Final = {**NAMED[0], "type": "self"}
NOTE: Final = {"type": "note", "content": CONTENTS[0]}
LINKS: Final = [
    {"source": source, "target": target, "type": kind}
    for source, target in (("Ann", "Acme"), ("acme", "ann"), ("Ann", "ANN"), ("Ann", "Bob"))
    for kind in ("works_at", "")
]


def test_each_two_entities_are_statements_about_all_their_names() -> None:
    for entities in product([*NAMED, NOTE], repeat=2):
        read("extract", {"entities": entities}, PromptSubject(TEXT))


def test_each_link_beside_the_list_is_a_statement_if_no_other_tells_it() -> None:
    for first, second in product((NAMED[0], NAMED[2], NAMED[3]), (NAMED[4], NAMED[6], NAMED[7])):
        for links in ([], *([it] for it in LINKS), *product(LINKS, repeat=2)):
            read("extract", {"entities": [first, second], "relations": links}, PromptSubject(TEXT))


def test_an_element_without_a_field_or_with_another_value_in_it_is_read_or_dropped() -> None:
    values: tuple[object, ...] = (None, "", " ", "Ann", "self", "note", 7, 0.8, 0.79, 0.3, 0.29, [], {})
    for whole, name, value in product((NAMED[0], SELF), NAMED[0], values):
        changed = {**whole, name: value}
        missing = {key: it for key, it in whole.items() if key != name}
        for elements in ([changed], [missing], [changed, NAMED[4]], [value]):
            read("extract", {"entities": elements}, PromptSubject(TEXT))


# Sentences that no statement tells.

SAID: Final = (
    "I love tea.", "I love hiking!", "Ann likes Bob.", "Bob likes Ann.", "Dr. Stone naps.",
    "राम घर गया।", "सीता आई।", "他喜欢茶。", "7 8 9.",
)  # fmt: skip


# Alike but for a number, or for what is denied.
EXACT: Final = (
    "I love 7 teas.", "I love 17 teas.", "I never love 7 teas.", "I don't love 007 teas.", "I love teas.",
)  # fmt: skip


def test_a_sentence_is_covered_by_its_own_words_in_their_order() -> None:
    pairs = chain.from_iterable(product([it], it, it, (" ", "", "\n")) for it in (SAID, EXACT))
    for some, first, second, between in pairs:
        text = first + between + second
        assert list(find_sentences(text)) == sentences(text), text
        for known in subsets(some):
            assert list(extraction.find_uncovered(text, known)) == list_uncovered(text, known), (text, known)


# Rows about what was asked.

LONG: Final = "é" * limits.RELATION_REASON_BYTES_MAX


def test_each_row_of_a_route_is_followed_or_left_for_the_table() -> None:
    asked = PromptSubject(entities=ASKED)
    blocks = ("human", "System ", "persona", "scratch", "attic", None)
    for key, block, promote, sure in product(
        ("ent_1", "ent_2", "ent_9", 7), blocks, (True, False, None, 1), (0.95, 0.7, 0.3, 1.5, None)
    ):
        row = {"entity_id": key, "block": block, "promote": promote, "confidence": sure, "reason": "x" * 201}
        for rows in ([row], [row, row], [row, {"entity_id": "ent_1"}, 7]):
            read("route", rows, asked)


def test_each_row_about_a_pair_is_a_verdict_or_dropped() -> None:
    asked = PromptSubject(pairs=PAIRS)
    for new, old, kind, sure in product(
        ("n1@1", "n9@1", 7), ("o1@1", "o9@1", None), ("update", " NONE", "undo", 7), (0.9, 0.1, 2, None)
    ):
        row = {"new": new, "old": old, "type": kind, "confidence": sure, "reason": LONG}
        for rows in ([row], [row, row], [row, {**row, "old": "o2@3", "reason": 7}, None]):
            read("evolve", rows, asked)


def test_each_two_segments_leave_no_line_out() -> None:
    spans = [{"start": start, "end": end} for start, end in product(range(-1, 5), repeat=2)]
    for segments, line_count in product(product(spans, repeat=2), (1, 3, 4)):
        read("segment", {"segments": segments}, PromptSubject(text="\n" * (line_count - 1)))


def test_each_order_has_what_was_shown_once() -> None:
    for ids in product(("c1", "c2", "c3", "C1", 7), repeat=3):
        for shown_count, count in ((2, 2), (3, 2), (3, 1)):
            aliases = tuple(f"c{n}" for n in range(1, shown_count + 1))
            read("rank", {"ids": ids}, PromptSubject(candidates=aliases, count=count))


# Markup.

DECIDING: Final = ("<decision>", "</decision>", "NO_RETRIEVE", "RETRIEVE", " so ", "<DECISION a>")
FACTS: Final = (
    "<memory>", "</memory>", "<content>", "</content>", "Ann naps <b", "<category>", "</category>", "<b>",
    "</b>", "<name>Bob</name>",
)  # fmt: skip
TOLD: Final = (
    "<content>",
    "</content>",
    "<caption>",
    "</caption>",
    "A cat. It naps.",
    "\n",
    "<summary>",
    "</summary>",
    "```\n",
)


def test_a_decision_stands_alone_between_its_tags() -> None:
    for parts in product(DECIDING, repeat=5):
        check_read("decide_enough", "".join(parts), PromptSubject(), CONFIG)


def test_a_fact_is_read_up_to_its_end_or_to_the_next_part() -> None:
    for parts in product(FACTS, repeat=4):
        check_read("memories", "<memory><content>" + "".join(parts), PromptSubject(), CONFIG)


def test_a_description_and_a_summary_are_what_stands_between_the_last_tags() -> None:
    for parts, task in product(product(TOLD, repeat=4), ("describe_image", "reflect")):
        check_read(task, "".join(parts), PromptSubject(), CONFIG)


# What stands around a reply.

AROUND: Final = (
    "",
    "Sure! {} [] ",
    "```json\n",
    "<think>{}</think>",
    '{"result": ',
    '"',
    "[",
    "NaN",
    "}",
    "\ud800",
    "'",
    ",",
)
GOOD: Final = {
    "extract": '{"entities": [{"name": "Ann", "content": "Ann naps", "confidence": 9e-1}]}',
    "route": '[{"entity_id": "ent_1", "block": "goals", "confidence": 0.9}]',
    "evolve": '[{"new": "n1@1", "old": "o1@1", "type": "update", "confidence": 0.9}]',
    "expand": '["What naps?", "who naps?"]',
    "segment": '{"segments": [{"start": 0, "end": 1}, {"start": 2, "end": 2}]}',
    "rank": '{"ids": ["c2", "c1"]}',
}


def test_a_payload_is_found_whatever_stands_around_it() -> None:
    asked = PromptSubject("a\nb\nc", "Who naps?", (), ASKED, PAIRS, ("c1", "c2"), 2)
    for (task, reply), before, behind in product(GOOD.items(), AROUND, (*AROUND, "\n```", "]")):
        for written in (reply, reply.replace('"', "'"), reply.replace("]", ",]"), json.dumps(reply)):
            check_read(task, before + written + behind, asked, CONFIG)

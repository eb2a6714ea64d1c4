"""Goal: a question about a talk comes with its last turns, in its language, and half of them refer to it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from umi_core.language.prompts import ask_rewrite
from umi_core.language.pronouns import read
from umi_core.language.rewriting import judge_rewrite, shown_turns
from umi_core.limits import TURN_COUNT_MAX
from umi_core.values import Turn
from umi_sim.formats.transcripts import TurnLine
from umi_sim.kernel.prng import Stream
from umi_sim.services.model import truth
from umi_sim.workload.dialogue import ASKING, SCENES, make_question, make_recall, turns_of
from umi_sim.workload.workloads import play_conversation


def recalls_of(*texts: str, speakers: str = "ab", count: int = 200) -> list[dict[str, Any]]:
    """The recalls about a talk of five turns, over many seeds, without those about scenes."""
    spoken = [TurnLine(speakers[at % len(speakers)], text) for at, text in enumerate(texts)]
    lines = [list(play_conversation(spoken, Stream(seed, "test"))) for seed in range(count)]
    recalls: list[dict[str, Any]] = [
        args for requests in lines for _, (name, args) in requests if name == "recall"
    ]
    return [args for args in recalls if tuple(turn.text for turn in args["turns"]) not in SAID]


SAID = [texts for texts, _ in SCENES]


def test_a_third_of_the_recalls_of_a_talk_ask_about_a_scene() -> None:
    scenes = [make_recall((Turn("user", "a"),), 1, Stream(seed, "test")) for seed in range(300)]
    found = [args for args in scenes if args["turns"] != () and args["turns"] != (Turn("user", "a"),)]
    assert 70 < len(found) < 130
    assert {str(args["query"]) for args in found} <= {query for _, asked in SCENES for query in asked}


def test_scenes_are_resolved_or_left_open_in_a_good_share_each() -> None:
    resolved = list[bool]()
    for texts, asked in SCENES:
        turns = shown_turns(tuple(Turn("user", text) for text in texts))
        replies = (
            judge_rewrite(truth("rewrite", ask_rewrite(it, turns)), it, turns, 500_000) for it in asked
        )
        resolved.extend(it.outcome == "resolved" for it in replies)
    assert len(resolved) > 25
    assert 3 * resolved.count(True) > len(resolved)
    assert 4 * resolved.count(False) > len(resolved)


def test_recalls_of_a_talk_come_with_its_last_turns() -> None:
    texts = ("one", "two", "three", "four", "five")
    shown = {tuple(turn.text for turn in args["turns"]) for args in recalls_of(*texts)}
    assert shown == {texts[at:] for at in range(6)}


def test_the_opener_of_a_session_is_its_user() -> None:
    spoken = [
        TurnLine(speaker, "x", None, session) for speaker, session in zip("abbab", "sssst", strict=True)
    ]
    roles = [turn.role for turn in turns_of(spoken)]
    assert roles == ["user", "assistant", "assistant", "user", "user"]


def test_at_most_as_many_turns_as_a_memory_looks_at() -> None:
    counts = {len(args["turns"]) for args in recalls_of(*["x"] * 15)}
    assert counts == set(range(TURN_COUNT_MAX + 1))


class Long(tuple[Turn, ...]):
    """A talk whose beginning is not read."""

    def __iter__(self) -> Iterator[Turn]:
        pytest.fail("the whole talk is read for one recall")

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            assert len(range(len(self))[place]) <= TURN_COUNT_MAX
        return super().__getitem__(place)


def test_a_recall_costs_the_same_however_long_the_talk_is() -> None:
    talk = Long([Turn("user", "Who is Ann?")] * 1_000)
    kinds = {len(make_question(talk, 999, Stream(seed, "test"))["turns"]) for seed in range(200)}  # type: ignore[arg-type]
    assert kinds == set(range(TURN_COUNT_MAX + 1))


def test_half_of_the_recalls_of_a_talk_are_questions_about_it() -> None:
    queries = Counter(args["query"] for args in recalls_of("a", "b", "c", "d", "e", count=600))
    assert 150 < sum(queries[query] for query in ASKING["en"]) < 250
    assert queries.keys() == {*"abcde", *ASKING["en"]}


@pytest.mark.parametrize(
    ("last", "language"),
    [
        ("we live in the town", "en"),
        ("wir wohnen in der Stadt", "de"),
        ("ahora vivimos en la ciudad", "es"),
        ("我们住在城里。", "zh"),
    ],
)
def test_a_question_has_the_language_of_the_last_turns(last: str, language: str) -> None:
    queries = {args["query"] for args in recalls_of("I was here", "and you", last, last, last)}
    assert {known for known, row in ASKING.items() if not queries.isdisjoint(row)} == {language}


@pytest.mark.parametrize("question", ["Is it really hers? ", "那 这个 到底 多少钱？", "هل هو هنا مع أمي؟"])
def test_a_question_of_the_talk_is_asked_with_the_turns_before_it(question: str) -> None:
    asked = [args for args in recalls_of("a", "b", question, "d", "e") if args["query"] == question]
    assert 0 < len(asked) < 200
    assert {turn.text for args in asked for turn in args["turns"]} == {"a", "b"}


def test_every_frozen_question_refers_to_something() -> None:
    assert [query for row in ASKING.values() for query in row if not read(query).terms] == []

"""Goal: a mistake in a pure function of the memory is seen, though runs take what it says from the memory.

Each is planted in the source of the function, so that it is wrong for whatever calls it, in umi_sim too: a
run whose judge makes the same mistake sees nothing. The test that compares the function with its reference
does. A workflow that reads or stores something else than such a function says is seen by runs.
"""

from collections.abc import Callable
from typing import Final

import pytest

from tests.properties import test_choices, test_replies, test_small_replies, test_stated
from tests.properties.laws import fail_first
from tests.properties.plain import test_text
from umi_core.data import Data
from umi_core.workflows import BUILT_IN
from umi_sim.mutants.edits import TextEdit, changes
from umi_sim.mutants.planting import with_changes
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find


class Mistake(Data):
    """An edit of a function, and the test that compares it with its reference."""

    edit: TextEdit
    test: Callable[[], None]


def mistake(file: str, old: str, new: str, test: Callable[[], None]) -> Mistake:
    return Mistake(TextEdit(f"umi_core/{file}.py", old, new), test)


MISTAKES: Final = (
    mistake(
        "language/extraction", "\n        EXTRACT_ENTITY_COUNT_MAX,", "\n        2,",
        test_replies.test_replies_in_json_are_read_as_a_plain_reader_reads_them,
    ),
    mistake(
        "language/extraction", "and confidence < SELF", "and confidence <= SELF",
        test_small_replies.test_an_element_without_a_field_or_with_another_value_in_it_is_read_or_dropped,
    ),
    mistake(
        "language/routing", "strays + bad, strays", "bad, strays",
        test_small_replies.test_each_row_of_a_route_is_followed_or_left_for_the_table,
    ),
    mistake(
        "policies/promotion", "300_000 * recency", "200_000 * recency",
        test_choices.test_an_entity_has_its_score,
    ),
    mistake(
        "text", 'normalize("NFC", text).casefold()', 'normalize("NFC", text)',
        test_text.test_the_memory_reads_texts_alike,
    ),
    mistake(
        "text", 'unicodedata.normalize("NFC", text).casefold()', "text.casefold()",
        test_text.test_the_memory_reads_texts_alike,
    ),
    mistake(
        "ids", "scope.user, scope.agent, *parts", "scope.agent, *parts",
        test_stated.test_each_id_is_made_of_its_parts,
    ),
    mistake("ids", "*source, *target", "*target, *source", test_stated.test_each_id_is_made_of_its_parts),
)  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_function_is_found(mistake: Mistake) -> None:
    with with_changes(changes((mistake.edit,)), BUILT_IN), pytest.raises(AssertionError):
        fail_first(mistake.test)


USES: Final = (
    (
        "evolving", "facts[STATED], view.config,", "facts[STATED][:9], view.config,",
        "calm", 1, "sentence-never-lost",
    ),
    (
        "remember", "parse_routes(answer.text, tuple(draft.entity for",
        "parse_routes(answer.text, tuple(structs.replace(draft.entity, type='note') for",
        "answers", 1, "route-per-entity",
    ),
    ("memorize", "add_date(memories.memories,", "add_date(memories.memories[1:],", "memorize", 1,
     "reference-agrees"),
)  # fmt: skip
"""Of a workflow: what it reads or stores otherwise, and a run that shows it."""


@pytest.mark.parametrize(("file", "old", "new", "scenario", "seed", "rule"), USES)
def test_a_wrong_use_of_a_function_is_found_by_runs(
    file: str, old: str, new: str, scenario: str, seed: int, rule: str
) -> None:
    edit = TextEdit(f"umi_core/workflows/{file}.py", old, new)
    with with_changes(changes((edit,)), BUILT_IN):
        verdict, _ = run_once(draw(find(scenario), seed))
    assert verdict.failure is not None
    assert verdict.failure.rule == rule

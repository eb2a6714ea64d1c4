"""Goal: a mistake in a function of the memory is seen, even though the judge has to know what it says.

Each is planted in the source of the function, so that it is wrong for whoever calls it, in umi_sim too. A
judge that called it would make the same mistake and see nothing.
"""

from typing import Final

import attrs
import pytest

from umi_core.data import Data
from umi_core.workflows import BUILT_IN
from umi_sim.mutants.edits import TextEdit, changes
from umi_sim.mutants.planting import in_place
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

READINGS: Final = ("parser-total", "parser-keeps-the-good")  # compare parsers with plain readers


@attrs.frozen
class Mistake(Data):
    """A run of this seed breaks `rule`; with the plain readers left out, `unread` instead."""

    edit: TextEdit
    scenario: str
    seed: int
    rule: str
    unread: str = ""


def mistake(file: str, old: str, new: str, scenario: str, seed: int, rule: str, unread: str = "") -> Mistake:
    return Mistake(TextEdit(f"umi_core/{file}.py", old, new), scenario, seed, rule, unread)


MISTAKES: Final = (
    mistake(
        "language/extraction", 'payload["entities"], EXTRACT_ENTITY_COUNT_MAX,', 'payload["entities"], 2,',
        "calm", 1, "parser-total", "degradation-named",
    ),
    mistake(
        "language/extraction", "and confidence < SELF", "and confidence <= SELF",
        "answers", 1, "parser-total", "degradation-named",
    ),
    mistake(
        "language/routing", "strays + bad, strays", "bad, strays",
        "answers", 5, "parser-total", "degradation-named",
    ),
    mistake("policies/promotion", "300_000 * recency", "200_000 * recency", "core", 0, "score-goldens"),
    mistake(
        "text", 'normalize("NFC", text).casefold()', 'normalize("NFC", text)', "languages", 0,
        "reference-agrees",
    ),
    mistake(
        "text", 'unicodedata.normalize("NFC", text).casefold()', "text.casefold()",
        "languages", 0, "reference-agrees",
    ),
    mistake("ids", "scope.user, scope.agent, *parts", "scope.agent, *parts", "calm", 0, "reference-agrees"),
    mistake("ids", "*source, *target", "*target, *source", "calm", 0, "relation-ends"),
)  # fmt: skip


def rule_broken(mistake: Mistake, off: tuple[str, ...]) -> str | None:
    config = draw(find(mistake.scenario), mistake.seed)
    with in_place(changes((mistake.edit,)), BUILT_IN):
        verdict, _ = run_once(attrs.evolve(config, off=(*config.off, *off)))
    return verdict.failure.rule if verdict.failure else None


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_source_is_found(mistake: Mistake) -> None:
    assert rule_broken(mistake, ()) == mistake.rule


@pytest.mark.parametrize("mistake", [it for it in MISTAKES if it.unread])
def test_the_oracle_finds_what_a_parser_does_without_looking_at_the_parser(mistake: Mistake) -> None:
    assert rule_broken(mistake, READINGS) == mistake.unread

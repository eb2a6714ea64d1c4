"""Goal: a mistake in a function of the memory is seen, even though the judge has to know what it says.

Each is planted in the source of the function, so that it is wrong for whoever calls it, in umi_sim too. A
judge that called it would make the same mistake and see nothing.
"""

import inspect
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from umi_core import domains, ids, text
from umi_core.language import extraction, routing
from umi_core.policies import promotion
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

READINGS = ("parser-total", "parser-keeps-the-good")  # compare parsers with plain readers, reply by reply
CASES: list[tuple[Callable[..., Any], str, str, str, int, str]] = [
    (extraction.parse_extraction, "EXTRACT_ENTITY_COUNT_MAX", "2", "calm", 1, "parser-total"),
    (extraction.read_type, "confidence <", "confidence <=", "answers", 1, "parser-total"),
    (routing.parse_routes, "strays + bad", "bad", "babble", 0, "parser-total"),
    (promotion.score_ppm, "300_000 * recency", "200_000 * recency", "core", 0, "score-goldens"),
    (domains.bad_importance, "value, 0,", "value, 1,", "core", 0, "reference-agrees"),
    (domains.bad_limit, "value, 1,", "value, 2,", "calm", 0, "reference-agrees"),
    (text.norm, ".casefold()", "", "languages", 0, "reference-agrees"),
    (text.norm, 'unicodedata.normalize("NFC", text)', "text", "languages", 0, "reference-agrees"),
    (ids.derived_id, "scope.user, scope.agent", "scope.agent", "calm", 0, "reference-agrees"),
    (ids.relation_id, "*source, *target", "*target, *source", "calm", 0, "relation-ends"),
]


def plant(patch: pytest.MonkeyPatch, function: Callable[..., Any], old: str, new: str) -> None:
    """The function with other code, wherever it has been imported."""
    source = inspect.getsource(function)
    assert source.count(old) == 1, source
    made: dict[str, Any] = {}
    exec(source.replace(old, new), vars(inspect.getmodule(function)), made)
    patch.setattr(function, "__code__", made[function.__name__].__code__)


@pytest.mark.parametrize(("function", "old", "new", "scenario", "seed", "rule"), CASES)
def test_a_mistake_in_the_source_is_found(
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[..., Any],
    old: str,
    new: str,
    scenario: str,
    seed: int,
    rule: str,
) -> None:
    plant(monkeypatch, function, old, new)
    verdict, _ = run_once(draw(find(scenario), seed))
    assert verdict.failure is not None
    assert verdict.failure.rule == rule


@pytest.mark.parametrize(
    ("function", "old", "new", "scenario", "seed", "rule"),
    [
        (*CASES[0][:5], "degradation-named"),
        (*CASES[1][:5], "text-never-lost"),
        (*CASES[2][:5], "route-per-entity"),
    ],
)
def test_the_oracle_finds_what_a_parser_does_without_looking_at_the_parser(
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[..., Any],
    old: str,
    new: str,
    scenario: str,
    seed: int,
    rule: str,
) -> None:
    plant(monkeypatch, function, old, new)
    config = draw(find(scenario), seed)
    verdict, _ = run_once(attrs.evolve(config, off=(*config.off, *READINGS)))
    assert verdict.failure is not None
    assert verdict.failure.rule == rule

"""Goal: whatever services answer, no step raises and no operation is forgotten, without assertions either."""

import pytest

from tools.hostile_answers import SCENARIOS, relive, run_world


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_answer_makes_a_step_raise(scenario: str) -> None:
    lives = run_world(scenario, 7, 1_000)
    assert sum(len(steps) for _, _, steps, _ in lives) > 20
    relive(lives)

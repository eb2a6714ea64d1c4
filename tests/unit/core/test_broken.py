"""Goal: what was expected and what came are cut so that their difference is seen."""

import pytest

from umi_core.text import CONTRAST_CHARS_MAX
from umi_sim.record import rules
from umi_sim.record.broken import Broken


@pytest.mark.parametrize("alike_count", [0, 1, 159, 160, 161, 199, 200, 201, 5_000])
def test_texts_that_differ_look_different_however_much_they_share(alike_count: int) -> None:
    alike = "".join(f"{number}," for number in range(2_000))[:alike_count]
    for one, other in (("x", "y"), ("", "y"), ("x" * 999, "y" * 999)):
        broken = Broken(rules.CORE_LIMITS, "m", alike + one, alike + other)
        assert broken.expected != broken.got
        assert max(len(broken.expected), len(broken.got)) <= CONTRAST_CHARS_MAX


def test_short_texts_are_printed_completely() -> None:
    broken = Broken(rules.CORE_LIMITS, "m", [1, 2], [1, 3])
    assert (broken.expected, broken.got) == ("[1, 2]", "[1, 3]")

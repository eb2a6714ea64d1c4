"""Goal: what a broken rule says of two collections is where they differ, in a line."""

import pytest

from umi_sim.record import rules
from umi_sim.record.broken import WHOLE_CHARS_MAX, Broken

MANY = [f"fct_{number:024x}" for number in range(9)]


@pytest.mark.parametrize(
    ("expected", "got", "values"),
    [
        (MANY, [*MANY, "more"], ("[] and 9 that both have", "['more'] and 9 that both have")),
        (MANY[1:], MANY[:-1], (f"[{MANY[8]!r}] and 7 that both have", f"[{MANY[0]!r}] and 7 that both have")),
        (["a"] * 40, ["a"] * 41, ("[] and 40 that both have", "['a'] and 40 that both have")),
        (
            dict.fromkeys(MANY, 1), {**dict.fromkeys(MANY, 1), MANY[0]: 2},
            (f"[({MANY[0]!r}, 1)] and 8 that both have", f"[({MANY[0]!r}, 2)] and 8 that both have"),
        ),
        ({*MANY}, {*MANY, "b", "a"}, ("[] and 9 that both have", "['a', 'b'] and 9 that both have")),
        ([1, 2], [1], ("[1, 2]", "[1]")),
        ("x" * 200, "y", ("x" * 200, "y")),
    ],
)  # fmt: skip
def test_what_both_have_is_counted(expected: object, got: object, values: tuple[str, str]) -> None:
    broken = Broken(rules.TTL_BOUNDARY, "something", expected, got)
    assert (broken.expected, broken.got) == values


def test_another_order_is_shown_as_it_is() -> None:
    broken = Broken(rules.TTL_BOUNDARY, "something", MANY, MANY[::-1])
    assert broken.expected.startswith(f"[{MANY[0]!r}, ")
    assert broken.got.startswith(f"[{MANY[8]!r}, ")
    assert len(str(MANY)) > WHOLE_CHARS_MAX

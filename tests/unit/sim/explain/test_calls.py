"""Goal: what stands under `script` is Python that means what it was made of, in lines that fit."""

import pytest

from umi_sim.kernel import wording
from umi_sim.kernel.literals import literal


@pytest.mark.parametrize(
    "value",
    [
        "",
        'a"b\\c\n',
        "x" * 500,
        "ab" * 99 + "!",
        b"v" * 300,
        b"\xff" * 70,
        b"'",
        ("a", 1, None),
        ("a",),
        (),
        -7,
        True,
    ],
)
def test_a_value_is_written_as_python_reads_it(value: object) -> None:
    assert eval(wording.escape_text(literal(value))) == value
    assert len(literal(value)) < 80


def test_a_long_text_without_a_run_is_cut() -> None:
    assert literal(" ".join(map(str, range(99)))).endswith('..."')

"""Goal: the page of differences from the first plans names tests and planted bugs that exist."""

import re
from typing import Final

import pytest

from tools.tables import DOCS
from umi_sim.mutants.registry import MUTANTS

ROOT: Final = DOCS.parent
PAGE: Final = (DOCS / "differences.md").read_text("utf-8")
TESTS: Final = sorted(set(re.findall(r"`(tests/[^`]+)::(\w+)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_every_test_that_is_named_exists(path: str, name: str) -> None:
    assert re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.M)


def test_every_planted_bug_that_is_named_exists() -> None:
    named = re.findall(r"\bplanted bug `([\w-]+)`", PAGE)
    assert named
    assert [name for name in named if name not in MUTANTS] == []

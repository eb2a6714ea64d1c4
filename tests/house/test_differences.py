"""Goal: the page of differences from the first plans names tests that exist."""

import re
from typing import Final

import pytest

from tools.tables import DOCS

ROOT: Final = DOCS.parent
PAGE: Final = (DOCS / "differences.md").read_text("utf-8")
TESTS: Final = sorted(set(re.findall(r"`(tests/[^`]+)::(\w+)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_every_test_that_is_named_exists(path: str, name: str) -> None:
    assert re.search(rf"^(?:async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.M)

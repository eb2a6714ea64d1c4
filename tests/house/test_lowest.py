"""Goal: the lower bounds of dependencies are what tools/lowest.py installs."""

import pytest

from tools import lowest


def test_each_dependency_is_taken_at_its_lower_bound() -> None:
    assert list(lowest.lowest(["a-b>=1.2.3", "c>=3.8,<3.9", "ruff>=0.8"])) == ["a-b==1.2.3", "c==3.8"]
    assert "msgpack==1.0.8" in lowest.pins()


@pytest.mark.parametrize("unbound", ["a", "a<2", "a==2", "a!=2"])
def test_a_dependency_without_a_lower_bound_is_named(unbound: str) -> None:
    with pytest.raises(ValueError, match=f"^{unbound}: has no lower bound"):
        list(lowest.lowest([unbound]))

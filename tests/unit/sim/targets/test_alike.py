"""Goal: implementations of one interface are distinguished by answers, not by what contracts leave open."""

from functools import partial
from typing import Any

import pytest

from tests.unit.sim.targets.test_contracts import Dict, Lists, Notes
from umi_sim.targets import MISSING, Kv
from umi_sim.targets.adapter import Adapter, BadAdapter
from umi_sim.targets.alike import check_same_interface, draw_both, run_both
from umi_sim.targets.checker import Got
from umi_sim.targets.hunt import HuntStrategy, hunt


class OtherOrder(Dict):
    """The same by other words: its lists are backwards, what is not there is None, yes is 1."""

    def keys(self, ns: str, prefix: str = "") -> list[str]:
        return super().keys(ns, prefix)[::-1]

    def delete(self, ns: str, key: str) -> bool:
        return super().delete(ns, key)

    def put(self, ns: str, key: str, value: Any, ttl: float | None = None) -> Any:
        super().put(ns, key, value, ttl)
        return "done"


class OneMoreMoment(Dict):
    """Alive at the very moment of its deadline, which a contract leaves open."""

    def _alive(self, ns: str) -> dict[str, Any]:
        own = [(key, *row) for (space, key), row in self.rows.items() if space == ns]
        return {key: value for key, value, until in own if until is None or self.now() <= until}


class Strict(Dict):
    """It refuses keys that are more than letters, which a store may."""

    def put(self, ns: str, key: str, value: Any, ttl: float | None = None) -> None:
        if not key.isalnum():
            raise ValueError(key)
        super().put(ns, key, value, ttl)


class Broken(Dict):
    def get(self, ns: str, key: str) -> Any:
        return MISSING


def compared(one: type[Adapter], other: type[Adapter]) -> Any:
    found = hunt(one, range(15), way=HuntStrategy(partial(draw_both, other), partial(run_both, other)))
    return found.small and found.small.broken


@pytest.mark.parametrize(("one", "other"), [(Dict, OtherOrder), (Lists, Lists), (Notes, Notes)])
def test_what_a_contract_leaves_open_is_no_difference(one: type[Adapter], other: type[Adapter]) -> None:
    assert compared(one, other) is None


@pytest.mark.parametrize("other", [OneMoreMoment, Strict])
def test_what_each_may_do_but_one_does_otherwise_is_a_difference(other: type[Adapter]) -> None:
    broken = compared(Dict, other)
    assert broken.rule == "alike"
    assert f"as {other.__name__} says" in broken.message


@pytest.mark.parametrize(("one", "other"), [(Dict, Broken), (Broken, Dict)])
def test_a_subject_that_breaks_its_contract_is_reported_as_such(
    one: type[Adapter], other: type[Adapter]
) -> None:
    assert compared(one, other).rule == "answer"


class Few(Kv):
    def put(self, key: str, value: Any) -> None:
        """Nothing."""

    def get(self, key: str) -> Any:
        return MISSING


@pytest.mark.parametrize(("other", "message"), [
    (Lists, "of two contracts, kv and sessions"), (Few, "put takes ns, key, value, ttl, and key, value"),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused(other: type[Adapter], message: str) -> None:
    with pytest.raises(BadAdapter, match=message):
        check_same_interface(Dict, other)


def test_errors_are_alike_if_both_are() -> None:
    from umi_sim.targets.alike import is_alike
    from umi_sim.targets.items import ContractOp

    get, error = ContractOp("get", {"ns": "", "key": "a"}), Got(error="ValueError", is_refusal=True)
    assert is_alike(Dict, get, error, Got(error="TypeError", is_refusal=True))
    assert not is_alike(Dict, get, error, Got(None))
    assert is_alike(Dict, ContractOp("get_many", {"keys": ["a", "b"]}), Got({"a": 1}), Got([1, None]))
    assert is_alike(Dict, ContractOp("ttl", {"key": "a"}), Got(2), Got(1.9))
    assert not is_alike(Dict, ContractOp("ttl", {"key": "a"}), Got(2), Got(None))

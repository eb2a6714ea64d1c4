"""Goal: each way in which a memory forgets too little is found, and a memory that forgets is not accused."""

import pytest
from msgspec import structs

from tests import forgetful_stores as stores
from umi_sim.targets import MISSING, Kv
from umi_sim.targets.checker import BrokenContract
from umi_sim.targets.hunt import HuntStrategy, hunt
from umi_sim.targets.memory import MemoryContract
from umi_sim.targets.model import Without, mark
from umi_sim.targets.promises import promise_broken
from umi_sim.targets.shrinking import is_alike

LEAKS = (
    (stores.DerivedText, 70, "answer", "render", "forgets"),
    (stores.LateWrite, 0, "answer", "list", "forgets"),
    (stores.Bytes, 0, "erased", "delete", "erases"),
    (stores.Restart, 0, "reopen-lost", "list", "crashes"),
    (stores.SecondIngest, 0, "answer", "list", "answers"),
)  # with a seed before the first one that shows it


@pytest.mark.parametrize(
    ("store", "first", "rule", "op", "promise"), LEAKS, ids=[store.leak for store, *_ in LEAKS]
)
def test_a_leak_is_found_and_named(
    store: type[stores.Forgetting], first: int, rule: str, op: str, promise: str
) -> None:
    small = hunt(store, range(first, 150)).small
    assert small is not None
    assert small.broken is not None
    assert (small.broken.rule, small.broken.op) == (rule, op)
    assert promise_broken(small.broken.rule, small.broken.anomaly, small.items) == promise
    assert len(small.items) <= 6


def test_a_leak_is_reported_beside_another_wrong_answer_of_the_same_operation() -> None:
    """Whichever comes first: by the rule and the operation alone they would be one failure."""

    class BothWrong(Kv):
        def make(self) -> None:
            self.rows: dict[str, object] = {}

        def put(self, key: str, value: object) -> None:
            self.rows[key] = value

        def get(self, key: str) -> object:
            return MISSING if len(self.rows) > 1 else self.rows.get(key, MISSING)

        def delete(self, key: str) -> bool:
            return key in self.rows

    found = hunt(BothWrong, range(20), way=HuntStrategy(to_end=True))
    failures = [(it.small.broken, it.small.items) for it in found.findings]
    promises = {(it.op, promise_broken(it.rule, it.anomaly, items)) for it, items in failures if it}
    assert promises >= {("get", "forgets"), ("get", "answers")}


def test_a_leak_is_shrunk_to_a_leak() -> None:
    leak = BrokenContract("answer", "get", "'v1'", anomaly="resurrection")
    assert is_alike(leak, structs.replace(leak, op="items"))
    assert not is_alike(leak, structs.replace(leak, anomaly="stale read"))


def test_a_memory_that_forgets_is_not_accused() -> None:
    assert hunt(stores.Forgetting, range(20)).small is None


def test_what_is_made_of_the_rest_may_say_anything_else() -> None:
    gone, kept = mark("note 1"), mark("note 11")
    answer = Without([gone])
    assert answer.takes(f"Ann: {kept}")
    assert not answer.takes(None)
    assert not answer.takes(f"Ann wrote {gone.upper()[:6]}{gone[6:]}, in short")
    assert not answer.takes([["m1", gone]])
    assert (str(answer), str(Without([]))) == (f"a text with nothing of '{gone}'", "a text")
    assert "render" in MemoryContract.reads

"""A run of umi_core as a plain test: what a memory was told, and what it must do.

ttl-boundary (TTL-1), fingerprint 60f2fc7c829b.
Written by `umi-sim export`; whatever was said stands in literals.
Run it with pytest, or as it is: a failure ends it with exit code 1.
"""

from umi_core.conditions import Condition
from umi_core.memory import Memory
from umi_core.messages.answers import Committed, ReadDone, Wake
from umi_core.messages.effects import ByFilter, ByIds, Commit, Done, Expect, Read, Reply, Write
from umi_core.messages.requests import Get, Set
from umi_core.rows import Address, Epoch
from umi_core.values import Scope

SCOPE = Scope("u1", "a1")


def test_ttl_boundary_a_1() -> None:
    memory = Memory(SCOPE)

    effects = memory.step(1_700_000_000_000, Wake())
    assert effects == (
        Read(
            ByIds((Address(SCOPE, "epoch", "epoch"), Address(SCOPE, "head", "head"))),
            request_id=1,
            timeout_ms=10_000,
        ),
    )

    effects = memory.step(1_700_000_000_000, ReadDone(1))
    assert effects == (
        Commit(
            (Write(Address(SCOPE, "epoch", "epoch"), Epoch(1_700_000_000_000)),),
            (Expect(Address(SCOPE, "epoch", "epoch"), 0),),
            request_id=2,
            timeout_ms=10_000,
        ),
    )

    effects = memory.step(1_700_000_000_000, Set("o27", "", b""))
    assert effects == (Reply("o27", Done()),)

    effects = memory.step(
        1_700_000_000_001,
        Committed(2, versions=((Address(SCOPE, "epoch", "epoch"), 1),)),
    )
    assert effects == (Read(ByIds((Address(SCOPE, "core", "core"),)), request_id=3, timeout_ms=10_000),)

    effects = memory.step(1_700_000_000_001, ReadDone(3))
    assert effects == (
        Read(ByFilter(SCOPE, ("access", "category"), limit=1000), request_id=4, timeout_ms=10_000),
    )

    effects = memory.step(1_700_000_000_001, ReadDone(4))
    assert effects == ()

    effects = memory.step(1_700_000_060_001, Wake())
    assert effects == (
        Read(
            ByIds((Address(SCOPE, "core", "core"), Address(SCOPE, "head", "head"))),
            request_id=5,
            timeout_ms=10_000,
        ),
    )

    effects = memory.step(1_700_000_060_001, ReadDone(5))
    assert effects == (
        Read(
            ByFilter(SCOPE, ("entity",), where=(Condition("vector_missing", "eq", True),), limit=16),
            request_id=6,
            timeout_ms=10_000,
        ),
    )

    effects = memory.step(1_700_000_060_001, ReadDone(6))
    assert effects == ()

    # ttl-boundary: get '' answered b''
    # expected  get '': None
    # got       get '': b''
    effects = memory.step(1_700_003_600_000, Get("o31", ""))
    assert effects == (Reply("o31", Done()),)


if __name__ == "__main__":
    test_ttl_boundary_a_1()

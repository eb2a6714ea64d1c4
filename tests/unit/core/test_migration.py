"""Goal: the machine of a migration says what it cannot do, and asks again after what failed.

Every short life of it is tried in tests/unit/sim/explore/test_migration.py.
"""

from umi_core.migration import (
    PHASE,
    Advance,
    Answer,
    Ask,
    Came,
    Get,
    Held,
    Migration,
    Mirror,
    Put,
    Reconcile,
    Reply,
    Request,
    begin,
    heard,
)

DUAL_READ = ((PHASE, Held(3, "dual_read")),)


def answered(came: Came, *answers: Answer) -> Came:
    for answer in answers:
        came = heard(came[0], answer)
    return came


def at(phase: str, request: Request) -> Came:
    """The first question of a request in this phase, after a start."""
    rows = ((PHASE, Held(1, phase)),)
    return answered(begin(Migration(), request), Answer("ok", rows), Answer("ok"), Answer("ok", rows))


def test_nothing_is_done_before_the_phase_is_known() -> None:
    first = begin(Migration(), Get("r"))
    assert first[1] == Ask("main")
    for answers in ((), (Answer("ok"),), (Answer("ok"), Answer("ok"))):
        machine, reply = answered(first, *answers, Answer("failed"))
        assert (machine.phase, reply) == ("", Reply("failed"))


def test_what_no_phase_allows_is_not_ready() -> None:
    for request in (Advance("done"), Reconcile(), Mirror()):
        assert at("legacy", request)[1] == Reply("not_ready")
    assert at("dual_write", Advance("dual_read"))[1] == Reply("not_ready")


def test_each_question_that_fails_ends_the_request_and_nothing_more() -> None:
    for phase, request, before in (
        ("dual_write", Reconcile(), (Answer("ok"),)),
        ("dual_read", Mirror(), ()),
        ("dual_read", Get("r"), (Answer("ok", DUAL_READ),)),
        ("dual_read", Get("r"), (Answer("failed"),)),
        ("dual_read", Advance("umi_primary"), (Answer("ok"),)),
    ):
        machine, reply = answered(at(phase, request), *before, Answer("failed"))
        assert (machine.job, reply) == (None, Reply("failed"))


def test_an_empty_outbox_is_nothing_to_mirror_and_nothing_is_pending() -> None:
    machine, reply = answered(at("dual_read", Mirror()), Answer("ok", DUAL_READ))
    assert (machine.pending, reply) == (frozenset(), Reply("done"))


def test_a_row_that_main_lacks_is_read_from_legacy_and_copied() -> None:
    there = Answer("ok", ((("row", "r"), Held(1, "v")),))
    came = answered(at("dual_read", Get("r")), Answer("ok", DUAL_READ), there)
    assert isinstance(came[1], Ask)
    assert came[1].writes == ((("row", "r"), "v"),)
    assert (("row", "r"), 0) in came[1].expects
    assert answered(came, Answer("failed"))[1] == Reply("done", "v", "read:legacy")


def test_a_row_that_is_nowhere_is_none() -> None:
    came = answered(at("dual_read", Get("r")), Answer("ok", DUAL_READ), Answer("ok"))
    assert came[1] == Reply("done")


def test_what_nobody_can_look_up_stays_unknown() -> None:
    asked = answered(at("dual_write", Put("r", "v")), Answer("ok"), Answer("unknown"))
    machine, reply = answered(asked, Answer("failed"))
    assert (machine.is_dirty, machine.is_clean, reply) == (True, False, Reply("unknown"))

"""Goal: equal bugs have equal fingerprints, whatever ids and numbers they met; different bugs differ."""

import pytest

from umi_sim.record.fingerprint import normal, of
from umi_sim.record.verdict import Failure, FailureKind


def failure(
    message: str, kind: FailureKind = "safety", rule_id: str = "STO-1", frame: str = "", step: int = 14
) -> Failure:
    return Failure(kind, "acknowledged-is-durable", rule_id, step, 0, "o3", message, frame=frame)


def test_golden() -> None:
    """The numbers of the specification."""
    message = 'acknowledged by o3, absent in the audit: person "Alice"'
    assert normal(message) == "acknowledged by <id>, absent in the audit: person <text>"
    assert of(failure(message)) == "8ad16dbbe2cc"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("o7/commit#1/answer of a:rebalance:1/scan#12", "<x> of <x>"),
        ("audit:12 read what drain:3 left", "<id> read what <id> left"),
        ("ent_d77159c2f7575629b14ff3b0 and idm_7d1c...", "<id> and <id>"),
        ("state e22f7d10c3b8964a, mask 0x1f", "state <x>, mask <x>"),
        ("version -3 of 12345678, 1.5 is utf8", "version <n> of <n>, <n> is utf8"),
        ("got b'7', \"it's\" and 'cut off wh", "got <text>, <text> and <text>"),
        ("it doesn't hold", "it doesn't hold"),
        ("[1, (2, 'x'), {'y': []}] against f(1, 2) and ()", "<list> against f(<n>, <n>) and <list>"),
        ("[1, 2, [3, 'x", "<list>"),
        ("b  was\twoken\n3 times", "<id> was woken <n> times"),
    ],
)
def test_what_differs_from_run_to_run_has_one_form(message: str, expected: str) -> None:
    assert normal(message) == expected


def test_the_normal_form_is_one_of_its_own() -> None:
    for message in ("o3 lost 'x'", "a is (1, 2)", "0x1f at o7/commit#1"):
        assert normal(normal(message)) == normal(message)


def test_the_normal_form_is_short() -> None:
    assert len(normal("word " * 10_000)) == 200


def test_only_kind_rule_words_and_frame_count() -> None:
    first = of(failure("o3 is lost"))
    assert of(failure("o4 is lost", step=99)) == first
    assert of(failure("o3 is lost", kind="liveness")) != first
    assert of(failure("o3 is lost", rule_id="STO-2")) != first
    assert of(failure("o3 is late")) != first


def test_a_frame_tells_crashes_apart_and_nothing_else() -> None:
    assert of(failure("x", frame="one")) == of(failure("x", frame="two"))
    assert of(failure("x", kind="crash", frame="one")) != of(failure("x", kind="crash", frame="two"))


def test_a_hostile_message_takes_no_time() -> None:
    """None of these backtracks for long; a second would be a bug."""
    for piece in ('"\\', "(", "[(", "1_", "a:", "a/", "abcdef01", "'", "{["):
        assert len(normal(piece * 20_000)) <= 200

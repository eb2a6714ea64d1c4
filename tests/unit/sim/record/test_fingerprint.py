"""Goal: equal bugs have equal fingerprints, whatever ids and numbers they met; different bugs differ."""

import pytest

from tests.spec_tables import Row, read_cell, rows
from umi_sim.record.exit_codes import FailureKind
from umi_sim.record.fingerprint import normal, of
from umi_sim.record.verdict import Failure


def failure(
    message: str, kind: FailureKind = "safety", rule_id: str = "STO-1", frame: str = "", step: int = 14
) -> Failure:
    return Failure(kind, "acknowledged-is-durable", rule_id, step, 0, "o3", message, frame=frame)


MESSAGES = rows("simulator", "normal_messages")


@pytest.mark.parametrize("row", MESSAGES, ids=lambda row: row["normal form"])
def test_what_differs_from_run_to_run_has_one_form(row: Row) -> None:
    assert normal(read_cell(row["message"])) == read_cell(row["normal form"])


def test_golden() -> None:
    assert of(failure(read_cell(MESSAGES[0]["message"]))) == "8ad16dbbe2cc"


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

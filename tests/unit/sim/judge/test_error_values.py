"""Goal: an error that names what was not asked for, or numbers that do not hold, is seen (ERR-1)."""

from contextlib import nullcontext
from typing import Any

import pytest
from msgspec import structs

from umi_core import errors
from umi_core.config import Config
from umi_core.errors import Error
from umi_core.kelpie.errors import (
    AboveLimit,
    LabelTaken,
    NotFound,
    ReadOnly,
    TextAmbiguous,
    TextNotFound,
    VersionConflict,
)
from umi_core.kelpie.requests import (
    BlockHistory,
    CreateBlock,
    DeleteArchival,
    OpenAgent,
    ReplaceInBlock,
    UpdateBlock,
)
from umi_core.messages.effects import Refused
from umi_core.messages.requests import (
    CreateSession,
    LoadSession,
    Remember,
    Set,
    SetBlock,
    Touch,
    UpdateEntity,
)
from umi_sim.judge.oracle.promises import check_error
from umi_sim.judge.oracle.working import WorkingTwin, keep_explaining
from umi_sim.record.broken import Broken

TIGHT = Config(working_bytes_max=100, working_entry_count_max=2)
BLOCK = "blk_000000000000000000000000"
RECORD = "arc_000000000001"


def check(request: Any, error: Error) -> None:
    check_error("o1", request, Refused(error), TIGHT)


@pytest.mark.parametrize(
    ("request_", "error", "changed"),
    [
        (LoadSession("", "ses_1"), errors.SessionNotFound("ses_1"), {"session_id": "ses_2"}),
        (Touch("", "k"), errors.KeyNotFound("k"), {"key": "kk"}),
        (Remember("", "x", request_key="r1"), errors.KeyReused("r1"), {"request_key": "r2"}),
        (UpdateEntity("", "ent_1", content="x"), NotFound("entity", "ent_1"), {"id": "ent_2"}),
        (UpdateEntity("", "ent_1", content="x"), NotFound("entity", "ent_1"), {"kind": "block"}),
        (DeleteArchival("", RECORD), NotFound("archival", RECORD), {"id": ""}),
        (DeleteArchival("", RECORD), NotFound("archival", RECORD), {"kind": "entity"}),
        (BlockHistory("", BLOCK), NotFound("block", BLOCK), {"kind": "thing"}),
        (CreateBlock("", "Plan", ""), LabelTaken("plan", BLOCK), {"label": "plans"}),
        (UpdateBlock("", "plan", "x"), ReadOnly("plan", "model"), {"author": "user"}),
        (UpdateBlock("", "plan", "x"), ReadOnly("plan", "model"), {"label": "goals"}),
        (UpdateBlock("", "plan", "x", expected_version=3), VersionConflict(3, 4), {"expected": 4}),
        (ReplaceInBlock("", "plan", "a", "b"), TextNotFound("plan"), {"label": "b"}),
        (ReplaceInBlock("", "plan", "a", "b"), TextAmbiguous("plan", 2), {"label": "b"}),
        (UpdateBlock("", "plan", "x"), AboveLimit(21, 20), {"limit_bytes": 21}),
        (SetBlock("", "human", "x"), errors.CoreFull(1, Config().core_bytes_max, 3), {"limit_bytes": 7}),
        (SetBlock("", "human", "x"), errors.TooManyBlocks(32, 32), {"block_count": 31}),
        (SetBlock("", "human", "x"), errors.TooManyBlocks(32, 32), {"block_count_max": 31}),
        (CreateSession("", ("b",)), errors.TooManyMembers(17, 16), {"member_count": 16}),
        (Set("", "k", b""), errors.TooBusy(64, 64), {"op_count": 63}),
    ],
)  # fmt: skip
def test_an_error_is_about_what_was_asked(request_: Any, error: Error, changed: dict[str, Any]) -> None:
    check(request_, error)
    with pytest.raises(Broken, match="o1") as broken:
        check(request_, structs.replace(error, **changed))
    assert broken.value.rule == "error-says-it"


def test_a_block_that_is_named_by_its_id_may_have_any_label_and_an_agent_any_name() -> None:
    check(UpdateBlock("", BLOCK, "x"), ReadOnly("plan", "model"))
    check(OpenAgent(""), NotFound("agent", "a"))


@pytest.mark.parametrize(
    ("error", "is_right"),
    [
        (errors.WorkingFull(2, 100, 100), True), (errors.WorkingFull(2, 100, 99), False),
        (errors.WorkingFull(3, 100, 100), False), (errors.TooManyEntries(1, 2), False),
    ],
)  # fmt: skip
def test_a_twin_knows_what_there_is_no_room_for(error: Error, is_right: bool) -> None:
    twin = WorkingTwin(TIGHT, entries={"a": (b"1", 9_000)})
    with nullcontext() if is_right else pytest.raises(Broken):
        keep_explaining([twin], Set("", "k", b"x" * 99), Refused(error), 0, 0)


def test_too_many_entries_are_as_many_as_there_are() -> None:
    twin = WorkingTwin(TIGHT, entries={"a": (b"1", 9_000), "b": (b"2", 9_000)})
    request = Set("", "k", b"x")
    assert keep_explaining([twin], request, Refused(errors.TooManyEntries(2, 2)), 0, 0) == [twin]
    with pytest.raises(Broken) as broken:
        keep_explaining([twin], request, Refused(errors.TooManyEntries(3, 2)), 0, 0)
    assert broken.value.rule == "error-says-it"

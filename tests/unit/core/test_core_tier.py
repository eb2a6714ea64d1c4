"""Goal: the core tier (M3, M7, M8): limits, errors in order, admission, and what stays when."""

import pytest
from msgspec import structs

from tests.spec_tables import read_cell, rows, whole
from tests.unit.core.sound import check_core
from umi_core.config import Config
from umi_core.errors import (
    BadImportance,
    BadKind,
    BadText,
    BlockNotFound,
    BlockTooLarge,
    CoreFull,
    Error,
    LabelTooLong,
    TooManyBlocks,
)
from umi_core.limits import BLOCK_BYTES_MAX
from umi_core.messages.requests import RemoveBlock, SetBlock, SetImportance, bad_request
from umi_core.rows import Entity
from umi_core.tiers.core import (
    Admission,
    CoreTier,
    CoreWrite,
    admit,
    core_of,
    entry_of,
    fit,
    remove_block,
    set_block,
    set_importance,
    without,
)
from umi_core.values import USER, Block, Entry
from umi_sim.record.broken import Broken

SMALL = Config(core_bytes_max=4_096)
EMPTY = CoreTier()
WORDY = {"a": 610_000, "b": 640_000, "c": 655_000}


def entry(entity_id: str, size_bytes: int = 10, promoted_ms: int = 0) -> Entry:
    return Entry(entity_id, 1, entity_id, "x" * (size_bytes - len(entity_id)), promoted_ms)


def entity(entity_id: str, content: str, version: int = 2) -> Entity:
    return Entity(entity_id, "person", entity_id, content, version, 500_000, 500_000, "human", 0, 0)


def written(core: CoreTier, kind: str, text: str, label: str = "", ppm: int | None = None) -> CoreTier:
    change = set_block(core, kind, text, label, ppm, {}, SMALL, USER)
    assert isinstance(change, CoreWrite), str(change)
    return change.core


def refusal(
    core: CoreTier, kind: str, text: str, label: str = "", ppm: int | None = None, config: Config = SMALL
) -> Error:
    """The reply to a request that sets this block: by validation, or by the tier."""
    change = bad_request(SetBlock(0, kind, text, label, ppm)) or set_block(
        core, kind, text, label, ppm, {}, config, USER
    )
    assert isinstance(change, Error)
    return change


def ids(core: CoreTier) -> list[str]:
    return [entry.entity_id for _, entry in core.entries()]


# Authored text.


def test_bytes_are_counted_to_the_last_one() -> None:
    core = EMPTY
    for row in rows("memory", "core_writes"):
        kind, text = row["kind"], "x" * whole(row["bytes"])
        refused = bad_request(SetBlock(0, kind, text))
        change = refused or set_block(core, kind, text, "", None, {}, SMALL, USER)
        assert (type(change).__name__ if isinstance(change, Error) else "done") == row["result"], row
        core = core if isinstance(change, Error) else change.core
        assert core.used_bytes == whole(row["core bytes afterwards"]), row
        check_core(core, SMALL)


def test_labels_count_and_names_count_and_markup_does_not() -> None:
    core = written(EMPTY, "human", "é", "ß")
    assert core.used_bytes == 4
    assert admit(core, Entry("ent", 1, "é", "日", 0), "facts", 0, {}, SMALL).core.used_bytes == 9


def test_a_refusal_says_what_was_wrong_and_what_is_allowed() -> None:
    full = core_of(Block("facts", f"label {i}", "") for i in range(32))
    say = [
        refusal(written(EMPTY, "system", "x" * 4_096), "system", "x" * 4_097),
        refusal(EMPTY, "human", "x" * 16_385),
        refusal(EMPTY, "human", "", "x" * 65),
        refusal(full, "human", ""),
        refusal(EMPTY, "core", ""),
        refusal(EMPTY, "human", "", "", 1_000_001),
        remove_block(EMPTY, "human", "work"),
    ]
    sentences = [read_cell(row["sentence"]) for row in rows("memory", "sentences")]
    assert [str(error) for error in say if str(error) not in sentences] == []
    assert str(remove_block(EMPTY, "goals")) == "block not found: goals"


def test_the_first_problem_is_reported() -> None:
    """Each row mends what the row before was refused for, and everything later is still wrong."""
    full = core_of([*(Block("facts", f"label {i}", "") for i in range(31)), Block("facts", "", "x" * 4_000)])
    long, big = "x" * 65, "x" * 16_385
    assert isinstance(refusal(full, "core", "\0", "\x7f", -1), BadKind)
    assert refusal(full, "human", "\0", "\x7f", -1).option == "text"  # type: ignore[attr-defined]
    assert refusal(full, "human", big, "\x7f", -1).option == "label"  # type: ignore[attr-defined]
    assert isinstance(refusal(full, "human", big, long, -1), LabelTooLong)
    assert isinstance(refusal(full, "human", big, "", -1), BadImportance)
    assert isinstance(refusal(full, "human", big), BlockTooLarge)
    assert isinstance(refusal(full, "human", "x" * 4_097), TooManyBlocks)
    assert isinstance(refusal(full, "facts", "x" * 4_097), CoreFull)


@pytest.mark.parametrize("text", [None, 7, b"x", "\ud800", "\0", "\x0b", "\x1f", "\ufffe", "\uffff"])
def test_authored_text_with_forbidden_characters_is_refused(text: str) -> None:
    assert isinstance(refusal(EMPTY, "human", text), BadText)


@pytest.mark.parametrize("label", [None, 7, "\ud800", "\0", "a\x7fb", "\x9f", "\ufffe"])
def test_labels_are_one_line_of_text(label: str) -> None:
    assert isinstance(refusal(EMPTY, "human", "", label), BadText)
    assert EMPTY.find("human", label) is None


@pytest.mark.parametrize("ppm", [True, -1, 1_000_001, "1", 0.5])
def test_importance_is_a_whole_number_in_range(ppm: int) -> None:
    assert isinstance(refusal(EMPTY, "human", "", "", ppm), BadImportance)
    assert isinstance(bad_request(SetImportance(0, "human", ppm)), BadImportance)


def test_set_importance_tells_of_kind_then_number_then_block() -> None:
    assert isinstance(bad_request(SetImportance(0, "core", -1)), BadKind)
    assert isinstance(bad_request(SetImportance(0, "human", None)), BadImportance)  # type: ignore[arg-type]
    assert isinstance(set_importance(EMPTY, "human", 1), BlockNotFound)
    assert isinstance(bad_request(RemoveBlock(0, "core")), BadKind)


def test_labels_are_tidied_and_line_ends_become_lf() -> None:
    core = written(EMPTY, "human", "a\r\nb\rc", "  my \t  wo\u0301rk\n")
    assert core.blocks == (Block("human", "my w\u00f3rk", "a\nb\nc"),)
    assert core.find("human", "my  w\u00f3rk") is core.blocks[0]


def test_importance_is_kept_when_text_changes_and_forgotten_with_the_block() -> None:
    core = written(written(EMPTY, "human", "a", "", 900_000), "human", "b")
    assert core.blocks == (Block("human", "", "b", 900_000),)
    gone = remove_block(core, "human")
    assert gone == CoreWrite(EMPTY, (), "b")
    assert written(EMPTY, "human", "c").blocks[0].importance_ppm == 500_000


def test_entries_stay_when_text_changes() -> None:
    core = admit(EMPTY, entry("a"), "human", 0, {}, SMALL).core
    change = set_importance(core, "human", 1)
    assert isinstance(change, CoreWrite)
    assert written(change.core, "human", "t").blocks == (Block("human", "", "t", 1, (entry("a"),)),)


def test_removing_a_block_takes_its_entries_self_too() -> None:
    core = admit(EMPTY, entry("me"), "persona", 0, {}, SMALL).core
    assert remove_block(core, "persona") == CoreWrite(EMPTY, ("me",), None)


def test_blocks_are_in_order_of_kind_then_label_bytes() -> None:
    core = EMPTY
    for kind, label in (("scratch", ""), ("human", "é"), ("human", "z"), ("human", ""), ("system", "x")):
        core = written(core, kind, "", label)
    slots = [(block.kind, block.label) for block in core.blocks]
    assert slots == [("system", "x"), ("human", ""), ("human", "z"), ("human", "é"), ("scratch", "")]


def test_only_authored_blocks_count_towards_their_limit() -> None:
    core = admit(EMPTY, entry("a"), "facts", 0, {}, SMALL).core
    for i in range(32):
        core = written(core, "human", "", str(i))
    assert isinstance(refusal(core, "facts", ""), TooManyBlocks)
    assert written(core, "human", "again", "7").authored_count == 32
    check_core(core, SMALL)


# Eviction: core 4_096, authored 2_296, a 300, b 1_200 (its name is long), c 200, free 100.

NAMES = {"a": ("", 300), "b": ("n" * 200, 1_000), "c": ("", 200)}


def worked(**kinds: str) -> CoreTier:
    """The core of the example in section 8; an entry lies in facts by default."""
    core = written(EMPTY, "facts", "x" * 2_296)
    for at, (entity_id, (name, text_bytes)) in enumerate(NAMES.items()):
        new = Entry(entity_id, 1, name, "x" * text_bytes, at)
        core = admit(core, new, kinds.get(entity_id, "facts"), 0, {}, SMALL).core
    assert core.used_bytes == 3_996
    return core


def asked(core: CoreTier, size_bytes: int, score_ppm: int, forced: bool = False, **scores: int) -> Admission:
    return admit(core, entry("z", size_bytes), "facts", score_ppm, {**WORDY, **scores}, SMALL, forced=forced)


def test_what_fits_enters_without_victims() -> None:
    assert asked(worked(), 80, 0).outcome == "promoted"
    assert asked(worked(), 80, 0).evicted_ids == ()


def test_a_stronger_candidate_displaces_the_weakest() -> None:
    assert asked(worked(), 300, 700_000).evicted_ids == ("a",)
    assert asked(worked(), 1_000, 700_000).evicted_ids == ("b",)
    assert ids(asked(worked(), 1_000, 700_000).core) == ["a", "z", "c"]


def test_the_margin_is_exact_and_a_refusal_changes_nothing() -> None:
    assert asked(worked(), 1_000, 700_000, b=650_000).outcome == "promoted"
    core = worked()
    assert asked(core, 1_000, 700_000, b=651_000) == Admission(core, "refused_full")


def test_a_forced_candidate_needs_no_margin() -> None:
    assert asked(worked(), 1_000, 0, forced=True).evicted_ids == ("b",)


def test_a_self_entry_is_no_victim() -> None:
    assert asked(worked(a="persona"), 1_000, 700_000).evicted_ids == ("b",)


def test_authored_text_makes_entries_leave_and_core_full_is_the_last_word() -> None:
    core = worked()
    change = set_block(core, "goals", "x" * 1_500, "", None, WORDY, SMALL)
    assert isinstance(change, CoreWrite)
    assert change.left_ids == ("a", "b")
    assert set_block(core, "goals", "x" * 1_900, "", None, WORDY, SMALL) == CoreFull(3_996, 4_096, 1_900)


def test_core_full_tells_of_the_limit_that_is_short() -> None:
    """Storm 10483: an entry of self never leaves persona, whose block is full before core is."""
    core = admit(EMPTY, entry("a", 43), "persona", 0, {}, Config()).core
    fits = set_block(core, "persona", "x" * (BLOCK_BYTES_MAX - 43), "", None, {}, Config())
    assert isinstance(fits, CoreWrite)
    full = set_block(core, "persona", "x" * (BLOCK_BYTES_MAX - 42), "", None, {}, Config())
    assert full == CoreFull(43, BLOCK_BYTES_MAX, BLOCK_BYTES_MAX - 42)


def test_a_displaced_entry_cannot_displace_its_displacer() -> None:
    won = asked(worked(), 1_000, 700_000)
    back = admit(
        won.core, Entry("b", 1, "n" * 200, "x" * 1_000, 1), "facts", 640_000, {**WORDY, "z": 700_000}, SMALL
    )
    assert back.outcome == "refused_full"


def test_an_entry_without_a_score_counts_as_zero() -> None:
    assert admit(worked(), entry("z", 300), "facts", 50_000, {}, SMALL).outcome == "promoted"
    assert admit(worked(), entry("z", 300), "facts", 49_999, {}, SMALL).outcome == "refused_full"


# Admission.


def test_an_entry_is_in_core_once() -> None:
    core = admit(EMPTY, entry("a"), "human", 0, {}, SMALL).core
    with pytest.raises(AssertionError, match="a"):
        admit(core, entry("a", 20, 9), "human", 0, {}, SMALL)


def test_no_entry_enters_the_system_block() -> None:
    core = admit(EMPTY, entry("a"), "human", 0, {}, SMALL).core
    with pytest.raises(AssertionError, match="system"):
        admit(core, entry("b"), "system", 0, {}, SMALL)


def test_self_has_eight_entries_and_a_quarter_of_core() -> None:
    core = EMPTY
    for n in range(8):
        core = admit(core, entry(f"me{n}"), "persona", 0, {}, SMALL).core
    assert admit(core, entry("me8"), "persona", 0, {}, SMALL) == Admission(core, "refused_quota")
    one = admit(EMPTY, entry("me", 24), "persona", 0, {}, SMALL).core
    assert admit(one, entry("i", 1_000), "persona", 0, {}, SMALL).outcome == "promoted"
    assert admit(one, entry("i", 1_001), "persona", 0, {}, SMALL).outcome == "refused_quota"


def test_self_is_forced_and_refused_only_by_authored_text() -> None:
    strong = {"a": 1_000_000, "b": 1_000_000, "c": 1_000_000}
    assert admit(worked(), entry("me", 200), "persona", 0, strong, SMALL).evicted_ids == ("a",)
    core = written(EMPTY, "facts", "x" * 4_096)
    assert admit(core, entry("me"), "persona", 0, {}, SMALL) == Admission(core, "refused_full")


def test_the_entry_count_is_a_limit_too() -> None:
    config = Config(core_entry_count_max=2)
    core = admit(EMPTY, entry("a"), "human", 0, {}, config).core
    core = admit(core, entry("b"), "goals", 0, {}, config).core
    late = admit(core, entry("c"), "facts", 900_000, {"a": 5, "b": 4}, config)
    assert late.evicted_ids == ("b",)
    assert [block.kind for block in late.core.blocks] == ["human", "facts"]
    assert admit(EMPTY, entry("a"), "human", 0, {}, Config(core_entry_count_max=0)).outcome == "refused_full"


def test_a_full_block_is_helped_by_its_own_entries() -> None:
    core = core_of(
        [Block("facts", "", "x" * 16_000, entries=(entry("a", 300),)), Block("goals", entries=(entry("b"),))]
    )
    assert admit(core, entry("c", 100), "facts", 900_000, {"a": 9}, Config()).evicted_ids == ("a",)


def test_a_block_may_be_full_to_the_last_byte() -> None:
    core = core_of([Block("facts", "", "x" * 16_300, entries=(entry("a", 10),))])
    assert admit(core, entry("c", 74), "facts", 0, {}, Config()).evicted_ids == ()
    assert admit(core, entry("c", 75), "facts", 50_000, {}, Config()).evicted_ids == ("a",)


def test_entries_are_in_order_of_promotion_then_id() -> None:
    core = EMPTY
    for entity_id, at in (("c", 1), ("b", 2), ("a", 2), ("d", 0)):
        core = admit(core, entry(entity_id, 10, at), "facts", 0, {}, SMALL).core
    assert ids(core) == ["d", "c", "a", "b"]


def test_forgetting_takes_the_entry_and_a_block_with_nothing_left() -> None:
    core = admit(EMPTY, entry("a"), "human", 0, {}, SMALL).core
    assert without(core, ("a",)) == EMPTY
    assert without(core, ("b",)) == core
    assert without(written(core, "human", ""), ("a",)).blocks == (Block("human", "", ""),)


def test_home_is_where_the_entry_lies() -> None:
    core = admit(EMPTY, entry("a"), "human", 0, {}, SMALL).core
    assert core.locate("a") == (core.blocks[0], entry("a"))
    assert core.locate("b") is None


def test_transitions_keep_the_guard_version() -> None:
    core = written(CoreTier(guard_version=7), "human", "x")
    core = admit(core, entry("a"), "facts", 0, {}, SMALL).core
    assert without(core, ("a",)).guard_version == 7


# Entries of facts.


def test_an_entry_shows_all_of_its_fact_as_text_of_core() -> None:
    assert entry_of(entity("a", "a\r\nb\0\uffff"), 5) == Entry("a", 2, "a", "a\nb\ufffd\ufffd", 5)


def test_a_fact_that_is_longer_than_an_entry_may_be_is_refused_and_never_cut() -> None:
    fits, long = (entry_of(entity("a", "x" * size_bytes), 5) for size_bytes in (1_024, 1_025))
    assert admit(EMPTY, fits, "human", 0, {}, SMALL).outcome == "promoted"
    assert admit(EMPTY, long, "human", 1_000_000, {}, SMALL, forced=True) == Admission(EMPTY, "refused_full")


# Recovery under lowered limits.


def test_lowered_limits_make_the_weakest_leave() -> None:
    core = core_of([Block("facts", "", "x" * 4_000, entries=(entry("a", 90), entry("b", 90)))])
    less = fit(core, {"a": 2, "b": 1}, SMALL)
    assert less == (without(core, ("b",)), ("b",))
    assert fit(core, {}, Config()) == (core, ())
    fewer = fit(core, {"a": 2, "b": 1}, Config(core_entry_count_max=1))
    assert fewer == (without(core, ("b",)), ("b",))


def test_authored_text_and_self_never_leave_for_a_lowered_limit() -> None:
    assert fit(core_of([Block("facts", "", "x" * 4_097)]), {}, SMALL) is None
    labelled = [Block("facts", "l", "x" * 16_384), Block("facts", entries=(entry("a"),))]
    assert fit(core_of(labelled), {}, Config()) is None
    assert (
        fit(core_of([Block("persona", entries=(entry("me"),))]), {}, Config(core_entry_count_max=0)) is None
    )


# The check itself: it passes what is right and fails what is wrong.

SOUND = core_of([Block("facts", "", "t", entries=(entry("a"), entry("b"))), Block("human", "l", "t")])


def facts(**changes: object) -> CoreTier:
    return core_of([structs.replace(SOUND.blocks[1], **changes), SOUND.blocks[0]])


@pytest.mark.parametrize(
    "broken",
    [
        CoreTier(SOUND.blocks[::-1]),
        CoreTier((SOUND.blocks[0], SOUND.blocks[0])),
        CoreTier((Block("facts"),)),
        CoreTier((*SOUND.blocks, Block("goals", entries=(entry("a"),)))),
        facts(label="x"),
        facts(kind="system"),
        facts(importance_ppm=-1),
        facts(text="x" * 16_380),
        facts(text="a\rb"),
        facts(entries=(entry("b"), entry("a"))),
        facts(entries=(entry("a", 1_100),)),
        facts(kind="persona", entries=tuple(entry(f"me{i}") for i in range(9))),
        core_of(Block("facts", f"{i}", "x" * 2_000) for i in range(20)),
        core_of(Block("facts", f"{i}", "") for i in range(33)),
        core_of([Block("facts", entries=tuple(entry(f"e{i:02}") for i in range(51)))]),
    ],
)
def test_the_check_finds_what_is_broken(broken: CoreTier) -> None:
    check_core(SOUND, Config())
    with pytest.raises(Broken):
        check_core(broken, Config())

"""Goal: what an edit says is planted, for the time of a run; what cannot be is refused with its reason."""

import re
from importlib import import_module

import pytest
from msgspec import structs

from umi_core.language.pronouns import read
from umi_core.tiers import working
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier
from umi_core.tiers.working import drop_expired
from umi_core.workflows import BUILT_IN, commits, rebalance
from umi_sim.mutants import CANARY, PLANTED, CannotPlant, Mutant, TestedMutant, TextEdit, plant_mutant
from umi_sim.mutants.registry import FILES, MUTANTS, OF_TESTS, BadMutant, mutant, rows
from umi_sim.runs.mutation_run import hunt

WORKING = "umi_core/tiers/working.py"
DUE = "    if tier.due_ms <= now_ms:"
EARLY = TextEdit(WORKING, DUE, "    if tier.due_ms < now_ms:")


def bug(*edits: TextEdit) -> Mutant:
    return Mutant("a-bug", "area", "what goes wrong", edits, ("ttl-boundary",), "working")


def refused(file: str, old: str, new: str, why: str) -> None:
    """Planting this raises, and nothing has changed."""
    before = working.answer.__code__
    with pytest.raises(CannotPlant, match=why), bug(EARLY, TextEdit(file, old, new)).plant(BUILT_IN):
        pass
    assert working.answer.__code__ is before


# What can be planted.


def test_a_function_stays_the_object_that_everybody_has_imported() -> None:
    before, body = drop_expired, drop_expired.__code__
    edit = TextEdit(WORKING, "    tier.expired_count += len(dead)", "    tier.expired_count += 7")
    with bug(edit).plant(BUILT_IN) as registry:
        tier = working.WorkingTier()
        drop_expired(tier, 0)
        assert tier.expired_count == 7
        assert working.drop_expired is before
        assert registry == BUILT_IN
    assert drop_expired.__code__ is body


def test_a_block_within_a_block_of_the_same_bug_finds_it_planted_with_its_caches() -> None:
    body = working.answer.__code__
    with plant_mutant(CANARY.name, BUILT_IN) as outer:
        read("Who is she?")
        with plant_mutant(CANARY.name, BUILT_IN) as inner:
            assert inner is outer
            assert read.cache_info().currsize == 1
        assert working.answer.__code__ is not body
        assert read.cache_info().currsize == 1
    assert PLANTED == {}
    assert read.cache_info().currsize == 0


def test_a_method_and_a_property_of_a_class_with_slots() -> None:
    edits = (
        TextEdit("umi_core/tiers/archive.py", '(page[-1] if len(later) > count else "")', '"the end"'),
        TextEdit("umi_core/tiers/core.py", "sum(len(block.entries) for block in self.blocks)", "99"),
    )
    with bug(*edits).plant(BUILT_IN):
        assert AccessTable().after("", 1) == ((), "the end")
        assert CoreTier().entry_count == 99
    assert (AccessTable().after("", 1), CoreTier().entry_count) == (((), ""), 0)


def test_what_is_added_is_made_anew_for_each_run_and_taken_away() -> None:
    kept = TextEdit(
        "umi_core/workflows/rebalance.py", "def admit_eligible(", "READ_FIRST = {}\n\n\ndef admit_eligible("
    )
    for _ in range(2):
        with bug(kept).plant(BUILT_IN):
            assert vars(rebalance)["READ_FIRST"] == {}
            vars(rebalance)["READ_FIRST"]["seen"] = 1
        assert "READ_FIRST" not in vars(rebalance)


def test_what_was_computed_before_is_computed_again_and_afterwards_too() -> None:
    """`read` keeps its latest results. A bug that was planted once was seen in the run after it."""
    edit = TextEdit("umi_core/language/pronouns.py", "    own = LANGUAGES[pattern.term]", "    return False")
    assert read("Where is she?").terms == ("she",)
    with bug(edit).plant(BUILT_IN):
        assert read("Where is she?").terms == ()
    assert read("Where is she?").terms == ("she",)


def test_a_changed_table_is_in_the_registry_and_no_revision_is_added() -> None:
    shorter = TextEdit(
        "umi_core/workflows/remember.py", 'retry(2, then=Degrade("table", by_table))', "retry(2)"
    )
    with bug(shorter).plant(BUILT_IN) as registry:
        (route,) = (step for step in registry.at("remember").steps if step.id == "route")
        assert route.on_failure is not None
        assert route.on_failure.then is None
    assert registry.latest("remember") == BUILT_IN.latest("remember")
    assert {name for name in registry.revisions if registry.at(name) != BUILT_IN.at(name)} == {"remember"}


def test_a_step_is_changed_in_every_table_that_has_it() -> None:
    edit = TextEdit("umi_core/workflows/commits.py", 'retry(2, then=degrade("core_unread"))', "retry(2)")
    with bug(edit).plant(BUILT_IN) as registry:
        changed = {name for name in registry.revisions if registry.at(name) != BUILT_IN.at(name)}
    assert changed == {
        "remember", "forget", "write_block", "memorize", "summarise", "rebalance", "edit_block",
        "evolve_category", "create_entity", "update_entity", "reflect", "forget_resource", "add_archival",
        "delete_archival", "load_session",
    }  # fmt: skip


def test_whatever_happens_in_a_run_everything_is_put_back() -> None:
    before, names = working.answer.__code__, dict(vars(commits))
    with (
        pytest.raises(ZeroDivisionError),
        MUTANTS["kept-at-hand"].plant(BUILT_IN),
        bug(EARLY).plant(BUILT_IN),
    ):
        raise ZeroDivisionError
    assert working.answer.__code__ is before
    assert vars(commits) == names


# What cannot.


@pytest.mark.parametrize("old", ["no such text", "tier", ""])
def test_the_old_text_is_there_exactly_once_or_the_bug_its_file_and_the_text_are_named(old: str) -> None:
    why = rf"^a-bug cannot be planted: {WORKING}: the old text is there \d+ times, not once:\n{old}$"
    refused(WORKING, old, "", why)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Scores, config: Config) -> tuple[C", "Scores, config: Config = X) -> tuple[C", "stands around fit"),
        ("def slot_name(", "@staticmethod\ndef slot_name(", "stands around slot_name"),
        (
            "from umi_core import errors, limits\n",
            "from umi_core import errors\n",
            "when it was imported: from umi_core import errors, limits",
        ),
        ("class CoreWrite(Data):", "class CoreWrite:", "stands around CoreWrite"),
        (
            "    guard_version: Count = 0\n\n    @p",
            "    guard_version: Count = 1\n\n    @p",
            "CoreTier.guard_version",
        ),
        (
            "ENTRY_KINDS: Final = BLOCK_KINDS[1:]",
            "ENTRY_KINDS: Final = BLOCK_KINDS[2:]",
            "ENTRY_KINDS cannot change: umi_sim.* has",
        ),
        ("def slot_name(", "def slot_name(:", "the new text is no Python"),
        ("# The parts of a transition.\n", "# Parts of it.\n", "changes nothing"),
    ],
)
def test_what_cannot_be_changed_from_outside_is_refused(old: str, new: str, why: str) -> None:
    import_module(
        "umi_sim.runs.runner"
    )  # and with it the judge, which has imported what it shares with umi_core
    refused("umi_core/tiers/core.py", old, new, why)


def test_only_files_of_umi_core_are_changed() -> None:
    refused("umi_sim/world/world.py", "x", "y", "umi_sim/world/world.py is no file of umi_core")
    refused("umi_core/no_such.py", "x", "y", "umi_core/no_such.py: cannot be read: No such file")


# Rows.


def test_each_name_stands_once_and_is_found_by_runs_or_by_a_test() -> None:
    names = [CANARY.name, *(bug.name for path in FILES for bug in rows(path))]
    assert sorted([*MUTANTS, *OF_TESTS]) == sorted(names)


ROW = {"area": "a", "behaviour": "b", "rules": ["c"], "scenario": "d", "file": "e", "old": "f", "new": "g"}


def test_a_row_is_a_mutant_with_one_edit_or_several() -> None:
    one = Mutant("n", "a", "b", (TextEdit("e", "f", "g"),), ("c",), "d")
    assert mutant("n", ROW, "x.toml: n") == one
    several = {key: ROW[key] for key in ("area", "behaviour", "rules", "scenario")}
    edits = [{"file": "e", "old": "f", "new": "g"}] * 2
    assert mutant("n", {**several, "edit": edits}, "x.toml: n") == structs.replace(one, edits=one.edits * 2)


def test_a_row_that_names_a_test_needs_neither_rules_nor_a_scenario() -> None:
    row = {key: ROW[key] for key in ("area", "behaviour", "file", "old", "new")}
    tested = TestedMutant("n", "a", "b", (TextEdit("e", "f", "g"),), "t.py::t")
    assert mutant("n", {**row, "detected_by": "t.py::t"}, "x.toml: n") == tested
    with pytest.raises(BadMutant, match=re.escape("x.toml: n: rules is no key")):
        mutant("n", {**ROW, "detected_by": "t.py::t"}, "x.toml: n")


@pytest.mark.parametrize("lacking", ["behaviour", "rules", "scenario", "file", "old", "new"])
def test_a_row_that_lacks_something_says_what_and_where(lacking: str) -> None:
    with pytest.raises(BadMutant, match=f"^x.toml: n has no {lacking}$"):
        mutant("n", {key: value for key, value in ROW.items() if key != lacking}, "x.toml: n")


def test_a_key_that_is_not_read_is_an_error() -> None:
    with pytest.raises(BadMutant, match=re.escape("x.toml: n: rule is no key")):
        mutant("n", {**ROW, "rule": "c"}, "x.toml: n")


def test_a_setting_is_a_text_as_a_command_takes_it() -> None:
    with pytest.raises(
        BadMutant, match=re.escape("settings.run.equivalences is ['E-FORGE'], expected a text")
    ):
        mutant("n", {**ROW, "settings": {"run.equivalences": ["E-FORGE"]}}, "x.toml: n")


def test_a_bug_is_looked_for_without_equivalences_unless_they_show_it() -> None:
    in_runs, compared = MUTANTS[CANARY.name], MUTANTS["forged-facts-believed"]
    assert in_runs.hunted == {"run.equivalences": "[]"}
    assert compared.hunted == compared.overrides


def test_a_bug_that_keeps_something_is_planted_anew_for_each_seed() -> None:
    """Plant a bug that keeps a global: its value after the first seed hides the bug in all later seeds."""
    found = hunt(structs.replace(MUTANTS["patience-outlives-a-life"], seeds_max=14))
    assert (found.is_found, found.seeds > 1) == (True, True)

"""Goal: the bench compares like with like, its page has room for every table, and its guard bites."""

import json

import pytest
from msgspec import structs

from tests.sessions_store import PLANTED, Store
from tools.bench import bugs, compare, stores
from tools.bench.others import TOOLS, Watch, watched
from tools.bench.plain import RULES
from tools.bench.shrinking import BUGS, PLAIN_BUGS
from umi_core.workflows import BUILT_IN
from umi_sim.mutants import Mutant, plant_mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.runs.mutation_run import MutantHunt

LOOP = TOOLS["loop"][1]


def test_each_planted_bug_has_its_seeds_and_nothing_else_has() -> None:
    missing = sorted(set(MUTANTS) ^ set(bugs.kept()))
    assert missing == [], f"run: python tools/bench/bugs.py --write {' '.join(missing)}"


def hunted(seeds: int, rule: str = "r") -> MutantHunt:
    return MutantHunt("a-bug", rule, ("r",), seeds, 0)


@pytest.mark.parametrize(("now", "kept"), [(8, 1), (8, 4), (10, 5), (200, 100)])
def test_a_bug_may_take_twice_its_seeds_and_eight_in_any_case(now: int, kept: int) -> None:
    assert bugs.wrong(hunted(now), kept) == ""
    assert bugs.allowed(kept) == now
    assert "a-bug: LOST or late" in bugs.wrong(hunted(now + 1), kept)


def test_a_bug_that_another_rule_sees_is_lost() -> None:
    assert ". another sees it now: if it may, name it" in bugs.wrong(hunted(1, "another"), 1)
    assert "sees it now" not in bugs.wrong(hunted(9), 1)
    assert "sees it now" not in bugs.wrong(hunted(8, ""), 1)


def test_the_guard_finds_what_it_kept_and_tells_what_is_lost(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "missing-session-succeeds"
    assert bugs.main(["--check", name]) == 0
    assert f"kept {bugs.kept()[name]:>3}" in capsys.readouterr().out
    blind = structs.replace(MUTANTS[name], rules=("progress",))
    monkeypatch.setitem(MUTANTS, name, blind)
    assert bugs.main(["--check", name]) == bugs.HARNESS
    assert f"{name}: LOST or late" in capsys.readouterr().out
    gone = structs.replace(
        MUTANTS[name], edits=(structs.replace(MUTANTS[name].edits[0], old="no such text"),)
    )
    monkeypatch.setitem(MUTANTS, name, gone)
    assert bugs.main(["--check", name]) == bugs.HARNESS
    assert "cannot be planted" in capsys.readouterr().out


def test_a_bug_without_seeds_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bugs, "kept", dict)
    assert bugs.main(["--check", "load-merges"]) == bugs.HARNESS
    assert "run: python tools/bench/bugs.py --write load-merges" in capsys.readouterr().out


def test_a_bug_that_its_first_seed_shows_no_more_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bugs, "seeds_of", lambda mutant: iter((5, 6, 7)))
    for showing, message in ((5, ""), (7, "stale, 3 seeds"), (8, "NOT FOUND")):
        monkeypatch.setattr(
            bugs, "hunt", lambda mutant, seed, showing=showing: hunted(1, "r" if seed == showing else "")
        )
        assert bugs.main(["--stale", "load-merges"]) == (bugs.HARNESS if message else 0)
        assert message in capsys.readouterr().out


def test_bugs_with_settings_of_their_own_are_looked_for_without_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["core-shows-old-version", "get-alive-at-expiry"]
    assert [bool(MUTANTS[name].settings) for name in names] == [True, False]
    looked_for = list[object]()

    def hunt(mutant: Mutant, first: int) -> MutantHunt:
        looked_for.append((mutant, first))
        return hunted(3)

    monkeypatch.setattr(bugs, "hunt", hunt)
    assert bugs.main(["--ordinary", "70", *names]) == 0
    assert looked_for == [(structs.replace(MUTANTS[names[0]], settings={}), 70)]
    summary = "2 bugs, 1 of them with settings of their own; ordinary worlds show 1 of these"
    assert summary in capsys.readouterr().out


def test_what_was_found_is_kept_in_the_order_of_the_bugs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    assert isinstance(tmp_path, type(bugs.KEPT))
    monkeypatch.setattr(bugs, "KEPT", tmp_path / "seeds.json")
    assert bugs.main(["--write", "missing-session-succeeds", "get-alive-at-expiry"]) == 0
    names = list(json.loads(bugs.KEPT.read_text()))
    assert names == [it for it in MUTANTS if it in names]
    assert len(names) == 2


def test_the_page_has_a_place_for_each_table() -> None:
    page = compare.PAGE.read_text()
    sections = {name: f"figures of {name}" for name in (compare.HEAD, *compare.SECTIONS)}
    written = compare.filled(page, sections)
    assert [text for text in sections.values() if text not in written] == []
    assert compare.filled(written, sections) == written
    with pytest.raises(ValueError, match="needs <!-- wind: printed by"):
        compare.filled(page, {"wind": ""})


def test_each_program_of_the_bench_is_there() -> None:
    assert [it.program for it in compare.SECTIONS.values() if not (compare.HERE / it.program).exists()] == []


def test_a_package_that_is_not_installed_is_reported_as_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "OTHERS", ("hypothesis", "no-such-tool"))
    assert "Left out, because they are not installed: no-such-tool." in compare.head()


def test_there_are_fifteen_bugs_to_compare() -> None:
    assert len(set(BUGS) & set(MUTANTS)) == 15


def test_without_a_bug_the_small_task_finds_nothing() -> None:
    watch = watched(LOOP, Watch(lives_max=60))
    assert watch.failures == []
    assert watch.life_count == 60


@pytest.mark.parametrize("bug", PLAIN_BUGS)
def test_the_small_task_shows_each_bug_that_it_is_compared_on(bug: str) -> None:
    with plant_mutant(bug, BUILT_IN) as registry:
        watch = watched(LOOP, Watch(registry))
    assert len(watch.failures) == 1


def test_the_small_task_makes_each_request() -> None:
    made = {make.__name__ for make, _ in RULES.values()}
    assert len(made) == len(RULES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Store, *PLANTED])
def test_a_loop_finds_what_is_planted_in_a_store_and_nothing_else(kind: type[Store]) -> None:
    found = stores.theirs(LOOP, kind, 3)
    assert (found is None) == (kind is Store)

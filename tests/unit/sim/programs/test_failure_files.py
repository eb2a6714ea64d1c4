"""Goal: what is found is kept, replays strictly, and a file that cannot be read is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import agent_programs as agent
from tests.unit.sim.commands import umi
from umi_sim.programs import (
    CancelTask,
    DelayCallback,
    FailCall,
    FailSite,
    KillAtSite,
    KillProcess,
    OrderJobs,
    Perturbation,
    Program,
    ProgramRun,
    check,
    explore,
    replay,
    simulate,
)
from umi_sim.programs.failure_files import list_kept, read_case
from umi_sim.programs.perturbations import KINDS, read_perturbation
from umi_sim.programs.search import fingerprint_of, shrink, without_kill
from umi_sim.record.saved_failures import BadFile

EACH = [
    CancelTask(7, 2),
    KillProcess(31),
    FailCall("model", 2, "timeout"),
    FailSite("commit", 2),
    KillAtSite("write", 2, 40),
    DelayCallback(31, 2),
    OrderJobs(7, (3, 1)),
]


@pytest.mark.parametrize("each", EACH, ids=str)
def test_a_perturbation_reads_as_it_was_written(each: Perturbation) -> None:
    assert read_perturbation(json.loads(json.dumps(each.to_json()))) == each
    assert eval(each.show_script()) == each
    assert each not in each.list_simpler()


def test_there_is_an_example_of_each_kind() -> None:
    assert {type(each) for each in EACH} == set(KINDS.values())


def test_of_many_perturbations_the_one_that_is_needed_is_left() -> None:
    program = Program(agent.hang, resume=agent.take_lock)
    (finding,) = explore(agent.hang, resume=agent.take_lock).findings
    (cancel,) = finding.outcome.perturbations
    wanted = fingerprint_of(finding.broken)
    case = (FailCall("weather", 2, "slow"), cancel, OrderJobs(9, (4, 2)), KillProcess(90))
    assert shrink(program, case, 0, wanted) == (cancel,)


def test_what_struck_in_the_second_process_strikes_in_the_first() -> None:
    program = Program(agent.hang, resume=agent.take_lock)
    kill = KillProcess(5)
    assert without_kill((kill, CancelTask(8)), kill) == [CancelTask(4)]
    case = (kill, CancelTask(8))
    broken = simulate(agent.hang, *case, resume=agent.take_lock).broken
    assert broken is not None
    assert shrink(program, case, 0, fingerprint_of(broken)) == (CancelTask(4),)


def found_file(folder: Path) -> Path:
    with pytest.raises(AssertionError, match="resume hung"):
        check(agent.hang, resume=agent.take_lock, folder=folder)
    (path,) = folder.iterdir()
    return path


def test_a_finding_is_kept_and_run_first_the_next_time(tmp_path: Path) -> None:
    path = found_file(tmp_path)
    before = path.read_bytes()
    with pytest.raises(AssertionError, match="kept before: 1 run, 1 failing"):
        check(agent.hang, resume=agent.take_lock, folder=tmp_path)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [before]
    assert replay(agent.hang, path, resume=agent.take_lock).broken is not None
    assert replay(agent.take_lock, path).broken is None
    assert list_kept("other:main", tmp_path) == []


NAME = "tests.agent_programs:hanging"


def replayed(path: Path) -> tuple[int, str]:
    done = umi("replay", str(path), "--of", NAME)
    return done.exit_code, done.output


def test_a_replay_is_strict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = found_file(tmp_path)
    assert replayed(path)[0] == 0
    document = json.loads(path.read_text())
    other = {**document, "trace": "0" * 32}
    path.write_text(json.dumps(other))  # its checksum is wrong, so its trace proves nothing
    assert replayed(path)[0] == 0
    from umi_sim.formats.strict_json import checksum

    path.write_text(json.dumps({**other, "checksum": checksum(other)}))
    assert replayed(path)[0] == 4
    path.write_text(json.dumps({**document, "perturbations": []}))
    code, output = replayed(path)
    assert (code, output.splitlines()[0]) == (1, f"PASS {NAME}: {path} passes, where ends was broken")


async def read_missing(run: ProgramRun) -> None:
    raise ValueError(f"no file {run.folder / 'rows.db'}")


def test_a_failure_that_names_the_folder_of_its_run_is_the_same_in_a_replay() -> None:
    one, other = simulate(read_missing), simulate(read_missing)
    assert one.broken is not None
    assert one.broken.message == "main raised: ValueError: no file FOLDER/0/rows.db"
    assert (other.broken, other.outcome.trace) == (one.broken, one.outcome.trace)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "umi-seed"}, 'format: expected "umi-program"'),
        ({"min_reader": 2}, "min_reader: written for a newer umi_sim"),
        ({"perturbations": [{"kind": "cancel"}]}, "perturbations[0].step: missing"),
        ({"perturbations": [{"kind": "cancle"}]}, 'perturbations[0].kind: unknown kind "cancle"'),
        ({"perturbations": [{"kind": "kill", "step": 0}]}, "perturbations[0].step: expected a whole number"),
        ({"perturbations": [{"kind": "fail_site", "site": "x", "call": 1}]}, 'unknown site "x"'),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_in_one_line(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = found_file(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(BadFile) as caught:
        read_case(path)
    assert message in str(caught.value)
    code, output = replayed(path)
    assert (code, output.count("\n")) == (2, 1)
    with pytest.raises(BadFile, match="cannot be read"):
        read_case(tmp_path / "no.json")

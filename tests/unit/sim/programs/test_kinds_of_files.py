"""Goal: a file of a program is shown, explained, exported and refused as others are; it imports nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import agent_programs as agent
from tests.unit.sim.commands import refused, umi
from tests.unit.sim.pages.payloads import PAYLOADS
from tests.unit.sim.pages.test_pages import elements_of
from umi_sim.programs import KillProcess, Program
from umi_sim.programs.events import EVENT_COUNT_MAX, ProgramEvent, choose_events
from umi_sim.programs.exporting import succeeds
from umi_sim.programs.simulation import run_case
from umi_sim.shrink.search import Budget

AGENT = (Path(__file__).parents[3] / "agent_programs.py").read_text()
PROGRAMS = """
hanging = Program(hang, resume=take_lock)
leaking = Program(leak)
forgetting = Program(forget_result, resume=refuse_open_calls)
unsettled = Program(forget_result, resume=accept_open_calls, without=["leaks_no_task"])
early = Program(acknowledge_early, resume=accept_open_calls, verify=verify)


def has_history(outcome: Any) -> str | None:
    return None if outcome.history else "it has no history"


ruled = Program(accept_open_calls, rules=[has_history])
"""
SCRIPTED = """
import asyncio
from umi_sim.programs import play_script

model = play_script("model", ["sunny"])


async def main():
    ticking = asyncio.create_task(asyncio.sleep(60))
    await model()
    ticking.cancel()
"""
LEFT = """
import asyncio
from umi_sim.programs import service


@service
async def ask():
    return "sunny"


async def list_answers():
    yield await ask()


async def main():
    await asyncio.wait([asyncio.ensure_future(anext(list_answers(), None))])
"""
SWALLOWED = """
import asyncio
from umi_sim.programs import ends_when_cancelled

rules = [ends_when_cancelled]


async def main():
    try:
        await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        pass
"""
FILE = "case.json"


@pytest.fixture(autouse=True)
def _here(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("own_agent.py").write_text(AGENT + PROGRAMS)
    monkeypatch.delitem(sys.modules, "own_agent", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr("umi_sim.programs.exporting.HUNG_SECONDS", 1)
    monkeypatch.setattr("umi_sim.programs.own_loop.SECONDS_MAX", 0.5)
    monkeypatch.setattr("umi_sim.programs.own_loop.SETTLING_SECONDS", 0.02)


def event(text: str, kind: str = "step", step: int = 1) -> dict[str, Any]:
    return {"ms": 7, "step": step, "kind": kind, "subject": "main", "text": text}


def written(**changes: Any) -> str:
    document = {
        "format": "umi-program", "program": "own_agent:hanging", "seed": "0",
        "perturbations": [{"kind": "cancel", "step": 2}],
        "failure": {"rule": "ends", "message": "resume hung"},
        "events": [event("waits"), event("is cancelled", "injection"), event("hung", "end", 3)], **changes,
    }  # fmt: skip
    Path(FILE).write_text(json.dumps(document))
    return FILE


def found(name: str) -> str:
    """The file of what a search finds."""
    return str(json.loads(umi("program", f"own_agent:{name}", "--json").stdout)["findings"][0]["file"])


# Without the program.


def test_a_file_alone_tells_what_happened() -> None:
    output = umi("show", written()).stdout
    assert output.splitlines()[:2] == [
        "FAIL own_agent:hanging ends",
        f"  repeat   umi-sim replay {FILE} --of own_agent:hanging",
    ]
    assert "  promised main, resume and verify end: nothing hangs, and nothing goes on for ever" in output
    assert "  edited   the file was edited: what it tells proves nothing" in output
    assert output.splitlines()[-3:] == [
        "  events        7 ms  step 1      main waits", "                7 ms  step 1    ! main is cancelled",
        "                7 ms  step 3      main hung",
    ]  # fmt: skip
    many = [event("waits", step=number) for number in range(50)]
    output = umi("show", written(events=[*many, event("is cancelled", "injection"), *many])).stdout
    shown = [line for line in output.splitlines() if " ms  " in line]
    assert ("is cancelled" in shown[3], len(shown)) == (True, 30)
    assert output.splitlines()[-1].endswith("and 71 events more: --all shows them")
    assert umi("show", FILE, "--all").stdout.count("main waits") == 100
    assert umi("check", FILE).stdout == f"OK {FILE}: case of a program, 1 perturbation\n"
    assert "own_agent" not in sys.modules


def test_a_file_of_an_earlier_version_calls_its_events_by_other_names() -> None:
    first = {"ms": 7, "step": 1, "kind": "strike", "who": "", "what": "main is cancelled"}
    then = {"ms": 8, "step": 2, "kind": "life", "who": "", "what": "a new process begins"}
    output = umi("show", written(events=[first, then])).stdout
    assert output.splitlines()[-2:] == [
        "  events        7 ms  step 1    ! main is cancelled",
        "                8 ms  step 2      a new process begins",
    ]


def page_of(file: str) -> dict[str, Any]:
    assert umi("html", file, "--out", "page.html", "--quiet").exit_code == 0
    data = json.loads(elements_of(Path("page.html").read_text()).data)
    assert isinstance(data, dict)
    return data


def test_a_page_shows_events_in_their_lanes() -> None:
    data = page_of(written(events=[
        event("waits"), event("call 1 of model", "call"),
        {**event("returned", "end"), "subject": "task 3 (x)"},
        event("is cancelled", "injection"),
    ]))  # fmt: skip
    lanes = [(data["lanes"][step[5][0][0]], step[5][0][2]) for step in data["steps"]]
    assert lanes == [
        ("main", "wake"), ("services", "question"), ("other tasks", "reply"), ("perturbations", "fault"),
    ]  # fmt: skip
    assert [step[1] for step in data["steps"]] == [7] * 4
    assert data["facts"][1:] == [["instead", "resume hung"], ["injected", "main is cancelled before step 2"]]
    assert (data["title"], data["rule"]) == ("ends: own_agent:hanging", "ends")
    assert data["repeat"] == f"umi-sim replay {FILE} --of own_agent:hanging"


@pytest.mark.parametrize("hostile", [*PAYLOADS[::17], "os:system'; rm -r .", "mine:main --own-loop"])
def test_nothing_in_a_file_is_obeyed(hostile: str) -> None:
    page_of(written())
    plain = elements_of(Path("page.html").read_text()).found
    data = page_of(written(program=hostile, failure={"rule": hostile, "message": hostile}))
    assert elements_of(Path("page.html").read_text()).found == plain
    assert data["repeat"] == f"umi-sim replay {FILE} --of MODULE:NAME"
    assert "--of MODULE:NAME\n" in umi("show", FILE).stdout


@pytest.mark.parametrize("command", ["replay", "why", "export"])
def test_a_program_that_is_not_named_is_not_imported(command: str) -> None:
    message = refused(command, written())
    assert message.endswith(f"run only if you name it: umi-sim {command} {FILE} --of own_agent:hanging\n")
    assert "own_agent" not in sys.modules


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["step", FILE], "umi-sim show, html, replay, why and export read it"),
        (["bless", FILE], "umi-sim show, html, replay, why and export read it"),
        (["shrink", FILE], "which umi-sim shrink does not read: umi-sim show FILE and html FILE show it"),
        (["redact", FILE, "new.jsonl"], "is no recording of umi_live, and this command reads nothing else"),
        (["replay", FILE, "--relaxed"], "--relaxed: case.json is a case of a program of yours, and this"),
        (["shrink", FILE, "--again"], "--again: case.json is a case of a program of yours, and this option"),
        (["replay", FILE, "--of", "own_agent"], "own_agent: write MODULE:NAME, as in mine:main"),
        (["replay", "other.json", "--of", "a:b"], "--of a:b: other.json is no run of a store or a program"),
        (["export", FILE, "--of", "own_agent:hanging", "--out", "x.txt"], "--out x.txt: name a .py file"),
        (["replay", "other.json", "--own-loop"], "--own-loop: other.json is no case of a program of yours"),
    ],
)
def test_what_a_command_cannot_do_is_one_line(args: list[str], message: str) -> None:
    written()
    assert message in refused(*args)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"events": [event("waits")] * (EVENT_COUNT_MAX + 1)}, "events: expected at most 400 entries"),
        ({"events": [{**event("waits"), "kind": "exec"}]}, 'events[0].kind: unknown'),
        ({"events": [{**event("waits"), "ms": -1}]}, "events[0].ms: expected a whole number from 0"),
        ({"events": [{**event("waits"), "text": "x" * 2_000}]}, "events[0].text: expected text"),
        ({"seed": "-1"}, 'seed: expected a seed in digits, got "-1"'),
        ({"perturbations": [{"kind": "kill", "step": 1}] * 101}, "perturbations: expected at most 100"),
    ],
)  # fmt: skip
def test_each_field_is_checked(change: dict[str, Any], message: str) -> None:
    assert message in refused("show", written(**change))


def test_of_many_events_the_last_stay_and_all_that_struck() -> None:
    many = [ProgramEvent(0, number, "step", "main", "waits") for number in range(EVENT_COUNT_MAX)]
    injected = ProgramEvent(0, 1, "injection", "", "main is cancelled")
    kept = choose_events([injected, *many, *many])
    assert (len(kept), kept[0], kept[1:]) == (EVENT_COUNT_MAX, injected, many[1:])
    assert choose_events([*many[:3]]) == many[:3]


# With the program.


def test_what_happened_is_kept_in_order() -> None:
    events = json.loads(umi("show", found("hanging"), "--json").stdout)["events"]
    shown = [(it["step"], it["kind"], it["subject"], it["text"].split(" at ")[0]) for it in events]
    assert shown == [
        (0, "call", "", "call 1 of weather"), (1, "step", "main", "waits"),
        (1, "injection", "", "main is cancelled before step 2; main is"), (3, "end", "main", "cancelled"),
        (4, "step", "resume", "waits"),
        (4, "end", "", "resume hung: Stuck: waits for something that never happens"),
    ]  # fmt: skip


def test_a_watched_run_is_the_same_run() -> None:
    program, case = Program(agent.acknowledge_early, verify=agent.verify), (KillProcess(2),)
    watched = run_case(program, case, is_watched=True)
    assert watched == run_case(program, case)
    assert run_case(program, case).events == []
    events = [str(each) for each in watched.events]
    assert events[:5] == [
        "acknowledged: 'first'", "call 1 of store", events[2],
        "the process dies before step 2; main is at agent_programs.py:120 (acknowledge_early)",
        "a new process begins on what the last one left",
    ]  # fmt: skip
    assert events[2].startswith("main waits at agent_programs.py:")


def test_a_file_is_shown_with_the_place_of_its_cause() -> None:
    lines = umi("show", found("hanging")).stdout.splitlines()
    assert lines[3].startswith("  cause    main is cancelled before step 2; main is at own_agent.py:")
    assert "  cause    main is cancelled before step 2" in umi("show", written()).stdout.splitlines()


def test_the_same_failure_in_other_words_is_as_recorded() -> None:
    """A newer umi_sim may say more clearly what an older one has recorded."""
    from umi_sim.formats.strict_json import checksum

    path = Path(found("hanging"))
    document = json.loads(path.read_text())
    document["failure"] |= {"message": "resume does not end", "fingerprint": "0" * 12}
    path.write_text(json.dumps({**document, "checksum": checksum(document)}))
    assert umi("replay", str(path), "--of", "own_agent:hanging").exit_code == 0
    path.write_text(json.dumps({**document, "trace": "", "checksum": ""}))
    assert umi("replay", str(path), "--of", "own_agent:hanging").exit_code == 1


def test_a_script_runs_in_the_folder_of_the_program_wherever_it_lies() -> None:
    Path("shown").mkdir()
    case = [{"kind": "cancel", "step": 2}, {"kind": "kill", "step": 90}]
    file = written(perturbations=case)
    for name in (file, found("hanging")):
        assert umi("export", name, "--of", "own_agent:hanging", "--out", "shown/show.py").exit_code == 0
        done = subprocess.run([sys.executable, "shown/show.py"], capture_output=True, check=False)
        assert (done.returncode, b"ModuleNotFoundError" in done.stderr) == (1, False)


def test_why_leaves_out_no_perturbation_after_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 0.0, 1.0))
    monkeypatch.setattr(Budget, "clock", property(lambda _: lambda: next(clock)))
    kills = [{"kind": "cancel", "step": 2}, {"kind": "kill", "step": 90}]
    lines = umi("why", "--seconds", "1", written(perturbations=kills), "--of", "own_agent:hanging").stdout
    assert lines.splitlines()[-2:] == [
        "  needed   main is cancelled before step 2; without it: passes",
        "  stopped  after 1 second (--seconds): this is what was found by then",
    ]


def test_why_leaves_out_each_perturbation() -> None:
    kills = [{"kind": "cancel", "step": 2}, {"kind": "kill", "step": 90}]
    lines = umi("why", written(perturbations=kills), "--of", "own_agent:hanging").stdout.splitlines()
    assert lines[0] == "WHY own_agent:hanging ends"
    assert lines[-2:] == [
        "  needed   main is cancelled before step 2; without it: passes",
        "           the process dies before step 90; without it: breaks ends",
    ]
    passes = refused("why", written(perturbations=[]), "--of", "own_agent:hanging")
    assert "passes now, and there is nothing to explain" in passes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hanging", "leaking", "forgetting", "early"])
def test_a_cancel_is_exported_as_plain_asyncio(name: str) -> None:
    file = found(name)
    done = umi("export", file, "--of", f"own_agent:{name}", "--out", "show.py")
    assert done.stdout.splitlines() == [
        "WROTE show.py", "  needs    asyncio's own loop, and no umi_sim", "  run      python show.py",
    ]  # fmt: skip
    text = Path("show.py").read_text()
    assert "from umi_sim" not in text
    assert "simulate" not in text
    isolated = [sys.executable, "-c", "import runpy, sys; sys.path[:0] = ['']; runpy.run_path('show.py')"]
    assert subprocess.run(isolated, capture_output=True, check=False).returncode == 1
    passes = text.replace("cancels = 0, [2]", "cancels = 0, []").replace(
        "cancels = 0, [6]", "cancels = 0, []"
    )
    Path("show.py").write_text(passes)
    assert not succeeds(Path("show.py"))


def test_a_script_that_fails_its_trial_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "scripted", raising=False)
    Path("scripted.py").write_text(SCRIPTED)
    (finding,) = json.loads(umi("program", "scripted:main", "--json").stdout)["findings"]
    done = umi("export", finding["file"], "--of", "scripted:main", "--out", "show.py")
    assert done.stdout.splitlines()[1] == "  needs    umi_sim"  # the stand-in has no play_script
    assert "simulate(main, CancelTask(step=2), own_loop=True)" in Path("show.py").read_text()


@pytest.mark.parametrize("source", [LEFT, SWALLOWED])
def test_a_task_that_waits_for_a_call_and_a_lost_cancel_are_shown_in_plain_asyncio(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that is left ends after 40 ms, which is no reason to leave it."""
    monkeypatch.delitem(sys.modules, "scripted", raising=False)
    Path("scripted.py").write_text(source)
    (finding,) = json.loads(umi("program", "scripted:main", "--json").stdout)["findings"]
    assert umi("replay", finding["file"], "--of", "scripted:main", "--own-loop").exit_code == 0
    done = umi("export", finding["file"], "--of", "scripted:main", "--out", "show.py")
    assert done.stdout.splitlines()[1] == "  needs    asyncio's own loop, and no umi_sim"
    Path("scripted.py").write_text(source.replace("wait([", "gather(*[").replace("pass", "raise"))
    assert not succeeds(Path("show.py"))


def test_what_asyncio_alone_cannot_show_calls_simulate() -> None:
    file = found("unsettled")
    done = umi("export", file, "--of", "own_agent:unsettled", "--out", "show.py")
    assert done.stdout.splitlines()[1] == "  needs    umi_sim"
    text = Path("show.py").read_text()
    assert "simulate(unsettled.main, CancelTask(step=6), resume=unsettled.resume" in text
    assert "own_loop=True" in text
    own: dict[str, Any] = {}
    exec(compile(text, "show.py", "exec"), own)
    with pytest.raises(AssertionError, match="call 'call-1' has no result"):
        own["test_it_no_longer_happens"]()
    file = written(perturbations=[{"kind": "cancel", "step": 2}, {"kind": "kill", "step": 90}], seed="5")
    assert umi("export", file, "--of", "own_agent:hanging", "--out", "show.py").exit_code == 0
    script = "simulate(hanging.main, CancelTask(step=2), KillProcess(step=90), seed=5, resume=hanging.resume)"
    assert script in Path("show.py").read_text()


def test_a_rule_of_its_own_is_part_of_the_script() -> None:
    umi("program", "own_agent:ruled")
    (file,) = Path(".umi-sim/programs").glob("*ruled*")
    result = umi("export", str(file), "--of", "own_agent:ruled", "--out", "show.py")
    assert result.exit_code == 0
    assert "rules=ruled.rules" in Path("show.py").read_text()

"""Goal: a scenario is refused with all that is wrong, or draws from any seed a configuration that can run."""

import os
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.config import Config
from umi_core.messages.requests import COMMON, REQUESTS
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.toml_reader import FILE_BYTES_MAX, NESTING_MAX
from umi_sim.record.run_config import RunConfig
from umi_sim.scenario.drawing import MODES
from umi_sim.scenario.files import BadScenario, Scenario, draw, find, list_shipped, load, parse

HEAD = '[scenario]\nid = "x"\ntitle = "An example"\n'
GROUPS = {"model", "embed", "storage", "agent", "clock", "link"}


def made(body: str = "", folder: Path | None = None) -> Scenario:
    return parse(HEAD + body, "x.toml", folder)


def problems_of(text: str) -> list[str]:
    with pytest.raises(BadScenario) as caught:
        parse(text, "x.toml", None)
    return list(caught.value.problems)


def drawn(body: str, mode: str = "swarm", seed: int = 1) -> RunConfig:
    return draw(made(f'swarm = {{ mode = "{mode}" }}\n{body}'), seed)


# Refused.


RATIO = 'expected a ratio "n/d" with n <= d <= 10^9, got'
COUNT = "agents.count: expected a whole number or [low, high], 1 to 4, got"
NO_FLOAT = "(floats and dates are not used)"
BOUNDED = "is not allowed, expected at least route_confidence_min_ppm"
AGENTS, RUN = (
    "known: count, users, scopes, in_flight, categories",
    "known: policy, revise_every, steps_max, marks, off, equivalences, reason",
)
TABLES = "known: scenario, agents, workload, clock, services, run, memory, limits, faults, explore"
NAME = "expected a name of a-z 0-9 -, got"
TIME = "expected a whole number from 0 to 4503599627370496, got"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("[agnets]\ncount = 1", "agnets: unknown key; did you mean agents?"),
        ("[sweep]\ndepth = 1", f"sweep: unknown key; {TABLES}"),
        ("swarm = { pun = {} }", "scenario.swarm.pun: unknown key; did you mean pin?"),
        ("swarm = { pin = { lost = true } }", "scenario.swarm.pin.lost: unknown key; did you mean loss?"),
        (
            'swarm = { pin = { loss = false } }\n[faults]\nstorage_wiped = "1/9"',
            "faults.storage_wiped: destroys, and scenario.swarm.pin.loss is false",
        ),
        (
            "[services]\nstorage = { capacity_bytes = 0 }",
            "services.storage.capacity_bytes: expected a whole number from 1 to 1099511627776, got 0",
        ),
        ('swarm = { mode = "none" }',
         'scenario.swarm.mode: unknown mode "none"; known: any, plain, one_kind, swarm'),
        ('swarm = { mode = "one_kind" }\n[faults]',
         "scenario.swarm.mode: one_kind needs a kind of fault that may be on"),
        ('swarm = { pin = { kind = "model_slow" } }\n[faults]\nstorage = true',
         "scenario.swarm.pin.kind: model_slow is off in [faults]"),
        ('swarm = { pin = { kind = "model" } }',
         'scenario.swarm.pin.kind: unknown kind of fault "model"; did you mean model_cut?'),
        ('[agents]\nscopes = "hostile"\nusers = 2',
         "agents.users: hostile scopes name the users themselves"),
        ('target = "mem0"', 'scenario.target: unknown target "mem0"; known: umi_core, migrator'),
        ("version = 0", "scenario.version: expected a whole number from 1 to 1000000, got 0"),
        ("version = true", "scenario.version: expected a whole number from 1 to 1000000, got true"),
        ('manual = "yes"', 'scenario.manual: expected true or false, got "yes"'),
        ('mutant = "A bug"', f'scenario.mutant: {NAME} "A bug"'),
        ("[agents]\nzebra = 1", f"agents.zebra: unknown key; {AGENTS}"),
        ('[agents]\n"a.b\\n" = 1', f"agents.a.b\\n: unknown key; {AGENTS}"),
        ("[agents]\ncount = [3, 1]", f"{COUNT} [3, 1]"),
        ("[agents]\ncount = [1]", f"{COUNT} [1]"),
        ("[agents]\ncount = 5", f"{COUNT} 5"),
        ("[agents]\ncount = 1.5", f"{COUNT} 1.5 {NO_FLOAT}"),
        ("[agents]\ncount = [1.5, 2]", f"{COUNT} [1.5, 2]"),
        ("[clock]\nstart_ms = 2020-01-01", f"clock.start_ms: {TIME} 2020-01-01 {NO_FLOAT}"),
        ("[clock]\nland = 0.25", f"clock.land: {RATIO} 0.25 {NO_FLOAT}"),
        ('[clock]\nland = "3/2"', f'clock.land: {RATIO} "3/2"'),
        ('[clock]\nland = "0/0"', f'clock.land: {RATIO} "0/0"'),
        ('[clock]\nland = "1/1000000001"', f'clock.land: {RATIO} "1/1000000001"'),
        ('[clock]\nland = "١/٢"', f'clock.land: {RATIO} "\\u0661/\\u0662"'),
        ("[faults]\nmodel_truncted = true",
         "faults.model_truncted: unknown kind of fault (`umi-sim faults` lists them); "
         "did you mean model_truncated?"),
        ("[faults]\nzzz = true", "faults.zzz: unknown kind of fault (`umi-sim faults` lists them)"),
        ("[faults]\nmodel = 1", 'faults.model: expected true, false or a ratio "n/d", got 1'),
        ("[memory]\ncore_bytes_max = 12", "memory.core_bytes_max: expected a whole number or [low, high], "
         "4096 to 32768, got 12"),
        ('[memory]\nauto_populate = "some"',
         'memory.auto_populate: expected true, false or "any", got "some"'),
        ("[memory]\npromote_confidence_min_ppm = [100, 900_000]",
         f"memory: promote_confidence_min_ppm: 100 {BOUNDED}"),
        ("[memory]\nroute_confidence_min_ppm = [0, 900_000]",
         f"memory: promote_confidence_min_ppm: 800000 {BOUNDED}"),
        ("[workload.weights]\nsett = 1", "workload.weights.sett: unknown request; did you mean set?"),
        ("[workload.weights]\nset = 0", "workload.weights.set: expected a whole number from 1 to 100, got 0"),
        ("[workload.weights]", "workload.weights: expected at least one request"),
        ("[workload]\nkeys = 2\n[workload.weights]\nremember = 1",
         "workload.keys: no request of workload.weights has a key"),
        ("[workload]\nweights = 3", "workload.weights: expected keys with values, got 3"),
        ('[workload]\nkind = "x"',
         'workload.kind: unknown kind of workload "x"; known: generated, transcript, script'),
        ('[workload]\nkind = "transcript"',
         'workload.transcript: missing, kind = "transcript" needs one'),
        ('[workload]\nkind = "script"', 'workload.script: missing, kind = "script" needs one'),
        ("[services]\nlatency = []", "services.latency: expected at least one entry, got 0"),
        ('[run]\noff = ["ttl-range", "ttl-range"]\nreason = "r"',
         'run.off: expected different names, got ["ttl-range", "ttl-range"]'),
        ('[services]\nlatency = ["far"]',
         'services.latency[0]: unknown latency "far"; known: instant, short, spread'),
        ('[services]\nlatency = "short"', 'services.latency: expected a list, got "short"'),
        ('[run]\npolicy = ["pct(6)"]',
         'run.policy[0]: expected fifo, lifo, random, pct, or pct(1) to pct(5), got "pct(6)"'),
        ('[run]\nmarks = { "a: b" = 1 }', f"run.marks.a: b: {RATIO} 1"),
        ('[run]\nmarks = { "" = "1/2" }', 'run.marks: expected 1 to 200 characters in a line, got ""'),
        ('mutant = "get-alive-at-expirry"',
         "scenario.mutant: get-alive-at-expirry: no such planted bug; did you mean get-alive-at-expiry?"),
        ('mutant = "x"', "scenario.mutant: x: no such planted bug; umi-sim mutants --list shows them"),
        ('[run]\noff = ["ttl-boundary"]', "run.reason: missing, say why rules are off"),
        ('[run]\noff = ["ttl-bundary"]',
         'run.off[0]: unknown rule (umi-sim explain lists them) "ttl-bundary"; '
         "did you mean ttl-boundary?"),
        ('[run]\noff = ["progress"]', "run.off[0]: progress cannot be off"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(body: str, problem: str) -> None:
    assert problems_of(HEAD + body) == [f"x.toml: {problem}"]


GET = 'at_ms = 0, agent = "a", name = "get"'


@pytest.mark.parametrize(
    ("op", "problem"),
    [
        ("3", ": expected keys with values, got 3"),
        ('{ agent = "a", name = "len" }', ".at_ms: missing"),
        ('{ at_ms = -1, agent = "a", name = "len" }', f".at_ms: {TIME} -1"),
        ('{ at_ms = 0, agent = "e", name = "len" }', '.agent: expected an agent from a to d, got "e"'),
        ('{ at_ms = 0, agent = "b", name = "len" }', ".agent: only 1 of agents.count are in every run"),
        ('{ at_ms = 0, agent = "a", name = "lenn" }', '.name: unknown request "lenn"; did you mean len?'),
        (f'{{ {GET}, args = {{ kee = "k", key = "k" }} }}', ".args.kee: unknown key; did you mean key?"),
        (f"{{ {GET} }}", ".args.key: missing"),
        (f"{{ {GET}, args = 3 }}", ".args: expected keys with values, got 3"),
        (f"{{ {GET}, args = {{ key = [{{ x = 0.5 }}] }} }}",
         '.args.key: expected text, got [{"x": 0.5}]'),
        (f"{{ {GET}, args = {{ key = 0xffffffffffffffff }} }}",
         ".args.key: expected text, got 18446744073709551615"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_script_is_named(op: str, problem: str) -> None:
    assert problems_of(f'{HEAD}[workload]\nkind = "script"\nscript = [{op}]') == [
        f"x.toml: workload.script[0]{problem}"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "scenario: missing"),
        ('[scenario]\ntitle = "t"', "scenario.id: missing"),
        ('[scenario]\nid = "x"', "scenario.title: missing"),
        ('[scenario]\nid = "X-1"\ntitle = "t"', 'scenario.id: expected 1 to 40 of a-z 0-9 _, got "X-1"'),
        ('[scenario]\nid = "x"\ntitle = "a\\nb"',
         'scenario.title: expected 1 to 200 characters in a line, got "a\\nb"'),
        ("scenario = 1", "scenario: expected keys with values, got 1"),
        ("[scenario]\nid = ", "not TOML: Invalid value (at end of document)"),
        ("#" * FILE_BYTES_MAX + "#", f"larger than {FILE_BYTES_MAX} bytes"),
        ('a = "\udcff"', "not UTF-8"),
        ("a = " + "[" * 17, "nested more than 16 deep"),
        ("a." * 17 + "b = 1", "more than 16 dots in a line"),
        ("a = 0x" + "f" * 199, "a word of more than 200 characters"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_scenario_is_refused(text: str, problem: str) -> None:
    assert problems_of(text) == [f"x.toml: {problem}"]


def test_all_findings_come_together_in_the_order_of_the_file() -> None:
    body = '[agents]\ncount = 9\n[clock]\nland = 1\nskeww = true\n[run]\noff = ["ttl-range"]\n'
    body += '[workload]\nkind = "script"'
    assert [problem.split(": ")[1] for problem in problems_of(HEAD + body)] == [
        "agents.count", "clock.land", "clock.skeww", "workload.script", "run.reason",
    ]  # fmt: skip


def test_findings_are_bounded_in_number_and_length() -> None:
    problems = problems_of(HEAD + "".join(f'"{n}{"k" * 5_000}" = 1\n' for n in range(40)) * 1)
    assert max(map(len, problems)) < 200
    assert len(problems_of(HEAD + "[faults]\n" + "".join(f"k{n} = 1\n" for n in range(9_000)))) == 50


@pytest.mark.parametrize(
    "bomb",
    [
        "a = " + "[" * 100_000,
        'a = """a""""' + ', [ """a""""' * 10_000,
        "a" + ".a" * 100_000 + " = 1",
        "a = 0x" + "f" * 200_000,
        'a = "' + '\\"""' * 60_000,
        "[" + "a." * 100_000 + "a]",
        "a = '''" * 30_000,
    ],
)
def test_a_bomb_is_refused_at_once(bomb: str) -> None:
    assert problems_of(bomb)


def test_brackets_and_dots_inside_texts_and_comments_are_free() -> None:
    free = "[{." * 1_000
    texts = (f'"{free}"', f"'{free}'", f'"""\n{free}\n"a\\"""""', f"'''\n{free}\n'''")
    ops = (
        f'{{ at_ms = 0, agent = "a", name = "set", args = {{ key = "k", value = {text} }} }}'
        for text in texts
    )
    scenario = made(f'# {free}\n[workload]\nkind = "script"\nscript = [{", ".join(ops)}]')
    assert [op["args"]["value"].strip(b"\n'\"a") for op in scenario.script] == [free.encode()] * 4


def test_as_deep_as_allowed_is_read() -> None:
    depth = NESTING_MAX - 4
    nested = '"x"' if depth == 0 else "[" * depth + '"x"' + "]" * depth
    op = f'{{ at_ms = 0, agent = "a", name = "get", args = {{ key = {{ odd = {nested} }} }} }}'
    assert len(made(f'[workload]\nkind = "script"\nscript = [{op}]').script) == 1


def parsed(text: str) -> Scenario | BadScenario:
    try:
        return parse(text, "x.toml", None)
    except BadScenario as bad:
        return bad


@given(st.text(max_size=200))
def test_any_text_is_a_scenario_or_refused_in_lines(text: str) -> None:
    for each in map(parsed, (text, HEAD + text, f"{HEAD}[memory]\n{text}")):
        assert isinstance(each, Scenario) or not any("\n" in problem for problem in each.problems)


DAMAGES = ("", "[", "]]", '"', "'''", "\n", "0.5", "=", "true", "1979-05-27", "\0")


@given(st.data())
def test_a_damaged_file_is_refused_or_draws(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([path.read_text() for path in list_shipped().values()]))
    at, gone = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 3))
    scenario = parsed(text[:at] + data.draw(st.sampled_from(DAMAGES)) + text[at + gone :])
    assert isinstance(scenario, BadScenario) or draw(scenario, 1).seed == 1


# Files.


def test_an_unknown_name_is_refused_with_its_neighbour() -> None:
    with pytest.raises(BadScenario, match=r"^storage_strom: no such scenario; did you mean storage_storm\?$"):
        find("storage_strom")
    with pytest.raises(BadScenario, match=r"^x: no such scenario; umi-sim scenarios lists them$"):
        find("x")


def test_a_path_is_loaded_and_names_itself_in_problems(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(HEAD)
    assert find(str(path)).id == "x"
    path.write_bytes(HEAD.encode() + b'"\xff" = 1')
    with pytest.raises(BadScenario, match=f"^{re.escape(str(path))}: not UTF-8$"):
        find(str(path))
    path.write_bytes(b"#" * FILE_BYTES_MAX + "é".encode() * 9)
    with pytest.raises(BadScenario, match="larger than"):
        load(path)


@pytest.mark.parametrize(
    ("name", "why"), [("gone.toml", "No such file or directory"), ("pipe.toml", "not a file")]
)
def test_what_is_no_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.toml")
    with pytest.raises(BadScenario, match=f"{name}: cannot be read: {why}$"):
        find(name)


def test_a_path_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(BadScenario, match="cannot be read"):
        find("\0.toml")


NO_TRANSCRIPT = r"workload\.transcript: .* is no file in the folder of the scenario$"


def transcript_of(path: str, folder: Path | None) -> str | None:
    return made(f'[workload]\nkind = "transcript"\ntranscript = "{path}"', folder).transcript


def test_a_transcript_is_kept_as_an_absolute_path(tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text("")
    assert transcript_of("talk.jsonl", tmp_path) == str((tmp_path / "talk.jsonl").resolve())


@pytest.mark.parametrize(
    "path", ["gone.jsonl", "../talk.jsonl", "link.jsonl", "loop", ".", "a" * 200, "é" * 200]
)
def test_a_transcript_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "talk.jsonl").write_text("")
    (folder / "link.jsonl").symlink_to(tmp_path / "talk.jsonl")
    (folder / "loop").symlink_to(folder / "loop")
    with pytest.raises(BadScenario, match=NO_TRANSCRIPT):
        transcript_of(path, folder)
    with pytest.raises(BadScenario, match=NO_TRANSCRIPT):
        transcript_of(str(tmp_path / "talk.jsonl"), folder)


def test_a_text_without_a_folder_has_no_transcript() -> None:
    with pytest.raises(BadScenario, match=NO_TRANSCRIPT):
        transcript_of("scenarios/data/small.jsonl", None)


# The shipped ones.


@pytest.mark.parametrize("name", list_shipped())
def test_a_shipped_scenario_draws_what_can_run(name: str) -> None:
    scenario = find(name)
    assert scenario.id == name
    for seed in range(12):
        config = draw(scenario, seed)
        Config.of(config.memory)
        assert list(config.weights) == [
            name for name in REQUESTS if name in (scenario.weights or config.weights)
        ]
        assert list(config.faults) == [kind for kind in KINDS if kind in config.faults]
        assert all(1 <= n <= d for n, d in config.faults.values())
        assert config.mode in MODES
        assert len(config.faults) <= {"plain": 0, "one_kind": 1, "swarm": len(KINDS)}[config.mode]
        assert 1 <= len(config.agents) <= 4
        assert config == draw(scenario, seed)


def test_all_that_is_promised_is_shipped() -> None:
    assert set(list_shipped()) >= set(
        "smoke calm working core sessions rendering retries handoff model_storm storage_storm crash_storm "
        "transcripts conversation contradictions languages answers canary storm all_faults tiny crowd "
        "tenants long_life revisions equivalences explore_working explore_snapshots explore_sessions "
        "explore_clocks explore_core explore_commit".split()
    )


def test_what_must_fail_takes_long_or_is_explored_is_manual() -> None:
    explored = [name for name in list_shipped() if find(name).explore]
    assert [name for name in list_shipped() if find(name).manual] == [
        "canary",
        *explored,
        "guests",
        "long_life",
    ]
    assert all(name.startswith("explore_") for name in explored)
    assert [find(name).mutant for name in list_shipped() if find(name).mutant] == ["get-alive-at-expiry"]


def test_smoke_reaches_every_request_and_every_fault() -> None:
    scenario = find("smoke")
    configs = [draw(scenario, seed) for seed in range(50)]
    assert {name for config in configs for name in config.weights} == set(COMMON)
    assert {name for config in configs for name in config.faults} == set(KINDS)
    assert {KINDS[name].group for config in configs for name in config.faults} == GROUPS


# Overrides.


def test_an_override_is_read_as_if_it_stood_in_the_file() -> None:
    scenario = made("[agents]\ncount = 2\n[faults]\nmodel = true")
    overrides = {
        "agents.count": "[3, 3]", "clock.land": '"1/5"', "faults.storage": "false",
        "scenario.swarm.mode": '"swarm"', "workload.weights.set": "7", "services.latency": '["short"]',
        "memory.auto_populate": "false",
    }  # fmt: skip
    config = draw(scenario, 3, overrides)
    assert (len(config.agents), config.land, config.latency) == (3, (1, 5), "short")
    assert (list(config.weights), config.memory["auto_populate"]) == (["set"], False)
    assert (scenario, draw(scenario, 3)) == (
        made("[agents]\ncount = 2\n[faults]\nmodel = true"),
        draw(scenario, 3, {}),
    )


@pytest.mark.parametrize(("key", "text"), [("clock.land", "1/5"), ("scenario.swarm.mode", "swarm")])
def test_an_override_survives_a_shell_that_takes_its_quotes(key: str, text: str) -> None:
    assert draw(made(), 3, {key: text}) == draw(made(), 3, {key: f'"{text}"'})


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("agents.cont", "1", "agents.cont: unknown key; did you mean count?"),
        ("agents.count", "9", "agents.count: expected a whole number or [low, high], 1 to 4, got 9"),
        ("agents.count", "[1", "agents.count: not TOML: Unclosed array (at end of document), got [1"),
        ("agents.count", "1\nx = 2", "agents.count: expected one value, got 1\\nx = 2"),
        ("agents.count.low", "1", "agents.count.low: unknown key"),
        ("agents", "1", "agents: expected keys with values, got 1"),
        ("agents.", "1", "agents: unknown key; known: count, users, scopes, in_flight, categories"),
        ("clock.land", "inf", f"clock.land: {RATIO} inf {NO_FLOAT}"),
    ],
)  # fmt: skip
def test_a_bad_override_is_refused(key: str, text: str, problem: str) -> None:
    with pytest.raises(BadScenario) as caught:
        draw(made("[agents]\ncount = 2"), 1, {key: text})
    assert caught.value.problems == (f"--set: {problem}",)


def test_a_scenario_travels_to_another_process() -> None:
    scenario = find("transcripts")
    assert pickle.loads(pickle.dumps(scenario)) == scenario

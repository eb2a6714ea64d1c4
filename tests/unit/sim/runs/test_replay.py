"""Goal: a replay says what became of a recorded run, and where the two part if they do."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from umi_core.messages.effects import AskModel
from umi_sim.record import trace
from umi_sim.record.items import ASK_COUNT_MAX
from umi_sim.runs.replay import NotRegenerated, regenerate, replay, trace_of
from umi_sim.runs.runner import run
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.fields import PLAIN
from umi_sim.seedfile.files import ExpectedResult, SeedFile
from umi_sim.services.recorded_replies import Sayings

TALK = """
[scenario]
id = "talk"
title = "One agent tells and asks"
swarm = { mode = "plain" }
[agents]
count = 1
[workload]
operations = 3
adversarial = "0/1"
weights = { remember = 3, recall = 2 }
[faults]
"""


TALE = '{kind = "transcript", transcript = "data/small.jsonl"}'


def recorded(name: str = "smoke", seed: int = 1, planted: str | None = None) -> SeedFile:
    config = structs.replace(scenario.draw(scenario.find(name), seed), planted=planted)
    return seed_file.of_verdict(run(config))


@pytest.fixture(scope="module")
def talk() -> SeedFile:
    return seed_file.of_verdict(run(scenario.draw(scenario.parse(TALK, "talk.toml", None), 3)))


@pytest.fixture(scope="module")
def failing() -> SeedFile:
    """The first seed that shows a planted bug."""
    found = (recorded("working", seed, "get-alive-at-expiry") for seed in range(50))
    return next(seed for seed in found if seed.failure is not None)


def mended(seed: SeedFile) -> SeedFile:
    return structs.replace(seed, config=structs.replace(seed.config, planted=None))


# The answers of the model.


def test_a_short_run_keeps_the_replies_of_the_model(talk: SeedFile) -> None:
    assert talk.model
    assert [reply.at for reply in talk.model] == list(dict.fromkeys(reply.at for reply in talk.model))
    assert seed_file.loads(seed_file.text_of(talk).encode(), "x").model == talk.model
    assert replay(talk).exit_code == 0


def test_strict_says_whose_prompt_changed_and_relaxed_counts_it(talk: SeedFile) -> None:
    other = structs.replace(talk.model[0], prompt="0" * 16)
    expect = structs.replace(talk.expect, trace="00" * 16)
    seed = structs.replace(talk, model=(other, *talk.model[1:]), expect=expect)
    assert f"the prompt of {other.at} has changed; " in replay(seed).why
    done = replay(seed, relaxed=True)
    assert (done.what, done.exit_code) == ("passes", 0)
    assert done.verdict.skipped == {"prompt changed": 1}


def test_relaxed_gives_the_recorded_answer_where_event_and_task_agree(talk: SeedFile) -> None:
    at = next(n for n, reply in enumerate(talk.model) if reply.task == "extract")
    silent = structs.replace(talk.model[at], text='{"entities":[],"relations":[]}')
    model = (*talk.model[:at], silent, *talk.model[at + 1 :])
    done = replay(structs.replace(talk, model=model), relaxed=True)
    assert silent in done.verdict.model
    elsewhere = structs.replace(silent, at="o9/extract#9")
    done = replay(structs.replace(talk, model=(elsewhere,)), relaxed=True)
    assert done.verdict.model == talk.model


def test_a_run_that_asks_often_keeps_nothing_of_it() -> None:
    sayings = Sayings()
    for number in range(ASK_COUNT_MAX + 1):
        assert len(sayings.list_replies()) == number
        sayings.answer(f"o{number}/extract#1", AskModel("r1", "extract", "x", 1))
    assert sayings.list_replies() == ()


# Where two runs part.


def test_the_step_in_which_a_run_parts_is_named_with_its_records(talk: SeedFile) -> None:
    assert talk.expect.every == 1
    prefix = list(talk.expect.prefix)
    prefix[6:] = [b"\0" * 6] * len(prefix[6:])
    done = replay(structs.replace(talk, expect=structs.replace(talk.expect, prefix=tuple(prefix))))
    assert (done.what, done.exit_code) == ("diverged", 4)
    assert done.why.startswith("the first difference is in step 7; ")
    kept = [trace.decode(record) for record in trace_of(talk).kept]
    steps = [at for at, record in enumerate(kept) if record[2] == trace.STEP]
    assert list(done.records) == kept[steps[5] + 1 : steps[6] + 1][:5]


def test_a_failure_that_is_gone_is_gone_though_its_mending_changed_earlier_steps() -> None:
    found = (recorded("working", seed, "overwrite-leaks-space") for seed in range(50))
    failing = next(seed for seed in found if seed.failure and seed.failure.rule == "space-accounting")
    done = replay(mended(failing))
    assert (done.what, done.exit_code) == ("passes", 1)
    assert done.why.startswith("the failure is gone: ")
    assert "; the first difference is in step" in done.why
    assert done.why.endswith("; umi-sim bless FILE")
    assert done.records


def test_a_pass_that_is_another_run_each_time_is_no_pass(
    failing: SeedFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect = structs.replace(failing.expect, prefix=(b"\0" * 6,), every=1)
    once = structs.replace(run(mended(failing).config, failing.items), trace_hash="00" * 16)
    monkeypatch.setattr("umi_sim.runs.replay.run", lambda *_, **__: once)
    done = replay(structs.replace(mended(failing), expect=expect))
    assert (done.what, done.exit_code) == ("diverged", 4)
    assert "not deterministic" in done.why


def test_digests_of_the_memory_stand_around_the_step_that_failed(failing: SeedFile) -> None:
    assert len(failing.before) == len(failing.after) == 16
    done = replay(failing)
    assert (done.what, done.exit_code) == ("same failure", 0)
    assert (done.verdict.before, done.verdict.after) == (failing.before, failing.after)


# What is expected.


def test_what_is_asked_for_counts_instead_of_what_the_file_expects(failing: SeedFile) -> None:
    assert replay(failing, expect="pass").exit_code == 1
    assert replay(mended(failing), expect="pass").exit_code == 0  # and its hashes say nothing
    done = replay(mended(failing), expect="fail")
    assert (done.what, done.exit_code) == ("passes", 1)
    assert "umi-sim bless FILE" in done.why


# From the seed alone.


def test_the_seed_alone_draws_the_same_items() -> None:
    done = regenerate(recorded())
    assert (done.why, done.exit_code) == ("same items; as recorded", 0)


def test_settings_count_when_a_run_is_drawn_anew() -> None:
    settings = {"workload.operations": "7", "scenario.swarm.mode": "plain"}
    config = scenario.draw(scenario.find("smoke"), 1, settings)
    seed = seed_file.loads(seed_file.text_of(seed_file.of_verdict(run(config))).encode(), "x")
    assert seed.config.settings == settings
    assert regenerate(seed).why == "same items; as recorded"
    without = structs.replace(seed, config=structs.replace(seed.config, settings={}))
    assert regenerate(without).why.startswith("generator changed at ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"settings": {"agents.cuont": "1"}},
            "mean nothing here: --set: agents.cuont: unknown key",
        ),
        (
            {"settings": {"workload.transcript": '"../x.jsonl"'}},
            "x.jsonl is no file in the folder of the scenario",
        ),
        ({"settings": {"workload": TALE}}, "recorded with a conversation of your own"),
        ({"workload": "transcript"}, "recorded with a conversation of your own"),
    ],
)
def test_settings_that_cannot_be_drawn_with_are_refused(changes: dict[str, Any], message: str) -> None:
    config = structs.replace(PLAIN, scenario="smoke", **changes)
    with pytest.raises(NotRegenerated, match=message):
        regenerate(SeedFile(config, (), ExpectedResult("pass")))


def test_the_first_item_that_is_drawn_otherwise_is_named() -> None:
    seed = recorded()
    other = structs.replace(seed.items[2], id="x9")
    done = regenerate(structs.replace(seed, items=(*seed.items[:2], other, *seed.items[3:])))
    assert done.why.startswith("generator changed at x9; ")
    shorter = regenerate(structs.replace(seed, items=seed.items[:-1]))
    assert shorter.why.startswith(f"generator changed at {seed.items[-1].id}; ")


def test_a_shrunk_file_is_compared_by_the_items_it_had_before(failing: SeedFile) -> None:
    counts = {"op": 1}
    shrunk = seed_file.Minimised(1, counts, counts, True)
    small = structs.replace(failing, items=failing.items[:1], minimised=shrunk)
    assert regenerate(structs.replace(small, original=failing.items)).why == "same items; as recorded"
    assert regenerate(small).why.startswith("the items before shrinking are not in the file; ")


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [("smoke", 99, "version 99, it is at version 1 now"), ("mine", 1, "mine is your own")],
)
def test_a_seed_that_means_something_else_is_refused(name: str, version: int, message: str) -> None:
    seed = SeedFile(structs.replace(PLAIN, scenario=name, version=version), (), ExpectedResult("pass"))
    with pytest.raises(NotRegenerated, match=message):
        regenerate(seed)


def test_the_records_of_a_replay_are_written(talk: SeedFile, tmp_path: Path) -> None:
    trace_of(talk).write(tmp_path / "x.trace", {})
    assert trace.read(tmp_path / "x.trace").hexdigest == talk.expect.trace

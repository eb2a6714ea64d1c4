"""Goal: the seed decides what a file leaves open, option by option, each setting at its documented rate."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

import pytest
from msgspec import structs

from umi_core.config import OPTIONS
from umi_core.memory import Memory
from umi_core.messages.requests import COMMON
from umi_core.values import Scope
from umi_sim.faults.kinds import KINDS
from umi_sim.record.run_config import RunConfig
from umi_sim.scenario.drawing import FLOORS, MODES, NUMBERS, ONE_KIND_RATE, START_MS, TINY
from umi_sim.scenario.files import Scenario, draw, find, parse
from umi_sim.workload.pools import NEIGHBOURS

HEAD = '[scenario]\nid = "x"\ntitle = "An example"\n'
GROUPS = {kind.group for kind in KINDS.values()}


def made(body: str = "") -> Scenario:
    return parse(HEAD + body, "x.toml", None)


def drawn(body: str, mode: str = "swarm", seed: int = 1) -> RunConfig:
    return draw(made(f'swarm = {{ mode = "{mode}" }}\n{body}'), seed)


def test_golden_draw() -> None:
    """A changed number here means that every seed of every scenario means something else."""
    config = draw(made(), 42)
    assert (config.mode, config.start_ms, config.latency, config.policy) == (
        "swarm",
        START_MS,
        "instant",
        "pct(5)",
    )
    assert [(each.name, each.scope, each.skew_ms) for each in config.agents] == [
        ("a", Scope("u1", "a1"), 1_644_268_257)
    ]
    assert config.memory == {
        "core_bytes_max": 4_096, "core_entry_count_max": 3,
        "working_bytes_max": 400, "working_entry_count_max": 3,
        "semantic_routing": True, "auto_populate": False, "auto_rebalance": False,
    }  # fmt: skip
    assert (config.operations_max, config.in_flight_max, config.key_count) == (353, 6, 5)
    assert (config.adversarial, config.land, config.repeat) == ((1, 8), (4, 8), (0, 16))
    assert list(config.weights.items())[:3] == [("get", 18), ("touch", 13), ("sweep", 2)]
    assert config.faults["storage_lost"] == (23, 1_024)


def test_a_plain_run_takes_no_chances() -> None:
    config = drawn("", "plain")
    assert config.agents[0].scope == Scope("u1", "a1")
    assert config == RunConfig(
        scenario="x", version=1, seed=1, mode="plain", agents=config.agents[:1], start_ms=START_MS,
        memory={}, weights=config.weights, faults={}, operations_max=50, in_flight_max=1, key_count=4,
        adversarial=(1, 4), land=(1, 4), repeat=(0, 1), latency="instant", policy="fifo", steps_max=70_000,
        equivalences=("E-RESTORE",),
    )  # fmt: skip
    assert list(config.weights) == list(COMMON)
    assert sum(config.weights.values()) == 73


def test_a_plain_run_stays_within_what_the_file_says() -> None:
    config = drawn(
        "[agents]\ncount = [2, 3]\nin_flight = [3, 5]\nusers = 2\n"
        '[workload]\noperations = [5, 9]\nkeys = 7\nweights = { get = 2, set = 3 }\nrepeat = "1/2"\n'
        '[clock]\nskew = true\nland = "0/1"\nstart_ms = 5\n'
        '[services]\nlatency = ["spread", "short"]\n[run]\npolicy = ["random", "fifo"]\nsteps_max = 7\n'
        "[memory]\ncore_entry_count_max = 3\nauto_rebalance = false\n[faults]\nmodel = true",
        "plain",
    )
    assert [agent.scope for agent in config.agents] == [Scope("u1", "a1"), Scope("u2", "a2")]
    assert [agent.skew_ms for agent in config.agents] == [0, 0]
    assert (config.in_flight_max, config.operations_max, config.key_count) == (3, 9, 7)
    assert (config.weights, config.faults, config.repeat) == ({"set": 3, "get": 2}, {}, (1, 2))
    assert (config.land, config.start_ms, config.steps_max) == ((0, 1), 5, 7)
    assert (config.latency, config.policy) == ("spread", "fifo")
    assert config.memory == {"core_entry_count_max": 3, "auto_rebalance": False}


@pytest.mark.parametrize(
    ("allowed", "plain", "swarm"),
    [
        ('["pct"]', "pct(1)", {f"pct({depth})" for depth in range(1, 6)}),
        ('["pct(3)", "fifo"]', "fifo", {"pct(3)", "fifo"}),
        ('["lifo"]', "lifo", {"lifo"}),
    ],
)
def test_a_file_may_name_its_schedules(allowed: str, plain: str, swarm: set[str]) -> None:
    body = f"[run]\npolicy = {allowed}"
    assert drawn(body, "plain").policy == plain
    assert {drawn(body, seed=seed).policy for seed in range(60)} == swarm


@pytest.mark.parametrize("mode", ["plain", "swarm"])
def test_a_scenario_without_equivalences_gets_none(mode: str) -> None:
    assert {drawn("[run]\nequivalences = []", mode, seed).equivalences for seed in range(20)} == {()}


def test_given_weights_stay_in_proportion_up_to_a_factor() -> None:
    base = {"set": 100, "get": 1}
    for seed in range(50):
        weights = drawn("[workload]\nweights = { get = 1, set = 100 }", seed=seed).weights
        assert list(weights) == ["set", "get"]
        assert all(
            weight in range(base[name], 20 * base[name] + 1, base[name]) for name, weight in weights.items()
        )


def test_an_alphabet_has_something_to_write_and_something_to_read() -> None:
    for seed in range(60):
        weights = drawn("", seed=seed).weights
        for floor, row in FLOORS.items():
            assert any(name in weights for name in row), (seed, floor)
    assert all(name in COMMON for row in FLOORS.values() for name in row)


def test_the_most_special_word_about_a_fault_counts() -> None:
    body = '[clock]\njumps = true\n[faults]\nmodel = "1/7"\nmodel_slow = false\n'
    body += 'storage = false\nstorage_lost = "0/5"\nstorage_torn = "2/3"'
    for seed in range(20):
        faults = drawn(body, seed=seed).faults
        models = [name for name, kind in KINDS.items() if kind.group == "model" and name != "model_slow"]
        assert {name: rate for name, rate in faults.items() if not name.startswith("clock")} == {
            **dict.fromkeys(models, (1, 7)), "storage_torn": (2, 3),
        }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "groups"),
    [
        ("", GROUPS),
        ("[faults]", set()),
        ("[clock]\njumps = false", GROUPS - {"clock"}),
        ("[clock]\njumps = true\n[faults]", {"clock"}),
        ("[clock]\njumps = true\n[faults]\nclock = false\nembed = true", {"embed"}),
    ],
)
def test_a_table_of_faults_holds_all_of_them(body: str, groups: set[str]) -> None:
    seen = {KINDS[name].group for seed in range(60) for name in drawn(body, seed=seed).faults}
    assert seen == groups


def test_agents_share_a_user_or_not() -> None:
    shared = drawn("[agents]\ncount = 4\nusers = 1\n[clock]\nskew = false").agents
    apart = drawn("[agents]\ncount = 4\nusers = 4\n[clock]\nskew = true").agents
    assert [(agent.name, agent.scope.user, agent.scope.agent) for agent in shared] == [
        ("a", "u1", "a1"), ("b", "u1", "a2"), ("c", "u1", "a3"), ("d", "u1", "a4"),
    ]  # fmt: skip
    assert [agent.scope.user for agent in apart] == ["u1", "u2", "u3", "u4"]
    assert [agent.skew_ms for agent in shared] == [0] * 4
    assert len({agent.skew_ms for agent in apart}) == 4


def test_a_script_is_kept_as_it_is() -> None:
    op = '{ at_ms = 5, agent = "a", name = "set", args = { key = "k", value = { hex = "ff00" } } }'
    config = drawn(
        f'[workload]\nkind = "script"\nscript = [{op}, {{ at_ms = 5, agent = "a", name = "len" }}]'
    )
    assert config.script == (
        {"at_ms": 5, "agent": "a", "name": "set", "args": {"key": "k", "value": b"\xff\x00"}},
        {"at_ms": 5, "agent": "a", "name": "len", "args": {}},
    )
    assert (config.workload, config.operations_max, config.weights) == ("script", 2, {})


def test_what_else_the_file_says_arrives() -> None:
    config = drawn(
        'mutant = "get-alive-at-expiry"\nversion = 3\n[run]\noff = ["ttl-range"]\nreason = "r"\n'
        "[services]\nflush_ms = 9"
    )
    assert (config.planted, config.version, config.off, config.flush_ms) == (
        "get-alive-at-expiry", 3, ("ttl-range",), 9,
    )  # fmt: skip
    assert made('[run]\nmarks = { "a: b" = "1/100" }').marks == {"a: b": (1, 100)}


OPTION_BODIES = {
    "agents": "[agents]\ncount = 4\nusers = 4\n[clock]\nskew = true",
    "in_flight_max": "[agents]\nin_flight = 64",
    "operations_max": "[workload]\noperations = 1000",
    "key_count": "[workload]\nkeys = 99",
    "weights": "[workload]\nweights = { set = 99 }",
    "adversarial": '[workload]\nadversarial = "1/99"',
    "repeat": '[workload]\nrepeat = "1/99"',
    "memory": "[memory]\nembedding_dims = 99",
    "start_ms": "[clock]\nstart_ms = 99",
    "land": '[clock]\nland = "1/99"',
    "faults": '[faults]\nmodel_slow = "1/99"',
    "flush_ms": "[services]\nflush_ms = 99",
    "pause_ms_max": "[workload]\npause_ms_max = 99",
    "revise_every": "[run]\nrevise_every = 99",
    "tamper_every": "[services]\ntamper_every = 99",
    "alike": "[workload]\nalike = true",
    "edges": '[workload]\nedges = "1/99"',
    "short_blocks": '[workload]\nshort_blocks = "1/99"',
    "media": '[workload]\nmedia = "1/99"',
    "retold": '[workload]\nretold = "1/99"',
    "retry": '[workload]\nretry = "1/99"',
    "nearly": '[workload]\nnearly = "1/99"',
    "page_rows": "[services]\nstorage = { page_rows = 99 }",
    "limits": "[limits]\nscan_count_max = 9",
}


@pytest.mark.parametrize("option", OPTION_BODIES)
def test_an_option_that_is_pinned_moves_no_other(option: str) -> None:
    for seed in range(20):
        free, pinned = (
            draw(made(body), seed, {"run.steps_max": "9"}) for body in ("", OPTION_BODIES[option])
        )
        again = {option: getattr(free, option)}
        if free.mode == "one_kind":
            again["loss_max"] = free.loss_max  # whether the one kind destroys
        assert structs.replace(pinned, **again) == free
        assert getattr(pinned, option) != getattr(free, option) or pinned.mode != "swarm"


def test_a_pinned_setting_moves_no_other_setting() -> None:
    for seed in range(20):
        free, pinned = (
            drawn("", seed=seed).memory,
            drawn("[memory]\ncore_entry_count_max = 9", seed=seed).memory,
        )
        assert {**free, "core_entry_count_max": 9} == {**pinned, "core_entry_count_max": 9}


def test_the_order_of_the_file_means_nothing() -> None:
    rows = [
        "[memory]\nauto_populate = 'any'\n",
        "[faults]\nstorage = true\nmodel = true\n",
        "[agents]\ncount = [1, 4]\n",
    ]
    for seed in range(10):
        assert draw(made("".join(rows)), seed) == draw(made("".join(reversed(rows))), seed)


# A run with one kind of fault.


def test_a_run_of_one_kind_has_one_fault_at_a_high_rate_in_a_tiny_memory() -> None:
    for seed in range(40):
        config = drawn("", "one_kind", seed)
        assert list(config.faults.values()) == [ONE_KIND_RATE]
        assert {name for name in config.memory if name in TINY} == set(TINY)
        assert [name for name in config.memory if OPTIONS[name] is None] == []
        assert (config.operations_max, config.latency, config.policy) == (50, "instant", "random")
        assert (config.adversarial, config.land) == ((1, 4), (1, 4))
        assert {agent.skew_ms for agent in config.agents} == {0}
        assert list(config.weights) == list(COMMON)


def test_any_kind_that_the_file_allows_may_be_the_one() -> None:
    body = '[faults]\nclock = true\nmodel_slow = "1/9"\nmodel_cut = false\nmodel_empty = "0/1"'
    faults = [drawn(body, "one_kind", seed).faults for seed in range(60)]
    assert next(dict(given) for given in faults if "model_slow" in given) == {"model_slow": (1, 9)}
    clocks = [name for name, kind in KINDS.items() if kind.group == "clock"]
    assert {name for given in faults for name in given} == {"model_slow", *clocks}


def test_the_kind_and_the_size_of_a_memory_can_be_pinned() -> None:
    head = 'swarm = { mode = "any", pin = { kind = "storage_torn", tiny = false } }'
    found = [draw(made(head), seed) for seed in range(100)]
    assert {name for config in found if config.mode == "one_kind" for name in config.faults} == {
        "storage_torn"
    }
    assert [name for config in found for name in config.memory if name in TINY] == []


def test_where_nothing_can_fail_no_run_has_one_kind() -> None:
    assert {draw(made("[faults]"), seed).mode for seed in range(60)} == {"plain", "swarm"}


# Scopes.


def test_scopes_that_look_alike_are_different_and_allowed() -> None:
    for row in NEIGHBOURS:
        scopes = [Scope(*parts) for parts in row]
        assert len(dict.fromkeys(scopes)) == 4
        assert [Memory(scope).state.scope for scope in scopes] == scopes


def test_hostile_scopes_are_drawn_from_the_rows_of_neighbours() -> None:
    body = '[agents]\ncount = 4\nscopes = "hostile"'
    found = {
        tuple((agent.scope.user, agent.scope.agent) for agent in drawn(body, seed=seed).agents)
        for seed in range(100)
    }
    assert found == set(NEIGHBOURS)


# S7.30: every setting takes at least half of its share, and at most twice it, in 1000 seeds.


@cache
def every() -> list[RunConfig]:
    return [draw(made(), seed) for seed in range(1_000)]


def configs(mode: str) -> list[RunConfig]:
    return [config for config in every() if mode in (config.mode, "any")]


def must_share(values: Iterable[object], parts: Mapping[object, int]) -> None:
    """Each value at least half and at most twice as often as its part says, and no other."""
    counts = Counter(values)
    assert set(counts) == set(parts)
    for value, part in parts.items():
        taken, due = counts[value] * sum(parts.values()), part * counts.total()
        assert due <= 2 * taken <= 4 * due, (value, counts)


def must_halve(found: Iterable[Iterable[str]], names: Iterable[str]) -> None:
    """Each name in about half of what was found."""
    each = [tuple(given) for given in found]
    counts = Counter(name for given in each for name in given)
    low, high = len(each) * 3 // 8, len(each) * 5 // 8
    assert {name: counts[name] for name in names if not low <= counts[name] <= high} == {}


EIGHT = dict.fromkeys(range(1, 9), 1)
FOUR = dict.fromkeys(range(1, 5), 1)
REPEATS = {(0, 16): 4, (1, 16): 1, (2, 16): 1, (3, 16): 1, (4, 16): 1}
SCHEDULES = {"fifo": 10, "random": 20, "lifo": 5, **{f"pct({depth})": 3 for depth in range(1, 6)}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "setting", "parts"),
    [
        ("any", "mode", MODES),
        ("any", "start_ms", {0: 1, START_MS: 15}),
        ("swarm", "in_flight_max", EIGHT),
        ("swarm", "key_count", EIGHT),
        ("swarm", "adversarial", {(n, 8): 1 for n in range(1, 8)}),
        ("swarm", "land", {(n, 8): 1 for n in range(1, 5)}),
        ("swarm", "repeat", REPEATS),
        ("swarm", "latency", {"instant": 1, "short": 1, "spread": 1}),
        ("swarm", "policy", SCHEDULES),
        ("one_kind", "in_flight_max", FOUR),
        ("one_kind", "key_count", FOUR),
        ("one_kind", "repeat", REPEATS),
    ],
)
def test_settings_take_their_shares(mode: str, setting: str, parts: Mapping[object, int]) -> None:
    must_share([getattr(config, setting) for config in configs(mode)], parts)


@pytest.mark.slow
def test_workflows_change_in_one_of_eight_swarm_runs() -> None:
    must_share([config.revise_every > 0 for config in configs("swarm")], {True: 1, False: 7})
    assert {config.revise_every for config in every() if config.mode != "swarm"} == {0}


def test_a_quirk_strikes_a_quarter_of_its_events_unless_the_file_says_how_many() -> None:
    drawn = [config.faults for config in configs("swarm")]
    for name in ("model_slow", "storage_shuffled", "link_delay"):
        assert {faults[name] for faults in drawn if name in faults} == {(1, 4)}
    for key in ("faults.model_slow", "faults.model"):
        scenario = draw(find("smoke"), 1, {"scenario.swarm.mode": "swarm", key: "1/9"})
        assert scenario.faults["model_slow"] == (1, 9)


@pytest.mark.slow
def test_agents_take_their_shares() -> None:
    casts = [config.agents for config in configs("swarm")]
    must_share([len(cast) for cast in casts], {1: 4, 2: 3, 3: 2, 4: 1})
    must_share(
        [len({agent.scope.user for agent in cast}) for cast in casts if len(cast) > 2], {1: 1, 2: 1, 3: 1}
    )
    skews = [cast[0].skew_ms for cast in casts]
    must_share([(skew > 0) - (skew < 0) for skew in skews], {0: 2, 1: 1, -1: 1})
    must_share([len(config.agents) for config in configs("one_kind")], {1: 4, 2: 3})


@pytest.mark.slow
def test_sizes_are_drawn_by_their_logarithm() -> None:
    must_share(
        [config.operations_max.bit_length() for config in configs("swarm")], dict.fromkeys(range(4, 10), 1)
    )
    rates = [n.bit_length() for config in configs("swarm") for n, d in config.faults.values() if d == 1_024]
    must_share(rates, dict.fromkeys(range(1, 10), 1))
    must_share(
        [n for config in configs("swarm") for n in config.weights.values()], dict.fromkeys(range(1, 21), 1)
    )


@pytest.mark.slow
def test_half_of_all_kinds_and_requests_are_on() -> None:
    harmless = [name for name, kind in KINDS.items() if kind.fault_class != "destroys"]
    must_halve([config.faults for config in configs("swarm")], harmless)
    must_halve([config.weights for config in configs("swarm")], COMMON)


@pytest.mark.slow
def test_an_eighth_of_the_swarm_loses_up_to_three_keys_and_nothing_else_destroys() -> None:
    counts = Counter(config.loss_max for config in configs("swarm"))
    total = sum(counts.values())
    assert total // 16 <= total - counts[0] <= total // 4
    assert sorted(counts) == [0, 1, 2, 3]
    for config in configs("swarm"):
        destroying = [name for name in config.faults if KINDS[name].fault_class == "destroys"]
        assert config.loss_max or not destroying


@pytest.mark.slow
def test_every_kind_is_the_only_one_at_times() -> None:
    scenario = made('swarm = { mode = "one_kind" }')
    kinds = Counter(name for seed in range(20 * len(KINDS)) for name in draw(scenario, seed).faults)
    assert {name: kinds[name] for name in KINDS if kinds[name] < 10} == {}


@pytest.mark.slow
def test_half_of_the_memories_are_tiny_and_half_of_the_flags_are_turned() -> None:
    memories = [config.memory for config in configs("swarm")]
    flags = [name for name, allowed in OPTIONS.items() if allowed is None]
    must_halve(memories, [*TINY, *flags])
    assert {name for memory in memories for name in memory} == {*TINY, *flags}
    assert {TINY.keys() <= memory.keys() or not TINY.keys() & memory.keys() for memory in memories} == {True}
    counts = [memory["working_entry_count_max"] for memory in memories if "working_entry_count_max" in memory]
    must_share(counts, {1: 4, 2: 2, 3: 2, 4: 1, 5: 1, 6: 1, 7: 1, 8: 4})


def test_every_number_is_described_for_every_mode() -> None:
    assert {tuple(row) for row in NUMBERS.values()} == {tuple(MODES)}

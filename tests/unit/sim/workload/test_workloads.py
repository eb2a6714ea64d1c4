"""Goal: users ask everything, rightly and wrongly, and what one of them asks next moves with nothing else."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from umi_core import limits
from umi_core.codec import encode
from umi_core.ids import block_id
from umi_core.language.pronouns import LANGUAGES, read
from umi_core.language.rewriting import is_deep
from umi_core.messages.requests import (
    REQUESTS,
    Request,
    WorkflowRequest,
    bad_request,
    request_name,
)
from umi_core.messages.requests import WORKING as WORKING_CLASSES
from umi_core.values import ENTITY_TYPES, Scope, Turn
from umi_sim.formats.values import op_args
from umi_sim.kernel.prng import Stream
from umi_sim.record.run_config import AgentConfig, RunConfig
from umi_sim.services.model.extraction import extract
from umi_sim.workload import api_values, arguments, choice, pools
from umi_sim.workload.arguments import habits_of as habits_of
from umi_sim.workload.choice import slots
from umi_sim.workload.filter_values import HOSTILE_FILTERS
from umi_sim.workload.pools import Pool
from umi_sim.workload.users import User
from umi_sim.workload.workloads import VARIED, Drawn, Workload

AGENTS: Final = (AgentConfig("a", Scope("u1", "a")), AgentConfig("b", Scope("u1", "b")))
WORKING: Final = {request_name(kind): 1 for kind in WORKING_CLASSES}
PLAIN: Final = RunConfig(
    scenario="test",
    version=1,
    seed=42,
    mode="plain",
    agents=AGENTS,
    start_ms=1_700_000_000_000,
    memory={},
    weights=dict.fromkeys(REQUESTS, 1),
    faults={},
    operations_max=60,
    in_flight_max=1,
    key_count=4,
    adversarial=(1, 2),
    land=(1, 4),
    repeat=(0, 1),
    latency="instant",
    policy="fifo",
)

# Where each hostile pool is used; the same pool may be used elsewhere too.
HOSTILE: Final[dict[tuple[str, str], Pool]] = {
    ("set", "key"): pools.HOSTILE_KEYS,
    ("append", "value"): pools.HOSTILE_VALUES,
    ("set", "ttl_ms"): pools.HOSTILE_TTLS,
    ("incr", "delta"): pools.HOSTILE_DELTAS,
    ("remember", "text"): pools.HOSTILE_TEXTS,
    ("recall", "query"): pools.HOSTILE_QUERIES,
    ("set_block", "text"): pools.HOSTILE_BLOCK_TEXTS,
    ("remove_block", "kind"): pools.HOSTILE_KINDS,
    ("remove_block", "label"): pools.HOSTILE_LABELS,
    ("set_importance", "importance_ppm"): pools.HOSTILE_PPM,
    ("render", "form"): pools.HOSTILE_FORMS,
    ("search", "where"): HOSTILE_FILTERS,
    ("get_entity", "entity_id"): pools.HOSTILE_IDS,
    ("load_session", "session_id"): pools.HOSTILE_IDS,
    ("create_session", "members"): pools.HOSTILE_MEMBERS,
    ("save_session", "hand_to"): pools.HOSTILE_MEMBERS,
    ("save_session", "carries"): pools.HOSTILE_CARRIES,
    ("remember", "embed"): pools.HOSTILE_FLAGS,
    ("forget", "request_key"): pools.HOSTILE_REQUEST_KEYS,
    ("remember", "event_time_ms"): pools.HOSTILE_TIMES,
    ("remember", "metadata"): pools.HOSTILE_METADATA,
    ("remember", "speaker"): pools.HOSTILE_SPEAKERS,
    ("count", "types"): pools.HOSTILE_TYPES,
    ("recall", "limit"): pools.HOSTILE_LIMITS,
    ("recall", "time_range"): pools.HOSTILE_RANGES,
    ("recall", "turns"): pools.HOSTILE_TURNS,
    ("update_block", "expected_version"): pools.HOSTILE_VERSIONS,
    ("memorize", "modality"): pools.HOSTILE_MODALITIES,
    ("memorize", "memory_types"): pools.HOSTILE_MEMORY_TYPES,
    ("list", "cursor"): pools.HOSTILE_CURSORS,
    ("retrieve", "levels"): pools.HOSTILE_LEVELS,
    ("retrieve", "enough"): pools.HOSTILE_WORDS,
}


class Everything:
    """A world in which something of each kind is known."""

    def entity_ids(self, agent: str) -> Sequence[str]:
        return ("fct_d77159c2f7575629b14ff3b0", "fct_7ada9f9a75115796a731d941")

    def record_ids(self, agent: str) -> Sequence[str]:
        return ("arc_000000000001", "arc_000000000002")

    def blocks(self, agent: str) -> Sequence[tuple[str, str, str]]:
        return (("blk_000000000000000000000001", "notes", "likes tea"),)

    def resource_ids(self, agent: str) -> Sequence[str]:
        return ("res_29c52b02d6ac5cbcf0ae6e0d",)

    def session_ids(self, agent: str) -> Sequence[str]:
        return ("ses_d3363bafb44a607274f98c29",)

    def joined_ids(self, agent: str) -> Sequence[str]:
        return self.session_ids(agent)

    def keys(self, agent: str) -> Sequence[str]:
        return ("alive",)

    def other_agents(self, agent: str) -> Sequence[str]:
        return ("b", "c")

    def sharing_agents(self, agent: str) -> Sequence[str]:
        return ("b",)


class Nothing:
    """A world that has just begun."""

    def nothing(self, agent: str) -> Sequence[Any]:
        return ()

    entity_ids = session_ids = joined_ids = record_ids = resource_ids = blocks = keys = nothing
    other_agents = sharing_agents = nothing


def workload(agent: str = "a", **changes: Any) -> Workload:
    return Workload(structs.replace(PLAIN, **changes), agent, Everything())


def drawn_by(workload: Workload) -> list[Drawn]:
    return list(iter(workload.next, None))


def test_users_who_are_alike_say_the_same_but_for_the_ids_of_their_own_blocks() -> None:
    drawn = [drawn_by(workload(agent, alike=True)) for agent in "ab"]
    ids = [{block_id(agent.scope, *slot): slot for slot in api_values.SLOTS} for agent in AGENTS]
    one, other = (
        [(name, named(args, own)) for name, args in each] for each, own in zip(drawn, ids, strict=True)
    )
    assert one == other
    assert drawn[0] != drawn_by(workload("a"))


def named(args: dict[str, object], own: dict[str, tuple[str, str]]) -> dict[str, object]:
    """With the blocks of an agent by kind and label."""
    return {key: own.get(it, it) if isinstance(it, str) else it for key, it in args.items()}


def requests(agent: str = "a", **changes: Any) -> list[tuple[str, dict[str, Any]]]:
    return list(drawn_by(workload(agent, **changes)))


def over_seeds(count: int, **changes: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for seed in range(count):
        yield from requests(seed=seed, **changes)


def built(drawn: Drawn) -> Request:
    name, args = drawn
    request = REQUESTS[name]("o1", **args)
    assert isinstance(request, REQUESTS[name])
    return request


def refusal(drawn: Drawn) -> object:
    """What is wrong with a request of a workflow at first sight."""
    request = built(drawn)
    return bad_request(request) if isinstance(request, WorkflowRequest) else None


class DerivedText(str):
    """As an enumeration of texts is."""


class DerivedBytes(bytes): ...


class DerivedTuple(tuple[Any, ...]): ...


DERIVED: Final[dict[type, type]] = {str: DerivedText, bytes: DerivedBytes, tuple: DerivedTuple}


def derived(value: Any) -> Iterator[Any]:
    """The value with one part of a type that is derived from its own."""
    if type(value) in DERIVED:
        yield DERIVED[type(value)](value)
    for at, part in enumerate(value if type(value) is tuple else ()):
        yield from ((*value[:at], it, *value[at + 1 :]) for it in derived(part))


def test_what_a_memory_takes_is_plain_so_it_has_bytes() -> None:
    counts = Counter[str]()
    for name, args in over_seeds(30, adversarial=(1, 4)):
        request = built((name, args))
        if bad_request(request) is None:
            encode(request)
            for field, value in args.items():
                for other in derived(value):
                    assert bad_request(structs.replace(request, **{field: other})), (name, field, other)
                    counts[f"{name}.{field}"] += 1
    assert len(counts) > 60


# The whole.


def test_the_same_seed_asks_the_same() -> None:
    assert requests() == requests()
    assert requests() != requests(seed=43)
    assert requests() != requests("b")


def test_as_many_as_the_configuration_says_and_none_after() -> None:
    some = workload(operations_max=7)
    assert len(drawn_by(some)) == 7
    assert some.next() is None


def test_other_agents_that_ask_in_between_move_nothing() -> None:
    ours, other, known = workload("a"), workload("b"), []
    while (drawn := ours.next()) is not None:
        other.next()
        known.append(drawn)
    assert known == requests("a")


def test_one_kind_more_moves_no_arguments_of_the_others() -> None:
    before = requests(weights=WORKING, operations_max=300)
    after = requests(weights=WORKING | {"render": 1}, operations_max=300)
    same = [(old[1], new[1]) for old, new in zip(before, after, strict=True) if old[0] == new[0]]
    assert len(same) > 60
    assert all(old == new for old, new in same)


def test_an_argument_that_joined_later_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"weights": {"remember": 1, "set": 1}, "operations_max": 200}
    after = requests(**asked)
    old = {name: tuple(it for it in habits_of(name) if not it[1].is_late) for name in REQUESTS}
    monkeypatch.setattr(arguments, "habits_of", old.__getitem__)
    without = [(name, {key: args[key] for key in args if key != "speaker"}) for name, args in after]
    assert requests(**asked) == without != after


def test_how_much_a_request_draws_moves_no_later_kind() -> None:
    plain = [name for name, _ in requests(adversarial=(0, 1))]
    assert plain == [name for name, _ in requests(adversarial=(1, 1), key_count=7)]


def test_a_request_is_repeated_exactly() -> None:
    first, *others = requests(repeat=(1, 1), weights={"remember": 1})
    assert others == [first] * 59


def test_what_was_asked_with_a_key_is_asked_again_at_any_later_time() -> None:
    drawn = requests(retry=(1, 2), weights={"remember": 1, "count": 1})
    keyed = [at for at, (_, args) in enumerate(drawn) if "request_key" in args]
    again = [at for at in keyed if any(drawn[at] is drawn[before] for before in keyed if before < at - 1)]
    assert len(again) > len(keyed) // 2


def test_a_repeated_remember_sometimes_has_its_key_again() -> None:
    drawn = list(over_seeds(20, repeat=(1, 2), weights={"remember": 1}))
    again = [one for one, following in pairwise(drawn) if one is following]
    assert any("request_key" in args for _, args in again)


# Shares.


def test_every_kind_has_its_floor_however_heavy_another_is() -> None:
    counts = Counter(
        name for name, _ in requests(weights={**PLAIN.weights, "set": 9_999}, operations_max=6_400)
    )
    assert all(10 < counts[name] < 80 for name in REQUESTS if name != "set")
    assert counts["set"] > 4_600


def test_what_is_off_is_not_asked() -> None:
    assert {name for name, _ in requests(weights={"get": 3, "set": 0, "recall": 1})} == {"get", "recall"}


WEIGHTS: Final = st.dictionaries(st.sampled_from(sorted(REQUESTS)), st.integers(1, 100), min_size=1)


@given(WEIGHTS)
def test_a_request_has_the_share_that_its_weight_says_and_never_less_than_its_own(
    weights: dict[str, int],
) -> None:
    counts = Counter(slots(weights))
    assert counts.keys() == weights.keys()
    assert min(counts.values()) >= choice.OWN_COUNT
    total = sum(weights.values())
    wanted = {name: choice.SLOT_COUNT * weight // total for name, weight in weights.items()}
    assert all(counts[name] > wanted[name] // 3 for name in weights)


@given(WEIGHTS, st.integers(1, 100))
def test_a_request_that_is_added_moves_no_slot_that_it_does_not_take(
    weights: dict[str, int], weight: int
) -> None:
    latest = choice.BY_AGE[-1]
    before = slots({name: each for name, each in weights.items() if name != latest} or {"set": 1})
    after = slots({**({n: w for n, w in weights.items() if n != latest} or {"set": 1}), latest: weight})
    assert all(new in (old, latest) for old, new in zip(before, after, strict=True))


# Arguments.


@pytest.mark.slow
def test_every_hostile_class_appears_within_900_seeds() -> None:
    seen: dict[tuple[str, str], set[object]] = {place: set() for place in HOSTILE}
    for name, args in over_seeds(900, adversarial=(7, 8)):
        for key, value in args.items():
            seen.get((name, key), set()).add((type(value), value))
    missing = [
        (place, label)
        for place, pool in HOSTILE.items()
        for label, values in pool.items()
        if not any((type(value), value) in seen[place] for value in values)
    ]
    assert missing == []


def test_every_hostile_pool_strikes_somewhere() -> None:
    named = {name: pool for name, pool in vars(pools).items() if name.startswith("HOSTILE_")}
    assert [name for name, pool in named.items() if not any(pool is one for one in HOSTILE.values())] == []


def test_every_field_of_every_request_is_drawn() -> None:
    drawn = {name: set[str]() for name in REQUESTS}
    for name, args in over_seeds(100, adversarial=(1, 2)):
        drawn[name] |= args.keys()
    fields = {name: {argument.name for argument, _ in habits_of(name)} for name in REQUESTS}
    assert drawn == fields


def test_every_request_can_be_built_and_recorded() -> None:
    for drawn in over_seeds(60, adversarial=(7, 8)):
        built(drawn)
        assert is_recordable(tuple(drawn[1].values())), drawn


def is_recordable(value: object) -> bool:
    if isinstance(value, tuple):
        return all(is_recordable(part) for part in value)
    if type(value) is int:
        return limits.I64_MIN <= value < 2**64
    return value is None or type(value) in (str, bytes, bool, Turn)


def test_a_user_who_is_never_hostile_is_never_refused_at_first_sight() -> None:
    for config in ({}, {"memory": {"core_bytes_max": 4_096, "working_bytes_max": 64}}):
        assert [drawn for drawn in over_seeds(30, adversarial=(0, 1), **config) if refusal(drawn)] == []


def test_a_hostile_user_is_refused_often_but_not_always() -> None:
    drawn = [one for one in over_seeds(30, adversarial=(1, 1)) if habits_of(one[0]) and one[0] not in WORKING]
    refused = sum(refusal(one) is not None for one in drawn)
    assert len(drawn) < 3 * refused < 3 * len(drawn)


def test_a_user_of_a_new_world_finds_something_to_ask() -> None:
    for name in REQUESTS:
        config = structs.replace(PLAIN, weights={name: 1}, adversarial=(0, 1))
        assert len([built(drawn) for drawn in drawn_by(Workload(config, "b", Nothing()))]) == 60


def test_what_is_known_is_asked_for_mostly_but_not_only() -> None:
    ids = Counter(args["entity_id"] for _, args in over_seeds(9, weights={"forget": 1}, adversarial=(0, 1)))
    known = sum(ids[entity_id] for entity_id in Everything().entity_ids("a"))
    assert 0.8 < known / ids.total() < 1
    keys = {args["key"] for _, args in over_seeds(9, weights={"get": 1}, adversarial=(0, 1))}
    assert keys == {"a", "ab", "abc", "user:1", "alive"}


@pytest.mark.parametrize("core_bytes_max", [limits.CORE_BYTES_MIN, limits.CORE_BYTES_MAX])
def test_blocks_fill_the_core_tier(core_bytes_max: int) -> None:
    config = {
        "memory": {"core_bytes_max": core_bytes_max},
        "weights": {"set_block": 1},
        "adversarial": (0, 1),
    }
    sizes = [len(str(args["text"])) for _, args in over_seeds(9, **config)]
    large = [size for size in sizes if size >= core_bytes_max // 16]
    assert len(sizes) < 2 * len(large) < 2 * len(sizes)
    assert 5 * sum(large) > core_bytes_max * len(large)
    assert max(sizes) <= limits.BLOCK_BYTES_MAX


def test_a_small_working_tier_is_met_to_the_byte() -> None:
    config = {"memory": {"working_bytes_max": 64}, "weights": {"set": 1}, "adversarial": (1, 1)}
    sizes = {len(args["value"]) for _, args in over_seeds(9, **config) if isinstance(args["value"], bytes)}
    assert sizes >= {16, 60, 61, 62, 63, 64}


@pytest.mark.parametrize("limit", [1, 7, 200])
def test_sizes_are_exact(limit: int) -> None:
    texts = pools.sizes(limit)
    assert [len(text.encode()) for text in texts[:12]] == [
        limit + more for more in (-1, 0, 1) for _ in range(4)
    ]
    assert [len(text) for text in texts[12:]] == [limit] * 3
    assert len(pools.prose(limit)) == limit


def test_texts_tell_of_every_type_of_entity() -> None:
    texts = [args["text"] for _, args in over_seeds(9, weights={"remember": 1}, adversarial=(0, 1))]
    types = {entity["type"] for text in texts for entity in json.loads(extract({"text": text}))["entities"]}
    assert sorted(types) == sorted(ENTITY_TYPES)


def test_facts_change_and_return() -> None:
    texts = [args["text"] for _, args in requests(weights={"remember": 1}, adversarial=(0, 1))]
    returned: dict[tuple[str, str], list[str]] = {}
    for name, verb, value in re.findall(r"(\w+) (?:now )?(works at|lives in) (\w+)", " ".join(texts)):
        returned.setdefault((name, verb), []).append(value)
    assert any(has_returned(values) for values in returned.values())


def has_returned(values: list[str]) -> bool:
    """Whether a value comes again after another one."""
    changes = [value for value, following in pairwise([*values, ""]) if value != following]
    return len(set(changes)) < len(changes)


def test_what_was_remembered_is_remembered_again_and_asked_for() -> None:
    texts = [args["text"] for _, args in requests(weights={"remember": 1}, adversarial=(0, 1))]
    queries = [
        args["query"] for name, args in requests(weights={"remember": 1, "recall": 1}) if name == "recall"
    ]
    assert 3 < len(texts) - len(set(texts)) < 20
    assert any(query in text for query in queries for text in texts)


def test_a_hostile_text_may_be_an_earlier_one_in_another_case_or_with_one_character_changed() -> None:
    user, stream = User(PLAIN, "a", Everything()), Stream(1, "test")
    pool = [text for values in pools.HOSTILE_TEXTS.values() for text in values]
    texts = [str(user.text(stream)) for _ in range(9)]
    again = [str(text) for _ in range(300) if (text := user.bad_text(stream)) not in pool]
    assert len(again) > 9
    assert all(any(is_near(text, one) for one in (*texts, *pool) if isinstance(one, str)) for text in again)
    assert any(text.swapcase() in (*texts, *pool) for text in again)


def is_near(one: str, two: str) -> bool:
    is_one_off = len(one) == len(two) and sum(a != b for a, b in zip(one, two, strict=True)) < 2
    return is_one_off or one.swapcase() == two


# Questions.

RECALLS: Final[dict[str, Any]] = {"weights": {"remember": 1, "recall": 1}, "adversarial": (0, 1)}


def recalls(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [args for name, args in over_seeds(count, **RECALLS, **changes) if name == "recall"]


def test_half_of_the_questions_refer_to_a_turn_and_mostly_turns_are_given_with_them() -> None:
    referring = [args for args in recalls(20) if read(args["query"]).terms]
    assert 0.3 < len(referring) / len(recalls(20)) < 0.7
    assert 0.7 < sum("turns" in args for args in referring) / len(referring) < 0.95


def test_questions_refer_in_each_of_the_four_languages() -> None:
    asked = {term for args in recalls(60) for term in read(args["query"]).terms}
    assert {LANGUAGES[term] for term in asked if term in LANGUAGES} >= {"en", "de", "es", "zh"}


@pytest.mark.slow
def test_every_term_of_the_tables_is_asked_about() -> None:
    # Without those that mean something in a sentence of their language alone: `son` is an English word.
    unseen = {term for term in LANGUAGES if read(term).terms}
    for name, args in over_seeds(3_000, **RECALLS):
        if name == "recall":
            unseen.difference_update(read(args["query"]).terms)
        if not unseen:
            break
    assert unseen == set()


def test_turns_are_none_to_twelve_remembered_before_blank_and_too_long() -> None:
    remembered: list[str] = []
    counts, texts = Counter[int](), list[str]()
    for name, args in over_seeds(60, **RECALLS):
        if name == "remember":
            remembered.append(args["text"])
        else:
            turns = args.get("turns", ())
            counts[len(turns)] += 1
            texts += [turn.text for turn in turns]
    assert set(counts) == set(range(13))
    assert 2 * sum(text in remembered for text in texts) > len(texts)
    assert any(not text.strip() for text in texts)
    assert any(len(text) > limits.TURN_CHARS_MAX for text in texts)


def test_a_hostile_user_sends_hostile_texts() -> None:
    pool = {text for values in pools.HOSTILE_TEXTS.values() for text in values if isinstance(text, str)}
    drawn = over_seeds(30, weights={"remember": 1, "recall": 1}, adversarial=(1, 2))
    turns = [args["turns"] for name, args in drawn if name == "recall" and "turns" in args]
    texts = [
        turn.text for some in turns if isinstance(some, tuple) for turn in some if isinstance(turn, Turn)
    ]
    assert any(text in pool for text in texts)


def test_deep_search_is_left_to_the_question_as_often_as_configured() -> None:
    given = Counter(args.get("deep") for args in recalls(60))
    assert all(
        abs(given[value] / given.total() - share) < 0.05
        for value, share in ((None, 0.5), (True, 0.25), (False, 0.25))
    )
    unasked = [args["query"] for args in recalls(60) if "deep" not in args]
    assert 0.2 < sum(is_deep(query, None) for query in unasked) / len(unasked) < 0.8


def test_resolving_and_evolving_are_seldom_off() -> None:
    for name, field in (("recall", "resolve"), ("remember", "evolve")):
        args = [given for _, given in over_seeds(30, weights={name: 1}, adversarial=(0, 1))]
        assert 0.05 < sum(field in one for one in args) / len(args) < 0.25
        assert {one[field] for one in args if field in one} == {False}


def test_a_question_is_asked_again_after_the_same_turns_and_after_others() -> None:
    asked: list[tuple[str, Any]] = []
    same = other = 0
    for args in recalls(30):
        question = (args["query"], args.get("turns"))
        if question[1] and question in asked[-60:]:
            same += 1
        elif question[1] and args["query"] in [query for query, _ in asked[-60:]]:
            other += 1
        asked.append(question)
    assert same > 30
    assert other > 10


def test_a_workload_says_that_a_question_is_asked_again() -> None:
    ours, before = workload(**(RECALLS | {"operations_max": 600})), list[Drawn]()
    for drawn in iter(ours.next, None):
        question = (drawn[1].get("query"), drawn[1].get("turns"))
        asked = [(args.get("query"), args.get("turns")) for _, args in before]
        assert not ours.is_again or question in asked
        before.append(drawn)
    ours = workload(**(RECALLS | {"operations_max": 600}))
    again = [ours.is_again for _ in iter(ours.next, None)]
    assert 20 < sum(again) < 300


# Files.


SESSIONS: Final = "aaabbbbbbbbbba"  # one letter per turn


@pytest.fixture
def talk(tmp_path: Path) -> dict[str, Any]:
    """Options of a run that plays a transcript, with `len` beside it."""
    path = tmp_path / "talk.jsonl"
    turns = [
        {"speaker": f"S{number}", "text": f"word{number} é", "session": session}
        for number, session in enumerate(SESSIONS)
    ]
    path.write_text("\n".join(json.dumps(turn) for turn in turns))
    return dict(workload="transcript", transcript=str(path), operations_max=999, weights={"len": 1})


def test_a_transcript_is_played_in_order_beside_generated_requests(talk: dict[str, Any]) -> None:
    drawn = requests(**talk)
    timed = [one for one in drawn if one[0] != "len"]
    names = [name for name, _ in timed]
    sets = [args for name, args in timed if name == "set"]
    assert names[0] == "create_session"
    assert sets == [{"key": f"S{number}", "value": f"word{number} é".encode()} for number in range(14)]
    assert (names.count("recall"), names.count("save_session")) == (2, 3)
    assert 0 < len(drawn) - len(timed) < len(timed)


def test_turns_are_remembered_one_by_one_or_in_batches(talk: dict[str, Any]) -> None:
    talks = [
        tuple(args["text"] for name, args in requests(**talk, seed=seed) if name == "remember")
        for seed in range(9)
    ]
    lines = [f"S{number}: word{number} é" for number in range(14)]
    batches = ("\n".join(lines[:3]), "\n".join(lines[3:11]), "\n".join(lines[11:13]), "word13 é")
    assert set(talks) == {tuple(f"word{number} é" for number in range(14)), batches}


def test_a_single_turn_has_its_speaker(talk: dict[str, Any]) -> None:
    all_args = [args for seed in range(9) for name, args in requests(**talk, seed=seed) if name == "remember"]
    assert {args["text"]: args.get("speaker") for args in all_args if "13" in args["text"]} == {
        "word13 é": "S13"
    }
    assert [args for args in all_args if "\n" in args["text"] and "speaker" in args] == []


def test_the_end_of_a_transcript_is_the_end(talk: dict[str, Any]) -> None:
    ours = workload(**talk)
    assert len(drawn_by(ours)) < 200
    assert [ours.next(), ours.next()] == [None, None]


def test_a_script_is_asked_as_it_stands() -> None:
    script = (
        {"at_ms": 5, "agent": "a", "name": "set", "args": {"key": "k", "value": "é", "ttl_ms": 9}},
        {"at_ms": 6, "agent": "b", "name": "len", "args": {}},
        {"at_ms": 7, "agent": "a", "name": "append", "args": {"key": "k", "value": {"hex": "ff00"}}},
        {"at_ms": 8, "agent": "a", "name": "append", "args": {"key": "k", "value": {"text": "x"}}},
        {"at_ms": 9, "agent": "a", "name": "recall", "args": {"query": "x", "turns": [["user", "hi"]]}},
        {"at_ms": 9, "agent": "a", "name": "remember", "args": {"text": "x", "metadata": [["k", "v"]]}},
        {"at_ms": 9, "agent": "a", "name": "create_session", "args": {"members": ["b", "c"]}},
    )
    typed = tuple({**op, "args": op_args(str(op["name"]), op["args"])} for op in script)
    ours = workload(workload="script", script=typed, weights={}, repeat=(1, 1))
    asked = [(drawn, ours.at_ms) for drawn in iter(ours.next, None)]
    assert asked == [
        (("set", {"key": "k", "value": "é".encode(), "ttl_ms": 9}), 5),
        (("append", {"key": "k", "value": b"\xff\x00"}), 7),
        (("append", {"key": "k", "value": "x"}), 8),
        (("recall", {"query": "x", "turns": (Turn("user", "hi"),)}), 9),
        (("remember", {"text": "x", "metadata": (("k", "v"),)}), 9),
        (("create_session", {"members": ("b", "c")}), 9),
    ]


# Requests that are nearly as an earlier one.

NEARLY: Final = structs.replace(PLAIN, nearly=(1, 2), adversarial=(0, 1))


def parts_apart(one: Drawn, other: Drawn) -> list[str]:
    """The arguments that differ, where both are the same request; its key is no part of what it says."""
    args, others = ({**drawn[1], "request_key": None} for drawn in (one, other))
    return [key for key in {**args, **others} if args.get(key) != others.get(key)]


def near_each_other(config: RunConfig) -> list[str]:
    """Return the field in which each request differs from the one before, where it is exactly one."""
    drawn = [it for seed in range(20) for it in requests_of(structs.replace(config, seed=seed))]
    apart = [parts_apart(one, other) for one, other in pairwise(drawn) if one[0] == other[0]]
    return [parts[0] for parts in apart if len(parts) == 1 and parts[0] in (*VARIED, "turns")]


def test_many_requests_are_earlier_ones_with_one_small_change() -> None:
    near = near_each_other(NEARLY)
    assert set(near) == {*VARIED, "turns"}
    assert len(near) > 30
    assert near_each_other(structs.replace(NEARLY, nearly=(0, 1))) == []


def requests_of(config: RunConfig) -> list[Drawn]:
    workload, found = Workload(config, "a", Everything()), list[Drawn]()
    while (drawn := workload.next()) is not None:
        found.append(drawn)
    return found


@pytest.mark.parametrize("text", ["", "x", "Анна работает в Acme.", "two words"])
def test_a_text_that_is_nearly_another_differs_little(text: str) -> None:
    near = {pools.nearly(Stream(seed, "near"), text) for seed in range(200)}
    assert {text.upper(), text.lower()} <= near
    assert all(abs(len(it) - len(text)) <= 12 for it in near)
    assert len(near) > 3


def test_turns_that_are_nearly_others_are_as_many_or_one_more_or_less() -> None:
    turns = (Turn("user", "Ann naps."), Turn("tool", "Bob sings."), Turn("user", "Who?"))
    near = {pools.nearly_turns(Stream(seed, "near"), turns) for seed in range(200)}
    assert {len(it) for it in near} == {2, 3, 4}
    assert (turns[1], turns[2]) in near
    assert (turns[1], turns[2], turns[0]) in near

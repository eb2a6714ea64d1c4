"""Goal: every edit of a saved memory is refused in a sentence, or works."""

import random
from collections.abc import Iterator
from typing import Any, Final, get_type_hints

import msgpack
import pytest
from msgspec import structs

from tests.worlds import SCOPE, Pair, recovered, saying
from umi_core import codec
from umi_core.config import Config
from umi_core.data import is_struct, list_fields
from umi_core.errors import BadOption, BadScope, Error, Rejected, StateDamaged
from umi_core.ids import pack
from umi_core.language.evolution import StatementVerdict
from umi_core.limits import LIFE_MAX, LIFE_NUMBER_COUNT
from umi_core.memory import Memory, fingerprints
from umi_core.messages import requests
from umi_core.messages.answers import Answer, EffectFailed, ModelReplied, Wake
from umi_core.messages.effects import Asked, AskModel, Commit, Done, Embed, Reply
from umi_core.rows import AccessRecord, Address, Head, Row
from umi_core.saved_state import reasons, wrong_facts
from umi_core.shapes import shape_of
from umi_core.state import Operation, Queued, RowRead, Running, State, Waiting
from umi_core.values import Scope, Turn
from umi_core.workflows import BUILT_IN, WORKFLOWS
from umi_core.workflows.drafting import bad_draft
from umi_sim.services.storage import SimStorage

EDIT_COUNT: Final = 2_000

TALK: Final = (
    requests.Remember(1, "Umi helps. Alice likes tea", request_key="k"),
    requests.Set(2, "k", b"v"),
    requests.SetBlock(3, "human", "Knows Alice"),
    requests.Remember(4, "Alice likes coffee. Bob knows Alice"),
    requests.Recall(5, "Who likes tea and what?", deep=True),
    requests.CreateSession(6, ("x",)),
    requests.SaveSession(7),
    requests.Forget(8, "ent_x"),
    requests.Count(9),
    requests.Rebalance(10),
    requests.Recall(11, "What did he say?", turns=(Turn("user", "Bob said it"),)),
)
LATER: Final = (
    Wake(), requests.Get(100, "k"), requests.Set(101, "l", b"1"), requests.Sweep(102), requests.Blocks(103),
    requests.Render(104, "xml"), requests.Remember(105, "Alice likes milk. Umi sings"),
    requests.Recall(106, "tea"), requests.SaveSession(107), requests.Rebalance(108),
    requests.RemoveBlock(109, "persona"),
)  # fmt: skip


def saved_lives() -> Iterator[tuple[bytes, list[Asked], SimStorage]]:
    """A memory after every step of a talk, one request at a time and many, with the questions open then."""
    for config, answer_count in ((Pair().config, 99), (Config(embedding_dims=16), 3)):
        pair = Pair(config=config)
        for request in TALK:
            pair.step(request)
            for _ in range(answer_count):
                if pair.pending:
                    pair.answer()
                    yield pair.memory.snapshot(), list(pair.pending), pair.storage


def saved_with_long_texts() -> tuple[bytes, list[Asked], SimStorage]:
    """A memory that two deep searches go through, each with the same long notes in many lists."""
    model = saying(expand='["tea or milk", "what is liked"]')
    pair = Pair(config=Config(embedding_dims=16), model=model)
    for n in range(3):
        pair.ask(requests.Remember(n, f"P{n} likes tea. " + f"{n} and tea, milk " * 600, extract=False))
    for n in (10, 11):
        pair.step(requests.Recall(n, "Who likes tea or milk, and what?", deep=True, min_score_ppm=0))
    while not any(operation.learned for operation in pair.memory.state.operations.values()):
        pair.answer()
    for _ in range(3):
        pair.answer()
    assert msgpack.unpackb(pair.memory.snapshot())[2]
    return pair.memory.snapshot(), list(pair.pending), pair.storage


SAVED: Final = (*saved_lives(), saved_with_long_texts())


# Edits with knowledge of the format, and of none of the rules.

Tree = Any  # what msgpack reads: lists of lists, texts, numbers
Path = tuple[int, ...]
VALUES: Final = (
    0, 1, -1, 2, 99, 2**53, 2**63 - 1, 2**64 - 1, -(2**63), "", "a", "system", "\x00", "x" * 300, b"", b"x",
    None, True, False, [0], [1], [0, 1], [0, [0]], [36],
)  # fmt: skip


def paths(tree: Tree, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(tree, list):
        for at, part in enumerate(tree):
            yield from paths(part, (*path, at))


def part_at(tree: Tree, path: Path) -> Tree:
    for at in path:
        tree = tree[at]
    return tree


def with_part(tree: Tree, path: Path, part: Tree) -> Tree:
    if not path:
        return part
    return [with_part(each, path[1:], part) if at == path[0] else each for at, each in enumerate(tree)]


def edited(tree: Tree, places: list[Path], chance: random.Random) -> Tree:
    """Another value, a part from elsewhere, a number close by, a part less, twice, or at another place."""
    path = chance.choice(places)
    old, kind = part_at(tree, path), chance.randrange(6)
    new: Tree = chance.choice(VALUES)
    if kind == 1:
        new = part_at(tree, chance.choice(places))
    elif kind == 2 and type(old) is int:
        new = old + chance.choice((-10, -1, 1, 10))
    elif kind > 2 and isinstance(old, list) and len(old) > 2:
        at = chance.randrange(1, len(old))
        rest = [old[:at] + old[at + 1 :], old[:at] + old[at - 1 :], chance.sample(old[1:], len(old) - 1)]
        new = [old[0], *rest[kind - 3][kind < 5 :]]
    return with_part(tree, path, new)


def sealed(frame: list[Any], body: bytes) -> bytes:
    """The bytes with a checksum that is right."""
    return pack([*frame[:3], body, codec.checksum(frame[2], body)])


def lives_on(data: bytes, pending: list[Asked], storage: SimStorage) -> None:
    """Raises Rejected, or steps the memory through requests, answers, failures and time, and saves it."""
    memory = Memory.restore(data, life=0)
    pair = Pair(storage, memory.state.config)
    now_ms, asked = memory.state.seen_ms, list(pending)
    for value in LATER:
        asked += questions(memory, now_ms, value)
    memory.snapshot()
    for count in range(120):
        if not asked:
            break
        effect = asked.pop(0)
        asked += questions(memory, now_ms, answered(pair, effect, count))
        now_ms = max(now_ms, memory.deadline_ms() or 0) if count % 9 == 8 else now_ms
    memory.snapshot()
    memory.digest()


def questions(memory: Memory, now_ms: int, value: Any) -> list[Asked]:
    return [effect for effect in memory.step(now_ms, value) if not isinstance(effect, Reply)]


def answered(pair: Pair, effect: Asked, count: int) -> Answer:
    if count % 7 == 6:
        return EffectFailed(effect.request_id, "rate_limited" if count % 2 else "refused")
    try:
        return pair.world(effect)
    except (AttributeError, KeyError, TypeError, ValueError):  # a question that only this world cannot take
        return EffectFailed(effect.request_id, "unavailable")


@pytest.mark.slow
@pytest.mark.uncounted
def test_any_edit_of_a_saved_memory_is_refused_or_lives_on() -> None:
    chance = random.Random(8)
    trees = [(msgpack.unpackb(data), pending, storage) for data, pending, storage in SAVED]
    bodies = [(frame, msgpack.unpackb(frame[3]), *rest) for frame, *rest in trees]
    known = [(frame, body, list(paths(body)), *rest) for frame, body, *rest in bodies]
    taken = sentences = 0
    for _ in range(EDIT_COUNT):
        frame, body, places, pending, storage = chance.choice(known)
        try:
            lives_on(sealed(frame, pack(edited(body, places, chance))), pending, storage)
            taken += 1
        except Rejected as rejected:
            sentences += str(rejected) != ""
    assert taken + sentences == EDIT_COUNT
    assert EDIT_COUNT // 20 < taken < EDIT_COUNT // 2  # both happen


@pytest.mark.uncounted
def test_what_was_not_edited_lives_on() -> None:
    for data, pending, storage in SAVED:
        lives_on(data, pending, storage)


# Declarations.


def test_every_field_of_every_saved_class_says_what_it_holds() -> None:
    classes = [cls for cls in codec.DECODERS.values() if is_struct(cls)]
    assert len(classes) > 100
    for cls in classes:
        hints = get_type_hints(cls, include_extras=True)
        for field in list_fields(cls):
            shape_of(hints[field.name])


def test_every_fact_of_every_workflow_says_what_it_holds() -> None:
    for workflow in WORKFLOWS:
        for fact in (*workflow.given, *(fact for step in workflow.steps for fact in step.produces)):
            kind: Any = fact.kind
            shape_of(kind)


def test_a_type_that_no_saved_class_can_have_is_a_mistake_of_the_program() -> None:
    with pytest.raises(TypeError, match="no type of a value that is saved"):
        shape_of(float)


def test_a_value_of_another_form_is_no_tuple_of_that_length_and_no_table() -> None:
    assert "a tuple of 2" in shape_of(tuple[int, str])((1,))
    assert "a table" in shape_of(dict[str, int])(3)


def test_a_problem_in_a_tuple_is_reported_by_its_place() -> None:
    assert shape_of(tuple[int, str])((1, 2)).startswith("[1]")
    assert "2.5 is not a value of a declared type" in shape_of(object)((1, 2.5))
    assert shape_of(object)({"a": (1, "x")}) == ""
    assert shape_of(object)({"a": (1, {"b": 2**64})}).startswith("[a][1][b]")


# Each problem is reported.


def refusal(state: State, **more: Any) -> Error:
    data = codec.save_state(state, fingerprints(state, BUILT_IN))
    with pytest.raises(Rejected) as caught:
        Memory.restore(data, **{"life": 0, **more})
    return caught.value.errors[0]


def idle() -> State:
    return Pair().run().memory.state


def test_a_session_beyond_its_limits_is_refused() -> None:
    state = idle()
    state.tiers.session = structs.replace(state.tiers.session, interaction_count=-1)
    assert "tiers.session" in str(refusal(state))


def test_what_has_not_been_drafted_is_refused() -> None:
    assert bad_draft("draft", 3) == BadOption("draft", "3", "an entity whose fields are in their domains")


def test_the_sentence_names_the_place_and_what_should_be_there() -> None:
    state = idle()
    state.tiers.core = structs.replace(state.tiers.core, guard_version=-1)
    assert refusal(state) == StateDamaged(
        "tiers.core.guard_version: value: -1 is not allowed, expected a whole number from 0"
    )
    state = idle()
    state.counters["x"] = True
    assert "counters[x]: True is not a whole number" in str(refusal(state))
    state = idle()
    state.tiers.decisions = (3,)  # type: ignore[assignment]
    assert refusal(state) == StateDamaged("tiers.decisions[0]: 3 is not a RoutingDecision")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"phase": "recovering"}, "phase: it recovers, and in flight are no operations"),
        ({"phase": "new"}, "epoch: 1 in the phase new"),
        ({"epoch": 0}, "epoch: 0 in the phase ready"),
        ({"queue": (requests.Count(1),)}, "phase: ready, and something recovers or waits for that"),
        ({"seen_ms": 2**53}, "seen_ms: value: 9007199254740992 is not allowed"),
        ({"scope": Scope("", "a")}, "scope: user:  is not allowed"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_each_other_are_refused(changes: dict[str, Any], reason: str) -> None:
    assert reason in str(refusal(structs.replace(idle(), **changes)))


# Operations in flight that do not fit.


def in_flight(*asked: requests.Request, answer_count: int = 0) -> State:
    """A memory with these requests in flight, after so many answers."""
    pair = recovered(Pair())
    for request in asked:
        pair.step(request)
    for _ in range(answer_count):
        pair.answer()
    return pair.memory.state


def with_operation(state: State, **changes: Any) -> State:
    number, operation = next(iter(state.operations.items()))
    return structs.replace(state, operations={number: structs.replace(operation, **changes)})


ALIEN: Final = Row(Address(Scope("u1", "a1"), "head", "head"), 1, Head(""))
ASKED: Final = AskModel("extract", "", request_id=1)
MISPLACED: Final = Row(Address(Scope("u1", "a1"), "access", "x"), 1, AccessRecord("y", "note", 0, 1, 0, 0))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"row": 99}, "row: 99, and its table has 17"),
        ({"facts": {}}, "facts: other ones than remember has at extract"),
        ({"entered": ("unknown",)}, "interceptors around remember.extract"),
        ({"pages": (ALIEN,)}, "pages: rows that extract has not asked for"),
        (
            {"reads": (RowRead(12, ALIEN.address, 0, is_named=True),)},
            "reads: at a row of its table after extract",
        ),
        ({"pages": (MISPLACED,)}, "pages[0]: not the row x of the kind access"),
        ({"learned": ({"x": 1},)}, "learned: other facts than those of extract"),
        ({"progress": Running()}, "progress: it runs, and no step does"),
        ({"op_id": None}, "remember has no request"),
        ({"unit": 1}, "unit: 1, and extract has 1"),
        ({"attempt": 0}, "attempt: it has asked, and made no attempt"),
        (
            {"progress": Waiting(10**13, ASKED, structs.replace(ASKED, request_id=99))},
            "it waits for an answer to no question",
        ),
        (
            {"progress": Waiting(10**13, ASKED, Embed(("x",), request_id=1))},
            "sent: another question than that of extract",
        ),
    ],
)
def test_an_operation_that_does_not_fit_its_table_is_refused(changes: dict[str, Any], reason: str) -> None:
    state = in_flight(requests.Remember(1, "Alice likes tea"))
    assert reason in str(refusal(with_operation(state, **changes)))


def test_an_operation_that_waits_for_a_turn_that_is_not_held_is_refused() -> None:
    state = in_flight(requests.Remember(1, "Alice likes tea"))
    queued = with_operation(state, progress=Queued())
    assert "remember is queued behind no operation" in str(refusal(queued))


def test_operations_that_wait_for_each_other_in_a_circle_are_refused() -> None:
    state = in_flight(*(requests.SetBlock(number, "goals", "text") for number in (1, 2, 3)))
    _, second, third = state.operations.values()
    assert [type(it.progress) for it in (second, third)] == [Queued, Queued]
    second.claims, third.claims = ((2, "x"), (5, "y")), ((3, "y"), (4, "x"))
    assert "operations are queued behind each other" in str(refusal(state))


@pytest.mark.parametrize("is_done", [False, True])
def test_what_a_recall_has_found_is_restored_only_if_it_is_entities(is_done: bool) -> None:
    pair = recovered(Pair(model=saying(expand='["drinks", "beverages"]')))
    pair.step(requests.Recall(1, "what does Alice like to drink in the morning", deep=True))
    (operation,) = pair.memory.state.operations.values()
    while not ("vector_lists" in operation.facts if is_done else operation.learned):
        pair.answer()
    known: Any = operation.facts if is_done else operation.learned[0]
    known["vector_lists"] = tuple((ALIEN,) for _ in known["vector_lists"]) if is_done else (ALIEN,)
    assert "vector_lists]: a row of head" in str(refusal(pair.memory.state))


@pytest.mark.parametrize("changes", [{"row": 99}, {"facts": {}}, {"learned": ({"x": 1}, {})}])
def test_of_an_operation_that_is_not_of_its_table_nothing_else_is_looked_at(changes: dict[str, Any]) -> None:
    state = with_operation(in_flight(requests.Remember(1, "Alice likes tea")), **changes)
    assert len([reason for reason in reasons(state, BUILT_IN) if reason.startswith("operations[")]) == 1


def test_what_was_learnt_of_a_part_is_of_the_type_of_its_fact() -> None:
    state = in_flight(requests.Remember(1, "Alice likes tea. Bob snores"), answer_count=3)
    (operation,) = state.operations.values()
    (unit,) = operation.learned
    wrong = (dict.fromkeys(unit, 3),)
    assert "learned[" in str(refusal(with_operation(state, learned=wrong)))


def at_commit() -> tuple[State, Operation, Commit]:
    state = in_flight(requests.Remember(1, "Alice likes tea. Bob snores"), answer_count=5)
    (operation,) = state.operations.values()
    assert isinstance(operation.asked, Commit)
    return state, operation, operation.asked


def test_of_a_step_that_asks_for_each_there_is_one_fact_for_each() -> None:
    state, operation, _ = at_commit()
    facts: dict[str, Any] = {**operation.facts}
    facts["candidates"] = facts["candidates"][:1]
    assert "facts[candidates]: not one for each of fresh" in str(refusal(with_operation(state, facts=facts)))


PAIR: Final = ("fct_x@1", "fct_y@1")
VERDICT: Final = StatementVerdict("update", 900_000)


@pytest.mark.parametrize(
    ("facts", "law"),
    [
        ({"drafts": ()}, "new facts among the drafts"),
        ({"pairs": ((PAIR,),), "verdicts": ((),)}, "pairs of new facts and candidates"),
        ({"pairs": ((),), "verdicts": (((PAIR, VERDICT),),)}, "verdicts on pairs"),
    ],
    ids=["fresh", "pairs", "verdicts"],
)
@pytest.mark.parametrize("name", ["remember", "memorize"])
def test_what_was_compared_fits_together(name: str, facts: dict[str, Any], law: str) -> None:
    _, operation, _ = at_commit()
    table = BUILT_IN.revisions[name][-1]
    (checked,) = (it for it in table.laws if it.description == law)
    assert checked.holds_of(operation.facts, SCOPE)
    assert not checked.holds_of({**operation.facts, **facts}, SCOPE)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("asked", "asked: another batch than that of the plan"), ("sent", "sent: another batch than what was")],
)
def test_a_batch_is_that_of_its_plan(name: str, reason: str) -> None:
    state, operation, asked = at_commit()
    assert isinstance(operation.progress, Waiting)
    less: dict[str, Any] = {name: structs.replace(asked, writes=asked.writes[:1])}
    other = with_operation(state, progress=structs.replace(operation.progress, **less))
    assert any(reason in other_reason for other_reason in reasons(other, BUILT_IN))


def test_operations_in_flight_of_a_life_that_cannot_have_any_are_refused() -> None:
    state = structs.replace(in_flight(requests.Remember(1, "Alice likes tea")), phase="over_limit")
    assert "phase: over_limit, and operations are in flight" in str(refusal(state))


def test_what_a_skipped_step_leaves_is_taken_and_nothing_else() -> None:
    """A forget whose request key is known goes from `seen` to `reply`: nothing was looked up."""
    state = in_flight(requests.Forget(1, "ent_x", request_key="k"))
    table = BUILT_IN.revisions["forget"][-1]
    (operation,) = state.operations.values()
    facts: dict[str, Any] = {**operation.facts, "receipt": None}
    for step in table.steps[1:-1]:
        facts |= step.skipped_values
    skipped = structs.replace(operation, row=len(table.steps) - 1, facts=facts)
    assert list(wrong_facts(skipped, table, state.scope)) == []
    for name in table.steps[1].learns:
        other = structs.replace(skipped, facts={**facts, name: 3})
        assert f"facts[{name}]" in next(wrong_facts(other, table, state.scope))


def test_a_memory_of_another_scope_is_refused_if_the_host_says_which_it_expects() -> None:
    data = Memory(Scope("u2", "a2")).snapshot()
    assert Memory.restore(data, life=0, scope=Scope("u2", "a2")).state.scope == Scope("u2", "a2")
    with pytest.raises(Rejected) as caught:
        Memory.restore(data, life=0, scope=Scope("u1", "a2"))
    assert isinstance(caught.value.errors[0], BadScope)
    assert "u2" in str(caught.value)


# Lives.


def asking(pair: Pair) -> AskModel:
    """The question to the model that is open now."""
    return next(effect for effect in pair.pending if isinstance(effect, AskModel))


def test_an_answer_to_a_life_that_was_taken_back_is_late() -> None:
    pair = Pair().run()
    data = pair.memory.snapshot()
    pair.step(requests.Remember(1, "Alice likes tea"))
    lost = asking(pair)
    pair.pending.clear()
    pair.memory = Memory.restore(data, life=1)
    pair.step(requests.Remember(2, "Bob likes milk"))
    assert asking(pair).request_id > LIFE_NUMBER_COUNT > lost.request_id
    before = pair.memory.digest()
    pair.step(ModelReplied(lost.request_id, '{"entities": [{"name": "Alice", "type": "person"}]}'))
    assert (pair.memory.marks, pair.memory.digest()) == (("late answer",), before)


def test_a_commit_of_a_life_that_was_taken_back_has_another_key() -> None:
    pair = Pair().run()
    data = pair.memory.snapshot()
    keys = []
    for life, text in ((0, "Alice likes tea"), (1, "Bob likes milk")):
        pair.memory = Memory.restore(data, life=life)
        pair.step(requests.Remember(life, text))
        pair.until(Commit)
        keys += [effect.key for effect in pair.pending if isinstance(effect, Commit)]
        pair.run()
        assert isinstance(pair.replies[life].outcome, Done)
    assert len(set(keys)) == 2


@pytest.mark.parametrize("life", [-1, 1, LIFE_MAX + 1, True, "2", None])
def test_a_life_that_was_used_or_is_none_is_refused(life: Any) -> None:
    data = Memory.restore(Pair().run().memory.snapshot(), life=2).snapshot()
    with pytest.raises(Rejected) as caught:
        Memory.restore(data, life=life)
    assert isinstance(caught.value.errors[0], BadOption)
    assert "a whole number from 2" in str(caught.value)


def test_a_memory_says_which_life_it_is_and_a_copy_continues_it() -> None:
    memory = Pair().run().memory
    assert memory.life == 0
    later = Memory.restore(memory.snapshot(), life=7)
    copy = Memory.restore(later.snapshot(), life=later.life)
    assert (later.life, copy.life, copy.digest()) == (7, 7, later.digest())

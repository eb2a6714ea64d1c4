"""Goal: a redacted recording has no text of a user, and replays as the old one did."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args, get_origin

import pytest
from hypothesis import given, settings
from msgspec import structs

from tests.worlds import Pair
from umi_core.codec import encode
from umi_core.config import Config
from umi_core.data import is_struct, list_fields
from umi_core.kelpie.requests import AddArchival, GetArchival
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed, ModelReplied, ReadDone, Value
from umi_core.messages.effects import Effect, Reply
from umi_core.messages.requests import REQUESTS, CreateEntity, Recall, Remember, arguments_of
from umi_core.messages.results import Remembered
from umi_core.recordings import RecordedStep, RecordingHead
from umi_core.rows import BODIES, Address, Body, Row
from umi_core.values import Scope
from umi_sim.record.stand_ins import WORD, StandIns, known_words
from umi_sim.runs.redacted import redact_recording
from umi_sim.runs.runner import run_once
from umi_sim.scenario import files as scenario
from umi_sim.testing.random_rows import bodies_of

SECRET: Final = b"secret" * 8
MARK: Final = "Quetzalcoatlus"  # which no code of the memory says


def sample(kind: Any) -> Any:
    """Any value of a type, with the mark wherever a text may be."""
    if kind is str:
        return MARK
    if kind is bytes:
        return MARK.encode()
    if is_struct(kind):
        return kind(*(sample(field.type) for field in list_fields(kind)))
    if get_origin(kind) is tuple:
        return tuple(sample(part) for part in get_args(kind) if part is not ...)
    parts = get_args(kind)
    return sample(parts[0]) if parts else kind(1)


def marked(it: Any) -> Any:
    """The same with the mark in every text and in all bytes."""
    match it:
        case str():
            return f"{it} {MARK}"
        case bytes():
            return it + MARK.encode()
        case tuple():
            return tuple(marked(part) for part in it)
    fields = it.__struct_fields__ if is_struct(type(it)) else ()
    return structs.replace(it, **{name: marked(getattr(it, name)) for name in fields}) if fields else it


def has_mark(value: object) -> bool:
    return MARK.casefold().encode() in encode(value).lower()


@pytest.mark.parametrize("name", REQUESTS)
def test_no_field_of_a_redacted_request_has_its_text(name: str) -> None:
    cls = REQUESTS[name]
    request = cls(MARK, **{it.name: sample(it.type) for it in arguments_of(cls)})
    assert has_mark(request)
    assert not has_mark(StandIns(SECRET).value(request))


@pytest.mark.parametrize("kind", BODIES)
def test_no_field_of_a_redacted_row_has_its_text(kind: str) -> None:
    @settings(max_examples=20)  # every text of a body is marked, so each body has all that may leak
    @given(bodies_of(kind))
    def check(body: Body) -> None:
        row = marked(Row(Address(Scope("user", "agent"), kind, "id"), 1, body))
        answers = ReadDone(1, (row,), MARK), EffectFailed(1, "conflict", changed=((row.address, 1),))
        assert all(map(has_mark, answers))
        assert not any(map(has_mark, StandIns(SECRET).value(answers)))

    check()


@pytest.mark.parametrize("text", [MARK, f'{{"{MARK}": ["{MARK}"]}}', f'[{{"a": "{MARK}', f'"\\ud800 {MARK}"'])
def test_no_redacted_reply_of_a_model_has_its_text(text: str) -> None:
    reply = StandIns(SECRET).value(ModelReplied(1, text))
    assert not has_mark(reply)
    assert len(reply.text) == len(text)


# Whole lives.

Life = tuple[RecordingHead, list[RecordedStep]]


@pytest.fixture
def lives(monkeypatch: pytest.MonkeyPatch) -> dict[Memory, Life]:
    """All memories that live from now on, with what they take."""
    found: dict[Memory, Life] = {}
    unrecorded = Memory.step

    def step(memory: Memory, now_ms: int, value: Value) -> tuple[Effect, ...]:
        _, steps = found.setdefault(memory, (RecordingHead(memory.state.scope, memory.state.config), []))
        steps.append(RecordedStep(now_ms, value))
        return unrecorded(memory, now_ms, value)

    monkeypatch.setattr(Memory, "step", step)
    return found


@pytest.mark.parametrize(
    ("name", "seed"), [("smoke", 0), ("crash_storm", 2), ("takeovers", 0), ("handoff", 6), ("topics", 2)]
)
def test_lives_in_other_words_ask_and_reply_the_same(name: str, seed: int, lives: dict[Memory, Life]) -> None:
    """With answers that come late or never, rows that others wrote, sessions and blocks under labels.

    Not with a division of an earlier life: nothing tells what its digest is in other words.
    """
    run_once(scenario.draw(scenario.find(name), seed))
    for head, steps in sorted(lives.values(), key=lambda life: -len(life[1]))[:2]:
        new_head, new_steps = redact_recording(head, steps, SECRET)
        assert [step.now_ms for step in new_steps] == [step.now_ms for step in steps]
        assert steps_of(new_head, new_steps) == steps_of(head, steps)
        assert not names_in(steps) & names_in(new_steps)
        assert len(names_in(steps)) > 4


def test_numbers_of_requests_and_of_records_are_no_texts(lives: dict[Memory, Life]) -> None:
    pair = Pair()
    for request in (
        Remember(12_345, "Ann likes tea"),
        AddArchival(12_346, "tea"),
        record := GetArchival(12_347, "arc_000000000001"),
    ):
        pair.ask(request)
    [(head, steps)] = lives.values()
    new_head, new_steps = redact_recording(head, steps, SECRET)
    assert steps_of(new_head, new_steps) == steps_of(head, steps)
    assert record in [step.value for step in new_steps]


def test_a_fact_of_an_earlier_life_is_the_same_fact_in_other_words(lives: dict[Memory, Life]) -> None:
    """A search finds it before it is stated again; then the found fact is stated, and no other one."""
    earlier = Pair()
    earlier.ask(Remember(1, "Ann likes tea"))
    later = Pair(earlier.storage)
    for request in (Recall(1, "tea"), Remember(2, "Ann likes tea")):
        later.ask(request)
    head, steps = lives[later.memory]
    changes = [changes_of(*life) for life in ((head, steps), redact_recording(head, steps, SECRET))]
    assert changes == [["unchanged"], ["unchanged"]]


def changes_of(head: RecordingHead, steps: Sequence[RecordedStep]) -> list[str]:
    """What happened to each fact that was stated."""
    memory = Memory(head.scope, head.config)
    effects = (it for step in steps for it in memory.step(step.now_ms, step.value) if isinstance(it, Reply))
    values = (getattr(it.outcome, "value", None) for it in effects)
    return [fact.change for it in values if isinstance(it, Remembered) for fact in it.entities]


def steps_of(head: RecordingHead, steps: Sequence[RecordedStep]) -> list[list[str]]:
    """What each step gave, by the kinds of effects and how requests ended."""
    memory = Memory(head.scope, head.config)
    return [list(map(shown, memory.step(step.now_ms, step.value))) for step in steps]


def shown(effect: Effect) -> str:
    if not isinstance(effect, Reply):
        return type(effect).__name__
    outcome = effect.outcome
    parts = outcome, getattr(outcome, "value", None), getattr(outcome, "error", None)
    return " ".join(type(part).__name__ for part in parts)


def names_in(steps: Sequence[RecordedStep]) -> set[str]:
    """Words of five letters and more that no code of the memory says."""
    found = {word for text in texts_in([step.value for step in steps]) for word in WORD.findall(text)}
    return {
        word for word in found if len(word) > 4 and word.isalpha() and word.casefold() not in known_words()
    }


def texts_in(it: Any) -> Iterator[str]:
    if isinstance(it, str | bytes):
        yield it if isinstance(it, str) else it.decode(errors="replace")
    elif isinstance(it, list | tuple):
        for part in it:
            yield from texts_in(part)
    elif is_struct(type(it)):
        yield from texts_in(structs.astuple(it))


def test_custom_categories_are_reworded(lives: dict[Memory, Life]) -> None:
    listed = ((f"{MARK} and tea", f"What {MARK} eats."), ("facts", ""))
    pair = Pair(config=Config(categories=listed)).run()
    pair.ask(CreateEntity(1, f"{MARK} likes tea", "profile", (f"{MARK} and tea",)))
    head, steps = lives[pair.memory]
    new_head, new_steps = redact_recording(head, steps, SECRET)
    assert not has_mark(new_head.config)
    assert new_head.config.categories[1] == ("facts", "")
    assert steps_of(new_head, new_steps) == steps_of(head, steps)

"""A redacted recording: the same run with other words in place of its texts.

The id of a row is derived from names, and storage answers by id. So the recorded answers of storage are not
translated: a simulated store answers instead, at the same moments. It takes rows that it did not write, such
as those from before the recording or from another process, from the recorded answers.

Law 1. Requests, failures, the hits of searches, and the order of everything are those of the recording. An
answer that came too late is replaced by a wake-up at its time.
Law 2. The new recording shares nothing with the old one except what stand-ins leave (record/stand_ins.py).
Law 3. `umi-sim redact` checks and reports whether the new recording breaks the same rule.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec
from msgspec import structs

from umi_core.answer_checks import check_answer, is_typed
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.ids import category_id, entity_id, fact_id, reflection_id
from umi_core.memory import Memory
from umi_core.messages.answers import Committed, EffectFailed, ReadDone, Value, Wake
from umi_core.messages.effects import Asked, ByIds, ByVector, ByWords, Commit, Effect, Read
from umi_core.messages.requests import Request
from umi_core.recordings import RecordedStep, RecordingHead, digest_of
from umi_core.rows import Address, Body, Category, Reflection, Row, fact_of
from umi_core.values import Scope
from umi_sim.record.stand_ins import ID, StandIns
from umi_sim.runs.recorded import Label, Questions, fit_value, labels_of
from umi_sim.services.storage import SimStorage


def redact_recording(
    head: RecordingHead, steps: Sequence[RecordedStep], secret: bytes
) -> tuple[RecordingHead, tuple[RecordedStep, ...]]:
    """Return the head and the steps of a recording without its texts. `secret`: 16 to 64 secret bytes."""
    words = StandIns(secret)
    config = structs.replace(head.config, categories=words.value(head.config.categories))
    twins = Twins(words, begin_memory(head.scope, head.config), begin_memory(words.value(head.scope), config))
    # Before the first step, since an id is translated at its first occurrence and needs its twin by then.
    for row in there_before(head, steps):
        twins.name(row)
    for step, label in zip(steps, labels_of(head, steps), strict=True):
        if not twins.step(step, label):
            break
    return RecordingHead(twins.new.scope, config), tuple(twins.taken)


def there_before(head: RecordingHead, steps: Sequence[RecordedStep]) -> Iterator[Row]:
    """Yield the rows in answers of storage that the recorded memory has not written itself.

    A row that it has written needs no twin from here: the new memory writes one, with its own id.
    """
    memory, own = Memory(head.scope, head.config), set[Address]()
    for step in steps:
        if isinstance(step.value, ReadDone) and is_typed(step.value):
            yield from (row for row in step.value.rows if row.address not in own)
        with suppress(Exception):  # whatever it is, the memory has raised it
            asked = (it for it in memory.step(step.now_ms, step.value) if isinstance(it, Commit))
            # A row counts as written by the memory once it has asked for the commit, acknowledged or not.
            own.update(write.address for it in asked for write in it.writes)


def derive_ids(it: Body | None, scope: Scope, redact: Callable[[str], str] = str) -> tuple[str, ...]:
    """Return the id of a row in a scope, and those of the entities that it is about.

    `redact` replaces the words of each text of the row.
    """
    fact = fact_of(it)
    if fact is not None:
        names = (fact.name, *fact.others) if fact.about else ()
        about = tuple(entity_id(scope, redact(name)) for name in names)
        # The id of a fact is derived from the ids of its entities, so these are returned as well.
        return fact_id(scope, about, redact(fact.content)), *about
    match it:
        case Category():
            return (category_id(scope, redact(it.name)),)
        case Reflection():
            return (reflection_id(scope, redact(it.session_id)),)
    return ()


class MemoryRun(Owner):
    """A memory, with the labels of its questions and the effects that it has requested."""

    scope: Scope
    memory: Memory
    questions: Questions = msgspec.field(default_factory=Questions)
    asked: dict[int, Asked] = {}

    def step(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        effects = self.memory.step(now_ms, value)
        self.questions.learn(self.memory)
        self.asked |= {it.request_id: it for it in effects if isinstance(it, Asked)}
        return effects


def begin_memory(scope: Scope, config: Config) -> MemoryRun:
    return MemoryRun(scope, Memory(scope, config))


class Twins(Owner):
    """The recorded memory and the redacted one, stepped side by side."""

    words: StandIns
    old: MemoryRun
    new: MemoryRun
    stores: dict[str, SimStorage] = {}
    versions: dict[tuple[str, Address], int] = {}  # by store and recorded address: recorded version
    taken: list[RecordedStep] = []

    def step(self, step: RecordedStep, label: Label | None) -> bool:
        """Step both memories; return False if either raised, which ends the recording."""
        here = None if label is None else (self.words.value(label[0]), label[1])
        place = fit_value(step.value, here, self.new.questions, self.new.memory)
        # If an answer came late, or belongs to no question, the
        # memory saw only that time had passed: hence a wake-up.
        value = Wake() if place is None else self.redact_value(step, place)
        # At first without a digest of the effects: a step that raises has
        # none, and must be the last line of the new recording all the same.
        self.taken.append(RecordedStep(step.now_ms, value))
        old = new = None
        with suppress(Exception):  # whatever it is, the memory has raised it
            new = self.new.step(step.now_ms, value)
            self.taken[-1] = RecordedStep(step.now_ms, value, digest_of(new))
        with suppress(Exception):  # whatever it is, the memory has raised it
            old = self.old.step(step.now_ms, step.value)
        if old is None or new is None:
            return False
        self.learn(old, new)
        return True

    def redact_value(self, step: RecordedStep, place: Value) -> Value:
        """Return the value in other words. `place`: the recorded value with the id of the new question."""
        if isinstance(place, Request | Wake):
            value: Value = self.words.value(place)
            return value
        assert not isinstance(step.value, Request | Wake)
        question, asked = self.old.asked[step.value.request_id], self.new.asked[place.request_id]
        # `check_answer` turns an answer that does not fit its question into a failure, as the memory does. So
        # a malformed answer falls to the last case.
        match asked, question, check_answer(question, step.value):
            case Commit(), _, Committed() as recorded:
                return self.commit(asked, recorded, step.now_ms)
            case Read(), Read(), ReadDone() as recorded:
                return self.read(asked, question, recorded, step.now_ms)
            case _, _, recorded:
                answer: Value = self.words.value(structs.replace(recorded, request_id=place.request_id))
                return answer

    def commit(self, asked: Commit, recorded: Committed, now_ms: int) -> Committed | EffectFailed:
        # `put_back` compares these versions with those of later reads, to find rows that another process has
        # written in between.
        self.versions |= {(asked.store, address): version for address, version in recorded.versions}
        store = self.store(asked)
        answer = store.flush(store.arrive(asked, ""), now_ms)
        assert answer is not None
        return answer

    def read(self, asked: Read, question: Read, recorded: ReadDone, now_ms: int) -> ReadDone:
        store = self.store(asked)
        self.put_back(question, recorded, store, now_ms)
        if isinstance(asked.query, ByVector | ByWords):
            return ReadDone(asked.request_id, tuple(self.find_twins(recorded, store)))
        return store.read(asked.request_id, asked.query)

    def store(self, asked: Commit | Read) -> SimStorage:
        return self.stores.setdefault(asked.store, SimStorage())

    def find_twins(self, recorded: ReadDone, store: SimStorage) -> list[Row]:
        """Return the twins of the recorded hits with the recorded scores; old vectors are not recorded."""
        twins = [(store.rows.get(self.words.value(row.address)), row.score_ppm or 0) for row in recorded.rows]
        rows = [structs.replace(row, score_ppm=score_ppm) for row, score_ppm in twins if row is not None]
        # Storage answers with the best hit first, and with the smaller id on
        # a tie. The new ids have another order, so the hits are sorted again.
        return sorted(rows, key=lambda row: (-(row.score_ppm or 0), row.address.id))

    def put_back(self, question: Read, recorded: ReadDone, store: SimStorage, now_ms: int) -> None:
        """Put rows into the store that it did not write itself, such as those from before the recording."""
        rows: dict[Address, Row | None] = {}
        for row in recorded.rows:
            if self.versions.get((question.store, row.address)) != row.version:
                self.versions[question.store, row.address] = row.version
                rows[self.words.value(row.address)] = structs.replace(self.words.value(row), score_ppm=None)
        found = {row.address for row in recorded.rows}
        for address in question.query.addresses if isinstance(question.query, ByIds) else ():
            # A row that was written, is requested by id and is absent was deleted by another process.
            if address not in found and self.versions.pop((question.store, address), 0):
                rows[self.words.value(address)] = None
        store.put_back(rows, now_ms)

    def name(self, row: Row) -> None:
        """Register twins for the ids of a row from before the recording, derived from its new words."""
        now, then = (
            derive_ids(row.body, self.new.scope, self.words.text),
            derive_ids(row.body, row.address.scope),
        )
        if row.address.id in then[:1]:
            for old_id, new_id in zip(then, now, strict=True):
                self.words.ids.setdefault(old_id, new_id)

    def learn(self, old: tuple[Effect, ...], new: tuple[Effect, ...]) -> None:
        """Register twins of recorded ids: the n-th id in the old effects and the n-th in the new ones."""
        ids = [re.findall(ID, repr(effects)) for effects in (old, new)]
        # Both memories take the same steps, so ids correspond if their numbers are equal, and only then.
        if len(ids[0]) == len(ids[1]):
            for old_id, new_id in zip(*ids, strict=True):
                self.words.ids.setdefault(old_id, new_id)

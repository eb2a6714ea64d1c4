"""Conversations with one memory of which the archive oracle hears every word; what a test tells it may be
true or not."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec import structs

from umi_core.config import Config
from umi_core.ids import entity_id, fact_id, relation_id
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied
from umi_core.messages.effects import AskModel, Commit, Degraded, Done, Embed, Outcome
from umi_core.messages.requests import Count, Forget, GetEntity, Recall, Remember
from umi_core.messages.results import (
    Forgotten,
    Hit,
    Recalled,
    RecordForgotten,
    Remembered,
    Resolution,
    Stored,
)
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.rows import Ended, Entity, Relation
from umi_core.values import RoutingDecision, Scope
from umi_sim.judge.oracle.archive.model import ArchiveModel
from umi_sim.judge.oracle.judge import Oracle
from umi_sim.judge.oracle.model import Ending, Surroundings
from umi_sim.record.broken import Broken
from umi_sim.services.calls import Call
from umi_sim.services.embedder import embed

SCOPE = Scope("u1", "a1")
NOW_MS = 1_000
DIMS = 16
ALICE, ACME = entity_id(SCOPE, "Alice"), entity_id(SCOPE, "Acme")
TYPES = {ALICE: "person", ACME: "organization"}
NAMES = {ALICE: "Alice", ACME: "Acme"}
ONE_NOTE = Degraded("extract:notes", "timeout")
Statement = tuple[str, int, str]
End = tuple[str, int]


@contextmanager
def broken(rule: str) -> Iterator[None]:
    with pytest.raises(Broken) as raised:
        yield
    assert raised.value.rule == rule, raised.value


def extraction(*mentions: tuple[str, str], **more: Any) -> str:
    """What the model says of these (id, content)."""
    entities = [
        {"name": NAMES[key], "type": TYPES[key], "content": text, "confidence": 1} for key, text in mentions
    ]
    return json.dumps({"entities": entities, **more})


def decision(key: str, change: str = "created", kind: str = "") -> RoutingDecision:
    routed_by = "table" if change == "created" else "kept"
    return RoutingDecision(key, BLOCK_OF_TYPE[kind or TYPES[key]], False, None, "", routed_by, None)


def fact(key: str, content: str) -> str:
    """Return the id of a statement about this entity."""
    return fact_id(SCOPE, (key,), content)


def as_stored(
    *mentions: tuple[str, str], change: str = "created", version: int = 1, **more: Any
) -> Remembered:
    """Return what a remember replies about these statements if all of them take the same turn."""
    stored = tuple(Stored(fact(key, text), version, change) for key, text in mentions)
    routing = tuple(decision(fact(key, text), change, TYPES[key]) for key, text in mentions)
    return structs.replace(Remembered(stored, routing=routing), **more)


def remembered(*stored: Statement, kind: str = "person", **more: Any) -> Remembered:
    """Build the reply of a remember about these facts; `kind`: the type of the entity that they are about."""
    given = {"routing": tuple(decision(key, change, kind) for key, _, change in stored)}
    return Remembered(tuple(Stored(*one) for one in stored), **(given | more))


def relation(source: End, target: End, kind: str, **more: Any) -> Relation:
    """Build a relation between two facts, or a link if the version is 0 at both ends."""
    row_id = relation_id(SCOPE, source, target, kind)
    return structs.replace(Relation(row_id, kind, source, target, 500_000, "", "table", NOW_MS), **more)


def stated(kind: str, source: End, target: End, confidence: float = 0.9, reason: str = "so") -> str:
    """What a model says that a new statement, the target, does to an old one."""
    new, old = (f"{key}@{version}" for key, version in (target, source))
    row = {"new": new, "old": old, "type": kind, "confidence": confidence, "reason": reason}
    return json.dumps([row])


def asking(answer: str) -> str:
    """Return a prompt that asks about the pairs of facts that this answer names."""
    try:
        rows = json.loads(answer)
    except ValueError:
        return ""
    named = [(row["new"], row["old"]) for row in rows if isinstance(row, dict)]
    pairs = [{"new": new, "old": old} for new, old in named if new[:4] == old[:4] == "fct_"]
    return f"INPUT pairs = {json.dumps(pairs)}"


WRITTEN = (Remembered, Forgotten, Stored, RecordForgotten)
BY_MODEL: dict[str, Any] = {"confidence_ppm": 900_000, "reason": "so", "by": "model"}


def entity(key: str, content: str, version: int = 1, **more: Any) -> Entity:
    kind, name = TYPES[key], NAMES[key]
    known = Entity(
        fact(key, content), kind, name, content, version, 500_000, 1_000_000, BLOCK_OF_TYPE[kind], NOW_MS,
        NOW_MS, about=(key,), is_direct=True,
    )  # fmt: skip
    return structs.replace(known, **more)


def vector_of(key: str, content: str) -> tuple[int, ...]:
    return embed(f"{NAMES[key]}\n{content}", DIMS)


class History:
    """A conversation of which the oracle hears every word."""

    def __init__(self, off: tuple[str, ...] = (), **config: Any) -> None:
        self.surroundings = Surroundings()
        self.oracle = ArchiveModel(SCOPE, Config(embedding_dims=DIMS, **config), self.surroundings, off)
        self.context, self.log = self.oracle.context, self.oracle.log
        self.count, self.life = 0, 1

    def at(self, world_ms: int) -> None:
        """The world's time, which a conversation need not know."""
        self.surroundings.world_ms = lambda: world_ms
        self.context.world_ms = world_ms

    def ask(self, request: Any, now_ms: int = NOW_MS) -> str:
        self.count += 1
        op_id = f"o{self.count}"
        self.oracle.observe_request(op_id, structs.replace(request, op_id=op_id), now_ms)
        return op_id

    def answer(self, op_id: str, step: str, answer: Answer, text_count: int = 0, prompt: str = "") -> None:
        effect = Embed(("",) * text_count) if text_count else AskModel(step, prompt)
        call = Call("", "a", 1, op_id, "", step, effect, 0)
        self.oracle.observe_answer(call, self.log.flying[op_id].request, answer, self.context.seen_ms)

    def hear(self, op_id: str, step: str, answer: str | tuple[Any, ...] | None, text_count: int = 0) -> None:
        """`text_count`: how many texts an embedder was asked for, if not as many as it answered.

        A model that is asked how statements stand to each other was asked about those that it names.
        """
        known: Answer = EffectFailed(0, "refused")
        if isinstance(answer, str):
            known = ModelReplied(0, answer)
        elif answer is not None:
            known = Embedded(0, answer)
            text_count = text_count or len(answer)
        is_asked = step == "evolve" and isinstance(answer, str)
        self.answer(op_id, step, known, text_count, asking(str(answer)) if is_asked else "")

    def send(self, op_id: str) -> Call:
        """Its batch is on its way to storage."""
        call = Call(f"{op_id}/commit#1", "a", self.life, op_id, "", "commit", Commit((), (), ""), 0)
        self.oracle.observe_call(call, self.context.seen_ms)
        return call

    def land(self, op_id: str) -> None:
        """Its batch becomes durable."""
        self.oracle.observe_commit(self.send(op_id))

    def crash(self) -> None:
        """Another life begins."""
        self.oracle.observe_crash()
        self.life += 1

    def wait(self, op_id: str, step: str, count: int = 2) -> None:
        """Let the operation ask so many times without an answer."""
        for n in range(count):
            call = Call(f"{op_id}/{step}#{n}", "a", self.life, op_id, "", step, AskModel(step, ""), 0)
            self.oracle.observe_call(call, self.context.seen_ms)

    def reply(self, op_id: str, outcome: Any, *degraded: Degraded, now_ms: int = NOW_MS) -> None:
        """End the operation so; if the outcome says that it wrote something, its batch is durable first."""
        op = self.log.flying[op_id]
        is_written = isinstance(outcome, WRITTEN) and (outcome != Forgotten(False) or op.key)
        if is_written and not getattr(outcome, "repeated", False) and op not in self.log.by_op:
            self.land(op_id)
        self.close(op_id, outcome if isinstance(outcome, Outcome) else Done(outcome, degraded), now_ms)

    def close(self, op_id: str, outcome: Outcome, now_ms: int = NOW_MS) -> None:
        """End the operation with this outcome; no answer follows."""
        request = self.log.flying[op_id].request
        self.oracle.observe_reply(Ending(op_id, request, outcome, now_ms, now_ms))

    def tell(self, *mentions: tuple[str, str], **options: Any) -> str:
        """A remember whose model has answered."""
        op_id = self.ask(Remember("", "; ".join(text for _, text in mentions) or "hm", **options))
        self.hear(op_id, "extract", extraction(*mentions))
        return op_id

    def vectors(self, op_id: str, *rows: tuple[str, str]) -> None:
        self.hear(op_id, "embed", tuple(vector_of(*row) for row in rows))

    def store(
        self, *mentions: tuple[str, str], change: str = "created", version: int = 1, **options: Any
    ) -> None:
        """A whole remember without any trouble; all its facts take the same turn."""
        op_id = self.tell(*mentions, **options)
        if change != "unchanged" and options.get("embed", True):
            self.vectors(op_id, *mentions)
        self.reply(op_id, as_stored(*mentions, change=change, version=version))

    def get(self, key: str, row: Entity | Ended | None) -> None:
        self.reply(self.ask(GetEntity("", key)), row)

    def forget(self, key: str, existed: bool = True) -> None:
        self.reply(self.ask(Forget("", key)), Forgotten(existed))

    def count_of(self, count: int) -> None:
        self.reply(self.ask(Count("")), count)

    def recall(self, query: str, *hits: Hit, degraded: tuple[Degraded, ...] = (), **options: Any) -> None:
        """A search for a query that needs no model."""
        op_id = self.ask(Recall("", query, **options))
        self.hear(op_id, "embed", (embed(query, DIMS),))
        self.reply(op_id, found(query, *hits), *degraded)

    def seek(self, query: str, *answers: tuple[str, str | None], now_ms: int = NOW_MS, **options: Any) -> str:
        """A search of which these steps were answered, None being a failure."""
        op_id = self.ask(Recall("", query, **options), now_ms)
        for step, answer in answers:
            self.hear(op_id, step, answer)
        return op_id

    def end(self, op_id: str, value: Recalled, *degraded: Degraded, now_ms: int = NOW_MS) -> None:
        """Its variants are embedded, and it is answered."""
        self.context.see(now_ms)
        self.hear(op_id, "embed", tuple(embed(variant, DIMS) for variant in value.variants))
        self.reply(op_id, value, *degraded, now_ms=now_ms)


def hit(key: str, content: str, score_ppm: int, version: int = 1, **more: Any) -> Hit:
    found = Hit(fact(key, content), version, TYPES[key], NAMES[key], content, score_ppm, score_ppm, NOW_MS)
    return structs.replace(found, **more)


def two_known() -> History:
    """Alice and Acme, both acknowledged by one remember."""
    history = History()
    history.store((ALICE, "likes tea"), (ACME, "sells tea"))
    return history


def found(asked: str, *hits: Hit, variants: tuple[str, ...] = (), **more: Any) -> Recalled:
    """Return the reply of a search; by default nothing was resolved, and no variant was made."""
    resolution = structs.replace(Resolution("clear", asked), **more)
    return Recalled(hits, resolution, variants or (resolution.query,))


def note(text: str) -> tuple[str, Remembered]:
    """The id of a text that was kept whole, and what is replied."""
    key = fact_id(SCOPE, (), text)
    routing = (decision(key, kind="note"),)
    return key, Remembered((Stored(key, 1, "created"),), routing=routing)


def believing(oracle: Oracle) -> Oracle:
    """An oracle that does not check why something failed: a handwritten history leaves that out."""
    for agent in oracle.agents.values():
        agent.failures.demand = lambda *_: None  # type: ignore[method-assign]  # the one rule of this model
    return oracle

"""Goal: the onion of interceptors, row by row, and what a hook may change (EN6)."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tests.spec_tables import Row as Told
from tests.spec_tables import plain, rows
from tests.worlds import ALICE, Pair
from umi_core.conditions import Where
from umi_core.engine.interceptors import (
    Interceptor,
    Interceptors,
    Pass,
    Place,
    Refuse,
    Rewrite,
    Substitute,
    inward,
    may_after,
    may_before,
    outward,
)
from umi_core.errors import Rejected, StorageRefused
from umi_core.limits import INTERCEPTOR_COUNT_MAX
from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied, ReadDone, Wake
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Degraded,
    Done,
    Embed,
    Failed,
    HookNote,
    Read,
)
from umi_core.messages.requests import Count, Forget, GetEntity, Recall, Remember
from umi_core.messages.results import Recalled, Resolution
from umi_core.rows import Address, Entity, Row
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN

PLACE = Place("w", "s", 1, "extract")
ASK = AskModel("extract", "p", request_id=7, timeout_ms=100)
FAILURE = EffectFailed(7, "unavailable")


class Broken(Exception):
    pass


def raises() -> Any:
    raise Broken


def writes(prompt: str) -> Rewrite:
    return Rewrite(attrs.evolve(ASK, prompt=prompt))


def says(text: str) -> Substitute:
    return Substitute(ModelReplied(0, text))


@attrs.define
class Onion:
    """Two interceptors, a outside b, with a script per hook; every call and what it saw is noted."""

    script: dict[str, Any]
    calls: list[str] = attrs.field(factory=list)
    seen: dict[str, Any] = attrs.field(factory=dict)

    def hook(self, name: str) -> Callable[..., Any]:
        def run(place: Place, request: Asked, *answer: Answer) -> Any:
            self.calls.append(name)
            self.seen[name] = answer[0] if answer else request
            verdict = self.script.get(name, Pass())
            return verdict() if callable(verdict) else verdict

        return run

    def attempt(self, effect: Answer) -> tuple[Answer, tuple[HookNote, ...]]:
        """One attempt of ASK; E is called if the request comes through."""
        set_of = Interceptors()
        for name in "ab":
            before, after, on_error = (
                self.hook(f"{name}.{kind}") for kind in ("before", "after", "on_error")
            )
            set_of = set_of.added(Interceptor(name, before, after, on_error))
        sent = outward(set_of, PLACE, ASK)
        if sent.answer is None:
            self.calls.append("E")
            self.seen["E"] = sent.request
        answer, notes = inward(set_of, sent.onion, PLACE, sent.request, sent.answer or effect)
        return answer, sent.notes + notes


def note(name: str, hook: str, what: str) -> HookNote:
    return HookNote(name, hook, what, "s")


E_ANSWER = ModelReplied(7, "E")
REFUSED = EffectFailed(7, "refused")

SCRIPTS: dict[str, tuple[dict[str, Any], Answer, list[HookNote]]] = {
    "O1": ({}, E_ANSWER, []),
    "O2": ({}, FAILURE, []),
    "O3": ({"a.before": Refuse("no")}, E_ANSWER, [note("a", "before", "refused")]),
    "O4": ({"b.before": Refuse("no")}, E_ANSWER, [note("b", "before", "refused")]),
    "O5": ({"a.before": says("a")}, E_ANSWER, [note("a", "before", "substituted")]),
    "O6": ({"b.before": says("b")}, E_ANSWER, [note("b", "before", "substituted")]),
    "O7": ({"a.before": writes("a"), "b.before": writes("b")}, E_ANSWER, []),
    "O8": ({"b.on_error": says("b")}, FAILURE, [note("b", "on_error", "substituted")]),
    "O9": ({"a.on_error": says("a")}, FAILURE, [note("a", "on_error", "substituted")]),
    "O10": ({"b.after": says("b")}, E_ANSWER, [note("b", "after", "substituted")]),
    "O11": ({"b.after": Refuse("no")}, E_ANSWER, [note("b", "after", "refused")]),
    "O12": ({"b.before": raises}, E_ANSWER, [note("b", "before", "Broken")]),
    "O14": ({"b.after": raises}, E_ANSWER, [note("b", "after", "Broken")]),
    "O16": ({"b.on_error": raises}, FAILURE, [note("b", "on_error", "Broken")]),
    "O17": (
        {"a.on_error": raises, "b.on_error": raises}, FAILURE,
        [note("b", "on_error", "Broken"), note("a", "on_error", "Broken")],
    ),
}  # fmt: skip
OUTCOMES: dict[str, Answer] = {
    "E's answer": E_ANSWER,
    "E's failure": FAILURE,
    "refused": REFUSED,
    "a's answer": ModelReplied(7, "a"),
    "b's answer": ModelReplied(7, "b"),
}


@pytest.mark.parametrize("row", rows("engine", "onion"), ids=lambda row: row["case"])
def test_the_onion_runs_as_in_its_table(row: Told) -> None:
    script, effect, notes = SCRIPTS[row["case"]]
    onion = Onion(script)
    answer, noted = onion.attempt(effect)
    assert " ".join(onion.calls) == plain(row["calls"])
    assert (answer, list(noted)) == (OUTCOMES[row["outcome"]], notes)


def test_a_bad_result_is_as_one_that_raises() -> None:
    onion = Onion({"b.before": None, "a.after": "fine"})
    answer, noted = onion.attempt(E_ANSWER)
    assert " ".join(onion.calls) == "a.before b.before E a.after"
    assert (answer, list(noted)) == (
        E_ANSWER, [note("b", "before", "bad_result"), note("a", "after", "bad_result")],
    )  # fmt: skip


def test_each_hook_sees_what_those_outside_made_of_the_request() -> None:
    onion = Onion(SCRIPTS["O7"][0])
    onion.attempt(E_ANSWER)
    assert [onion.seen[name].prompt for name in ("a.before", "b.before", "E")] == ["p", "a", "b"]


def test_each_hook_sees_what_those_inside_made_of_the_answer() -> None:
    onion = Onion({"b.after": says("b")})
    onion.attempt(E_ANSWER)
    assert (onion.seen["b.after"].text, onion.seen["a.after"].text) == ("E", "b")


def test_an_assertion_is_never_caught() -> None:
    def is_wrong() -> None:
        raise AssertionError("ours")

    with pytest.raises(AssertionError, match="ours"):
        Onion({"a.before": is_wrong}).attempt(E_ANSWER)


# What may be rewritten, substituted, refused.

SCOPE = Scope("u1", "a1")
COMMIT = Commit((), (), "k", request_id=7)
EMBED = Embed(("x", "y"), request_id=7, timeout_ms=100)
BY_IDS = ByIds((Address(SCOPE, "entity", "e"),))
FILTER = ByFilter(SCOPE, ("entity",), Where(types=("person",)), 1_000)
COUNT = CountRows(SCOPE, ("entity",))
WORDS = ByWords(SCOPE, "tea", Where(), 20, 1)
VECTOR = ByVector(SCOPE, (1, 2), Where(), 20, 1)


def read(query: Any) -> Read:
    return Read(query, request_id=7, timeout_ms=100)


def changed(request: Any, **fields: Any) -> Any:
    """Whatever a hook may make of it."""
    return attrs.evolve(request, **fields)


def narrower(query: Any, **changes: Any) -> tuple[Read, Read]:
    return read(query), read(attrs.evolve(query, **changes))


MAY_REWRITE: dict[str, tuple[Asked, Any]] = {
    "prompt": (ASK, attrs.evolve(ASK, prompt="q")),
    "timeout down": (ASK, attrs.evolve(ASK, timeout_ms=1)),
    "texts, as many": (EMBED, attrs.evolve(EMBED, texts=("a", "b"))),
    "limit down": narrower(WORDS, limit=1),
    "a further condition": narrower(VECTOR, where=Where(start_ms=5)),
    "both": narrower(FILTER, limit=10, where=Where(types=("person",), end_ms=9)),
    "a condition of a count": narrower(COUNT, where=Where(types=("task",))),
    "the same ids": (read(BY_IDS), read(BY_IDS)),
}
MAY_NOT: dict[str, tuple[Asked, Any]] = {
    "task": (ASK, attrs.evolve(ASK, task="route")),
    "profile": (ASK, attrs.evolve(ASK, profile="fast")),
    "request_id": (ASK, attrs.evolve(ASK, request_id=8)),
    "timeout up": (ASK, attrs.evolve(ASK, timeout_ms=101)),
    "timeout zero": (ASK, attrs.evolve(ASK, timeout_ms=0)),
    "prompt that is no text": (ASK, changed(ASK, prompt=5)),
    "prompt with a lone surrogate": (ASK, attrs.evolve(ASK, prompt="\ud800")),
    "another effect": (ASK, EMBED),
    "nothing": (ASK, None),
    "fewer texts": (EMBED, attrs.evolve(EMBED, texts=("a",))),
    "a blank text": (EMBED, attrs.evolve(EMBED, texts=("a", " "))),
    "a text that is none": (EMBED, changed(EMBED, texts=("a", b"b"))),
    "timeout of an embed": (EMBED, attrs.evolve(EMBED, timeout_ms=5)),
    "a commit": (COMMIT, attrs.evolve(COMMIT, key="")),
    "limit up": narrower(WORDS, limit=21),
    "limit zero": narrower(WORDS, limit=0),
    "no limit": narrower(FILTER, limit=None),
    "fewer conditions": narrower(FILTER, where=Where()),
    "another condition": narrower(FILTER, where=Where(types=("task",))),
    "other kinds": narrower(FILTER, kinds=("vector",)),
    "another text": narrower(WORDS, text="coffee"),
    "other ids": (read(BY_IDS), read(ByIds(()))),
    "another kind of query": (read(WORDS), read(VECTOR)),
    "store": (read(WORDS), attrs.evolve(read(WORDS), store="legacy")),
    "scope of a count": narrower(COUNT, scope=Scope("u2", "a1")),
    "half a millisecond": (ASK, changed(ASK, timeout_ms=1.5)),
    "a timeout that is a bool": (ASK, changed(ASK, timeout_ms=True)),
    "texts in a list": (EMBED, changed(EMBED, texts=["a", "b"])),
    "a limit that is a bool": narrower(WORDS, limit=True),
    "types that are one text": narrower(COUNT, where=changed(Where(), types="person")),
    "a time that is a text": narrower(COUNT, where=changed(Where(), start_ms="5")),
    "conditions that are none": narrower(COUNT, where="person"),
}


@pytest.mark.parametrize(("before", "after"), MAY_REWRITE.values(), ids=MAY_REWRITE)
def test_what_may_be_rewritten(before: Asked, after: Any) -> None:
    assert may_before(before, Rewrite(after))


@pytest.mark.parametrize(("before", "after"), MAY_NOT.values(), ids=MAY_NOT)
def test_what_may_not_be_rewritten(before: Asked, after: Any) -> None:
    assert not may_before(before, Rewrite(after))


ENTITY = Entity("e", "person", "Eve", "x", 1, 0, 0, "human", 0, 0)
ROW = Row(Address(SCOPE, "entity", "e"), 1, ENTITY, 500_000)


@pytest.mark.parametrize(
    ("request_", "answer", "allowed"),
    [
        (ASK, ModelReplied(0, ""), True),
        (ASK, ModelReplied(0, 5), False),  # type: ignore[arg-type]  # a hook may say anything
        (ASK, Embedded(0, ()), False),
        (ASK, FAILURE, False),
        (EMBED, Embedded(0, ((1,), (2,))), True),
        (EMBED, Embedded(0, ((1,),)), False),
        (read(WORDS), ReadDone(0, (ROW,)), True),
        (read(FILTER), ReadDone(0, (ROW,), cursor="more"), False),
        (read(WORDS), ReadDone(0, ("row",)), False),  # type: ignore[arg-type]  # a hook may say anything
        (read(WORDS), changed(ReadDone(0), rows=iter(())), False),
        (read(WORDS), changed(ReadDone(0), rows=[ROW]), False),
        (read(WORDS), ReadDone(0, (attrs.evolve(ROW, score_ppm=None),)), False),
        (read(BY_IDS), ReadDone(0, (changed(ROW, version="1"),)), False),
        (read(BY_IDS), ReadDone(0, (changed(ROW, body="text"),)), False),
        (read(BY_IDS), ReadDone(0, (attrs.evolve(ROW, body=attrs.evolve(ENTITY, id="f")),)), False),
        (read(BY_IDS), ReadDone(0, (attrs.evolve(ROW, address=Address(SCOPE, "entity", "f")),)), False),
        (read(COUNT), changed(ReadDone(0), count=2.0), False),
        (read(COUNT), ReadDone(0, count=2), True),
        (EMBED, changed(Embedded(0, ()), vectors=[(1,), (2,)]), False),
        (EMBED, changed(Embedded(0, ()), vectors=((1,), [2])), False),
        (COMMIT, Committed(0), False),
    ],
)
def test_a_substitute_has_the_type_of_the_answer(request_: Asked, answer: Answer, allowed: bool) -> None:
    assert may_before(request_, Substitute(answer)) == allowed
    assert may_after(request_, FAILURE, Substitute(answer)) == allowed


@pytest.mark.parametrize(
    ("verdict", "before", "after_an_answer", "after_a_commit", "after_a_failure"),
    [
        (Pass(), True, True, True, True),
        (Refuse("no"), True, True, False, False),
        (Rewrite(ASK), True, False, False, False),
        ("yes", False, False, False, False),
    ],
)
def test_which_verdict_has_a_place_where(
    verdict: Any, before: bool, after_an_answer: bool, after_a_commit: bool, after_a_failure: bool
) -> None:
    answers = (E_ANSWER, Committed(7), FAILURE)
    assert may_before(ASK, verdict) == before
    found = [may_after(ASK, answer, verdict) for answer in answers]
    assert found == [after_an_answer, after_a_commit, after_a_failure]


# Sets of interceptors.


def names(*known: Interceptor) -> list[str]:
    set_of = Interceptors()
    for interceptor in known:
        set_of = set_of.added(interceptor)
    return [interceptor.name for interceptor in set_of.ordered]


def test_the_order_is_priority_then_registration() -> None:
    late, early = Interceptor("a", priority=1), Interceptor("b", priority=-1)
    assert names(Interceptor("c"), late, early, Interceptor("d")) == ["b", "c", "d", "a"]


@pytest.mark.parametrize(
    ("known", "error"),
    [
        ((Interceptor("a"), Interceptor("a", priority=1)), "InterceptorExists(a, ())"),
        (
            tuple(Interceptor(f"h{n}") for n in range(INTERCEPTOR_COUNT_MAX + 1)),
            "TooManyInterceptors(h32, ())",
        ),
    ],
)
def test_names_are_unique_and_sets_bounded(known: tuple[Interceptor, ...], error: str) -> None:
    with pytest.raises(Rejected) as caught:
        names(*known)
    assert str(caught.value) == error


def test_a_filter_names_effects_that_exist() -> None:
    with pytest.raises(Rejected) as caught:
        Interceptor("h", effects=("model", "reply", "ask"))
    assert str(caught.value) == "BadFilter(h, ('reply', 'ask'))"


@pytest.mark.parametrize(
    ("filters", "applies"),
    [
        ({}, True),
        ({"workflows": ("w",), "steps": ("s",), "effects": ("model",), "tasks": ("extract",)}, True),
        ({"workflows": ("v",)}, False),
        ({"steps": ("s2",)}, False),
        ({"effects": ("embed",)}, False),
        ({"tasks": ("route",)}, False),
    ],
)
def test_filters_are_exact_names_and_empty_means_all(filters: dict[str, Any], applies: bool) -> None:
    interceptor = Interceptor("h", **filters)
    assert interceptor.applies(PLACE, "model") == applies
    set_of = Interceptors().added(interceptor)
    assert outward(set_of, PLACE, ASK).onion == (("h",) if applies else ())


def test_a_set_is_known_by_its_names_in_order() -> None:
    one, other = Interceptors((Interceptor("a"),)), Interceptors((Interceptor("b"),))
    assert one.fingerprint != other.fingerprint
    assert one.removed("a").fingerprint == Interceptors().fingerprint


# In a memory.


def pair_with(*interceptors: Interceptor) -> Pair:
    """Recovered before the interceptors come."""
    pair = Pair().run()
    for interceptor in interceptors:
        pair.memory.intercept(interceptor)
    return pair


def counted(calls: list[str], **more: Any) -> Interceptor:
    def noting(kind: str) -> Callable[..., Pass]:
        def note(place: Place, *_: object) -> Pass:
            calls.append(f"{kind} {place.step}#{place.attempt}")
            return Pass()

        return note

    return Interceptor("h", noting("before"), noting("after"), noting("on_error"), **more)


def test_o18_each_attempt_is_an_onion_of_its_own() -> None:
    calls: list[str] = []
    pair = pair_with(counted(calls))
    pair.step(Count(1))
    pair.fail("unavailable")
    pair.run()
    assert calls == ["before read#1", "on_error read#1", "before read#2", "after read#2"]


def test_o19_late_answers_call_no_hook() -> None:
    calls: list[str] = []
    pair = pair_with(counted(calls))
    (read_one,) = pair.step(Count(1))
    pair.pending.clear()
    pair.wake()
    assert calls == ["before read#1", "on_error read#1"]
    pair.step(pair.world(read_one))
    assert (calls[2:], pair.memory.marks) == ([], ("late answer",))


def test_o19_an_operation_keeps_the_set_it_began_with() -> None:
    calls: list[str] = []
    pair = Pair().run()
    pair.step(Count(1))
    pair.memory.intercept(counted(calls))
    pair.run()
    assert calls == []
    pair.step(Count(2))
    pair.memory.use(pair.memory.registry.without_interceptor("h"))
    pair.run()
    assert calls == ["before read#1", "after read#1"]


def test_what_on_error_gives_instead_counts_as_degraded_and_is_no_failure() -> None:
    pair = pair_with(Interceptor("h", on_error=lambda *_: Substitute(ReadDone(0, count=9))))
    pair.step(Count(1))
    pair.fail("unavailable")
    reply = pair.replies[1]
    assert reply.outcome == Done(9, (Degraded("read:hook:h", "unavailable"),))
    assert reply.hooks == (HookNote("h", "on_error", "substituted", "read"),)
    assert pair.memory.state.counters["degraded read:hook:h"] == 1


def test_after_hooks_see_the_request_that_was_sent() -> None:
    seen: list[Asked] = []

    def shorten(place: Place, request: Asked) -> Rewrite:
        assert isinstance(request, AskModel)
        return Rewrite(attrs.evolve(request, prompt='INPUT text = "Bob snores"', timeout_ms=5))

    def look(place: Place, request: Asked, answer: Answer) -> Pass:
        seen.append(request)
        return Pass()

    pair = pair_with(Interceptor("h", shorten, look, tasks=("extract",)))
    (sent,) = pair.step(Remember(1, "Alice likes tea"))
    assert (pair.memory.deadline_ms(), pair.memory.state.operations[2].calls[0].prompt_bytes) == (5, 25)
    pair.run()
    assert seen == [sent]
    assert [row.address.id for row in pair.rows("entity")] != [ALICE]


def test_a_refused_commit_changes_nothing_and_is_not_asked_again() -> None:
    pair = pair_with(Interceptor("h", lambda *_: Refuse("not now"), effects=("commit",)))
    assert pair.ask(Remember(1, "Alice likes tea")) == Failed(StorageRefused("commit", "refused", 1))
    assert pair.rows("entity") == []
    assert pair.replies[1].hooks == (HookNote("h", "before", "refused", "commit"),)


def test_a_durable_commit_cannot_be_refused_or_replaced_afterwards() -> None:
    refuse = Interceptor("refuse", after=lambda *_: Refuse("too late"), effects=("commit",))
    replace = Interceptor("replace", after=lambda *_: Substitute(Committed(0)), effects=("commit",))
    pair = pair_with(refuse, replace)
    assert isinstance(pair.ask(Remember(1, "Alice likes tea")), Done)
    assert [note.what for note in pair.replies[1].hooks] == ["bad_result", "bad_result"]


def test_a_substituted_question_reaches_no_service_and_is_no_model_call() -> None:
    def answered(place: Place, request: Asked) -> Substitute:
        if place.task == "embed":
            return Substitute(Embedded(0, ((1,) * 64,)))
        return Substitute(ReadDone(0))

    pair = pair_with(Interceptor("h", answered))
    (reply,) = pair.memory.step(0, Recall(1, "tea"))
    assert getattr(reply, "outcome", None) == Done(Recalled((), Resolution("clear", "tea"), ("tea",)))
    assert getattr(reply, "calls", None) == ()
    assert pair.memory.in_flight == {}


def test_foreign_rows_of_a_substitute_are_no_answer() -> None:
    row = attrs.evolve(ROW, address=Address(Scope("u2", "a1"), "entity", "e"))
    pair = pair_with(Interceptor("h", lambda *_: Substitute(ReadDone(0, (row,))), workflows=("get_entity",)))
    assert pair.ask(GetEntity(1, ALICE)) == Done()
    assert pair.replies[1].hooks == (HookNote("h", "before", "bad_result", "read"),)


def test_a_hook_that_refuses_recovery_only_delays_it() -> None:
    refusals = [Refuse("not yet"), Refuse("not yet")]
    interceptor = Interceptor("h", lambda *_: refusals.pop() if refusals else Pass())
    pair = Pair(registry=BUILT_IN.with_interceptor(interceptor)).run()
    assert (pair.memory.state.phase, pair.now_ms) == ("ready", 300)
    assert isinstance(pair.ask(Forget(1, ALICE)), Done)
    assert pair.step(Wake()) == []

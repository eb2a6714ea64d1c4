"""Goal: a session that ends leaves one reflection, of all its statements, and names its sources (H5)."""

from typing import Any

import pytest

from tests.unit.core.test_memorize import NOTHING, memorized
from tests.worlds import QUIET, SCOPE, Pair, input_of, saying
from umi_core.errors import BadId, SessionNotFound
from umi_core.ids import reflection_id, resource_id, session_id
from umi_core.limits import BEGINNING_BYTES_MAX, SOURCE_COUNT_MAX
from umi_core.messages.answers import Embedded
from umi_core.messages.effects import AskModel, Commit, Done, Embed, Failed, Read, Refused, Write
from umi_core.messages.requests import CreateSession, EndSession, List, Memorize, Search
from umi_core.messages.results import Listed, Reflected, Retrieved, SessionCreated
from umi_core.rows import Address, Reflection, Resource, SessionRow, Vector
from umi_core.values import Scope
from umi_sim.services.embedder import embed


class World:
    """A memory with one session; the model notes what it is shown of it."""

    def __init__(self) -> None:
        self.says, self.shown = "<summary>so it was</summary>", list[list[str]]()
        self.pair = Pair(
            model=saying(memories=NOTHING, describe_image="a cat", reflect=self.answer), config=QUIET
        ).run()
        self.count = 10
        outcome = self.pair.ask(CreateSession(1))
        assert isinstance(outcome, Done)
        assert isinstance(outcome.value, SessionCreated)
        self.session = outcome.value.session_id
        self.key = reflection_id(SCOPE, self.session)

    def answer(self, prompt: str) -> str:
        self.shown.append(input_of(prompt, "texts"))
        return self.says

    def tell(self, text: str, uri: str | None = None, session: str | None = None, **options: Any) -> str:
        self.count += 1
        own_session = session or self.session
        request = Memorize(self.count, text, uri=uri, session_id=own_session, **options)
        return memorized(self.pair, request).resource_id

    def outcome(self, *absent: type[AskModel | Embed | Read | Commit], session: str | None = None) -> Any:
        self.count += 1
        return self.pair.ask(EndSession(self.count, session or self.session), *absent)

    def end(self, *absent: type[AskModel | Embed | Read | Commit]) -> Reflected:
        outcome = self.outcome(*absent)
        assert isinstance(outcome, Done), outcome
        assert isinstance(outcome.value, Reflected)
        self.degraded = [it.name for it in outcome.degraded]
        return outcome.value

    def stored(self) -> Reflection:
        row = self.pair.row("reflection", self.key)
        assert row is not None
        assert isinstance(row.body, Reflection)
        return row.body

    def vector(self) -> tuple[int, ...] | None:
        row = self.pair.row("vector", self.key)
        return row.body.components if row is not None and isinstance(row.body, Vector) else None

    def delete(self, kind: str, row_id: str) -> None:
        self.pair.land(Commit((Write(Address(SCOPE, kind, row_id), None),), ()))


def test_a_reflection_names_what_it_was_made_of_and_is_found_by_what_it_says() -> None:
    world = World()
    tea, cake = world.tell("tea", happened_ms=2), world.tell("cake", happened_ms=1)
    value = world.end()
    assert value == Reflected(world.key, "created", "so it was", ((cake, 1), (tea, 1)))
    assert world.shown == [["cake", "tea"]]
    assert world.vector() == embed("so it was", QUIET.embedding_dims)
    stored = world.stored()
    assert (stored.session_id, stored.started_ms, stored.degraded) == (world.session, 1, False)


def test_a_second_end_asks_nothing_and_writes_nothing() -> None:
    world = World()
    world.tell("tea")
    first = world.end()
    before = world.pair.rows("reflection")
    assert (world.end().change, world.end().text, len(world.shown)) == ("unchanged", first.text, 1)
    assert world.pair.rows("reflection") == before


def test_later_facts_get_into_it() -> None:
    world = World()
    tea = world.tell("tea", happened_ms=1)
    world.end()
    world.tell("cake", session="ses_of_others")
    assert world.end().change == "unchanged"
    world.says = "more"
    milk = world.tell("milk", happened_ms=2)
    assert world.end() == Reflected(world.key, "updated", "more", ((tea, 1), (milk, 1)))
    assert world.stored().created_ms <= world.stored().updated_ms
    assert world.vector() == embed("more", QUIET.embedding_dims)


def test_the_same_words_keep_their_vector() -> None:
    world = World()
    world.tell("tea")
    world.end()
    world.tell("milk")
    assert world.end(Embed).change == "updated"
    assert world.degraded == []
    assert world.vector() == embed("so it was", QUIET.embedding_dims)


def test_without_a_model_the_beginning_stands_there_and_says_so() -> None:
    world = World()
    world.tell("x" * 400, happened_ms=1)
    world.tell("y" * 400, happened_ms=2)
    value = world.end(AskModel)
    assert value.text == "x" * 400 + "\n" + "y" * (BEGINNING_BYTES_MAX - 401)
    assert (value.is_degraded, world.degraded) == (True, ["ask:beginning"])
    assert (world.end(AskModel).change, world.stored().degraded) == ("unchanged", True)
    assert (world.end().text, world.stored().degraded) == ("so it was", False)


def test_an_answer_that_says_nothing_is_no_reflection() -> None:
    world = World()
    world.says = "<summary> </summary>"
    world.tell("tea")
    assert (world.end().text, world.degraded) == ("tea", ["ask:beginning"])


def test_without_an_embedder_it_is_found_by_words() -> None:
    world = World()
    world.tell("tea")
    world.end(Embed)
    assert (world.vector(), world.degraded) == (None, ["embed_reflection:no_vectors"])
    outcome = world.pair.ask(Search(99, "so it was", levels=("reflections",), min_score_ppm=1))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Retrieved)
    assert [(hit.id, hit.name, hit.text) for hit in outcome.value.hits] == [
        (world.key, world.session, "so it was")
    ]


def test_vectors_of_another_number_are_none() -> None:
    world = World()
    world.tell("tea")
    world.pair.step(EndSession(99, world.session))
    effect = world.pair.until(Embed)
    world.pair.pending.pop(0)
    world.pair.step(Embedded(effect.request_id, ()))
    world.pair.run()
    assert world.vector() is None


def test_without_facts_there_is_no_reflection() -> None:
    world = World()
    world.pair.model = saying(memories=NOTHING, describe_image="", reflect=world.answer)
    picture = world.tell("data:image/png,x", modality="image")  # of which nothing is known
    assert world.end() == Reflected(None, "unchanged")
    world.delete("resource", picture)
    tea = world.tell("tea")
    world.end()
    world.delete("resource", tea)
    assert world.end() == Reflected(None, "removed")
    assert (world.pair.row("reflection", world.key), world.vector()) == (None, None)


def test_parts_of_a_text_are_not_read_twice_and_a_picture_by_its_description() -> None:
    world = World()
    world.tell("data:image/png,x", modality="image", happened_ms=0)
    lines = ",".join('{"content": "tea"}' for _ in range(QUIET.segment_line_count_min))
    world.pair.model = saying(memories=NOTHING, segment="", reflect=world.answer)
    world.tell(f"[{lines}]", modality="conversation")
    world.end()
    assert [text.split("\n")[0] for text in world.shown[0]] == ["a cat", "[0] [user]: tea"]


def test_of_too_much_the_last_is_shown() -> None:
    world = World()
    texts = [world.tell(letter * 40_000, happened_ms=at) for at, letter in enumerate("abc")]
    assert [key for key, _ in world.end().sources] == texts[1:]
    assert world.degraded == ["texts:partial"]
    for number in range(SOURCE_COUNT_MAX):
        world.tell(f"text {number}", happened_ms=10**12)
    assert len(world.end().sources) == SOURCE_COUNT_MAX


def test_an_agent_that_is_no_member_gets_session_not_found() -> None:
    world = World()
    unknown = session_id(SCOPE, 7, 7)
    assert world.outcome(session=unknown) == Refused(SessionNotFound(unknown))
    where = Address(Scope(SCOPE.user, world.session), "session", world.session)
    body = world.pair.storage.rows[where].body
    assert isinstance(body, SessionRow)
    others = SessionRow(
        body.id, body.user, body.creator, ("a2",), body.saved_ms, body.saved_by, body.snapshot
    )
    world.pair.land(Commit((Write(where, others),), ()))
    assert world.outcome() == Refused(SessionNotFound(world.session))
    assert isinstance(world.outcome(session="x" * 999).error, BadId)


@pytest.mark.parametrize("absent", [Read, Commit])
def test_what_storage_does_not_do_has_failed(absent: type[Read | Commit]) -> None:
    world = World()
    world.tell("tea")
    assert isinstance(world.outcome(absent), Failed)
    assert world.pair.row("reflection", world.key) is None


def test_what_changes_while_the_model_answers_is_read_again() -> None:
    world = World()
    tea = world.tell("tea", uri="chat/1")
    world.pair.step(EndSession(99, world.session))
    commit = world.pair.hold(Commit)
    assert [it.address.id for it in commit.expects if it.address.kind == "resource"] == [tea]
    world.tell("milk", uri="chat/1")
    world.pair.release().run()
    assert world.shown == [["tea"], ["milk"]]
    assert world.stored().sources == ((tea, 2),)


def test_a_text_belongs_to_the_session_that_was_named_last() -> None:
    world = World()
    tea = world.tell("tea", uri="chat/1", session="ses_of_before")
    assert world.end() == Reflected(None, "unchanged")
    world.tell("tea", uri="chat/1")
    memorized(world.pair, Memorize(90, "milk", uri="chat/1"))
    assert world.end().sources == ((tea, 3),)
    row = world.pair.row("resource", resource_id(SCOPE, "chat/1", ""))
    assert row is not None
    assert isinstance(row.body, Resource)
    assert row.body.session_id == world.session


def test_a_list_shows_it() -> None:
    world = World()
    world.tell("tea")
    world.end()
    outcome = world.pair.ask(List(99, "reflection"))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Listed)
    assert outcome.value.rows == (world.stored(),)

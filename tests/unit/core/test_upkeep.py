"""Goal: what an operation had to leave undone is done by itself, once, and not before it is due (H3.31)."""

from msgspec import structs

from tests.unit.core.test_memorize import CAT, CHAT, SEEN, TEA, answer_by_type, count_of, memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, saying
from umi_core.config import Config
from umi_core.ids import category_id, reflection_id
from umi_core.messages.effects import AskModel, Done, Embed, Read
from umi_core.messages.requests import CreateSession, EndSession, ForgetResource, Memorize, Summarise
from umi_core.messages.results import SessionCreated
from umi_core.rows import Category, Reflection, Resource
from umi_core.tiers.schedule import update_divisions, update_upkeep, upkeep_ms

HOUR_MS = 3_600_000
KEPT = structs.replace(QUIET, upkeep_interval_ms=HOUR_MS, auto_evolution=False)
FACTS = category_id(SCOPE, "facts")
LIKES = answer_by_type(profile=xml("Likes tea", "facts"))
PENDING = ("describe", "profile", "event")


def world(*described: str, config: Config = KEPT) -> Pair:
    descriptions = iter(
        [it for it in described for _ in range(1 if it else 2)]
    )  # an empty one is asked for again
    model = saying(
        memories=LIKES,
        summarise_category="<summary>Tea.</summary>",
        describe_image=lambda _: next(descriptions),
    )
    return Pair(model=model, config=config).run()


def resource(pair: Pair) -> Resource:
    row = pair.row("resource", CHAT)
    assert row is not None
    assert isinstance(row.body, Resource)
    return row.body


def summary(pair: Pair) -> tuple[str, bool]:
    row = pair.row("category", FACTS)
    assert row is not None
    assert isinstance(row.body, Category)
    return row.body.summary, row.body.summary_dirty


def list_pending(pair: Pair) -> dict[str, int]:
    return dict(pair.memory.state.tiers.upkeep)


def done(pair: Pair) -> list[str]:
    """What was done in the background, by the counters."""
    counters = pair.memory.state.counters
    return sorted(f"{name} {count}" for name, count in counters.items() if name[:6] in ("upkeep", "summar"))


def due(pair: Pair) -> Pair:
    """It is woken when it wants to be, and does what it wants to do."""
    pair.wake()
    return pair.run()


def test_a_summary_is_made_when_it_is_due_and_then_nothing_is_left() -> None:
    pair = world()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    assert pair.memory.deadline_ms() == pair.now_ms + HOUR_MS
    pair.wake(pair.now_ms + HOUR_MS - 1)
    assert pair.pending == []
    due(pair)
    assert (summary(pair), done(pair)) == (("Tea.", False), ["summarise done 1", "upkeep done 1"])
    assert pair.memory.deadline_ms() is None


def test_what_could_not_be_described_is_described_later_for_what_was_asked() -> None:
    pair = world("", SEEN)
    pair.ask(Memorize(1, CAT, "image", uri="chat/1", memory_types=("profile",), happened_ms=7))
    assert resource(pair).pending == ("describe", "profile")
    body = resource(due(pair))
    assert (body.pending, body.extracted_types, body.caption) == ((), ("profile",), "Two at home")
    assert (body.happened_ms, count_of(pair, "facts")) == (7, 1)
    assert pair.row("entity", TEA) is not None


def test_what_fails_again_is_due_an_interval_later() -> None:
    pair = world("", "", SEEN)
    pair.ask(Memorize(1, CAT, "image", uri="chat/1"))
    pair.wake()
    began_ms = pair.now_ms
    assert resource(pair.run()).pending == PENDING
    assert pair.memory.deadline_ms() == began_ms + HOUR_MS
    assert resource(due(pair)).pending == ()


def test_what_never_succeeds_is_tried_ever_less_often_and_at_last_once_a_day() -> None:
    pair = world(*[""] * 8, SEEN)
    pair.ask(Memorize(1, CAT, "image", uri="chat/1"))
    waits = []
    for _ in range(7):
        began_ms = pair.now_ms
        assert resource(due(pair)).pending == PENDING
        waits.append((pair.now_ms - began_ms) // HOUR_MS)
    assert waits == [1, 1, 2, 4, 8, 16, 24]
    assert resource(due(pair)).pending == ()


def test_what_was_done_meanwhile_is_not_done_again() -> None:
    pair = world()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    pair.wake()
    pair.hold(Read)
    assert isinstance(pair.ask(Summarise(2, "facts")), Done)
    pair.release()
    assert done(pair) == ["summarise done 1", "upkeep done 1"]
    assert pair.memory.deadline_ms() is None


def pending_text() -> Pair:
    """A text of which something is pending, and upkeep that has just looked at it."""
    pair = world("")
    pair.ask(Memorize(1, CAT, "image", uri="chat/1"))
    pair.wake()
    pair.hold(Read)
    return pair


def test_what_another_text_has_replaced_since_upkeep_looked_is_not_brought_back() -> None:
    pair = pending_text()
    pair.ask(Memorize(2, "I like tea", uri="chat/1"))
    row = pair.row("resource", CHAT)
    pair.release()
    assert pair.row("resource", CHAT) == row
    assert resource(pair).text == "I like tea"


def test_what_was_forgotten_since_upkeep_looked_stays_forgotten() -> None:
    pair = pending_text()
    pair.ask(ForgetResource(2, CHAT))
    pair.release()
    assert pair.row("resource", CHAT) is None


def test_what_waits_for_its_turn_behind_another_text_does_not_take_its_place() -> None:
    pair = world("")
    pair.ask(Memorize(1, CAT, "image", uri="chat/1"))
    pair.wake()
    pair.step(Memorize(2, "I like tea", uri="chat/1"))
    pair.run()
    assert resource(pair).text == "I like tea"


def test_what_another_text_that_lands_late_has_replaced_is_not_brought_back() -> None:
    pair = world("", "", SEEN)
    pair.ask(Memorize(1, CAT, "image", uri="chat/1"))
    late = pair.leave_unanswered(Memorize(2, "I like tea", uri="chat/1"))
    while not pair.pending:
        pair.wake()
    pair.until(AskModel)
    pair.land(late)
    pair.run()
    assert resource(pair).text == "I like tea"
    assert done(pair)[0] == "upkeep done 1"


def test_a_commit_that_was_reported_while_the_row_was_read_stands() -> None:
    pair = world()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    pair.wake()
    pair.hold(Read)
    pair.memory.state.tiers.upkeep = {}
    pair.release()
    assert (list_pending(pair), summary(pair)) == ({}, ("Tea.", False))


def test_one_row_at_a_time_the_longest_due_first() -> None:
    pair = world("", "")
    pair.ask(Memorize(1, CAT, "image", uri="chat/1"))
    pair.now_ms += 1
    memorized(pair, Memorize(2, "I like tea", uri="chat/2"))
    assert list_pending(pair).keys() == {CHAT, FACTS}
    pair.wake(pair.now_ms + 2 * HOUR_MS)
    assert pair.until(AskModel).task == "describe_image"
    pair.wake(pair.now_ms + 1)
    assert len(pair.memory.state.operations) == 1


def test_a_restart_knows_what_is_left_from_the_rows() -> None:
    pair = world("", SEEN)
    pair.ask(Memorize(1, CAT, "image", uri="chat/1"))
    memorized(pair, Memorize(2, "I like tea", uri="chat/2"))
    again = Pair(storage=pair.storage, config=KEPT, model=pair.model)
    again.now_ms = pair.now_ms
    assert list_pending(again.run()) == list_pending(pair)
    assert list_pending(pair).keys() == {CHAT, FACTS}


def test_a_look_that_fails_changes_nothing_and_comes_again() -> None:
    pair = world()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    pair.wake()
    pair.run(Read)
    assert (done(pair), summary(pair)) == (["upkeep failed 1"], ("", True))
    assert summary(due(pair)) == ("Tea.", False)


def test_without_an_interval_nothing_is_due() -> None:
    pair = world(config=structs.replace(KEPT, upkeep_interval_ms=0))
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    assert pair.memory.deadline_ms() is None
    assert upkeep_ms(None, KEPT) is None


def test_a_row_that_goes_takes_what_was_left_with_it() -> None:
    lacking = Resource(CHAT, "text", "x", "", "x", 0, 0, 5, 5, pending=("profile",))
    known = update_upkeep({}, [(CHAT, lacking)], KEPT)
    assert known == {CHAT: 5 + HOUR_MS}
    assert update_upkeep(known, [(FACTS, None)], KEPT) is known
    assert update_upkeep(known, [(CHAT, None)], KEPT) == {}


def test_a_late_answer_schedules_something_and_takes_nothing_back() -> None:
    done = Category(FACTS, "facts", "what is so", 9, 0, 0, summary_dirty=False, evolved_digest="d")
    dirty = structs.replace(done, summary_dirty=True, evolved_digest="")
    config = structs.replace(KEPT, auto_evolution=True)
    assert update_upkeep({FACTS: 7}, [(FACTS, done)], KEPT, is_late=True) == {FACTS: 7}
    assert update_upkeep({FACTS: 7}, [(FACTS, dirty)], KEPT, is_late=True) == {FACTS: 7}
    assert update_upkeep({}, [(FACTS, dirty)], KEPT, is_late=True) == {FACTS: HOUR_MS}
    assert update_divisions({"facts": 7}, [done], config, is_late=True) == {"facts": 7}
    assert update_divisions({"facts": 7}, [done], config) == {}


def test_a_vector_that_could_not_be_made_is_made_later_and_nothing_else_is_read() -> None:
    pair = world()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1", memory_types=("skill",)), Embed)
    assert resource(pair).pending == ("embed",)
    pair.wake()
    assert pair.run(AskModel).row("vector", CHAT) is not None
    assert (resource(pair).pending, resource(pair).extracted_types) == ((), ("skill",))


def test_a_reflection_that_no_model_made_is_made_later() -> None:
    pair = Pair(model=saying(memories="<item></item>", reflect="so it was"), config=KEPT).run()
    created = pair.ask(CreateSession(1))
    assert isinstance(created, Done)
    assert isinstance(created.value, SessionCreated)
    session = created.value.session_id
    memorized(pair, Memorize(2, "tea", uri="chat/1", session_id=session))
    pair.ask(EndSession(3, session), AskModel)
    again = Pair(storage=pair.storage, config=KEPT, model=pair.model, now_ms=pair.now_ms).run()
    assert list_pending(again) == list_pending(pair) == {reflection_id(SCOPE, session): pair.now_ms + HOUR_MS}
    row = due(again).row("reflection", reflection_id(SCOPE, session))
    assert row is not None
    assert isinstance(row.body, Reflection)
    assert (row.body.text, row.body.degraded, list_pending(again)) == ("so it was", False, {})

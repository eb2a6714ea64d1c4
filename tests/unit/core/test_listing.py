"""Goal: the entities that changed last come first, whatever storage keeps them by (K4.11)."""

import attrs

from tests.worlds import ALICE, BOB, Pair
from umi_core.errors import BadOption
from umi_core.kelpie.requests import RecentEntities
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import Done, Failed, Refused
from umi_core.messages.requests import Remember
from umi_core.messages.results import Listed
from umi_core.rows import Entity


def told() -> Pair:
    """Bob is told of after Alice, and Alice changes last."""
    pair = Pair().run()
    texts = ("Alice likes tea.", "Bob likes rum.", "Alice works at Acme.")
    for now_ms, text in enumerate(texts, 1):
        pair.now_ms = now_ms
        pair.ask(Remember(now_ms, text))
    return pair


def recent(pair: Pair, **options: object) -> list[str]:
    pair.replies.pop("recent", None)
    outcome = pair.ask(RecentEntities("recent", **options))  # type: ignore[arg-type]  # options of the class
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Listed)
    assert (outcome.value.cursor, outcome.value.damaged) == (None, ())
    return [row.id for row in outcome.value.rows]


def test_what_changed_last_comes_first() -> None:
    pair = told()
    everybody = recent(pair)
    assert (everybody[0], everybody[-1]) == (ALICE, BOB)
    bodies = [row.body for row in pair.rows("entity")]
    times = {body.id: body.updated_ms for body in bodies if isinstance(body, Entity)}
    assert everybody == sorted(times, key=lambda key: (-times[key], key))


def test_pages_and_types_narrow_it() -> None:
    pair = told()
    everybody = recent(pair)
    assert recent(pair, limit=1) == everybody[:1]
    assert recent(pair, limit=1, skip=1) == everybody[1:2]
    assert recent(pair, skip=1_000) == []
    people = recent(pair, types=("person",))
    assert people == [key for key in everybody if key in (ALICE, BOB)]
    refused = pair.ask(RecentEntities("wrong", skip=-1))
    assert refused == Refused(BadOption("skip", "-1", "0 to 1000"))


def test_it_counts_as_no_access() -> None:
    pair = told()
    before = pair.memory.state.tiers.access
    recent(pair)
    assert pair.memory.state.tiers.access == before


def test_a_damaged_row_is_told_and_a_failed_read_is_no_empty_page() -> None:
    pair = told()
    pair.step(RecentEntities("recent"))
    (asked,) = pair.pending
    pair.pending.clear()
    answer = pair.world(asked)
    assert isinstance(answer, ReadDone)
    first, *rest = answer.rows
    pair.step(attrs.evolve(answer, rows=(attrs.evolve(first, body=None), *rest)))
    outcome = pair.replies["recent"].outcome
    assert not isinstance(outcome, Failed)
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Listed)
    assert outcome.value.damaged == (first.address.id,)

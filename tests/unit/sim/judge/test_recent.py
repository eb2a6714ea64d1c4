"""Goal: the oracle accepts recent entities that are the newest, and names the rule that others break."""

from contextlib import nullcontext
from typing import Any

import pytest
from msgspec import structs

from tests.histories import ACME, ALICE, NOW_MS, History, as_stored, broken, entity, extraction
from umi_core.kelpie.requests import RecentEntities
from umi_core.messages.requests import List, Remember
from umi_core.messages.results import Listed
from umi_core.rows import Entity

OLD = entity(ALICE, "likes tea")
NEW = structs.replace(entity(ACME, "sells rum"), created_ms=NOW_MS + 5, updated_ms=NOW_MS + 5)
TEA, RUM = OLD.id, NEW.id


def known() -> History:
    """Return a history with a fact about Alice and a later one about Acme; both were read."""
    history = History()
    history.store((ALICE, "likes tea"))
    history.get(TEA, OLD)
    op_id = history.ask(Remember("", "sells rum", embed=False), NOW_MS + 5)
    history.hear(op_id, "extract", extraction((ACME, "sells rum")))
    history.reply(op_id, as_stored((ACME, "sells rum")), now_ms=NOW_MS + 5)
    history.get(RUM, NEW)
    return history


def recent(history: History, *rows: Entity, damaged: tuple[str, ...] = (), **options: Any) -> None:
    history.reply(history.ask(RecentEntities("", **options)), Listed(rows, None, damaged))


def test_the_newest_come_first_within_the_limit_and_behind_what_is_passed_over() -> None:
    history = known()
    recent(history, NEW, OLD)
    recent(history, NEW, limit=1)
    recent(history, OLD, limit=1, skip=1)
    recent(history, skip=2)
    recent(history, OLD, types=(OLD.type,))


@pytest.mark.parametrize(
    ("rows", "options", "rule"),
    [
        ((OLD, NEW), {}, "hits-ordered"), ((NEW, NEW), {}, "hits-ordered"),
        ((NEW, OLD), {"limit": 1}, "hits-ordered"), ((NEW, OLD), {"skip": 1}, "hits-ordered"),
        ((NEW, OLD), {"types": (OLD.type,)}, "filter-narrows"),
        ((OLD,), {}, "acknowledged-is-durable"), ((OLD,), {"limit": 1}, "acknowledged-is-durable"),
        ((NEW,), {}, "acknowledged-is-durable"), ((), {"skip": 1}, "acknowledged-is-durable"),
    ],
)  # fmt: skip
def test_what_is_no_such_page(rows: tuple[Entity, ...], options: dict[str, Any], rule: str) -> None:
    with broken(rule):
        recent(known(), *rows, **options)


def test_nothing_follows_it() -> None:
    history = known()
    with broken("hits-ordered"):
        history.reply(history.ask(RecentEntities("")), Listed((NEW, OLD), "entity/z"))


@pytest.mark.parametrize(
    ("cursor", "is_right"),
    [
        (None, True), (f"entity/{max(TEA, RUM)}", True), ("entity/z", True), ("", False), ("z", False),
        (f"entity/{min(TEA, RUM)}", False), ("resource/z", False),
    ],
)  # fmt: skip
def test_the_next_page_of_a_list_begins_behind_this_one(cursor: str | None, is_right: bool) -> None:
    history = known()
    rows = tuple(sorted((OLD, NEW), key=lambda row: row.id))
    with nullcontext() if is_right else broken("hits-ordered"):
        history.reply(history.ask(List("", "entity")), Listed(rows, cursor))


def test_an_empty_page_leads_on_too() -> None:
    history, begin = known(), f"entity/{max(TEA, RUM)}"
    history.reply(history.ask(List("", "entity", cursor=begin)), Listed((), f"{begin}0"))
    with broken("hits-ordered"):
        history.reply(history.ask(List("", "entity", cursor=begin)), Listed((), "entity/a"))


def test_what_is_called_damaged_came_so() -> None:
    with broken("error-is-not-empty"):
        recent(known(), NEW, damaged=(TEA,))

"""Goal: the oracle of the archive accepts what some order of a few requests explains, and nothing else.

The reference is naive: it carries out the requests one after the other, in every order that they may have
had, and asks of each whether it makes all of the replies. A write takes effect where its batch becomes
durable, a read anywhere between its request and its reply.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from tests.histories import ALICE, History, as_stored, entity, extraction, fact
from umi_core.data import Owner
from umi_core.kelpie.requests import RecentEntities
from umi_core.messages.effects import Done
from umi_core.messages.requests import Count, Forget, GetEntity, List, Remember
from umi_core.messages.results import Forgotten, Listed
from umi_sim.record.broken import Broken

TEXTS = ("naps", "likes tea")
READS = ("get", "count", "list", "recent")
ASKS = [(name, text) for name in ("tell", "forget", "get") for text in TEXTS] + [
    (name, "") for name in READS[1:]
]
Asked = tuple[str, str]
# By text, the version of a fact that is current; a negative one is of a forgotten fact.
Facts = dict[str, int]


def carry_out(facts: Facts, asked: Asked) -> object:
    """Change what is known as this request does, and return its reply: a version, or what there is."""
    name, text = asked
    version = facts.get(text, 0)
    if name == "tell":
        facts[text] = version if version > 0 else 1 - version
        return facts[text], "unchanged" if version > 0 else "created"
    if name == "forget":
        facts[text] = -abs(version)
        return version > 0
    if name == "get":
        return max(version, 0)
    current = sorted((fact(ALICE, known), number) for known, number in facts.items() if number > 0)
    return len(current) if name == "count" else tuple(current)


class Turn(Owner):
    """A request, with the places of its events in the history."""

    asked: Asked
    issued: int
    landed: int
    replied: int

    @property
    def is_read(self) -> bool:
        return self.asked[0] in READS

    def is_behind(self, other: "Turn") -> bool:
        """Return True if this request can only take effect after the other one."""
        first = self.issued if self.is_read else self.landed
        return first > (other.replied if other.is_read else other.landed)


def explains(order: Sequence[Turn], replies: dict[int, object]) -> bool:
    known: Facts = {}
    is_possible = not any(one.is_behind(two) for n, one in enumerate(order) for two in order[n + 1 :])
    return is_possible and all(carry_out(known, it.asked) == replies[it.issued] for it in order)


@st.composite
def histories(draw: st.DrawFn) -> list[Turn]:
    """Two to four requests, of which each is issued, is durable and has its reply at places drawn."""
    asked = draw(st.lists(st.sampled_from(ASKS), min_size=2, max_size=4))
    order = draw(st.permutations([n for n in range(len(asked)) for _ in range(3)]))
    places = [[at for at, owner in enumerate(order) if owner == n] for n in range(len(asked))]
    return [Turn(it, *at) for it, at in zip(asked, places, strict=True)]


def reply_of(asked: Asked, answer: Any) -> object:
    """Return the reply of a memory for one of the reference."""
    name, text = asked
    if name == "tell":
        version, change = answer
        return as_stored((ALICE, text), version=version, change=change)
    if name == "forget":
        return Forgotten(answer)
    if name == "get":
        return entity(ALICE, text, answer) if answer else None
    if name == "count":
        return answer
    texts = {fact(ALICE, it): it for it in TEXTS}
    return Listed(tuple(entity(ALICE, texts[key], version) for key, version in answer))


REQUESTS: dict[str, Any] = {
    "tell": lambda text: Remember("", text, embed=False),
    "forget": lambda text: Forget("", fact(ALICE, text)),
    "get": lambda text: GetEntity("", fact(ALICE, text)),
    "count": lambda _: Count(""),
    "list": lambda _: List("", "entity"),
    "recent": lambda _: RecentEntities(""),
}


def is_accepted(turns: list[Turn], replies: dict[int, object]) -> bool:
    """Return True if the oracle accepts all of these replies."""
    history, ids = History(), dict[int, str]()
    for at in range(3 * len(turns)):
        turn = next(it for it in turns if at in (it.issued, it.landed, it.replied))
        name, text = turn.asked
        if at == turn.issued:
            ids[turn.issued] = history.ask(REQUESTS[name](text))
            if name == "tell":
                history.hear(ids[turn.issued], "extract", extraction((ALICE, text)))
        elif at == turn.landed and not turn.is_read:
            history.land(ids[turn.issued])
        elif at == turn.replied:
            try:
                history.close(ids[turn.issued], Done(reply_of(turn.asked, replies[turn.issued])))
            except Broken:
                return False
    return True


def made_in_place(turns: list[Turn]) -> dict[int, object]:
    """Return replies that are right: each write at its place, each read where it was issued."""
    known: Facts = {}
    order = sorted(turns, key=lambda it: it.issued if it.is_read else it.landed)
    return {it.issued: carry_out(known, it.asked) for it in order}


SHOWN: list[object] = [
    tuple(sorted((fact(ALICE, text), version) for text in texts))
    for texts in ((), TEXTS[:1], TEXTS[1:], TEXTS)
    for version in (1, 2)
]
ANY: dict[str, list[object]] = {
    "tell": [(version, change) for version in (1, 2, 3) for change in ("created", "unchanged")],
    "forget": [True, False], "get": [0, 1, 2], "count": [0, 1, 2], "list": SHOWN, "recent": SHOWN,
}  # fmt: skip


@given(histories(), st.data())
def test_the_oracle_decides_as_a_search_over_all_orders(turns: list[Turn], data: st.DataObject) -> None:
    replies = made_in_place(turns)
    for turn in turns:
        if data.draw(st.booleans()):
            replies[turn.issued] = data.draw(st.sampled_from(ANY[turn.asked[0]]))
    is_explained = any(explains(order, replies) for order in permutations(turns))
    event(f"explained: {is_explained}")
    assert is_accepted(turns, replies) == is_explained


@given(histories())
def test_right_replies_are_accepted(turns: list[Turn]) -> None:
    assert is_accepted(turns, made_in_place(turns))


PLANTED = [
    ("a fact that comes later is seen early", ("tell", "naps"), ("get", "naps"), (0, 4, 5), (1, 2, 3), 1),
    ("a fact that was there is not seen", ("tell", "naps"), ("list", ""), (0, 1, 5), (2, 3, 4), ()),
    ("a count of two orders", ("tell", "naps"), ("count", ""), (0, 1, 2), (3, 4, 5), 0),
]  # fmt: skip


def test_planted_replies_are_refused_by_both() -> None:
    for name, write, read, of_write, of_read, lie in PLANTED:
        turns = [Turn(write, *of_write), Turn(read, *of_read)]
        replies = made_in_place(turns) | {of_read[0]: lie}
        assert not any(explains(order, replies) for order in permutations(turns)), name
        assert not is_accepted(turns, replies), name

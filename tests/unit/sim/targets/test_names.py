"""A store that makes its ids is judged although some of them were never returned, or come again."""

import asyncio
from collections.abc import Sequence
from hashlib import blake2b

import pytest

from tests.memory_rows import AppliesWhatFails, NeverAgain, Rows
from umi_sim.kernel.prng import Stream
from umi_sim.targets import MISSING, MemoryStore
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.world import replay


class Notes(MemoryStore):
    """Texts by numbers that it makes."""

    rows: dict[str, tuple[str, str]]

    def make(self) -> None:
        self.rows, self.count_made = {}, 0

    async def add(self, text: str, user: str) -> str:
        self.count_made += 1
        own = f"n{self.count_made}"
        self.rows[own] = (user, text)
        await asyncio.sleep(0)
        return own

    async def get(self, id: str) -> object:
        return self.rows[id][1] if id in self.rows else MISSING

    async def delete(self, id: str) -> bool:
        return self.rows.pop(id, None) is not None

    async def list(self, user: str) -> Sequence[tuple[str, str]]:
        return [(own, text) for own, (of, text) in self.rows.items() if of == user]


class Hashes(Notes):
    """Ids follow from content, so an item that is added again after a delete has its old id."""

    dedupes = True

    async def add(self, text: str, user: str) -> str:
        own = blake2b(f"{user}/{text}".encode(errors="surrogatepass"), digest_size=8).hexdigest()
        self.rows[own] = (user, text)
        await asyncio.sleep(0)
        return own


class Forgetful(Notes):
    """Cut off, it leaves a note that cannot be deleted."""

    async def delete(self, id: str) -> bool:
        return id != "n1" and await super().delete(id)


@pytest.mark.parametrize("store", [Notes, Hashes])
def test_a_store_that_makes_ids_is_left_alone(store: type[Notes]) -> None:
    assert hunt(store, range(15)).first is None


def add(name: str, text: str) -> ContractOp:
    return ContractOp("add", {"id": name, "text": text, "user": "ann"})


LIST = Item("op", (ContractOp("list", {"user": "ann"}),))


def test_what_was_cut_off_is_known_again_by_its_text() -> None:
    get, delete = (Item("op", (ContractOp(name, {"id": "m1"}),)) for name in ("get", "delete"))
    cut_off = Item("cancel", (add("m1", "tea"),), 1)
    items = (Item("op", (add("m0", "milk"),)), cut_off, get, LIST, get, delete, LIST)
    verdict = run(Notes, items)
    answers = [step.told for step in verdict.steps]
    assert verdict.broken is None
    assert answers[2] == "not asked: the add of m1 gave no id"
    assert answers[3:] == ["[['m0', 'milk'], ['m1', 'tea']]", "'tea'", "True", "[['m0', 'milk']]"]
    case = [("", *item.call) for item in (cut_off, get)]
    assert replay(Notes, case, 0)[-1] == "      not asked: the add of m1 gave no id"
    assert run(Notes, (cut_off, LIST, delete, LIST)).broken is None
    broken = run(Forgetful, (cut_off, LIST, delete, LIST)).broken
    assert broken is not None
    assert (broken.rule, broken.op) == ("cancel-split", "delete")  # the list says that it was added


def test_what_was_deleted_and_comes_again_may_have_its_old_id() -> None:
    delete = Item("op", (ContractOp("delete", {"id": "m0"}),))
    items = (Item("op", (add("m0", "tea"),)), delete, Item("op", (add("m1", "tea"),)), LIST)
    verdict = run(Hashes, items)
    assert verdict.broken is None
    assert verdict.steps[-1].told == "[['m0', 'tea']]"


def test_what_was_cut_off_and_is_added_again_has_the_new_name() -> None:
    """The first id was not returned; a store that dedupes gives its id, which is then that of the second."""
    cut_off, again = Item("cancel", (add("m1", "tea"),), 1), Item("op", (add("m2", "tea"),))
    verdict = run(Hashes, (cut_off, again, LIST, Item("op", (ContractOp("delete", {"id": "m2"}),)), LIST))
    assert verdict.broken is None
    assert [step.told for step in verdict.steps][1:] == ["'m2'", "[['m2', 'tea']]", "True", "[]"]


def test_what_was_added_keeps_its_name_where_a_store_dedupes() -> None:
    class Renames(Notes):
        """It says that it dedupes, and makes a new note of what it knows."""

        dedupes = True

    once, again = (Item("op", (add(name, "tea"),)) for name in ("m1", "m2"))
    broken = run(Renames, (once, again)).broken
    assert broken is not None
    assert (broken.rule, broken.got, broken.allowed) == ("answer", "'m2'", "'m1' or MISSING or None")


WEIGHTS = {"add": 8, "get": 2, "update": 1, "delete": 2, "search": 3, "list": 3, "count": 1, "delete_all": 1}
KINDS = {"op": 5, "cancel": 4, "fail": 4, "crash_in": 2, "at_once": 4, "crash": 1, "reopen": 1}


def draw_op(chance: Stream, at: str, made: list[str]) -> ContractOp:
    """One of two texts, of one of two users, so that most of what is added is there twice."""
    name = chance.pick_weighted(tuple(WEIGHTS), tuple(WEIGHTS.values()))
    text, user = {"text": chance.pick(("tea", "milk"))}, {"user": chance.pick(("ann", "bob"))}
    if name == "add":
        made.append(f"m{at}")
        return ContractOp(name, {"id": made[-1], **text, **user})
    if name in ("get", "update", "delete"):
        return ContractOp(name, {"id": chance.pick(made or ["m0"]), **(text if name == "update" else {})})
    asked = user if name == "delete_all" or chance.chance(1, 2) else {}
    found = {"query": text["text"], "limit": chance.pick((1, 2, 10))} if name == "search" else {}
    return ContractOp(name, {**found, **asked})


def draw_item(chance: Stream, at: int, made: list[str]) -> Item:
    kind = chance.pick_weighted(tuple(KINDS), tuple(KINDS.values()))
    letters = "abc"[: chance.between(2, 3)] if kind == "at_once" else " "
    ops = tuple(draw_op(chance, f"{at}{letter}".strip(), made) for letter in letters)
    if kind == "cancel":
        return Item(kind, ops, chance.between(1, 6))
    if kind in ("fail", "crash_in"):
        return Item(kind, ops, 1, chance.pick(("commit", "statement")))
    return Item(kind, () if kind in ("crash", "reopen") else ops, chance.word() >> 2 if letters != " " else 0)


def draw_run(seed: int) -> list[Item]:
    chance, made = Stream(seed, "equal texts"), list[str]()
    return [draw_item(chance, at, made) for at in range(chance.between(3, 14))]


@pytest.mark.slow
@pytest.mark.parametrize("store", [Rows, NeverAgain])
def test_a_correct_store_with_equal_texts_and_requests_that_were_cut_off_is_never_accused(
    store: type[Rows],
) -> None:
    """Seeds 0 to 4,999 of both stores were run once: the harness guessed a wrong name in 1 of 300 runs, and
    took an id that came again for a broken promise in 1 of 6."""
    accused = {seed: verdict.broken for seed in range(30) if (verdict := run(store, draw_run(seed))).broken}
    assert accused == {}


def failed(name: str, text: str) -> Item:
    return Item("fail", (add(name, text),), 1, "commit")


SEARCH = Item("op", (ContractOp("search", {"query": "milk", "user": "ann", "limit": 2}),))


@pytest.mark.parametrize("first", [Item("cancel", (add("m9", "tea"),), 2), failed("m9", "tea")])
def test_a_listing_is_explained_by_each_add_that_gave_no_id(first: Item) -> None:
    """The first add is there and the second one failed: the row was taken for that of the second."""
    verdict = run(Rows, (first, failed("m12", "tea"), SEARCH, LIST))
    assert verdict.broken is None
    assert (verdict.steps[2].told == "[]") == (first.kind == "fail")


def test_a_failed_add_that_was_applied_is_seen_though_another_add_says_the_same() -> None:
    """Two rows are there, and only one of the adds that say this may have been applied."""
    cut_off, later = Item("cancel", (add("m1", "tea"),), 2), Item("op", (add("m3", "milk"),))
    broken = run(AppliesWhatFails, (cut_off, failed("m2", "tea"), later, LIST)).broken
    assert broken is not None
    assert (broken.rule, broken.op) == ("error-applied", "list")


class Overwrites(Notes):
    """The id of an entry that is there is given to the next one."""

    async def add(self, text: str, user: str) -> str:
        self.rows["n1"] = (user, text)
        return "n1"


def test_only_the_id_of_what_was_deleted_may_come_again() -> None:
    once, again = (Item("op", (add(name, text),)) for name, text in (("m1", "tea"), ("m2", "milk")))
    delete = Item("op", (ContractOp("delete", {"id": "m1"}),))
    assert run(Overwrites, (once, delete, again, LIST)).broken is None
    broken = run(Overwrites, (once, again)).broken
    assert broken is not None
    assert (broken.rule, broken.got, broken.allowed) == ("answer", "'m1'", "'m2'")


@pytest.mark.parametrize("order", range(12))
def test_an_id_that_an_add_gives_at_the_same_time_is_of_that_add(order: int) -> None:
    cut_off = Item("cancel", (add("m1", "tea"),), 2)
    both = Item("at_once", (add("m2", "tea"), *LIST.ops), order)
    verdict = run(NeverAgain, (cut_off, both, LIST))
    assert verdict.broken is None
    assert verdict.steps[2].told == "[['m1', 'tea'], ['m2', 'tea']]"

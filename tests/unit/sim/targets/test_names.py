"""A store that makes its ids is judged although some of them were never told, or come again."""

import asyncio
from collections.abc import Sequence
from hashlib import blake2b

import pytest

from umi_sim.targets import MISSING, Memory
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import Item, Op
from umi_sim.targets.life import run


class Notes(Memory):
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
    """Ids follow from what is said, so what is told again after it was deleted has its old id."""

    dedupes = True

    async def add(self, text: str, user: str) -> str:
        own = blake2b(f"{user}/{text}".encode(errors="surrogatepass"), digest_size=8).hexdigest()
        self.rows[own] = (user, text)
        await asyncio.sleep(0)
        return own


class Forgetful(Notes):
    """Cut off, it leaves a note that nobody can delete."""

    async def delete(self, id: str) -> bool:
        return id != "n1" and await super().delete(id)


@pytest.mark.parametrize("store", [Notes, Hashes])
def test_a_store_that_makes_ids_is_left_alone(store: type[Notes]) -> None:
    assert hunt(store, range(15)).first is None


def add(name: str, text: str) -> Op:
    return Op("add", {"id": name, "text": text, "user": "ann"})


LIST = Item("op", (Op("list", {"user": "ann"}),))


def test_what_was_cut_off_is_known_again_by_its_text() -> None:
    get, delete = (Item("op", (Op(name, {"id": "m1"}),)) for name in ("get", "delete"))
    cut_off = Item("cancel", (add("m1", "tea"),), 1)
    items = (Item("op", (add("m0", "milk"),)), cut_off, get, LIST, get, delete, LIST)
    verdict = run(Notes, items)
    told = [step.told for step in verdict.steps]
    assert verdict.broken is None
    assert told[2].startswith("raised Untold")
    assert told[3:] == ["[['m0', 'milk'], ['m1', 'tea']]", "'tea'", "True", "[['m0', 'milk']]"]
    assert run(Notes, (cut_off, LIST, delete, LIST)).broken is None
    broken = run(Forgetful, (cut_off, LIST, delete, LIST)).broken
    assert broken is not None
    assert (broken.rule, broken.op) == ("answer", "delete")


def test_what_was_deleted_and_comes_again_may_have_its_old_id() -> None:
    delete = Item("op", (Op("delete", {"id": "m0"}),))
    items = (Item("op", (add("m0", "tea"),)), delete, Item("op", (add("m1", "tea"),)), LIST)
    verdict = run(Hashes, items)
    assert verdict.broken is None
    assert verdict.steps[-1].told == "[['m0', 'tea']]"


def test_what_was_cut_off_and_is_told_again_has_the_new_name() -> None:
    """Nobody was told the first one; a store that dedupes gives its id, which is then that of the second."""
    cut_off, again = Item("cancel", (add("m1", "tea"),), 1), Item("op", (add("m2", "tea"),))
    verdict = run(Hashes, (cut_off, again, LIST, Item("op", (Op("delete", {"id": "m2"}),)), LIST))
    assert verdict.broken is None
    assert [step.told for step in verdict.steps][1:] == ["'m2'", "[['m2', 'tea']]", "True", "[]"]


def test_what_was_told_keeps_its_name_where_a_store_dedupes() -> None:
    class Renames(Notes):
        """It says that it dedupes, and makes a new note of what it knows."""

        dedupes = True

    once, again = (Item("op", (add(name, "tea"),)) for name in ("m1", "m2"))
    broken = run(Renames, (once, again)).broken
    assert broken is not None
    assert (broken.rule, broken.got, broken.allowed) == ("answer", "'m2'", "'m1' or MISSING or None")

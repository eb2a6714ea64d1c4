"""Goal: without loss only what can be made again is damaged; with loss at most what is allowed, listed."""

import pytest

from umi_core.rows import Address
from umi_core.values import Scope
from umi_sim.services.atlas import Atlas

HOME = Scope("u1", "a1")


def key(kind: str, row_id: str = "ann") -> Address:
    return Address(HOME, kind, row_id)


@pytest.mark.parametrize("kind", ["entity", "version", "session", "core", "epoch", "access", "receipt"])
def test_without_loss_the_only_copy_of_a_promise_is_never_struck(kind: str) -> None:
    assert not Atlas().may_rot(key(kind))
    assert not Atlas().can_lose((key(kind),))
    assert not Atlas().may_wipe()


def test_vectors_can_be_made_again_so_they_may_rot_and_are_not_lost() -> None:
    atlas = Atlas()
    assert atlas.may_rot(key("vector"))
    atlas.lose("storage_damaged", "o1/read#1", 5, key("vector"))
    assert atlas.losses == []


@pytest.mark.parametrize("kind", ["core", "epoch", "access", "head", "receipt"])
def test_what_a_life_needs_to_answer_at_all_never_rots(kind: str) -> None:
    assert not Atlas(3).may_rot(key(kind))


def test_no_more_keys_are_lost_than_was_allowed_and_one_key_counts_once() -> None:
    atlas = Atlas(2)
    atlas.lose("storage_damaged", "o1/read#1", 5, key("entity"))
    assert atlas.can_lose((key("entity"), key("entity", "bob")))
    assert not atlas.can_lose((key("entity", "bob"), key("session", "s")))
    atlas.lose("storage_ack_early", "o2/commit#1", 6, key("entity", "bob"))
    assert not atlas.may_rot(key("entity", "eve"))
    assert atlas.may_rot(key("entity"))


def test_a_wipe_is_the_only_loss_of_a_run() -> None:
    atlas = Atlas(3)
    atlas.lose("storage_damaged", "o1/read#1", 5, key("entity"))
    assert not atlas.may_wipe()
    wiped = Atlas(3)
    wiped.lose("storage_wiped", "o1/read#1", 5)
    assert not wiped.may_wipe()
    assert not wiped.may_rot(key("entity"))


def test_each_loss_is_listed_with_its_time() -> None:
    atlas = Atlas(3)
    atlas.lose("storage_ack_early", "o2/commit#1", 6, key("entity"), key("vector"))
    assert [loss.line for loss in atlas.losses] == ["entity ann by storage_ack_early at o2/commit#1, 6 ms"]
    assert atlas.may_have_lost("o2")
    assert not atlas.may_have_lost("o1")
    assert Atlas(1).may_wipe()


def test_an_entity_is_lost_with_any_of_its_versions() -> None:
    atlas = Atlas(3)
    atlas.lose("storage_damaged", "o2/read#1", 6, key("version", "ann@2"))
    assert atlas.explains("ann")
    assert not atlas.explains("anna")

"""Goal: at the door of a memory, wrong settings, wrong calls and first inputs are seen by name."""

from typing import Any

import pytest

from tests.spec_tables import maybe, plain, rows
from umi_core import codec
from umi_core.config import Config
from umi_core.engine.registry import Registry
from umi_core.errors import BadWorkflow, Error, Rejected, StateDamaged
from umi_core.invariants.broken import Broken
from umi_core.memory import Memory
from umi_core.messages.requests import Incr, Remember, Request, Search
from umi_core.messages.results import Resolution
from umi_core.values import LINK_KINDS, Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.invariants import defaults, settings, vocabulary
from umi_sim.judge.invariants.beginnings import check_beginning
from umi_sim.judge.invariants.vocabulary import check_vocabulary
from umi_sim.target.refusals import check_refusals


def check_all() -> None:
    for turn in range(settings.TURNS):
        settings.check_settings(turn)


def test_the_ranges_are_those_of_the_specification() -> None:
    table = rows("memory", "options of a memory")
    told = {plain(row["option"]): (maybe(row["least"]), maybe(row["most"])) for row in table}
    assert {name: ends for name, ends in told.items() if ends != (None, None)} == settings.RANGES
    assert tuple(name for name, ends in told.items() if ends == (None, None)) == settings.FLAGS


def test_settings_are_taken_to_the_ends_of_their_ranges() -> None:
    check_all()


def test_what_a_request_says_by_itself_is_what_the_specification_tells() -> None:
    for turn in range(defaults.TURNS):
        defaults.check_defaults(turn)


@pytest.mark.parametrize(("name", "cls"), [("search", Search), ("incr", Incr), ("remember", Remember)])
def test_a_request_that_says_something_else_by_itself_is_seen(
    monkeypatch: Any, name: str, cls: type[Request]
) -> None:
    monkeypatch.delitem(defaults.NAMED, name)
    with pytest.raises(Broken, match=f"of {name}, where nothing is said"):
        defaults.check_defaults_of(cls)


def test_a_result_that_says_something_by_itself_is_seen(monkeypatch: Any) -> None:
    monkeypatch.setitem(defaults.SAID, "Resolution.reason", "so")
    with pytest.raises(Broken, match=r"Resolution\.reason, where nothing is said"):
        defaults.check_nothing_told(Resolution)


@pytest.mark.parametrize("ends", [(4_095, 32_768), (4_096, 32_767), (4_097, 32_768)])
def test_a_setting_that_is_taken_otherwise_is_seen(monkeypatch: Any, ends: tuple[int, int]) -> None:
    monkeypatch.setitem(settings.RANGES, "core_bytes_max", ends)
    with pytest.raises(Broken, match="core_bytes_max"):
        check_all()


def test_a_word_that_is_stored_and_is_renamed_is_seen(monkeypatch: Any) -> None:
    check_vocabulary()
    monkeypatch.setitem(vocabulary.WORDS, "relations", (LINK_KINDS[1:], "works_at knows"))
    with pytest.raises(Broken, match="the words for relations"):
        check_vocabulary()


def test_a_class_that_is_saved_under_another_number_is_seen(monkeypatch: Any) -> None:
    monkeypatch.delitem(codec.DECODERS, 41)
    with pytest.raises(Broken, match="what is saved under 41"):
        check_vocabulary()


def test_a_registry_refuses_what_is_wrong_and_takes_what_is_right() -> None:
    check_refusals(BUILT_IN)


def test_a_call_that_is_taken_though_wrong_is_seen(monkeypatch: Any) -> None:
    monkeypatch.setattr(Registry, "with_interceptor", lambda self, interceptor: self)
    with pytest.raises(Broken, match="registry"):
        check_refusals(BUILT_IN)


NAMELESS: Any = ("recall",)  # where the name of a step should be


@pytest.mark.parametrize("error", [StateDamaged("?"), BadWorkflow("UnknownRevision", NAMELESS)])
def test_a_refusal_that_names_nothing_is_seen(monkeypatch: Any, error: Error) -> None:
    def refused(self: Registry, *_: object) -> Registry:
        raise Rejected(error)

    monkeypatch.setattr(Registry, "interceptors", refused)
    with pytest.raises(Broken, match="registry"):
        check_refusals(BUILT_IN)


def test_a_memory_recovers_whatever_it_is_given_first(monkeypatch: Any) -> None:
    memory = Memory(Scope("u", "a"), Config())
    check_beginning(memory)
    monkeypatch.setattr(Memory, "full_step", lambda self, value: (self.working_reply(value),))
    with pytest.raises(Broken, match="request first"):
        check_beginning(memory)

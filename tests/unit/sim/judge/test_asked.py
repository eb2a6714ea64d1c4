"""Goal: a memory that asks for what is not its own, or cannot be there, is seen (ISO-1, STO-10)."""

from typing import Any

import pytest
from msgspec import structs

from umi_core.conditions import Condition
from umi_core.messages.effects import (
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Effect,
    Expect,
    Read,
)
from umi_core.rows import Address
from umi_core.values import Scope
from umi_sim.judge.invariants.asked import ServiceQuestions
from umi_sim.machines.protocol import Origin
from umi_sim.record.broken import Broken

SCOPE, OTHER = Scope("u", "a"), Scope("u", "b")
AT = Address(SCOPE, "entity", "ent_1")
SESSION = Address(Scope("u", "ses_1"), "session", "ses_1")
OF_TYPE = (Condition("type", "in", ("person",)),)
WALK = ByFilter(SCOPE, ("entity", "category"), OF_TYPE, 10, "entity/ent_1")
WORDS = ByWords(SCOPE, "tea", OF_TYPE, 10, 0)


class AskingMachine:
    """A machine of which only the workflow that asks is known."""

    def __init__(self, workflow: str) -> None:
        self.workflow = workflow

    def origin_of(self, effect: Effect) -> Origin:
        return Origin("o1", self.workflow, 1, "read")


def look(effect: Effect, workflow: str = "remember") -> None:
    machine: Any = AskingMachine(workflow)
    ServiceQuestions().observe_step("a", SCOPE, machine, (effect,))


def at(**changed: Any) -> ByIds:
    return ByIds((AT, structs.replace(AT, **changed)))


@pytest.mark.parametrize(
    "effect",
    [
        Read(ByIds((AT, SESSION))), Read(WALK), Read(WORDS), Read(CountRows(SCOPE, ("log",))),
        Read(at(kind="archival", id="")),
        Read(ByVector(SCOPE, (1, 2), (), 1, 1_000_000)), Commit((), (Expect(SESSION, 0), Expect(AT, 3)), "k"),
        Commit((), (), "k"), AskModel("rank", "?"), AskModel("approve", "?"),
    ],
)  # fmt: skip
def test_what_can_be_asked_passes(effect: Effect) -> None:
    look(effect)


@pytest.mark.parametrize(
    ("effect", "rule"),
    [
        (Read(at(scope=OTHER)), "scope-apart"),
        (Read(at(scope=OTHER, kind="session")), "scope-apart"),
        (Read(ByIds((structs.replace(SESSION, scope=Scope("v", "ses_1")),))), "scope-apart"),
        (Read(structs.replace(WALK, scope=OTHER)), "scope-apart"),
        (Read(structs.replace(WORDS, scope=Scope("v", "a"))), "scope-apart"),
        (Commit((), (Expect(structs.replace(AT, scope=OTHER), 1),), "k"), "scope-apart"),
        (Read(ByIds(())), "whole-values"),
        (Read(at(id="")), "whole-values"),
        (Read(at(id="ent_\ud800")), "whole-values"),
        (Read(at(kind="entities")), "whole-values"),
        (Read(structs.replace(WALK, kinds=())), "whole-values"),
        (Read(structs.replace(WALK, kinds=("entity", "note"))), "whole-values"),
        (Read(structs.replace(WALK, limit=0)), "whole-values"),
        (Read(structs.replace(WALK, limit="10")), "whole-values"),
        (Read(structs.replace(WORDS, min_score_ppm=1_000_001)), "whole-values"),
        (Read(structs.replace(WORDS, where=(Condition("kind", "eq", "person"),))), "whole-values"),
        (Read(structs.replace(WORDS, where=(Condition("type", "=", "person"),))), "whole-values"),
        (Commit((), (Expect(AT, -1),), "k"), "whole-values"),
        (Commit((), (Expect(AT, "1"),), "k"), "whole-values"),  # type: ignore[arg-type]
        (AskModel("", "?"), "whole-values"),
        (AskModel("rank\ud800", "?"), "whole-values"),
    ],
)  # fmt: skip
def test_what_cannot_be_there_is_seen(effect: Effect, rule: str) -> None:
    with pytest.raises(Broken) as broken:
        look(effect)
    assert broken.value.rule == rule


OF_OTHER = structs.replace(AT, scope=OTHER)
OF_ANOTHER_USER = structs.replace(AT, scope=Scope("v", "b"))


def test_a_load_may_ask_for_facts_and_texts_of_other_agents_of_its_user() -> None:
    for effect in (
        Read(ByIds((OF_OTHER,))), Commit((), (Expect(OF_OTHER, 1),), "k"),
        Read(ByFilter(OTHER, ("resource",), ())),
    ):  # fmt: skip
        look(effect, "load_session")


def test_a_recall_may_ask_for_grants_and_facts_of_other_agents_of_its_user() -> None:
    grant = structs.replace(OF_OTHER, kind="grant", id="grant")
    for effect in (
        Read(ByIds((grant,))), Read(ByFilter(OTHER, ("ended",), ())),
        Read(structs.replace(WORDS, scope=OTHER)),
    ):  # fmt: skip
        look(effect, "recall")
    for effect in (
        Read(ByIds((OF_OTHER,))), Read(ByFilter(OTHER, ("resource",), ())),
        Read(structs.replace(WORDS, scope=OF_ANOTHER_USER.scope)),
    ):  # fmt: skip
        with pytest.raises(Broken, match="scope-apart"):
            look(effect, "recall")


@pytest.mark.parametrize(
    "effect",
    [
        Read(ByIds((OF_ANOTHER_USER,))), Read(ByIds((structs.replace(OF_OTHER, kind="core"),))),
        Commit((), (Expect(OF_ANOTHER_USER, 1),), "k"),
        Read(ByFilter(Scope("v", "b"), ("resource",), ())), Read(ByFilter(OTHER, ("entity",), ())),
    ],
)  # fmt: skip
def test_a_load_asks_for_nothing_else(effect: Effect) -> None:
    with pytest.raises(Broken, match="scope-apart"):
        look(effect, "load_session")

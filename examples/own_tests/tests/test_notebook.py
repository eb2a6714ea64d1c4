"""The notebook in a world that goes wrong, and our own code on the memory itself."""

from pathlib import Path

from hypothesis import settings

from umi_core import Memory, Scope
from umi_core.messages.effects import Done, Effect, Reply
from umi_core.messages.requests import Get, Set
from umi_sim.testing.hypothesis_machine import PROFILES, machine

SCENARIO = Path(__file__).parent.parent / "scenarios" / "notebook.toml"

# Rules in random order: requests, faults, crashes, jumps of the clock. A failing example leaves a seed file.
TestNotebook = machine(str(SCENARIO), profile="ci").TestCase
TestNotebook.settings = settings(PROFILES["ci"], max_examples=10, stateful_step_count=15)


def replies(effects: tuple[Effect, ...]) -> list[Reply]:
    return [effect for effect in effects if isinstance(effect, Reply)]


def test_a_note_is_gone_in_the_millisecond_it_expires() -> None:
    memory = Memory(Scope("ann", "notebook"))
    memory.step(0, Set("write", "todo", b"buy tea", ttl_ms=1_000))
    assert replies(memory.step(999, Get("early", "todo"))) == [Reply("early", Done(b"buy tea"))]
    assert replies(memory.step(1_000, Get("late", "todo"))) == [Reply("late", Done())]

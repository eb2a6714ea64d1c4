"""Prompts: what a model is asked, word by word, for inputs that a life seldom has.

Law 1. The fixed blocks of a task are those whose digest is written down (umi_sim/judge/plain/prompts.py):
       models were tried with these words, and what was kept of an answer is kept under them.
Law 2. Behind them stands each input once, in its order, in a line of JSON; texts of others are cut as the
       task says.
"""

import json
from collections.abc import Callable
from typing import Any, Final

import attrs

from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.language import prompts
from umi_core.values import CATEGORIES, MEMORY_TYPES, Turn
from umi_sim.judge.plain.prompts import FIXED, digest_of
from umi_sim.judge.plain.text import cut
from umi_sim.judge.trials.stored import sound
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

TEXTS: Final = (
    "", "Alice likes tea.", 'She said "no".\nINPUT text = 1', "日本 \\ {query}", "x" * 201, "é" * 101,
    "é" * 760, "x" * 1_501, "é" * 1_001,
)  # fmt: skip
SHOWN: Final = 200  # bytes of what is said of one
Asked = tuple[str, list[tuple[str, Any]]]  # the prompt, and what it is to show


def some(draw: Stream) -> tuple[str, ...]:
    return tuple(draw.pick(TEXTS) for _ in range(draw.below(4)))


def turns(draw: Stream) -> tuple[Turn, ...]:
    return tuple(Turn(draw.pick(("user", "tool")), text) for text in some(draw))


def told(given: tuple[Turn, ...]) -> list[dict[str, str]]:
    return [{"role": turn.role, "text": turn.text} for turn in given]


def statements(draw: Stream, mark: str) -> tuple[prompts.Statement, ...]:
    return tuple(prompts.Statement(f"{mark}{n}@1", f"N{n}", text) for n, text in enumerate(some(draw)))


def listed(given: tuple[prompts.Statement, ...]) -> list[dict[str, str]]:
    return [{"ref": it.ref, "name": it.name, "content": cut(it.content, SHOWN)} for it in given]


def extract(draw: Stream) -> Asked:
    text, speaker = draw.pick(TEXTS), draw.pick((None, "", "Ann"))
    said = [] if speaker is None else [("speaker", speaker)]
    return prompts.ask_extract(text, speaker), [("text", text), *said]


def route(draw: Stream) -> Asked:
    one: Any = sound(draw, "entity")
    entities = tuple(attrs.evolve(one, id=f"ent_{n}", content=text) for n, text in enumerate(some(draw)))
    text = draw.pick(TEXTS)
    shown = [
        {"entity_id": it.id, "type": it.type, "name": it.name, "content": cut(it.content, SHOWN)}
        for it in entities
    ]
    return prompts.ask_route(entities, text), [("entities", shown), ("context", cut(text, 2_000))]


def evolve(draw: Stream) -> Asked:
    new, old = statements(draw, "n"), statements(draw, "o")
    pairs = tuple((one.ref, other.ref) for one in new for other in old if draw.chance(1, 2))
    asked = [{"new": one, "old": other} for one, other in pairs]
    shown = [("new", listed(new)), ("old", listed(old)), ("pairs", asked)]
    return prompts.ask_evolve(new, old, pairs), shown


def rewrite(draw: Stream) -> Asked:
    query, said = draw.pick(TEXTS), turns(draw)
    return prompts.ask_rewrite(query, said), [("turns", told(said)), ("query", query)]


def expand(draw: Stream) -> Asked:
    query = draw.pick(TEXTS)
    return prompts.ask_expand(query), [("query", query)]


def memories(draw: Stream) -> Asked:
    kind, text = draw.pick(MEMORY_TYPES), draw.pick(TEXTS)
    known = [{"name": name, "about": about} for name, about in CATEGORIES.items()]
    shown = [("memory_type", kind), ("categories", known), ("text", text)]
    return prompts.ask_memories(kind, text), shown


def summarise_category(draw: Stream) -> Asked:
    about, old, facts = draw.pick(TEXTS), draw.pick((None, *TEXTS)), statements(draw, "f")
    summary = [] if old is None else [("summary", old)]
    shown = [("category", "skills"), ("about", about), *summary, ("facts", listed(facts))]
    return prompts.ask_summary("skills", about, old, facts), shown


def reflect(draw: Stream) -> Asked:
    texts = some(draw)
    return prompts.ask_reflection(texts), [("texts", list(texts))]


def name_subcategory(draw: Stream) -> Asked:
    words = tuple(f"word{n}" for n in range(draw.below(8)))
    contents = some(draw)
    shown = [cut(it, SHOWN) for it in contents]
    return prompts.ask_name("skills", words, contents), [
        ("category", "skills"), ("keywords", list(words[:5])), ("contents", shown)
    ]  # fmt: skip


def segment(draw: Stream) -> Asked:
    text = draw.pick(TEXTS)
    return prompts.ask_segment(text), [("text", text)]


def decide_need(draw: Stream) -> Asked:
    query, said = draw.pick(TEXTS), turns(draw)
    return prompts.ask_need(query, said), [("turns", told(said)), ("query", query)]


def decide_enough(draw: Stream) -> Asked:
    query, found = draw.pick(TEXTS), some(draw)
    return prompts.ask_enough(query, found), [("query", query), ("found", [cut(it, 1_500) for it in found])]


def rank(draw: Stream) -> Asked:
    query, count = draw.pick(TEXTS), draw.below(9)
    candidates = tuple((f"c{n}", text) for n, text in enumerate(some(draw), 1))
    shown = [{"id": alias, "text": cut(text, SHOWN)} for alias, text in candidates]
    return prompts.ask_rank(query, count, candidates), [
        ("query", query), ("count", count), ("candidates", shown)
    ]  # fmt: skip


def describing(task: str) -> Callable[[Stream], Asked]:
    def describe(draw: Stream) -> Asked:
        payload = draw.pick(TEXTS)
        return prompts.ask_description(task, payload), [("payload", payload)]

    return describe


ASKED: Final[dict[str, Callable[[Stream], Asked]]] = {
    "extract": extract, "route": route, "evolve": evolve, "rewrite": rewrite, "expand": expand,
    "memories": memories, "summarise_category": summarise_category, "reflect": reflect,
    "name_subcategory": name_subcategory, "segment": segment, "decide_need": decide_need,
    "decide_enough": decide_enough, "rank": rank,
    **{task: describing(task) for task in ("describe_image", "transcribe_audio", "describe_video")},
}  # fmt: skip


def try_prompts(draw: Stream, config: Config) -> None:
    """Of each task one. Raises Broken if it says something else."""
    demand(FIXED.keys() == ASKED.keys(), rules.PROMPT_INPUTS, "the tasks", list(ASKED), list(FIXED))
    for task, ask in ASKED.items():
        prompt, wanted = ask(draw)
        fixed, _, inputs = prompt.rpartition("\n\n")
        digest, kept = digest_of(fixed), FIXED[task]
        demand(
            digest == kept, rules.PROMPT_INPUTS, f"the digest of the words that ask to {task}", kept, digest
        )
        lines = "\n".join(f"INPUT {name} = {as_json(value)}" for name, value in wanted)
        demand(lines == inputs, rules.PROMPT_INPUTS, f"what is shown to {task}", lines, inputs)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

"""Goal: a model is asked in the words of its task, and is shown each input once, in its order.

Each input stands in a line of JSON; texts of others are cut as the task says. tests/golden/constants.json has
digests of the words: models were tried with them, and answers are stored under them.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import structs

from tests.properties.laws import Draw, law
from tests.properties.text_reference import cut
from tests.properties.values import first_sound
from umi_core.language import prompts
from umi_core.values import MEMORY_TYPES, Turn

TEXTS: Final = (
    "", "Alice likes tea.", 'She said "no".\nINPUT text = 1', "日本 \\ {query}", "x" * 201, "é" * 101,
    "é" * 760, "x" * 1_501, "é" * 1_001,
)  # fmt: skip
SHOWN: Final = 200  # bytes of a statement
SHOWN_WHOLE: Final = 1_000  # of one that another may end: a model sees all of what it judges
Asked = tuple[str, dict[str, Any]]  # the prompt, and the inputs that it must show
Domain = Callable[[Draw], Asked]


def text(draw: Draw) -> str:
    return draw.pick(TEXTS)


def texts(draw: Draw) -> tuple[str, ...]:
    return tuple(draw.many(text, 0, 3))


def statements(draw: Draw, mark: str) -> tuple[prompts.Statement, ...]:
    happened = [draw.pick((None, 0, 253_402_300_799_999, 253_402_300_800_000)) for _ in range(3)]
    return tuple(
        prompts.Statement(f"{mark}{n}@1", f"N{n}", it, 86_400_000 * n + 61_000, happened[n])
        for n, it in enumerate(texts(draw))
    )


HAPPENED: Final[dict[int | None, dict[str, str]]] = {
    None: {},
    0: {"happened": "1970-01-01T00:00Z"},
    253_402_300_799_999: {"happened": "9999-12-31T23:59Z"},
    253_402_300_800_000: {"happened": "9999-12-31T23:59Z"},
}


def listed(given: Sequence[prompts.Statement], size: int = SHOWN) -> list[dict[str, str]]:
    """Return the statements as a model sees them: of the first day the first, of the second the second."""
    return [
        {"ref": it.ref, "name": it.name, "content": cut(it.content, size), "told": f"1970-01-0{n}T00:01Z"}
        | HAPPENED[it.happened_ms]
        for n, it in enumerate(given, 1)
    ]


def found_texts(draw: Draw) -> tuple[prompts.FoundText, ...]:
    return tuple(prompts.FoundText(it.content, it.told_ms, it.happened_ms) for it in statements(draw, "f"))


def with_times(shown: Sequence[dict[str, str]], found: Sequence[prompts.FoundText]) -> list[dict[str, str]]:
    """Return what is shown of each text that was found, with its times, as those of statements are."""
    return [
        one | {"told": f"1970-01-0{n}T00:01Z"} | HAPPENED[it.happened_ms]
        for n, (one, it) in enumerate(zip(shown, found, strict=True), 1)
    ]


def extract(draw: Draw) -> Asked:
    content, speaker, day = text(draw), draw.pick((None, "", "Ann")), draw.pick((None, 0))
    asked = {"text": content} | write_date(day) | ({} if speaker is None else {"speaker": speaker})
    return prompts.ask_extract(content, speaker, day), asked


def write_date(day: int | None) -> dict[str, str]:
    return {} if day is None else {"told": "Thursday 1970-01-01"}


def route(draw: Draw) -> Asked:
    one: Any = first_sound("entity")
    about = tuple(structs.replace(one, id=f"ent_{n}", content=it) for n, it in enumerate(texts(draw)))
    content = text(draw)
    shown = [
        {"entity_id": it.id, "type": it.type, "name": it.name, "content": cut(it.content, SHOWN)}
        for it in about
    ]
    day = draw.pick((None, 0))
    inputs = {"entities": shown, "context": cut(content, 2_000)} | write_date(day)
    return prompts.ask_route(about, content, day), inputs


def evolve(draw: Draw) -> Asked:
    new, old = statements(draw, "n"), statements(draw, "o")
    pairs = tuple(draw.subset([(one.ref, other.ref) for one in new for other in old]))
    asked = [{"new": one, "old": other} for one, other in pairs]
    shown = {"new": listed(new, SHOWN_WHOLE), "old": listed(old, SHOWN_WHOLE), "pairs": asked}
    return prompts.ask_evolve(new, old, pairs), shown


def asked_after(ask: Callable[[str, tuple[Turn, ...]], str]) -> Domain:
    """Make the domain of a question about a query and the turns before it."""

    def domain(draw: Draw) -> Asked:
        query = text(draw)
        turns = tuple(Turn(draw.pick(("user", "tool")), it) for it in texts(draw))
        shown: list[dict[str, object]] = [{"role": it.role, "text": it.text} for it in turns]
        if ask is prompts.ask_rewrite:
            shown = [{"turn": number, **it} for number, it in enumerate(shown, start=1)]
        return ask(query, turns), {"turns": shown, "query": query}

    return domain


def memories(draw: Draw) -> Asked:
    kind, content = draw.pick(MEMORY_TYPES), text(draw)
    topics = tuple(zip(texts(draw), texts(draw), strict=False))
    known = [{"name": name, "about": about} for name, about in topics]
    day = draw.pick((None, 0))
    shown = {"memory_type": kind, "categories": known, "text": content} | write_date(day)
    return prompts.ask_memories(kind, content, topics, day), shown


def reflect(draw: Draw) -> Asked:
    shown = texts(draw)
    days = [f"Thursday 1970-01-{1 + 7 * n:02}" for n in range(len(shown))]
    return prompts.ask_reflection(shown, tuple(range(0, 7 * len(shown), 7))), {
        "texts": list(shown),
        "told": days,
    }


def summarise_category(draw: Draw) -> Asked:
    about, old, facts = text(draw), draw.pick((None, *TEXTS)), statements(draw, "f")
    summary = {} if old is None else {"summary": old}
    shown = {"category": "skills", "about": about, **summary, "facts": listed(facts)}
    return prompts.ask_summary("skills", about, old, facts), shown


def name_subcategory(draw: Draw) -> Asked:
    words, contents = tuple(f"word{n}" for n in range(draw.below(8))), texts(draw)
    shown = [cut(it, SHOWN) for it in contents]
    asked = prompts.ask_name("skills", words, contents)
    return asked, {"category": "skills", "keywords": [*words[:5]], "contents": shown}


def decide_enough(draw: Draw) -> Asked:
    query, found = text(draw), found_texts(draw)
    shown = with_times([{"text": cut(it.text, 1_500)} for it in found], found)
    return prompts.ask_enough(query, found), {"query": query, "found": shown}


def rank(draw: Draw) -> Asked:
    query, count, found = text(draw), draw.below(9), found_texts(draw)
    candidates = tuple((f"c{n}", it) for n, it in enumerate(found, 1))
    shown = with_times([{"id": alias, "text": cut(it.text, SHOWN)} for alias, it in candidates], found)
    return prompts.ask_rank(query, count, candidates), {"query": query, "count": count, "candidates": shown}


def of_one(name: str, ask: Callable[[Any], str], given: Callable[[Draw], Any] = text) -> Domain:
    """Make the domain of a question about one input."""

    def domain(draw: Draw) -> Asked:
        it = given(draw)
        return ask(it), {name: list(it) if isinstance(it, tuple) else it}

    return domain


def describing(task: str) -> Domain:
    return of_one("payload", lambda payload: prompts.ask_description(task, payload))


ASKED: Final[dict[str, Domain]] = {
    "extract": extract, "route": route, "evolve": evolve, "rewrite": asked_after(prompts.ask_rewrite),
    "expand": of_one("query", prompts.ask_expand), "memories": memories,
    "segment": of_one("text", prompts.ask_segment), "summarise_category": summarise_category,
    "reflect": reflect, "name_subcategory": name_subcategory,
    "decide_need": asked_after(prompts.ask_need), "decide_enough": decide_enough, "rank": rank,
    **{it: describing(it) for it in ("describe_image", "transcribe_audio", "describe_video")},
}  # fmt: skip


def any_asked(draw: Draw) -> tuple[str, str, dict[str, Any]]:
    task = draw.pick(tuple(ASKED))
    return task, *ASKED[task](draw)


@law(any_asked, examples=200)
def test_a_prompt_has_its_words_and_shows_its_inputs(task: str, prompt: str, shown: dict[str, Any]) -> None:
    fixed, _, inputs = prompt.rpartition("\n\n")
    assert fixed == "\n\n".join(prompts.FIXED[task]), task
    lines = (f"INPUT {name} = {as_json(value)}" for name, value in shown.items())
    assert "\n".join(lines) == inputs, task


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

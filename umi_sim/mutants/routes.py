"""Mutants that one kind of faulty answer reveals where it is about routes and verdicts."""

from typing import Any, Final

import attrs

from umi_core.engine import attempts
from umi_core.engine.engine import Engine
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.rows import Entity
from umi_core.state import Operation
from umi_core.workflows import evolving, forget, remember
from umi_sim.mutants import Mutant, Original, Patch
from umi_sim.mutants.answers import value_of, written

LAST_MOMENT_MS: Final = 10


# Rows of a reply to `route`.


def routed(edit: Any) -> Original:
    """The same reading of routes, of an edited list of rows; the edit sees whom was asked about."""

    def wrong(original: Original) -> Original:
        def parse_routes(reply: str, asked: tuple[Entity, ...], config: Any) -> object:
            rows = value_of(reply)
            if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
                edited = edit(rows, [entity.id for entity in asked])
                reply = reply if edited == rows else written(edited)
            return original(reply, asked, config)

        return parse_routes

    return wrong


def star_means_all(rows: list[Any], ids: list[str]) -> list[Any]:
    """A row about `ent_*` is one about each that has no row of its own."""
    wild = [row for row in rows if str(row.get("entity_id")) in ("*", "ent_*", "ent_%")]
    own = [row for row in rows if row not in wild]
    left = [key for key in ids if key not in [row.get("entity_id") for row in own]]
    return [*own, *({**wild[0], "entity_id": key} for key in left)] if wild else rows


def three_say_so(rows: list[Any], ids: list[str]) -> list[Any]:
    """What stands three times is sure, and stands once."""
    return [row for at, row in enumerate(rows) if rows.count(row) < 3 or row not in rows[:at]]


def no_block_is_scratch(rows: list[Any], ids: list[str]) -> list[Any]:
    return [{**row, "block": "scratch"} if row.get("block") == "" else row for row in rows]


def high_is_high(rows: list[Any], ids: list[str]) -> list[Any]:
    return [{**row, "confidence": 1} if row.get("confidence") == "high" else row for row in rows]


def lists_of_one_opened(rows: list[Any], ids: list[str]) -> list[Any]:
    """A value in a list of its own is taken out of it."""
    return [{key: opened(it) for key, it in row.items()} for row in rows]


def opened(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def dash_before_share(rows: list[Any], ids: list[str]) -> list[Any]:
    return [without_dash(row) for row in rows]


def without_dash(row: Any) -> Any:
    found = row.get("confidence")
    is_share = str(found).startswith("-0.") and not str(found).startswith("-0.0")
    return {**row, "confidence": -found} if is_share else row


forgotten: Final[dict[str, None]] = {}


def noted(original: Original) -> Original:
    def deletions(facts: Any, view: Any) -> object:
        forgotten[facts[forget.REQUEST].entity_id] = None
        return original(facts, view)

    return deletions


def heirs_of_the_forgotten(rows: list[Any], ids: list[str]) -> list[Any]:
    """A row about somebody forgotten is taken for one about whoever has no row."""
    own = [row.get("entity_id") for row in rows]
    left = [key for key in ids if key not in own]
    is_heir = [it in forgotten and it not in ids and bool(left) for it in own]
    return [{**row, "entity_id": left[0]} if is_heir[at] else row for at, row in enumerate(rows)]


# Verdicts on pairs.


def either_way_round(original: Original) -> Original:
    def parse_evolution(reply: str, asked: tuple[tuple[str, str], ...], floor_ppm: int) -> object:
        rows = value_of(reply)
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            turned = [
                {**row, "new": row["old"], "old": row["new"]} if is_back(row, asked) else row for row in rows
            ]
            reply = reply if turned == rows else written(turned)
        return original(reply, asked, floor_ppm)

    return parse_evolution


def is_back(row: Any, asked: Any) -> bool:
    new, old = row.get("new"), row.get("old")
    return (new, old) not in asked and (old, new) in asked


# Lists that were cut off.


def closed(text: str) -> str:
    """Of a list that is cut the whole elements."""
    end = text.rfind("}")
    if not text.startswith("[{") or end < 0 or text.rstrip().endswith("]"):
        return text
    return text[: end + 1] + "]"


def closing(is_last_moment: bool) -> Original:
    """A list that is cut is closed: if it comes at the last moment, or if there was time left."""

    def wrong(original: Original) -> Original:
        def settle(engine: Engine, operation: Operation, answer: Answer) -> object:
            left_ms = (operation.due_ms or 0) - engine.state.seen_ms
            if isinstance(answer, ModelReplied) and (left_ms <= LAST_MOMENT_MS) == is_last_moment:
                answer = attrs.evolve(answer, text=closed(answer.text))
            return original(engine, operation, answer)

        return settle

    return wrong


def of_routes(kind: str, name: str, behaviour: str, edit: Any) -> Mutant:
    patches = (Patch(remember, "parse_routes", routed(edit)), Patch(forget, "deletions", noted))
    often = {f"faults.{kind}": "1/1"}
    rules = ("route-per-entity", "degradation-named", "route-known-only")
    return Mutant(name, "routing", behaviour, rules, "all_faults", patches, kind=kind, settings=often)


RULES: Final = ("degradation-named", "route-per-entity", "version-chain", "relation-ends")
INSTANT: Final = {"services.latency": '["instant"]'}

ROWS: Final = (
    of_routes("model_unknown_id", "star-means-all", "a route for `ent_*` is one for each", star_means_all),
    of_routes("model_repeats", "three-times-is-sure", "a route that stands three times counts once",
              three_say_so),
    of_routes("model_bad_block", "no-block-is-scratch", "a route to no block leads to scratch",
              no_block_is_scratch),
    of_routes("model_overconfident", "high-is-a-number", "the word `high` counts as a confidence",
              high_is_high),
    of_routes("model_wrong_type", "list-of-one-opened", "a value in a list of its own is taken out of it",
              lists_of_one_opened),
    of_routes("model_number_drift", "minus-is-a-dash", "the minus before a confidence is overlooked",
              dash_before_share),
    of_routes("model_stale_id", "heir-of-the-forgotten",
              "a route for who was forgotten is taken for somebody else's", heirs_of_the_forgotten),
    Mutant("pair-either-way-round", "evolution", "a verdict on a pair the wrong way round is taken",
           RULES, "all_faults", (Patch(evolving, "parse_evolution", either_way_round),),
           kind="model_swapped"),
    Mutant("cut-list-closed", "extraction", "of a list that is cut the whole rows are taken",
           RULES, "all_faults", (Patch(attempts, "settle", closing(is_last_moment=False)),),
           kind="model_truncated", settings=INSTANT),
    Mutant("slow-list-closed", "extraction",
           "of a list that is not all there when the time is up the whole rows are taken",
           RULES, "all_faults", (Patch(attempts, "settle", closing(is_last_moment=True)),),
           kind="model_cut", settings=INSTANT),
)  # fmt: skip

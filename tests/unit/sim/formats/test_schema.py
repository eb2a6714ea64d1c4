"""Goal: what a class declares is what its file may hold, and a message says where it does not, and why."""

import json
from collections import Counter
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from umi_core.data import Data
from umi_sim.formats.schema import FINDING_COUNT_MAX, Schema, Seed, Wrong, list_of, of, table, text, whole


class Player(Data):
    name: Annotated[str, text("[a-z]{1,9}", "a name")]
    kind: Literal["human", "bot"]
    seed: Seed = 0
    lives: Annotated[int, whole(1, 9)] = 3
    is_first: bool = False
    digest: bytes = b""
    tags: tuple[str, ...] = ()
    span: tuple[int, int] = (0, 1)


class Game(Data):
    players: tuple[Player, ...]
    scores: Counter[str] = msgspec.field(default_factory=Counter)
    moves: dict[tuple[str, Seed], Player] = {}
    best: dict[str, tuple[bool | int | str, bool | int | str]] = {}


GAME = of(Game)
PLAYERS = st.builds(
    Player, st.sampled_from(["ann", "bob"]), st.sampled_from(["human", "bot"]), st.integers(0, 2**64 - 1),
    st.integers(1, 9), st.booleans(), st.binary(max_size=9), st.lists(st.text(), max_size=2).map(tuple),
)  # fmt: skip
VALUES = st.booleans() | st.integers(0, 2**63 - 1) | st.text(max_size=3)
GAMES = st.builds(
    Game, st.lists(PLAYERS, max_size=2).map(tuple),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9)).map(Counter),
    st.dictionaries(st.tuples(st.text(max_size=3), st.integers(0, 2**64 - 1)), PLAYERS, max_size=2),
    st.dictionaries(st.text(max_size=3), st.tuples(VALUES, VALUES), max_size=2),
)  # fmt: skip


@given(GAMES)
def test_what_is_written_is_read_back(game: Game) -> None:
    found = GAME.read(json.loads(json.dumps(GAME.write(game))))
    assert repr(found) == repr(
        structs.replace(game, moves=dict(sorted(game.moves.items())))
    )  # repr tells True from 1


def refusal(schema: Schema, value: Any) -> list[str]:
    with pytest.raises(Wrong) as refused:
        schema.read(value)
    return [": ".join(filter(None, finding)) for finding in refused.value.findings]


def test_each_problem_is_reported_with_its_place() -> None:
    players = [{"name": "ann", "kind": "bot", "lives": True}, {"name": "Bob", "kind": "bt", "live": 1}, 7]
    assert refusal(GAME, {"players": players, "scores": {"a\n": -1}}) == [
        "players[0].lives: expected a whole number from 1 to 9, got true",
        'players[1].name: expected a name, got "Bob"',
        'players[1].kind: unknown kind "bt"; did you mean bot?',
        "players[1].live: unknown key; did you mean lives?",
        "players[2]: expected keys with values, got 7",
        "scores.a\\n: expected a whole number from 0 to 9223372036854775807, got -1",
    ]
    assert refusal(GAME, {}) == ["players: missing"]


def test_findings_end_somewhere_and_a_value_is_shown_in_short() -> None:
    assert len(refusal(list_of(whole()), ["x"] * 1_000)) == FINDING_COUNT_MAX
    assert len(refusal(table({}), {f"k{number}": 0 for number in range(1_000)})) == FINDING_COUNT_MAX
    assert max(map(len, refusal(GAME, ["\x1b" * 100_000]))) < 100


@pytest.mark.parametrize("value", [1.0, "1", None, True, 2**63])
def test_nothing_is_made_into_a_number(value: object) -> None:
    with pytest.raises(Wrong, match="expected a whole number"):
        whole().read(value)

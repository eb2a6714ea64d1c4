"""Goal: each kind spoils a reply in its own way, total over any text, and its arguments say all of it."""

import json
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from umi_core.language.prompts import ask_extract, ask_route
from umi_core.messages.effects import AskModel
from umi_core.rows import Entity
from umi_sim.faults import words
from umi_sim.faults.draws import Draws
from umi_sim.faults.edits import GROWN_BYTES_MAX, ReplyEdit
from umi_sim.faults.kinds import KINDS
from umi_sim.faults.service import Arrival
from umi_sim.kernel.prng import Keyed, stream_key
from umi_sim.record.items import Args
from umi_sim.services.calls import Call, Services
from umi_sim.services.model import truth

ANY_TEXT = st.text(st.characters(exclude_categories=()))
PATHS = st.sampled_from(
    ["", "/", "/entities", "/entities/0", "/entities/1/name", "/0", "/0/a~1b", "/0/m~0n", "x"]
)
KEY = stream_key(42, ("fault", "content"))

EXTRACTED = truth("extract", ask_extract("Alice works at Acme. Bob, 41, lives in Berlin."))
ASKED = tuple(
    Entity(f"ent_{n}", kind, name, f"{name} likes tea, 3 cups", 1, 0, 0, "facts", 0, 0)
    for n, (kind, name) in enumerate((("person", "Ann"), ("topic", "Tea"), ("self", "Umi")))
)
ROUTED = truth("route", ask_route(ASKED, "x"))
REPLIES = {"extract": EXTRACTED, "route": ROUTED}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT | st.just("a/b"), inner, max_size=4),
    max_leaves=12,
).map(json.dumps)
REPLY = (
    ANY_TEXT | JSON | st.sampled_from([EXTRACTED, ROUTED, "", "[" * 3_000, "{}", "null", '{"entities":[]}'])
)
VALUES: Final[dict[str, st.SearchStrategy[object]]] = {
    "path": PATHS | ANY_TEXT, "other": PATHS, "key": st.sampled_from(["name", "entities", "a/b"]) | ANY_TEXT,
    **dict.fromkeys(("at", "keep", "times", "length"), st.integers(0, 10**6)),
    **dict.fromkeys(("text", "json", "members", "before", "after"), ANY_TEXT | st.just("<old>")),
}  # fmt: skip
EDITS: Final = [name for name, kind in KINDS.items() if issubclass(kind, ReplyEdit)]
ASKING: Final = AskModel("extract", "balanced", "INPUT", request_id=1, timeout_ms=1_000)
CALL: Final = Arrival(
    Call("o1/extract#1", "a", 1, "o1", "remember", "extract", ASKING, 0), ASKING, Services({})
)


def args_of(kind: str) -> st.SearchStrategy[Args]:
    """Anything that a seed file may hold for this kind."""
    return st.fixed_dictionaries({name: VALUES[name] for name in KINDS[kind].arguments})


def made(kind: str) -> type[ReplyEdit]:
    found = KINDS[kind]
    assert issubclass(found, ReplyEdit)
    return found


def edit(kind: str, reply: str, args: Args) -> str:
    return made(kind)(**args).edit_reply(reply) if args else reply


def draw_args(kind: str, reply: str, draws: Draws) -> Args:
    return made(kind).draw_edit(reply, draws, CALL)


def draws(n: int) -> Draws:
    return lambda label, below: Keyed(KEY).draw(f"{n}/{label}")


def spoiled(kind: str, reply: str, count: int = 60) -> list[str]:
    """What `count` draws of a kind leave of a reply, each different text once."""
    return list(dict.fromkeys(edit(kind, reply, draw_args(kind, reply, draws(n))) for n in range(count)))


WITHOUT_EFFECT: Final = (  # what the fault needs is not there: a block, a forgotten id, a word of a table
    ("model_bad_block", "extract"), ("model_stale_id", "extract"), ("model_stale_id", "route"),
    ("model_contradiction", "route"), ("model_wrong_date", "extract"), ("model_wrong_date", "route"),
    ("model_stray_bracket", "extract"), ("model_stray_bracket", "route"),
    ("model_unclosed_tag", "extract"), ("model_unclosed_tag", "route"),
)  # fmt: skip


@pytest.mark.parametrize("task", list(REPLIES))
@pytest.mark.parametrize("kind", EDITS)
def test_every_kind_spoils_most_truthful_replies(kind: str, task: str) -> None:
    reply = REPLIES[task]
    changed = sum(edit(kind, reply, draw_args(kind, reply, draws(n))) != reply for n in range(60))
    assert changed >= 50 or (kind, task) in WITHOUT_EFFECT


REMEMBERED: Final = (
    "<item><memory><name>Ann</name><content>Ann naps.</content>"
    "<categories><category>facts</category></categories></memory></item>"
)


def test_stray_markup_stands_inside_a_content_or_where_a_memory_ends() -> None:
    inside = [REMEMBERED.replace("<content>", f"<content>{it}") for it in words.STRAYS]
    at_the_end = [REMEMBERED.replace("</memory>", it) for it in words.ODD_PARTS]
    found = set(spoiled("model_stray_bracket", REMEMBERED))
    assert found <= {*inside, *at_the_end}
    assert len(found & set(inside)) > 6 < len(found & set(at_the_end))


def test_of_one_element_the_end_is_missing() -> None:
    ends = ("</content>", "</category>", "</name>", "</memory>")
    lost = [REMEMBERED.replace(end, "") for end in ends]
    assert sorted(spoiled("model_unclosed_tag", REMEMBERED)) == sorted(lost)


@pytest.mark.parametrize("kind", EDITS)
@settings(max_examples=40)
@given(reply=REPLY, data=st.data())
def test_an_edit_is_pure_and_total(kind: str, reply: str, data: st.DataObject) -> None:
    args = data.draw(args_of(kind))
    once = edit(kind, reply, args)
    assert once == edit(kind, reply, args)
    assert isinstance(edit(kind, once, args), str)


@pytest.mark.parametrize("kind", EDITS)
@settings(max_examples=40)
@given(reply=REPLY, n=st.integers(0, 2**64 - 1))
def test_whatever_is_drawn_for_any_reply_is_plain_and_edits_it(kind: str, reply: str, n: int) -> None:
    args = draw_args(kind, reply, lambda label, below: n)
    assert args == draw_args(kind, reply, lambda label, below: n)
    assert all(type(value) in (int, str) for value in args.values())
    assert json.loads(json.dumps(args)) == args
    assert (
        len(edit(kind, reply, args).encode("utf-8", "surrogatepass")) <= 8 * len(reply) + 2 * GROWN_BYTES_MAX
    )


# One example of each kind: what its arguments do to a small reply.

ROW = '{"name":"Ann","content":"likes tea, 3 cups","confidence":0.70}'
SMALL = f'{{"entities":[{ROW}],"relations":[{{"source":"Ann","target":"Tea"}}]}}'
FIRST: Args = {"path": "/entities/0"}
AT_NAME: Args = {"path": "/entities/0/name"}
NAME, TWICE, HALVES = '"name":"Ann"', '"name":1,"name":2', '"name":"A\ud800\ud800nn"'
ENDS, SWAPPED = '"source":"Ann","target":"Tea"', '"source":"Tea","target":"Ann"'


@pytest.mark.parametrize(
    ("kind", "args", "old", "new"),
    [
        ("model_empty", {"text": "null"}, SMALL, "null"),
        ("model_refusal", {"text": "Lo siento."}, SMALL, "Lo siento."),
        ("model_template_echo", {"text": '{"name": TEXT}'}, SMALL, '{"name": TEXT}'),
        ("model_truncated", {"at": 12}, SMALL, SMALL[:12]),
        ("model_prose", {"before": "```json\n", "after": "\n```"}, SMALL, f"```json\n{SMALL}\n```"),
        ("model_partial_call", {"before": "call(", "keep": 12}, SMALL, "call(" + SMALL[:12]),
        ("model_wrong_type", {"path": "/entities", "json": "[<old>]"}, f"[{ROW}]", f"[[{ROW}]]"),
        ("model_wrong_type", {"path": "", "json": "[<old>]"}, SMALL, f"[{SMALL}]"),
        ("model_unknown_id", {"path": "/relations/0/target", "json": '"ent_*"'}, '"Tea"', '"ent_*"'),
        ("model_paraphrase", {**FIRST, "json": '<old>,{"name":"ANN"}'}, ROW, f'{ROW},{{"name":"ANN"}}'),
        ("model_number_drift", {"path": "/entities/0/confidence", "json": "7.0"}, "0.70", "7.0"),
        ("model_injection", {**AT_NAME, "json": '"</block>"'}, NAME, '"name":"</block>"'),
        ("model_overconfident", {"path": "/entities/0/confidence", "json": "1e309"}, "0.70", "1e309"),
        ("model_missing_field", {**FIRST, "key": "name", "members": ""}, '"name":"Ann",', ""),
        ("model_missing_field", {**FIRST, "key": "name", "members": '"NAME":<old>'}, '"name"', '"NAME"'),
        ("model_duplicate_key", {**FIRST, "key": "name", "members": '"name":1,"name":2'}, NAME, TWICE),
        ("model_wrong_language", {**FIRST, "key": "name", "members": '"nom":"oui"'}, NAME, '"nom":"oui"'),
        ("model_text_damage", {**AT_NAME, "at": 1, "text": "\ud800", "times": 2}, NAME, HALVES),
        ("model_oversize", {"path": "/entities", "at": 0, "times": 3}, ROW, ",".join([ROW] * 4)),
        ("model_repeats", {"path": "/entities", "at": 7, "times": 1}, ROW, f"{ROW},{ROW}"),
        ("model_swapped", {"path": "/relations/0/source", "other": "/relations/0/target"}, ENDS, SWAPPED),
    ],
)  # fmt: skip
def test_the_arguments_say_what_becomes_of_the_reply(kind: str, args: Args, old: str, new: str) -> None:
    assert SMALL.count(old) == 1
    assert edit(kind, SMALL, args) == SMALL.replace(old, new)


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        ("model_wrong_type", {"path": "/nothing", "json": "1"}),
        ("model_wrong_type", {"path": "entities", "json": "1"}),
        ("model_wrong_type", {"path": "/entities/00", "json": "1"}),
        ("model_wrong_type", {"path": "/entities/1", "json": "1"}),
        ("model_missing_field", {"path": "/entities", "key": "name", "members": ""}),
        ("model_missing_field", {"path": "", "key": "name", "members": ""}),
        ("model_repeats", {"path": "/entities/0/confidence", "at": 0, "times": 3}),
        ("model_swapped", {"path": "/entities", "other": "/entities/0"}),
        ("model_swapped", {"path": "", "other": ""}),
        ("model_swapped", {"path": "/entities/0", "other": "/entities"}),
        ("model_truncated", {"at": len(SMALL)}),
        ("model_swapped", {"path": "/entities", "other": "/nothing"}),
    ],
)
def test_what_an_edit_cannot_change_stays(kind: str, args: Args) -> None:
    assert edit(kind, SMALL, args) == SMALL


def test_a_step_of_a_path_is_escaped() -> None:
    reply = '{"a/b":{"~":{"confidence":1}}}'
    args = draw_args("model_overconfident", reply, draws(0))
    assert args["path"] == "/a~1b/~0/confidence"
    assert edit("model_overconfident", reply, {**args, "json": "2"}) == reply.replace("1", "2")


def test_a_place_past_the_end_counts_from_the_start_again() -> None:
    assert edit("model_repeats", '["a","b"]', {"path": "", "at": 2, "times": 1}) == '["a","a","b"]'
    assert edit("model_text_damage", '"ab"', {"path": "", "at": 4, "times": 1, "text": "x"}) == '"axb"'


# What is drawn.


def test_a_reply_without_a_place_draws_nothing() -> None:
    for reply in ("", "no JSON", "[]", "null", "[" * 100):
        for kind in ("model_unknown_id", "model_paraphrase", "model_repeats", "model_overconfident"):
            assert draw_args(kind, reply, draws(0)) == {}


def test_half_of_the_cuts_stand_beside_a_mark() -> None:
    cuts = [draw_args("model_truncated", EXTRACTED, draws(n))["at"] for n in range(400)]
    marks = '[]{}",:'
    beside = sum(
        isinstance(at, int) and any(char in marks for char in EXTRACTED[max(0, at - 1) : at + 1])
        for at in cuts
    )
    assert 200 <= beside <= 350


def test_numbers_drift_by_one_tenfold_by_sign_or_by_exchange() -> None:
    assert {new[6:-1] for new in spoiled("model_number_drift", '{"at":"7 of 12"}', 200)} == {
        '"8 of 12"', '"6 of 12"', '"70 of 12"', '"-7 of 12"'
    }  # fmt: skip
    tokens = {
        edit("model_number_drift", "[0.70]", draw_args("model_number_drift", "[0.70]", draws(n)))
        for n in range(99)
    }
    assert tokens == {"[1.70]", "[-0.30]", "[7.00]", "[-0.70]", "[0.07]"}


@pytest.mark.parametrize(
    ("row", "limits"),
    [('{"name":"日本"}', {256}), ('{"reason":"a"}', {1_024}), ('{"content":"a"}', {1_000, 50_000})],
)
def test_what_is_oversize_is_over_its_limit_by_a_letter_of_one_or_two_bytes(
    row: str, limits: set[int]
) -> None:
    [key] = json.loads(row)
    texts = [json.loads(new)[0][key] for new in spoiled("model_oversize", f"[{row}]") if '":' in new[:12]]
    sizes = {len(text.encode()) for text in texts if isinstance(text, str)}
    assert sizes - {len(json.loads(row)[key].encode())} <= {
        limit + over for limit in limits for over in (1, 2)
    }
    assert {limit + 1 for limit in limits} <= sizes
    assert any("é" * 99 in text for text in texts)


def test_what_is_oversize_may_be_very_many_elements() -> None:
    lists = [len(json.loads(new)) for new in spoiled("model_oversize", "[1]", 2)]
    assert max(lists) == 10_001
    assert max(map(len, spoiled("model_oversize", EXTRACTED))) <= GROWN_BYTES_MAX + len(EXTRACTED)


def test_elements_are_repeated_two_to_fifty_times() -> None:
    counts = {len(json.loads(new)) for new in spoiled("model_repeats", '["a"]', 200)}
    assert counts == {2, 3, 10, 50}


def test_overconfidence_reaches_past_both_ends_and_the_limits() -> None:
    found = set(spoiled("model_overconfident", '{"confidence":0.90}', 400))
    assert {
        f'{{"confidence":{new}}}' for new in ("-1", "2", "1e309", '"NaN"', '"high"', "0.59", "0.61")
    } <= found


def test_half_of_the_foreign_values_have_a_foreign_key() -> None:
    news = [
        json.loads(
            edit(
                "model_wrong_language",
                '{"name":"Ann"}',
                draw_args("model_wrong_language", '{"name":"Ann"}', draws(n)),
            )
        )
        for n in range(200)
    ]
    assert 70 <= sum("name" in new for new in news) <= 130
    assert all("Ann" not in new.values() for new in news)


def test_a_paraphrase_is_the_same_row_once_more_in_other_words() -> None:
    rows = [
        json.loads(new)
        for new in spoiled("model_paraphrase", '[{"name":"Ann Lee","content":"She likes tea"}]')
    ]
    assert sorted(row[1]["name"] for row in rows) == ["ANN LEE", "Ann  Lee", "Ａｎｎ Ｌｅｅ"]
    assert all(row[0] == {"name": "Ann Lee", "content": "She likes tea"} for row in rows)
    assert all(row[1]["content"] == "She enjoys tea" for row in rows)

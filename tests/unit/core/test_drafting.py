"""Goal: content is a replay of mentions, each by what it does to what was known (M2.11 to M2.16)."""

import pytest

from tests.spec_tables import NOTHING, rows, whole
from tests.spec_tables import told as said_in
from tests.worlds import ALICE, Pair, saying, verdict
from umi_core.limits import EMBED_TEXT_BYTES_MAX, ENTITY_FACTS_BYTES_MAX
from umi_core.messages.effects import Done
from umi_core.messages.requests import Forget, Remember
from umi_core.messages.results import Remembered
from umi_core.rows import Entity, Vector, Version
from umi_core.workflows.drafting import Extended, embedded_text, extended, old_statement
from umi_sim.services.embedder import embed


def told(*steps: tuple[str, str]) -> Pair:
    """Alice, by mentions, each with the verdict that the model gives on it."""
    said = {"kind": ""}
    pair = Pair(model=saying(evolve=lambda prompt: verdict(said["kind"])(prompt))).run()
    for n, (mention, said["kind"]) in enumerate(steps):
        pair.ask(Remember(n, f"Alice {mention}"))
    return pair


def entity(pair: Pair) -> Entity:
    row = pair.row("entity", ALICE)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def version(pair: Pair, n: int) -> Version:
    row = pair.row("version", f"{ALICE}@{n}")
    assert row is not None
    assert isinstance(row.body, Version)
    return row.body


def test_the_story_of_alice() -> None:
    """The worked table, mention by mention; the model is asked for a verdict where the table has one."""
    story = rows("memory", "versions")
    for count in range(1, len(story) + 1):
        steps = [(said_in(row["mention"]), row["verdict"].strip(NOTHING)) for row in story[:count]]
        pair = told(*steps)
        row, content = story[count - 1], said_in(story[count - 1]["content"])
        outcome = pair.replies[count - 1].outcome
        assert isinstance(outcome, Done)
        assert isinstance(outcome.value, Remembered)
        assert outcome.value.entities[0].change == row["change"]
        assert (entity(pair).version, entity(pair).content) == (whole(row["version"]), content)
        kept = version(pair, entity(pair).version)
        assert kept.content == content
        if row["change"] != "unchanged":
            assert (kept.mention, kept.kind or NOTHING) == (said_in(row["mention"]), row["verdict"])


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("extend", "works at Acme\nlikes tea"),
        ("derive", "works at Acme\nlikes tea"),
        ("update", "likes tea"),
        ("contradict", "likes tea"),
        ("none", "works at Acme\nlikes tea"),  # no verdict: the table extends
    ],
)
def test_what_each_verdict_does_to_content(kind: str, content: str) -> None:
    pair = told(("works at Acme", ""), ("likes tea", kind))
    assert entity(pair).content == content
    assert version(pair, 2).kind == (kind if kind != "none" else "extend")


def test_the_vector_is_of_the_content_under_the_verdict() -> None:
    pair = told(("works at Acme", ""), ("left Acme", "update"))
    other = told(("left Acme", ""))
    vectors = [row.body for one in (pair, other) for row in one.rows("vector")]
    assert [body.components for body in vectors if isinstance(body, Vector)] == [
        embed("Alice\nleft Acme", 64)
    ] * 2


def test_only_lines_that_are_lacking_are_appended_and_each_once() -> None:
    assert extended("a\nb", "b\nc\nc\na") == Extended("a\nb\nc")


def test_beyond_the_limit_the_oldest_lines_go_and_the_newest_stays() -> None:
    line = "x" * 1_999
    assert extended(f"a\n{line}", f"y{line}").content == f"{line}\ny{line}"[-ENTITY_FACTS_BYTES_MAX:]
    assert extended("a", "y" * 5_000).content == "y" * 5_000


@pytest.mark.parametrize(
    ("old", "count"),
    [
        ("a\nb", 2),
        ("a\nA\n a ", 1),  # one line, written three times
        ("a\n\n \nb", 2),  # blank lines say nothing
        ("a\n" + "y" * 3_999, 1),  # the mention has the other one
    ],
)
def test_what_the_limit_drops_is_counted_once_each(old: str, count: int) -> None:
    assert extended(old, "y" * 3_999).dropped_count == count


def test_a_line_that_is_dropped_once_and_stays_once_is_not_lost() -> None:
    assert extended(f"a\n{'x' * 1_000}\na", "y" * 2_996) == Extended(f"{'x' * 1_000}\na\n{'y' * 2_996}")


def test_what_a_mention_names_again_does_not_make_room_for_the_rest_of_it() -> None:
    """Else telling it again would bring that line back, and push out the next one, for ever."""
    old = "\n".join(f"{n}{'x' * 998}" for n in range(4))
    first = old.split("\n")[0]
    content = extended(old, f"{first}\nnaps").content
    assert content.split("\n") == [first, *old.split("\n")[2:], "naps"]
    assert extended(content, f"{first}\nnaps") == Extended(content)


def test_one_line_that_is_new_makes_a_version_and_none_makes_none() -> None:
    pair = told(("likes tea", ""))
    for text, change in (("likes tea", "unchanged"), ("likes tea\nnaps", "updated"), ("naps", "unchanged")):
        outcome = pair.ask(Remember(50 + len(text), f"Alice {text}"))
        assert isinstance(outcome, Done)
        assert isinstance(outcome.value, Remembered)
        assert outcome.value.entities[0].change == change, text


def test_what_is_told_again_in_another_case_spacing_or_form_is_known() -> None:
    pair = told(("Caf\u00e9 au lait", ""))
    for at, text in enumerate(("CAFE\u0301 AU LAIT", " caf\u00e9  au\tlait", "tea\nTEA", "Tea")):
        outcome = pair.ask(Remember(60 + at, f"Alice {text}"))
        assert isinstance(outcome, Done)
    assert (entity(pair).version, entity(pair).content) == (2, "Caf\u00e9 au lait\ntea")


def test_a_line_that_is_told_in_another_case_does_not_go_for_want_of_room() -> None:
    old = "\n".join(f"{n}{'x' * 998}" for n in range(4))
    assert extended(old, f"0{'X' * 998}\nnaps").content.split("\n")[0] == old.split("\n")[0]


def test_a_forgotten_name_begins_anew_under_its_next_number() -> None:
    pair = told(("works at Acme", ""))
    pair.ask(Forget(10, ALICE))
    outcome = pair.ask(Remember(11, "Alice likes tea"))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Remembered)
    assert (entity(pair).version, entity(pair).content, outcome.value.relations) == (2, "likes tea", ())
    assert version(pair, 2).kind is None


def test_a_statement_is_named_by_entity_and_version() -> None:
    old = old_statement(entity(told(("works at Acme", ""))))
    assert (old.ref, old.name, old.content) == (f"{ALICE}@1", "Alice", "works at Acme")


def test_what_is_embedded_is_name_and_content_cut_at_a_character() -> None:
    assert embedded_text("Zoë", "naps") == "Zoë\nnaps"
    text = embedded_text("日", "日" * 3_000)
    assert (len(text.encode()), text[-1]) == (EMBED_TEXT_BYTES_MAX - 1, "日")

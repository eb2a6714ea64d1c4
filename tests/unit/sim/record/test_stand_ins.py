"""Goal: stand-ins say nothing of what they stand for, and a memory treats them as it did the words."""

import pytest
from hypothesis import given, settings

from umi_core.config import Config
from umi_core.language.words import words
from umi_core.messages.answers import Embedded
from umi_core.policies.similarity import inner
from umi_core.rows import BODIES, Body
from umi_core.text import size
from umi_core.tiers import session
from umi_core.tiers.session import SessionInfo
from umi_core.tiers.working import WorkingTier
from umi_sim.record.stand_ins import StandIns, known_words
from umi_sim.testing.random_rows import bodies_of

TEXTS = (
    "Ann likes tea, and tea likes ANN.", "Grüße an Zoë: naïve façade", "東京で会う 12345 6 ١٢٣٤",
    "Ελένη İstanbul ẞ", "𐍈𐍉 გამარჯობა ไทย",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_keeps_its_length_and_its_words_their_places(text: str) -> None:
    made = StandIns(b"secret").text(text)
    assert (len(made), size(made)) == (len(text), size(text))
    first, second = words(text), words(made)
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert (one == other) == (one in known_words() or (one.isascii() and one.isdigit() and len(one) < 4))
    assert len(set(first)) == len(set(second))


def test_words_that_mean_something_to_the_memory_stay() -> None:
    text = "She it yesterday: the person created 42."
    assert StandIns(b"secret").text(text) == text


def test_the_same_word_has_the_same_stand_in_and_another_secret_another_one() -> None:
    stand_ins = StandIns(b"secret")
    one, two = stand_ins.text("Zanzibar"), stand_ins.text("zanzibar, ZANZIBAR")
    assert two == f"{one.lower()}, {one.upper()}"
    assert one[0].isupper()
    assert StandIns(b"another").text("Zanzibar") != one
    assert "anzibar" not in one


def test_replies_keep_their_form_and_their_numbers() -> None:
    stand_ins = StandIns(b"secret")
    name = stand_ins.text("Zanzibar")
    reply = '{"entities": [{"name": "Zanzibar", "confidence": 0.98765}]}'
    assert stand_ins.reply(reply) == reply.replace("Zanzibar", name)
    assert stand_ins.reply(f"```{reply[:-1]}").startswith(f'```{{"entities": [{{"name": "{name}"')
    assert stand_ins.reply("[" * 100_000) == "[" * 100_000
    assert (
        stand_ins.reply('["4917612345678", 0.5, 999]') == f'["{stand_ins.text("4917612345678")}", 0.5, 999]'
    )
    assert stand_ins.reply("[4917612345678]") == f"[{int(stand_ins.text('4917612345678'))}]"
    assert stand_ins.reply("[-4917612345678.9, 1e999]").endswith(
        f"{int(stand_ins.text('4917612345678'))}, Infinity]"
    )
    code = f"{ord(stand_ins.text(chr(0xE9))):04x}"
    assert stand_ins.text(r"caf\u00e9\nZanzibar") == rf"{stand_ins.text('caf')}\u{code}\n{name}"


def test_numbers_that_are_counted_stay_and_bytes_that_are_no_text_do_not() -> None:
    stand_ins = StandIns(b"secret")
    assert stand_ins.value((b"-7", b"1234567", 5, None)) == (b"-7", b"1234567", 5, None)
    assert stand_ins.data(b"Zanzibar") == stand_ins.text("Zanzibar").encode()
    raw = bytes(range(128, 256))
    assert len(stand_ins.data(raw)) == len(raw)
    assert stand_ins.data(raw) != raw


def test_vectors_are_turned_so_that_products_stay() -> None:
    one, two = (1, -2, 3, 127), (5, 6, -7, 8)
    turned = StandIns(b"secret").value(Embedded(1, (one, two, (1.5, "x"))))
    assert inner(*turned.vectors[:2]) == inner(one, two)
    assert turned.vectors[0] != one
    assert turned.vectors[2] == (1.5, StandIns(b"secret").text("x"))


def test_a_saved_session_can_be_loaded_in_other_words() -> None:
    tier, info = WorkingTier(), SessionInfo(session_id="ses_d3363bafb44a607274f98c29", last_input="Zanzibar")
    for key in ("aa zanzibar", "bb marzipan", "cc"):
        tier.entries[key] = (f"{key} is kept".encode(), 1_000)
    stand_ins, saved = StandIns(b"secret"), session.encode(tier, info, 0)
    loaded = session.decode(stand_ins.data(saved), 0, Config())
    assert isinstance(loaded, session.Loaded)
    assert loaded.info.last_input == stand_ins.text("Zanzibar")
    assert loaded.tier.entries.keys() == {stand_ins.text(key) for key in tier.entries}
    assert len(stand_ins.data(saved[:-1])) == len(saved) - 1
    assert b"zanzibar" not in stand_ins.data(saved[:-1])


@pytest.mark.parametrize("kind", BODIES)
def test_a_row_is_as_sound_as_it_was(kind: str) -> None:
    """Blocks under other labels, and entries with other ids, stand in another order."""

    @settings(max_examples=30)
    @given(bodies_of(kind))
    def check(body: Body) -> None:
        assert StandIns(b"secret").value(body).is_sound

    check()

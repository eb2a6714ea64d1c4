"""Goal: of talk that no table was made for, the model extracts names, and what it resolves is mostly right.

The talk was labelled before a model had seen it: it is as people chat, not as examples are written.
"""

import json
from pathlib import Path
from typing import Final

import pytest

from tests.worlds import ALICE, SCOPE, Pair
from tools.references import examples, verdict
from umi_core.ids import entity_id, fact_id
from umi_core.language.prompts import ask_extract
from umi_core.messages.effects import Done
from umi_core.messages.requests import GetEntity, Remember, Render
from umi_core.messages.results import Remembered
from umi_core.rows import Ended
from umi_sim.services.model import truth

CHAT: Final = Path(__file__).parent / "chat.jsonl"
RIGHT_OF_RESOLVED_PERCENT_MIN: Final = 80
RIGHT_PERCENT_MIN: Final = 66  # of what can be resolved; the rest is to be left alone
FOUND_PERCENT_MIN: Final = 80
ORDINARY_PERCENT_MAX: Final = 5  # of what is extracted: `Wow`, `Sounds`, `Keep`

# Lines of a chat, and the names in each, `a|b` where either will do.
LINES: Final = (
    ("Wow, that's awesome! Keep it up!", ""),
    ("Hey Mel! Good to see you! How have you been?", "Mel"),
    ("Yeah, Caroline and I went to Boston last Friday.", "Caroline, Boston, Friday"),
    ("Sounds fun. Glad you liked it!", ""),
    ("Joanna wrote a screenplay. Nate loved it.", "Joanna, Nate"),
    ("Thanks, Dave! Appreciate the help.", "Dave"),
    ("Definitely! Nothing beats a day at the beach.", ""),
    ("Been there, done that. Having kids changes everything.", ""),
    ("My sister Priscilla lives in Dundee.", "Priscilla, Dundee"),
    ("I started a new job at Globex last month.", "Globex"),
    ("Congrats on the promotion, Tim!", "Tim"),
    ("Oh, and Marcus says hi.", "Marcus"),
    ("Take care! Talk to you soon.", ""),
    ("Check out this photo. Looks amazing, right?", ""),
    ('We watched "The Matrix" with Kenji.', "The Matrix|Matrix, Kenji"),
    ("Nature is so calming. Being outside helps.", ""),
    ("Remember when we visited Rome?", "Rome"),
    ("Last night I dreamed about Paris.", "Paris"),
    ("Great idea. Let's ask Professor Chen.", "Chen|Professor Chen"),
    ("Dr. Lee moved my appointment.", "Lee|Dr. Lee|Dr Lee"),
    ("Anything new with the Harrisons?", "Harrisons"),
    ("Seeing the Alps was unreal.", "Alps"),
    ("Long time no see! Maybe next week?", ""),
    ("Nice! Where did you buy that?", ""),
    ("Life is good. Work is busy.", ""),
    ("Love it. Got to go now.", ""),
    ("I saw Sofia and Claire at the concert.", "Sofia, Claire"),
    ("Don't worry. Everything will be fine.", ""),
    ("I'm reading Dune by Frank Herbert.", "Dune, Frank Herbert"),
    ("Can you ask Ravi from Initech about it?", "Ravi, Initech"),
    ("Grandma baked cookies.", "Grandma"),
    ("Monday works for me.", "Monday"),
    ("The meeting with Northwind is on Tuesday.", "Northwind, Tuesday"),
    ("Plus, my boss hates emails.", ""),
    ("Stay strong! You got this.", ""),
    ("Kestrel Labs hired three people.", "Kestrel Labs"),
    ("Pixel sleeps on the couch.", "Pixel"),
    ("Same here. Well, see you then.", ""),
    ("Running is my therapy.", ""),
    ("Should I call Kim or Alex?", "Kim, Alex"),
)


def test_what_is_resolved_in_a_chat_is_mostly_right() -> None:
    found = [verdict(one) for one in examples(CHAT.read_text("utf-8"))]
    right, wrong, changed = (found.count(word) for word in ("right", "wrong", "changed"))
    assert right * 100 >= RIGHT_OF_RESOLVED_PERCENT_MIN * (right + wrong + changed)
    assert right * 100 >= RIGHT_PERCENT_MIN * (right + wrong + found.count("unchanged"))


def test_what_is_extracted_from_a_chat_are_its_names() -> None:
    found = expected = ordinary = 0
    for text, names in LINES:
        options = [option.split("|") for option in names.split(", ") if option]
        extracted = [row["name"] for row in json.loads(truth("extract", ask_extract(text)))["entities"]]
        expected += len(options)
        found += sum(any(name in extracted for name in option) for option in options)
        ordinary += sum(not any(name in option for option in options) for name in extracted)
    assert found * 100 >= FOUND_PERCENT_MIN * expected
    assert ordinary * 100 <= ORDINARY_PERCENT_MAX * (found + ordinary)


@pytest.mark.parametrize("text", ["Alice left Acme, now at StartupX", "Alice quit Acme for StartupX"])
def test_a_job_that_ended_is_no_longer_what_is_known_of_a_person(text: str) -> None:
    pair = Pair(model=truth)
    assert isinstance(pair.ask(Remember(1, "Alice works at Acme")), Done)
    changed = pair.ask(Remember(2, text))
    assert isinstance(changed, Done)
    assert isinstance(changed.value, Remembered)
    old = fact_id(SCOPE, (ALICE, entity_id(SCOPE, "Acme")), "Alice works at Acme")
    verdicts = {it.target[0]: (it.kind, it.by) for it in changed.value.relations if it.source == (old, 1)}
    assert old in changed.value.ended
    shown = pair.ask(GetEntity(3, old))
    assert isinstance(shown, Done)
    assert isinstance(shown.value, Ended)
    assert verdicts[shown.value.by] == ("update", "model")


def test_a_self_description_of_an_assistant_becomes_its_persona() -> None:
    pair = Pair(model=truth)
    assert isinstance(pair.ask(Remember(1, "My name is Umi and I help with memory management")), Done)
    shown = pair.ask(Render(2))
    assert isinstance(shown, Done)
    assert '<block type="persona"' in str(shown.value)
    assert "I help with memory management" in str(shown.value)

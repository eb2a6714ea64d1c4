"""A step of one's own: facts of a text are stored without numbers that look like those of a card."""

import re

from msgspec import structs

from umi_core.engine.workflow import Learned
from umi_core.workflows import BUILT_IN
from umi_core.workflows.memorize import STATEMENTS, take_statements
from umi_live import open_blocking

CARD = re.compile(r"\b(?:\d[ -]?){13,19}\b")
GATHER = next(step for step in BUILT_IN.at("memorize").steps if step.id == "gather")


def take_sanitised(facts, answer, view):
    learned = take_statements(facts, answer, view)
    pairs = [(it, CARD.sub("[number]", it.mention.content)) for it in learned.facts[STATEMENTS.name]]
    told = tuple(structs.replace(it, mention=structs.replace(it.mention, content=text)) for it, text in pairs)
    return Learned(STATEMENTS(told), shapes=learned.shapes)


registry = BUILT_IN.replace("memorize", "gather", structs.replace(GATHER, id="sanitise", take=take_sanitised))
with open_blocking("step.db", user="ann", agent="helper", registry=registry) as memory:
    memory.memorize("Ann pays with 4111 1111 1111 1111. Ann likes tea.", uri="talk")
    print(*(fact.content for fact in memory.entities()), sep="\n")

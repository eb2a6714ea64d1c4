"""Who speaks and who is spoken to, in a rewrite as in its query (M13.8).

After `I left my charger` the one who said that may ask `Is my charger there?`; anybody else asks for `your
charger`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from umi_core.values import Turn
from umi_sim.judge.plain.text import words

ME: Final = "i me myself ich mich mir yo 我".split()
MY: Final = "my mine mein meine meinen meinem meiner meines mi mis mío mía".split()
WE: Final = "we us ourselves wir uns nosotros nosotras".split()
OUR: Final = "our ours unser unsere unseren unserem unserer unseres nuestro nuestra nuestros nuestras".split()
YOU: Final = "you yourself yourselves du dich dir euch tú usted ustedes 你 您".split()
YOUR: Final = "your yours dein deine deinen deinem deiner deines euer eure euren eurem eurer tu tus".split()
PERSONS: Final = (ME, MY, WE, OUR, YOU, YOUR)
MEANS: Final = (  # what somebody says, and what the one who asks may call it
    (ME, YOU), (MY, YOUR), (WE, WE), (WE, YOU), (OUR, OUR), (OUR, YOUR), (YOU, ME), (YOU, WE), (YOUR, MY),
    (YOUR, OUR),
)  # fmt: skip

Said = tuple[list[str], str]  # the words for a person, and the word that follows


def is_another_person(rewrite: str, query: str, turns: Sequence[Turn]) -> bool:
    asked, told = list(said_in(query)), list(said_in(rewrite))
    waiting = [person for person, _ in asked]
    for person, _ in told:
        if waiting and waiting[0] is person:
            waiting.pop(0)
    if waiting:
        return True
    known = asked + [said for turn in turns for said in seen_by_asker(turn)]
    return any(
        count(told, person) > count(asked, person) and (person, follower) not in known
        for person, follower in told
    )


def said_in(text: str) -> Iterator[Said]:
    line = words(text)
    for place, word in enumerate(line):
        person = next((some for some in PERSONS if word in some), None)
        if person is not None:
            yield person, line[place + 1] if place + 1 < len(line) else ""


def seen_by_asker(turn: Turn) -> Iterator[Said]:
    for person, follower in said_in(turn.text):
        if turn.role == "user":
            yield person, follower
        else:
            yield from ((mine, follower) for theirs, mine in MEANS if theirs is person)


def count(some: list[Said], person: list[str]) -> int:
    return len([said for said in some if said[0] is person])

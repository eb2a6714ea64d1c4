"""Dialogue: questions after a part of a conversation, and the turns that a recall passes with them.

Law 1. A question is passed with turns before it, never with its answer. Some questions are about a short
scene instead, in which people, places and things are close to each other.
"""

from collections.abc import Sequence
from typing import Final

from umi_core.limits import TURN_COUNT_MAX
from umi_core.values import Turn
from umi_sim.formats.transcripts import TurnLine
from umi_sim.kernel.prng import Stream
from umi_sim.services.model.languages import language_of
from umi_sim.workload.pools import some_words

RECENT_COUNT: Final = 5  # last turns, of which a question may be asked again
ASKED: Final = (1, 2)  # share of recalls that are questions, and of questions taken from the talk
OF_SCENES: Final = (1, 3)  # share of recalls that are about a scene
ABOUT_COUNT: Final = 3  # last turns whose language a question has
QUESTION_MARKS: Final = ("?", "？", "؟")
ASKING: Final = {  # questions whose meaning depends on the turns before
    "en": (
        "Where does he live now?", "What does she like?", "Where do they work?", "Who told her about that?",
        "Is it ready?", "When is his meeting?", "What is the problem with it?", "Did they go there together?",
        "What did he say about this before?", "Does she still have the same one?",
    ),
    "de": (
        "Wo arbeitet er jetzt?", "Was mag sie?", "Wer hat ihm davon erzählt?", "Was sagt sie darüber?",
        "Wann fährt er dort hin?", "Was ist mit diesem Problem?", "Kennt er ihre Pläne?",
        "Wer hilft ihr dabei?",
    ),
    "es": (
        "¿Dónde vive ella ahora?", "¿Qué dijo él sobre eso?", "¿Cuándo es su reunión?", "¿Quién está allí?",
        "¿Trabaja él todavía con ella?", "¿Qué problema tiene esto?", "¿Les gusta a ellos lo mismo?",
    ),
    "zh": (
        "他现在住在哪里？", "她喜欢这个吗？", "他们什么时候去那里？", "它怎么样了？", "她昨天说了什么？",
        "这件事是谁说的？", "那个多少钱？",
    ),
}  # fmt: skip

# Scenes of three turns, the first by the user, and questions about each. Some pronouns fit several names.
SCENES: Final = (
    (("My sister Anna works at the bakery on Mill Street.", "Since when?", "Since May. Her boss is strict."),
     ("Where does she work?", "Does she like it there?", "When did she start there?", "What did he say?")),
    (("Tom sold the old car to Laura.", "For how much?", "Two thousand, and she wants it today."),
     ("Where does she live?", "Is it ready?", "Did he keep the keys?", "Which one was it?", "And Laura?")),
    (("The login bug is back.", "Did James see it?", "Yes, he fixes that bug tomorrow."),
     ("Who fixes that bug?", "What did he say about it?", "When does he work on it?", "Why?")),
    (("We booked the hotel in Porto.", "Is Daniel coming, too?", "No, his mother is ill."),
     ("How is she?", "Is it cold there?", "How far is it?", "What does his mother have?")),
    (("Jonas war gestern in Berlin.", "Was macht er da?", "Er sucht eine Wohnung, Petra hilft ihm."),
     ("Wo wohnt er jetzt?", "Hilft sie ihm?", "Ist es dort kalt?", "Wie ist ihre Adresse?", "Und Petra?")),
    (("Carmen vive en Lima.", "¿Y su hermano?", "Miguel arregló el coche de Raquel."),
     ("¿Dónde vive ella?", "¿Cuál es su dirección?", "¿Qué dijo él?", "¿Hace calor allí?")),
    (("王伟去上海了。", "他去做什么？", "他在那里买自行车。"),
     ("他什么时候去？", "那里冷吗？", "他的工资高吗？", "它多少钱？")),
)  # fmt: skip


def turns_of(spoken: Sequence[TurnLine]) -> tuple[Turn, ...]:
    """Return turns as a memory gets them: the first speaker of a session gets the role of the user."""
    openers = dict[str | None, str]()
    for line in spoken:
        openers.setdefault(line.session, line.speaker)
    roles = ("assistant", "user")
    return tuple(Turn(roles[line.speaker == openers[line.session]], line.text) for line in spoken)


def make_question(talk: Sequence[Turn], count: int, stream: Stream) -> dict[str, object]:
    """Return a query after the first `count` turns: words of one, a question of the talk, or of ASKING."""
    shown_count = stream.between(0, TURN_COUNT_MAX)
    earlier = some_words(stream, talk[stream.below(count)].text)
    if not stream.chance(*ASKED):
        return {"query": earlier, "turns": last_turns(talk, count, shown_count)}
    # The newest turn that is a question. Only turns before it are passed, so never its answer (law 1).
    recent = range(count - 1, max(0, count - RECENT_COUNT) - 1, -1)
    at = next((at for at in recent if talk[at].text.rstrip().endswith(QUESTION_MARKS)), None)
    if stream.chance(*ASKED) and at is not None:
        return {"query": talk[at].text, "turns": last_turns(talk, at, shown_count)}
    context = " ".join(turn.text for turn in last_turns(talk, count, ABOUT_COUNT))
    return {"query": stream.pick(ASKING[language_of(context)]), "turns": last_turns(talk, count, shown_count)}


def make_recall(talk: Sequence[Turn], count: int, stream: Stream) -> dict[str, object]:
    """Return a query after the first `count` turns of a talk, or one about a scene."""
    if not stream.chance(*OF_SCENES):
        return make_question(talk, count, stream)
    spoken, asked = stream.pick(SCENES)
    roles = ("user", "assistant", "user")
    scene = tuple(Turn(role, text) for role, text in zip(roles, spoken, strict=True))
    return {"query": stream.pick(asked), "turns": scene}


def last_turns(talk: Sequence[Turn], end: int, count: int) -> tuple[Turn, ...]:
    """Return at most `count` turns before the turn number `end`."""
    return tuple(talk[max(0, end - count) : end])

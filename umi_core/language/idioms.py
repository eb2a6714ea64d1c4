"""Idioms: phrases that hold a term and refer to nothing: `Is there a cache?`, `Is it true that cats sleep?`

A row lists patterns. In a pattern a word stands for itself, `a/b` for either, `[a]` for the word or nothing,
`*` for any one word; `^` stands behind a mark in mid-text, `$` before a mark or the end. No mark stands
inside. What has a letter outside ASCII stands apart, since a text in ASCII is not searched for it.
The table is frozen: a changed idiom changes recorded runs.
"""

from typing import Final

BE: Final = "is/are/was/were/isn/aren/wasn/weren"
DAYS: Final = (
    "monday/tuesday/wednesday/thursday/friday/saturday/sunday/january/february/march/april/may/june/july/"
    "august/september/october/november/december"
)
SURE: Final = "true/possible/impossible/ok/okay/fine/normal/necessary/rude/weird/likely/wrong"
TAGE: Final = "montag/dienstag/mittwoch/donnerstag/freitag/samstag/sonnabend/sonntag"
DIAS: Final = "lunes/martes/jueves/viernes/domingo"
HARD: Final = "hard/easy/difficult/nice/good/great/safe/fun/better"

IDIOM_ROWS: Final = (
    # It exists.
    f"there {BE}/be/been, {BE}/be/will/would/can/could/should/must/might/may/has/have/had/hasn/haven there",
    "hi/hey/hello there",
    # This is now.
    f"this {DAYS}",
    "this week/weekend/month/year/morning/afternoon/evening/spring/summer/autumn/fall/winter/time",
    "these days",
    f"diesen {TAGE}/monat/morgen/abend/sommer/herbst/winter, diese woche/nacht, dieses jahr/mal/wochenende",
    f"este {DIAS}/mes/verano/invierno/fin, esta semana/noche/tarde/vez/primavera",
    "diesen frühling, dieses frühjahr, este miércoles/sábado/año/otoño, esta mañana",
    "el otro día, la otra noche/tarde/vez, 这个月, 这个星期, 这个周末, 这个学期",
    # Those of whom only the rest of the sentence tells.
    "those [*] [*] who/that/which, that * that/which/who",
    # `It` of the weather, of time, and for what follows.
    "it [*] [*] rain/rains/raining/rained/snow/snows/snowing/snowed",
    "what time/day/date/year/month is/was it, it far from/to",
    f"it [is/was] [already/still/only/just/almost] {DAYS}",
    "it [is/has] been a/ages/years/weeks/months/days/so/too/since, it take/takes/took [*] [*] to",
    f"it [is/was/be] [*] {SURE} to/that/if, it [is/was/be] [*] {HARD} to * a/an/the/my/your/our",
    "it [is/was/be] [*] nice/good/great/lovely to hear/see/meet/talk/have/know, it be that",
    "is/was it [*] who/that, it is/was [*] who/that, it * who",
    "how * is/was it to, it [*] like to, it feel/feels/felt to, it matter/matters, it just me, is it me",
    "whose turn is/was it, is that so",
    "it seems/turns/depends/looks [like]",
    "make/made/making it to/home/back, how [is/was] it going, take it easy",
    # Tags.
    f"^ {BE}/don/doesn/didn/hasn/haven/hadn/won/can/couldn/wouldn/shouldn it/he/she/they/there $",
    "其他, 其它, 吉他",
)

# Verbs that help another; what stands before a `that` that points; what opens a clause behind one that does
# not.
HELPING: Final = frozenset(
    """is are was were be been being do does did has have had can could will would shall should may might must
    isn aren wasn weren don doesn didn es está son era""".split()
)
POINTING: Final = HELPING | frozenset(
    """about of with for from to in on at by like than as into over and or but
    what why how when where who which not just""".split()
)
OPENING: Final = frozenset(
    """i you we he she it they there the a an my your our his her their is are was were has have had do does
    did can could will would should may might must""".split()
)
DETERMINERS: Final = frozenset("the a an any some no every my your our his her their its".split())
INDEFINITE: Final = frozenset(
    """anything something nothing everything anybody somebody nobody everybody anyone someone everyone one
    ones all""".split()
)

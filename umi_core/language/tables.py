"""Tables of words: data that the specification names, and that memory and judge both read.

Nothing here decides. Each table is frozen: a changed word changes recorded runs.

A row of IDIOM_ROWS lists patterns. In a pattern a word stands for itself, `a/b` for either, `[a]` for
the word or nothing, `*` for any one word; `^` stands behind a mark in mid-text, `$` before a mark or the
end. No mark stands inside. What has a letter outside ASCII stands apart, since a text in ASCII is not
searched for it.
"""

from typing import Final

STOP_WORDS: Final = frozenset(
    """a about am an and any are as at be been being but by can could did do does for from had
    has have how i if in into is just me my no not of on or our should so some than the then to
    up us was we were what when where which who whom whose why will with would you your""".split()
)

# Characters that a search takes for others, beside case, width and accents: letters that other keyboards
# lack, apostrophes, and the stroke that only lengthens an Arabic word.
FOLDED_CHARACTERS: Final = {
    "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th",
    "’": "'", "ʼ": "'", "ʻ": "", "ـ": "",
}  # fmt: skip

# Code points, first and last: scripts that are written without spaces, and Hangul, whose words carry their
# particles; halves of flags; and what only selects a form of the character before it.
DENSE_SCRIPTS: Final = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x1950, 0x19DF),
    (0x1A20, 0x1AAF), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x31BF), (0x31F0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA980, 0xA9FF), (0xAA60, 0xAADF), (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
FLAG_HALVES: Final = ((0x1F1E6, 0x1F1FF),)
SELECTORS: Final = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))

# Marks that end a sentence though no white space follows: of scripts that write nothing else in this way.
FULL_STOPS: Final = "。｡！？؟۔।॥։።፧။។៕"

NAME_PRONOUNS: Final = frozenset(  # alone or together no names
    """he him his himself she her hers herself it its itself they them their theirs themselves
    i me my you your we us our""".split()
)

IDLE: Final = NAME_PRONOUNS | frozenset(
    """also bye evening good goodbye hello here hey hi morning night now oh ok okay please really right sorry
    sure thank thanks that there these this those too very welcome well yeah yes""".split()
)

# Words that may come and go with a phrase of that language. Those of English are stop words already.
LIGHT_WORDS: Final = {
    "en": frozenset[str](),
    "de": frozenset(
        """der die das den dem des ein eine einen einem einer eines im am zum zur vom beim ins ans an auf
        aus bei für gegen in mit nach über um von zu und""".split()
    ),
    "es": frozenset("el la los las un una unos unas a al de del e en con por para que sobre y".split()),
    "zh": frozenset("的在和了是"),
}

# Words by which a language is known, beside its light words and its pronouns.
MARKS: Final = {
    "en": STOP_WORDS
    | frozenset(
        """he him his she her it its they them their this that these those there here
        again before earlier don doesn didn isn wasn aren""".split()
    ),
    "de": LIGHT_WORDS["de"]
    | frozenset(
        """er ihn ihm sie ihr ihre ihren ihrem ihrer ihnen sein seine diese dieser dieses diesen diesem dort
        darüber davon dazu daran dafür damit gestern es ich du wir mir mich dir dich mein meine dein deine
        ist sind war hat habe hast haben wird kann kannst was wer wie wo wann warum nicht noch schon auch
        so""".split()
    ),
    "es": LIGHT_WORDS["es"]
    | frozenset(
        """él ella ellos ellas su sus esto eso este esta estos estas ese esa ahí allí ayer yo tú me te se lo
        le nos mi tu es está son ha han hay qué quién cómo cuándo dónde cuánto no ya muy otra""".split()
    ),
}

# Marks that are also names (Ella, Su) or open like one: with a capital they say nothing of the language.
MAYBE_NAMES: Final = frozenset("er sie ella su sus este esta ese esa dies".split())

PERSON_ROWS: Final = (
    ("i", "i me myself ich mich mir yo 我"),
    ("my", "my mine mein meine meinen meinem meiner meines mi mis mío mía"),
    ("we", "we us ourselves wir uns nosotros nosotras"),
    ("our", "our ours unser unsere unseren unserem unserer unseres nuestro nuestra nuestros nuestras"),
    ("you", "you yourself yourselves du dich dir euch tú usted ustedes 你 您"),
    ("your", "your yours dein deine deinen deinem deiner deines euer eure euren eurem eurer tu tus"),
)

SAID_BY_OTHERS: Final = {  # what the asker may call it
    "i": ("you",), "my": ("your",), "we": ("we", "you"), "our": ("our", "your"), "you": ("i", "we"),
    "your": ("my", "our"),
}  # fmt: skip

# The terms by language. Words that mostly refer to nothing are left out: German "es", Spanish "lo" and "el".
# English is as in M13.4.
TERM_ROWS: Final = (
    # Pronouns.
    ("en", "he, him, his, himself, she, her, hers, herself, it, its, itself, they, them, their, theirs, "
           "themselves"),
    ("de", "er, ihn, ihm, sie, ihr, ihre, ihren, ihrem, ihrer, ihres, ihnen, sein, seine, seinen, seinem, "
           "seiner, seines"),
    ("es", "él, ella, ellos, ellas, su, sus"),
    ("zh", "他, 她, 它, 他们, 她们, 它们"),
    # Demonstratives.
    ("en", "this, that, these, those, here, there"),
    ("de", "dies, diese, dieser, dieses, diesen, diesem, dort, dorthin, dahin, darüber, davon, dazu, daran, "
           "dafür, damit, darauf, dabei, danach, darin, daraus, dagegen"),
    ("es", "esto, eso, aquello, este, esta, estos, estas, ese, esa, esos, esas, aquel, aquella, ahí, allí, "
           "allá"),
    ("zh", "这个, 那个, 这些, 那些, 这件事, 那件事, 这里, 那里, 这儿, 那儿"),
    # Temporal.
    ("en", "earlier, before, previously, yesterday, recently, again, last time, just now"),
    ("de", "vorher, gestern, neulich, letztes mal"),
    ("es", "ayer, anteriormente, otra vez, la última vez"),
    ("zh", "昨天, 之前, 上次"),
    # Implicit.
    ("en", "the same, similar, like before, as usual, the other, another one, the first one, the second one, "
           "the third one, the last one, the issue, the problem, "
           "the error, the bug, the feature, the method, the function, the file, "
           "the code"),
    ("de", "dasselbe, das gleiche, wie üblich, der andere, die andere, das andere, die anderen, "
           "das problem, der fehler"),
    ("es", "lo mismo, como siempre, el otro, la otra, los otros, las otras, el problema, el error"),
    ("zh", "一样的, 另一个, 那个问题, 这个问题"),
)  # fmt: skip

# Behind one of these may stand a noun that says the same: `this initiative`.
BEFORE_NOUN: Final = frozenset(
    """this that these those diese dieser dieses diesen diesem este esta estos estas ese esa esos esas
    这个 那个 这些 那些""".split()
)

TRIGGERS: Final = frozenset(
    """who what when where why how
    yesterday today last recent before after week month year
    similar like connections associated linked related about regarding involving connected""".split()
)

NO_KEYWORDS: Final = STOP_WORDS | frozenset(
    """the a an is are was were be been being have has had do does did will would could should may might must
    shall can need dare ought used to of in for on with at by from as into through during before after above
    below between under again further then once here there when where why how all each few more most other
    some such no nor not only own same so than too very just also now i you he she it we they what which this
    that these those am and but if or because until while although though""".split()
)

TECHNICAL: Final = frozenset(  # short ones count as words too, and all of them count twice
    """python javascript typescript rust go java api database sql nosql redis postgres docker kubernetes aws
    gcp azure terraform git github gitlab ci cd pipeline test testing pytest unittest mock async await
    concurrent parallel thread cache memory performance optimization security authentication authorization
    oauth frontend backend fullstack microservice react vue angular fastapi django flask""".split()
)

TYPE_ALIASES: Final = {"org": "organization", "place": "location", "meeting": "event"}

FACT_TAGS: Final = frozenset(
    """memory memories item items profile profiles behavior behaviors event events knowledge skill skills
    tool tools""".split()
)  # H4.10: a reply with one of these tags is an answer

CHARACTER_NAMES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

# Phrases that hold a term and refer to nothing.
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
    # Pronouns that the rest of the sentence explains.
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
CLAUSE_OPENING: Final = frozenset(
    """i you we he she it they there the a an my your our his her their is are was were has have had do does
    did can could will would should may might must""".split()
)
DETERMINERS: Final = frozenset("the a an any some no every my your our his her their its".split())
INDEFINITE: Final = frozenset(
    """anything something nothing everything anybody somebody nobody everybody anyone someone everyone one
    ones all""".split()
)

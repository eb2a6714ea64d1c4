"""Tables of words: data that the specification names, and that memory and judge both read.
This file has only tables. Each of them is frozen: a changed word changes recorded
runs. A row of IDIOM_ROWS lists patterns. In a pattern a word matches itself,
`a/b` either word, `[a]` the word or nothing, `*` any one word. `^` demands a mark
before the pattern, `$` a mark or the end of the text after it, `<` the beginning
of a sentence. An idiom never matches across a mark. Patterns with letters outside
ASCII have rows of their own, because a text in ASCII is not searched for them."""

from typing import Final

STOP_WORDS: Final = frozenset(
    """a about am an and any are as at be been being but by can could did do does for from had
    has have how i if in into is just me my no not of on or our should so some than the then to
    up us was we were what when where which who whom whose why will with would you your""".split()
)

GERMAN_MONTHS: Final = tuple(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember".split()
)

# Characters that a search replaces, besides case, width and accents: letters that other keyboards lack,
# apostrophes, and the stroke that only lengthens an Arabic word.
FOLDED_CHARACTERS: Final = {
    "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th",
    "’": "'", "ʼ": "'", "ʻ": "", "ـ": "",
}  # fmt: skip

# Ranges of code points: scripts without spaces, and Hangul, which joins particles to words; halves of flags;
# and selectors of a variant of the character before.
DENSE_SCRIPTS: Final = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x1950, 0x19DF),
    (0x1A20, 0x1AAF), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x31BF), (0x31F0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA980, 0xA9FF), (0xAA60, 0xAADF), (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
FLAG_HALVES: Final = ((0x1F1E6, 0x1F1FF),)
SELECTORS: Final = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))

# Marks that end a sentence even without white space after them; their scripts use them for nothing else.
FULL_STOPS: Final = "。｡！？؟۔।॥։።፧။។៕"

# Abbreviations after which a sentence always goes on, such as titles before a name.
TITLES: Final = tuple(
    """M Mr Mrs Ms Mx Dr Prof St Rev Capt Lt Sgt Gov Sen Rep mr mrs dr Hr Herrn Mme Mlle Sr Sra Srta Dra Sig
    Dott Dhr Mevr dhr mevr""".split()
)
ABBREVIATIONS: Final = frozenset(TITLES) | frozenset(
    "Mt e.g E.g i.e I.e vs cf ca approx z.B Z.B d.h u.a bzw inkl zzgl bijv ул т.е".split()
)
# Abbreviations after which a sentence goes on if a lower-case letter or a digit follows.
SHORT_FORMS: Final = frozenset(
    """etc al Inc Ltd Co Corp Jr No Nr Vol Fig Ch Art Abs Kap pp Tel tel Ext ext Apt Ave Blvd Rd Str
    Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Okt Dez Mon Tue Tues Wed Thu Thurs Fri Sat Sun
    min max sec hr hrs yr yrs mo dept est usw ggf evtl Std Min""".split()
)
# German words after which a number with a full stop is an ordinal: `im 3. Stock`.
ORDINAL_WORDS: Final = frozenset("im der die das dem den des mein meine unser unsere".split())
# Words that may follow the letters of a state or city: `the U.S. Army`. Few of them begin a sentence.
STATE_WORDS: Final = """
    Air Ambassador Army Attorney Border Capitol Census Citizenship Coast Commission Congress
    Constitution Consulate Council County Customs Department Dollar Embassy Federal Forest
    Government Immigration Marine Marines Military Ministry National Navy Olympic Open Parliament
    Passport Patent Postal President Secret Secretary Security Senate Senator Soccer Steel Supreme
    Treasury Virgin""".split()

NAME_PRONOUNS: Final = frozenset(  # alone or together no names
    """he him his himself she her hers herself it its itself they them their theirs themselves
    i me my you your we us our""".split()
)

IDLE: Final = NAME_PRONOUNS | frozenset(
    """also bye evening good goodbye hello here hey hi morning night now oh ok okay please really
    right sorry sure thank thanks that there these this those too very welcome well yeah yes""".split()
)

DENIALS: Final = frozenset(  # words of some twenty languages that deny something
    """not no never none nobody nothing neither nor cannot without dont doesnt didnt isnt arent wasnt
    cant wont couldnt wouldnt shouldnt hasnt havent nicht nichts nie niemals niemand kein keine keinen
    keinem keiner keines ohne weder niet niets nooit geen zonder ne n pas jamais rien aucun aucune
    sans ni nunca jamás nada nadie ningún ninguno ninguna sin tampoco non mai niente nulla nessuno
    nessuna senza né não nem ninguém nenhum nenhuma sem inte ingen inget inga aldrig ikke aldri ei
    nigdy nic nikt bez не нет нету никогда ничего никто нельзя без ні немає değil yok hayır नहीं मत না
    নেই لا ليس ليست لم لن نیست לא אין δεν μην όχι 안 못 않 不 没 沒 無 无 未 không chẳng tidak
    bukan""".split()
)

# Words that a rewrite may add or drop, by language. Those of English are stop words already.
LIGHT_WORDS: Final = {
    "en": frozenset("don doesn didn isn aren wasn weren haven hasn hadn won couldn wouldn shouldn".split()),
    "de": frozenset(
        """der die das den dem des ein eine einen einem einer eines im am zum zur vom beim ins ans
        an auf aus vor hinter neben unter zwischen durch seit bei für gegen in mit nach
        über um von zu und es hin""".split()
    ),
    "es": frozenset(
        "el la los las un una unos unas a al de del e en con por para que sobre y se le les qué cuál".split()
    ),
    "fr": frozenset(
        """le la les l un une des du de d au aux à en dans sur pour par avec chez et t que qu est
        ce c y quel quelle quels quelles""".split()
    ),
    "zh": frozenset("的在和了是"),
}

# Words that mark a language, besides its light words and pronouns.
MARKS: Final = {
    "en": STOP_WORDS
    | frozenset(
        """he him his she her it its they them their this that these those there here
        again before earlier don doesn didn isn wasn aren""".split()
    ),
    "de": LIGHT_WORDS["de"]
    | frozenset(
        """er ihn ihm sie ihr ihre ihren ihrem ihrer ihnen sein seine diese dieser dieses diesen
        diesem dort darüber davon dazu daran dafür damit gestern es ich du wir mir mich dir dich
        mein meine dein deine ist sind war hat habe hast haben wird kann kannst was wer wie wo wann
        warum nicht noch schon auch so""".split()
    ),
    "es": LIGHT_WORDS["es"]
    | frozenset(
        """él ella ellos ellas su sus esto eso este esta estos estas ese esa ahí allí ayer yo tú me
        te se lo le nos mi tu es está son ha han hay qué quién cómo cuándo dónde cuánto no ya muy
        otra""".split()
    ),
    "fr": LIGHT_WORDS["fr"]
    | frozenset(
        """il elle ils elles lui leur son sa ses cette cet ces ça cela celui celle je j tu nous
        vous on me moi toi mon ma mes ton ta tes notre votre ne pas sont était ont ai
        qui quoi où quand comment pourquoi combien quel quelle quels quelles là ici hier
        aussi très déjà encore laquelle lequel a autre même sait dit fait va vont faut
        avez avons êtes suis sera seront avait peut veut doit été""".split()
    ),
}

# Marks that are also names (Ella, Su) or begin like one: with a capital they do not mark the language.
MAYBE_NAMES: Final = frozenset("er sie ella su sus este esta ese esa dies elle".split())

PERSON_ROWS: Final = (
    ("i", "i ich yo je j 我"),
    ("me", "me myself mich mir m moi"),
    ("my", "my mine mein meine meinen meinem meiner meines mi mis mío mía mon ma mes"),
    ("we", "we wir nosotros nosotras nous"),
    ("us", "us ourselves uns"),
    (
        "our",
        "our ours unser unsere unseren unserem unserer unseres nuestro nuestra nuestros nuestras notre nos",
    ),
    ("you", "you yourself yourselves du dich dir euch tú usted ustedes toi vous 你 您"),
    (
        "your",
        "your yours dein deine deinen deinem deiner deines euer eure euren eurem eurer tu tus ton ta tes "
        "votre vos",
    ),
    (
        "not",
        "not no never none nobody nothing neither nor cannot without nicht nichts nie niemals niemand "
        "kein keine keinen keinem keiner keines ohne pas jamais rien aucun aucune sans nunca nada nadie "
        "ningún ninguno ninguna sin tampoco 不 没 無 无 未",
    ),
)

SAID_BY_OTHERS: Final = {  # what the asker may call it
    "i": ("you",), "me": ("you",), "my": ("your",), "we": ("we", "you"), "us": ("us", "you"),
    "our": ("our", "your"), "you": ("i", "we", "me", "us"), "your": ("my", "our"), "not": ("not",),
}  # fmt: skip

# The terms by language. Words that are rarely references are left out: German "es", Spanish "lo" and "el".
# M13.4 lists those of English.
TERM_ROWS: Final = (
    # Pronouns.
    ("en", "he, him, his, himself, she, her, hers, herself, it, its, itself, they, them, their, theirs, "
           "themselves"),
    ("de", "er, ihn, ihm, sie, ihr, ihre, ihren, ihrem, ihrer, ihres, ihnen, sein, seine, seinen, seinem, "
           "seiner, seines"),
    ("es", "él, ella, ellos, ellas, su, sus"),
    ("fr", "il, ils, elle, elles, lui, leur, leurs, son, sa, ses, eux"),
    ("zh", "他, 她, 它, 他们, 她们, 它们"),
    # Demonstratives.
    ("en", "this, that, these, those, here, there"),
    ("de", "dies, diese, dieser, dieses, diesen, diesem, dort, dorthin, dahin, darüber, davon, dazu, daran, "
           "dafür, damit, darauf, dabei, danach, darin, daraus, dagegen, dahinter, davor, dadurch, daneben, "
           "darunter, dazwischen, drüber, drin, dran, drauf, jene, jener, jenes, jenen, jenem, da, "
           "deren, dessen"),
    ("es", "esto, eso, aquello, este, esta, estos, estas, ese, esa, esos, esas, aquel, aquella, "
           "aquellos, aquellas, ahí, allí, "
           "allá, lo"),
    ("fr", "dedans, dessus, ça, cela, ceci, cette, cet, ces, celui, celle, ceux, celles, celui-ci, celle-ci, "
           "celui-là, celle-là, ceux-là, celles-là, là, là-bas"),
    ("zh", "这个, 那个, 这些, 那些, 这件事, 那件事, 这里, 那里, 这儿, 那儿, 这边, 那边, 对方, 这样, 那样, "
           "这是, 那是, 那次, 这次, 那种, 这种"),
    # Temporal.
    ("en", "earlier, before, previously, yesterday, recently, again, last time, just now, "
           "back then, by then, "
           "since then, until then"),
    ("de", "vorher, gestern, neulich, letztes mal, damals, seitdem, an dem tag, an dem abend, zu der zeit, "
           "in der zeit, in dem jahr, in der woche"),
    ("es", "ayer, anteriormente, otra vez, la última vez, entonces"),
    ("fr", "hier, la dernière fois, à l'époque"),
    ("zh", "昨天, 之前, 上次, 当时, 那时, 那时候"),
    # Implicit.
    ("en", "both, the same, similar, like before, as usual, the other, another one, the first one, "
           "the second one, "
           "the third one, the last one, the issue, the problem, "
           "the error, the bug, the feature, the method, the function, the file, "
           "the code"),
    ("de", "beide, beides, ersterer, erstere, ersteres, letzterer, letztere, letzteres, solche, solcher, "
           "solches, solchen, dasselbe, derselbe, dieselbe, denselben, demselben, dieselben, "
           "das gleiche, der gleiche, "
           "die gleiche, den gleichen, wie üblich, der andere, die andere, das andere, die anderen, "
           "den anderen, die beiden, den beiden, das problem, der fehler"),
    ("es", "ambos, ambas, tanto, lo mismo, el mismo, la misma, al mismo, del mismo, los mismos, "
           "las mismas, como siempre, "
           "el otro, la otra, los otros, las otras, el problema, el error"),
    ("fr", "le même, la même, les mêmes, la même chose, comme d'habitude, l'autre, les autres, "
           "laquelle, lequel, lesquels, lesquelles, laquelle des deux, lequel des deux, "
           "le problème, l'erreur"),
    ("zh", "前者, 后者, 他们俩, 她们俩, 一样的, 同样的, 同一个, 同一家, 另一个, 那个问题, 这个问题"),
)  # fmt: skip

# Terms that may be followed by a noun with the same meaning: `this initiative`.
BEFORE_NOUN: Final = frozenset(
    """this that these those diese dieser dieses diesen diesem este esta estos estas ese esa esos
    esas cette cet ces ce 这个 那个 这些 那些""".split()
)

# Articles. They are references if no noun follows (`Kann sie das?`, `il la vend`), or if a noun follows that
# the turns have (`the boss`).
ARTICLES: Final = {
    "en": frozenset(["the"]),
    "de": frozenset("""der die das den dem welcher welche welches welchen welchem""".split()),
    "es": frozenset("el la los las otro otra otros otras".split()),
    "fr": frozenset("le la les l".split()),
}
# Articles that may be followed by no noun, and the words that may replace it; in German any adjective may.
NOUNLESS_ARTICLES: Final = {
    "en": frozenset(["the"]),
    "de": frozenset("der die das den dem ein eine einen einem einer".split()),
    "es": frozenset("el la los las al del".split()),
    "fr": frozenset("le la les au du aux des un une".split()),
}
NOUNLESS: Final = frozenset(
    """former latter first second third last others two three both zwei drei beiden primero primera segundo
    segunda tercero tercera último última dos tres mismo misma suyo suya premier première second
    seconde deuxième troisième dernier dernière deux trois sien sienne siens siennes mien mienne""".split()
)
ADJECTIVE_ENDINGS: Final = {"de": ("e", "en", "er", "es", "em")}
# Chinese: characters that point at something or count it, numerals, and measure words.
POINTING_CHARACTERS: Final = frozenset("那这第两另")
NUMERALS: Final = frozenset("一二三四五六七八九十两几")
NO_NOUN_CHARACTERS: Final = frozenset("是的在了和有吗呢都也能会要多哪谁离还为怎什几好贵被把让给对比")
RANKED: Final = frozenset("次章期天年月周段集篇首句层场层级")  # `第三章` needs no turn
MEASURES: Final = frozenset(
    "个家辆本位台部张条只座间所份次种场款件期天年月周段章套项篇首句支把块层杯瓶顿站门群批道"
)
OTHERS: Final = frozenset("otro otra otros otras".split())
ONES: Final = frozenset(["one", "ones"])
POINTERS: Final = frozenset("the which this that".split())
NO_POINTERS: Final = frozenset("no any every some each number to for".split())
# Words before and after an article of Spanish or French that show that it is a pronoun.
BEFORE_CLITIC: Final = {
    "es": frozenset("se me te nos no ya quién cuándo dónde".split()),
    "fr": frozenset("je j tu il elle on nous vous ils elles ne n me m te t se s qui".split()),
}
BEHIND_CLITIC: Final = {
    "es": frozenset(
        "he has ha hemos han había quiere quiero puedo puede tiene tengo va voy para con por en y más".split()
    ),
    "fr": frozenset("a ai as avons avez ont avait avais aura".split()),
}
# Words that may follow `one` if it is no number; so may the end of the text or a mark.
NARROWING: Final = frozenset(  # behind a noun: it is told there which one is meant
    """of from in at on with for about near who that which whose where to von aus in im am an auf
    bei beim mit für zu zum zur über de del en con para sobre que du des d à au dans chez pour avec
    qui où""".split()
)
# Nouns that need no antecedent, because there is only one (`the sun`); and nouns that may replace others.
UNIQUE: Final = frozenset(
    """sun moon sky world earth weather internet news time day night week month year morning
    evening afternoon weekend future past police government president capital way rest end
    beginning same first last next other sonne mond himmel welt erde wetter polizei regierung
    hauptstadt tag nacht woche monat jahr zeit sol luna cielo mundo tierra tiempo policía gobierno
    presidente día noche semana mes año vez soleil lune ciel monde terre temps météo gouvernement
    président capitale jour nuit semaine mois année fois matin soir""".split()
)
GENERAL: Final = frozenset(
    """restaurant place shop store hotel company firm guy man woman girl boy kid couple job book
    novel film movie show meeting appointment interview trip party flat apartment house car animal
    boss laden firma gerät mann frau mädchen junge paar buch treffen termin reise wohnung haus auto
    tier eltern hund katze chef chefin restaurante sitio tienda empresa hombre mujer chica chico
    pareja trabajo libro película reunión cita viaje piso casa coche jefe jefa padres perro perra
    gato gata endroit magasin hôtel entreprise société homme femme fille garçon livre roman réunion
    rendez voyage appartement maison voiture patron parents chien chat dog cat""".split()
)

# Spanish questions without a subject: the first word and other words before the verb; endings of the third
# person; words with such an ending that are no verb or never have a subject; verbs that need `se`; and words
# that begin a subject or an object.
ASKING: Final = frozenset("cuándo dónde adónde cómo cuánto por a desde hasta".split())
ASKED: Final = ASKING | frozenset("qué cuándo hora no ya se le les lo la los las me te nos".split())
THIRD_PERSON: Final = ("a", "e", "an", "en", "ó", "está", "están", "aron", "ieron", "será", "son")
NO_THIRD: Final = ASKED | frozenset(
    """hace hay pasa falta llueve nieva es son debe puede vale iba era tenía estaba podía vine hice
    puse tuve estuve quise pude dije traje anduve supe fuera que se de en una""".split()
)
REFLEXIVE: Final = frozenset("casa casó muda mudó jubila jubiló llama enfada enfadó queda quedó cayó".split())
MENTIONING: Final = frozenset(
    """el la los las un una unos unas mi mis tu tus su sus nuestro nuestra este esta ese esa eso esto
    usted ustedes yo tú él ella ellos ellas alguien todo todos todas nada nadie uno me mamá papá
    dos tres cuatro cinco lejos cerca""".split()
)

# Openings of incomplete questions, with the largest number of words after one: `And Berlin?`.
ELLIPSIS_ROWS: Final = (
    ("en", 3, "and, but, or, what about, how about, what of, same, same with, also"),
    ("en", 0, "why, why not, how come, since when, when, where, who, how much, how many, which, how so"),
    ("de", 3, "und, aber, oder, was ist mit, und was ist mit, wie wäre es mit, auch"),
    ("de", 0, "warum, wieso, weshalb, wann, wo, wer, wie, warum nicht, seit wann, wie viel, wie lange"),
    ("es", 3, "y, pero, o, qué hay de, qué tal, y qué hay de"),
    ("es", 0, "por qué, cuándo, dónde, quién, cómo, cuánto, por qué no, desde cuándo, cuál"),
    ("fr", 3, "et, mais, ou, et pour"),
    ("fr", 0, "pourquoi, quand, où, qui, comment, combien, pourquoi pas, depuis quand"),
    ("zh", 4, "那, 还有"),
    ("zh", 0, "为什么, 什么时候, 在哪里, 谁, 多少钱"),
)

TRIGGERS: Final = frozenset(
    """who what when where why how
    yesterday today last recent before after week month year
    similar like connections associated linked related about regarding involving connected""".split()
)

NO_KEYWORDS: Final = STOP_WORDS | frozenset(
    """the a an is are was were be been being have has had do does did will would could should may
    might must shall can need dare ought used to of in for on with at by from as into through
    during before after above below between under again further then once here there when where why
    how all each few more most other some such no nor not only own same so than too very just also
    now i you he she it we they what which this that these those am and but if or because until
    while although though""".split()
)

TECHNICAL: Final = frozenset(  # short ones count as words too, and all of them count twice
    """python javascript typescript rust go java api database sql nosql redis postgres docker
    kubernetes aws gcp azure terraform git github gitlab ci cd pipeline test testing pytest
    unittest mock async await concurrent parallel thread cache memory performance optimization
    security authentication authorization oauth frontend backend fullstack microservice react vue
    angular fastapi django flask""".split()
)

TYPE_ALIASES: Final = {"org": "organization", "place": "location", "meeting": "event"}

FACT_TAGS: Final = frozenset(
    """memory memories item items profile profiles behavior behaviors event events knowledge skill
    skills tool tools""".split()
)  # H4.10: a reply with one of these tags is an answer


# Phrases that contain a term but are no reference.
BE: Final = "is/are/was/were/isn/aren/wasn/weren"
DAYS: Final = (
    "monday/tuesday/wednesday/thursday/friday/saturday/sunday/january/february/march/april/may/june/july/"
    "august/september/october/november/december"
)
SURE: Final = (
    "true/possible/impossible/ok/okay/fine/normal/necessary/rude/weird/likely/wrong/legal/illegal/allowed/bad/"
    "common/useful/healthy/dangerous/cheaper/smart/free"
)
TAGE: Final = "montag/dienstag/mittwoch/donnerstag/freitag/samstag/sonnabend/sonntag"
DIAS: Final = "lunes/martes/jueves/viernes/domingo"
JOURS: Final = (
    "lundi/mardi/mercredi/jeudi/vendredi/samedi/dimanche/janvier/février/mars/avril/juin/juillet/août/"
    "septembre/octobre/novembre/décembre/miércoles/sábado/enero/febrero/marzo/abril/mayo/junio/julio/agosto/"
    "septiembre/octubre/noviembre/diciembre/januar/februar/märz/mai/juni/juli/oktober/dezember/mittwoch"
)
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
    # Pronouns with their antecedent in the same sentence.
    "those [*] [*] who/that/which, that * that/which/who",
    # `It` of the weather, of time, and for what follows.
    "it [is/was] freezing/sunny/windy/cloudy/foggy",
    "it [*] [*] rain/rains/raining/rained/snow/snows/snowing/snowed",
    "what time/day/date/year/month is/was it, it far to, it far from * to",
    f"it [is/was] [already/still/only/just/almost] {DAYS}",
    "it [is/has] been a/ages/years/weeks/months/days/so/too/since, it take/takes/took [*] [*] to",
    f"it [is/was/be] [*] {SURE} to/that/if, it [is/was/be] [*] {HARD} to * a/an/the/my/your/our",
    "it [is/was/be] [*] nice/good/great/lovely to hear/see/meet/talk/have/know, it be that",
    "is/was it [*] who/that, it is/was [*] who/that, it * who",
    "how * is/was it to, it [*] like to, it feel/feels/felt to, it matter/matters, it just me, is it me",
    "whose turn is/was it, is/was that so/right/true/okay/ok $, < they say",
    "at the same time, the other day/night/week",
    "that * about/where",
    "it seems/turns/depends/looks [like]",
    "make/made/making it to/home/back, it worth, how [is/was] it going, take it easy",
    # Tags.
    f"^ {BE}/don/doesn/didn/hasn/haven/hadn/won/can/couldn/wouldn/shouldn it/he/she/they/there $",
    "这两天, 这几天, 这段时间, 其他, 其它, 吉他, 他乡, 他国, 他日, 他人, 他山之石, 维他命, 那不勒斯, 那么",
    # French: of the weather and of time, and what exists.
    "il pleut/neige/fait/faut/fallait/faudra/faudrait, il va pleuvoir/neiger/faire/falloir",
    "il [n] y a/avait/aura, y a/avait t il, y a, fait/faut/pleut/neige il, faut/pleuvra/fera t il, est ce",
    "qu est ce, heure/jour est il, il est * heure/heures, il est vrai/possible/temps/tard/midi/minuit, s il",
    "est il vrai/possible",
    "laquelle/lequel/lesquels/lesquelles de, il semble, il reste, l un, l une, l on",
    "cette année/semaine/nuit/fois, cet été/hiver/automne/après, how much does/did/will/would it cost to",
    "il gèle/paraît, il est tôt, heure/jour était il, il était une fois",
    "lo que/mejor/peor/bueno/malo/siento, lo más, la una",
)

# Auxiliary verbs; words before a `that` that is a reference; and words that open a clause after a `that` that
# is none.
HELPING: Final = frozenset(
    """is are was were be been being do does did has have had can could will would shall should may
    might must isn aren wasn weren don doesn didn es está son era""".split()
)
POINTING: Final = HELPING | frozenset(
    """about of with for from to in on at by like than as into over and or but
    what why how when where who which not just""".split()
)
CLAUSE_OPENING: Final = frozenset(
    """i you we he she it they there the a an my your our his her their is are was were has have
    had do does did can could will would should may might must""".split()
)
DETERMINERS: Final = frozenset("the a an any some no every my your our his her their its".split())
INDEFINITE: Final = frozenset(
    """anything something nothing everything anybody somebody nobody everybody anyone someone
    everyone one ones all""".split()
)


# Antecedents: what a reference may mean. A kind is a letter: `m` a man, `f` a woman, `s` several, `n` a
# thing, `l` a place, `t` a time; `M` and `F` are things of that gender, `S`
# several things. A term in no row may mean anything.
TERM_KIND_ROWS: Final = (
    ("m", "he, him, his, himself, él, 他, sein, seine, seinen, seinem, seiner, seines"),
    ("f", "she, her, hers, herself, ella, 她"),
    ("mf", "lui"),
    ("mM", "er, ihn, ihm, il, le, der, den, dem, celui, lequel"),
    ("fF", "elle, celle, laquelle"),
    ("fFsS", "sie, ihr, ihre, ihren, ihrem, ihrer, ihres, die"),
    ("nMFSlt", "ce"),
    ("nMF", "it, its, itself, 它"),
    ("smfS", "they, them, their, theirs, themselves, ihnen, ellos, ellas"),
    ("smf", "他们, 她们"),
    ("mfMFn", "l"),
    ("sSMF", "les, los, las"),
    ("smfSMF", "ils, elles, leur, leurs, eux"),
    (
        "l",
        "here, there, dort, dorthin, dahin, da, ahí, allí, allá, là, là-bas, 这里, 那里, 这儿, 那儿, "
        "这边, 那边",
    ),
    (
        "nltS",
        "that, this, dies, dazu, daran, davon, darüber, dafür, damit, darauf, dabei, danach, darin, daraus, "
        "dagegen, das, esto, eso, aquello, ça, cela, ceci, 这件事, 那件事, 这个, 那个",
    ),
    ("mMn", "lo"),
    ("fF", "la"),
    (
        "mfMFnlsS",
        "one, ones, the same, the other, the others, dasselbe, das gleiche, die beiden, den beiden, otro, "
        "otra, otros, otras, el otro, la otra, lo mismo, el mismo, la misma, al mismo, l'autre, les autres, "
        "le même, la même, son, sa, ses, su, sus, welcher, welche, welches, welchen, welchem",
    ),
)
SUBJECTS: Final = frozenset("il elle ils elles er sie der die él ella ellos ellas".split())
ACTING: Final = SUBJECTS | frozenset("he she it they".split())  # `it` before `them` acts, too
INVERTED: Final = frozenset("il elle ils elles".split())  # `Quand le train part-il ?`
SAME: Final = frozenset(
    """same mismo misma mismos mismas même mêmes dasselbe derselbe dieselbe denselben demselben
    dieselben""".split()
)
# Objects of a verb, and verbs whose object is a thing: `Pourquoi la vend-il ?`
OBJECTS: Final = frozenset("ihn le la l les lo los las".split())
TRADING_VERBS: Final = frozenset(
    """gekauft kaufen kauft verkauft verkaufen bestellt bestellen repariert reparieren
    umtauschen umgetauscht zurückgeben zurückgegeben gelesen lesen gekocht kochen vendre vendu
    vendait acheté achète acheter loué louer réparé réparer commandé commander lu rendre rendu
    lire cuisiné compra compró comprar comprado compré compraste vendió vender vendí vendido
    vendiste alquiló alquilar reparó reparar arregló arreglar devolver devolvió devuelto pidió
    leyó leído leer""".split()
)
PREPOSITIONS: Final = {
    "en": frozenset(
        """of from in at on with for about near to into by behind under beside inside outside over
        after before until since than""".split()
    ),
    "de": frozenset(
        """von vom aus in im ins am an ans auf bei beim mit für zu zum zur über nach vor hinter neben
        unter gegen um durch ohne seit""".split()
    ),
    "es": frozenset(
        "de del en con para sobre a al desde hasta por sin entre hacia cerca contra según".split()
    ),
    "fr": frozenset(
        "de du d à au aux en dans chez pour avec sur sous par devant derrière sans vers près".split()
    ),
}
# Terms that choose one of several, and words with which a turn counts or offers choices.
CHOICES: Final = frozenset(
    """one ones welcher welche welches welchen welchem laquelle lequel lesquels lesquelles celle
    celui otro otra""".split()
) | {"the other", "l'autre", "el otro", "la otra", "der andere", "die andere", "das andere", "den anderen"}
OTHER_WORDS: Final = frozenset(
    "other others andere anderer anderes anderen autre autres otro otra otros otras".split()
)
# Choices by rank: the one before, or after, the word that joins two.
FORMER: Final = frozenset(
    """first former erste ersten erster erstes ersterer erstere ersteres primero primera premier première
    前者 第一个""".split()
)
LATTER: Final = frozenset(
    """second latter last zweite zweiten zweiter zweites letzte letzten letzterer letztere letzteres segundo
    segunda último última second seconde deuxième dernier dernière 后者 第二个""".split()
)
NUMBERS: Final = frozenset(
    "two three four five zwei drei vier fünf dos tres cuatro cinco deux trois quatre cinq".split()
)
OFFERS: Final = NUMBERS | frozenset("or oder ou o".split())
# Words that a rewrite may drop with a reference to several.
QUANTIFIERS: Final = frozenset(
    """both beide beiden ambos ambas 俩 all two three alle allen zwei drei todos todas dos tres
        tous toutes deux trois 都 两 三""".split()
)
# Words that join clauses, which a rewrite may add.
AND: Final = frozenset("and und y e et".split())
JOINING: Final = frozenset(
    """that because if whether or dass ob weil wenn oder que qu porque si parce lorsque cuando o u ou
    因为 所以 把 对 与 跟 里""".split()
)
# Forms whose stem differs from that of their base word.
IRREGULAR_ROWS: Final = (
    (
        "en",
        """fall fell fallen, go went gone goes, come came, buy bought, sell sold, say said, tell
        told, take took taken, get got, give gave given, leave left, break broke broken,
        write wrote written, drive drove driven, eat ate eaten, drink drank drunk, see
        saw seen, find found, lose lost, meet met, pay paid, send sent, spend spent,
        think thought, bring brought, teach taught, catch caught, choose chose chosen,
        begin began begun, make made, know knew known, grow grew grown, fly flew flown,
        throw threw thrown, wear wore worn, speak spoke spoken, steal stole stolen,
        sleep slept, keep kept, feel felt, build built, hear heard, hold held, run ran,
        sit sat, stand stood, swim swam swum, win won, forget forgot forgotten, sing
        sang sung, ride rode ridden, rise rose risen, have has had, do did done does""",
    ),
    (
        "de",
        """hat haben, ist sind, war waren, wird werden, wurde wurden, kann können, muss müssen, will wollen,
        darf dürfen, soll sollen, weiß wissen, gibt geben, hilft helfen, nimmt nehmen, fährt fahren,
        schläft schlafen, isst essen, spricht sprechen, trifft treffen, liest lesen, sieht sehen""",
    ),
    (
        "fr",
        """est sont, a ont, était étaient, va vont, fait font, peut peuvent, veut veulent, doit
        doivent, avait avaient, sera seront, sait savent, dit disent, vient viennent,
        prend prennent, part partent""",
    ),
    (
        "es",
        """está están, tiene tienen, puede pueden, quiere quieren, era eran, va van, es son,"""
        "ha han, fue fueron, hizo hicieron, dijo dijeron, tuvo tuvieron, puso pusieron",
    ),
)

PERSON_NOUN_ROWS: Final = (
    (
        "m",
        """man guy boy father dad daddy son brother uncle grandfather grandpa grandad husband
        boyfriend nephew mr sir king prince waiter actor businessman landlord stepfather
        fiancé widower groom bloke lad mann junge vater papa sohn bruder onkel großvater
        opa ehemann freund neffe herr herrn könig kellner vermieter chef kollege nachbar
        lehrer arzt zahnarzt anwalt bäcker trainer mitbewohner schwager schwiegervater
        cousin hombre chico niño padre papá hijo hermano tío abuelo marido esposo novio
        sobrino señor don rey camarero amigo compañero vecino primo jefe médico mecánico
        dueño inquilino abogado profesor doctor socio cuñado suegro casero homme garçon
        père fils frère oncle papi mari copain neveu monsieur roi serveur ami voisin
        collègue patron beau-père mec propriétaire""",
    ),
    (
        "f",
        """woman girl mother mum mom mommy mummy daughter sister aunt grandmother grandma granny
        wife girlfriend niece mrs ms miss madam queen princess waitress actress landlady
        stepmother fiancée widow bride lady frau mädchen mutter mama tochter schwester
        tante großmutter oma ehefrau freundin nichte königin kellnerin vermieterin
        chefin kollegin nachbarin lehrerin ärztin zahnärztin anwältin cousine schwägerin
        schwiegermutter mitbewohnerin trainerin mujer dame chica niña madre mamá hija perra gata
        hermana tía abuela esposa novia sobrina señora doña reina camarera dueña
        inquilina amiga compañera vecina prima jefa médica abogada profesora doctora
        socia cuñada suegra casera femme fille mère maman sœur tante mamie épouse copine
        nièce madame mademoiselle reine serveuse amie voisine patronne cousine""",
    ),
    (
        "mf",
        """friend boss manager doctor dr dentist nurse vet teacher professor prof coach trainer
        colleague coworker neighbour neighbor roommate flatmate partner cousin kid child baby
        toddler teenager lawyer agent client customer guest chef cook driver pilot plumber
        electrician mechanic carpenter builder gardener cleaner hairdresser barber baker butcher
        officer cop policeman detective judge author writer artist singer musician director
        president minister priest pastor pope student intern assistant secretary accountant
        engineer developer designer editor journalist therapist psychologist psychiatrist surgeon
        physio physiotherapist podiatrist optician pharmacist midwife babysitter nanny tutor mentor
        supervisor owner host patient person parent spouse ex fiance twin sibling stranger witness
        expert consultant contractor tenant landlords candidate employee worker seller buyer dog
        cat puppy kitten horse pony parrot rabbit hamster kind baby person gast kunde hund katze
        conserje policía juez alcalde cura jardinero bombero carnicero vecindario portavoz
        intérprete guía piloto polizist richter bürgermeister pfarrer student studentin hausmeister
        handwerker klempner maler policier juge maire curé étudiant étudiante plombier boulanger
        boucher concierge guide pilote peintre bebé persona cliente estudiante dentista taxista
        periodista profe artista agente gerente colega paciente perro gato médecin docteur dentiste prof
        professeur enfant bébé personne élève client agent pianiste artiste juge locataire
        secrétaire chien chat""",
    ),
    (
        "smf",
        """parents grandparents children kids twins people family team couple folks guys friends
        neighbours neighbors colleagues brothers sisters crowd committee council staff crew band
        choir company police government board group club school bank shop hospital university
        department agency equipo comité grupo banda orquesta empresa equipe team mannschaft gruppe
        firma vorstand verein équipe comité groupe orchestre entreprise mairie banque école eltern
        großeltern kinder leute familie freunde nachbarn kollegen geschwister zwillinge padres
        abuelos niños hijos hermanos gente familia amigos vecinos compañeros pareja parents enfants
        gens famille amis voisins collègues""",
    ),
)
# Nouns for both people and things. They fit both `it` and `they`, so they are never rivals.
MIXED: Final = frozenset(
    """family team couple crowd committee council staff crew band choir company police government
    board group club school bank shop hospital university department agency dog cat puppy kitten
    horse pony parrot rabbit hamster baby child hund katze kind perro gato bebé chien chat bébé
    familie familia famille""".split()
)
# Nouns that always mean a place.
PLACE_NOUNS: Final = frozenset(
    """bakery bar beach cabin cafe café campsite castle church cinema city clinic club conference
    country cottage factory farm flat garden gym harbour hospital hostel hotel house island kitchen
    lake library market mountain museum office park place pool pub restaurant room school shop
    square station store street studio supermarket theatre town university valley village warehouse
    apartment airport bäckerei büro dorf ferienwohnung flughafen garten haus hütte insel kirche
    klinik konferenz krankenhaus küche laden markt praxis schule see stadt strand supermarkt
    theater wohnung zimmer bahnhof firma hafen lager aeropuerto apartamento biblioteca cabaña calle
    casa castillo ciudad cocina colegio conferencia empresa escuela estación fábrica finca iglesia
    isla jardín lago librería mercado museo oficina parque piscina piso playa plaza pueblo puerto
    restaurante taller teatro tienda universidad clínica aéroport appartement bibliothèque
    boulangerie bureau cabane château chambre clinique école église entreprise ferme gare hôpital
    hôtel île jardin lac maison mairie marché montagne musée parc piscine plage port rue salle
    salon supermarché théâtre université usine ville""".split()
)
# Prepositions before a name of a place; and before an article and a noun that means a place.
BEFORE_PLACE: Final = frozenset("in from near around nach aus en à dans près cerca lejos rue calle".split())
BEFORE_PLACE_NOUN: Final = BEFORE_PLACE | frozenset(
    """at on to into inside outside behind beside im am an auf beim bei zum zur vor ins aus al a
    del ante au aux chez devant sur""".split()
)
TIME_NOUNS: Final = frozenset(
    """day tag jour día époque época easter christmas noon midnight morning evening afternoon
        weekend summer winter spring autumn today tomorrow yesterday week month year
        night ostern weihnachten mittag abend morgen wochenende sommer herbst frühling
        heute gestern woche monat jahr nacht navidad verano invierno otoño primavera hoy
        mañana ayer semana mes año noche noël pâques été hiver automne printemps demain
        hier semaine mois soir matin nuit""".split()
)
# Verbs and other words of persons: with one of these, `er`, `sie`, `il` and `elle` are no things.
PERSONAL_VERBS: Final = frozenset(
    """sagt sagte gesagt meint meinte gemeint will wollte möchte mag denkt glaubt weiß wusste
    findet beschwert hält angeboten verkauft gekauft gebeten versprochen geschrieben angerufen
    eingeladen getroffen getrunken gegessen krank schwanger verheiratet wütend arbeitet wohnt lebt
    liest kennt hofft fragt gefragt erzählt erzählte plant heißt darf mitkommt studiert dit disait
    veut voulait pense croit sait aime habite travaille préfère parle raconte lit demande donne
    prête demandé acheté vendu proposé promis écrit appelé invité rencontré mangé malade enceinte
    mariée marié vacances contente content fâché fâchée allergique étudie répondu répond raté
    réussi décidé pensé voulu vend achète espère connaît dort mange boit rentre joue chante âge
    edad permis passeport anniversaire enfants führerschein reisepass geburtstag cumpleaños
    verdient verdienen gagne gana llama trabaja trabajan vive viven dice dijo piensa opina estudia
    quiere quieren sabe conoce prefiere llamó cree gusta enfada enfadó jubila casa mudó schläft
    isst trinkt spielt singt kocht spricht""".split()
)
# Articles and owners before a noun, with the genders that they allow.
GENDER_ROWS: Final = (
    (
        "M",
        """den einen meinen deinen seinen ihren unseren euren diesen keinen dem ein einem mein
        meinem dein sein ihr ihrem unser seinem diesem im am zum beim vom le un du au ce cet mon
        ton son""",
    ),
    (
        "F",
        """die eine einer meine meiner deine seine seiner ihre ihrer unsere unserer diese keine zur
        la une ma ta sa cette""",
    ),
    ("M", "der el un al del este ese"),
    ("F", "la una esta esa"),
    ("MF", "des dieser l les mi tu su sa"),
    ("", "das ins dieses"),
)
# How most plurals end.
PLURALS: Final = {"en": ("s",), "es": ("s",), "fr": ("s", "x"), "de": ("e", "n", "r", "s")}

# Chinese: words and characters for persons.
CHINESE_PERSON_ROWS: Final = (
    (
        "m",
        """爸爸 哥哥 弟弟 爷爷 叔叔 舅舅 师兄 师弟 学长 小伙 爸 哥 弟 叔 爷 舅 先生 老公 丈夫 儿子 男
        外甥 侄子 公公 岳父 男朋友 男友""",
    ),
    ("f", "妈妈 姐姐 妹妹 姑娘 师姐 师妹 学姐 妈 姐 妹 姨 奶奶 婆 姑 太太 妻 女 保姆 阿姨 女朋友 女友 女士"),
    (
        "mf",
        """老师 医生 大夫 老板 司机 经理 同事 朋友 同学 邻居 客户 师傅 孩子 护士 律师 教授 房东 员
        师 总 学生 人 团队 租客 顾客 乘客 旅客 客人""",
    ),
)
# Last characters of Chinese places.
PLACE_ENDS: Final = frozenset("山市省县镇村路街湖岛区州城店馆院站")
# Characters that begin Chinese names, and characters in names of men and of women.
NAME_STARTS: Final = frozenset(
    "小老阿晓王李张刘陈杨赵黄周吴徐孙胡朱林何郭罗宋郑"
    "谢韩唐冯董程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛范汪段杜姜戴熊陆"
    "孟秦潘任邹余顾尹姚邵梁钟侯陶贺龚崔康邱乔赖夏谭廖郝孔黎"
)
NAME_CHARACTERS: Final = {
    "m": frozenset("伟刚强杰军勇涛建斌浩鹏磊翔宇"),
    "f": frozenset("丽娜芳婷静雨梅燕敏玲慧莉琴雪婉倩娟冰楠兰"),
}

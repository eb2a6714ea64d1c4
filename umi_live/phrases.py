"""Translate German, French, Spanish and Italian phrases about persons to plain English.

    Ich bin nach Bonn gezogen.          I moved house to Bonn
    Je ne bois plus de café.            I no longer bois café
    Vivo en Cali con mi hermana.        I live in Cali, with more
    Meine Schwester Eva wohnt in Köln.  My sister Eva lives in Köln

Law 1. Pure, and used only for comparison: the memory stores and shows the original words. Law 2. The rest of
a sentence after the phrase becomes a clause of its own with unknown claims, so that no later statement ends
it. If the rest may limit the phrase, such as "pour le week-end", the phrase itself ends nothing either.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final

from umi_core.language.words import words
from umi_live.english import GIVEN_NAMES

PHRASE_COUNT_MAX: Final = 4_096  # cached sentences
END: Final = re.compile(r"[\s.!…]+$")
PLACE: Final = r"([^\W\d_a-zà-ÿ][\w'’-]*(?: [^\W\d_a-zà-ÿ][\w'’-]*)*)"  # words without a small initial
VALUE: Final = r"([^,;:]+)"
DAY: Final = (
    r"(?:am |le |el |la )?(?:letzten |letzte Woche )?(?:\w+tag|Mittwoch|gestern|lundi|mardi|mercredi|jeudi|"
    r"vendredi|samedi|dimanche|hier|lunes|martes|miércoles|jueves|viernes|sábado|domingo|ayer|lunedì|martedì|"
    r"mercoledì|giovedì|venerdì|sabato|domenica|ieri|letzten (?:Monat|Sommer)|letztes Jahr|le mois dernier|"
    r"l['’]an(?:née)? derni(?:er|ère)|el (?:mes|año) pasado|il mese scorso|l['’]anno scorso)"
)
# Months by their first letters, which are similar in these languages. Seasons are left out, since people may
# live in another place each summer.
MONTH: Final = (
    r"(?:jan|feb|fév|m[aä]r|apr|abr|avr|ma[igy]|jui?n|jui?l|giu|lug|aug|ago|août|sep|set|o[kct]t|nov|d[eéi][zc]|gen|"
    r"ene)\w*"
)
UNIT: Final = r"(?:Tag|Woche|Monat|jour|semaine|mois|día|semana|mes|giorn|settiman|mese)\w*"
SINCE: Final = (
    rf"(?:seit|depuis|desde|da|dal|im|in|en|a|au|ab) (?:el |le |l['’])?"
    rf"(?i:(?:{MONTH} )?(?:de )?\d{{4}}|{MONTH}|{DAY})|"
    rf"(?:vor|seit|depuis|desde hace|hace|il y a|da) (?:\w+ )?{UNIT}|\w+ {UNIT} fa"
)
LAST_WEEK: Final = (
    r"(?:letzt|vorig)e[ns]? (?:Woche|Monat|Jahr)|(?:le mois|l['’]an|l['’]année|la semaine) derni(?:er|ère)|"
    r"(?:la semana pasada|el (?:mes|año) pasado)|(?:la settimana scorsa|(?:il mese|l['’]anno) scorso)"
)
WHEN: Final = rf"(?: (?:jetzt|nun|maintenant|désormais|ahora|ora|adesso|{DAY}|{SINCE}|{LAST_WEEK}))?"
DE: Final = "(?: (?:jetzt|nun|inzwischen|mittlerweile))?"
FR: Final = "(?: (?:maintenant|désormais|actuellement))?"
ES: Final = "(?:(?:ahora|ya|yo|actualmente) )*"
IT: Final = "(?:(?:ora|adesso|io|attualmente) )*"
BEI: Final = "(?:bei|für|beim)(?: der| dem| den)?"
NOW_ES: Final = "(?: ahora)?"
NOW_IT: Final = "(?: (?:ora|adesso))?"

HOME: Final = "I live in {}"
MOVED: Final = "I moved house to {}"
JOB: Final = "I work at {}"
SITE: Final = "I work in {}"
JOINED: Final = "I joined {}"
LEFT: Final = "I left {}"
TITLE: Final = "I work at {} as {}"
ONLY_TITLE: Final = "I work as {}"
TURNED: Final = "I turned {}"
NO_HOME: Final = "I no longer live in {}"
NO_JOB: Final = "I no longer work at {}"
AGE: Final = "I am {} years old"
FAVOURITE: Final = "My favourite {} is {}"
PHONE: Final = "My phone number is {}"
NO_MORE: Final = "I no longer {} {}"
DOES: Final = "I {} {}"
OF_PLACES: Final = (HOME, MOVED, JOB, SITE, JOINED, LEFT)
PHRASES: Final = tuple((f"(?:{pattern}){WHEN}", english) for pattern, english in (
    (rf"(?:ich (?:wohne|lebe)|wir (?:wohnen|leben)){DE} in (?!Angst|Frieden|Armut|Trennung){PLACE}", HOME),
    (rf"(?:j['’]habite|je vis|nous (?:habitons|vivons)){FR} (?:à|au|en|aux) {PLACE}", HOME),
    (rf"{ES}(?:vivo|vivimos){NOW_ES} en {PLACE}", HOME),
    (rf"{IT}(?:vivo|abito|viviamo|abitiamo){NOW_IT} (?:a|in) {PLACE}", HOME),
    (rf"(?:ich bin|wir sind)(?:{DE}|{WHEN})(?: von \w+)? nach {PLACE} (?:um)?gezogen", MOVED),
    (rf"(?:j['’]ai|nous avons) déménagé{WHEN}(?: de \w+)? (?:à|au|en|aux) {PLACE}", MOVED),
    (rf"(?:je me suis|nous nous sommes) installée?s? (?:à|au|en|aux) {PLACE}", MOVED),
    (rf"{ES}(?:me (?:mudé|he mudado|trasladé)|nos (?:mudamos|hemos mudado)){WHEN}(?: de \w+)? a {PLACE}",
     MOVED),
    (rf"{IT}(?:mi sono|ci siamo) trasferit[aeio]{WHEN}(?: da \w+)? (?:a|in) {PLACE}", MOVED),
    (rf"ich arbeite{DE} {BEI} {PLACE} als (\w+)", TITLE),
    (rf"je travaille{FR} (?:chez|pour) {PLACE} comme ([\w ]+)", TITLE),
    (rf"{ES}trabajo{NOW_ES} para {PLACE} como ([\w ]+)", TITLE),
    (rf"{IT}lavoro{NOW_IT} (?:alla |per |per la |all['’]){PLACE} come ([\w ]+)", TITLE),
    (rf"ich arbeite{DE} als (\w+)|je travaille{FR} comme (\w+)|{ES}trabajo{NOW_ES} (?:como|de) (\w+)|"
     rf"{IT}lavoro{NOW_IT} come (\w+)",
     ONLY_TITLE),
    (rf"ich arbeite{DE} {BEI} {PLACE}", JOB),
    (rf"je travaille{FR} (?:chez|pour) {PLACE}", JOB),
    (rf"{ES}trabajo{NOW_ES} para {PLACE}", JOB),
    (rf"{ES}trabajo{NOW_ES} en {PLACE}", SITE),  # the place may be a city or an employer
    (rf"{IT}lavoro{NOW_IT} (?:alla |per |per la |all['’]){PLACE}", JOB),
    (rf"ich habe (?:{DAY} )?{BEI} {PLACE} gekündigt|j['’]ai quitté {PLACE}|dejé {PLACE}|"
     rf"ho lasciato (?:la )?{PLACE}",
     LEFT),
    (rf"ich habe (?:{DAY} )?{BEI} {PLACE} angefangen", JOINED),
    (rf"j['’]ai (?:rejoint|commencé (?:chez|à travailler (?:chez|pour))) {PLACE}", JOINED),
    (rf"{ES}empecé a trabajar (?:en|para) {PLACE}", JOINED),
    (rf"ho iniziato a lavorare (?:alla |per |per la |all['’]){PLACE}", JOINED),
    (rf"ich bin (?:{DAY} )?(\d+)(?: Jahre alt)? geworden|j['’]ai eu (\d+) ans", TURNED),
    (rf"ich (?:wohne|lebe) nicht mehr in {PLACE}|je n['’]habite plus (?:à|au|en|aux) {PLACE}|"
     rf"je ne vis plus (?:à|au|en|aux) {PLACE}|ya no vivo en {PLACE}|non (?:vivo|abito) più (?:a|in) {PLACE}",
     NO_HOME),
    (rf"ich arbeite nicht mehr {BEI} {PLACE}|je ne travaille plus (?:chez|pour) {PLACE}|"
     rf"ya no trabajo (?:en|para) {PLACE}|non lavoro più (?:alla |per |per la |all['’]){PLACE}",
     NO_JOB),
    (rf"ich bin{DE} (\d+)(?: Jahre alt)?", AGE),
    (rf"j['’]ai{FR} (\d+) ans", AGE),
    (rf"{ES}(?:tengo|cumplí|he cumplido) (\d+) años", AGE),
    (rf"{IT}ho (?:compiuto )?(\d+) anni", AGE),
    (rf"ich bin{DE} (?:ledig|single)|je suis{FR} célibataire|{ES}(?:estoy|soy) solter[oa]|{IT}sono single",
     "I am single"),
    (rf"ich bin{DE} verheiratet|ich habe (?:{DAY} )?geheiratet|je suis{FR} mariée?|je me suis mariée?|"
     rf"{ES}estoy casad[oa]|{ES}me (?:he )?cas(?:é|ado)|{IT}sono sposat[oa]|{IT}mi sono sposat[oa]",
     "I am married"),
    (rf"ich bin{DE} geschieden|je suis{FR} divorcée?|{ES}estoy divorciad[oa]|me divorcié|"
     rf"{IT}sono divorziat[oa]",
     "I am divorced"),
    (rf"meine? Lieblings(\w+) ist{DE} {VALUE}", FAVOURITE),
    (rf"m(?:a|on) (\w+) préférée? est{FR} {VALUE}", FAVOURITE),
    (rf"mi (\w+) favorit[oa]{NOW_ES} es{NOW_ES} {VALUE}", FAVOURITE),
    (rf"(?:il mio|la mia) (\w+) preferit[oa]{NOW_IT} è{NOW_IT} {VALUE}", FAVOURITE),
    (rf"meine (?:neue )?(?:Telefonnummer|Handynummer) ist{DE} {VALUE}", PHONE),
    (rf"mon (?:nouveau )?numéro(?: de téléphone)? est{FR} (?:le )?{VALUE}", PHONE),
    (rf"mi (?:nuevo )?(?:número|teléfono)(?: de teléfono)?{NOW_ES} es (?:el )?{VALUE}", PHONE),
    (rf"il mio (?:nuovo )?numero(?: di telefono)?{NOW_IT} è (?:il )?{VALUE}", PHONE),
    (r"ich (\w+) kein(?:en|e)? ([^,;]+) mehr", NO_MORE),
    (r"ich (\w+)(?: ([^,;]+))? nicht mehr", NO_MORE),
    (r"je (?:ne |n['’])(\w+) plus(?: (?:de |d['’]|du )?([^,;]+))?", NO_MORE),
    (r"ya no (me gustan?|\w+o)(?: ([^,;]+))?", NO_MORE),
    (r"non (mi piacciono|mi piace|\w+o) più(?: ([^,;]+))?", NO_MORE),
    (r"ich (trinke|esse|mag|liebe|hasse|rauche|spiele|benutze|lerne)(?: ([^,;]+))?", DOES),
    (r"j(?:e |['’])(bois|mange|aime|adore|déteste|fume|joue|utilise|apprends)"
     r"(?: (?:du |de la |des )?([^,;]+))?",
     DOES),
    (r"(?:yo )?(bebo|como(?! is| was)|fumo|juego|uso|odio|me gustan?)(?: ([^,;]+))?", DOES),
    (r"(?:io )?(bevo|mangio|fumo|gioco|uso|odio|mi piacciono|mi piace)(?: ([^,;]+))?", DOES),
))  # fmt: skip
# The first words of PHRASES. English sentences have others, so they need none of these patterns.
FIRST_WORDS: Final = frozenset(
    """ich wir mein meine
    j je nous ma mon
    actualmente ahora bebo como cumplí dejé empecé estoy fumo he juego me mi nos odio soy tengo trabajo uso
    vivimos vivo ya yo
    abitiamo abito adesso attualmente bevo ci gioco ho il io la lavoro mangio non ora sono viviamo""".split()
)
FIRST_WORD: Final = re.compile(r"\w+")
# Statements about a person with a name.
OTHER_PHRASES: Final = tuple((f" (?:{pattern}){WHEN}", english) for pattern, english in (
    (rf"(?:wohnt|lebt){DE} in {PLACE}|(?:habite|vit){FR} (?:à|au|en|aux) {PLACE}|vive{NOW_ES} en {PLACE}|"
     rf"(?:vive|abita){NOW_IT} (?:a|in) {PLACE}",
     "lives in {}"),
    (rf"ist(?:{DE}|{WHEN})(?: von \w+)? nach {PLACE} (?:um)?gezogen|"
     rf"a déménagé(?: de \w+)? (?:à|au|en|aux) {PLACE}|"
     rf"se (?:mudó|ha mudado|trasladó)(?: de \w+)? a {PLACE}|si è trasferit[ao](?: da \w+)? (?:a|in) {PLACE}",
     "moved house to {}"),
    (rf"arbeitet{DE} {BEI} {PLACE}|travaille{FR} (?:chez|pour) {PLACE}|trabaja{NOW_ES} para {PLACE}|"
     rf"lavora{NOW_IT} (?:alla |per |per la |all['’]){PLACE}",
     "works at {}"),
))  # fmt: skip
OTHER_SUBJECT: Final = re.compile(
    rf"(?:(?:Meine?|Ma|Mon|Mi|(?:La )?[Mm]ia|(?:Il )?[Mm]io) (\w+) )?{PLACE}(?= [a-zà-ÿ])"
)
# Other verbs that follow the name of a person.
OTHER_VERBS: Final = (
    "ist|hat|hatte|war|mag|liebt|hasst|spielt|trinkt|isst|heißt|studiert|lernt|kann|kommt|fährt|"
    "est|a|aime|adore|déteste|joue|boit|mange|étudie|"
    "es|está|tiene|juega|bebe|come|estudia|odia|è|ha|gioca|beve|mangia|studia|ama"
)
KINDS_OF_KIN: Final = {
    "sister": "schwester sœur soeur hermana sorella", "brother": "bruder frère hermano fratello",
    "mother": "mutter mère madre mom mum", "father": "vater père padre dad",
    "daughter": "tochter fille hija figlia", "son": "sohn fils hijo figlio",
    "wife": "frau femme esposa mujer moglie",
    "husband": "mann mari marido marito",
    "friend": "freund freundin ami amie copain copine amigo amiga amico amica",
    "aunt": "tante tía zia", "uncle": "onkel oncle tío zio",
    "cousin": "cousin cousine primo prima cugino cugina",
    "colleague": "coworker", "neighbour": "neighbor", "grandmother": "grandma", "grandfather": "grandpa",
}  # fmt: skip
KIN: Final = {word: kind for kind, listed in KINDS_OF_KIN.items() for word in listed.split()}
# Other beginnings of sentences about the speaker; German and Spanish pronouns are in SPEAKER_WORDS.
OWN: Final = re.compile(
    r"(?:(?:je|nous) (?=[a-zà-ÿ])|j['’]|"
    r"(?:mon|ma|mes|notre|nos) \w+ (?:est|sont|s['’]appelle|habite|vit|travaille|joue) |"
    r"(?:il mio|la mia|i miei|le mie) \w+ |"
    r"(?:mio|mia) (?:padre|madre|fratello|sorella|figli[oa]|marito|moglie|nonn[oa]|zi[oa]|cugin[oa]) |"
    r"mi (?:chiamo|piace|piacciono|sono) |"
    r"me (?:llamo|gusta|gustan|encanta|encantan) |"
    r"(?:ahora |ya |ya no |no |también )?(?:estoy|tengo|trabajo|quiero|necesito|hablo|estudio|nací) |"
    r"soy (?:un |una |el |la |de |muy |alérgic|vegetarian|vegan)|"
    r"(?:ora |adesso |non )?(?:abito|lavoro|vorrei|parlo) )"
)
OPENING: Final = re.compile(
    r"(?:Neuigkeiten|Übrigens|Gute Nachrichten?|Bonne nouvelle|Au fait|Noticias|Buenas noticias|Por cierto|"
    r"Novità|Buone notizie|A proposito)[,:!]+ "
)
HEDGE: Final = re.compile(
    r"\b(?:dass|ob|wenn|als(?= (?:ich|wir|er|sie|es|man|der|die|das|mein\w*) )|glaube|denke|hoffe|würde|"
    r"möchte|que|si|quand|pense|espère|voudrais|cuando|creo|"
    r"espero|quiero|quisiera|che|se|quando|penso|spero|vorrei)\b"
)
# The link before a second claim of a sentence, and the subject that German omits there.
NEXT_PHRASES: Final = (
    (re.compile(r",? und (?=(?:ich|wir) )|,? et (?=(?:je |j['’]))"), ""),
    (re.compile(r",? y (?=(?:vivo|trabajo|tengo|soy|estoy|me) )"), ""),
    (re.compile(r",? e (?=(?:vivo|abito|lavoro|ho|sono|mi) )"), ""),
    (re.compile(r" und (?=(?:wohne|lebe|arbeite|bin|habe) )"), "Ich "),
)

YEAR: Final = re.compile(r"\b(?:1[89]|20)\d\d\b")
# Text that may follow a place without limiting the phrase: with whom, why, and a second claim.
SURE_REST: Final = re.compile(
    r",? (?:mit|con|avec|und|et|y|e|per lavoro|por trabajo|pour le travail|als|como|comme|come)\b"
    r"(?:(?! (?:für|pendant|durante|por|pour|per|während|bis|jusqu|hasta|fino|"
    r"im|in|en|au|a|am|jeden|cada|chaque|ogni) ).)*"
)

GREETINGS: Final = frozenset(  # words of greetings, thanks and praise
    """again all and that that's today great perfect cool nice wonderful awesome amazing hi hello hey there
    good morning evening afternoon night day how are you doing to meet see thanks thank bye goodbye
    und super genial prima toll klasse hallo guten morgen tag abend gute nacht moin servus danke dir ihnen
    schön wie geht es tschüss wiedersehen auf
    et parfait bonjour bonsoir salut coucou merci beaucoup ça va au revoir bonne nuit journée soirée
    y perfecto hola buenos días buenas tardes noches gracias muchas qué tal adiós
    e perfetto ciao buongiorno buonasera buonanotte grazie mille come stai arrivederci
    olá bom dia boa tarde noite obrigado obrigada""".split()
)


@lru_cache(maxsize=PHRASE_COUNT_MAX)
def translate(sentence: str) -> str | None:
    """Return a sentence about its speaker in English; None if it has no known phrase."""
    text = lower_first(END.sub("", OPENING.sub("", sentence)))
    first = FIRST_WORD.match(text)
    return translate_by(PHRASES, text) if first and first[0] in FIRST_WORDS else None


@lru_cache(maxsize=PHRASE_COUNT_MAX)
def translate_other(sentence: str) -> str | None:
    """Return a sentence about a named person or a relative of the speaker in English; else None."""
    text = END.sub("", OPENING.sub("", sentence))
    match = OTHER_SUBJECT.match(text)
    if match is None or (match[1].lower() not in KIN if match[1] else words(match[2])[0] not in GIVEN_NAMES):
        return None  # neither a person nor a relative: "Der Zug", "Sie"
    translated = translate_by(OTHER_PHRASES, text[match.end() :])
    owner = f"My {KIN[match[1].lower()]} " if match[1] else ""
    return translated and f"{owner}{match[2]} {translated}"


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because all of them take longer than the start of a command."""
    return re.compile(pattern)


def translate_by(phrases: Iterable[tuple[str, str]], text: str) -> str | None:
    for pattern, english in phrases:
        if match := compiled(pattern).fullmatch(text):
            return fill(english, match)
    for pattern, english in phrases:
        # For phrases without a place the rest may change the meaning: "Tengo 5 años de experiencia."
        is_of_place = phrases is OTHER_PHRASES or english in OF_PLACES
        if is_of_place and (match := compiled(f"(?:{pattern})(?=,? )").match(text)):
            is_sure = SURE_REST.fullmatch(text[match.end() :])
            return f"{fill(english, match)}{', with more' if is_sure else ' for more'}"
    return None


def fill(english: str, match: re.Match[str]) -> str:
    """Return the English of a phrase with its values, and with the year that it mentions, if any."""
    groups = [it for it in match.groups() if it]
    filled = english.format(*groups, *("" for _ in range(english.count("{}") - len(groups)))).rstrip()
    year = YEAR.search(match[0])
    return f"{filled} in {year[0]}" if year and year[0] not in filled else filled


def is_own(sentence: str) -> bool:
    """Return whether a sentence in one of these languages is about its speaker."""
    is_of_kin = (translate_other(sentence) or "").startswith("My ")
    return is_of_kin or OWN.match(lower_first(sentence)) is not None or translate(sentence) is not None


def divide_phrases(sentence: str) -> Iterator[str]:
    """Yield the claims of a sentence that is about its speaker, each with a subject.

    Me llamo Ana y vivo en Lugo.        Me llamo Ana / Vivo en Lugo.
    Ich bin Jan und wohne in Ulm.       Ich bin Jan / Ich wohne in Ulm.
    """
    for link, subject in NEXT_PHRASES:
        first, *others = link.split(sentence)
        if others and not HEDGE.search(sentence) and is_about_speaker(first, subject):
            yield first
            yield from (f"{subject}{it}" if subject else it[:1].upper() + it[1:] for it in others)
            return
    yield sentence


def is_about_speaker(first: str, subject: str) -> bool:
    start = "Ich " if subject else ("Ich ", "Wir ", "Je ", "J'", "J’", "Me ", "Mi ", "Soy ", "Sono ", "Vivo ")
    return first.startswith(start) and len(first.split()) > 1


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]

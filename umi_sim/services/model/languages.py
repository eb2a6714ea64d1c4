"""Languages: the small words of each language, which are never names, and the language of a text.

Law 1. The tables are frozen, since a changed word would change recorded runs.
"""

import re
from typing import Final

from umi_sim.kernel.characters import lower, word_matches

SMALL_WORDS: Final = {
    "en":
        "a about above after all also an and another any are as at be because been before being both but "
        "by bye can cause congrats could did do does done down each else ever every for from get go goes "
        "going good got great guess had hardly has have he hello her here hers herself hey hi him himself "
        "his how i if in into is it its itself just last later let lets like ll many may maybe me mine "
        "more most much my never no nor not now of off oh ok okay on one only or other our out over own "
        "please re s same she should since so some soon sorry still such sure t than thank thanks that "
        "the their theirs them themselves then there these they this those though till to today tomorrow "
        "too two until up us ve very was we welcome well were what when where which while who whom whose "
        "why will with without won would wow yeah yep yes yesterday yet you your yours",
    "de":
        "ab aber alle alles als am an auch auf aus bei beim bin bis bist bitte da danke dann das dass dem "
        "den der des die diese diesem diesen dieser dieses dir doch du durch ein eine einem einen einer "
        "eines er es für gegen gestern haben hallo hast hat hatte heute hier ich ihm ihn ihnen ihr ihre "
        "ihrem ihren ihrer im in ins ist ja jetzt kann kein keine keinen können lang lange man mein meine "
        "meinem meinen meiner mich mir mit morgen muss nach nein nicht noch nun nur ob oder schon sehr "
        "sein seine seinem seinen seiner seit sich sie sind so soll um und uns unser unsere unserem "
        "unseren unserer viel vom von vor wann war waren warum was weil welche welchem welchen welches "
        "wem wen wenn wer werden wie wieder will wir wird wo wurde wurden zu zum zur über",
    "es":
        "a ahora al algo aquí así aún ayer bien buenas cada como con cuál cuándo cuánto cuántos cómo de "
        "del desde donde dos dónde el ella ellas ellos en entendido entonces era es esa esas ese eso esta "
        "estas este esto estos está están estoy fue gracias ha hace han has hasta hay he hola hoy la las "
        "le les lo los me mi mis muy más mañana ni no nos nosotros nuestra nuestras nuestro nuestros otra "
        "otro para pero por porque pues que quién qué se ser si sin sobre son soy su sus sí también te "
        "tiene tu tus tú un una unos unas usted va vez y ya yo él",
    "":
        "mr mrs ms dr prof sr sra au aussi avec bonjour ce ces cette dans elle est et il ils je le les "
        "mais merci moi mon ne nous on oui où par pas pour qui quoi sa sur toi ton une vous anche che chi "
        "ci ciao da di gli ho io lei lui ma noi non per più sono tutti а в вы да для до его ещё её и из "
        "или как кто мне мы на не нет но о он она они от по при с так там то ты у что это я 我 你 他 她 "
        "它 我们 你们 他们 大家 大家好 私 彼 彼女 僕 これ それ あれ はじめまして 저 저는 나 그 그녀 "
        "안녕하세요 أنا أنت هو هي نحن هم مرحبا من في إلى اسمي मैं मेरा मेरी मुझे तुम आप वह वे हम यह "
        "नमस्ते ผม ฉัน เขา เธอ เรา มัน",
}  # fmt: skip
SMALL: Final = {language: frozenset(words.split()) for language, words in SMALL_WORDS.items()}
NO_NAMES: Final = frozenset().union(*SMALL.values())  # no name begins with one, or consists of them alone
STOP_WORDS: Final = SMALL["en"] | SMALL["de"] | SMALL["es"]
HAN: Final = "[\u3400-\u4dbf\u4e00-\u9fff]"  # a string: `re` compiles it at its first use


def language_of(text: str) -> str:
    """Return zh if there is a Chinese character, else the language with most small words, en for a tie."""
    if not text.isascii() and re.search(HAN, text):
        return "zh"
    if "¿" in text or "¡" in text:
        return "es"
    words = [lower(match[0]) for match in word_matches(text)]
    return max("en", "de", "es", key=lambda language: sum(word in SMALL[language] for word in words))

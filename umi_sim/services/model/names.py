"""Names: the parts of a text that look like one, in any script, by frozen tables."""

import re
from collections.abc import Iterator
from typing import Final

from umi_sim.kernel.characters import ASCII, DENSE, LOWER, MARKS, SPACED, char_class, lower, tokens
from umi_sim.services.model.cues import DENSE_CUES

NAME_CHARS_MAX: Final = 60
QUOTED_CHARS_MAX: Final = 40
CASELESS_CHARS_MAX: Final = 8

Span = tuple[int, int, str]  # where a name starts and ends

# Function words and pronouns: none of them begins a name, and a name is not made of them alone.
NO_NAMES: Final = frozenset(
    "a about all also an and any are as at be before both but by can could did do does for forget "
    "from go good had has have he hello her here hers herself hi him himself his how i if in is it "
    "its itself just let many me mine my no not now of oh on one or our ours please she should so "
    "some thank thanks that the their theirs them themselves then there these they this those to "
    "two up us was we welcome were what when where which who why will with would yes yesterday you "
    "your yours aber am auch auf bitte danke das dass der des die du ein eine er es für hat ich ihr "
    "im ist ja kein mein mit nein nur oder sie sind und von war was wer wie wir wo zu al buenas "
    "como con de del el ella en entendido es eso esta este gracias hola la las lo los me mi muy no "
    "pero por que qué quién se sin soy su sí tu un una y yo au aussi avec bien bonjour ce ces cette "
    "dans elle est et il ils je le les mais merci moi mon ne nous on oui où par pas pour qui quoi "
    "sa sur toi ton une vous anche che chi ci ciao come da di gli ho io lei lui ma noi non per più "
    "sono tutti а в вы да для до его ещё её и из или как кто мне мы на не нет но о он она они от по "
    "при с так там то ты у что это я 我 你 他 她 它 我们 你们 他们 大家 大家好 私 彼 彼女 僕 これ "
    "それ あれ はじめまして 저 저는 나 그 그녀 안녕하세요 أنا أنت هو هي نحن هم مرحبا من في إلى اسمي "
    "मैं मेरा मेरी मुझे तुम आप वह वे हम यह नमस्ते ผม ฉัน เขา เธอ เรา มัน".split()
)

CONTROLS: Final = r"\x00-\x1f\x7f-\x9f"
QUOTES: Final = ('""', "“”", "„“", "«»", "[]", "「」", "『』", "【】", "《》")


def quoted(left: str, right: str) -> str:
    inside = rf"[^{re.escape(left + right)}{CONTROLS}]{{1,{QUOTED_CHARS_MAX}}}"
    return f"{re.escape(left)}({inside}){re.escape(right)}"


def name_pattern(below: int) -> str:
    """What looks like a name in a text of characters below a code point."""
    letters = char_class(SPACED, DENSE, MARKS, below=below)
    tail = f"{char_class(SPACED, MARKS, below=below)}+"
    capital = f"[{''.join(chr(code) for code in LOWER if code < below)}]"
    word = rf"(?<!{letters}){capital}(?:{tail}|(?=['’]{capital}))(?:[-'’]{capital}{tail})*"
    quotes = "|".join(quoted(*pair) for pair in QUOTES if ord(max(pair)) < below)
    return rf"{quotes}|([@#](?:{letters}|_)+)|(?P<run>{word}(?: {word}){{0,3}})"


# Texts, not patterns: `re` makes them when they are first needed, and keeps them. The one of ASCII is small.
NAME: Final = name_pattern(0x110000)
ASCII_NAME: Final = name_pattern(ASCII)

# One script each: a run of kanji ends where kana begin, and any run where a cue does.
CASELESS_SCRIPTS: Final = (
    "\u05d0-\u05ea", "\u0620-\u0652\u066e-\u06d3", "\u0900-\u0963\u0971-\u097f", "\u0e01-\u0e3a\u0e40-\u0e4e",
    "\u30a1-\u30fa\u30fc-\u30fe", "\u1100-\u11ff\uac00-\ud7a3", "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff",
    "\u3041-\u3096",
)  # fmt: skip
ANY_CUE: Final = "|".join(DENSE_CUES)
ANY_RUN: Final = "|".join(f"(?:(?!{ANY_CUE})[{script}])+" for script in CASELESS_SCRIPTS)
CASELESS: Final = f"(?=[\u0590-\uffff])(?:{ANY_CUE}|(?P<run>{ANY_RUN}))"
LETTER_WORD: Final = f"{char_class(SPACED, DENSE)}{char_class(SPACED, DENSE, MARKS)}*"
MARK: Final = char_class(MARKS)
APOSTROPHE_TAIL: Final = re.compile(r"['’][^\s]*")


def name_spans(text: str) -> list[Span]:
    """The names and where they stand; if no capital, quote or sign shows one, a run of a caseless script."""
    return [span for match in name_matches(text) if (span := named(match))] or first_run(text)


def name_matches(text: str) -> Iterator[re.Match[str]]:
    """What looks like a name; group `run` is a run of capitalised words, any other what stands in quotes."""
    return re.finditer(ASCII_NAME if text.isascii() else NAME, text)


def first_run(text: str) -> list[Span]:
    if text.isascii():
        return []
    runs = (match for match in re.finditer(CASELESS, text) if match["run"])
    spans = (spanned(match, match["run"][:CASELESS_CHARS_MAX]) for match in runs)
    return [span for span in [next(filter(None, spans), None)] if span]


def named(match: re.Match[str]) -> Span | None:
    if match["run"]:
        return spanned(match, without_function_words(match["run"]))
    return spanned(match, next(part for part in match.groups() if part))


def without_function_words(run: str) -> str:
    """A run of capitalised words from its first word on that may begin a name."""
    words = run.split(" ")
    start = next((at for at, word in enumerate(words) if lower(word) not in NO_NAMES), len(words))
    return " ".join(words[start:])


def spanned(match: re.Match[str], found: str) -> Span | None:
    name = " ".join(found[:NAME_CHARS_MAX].split())
    return (match.start(), match.end(), name) if is_name(name) else None


def is_name(name: str) -> bool:
    """Whether some word of letters in it is more than a function word, with and without its marks."""
    told = lower(APOSTROPHE_TAIL.sub("", name))
    words = tokens(told) if told.isascii() else re.findall(LETTER_WORD, told)
    return any(word not in NO_NAMES and bare(word) not in NO_NAMES for word in words)


def bare(word: str) -> str:
    return word if word.isascii() else re.sub(MARK, "", word).replace("ſ", "s")

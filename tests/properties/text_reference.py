"""Read texts as M0 of docs/spec/memory.md says: characters, words, sentences, languages, dates."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Final

from snowballstemmer.english_stemmer import EnglishStemmer  # type: ignore[import-untyped]

from umi_core.characters import LATER
from umi_core.data import Data
from umi_core.language.tables import (
    ABBREVIATIONS,
    DENIALS,
    DENSE_SCRIPTS,
    FLAG_HALVES,
    FOLDED_CHARACTERS,
    FULL_STOPS,
    GERMAN_MONTHS,
    IDLE,
    IRREGULAR_ROWS,
    MARKS,
    MAYBE_NAMES,
    ORDINAL_WORDS,
    SELECTORS,
    SHORT_FORMS,
    STATE_WORDS,
    STOP_WORDS,
)

# Texts as M0 (docs/spec/memory.md) says: composed, folded, cut, their words, and forbidden characters.


SURROGATES: Final = re.compile("[\ud800-\udfff]")
CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # by XML
STRANGE: Final = "\ufffd"  # stands where a character may not stand
APOSTROPHES: Final = "'’"
UNKNOWN: Final = re.compile(f"([{''.join(f'{chr(first)}-{chr(last)}' for first, last in LATER)}]+)")
ALONE: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")  # no spaces
KEPT: Final = 8_192  # a text is looked through far more often than it changes
SHOWN_CHARS: Final = 72  # of a value in a message

LETTER: Final = re.compile("[0-9A-Za-z]")
Clause = tuple[str, ...]  # the terms of a clause that say something
Told = tuple[Clause, frozenset[str]]  # and what must be told exactly: its numbers, and that it denies


def is_text(value: object) -> bool:
    return type(value) is str and (value.isascii() or not has_any(value, SURROGATES))


def has_any(text: str, chars: re.Pattern[str]) -> bool:
    return chars.search(text) is not None


def byte_count(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def tidy(text: str) -> str:
    """Return a name or label as it is stored."""
    return " ".join(compose(text).split())


def fold_name(text: str) -> str:
    """Return the key of a name: names that fold to the same text are one name."""
    return " ".join(map_known(text, lambda part: unicodedata.normalize("NFC", part).casefold()).split())


def letters_of(text: str) -> str:
    """Return a name in its barest spelling: small letters and digits, no marks, one width."""

    def bare(part: str) -> str:
        for _ in range(2):
            part = unicodedata.normalize("NFKD", part).casefold()
        return "".join(char for char in unicodedata.normalize("NFKD", part) if kind_of(char)[0] in "LN")

    return map_known(text, bare)


def drop_repeated(lines: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """Return the lines that are new, in their order: in no case, form or spacing are they known already."""
    return [
        line for n, line in enumerate(lines) if fold_name(line) not in {*map(fold_name, (*known, *lines[:n]))}
    ]


def compose(text: str) -> str:
    return map_known(text, lambda part: unicodedata.normalize("NFC", part))


# Characters that Unicode 14 does not have.


def map_known(text: str, change: Callable[[str], str]) -> str:
    """Change the runs that Unicode 14 knows; later characters stay as they are."""
    if text.isascii():
        return change(text)
    # One that is known, one that is not, and so on. A later Python may compose or fold what an older one
    # leaves alone; with this both do the same.
    runs = UNKNOWN.split(text)
    return "".join(run if at % 2 else change(run) for at, run in enumerate(runs))


def kind_of(char: str) -> str:
    """Return the category that Unicode gives a character."""
    return unicodedata.category(char)


def without_later(text: str) -> str:
    return UNKNOWN.sub(lambda run: STRANGE * len(run[0]), text)


def line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def cut(text: str, limit_bytes: int) -> str:
    """Return as many whole characters as fit."""
    data = text.encode()[:limit_bytes]
    return data.decode(errors="ignore")


def one_line(text: str) -> str:
    """Return the text with single spaces for runs of white space, and none at its ends."""
    return " ".join(text.split())


def replace_surrogates(text: str) -> str:
    """Replace each half of a surrogate pair, which no text may hold."""
    return re.sub("[\ud800-\udfff]", STRANGE, text)


def without_controls(text: str) -> str:
    return re.sub("[\x00-\x1f\x7f-\x9f]", STRANGE, text)


# Case.


def has_small(text: str) -> bool:
    """Return True if some known letter is a small one."""
    return any(unicodedata.category(char) == "Ll" for char in without_later(text))


def is_capital(text: str) -> bool:
    """Return True if all letters that have two forms are capitals, and there is one."""
    kinds = [unicodedata.category(char) for char in without_later(text)]
    return "Lu" in kinds and "Ll" not in kinds and "Lt" not in kinds


# Words.


def written_words(text: str) -> list[str]:
    """Return the words of a text as they stand there, with what follows an apostrophe: `Sheila's`.

    A run of letters and digits is one, with the marks of its letters; a character of a script without spaces
    is one by itself.
    """
    apart, is_letter, is_alone = "", False, False
    for char in compose(without_later(text)):
        is_mark, was_alone = is_letter and is_mark_of_letter(char), is_alone
        is_alone = is_alone if is_mark else has_any(char, ALONE)
        is_letter = is_mark or is_alone or char.isalnum()
        if not is_mark and (is_alone or (was_alone and char not in APOSTROPHES)):
            apart += " "  # what follows its own apostrophe stays with it
        apart += char if is_letter or char in APOSTROPHES else " "
    runs = re.sub(f"[{APOSTROPHES}]{{2,}}", " ", apart).split()  # two in a row join nothing
    return [bare for run in runs if (bare := run.strip(APOSTROPHES))]


@cache
def is_mark_of_letter(char: str) -> bool:
    return kind_of(char) in ("Mn", "Mc") and not lies_in(char, SELECTORS)


@lru_cache(maxsize=KEPT)
def words(text: str) -> tuple[str, ...]:
    """Return the words in small letters, each as far as its first apostrophe."""
    return tuple(re.split(f"[{APOSTROPHES}]", word)[0].casefold() for word in written_words(text))


@lru_cache(maxsize=KEPT)
def content_words(text: str) -> tuple[str, ...]:
    """Return the words that say something by themselves."""
    return tuple(word for word in words(text) if word not in STOP_WORDS)


# Terms, by which a search finds rows (M0.18 to M0.21).
#
# Law 1. Read from left to right, one character at a time: a letter joins the term that is open, or opens one.


@lru_cache(maxsize=KEPT)
def terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text that is searched."""
    return tuple(stem(it) for it in split_terms(text) if it)


@lru_cache(maxsize=KEPT)
def asked_terms(text: str) -> tuple[str, ...]:
    """Return the terms that a query asks for, each once."""
    asked = [it for it in split_terms(text, is_query=True) if it]
    telling = [it for it in asked if it not in STOP_WORDS]
    return tuple({stem(it): None for it in telling or asked})


def split_terms(text: str, is_query: bool = False) -> list[str]:
    found: list[str] = []
    for kind, letters in term_runs(map_known(text, bare_letters)):
        if kind == "spaced":
            pieces = "".join(letters).split("'")
            long = [piece for piece in pieces if len(piece) > 2]
            found += long or pieces[:1]
        elif kind == "dense":
            pairs = [first + second for first, second in pairwise(letters)]
            found += pairs if is_query and pairs else [*letters, *pairs]
        else:
            found += ["".join(letters[at : at + 2]) for at in range(0, len(letters), 2)]
    return found


def term_runs(text: str) -> list[tuple[str, list[str]]]:
    """Return letters that stand together, by how their script is written; a symbol stands alone.

    A mark belongs to the letter before it. An apostrophe joins two letters of a script with spaces.
    """
    runs: list[tuple[str, list[str]]] = []
    last = ""
    for at, char in enumerate(text):
        kind = script_of(char)
        if kind == "mark" and last in ("spaced", "dense"):
            runs[-1][1][-1] += char
            continue
        kind = "spaced" if kind == "mark" else kind
        if char == "'" and last == "spaced":
            after = script_of(text[at + 1]) if at + 1 < len(text) else ""
            kind = "spaced" if after in ("spaced", "mark") else ""
        if kind in ("spaced", "dense", "flag") and kind == last:
            runs[-1][1].append(char)
        elif kind:
            runs.append((kind, [char]))
        last = kind
    return runs


@cache
def script_of(char: str) -> str:
    """Return spaced or dense for a letter or digit, mark, flag or symbol; nothing for what divides terms."""
    if UNKNOWN.fullmatch(char):
        return "symbol"
    kind = kind_of(char)
    if kind[0] in "LN":
        return "dense" if lies_in(char, DENSE_SCRIPTS) else "spaced"
    if lies_in(char, FLAG_HALVES):
        return "flag"
    return {"Mn": "mark", "Mc": "mark", "So": "symbol"}.get(kind, "")


def bare_letters(text: str) -> str:
    """Return a known text without accents, case, width and what is not seen."""
    for _ in range(2):
        text = unicodedata.normalize("NFKD", text).casefold()
    seen = [char for char in unicodedata.normalize("NFKD", text) if not is_left_out(char)]
    return unicodedata.normalize("NFC", "".join(FOLDED_CHARACTERS.get(char, char) for char in seen))


@cache
def is_left_out(char: str) -> bool:
    """Return True for an accent, and for what encloses or only formats other characters.

    The class of an accent says that it is written over, into or around its letter.
    """
    # Combining classes: 1 is overlaid, 10 to 36 are the fixed ones of Hebrew,
    # Arabic and Syriac, above 199 are those over and under a letter. Between them
    # are signs that are letters of their own script, as vowel signs are.
    accent = unicodedata.combining(char)
    return (
        accent in (1, *range(10, 37))
        or accent > 199
        or kind_of(char) in ("Cf", "Me")
        or lies_in(char, SELECTORS)
    )


def lies_in(char: str, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(ord(char) in range(first, last + 1) for first, last in ranges)


@lru_cache(maxsize=KEPT)
def stem(term: str) -> str:
    """Return what the library makes of a word in plain letters."""
    return str(EnglishStemmer().stemWord(term)) if re.fullmatch("[a-z]+", term) else term


# Messages.


def escape_later(text: str) -> str:
    """Write characters that Unicode 14 does not have as an interpreter does that does not know them."""
    return UNKNOWN.sub(lambda run: run[0].encode("unicode_escape").decode(), text)


def show_value(value: object) -> str:
    """Return a value as a message shows it: short, and in one line."""
    if type(value) is int and abs(value) >= 2**256:
        return f"a number of {value.bit_length()} bits"
    text = value if isinstance(value, str) else escape_later(repr(value))
    is_plain = text.isprintable() and (text.isascii() or not UNKNOWN.search(text))
    line = text if is_plain else text.encode("unicode_escape").decode()
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}..."


# Sentences of a text, and those that no mention tells, as M10.17 to M10.19 say.


ENDS: Final = ".!?…"  # end a sentence if white space follows
BEFORE_WORDS: Final = "([{<\"'“”‘’„«»¿¡*_-"
NO_STOPS: Final = ((0x0E00, 0x0EFF),)  # Thai and Lao write a blank between two clauses


def list_uncovered(text: str, texts: Sequence[str]) -> list[str]:
    """List the sentences with a clause of which too little is covered."""
    known = [clause for each in texts for sentence in sentences(each) for clause in list_clauses(sentence)]
    stated = [(clause, sentence) for sentence in sentences(text) for clause in list_clauses(sentence)]
    distinct = {terms: runs_of(terms) for (terms, _), _ in stated}
    once = {run for run, count in Counter(chain.from_iterable(distinct.values())).items() if count == 1}
    own = {terms: once.intersection(runs) for terms, runs in distinct.items()}
    lost = {clause for clause, _ in stated if not is_covered(clause, own[clause[0]], known)}
    first = dict(reversed(stated))
    return drop_repeated(
        [sentence for clause, sentence in stated if clause in lost and first[clause] == sentence]
    )


def is_covered(clause: Told, own: set[str], known: Sequence[Told]) -> bool:
    """Return True if the known statements tell enough of `own`, the runs that only this clause has."""
    mine = runs_of(clause[0])
    if own:
        near = [it for it in known if 3 * len(runs_of(it[0]) & mine) >= len(runs_of(it[0]))]
        told = own.intersection(run for terms, _ in near for run in runs_of(terms))
    else:
        near = [it for it in known if holds_in_order(it[0], clause[0])]
        told = own
    is_exact = all(any(part in exact for _, exact in near) for part in clause[1])
    return bool(near) and 3 * len(told) >= len(own) and is_exact


def holds_in_order(statement: Clause, clause: Clause) -> bool:
    """Return True if the words of the clause are among those of the statement, one behind the other."""
    at = 0
    for term in clause:
        if term not in statement[at:]:
            return False
        at = statement.index(term, at) + 1
    return True


def list_clauses(sentence: str) -> list[Told]:
    """List what the clauses of a sentence say, those left out that say nothing."""
    words = re.split(r"(\s+)", sentence)
    inner = [";" if it.lower() in BUTS else it for it in words[1:-1]]
    parts = re.split("[;；]", "".join((words[0], *inner, *words[1:][-1:])))
    return [clause for part in parts for clause in list_parts(part.strip())]


BUTS: Final = ("but", "aber", "mais", "pero", "però", "mas", "maar", "ale", "но")


def list_parts(sentence: str) -> list[Told]:
    found, last = [""], ""
    for number, char in enumerate(sentence):
        follows = sentence[number:].lstrip()[:1]
        is_end = char.isspace() and lies_in(last, NO_STOPS) and lies_in(follows, NO_STOPS)
        found[-1] += char
        last = last if char.isspace() else char
        if is_end and not sentence[number + 1 : number + 2].isspace():
            found.append("")
    return [(terms, list_exact(clause)) for clause in found if (terms := list_telling_terms(clause))]


def list_exact(clause: str) -> frozenset[str]:
    """List the numbers of a clause, each as it would be without zeros before it, and a minus if it denies."""
    marked = "".join(char if char in digits else " " for char in clause).split()
    numbers = {number.lstrip("0") or "0" for number in marked}
    is_denied = any(word in DENIALS for word in words(clause))
    ends = (clause[at : at + 4].replace("’", "'") for at in range(len(clause)))
    is_denied |= any(it[:3] in ("n't", "N'T", "n'T", "N't") and not LETTER.match(it[3:]) for it in ends)
    return frozenset(numbers | {"-"} if is_denied else numbers)


@lru_cache(maxsize=KEPT)
def list_telling_terms(clause: str) -> Clause:
    """List the terms that say something: no idle word and no pronoun; with a word that is no bare number."""
    found = tuple(
        it for it in split_terms(clause, is_query=True) if it and it not in STOP_WORDS and it not in IDLE
    )
    is_saying = any(script_of(it[0]) in ("spaced", "dense") and not it.isdecimal() for it in found)
    return found if is_saying else ()


@lru_cache(maxsize=KEPT)
def runs_of(clause: Clause) -> frozenset[str]:
    """Return every three letters in a row, a blank at either end of a word; a term that is no word, whole."""
    found = set[str]()
    for term in clause:
        around = f" {term} "
        is_word = script_of(term[0]) == "spaced"
        found.update({around[at : at + 3] for at in range(len(term))} if is_word else {term})
    return frozenset(found)


def sentences(text: str) -> list[str]:
    """Return the text from one end of a sentence to the next; a line ends one too."""
    found = [""]
    for at, char in enumerate(text):
        is_end = char.isspace() and found[-1].endswith(tuple(ENDS))
        if char == "\n" or (is_end and not goes_on(found[-1], text[at:])):
            found.append("")
        else:
            found[-1] += char
        if char in FULL_STOPS:
            found.append("")
    return [it.strip() for it in found if it.strip()]


def goes_on(text: str, rest: str) -> bool:
    """Return True if what has been read of a sentence, up to white space, needs what follows."""
    before, last = ["", "", *(it.lstrip(BEFORE_WORDS) for it in text.split())][-2:]
    name, follows = last.removesuffix("."), rest.split("\n")[0].lstrip()
    is_small = follows[:1] in {*ascii_lowercase, *digits}
    is_capital = follows[:1] in {*ascii_uppercase}
    if not last.endswith("."):
        return False
    if name in ABBREVIATIONS:
        return True
    parts = name.split(".")
    is_dotted = len(parts) > 1 and all(len(it) in (1, 2) and {*it} <= {*ascii_letters} for it in parts)
    if name in SHORT_FORMS or is_dotted:
        first = re.split("[^A-Za-z0-9_]", follows)[0]
        is_state = is_dotted and all(len(it) == 1 and it in ascii_uppercase for it in parts)
        return is_small or (is_state and first in STATE_WORDS)
    if is_initial(last):
        if is_initial(before) or is_initial(follows[:2]):
            return is_small or is_capital
        return name in ascii_uppercase and before[:1] in {"", *ascii_uppercase} and is_capital
    if {*name} <= {*digits} and 1 <= len(name) <= 2:
        behind = [follows.removeprefix(it) for it in GERMAN_MONTHS if follows.startswith(it)]
        is_date = any(re.match("[A-Za-z0-9_]", it) is None for it in behind)
        return is_date or (before.lower() in ORDINAL_WORDS and is_capital)
    return False


def is_initial(word: str) -> bool:
    return len(word) == 2 and word[0] in {*ascii_letters} - {"I"} and word[1] == "."


# Sentences as they are written: words with what parts them, and the language that they are in (M13.3).
#
# Where does Ella live?      English: where, does; a word with a capital may be a name
# Wo wohnt sie?              German
# ¿Está allí?                Spanish, by its first mark


SENTENCE_STARTS: Final = '.!?…:;¿¡"“”„«»()—–\n'  # behind one of these a sentence begins


class Spoken(Data):
    """A word as it is compared and as it was written.

    `begins`: it begins a sentence. `belongs`: nothing but blanks or a hyphen stand between it and the word
    before.
    """

    text: str
    written: str
    begins: bool
    belongs: bool
    hyphen: bool = False

    @property
    def is_big(self) -> bool:
        return is_capital(self.written[0])


def spoken_words(text: str) -> list[Spoken]:
    found: list[Spoken] = []
    rest = compose(without_later(text))
    for written in written_words(text):
        gap, _, rest = rest.partition(written)
        begins = not found or any(char in SENTENCE_STARTS for char in gap)
        belongs = bool(found) and gap.strip() in ("", "-") and (gap == "-" or "-" not in gap)
        hyphen = gap == "-" and bool(found)
        bare, mark, tail = written.replace("’", "'").partition("'")
        if mark and bare.casefold() in ELIDED:
            # French `l'avion` is two words, `Ann's` is one.
            found.append(Spoken(bare.casefold(), written[: len(bare)], begins, belongs, hyphen))
            hyphen, begins, belongs, written = False, False, True, written[len(bare) + 1 :]
            bare = tail.partition("'")[0]
        found.append(Spoken(bare.casefold(), written, begins, belongs, hyphen))
    return found


def apart_in_spanish(found: list[Spoken]) -> list[Spoken]:
    """Return words with the pronouns behind a Spanish verb apart: `cambiarla`, `habérselo`."""
    parted: list[Spoken] = []
    for it in found:
        match = re.fullmatch("(.*(?:[aeiáéí]r|ndo))((?:[mt]e|nos|se)?)(l[aoe]s?)", it.text)
        if (
            match is None
            or it.is_big
            or it.text in ("charla", "charlas", "perla", "perlas", "burla", "burlas")
        ):
            parted.append(it)
            continue
        verb = match[1].replace("á", "a").replace("é", "e").replace("í", "i")
        parted.append(Spoken(verb, verb, it.begins, it.belongs))
        parted += [Spoken(part, part, False, True, True) for part in match.groups()[1:] if part]
    return parted


ELIDED: Final = ("l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "puisqu")


def language_of(text: str, spoken: list[Spoken]) -> str:
    """Return the language of most words; empty if none is known."""
    if set("¿¡") & set(text):
        return "es"
    small = [it.text for it in spoken if not it.is_big or (it.begins and it.text not in MAYBE_NAMES)]
    # More than, not as many as: of equal counts the language that MARKS has first.
    best, best_count = "", 0
    for language, marks in MARKS.items():
        count = len([word for word in small if word in marks])
        if count > best_count:
            best, best_count = language, count
    return best


def name_places(text: str, spoken: list[Spoken], language: str) -> list[int]:
    """Return the places of words with a capital that their place does not explain."""
    if not has_small(text):
        return []
    inner = [it for it in spoken if not it.begins]
    # "How To Fix It": where every word has a capital, capitals tell nothing.
    is_title = not any(it.written[0].isalpha() and not it.is_big for it in inner)
    found = []
    for place, it in enumerate(spoken):
        after = spoken[place + 1] if place + 1 < len(spoken) else None
        is_acronym = len(it.text) > 1 and is_capital(it.written)
        if it.begins:
            is_full = language == "es" and after is not None and after.is_big and after.belongs
            is_odd = language == "" or is_full
        else:
            is_odd = not is_title
        if it.text != "i" and (is_acronym or (it.is_big and is_odd)):
            found.append(place)
    return found


# Dates, plainly: a day is found by walking through years and months, one by one.


DAY_MS: Final = 86_400_000
LAST_MS: Final = 253_402_300_799_999  # of the year 9999
MONTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    return year % 400 == 0 or (year % 4 == 0 and year % 100 != 0)


@cache
def date_of(day: int) -> str:
    """Return the date so many days after the first of 1970."""
    year = 1970
    while day >= 365 + is_leap(year):
        day -= 365 + is_leap(year)
        year += 1
    lengths = [length + (at == 1 and is_leap(year)) for at, length in enumerate(MONTHS)]
    month = 0
    while day >= lengths[month]:
        day -= lengths[month]
        month += 1
    return f"{year:04}-{month + 1:02}-{day + 1:02}"


def clock_of(ms: int) -> str:
    day, rest = divmod(ms, DAY_MS)
    seconds = rest // 1_000
    clock = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{date_of(day)}T{clock}.{rest % 1_000:03}"


def format_time(ms: int) -> str | None:
    """Return a time as the wire writes it: None for 0, the end of 9999 for later ones."""
    return None if ms == 0 else f"{clock_of(min(ms, LAST_MS))}Z"


def format_minute(ms: int) -> str:
    return f"{clock_of(min(ms, LAST_MS))[:16]}Z"


# Forms of words.

ENDINGS: Final = {  # that may differ in two forms of a word, of which three letters stay
    "en": "ies ing ed es s e y",
    "de": "en em er es e n s",
    "es": "ados ado ada ido ida os as es o ó a s e n ar er ir",
    "fr": "es e s x",
}


@lru_cache(maxsize=KEPT)
def bare(word: str, language: str) -> str:
    """Return a word without endings: what it is a form of, as far as a table says, else itself."""
    for name, row in IRREGULAR_ROWS:
        for group in row.split(",") if name == language else ():
            if word in group.split()[1:]:
                return shorten(group.split()[0], language)
    return shorten(word, language)


def shorten(word: str, language: str) -> str:
    # `houses` and `house` both become `hou`: what matters is that forms of a word meet, not what is left.
    for ending in ENDINGS.get(language, "").split():
        if word.endswith(ending):
            return shorten(word[: -len(ending)], language) if len(word) - len(ending) >= 3 else word
    return word

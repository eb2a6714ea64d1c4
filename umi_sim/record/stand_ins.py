"""Stand-ins: other words in place of those of a recording, so that it can be shown to anyone.

Law 1. Each word has one stand-in, of the same form and with as many characters and bytes. Different words
have different stand-ins while there are enough, so two texts have as many words in common as before.
Law 2. Everything that the memory searches texts for stays: words of its own code, numbers of up to three
digits, and characters between words. Other words are replaced; only the secret reveals which.
Law 3. All vectors get the same permutation and signs, so the inner product of any two stays the same.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from msgspec import structs

import umi_core
from umi_core.data import is_struct
from umi_core.ids import LOG_PREFIXES, pack
from umi_core.kelpie.domains import SEQ_DIGITS
from umi_core.language.antecedents import FIRST_NAMES
from umi_core.language.words import ALONE
from umi_core.messages.answers import Embedded, ModelReplied
from umi_core.rows import Vector
from umi_core.text import is_text
from umi_core.tiers import session
from umi_core.values import BLOCK_KINDS, Block, Entry
from umi_sim.kernel.characters import is_upper, lower

ID: Final = "[a-z]{3}_[0-9a-f]{24}"
OF_LOG: Final = rf"\b(?:{'|'.join(LOG_PREFIXES.values())})_[0-9]{{{SEQ_DIGITS}}}\b"  # a place, not a text
WORD: Final = re.compile(rf"[{ALONE}]|[^\W_{ALONE}]+")
TOKEN: Final = re.compile(
    rf"{OF_LOG}|(?P<id>\b{ID}(?![0-9a-f]))|(?P<letter>\\u[0-9a-fA-F]{{4}})|\\[\"\\/bfnrt]|(?P<word>{WORD.pattern})"
)
NUMBER: Final = re.compile(rb"[+-]?[0-9]{1,20}")  # a value that the memory can count with
SMALL: Final = re.compile("[0-9]{1,3}")
SMALL_MAX: Final = 999
SILENT: Final = ("state_checks.py", "errors.py", "prompts.py")  # their literals are never sought in texts
LETTERS: Final = {  # by number of bytes, one letter for each value of a nibble
    2: "абвгдежзиклмнопр", 3: "აბგდევზთიკლმნოპჟ", 4: "".join(chr(0x10330 + n) for n in range(16)),
}  # fmt: skip
ORDERS: Final[Mapping[type, Callable[[Any], Any]]] = {  # by class, the sort key of its lists
    Block: lambda it: it.order if it.kind in BLOCK_KINDS else (-1, b""),
    Entry: attrgetter("promoted_ms", "entity_id"),
}
HALVES: Final = range(0xD800, 0xE000)  # surrogates: JSON writes emoji as two of them
TRIES_MAX: Final = 64  # to find an unused stand-in: few words have one letter


@cache
def known_words() -> frozenset[str]:
    """Return the words of all texts in the code of the memory, without first names and SILENT files."""
    found = {"amp", "lt", "gt", "quot", "apos"}
    for path in Path(umi_core.__file__).parent.rglob("*.py"):
        if not any(part in SILENT for part in path.parts):
            for text in literals(ast.parse(path.read_text("utf-8"))):
                found.update(word.casefold() for word in WORD.findall(text))
    return frozenset(found)


def literals(node: ast.AST) -> Iterator[str]:
    """Yield the string literals of a syntax tree, without docstrings and the table of first names."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.AnnAssign) and getattr(part.target, "id", "") == "FIRST_NAME_ROWS":
            continue  # a name identifies the person that a text is about, so it is replaced
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and not isinstance(node, ast.Expr):
            yield part.value
        yield from literals(part)


class StandIns:
    """The stand-ins that follow from one secret. A caller may set those of row ids in `ids`."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret
        self.ids: dict[str, str] = {}
        self.words: dict[str, str] = {}
        self.taken = set(known_words())
        self.turns: dict[int, tuple[tuple[int, int], ...]] = {}

    def value(self, it: Any) -> Any:
        """Return a value of umi_core with stand-ins in place of its texts, bytes and vectors."""
        match it:
            case str():
                return self.text(it)
            case bytes():
                return self.data(it)
            case tuple() | list():
                return it.__class__(in_order([self.value(part) for part in it]))
            case dict():
                return {self.value(key): self.value(part) for key, part in it.items()}
            case ModelReplied():
                return structs.replace(it, text=self.reply(it.text))
            case Embedded(vectors=tuple(vectors)):
                return structs.replace(it, vectors=tuple(self.vector(vector) for vector in vectors))
            case Vector():
                found = self.vector(it.components)
                return structs.replace(it, entity_id=self.text(it.entity_id), components=found)
        if not is_struct(it.__class__):
            return it
        fields = it.__struct_fields__
        return structs.replace(it, **{name: self.value(getattr(it, name)) for name in fields})

    # Texts.

    def text(self, text: str) -> str:
        return TOKEN.sub(self._token, text)

    def reply(self, text: str) -> str:
        """Replace the strings of a JSON text, and numbers above SMALL_MAX, which may identify a person."""
        try:
            made = self._json(json.loads(text))
        except (ValueError, RecursionError):
            return self.text(text)
        written = json.dumps(made, ensure_ascii=False)
        return written if is_text(written) else json.dumps(made)  # a lone surrogate must be escaped

    def data(self, data: bytes) -> bytes:
        if NUMBER.fullmatch(data):
            return data
        try:
            return self.text(data.decode()).encode()
        except UnicodeDecodeError:
            return self._snapshot(data)

    def _snapshot(self, data: bytes) -> bytes:
        """Replace the words of a saved session and seal it again; other bytes become as many random ones."""
        match session.unpack_value(data):
            case [_, _, bytes(body), bytes()] if data == session.seal_body(body):
                match session.unpack_value(body):
                    case [saved_ms, list(rows), info] if session.bad_rows(rows) is None:
                        rows = sorted(self.value(rows))
                        return session.seal_body(pack([saved_ms, rows, self.value(info)]))
        return self._stream(data, len(data))

    def _json(self, it: Any) -> Any:
        match it:
            case str():
                return self.text(it)
            case list():
                return [self._json(part) for part in it]
            case dict():
                return {self.text(key): self._json(part) for key, part in it.items()}
            case int() | float() if SMALL_MAX < abs(it) < float("inf"):
                return int(self.text(str(int(it))))
        return it

    def _token(self, match: re.Match[str]) -> str:
        if match["id"]:
            return self.id(match["id"])
        if match["letter"]:
            code = int(match["letter"][2:], 16)
            return match[0] if code in HALVES else f"\\u{ord(self._word(chr(code))):04x}"
        return self._word(match["word"]) if match["word"] else match[0]

    def id(self, row_id: str) -> str:
        if row_id not in self.ids:
            self.ids[row_id] = row_id[:4] + self._stream(row_id.encode(), 12).hex()
        return self.ids[row_id]

    def _word(self, word: str) -> str:
        if word.casefold() in known_words() or SMALL.fullmatch(word):
            return word
        small = lower(word)
        # "Tea" and "tea" share a stand-in, and capitals are restored letter by letter. A word whose lower
        # case has another number of bytes gets a stand-in of its own.
        plain = small if len(small.encode()) == len(word.encode()) else word
        if plain not in self.words:
            self.words[plain] = self._fresh(plain)
        made = zip(word, self.words[plain], strict=True)
        return "".join(new.upper() if is_upper(old) else new for old, new in made)

    def _fresh(self, word: str) -> str:
        # A first name becomes another first name, because the memory resolves `she` and `he` by them.
        for made in self._names_like(word):
            if made not in self.taken:
                self.taken.add(made)
                return made
        for n in count():
            chances = self._stream(word.encode() + b"%d" % n, len(word))
            made = "".join(letter(old, chance) for old, chance in zip(word, chances, strict=True))
            if (made not in self.taken and made != word) or n == TRIES_MAX:
                self.taken.add(made)
                return made
        raise AssertionError

    def _names_like(self, word: str) -> list[str]:
        """Return the other first names of this length that fit the same pronouns, in a secret order."""
        kinds = FIRST_NAMES.get(word)
        fitting = [it for it, of in FIRST_NAMES.items() if of == kinds and is_alike(it, word)]
        return sorted(fitting, key=lambda it: self._stream(f"{word} {it}".encode(), 8))

    # Vectors.

    def vector(self, vector: Any) -> Any:
        """Permute the components of a vector and change signs; a malformed one is a plain value."""
        if not isinstance(vector, tuple) or not all(type(it) is int for it in vector):
            return self.value(vector)
        if len(vector) not in self.turns:
            self.turns[len(vector)] = tuple(self._turn(len(vector)))
        return tuple(sign * vector[at] for at, sign in self.turns[len(vector)])

    def _turn(self, dims: int) -> list[tuple[int, int]]:
        """Draw, for each new component, the old component that it takes and its sign."""
        # Sorting by random keys gives a random permutation; the last byte of a key decides the sign. Inner
        # products stay, because both vectors get the same permutation and the same signs.
        keys = [self._stream(b"%d of %d" % (at, dims), 9) for at in range(dims)]
        return [(at, 1 if keys[at][8] % 2 else -1) for at in sorted(range(dims), key=keys.__getitem__)]

    def _stream(self, data: bytes, size: int) -> bytes:
        parts = range(size // 64 + 1)
        return b"".join(blake2b(data, key=self.secret, salt=b"%d" % n).digest() for n in parts)[:size]


def in_order(parts: list[Any]) -> list[Any]:
    """Sort blocks and entries again, since labels and ids have changed; return other lists unchanged."""
    order = ORDERS.get(type(parts[0])) if parts else None
    return parts if order is None else sorted(parts, key=order)


def is_alike(one: str, other: str) -> bool:
    """Return whether two words differ, and each letter has as many bytes in both."""
    return one != other and [len(it.encode()) for it in one] == [len(it.encode()) for it in other]


def letter(old: str, chance: int) -> str:
    """Return a letter or digit of the same form as `old`; the byte `chance` picks it."""
    if old.isascii():
        return chr(ord("0") + chance % 10) if old.isdigit() else chr(ord("a") + chance % 26)
    if re.fullmatch(f"[{ALONE}]", old):
        return chr(0x4E00 + chance)
    return LETTERS[len(old.encode())][chance % 16]

"""Chinese: what a text without spaces mentions and refers to, by a frozen lexicon and the longest match.

Law 1. A run of characters that the lexicon does not know is a name. Law 2. One pass.
"""

import re
from itertools import pairwise
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.services.model import chinese_words
from umi_sim.services.model.chinese_words import COUNTING, LEXICON, PIECE_CHARS_MAX, SURNAMES, TITLES
from umi_sim.services.model.mentions import ABOUT, ASIDE, PLAIN, Mention
from umi_sim.services.model.references import Reference

NAME_CHARS_MAX: Final = 12
AND: Final = ("和", "跟", "与")
FAMILIAR: Final = ("小", "老", "阿")
SMALL: Final = ("小", "大", "新", "旧", "老")
THINGS: Final = ("name", "noun", "latin", "place")
SENTENCE_END: Final = "。！？!?\n；"
HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
LATIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+#-]*(?: [A-Z0-9][A-Za-z0-9.+#-]*)*")
QUOTED: Final = re.compile('[《「『“"【]([^》」』”"】\n]{1,30})[》」』”"】]')


@attrs.frozen
class Piece(Data):
    """A word of the lexicon, a run of unknown characters, a word in other letters, or a mark between them.

    `kind` is that of the lexicon, or name, latin, stop.
    """

    text: str
    start: int
    kind: str
    sentence: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def pieces(text: str) -> list[Piece]:
    """The text cut from left to right at the longest words of the lexicon; unknown neighbours join."""
    found: list[Piece] = []
    at = sentence = 0
    while at < len(text):
        length, kind = length_at(text, at)
        piece = text[at : at + length]
        if kind == "name" and found and found[-1].kind == "name":
            found[-1] = attrs.evolve(found[-1], text=found[-1].text + piece)
        else:
            found.append(Piece(piece, at, kind, sentence))
        sentence += piece in SENTENCE_END
        at += length
    return found


def length_at(text: str, at: int) -> tuple[int, str]:
    """How long the word is that begins here, and what it is."""
    if match := LATIN.match(text, at):
        return len(match[0]), "latin"
    if not HAN.match(text, at):
        return 1, "stop"
    lengths = range(min(PIECE_CHARS_MAX, len(text) - at), 0, -1)
    length = next((n for n in lengths if text[at : at + n] in LEXICON), 0)
    return max(1, length), LEXICON.get(text[at : at + length], "name")


def mentions(text: str) -> list[Mention]:
    """What a text mentions: the last is what a reference behind the text means first."""
    quotes = [Mention(match[1], match.start(), match.end(), "thing") for match in QUOTED.finditer(text)]
    found = Reader(QUOTED.sub(lambda match: "，" * len(match[0]), text)).read() + quotes
    found.sort(key=lambda mention: (mention.start, mention.end))
    both = [
        attrs.evolve(right, text=text[left.start : right.end], start=left.start, kind="group", is_plural=True)
        for left, right in pairwise(found)
        if left.kind == right.kind == "person" and text[left.end : right.start] in AND
    ]
    return sorted(found + both, key=lambda mention: (mention.sentence, mention.rank))


class Reader:
    """One pass over the pieces of a text."""

    def __init__(self, text: str) -> None:
        self.cut = pieces(text)

    def read(self) -> list[Mention]:
        found: list[Mention] = []
        at = 0
        while at < len(self.cut):
            mention = self.person(at) or self.thing(at)
            if mention is None:
                at += 1
                continue
            found.append(mention)
            while at < len(self.cut) and self.cut[at].start < mention.end:
                at += 1
        return found

    def text_at(self, at: int) -> str:
        return self.cut[at].text if 0 <= at < len(self.cut) else ""

    def kind_at(self, at: int) -> str:
        return self.cut[at].kind if 0 <= at < len(self.cut) else "stop"

    def mention(self, at: int, text: str, kind: str, gender: str = "") -> Mention:
        piece, before = self.cut[at], self.text_at(at - 1 - (self.text_at(at - 1) in ("了", "过")))
        is_first = at == 0 or self.cut[at - 1].sentence != piece.sentence
        is_about = kind in ("thing", "place") and (is_first or (before == "的" and at < 4))
        is_about = is_about and not any(
            verb.text in chinese_words.AGENTIVE for verb in self.cut[at + 1 : at + 4]
        )
        rank = ASIDE if before in chinese_words.WHERE else ABOUT if is_about else PLAIN
        return Mention(
            text, piece.start, piece.start + len(text), kind, gender, kind == "group", False, before, rank,
            piece.sentence,
        )  # fmt: skip

    def person(self, at: int) -> Mention | None:
        """A noun for a person with its owner, or a surname with a title or a given name."""
        piece, follower = self.cut[at], self.text_at(at + 1)
        if piece.kind in ("person", "group"):
            return self.mention(at, piece.text, piece.kind, gender_of(piece.text))
        if piece.text in ("我", "你") and self.kind_at(at + 1) in ("person", "group"):
            return self.mention(at, piece.text + follower, self.kind_at(at + 1), gender_of(follower))
        called = piece.text if len(piece.text) == 2 else piece.text + follower
        if len(called) == 2 and called[0] in FAMILIAR and called[1] in SURNAMES:
            return self.mention(at, called, "person")
        if piece.text[0] not in SURNAMES or self.text_at(at - 1) in COUNTING:
            return None
        if len(piece.text) == 1 and follower in TITLES:
            return self.mention(at, piece.text + follower, "person", gender_of(follower))
        if piece.kind == "name" and len(piece.text) in (2, 3):
            return self.mention(at, piece.text, "person", gender_of(piece.text))
        if (
            len(piece.text) == 1
            and piece.kind != "name"
            and self.kind_at(at + 1) == "name"
            and len(follower) < 3
        ):
            return self.mention(at, piece.text + follower, "person", gender_of(follower))
        return None

    def thing(self, at: int) -> Mention | None:
        """Names, nouns, places and words in other letters that stand together."""
        start = at
        if self.text_at(at) in SMALL and len(self.text_at(at + 1)) == 1 and self.kind_at(at + 1) in THINGS:
            at += 1
        end = at
        while self.kind_at(end) in THINGS:
            end += 1
        if end == at:
            return None
        text = "".join(piece.text for piece in self.cut[start:end])
        is_short = len(text) < 2 and self.kind_at(at) != "noun"
        is_long = len(text) > NAME_CHARS_MAX and not LATIN.fullmatch(text)
        if is_short or is_long or text[0].isdecimal():
            return None
        is_place = self.kind_at(end - 1) == "place" or text.endswith(tuple(chinese_words.PLACE_ENDS))
        return self.mention(start, text, "place" if is_place else "thing")


def gender_of(word: str) -> str:
    """The gender that a noun, a title or the end of a given name tells."""
    if word in chinese_words.MALES or word in chinese_words.FEMALES:
        return "m" if word in chinese_words.MALES else "f"
    return (
        "f" if word[-1] in chinese_words.FEMALE_ENDS else "m" if word[-1] in chinese_words.MALE_ENDS else ""
    )


# References.

TERMS: Final = re.compile(
    "其他|其它|吉他|(?P<group>他们|她们)|(?P<things>它们|这些|那些)|(?P<m>他)|(?P<f>她)|(?P<it>它)"
    "|(?P<matter>这件事|那件事)|(?P<place>这里|那里|那儿|这儿)|(?P<that>这个|那个|[这那](?=[台份家本辆部次]))"
)
ROLES: Final = {
    "group": ("group", ""), "things": ("things", ""), "m": ("person", "m"), "f": ("person", "f"),
    "it": ("thing", ""), "matter": ("thing", ""), "place": ("place", ""), "that": ("thing", ""),
}  # fmt: skip


def references(query: str) -> list[Reference]:
    """The references of a query by place."""
    found = []
    for match in TERMS.finditer(query):
        if match.lastgroup is not None:
            role, gender = ROLES[match.lastgroup]
            noun = noun_at(query, match.end()) if match.lastgroup in ("that", "things") else ""
            found.append(Reference(match.start(), match.end(), role, gender, "object", noun))
    return found


def noun_at(query: str, at: int) -> str:
    """The noun behind a demonstrative, if it is one that is in no table."""
    cut = pieces(query[at : at + NAME_CHARS_MAX])
    return cut[0].text if cut and cut[0].kind in ("person", *THINGS) else ""

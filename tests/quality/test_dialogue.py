"""Goal: questions as people ask them are read rightly: what refers, what a rewrite may be, who is a name.

They were labelled before any rule had seen them: whether they refer to something, which words of the turns
it is, rewrites that are right, and rewrites that are wrong, with what is wrong about them. The last 62 were
written when the rules for the others stood: all 40 that refer were found, and 9 of 22 others taken for
references; rules were then made for 8 of these.
"""

import json
from pathlib import Path
from typing import Final

from tools.references import Example, example, examples, resolved
from umi_core.data import Data
from umi_core.language.prompts import ask_extract
from umi_core.language.rewriting import judge_rewrite, resolve_without_model, shown_turns
from umi_core.language.words import content, words
from umi_sim.services.model import truth

HERE: Final = Path(__file__).parent
ROWS: Final = [json.loads(line) for line in (HERE / "dialogue.jsonl").read_text("utf-8").splitlines()]
CONFIDENCE_MIN_PPM: Final = 500_000

FOUND_PERCENT_MIN: Final = 97  # of what refers
POINTED_PERCENT_MIN: Final = 95  # of what is found, does refer
RIGHT_TAKEN_PERCENT_MIN: Final = 95
RESOLVED_RIGHTLY_PERCENT_MIN: Final = 95
NAMES_PERCENT_MIN: Final = 95

# All names of the talk, by hand; of a longer one a part will do.
NAMES: Final = """Bristol,
Odile, March, Fauré, Requiem, Easter, Anselm, Oslo, B22, Tamsin, GPU, Professor Varga,
Bram, Ottilie, Utrecht, Crete, Pemberton, Ingeborg, June, Casimir, Coimbra, Europe, Portuguese,
Yusra, Quay Lane, Lumix, Hedda, Runa, Piet, Joost, Ann, Ella, Su, Este, Er, Beijing, Bogart, Esta,
Stephen King, It, Her, Oscars, Will, Iris, Gdansk, Basque, Sundays, Nairobi, Lyon, Monday, Tuesday,
Esperanto, Elm Street, November, Aunt Petra, Ravi, Cousine Wiebke, Lüneburg, Celle, Begoña, Cádiz,
Ana, Ella Fitzgerald, Fitzgerald, Lima, 杭州, Leeds, York, Thursday, Emma, Vienna, Leipzig, Tom,
Chris, Nadia, Hamburg, Grandma, Er Ming, Rome, Porto, Friday, Sunday, Prag, Sevilla, Mozartkugeln,
北京, Retired, Professor""".replace("\n", " ").split(", ")


class Labelled(Data):
    """A question, and how people labelled it."""

    example: Example
    refers: bool
    right: tuple[str, ...]
    wrong: tuple[tuple[str, str], ...]

    @property
    def is_asked(self) -> bool:
        """Whether a model is asked what it means."""
        return resolve_without_model(self.example.query, shown_turns(self.example.turns), True) is None

    def takes(self, rewrite: str) -> bool:
        shown = shown_turns(self.example.turns)
        resolution = judge_rewrite(rewrite, self.example.query, shown, CONFIDENCE_MIN_PPM)
        return self.is_asked and resolution.outcome == "resolved"


LABELLED: Final = [
    Labelled(example(row), row["refers"], tuple(row["right"]), tuple(map(tuple, row["wrong"])))
    for row in ROWS
]


def test_the_dialogue_is_large_and_no_question_stands_twice() -> None:
    assert len({(one.example.turns, one.example.query) for one in LABELLED}) == len(LABELLED) >= 120
    assert 60 <= sum(one.refers for one in LABELLED) <= len(LABELLED) - 60


def test_what_refers_is_found_and_of_the_rest_no_model_is_asked() -> None:
    asked = [one for one in LABELLED if one.is_asked]
    right = sum(one.refers for one in asked)
    assert right * 100 >= FOUND_PERCENT_MIN * sum(one.refers for one in LABELLED)
    assert right * 100 >= POINTED_PERCENT_MIN * len(asked)


def test_right_rewrites_are_taken() -> None:
    pairs = [(one, rewrite) for one in LABELLED for rewrite in one.right]
    taken = [one.takes(rewrite) for one, rewrite in pairs]
    assert sum(taken) * 100 >= RIGHT_TAKEN_PERCENT_MIN * len(taken)


def test_no_rewrite_changes_a_person_drops_a_word_or_adds_one() -> None:
    kinds = ("person", "dropped", "foreign", "inflected_wrong")
    pairs = [(one, rewrite) for one in LABELLED for kind, rewrite in one.wrong if kind in kinds]
    assert len(pairs) > 50
    assert [rewrite for one, rewrite in pairs if one.takes(rewrite)] == []


def test_what_refers_to_nothing_is_rewritten_to_nothing() -> None:
    pairs = [(one, rewrite) for one in LABELLED if not one.refers for _, rewrite in one.wrong]
    assert len(pairs) > 30
    assert sum(one.takes(rewrite) for one, rewrite in pairs) * 100 <= 10 * len(pairs)


def is_right(one: Example, words_right: set[str]) -> bool:
    """Whether all that was put into the query is what it means."""
    added = set(content(words(resolved(one).query))) - set(words(one.query))
    return bool(one.expected) and added <= words_right


def test_what_the_model_resolves_is_right_or_left_alone() -> None:
    labelled = [(one.example, set(words(" ".join((*one.example.expected, *one.right))))) for one in LABELLED]
    chat = examples((HERE / "chat.jsonl").read_text("utf-8"))
    labelled += [(one, set(words(" ".join(one.expected)))) for one in chat]
    adopted = [(one, right) for one, right in labelled if resolved(one).outcome == "resolved"]
    assert len(adopted) > 60
    unlike = [one.query for one, right in adopted if not is_right(one, right | DESCRIBING)]
    assert len(unlike) * 100 <= (100 - RESOLVED_RIGHTLY_PERCENT_MIN) * len(adopted), unlike


DESCRIBING: Final = set(
    """my your our mein meine unsere mi mis the der die das dem den el la los new neues zu in an für auf en
    melanie 我""".split()
)


def test_names_that_are_extracted_are_names() -> None:
    texts = dict.fromkeys(turn.text for one in LABELLED for turn in one.example.turns)
    queries = dict.fromkeys(one.example.query for one in LABELLED)
    names = [row["name"] for text in (*texts, *queries) for row in extracted(text)]
    odd = [name for name in names if not any(known in name or name in known for known in NAMES)]
    assert len(names) > 70
    assert len(odd) * 100 <= (100 - NAMES_PERCENT_MIN) * len(names), odd


def extracted(text: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(truth("extract", ask_extract(text)))["entities"]
    return rows

"""Finding: does a memory without a model find the turns that answer a question, beside plain FTS5?

    .venv/bin/python -m tools.measured.finding locomo10.json longmemeval_s.json
    .venv/bin/python -m tools.measured.finding --samples 2 locomo10.json

Each file is in the format of LoCoMo (samples with `conversation` and `qa`) or of LongMemEval (questions with
`haystack_sessions`). Three memories get the same turns in the order of the dialogue, and are asked the same
questions: `remember` of umi_live, with the speaker; `create_entity` of umi_live, a fact for each turn, which
shows what its ranking alone is worth; and FTS5 (porter stems, bm25).

A hit is a hit if its text, with that of the fact that it shows behind it, has the words of a line of a turn
that the file names as evidence, or a sentence of it is a part of that line: a memory may divide a line, and
puts dates behind words such as `yesterday`. hit@5 and hit@10 are the shares of questions with one among the
first 5 and 10; `2,000
characters` is the share of questions with one in the first 2,000 characters of all hits, as a prompt would
show them. The last column is the mean number of characters in 5 hits: facts are shorter than turns.

The data are other people's: they are read from where you have them, and are no part of this repository.
"""

import argparse
import json
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from umi_core.chats.reader import read_chat_file
from umi_core.data import Data, Owner
from umi_core.language.sentences import sentences
from umi_core.language.words import words
from umi_live.blocking import BlockingMemory, open_blocking

HIT_COUNTS: Final = (5, 10)
SHOWN_CHARS: Final = 2_000
LIMIT: Final = 20
HEAD: Final = (
    "by", "questions", *(f"hit@{count}" for count in HIT_COUNTS), f"{SHOWN_CHARS:,} characters",
    "length of 5 hits",
)  # fmt: skip


class SpokenTurn(Data):
    """One turn of a dialogue, with its speaker."""

    speaker: str
    text: str


class LabelledQuestion(Data):
    """A question, and the places of the turns that answer it."""

    text: str
    evidence: frozenset[int]


class Dialogue(Data):
    """Turns in their order, and what is asked about them."""

    turns: tuple[SpokenTurn, ...]
    questions: tuple[LabelledQuestion, ...]


Places = Mapping[tuple[int, int], int]  # of turns among all, by conversation and number in it


class Tally(Owner):
    """How many questions found their evidence, by measure."""

    questions: int = 0
    found: dict[str, int] = {}
    length_sum: int = 0  # of the first five hits, in characters

    def add(self, texts: Sequence[str], lines: Sequence[str]) -> None:
        """Count a question: the texts of its hits in order, and the lines that answer it."""
        self.questions += 1
        self.length_sum += sum(map(len, texts[:5]))
        has_line = [has_evidence(text, lines) for text in texts]
        measured = {f"hit@{count}": any(has_line[:count]) for count in HIT_COUNTS}
        measured[HEAD[-2]] = has_evidence("\n".join(texts)[:SHOWN_CHARS], lines)
        for name, is_found in measured.items():
            self.found[name] = self.found.get(name, 0) + is_found

    def row(self, name: str) -> tuple[str, ...]:
        shares = (f"{100 * self.found.get(head, 0) / max(1, self.questions):.1f} %" for head in HEAD[2:-1])
        return name, str(self.questions), *shares, str(self.length_sum // max(1, self.questions))


ADDED_DATE: Final = r" \([-\d/]{4,}\)"  # `Last week (2026-11-23/2026-11-29) I bought a bike.`
WORD_COUNT_MIN: Final = 3  # of a part of a line that counts as evidence


def has_evidence(text: str, lines: Sequence[str]) -> bool:
    """Return whether a text has the words of a line, or one of its own lines is a part of such a line."""
    shown = [spell_out(line) for line in re.sub(ADDED_DATE, "", text).splitlines()]
    parts = [each for each in shown if each.count(" ") > WORD_COUNT_MIN]
    wanted = [spell_out(line) for line in lines]
    return any(line in each for line in wanted for each in shown) or any(
        part in line for part in parts for line in wanted
    )


def spell_out(line: str) -> str:
    """Return the words of a line, each between blanks, so that words are found whole: ` it rains `."""
    return f" {' '.join(words(line))} "


# Files.


def read_dialogues(path: Path) -> Iterator[Dialogue]:
    """Yield the dialogues of a file. Raises ValueError for a file of another format."""
    for sample in json.loads(path.read_text()):
        found = read_chat_file(json.dumps(sample))
        if found is None or found.format not in EVIDENCE:
            raise ValueError(f"{path}: neither LoCoMo nor LongMemEval: a sample has {sorted(sample)}")
        turns = [(chat, it) for chat, talk in enumerate(found.chats) for it in talk.messages]
        places = {(chat, it.number): place for place, (chat, it) in enumerate(turns)}
        spoken = tuple(SpokenTurn(it.role, it.text) for _, it in turns)
        yield Dialogue(spoken, tuple(EVIDENCE[found.format](sample, places)))


def read_locomo(sample: dict[str, Any], places: Places) -> Iterator[LabelledQuestion]:
    """Yield the questions about a conversation whose turns have ids like `D1:3`."""
    sessions = sample["conversation"]
    numbers = sorted(int(found[1]) for name in sessions if (found := re.fullmatch(r"session_(\d+)", name)))
    turns = {
        turn["dia_id"]: (chat, at)
        for chat, number in enumerate(numbers)
        for at, turn in enumerate(sessions[f"session_{number}"], 1)
    }
    for asked in sample["qa"]:
        named = re.findall(r"D\d+:\d+", " ".join(asked.get("evidence", ())))
        evidence = frozenset(places[turns[it]] for it in named if turns.get(it) in places)
        yield LabelledQuestion(asked["question"], evidence)


def read_longmemeval(sample: dict[str, Any], places: Places) -> Iterator[LabelledQuestion]:
    """Yield the question about a stack of sessions, where turns or sessions are marked as evidence."""
    sessions, ids = sample["haystack_sessions"], sample.get("haystack_session_ids", ())
    answering = sample.get("answer_session_ids", ())
    marked = [[bool(turn.get("has_answer")) for turn in session] for session in sessions]
    if not any(map(any, marked)):  # only whole sessions are named
        marked = [
            [place < len(ids) and ids[place] in answering] * len(session)
            for place, session in enumerate(sessions)
        ]
    is_evidence = {(chat, at): it for chat, turns in enumerate(marked) for at, it in enumerate(turns, 1)}
    evidence = frozenset(place for turn, place in places.items() if is_evidence[turn])
    yield LabelledQuestion(sample["question"], evidence)


EVIDENCE: Final = {"locomo": read_locomo, "longmemeval": read_longmemeval}


# Memories.


def remember_turns(memory: BlockingMemory, turns: Sequence[SpokenTurn]) -> None:
    for turn in turns:
        memory.remember(turn.text, speaker=turn.speaker)


def create_facts(memory: BlockingMemory, turns: Sequence[SpokenTurn]) -> None:
    for turn in turns:
        memory.create_entity(f"{turn.speaker}: {turn.text}", "event")


def recall_texts(memory: BlockingMemory, question: str) -> list[str]:
    hits = memory.recall(question, limit=LIMIT, resolve=False)
    return [f"{hit.content}\n{hit.next_content}".strip() for hit in hits]


def index_turns(connection: sqlite3.Connection, turns: Sequence[SpokenTurn]) -> None:
    connection.execute("create virtual table turn using fts5 (text, tokenize = 'porter unicode61')")
    lines = [(place, f"{turn.speaker}: {turn.text}") for place, turn in enumerate(turns)]
    connection.executemany("insert into turn (rowid, text) values (?, ?)", lines)


def search_turns(connection: sqlite3.Connection, question: str) -> list[str]:
    """Return the texts of the best turns by bm25, for any of the words of the question."""
    asked = " OR ".join(f'"{word}"' for word in words(question))
    sql = "select text from turn where turn match ? order by rank limit ?"
    return [text for (text,) in connection.execute(sql, (asked, LIMIT))] if asked else []


def list_evidence_lines(turns: Sequence[SpokenTurn], places: frozenset[int]) -> list[str]:
    """Return the sentences of these turns that say something: at least three words, or all there are."""
    lines = [line for place in sorted(places) for line in sentences(turns[place].text)]
    return [line for line in lines if len(words(line)) > 2] or lines


# The report.


def measure_dialogue(dialogue: Dialogue, tallies: dict[str, Tally]) -> None:
    with (
        open_blocking(":memory:", user="reader", agent="remember") as memory,
        open_blocking(":memory:", user="reader", agent="facts") as facts,
        closing(sqlite3.connect(":memory:")) as connection,
    ):
        remember_turns(memory, dialogue.turns)
        create_facts(facts, dialogue.turns)
        index_turns(connection, dialogue.turns)
        for question in dialogue.questions:
            lines = list_evidence_lines(dialogue.turns, question.evidence)
            if lines:
                tallies["remember"].add(recall_texts(memory, question.text), lines)
                tallies["create_entity"].add(recall_texts(facts, question.text), lines)
                tallies["FTS5"].add(search_turns(connection, question.text), lines)


def main(args: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--samples", type=int, help="of each file so many samples")
    options = parser.parse_args(args)
    for path in options.files:
        tallies = {name: Tally() for name in ("remember", "create_entity", "FTS5")}
        for number, dialogue in enumerate(read_dialogues(path)):
            if options.samples is None or number < options.samples:
                measure_dialogue(dialogue, tallies)
        print(path.name)
        for row in (HEAD, *(tally.row(name) for name, tally in tallies.items())):
            print("  " + "  ".join(f"{cell:>16}" for cell in row))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The labelled archive of topics.txt in a memory, and how searches of it go."""

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Final, Literal

from msgspec import structs

from tools.measured.lab import SCOPE, Embedder, Lab, Model
from tools.measured.labelled import Fact, Question, archive
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.language.words import words
from umi_core.messages.requests import Memorize, Retrieve, Search, Summarise
from umi_core.messages.results import Retrieved
from umi_core.values import CATEGORIES, LEVELS
from umi_sim.services.embedder import embed

Judge = Literal["score", "model", "label", "all"]  # decides that it is enough; all: never
DIMS: Final = 256
CONFIG: Final = Config(auto_rebalance=False, embedding_dims=DIMS)


def word_vectors(text: str) -> tuple[int, ...]:
    """Close are texts with the same words, and no others."""
    return embed(text, DIMS)


def labelled_vectors(weight: int) -> Embedder:
    """Close are texts of one topic, as with an embedder that understands what they are about.

    `weight`: how much the topic counts beside the words: with 6 two texts of a topic have a cosine of about
    0.85, with 4 of 0.72.
    """
    facts, questions = archive()
    topics = {caption_of(it.text): f"topic{it.category}{it.topic}" for it in facts if not it.is_noise}
    topics |= {it.text: asked_topic(it) for it in questions}

    def vector(text: str) -> tuple[int, ...]:
        head = text.split(":")[0]
        topic = f"category{head}" if head in CATEGORIES else topic_of(text, topics)
        own = dict.fromkeys(words(text))  # a fact is embedded with its name, which says the same again
        return embed(" ".join([*own, *[topic] * weight]), DIMS)

    return vector


def asked_topic(question: Question) -> str:
    is_whole = question.level == "categories"
    return f"category{question.category}" if is_whole else f"topic{question.category}{question.topic}"


def topic_of(text: str, topics: Mapping[str, str]) -> str:
    exact = topics.get(text)
    return exact if exact is not None else next((topics[it] for it in topics if it in text), "")


def caption_of(text: str) -> str:
    """A text up to its first full stop, as captions have it."""
    return text.split(".")[0]


def input_of(prompt: str, name: str) -> object:
    line = next(line for line in prompt.split("\n") if line.startswith(f"INPUT {name} = "))
    return json.loads(line.partition(" = ")[2])


class Archive(Owner):
    """`label`: the question that is being asked, for a model that answers as labelled."""

    lab: Lab
    facts: list[Fact]
    questions: list[Question]
    outside: Model
    judge: Judge = "score"
    label: Question | None = None
    op_last: int = 0

    @classmethod
    def empty(cls, embedder: Embedder, model: Model, dims: int = DIMS) -> "Archive":
        facts, questions = archive()
        config = structs.replace(CONFIG, embedding_dims=dims)
        own = cls(Lab(model, embedder, config), facts, questions, model)
        own.lab.model = own.answer
        return own

    @classmethod
    def filled(cls, embedder: Embedder, model: Model, dims: int = DIMS) -> "Archive":
        """Each fact was stated in a message of its own; each category has a summary."""
        own = cls.empty(embedder, model, dims)
        own.tell(own.facts)
        for category in CATEGORIES:
            own.lab.ask(Summarise(own.number(), category))
        return own

    def tell(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            self.lab.ask(Memorize(self.number(), fact.text, memory_types=("profile",)))

    def number(self) -> int:
        self.op_last += 1
        return self.op_last

    @property
    def level_count(self) -> int:
        return len(LEVELS)

    # What a model answers.

    def answer(self, task: str, prompt: str) -> str:
        match task:
            case "memories":
                return self.memories(str(input_of(prompt, "text")))
            case "evolve":
                return "[]"  # all that is labelled stays true
            case "summarise_category":
                return f"<summary>{self.summary(str(input_of(prompt, 'category')))}</summary>"
            case "decide_enough" if self.judge == "label":
                found = str(input_of(prompt, "found"))
                return f"<decision>{'NO_RETRIEVE' if self.is_answered(found) else 'RETRIEVE'}</decision>"
        return self.outside(task, prompt)

    def memories(self, text: str) -> str:
        facts = [it for it in self.facts if it.text in text and not it.is_detail]
        inside = "".join(
            f"<memory><content>{escape(it.text)}</content><categories><category>{it.category}</category></categories></memory>"
            for it in facts
        )
        return f"<item>{inside}</item>"

    def summary(self, category: str) -> str:
        """The first facts of each topic."""
        texts = [
            it.text for it in self.facts if it.category == category and not it.is_detail and not it.is_noise
        ]
        return f"{category}: {' '.join(texts[::3])}"

    def is_answered(self, found: str) -> bool:
        assert self.label is not None
        return any(text in found for text in self.answers_of(self.label))

    def answers_of(self, question: Question) -> list[str]:
        """Texts that answer a question: the summary, a fact of the topic, or what only the text says."""
        if question.level == "categories":
            return [f"{question.category}: "]
        own = [it for it in self.facts if (it.category, it.topic) == (question.category, question.topic)]
        return [it.text for it in own if it.is_detail == (question.level == "resources")]

    # Searches.

    def searched(self, judge: Judge) -> list[Retrieved]:
        return [self.search(question, judge) for question in self.questions]

    def search(self, question: Question, judge: Judge) -> Retrieved:
        self.judge, self.label = judge, question
        by_score = Search(self.number(), question.text, enough="never" if judge == "all" else "score")
        value = self.lab.ask(
            Retrieve(self.number(), question.text) if judge in ("label", "model") else by_score
        )
        assert isinstance(value, Retrieved)
        return value

    def has_answer(self, question: Question, value: Retrieved) -> bool:
        return any(text in it.text for it in value.hits for text in self.answers_of(question))

    def work(self, value: Retrieved) -> int:
        """The rows of the levels that were searched."""
        by_kind = self.lab.storage.row_ids[SCOPE]
        return sum(len(by_kind.get(LEVELS[it.level], ())) for it in value.tried)

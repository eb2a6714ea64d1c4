"""Goal: conversations with a memory, to be read aloud. Golden texts; `UMI_REWRITE=1` writes them anew.

A file is a list of scenes with an empty line between: what happens, a rule, what the memory asks and tells.
Lines that start with # tell the story. Keep a rewritten file only if you understand what changed it.

    agent a2          talk to the memory of this agent; the first time it is new
    begin             its recovery, without a word about it
    restart           a crash: the memory is gone, and another one begins on the same storage
    late              what the earlier life sent last reaches storage now
    remember "..."    a request by its name, with its fields in order, or as key=value; flags are yes or no
    ok, ok 3, all     the world answers the oldest effect; three in a row; whatever will be asked
    often 60 "..."    so many remembers, each with its number for %d, all answered; then how they ended
    said user "..."   a turn; from now on a recall is asked after all turns so far
    says ...          the model replies this text; "Alice.tea@1" stands for the ref of that fact
    lands             the oldest commit reaches storage, and the answer is lost
    fail KIND         the oldest effect fails
    at MS, due        time goes on until then, or until the memory wants to be stepped

A fact is called by the name that it is about and its last word: that Alice likes tea is `Alice.tea`, and a
note about milk is `note.milk`. Two facts of one file must not be called alike.
"""

import os
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from tests.transcripts.telling import line_of, named_facts, place, shown, standing
from tests.worlds import Pair
from umi_core.data import Owner
from umi_core.messages.answers import EffectFailed, ModelReplied, Value, Wake
from umi_core.messages.effects import Asked, Commit, FailureKind, Reply
from umi_core.messages.requests import REQUESTS, Recall
from umi_core.values import Scope, Turn

HERE = Path(__file__).parent
TOLD = ("ok", "no question", "skipped", *get_args(FailureKind))  # the scene says who answered what
ANSWERED = tuple(f": {kind}" for kind in TOLD)
FILES = sorted(HERE.glob("*.txt"))


class Conversation(Owner):
    """The memories of a file on their one storage; `output` is what the current one has asked and replied."""

    pairs: dict[str, Pair] = msgspec.field(default_factory=lambda: {"a1": Pair()})
    agent: str = "a1"
    now_ms: int = 0
    request_count: int = 0
    output: list[str] = []
    lost: list[Asked] = []
    turns: list[Turn] = []
    names: dict[str, str] = {}  # of facts, by their ids

    @property
    def pair(self) -> Pair:
        return self.pairs[self.agent]

    def play(self, commands: list[str]) -> str:
        self.output = []
        for command in commands:
            word, *rest = shlex.split(command)
            if word in REQUESTS:
                self.ask(word, rest)
            else:
                getattr(self, f"do_{word}")(*(rest if word != "says" else [command.partition(" ")[2]]))
        lines = [*self.output, *standing(self.pair.memory)]
        return "\n".join(line_of(line, self.names) for line in lines or ["(nothing)"])

    def step(self, value: Value) -> None:
        memory = self.pair.memory
        effects = memory.step(self.now_ms, value)
        self.names = dict(named_facts(memory)) | self.names
        assert len({*self.names.values()}) == len(self.names), "two facts are called alike"
        self.output += [f"* {mark}" for mark in memory.marks if not mark.endswith(ANSWERED)]
        self.output += [line for effect in effects for line in shown(effect).split("\n")]
        self.pair.pending += [effect for effect in effects if not isinstance(effect, Reply)]

    def ask(self, word: str, rest: list[str]) -> None:
        """A request; texts become what its fields hold."""
        request, given = REQUESTS[word], dict[str, Any]()
        fields = list(request.__struct_fields__)[1:]
        for n, text in enumerate(rest):
            name, _, value = text.partition("=") if "=" in text else (fields[n], "", text)
            given[name] = self.value_of(name, value)
        if request is Recall:
            given["turns"] = tuple(self.turns)
        self.request_count += 1
        self.step(request(self.request_count, **given))

    def value_of(self, name: str, text: str) -> object:
        match name:
            case "entity_id":
                return self.id_of(text)
            case "session_id":
                return next(key.id for key in self.pair.storage.rows if key.kind == "session")
            case "hand_to" | "members" | "categories" | "memory_types":
                return tuple(text.split())
            case "value":
                return text.encode()
            case "deep" | "resolve" | "evolve" | "extract" | "embed":
                return text == "yes"
        return int(text) if text.isdigit() else text

    def id_of(self, name: str) -> str:
        """The id of the fact that is called so; of none the name itself."""
        return next((key for key, it in self.names.items() if it == name), name)

    def answer(self) -> None:
        self.pair.now_ms = self.now_ms
        self.step(self.pair.world(self.oldest()))

    def oldest(self) -> Asked:
        return self.pair.pending.pop(0)

    def do_agent(self, agent: str) -> None:
        self.agent = agent
        self.pairs.setdefault(agent, Pair(storage=self.pairs["a1"].storage, scope=Scope("u1", agent)))

    def do_begin(self) -> None:
        self.do_at(str(self.now_ms))
        self.do_all()
        self.output = [f"recovered, epoch {self.pair.memory.state.epoch}"]

    def do_restart(self) -> None:
        self.lost = self.pair.pending
        self.pairs[self.agent] = Pair(storage=self.pair.storage, scope=self.pair.scope)

    def do_late(self) -> None:
        commit = self.lost.pop()
        assert isinstance(commit, Commit)
        answer = self.pair.land(commit)
        assert isinstance(answer, EffectFailed)
        self.output = [
            f"storage: {answer.kind}, {place(answer.changed[0][0])} is {answer.changed[0][1]} by now"
        ]

    def do_ok(self, count: str = "1") -> None:
        for _ in range(int(count)):
            self.answer()

    def do_all(self) -> None:
        while self.pair.pending:
            self.answer()

    def do_often(self, count: str, text: str, *more: str) -> None:
        for number in range(1, int(count) + 1):
            self.ask("remember", [text % number, *more])
            self.do_all()
        replies = [
            line.partition(", degraded ")[2].removesuffix(")") for line in self.output if "> Reply(" in line
        ]
        done = Counter(line or "nothing was degraded" for line in replies)
        self.output = [f"{number} times: {line}" for line, number in done.items()]

    def do_said(self, role: str, text: str) -> None:
        self.turns.append(Turn(role, text))

    def do_says(self, text: str) -> None:
        text = re.sub(r'"([^" ]+\.[^" ]+)@', lambda match: f'"{self.id_of(match[1])}@', text)
        self.step(ModelReplied(self.oldest().request_id, text))

    def do_lands(self) -> None:
        commit = self.oldest()
        assert isinstance(commit, Commit)
        self.pair.land(commit)

    def do_fail(self, kind: str) -> None:
        self.step(EffectFailed(self.oldest().request_id, kind))  # type: ignore[arg-type]  # the transcript names it

    def do_at(self, now_ms: str) -> None:
        self.now_ms = int(now_ms)
        self.step(Wake())

    def do_due(self) -> None:
        self.do_at(str(self.pair.memory.deadline_ms()))


def played(text: str) -> str:
    """The file as it would be written today."""
    conversation = Conversation()
    scenes = []
    for scene in text.strip().split("\n\n"):
        lines = scene.partition("\n----")[0].split("\n")
        commands = [line for line in lines if not line.startswith("#")]
        scenes.append("\n".join([*lines, "----", conversation.play(commands)] if commands else lines))
    return "\n\n".join(scenes) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_conversation_is_as_written(path: Path) -> None:
    text = path.read_text("utf-8")
    today = played(text)
    if os.environ.get("UMI_REWRITE"):
        path.write_text(today, "utf-8")
    else:
        assert today == text


def test_there_are_conversations() -> None:
    assert len(FILES) >= 10

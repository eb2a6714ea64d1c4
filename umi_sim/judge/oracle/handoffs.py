"""Judge the facts and messages that a load brings to its agent: those that its save declared, and no others.

Law 1. The facts that a load must read follow from the facts remembered in the session and from the
declaration of its save.
Law 2. The log (archive/log.py) judges how the archive of the loading agent stores them.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from umi_core.conversations import NORMALISERS
from umi_core.data import Owner
from umi_core.limits import TURN_CHARS_MAX, TURN_COUNT_MAX
from umi_core.messages.effects import ByIds, Read
from umi_core.messages.results import SessionLoaded
from umi_core.rows import Address
from umi_core.values import Scope, Turn
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import read_carried
from umi_sim.judge.oracle.archive.states import MemorizedText
from umi_sim.judge.oracle.model import Surroundings

ROLES: Final = ("user", "assistant", "system", "tool")
LINE: Final = re.compile(r"\[\d+\] (?:.*? )?\[(?P<who>[^\[\]]*)\]: (?P<text>.*)")
LINE_ENDS: Final = re.compile("[\r\n]+")
Message = tuple[str, str]  # role, text without line ends


class Declared(Owner):
    """The declaration of one save. `agent`: the saving agent; `facts`: ids of the facts of the session."""

    agent: str
    carries: tuple[str, ...]
    facts: tuple[str, ...]


class Handoffs(Owner):
    """Judges the facts and messages that loads of an agent bring. `logs`: archives of its user, by agent."""

    scope: Scope
    surroundings: Surroundings
    logs: Callable[[], Mapping[str, BatchLog]] = dict

    def positions(self) -> dict[str, int]:
        """Return the position of each archive of this user."""
        return {agent: log.position for agent, log in self.logs().items()}

    def explains(self, declared: Declared, op_id: str, done: SessionLoaded) -> bool:
        """Return whether a load of this save read its facts, and reported them in its reply."""
        op = self.logs()[self.scope.agent].ops[op_id]
        owner, stored = Scope(self.scope.user, declared.agent), done.facts.entities if done.facts else ()
        carries_facts = "facts" in declared.carries and declared.agent != self.scope.agent
        expected = tuple(Address(owner, "entity", key) for key in declared.facts) if carries_facts else ()
        tried = [it.effect for it in (*op.past, *op.attempts) if it.step == "facts"]
        queries = [it.query for it in tried if isinstance(it, Read)]
        asked = [it.addresses if isinstance(it, ByIds) else () for it in queries]
        is_asked = bool(asked) == bool(expected) and all(addresses == expected for addresses in asked)
        is_reported = done.facts is not None or not read_carried(op.plan)
        return is_asked and is_reported and done.left_out_count == len(expected) - len(stored)

    def explains_turns(
        self, declared: Declared, session_id: str, positions: Mapping[str, int], turns: tuple[Turn, ...]
    ) -> bool:
        """Return whether `turns` are the last messages of the conversations memorized in the session.

        `positions`: by agent, the position of its archive when the load was issued.
        """
        log = self.logs().get(declared.agent)
        if "messages" not in declared.carries or log is None:
            return not turns
        position = positions.get(declared.agent, 0)
        # A text may be stored, replaced or deleted while the load reads, so each of its states may be shown.
        states = [log.resources.since(key, position) for key in log.resources.entries]
        shown = [[list_messages(it, session_id) for it in each] for each in states]
        known = [message for each in shown for one in each for message in one]
        if len(turns) > TURN_COUNT_MAX or any(not is_any(turn, known) for turn in turns):
            return False
        least = sum(min(map(len, each)) for each in shown)
        if self.surroundings.atlas.losses or len(turns) < min(least, TURN_COUNT_MAX):
            return bool(self.surroundings.atlas.losses)
        shown_turns = [each[0] for each in shown if any(each)]
        # Only their times would show which of several conversations was last, so any of their messages is
        # accepted.
        if len(shown_turns) != 1 or least != len(known):
            return True
        last = shown_turns[0][-TURN_COUNT_MAX:]
        return len(turns) == len(last) and all(map(is_shown, turns, last))


def list_messages(text: MemorizedText | None, session_id: str) -> tuple[Message, ...]:
    """Return the messages of a text if it is a conversation of this session."""
    if text is None or text.session != session_id or text.given[0] != "conversation":
        return ()
    lines = NORMALISERS["conversation"](text.given[1]).split("\n")
    found = [(it["who"], it["text"]) for it in map(LINE.fullmatch, lines) if it is not None]
    messages = [
        (who, text) if who in ROLES else (ROLES[0], f"{who}: {text}") for who, text in found if text.strip()
    ]
    return tuple(messages)


def is_any(turn: Turn, messages: list[Message]) -> bool:
    return any(is_shown(turn, it) for it in messages)


def is_shown(turn: Turn, message: Message) -> bool:
    """Return whether a turn is this message, or the beginning of one that exceeds the limit of a turn."""
    role, text = message
    line = LINE_ENDS.sub(" ", turn.text)
    is_cut = len(turn.text) == TURN_CHARS_MAX and text.startswith(line)
    return turn.role == role and (line == text or is_cut)

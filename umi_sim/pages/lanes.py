"""Lanes: turns records into arrows between the lanes of clients, agents, services and the clock.

Law 1. Lanes have numbers, left to right. An arrow from a lane to itself is shown as a mark in that lane.
Law 2. All texts of a memory or a model are shown with control and bidi characters escaped.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import structs

from umi_core.codec import decode
from umi_core.data import Data, Owner
from umi_core.errors import Rejected
from umi_core.messages.effects import Done, Query
from umi_sim.explain.calls import in_words
from umi_sim.explain.why import is_recorded_as
from umi_sim.kernel.literals import literal, shorten_text
from umi_sim.kernel.wording import cut, escape_text, plural
from umi_sim.record.items import ClockMove, Deviation, Item
from umi_sim.record.trace import Field, Record, Tag, pack
from umi_sim.record.trace_fields import TAG, ends, short, short_query

SERVICES: Final = ("model", "embedder", "storage")
CLIENTS: Final = "clients"
CLOCK: Final = "clock"
TEXT_CHARS_MAX: Final = 160
ANSWER: Final = "/answer"  # a duplicate has a number behind it: /answer.2
VERBS: Final = {"model": "model", "embed": "embedder", "read": "storage", "commit": "storage"}
PLACES: Final = {"model": "model", "embed": "embedder", "storage": "storage", "clock": CLOCK}
UNTOLD: Final = (Tag.RUN, Tag.STATE, Tag.END)


class Arrow(Data):
    """One arrow. `kind`: its style; `item`: the id of the item of the run that it shows, if any."""

    source: int
    target: int
    kind: str
    text: str
    event: str = ""
    item: str = ""


class Lanes(Owner):
    """The lanes of a run, with what the records so far show about senders and receivers."""

    agents: Sequence[str]
    items: dict[str, Item]
    asked: dict[str, tuple[int, int]] = {}  # by event: the lanes of the agent and of the service
    callers: dict[str, int] = {}  # by operation: the lane of its agent
    agent: int = 1

    @classmethod
    def of(cls, agents: Sequence[str], items: Iterable[Item] = ()) -> "Lanes":
        return cls(tuple(agents), {item.id: item for item in items})

    def knows(self, item: Item) -> None:
        """Add an item, so that later arrows can describe it."""
        self.items[item.id] = item

    @property
    def names(self) -> list[str]:
        return [CLIENTS, *(f"agent {name}" for name in self.agents), *SERVICES, CLOCK]

    def service(self, name: str) -> int:
        return 1 + len(self.agents) + (*SERVICES, CLOCK).index(name)

    def agent_lane(self, name: str) -> int:
        """Return the lane of an agent; a replaced incarnation such as a~3 has the same."""
        known = name.partition("~")[0]
        return 1 + self.agents.index(known) if known in self.agents else 1

    def arrows(self, records: Sequence[Record]) -> Iterator[Arrow]:
        """Yield the arrows of one step. An answer and the step that takes it are one arrow."""
        answer: Record | None = None
        for record in records:
            if record[TAG] == Tag.ANSWER:
                if answer is not None:
                    yield self.unheard(answer)
                answer = record
            # ANSWER o7/commit#1/answer, then STEP with the same event,
            # is one arrow, from the service to the agent.
            elif record[TAG] == Tag.STEP and answer is not None and record[6] == answer[3]:
                yield structs.replace(self.arrow(record), text=show_answer(answer))
                answer = None
            elif record[TAG] not in UNTOLD:
                yield self.arrow(record)
        if answer is not None:
            yield self.unheard(answer)

    def unheard(self, answer: Record) -> Arrow:
        event = str(answer[3])
        agent, service = self.asked.get(base(event), (self.agent, self.service(CLOCK)))
        return Arrow(service, agent, "lost", f"{show_answer(answer)}; nothing waits for it", line(event))

    def arrow(self, record: Record) -> Arrow:
        tag, fields = record[TAG], record[TAG + 1 :]
        match tag:
            case Tag.OP:
                return self.request(fields)
            case Tag.STEP:
                return self.step(fields)
            case Tag.EFFECT:
                return self.question(fields)
            case Tag.REPLY:
                lane = self.callers.get(str(fields[0]), self.agent)
                return Arrow(lane, 0, "reply", show_reply(record), line(fields[0]))
            case Tag.FAULT:
                return self.fault(fields)
        return self.note(record, fields)

    def request(self, fields: Sequence[Field]) -> Arrow:
        item, agent, _, name, request = fields
        self.agent = self.callers[str(item)] = self.agent_lane(str(agent))
        # A request of a phase (audit:3) is no item, so the record itself is described.
        known = self.items.get(str(item))
        text = in_words(known) if known else " ".join(map(show_field, (item, name, request)))
        return Arrow(0, self.agent, "request", line(text), line(item), line(item))

    def step(self, fields: Sequence[Field]) -> Arrow:
        agent, _, value, event = fields
        self.agent = self.agent_lane(str(agent))
        # Any other step is a wake-up, so its arrow comes from the clock.
        if ANSWER in str(event) and base(str(event)) in self.asked:
            return Arrow(self.asked[base(str(event))][1], self.agent, "answer", line(value), line(event))
        return Arrow(self.service(CLOCK), self.agent, "wake", line(event), line(event))

    def question(self, fields: Sequence[Field]) -> Arrow:
        event, verb, _, *rest = fields
        service = self.service(VERBS.get(str(verb).split(" ")[0], "storage"))
        self.asked[str(event)] = self.agent, service
        return Arrow(self.agent, service, "question", line(show_question(str(verb), rest)), line(event))

    def fault(self, fields: Sequence[Field]) -> Arrow:
        """Return the arrow of a fault: at the service, at the agent, or on the link between them."""
        item, kind, event = map(str, fields)
        agent, service = self.asked.get(base(event), (self.agent_of(event), 0))
        group = kind.partition("_")[0]
        # A fault of a link has the direction of its message.
        # Any other fault is a mark in one lane.
        if group == "link" and service:
            ends = (service, agent) if ANSWER in event else (agent, service)
        else:
            lane = self.service(PLACES[group]) if group in PLACES else agent
            ends = lane, lane
        return Arrow(*ends, "fault", line(f"{item} {kind}"), line(event), line(item))

    def agent_of(self, event: str) -> int:
        name = event.partition("/")[0].partition(":")[0]
        return self.callers.get(name) or (self.agent_lane(name) if name in self.agents else self.agent)

    def note(self, record: Record, fields: Sequence[Field]) -> Arrow:
        """Return the arrow of a record that is no message, such as the start of an incarnation."""
        clock = self.service(CLOCK)
        match record[TAG]:
            case Tag.CLOCK:
                agent = self.agent_lane(str(fields[0]))
                message = f"clock of {fields[0]!s}: {fields[1]!s}"
                return Arrow(clock, agent, "clock", line(message), "", self.item_of(record))
            case Tag.LIFE:
                lane = self.agent_lane(str(fields[1]))
                return Arrow(lane, lane, "life", line(f"{fields[1]!s}: {fields[0]!s}"))
            case Tag.SCHEDULE:
                message = f"{fields[0]!s} before {fields[1]!s}"
                return Arrow(clock, clock, "schedule", line(message), "", self.item_of(record))
            case Tag.PHASE:
                return Arrow(0, clock, "phase", line(fields[0]))
            case Tag.SKIPPED:
                return Arrow(0, 0, "note", line(f"left out: {fields[0]!s}, {fields[1]!s}"))
        return Arrow(self.agent, self.agent, "note", line(" ".join(map(str, fields))))

    def item_of(self, record: Record) -> str:
        """Return the id of the item of a record without that id in it, or ""; each item only once."""
        moves = (it for it in self.items.values() if isinstance(it, ClockMove | Deviation))
        found = next((it.id for it in moves if is_recorded_as(it, record)), "")
        # Records of two moves of one clock may be equal; the first one belongs to the first move.
        self.items.pop(found, None)
        return found


def base(event: str) -> str:
    """Return the event of the question to which the event of an answer belongs."""
    return event.partition(ANSWER)[0]


def line(text: object) -> str:
    return escape_text(cut(str(text), TEXT_CHARS_MAX))


# Texts of arrows.


def show_reply(record: Record) -> str:
    """Describe the reply of a memory in a few words."""
    is_plain, value = record[TAG + 2 :]
    outcome = Done(value_of(value)) if is_plain else value_of(value)
    return line(short(outcome))


def show_field(field: Field) -> str:
    return field if isinstance(field, str) else literal(field, shorten_text)


def value_of(field: Field) -> object:
    """Return the value that a field of a record encodes, or the field itself if it cannot be decoded."""
    try:
        return decode(pack(field)) if isinstance(field, list) else field
    except Rejected:
        return field


def show_question(verb: str, rest: Sequence[Field]) -> str:
    """Describe a question in a few words."""
    match verb.split(" ")[0], rest:
        case "model", [task, *_]:
            return f"model: {task}"
        case "embed", [list(texts)]:
            return f"embed {plural(len(texts), 'text')}"
        case "commit", [key, list(ids), *_]:
            return f"{verb} {plural(len(ids), 'row')}" + (f", key {ends(str(key))}" if key else "")
        case _, [list(ids)] if all(isinstance(each, str) for each in ids):
            return f"{verb} {', '.join(map(str, ids))}"
        case _, [query] if isinstance(known := value_of(query), Query):
            return f"{verb} {short_query(known)}"
    return f"{verb} {literal(rest, shorten_text)}"


def show_answer(record: Record) -> str:
    """Describe an answer in a few words."""
    kind, _, *rest = record[TAG + 2 :]
    match kind, rest:
        case "rows", [list(rows), *_, count]:
            return plural(len(rows), "row") if count is None else f"count {count}"
        case "model", [text]:
            return line(f"says {literal(text, shorten_text)}")
        case "embed", [list(vectors)]:
            return plural(len(vectors), "vector")
        case "failed", [why, *_]:
            return line(f"failed: {why!s}")
    return line(kind if kind == "committed" else f"{kind!s} {literal(rest, shorten_text)}")

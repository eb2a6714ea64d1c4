"""Workloads: the requests of the user of one agent, one by one.

Law 1. A request depends on seed, agent, its number and the user's knowledge; an extra draw for one request
changes no other.
Law 2. Requests are drawn by the weights of the run, or follow a script or a transcript. If a request must
name a block, record, text, fact or session and the user knows none, it mostly draws another request.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from umi_core.values import Turn
from umi_sim.formats.transcripts import TurnLine, load
from umi_sim.kernel.prng import Stream
from umi_sim.record.run_config import RunConfig
from umi_sim.workload.arguments import arguments
from umi_sim.workload.choice import SLOT_COUNT, slots
from umi_sim.workload.dialogue import make_recall, turns_of
from umi_sim.workload.pools import nearly, nearly_turns
from umi_sim.workload.users import User, UserKnowledge

Drawn = tuple[str, dict[str, object]]
Line = tuple[int | None, Drawn]  # the time of the request, if the file gives one, and the request

# In blocks of eight words. No request draws as many, so sections never overlap.
SECTION_BLOCKS: Final = 2**32
GENERATED: Final = (1, 4)  # share of drawn requests in a run with a transcript
CHOICE_COUNT: Final = 3  # how often a user that knows nothing to name draws again
BATCH_COUNTS: Final = (1, 8)  # possible numbers of turns in one remember
RECALL_EVERY: Final = 5
VARIED: Final = ("text", "content", "query")
UNVARIED: Final = ("[", "{", "data:", "https:")
VARIED_COUNT_MAX: Final = 6  # few, so that a variant is often of a recent request or of another variant


class Workload:
    """The requests of one agent.

    `at_ms`: the world time that a script or transcript gives for the last request. `is_again`: its query was
    asked before, so the time of asking matters.
    """

    def __init__(self, config: RunConfig, agent: str, known: UserKnowledge) -> None:
        self.at_ms: int | None = None
        self.is_again = False
        self._config = config
        self._user = User(config, agent, known)
        self._choice = slots(config.weights)
        self._lines = LINES[config.workload](config, agent)
        path = ("workload",) if config.alike else ("agent", agent, "workload")
        self._stream = Sections(config.seed, *path)
        self._count = 0
        self._last: Drawn | None = None
        self._keyed: list[Drawn] = []
        self._varied: deque[Drawn] = deque(maxlen=VARIED_COUNT_MAX)

    def next(self) -> Drawn | None:
        """Return name and arguments of the next request; None at the end and from then on."""
        if self._count == self._config.operations_max or (self._count and self._last is None):
            return None
        self._stream.begin(self._count)
        self._count += 1
        self._last = self._draw(self._stream)
        return self._last

    def _draw(self, stream: Stream) -> Drawn | None:
        self.at_ms, self.is_again = None, False
        kind = self._config.workload
        if kind == "script":
            return self._follow()
        if stream.chance(*self._config.repeat) and self._last:
            self.is_again = self._last[0] == "recall"
            return self._last
        # Conditions come before draws: an option that is off, or has nothing to choose from, draws nothing.
        if self._keyed and stream.chance(*self._config.retry):
            return stream.pick(self._keyed)
        if self._config.nearly[0] and self._varied and stream.chance(*self._config.nearly):
            return self._vary(stream)
        if kind == "generated" or stream.chance(*GENERATED):
            return self._invent(stream)
        return self._follow()

    def _follow(self) -> Drawn | None:
        self.at_ms, drawn = next(self._lines, (None, None))
        if drawn is not None and drawn[0] == "remember":
            self._user.tell(drawn[1].get("text"))
        return drawn

    def _invent(self, stream: Stream) -> Drawn:
        name = self._choice[stream.below(SLOT_COUNT)]
        for _ in range(CHOICE_COUNT):
            if not self._user.lacks(name):
                break
            name = self._choice[stream.below(SLOT_COUNT)]
        args = arguments(name, self._user, stream)
        self.is_again = name == "recall" and self._user.has_asked(args)
        if "request_key" in args and self._config.retry[0]:
            self._keyed.append((name, args))
        if parts_to_vary(args):
            self._varied.append((name, args))
        return name, args

    def _vary(self, stream: Stream) -> Drawn:
        """Return a recent request without its key, and with one small change of a text or of turns."""
        name, earlier = stream.pick(self._varied)
        part = stream.pick(parts_to_vary(earlier))
        args = {key: value for key, value in earlier.items() if key != "request_key"}
        match args[part]:
            case str(text):
                args[part] = nearly(stream, text)
            case tuple(turns):
                args[part] = nearly_turns(stream, turns)
        self.is_again = name == "recall"
        if name == "remember":
            self._user.tell(args["text"])
        if parts_to_vary(args):
            self._varied.append((name, args))
        return name, args


def parts_to_vary(args: Mapping[str, object]) -> list[str]:
    """List the arguments that are plain text or turns, but no list of messages and no payload."""
    texts = {key: it for key in VARIED if isinstance(it := args.get(key), str) and it}
    plain = [key for key, text in texts.items() if not text.startswith(UNVARIED)]
    turns = args.get("turns")
    is_talk = isinstance(turns, tuple) and turns and all(isinstance(it, Turn) for it in turns)
    return [*plain, *["turns"] * bool(is_talk)]


class Sections(Stream):
    """A stream with a section per request: draws of one request do not change those of others."""

    __slots__ = ()

    def begin(self, index: int) -> None:
        """Move to the start of a section, which is cheaper than a new stream."""
        self._block = index * SECTION_BLOCKS
        self._words.clear()


# Requests from a file, in order.


def transcript_lines(config: RunConfig, agent: str) -> Iterator[Line]:
    assert config.transcript is not None
    return play_conversation(load(config.transcript), Stream(config.seed, "agent", agent, "transcript"))


def play_conversation(spoken: Sequence[TurnLine], stream: Stream) -> Iterator[Line]:
    """Yield requests that set keys, remember the talk in batches, ask about it and save its sessions."""
    batch_count, pending, talk = stream.pick(BATCH_COUNTS), list[TurnLine](), turns_of(spoken)
    yield None, ("create_session", {})
    for number, turn in enumerate(spoken, 1):
        is_end = number == len(spoken) or spoken[number].session != turn.session
        pending.append(turn)
        yield turn.at_ms, ("set", {"key": turn.speaker, "value": turn.text.encode()})
        if is_end or len(pending) == batch_count:
            yield None, ("remember", remember_args(pending))
            pending.clear()
        if number % RECALL_EVERY == 0:
            yield None, ("recall", make_recall(talk, number, stream))
        if is_end:
            yield None, ("save_session", {})


def remember_args(spoken: Sequence[TurnLine]) -> dict[str, object]:
    """Return the arguments of remember: one turn with its speaker, or a text with a line for each turn."""
    if len(spoken) == 1:
        return {"text": spoken[0].text, "speaker": spoken[0].speaker}
    return {"text": "\n".join(f"{turn.speaker}: {turn.text}" for turn in spoken)}


LINES: Final[Mapping[str, Callable[[RunConfig, str], Iterator[Line]]]] = {
    "generated": lambda config, agent: iter(()),
    "transcript": transcript_lines,
    "script": lambda config, agent: (
        (op["at_ms"], (op["name"], dict(op["args"]))) for op in config.script if op["agent"] == agent
    ),
}

"""Workloads: generators that act as users, one per agent.

Law 1. A request follows from seed, agent, its number and what is known; a draw more in one moves no other.
Law 2. Each kind that is on has a share of 1/64 at least.
Law 3. A user knows ids, sessions and live keys as the oracle does, and what it told; no memory's inside.
Law 4. At most one argument of a request is hostile, so that none hides another.
"""

from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, Protocol

import attrs

from umi_core.config import Config
from umi_core.data import Data
from umi_core.ids import entity_id
from umi_core.language.pronouns import read
from umi_core.limits import PPM, WORKING_VALUE_BYTES_MAX
from umi_core.messages.requests import REQUESTS
from umi_core.text import is_text
from umi_core.values import BLOCK_KINDS, Turn
from umi_sim.formats.transcripts import TurnLine, load
from umi_sim.formats.values import op_args
from umi_sim.kernel.prng import Ratio, Stream
from umi_sim.record.run_config import RunConfig
from umi_sim.workload import pools
from umi_sim.workload.dialogue import recalled
from umi_sim.workload.pools import Pool, altered, filled_in, prose, some_words

Drawn = tuple[str, dict[str, object]]
Line = tuple[int | None, Drawn]  # when, if that is told, and what
Question = tuple[str, tuple[Turn, ...]]  # a query, and the turns it was asked after

FLOOR: Final = 64
SECTION_BLOCKS: Final = 2**32
GENERATED: Final = (1, 4)  # beside a transcript
BATCH_COUNTS: Final = (1, 8)  # turns that are remembered together
RECALL_EVERY: Final = 5
TOLD_COUNT_MAX: Final = 16
ASKED_COUNT_MAX: Final = 4
TURN_COUNT_MAX: Final = 12  # two more than a memory looks at
TOLD_CHARS_MAX: Final = 1_000
PROMOTING_PPM: Final = 775_000


class Known(Protocol):
    """What a user may know; entities also when forgotten, sessions and agents of the same user."""

    def entity_ids(self, agent: str) -> Sequence[str]: ...
    def session_ids(self, agent: str) -> Sequence[str]: ...
    def keys(self, agent: str) -> Sequence[str]: ...
    def other_agents(self, agent: str) -> Sequence[str]: ...


class Workload:
    """The requests of one agent.

    `at_ms`: world time that script or transcript gives the last one drawn. `is_again`: its question was asked
    before, so when it is asked matters.
    """

    def __init__(self, config: RunConfig, agent: str, known: Known) -> None:
        self.at_ms: int | None = None
        self.is_again = False
        self._config = config
        self._user = User(config, agent, known)
        self._names, self._bounds = choices(config.weights)
        self._lines = LINES[config.workload](config, agent)
        path = ("workload",) if config.alike else ("agent", agent, "workload")
        self._stream = Sections(config.seed, *path)
        self._count = 0
        self._last: Drawn | None = None

    def next(self) -> Drawn | None:
        """The next request by name and arguments; None at the end, and ever after."""
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
        if kind == "generated" or stream.chance(*GENERATED):
            return self._invent(stream)
        return self._follow()

    def _follow(self) -> Drawn | None:
        self.at_ms, drawn = next(self._lines, (None, None))
        if drawn is not None and drawn[0] == "remember":
            self._user.tell(drawn[1].get("text"))
        return drawn

    def _invent(self, stream: Stream) -> Drawn:
        name = self._names[bisect(self._bounds, stream.below(self._bounds[-1]))]
        args = arguments(FIELDS[name], self._user, stream)
        self.is_again = name == "recall" and self._user.has_asked(args)
        return name, args


class Sections(Stream):
    """A stream with a section per request: how much one draws moves no other."""

    __slots__ = ()

    def begin(self, index: int) -> None:
        """Go to where a section starts; cheaper than a stream of its own."""
        self._block = index * SECTION_BLOCKS
        self._words.clear()


def choices(weights: Mapping[str, int]) -> tuple[list[str], list[int]]:
    """The names in the order of REQUESTS, and where the share of each ends."""
    shares = with_floor({name: weights[name] for name in REQUESTS if weights.get(name)})
    return list(shares), list(accumulate(shares.values()))


def with_floor(weights: Mapping[str, int]) -> dict[str, int]:
    """Weights in the same proportions, but none below 1/64 of their sum."""
    assert len(weights) <= FLOOR
    rare: list[str] = []
    for _ in weights:  # each round finds more that are too rare, or is the last
        rest = sum(weight for name, weight in weights.items() if name not in rare)
        scale = FLOOR - len(rare)
        rare += [name for name, weight in weights.items() if name not in rare and weight * scale < rest]
    return {name: rest if name in rare else weight * scale for name, weight in weights.items()}


# A user: what it may give for an argument.


class User:
    """The user of one agent, with the pools that depend on the configuration."""

    def __init__(self, config: RunConfig, agent: str, known: Known) -> None:
        memory = Config.of(config.memory)
        self.agent = agent
        self.known = known
        self.start_ms = config.start_ms
        self.adversarial = config.adversarial
        self.keys = (*pools.KEYS, *(f"k{n}" for n in range(config.key_count)))[: config.key_count]
        self.other_ids = ids_of_cast(config)
        self.told: deque[str] = deque(maxlen=TOLD_COUNT_MAX)
        self.asked: deque[Question] = deque(maxlen=ASKED_COUNT_MAX)
        self.question: Question = ("", ())  # of this request, as far as it is drawn

        working, core = min(memory.working_bytes_max, WORKING_VALUE_BYTES_MAX), memory.core_bytes_max
        full = tuple(b"v" * size for size in range(working - 4, working + 1) if size > 0)
        self.values = (*pools.VALUES, b"v" * min(working // 4, 4_096))
        self.bad_values = (*pools.HOSTILE_VALUES.values(), full)
        parts = (core // 4, core // 4 - 1, core // 4 + 1, core * 3 // 8, core * 3 // 8, core // 16)
        self.block_texts = tuple(prose(size) for size in parts)
        self.bad_block_texts = (
            *pools.HOSTILE_BLOCK_TEXTS.values(),
            pools.sizes(core),
            (prose(core // 2 + 1),),
        )

    def key(self, stream: Stream) -> object:
        """One of the alphabet; in one of eight cases one that lives."""
        at = stream.below(8 * len(self.keys))
        live = self.known.keys(self.agent) if at < len(self.keys) else ()
        return stream.pick(live) if live else self.keys[at % len(self.keys)]

    def value(self, stream: Stream) -> object:
        return stream.pick(self.values)

    def bad_value(self, stream: Stream) -> object:
        return stream.pick(stream.pick(self.bad_values))

    def text(self, stream: Stream) -> object:
        """One to three sentences about the cast; in one of eight cases a text that was told before."""
        if stream.chance(1, 8) and self.told:
            return stream.pick(self.told)
        count = stream.pick((1, 1, 1, 2, 3))
        return self.tell(" ".join(filled_in(stream, pools.TEMPLATES) for _ in range(count)))

    def bad_text(self, stream: Stream) -> object:
        """One of the pools, or one that was told before, as it was or nearly."""
        if stream.chance(1, 8) and self.told:
            return altered(stream, stream.pick(self.told))
        return self.tell(stream.pick(stream.pick(BAD_TEXTS)))

    def tell(self, text: object) -> object:
        """The text as it is; if it may be remembered at all, it may be told again."""
        if isinstance(text, str) and is_text(text) and 0 < len(text.strip()) <= TOLD_CHARS_MAX:
            self.told.append(text)
        return text

    def query(self, stream: Stream) -> object:
        """An earlier one, words of something told, or a question; half of these refer to what was said."""
        if stream.chance(1, 2) and self.asked:
            self.question = stream.pick(self.asked)
        elif stream.chance(1, 2) and self.told:
            about = "what about " if stream.chance(1, 4) else ""  # which makes the search a deep one
            self.question = about + some_words(stream, stream.pick(self.told)), ()
        else:
            asked = pools.REFERRING if stream.chance(1, 2) else pools.QUESTIONS
            self.question = filled_in(stream, asked), ()
        return self.question[0]

    def turns(self, stream: Stream) -> object:
        """Mostly for a question that refers to them; of one asked again mostly the same, else what was said
        since."""
        query, before = self.question
        if before and stream.chance(3, 4):
            return before
        if not stream.chance(*(NEARLY_ALWAYS if read(query).terms else SOMETIMES)):
            return None
        said = tuple(self.turn(stream) for _ in range(stream.between(0, stream.pick(pools.TURN_COUNTS))))
        self.asked.append((query, said))
        return said

    def turn(self, stream: Stream) -> Turn:
        """Something told earlier, or said aside; one in sixteen is blank or longer than is looked at."""
        role = stream.pick(pools.ROLES)
        if stream.chance(1, 16):
            return Turn(role, stream.pick(pools.STRANGE_TURNS))
        is_told = stream.chance(3, 4) and self.told
        return Turn(role, stream.pick(self.told) if is_told else filled_in(stream, pools.TEMPLATES))

    def has_asked(self, args: Mapping[str, object]) -> bool:
        """Whether just this was asked before, after the same turns."""
        query, turns = args.get("query"), args.get("turns")
        return bool(turns) and self.question[1] == turns and self.question[0] == query

    def instant(self, stream: Stream) -> int:
        return max(0, self.start_ms + stream.between(-5_000, 60_000))

    def time_range(self, stream: Stream) -> object:
        start_ms = self.instant(stream)
        return stream.pick(((start_ms, None), (None, start_ms), (start_ms, start_ms + 10_000)))

    def importance(self, stream: Stream) -> object:
        """Half of them so great that one access promotes, and so far apart that one displaces another."""
        return stream.between(PROMOTING_PPM, PPM) if stream.chance(1, 2) else stream.pick(pools.PARTS_PPM)

    def block_text(self, stream: Stream) -> object:
        """So much of the tier that it fills; in one of four cases a sentence."""
        return stream.pick(self.block_texts) if stream.chance(3, 4) else filled_in(stream, pools.TEMPLATES)

    def bad_block_text(self, stream: Stream) -> object:
        return stream.pick(stream.pick(self.bad_block_texts))

    def entity(self, stream: Stream) -> object:
        """One that was replied to this agent; in one of eight cases one of the cast, of any scope."""
        ids = self.known.entity_ids(self.agent)
        return stream.pick(self.other_ids if stream.chance(1, 8) or not ids else ids)

    def session(self, stream: Stream) -> object:
        return stream.pick(self.known.session_ids(self.agent) or pools.HOSTILE_IDS["absent"])

    def members(self, stream: Stream) -> object:
        return tuple(stream.subset(self.known.other_agents(self.agent), 1, 2))

    def request_key(self, stream: Stream) -> object:
        return f"r{stream.below(16)}"


def ids_of_cast(config: RunConfig) -> tuple[str, ...]:
    """Ids of persons in every scope of the run, stored or not."""
    scopes = [agent.scope for agent in config.agents]
    names = tuple(dict.fromkeys(pools.CAST["person"]))
    return tuple(entity_id(scope, "person", name) for scope in scopes for name in names)


# The arguments of each request.

Maker = Callable[[User, Stream], object]
ALWAYS: Final = (1, 1)
OFTEN: Final = (1, 2)
SOMETIMES: Final = (1, 4)
SELDOM: Final = (1, 8)
NEARLY_ALWAYS: Final = (7, 8)


def plain_maker(values: Maker | Sequence[object]) -> Maker:
    return values if callable(values) else lambda user, stream: stream.pick(values)


def hostile_maker(pool: Maker | Pool) -> Maker:
    classes = () if callable(pool) else tuple(pool.values())
    return pool if callable(pool) else lambda user, stream: stream.pick(stream.pick(classes))


@attrs.frozen
class Field(Data):
    """An argument: what it may be, plain and hostile; `share`: how often it is given at all."""

    name: str
    plain: Maker = attrs.field(converter=plain_maker)
    hostile: Maker = attrs.field(converter=hostile_maker)
    share: Ratio = ALWAYS


def arguments(fields: Sequence[Field], user: User, stream: Stream) -> dict[str, object]:
    """The arguments by name; what is left out has its default."""
    struck = struck_field(fields, stream) if stream.chance(*user.adversarial) and fields else None
    args: dict[str, object] = {}
    for field in fields:
        if field is struck:
            args[field.name] = field.hostile(user, stream)
        elif field.share is ALWAYS or stream.chance(*field.share):
            value = field.plain(user, stream)
            if value is not None:
                args[field.name] = value
    return args


def struck_field(fields: Sequence[Field], stream: Stream) -> Field:
    """The one that is hostile; the first one is three times as likely."""
    at = stream.below(len(fields) + 2)
    return fields[at] if at < len(fields) else fields[0]


BAD_TEXTS: Final = tuple(pools.HOSTILE_TEXTS.values())

KEY: Final = Field("key", User.key, pools.HOSTILE_KEYS)
VALUE: Final = Field("value", User.value, User.bad_value)
KIND: Final = Field("kind", BLOCK_KINDS, pools.HOSTILE_KINDS)
LABEL: Final = Field("label", pools.LABELS, pools.HOSTILE_LABELS, SOMETIMES)
IMPORTANCE: Final = Field("importance_ppm", User.importance, pools.HOSTILE_PPM, SOMETIMES)
ENTITY: Final = Field("entity_id", User.entity, pools.HOSTILE_IDS)
REQUEST_KEY: Final = Field("request_key", User.request_key, pools.HOSTILE_REQUEST_KEYS, SOMETIMES)
TYPES: Final = Field("types", pools.TYPES, pools.HOSTILE_TYPES, SELDOM)

FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    **dict.fromkeys(("sweep", "clear", "len", "bytes", "blocks", "core_bytes", "rebalance"), ()),
    **dict.fromkeys(("get", "exists", "delete", "touch"), (KEY,)),
    "set": (KEY, VALUE, Field("ttl_ms", pools.TTLS_MS, pools.HOSTILE_TTLS)),
    "incr": (KEY, Field("delta", pools.DELTAS, pools.HOSTILE_DELTAS, OFTEN)),
    "append": (KEY, VALUE),
    "get_block": (KIND, LABEL),
    "in_core": (ENTITY,),
    "render": (Field("form", ("xml", "markdown"), pools.HOSTILE_FORMS),),
    "last_routing_decisions": (),
    "set_block": (Field("text", User.block_text, User.bad_block_text), KIND, LABEL, IMPORTANCE),
    "set_importance": (attrs.evolve(IMPORTANCE, share=ALWAYS), KIND, LABEL),
    "remove_block": (KIND, LABEL),
    "create_session": (Field("members", User.members, pools.HOSTILE_MEMBERS, OFTEN),),
    "save_session": (Field("hand_to", User.members, pools.HOSTILE_MEMBERS, OFTEN),),
    "load_session": (Field("session_id", User.session, pools.HOSTILE_IDS),),
    "remember": (
        Field("text", User.text, User.bad_text),
        attrs.evolve(IMPORTANCE, share=OFTEN),
        REQUEST_KEY,
        Field("extract", (False,), pools.HOSTILE_FLAGS, SELDOM),
        Field("evolve", (False,), pools.HOSTILE_FLAGS, SELDOM),
        Field("embed", (False,), pools.HOSTILE_FLAGS, SELDOM),
        Field("event_time_ms", User.instant, pools.HOSTILE_TIMES, SOMETIMES),
        Field("metadata", pools.METADATA, pools.HOSTILE_METADATA, SELDOM),
        Field("source", ("chat-1", "mail-2"), pools.HOSTILE_IDS, SELDOM),
    ),
    "recall": (
        Field("query", User.query, pools.HOSTILE_QUERIES),
        Field("limit", (1, 1, 1, 2, 3, 10, 100), pools.HOSTILE_LIMITS, OFTEN),
        Field("time_range", User.time_range, pools.HOSTILE_RANGES, SELDOM),
        attrs.evolve(TYPES, share=SOMETIMES),
        Field("turns", User.turns, pools.HOSTILE_TURNS),
        Field("deep", (True, False), pools.HOSTILE_FLAGS, OFTEN),
        Field("resolve", (False,), pools.HOSTILE_FLAGS, SELDOM),
        Field("min_score_ppm", (0, 1, 300_000, PPM), pools.HOSTILE_PPM, SELDOM),
    ),
    "forget": (ENTITY, REQUEST_KEY),
    "get_entity": (ENTITY, Field("version", (1, 2, 3), pools.HOSTILE_VERSIONS, SOMETIMES)),
    "count": (TYPES,),
}
assert FIELDS.keys() == REQUESTS.keys()


# Requests that a file gives, in order.


def transcript_lines(config: RunConfig, agent: str) -> Iterator[Line]:
    assert config.transcript is not None
    return played(load(config.transcript), Stream(config.seed, "agent", agent, "transcript"))


def played(spoken: Sequence[TurnLine], stream: Stream) -> Iterator[Line]:
    """A conversation: told in batches, asked about every few turns, saved whenever its session ends."""
    batch_count, untold = stream.pick(BATCH_COUNTS), list[TurnLine]()
    yield None, ("create_session", {})
    for number, turn in enumerate(spoken, 1):
        is_end = number == len(spoken) or spoken[number].session != turn.session
        untold.append(turn)
        yield turn.at_ms, ("set", {"key": turn.speaker, "value": turn.text.encode()})
        if is_end or len(untold) == batch_count:
            yield None, ("remember", {"text": minutes(untold)})
            untold.clear()
        if number % RECALL_EVERY == 0:
            yield None, ("recall", recalled(spoken[:number], stream))
        if is_end:
            yield None, ("save_session", {})


def minutes(spoken: Sequence[TurnLine]) -> str:
    """One turn as it is, several as lines with their speakers."""
    lines = [f"{turn.speaker}: {turn.text}" for turn in spoken]
    return "\n".join(lines) if len(lines) > 1 else spoken[0].text


def script_lines(config: RunConfig, agent: str) -> Iterator[Line]:
    """The ops of this agent, written as in a seed file."""
    ours = [(at, op) for at, op in enumerate(config.script) if op["agent"] == agent]
    return iter([script_line(op, f"script[{at}]") for at, op in ours])


def script_line(op: Mapping[str, object], path: str) -> Line:
    name, at_ms = op["name"], op.get("at_ms")
    assert isinstance(name, str)
    assert isinstance(at_ms, int | None)
    return at_ms, (name, dict(op_args(name, op.get("args", {}), f"{path}.args")))


LINES: Final[Mapping[str, Callable[[RunConfig, str], Iterator[Line]]]] = {
    "generated": lambda config, agent: iter(()),
    "transcript": transcript_lines,
    "script": script_lines,
}

"""Workloads: generators that act as users, one per agent.

Law 1. A request follows from seed, agent, its number and what is known; a draw more in one moves no other.
Law 2. Each kind that is on has a share of 1/64 at least.
Law 3. A user knows what the oracle knows, ids, sessions and live keys, and what it told; never the memory's inside.
Law 4. At most one argument of a request is hostile, so that none hides another.
"""

from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, Protocol

import attrs

from umi_core.config import Config
from umi_core.inputs import REQUESTS
from umi_core.limits import PPM, WORKING_VALUE_BYTES_MAX
from umi_core.values import BLOCK_KINDS, Turn, entity_id
from umi_sim import pools
from umi_sim.pools import Classes, Pool, filled_in, hostile
from umi_sim.prng import Stream
from umi_sim.run_config import Ratio, RunConfig
from umi_sim.transcript import TurnLine, load

Drawn = tuple[str, dict[str, object]]
Line = tuple[int | None, Drawn]  # when, if that is known, and what

FLOOR: Final = 64
GENERATED: Final = (1, 4)  # beside a transcript
BATCH_COUNTS: Final = (1, 8)  # turns that are remembered together
RECALL_EVERY: Final = 5
TOLD_COUNT_MAX: Final = 16
TOLD_CHARS_MAX: Final = 1_000
LIVE_ONE_IN: Final = 8


class Known(Protocol):
    """What a user may know of its world; entities also when forgotten, sessions and agents of the same user."""

    def entity_ids(self, agent: str) -> Sequence[str]: ...
    def session_ids(self, agent: str) -> Sequence[str]: ...
    def keys(self, agent: str) -> Sequence[str]: ...
    def other_agents(self, agent: str) -> Sequence[str]: ...


class Workload:
    """The requests of one agent. `at_ms`: when script or transcript wants the last one drawn, in world time."""

    def __init__(self, config: RunConfig, agent: str, known: Known) -> None:
        self.at_ms: int | None = None
        self._config = config
        self._agent = agent
        self._user = user_of(config, agent, known)
        self._names, self._bounds = choices(config.weights)
        self._lines = LINES[config.workload](config, agent)
        self._left = config.operations_max
        self._last: Drawn | None = None

    def next(self) -> Drawn | None:
        """The next request by name and arguments; None at the end."""
        if self._left == 0:
            return None
        index = self._config.operations_max - self._left
        self._last = self._draw(Stream(self._config.seed, "agent", self._agent, "workload", index))
        self._left = self._left - 1 if self._last else 0
        return self._last

    def _draw(self, stream: Stream) -> Drawn | None:
        self.at_ms = None
        kind = self._config.workload
        if kind == "script":
            return self._follow()
        if stream.chance(*self._config.repeat) and self._last:
            return self._last
        if kind == "generated" or stream.chance(*GENERATED):
            return self._invent(stream)
        return self._follow()

    def _follow(self) -> Drawn | None:
        self.at_ms, drawn = next(self._lines, (None, None))
        return drawn

    def _invent(self, stream: Stream) -> Drawn:
        name = self._names[bisect(self._bounds, stream.below(self._bounds[-1]))]
        return name, arguments(FIELDS[name], self._user, stream)


def choices(weights: Mapping[str, int]) -> tuple[list[str], list[int]]:
    """The names in the order of REQUESTS, and where the share of each ends."""
    shares = with_floor({name: weights[name] for name in REQUESTS if weights.get(name)})
    return list(shares), list(accumulate(shares.values()))


def with_floor(weights: Mapping[str, int]) -> dict[str, int]:
    """Weights in the same proportions, but none below 1/64 of their sum."""
    assert len(weights) <= FLOOR
    rare: list[str] = []
    for _ in weights:
        rest = sum(weight for name, weight in weights.items() if name not in rare)
        scale = FLOOR - len(rare)
        rare += [name for name, weight in weights.items() if name not in rare and weight * scale < rest]
    return {name: rest if name in rare else weight * scale for name, weight in weights.items()}


# A user: what it knows, and what it may give.


@attrs.define
class User:
    """One agent's user, with the pools that depend on the configuration."""

    name: str
    known: Known
    start_ms: int
    adversarial: Ratio
    keys: tuple[str, ...]
    values: tuple[bytes, ...]
    hostile_values: Classes
    block_texts: tuple[str, ...]
    hostile_block_texts: Classes
    other_ids: tuple[str, ...]
    told: deque[str] = attrs.field(factory=lambda: deque(maxlen=TOLD_COUNT_MAX))


def user_of(config: RunConfig, agent: str, known: Known) -> User:
    memory = Config(**config.memory)  # type: ignore[arg-type]
    working_bytes = min(memory.working_bytes_max, WORKING_VALUE_BYTES_MAX)
    full = [b"v" * (working_bytes - less) for less in range(5) if less <= working_bytes]
    core_bytes = memory.core_bytes_max
    return User(
        agent,
        known,
        config.start_ms,
        config.adversarial,
        keys=(*pools.KEYS, *(f"k{n}" for n in range(config.key_count)))[: config.key_count],
        values=(*pools.VALUES, b"v" * min(working_bytes // 4, 4_096)),
        hostile_values=(*pools.HOSTILE_VALUES.values(), full),
        block_texts=tuple(prose(core_bytes // 4 + more) for more in (0, 0, 1, -1, -core_bytes // 8)),
        hostile_block_texts=(*pools.HOSTILE_BLOCK_TEXTS.values(), *around(core_bytes)),
        other_ids=ids_of_cast(config),
    )


def around(core_bytes: int) -> Classes:
    """Texts as long as the whole tier, and as its half."""
    return (pools.sizes(core_bytes), [prose(core_bytes // 2), prose(core_bytes // 2 + 1)])


def prose(size_bytes: int) -> str:
    sentence = "Alice likes tea and works at Acme.\n"
    return (sentence * (size_bytes // len(sentence) + 1))[:size_bytes]


def ids_of_cast(config: RunConfig) -> tuple[str, ...]:
    """Ids of persons in every scope of the run, stored or not."""
    scopes = [agent.scope for agent in config.agents]
    return tuple(entity_id(scope, "person", name) for scope in scopes for name in pools.CAST["person"])


# Arguments of a generated request.

Maker = Callable[[User, Stream], object]
ALWAYS: Final = (1, 1)


@attrs.frozen
class Field:
    """An argument: how it is drawn, plain and hostile; `share`: how often it is given at all."""

    name: str
    plain: Maker
    hostile: Maker
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


def one_of(values: Sequence[object]) -> Maker:
    return lambda user, stream: stream.pick(values)


def one_bad(pool: Pool) -> Maker:
    classes = tuple(pool.values())
    return lambda user, stream: hostile(stream, classes)


def key(user: User, stream: Stream) -> object:
    """One of the alphabet, or one that lives."""
    keys = user.keys
    at = stream.below(LIVE_ONE_IN * len(keys))
    live = user.known.keys(user.name) if at < len(keys) else ()
    return stream.pick(live) if live else keys[at % len(keys)]


def text(user: User, stream: Stream) -> object:
    """One to three sentences about the cast."""
    count = stream.pick((1, 1, 1, 2, 3))
    return tell(user, " ".join(filled_in(stream, pools.TEMPLATES) for _ in range(count)))


def hostile_text(user: User, stream: Stream) -> object:
    """One told before, perhaps with one character changed, or one of the pool."""
    if stream.chance(1, 8) and user.told:
        return altered(stream, stream.pick(user.told))
    return tell(user, hostile(stream, TEXT_CLASSES))


def tell(user: User, told: object) -> object:
    if isinstance(told, str) and told.strip() and len(told) <= TOLD_CHARS_MAX:
        user.told.append(told)
    return told


def altered(stream: Stream, told: str) -> str:
    at = stream.below(2 * len(told))
    return told if at >= len(told) else told[:at] + stream.pick(pools.UNITS) + told[at + 1 :]


def query(user: User, stream: Stream) -> object:
    """Words of something told, or a question about the cast."""
    if stream.chance(1, 3) and user.told:
        return some_words(stream, stream.pick(user.told))
    return filled_in(stream, pools.QUESTIONS)


def some_words(stream: Stream, told: str) -> str:
    """One to three neighbours among the words of a text."""
    words = told.split() or ["?"]
    at = stream.below(len(words))
    return " ".join(words[at : at + stream.between(1, 3)])


def turns(user: User, stream: Stream) -> object:
    count = stream.between(1, 3)
    return tuple(Turn(stream.pick(pools.ROLES), filled_in(stream, pools.TEMPLATES)) for _ in range(count))


def instant(user: User, stream: Stream) -> int:
    return max(0, user.start_ms + stream.between(-5_000, 60_000))


def time_range(user: User, stream: Stream) -> object:
    start_ms = instant(user, stream)
    return stream.pick(((start_ms, None), (None, start_ms), (start_ms, start_ms + 10_000)))


def importance(user: User, stream: Stream) -> object:
    """Half of them so great that one access promotes."""
    return stream.between(900_000, PPM) if stream.chance(1, 2) else stream.pick(pools.PARTS_PPM)


def block_text(user: User, stream: Stream) -> object:
    """A sentence, or about a quarter of the tier: five of those do not fit."""
    return stream.pick(user.block_texts) if stream.chance(1, 2) else filled_in(stream, pools.TEMPLATES)


def entity(user: User, stream: Stream) -> object:
    ids = user.known.entity_ids(user.name)
    return stream.pick(user.other_ids if stream.chance(1, 8) or not ids else ids)


def session(user: User, stream: Stream) -> object:
    return stream.pick(user.known.session_ids(user.name) or pools.HOSTILE_IDS["absent"])


def members(user: User, stream: Stream) -> object:
    return tuple(stream.subset(user.known.other_agents(user.name), 1, 2))


def request_key(user: User, stream: Stream) -> object:
    return f"r{stream.below(16)}"


TEXT_CLASSES: Final = tuple(pools.HOSTILE_TEXTS.values())
SELDOM: Final = (1, 8)
SOMETIMES: Final = (1, 4)
OFTEN: Final = (1, 2)

KEY: Final = Field("key", key, one_bad(pools.HOSTILE_KEYS))
VALUE: Final = Field(
    "value",
    lambda user, stream: stream.pick(user.values),
    lambda user, stream: hostile(stream, user.hostile_values),
)
KIND: Final = Field("kind", one_of(BLOCK_KINDS), one_bad(pools.HOSTILE_KINDS))
LABEL: Final = Field("label", one_of(pools.LABELS), one_bad(pools.HOSTILE_LABELS), SOMETIMES)
IMPORTANCE: Final = Field("importance_ppm", importance, one_bad(pools.HOSTILE_PPM), SOMETIMES)
ENTITY: Final = Field("entity_id", entity, one_bad(pools.HOSTILE_IDS))
REQUEST_KEY: Final = Field("request_key", request_key, one_bad(pools.HOSTILE_REQUEST_KEYS), SOMETIMES)
TYPES: Final = Field("types", one_of(pools.TYPES), one_bad(pools.HOSTILE_TYPES), SELDOM)

FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    "set": (KEY, VALUE, Field("ttl_ms", one_of(pools.TTLS_MS), one_bad(pools.HOSTILE_TTLS))),
    "get": (KEY,),
    "exists": (KEY,),
    "delete": (KEY,),
    "incr": (KEY, Field("delta", one_of(pools.DELTAS), one_bad(pools.HOSTILE_DELTAS), OFTEN)),
    "append": (KEY, VALUE),
    "touch": (KEY,),
    "sweep": (),
    "clear": (),
    "len": (),
    "bytes": (),
    "get_block": (KIND, LABEL),
    "blocks": (),
    "core_bytes": (),
    "in_core": (ENTITY,),
    "render": (Field("form", one_of(("xml", "markdown")), one_bad(pools.HOSTILE_FORMS)),),
    "last_routing_decisions": (),
    "set_block": (
        Field("text", block_text, lambda user, stream: hostile(stream, user.hostile_block_texts)),
        KIND,
        LABEL,
        IMPORTANCE,
    ),
    "set_importance": (attrs.evolve(IMPORTANCE, share=ALWAYS), KIND, LABEL),
    "remove_block": (KIND, LABEL),
    "create_session": (Field("members", members, one_bad(pools.HOSTILE_MEMBERS), OFTEN),),
    "save_session": (Field("hand_to", members, one_bad(pools.HOSTILE_MEMBERS), OFTEN),),
    "load_session": (Field("session_id", session, one_bad(pools.HOSTILE_IDS)),),
    "remember": (
        Field("text", text, hostile_text),
        IMPORTANCE,
        REQUEST_KEY,
        Field("extract", one_of((False,)), one_bad(pools.HOSTILE_FLAGS), SELDOM),
        Field("embed", one_of((False,)), one_bad(pools.HOSTILE_FLAGS), SELDOM),
        Field("event_time_ms", instant, one_bad(pools.HOSTILE_TIMES), SOMETIMES),
        Field("metadata", one_of(pools.METADATA), one_bad(pools.HOSTILE_METADATA), SELDOM),
        Field("source", one_of(("chat-1", "mail-2")), one_bad(pools.HOSTILE_IDS), SELDOM),
    ),
    "recall": (
        Field("query", query, one_bad(pools.HOSTILE_QUERIES)),
        Field("limit", one_of((1, 2, 3, 10, 100)), one_bad(pools.HOSTILE_LIMITS), SOMETIMES),
        Field("time_range", time_range, one_bad(pools.HOSTILE_RANGES), SELDOM),
        TYPES,
        Field("turns", turns, one_bad(pools.HOSTILE_TURNS), SOMETIMES),
        Field("min_score_ppm", one_of((0, 1, 300_000, PPM)), one_bad(pools.HOSTILE_PPM), SELDOM),
    ),
    "forget": (ENTITY, REQUEST_KEY),
    "get_entity": (ENTITY, Field("version", one_of((1, 2, 3)), one_bad(pools.HOSTILE_VERSIONS), SOMETIMES)),
    "count": (TYPES,),
    "rebalance": (),
}
assert FIELDS.keys() == REQUESTS.keys()


# Requests that a file gives, in order.


def no_lines(config: RunConfig, agent: str) -> Iterator[Line]:
    return iter(())


def transcript_lines(config: RunConfig, agent: str) -> Iterator[Line]:
    assert config.transcript is not None
    return played(load(config.transcript), Stream(config.seed, "agent", agent, "transcript"))


def played(spoken: Sequence[TurnLine], stream: Stream) -> Iterator[Line]:
    """A conversation as requests: told in batches, asked about every few turns, saved when its session ends."""
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
            yield None, ("recall", {"query": some_words(stream, stream.pick(spoken[:number]).text)})
        if is_end:
            yield None, ("save_session", {})


def minutes(spoken: Sequence[TurnLine]) -> str:
    """One turn as it is, several as lines with their speakers."""
    if len(spoken) == 1:
        return spoken[0].text
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in spoken)


def script_lines(config: RunConfig, agent: str) -> Iterator[Line]:
    return (script_line(op) for op in config.script if op["agent"] == agent)


def script_line(op: Mapping[str, object]) -> Line:
    name, at_ms, args = op["name"], op.get("at_ms"), op.get("args", {})
    assert isinstance(name, str)
    assert isinstance(at_ms, int | None)
    assert isinstance(args, Mapping)
    kinds = {field.name: field.type for field in attrs.fields(REQUESTS[name])}
    return at_ms, (name, {key: argument(kinds[key], value) for key, value in args.items()})


def argument(kind: object, value: object) -> object:
    """A value of TOML or JSON as the field of a request: bytes from text or hex, tuples from lists."""
    match value:
        case str() if kind is bytes:
            return value.encode()
        case {"hex": str(digits)}:
            return bytes.fromhex(digits)
        case {"text": str(words)}:
            return words
        case [str(role), str(words)] if kind is Turn:
            return Turn(role, words)
        case list() | tuple():
            part = Turn if kind == tuple[Turn, ...] else None
            return tuple(argument(part, each) for each in value)
    return value


LINES: Final[Mapping[str, Callable[[RunConfig, str], Iterator[Line]]]] = {
    "generated": no_lines,
    "transcript": transcript_lines,
    "script": script_lines,
}

"""Users: draw values of arguments, such as a name of the cast, an earlier text or a known id.

Law 1. A user knows ids, sessions and live keys from the oracle, and its own texts; it never reads a memory.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Protocol
from urllib.parse import quote

from umi_core.config import Config
from umi_core.ids import entity_id
from umi_core.language.pronouns import read
from umi_core.limits import PPM, WORKING_VALUE_BYTES_MAX
from umi_core.text import is_text
from umi_core.values import Scope, Turn
from umi_sim.kernel.prng import Ratio, Stream
from umi_sim.record.category_lists import all_categories
from umi_sim.record.run_config import RunConfig
from umi_sim.workload import filter_values, pools
from umi_sim.workload.pools import alter_text, filled_in, prose, some_words

Question = tuple[str, tuple[Turn, ...]]  # a query, and the turns that were passed with it

ENCODER: Final = json.JSONEncoder(ensure_ascii=False)
TOLD_COUNT_MAX: Final = 16
RECENT_COUNT_MAX: Final = 8  # few, so that several texts have a sentence in common
ASKED_COUNT_MAX: Final = 4
DOCUMENT_COUNT_MAX: Final = 4
TEXT_KINDS: Final = ("text", "message", "document", "conversation")
MEDIA_KINDS: Final = ("image", "image", "audio", "video")
LINE_COUNTS: Final = (1, 1, 2, 3, 5, 8, 50)
LENGTHS: Final = (1, 1, 1, 20)
TURN_COUNT_MAX: Final = 12  # two more than a memory reads
TOLD_CHARS_MAX: Final = 1_000
SHORT_TEXTS: Final = ("ok", "likes tea", "no nuts")  # for blocks
# The least importance with which one access promotes a person: its score is (4 * 775,000 + 3 * 1,000,000 +
# 2 * 100,000 + 700,000) / 10 = 700,000, the least that is promoted (promote_score_min_ppm).
PROMOTING_PPM: Final = 775_000
WITH_TURNS: Final[Ratio] = (7, 8)  # share of questions with a pronoun or the like that come with turns
WITHOUT_NEED: Final[Ratio] = (1, 4)  # share of all other questions that come with turns
WRAPPED: Final = ("[]", "[]", "[]", '{"messages":[]}', '{"id":7,"content":[]}')  # messages go into []
CONTENTS: Final[Sequence[Callable[[str], object]]] = (  # of a message: its text, or parts of it
    str, str, str, str, lambda text: {"text": text}, lambda text: [{"type": "text", "text": text}],
    lambda text: [text, {"type": "image", "url": "x"}, "and so on"], str, str, lambda text: True,
    lambda text: [{"type": "tool_use", "name": "note", "input": {"text": text}}],
)  # fmt: skip
FORMS: Final[Sequence[Callable[[str], dict[str, object]]]] = (  # of a message, as other programs write it
    lambda text: {"role": "model", "parts": [{"text": text}]}, lambda text: {"speaker": "Ann", "text": text},
    lambda text: {"type": "human", "data": {"content": text}}, lambda text: {"role": "user", "content": None},
)  # fmt: skip
MUTE: Final = (  # messages that cannot be read, because the place of their text is unknown
    {"role": "user", "content": {"at": 7}}, {"role": "user", "content": [{"thing": "Hello"}]},
    {"role": "tool"}, {"said": "Hello"}, {"type": "ai", "data": {"says": "Hello"}}, "Hello", None,
)  # fmt: skip
MOMENTS: Final = ("2026-11-23T10:00:00Z", 1_700_000_000, None, {"at": "noon"}, [1, True])
BAD_TEXTS: Final = tuple(pools.HOSTILE_TEXTS.values())


class UserKnowledge(Protocol):
    """Ids, keys, sessions and other agents that a user may know; forgotten entities are included."""

    def entity_ids(self, agent: str) -> Sequence[str]: ...
    def session_ids(self, agent: str) -> Sequence[str]: ...
    def joined_ids(self, agent: str) -> Sequence[str]: ...
    def record_ids(self, agent: str) -> Sequence[str]: ...
    def blocks(self, agent: str) -> Sequence[tuple[str, str, str]]: ...
    def resource_ids(self, agent: str) -> Sequence[str]: ...
    def keys(self, agent: str) -> Sequence[str]: ...
    def other_agents(self, agent: str) -> Sequence[str]: ...
    def sharing_agents(self, agent: str) -> Sequence[str]: ...


NAMED: Final[Mapping[str, Callable[[UserKnowledge, str], Sequence[object]]]] = {
    **dict.fromkeys(
        ("update_block", "replace_in_block", "delete_block", "find_block", "block_history"),
        lambda known, agent: known.blocks(agent),
    ),
    **dict.fromkeys(("get_archival", "delete_archival"), lambda known, agent: known.record_ids(agent)),
    "update_entity": lambda known, agent: known.entity_ids(agent),
    "end_session": lambda known, agent: known.joined_ids(agent),
    "forget_resource": lambda known, agent: known.resource_ids(agent),
}
"""By request: known values of the argument without which it does nothing."""


class User:
    """The user of one agent, with those pools of values that depend on the configuration."""

    def __init__(self, config: RunConfig, agent: str, known: UserKnowledge) -> None:
        memory = Config.of(config.memory)
        self.agent = agent
        self.categories = tuple(all_categories(config))
        first, last = self.categories[0], self.categories[-1]
        own_lists = (*((name,) for name in self.categories), (first, last, first))
        self.category_lists = own_lists if config.categories else pools.CATEGORY_LISTS
        self.scope = next(it.scope for it in config.agents if it.name == agent)
        self.known = known
        self.start_ms = config.start_ms
        self.adversarial = config.adversarial
        self.edges, self.short_blocks, self.media = config.edges, config.short_blocks, config.media
        self.retold, self.recent = config.retold, deque[str](maxlen=RECENT_COUNT_MAX)
        self.keys = (*pools.KEYS, *(f"k{n}" for n in range(config.key_count)))[: config.key_count]
        self.may_share = bool(config.weights.get("share_archive"))
        self.agent_names = tuple(dict.fromkeys(it.scope.agent for it in config.agents))
        self.other_ids = ids_of_cast(tuple(it.scope for it in config.agents))
        self.statements: deque[str] = deque(maxlen=TOLD_COUNT_MAX)
        self.asked: deque[Question] = deque(maxlen=ASKED_COUNT_MAX)
        self.documents: deque[tuple[str, str]] = deque(maxlen=DOCUMENT_COUNT_MAX)
        self.document_kind = "text"  # of this request
        self.question: Question = ("", ())  # of this request, as far as it is drawn

        working, core = min(memory.working_bytes_max, WORKING_VALUE_BYTES_MAX), memory.core_bytes_max
        # With a key of one to four bytes, one of these fills the tier exactly; longer ones do not fit.
        full = tuple(b"v" * size for size in range(working - 4, working + 1) if size > 0)
        self.values = (*pools.VALUES, b"v" * min(working // 4, 4_096))
        self.bad_values = (*pools.HOSTILE_VALUES.values(), full)
        # Sizes around the quarter that self may take, and so large that three or four texts fill the tier.
        parts = (core // 4, core // 4 - 1, core // 4 + 1, core * 3 // 8, core * 3 // 8, core // 16)
        self.block_texts = (*(prose(size) for size in parts), pools.MARKED)
        self.bad_block_texts = (
            *pools.HOSTILE_BLOCK_TEXTS.values(),
            pools.sizes(core),
            (prose(core // 2 + 1),),
        )

    def key(self, stream: Stream) -> object:
        """Draw a key of this run; in one of eight cases a live one."""
        # One draw decides both: its first eighth means a live key, the rest a key of the pool.
        at = stream.below(8 * len(self.keys))
        live = self.known.keys(self.agent) if at < len(self.keys) else ()
        return stream.pick(live) if live else self.keys[at % len(self.keys)]

    def category(self, stream: Stream) -> object:
        return stream.pick(self.categories)

    def categories_of_fact(self, stream: Stream) -> object:
        return stream.pick(self.category_lists)

    def new_categories(self, stream: Stream) -> object:
        return stream.pick(((), *self.category_lists))

    def value(self, stream: Stream) -> object:
        return stream.pick(self.values)

    def bad_value(self, stream: Stream) -> object:
        return stream.pick(stream.pick(self.bad_values))

    def text(self, stream: Stream) -> object:
        """Draw one to three sentences about the cast; in one of eight cases an earlier text."""
        if stream.chance(1, 8) and self.statements:
            return stream.pick(self.statements)
        count = stream.pick((1, 1, 1, 2, 3))
        return self.tell(" ".join(self.sentence(stream) for _ in range(count)))

    def sentence(self, stream: Stream) -> str:
        """Draw a sentence about the cast; with the share `retold` a recent one, from any text."""
        if self.retold[0] and self.recent and stream.chance(*self.retold):
            return stream.pick(self.recent)
        self.recent.append(filled_in(stream, pools.TEMPLATES))
        return self.recent[-1]

    def fact(self, stream: Stream) -> object:
        """Draw a sentence about the cast, or in one of four cases an earlier text."""
        if stream.chance(1, 4) and self.statements:
            return stream.pick(self.statements)
        return self.sentence(stream)

    def new_fact(self, stream: Stream) -> object:
        """Draw the new content of a fact; in every second case a recent sentence."""
        return stream.pick(self.recent) if stream.chance(1, 2) and self.recent else self.fact(stream)

    def bad_text(self, stream: Stream) -> object:
        """Draw a hostile text, or in one of eight cases an earlier text with at most a small change."""
        if stream.chance(1, 8) and self.statements:
            return alter_text(stream, stream.pick(self.statements))
        return self.tell(stream.pick(stream.pick(BAD_TEXTS)))

    def tell(self, text: object) -> object:
        """Return the text unchanged; keep it for later requests if a memory can remember it."""
        if isinstance(text, str) and is_text(text) and 0 < len(text.strip()) <= TOLD_CHARS_MAX:
            self.statements.append(text)
        return text

    def bad_document(self, stream: Stream) -> object:
        """Draw a conversation with messages that cannot be read, or a hostile text."""
        if stream.chance(1, 2):
            return self.bad_text(stream)
        self.document_kind = "conversation"
        messages = [
            ENCODER.encode({"role": "user", "content": f"Hello {n}"}) for n in range(stream.below(14))
        ]
        mute = [ENCODER.encode(stream.pick(MUTE)) for _ in range(stream.between(1, 12))]
        return f"[{','.join(stream.shuffle([*messages, *mute]))}]"

    def document(self, stream: Stream) -> object:
        """Draw a text, a conversation, a document or a payload; in one of four cases an earlier one."""
        if stream.chance(1, 4) and self.documents:
            self.document_kind, text = stream.pick(self.documents)
            return text
        is_text = not self.media[0] or not stream.chance(*self.media)
        self.document_kind = stream.pick(pools.DOCUMENT_KINDS if is_text else MEDIA_KINDS)
        lines = [self.sentence(stream) for _ in range(stream.pick(LINE_COUNTS))]
        text = DOCUMENT_FORMS[self.document_kind](stream, lines) if is_text else self.payload(stream, lines)
        self.documents.append((self.document_kind, text))
        return text

    def payload(self, stream: Stream, lines: Sequence[str]) -> str:
        """Draw an image, an audio or a video: mostly a data URI that contains the text that it shows."""
        if stream.chance(1, 8):
            return f"https://example.org/{self.document_kind}/{stream.below(8)}"
        return f"data:{self.document_kind}/x-said,{quote(stream.pick((' ', chr(10))).join(lines))}"

    def modality(self, stream: Stream) -> object:
        """Draw a modality: mostly that of the drawn document."""
        is_text = self.document_kind in TEXT_KINDS
        return stream.pick(TEXT_KINDS) if is_text and stream.chance(1, 8) else self.document_kind

    def query(self, stream: Stream) -> object:
        """Draw an earlier query, words of an earlier text, or a question; half of these refer to turns."""
        if stream.chance(1, 2) and self.asked:
            self.question = stream.pick(self.asked)
        elif stream.chance(1, 2) and self.statements:
            about = "what about " if stream.chance(1, 4) else ""  # makes the search a deep one
            self.question = about + some_words(stream, stream.pick(self.statements)), ()
        else:
            asked = pools.REFERRING if stream.chance(1, 2) else pools.QUESTIONS
            self.question = filled_in(stream, asked), ()
        return self.question[0]

    def turns(self, stream: Stream) -> object:
        """Draw turns, mostly if the question refers to them; an earlier question mostly gets the same."""
        query, before = self.question
        if before and stream.chance(3, 4):
            return before
        if not stream.chance(*(WITH_TURNS if read(query).terms else WITHOUT_NEED)):
            return None
        turns = tuple(self.turn(stream) for _ in range(stream.between(0, stream.pick(pools.TURN_COUNTS))))
        self.asked.append((query, turns))
        return turns

    def turn(self, stream: Stream) -> Turn:
        """Draw an earlier text or a sentence; one in sixteen is blank or longer than a memory reads."""
        role = stream.pick(pools.ROLES)
        if stream.chance(1, 16):
            return Turn(role, stream.pick(pools.STRANGE_TURNS))
        is_told = stream.chance(3, 4) and self.statements
        return Turn(role, stream.pick(self.statements) if is_told else filled_in(stream, pools.TEMPLATES))

    def has_asked(self, args: Mapping[str, object]) -> bool:
        """Return whether this query was asked before with the same turns."""
        query, turns = args.get("query"), args.get("turns")
        return bool(turns) and self.question[1] == turns and self.question[0] == query

    def instant(self, stream: Stream) -> int:
        return max(0, self.start_ms + stream.between(-5_000, 60_000))

    def time_range(self, stream: Stream) -> object:
        start_ms = self.instant(stream)
        return stream.pick(((start_ms, None), (None, start_ms), (start_ms, start_ms + 10_000)))

    def filter(self, stream: Stream) -> object:
        """Draw one or two conditions that hold for some rows; one in sixteen holds only in other scopes."""
        return self.conditions(stream, filter_values.FILTERS)

    def row_filter(self, stream: Stream) -> object:
        return self.conditions(stream, filter_values.ROW_FILTERS)

    def conditions(self, stream: Stream, pool: tuple[object, ...]) -> object:
        user, agent, start_ms = self.scope.user, self.scope.agent, self.instant(stream)
        if stream.chance(1, 16):
            return (("user", "ne", user),)
        own = ("user", "eq", user), ("agent", "in", (agent, "nobody"))
        known = (*pool, *own, ("created_ms", "gte", start_ms), ("updated_ms", "lt", start_ms))
        return tuple(stream.pick(known) for _ in range(stream.between(1, 2)))

    def importance(self, stream: Stream) -> object:
        """Draw one with which one access promotes, or any; they differ enough to displace each other."""
        return stream.between(PROMOTING_PPM, PPM) if stream.chance(1, 2) else stream.pick(pools.PARTS_PPM)

    def block_text(self, stream: Stream) -> object:
        """Draw a text so long that a few fill the tier, or in one of four cases a sentence.

        With the share `short_blocks` it is a word or two, which leaves room.
        """
        if self.short_blocks[0] and stream.chance(*self.short_blocks):
            return stream.pick(SHORT_TEXTS)
        return stream.pick(self.block_texts) if stream.chance(3, 4) else filled_in(stream, pools.TEMPLATES)

    def bad_block_text(self, stream: Stream) -> object:
        return stream.pick(stream.pick(self.bad_block_texts))

    def entity(self, stream: Stream) -> object:
        """Draw an id from a reply to this agent; in one of eight cases that of a cast member in any scope."""
        ids = self.known.entity_ids(self.agent)
        return stream.pick(self.other_ids if stream.chance(1, 8) or not ids else ids)

    def resource(self, stream: Stream) -> object:
        """Draw the id of a memorized text, perhaps forgotten since; in one of sixteen cases of an entity."""
        ids = self.known.resource_ids(self.agent)
        return self.entity(stream) if stream.chance(1, 16) or not ids else stream.pick(ids)

    def session(self, stream: Stream) -> object:
        return stream.pick(self.known.session_ids(self.agent) or pools.HOSTILE_IDS["absent"])

    def talk(self, stream: Stream) -> object:
        """Draw one of few sessions, so that each gets many texts: mostly one that this agent has joined."""
        own, all_ids = self.known.joined_ids(self.agent)[:2], self.known.session_ids(self.agent)[:2]
        return stream.pick((own if stream.chance(7, 8) else ()) or all_ids or pools.HOSTILE_IDS["absent"])

    def members(self, stream: Stream) -> object:
        return tuple(stream.subset(self.known.other_agents(self.agent), 1, 2))

    def owners(self, stream: Stream) -> object:
        """Draw agents, mostly ones that share their archive with this one; None if a run shares nothing."""
        names = self.agent_names if stream.chance(1, 4) else self.known.sharing_agents(self.agent)
        count = 2 if stream.chance(1, 8) else 1
        return tuple(stream.pick(names) for _ in range(count)) if self.may_share and names else None

    def readers(self, stream: Stream) -> object:
        """Draw some other agents of this user, in one of four cases none."""
        others = self.known.other_agents(self.agent)
        return tuple(stream.subset(others, 3, 4)) if stream.chance(3, 4) else ()

    def lacks(self, name: str) -> bool:
        """Return whether this request must name something of which the user knows none."""
        known = NAMED.get(name)
        return known is not None and not known(self.known, self.agent)

    def request_key(self, stream: Stream) -> object:
        return f"r{stream.below(16)}"


def document(stream: Stream, lines: Sequence[str]) -> str:
    return "\r\n".join((*lines, "")) * stream.pick(LENGTHS)


def conversation(stream: Stream, lines: Sequence[str]) -> str:
    """Return messages as JSON: a list, a list in an object, or one message on each line."""
    messages = [message(stream, line) for line in lines]
    if len(messages) > 1 and stream.chance(1, 8):
        return "\n".join(messages)
    return stream.pick(WRAPPED).replace("[]", f"[{','.join(messages)}]")


def message(stream: Stream, text: str) -> str:
    """Draw a message as JSON, in one of the forms that programs use."""
    when = {"created_at": stream.pick(MOMENTS)} if stream.chance(1, 4) else {}
    if stream.chance(1, 8):
        return ENCODER.encode(stream.pick(FORMS)(text) | when)
    return ENCODER.encode({"role": stream.pick(pools.ROLES), "content": stream.pick(CONTENTS)(text), **when})


DOCUMENT_FORMS: Final[Mapping[str, Callable[[Stream, Sequence[str]], str]]] = {
    "text": lambda stream, lines: " ".join(lines), "document": document, "conversation": conversation,
}  # fmt: skip


@lru_cache(maxsize=64)  # most runs have the same scopes
def ids_of_cast(scopes: tuple[Scope, ...]) -> tuple[str, ...]:
    """Return the ids that persons of the cast have in every scope of a run, stored or not."""
    names = tuple(dict.fromkeys(pools.CAST["person"]))
    return tuple(entity_id(scope, name) for scope in scopes for name in names)

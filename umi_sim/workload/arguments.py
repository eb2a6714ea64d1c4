"""Arguments of requests: for each domain what users give, plain and hostile, and how often at all.

Law 1. What an argument may be follows from its domain alone: a new request with known domains needs no row.
Law 2. At most one argument of a request is hostile, so that none hides another.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.declared import Incomplete
from umi_core.domains import JUDGES, LISTED, RANKERS
from umi_core.limits import PPM, RECALL_LIMIT_MAX
from umi_core.messages.requests import ALL, REQUESTS, Argument, arguments_of
from umi_core.values import BLOCK_KINDS, LEVELS
from umi_core.values import MEMORY_TYPES as ALL_MEMORY_TYPES
from umi_sim.kernel.prng import Ratio, Stream
from umi_sim.workload import api_values, filter_values, pools
from umi_sim.workload.pools import Pool
from umi_sim.workload.users import User

Maker = Callable[[User, Stream], object]

ALWAYS: Final[Ratio] = (1, 1)
MOSTLY: Final[Ratio] = (3, 4)
OFTEN: Final[Ratio] = (1, 2)
SOMETIMES: Final[Ratio] = (1, 4)
SELDOM: Final[Ratio] = (1, 8)
FIRST: Final = 3  # the first argument is so many times as likely to be the hostile one


def plain_maker(values: Maker | Sequence[object]) -> Maker:
    return values if callable(values) else lambda user, stream: stream.pick(values)


def hostile_maker(pool: Maker | Pool) -> Maker:
    classes = () if callable(pool) else tuple(pool.values())
    return pool if callable(pool) else lambda user, stream: stream.pick(stream.pick(classes))


@attrs.frozen
class Habit(Data):
    """The values that users give for a domain; `share`: how often they give what may be left out.

    `is_late`: it joined requests that were there before. Nothing else is drawn otherwise because of it: it is
    the last that is drawn, and hostile in a draw of its own.
    """

    plain: Maker = attrs.field(converter=plain_maker)
    hostile: Maker = attrs.field(converter=hostile_maker)
    share: Ratio = ALWAYS
    is_late: bool = False

    def bad(self, domain: str, user: User, stream: Stream) -> object:
        """Draw now and then a value on a limit of this domain, or one beyond; else a hostile one."""
        edges = pools.EDGES.get(domain, ()) if user.edges[0] else ()
        return stream.pick(edges) if edges and stream.chance(*user.edges) else self.hostile(user, stream)


HABITS: Final[dict[str, Habit]] = {
    **dict.fromkeys(("key", "stored_key"), Habit(User.key, pools.HOSTILE_KEYS)),
    "value": Habit(User.value, User.bad_value),
    "ttl": Habit(pools.TTLS_MS, pools.HOSTILE_TTLS),
    "delta": Habit(pools.DELTAS, pools.HOSTILE_DELTAS, OFTEN),
    "block_kind": Habit(BLOCK_KINDS, pools.HOSTILE_KINDS),
    "block_label": Habit(pools.LABELS, pools.HOSTILE_LABELS, SOMETIMES),
    "block_text": Habit(User.block_text, User.bad_block_text),
    "importance": Habit(User.importance, pools.HOSTILE_PPM, OFTEN),
    "form": Habit(("xml", "markdown"), pools.HOSTILE_FORMS),
    "entity_id": Habit(User.entity, pools.HOSTILE_IDS),
    "resource_id": Habit(User.resource, pools.HOSTILE_IDS),
    "session_id": Habit(User.session, pools.HOSTILE_IDS),
    "told_in": Habit(User.talk, pools.HOSTILE_IDS, OFTEN, is_late=True),
    "ended_session": Habit(User.talk, pools.HOSTILE_IDS),
    "members": Habit(User.members, pools.HOSTILE_MEMBERS, OFTEN),
    "text": Habit(User.text, User.bad_text),
    "document": Habit(User.document, User.bad_document),
    "fact": Habit(User.fact, pools.HOSTILE_TEXTS),
    "memory_type": Habit(ALL_MEMORY_TYPES, pools.HOSTILE_KINDS),
    "new_fact": Habit(User.new_fact, pools.HOSTILE_TEXTS, MOSTLY),
    "new_categories": Habit(User.new_categories, pools.HOSTILE_MEMORY_TYPES, OFTEN),
    "category_names": Habit(User.categories_of_fact, pools.HOSTILE_MEMORY_TYPES, OFTEN),
    "modality": Habit(User.modality, pools.HOSTILE_MODALITIES, OFTEN),
    "uri": Habit(pools.URIS, pools.HOSTILE_IDS, OFTEN),
    "memory_types": Habit(pools.MEMORY_TYPES, pools.HOSTILE_MEMORY_TYPES, SOMETIMES),
    "category_name": Habit(User.category, pools.HOSTILE_KINDS),
    "listed_kind": Habit(LISTED, pools.HOSTILE_KINDS),
    "cursor": Habit(pools.CURSORS, pools.HOSTILE_CURSORS, SELDOM),
    "flag": Habit((False,), pools.HOSTILE_FLAGS, SELDOM),  # what is on unless it is said
    "wish": Habit((True,), pools.HOSTILE_FLAGS, SOMETIMES, is_late=True),
    "time": Habit(User.instant, pools.HOSTILE_TIMES, SOMETIMES),
    "metadata": Habit(pools.METADATA, pools.HOSTILE_METADATA, SELDOM),
    "source": Habit(("chat-1", "mail-2"), pools.HOSTILE_IDS, SELDOM),
    "request_key": Habit(User.request_key, pools.HOSTILE_REQUEST_KEYS, SOMETIMES),
    "speaker": Habit(pools.SPEAKERS, pools.HOSTILE_SPEAKERS, SOMETIMES, is_late=True),
    "query": Habit(User.query, pools.HOSTILE_QUERIES),
    "limit": Habit((1, 1, 1, 2, 3, 10, 100), pools.HOSTILE_LIMITS, OFTEN),
    "deep": Habit((True, False), pools.HOSTILE_FLAGS, OFTEN),
    "time_range": Habit(User.time_range, pools.HOSTILE_RANGES, SELDOM),
    "types": Habit(pools.TYPES, pools.HOSTILE_TYPES, SOMETIMES),
    "turns": Habit(User.turns, pools.HOSTILE_TURNS),
    "sufficiency": Habit(JUDGES, pools.HOSTILE_WORDS, OFTEN),
    "filter": Habit(User.filter, filter_values.HOSTILE_FILTERS, SOMETIMES, is_late=True),
    "row_filter": Habit(User.row_filter, filter_values.HOSTILE_FILTERS, SELDOM, is_late=True),
    "ranker": Habit(RANKERS, pools.HOSTILE_WORDS, OFTEN),
    "levels": Habit(pools.LEVELS, pools.HOSTILE_LEVELS, SOMETIMES),
    "level_count": Habit((1, 2, 3), pools.numbers(1, len(LEVELS)), SOMETIMES),
    "hit_count": Habit((0, 1, 2, 5, 20), pools.numbers(0, RECALL_LIMIT_MAX), SOMETIMES),
    "least": Habit((1, 1, 2, 4), pools.numbers(1, RECALL_LIMIT_MAX), OFTEN),
    "level_score": Habit((0, 1, 100_000, 300_000, PPM), pools.HOSTILE_PPM, OFTEN),
    "score": Habit((0, 1, 300_000, PPM), pools.HOSTILE_PPM, SELDOM),
    "version": Habit((1, 2, 3), pools.HOSTILE_VERSIONS, SOMETIMES),
    **{domain: Habit(*habit) for domain, habit in api_values.HABITS.items()},
}


def must_cover(table: dict[str, Habit]) -> None:
    """Check that every domain of every request has a habit. Raises Incomplete."""
    for cls in ALL:
        for argument in arguments_of(cls):
            if argument.domain not in table:
                told = f"the domain {argument.domain} of {cls.__name__}.{argument.name} has no habit"
                raise Incomplete(f"{told}: add one to HABITS in umi_sim/workload/arguments.py")


must_cover(HABITS)


@cache
def habits_of(name: str) -> tuple[tuple[Argument, Habit], ...]:
    """Return the arguments of a request, each with its habit."""
    return tuple((argument, HABITS[argument.domain]) for argument in arguments_of(REQUESTS[name]))


def arguments(name: str, user: User, stream: Stream) -> dict[str, object]:
    """Draw the arguments of a request by name; what is left out has its default."""
    table = habits_of(name)
    struck = struck_argument(table, stream) if stream.chance(*user.adversarial) and table else None
    args: dict[str, object] = {}
    for argument, habit in table:
        # A draw of its own, behind all others: requests from
        # before the argument came are drawn as they were.
        if habit.is_late and struck is None and stream.chance(*user.adversarial):
            struck = argument if stream.chance(*SELDOM) else None
        if argument is struck:
            args[argument.name] = habit.bad(argument.domain, user, stream)
        elif argument.is_required or habit.share is ALWAYS or stream.chance(*habit.share):
            value = habit.plain(user, stream)
            if value is not None:
                args[argument.name] = value
    return args


def struck_argument(table: Sequence[tuple[Argument, Habit]], stream: Stream) -> Argument:
    """Draw the argument that is hostile."""
    # four arguments: six places, of which 0, 4 and 5 are the first argument
    table = [each for each in table if not each[1].is_late]
    at = stream.below(len(table) + FIRST - 1)
    return table[at if at < len(table) else 0][0]

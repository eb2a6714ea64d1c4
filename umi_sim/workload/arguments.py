"""Arguments of requests: for each domain plain and hostile values, and how often an optional one is given.

Law 1. The values of an argument depend on its domain alone, so a new request with known domains needs no row
here.
Law 2. At most one argument of a request is hostile, because one error may hide another.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

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
FIRST: Final = 3  # the first argument is three times as likely to be hostile as any other


class Habit(Data):
    """The values that users give for a domain; `share`: how often they give an optional argument.

    `is_late`: the domain was added to requests that existed before. It must change no earlier draw, so a draw
    of its own decides whether it is hostile.
    """

    plain: Maker
    hostile: Maker
    share: Ratio = ALWAYS
    is_late: bool = False

    def draw_hostile(self, domain: str, user: User, stream: Stream) -> object:
        """Draw a hostile value: with the share `user.edges` one on a limit or just beyond it."""
        edges = pools.EDGES.get(domain, ()) if user.edges[0] else ()
        return stream.pick(edges) if edges and stream.chance(*user.edges) else self.hostile(user, stream)


def habit(
    plain: Maker | Sequence[object], hostile: Maker | Pool, share: Ratio = ALWAYS, is_late: bool = False
) -> Habit:
    """Return a habit from functions that draw, or from lists of values to draw from."""
    classes = () if callable(hostile) else tuple(hostile.values())
    return Habit(
        plain if callable(plain) else lambda user, stream: stream.pick(plain),
        hostile if callable(hostile) else lambda user, stream: stream.pick(stream.pick(classes)),
        share, is_late,
    )  # fmt: skip


HABITS: Final[dict[str, Habit]] = {
    **dict.fromkeys(("key", "stored_key"), habit(User.key, pools.HOSTILE_KEYS)),
    "value": habit(User.value, User.bad_value),
    "ttl": habit(pools.TTLS_MS, pools.HOSTILE_TTLS),
    "delta": habit(pools.DELTAS, pools.HOSTILE_DELTAS, OFTEN),
    "block_kind": habit(BLOCK_KINDS, pools.HOSTILE_KINDS),
    "block_label": habit(pools.LABELS, pools.HOSTILE_LABELS, SOMETIMES),
    "block_text": habit(User.block_text, User.bad_block_text),
    "importance": habit(User.importance, pools.HOSTILE_PPM, OFTEN),
    "form": habit(("xml", "markdown"), pools.HOSTILE_FORMS),
    "entity_id": habit(User.entity, pools.HOSTILE_IDS),
    "resource_id": habit(User.resource, pools.HOSTILE_IDS),
    "session_id": habit(User.session, pools.HOSTILE_IDS),
    "told_in": habit(User.talk, pools.HOSTILE_IDS, OFTEN, is_late=True),
    "ended_session": habit(User.talk, pools.HOSTILE_IDS),
    "members": habit(User.members, pools.HOSTILE_MEMBERS, OFTEN),
    "readers": habit(User.readers, pools.HOSTILE_MEMBERS, MOSTLY),
    "shared_by": habit(User.owners, pools.HOSTILE_MEMBERS, OFTEN, is_late=True),
    "carries": habit(pools.CARRIES, pools.HOSTILE_CARRIES, MOSTLY, is_late=True),
    "text": habit(User.text, User.bad_text),
    "document": habit(User.document, User.bad_document),
    "fact": habit(User.fact, pools.HOSTILE_TEXTS),
    "memory_type": habit(ALL_MEMORY_TYPES, pools.HOSTILE_KINDS),
    "new_fact": habit(User.new_fact, pools.HOSTILE_TEXTS, MOSTLY),
    "new_categories": habit(User.new_categories, pools.HOSTILE_MEMORY_TYPES, OFTEN),
    "category_names": habit(User.categories_of_fact, pools.HOSTILE_MEMORY_TYPES, OFTEN),
    "modality": habit(User.modality, pools.HOSTILE_MODALITIES, OFTEN),
    "uri": habit(pools.URIS, pools.HOSTILE_IDS, OFTEN),
    "memory_types": habit(pools.MEMORY_TYPES, pools.HOSTILE_MEMORY_TYPES, SOMETIMES),
    "category_name": habit(User.category, pools.HOSTILE_KINDS),
    "listed_kind": habit(LISTED, pools.HOSTILE_KINDS),
    "cursor": habit(pools.CURSORS, pools.HOSTILE_CURSORS, SELDOM),
    "flag": habit((False,), pools.HOSTILE_FLAGS, SELDOM),  # options that are on by default
    "wish": habit((True,), pools.HOSTILE_FLAGS, SOMETIMES, is_late=True),
    "time": habit(User.instant, pools.HOSTILE_TIMES, SOMETIMES),
    "metadata": habit(pools.METADATA, pools.HOSTILE_METADATA, SELDOM),
    "source": habit(("chat-1", "mail-2"), pools.HOSTILE_IDS, SELDOM),
    "request_key": habit(User.request_key, pools.HOSTILE_REQUEST_KEYS, SOMETIMES),
    "speaker": habit(pools.SPEAKERS, pools.HOSTILE_SPEAKERS, SOMETIMES, is_late=True),
    "asker": habit(pools.SPEAKERS, pools.HOSTILE_SPEAKERS, MOSTLY, is_late=True),
    "query": habit(User.query, pools.HOSTILE_QUERIES),
    "limit": habit((1, 1, 1, 2, 3, 10, 100), pools.HOSTILE_LIMITS, OFTEN),
    "deep": habit((True, False), pools.HOSTILE_FLAGS, OFTEN),
    "time_range": habit(User.time_range, pools.HOSTILE_RANGES, SELDOM),
    "types": habit(pools.TYPES, pools.HOSTILE_TYPES, SOMETIMES),
    "turns": habit(User.turns, pools.HOSTILE_TURNS),
    "sufficiency": habit(JUDGES, pools.HOSTILE_WORDS, OFTEN),
    "filter": habit(User.filter, filter_values.HOSTILE_FILTERS, SOMETIMES, is_late=True),
    "row_filter": habit(User.row_filter, filter_values.HOSTILE_FILTERS, SELDOM, is_late=True),
    "ranker": habit(RANKERS, pools.HOSTILE_WORDS, OFTEN),
    "levels": habit(pools.LEVELS, pools.HOSTILE_LEVELS, SOMETIMES),
    "level_count": habit((1, 2, 3), pools.numbers(1, len(LEVELS)), SOMETIMES),
    "hit_count": habit((0, 1, 2, 5, 20), pools.numbers(0, RECALL_LIMIT_MAX), SOMETIMES),
    "least": habit((1, 1, 2, 4), pools.numbers(1, RECALL_LIMIT_MAX), OFTEN),
    "level_score": habit((0, 1, 100_000, 300_000, PPM), pools.HOSTILE_PPM, OFTEN),
    "score": habit((0, 1, 300_000, PPM), pools.HOSTILE_PPM, SELDOM),
    "version": habit((1, 2, 3), pools.HOSTILE_VERSIONS, SOMETIMES),
    **{domain: habit(*values) for domain, values in api_values.HABITS.items()},
}


def must_cover(table: dict[str, Habit]) -> None:
    """Check that every domain of every request has a habit. Raises Incomplete."""
    for cls in ALL:
        for argument in arguments_of(cls):
            if argument.domain not in table:
                message = f"the domain {argument.domain} of {cls.__name__}.{argument.name} has no habit"
                raise Incomplete(f"{message}: add one to HABITS in umi_sim/workload/arguments.py")


must_cover(HABITS)


@cache
def habits_of(name: str) -> tuple[tuple[Argument, Habit], ...]:
    """Return the arguments of a request, each with its habit."""
    return tuple((argument, HABITS[argument.domain]) for argument in arguments_of(REQUESTS[name]))


def arguments(name: str, user: User, stream: Stream) -> dict[str, object]:
    """Draw the arguments of a request by name; those left out have their default."""
    table = habits_of(name)
    hostile = draw_hostile_argument(table, stream) if stream.chance(*user.adversarial) and table else None
    args: dict[str, object] = {}
    for argument, habit in table:
        # A separate draw, after those of earlier arguments, so that an added argument does not change them.
        if habit.is_late and hostile is None and stream.chance(*user.adversarial):
            hostile = argument if stream.chance(*SELDOM) else None
        if argument is hostile:
            args[argument.name] = habit.draw_hostile(argument.domain, user, stream)
        elif argument.is_required or habit.share is ALWAYS or stream.chance(*habit.share):
            value = habit.plain(user, stream)
            if value is not None:
                args[argument.name] = value
    return args


def draw_hostile_argument(table: Sequence[tuple[Argument, Habit]], stream: Stream) -> Argument:
    """Draw the argument that is hostile."""
    candidates = [each for each in table if not each[1].is_late]
    # Example: of four arguments, 0, 4 and 5 of six numbers stand for the first.
    at = stream.below(len(candidates) + FIRST - 1)
    return candidates[at if at < len(candidates) else 0][0]

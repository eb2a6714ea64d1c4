"""The wire: requests over HTTP and through the object of an agent server, and what their replies say there.

Law 1. A request is drawn field by field, of what the plain reader allows. Law 2. What is replied is of the
class that such a request gets, and of its fields each is any of its type.
"""

from collections.abc import Sequence
from typing import Any, Final, get_args, get_origin

import attrs

from umi_core import api_errors, errors
from umi_core.config import Config
from umi_core.messages import api_requests as api
from umi_core.messages import api_results as results
from umi_core.messages.arguments import Argument, arguments_of
from umi_core.messages.effects import Done, Failed, Outcome, Refused, Unknown
from umi_core.messages.results import Listed, RecordAdded, RecordForgotten
from umi_sim.judge.invariants.wire import check_delegate, check_request, check_response
from umi_sim.judge.plain.dates import DAY_MS, LAST_MS, MONTHS, is_leap
from umi_sim.judge.trials.values import SAID, around, sound_values
from umi_sim.kernel.prng import Stream

REQUESTS: Final = 30  # of each trial
TIMES: Final = (
    0, 1, DAY_MS, 59 * DAY_MS, 789 * DAY_MS + 1, 1_709_164_800_000, 1_709_251_200_000, 1_735_689_599_999,
    946_684_800_000, 4_107_542_400_000, LAST_MS, LAST_MS + 1,
)  # fmt: skip
TIME_MAX: Final = 150 * 366 * DAY_MS
OWN: Final[dict[str, Sequence[object]]] = {
    "limit": (1, 5, 10, 99, 100), "skip": (0, 10, 25, 1_000),
    "query": ("tea", "likes tea", "日本"), "seq": (1, 2, 12, *around(10**12)),
    "switch": (True, False), "author": ("user", "model"),
    "api_label": ("human", "my diet", "日本", "é"),
    "block_name": ("human", "blk_1", "a/b", "a/", "%2F", "ß?"),
    "record_id": ("arc_000000000001", "x y"), "block_key": ("blk_1", "a b"), "block_limit": (1, 20_000),
    "text": ("tea",), "block_text": ("", "likes tea", "one\ntwo"),
    "metadata": ((), (("k", "v"),), (("k", "v"), ("l", "w"))), "tags": ((), ("x",), ("x", "é")),
    "messages": (
        (SAID,), (SAID, SAID), ((*SAID, ("tool_call_id", "c1"), ("tool_name", "x"), ("arguments", "{}")),),
        ((("role", "tool"), ("content", ""), ("tool_return", "1"), ("status", "ok")), SAID),
    ),
}  # fmt: skip
TEXTS: Final = ("", "tea", "日本", 'a "b" \\ \n', "x/y", "\x00", "é" * 20)
NUMBERS: Final = (0, 1, 7, 10**12)
OF_FIELDS: Final[dict[str, Sequence[object]]] = {
    "log": ("message", "archival"), "first_seq": (1, 9, 10**12), "count": (0, 1, 3),
    "details": ((), (("tool_name", "x"), ("status", "ok"))),
    "metadata": ((), (("k", "v"),)), "tags": ((), ("x", "y")),
}  # fmt: skip
SEARCHES: Final = (api.SearchMessages, api.SearchMessages, api.SearchArchival)  # said in most ways
WRITTEN: Final = (
    api.CreateBlock, api.UpdateBlock, api.AppendToBlock, api.ReplaceInBlock, api.DeleteBlock,
)  # fmt: skip
REPLIES: Final[dict[type, tuple[type, ...]]] = {
    **dict.fromkeys(WRITTEN, (results.BlockWritten,)),
    api.ListBlocks: (results.BlocksShown,), api.FindBlock: (results.ApiBlock,),
    api.BlockHistory: (results.ChangesShown,), api.AddMessages: (results.Appended,),
    api.ListMessages: (results.MessagesShown,), api.SearchMessages: (results.MessagesFound,),
    api.AddArchival: (results.Appended, RecordAdded), api.ListArchival: (results.RecordsShown,),
    api.GetArchival: (results.RecordsShown,), api.SearchArchival: (results.RecordsShown,),
    api.DeleteArchival: (results.RecordDeleted, RecordForgotten),
    api.DeleteAgent: (results.AgentSwitched,), api.OpenAgent: (results.AgentSwitched,),
    api.RecentEntities: (Listed,), api.BuildSystemPrompt: (results.Prompt,),
}  # fmt: skip
"""What is replied to each request, with and without facts that a record told."""
OF_THE_OBJECT: Final = (api.RecentEntities,)  # not asked over HTTP
ERRORS: Final = tuple(
    it
    for of in (errors, api_errors)
    for it in vars(of).values()
    if isinstance(it, type) and issubclass(it, errors.Error) and it is not errors.Error
)


def try_wire(draw: Stream, config: Config) -> None:
    for number in range(REQUESTS):
        cls, told = draw.pick((*REPLIES, *SEARCHES)), f"request {number}"
        request = cls(number, **arguments(draw, cls))
        check_request(told, request, draw)
        outcome = outcome_of(draw, cls)
        if cls not in OF_THE_OBJECT:
            check_response(told, outcome)
        check_delegate(told, request, outcome)


def arguments(draw: Stream, cls: type) -> dict[str, Any]:
    if cls in SEARCHES and draw.chance(1, 2):
        return as_a_model_searches(draw, cls)
    n = draw.below(4)  # in four of what may be left out; none at all too, as most people ask
    return {it.name: given(draw, it) for it in arguments_of(cls) if it.is_required or draw.chance(n, 4)}


def as_a_model_searches(draw: Stream, cls: type) -> dict[str, Any]:
    """By words or by dates, ten rows a page."""
    page = {"limit": 10, "skip": draw.pick((0, 10, 30))}
    if cls is api.SearchMessages and draw.chance(1, 2):
        return {"from_ms": time_of(draw), "until_ms": time_of(draw), **page}
    return {"query": draw.pick(OWN["query"]), **page}


def given(draw: Stream, argument: Argument) -> object:
    if argument.domain == "time":
        return time_of(draw)
    own = OWN.get(argument.domain)
    return draw.pick(own if own and draw.chance(7, 8) else sound_values(argument.domain))


# Replies.


def outcome_of(draw: Stream, cls: type) -> Outcome:
    luck = draw.below(8)
    if luck < 5:
        return Done(drawn(draw, draw.pick(REPLIES[cls])))
    if luck == 7:
        return Unknown()
    error = drawn(draw, draw.pick(ERRORS))
    return Refused(error) if draw.chance(1, 2) else Failed(error)


def drawn(draw: Stream, cls: type) -> Any:
    """An object with fields of the types that it declares."""
    return cls(**{it.name: part(draw, it.name, it.type) for it in attrs.fields(cls)})


def part(draw: Stream, name: str, kind: Any) -> object:
    if name in OF_FIELDS:
        return draw.pick(OF_FIELDS[name])
    return time_of(draw) if name.endswith("_ms") else of_type(draw, kind)


def time_of(draw: Stream) -> int:
    """One of those at which days are counted otherwise, any, or where a month ends."""
    if draw.chance(1, 2):
        return draw.pick(TIMES)
    return draw.below(TIME_MAX) if draw.chance(1, 2) else draw.pick(around(month_ms(draw)))


def month_ms(draw: Stream) -> int:
    """When some month begins."""
    year, month = 1970 + draw.below(150), draw.below(12)
    days = sum(365 + is_leap(before) for before in range(1970, year)) + sum(MONTHS[:month])
    return max(1, days + (month > 1 and is_leap(year))) * DAY_MS


def of_type(draw: Stream, kind: Any) -> object:
    """Of what may be of several types, or none: of the first of them, or none."""
    if type(None) in get_args(kind) and draw.chance(1, 3):
        return None
    while get_args(kind) and get_origin(kind) is not tuple:
        kind = get_args(kind)[0]
    if get_origin(kind) is tuple:
        each, *rest = get_args(kind)
        kinds = [each] * draw.between(1, 3) if rest == [...] else [each, *rest]
        return tuple(of_type(draw, it) for it in kinds)
    if attrs.has(kind):
        return drawn(draw, kind)
    return draw.chance(1, 2) if kind is bool else draw.pick(NUMBERS if kind is int else TEXTS)

"""Goal: requests over HTTP and through the object of an agent server, and their responses, say the same.

A request has fields that the plain reader allows. A reply is of a class that such a request gets, and each
of its fields holds any value of its type.
"""

from collections.abc import Sequence
from datetime import date
from itertools import product
from typing import Any, Final

import pytest

from tests.properties.laws import Draw, around, law
from tests.properties.text_reference import DAY_MS, LAST_MS, MONTHS, is_leap
from tests.properties.values import SAID, allowed, built
from tests.properties.wire_reference import check_delegate, check_request, check_response
from umi_core import errors
from umi_core.kelpie import errors as kelpie_errors
from umi_core.kelpie import requests as api
from umi_core.kelpie import results as results
from umi_core.language import times
from umi_core.messages.effects import Done, Failed, Outcome, Refused, Unknown
from umi_core.messages.request import Request
from umi_core.messages.requests import Argument, arguments_of
from umi_core.messages.results import Listed, RecordAdded, RecordForgotten
from umi_sim.kernel.prng import Stream


def month_ms(year: int, month: int) -> int:
    """Return when a month begins; the first is 0."""
    days = sum(365 + is_leap(before) for before in range(1970, year)) + sum(MONTHS[:month])
    return max(1, days + (month > 1 and is_leap(year))) * DAY_MS


MONTH_STARTS: Final = [
    ms for year in (1970, 1972, 2000, 2023, 2100) for m in range(12) for ms in around(month_ms(year, m))
]
TIMES: Final = (
    0, 1, DAY_MS, 59 * DAY_MS, 789 * DAY_MS + 1, 1_735_689_599_999, LAST_MS, LAST_MS + 1, *MONTH_STARTS,
)  # fmt: skip
COMMON: Final[dict[str, Sequence[object]]] = {  # by domain, the usual values
    "time": TIMES, "limit": (1, 5, 10, 99, 100), "skip": (0, 10, 25, 1_000),
    "query": ("tea", "likes tea", "日本"), "seq": (1, 2, 12, *around(10**12)),
    "switch": (True, False), "author": ("user", "model"), "api_label": ("human", "my diet", "日本", "é"),
    "block_name": ("human", "blk_1", "a/b", "a/", "%2F", "ß?"), "record_id": ("arc_000000000001", "x y"),
    "block_key": ("blk_1", "a b"), "block_limit": (1, 20_000), "text": ("tea",),
    "block_text": ("", "likes tea", "one\ntwo"), "metadata": ((), (("k", "v"),), (("k", "v"), ("l", "w"))),
    "tags": ((), ("x",), ("x", "é")),
    "messages": (
        (SAID,), (SAID, SAID), ((*SAID, ("tool_call_id", "c1"), ("tool_name", "x"), ("arguments", "{}")),),
        ((("role", "tool"), ("content", ""), ("tool_return", "1"), ("status", "ok")), SAID),
    ),
}  # fmt: skip
IN_REPLIES: Final[dict[str, Sequence[object]]] = {  # by field
    "log": ("message", "archival"), "first_seq": (1, 9, 10**12), "count": (0, 1, 3),
    "details": ((), (("tool_name", "x"), ("status", "ok"))), "metadata": COMMON["metadata"],
    "tags": ((), ("x", "y")),
    **dict.fromkeys(("at_ms", "created_ms", "updated_ms", "from_ms", "until_ms"), TIMES),
}  # fmt: skip
REPLIES: Final[dict[type[Request], tuple[type, ...]]] = {
    **dict.fromkeys(
        (api.CreateBlock, api.UpdateBlock, api.AppendToBlock, api.ReplaceInBlock, api.DeleteBlock),
        (results.BlockWritten,),
    ),
    api.ListBlocks: (results.BlocksShown,), api.FindBlock: (results.ApiBlock,),
    api.BlockHistory: (results.ChangesShown,), api.AddMessages: (results.Appended,),
    api.ListMessages: (results.MessagesShown,), api.SearchMessages: (results.MessagesFound,),
    api.AddArchival: (results.Appended, RecordAdded), api.ListArchival: (results.RecordsShown,),
    api.GetArchival: (results.RecordsShown,), api.SearchArchival: (results.RecordsShown,),
    api.DeleteArchival: (results.RecordDeleted, RecordForgotten),
    api.DeleteAgent: (results.AgentSwitched,), api.OpenAgent: (results.AgentSwitched,),
    api.RecentEntities: (Listed,), api.BuildSystemPrompt: (results.Prompt,),
}  # fmt: skip
"""By request, its replies: with and without facts that were extracted from a record."""
SEARCHES: Final = (api.SearchMessages, api.SearchMessages, api.SearchArchival)  # have the most forms
ERRORS: Final = tuple(
    it
    for module in (errors, kelpie_errors)
    for it in vars(module).values()
    if isinstance(it, type) and issubclass(it, errors.Error) and it is not errors.Error
)


def requests(draw: Draw) -> tuple[Request, Outcome, int]:
    """Draw a request, its outcome, and a number that chooses how the request is written."""
    cls: Any = draw.pick((*REPLIES, *SEARCHES))
    is_of_model = cls in SEARCHES and draw.chance(1, 2)
    request = cls(1, **(of_model if is_of_model else arguments)(draw, cls))
    return request, outcome(draw, cls), draw.below(2**32)


def arguments(draw: Draw, cls: type[Request]) -> dict[str, Any]:
    quarters = draw.below(4)  # of what may be left out; none at all, too, as most people ask
    return {
        it.name: given(draw, it) for it in arguments_of(cls) if it.is_required or draw.chance(quarters, 4)
    }


def given(draw: Draw, argument: Argument) -> object:
    common = COMMON.get(argument.domain)
    return draw.pick(allowed(argument.domain) if common is None or draw.chance(1, 8) else common)


def of_model(draw: Draw, cls: type[Request]) -> dict[str, Any]:
    """Draw a search as a model asks: by words or by dates, ten rows a page."""
    page = {"limit": 10, "skip": draw.pick((0, 10, 30))}
    if cls is api.SearchMessages and draw.chance(2, 3):
        return {"from_ms": draw.pick(TIMES), "until_ms": draw.pick(TIMES), **page}
    return {"query": draw.pick(COMMON["query"]), **page}


def outcome(draw: Draw, cls: type[Request]) -> Outcome:
    kind = draw.pick(("done", "done", "done", "error", "unknown"))
    if kind == "done":
        return Done(built(draw, draw.pick(REPLIES[cls]), IN_REPLIES))
    if kind == "unknown":
        return Unknown()
    error = built(draw, draw.pick(ERRORS), IN_REPLIES)
    return Refused(error) if draw.chance(1, 2) else Failed(error)


@pytest.mark.slow
@law(requests, examples=400)
def test_a_request_and_its_reply_say_the_same_over_http_and_by_the_object(
    request: Request, outcome: Outcome, number: int
) -> None:
    check_request(request, Stream(number, "wire"))
    if type(request) is not api.RecentEntities:  # not asked over HTTP
        check_response(outcome)
    check_delegate(request, outcome)


def test_each_argument_of_each_request_reaches_the_memory() -> None:
    """With all of its arguments, ten times: values by chance, and forms on the wire."""
    for cls in REPLIES:
        chance: Any = Stream(0, cls.__name__)
        for number in range(10):
            request = cls(1, **{it.name: given(chance, it) for it in arguments_of(cls)})
            if type(request) is not api.RecentEntities:
                check_request(request, Stream(number, "wire"))
            check_delegate(request, Unknown())


def test_a_date_is_one_of_the_calendar() -> None:
    for year, month, day in product((1970, 1971, 1972, 2000, 2100, 9999), range(14), range(33)):
        try:
            wanted = (date(year, month, day) - date(1970, 1, 1)).days * DAY_MS
        except ValueError:
            wanted = None
        text = f"{year}-{month:02}-{day:02}"
        assert wanted == times.instant(text, is_end=False), text
        assert wanted is None or times.format_time(wanted + 1) == f"{text}T00:00:00.001Z"

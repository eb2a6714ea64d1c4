"""Judge the replies to an agent server: blocks, logs by number, request keys."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core import errors
from umi_core.data import Data, Owner
from umi_core.ids import block_id
from umi_core.kelpie import requests as api
from umi_core.kelpie.errors import LabelTaken, NotFound
from umi_core.kelpie.requests import (
    AddArchival,
    AddMessages,
    GetArchival,
    ListArchival,
    ListMessages,
    SearchArchival,
    SearchMessages,
)
from umi_core.kelpie.results import Appended, MessagesFound, MessagesShown, RecordsShown
from umi_core.language.words import words
from umi_core.limits import RECEIPT_MS_MAX
from umi_core.messages.effects import Done, Failed, Refused, Unknown
from umi_core.messages.requests import RemoveBlock, SetBlock, bad_request
from umi_core.text import tidy
from umi_core.values import Scope
from umi_sim.judge.oracle.api_blocks import EDITS, BlocksModel, Chain, Keys, Slot, name_of
from umi_sim.judge.oracle.core_model import is_forbidden
from umi_sim.judge.oracle.model import Ending, OracleModel, Surroundings
from umi_sim.judge.plain.requests import is_no_agent
from umi_sim.judge.plain.scores import fit_alone
from umi_sim.record import rules
from umi_sim.record.broken import demand

# Logs: rows by number. An acknowledged row keeps its number for ever, and no other row has it.
#
# Law 1. Numbers are consecutive and grow in the order of replies; the rows of one request are adjacent.
# Law 2. The rows of a request without a reply may have any free numbers; a read that shows them settles that.
# Law 3. A page has all rows between its ends, as of some moment since its request.


Place = Any  # sort key of rows: minus the number, or (minus the relevance, number)
PAGE: Final = 50
FOREVER: Final = 2**62  # later than any tick


class RowContents(Data):
    """The contents of a row, without its number.

    `pairs`: the metadata of a record, or the details of a message.
    """

    content: str
    pairs: tuple[tuple[str, str], ...]
    tags: tuple[str, ...] = ()
    role: str = ""


def contents_of_request(request: AddMessages | AddArchival) -> list[RowContents]:
    if isinstance(request, AddArchival):
        return [RowContents(request.content, request.metadata, request.tags)]
    # (("role", "user"), ("content", "hi"), ("tool_name", "f")) -> RowContents("hi", (("tool_name", "f"),))
    return [RowContents(parts[1][1], parts[2:], role=parts[0][1]) for parts in request.messages]


def contents_of_row(row: Any) -> RowContents:
    if hasattr(row, "role"):
        return RowContents(row.content, row.details, role=row.role)
    return RowContents(row.content, row.metadata, row.tags)


def is_sought(request: SearchMessages, seq: int, content: str, at_ms: int | None) -> bool:
    """Return True if a search includes this message.

    A message of unknown time is included only without a time range.
    """
    has_words = all(word in words(content) for word in words(request.query or ""))
    low, high = request.from_ms, request.until_ms
    is_near = at_ms is not None and (low or 0) <= at_ms and (high is None or at_ms < high)
    is_below = request.before is None or seq < request.before
    return has_words and is_below and (is_near or (low is None and high is None))


def nowhere(contents: RowContents) -> bool:
    return False


class LogPosition(Data):
    """The tick at which a request was issued, and the greatest number acknowledged by then."""

    tick: int
    last: int


class NumberedRow(Owner):
    """A row at its number. `sure`, `deleted_at`: the tick since which it certainly exists, or is deleted.

    `at_ms`: when it was added, if a reply has shown that.
    """

    contents: RowContents
    op_id: str
    at_ms: int | None = None
    sure: int = FOREVER
    deleted_at: int = FOREVER


class LogModel(Owner):
    """The rows of one log by number, and requests that may have changed them.

    `open`: appends in flight or without a reply. `deletes`: such deletes, with the number of their row.
    `unseen`: numbers of rows that were deleted before any reply showed them, with the tick of the delete.
    `last`: the greatest acknowledged number. `floor`: rows up to it were deleted when the agent was closed;
    `slack`: how many more rows, which no reply has shown, may have been deleted then.
    """

    name: str
    prefix: str
    rows: dict[int, NumberedRow] = {}
    open: dict[str, list[RowContents]] = {}
    begun: dict[str, LogPosition] = {}
    deletes: dict[str, int] = {}
    unseen: dict[int, int] = {}
    is_elsewhere: Callable[[RowContents], bool] = nowhere
    find_fit: Callable[[str, str, str], tuple[int, int]] = fit_alone
    last: int = 0
    tick: int = 0
    floor: int = 0
    slack: int = 0

    def empty(self) -> "LogModel":
        """Return the log of an agent that was closed: it has no rows, and its numbers continue."""
        floor = max(self.last, self.floor, *self.rows)
        # Appends without an answer may have taken numbers before the agent was closed, which no read shows
        # now. With 5 acknowledged and two open rows the first number of the next agent is 6, 7 or 8.
        slack = self.slack + sum(map(len, self.open.values()))
        tick, fit = self.tick + 1, self.find_fit
        return LogModel(self.name, self.prefix, last=floor, tick=tick, floor=floor, slack=slack, find_fit=fit)

    def has(self, contents: RowContents) -> bool:
        rows = (it.contents for it in self.rows.values())
        return contents in rows or any(contents in each for each in self.open.values())

    def begin(self, op_id: str) -> None:
        self.tick += 1
        self.begun[op_id] = LogPosition(self.tick, self.last)

    def seq_of(self, key: str) -> int:
        """Return the number in an id; 0 if it has none."""
        digits = key.removeprefix(f"{self.prefix}_")
        return int(digits) if digits != key and len(digits) == 12 and digits.isdecimal() else 0

    def drop(self, op_id: str) -> None:
        self.open.pop(op_id, None)
        self.deletes.pop(op_id, None)

    # Writes.

    def judge_append(self, op_id: str, value: Appended) -> None:
        self.tick += 1
        # If a read has shown the rows before this reply, `settle` has placed them already.
        contents = self.open.get(op_id) or [it.contents for it in self.rows.values() if it.op_id == op_id]
        expected, got = (self.name, len(contents)), (value.log, value.count)
        message = f"the log and the number of rows in the reply to {op_id}"
        demand(got == expected, rules.MESSAGE_LOG_COMPLETE, message, expected, got)
        last, message = self.begun[op_id].last, f"the first number of {op_id} in the {self.name} log"
        demand(value.first_seq > last, rules.MESSAGE_LOG_COMPLETE, message, f"above {last}", value.first_seq)
        self.place(op_id, value.first_seq, contents)
        for seq in range(value.first_seq, value.first_seq + value.count):
            self.rows[seq].sure = min(self.rows[seq].sure, self.tick)
            self.rows[seq].at_ms = value.at_ms
        self.last = max(self.last, value.first_seq + value.count - 1)
        # If number 5 is acknowledged while 3 and 4 are unknown, two rows of open requests may have these.
        missing = [seq for seq in range(self.floor + 1, self.last + 1) if seq not in self.rows]
        room = sum(map(len, self.open.values())) + self.slack
        message = f"numbers of the {self.name} log that no known row has"
        demand(len(missing) <= room, rules.MESSAGE_LOG_COMPLETE, message, f"{room} at most", missing)

    def place(self, op_id: str, first: int, rows: list[RowContents]) -> None:
        for seq, each in enumerate(rows, first):
            now = self.rows.setdefault(
                seq, NumberedRow(each, op_id, deleted_at=self.unseen.pop(seq, FOREVER))
            )
            is_same, message = (now.op_id, now.contents) == (op_id, each), f"row {seq} of the {self.name} log"
            demand(is_same, rules.ID_NAMES_ONE_ROW, message, now.contents, each)
        self.open.pop(op_id, None)

    def judge_delete(self, op_id: str, key: str) -> None:
        self.tick += 1
        self.deletes.pop(op_id, None)
        seq, begun = self.seq_of(key), self.begun[op_id]
        row = self.rows.get(seq)
        # A client may delete a row that no reply has shown, by
        # guessing the id of an append without a reply.
        may_be = row is not None or (bool(self.open) and seq > self.floor)
        demand(may_be, rules.ID_NAMES_ONE_ROW, f"{op_id} deleted {key}, which was never added")
        deleted = self.unseen.get(seq, FOREVER) if row is None else row.deleted_at
        message = f"{op_id} deleted {key}, which was deleted before"
        demand(deleted >= begun.tick, rules.DELETE_REACHES_ALL, message)
        if row is None:
            self.unseen[seq] = min(deleted, self.tick)
        else:
            row.deleted_at = min(deleted, self.tick)

    # Rows that may exist.

    def is_sure(self, seq: int, tick: int) -> bool:
        """Return True if the row existed at this tick and certainly still exists."""
        row = self.rows.get(seq)
        is_doubted = row is None or row.deleted_at < FOREVER or seq in self.deletes.values()
        return row is not None and row.sure <= tick and not is_doubted

    def judge_row(self, op_id: str, row: Any) -> None:
        """Demand that a row is the one added under its number, and was not deleted before the request."""
        contents, placed = contents_of_row(row), self.rows.get(row.seq)
        message = f"{row.id} is shown, and was deleted when the agent was closed"
        demand(row.seq > self.floor, rules.CLOSED_IS_CLOSED, message, "", row)
        if placed is None:
            self.settle(row.seq, contents)
            placed = self.rows.get(row.seq)
        else:
            is_stray = placed.contents != contents and self.is_elsewhere(contents)
            message = f"row {row.seq} of the {self.name} log is one of another agent"
            demand(not is_stray, rules.AGENTS_APART, message, placed.contents, contents)
            message = f"row {row.seq} of the {self.name} log, as it was added"
            demand(placed.contents == contents, rules.GET_WHAT_WAS_PUT, message, placed.contents, contents)
        is_deleted = placed is not None and placed.deleted_at < self.begun[op_id].tick
        demand(not is_deleted, rules.DELETE_REACHES_ALL, f"{row.id} is shown, and was deleted", "", row)
        expected = f"{self.prefix}_{row.seq:012}"
        demand(row.id == expected, rules.ID_NAMES_ONE_ROW, f"the id of row {row.seq}", expected, row.id)

    def settle(self, seq: int, contents: RowContents) -> None:
        """Assign a row shown by a read to the request with an unknown outcome that has added it."""
        fitting = [*self.list_fitting(seq, contents)]
        is_stray = not fitting and self.is_elsewhere(contents)
        message = f"row {seq} of the {self.name} log is one of another agent"
        demand(not is_stray, rules.AGENTS_APART, message, "", contents)
        message = f"row {seq} of the {self.name} log is none that was added"
        demand(fitting, rules.GET_WHAT_WAS_PUT, message, "", contents)
        # With several candidates this stays undecided until a later reply about one of them.
        if len(fitting) == 1:
            op_id, first = fitting[0]
            self.place(op_id, first, self.open[op_id])

    def list_fitting(self, seq: int, contents: RowContents) -> Iterator[tuple[str, int]]:
        """Yield the requests that may have added this row, each with its first number."""
        for op_id, rows in self.open.items():
            for at, each in enumerate(rows):
                first = seq - at
                is_free = all(number not in self.rows for number in range(first, first + len(rows)))
                if each == contents and is_free and first > self.begun[op_id].last:
                    yield op_id, first

    # Messages.

    def judge_messages(self, op_id: str, request: ListMessages, value: MessagesShown) -> None:
        begun, got = self.begun[op_id], [row.seq for row in value.messages]
        # A page has the count of messages but not the number before the first, so each possible one is tried.
        bases = range(self.floor, self.floor + self.slack + 1)
        fair = [it for it in bases if it + value.total >= begun.last]
        base = next((it for it in fair if list(self.page(request, value.total, it)) == got), self.floor)
        last = base + value.total
        message = f"the number of the last message that {op_id} counts"
        demand(last >= begun.last, rules.MESSAGE_LOG_COMPLETE, message, f"{begun.last} or more", last)
        most = max(self.rows, default=base) + sum(map(len, self.open.values())) + self.slack
        demand(last <= most, rules.PAGER_COMPLETE, message, f"{most} at most", last)
        expected, message = self.page(request, value.total, base), f"the messages on the page of {op_id}"
        demand(got == sorted(got), rules.MESSAGE_LOG_COMPLETE, message, sorted(got), got)
        demand(got == list(expected), rules.PAGER_COMPLETE, message, list(expected), got)
        for row in value.messages:
            self.judge_row(op_id, row)
        wanted = (expected.start > base + 1 and value.total > 0, expected.stop <= last)
        ends, message = (value.has_older, value.has_newer), f"whether {op_id} has older and newer messages"
        demand(ends == wanted, rules.PAGER_COMPLETE, message, wanted, ends)

    def judge_found(self, op_id: str, request: SearchMessages, value: MessagesFound) -> None:
        """Demand all requested messages, newest first, down to the end of the page."""
        seqs, limit = [row.seq for row in value.messages], request.limit or PAGE
        for row in value.messages:
            self.judge_row(op_id, row)
            is_right = is_sought(request, row.seq, row.content, row.at_ms)
            demand(is_right, rules.PAGER_COMPLETE, f"{op_id} shows {row.id}, not asked for", request, row)
        in_order = seqs == sorted(set(seqs), reverse=True) and len(seqs) <= limit
        message = f"the messages that {op_id} finds"
        demand(in_order, rules.MESSAGE_LOG_COMPLETE, message, f"{limit} at most, newest first", seqs)
        is_end, message = value.next in (None, *seqs[-1:]), f"where the page after {op_id} begins"
        demand(is_end, rules.PAGER_COMPLETE, message, seqs[-1:], value.next)
        tick, last = self.begun[op_id].tick, value.next or 0
        sure = [seq for seq in sorted(self.rows) if seq >= last and self.is_sure(seq, tick)]
        rows = [(seq, self.rows[seq]) for seq in sure]
        expected: list[Place] = [
            -seq for seq, it in rows if is_sought(request, seq, it.contents.content, it.at_ms)
        ]
        # The time of a row is not known before a reply has shown it;
        # until then any range may include the row.
        timeless = structs.replace(request, from_ms=None, until_ms=None)
        known = [(seq, it, request if it.at_ms is not None else timeless) for seq, it in self.rows.items()]
        may_be = [-seq for seq, it, asked in known if is_sought(asked, seq, it.contents.content, it.at_ms)]
        self.judge_skip(op_id, request.skip, expected, may_be, [-seq for seq in seqs])

    def judge_skip(
        self, op_id: str, skip: int, expected: list[Place], may_be: list[Place], got: list[Place]
    ) -> None:
        """Demand that no expected row is missing after the first `skip` ones; rows are sorted by place."""
        # skip 2, expected 9 8 7 6 5, got 7 6: 9 and 8 are skipped, none is missing (a place: minus a number)
        # skip 2, expected 9 8 7 6 5, got 6 5: 9, 8 and 7 are skipped, though 7 should have been shown
        passed = [place for place in expected if not got or place < got[0]]
        lost = [place for place in expected if got and place > got[0] and place not in got]
        is_complete = not lost and len(passed) <= skip
        message = f"the rows that {op_id} shows, {skip} skipped"
        demand(is_complete, rules.PAGER_COMPLETE, message, expected, got)
        before = sum(place < got[0] for place in may_be) if got else skip
        most = before + sum(map(len, self.open.values()))
        demand(most >= skip, rules.PAGER_COMPLETE, f"rows that {op_id} may have skipped", skip, most)

    def page(self, request: ListMessages, total: int, base: int) -> range:
        """Return the numbers of a page of `total` messages, the first of which is `base` + 1."""
        limit, end, first = request.limit or PAGE, base + total + 1, base + 1
        # 10 messages, limit 3: before=8 -> 5 6 7, the newest before it; after=2 -> 3 4 5, the oldest after it
        top = end if request.before is None else min(request.before, end)
        if request.after is None:
            return range(max(first, top - limit), max(first, top))
        low = max(first, request.after + 1)
        return range(low, max(low, min(top, low + limit)))

    # Records.

    def judge_get(self, op_id: str, request: GetArchival, value: RecordsShown) -> None:
        expected, ids = [request.record_id], [row.id for row in value.records]
        demand(ids == expected, rules.ID_NAMES_ONE_ROW, f"the records that {op_id} shows", expected, ids)
        self.judge_row(op_id, value.records[0])

    def judge_missing(self, op_id: str, key: str) -> None:
        is_there = self.is_sure(self.seq_of(key), self.begun[op_id].tick)
        demand(not is_there, rules.GET_WHAT_WAS_PUT, f"{key} is not found, though it is there")

    def judge_list(self, op_id: str, request: ListArchival, value: RecordsShown) -> None:
        first = self.seq_of(request.cursor or f"{self.prefix}_{0:012}") + 1
        seqs, limit = [row.seq for row in value.records], request.limit or PAGE
        in_order = seqs == sorted(set(seqs)) and all(seq >= first for seq in seqs) and len(seqs) <= limit
        message = f"the records that {op_id} lists"
        demand(in_order, rules.PAGER_COMPLETE, message, f"{limit} at most, in order, from {first}", seqs)
        is_end = value.next is None or (bool(seqs) and value.next == value.records[-1].id)
        message = f"where the page after {op_id} begins"
        demand(is_end, rules.PAGER_COMPLETE, message, seqs[-1:], value.next)
        self.judge_shown(op_id, request.tags, value)
        last = FOREVER if value.next is None else seqs[-1]
        expected = [seq for seq in self.list_sure(op_id, request.tags) if first <= seq <= last]
        lost = [seq for seq in expected if seq not in seqs]
        demand(not lost, rules.PAGER_COMPLETE, f"{op_id} does not list records", lost, seqs)

    def judge_search(self, op_id: str, request: SearchArchival, value: RecordsShown) -> None:
        self.judge_shown(op_id, request.tags, value)
        hits = [(-score, row.seq) for score, row in zip(value.scores_ppm, value.records, strict=True)]
        true = [(self.fit(request.query, row.seq, row.content), row.seq) for row in value.records]
        is_true = all(low <= -got <= high for ((low, high), _), (got, _) in zip(true, hits, strict=True))
        demand(is_true, rules.PAGER_COMPLETE, f"the scores of the records that {op_id} finds", true, hits)
        message = f"the order of the records that {op_id} finds"
        demand(hits == sorted(hits), rules.PAGER_COMPLETE, message, sorted(hits), hits)
        shown = {seq: -got for got, seq in hits}
        fits = {seq: self.fit(request.query, seq, it.contents.content) for seq, it in self.rows.items()}
        fits |= {seq: (got, got) for seq, got in shown.items()}
        # The relevance of a record's facts is known as a range; a row
        # is expected only if both ends of the range are equal.
        sure = [seq for seq in self.list_sure(op_id, request.tags) if fits[seq][0] == fits[seq][1]]
        expected = [(-fits[seq][0], seq) for seq in sure]
        # A full page may leave out rows that are less relevant than its last hit. A page with room left must
        # have every relevant row; (0, 0) is the place of a row without any relevance.
        worst = hits[-1] if len(hits) == (request.limit or PAGE) else (0, 0)
        expected = [hit for hit in expected if hit < worst]
        tick = self.begun[op_id].tick
        may_be = [(-fits[seq][1], seq) for seq, it in self.rows.items() if it.deleted_at >= tick]
        self.judge_skip(op_id, request.skip, expected, may_be, hits)
        limit = request.limit or PAGE
        is_cut = len(hits) <= limit and all(score < 0 for score, _ in hits)
        message = f"the records that {op_id} finds"
        demand(is_cut, rules.PAGER_COMPLETE, message, f"{limit} at most, all of which fit", hits)

    def fit(self, query: str, seq: int, content: str) -> tuple[int, int]:
        """Return the lowest and highest relevance of a record, by its text or by facts extracted from it."""
        return self.find_fit(query, content, f"{self.prefix}_{seq:012}")

    def judge_shown(self, op_id: str, tags: tuple[str, ...], value: RecordsShown) -> None:
        for row in value.records:
            self.judge_row(op_id, row)
            has_all = all(tag in row.tags for tag in tags)
            demand(has_all, rules.PAGER_COMPLETE, f"the tags of {row.id}", tags, row.tags)

    def list_sure(self, op_id: str, tags: tuple[str, ...]) -> list[int]:
        """List the records with these tags that certainly existed during the whole request."""
        tick = self.begun[op_id].tick
        sure = [seq for seq in sorted(self.rows) if self.is_sure(seq, tick)]
        return [seq for seq in sure if set(tags) <= set(self.rows[seq].contents.tags)]


# The model of the API of an agent server: passes the requests and replies of one memory to its parts.


WRITES: Final = (*EDITS, api.AddMessages, api.AddArchival, api.DeleteArchival)
READS: Final = (
    api.ListBlocks, api.FindBlock, api.BlockHistory, api.ListMessages, api.GetArchival, api.ListArchival,
    api.SearchArchival, api.SearchMessages,
)  # fmt: skip
AuditRead = tuple[str, dict[str, object]]

OF_ROOM: Final = (errors.CoreFull, errors.TooManyBlocks, errors.BlockTooLarge)


class ApiModel(OracleModel):
    """Judges the replies of one memory to an agent server. `asked`: writes in flight, with their time.

    `others`: the models of other agents. `find_fit`: bounds of a record's relevance for a query.
    """

    judges = (*WRITES, *READS)
    watches = (SetBlock, RemoveBlock)

    def __init__(self, scope: Scope, surroundings: Surroundings) -> None:
        self.scope, self.surroundings = scope, surroundings
        self.others: Callable[[], Iterator[ApiModel]] = lambda: iter(())
        self.find_fit: Callable[[str, str, str], tuple[int, int]] = fit_alone
        self.keys = Keys()
        self.asked: dict[str, tuple[int, Any]] = {}
        self.messages, self.records = LogModel("message", "msg"), LogModel("archival", "arc")
        self.begin_anew()

    def is_elsewhere(self, contents: RowContents) -> bool:
        """Return True if another agent has added exactly these contents."""
        return any(other.messages.has(contents) or other.records.has(contents) for other in self.others())

    def begin_anew(self) -> None:
        self.blocks = BlocksModel(self.scope)
        self.messages.is_elsewhere = self.records.is_elsewhere = self.is_elsewhere
        self.records.find_fit = lambda *of: self.find_fit(*of)

    def blocks_now(self) -> Mapping[Slot, Chain]:
        return self.blocks.chains

    def observe_wipe(self) -> None:
        self.keys.asked.clear()
        self.asked.clear()
        self.messages, self.records = LogModel("message", "msg"), LogModel("archival", "arc")
        self.begin_anew()

    def observe_closing(self) -> None:
        """Empty the logs, whose numbers continue; request keys stay valid."""
        self.messages, self.records = self.messages.empty(), self.records.empty()
        self.begin_anew()

    def observe_crash(self) -> None:
        """Record second effects of writes in flight whose keys storage may have forgotten."""
        for op_id, (asked_ms, request) in self.asked.items():
            self.double_old_write(op_id, asked_ms, request)
        self.asked.clear()

    # Requests. A write that a crash leaves without a reply stays open: it may be durable.

    def observe_request(self, op_id: str, request: Any, now_ms: int) -> None:
        if isinstance(request, SetBlock | RemoveBlock):
            if is_sound(request) and not is_forbidden(request):
                self.blocks.mark_foreign((request.kind, tidy(request.label)))
            return
        if not is_sound(request):
            return
        if isinstance(request, WRITES) and op_id not in self.asked:
            self.asked[op_id] = self.surroundings.world_ms(), request
            self.keys.begin(op_id, request.request_key, request)
        if isinstance(request, EDITS):
            self.blocks.begin_edit(op_id, request)
        elif isinstance(request, api.ListBlocks | api.FindBlock | api.BlockHistory):
            self.blocks.begin(op_id)
        else:
            is_of_messages = isinstance(request, api.AddMessages | api.ListMessages | api.SearchMessages)
            log = self.messages if is_of_messages else self.records
            log.begin(op_id)
            if isinstance(request, api.AddMessages | api.AddArchival):
                log.open[op_id] = contents_of_request(request)
            elif isinstance(request, api.DeleteArchival):
                log.deletes[op_id] = log.seq_of(request.record_id)

    # Replies.

    def observe_reply(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        if isinstance(request, SetBlock | RemoveBlock) or not is_sound(request):
            return
        is_write = isinstance(request, WRITES)
        demand(is_write or not isinstance(outcome, Unknown), rules.ERROR_IS_NOT_EMPTY, "a read is Unknown")
        if isinstance(outcome, Done) and not ending.is_sure:
            return
        if is_no_agent(outcome):
            self.asked.pop(ending.op_id, None)
            self.drop(ending.op_id, request if is_write else None)
            return
        if is_write:
            self.double_old_write(ending.op_id, *self.asked.pop(ending.op_id))
        if isinstance(outcome, Refused):
            self.judge_refused(ending, outcome.error)
        elif isinstance(outcome, Done):
            (self.judge_write if is_write else self.judge_read)(ending, outcome.value)
        if is_write and isinstance(outcome, Refused | Failed):
            self.drop(ending.op_id, request)

    def double_old_write(self, op_id: str, asked_ms: int, request: Any) -> None:
        """Record that an earlier attempt may have a second effect, if storage may have forgotten its key."""
        if self.surroundings.world_ms() - asked_ms < RECEIPT_MS_MAX:
            return
        # An attempt at hour 1 may be durable without an answer. At hour 25 its receipt is deleted, so a retry
        # is stored again. Then one request has two effects, and the twin represents the first of them.
        twin = f"{op_id}~"
        if isinstance(request, EDITS) and op_id in self.blocks.begun:
            self.blocks.begun[twin] = self.blocks.begun[op_id]
            for chain in self.blocks.targets(request):
                chain.open[twin] = request
        elif isinstance(request, api.AddMessages | api.AddArchival):
            log = self.messages if isinstance(request, api.AddMessages) else self.records
            if op_id in log.begun:
                log.begun[twin] = log.begun[op_id]
                log.open[twin] = contents_of_request(request)

    def drop(self, op_id: str, request: Any) -> None:
        for part in (self.blocks, self.messages, self.records):
            part.drop(op_id)
        if request is not None:
            self.keys.drop(op_id, request.request_key)

    def judge_refused(self, ending: Ending, error: errors.Error) -> None:
        op_id, request = ending.op_id, ending.request
        if isinstance(request, WRITES) and request.request_key is not None:
            self.keys.judge_refused(op_id, request.request_key, error, self.surroundings.world_ms())
        if isinstance(error, errors.KeyReused):
            self.keys.judge_reused(op_id, request.request_key)
        elif isinstance(error, NotFound) and isinstance(request, api.DeleteArchival | api.GetArchival):
            self.records.judge_missing(op_id, request.record_id)
        elif isinstance(error, NotFound) and isinstance(request, api.BlockHistory):
            chain = self.blocks.of_id(request.block_id)
            is_new = chain is None or chain.is_foreign or self.blocks.floor(op_id, chain) == 0
            demand(is_new, rules.HISTORY_REPLAYS, f"{request.block_id} was written, and has no history")
        elif isinstance(error, NotFound):
            self.blocks.judge_missing(op_id, request.block)
        elif isinstance(request, EDITS) and not isinstance(error, (errors.TooBusy, *OF_ROOM)):
            is_fair = self.blocks.is_fair(op_id, request) or isinstance(error, LabelTaken)
            demand(is_fair, rules.NO_SPURIOUS_REFUSAL, f"{op_id} is refused without a reason", "", error)

    def judge_write(self, ending: Ending, value: Any) -> None:
        op_id, request, key = ending.op_id, ending.request, ending.request.request_key
        plain, repeated, doer = structs.replace(value, repeated=False), value.repeated, op_id
        if key is not None:
            now_ms = self.surroundings.world_ms()
            found = self.keys.judge_done(op_id, key, plain, repeated=repeated, now_ms=now_ms)
            doer = found or ""
        else:
            demand(not repeated, rules.KEY_ONCE, f"{op_id} is repeated, without a key", "", value)
        if doer != op_id:
            for part in (self.blocks, self.messages, self.records):
                part.drop(op_id)
        # If this reply repeats the result of an earlier request, that one (`doer`) is judged here, unless it
        # ended before the agent was closed.
        if doer and any(doer in part.begun for part in (self.blocks, self.messages, self.records)):
            self.judge_first(doer, request, plain)

    def judge_first(self, op_id: str, request: Any, value: Any) -> None:
        """Judge the first reply about a write."""
        if isinstance(request, EDITS):
            self.blocks.judge_edit(op_id, request, value)
        elif isinstance(request, api.DeleteArchival):
            self.records.judge_delete(op_id, value.id)
        else:
            log = self.messages if isinstance(request, api.AddMessages) else self.records
            log.judge_append(op_id, value)

    def judge_read(self, ending: Ending, value: Any) -> None:
        op_id = ending.op_id
        match ending.request:
            case api.ListBlocks():
                self.blocks.judge_list(op_id, value.blocks)
            case api.FindBlock():
                self.blocks.judge_block(op_id, value)
            case api.BlockHistory() as request:
                self.blocks.judge_history(op_id, request, value)
            case api.ListMessages() as request:
                self.messages.judge_messages(op_id, request, value)
            case api.SearchMessages() as request:
                self.messages.judge_found(op_id, request, value)
            case api.GetArchival() as request:
                self.records.judge_get(op_id, request, value)
            case api.ListArchival() as request:
                self.records.judge_list(op_id, request, value)
            case api.SearchArchival() as request:
                self.records.judge_search(op_id, request, value)

    # For the workload and the audit.

    def record_ids(self) -> tuple[str, ...]:
        return tuple(f"arc_{seq:012}" for seq in self.records.rows)

    def blocks_there(self) -> tuple[tuple[str, str, str], ...]:
        """List id, label and text of each block that may exist; the text is empty if unknown."""
        there = [it for it in self.blocks.chains.values() if it.floor and it.may_be(it.floor, there=True)]
        known = {it.slot: it.text() or "" for it in there} | dict.fromkeys(self.blocks.foreign, "")
        return tuple((block_id(self.scope, *slot), name_of(slot), text) for slot, text in known.items())

    def audit(self) -> tuple[AuditRead, ...]:
        """List requests whose replies show all blocks and rows; empty if the API was never used."""
        if not self.blocks.begun and not self.messages.begun and not self.records.begun:
            return ()
        heads: list[AuditRead] = [
            ("list_blocks", {}),
            ("list_messages", {}),
            ("list_archival", {"limit": 100}),
        ]
        histories: list[AuditRead] = [("block_history", {"block_id": key}) for key in self.block_ids()]
        # Pages of 100, the maximum of a request: after=1, 101, 201, and so on.
        seqs = range(1, max(self.messages.rows, default=0) + 1, 100)
        pages: list[AuditRead] = [("list_messages", {"after": seq, "limit": 100}) for seq in seqs]
        ends = self.record_ids()[99::100]
        later: list[AuditRead] = [("list_archival", {"cursor": key, "limit": 100}) for key in ends]
        return (*heads, *histories, *pages, *later)

    def block_ids(self) -> tuple[str, ...]:
        known = [slot for slot, it in self.blocks.chains.items() if it.floor and not it.is_foreign]
        return tuple(block_id(self.scope, *slot) for slot in known)


def is_sound(request: Any) -> bool:
    """Return True if a request is well formed; Promises judges malformed ones."""
    return bad_request(request) is None

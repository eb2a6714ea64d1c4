"""Fields of the trace for effects, answers and replies: short and exact, and no content twice.

A commit is recorded as its key, its ids and the digest of its plan, which covers every byte of the batch.
Rows of a read are recorded as ids and versions, because the digests of earlier commits cover their bodies.
"""

from itertools import zip_longest
from typing import Final

from umi_core.codec import DECODERS
from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import (
    MAIN,
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Done,
    Embed,
    Failed,
    Outcome,
    Query,
    Read,
    Refused,
)
from umi_core.rows import Receipt
from umi_sim.kernel.literals import literal
from umi_sim.kernel.wording import cut, escape_text
from umi_sim.record.answer_shapes import is_shaped
from umi_sim.record.items import Args
from umi_sim.record.trace import Field, Record, Tag

LINE_CHARS_MAX: Final = 100


def effect_fields(effect: Asked) -> tuple[object, ...]:
    match effect:
        case AskModel():
            return "model", effect.request_id, effect.task, effect.prompt
        case Embed():
            return "embed", effect.request_id, list(effect.texts)
        case Read(query=ByIds(addresses=addresses)):
            return at_store("read", effect), effect.request_id, [address.id for address in addresses]
        case Read():
            return at_store("read", effect), effect.request_id, effect.query
        case Commit():
            return commit_fields(effect)
    raise AssertionError(effect)


def commit_fields(commit: Commit) -> tuple[object, ...]:
    receipts = (write.body for write in commit.writes if isinstance(write.body, Receipt))
    digests: list[Field] = [receipt.plan_digest for receipt in receipts]
    expects: list[Field] = [expect.version for expect in commit.expects]
    ids = [write.address.id for write in commit.writes]
    return at_store("commit", commit), commit.request_id, commit.key, ids, expects, digests


def at_store(verb: str, effect: Read | Commit) -> str:
    """Return the verb, followed by the name of the store (`read legacy`) unless that is main."""
    return verb if effect.store == MAIN else f"{verb} {effect.store}"


def answer_fields(answer: Answer) -> tuple[object, ...]:
    if not is_shaped(answer):
        return "nonsense", answer.request_id, escape_text(repr(answer))
    match answer:
        case ModelReplied():
            return "model", answer.request_id, answer.text
        case Embedded():
            return "embed", answer.request_id, answer.vectors
        case Committed():
            return "committed", answer.request_id, [version for _, version in answer.versions]
        case EffectFailed():
            return "failed", answer.request_id, answer.kind, answer.retry_after_ms, len(answer.changed)
    rows: list[Field] = [
        [row.address.id, row.version, row.score_ppm, row.body is None] for row in answer.rows
    ]
    return "rows", answer.request_id, rows, answer.cursor, answer.count


def outcome_fields(outcome: Outcome) -> tuple[object, ...]:
    if outcome.__class__ is Done and not outcome.degraded:
        return True, outcome.value
    return False, outcome


# Text for people.

KEY_CHARS_MAX: Final = 23
KEY_HEAD_CHARS: Final = 8
KEY_TAIL_CHARS: Final = 12


def shown_args(args: Args) -> str:
    return ", ".join(f"{name}={short(value)}" for name, value in args.items())


def short(value: object) -> str:
    """Write an effect, an answer, an outcome or an argument in one line."""
    if not is_shaped(value):
        return f"nonsense: {escape_text(repr(value))}"[:LINE_CHARS_MAX]
    match value:
        case AskModel(task=task):
            return f"AskModel {task}"
        case Embed(texts=texts):
            return f"Embed {len(texts)} texts"
        case Commit(key=key, writes=writes, store=store):
            return f"Commit {in_store(store)}{len(writes)} writes, key {ends(key)}"
        case Read(query=query, store=store):
            return f"Read {in_store(store)}{short_query(query)}"
        case ReadDone(rows=rows, count=count):
            return f"ReadDone {len(rows)} rows" if count is None else f"ReadDone count {count}"
        case Committed():
            return "Committed"
        case EffectFailed(kind=kind):
            return f"Failed {kind}"
        case ModelReplied(text=text):
            return f"ModelReplied {text!r}"[:LINE_CHARS_MAX]
        case Embedded(vectors=vectors):
            return f"Embedded {len(vectors)} vectors"
        case Done(value=inner):
            return f"Done {short(inner)}" + "".join(f" degraded {item.name}" for item in value.degraded)
        case Refused(error=error) | Failed(error=error):
            return f"{type(value).__name__} {type(error).__name__}: {error}"
    text = repr(value)
    return text if len(text) <= LINE_CHARS_MAX else f"{text[: LINE_CHARS_MAX - 3]}..."


def in_store(store: str) -> str:
    """Return the prefix that names a store in a line; empty for main."""
    return "" if store == MAIN else f"{store}: "


def ends(key: str) -> str:
    """Cut the middle out of a long key: keys of one operation have the same beginning and other ends."""
    return key if len(key) <= KEY_CHARS_MAX else f"{key[:KEY_HEAD_CHARS]}...{key[-KEY_TAIL_CHARS:]}"


def short_query(query: Query) -> str:
    match query:
        case ByIds(addresses=addresses):
            return f"by ids: {', '.join(address.kind for address in addresses)}"
        case ByFilter(kinds=kinds) | CountRows(kinds=kinds):
            return f"{'count' if isinstance(query, CountRows) else 'all'} {', '.join(kinds)}"
        case ByVector(limit=limit):
            return f"by vector, at most {limit}"
        case ByWords(text=text, limit=limit):
            return f"by words {text!r}, at most {limit}"


# Names of fields.

FIELDS: Final = {
    Tag.RUN: "scenario version seed", Tag.OP: "item agent reading name request",
    Tag.STEP: "agent reading input event", Tag.EFFECT: "event service request value",
    Tag.REPLY: "op outcome value", Tag.ANSWER: "event answer request value",
    Tag.FAULT: "item kind event", Tag.CLOCK: "agent move reading", Tag.LIFE: "change agent",
    Tag.SCHEDULE: "taken over", Tag.PHASE: "phase", Tag.MARK: "mark", Tag.STATE: "agent digest",
    Tag.SKIPPED: "item why", Tag.END: "verdict steps",
}  # fmt: skip
ABSENT: Final = 99
COLUMNS: Final[dict[int, tuple[int, ...]]] = {  # positions of agent, reading, event; then those to show
    Tag.OP: (1, 2, 0, 3, 4), Tag.STEP: (0, 1, 3, 2), Tag.FAULT: (ABSENT, ABSENT, 2, 0, 1),
    Tag.CLOCK: (0, 2, ABSENT, 1), Tag.LIFE: (1, ABSENT, ABSENT, 0), Tag.STATE: (0, ABSENT, ABSENT, 1),
    **dict.fromkeys((Tag.EFFECT, Tag.REPLY, Tag.ANSWER, Tag.SCHEDULE, Tag.SKIPPED), (ABSENT, ABSENT, 0, 1)),
}  # fmt: skip
REST: Final = (ABSENT, ABSENT, ABSENT, 0, 1, 2)
TAG: Final = 2
OUTCOME: Final = 4
NAMES: Final = ("first", "second")
VALUE_CHARS_MAX: Final = 60


def field_apart(a: Record | None, b: Record | None, names: tuple[str, str] = NAMES) -> str:
    """Return the first field in which two records differ, with both values."""
    if a is None or b is None:
        return f"where the {names[0] if a is None else names[1]} trace has ended"
    number = next(at for at, (mine, theirs) in enumerate(zip_longest(a, b)) if mine != theirs)
    return f"field {field_name(a, number)}: {show_field(a, number)} / {show_field(b, number)}"


def field_name(record: Record, number: int) -> str:
    tag = record[2]
    own = FIELDS[Tag(tag)].split() if isinstance(tag, int) and tag in list(Tag) else []
    names = ["record", "world_ms", "tag", *own]
    return names[number] if number < len(names) else str(number)


def show_field(record: Record, number: int) -> str:
    """Return a field of a record; tags and outcomes have names."""
    field = record[number] if number < len(record) else None
    if number == TAG and field in list(Tag):
        return Tag(field).name.lower()
    if record[TAG] == Tag.REPLY and isinstance(field, bool):
        return outcome_word(record)
    return escape_text(cut(hex_or_literal(record[TAG], field), VALUE_CHARS_MAX))


def hex_or_literal(tag: object, field: Field) -> str:
    return field.hex() if tag == Tag.STATE and isinstance(field, bytes) else literal(field)


def outcome_word(record: Record) -> str:
    """Return the outcome of a reply in a word: done, refused, failed or unknown; or `done, degraded`."""
    is_plain, outcome = record[OUTCOME], record[OUTCOME + 1]
    if is_plain or not isinstance(outcome, list):
        return "done"
    name = DECODERS[outcome[0]].__name__.lower() if outcome[0] in DECODERS else "?"
    return "done, degraded" if name == "done" else name

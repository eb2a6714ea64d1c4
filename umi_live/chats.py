"""Import files of conversations from other programs, as documents of a memory.

    chatgpt:c1        a conversation, as one document
    chatgpt:c1/2      its continuation after a pause of half a day, or after the limit of a document

Law 1. Importing a file again changes nothing; an interrupted import continues where it stopped.
Law 2. Nothing is dropped silently: unreadable messages and parts are listed by position, others are counted.
Law 3. A file of unknown format changes nothing.
"""

import gzip
import io
import json
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import BinaryIO, Final

import msgspec
from msgspec import structs

from umi_core.chats.reader import read_chat_file, skip_seam
from umi_core.chats.values import Chat, ChatFile, ChatMessage
from umi_core.data import Data, Owner
from umi_core.language.times import minute_of
from umi_core.limits import DAY_MS, SCOPE_PART_BYTES_MAX, TEXT_BYTES_MAX
from umi_core.text import cut, size
from umi_live.batches import run_lanes
from umi_live.errors import LiveError, NotDone
from umi_live.memory import LiveMemory

FILE_BYTES_MAX: Final = 2**29
GZIP: Final = b"\x1f\x8b"
ZIP: Final = b"PK\x03\x04"
BAD_ARCHIVE: Final = (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile)
"""Exceptions of reading an archive; RuntimeError means a password, or an unknown kind of compression."""
ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".txt", ".md", ".csv", ".tsv")  # of files read in an archive
BYTE_MARKS: Final = (  # byte order marks, longer ones first
    (b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be"), (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
)  # fmt: skip
JSON: Final = json.JSONDecoder()
MESSAGE_BYTES_MAX: Final = 15_000  # longer messages are divided; JSON may need six bytes for one
ROOM_BYTES: Final = TEXT_BYTES_MAX - 2_000  # for the messages of a document; the rest is for title and frame
PAUSE_MS: Final = DAY_MS // 2
AT_ONCE_COUNT: Final = 8  # documents imported concurrently; each asks the model several questions
READABLE: Final = "import reads JSON, JSON Lines and lines of text, also packed by zip or gzip"
CONTROL: Final = re.compile(r"[\0-\x08\x0e-\x1a\x7f]")  # characters that no text file has
JSON_BEGIN: Final = re.compile(r"(?=\{\s*\"|\[\s*[\[{\"])")  # not "[10/03/2024, 12:00] Ann: Hi"
LOOSE: Final = frozenset(("openai", "anthropic", "gemini", "langchain", "sharegpt", "locomo"))
"""Formats whose messages may be in any list, and may look the same in several of these formats."""
NO_FORMAT: Final = (
    "of no known format; known are an export of `umi-live export`, conversations of ChatGPT, Claude, "
    "Open WebUI, LoCoMo and LongMemEval, messages of OpenAI, Anthropic, Gemini, LangChain and ShareGPT as "
    "JSON or JSON Lines, and lines `Name: text`"
)


class ChatDocument(Data):
    """A text to memorize, the name by which the memory knows it, and the time of its first message."""

    uri: str
    text: str
    happened_ms: int | None


class ImportCount(Owner):
    """Counts of the results of an import."""

    documents: Counter[str] = msgspec.field(default_factory=Counter)  # by change: created, updated, unchanged
    fact_count: int = 0
    uncovered_count: int = 0  # sentences that are only in the texts
    degraded: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)  # by name and reason
    failed: dict[str, str] = {}  # the reason of each failure, by the name of the document


def read_texts(path: str, file: BinaryIO) -> dict[str, str | None]:
    """Return the text of a file by name; of an archive the texts of all files, None for one that is no text.

    Raises LiveError for a file that is no text or too large, and for an unreadable archive.
    """
    raw = read_bytes(path, file)
    try:
        if raw[:2] == GZIP:
            raw = read_bytes(path, gzip.GzipFile(fileobj=io.BytesIO(raw)))
        if raw[:4] != ZIP:
            return {path: decode_bytes(raw)}
        return dict(read_members(path, zipfile.ZipFile(io.BytesIO(raw))))
    except UnicodeDecodeError as error:
        odd = f"byte {error.start + 1:,} is 0x{error.object[error.start]:02x}"
        raise LiveError(f"{path}: is no text ({odd}); {READABLE}") from error
    except BAD_ARCHIVE as error:
        raise LiveError(f"{path}: is no archive that can be read: {error}") from error


def read_bytes(path: str, file: BinaryIO | gzip.GzipFile) -> bytes:
    raw = file.read(FILE_BYTES_MAX + 1)
    if len(raw) > FILE_BYTES_MAX:
        raise LiveError(f"{path}: is larger than {FILE_BYTES_MAX >> 20} MiB")
    return raw


def read_members(path: str, archive: zipfile.ZipFile) -> Iterator[tuple[str, str | None]]:
    """Yield the files of an archive by name, each with its text if it may contain conversations."""
    left = FILE_BYTES_MAX
    for name in sorted(it.filename for it in archive.infolist() if not it.is_dir()):
        if not name.lower().endswith(ENDINGS):
            yield name, None
            continue
        with archive.open(name) as file:
            raw = file.read(left + 1)
        left -= len(raw)
        if left < 0:
            raise LiveError(f"{path}: holds more than {FILE_BYTES_MAX >> 20} MiB")
        try:
            text = decode_bytes(raw)
        except UnicodeDecodeError:  # one file that is no text must not prevent the import of the others
            text = None
        yield name, text


def decode_bytes(raw: bytes) -> str:
    """Decode a file: by its byte order mark, else as UTF-16 or UTF-8, else as Windows-1252."""
    for mark, encoding in BYTE_MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding).removeprefix("\ufeff")
    for begin, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if raw[begin : begin + 3 : 2] == b"\0\0":  # as two ASCII characters in UTF-16
            return raw.decode(encoding)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        if b"\0" in raw:
            raise
        return raw.decode("cp1252")


def read_conversations(
    path: str, texts: Mapping[str, str | None], wanted: str | None
) -> tuple[ChatFile, list[str]]:
    """Return the conversations of a file, or of those files in an archive that have the same format.

    The second value lists the files of the archive without conversations. Raises LiveError if the format is
    not the `wanted` one, or if no message can be read.
    """
    files = {name: it for name, text in texts.items() if text and (it := read_chat_file(text)) is not None}
    if not files:
        raise LiveError(f"{path}: {explain_unknown(texts)}")
    readable = {name: it for name, it in files.items() if any(chat.messages for chat in it.chats)} or files
    formats = [it.format for it in readable.values()]
    # Prefer the wanted format, then unambiguous ones: a README also looks like lines of text.
    name = wanted if wanted in formats else min(formats, key=lambda it: (it == "text", it in LOOSE))
    used = {key: it for key, it in readable.items() if it.format == name or {it.format, name} <= LOOSE}
    found = ChatFile(name, tuple(chat for it in used.values() for chat in it.chats))
    if wanted not in (None, found.format) and not {wanted, found.format} <= LOOSE:
        raise LiveError(f"{path}: is no file of {wanted}; it looks like one of {found.format}")
    if not any(chat.messages for chat in found.chats):
        why = list_unread(found)[:1] or ["there are no messages in it"]
        raise LiveError(f"{path}: nothing in it can be read: {why[0]}")
    return found, [it for it in texts if it not in used]


def explain_unknown(texts: Mapping[str, str | None]) -> str:
    """Return the problem of a file, or an archive, in which no conversation was found."""
    damages = {name: it for name, text in texts.items() if text and (it := find_damage(text))}
    for name, damage in damages.items():
        return damage if len(texts) == 1 else f"{name!r} in it {damage}"
    return f"{'is' if len(texts) == 1 else 'each of its files is'} {NO_FORMAT}"


def find_damage(text: str) -> str:
    """Return the problem of a text that is truncated or broken JSON, or no text at all; else ""."""
    if CONTROL.search(text):
        return f"is no text; {READABLE}"
    at = len(text) - len(text.removeprefix("\ufeff").lstrip())
    if JSON_BEGIN.match(text, at) is None:
        return ""
    try:
        while at < len(text):
            _, at = JSON.raw_decode(text, at)
            at = skip_seam(text, at)
    except json.JSONDecodeError as error:
        # For an unterminated string, the error names its beginning, not the end of the text.
        is_cut = error.msg.startswith("Unterminated") or not text[error.pos :].strip()
        end = len(text.rstrip()) if is_cut else error.pos
        line, column = text.count("\n", 0, end) + 1, end - text.rfind("\n", 0, end)
        place = f"at line {line:,}, column {column:,}"
        if is_cut:
            return f"is JSON that ends in the middle, {place}; export or copy it again"
        return f"is broken JSON {place} ({error.msg}); mend that place, or export the file again"
    except RecursionError:
        pass
    return ""


def list_unread(found: ChatFile) -> list[str]:
    """Return a line for each message that is unreadable, wholly or in part: its position, and the reason."""
    return [
        f"{place_message(found, at, number)}: {reason}"
        for at, chat in enumerate(found.chats, 1)
        for number, reason in sorted(
            {
                **{it.number: it.reason for it in chat.unread},
                **{it.number: f"not {it.unread_parts}" for it in chat.messages if it.unread_parts},
            }.items()
        )
    ]


def list_unread_times(found: ChatFile) -> list[str]:
    """Return a line for each message with an unreadable time: its position, and the value."""
    return [
        f"{place_message(found, at, number)}: {time}"
        for at, chat in enumerate(found.chats, 1)
        for number, time in sorted({it.number: it.unread_time for it in chat.messages}.items())
        if time
    ]


def place_message(found: ChatFile, chat_number: int, number: int) -> str:
    is_one = len(found.chats) == 1
    return f"{'' if is_one else f'conversation {chat_number}, '}message {number}"


def count_left_out(found: ChatFile) -> Counter[str]:
    counts = Counter[str]()
    for chat in found.chats:
        counts.update(dict(chat.left_out))
    return counts


# Documents.


def make_documents(found: ChatFile, path: str) -> Iterator[ChatDocument]:
    """Yield the texts to memorize, each once. Different conversations with one id get different names."""
    seen = dict[str, str]()
    for number, chat in enumerate(found.chats, 1):
        for part, messages in enumerate(divide_chat(chat), 1):
            text = write_messages(chat.title, messages)
            name = name_chat(chat, f"{os.path.basename(path)}#{number}")
            uri = f"{found.format}:{name}" + f"/{part}" * (part > 1)
            uri = uri if seen.get(uri, text) == text else f"{uri}~{digest_text(text)}"
            if uri not in seen:
                seen[uri] = text
                times = (it.at_ms for it in messages if it.at_ms is not None)
                yield ChatDocument(uri, text, next(times, None))


def name_chat(chat: Chat, place: str) -> str:
    """Return the id of a conversation or, if it has none, its place with a digest of its first message."""
    name = chat.key or f"{cut(place, 60)}-{digest_text(write_messages('', chat.messages[:1]))}"
    if size(name) > SCOPE_PART_BYTES_MAX // 2 or not name.isprintable():
        return digest_text(name)
    return name


def digest_text(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def divide_chat(chat: Chat) -> Iterator[list[ChatMessage]]:
    """Yield the messages in parts: a new one begins after a long pause, and when a document is full."""
    part, used_bytes, last_ms = list[ChatMessage](), 0, 0
    for message in (piece for it in chat.messages for piece in divide_message(it)):
        size_bytes = size(write_message(message)) + 1
        is_later = part and message.at_ms is not None and message.at_ms - last_ms >= PAUSE_MS and last_ms
        if is_later or used_bytes + size_bytes > ROOM_BYTES:
            yield part
            part, used_bytes = [], 0
        part.append(message)
        used_bytes, last_ms = used_bytes + size_bytes, message.at_ms or last_ms
    if part:
        yield part


def divide_message(message: ChatMessage) -> Iterator[ChatMessage]:
    """Yield a message in pieces of at most MESSAGE_BYTES_MAX, cut between words if possible."""
    text = message.text
    while size(text) > MESSAGE_BYTES_MAX:
        head = cut(text, MESSAGE_BYTES_MAX)
        head = head[: max(head.rfind(" "), head.rfind("\n")) + 1] or head
        yield structs.replace(message, text=head)
        text = text[len(head) :]
    if text.strip():
        yield structs.replace(message, text=text)


def write_messages(title: str, messages: Sequence[ChatMessage]) -> str:
    """Return messages as JSON, in the form that `memorize` and most programs read."""
    named = f'"title": {json.dumps(cut(title, 200), ensure_ascii=False)}, ' if title else ""
    return f'{{{named}"messages": [{",".join(map(write_message, messages))}]}}'


def write_message(message: ChatMessage) -> str:
    moment = message.time if message.at_ms is None else minute_of(message.at_ms)
    when = {"created_at": moment} if moment else {}
    return json.dumps({"role": message.role, **when, "content": message.text}, ensure_ascii=False)


async def import_chats(
    memory: LiveMemory, documents: Sequence[ChatDocument], report: Callable[[int, ImportCount], None]
) -> ImportCount:
    """Memorize the documents; after each, call `report` with the number of documents and the counts so far.

    Documents with a time are memorized concurrently, as their times decide which fact ends which. The others
    are memorized in order, as a later one may end facts of an earlier one. If a document fails, the result
    names it and the others continue. Raises StoreError, Closed.
    """
    done = ImportCount()

    async def work(it: ChatDocument) -> None:
        try:
            result = await memory.memorize(
                it.text, modality="conversation", uri=it.uri, happened_ms=it.happened_ms
            )
        except NotDone as error:
            done.failed[it.uri] = str(error)
        else:
            done.documents[result.value.change] += 1
            done.fact_count += sum(stored.change == "created" for stored in result.value.entities)
            done.uncovered_count += result.value.uncovered_count
            done.degraded.update((degraded.name, degraded.reason) for degraded in result.degraded)
        report(len(done.failed) + done.documents.total(), done)

    timeless = [it for it in documents if it.happened_ms is None]
    lanes = [[it] for it in documents if it.happened_ms is not None]
    await run_lanes([*([timeless] if timeless else ()), *lanes], work, AT_ONCE_COUNT)
    return done

"""Messages: a role, a text and a time, read from the forms that different programs write.

    {"role": "user", "content": "Hi"}                      OpenAI, Anthropic
    {"role": "model", "parts": [{"text": "Hi"}]}           Gemini
    {"type": "human", "data": {"content": "Hi"}}           LangChain
    {"from": "gpt", "value": "Hi"}                         ShareGPT
    {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi"}     LoCoMo

Law 1. Reading is total: any JSON value is a message, a message that is left out, or an unreadable one.
Law 2. A message with text is never left out; if its text is in an unknown place, it is unreadable.
Law 3. Output of tools and files within a message of a person becomes a message of role tool, in that place.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from msgspec import structs

from umi_core.chats.contents import (
    CALLS,
    NAME_KEYS,
    ContentPiece,
    JsonObject,
    find_object,
    find_text,
    is_call,
    is_document,
    is_result,
    kind_of,
    name_called,
    read_attachment,
    read_call,
    read_content,
)
from umi_core.chats.moments import read_moment
from umi_core.chats.placeholders import drop_placeholders
from umi_core.chats.values import EMPTY, HIDDEN, ChatMessage, UnreadMessage
from umi_core.json_text import Json, JsonNumber, whole, whole_json, write_json
from umi_core.language.reasoning import strip_reasoning
from umi_core.text import cut, resolve_references

ROLES: Final[Mapping[str, str]] = {
    "user": "user", "human": "user", "prompter": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "bot": "assistant",
    "gpt": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant",
    "chatbot": "assistant", "function_call": "assistant",
    "system": "system", "developer": "system",
    "tool": "tool", "function": "tool", "observation": "tool", "function_response": "tool",
}  # fmt: skip
"""Names of roles in different programs; any other name is that of a person."""
MACHINES: Final = ("assistant", "system", "tool")  # all roles that are not persons
FOUND_ROLES: Final = frozenset(
    "context document documents environment ipython retrieval search_result search_results tool_response "
    "tool_result tool_results".split()
)
"""Roles of search results and documents; read as tool. In lines `Name: text` they are ordinary words."""
ROLE_KEYS: Final = (
    "role", "speaker", "sender", "sender_name", "from", "author", "user", "username",
)  # fmt: skip
TIME_KEYS: Final = (  # lower case without underscores: `created_at` and `createdAt` are equal
    "createdat", "createtime", "timestamp", "datetime", "created", "createdtime", "date", "time", "sentat",
    "ts", "insertedat", "timestampms", "datecreated", "createddate", "sentdate", "messagetime", "postedat",
)  # fmt: skip
TIME_HOLDERS: Final = ("metadata", "additional_kwargs", "response_metadata")
TIME_CHARS_MAX: Final = 60  # length at which an unreadable time is cut in reports
CONTENT_KEYS: Final = (
    "content", "parts", "text", "value", "message", "body", "contents", "blocks", "fragments", "contentParts",
    "utterance", "memory",
)  # fmt: skip
CALL_KEYS: Final = ("tool_calls", "toolCalls", "toolInvocations")
FILE_LISTS: Final = ("attachments", "files", "experimental_attachments", "documents")
BRACKETS: Final = {ord("["): "(", ord("]"): ")"}
NAME_BYTES_MAX: Final = 100
NO_TEXT: Final = "neither text nor parts"
NO_OBJECT: Final = "no JSON object"


def read_message(
    value: Json, number: int, names: Mapping[str, str], default: Json = None
) -> tuple[ChatMessage, ...] | UnreadMessage | str:
    """Return a message, an unreadable one, or a word of LEFT_OUT; `default`: its time if it has none.

    A person's message with results of tools or texts of files becomes several, each with its role.
    """
    message = unwrap(value)
    if message is None:
        return UnreadMessage(number, NO_OBJECT)
    if is_hidden(message):
        return HIDDEN
    pieces = [it for it in list_pieces(message, names) if it.text.strip() or it.kind == "hidden"]
    if not any(it.kind == "text" for it in pieces):
        return find_omission(message, pieces) or UnreadMessage(number, reason_unread(pieces))
    texts = [*divide_pieces(message, pieces)]
    if not texts:
        return HIDDEN
    if all(role not in MACHINES and not drop_placeholders(text) for role, text in texts):
        return EMPTY
    own_time = find_time(message)
    time = own_time if any(read_moment(own_time)) else default
    times = (own_time, time)
    unread = next((it for it in times if not is_no_time(it) and read_moment(it)[1] is None), None)
    unread_text = "" if unread is None else write_json(unread)[:TIME_CHARS_MAX]
    time_text, at_ms = read_moment(time)
    shown = clean_name(time_text)
    parts = ", ".join(dict.fromkeys(it.text for it in pieces if it.has_words))
    return tuple(ChatMessage(number, role, text, shown, at_ms, unread_text, parts) for role, text in texts)


TAG: Final = re.compile(
    r"<(?P<end>/?)(?P<name>(?:tool|function)_(?:response|result|results|output)|search_results?|documents?|context|"
    r"document_contents?|file_contents?|environment_details|system-reminder)\b[^<>]{0,200}>"
)
"""Tags around a document or a result that a program inserts into the text of a person."""


def divide_tagged(piece: ContentPiece) -> Iterator[ContentPiece]:
    """Split a text of a person: text between the tags of a document gets the role tool."""
    text, begin, opened = piece.text, 0, None
    tags = list(TAG.finditer(text))
    last = {it["name"]: it.start() for it in tags if it["end"]}
    for tag in tags:
        if opened is None and not tag["end"] and last.get(tag["name"], 0) > tag.start():
            opened = tag
        elif opened is not None and tag["end"] and tag["name"] == opened["name"]:
            yield structs.replace(piece, text=text[begin : opened.start()].strip())
            inside = TAG.sub("", text[opened.end() : tag.start()])
            yield ContentPiece(inside.strip(), role="tool")
            begin, opened = tag.end(), None
    yield structs.replace(piece, text=text[begin:].strip()) if begin else piece


def divide_pieces(message: JsonObject, pieces: list[ContentPiece]) -> Iterator[tuple[str, str]]:
    """Yield (role, text) of a message; split a person's message where the role of a piece differs."""
    own = clean_name(repair_bytes(role_of(message), message))
    is_person = own not in MACHINES
    parts = [part for it in pieces for part in (divide_tagged(it) if is_person and not it.role else (it,))]
    parts = [it for it in parts if it.text]
    for role, group in groupby(parts, lambda it: it.role if is_person and it.role else own):
        text = whole(repair_bytes("\n".join(it.text for it in group), message))
        text = clean_answer(text) if role == "assistant" else text
        if text:
            yield role, text


def repair_bytes(text: str, message: JsonObject) -> str:
    """Repair a text of Facebook, which writes each byte of UTF-8 as a letter: `NÃ¼sse` is `Nüsse`."""
    if "sender_name" not in message:
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


CITATION: Final = re.compile("\ue200[^\ue201]*\ue201|【[0-9]+[:†][^】]*】")
SHOWN_CALL: Final = re.compile(r'<details type="tool_calls"([^>]*)>.*?</details>', re.DOTALL)
ATTRIBUTE: Final = re.compile(r'(\w+)="([^"]*)"')


def clean_answer(text: str) -> str:
    """Remove reasoning and citations from a model's answer, and turn calls in it into lines."""
    return strip_reasoning(CITATION.sub("", SHOWN_CALL.sub(show_call, text))).strip()


def show_call(shown: re.Match[str]) -> str:
    """Return the lines of a call and its result that Open WebUI writes into the text of a message."""
    found = {name: resolve_references(it) for name, it in ATTRIBUTE.findall(shown[1])}
    call: JsonObject = {"name": found.get("name"), "args": whole_json(found.get("arguments", ""))}
    result = whole_json(found.get("result", ""))
    return "\n".join(it.text for it in read_call({**call, "result": result}, {})) + "\n"


def clean_name(text: str) -> str:
    """Return a role or a time in one line and without brackets, so that it can stand before `]: `."""
    return cut(" ".join(whole(text).translate(BRACKETS).split()), NAME_BYTES_MAX)


def find_omission(message: JsonObject, pieces: list[ContentPiece]) -> str:
    """Return why a message without text may be left out; empty if its text must be somewhere else."""
    if any(it.kind == "unknown" for it in pieces):
        return ""
    if pieces:
        return HIDDEN
    has_content_key = any(key in message for key in (*CONTENT_KEYS, *CALL_KEYS, *CALLS))
    return EMPTY if has_content_key else ""


def reason_unread(pieces: list[ContentPiece]) -> str:
    unknown = dict.fromkeys(it.text for it in pieces if it.kind == "unknown")
    return f"no text, but {', '.join(unknown)}" if unknown else NO_TEXT


def unwrap(value: Json) -> JsonObject | None:
    """Unwrap a message from the objects around it; return None if it is neither an object nor a pair."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and is_role(value[0]):
        return {"role": value[0], "content": value[1]}
    if not isinstance(value, dict):
        return None
    if isinstance(versions := value.get("versions"), list) and versions:
        chosen = value.get("currentlySelected")
        at = int(chosen.text) if isinstance(chosen, JsonNumber) and chosen.text.isdecimal() else -1
        inner = versions[at if at < len(versions) else -1]
        return (
            {**inner, "content": inner.get("content", inner.get("steps"))}
            if isinstance(inner, dict)
            else value
        )
    ids = value.get("id")
    if (inner := find_object(value, ("kwargs",))) is not None and isinstance(ids, list) and ids:
        return {"type": ids[-1], **inner}
    if (inner := find_object(value, ("data",))) is not None and "content" not in value:
        return {**times_of(value), **inner, "type": value.get("type")}
    for key in ("message", "content", "response"):
        inner = find_object(value, (key,))
        if inner is not None and "kwargs" in inner:
            return unwrap(inner)
        if inner is not None and (find_text(inner, ("role", "sender")) or "author" in inner):
            return {**times_of(value), **inner}
    return value


def times_of(value: JsonObject) -> JsonObject:
    return {name: it for name, it in value.items() if normalise_key(name) in TIME_KEYS}


def is_role(name: str) -> bool:
    return name.lower() in ROLES


def role_kind(message: JsonObject) -> str:
    """Return the type of a message without LangChain's suffixes: `human` for `HumanMessageChunk`."""
    return kind_of(message).removesuffix("chunk").removesuffix("message")


def standard_role(name: str) -> str:
    """Return `user` for human, `assistant` for model, and so on; other names stay unchanged."""
    return ROLES.get(name.lower(), name)


def is_hidden(message: JsonObject) -> bool:
    """Check whether the program hides a message from its users."""
    metadata = find_object(message, ("metadata",)) or {}
    return metadata.get("is_visually_hidden_from_conversation") is True or message.get("isThought") is True


def find_time(message: JsonObject) -> Json:
    """Return the time of a message or a conversation as written, also if it is in the metadata."""
    for holder in (message, *(message.get(name) for name in TIME_HOLDERS)):
        if isinstance(holder, dict):
            times = {normalise_key(name): it for name, it in holder.items() if it is not None}
            if found := [times[key] for key in TIME_KEYS if key in times]:
                return found[0]
    return None


def normalise_key(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def is_no_time(value: Json) -> bool:
    """Check whether a value means that there is no time: null, false, a blank text, or 0."""
    if isinstance(value, JsonNumber):
        return not value.text.strip("0.")
    return value is None or value is False or (isinstance(value, str) and not value.strip())


# Roles.


def role_of(message: JsonObject) -> str:
    """Return `user`, `assistant`, `system`, `tool`, or the name of a person."""
    author = find_object(message, ("author", "sender", "user", "from")) or {}
    kind = role_kind(message)
    name = find_text(message, ROLE_KEYS) or find_text(author, ("role", "name", "username"))
    parts = [PART_ROLES.get(it, "") for it in part_kinds(message)] + [
        PART_ROLES.get(find_text(message, ("kind",)), "")
    ]
    source = find_text(message, ("source",))
    kind = source if is_role(source) else next(filter(None, parts), kind)
    own = kind if is_role(kind) else role_of_item(message, kind)
    role = standard_role(name or own)
    if isinstance(message.get("isCreatedByUser"), bool):
        role = "user" if message["isCreatedByUser"] else "assistant"
    if role.lower() in FOUND_ROLES:
        return "tool"
    return find_text(message, ("name",)) or role if role == "user" else role


def role_of_item(item: JsonObject, kind: str) -> str:
    """Derive the role of a message without one from its type: a `file_search_call` is by the assistant."""
    if is_call(kind) and not is_result(kind):
        return "assistant"
    return "tool" if is_result(kind) or is_document(item, kind) else "user"


PART_ROLES: Final[Mapping[str, str]] = {
    "request": "user", "user_prompt": "user", "response": "assistant", "think": "assistant",
}  # fmt: skip
"""Roles that are derived from the types of parts, or from `kind`."""


def part_kinds(message: JsonObject) -> list[str]:
    """Return the types of the parts of a message."""
    parts = message.get("content", message.get("parts", message.get("fragments")))
    listed = parts if isinstance(parts, list) else []
    return [kind_of(it) for it in listed if isinstance(it, dict)]


# Contents.


def list_pieces(message: JsonObject, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    pieces = list(read_own(message, names))
    author = find_object(message, ("author",)) or {}
    name = find_text(message, NAME_KEYS) or find_text(author, ("name",)) or name_called(message, names)
    if name and role_of(message) == "tool" and not is_result(kind_of(message)) and not part_kinds(message):
        pieces = [structs.replace(it, text=f"{name}: {it.text}") for it in pieces]
    recipient = find_text(message, ("recipient",))
    if recipient not in ("", "all"):
        pieces = [
            structs.replace(it, text=f"calls {recipient}({it.text})") for it in pieces if it.text.strip()
        ]
    yield from pieces
    yield from (it for it in read_calls(message, names) if it not in pieces)
    metadata = find_object(message, ("metadata",)) or {}
    lists = (holder.get(key) for key in FILE_LISTS for holder in (message, metadata))
    files = [file for it in lists if isinstance(it, list) for file in it]
    shown = [piece for file in files for piece in read_attachment(file, names)]
    new = [it for it in shown if not any(it.text in other.text for other in pieces)]
    yield from sorted(new, key=lambda it: bool(it.role))  # the names of all files before their texts
    if "blip_caption" in message or "img_url" in message:
        caption = find_text(message, ("blip_caption", "query"))
        yield ContentPiece(f"[image: {caption}]" if caption else "[image]")


def read_own(message: JsonObject, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    """Yield the pieces of the first content that has any; a call, a result or a thought is itself one."""
    kind = kind_of(message)
    is_item = is_call(kind) or is_result(kind) or kind == "reasoning"
    if is_result(kind) or (is_item and not find_text(message, ROLE_KEYS[:-2])):
        yield from read_content(message, names)
        return
    for key in CONTENT_KEYS:
        pieces = [
            it for it in read_content(message.get(key), names) if it.text.strip() or it.kind == "hidden"
        ]
        if pieces:
            yield from pieces
            return
    if (audio := find_object(message, ("audio",))) is not None:
        yield ContentPiece(find_text(audio, ("transcript",)) or "[audio]")
    yield ContentPiece(find_text(message, ("refusal",)))


def read_calls(message: JsonObject, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    """Yield the tool calls that a message has next to its content."""
    more = find_object(message, ("additional_kwargs",)) or {}
    listed = (calls for it in (message, more) for key in CALL_KEYS if (calls := it.get(key)))
    calls = next(listed, None)
    single = find_object(message, ("function_call",)) or find_object(more, ("function_call",))
    for call in calls if isinstance(calls, list) else [single] if single else ():
        if isinstance(call, dict):
            yield from read_call(call, names)

"""Contents of messages: texts, parts, images, tool calls and their results, as readable lines.

    {"type": "text", "text": "Hi"}                                            Hi
    {"type": "tool_use", "name": "weather", "input": {"city": "Oslo"}}        calls weather(city="Oslo")
    {"type": "tool_result", "tool_use_id": "t1", "content": "18 degrees"}     weather: 18 degrees
    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}  [image: https://example.org/a.png]
    {"type": "document", "title": "Tea", "source": {...}}                     [file: Tea], and Tea: its text

Law 1. Reading is total: any JSON value is accepted. Law 2. No part is lost silently: a part of an unknown
form becomes a piece with its type, and a part that the program hides becomes a piece without text. Law 3.
Output of a tool, a file or a model has a role of its own, so that it does not count as a statement of the
person in whose message it is.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from msgspec import structs

from umi_core.data import Data
from umi_core.json_text import Json, whole_json, write_json

Kind = Literal["text", "hidden", "unknown"]
JsonObject = dict[str, Json]

HIDDEN_KINDS: Final = frozenset(
    "think thinking redacted_thinking reasoning reasoning_text reasoning_recap thoughts thought step_start "
    "user_editable_context model_editable_context".split()
)
KIND_KEYS: Final = ("type", "content_type", "part_kind", "block_type")
KIND_ROLES: Final[Mapping[str, str]] = {
    "system_prompt": "system", "retry_prompt": "tool", "execution_output": "tool", "system_error": "tool",
    "tether_browsing_display": "tool",
}  # fmt: skip
"""Roles of parts that a program writes."""
FILE_WORDS: Final = frozenset(("file", "document", "attachment"))  # each may be in the type of a file
DOCUMENT_KINDS: Final = frozenset(
    "search_result search_results citation citable quote blockquote context retrieval reference webpage "
    "text_plain tether_quote".split()
)
MEDIA: Final = ("image", "audio", "video", "file", "document", "attachment")
TEXT_KEYS: Final = (
    "text", "parts", "content", "value", "refusal", "transcript", "result", "summary", "logs",
    "page_content",
)  # fmt: skip
NAME_KEYS: Final = ("name", "toolName", "tool_name")
ID_KEYS: Final = ("id", "call_id", "tool_call_id", "tool_use_id", "toolCallId", "toolUseId")
INPUT_KEYS: Final = ("arguments", "args", "input", "parameters", "action", "code", "queries")
OUTPUT_KEYS: Final = ("content", "output", "result", "response", "outputs", "results", "text")
FILE_KEYS: Final = (
    "file_name", "filename", "name", "title", "alt_text", "caption", "url", "uri", "fileUri", "file_uri",
    "file_id", "asset_pointer", "path",
)  # fmt: skip
FILE_TEXTS: Final = ("extracted_content", "content", "text", "snippet", "page_content")
CALLS: Final = ("functionCall", "function_call", "toolInvocation", "tool_call", "toolCall", "toolUse")
RESULTS: Final = (
    "functionResponse", "function_response", "toolResult", "tool_call_result", "toolCallResult",
)  # fmt: skip
MIME_KEYS: Final = ("mimeType", "mime_type", "media_type", "mediaType")
WORDS: Final = re.compile(r':"[^"]*\w\s+\w')  # a text of two words or more, in compact JSON
NO_OUTPUT: Final = "(no output)"
DATA: Final = re.compile(r"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/=_-]{512,}+", re.ASCII)


class ContentPiece(Data):
    """One readable piece of a message; a `hidden` one has no text, an `unknown` one has its type as text."""

    text: str
    kind: Kind = "text"
    role: str = ""  # of output of a tool, a file or a model; empty for words of the message's author
    has_words: bool = False  # of an unknown piece: its part has a text of several words somewhere


def read_content(value: Json, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    """Yield the pieces of a content; `names`: names of tools and files, by ids of calls and files."""
    if isinstance(value, str):
        yield ContentPiece(value)
    elif isinstance(value, list) and is_styled(value):
        yield ContentPiece("".join(it if isinstance(it, str) else plain_text(it) for it in value))
    elif isinstance(value, list):
        for part in value:
            yield from read_content(part, names)
    elif isinstance(value, dict):
        yield from read_part(value, names)
    elif value is not None:
        yield ContentPiece(write_json(value))


def is_styled(parts: list[Json]) -> bool:
    """Check whether parts are one text with formatted words, such as bold or links, as in Telegram."""
    texts = [
        isinstance(it, dict) and plain_text(it) and not is_document(it, kind_of(it)) and kind_of(it)
        for it in parts
    ]
    is_mixed = any(isinstance(it, str) for it in parts) and any(texts)
    return is_mixed and all(isinstance(it, str) or kind for it, kind in zip(parts, texts, strict=True))


def plain_text(part: Json) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def read_part(part: JsonObject, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    kind = kind_of(part)
    call, result = find_object(part, CALLS), find_object(part, RESULTS)
    if kind in HIDDEN_KINDS or part.get("thought") is True:
        yield ContentPiece("", "hidden")
    elif call is not None:
        yield from read_call(call, names)
    elif result is not None or is_result(kind):
        yield ContentPiece(read_result(result or part, names), role="tool")
    elif is_call(kind):
        yield from read_call(part, names)
    elif (code := find_object(part, ("executableCode", "executable_code"))) is not None:
        shown = f"runs {find_text(code, ('language',)).lower()}: {find_text(code, ('code',))}"
        yield ContentPiece(shown, role="assistant")
    elif (ran := find_object(part, ("codeExecutionResult", "code_execution_result"))) is not None:
        yield ContentPiece(f"result: {find_text(ran, ('output',)) or NO_OUTPUT}", role="tool")
    elif (inner := find_object(part, ("document",))) is not None:
        yield from read_part({**inner, "type": "document"}, names)
    else:
        yield from read_text(part, kind, names)


def read_text(part: JsonObject, kind: str, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    """Yield the marker and the texts of a part; its type if nothing in it can be read."""
    marker = mark_media(part, kind, names)
    if marker:
        yield ContentPiece(marker)
    texts = list(list_texts(part, names))
    if texts and is_document(part, kind):
        name = name_file(part, names) or ("file" if marker else kind or "document")
        texts[0] = structs.replace(texts[0], text=f"{name}: {texts[0].text}")
        texts = [structs.replace(it, role=it.role or "tool") for it in texts]
    role = KIND_ROLES.get(kind, "")
    yield from (structs.replace(it, role=it.role or role) for it in texts)
    if not marker and not texts and not is_empty_part(part):
        yield ContentPiece(f"[{kind or 'part'}]", "unknown", has_words=bool(WORDS.search(write_json(part))))


def list_texts(part: JsonObject, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    """Yield the pieces of the source of a part, then of its first text that is not blank."""
    source = find_object(part, ("source",)) or {}
    if kind_of(source) == "text":
        yield from read_content(find_text(source, ("data",)) or None, names)
    for holder in (source, part):
        listed = ([*read_content(holder.get(key), names)] for key in TEXT_KEYS)
        shown = ([it for it in found if it.text.strip() or it.kind == "hidden"] for found in listed)
        yield from next(filter(None, shown), [])


def is_document(part: JsonObject, kind: str) -> bool:
    """Check whether the text of a part is that of a file, a page or a quotation."""
    is_file = not FILE_WORDS.isdisjoint(kind.split("_"))
    return is_file or kind in DOCUMENT_KINDS or "page_content" in part


def is_empty_part(part: JsonObject) -> bool:
    """Check whether a part has a blank text; null counts as blank only if the part has nothing else.

    {"type": "text", "parts": [""]} is such a part, {"type": "odd", "text": null, "words": "Hi"} is not.
    """
    texts = [part[key] for key in TEXT_KEYS if key in part]
    rest = (it for name, it in part.items() if name not in KIND_KEYS)
    is_bare = all(map(is_blank, rest)) and bool(texts or not part)
    return is_bare or any(it is not None and is_blank(it) for it in texts)


def is_blank(value: Json) -> bool:
    if isinstance(value, dict):
        return is_empty_part(value)
    if isinstance(value, list):
        return all(map(is_blank, value))
    return value is None or (isinstance(value, str) and not value.strip())


def kind_of(part: Mapping[str, Json]) -> str:
    """Return the type of a part in a uniform spelling: `tool-call` becomes `tool_call`."""
    return find_text(part, KIND_KEYS).replace("-", "_").lower()


def find_text(value: Mapping[str, Json], keys: tuple[str, ...]) -> str:
    """Return the first text that is not blank under any of the keys, stripped; empty if there is none."""
    return next((it.strip() for key in keys if isinstance(it := value.get(key), str) and it.strip()), "")


def find_object(value: Mapping[str, Json], keys: tuple[str, ...]) -> JsonObject | None:
    return next((it for key in keys if isinstance(it := value.get(key), dict)), None)


# Tools.


def is_call(kind: str) -> bool:
    return kind.endswith(("_call", "tool_use", "_tool")) or kind.startswith("tool_")


def is_result(kind: str) -> bool:
    return kind.endswith(("tool_result", "_call_output", "tool_response", "tool_return"))


def read_call(call: JsonObject, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    """Yield the call of a tool, and its result if the same object has it."""
    function = find_object(call, ("function",)) or call
    kind = kind_of(call)
    own = kind.removesuffix("_call") if kind not in ("function_call", "tool_call") else ""
    name = find_text(function, NAME_KEYS) or own.removeprefix("tool_") or "a tool"
    inputs = next((function[key] for key in INPUT_KEYS if function.get(key) is not None), None)
    yield ContentPiece(f"calls {name}({show_inputs(inputs)})", role="assistant")
    if any(call.get(key) for key in ("output", "result", "outputs", "results")):
        yield ContentPiece(read_result({**call, "name": name}, names), role="tool")


def show_inputs(inputs: Json) -> str:
    """Return the arguments of a call as people write them: `city="Oslo", days=2`."""
    value = whole_json(inputs) if isinstance(inputs, str) else inputs
    if isinstance(value, dict):
        return drop_data(", ".join(f"{name}={write_json(it)}" for name, it in value.items()))
    return "" if inputs is None else drop_data(inputs if isinstance(inputs, str) else write_json(inputs))


def drop_data(text: str) -> str:
    """Replace each long run of base64, such as an image, by `[data]`."""
    return DATA.sub("[data]", text)


def read_result(result: JsonObject, names: Mapping[str, str]) -> str:
    name = find_text(result, NAME_KEYS) or name_called(result, names) or "result"
    output = next((result[key] for key in OUTPUT_KEYS if result.get(key) not in (None, "", [])), None)
    failed = " failed" if True in (result.get("is_error"), result.get("isError")) else ""
    return f"{name}{failed}: {drop_data(show_output(output, names)) or NO_OUTPUT}"


def name_called(result: Mapping[str, Json], names: Mapping[str, str]) -> str:
    """Return the name of the tool whose call a result answers; empty if it is unknown."""
    keys = (it for key in ID_KEYS if isinstance(it := result.get(key), str))
    return next((names[it] for it in keys if it in names), "")


def show_output(output: Json, names: Mapping[str, str]) -> str:
    """Return the text of a result; of an object with a single text that text, and else its JSON."""
    if isinstance(output, list):
        return "\n".join(filter(None, (show_output(it, names) for it in output)))
    if isinstance(output, dict):
        only = next(iter(output.values())) if len(output) == 1 else None
        if isinstance(only, str):
            return only
        title = find_text(output, ("title",)), find_text(output, ("url",))
        if all(title):
            return f"{title[0]} ({title[1]})"
        pieces = list(read_content(output, names))
        known = [it.text for it in pieces if it.kind == "text" and it.text.strip()]
        return "\n".join(known) if known else write_json(output)
    return "" if output is None else output if isinstance(output, str) else write_json(output)


def gather_names(value: Json) -> Iterator[tuple[str, str]]:
    """Yield the id and the name of each call and each file, at any depth."""
    if isinstance(value, list):
        for part in value:
            yield from gather_names(part)
    elif isinstance(value, dict):
        function = find_object(value, ("function",)) or value
        name = find_text(function, (*NAME_KEYS, "file_name"))
        if name:
            yield from ((it, name) for key in ID_KEYS if isinstance(it := value.get(key), str) and it)
        for it in value.values():
            yield from gather_names(it)


# Images, audios, videos and files.


def mark_media(part: JsonObject, kind: str, names: Mapping[str, str]) -> str:
    """Return a marker such as `[image: its name]` for a part that is a medium or file; empty for a text."""
    mime = next((found for it in (part, *part.values()) if isinstance(it, dict) and
                 (found := find_text(it, MIME_KEYS))), "")  # fmt: skip
    about = f"{kind} {mime}" if kind or mime else ""
    medium = next((it for it in MEDIA if it in about), "file" if mime and not kind else "")
    if not medium or "transcription" in kind:
        return ""
    medium = medium if medium in MEDIA[:3] else "file"
    name = name_file(part, names)
    return f"[{medium}: {name}]" if name else f"[{medium}]"


def name_file(part: JsonObject, names: Mapping[str, str]) -> str:
    """Return the name or the address of a file, but no `data:` URI; empty if it has neither."""
    for it in (part, *(inner for inner in part.values() if isinstance(inner, dict))):
        texts = [
            text for key in FILE_KEYS if (text := find_text(it, (key,))) and not text.startswith("data:")
        ]
        texts += [
            text for key in ("image_url", "image") if (text := find_text(it, (key,))).startswith("http")
        ]
        if texts:
            known = (names[end] for text in texts if (end := text.rpartition("/")[2]) in names)
            return next(known, texts[0])
    return ""


def read_attachment(value: Json, names: Mapping[str, str]) -> Iterator[ContentPiece]:
    """Yield the name of an attached file, and its text if the object has it."""
    if not isinstance(value, dict):
        return
    name = name_file(value, names)
    kind = find_text(value, ("type", *MIME_KEYS, "file_type", "content_type"))
    medium = "image" if "image" in kind else "attachment"
    yield ContentPiece(f"[{medium}: {name}]" if name else f"[{medium}]")
    text = drop_data(find_file_text(value))
    if text:
        yield ContentPiece(f"{name or medium}: {text}", role="tool")


def find_file_text(file: JsonObject) -> str:
    """Return the text of an attached file, also from inner objects; empty if there is none."""
    inner = find_object(file, ("file", "data"))
    return find_text(file, FILE_TEXTS) or ("" if inner is None else find_file_text(inner))

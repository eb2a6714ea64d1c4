"""Formats of conversations: how each is recognised, and where its messages are.

Law 1. A format is one function: it returns the conversations of a JSON object, or None if the object is not
in this format. Law 2. Of a tree of messages, the branch shown by the program is read; other messages are
counted.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.chats.contents import JsonObject, find_object, find_text, is_call, is_result, kind_of
from umi_core.chats.messages import CONTENT_KEYS, ROLE_KEYS, find_time, is_role, role_kind, unwrap
from umi_core.chats.moments import is_descending, read_moment
from umi_core.data import Data
from umi_core.json_text import Json
from umi_core.text import resolve_references

SESSION: Final = re.compile(r"session_([0-9]{1,6})")
KEYS: Final = ("conversation_id", "uuid", "id", "conversationId", "thread_id", "sample_id", "custom_id")
TITLES: Final = ("title", "name", "summary")
LISTS: Final = (
    "messages", "conversations", "conversation", "contents", "items", "data", "turns", "dialogue", "dialog",
    "history", "chat_history", "chats", "threads", "results", "responses",
)  # fmt: skip
WRAPPERS: Final = ("body", "response", "request", "values", "input", "data", "conversation", "thread")
MARKS: Final = (
    ("langchain", "type", "data"), ("langchain", "lc", "kwargs"), ("gemini", "role", "parts"),
    ("sharegpt", "from", "value"), ("locomo", "speaker", "text"), ("claude", "sender", "uuid"),
)  # fmt: skip
ANTHROPIC_KINDS: Final = ("tool_use", "tool_result", "thinking", "redacted_thinking", "document")
Named = tuple[str, list["RawChat"]]  # a format, and conversations in it
PARENTS: Final = ("parent", "parentId", "parent_id", "parentMessageId", "parent_message_uuid")
NODE_IDS: Final = ("id", "uuid", "messageId", "message_id")
LEAVES: Final = ("current_node", "currentId", "current_leaf_message_uuid")


class RawChat(Data):
    """A conversation of numbered messages that have not been read yet."""

    key: str
    title: str
    items: tuple[tuple[int, Json], ...]
    date: Json = None  # for messages without a date of their own
    other_count: int = 0  # of messages in other branches


def list_chat(value: JsonObject, messages: list[Json], lead: Json = None) -> RawChat:
    """Return a list of messages as a conversation; `lead`: its instructions, given next to the list."""
    # Facebook, pages of OpenAI's threads and many databases list the newest message first.
    is_reversed = is_descending([read_moment(find_time(unwrap(it) or {}))[1] for it in messages])
    flat = list(flatten_replies(messages[::-1] if is_reversed else messages))
    ordered, other_count = follow_branch(flat, find_text(value, LEAVES))
    other_count += count_replies(messages) - len(flat)
    places = range(len(ordered), 0, -1) if is_reversed else range(1, len(ordered) + 1)  # order in the file
    items = tuple(zip(places, ordered, strict=True))
    system: Json = {"role": "system", "content": lead}
    lead_items = ((0, system),) if lead else ()
    key, title = find_text(value, KEYS), find_text(value, TITLES)
    return RawChat(key, title, (*lead_items, *items), find_time(value), other_count)


# Trees.


def flatten_replies(messages: list[Json]) -> Iterator[Json]:
    """Yield messages, each followed by its last reply if it contains its replies."""
    for message in messages:
        yield message
        if replies := replies_of(message):
            yield from flatten_replies(replies[-1:])


def count_replies(messages: list[Json]) -> int:
    return len(messages) + sum(count_replies(replies_of(it)) for it in messages)


def replies_of(message: Json) -> list[Json]:
    """Return the replies that a message contains."""
    for key in ("children", "replies"):
        listed = message.get(key) if isinstance(message, dict) else None
        if isinstance(listed, list) and all(isinstance(it, dict) and is_message(it) for it in listed):
            return listed
    return []


def follow_branch(messages: list[Json], leaf: str) -> tuple[list[Json], int]:
    """Return the messages from the root to the leaf and the number of others; if no tree, all messages."""
    nodes = {key: it for it in messages if isinstance(it, dict) and (key := find_text(it, NODE_IDS))}
    parents = {key: find_text(it, PARENTS) for key, it in nodes.items()}
    named = [parent for parent in parents.values() if parent in parents]
    if len(dict.fromkeys(named)) == len(named) or len(nodes) < len(messages):
        return messages, 0  # no message has two replies, or some have no id
    branch = climb_tree(parents, leaf)
    return [nodes[key] for key in branch], len(messages) - len(branch)


def climb_tree(parents: Mapping[str, str], leaf: str) -> list[str]:
    """Return the ids from the root to `leaf`, each once; to the last id without children if there is no such
    leaf.
    """
    if leaf not in parents:
        with_children = {*parents.values()}
        leaf = next((key for key in reversed([*parents]) if key not in with_children), "")
    branch = dict[str, None]()
    while leaf in parents and leaf not in branch:
        branch[leaf] = None
        leaf = parents[leaf]
    return [*reversed(branch)]


def list_nodes(value: JsonObject, nodes: JsonObject) -> RawChat:
    """Return the branch that the program shows as a conversation; a node has a message, or is one."""
    parents = {key: find_text(it, PARENTS) if isinstance(it, dict) else "" for key, it in nodes.items()}
    messages = {key: it.get("message", it) if isinstance(it, dict) else it for key, it in nodes.items()}
    branch = climb_tree(parents, find_text(value, LEAVES)) if any(parents.values()) else [*nodes]
    items = tuple(enumerate((messages[key] for key in branch if messages[key] is not None), 1))
    other_count = sum(it is not None for it in messages.values()) - len(items)
    return RawChat(find_text(value, KEYS), find_text(value, TITLES), items, find_time(value), other_count)


# Formats: the functions of the table at the end.

PAIRS: Final = (  # names under which a row of a data set has a question and its answer
    ("prompt", "completion"), ("prompt", "response"), ("instruction", "output"), ("question", "answer"),
    ("user", "assistant"), ("human", "assistant"), ("query", "response"), ("input", "output"),
)  # fmt: skip


def read_pairs(value: JsonObject) -> list[RawChat] | None:
    """Read `{"prompt": text, "completion": text}`, and Alpaca's `{"instruction", "output", "history"}`."""
    if "role" in value or "type" in value:
        return None
    names = next((its for its in PAIRS if all(isinstance(value.get(it), str) for it in its)), None)
    if names is None:
        return None
    asked, answer = (find_text(value, (name,)) for name in names)
    more = find_text(value, ("input",)) if names[0] == "instruction" else ""
    before, history = list[Json](), value.get("history")
    for pair in history if isinstance(history, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            before += [{"role": "user", "content": pair[0]}, {"role": "assistant", "content": pair[1]}]
    lead = value.get("system", value.get("system_prompt"))
    # The input of an instruction is a text of unknown origin, so its role is `tool`.
    inputs: list[Json] = [{"role": "tool", "content": more}] * bool(more)
    question: Json = {"role": "user", "content": asked}
    return [list_chat(value, [*before, question, *inputs, {"role": "assistant", "content": answer}], lead)]


HTML: Final = re.compile(r"<[^<>]*>")


def read_activity(value: JsonObject) -> list[RawChat] | None:
    """Read Google's activity: `{"header", "title": "Prompted ...", "safeHtmlItem": [{"html"}]}`."""
    title, items = find_text(value, ("title",)), value.get("safeHtmlItem")
    if not title or "header" not in value or "products" not in value or not isinstance(items, list | None):
        return None
    pages = (find_text(it, ("html",)) for it in items or () if isinstance(it, dict))
    answer = resolve_references("\n".join(HTML.sub("", page) for page in pages))
    asked = title.removeprefix("Prompted ").removeprefix("Asked ")
    turns: list[Json] = [{"role": "user", "content": asked}, {"role": "model", "content": answer}]
    return [list_chat({"time": value.get("time")}, turns)]


def read_chatgpt(value: JsonObject) -> list[RawChat] | None:
    """Read `{"title", "mapping": {id: {"message", "parent"}}, "current_node"}`."""
    mapping = find_object(value, ("mapping",))
    return None if mapping is None else [list_nodes(value, mapping)]


def read_claude(value: JsonObject) -> list[RawChat] | None:
    """Read `{"uuid", "name", "chat_messages": [{"sender", "content"}]}`."""
    messages = value.get("chat_messages")
    return [list_chat(value, messages)] if isinstance(messages, list) else None


def read_openwebui(value: JsonObject) -> list[RawChat] | None:
    """Read `{"id", "title", "chat": {"history": {"messages": {id: message}, "currentId"}}}`."""
    chat = find_object(value, ("chat",)) or value
    history = find_object(chat, ("history",))
    nodes = find_object(history, ("messages",)) if history is not None else None
    if history is not None and nodes is not None:
        found = list_nodes(history, nodes)
    elif chat is not value and isinstance(messages := chat.get("messages"), list):
        found = list_chat(chat, messages)
    else:
        return None
    key, title = (find_text(value, keys) or find_text(chat, keys) for keys in (KEYS, TITLES))
    return [structs.replace(found, key=key, title=title, date=find_time(value) or find_time(chat))]


def read_locomo(value: JsonObject) -> list[RawChat] | None:
    """Read `{"sample_id", "conversation": {"session_1": [turn], "session_1_date_time"}}`, by session."""
    sessions = find_object(value, ("conversation",)) or value
    numbers = sorted(int(found[1]) for name in sessions if (found := SESSION.fullmatch(name)))
    chats = []
    for number in numbers:
        turns, key = sessions.get(f"session_{number}"), find_text(value, KEYS)
        items = turns if isinstance(turns, list) else [turns]
        date = sessions.get(f"session_{number}_date_time")
        chats.append(RawChat(f"{key}-{number}" if key else "", "", tuple(enumerate(items, 1)), date))
    return chats or None


def read_longmemeval(value: JsonObject) -> list[RawChat] | None:
    """Read `{"question_id", "haystack_sessions": [[message]], "haystack_dates"}`, by session."""
    sessions = value.get("haystack_sessions")
    if not isinstance(sessions, list):
        return None
    chats = []
    for at, messages in enumerate(sessions):
        ids, dates = (value.get(f"haystack_{name}") for name in ("session_ids", "dates"))
        key, date = (it[at] if isinstance(it, list) and at < len(it) else None for it in (ids, dates))
        items = messages if isinstance(messages, list) else [messages]
        chats.append(RawChat(key if isinstance(key, str) else "", "", tuple(enumerate(items, 1)), date))
    return chats


def read_gemini(value: JsonObject) -> list[RawChat] | None:
    """Read `{"contents": [message]}`, `{"candidates": [{"content": message}]}` and `{"chunkedPrompt"}`."""
    prompt = find_object(value, ("chunkedPrompt",))
    lists = (value.get("contents"), value.get("candidates"), prompt.get("chunks") if prompt else None)
    messages = next((it for it in lists if isinstance(it, list)), None)
    lead = value.get("systemInstruction", value.get("system_instruction"))
    return None if messages is None else [list_chat(value, messages, lead)]


def read_openai(value: JsonObject) -> list[RawChat] | None:
    """Read requests and responses: `{"choices": [{"message"}]}`, `{"input", "output": [item]}`."""
    choices, given = value.get("choices"), value.get("input")
    output = value.get("output", value.get("preferred_output"))
    given = (
        given["messages"] if isinstance(given, dict) and isinstance(given.get("messages"), list) else given
    )
    if isinstance(choices, list):
        return [list_chat(value, choices)]
    if "call_id" in value or not (isinstance(output, list) or isinstance(given, list)):
        return None
    if "type" in value or "role" in value:
        return None  # a message
    before: list[Json] = (
        given if isinstance(given, list) else [{"role": "user", "content": given}] * bool(given)
    )
    after = output if isinstance(output, list) else []
    return [list_chat(value, [*before, *after], value.get("instructions"))]


def read_list(value: JsonObject) -> Named | None:
    """Read an object with a list of messages, or of conversations, under one of the usual names."""
    kind = kind_of(value)
    if is_message(value) or is_call(kind) or is_result(kind) or is_role(find_text(value, ("role",))):
        return None
    messages = next((it for key in LISTS if isinstance(it := value.get(key), list)), None)
    if messages is None:
        return None
    # `{"chat_history": [...], "message": "And now?"}`: the newest message stands beside the earlier ones.
    newest = find_text(value, ("message", "query", "question"))
    messages = [*messages, *([{"role": "user", "content": newest}] if newest else ())]
    return read_chats(messages) or ("", [list_chat(value, messages, value.get("system"))])


def read_wrapped(value: JsonObject) -> Named | None:
    """Read an object that wraps one of another format: `{"custom_id", "body": {"messages"}}`."""
    inner = None if "type" in value else find_object(value, WRAPPERS)
    found = None if inner is None else read_chats(inner)
    if found is None:
        return None
    return found[0], [structs.replace(it, key=it.key or find_text(value, KEYS)) for it in found[1]]


Reader = Callable[[JsonObject], list[RawChat] | None]
OF_OBJECT: Final[Mapping[str, Reader]] = {
    "chatgpt": read_chatgpt, "claude": read_claude, "openwebui": read_openwebui, "locomo": read_locomo,
    "longmemeval": read_longmemeval, "gemini": read_gemini, "openai": read_openai, "sharegpt": read_pairs,
}  # fmt: skip
FORMATS: Final = (*OF_OBJECT, "anthropic", "langchain", "text")


def is_message(value: JsonObject) -> bool:
    """Check whether an object is a message and not a conversation."""
    has_role = "type" in value or any(isinstance(value.get(key), str) for key in ROLE_KEYS[:-2])
    return has_role and any(key in value for key in (*CONTENT_KEYS, "data", "kwargs"))


def read_chats(value: Json) -> Named | None:
    """Return the conversations of an object or of the objects in a list, and the format of the first one.

    Return None if there is no conversation, also for a bare list of messages. The format is empty if only the
    messages can tell it (`name_messages`).
    """
    if isinstance(value, dict):
        for name, read in OF_OBJECT.items():
            if (chats := read(value)) is not None:
                return name, chats
        if (chats := read_activity(value)) is not None:
            return "gemini", chats
        return read_list(value) or read_wrapped(value)
    if not isinstance(value, list):
        return None
    found = [read_chats(it) if isinstance(it, dict) else None for it in value]
    names = [it[0] for it in found if it is not None]
    if names:
        name, parts = names[0], zip(found, value, strict=True)
        # A value among conversations that is none is read as a message, so that it is reported as unreadable.
        return name, [
            chat for it, part in parts for chat in (it[1] if it else [RawChat("", "", ((1, part),))])
        ]
    if value and all(map(is_talk, value)):
        return "", [list_chat({}, it) for it in value if isinstance(it, list)]
    return None


def is_talk(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(it, dict) for it in value)


def find_chats(value: Json) -> Named | None:
    """Return the conversations of a whole file, and the name of its format; None if there are none."""
    found = read_chats(value)
    if found is None:
        messages = list_messages(value)
        if messages is None:
            deep = list(search_deep(value, 0))
            return (name_messages(it for chat in deep for _, it in chat.items), deep) if deep else None
        found = "", [list_chat(value if isinstance(value, dict) else {}, messages)]
    name, chats = found
    return name or name_messages(it for chat in chats for _, it in chat.items), chats


DEPTH_MAX: Final = 8


def search_deep(value: Json, depth: int) -> Iterator[RawChat]:
    """Yield the lists of messages under names that no format uses, at most DEPTH_MAX levels deep."""
    if isinstance(value, list) and value and all(isinstance(it, dict) and is_typical(it) for it in value):
        yield list_chat({}, value)
    elif isinstance(value, dict) and is_typical(value) and replies_of(value):
        yield list_chat({}, [value])
    elif depth < DEPTH_MAX and isinstance(value, dict | list):
        for it in value.values() if isinstance(value, dict) else value:
            yield from search_deep(it, depth + 1)


def is_typical(value: JsonObject) -> bool:
    """Check whether an object is certainly a message: it has a known role and a content."""
    message = unwrap(value) or {}
    roles = (find_text(message, ROLE_KEYS[:1]), role_kind(message))
    return any(map(is_role, roles)) and any(message.get(key) for key in CONTENT_KEYS)


def list_messages(value: Json) -> list[Json] | None:
    """Return a list of messages, a single message as a list, or the list under `content`; else None."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    content = value.get("content")
    return [value] if is_message(value) else content if isinstance(content, list) else None


def name_messages(messages: Iterable[Json]) -> str:
    """Return the format of the first message that identifies its program; `openai` if none does."""
    for message in messages:
        if isinstance(message, dict):
            for name, *keys in MARKS:
                if all(key in message for key in keys):
                    return name
            content = message.get("content")
            if content is not None and is_role(role_kind(message)):
                return "langchain"
            for part in content if isinstance(content, list) else ():
                if isinstance(part, dict) and kind_of(part) in ANTHROPIC_KINDS:
                    return "anthropic"
    return "openai"

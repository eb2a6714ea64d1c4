"""Export a memory in forms for other programs and people: messages, facts, a list by name.

    messages     a line for each conversation, in the form of OpenAI and most others: {"messages": [...]}
    facts        a line of JSON for each fact, current or ended
    markdown     the current facts, listed under the names that they are about

Law 1. No conversation and no fact is left out. Law 2. `umi-live import` can read `messages`.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from umi_core.chats.reader import read_chat_file
from umi_core.chats.values import Chat
from umi_core.language.times import format_time
from umi_core.rows import Ended, Entity, Resource, fact_of
from umi_live.fact_order import add_periods, list_end_times, order_by_time
from umi_live.memory import LiveMemory
from umi_live.reads import FACTS
from umi_live.transfer import read_object


async def list_messages(memory: LiveMemory) -> AsyncIterator[str]:
    """Yield each memorized conversation as a line of JSON."""
    async for it in memory.bodies(Resource):
        if it.parent_id is None and it.modality == "conversation":
            found = read_chat_file(it.text)
            plain = [{"role": "user", "content": it.text}]  # for a text without messages that can be read
            messages = plain if found is None else show_messages(found.chats)
            yield dump({"id": it.uri or it.id, "messages": messages})


def show_messages(chats: tuple[Chat, ...]) -> list[dict[str, Any]]:
    return [
        {"role": it.role, "content": it.text, **({"created_at": it.time} if it.time else {})}
        for chat in chats
        for it in chat.messages
    ]


async def list_facts(memory: LiveMemory) -> AsyncIterator[str]:
    """Yield each fact as a line of JSON; ended ones with the time, the fact that ended them, and how.

    A fact that ended and was stated again has a line for each period in which it was current.
    """
    uris = {it.id: it.uri async for it in memory.bodies(Resource) if it.uri}
    rows = add_periods([it async for it in memory.bodies(*FACTS)])
    ends_ms = list_end_times(rows)
    for row in rows:
        fact, end = fact_of(row), dict[str, str | None]()
        if isinstance(row, Ended):
            end = {"ended_at": format_time(ends_ms[row.id, fact.version]), "ended_by": row.by, "how": row.how}
        yield dump({
            "id": fact.id, "text": fact.content, "name": fact.name, "type": fact.type,
            "stated_at": format_time(fact.created_ms), "happened_at": format_time(fact.event_time_ms or 0),
            "sources": [uris.get(it, it) for it in fact.sources], **end,
        })  # fmt: skip


def is_list_of_facts(text: str) -> bool:
    """Check whether the first line of a text is one of `list_facts`."""
    return {"id", "text", "name", "type", "sources"} <= read_object(text.partition("\n")[0]).keys()


async def list_markdown(memory: LiveMemory) -> AsyncIterator[str]:
    """Yield the lines of a Markdown page: the current facts under their names, the oldest first."""
    groups = dict[str, list[Entity]]()
    facts = [it async for it in memory.entities()]
    for fact in map(fact_of, order_by_time(facts)):
        groups.setdefault(fact.name if fact.about else "", []).append(fact)
    for name in sorted(groups):
        yield f"# {plain_line(name) or 'Notes'}"
        yield ""
        for fact in groups[name]:
            day = (format_time(fact.time_ms) or "")[:10]
            yield f"- {plain_line(fact.content)} ({day})"
        yield ""


def plain_line(text: str) -> str:
    return " ".join(text.split())


def dump(value: Mapping[str, Any]) -> str:
    return json.dumps({key: it for key, it in value.items() if it is not None}, ensure_ascii=False)


FORMS: Final = {"messages": list_messages, "facts": list_facts, "markdown": list_markdown}

"""umi_live: the memory of umi_core on a real database and a real model, in asyncio.

    memory.py      open_memory, and the methods of a memory
    blocking.py    open_blocking: the same for code that is not asynchronous
    command.py     the command `umi-live`
    mcp.py         a server of the Model Context Protocol
    serve.py       a server over HTTP, for many users
    access.py      the tokens of a server, and its limits
    openapi.py     the description of a server
    integrations/  the memory in LangGraph, the OpenAI Agents SDK, Pydantic AI and LlamaIndex
    chats.py       conversations of other programs, imported
    readable.py    messages and facts, exported for other programs and people
    transfer.py    all rows of a scope, exported and imported
    contents.py    changes of a whole file: an import, the end of a user, a seal
    doctor.py      a check of every row of a file

    host.py        carries out the effects of a memory, and wakes it when it is due
    deadlines.py   time limits of calls
    recorder.py    the inputs of a memory in a file, for `umi-sim replay`
    arguments.py   the types of arguments, checked
    batches.py     many statements, each conversation in order
    reads.py       reads of several pages
    topics.py      categories and groups by their paths
    fact_order.py  when facts happened, and when they ended
    results.py     results of calls
    usage.py       tokens and their cost
    errors.py      errors, each with one sentence

    services.py    protocols of a model and an embedder, and their failures
    local.py       rules and hashes in place of a model and an embedder, without a network
    openai.py      a model and an embedder at an endpoint with the API of OpenAI
    anthropic.py   a model at an endpoint with the API of Anthropic
    payloads.py    images, audios and videos in prompts of both

    store.py       one database for all memories of a process, used in one thread
    claims.py      one live memory for each scope
    storage.py     what storages on SQLite and PostgreSQL share
    sqlite.py      a storage on SQLite
    postgres.py    a storage on PostgreSQL
    columns.py     rows as the tables have them
    conditions.py  conditions as SQL
    search.py      an index of each scope in memory
    remains.py     copies of deleted rows, found in a file
    seal.py        changes by other programs, found with a key
    anchor.py      the key of a sealed file, and its newest commit outside of it
    schema.py      the tables, and their versions
    upgrade.py     rows of an older release, converted
    files.py       private files, and addresses of databases

`local.py` reads texts by rules: rules.py, changes.py, phrases.py, casual.py, english.py,
places.py, first_person.py, questions.py, concepts.py and references.py.

Needs the extra `live`: `pip install 'umi-sim[live]'`; on PostgreSQL also `postgres`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from umi_live.batches import BatchResult, BatchStatement
    from umi_live.blocking import BlockingMemory, open_blocking
    from umi_live.contents import delete_user
    from umi_live.errors import (
        Closed,
        FileTampered,
        InDoubt,
        LiveError,
        NotDone,
        RequestFailed,
        RequestRefused,
        ScopeTaken,
        StoreError,
        TimedOut,
    )
    from umi_live.memory import LiveMemory, open_memory
    from umi_live.results import Hits, Result, find_references
    from umi_live.services import Embedder, Model, ServiceFailed
    from umi_live.topics import Topic
    from umi_live.usage import Usage, report_usage

# The module of each exported name. Importing the modules to find out would make every import slow.
_MODULES: Final = {
    "batches": "BatchResult BatchStatement",
    "blocking": "BlockingMemory open_blocking",
    "contents": "delete_user",
    "errors": (
        "Closed FileTampered InDoubt LiveError NotDone RequestFailed RequestRefused ScopeTaken StoreError "
        "TimedOut"
    ),
    "memory": "LiveMemory open_memory",
    "results": "Hits Result find_references",
    "services": "Embedder Model ServiceFailed",
    "topics": "Topic",
    "usage": "Usage report_usage",
}
_HOMES: Final = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "BatchResult", "BatchStatement", "BlockingMemory", "Closed", "Embedder", "FileTampered", "Hits",
    "InDoubt", "LiveError", "LiveMemory", "Model", "NotDone", "RequestFailed", "RequestRefused", "Result",
    "ScopeTaken", "ServiceFailed", "StoreError", "TimedOut", "Topic", "Usage", "delete_user",
    "find_references", "open_blocking", "open_memory", "report_usage",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Return an exported name from its module, which is imported only now.

    Without the extra this raises ModuleNotFoundError with the name of the extra.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"umi_live.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        from umi_live.errors import needs_extra

        raise ModuleNotFoundError(needs_extra(error), name=error.name) from None

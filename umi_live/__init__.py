"""umi_live: the memory of umi_core on a real database and a real model, in asyncio.

    memory.py      open_memory, and the methods of a memory
    blocking.py    open_blocking: the same for synchronous code
    command.py     the command `umi-live`
    mcp.py         a server of the Model Context Protocol
    serve.py       a server over HTTP, for many users
    access.py      the tokens of a server, and its limits
    openapi.py     the OpenAPI description of a server
    integrations/  the memory in LangGraph, the OpenAI Agents SDK, Pydantic AI and LlamaIndex
    chats.py       imports conversations of other programs
    readable.py    exports messages and facts for other programs and people
    transfer.py    exports and imports all rows of a scope
    contents.py    changes a whole file: imports, deletes a user, seals
    doctor.py      checks every row of a file

    host.py        carries out the effects of a memory, and wakes it at its deadlines
    deadlines.py   time limits of calls
    recorder.py    records the inputs of a memory in a file, for `umi-sim replay`
    arguments.py   checks the types of arguments
    batches.py     stores many statements, each conversation in order
    reads.py       reads of several pages
    topics.py      categories and groups by their paths
    fact_order.py  the order of facts, and the times when they ended
    results.py     results of calls
    usage.py       tokens and their cost
    errors.py      exceptions, each with a sentence for users

    services.py    protocols of a model and an embedder, and their failures
    local.py       rules and hashes in place of a model and an embedder, without a network
    openai.py      a model and an embedder at an endpoint with the API of OpenAI
    anthropic.py   a model at an endpoint with the API of Anthropic
    payloads.py    images, audio and video in prompts to both

    store.py       one open database for all memories of a process, used in one thread
    claims.py      one writing memory per scope, over all processes
    storage.py     the code that storages on SQLite and PostgreSQL share
    sqlite.py      a storage on SQLite
    postgres.py    a storage on PostgreSQL
    columns.py     writes rows, and the values that conditions compare, into tables
    conditions.py  translates conditions to SQL
    search.py      an index of each scope in RAM
    remains.py     finds copies of deleted rows in a file
    seal.py        detects changes by other programs with a key
    anchor.py      the key of a sealed file, and its newest commit, stored outside of it
    schema.py      the tables of SQLite, and their versions
    upgrade.py     converts rows of an older release
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
        NotErased,
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

# The module of each exported name. They are imported only when used, since importing all of them is slow.
_MODULES: Final = {
    "batches": "BatchResult BatchStatement",
    "blocking": "BlockingMemory open_blocking",
    "contents": "delete_user",
    "errors": (
        "Closed FileTampered InDoubt LiveError NotDone NotErased RequestFailed RequestRefused ScopeTaken "
        "StoreError TimedOut"
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
    "InDoubt", "LiveError", "LiveMemory", "Model", "NotDone", "NotErased", "RequestFailed", "RequestRefused",
    "Result", "ScopeTaken", "ServiceFailed", "StoreError", "TimedOut", "Topic", "Usage", "delete_user",
    "find_references", "open_blocking", "open_memory", "report_usage",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import the module of an exported name, and return the value of the name.

    If the extra is not installed, raises ModuleNotFoundError with the name of the extra.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"umi_live.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        from umi_live.errors import needs_extra

        raise ModuleNotFoundError(needs_extra(error), name=error.name) from None

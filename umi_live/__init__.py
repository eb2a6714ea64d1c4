"""umi_live: the memory of umi_core on a real database and a real model, in asyncio.

    memory.py      open_memory: what a person writes
    command.py     the command `umi-live`
    mcp.py         a server of the Model Context Protocol
    serve.py       a server over HTTP, for many users
    access.py      the tokens of a server, and its limits
    openapi.py     the description of a server
    doctor.py      a look at every row of a file
    blocking.py    open_blocking: the same for code that is not asynchronous
    integrations/  the memory in LangGraph, the OpenAI Agents SDK, Pydantic AI and LlamaIndex
    transfer.py    a scope as a file of lines, and back
    contents.py    what concerns a file and not one memory: rows that come in, a user who goes
    deletion.py    all that is kept of a user, taken out of the file
    fact_order.py  when facts happened, and when they ended
    arguments.py   what callers give, checked by its types
    batches.py     many statements, each conversation in its order
    deadlines.py   how long a call may take
    host.py        performs what a memory asks of the world, wakes it when it is due
    recorder.py    all that goes into a memory, as a file that `umi-sim replay` lives again
    topics.py      categories and groups by their paths
    results.py     what calls return beside facts
    references.py  what `she` means, where one name fits and no model is asked
    local.py       rules and hashes in place of a model and an embedder, without a network
    services.py    what a model and an embedder are, and how they fail
    openai.py      a model and an embedder at any endpoint that speaks as OpenAI does
    anthropic.py   a model at one that speaks as Anthropic does
    usage.py       tokens and their cost, of each request and in all
    store.py       one file for all memories of a process, worked on by one thread
    claims.py      one live memory for each scope
    storage.py     what storages on SQLite and PostgreSQL have in common
    sqlite.py      storage on SQLite
    postgres.py    storage on PostgreSQL
    search.py      what is kept of each scope in memory, so that searches are quick
    conditions.py  conditions as SQL
    seal.py        changes that another program made to a file, found with a key
    anchor.py      what a sealed file has outside: its key, and its newest commit
    schema.py      the tables, and their versions
    upgrade.py     the rows of an older release, statement by statement

    files.py       files that only their owner may read
    errors.py      what goes wrong, each in one sentence

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

# Where each exported name lives. Written out, as importing the modules to ask them is what must not happen.
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

    So the command can say in one line that the extra is not installed.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"umi_live.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        from umi_live.errors import needs_extra

        raise ModuleNotFoundError(needs_extra(error), name=error.name) from None

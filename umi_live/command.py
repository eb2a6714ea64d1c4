"""The command `umi-live`: a memory on disk, used from a shell. Any error prints one line, with status 2."""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, BinaryIO, Final, Self, TextIO, get_args

import apsw
import click
import msgspec
from click.core import ParameterSource
from msgspec import structs

from umi_core.chats.formats import FORMATS
from umi_core.data import Data, list_fields
from umi_core.language.times import format_time
from umi_core.language.words import auto_name
from umi_core.messages.effects import Degraded
from umi_core.messages.requests import Memorize, Remember, Request, ShareArchive
from umi_core.messages.results import ArchiveShared, Memorized, Remembered
from umi_core.rows import Ended, Entity, fact_of
from umi_core.text import show_value
from umi_core.values import AUTHORS, MEMORY_TYPES, MODEL
from umi_live import contents
from umi_live.access import Caller, ServeLimits, TokenFile, append_token, check_names, make_token
from umi_live.anchor import SealOptions, seal_options
from umi_live.arguments import check_request
from umi_live.chats import (
    ImportCount,
    count_left_out,
    import_chats,
    list_unread,
    list_unread_times,
    make_documents,
    read_conversations,
    read_texts,
)
from umi_live.doctor import describe_seal, examine_file
from umi_live.errors import LiveError, StoreError, needs_extra, own_version
from umi_live.fact_order import list_end_times
from umi_live.files import create_file
from umi_live.memory import ENTITY_PREFIX, LiveMemory, open_memory, read_changes
from umi_live.readable import FORMS, is_list_of_facts
from umi_live.schema import MEMORY, describe_error
from umi_live.services import ServiceFailed
from umi_live.store import Store, open_storage
from umi_live.transfer import export_lines, find_head, split_lines

KEY: Final = "UMI_LIVE_KEY"
PROGRESS_S: Final = 0.1
PROBE_MS: Final = 30_000
ROWS: Final = "rows"
UMI: Final = "umi"
PROGRAMS: Final = (*FORMATS, UMI)
UNREAD_SHOWN_MAX: Final = 10
FILES_SHOWN_MAX: Final = 5  # files without conversations, of an imported archive
NO_FIELDS: Final[Mapping[str, object]] = {}

Decorator = Callable[[Callable[..., Any]], Callable[..., None]]
Use = Callable[[LiveMemory], Awaitable[None]]


class MemoryOptions(Data):
    """The options of a command that select the memory and how it is opened."""

    db: str
    user: str = ""
    agent: str = ""
    model: str | None = None
    embedder: str | None = None
    record: str | None = None
    seal_key_file: str | None = None
    seal_anchor: str | None = None
    categories: Mapping[str, str] | None = None
    parameters: Mapping[str, object] | None = None
    timeout: float | None = None
    as_json: bool = False

    def show(self, line: str, row: Mapping[str, object]) -> None:
        """Print the line, or with --json the `row` as a JSON object."""
        click.echo(json.dumps(row, ensure_ascii=False) if self.as_json else line)

    async def read(self, use: Use, *, must_have: bool = False) -> None:
        """Open the memory for reading and call `use`. The file may be open elsewhere, or write-protected.

        If it has nothing of this user and agent: raises LiveError with `must_have`, else prints a warning.
        """
        contents.check_there(self.db)

        async def read_memory(memory: LiveMemory) -> None:
            if not await has_memory(memory):
                message = f"{self.db}: has nothing of user {self.user!r} and agent {self.agent!r}"
                if must_have:
                    raise LiveError(message)
                click.echo(f"umi-live: {message}", err=True)
            await use(memory)

        await self.work(read_memory, read_only=True)

    async def copy(self, use: Use) -> None:
        """Open the memory for reading and call `use`. Raises LiveError if the file has nothing of it."""
        await self.read(use, must_have=True)

    async def write(self, use: Use, request: Request | None = None) -> None:
        """Open or create the memory and call `use`. Raises LiveError for `:memory:`, which would be lost.

        `request`: checked first, as a request that is refused must create no database.
        """
        if self.db == MEMORY:
            raise LiveError(f"{MEMORY} is gone when the command ends; name a file with --db")
        if request is not None:
            check_request(request)
        await self.work(use)

    async def change(self, use: Use) -> None:
        """Open the memory and call `use`. The database must exist."""
        contents.check_there(self.db)
        await self.work(use)

    async def work(self, use: Use, *, read_only: bool = False) -> None:
        """Check that the model and the embedder answer, then open the memory and call `use`."""
        memory = self.make_memory(self.user, self.agent, read_only)
        await self.probe_services(memory)
        async with memory:
            await use(memory)
        if memory.usage.call_count:
            click.echo(f"umi-live: models: {memory.usage}", err=True)

    def make_memory(self, user: str, agent: str, read_only: bool = False) -> LiveMemory:
        return open_memory(
            self.db, user=user, agent=agent, model=self.model, embedder=self.embedder,
            parameters=self.parameters,
            key=os.environ.get(KEY), record=self.record, read_only=read_only, categories=self.categories,
            seal=read_key(self.seal_key_file), seal_anchor=self.seal_anchor, timeout=self.timeout,
        )  # fmt: skip

    async def probe_services(self, memory: LiveMemory) -> None:
        """Check that the model and the embedder of a memory answer. Raises LiveError."""
        if self.model:
            await probe(self.model, memory.model.ask("probe", "Reply with the word yes.", PROBE_MS))
        if self.embedder:
            await probe(self.embedder, memory.embedder.embed(("yes",), PROBE_MS))

    @property
    def seal(self) -> SealOptions | None:
        return seal_options(read_key(self.seal_key_file), self.seal_anchor)


Work = Callable[[MemoryOptions, Use], Coroutine[Any, Any, None]]


async def has_memory(memory: LiveMemory) -> bool:
    """Return whether the file has rows of the user and agent of an open memory."""
    assert memory.store is not None
    scopes = await memory.store.call(contents.list_scopes, memory.store.storage, memory.scope.user)
    return memory.scope in scopes


def read_key(path: str | None) -> bytes | None:
    """Return the bytes of a key file; None for no path. Raises OSError."""
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()


async def probe(address: str, answer: Awaitable[object]) -> None:
    """Check that a service answers. Raises LiveError with its address."""
    try:
        await answer
    except ServiceFailed as failed:
        raise LiveError(f"{address}: {failed}; is the address right, and the key in {KEY}?") from None


def read_categories(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> Mapping[str, str] | None:
    """Return the description of each category by its name; None if no category was given."""
    if bare := [each for each in given if "=" not in each]:
        raise click.BadParameter(f"{bare[0]!r} is no NAME=ABOUT, as food=cake is", context, option)
    pairs = [each.partition("=")[::2] for each in given]
    names = [name.strip() for name, _ in pairs]
    if len(dict.fromkeys(names)) < len(names):
        raise click.BadParameter("the same category is given twice", context, option)
    return {name.strip(): about.strip() for name, about in pairs} or None


def read_parameter_option(
    context: click.Context, option: click.Parameter, given: str | None
) -> Mapping[str, object] | None:
    """Return the parsed JSON object; None if the option was not given."""
    if given is None:
        return None
    try:
        parameters = json.loads(given)
    except (ValueError, RecursionError):
        parameters = None
    if not isinstance(parameters, dict):
        message = f'{given[:100]!r} is no object of JSON, as {{"temperature": 1}} is'
        raise click.BadParameter(message, context, option)
    return parameters


OPTIONS: Final = (
    click.option(
        "--db",
        required=True,
        type=click.Path(dir_okay=False),
        help="The file, or postgresql://USER@HOST/DATABASE.",
    ),
    click.option("--user", default="me", show_default=True, help="The user of the memory."),
    click.option("--agent", default="agent", show_default=True, help="The agent whose memory it is."),
    click.option(
        "--model",
        help=f"https://HOST/v1#MODEL or anthropic+https://...; its key is in {KEY}. Default: simple rules.",
    ),
    click.option(
        "--parameters",
        metavar="JSON",
        callback=read_parameter_option,
        help="Parameters of each request to the model; null leaves one out, such as `temperature`.",
    ),
    click.option("--embedder", help="https://HOST/v1#MODEL:DIMENSIONS. Default: hashes of words."),
    click.option(
        "--category",
        "categories",
        multiple=True,
        metavar="NAME=ABOUT",
        callback=read_categories,
        help="A category, with what belongs there, in place of the usual ones. Repeatable.",
    ),
    click.option(
        "--record",
        type=click.Path(dir_okay=False),
        help="Record everything in this new file, for `umi-sim replay`.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Limit of each request, of an import each text. Default: none.",
    ),
)
FILE_OPTIONS: Final = (
    click.option(
        "--seal-key-file", type=click.Path(dir_okay=False), envvar="UMI_LIVE_SEAL_KEY_FILE",
        help="The file with the key of a sealed database: at least 32 bytes.",
    ),
    click.option(
        "--seal-anchor", type=click.Path(dir_okay=False), envvar="UMI_LIVE_SEAL_ANCHOR",
        help="The file that notes the newest commit of a sealed database.",
    ),
)  # fmt: skip


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option to a command for each limit of a server."""
    for field in reversed(list_fields(ServeLimits)):
        kind = click.IntRange(1) if get_args(field.type)[0] is int else click.FloatRange(0, min_open=True)
        option = click.option(
            f"--{field.name.replace('_', '-')}", type=kind, default=field.default, show_default=True,
            help=get_args(field.type)[1],
        )  # fmt: skip
        command = option(command)
    return command


def taking(*options: Decorator, work: Work | None = None) -> Decorator:
    """Return a decorator that passes these options to a command as its first argument, a MemoryOptions.

    With `work`, a method of MemoryOptions, the command is a coroutine and gets the open memory as its second.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., None]:
        @wraps(command)
        def call_command(**given: Any) -> None:
            names = [name for name in MemoryOptions.__struct_fields__ if name in given]
            target = MemoryOptions(**{name: given.pop(name) for name in names})
            if work is None:
                command(target, **given)
            else:
                asyncio.run(work(target, lambda memory: command(target, memory, **given)))

        decorated: Callable[..., None] = call_command
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


JSON_OPTION: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
on_target: Final = taking(*OPTIONS, *FILE_OPTIONS)
on_shown: Final = taking(*OPTIONS, *FILE_OPTIONS, JSON_OPTION)
on_file: Final = taking(OPTIONS[0], *FILE_OPTIONS)  # `--db` is the first option
reading: Final = taking(*OPTIONS, *FILE_OPTIONS, work=MemoryOptions.read)
reading_shown: Final = taking(*OPTIONS, *FILE_OPTIONS, JSON_OPTION, work=MemoryOptions.read)
changing_shown: Final = taking(*OPTIONS, *FILE_OPTIONS, JSON_OPTION, work=MemoryOptions.change)


@click.group(no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(own_version(), prog_name="umi-live")
def cli() -> None:
    """A memory on disk, by hand.

    \b
    umi-live remember --db agent.db "Ann likes tea"
    umi-live recall --db agent.db "what does Ann like?"
    """


@cli.command()
@on_shown
@click.option("--speaker", help="The person who says `I` in the text. Default: the user.")
@click.argument("text")
def remember(target: MemoryOptions, text: str, speaker: str | None) -> None:
    """Store what a text says."""
    request = Remember(0, text, speaker=speaker)

    async def use(memory: LiveMemory) -> None:
        remembered = await memory.ask(request, Remembered)
        for key, change, fact in await read_changes(memory, remembered.value):
            target.show(f"{change:<9}  {line_of(fact, key)}", {"change": change, **describe_fact(fact, key)})
        show_degraded(remembered.degraded)

    asyncio.run(target.write(use, request))


def describe_fact(fact: Entity | None, key: str) -> dict[str, object]:
    """Return a fact as a JSON object; only its id if it was forgotten meanwhile."""
    shown = () if fact is None else ("type", "name", "content", "time_ms")
    return {"id": key, **{name: getattr(fact, name) for name in shown}}


def line_of(fact: Entity | None, key: str) -> str:
    """Return a fact in one line; only its id if it was forgotten meanwhile."""
    return key if fact is None else statement_of(fact.name, fact.content)


def statement_of(name: str, content: str) -> str:
    """Return `name: content`; only the content of a note, whose name is just the beginning of its content."""
    return show_line(content) if name == auto_name(content) else f"{show_line(name)}: {show_line(content)}"


@cli.command()
@reading_shown
@click.option("--limit", type=int, help="At most this many hits.")
@click.option("--shared", multiple=True, help="Also search the archive that this agent shares. Repeatable.")
@click.option("--speaker", help="The person who says `I` in the question. Default: the user.")
@click.argument("query")
async def recall(
    target: MemoryOptions,
    memory: LiveMemory,
    query: str,
    limit: int | None,
    shared: tuple[str, ...],
    speaker: str | None,
) -> None:
    """Find facts: how well each answers, its name, and its text. Nothing is written."""
    hits = await memory.recall(query, limit=limit, shared=shared, speaker=speaker)
    paths = await memory.paths_of([hit.id for hit in hits])
    for hit in hits:
        line = statement_of(hit.name, hit.content) + (f"  ({hit.agent})" if hit.agent else "")
        lines = [f"{hit.score_ppm // 10_000:>3} %  {line}{topics_of(paths[hit.id])}"]
        lines += [f"       was:  {content}" for _, content in hit.replaced]
        lines += [f"       then: {hit.next_content}"] if hit.next_id else []
        row = structs.asdict(hit)
        target.show("\n".join(lines), {**row, "topics": paths[hit.id]})
    show_degraded(hits.degraded)


@cli.command()
@on_shown
@click.option("--none", is_flag=True, help="Share with no agent.")
@click.argument("agents", nargs=-1)
def share(target: MemoryOptions, agents: tuple[str, ...], none: bool) -> None:
    """Let AGENTS, and no others, search this archive, and list them. Without AGENTS: list them only."""
    if none and agents:
        raise LiveError(f"--none shares with no agent, and {agents[0]!r} is named; leave one out")
    request = ShareArchive(0, agents if agents or none else None)

    async def use(memory: LiveMemory) -> None:
        for agent in (await memory.ask(request, ArchiveShared)).value.agents:
            target.show(agent, {"agent": agent})

    asyncio.run(target.change(use) if request.agents is None else target.write(use, request))


@cli.command()
@on_shown
@click.option("--uri", help="The name of the text; a later text of this name replaces it.")
@click.option(
    "--type",
    "memory_types",
    multiple=True,
    type=click.Choice(MEMORY_TYPES),
    help="A kind of fact to look for. Repeatable. Default: profile, event.",
)
@click.argument("file", type=click.File(encoding="utf-8"))
def memorize(target: MemoryOptions, file: TextIO, uri: str | None, memory_types: tuple[str, ...]) -> None:
    """Store a whole text, and the facts in it by category; `-` is standard input."""
    try:
        text = file.read()
    except UnicodeDecodeError:
        raise LiveError(f"{file.name}: is no text") from None
    request = Memorize(0, text, uri=uri, memory_types=memory_types or None)

    async def use(memory: LiveMemory) -> None:
        memorized = await memory.ask(request, Memorized)
        ids = [stored.id for stored in memorized.value.entities]
        paths = await memory.paths_of(ids)
        for stored in memorized.value.entities:
            fact = fact_of(await memory.entity(stored.id))
            row = {"change": stored.change, **describe_fact(fact, stored.id), "topics": paths[stored.id]}
            target.show(f"{stored.change:<9}  {line_of(fact, stored.id)}{topics_of(paths[stored.id])}", row)
        resource, count = memorized.value.resource_id, len(ids)
        line = f"{memorized.value.change:<9}  {resource}, {count_of(count, 'fact')}"
        row = {"change": memorized.value.change, "id": resource, "fact_count": count}
        uncovered_count = memorized.value.uncovered_count
        if uncovered_count:
            line += f"; {count_of(uncovered_count, 'sentence')} only in the text"
        target.show(line, {**row, "uncovered_count": uncovered_count})
        show_degraded(memorized.degraded)

    asyncio.run(target.write(use, request))


def topics_of(paths: tuple[str, ...]) -> str:
    return f"  [{', '.join(map(show_line, paths))}]" if paths else ""


@cli.command()
@reading_shown
@click.argument("path", required=False)
async def topics(target: MemoryOptions, memory: LiveMemory, path: str | None) -> None:
    """Show the categories and groups, or the facts of one: `category` or `category/group`.

    Nothing is written.
    """
    if path is not None:
        for fact in await memory.facts_in(path):
            show_fact(target, fact)
        return
    for it in await memory.topics():
        about = f"  {show_line(it.text)}" if it.text else ""
        mark = "" if it.is_listed else " (not listed)"
        target.show(f"{it.fact_count:>5}  {show_line(it.path)}{mark}{about}", msgspec.to_builtins(it))


@cli.command()
@reading_shown
@click.argument("name")
async def facts(target: MemoryOptions, memory: LiveMemory, name: str) -> None:
    """Show the current facts about a name with their ids, the oldest first. Nothing is written."""
    found = await memory.facts(name)
    for fact in found:
        show_fact(target, fact)
    if not found:
        click.echo(f"umi-live: no current fact is about {name!r}", err=True)


@cli.command()
@reading_shown
@click.argument("name")
async def history(target: MemoryOptions, memory: LiveMemory, name: str) -> None:
    """Show all facts about a name, also ended ones: when, and by which fact.

    A fact that was true twice has two lines. Nothing is written.
    """
    rows = await memory.history(name)
    if not rows:
        click.echo(f"umi-live: no fact is about {name!r}", err=True)
    ends_ms = list_end_times(rows)
    for row in rows:
        end, more = "", dict[str, object]()
        if isinstance(row, Ended):
            end_ms = ends_ms[row.id, row.fact.version]
            more = {"ended_ms": end_ms, "how": row.how, "by": row.by}
            end = f"  (ended {day_of(end_ms)}, {row.how} by {row.by})"
        show_fact(target, fact_of(row), end, more)


def show_fact(
    target: MemoryOptions, fact: Entity, end: str = "", more: Mapping[str, object] = NO_FIELDS
) -> None:
    line = f"{fact.id}  {day_of(fact.time_ms)}  {line_of(fact, fact.id)}{end}"
    target.show(line, {**describe_fact(fact, fact.id), **more})


def day_of(at_ms: int) -> str:
    """Return the date of a time in milliseconds since 1970; after the year 9999 the last day of 9999."""
    return (format_time(at_ms) or "1970-01-01")[:10]


@cli.command()
@reading_shown
async def stats(target: MemoryOptions, memory: LiveMemory) -> None:
    """Count what the memory holds. Nothing is written."""
    for name, count in (await memory.stats()).items():
        target.show(f"{count:>7}  {name}", {"name": name, "count": count})


@cli.command()
@changing_shown
@click.argument("key")
async def forget(target: MemoryOptions, memory: LiveMemory, key: str) -> None:
    """Remove a fact by its id, or by an `ent_` id all facts about that entity, ended ones too.

    The status is 2 if there is no such fact.
    """
    if key.startswith(ENTITY_PREFIX):
        removed = await memory.forget_all_about(key)
    else:
        removed = (key,) if (await memory.forget(key)).value.existed else ()
    if not removed:
        what = "no fact about this entity" if key.startswith(ENTITY_PREFIX) else "no fact of this id"
        raise LiveError(f"{show_value(key)}: there is {what}; `facts NAME` shows ids")
    target.show(f"forgotten  {len(removed)}", {"forgotten": removed})


@cli.command()
@reading
async def blocks(target: MemoryOptions, memory: LiveMemory) -> None:
    """Show the core tier: what the model of the agent always sees. Nothing is written."""
    click.echo(await memory.render("markdown"), nl=False)


@cli.command()
@taking(*OPTIONS, *FILE_OPTIONS, work=MemoryOptions.copy)
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    help="A new file, which only you may read. Default: standard output.",
)
@click.option(
    "--as", "form", type=click.Choice((ROWS, *FORMS)), default=ROWS, show_default=True,
    help="rows: all, for `import`; the others: a part, for other programs and people.",
)  # fmt: skip
async def export(target: MemoryOptions, memory: LiveMemory, out: str | None, form: str) -> None:
    """Write everything that the memory holds, one row per line; or only its messages or facts.

    The status is 2 if the file has no memory of this user and agent.
    """
    assert memory.store is not None
    storage = memory.store.storage
    if form == ROWS:
        rows = await memory.store.call(lambda: list(export_lines(storage, memory.scope)))
    else:
        rows = [line async for line in FORMS[form](memory)]
    lines = "\n".join(rows)
    if out is None:
        click.echo(lines)
    else:
        with open(out, "x", encoding="utf-8", opener=create_file) as file:
            file.write(lines + "\n")


@cli.command("serve-mcp")
@on_target
def serve_mcp(target: MemoryOptions) -> None:
    """Serve the memory to an agent that speaks the Model Context Protocol, over standard input and output."""
    try:
        from umi_live.mcp import server_of
    except ModuleNotFoundError as error:
        raise LiveError(needs_extra(error, "mcp")) from None

    async def use(memory: LiveMemory) -> None:
        await server_of(memory).run_stdio_async()

    asyncio.run(target.work(use))


@cli.command()
@taking(*OPTIONS[:2], *OPTIONS[3:7], *FILE_OPTIONS)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65_535), help="0: any.")
@click.option(
    "--tokens", type=click.Path(dir_okay=False), help="The file of tokens that `umi-live token` writes."
)
@limit_options
def serve(target: MemoryOptions, host: str, port: int, tokens: str | None, **given: Any) -> None:
    """Serve the memories of the file over HTTP, and over MCP at /v1/agents/AGENT/mcp.

    Without --tokens all requests act for --user, and only programs of this machine are served.

    \b
    umi-live token ann --tokens tokens.toml
    umi-live serve --db agent.db --tokens tokens.toml
    """
    try:
        from umi_live.serve import MemoryServer, listen, run_server
    except ModuleNotFoundError as error:
        raise LiveError(needs_extra(error, "serve")) from None

    table = None if tokens is None else TokenFile(tokens)
    check_names(Caller(target.user))
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    for name in ("httpx", "mcp", "uvicorn"):
        logging.getLogger(name).setLevel(logging.WARNING)

    async def run() -> None:
        if table is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, table.refresh)
        memory = target.make_memory(target.user, "probe")
        await target.probe_services(memory)
        await memory.model.close()
        await memory.embedder.close()
        with listen(host, port, table is not None) as listening:
            # Last, as options that are refused must create no file. Kept open, so that memories open fast and
            # an unusable file is reported before the first request.
            store = await Store.open(target.db, seal=target.seal)
            try:
                address = "{}:{}".format(*listening.getsockname())
                click.echo(f"umi-live: {target.db} is served at http://{address}; Ctrl-C ends it", err=True)
                server = MemoryServer(target.make_memory, table, target.user, ServeLimits(**given))
                await run_server(server, listening)
            finally:
                await store.leave()

    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again after it has ended
        signal.signal(number, lambda *_: None)
    asyncio.run(run())


@cli.command()
@click.option(
    "--agent", "agents", multiple=True, help="An agent that the token is for. Repeatable. Default: any."
)
@click.option(
    "--author", type=click.Choice(AUTHORS), default=MODEL, show_default=True,
    help="The author of blocks written with it. Only the user may write the system block.",
)  # fmt: skip
@click.option(
    "--tokens", type=click.Path(dir_okay=False), help="Add the line of the token to this file of `serve`."
)
@click.argument("user")
def token(user: str, agents: tuple[str, ...], author: str, tokens: str | None) -> None:
    """Make and print a token of a user for `serve`; it is not stored. Without --tokens its line follows."""
    caller = Caller(user, agents or None, author)
    check_names(caller)
    made = make_token()
    line = caller.write_line(made)
    if tokens is not None:
        append_token(tokens, line)
    click.echo(made if tokens is not None else f"{made}\n{line}")


@cli.command("import")
@on_shown
@click.option(
    "--from",
    "program",
    type=click.Choice(PROGRAMS),
    help="What wrote the file. Default: its form tells.",
)
@click.option("--quiet", is_flag=True, help="Show no progress on a terminal.")
@click.argument("file", type=click.File("rb"))
def import_file(target: MemoryOptions, file: BinaryIO, program: str | None, quiet: bool) -> None:
    """Import conversations of another program, or a file of `umi-live export`.

    An export needs an empty memory, and names its user and agent. Each conversation is stored as a text with
    the facts in it, as by `memorize`. Importing a file again changes nothing, or continues an interrupted
    import. The status is 1 if some messages or their times could not be read, or some texts could not be
    stored.
    """
    texts = read_texts(file.name, file)
    text = next((it for it in texts.values() if it), "")  # an export of `umi-live` is a single file
    head = find_head(text)
    if program == UMI or (program is None and head is not None):
        if head is not None:
            check_scope_options(target, head)
        scope, count = asyncio.run(contents.import_lines(target.db, split_lines(text), target.seal))
        line = f"{count} rows of user {scope.user!r} and agent {scope.agent!r}"
        target.show(line, {"row_count": count, "user": scope.user, "agent": scope.agent})
        return
    if is_list_of_facts(text):
        message = "holds facts of `export --as facts`, which cannot be imported; one without --as can"
        raise LiveError(f"{file.name}: {message}")
    found, other_files = read_conversations(file.name, texts, program)
    documents = tuple(make_documents(found, file.name))
    message_count = sum(chat.read_count for chat in found.chats)
    left_out, done = count_left_out(found), ImportCount()

    async def use(memory: LiveMemory) -> None:
        nonlocal done
        with ProgressLine(quiet) as progress:

            def report(at: int, so_far: ImportCount) -> None:
                facts = count_of(so_far.fact_count, "new fact")
                progress.show(f"umi-live: {at:,} of {len(documents):,} texts, {facts}")

            done = await import_chats(memory, documents, report)

    asyncio.run(target.write(use))
    show_degraded(tuple(Degraded(*key, count) for key, count in done.degraded.items()))
    messages, chats = count_of(message_count, "message"), count_of(len(found.chats), "conversation")
    lines = [f"{found.format}: {messages} in {chats}, {count_of(done.fact_count, 'new fact')}"]
    lines += [f"{change:<9}  {count_of(count, 'text')}" for change, count in done.documents.items()]
    if done.uncovered_count:
        lines.append(f"no fact    {count_of(done.uncovered_count, 'sentence')}, only in the texts")
    lines += [f"left out   {count_of(count, 'message')}: {why}" for why, count in left_out.items()]
    if other_files:
        names = ", ".join(map(show_line, other_files[:FILES_SHOWN_MAX]))
        more = f" and {len(other_files) - FILES_SHOWN_MAX} more" if other_files[FILES_SHOWN_MAX:] else ""
        lines.append(f"not read   {count_of(len(other_files), 'file')} of the archive: {names}{more}")
    unread, times = list_unread(found), list_unread_times(found)
    row = {
        "format": found.format, "message_count": message_count, "conversation_count": len(found.chats),
        "new_fact_count": done.fact_count, "uncovered_count": done.uncovered_count, "texts": done.documents,
        "left_out": left_out, "failed": done.failed, "unread": unread, "unread_times": times,
        "other_files": other_files,
    }  # fmt: skip
    target.show("\n".join(lines), row)
    given = count_of(sum(chat.message_count for chat in found.chats), "message")
    show_failures(f"{len(unread)} of {given} could not be read", unread)
    show_failures(f"the times of {len(times)} of {given} could not be read", times)
    failed = [f"{uri}: {why}" for uri, why in done.failed.items()]
    show_failures(f"{len(failed)} of {count_of(len(documents), 'text')} could not be kept", failed)
    sys.exit(1 if unread or times or failed else 0)


def check_scope_options(target: MemoryOptions, head: Mapping[str, object]) -> None:
    """Raise LiveError if --user or --agent differ from those of the export, to which its rows belong."""
    context = click.get_current_context()
    for name in ("user", "agent"):
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and getattr(target, name) != head.get(name):
            whose = show_value(head.get(name))
            raise LiveError(f"--{name}: the export is that of {name} {whose}, and no other; leave it out")


class ProgressLine:
    """A progress line that overwrites itself. Shown only on a terminal, and not if `is_quiet`."""

    def __init__(self, is_quiet: bool) -> None:
        self.is_shown = not is_quiet and sys.stderr.isatty()
        self.next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.next_s:
            click.echo("\r\x1b[K", nl=False, err=True)

    def show(self, line: str) -> None:
        if self.is_shown and time.monotonic() >= self.next_s:
            self.next_s = time.monotonic() + PROGRESS_S
            click.echo(f"\r{line}\x1b[K", nl=False, err=True)


def show_failures(summary: str, lines: list[str]) -> None:
    """Print a summary and the first lines of a list of failures; nothing if the list is empty."""
    if lines:
        click.echo(f"umi-live: {summary}:", err=True)
        for line in lines[:UNREAD_SHOWN_MAX]:
            click.echo(f"  {show_line(line)}", err=True)
        if lines[UNREAD_SHOWN_MAX:]:
            click.echo(f"  and {len(lines) - UNREAD_SHOWN_MAX} more", err=True)


def count_of(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


@cli.command("delete-user")
@on_file
@click.argument("user")
def delete_user(target: MemoryOptions) -> None:
    """Remove all that is stored of a user, for every agent, down to the last byte."""
    contents.check_there(target.db)
    key = read_key(target.seal_key_file)
    count = asyncio.run(contents.delete_user(target.db, target.user, key, target.seal_anchor))
    if not count:
        raise LiveError(f"{target.db}: has nothing of user {target.user!r}")
    click.echo(f"{count} rows of user {target.user!r} are gone")


@cli.command()
@on_file
def rewrite(target: MemoryOptions) -> None:
    """Rewrite the file: an older release may have left deleted text in it. No memory may be open."""
    contents.check_there(target.db)
    asyncio.run(contents.rewrite(target.db, target.seal))


@cli.command()
@on_file
def doctor(target: MemoryOptions) -> None:
    """Read every page and every row of the file, and report its contents, damages and changes by other
    programs. The status is 1 if there are any damages or changes.
    """
    contents.check_there(target.db)
    storage = open_storage(target.db, read_only=True, seal=target.seal, is_trusted=True)
    try:
        lines, damaged_count = examine_file(storage)
    except storage.errors as error:
        raise StoreError(f"{storage.path}: {storage.describe_error(error)}") from error
    finally:
        storage.close()
    click.echo("\n".join(lines))
    sys.exit(1 if damaged_count else 0)


@cli.command("seal")
@on_file
def seal_command(target: MemoryOptions) -> None:
    """Seal the file: from now on changes by other programs are found. No memory may be open.

    \b
    head -c 32 /dev/urandom > agent.key
    umi-live seal --db agent.db --seal-key-file agent.key
    """
    contents.check_there(target.db)
    if target.seal is None:
        raise LiveError("a seal needs a key; name its file with --seal-key-file")
    click.echo(describe_seal(contents.seal_file(target.db, target.seal)))


@cli.command()
@click.option("--db", required=True, type=click.Path(dir_okay=False), help="The file of the memory.")
def unseal(db: str) -> None:
    """Remove the seal of the file without a check: run `doctor` first. No memory may be open."""
    contents.check_there(db)
    contents.unseal_file(db)


def show_degraded(degraded: tuple[Degraded, ...]) -> None:
    """Print a line for each step that was degraded, with the reason."""
    for it in degraded:
        click.echo(f"umi-live: with less than asked for: {it.name} ({it.reason})", err=True)


def show_line(text: str) -> str:
    """Return a text as one line, with control characters for terminals replaced."""
    return "".join(it if it.isprintable() else "\ufffd" for it in " / ".join(text.splitlines()))


def main() -> None:
    """Run the command line, and end the process with its status."""
    try:
        cli(prog_name="umi-live", standalone_mode=False)
        sys.exit(0)
    except LiveError as error:
        reason = str(error)
    except ModuleNotFoundError as error:
        reason = needs_extra(error)
    except apsw.Error as error:
        reason = f"the file: {describe_error(error)}"
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "umi-live"
        reason = f"{error.format_message().removesuffix('.')}; see `{path} --help`"
    except click.ClickException as error:
        reason = error.format_message()
    except (click.Abort, KeyboardInterrupt):
        reason = "interrupted"
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except OSError as error:
        reason = f"{error.filename or 'standard output'}: {error.strerror}"
    click.echo(f"umi-live: {show_line(reason)}", err=True)
    sys.exit(2)

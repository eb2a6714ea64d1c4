"""Services: models and tools as async functions, which fail in a simulation as client libraries do.

    @service                                    wraps a function; outside of a simulation it changes nothing
    async def search(query: str) -> str: ...

    model = play_script("model", [{"tool": "search"}, {"answer": "sunny"}], errors="openai")

Law 1. Request and reply each take time, so the program can be cancelled, and its process can die, before the
       request is applied and after it. Some failures happen before it is applied, others after it (FAILURES).
Law 2. The errors are those of the client library that `errors` names, by default those of Python.
"""

import asyncio
import inspect
import json
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, overload
from urllib.error import HTTPError

if TYPE_CHECKING:
    from umi_sim.programs.program import ProgramRun

LATENCY_MS: Final = 20  # of the request, and of the reply
TIMEOUT_MS: Final = 30_000
SLOW_MS: Final = 60_000
SLOWEST_MS: Final = 3_600_000
PYTHON: Final = "python"
URL: Final = "http://service.invalid"
UNAPPLIED: Final = ("refused", "rate_limit")
running: list["ProgramRun"] = []  # runs in progress; the current one is last


class Service:
    """The type of SERVICE, which marks the functions that are services."""


SERVICE: Final = Service()


class BadProgram(ValueError):
    """A program, or an argument of its run, is invalid. The message is one line."""


def current_run() -> "ProgramRun | None":
    """Return the current run; None outside of a simulation."""
    return running[-1] if running else None


def refuse(message: str) -> NoReturn:
    """Raises BadProgram, and again at the end of the run if the program catches it."""
    if run := current_run():
        run.refuse(message)
    raise BadProgram(message)


# Errors, as client libraries raise them.


def make_python_error(how: str) -> Any:
    match how:
        case "refused":
            return ConnectionRefusedError(111, "Connection refused")
        case "rate_limit":
            return HTTPError(URL, 429, "Too Many Requests", {}, None)  # type: ignore[arg-type] # no headers
        case "timeout":
            return TimeoutError("timed out")
        case "reset":
            return ConnectionResetError(104, "Connection reset by peer")
        case "cut":
            return asyncio.IncompleteReadError(b"", None)
    return json.JSONDecodeError("Unterminated string starting at", '{"', 1)


def make_httpx_error(how: str) -> Any:
    httpx: Any = import_module("httpx")
    request = httpx.Request("POST", URL)
    match how:
        case "refused":
            return httpx.ConnectError("All connection attempts failed", request=request)
        case "rate_limit":
            response = httpx.Response(429, request=request)
            return httpx.HTTPStatusError("429 Too Many Requests", request=request, response=response)
        case "timeout":
            return httpx.ReadTimeout("", request=request)
        case "reset":
            return httpx.ReadError("", request=request)
        case "cut":
            message = "peer closed connection without sending complete message body (incomplete chunked read)"
            return httpx.RemoteProtocolError(message, request=request)
    return make_python_error(how)


def make_openai_error(how: str, package: str = "openai") -> Any:
    client: Any = import_module(package)
    httpx: Any = import_module("httpx")
    request = httpx.Request("POST", URL)
    match how:
        case "rate_limit":
            response = httpx.Response(429, request=request, headers={"retry-after": "1"})
            return client.RateLimitError("Rate limit reached", response=response, body=None)
        case "timeout":
            return client.APITimeoutError(request=request)
        case "refused" | "reset":
            return client.APIConnectionError(request=request)
    return make_httpx_error(how)


def make_redis_error(how: str) -> Any:
    redis: Any = import_module("redis")
    if how == "timeout":
        return redis.TimeoutError("Timeout reading from socket")
    return redis.ConnectionError("Connection closed by server.")


LIBRARIES: Final[Mapping[str, Callable[[str], Exception]]] = {
    PYTHON: make_python_error,
    "httpx": make_httpx_error,
    "openai": make_openai_error,
    "anthropic": lambda how: make_openai_error(how, "anthropic"),
    "redis": make_redis_error,
}
Errors = str | Mapping[str, Callable[[], Exception]]
Function = Callable[..., Any]


def choose_error(errors: Errors) -> Callable[[str], Exception]:
    """Return a function from a way to fail to the error that it raises. Raises BadProgram."""
    if isinstance(errors, str):
        if errors not in LIBRARIES:
            raise BadProgram(f"errors={errors!r}: expected one of {', '.join(LIBRARIES)}, or a dict")
        return LIBRARIES[errors]
    return lambda how: errors[how]() if how in errors else make_python_error(how)


# Services.


@overload
def service(function: Function) -> Function: ...
@overload
def service(
    *, name: str = "", errors: Errors = PYTHON, latency_ms: int = LATENCY_MS
) -> Callable[[Function], Function]: ...
def service(
    function: Function | None = None, *, name: str = "", errors: Errors = PYTHON,
    latency_ms: int = LATENCY_MS,
) -> Any:  # fmt: skip
    """Make a function a service, whose calls take time and can fail in a simulation. Raises BadProgram.

    The function may be async or not; an async generator becomes a stream. `errors`: the client library whose
    errors it raises, or a dict from FAILURES to functions that make the error. `name`: its name in FailCall
    and in reports. `latency_ms`: the time that a request takes, and again its reply.
    """
    if function is None:
        return lambda given: make_service(given, name or given.__name__, errors, latency_ms)
    return make_service(function, name or function.__name__, errors, latency_ms)


def make_service(function: Function, answer: str, errors: Errors, latency_ms: int) -> Function:
    """Return the function as a service: a stream for an async generator, else a call."""
    fail = choose_error(errors)
    if inspect.isasyncgenfunction(function):

        @wraps(function)
        async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            run = current_run()
            require(run, errors)
            how = run.begin_call(answer, has_stream=True) if run else ""
            await before_call(run, how, fail, latency_ms)
            chunks = [each async for each in function(*args, **kwargs)] if how == "cut" else None
            if chunks is None:
                async for each in function(*args, **kwargs):
                    if run is not None:
                        await asyncio.sleep(find_slow_ms() / 1000 if how == "slow" else 0)
                    yield each
                await after_call(run, how, None, fail, 0)
                return
            for each in chunks[: len(chunks) // 2]:
                yield each
            raise fail("cut")

        return marked(stream)

    return make_call(function, answer, errors, latency_ms)


def require(run: "ProgramRun | None", errors: Errors) -> None:
    """Check that the library whose errors are raised is installed. Raises BadProgram."""
    if run is not None and isinstance(errors, str) and errors != PYTHON and not is_installed(errors):
        run.refuse(
            f"errors={errors!r}: {errors} is not installed; without errors= those of Python are raised"
        )


@cache
def is_installed(package: str) -> bool:
    return package in sys.modules or find_spec(package) is not None


def make_call(
    function: Function, name: str, errors: Errors, latency_ms: int,
    take_back: Callable[[Any], None] = lambda reply: None,
) -> Function:  # fmt: skip
    """Return the function as a service. `take_back`: called with each reply that did not reach its caller."""
    fail = choose_error(errors)

    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        run = current_run()
        require(run, errors)
        how = run.begin_call(name) if run else ""
        await before_call(run, how, fail, latency_ms)
        reply = function(*args, **kwargs)
        reply = await reply if inspect.isawaitable(reply) else reply
        try:
            return await after_call(run, how, reply, fail, latency_ms)
        except BaseException:
            take_back(reply)
            raise

    return marked(call)


def marked(function: Any) -> Function:
    function.is_made_by = SERVICE
    return function  # type: ignore[no-any-return] # as it came


def find_function(function: Any) -> Any:
    """Return the function that a partial, a bound method or a service wraps."""
    while True:
        inner = getattr(function, "func", None) or getattr(function, "__func__", None)
        inner = inner or getattr(function, "__wrapped__", None)
        if inner is None:
            return function
        function = inner


async def before_call(
    run: "ProgramRun | None", how: str, fail: Callable[[str], Exception], latency_ms: int
) -> None:
    """Wait while the request travels. Raises the error of this call if its request is not applied."""
    if run is None:
        return
    await asyncio.sleep(latency_ms / 1000)
    if how in UNAPPLIED:
        raise fail(how)
    run.check_alive()


async def after_call(
    run: "ProgramRun | None", how: str, reply: Any, fail: Callable[[str], Exception], latency_ms: int
) -> Any:
    """Wait while the reply travels, and return it. Raises the error of this call if its reply is lost."""
    if run is None:
        return reply
    waits_ms = find_slow_ms() if how == "slow" else TIMEOUT_MS if how == "timeout" else latency_ms
    if waits_ms:
        await asyncio.sleep(waits_ms / 1000)
    if how in ("timeout", "reset"):
        raise fail(how)
    if how == "malformed":
        if isinstance(reply, str | bytes) and reply:
            return reply[: len(reply) // 2]
        raise fail(how)
    return reply


def find_slow_ms() -> int:
    """Return how long a slow reply takes: a minute, or a second more than the longest pending timer.

    Timers of more than an hour are ignored. So a call with a timeout of five minutes runs into its timeout.
    """
    loop: Any = asyncio.get_running_loop()
    times = (round(1000 * (it.when() - loop.time())) for it in loop.timers if not it.cancelled())
    return max((each + 1_000 for each in times if SLOW_MS <= each <= SLOWEST_MS), default=SLOW_MS)


def play_script(name: str, replies: Sequence[Any], *, errors: Errors = PYTHON) -> Any:
    """Return a service that gives these replies in order; it raises those that are exceptions.

    A reply that did not reach its caller is given again by the next call. A new process begins with the
    first reply. A call after the last reply raises BadProgram.
    """
    key, outside = object(), dict[object, deque[Any]]()

    def list_left() -> deque[Any]:
        run = current_run()
        return (run.scripts if run else outside).setdefault(key, deque(replies))

    async def reply(*args: Any, **kwargs: Any) -> Any:
        left = list_left()
        if not left:
            count = len(replies)
            message = f"is asked for reply {count + 1}, and has {count}: give play_script another one"
            refuse(f"{name}: {message}")
        found = left.popleft()
        if isinstance(found, Exception):
            raise found
        return found

    return make_call(reply, name, errors, LATENCY_MS, lambda lost: list_left().appendleft(lost))


def play_recording(
    file: str | Path, function: Callable[..., Any], *, name: str = "", errors: Errors = PYTHON
) -> Any:
    """Return a service that replays the replies in a file of JSON lines, each {"args", "kwargs", "reply"}.

    Outside of a simulation, a call that is not in the file calls `function`, and its reply is added to the
    file. In a simulation such a call raises BadProgram.
    """
    path = Path(file)
    called = name or function.__name__

    async def reply(*args: Any, **kwargs: Any) -> Any:
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        lines = [line for line in lines if line.strip()]
        asked = json.loads(json.dumps({"args": args, "kwargs": kwargs}))
        for line in map(json.loads, lines):
            if {"args": line["args"], "kwargs": line["kwargs"]} == asked:
                return line["reply"]
        if current_run():
            refuse(f"{file}: holds no reply of {called} to {json.dumps(asked)}; call it once outside")
        found = function(*args, **kwargs)
        found = await found if inspect.isawaitable(found) else found
        from umi_sim.record.saved_failures import write_whole

        lines.append(json.dumps({**asked, "reply": found}))
        write_whole(path, "".join(f"{line}\n" for line in lines).encode())
        return found

    return make_service(wraps(function)(reply), called, errors, LATENCY_MS)

"""Failures of what a store asks of others over a network: clients of httpx and of redis.

Law 1. This file needs the standard library alone: a script that is exported carries a copy of it.
Law 2. A request that fails was not sent. A response that fails is lost: what was asked was done.
Law 3. Who answers is of the adapter: a transport of httpx, a fake server of redis. No run has a network.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from umi_sim.targets import clocks

Errors = Callable[[str], Exception]


def failing(sites: Any, real: Any, unsent: Errors, lost: Errors) -> Any:
    """The same method, which fails when it is its turn."""

    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        sites.reach("request", unsent("connection refused"))
        answer = real(self, *args, **kwargs)
        sites.reach("response", lost("timed out"))
        return answer

    return ask


def failing_later(sites: Any, real: Any, unsent: Errors, lost: Errors) -> Any:
    """The same for a method that is waited for."""

    async def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        sites.reach("request", unsent("connection refused"))
        answer = await real(self, *args, **kwargs)
        sites.reach("response", lost("timed out"))
        return answer

    return ask


def places() -> Iterator[tuple[Any, str, Any, Errors, Errors]]:
    """Return the loaded classes whose methods ask a server, and the errors of their packages."""
    for name in ("httpx", "httpx2"):
        if http := sys.modules.get(name):
            yield http.Client, "send", failing, http.ConnectError, http.ReadTimeout
            yield http.AsyncClient, "send", failing_later, http.ConnectError, http.ReadTimeout
    if redis := sys.modules.get("redis"):
        errors = redis.ConnectionError, redis.TimeoutError
        later = redis.asyncio
        yield redis.Redis, "execute_command", failing, *errors
        yield redis.client.Pipeline, "execute", failing, *errors
        yield later.Redis, "execute_command", failing_later, *errors
        yield later.client.Pipeline, "execute", failing_later, *errors


def install(sites: Any) -> AbstractContextManager[None]:
    """Until the block ends, these can fail."""
    return clocks.replaced(
        (owner, name, make(sites, getattr(owner, name), unsent, lost))
        for owner, name, make, unsent, lost in places()
    )

"""Symmetry: the keys, values and agents that can be exchanged without changing the set of actions.

Law 1. Two keys, or two values, are exchangeable if they have one size, and the set of requests stays the same
when both are exchanged. Law 2. A value that is read as a number, appended to another or written into a text
is not exchangeable. Law 3. Agents are exchangeable if they belong to one user, their clocks agree, and no
argument names one.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from umi_core.messages.requests import REQUESTS, CoreRead, arguments_of
from umi_core.tiers.working import i64
from umi_sim.record.items import Args
from umi_sim.record.run_config import RunConfig

Requests = Sequence[tuple[str, Args]]

HIDING: Final = (
    "key",
    "stored_key",
    "value",
    "ttl",
    "delta",
    "members",
    "session_id",
)  # domains whose values appear only where a key or value is expected
WORKING: Final = frozenset(  # requests that use a key only as a key, so that no text contains it
    name
    for name, request in REQUESTS.items()
    if not issubclass(request, CoreRead)
    and all(argument.domain in HIDING for argument in arguments_of(request))
)


def exchangeable(requests: Requests) -> Mapping[object, int]:
    """Return the keys and values of the requests, each with the number of its group of exchangeable ones."""
    if not all(name in WORKING for name, _ in requests):
        return {}
    groups: dict[object, int] = {}
    for token in candidates(requests):
        other = next((it for it in groups if is_like(it, token) and is_closed(requests, it, token)), None)
        groups[token] = len(groups) if other is None else groups[other]
    return groups


def candidates(requests: Requests) -> list[object]:
    is_joined = any(name == "append" for name, _ in requests)
    keys = [args["key"] for _, args in requests if "key" in args]
    values = [args["value"] for _, args in requests if "value" in args and not is_joined]
    plain_keys = [it for it in keys if isinstance(it, str) and not it.startswith("__")]
    return list(
        dict.fromkeys((*plain_keys, *(it for it in values if isinstance(it, bytes) and i64(it) is None)))
    )


def is_like(one: object, other: object) -> bool:
    """Return True if two values have one type and one size."""
    # The size matters because a limit in bytes may refuse a longer key and accept a shorter one.
    if isinstance(one, str) and isinstance(other, str):
        return len(one.encode()) == len(other.encode())
    return isinstance(one, bytes) and isinstance(other, bytes) and len(one) == len(other)


def is_closed(requests: Requests, one: object, other: object) -> bool:
    """Return True if the set of requests stays the same when the two values are exchanged."""
    swap = {one: other, other: one}
    actions = [(name, dict(args)) for name, args in requests]
    swapped = [
        (name, {key: swapped_in(swap, value) for key, value in args.items()}) for name, args in actions
    ]
    return all(action in actions for action in swapped)


def swapped_in(swap: Mapping[object, object], value: object) -> object:
    return swap.get(value, value) if isinstance(value, str | bytes) else value


def same_agents(config: RunConfig, requests: Sequence[tuple[str, Args]]) -> bool:
    """Return True if agents can be exchanged (law 3)."""
    users = dict.fromkeys((agent.scope.user, agent.skew_ms) for agent in config.agents)
    names = [agent.scope.agent for agent in config.agents]
    return len(users) == 1 and not any(is_named(args, names) for _, args in requests)


def is_named(args: Mapping[str, object], names: Sequence[str]) -> bool:
    return any(name in str(value) for value in args.values() for name in names)

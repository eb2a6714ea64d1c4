"""Symmetry: which keys, values and agents could be exchanged without changing the set of actions.

Law 1. Two keys, or two values, of one size are alike if the requests are the same with both exchanged.
Law 2. A value that is read as a number, joined to another or written into a text is like no other.
Law 3. Agents are alike if they are of one user, their clocks agree, and no argument names one.
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
)  # domains that show no key elsewhere
WORKING: Final = frozenset(  # requests that neither store nor tell a key but as a key
    name
    for name, request in REQUESTS.items()
    if not issubclass(request, CoreRead)
    and all(argument.domain in HIDING for argument in arguments_of(request))
)


def exchangeable(requests: Requests) -> Mapping[object, int]:
    """Return keys and values of working requests, with the group of those that may be exchanged."""
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
    """Check whether two values are of one type and one size."""
    # sizes count: with a limit of bytes in the way, a longer key may be refused where a shorter one is not
    if isinstance(one, str) and isinstance(other, str):
        return len(one.encode()) == len(other.encode())
    return isinstance(one, bytes) and isinstance(other, bytes) and len(one) == len(other)


def is_closed(requests: Requests, one: object, other: object) -> bool:
    """Check whether the set of requests stays the same when the two values are exchanged."""
    swap = {one: other, other: one}
    actions = [(name, dict(args)) for name, args in requests]
    swapped = [
        (name, {key: swapped_in(swap, value) for key, value in args.items()}) for name, args in actions
    ]
    return all(action in actions for action in swapped)


def swapped_in(swap: Mapping[object, object], value: object) -> object:
    return swap.get(value, value) if isinstance(value, str | bytes) else value


def same_agents(config: RunConfig, requests: Sequence[tuple[str, Args]]) -> bool:
    """Check whether agents can be exchanged: of one user, with equal clocks, and named by no argument."""
    users = dict.fromkeys((agent.scope.user, agent.skew_ms) for agent in config.agents)
    names = [agent.scope.agent for agent in config.agents]
    return len(users) == 1 and not any(is_named(args, names) for _, args in requests)


def is_named(args: Mapping[str, object], names: Sequence[str]) -> bool:
    return any(name in str(value) for value in args.values() for name in names)

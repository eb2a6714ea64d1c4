"""Faults that any service may have: silence, refusals, windows, answers around the time-out."""

from collections.abc import Callable

from umi_core.messages.effects import Commit, FailureKind
from umi_sim.faults.kinds import WINDOW_MS_MAX, Draw, log_uniform
from umi_sim.record.items import Args
from umi_sim.services.calls import SERVICE_OF, Call, Flush, Handled, Later, Services, failed

MakeArgs = Callable[[Services, Call, Draw], Args | None]
Strike = Callable[[Services, Call, int, Args], Handled]

# Args: drawn once, when a fault is about to strike.


def no_args(services: Services, call: Call, draw: Draw) -> Args | None:
    return {}


def before_timeout(services: Services, call: Call, draw: Draw) -> Args | None:
    return {"after_ms": draw("after_ms", call.effect.timeout_ms)}


def around_timeout(services: Services, call: Call, draw: Draw) -> Args | None:
    timeout_ms = call.effect.timeout_ms
    return {"after_ms": (timeout_ms - 1, timeout_ms, timeout_ms + 1, 10 * timeout_ms)[draw("after_ms", 4)]}


def window(services: Services, call: Call, draw: Draw) -> dict[str, int]:
    return {"for_ms": log_uniform(draw, "for_ms", WINDOW_MS_MAX)}


def retry_after(services: Services, call: Call, draw: Draw) -> Args | None:
    choices = (0, 1, 999, 1_000, 60_000, call.effect.timeout_ms + 1)
    return {"retry_after_ms": choices[draw("retry_after_ms", len(choices))]}


# Effects: what the fault does, from its args alone.


def whole(args: Args, name: str) -> int:
    value = args[name]
    assert isinstance(value, int)
    return value


def fails(kind: FailureKind) -> Strike:
    def strike(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
        return failed(call, kind, now_ms, int(str(args.get("retry_after_ms", 0))))

    return strike


def fails_later(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    return failed(call, "timeout", call.sent_ms + whole(args, "after_ms"))


def says_nothing(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    services.answer(call)
    return None


def slow(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    at_ms = max(now_ms, call.sent_ms + whole(args, "after_ms"))
    if isinstance(call.effect, Commit):
        return Flush(services.storage.arrive(call.effect, call.agent), at_ms)
    return Later(services.answer(call), at_ms)


def goes_away(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    services.away_until_ms[SERVICE_OF[type(call.effect)]] = now_ms + whole(args, "for_ms")
    return failed(call, "unavailable", now_ms)

"""The wire: what is said over HTTP is the request that was meant, and a response tells its reply.

Law 1. Each request of the API that a run draws is said over HTTP, too, in one of the ways in which it can be
said; the memory's reader must give the same request, or the status of what is wrong if it is spoiled.
Law 2. Each reply is told in a response of the status of its reason, which holds all that the reply holds.
Law 3. The object with the methods of an agent server asks the same, and returns what the reply holds.
"""

import json
from typing import Final

import attrs

from umi_core.kelpie.delegate import OP, Delegate, DelegateError
from umi_core.kelpie.requests import ApiRequest, AppendToBlock, BuildSystemPrompt, ReplaceInBlock
from umi_core.kelpie.wire import AgentCall, Malformed, Response, malformed, parse, respond
from umi_core.messages.effects import Done, Outcome
from umi_core.messages.requests import Request
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.plain.requests import wrong
from umi_sim.judge.plain.wire import body_of, expect_result, status_of, write_call, write_request
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules
from umi_sim.record.broken import demand

AGENT: Final = "a/1 %"  # whose name a path must spell
OF_TOOLS: Final = (AppendToBlock, ReplaceInBlock)  # the author may be a model


@attrs.define
class Wire(Observer):
    """Checks requests over HTTP and the delegate. `asked`: agent and request by op_id, while in flight."""

    seed: int
    asked: dict[str, tuple[str, Request]] = attrs.field(factory=dict)

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        if isinstance(request, ApiRequest | BuildSystemPrompt):
            self.asked[op_id] = agent, request
            check_request(op_id, request, Stream(self.seed, "wire", op_id))

    def observe_reply(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        if op_id in self.asked:
            _, request = self.asked.pop(op_id)
            check_response(op_id, outcome)
            check_delegate(op_id, request, outcome)

    def observe_crash(self, agent: str) -> None:
        self.asked = {op_id: asked for op_id, asked in self.asked.items() if asked[0] != agent}


def check_request(op_id: str, request: Request, draw: Stream) -> None:
    line = None if wrong(request) else write_request(request, AGENT, draw)
    if line is None:
        return
    author = "user" if isinstance(request, OF_TOOLS) else getattr(request, "author", "user")
    # a spoiled request must be refused with a status; any other one must be the request that was meant
    got = parse(request.op_id, line.method, line.path, line.headers, line.body, author)
    what = f"{op_id} over HTTP, {line.method} {line.path} {line.body}"
    if isinstance(got, Malformed) and isinstance(line.meant, int):
        wanted = line.meant, HEADERS, {"error": "Malformed", "detail": str(got.reason)}
        response = unpack_response(malformed(got))
        demand(response == wanted, rules.WIRE_SAYS_THE_SAME, what, wanted, response)
        is_named = not line.names or str(got.reason).endswith(line.names)
        demand(is_named, rules.WIRE_SAYS_THE_SAME, f"what is wrong with {what}", line.names, got.reason)
    else:
        meant = line.meant if isinstance(line.meant, int) else AgentCall(AGENT, line.meant, line.ignored)
        demand(got == meant, rules.WIRE_SAYS_THE_SAME, what, meant, got)


def check_response(op_id: str, outcome: Outcome) -> None:
    if isinstance(outcome, Done):
        is_result, told_of = attrs.has(type(outcome.value)), f"the reply to {op_id}"
        demand(is_result, rules.WIRE_SAYS_THE_SAME, told_of, "a result", repr(outcome.value))
    is_again = isinstance(outcome, Done) and getattr(outcome.value, "repeated", False)
    wanted = status_of(outcome), HEADERS | REPLAYED if is_again else HEADERS, body_of(outcome)
    got = unpack_response(respond(outcome))
    demand(got == wanted, rules.WIRE_SAYS_THE_SAME, f"the response to {op_id}", wanted, got)


def check_delegate(op_id: str, request: Request, outcome: Outcome) -> None:
    """Demand that the delegate asks this request, and returns or raises this outcome."""
    call = None if wrong(request) else write_call(request)
    if call is None:
        return
    asked: list[Request] = []

    def drive(given: Request) -> Outcome:
        asked.append(given)
        return outcome

    wanted = expect_result(request, outcome)
    try:
        got = getattr(Delegate(drive, getattr(request, "author", "user")), call.method)(
            *call.places, **call.names
        )
    except DelegateError as ended:
        got = ended.outcome, str(ended)
    demand(got == wanted, rules.WIRE_SAYS_THE_SAME, f"{op_id} by {call.method}", wanted, got)
    same = [attrs.evolve(request, op_id=OP)]
    demand(asked == same, rules.WIRE_SAYS_THE_SAME, f"{op_id} by {call.method}", same, asked)


def unpack_response(response: Response) -> tuple[int, dict[str, str], object]:
    return response.status, dict(response.headers), json.loads(response.body)


HEADERS: Final = {"content-type": "application/json"}
REPLAYED: Final = {"x-idempotency-replayed": "true"}

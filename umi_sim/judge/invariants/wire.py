"""The wire: what is said over HTTP is the request that was meant, and a response tells its reply.

Law 1. Each request of the API that a run draws is said over HTTP, too, in one of the ways in which it can be
said; the memory's reader must give the same request. Law 2. Each reply is told in a response of the status of
its reason, which holds all that the reply holds.
"""

import json
from typing import Final
from zlib import crc32

import attrs

from umi_core.invariants.broken import demand
from umi_core.language.letta import Call, Malformed, parse, respond
from umi_core.messages.api_requests import ApiRequest, BuildSystemPrompt
from umi_core.messages.effects import Done, Outcome
from umi_core.messages.requests import Request
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.plain.requests import wrong
from umi_sim.judge.plain.wire import body_of, said, status_of
from umi_sim.record import rules

AGENT: Final = "a/1 %"  # whose name a path must spell


@attrs.define
class Wire(Observer):
    """`asked`: who asked for each request of the API in flight, by op_id."""

    asked: dict[str, str] = attrs.field(factory=dict)

    def issued(self, agent: str, op_id: str, request: Request) -> None:
        if isinstance(request, ApiRequest | BuildSystemPrompt):
            self.asked[op_id] = agent
            check_request(op_id, request)

    def replied(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        if op_id in self.asked:
            del self.asked[op_id]
            check_response(op_id, outcome)

    def crashed(self, agent: str) -> None:
        self.asked = {op_id: asker for op_id, asker in self.asked.items() if asker != agent}


def check_request(op_id: str, request: Request) -> None:
    line = None if wrong(request) else said(request, AGENT, crc32(op_id.encode()))
    if line is None:
        return
    got = parse(request.op_id, line.method, line.path, line.headers, line.body)
    what = f"{op_id} over HTTP, {line.method} {line.path} {line.body}"
    if line.meant is None:
        demand(isinstance(got, Malformed), rules.WIRE_SAYS_THE_SAME, what, "Malformed", got)
    else:
        wanted = Call(AGENT, line.meant, line.ignored)
        demand(got == wanted, rules.WIRE_SAYS_THE_SAME, what, wanted, got)


def check_response(op_id: str, outcome: Outcome) -> None:
    response = respond(outcome)
    is_again = isinstance(outcome, Done) and getattr(outcome.value, "repeated", False)
    wanted = status_of(outcome), is_again, body_of(outcome)
    got = response.status, REPLAYED in response.headers, json.loads(response.body)
    demand(got == wanted, rules.WIRE_SAYS_THE_SAME, f"the response to {op_id}", wanted, got)


REPLAYED: Final = ("x-idempotency-replayed", "true")

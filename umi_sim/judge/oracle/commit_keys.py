"""Commit keys: operations send batches under one key only if they were asked under one request key.

Storage keeps a receipt for each key, and takes a second batch under it for the first one sent again. So an
operation whose batch has the key of another one is told that it is done, and nothing of it is stored.
"""

import attrs

from umi_core.data import Owner
from umi_core.invariants.broken import demand
from umi_core.messages.effects import Commit
from umi_core.messages.requests import Request
from umi_sim.record import rules
from umi_sim.services.calls import Call


@attrs.define
class CommitKeys(Owner):
    """Of all memories of a run.

    `request_keys`: of each operation that has one, by agent and op_id. `committers`: who was the first to
    send a batch under a key.
    """

    request_keys: dict[tuple[str, str], str] = attrs.field(factory=dict)
    committers: dict[str, str] = attrs.field(factory=dict)

    def issued(self, agent: str, op_id: str, request: Request) -> None:
        key = getattr(request, "request_key", None)
        if isinstance(key, str):
            self.request_keys[agent, op_id] = key

    def answered(self, call: Call) -> None:
        if not isinstance(call.effect, Commit) or not call.effect.key:
            return
        key, asked = call.effect.key, self.request_keys.get((call.agent, call.op_id))
        committer = call.op_id if asked is None else f"{call.agent}: request key {asked}"
        first = self.committers.setdefault(key, committer)
        message = f"{committer} commits under the key of {first}"
        demand(first == committer, rules.KEYS_DIFFER, message, "another key", key)

    def wiped(self) -> None:
        """Storage has lost its receipts."""
        self.committers.clear()

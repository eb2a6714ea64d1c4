"""References: ids in the arguments of requests, and the replies that returned them.

Law 1. An id is derived from names and times, so a simplified request may get another id than before.
Law 2. Requests with the old id then get the new one; the old and new replies of a request pair the ids.
"""

from collections.abc import Mapping, Sequence

from umi_core.messages.effects import Reply
from umi_sim.judge.inspector import Inspector
from umi_sim.record.items import Fault, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.shrink.candidate import Candidate
from umi_sim.shrink.leaves import DERIVED, leaves, places, with_leaves

Replies = Mapping[str, Reply]


class ReplyListener(Inspector):
    """An inspector that keeps the reply of each request."""

    def __init__(self, config: RunConfig, replies: dict[str, Reply]) -> None:
        super().__init__(config)
        self.replies = replies

    def observe_reply(self, agent: str, op_id: str, reply: Reply, reading_ms: int) -> None:
        self.replies[op_id] = reply
        super().observe_reply(agent, op_id, reply, reading_ms)


def follow_ids(candidate: Candidate, before: Replies, after: Replies) -> Candidate | None:
    """Return the candidate with new ids in place of old ones; None if it contains no changed id."""
    named = [(place, leaf) for place, leaf in places(candidate, Op, Fault) if is_id(leaf)]
    now: dict[object, str] = {}
    for op in candidate.ops if named else ():
        # The n-th id of the old reply becomes the n-th id of the new one: "ent_ab12..." -> "ent_cd34...".
        old, new = ids_of(before.get(op.id)), ids_of(after.get(op.id))
        for one, other in zip(old, new, strict=False):  # replies may differ in length
            now.setdefault(one, other)
    changes = {place: now[leaf] for place, leaf in named if now.get(leaf, leaf) != leaf}
    return with_leaves(candidate, changes) if changes else None


def with_sources(candidate: Candidate, kept: Sequence[Op], replies: Replies) -> Sequence[Op]:
    """Return these requests, and those whose replies returned the ids in them."""
    sources: dict[object, str] = {}
    for op in candidate.ops:
        for name in ids_of(replies.get(op.id)):
            # The source of an id is the first reply that shows it.
            sources.setdefault(name, op.id)
    named = {op.id: [leaf for _, leaf in leaves(op.args)] for op in candidate.ops}
    ids = {op.id for op in kept}
    for op in reversed(candidate.ops):  # a source comes before the requests that name it
        if op.id in ids:
            ids.update(sources[leaf] for leaf in named[op.id] if leaf in sources)
    return [op for op in candidate.ops if op.id in ids]


def is_id(leaf: object) -> bool:
    return isinstance(leaf, str) and DERIVED.fullmatch(leaf) is not None


def ids_of(reply: Reply | None) -> list[str]:
    return [] if reply is None else DERIVED.findall(str(reply.outcome))

"""Upkeep: memorizes that nobody asked for, judged as if the row had asked for what it lacks.

Law 1. What is asked for is what the stored row says that it lacks, as the memory was told of it.
Law 2. Nobody is told how it ends: whatever it does may have happened. The text stays what somebody memorized
last: upkeep brings none back that was replaced or forgotten meanwhile.
"""

from typing import Final

import attrs

from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import ByIds, Read
from umi_core.messages.requests import Memorize
from umi_core.rows import Resource, Row
from umi_core.values import MEMORY_TYPES
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.services.calls import Call

TENDED: Final = ("upkeep", "memorize", "summarise", "reflect")


@attrs.define
class Upkeep(Part):
    """`rows`: the texts that lacked something when they were looked at last, by id. `going`: what is being
    done, by the name that the world has for it."""

    rows: dict[str, Row] = attrs.field(factory=dict)
    going: dict[str, Memorize] = attrs.field(factory=dict)

    def looked(self, answer: Answer) -> None:
        for row in answer.rows if isinstance(answer, ReadDone) else ():
            if isinstance(row.body, Resource):
                self.rows[row.address.id] = row

    def begun(self, call: Call) -> Memorize | None:
        """What a memorize that begins with this call does; None if nobody knows."""
        query = call.effect.query if isinstance(call.effect, Read) else None
        row = self.rows.get(query.addresses[0].id) if isinstance(query, ByIds) else None
        body = row.body if row is not None else None
        if not isinstance(body, Resource):
            return None
        kinds = tuple(kind for kind in MEMORY_TYPES if kind in body.pending) or body.extracted_types
        request = Memorize(call.op_id, body.text, body.modality, body.uri, kinds, body.happened_ms)
        return self.going.setdefault(call.op_id, request)

"""Groups: what an evolve_category says that it did.

Law 1. Names come from answers of a model or from keywords, and a substitute is named. Law 2. Asked again with
nothing between, it changes nothing, asks no model, and tells the same groups. What the groups must be is
judged where the vectors are known, from inside (umi_sim/judge/invariants/groups.py).
"""

from typing import Final

import attrs

from umi_core.kelpie.requests import DeleteArchival
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.requests import (
    CreateEntity,
    EvolveCategory,
    Forget,
    ForgetResource,
    Memorize,
    Rebalance,
    Remember,
    UpdateEntity,
)
from umi_core.messages.results import Evolved, Group
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.evidence import Evidence
from umi_sim.judge.oracle.archive.possible import Operation
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.plain.groups import read_name
from umi_sim.record import rules

CHANGING: Final = (
    Memorize, CreateEntity, UpdateEntity, Remember, Forget, ForgetResource, DeleteArchival, Rebalance,
)  # fmt: skip
SUBSTITUTE: Final = "name:keywords"
PARTIAL: Final = "contents:partial"


@attrs.define
class Groups(Part):
    """`told`: by category, what the last evolve told, if nothing can have changed since. `changing_count`:
    how often something began or ended that changes members; `begun`: by operation, how often when it began.
    """

    evidence: Evidence
    tracks: Tracks
    told: dict[str, tuple[Group, ...]] = attrs.field(factory=dict)
    answers: dict[Operation, list[Answer]] = attrs.field(factory=dict)
    changing_count: int = 0
    begun: dict[Operation, int] = attrs.field(factory=dict)

    def begin(self, op: Operation) -> None:
        """What changes members, or who may do so already, leaves nothing certain."""
        if isinstance(op.request, CHANGING):
            self.change()
        elif isinstance(op.request, EvolveCategory):
            self.begun[op] = self.changing_count

    def change(self) -> None:
        self.told.clear()
        self.changing_count += 1

    def answered(self, op: Operation, step: str, answer: Answer) -> None:
        if step == "name":
            self.answers.setdefault(op, []).append(answer)

    def ended(self, op: Operation) -> None:
        self.answers.pop(op, None)
        self.begun.pop(op, None)
        if isinstance(op.request, CHANGING):
            self.change()

    def forget(self) -> None:
        self.told.clear()
        self.answers.clear()
        self.begun.clear()

    def judge_evolve(self, op: Operation, value: Evolved, names: list[str]) -> None:
        request, answers = op.request, self.answers.get(op, [])
        assert isinstance(request, EvolveCategory)
        is_fair, told = value.change in ("updated", "unchanged"), "neither updated nor left as it was"
        self.demand(is_fair, rules.REFERENCE_AGREES, told, "", value.change)
        lost = [it for it in answers if not isinstance(it, ModelReplied) or read_name(it.text) is None]
        is_named = SUBSTITUTE in names
        is_caused = not is_named or bool(lost) or self.evidence.is_late(op)
        self.demand(is_caused, rules.DEGRADATION_NAMED, f"{SUBSTITUTE} without a cause", "", answers)
        if self.evidence.is_exact(op) and answers and answers[-1] in lost:
            self.demand(is_named, rules.DEGRADATION_NAMED, SUBSTITUTE, True, names)
        self.judge_again(op, value, names)

    def may_decay(self) -> bool:
        """Whether there may be members that nobody has used for long: what becomes of them is seen inside."""
        decay_ms = self.context.config.group_decay_ms
        return 0 < decay_ms <= self.context.latest_ms - self.context.first_ms

    def judge_again(self, op: Operation, value: Evolved, names: list[str]) -> None:
        """A scan may repair meanwhile what is not certain: members without a vector, or unread ones."""
        request, answers = op.request, self.answers.get(op, [])
        assert isinstance(request, EvolveCategory)
        before = None if self.may_decay() or PARTIAL in names else self.told.get(request.category)
        if before is not None and not request.force:
            told = "an evolve after which nothing came did something once more"
            is_idle = (value.change, value.groups, answers) == ("unchanged", before, [])
            self.demand(is_idle, rules.REPEAT_SAME_ROWS, told, before, value)
        others = (it.request for it in self.tracks.flying.values() if it is not op)
        is_unsure = op.is_replanned or self.context.surroundings.atlas.losses or PARTIAL in names
        is_unsure = is_unsure or self.may_decay() or self.begun.get(op) != self.changing_count
        if is_unsure or any(isinstance(it, CHANGING) for it in others):
            self.told.pop(request.category, None)
        else:
            self.told[request.category] = value.groups

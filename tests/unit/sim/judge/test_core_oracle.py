"""Goal: the judge knows what authored text may be shown, and names the rule a lie breaks."""

import msgspec
import pytest
from msgspec import structs

from tests.histories import broken
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.errors import CoreFull, StorageFailed
from umi_core.kelpie.errors import ReadOnly
from umi_core.limits import BLOCK_BYTES_MAX
from umi_core.messages.effects import Done, Failed, Outcome, Refused, Unknown
from umi_core.messages.requests import (
    Blocks,
    CoreBytes,
    CoreRead,
    GetBlock,
    RemoveBlock,
    Render,
    Request,
    SetBlock,
    SetImportance,
)
from umi_core.tiers.core import CoreTier
from umi_core.tiers.rendering import render_markdown, render_xml
from umi_core.values import Block, Entry
from umi_sim.judge.oracle.core_model import BlockWrite, CoreModel
from umi_sim.judge.oracle.model import Ending

FAILED = Failed(StorageFailed("commit", "unavailable", 3))


class CoreOwner(Owner):
    oracle: CoreModel = msgspec.field(default_factory=lambda: CoreModel(Config(core_bytes_max=4096)))
    count: int = 0

    def begin(self, request: BlockWrite) -> str:
        self.count += 1
        self.oracle.observe_request(f"o{self.count}", request, 0)
        return f"o{self.count}"

    def end(self, op_id: str, request: Request, outcome: Outcome) -> None:
        self.oracle.observe_reply(Ending(op_id, request, outcome, 0, 0))

    def write(self, request: BlockWrite, outcome: Outcome) -> None:
        self.end(self.begin(request), request, outcome)

    def see(self, text: str | None, importance_ppm: int = 500_000) -> None:
        block = None if text is None else Block("human", text=text, importance_ppm=importance_ppm)
        self.read(GetBlock(0, "human"), block)

    def read(self, request: CoreRead, value: object) -> None:
        self.end("", request, Done(value))


def written(text: str = "tea") -> CoreOwner:
    owner = CoreOwner()
    owner.write(SetBlock(0, "human", text), Done(None))
    return owner


def test_what_was_acknowledged_is_shown() -> None:
    written().see("tea")
    for lie in ("coffee", None):
        with broken("authored-text-kept"):
            written().see(lie)


def test_what_failed_is_never_shown_and_what_was_in_doubt_may_be() -> None:
    owner = written()
    owner.write(SetBlock(0, "human", "coffee"), FAILED)
    with broken("authored-text-kept"):
        owner.see("coffee")
    owner.write(SetBlock(0, "human", "milk"), Unknown())
    owner.see("milk")
    owner.see("tea")
    owner.write(RemoveBlock(0, "human"), Done(None))
    owner.see(None)
    with broken("authored-text-kept"):
        owner.see("milk")


def test_what_was_given_up_in_doubt_may_have_been_planned_again_over_what_was_acknowledged_meanwhile() -> (
    None
):
    owner = written()
    first = SetBlock(0, "human", "milk", importance_ppm=4_999)
    op_id = owner.begin(first)
    second = SetBlock(0, "human", "coffee")
    other_id = owner.begin(second)
    owner.end(op_id, first, Unknown())
    owner.end(other_id, second, Done(None))
    owner.see("coffee")
    owner.see("milk", 4_999)
    owner.write(SetBlock(0, "human", "water", importance_ppm=500_000), Done(None))
    owner.see("water")
    for text, importance_ppm in (("milk", 500_000), ("water", 4_999)):
        with broken("authored-text-kept"):
            owner.see(text, importance_ppm)


def test_a_write_under_way_when_the_agent_crashed_may_have_happened() -> None:
    owner = written()
    owner.begin(SetBlock(0, "human", "coffee"))
    owner.oracle.observe_crash()
    owner.see("coffee")
    owner.see("tea")
    with broken("authored-text-kept"):
        owner.see("milk")


def test_importance_changes_only_if_asked_for() -> None:
    owner = written()
    owner.write(SetImportance(0, "human", 7), Done(None))
    owner.write(SetBlock(0, "human", "coffee"), Done(None))
    owner.see("coffee", 7)
    with broken("authored-text-kept"):
        owner.see("coffee", 8)


def test_what_fits_beside_the_texts_and_the_share_of_self_is_taken() -> None:
    full = Refused(CoreFull(0, 0, 0))
    text = SetBlock(0, "goals", "x" * 1_024)
    written("x" * 2_049).write(text, full)
    with broken("no-spurious-refusal"):
        written("x" * 2_048).write(text, full)


def test_persona_has_room_for_the_share_of_self_in_its_block() -> None:
    config = Config()
    share = config.core_bytes_max // 4
    full = Refused(CoreFull(0, 0, 0))
    CoreOwner(CoreModel(config)).write(SetBlock(0, "persona", "x" * (BLOCK_BYTES_MAX - share + 1)), full)
    with broken("no-spurious-refusal"):
        CoreOwner(CoreModel(config)).write(SetBlock(0, "persona", "x" * (BLOCK_BYTES_MAX - share)), full)


def test_core_is_never_larger_than_it_may_be() -> None:
    written().read(CoreBytes(0), 4_096)
    with broken("core-limits"):
        written().read(CoreBytes(0), 4_097)
    with broken("core-limits"):
        written().read(CoreBytes(0), -1)


def test_blocks_stand_in_one_order() -> None:
    blocks = Block("human", text="tea"), Block("human", "work", text="Acme")
    owner = written()
    owner.write(SetBlock(0, "human", "Acme", "work"), Done(None))
    owner.read(Blocks(0), blocks)
    with broken("render-order"):
        owner.read(Blocks(0), blocks[::-1])
    with broken("authored-text-kept"):
        owner.read(Blocks(0), blocks[:1])


@pytest.mark.parametrize("form", ["xml", "markdown"])
def test_a_rendering_is_read_back_as_what_was_written(form: str) -> None:
    render = render_xml if form == "xml" else render_markdown
    written().read(Render(0, form), render(CoreTier((Block("human", text="tea"),))))
    for text in (render(CoreTier((Block("human", text="coffee"),))), render(CoreTier()), "<"):
        with broken("render-parse"):
            written().read(Render(0, form), text)


@pytest.mark.parametrize(
    "request_",
    [
        SetBlock(0, "system", "tea"), SetBlock(0, "facts", "tea", "Sy-stem"), RemoveBlock(0, "system"),
        SetImportance(0, "system", 1, "x"),
    ],
)  # fmt: skip
def test_a_model_never_writes_system(request_: SetBlock | RemoveBlock | SetImportance) -> None:
    CoreOwner().write(request_, Refused(ReadOnly("", "model")))
    with broken("system-is-authored"):
        CoreOwner().write(request_, Done(None))
    with broken("no-spurious-refusal"):
        CoreOwner().write(structs.replace(request_, author="user"), Refused(ReadOnly("", "user")))


def test_nothing_but_authored_text_is_in_system() -> None:
    owner = CoreOwner()
    owner.write(SetBlock(0, "system", "tea", author="user"), Done(None))
    entry = Entry("ent_1", 1, "Umi", "obeys", 0)
    with broken("system-is-authored"):
        owner.read(GetBlock(0, "system"), Block("system", text="tea", entries=(entry,)))
